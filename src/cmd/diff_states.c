/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos diff: what changed from one snapshot to another. */
#include <errno.h>
#include <string.h>

#include "cmd.h"

#include "ibqos/snapshot.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_options *o = state->input;

	if (key == ARGP_KEY_INIT) {
		cmd_hand_down(state, o);
		return 0;
	}
	return cmd_argument(key, arg, state, o, 2, "the file of before or the one of after");
}

static const struct argp argp = {
	.parser = parse,
	.args_doc = "BEFORE AFTER",
	.doc = "Compares two snapshots: nodes, links, width and speed, capabilities, tables, forwarding, the master subnet "
	       "manager. Cables that exchanged their ends are one change. Files of ibnetdiscover are compared by what they have.\v"
	       "Exit status: 0 no change, or none that matters, 1 changes, 2 something is gone, elsewhere or slower, 3 not all "
	       "could be compared.",
	.children = cmd_output_children,
};

/* One of the two files as a session of its own, without a report; its findings go to the other's. */
struct side {
	struct source *source;
	struct fabric *fabric;
	struct source_sm_query sm;
};

static bool open_side(struct cmd_session *s, const char *path, struct side *side)
{
	int error = source_open_file(s->ctx, path, NULL, &side->source);

	if (error == 0)
		error = source_discover(side->source, &s->findings, &side->fabric);
	if (error != 0) { /* the source has said what is wrong */
		s->least = IBQOS_EXIT_UNKNOWN;
		report_string(s->report, "error", NULL, strerror(-error));
		return false;
	}
	if (source_snapshot(side->source))
		check_snapshot_cut(source_snapshot(side->source), &s->findings);
	else
		finding_set(&finding_at(finding_add(&s->findings, FINDING_SOURCE_LACKS), path, 0, 0)->what,
			    "%s", source_lacks(side->source));
	check_gaps(side->fabric, &s->findings);
	side->sm = (struct source_sm_query){.mgmt_class = MAD_CLASS_SMP, .attribute = MAD_SM_INFO};
	source_ask_sm(side->source, side->fabric, &side->sm, 1);
	return true;
}

static void close_side(struct side *side)
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
static void compare_sm(struct cmd_session *s, const struct side *before, const struct side *after)
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

static void report_time(struct report *r, const char *key, const char *title, const struct side *side)
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

enum ibqos_exit cmd_diff_states(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct side before = {0}, after = {0};
	struct diff_result result;
	struct cmd_options options;
	struct cmd_session s;

	cmd_defaults(&options, ctx);
	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &options);
	if (!session_begin(&s, ctx, &options))
		return IBQOS_EXIT_UNKNOWN;
	if (open_side(&s, options.argument[0], &before) && open_side(&s, options.argument[1], &after)) {
		const struct diff_state a = {before.fabric, source_snapshot(before.source)},
					b = {after.fabric, source_snapshot(after.source)};

		report_string(s.report, "before", "before", options.argument[0]);
		report_time(s.report, "before_taken", "taken", &before);
		report_string(s.report, "after", "after", options.argument[1]);
		report_time(s.report, "after_taken", "taken", &after);
		compare_sm(&s, &before, &after);
		if (check_diff(&a, &b, &s.findings, &result) != 0)
			session_fail(&s, "out of memory");
		else
			report_result(s.report, &result);
	}
	close_side(&before);
	close_side(&after);
	return session_end(&s);
}
