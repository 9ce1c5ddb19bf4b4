/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a port must hold, against values worked out by hand from osm_qos.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "../../src/check/expect.h"
#include "check_rig.h"

static struct expect_port expect_at(struct rig *rig, struct expect *expect, uint64_t guid, unsigned number,
				    enum expect_scope scope)
{
	struct expect_port port;

	expect_init(expect, &rig->config);
	assert_int_equal(expect_port(expect, rig->fabric, rig_port(rig, guid, number), &port), scope);
	return port;
}

/* SL2VL of the switch ports: 0,1,…,14,drop. */
static void set_identity(struct qos_config *config, enum qos_port_type type)
{
	for (unsigned sl = 0; sl < QOS_SLS; sl++)
		config->of[type].sl2vl.vl[sl] = sl;
}

static void test_sl2vl_folds_by_oper_vls(void **state)
{
	/* two SLs a byte, even SL high; VL15 stays; the rest modulo 1, 2, 4, 8, 16 */
	static const struct {
		unsigned code;
		uint8_t wire[QOS_SL2VL_WIRE];
	} cases[] = {
		{1, {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0f}},
		{2, {0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x0f}},
		{3, {0x01, 0x23, 0x01, 0x23, 0x01, 0x23, 0x01, 0x2f}},
		{4, {0x01, 0x23, 0x45, 0x67, 0x01, 0x23, 0x45, 0x6f}},
		{5, {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}},
	};
	struct expect_port port;
	struct expect expect;
	struct rig rig;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rig_make(&rig, &(struct rig_options){.isl = {.vl_cap = 5, .oper_vls = cases[i].code}});
		set_identity(&rig.config, QOS_PORT_SWE);
		port = expect_at(&rig, &expect, RIG_SPINE, 1, EXPECT_PROGRAMMED);
		assert_int_equal(port.type, QOS_PORT_SWE);
		assert_int_equal(port.in_ports, RIG_SPINE_PORTS + 1);
		for (unsigned in = 0; in <= RIG_SPINE_PORTS; in++)
			assert_memory_equal(expect_sl2vl(&expect, &port, in), cases[i].wire, QOS_SL2VL_WIRE);
		rig_free(&rig);
	}
}

static void test_each_kind_of_port_has_its_own_tables(void **state)
{
	const struct {
		uint64_t guid;
		unsigned number;
		enum qos_port_type type;
		unsigned in_ports, high_limit;
	} cases[] = {
		{RIG_GPU_1, 1, QOS_PORT_CA, 1, 1},
		{RIG_LEAF, 0, QOS_PORT_SW0, RIG_LEAF_PORTS + 1, 11},
		{RIG_LEAF, 1, QOS_PORT_SWE, RIG_LEAF_PORTS + 1, 21},
		{RIG_SPINE, 3, QOS_PORT_SWE, RIG_SPINE_PORTS + 1, 21},
		{RIG_ROUTER, 1, QOS_PORT_RTR, 1, 31},
	};
	struct expect_port port;
	struct expect expect;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		port = expect_at(&rig, &expect, cases[i].guid, cases[i].number, EXPECT_PROGRAMMED);
		assert_int_equal(port.type, cases[i].type);
		assert_int_equal(port.in_ports, cases[i].in_ports);
		assert_true(port.has_high_limit);
		assert_int_equal(port.high_limit, cases[i].high_limit);
		assert_int_equal(port.oper_vls, 4);
	}
	rig_free(&rig);
}

