/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The policy file: what is read from a good one, and every fault of bad ones with its place.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibqos/policy.h"

#define DEFAULT_CLASS "  - {name: rest, sl: 0, share: 100%, default: true}\n"

/* Notes that most policies here would have: test_policy_doubts has them. */
static bool of_most(enum finding_code code)
{
	return code == FINDING_POLICY_NO_WAY_IN || code == FINDING_POLICY_AR_UNKNOWN;
}

/* "code line:column" of each finding, in the order found, "; " between. */
static void findings_text(const struct finding_list *findings, char *text, size_t size)
{
	FILE *out = fmemopen(text, size, "w");
	const char *between = "";

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *f = &findings->items[i];

		assert_string_equal(f->file, "p.yaml");
		if (of_most(f->code))
			continue;
		fprintf(out, "%s%s %u:%u", between, finding_kind(f->code)->code, f->line, f->column);
		between = "; ";
	}
	fclose(out);
}

static void expect_bytes(const char *text, size_t size, const char *wanted)
{
	struct finding_list findings = {0};
	struct policy *policy;
	char got[4096] = "";

	assert_int_equal(policy_parse("p.yaml", text, size, &findings, &policy), 0);
	findings_text(&findings, got, sizeof(got));
	if (strcmp(got, wanted) != 0)
		fail_msg("policy:\n%.500s\nfindings: %s\n  wanted: %s", text, got, wanted);
	assert_int_equal(policy != NULL, finding_count(&findings, FINDING_CRITICAL) == 0);
	policy_free(policy);
	finding_list_clear(&findings);
}

static void expect(const char *text, const char *wanted)
{
	expect_bytes(text, strlen(text), wanted);
}

/* The class's keys given after a good name, SL and share, which start at 4:5. */
static void expect_class(const char *keys, const char *wanted)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "version: 1\nclasses:\n  - {name: rest, sl: 0, share: 10%%, default: true}\n  - %s\n", keys);
	expect(text, wanted);
}

static struct policy *good(const char *text, struct finding_list *findings)
{
	struct policy *policy;

	memset(findings, 0, sizeof(*findings));
	assert_int_equal(policy_parse("p.yaml", text, strlen(text), findings, &policy), 0);
	assert_non_null(policy);
	return policy;
}

static void test_whole_policy(void **state)
{
	struct finding_list findings;
	struct policy *policy =
		good("# who matters\n"
		     "version: 1\n"
		     "classes:\n"
		     "  - name: training\n"
		     "    sl: 1\n"
		     "    nccl_ib_tc: 104\n"
		     "    share: 62.5%\n"
		     "    priority: high\n"
		     "  - name: storage_2-b\n"
		     "    share: 20\n"
		     "    sl: 15\n"
		     "  - {name: \"other\", sl: 0, share: '17.5%', default: true, priority: normal}\n"
		     "unused_sls: drop\n"
		     "opensm:\n"
		     "  config: /a/b.conf\n"
		     "  qos_policy: /c\n"
		     "  log: \"/d e\"\n",
		     &findings);

	(void)state;
	assert_int_equal(findings.count, 2);
	assert_int_equal(findings.items[0].code, FINDING_POLICY_NO_WAY_IN);
	assert_int_equal(findings.items[1].code, FINDING_POLICY_AR_UNKNOWN);
	assert_string_equal(policy->path, "p.yaml");
	assert_int_equal(policy->class_count, 3);
	assert_string_equal(policy->classes[0].name, "training");
	assert_int_equal(policy->classes[0].sl, 1);
	assert_int_equal(policy->classes[0].nccl_ib_tc, 104);
	assert_true(policy->classes[0].share == 62.5);
	assert_int_equal(policy->classes[0].priority, POLICY_PRIORITY_HIGH);
	assert_false(policy->classes[0].is_default);
	assert_int_equal(policy->classes[0].mark.line, 4);
	assert_int_equal(policy->classes[0].mark.column, 11);
	assert_int_equal(policy->classes[0].sl_mark.line, 5);
	assert_int_equal(policy->classes[0].sl_mark.column, 9);
	assert_int_equal(policy->classes[0].tc_mark.line, 6);
	assert_int_equal(policy->classes[0].share_mark.line, 7);
	assert_string_equal(policy->classes[1].name, "storage_2-b");
	assert_int_equal(policy->classes[1].sl, 15);
	assert_int_equal(policy->classes[1].nccl_ib_tc, POLICY_NO_TC);
	assert_true(policy->classes[1].share == 20);
	assert_int_equal(policy->classes[1].priority, POLICY_PRIORITY_NORMAL);
	assert_true(policy->classes[2].share == 17.5);
	assert_true(policy->classes[2].is_default);
	assert_int_equal(policy->default_class, 2);
	assert_int_equal(policy->unused_sls, POLICY_UNUSED_DROP);
	assert_int_equal(policy->unused_mark.line, 13);
	assert_int_equal(policy->unused_mark.column, 13);
	assert_string_equal(policy->opensm_config, "/a/b.conf");
	assert_string_equal(policy->opensm_qos_policy, "/c");
	assert_string_equal(policy->opensm_log, "/d e");
	policy_free(policy);
	policy_free(NULL);
	finding_list_clear(&findings);
}

