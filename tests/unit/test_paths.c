/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Routes, lanes, traces and circles of credits on a ring made by hand:
 *
 *   sw-0, sw-1, sw-2: port 1 a host (LIDs 11, 12, 13), port 2 to the next switch, port 3 to the one before;
 *   LIDs 1, 2, 3. All packets go round by port 2, so that on any VL credits wait in a circle.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/paths.h"
#include "images.h"
#include "script_source.h"

#define SWITCHES 3
#define SL_MAP (1u << 6)

struct ring {
	struct ibqos_ctx ctx;
	struct fabric *fabric;
	struct routes *routes;
	struct lanes *lanes;
	struct source *source;
	struct finding_list findings;
	uint32_t sw[SWITCHES], host[SWITCHES];
	uint8_t lft[SWITCHES][128];
	uint8_t sl2vl[SWITCHES][4][4][16]; /* in, out */
	uint8_t weight[15];		   /* of each VL, in the low table of every port */
	int silent;			   /* a switch that answers nothing; -1: none */
};

static uint32_t port(const struct ring *r, uint32_t node, unsigned number)
{
	return r->fabric->nodes[node].first_port + number;
}

static int number_of(const struct ring *r, uint32_t node)
{
	for (int i = 0; i < SWITCHES; i++)
		if (r->sw[i] == node)
			return i;
	return -1;
}

static enum mad_outcome respond(void *arg, const struct source_query *query, uint8_t *data, uint16_t *status)
{
	const struct ring *r = arg;
	uint32_t node = r->fabric->ports[query->port].node;
	unsigned in = query->modifier >> 8 & 0xff, out = query->modifier & 0xff, i;
	int sw = number_of(r, node);

	*status = 0x1c;
	if (sw >= 0 && sw == r->silent)
		return MAD_TIMED_OUT;
	switch (query->attribute) {
	case MAD_LFT:
		if (sw < 0 || query->modifier > 1)
			return MAD_STATUS;
		memcpy(data, r->lft[sw] + 64 * query->modifier, 64);
		return MAD_ANSWERED;
	case MAD_MLNX_ADAPTIVE:
		*status = 0x000c;
		return MAD_STATUS;
	case MAD_SL2VL:
		for (i = 0; i < 16; i++)
			data[i / 2] |= (sw < 0 ? i % 8 : r->sl2vl[sw][in][out][i]) << (i % 2 ? 0 : 4);
		return MAD_ANSWERED;
	case MAD_VLARB:
		for (i = 0; i < 8 && query->modifier >> 16 == 1; i++) {
			data[2 * i] = i;
			data[2 * i + 1] = r->weight[i];
		}
		return MAD_ANSWERED;
	}
	return MAD_STATUS;
}

static void make_fabric(struct ring *r)
{
	static const char *const sw[] = {"sw-0", "sw-1", "sw-2"}, *const host[] = {"h-0 mlx5_0", "h-1 mlx5_0", "h-2 mlx5_0"};
	const struct image_port plain = {.cap_mask = SL_MAP};
	uint32_t added[SWITCHES], hosts[SWITCHES];
	struct image_port p;
	uint8_t info[MAD_SMP_DATA];
	int i;

	r->fabric = fabric_new("");
	assert_non_null(r->fabric);
	for (i = 0; i < SWITCHES; i++) {
		added[i] = image_add_switch(r->fabric, sw[i], 0x10 + i, 3, 1 + i);
		image_put16(r->fabric->nodes[added[i]].switch_info, 6, 127);
		p = (struct image_port){.lid = 1 + i, .cap_mask = SL_MAP};
		image_port_info(info, &p);
		assert_int_equal(fabric_port_seen(r->fabric, added[i], 0, 0x10 + i, info, NULL), 0);
		hosts[i] = image_add_host(r->fabric, host[i], 0x100 * (i + 1), 11 + i);
	}
	for (i = 0; i < SWITCHES; i++) {
		image_link(r->fabric, hosts[i], 1, added[i], 1, &plain);
		image_link(r->fabric, added[i], 2, added[(i + 1) % SWITCHES], 3, &plain);
		p = (struct image_port){.lid = 11 + i, .cap_mask = SL_MAP};
		image_port_info(info, &p);
		assert_int_equal(fabric_port_seen(r->fabric, hosts[i], 1, 0x100 * (i + 1) + 1, info, NULL), 0);
	}
	assert_int_equal(fabric_finish(r->fabric), 0);
	for (i = 0; i < SWITCHES; i++) {
		r->sw[i] = fabric_find_node(r->fabric, 0x10 + i);
		r->host[i] = fabric_find_node(r->fabric, 0x100 * (i + 1));
	}
	r->fabric->from_node = r->host[0];
	r->fabric->from_port = 1;
	r->fabric->sm_lid = 11;
}

