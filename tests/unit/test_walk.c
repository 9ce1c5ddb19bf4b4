/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The walker on scripted fabrics: what it finds, what it asks, and what it makes of answers that cannot be. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/source/walk.h"
#include "cases.h"
#include "ibqos/link.h"
#include "images.h"
#include "script_fabric.h"

#define MS UINT64_C(1000000)

static char *messages;
static size_t messages_size;
static volatile sig_atomic_t stop;
static struct ibqos_ctx ctx;
static struct script_fabric net;
static struct mad_limits limits;
static struct mad_counts counts;
static unsigned peak, device_peak;

static int setup(void **state)
{
	(void)state;
	stop = 0;
	ctx = (struct ibqos_ctx){.program = "ibqos", .fabric = "blue", .stop = &stop};
	ctx.err = open_memstream(&messages, &messages_size);
	net = (struct script_fabric){0};
	limits = MAD_LIMITS_DEFAULT;
	limits.rate = 0;
	return ctx.err ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	fclose(ctx.err);
	free(messages);
	return 0;
}

static int look(const struct walk_bounds *bounds, struct fabric **found)
{
	struct script_wire wire;
	struct mad_engine *engine;
	int error;

	script_wire_play(&wire, script_fabric_play, &net);
	assert_int_equal(mad_engine_new(&ctx, &wire.wire, &limits, &engine), 0);
	error = bounds ? walk_bounded(&ctx, engine, bounds, found) : walk(&ctx, engine, found);
	counts = *mad_engine_counts(engine);
	peak = wire.peak;
	device_peak = wire.device_peak;
	assert_int_equal(counts.sent, wire.sends);
	mad_engine_free(engine);
	script_wire_end(&wire);
	return error;
}

static struct fabric *find(void)
{
	struct fabric *found;

	assert_int_equal(look(NULL, &found), 0);
	return found;
}

static uint32_t port_of(const struct fabric *f, unsigned node, unsigned number)
{
	return fabric_node_port(f, fabric_find_node(f, net.node[node].guid), number);
}

static unsigned gaps_of(const struct fabric *f, enum fabric_gap_reason reason)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < f->gap_count; i++)
		count += f->gaps[i].reason == reason;
	return count;
}

static bool has_gap(const struct fabric *f, enum fabric_gap_reason reason, unsigned node, unsigned number)
{
	for (uint32_t i = 0; i < f->gap_count; i++) {
		if (f->gaps[i].reason == reason && f->gaps[i].port == port_of(f, node, number))
			return true;
	}
	return false;
}

/*
 * A host on a leaf, two cables to a spine, another leaf; a two-port adapter on both leaves, a router, a loopback
 * plug and a cable between two ports of one switch. Nodes: 0 host, 1 leaf, 2 spine, 3 leaf, 4 adapter, 5 router.
 */
static void make_motley(void)
{
	unsigned host = script_fabric_node(&net, FABRIC_CA, 0x900, 1);
	unsigned leaf = script_fabric_node(&net, FABRIC_SWITCH, 0x500, 8);
	unsigned spine = script_fabric_node(&net, FABRIC_SWITCH, 0x400, 6);
	unsigned other = script_fabric_node(&net, FABRIC_SWITCH, 0x300, 8);
	unsigned dual = script_fabric_node(&net, FABRIC_CA, 0x100, 2);
	unsigned router = script_fabric_node(&net, FABRIC_ROUTER, 0x200, 2);

	net.from_node = host;
	net.from_port = 1;
	script_fabric_cable(&net, host, 1, leaf, 3);
	script_fabric_cable(&net, leaf, 7, spine, 1);
	script_fabric_cable(&net, leaf, 8, spine, 2);
	script_fabric_cable(&net, other, 8, spine, 4);
	script_fabric_cable(&net, leaf, 1, dual, 2);
	script_fabric_cable(&net, other, 1, dual, 1);
	script_fabric_cable(&net, other, 2, router, 2);
	script_fabric_cable(&net, other, 5, other, 5);
	script_fabric_cable(&net, other, 6, other, 7);
}

