/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Exact tables in a policy, and OpenSM's files made one: tables word for word, rules in an order that keeps
 * their meaning. That the result compiles to what OpenSM programs is for tests/sim/test_import.py.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "ibqos/opensm_files.h"
#include "ibqos/policy.h"

static const struct finding *find(const struct finding_list *findings, enum finding_code code)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->items[i].code == code)
			return &findings->items[i];
	return NULL;
}

/* --- the form in opensm.conf --- */

static void test_table_text(void **state)
{
	static const char *const bad_maps[] = {"",
					       "0,1",
					       "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14",
					       "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,16",
					       "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,07",
					       "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7,0",
					       "0, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,7"};
	static const char *const bad_pairs[] = {"", "0", "0:", ":1", "15:1", "0:256", "0:1,", "0:1 ,1:1", "0:01", "0;1", "-1:1"};
	struct qos_sl2vl map;
	struct qos_vlarb table;
	char text[QOS_TEXT_MAX], long_text[QOS_TEXT_MAX];
	size_t used = 0;

	(void)state;
	assert_true(qos_sl2vl_parse("0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15", &map));
	for (unsigned sl = 0; sl < QOS_SLS; sl++)
		assert_int_equal(map.vl[sl], sl);
	for (size_t i = 0; i < sizeof(bad_maps) / sizeof(bad_maps[0]); i++)
		assert_false(qos_sl2vl_parse(bad_maps[i], &map));
	assert_true(qos_vlarb_parse("0:255,14:0,7:64", &table));
	assert_int_equal(table.count, 3);
	assert_int_equal(table.entry[1].vl, 14);
	assert_int_equal(table.entry[0].weight, 255);
	assert_int_equal(table.entry[3].weight, 0);
	for (size_t i = 0; i < sizeof(bad_pairs) / sizeof(bad_pairs[0]); i++)
		assert_false(qos_vlarb_parse(bad_pairs[i], &table));
	for (unsigned i = 0; i < QOS_VLARB_ENTRIES; i++)
		used += (size_t)snprintf(long_text + used, sizeof(long_text) - used, "%s14:255", i ? "," : "");
	assert_true(qos_vlarb_parse(long_text, &table));
	qos_vlarb_format(table.entry, table.count, text);
	assert_string_equal(text, long_text);
	strcpy(long_text + used - 7, ",0:1,0:1"); /* 65 */
	assert_false(qos_vlarb_parse(long_text, &table));
}

/* --- tables of a policy --- */

#define TABLE "    sl2vl: 0,1,1,15,0,0,0,0,0,0,0,0,0,0,0,0\n    vlarb_high: 0:0\n    vlarb_low: 0:64,1:192\n    high_limit: 255\n"
#define CLASSES "version: 1\nclasses:\n  - {name: a, sl: 0, share: 20%, default: true}\n  - {name: b, sl: 1, share: 70%}\n"

static struct policy *parse(const char *text, struct finding_list *findings)
{
	struct policy *policy;

	assert_int_equal(policy_parse("p", text, strlen(text), findings, &policy), 0);
	return policy;
}

static void test_tables(void **state)
{
	struct finding_list findings = {0};
	struct policy *policy = parse(CLASSES "tables:\n  ca:\n" TABLE "  swe:\n    sl2vl: 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7\n"
					      "    vlarb_high: 1:1\n    vlarb_low: 2:2\n    high_limit: 0\n", &findings);

	(void)state;
	assert_non_null(policy);
	assert_true(policy->tables.given);
	assert_int_equal(policy->tables.config.of[QOS_PORT_CA].sl2vl.vl[2], 1);
	assert_int_equal(policy->tables.config.of[QOS_PORT_CA].low.entry[1].weight, 192);
	assert_int_equal(policy->tables.config.of[QOS_PORT_CA].high_limit, 255);
	assert_int_equal(policy->tables.config.of[QOS_PORT_SWE].sl2vl.vl[2], 2);
	assert_int_equal(policy->tables.config.of[QOS_PORT_SWE].low.entry[0].vl, 2);
	/* the others are as the adapters */
	assert_memory_equal(&policy->tables.config.of[QOS_PORT_RTR], &policy->tables.config.of[QOS_PORT_CA],
			    sizeof(struct qos_tables));
	assert_memory_equal(&policy->tables.config.of[QOS_PORT_SW0], &policy->tables.config.of[QOS_PORT_CA],
			    sizeof(struct qos_tables));
	policy_free(policy);
	finding_list_clear(&findings);
}

