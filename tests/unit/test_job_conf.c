/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* nccl.conf as each release of NCCL reads it, and what its lint says, case by case. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ibqos/job.h"

#define OLD JOB_NCCL(2, 12, 7)
#define COMMENTS JOB_NCCL(2, 26, 2)
#define NEW JOB_NCCL(2, 30, 3)

static void read_conf(struct job_env *env, const char *text, size_t size, unsigned nccl)
{
	*env = (struct job_env){0};
	assert_int_equal(job_env_conf(env, JOB_FROM_USER_CONF, "f", text, size, nccl), 0);
	assert_int_equal(job_env_settle(env), 0);
}

/* What is read, as "KEY=VALUE|KEY=VALUE" in the order of the lines; hidden ones in brackets. */
static void expect(const char *text, size_t size, unsigned nccl, const char *wanted)
{
	char got[4096] = "";
	struct job_env env;

	read_conf(&env, text, size, nccl);
	for (size_t i = 0; i < env.count; i++) {
		const struct job_setting *s = &env.items[i];
		size_t at = strlen(got);

		snprintf(got + at, sizeof(got) - at, "%s%s%s=%s%s", i ? "|" : "", s->hidden ? "[" : "", s->name, s->value,
			 s->hidden ? "]" : "");
	}
	if (strcmp(got, wanted) != 0)
		fail_msg("NCCL %u reads '%s' as '%s', expected '%s'", nccl, text, got, wanted);
	job_env_clear(&env);
}

