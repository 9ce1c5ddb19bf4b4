/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The metrics and the one line for Nagios of reports, against golden pairs, tests/golden/report/NAME.prom and
 * NAME.nagios. Run from the top of the source tree, or with IBQOS_SRC=folder; IBQOS_GOLDEN_UPDATE=1 rewrites the pairs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "golden.h"
#include "ibqos/report.h"

typedef void builder(struct report *r, struct finding_list *findings);

struct run {
	builder *build;
	const char *fabric;
	enum ibqos_exit exit; /* the least */
	bool all;
	volatile sig_atomic_t stop;
};

/* Also tells the report to a second one of format `also`, whose text is *other. */
static char *render_both(struct run *run, enum report_format format, enum report_format also, char **other)
{
	struct ibqos_ctx ctx = {
		.program = "ibqos", .command = "verify", .fabric = run->fabric, .err = stderr, .stop = &run->stop};
	struct finding_list findings = {0};
	char *text = NULL;
	size_t size, other_size;
	FILE *out = open_memstream(&text, &size), *other_out = NULL;
	struct report *r, *second = NULL;
	enum ibqos_exit code;

	assert_non_null(out);
	r = report_begin(&ctx, out, format);
	assert_non_null(r);
	if (other) {
		other_out = open_memstream(other, &other_size);
		assert_non_null(other_out);
		second = report_begin(&ctx, other_out, also);
		assert_non_null(second);
		report_also(r, second);
	}
	run->build(r, &findings);
	finding_list_sort(&findings);
	code = finding_exit(&findings);
	code = code == IBQOS_EXIT_CLEAN ? run->exit : code;
	report_findings(r, &findings, run->all);
	assert_int_equal(report_end(r, code), 0);
	assert_int_equal(fclose(out), 0);
	if (other) {
		assert_int_equal(report_end(second, code), 0);
		assert_int_equal(fclose(other_out), 0);
	}
	finding_list_clear(&findings);
	return text;
}

static char *render(struct run *run, enum report_format format)
{
	return render_both(run, format, REPORT_TEXT, NULL);
}

/* Replaces what stands between `before` and `after` by `new`, wherever it is; frees the old text. */
static char *settle(char *text, const char *before, const char *after, const char *new)
{
	char *at = text, *start, *end, *made = NULL;
	size_t size;
	FILE *out = open_memstream(&made, &size);

	assert_non_null(out);
	while ((start = strstr(at, before)) && (end = strstr(start + strlen(before), after))) {
		fprintf(out, "%.*s%s%s", (int)(start - at), at, before, new);
		at = end;
	}
	fputs(at, out);
	assert_int_equal(fclose(out), 0);
	free(text);
	return made;
}

/* Without what differs from run to run, or from version to version. */
static char *settled(char *text)
{
	static const char *const timed[] = {"\nibqos_last_run_timestamp_seconds{", "\nibqos_run_duration_seconds{"};

	for (size_t i = 0; i < 2; i++) {
		char *labels = strstr(text, timed[i]), *before;

		if (!labels)
			continue;
		assert_true(asprintf(&before, "%.*s} ", (int)strcspn(labels, "}"), labels) > 0);
		text = settle(text, before, "\n", "TIME");
		free(before);
	}
	text = settle(text, "version=\"", "\"", "VERSION");
	return settle(text, " time=", "\n", "TIME");
}

static void compare_golden(const char *name, const char *ending, char *text)
{
	char *got = settled(text);

	golden_compare(name, ending, got);
	free(got);
}

static void golden(const char *name, struct run run)
{
	compare_golden(name, "prom", render(&run, REPORT_PROMETHEUS));
	compare_golden(name, "nagios", render(&run, REPORT_NAGIOS));
}

static bool has_line(const char *text, const char *line)
{
	char *whole;
	bool found;

	assert_true(asprintf(&whole, "\n%s\n", line) > 0);
	found = strstr(text, whole) != NULL;
	free(whole);
	return found;
}

/* --- reports --- */

static const struct report_column coverage[] = {
	{.key = "item", .type = REPORT_STRING},	     {.key = "asked", .type = REPORT_NUMBER},
	{.key = "answered", .type = REPORT_NUMBER},  {.key = "status", .type = REPORT_NUMBER},
	{.key = "timed_out", .type = REPORT_NUMBER}, {.key = "not_asked", .type = REPORT_NUMBER},
};

static void coverage_row(struct report *r, const char *item, uint64_t asked, uint64_t timed_out)
{
	report_cell_string(r, item);
	report_cell_number(r, asked);
	report_cell_number(r, asked - timed_out);
	report_cell_number(r, 0);
	report_cell_number(r, timed_out);
	report_row_end(r);
}