static void test_defaults(void **state)
{
	struct finding_list findings;
	struct policy *policy = good("version: 1\nclasses:\n" DEFAULT_CLASS, &findings);

	(void)state;
	assert_int_equal(findings.count, 0);
	assert_int_equal(policy->unused_sls, POLICY_UNUSED_DEFAULT);
	assert_string_equal(policy->opensm_config, "/etc/opensm/opensm.conf");
	assert_null(policy->opensm_qos_policy);
	assert_null(policy->opensm_log);
	policy_free(policy);
}

/* A shell's or an editor's habits that change nothing: BOM, CRLF, a document start, comments, tabs after
 * values. */
static void test_harmless(void **state)
{
	(void)state;
	expect("\xef\xbb\xbfversion: 1\nclasses:\n" DEFAULT_CLASS, "");
	expect("version: 1\r\nclasses:\r\n  - name: a\r\n    sl: 0\r\n    share: 100%\r\n    default: true\r\n",
	       "");
	expect("--- # x\nversion: 1\nclasses:\n" DEFAULT_CLASS "...\n", "");
	expect("%YAML 1.1\n---\nversion: 1\nclasses:\n" DEFAULT_CLASS, "");
	expect("{version: 1, classes: [{name: a, sl: 0, share: 100, default: true}]}", "");
	expect("\"version\": 1\n'classes':\n" DEFAULT_CLASS, "");
	/* places count from behind the BOM, and in characters */
	expect("\xef\xbb\xbfversion: 2\nclasses:\n" DEFAULT_CLASS, "policy-range 1:10");
	expect("version: 1\r\nclasses:\r\n" DEFAULT_CLASS "unused_sls: x\r\n", "policy-range 4:13");
	expect("version: 1\nclasses:\n  - {name: \xc3\xa4\xc3\xb6, sl: 16, share: 100%, default: true}\n",
	       "policy-range 3:12; policy-range 3:20");
}

