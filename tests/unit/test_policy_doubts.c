/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a policy may say and seldom means: shares that look like fractions, classes that nothing leads
 * to, storage among what must not wait; and what faults are told of besides their place.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/policy.h"

#define HEAD "version: 1\nclasses:\n"
#define REST "  - {name: rest, sl: 0, share: 10, default: true}\n"

/* "code line:column" of each finding with one of the codes, in the order found, "; " between. */
static void expect(const char *text, const char *wanted)
{
	static const enum finding_code codes[] = {FINDING_POLICY_SHARE_FRACTION, FINDING_POLICY_NO_WAY_IN,
						  FINDING_POLICY_AR_UNKNOWN, FINDING_POLICY_STORAGE_SHARED,
						  FINDING_POLICY_PARTITION_DROPPED, FINDING_OPENSM_HIGH_UNLIMITED,
						  FINDING_POLICY_CLASSES_VLS,
						  FINDING_OPENSM_SW0_DIFFERS};
	struct finding_list findings = {0};
	struct policy *policy;
	char got[1024] = "";
	size_t used = 0;

	assert_int_equal(policy_parse("p.yaml", text, strlen(text), &findings, &policy), 0);
	for (size_t i = 0; i < findings.count; i++)
		for (size_t c = 0; c < sizeof(codes) / sizeof(codes[0]); c++)
			if (findings.items[i].code == codes[c])
				used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%s %u:%u", used ? "; " : "",
							 finding_kind(codes[c])->code, findings.items[i].line,
							 findings.items[i].column);
	if (strcmp(got, wanted) != 0)
		fail_msg("policy:\n%s\nfindings: %s\n  wanted: %s", text, got, wanted);
	policy_free(policy);
	finding_list_clear(&findings);
}

/* No link runs more than 15 data VLs (IBA 7.6.2), and what `vls` says is all there is to be had. */
static void test_more_classes_than_vls(void **state)
{
	char text[2048] = HEAD;
	size_t used = strlen(text);

	(void)state;
	for (unsigned i = 0; i < 15; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "  - {name: c%u, sl: %u, share: 5, nccl_ib_tc: %u}\n",
					 i, i + 1, 4 * i);
	strcpy(text + used - 2, ", default: true}\n");
	expect(text, "policy-ar-unknown 3:20");
	strcat(text, "  - {name: last, sl: 0, share: 5}\n");
	expect(text, "policy-classes-vls 18:12");

	expect(HEAD "  - {name: a, sl: 0, share: 50, default: true}\n  - {name: b, sl: 1, share: 50, match: [{pkey: 1}]}\nvls: 2\n", "");
	expect(HEAD "  - {name: a, sl: 0, share: 50, default: true}\n  - {name: b, sl: 1, share: 50, match: [{pkey: 1}]}\nvls: 1\n",
	       "policy-classes-vls 4:12");
	expect("vls: 2\n" HEAD "  - {name: a, sl: 0, share: 50, default: true}\n"
	       "  - {name: b, sl: 1, share: 30, match: [{pkey: 1}]}\n  - {name: c, sl: 2, share: 20, match: [{pkey: 2}]}\n",
	       "policy-classes-vls 6:12");
	/* exact tables may put several on one */
	expect("vls: 1\n" HEAD "  - {name: a, sl: 0, share: 50, default: true}\n"
	       "  - {name: b, sl: 1, share: 50, match: [{pkey: 1}]}\n"
	       "tables: {ca: {sl2vl: '0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0', vlarb_high: '0:0', vlarb_low: '0:64', high_limit: 0}}\n", "");
}

static void test_fractions(void **state)
{
	(void)state;
	expect(HEAD "  - {name: a, sl: 1, nccl_ib_tc: 0, share: 0.3, default: true}\n  - {name: b, sl: 0, share: 70%}\n",
	       "policy-share-fraction 3:44");
	/* all of them: shared out in proportion they would come out right, but the report would not */
	expect(HEAD "  - {name: a, sl: 1, share: 0.3, default: true}\n  - {name: b, sl: 0, share: 0.7}\n",
	       "policy-share-fraction 3:29; policy-share-fraction 4:29");
	/* said with a sign it is meant; 1 is no fraction of anything */
	expect(HEAD "  - {name: a, sl: 1, share: 0.3%, default: true}\n  - {name: b, sl: 0, share: 1}\n", "");
	expect(HEAD "  - {name: a, sl: 1, share: '0.999', default: true}\n  - {name: b, sl: 0, share: 1.0}\n",
	       "policy-share-fraction 3:29");
	expect(HEAD "  - {name: a, sl: 0, share: 90, default: true}\n"
		    "overrides: {ca: {shares: [{class: a, share: 0.5}]}}\n",
	       "policy-share-fraction 4:45");
}

