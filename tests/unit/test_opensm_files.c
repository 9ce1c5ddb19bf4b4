/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * qos-policy and partitions files as OpenSM reads them: values and places; what is refused is compared
 * with OpenSM itself in tests/sim/test_opensm_files.py. An opensm.conf looked over.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/opensm_files.h"

#define LEVELS \
	"# c\n" \
	"qos-levels\n" \
	"qos-level\n" \
	"name: default\n" \
	"sl: 0\n" \
	"end-qos-level\n" \
	"qos-level\n" \
	"name: one\n" \
	"sl: 1\n" \
	"end-qos-level\n" \
	"end-qos-levels\n" /* 11 lines */

static struct opensm_policy_file *read_policy(const char *text, struct finding_list *findings)
{
	struct opensm_policy_file *file;

	assert_int_equal(opensm_policy_read("p", text, strlen(text), findings, &file), 0);
	return file;
}

static struct opensm_partitions *read_partitions(const char *text, struct finding_list *findings)
{
	struct opensm_partitions *partitions;

	assert_int_equal(opensm_partitions_read("p", text, strlen(text), findings, &partitions), 0);
	return partitions;
}

/* The first finding of a code. */
static const struct finding *find(const struct finding_list *findings, enum finding_code code)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->items[i].code == code)
			return &findings->items[i];
	fail_msg("no finding %s", finding_kind(code)->code);
	return NULL;
}

static void assert_place(const struct finding *f, unsigned line, unsigned column)
{
	assert_string_equal(f->file, "p");
	assert_int_equal(f->line, line);
	assert_int_equal(f->column, column);
}

/* --- qos-policy --- */