static void test_lines(void **state)
{
	static const struct {
		const char *text, *old, *comments, *new;
	} cases[] = {
		{"NCCL_IB_SL=1\n", "NCCL_IB_SL=1", NULL, NULL},
		{"NCCL_IB_SL=1", "NCCL_IB_SL=1", NULL, NULL},
		{"", "", NULL, NULL},
		{"\n\n", "", NULL, NULL},
		{"NCCL_IB_SL\n", "", NULL, NULL},
		{"NCCL_IB_SL: 1\n", "", NULL, NULL},
		{"NCCL_IB_SL=\"1\"\n", "NCCL_IB_SL=\"1\"", NULL, NULL},
		{"NCCL_IB_SL='1'\n", "NCCL_IB_SL='1'", NULL, NULL},
		{"export NCCL_IB_SL=1\n", "export NCCL_IB_SL=1", NULL, NULL},
		{"NCCL_IB_SL = 1\n", "NCCL_IB_SL = 1", NULL, NULL},
		{" NCCL_IB_SL=1 \n", " NCCL_IB_SL=1 ", NULL, NULL},
		{"NCCL_IB_SL=1 # the class\n", "NCCL_IB_SL=1 # the class", NULL, NULL},
		{"NCCL_IB_SL=1=2\n", "NCCL_IB_SL=1=2", NULL, NULL},
		{"NCCL_IB_SL=\n", "NCCL_IB_SL=", NULL, NULL},
		{"=1\nNCCL_IB_SL=2\n", "NCCL_IB_SL=2", NULL, NULL},
		{"NCCL_CONF_FILE=~/c\n", "NCCL_CONF_FILE=~/c", NULL, NULL},
		/* comments: a '#' in the first column, from 2.26 */
		{"#NCCL_IB_SL=1\n", "#NCCL_IB_SL=1", "", ""},
		{"# a comment\n", "", NULL, NULL},
		{" #NCCL_IB_SL=1\n", " #NCCL_IB_SL=1", NULL, NULL},
		/* CR LF: from 2.30.3 the CR goes */
		{"A=lo\r\n", "A=lo\r", "A=lo\r", "A=lo"},
		{"A=lo\r", "A=lo\r", "A=lo\r", "A=lo"},
		{"A=lo\r\r\n", "A=lo\r\r", "A=lo\r\r", "A=lo\r"},
		{"\r\n#\r\nA=1\n", "A=1", NULL, NULL},
		/* doubles: the first counts */
		{"A=1\nB=3\nA=2\n", "A=1|B=3|[A=2]", NULL, NULL},
		{"A=\nA=2\n", "A=|[A=2]", NULL, NULL},
		{"a=1\nA=2\n", "a=1|A=2", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t size = strlen(cases[i].text);
		const char *comments = cases[i].comments ? cases[i].comments : cases[i].old;

		expect(cases[i].text, size, OLD, cases[i].old);
		expect(cases[i].text, size, JOB_NCCL(2, 25, 1), cases[i].old);
		expect(cases[i].text, size, COMMENTS, comments);
		expect(cases[i].text, size, JOB_NCCL(2, 29, 7), comments);
		expect(cases[i].text, size, NEW, cases[i].new ? cases[i].new : comments);
		expect(cases[i].text, size, JOB_NCCL_NEWEST, cases[i].new ? cases[i].new : comments);
	}
}

static void test_nul_ends_a_line(void **state)
{
	(void)state;
	expect("A=1\0B=2\nC=3\n", 12, OLD, "A=1|C=3");
	expect("A=1\0B=2\nC=3\n", 12, NEW, "A=1|C=3");
	expect("A\0=1\nC=3\n", 9, OLD, "C=3");
	expect("A=\r\0\n", 5, OLD, "A=\r");
	expect("A=\r\0\n", 5, NEW, "A=");
}

static void test_buffers(void **state)
{
	char text[10000];
	struct job_env env;

	(void)state;
	/* a value of 1023 bytes is whole, one more is cut */
	memset(text, 'v', sizeof(text));
	text[0] = 'A';
	text[1] = '=';
	for (size_t length = 1022; length < 1026; length++) {
		read_conf(&env, text, 2 + length, OLD);
		assert_int_equal(strlen(env.items[0].value), length < 1023 ? length : 1023);
		job_env_clear(&env);
	}
	/* a key of 1024: what NCCL before 2.23 makes of it nobody knows; later it is cut */
	memset(text, 'k', sizeof(text));
	text[1024] = '=';
	read_conf(&env, text, 1026, JOB_NCCL(2, 22, 3));
	assert_int_equal(env.count, 0);
	job_env_clear(&env);
	read_conf(&env, text, 1026, JOB_NCCL(2, 23, 4));
	assert_int_equal(strlen(env.items[0].name), 1023);
	assert_string_equal(env.items[0].value, "k");
	job_env_clear(&env);
	text[1023] = '=';
	read_conf(&env, text, 1025, JOB_NCCL(2, 22, 3));
	assert_int_equal(strlen(env.items[0].name), 1023);
	job_env_clear(&env);
	/* a line of 4095 bytes and more is two from 2.30.3 on: the second piece sets a variable of its own */
	memset(text, 'v', sizeof(text));
	memcpy(text, "A=", 2);
	memcpy(text + 4095, "B=1\nC=2\n", 8);
	read_conf(&env, text, 4103, JOB_NCCL(2, 29, 7));
	assert_int_equal(env.count, 2);
	assert_null(job_env_get(&env, "B"));
	assert_int_equal(job_env_get(&env, "C")->line, 2);
	job_env_clear(&env);
	read_conf(&env, text, 4103, NEW);
	assert_int_equal(env.count, 3);
	assert_string_equal(job_env_get(&env, "B")->value, "1");
	assert_int_equal(job_env_get(&env, "B")->line, 1);
	assert_int_equal(job_env_get(&env, "B")->column, 4096);
	job_env_clear(&env);
}

static void test_places(void **state)
{
	struct job_env env;

	(void)state;
	read_conf(&env, "# c\n\nA=1\nB=2", 12, NEW);
	assert_int_equal(env.items[0].line, 3);
	assert_int_equal(env.items[1].line, 4);
	assert_int_equal(env.items[1].column, 1);
	job_env_clear(&env);
}

static void test_precedence(void **state)
{
	struct job_env env = {0};

	(void)state;
	assert_int_equal(job_env_process(&env, "p", "NCCL_A=1\0NCCL_A=2\0NCCL_E=\0PATH=/\0NCCL_N\0", 39), 0);
	assert_int_equal(job_env_conf(&env, JOB_FROM_USER_CONF, "u", "NCCL_A=3\nNCCL_B=3\nNCCL_E=5\n", 27, NEW), 0);
	assert_int_equal(job_env_conf(&env, JOB_FROM_SYSTEM_CONF, "s", "NCCL_B=4\nNCCL_C=4\n", 18, NEW), 0);
	assert_int_equal(job_env_settle(&env), 0);
	assert_string_equal(job_env_get(&env, "NCCL_A")->value, "1");
	assert_string_equal(job_env_get(&env, "NCCL_B")->value, "3");
	assert_string_equal(job_env_get(&env, "NCCL_C")->value, "4");
	assert_string_equal(job_env_get(&env, "NCCL_E")->value, "");
	assert_null(job_env_get(&env, "PATH"));
	assert_null(job_env_get(&env, "NCCL_N"));
	job_env_clear(&env);
}

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		long long value;
		bool empty, overflow, none, octal;
		const char *rest;
	} cases[] = {
		{"1", 1, 0, 0, 0, 0, ""},
		{"", 0, 1, 0, 0, 0, ""},
		{" 1", 1, 0, 0, 0, 0, ""},
		{"-1", -1, 0, 0, 0, 0, ""},
		{"+5", 5, 0, 0, 0, 0, ""},
		{"0x10", 16, 0, 0, 0, 0, ""},
		{"0", 0, 0, 0, 0, 0, ""},
		{"00", 0, 0, 0, 0, 0, ""},
		{"07", 7, 0, 0, 0, 0, ""},
		{"010", 8, 0, 0, 0, 1, ""},
		{"-010", -8, 0, 0, 0, 1, ""},
		{"09", 0, 0, 0, 0, 1, "9"},
		{"\"1\"", 0, 0, 0, 1, 0, "\"1\""},
		{"abc", 0, 0, 0, 1, 0, "abc"},
		{"1 # x", 1, 0, 0, 0, 0, " # x"},
		{"1\r", 1, 0, 0, 0, 0, "\r"},
		{"4,", 4, 0, 0, 0, 0, ","},
		{"9223372036854775807", INT64_MAX, 0, 0, 0, 0, ""},
		{"9223372036854775808", INT64_MAX, 0, 1, 0, 0, ""},
		{" ", 0, 0, 0, 1, 0, " "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct job_number n = job_number(cases[i].text);

		if (n.value != cases[i].value || n.empty != cases[i].empty || n.overflow != cases[i].overflow ||
		    n.none != cases[i].none || n.octal != cases[i].octal || strcmp(n.rest, cases[i].rest) != 0)
			fail_msg("'%s' is %lld empty %d overflow %d none %d octal %d rest '%s'", cases[i].text, n.value, n.empty,
				 n.overflow, n.none, n.octal, n.rest);
	}
}