static void test_fraction_text(void **state)
{
	static const char text[] = HEAD "  - {name: a, sl: 0, share: 0.3, default: true}\n";
	struct finding_list findings = {0};
	struct policy *policy;

	(void)state;
	assert_int_equal(policy_parse("p.yaml", text, strlen(text), &findings, &policy), 0);
	assert_non_null(policy); /* a warning: it may be meant */
	for (size_t i = 0; i < findings.count; i++) {
		if (findings.items[i].code != FINDING_POLICY_SHARE_FRACTION)
			continue;
		assert_int_equal(findings.items[i].severity, FINDING_WARNING);
		assert_string_equal(findings.items[i].got, "0.3, which is 0.3 %");
		assert_string_equal(findings.items[i].detail, "is this a fraction? write 30%");
	}
	assert_int_equal(finding_count_code(&findings, FINDING_POLICY_SHARE_FRACTION), 1);
	policy_free(policy);
	finding_list_clear(&findings);
}

static void test_ways_in(void **state)
{
	(void)state;
	expect(HEAD "  - {name: a, sl: 1, share: 90%}\n" REST, "policy-no-way-in 3:12");
	expect(HEAD "  - {name: a, sl: 1, share: 90%, match: [{service: rds}]}\n" REST, "");
	expect(HEAD "  - {name: a, sl: 1, share: 90%, match: [{service: rds}]}\n"
		    "  - {sl: 2, share: 5%, name: b}\n" REST, "");
	/* what chooses no SL has SL 0; the default class has all that nothing claims */
	expect(HEAD "  - {name: a, sl: 0, share: 90%}\n  - {name: d, sl: 1, share: 10%, default: true}\n", "");
	/* SLs with adaptive routing: once, at the first class of NCCL that is not the default one */
	expect(HEAD "  - {name: a, sl: 1, nccl_ib_tc: 40, share: 50%}\n  - {name: b, sl: 2, nccl_ib_tc: 44, share: 40%}\n" REST,
	       "policy-ar-unknown 3:19");
	expect(HEAD "  - {name: a, sl: 1, nccl_ib_tc: 40, share: 50%, default: true}\n", "");
}

static void test_storage(void **state)
{
	static const char *const services[] = {"lustre", "nvme-of", "nfs-rdma", "iser"}, *const others[] = {"rds", "sdp"};
	char text[512];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), HEAD "  - {name: a, sl: 3, share: 90%%, default: true, match: [{service: %s}]}\n",
			 services[i]);
		expect(text, "policy-storage-shared 3:57");
	}
	for (size_t i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), HEAD "  - {name: a, sl: 3, share: 90%%, default: true, match: [{service: %s}]}\n",
			 others[i]);
		expect(text, "");
	}
	expect(HEAD "  - {name: a, sl: 3, share: 90%, default: true, match: [{service: srp, destination: g}]}\n"
		    "groups: {g: [{name: x}]}\n",
	       "policy-storage-shared 3:57");
	/* by its service ID, alone or in a range; one that ends before it is another service */
	expect(HEAD "  - {name: a, sl: 3, share: 90%, default: true, match: [{service_id: 0x010603db}]}\n",
	       "policy-storage-shared 3:57");
	expect(HEAD "  - {name: a, sl: 3, share: 90%, default: true, match: [{service_id: 0x01060000-0x0106ffff}]}\n",
	       "policy-storage-shared 3:57");
	expect(HEAD "  - {name: a, sl: 3, share: 90%, default: true, match: [{service_id: 0x010603d0-0x010603da}]}\n", "");
	/* one finding a class, at the first of its matches */
	expect(HEAD "  - {name: a, sl: 0, share: 80%, match: [{service: rds}, {service: lustre}, {service: nvme-of}]}\n"
		    "  - {name: d, sl: 1, share: 10%, default: true}\n",
	       "policy-storage-shared 3:58");
	/* IPoIB beside it, as a match or by its partition's SL */
	expect(HEAD "  - {name: a, sl: 1, share: 80%, match: [{service: lustre}, {service: ipoib}]}\n" REST,
	       "policy-storage-shared 3:42");
	expect(HEAD "  - {name: a, sl: 1, share: 80%, match: [{service: lustre}]}\n" REST
		    "partitions: [{name: p, pkey: 2, sl: 1, ipoib: true}]\n",
	       "policy-storage-shared 3:42");
	expect(HEAD "  - {name: a, sl: 1, share: 80%, match: [{service: lustre}]}\n" REST
		    "partitions: [{name: p, pkey: 2, sl: 1}]\n",
	       "");
	/* with a class and an SL of its own all is well */
	expect(HEAD "  - {name: a, sl: 1, share: 80%, match: [{service: lustre}]}\n" REST, "");
}

