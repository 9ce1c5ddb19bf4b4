/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A walk over devices that answer anything: NodeInfo that cannot be, GUIDs met again elsewhere, nodes that change,
 * answers lost, refused, twice or to somebody else. Whatever they answer, the walk ends; it asks nothing but the Gets
 * of a discovery, none more often than its tries allow; and it invents nothing: each node, PortInfo and link of the
 * fabric was answered so, and a port that is LinkUp has a peer or is a gap.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/source/walk.h"
#include "fuzz.h"

#define GUIDS 12
#define PORTS_MAX 256
#define PENDING_MAX 64
#define SENT_MAX 200000 /* far more than the longest input can lead to */
#define MS UINT64_C(1000000)

/* What was answered about a GUID. */
struct told {
	bool node_info, twin; /* twin: in more than one way, so that details are not followed up */
	uint8_t type, ports;
	bool arrival[PORTS_MAX]; /* LocalPortNum */
};

struct query_seen {
	struct mad_route route;
	uint16_t attribute;
	uint32_t modifier;
	unsigned sent;
};

struct devices {
	struct mad_wire wire;
	struct fuzz *in;
	uint64_t now;
	struct mad_reply pending[PENDING_MAX];
	unsigned pendings;
	struct told told[GUIDS + 1];
	struct query_seen *seen;
	size_t seen_count, seen_room;
	unsigned sent, tries;
	bool port_info; /* any PortInfo that is not all zero was answered */
};

static uint64_t guid_of(const uint8_t *info)
{
	uint64_t guid = 0;

	for (unsigned i = 12; i < 20; i++)
		guid = guid << 8 | info[i];
	return guid;
}

/* Each query has so many tries; a route is met once, since no two ports have the same. */
static void count_query(struct devices *d, const struct mad_request *request)
{
	struct query_seen *q;

	for (size_t i = 0; i < d->seen_count; i++) {
		q = &d->seen[i];
		if (q->attribute == request->attribute && q->modifier == request->modifier &&
		    !memcmp(&q->route, &request->to->route, sizeof(q->route))) {
			require(++q->sent <= d->tries);
			return;
		}
	}
	q = array_grow(d->seen, &d->seen_room, d->seen_count + 1, sizeof(*q));
	require(q);
	d->seen = q;
	d->seen[d->seen_count++] = (struct query_seen){
		.route = request->to->route, .attribute = request->attribute, .modifier = request->modifier, .sent = 1};
}

static void note_node_info(struct devices *d, const uint8_t *info)
{
	uint64_t guid = guid_of(info);
	struct told *t;

	if (guid == 0 || guid > GUIDS)
		return;
	t = &d->told[guid];
	t->twin |= t->node_info && (t->type != info[2] || t->ports != info[3]);
	t->node_info = true;
	t->type = info[2];
	t->ports = info[3];
	t->arrival[info[36]] = true;
}

static void make_node_info(struct fuzz *in, uint8_t *data)
{
	unsigned guid = fuzz_below(in, 64);

	data[2] = (uint8_t)(1 + fuzz_below(in, 3));
	data[3] = (uint8_t)(1 + fuzz_below(in, 6));
	data[19] = (uint8_t)(guid <= GUIDS ? guid : 1 + guid % GUIDS);
	data[27] = (uint8_t)fuzz_byte(in);
	data[30] = 0xc7; /* a device that has ExtendedPortInfo */
	data[31] = 0x38;
	data[36] = (uint8_t)fuzz_below(in, 8);
	if (fuzz_byte(in) > 250) { /* anything at all */
		uint8_t low = data[19];

		fuzz_fill(in, data, MAD_SMP_DATA);
		memset(data + 12, 0, 8);
		data[19] = low;
	}
}

static void make_data(struct devices *d, const struct mad_request *request, uint8_t *data)
{
	switch (request->attribute) {
	case MAD_NODE_INFO:
		make_node_info(d->in, data);
		note_node_info(d, data);
		return;
	case MAD_PORT_INFO:
		data[28] = (uint8_t)fuzz_below(d->in, 8);
		data[32] = FABRIC_STATE_ACTIVE;
		data[33] = (uint8_t)((fuzz_bit(d->in) ? FABRIC_PHYS_LINK_UP : 2) << 4);
		data[35] = fuzz_bit(d->in) ? 0x40 : 0x10; /* QDR, SDR */
		data[18] = 0;
		data[19] = (uint8_t)fuzz_byte(d->in);
		d->port_info = true;
		return;
	default:
		fuzz_fill(d->in, data, 1 + fuzz_below(d->in, 16));
	}
}

static void deliver(struct devices *d, const struct mad_reply *reply)
{
	if (d->pendings < PENDING_MAX)
		d->pending[d->pendings++] = *reply;
}

