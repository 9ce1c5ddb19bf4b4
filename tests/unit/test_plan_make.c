/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * plan_make: small fabrics and OpenSM files in a folder of the test's own; what is planned, what is
 * refused and how it is told.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibqos/policy.h"
#include "images.h"

struct rig {
	char folder[64], conf[96], rules[96];
	struct policy policy;
	struct policy_class classes[16];
	char names[16][16];
	struct fabric *fabric;
	uint32_t leaf, spine;
	struct finding_list findings;
	struct plan *plan;
};

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void set_class(struct rig *r, unsigned i, const char *name, unsigned sl, int tc, double share)
{
	snprintf(r->names[i], sizeof(r->names[i]), "%s", name);
	r->classes[i] = (struct policy_class){
		.name = r->names[i], .sl = sl, .nccl_ib_tc = tc, .share = share, .share_mark = {10 + i, 5}};
}

/* training 70, storage 20, other 10; a config that names the rules file of the test's folder */
static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	char text[256];

	assert_non_null(r);
	snprintf(r->folder, sizeof(r->folder), "/tmp/ibqos-test-plan-XXXXXX");
	assert_non_null(mkdtemp(r->folder));
	snprintf(r->conf, sizeof(r->conf), "%s/opensm.conf", r->folder);
	snprintf(r->rules, sizeof(r->rules), "%s/qos-policy.conf", r->folder);
	snprintf(text, sizeof(text), "# by hand\nlog_flags 0x03\nqos FALSE\nqos_policy_file %s\n", r->rules);
	write_file(r->conf, text);
	set_class(r, 0, "training", 1, 41, 70);
	set_class(r, 1, "storage", 2, POLICY_NO_TC, 20);
	set_class(r, 2, "other", 0, 0, 10);
	r->classes[2].is_default = true;
	r->policy = (struct policy){
		.path = "p.yaml",
		.classes = r->classes,
		.class_count = 3,
		.default_class = 2,
		.unused_mark = {20, 3},
		.opensm_config = r->conf,
	};
	r->fabric = fabric_new("");
	assert_non_null(r->fabric);
	r->leaf = image_add_switch(r->fabric, "leaf", 0x10, 20, 1);
	r->spine = image_add_switch(r->fabric, "spine", 0x20, 20, 2);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	plan_free(r->plan);
	fabric_free(r->fabric);
	finding_list_clear(&r->findings);
	unlink(r->conf);
	unlink(r->rules);
	rmdir(r->folder);
	free(r);
	return 0;
}

/* Host `guid` at leaf port `number`; both ends as `port`, or plain: 8 VLs, tables of 8, MTU 4096. */
static void add_host(struct rig *r, const char *name, uint64_t guid, unsigned number,
		     const struct image_port *port)
{
	struct image_port own = port ? *port : (struct image_port){0};
	uint32_t host = image_add_host(r->fabric, name, guid, (unsigned)guid & 0xfff);
	uint8_t info[MAD_SMP_DATA];

	own.lid = (unsigned)guid & 0xfff;
	image_port_info(info, &own);
	assert_int_equal(fabric_port_seen(r->fabric, host, 1, guid + 1, info, NULL), 0);
	image_link(r->fabric, r->leaf, number, host, 1, port);
}

static void add_usual(struct rig *r)
{
	add_host(r, "gpu-1", 0x100, 1, NULL);
	add_host(r, "gpu-2", 0x200, 2, NULL);
	image_link(r->fabric, r->leaf, 19, r->spine, 19, NULL);
}

static void make(struct rig *r, bool allow_drop)
{
	assert_int_equal(fabric_finish(r->fabric), 0);
	assert_int_equal(plan_make(&r->policy, r->fabric, allow_drop, &r->findings, &r->plan), 0);
}

static const struct finding *only(const struct rig *r, enum finding_code code)
{
	assert_int_equal(finding_count_code(&r->findings, code), 1);
	for (size_t i = 0; i < r->findings.count; i++)
		if (r->findings.items[i].code == code)
			return &r->findings.items[i];
	return NULL;
}

static void test_training_first(void **state)
{
	static const char rules[] = "qos-level\n        name: training\n        sl: 1\n";
	struct rig *r = *state;
	char text[QOS_TEXT_MAX];

	add_usual(r);
	make(r, false);
	assert_non_null(r->plan);
	assert_int_equal(r->findings.count, 0);
	assert_int_equal(r->plan->vls, 8);
	assert_int_equal(r->plan->vlarb_cap, 8);
	assert_int_equal(r->plan->mtu, 4096);
	assert_int_equal(r->plan->class_count, 3);
	assert_int_equal(r->plan->classes[0].vl, 1);
	assert_int_equal(r->plan->classes[1].vl, 2);
	assert_int_equal(r->plan->classes[2].vl, 0);
	for (size_t i = 0; i < 3; i++) {
		/* exact; with small packets too, as every weight is whole packets of either size */
		assert_true(fabs(r->plan->classes[i].share_full - r->classes[i].share / 100) < 1e-9);
		assert_true(fabs(r->plan->classes[i].share_256 - r->classes[i].share / 100) < 1e-9);
	}
	for (int type = 0; type < QOS_PORT_TYPES; type++) {
		const struct qos_tables *t = &r->plan->config.of[type];

		qos_vlarb_format(t->low.entry, t->low.count, text);
		assert_string_equal(text, "1:64,2:64,1:64,1:128,0:64,1:64,2:64,1:128");
		qos_sl2vl_format(&t->sl2vl, text);
		assert_string_equal(text, "0,1,2,0,0,0,0,0,0,0,0,0,0,0,0,0");
	}
	assert_string_equal(r->plan->conf_path, r->conf);
	assert_non_null(strstr(r->plan->conf_old, "qos FALSE\n"));
	assert_non_null(strstr(r->plan->conf_new, "# by hand\nlog_flags 0x03\nqos TRUE\n"));
	assert_non_null(
		strstr(r->plan->conf_new, "qos_swe_vlarb_low 1:64,2:64,1:64,1:128,0:64,1:64,2:64,1:128\n"));
	assert_int_equal(strlen(r->plan->conf_new), r->plan->conf_new_size);
	assert_string_equal(r->plan->rules_path, r->rules);
	assert_null(r->plan->rules_old);
	assert_non_null(strstr(r->plan->rules_new, rules));
	assert_non_null(strstr(r->plan->rules_new, "name: default\n        sl: 0\n"));
	assert_non_null(strstr(r->plan->rules_new, "qos-class: 41\n        qos-level-name: training\n"));
	assert_non_null(strstr(r->plan->rules_new, "qos-class: 0\n        qos-level-name: default\n"));
}