static void test_tables_faults(void **state)
{
	static const struct {
		const char *text;
		enum finding_code code;
		unsigned line;
	} cases[] = {
		{CLASSES "tables:\n  swe:\n" TABLE, FINDING_POLICY_KEY_MISSING, 6},
		{CLASSES "tables:\n  ca:\n    sl2vl: 0,1\n", FINDING_POLICY_RANGE, 7},
		{CLASSES "tables:\n  ca:\n" TABLE "unused_sls: drop\n", FINDING_POLICY_KEY_CONFLICT, 11},
		{CLASSES "tables:\n  ca:\n" TABLE "overrides:\n  ca: {shares: [{class: a, share: 1%}]}\n", FINDING_POLICY_KEY_CONFLICT, 12},
		{"version: 1\nclasses:\n  - {name: a, sl: 0, share: 20%, default: true, min_latency: true}\ntables:\n  ca:\n" TABLE,
		 FINDING_POLICY_KEY_CONFLICT, 3},
		{"version: 1\nclasses:\n  - {name: a, sl: 0, share: 20%, default: true}\n  - {name: b, sl: 3, share: 20%}\ntables:\n  ca:\n" TABLE,
		 FINDING_POLICY_SL_DROPPED, 4},
		{CLASSES "tables:\n  ca:\n    sl2vl: 15,1,1,1,0,0,0,0,0,0,0,0,0,0,0,0\n    vlarb_high: 0:0\n    vlarb_low: 0:64\n"
			 "    high_limit: 0\n", FINDING_POLICY_SL0_DROPPED, 7},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct finding_list findings = {0};
		const struct finding *f;

		assert_null(parse(cases[i].text, &findings));
		f = find(&findings, cases[i].code);
		assert_non_null(f);
		assert_int_equal(f->line, cases[i].line);
		finding_list_clear(&findings);
	}
}

/* --- import --- */

#define CONF "qos TRUE\nqos_sl2vl 0,1,2,1\nqos_vlarb_high 0:0\nqos_vlarb_low 0:64,1:64,2 :64\n"
#define LEVEL(name, sl) "qos-levels\nqos-level\nname: " name "\nsl: " sl "\nend-qos-level\nend-qos-levels\n"
#define RULE(body, level) \
	"qos-match-rules\nqos-match-rule\n" body "\nqos-level-name: " level "\nend-qos-match-rule\nend-qos-match-rules\n"

static struct policy *import(const char *conf_text, const char *rules_text, const char *partitions_text,
			     struct finding_list *told)
{
	struct finding_list reading = {0}, findings = {0};
	struct opensm_files files = {.conf_path = "/dev/null", .policy_path = "q", .partitions_path = "p"};
	struct opensm_policy_file *rules = NULL;
	struct opensm_partitions *partitions = NULL;
	struct opensm_conf *conf = NULL;
	struct policy *policy;
	char *text;
	size_t size;

	if (conf_text)
		assert_int_equal(opensm_conf_parse(conf_text, strlen(conf_text), &conf), 0);
	if (rules_text)
		assert_int_equal(opensm_policy_read("q", rules_text, strlen(rules_text), &reading, &rules), 0);
	if (partitions_text)
		assert_int_equal(
			opensm_partitions_read("p", partitions_text, strlen(partitions_text), &reading, &partitions), 0);
	files.conf = conf;
	files.policy = rules;
	files.partitions = partitions;
	assert_int_equal(policy_import(&files, told, &text, &size), 0);
	assert_int_equal(policy_parse("out", text, size, &findings, &policy), 0);
	if (!policy)
		fail_msg("%s", text);
	finding_list_clear(&reading);
	finding_list_clear(&findings);
	opensm_conf_free(conf);
	opensm_policy_file_free(rules);
	opensm_partitions_free(partitions);
	free(text);
	return policy;
}

