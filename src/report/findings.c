/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The findings of a report: each as a row of a table for machines, then alike ones as groups for
 * people, in the order of the list.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "writer.h"

/* No titles: a person gets the groups instead. The first column is for reports of many fabrics. */
static const struct report_column columns[] = {
	{.key = "fabric", .type = REPORT_STRING},
	{.key = "code", .type = REPORT_STRING},      {.key = "severity", .type = REPORT_STRING},
	{.key = "class", .type = REPORT_STRING},
	{.key = "node_guid", .type = REPORT_GUID},   {.key = "port", .type = REPORT_NUMBER},
	{.key = "node", .type = REPORT_STRING},      {.key = "peer_guid", .type = REPORT_GUID},
	{.key = "peer_port", .type = REPORT_NUMBER}, {.key = "peer", .type = REPORT_STRING},
	{.key = "file", .type = REPORT_STRING},      {.key = "line", .type = REPORT_NUMBER},
	{.key = "column", .type = REPORT_NUMBER},    {.key = "what", .type = REPORT_STRING},
	{.key = "wanted", .type = REPORT_STRING},    {.key = "got", .type = REPORT_STRING},
	{.key = "detail", .type = REPORT_STRING},    {.key = "title", .type = REPORT_STRING},
	{.key = "advice", .type = REPORT_STRING},    {.key = "first_seen", .type = REPORT_STRING},
};

static void cell_if(struct report *r, bool present, uint64_t number)
{
	if (present)
		report_cell_number(r, number);
	else
		report_cell_none(r);
}

bool findings_time(uint64_t seconds, char text[FINDINGS_TIME])
{
	time_t when = (time_t)seconds;
	struct tm tm;

	return seconds && gmtime_r(&when, &tm) && strftime(text, FINDINGS_TIME, "%Y-%m-%dT%H:%M:%SZ", &tm) > 0;
}

static void cell_time(struct report *r, uint64_t seconds)
{
	char text[FINDINGS_TIME];

	report_cell_if(r, findings_time(seconds, text) ? text : NULL);
}

static void put_row(struct report *r, const struct finding *f)
{
	const struct finding_kind *kind = finding_kind(f->code);
	const struct finding_cause_kind *cause = finding_cause_kind(f->cause);

	if (r->had_parts || r->by_fabric)
		report_cell_if(r, f->fabric);
	report_cell_string(r, kind->code);
	report_cell_string(r, finding_severity_name(f->severity));
	report_cell_if(r, cause ? cause->name : NULL);
	report_cell_guid(r, f->guid);
	cell_if(r, f->guid != 0 && f->port >= 0, (uint64_t)f->port);
	report_cell_if(r, f->name);
	report_cell_guid(r, f->peer_guid);
	cell_if(r, f->peer_guid != 0 && f->peer_port >= 0, (uint64_t)f->peer_port);
	report_cell_if(r, f->peer_name);
	report_cell_if(r, f->file);
	cell_if(r, f->line > 0, f->line);
	cell_if(r, f->column > 0, f->column);
	report_cell_if(r, f->what);
	report_cell_if(r, f->wanted);
	report_cell_if(r, f->got);
	report_cell_if(r, f->detail);
	report_cell_string(r, kind->title);
	report_cell_string(r, finding_advice(f));
	cell_time(r, f->first_seen);
	report_row_end(r);
}

struct entry {
	const struct finding *finding;
	size_t index; /* in the list */
	size_t first; /* index of the first finding of its group */
};

