/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A report of its calls (calls.c has what they look like), made again for another report. What comes from another process,
 * perhaps of another host and version, is taken for hostile: each line is parsed strictly and checked before it is used, memory
 * is that of one line and of the findings, and without its last line nothing counts.
 */
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "ibqos/report.h"

#define LINE_MAX_BYTES (64u << 20)
#define COLUMNS_MAX 64
#define KEY_MAX 64
#define DEPTH_MAX 6
#define PARTS_MAX 4096 /* fields, sections, tables and texts: no command has more than some hundred; keys are compared one by one */
/* Two and a half for each port of 11,664 hosts, all of which hold wrong tables, are 143,213 (docs/performance.md) */
#define FINDINGS_MAX (1u << 20)

struct replay {
	FILE *in;
	struct report *r; /* NULL: it is only checked */
	const char *fabric;
	struct finding_list *findings;
	struct report_replayed *out;
	struct json_tokener *parser;
	char *line;
	size_t room, size;
	unsigned number; /* of the line */
	unsigned parts;
	char **fault;
	bool in_section, in_table, ended;
	struct report_column columns[COLUMNS_MAX];
	unsigned column_count;
};

/* -EINVAL, with what is wrong. */
__attribute__((format(printf, 2, 3))) static int refuse(struct replay *p, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	free(*p->fault);
	*p->fault = text ? text_utf8(text, strlen(text)) : NULL;
	free(text);
	return *p->fault ? -EINVAL : -ENOMEM;
}

static int bad_call(struct replay *p, const char *what)
{
	return refuse(p, "line %u of its answer has %s", p->number, what);
}

static int one_more_part(struct replay *p)
{
	return ++p->parts > PARTS_MAX ? bad_call(p, "more fields and tables than any command has") : 0;
}

/* --- lines --- */

/* The next line into p->line. 1; 0 at the end; -EINVAL: one that has no end; -EIO; -ENOMEM. */
static int read_line(struct replay *p)
{
	int c;

	p->size = 0;
	while ((c = getc_unlocked(p->in)) != EOF && c != '\n') {
		if (p->size + 1 >= p->room) {
			char *grown = array_grow(p->line, &p->room, p->size + 2, 1);

			if (!grown)
				return -ENOMEM;
			p->line = grown;
		}
		p->line[p->size++] = (char)c;
		if (p->size > LINE_MAX_BYTES)
			return refuse(p, "line %u of its answer has no end", p->number + 1);
	}
	if (ferror(p->in))
		return -EIO;
	if (c == EOF && p->size == 0)
		return 0;
	p->number++;
	if (c == EOF)
		return refuse(p, "its answer is cut off in line %u", p->number);
	p->line[p->size] = '\0';
	return 1;
}

/* The value of the line, whole and nothing behind it; freed by the caller. NULL after a fault. */
static struct json_object *parse_line(struct replay *p)
{
	struct json_object *value = NULL;

	if (p->size > 0 && p->size <= INT_MAX) {
		json_tokener_reset(p->parser);
		value = json_tokener_parse_ex(p->parser, p->line, (int)p->size);
	}
	if (value && json_tokener_get_parse_end(p->parser) == p->size)
		return value;
	json_object_put(value);
	bad_call(p, "no JSON");
	return NULL;
}

/* --- values --- */

static const char *text_at(struct json_object *list, size_t i)
{
	struct json_object *item = json_object_array_get_idx(list, i);

	return json_object_is_type(item, json_type_string) ? json_object_get_string(item) : NULL;
}

static bool text_or_null(struct json_object *list, size_t i)
{
	struct json_object *item = json_object_array_get_idx(list, i);

	return !item || json_object_is_type(item, json_type_string);
}

