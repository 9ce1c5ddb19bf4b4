/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a policy can say beyond classes: matches, groups, partitions, overrides; what the parts must
 * be to each other; the order of rules; proposals of SLs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "ibqos/policy.h"

#define HEAD "version: 1\nclasses:\n"
#define REST "  - {name: rest, sl: 0, share: 10, default: true}\n"

/* Notes that most policies here would have: test_policy_doubts has them. */
static bool of_most(enum finding_code code)
{
	return code == FINDING_POLICY_NO_WAY_IN || code == FINDING_POLICY_AR_UNKNOWN;
}

/* "code line:column" of each finding, in the order found, "; " between. */
static char *findings_text(const struct finding_list *findings)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *between = "";

	for (size_t i = 0; i < findings->count; i++) {
		if (of_most(findings->items[i].code))
			continue;
		fprintf(out, "%s%s %u:%u", between, finding_kind(findings->items[i].code)->code,
			findings->items[i].line, findings->items[i].column);
		between = "; ";
	}
	assert_int_equal(text_stream_end(out, &text), 0);
	return text;
}

static struct policy *parse(const char *text, struct finding_list *findings)
{
	struct policy *policy;

	memset(findings, 0, sizeof(*findings));
	assert_int_equal(policy_parse("p.yaml", text, strlen(text), findings, &policy), 0);
	assert_int_equal(policy != NULL, finding_count(findings, FINDING_CRITICAL) == 0);
	return policy;
}

static void expect(const char *text, const char *wanted)
{
	struct finding_list findings;
	struct policy *policy = parse(text, &findings);
	char *got = findings_text(&findings);

	if (strcmp(got, wanted) != 0)
		fail_msg("policy:\n%s\nfindings: %s\n  wanted: %s", text, got, wanted);
	free(got);
	policy_free(policy);
	finding_list_clear(&findings);
}

/* The findings of class a, SL 1, with these keys; its list of matches begins at 3:41. */
static void expect_match(const char *match, const char *more, const char *wanted)
{
	char text[2048];

	snprintf(text, sizeof(text), HEAD "  - {name: a, sl: 1, share: 50%%, match: [%s]}\n"
		 "  - {name: b, sl: 2, share: 40%%}\n" REST "%s", match, more);
	expect(text, wanted);
}

static const struct finding *only(const struct finding_list *findings)
{
	assert_int_equal(findings->count, 1);
	return &findings->items[0];
}