static void make(struct ring *r)
{
	memset(r, 0, sizeof(*r));
	r->ctx = (struct ibqos_ctx){.program = "test", .fabric = "", .err = stderr};
	r->silent = -1;
	make_fabric(r);
	r->source = script_source_new();
	script_source_responder(r->source, respond, r);
	memset(r->lft, 255, sizeof(r->lft));
	memset(r->weight, 64, 8);
	for (int s = 0; s < SWITCHES; s++) {
		for (int d = 0; d < SWITCHES; d++) {
			r->lft[s][1 + d] = s == d ? 0 : 2;
			r->lft[s][11 + d] = s == d ? 1 : 2;
		}
		for (int c = 0; c < 4 * 4 * 16; c++)
			r->sl2vl[s][c / 64][c / 16 % 4][c % 16] = c % 16 % 8;
	}
	assert_int_equal(routes_new(r->fabric, &r->routes), 0);
	assert_int_equal(lanes_new(r->fabric, &r->lanes), 0);
}

static void done(struct ring *r)
{
	finding_list_clear(&r->findings);
	lanes_free(r->lanes);
	routes_free(r->routes);
	source_close(r->source);
	fabric_free(r->fabric);
}

static void read_routes(struct ring *r)
{
	routes_want_all(r->routes);
	assert_int_equal(routes_read(r->routes, r->source), 0);
}

/* What a port answers, as verify would ask it. */
static void take(struct ring *r, uint16_t attribute, uint32_t index, uint32_t modifier)
{
	const struct source_query query = {.agent = index, .port = index, .attribute = attribute, .modifier = modifier};
	uint8_t data[MAD_SMP_DATA] = {0};
	uint16_t status;

	if (respond(r, &query, data, &status) == MAD_ANSWERED)
		assert_int_equal(lanes_take(r->lanes, &query, data), 0);
}

static void read_lanes(struct ring *r)
{
	for (int s = 0; s < SWITCHES; s++) {
		uint32_t host = port(r, r->host[s], 1);

		take(r, MAD_SL2VL, host, 0);
		take(r, MAD_VLARB, host, MAD_VLARB_MODIFIER(0, 0));
		take(r, MAD_VLARB, host, MAD_VLARB_MODIFIER(2, 0));
		for (unsigned out = 1; out < 4; out++) {
			take(r, MAD_VLARB, port(r, r->sw[s], out), MAD_VLARB_MODIFIER(0, out));
			take(r, MAD_VLARB, port(r, r->sw[s], out), MAD_VLARB_MODIFIER(2, out));
			for (unsigned in = 0; in < 4; in++)
				take(r, MAD_SL2VL, port(r, r->sw[s], out), MAD_SL2VL_MODIFIER(in, out));
		}
	}
}

static struct paths_result check(struct ring *r, unsigned sl)
{
	const struct paths_sl sls[] = {{.sl = sl, .data = true}};
	const struct paths_options options = {.sls = sls, .sl_count = 1};
	struct paths_result result;

