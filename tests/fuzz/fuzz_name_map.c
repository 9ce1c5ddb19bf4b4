/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any text as a node-name map: each fault has a place in the text; every node keeps a name that can
 * be shown; the first name of a GUID counts, whatever follows; a good line counts, whatever stands
 * before it; the same map twice changes nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/fabric.h"
#include "ibqos/finding.h"

#define NODES 4
#define FIRST 0x10 /* named by a line in front of the text */
#define LAST 0x20  /* named by a line behind it */

static const uint64_t guids[NODES] = {FIRST, LAST, 0x30, UINT64_MAX};

static struct fabric *make_fabric(void)
{
	struct fabric *fabric = fabric_new(NULL);

	require(fabric);
	for (unsigned i = 0; i < NODES; i++) {
		/* NodeInfo, IBA 14.2.5.3: type at 2, ports at 3, GUID at 12 */
		uint8_t info[MAD_SMP_DATA] = {[2] = FABRIC_CA, [3] = 1};

		for (unsigned byte = 0; byte < 8; byte++)
			info[12 + byte] = (uint8_t)(guids[i] >> (56 - 8 * byte));
		require(fabric_add_node(fabric, info, NULL, NULL, NULL) != FABRIC_NONE);
	}
	require(fabric_finish(fabric) == 0);
	return fabric;
}

static const char *name_of(const struct fabric *fabric, uint64_t guid)
{
	return fabric->nodes[fabric_find_node(fabric, guid)].name;
}

/* The length of a line of the text, counted from 1; -1: there is none. */
static long line_length(const char *text, unsigned line)
{
	for (; line > 1; line--) {
		text = strchr(text, '\n');
		if (!text)
			return -1;
		text++;
	}
	return (long)strcspn(text, "\n");
}

static void read_map(struct fabric *fabric, const char *text)
{
	struct finding_list findings = {0};

	require(fabric_name_nodes(fabric, "map", text, &findings) == 0);
	for (size_t i = 0; i < findings.count; i++) {
		const struct finding *f = &findings.items[i];

		require(f->code == FINDING_NAME_MAP_BAD && strcmp(f->file, "map") == 0);
		require(f->line >= 1 && f->column >= 1 && f->got && f->detail);
		require((long)f->column - 1 <= line_length(text, f->line));
		require(fuzz_printable(f->got, ""));
		require(i == 0 || f->line > findings.items[i - 1].line); /* one a line, in order */
	}
	finding_list_clear(&findings);
	for (unsigned i = 0; i < NODES; i++) {
		require(name_of(fabric, guids[i])[0] != '\0');
		require(fuzz_printable(name_of(fabric, guids[i]), ""));
	}
}

/* Names that the text gives to a fabric of its own. */
static struct fabric *named(const char *before, const char *text, const char *after)
{
	size_t size = strlen(before) + strlen(text) + strlen(after) + 1;
	char *all = malloc(size), *end;
	struct fabric *fabric = make_fabric();

	require(all);
	end = stpcpy(stpcpy(stpcpy(all, before), text), after);
	require(end == all + size - 1);
	read_map(fabric, all);
	free(all);
	return fabric;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = {data, size};
	char *text = fuzz_rest(&in), *last;
	struct fabric *plain = named("", text, "");
	struct fabric *framed = named("0x10 \"the first\"\n", text, "\n0x20 \"the last\"\n");

	require(strcmp(name_of(framed, FIRST), "the first") == 0);
	if (strcmp(name_of(framed, LAST), "the last") == 0)
		require(strcmp(name_of(plain, LAST), "0x0000000000000020") == 0 ||
			strcmp(name_of(plain, LAST), "the last") == 0);
	else
		require(strcmp(name_of(framed, LAST), name_of(plain, LAST)) == 0);
	require(strcmp(name_of(framed, guids[2]), name_of(plain, guids[2])) == 0);

	last = strdup(name_of(plain, LAST));
	require(last);
	read_map(plain, text);
	require(strcmp(last, name_of(plain, LAST)) == 0);
	free(last);
	fabric_free(framed);
	fabric_free(plain);
	free(text);
	return 0;
}
