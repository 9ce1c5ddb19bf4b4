/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One line for Nagios, Icinga and their like (Monitoring Plugins Development Guidelines): status, what there is most of,
 * numbers behind a '|'. The exit codes of ibqos are theirs: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/util.h"
#include "writer.h"

#define KINDS_MAX 5 /* kinds of findings that are named */

struct nagios_state {
	uint64_t began_ns;
	char *command, *fabric;
	char *section, *table;
	char *text; /* what the line says */
	size_t text_size;
	FILE *say;
	char *numbers; /* behind the '|' */
	size_t numbers_size;
	FILE *count;
	size_t kinds, alike;
	size_t counts[REPORT_SEVERITIES]; /* of all findings, as JSON has them: the text leaves out those that another one tells */
	const struct finding *first; /* of the kind that is being counted */
	uint64_t asked, answered;    /* queries */
	uint64_t silent;	     /* places where the discovery got no answer; they are among no table of queries */
	bool discovered;	     /* that is known */
};

/* Numbers of sections that a graph is drawn of. */
static const struct {
	const char *section, *key, *label;
} drawn[] = {
	{"fabric_found", "switches", "switches"}, {"fabric_found", "links", "links"},
	{"ports", "looked_at", "ports"},	  {"ports", "differ", "ports_differ"},
	{"links", "looked_at", "links_audited"},  {"links", "slow", "links_slow"},
	{"counters", "read", "counters_read"},	  {"counters", "ber_bad", "ber_bad"},
};

/* The text is before a '|', and one line: neither may come from a name. The caller frees it. */
static char *clean_of(struct report *r, const char *text)
{
	char *clean = text_utf8(text, strlen(text));

	if (!clean)
		report_fail(r, -ENOMEM);
	for (char *at = clean; at && *at; at++)
		if (*at == '|')
			*at = '!';
	return clean;
}

static void say(struct report *r, const char *text)
{
	struct nagios_state *state = r->own;
	char *clean = clean_of(r, text);

	fputs(clean ? clean : "", state->say);
	free(clean);
}

static void keep(struct report *r, char **text, const char *value)
{
	free(*text);
	*text = value ? clean_of(r, value) : NULL;
}

static int nagios_open(struct report *r)
{
	struct nagios_state *state = calloc(1, sizeof(*state));

	if (!state)
		return -ENOMEM;
	state->say = open_memstream(&state->text, &state->text_size);
	state->count = open_memstream(&state->numbers, &state->numbers_size);
	if (!state->say || !state->count) {
		if (state->say)
			fclose(state->say);
		free(state->text);
		if (state->count)
			fclose(state->count);
		free(state->numbers);
		free(state);
		return -ENOMEM;
	}
	state->began_ns = clock_ns();
	r->own = state;
	return 0;
}

static void nagios_field(struct report *r, const char *key, const char *title, const struct report_value *value)
{
	struct nagios_state *state = r->own;
	bool string = value->knowledge == REPORT_KNOWN && value->type == REPORT_STRING;

	(void)title;
	if (!state->section && string && strcmp(key, "command") == 0)
		keep(r, &state->command, value->string);
	if (!state->section && string && strcmp(key, "fabric") == 0)
		keep(r, &state->fabric, value->string);
	if (string && (strcmp(key, "error") == 0 || strncmp(key, "error_", 6) == 0)) {
		fputs(": ", state->say);
		if (r->part)
			fprintf(state->say, "%s: ", r->part);
		say(r, value->string);
	}
	if (!state->section || value->knowledge != REPORT_KNOWN || value->type != REPORT_NUMBER)
		return;
	if (strcmp(state->section, "fabric_found") == 0 && strcmp(key, "no_answer") == 0) {
		state->discovered = true;
		state->silent += value->number;
	}
	for (size_t i = 0; i < sizeof(drawn) / sizeof(drawn[0]); i++)
		if (strcmp(drawn[i].section, state->section) == 0 && strcmp(drawn[i].key, key) == 0)
			fprintf(state->count, " %s%s%s=%" PRIu64, r->part ? r->part : "", r->part ? "_" : "", drawn[i].label,
				value->number);
}

static void nagios_section(struct report *r, const char *key, const char *title)
{
	struct nagios_state *state = r->own;

	(void)title;
	keep(r, &state->section, key);
}

static void nagios_section_end(struct report *r)
{
	struct nagios_state *state = r->own;

	keep(r, &state->section, NULL);
}

static void nagios_table(struct report *r, const char *key, const char *title)
{
	struct nagios_state *state = r->own;

	(void)title;
	keep(r, &state->table, key);
}

static void count_finding(struct report *r)
{
	struct nagios_state *state = r->own;
	enum finding_severity severity;

	for (unsigned i = 0; i < r->column_count && i < r->cell_count; i++)
		if (strcmp(r->columns[i].key, "severity") == 0 && r->cells[i].knowledge == REPORT_KNOWN &&
		    r->cells[i].type == REPORT_STRING && finding_severity_of(r->cells[i].string, &severity) == 0)
			state->counts[severity]++;
}