static void test_unknown_keys(void **state)
{
	struct finding_list findings = {0};
	struct policy *policy;
	static const char text[] =
		"version: 1\nclases: []\nclasses:\n  - {name: a, sl: 0, shaer: 1, share: 100%,\n"
		"     default: true, zz: 1}\n<<: {}\nopensm: {conf: /x}\n";

	(void)state;
	assert_int_equal(policy_parse("p.yaml", text, strlen(text), &findings, &policy), 0);
	assert_null(policy);
	assert_int_equal(findings.count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(findings.items[i].code, FINDING_POLICY_KEY_UNKNOWN);
	assert_int_equal(findings.items[0].line, 2);
	assert_int_equal(findings.items[0].column, 1);
	assert_string_equal(findings.items[0].what, "clases");
	assert_string_equal(findings.items[0].got, "clases");
	assert_string_equal(findings.items[0].detail, "did you mean 'classes'?");
	assert_string_equal(findings.items[0].wanted, "one of version, name, classes, unused_sls, vls, groups, partitions, tables, overrides, links, counters, opensm");
	assert_int_equal(findings.items[1].line, 4);
	assert_int_equal(findings.items[1].column, 22);
	assert_string_equal(findings.items[1].detail, "did you mean 'share'?");
	assert_string_equal(findings.items[1].wanted,
			    "one of name, sl, nccl_ib_tc, share, priority, min_latency, default, match");
	assert_int_equal(findings.items[2].line, 5);
	assert_null(findings.items[2].detail);
	assert_null(findings.items[3].detail);
	assert_string_equal(findings.items[4].detail, "did you mean 'config'?");
	finding_list_clear(&findings);
}

static void test_doubled_keys(void **state)
{
	(void)state;
	expect("version: 1\nversion: 1\nclasses:\n" DEFAULT_CLASS, "policy-key-double 2:1");
	expect("version: 1\nclasses:\n" DEFAULT_CLASS "classes: []\n", "policy-key-double 4:1");
	expect_class("{name: a, sl: 1, share: 90%, sl: 2}", "policy-key-double 4:34");
	/* the first one faulty: both are told */
	expect_class("{name: a, sl: 16, share: 90%, sl: 2}", "policy-range 4:19; policy-key-double 4:35");
}

static void test_missing_keys(void **state)
{
	(void)state;
	expect("classes:\n" DEFAULT_CLASS, "policy-key-missing 1:1");
	expect("version: 1\n", "policy-key-missing 1:1");
	expect("unused_sls: drop\n", "policy-key-missing 1:1; policy-key-missing 1:1");
	expect_class("{}", "policy-key-missing 4:5; policy-key-missing 4:5; policy-key-missing 4:5");
	expect_class("{name: a, share: 90%}", "policy-key-missing 4:5");
}

static const struct {
	const char *value, *wanted;
} sls[] = {
	{"0x1", "type"},    {"01", "type"},   {"010", "type"},
	{"+1", "type"},     {"1.0", "type"},  {"1e0", "type"},
	{"'1'", "type"},    {"one", "type"},  {"", "type"},
	{"~", "type"},      {"true", "type"}, {"[1]", "type"},
	{"{a: 1}", "type"}, {"1_0", "type"},  {"1 2", "type"},
	{"0o1", "type"},    {"-", "type"},    {"16", "range"},
	{"-1", "range"},    {"-0", "range"},  {"99999999999999999999999", "range"},
	{"1", NULL},        {"15", NULL},
};

static void test_integers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sls) / sizeof(*sls); i++) {
		char text[128], wanted[64] = "";

		snprintf(text, sizeof(text), "{name: a, share: 90%%, sl: %s}", sls[i].value);
		if (sls[i].wanted)
			snprintf(wanted, sizeof(wanted), "policy-%s 4:%d", sls[i].wanted, 31);
		expect_class(text, wanted);
	}
	expect_class("{name: a, share: 90%, sl: 1, nccl_ib_tc: 256}", "policy-range 4:46");
	expect_class("{name: a, share: 90%, sl: 1, nccl_ib_tc: 0x28}", "policy-type 4:46");
	expect_class("{name: a, share: 90%, sl: 1, nccl_ib_tc: 252}", "");
	expect("version: 2\nclasses:\n" DEFAULT_CLASS, "policy-range 1:10");
	expect("version: 1.0\nclasses:\n" DEFAULT_CLASS, "policy-type 1:10");
}

static const struct {
	const char *value;
	const char *fault;
	double share;
} shares[] = {
	{"70%", NULL, 70},
	{"70", NULL, 70},
	{"12.5%", NULL, 12.5},
	{"0.1%", NULL, 0.1},
	{"'50%'", NULL, 50},
	{"0.000001", NULL, 1e-6},
	{"33.3333333333%", NULL, 33.3333333333},
	{"0%", "range", 0},
	{"0", "range", 0},
	{"0.0%", "range", 0},
	{"100.1%", "range", 0},
	{"-5%", "range", 0},
	{"1000", "range", 0},
	{"1.0000000000000000", "range", 0},
	{"70 %", "type", 0},
	{"70%%", "type", 0},
	{"7e1", "type", 0},
	{".5", "type", 0},
	{"5.", "type", 0},
	{"5.%", "type", 0},
	{"070%", "type", 0},
	{"nan", "type", 0},
	{"inf", "type", 0},
	{"0x10", "type", 0},
	{"", "type", 0},
	{"\"\"", "type", 0},
	{"'%'", "type", 0},
	{"+5%", "type", 0},
	{"[5]", "type", 0},
	{"'12,5'", "type", 0},
};

