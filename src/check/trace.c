/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * trace: one path hop by hop, each hop asked for its own part of what decides it.
 */
#include "ibqos/audit.h"
#include "ibqos/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/link.h"
#include "paths.h"
#include "place.h"

/* --- tables of a hop --- */

struct hop_ask {
	struct lanes *lanes;
	uint32_t agent, out;
	unsigned in, step; /* step: 0 SL2VL, 1..4 VLArb blocks */
	struct qos_tables tables;
	bool sl2vl, low_lost, high_lost; /* answered; not answered */
	int error;
};

static bool next_table(void *arg, uint32_t which, struct source_query *query)
{
	struct hop_ask *ask = arg;
	const struct fabric *fabric = lanes_fabric(ask->lanes);
	const struct fabric_port *port = &fabric->ports[ask->out];
	bool of_switch = fabric->nodes[port->node].type == FABRIC_SWITCH;
	unsigned number = of_switch ? port->number : 0;

	(void)which;
	for (;;) {
		unsigned step = ask->step++;

		if (step > QOS_VLARB_BLOCKS)
			return false;
		*query = (struct source_query){.agent = ask->agent, .port = ask->out};
		if (step == 0) {
			query->attribute = MAD_SL2VL;
			query->modifier = MAD_SL2VL_MODIFIER(of_switch ? ask->in : 0, number);
			return true;
		}
		if (lanes_block_entries(port, step - 1) == 0)
			continue;
		query->attribute = MAD_VLARB;
		query->modifier = MAD_VLARB_MODIFIER(step - 1, number);
		return true;
	}
}

static void take_block(struct hop_ask *ask, unsigned block, const uint8_t *data)
{
	const struct fabric_port *port = &lanes_fabric(ask->lanes)->ports[ask->out];
	struct qos_vlarb *table = block < 2 ? &ask->tables.low : &ask->tables.high;
	unsigned count = lanes_block_entries(port, block), first = block % 2 * QOS_VLARB_BLOCK;
	struct qos_vlarb_entry entries[QOS_VLARB_BLOCK];

	qos_vlarb_decode(data, entries);
	memcpy(table->entry + first, entries, count * sizeof(*entries));
	if (table->count < first + count)
		table->count = first + count;
}

static void take_table(void *arg, const struct source_query *query, const struct mad_answer *answer)
{
	struct hop_ask *ask = arg;
	unsigned block = (query->modifier >> 16) - 1;

	if (answer->outcome != MAD_ANSWERED) {
		ask->low_lost |= query->attribute == MAD_VLARB && block < 2;
		ask->high_lost |= query->attribute == MAD_VLARB && block >= 2;
		return;
	}
	if (lanes_take(ask->lanes, query, answer->data) != 0)
		ask->error = -ENOMEM;
	if (query->attribute == MAD_SL2VL) {
		ask->sl2vl = true;
		qos_sl2vl_decode(answer->data, &ask->tables.sl2vl);
	} else if (block < QOS_VLARB_BLOCKS) {
		take_block(ask, block, answer->data);
	}
}

/* What the VL keeps of the link while the VLs of all busy SLs have full packets. */
static void set_share(const struct fabric *fabric, const struct hop_ask *ask, uint16_t busy_sls, struct trace_hop *hop)
{
	const struct fabric_port *port = &fabric->ports[hop->out];
	unsigned packet[QOS_DATA_VLS], mtu = fabric_port_neighbor_mtu(port), vl, sl;
	double share[QOS_DATA_VLS] = {0};
	struct qos_tables tables = ask->tables;
	uint16_t busy = 0;

	if (hop->fate == LANE_STARVED && hop->vl < QOS_DATA_VLS)
		hop->share_known = true; /* nothing */
	if (hop->fate != LANE_FINE || mtu == 0)
		return;
	if (fabric_port_vl_cap(port) == 1) { /* no arbitration: there is only one */
		hop->share_known = true;
		hop->share = 1;
		return;
	}
	if (!ask->sl2vl || ask->low_lost || ask->high_lost)
		return;
	tables.high_limit = (uint8_t)fabric_port_high_limit(port);
	for (vl = 0; vl < QOS_DATA_VLS; vl++)
		packet[vl] = mtu;
	for (sl = 0; sl < QOS_SLS; sl++)
		if (busy_sls >> sl & 1 && tables.sl2vl.vl[sl] < QOS_DATA_VLS)
			busy |= 1u << tables.sl2vl.vl[sl];
	busy |= 1u << hop->vl;
	qos_arbitrate(&tables, busy, packet, share);
	hop->share_known = true;
	hop->share = share[hop->vl];
}

