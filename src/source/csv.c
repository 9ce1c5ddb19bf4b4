/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Sections of lines with commas between, as ibdiagnet 2 writes them. Fields may be in quotes, and have commas then; quotes in
 * such a field stand as they are, so that one ends only where a comma or the line's end follows.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ibqos/util.h"

#include "csv.h"

#define START "START_"
#define END "END_"

/* A line without its end; *at goes on behind it. */
static size_t take_line(const char **at, const char *end, const char **line)
{
	const char *newline = memchr(*at, '\n', (size_t)(end - *at)), *stop = newline ? newline : end;

	*line = *at;
	*at = newline ? newline + 1 : end;
	while (stop > *line && (stop[-1] == '\r' || stop[-1] == ' ' || stop[-1] == '\t'))
		stop--;
	return (size_t)(stop - *line);
}

static bool begins(const char *line, size_t size, const char *word)
{
	return size > strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

/* A line that is a word alone: START_X, END_X. Rows have commas, and names have no blanks. */
static bool is_mark(const char *line, size_t size, const char *word)
{
	return begins(line, size, word) && !memchr(line, ',', size) && !memchr(line, ' ', size) && !memchr(line, '"', size);
}

const struct csv_section *csv_section(const struct csv *csv, const char *name)
{
	for (size_t i = 0; i < csv->count; i++)
		if (csv->sections[i].name_size == strlen(name) &&
		    memcmp(csv->sections[i].name, name, csv->sections[i].name_size) == 0)
			return &csv->sections[i];
	return NULL;
}

static int add_section(struct csv *csv, const struct csv_section *section)
{
	struct csv_section *grown;

	grown = array_grow(csv->sections, &csv->room, csv->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	csv->sections = grown;
	grown[csv->count++] = *section;
	return 0;
}

/* From behind START_NAME to its END_NAME. */
static int take_section(struct csv *csv, struct csv_section *section, const char **at, const char *end, unsigned *line)
{
	unsigned start_line = *line;
	const char *text, *before;
	size_t size;
	bool head = false;

	while (*at < end) {
		before = *at;
		size = take_line(at, end, &text);
		(*line)++;
		if (is_mark(text, size, END) && size - strlen(END) == section->name_size &&
		    memcmp(text + strlen(END), section->name, section->name_size) == 0) {
			section->end = before;
			if (!head) { /* an empty one */
				section->head = section->head_end = section->at = before;
				section->head_line = section->line = *line;
			}
			return add_section(csv, section);
		}
		if (is_mark(text, size, START))
			return dump_bad(csv->faults, *line, 1, "section %.*s begins before %.*s of line %u ended",
					(int)(size - strlen(START)), text + strlen(START), (int)section->name_size, section->name,
					start_line);
		if (head)
			continue;
		head = true;
		section->head = text;
		section->head_end = text + size;
		section->head_line = *line;
		section->at = *at;
		section->line = *line + 1;
	}
	return dump_bad(csv->faults, start_line, 1, "section %.*s has no end: the file is cut off", (int)section->name_size,
			section->name);
}

int csv_open(const char *text, size_t size, struct dump_faults *faults, struct csv *csv)
{
	const char *at = text, *end = text + size, *word, *nul = size > 0 ? memchr(text, '\0', size) : NULL;
	unsigned line = 0;
	int error = 0;

	*csv = (struct csv){.faults = faults};
	if (nul) {
		for (const char *c = text; c < nul; c++)
			line += *c == '\n';
		return dump_bad(faults, line + 1, 1, "a NUL byte");
	}
	if (size >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
		at += 3;
	while (at < end && (error == 0 || error == -EBADMSG)) {
		size_t length = take_line(&at, end, &word);

		line++;
		if (is_mark(word, length, END)) {
			error = dump_bad(faults, line, 1, "section %.*s ends, and does not begin before",
					 (int)(length - strlen(END)), word + strlen(END));
		} else if (is_mark(word, length, START)) {
			struct csv_section section = {.name = word + strlen(START), .name_size = length - strlen(START)};

			error = take_section(csv, &section, &at, end, &line);
			if (error == -EBADMSG && at < end) /* where the next one begins is not known */
				break;
		}
	}
	return error == -ENOMEM ? error : faults->count > 0 ? -EBADMSG : 0;
}

void csv_close(struct csv *csv)
{
	free(csv->sections);
	*csv = (struct csv){0};
}

/* --- fields --- */

/* The quote that ends a field: the first with a comma or the line's end behind it. */
static const char *closing_quote(const char *at, const char *end)
{
	for (; at < end; at++) {
		const char *behind = at + 1;

		if (*at != '"')
			continue;
		while (behind < end && (*behind == ' ' || *behind == '\t'))
			behind++;
		if (behind == end || *behind == ',')
			return at;
	}
	return NULL;
}

/* Cuts a line into fields. Their number, or more than `room`. */
static unsigned cut(const char *line, const char *end, struct csv_field *fields, unsigned room)
{
	const char *at = line;
	unsigned count = 0;

	for (;;) {
		const char *stop, *close;

		while (at < end && (*at == ' ' || *at == '\t'))
			at++;
		close = at < end && *at == '"' ? closing_quote(at + 1, end) : NULL;
		if (close) {
			at++;
			stop = memchr(close, ',', (size_t)(end - close));
		} else {
			stop = at < end ? memchr(at, ',', (size_t)(end - at)) : NULL;
			close = stop ? stop : end;
			while (close > at && (close[-1] == ' ' || close[-1] == '\t'))
				close--;
		}
		if (count == room)
			return room + 1;
		fields[count++] = (struct csv_field){.at = at, .size = (size_t)(close - at), .column = (unsigned)(at - line) + 1};
		if (!stop)
			return count;
		at = stop + 1;
	}
}

int csv_row_begin(const struct csv *csv, const struct csv_section *section, struct csv_row *row)
{
	*row = (struct csv_row){
		.section = section, .faults = csv->faults, .at = section->at, .next_line = section->line};
	for (const struct csv_section *s = csv->sections; s < csv->sections + csv->count; s++)
		if (s != section && s->name_size == section->name_size && memcmp(s->name, section->name, s->name_size) == 0)
			return dump_bad(row->faults, (s > section ? s : section)->head_line, 1, "section %.*s is there twice",
					(int)s->name_size, s->name);
	row->fields = calloc(CSV_COLUMNS, sizeof(*row->fields));
	row->names = calloc(CSV_COLUMNS, sizeof(*row->names));
	if (!row->fields || !row->names)
		return -ENOMEM;
	row->columns = cut(section->head, section->head_end, row->names, CSV_COLUMNS);
	if (row->columns > CSV_COLUMNS) {
		row->columns = 0;
		return dump_bad(row->faults, section->head_line, 1, "more than %d columns", CSV_COLUMNS);
	}
	return 0;
}

void csv_row_end(struct csv_row *row)
{
	free(row->fields);
	free(row->names);
	*row = (struct csv_row){0};
}

int csv_column(const struct csv_row *row, const char *names)
{
	for (size_t length; *names; names += length + (names[length] == '|')) {
		length = strcspn(names, "|");
		for (unsigned i = 0; i < row->columns; i++)
			if (row->names[i].size == length && strncasecmp(row->names[i].at, names, length) == 0)
				return (int)i;
	}
	return -1;
}

bool csv_row_next(struct csv_row *row)
{
	while (row->at < row->section->end) {
		const char *line;
		size_t size = take_line(&row->at, row->section->end, &line);

		row->line = row->next_line++;
		if (size == 0 || line[0] == '#')
			continue;
		row->count = cut(line, line + size, row->fields, CSV_COLUMNS);
		if (row->count == row->columns)
			return true;
		/* some lines end in a comma, and their heads do not */
		if (row->count == row->columns + 1 && row->count <= CSV_COLUMNS && row->fields[row->columns].size == 0)
			return true;
		dump_bad(row->faults, row->line, 1, "%u fields, where section %.*s has %u columns", row->count,
			 (int)row->section->name_size, row->section->name, row->columns);
	}
	return false;
}

/* --- values --- */

static enum csv_value bad_value(struct csv_row *row, int column, const char *wanted)
{
	const struct csv_field *f = &row->fields[column], *name = &row->names[column];

	dump_bad(row->faults, row->line, f->column, "%.*s is '%.*s', %s", name->size > 40 ? 40 : (int)name->size, name->at,
		 f->size > 40 ? 40 : (int)f->size, f->at, wanted);
	return CSV_BAD;
}

static bool is_none(const struct csv_field *f)
{
	return f->size == 0 || (f->size == 3 && strncasecmp(f->at, "N/A", 3) == 0) ||
	       (f->size == 2 && strncasecmp(f->at, "NA", 2) == 0);
}

/* Digits of a base; false: something else, or too large. */
static bool digits(const char *at, const char *end, unsigned base, uint64_t *value)
{
	uint64_t sum = 0;

	if (at == end)
		return false;
	for (; at < end; at++) {
		unsigned char c = (unsigned char)*at;
		unsigned digit = isdigit(c) ? c - (unsigned)'0' : isxdigit(c) ? (unsigned)(tolower(c) - 'a') + 10 : base;

		if (digit >= base || __builtin_mul_overflow(sum, (uint64_t)base, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)digit, &sum))
			return false;
	}
	*value = sum;
	return true;
}

static bool has_prefix(const struct csv_field *f)
{
	return f->size > 2 && f->at[0] == '0' && (f->at[1] == 'x' || f->at[1] == 'X');
}

enum csv_value csv_number_quiet(const struct csv_row *row, int column, uint64_t max, uint64_t *value)
{
	const struct csv_field *f = column < 0 ? NULL : &row->fields[column];
	bool hex;

	*value = 0;
	if (!f || is_none(f))
		return CSV_NONE;
	hex = has_prefix(f);
	if (!digits(f->at + (hex ? 2 : 0), f->at + f->size, hex ? 16 : 10, value))
		return CSV_BAD;
	return *value <= max ? CSV_GOOD : CSV_BAD;
}

enum csv_value csv_number(struct csv_row *row, int column, uint64_t max, uint64_t *value)
{
	enum csv_value got = csv_number_quiet(row, column, max, value);

	if (got != CSV_BAD)
		return got;
	return bad_value(row, column, *value > max ? "which is too large" : "which is no number");
}

enum csv_value csv_hex(struct csv_row *row, int column, uint64_t *value)
{
	const struct csv_field *f = column < 0 ? NULL : &row->fields[column];

	if (!f || is_none(f))
		return CSV_NONE;
	if (!digits(f->at + (has_prefix(f) ? 2 : 0), f->at + f->size, 16, value))
		return bad_value(row, column, "which is no GUID");
	return CSV_GOOD;
}

char *csv_text(const struct csv_row *row, int column)
{
	const struct csv_field *f = column < 0 ? NULL : &row->fields[column];

	return f && !is_none(f) ? text_utf8(f->at, f->size) : NULL;
}
