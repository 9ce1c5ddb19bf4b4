/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The walker. Each directed route is a device of one job that grows: it is asked for NodeInfo, and where that
 * names a node not met before for all else of the node. A switch's ports are asked once its port 0 has
 * answered, since that has the gates of their fields; each port that is LinkUp is a new route.
 *
 * Nothing is asked twice, and only an answer makes more to ask, so the walk ends whatever is answered.
 */
#include "walk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mad.h>

#include "ibqos/link.h"

#define BLOCK 512 /* routes of a block: addresses must not move while the engine runs */

/* What a route is still to be asked, besides ports and ExtendedPortInfo. */
enum { ASK_NODE_INFO = 1, ASK_PORT = 2, ASK_DESC = 4, ASK_SWITCH_INFO = 8 };

struct way {
	struct mad_address to;
	uint32_t from; /* index of the port that it leaves through last; FABRIC_NONE: the port that looks itself */
	uint32_t node; /* FABRIC_NONE: not known yet */
	uint8_t arrival; /* NodeInfo:LocalPortNum: where it comes in */
	uint8_t ask;
	uint16_t next_port, end_port; /* of a switch: ports still to be asked */
	uint64_t ext[4];	      /* bits: ports to be asked for ExtendedPortInfo */
	uint64_t speeds[4];	      /* likewise, for PortInfo with extended speeds */
};

struct walk {
	const struct ibqos_ctx *ctx;
	const struct walk_bounds *bounds;
	struct mad_job job;
	struct fabric *fabric;
	struct way **blocks;
	size_t block_room;
	bool contradicted; /* two answers exclude each other */
	bool bounded;	   /* more was found than can be */
	int error;
};

static struct way *way_at(const struct walk *w, uint32_t index)
{
	return &w->blocks[index / BLOCK][index % BLOCK];
}

static unsigned field(const uint8_t *data, enum MAD_FIELDS which)
{
	return mad_get_field((void *)data, 0, which);
}

/* A route one hop longer than another, through a port; the first one where there is none before. */
static void add_way(struct walk *w, const struct way *before, uint32_t from)
{
	uint32_t index = w->job.devices;
	struct way *way;

	if (before && before->to.route.hops == MAD_ROUTE_HOPS) {
		ctx_warn(w->ctx, "no way on from '%s' port %u: a route has %d hops at most",
			 w->fabric->nodes[before->node].name ? w->fabric->nodes[before->node].name : "?",
			 (unsigned)w->fabric->ports[from].number, MAD_ROUTE_HOPS);
		return;
	}
	if (index % BLOCK == 0) {
		struct way **blocks = array_grow(w->blocks, &w->block_room, index / BLOCK + 1, sizeof(struct way *));

		if (blocks)
			w->blocks = blocks;
		if (!blocks || !(blocks[index / BLOCK] = calloc(BLOCK, sizeof(**blocks)))) {
			w->error = -ENOMEM;
			return;
		}
	}
	way = way_at(w, index);
	way->from = from;
	way->node = FABRIC_NONE;
	way->ask = ASK_NODE_INFO;
	if (before) {
		way->to = before->to;
		way->to.route.port[++way->to.route.hops] = w->fabric->ports[from].number;
	}
	w->job.devices++;
}

/* --- taking answers in --- */

/* NodeInfo that can be: fields that all else relies on (IBA 14.2.5.3). */
static bool is_possible(const struct way *way, const uint8_t *info)
{
	unsigned type = field(info, IB_NODE_TYPE_F), ports = field(info, IB_NODE_NPORTS_F);
	unsigned local = field(info, IB_NODE_LOCAL_PORT_F);

	if (mad_get_field64((void *)info, 0, IB_NODE_GUID_F) == 0 || type < FABRIC_CA || type > FABRIC_ROUTER)
		return false;
	/* A link comes in at a port of its own; only a switch asks itself at port 0. */
	return local <= ports && (local > 0 || (type == FABRIC_SWITCH && way->from == FABRIC_NONE));
}

