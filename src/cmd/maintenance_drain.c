/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos maintenance drain: what would be cut if nodes were taken out; begin --drain says the same. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "maintenance.h"

#include "ibqos/drain.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_maintenance *c = state->input;

	if (key == ARGP_KEY_ARG)
		return cmd_keep(state, &c->drain, &c->drain_count, &c->drain_room, arg);
	if (key == ARGP_KEY_END && c->drain_count == 0)
		argp_error(state, "the node to be taken out is missing");
	return cmd_maintenance_option(key, arg, state);
}

const struct argp cmd_maintenance_drain_argp = {
	.parser = parse,
	.args_doc = "NODE...",
	.doc = "Says what would be cut if these nodes were taken out: hosts, paths, bandwidth between leaves, redundancy. NODE is a "
	       "name, a host's, a GUID or a pattern. From discovery and the forwarding tables; nothing is kept or changed.\v"
	       "Exit status: 0 nothing is cut, 1 a switch is left with one way, 2 hosts or pairs are cut, 3 not all is known.",
	.children = cmd_source_children,
};

/* Nodes of these names. False if one names none, which is a finding. */
static bool find_nodes(struct cmd_session *s, const char *const *names, size_t count, bool *out)
{
	const struct fabric *f = s->fabric;
	bool all = true;

	for (size_t i = 0; i < count; i++) {
		const struct scope_name name = {SCOPE_NODE, names[i]};
		struct scope none = {0};
		bool found = false;

		for (uint32_t n = 0; n < f->node_count; n++) {
			if (!scope_is_named(f, &f->nodes[n], names[i]))
				continue;
			out[n] = true;
			found = true;
		}
		if (!found && scope_make(f, &name, 1, &s->findings, &none) != 0)
			s->findings.lost = true;
		scope_clear(&none);
		all &= found;
	}
	return all;
}

static void report_left(struct report *r, const struct fabric *f, const struct drain_result *d)
{
	uint32_t before = UINT32_MAX, after = UINT32_MAX;

	for (uint32_t i = 0; i < d->leaf_count; i++) {
		before = d->leaves[i].ways_before < before ? d->leaves[i].ways_before : before;
		after = d->leaves[i].ways_after < after ? d->leaves[i].ways_after : after;
	}
	report_section(r, "left", "what is left");
	if (d->why_unknown) {
		report_string(r, "bisection_percent", "of the bandwidth between leaves", NULL);
		report_string(r, "bisection_unknown", "why", d->why_unknown);
	} else {
		const struct drain_leaf *worst = &d->leaves[d->worst_leaf];

		report_real(r, "bisection_percent", "of the bandwidth between leaves",
			    d->up_before > 0 ? 100 * d->up_after / d->up_before : 100, 1, "%");
		report_real(r, "up_before", "leaves to the top, before", d->up_before, 1, "Gb/s");
		report_real(r, "up_after", "leaves to the top, left", d->up_after, 1, "Gb/s");
		report_string(r, "worst_leaf", "the leaf that keeps least", f->nodes[worst->node].name);
		report_real(r, "worst_leaf_percent", "which keeps", worst->up_before > 0 ? 100 * worst->up_after / worst->up_before : 100,
			    1, "%");
	}
	if (d->leaf_count < 2) { /* nothing to lead to */
		report_string(r, "ways_before", "separate ways of a leaf at least, before", NULL);
		report_string(r, "ways_after", "separate ways of a leaf at least, left", NULL);
	} else {
		report_number(r, "ways_before", "separate ways of a leaf at least, before", before);
		report_number(r, "ways_after", "separate ways of a leaf at least, left", after);
	}
	report_section_end(r);
}

