/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Makes a table as narrow as a terminal: cells and headings go on in a further line, broken at a blank or behind a comma. Nothing
 * is cut and no word is broken, so that names stay what they are; what is still too wide the terminal breaks. Lines are made
 * here, not by libsmartcols, which puts the second line of a heading below the first row.
 */
#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "writer.h"

#define GAP 2 /* columns of the terminal between two of the table */

struct fit {
	size_t natural, least, width; /* of the widest cell; of the longest piece; as it is to be */
	const char *rest;	      /* of the cell of the row that is being written */
};

static const char *text_in(const struct libscols_cell *cell)
{
	const char *text = scols_cell_get_data(cell);

	return text ? text : "";
}

/* Bytes of the first piece of a text: as many whole words as are no wider than that, one at least. */
static size_t piece(const char *text, size_t width)
{
	size_t best = 0;

	for (size_t at = 1; text[at - 1]; at++) {
		if (text[at] && text[at] != ' ' && text[at - 1] != ',')
			continue;
		if (best > 0 && text_width(text, at) > width)
			break;
		best = at;
	}
	return best;
}

static const char *behind(const char *text, size_t size)
{
	return text + size + strspn(text + size, " ");
}

static void measure(struct fit *fit, const char *text)
{
	size_t width = text_width(text, strlen(text));

	fit->natural = width > fit->natural ? width : fit->natural;
	for (size_t size; *text; text = behind(text, size)) {
		size = piece(text, 0);
		width = text_width(text, size);
		fit->least = width > fit->least ? width : fit->least;
	}
}

/* Takes columns of the terminal from whichever is the widest of those that can give some. */
static void share_out(struct fit *fits, size_t count, size_t total, size_t width)
{
	while (total > width) {
		struct fit *widest = NULL;

		for (size_t i = 0; i < count; i++)
			if (fits[i].width > fits[i].least && (!widest || fits[i].width > widest->width))
				widest = &fits[i];
		if (!widest)
			return;
		widest->width--;
		total--;
	}
}

/* The next piece of a column's cell, which may be empty; the caller frees it. */
static char *take_piece(struct fit *fit)
{
	size_t size = *fit->rest ? piece(fit->rest, fit->width) : 0;
	char *text = strndup(fit->rest, size);

	fit->rest = behind(fit->rest, size);
	return text;
}

/* What is left of a row, in as many lines as it takes. */
static int put_lines(struct libscols_table *to, struct fit *fits, size_t count)
{
	for (bool more = true; more;) {
		struct libscols_line *line = scols_table_new_line(to, NULL);

		if (!line)
			return -ENOMEM;
		more = false;
		for (size_t i = 0; i < count; i++) {
			char *text = take_piece(&fits[i]);

			if (!text || scols_line_refer_data(line, i, text) < 0) {
				free(text);
				return -ENOMEM;
			}
			more |= *fits[i].rest != '\0';
		}
	}
	return 0;
}

static int put_headings(const struct libscols_table *from, struct libscols_table *to, struct fit *fits, size_t count)
{
	bool more = false;

	for (size_t i = 0; i < count; i++) {
		struct libscols_column *c = scols_table_get_column((struct libscols_table *)from, i);
		char *text;
		bool made;

		fits[i].rest = text_in(scols_column_get_header(c));
		text = take_piece(&fits[i]);
		made = text && scols_table_new_column(to, text, 0, scols_column_get_flags(c));
		free(text);
		if (!made)
			return -ENOMEM;
		more |= *fits[i].rest != '\0';
	}
	return more ? put_lines(to, fits, count) : 0;
}

static int copy(struct libscols_table *from, struct libscols_table *to, struct fit *fits, size_t count)
{
	int error = put_headings(from, to, fits, count);

	for (size_t row = 0; error == 0 && row < scols_table_get_nlines(from); row++) {
		for (size_t i = 0; i < count; i++)
			fits[i].rest = text_in(scols_line_get_cell(scols_table_get_line(from, row), i));
		error = put_lines(to, fits, count);
	}
	return error;
}

int text_table_fit(struct report *r, struct libscols_table **table)
{
	size_t count = scols_table_get_ncols(*table), total = 0;
	struct fit *fits = calloc(count + 1, sizeof(*fits));
	struct libscols_table *to;
	int error;

	if (!fits)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		measure(&fits[i], text_in(scols_column_get_header(scols_table_get_column(*table, i))));
		for (size_t row = 0; row < scols_table_get_nlines(*table); row++)
			measure(&fits[i], text_in(scols_line_get_cell(scols_table_get_line(*table, row), i)));
		fits[i].width = fits[i].natural;
		total += fits[i].natural + (i > 0 ? GAP : 0);
	}
	if (total <= r->style.width) {
		free(fits);
		return 0;
	}
	share_out(fits, count, total, r->style.width);
	to = text_table_make(r);
	error = to ? copy(*table, to, fits, count) : -ENOMEM;
	free(fits);
	if (error != 0) {
		scols_unref_table(to);
		return error;
	}
	scols_unref_table(*table);
	*table = to;
	return 0;
}