static void test_same_input_same_bytes(void **state)
{
	struct rig *r = *state;
	struct plan *again;

	write_file(r->rules, "qos-ulps\n    default : 0\nend-qos-ulps\n");
	add_usual(r);
	make(r, false);
	assert_non_null(r->plan);
	assert_string_equal(r->plan->rules_old, "qos-ulps\n    default : 0\nend-qos-ulps\n");
	assert_int_equal(plan_make(&r->policy, r->fabric, false, &r->findings, &again), 0);
	assert_non_null(again);
	assert_memory_equal(&again->config, &r->plan->config, sizeof(again->config));
	assert_string_equal(again->conf_new, r->plan->conf_new);
	assert_string_equal(again->rules_new, r->plan->rules_new);
	/* a config that is as planned stays byte for byte */
	write_file(r->conf, r->plan->conf_new);
	plan_free(again);
	assert_int_equal(plan_make(&r->policy, r->fabric, false, &r->findings, &again), 0);
	assert_string_equal(again->conf_new, again->conf_old);
	plan_free(again);
}

static void test_config_missing(void **state)
{
	struct rig *r = *state;

	unlink(r->conf);
	add_usual(r);
	make(r, false);
	assert_non_null(r->plan);
	assert_string_equal(only(r, FINDING_PLAN_CONFIG_MISSING)->file, r->conf);
	assert_null(r->plan->conf_old);
	assert_non_null(strstr(r->plan->conf_new, "qos TRUE\n"));
	assert_string_equal(r->plan->rules_path, OPENSM_QOS_POLICY);
}

static void test_least_of_all_links(void **state)
{
	struct rig *r = *state;

	add_usual(r);
	add_host(r, "old", 0x300, 3,
		 &(struct image_port){.vl_cap = 3, .oper_vls = 3, .mtu = 4, .high_cap = 40});
	add_host(r, "small", 0x400, 4, &(struct image_port){.high_cap = 64, .low_cap = 6});
	/* down: neither its one VL nor its tables count */
	add_host(r, "down", 0x500, 5,
		 &(struct image_port){.state = FABRIC_STATE_DOWN, .oper_vls = 1, .low_cap = 1});
	make(r, false);
	assert_non_null(r->plan);
	assert_int_equal(r->plan->vls, 4);
	assert_int_equal(r->plan->vlarb_cap, 6);
	assert_int_equal(r->plan->mtu, 4096);
	assert_int_equal(r->findings.count, 0);
}

static void test_smaller_mtu(void **state)
{
	struct rig *r = *state;
	const struct image_port half = {.mtu = 4, .high_cap = 5, .low_cap = 20};
	char text[QOS_TEXT_MAX];

	add_host(r, "gpu-1", 0x100, 1, &half);
	make(r, false);
	assert_non_null(r->plan);
	assert_int_equal(r->plan->mtu, 2048);
	assert_int_equal(r->plan->vlarb_cap, 5); /* the smaller of the two tables */
	/* the same table as at 4096, whose turns are whole packets of any MTU */
	qos_vlarb_format(r->plan->config.of[QOS_PORT_CA].low.entry, r->plan->config.of[QOS_PORT_CA].low.count, text);
	assert_string_equal(text, "1:128,2:128,1:128,0:64,1:192");
	assert_true(fabs(r->plan->classes[0].share_full - 0.7) < 1e-9);
	assert_true(fabs(r->plan->classes[0].share_256 - 0.7) < 1e-9);
}

/* With three entries 4096-byte packets cannot be 7 to 2 to 1, but 2048-byte ones can. */
static void test_smaller_mtu_needed(void **state)
{
	struct rig *r = *state;
	const struct image_port half = {.mtu = 4, .high_cap = 3, .low_cap = 3};
	char text[QOS_TEXT_MAX];

	add_host(r, "gpu-1", 0x100, 1, &half);
	make(r, false);
	assert_non_null(r->plan);
	qos_vlarb_format(r->plan->config.of[QOS_PORT_CA].low.entry, r->plan->config.of[QOS_PORT_CA].low.count, text);
	assert_string_equal(text, "1:224,2:64,0:32");
	assert_true(fabs(r->plan->classes[0].share_full - 0.7) < 1e-9);
}

/* Devices that come and go do not change what every other port should hold, as long as 8 entries do. */
static void test_same_tables_on_other_fabrics(void **state)
{
	static const struct image_port others[] = {
		{.mtu = 5}, {.mtu = 4}, {.mtu = 1}, {.vl_cap = 3, .oper_vls = 3}, {.high_cap = 16, .low_cap = 16},
		{.high_cap = 64, .low_cap = 64}, {.mtu = 2, .high_cap = 32, .low_cap = 40},
	};
	struct rig *r = *state;
	struct qos_config first = {0};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		fabric_free(r->fabric);
		r->fabric = fabric_new("");
		assert_non_null(r->fabric);
		r->leaf = image_add_switch(r->fabric, "leaf", 0x10, 20, 1);
		add_host(r, "one", 0x300, 3, &others[i]);
		add_host(r, "two", 0x400, 4, i % 2 ? NULL : &others[i]);
		make(r, false);
		assert_non_null(r->plan);
		if (i == 0)
			first = r->plan->config;
		assert_memory_equal(&r->plan->config, &first, sizeof(first));
		plan_free(r->plan);
		r->plan = NULL;
	}
}

/*
 * Planned for MTU 4096: 2 packets of training, then one of another. A link of MTU 2048 has 4 before one:
 * the others 20 % of it, and that is told.
 */