static void all_kinds_of_cables(void **state)
{
	struct fabric *f;

	(void)state;
	make_motley();
	f = find();
	script_fabric_check(&net, f);
	assert_int_equal(f->link_count, 9);
	assert_int_equal(f->gap_count, 0);
	assert_int_equal(f->sm_lid, 0x100);
	assert_int_equal(net.nowhere, 0);
	for (unsigned i = 0; i < net.count; i++) {
		assert_int_equal(net.asked[i][1], 1);
		assert_int_equal(net.asked[i][2], net.node[i].type == FABRIC_SWITCH);
		for (unsigned p = 0; p <= net.node[i].ports; p++)
			assert_int_equal(net.port_asked[i][p],
					 net.node[i].type == FABRIC_SWITCH || net.node[i].peer[p].port > 0);
	}
	assert_int_equal(counts.sent, counts.ended[MAD_ANSWERED]);
	assert_in_range(peak, 1, limits.window);
	assert_true(device_peak <= limits.window);
	fabric_free(f);
}

static void from_a_switch(void **state)
{
	struct fabric *f;

	(void)state;
	make_motley();
	net.from_node = 3;
	net.from_port = 0;
	f = find();
	script_fabric_check(&net, f);
	assert_int_equal(f->gap_count, 0);
	assert_int_equal(f->nodes[f->from_node].route.hops, 0);
	fabric_free(f);
}

static void from_the_second_port(void **state)
{
	struct fabric *f;

	(void)state;
	make_motley();
	net.from_node = 4;
	net.from_port = 2;
	f = find();
	script_fabric_check(&net, f);
	assert_int_equal(f->gap_count, 0);
	/* its own other port is met from the other leaf */
	assert_true(f->ports[port_of(f, 4, 1)].known);
	assert_int_equal(f->nodes[f->from_node].node_info[36], 2);
	fabric_free(f);
}

static void alone(void **state)
{
	struct fabric *f;

	(void)state;
	script_fabric_node(&net, FABRIC_CA, 0x900, 2);
	net.from_port = 1;
	f = find();
	assert_int_equal(f->node_count, 1);
	assert_int_equal(f->link_count, 0);
	assert_int_equal(f->gap_count, 0);
	assert_int_equal(counts.sent, 3);
	fabric_free(f);
}

/* --- what is not answered --- */

struct mute {
	unsigned node;
	uint32_t attributes; /* bit() of those that are answered */
	uint16_t status;     /* not 0: refused so */
};

static uint32_t bit(unsigned attribute)
{
	return 1u << ((attribute ^ attribute >> 8) & 31);
}

static bool is_mute(void *arg, const struct mad_request *request, unsigned node, unsigned arrival, struct mad_reply *reply)
{
	const struct mute *m = arg;

	(void)arrival;
	if (node != m->node || m->attributes & bit(request->attribute))
		return true;
	reply->status = m->status;
	return m->status != 0;
}

static void not_even_itself(void **state)
{
	struct mute mute = {.node = 0};
	struct fabric *f;

	(void)state;
	make_motley();
	net.meddle = is_mute;
	net.arg = &mute;
	assert_int_equal(look(NULL, &f), -ENETUNREACH);
	assert_null(f);
	assert_int_equal(counts.sent, limits.retries + 1);
}

static void a_dead_switch_is_a_gap_at_each_cable(void **state)
{
	struct mute mute = {.node = 3};
	struct fabric *f;

	(void)state;
	make_motley();
	net.meddle = is_mute;
	net.arg = &mute;
	f = find();
	assert_int_equal(f->node_count, 4);
	assert_int_equal(f->gap_count, 1);
	assert_true(has_gap(f, FABRIC_GAP_NO_PEER, 2, 4));
	fabric_free(f);
}

static void nodes_that_answer_node_info_alone(void **state)
{
	struct mute mute = {.node = 2, .attributes = bit(MAD_NODE_INFO)};
	struct fabric *f;

	(void)state;
	make_motley();
	net.meddle = is_mute;
	net.arg = &mute;
	f = find();
	assert_int_equal(f->node_count, 4); /* none behind it */
	assert_true(has_gap(f, FABRIC_GAP_NO_NODE_DESC, 2, 0));
	assert_true(has_gap(f, FABRIC_GAP_NO_SWITCH_INFO, 2, 0));
	assert_true(has_gap(f, FABRIC_GAP_NO_PORT_INFO, 2, 0));
	assert_int_equal(f->gap_count, 3);
	assert_string_equal(f->nodes[fabric_find_node(f, 0x400)].name, "0x0000000000000400");
	fabric_free(f);

	net = (struct script_fabric){0};
	make_motley();
	mute = (struct mute){.node = 4, .attributes = bit(MAD_NODE_INFO), .status = 0x1c};
	net.meddle = is_mute;
	net.arg = &mute;
	f = find();
	assert_int_equal(f->node_count, 6);
	assert_true(has_gap(f, FABRIC_GAP_NO_NODE_DESC, 4, 0));
	assert_true(has_gap(f, FABRIC_GAP_NO_PORT_INFO, 4, 1));
	assert_true(has_gap(f, FABRIC_GAP_NO_PORT_INFO, 4, 2));
	assert_int_equal(f->gap_count, 3);
	assert_int_equal(counts.ended[MAD_STATUS], 3);
	fabric_free(f);
}