static void test_everything(void **state)
{
	static const char text[] =
		"version: 1\n"
		"vls: 8\n"
		"classes:\n"
		"  - name: training\n"
		"    sl: 1\n"
		"    nccl_ib_tc: [104, 96]\n"
		"    share: 60%\n"
		"  - name: storage\n"
		"    sl: 2\n"
		"    share: 25%\n"
		"    match:\n"
		"      - service: nfs-rdma\n"
		"        source: [gpu, oss]\n"
		"        destination: oss\n"
		"      - {service_id: [0x10-0x1f, 7], qos_class: 12-14, pkey: 0x8005}\n"
		"      - {partition: backup}\n"
		"  - {name: beat, sl: 5, share: 5%, min_latency: true}\n"
		"  - {name: rest, sl: 0, share: 10%, default: true}\n"
		"groups:\n"
		"  oss: [{name: [\"oss*\", mds], node_type: ca}, {guid: 0xffffffffffffffff}]\n"
		"  gpu:\n"
		"    - {node_type: [router, switch]}\n"
		"partitions:\n"
		"  - {name: backup, pkey: 0xffff, sl: 2, ipoib: true}\n"
		"overrides:\n"
		"  ca: {high_limit: 0}\n"
		"  swe: {shares: [{class: beat, share: 1%}]}\n";
	struct finding_list findings;
	struct policy *policy = parse(text, &findings);
	const struct policy_match *match;
	const struct policy_group *group;

	(void)state;
	assert_non_null(policy);
	assert_int_equal(policy->vls, 8);
	assert_int_equal(policy->vls_mark.line, 2);
	assert_int_equal(policy->classes[0].nccl_ib_tc, 104);
	assert_int_equal(policy->classes[0].more_tcs.count, 1);
	assert_int_equal(policy->classes[0].more_tcs.items[0].low, 96);
	assert_int_equal(policy->classes[0].tc_mark.column, 18);
	assert_int_equal(policy->classes[0].more_tcs.items[0].mark.column, 23);
	assert_int_equal(policy->classes[1].match_count, 3);
	match = &policy->classes[1].matches[0];
	assert_string_equal(match->service->name, "nfs-rdma");
	assert_int_equal(match->service->low, 0x01064e51);
	assert_int_equal(match->mark.line, 12);
	assert_int_equal(match->mark.column, 9);
	assert_int_equal(match->sources.count, 2);
	assert_string_equal(match->sources.items[1].text, "oss");
	assert_int_equal(match->destinations.count, 1);
	match = &policy->classes[1].matches[1];
	assert_int_equal(match->service_ids.count, 2);
	assert_int_equal(match->service_ids.items[0].low, 0x10);
	assert_int_equal(match->service_ids.items[0].high, 0x1f);
	assert_int_equal(match->service_ids.items[1].low, 7);
	assert_int_equal(match->service_ids.items[1].high, 7);
	assert_int_equal(match->qos_classes.items[0].high, 14);
	assert_int_equal(match->pkey, 5);
	assert_int_equal(policy->classes[1].matches[2].pkey, 0x7fff);
	assert_true(policy->classes[2].min_latency);
	assert_int_equal(policy->classes[2].priority, POLICY_PRIORITY_HIGH);
	group = policy_find_group(policy, "oss");
	assert_non_null(group);
	assert_int_equal(group->item_count, 2);
	assert_string_equal(group->items[0].names.items[0].text, "oss*");
	assert_int_equal(group->items[0].node_types, 1u << FABRIC_CA);
	assert_true(group->items[1].guids.items[0].low == UINT64_MAX);
	group = policy_find_group(policy, "gpu");
	assert_int_equal(group->items[0].node_types, 1u << FABRIC_SWITCH | 1u << FABRIC_ROUTER);
	assert_null(policy_find_group(policy, "GPU"));
	assert_int_equal(policy->partition_count, 1);
	assert_int_equal(policy->partitions[0].pkey, 0x7fff);
	assert_true(policy->partitions[0].ipoib);
	assert_true(policy->overrides[QOS_PORT_CA].given);
	assert_int_equal(policy->overrides[QOS_PORT_CA].high_limit, 0);
	assert_true(policy->overrides[QOS_PORT_SWE].given);
	assert_int_equal(policy->overrides[QOS_PORT_SWE].high_limit, POLICY_NO_LIMIT);
	assert_true(policy->overrides[QOS_PORT_SWE].shares[0].share == 1);
	assert_false(policy->overrides[QOS_PORT_RTR].given);
	assert_false(policy->overrides[QOS_PORT_SW0].given);
	policy_free(policy);
	finding_list_clear(&findings);
}

