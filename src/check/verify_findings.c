/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * verify_findings: what a verify run left, as findings.
 */
#include "verify.h"

#include <stdio.h>
#include <string.h>

#include "place.h"

#define RANGES_MAX 1024 /* every second of 256 in-ports, with commas, is below this */

/* --- SL2VL --- */

/* The tables of a port that differ for one reason, which make one finding. */
struct sl2vl_group {
	const struct port_state *state;
	enum finding_cause cause;
	unsigned count, first; /* tables, and the in-port of the first */
	bool unlike, third;    /* not all alike; the SM's record of one is a third table */
	unsigned assumed;      /* whose own record was not asked for */
};

static bool in_group(const struct sl2vl_group *g, unsigned in_port)
{
	const struct sl2vl_diff *table;

	if (in_port >= g->state->expect.in_ports)
		return false;
	table = &g->state->diff->sl2vl[in_port];
	return table->differs && table->cause.cause == g->cause;
}

static void collect_group(struct sl2vl_group *g)
{
	const struct sl2vl_diff *tables = g->state->diff->sl2vl;

	for (unsigned in = 0; in < g->state->expect.in_ports; in++) {
		if (!in_group(g, in))
			continue;
		if (g->count++ == 0)
			g->first = in;
		g->unlike = g->unlike || memcmp(tables[in].wire, tables[g->first].wire, QOS_SL2VL_WIRE) != 0;
		g->third = g->third || tables[in].cause.third;
		g->assumed += tables[in].cause.assumed;
	}
}

/* "0-36", "3", "0,4-7" */
static void format_ranges(const struct sl2vl_group *g, char text[RANGES_MAX])
{
	unsigned first, last, used = 0;

	text[0] = '\0';
	for (first = 0; first < VERIFY_IN_PORTS; first = last + 1) {
		last = first;
		if (!in_group(g, first))
			continue;
		while (in_group(g, last + 1))
			last++;
		used += snprintf(text + used, RANGES_MAX - used, "%s%u", used ? "," : "", first);
		if (last > first)
			used += snprintf(text + used, RANGES_MAX - used, "-%u", last);
	}
}

static void format_wire(const uint8_t wire[QOS_SL2VL_WIRE], char text[QOS_TEXT_MAX])
{
	struct qos_sl2vl table;

	qos_sl2vl_decode(wire, &table);
	qos_sl2vl_format(&table, text);
}

/* What the SM's record of tables adds to their class. */
static void detail_record(struct finding *f, bool third, unsigned assumed, unsigned count)
{
	if (third)
		finding_append(&f->detail, "the subnet manager's record is neither of the two");
	if (assumed == count && assumed > 0)
		finding_append(&f->detail, "its record was not asked for");
	else if (assumed > 0)
		finding_append(&f->detail, "its record was asked for %u of %u tables", count - assumed, count);
}

/* Says what one shown table of many leaves out. */
static void detail_sl2vl(struct finding *f, const struct sl2vl_group *g)
{
	unsigned asked = g->state->asked[VERIFY_SL2VL];
	unsigned answered = g->state->ended[VERIFY_SL2VL][MAD_ANSWERED];
	const char *unlike = g->unlike ? ", not all alike" : "";

	if (g->count == asked && !g->unlike)
		;
	else if (answered < asked)
		finding_set(&f->detail, "%u of %u in-ports differ%s, %u did not answer", g->count, asked,
			    unlike, asked - answered);
	else
		finding_set(&f->detail, "%u of %u in-ports differ%s", g->count, asked, unlike);
	detail_record(f, g->third, g->assumed, g->count);
}

static void add_sl2vl_group(const struct verify *v, uint32_t port, const struct sl2vl_group *g,
			    struct finding_list *findings)
{
	struct finding *f = finding_add(findings, FINDING_SL2VL_DIFFERS);
	char text[QOS_TEXT_MAX], ranges[RANGES_MAX];

	place_port(f, v->fabric, port);
	f->cause = g->cause;
	finding_set(&f->what, "SL2VL");
	if (fabric_port_node(v->fabric, port)->type == FABRIC_SWITCH) {
		format_ranges(g, ranges);
		finding_set(&f->what, "SL2VL, in-port%s %s", g->count > 1 ? "s" : "", ranges);
	}
	format_wire(expect_sl2vl(&v->expect, &g->state->expect, g->first), text);
	finding_set(&f->wanted, "%s", text);
	format_wire(g->state->diff->sl2vl[g->first].wire, text);
	finding_set(&f->got, "%s", text);
	detail_sl2vl(f, g);
}

