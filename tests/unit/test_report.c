/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reports against golden pairs, tests/golden/report/NAME.txt, NAME.json and NAME.html, made by the same calls.
 * Run from the top of the source tree, or with IBQOS_SRC=folder; IBQOS_GOLDEN_UPDATE=1 rewrites
 * the pairs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "ibqos/report.h"

typedef void builder(struct report *r, struct finding_list *findings);

/* Builds a report; the caller frees the text. */
static char *render(builder *build, enum report_format format, const char *fabric, bool all)
{
	struct ibqos_ctx ctx = {.program = "ibqos", .command = "verify", .fabric = fabric, .err = stderr};
	struct finding_list findings = {0};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct report *r;

	assert_non_null(out);
	r = report_begin(&ctx, out, format);
	assert_non_null(r);
	build(r, &findings);
	finding_list_sort(&findings);
	report_findings(r, &findings, all);
	assert_int_equal(report_end(r, finding_exit(&findings)), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(text), size);
	finding_list_clear(&findings);
	return text;
}

/* The text with the version of the program, which changes without any change here, made VERSION. */
static char *without_version(const char *text)
{
	static const char mark[] = "\"ibqos\":\"" IBQOS_VERSION "\"";
	const char *at = strstr(text, mark);
	char *made;

	if (!at)
		return strdup(text);
	assert_true(asprintf(&made, "%.*s\"ibqos\":\"VERSION\"%s", (int)(at - text), text,
			     at + strlen(mark)) > 0);
	return made;
}

static void compare_golden(const char *name, const char *ending, const char *text)
{
	char *got = without_version(text);

	golden_compare(name, ending, got);
	free(got);
}

/* Nothing that a terminal obeys, and UTF-8 throughout. */
static void assert_safe(const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		size_t length = *text == '\n' || *text == '\t' ? 1 : text_char(text, left);

		if (length == 0)
			fail_msg("byte 0x%02x", (unsigned char)*text);
		text += length;
		left -= length;
	}
}

/* Parses strictly; the caller releases it. */
static struct json_object *parse(const char *text)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *top;

	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	top = json_tokener_parse_ex(tokener, text, (int)strlen(text));
	if (!top)
		fail_msg("not JSON: %s", json_tokener_error_desc(json_tokener_get_error(tokener)));
	assert_int_equal(json_tokener_get_parse_end(tokener), strlen(text));
	json_tokener_free(tokener);
	return top;
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *found = NULL;

	if (!json_object_object_get_ex(object, key, &found))
		fail_msg("no member '%s'", key);
	return found;
}

static const char *string_of(struct json_object *object, const char *key)
{
	struct json_object *found = member(object, key);

	assert_int_equal(json_object_get_type(found), json_type_string);
	return json_object_get_string(found);
}

static uint64_t number_of(struct json_object *object, const char *key)
{
	struct json_object *found = member(object, key);

	assert_int_equal(json_object_get_type(found), json_type_int);
	return json_object_get_uint64(found);
}

static void golden(const char *name, builder *build, const char *fabric)
{
	char *text = render(build, REPORT_TEXT, fabric, false);
	char *json = render(build, REPORT_JSON, fabric, false);
	char *html = render(build, REPORT_HTML, fabric, false);
	struct json_object *top = parse(json);

	assert_safe(text);
	assert_safe(json);
	assert_safe(html);
	assert_int_equal(number_of(top, "format"), 1);
	assert_string_equal(string_of(top, "ibqos"), IBQOS_VERSION);
	assert_string_equal(string_of(top, "command"), "verify");
	json_object_put(top);
	compare_golden(name, "txt", text);
	compare_golden(name, "json", json);
	golden_page(name, html);
	free(html);
	free(text);
	free(json);
}

static struct finding *on_link(struct finding_list *findings, enum finding_code code, unsigned leaf, int port)
{
	struct finding *f = finding_add(findings, code);

	f->guid = 0x0002c90300000000 + leaf;
	f->port = port;
	finding_set(&f->name, "leaf-%u", leaf);
	f->peer_guid = 0x0002c90300001000 + leaf * 100 + (unsigned)port;
	f->peer_port = 1;
	finding_set(&f->peer_name, "host-%u", leaf * 100 + (unsigned)port);
	return f;
}

