/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Findings: the table of codes, order, counts, exit codes, and what happens without memory.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/finding.h"

static void test_codes_are_well_formed(void **state)
{
	(void)state;
	assert_true(FINDING_CODES > 40);
	for (int i = 0; i < FINDING_CODES; i++) {
		const struct finding_kind *kind = finding_kind((enum finding_code)i);

		assert_non_null(kind);
		assert_true(kind->code[0] != '\0' && kind->title[0] != '\0' && kind->advice[0] != '\0');
		for (const char *c = kind->code; *c; c++)
			if (!(islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '-'))
				fail_msg("code '%s'", kind->code);
		/* clauses: they stand inside lines */
		if (kind->title[strlen(kind->title) - 1] == '.' ||
		    kind->advice[strlen(kind->advice) - 1] == '.')
			fail_msg("'%s' ends with a full stop", kind->code);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(kind->code, finding_kind((enum finding_code)k)->code);
	}
	assert_null(finding_kind(FINDING_CODES));
	assert_string_equal(finding_kind(FINDING_SL2VL_DIFFERS)->code, "sl2vl-differs");
	assert_int_equal(finding_kind(FINDING_SL2VL_DIFFERS)->severity, FINDING_CRITICAL);
	assert_int_equal(finding_kind(FINDING_AGENT_SILENT)->severity, FINDING_UNKNOWN);
	assert_string_equal(finding_kind(FINDING_NO_SM)->advice, "start OpenSM");
}

/* Asking again changes nothing of a file: no advice of a file says so, and each that does otherwise has one for files. */
static void test_advice_of_files(void **state)
{
	struct finding_list list = {0}, live = {0};
	struct finding *f;

	(void)state;
	list.of_file = true;
	assert_string_equal(finding_advice(finding_add(&live, FINDING_NO_SM)), "start OpenSM");
	assert_string_equal(finding_advice(finding_add(&list, FINDING_NO_SM)),
			    "see whether OpenSM runs now; then make this file anew");
	f = finding_add(&list, FINDING_LINK_WIDTH_LOW);
	assert_non_null(strstr(finding_advice(f), "in common")); /* all links of a kind */
	f->guid = 1;
	assert_ptr_equal(finding_advice(f), finding_kind(FINDING_LINK_WIDTH_LOW)->advice);
	f = finding_add(&list, FINDING_SL2VL_DIFFERS);
	f->cause = CAUSE_UNKNOWN;
	assert_non_null(strstr(finding_advice(f), "ibqos snapshot"));
	f->cause = CAUSE_DRIFTED;
	assert_ptr_equal(finding_advice(f), finding_cause_kind(CAUSE_DRIFTED)->advice);
	finding_move(&live.items[0], &list); /* what a file gave stays so, and becomes so */
	assert_true(list.items[list.count - 1].of_file);
	for (int i = 0; i < FINDING_CODES; i++) {
		const char *advice = finding_file_advice((enum finding_code)i);

		if (advice && (strstr(advice, "run again") || advice[strlen(advice) - 1] == '.' ||
			       strcmp(advice, finding_kind((enum finding_code)i)->advice) == 0))
			fail_msg("'%s': %s", finding_kind((enum finding_code)i)->code, advice);
	}
	assert_null(finding_file_advice(FINDING_CODES));
	finding_list_clear(&list);
	finding_list_clear(&live);
}

static struct finding *add_narrow(struct finding_list *list, const char *name, const char *got)
{
	struct finding *f = finding_add(list, FINDING_LINK_WIDTH_LOW);

	f->guid = 7;
	f->port = 1;
	finding_set(&f->name, "%s", name);
	finding_set(&f->got, "%s", got);
	return f;
}

/* The same twice is one; what differs in anything that is told stays. */
static void test_unique(void **state)
{
	struct finding_list list = {0};

	(void)state;
	finding_list_unique(&list);
	add_narrow(&list, "b", "1x");
	add_narrow(&list, "a", "1x");
	add_narrow(&list, "b", "1x");
	add_narrow(&list, "b", "2x");
	finding_set(&add_narrow(&list, "b", "1x")->detail, "of two");
	add_narrow(&list, "b", "1x")->severity = FINDING_NOTE;
	add_narrow(&list, "b", "1x")->peer_port = 3;
	add_narrow(&list, "b", "1x");
	finding_list_unique(&list);
	assert_int_equal(list.count, 6);
	assert_string_equal(list.items[0].name, "a");
	assert_int_equal(finding_count(&list, FINDING_NOTE), 1);
	finding_list_clear(&list);
}