static void test_priority_and_smaller_mtu(void **state)
{
	struct rig *r = *state;
	unsigned told = 0;

	r->classes[0].priority = POLICY_PRIORITY_HIGH;
	add_usual(r);
	add_host(r, "old", 0x300, 3, &(struct image_port){.mtu = 4});
	make(r, false);
	assert_non_null(r->plan);
	assert_int_equal(r->plan->mtu, 4096);
	assert_int_equal(r->plan->mtus, 4096 | 2048);
	for (size_t i = 0; i < r->findings.count; i++) {
		const struct finding *f = &r->findings.items[i];

		if (f->code != FINDING_PLAN_SHARE_MISSED)
			continue;
		assert_string_equal(f->detail, "on links with MTU 2048; class 'training' takes 82.0 % in place of 70.0 %, for its priority is high");
		/* of the fifth: 6 of 10 packets and 3 of 10 */
		assert_string_equal(f->got, f->line == 11 ? "12.0 %" : "6.0 %");
		told |= 1u << f->line;
	}
	assert_int_equal(told, 1 << 11 | 1 << 12);
	assert_true(fabs(r->plan->classes[0].share_full - 0.7) < 1e-9);
	assert_true(fabs(r->plan->classes[1].share_full - 0.12) < 1e-9);
}

static void test_too_few_vls(void **state)
{
	struct rig *r = *state;
	const struct finding *f;

	add_usual(r);
	add_host(r, "two", 0x300, 3, &(struct image_port){.vl_cap = 3, .oper_vls = 2});
	make(r, false);
	assert_null(r->plan);
	assert_int_equal(r->findings.count, 2); /* both ends */
	for (size_t i = 0; i < 2; i++) {
		f = &r->findings.items[i];
		assert_int_equal(f->code, FINDING_PLAN_TOO_MANY_CLASSES);
		assert_int_equal(f->severity, FINDING_CRITICAL);
		assert_string_equal(f->wanted, "3 VLs, one a class");
		assert_string_equal(f->got, "2");
		assert_string_equal(f->detail, "VLCap 3 (4 VLs), OperationalVLs 2 (2 VLs)");
	}
	f = &r->findings.items[0];
	assert_int_equal(f->guid, 0x10);
	assert_int_equal(f->port, 3);
	assert_string_equal(f->name, "leaf");
	assert_int_equal(f->peer_guid, 0x300);
	assert_int_equal(f->peer_port, 1);
	assert_string_equal(f->peer_name, "two");
}

static void test_many_too_few(void **state)
{
	struct rig *r = *state;

	for (unsigned n = 1; n <= 10; n++)
		add_host(r, "one", n << 8, n, &(struct image_port){.vl_cap = 1, .oper_vls = 1});
	make(r, false);
	assert_null(r->plan);
	/* each port by name, and alike but for the place, so that the report makes one group of them */
	assert_int_equal(finding_count_code(&r->findings, FINDING_PLAN_TOO_MANY_CLASSES), 20);
	assert_int_equal(r->findings.count, 20);
	for (size_t i = 0; i < 20; i++) {
		const struct finding *f = &r->findings.items[i];

		assert_int_not_equal(f->guid, 0);
		assert_string_equal(f->what, "OperationalVLs");
		assert_string_equal(f->wanted, "3 VLs, one a class");
		assert_string_equal(f->got, "1");
	}
}

/* A port cabled to itself is one port. */
static void test_loop_back(void **state)
{
	struct rig *r = *state;

	add_usual(r);
	image_link(r->fabric, r->leaf, 7, r->leaf, 7, &(struct image_port){.vl_cap = 2, .oper_vls = 2});
	make(r, false);
	assert_null(r->plan);
	assert_int_equal(only(r, FINDING_PLAN_TOO_MANY_CLASSES)->port, 7);
}

/* OperationalVLs of 0 is no number of VLs: told, and the plan is for what the other ports say. */
static void test_vls_unknown(void **state)
{
	struct rig *r = *state;
	uint8_t info[MAD_SMP_DATA];
	uint32_t host = image_add_host(r->fabric, "odd", 0x100, 3);
	const struct finding *f;

	image_port_info(info, &(struct image_port){.lid = 3});
	info[43] = 0;
	assert_int_equal(fabric_port_seen(r->fabric, host, 1, 0x101, info, NULL), 0);
	image_link(r->fabric, r->leaf, 1, host, 1, NULL);
	make(r, false);
	assert_non_null(r->plan);
	f = only(r, FINDING_PORT_INFO_RESERVED);
	assert_string_equal(f->name, "odd");
	assert_string_equal(f->what, "OperationalVLs");
}

static void test_tables_too_small(void **state)
{
	struct rig *r = *state;
	const struct finding *f;

	add_usual(r);
	add_host(r, "tiny", 0x300, 3, &(struct image_port){.high_cap = 8, .low_cap = 2});
	make(r, false);
	assert_null(r->plan);
	assert_int_equal(r->findings.count, 2);
	f = &r->findings.items[1];
	assert_int_equal(f->code, FINDING_PLAN_VLARB_SMALL);
	assert_string_equal(f->name, "tiny");
	assert_string_equal(f->got, "fewer");
	assert_string_equal(f->detail, "HighCap 8, LowCap 2");
}

/* One VL for good: OpenSM sends no tables there, so their size is nothing to refuse. */
static void test_one_vl_for_one_class(void **state)
{
	struct rig *r = *state;

	r->classes[2].share = 100;
	r->policy.classes = &r->classes[2];
	r->policy.class_count = 1;
	r->policy.default_class = 0;
	add_host(r, "one", 0x300, 3, &(struct image_port){.vl_cap = 1, .oper_vls = 1});
	make(r, false);
	assert_non_null(r->plan);
	assert_int_equal(r->plan->vls, 1);
	assert_int_equal(r->findings.count, 0);
	assert_true(r->plan->classes[0].share_full == 1);
}