static void report_cut(struct report *r, const struct drain_result *d)
{
	report_section(r, "cut", "what would be cut");
	report_number(r, "nodes_out", "nodes taken out", d->nodes);
	report_number(r, "ends_out", "ports of adapters among them", d->ends_out);
	report_number(r, "ends", "active ports of adapters that stay", d->ends);
	report_number(r, "isolated", "of these without any other to reach", d->isolated);
	if (d->pairs_known) {
		report_number(r, "pairs", "ordered pairs of those that stay, with a path", d->pairs);
		report_number(r, "pairs_lost", "of these with a path through what goes", d->lost);
		report_number(r, "pairs_other_way", "of these with another way left", d->lost - d->lost_for_good);
		report_number(r, "pairs_cut", "of these without", d->lost_for_good);
		report_number(r, "pairs_unknown", "pairs whose path is not known", d->pairs_unread);
	} else {
		report_string(r, "pairs", "ordered pairs with a path", NULL);
	}
	report_section_end(r);
}

/* Leaves that lose something. */
static void report_leaves(struct report *r, const struct fabric *f, const struct drain_result *d)
{
	static const struct report_column columns[] = {
		{.key = "node_guid", .title = NULL, .type = REPORT_GUID},
		{.key = "leaf", .title = "leaf", .type = REPORT_STRING},
		{.key = "ways_before", .title = "ways", .type = REPORT_NUMBER},
		{.key = "ways_after", .title = "left", .type = REPORT_NUMBER},
		{.key = "up_before", .title = "to the top", .type = REPORT_REAL, .unit = "Gb/s", .decimals = 1},
		{.key = "up_after", .title = "left", .type = REPORT_REAL, .unit = "Gb/s", .decimals = 1},
	};

	report_table(r, "leaves", "leaves that lose ways or bandwidth", columns, sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < d->leaf_count; i++) {
		const struct drain_leaf *leaf = &d->leaves[i];

		if (leaf->ways_after == leaf->ways_before && leaf->up_after >= leaf->up_before)
			continue;
		report_cell_guid(r, f->nodes[leaf->node].guid);
		report_cell_string(r, f->nodes[leaf->node].name);
		report_cell_number(r, leaf->ways_before);
		report_cell_number(r, leaf->ways_after);
		if (d->why_unknown) {
			report_cell_string(r, NULL);
			report_cell_string(r, NULL);
		} else {
			report_cell_real(r, leaf->up_before);
			report_cell_real(r, leaf->up_after);
		}
		report_row_end(r);
	}
	report_table_end(r);
}

bool cmd_drain_report(struct cmd_session *s, const char *const *names, size_t count)
{
	bool *out = calloc((size_t)s->fabric->node_count + 1, sizeof(*out));
	struct routes *routes = NULL;
	struct drain_result d = {0};
	bool found = out && find_nodes(s, names, count, out);
	int error = out ? 0 : -ENOMEM;

	if (found)
		error = routes_new(s->fabric, &routes);
	if (found && error == 0) {
		routes_want_all(routes);
		error = routes_read(routes, s->source);
		routes_findings(routes, false, &s->findings);
	}
	if (found && error == 0)
		error = drain_check(s->ctx, s->fabric, routes, out, &d);
	if (found && error == 0) {
		report_cut(s->report, &d);
		report_left(s->report, s->fabric, &d);
		report_leaves(s->report, s->fabric, &d);
		drain_findings(&d, s->fabric, &s->findings);
		if (d.pairs_unread > 0)
			s->least = IBQOS_EXIT_UNKNOWN;
		if (d.ends + d.ends_out == 0)
			session_fail(s, "no active port of an adapter was found, so nothing could be cut");
	}
	if (error != 0 && error != -EINTR) /* a signal is told at the end */
		session_fail(s, "cannot say what would be cut: %s", strerror(-error));
	else if (error == 0 && !found)
		session_fail(s, "nothing was looked at: the fabric has not all of these nodes");
	drain_clear(&d);
	routes_free(routes);
	free(out);
	return found && error == 0;
}

enum ibqos_exit cmd_maintenance_drain(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct cmd_maintenance c;
	struct cmd_session s;
	enum ibqos_exit code = IBQOS_EXIT_UNKNOWN;

	cmd_maintenance_parse(ctx, &cmd_maintenance_drain_argp, argc, argv, &c);
	if (session_begin(&s, ctx, &c.common)) {
		if (session_discover(&s)) {
			session_fabric_fields(&s);
			cmd_drain_report(&s, c.drain, c.drain_count);
			session_mads(&s);
		}
		code = session_end(&s);
	}
	free(c.drain);
	return code;
}
