/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* verify against devices that all answer: what is right is clean, each thing that is wrong is found. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "check_rig.h"

static void assert_place(const struct finding *f, uint64_t guid, int port, const char *name,
			 uint64_t peer_guid, int peer_port, const char *peer_name)
{
	assert_non_null(f);
	assert_int_equal(f->guid, guid);
	assert_int_equal(f->port, port);
	assert_string_equal(f->name, name);
	assert_int_equal(f->peer_guid, peer_guid);
	assert_int_equal(f->peer_port, peer_port);
	assert_string_equal(f->peer_name, peer_name);
}

static void assert_clean(const struct rig *rig)
{
	const struct verify_result *result = verify_result(rig->verify);

	assert_int_equal(rig->findings.count, 0);
	assert_int_equal(result->ports_differ, 0);
	assert_int_equal(result->ports_unknown, 0);
	for (unsigned item = 0; item < VERIFY_ITEMS; item++)
		assert_int_equal(result->coverage[item].ended[MAD_ANSWERED], result->coverage[item].asked);
}

/* 13 ports are programmed, 3 are not: two are down and one is the base port 0 of spine. */
static void test_clean_fabric_and_what_was_asked(void **state)
{
	const struct verify_result *result;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	rig_verify(&rig);
	assert_clean(&rig);
	result = verify_result(rig.verify);
	assert_int_equal(result->ports, 13);
	assert_int_equal(result->ports_excluded, 3);
	assert_int_equal(result->coverage[VERIFY_PORT_INFO].asked, 7 + 5 + 4);
	assert_int_equal(result->coverage[VERIFY_SL2VL].asked, 6 * 7 + 3 * 5 + 4);
	assert_int_equal(result->coverage[VERIFY_VLARB].asked, 13 * 2);
	assert_int_equal(script_source_asked(rig.source, SCRIPT_ANY, SCRIPT_ANY, 0, SCRIPT_ANY),
			 16 + 61 + 26);
	/* nothing of the down port and the base port but PortInfo */
	assert_int_equal(
		script_source_asked(rig.source, SCRIPT_ANY, rig_port(&rig, RIG_LEAF, 4), 0, SCRIPT_ANY), 1);
	assert_int_equal(
		script_source_asked(rig.source, SCRIPT_ANY, rig_port(&rig, RIG_SPINE, 0), 0, SCRIPT_ANY), 1);
	/* ports of an adapter that lead nowhere are not of this fabric */
	assert_int_equal(
		script_source_asked(rig.source, SCRIPT_ANY, rig_port(&rig, RIG_GPU_1, 2), 0, SCRIPT_ANY), 0);
	rig_free(&rig);
}

/* Each table once, with the modifiers of IBA 14.2.5.9 and 14.2.5.10. */
static void test_modifiers(void **state)
{
	uint32_t leaf, port, gpu;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	rig_verify(&rig);
	leaf = rig_port(&rig, RIG_LEAF, 0);
	port = rig_port(&rig, RIG_LEAF, 5);
	gpu = rig_port(&rig, RIG_GPU_2, 1);
	for (unsigned in = 0; in <= RIG_LEAF_PORTS; in++) {
		assert_int_equal(script_source_asked(rig.source, leaf, port, MAD_SL2VL, in << 8 | 5), 1);
		assert_int_equal(script_source_asked(rig.source, leaf, leaf, MAD_SL2VL, in << 8), 1);
	}
	assert_int_equal(script_source_asked(rig.source, leaf, port, MAD_VLARB, 0x10005), 1);
	assert_int_equal(script_source_asked(rig.source, leaf, port, MAD_VLARB, 0x30005), 1);
	assert_int_equal(script_source_asked(rig.source, leaf, leaf, MAD_VLARB, 0x10000), 1);
	assert_int_equal(script_source_asked(rig.source, gpu, gpu, MAD_VLARB, 0x10000), 1);
	assert_int_equal(script_source_asked(rig.source, gpu, gpu, MAD_VLARB, 0x30000), 1);
	assert_int_equal(script_source_asked(rig.source, gpu, gpu, MAD_SL2VL, 0), 1);
	assert_int_equal(script_source_asked(rig.source, gpu, gpu, MAD_PORT_INFO, 1), 1);
	assert_int_equal(script_source_asked(rig.source, leaf, port, MAD_PORT_INFO, 5), 1);
	rig_free(&rig);
}

