/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos diff: what changed from one snapshot to another. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diff_states.h"

#include "ibqos/snapshot.h"
#include "ibqos/state.h"

struct diff_options {
	struct cmd_options common; /* first: children get the same pointer */
	const char *expect;
};

enum { KEY_EXPECT = 0x200, KEY_FABRIC };

static const struct argp_option own_options[] = {
	CMD_SITE_ROW,
	{"fabric", KEY_FABRIC, "LABEL", 0, "name of this fabric in all output", 0},
	{"expect", KEY_EXPECT, "FILE", 0, "a change file: what of this was expected, and must have happened", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct diff_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &o->common);
		return 0;
	case CMD_KEY_SITE:
		o->common.site = arg;
		return 0;
	case KEY_FABRIC:
		o->common.ctx->fabric = arg;
		return 0;
	case KEY_EXPECT:
		o->expect = arg;
		return 0;
	default:
		return cmd_argument(key, arg, state, &o->common, 2, "the file of before or the one of after");
	}
}

const struct argp cmd_diff_states_argp = {
	.options = own_options,
	.parser = parse,
	.args_doc = "BEFORE AFTER",
	.doc = "Compares two snapshots: nodes, links, width and speed, capabilities, tables, forwarding, the master subnet "
	       "manager. Cables that exchanged their ends are one change. Files of ibnetdiscover are compared by what they have.\v"
	       "Exit status: 0 no change, or none that matters, 1 changes, 2 something is gone, elsewhere or slower, 3 not all "
	       "could be compared.",
	.children = cmd_output_children,
};

int cmd_side_read(struct cmd_session *s, const struct ibqos_ctx *ctx, const char *path, const char *map, struct cmd_side *side)
{
	int error = source_open_file(ctx, path, map, &side->source);

	if (error == 0)
		error = source_discover(side->source, &s->findings, &side->fabric);
	if (error != 0)
		return error;
	if (source_snapshot(side->source))
		check_snapshot_cut(source_snapshot(side->source), &s->findings);
	else
		finding_set(&finding_at(finding_add(&s->findings, FINDING_SOURCE_LACKS), path, 0, 0)->what,
			    "%s", source_lacks(side->source));
	if (source_merged(side->source))
		session_merged(s, ctx->fabric && ctx->fabric[0] ? ctx->fabric : path, source_merged(side->source));
	return 0;
}

bool cmd_side_open(struct cmd_session *s, const struct ibqos_ctx *ctx, const char *path, const char *map, struct cmd_side *side)
{
	bool of_file = s->findings.of_file;
	int error;

	s->findings.of_file = true;
	error = cmd_side_read(s, ctx, path, map, side);
	s->findings.of_file = of_file; /* the other side may be another thing */
	if (error != 0) { /* the source has said what is wrong */
		s->least = IBQOS_EXIT_UNKNOWN;
		report_string(s->report, "error", NULL, strerror(-error));
		return false;
	}
	side->sm = (struct source_sm_query){.mgmt_class = MAD_CLASS_SMP, .attribute = MAD_SM_INFO};
	source_ask_sm(side->source, side->fabric, &side->sm, 1, NULL);
	return true;
}

void cmd_side_close(struct cmd_side *side)
{
	fabric_free(side->fabric);
	source_close(side->source);
}

static void set_sm(char **member, const struct fabric *f, const struct mad_sm_info *info)
{
	for (uint32_t i = 0; i < f->port_count; i++) {
		if (f->ports[i].guid != info->guid)
			continue;
		finding_set(member, "%s, priority %u", fabric_port_node(f, i)->name, info->priority);
		return;
	}
	finding_set(member, "port 0x%016llx, priority %u", (unsigned long long)info->guid, info->priority);
}

/* Only where both have one: that one lacks it is a finding of its own. */
static void compare_sm(struct cmd_session *s, const struct cmd_side *before, const struct cmd_side *after)
{
	struct mad_sm_info a, b;
	struct finding *f;

	if (before->sm.outcome != MAD_ANSWERED || after->sm.outcome != MAD_ANSWERED) {
		if (source_snapshot(before->source) && source_snapshot(after->source))
			finding_set(&finding_add(&s->findings, FINDING_DIFF_UNKNOWN)->what,
				    "master subnet manager");
		return;
	}
	mad_sm_info_decode(before->sm.data, &a);
	mad_sm_info_decode(after->sm.data, &b);
	if (a.guid == b.guid && a.priority == b.priority)
		return;
	f = finding_add(&s->findings, FINDING_SM_CHANGED);
	set_sm(&f->wanted, before->fabric, &a);
	set_sm(&f->got, after->fabric, &b);
}