static void add_node(struct rig *r, enum fabric_node_type type, const char *name, uint64_t guid,
		     bool sharp_device, unsigned number, const struct image_port *port)
{
	uint8_t node_info[MAD_SMP_DATA], desc[MAD_SMP_DATA], info[MAD_SMP_DATA];
	struct image_port own = *port;
	uint32_t node;

	image_node_info(node_info, type, guid, 1, 1);
	if (sharp_device) {
		image_put16(node_info, 30, 0xcf09); /* DeviceID */
		node_info[37] = 0;                  /* VendorID */
		image_put16(node_info, 38, 0x02c9);
	}
	image_node_desc(desc, name);
	node = fabric_add_node(r->fabric, node_info, NULL, desc, NULL);
	assert_int_not_equal(node, FABRIC_NONE);
	own.lid = (unsigned)guid & 0xfff;
	image_port_info(info, &own);
	assert_int_equal(fabric_port_seen(r->fabric, node, 1, guid + 1, info, NULL), 0);
	image_link(r->fabric, r->leaf, number, node, 1, port);
}

static void test_special_links(void **state)
{
	const struct image_port two = {.vl_cap = 2, .oper_vls = 2, .high_cap = 8, .low_cap = 4};
	const struct image_port four = {.vl_cap = 3, .oper_vls = 3};
	struct rig *r = *state;
	unsigned notes = 0;

	add_usual(r);
	add_node(r, FABRIC_CA, "Mellanox Technologies Aggregation Node", 0x300, false, 3, &two);
	add_node(r, FABRIC_CA, "sharp of leaf", 0x400, true, 4, &two);
	add_node(r, FABRIC_ROUTER, "router", 0x500, false, 5, &two);
	add_node(r, FABRIC_ROUTER, "router that does", 0x600, false, 6, &four);
	make(r, false);
	assert_non_null(r->plan);
	assert_int_equal(r->plan->vls, 8);
	assert_int_equal(r->plan->vlarb_cap, 8);
	assert_int_equal(r->findings.count, 6);
	for (size_t i = 0; i < r->findings.count; i++) {
		const struct finding *f = &r->findings.items[i];

		assert_int_equal(f->code, FINDING_PLAN_FEWER_VLS);
		assert_int_equal(f->severity, FINDING_NOTE);
		/* training VL 1, storage 2 -> 0 beside other */
		assert_string_equal(f->got, "VL 0: storage, other; VL 1: training");
		notes += f->guid == 0x300 || f->guid == 0x400 || f->guid == 0x500;
	}
	assert_int_equal(notes, 3);
}

static void test_cut_to_nothing_is_told(void **state)
{
	/* 8 VLs but room for one entry: only the first, training's, is left */
	const struct image_port cut = {.high_cap = 1, .low_cap = 1};
	struct rig *r = *state;

	add_usual(r);
	add_node(r, FABRIC_ROUTER, "router", 0x500, false, 5, &cut);
	make(r, false);
	assert_non_null(r->plan);
	assert_int_equal(r->findings.count, 2);
	assert_string_equal(r->findings.items[1].got,
			    "VL 0: other (no weight); VL 1: training; VL 2: storage (no weight)");
}

static void test_no_links(void **state)
{
	struct rig *r = *state;

	add_host(r, "down", 0x500, 5, &(struct image_port){.state = FABRIC_STATE_INIT});
	make(r, false);
	assert_null(r->plan);
	assert_int_equal(only(r, FINDING_PLAN_NO_LINKS)->severity, FINDING_UNKNOWN);
}

static void test_share_missed(void **state)
{
	struct rig *r = *state;
	const struct finding *f;

	/* 6 entries of 3 packets beside one packet each of the others: 18 of 20 at best */
	r->classes[0].share = 97;
	r->classes[1].share = 2;
	r->classes[2].share = 1;
	add_usual(r);
	make(r, false);
	assert_non_null(r->plan);
	f = only(r, FINDING_PLAN_SHARE_MISSED);
	assert_int_equal(f->severity, FINDING_WARNING);
	assert_string_equal(f->file, "p.yaml");
	assert_int_equal(f->line, 10);
	assert_string_equal(f->what, "class 'training'");
	assert_string_equal(f->wanted, "97.0 %");
	assert_string_equal(f->got, "90.0 %");
	assert_true(fabs(r->plan->classes[0].share_full - 0.9) < 1e-9);
}

/* A small share of high priority: half of the link at least, and who lacks it is told why. */
static void test_share_missed_for_priority(void **state)
{
	struct rig *r = *state;

	r->classes[0].share = 70;
	r->classes[1].share = 20;
	r->classes[2].share = 10;
	r->classes[2].priority = POLICY_PRIORITY_HIGH;
	add_usual(r);
	make(r, false);
	assert_non_null(r->plan);
	assert_true(fabs(r->plan->classes[2].share_full - 0.5) < 0.01);
	assert_true(finding_count_code(&r->findings, FINDING_PLAN_SHARE_MISSED) > 0);
	for (size_t i = 0; i < r->findings.count; i++)
		if (r->findings.items[i].code == FINDING_PLAN_SHARE_MISSED)
			assert_string_equal(r->findings.items[i].detail,
					    "class 'other' takes 50.0 % in place of 10.0 %, for its priority is high");
}

/* Training in the high table: 2/3 there and 1 of 10 of the third in three; small packets of others would
 * cost. */
static void test_priority(void **state)
{
	struct rig *r = *state;

	r->classes[0].priority = POLICY_PRIORITY_HIGH;
	add_usual(r);
	make(r, false);
	assert_non_null(r->plan);
	assert_int_equal(r->findings.count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct finding *f = &r->findings.items[i];

		assert_int_equal(f->code, FINDING_PLAN_SMALL_PACKETS);
		assert_int_equal(f->severity, FINDING_NOTE);
		assert_string_equal(f->what, i ? "class 'other'" : "class 'storage'");
		assert_int_equal(f->line, 11 + i);
	}
	assert_string_equal(r->findings.items[0].wanted, "20.0 %");
	assert_string_equal(r->findings.items[0].got, "2.9 %"); /* 24576 of 860160, see below */
	assert_int_equal(r->plan->config.of[QOS_PORT_SWE].high_limit, 2);
	assert_true(fabs(r->plan->classes[0].share_full - 0.7) < 1e-9);
	assert_true(fabs(r->plan->classes[1].share_full - 0.2) < 1e-9);
	assert_true(fabs(r->plan->classes[2].share_full - 0.1) < 1e-9);
	/*
	 * Storage with 256-byte packets: a low cycle of 1 training, 3 other and 6 * 16 storage packets
	 * is 100 rounds of 8192 high bytes; storage sends 96 * 256 of 819200 + 4 * 4096 + 96 * 256.
	 */
	assert_true(fabs(r->plan->classes[1].share_256 - 96 * 256 / (819200 + 4 * 4096 + 96 * 256.0)) < 1e-9);
	assert_non_null(strstr(r->plan->conf_new, "qos_ca_high_limit 2\n"));
	assert_non_null(strstr(r->plan->conf_new, "qos_ca_vlarb_high 1:64\n"));
}

