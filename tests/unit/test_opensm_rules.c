/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * qos-policy.conf: the text that OpenSM's parser takes, and what is refused because it would not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/opensm.h"

static void test_text(void **state)
{
	/* This very text was loaded by OpenSM 3.3.23 without an AC0x error; class 41 got SL 1, others SL 0.
	 */
	static const char wanted[] =
		"# Made by ibqos from its policy: edit that one, this file is replaced.\n"
		"qos-levels\n"
		"    qos-level\n"
		"        name: default\n"
		"        sl: 0\n"
		"    end-qos-level\n"
		"    qos-level\n"
		"        name: training\n"
		"        sl: 1\n"
		"    end-qos-level\n"
		"    qos-level\n"
		"        name: ca_2\n"
		"        sl: 15\n"
		"    end-qos-level\n"
		"end-qos-levels\n"
		"\n"
		"qos-match-rules\n"
		"    qos-match-rule\n"
		"        qos-class: 41\n"
		"        qos-level-name: training\n"
		"    end-qos-match-rule\n"
		"    qos-match-rule\n"
		"        qos-class: 255\n"
		"        qos-level-name: CA_2\n"
		"    end-qos-match-rule\n"
		"end-qos-match-rules\n";
	const struct opensm_level levels[] = {{"default", 0}, {"training", 1}, {"ca_2", 15}};
	const struct opensm_range one = {41, 41}, last = {255, 255};
	const struct opensm_rule rules[] = {
		{.level = "training", .qos_classes = &one, .qos_class_count = 1},
		{.level = "CA_2", .qos_classes = &last, .qos_class_count = 1},
	};
	struct opensm_policy policy = {.levels = levels, .level_count = 3, .rules = rules, .rule_count = 2};
	char *text;
	size_t size;

	(void)state;
	assert_int_equal(opensm_policy_render(&policy, &text, &size), 0);
	assert_string_equal(text, wanted);
	assert_int_equal(size, strlen(wanted));
	free(text);
	/* without rules there is no empty section */
	policy.rule_count = 0;
	assert_int_equal(opensm_policy_render(&policy, &text, &size), 0);
	assert_null(strstr(text, "match"));
	assert_string_equal(text + size - strlen("end-qos-levels\n"), "end-qos-levels\n");
	free(text);
}

/* Loaded by OpenSM 3.3.23 too; tests/sim/test_policy_language.py has it answer by such rules. */
static void test_criteria(void **state)
{
	static const char wanted[] = "# Made by ibqos from its policy: edit that one, this file is replaced.\n"
				     "port-groups\n"
				     "    port-group\n"
				     "        name: oss\n"
				     "        port-guid: 0x0000000000000011\n"
				     "        port-guid: 0xfedcba9876543210\n"
				     "    end-port-group\n"
				     "    port-group\n"
				     "        name: any\n"
				     "        port-guid: 0x0000000000000001\n"
				     "    end-port-group\n"
				     "end-port-groups\n"
				     "\n"
				     "qos-levels\n"
				     "    qos-level\n"
				     "        name: default\n"
				     "        sl: 0\n"
				     "    end-qos-level\n"
				     "end-qos-levels\n"
				     "\n"
				     "qos-match-rules\n"
				     "    qos-match-rule\n"
				     "        qos-class: 1,8-11\n"
				     "        service-id: 0x10603db,0x0-0xffffffffffffffff\n"
				     "        pkey: 0x7fff\n"
				     "        source: oss\n"
				     "        source: any\n"
				     "        destination: ANY\n"
				     "        qos-level-name: default\n"
				     "    end-qos-match-rule\n"
				     "end-qos-match-rules\n";
	const struct opensm_level level = {"default", 0};
	const uint64_t guids[] = {0x11, 0xfedcba9876543210}, one[] = {1};
	const struct opensm_group groups[] = {{"oss", guids, 2}, {"any", one, 1}};
	const struct opensm_range classes[] = {{1, 1}, {8, 11}}, ids[] = {{0x010603db, 0x010603db}, {0, UINT64_MAX}},
				  pkey = {0x7fff, 0x7fff};
	const char *const sources[] = {"oss", "any"}, *const destinations[] = {"ANY"};
	const struct opensm_rule rule = {"default", classes, 2, ids, 2, &pkey, 1, sources, 2, destinations, 1};
	const struct opensm_policy policy = {&level, 1, groups, 2, &rule, 1};
	char *text;
	size_t size;

	(void)state;
	assert_int_equal(opensm_policy_render(&policy, &text, &size), 0);
	assert_string_equal(text, wanted);
	free(text);
}