static const struct policy_class *class_of(const struct policy *policy, unsigned sl)
{
	for (size_t i = 0; i < policy->class_count; i++)
		if (policy->classes[i].sl == sl)
			return &policy->classes[i];
	fail_msg("no class with SL %u", sl);
	return NULL;
}

/* One class for each VL; the shares are what the tables give with packets of 2048 or 4096 bytes. */
static void test_import_tables(void **state)
{
	struct finding_list told = {0};
	struct policy *policy = import(CONF, NULL, NULL, &told);
	const struct qos_tables *t = &policy->tables.config.of[QOS_PORT_SWE];

	(void)state;
	/* "2 :64" is 2:0 and 4:64 or so: entry 2 has weight 0, VL 64 % 15 = 4 has none */
	assert_int_equal(t->low.count, 4);
	assert_int_equal(t->low.entry[2].vl, 2);
	assert_int_equal(t->low.entry[2].weight, 0);
	assert_int_equal(t->low.entry[3].vl, 4);
	assert_int_equal(policy->class_count, 3);
	assert_true(class_of(policy, 0)->is_default);
	assert_float_equal(class_of(policy, 0)->share, 49.9, 0.15); /* less what the third must be said to have */
	assert_float_equal(class_of(policy, 1)->share, 49.9, 0.15);
	assert_float_equal(class_of(policy, 2)->share, 0.1, 0.05); /* nothing: the least that a policy can say */
	assert_int_equal(told.count, 0);
	policy_free(policy);
}

static void test_import_rules(void **state)
{
	struct finding_list told = {0};
	struct policy *policy = import(
		CONF,
		LEVEL("default", "0") LEVEL("one", "1") LEVEL("two", "2") RULE("qos-class: 1-9", "one")
			RULE("qos-class: 5-12", "two") RULE("service-id: 0x010603db", "two") RULE("qos-class: 2", "default")
				RULE("pkey: 0x8001-0x8003", "one") "qos-ulps\nsdp: 2\nend-qos-ulps\n",
		"A=0x1, sl=3, ipoib : ALL;\n", &told);
	const struct policy_class *one = class_of(policy, 1), *two = class_of(policy, 2);

	(void)state;
	assert_string_equal(one->name, "one");
	assert_int_equal(one->match_count, 4); /* QoS classes, three partition keys */
	assert_int_equal(one->matches[3].pkey, 3);
	assert_int_equal(two->match_count, 3);
	assert_int_equal(two->matches[0].qos_classes.items[0].low, 10); /* 5-9 are taken */
	assert_int_equal(two->matches[0].qos_classes.items[0].high, 12);
	assert_string_equal(two->matches[1].service->name, "lustre");
	assert_string_equal(two->matches[2].service->name, "sdp");
	assert_int_equal(class_of(policy, 0)->match_count, 0); /* class 2 is that of an earlier rule */
	assert_non_null(find(&told, FINDING_IMPORT_LEFT_OUT));
	assert_int_equal(find(&told, FINDING_IMPORT_LEFT_OUT)->severity, FINDING_NOTE);
	assert_int_equal(policy->partition_count, 1);
	assert_int_equal(policy->partitions[0].sl, 3);
	assert_true(policy->partitions[0].ipoib);
	assert_int_equal(class_of(policy, 3)->sl, 3);
	/* two's service rules come before one's rule for a partition, one's QoS classes before those: that cannot be */
	assert_non_null(find(&told, FINDING_IMPORT_ORDER));
	policy_free(policy);
	finding_list_clear(&told);
}

/* A class whose rule comes first in the file comes first, wherever its level stands. */
static void test_import_order(void **state)
{
	struct finding_list told = {0};
	struct policy *policy = import(NULL,
				       LEVEL("default", "0") LEVEL("one", "1") LEVEL("two", "2")
					       RULE("service-id: 5", "two") RULE("service-id: 0-9", "one"),
				       NULL, &told);

	(void)state;
	assert_true(class_of(policy, 2) < class_of(policy, 1));
	assert_null(find(&told, FINDING_IMPORT_ORDER));
	assert_false(policy->tables.given);
	policy_free(policy);
}