static const struct report_column link_columns[] = {
	{.key = "node", .title = "node", .type = REPORT_STRING},
	{.key = "guid", .title = "GUID", .type = REPORT_GUID},
	{.key = "port", .title = "port", .type = REPORT_NUMBER},
	{.key = "lid", .type = REPORT_NUMBER}, /* for machines alone */
	{.key = "rate", .title = "rate", .type = REPORT_REAL, .unit = "Gb/s", .decimals = 1},
	{.key = "active", .title = "active", .type = REPORT_BOOL},
};
#define LINK_COLUMNS (sizeof(link_columns) / sizeof(link_columns[0]))

static void link_row(struct report *r, const char *name, uint64_t guid, unsigned port, double rate)
{
	report_cell_string(r, name);
	report_cell_guid(r, guid);
	report_cell_number(r, port);
	report_cell_number(r, port + 1000);
	report_cell_real(r, rate);
	report_cell_bool(r, rate > 0);
	report_row_end(r);
}

static void build_fabric(struct report *r, struct finding_list *findings)
{
	struct finding *f;

	report_string(r, "policy", "policy", "training.yaml");
	report_section(r, "ports", "ports");
	report_number(r, "looked_at", "looked at", 318);
	report_real(r, "share", "share", 99.685, 2, "%");
	report_guid(r, "sm", "subnet manager", 0x0002c903000000aa);
	report_section_end(r);
	report_table(r, "links", "links", link_columns, LINK_COLUMNS);
	link_row(r, "leaf-1", 0x0002c90300000001, 3, 400);
	link_row(r,
		 "sp\xc3\xa9"
		 "cial-leaf",
		 0x0002c90300000002, 36, 53.125);
	link_row(r, NULL, 0, 1, NAN);
	report_table_end(r);
	for (int port = 1; port <= 12; port++) {
		f = on_link(findings, FINDING_SL2VL_DIFFERS, 1 + port % 2, port);
		finding_set(&f->what, "SL2VL, in-ports 0-36");
		finding_set(&f->wanted, "0,1,2,3");
		finding_set(&f->got, port == 4 ? "0,1,0,0" : "0,0,0,0");
	}
	for (int port = 21; port <= 22; port++) { /* alike but for the reason: each class has its own advice */
		f = on_link(findings, FINDING_VLARB_DIFFERS, 1, port);
		f->cause = port == 21 ? CAUSE_DRIFTED : CAUSE_NOT_APPLIED;
		finding_set(&f->what, "VLArb low");
		finding_set(&f->wanted, "0:1");
	}
	for (int leaf = 1; leaf <= 2; leaf++) { /* alike but for the detail */
		f = on_link(findings, FINDING_AGENT_SILENT, (unsigned)leaf, 1);
		f->port = FINDING_WHOLE_NODE;
		f->peer_guid = 0;
		finding_set(&f->peer_name, "%s", "");
		free(f->peer_name);
		f->peer_name = NULL;
		finding_set(&f->detail, "not answered in %d tries", leaf + 3);
	}
	f = on_link(findings, FINDING_OPER_VLS_DIFFERS, 7, 2);
	free(f->name);
	f->name = NULL; /* a node without a name is called by its GUID */
	finding_set(&f->got, "VL0-3 and VL0-1");
	finding_set(&f->detail, "since the last reload");
	finding_add(findings, FINDING_NO_SM);
	f = finding_add(findings, FINDING_PLAN_FEWER_VLS);
	finding_set(&f->name, "sharp-an-1");
	f->guid = 0x0002c903000000bb;
	finding_set(&f->what, "classes on VLs");
}

static void build_files(struct report *r, struct finding_list *findings)
{
	struct finding *f;

	report_text(r, "diff", "changes", "--- a/opensm.conf\n+++ b/opensm.conf\n-qos\tFALSE\n+qos\tTRUE");
	f = finding_at(finding_add(findings, FINDING_POLICY_KEY_UNKNOWN), "policy.yaml", 3, 5);
	finding_set(&f->what, "'shar'");
	finding_set(&f->wanted, "one of name, sl, share");
	f = finding_at(finding_add(findings, FINDING_POLICY_KEY_UNKNOWN), "policy.yaml", 12, 5);
	finding_set(&f->what, "'shar'");
	finding_set(&f->wanted, "one of name, sl, share");
	f = finding_at(finding_add(findings, FINDING_POLICY_RANGE), "policy.yaml", 7, 0);
	finding_set(&f->what, "sl");
	finding_set(&f->wanted, "0 to 14");
	finding_set(&f->got, "15");
	finding_at(finding_add(findings, FINDING_APPLY_NOT_WRITABLE), "/etc/opensm/opensm.conf", 0, 0);
	finding_at(finding_add(findings, FINDING_POLICY_SHARE_SPARE), "policy.yaml", 2, 1);
	f = finding_at(finding_add(findings, FINDING_OPENSM_VALUE_DOUBTFUL), "opensm.conf", 40, 9);
	finding_set(&f->detail, "read as 0");
}

