/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Findings as text: one paragraph for all alike ones of the fabric, a compiler's line for each in a
 * file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "writer.h"

#define LINE_WIDTH 100 /* where a list of names is broken, unless the terminal is narrower */
#define INDENT "    "

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static uint64_t told_since(const struct finding *f)
{
	return f->seen_before ? f->first_seen : 0;
}

bool group_detail_shared(const struct report_group *group)
{
	for (size_t i = 1; i < group->count; i++)
		if (!same(group->members[0]->detail, group->members[i]->detail) ||
		    told_since(group->members[0]) != told_since(group->members[i]))
			return false;
	return true;
}

/* In words what JSON has as detail and first_seen. */
char *group_detail(struct report *r, const struct finding *f)
{
	char when[FINDINGS_TIME], *text = NULL;
	bool since = findings_time(told_since(f), when);
	int made;

	if (!f->detail && !since)
		return NULL;
	made = since ? asprintf(&text, "%s%sfirst seen %s", f->detail ? f->detail : "", f->detail ? "; " : "", when)
		     : asprintf(&text, "%s", f->detail);
	if (made >= 0)
		return text;
	report_fail(r, -ENOMEM);
	return NULL;
}

/* "leaf-1[3]", "leaf-1" for a whole node; the GUID where there is no name, and behind it where all is shown. */
static void put_end(FILE *out, const char *name, uint64_t guid, int port, bool all)
{
	if (name && *name)
		fputs(name, out);
	else
		fprintf(out, "0x%016" PRIx64, guid);
	if (port >= 0)
		fprintf(out, "[%d]", port);
	if (all && name && *name && guid != 0)
		fprintf(out, " 0x%016" PRIx64, guid);
}

char *group_place(struct report *r, const struct finding *f, bool with_detail, bool all)
{
	char *detail = with_detail ? group_detail(r, f) : NULL;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out) {
		report_fail(r, -ENOMEM);
		free(detail);
		return NULL;
	}
	put_end(out, f->name, f->guid, f->port, all);
	if (f->peer_guid != 0 || f->peer_name) {
		fputs(" to ", out);
		put_end(out, f->peer_name, f->peer_guid, f->peer_port, all);
	}
	if (detail)
		fprintf(out, " (%s)", detail);
	free(detail);
	if (text_stream_end(out, &text) == 0)
		return text;
	report_fail(r, -ENOMEM);
	return NULL;
}

bool group_has_place(const struct finding *f)
{
	return f->guid != 0 || f->name;
}

const char *group_noun(const struct report_group *group)
{
	size_t ports = 0, nodes = 0;

	for (size_t i = 0; i < group->count; i++) {
		ports += group_has_place(group->members[i]) && group->members[i]->port >= 0;
		nodes += group_has_place(group->members[i]) && group->members[i]->port < 0;
	}
	if (ports == group->count)
		return "ports";
	if (nodes == group->count)
		return "nodes";
	return ports + nodes > 0 ? "places" : "times";
}

static unsigned line_width(const struct report *r)
{
	return r->style.width > 0 && r->style.width < LINE_WIDTH ? r->style.width : LINE_WIDTH;
}

/* The names of a group, as many as are asked for, broken into lines between two names. */
static void put_places(struct report *r, const struct report_group *group)
{
	size_t shown = group->all || group->count <= REPORT_NAMES ? group->count : REPORT_NAMES;
	bool with_detail = !group_detail_shared(group);
	size_t column = strlen(INDENT) + 2;

	report_put(r, INDENT "at");
	for (size_t i = 0; i < shown; i++) {
		char *place = group_place(r, group->members[i], with_detail, group->all);
		size_t width = place ? text_width(place, strlen(place)) + 2 : 3;

		if (i > 0 && column + width > line_width(r)) {
			report_put(r, "\n" INDENT "  ");
			column = strlen(INDENT) + 2;
		}
		report_put(r, " ");
		text_put_clean(r, place ? place : "?");
		report_put(r, i + 1 < shown ? "," : "");
		column += width;
		free(place);
	}
	if (shown < group->count)
		report_put(r, " and %zu more (--all, or --format json, names each)", group->count - shown);
	report_put(r, "\n");
}