/* Devices of other abilities are as clean, once OpenSM has programmed them. */
static void test_clean_with_other_abilities(void **state)
{
	const struct rig_options cases[] = {
		{.isl = {.oper_vls = 2}, .host = {.vl_cap = 3, .oper_vls = 3}},
		{.isl = {.vl_cap = 5, .oper_vls = 5, .low_cap = 63, .high_cap = 63}},
		{.isl = {.low_cap = 48, .high_cap = 33}, .port0 = {.vl_cap = 3, .oper_vls = 3}},
		{.host = {.vl_cap = 1, .oper_vls = 1}, .router = {.oper_vls = 1}},
	};
	struct rig rig;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rig_make(&rig, &cases[i]);
		rig_verify(&rig);
		assert_clean(&rig);
		assert_int_equal(verify_result(rig.verify)->ports, 13);
		rig_free(&rig);
	}
}

/* Where OpenSM can program no SL2VL table on a port of several VLs, none is asked for, and it is said. */
static void test_no_sl_map(void **state)
{
	const struct rig_options no_map = {.no_leaf_sl_map = true, .no_host_sl_map = true};
	struct rig rig;

	(void)state;
	rig_make(&rig, &no_map);
	rig_verify(&rig);
	assert_int_equal(verify_result(rig.verify)->ports_differ, 0);
	assert_int_equal(rig.findings.count, finding_count_code(&rig.findings, FINDING_SL2VL_UNSUPPORTED));
	assert_true(rig.findings.count > 0);
	for (size_t i = 0; i < rig.findings.count; i++) {
		uint32_t port = rig_port(&rig, rig.findings.items[i].guid, (unsigned)rig.findings.items[i].port);

		assert_int_equal(script_source_asked(rig.source, SCRIPT_ANY, port, MAD_SL2VL, SCRIPT_ANY), 0);
	}
	assert_int_equal(finding_exit(&rig.findings), IBQOS_EXIT_WARNING);
	rig_free(&rig);
}

/* OpenSM never sets entries 33 to 64 of a table of 64: weight that stands there is in force all the same. */
static void test_leftover_of_a_table_of_64(void **state)
{
	const struct rig_options options = {.isl = {.vl_cap = 5, .oper_vls = 5, .low_cap = 64, .high_cap = 64}};
	const struct finding *f;
	struct rig rig;

	(void)state;
	rig_make(&rig, &options);
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned block = 1; block < QOS_VLARB_BLOCKS; block += 2) {
			memset(rig_device(&rig, RIG_LEAF, 5 + i)->vlarb[block], 0, 64);
			memset(rig_device(&rig, RIG_SPINE, 1 + i)->vlarb[block], 0, 64);
		}
	}
	rig_device(&rig, RIG_LEAF, 5)->vlarb[1][2] = 9; /* a VL without weight does nothing */
	rig_verify(&rig);
	assert_clean(&rig);
	rig_device(&rig, RIG_LEAF, 5)->vlarb[3][63] = 7;
	rig_verify(&rig);
	f = rig_only(&rig, FINDING_VLARB_DIFFERS);
	assert_int_equal(rig.findings.count, 1);
	assert_int_equal(f->port, 5);
	assert_string_equal(f->what, "VLArb high, entries 33-64");
	assert_non_null(strstr(f->detail, "stays in force"));
	rig_free(&rig);
}

