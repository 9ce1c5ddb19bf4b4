/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any bytes as a site file: fabrics and no finding, or findings with a place and no fabrics. What two fabrics must not share
 * they do not; what is read, written out again in full, is read as the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/site.h"

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_words(const struct site_fabric *a, const struct site_fabric *b)
{
	bool same_all = a->via_count == b->via_count;

	for (size_t i = 0; same_all && i < a->via_count; i++)
		same_all = same(a->via[i], b->via[i]);
	return same_all;
}

static bool same_adapter(const char *a, const char *b)
{
	size_t length = strcspn(a, ":");

	return strcspn(b, ":") == length && strncmp(a, b, length) == 0 && (!a[length] || !b[length] || strcmp(a, b) == 0);
}

static void check_pair(const struct site_fabric *a, const struct site_fabric *b)
{
	require(strcmp(a->name, b->name) != 0);
	for (size_t i = 0; i < a->adapter_count; i++)
		for (size_t n = 0; n < b->adapter_count; n++)
			require(!same_adapter(a->adapters[i], b->adapters[n]));
	if (!same_words(a, b))
		return;
	require(!a->state || !same(a->state, b->state));
	require(!a->baseline || !same(a->baseline, b->baseline));
	require(!a->history || !same(a->history, b->history));
	require(!same(a->ca, b->ca) || a->port != b->port || a->port_guid != b->port_guid);
}

static void check_fabric(const struct site_fabric *f)
{
	require(f->name && f->name[0] && strlen(f->name) <= 64);
	require(f->port <= 254 && (!f->port_guid || (!f->ca && !f->port)));
	require(f->via_count <= SITE_WORDS_MAX && f->timeout_s >= 1 && f->timeout_s <= 86400);
	require(f->adapter_count <= SITE_WORDS_MAX);
	for (size_t i = 0; i < f->adapter_count; i++)
		require(f->adapters[i][0] && f->adapters[i][0] != ':' && !strpbrk(f->adapters[i], ", \t=^"));
	require(!f->policy || f->policy[0] == '/');
	require(!f->state || (f->state[0] == '/' && !strstr(f->state, "{fabric}")));
}

static void put(FILE *out, const char *key, const char *value)
{
	if (!value)
		return;
	fprintf(out, "    %s: '", key);
	for (; *value; value++)
		fprintf(out, *value == '\'' ? "''" : "%c", *value);
	fputs("'\n", out);
}

/* Only what stands on one line: YAML folds the rest. */
static bool is_plain(const struct site_fabric *f)
{
	const char *const texts[] = {f->policy, f->baseline, f->state, f->history, f->opensm_config, f->opensm_host, f->program};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i] && !fuzz_printable(texts[i], ""))
			return false;
	for (size_t i = 0; i < f->via_count; i++)
		if (!fuzz_printable(f->via[i], ""))
			return false;
	return true;
}

static void put_fabric(FILE *out, const struct site_fabric *f)
{
	fprintf(out, "  - name: '%s'\n    timeout: %u\n", f->name, f->timeout_s);
	if (f->port_guid)
		fprintf(out, "    port: {guid: 0x%llx}\n", (unsigned long long)f->port_guid);
	else if (f->ca)
		fprintf(out, "    port: {ca: '%s'%s%.0u}\n", f->ca, f->port ? ", port: " : "", f->port);
	else if (f->port)
		fprintf(out, "    port: {port: %u}\n", f->port);
	put(out, "policy", f->policy);
	put(out, "baseline", f->baseline);
	put(out, "state", f->state);
	put(out, "history", f->history);
	put(out, "program", f->program);
	if (f->opensm_config || f->opensm_host)
		fputs("    opensm:\n", out);
	if (f->opensm_config) {
		fputs("  ", out);
		put(out, "config", f->opensm_config);
	}
	if (f->opensm_host) {
		fputs("  ", out);
		put(out, "host", f->opensm_host);
	}
	if (f->adapter_count)
		fputs("    adapters:\n", out);
	for (size_t i = 0; i < f->adapter_count; i++)
		fprintf(out, "    - '%s'\n", f->adapters[i]);
	if (f->via_count)
		fputs("    via:\n", out);
	for (size_t i = 0; i < f->via_count; i++) {
		fputs("    - '", out);
		for (const char *c = f->via[i]; *c; c++)
			fprintf(out, *c == '\'' ? "''" : "%c", *c);
		fputs("'\n", out);
	}
}

static void read_again(const struct site *first)
{
	struct finding_list findings = {0};
	struct site *again = NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	require(out);
	fputs("version: 1\nfabrics:\n", out);
	for (size_t i = 0; i < first->count; i++) {
		if (!is_plain(&first->fabrics[i])) {
			fclose(out);
			free(text);
			return;
		}
		put_fabric(out, &first->fabrics[i]);
	}
	require(fclose(out) == 0);
	require(site_parse("again", text, size, &findings, &again) == 0);
	require(again && again->count == first->count);
	for (size_t i = 0; i < first->count; i++) {
		const struct site_fabric *x = &first->fabrics[i], *y = &again->fabrics[i];

		require(same(x->name, y->name) && same(x->ca, y->ca) && x->port == y->port && x->port_guid == y->port_guid);
		require(same(x->policy, y->policy) && same(x->state, y->state) && same(x->baseline, y->baseline));
		require(x->adapter_count == y->adapter_count);
		for (size_t n = 0; n < x->adapter_count; n++)
			require(same(x->adapters[n], y->adapters[n]));
		require(same(x->history, y->history) && same(x->program, y->program) && same(x->opensm_config, y->opensm_config));
		require(same(x->opensm_host, y->opensm_host) && same_words(x, y) && x->timeout_s == y->timeout_s);
	}
	site_free(again);
	finding_list_clear(&findings);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct finding_list findings = {0};
	struct site *site = NULL;

	require(site_parse("s", (const char *)data, size, &findings, &site) == 0);
	require((site != NULL) == (findings.count == 0));
	for (size_t i = 0; i < findings.count; i++) {
		const struct finding *f = &findings.items[i];

		require(f->severity == FINDING_CRITICAL && f->file && f->line > 0 && f->column > 0);
		require(f->code == FINDING_SITE_SYNTAX || f->code == FINDING_SITE_FAULT);
	}
	if (site) {
		require(site->count > 0 || site->all_active_ports);
		for (size_t b = 0; b < site->count; b++) {
			check_fabric(&site->fabrics[b]);
			for (size_t a = 0; a < b; a++)
				check_pair(&site->fabrics[a], &site->fabrics[b]);
		}
		if (site->count > 0)
			read_again(site);
		(void)site_add_port(site, "mlx5_0-1", "mlx5_0", 1);
	}
	site_free(site);
	finding_list_clear(&findings);
	return 0;
}