static void note(struct walk *w, uint32_t port, enum fabric_gap_reason reason)
{
	if (port != FABRIC_NONE)
		fabric_port_note(w->fabric, w->fabric->ports[port].node, w->fabric->ports[port].number, reason);
	if (reason == FABRIC_GAP_PEER_CHANGED)
		w->contradicted = true;
}

static bool is_full(struct walk *w, const uint8_t *info)
{
	const struct fabric *f = w->fabric;

	if (f->node_count < w->bounds->nodes && f->port_count + field(info, IB_NODE_NPORTS_F) < w->bounds->ports)
		return false;
	if (!w->bounded)
		ctx_warn(w->ctx, "more than %" PRIu32 " nodes or %" PRIu32 " ports: no subnet is so large; "
			 "what lies beyond is left out", w->bounds->nodes, w->bounds->ports);
	w->bounded = true;
	return true;
}

/* What a node that was not met before is asked. */
static void ask_node(struct way *way, const struct fabric_node *node)
{
	way->ask = ASK_PORT | ASK_DESC;
	if (node->type == FABRIC_SWITCH)
		way->ask |= ASK_SWITCH_INFO;
}

/* A node met again: is it the same, and is there more to learn here? */
static void meet_again(struct walk *w, struct way *way, const uint8_t *info)
{
	const struct fabric_node *node = &w->fabric->nodes[way->node];

	if (field(info, IB_NODE_TYPE_F) != node->type || field(info, IB_NODE_NPORTS_F) != node->ports) {
		note(w, way->from, FABRIC_GAP_PEER_CHANGED);
		way->node = FABRIC_NONE;
		return;
	}
	if (node->type != FABRIC_SWITCH && !w->fabric->ports[node->first_port + way->arrival].known)
		way->ask = ASK_PORT; /* another port of an adapter, with an agent of its own */
}

static void note_link(struct walk *w, const struct way *way)
{
	const struct fabric_port *from = &w->fabric->ports[way->from];

	if (from->peer != FABRIC_NONE || w->fabric->ports[w->fabric->nodes[way->node].first_port + way->arrival].peer != FABRIC_NONE) {
		if (from->peer == w->fabric->nodes[way->node].first_port + way->arrival)
			return; /* seen from the other end */
		w->contradicted = true;
	}
	fabric_relink(w->fabric, from->node, from->number, way->node, way->arrival);
}

static void take_node_info(struct walk *w, struct way *way, const uint8_t *info)
{
	static const uint8_t nothing[MAD_SMP_DATA];
	uint32_t before = w->fabric->node_count;

	if (!is_possible(way, info)) {
		note(w, way->from, FABRIC_GAP_PEER_BAD);
		return;
	}
	if (is_full(w, info))
		return;
	way->node = fabric_add_node(w->fabric, info, NULL, NULL, &way->to.route);
	if (way->node == FABRIC_NONE) {
		w->error = -ENOMEM;
		return;
	}
	way->arrival = (uint8_t)field(info, IB_NODE_LOCAL_PORT_F);
	if (w->fabric->node_count > before)
		ask_node(way, &w->fabric->nodes[way->node]);
	else
		meet_again(w, way, info);
	if (way->node == FABRIC_NONE)
		return;
	fabric_port_seen(w->fabric, way->node, way->arrival, mad_get_field64((void *)info, 0, IB_NODE_PORT_GUID_F),
			 nothing, NULL);
	if (way->from != FABRIC_NONE)
		note_link(w, way);
}

/* Whether what is behind a port is looked for along a route. */
static bool leads_on(const struct way *way, const struct fabric_node *node, const struct fabric_port *port)
{
	if (port->number == 0 || fabric_port_phys_state(port) != FABRIC_PHYS_LINK_UP)
		return false;
	if (node->type == FABRIC_SWITCH) /* not back where this answer came from */
		return port->number != field(port->info, IB_PORT_LOCAL_PORT_F);
	return way->from == FABRIC_NONE; /* out of the port that looks; adapters pass nothing on */
}