static void add_sl2vl(const struct verify *v, uint32_t port, struct finding_list *findings)
{
	const struct port_state *state = &v->ports[port];
	struct finding *f;

	if (!state->diff || !state->diff->sl2vl) { /* no memory to keep it */
		f = finding_add(findings, FINDING_SL2VL_DIFFERS);
		place_port(f, v->fabric, port);
		finding_set(&f->what, "SL2VL");
		return;
	}
	for (enum finding_cause cause = CAUSE_NONE; cause < CAUSES; cause++) {
		struct sl2vl_group group = {.state = state, .cause = cause};

		collect_group(&group);
		if (group.count > 0)
			add_sl2vl_group(v, port, &group, findings);
	}
}

/* --- VLArb --- */

/* One table, low or high, put together from those of its blocks that differ. */
struct vlarb_text {
	struct qos_vlarb_entry wanted[QOS_VLARB_ENTRIES], got[QOS_VLARB_ENTRIES];
	unsigned count, first; /* entries, and where in the table they begin */
};

static void add_block(const struct verify *v, const struct port_state *state, unsigned block,
		      struct vlarb_text *t)
{
	struct qos_vlarb_entry wanted[QOS_VLARB_BLOCK], got[QOS_VLARB_BLOCK];
	unsigned length = expect_vlarb(&v->expect, &state->expect, block, wanted), i;

	qos_vlarb_decode(state->diff->vlarb[block], got);
	if (t->count == 0)
		t->first = block % 2 * QOS_VLARB_BLOCK;
	for (i = 0; i < length; i++, t->count++) {
		t->wanted[t->count] = wanted[i];
		t->got[t->count] = got[i];
	}
}

/* How many entries say anything: those at the end that have no weight on either side do not. */
static unsigned telling_entries(const struct vlarb_text *t)
{
	unsigned n = t->count;

	while (n > 0 && t->wanted[n - 1].weight == 0 && t->got[n - 1].weight == 0 &&
	       t->wanted[n - 1].vl == t->got[n - 1].vl)
		n--;
	return n;
}

/* The blocks of one table that differ for one reason. */
static void add_vlarb_group(const struct verify *v, uint32_t port, unsigned first_block, unsigned blocks,
			    struct finding_list *findings)
{
	const struct port_state *state = &v->ports[port];
	const char *name = first_block < 2 ? "low" : "high";
	struct finding *f = finding_add(findings, FINDING_VLARB_DIFFERS);
	unsigned cap = first_block < 2 ? state->expect.low_cap : state->expect.high_cap;
	unsigned kept = 0, assumed = 0;
	struct vlarb_text t = {.count = 0};
	char text[QOS_TEXT_MAX];
	bool third = false;

	place_port(f, v->fabric, port);
	finding_set(&f->what, "VLArb %s", name);
	for (unsigned block = first_block; state->diff && block < first_block + 2; block++) {
		const struct table_cause *cause = &state->diff->vlarb_cause[block];

		if (!(blocks >> block & 1) || !state->diff->vlarb[block])
			continue;
		add_block(v, state, block, &t);
		f->cause = cause->cause;
		third = third || cause->third;
		assumed += cause->assumed;
		kept++;
	}
	if (t.count == 0) /* no memory to keep it */
		return;
	if (cap > QOS_VLARB_BLOCK)
		finding_set(&f->what, "VLArb %s, entries %u-%u", name, t.first + 1, t.first + t.count);
	for (unsigned block = first_block; block < first_block + 2; block++) {
		if (expect_leftover(&state->expect, block) && blocks >> block & 1)
			finding_set(&f->detail, "OpenSM sets no entry from 33 on in a table of exactly 64, so what stands "
				    "there stays in force");
	}
	detail_record(f, third, assumed, kept);
	t.count = telling_entries(&t);
	qos_vlarb_format(t.wanted, t.count, text);
	finding_set(&f->wanted, "%s", text);
	qos_vlarb_format(t.got, t.count, text);
	finding_set(&f->got, "%s", text);
}

static void add_vlarb(const struct verify *v, uint32_t port, unsigned first_block, struct finding_list *findings)
{
	const struct port_state *state = &v->ports[port];
	unsigned blocks = state->vlarb_blocks & 3u << first_block;
	const struct table_cause *causes = state->diff ? state->diff->vlarb_cause : NULL;

	if (blocks == 3u << first_block && causes && causes[first_block].cause != causes[first_block + 1].cause) {
		add_vlarb_group(v, port, first_block, 1u << first_block, findings);
		add_vlarb_group(v, port, first_block, 2u << first_block, findings);
	} else if (blocks) {
		add_vlarb_group(v, port, first_block, blocks, findings);
	}
}