/* The broadcast group's SL is dropped by tables as it is by unused_sls. */
#define WANTED "opensm-sw0-differs 7:8; policy-no-way-in 3:12" /* sw0 has the tables of ca */

static void test_partition_dropped_by_tables(void **state)
{
	static const char swe[] = "  swe: {sl2vl: \"0,1,15,0,0,0,0,0,0,0,0,0,0,0,0,0\", vlarb_high: \"0:0\","
				  " vlarb_low: \"0:1,1:1\", high_limit: 0}\n";
	char text[1024];

	(void)state;
	for (unsigned sl = 1; sl < 4; sl++) {
		snprintf(text, sizeof(text),
			 HEAD "  - {name: a, sl: 1, share: 90%%}\n" REST "tables:\n"
			 "  ca: {sl2vl: \"0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0\", vlarb_high: \"0:1\", vlarb_low: \"0:1,1:1\", high_limit: 0}\n"
			 "%s"
			 "partitions: [{name: p, pkey: 1, sl: %u, ipoib: true}]\n", swe, sl);
		expect(text, sl == 2 ? "opensm-sw0-differs 7:8; policy-partition-dropped 8:37; policy-no-way-in 3:12" : WANTED);
	}
}

/* What lint tells of OpenSM's own files it tells of exact tables as well. */
static void test_exact_tables(void **state)
{
	static const struct {
		const char *high, *limit, *sw0, *wanted;
	} tables[] = {
		{"0:1", "254", "", "policy-no-way-in 3:12"},
		{"0:1", "255", "", "opensm-high-unlimited 6:7; policy-no-way-in 3:12"},
		/* nothing to send from the high table: its limit is none */
		{"0:0", "255", "", "policy-no-way-in 3:12"},
		{"0:1", "255", "  swe: {sl2vl: \"0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0\", vlarb_high: \"0:1\", vlarb_low: \"0:1,1:1\","
			       " high_limit: 255}\n",
		 "opensm-high-unlimited 6:7; opensm-high-unlimited 7:8; policy-no-way-in 3:12"},
		{"0:1", "0", "  sw0: {sl2vl: \"0,1,1,0,0,0,0,0,0,0,0,0,0,0,0,0\", vlarb_high: \"0:1\", vlarb_low: \"0:1,1:1\","
			     " high_limit: 0}\n",
		 "opensm-sw0-differs 7:8; policy-no-way-in 3:12"},
		{"0:1", "0", "  sw0: {sl2vl: \"0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0\", vlarb_high: \"0:1\", vlarb_low: \"0:1,1:1\","
			     " high_limit: 0}\n",
		 "policy-no-way-in 3:12"},
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		snprintf(text, sizeof(text),
			 HEAD "  - {name: a, sl: 1, share: 90%%}\n" REST "tables:\n"
			 "  ca: {sl2vl: \"0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0\", vlarb_high: \"%s\", vlarb_low: \"0:1,1:1\","
			 " high_limit: %s}\n%s", tables[i].high, tables[i].limit, tables[i].sw0);
		expect(text, tables[i].wanted);
	}
}

