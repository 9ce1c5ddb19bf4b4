/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A report as its calls, a line of JSON each (report_replay() makes them again): what a worker of a site hands back. Titles,
 * units and whole findings are in it, which the JSON for scripts has not.
 *
 *   {"ibqos_answer":1,"ibqos":"0.1.0","command":"verify","fabric":"rail0"}   first
 *   ["f",KEY,TITLE,VALUE,DECIMALS,UNIT]            a field
 *   ["s",KEY,TITLE]  ["S"]                         a section begins, ends
 *   ["t",KEY,TITLE,[[KEY,TITLE,TYPE,UNIT,DECIMALS],...]]  ["r",[VALUE,...]]  ["T"]   a table, its rows, its end
 *   ["x",KEY,TITLE,TEXT]                           a block of text; KEY null: in text only
 *   ["p",KEY,TITLE,MARKUP]                         a picture; for a page alone (REPORT_CALLS_DRAWN)
 *   ["F",{...}]                                    a finding
 *   ["e",EXIT,LOST]                                last
 *
 * VALUE: a string, number, real (with a point or exponent), truth; {"g":"0x..."} a GUID; null what is not known, [] none.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "writer.h"

#define LAYOUT (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

struct calls_state {
	bool findings; /* the table that is open is theirs */
	bool lost;
};

/* Fails the report where json-c had no memory: it then gives NULL, or leaves something out without a word. */
static struct json_object *made(struct report *r, struct json_object *object)
{
	if (!object)
		report_fail(r, -ENOMEM);
	return object;
}

static struct json_object *text_or_null(struct report *r, const char *text)
{
	return text ? made(r, json_object_new_string(text)) : NULL;
}

static void push(struct report *r, struct json_object *list, struct json_object *item)
{
	if (!list || json_object_array_add(list, item) != 0) {
		json_object_put(item);
		report_fail(r, -ENOMEM);
	}
}

static struct json_object *call(struct report *r, const char *name)
{
	struct json_object *list = made(r, json_object_new_array());

	push(r, list, text_or_null(r, name));
	return list;
}

/* Writes a line, and frees what it was made of. */
static void put_line(struct report *r, struct json_object *line)
{
	const char *text;

	errno = 0;
	text = line ? json_object_to_json_string_ext(line, LAYOUT) : NULL;
	if (!text || errno == ENOMEM)
		report_fail(r, -ENOMEM);
	else {
		report_puts(r, text);
		report_puts(r, "\n");
	}
	json_object_put(line);
}

static struct json_object *guid_of(struct report *r, uint64_t guid)
{
	struct json_object *object = made(r, json_object_new_object());
	char text[24];

	snprintf(text, sizeof(text), "0x%016llx", (unsigned long long)guid);
	if (object && json_object_object_add(object, "g", text_or_null(r, text)) != 0)
		report_fail(r, -ENOMEM);
	return object;
}

static struct json_object *real_of(struct report *r, double real)
{
	char text[40];

	snprintf(text, sizeof(text), "%.17g", real);
	if (!strpbrk(text, ".e"))
		strcat(text, ".0");
	return made(r, json_object_new_double_s(real, text));
}

static struct json_object *value_of(struct report *r, const struct report_value *value)
{
	if (value->knowledge == REPORT_UNKNOWN)
		return NULL;
	if (value->knowledge == REPORT_NONE)
		return made(r, json_object_new_array());
	switch (value->type) {
	case REPORT_STRING:
		return text_or_null(r, value->string);
	case REPORT_NUMBER:
		return made(r, json_object_new_uint64(value->number));
	case REPORT_REAL:
		return real_of(r, value->real);
	case REPORT_BOOL:
		return made(r, json_object_new_boolean(value->truth));
	case REPORT_GUID:
		return guid_of(r, value->number);
	}
	return NULL;
}

static int calls_open(struct report *r)
{
	struct calls_state *state = calloc(1, sizeof(*state));
	struct json_object *head;

	if (!state)
		return -ENOMEM;
	r->own = state;
	head = made(r, json_object_new_object());
	if (head && (json_object_object_add(head, "ibqos_answer", made(r, json_object_new_int(REPORT_CALLS_FORMAT))) != 0 ||
		     json_object_object_add(head, "ibqos", text_or_null(r, IBQOS_VERSION)) != 0 ||
		     json_object_object_add(head, "command", text_or_null(r, r->ctx->command)) != 0 ||
		     json_object_object_add(head, "fabric", text_or_null(r, r->ctx->fabric)) != 0))
		report_fail(r, -ENOMEM);
	put_line(r, head);
	return 0;
}