static void expect_engine(struct rig *r, const char *line, bool refused)
{
	char text[256];

	snprintf(text, sizeof(text), "%s\nqos_policy_file %s\n", line, r->rules);
	write_file(r->conf, text);
	assert_int_equal(plan_make(&r->policy, r->fabric, false, &r->findings, &r->plan), 0);
	if (refused != !r->plan)
		fail_msg("'%s' is %s", line, r->plan ? "taken" : "refused");
	assert_int_equal(finding_count_code(&r->findings, FINDING_PLAN_ROUTING_OWNS_SL), refused);
	if (refused)
		assert_int_equal(only(r, FINDING_PLAN_ROUTING_OWNS_SL)->line,
				 strncmp(line, "nue", 3) ? 1 : 2);
	plan_free(r->plan);
	r->plan = NULL;
	finding_list_clear(&r->findings);
}

static void test_routing_engines(void **state)
{
	struct rig *r = *state;

	add_usual(r);
	assert_int_equal(fabric_finish(r->fabric), 0);
	expect_engine(r, "routing_engine torus-2QoS", true);
	expect_engine(r, "routing_engine TORUS-2qos,no_fallback", true);
	expect_engine(r, "routing_engine ftree,lash", true);
	expect_engine(r, "routing_engine dfsssp", true);
	expect_engine(r, "nue_max_num_vls 8\nrouting_engine nue", true);
	expect_engine(r, "nue_max_num_vls 0\nrouting_engine nue", true);
	expect_engine(r, "nue_max_num_vls 1\nrouting_engine nue", false);
	expect_engine(r, "routing_engine nue", false);
	expect_engine(r, "routing_engine ftree,updn,minhop", false);
	expect_engine(r, "routing_engine sssp", false);
	expect_engine(r, "routing_engine (null)", false);
	expect_engine(r, "#routing_engine lash", false);
}

/* max_op_vls as somebody has edited it: what the reload would do to links that run 8 VLs, code 4. */
static void test_links_that_would_bounce(void **state)
{
	static const struct {
		const char *line;
		bool refused;
	} cases[] = {
		{"max_op_vls 4", false}, {"max_op_vls 5", false}, /* the caps of 8 VLs decide */
		{"max_op_vls 3", true},	 {"max_op_vls 1", true},
		{"#max_op_vls 1", false}, {"max_op_vls 0", false}, {"max_op_vls 9", false},
	};
	struct rig *r = *state;

	add_usual(r);
	assert_int_equal(fabric_finish(r->fabric), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (unsigned flags = 0; flags <= PLAN_ALLOW_BOUNCE; flags += PLAN_ALLOW_BOUNCE) {
			char text[256];

			snprintf(text, sizeof(text), "qos FALSE\n%s\nqos_policy_file %s\n", cases[i].line, r->rules);
			write_file(r->conf, text);
			assert_int_equal(plan_make(&r->policy, r->fabric, flags, &r->findings, &r->plan), 0);
			if ((r->plan != NULL) != (!cases[i].refused || flags))
				fail_msg("'%s' is %s", cases[i].line, r->plan ? "taken" : "refused");
			assert_int_equal(finding_count_code(&r->findings, FINDING_PLAN_LINK_BOUNCE), cases[i].refused);
			if (cases[i].refused) {
				const struct finding *f = only(r, FINDING_PLAN_LINK_BOUNCE);

				assert_string_equal(f->file, r->conf);
				assert_int_equal(f->line, 2);
				assert_int_equal(f->severity, flags ? FINDING_WARNING : FINDING_CRITICAL);
				assert_string_equal(f->wanted, "4, as gpu-1[1] runs now");
				assert_string_equal(f->got, cases[i].line + strlen("max_op_vls "));
				assert_string_equal(f->detail, "2 adapter ports"); /* not the link between switches */
			}
			plan_free(r->plan);
			r->plan = NULL;
			finding_list_clear(&r->findings);
		}
	}
}

/* Exact tables in which a class's VL has no weight. */
static void test_exact_tables_that_starve(void **state)
{
	struct rig *r = *state;
	const struct finding *f;

	add_usual(r);
	r->policy.tables.given = true;
	for (int type = 0; type < QOS_PORT_TYPES; type++) {
		struct qos_tables *tables = &r->policy.tables.config.of[type];

		assert_true(qos_sl2vl_parse("0,1,2,0,0,0,0,0,0,0,0,0,0,0,0,0", &tables->sl2vl));
		assert_true(qos_vlarb_parse("0:0", &tables->high));
		assert_true(qos_vlarb_parse("0:10,1:70,2:0", &tables->low));
	}
	make(r, false);
	assert_non_null(r->plan);
	f = only(r, FINDING_PLAN_TABLES_STARVE);
	assert_string_equal(f->what, "class 'storage'");
	assert_string_equal(f->file, "p.yaml");
	assert_int_equal(f->line, 11);
	assert_int_equal(f->column, 5);
	assert_string_equal(f->got, "0.0 %");
}

static void test_exact_tables_that_share_a_vl(void **state)
{
	struct rig *r = *state;
	const struct finding *f;

	add_usual(r);
	r->policy.tables.given = true;
	r->policy.tables.mark.line = 30;
	r->policy.tables.mark.column = 3;
	for (int type = 0; type < QOS_PORT_TYPES; type++) {
		struct qos_tables *tables = &r->policy.tables.config.of[type];

		assert_true(qos_sl2vl_parse("0,1,1,0,0,0,0,0,0,0,0,0,0,0,0,0", &tables->sl2vl));
		assert_true(qos_vlarb_parse("0:0", &tables->high));
		assert_true(qos_vlarb_parse("0:10,1:90", &tables->low));
	}
	make(r, false);
	assert_non_null(r->plan);
	f = only(r, FINDING_PLAN_VL_SHARED);
	assert_int_equal(f->severity, FINDING_NOTE);
	assert_string_equal(f->what, "VL 1");
	assert_string_equal(f->got, "training, storage");
	assert_string_equal(f->file, "p.yaml");
	assert_int_equal(f->line, 30);
	assert_int_equal(f->column, 3);
}