static void report_result(struct report *r, const struct diff_result *d)
{
	const struct {
		const char *key, *title;
		uint32_t value;
	} rows[] = {
		{"nodes", "nodes in both", d->nodes},
		{"nodes_gone", "nodes gone", d->nodes_gone},
		{"nodes_new", "nodes new", d->nodes_new},
		{"nodes_replaced", "nodes replaced", d->nodes_replaced},
		{"nodes_renamed", "nodes renamed", d->nodes_renamed},
		{"links", "links in both", d->links},
		{"links_gone", "links gone", d->links_gone},
		{"links_new", "links new", d->links_new},
		{"links_moved", "links moved", d->links_moved},
		{"links_swapped", "pairs of links swapped", d->links_swapped},
		{"rates", "links of other width or speed", d->rates},
		{"capabilities", "ports of other capabilities", d->capabilities},
		{"tables", "ports with other tables", d->tables},
		{"routes", "switches with other routes", d->routes},
		{"unknown", "not known in one of the two", d->unknown},
	};

	report_section(r, "changes", "changes");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		report_number(r, rows[i].key, rows[i].title, rows[i].value);
	report_section_end(r);
}

static bool is_same_gap(const struct finding *a, const struct finding *b)
{
	return a->code == b->code && a->guid == b->guid && a->port == b->port && strcmp(a->what, b->what) == 0;
}

void cmd_sides_gaps(struct cmd_session *s, const struct fabric *before, const struct fabric *after)
{
	struct finding_list old = {0}, new = {0};

	check_gaps(before, &old);
	check_gaps(after, &new);
	for (size_t i = 0; i < new.count; i++)
		finding_append(&new.items[i].detail, "in the state of after");
	for (size_t i = 0; i < old.count; i++) {
		size_t k = 0;

		while (k < new.count && !is_same_gap(&old.items[i], &new.items[k]))
			k++;
		if (k < new.count) {
			finding_set(&new.items[k].detail, "in both states");
			continue;
		}
		finding_append(&old.items[i].detail, "in the state of before");
		finding_move(&old.items[i], &s->findings);
	}
	for (size_t i = 0; i < new.count; i++)
		finding_move(&new.items[i], &s->findings);
	s->findings.lost |= old.lost || new.lost;
	finding_list_clear(&old);
	finding_list_clear(&new);
}

static void report_time(struct report *r, const char *key, const char *title, const struct cmd_side *side)
{
	const struct snapshot *snapshot = source_snapshot(side->source);
	struct snapshot_info info;
	char taken[SESSION_TIME];

	if (!snapshot)
		return;
	snapshot_info(snapshot, &info);
	session_time(info.taken, taken);
	report_string(r, key, title, taken);
}

/* --- counters --- */

static bool has_counters(const struct cmd_side *side)
{
	struct snapshot_item items[SNAPSHOT_ITEMS];
	size_t count = source_snapshot(side->source) ? snapshot_items(source_snapshot(side->source), items) : 0;

	for (size_t i = 0; i < count; i++)
		if (items[i].mgmt_class == MAD_CLASS_PERF && items[i].attribute == MAD_PORT_COUNTERS)
			return true;
	return false;
}

static int judge_side(const struct cmd_side *side, struct state *state, struct finding_list *found, struct counters_result *result)
{
	struct counters_options how = {0};
	struct snapshot_info info;
	struct counters counters;
	int error = counters_ask(side->source, side->fabric, NULL, false, &counters);

	snapshot_info(source_snapshot(side->source), &info);
	how.now = info.taken;
	if (error == 0)
		error = counters_judge(&counters, side->fabric, state, &how, found, result);
	counters_clear(&counters);
	return error;
}

/* How they grew between the two, judged as audit does from one look to the next. */
static int compare_counters(struct cmd_session *s, const struct cmd_side *before, const struct cmd_side *after)
{
	struct finding_list none = {0}, found = {0};
	struct counters_result result = {0};
	struct state state = {0};
	int error = 0;

	if (!has_counters(before) && !has_counters(after))
		return 0;
	if (!has_counters(before) || !has_counters(after)) {
		finding_set(&finding_add(&s->findings, FINDING_DIFF_UNKNOWN)->what, "counters");
		return 0;
	}
	error = judge_side(before, &state, &none, &result);
	if (error == 0)
		error = judge_side(after, &state, &found, &result);
	finding_list_drop(&found, FINDING_NOTE);
	for (size_t i = 0; error == 0 && i < found.count; i++)
		finding_move(&found.items[i], &s->findings);
	if (error == 0) {
		report_section(s->report, "counters", "counters");
		report_number(s->report, "compared", "ports compared", result.compared);
		report_number(s->report, "first", "only after", result.first);
		report_number(s->report, "new_link", "of another link", result.new_link);
		report_number(s->report, "ber_good", "bit errors within limits for sure", result.ber[BER_GOOD]);
		report_number(s->report, "ber_early", "too early to say", result.ber[BER_EARLY]);
		report_section_end(s->report);
	}
	finding_list_clear(&none);
	finding_list_clear(&found);
	state_clear(&state);
	return error;
}

