/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos trace: the way of packets from one port to another and back, hop by hop. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/link.h"
#include "verify_paths.h"
#include "verify_sm.h"

struct trace_options {
	struct cmd_options common; /* first: children get the same pointer */
	const char *policy, *class;
	bool has_sl, by_lft;
	unsigned sl;
};

enum { KEY_POLICY = 0x200, KEY_CLASS, KEY_SL, KEY_BY_LFT };

static const struct argp_option own_options[] = {
	{"policy", KEY_POLICY, "FILE", 0, "the policy whose classes are meant", 0},
	{"class", KEY_CLASS, "NAME", 0, "packets of this class of the policy (default: its default class)", 0},
	{"sl", KEY_SL, "N", 0, "packets of this SL (default without a policy: 0)", 0},
	{"by-lft", KEY_BY_LFT, NULL, 0, "take the forwarding tables for the paths where adaptive routing is on or not known too", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct trace_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &o->common);
		return 0;
	case KEY_POLICY:
		o->policy = arg;
		return 0;
	case KEY_CLASS:
		o->class = arg;
		return 0;
	case KEY_SL:
		o->sl = (unsigned)cmd_number(state, "--sl", arg, 0, QOS_SLS - 1);
		o->has_sl = true;
		return 0;
	case KEY_BY_LFT:
		o->by_lft = true;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (o->class && !o->policy)
			argp_error(state, "--class needs --policy FILE");
		if (o->class && o->has_sl)
			argp_error(state, "--class and --sl exclude each other");
		return 0;
	default:
		return cmd_argument(key, arg, state, &o->common, 2, "the source or destination");
	}
}

const struct argp cmd_trace_argp = {
	.options = own_options,
	.parser = parse,
	.args_doc = "SRC DST",
	.doc = "Follows packets from SRC to DST and back through the forwarding tables, and "
	       "shows for each hop the VL that the tables there give them, its share of the "
	       "link while the VLs of all classes are busy, and the link. SRC and DST are "
	       "names of nodes, NAME[PORT], LIDs, GUIDs of nodes or ports, or directed routes "
	       "(0,1,4).\v"
	       "Exit status: 0 packets arrive both ways, 1 warnings, 2 they do not, or a link "
	       "on the way is slow, 3 something was not answered, or routing may be adaptive.",
	.children = cmd_source_children,
};

/* --- report --- */

static void cell_port(struct report *r, const struct fabric *fabric, uint32_t port)
{
	char text[FABRIC_TEXT];

	if (port == FABRIC_NONE)
		report_cell_none(r);
	else
		report_cell_string(r, fabric_port_text(fabric, port, text, sizeof(text)));
}

static void cells_of_hop(struct report *r, const struct fabric *fabric, const struct trace_hop *hop)
{
	const struct fabric_node *node = &fabric->nodes[hop->node];
	bool link = hop->out != FABRIC_NONE && fabric->ports[hop->out].number != 0;

	report_cell_string(r, node->name);
	report_cell_guid(r, node->guid);
	report_cell_number(r, hop->in);
	if (hop->out == FABRIC_NONE)
		report_cell_none(r);
	else
		report_cell_number(r, fabric->ports[hop->out].number);
	if (!link) {
		for (int i = 0; i < 6; i++)
			report_cell_none(r);
		report_row_end(r);
		return;
	}
	if (hop->vl == LANE_NO_VL && hop->fate == LANE_UNKNOWN)
		report_cell_string(r, NULL);
	else
		report_cell_number(r, hop->vl);
	if (hop->fate == LANE_FINE)
		report_cell_none(r);
	else
		report_cell_string(r, lane_fate_text(hop->fate));
	if (hop->share_known)
		report_cell_real(r, 100 * hop->share);
	else if (hop->fate == LANE_FINE || hop->fate == LANE_UNKNOWN)
		report_cell_string(r, NULL);
	else
		report_cell_none(r);
	report_cell_string(r, hop->width && hop->speed ? link_width_name(hop->width) : NULL);
	if (hop->gbps > 0) {
		report_cell_string(r, link_speed_name(hop->speed));
		report_cell_real(r, hop->gbps);
	} else {
		report_cell_string(r, NULL);
		report_cell_string(r, NULL);
	}
	cell_port(r, fabric, fabric->ports[hop->out].peer);
	report_row_end(r);
}

static void report_hops(struct report *r, const struct fabric *fabric, const struct trace *trace, const char *key,
			const char *title)
{
	static const struct report_column columns[] = {
		{.key = "node", .title = "node", .type = REPORT_STRING},
		{.key = "node_guid", .type = REPORT_GUID},
		{.key = "in_port", .title = "in", .type = REPORT_NUMBER},
		{.key = "out_port", .title = "out", .type = REPORT_NUMBER},
		{.key = "vl", .title = "VL", .type = REPORT_NUMBER},
		{.key = "fate", .title = "fate", .type = REPORT_STRING},
		{.key = "share", .title = "share", .type = REPORT_REAL, .unit = "%", .decimals = 1},
		{.key = "width", .title = "width", .type = REPORT_STRING},
		{.key = "speed", .title = "speed", .type = REPORT_STRING},
		{.key = "gbps", .title = "rate", .type = REPORT_REAL, .unit = "Gb/s", .decimals = 1},
		{.key = "to", .title = "to", .type = REPORT_STRING},
	};

	report_table(r, key, title, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < trace->count; i++)
		cells_of_hop(r, fabric, &trace->hops[i]);
	report_table_end(r);
}