/* The first rule that matches everything is the default, and ends the list. */
static void test_import_match_all(void **state)
{
	struct finding_list told = {0};
	struct policy *policy = import(CONF,
				       LEVEL("default", "0") LEVEL("one", "1") RULE("qos-class: 1", "one")
					       RULE("use: all", "one") RULE("qos-class: 2", "default"),
				       NULL, &told);

	(void)state;
	assert_true(class_of(policy, 1)->is_default);
	assert_int_equal(class_of(policy, 0)->match_count, 0);
	policy_free(policy);
	finding_list_clear(&told);
}

static void test_import_groups(void **state)
{
	struct finding_list told = {0};
	struct policy *policy = import(
		CONF,
		LEVEL("default", "0") LEVEL("one", "1")
		"port-groups\nport-group\nname: my *\nport-guid: 1-3\nport-name: \"a*b \\\"/P1\nend-port-group\n"
		"port-group\nname: self\nnode-type: SELF\nend-port-group\nend-port-groups\n"
			RULE("source: my *, self\ndestination: my *", "one") RULE("source: self", "one"),
		NULL, &told);
	const struct policy_group *group = &policy->groups[0];

	(void)state;
	assert_int_equal(policy->group_count, 1);
	assert_string_equal(group->name, "my_");
	assert_int_equal(group->item_count, 2);
	assert_int_equal(group->items[0].guids.count, 3);
	assert_string_equal(group->items[1].names.items[0].text, "a\\*b \\\\");
	assert_int_equal(class_of(policy, 1)->match_count, 1);
	assert_int_equal(class_of(policy, 1)->matches[0].sources.count, 1);
	assert_int_equal(finding_count_code(&told, FINDING_IMPORT_LEFT_OUT), 2); /* SELF, the rule of it alone */
	assert_int_equal(finding_count_code(&told, FINDING_IMPORT_CHANGED), 1);	 /* a port by name */
	policy_free(policy);
	finding_list_clear(&told);
}

/* What the files do to each other. */
static void test_files(void **state)
{
	static const char conf_text[] = "qos TRUE\nqos_sl2vl 0,1,15,15,0,0,0,0,0,0,0,0,0,0,0,0\n";
	static const char rules_text[] = LEVEL("default", "0") LEVEL("two", "2") RULE("pkey: 1", "two");
	static const char partitions_text[] = "A=1, sl=1 : ALL;\nB=2, sl=3 : ALL;\n";
	struct finding_list reading = {0}, findings = {0};
	struct opensm_files files = {.conf_path = "c", .policy_path = "q", .partitions_path = "p"};
	struct opensm_policy_file *rules;
	struct opensm_partitions *partitions;
	struct opensm_conf *conf;
	const struct finding *f;

	(void)state;
	assert_int_equal(opensm_conf_parse(conf_text, strlen(conf_text), &conf), 0);
	assert_int_equal(opensm_policy_read("q", rules_text, strlen(rules_text), &reading, &rules), 0);
	assert_int_equal(opensm_partitions_read("p", partitions_text, strlen(partitions_text), &reading, &partitions), 0);
	files.conf = conf;
	files.policy = rules;
	files.partitions = partitions;
	assert_int_equal(opensm_files_lint(&files, &findings), 0);
	f = find(&findings, FINDING_OPENSM_SL_DROPPED);
	assert_non_null(f);
	assert_string_equal(f->file, "q");
	assert_int_equal(f->line, 10);
	f = find(&findings, FINDING_POLICY_PARTITION_SL);
	assert_string_equal(f->got, "SL 1");
	assert_string_equal(f->wanted, "SL 2");
	assert_int_equal(f->line, 1);
	f = find(&findings, FINDING_POLICY_PARTITION_DROPPED);
	assert_int_equal(f->line, 2);
	opensm_conf_free(conf);
	opensm_policy_file_free(rules);
	opensm_partitions_free(partitions);
	finding_list_clear(&reading);
	finding_list_clear(&findings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_text),    cmocka_unit_test(test_tables),
		cmocka_unit_test(test_tables_faults), cmocka_unit_test(test_import_tables),
		cmocka_unit_test(test_import_rules),  cmocka_unit_test(test_import_order),
		cmocka_unit_test(test_import_match_all), cmocka_unit_test(test_import_groups),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests_name("policy_import", tests, NULL, NULL);
}