/* --- expected changes --- */

/* Each expected change, and whether it happened. */
static void report_expected(struct report *r, const struct changes *changes, const struct diff_expected *expected)
{
	static const struct report_column columns[] = {
		{.key = "line", .title = "line", .type = REPORT_NUMBER},
		{.key = "change", .title = "expected", .type = REPORT_STRING},
		{.key = "meant", .title = "nodes or links", .type = REPORT_NUMBER},
		{.key = "happened", .title = "happened", .type = REPORT_NUMBER},
		{.key = "explains", .title = "changes explained", .type = REPORT_NUMBER},
	};

	report_table(r, "expected", "expected changes", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < changes->count; i++) {
		report_cell_number(r, changes->items[i].line);
		report_cell_string(r, changes->items[i].text);
		report_cell_number(r, expected[i].meant);
		report_cell_number(r, expected[i].happened);
		report_cell_number(r, expected[i].covered);
		report_row_end(r);
	}
	report_table_end(r);
}

bool cmd_changes_read(struct cmd_session *s, const char *path, struct changes **changes)
{
	int error = changes_read(path, &s->findings, changes);

	session_trust(s, path);

	report_string(s->report, "expect", "expected changes of", path);
	if (error != 0)
		session_fail(s, "cannot read the change file '%s': %s", path, strerror(-error));
	return *changes != NULL;
}

/* Changes that explain nothing more than notes say so in their detail. */
static int expect(struct cmd_session *s, const struct diff_state *a, const struct diff_state *b, const struct changes *changes,
		  const struct diff_result *result)
{
	struct diff_expected *expected = calloc(changes->count + 1, sizeof(*expected));
	int error = expected ? diff_expect(a, b, changes, result, &s->findings, expected) : -ENOMEM;

	if (error == 0)
		report_expected(s->report, changes, expected);
	free(expected);
	return error;
}

int cmd_diff_sides(struct cmd_session *s, const struct cmd_side *before, const struct cmd_side *after,
		   const struct changes *changes, struct diff_result *result)
{
	const struct diff_state a = {before->fabric, source_snapshot(before->source)},
				b = {after->fabric, source_snapshot(after->source)};
	int error = check_diff(&a, &b, &s->findings, result);

	compare_sm(s, before, after);
	if (error == 0)
		report_result(s->report, result);
	if (error == 0)
		error = compare_counters(s, before, after);
	if (error == 0 && changes)
		error = expect(s, &a, &b, changes, result);
	if (error != 0)
		session_fail(s, "out of memory");
	return error;
}

void cmd_sides_report(struct report *r, const char *before_path, const struct cmd_side *before, const char *after_path,
		      const struct cmd_side *after)
{
	report_string(r, "before", "before", before_path);
	report_time(r, "before_taken", "taken", before);
	report_string(r, "after", "after", after_path);
	report_time(r, "after_taken", "taken", after);
}

enum ibqos_exit cmd_diff_states(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct cmd_side before = {0}, after = {0};
	struct diff_result result = {0};
	struct changes *changes = NULL;
	struct diff_options o = {0};
	struct cmd_session s;

	cmd_defaults(&o.common, ctx);
	cmd_parse(&cmd_diff_states_argp, argc, argv, &o);
	if (o.common.site)
		return cmd_site(ctx, &o.common, argc, argv);
	if (!session_begin(&s, ctx, &o.common))
		return IBQOS_EXIT_UNKNOWN;
	if ((!o.expect || cmd_changes_read(&s, o.expect, &changes)) && cmd_side_open(&s, ctx, o.common.argument[0], NULL, &before) &&
	    cmd_side_open(&s, ctx, o.common.argument[1], NULL, &after)) {
		s.findings.of_file = true;
		cmd_sides_report(s.report, o.common.argument[0], &before, o.common.argument[1], &after);
		cmd_sides_gaps(&s, before.fabric, after.fabric);
		cmd_diff_sides(&s, &before, &after, changes, &result);
		s.figures.wanted = true;
		s.fabric = after.fabric; /* which the session frees */
		after.fabric = NULL;
	}
	diff_result_clear(&result);
	changes_free(changes);
	cmd_side_close(&before);
	cmd_side_close(&after);
	return session_end(&s);
}