static const char *verdict_of(const struct trace *trace)
{
	if (trace->end != ROUTE_ARRIVED)
		return route_step_text(trace->end);
	return trace->drops ? "do not get through" : trace->unknown ? NULL : "arrive";
}

static void report_way(struct cmd_session *s, const struct trace *trace, bool forward)
{
	char from[FABRIC_TEXT], to[FABRIC_TEXT], title[2 * FABRIC_TEXT + 32];
	const struct fabric *f = s->fabric;

	fabric_port_text(f, trace->from, from, sizeof(from));
	fabric_port_text(f, trace->to, to, sizeof(to));
	report_section(s->report, forward ? "there" : "back", forward ? "there" : "back");
	report_string(s->report, "from", "from", from);
	report_string(s->report, "to", "to", to);
	report_number(s->report, "lid", "LID", trace->lid);
	report_number(s->report, "sl", "SL", trace->sl);
	report_string(s->report, "packets", "packets", verdict_of(trace));
	report_section_end(s->report);
	snprintf(title, sizeof(title), "%s -> %s", from, to);
	report_hops(s->report, f, trace, forward ? "hops_there" : "hops_back", title);
	trace_findings(trace, f, &s->findings);
}

/* --- one run --- */

/* SL of the packets and SLs that are busy. False: said why not. */
static bool choose_sls(struct cmd_session *s, const struct trace_options *o, const struct policy *policy, unsigned *sl,
		       uint16_t *busy)
{
	bool found = !o->class;

	*sl = o->has_sl ? o->sl : policy ? policy->classes[policy->default_class].sl : 0;
	*busy = policy ? 0 : 0xffff;
	for (size_t i = 0; policy && i < policy->class_count; i++) {
		*busy |= 1u << policy->classes[i].sl;
		if (o->class && strcmp(policy->classes[i].name, o->class) == 0) {
			*sl = policy->classes[i].sl;
			found = true;
		}
	}
	if (!found)
		session_fail(s, "no class '%s' in %s", o->class, o->policy);
	return found;
}

static bool find_end(struct cmd_session *s, const struct routes *routes, const char *text, uint32_t *port)
{
	char *fault = NULL;
	int error = paths_find_end(s->fabric, routes, text, port, &fault);

	if (error != 0)
		session_fail(s, "%s", fault ? fault : strerror(-error));
	free(fault);
	return error == 0;
}

/* Whether the switches on the way route adaptively. */
static int ask_adaptive(struct cmd_session *s, struct routes *routes, const struct trace *trace)
{
	uint32_t *nodes = calloc(trace->count + 1, sizeof(*nodes)), count = 0;
	int error = nodes ? 0 : -ENOMEM;

	for (size_t i = 0; nodes && i < trace->count; i++)
		nodes[count++] = trace->hops[i].node;
	if (error == 0 && count > 0)
		error = routes_read_adaptive(routes, s->source, nodes, count);
	free(nodes);
	return error;
}

static int trace_way(struct cmd_session *s, struct routes *routes, uint32_t from, uint32_t to, unsigned sl, uint16_t busy,
		     struct trace *trace)
{
	unsigned lid = fabric_port_lid(&s->fabric->ports[to]);
	int error = trace_run(s->source, s->fabric, routes, from, to, lid, sl, busy, trace);

	return error ? error : ask_adaptive(s, routes, trace);
}

static void trace_both(struct cmd_session *s, const struct trace_options *o, unsigned sl, uint16_t busy)
{
	struct trace there = {0}, back = {0};
	struct routes *routes = NULL;
	int error = routes_new(s->fabric, &routes);
	uint32_t from, to;

	if (error == 0 && find_end(s, routes, o->common.argument[0], &from) &&
	    find_end(s, routes, o->common.argument[1], &to)) {
		error = trace_way(s, routes, from, to, sl, busy, &there);
		if (error == 0)
			report_way(s, &there, true);
		if (error == 0)
			error = trace_way(s, routes, to, from, sl, busy, &back);
		if (error == 0)
			report_way(s, &back, false);
		trace_link_findings(&there, &back, s->fabric, &s->findings);
		cmd_routes_coverage(s, routes);
		routes_findings(routes, o->by_lft, &s->findings);
	}
	if (error != 0 && error != -EINTR) /* a signal is told at the end */
		session_fail(s, "cannot follow the path: %s", strerror(-error));
	trace_clear(&there);
	trace_clear(&back);
	routes_free(routes);
}

enum ibqos_exit cmd_trace(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct trace_options options = {0};
	struct policy *policy = NULL;
	struct cmd_session s;
	uint16_t busy;
	unsigned sl;
	int error = 0;

	cmd_defaults(&options.common, ctx);
	cmd_parse(&cmd_trace_argp, argc, argv, &options);
	if (!session_begin(&s, ctx, &options.common))
		return IBQOS_EXIT_UNKNOWN;
	if (options.policy) {
		session_trust(&s, options.policy);
		error = policy_read(options.policy, &s.findings, &policy);
		if (error != 0)
			session_fail(&s, "cannot read %s: %s", options.policy, strerror(-error));
		if (policy)
			session_policy(&s, options.policy, policy->name);
		finding_list_drop(&s.findings, FINDING_NOTE); /* those on the file are for lint */
	}
	if ((!options.policy || policy) && choose_sls(&s, &options, policy, &sl, &busy) && session_discover(&s))
		trace_both(&s, &options, sl, busy);
	policy_free(policy);
	return session_end(&s);
}