static void want_ext(const struct walk *w, struct way *way, unsigned number)
{
	if (!w->bounds->no_ext_info && walk_wants_ext(w->fabric, w->fabric->nodes[way->node].first_port + number))
		way->ext[number / 64] |= UINT64_C(1) << number % 64;
}

static void take_port_info(struct walk *w, struct way *way, unsigned number, const uint8_t *info)
{
	const struct fabric_node *node = &w->fabric->nodes[way->node];
	uint32_t index = node->first_port + number;

	fabric_port_seen(w->fabric, way->node, number, 0, info, NULL);
	if (number == 0) {
		way->next_port = 1;
		way->end_port = node->ports + 1u;
	}
	if (link_lacks_ext_speeds(w->fabric, index))
		way->speeds[number / 64] |= UINT64_C(1) << number % 64;
	else
		want_ext(w, way, number);
	if (leads_on(way, node, &w->fabric->ports[index]))
		add_way(w, way, index);
}

/* A device that has no such attribute says so by one of these (IBA 13.4.7); it then has no FDR10. */
static bool is_unsupported(const struct mad_answer *answer)
{
	return answer->outcome == MAD_STATUS && (answer->status & 0x1c) != 0;
}

/* What was asked with MAD_PORT_INFO_EXT_SPEEDS, which a device may refuse: it then has none. */
static void take_speeds(struct walk *w, struct way *way, unsigned number, const struct mad_answer *answer)
{
	if (answer->outcome == MAD_ANSWERED)
		fabric_port_seen(w->fabric, way->node, number, 0, answer->data, NULL);
	else if (!is_unsupported(answer))
		fabric_port_note(w->fabric, way->node, number, FABRIC_GAP_NO_EXT_INFO);
	want_ext(w, way, number);
}

static void take_ext_info(struct walk *w, const struct way *way, unsigned number, const struct mad_answer *answer)
{
	if (answer->outcome == MAD_ANSWERED)
		fabric_port_ext_seen(w->fabric, way->node, number, answer->data);
	else if (!is_unsupported(answer))
		fabric_port_note(w->fabric, way->node, number, FABRIC_GAP_NO_EXT_INFO);
}

static void complete_node(struct walk *w, const struct way *way, const uint8_t *switch_info, const uint8_t *desc)
{
	/* The node is known, so this fills in what it lacks. */
	if (fabric_add_node(w->fabric, w->fabric->nodes[way->node].node_info, switch_info, desc, NULL) == FABRIC_NONE)
		w->error = -ENOMEM;
}

static void job_done(void *arg, uint32_t device, const struct mad_query *query, const struct mad_answer *answer)
{
	struct walk *w = arg;
	struct way *way = way_at(w, device);

	if (w->error != 0)
		return;
	if (query->attribute == MAD_MLNX_EXT_PORT_INFO) {
		take_ext_info(w, way, query->modifier, answer);
		return;
	}
	if (query->attribute == MAD_PORT_INFO && query->modifier & MAD_PORT_INFO_EXT_SPEEDS) {
		take_speeds(w, way, query->modifier & ~MAD_PORT_INFO_EXT_SPEEDS, answer);
		return;
	}
	if (answer->outcome != MAD_ANSWERED) /* what is missing then is a gap */
		return;
	switch (query->attribute) {
	case MAD_NODE_INFO:
		take_node_info(w, way, answer->data);
		return;
	case MAD_NODE_DESC:
		complete_node(w, way, NULL, answer->data);
		return;
	case MAD_SWITCH_INFO:
		complete_node(w, way, answer->data, NULL);
		return;
	case MAD_PORT_INFO:
		take_port_info(w, way, query->modifier, answer->data);
		return;
	}
}

/* --- asking --- */

static const struct mad_address *job_address(void *arg, uint32_t device)
{
	return &way_at(arg, device)->to;
}