static void test_shares(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		struct finding_list findings = {0};
		struct policy *policy;
		char text[256], got[256] = "", wanted[64] = "";

		/* the value, or what follows an empty one, is at 3:33 */
		snprintf(text, sizeof(text),
			 "version: 1\nclasses:\n  - {name: abc, sl: 0,   share: %s, default: true}\n",
			 shares[i].value);
		assert_int_equal(policy_parse("p.yaml", text, strlen(text), &findings, &policy), 0);
		if (shares[i].fault) {
			snprintf(wanted, sizeof(wanted), "policy-%s 3:%d", shares[i].fault, 33);
			findings_text(&findings, got, sizeof(got));
			assert_string_equal(got, wanted);
			assert_string_equal(findings.items[0].what, "key 'share'");
			assert_string_equal(findings.items[0].wanted, "a percentage above 0 up to 100");
			if (strcmp(shares[i].value, "70 %") == 0)
				assert_string_equal(findings.items[0].detail, "no blank before %");
			else if (shares[i].value[0] != '\'')
				assert_null(findings.items[0].detail);
		} else {
			assert_non_null(policy);
			assert_true(policy->classes[0].share == shares[i].share);
			assert_int_equal(finding_count(&findings, FINDING_NOTE), 1); /* the sum is below 100 */
			assert_int_equal(finding_count(&findings, FINDING_WARNING), strncmp(shares[i].value, "0.0", 3) == 0);
			assert_int_equal(findings.items[0].code, FINDING_POLICY_SHARE_SPARE);
		}
		policy_free(policy);
		finding_list_clear(&findings);
	}
}

static void test_words(void **state)
{
	(void)state;
	expect_class("{name: a, share: 90%, sl: 1, default: yes}", "policy-type 4:43");
	expect_class("{name: a, share: 90%, sl: 1, default: True}", "policy-type 4:43");
	expect_class("{name: a, share: 90%, sl: 1, default: 'false'}", "policy-type 4:43");
	expect_class("{name: a, share: 90%, sl: 1, default: 0}", "policy-type 4:43");
	expect_class("{name: a, share: 90%, sl: 1, default: false}", "");
	expect_class("{name: a, share: 90%, sl: 1, priority: High}", "policy-range 4:44");
	expect_class("{name: a, share: 90%, sl: 1, priority: }", "policy-type 4:44");
	expect_class("{name: a, share: 90%, sl: 1, priority: [high]}", "policy-type 4:44");
	expect_class("{share: 90%, sl: 1, name: 9a}", "policy-range 4:31");
	expect_class("{share: 90%, sl: 1, name: a.b}", "policy-range 4:31");
	expect_class("{share: 90%, sl: 1, name: a b}", "policy-range 4:31");
	expect_class("{share: 90%, sl: 1, name: _a}", "policy-range 4:31");
	expect_class("{share: 90%, sl: 1, name: 7}", "policy-range 4:31");
	expect_class("{share: 90%, sl: 1, name: null}", "policy-type 4:31");
	expect_class("{share: 90%, sl: 1, name: No}", "policy-type 4:31");
	expect_class("{share: 90%, sl: 1, name: 'No'}", "");
	expect_class("{share: 90%, sl: 1, name: }", "policy-type 4:31");
	expect_class(
		"{share: 90%, sl: 1, name: a234567890123456789012345678901234567890123456789012345678901234}",
		"");
	expect_class(
		"{share: 90%, sl: 1, name: a2345678901234567890123456789012345678901234567890123456789012345}",
		"policy-range 4:31");
	expect("version: 1\nclasses:\n" DEFAULT_CLASS
	       "unused_sls: Drop\nopensm: {config: x, log: , qos_policy: \"/a\\tb\"}\n",
	       "policy-range 4:13; policy-range 5:18; policy-type 5:26; policy-range 5:40");
	expect("version: 1\nclasses:\n" DEFAULT_CLASS "opensm: /etc/opensm\n", "policy-type 4:9");
	expect("version: 1\nclasses: {name: a}\n", "policy-type 2:10");
	expect("version: 1\nclasses:\n", "policy-type 2:9");
	expect("version: 1\nclasses: []\n", "policy-range 2:10");
	expect("version: 1\nclasses:\n  - a\n  - [b]\n  -\n" DEFAULT_CLASS,
	       "policy-type 3:5; policy-type 4:5; policy-type 5:4");
	expect("- a\n", "policy-type 1:1");
	expect("abc\n", "policy-type 1:1");
	expect("version: 1\nclasses:\n" DEFAULT_CLASS "? [a]\n: b\n", "policy-type 4:3");
}