static void test_rules_file(void **state)
{
	struct rig *r = *state;
	char other[] = "/elsewhere/qos-policy.conf", preset[] = OPENSM_QOS_POLICY;
	const struct finding *f;

	add_usual(r);
	r->policy.opensm_qos_policy = r->rules;
	make(r, false);
	assert_non_null(r->plan);
	plan_free(r->plan);
	r->policy.opensm_qos_policy = other;
	assert_int_equal(plan_make(&r->policy, r->fabric, false, &r->findings, &r->plan), 0);
	assert_null(r->plan);
	f = only(r, FINDING_PLAN_POLICY_FILE);
	assert_string_equal(f->file, r->conf);
	assert_int_equal(f->line, 4);
	assert_string_equal(f->wanted, other);
	assert_string_equal(f->got, r->rules);

	/* the key is missing: OpenSM reads its default */
	finding_list_clear(&r->findings);
	write_file(r->conf, "qos TRUE\n");
	assert_int_equal(plan_make(&r->policy, r->fabric, false, &r->findings, &r->plan), 0);
	assert_null(r->plan);
	assert_string_equal(only(r, FINDING_PLAN_POLICY_FILE)->got, OPENSM_QOS_POLICY);
	finding_list_clear(&r->findings);
	r->policy.opensm_qos_policy = preset;
	assert_int_equal(plan_make(&r->policy, r->fabric, false, &r->findings, &r->plan), 0);
	assert_non_null(r->plan);
	plan_free(r->plan);
	r->plan = NULL;

	/* none at all, or one that cannot be found from here */
	r->policy.opensm_qos_policy = NULL;
	write_file(r->conf, "qos_policy_file (null)\n");
	assert_int_equal(plan_make(&r->policy, r->fabric, false, &r->findings, &r->plan), 0);
	assert_null(r->plan);
	only(r, FINDING_PLAN_POLICY_FILE);
	finding_list_clear(&r->findings);
	write_file(r->conf, "qos_policy_file qos-policy.conf\n");
	assert_int_equal(plan_make(&r->policy, r->fabric, false, &r->findings, &r->plan), 0);
	assert_null(r->plan);
	only(r, FINDING_PLAN_POLICY_FILE);
}

static void test_drop(void **state)
{
	struct rig *r = *state;
	const struct finding *f;
	char text[256];

	add_usual(r);
	r->policy.unused_sls = POLICY_UNUSED_DROP;
	make(r, false);
	assert_null(r->plan);
	f = only(r, FINDING_POLICY_DROP);
	assert_string_equal(f->file, "p.yaml");
	assert_int_equal(f->line, 20);
	finding_list_clear(&r->findings);

	assert_int_equal(plan_make(&r->policy, r->fabric, true, &r->findings, &r->plan), 0);
	assert_non_null(r->plan);
	assert_non_null(
		strstr(r->plan->conf_new, "qos_swe_sl2vl 0,1,2,15,15,15,15,15,15,15,15,15,15,15,15,15\n"));
	plan_free(r->plan);

	/* but never what the SM itself uses */
	snprintf(text, sizeof(text), "sm_sl 7\nqos_policy_file %s\n", r->rules);
	write_file(r->conf, text);
	assert_int_equal(plan_make(&r->policy, r->fabric, true, &r->findings, &r->plan), 0);
	assert_null(r->plan);
	assert_string_equal(only(r, FINDING_POLICY_DROP)->what, "sm_sl");
}

/* Level names: what OpenSM's parser takes, unique without regard to case, "default" for one class only. */
static void test_level_names(void **state)
{
	struct rig *r = *state;
	const char *at;

	set_class(r, 0, "a-b", 1, 41, 40);
	set_class(r, 1, "A_b", 2, 42, 30);
	set_class(r, 2, "bulk", 3, POLICY_NO_TC, 10);
	set_class(r, 3, "Default", 4, 44, 20);
	r->policy.class_count = 4;
	add_usual(r);
	make(r, false);
	assert_non_null(r->plan);
	at = r->plan->rules_new;
	for (const char *const *name =
		     (const char *[]){"name: a_b\n        sl: 1\n", "name: A_b_2\n        sl: 2\n",
				      "name: default\n        sl: 3\n", "name: Default_2\n        sl: 4\n",
				      "qos-class: 41\n        qos-level-name: a_b\n",
				      "qos-class: 42\n        qos-level-name: A_b_2\n",
				      "qos-class: 44\n        qos-level-name: Default_2\n", NULL};
	     *name; name++) {
		at = strstr(at, *name);
		assert_non_null(at);
	}
	/* nobody has SL 0: it goes where the default class is */
	assert_int_equal(r->plan->config.of[QOS_PORT_CA].sl2vl.vl[0], 0);
	assert_int_equal(r->plan->config.of[QOS_PORT_CA].sl2vl.vl[3], 0);
	assert_int_equal(r->plan->classes[3].vl, 3);
}

/* All reasons to refuse in one run. */
static void test_all_faults_at_once(void **state)
{
	struct rig *r = *state;

	write_file(r->conf, "routing_engine lash\nqos_policy_file (null)\n");
	r->policy.unused_sls = POLICY_UNUSED_DROP;
	add_host(r, "one", 0x300, 3, &(struct image_port){.vl_cap = 1, .oper_vls = 1});
	make(r, false);
	assert_null(r->plan);
	only(r, FINDING_POLICY_DROP);
	only(r, FINDING_PLAN_ROUTING_OWNS_SL);
	only(r, FINDING_PLAN_POLICY_FILE);
	assert_int_equal(finding_count_code(&r->findings, FINDING_PLAN_TOO_MANY_CLASSES), 2);
}

