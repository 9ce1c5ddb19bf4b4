/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Reading ports: PortInfo fields, agents, ways to them, kinds. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "images.h"

static void fields(void **state)
{
	struct fabric_port port = {.known = true};

	(void)state;
	image_port_info(port.info, &(struct image_port){.state = 3,
							.phys_state = 6,
							.lid = 0xbffe,
							.cap_mask = 0x80004042,
							.vl_cap = 5,
							.oper_vls = 2,
							.high_limit = 0xa5,
							.high_cap = 64,
							.low_cap = 17,
							.mtu_cap = 4,
							.mtu = 1});
	assert_int_equal(fabric_port_state(&port), FABRIC_STATE_ARMED);
	assert_int_equal(fabric_port_phys_state(&port), 6);
	assert_int_equal(fabric_port_lid(&port), 0xbffe);
	assert_int_equal(fabric_port_cap_mask(&port), 0x80004042);
	assert_true(fabric_port_cap_mask(&port) & FABRIC_CAP_SL_MAP);
	assert_int_equal(fabric_port_vl_cap(&port), 5);
	assert_int_equal(fabric_port_oper_vls(&port), 2);
	assert_int_equal(fabric_port_high_limit(&port), 0xa5);
	assert_int_equal(fabric_port_vlarb_high_cap(&port), 64);
	assert_int_equal(fabric_port_vlarb_low_cap(&port), 17);
	assert_int_equal(fabric_port_mtu_cap(&port), 2048);
	assert_int_equal(fabric_port_neighbor_mtu(&port), 256);
}

static void mtu_codes(void **state)
{
	static const unsigned bytes[16] = {[1] = 256, [2] = 512, [3] = 1024, [4] = 2048, [5] = 4096};
	struct fabric_port port = {.known = true};

	(void)state;
	for (unsigned code = 0; code < 16; code++) {
		port.info[36] = code << 4 | 0xf; /* NeighborMTU beside MasterSMSL */
		port.info[41] = 0xf0 | code;     /* MTUCap beside InitTypeReply */
		assert_int_equal(fabric_port_mtu_cap(&port), bytes[code]);
		assert_int_equal(fabric_port_neighbor_mtu(&port), bytes[code]);
	}
}

/*
 * h1[1] (looks) - s[1]; s[2] - h2[1], found through it, h2[2] - t[1], t - s over s[3], t[2];
 * r is a router behind s[4].
 */
static struct fabric *net(void)
{
	struct fabric *f = fabric_new("");
	uint8_t node_info[MAD_SMP_DATA], info[MAD_SMP_DATA], desc[MAD_SMP_DATA];
	const struct mad_route to_s = {.hops = 1, .port = {0, 1}}, to_t = {.hops = 2, .port = {0, 1, 3}},
			       to_h2 = {.hops = 2, .port = {0, 1, 2}}, self = {0},
			       to_r = {.hops = 2, .port = {0, 1, 4}};
	uint32_t h1, h2, s, t, r;

