/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What became of findings: those of before and after side by side, at the same place by what the nodes' GUIDs are now. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "maintenance.h"

#include "ibqos/counters.h"

struct row {
	struct finding *finding;
	enum look_fate fate;
};

static const char *const fates[LOOK_FATES] = {
	[LOOK_NEW] = "new",	    [LOOK_CHANGED] = "changed",		   [LOOK_UNCHANGED] = "unchanged",
	[LOOK_FIXED] = "fixed",	    [LOOK_GONE] = "place is gone",	   [LOOK_UNKNOWN] = "not known",
};

static int by_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

/* Those at one place about one thing are alike, whatever value it has. */
static int by_place(const void *a, const void *b)
{
	const struct finding *x = ((const struct row *)a)->finding, *y = ((const struct row *)b)->finding;

	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	return by_text(x->file, y->file) ? by_text(x->file, y->file) : by_text(x->what, y->what);
}

static struct row *rows_of(struct finding_list *list)
{
	struct row *rows = calloc(list->count + 1, sizeof(*rows));

	for (size_t i = 0; rows && i < list->count; i++)
		rows[i].finding = &list->items[i];
	if (rows && list->count > 0)
		qsort(rows, list->count, sizeof(*rows), by_place);
	return rows;
}

/* Of a finding that is not made any more: whether its place was looked at. */
static enum look_fate fate_of_gone(const struct finding *x, const struct fabric *f)
{
	uint32_t node = x->guid ? fabric_find_node(f, x->guid) : FABRIC_NONE, port;

	if (!x->guid)
		return LOOK_FIXED;
	if (node == FABRIC_NONE) /* where something does not answer, it may be that, or behind it */
		return f->gap_count > 0 ? LOOK_UNKNOWN : LOOK_GONE;
	if (x->port == FINDING_WHOLE_NODE)
		return LOOK_FIXED;
	port = fabric_node_port(f, node, (unsigned)x->port);
	if (port == FABRIC_NONE || (x->peer_guid && f->ports[port].known && f->ports[port].peer == FABRIC_NONE))
		return LOOK_GONE;
	return f->ports[port].known ? LOOK_FIXED : LOOK_UNKNOWN;
}

/* What a counter grows by from one look to the next is no other finding. */
static bool of_counter(enum finding_code code)
{
	static const enum finding_code others[] = {
		FINDING_COUNTER_OVER_THRESHOLD, FINDING_COUNTER_SATURATED, FINDING_PORT_CONGESTED, FINDING_LINK_NEW_PEER,
		FINDING_DEVICE_RESTARTED, FINDING_COUNTERS_CLEARED, FINDING_COUNTER_NOT_COUNTED, FINDING_COUNTERS_FIRST_LOOK,
		FINDING_COUNTERS_UNANSWERED,
	};

	for (unsigned id = 0; id < COUNTERS; id++)
		if (counter_row(id)->code == code)
			return true;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i] == code)
			return true;
	return false;
}

static void match(struct row *before, size_t before_count, struct row *after, size_t after_count, const struct fabric *f)
{
	size_t i = 0, j = 0;

	while (i < before_count || j < after_count) {
		int order = i == before_count ? 1 : j == after_count ? -1 : by_place(&before[i], &after[j]);

		if (order < 0) {
			before[i].fate = fate_of_gone(before[i].finding, f);
			i++;
		} else if (order > 0) {
			after[j++].fate = LOOK_NEW;
		} else {
			bool same = (of_counter(after[j].finding->code) || by_text(before[i].finding->got, after[j].finding->got) == 0) &&
				    by_text(before[i].finding->wanted, after[j].finding->wanted) == 0;

			after[j].fate = same ? LOOK_UNCHANGED : LOOK_CHANGED;
			if (!same)
				finding_append(&after[j].finding->detail, "before: %s",
					       before[i].finding->got ? before[i].finding->got : "another");
			before[i++].fate = LOOK_FATES; /* told with the other */
			j++;
		}
	}
}

static void report_row(struct report *r, const struct row *row)
{
	const struct finding *x = row->finding;

	report_cell_string(r, fates[row->fate]);
	report_cell_string(r, finding_kind(x->code)->code);
	report_cell_string(r, finding_severity_name(x->severity));
	report_cell_guid(r, x->guid);
	report_cell_if(r, x->name ? x->name : x->file);
	if (x->port == FINDING_WHOLE_NODE)
		report_cell_none(r);
	else
		report_cell_number(r, (uint64_t)x->port);
	report_cell_if(r, x->peer_name);
	if (x->peer_port == FINDING_WHOLE_NODE || !x->peer_guid)
		report_cell_none(r);
	else
		report_cell_number(r, (uint64_t)x->peer_port);
	report_cell_if(r, x->what);
	report_cell_if(r, x->wanted);
	report_cell_if(r, x->got);
	report_row_end(r);
}