/* qos_extports_setup() writes the swe map for all in-ports of out-port 0, qos_endport_setup() then (0,0). */
static void test_enhanced_port_0_has_two_maps(void **state)
{
	static const uint8_t sw0[] = {0x77, 0x77, 0x77, 0x77, 0x77, 0x77, 0x77, 0x77};
	static const uint8_t swe[] = {0x22, 0x22, 0x22, 0x22, 0x22, 0x22, 0x22, 0x22};
	struct expect_port port;
	struct expect expect;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	memset(rig.config.of[QOS_PORT_SW0].sl2vl.vl, 7, QOS_SLS);
	memset(rig.config.of[QOS_PORT_SWE].sl2vl.vl, 2, QOS_SLS);
	port = expect_at(&rig, &expect, RIG_LEAF, 0, EXPECT_PROGRAMMED);
	assert_memory_equal(expect_sl2vl(&expect, &port, 0), sw0, sizeof(sw0));
	for (unsigned in = 1; in <= RIG_LEAF_PORTS; in++)
		assert_memory_equal(expect_sl2vl(&expect, &port, in), swe, sizeof(swe));
	rig_free(&rig);
}

/* A map of port 0 that is all zeros once masked takes turns with that of the other ports (osm_qos.c: sl2vl_update_table()). */
static void test_port_0_of_zeros(void **state)
{
	struct expect_port port;
	struct expect expect;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	memset(rig.config.of[QOS_PORT_SWE].sl2vl.vl, 2, QOS_SLS);
	memset(rig.config.of[QOS_PORT_SW0].sl2vl.vl, 0, QOS_SLS);
	port = expect_at(&rig, &expect, RIG_LEAF, 0, EXPECT_PROGRAMMED);
	assert_ptr_equal(expect_sl2vl_other(&expect, &port, 0), expect_sl2vl(&expect, &port, 1));
	assert_null(expect_sl2vl_other(&expect, &port, 1));
	/* one SL elsewhere, and both are sent */
	rig.config.of[QOS_PORT_SW0].sl2vl.vl[15] = 1;
	port = expect_at(&rig, &expect, RIG_LEAF, 0, EXPECT_PROGRAMMED);
	assert_null(expect_sl2vl_other(&expect, &port, 0));
	memset(rig.config.of[QOS_PORT_SWE].sl2vl.vl, 0, QOS_SLS);
	port = expect_at(&rig, &expect, RIG_LEAF, 1, EXPECT_PROGRAMMED);
	assert_null(expect_sl2vl_other(&expect, &port, 0));
	rig_free(&rig);
}

/* SwitchInfo byte 11 bit 0: one Set for all tables, masked by what most ports run (osm_qos.c: op_vl_arr). */
static void test_port_0_of_tables_set_at_once(void **state)
{
	static const uint8_t by_two[] = {0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x0f};
	struct expect_port port;
	struct expect expect;
	struct rig rig;

	(void)state;
	/* ports 1 to 6 run 2, 4, 2, down, 5, 5: of two that are as common the one that was there first */
	rig_make(&rig, &(struct rig_options){.host = {.vl_cap = 5, .oper_vls = 2},
					     .router = {.vl_cap = 5, .oper_vls = 2},
					     .isl = {.vl_cap = 5, .oper_vls = 5}});
	set_identity(&rig.config, QOS_PORT_SWE);
	set_identity(&rig.config, QOS_PORT_SW0);
	port = expect_at(&rig, &expect, RIG_LEAF, 0, EXPECT_PROGRAMMED);
	assert_null(expect_sl2vl_common(&expect, &port, 0)); /* it does not say so */
	rig.fabric->nodes[fabric_find_node(rig.fabric, RIG_LEAF)].switch_info[11] |= 1;
	port = expect_at(&rig, &expect, RIG_LEAF, 0, EXPECT_PROGRAMMED);
	assert_int_equal(port.common_vls, 2);
	for (unsigned in = 0; in <= RIG_LEAF_PORTS; in++)
		assert_memory_equal(expect_sl2vl_common(&expect, &port, in), by_two, sizeof(by_two));
	/* port 0 with a map of its own: in-port 0 is set alone, afterwards */
	rig.config.of[QOS_PORT_SW0].sl2vl.vl[3] = 9;
	port = expect_at(&rig, &expect, RIG_LEAF, 0, EXPECT_PROGRAMMED);
	assert_null(expect_sl2vl_common(&expect, &port, 0));
	assert_memory_equal(expect_sl2vl_common(&expect, &port, 1), by_two, sizeof(by_two));
	port = expect_at(&rig, &expect, RIG_LEAF, 1, EXPECT_PROGRAMMED); /* other ports fold by their own */
	assert_null(expect_sl2vl_common(&expect, &port, 1));
	rig_free(&rig);
}

