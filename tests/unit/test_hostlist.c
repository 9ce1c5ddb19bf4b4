/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Lists of host names against what Slurm's and pdsh's own expansion gives, written down by hand; and distances. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/util.h"

static char *joined(const char *text)
{
	struct hostlist list;
	char *fault, *all = NULL;
	size_t size;
	FILE *out = open_memstream(&all, &size);

	assert_int_equal(hostlist_expand(text, &list, &fault), 0);
	assert_null(fault);
	for (size_t i = 0; i < list.count; i++)
		fprintf(out, "%s%s", i ? " " : "", list.names[i]);
	assert_int_equal(text_stream_end(out, &all), 0);
	hostlist_clear(&list);
	return all;
}

static void lists(void **state)
{
	static const char *const cases[][2] = {
		{"a", "a"},
		{"gpu-[001-003,012],login-1", "gpu-001 gpu-002 gpu-003 gpu-012 login-1"},
		{"n[8-11]", "n8 n9 n10 n11"},
		{"n[08-11]", "n08 n09 n10 n11"},
		{"n[5]x", "n5x"},
		{"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"},
		{"[1-2]", "1 2"},
		{"b,a,b", "b a b"},
		{"x[000]", "x000"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *got = joined(cases[i][0]);

		assert_string_equal(got, cases[i][1]);
		free(got);
	}
}

static void what_is_no_list(void **state)
{
	static const char *const cases[][2] = {
		{"", "an empty name"},
		{"a,", "an empty name"},
		{",a", "an empty name"},
		{"a[1-2", "'[' without ']'"},
		{"a1]", "']' without '['"},
		{"a]b[1]", "']' without '['"},
		{"a[]", "'' in brackets is no number and no range of numbers"},
		{"a[1,]", "'' in brackets is no number and no range of numbers"},
		{"a[x]", "'x' in brackets is no number and no range of numbers"},
		{"a[1-2-3]", "'1-2-3' in brackets is no number and no range of numbers"},
		{"a[2-1]", "range '2-1' goes backwards"},
		{"a[[1]]", "'[1' in brackets is no number and no range of numbers"},
		{"a[1234567890]", "'1234567890' in brackets is no number and no range of numbers"},
		{"a[0-65536]", "more than 65536 names"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hostlist list;
		char *fault;

		assert_int_equal(hostlist_expand(cases[i][0], &list, &fault), -EINVAL);
		assert_string_equal(fault, cases[i][1]);
		assert_int_equal(list.count, 0);
		assert_null(list.names);
		free(fault);
	}
}

static void as_many_as_allowed(void **state)
{
	struct hostlist list;
	char *fault;

	(void)state;
	assert_int_equal(hostlist_expand("a[0-65535]", &list, &fault), 0);
	assert_int_equal(list.count, HOSTLIST_MAX);
	assert_string_equal(list.names[65535], "a65535");
	hostlist_clear(&list);
}

static void distances(void **state)
{
	char many[80];

	(void)state;
	assert_int_equal(text_distance("gpu-001", "gpu-001"), 0);
	assert_int_equal(text_distance("gpu-001", "GPU-001"), 0);
	assert_int_equal(text_distance("gpu-001", "gpu-01"), 1);
	assert_int_equal(text_distance("gpu-001", "gpu-010"), 1);
	assert_int_equal(text_distance("leaf", "spine"), 5);
	assert_int_equal(text_distance("", "abc"), 3);
	memset(many, 'x', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	assert_true(text_distance(many, "x") == UINT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(what_is_no_list),
		cmocka_unit_test(as_many_as_allowed),
		cmocka_unit_test(distances),
	};

	return cmocka_run_group_tests_name("hostlist", tests, NULL, NULL);
}