static int devices_send(struct mad_wire *wire, const struct mad_request *request)
{
	struct devices *d = (struct devices *)wire;
	struct mad_reply reply = {.tid = request->tid, .attribute = request->attribute, .modifier = request->modifier};
	unsigned fate;

	require(request->attribute == MAD_NODE_INFO || request->attribute == MAD_NODE_DESC ||
		request->attribute == MAD_SWITCH_INFO || request->attribute == MAD_PORT_INFO ||
		request->attribute == MAD_MLNX_EXT_PORT_INFO);
	require(request->to->lid == 0 && request->to->route.hops <= MAD_ROUTE_HOPS && request->mgmt_class == MAD_CLASS_SMP);
	require(++d->sent < SENT_MAX);
	count_query(d, request);
	fate = fuzz_byte(d->in);
	if (fate == 0) /* lost */
		return 0;
	if (fate >= 250) {
		reply.status = (uint16_t)(fuzz_byte(d->in) << 8 | fuzz_byte(d->in));
		if (reply.status == 0)
			return 0;
		deliver(d, &reply);
		return 0;
	}
	make_data(d, request, reply.data);
	deliver(d, &reply);
	if (fate >= 240) { /* a second, other answer: too late to count */
		memset(reply.data, 0xa5, MAD_SMP_DATA);
		deliver(d, &reply);
	} else if (fate >= 230) { /* to somebody else */
		reply.tid ^= (uint32_t)fuzz_byte(d->in) << 24;
		reply.modifier ^= reply.tid == request->tid;
		memset(reply.data, 0xa5, MAD_SMP_DATA);
		deliver(d, &reply);
	}
	return 0;
}

static int devices_receive(struct mad_wire *wire, struct mad_reply *reply, unsigned wait_ms)
{
	struct devices *d = (struct devices *)wire;
	unsigned which = 0;

	if (d->pendings == 0) {
		d->now += wait_ms * MS + 1;
		return 0;
	}
	/* A second answer lies behind its first: the same place is taken whatever the input says, unless it says more. */
	if (fuzz_byte(d->in) > 200)
		which = d->pendings / 2;
	for (unsigned i = 0; i < which; i++) {
		if (d->pending[i].tid == d->pending[which].tid)
			which = i;
	}
	*reply = d->pending[which];
	memmove(&d->pending[which], &d->pending[which + 1], (--d->pendings - which) * sizeof(*reply));
	d->now += 1000;
	return 1;
}

static uint64_t devices_now(struct mad_wire *wire)
{
	return ((struct devices *)wire)->now;
}

static void devices_close(struct mad_wire *wire)
{
	(void)wire;
}

static const struct mad_wire_ops devices_ops = {devices_send, devices_receive, devices_now, devices_close};

/* --- what must hold of the fabric --- */

static const struct told *told_of(const struct devices *d, const struct fabric_node *node)
{
	require(node->guid > 0 && node->guid <= GUIDS);
	return &d->told[node->guid];
}

static bool has_gap(const struct fabric *f, uint32_t port)
{
	for (uint32_t i = 0; i < f->gap_count; i++) {
		if (f->gaps[i].port == port)
			return true;
	}
	return false;
}

static void check_port(const struct devices *d, const struct fabric *f, uint32_t index)
{
	const struct fabric_port *p = &f->ports[index];
	const struct fabric_node *node = fabric_port_node(f, index);

	require(!p->known || d->port_info);
	require(!p->has_ext || p->known);
	if (p->peer != FABRIC_NONE) {
		const struct fabric_port *q = &f->ports[p->peer];

		require(q->peer == index && p->number > 0 && q->number > 0);
		/* somebody answered to come in at one of the two ends */
		require(told_of(d, node)->arrival[p->number] ||
			told_of(d, fabric_port_node(f, p->peer))->arrival[q->number]);
	} else if (p->known && p->number > 0 && fabric_port_phys_state(p) == FABRIC_PHYS_LINK_UP) {
		require(has_gap(f, index));
	}
}

static void check(const struct devices *d, const struct fabric *f)
{
	require(f->finished && f->node_count > 0 && f->from_node < f->node_count);
	for (uint32_t i = 0; i < f->node_count; i++) {
		const struct fabric_node *node = &f->nodes[i];
		const struct told *t = told_of(d, node);

		require(t->node_info && (i == 0 || f->nodes[i - 1].guid < node->guid));
		require(t->twin || (node->type == t->type && node->ports == t->ports));
		require(node->route.hops <= MAD_ROUTE_HOPS && (node->route.hops > 0 || i == f->from_node));
		require(node->name && node->name[0]);
		/* a switch's may also be the port of a link that was only met from its other end */
		require(t->arrival[node->node_info[36]] ||
			(node->type == FABRIC_SWITCH &&
			 f->ports[node->first_port + node->node_info[36]].peer != FABRIC_NONE));
	}
	for (uint32_t i = 0; i < f->port_count; i++)
		check_port(d, f, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ibqos_ctx ctx = {.program = "fuzz", .fabric = "", .err = stderr, .verbosity = -1};
	struct fuzz in = {data, size};
	struct devices d = {.wire.ops = &devices_ops, .in = &in, .now = MS};
	struct walk_bounds bounds = WALK_BOUNDS;
	struct mad_limits limits = {.timeout_ms = 100};
	struct mad_engine *engine;
	struct fabric *fabric;
	int error;

	limits.window = 1 + fuzz_below(&in, 20);
	limits.device_window = 1 + fuzz_below(&in, limits.window);
	limits.retries = fuzz_below(&in, 3);
	limits.give_up = fuzz_below(&in, 4);
	if (fuzz_bit(&in))
		bounds.nodes = 1 + fuzz_below(&in, 6);
	d.tries = limits.retries + 1;
	require(mad_engine_new(&ctx, &d.wire, &limits, &engine) == 0);
	error = walk_bounded(&ctx, engine, &bounds, &fabric);
	require(error == 0 || error == -ENETUNREACH);
	require((error == 0) == (fabric != NULL));
	require(mad_engine_counts(engine)->sent == d.sent);
	if (fabric)
		check(&d, fabric);
	require(!fabric || fabric->node_count <= bounds.nodes);
	fabric_free(fabric);
	mad_engine_free(engine);
	free(d.seen);
	return 0;
}