	assert_non_null(f);
	image_node_desc(desc, "n");
	image_node_info(node_info, FABRIC_CA, 0x100, 1, 1);
	h1 = fabric_add_node(f, node_info, NULL, desc, &self);
	image_node_info(node_info, FABRIC_SWITCH, 0x200, 4, 1);
	s = fabric_add_node(f, node_info, desc, desc, &to_s);
	image_node_info(node_info, FABRIC_CA, 0x300, 3, 1);
	h2 = fabric_add_node(f, node_info, NULL, desc, &to_h2);
	image_node_info(node_info, FABRIC_SWITCH, 0x400, 4, 2);
	t = fabric_add_node(f, node_info, desc, desc, &to_t);
	image_node_info(node_info, FABRIC_ROUTER, 0x500, 1, 1);
	r = fabric_add_node(f, node_info, NULL, desc, &to_r);
	image_port_info(info, &(struct image_port){.lid = 1});
	fabric_port_seen(f, h1, 1, 0, info, NULL);
	image_port_info(info, &(struct image_port){.lid = 2, .state = FABRIC_STATE_DOWN});
	fabric_port_seen(f, s, 0, 0, info, NULL);
	image_port_info(info, &(struct image_port){.lid = 0});
	fabric_port_seen(f, t, 0, 0, info, NULL);
	image_port_info(info, &(struct image_port){.lid = 3});
	fabric_port_seen(f, h2, 1, 0, info, NULL);
	image_port_info(info, &(struct image_port){.lid = 4, .state = FABRIC_STATE_INIT});
	fabric_port_seen(f, h2, 2, 0, info, NULL);
	image_port_info(info, &(struct image_port){.lid = 0xc000});
	fabric_port_seen(f, r, 1, 0, info, NULL);
	image_link(f, h1, 1, s, 1, NULL);
	image_link(f, s, 2, h2, 1, NULL);
	image_link(f, s, 3, t, 2, NULL);
	image_link(f, t, 1, h2, 2, NULL);
	image_link(f, s, 4, r, 1, NULL);
	f->from_node = h1;
	f->from_port = 1;
	assert_int_equal(fabric_finish(f), 0);
	return f;
}

static uint32_t at(const struct fabric *f, uint64_t guid, unsigned number)
{
	return fabric_node_port(f, fabric_find_node(f, guid), number);
}

static void expect_route(const struct fabric *f, uint32_t agent, bool directed, unsigned hops,
			 const char *route)
{
	struct mad_address address;

	memset(&address, 0xff, sizeof(address));
	assert_true(fabric_agent_address(f, agent, directed, &address));
	assert_int_equal(address.lid, 0);
	assert_int_equal(address.route.hops, hops);
	assert_memory_equal(address.route.port, route, hops + 1);
}

static void expect_lid(const struct fabric *f, uint32_t agent, unsigned lid)
{
	struct mad_address address;

	memset(&address, 0xff, sizeof(address));
	assert_true(fabric_agent_address(f, agent, false, &address));
	assert_int_equal(address.lid, lid);
}

static void agents(void **state)
{
	struct fabric *f = net();

	(void)state;
	assert_int_equal(fabric_port_agent(f, at(f, 0x200, 3)), at(f, 0x200, 0));
	assert_int_equal(fabric_port_agent(f, at(f, 0x200, 0)), at(f, 0x200, 0));
	assert_int_equal(fabric_port_agent(f, at(f, 0x300, 2)), at(f, 0x300, 2));
	assert_int_equal(fabric_port_agent(f, at(f, 0x500, 1)), at(f, 0x500, 1));
	fabric_free(f);
}

static void addresses(void **state)
{
	struct fabric *f = net();
	struct mad_address address;

	(void)state;
	expect_lid(f, at(f, 0x100, 1), 1);
	expect_lid(f, at(f, 0x200, 0), 2); /* port 0's own state says nothing */
	expect_lid(f, at(f, 0x300, 1), 3);
	expect_route(f, at(f, 0x400, 0), false, 2, "\0\1\3");   /* has no LID */
	expect_route(f, at(f, 0x300, 2), false, 3, "\0\1\3\1"); /* not active; by the switch before it */
	expect_route(f, at(f, 0x500, 1), false, 2, "\0\1\4");   /* a multicast LID is none */
	expect_route(f, at(f, 0x100, 1), true, 0, "");          /* itself: no hop */
	expect_route(f, at(f, 0x200, 0), true, 1, "\0\1");
	expect_route(f, at(f, 0x300, 1), true, 2, "\0\1\2");
	expect_route(f, at(f, 0x300, 2), true, 3, "\0\1\3\1");
	assert_false(fabric_agent_address(f, at(f, 0x300, 3), false, &address)); /* not cabled */
	assert_false(fabric_agent_address(f, at(f, 0x300, 3), true, &address));
	fabric_free(f);
}