static void nagios_row(struct report *r)
{
	struct nagios_state *state = r->own;
	size_t length = state->table ? strlen(state->table) : 0;

	if (state->table && strcmp(state->table, "findings") == 0)
		count_finding(r);
	if (length < strlen("coverage") || strcmp(state->table + length - strlen("coverage"), "coverage") != 0)
		return;
	for (unsigned i = 0; i < r->column_count && i < r->cell_count; i++) {
		const struct report_value *cell = &r->cells[i];

		if (cell->knowledge != REPORT_KNOWN || cell->type != REPORT_NUMBER)
			continue;
		if (strcmp(r->columns[i].key, "asked") == 0)
			state->asked += cell->number;
		/* a device that says that it has no such thing has answered */
		else if (strcmp(r->columns[i].key, "answered") == 0 || strcmp(r->columns[i].key, "unsupported") == 0)
			state->answered += cell->number;
	}
}

static void nagios_table_end(struct report *r)
{
	struct nagios_state *state = r->own;

	keep(r, &state->table, NULL);
}

static void nagios_block(struct report *r, const char *key, const char *title, const struct report_value *value)
{
	(void)r, (void)key, (void)title, (void)value; /* no place for it in a line */
}

/* "11 sl2vl-differs (drifted)", "link-width-low at leaf-01[3]" */
static void say_kind(struct report *r, const struct finding *f, size_t count)
{
	struct nagios_state *state = r->own;
	const struct finding_cause_kind *cause = finding_cause_kind(f->cause);

	fputs(state->kinds++ == 0 ? ": " : ", ", state->say);
	if (f->fabric) {
		say(r, f->fabric);
		fputc(' ', state->say);
	}
	if (count > 1)
		fprintf(state->say, "%zu ", count);
	fputs(finding_kind(f->code)->code, state->say);
	if (cause)
		fprintf(state->say, " (%s)", cause->name);
	if (count > 1 || !(f->name || f->guid || f->file))
		return;
	fputs(" at ", state->say);
	if (f->file || f->name)
		say(r, f->file ? f->file : f->name);
	else
		fprintf(state->say, "0x%016" PRIx64, f->guid);
	if (!f->file && f->port >= 0)
		fprintf(state->say, "[%d]", f->port);
	else if (f->file && f->line > 0)
		fprintf(state->say, ":%u", f->line);
}

static int compare_fabrics(const struct finding *a, const struct finding *b)
{
	return a->fabric && b->fabric ? strcmp(a->fabric, b->fabric) : (a->fabric != NULL) - (b->fabric != NULL);
}

static void end_of_kind(struct report *r)
{
	struct nagios_state *state = r->own;

	if (state->kinds < KINDS_MAX)
		say_kind(r, state->first, state->alike);
	else
		state->kinds++;
	state->first = NULL;
	state->alike = 0;
}

/* Groups of one code follow each other, those of one fabric side by side. Notes are no trouble. */
static void nagios_group(struct report *r, const struct report_group *group)
{
	struct nagios_state *state = r->own;

	if (group->members[0]->severity == FINDING_NOTE)
		return;
	if (state->first && compare_fabrics(state->first, group->members[0]) != 0)
		end_of_kind(r);
	if (!state->first)
		state->first = group->members[0];
	state->alike += group->count;
	if (group->last_of_code)
		end_of_kind(r);
}

static void nagios_verdict(struct report *r, enum ibqos_exit exit_code, const char *name)
{
	static const char *const words[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
	struct nagios_state *state = r->own;

	(void)name;
	if (state->first) /* its last group was of notes */
		say_kind(r, state->first, state->alike);
	if (state->kinds > KINDS_MAX)
		fprintf(state->say, " and %zu more kinds", state->kinds - KINDS_MAX);
	if (exit_code == IBQOS_EXIT_CLEAN && state->counts[FINDING_NOTE] > 0)
		fputs(": nothing but notes", state->say);
	else if (exit_code == IBQOS_EXIT_CLEAN)
		fputs(": nothing found", state->say);
	if (text_stream_end(state->say, &state->text) != 0)
		report_fail(r, -ENOMEM);
	if (text_stream_end(state->count, &state->numbers) != 0)
		report_fail(r, -ENOMEM);
	state->say = state->count = NULL;
	report_put(r, "IBQOS %s - %s%s%s%s", words[exit_code], state->command ? state->command : "ibqos",
		   state->fabric ? " of " : "", state->fabric ? state->fabric : "", state->text ? state->text : "");
	report_put(r, " | critical=%zu unknown=%zu warning=%zu note=%zu%s", state->counts[FINDING_CRITICAL],
		   state->counts[FINDING_UNKNOWN], state->counts[FINDING_WARNING], state->counts[FINDING_NOTE],
		   state->numbers ? state->numbers : "");
	if (state->asked > 0)
		report_put(r, " queries=%" PRIu64, state->asked + state->silent);
	if (state->asked > 0 || state->discovered)
		report_put(r, " unanswered=%" PRIu64,
			   state->silent + (state->asked > state->answered ? state->asked - state->answered : 0));
	report_put(r, " time=%.3fs\n", (double)(clock_ns() - state->began_ns) / 1e9);
}

static void nagios_close(struct report *r)
{
	struct nagios_state *state = r->own;

	if (state->say)
		fclose(state->say);
	if (state->count)
		fclose(state->count);
	free(state->text);
	free(state->numbers);
	free(state->command);
	free(state->fabric);
	free(state->section);
	free(state->table);
	free(state);
}

const struct report_writer report_nagios_writer = {
	.open = nagios_open,
	.field = nagios_field,
	.section = nagios_section,
	.section_end = nagios_section_end,
	.table = nagios_table,
	.row = nagios_row,
	.table_end = nagios_table_end,
	.block = nagios_block,
	.group = nagios_group,
	.verdict = nagios_verdict,
	.close = nagios_close,
};