	finding_list_clear(&r->findings);
	assert_int_equal(paths_check(&r->ctx, r->fabric, r->routes, r->lanes, &options, &r->findings, &result), 0);
	finding_list_sort(&r->findings);
	assert_int_equal(result.paths, result.by_lft.arrive + result.by_lft.dead + result.by_lft.unknown);
	assert_int_equal(result.by_lft.arrive, result.sl[0].arrive + result.sl[0].dead + result.sl[0].unknown);
	return result;
}

/* --- routes --- */

static void test_only_blocks_with_lids_are_asked(void **state)
{
	struct ring r;
	uint32_t out;

	(void)state;
	make(&r);
	assert_int_equal(routes_step(r.routes, r.sw[0], 12, &out), ROUTE_UNREAD);
	read_routes(&r);
	assert_int_equal(script_source_asked(r.source, SCRIPT_ANY, SCRIPT_ANY, MAD_LFT, SCRIPT_ANY), SWITCHES);
	assert_int_equal(routes_coverage(r.routes, ROUTES_LFT)->ended[MAD_ANSWERED], SWITCHES);
	read_routes(&r); /* what was read is not asked again */
	assert_int_equal(routes_coverage(r.routes, ROUTES_LFT)->asked, SWITCHES);
	assert_int_equal(routes_step(r.routes, r.sw[0], 12, &out), ROUTE_ON);
	assert_int_equal(out, port(&r, r.sw[0], 2));
	assert_int_equal(routes_step(r.routes, r.sw[0], 11, &out), ROUTE_ARRIVED);
	assert_int_equal(routes_step(r.routes, r.sw[0], 1, &out), ROUTE_ARRIVED);
	assert_int_equal(out, port(&r, r.sw[0], 0));
	assert_int_equal(routes_step(r.routes, r.sw[0], 20, &out), ROUTE_UNSET);
	assert_int_equal(routes_step(r.routes, r.sw[0], 128, &out), ROUTE_ABOVE_TOP);
	done(&r);
}

static void test_each_way_to_end(void **state)
{
	struct ring r;
	uint32_t out;
	uint8_t down[MAD_SMP_DATA];

	(void)state;
	make(&r);
	r.lft[0][12] = 1;
	r.lft[0][13] = 0;
	r.lft[1][13] = 9;
	read_routes(&r);
	assert_int_equal(routes_step(r.routes, r.sw[0], 12, &out), ROUTE_MISROUTED);
	assert_int_equal(routes_step(r.routes, r.sw[0], 13, &out), ROUTE_MISROUTED);
	assert_int_equal(routes_step(r.routes, r.sw[1], 13, &out), ROUTE_UNSET);
	assert_int_equal(out, FABRIC_NONE);
	image_port_info(down, &(struct image_port){.state = FABRIC_STATE_ARMED});
	fabric_port_refresh(r.fabric, port(&r, r.sw[0], 3), down); /* the far end alone */
	assert_int_equal(routes_step(r.routes, r.sw[2], 12, &out), ROUTE_DOWN);
	r.fabric->ports[port(&r, r.sw[1], 2)].peer = FABRIC_NONE;
	assert_int_equal(routes_step(r.routes, r.sw[1], 11, &out), ROUTE_NO_PEER);
	done(&r);
}

static void test_tables_that_are_not_linear_or_not_known(void **state)
{
	struct ring r;
	uint32_t out;

	(void)state;
	make(&r);
	routes_free(r.routes);
	image_put16(r.fabric->nodes[r.sw[0]].switch_info, 0, 0); /* LinearFDBCap */
	image_put16(r.fabric->nodes[r.sw[1]].switch_info, 6, 11); /* LinearFDBTop */
	r.fabric->nodes[r.sw[2]].has_switch_info = false;
	assert_int_equal(routes_new(r.fabric, &r.routes), 0);
	read_routes(&r);
	assert_int_equal(routes_coverage(r.routes, ROUTES_LFT)->asked, 1);
	assert_int_equal(routes_step(r.routes, r.sw[0], 12, &out), ROUTE_RANDOM);
	assert_int_equal(routes_step(r.routes, r.sw[1], 11, &out), ROUTE_ON);
	assert_int_equal(routes_step(r.routes, r.sw[1], 12, &out), ROUTE_ABOVE_TOP);
	assert_int_equal(routes_step(r.routes, r.sw[2], 12, &out), ROUTE_UNREAD);
	done(&r);
}