static void one_port_info_missing(void **state)
{
	struct fabric *f;
	struct mute mute = {.node = 1, .attributes = bit(MAD_NODE_INFO) | bit(MAD_NODE_DESC) | bit(MAD_SWITCH_INFO),
			    .status = 0x1c};

	(void)state;
	make_motley();
	net.meddle = is_mute;
	net.arg = &mute;
	f = find();
	/* its port 0 has the gates of all: nothing more is asked of it, and nothing behind it is met */
	assert_int_equal(f->node_count, 2);
	assert_int_equal(f->gap_count, 1);
	assert_true(has_gap(f, FABRIC_GAP_NO_PORT_INFO, 1, 0));
	fabric_free(f);
}

static bool dead_adapters(void *arg, const struct mad_request *request, unsigned node, unsigned arrival,
			  struct mad_reply *reply)
{
	(void)arg;
	(void)request;
	(void)arrival;
	(void)reply;
	return node == net.from_node || net.node[node].type == FABRIC_SWITCH;
}

/* Leaves one behind the other, each with dead adapters: those met last wait in the same round as the first. */
static void dead_nodes_cost_one_round(void **state)
{
	unsigned leaf, before = 0, dead = 0;
	struct fabric *f;

	(void)state;
	script_fabric_node(&net, FABRIC_CA, 0x900, 1);
	net.from_port = 1;
	for (unsigned i = 0; i < 5; i++) {
		leaf = script_fabric_node(&net, FABRIC_SWITCH, 0x500 + i, 16);
		script_fabric_cable(&net, before, i == 0 ? 1 : 16, leaf, 15);
		before = leaf;
		for (unsigned p = 1; p <= 10; p++, dead++)
			script_fabric_cable(&net, leaf, p, script_fabric_node(&net, FABRIC_CA, 0x2000 + 16 * dead, 1), 1);
	}
	net.meddle = dead_adapters;
	for (limits.window = 2; limits.window <= 64; limits.window *= 2) {
		limits.device_window = 2;
		f = find();
		assert_int_equal(f->node_count, 6);
		assert_int_equal(gaps_of(f, FABRIC_GAP_NO_PEER), dead);
		assert_int_equal(counts.rounds, 1);
		assert_int_equal(counts.ended[MAD_TIMED_OUT], dead);
		assert_int_equal(counts.retried, dead * limits.retries);
		fabric_free(f);
	}
}

/* --- FDR10 --- */

/* An adapter and a switch at what looks like QDR; what the switch says of ExtendedPortInfo is `mute`'s. */
static struct fabric *find_fdr10(struct mute *mute)
{
	script_fabric_node(&net, FABRIC_CA, 0x900, 1);
	net.node[0].device = 0x1002; /* not asked */
	script_fabric_node(&net, FABRIC_SWITCH, 0x500, 2);
	script_fabric_cable(&net, 0, 1, 1, 2);
	net.from_port = 1;
	net.speed_active = 4;
	*mute = (struct mute){.node = 1, .attributes = ~bit(MAD_MLNX_EXT_PORT_INFO), .status = mute->status};
	net.meddle = is_mute;
	net.arg = mute;
	return find();
}

static unsigned speed_of(const struct fabric *f)
{
	struct link_state state;

	assert_true(link_decode(f, port_of(f, 1, 2), &state));
	return state.speed_active;
}

static void fdr10_is_asked_for(void **state)
{
	struct fabric *f;

	(void)state;
	script_fabric_node(&net, FABRIC_CA, 0x900, 1);
	net.node[0].device = 0x1002;
	script_fabric_node(&net, FABRIC_SWITCH, 0x500, 2);
	script_fabric_cable(&net, 0, 1, 1, 2);
	net.from_port = 1;
	net.speed_active = 4;
	f = find();
	assert_int_equal(net.asked[0][3], 0);
	assert_int_equal(net.asked[1][3], 2); /* ports 0 and 2; port 1 is down */
	assert_int_equal(speed_of(f), LINK_FDR10);
	assert_int_equal(f->gap_count, 0);
	fabric_free(f);
}

