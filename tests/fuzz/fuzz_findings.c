/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any findings, in files and on a fabric: sorted, the worst come first and the order does not depend on
 * the one they were added in; the exit code is that of the worst; JSON has each of them as a row; the text
 * has a line for each in a file, in the order of the list, and its groups add up to all the others.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/report.h"

#define FINDINGS_MAX 40

static const char *const files[] = {"a.yaml", "b.yaml", "dir/a.conf"};

/* Blanks at the end say nothing, and a report drops them. */
static char *some_text(struct fuzz *in, size_t max)
{
	char *text = fuzz_text(in, max);
	size_t length = strlen(text);

	while (length > 0 && strchr(" \t\n\r", text[length - 1]))
		text[--length] = '\0';
	return text;
}

static void set_text(struct fuzz *in, char **member)
{
	static const char *const common[] = {"SL2VL", "VLArb low", "0,1", "0,2"};
	unsigned kind = fuzz_below(in, 8);
	char *text;

	if (kind < 3)
		return;
	text = kind < 7 ? strdup(common[kind - 3]) : some_text(in, 64);
	require(text);
	finding_set(member, "%s", text);
	free(text);
}

static void add(struct fuzz *in, struct finding_list *list)
{
	struct finding *f = finding_add(list, fuzz_below(in, FINDING_CODES));
	unsigned kind = fuzz_byte(in);

	if (kind & 1)
		f->severity = fuzz_below(in, FINDING_CRITICAL + 1);
	f->weight = kind & 2 ? fuzz_byte(in) / 16.0 : 0;
	f->cause = kind & 32 ? fuzz_below(in, CAUSES) : CAUSE_NONE;
	if (kind & 4) {
		finding_at(f, files[fuzz_below(in, 3)], fuzz_below(in, 4), fuzz_below(in, 4));
	} else if (kind & 8) {
		char *name = some_text(in, 32);

		f->guid = fuzz_below(in, 4);
		f->port = fuzz_below(in, 5) - 1;
		finding_set(&f->name, "n%s", name);
		free(name);
	}
	if (kind & 16) {
		f->peer_guid = fuzz_below(in, 3);
		f->peer_port = fuzz_below(in, 3) - 1;
		set_text(in, &f->peer_name);
	}
	set_text(in, &f->what);
	set_text(in, &f->wanted);
	set_text(in, &f->got);
	set_text(in, &f->detail);
}

/* The same findings, added from the last to the first. */
static void add_backwards(const struct finding_list *from, struct finding_list *to)
{
	for (size_t i = from->count; i-- > 0;) {
		const struct finding *f = &from->items[i];
		struct finding *g = finding_add(to, f->code);
		const char *const texts[] = {f->name,   f->peer_name, f->file,  f->what,
					     f->wanted, f->got,       f->detail};
		char **const members[] = {&g->name,   &g->peer_name, &g->file,  &g->what,
					  &g->wanted, &g->got,       &g->detail};

		for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
			if (texts[k])
				finding_set(members[k], "%s", texts[k]);
		g->severity = f->severity;
		g->cause = f->cause;
		g->guid = f->guid;
		g->port = f->port;
		g->peer_guid = f->peer_guid;
		g->peer_port = f->peer_port;
		g->line = f->line;
		g->column = f->column;
		g->weight = f->weight;
	}
}

static char *rendered(const struct finding_list *findings, enum report_format format, bool all)
{
	struct ibqos_ctx ctx = {.program = "fuzz", .command = "fuzz", .fabric = "", .err = stderr};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct report *r = out ? report_begin(&ctx, out, format) : NULL;

	require(r);
	report_findings(r, findings, all);
	require(report_end(r, finding_exit(findings)) == 0);
	require(fclose(out) == 0);
	return text;
}

/* --- the list --- */

static void check_order(const struct finding_list *list)
{
	enum ibqos_exit exit_code = IBQOS_EXIT_CLEAN;

	for (size_t i = 0; i < list->count; i++) {
		const struct finding *f = &list->items[i], *before = i > 0 ? f - 1 : f;

		require(before->severity >= f->severity);
		if (before->severity == f->severity)
			require(before->weight >= f->weight);
		/* numbers in names count as numbers, and these have none */
		if (before->severity == f->severity && before->weight == f->weight && f->file) {
			require(before->file && strcmp(before->file, f->file) <= 0);
			if (strcmp(before->file, f->file) == 0)
				require(before->line < f->line ||
					(before->line == f->line && before->column <= f->column));
		}
		if (f->severity == FINDING_CRITICAL)
			exit_code = IBQOS_EXIT_CRITICAL;
		else if (f->severity == FINDING_UNKNOWN && exit_code != IBQOS_EXIT_CRITICAL)
			exit_code = IBQOS_EXIT_UNKNOWN;
		else if (f->severity == FINDING_WARNING && exit_code == IBQOS_EXIT_CLEAN)
			exit_code = IBQOS_EXIT_WARNING;
	}
	require(finding_exit(list) == exit_code);
}

/* --- JSON --- */

