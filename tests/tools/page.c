/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reports of any size for the tests of the page, through ibqos's own writers, without a fabric:
 *
 *   page FORMAT findings N   N findings: two in three of a few groups, each other one alone
 *   page FORMAT rows N       a table of N links
 *   page FORMAT hostile FILE every string of it is one of the file's, which are parted by NULs
 *   page FORMAT fabric RADIX [FILE]
 *                            the pictures of a tree of three levels; its nodes' names are the file's
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "page_fabric.h"

static const struct report_column link_columns[] = {
	{.key = "guid", .title = "GUID", .type = REPORT_GUID},
	{.key = "name", .title = "name", .type = REPORT_STRING},
	{.key = "port", .title = "port", .type = REPORT_NUMBER},
	{.key = "peer", .title = "peer", .type = REPORT_STRING},
	{.key = "peer_port", .title = "its port", .type = REPORT_NUMBER},
	{.key = "rate", .title = "rate", .type = REPORT_REAL, .unit = "Gb/s", .decimals = 1},
	{.key = "up", .title = "up", .type = REPORT_BOOL},
};
#define COLUMNS (sizeof(link_columns) / sizeof(link_columns[0]))

static void put_link(struct report *r, unsigned i, const char *name, const char *peer)
{
	report_cell_guid(r, UINT64_C(0xec0d9a0300000000) + i);
	report_cell_string(r, name);
	report_cell_number(r, i % 40 + 1);
	report_cell_string(r, peer);
	report_cell_number(r, i / 40 % 40 + 1);
	if (i % 97 == 0)
		report_cell_none(r);
	else
		report_cell_real(r, 100.0 * (i % 4 + 1));
	report_cell_bool(r, i % 31 != 0);
	report_row_end(r);
}

static void put_rows(struct report *r, unsigned count)
{
	report_table(r, "links", "links", link_columns, COLUMNS);
	for (unsigned i = 0; i < count; i++) {
		char name[32], peer[32];

		snprintf(name, sizeof(name), "leaf-%u", i / 40 + 1);
		snprintf(peer, sizeof(peer), "gpu-%u mlx5_%u", i / 8 + 1, i % 8);
		put_link(r, i, name, peer);
	}
	report_table_end(r);
}

static void put_findings(struct finding_list *list, unsigned count)
{
	static const enum finding_code codes[] = {FINDING_SL2VL_DIFFERS, FINDING_NO_ANSWER, FINDING_SIBLING_LINK_SLOW};

	for (unsigned i = 0; i < count; i++) {
		struct finding *f = finding_add(list, codes[i % 3]);

		f->guid = UINT64_C(0xec0d9a0300000000) + i;
		f->port = (int)(i % 40) + 1;
		finding_set(&f->name, "leaf-%u", i / 40 + 1);
		f->peer_guid = UINT64_C(0x0c42a10300000000) + i;
		f->peer_port = 1;
		finding_set(&f->peer_name, "gpu-%u", i + 1);
		finding_set(&f->wanted, "VL 1");
		finding_set(&f->got, i % 3 == 2 ? "VL 0, seen %u times" : "VL 0", i);
	}
	finding_list_sort(list);
}

/* Where a string of any origin may stand. */
static void put_hostile(struct report *r, struct finding_list *list, unsigned n, const char *text)
{
	struct finding *f = finding_add(list, FINDING_SL2VL_DIFFERS);

	report_string(r, "field", text, text);
	report_section(r, "section", text);
	report_real(r, "real", text, 1.5, 1, text);
	report_string(r, "inner", "title", text);
	report_section_end(r);
	report_table(r, "table", text, link_columns, COLUMNS);
	put_link(r, n, text, text);
	report_table_end(r);
	report_text(r, "block", text, text);
	f->guid = n;
	f->port = 1;
	f->name = strdup(text);
	f->peer_name = strdup(text);
	f->what = strdup(text);
	f->wanted = strdup(text);
	f->got = strdup(text);
	f->detail = strdup(text);
	finding_at(finding_add(list, FINDING_POLICY_SYNTAX), text, 1, 1);
}

static int put_file(struct report *r, struct finding_list *list, const char *path)
{
	char *data = NULL;
	size_t size;
	int error = file_read(path, &data, &size);

	if (error < 0)
		return error;
	for (size_t at = 0, i = 0; at < size; at += strlen(data + at) + 1)
		put_hostile(r, list, (unsigned)++i, data + at);
	/* far enough down that the rows are lines of text */
	report_table(r, "many", "many", link_columns, COLUMNS);
	for (unsigned i = 0; i < 600; i++)
		put_link(r, i, "leaf", "peer");
	for (size_t at = 0, i = 0; at < size; at += strlen(data + at) + 1)
		put_link(r, (unsigned)++i, data + at, data + at);
	report_table_end(r);
	free(data);
	return 0;
}

static int put_fabric(struct report *r, struct finding_list *list, const char *radix, const char *path)
{
	char *names = NULL;
	size_t size = 0;
	int error = path ? file_read(path, &names, &size) : 0;

	if (error == 0)
		error = page_fabric(r, list, (unsigned)strtoul(radix, NULL, 10), names, size);
	free(names);
	return error;
}

int main(int argc, char **argv)
{
	struct ibqos_ctx ctx = {.program = "ibqos", .command = "page", .fabric = "", .err = stderr};
	struct finding_list list = {0};
	enum report_format format;
	struct report *r;
	int error = 0;

	if (argc < 4 || argc > 5 || report_format_of(argv[1], &format) < 0) {
		fprintf(stderr, "usage: page FORMAT findings N | rows N | hostile FILE | fabric RADIX [FILE]\n");
		return 2;
	}
	r = report_begin(&ctx, stdout, format);
	if (!r)
		return 2;
	report_string(r, "made_for", "made for", "tests");
	if (strcmp(argv[2], "findings") == 0)
		put_findings(&list, (unsigned)strtoul(argv[3], NULL, 10));
	else if (strcmp(argv[2], "rows") == 0)
		put_rows(r, (unsigned)strtoul(argv[3], NULL, 10));
	else if (strcmp(argv[2], "fabric") == 0)
		error = put_fabric(r, &list, argv[3], argv[4]);
	else
		error = put_file(r, &list, argv[3]);
	if (strcmp(argv[2], "fabric") != 0)
		report_findings(r, &list, false);
	if (report_end(r, IBQOS_EXIT_CRITICAL) < 0)
		error = -1;
	finding_list_clear(&list);
	return error < 0 ? 2 : 0;
}