static void test_clashes(void **state)
{
	struct finding_list findings = {0};
	struct policy *policy;
	static const char text[] = "version: 1\nclasses:\n"
				   "  - {name: a, sl: 1, nccl_ib_tc: 40, share: 10%, default: true}\n"
				   "  - {name: b, sl: 2, nccl_ib_tc: 44, share: 10%}\n"
				   "  - {name: a, sl: 3, share: 10%}\n"
				   "  - {name: d, sl: 1, nccl_ib_tc: 44, share: 10%}\n"
				   "  - {name: a, sl: 1, share: 60%}\n";

	(void)state;
	assert_int_equal(policy_parse("p.yaml", text, strlen(text), &findings, &policy), 0);
	assert_null(policy);
	assert_int_equal(findings.count, 5);
	assert_int_equal(findings.items[0].code, FINDING_POLICY_SL_CLASH);
	assert_int_equal(findings.items[0].line, 6);
	assert_int_equal(findings.items[0].column, 19);
	assert_string_equal(findings.items[0].got, "1");
	assert_string_equal(findings.items[0].detail, "class 'a' has it in line 3");
	assert_int_equal(findings.items[1].code, FINDING_POLICY_SL_CLASH);
	assert_int_equal(findings.items[1].line, 7);
	assert_string_equal(findings.items[1].detail, "class 'a' has it in line 3");
	assert_int_equal(findings.items[2].code, FINDING_POLICY_TC_CLASH);
	assert_int_equal(findings.items[2].line, 6);
	assert_string_equal(findings.items[2].detail, "class 'b' has it in line 4");
	assert_int_equal(findings.items[3].code, FINDING_POLICY_NAME_CLASH);
	assert_int_equal(findings.items[3].line, 5);
	assert_int_equal(findings.items[4].line, 7);
	finding_list_clear(&findings);
}

static void test_sums(void **state)
{
	(void)state;
	expect_class("{name: a, sl: 1, share: 90.1%}", "policy-share-sum 4:29");
	expect_class("{name: a, sl: 1, share: 89.9%}", "policy-share-spare 4:29");
	/* 0.1 + 0.2 + … are not exact in binary: no fault for that */
	expect("version: 1\nclasses:\n  - {name: a, sl: 0, share: 70.1, default: true}\n  - {name: b, sl: 1, share: 9.7}\n"
	       "  - {name: c, sl: 2, share: 20.2}\n",
	       "");
	expect("version: 1\nclasses:\n  - {name: a, sl: 0, share: 33.3, default: true}\n  - {name: b, sl: 1, share: 33.3}\n"
	       "  - {name: c, sl: 2, share: 33.4}\n",
	       "");
	/* with a share that cannot be read: too much is too much, too little is not known */
	expect("version: 1\nclasses:\n  - {name: a, sl: 0, share: 80, default: true}\n  - {name: b, sl: 1, share: 30}\n"
	       "  - {name: c, sl: 2, share: x}\n",
	       "policy-type 5:29; policy-share-sum 4:29");
	expect("version: 1\nclasses:\n  - {name: a, sl: 0, share: 80, default: true}\n  - {name: c, sl: 2, share: x}\n",
	       "policy-type 4:29");
}