static void build_clean(struct report *r, struct finding_list *findings)
{
	(void)findings;
	report_table(r, "links", "links", link_columns, LINK_COLUMNS);
	report_table_end(r);
	report_text(r, "diff", "changes", "");
}

#define NASTY                                                                                                \
	"a\x1b[2J\x9b"                                                                                       \
	"b\xc2\x9b\xe2\x80\xae\"\\\xff\r\n\x07z"

/* Names as a broken or hostile device may send them, in each place that takes text. */
static void build_hostile(struct report *r, struct finding_list *findings)
{
	static const struct report_column columns[] = {
		{.key = "name", .title = "name", .type = REPORT_STRING}};

	report_string(r, "name", "name", NASTY);
	report_table(r, "names", "names", columns, 1);
	report_cell_string(r, NASTY);
	report_row_end(r);
	report_table_end(r);
	report_text(r, "block", "block", NASTY);
	for (int i = 0; i < 4; i++) {
		struct finding *f = finding_add(findings, i < 2 ? FINDING_NO_ANSWER : FINDING_POLICY_TYPE);

		/* set behind finding_set()'s back */
		f->guid = 1;
		f->port = i;
		f->name = strdup(NASTY);
		f->peer_name = strdup(NASTY);
		f->what = strdup(NASTY);
		f->wanted = strdup(NASTY);
		f->got = strdup(NASTY);
		f->detail = i ? strdup(NASTY) : NULL;
		f->file = i == 3 ? strdup(NASTY) : NULL;
	}
}

static void test_golden_fabric(void **state)
{
	(void)state;
	golden("fabric", build_fabric, "rail-1");
}

static void test_golden_files(void **state)
{
	(void)state;
	golden("files", build_files, "rail-1");
}

static void test_golden_clean(void **state)
{
	(void)state;
	golden("clean", build_clean, "");
}

static void test_golden_hostile(void **state)
{
	(void)state;
	golden("hostile", build_hostile, NASTY);
}

static void build_types(struct report *r, struct finding_list *findings)
{
	(void)findings;
	report_string(r, "none", "none", NULL);
	report_number(r, "largest", "largest", UINT64_MAX);
	report_real(r, "third", "third", 1.0 / 3, 3, NULL);
	report_real(r, "million", "million", 1234567.89, 1, "B");
	report_real(r, "nan", "nan", NAN, 1, "B");
	report_real(r, "infinite", "infinite", -INFINITY, 1, "B");
	report_real(r, "huge", "huge", 1e300, 2, NULL);
	report_bool(r, "yes", "yes", true);
	report_bool(r, "no", "no", false);
	report_guid(r, "guid", "guid", 0xf4521403009bd0a0);
	report_guid(r, "no_guid", "no_guid", 0);
	report_string(r, "hidden", NULL, "machine");
	report_string(r, "error", "error", "first");
	report_string(r, "error", "error", "second");
	report_section(r, "section", "section");
	report_string(r, "error", "error", "inner");
	report_string(r, "error", "error", "inner second");
	report_table(r, "table", "table", link_columns, LINK_COLUMNS);
	report_cell_none(r);
	report_cell_guid(r, 0);
	report_row_end(r);
	for (int i = 0; i < 9; i++) /* three more than there are columns */
		report_cell_string(r, "x");
	report_row_end(r);
	report_section(r, "next", "next"); /* ends table and section */
	report_text(r, "text", "text", NULL);
	report_string(r, "exit", NULL, "not the exit code");
	report_section_end(r);
	report_string(r, "verdict", NULL, "not the verdict");
}