static const char *member(struct json_object *row, const char *key)
{
	struct json_object *value = NULL;

	require(json_object_object_get_ex(row, key, &value));
	return json_object_get_string(value);
}

static bool alike(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_json(const struct finding_list *list, const char *text)
{
	struct json_object *top = json_tokener_parse(text), *rows = NULL;

	require(top && json_object_object_get_ex(top, "findings", &rows));
	require(json_object_array_length(rows) == list->count);
	for (size_t i = 0; i < list->count; i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		const struct finding *f = &list->items[i];

		require(alike(member(row, "code"), finding_kind(f->code)->code));
		require(alike(member(row, "severity"), finding_severity_name(f->severity)));
		require(alike(member(row, "class"), f->cause ? finding_cause_kind(f->cause)->name : NULL));
		require(alike(member(row, "advice"), finding_advice(f)));
		require(alike(member(row, "what"), f->what) && alike(member(row, "wanted"), f->wanted));
		require(alike(member(row, "got"), f->got) && alike(member(row, "detail"), f->detail));
		require(alike(member(row, "node"), f->name) && alike(member(row, "peer"), f->peer_name));
		require(alike(member(row, "file"), f->file));
		require((member(row, "line") != NULL) == (f->line > 0));
		require((member(row, "port") != NULL) == (f->guid != 0 && f->port >= 0));
	}
	json_object_put(top);
}

/* --- text --- */

/* The next line that is not indented, NULL at the end; *at goes behind it. */
static char *next_line(char **at)
{
	while (**at) {
		char *line = *at, *end = strchr(line, '\n');

		require(end);
		*end = '\0';
		*at = end + 1;
		if (*line && *line != ' ')
			return line;
	}
	return NULL;
}

static void file_start(const struct finding *f, char start[64])
{
	int used = snprintf(start, 64, "%s", f->file);

	if (f->line > 0)
		used += snprintf(start + used, 64 - (size_t)used, ":%u", f->line);
	if (f->line > 0 && f->column > 0)
		used += snprintf(start + used, 64 - (size_t)used, ":%u", f->column);
	snprintf(start + used, 64 - (size_t)used, ": ");
}

static bool in_file(const char *line)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (strncmp(line, files[i], strlen(files[i])) == 0)
			return true;
	return false;
}

/* How many findings a line of the fabric stands for: names begin with 'n', titles with no number. */
static size_t group_size(const char *line)
{
	const char *after = strstr(line, ": ");
	unsigned count;
	char noun[8] = "";

	require(after);
	if (sscanf(after + 2, "%u %6[a-z]:", &count, noun) == 2 &&
	    (!strcmp(noun, "ports") || !strcmp(noun, "nodes") || !strcmp(noun, "places") ||
	     !strcmp(noun, "times")))
		return count;
	return 1;
}

/* Whether one paragraph of the text stands for both. */
static bool one_group(const struct finding *f, const struct finding *g)
{
	return f->severity == g->severity && f->code == g->code && f->cause == g->cause && alike(f->what, g->what) &&
	       alike(f->wanted, g->wanted) && alike(f->got, g->got);
}

static size_t group_count(const struct finding_list *list)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++) {
		bool first = !list->items[i].file;

		for (size_t k = 0; k < i && first; k++)
			first = list->items[k].file || !one_group(&list->items[i], &list->items[k]);
		count += first;
	}
	return count;
}

static void check_text(const struct finding_list *list, char *text)
{
	size_t elsewhere = 0, groups = 0, expected = 0, next = 0;
	char *line, start[64];
	bool verdict = false;

	require(fuzz_printable(text, "\n"));
	while ((line = next_line(&text))) {
		require(!verdict); /* is the last */
		verdict = strncmp(line, "verdict: ", 9) == 0;
		if (verdict)
			continue;
		if (!in_file(line)) {
			elsewhere += group_size(line);
			groups++;
			continue;
		}
		while (next < list->count && !list->items[next].file)
			next++;
		require(next < list->count);
		file_start(&list->items[next++], start);
		require(strncmp(line, start, strlen(start)) == 0);
	}
	while (next < list->count)
		expected += list->items[next++].file != NULL;
	require(verdict && expected == 0);
	for (size_t i = 0; i < list->count; i++)
		expected += list->items[i].file == NULL;
	require(elsewhere == expected && groups == group_count(list));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = {data, size};
	struct finding_list list = {0}, backwards = {0};
	char *text, *other;

	while (in.left > 0 && list.count < FINDINGS_MAX)
		add(&in, &list);
	add_backwards(&list, &backwards);
	finding_list_sort(&list);
	finding_list_sort(&backwards);
	check_order(&list);
	for (unsigned way = 0; way < 3; way++) {
		enum report_format format = way == 0 ? REPORT_JSON : REPORT_TEXT;

		text = rendered(&list, format, way == 1);
		other = rendered(&backwards, format, way == 1);
		require(strcmp(text, other) == 0);
		if (format == REPORT_JSON)
			check_json(&list, text);
		else
			check_text(&list, text);
		free(other);
		free(text);
	}
	finding_list_clear(&list);
	finding_list_clear(&backwards);
	return 0;
}