static void a_lost_answer_is_not_qdr(void **state)
{
	struct mute mute = {0};
	struct fabric *f = find_fdr10(&mute);

	(void)state;
	assert_int_equal(f->node_count, 2);
	assert_int_equal(speed_of(f), 0);
	assert_true(has_gap(f, FABRIC_GAP_NO_EXT_INFO, 1, 2));
	assert_int_equal(f->gap_count, 1);
	fabric_free(f);
}

static void a_device_without_it_runs_qdr(void **state)
{
	static const uint16_t says_no[] = {0x0008, 0x000c, 0x001c, 0x000d}, says_nothing[] = {0x0001, 0x0002, 0x7f00};
	struct mute mute;
	struct fabric *f;

	(void)state;
	for (unsigned i = 0; i < sizeof(says_no) / sizeof(says_no[0]); i++) {
		net = (struct script_fabric){0};
		mute.status = says_no[i];
		f = find_fdr10(&mute);
		if (!(says_no[i] & 1)) /* busy is asked again */
			assert_int_equal(counts.retried, 0);
		assert_int_equal(speed_of(f), LINK_QDR);
		assert_int_equal(f->gap_count, 0);
		fabric_free(f);
	}
	for (unsigned i = 0; i < sizeof(says_nothing) / sizeof(says_nothing[0]); i++) {
		net = (struct script_fabric){0};
		mute.status = says_nothing[i];
		f = find_fdr10(&mute);
		assert_int_equal(speed_of(f), 0);
		assert_int_equal(gaps_of(f, FABRIC_GAP_NO_EXT_INFO), 1);
		fabric_free(f);
	}
}

/* --- answers that cannot be --- */

struct lie {
	unsigned node;
	int arrival;	 /* -1: any */
	uint8_t byte, value;
	unsigned length; /* bytes set */
};

static bool lies(void *arg, const struct mad_request *request, unsigned node, unsigned arrival, struct mad_reply *reply)
{
	const struct lie *l = arg;

	if (request->attribute == MAD_NODE_INFO && node == l->node && (l->arrival < 0 || arrival == (unsigned)l->arrival))
		memset(reply->data + l->byte, l->value, l->length);
	return true;
}

static void node_info_that_cannot_be(void **state)
{
	static const struct lie cases_[] = {
		{3, -1, 12, 0, 8},   /* GUID 0 */
		{3, -1, 2, 0, 1},    /* NodeType */
		{3, -1, 2, 4, 1},
		{3, -1, 36, 9, 1},   /* LocalPortNum of 8 */
		{3, -1, 36, 255, 1},
		{3, -1, 36, 0, 1},
		{3, -1, 0, 0, 64},
		{3, -1, 0, 255, 64},
		{3, -1, 3, 0, 1},    /* NumPorts 0 */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases_) / sizeof(cases_[0]); i++) {
		struct lie lie = cases_[i];
		struct fabric *f;

		net = (struct script_fabric){0};
		make_motley();
		net.meddle = lies;
		net.arg = &lie;
		f = find();
		assert_int_equal(f->node_count, 4);
		assert_int_equal(f->gap_count, 1);
		assert_true(has_gap(f, FABRIC_GAP_PEER_BAD, 2, 4));
		fabric_free(f);
	}
}

static void its_own_node_info_cannot_be(void **state)
{
	struct lie lie = {0, -1, 36, 0, 1};
	struct fabric *f;

	(void)state;
	make_motley();
	net.meddle = lies;
	net.arg = &lie;
	assert_int_equal(look(NULL, &f), -ENETUNREACH);
}

static void a_node_that_changes_between_ports(void **state)
{
	struct lie lie = {2, 2, 3, 30, 1}; /* the spine, asked at its port 2, has 30 ports */
	struct fabric *f;

	(void)state;
	make_motley();
	net.meddle = lies;
	net.arg = &lie;
	f = find();
	/* which of the two was first is not known; the other is doubted, and the cable has no peer or is met from there */
	assert_true(gaps_of(f, FABRIC_GAP_PEER_CHANGED) >= 1);
	assert_int_equal(f->node_count, 6);
	fabric_free(f);
}