static void test_unreadable_file(void **state)
{
	struct rig *r = *state;

	add_usual(r);
	assert_int_equal(fabric_finish(r->fabric), 0);
	r->policy.opensm_config = r->folder; /* a folder is no file */
	assert_true(plan_make(&r->policy, r->fabric, false, &r->findings, &r->plan) < 0);
	assert_null(r->plan);
	plan_free(NULL);
}

/* --- the language beyond classes --- */

#define LANGUAGE_HEAD \
	"version: 1\nclasses:\n" \
	"  - {name: training, sl: 1, share: 70%, nccl_ib_tc: 104}\n" \
	"  - {name: storage, sl: 2, share: 20%"
#define LANGUAGE_REST "}\n  - {name: other, sl: 0, share: 10%, default: true}\n"

/* Plans a policy given as text on the usual fabric, with the test's files. */
static struct policy *plan_text(struct rig *r, const char *text, unsigned flags)
{
	char whole[2048];
	struct policy *policy;

	snprintf(whole, sizeof(whole), "%sopensm: {config: %s}\n", text, r->conf);
	assert_int_equal(policy_parse("p.yaml", whole, strlen(whole), &r->findings, &policy), 0);
	assert_non_null(policy);
	finding_list_clear(&r->findings);
	if (!r->fabric->finished) {
		add_usual(r);
		assert_int_equal(fabric_finish(r->fabric), 0);
	}
	plan_free(r->plan);
	assert_int_equal(plan_make(policy, r->fabric, flags, &r->findings, &r->plan), 0);
	return policy;
}

static void test_groups(void **state)
{
	static const char wanted[] =
		"port-groups\n"
		"    port-group\n        name: gpus\n"
		"        port-guid: 0x0000000000000101\n        port-guid: 0x0000000000000201\n    end-port-group\n"
		"    port-group\n        name: Gpus_2\n"
		"        port-guid: 0x0000000000000010\n        port-guid: 0x0000000000000201\n    end-port-group\n"
		"end-port-groups\n";
	struct rig *r = *state;
	struct policy *policy = plan_text(
		r,
		LANGUAGE_HEAD
		", match: [{source: gpus, destination: [nobody, Gpus]}, {source: nobody}, {service: rds}]" LANGUAGE_REST
		"groups:\n"
		"  gpus: [{name: \"gpu-[12]\"}]\n"
		"  Gpus: [{guid: 0x201}, {guid: 0x10, node_type: [ca, switch]}, {guid: 0x20, node_type: ca}]\n"
		"  nobody: [{name: \"GPU*\"}, {guid: [0x999, 0x101], node_type: router}]\n"
		"  unused: [{node_type: switch}]\n",
		0);
	const struct finding *f;

	assert_non_null(r->plan);
	assert_non_null(strstr(r->plan->rules_new, wanted));
	assert_non_null(strstr(r->plan->rules_new,
			       "qos-match-rule\n        source: gpus\n        destination: Gpus_2\n"
			       "        qos-level-name: storage\n"));
	/* the rule of nobody is left out: without its group it would match everything */
	assert_null(strstr(r->plan->rules_new, "nobody"));
	assert_null(strstr(r->plan->rules_new, "unused"));
	assert_non_null(strstr(r->plan->rules_new, "service-id: 0x10648ca\n        qos-level-name: storage\n"));
	f = only(r, FINDING_PLAN_GROUP_EMPTY);
	assert_int_equal(f->line, 9);
	assert_int_equal(f->column, 3);
	assert_string_equal(f->what, "group 'nobody'");
	assert_int_equal(r->findings.count, 1);
	policy_free(policy);
}

static void test_groups_that_meet_here(void **state)
{
	static const struct {
		const char *pattern;
		enum finding_code code; /* the only one; FINDING_CODES: none */
	} cases[] = {
		{"gpu-2", FINDING_CODES},
		{"gpu-3", FINDING_PLAN_GROUP_EMPTY},
		{"gpu-?", FINDING_POLICY_MATCH_OVERLAP},
	};
	struct rig *r = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct policy *policy;
		char text[1024];

		snprintf(text, sizeof(text),
			 "version: 1\nclasses:\n"
			 "  - {name: a, sl: 1, share: 70%%, match: [{source: x}]}\n"
			 "  - {name: b, sl: 2, share: 20%%, match: [{source: y, pkey: 3}]}\n"
			 "  - {name: other, sl: 0, share: 10%%, default: true}\n"
			 "groups:\n  x: [{name: \"gpu-1\"}]\n  y: [{name: \"%s\"}]\n",
			 cases[i].pattern);
		policy = plan_text(r, text, 0);
		assert_int_equal(r->findings.count, cases[i].code != FINDING_CODES);
		if (cases[i].code == FINDING_POLICY_MATCH_OVERLAP)
			assert_int_equal(r->findings.items[0].line, 4);
		if (cases[i].code != FINDING_CODES)
			only(r, cases[i].code);
		policy_free(policy);
	}
}

static void test_expected_vls(void **state)
{
	struct rig *r = *state;
	struct policy *policy = plan_text(r, LANGUAGE_HEAD LANGUAGE_REST "vls: 8\n", 0);

	assert_non_null(r->plan);
	assert_int_equal(r->findings.count, 0);
	policy_free(policy);
	policy = plan_text(r, LANGUAGE_HEAD LANGUAGE_REST "vls: 4\n", 0);
	assert_non_null(r->plan);
	assert_string_equal(only(r, FINDING_PLAN_VLS_MORE)->got, "8");
	assert_int_equal(only(r, FINDING_PLAN_VLS_MORE)->line, 6);
	policy_free(policy);
	policy = plan_text(r, LANGUAGE_HEAD LANGUAGE_REST "vls: 15\n", 0);
	assert_null(r->plan);
	assert_int_equal(r->findings.count, 6); /* both ends of three links */
	assert_int_equal(r->findings.items[0].code, FINDING_PLAN_VLS_FEWER);
	assert_string_equal(r->findings.items[0].wanted, "15 VLs");
	assert_string_equal(r->findings.items[0].got, "8");
	policy_free(policy);
}