static bool take(struct way *way, unsigned what)
{
	if (!(way->ask & what))
		return false;
	way->ask &= (uint8_t)~what;
	return true;
}

/* The next of the ports whose bits are set, which is then no more; false: none. */
static bool take_port(uint64_t ports[4], uint32_t *number)
{
	for (unsigned i = 0; i < 4; i++) {
		if (ports[i] == 0)
			continue;
		*number = 64 * i + (unsigned)__builtin_ctzll(ports[i]);
		ports[i] &= ports[i] - 1;
		return true;
	}
	return false;
}

static bool job_next(void *arg, uint32_t device, struct mad_query *query)
{
	struct walk *w = arg;
	struct way *way = way_at(w, device);

	*query = (struct mad_query){0};
	if (w->error != 0)
		return false;
	if (take(way, ASK_NODE_INFO)) {
		query->attribute = MAD_NODE_INFO;
	} else if (take(way, ASK_PORT)) {
		query->attribute = MAD_PORT_INFO;
		if (w->fabric->nodes[way->node].type != FABRIC_SWITCH)
			query->modifier = way->arrival;
	} else if (take(way, ASK_DESC)) {
		query->attribute = MAD_NODE_DESC;
	} else if (take(way, ASK_SWITCH_INFO)) {
		query->attribute = MAD_SWITCH_INFO;
	} else if (way->next_port < way->end_port) {
		query->attribute = MAD_PORT_INFO;
		query->modifier = way->next_port++;
	} else if (take_port(way->speeds, &query->modifier)) {
		query->attribute = MAD_PORT_INFO;
		query->modifier |= MAD_PORT_INFO_EXT_SPEEDS;
	} else if (take_port(way->ext, &query->modifier)) {
		query->attribute = MAD_MLNX_EXT_PORT_INFO;
	} else {
		return false;
	}
	return true;
}

/* --- the whole --- */

/* The port that looked, and the subnet manager that it names. */
static int note_origin(struct walk *w)
{
	const struct way *first = way_at(w, 0);
	const struct fabric_port *port;

	if (first->node == FABRIC_NONE)
		return -ENETUNREACH;
	w->fabric->from_node = first->node;
	w->fabric->from_port = first->arrival;
	port = &w->fabric->ports[w->fabric->nodes[first->node].first_port + first->arrival];
	w->fabric->sm_lid = port->known ? (uint16_t)field(port->info, IB_PORT_SMLID_F) : 0;
	return 0;
}

static int run(struct walk *w, struct mad_engine *engine)
{
	int error;

	add_way(w, NULL, FABRIC_NONE);
	if (w->error != 0)
		return w->error;
	error = mad_engine_run(engine, &w->job);
	if (error == 0)
		error = w->error;
	if (error == 0)
		error = note_origin(w);
	/* Where answers exclude each other, a route along both might lead to neither. */
	if (error == 0 && !w->contradicted)
		error = walk_straighten(w->fabric);
	if (error == 0)
		error = fabric_finish(w->fabric);
	return error;
}

int walk_bounded(const struct ibqos_ctx *ctx, struct mad_engine *engine, const struct walk_bounds *bounds,
		 struct fabric **fabric)
{
	struct walk w = {
		.ctx = ctx,
		.bounds = bounds,
		.job = {.address = job_address, .next = job_next, .done = job_done, .arg = &w, .grows = true, .what = "discovering"},
		.fabric = fabric_new(ctx->fabric),
	};
	int error = w.fabric ? run(&w, engine) : -ENOMEM;

	for (uint32_t i = 0; i * BLOCK < w.job.devices; i++)
		free(w.blocks[i]);
	free(w.blocks);
	*fabric = error == 0 ? w.fabric : NULL;
	if (error != 0)
		fabric_free(w.fabric);
	return error;
}

int walk(const struct ibqos_ctx *ctx, struct mad_engine *engine, struct fabric **fabric)
{
	const struct walk_bounds bounds = WALK_BOUNDS;

	return walk_bounded(ctx, engine, &bounds, fabric);
}