static void report_rows(struct report *r, const struct row *before, size_t before_count, const struct row *after, size_t after_count)
{
	static const struct report_column columns[] = {
		{.key = "state", .title = "state", .type = REPORT_STRING},
		{.key = "code", .title = "finding", .type = REPORT_STRING},
		{.key = "severity", .title = "severity", .type = REPORT_STRING},
		{.key = "node_guid", .title = NULL, .type = REPORT_GUID},
		{.key = "node", .title = "node or file", .type = REPORT_STRING},
		{.key = "port", .title = "port", .type = REPORT_NUMBER},
		{.key = "peer", .title = "peer", .type = REPORT_STRING},
		{.key = "peer_port", .title = "its port", .type = REPORT_NUMBER},
		{.key = "what", .title = "what", .type = REPORT_STRING},
		{.key = "wanted", .title = "wanted", .type = REPORT_STRING},
		{.key = "got", .title = "there", .type = REPORT_STRING},
	};

	report_table(r, "compared", "findings of audit and verify, before and after", columns,
		     sizeof(columns) / sizeof(columns[0]));
	for (int fate = 0; fate < LOOK_FATES; fate++) {
		for (size_t i = 0; i < after_count; i++)
			if (after[i].fate == (enum look_fate)fate)
				report_row(r, &after[i]);
		for (size_t i = 0; i < before_count; i++)
			if (before[i].fate == (enum look_fate)fate)
				report_row(r, &before[i]);
	}
	report_table_end(r);
}

static void report_counts(struct report *r, const struct row *before, size_t before_count, const struct row *after,
			  size_t after_count)
{
	static const char *const keys[LOOK_FATES] = {
		[LOOK_NEW] = "new",	[LOOK_CHANGED] = "changed", [LOOK_UNCHANGED] = "unchanged",
		[LOOK_FIXED] = "fixed", [LOOK_GONE] = "place_gone", [LOOK_UNKNOWN] = "not_known",
	};
	uint64_t counts[LOOK_FATES + 1] = {0};

	for (size_t i = 0; i < before_count; i++)
		counts[before[i].fate]++;
	for (size_t i = 0; i < after_count; i++)
		counts[after[i].fate]++;
	report_section(r, "result", "findings of audit and verify");
	for (int fate = 0; fate < LOOK_FATES; fate++)
		report_number(r, keys[fate], fates[fate], counts[fate]);
	report_section_end(r);
}

/* A link that is slower than before is told once: by what audit says of it, which has the reason. */
static void fold_rates(struct finding_list *list, const struct finding *x)
{
	if (!x->guid || strncmp(finding_kind(x->code)->code, "link-", strlen("link-")) != 0)
		return;
	for (size_t i = 0; i < list->count; i++) {
		struct finding *f = &list->items[i];

		if (f->code != FINDING_LINK_SLOWER || f->severity == FINDING_NOTE ||
		    !((f->guid == x->guid && f->port == x->port) || (f->peer_guid == x->guid && f->peer_port == x->port)))
			continue;
		f->severity = FINDING_NOTE;
		finding_append(&f->detail, "told as %s", finding_kind(x->code)->code);
	}
}

static bool is_told(const struct finding_list *list, size_t count, const struct finding *x)
{
	for (size_t i = 0; i < count; i++) {
		const struct finding *f = &list->items[i];

		if (f->code == x->code && f->guid == x->guid && f->port == x->port && by_text(f->what, x->what) == 0)
			return true;
	}
	return false;
}

int cmd_look_compare(struct cmd_session *s, struct finding_list *before, struct finding_list *after,
		     const struct diff_result *diff, const struct fabric *after_fabric)
{
	struct row *old, *new;
	size_t told = s->findings.count;
	int error = 0;

	for (size_t i = 0; i < before->count; i++) {
		before->items[i].guid = diff_guid_after(diff, before->items[i].guid);
		before->items[i].peer_guid = diff_guid_after(diff, before->items[i].peer_guid);
	}
	old = rows_of(before);
	new = rows_of(after);
	if (!old || !new) {
		error = -ENOMEM;
		goto out;
	}
	match(old, before->count, new, after->count, after_fabric);
	report_counts(s->report, old, before->count, new, after->count);
	report_rows(s->report, old, before->count, new, after->count);
	for (size_t i = 0; i < after->count; i++) {
		if (new[i].fate != LOOK_NEW && new[i].fate != LOOK_CHANGED)
			continue;
		fold_rates(&s->findings, new[i].finding);
		if (!is_told(&s->findings, told, new[i].finding))
			finding_move(new[i].finding, &s->findings);
	}
	s->findings.lost |= before->lost || after->lost;
out:
	free(old);
	free(new);
	return error;
}