static void test_overrides(void **state)
{
	struct rig *r = *state;
	struct policy *policy = plan_text(
		r, LANGUAGE_HEAD ", priority: high" LANGUAGE_REST
		"overrides:\n  swe: {high_limit: 9, shares: [{class: storage, share: 15%}]}\n  rtr: {high_limit: 3}\n", 0);
	const struct qos_tables *of;

	assert_non_null(r->plan);
	of = r->plan->config.of;
	/* 20 % high: the largest limit that leaves the low table half; its own 9 on switches, and on their port 0 */
	assert_int_equal(of[QOS_PORT_CA].high_limit, 1);
	assert_int_equal(of[QOS_PORT_SWE].high_limit, 9);
	assert_int_equal(of[QOS_PORT_RTR].high_limit, 3);
	assert_memory_equal(&of[QOS_PORT_SW0], &of[QOS_PORT_SWE], sizeof(of[0]));
	assert_non_null(strstr(r->plan->conf_new, "qos_sw0_high_limit 9\n"));
	assert_non_null(strstr(r->plan->conf_new, "qos_rtr_high_limit 3\n"));
	/* storage ahead of all: 1/10 of the link is left for the others on switches, in the ratio of 70 to 10 */
	assert_true(fabs(r->plan->classes[0].share_full - 0.1 * 70 / 80) < 0.002);
	policy_free(policy);

	/* shares alone: the least of what adapters and switches give */
	policy = plan_text(r, LANGUAGE_HEAD LANGUAGE_REST "overrides:\n  ca: {shares: [{class: training, share: 40%}, "
							  "{class: storage, share: 50%}]}\n",
			   0);
	assert_non_null(r->plan);
	assert_int_equal(r->findings.count, 0);
	assert_true(fabs(r->plan->classes[0].share_full - 0.4) < 0.01);
	assert_true(fabs(r->plan->classes[1].share_full - 0.2) < 0.01);
	policy_free(policy);
}

/* 5 % with least latency: one packet before each of the others, which keep their ratio. */
static void test_least_latency(void **state)
{
	struct rig *r = *state;
	struct policy *policy = plan_text(r,
					  "version: 1\nclasses:\n"
					  "  - {name: beat, sl: 3, share: 5%, min_latency: true}\n"
					  "  - {name: training, sl: 1, share: 75%}\n"
					  "  - {name: other, sl: 0, share: 20%, default: true}\n",
					  0);
	const struct finding *f;

	assert_non_null(r->plan);
	assert_int_equal(r->plan->config.of[QOS_PORT_CA].high_limit, 0);
	assert_true(fabs(r->plan->classes[0].share_full - 0.5) < 1e-9);
	assert_true(fabs(r->plan->classes[1].share_full - 0.5 * 75 / 95) < 0.01);
	/* no share is missed while it keeps within its own; that it can take half is said once */
	assert_int_equal(r->findings.count - finding_count_code(&r->findings, FINDING_PLAN_SMALL_PACKETS), 1);
	f = only(r, FINDING_PLAN_MIN_LATENCY);
	assert_int_equal(f->severity, FINDING_NOTE);
	assert_int_equal(f->line, 3);
	assert_string_equal(f->wanted, "5.0 %");
	assert_string_equal(f->got, "up to 50.0 %");
	policy_free(policy);

	/* 60 % needs two packets of three; as the others need 40 % no more than one of two can be had */
	policy = plan_text(r,
			   "version: 1\nclasses:\n"
			   "  - {name: beat, sl: 3, share: 60%, min_latency: true}\n"
			   "  - {name: other, sl: 0, share: 40%, default: true}\n",
			   0);
	assert_non_null(r->plan);
	assert_int_equal(r->plan->config.of[QOS_PORT_CA].high_limit, 1);
	assert_true(fabs(r->plan->classes[0].share_full - 0.6) < 0.02);
	assert_int_equal(r->findings.count, finding_count_code(&r->findings, FINDING_PLAN_SMALL_PACKETS));
	policy_free(policy);
}

static void test_dropped_sls_are_named(void **state)
{
	struct rig *r = *state;
	struct policy *policy = plan_text(r, LANGUAGE_HEAD LANGUAGE_REST "unused_sls: drop\n", 0);

	assert_null(r->plan);
	assert_non_null(strstr(only(r, FINDING_POLICY_DROP)->detail, "SL 3: DeepEP"));
	assert_non_null(strstr(only(r, FINDING_POLICY_DROP)->detail, "SL 8: NCCL's GIN with NCCL_IB_TC=104"));
	assert_non_null(strstr(only(r, FINDING_POLICY_DROP)->detail, "UCX"));
	policy_free(policy);
	policy = plan_text(r, LANGUAGE_HEAD LANGUAGE_REST "unused_sls: drop\n", PLAN_ALLOW_DROP);
	assert_non_null(r->plan);
	assert_int_equal(only(r, FINDING_PLAN_DROPS_SLS)->severity, FINDING_NOTE);
	policy_free(policy);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_training_first),
		T(test_same_input_same_bytes),
		T(test_config_missing),
		T(test_least_of_all_links),
		T(test_smaller_mtu),
		T(test_smaller_mtu_needed),
		T(test_same_tables_on_other_fabrics),
		T(test_priority_and_smaller_mtu),
		T(test_too_few_vls),
		T(test_many_too_few),
		T(test_loop_back),
		T(test_vls_unknown),
		T(test_tables_too_small),
		T(test_one_vl_for_one_class),
		T(test_special_links),
		T(test_cut_to_nothing_is_told),
		T(test_no_links),
		T(test_share_missed),
		T(test_share_missed_for_priority),
		T(test_priority),
		T(test_routing_engines),
		T(test_links_that_would_bounce),
		T(test_exact_tables_that_starve),
		T(test_exact_tables_that_share_a_vl),
		T(test_rules_file),
		T(test_drop),
		T(test_level_names),
		T(test_all_faults_at_once),
		T(test_unreadable_file),
		T(test_groups),
		T(test_groups_that_meet_here),
		T(test_expected_vls),
		T(test_overrides),
		T(test_least_latency),
		T(test_dropped_sls_are_named),
	};

	return cmocka_run_group_tests_name("plan make", tests, NULL, NULL);
}