static struct finding *at_port(struct finding_list *findings, enum finding_code code, const char *name, unsigned guid, int port)
{
	struct finding *f = finding_add(findings, code);

	f->guid = 0x0002c90300000000 + guid;
	f->port = port;
	finding_set(&f->name, "%s", name);
	return f;
}

static void build_verify(struct report *r, struct finding_list *findings)
{
	struct finding *f;

	report_section(r, "fabric_found", "fabric");
	report_number(r, "switches", "switches", 6);
	report_number(r, "links", "links", 318);
	report_string(r, "active_ports", "active ports", NULL); /* not known: no sample */
	report_section(r, "ports", "ports");
	report_number(r, "looked_at", "looked at", 318);
	report_number(r, "differ", "differ", 3);
	report_section(r, "sm", "subnet manager");
	report_string(r, "state", "state", "master");
	report_string(r, "qos", "QoS", NULL);
	report_number(r, "act_count", NULL, UINT64_MAX);
	report_section_end(r);
	report_table(r, "coverage", NULL, coverage, sizeof(coverage) / sizeof(coverage[0]));
	coverage_row(r, "SL2VLMappingTable", 318, 0);
	coverage_row(r, "VLArbitrationTable", 636, 4);
	report_table_end(r);
	report_section(r, "mads", "MADs");
	report_real(r, "seconds", NULL, 1.25, 6, "s");
	report_section_end(r);
	f = at_port(findings, FINDING_SL2VL_DIFFERS, "leaf-1", 1, 3);
	f->cause = CAUSE_DRIFTED;
	finding_set(&f->what, "in-port 1");
	f = at_port(findings, FINDING_SL2VL_DIFFERS, "leaf-1", 1, 3); /* the same port, told apart by what */
	f->cause = CAUSE_DRIFTED;
	finding_set(&f->what, "in-port 2");
	f->peer_guid = 0x0002c90300001003;
	f->peer_port = 1;
	finding_set(&f->peer_name, "host-3");
	f = at_port(findings, FINDING_VLARB_DIFFERS, "leaf-1", 1, 4);
	f->cause = CAUSE_NOT_APPLIED;
	at_port(findings, FINDING_AGENT_SILENT, "leaf-2", 2, FINDING_WHOLE_NODE);
	finding_add(findings, FINDING_NO_SM);
	finding_add(findings, FINDING_PLAN_DROPS_SLS);
	finding_at(finding_add(findings, FINDING_FILE_NOT_THE_POLICY), "/etc/opensm/opensm.conf", 0, 0);
}

static void build_clean(struct report *r, struct finding_list *findings)
{
	(void)findings;
	report_section(r, "links", "links audited");
	report_number(r, "looked_at", "looked at", 318);
	report_number(r, "slow", "slow", 0);
	report_section_end(r);
}

static void build_error(struct report *r, struct finding_list *findings)
{
	build_clean(r, findings);
	report_section(r, "ports", "ports"); /* wherever it breaks */
	report_string(r, "error", NULL, "cannot read the ports: a|b\nc");
}

#define NASTY "a\x1b[2J\x9b" "b\xc2\x9b\xe2\x80\xae\"\\\xff\r\n|\x07z"

static void build_hostile(struct report *r, struct finding_list *findings)
{
	static const struct report_column hosts[] = {{.key = "host", .type = REPORT_STRING},
						     {.key = "warnings", .type = REPORT_NUMBER}};

	report_table(r, "hosts", NULL, hosts, 2);
	for (unsigned i = 0; i < 2; i++) { /* the same label: one sample */
		report_cell_string(r, NASTY);
		report_cell_number(r, 1 + i);
		report_row_end(r);
	}
	report_cell_string(r, "\\\"\\");
	report_cell_number(r, 4);
	report_row_end(r);
	report_table_end(r);
	for (int i = 0; i < 3; i++) {
		struct finding *f = finding_add(findings, i < 2 ? FINDING_NO_ANSWER : FINDING_POLICY_TYPE);

		/* set behind finding_set()'s back */
		f->guid = 1;
		f->port = i;
		f->name = strdup(NASTY);
		f->peer_guid = 2;
		f->peer_name = strdup(NASTY);
		f->file = i == 2 ? strdup(NASTY) : NULL;
	}
}

static void test_golden_verify(void **state)
{
	(void)state;
	golden("metrics-verify", (struct run){.build = build_verify, .fabric = "rail-1"});
}