/* Each value that a list may have, and each that it may not. */
static const struct {
	const char *match, *wanted;
} values[] = {
	{"{service_id: 0}", ""},
	{"{service_id: 18446744073709551615}", ""},
	{"{service_id: 0xffffffffffffffff}", ""},
	{"{service_id: 0x1-5}", ""},
	{"{service_id: 5-5}", ""},
	{"{service_id: 18446744073709551616}", "policy-range 3:55"},
	{"{service_id: 0x10000000000000000}", "policy-range 3:55"},
	{"{service_id: 99999999999999999999999}", "policy-range 3:55"},
	{"{service_id: 5-4}", "policy-range 3:55"},
	{"{service_id: -4}", "policy-range 3:55"},
	{"{service_id: 4-}", "policy-type 3:55"},
	{"{service_id: 4--5}", "policy-type 3:55"},
	{"{service_id: 4-5-6}", "policy-type 3:55"},
	{"{service_id: 010}", "policy-type 3:55"},
	{"{service_id: '5'}", "policy-type 3:55"},
	{"{service_id: 4 - 5}", "policy-type 3:55"},
	{"{service_id: nfs}", "policy-type 3:55"},
	{"{service_id: {a: 1}}", "policy-type 3:55"},
	{"{service_id: []}", "policy-range 3:55"},
	{"{service_id: [[1]]}", "policy-type 3:56"},
	{"{service_id: [1, x, 2-1]}", "policy-type 3:59; policy-range 3:62"},
	{"{qos_class: 256}", "policy-range 3:54"},
	{"{qos_class: 250-256}", "policy-range 3:54"},
	{"{pkey: 0}", "policy-range 3:49"},
	{"{pkey: 0x8000}", "policy-range 3:49"},
	{"{pkey: 0x10000}", "policy-range 3:49"},
	{"{pkey: [1]}", "policy-type 3:49"},
	{"{pkey: 0x7fff}", ""},
	{"{pkey: 32767}", ""},
	{"{}", "policy-empty 3:42"},
	{"", "policy-range 3:41"},
	{"x", "policy-type 3:42"},
	{"{service: nfs}", "policy-range 3:52"},
	{"{service: lustre, service: rds}", "policy-key-double 3:60"},
	{"{service: nccl}", "policy-never-asks 3:52"},
	{"{service: mpi}", "policy-never-asks 3:52"},
	{"{source: a b}", "policy-range 3:51"},
	{"{source: a}", "policy-name-unknown 3:51"},
	{"{destination: [a, b]}", "policy-name-unknown 3:57; policy-name-unknown 3:60"},
	{"{partition: p}", "policy-name-unknown 3:54"},
	{"{servcie: rds}", "policy-key-unknown 3:43"},
	/* keys that exclude or need each other */
	{"{service: rds, service_id: 1}", "policy-key-conflict 3:52"},
	{"{service: srp}", "policy-key-conflict 3:52"},
	{"{service: ipoib, qos_class: 1}", "policy-key-conflict 3:52"},
	{"{pkey: 1, partition: p}", "policy-key-conflict 3:63"},
};

static void test_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		expect_match(values[i].match, "", values[i].wanted);
	/* the note that IPv6 sends none, once */
	expect_match("{qos_class: 255}", "", "policy-ipv6 3:54");
	expect_match("{qos_class: 1}, {qos_class: 2}", "", "policy-ipv6 3:54");
}

static void test_lists_end(void **state)
{
	char list[512] = "{service_id: [1", *end = list + strlen(list);

	(void)state;
	for (int i = 2; i <= 32; i++)
		end += sprintf(end, ",%d", i);
	strcpy(end, "]}");
	expect_match(list, "", "");
	strcpy(end, ",33]}");
	expect_match(list, "", "policy-range 3:143");
}

static void test_groups(void **state)
{
	(void)state;
	expect_match("{source: g}", "groups: {g: [{name: x}]}\n", "");
	expect_match("{source: g}", "groups: {g: []}\n", "policy-range 6:13");
	expect_match("{source: g}", "groups: {g: {name: x}}\n", "policy-type 6:13; policy-name-unknown 3:51");
	expect_match("{source: g}", "groups: {g: [{}]}\n", "policy-empty 6:14");
	expect_match("{source: g}", "groups: {g: [{guid: 0}]}\n", "policy-range 6:21");
	expect_match("{source: g}", "groups: {g: [{node_type: hca}]}\n", "policy-range 6:26");
	expect_match("{source: g}", "groups: {g: [{name: \"a\\e\"}]}\n", "policy-range 6:21");
	expect_match("{source: g}", "groups: {g: [{name: x}], g: [{name: y}]}\n", "policy-key-double 6:26");
	expect_match("{source: g}", "groups: {g: [{name: x}], 7: [{name: y}]}\n", "policy-range 6:26");
	expect_match("{source: g}", "groups: [g]\n", "policy-type 6:9; policy-name-unknown 3:51");
	expect_match("{pkey: 1}", "groups: {g: [{name: x}]}\n", "policy-group-unused 6:10");
}