static void set_rate(const struct fabric *fabric, struct trace_hop *hop)
{
	struct link_state a, b;
	uint32_t peer = fabric->ports[hop->out].peer;

	if (peer == FABRIC_NONE || !link_decode(fabric, hop->out, &a) || !link_decode(fabric, peer, &b))
		return;
	hop->width = a.width_active < b.width_active ? a.width_active : b.width_active;
	hop->speed = a.speed_active < b.speed_active ? a.speed_active : b.speed_active;
	hop->gbps = link_gbps(hop->width, hop->speed);
}

/* --- following --- */

struct walk {
	struct source *source;
	const struct fabric *fabric;
	struct routes *routes;
	struct lanes *lanes;
	struct trace *trace;
	uint16_t busy;
};

static struct trace_hop *add_hop(struct trace *trace, uint32_t node, unsigned in, uint32_t out)
{
	struct trace_hop *grown = array_grow(trace->hops, &trace->room, trace->count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	trace->hops = grown;
	grown[trace->count] = (struct trace_hop){.node = node, .in = in, .out = out, .vl = LANE_NO_VL};
	return &grown[trace->count++];
}

/* One hop: what the tables there make of the packet. Arrival at a switch's port 0 is no link and no hop with a VL. */
static int look_at(struct walk *w, uint32_t node, unsigned in, uint32_t out)
{
	struct trace_hop *hop = add_hop(w->trace, node, in, out);
	struct hop_ask ask = {.lanes = w->lanes, .out = out, .in = in};
	struct source_asker asker = {.agents = &ask.agent, .agent_count = 1, .next = next_table, .answer = take_table,
				     .arg = &ask};
	int error;

	if (!hop)
		return -ENOMEM;
	if (out == FABRIC_NONE || w->fabric->ports[out].number == 0)
		return 0;
	set_rate(w->fabric, hop);
	if (!w->fabric->ports[out].known)
		return 0;
	ask.agent = fabric_port_agent(w->fabric, out);
	error = source_ask(w->source, w->fabric, &asker);
	hop->fate = lanes_fate(w->lanes, out, in, w->trace->sl, &hop->vl);
	set_share(w->fabric, &ask, w->busy, hop);
	w->trace->unknown |= hop->fate == LANE_UNKNOWN;
	w->trace->drops |= hop->fate != LANE_FINE && hop->fate != LANE_UNKNOWN;
	return error ? error : ask.error;
}

static bool been_at(const struct trace *trace, uint32_t node)
{
	for (size_t i = 0; i < trace->count; i++)
		if (trace->hops[i].node == node)
			return true;
	return false;
}

/* Through switches, from the one where it came in by port index `at`, or begins at port 0. */
static int walk_switches(struct walk *w, uint32_t at)
{
	struct trace *trace = w->trace;
	const struct fabric_port *port = &w->fabric->ports[at];
	uint32_t node = port->node, out;
	unsigned in = port->number;
	int error = 0;

	for (;;) {
		if (been_at(trace, node)) {
			trace->end = ROUTE_LOOP;
			return 0;
		}
		routes_want(w->routes, node, trace->lid);
		error = routes_read(w->routes, w->source);
		trace->end = routes_step(w->routes, node, trace->lid, &out);
		if (error == 0)
			error = look_at(w, node, in, out);
		if (error != 0 || trace->end != ROUTE_ON)
			return error;
		port = &w->fabric->ports[w->fabric->ports[out].peer];
		node = port->node;
		in = port->number;
	}
}

static int walk_all(struct walk *w)
{
	struct trace *trace = w->trace;
	const struct fabric_port *from = &w->fabric->ports[trace->from];
	uint32_t peer = from->peer;
	int error;

	if (trace->from == trace->to)
		trace->end = ROUTE_ARRIVED;
	if (trace->from == trace->to)
		return 0;
	if (w->fabric->nodes[from->node].type == FABRIC_SWITCH)
		return walk_switches(w, trace->from);
	trace->end = routes_link(w->routes, trace->from, trace->lid);
	error = look_at(w, from->node, 0, trace->from);
	if (error != 0 || trace->end != ROUTE_ON)
		return error;
	return walk_switches(w, peer);
}

int trace_run(struct source *source, const struct fabric *fabric, struct routes *routes, uint32_t from, uint32_t to,
	      unsigned lid, unsigned sl, uint16_t busy, struct trace *trace)
{
	struct walk w = {.source = source, .fabric = fabric, .routes = routes, .trace = trace, .busy = busy};
	int error = lanes_new(fabric, &w.lanes);

	*trace = (struct trace){.from = from, .to = to, .lid = lid, .sl = sl};
	if (error == 0)
		error = walk_all(&w);
	lanes_free(w.lanes);
	return error;
}

void trace_clear(struct trace *trace)
{
	free(trace->hops);
	*trace = (struct trace){0};
}

/* --- findings --- */

static void add_end(const struct trace *trace, const struct fabric *fabric, struct finding_list *findings)
{
	const struct trace_hop *last = trace->count ? &trace->hops[trace->count - 1] : NULL;
	struct finding *f;

	if (trace->end == ROUTE_ARRIVED || !last)
		return;
	f = finding_add(findings, paths_step_code(trace->end));
	if (last->out != FABRIC_NONE)
		place_port(f, fabric, last->out);
	else
		place_node(f, fabric, last->node);
	finding_set(&f->what, "LID %u", trace->lid);
	finding_set(&f->detail, "%s", route_step_text(trace->end));
}

static void add_fate(const struct trace *trace, const struct trace_hop *hop, const struct fabric *fabric,
		     struct finding_list *findings)
{
	struct finding *f;

