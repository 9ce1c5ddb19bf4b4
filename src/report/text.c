/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Text for people: fields, sections, blocks and the verdict. Tables are in table.c, findings in
 * groups.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "writer.h"

void text_separate(struct report *r, enum text_kind next)
{
	struct text_state *state = r->own;

	if (state->last != TEXT_NOTHING && (state->last == TEXT_BLOCK || state->last != next))
		report_put(r, "\n");
	state->last = next;
}

const char *text_of(const struct report_value *value, int decimals, char buffer[TEXT_VALUE_SIZE])
{
	if (value->knowledge == REPORT_UNKNOWN)
		return "unknown";
	if (value->knowledge == REPORT_NONE)
		return "";
	switch (value->type) {
	case REPORT_STRING:
		return value->string;
	case REPORT_NUMBER:
		snprintf(buffer, TEXT_VALUE_SIZE, "%" PRIu64, value->number);
		break;
	case REPORT_REAL:
		/* beyond 2^53 the digits of a double mean nothing, and would not fit */
		if (fabs(value->real) < 0x1p53)
			snprintf(buffer, TEXT_VALUE_SIZE, "%.*f",
				 decimals < 0    ? 0
				 : decimals > 17 ? 17
						 : decimals,
				 value->real);
		else
			snprintf(buffer, TEXT_VALUE_SIZE, "%g", value->real);
		break;
	case REPORT_BOOL:
		return value->truth ? "yes" : "no";
	case REPORT_GUID:
		snprintf(buffer, TEXT_VALUE_SIZE, "0x%016" PRIx64, value->number);
		break;
	}
	return buffer;
}

void text_put_clean(struct report *r, const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		size_t clean = 0, length;

		while (clean < left && (length = text_char(text + clean, left - clean)) > 0)
			clean += length;
		report_put(r, "%.*s", (int)clean, text);
		if (clean < left) {
			report_put(r, "\xef\xbf\xbd");
			clean++;
		}
		text += clean;
		left -= clean;
	}
}

/*
 * Bold, in the standard colours that show on light and dark grounds (no yellow, no blue); a note is as other text. The same
 * for whoever sees no colours: they only repeat the word.
 */
static const char *color_of(enum finding_severity severity)
{
	switch (severity) {
	case FINDING_CRITICAL:
		return "\033[1;31m"; /* red */
	case FINDING_UNKNOWN:
		return "\033[1;36m"; /* cyan */
	case FINDING_WARNING:
		return "\033[1;35m"; /* magenta */
	default:
		return "";
	}
}

static void put_colored(struct report *r, const char *color, const char *word)
{
	bool colored = r->style.color && *color;

	report_put(r, "%s%s%s", colored ? color : "", word, colored ? "\033[0m" : "");
}

void text_put_word(struct report *r, enum finding_severity severity, const char *word)
{
	put_colored(r, color_of(severity), word);
}

static int text_open(struct report *r)
{
	r->own = calloc(1, sizeof(struct text_state));
	return r->own ? 0 : -ENOMEM;
}

/* What a brief report has too: what was lost of it, what a change came to, and what is left to be done. */
static bool shown_brief(const char *key)
{
	return strcmp(key, REPORT_LOST) == 0 || strcmp(key, REPORT_OUTCOME) == 0 || strcmp(key, REPORT_TO_DO) == 0;
}

static void text_field(struct report *r, const char *key, const char *title, const struct report_value *value)
{
	char buffer[TEXT_VALUE_SIZE];
	const char *text = text_of(value, value->decimals, buffer);
	bool unit = value->unit && value->knowledge == REPORT_KNOWN;

	if (!title || (r->style.brief && !shown_brief(key)))
		return;
	text_separate(r, TEXT_FIELD);
	report_put(r, "%s%s:%s%s%s%s\n", r->in_section && !r->style.brief ? "  " : "", title, *text ? " " : "", text,
		   unit ? " " : "", unit ? value->unit : "");
}

