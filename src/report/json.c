/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * JSON: the framing is streamed line by line, each value and each row is one json-c object, so that
 * a table of millions of rows needs the memory of one.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>

#include "writer.h"

#define LAYOUT (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

struct json_state {
	bool started; /* the innermost object or array has a member */
};

static void *made(struct report *r, struct json_object *object)
{
	if (!object)
		report_fail(r, -ENOMEM);
	return object;
}

/* NULL is JSON's null, also when out of memory, which is then remembered. */
static struct json_object *object_of(struct report *r, const struct report_value *value)
{
	char guid[24];

	if (value->knowledge != REPORT_KNOWN)
		return NULL;
	switch (value->type) {
	case REPORT_STRING:
		return made(r, json_object_new_string(value->string));
	case REPORT_NUMBER:
		return made(r, json_object_new_uint64(value->number));
	case REPORT_REAL: {
		struct json_object *real = made(r, json_object_new_double(value->real));

		if (real)
			json_object_set_serializer(real, json_object_double_to_json_string, (void *)"%.6g",
						   NULL);
		return real;
	}
	case REPORT_BOOL:
		return made(r, json_object_new_boolean(value->truth));
	case REPORT_GUID:
		snprintf(guid, sizeof(guid), "0x%016" PRIx64, value->number);
		return made(r, json_object_new_string(guid));
	}
	return NULL;
}

/* Writes an object, NULL as null, and releases it. */
static void put_object(struct report *r, struct json_object *object)
{
	const char *text;

	/* json-c drops what it has no memory for and says nothing: only errno tells */
	errno = 0;
	text = json_object_to_json_string_ext(object, LAYOUT);
	if (!text || errno == ENOMEM)
		report_fail(r, -ENOMEM);
	report_put(r, "%s", text ? text : "null");
	json_object_put(object);
}

static void put_comma(struct report *r)
{
	struct json_state *state = r->own;

	report_put(r, state->started ? ",\n" : "\n");
	state->started = true;
}

static void put_key(struct report *r, const char *key)
{
	put_comma(r);
	put_object(r, made(r, json_object_new_string(key)));
	report_put(r, ":");
}

static void open_inner(struct report *r, const char *key, const char *bracket)
{
	struct json_state *state = r->own;

	put_key(r, key);
	report_put(r, "%s", bracket);
	state->started = false;
}

static void close_inner(struct report *r, const char *bracket)
{
	struct json_state *state = r->own;

	report_put(r, state->started ? "\n%s" : "%s", bracket);
	state->started = true; /* the outer one has this as a member */
}

static int json_open(struct report *r)
{
	r->own = calloc(1, sizeof(struct json_state));
	if (!r->own)
		return -ENOMEM;
	report_put(r, "{");
	return 0;
}

static void json_field(struct report *r, const char *key, const char *title, const struct report_value *value)
{
	(void)title;
	put_key(r, key);
	put_object(r, object_of(r, value));
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

static void json_table(struct report *r, const char *key, const char *title)
{
	(void)title;
	open_inner(r, key, "[");
}

static void json_row(struct report *r)
{
	struct json_object *row = made(r, json_object_new_object());

	put_comma(r);
	for (unsigned i = 0; row && i < r->column_count; i++) {
		struct json_object *value = object_of(r, &r->cells[i]);

		if (json_object_object_add(row, r->columns[i].key, value) < 0) {
			json_object_put(value);
			report_fail(r, -ENOMEM);
		}
	}
	put_object(r, row);
}

static void json_table_end(struct report *r)
{
	close_inner(r, "]");
}

static void json_verdict(struct report *r, enum ibqos_exit exit_code, const char *name)
{
	put_key(r, "exit");
	put_object(r, made(r, json_object_new_int(exit_code)));
	put_key(r, "verdict");
	put_object(r, made(r, json_object_new_string(name)));
}

static void json_close(struct report *r)
{
	report_put(r, "\n}\n");
	free(r->own);
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
	.verdict = json_verdict,
	.close = json_close,
};