static void test_lint(void **state)
{
	static const struct {
		const char *text;
		unsigned line, column;
		int code; /* -1: nothing is found */
	} cases[] = {
		{"NCCL_IB_SL=1\n# NCCL_IB_TC=1\n\n", 0, 0, -1},
		{"export NCCL_IB_SL=1\n", 1, 1, FINDING_JOB_CONF_KEY},
		{"A=1\n NCCL_IB_SL=1\n", 2, 1, FINDING_JOB_CONF_KEY},
		{"NCCL_IB_SL =1\n", 1, 1, FINDING_JOB_CONF_KEY},
		{"\"NCCL_IB_SL\"=1\n", 1, 1, FINDING_JOB_CONF_KEY},
		{"\xef\xbb\xbfNCCL_IB_SL=1\n", 1, 1, FINDING_JOB_CONF_KEY},
		{"NCCL_IB_SL 1\n", 1, 1, FINDING_JOB_CONF_LINE},
		{"  NCCL_IB_SL\n", 1, 3, FINDING_JOB_CONF_LINE},
		{"  # NCCL_IB_SL\n", 0, 0, -1},
		{"NCCL_IB_SL=1\nNCCL_IB_SL=2\n", 2, 1, FINDING_JOB_CONF_DOUBLE},
		{"NCCL_IB_SL=1\nNCCL_IB_SL=1\n", 2, 1, FINDING_JOB_CONF_DOUBLE},
		{"UCX_IB_SL=1\n", 1, 1, FINDING_JOB_CONF_LATE},
		{"NCCL_CONF_FILE=/x\n", 1, 1, FINDING_JOB_CONF_LATE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct finding_list findings = {0};

		job_conf_lint("f", cases[i].text, strlen(cases[i].text), NEW, &findings);
		if (findings.count != (cases[i].code >= 0))
			fail_msg("'%s': %zu findings", cases[i].text, findings.count);
		if (findings.count) {
			assert_int_equal(findings.items[0].code, cases[i].code);
			assert_int_equal(findings.items[0].line, cases[i].line);
			assert_int_equal(findings.items[0].column, cases[i].column);
		}
		finding_list_clear(&findings);
	}
}

static void test_versions(void **state)
{
	char text[JOB_NCCL_TEXT];
	unsigned version;

	(void)state;
	assert_int_equal(job_nccl_parse("2.28.9", &version), 0);
	assert_int_equal(version, 22809);
	assert_int_equal(job_nccl_parse("2.28.9-1+cuda13.0", &version), 0);
	assert_int_equal(job_nccl_parse("2.12.7", &version), 0);
	assert_int_equal(job_nccl_parse("2.12.6", &version), -ERANGE);
	assert_int_equal(job_nccl_parse("2.28", &version), -EINVAL);
	assert_int_equal(job_nccl_parse("2.28.x", &version), -EINVAL);
	assert_int_equal(job_nccl_parse("2.28.9x", &version), -EINVAL);
	assert_int_equal(job_nccl_parse("2.100.9", &version), -EINVAL);
	assert_int_equal(job_nccl_parse("", &version), -EINVAL);
	job_nccl_text(JOB_NCCL(2, 30, 7), text);
	assert_string_equal(text, "2.30.7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),	   cmocka_unit_test(test_nul_ends_a_line), cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_places),	   cmocka_unit_test(test_precedence),	   cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_lint),	   cmocka_unit_test(test_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