static void test_default_class(void **state)
{
	(void)state;
	expect("version: 1\nclasses:\n  - {name: a, sl: 0, share: 100%}\n", "policy-default 3:3");
	expect("version: 1\nclasses:\n  - {name: a, sl: 0, share: 100%, default: false}\n",
	       "policy-default 3:3");
	expect_class("{name: a, sl: 1, share: 90%, default: true}", "policy-default 4:12");
}

static void test_traffic_class_note(void **state)
{
	(void)state;
	expect_class("{name: a, sl: 1, share: 90%, nccl_ib_tc: 41}", "policy-tc-ecn 4:46");
	expect_class("{name: a, sl: 1, share: 90%, nccl_ib_tc: 40}", "");
	expect_class("{name: a, sl: 1, share: 90%, nccl_ib_tc: 0}", "");
}

static void test_too_many_classes(void **state)
{
	char text[4096] = "version: 1\nclasses:\n";

	(void)state;
	for (int i = 0; i < 15; i++)
		sprintf(text + strlen(text), "  - {name: c%d, sl: %d, share: %s%%, default: %s}\n", i, i, i ? "6" : "16",
			i ? "false" : "true");
	expect(text, "");
	/* a class each has a VL of its own, and no port has more than 15 */
	strcat(text, "  - {name: c15, sl: 15, share: 0.1%}\n");
	expect(text, "policy-share-sum 18:32; policy-classes-vls 18:12");
	strcat(text, "  - {name: more, sl: 99, share: 1%}\n");
	expect(text, "policy-range 19:5; policy-share-sum 18:32; policy-classes-vls 18:12");
}

static void test_syntax(void **state)
{
	(void)state;
	expect("", "policy-syntax 1:1");
	expect("\xef\xbb\xbf", "policy-syntax 1:1");
	expect("# nothing\n\n", "policy-syntax 1:1");
	expect("---\n", "policy-type 2:1");
	/* faults before it are told too; what may come behind it is not called missing */
	expect("version: 2\nclasses:\n  - {name: a, sl: 16\n",
	       "policy-syntax 4:1; policy-range 1:10; policy-range 3:19");
	expect("version: 1\n\tclasses: []\n", "policy-syntax 2:1");
	expect("version: 1\nclasses:\n\t- name: a\n", "policy-syntax 3:1");
	expect("version: 1\nclasses:\n  - name: \xc3\xa4\n  \tsl: 1\n", "policy-syntax 4:3");
	expect("version: 1\nclasses: [\n", "policy-syntax 3:1");
	expect("verison: 1\nclasses: @x\n", "policy-syntax 2:10; policy-key-unknown 1:1");
	expect("version: 1\nclasses:\n" DEFAULT_CLASS "---\nversion: 2\n", "policy-syntax 4:1");
	expect("version: 1\nclasses:\n" DEFAULT_CLASS "...\nx\n", "policy-syntax 5:1");
}

static void test_references(void **state)
{
	(void)state;
	expect("version: &v 1\nclasses:\n" DEFAULT_CLASS, "policy-syntax 1:10");
	expect("version: 1\nclasses:\n  - &c {name: a, sl: 0, share: 100%, default: true}\n",
	       "policy-syntax 3:5");
	expect("version: 1\nclasses: &l\n  - *c\n", "policy-syntax 2:10; policy-syntax 3:5");
	expect("version: !!int 1\nclasses:\n" DEFAULT_CLASS, "policy-syntax 1:10");
	expect("version: ! 1\nclasses:\n" DEFAULT_CLASS, "policy-syntax 1:10");
	expect("*x : 1\nversion: 1\nclasses:\n" DEFAULT_CLASS, "policy-syntax 1:1");
	expect("version: *x\nclasses:\n" DEFAULT_CLASS, "policy-syntax 1:10");
	expect("*x\n", "policy-syntax 1:1");
}

