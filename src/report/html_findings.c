/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Findings on the page: alike ones together, as text has them, then a table of each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "html.h"

static const char *const columns[][2] = {
	{"number", "group"}, {"severity", "severity"}, {"text", "place"},  {"text", "finding"}, {"text", "of"},
	{"text", "wanted"},  {"text", "got"},	       {"text", "detail"}, {"text", "class"},	{"text", "code"},
	{"text", "first seen"},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))
/* In one word each: columns that the style leaves out of a table in which they are empty; NULL: never */
static const char *const bare[COLUMNS] = {NULL, NULL, "place", NULL, "of", "wanted", "got", "detail", "class", NULL, "seen"};

static void put_clause(struct report *r, const char **before, const char *word, const char *text)
{
	if (!text)
		return;
	report_put(r, "%s%s", *before, word);
	html_put(r, text);
	*before = "; ";
}

static void put_place(struct report *r, const struct finding *f, bool with_detail, bool all)
{
	char *place = NULL;

	if (f->file) {
		html_put(r, f->file);
		if (f->line > 0)
			report_put(r, ":%u", f->line);
		if (f->line > 0 && f->column > 0)
			report_put(r, ":%u", f->column);
		return;
	}
	place = group_place(r, f, with_detail, all);
	html_put(r, place ? place : "?");
	free(place);
}

/* "318 ports: ", "leaf-1[3]: ", or the place in a file */
static void put_whom(struct report *r, const struct report_group *group)
{
	const struct finding *f = group->members[0];

	if (f->fabric) {
		html_put(r, f->fabric);
		report_puts(r, ": ");
	}
	if (group->count > 1)
		report_put(r, "%zu %s: ", group->count, group_noun(group));
	else if (f->file || group_has_place(f)) {
		put_place(r, f, false, group->all);
		report_puts(r, ": ");
	}
}

static void put_places(struct report *r, const struct report_group *group)
{
	struct html_state *state = r->own;
	size_t shown = group->all || group->count <= REPORT_NAMES ? group->count : REPORT_NAMES;
	bool with_detail = !group_detail_shared(group);

	report_puts(r, "<p class=\"places\">at ");
	for (size_t i = 0; i < shown; i++) {
		report_puts(r, i > 0 ? ", " : "");
		report_puts(r, "<span>");
		put_place(r, group->members[i], with_detail, group->all);
		report_puts(r, "</span>");
	}
	if (shown < group->count)
		report_put(r, " and <a class=\"members\" href=\"#each\" data-group=\"%zu\">%zu more, each in the table below</a>",
			   state->groups, group->count - shown);
	report_puts(r, "</p>\n");
}

/* The group as text has it. */
static void put_alike(struct report *r, const struct report_group *group)
{
	struct html_state *state = r->own;
	const struct finding *f = group->members[0];
	const struct finding_kind *kind = finding_kind(f->code);
	const struct finding_cause_kind *cause = finding_cause_kind(f->cause);
	const char *severity = finding_severity_name(f->severity), *before = "";
	char *detail = group_detail_shared(group) ? group_detail(r, f) : NULL;

	report_put(r, "<article class=\"finding %s\" data-severity=\"%s\" data-group=\"%zu\">\n<h4><span class=\"severity\">%s</span> ",
		   severity, severity, state->groups, severity);
	put_whom(r, group);
	html_put(r, kind->title);
	report_put(r, " <code>%s</code></h4>\n", kind->code);
	if (f->what || f->wanted || f->got || detail) {
		report_puts(r, "<p>");
		put_clause(r, &before, "", f->what);
		before = f->what ? ": " : before;
		put_clause(r, &before, f->file ? "expected " : "wanted ", f->wanted);
		put_clause(r, &before, "got ", f->got);
		put_clause(r, &before, "", detail);
		report_puts(r, "</p>\n");
	}
	free(detail);
	if (cause)
		report_put(r, "<p>%s: %s</p>\n", cause->name, cause->title);
	if (group->count > 1 && strcmp(group_noun(group), "times") != 0)
		put_places(r, group);
	report_puts(r, "<p class=\"advice\">advice: ");
	html_put(r, finding_advice(f));
	report_put(r, "</p>\n<p class=\"number\">group %zu</p>\n</article>\n", state->groups);
}