static void test_refused_at(void **state)
{
	static const struct {
		const char *text;
		unsigned line, column;
	} cases[] = {
		{LEVELS "x\n", 12, 1},
		{"qos-levels\r\n", 1, 11},
		{LEVELS "qos-levels\nqos-level\n  name: a\n  sl: -1\n", 15, 7},
		{LEVELS "qos-levels\nqos-level\nname: a\nend-qos-level\n", 15, 1},
		{LEVELS "qos-levels\nqos-level\nname: a\nsl: 1\nmtu-limit: 9\n", 16, 12},
		{LEVELS "qos-match-rules\nqos-match-rule\n qos-class: 1\nend-qos-match-rule\n", 15, 1},
		{LEVELS "qos-match-rules\nqos-match-rule\nqos-level-name: two\nend-qos-match-rule\nend-qos-match-rules\n", 13, 1},
		{LEVELS "qos-match-rules\nqos-match-rule\nqos-level-name: one\nsource: a, g\nend-qos-match-rule\n"
			"end-qos-match-rules\nport-groups\nport-group\nname: a\nend-port-group\nend-port-groups\n", 15, 12},
		{LEVELS "qos-ulps\nsdp, port-num 1,65536 : 1\n", 13, 15},
		{LEVELS "port-groups\nport-group\nname: g\nport-name: a/P1, b/Q\n", 15, 18},
		{LEVELS "# no newline", 12, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct finding_list findings = {0};

		assert_null(read_policy(cases[i].text, &findings));
		assert_place(find(&findings, FINDING_OPENSM_RULES_REFUSED), cases[i].line, cases[i].column);
		assert_int_equal(finding_count(&findings, FINDING_CRITICAL), 1);
		finding_list_clear(&findings);
	}
}

static void test_values(void **state)
{
	static const char text[] =
		"qos-ulps\nsdp: 3\nsdp, port-num 5-6: 4\nsrp, target-port-guid 0x12,0x11: 5\nipoib: 6\nend-qos-ulps\n" LEVELS
		"port-groups\nport-group\nname: g\nuse: targets, all of: them\nport-guid: 0x5-0x7, 8\nport-guid: 0x20\n"
		"node-type: CA, SELF\nport-name: \"a b\"/P1, c d/p2\nend-port-group\nend-port-groups\n"
		"qos-match-rules\nqos-match-rule\nqos-class: 9-7, 010\nservice-id: 0x10-0x1f\nservice-id: 0x20\n"
		"pkey: 0x8002\nsource: G\nqos-level-name: ONE\nend-qos-match-rule\nend-qos-match-rules\n";
	struct finding_list findings = {0};
	struct opensm_policy_file *file = read_policy(text, &findings);
	const struct opensm_file_rule *rule;
	const struct opensm_file_group *group;

	(void)state;
	assert_non_null(file);
	assert_int_equal(file->level_count, 2);
	assert_int_equal(file->default_sl, 0);
	/* the match rule first, then the lines of qos-ulps */
	assert_int_equal(file->rule_count, 5);
	rule = &file->rules[0];
	assert_int_equal(rule->sl, 1);
	assert_int_equal(rule->level, 1);
	assert_int_equal(rule->qos_classes.count, 1); /* 010 is 8 */
	assert_int_equal(rule->qos_classes.items[0].low, 7);
	assert_int_equal(rule->qos_classes.items[0].high, 9);
	assert_int_equal(rule->service_ids.count, 1);
	assert_int_equal(rule->service_ids.items[0].high, 0x20);
	assert_int_equal(rule->pkeys.items[0].low, 2);
	assert_int_equal(rule->sources.items[0].index, 1); /* behind the group of srp */
	assert_int_equal(file->rules[1].sl, 3);
	assert_int_equal(file->rules[1].service_ids.items[0].low, 0x10000);
	assert_int_equal(file->rules[1].service_ids.items[0].high, 0x1ffff);
	assert_int_equal(file->rules[2].service_ids.items[0].low, 0x10005);
	assert_int_equal(file->rules[2].service_ids.items[0].high, 0x10006);
	assert_int_equal(file->rules[3].destinations.items[0].index, 0);
	assert_int_equal(file->rules[4].pkeys.items[0].low, 0x7fff);
	group = &file->groups[0];
	assert_true(group->made);
	assert_string_equal(group->name, "_SRP_Targets_");
	assert_int_equal(group->guids.count, 1); /* 0x11 and 0x12 touch */
	group = &file->groups[1];
	assert_int_equal(group->guids.count, 2);
	assert_int_equal(group->guids.items[0].low, 5);
	assert_int_equal(group->guids.items[0].high, 8);
	assert_int_equal(group->guids.items[1].low, 0x20);
	assert_int_equal(group->node_types, OPENSM_NODE_CA);
	assert_true(group->self);
	assert_string_equal(group->ports.items[0].text, "a b/P1");
	assert_false(group->ports.items[0].blanks_dropped);
	assert_string_equal(group->ports.items[1].text, "cd/p2");
	assert_place(find(&findings, FINDING_OPENSM_NAME_NEVER), 25, 22);
	assert_place(find(&findings, FINDING_OPENSM_VALUE_DOUBTFUL), 30, 17);
	assert_string_equal(find(&findings, FINDING_OPENSM_VALUE_DOUBTFUL)->got, "010");
	assert_int_equal(finding_count(&findings, FINDING_CRITICAL), 0);
	opensm_policy_file_free(file);
	finding_list_clear(&findings);
}

static void test_traps(void **state)
{
	static const struct {
		const char *text;
		enum finding_code code;
		unsigned line, column;
	} cases[] = {
		{LEVELS "qos-levels\nqos-level\nname: a\nsl: 16\nend-qos-level\nend-qos-levels\n", FINDING_OPENSM_LEVEL_SL, 15, 5},
		{LEVELS "qos-levels\nqos-level\nname: a\nsl: 300\nend-qos-level\nend-qos-levels\n", FINDING_OPENSM_LEVEL_SL, 15, 5},
		{LEVELS "qos-levels\nqos-level\nname: a\nsl: 257\nend-qos-level\nend-qos-levels\n", FINDING_OPENSM_VALUE_DOUBTFUL, 15, 5},
		{LEVELS "qos-levels\nqos-level\nname: a\nsl: 2\npkey: 0x8001\nend-qos-level\nend-qos-levels\n",
		 FINDING_OPENSM_LEVEL_PKEY, 13, 1},
		{LEVELS "qos-levels\nqos-level\nname: ONE\nsl: 2\nend-qos-level\nend-qos-levels\n", FINDING_OPENSM_NAME_TWICE, 13, 1},
		{LEVELS "qos-levels\nqos-level\nname: a\n b\nsl: 2\nend-qos-level\nend-qos-levels\n", FINDING_OPENSM_TEXT_SPANS, 14, 7},
		{LEVELS "qos-match-rules\nqos-match-rule\nqos-level-name: one\nend-qos-match-rule\nend-qos-match-rules\n",
		 FINDING_OPENSM_RULE_ALL, 13, 1},
		{LEVELS "qos-match-rules\nqos-match-rule\nqos-class: 4096\nqos-level-name: one\nend-qos-match-rule\nend-qos-match-rules\n",
		 FINDING_OPENSM_RULE_NEVER, 13, 1},
		{LEVELS "port-groups\nport-group\nname: g\nport-guid: 1-0xffffffffffffffff\nend-port-group\nend-port-groups\n",
		 FINDING_OPENSM_RULES_UNSAFE, 15, 12},
		{LEVELS "port-groups\nport-group\nname: g\nport-name: sw/P300\nend-port-group\nend-port-groups\n",
		 FINDING_OPENSM_RULES_UNSAFE, 15, 12},
		{LEVELS "qos-ulps\nsdp: 1\nend-qos-ulps\n", FINDING_OPENSM_ULPS_STAY, 13, 1},
		{LEVELS "qos-ulps\nipoib: 1\nend-qos-ulps\n", FINDING_OPENSM_RULES_RISK, 13, 1},
		{LEVELS "qos-ulps\nany, source-target-port-guid 1: 1\nend-qos-ulps\n", FINDING_OPENSM_BOTH_ENDS, 13, 1},
		{LEVELS "qos-setup\nend-qos-setup\n", FINDING_OPENSM_KEY_UNUSED, 13, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct finding_list findings = {0};
		struct opensm_policy_file *file = read_policy(cases[i].text, &findings);

		assert_non_null(file);
		assert_place(find(&findings, cases[i].code), cases[i].line, cases[i].column);
		opensm_policy_file_free(file);
		finding_list_clear(&findings);
	}
}

/* What ibqos writes is read back as it was meant. */
static void test_round_trip(void **state)
{
	const uint64_t guids[] = {0x11, 0xfedcba9876543210};
	const struct opensm_level levels[] = {{"default", 3}, {"training", 1}};
	const struct opensm_group groups[] = {{"oss", guids, 2}};
	const struct opensm_range classes[] = {{8, 11}, {41, 41}}, services[] = {{0x1060000, 0x106ffff}}, pkeys[] = {{2, 2}};
	const char *const names[] = {"oss"};
	const struct opensm_rule rules[] = {
		{.level = "training", .qos_classes = classes, .qos_class_count = 2, .service_ids = services,
		 .service_id_count = 1, .pkeys = pkeys, .pkey_count = 1, .sources = names, .source_count = 1},
		{.level = "default", .destinations = names, .destination_count = 1},
	};
	const struct opensm_policy policy = {levels, 2, groups, 1, rules, 2};
	struct finding_list findings = {0};
	struct opensm_policy_file *file;
	char *text;
	size_t size;

	(void)state;
	assert_int_equal(opensm_policy_render(&policy, &text, &size), 0);
	file = read_policy(text, &findings);
	assert_non_null(file);
	assert_int_equal(findings.count, 0);
	assert_int_equal(file->default_sl, 3);
	assert_int_equal(file->rule_count, 2);
	assert_int_equal(file->rules[0].sl, 1);
	assert_int_equal(file->rules[0].qos_classes.count, 2);
	assert_memory_equal(file->rules[0].qos_classes.items, classes, sizeof(classes));
	assert_memory_equal(file->rules[0].service_ids.items, services, sizeof(services));
	assert_memory_equal(file->rules[0].pkeys.items, pkeys, sizeof(pkeys));
	assert_int_equal(file->rules[1].destinations.count, 1);
	assert_int_equal(file->groups[0].guids.count, 2);
	assert_true(file->groups[0].guids.items[1].low == guids[1]);
	assert_int_equal(opensm_policy_file_sl(file, 2), 3);
	opensm_policy_file_free(file);
	free(text);
}

/* --- partitions --- */

static void test_partitions(void **state)
{
	static const char text[] = "# c\n"
				   "Default=0x7fff, ipoib, sl=2 : ALL=full;\n"
				   "A=0x8002, sl=010 : 0x1, 0x2=full;  B, s=3 : ALL;\n"
				   "A=2, sl=4 : SELF; C : ;\n"
				   "9 : ALL;";
	struct finding_list findings = {0};
	struct opensm_partitions *p = read_partitions(text, &findings);

	(void)state;
	assert_non_null(p);
	assert_int_equal(p->count, 5);
	assert_string_equal(p->items[0].name, "Default");
	assert_int_equal(p->items[0].pkey, 0x7fff);
	assert_int_equal(p->items[0].sl, 2);
	assert_true(p->items[0].ipoib);
	assert_string_equal(p->items[1].name, "A");
	assert_int_equal(p->items[1].pkey, 2);
	assert_int_equal(p->items[1].sl, 4); /* the later one */
	assert_string_equal(p->items[2].name, "B");
	assert_int_equal(p->items[2].pkey, 1); /* the first that is free */
	assert_true(p->items[2].chosen);
	assert_int_equal(p->items[2].sl_mark.line, 0); /* "s" is scope */
	assert_int_equal(p->items[3].pkey, 3);
	assert_false(p->items[3].members);
	assert_string_equal(p->items[4].name, "0009");
	assert_place(find(&findings, FINDING_OPENSM_PARTITION_TWICE), 4, 1);
	assert_place(find(&findings, FINDING_OPENSM_PARTITION_EMPTY), 4, 19);
	assert_place(find(&findings, FINDING_OPENSM_VALUE_DOUBTFUL), 3, 14);
	opensm_partitions_free(p);
	finding_list_clear(&findings);
}

/* An SL above 15 is left out, and OpenSM says so only if it is verbose. */
static void test_partitions_sl(void **state)
{
	struct finding_list findings = {0};
	struct opensm_partitions *partitions = read_partitions("A=2, sl=16 : ALL;\n", &findings);

	(void)state;
	assert_non_null(partitions);
	assert_place(find(&findings, FINDING_OPENSM_VALUE_IGNORED), 1, 6);
	opensm_partitions_free(partitions);
	finding_list_clear(&findings);
}

static void test_partitions_refused_at(void **state)
{
	static const struct {
		const char *text;
		unsigned line, column;
	} cases[] = {
		{"Default=0x7fff : ALL;\nA=0x2 ALL;\n", 2, 1},
		{"A=x : ALL;\n", 1, 3},
		{"A=1 :\n  ALL, gpu-1;\n", 2, 8},
		{"# c\n", 1, 1},
		{"A=1 : mgid;\n", 1, 7},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct finding_list findings = {0};

		assert_null(read_partitions(cases[i].text, &findings));
		assert_place(find(&findings, FINDING_OPENSM_PARTITIONS_REFUSED), cases[i].line, cases[i].column);
		finding_list_clear(&findings);
	}
}

/* Behind an mgid without flags OpenSM reads on, here in the comment. */
static void test_reads_on(void **state)
{
	static const char text[] = "A=1 : ALL, mgid=ff12::1 # x, sl=3\n;\n";
	struct finding_list findings = {0};
	struct opensm_partitions *p = read_partitions(text, &findings);

	(void)state;
	assert_non_null(p);
	assert_place(find(&findings, FINDING_OPENSM_PARTITIONS_UNSAFE), 1, 12);
	opensm_partitions_free(p);
	finding_list_clear(&findings);
}

/* --- opensm.conf --- */

static void lint(const char *text, struct finding_list *findings)
{
	struct opensm_conf *conf;

	assert_int_equal(opensm_conf_parse(text, strlen(text), &conf), 0);
	assert_int_equal(opensm_conf_lint(conf, "p", findings), 0);
	opensm_conf_free(conf);
}

static void test_conf(void **state)
{
	static const struct {
		const char *text;
		enum finding_code code;
		unsigned line, column;
		const char *got;
	} cases[] = {
		{"Qos TRUE\n", FINDING_OPENSM_KEY_UNKNOWN, 1, 1, NULL},
		{"  qos=TRUE\n", FINDING_OPENSM_KEY_UNKNOWN, 1, 3, NULL},
		{"sm_sl 1\nsm_sl 2\n", FINDING_OPENSM_KEY_TWICE, 1, 1, "1"},
		{"qos  true\n", FINDING_OPENSM_VALUE_DOUBTFUL, 1, 0, "true"},
		{"use_optimized_slvl yes\n", FINDING_OPENSM_VALUE_DOUBTFUL, 1, 20, "yes"},
		{"lmc 010\n", FINDING_OPENSM_VALUE_DOUBTFUL, 1, 5, "010"},
		{"lmc 3x\n", FINDING_OPENSM_VALUE_IGNORED, 1, 5, "3x"},
		{"lmc 256\n", FINDING_OPENSM_VALUE_IGNORED, 1, 5, "256"},
		{"sm_sl 16\n", FINDING_OPENSM_VALUE_RANGE, 1, 7, "16"},
		{"max_op_vls 15\n", FINDING_OPENSM_VALUE_RANGE, 1, 12, "15"},
		{"max_op_vls 0\n", FINDING_OPENSM_VALUE_RANGE, 1, 12, "0"},
		{"max_op_vls 7\nmax_op_vls x\n", FINDING_OPENSM_VALUE_RANGE, 1, 12, "7"},
		{"qos_max_vls 4\n", FINDING_OPENSM_KEY_UNUSED, 1, 13, NULL},
		{"qos_policy_file qos.conf\n", FINDING_OPENSM_FILE_NAME, 1, 17, "qos.conf"},
		{"qos_policy_file (null)\n", FINDING_OPENSM_FILE_NAME, 1, 17, "(null)"},
		{"routing_engine minhop,lash\n", FINDING_PLAN_ROUTING_OWNS_SL, 1, 16, "lash"},
		{"qos_sl2vl 0,0\n", FINDING_OPENSM_QOS_UNUSED, 1, 11, "not set, which is FALSE"},
		{"qos TRUE\nqos_sl2vl 15,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7\n", FINDING_OPENSM_SL_DROPPED, 2, 11, "SL 0"},
		{"qos TRUE\nsm_sl 1\nqos_ca_sl2vl 0,15,2,3,4,5,6,7,8,9,10,11,12,13,14,7\n", FINDING_OPENSM_SL_DROPPED, 3, 14,
		 "SL 1, of sm_sl"},
		{"qos TRUE\nqos_vlarb_high 0:0\nqos_vlarb_low 0:1\n", FINDING_OPENSM_VL_STARVED, 3, 15, "VL 1 on ports of kind ca"},
		{"qos TRUE\nsuppress_sl2vl_mad_status_errors TRUE\n", FINDING_OPENSM_ERRORS_HIDDEN, 2, 34, NULL},
		{"\xef\xbb\xbfqos TRUE\n", FINDING_OPENSM_KEY_UNKNOWN, 1, 1, NULL},
		{"qos TRUE\nqos_high_limit 255\n", FINDING_OPENSM_HIGH_UNLIMITED, 2, 16, "255"},
		{"qos TRUE\nqos_swe_sl2vl 0,0,2,3,4,5,6,7,8,9,10,11,12,13,14,7\n", FINDING_OPENSM_SW0_DIFFERS, 0, 0, NULL},
		{"qos TRUE\nqos_vlarb_low 0:1,1:1,2:1,3:1,4:1,5:1,6:1,7:1,8:1,9:1,10:1,11:1,12:1,13:1,14:1,0:1,0:1,0:1,0:1,0:1,0:1,"
		 "0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1\n", FINDING_OPENSM_VLARB_LONG, 2, 15, "33 entries"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct finding_list findings = {0};
		const struct finding *f;

		lint(cases[i].text, &findings);
		f = find(&findings, cases[i].code);
		if (cases[i].line)
			assert_int_equal(f->line, cases[i].line);
		if (cases[i].column)
			assert_int_equal(f->column, cases[i].column);
		if (cases[i].got)
			assert_string_equal(f->got, cases[i].got);
		finding_list_clear(&findings);
	}
}

/* OpenSM reads 1022 bytes at a time: what is behind them is a line of its own to it. */
static void test_conf_long_line(void **state)
{
	struct finding_list findings = {0};
	char text[1200] = "qos TRUE\nlog_prefix ";
	const struct finding *f;

	(void)state;
	memset(text + strlen(text), 'x', 1100);
	strcat(text, "\n");
	lint(text, &findings);
	f = find(&findings, FINDING_OPENSM_LINE_LONG);
	assert_int_equal(f->line, 2);
	assert_int_equal(f->column, 12);
	finding_list_clear(&findings);
}

/* osm_subnet.c, parse_prefix_routes_file(): ten bad lines are passed over, with the eleventh OpenSM stops reading. */
static void test_prefix_routes(void **state)
{
	static const char *const sound = "# prefix guid\n\nfe80000000000000 0002c90300001111\n* 0x1 # all others\n  0x1\t*\nfe80 2#c\n";
	static const struct {
		const char *line, *got;
	} bad[] = {
		{"fe80000000000000\n", "no GUID"},
		{"leaf 0x1\n", "a prefix that is no hexadecimal number"},
		{"1#2 0x1\n", "a prefix that is no hexadecimal number"},
		{"fe80 gpu\n", "a GUID that is no hexadecimal number"},
	};
	struct finding_list findings = {0};
	char text[256] = "* 1\n";

	(void)state;
	opensm_prefix_routes_lint("p", sound, strlen(sound), &findings);
	assert_int_equal(findings.count, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct finding *f;

		snprintf(text, sizeof(text), "* 1\n%s", bad[i].line);
		opensm_prefix_routes_lint("p", text, strlen(text), &findings);
		assert_int_equal(findings.count, 1);
		f = find(&findings, FINDING_OPENSM_PREFIX_ROUTE);
		assert_place(f, 2, 0);
		assert_string_equal(f->file, "p");
		assert_string_equal(f->got, bad[i].got);
		assert_null(f->detail);
		finding_list_clear(&findings);
	}
	text[0] = '\0';
	for (unsigned i = 0; i < 13; i++)
		strcat(text, "x\n");
	opensm_prefix_routes_lint("p", text, strlen(text), &findings);
	assert_int_equal(findings.count, 11);
	assert_null(findings.items[9].detail);
	assert_string_equal(findings.items[10].detail, "OpenSM reads no further");
	finding_list_clear(&findings);
}

/* A sound file has no finding: OpenSM's own defaults starve nobody on links of 15 VLs. */
static void test_conf_sound(void **state)
{
	struct finding_list findings = {0};

	(void)state;
	lint("# c\n\nqos TRUE\nmax_op_vls 5\nqos_sl2vl 0,1,2,3,0,0,0,0,0,0,0,0,0,0,0,0\nqos_vlarb_high 0:0\n"
	     "qos_vlarb_low 0:64,1:64,2:64,3:64\nqos_high_limit 0\nlog_file /var/log/x\n", &findings);
	assert_int_equal(findings.count, 0);
	lint("qos TRUE\n", &findings);
	assert_int_equal(findings.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused_at), cmocka_unit_test(test_values),
		cmocka_unit_test(test_traps),	   cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_partitions), cmocka_unit_test(test_partitions_sl), cmocka_unit_test(test_partitions_refused_at),
		cmocka_unit_test(test_reads_on),   cmocka_unit_test(test_conf),
		cmocka_unit_test(test_conf_long_line),
		cmocka_unit_test(test_conf_sound), cmocka_unit_test(test_prefix_routes),
	};

	return cmocka_run_group_tests_name("opensm_files", tests, NULL, NULL);
}
