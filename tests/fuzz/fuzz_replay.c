/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any bytes as the answer of a site's worker: refused with a reason, or good; and what was found good is good the second time
 * too, makes whole JSON, and handed back by calls again is read as the same.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/report.h"

static const struct ibqos_ctx none = {.err = NULL}; /* nobody stops it */

static void replay_into(FILE *in, struct report *r, struct finding_list *findings, struct report_replayed *out)
{
	char *fault = NULL;

	rewind(in);
	require(report_replay(&none, in, "discover", "x", r, findings, out, &fault) == 0 && !fault);
}

/* As one part of a report of many fabrics. Freed by the caller. */
static char *make(FILE *in, enum report_format format)
{
	struct ibqos_ctx ctx = {.command = "discover", .fabric = "", .err = stderr};
	struct report_part part = {.whole = true};
	struct finding_list findings = {0};
	struct report_replayed out;
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	struct report *r = to ? report_begin(&ctx, to, format) : NULL;

	require(r);
	report_parts(r, "fabrics");
	report_part(r, "x");
	replay_into(in, r, &findings, &out);
	report_part_end(r, &part);
	report_parts_end(r);
	report_findings(r, &findings, true);
	require(report_end(r, out.exit) == 0 && fclose(to) == 0);
	finding_list_clear(&findings);
	return text;
}

static unsigned count_of(const char *text, const char *what)
{
	unsigned count = 0;

	for (; (text = strstr(text, what)) != NULL; text += strlen(what))
		count++;
	return count;
}

static void make_json(FILE *in)
{
	char *text = make(in, REPORT_JSON);
	struct json_object *json = json_tokener_parse(text);

	require(json);
	json_object_put(json);
	free(text);
}

/* No mark of a picture is of the page's own: it cannot end its figure, nor begin what a page has once. */
static void make_page(FILE *in)
{
	char *text = make(in, REPORT_HTML);

	require(count_of(text, "<figure>") == count_of(text, "</figure>"));
	require(count_of(text, "<section ") == count_of(text, "</section>"));
	require(count_of(text, "<script") == 1 && count_of(text, "<style") == 1 && count_of(text, "</html>") == 1);
	require(count_of(text, "<img") + count_of(text, "<a ") + count_of(text, "<iframe") + count_of(text, "<!--") ==
		count_of(text, "<a class=\"skip\"") + count_of(text, "<a class=\"members\"") + count_of(text, "<a href=\"#"));
	free(text);
}

static char *again(FILE *in, size_t *size)
{
	struct ibqos_ctx ctx = {.command = "discover", .fabric = "x", .err = stderr};
	struct finding_list findings = {0};
	struct report_replayed out;
	char *text = NULL;
	FILE *to = open_memstream(&text, size);
	struct report *r = to ? report_begin(&ctx, to, REPORT_CALLS) : NULL;

	require(r);
	replay_into(in, r, &findings, &out);
	findings.lost = out.lost;
	report_findings(r, &findings, true);
	require(report_end(r, out.exit) == 0 && fclose(to) == 0);
	findings.lost = false;
	finding_list_clear(&findings);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct finding_list findings = {0};
	struct report_replayed out;
	char *fault = NULL, *first, *second;
	size_t first_size = 0, second_size = 0;
	FILE *in = fmemopen((void *)(uintptr_t)data, size, "r"), *back;
	int error;

	if (!in) /* nothing to read */
		return 0;
	error = report_replay(&none, in, "discover", "x", NULL, &findings, &out, &fault);
	require((error != 0) == (fault != NULL));
	if (error == 0) {
		require(out.exit <= IBQOS_EXIT_UNKNOWN && out.version[0]);
		make_json(in);
		make_page(in);
		first = again(in, &first_size);
		back = fmemopen(first, first_size, "r");
		require(back);
		second = again(back, &second_size);
		require(first_size == second_size && memcmp(first, second, first_size) == 0);
		fclose(back);
		free(first);
		free(second);
	} else {
		require(fuzz_printable(fault, ""));
	}
	free(fault);
	finding_list_clear(&findings);
	fclose(in);
	return 0;
}
