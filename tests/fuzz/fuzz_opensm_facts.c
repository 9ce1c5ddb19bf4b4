/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is read of a running OpenSM: its program, its log, its console, its cgroup; what a reload would
 * change; the prefix routes; the hash that a standby confirms. The first byte chooses.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/opensm_files.h"
#include "ibqos/preflight.h"
#include "opensm/facts.h"

static void version(const uint8_t *data, size_t size)
{
	char *got = opensm_version_in((const char *)data, size);

	if (got) { /* it is there, between NULs, and made of what a terminal does not obey */
		char *whole = NULL;
		size_t length = strlen(got) + strlen("OpenSM ") + 1;

		require(isdigit((unsigned char)got[0]) && strchr(got, '.') && fuzz_printable(got, ""));
		whole = malloc(length + 1);
		require(whole && snprintf(whole, length + 1, "OpenSM %s", got) == (int)length - 1);
		require(memmem(data, size, whole, length));
		free(whole);
	}
	opensm_flavour_of(got, got, got);
	free(got);
}

static void require_same(const struct opensm_log_facts *a, const struct opensm_log_facts *b)
{
	require(a->port_guid == b->port_guid && !a->version == !b->version && !a->engine == !b->engine);
	require(!a->version || strcmp(a->version, b->version) == 0);
	require(!a->engine || (strcmp(a->engine, b->engine) == 0 && fuzz_printable(a->engine, "")));
}

/* Line by line it tells the same as at once. */
static void log_facts(const uint8_t *data, size_t size)
{
	struct opensm_log_facts whole = {0}, parts = {0};
	const char *at = (const char *)data, *end = at + size, *newline;

	opensm_log_facts_take(at, size, &whole);
	while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		opensm_log_facts_take(at, (size_t)(newline + 1 - at), &parts);
		at = newline + 1;
	}
	require_same(&whole, &parts);
	opensm_log_facts_clear(&whole);
	opensm_log_facts_clear(&parts);
}

static void texts(const char *text)
{
	struct opensm_status status;
	char *unit = opensm_unit_in(text);

	/* it becomes an argument of systemctl's, and a word that people paste into a shell */
	require(!unit || (unit[0] != '-' && strlen(unit) > 8 && !unit[strspn(unit, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP"
											"QRSTUVWXYZ0123456789:_.\\@-")]));
	free(unit);
	opensm_console_status(text, &status);
	require(!status.engine || strstr(text, status.engine));
	opensm_status_clear(&status);
}

/* A config is no change to itself; to another, each key once. */
static void changes(const uint8_t *data, size_t size)
{
	const uint8_t *cut = memchr(data, '\0', size);
	size_t first = cut ? (size_t)(cut - data) : size;
	struct opensm_conf *a, *b;
	struct opensm_conf_change *found;
	size_t count;

	if (opensm_conf_parse((const char *)data, first, &a) != 0)
		return;
	require(opensm_conf_changes(a, a, &found, &count) == 0 && count == 0 && !found);
	if (cut && opensm_conf_parse((const char *)cut + 1, size - first - 1, &b) == 0) {
		require(opensm_conf_changes(a, b, &found, &count) == 0);
		for (size_t i = 0; i < count; i++) {
			require(found[i].line == opensm_conf_line(a, found[i].key));
			require(i == 0 || strcmp(found[i - 1].key, found[i].key) < 0);
		}
		free(found);
		opensm_conf_free(b);
	}
	opensm_conf_free(a);
}

static void routes(const char *text)
{
	struct finding_list found = {0};
	unsigned before = 0;

	opensm_prefix_routes_lint("f", text, strlen(text), &found);
	require(found.count <= 11);
	for (size_t i = 0; i < found.count; i++) {
		require(found.items[i].line > before);
		before = found.items[i].line;
	}
	finding_list_clear(&found);
}

/* Comments, keys of no concern and an overridden value in front make no difference; the rules do. */
static void digest(const char *text)
{
	char one[65], two[65], *longer = NULL;
	size_t size = strlen(text);
	FILE *out = open_memstream(&longer, &size);

	require(out);
	fprintf(out, "# a\n qos_max_vls 3\nlog_flags 7\nsm_sl 0\nmax_op_vls 5 # b\n%s\n", text);
	require(text_stream_end(out, &longer) == 0);
	require(apply_digest(text, strlen(text), "r", 1, one) == 0 && strlen(one) == 64);
	require(apply_digest(longer, strlen(longer), "r", 1, two) == 0 && strcmp(one, two) == 0);
	require(apply_digest(longer, strlen(longer), "s", 1, two) == 0 && strcmp(one, two) != 0);
	free(longer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = {data, size};
	unsigned which = fuzz_below(&in, 6);
	char *text;

	if (which == 0)
		version(in.at, in.left);
	if (which == 1)
		log_facts(in.at, in.left);
	if (which == 2)
		changes(in.at, in.left);
	text = fuzz_rest(&in);
	if (which == 3)
		texts(text);
	if (which == 4)
		routes(text);
	if (which == 5)
		digest(text);
	free(text);
	return 0;
}