static void test_ports_that_are_left_alone(void **state)
{
	struct expect_port port;
	struct expect expect;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	port = expect_at(&rig, &expect, RIG_SPINE, 0, EXPECT_BASE_PORT);
	assert_int_equal(port.in_ports, 0);
	expect_at(&rig, &expect, RIG_LEAF, 4, EXPECT_DOWN);
	rig_free(&rig);
	rig_make(&rig, &(struct rig_options){.no_spine_switch_info = true});
	expect_at(&rig, &expect, RIG_SPINE, 0, EXPECT_UNSURE);
	expect_at(&rig, &expect, RIG_SPINE, 1, EXPECT_PROGRAMMED);
	rig_free(&rig);
}

static void test_init_and_armed_are_programmed(void **state)
{
	struct expect expect;
	struct rig rig;

	(void)state;
	for (unsigned port_state = FABRIC_STATE_INIT; port_state <= FABRIC_STATE_ACTIVE; port_state++) {
		rig_make(&rig, &(struct rig_options){.isl = {.state = port_state}});
		assert_true(expect_at(&rig, &expect, RIG_LEAF, 5, EXPECT_PROGRAMMED).has_high_limit);
		rig_free(&rig);
	}
}

static void test_no_sl_map(void **state)
{
	struct expect expect;
	struct rig rig;

	(void)state;
	rig_make(&rig, &(struct rig_options){.no_leaf_sl_map = true, .no_host_sl_map = true});
	/* a switch has the bit at port 0, so spine has it and leaf has not, whatever their ports say */
	assert_int_equal(expect_at(&rig, &expect, RIG_LEAF, 1, EXPECT_PROGRAMMED).in_ports, 0);
	assert_int_equal(expect_at(&rig, &expect, RIG_LEAF, 0, EXPECT_PROGRAMMED).in_ports, 0);
	assert_int_equal(expect_at(&rig, &expect, RIG_SPINE, 1, EXPECT_PROGRAMMED).in_ports,
			 RIG_SPINE_PORTS + 1);
	assert_int_equal(expect_at(&rig, &expect, RIG_GPU_1, 1, EXPECT_PROGRAMMED).in_ports, 0);
	assert_int_equal(expect_at(&rig, &expect, RIG_GPU_2, 1, EXPECT_PROGRAMMED).in_ports, 1);
	rig_free(&rig);
}

static void test_one_vl_has_no_arbitration(void **state)
{
	struct qos_vlarb_entry block[QOS_VLARB_BLOCK];
	struct expect_port port;
	struct expect expect;
	struct rig rig;

	(void)state;
	rig_make(&rig, &(struct rig_options){.host = {.vl_cap = 1, .oper_vls = 1}});
	port = expect_at(&rig, &expect, RIG_GPU_1, 1, EXPECT_PROGRAMMED);
	assert_true(port.has_high_limit);
	assert_int_equal(port.high_limit, 0);
	for (unsigned b = 0; b < QOS_VLARB_BLOCKS; b++)
		assert_int_equal(expect_vlarb(&expect, &port, b, block), 0);
	assert_int_equal(port.in_ports, 1);
	rig_free(&rig);
}

/* A cap of exactly 64 leaves the second block alone (64 % 32 is 0, osm_qos.c:227): nothing may have weight there. */
static void test_vlarb_lengths_by_cap(void **state)
{
	static const struct {
		unsigned low, high;
		unsigned length[QOS_VLARB_BLOCKS];
	} cases[] = {
		{8, 2, {8, 0, 2, 0}},      {31, 32, {31, 0, 32, 0}}, {33, 63, {32, 1, 32, 31}},
		{48, 16, {32, 16, 16, 0}}, {64, 40, {32, 32, 32, 8}},
	};
	struct qos_vlarb_entry block[QOS_VLARB_BLOCK];
	struct expect_port port;
	struct expect expect;
	struct rig rig;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rig_make(&rig,
			 &(struct rig_options){.isl = {.low_cap = cases[i].low, .high_cap = cases[i].high}});
		port = expect_at(&rig, &expect, RIG_SPINE, 2, EXPECT_PROGRAMMED);
		for (unsigned b = 0; b < QOS_VLARB_BLOCKS; b++)
			assert_int_equal(expect_vlarb(&expect, &port, b, block), cases[i].length[b]);
		rig_free(&rig);
	}
}