static void test_partitions(void **state)
{
	struct finding_list findings;

	(void)state;
	expect_match("{partition: p}", "partitions: [{name: p, pkey: 1}]\n", "");
	expect_match("{partition: p}", "partitions: [{name: p}]\n", "policy-key-missing 6:14");
	expect_match("{partition: p}", "partitions: [{name: p, pkey: 1}, {name: p, pkey: 2}]\n",
		     "policy-partition-clash 6:41");
	expect_match("{partition: p}", "partitions: [{name: p, pkey: 1}, {name: q, pkey: 0x8001}]\n",
		     "policy-partition-clash 6:50");
	/* paths of p are in class a, SL 1; those of q in the default class, SL 0 */
	expect_match("{partition: p}", "partitions: [{name: p, pkey: 1, sl: 1}, {name: q, pkey: 2, sl: 0}]\n", "");
	expect_match("{partition: p}", "partitions: [{name: p, pkey: 1, sl: 2}, {name: q, pkey: 2, sl: 1}]\n",
		     "policy-partition-sl 6:37; policy-partition-sl 6:64");
	/* a narrower match does not have all of the partition */
	expect_match("{partition: p, service: rds}", "partitions: [{name: p, pkey: 1, sl: 1}]\n",
		     "policy-partition-sl 6:37");
	expect_match("{pkey: 1}", "unused_sls: drop\npartitions: [{name: p, pkey: 1, sl: 9}]\n",
		     "policy-partition-dropped 7:37");
	policy_free(parse(HEAD "  - {name: a, sl: 4, share: 1%, match: [{pkey: 1}]}\n" REST
			  "partitions: [{name: p, pkey: 1, sl: 2}]\n",
			  &findings));
	assert_int_equal(findings.items[1].code, FINDING_POLICY_PARTITION_SL);
	assert_string_equal(findings.items[1].wanted, "SL 4");
	assert_string_equal(findings.items[1].got, "SL 2");
	finding_list_clear(&findings);
}

static void test_ipoib(void **state)
{
	(void)state;
	expect_match("{service: ipoib}", "", "policy-ipoib-multicast 3:52");
	expect_match("{service: ipoib}", "partitions: [{name: p, pkey: 0xffff, sl: 1, ipoib: true}]\n", "");
	expect_match("{service: ipoib}", "partitions: [{name: p, pkey: 0xffff, ipoib: true}]\n",
		     "policy-ipoib-multicast 3:52");
	expect_match("{service: ipoib, partition: p}", "partitions: [{name: p, pkey: 3, sl: 1}]\n", "");
}

static void test_latency_and_vls(void **state)
{
	(void)state;
	expect(HEAD "  - {name: a, sl: 1, share: 90%, min_latency: true, priority: high}\n" REST, "");
	expect(HEAD "  - {name: a, sl: 1, share: 90%, min_latency: false, priority: normal}\n" REST, "");
	expect(HEAD "  - {name: a, sl: 1, share: 90%, min_latency: true, priority: normal}\n" REST,
	       "policy-key-conflict 3:63");
	expect(HEAD "  - {name: a, sl: 1, share: 90%}\n" REST "vls: 15\n", "");
	expect(HEAD "  - {name: a, sl: 1, share: 90%}\n" REST "vls: 3\n", "policy-range 5:6");
	expect(HEAD "  - {name: a, sl: 1, share: 90%}\n" REST "vls: 16\n", "policy-range 5:6");
	expect(HEAD "  - {name: a, sl: 1, share: 90%}\n" REST "vls: four\n", "policy-type 5:6");
}