static void test_lids_by_mask_and_twice(void **state)
{
	struct ring r;
	uint8_t info[MAD_SMP_DATA];

	(void)state;
	make(&r);
	routes_free(r.routes);
	image_port_info(info, &(struct image_port){.lid = 12, .lmc = 2, .cap_mask = SL_MAP}); /* 12 to 15 */
	fabric_port_refresh(r.fabric, port(&r, r.host[1], 1), info);
	assert_int_equal(routes_new(r.fabric, &r.routes), 0);
	assert_int_equal(routes_port_of_lid(r.routes, 15), port(&r, r.host[1], 1));
	assert_int_equal(routes_port_of_lid(r.routes, 16), FABRIC_NONE);
	assert_int_equal(routes_port_of_lid(r.routes, 0), FABRIC_NONE);
	assert_int_equal(routes_port_of_lid(r.routes, 0xffff), FABRIC_NONE);
	routes_findings(r.routes, false, &r.findings);
	assert_int_equal(r.findings.count, 1); /* 13 is that of h-2 too */
	assert_int_equal(r.findings.items[0].code, FINDING_LID_TWICE);
	assert_string_equal(r.findings.items[0].what, "LID 13");
	done(&r);
}

static void test_what_was_not_answered_is_counted(void **state)
{
	struct ring r;
	struct paths_result result;

	(void)state;
	make(&r);
	r.silent = 1;
	read_routes(&r);
	r.silent = -1;
	read_lanes(&r);
	assert_int_equal(routes_coverage(r.routes, ROUTES_LFT)->ended[MAD_TIMED_OUT], 1);
	routes_findings(r.routes, false, &r.findings);
	assert_int_equal(r.findings.count, 1);
	assert_int_equal(r.findings.items[0].code, FINDING_QUERY_FAILED);
	assert_string_equal(r.findings.items[0].what, "LinearForwardingTable, 1 of 1 blocks");
	result = check(&r, 0);
	/* all but h-2 to h-0 comes by sw-1 */
	assert_int_equal(result.by_lft.arrive, 1);
	assert_int_equal(result.by_lft.unknown, 5);
	assert_false(result.credit_known);
	assert_int_equal(finding_exit(&r.findings), IBQOS_EXIT_UNKNOWN);
	done(&r);
}

static void test_adaptive_routing(void **state)
{
	struct ring r;
	uint8_t on[MAD_SMP_DATA] = {0, 0, 0, 1};

	(void)state;
	make(&r);
	script_source_answer(r.source, port(&r, r.sw[1], 0), SCRIPT_ANY, MAD_MLNX_ADAPTIVE, SCRIPT_ANY, on, sizeof(on));
	r.fabric->nodes[r.sw[2]].vendor = 0x1;
	assert_int_equal(routes_read_adaptive(r.routes, r.source, NULL, 0), 0);
	assert_int_equal(routes_adaptive_of(r.routes, r.sw[0]), ROUTES_ADAPTIVE_OFF); /* no such attribute there */
	assert_int_equal(routes_adaptive_of(r.routes, r.sw[1]), ROUTES_ADAPTIVE_ON);
	assert_int_equal(routes_adaptive_of(r.routes, r.sw[2]), ROUTES_ADAPTIVE_UNKNOWN);
	assert_int_equal(routes_coverage(r.routes, ROUTES_AR_INFO)->asked, 2);
	routes_findings(r.routes, false, &r.findings);
	assert_int_equal(finding_count_code(&r.findings, FINDING_ADAPTIVE_ROUTING), 2);
	assert_int_equal(finding_exit(&r.findings), IBQOS_EXIT_UNKNOWN);
	finding_list_clear(&r.findings);
	routes_findings(r.routes, true, &r.findings);
	assert_int_equal(finding_count(&r.findings, FINDING_NOTE), 2);
	assert_int_equal(finding_exit(&r.findings), IBQOS_EXIT_CLEAN);
	done(&r);
}