/* One clause of the line that says what was wanted and got; `before` is what it is parted by. */
static void put_clause(struct report *r, const char **before, const char *word, const char *text,
		       const char *after)
{
	if (!text)
		return;
	report_put(r, "%s%s", *before, word);
	text_put_clean(r, text);
	*before = after;
}

static void put_wanted(struct report *r, const struct report_group *group, const char *wanted, bool with_what)
{
	const struct finding *f = group->members[0];
	char *detail = group_detail_shared(group) ? group_detail(r, f) : NULL;
	const char *before = INDENT;

	put_clause(r, &before, "", with_what ? f->what : NULL, ": ");
	put_clause(r, &before, wanted, f->wanted, "; ");
	put_clause(r, &before, "got ", f->got, "; ");
	put_clause(r, &before, "", detail, "; ");
	free(detail);
	if (strcmp(before, INDENT) != 0)
		report_put(r, "\n");
}

/* file:line:column: severity: text, which editors know how to jump to */
static void put_in_file(struct report *r, const struct report_group *group)
{
	const struct finding *f = group->members[0];
	const struct finding_kind *kind = finding_kind(f->code);

	text_put_clean(r, f->file);
	if (f->line > 0)
		report_put(r, ":%u", f->line);
	if (f->line > 0 && f->column > 0)
		report_put(r, ":%u", f->column);
	report_puts(r, ": ");
	text_put_word(r, f->severity, f->severity == FINDING_CRITICAL ? "error" : finding_severity_name(f->severity));
	report_put(r, ": %s", kind->title);
	if (f->what) {
		report_put(r, ": ");
		text_put_clean(r, f->what);
	}
	report_put(r, " (%s)%s%s\n", kind->code, f->fabric ? " for " : "", f->fabric ? f->fabric : "");
	put_wanted(r, group, "expected ", false);
}

static void put_in_fabric(struct report *r, const struct report_group *group)
{
	const struct finding *f = group->members[0];
	const struct finding_kind *kind = finding_kind(f->code);
	const struct finding_cause_kind *cause = finding_cause_kind(f->cause);

	text_put_word(r, f->severity, finding_severity_name(f->severity));
	report_puts(r, ": ");
	if (f->fabric) {
		text_put_clean(r, f->fabric);
		report_put(r, ": ");
	}
	if (group->count > 1) {
		report_put(r, "%zu %s: ", group->count, group_noun(group));
	} else if (group_has_place(f)) {
		char *place = group_place(r, f, false, group->all);

		text_put_clean(r, place ? place : "?");
		report_put(r, ": ");
		free(place);
	}
	report_put(r, "%s (%s)\n", kind->title, kind->code);
	put_wanted(r, group, "wanted ", true);
	if (cause)
		report_put(r, INDENT "%s: %s\n", cause->name, cause->title);
	if (group->count > 1 && strcmp(group_noun(group), "times") != 0)
		put_places(r, group);
}

/* A long line is broken between words where the terminal would break it anywhere. */
static void put_advice(struct report *r, const char *advice)
{
	char *line = NULL;

	if (r->style.width == 0) {
		report_put(r, INDENT "advice: %s\n", advice);
	} else if (asprintf(&line, "advice: %s", advice) < 0) {
		report_fail(r, -ENOMEM);
	} else {
		text_wrap(r->out, strlen(INDENT), r->style.width, line);
		free(line);
	}
}

void text_group(struct report *r, const struct report_group *group)
{
	text_separate(r, TEXT_GROUP);
	if (group->members[0]->file)
		put_in_file(r, group);
	else
		put_in_fabric(r, group);
	if (group->last_of_advice)
		put_advice(r, finding_advice(group->members[0]));
}