/* Every in-port of every out-port, every SL: one wrong entry is one finding, and says where. */
static void test_every_sl2vl_entry_is_compared(void **state)
{
	static const struct {
		uint64_t guid;
		unsigned number, in_ports;
	} ports[] = {{RIG_LEAF, 0, 7},  {RIG_LEAF, 1, 7},  {RIG_LEAF, 6, 7},
		     {RIG_SPINE, 3, 5}, {RIG_GPU_1, 1, 1}, {RIG_ROUTER, 1, 1}};
	const struct finding *f;
	char what[64];
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	for (unsigned i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		for (unsigned in = 0; in < ports[i].in_ports; in++) {
			for (unsigned sl = 0; sl < QOS_SLS; sl++) {
				uint8_t *entry =
					&rig_device(&rig, ports[i].guid, ports[i].number)->sl2vl[in][sl / 2];

				*entry ^= sl % 2 ? 0x04 : 0x40;
				rig_verify(&rig);
				*entry ^= sl % 2 ? 0x04 : 0x40;
				f = rig_only(&rig, FINDING_SL2VL_DIFFERS);
				assert_int_equal(rig.findings.count, 1);
				assert_int_equal(f->guid, ports[i].guid);
				assert_int_equal(f->port, ports[i].number);
				assert_int_equal(verify_result(rig.verify)->ports_differ, 1);
				assert_true(verify_port_differs(
					rig.verify, rig_port(&rig, ports[i].guid, ports[i].number)));
				snprintf(what, sizeof(what), "SL2VL, in-port %u", in);
				assert_string_equal(f->what, ports[i].in_ports == 1 ? "SL2VL" : what);
			}
		}
	}
	rig_free(&rig);
}

static void test_sl2vl_finding(void **state)
{
	struct rig_device *device;
	const struct finding *f;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	device = rig_device(&rig, RIG_LEAF, 1);
	for (unsigned in = 0; in <= RIG_LEAF_PORTS; in++)
		memset(device->sl2vl[in], 0, 8);
	rig_verify(&rig);
	f = rig_only(&rig, FINDING_SL2VL_DIFFERS);
	assert_place(f, RIG_LEAF, 1, "leaf", RIG_GPU_1, 1, "gpu-1");
	assert_string_equal(f->what, "SL2VL, in-ports 0-6");
	/* swe is type 2: (3 * sl + 2) % 15, then modulo 8 */
	assert_string_equal(f->wanted, "2,5,0,3,6,2,5,0,3,6,2,5,0,3,6,15");
	assert_string_equal(f->got, "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0");
	assert_null(f->detail);
	assert_int_equal(f->severity, FINDING_CRITICAL);

	rig_program(&rig);
	memset(device->sl2vl[6], 0x11, 8); /* not asked for in any order */
	memset(device->sl2vl[0], 0x22, 8);
	memset(device->sl2vl[3], 0x33, 8);
	memset(device->sl2vl[4], 0x33, 8);
	rig_verify(&rig);
	f = rig_only(&rig, FINDING_SL2VL_DIFFERS);
	assert_string_equal(f->what, "SL2VL, in-ports 0,3-4,6");
	assert_string_equal(f->got, "2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2");
	assert_string_equal(f->detail, "4 of 7 in-ports differ, not all alike");

	rig_program(&rig);
	memset(device->sl2vl[2], 0x11, 8);
	rig_verify(&rig);
	f = rig_only(&rig, FINDING_SL2VL_DIFFERS);
	assert_string_equal(f->what, "SL2VL, in-port 2");
	assert_string_equal(f->detail, "1 of 7 in-ports differ");
	rig_free(&rig);
}

/* Port 0 of a switch holds the map of the other ports for all in-ports but its own. */
static void test_enhanced_port_0(void **state)
{
	struct rig_device *device;
	const struct finding *f;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	device = rig_device(&rig, RIG_LEAF, 0);
	memcpy(device->sl2vl[0], device->sl2vl[1], 8);
	rig_verify(&rig);
	f = rig_only(&rig, FINDING_SL2VL_DIFFERS);
	assert_int_equal(f->port, 0);
	assert_string_equal(f->what, "SL2VL, in-port 0");
	assert_string_equal(f->wanted,
			    "1,3,5,7,1,3,5,0,2,4,6,0,2,4,6,15"); /* sw0: (2 * sl + 1) % 15, modulo 8 */
	rig_program(&rig);
	memcpy(device->sl2vl[4], device->sl2vl[0], 8);
	rig_verify(&rig);
	assert_string_equal(rig_only(&rig, FINDING_SL2VL_DIFFERS)->what, "SL2VL, in-port 4");
	rig_free(&rig);
}