static void test_types_in_json(void **state)
{
	char *text = render(build_types, REPORT_JSON, NULL, false);
	struct json_object *top = parse(text), *section, *table, *row;

	(void)state;
	assert_null(member(top, "fabric"));
	assert_null(member(top, "none"));
	assert_int_equal(number_of(top, "largest"), UINT64_MAX);
	assert_true(fabs(json_object_get_double(member(top, "third")) - 0.333333) < 1e-12);
	assert_true(json_object_get_double(member(top, "million")) == 1.23457e6);
	assert_null(member(top, "nan"));
	assert_null(member(top, "infinite"));
	assert_true(json_object_get_double(member(top, "huge")) == 1e300);
	assert_int_equal(json_object_get_type(member(top, "yes")), json_type_boolean);
	assert_true(json_object_get_boolean(member(top, "yes")));
	assert_int_equal(json_object_get_type(member(top, "no")), json_type_boolean);
	assert_false(json_object_get_boolean(member(top, "no")));
	assert_string_equal(string_of(top, "guid"), "0xf4521403009bd0a0");
	assert_null(member(top, "no_guid"));
	assert_string_equal(string_of(top, "hidden"), "machine");
	assert_string_equal(string_of(top, "error"), "first");
	assert_string_equal(string_of(top, "error_2"), "second");
	section = member(top, "section");
	assert_string_equal(string_of(section, "error"), "inner");
	assert_string_equal(string_of(section, "error_2"), "inner second");
	table = member(section, "table");
	assert_int_equal(json_object_array_length(table), 2);
	row = json_object_array_get_idx(table, 0);
	assert_int_equal(json_object_object_length(row), LINK_COLUMNS);
	json_object_object_foreach(row, key, value)
	{
		(void)key;
		assert_null(value);
	}
	row = json_object_array_get_idx(table, 1);
	assert_int_equal(json_object_object_length(row), LINK_COLUMNS);
	assert_string_equal(string_of(row, "active"), "x");
	assert_null(member(member(top, "next"), "text"));
	assert_string_equal(string_of(member(top, "next"), "exit"), "not the exit code");
	assert_int_equal(number_of(top, "exit"), 0);
	assert_string_equal(string_of(top, "verdict"), "clean");
	assert_string_equal(string_of(top, "verdict_2"), "not the verdict");
	json_object_put(top);
	free(text);
}

static void test_types_in_text(void **state)
{
	static const char expected[] = "none: unknown\n"
				       "largest: 18446744073709551615\n"
				       "third: 0.333\n"
				       "million: 1234567.9 B\n"
				       "nan: unknown\n"
				       "infinite: unknown\n"
				       "huge: 1e+300\n"
				       "yes: yes\n"
				       "no: no\n"
				       "guid: 0xf4521403009bd0a0\n"
				       "no_guid: unknown\n"
				       "error: first\n"
				       "error: second\n"
				       "\n"
				       "section:\n"
				       "  error: inner\n"
				       "  error: inner second\n"
				       "\n"
				       "table:\n";
	char *text = render(build_types, REPORT_TEXT, NULL, false);
	char *tail = strstr(text, "\nnext:\n");

	(void)state;
	assert_true(strlen(text) > strlen(expected));
	assert_memory_equal(text, expected, strlen(expected));
	assert_non_null(tail);
	assert_string_equal(tail, "\nnext:\n\ntext: unknown\n\nverdict: clean\n");
	free(text);
}

/* Each finding of the list is one row of JSON with all that the finding holds. */
static void test_findings_in_json(void **state)
{
	char *text = render(build_fabric, REPORT_JSON, "rail-1", false);
	struct json_object *top = parse(text), *rows = member(top, "findings"), *row;

	(void)state;
	assert_int_equal(json_object_array_length(rows), 19);
	row = json_object_array_get_idx(rows, 0); /* leaf-1 has the even port of 1 + port % 2 */
	assert_string_equal(string_of(row, "code"), "sl2vl-differs");
	assert_string_equal(string_of(row, "severity"), "critical");
	assert_string_equal(string_of(row, "node_guid"), "0x0002c90300000001");
	assert_string_equal(string_of(row, "node"), "leaf-1");
	assert_int_equal(number_of(row, "port"), 2);
	assert_string_equal(string_of(row, "peer_guid"), "0x0002c90300001066");
	assert_int_equal(number_of(row, "peer_port"), 1);
	assert_string_equal(string_of(row, "peer"), "host-102");
	assert_null(member(row, "file"));
	assert_null(member(row, "line"));
	assert_null(member(row, "column"));
	assert_string_equal(string_of(row, "what"), "SL2VL, in-ports 0-36");
	assert_string_equal(string_of(row, "wanted"), "0,1,2,3");
	assert_string_equal(string_of(row, "got"), "0,0,0,0");
	assert_null(member(row, "detail"));
	assert_string_equal(string_of(row, "title"), finding_kind(FINDING_SL2VL_DIFFERS)->title);
	assert_string_equal(string_of(row, "advice"), finding_kind(FINDING_SL2VL_DIFFERS)->advice);
	assert_null(member(row, "class"));
	row = json_object_array_get_idx(rows, 12);
	assert_string_equal(string_of(row, "class"), "not-applied");
	assert_string_equal(string_of(row, "advice"), finding_cause_kind(CAUSE_NOT_APPLIED)->advice);
	row = json_object_array_get_idx(rows, 15); /* no-sm comes before agent-silent in the table of codes */
	assert_string_equal(string_of(row, "code"), "agent-silent");
	assert_null(member(row, "port"));
	assert_null(member(row, "peer_guid"));
	assert_null(member(row, "peer_port"));
	assert_string_equal(string_of(row, "detail"), "not answered in 4 tries");
	assert_int_equal(number_of(top, "exit"), 2);
	assert_string_equal(string_of(top, "verdict"), "critical");
	assert_false(json_object_get_boolean(member(top, "findings_lost")));
	json_object_put(top);
	free(text);
}