static void test_severity_names(void **state)
{
	(void)state;
	assert_string_equal(finding_severity_name(FINDING_NOTE), "note");
	assert_string_equal(finding_severity_name(FINDING_WARNING), "warning");
	assert_string_equal(finding_severity_name(FINDING_UNKNOWN), "unknown");
	assert_string_equal(finding_severity_name(FINDING_CRITICAL), "critical");
}

static void test_add_fills_defaults(void **state)
{
	struct finding_list list = {0};
	struct finding *f = finding_add(&list, FINDING_OPER_VLS_DIFFERS);

	(void)state;
	assert_int_equal(list.count, 1);
	assert_false(list.lost);
	assert_int_equal(f->code, FINDING_OPER_VLS_DIFFERS);
	assert_int_equal(f->severity, FINDING_WARNING);
	assert_int_equal(f->port, FINDING_WHOLE_NODE);
	assert_int_equal(f->guid, 0);
	assert_null(f->file);
	assert_ptr_equal(finding_at(f, "policy.yaml", 3, 5), f);
	assert_string_equal(f->file, "policy.yaml");
	assert_int_equal(f->line, 3);
	assert_int_equal(f->column, 5);
	finding_list_clear(&list);
	assert_int_equal(list.count, 0);
	assert_null(list.items);
	finding_list_clear(&list);
	finding_list_clear(NULL);
}

static void test_set_replaces_and_cleans(void **state)
{
	char *member = NULL;

	(void)state;
	finding_set(&member, "VL %u", 3u);
	assert_string_equal(member, "VL 3");
	finding_set(&member, "%s and %s", member, member);
	assert_string_equal(member, "VL 3 and VL 3");
	finding_set(&member, "node '%s'", "a\x1b[31m\xff\xc3\xa9");
	assert_string_equal(member, "node 'a\xef\xbf\xbd[31m\xef\xbf\xbd\xc3\xa9'");
	free(member);
}

static void add(struct finding_list *list, enum finding_code code, const char *name, uint64_t guid, int port)
{
	struct finding *f = finding_add(list, code);

	if (name)
		finding_set(&f->name, "%s", name);
	f->guid = guid;
	f->port = port;
}

static void test_order(void **state)
{
	struct finding_list list = {0};
	static const struct {
		enum finding_code code;
		const char *name;
		uint64_t guid;
		int port;
	} sorted[] = {
		{FINDING_SL2VL_DIFFERS, "host-2", 9, 1}, /* critical */
		{FINDING_SL2VL_DIFFERS, "host-10", 1, 1},
		{FINDING_SL2VL_DIFFERS, "host-10", 2, FINDING_WHOLE_NODE},
		{FINDING_SL2VL_DIFFERS, "host-10", 2, 0},
		{FINDING_SL2VL_DIFFERS, "host-10", 2, 3},
		{FINDING_VLARB_DIFFERS, NULL, 5, 1},
		{FINDING_VLARB_DIFFERS, "a", 0xffffffff00000000, 1},
		{FINDING_NO_SM, NULL, 0, FINDING_WHOLE_NODE}, /* unknown */
		{FINDING_OPER_VLS_DIFFERS, "a", 1, 1},        /* warning */
		{FINDING_POLICY_TC_ECN, "a", 1, 1},           /* note, though its code comes first */
	};
	const size_t count = sizeof(sorted) / sizeof(sorted[0]);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		size_t k = (i * 7 + 3) % count; /* 7 and 10 have no common factor: each once, shuffled */

		add(&list, sorted[k].code, sorted[k].name, sorted[k].guid, sorted[k].port);
	}
	finding_list_sort(&list);
	assert_int_equal(list.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(list.items[i].code, sorted[i].code);
		assert_int_equal(list.items[i].guid, sorted[i].guid);
		assert_int_equal(list.items[i].port, sorted[i].port);
		if (sorted[i].name)
			assert_string_equal(list.items[i].name, sorted[i].name);
		else
			assert_null(list.items[i].name);
	}
	finding_list_clear(&list);
}

