/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Long tables: every row comes out, aligned, in the memory of a few; and a disk that is full is
 * seen, in whatever part of the report it fills.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "ibqos/report.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static const struct report_column columns[] = {
	{.key = "node", .title = "node", .type = REPORT_STRING},
	{.key = "number", .title = "number", .type = REPORT_NUMBER},
	{.key = "guid", .title = "GUID", .type = REPORT_GUID},
};

/* Those that have each row of a table. */
static const enum report_format formats[] = {REPORT_TEXT, REPORT_JSON, REPORT_HTML};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

static int write_rows(FILE *out, enum report_format format, unsigned rows)
{
	struct ibqos_ctx ctx = {.program = "ibqos", .command = "discover", .fabric = "", .err = stderr};
	struct finding_list none = {0};
	struct report *r = report_begin(&ctx, out, format);

	assert_non_null(r);
	report_table(r, "ports", "ports", columns, 3);
	for (unsigned i = 0; i < rows; i++) {
		char name[32];

		snprintf(name, sizeof(name), i % 2 ? "h\xc3\xb6st-%u" : "host-%u", i % 5000);
		report_cell_string(r, name);
		report_cell_number(r, i);
		report_cell_guid(r, UINT64_C(0x0002c90300000000) + i);
		report_row_end(r);
	}
	report_table_end(r);
	report_findings(r, &none, false);
	return report_end(r, IBQOS_EXIT_CLEAN);
}

static char *rows_as(enum report_format format, unsigned rows)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(write_rows(out, format, rows), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* Lines of a text table of `rows` rows: right order, right cells, each column where it belongs. */
static void check_text(unsigned rows)
{
	char *text = rows_as(REPORT_TEXT, rows), *line, *rest = text;
	/* names are up to this wide: host-N of the rows that are aligned together */
	unsigned aligned = rows < REPORT_ALIGN_ROWS ? rows : REPORT_ALIGN_ROWS;
	char expected[128], name[32];
	int wide = snprintf(NULL, 0, "host-%u", aligned - 1), digits = snprintf(NULL, 0, "%u", aligned - 1);

	digits = digits < (int)strlen("number") ? (int)strlen("number") : digits;
	line = strsep(&rest, "\n");
	assert_string_equal(line, "ports:");
	line = strsep(&rest, "\n");
	snprintf(expected, sizeof(expected), "%-*s  %*s  GUID", wide, "node", digits, "number");
	assert_string_equal(line, expected);
	for (unsigned i = 0; i < rows; i++) {
		int bytes = wide + (int)(i % 2); /* ö has two */

		line = strsep(&rest, "\n");
		snprintf(name, sizeof(name), i % 2 ? "h\xc3\xb6st-%u" : "host-%u", i % 5000);
		assert_in_range(snprintf(expected, sizeof(expected), "%-*s  %*u  0x%016" PRIx64, bytes, name,
					 digits, i, UINT64_C(0x0002c90300000000) + i),
				1, sizeof(expected) - 1);
		assert_string_equal(line, expected);
	}
	assert_string_equal(rest, "\nverdict: clean\n");
	free(text);
}

static void test_text_at_the_limit(void **state)
{
	(void)state;
	check_text(1);
	check_text(REPORT_ALIGN_ROWS - 1);
	check_text(REPORT_ALIGN_ROWS);
	check_text(REPORT_ALIGN_ROWS + 1);
	check_text(REPORT_ALIGN_ROWS + 2000);
}

/* The same bytes under cron and in a terminal. */
static void test_text_in_other_locales(void **state)
{
	char *plain, *utf8;

	(void)state;
	assert_non_null(setlocale(LC_ALL, "C"));
	plain = rows_as(REPORT_TEXT, 100);
	if (!setlocale(LC_ALL, "C.UTF-8")) {
		free(plain);
		skip();
	}
	utf8 = rows_as(REPORT_TEXT, 100);
	setlocale(LC_ALL, "C");
	assert_string_equal(plain, utf8);
	free(plain);
	free(utf8);
}

static void test_json_has_each_row(void **state)
{
	char *text = rows_as(REPORT_JSON, REPORT_ALIGN_ROWS + 1000);
	struct json_object *top = json_tokener_parse(text), *table = NULL;

	(void)state;
	assert_non_null(top);
	assert_true(json_object_object_get_ex(top, "ports", &table));
	assert_int_equal(json_object_array_length(table), REPORT_ALIGN_ROWS + 1000);
	for (unsigned i = 0; i < REPORT_ALIGN_ROWS + 1000; i++) {
		struct json_object *number = NULL;

		json_object_object_get_ex(json_object_array_get_idx(table, i), "number", &number);
		assert_int_equal(json_object_get_uint64(number), i);
	}
	json_object_put(top);
	free(text);
}

static long peak_kib(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_maxrss;
}

static void test_memory_stays(void **state)
{
	FILE *out = fopen("/dev/null", "w");
	long before;

	(void)state;
	if (SANITIZED) { /* keeps what was freed for a while */
		fclose(out);
		skip();
	}
	assert_non_null(out);
	for (size_t i = 0; i < FORMATS; i++) {
		assert_int_equal(write_rows(out, formats[i], 5000), 0);
		before = peak_kib();
		assert_int_equal(write_rows(out, formats[i], 200000), 0);
		if (peak_kib() > before + 1024)
			fail_msg("format %d: %ld KiB more", (int)formats[i], peak_kib() - before);
	}
	fclose(out);
}

static void test_full_disk_is_seen(void **state)
{
	/* short enough for the last flush alone to fail; in the aligned part; in the streamed one */
	static const unsigned rows[] = {0, 1, 3000, 10000};

	(void)state;
	for (size_t f = 0; f < FORMATS; f++) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			FILE *out = fopen("/dev/full", "w");

			assert_non_null(out);
			assert_int_equal(write_rows(out, formats[f], rows[i]), -ENOSPC);
			fclose(out);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_at_the_limit), cmocka_unit_test(test_text_in_other_locales),
		cmocka_unit_test(test_json_has_each_row), cmocka_unit_test(test_memory_stays),
		cmocka_unit_test(test_full_disk_is_seen),
	};

	return cmocka_run_group_tests_name("report-stream", tests, NULL, NULL);
}