static bool has_any_place(const struct finding *f)
{
	return f->fabric || f->file || group_has_place(f);
}

/* "rail0: leaf-1[3]": fabrics may have nodes of the same name. */
static void put_fabric_place(struct report *r, const struct finding *f)
{
	bool has_place = f->file || group_has_place(f);

	if (f->fabric) {
		html_put(r, f->fabric);
		report_puts(r, has_place ? ": " : "");
	}
	if (has_place)
		put_place(r, f, false, true);
}

static void put_one(struct report *r, const struct finding *f)
{
	struct html_state *state = r->own;
	const struct finding_kind *kind = finding_kind(f->code);
	const struct finding_cause_kind *cause = finding_cause_kind(f->cause);
	char number[24], seen[FINDINGS_TIME];
	bool since = findings_time(f->first_seen, seen);
	const char *texts[COLUMNS] = {
		number,	   finding_severity_name(f->severity), NULL,	  kind->title,			    f->what,
		f->wanted, f->got,			       f->detail, cause ? cause->name : NULL, kind->code,
		since ? seen : NULL};

	snprintf(number, sizeof(number), "%zu", state->groups);
	html_row_begin(r, state->findings);
	for (size_t i = 0; i < COLUMNS; i++) {
		state->columns_used |= texts[i] || (i == 2 && has_any_place(f)) ? 1u << i : 0;
		html_cell(r, state->findings, i == 0, columns[i][0]);
		if (i == 2)
			put_fabric_place(r, f);
		else
			html_put(r, texts[i] ? texts[i] : "");
		if (state->findings < HTML_ROWS)
			report_puts(r, "</td>");
	}
	html_row_close(r, state->findings++);
	state->counts[f->severity]++;
}

static void begin_each(struct report *r)
{
	report_puts(r, "<h3 id=\"each\">Each finding</h3>\n");
	html_table_open(r, "t-findings", "each finding");
	for (size_t i = 0; i < COLUMNS; i++)
		html_column(r, columns[i][0], columns[i][1], NULL);
}

void html_group(struct report *r, const struct report_group *group)
{
	struct html_state *state = r->own;

	if (state->groups++ == 0) {
		html_heading(r, HTML_ALIKE, "findings", "findings");
		report_puts(r, "<h3 id=\"alike\">Alike findings together</h3>\n");
		html_to(r, HTML_EACH);
		begin_each(r);
	}
	if (state->groups <= HTML_GROUPS) {
		html_to(r, HTML_ALIKE);
		put_alike(r, group);
	}
	html_to(r, HTML_EACH);
	for (size_t i = 0; i < group->count; i++)
		put_one(r, group->members[i]);
}

void html_findings_end(struct report *r)
{
	struct html_state *state = r->own;

	if (state->groups == 0) {
		html_heading(r, HTML_ALIKE, "findings", "findings");
		report_puts(r, "<p>none</p>\n</section>\n");
		return;
	}
	if (state->groups > HTML_GROUPS) {
		html_to(r, HTML_ALIKE);
		report_put(r, "<p>%zu more groups are in the table of each finding alone.</p>\n", state->groups - HTML_GROUPS);
	}
	html_to(r, HTML_EACH);
	html_table_close(r, state->findings);
	report_puts(r, "<p id=\"counts\" hidden");
	for (int i = 0; i < REPORT_SEVERITIES; i++)
		if (state->counts[i] > 0)
			report_put(r, " data-%s=\"%zu\"", finding_severity_name((enum finding_severity)i), state->counts[i]);
	report_puts(r, " data-bare=\"");
	for (size_t i = 0; i < COLUMNS; i++)
		if (bare[i] && !(state->columns_used & 1u << i))
			report_put(r, " %s", bare[i]);
	report_puts(r, "\"></p>\n</section>\n");
}
