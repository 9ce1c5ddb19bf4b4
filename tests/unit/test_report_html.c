/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The page: its elements close whatever it holds, its parts are in order, pictures are drawn in it and in nothing else. How it looks and
 * acts is tested in a browser (tests/browser).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/report.h"

struct how {
	unsigned rows, findings, alike; /* alike ones a group */
	bool sections, figure;
	int drawn;   /* times */
	int failure; /* of drawing */
};

static int draw(FILE *out, void *arg)
{
	struct how *how = arg;

	how->drawn++;
	fputs("<svg role=\"img\"><title>", out);
	if (report_html_text(out, "a<b") < 0)
		return -EIO;
	fputs("</title></svg>", out);
	return how->failure;
}

static void put_table(struct report *r, const char *key, unsigned rows)
{
	static const struct report_column columns[] = {
		{.key = "name", .title = "name", .type = REPORT_STRING},
		{.key = "hidden", .type = REPORT_STRING},
		{.key = "number", .title = "n", .type = REPORT_NUMBER, .unit = "x<y"},
	};

	report_table(r, key, "a & b", columns, 3);
	for (unsigned i = 0; i < rows; i++) {
		report_cell_string(r, i % 3 ? "a\tb</td>" : NULL);
		report_cell_string(r, "not to be seen");
		report_cell_number(r, i);
		report_row_end(r);
	}
	report_table_end(r);
}

static char *render(struct how *how, enum report_format format, int wanted)
{
	struct ibqos_ctx ctx = {.program = "ibqos", .command = "verify", .fabric = "f", .err = stderr};
	struct finding_list findings = {0};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct report *r = report_begin(&ctx, out, format);

	assert_non_null(r);
	report_string(r, "first", "first", "1");
	if (how->sections) {
		report_section(r, "s", "section");
		report_number(r, "n", "number", 1);
		put_table(r, "inner", 2);
		report_number(r, "m", "more", 2);
		report_section_end(r);
		report_section(r, "untitled", NULL);
		report_number(r, "n", "number", 1);
		report_section_end(r);
		report_text(r, "diff", "a file", "--- a\n+++ b\n@@ -1 +1 @@\n-<old>\n+new\n same\n");
		report_text(r, "none", "nothing", "");
	}
	report_string(r, "late", "late", "2");
	report_string(r, "error", NULL, "went wrong");
	put_table(r, "rows", how->rows);
	if (how->figure)
		report_figure(r, "picture", "a \"picture\"", draw, how);
	for (unsigned i = 0; i < how->findings; i++) {
		struct finding *f = finding_add(&findings, FINDING_SL2VL_DIFFERS);

		f->guid = i + 1;
		f->port = 1;
		finding_set(&f->name, "leaf<%u>", i);
		finding_set(&f->got, "%u", i / how->alike);
	}
	report_findings(r, &findings, false);
	assert_int_equal(report_end(r, IBQOS_EXIT_CRITICAL), wanted);
	assert_int_equal(fclose(out), 0);
	finding_list_clear(&findings);
	return text;
}

static bool is_void(const char *name, size_t length)
{
	return length == 4 && memcmp(name, "meta", 4) == 0;
}

/* Pages are long: each of these looks at what it needs. With strict_string_checks, strchr() and its like would read the rest of the page. */
static const char *find(const char *at, const char *end, const char *part)
{
	return memmem(at, (size_t)(end - at), part, strlen(part));
}

/* Every element that is opened is closed, in turn. */
static void assert_closed(const char *page)
{
	const char *open[64], *at = page, *end = page + strlen(page);
	size_t lengths[64], depth = 0;

	while ((at = memchr(at, '<', (size_t)(end - at)))) {
		bool closes = at[1] == '/';
		const char *name = at + 1 + closes;
		size_t length = 0;

		while (name + length < end && !memchr(" >\n", name[length], 3))
			length++;
		at = memchr(at, '>', (size_t)(end - at));
		assert_non_null(at);
		if (name[0] == '!' || is_void(name, length))
			continue;
		if (closes) {
			assert_true(depth > 0);
			depth--;
			if (lengths[depth] != length || memcmp(open[depth], name, length) != 0)
				fail_msg("<%.*s> ends as </%.*s>", (int)lengths[depth], open[depth], (int)length, name);
			continue;
		}
		assert_true(depth < 64);
		open[depth] = name;
		lengths[depth++] = length;
		if (length == 6 && memcmp(name, "script", 6) == 0) { /* of the page itself, no markup */
			at = find(at, end, "</script>");
			assert_non_null(at);
		}
	}
	assert_int_equal(depth, 0);
}

