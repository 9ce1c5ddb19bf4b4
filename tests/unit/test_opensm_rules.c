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
	const struct opensm_rule rules[] = {{"training", 41}, {"CA_2", 255}};
	char *text;
	size_t size;

	(void)state;
	assert_int_equal(opensm_policy_render(levels, 3, rules, 2, &text, &size), 0);
	assert_string_equal(text, wanted);
	assert_int_equal(size, strlen(wanted));
	free(text);
	/* without rules there is no empty section */
	assert_int_equal(opensm_policy_render(levels, 1, NULL, 0, &text, &size), 0);
	assert_null(strstr(text, "match"));
	assert_string_equal(text + size - strlen("end-qos-levels\n"), "end-qos-levels\n");
	free(text);
}

static void refuse(const char *name, unsigned sl, const char *rule, unsigned qos_class)
{
	const struct opensm_level levels[] = {{"Default", 0}, {name, sl}};
	const struct opensm_rule rules[] = {{rule, qos_class}};
	char *text = (char *)"x";
	size_t size;

	assert_int_equal(opensm_policy_render(levels, 2, rules, 1, &text, &size), -EINVAL);
	assert_null(text);
}

static void test_refused(void **state)
{
	const struct opensm_level other = {"other", 0};
	char *text;
	size_t size;

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
	assert_int_equal(opensm_policy_render(&other, 1, NULL, 0, &text, &size), -EINVAL); /* AC10 */
	assert_int_equal(opensm_policy_render(NULL, 0, NULL, 0, &text, &size), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("qos-policy.conf", tests, NULL, NULL);
}