static void test_bad_bytes(void **state)
{
	(void)state;
	expect("version: 2\nclasses: \xff\n", "policy-syntax 2:10; policy-range 1:10");
	expect("version: 2\nx: \xc3\xa4\xc3\n", "policy-syntax 2:5; policy-range 1:10");
	expect("version: 1 # \xc0\x80\n", "policy-syntax 1:14");     /* overlong */
	expect("version: 1 # \xed\xa0\x80\n", "policy-syntax 1:14"); /* surrogate */
	expect("version: 1 # \xf4\x90\x80\x80\n", "policy-syntax 1:14");
	expect("version: 1 # \x1b[0m\n", "policy-syntax 1:14");
	expect("version: 1 # \xe2\x82", "policy-syntax 1:14");
	expect("version: 1\nclasses: [ # open\n\xff\n", "policy-syntax 3:1");
	/* what is missing may stand in the line that cannot be read */
	expect("version: 1\nclasses:\n  - {name: tr\xff, sl: 1}\n", "policy-syntax 3:14");
	expect("version: 1\nclasses:\n  - name: a\n    sl:\n     \xff\n", "policy-syntax 5:6");
	expect("version: 1\nclasses:\n  -\n     \xff\n", "policy-syntax 4:6");
	expect_bytes("version: 1\n\0", 12, "policy-syntax 2:1");
	expect_bytes("v\0e\0r\0", 6, "policy-syntax 1:2"); /* UTF-16 */
	expect("version: 1\nclasses:\n" DEFAULT_CLASS "opensm: {config: \"/a\\0b\"}\n", "policy-syntax 4:18");
}

static void test_deep_and_large(void **state)
{
	size_t size = (1u << 20) + 1;
	char *text = malloc(size);

	(void)state;
	memset(text, '[', size);
	expect_bytes(text, size - 1, "policy-syntax 1:17; policy-type 1:1");
	memset(text, '#', size);
	expect_bytes(text, size - 1, "policy-syntax 1:1"); /* no policy in it */
	expect_bytes(text, size, "policy-syntax 1:1");
	free(text);
}

static void test_files(void **state)
{
	char path[] = "/tmp/ibqos-policy-XXXXXX";
	static const char text[] = "version: 1\nclasses:\n" DEFAULT_CLASS;
	struct finding_list findings = {0};
	struct policy *policy;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(policy_read(path, &findings, &policy), 0);
	assert_non_null(policy);
	assert_string_equal(policy->path, path);
	policy_free(policy);
	unlink(path);
	assert_int_equal(policy_read(path, &findings, &policy), -ENOENT);
	assert_null(policy);
	assert_int_equal(policy_read("/tmp", &findings, &policy), -EINVAL);
	assert_int_equal(findings.count, 0);
}

/* Escape sequences and long texts of a policy do not reach the terminal through a finding. */
static void test_quoting(void **state)
{
	struct finding_list findings = {0};
	struct policy *policy;
	char text[4096], key[1024];

	(void)state;
	memset(key, 'k', sizeof(key));
	key[sizeof(key) - 1] = '\0';
	snprintf(text, sizeof(text), "version: 1\nclasses:\n%s%s: 1\n\"\\e[31m\": 2\n", DEFAULT_CLASS, key);
	assert_int_equal(policy_parse("p.yaml", text, strlen(text), &findings, &policy), 0);
	assert_int_equal(findings.count, 2);
	assert_int_equal(strlen(findings.items[0].got), 60 + strlen("…"));
	assert_null(strchr(findings.items[1].got, '\x1b'));
	finding_list_clear(&findings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_policy),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_harmless),
		cmocka_unit_test(test_unknown_keys),
		cmocka_unit_test(test_doubled_keys),
		cmocka_unit_test(test_missing_keys),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_clashes),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_default_class),
		cmocka_unit_test(test_traffic_class_note),
		cmocka_unit_test(test_too_many_classes),
		cmocka_unit_test(test_syntax),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_bad_bytes),
		cmocka_unit_test(test_deep_and_large),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_quoting),
	};

	return cmocka_run_group_tests_name("policy file", tests, NULL, NULL);
}