/* A key with a slip: what it is told that it may have been. */
static void test_meant_keys(void **state)
{
	static const struct {
		const char *key, *meant;
	} keys[] = {
		{"SL", "sl"},	      {"Sl", "sl"},	   {"prio", "priority"}, {"PRIORITY", "priority"}, {"def", "default"},
		{"Share", "share"},   {"SHAER", "share"},  {"nccl_tc", NULL},	 {"tc", NULL},		   {"min", "min_latency"},
		{"na", "name"},	      {"nccl", "nccl_ib_tc"}, {"zz", NULL},	 {"s", "sl"},		   {"matches", "match"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct finding_list findings = {0};
		struct policy *policy;
		char text[256], meant[64];

		snprintf(text, sizeof(text), HEAD "  - {name: a, sl: 0, share: 100%%, default: true, %s: x}\n", keys[i].key);
		assert_int_equal(policy_parse("p.yaml", text, strlen(text), &findings, &policy), 0);
		assert_null(policy);
		assert_int_equal(findings.count, 1);
		assert_int_equal(findings.items[0].code, FINDING_POLICY_KEY_UNKNOWN);
		assert_string_equal(findings.items[0].what, keys[i].key);
		assert_int_equal(findings.items[0].line, 3);
		assert_int_equal(findings.items[0].column, 50);
		snprintf(meant, sizeof(meant), "did you mean '%s'?", keys[i].meant ? keys[i].meant : "");
		if (!keys[i].meant && findings.items[0].detail)
			fail_msg("%s: %s", keys[i].key, findings.items[0].detail);
		if (keys[i].meant && (!findings.items[0].detail || strcmp(findings.items[0].detail, meant) != 0))
			fail_msg("%s: %s", keys[i].key, findings.items[0].detail ? findings.items[0].detail : "nothing");
		finding_list_clear(&findings);
	}
}

/* Tabs that indent are told as such, wherever libyaml trips over them; tabs elsewhere are not blamed. */
static void test_tabs(void **state)
{
	static const struct {
		const char *text, *got;
		unsigned line, column;
	} tabs[] = {
		{"version: 1\nclasses:\n\t- name: a\n", "a tab", 3, 1},
		{"version: 1\nclasses:\n  - name: a\n\t  sl: 1\n", "a tab", 4, 1},
		{"# \xc3\xa4\xc3\xb6\xc3\xbc\nversion: 1\nclasses:\n  - name: a\n  \tsl: 1\n", "a tab", 5, 3},
		{"version: 1\r\nclasses:\r\n\t- name: a\r\n", "a tab", 3, 1},
		{"version: 1\nclasses: [\n\t{name: @}]\n", "found character that cannot start any token", 3, 9},
		{"version: 1\nclasses: \t@\n", "found character that cannot start any token", 2, 11},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(tabs) / sizeof(tabs[0]); i++) {
		struct finding_list findings = {0};
		struct policy *policy;
		const struct finding *f;

		assert_int_equal(policy_parse("p.yaml", tabs[i].text, strlen(tabs[i].text), &findings, &policy), 0);
		assert_null(policy);
		f = &findings.items[0];
		assert_int_equal(f->code, FINDING_POLICY_SYNTAX);
		if (strcmp(f->got, tabs[i].got) != 0 || f->line != tabs[i].line || f->column != tabs[i].column)
			fail_msg("%zu: %s at %u:%u", i, f->got, f->line, f->column);
		if (strcmp(f->got, "a tab") == 0)
			assert_string_equal(f->wanted, "blanks: a tab is not allowed for indentation");
		finding_list_clear(&findings);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_more_classes_than_vls),
		cmocka_unit_test(test_fractions),
		cmocka_unit_test(test_fraction_text),
		cmocka_unit_test(test_ways_in),
		cmocka_unit_test(test_storage),
		cmocka_unit_test(test_partition_dropped_by_tables),
		cmocka_unit_test(test_exact_tables),
		cmocka_unit_test(test_meant_keys),
		cmocka_unit_test(test_tabs),
	};

	return cmocka_run_group_tests_name("policy doubts", tests, NULL, NULL);
}