/* 255 ports, all up, of which one has a cable: a gap each, and it ends. */
static bool all_up(void *arg, const struct mad_request *request, unsigned node, unsigned arrival, struct mad_reply *reply)
{
	(void)arg;
	(void)arrival;
	if (node == 1 && request->attribute == MAD_PORT_INFO)
		reply->data[33] = FABRIC_PHYS_LINK_UP << 4;
	return true;
}

static void many_ports_that_lead_nowhere(void **state)
{
	struct fabric *f;

	(void)state;
	script_fabric_node(&net, FABRIC_CA, 0x900, 1);
	script_fabric_node(&net, FABRIC_SWITCH, 0x500, 255);
	script_fabric_cable(&net, 0, 1, 1, 255);
	net.from_port = 1;
	net.meddle = all_up;
	f = find();
	assert_int_equal(f->gap_count, 254);
	assert_int_equal(gaps_of(f, FABRIC_GAP_NO_PEER), 254);
	assert_int_equal(net.nowhere, 254 * (limits.retries + 1));
	fabric_free(f);
}

/* Behind each port of each switch another switch, with a GUID made up from the route. */
static int make_up(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	struct mad_reply reply = {.tid = request->tid, .attribute = request->attribute, .modifier = request->modifier};
	uint64_t guid = 0xcbf29ce484222325;

	(void)arg;
	for (unsigned i = 0; i <= request->to->route.hops; i++)
		guid = (guid ^ request->to->route.port[i]) * 0x100000001b3;
	switch (request->attribute) {
	case MAD_NODE_INFO:
		image_node_info(reply.data, FABRIC_SWITCH, guid, 255, request->to->route.hops ? 1 : 0);
		break;
	case MAD_PORT_INFO:
		image_port_info(reply.data, &(struct image_port){.lid = 7});
		break;
	default:
		memset(reply.data, 'x', MAD_SMP_DATA);
	}
	script_reply(wire, 1000, &reply);
	return 0;
}

static void made_up_nodes_have_an_end(void **state)
{
	const struct walk_bounds bounds[] = {{.nodes = 40, .ports = 1u << 30}, {.nodes = 1u << 30, .ports = 40 * 256}};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct script_wire wire;
		struct mad_engine *engine;
		struct fabric *f;

		script_wire_play(&wire, make_up, NULL);
		assert_int_equal(mad_engine_new(&ctx, &wire.wire, &limits, &engine), 0);
		assert_int_equal(walk_bounded(&ctx, engine, &bounds[i], &f), 0);
		assert_in_range(f->node_count, 39, 40);
		assert_true(gaps_of(f, FABRIC_GAP_NO_PEER) > 0);
		fflush(ctx.err);
		assert_non_null(strstr(messages, "no subnet is so large"));
		fabric_free(f);
		mad_engine_free(engine);
		script_wire_end(&wire);
	}
}

static void no_further_than_a_route_can_be(void **state)
{
	struct fabric *f;

	(void)state;
	script_fabric_node(&net, FABRIC_CA, 0x9000, 1);
	for (unsigned i = 1; i <= 70; i++)
		script_fabric_node(&net, FABRIC_SWITCH, 0x1000 + i, 2);
	script_fabric_cable(&net, 0, 1, 1, 1);
	for (unsigned i = 1; i < 70; i++)
		script_fabric_cable(&net, i, 2, i + 1, 1);
	net.from_port = 1;
	f = find();
	assert_int_equal(f->node_count, 1 + MAD_ROUTE_HOPS);
	assert_int_equal(f->gap_count, 1);
	assert_true(has_gap(f, FABRIC_GAP_NO_PEER, MAD_ROUTE_HOPS, 2));
	fflush(ctx.err);
	assert_non_null(strstr(messages, "63 hops"));
	fabric_free(f);
}

/* The first NodeInfo of the spine names another port than it is: as if the cable had been moved since. */
static bool moved(void *arg, const struct mad_request *request, unsigned node, unsigned arrival, struct mad_reply *reply)
{
	unsigned *times = arg;

	(void)arrival;
	if (request->attribute == MAD_NODE_INFO && node == 2 && (*times)++ == 0)
		reply->data[36] = 4;
	return true;
}

