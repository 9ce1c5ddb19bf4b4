/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An answer of a site's worker, replayed into a report, and a stop at each of its lines: the report ends there, and is a whole one.
 * What is no answer is refused in tests/cli/test_site_workers.py and tests/fuzz/fuzz_replay.c.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/report.h"

static const char answer[] =
	"{\"ibqos_answer\":1,\"ibqos\":\"0.1.0\",\"command\":\"audit\",\"fabric\":\"x\"}\n"
	"[\"f\",\"one\",\"one\",7,0,null]\n"
	"[\"s\",\"part\",\"part\"]\n"
	"[\"f\",\"two\",\"two\",8,0,null]\n"
	"[\"t\",\"rows\",\"rows\",[[\"n\",\"n\",1,null,0]]]\n"
	"[\"r\",[1]]\n"
	"[\"r\",[2]]\n"
	"[\"T\"]\n"
	"[\"S\"]\n"
	"[\"F\",{\"code\":\"link-width-low\",\"severity\":\"critical\",\"guid\":\"0x1\",\"port\":1,\"name\":\"a\",\"wanted\":\"4x\",\"got\":\"1x\",\"weight\":1}]\n"
	"[\"e\",2,false]\n";

/* Hands out a line at a time, and asks to stop with the one of this number. */
struct lines {
	const char *at;
	unsigned left;
	volatile sig_atomic_t *stop;
};

static ssize_t read_line(void *cookie, char *buffer, size_t size)
{
	struct lines *lines = cookie;
	size_t length = strcspn(lines->at, "\n");

	if (!*lines->at)
		return 0;
	length += lines->at[length] == '\n';
	assert_true(length <= size);
	memcpy(buffer, lines->at, length);
	lines->at += length;
	if (lines->left > 0 && --lines->left == 0)
		*lines->stop = 1;
	return (ssize_t)length;
}

/* Replays the answer, stopped with line `line` (0: not); the report as JSON, for the caller to put. */
static struct json_object *replay(unsigned line, bool into, int wanted, size_t *found)
{
	volatile sig_atomic_t stop = 0;
	struct ibqos_ctx ctx = {.program = "ibqos", .command = "audit", .fabric = "", .err = stderr, .stop = &stop};
	struct lines lines = {answer, line, &stop};
	FILE *in = fopencookie(&lines, "r", (cookie_io_functions_t){.read = read_line}), *to;
	struct finding_list findings = {0};
	struct report_replayed out;
	struct json_object *json;
	struct report *r;
	char *fault = NULL, *text = NULL;
	size_t size;

	to = open_memstream(&text, &size);
	assert_non_null(in);
	assert_non_null(to);
	r = report_begin(&ctx, to, REPORT_JSON);
	assert_non_null(r);
	assert_int_equal(report_replay(&ctx, in, "audit", "x", into ? r : NULL, &findings, &out, &fault), wanted);
	assert_null(fault);
	assert_int_equal(out.exit, wanted == 0 ? IBQOS_EXIT_CRITICAL : IBQOS_EXIT_UNKNOWN);
	assert_int_equal(report_end(r, out.exit), 0);
	assert_int_equal(fclose(to), 0);
	fclose(in);
	json = json_tokener_parse(text);
	assert_non_null(json);
	*found = findings.count;
	finding_list_clear(&findings);
	free(text);
	return json;
}

static void test_whole(void **state)
{
	struct json_object *json, *part, *rows;
	size_t found;

	(void)state;
	json = replay(0, true, 0, &found);
	assert_int_equal(found, 1);
	assert_true(json_object_object_get_ex(json, "part", &part) && json_object_object_get_ex(part, "rows", &rows));
	assert_int_equal(json_object_array_length(rows), 2);
	json_object_put(json);
}

/* Whatever was open is closed; what came before the stop is there. */
static void test_stopped_at_each_line(void **state)
{
	static const int rows_there[] = {-1, -1, -1, -1, -1, -1, 0, 1, 2, 2, 2, 2};
	struct json_object *json, *part, *rows;
	size_t found;

	(void)state;
	for (unsigned line = 1; line <= 11; line++) {
		json = replay(line, true, -EINTR, &found);
		assert_int_equal(found, line > 10);
		assert_int_equal(json_object_object_get_ex(json, "one", &rows), line > 2);
		rows = NULL;
		if (json_object_object_get_ex(json, "part", &part))
			json_object_object_get_ex(part, "rows", &rows);
		assert_int_equal(rows ? (int)json_object_array_length(rows) : -1, rows_there[line]);
		json_object_put(json);
		json = replay(line, false, -EINTR, &found);
		assert_false(json_object_object_get_ex(json, "one", &rows));
		json_object_put(json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_stopped_at_each_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