static void test_overrides(void **state)
{
	static const char plain[] = HEAD "  - {name: a, sl: 1, share: 90%}\n" REST "overrides: ",
			  high[] = HEAD "  - {name: a, sl: 1, share: 90%, priority: high}\n" REST "overrides: ";
	static const struct {
		const char *head, *overrides, *wanted;
	} cases[] = {
		{high, "{ca: {high_limit: 254}}", ""},
		{high, "{ca: {high_limit: 255}}", "policy-range 5:30"},
		{plain, "{ca: {high_limit: 1}}", "policy-override 5:30"},
		{plain, "{ca: {}}", "policy-empty 5:17"},
		{plain, "{}", "policy-empty 5:12"},
		{plain, "{sw0: {high_limit: 1}}", "policy-key-unknown 5:13"},
		{plain, "{swe: {shares: [{class: a, share: 50%}]}}", ""},
		{plain, "{rtr: {shares: [{class: a, share: 90%}, {class: rest, share: 11%}]}}", "policy-share-sum 5:27"},
		{plain, "{swe: {shares: [{class: a, share: 91%}]}}", "policy-share-sum 5:27"},
		{plain, "{swe: {shares: [{class: b, share: 5%}]}}", "policy-name-unknown 5:36"},
		{plain, "{swe: {shares: [{class: a, share: 5%}, {class: a, share: 6%}]}}", "policy-key-double 5:59"},
		{plain, "{swe: {shares: [{class: a}]}}", "policy-key-missing 5:28"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[512];

		snprintf(text, sizeof(text), "%s%s\n", cases[i].head, cases[i].overrides);
		expect(text, cases[i].wanted);
	}
}

/* The rules of two classes, in lines 3 and 4: what the second is told. */
static void expect_pair(const char *first, const char *second, const char *wanted)
{
	char text[1024];

	snprintf(text, sizeof(text), HEAD "  - {name: a, sl: 1, share: 50%%, %s}\n  - {name: b, sl: 2, share: 40%%, %s}\n" REST
		 "groups: {g: [{name: g}], h: [{name: h}]}\n", first, second);
	expect(text, wanted);
}

#define UNUSED_G "policy-group-unused 6:10; "
#define UNUSED_H "policy-group-unused 6:26"
#define UNUSED UNUSED_G UNUSED_H

static void test_rules_that_meet(void **state)
{
	(void)state;
	expect_pair("match: [{service: lustre}]", "match: [{service: rds}]", UNUSED);
	expect_pair("match: [{service: lustre}]", "match: [{service_id: 0x010603db}]",
		    UNUSED "; policy-match-hidden 4:42");
	expect_pair("match: [{service_id: [1-5, 6-9]}]", "match: [{service_id: 4-8}]", UNUSED "; policy-match-hidden 4:42");
	expect_pair("match: [{service_id: [1-5, 7-9]}]", "match: [{service_id: 4-8}]",
		    UNUSED "; policy-match-overlap 4:42");
	expect_pair("match: [{service_id: 4-8}]", "match: [{service_id: 4-8, pkey: 3}]", UNUSED "; policy-match-hidden 4:42");
	/* the narrow one first: what both match is the first one's, as meant or not */
	expect_pair("match: [{service_id: 4-8, pkey: 3}]", "match: [{service_id: 4-8}]",
		    UNUSED "; policy-match-overlap 4:42");
	expect_pair("match: [{pkey: 3, service_id: 1}]", "match: [{pkey: 4, service_id: 1}]", UNUSED);
	expect_pair("match: [{pkey: 3}]", "match: [{service_id: 1}]", UNUSED "; policy-match-either 4:42");
	expect_pair("match: [{service_id: 1}]", "match: [{service: ipoib}]", UNUSED "; policy-ipoib-multicast 4:52");
	/* of groups with other names nothing is known here */
	expect_pair("match: [{source: g}]", "match: [{source: h}]", "");
	expect_pair("match: [{source: [g, h]}]", "match: [{source: h}]", "policy-match-hidden 4:42");
	expect_pair("match: [{source: g}]", "match: [{destination: g}]", UNUSED_H "; policy-match-either 4:42");
	/* QoS classes */
	expect_pair("nccl_ib_tc: 40", "match: [{qos_class: 40}]",
		    UNUSED "; policy-qos-class-clash 4:42; policy-ipv6 4:54");
	expect_pair("match: [{qos_class: 1-8}]", "match: [{qos_class: 8}]",
		    UNUSED "; policy-qos-class-clash 4:42; policy-ipv6 3:54");
	expect_pair("nccl_ib_tc: 40", "match: [{qos_class: 40, pkey: 3}]",
		    UNUSED "; policy-match-hidden 4:42; policy-ipv6 4:54");
	expect_pair("nccl_ib_tc: [44, 40]", "nccl_ib_tc: 40", "policy-tc-clash 4:46; " UNUSED);
	expect_pair("nccl_ib_tc: 40", "nccl_ib_tc: [0, 48, 40]", "policy-tc-clash 4:54; " UNUSED);
	expect_pair("nccl_ib_tc: [40, 41]", "nccl_ib_tc: 0", "policy-tc-ecn 3:51; " UNUSED);
	/* nobody asks for NCCL */
	expect_pair("nccl_ib_tc: 40, match: [{service: rds}]", "nccl_ib_tc: 44",
		    UNUSED "; policy-match-not-nccl 3:58");
	/* within a class anything goes */
	expect_pair("match: [{pkey: 3}, {pkey: 3}, {pkey: 3, service: rds}]", "nccl_ib_tc: 44", UNUSED);
}

static void test_both_places_are_named(void **state)
{
	struct finding_list findings;
	struct policy *policy = parse(HEAD "  - {name: a, sl: 1, share: 50%, match: [{service: nvme-of}]}\n"
				      "  - {name: b, sl: 2, share: 50%, match: [{service_id: 0x01061100-0x01061200}]}\n"
				      "  - {name: c, sl: 0, share: 0.000000001%, default: true}\n",
				      &findings);
	const struct finding *f = only(&findings);

	(void)state;
	assert_non_null(policy);
	assert_int_equal(f->code, FINDING_POLICY_MATCH_OVERLAP);
	assert_int_equal(f->severity, FINDING_WARNING);
	assert_int_equal(f->line, 4);
	assert_string_equal(f->what, "match of class 'b'");
	assert_string_equal(f->got, "service ID 0x1061100-0x1061200");
	assert_string_equal(f->detail, "class 'a' in line 3 comes first: nvme-of: service ID 0x1061144");
	policy_free(policy);
	finding_list_clear(&findings);
}

static void test_order_of_rules(void **state)
{
	static const char *const wanted[] = {
		"a: service ID 0x1-0x4,0x9",
		"b: QoS class 8, 40, 44",
		"b: P_Key 0x3; from g or h; to g",
		"rest: service ID 0x10000-0x1ffff",
		"a: P_Key 0x7fff",
		"b: to h",
	};
	struct finding_list findings;
	struct policy *policy =
		parse(HEAD "  - {name: a, sl: 1, share: 50%, match: [{service: ipoib}, {service_id: [9, 3-4, 1, 2]}]}\n"
			   "  - {name: b, sl: 2, share: 40%, nccl_ib_tc: [44, 8, 40], match: [{service: srp, destination: h},"
			   " {pkey: 3, source: [g, h], destination: g}]}\n"
			   "  - {name: rest, sl: 0, share: 10%, default: true, match: [{service: sdp}]}\n"
			   "groups: {g: [{name: g}], h: [{name: h}]}\n",
		      &findings);
	struct policy_rule *rules;
	size_t count;

	(void)state;
	assert_non_null(policy);
	assert_int_equal(policy_rules(policy, &rules, &count), 0);
	assert_int_equal(count, 6);
	for (size_t i = 0; i < count; i++) {
		char got[256], *text = policy_rule_text(&rules[i]), *at = text;

		assert_non_null(text);
		if (rules[i].match && rules[i].match->service) /* the service's name stands before */
			at = strchr(text, ':') + 2;
		snprintf(got, sizeof(got), "%s: %s", policy->classes[rules[i].class].name, at);
		for (char *comma; i == 0 && (comma = strstr(got, ", ")) != NULL;)
			memmove(comma + 1, comma + 2, strlen(comma + 1));
		assert_string_equal(got, wanted[i]);
		assert_int_equal(rules[i].loose, i >= 4);
		free(text);
	}
	policy_rules_free(rules, count);
	policy_free(policy);
	finding_list_clear(&findings);
}

/* A policy for which SLs are to be proposed, read as a draft. */
static struct policy *draft(const char *text, struct finding_list *findings)
{
	char path[] = "/tmp/ibqos-test-draft-XXXXXX";
	struct policy *policy;
	int fd = mkstemp(path);
	FILE *f;

	assert_true(fd >= 0);
	f = fdopen(fd, "w");
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	memset(findings, 0, sizeof(*findings));
	assert_int_equal(policy_read_draft(path, findings, &policy), 0);
	remove(path);
	return policy;
}

static void test_proposals(void **state)
{
	struct finding_list findings;
	unsigned sl[QOS_SLS];
	char text[POLICY_SL_TEXT];
	/* 1 is taken; 3 is DeepEP's; 2 is 98 mod 16; so 4 and 5; the default class has what chooses none */
	struct policy *policy = draft(HEAD "  - {name: a, share: 20%}\n  - {name: b, sl: 1, share: 20%}\n"
					   "  - {name: c, share: 20%, nccl_ib_tc: [96, 98]}\n"
					   "  - {name: d, share: 40%, default: true}\n",
				      &findings);

	(void)state;
	assert_non_null(policy);
	assert_int_equal(finding_count(&findings, FINDING_WARNING), 3);
	assert_int_equal(finding_count_code(&findings, FINDING_POLICY_KEY_MISSING), 3);
	assert_int_equal(policy_suggest_sls(policy, sl), 0);
	assert_int_equal(sl[0], 4);
	assert_int_equal(sl[1], 1);
	assert_int_equal(sl[2], 5);
	assert_int_equal(sl[3], 0);
	assert_true(policy_sl_self_chosen(policy, 2, text));
	assert_non_null(strstr(text, "NCCL_IB_TC=98"));
	assert_true(policy_sl_self_chosen(policy, 3, text));
	assert_true(policy_sl_self_chosen(policy, 0, text));
	assert_false(policy_sl_self_chosen(policy, 7, text));
	assert_string_equal(text, "");
	policy_free(policy);
	finding_list_clear(&findings);

	/* not as a draft it is a fault, and other keys are missed in a draft too */
	expect(HEAD "  - {name: a, share: 20%}\n" REST, "policy-key-missing 3:5; policy-share-spare 4:32");
	policy = draft(HEAD "  - {name: a}\n" REST, &findings);
	assert_null(policy);
	assert_int_equal(finding_count(&findings, FINDING_CRITICAL), 1);
	finding_list_clear(&findings);
}

static void test_proposals_run_out(void **state)
{
	struct policy_class classes[QOS_SLS] = {{0}};
	struct policy policy = {.classes = classes, .class_count = QOS_SLS, .default_class = 3};
	unsigned sl[QOS_SLS], seen = 0;

	(void)state;
	for (unsigned i = 0; i < QOS_SLS; i++)
		classes[i].nccl_ib_tc = POLICY_NO_TC;
	assert_int_equal(policy_suggest_sls(&policy, sl), 0);
	for (unsigned i = 0; i < QOS_SLS; i++)
		seen |= 1u << sl[i];
	assert_int_equal(seen, 0xffff);
	assert_int_equal(sl[3], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_lists_end),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_partitions),
		cmocka_unit_test(test_ipoib),
		cmocka_unit_test(test_latency_and_vls),
		cmocka_unit_test(test_overrides),
		cmocka_unit_test(test_rules_that_meet),
		cmocka_unit_test(test_both_places_are_named),
		cmocka_unit_test(test_order_of_rules),
		cmocka_unit_test(test_proposals),
		cmocka_unit_test(test_proposals_run_out),
	};

	return cmocka_run_group_tests_name("policy language", tests, NULL, NULL);
}