static void test_vlarb_takes_low_and_high_of_the_kind(void **state)
{
	struct qos_vlarb_entry block[QOS_VLARB_BLOCK];
	struct expect_port port;
	struct expect expect;
	struct rig rig;

	(void)state;
	rig_make(&rig,
		 &(struct rig_options){.host = {.vl_cap = 4, .oper_vls = 3, .low_cap = 40, .high_cap = 40}});
	rig.config.of[QOS_PORT_CA].low.entry[1] = (struct qos_vlarb_entry){6, 61};
	rig.config.of[QOS_PORT_CA].low.entry[33] = (struct qos_vlarb_entry){7, 62};
	rig.config.of[QOS_PORT_CA].high.entry[1] = (struct qos_vlarb_entry){14, 63};
	rig.config.of[QOS_PORT_CA].high.entry[33] = (struct qos_vlarb_entry){1, 64};
	port = expect_at(&rig, &expect, RIG_GPU_1, 1, EXPECT_PROGRAMMED);
	assert_int_equal(expect_vlarb(&expect, &port, 0, block), 32);
	assert_true(block[1].vl == 2 && block[1].weight == 61); /* 6 & 3 */
	assert_int_equal(expect_vlarb(&expect, &port, 1, block), 8);
	assert_true(block[1].vl == 3 && block[1].weight == 62);
	assert_int_equal(expect_vlarb(&expect, &port, 2, block), 32);
	assert_true(block[1].vl == 2 && block[1].weight == 63);
	assert_int_equal(expect_vlarb(&expect, &port, 3, block), 8);
	assert_true(block[1].vl == 1 && block[1].weight == 64);
	rig_free(&rig);
}

/* link_mgr_process_node() passes by a port in Init whose other end the SM does not know. */
static void test_no_high_limit_at_init_without_peer(void **state)
{
	static const struct {
		unsigned port_state;
		bool set;
	} cases[] = {{FABRIC_STATE_INIT, false}, {FABRIC_STATE_ARMED, true}, {FABRIC_STATE_ACTIVE, true}};
	struct expect expect;
	uint8_t info[MAD_SMP_DATA];
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		image_port_info(info, &(struct image_port){.state = cases[i].port_state});
		fabric_port_refresh(rig.fabric, rig_port(&rig, RIG_LEAF, 4), info); /* has no peer */
		assert_int_equal(expect_at(&rig, &expect, RIG_LEAF, 4, EXPECT_PROGRAMMED).has_high_limit,
				 cases[i].set);
	}
	rig_free(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sl2vl_folds_by_oper_vls),
		cmocka_unit_test(test_each_kind_of_port_has_its_own_tables),
		cmocka_unit_test(test_enhanced_port_0_has_two_maps),
		cmocka_unit_test(test_port_0_of_zeros),
		cmocka_unit_test(test_port_0_of_tables_set_at_once),
		cmocka_unit_test(test_ports_that_are_left_alone),
		cmocka_unit_test(test_init_and_armed_are_programmed),
		cmocka_unit_test(test_no_sl_map),
		cmocka_unit_test(test_one_vl_has_no_arbitration),
		cmocka_unit_test(test_vlarb_lengths_by_cap),
		cmocka_unit_test(test_vlarb_takes_low_and_high_of_the_kind),
		cmocka_unit_test(test_no_high_limit_at_init_without_peer),
	};

	return cmocka_run_group_tests_name("verify: what is expected", tests, NULL, NULL);
}