	if (hop->fate == LANE_FINE || hop->out == FABRIC_NONE)
		return;
	f = finding_add(findings, paths_fate_code(hop->fate));
	place_port(f, fabric, hop->out);
	finding_set(&f->what, "SL %u from in-port %u", trace->sl, hop->in);
	if (hop->vl != LANE_NO_VL)
		finding_set(&f->got, "VL %u", hop->vl);
}

/* What is not known of a hop's share: the link's MTU, or tables that were not answered. */
static void add_share(const struct trace_hop *hop, const struct fabric *fabric, struct finding_list *findings)
{
	const struct fabric_node *node = &fabric->nodes[hop->node];
	struct finding *f;

	if (hop->out == FABRIC_NONE || fabric->ports[hop->out].number == 0 || hop->share_known)
		return;
	if (hop->fate == LANE_UNKNOWN)
		for (enum fabric_link_field field = FABRIC_VL_CAP; field <= FABRIC_OPER_VLS; field++)
			place_reserved(fabric, hop->out, field, findings);
	if (hop->fate != LANE_FINE || place_reserved(fabric, hop->out, FABRIC_NEIGHBOR_MTU, findings))
		return;
	f = finding_add(findings, FINDING_QUERY_FAILED);
	place_port(f, fabric, hop->out);
	finding_set(&f->what, "share of VL %u of the link", hop->vl);
	if (node->type == FABRIC_SWITCH)
		finding_append(&f->what, "from in-port %u", hop->in);
	finding_set(&f->detail, "its tables were not all answered");
}

/* Whether a finding of audit is about one of the links that the path takes. */
static bool is_on_way(const struct trace *trace, const struct fabric *fabric, const struct finding *f)
{
	for (size_t i = 0; i < trace->count; i++) {
		uint32_t out = trace->hops[i].out;
		const struct fabric_port *port;
		uint64_t guid, peer_guid;

		if (out == FABRIC_NONE || fabric->ports[out].peer == FABRIC_NONE)
			continue;
		port = &fabric->ports[out];
		guid = fabric->nodes[port->node].guid;
		peer_guid = fabric->nodes[fabric->ports[port->peer].node].guid;
		if ((f->guid == guid && f->port == port->number) ||
		    (f->guid == peer_guid && f->port == fabric->ports[port->peer].number))
			return true;
	}
	return false;
}

void trace_findings(const struct trace *trace, const struct fabric *fabric, struct finding_list *findings)
{
	add_end(trace, fabric, findings);
	for (size_t i = 0; i < trace->count; i++) {
		add_fate(trace, &trace->hops[i], fabric, findings);
		add_share(&trace->hops[i], fabric, findings);
	}
}

void trace_link_findings(const struct trace *there, const struct trace *back, const struct fabric *fabric,
			 struct finding_list *findings)
{
	struct finding_list links = {0};
	struct audit_result audit;

	if (audit_links(fabric, NULL, &links, &audit) < 0)
		links.lost = true;
	for (size_t i = 0; i < links.count; i++)
		if (is_on_way(there, fabric, &links.items[i]) || is_on_way(back, fabric, &links.items[i]))
			finding_move(&links.items[i], findings);
	findings->lost |= links.lost;
	finding_list_clear(&links);
}