/* Every entry of every block that OpenSM sets, VL and weight; none past them. */
static void test_every_vlarb_entry_is_compared(void **state)
{
	static const unsigned lengths[QOS_VLARB_BLOCKS] = {32, 16, 32, 3}; /* caps 48 and 35 */
	struct rig rig;

	(void)state;
	rig_make(&rig,
		 &(struct rig_options){.isl = {.vl_cap = 5, .oper_vls = 5, .low_cap = 48, .high_cap = 35}});
	for (unsigned block = 0; block < QOS_VLARB_BLOCKS; block++) {
		for (unsigned i = 0; i < 2 * QOS_VLARB_BLOCK; i++) {
			uint8_t *byte = &rig_device(&rig, RIG_SPINE, 1)->vlarb[block][i];

			*byte ^= 0x01;
			rig_verify(&rig);
			*byte ^= 0x01;
			assert_int_equal(rig.findings.count, i < 2 * lengths[block] ? 1 : 0);
			if (i >= 2 * lengths[block])
				continue;
			assert_int_equal(rig_only(&rig, FINDING_VLARB_DIFFERS)->guid, RIG_SPINE);
			assert_int_equal(verify_result(rig.verify)->ports_differ, 1);
		}
	}
	rig_free(&rig);
}

static void test_vlarb_finding(void **state)
{
	struct rig_device *device;
	const struct finding *f;
	struct rig rig;

	(void)state;
	rig_make(&rig, &(struct rig_options){.isl = {.low_cap = 34, .high_cap = 4}});
	device = rig_device(&rig, RIG_LEAF, 5);
	device->vlarb[2][2] = 7; /* was (2 * 1 + 2) & 7 = 4 */
	rig_verify(&rig);
	f = rig_only(&rig, FINDING_VLARB_DIFFERS);
	assert_place(f, RIG_LEAF, 5, "leaf", RIG_SPINE, 1, "spine");
	assert_string_equal(f->what, "VLArb high");
	assert_string_equal(f->wanted, "2:253,4:251,6:249,0:247");
	assert_string_equal(f->got, "2:253,7:251,6:249,0:247");

	device->vlarb[2][2] = 4;
	device->vlarb[1][3] ^= 0xff; /* entry 34 of low, weight (1 + 3 * 33 + 2): 102 */
	rig_verify(&rig);
	f = rig_only(&rig, FINDING_VLARB_DIFFERS);
	assert_string_equal(f->what, "VLArb low, entries 33-34");
	assert_string_equal(f->wanted, "4:99,5:102"); /* VLs (32 + 2) % 15 and (33 + 2) % 15 */
	assert_string_equal(f->got, "4:99,5:153");

	device->vlarb[0][1] = 0;
	rig_verify(&rig);
	f = rig_only(&rig, FINDING_VLARB_DIFFERS); /* one a table, not one a block */
	assert_string_equal(f->what, "VLArb low, entries 1-34");
	rig_free(&rig);
}

/* Entries without weight at the end say nothing; one before the end or on one side only does. */
static void test_vlarb_text_is_cut(void **state)
{
	struct rig_device *device;
	const struct finding *f;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	for (unsigned type = 0; type < QOS_PORT_TYPES; type++) {
		struct qos_vlarb *low = &rig.config.of[type].low;

		*low = (struct qos_vlarb){.count = 3, .entry = {{0, 64}, {1, 0}, {2, 128}}};
	}
	rig_program(&rig);
	rig_verify(&rig);
	assert_clean(&rig);
	device = rig_device(&rig, RIG_GPU_2, 1);
	device->vlarb[0][8] = 3;
	device->vlarb[0][9] = 5;
	rig_verify(&rig);
	f = rig_only(&rig, FINDING_VLARB_DIFFERS);
	assert_string_equal(f->what, "VLArb low");
	assert_string_equal(f->wanted, "0:64,1:0,2:128,0:0,0:0");
	assert_string_equal(f->got, "0:64,1:0,2:128,0:0,3:5");
	rig_free(&rig);
}