static void a_cable_that_moves_meanwhile(void **state)
{
	unsigned times = 0;
	struct fabric *f;

	(void)state;
	make_motley();
	net.meddle = moved;
	net.arg = &times;
	f = find();
	assert_int_equal(f->node_count, 6);
	assert_true(has_gap(f, FABRIC_GAP_PEER_CHANGED, 2, 4));
	/* what was told last counts: the link that is really there */
	assert_int_equal(f->ports[port_of(f, 3, 8)].peer, port_of(f, 2, 4));
	fabric_free(f);
}

static void two_devices_of_one_guid(void **state)
{
	struct fabric *f;

	(void)state;
	make_motley();
	net.node[5].guid = net.node[0].guid; /* the router, and the host that looks */
	net.node[5].type = FABRIC_CA;
	net.node[5].ports = 1;
	net.node[3].peer[2].port = 1;
	net.node[5].peer[1].node = 3;
	net.node[5].peer[1].port = 2;
	f = find();
	assert_int_equal(f->node_count, 5);
	assert_true(has_gap(f, FABRIC_GAP_PEER_CHANGED, 0, 1));
	assert_true(has_gap(f, FABRIC_GAP_PEER_CHANGED, 1, 3));
	assert_true(has_gap(f, FABRIC_GAP_PEER_CHANGED, 3, 2));
	fabric_free(f);
}

/* --- at random --- */

struct chance {
	uint64_t random;
	unsigned loss; /* of 100 answers, while it can still be made up for by a repeat */
	uint8_t lost[SCRIPT_NODES];
};

static uint32_t draw(struct chance *c, uint32_t below)
{
	uint64_t z = c->random += 0x9e3779b97f4a7c15ull; /* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ z >> 31) % below);
}

static bool loses(void *arg, const struct mad_request *request, unsigned node, unsigned arrival, struct mad_reply *reply)
{
	struct chance *c = arg;

	(void)request;
	(void)arrival;
	(void)reply;
	if (draw(c, 100) >= c->loss || c->lost[node] >= 3)
		return true;
	c->lost[node]++; /* no more than there are repeats, whatever they hit */
	return false;
}

static uint64_t any_delay(void *arg)
{
	return 1 + draw(arg, 400) * MS;
}

static unsigned free_port(const struct script_node *n, struct chance *c)
{
	for (unsigned i = 0, p = 1 + draw(c, n->ports); i < n->ports; i++, p = p % n->ports + 1) {
		if (n->peer[p].port == 0)
			return p;
	}
	return 0;
}

static void make_random(struct chance *c)
{
	unsigned switches = 1 + draw(c, 8), others = 1 + draw(c, 8), cables = switches + draw(c, 20);

	net = (struct script_fabric){0};
	for (unsigned i = 0; i < others; i++)
		script_fabric_node(&net, draw(c, 5) ? FABRIC_CA : FABRIC_ROUTER, 0x1000 + 16 * draw(c, 1000) * 64 + i, 1 + draw(c, 2));
	for (unsigned i = 0; i < switches; i++)
		script_fabric_node(&net, FABRIC_SWITCH, 0x8000000 + 64 * draw(c, 1000) + i, 4 + draw(c, 12));
	for (unsigned i = 0; i < others + cables; i++) {
		unsigned a = i < others ? i : others + draw(c, switches), b = others + draw(c, switches);
		unsigned p = free_port(&net.node[a], c), q;

		if (p == 0)
			continue;
		net.node[a].peer[p].port = 255; /* taken */
		q = a == b && draw(c, 3) == 0 ? p : free_port(&net.node[b], c);
		net.node[a].peer[p].port = 0;
		if (q != 0)
			script_fabric_cable(&net, a, p, b, q);
	}
	net.from_node = draw(c, net.count);
	net.from_port = net.node[net.from_node].type == FABRIC_SWITCH ? 0 : 1 + draw(c, net.node[net.from_node].ports);
}

static int compare_routes(const struct mad_route *a, const struct mad_route *b)
{
	if (a->hops != b->hops)
		return a->hops < b->hops ? -1 : 1;
	return memcmp(a->port, b->port, a->hops + 1u);
}