/* --- lanes --- */

static void test_what_becomes_of_a_packet(void **state)
{
	struct ring r;
	uint32_t out;
	unsigned vl;
	uint8_t info[MAD_SMP_DATA];

	(void)state;
	make(&r);
	out = port(&r, r.sw[0], 2);
	assert_int_equal(lanes_fate(r.lanes, out, 1, 0, &vl), LANE_UNKNOWN);
	r.sl2vl[0][1][2][3] = 15;
	r.sl2vl[0][1][2][4] = 8;
	r.sl2vl[0][3][2][0] = 5; /* another in-port, another VL */
	r.weight[2] = 0;
	read_lanes(&r);
	assert_int_equal(lanes_fate(r.lanes, out, 1, 1, &vl), LANE_FINE);
	assert_int_equal(vl, 1);
	assert_int_equal(lanes_fate(r.lanes, out, 3, 0, &vl), LANE_FINE);
	assert_int_equal(vl, 5);
	assert_int_equal(lanes_fate(r.lanes, out, 1, 3, &vl), LANE_DROPPED);
	assert_int_equal(lanes_fate(r.lanes, out, 1, 4, &vl), LANE_NOT_RUN);
	assert_int_equal(lanes_fate(r.lanes, out, 1, 2, &vl), LANE_STARVED);
	assert_int_equal(lanes_fate(r.lanes, out, 9, 2, &vl), LANE_UNKNOWN); /* no such in-port */
	/* the other end runs fewer */
	image_port_info(info, &(struct image_port){.oper_vls = 3, .cap_mask = SL_MAP});
	fabric_port_refresh(r.fabric, r.fabric->ports[out].peer, info);
	assert_int_equal(lanes_fate(r.lanes, out, 3, 0, &vl), LANE_NOT_RUN);
	/* one VL and no more: no table, no arbitration */
	image_port_info(info, &(struct image_port){.vl_cap = 1, .oper_vls = 1});
	fabric_port_refresh(r.fabric, out, info);
	assert_int_equal(lanes_fate(r.lanes, out, 1, 3, &vl), LANE_FINE);
	assert_int_equal(vl, 0);
	done(&r);
}

static void test_arbitration_not_answered_is_not_starved(void **state)
{
	struct ring r;
	uint32_t out;
	unsigned vl;

	(void)state;
	make(&r);
	out = port(&r, r.sw[0], 2);
	r.weight[2] = 0;
	take(&r, MAD_SL2VL, out, MAD_SL2VL_MODIFIER(1, 2));
	take(&r, MAD_VLARB, out, MAD_VLARB_MODIFIER(0, 2));
	assert_int_equal(lanes_fate(r.lanes, out, 1, 1, &vl), LANE_FINE);
	assert_int_equal(lanes_fate(r.lanes, out, 1, 2, &vl), LANE_UNKNOWN); /* the high table may have it */
	assert_int_equal(vl, 2);
	take(&r, MAD_VLARB, out, MAD_VLARB_MODIFIER(2, 2));
	assert_int_equal(lanes_fate(r.lanes, out, 1, 2, &vl), LANE_STARVED);
	done(&r);
}

/* --- all paths --- */