static void test_high_limit(void **state)
{
	static const struct {
		uint64_t guid;
		unsigned number;
		const char *wanted;
	} ports[] = {{RIG_LEAF, 0, "11"},
		     {RIG_LEAF, 2, "21"},
		     {RIG_SPINE, 3, "21"},
		     {RIG_GPU_2, 1, "1"},
		     {RIG_ROUTER, 1, "31"}};
	const struct finding *f;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	rig_device(&rig, RIG_SPINE, 0)->info[38] = 99; /* OpenSM never sets it at a base port 0 */
	rig_device(&rig, RIG_LEAF, 4)->info[38] = 99;  /* nor at a port that is down */
	for (unsigned i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		uint8_t *limit = &rig_device(&rig, ports[i].guid, ports[i].number)->info[38];

		*limit += 200;
		rig_verify(&rig);
		*limit -= 200;
		assert_int_equal(rig.findings.count, 1);
		f = rig_only(&rig, FINDING_HIGH_LIMIT_DIFFERS);
		assert_int_equal(f->guid, ports[i].guid);
		assert_int_equal(f->port, ports[i].number);
		assert_string_equal(f->what, "VLHighLimit");
		assert_string_equal(f->wanted, ports[i].wanted);
		assert_int_equal(verify_result(rig.verify)->ports_differ, 1);
	}
	rig_free(&rig);
}

static void test_oper_vls_of_a_link(void **state)
{
	const struct finding *f;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	rig_device(&rig, RIG_SPINE, 2)->info[43] = 3 << 4; /* 4 VLs; leaf[6] runs 8 */
	rig_program(&rig);
	rig_verify(&rig);
	assert_int_equal(rig.findings.count, 1);
	f = rig_only(&rig, FINDING_OPER_VLS_DIFFERS);
	assert_place(f, RIG_LEAF, 6, "leaf", RIG_SPINE, 2, "spine");
	assert_string_equal(f->got, "8 here, 4 at the other end");
	assert_int_equal(f->severity, FINDING_WARNING);
	/* the plan does not decide this, so it is no difference that apply would roll back for */
	assert_int_equal(verify_result(rig.verify)->ports_differ, 0);
	/* it is looked at again until it is right */
	rig_device(&rig, RIG_SPINE, 2)->info[43] = 4 << 4;
	rig_program(&rig);
	rig_verify_again(&rig);
	assert_clean(&rig);
	rig_free(&rig);
}

/* Before Armed OpenSM has not set OperationalVLs yet. */
static void test_oper_vls_at_init(void **state)
{
	struct rig rig;

	(void)state;
	rig_make(&rig, &(struct rig_options){.isl = {.state = FABRIC_STATE_INIT}});
	rig_device(&rig, RIG_SPINE, 2)->info[43] = 3 << 4;
	rig_program(&rig);
	rig_verify(&rig);
	assert_clean(&rig);
	rig_free(&rig);
}

/* The fabric was discovered some time before: what a port says now decides. */
static void test_fresh_port_info_decides(void **state)
{
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	for (unsigned i = 0; i < 2; i++) {
		rig_device(&rig, RIG_LEAF, 5 + i)->info[43] = 2 << 4;
		rig_device(&rig, RIG_SPINE, 1 + i)->info[43] = 2 << 4;
	}
	rig_device(&rig, RIG_LEAF, 2)->info[32] = FABRIC_STATE_DOWN;
	rig_device(&rig, RIG_LEAF, 4)->info[32] = FABRIC_STATE_ACTIVE;
	rig_device(&rig, RIG_LEAF, 4)->info[33] = FABRIC_PHYS_LINK_UP << 4 | 2;
	rig_program(&rig);
	rig_verify(&rig);
	/* the port that went down is neither right nor wrong, and says so */
	assert_int_equal(rig_only(&rig, FINDING_PORT_LEFT)->port, 2);
	assert_int_equal(rig.findings.count, 1);
	assert_int_equal(finding_exit(&rig.findings), IBQOS_EXIT_UNKNOWN);
	assert_int_equal(verify_result(rig.verify)->ports, 13); /* one fewer, one more */
	assert_int_equal(verify_result(rig.verify)->ports_differ + verify_result(rig.verify)->ports_unknown, 0);
	assert_int_equal(verify_result(rig.verify)->ports_left, 1);
	assert_int_equal(verify_result(rig.verify)->ports_excluded, 2);
	assert_int_equal(script_source_asked(rig.source, SCRIPT_ANY, rig_port(&rig, RIG_LEAF, 2), MAD_SL2VL,
					     SCRIPT_ANY),
			 0);
	assert_int_equal(script_source_asked(rig.source, SCRIPT_ANY, rig_port(&rig, RIG_LEAF, 4), MAD_SL2VL,
					     SCRIPT_ANY),
			 7);
	rig_free(&rig);
}