/* --- the rest of a port --- */

static void add_high_limit(const struct verify *v, uint32_t port, struct finding_list *findings)
{
	const struct port_state *state = &v->ports[port];
	struct finding *f = finding_add(findings, FINDING_HIGH_LIMIT_DIFFERS);

	place_port(f, v->fabric, port);
	finding_set(&f->what, "VLHighLimit");
	finding_set(&f->wanted, "%u", state->expect.high_limit);
	finding_set(&f->got, "%u", state->high_limit_got);
	if (!state->diff)
		return;
	f->cause = state->diff->high_limit_cause.cause;
	if (f->cause == CAUSE_DRIFTED)
		finding_set(&f->detail, "OpenSM sets it again on its next heavy sweep");
	if (f->cause == CAUSE_UNKNOWN && !state->diff->high_limit_cause.assumed)
		finding_set(&f->detail, "the subnet manager only has what the device told it last");
	detail_record(f, false, state->diff->high_limit_cause.assumed, 1);
}

/* A port 0 whose tables nobody asked for, since it is not known whether it has any. */
static void add_unsure(const struct verify *v, uint32_t port, struct finding_list *findings)
{
	struct finding *f = finding_add(findings, FINDING_QUERY_FAILED);

	place_port(f, v->fabric, port);
	finding_set(&f->what, "tables of port 0");
	finding_set(&f->detail, "SwitchInfo, which tells whether it has any, was not answered at discovery");
}

/* What a port says of its link and cannot be: what it holds is compared all the same. */
static void add_reserved(const struct verify *v, uint32_t port, struct finding_list *findings)
{
	for (enum fabric_link_field field = FABRIC_VL_CAP; field <= FABRIC_OPER_VLS; field++)
		place_reserved(v->fabric, port, field, findings);
}

static void add_no_vlarb(const struct verify *v, uint32_t port, struct finding_list *findings)
{
	const struct expect_port *expect = &v->ports[port].expect;
	struct finding *f;

	if (!expect->no_low && !expect->no_high)
		return;
	f = finding_add(findings, FINDING_VLARB_UNSUPPORTED);
	place_port(f, v->fabric, port);
	f->cause = CAUSE_UNSUPPORTED;
	finding_set(&f->what, "VLArb %s", !expect->no_high ? "low" : !expect->no_low ? "high" : "low and high");
}

static const char *why_not_asked(const struct verify *v)
{
	if (v->of_file)
		return NOT_IN_FILE;
	return v->stopped ? "not asked, as the run was stopped" : "not asked, as the device had stopped answering";
}

/* The device does not know this attribute, or has no such table (IBA 13.4.7, bits 2 to 4). */
static bool is_unsupported(uint16_t status)
{
	unsigned code = status >> 2 & 7;

	return code == 2 || code == 3 || code == 7;
}

/* Queries for one item that failed; with silent, only those that the device answered, with a refusal. */
static void add_failed(const struct verify *v, uint32_t port, enum verify_item item, bool silent,
		       struct finding_list *findings)
{
	const struct port_state *state = &v->ports[port];
	unsigned refused = state->ended[item][MAD_STATUS], timed_out = state->ended[item][MAD_TIMED_OUT];
	unsigned not_asked = state->ended[item][MAD_NOT_ASKED];
	struct finding *f;

	if (refused + (silent ? 0 : timed_out + not_asked) == 0)
		return;
	f = finding_add(findings, FINDING_QUERY_FAILED);
	place_port(f, v->fabric, port);
	finding_set(&f->what, "%s", verify_item_name(item));
	if (state->asked[item] > 1)
		finding_set(&f->what, "%s, %u of %u queries", verify_item_name(item),
			    refused + timed_out + not_asked, state->asked[item]);
	if (refused && is_unsupported(state->status[item]))
		f->cause = CAUSE_UNSUPPORTED;
	if (refused)
		finding_set(&f->detail, "answered with MAD status 0x%04x", state->status[item]);
	else if (timed_out)
		finding_set(&f->detail, "not answered in %u tries", state->tries);
	else
		finding_set(&f->detail, "%s", why_not_asked(v));
}