static void test_golden_clean(void **state)
{
	(void)state;
	golden("metrics-clean", (struct run){.build = build_clean, .fabric = ""});
}

static void test_golden_error(void **state)
{
	(void)state;
	golden("metrics-error", (struct run){.build = build_error, .fabric = "", .exit = IBQOS_EXIT_UNKNOWN});
}

static void test_golden_hostile(void **state)
{
	(void)state;
	golden("metrics-hostile", (struct run){.build = build_hostile, .fabric = NASTY});
}

/* --- what the goldens do not show --- */

/* A run that did not come to its end is never taken for one that found nothing. */
static void test_not_done(void **state)
{
	struct run stopped = {.build = build_clean, .fabric = "", .exit = IBQOS_EXIT_UNKNOWN, .stop = 1};
	struct run failed = {.build = build_error, .fabric = "", .exit = IBQOS_EXIT_UNKNOWN};
	struct run done = {.build = build_clean, .fabric = ""};
	struct run *runs[] = {&stopped, &failed, &done};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char *text = render(runs[i], REPORT_PROMETHEUS);

		assert_true(has_line(text, runs[i] == &done ? "ibqos_up{command=\"verify\"} 1" : "ibqos_up{command=\"verify\"} 0"));
		assert_int_equal(has_line(text, "ibqos_findings{command=\"verify\",severity=\"critical\"} 0"), runs[i] == &done);
		assert_int_equal(has_line(text, "ibqos_verdict{command=\"verify\",verdict=\"clean\"} 1"), runs[i] == &done);
		free(text);
	}
}

static void build_lost(struct report *r, struct finding_list *findings)
{
	(void)r;
	findings->lost = true;
}

static void test_lost_findings(void **state)
{
	struct run run = {.build = build_lost, .fabric = ""};
	char *text = render(&run, REPORT_PROMETHEUS);

	(void)state;
	assert_true(has_line(text, "ibqos_up{command=\"verify\"} 0"));
	free(text);
}

static unsigned count_of(const char *text, const char *part)
{
	unsigned count = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

static void build_many(struct report *r, struct finding_list *findings)
{
	(void)r;
	for (unsigned i = 0; i < 1500; i++)
		at_port(findings, FINDING_SL2VL_DIFFERS, "leaf", 1 + i / 40, (int)(i % 40));
}

/* However many there are, and each where that is asked for; all are counted. */
static void test_series_are_bounded(void **state)
{
	struct run some = {.build = build_many, .fabric = ""}, all = {.build = build_many, .fabric = "", .all = true};
	char *few = render(&some, REPORT_PROMETHEUS), *each = render(&all, REPORT_PROMETHEUS);

	(void)state;
	assert_int_equal(count_of(few, "\nibqos_port_findings{"), 1000);
	assert_int_equal(count_of(few, "\nibqos_port_info{"), 1000);
	assert_true(has_line(few, "ibqos_port_findings_omitted{command=\"verify\"} 500"));
	assert_int_equal(count_of(each, "\nibqos_port_findings{"), 1500);
	assert_true(has_line(each, "ibqos_port_findings_omitted{command=\"verify\"} 0"));
	assert_true(has_line(few, "ibqos_findings{command=\"verify\",severity=\"critical\"} 1500"));
	free(few);
	free(each);
}

/* Each format is the same whether it is told alone or beside another. */
static void test_two_at_once(void **state)
{
	static const enum report_format formats[] = {REPORT_TEXT, REPORT_JSON, REPORT_PROMETHEUS, REPORT_NAGIOS};
	static builder *const builders[] = {build_verify, build_hostile, build_error};

	(void)state;
	for (size_t i = 0; i < 3 * 16; i++) {
		struct run run = {.build = builders[i / 16], .fabric = "f", .exit = IBQOS_EXIT_UNKNOWN};
		enum report_format a = formats[i % 4], b = formats[i / 4 % 4];
		char *second, *first = settled(render_both(&run, a, b, &second));
		char *alone = settled(render(&run, a)), *other = settled(render(&run, b));

		second = settled(second);
		assert_string_equal(first, alone);
		assert_string_equal(second, other);
		free(first);
		free(second);
		free(alone);
		free(other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_verify),  cmocka_unit_test(test_golden_clean),
		cmocka_unit_test(test_golden_error),   cmocka_unit_test(test_golden_hostile),
		cmocka_unit_test(test_not_done),       cmocka_unit_test(test_lost_findings),
		cmocka_unit_test(test_series_are_bounded), cmocka_unit_test(test_two_at_once),
	};

	return cmocka_run_group_tests_name("report metrics", tests, NULL, NULL);
}
