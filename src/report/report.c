/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The report as its callers see it: values are made safe and complete here, once, then handed to
 * the writer of the format.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "writer.h"

static const struct {
	const char *name;
	const struct report_writer *writer;
} formats[] = {
	[REPORT_TEXT] = {"text", &report_text_writer},
	[REPORT_JSON] = {"json", &report_json_writer},
	[REPORT_PROMETHEUS] = {"prometheus", &report_prometheus_writer},
	[REPORT_NAGIOS] = {"nagios", &report_nagios_writer},
	[REPORT_HTML] = {"html", &report_html_writer},
	[REPORT_CALLS] = {"calls", &report_calls_writer}, /* not for people: not among the names */
	[REPORT_CALLS_DRAWN] = {"calls-drawn", &report_drawn_writer},
};

int report_format_of(const char *name, enum report_format *format)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (strcmp(name, formats[i].name) == 0) {
			*format = (enum report_format)i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *report_format_names(void)
{
	return "text, json, prometheus, nagios, html";
}

void report_fail(struct report *r, int error)
{
	if (r->error == 0)
		r->error = error;
}

void report_put(struct report *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	errno = 0;
	if (vfprintf(r->out, format, args) < 0)
		report_fail(r, errno ? -errno : -EIO);
	va_end(args);
}

void report_puts(struct report *r, const char *text)
{
	errno = 0;
	if (fputs_unlocked(text, r->out) < 0)
		report_fail(r, errno ? -errno : -EIO);
}

static size_t first_key(const struct report *r)
{
	return r->in_section ? r->section_keys : r->part ? r->part_keys : 0;
}

/* How many like it there are already: "error", "error_2", ... */
static unsigned keys_like(const struct report *r, const char *key)
{
	size_t length = strlen(key);
	unsigned count = 0;

	for (size_t i = first_key(r); i < r->key_count; i++) {
		const char *rest = r->keys[i] + length;

		if (strncmp(r->keys[i], key, length) == 0 && (!*rest || (*rest == '_' && rest[1 + strspn(rest + 1, "0123456789")] == '\0')))
			count++;
	}
	return count;
}

static bool key_used(const struct report *r, const char *key)
{
	for (size_t i = first_key(r); i < r->key_count; i++)
		if (strcmp(r->keys[i], key) == 0)
			return true;
	return false;
}

/*
 * A key that its object does not have yet: a second "error" becomes "error_2". A parser of JSON
 * would drop one of two like keys without a word.
 */
static const char *unique_key(struct report *r, const char *key)
{
	char **keys = array_grow(r->keys, &r->key_room, r->key_count + 1, sizeof(*keys));
	char *copy = strdup(key);

	if (keys)
		r->keys = keys;
	/* the next number is free, but where somebody has made names up: then far away */
	for (size_t n = 0; copy && key_used(r, copy);) {
		free(copy);
		n = n == 0 ? keys_like(r, key) + 1u : n + r->key_count;
		if (asprintf(&copy, "%s_%zu", key, n) < 0)
			copy = NULL;
	}
	if (!keys || !copy) {
		free(copy);
		report_fail(r, -ENOMEM);
		return key;
	}
	r->keys[r->key_count++] = copy;
	return copy;
}

static struct report_value string_value(struct report *r, const char *text)
{
	struct report_value value = {.type = REPORT_STRING, .knowledge = REPORT_UNKNOWN};

	if (!text)
		return value;
	value.string = text_utf8(text, strlen(text));
	if (value.string)
		value.knowledge = REPORT_KNOWN;
	else
		report_fail(r, -ENOMEM);
	return value;
}

/* As string_value(), but lines stay lines: nothing else that a terminal obeys passes. */
static struct report_value block_value(struct report *r, const char *text)
{
	struct report_value value = {.type = REPORT_STRING, .knowledge = REPORT_UNKNOWN};
	size_t left = text ? strlen(text) : 0;
	char *to;

	if (!text)
		return value;
	value.string = to = malloc(3 * left + 1); /* a bad byte becomes the three of U+FFFD */
	if (!to) {
		report_fail(r, -ENOMEM);
		return value;
	}
	value.knowledge = REPORT_KNOWN;
	while (left > 0) {
		size_t length = *text == '\n' || *text == '\t' ? 1 : text_char(text, left);

		to = mempcpy(to, length ? text : "\xef\xbf\xbd", length ? length : 3);
		text += length ? length : 1;
		left -= length ? length : 1;
	}
	*to = '\0';
	return value;
}

static struct report_value number_value(uint64_t number)
{
	return (struct report_value){.type = REPORT_NUMBER, .number = number};
}

static struct report_value real_value(double real)
{
	return (struct report_value){.type = REPORT_REAL,
				     .real = real,
				     .knowledge = isfinite(real) ? REPORT_KNOWN : REPORT_UNKNOWN};
}

static struct report_value bool_value(bool truth)
{
	return (struct report_value){.type = REPORT_BOOL, .truth = truth};
}

static struct report_value guid_value(uint64_t guid, enum report_knowledge if_zero)
{
	return (struct report_value){
		.type = REPORT_GUID, .number = guid, .knowledge = guid ? REPORT_KNOWN : if_zero};
}

static void field(struct report *r, const char *key, const char *title, struct report_value value)
{
	const char *unique = unique_key(r, key);

	for (struct report *to = r; to; to = to->also)
		to->writer->field(to, unique, title, &value);
	if (value.type == REPORT_STRING)
		free(value.string);
}

void report_string(struct report *r, const char *key, const char *title, const char *value)
{
	field(r, key, title, string_value(r, value));
}

void report_number(struct report *r, const char *key, const char *title, uint64_t value)
{
	field(r, key, title, number_value(value));
}

void report_real(struct report *r, const char *key, const char *title, double value, int decimals,
		 const char *unit)
{
	struct report_value made = real_value(value);

	made.decimals = decimals;
	made.unit = unit;
	field(r, key, title, made);
}

void report_bool(struct report *r, const char *key, const char *title, bool value)
{
	field(r, key, title, bool_value(value));
}

void report_guid(struct report *r, const char *key, const char *title, uint64_t value)
{
	field(r, key, title, guid_value(value, REPORT_UNKNOWN));
}

void report_section(struct report *r, const char *key, const char *title)
{
	const char *unique;

	report_section_end(r); /* they do not nest */
	unique = unique_key(r, key);
	r->section_keys = r->key_count;
	for (struct report *to = r; to; to = to->also) {
		to->writer->section(to, unique, title);
		to->in_section = true;
	}
}

void report_section_end(struct report *r)
{
	report_table_end(r);
	if (!r->in_section)
		return;
	while (r->key_count > r->section_keys)
		free(r->keys[--r->key_count]);
	for (struct report *to = r; to; to = to->also) {
		to->in_section = false;
		to->writer->section_end(to);
	}
}

/* The table is of the first report; the others are shown it. */
static void show_cells(struct report *r)
{
	for (struct report *to = r->also; to; to = to->also) {
		to->columns = r->columns;
		to->column_count = r->column_count;
		to->cells = r->cells;
		to->cell_count = r->cell_count;
	}
}

void report_table(struct report *r, const char *key, const char *title, const struct report_column *columns,
		  unsigned column_count)
{
	const char *unique;

	report_table_end(r);
	r->cells = calloc(column_count ? column_count : 1, sizeof(*r->cells));
	if (!r->cells)
		report_fail(r, -ENOMEM);
	r->columns = columns;
	r->column_count = r->cells ? column_count : 0;
	r->cell_count = 0;
	unique = unique_key(r, key);
	show_cells(r);
	for (struct report *to = r; to; to = to->also)
		to->writer->table(to, unique, title);
}

/* Puts the next cell into the row; what is beyond the last column has nowhere to go. */
static void cell(struct report *r, struct report_value value)
{
	if (r->columns && r->cell_count < r->column_count)
		r->cells[r->cell_count++] = value;
	else if (value.type == REPORT_STRING)
		free(value.string);
}

void report_cell_string(struct report *r, const char *value)
{
	cell(r, string_value(r, value));
}

void report_cell_if(struct report *r, const char *value)
{
	if (value)
		report_cell_string(r, value);
	else
		report_cell_none(r);
}

void report_cell_number(struct report *r, uint64_t value)
{
	cell(r, number_value(value));
}

void report_cell_real(struct report *r, double value)
{
	cell(r, real_value(value));
}

void report_cell_bool(struct report *r, bool value)
{
	cell(r, bool_value(value));
}

void report_cell_guid(struct report *r, uint64_t value)
{
	cell(r, guid_value(value, REPORT_NONE));
}

void report_cell_none(struct report *r)
{
	cell(r, (struct report_value){.type = REPORT_STRING, .knowledge = REPORT_NONE});
}

static void clear_cells(struct report *r)
{
	for (unsigned i = 0; i < r->cell_count; i++)
		if (r->cells[i].type == REPORT_STRING)
			free(r->cells[i].string);
	r->cell_count = 0;
}

void report_row_end(struct report *r)
{
	if (!r->columns)
		return;
	while (r->cell_count < r->column_count)
		report_cell_none(r);
	show_cells(r);
	for (struct report *to = r; to; to = to->also)
		to->writer->row(to);
	clear_cells(r);
}

void report_table_end(struct report *r)
{
	if (!r->columns)
		return;
	if (r->cell_count > 0)
		report_row_end(r);
	for (struct report *to = r; to; to = to->also)
		to->writer->table_end(to);
	free(r->cells);
	r->cells = NULL;
	r->columns = NULL;
	show_cells(r);
}

void report_text(struct report *r, const char *key, const char *title, const char *text)
{
	struct report_value value = block_value(r, text);
	const char *unique = key ? unique_key(r, key) : NULL;

	for (struct report *to = r; to; to = to->also)
		if (unique || to->writer == &report_text_writer || to->writer->open == report_calls_writer.open)
			to->writer->block(to, unique, title, &value);
	free(value.string);
}

void report_figure(struct report *r, const char *key, const char *title, int (*draw)(FILE *out, void *arg), void *arg)
{
	const char *unique;

	report_section_end(r);
	unique = unique_key(r, key);
	for (struct report *to = r; to; to = to->also)
		if (to->writer->figure)
			to->writer->figure(to, unique, title, draw, arg);
}

/* --- parts --- */

void report_parts(struct report *r, const char *key)
{
	const char *unique;

	report_parts_end(r);
	unique = unique_key(r, key);
	for (struct report *to = r; to; to = to->also) {
		to->in_parts = to->had_parts = true;
		if (to->writer->parts)
			to->writer->parts(to, unique);
	}
}

static const char *verdict_of(enum ibqos_exit exit_code)
{
	static const char *const verdicts[] = {
		[IBQOS_EXIT_CLEAN] = "clean",
		[IBQOS_EXIT_WARNING] = "warning",
		[IBQOS_EXIT_CRITICAL] = "critical",
		[IBQOS_EXIT_UNKNOWN] = "unknown",
	};

	return verdicts[exit_code];
}

void report_part(struct report *r, const char *name)
{
	static const char *const reserved[] = {"fabric", "exit", "verdict", "seconds"};

	report_section_end(r);
	r->part_keys = r->key_count;
	for (struct report *to = r; to; to = to->also) {
		free(to->part);
		to->part = text_utf8(name, strlen(name));
		if (!to->part)
			report_fail(to, -ENOMEM);
		if (to->part && to->writer->part)
			to->writer->part(to, to->part);
	}
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		unique_key(r, reserved[i]);
}

void report_part_end(struct report *r, const struct report_part *result)
{
	report_section_end(r);
	while (r->key_count > r->part_keys)
		free(r->keys[--r->key_count]);
	for (struct report *to = r; to; to = to->also) {
		if (to->part && to->writer->part_end)
			to->writer->part_end(to, to->part, result, verdict_of(result->exit));
		free(to->part);
		to->part = NULL;
	}
}

void report_parts_end(struct report *r)
{
	report_section_end(r);
	for (struct report *to = r; to; to = to->also) {
		if (to->in_parts && to->writer->parts_end)
			to->writer->parts_end(to);
		to->in_parts = false;
	}
}

void report_by_fabric(struct report *r)
{
	for (struct report *to = r; to; to = to->also)
		to->by_fabric = true;
}

static void report_free(struct report *r)
{
	free(r->part);
	for (size_t i = 0; i < r->key_count; i++)
		free(r->keys[i]);
	free(r->keys);
	free(r);
}

struct report *report_begin(const struct ibqos_ctx *ctx, FILE *out, enum report_format format)
{
	bool named = ctx->fabric && ctx->fabric[0] != '\0';
	struct report *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->ctx = ctx;
	r->out = out;
	r->writer = formats[format].writer;
	if (r->writer->open(r) < 0) {
		report_free(r);
		return NULL;
	}
	unique_key(r, "exit"); /* the end will write these two */
	unique_key(r, "verdict");
	report_number(r, "format", NULL, 1);
	report_string(r, "ibqos", NULL, IBQOS_VERSION);
	report_string(r, "command", NULL, ctx->command);
	report_string(r, "fabric", named ? "fabric" : NULL, named ? ctx->fabric : NULL);
	return r;
}

void report_set_style(struct report *r, const struct report_style *style)
{
	r->style = *style;
}

void report_also(struct report *r, struct report *also)
{
	r->also = also;
}

int report_end(struct report *r, enum ibqos_exit exit_code)
{
	int error;

	if (!r)
		return -EINVAL;
	report_parts_end(r);
	r->writer->verdict(r, exit_code, verdict_of(exit_code));
	r->writer->close(r);
	errno = 0;
	if (fflush(r->out) != 0)
		report_fail(r, errno ? -errno : -EIO);
	if (ferror(r->out))
		report_fail(r, -EIO);
	error = r->error;
	if (error == -ENOMEM && r->also) /* some value is missing there, too */
		report_fail(r->also, error);
	report_free(r);
	return error;
}