static void text_section(struct report *r, const char *key, const char *title)
{
	struct text_state *state = r->own;

	(void)key;
	state->hidden = !title; /* for programs: none of its fields is shown */
	if (r->style.brief || !title)
		return;
	text_separate(r, TEXT_BLOCK);
	report_put(r, "%s:\n", title);
	state->last = TEXT_FIELD; /* its fields follow at once */
}

static void text_section_end(struct report *r)
{
	struct text_state *state = r->own;

	if (!r->style.brief && !state->hidden)
		state->last = TEXT_BLOCK;
	state->hidden = false;
}

static void text_block(struct report *r, const char *key, const char *title, const struct report_value *value)
{
	char buffer[TEXT_VALUE_SIZE];
	const char *text = text_of(value, 0, buffer);
	size_t length = strlen(text);

	if (!title || (r->style.brief && !shown_brief(key)))
		return;
	text_separate(r, TEXT_BLOCK);
	if (length == 0 || value->knowledge != REPORT_KNOWN)
		report_put(r, "%s: %s\n", title, length == 0 ? "none" : text);
	else
		report_put(r, "%s:\n%s%s", title, text, text[length - 1] == '\n' ? "" : "\n");
}

void text_counts(struct report *r, const size_t counts[REPORT_SEVERITIES])
{
	static const char *const words[][2] = {
		[FINDING_NOTE] = {"note", "notes"},
		[FINDING_WARNING] = {"warning", "warnings"},
		[FINDING_UNKNOWN] = {"unknown", "unknown"},
		[FINDING_CRITICAL] = {"critical", "critical"},
	};
	const char *before = " (";

	for (int i = REPORT_SEVERITIES - 1; i >= 0; i--) {
		if (counts[i] == 0)
			continue;
		report_put(r, "%s%zu %s", before, counts[i], words[i][counts[i] != 1]);
		before = ", ";
	}
	report_put(r, "%s", *before == ',' ? ")" : "");
}

/* "verdict: critical (318 critical, 2 notes)" */
static void put_verdict(struct report *r, const char *of, enum ibqos_exit exit_code, const char *name,
			const size_t counts[REPORT_SEVERITIES])
{
	static const enum finding_severity severities[] = {
		[IBQOS_EXIT_CLEAN] = FINDING_NOTE,
		[IBQOS_EXIT_WARNING] = FINDING_WARNING,
		[IBQOS_EXIT_CRITICAL] = FINDING_CRITICAL,
		[IBQOS_EXIT_UNKNOWN] = FINDING_UNKNOWN,
	};

	text_separate(r, TEXT_BLOCK);
	report_put(r, "%s: ", of);
	if (exit_code == IBQOS_EXIT_CLEAN)
		put_colored(r, "\033[1;32m", name); /* green */
	else
		text_put_word(r, severities[exit_code], name);
	text_counts(r, counts);
	report_put(r, "\n");
}

static void text_verdict(struct report *r, enum ibqos_exit exit_code, const char *name)
{
	put_verdict(r, "verdict", exit_code, name, r->counts);
}

static void text_part(struct report *r, const char *name)
{
	struct text_state *state = r->own;

	text_separate(r, TEXT_BLOCK);
	report_put(r, "== %s ==\n", name);
	state->last = TEXT_FIELD; /* its fields follow at once */
}

static void text_part_end(struct report *r, const char *name, const struct report_part *result, const char *verdict)
{
	put_verdict(r, name, result->exit, verdict, r->all ? result->counts : result->told);
}

static void text_close(struct report *r)
{
	struct text_state *state = r->own;

	text_table_free(state->table);
	free(state);
}

const struct report_writer report_text_writer = {
	.open = text_open,
	.field = text_field,
	.section = text_section,
	.section_end = text_section_end,
	.table = text_table,
	.row = text_row,
	.table_end = text_table_end,
	.block = text_block,
	.group = text_group,
	.part = text_part,
	.part_end = text_part_end,
	.verdict = text_verdict,
	.close = text_close,
};