static int compare_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* 0 for two of one group. Each in a file stands alone, so that an editor can jump to it. */
static int compare_alike(const struct entry *a, const struct entry *b)
{
	const struct finding *f = a->finding, *g = b->finding;
	int order = COMPARE(g->severity, f->severity);

	order = order ? order : COMPARE(f->code, g->code);
	order = order ? order : COMPARE(f->cause, g->cause);
	order = order ? order : COMPARE(f->of_file, g->of_file); /* which decides the advice */
	order = order ? order : compare_text(f->fabric, g->fabric);
	order = order ? order : COMPARE(f->file != NULL, g->file != NULL);
	if (order == 0 && f->file)
		return COMPARE(a->index, b->index);
	order = order ? order : compare_text(f->what, g->what);
	order = order ? order : compare_text(f->wanted, g->wanted);
	return order ? order : compare_text(f->got, g->got);
}

static int by_likeness(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order = compare_alike(a, b);

	return order ? order : COMPARE(a->index, b->index);
}

static int by_group(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order = COMPARE(a->first, b->first);

	return order ? order : COMPARE(a->index, b->index);
}

/* The list with alike findings side by side; a group stands where its first one stood. */
static struct entry *grouped(const struct finding_list *findings)
{
	struct entry *entries = calloc(findings->count, sizeof(*entries));

	if (!entries)
		return NULL;
	for (size_t i = 0; i < findings->count; i++)
		entries[i] = (struct entry){.finding = &findings->items[i], .index = i};
	qsort(entries, findings->count, sizeof(*entries), by_likeness);
	for (size_t i = 0; i < findings->count; i++) {
		bool alike = i > 0 && compare_alike(&entries[i - 1], &entries[i]) == 0;

		entries[i].first = alike ? entries[i - 1].first : entries[i].index;
	}
	qsort(entries, findings->count, sizeof(*entries), by_group);
	return entries;
}

/* In text, the only form that has groups and counts. */
static bool is_told(const struct finding *f, bool all)
{
	return all || !f->told_by_another;
}

static void put_groups(struct report *r, const struct finding_list *findings, bool all)
{
	struct entry *entries = grouped(findings);
	const struct finding **members = calloc(findings->count, sizeof(const struct finding *));
	size_t count = findings->count, end;

	if (!entries || !members) {
		report_fail(r, -ENOMEM);
		goto out;
	}
	for (size_t i = 0, at = 0; i < findings->count; i++) {
		if (!is_told(entries[i].finding, all)) {
			count--;
			continue;
		}
		entries[at] = entries[i];
		members[at++] = entries[i].finding;
	}
	for (size_t start = 0; start < count; start = end) {
		struct report_group group = {.members = &members[start], .all = all};

		for (end = start + 1; end < count && entries[end].first == entries[start].first;)
			end++;
		group.count = end - start;
		group.last_of_code = end == count || members[end]->code != members[start]->code ||
				     members[end]->cause != members[start]->cause;
		group.last_of_advice = group.last_of_code || finding_advice(members[end]) != finding_advice(members[start]);
		r->writer->group(r, &group);
	}
out:
	free(members);
	free(entries);
}

void report_findings(struct report *r, const struct finding_list *findings, bool all)
{
	size_t skipped = r->had_parts || r->by_fabric ? 0 : 1;

	report_parts_end(r);
	/* What is lost is said where the findings stand, not only in the exit code. */
	report_bool(r, REPORT_LOST, findings->lost ? "findings lost for want of memory" : NULL,
		    findings->lost);
	for (struct report *to = r; to; to = to->also)
		to->all = all;
	report_table(r, "findings", NULL, columns + skipped, sizeof(columns) / sizeof(columns[0]) - skipped);
	for (size_t i = 0; i < findings->count; i++) {
		put_row(r, &findings->items[i]);
		for (struct report *to = r; to; to = to->also)
			to->counts[findings->items[i].severity] += !to->writer->group || is_told(&findings->items[i], all);
	}
	report_table_end(r);
	for (struct report *to = r; to; to = to->also)
		for (size_t i = 0; to->writer->finding && i < findings->count; i++)
			to->writer->finding(to, &findings->items[i]);
	for (struct report *to = r; to; to = to->also)
		if (findings->count > 0 && to->writer->group)
			put_groups(to, findings, all);
}