static void add_port(const struct verify *v, uint32_t port, bool silent, struct finding_list *findings)
{
	const struct port_state *state = &v->ports[port];
	unsigned item;

	if (state->flags & PORT_SL2VL)
		add_sl2vl(v, port, findings);
	if (state->flags & PORT_VLARB) {
		add_vlarb(v, port, 0, findings);
		add_vlarb(v, port, 2, findings);
	}
	if (state->flags & PORT_HIGH_LIMIT)
		add_high_limit(v, port, findings);
	if (state->flags & PORT_UNSURE && v->fabric->ports[port].number == 0)
		add_unsure(v, port, findings);
	else if (state->flags & PORT_UNSURE)
		add_reserved(v, port, findings);
	if (state->flags & PORT_LEFT)
		place_port(finding_add(findings, FINDING_PORT_LEFT), v->fabric, port);
	if (state->expect.no_sl_map) {
		struct finding *f = finding_add(findings, FINDING_SL2VL_UNSUPPORTED);

		place_port(f, v->fabric, port);
		f->cause = CAUSE_UNSUPPORTED;
	}
	add_no_vlarb(v, port, findings);
	for (item = 0; item < VERIFY_ITEMS; item++)
		add_failed(v, port, item, silent, findings);
}

/* --- agents and links --- */

/* How the queries to an agent ended, over all its ports. */
struct agent_sum {
	unsigned heard, heard_tables; /* answered, be it with a status; of these, for tables */
	unsigned timed_out, not_asked;
};

static void sum_agent(const struct verify *v, const struct agent_state *agent, struct agent_sum *sum)
{
	uint32_t i;

	*sum = (struct agent_sum){0};
	for (i = agent->first; i < agent->end; i++) {
		const struct port_state *state = &v->ports[i];
		unsigned heard =
			verify_port_ended(state, MAD_ANSWERED) + verify_port_ended(state, MAD_STATUS);

		sum->heard += heard;
		sum->heard_tables += heard - state->ended[VERIFY_PORT_INFO][MAD_ANSWERED] -
				     state->ended[VERIFY_PORT_INFO][MAD_STATUS];
		sum->timed_out += verify_port_ended(state, MAD_TIMED_OUT);
		sum->not_asked += verify_port_ended(state, MAD_NOT_ASKED);
	}
}

/* True where all tables of an agent's ports that were asked for are lost. */
static bool lost_all_tables(const struct verify *v, const struct agent_state *agent,
			    const struct agent_sum *sum)
{
	unsigned asked = 0;
	uint32_t i;

	for (i = agent->first; i < agent->end; i++)
		asked += v->ports[i].asked[VERIFY_SL2VL] + v->ports[i].asked[VERIFY_VLARB];
	return asked > 0 && sum->heard_tables == 0;
}

/*
 * Says so once where an agent left all its queries, or all from some point on, unanswered: its
 * ports are then not listed one by one. Not where the run was stopped and the agent is not to blame.
 */
static bool add_silent(const struct verify *v, const struct agent_state *agent, struct finding_list *findings)
{
	struct agent_sum sum;
	struct finding *f;

	sum_agent(v, agent, &sum);
	if (sum.timed_out + sum.not_asked == 0 || (v->stopped && sum.timed_out == 0))
		return false;
	if (sum.heard > 0 && sum.not_asked == 0 && !lost_all_tables(v, agent, &sum))
		return false;
	f = finding_add(findings, FINDING_AGENT_SILENT);
	if (fabric_port_node(v->fabric, agent->agent)->type == FABRIC_SWITCH)
		place_node(f, v->fabric, v->fabric->ports[agent->agent].node);
	else
		place_port(f, v->fabric, agent->agent);
	finding_set(&f->what, "%u of %u queries", sum.timed_out + sum.not_asked,
		    sum.heard + sum.timed_out + sum.not_asked);
	finding_set(&f->detail, "%u not answered, %u then not asked", sum.timed_out, sum.not_asked);
	return true;
}

static void add_link(const struct verify *v, const struct fabric_link *link, struct finding_list *findings)
{
	const struct fabric_port *ports = v->fabric->ports;
	struct finding *f;

	if (!verify_link_differs(v, link))
		return;
	f = finding_add(findings, FINDING_OPER_VLS_DIFFERS);
	place_port(f, v->fabric, link->a);
	finding_set(&f->what, "OperationalVLs");
	finding_set(&f->wanted, "the same at both ends");
	finding_set(&f->got, "%u here, %u at the other end",
		    qos_vls_of_code(fabric_port_oper_vls(&ports[link->a])),
		    qos_vls_of_code(fabric_port_oper_vls(&ports[link->b])));
}

void verify_findings(const struct verify *verify, struct finding_list *findings)
{
	uint32_t i, port;

	for (i = 0; i < verify->agent_count; i++) {
		const struct agent_state *agent = &verify->agents[i];
		bool silent = add_silent(verify, agent, findings);

		for (port = agent->first; port < agent->end; port++)
			add_port(verify, port, silent, findings);
	}
	for (i = 0; i < verify->fabric->link_count; i++)
		add_link(verify, &verify->fabric->links[i], findings);
}