static void test_order_in_files(void **state)
{
	struct finding_list list = {0};

	(void)state;
	finding_at(finding_add(&list, FINDING_POLICY_RANGE), "b.yaml", 1, 1);
	finding_at(finding_add(&list, FINDING_POLICY_RANGE), "a.yaml", 10, 2);
	finding_at(finding_add(&list, FINDING_POLICY_RANGE), "a.yaml", 10, 1);
	finding_at(finding_add(&list, FINDING_POLICY_RANGE), "a.yaml", 9, 7);
	finding_list_sort(&list);
	assert_int_equal(list.items[0].line, 9);
	assert_int_equal(list.items[1].column, 1);
	assert_int_equal(list.items[2].column, 2);
	assert_string_equal(list.items[3].file, "b.yaml");
	finding_list_clear(&list);
	finding_list_sort(&list);
}

/* Whatever differs decides, so that the order they were added in never does. */
static void test_order_by_peer(void **state)
{
	static const char *const names[] = {"host-10", NULL, "host-2"};
	struct finding_list list = {0};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		add(&list, FINDING_SL2VL_DIFFERS, "leaf-1", 1, 1);
		if (names[i])
			finding_set(&list.items[i].peer_name, "%s", names[i]);
	}
	finding_list_sort(&list);
	assert_null(list.items[0].peer_name);
	assert_string_equal(list.items[1].peer_name, "host-2");
	assert_string_equal(list.items[2].peer_name, "host-10");
	finding_list_clear(&list);
}

static void test_counts_and_exit(void **state)
{
	struct finding_list list = {0};

	(void)state;
	assert_int_equal(finding_exit(&list), 0);
	finding_add(&list, FINDING_PLAN_FEWER_VLS);
	assert_int_equal(finding_exit(&list), 0);
	finding_add(&list, FINDING_OPER_VLS_DIFFERS);
	assert_int_equal(finding_exit(&list), 1);
	finding_add(&list, FINDING_NO_ANSWER);
	finding_add(&list, FINDING_NO_ANSWER);
	assert_int_equal(finding_exit(&list), 3);
	finding_add(&list, FINDING_SL2VL_DIFFERS);
	assert_int_equal(finding_exit(&list), 2);
	/* the finding's own severity counts, not its code's */
	list.items[4].severity = FINDING_NOTE;
	assert_int_equal(finding_exit(&list), 3);
	assert_int_equal(finding_count(&list, FINDING_NOTE), 2);
	assert_int_equal(finding_count(&list, FINDING_WARNING), 1);
	assert_int_equal(finding_count(&list, FINDING_UNKNOWN), 2);
	assert_int_equal(finding_count(&list, FINDING_CRITICAL), 0);
	assert_int_equal(finding_count_code(&list, FINDING_NO_ANSWER), 2);
	assert_int_equal(finding_count_code(&list, FINDING_NO_SM), 0);
	finding_list_clear(&list);
}

/* A room so large that no more can be had stands for a machine without memory. */
static void test_without_memory(void **state)
{
	struct finding_list list = {0};
	struct finding *f;
	size_t room;

	(void)state;
	add(&list, FINDING_PLAN_FEWER_VLS, "kept", 1, 1);
	room = list.room;
	list.room = list.count = SIZE_MAX / sizeof(*f);
	f = finding_add(&list, FINDING_SL2VL_DIFFERS);
	assert_non_null(f);
	finding_set(&f->got, "lost");
	f = finding_add(&list, FINDING_SL2VL_DIFFERS);
	assert_null(f->got);
	finding_set(&f->got, "lost too");
	list.count = 1;
	list.room = room;
	assert_true(list.lost);
	assert_string_equal(list.items[0].name, "kept");
	/* a note alone would be clean; with one lost nobody knows */
	assert_int_equal(finding_exit(&list), 3);
	list.items[0].severity = FINDING_WARNING;
	assert_int_equal(finding_exit(&list), 3);
	list.items[0].severity = FINDING_CRITICAL;
	assert_int_equal(finding_exit(&list), 2);
	finding_list_clear(&list);
	assert_false(list.lost);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codes_are_well_formed),
		cmocka_unit_test(test_advice_of_files),
		cmocka_unit_test(test_unique),
		cmocka_unit_test(test_severity_names),
		cmocka_unit_test(test_add_fills_defaults),
		cmocka_unit_test(test_set_replaces_and_cleans),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_order_in_files),
		cmocka_unit_test(test_order_by_peer),
		cmocka_unit_test(test_counts_and_exit),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests_name("finding", tests, NULL, NULL);
}