static unsigned count_of(const char *text, const char *part)
{
	unsigned count = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

/* Text names ten of a group and says how many there are; with `all` it names each, with its GUIDs. */
static void test_all_names_each(void **state)
{
	char *some = render(build_fabric, REPORT_TEXT, "", false);
	char *all = render(build_fabric, REPORT_TEXT, "", true);

	(void)state;
	assert_non_null(strstr(some, "critical: 11 ports: "));
	assert_non_null(strstr(some, " and 1 more (--all, or --format json, names each)"));
	assert_int_equal(count_of(some, " to host-"), 10 + 1 + 2 + 1);
	assert_non_null(strstr(all, "critical: 11 ports: "));
	assert_null(strstr(all, " more ("));
	assert_int_equal(count_of(all, " to host-"), 11 + 1 + 2 + 1);
	assert_null(strstr(some, "leaf-2[1] 0x"));
	assert_non_null(strstr(all, "leaf-2[11] 0x0002c90300000002 to host-211[1] 0x0002c903000010d3"));
	assert_null(strstr(some, "fabric:"));
	free(some);
	free(all);
}

static void build_twice(struct report *r, struct finding_list *findings)
{
	(void)r;
	finding_add(findings, FINDING_NO_SM);
	finding_add(findings, FINDING_NO_SM);
	findings->lost = true;
}

static void test_lost_findings_are_said(void **state)
{
	char *text = render(build_twice, REPORT_TEXT, "", false);
	char *json = render(build_twice, REPORT_JSON, "", false);
	struct json_object *top = parse(json);

	(void)state;
	assert_string_equal(text, "findings lost for want of memory: yes\n"
				  "\n"
				  "unknown: 2 times: no subnet manager serves this fabric (no-sm)\n"
				  "    advice: start OpenSM\n"
				  "\n"
				  "verdict: unknown (2 unknown)\n");
	assert_true(json_object_get_boolean(member(top, "findings_lost")));
	assert_int_equal(number_of(top, "exit"), 3);
	json_object_put(top);
	free(text);
	free(json);
}

static void test_format_names(void **state)
{
	enum report_format format = REPORT_JSON;

	(void)state;
	assert_int_equal(report_format_of("text", &format), 0);
	assert_int_equal(format, REPORT_TEXT);
	assert_int_equal(report_format_of("json", &format), 0);
	assert_int_equal(format, REPORT_JSON);
	assert_int_equal(report_format_of("JSON", &format), -EINVAL);
	assert_int_equal(report_format_of("", &format), -EINVAL);
	assert_int_equal(report_format_of("prometheus", &format), 0);
	assert_int_equal(format, REPORT_PROMETHEUS);
	assert_int_equal(report_format_of("nagios", &format), 0);
	assert_int_equal(format, REPORT_NAGIOS);
	assert_string_equal(report_format_names(), "text, json, prometheus, nagios, html");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_fabric),          cmocka_unit_test(test_golden_files),
		cmocka_unit_test(test_golden_clean),           cmocka_unit_test(test_golden_hostile),
		cmocka_unit_test(test_types_in_json),          cmocka_unit_test(test_types_in_text),
		cmocka_unit_test(test_findings_in_json),       cmocka_unit_test(test_all_names_each),
		cmocka_unit_test(test_lost_findings_are_said), cmocka_unit_test(test_format_names),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