static void refuse_policy(const struct opensm_policy *policy)
{
	char *text = (char *)"x";
	size_t size;

	assert_int_equal(opensm_policy_render(policy, &text, &size), -EINVAL);
	assert_null(text);
}

static void refuse(const char *name, unsigned sl, const char *level, unsigned qos_class)
{
	const struct opensm_level levels[] = {{"Default", 0}, {name, sl}};
	const struct opensm_range range = {qos_class, qos_class};
	const struct opensm_rule rule = {.level = level, .qos_classes = &range, .qos_class_count = 1};
	const struct opensm_policy policy = {.levels = levels, .level_count = 2, .rules = &rule, .rule_count = 1};

	refuse_policy(&policy);
}

static void test_refused(void **state)
{
	const struct opensm_level other = {"other", 0};
	struct opensm_policy policy = {.levels = &other, .level_count = 1};

	(void)state;
	refuse("a", 16, "a", 1);
	refuse("a", 1, "b", 1);
	refuse("a", 1, "a", 256);
	refuse("", 1, "default", 1);
	refuse("a b", 1, "default", 1);
	refuse("qos-level", 1, "default", 1); /* a keyword */
	refuse("a:b", 1, "default", 1);
	refuse("a\nsl", 1, "default", 1);
	refuse("a#", 1, "default", 1);
	refuse("\xc3\xa4", 1, "default", 1);
	refuse("DEFAULT", 1, "default",
	       1); /* names are compared without case: it would be the first one again */
	refuse_policy(&policy); /* AC10 */
	policy.level_count = 0;
	refuse_policy(&policy);
}

static void test_refused_criteria(void **state)
{
	const struct opensm_level level = {"default", 0};
	const uint64_t guid = 1;
	const struct opensm_group good[] = {{"a", &guid, 1}}, bad[][2] = {{{"a-b", &guid, 1}, {"a", &guid, 1}},
									  {{"a", &guid, 1}, {"A", &guid, 1}},
									  {{"a", &guid, 0}, {"b", &guid, 1}}};
	const struct opensm_range back = {2, 1}, high = {1, 0x8000}, none = {0, 0}, fine = {1, 1};
	const char *const unknown[] = {"b"}, *const known[] = {"A"};
	struct opensm_rule rule = {.level = "default"};
	struct opensm_policy policy = {&level, 1, good, 1, &rule, 1};
	char *text;
	size_t size;

	(void)state;
	refuse_policy(&policy); /* would match everything */
	rule.pkeys = &fine;
	rule.pkey_count = 1;
	assert_int_equal(opensm_policy_render(&policy, &text, &size), 0);
	free(text);
	rule.pkeys = &high;
	refuse_policy(&policy);
	rule.pkeys = &none;
	refuse_policy(&policy);
	rule.pkeys = &fine;
	rule.service_ids = &back;
	rule.service_id_count = 1;
	refuse_policy(&policy);
	rule.service_id_count = 0;
	rule.sources = unknown; /* AC12 */
	rule.source_count = 1;
	refuse_policy(&policy);
	rule.sources = known;
	rule.destinations = unknown; /* AC13 */
	rule.destination_count = 1;
	refuse_policy(&policy);
	rule.destinations = known;
	assert_int_equal(opensm_policy_render(&policy, &text, &size), 0);
	free(text);
	for (size_t i = 0; i < 3; i++) {
		policy.groups = bad[i];
		policy.group_count = 2;
		refuse_policy(&policy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_criteria),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_criteria),
	};

	return cmocka_run_group_tests_name("qos-policy.conf", tests, NULL, NULL);
}