static size_t count(const char *text, const char *part)
{
	const char *end = text + strlen(text);
	size_t n = 0;

	for (; (text = find(text, end, part)); text += strlen(part))
		n++;
	return n;
}

static void test_elements_close(void **state)
{
	static const unsigned rows[] = {0, 1, 499, 500, 501, 1500, 1501, 2600}, findings[] = {0, 1, 500, 501, 1200, 3300};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t j = 0; j < sizeof(findings) / sizeof(findings[0]); j++) {
			struct how how = {.rows = rows[i], .findings = findings[j], .alike = j % 2 ? 1 : 12, .sections = i % 2, .figure = i % 3};
			char *page = render(&how, REPORT_HTML, 0);
			const char *body = strstr(page, "<body");

			assert_non_null(body);
			assert_closed(page);
			assert_null(strstr(page, "not to be seen"));
			assert_int_equal(count(body, "a\xef\xbf\xbd" "b&lt;/td&gt;"), rows[i] - (rows[i] + 2) / 3 + (how.sections ? 1 : 0));
			assert_int_equal(count(body, "leaf&lt;0&gt;"), findings[j] ? 2 : 0);
			assert_int_equal(count(body, "<pre>"), (rows[i] > 500 ? (rows[i] - 500 + 999) / 1000 : 0) +
							       (findings[j] > 500 ? (findings[j] - 500 + 999) / 1000 : 0));
			free(page);
		}
	}
}

static void test_parts_are_in_order(void **state)
{
	static const char *const order[] = {
		"<h1>ibqos verify</h1>", "fabric: f", "verdict: critical", "(2 critical)", "<nav", "went wrong", "<dt>first</dt>",
		"<h2>findings</h2>", "Alike findings together", "Each finding", "<h2>a &quot;picture&quot;</h2>", "<svg", "<h2>section</h2>",
		"<h3>a &amp; b</h3>", "<dt>more</dt>", "<h2>a file</h2>", "<span class=\"minus\">-&lt;old&gt;</span>", "<h2>nothing</h2>", "none",
		"<dt>late</dt>", "<h2>a &amp; b</h2>", "</main>"};
	struct how how = {.rows = 3, .findings = 2, .alike = 2, .sections = true, .figure = true};
	char *page = render(&how, REPORT_HTML, 0);
	const char *at = strstr(page, "<body");

	(void)state;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const char *found = strstr(at, order[i]);

		if (!found)
			fail_msg("'%s' is not where it should be", order[i]);
		at = found + strlen(order[i]);
	}
	assert_int_equal(how.drawn, 1);
	assert_non_null(strstr(page, "<title>a&lt;b</title>"));
	free(page);
}

static void test_figures_are_of_pages_alone(void **state)
{
	(void)state;
	for (int format = REPORT_TEXT; format <= REPORT_NAGIOS; format++) {
		struct how with = {.rows = 2, .figure = true}, without = {.rows = 2};
		char *a = render(&with, (enum report_format)format, 0), *b = render(&without, (enum report_format)format, 0);

		assert_int_equal(with.drawn, 0);
		if (format <= REPORT_JSON) /* the others have the time that it took */
			assert_string_equal(a, b);
		free(a);
		free(b);
	}
}

static void test_failed_figure_is_told(void **state)
{
	struct how how = {.figure = true, .failure = -ENOSPC};
	char *page = render(&how, REPORT_HTML, -ENOSPC);

	(void)state;
	assert_closed(page);
	free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elements_close),
		cmocka_unit_test(test_parts_are_in_order),
		cmocka_unit_test(test_figures_are_of_pages_alone),
		cmocka_unit_test(test_failed_figure_is_told),
	};

	return cmocka_run_group_tests_name("report-html", tests, NULL, NULL);
}