/* The best route to each node, by relaxing cables until none gives a better one. */
static void best_routes(struct mad_route best[SCRIPT_NODES], unsigned arrival[SCRIPT_NODES])
{
	bool found[SCRIPT_NODES] = {0}, better = true;

	found[net.from_node] = true;
	best[net.from_node] = (struct mad_route){0};
	arrival[net.from_node] = net.from_port;
	while (better) {
		better = false;
		for (unsigned a = 0; a < net.count; a++) {
			for (unsigned p = 1; found[a] && p <= net.node[a].ports; p++) {
				unsigned b = net.node[a].peer[p].node;
				struct mad_route route = best[a];

				if (net.node[a].peer[p].port == 0 || !script_fabric_leads_on(&net, a, p))
					continue;
				route.port[++route.hops] = (uint8_t)p;
				if (found[b] && compare_routes(&route, &best[b]) >= 0)
					continue;
				found[b] = better = true;
				best[b] = route;
				arrival[b] = net.node[a].peer[p].port;
			}
		}
	}
}

static void any_fabric_in_any_order(void **state)
{
	struct mad_route best[SCRIPT_NODES];
	unsigned arrival[SCRIPT_NODES];

	(void)state;
	for (unsigned seed = 0; seed < cases(300); seed++) {
		struct chance chance = {.random = seed, .loss = seed % 3 ? 0 : 20};
		struct fabric *f;

		make_random(&chance);
		net.meddle = loses;
		net.delay = any_delay;
		net.arg = &chance;
		limits.window = 1 + draw(&chance, 20);
		limits.device_window = 1 + draw(&chance, limits.window);
		f = find();
		script_fabric_check(&net, f);
		assert_int_equal(f->gap_count, 0);
		best_routes(best, arrival);
		for (unsigned i = 0; i < net.count; i++) {
			uint32_t at = fabric_find_node(f, net.node[i].guid);

			if (at == FABRIC_NONE)
				continue;
			assert_int_equal(compare_routes(&f->nodes[at].route, &best[i]), 0);
			assert_int_equal(f->nodes[at].node_info[36], arrival[i]);
		}
		assert_true(peak <= limits.window);
		fabric_free(f);
	}
}

/* --- stopping --- */

static bool stops(void *arg, const struct mad_request *request, unsigned node, unsigned arrival, struct mad_reply *reply)
{
	unsigned *left = arg;

	(void)request;
	(void)node;
	(void)arrival;
	(void)reply;
	if (--*left == 0)
		stop = 1;
	return true;
}

static void a_signal_ends_it(void **state)
{
	(void)state;
	for (unsigned after = 1; after < 40; after++) {
		unsigned left = after;
		struct fabric *f;

		net = (struct script_fabric){0};
		make_motley();
		net.meddle = stops;
		net.arg = &left;
		stop = 0;
		assert_int_equal(look(NULL, &f), -EINTR);
		assert_null(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_kinds_of_cables, setup, teardown),
		cmocka_unit_test_setup_teardown(from_a_switch, setup, teardown),
		cmocka_unit_test_setup_teardown(from_the_second_port, setup, teardown),
		cmocka_unit_test_setup_teardown(alone, setup, teardown),
		cmocka_unit_test_setup_teardown(not_even_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(a_dead_switch_is_a_gap_at_each_cable, setup, teardown),
		cmocka_unit_test_setup_teardown(nodes_that_answer_node_info_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(one_port_info_missing, setup, teardown),
		cmocka_unit_test_setup_teardown(dead_nodes_cost_one_round, setup, teardown),
		cmocka_unit_test_setup_teardown(fdr10_is_asked_for, setup, teardown),
		cmocka_unit_test_setup_teardown(a_lost_answer_is_not_qdr, setup, teardown),
		cmocka_unit_test_setup_teardown(a_device_without_it_runs_qdr, setup, teardown),
		cmocka_unit_test_setup_teardown(node_info_that_cannot_be, setup, teardown),
		cmocka_unit_test_setup_teardown(its_own_node_info_cannot_be, setup, teardown),
		cmocka_unit_test_setup_teardown(a_node_that_changes_between_ports, setup, teardown),
		cmocka_unit_test_setup_teardown(many_ports_that_lead_nowhere, setup, teardown),
		cmocka_unit_test_setup_teardown(made_up_nodes_have_an_end, setup, teardown),
		cmocka_unit_test_setup_teardown(no_further_than_a_route_can_be, setup, teardown),
		cmocka_unit_test_setup_teardown(a_cable_that_moves_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(two_devices_of_one_guid, setup, teardown),
		cmocka_unit_test_setup_teardown(any_fabric_in_any_order, setup, teardown),
		cmocka_unit_test_setup_teardown(a_signal_ends_it, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
