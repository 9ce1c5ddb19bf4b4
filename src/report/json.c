/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * JSON: everything is streamed, so that a table of millions of rows needs the memory of one value. json-c says how
 * strings and reals are written, where they are not plain: an object for each value, and a table of hashes for each
 * row, took more than half of the time of a large discovery.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>

#include "writer.h"

#define LAYOUT (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

struct json_state {
	bool started; /* the innermost object or array has a member */
	struct json_object *real; /* used again for each */
	char **keys; /* of the table's columns, as they are written: "key": */
	unsigned key_count;
};

/* Writes what json-c makes of an object, or null. */
static void put_object(struct report *r, struct json_object *object)
{
	const char *text;

	/* json-c drops what it has no memory for and says nothing: only errno tells */
	errno = 0;
	text = json_object_to_json_string_ext(object, LAYOUT);
	if (!text || errno == ENOMEM)
		report_fail(r, -ENOMEM);
	report_puts(r, text ? text : "null");
}

/* Nothing in it that JSON has another way to write for (RFC 8259, 7). */
static bool is_plain(const char *text)
{
	while (*text >= ' ' && *text <= '~' && *text != '"' && *text != '\\')
		text++;
	return *text == '\0';
}

static void put_string(struct report *r, const char *text)
{
	struct json_object *string;

	if (is_plain(text)) {
		report_puts(r, "\"");
		report_puts(r, text);
		report_puts(r, "\"");
		return;
	}
	string = json_object_new_string(text);
	if (!string)
		report_fail(r, -ENOMEM);
	put_object(r, string);
	json_object_put(string);
}

static void put_real(struct report *r, double real)
{
	struct json_state *state = r->own;

	json_object_set_double(state->real, real);
	put_object(r, state->real);
}

/* printf takes ten times as long, and most cells of a large table are numbers and GUIDs. */
static void put_number(struct report *r, uint64_t number)
{
	char text[24], *at = &text[sizeof(text) - 1];

	*at = '\0';
	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	report_puts(r, at);
}

static void put_guid(struct report *r, uint64_t guid)
{
	char text[] = "\"0x0000000000000000\"";

	for (char *at = &text[18]; guid > 0; guid >>= 4)
		*at-- = "0123456789abcdef"[guid & 0xf];
	report_puts(r, text);
}

static void put_value(struct report *r, const struct report_value *value)
{
	if (value->knowledge != REPORT_KNOWN) {
		report_puts(r, "null");
		return;
	}
	switch (value->type) {
	case REPORT_STRING:
		put_string(r, value->string);
		return;
	case REPORT_NUMBER:
		put_number(r, value->number);
		return;
	case REPORT_REAL:
		put_real(r, value->real);
		return;
	case REPORT_BOOL:
		report_puts(r, value->truth ? "true" : "false");
		return;
	case REPORT_GUID:
		put_guid(r, value->number);
		return;
	}
}

static void put_comma(struct report *r)
{
	struct json_state *state = r->own;

	report_puts(r, state->started ? ",\n" : "\n");
	state->started = true;
}

static void put_key(struct report *r, const char *key)
{
	put_comma(r);
	put_string(r, key);
	report_puts(r, ":");
}

static void open_inner(struct report *r, const char *key, const char *bracket)
{
	struct json_state *state = r->own;

	put_key(r, key);
	report_puts(r, bracket);
	state->started = false;
}

static void close_inner(struct report *r, const char *bracket)
{
	struct json_state *state = r->own;

	report_put(r, state->started ? "\n%s" : "%s", bracket);
	state->started = true; /* the outer one has this as a member */
}

static void forget_keys(struct json_state *state)
{
	for (unsigned i = 0; i < state->key_count; i++)
		free(state->keys[i]);
	free(state->keys);
	state->keys = NULL;
	state->key_count = 0;
}

static int json_open(struct report *r)
{
	struct json_state *state = calloc(1, sizeof(*state));

	if (!state)
		return -ENOMEM;
	state->real = json_object_new_double(0);
	if (!state->real) {
		free(state);
		return -ENOMEM;
	}
	json_object_set_serializer(state->real, json_object_double_to_json_string, (void *)"%.6g", NULL);
	r->own = state;
	report_puts(r, "{");
	return 0;
}

static void json_field(struct report *r, const char *key, const char *title, const struct report_value *value)
{
	(void)title;
	put_key(r, key);
	put_value(r, value);
}

static void json_section(struct report *r, const char *key, const char *title)
{
	(void)title;
	open_inner(r, key, "{");
}

static void json_section_end(struct report *r)
{
	close_inner(r, "}");
}

/* Keys are the program's own words, which need no quoting but quotes. */
static void json_table(struct report *r, const char *key, const char *title)
{
	struct json_state *state = r->own;

	(void)title;
	open_inner(r, key, "[");
	forget_keys(state);
	state->keys = calloc(r->column_count + 1, sizeof(*state->keys));
	while (state->keys && state->key_count < r->column_count) {
		if (asprintf(&state->keys[state->key_count], "%s\"%s\":", state->key_count ? "," : "",
			     r->columns[state->key_count].key) < 0)
			break;
		state->key_count++;
	}
	if (state->key_count < r->column_count)
		report_fail(r, -ENOMEM);
}

static void json_row(struct report *r)
{
	struct json_state *state = r->own;

	put_comma(r);
	report_puts(r, "{");
	for (unsigned i = 0; i < state->key_count; i++) {
		report_puts(r, state->keys[i]);
		put_value(r, &r->cells[i]);
	}
	report_puts(r, "}");
}

static void json_table_end(struct report *r)
{
	forget_keys(r->own);
	close_inner(r, "]");
}

static void json_parts(struct report *r, const char *key)
{
	open_inner(r, key, "[");
}

static void json_part(struct report *r, const char *name)
{
	struct json_state *state = r->own;

	put_comma(r);
	report_puts(r, "{");
	state->started = false;
	put_key(r, "fabric");
	put_string(r, name);
}

static void json_part_end(struct report *r, const char *name, const struct report_part *result, const char *verdict)
{
	(void)name;
	put_key(r, "seconds");
	put_real(r, result->seconds);
	put_key(r, "exit");
	put_number(r, (uint64_t)result->exit);
	put_key(r, "verdict");
	put_string(r, verdict);
	close_inner(r, "}");
}

static void json_parts_end(struct report *r)
{
	close_inner(r, "]");
}

static void json_verdict(struct report *r, enum ibqos_exit exit_code, const char *name)
{
	put_key(r, "exit");
	put_number(r, (uint64_t)exit_code);
	put_key(r, "verdict");
	put_string(r, name);
}

static void json_close(struct report *r)
{
	struct json_state *state = r->own;

	report_puts(r, "\n}\n");
	forget_keys(state);
	json_object_put(state->real);
	free(state);
}

const struct report_writer report_json_writer = {
	.open = json_open,
	.field = json_field,
	.section = json_section,
	.section_end = json_section_end,
	.table = json_table,
	.row = json_row,
	.table_end = json_table_end,
	.block = json_field,
	.parts = json_parts,
	.part = json_part,
	.part_end = json_part_end,
	.parts_end = json_parts_end,
	.verdict = json_verdict,
	.close = json_close,
};