/* Without routes (a snapshot, say) only LIDs lead anywhere. */
static void addresses_without_routes(void **state)
{
	struct fabric *f = fabric_new("");
	uint32_t sw = image_add_switch(f, "s", 0x20, 2, 0), host = image_add_host(f, "h", 0x10, 5);
	struct mad_address address;

	(void)state;
	image_link(f, sw, 1, host, 1, NULL);
	assert_int_equal(fabric_finish(f), 0);
	expect_lid(f, at(f, 0x10, 1), 5);
	assert_false(fabric_agent_address(f, at(f, 0x10, 1), true, &address));
	assert_false(fabric_agent_address(f, at(f, 0x20, 0), false, &address));
	fabric_free(f);
}

static void longest_route(void **state)
{
	struct fabric *f = fabric_new("");
	uint8_t node_info[MAD_SMP_DATA], desc[MAD_SMP_DATA];
	struct mad_route far = {.hops = MAD_ROUTE_HOPS}, beyond = {.hops = MAD_ROUTE_HOPS + 1};
	struct mad_address address;
	uint32_t sw, host, none;

	(void)state;
	image_node_desc(desc, "n");
	memset(far.port, 7, sizeof(far.port));
	image_node_info(node_info, FABRIC_SWITCH, 0x200, 4, 1);
	sw = fabric_add_node(f, node_info, desc, desc, &far);
	image_node_info(node_info, FABRIC_CA, 0x300, 2, 1);
	host = fabric_add_node(f, node_info, NULL, desc, NULL);
	image_node_info(node_info, FABRIC_SWITCH, 0x400, 4, 1);
	none = fabric_add_node(f, node_info, desc, desc, &beyond);
	assert_int_equal(f->nodes[none].route.hops, 0); /* longer than can be: not kept */
	image_link(f, sw, 1, host, 2, NULL);
	assert_int_equal(fabric_finish(f), 0);
	expect_route(f, at(f, 0x200, 0), true, MAD_ROUTE_HOPS, (const char *)far.port);
	assert_false(fabric_agent_address(f, at(f, 0x300, 2), true, &address)); /* one hop too far */
	fabric_free(f);
}

static void kinds_of_port(void **state)
{
	struct fabric *f = net();

	(void)state;
	assert_int_equal(fabric_port_qos_type(f, at(f, 0x100, 1)), QOS_PORT_CA);
	assert_int_equal(fabric_port_qos_type(f, at(f, 0x200, 0)), QOS_PORT_SW0);
	assert_int_equal(fabric_port_qos_type(f, at(f, 0x200, 1)), QOS_PORT_SWE);
	assert_int_equal(fabric_port_qos_type(f, at(f, 0x500, 1)), QOS_PORT_RTR);
	fabric_free(f);
}

static void refresh(void **state)
{
	struct fabric *f = net();
	uint8_t info[MAD_SMP_DATA];
	uint32_t port = at(f, 0x200, 0), other = at(f, 0x300, 3);

	(void)state;
	image_port_info(info, &(struct image_port){.lid = 77, .oper_vls = 3});
	fabric_port_refresh(f, port, info);
	assert_int_equal(f->nodes[fabric_find_node(f, 0x200)].lid, 77);
	assert_int_equal(fabric_port_oper_vls(&f->ports[port]), 3);
	fabric_port_refresh(f, other, info);
	assert_true(f->ports[other].known);
	assert_int_equal(f->nodes[fabric_find_node(f, 0x300)].lid, 0);
	fabric_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields),
		cmocka_unit_test(mtu_codes),
		cmocka_unit_test(agents),
		cmocka_unit_test(addresses),
		cmocka_unit_test(addresses_without_routes),
		cmocka_unit_test(longest_route),
		cmocka_unit_test(kinds_of_port),
		cmocka_unit_test(refresh),
	};

	return cmocka_run_group_tests_name("fabric port", tests, NULL, NULL);
}