/* The first line has what every report begins with. */
static bool is_head(const struct report *r, const char *key)
{
	static const char *const keys[] = {"format", "ibqos", "command", "fabric"};

	for (size_t i = 0; !r->in_section && i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return false;
}

static void calls_field(struct report *r, const char *key, const char *title, const struct report_value *value)
{
	struct calls_state *state = r->own;
	struct json_object *line;

	if (is_head(r, key))
		return;
	if (!r->in_section && strcmp(key, "findings_lost") == 0) { /* told with the end */
		state->lost = value->truth;
		return;
	}
	line = call(r, "f");
	push(r, line, text_or_null(r, key));
	push(r, line, text_or_null(r, title));
	push(r, line, value_of(r, value));
	push(r, line, made(r, json_object_new_int(value->decimals)));
	push(r, line, text_or_null(r, value->unit));
	put_line(r, line);
}

static void calls_section(struct report *r, const char *key, const char *title)
{
	struct json_object *line = call(r, "s");

	push(r, line, text_or_null(r, key));
	push(r, line, text_or_null(r, title));
	put_line(r, line);
}

static void calls_section_end(struct report *r)
{
	put_line(r, call(r, "S"));
}

static void calls_table(struct report *r, const char *key, const char *title)
{
	struct calls_state *state = r->own;
	struct json_object *line, *columns;

	state->findings = strcmp(key, "findings") == 0;
	if (state->findings)
		return;
	line = call(r, "t");
	columns = made(r, json_object_new_array());
	for (unsigned i = 0; i < r->column_count; i++) {
		const struct report_column *from = &r->columns[i];
		struct json_object *column = made(r, json_object_new_array());

		push(r, column, text_or_null(r, from->key));
		push(r, column, text_or_null(r, from->title));
		push(r, column, made(r, json_object_new_int((int)from->type)));
		push(r, column, text_or_null(r, from->unit));
		push(r, column, made(r, json_object_new_int(from->decimals)));
		push(r, columns, column);
	}
	push(r, line, text_or_null(r, key));
	push(r, line, text_or_null(r, title));
	push(r, line, columns);
	put_line(r, line);
}

static void calls_row(struct report *r)
{
	const struct calls_state *state = r->own;
	struct json_object *line, *cells;

	if (state->findings)
		return;
	line = call(r, "r");
	cells = made(r, json_object_new_array());
	for (unsigned i = 0; i < r->cell_count; i++)
		push(r, cells, value_of(r, &r->cells[i]));
	push(r, line, cells);
	put_line(r, line);
}

static void calls_table_end(struct report *r)
{
	struct calls_state *state = r->own;

	if (!state->findings)
		put_line(r, call(r, "T"));
	state->findings = false;
}

static void calls_block(struct report *r, const char *key, const char *title, const struct report_value *value)
{
	struct json_object *line = call(r, "x");

	push(r, line, text_or_null(r, key));
	push(r, line, text_or_null(r, title));
	push(r, line, value->knowledge == REPORT_KNOWN ? text_or_null(r, value->string) : NULL);
	put_line(r, line);
}

static void calls_figure(struct report *r, const char *key, const char *title, int (*draw)(FILE *out, void *arg), void *arg)
{
	struct json_object *line;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int error = out ? draw(out, arg) : -ENOMEM;

	if (out && fclose(out) != 0 && error == 0)
		error = -ENOMEM;
	if (error == 0 && size > CALLS_FIGURE_MAX)
		error = -EFBIG;
	if (error < 0) {
		report_fail(r, error);
	} else {
		line = call(r, "p");
		push(r, line, text_or_null(r, key));
		push(r, line, text_or_null(r, title));
		push(r, line, made(r, json_object_new_string_len(text, (int)size)));
		put_line(r, line);
	}
	free(text);
}

static void calls_finding(struct report *r, const struct finding *f)
{
	struct json_object *line = call(r, "F"), *object = calls_of_finding(f);

	push(r, line, made(r, object));
	put_line(r, line);
}

static void calls_verdict(struct report *r, enum ibqos_exit exit_code, const char *name)
{
	const struct calls_state *state = r->own;
	struct json_object *line = call(r, "e");

	(void)name;
	push(r, line, made(r, json_object_new_int((int)exit_code)));
	push(r, line, made(r, json_object_new_boolean(state->lost)));
	/* what could not be said is not made up for by an end */
	if (r->error == 0)
		put_line(r, line);
	else
		json_object_put(line);
}

static void calls_close(struct report *r)
{
	free(r->own);
}

/* clang-format off */
#define CALLS \
	.open = calls_open, .field = calls_field, .section = calls_section, .section_end = calls_section_end, .table = calls_table, \
	.row = calls_row, .table_end = calls_table_end, .block = calls_block, .finding = calls_finding, .verdict = calls_verdict, \
	.close = calls_close
/* clang-format on */

const struct report_writer report_calls_writer = {CALLS};
const struct report_writer report_drawn_writer = {CALLS, .figure = calls_figure};