/* Only what did not match is asked again, and its earlier verdict goes. */
static void test_again_only_what_differs(void **state)
{
	const struct verify_result *result;
	struct verify_result before;
	struct rig_device *device;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	device = rig_device(&rig, RIG_LEAF, 5);
	memset(device->sl2vl[2], 0, 8);
	device->vlarb[0][1] ^= 1;
	rig_device(&rig, RIG_GPU_1, 1)->info[38] ^= 1;
	rig_verify(&rig);
	assert_int_equal(rig.findings.count, 3);
	before = *verify_result(rig.verify);
	assert_int_equal(before.ports_differ, 2);

	script_source_clear(rig.source); /* the responder stays */
	rig_device(&rig, RIG_GPU_1, 1)->info[38] ^= 1;
	memset(rig_device(&rig, RIG_LEAF, 6)->sl2vl, 0, 8); /* matched before, so not asked about */
	rig_verify_again(&rig);
	result = verify_result(rig.verify);
	assert_int_equal(result->ports_differ, 1);
	assert_int_equal(rig.findings.count, 2);
	assert_memory_equal(result->coverage, before.coverage, sizeof(before.coverage));
	assert_int_equal(result->ports, before.ports);
	assert_int_equal(result->ports_excluded, before.ports_excluded);
	assert_int_equal(script_source_asked(rig.source, SCRIPT_ANY, SCRIPT_ANY, 0, SCRIPT_ANY),
			 (1 + 7 + 2) + (1 + 1 + 2));
	assert_false(verify_port_differs(rig.verify, rig_port(&rig, RIG_GPU_1, 1)));
	assert_true(verify_port_differs(rig.verify, rig_port(&rig, RIG_LEAF, 5)));

	rig_program(&rig);
	rig_verify_again(&rig);
	assert_clean(&rig);
	assert_memory_equal(result->coverage, before.coverage, sizeof(before.coverage));
	/* a first run has no earlier one to go by: all is asked */
	verify_free(rig.verify);
	assert_int_equal(verify_new(&rig.ctx, rig.fabric, &rig.config, &rig.verify), 0);
	rig_verify_again(&rig);
	assert_memory_equal(verify_result(rig.verify)->coverage, before.coverage, sizeof(before.coverage));
	rig_free(&rig);
}

static void test_item_names(void **state)
{
	(void)state;
	assert_string_equal(verify_item_name(VERIFY_PORT_INFO), "PortInfo");
	assert_string_equal(verify_item_name(VERIFY_SL2VL), "SL2VL");
	assert_string_equal(verify_item_name(VERIFY_VLARB), "VLArb");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean_fabric_and_what_was_asked),
		cmocka_unit_test(test_modifiers),
		cmocka_unit_test(test_clean_with_other_abilities),
		cmocka_unit_test(test_no_sl_map),
		cmocka_unit_test(test_leftover_of_a_table_of_64),
		cmocka_unit_test(test_every_sl2vl_entry_is_compared),
		cmocka_unit_test(test_sl2vl_finding),
		cmocka_unit_test(test_enhanced_port_0),
		cmocka_unit_test(test_every_vlarb_entry_is_compared),
		cmocka_unit_test(test_vlarb_finding),
		cmocka_unit_test(test_vlarb_text_is_cut),
		cmocka_unit_test(test_high_limit),
		cmocka_unit_test(test_oper_vls_of_a_link),
		cmocka_unit_test(test_oper_vls_at_init),
		cmocka_unit_test(test_fresh_port_info_decides),
		cmocka_unit_test(test_again_only_what_differs),
		cmocka_unit_test(test_item_names),
	};

	return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