static void test_a_ring_waits_in_a_circle(void **state)
{
	struct ring r;
	struct paths_result result;

	(void)state;
	make(&r);
	read_routes(&r);
	read_lanes(&r);
	result = check(&r, 3);
	assert_int_equal(result.ends, 3);
	assert_int_equal(result.paths, 6);
	assert_int_equal(result.sl[0].arrive, 6);
	assert_int_equal(result.channels, 3);
	assert_int_equal(result.turns, 3);
	assert_int_equal(result.credit_loops, 1);
	assert_true(result.credit_known);
	assert_int_equal(r.findings.count, 1);
	assert_int_equal(r.findings.items[0].code, FINDING_CREDIT_LOOP);
	assert_string_equal(r.findings.items[0].got, "sw-0[2] VL 3 -> sw-1[2] VL 3 -> sw-2[2] VL 3 -> sw-0[2] VL 3");
	/* who leaves sw-2 by the ring does so on VL 4, and stays there: no circle */
	for (unsigned in = 0; in < 4; in++)
		r.sl2vl[2][in][2][3] = 4;
	r.sl2vl[0][3][2][3] = 4;
	read_lanes(&r);
	result = check(&r, 3);
	assert_int_equal(result.credit_loops, 0);
	assert_int_equal(r.findings.count, 0);
	assert_int_equal(result.channels, 4); /* sw-0 on both VLs */
	done(&r);
}

static void test_a_plan_before_it_is_applied(void **state)
{
	const struct paths_sl sls[] = {{.sl = 0, .data = true, .management = true}, {.sl = 1, .data = true}};
	const struct paths_options options = {.sls = sls, .sl_count = 2};
	struct qos_config config;
	struct paths_result result;
	struct lanes *planned;
	struct ring r;

	(void)state;
	make(&r);
	read_routes(&r);
	memset(&config, 0, sizeof(config));
	for (int t = 0; t < QOS_PORT_TYPES; t++) {
		config.of[t].sl2vl.vl[1] = 1;
		config.of[t].low = (struct qos_vlarb){.count = 2, .entry = {{0, 64}, {1, 64}}};
	}
	assert_int_equal(lanes_expected(r.fabric, &config, &planned), 0);
	assert_int_equal(paths_credit_loops(&r.ctx, r.fabric, r.routes, planned, &options, &r.findings, &result), 0);
	assert_int_equal(result.credit_loops, 2);
	assert_int_equal(finding_count_code(&r.findings, FINDING_CREDIT_LOOP), 2);
	lanes_free(planned);
	/* what no link carries cannot wait: SL 1 is dropped between switches */
	config.of[QOS_PORT_SWE].sl2vl.vl[1] = QOS_VL_DROP;
	assert_int_equal(lanes_expected(r.fabric, &config, &planned), 0);
	assert_int_equal(paths_credit_loops(&r.ctx, r.fabric, r.routes, planned, &options, NULL, &result), 0);
	assert_int_equal(result.credit_loops, 1);
	lanes_free(planned);
	done(&r);
}

static void test_a_stop_is_heeded(void **state)
{
	volatile sig_atomic_t stop = 1;
	const struct paths_options options = {.sl_count = 0};
	struct paths_result result;
	struct ring r;

	(void)state;
	make(&r);
	r.ctx.stop = &stop;
	assert_int_equal(paths_check(&r.ctx, r.fabric, r.routes, r.lanes, &options, &r.findings, &result), -EINTR);
	assert_int_equal(r.findings.count, 0);
	done(&r);
}

/* --- a trace --- */

static void test_trace_over_the_ring(void **state)
{
	struct trace trace;
	struct ring r;

	(void)state;
	make(&r);
	r.weight[1] = 192;
	r.sl2vl[2][3][1][0] = 1;
	assert_int_equal(trace_run(r.source, r.fabric, r.routes, port(&r, r.host[0], 1), port(&r, r.host[2], 1), 13, 0, 3, &trace),
			 0);
	assert_int_equal(trace.end, ROUTE_ARRIVED);
	assert_int_equal(trace.count, 4);
	assert_int_equal(trace.hops[3].node, r.sw[2]);
	assert_int_equal(trace.hops[3].in, 3);
	assert_int_equal(trace.hops[3].out, port(&r, r.sw[2], 1));
	assert_int_equal(trace.hops[3].vl, 1);
	assert_true(trace.hops[2].share == 0.25); /* VL 0: 64 of 64 + 192 */
	assert_true(trace.hops[3].share == 1.0);  /* SLs 0 and 1 are both on VL 1 there */
	trace_clear(&trace);
	/* a circle is left at its second time round */
	r.lft[2][13] = 2;
	routes_free(r.routes);
	assert_int_equal(routes_new(r.fabric, &r.routes), 0);
	assert_int_equal(trace_run(r.source, r.fabric, r.routes, port(&r, r.host[0], 1), port(&r, r.host[2], 1), 13, 0, 3, &trace),
			 0);
	assert_int_equal(trace.end, ROUTE_LOOP);
	assert_int_equal(trace.count, 4);
	trace_findings(&trace, r.fabric, &r.findings);
	assert_int_equal(r.findings.count, 1);
	assert_int_equal(r.findings.items[0].code, FINDING_LFT_LOOP);
	trace_clear(&trace);
	/* nobody else is asked */
	assert_int_equal(script_source_asked(r.source, SCRIPT_ANY, SCRIPT_ANY, MAD_SL2VL, SCRIPT_ANY), 8);
	done(&r);
}