/* Names of JSON members and of metrics. */
static bool is_key(const char *text)
{
	return text && *text && strlen(text) < KEY_MAX && text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

/* Titles and units are written as they are: nothing but text may be in them. */
static bool is_title(struct json_object *list, size_t i)
{
	const char *text = text_at(list, i);
	size_t left;

	if (!text_or_null(list, i))
		return false;
	for (left = text ? strlen(text) : 0; left > 0;) {
		size_t length = text_char(text, left);

		if (length == 0)
			return false;
		text += length;
		left -= length;
	}
	return true;
}

static bool get_int(struct json_object *list, size_t i, int low, int high, int *number)
{
	struct json_object *item = json_object_array_get_idx(list, i);

	*number = json_object_get_int(item);
	return json_object_is_type(item, json_type_int) && *number >= low && *number <= high;
}

static bool is_guid(struct json_object *value, uint64_t *guid)
{
	struct json_object *text;

	return json_object_is_type(value, json_type_object) && json_object_object_length(value) == 1 &&
	       json_object_object_get_ex(value, "g", &text) && json_object_is_type(text, json_type_string) &&
	       text_to_u64(json_object_get_string(text), UINT64_MAX, guid) == 0;
}

static bool is_none(struct json_object *value)
{
	return json_object_is_type(value, json_type_array) && json_object_array_length(value) == 0;
}

static bool is_value(struct json_object *value)
{
	uint64_t guid;

	switch (json_object_get_type(value)) {
	case json_type_null:
	case json_type_string:
	case json_type_double:
	case json_type_boolean:
		return true;
	case json_type_int:
		return json_object_get_int64(value) >= 0;
	case json_type_array:
		return is_none(value);
	case json_type_object:
		return is_guid(value, &guid);
	}
	return false;
}

/* --- calls --- */

/* As much of it as there is room for, in whole characters. */
static void keep_error(struct report_replayed *out, const char *text)
{
	size_t used = 0, left = strlen(text), length;

	while (left > 0 && (length = text_char(text + used, left)) > 0 && used + length < sizeof(out->error)) {
		used += length;
		left -= length;
	}
	memcpy(out->error, text, used);
	out->error[used] = '\0';
}

static int take_field(struct replay *p, struct json_object *call)
{
	struct json_object *value = json_object_array_get_idx(call, 3);
	const char *key = text_at(call, 1), *title = text_at(call, 2);
	int decimals;
	uint64_t guid = 0;

	if (p->in_table || json_object_array_length(call) != 6 || !is_key(key) || !is_title(call, 2) || !is_value(value) ||
	    is_none(value) || !get_int(call, 4, -1, 20, &decimals) || !is_title(call, 5))
		return bad_call(p, "a field that is none");
	if (one_more_part(p) != 0)
		return -EINVAL;
	if (strcmp(key, "nodes_digest") == 0 && text_at(call, 3))
		snprintf(p->out->digest, sizeof(p->out->digest), "%.31s", text_at(call, 3));
	if (strcmp(key, "error") == 0 && !p->in_section && text_at(call, 3) && !p->out->error[0])
		keep_error(p->out, text_at(call, 3));
	if (!p->r)
		return 0;
	switch (json_object_get_type(value)) {
	case json_type_int:
		report_number(p->r, key, title, json_object_get_uint64(value));
		break;
	case json_type_double:
		report_real(p->r, key, title, json_object_get_double(value), decimals, text_at(call, 5));
		break;
	case json_type_boolean:
		report_bool(p->r, key, title, json_object_get_boolean(value));
		break;
	case json_type_object:
		if (is_guid(value, &guid))
			report_guid(p->r, key, title, guid);
		break;
	default:
		report_string(p->r, key, title, text_at(call, 3));
	}
	return 0;
}

static int take_section(struct replay *p, struct json_object *call)
{
	if (p->in_table || p->in_section || json_object_array_length(call) != 3 || !is_key(text_at(call, 1)) || !is_title(call, 2))
		return bad_call(p, "a section that is none");
	if (one_more_part(p) != 0)
		return -EINVAL;
	p->in_section = p->out->looked = true;
	if (p->r)
		report_section(p->r, text_at(call, 1), text_at(call, 2));
	return 0;
}

static int take_section_end(struct replay *p, struct json_object *call)
{
	if (p->in_table || !p->in_section || json_object_array_length(call) != 1)
		return bad_call(p, "the end of no section");
	p->in_section = false;
	if (p->r)
		report_section_end(p->r);
	return 0;
}

static void free_columns(struct replay *p)
{
	for (unsigned i = 0; i < p->column_count; i++) {
		free((char *)p->columns[i].key);
		free((char *)p->columns[i].title);
		free((char *)p->columns[i].unit);
	}
	p->column_count = 0;
}

static const char *copy_of(const char *text, bool *lost)
{
	char *copy = text ? strdup(text) : NULL;

	*lost |= text && !copy;
	return copy;
}

static int take_column(struct replay *p, struct json_object *from)
{
	struct report_column *column = &p->columns[p->column_count];
	bool lost = false;
	int type, decimals;

	if (!json_object_is_type(from, json_type_array) || json_object_array_length(from) != 5 || !is_key(text_at(from, 0)) ||
	    !is_title(from, 1) || !get_int(from, 2, REPORT_STRING, REPORT_GUID, &type) || !is_title(from, 3) ||
	    !get_int(from, 4, -1, 20, &decimals))
		return bad_call(p, "a column that is none");
	for (unsigned i = 0; i < p->column_count; i++)
		if (strcmp(p->columns[i].key, text_at(from, 0)) == 0)
			return bad_call(p, "two columns of one name");
	p->column_count++;
	*column = (struct report_column){.key = copy_of(text_at(from, 0), &lost),
					 .title = copy_of(text_at(from, 1), &lost),
					 .type = (enum report_type)type,
					 .unit = copy_of(text_at(from, 3), &lost),
					 .decimals = decimals};
	return lost ? -ENOMEM : 0;
}

static int take_table(struct replay *p, struct json_object *call)
{
	struct json_object *columns = json_object_array_get_idx(call, 3);
	bool titled = false;
	size_t count;
	int error = 0;

	if (p->in_table || json_object_array_length(call) != 4 || !is_key(text_at(call, 1)) || !is_title(call, 2) ||
	    !json_object_is_type(columns, json_type_array))
		return bad_call(p, "a table that is none");
	count = json_object_array_length(columns);
	if (count == 0 || count > COLUMNS_MAX || strcmp(text_at(call, 1), "findings") == 0)
		return bad_call(p, "a table that is none");
	for (size_t i = 0; i < count && error == 0; i++)
		error = take_column(p, json_object_array_get_idx(columns, i));
	for (unsigned i = 0; i < p->column_count; i++)
		titled |= p->columns[i].title != NULL;
	if (error == 0 && !titled && text_at(call, 2))
		error = bad_call(p, "a table for people without a column for them");
	if (error == 0)
		error = one_more_part(p);
	if (error != 0)
		return error;
	p->in_table = p->out->looked = true;
	if (p->r)
		report_table(p->r, text_at(call, 1), text_at(call, 2), p->columns, p->column_count);
	return 0;
}

static void put_cell(struct report *r, struct json_object *value)
{
	uint64_t guid = 0;

	switch (json_object_get_type(value)) {
	case json_type_int:
		report_cell_number(r, json_object_get_uint64(value));
		break;
	case json_type_double:
		report_cell_real(r, json_object_get_double(value));
		break;
	case json_type_boolean:
		report_cell_bool(r, json_object_get_boolean(value));
		break;
	case json_type_object:
		if (is_guid(value, &guid))
			report_cell_guid(r, guid);
		break;
	case json_type_array:
		report_cell_none(r);
		break;
	default:
		report_cell_string(r, value ? json_object_get_string(value) : NULL);
	}
}

static int take_row(struct replay *p, struct json_object *call)
{
	struct json_object *cells = json_object_array_get_idx(call, 1);

	if (!p->in_table || json_object_array_length(call) != 2 || !json_object_is_type(cells, json_type_array) ||
	    json_object_array_length(cells) != p->column_count)
		return bad_call(p, "a row that is none");
	for (unsigned i = 0; i < p->column_count; i++)
		if (!is_value(json_object_array_get_idx(cells, i)))
			return bad_call(p, "a cell that is none");
	for (unsigned i = 0; p->r && i < p->column_count; i++)
		put_cell(p->r, json_object_array_get_idx(cells, i));
	if (p->r)
		report_row_end(p->r);
	return 0;
}

static int take_table_end(struct replay *p, struct json_object *call)
{
	if (!p->in_table || json_object_array_length(call) != 1)
		return bad_call(p, "the end of no table");
	p->in_table = false;
	if (p->r)
		report_table_end(p->r);
	free_columns(p);
	return 0;
}

static int take_block(struct replay *p, struct json_object *call)
{
	const char *key = text_at(call, 1);

	if (p->in_table || json_object_array_length(call) != 4 || !text_or_null(call, 1) || (key && !is_key(key)) || !is_title(call, 2) ||
	    !text_or_null(call, 3))
		return bad_call(p, "a text that is none");
	if (one_more_part(p) != 0)
		return -EINVAL;
	if (p->r)
		report_text(p->r, key, text_at(call, 2), text_at(call, 3));
	return 0;
}

struct drawn {
	struct json_object *markup;
	const char *fabric;
};

static int draw(FILE *out, void *arg)
{
	const struct drawn *d = arg;

	return calls_figure_put(out, json_object_get_string(d->markup), (size_t)json_object_get_string_len(d->markup), d->fabric);
}

static int take_figure(struct replay *p, struct json_object *call)
{
	struct drawn d = {json_object_array_get_idx(call, 3), p->fabric};
	const char *title = text_at(call, 2);

	if (p->in_table || p->in_section || json_object_array_length(call) != 4 || !is_key(text_at(call, 1)) || !title || !is_title(call, 2) ||
	    !text_at(call, 3) || json_object_get_string_len(d.markup) > (int)CALLS_FIGURE_MAX || draw(NULL, &d) != 0)
		return bad_call(p, "a picture that is none");
	if (one_more_part(p) != 0)
		return -EINVAL;
	if (p->r)
		report_figure(p->r, text_at(call, 1), title, draw, &d);
	return 0;
}

static int take_finding(struct replay *p, struct json_object *call)
{
	const char *why = NULL;
	int error = -EINVAL;

	if (p->findings->count >= FINDINGS_MAX)
		return bad_call(p, "more findings than a fabric can have");
	if (!p->in_table && json_object_array_length(call) == 2)
		error = calls_to_finding(json_object_array_get_idx(call, 1), p->fabric, p->findings, &why);
	return error == -EINVAL ? bad_call(p, why ? why : "a finding that is none") : error;
}

static int take_end(struct replay *p, struct json_object *call)
{
	struct json_object *lost = json_object_array_get_idx(call, 2);
	int code;

	if (p->in_table || p->in_section || json_object_array_length(call) != 3 ||
	    !get_int(call, 1, IBQOS_EXIT_CLEAN, IBQOS_EXIT_UNKNOWN, &code) || !json_object_is_type(lost, json_type_boolean))
		return bad_call(p, "an end that is none");
	p->out->exit = (enum ibqos_exit)code;
	p->out->lost = json_object_get_boolean(lost);
	p->ended = true;
	return 0;
}

static const struct {
	const char *name;
	int (*take)(struct replay *p, struct json_object *call);
} calls[] = {
	{"f", take_field}, {"s", take_section}, {"S", take_section_end}, {"t", take_table}, {"r", take_row},
	{"T", take_table_end}, {"x", take_block}, {"p", take_figure}, {"F", take_finding}, {"e", take_end},
};

static int take_call(struct replay *p, struct json_object *call)
{
	const char *name = json_object_is_type(call, json_type_array) ? text_at(call, 0) : NULL;

	if (p->ended)
		return bad_call(p, "more behind its end");
	for (size_t i = 0; name && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].take(p, call);
	return bad_call(p, "what this ibqos does not know");
}

/* --- the whole --- */

static const char *member_of(struct json_object *head, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(head, key, &value) && json_object_is_type(value, json_type_string)
		       ? json_object_get_string(value)
		       : NULL;
}

static int take_head(struct replay *p, struct json_object *head, const char *command)
{
	struct json_object *format = NULL;
	const char *version = member_of(head, "ibqos"), *about = member_of(head, "fabric"), *of = member_of(head, "command");

	if (!json_object_is_type(head, json_type_object) || !json_object_object_get_ex(head, "ibqos_answer", &format) ||
	    !json_object_is_type(format, json_type_int))
		return refuse(p, "it is no answer of ibqos");
	if (json_object_get_int64(format) != REPORT_CALLS_FORMAT)
		return refuse(p, "it is an answer of format %lld of ibqos %.20s; this ibqos, " IBQOS_VERSION ", reads format %d",
			      (long long)json_object_get_int64(format), version ? version : "of unknown version", REPORT_CALLS_FORMAT);
	if (!version || !of || !about || json_object_object_length(head) != 4)
		return refuse(p, "the first line of its answer has not what it should");
	if (strcmp(of, command) != 0 || (p->fabric && strcmp(about, p->fabric) != 0))
		return refuse(p, "it answers '%.40s' about fabric '%.64s', not '%s' about '%s'", of, about, command,
			      p->fabric ? p->fabric : "any");
	snprintf(p->out->version, sizeof(p->out->version), "%.31s", version);
	return 0;
}

/* The first line, or any other. */
static int take_line(struct replay *p, const char *command)
{
	struct json_object *value = parse_line(p);
	int error = !value ? (*p->fault ? -EINVAL : -ENOMEM) : p->number == 1 ? take_head(p, value, command) : take_call(p, value);

	json_object_put(value);
	return error;
}

int report_replay(const struct ibqos_ctx *ctx, FILE *in, const char *command, const char *fabric, struct report *r,
		  struct finding_list *findings, struct report_replayed *out, char **fault)
{
	struct replay p = {.in = in, .r = r, .fabric = fabric, .findings = findings, .out = out, .fault = fault};
	int error = 0, more;

	*fault = NULL;
	*out = (struct report_replayed){.exit = IBQOS_EXIT_UNKNOWN};
	p.line = array_grow(NULL, &p.room, 256, 1); /* there is one even for an empty line */
	p.parser = json_tokener_new_ex(DEPTH_MAX);
	if (!p.parser || !p.line) {
		if (p.parser)
			json_tokener_free(p.parser);
		free(p.line);
		return -ENOMEM;
	}
	json_tokener_set_flags(p.parser, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	while (error == 0 && (more = read_line(&p)) != 0)
		error = more < 0 ? more : ctx_stopped(ctx) ? -EINTR : take_line(&p, command);
	if (error == 0 && !p.ended)
		error = p.number == 0 ? refuse(&p, "it answered nothing") : refuse(&p, "its answer is cut off behind line %u", p.number);
	if (error != 0 && r && p.in_table)
		report_table_end(r);
	if (error != 0 && r && p.in_section)
		report_section_end(r);
	free_columns(&p);
	json_tokener_free(p.parser);
	free(p.line);
	return error;
}