static void test_trace_when_the_wire_breaks(void **state)
{
	struct trace trace;
	struct ring r;

	(void)state;
	make(&r);
	script_source_break(r.source, 4, -EIO);
	assert_int_equal(trace_run(r.source, r.fabric, r.routes, port(&r, r.host[0], 1), port(&r, r.host[2], 1), 13, 0, 3, &trace),
			 -EIO);
	trace_clear(&trace);
	done(&r);
}

static void test_ends_by_name(void **state)
{
	static const struct {
		const char *text;
		int sw, host; /* -1: neither */
	} cases[] = {{"h-1", -1, 1},  {"h-1 mlx5_0", -1, 1}, {"h-1[1]", -1, 1}, {"sw-2", 2, -1},   {"sw-2[0]", 2, -1},
		     {"12", -1, 1},   {"0x1", 0, -1},	     {"0x100", -1, -1}, {"0,1", 0, -1},	   {"0", -1, 0},
		     {"0,1,2,1", -1, 1}, {"h", -1, -1},	     {"h-", -1, -1},	{"sw-2[1]", -1, -1}, {"0,1,9", -1, -1},
		     {"0,1,", -1, -1}, {"0,256", -1, -1},    {"[1]", -1, -1},	{"h-1[01]", -1, -1}, {"h-1[]", -1, -1}};
	struct ring r;

	(void)state;
	make(&r);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t found;
		char *fault;
		int error = paths_find_end(r.fabric, r.routes, cases[i].text, &found, &fault);
		uint32_t wanted = cases[i].sw >= 0    ? port(&r, r.sw[cases[i].sw], 0)
				  : cases[i].host >= 0 ? port(&r, r.host[cases[i].host], 1)
						       : FABRIC_NONE;

		if (found != wanted || (error == 0) != (wanted != FABRIC_NONE) || !fault != (error == 0))
			fail_msg("'%s': port %u, error %d, %s", cases[i].text, found, error, fault ? fault : "no fault");
		free(fault);
	}
	done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_blocks_with_lids_are_asked),
		cmocka_unit_test(test_each_way_to_end),
		cmocka_unit_test(test_tables_that_are_not_linear_or_not_known),
		cmocka_unit_test(test_lids_by_mask_and_twice),
		cmocka_unit_test(test_what_was_not_answered_is_counted),
		cmocka_unit_test(test_adaptive_routing),
		cmocka_unit_test(test_what_becomes_of_a_packet),
		cmocka_unit_test(test_arbitration_not_answered_is_not_starved),
		cmocka_unit_test(test_a_ring_waits_in_a_circle),
		cmocka_unit_test(test_a_plan_before_it_is_applied),
		cmocka_unit_test(test_a_stop_is_heeded),
		cmocka_unit_test(test_trace_over_the_ring),
		cmocka_unit_test(test_trace_when_the_wire_breaks),
		cmocka_unit_test(test_ends_by_name),
	};

	return cmocka_run_group_tests_name("paths", tests, NULL, NULL);
}
