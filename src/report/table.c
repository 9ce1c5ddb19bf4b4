/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tables as text: aligned by libsmartcols while they are short. A longer one keeps the widths of
 * its first rows and is streamed, so that its length costs no memory.
 */
#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "writer.h"

#define GAP "  "

struct text_table {
	struct libscols_table *scols; /* NULL once the rows are streamed */
	size_t rows;
	size_t *widths; /* of the widest cell so far, by column */
};

static bool is_shown(const struct report_column *column)
{
	return column->title != NULL;
}

static bool is_right(const struct report_column *column)
{
	return column->type == REPORT_NUMBER || column->type == REPORT_REAL;
}

static int add_column(struct text_table *table, const struct report_column *column, size_t *width)
{
	const char *unit = column->unit;
	struct libscols_column *made;
	char *title;

	if (asprintf(&title, "%s%s%s%s", column->title, unit ? " (" : "", unit ? unit : "", unit ? ")" : "") <
	    0)
		return -ENOMEM;
	made = scols_table_new_column(table->scols, title, 0, is_right(column) ? SCOLS_FL_RIGHT : 0);
	*width = text_width(title, strlen(title));
	free(title);
	return made ? 0 : -ENOMEM;
}

struct libscols_table *text_table_make(struct report *r)
{
	struct libscols_table *made = scols_new_table();

	if (!made)
		return NULL;
	scols_table_set_termforce(made, SCOLS_TERMFORCE_NEVER); /* never cut; text_table_fit() makes it fit */
	scols_table_enable_colors(made, 0);
	if (scols_table_set_column_separator(made, GAP) == 0 && scols_table_set_stream(made, r->out) == 0)
		return made;
	scols_unref_table(made);
	return NULL;
}

static int set_up(struct report *r, struct text_table *table)
{
	table->widths = calloc(r->column_count + 1, sizeof(*table->widths));
	table->scols = text_table_make(r);
	if (!table->widths || !table->scols)
		return -ENOMEM;
	for (unsigned i = 0; i < r->column_count; i++)
		if (is_shown(&r->columns[i]) && add_column(table, &r->columns[i], &table->widths[i]) < 0)
			return -ENOMEM;
	return 0;
}

void text_table_free(struct text_table *table)
{
	if (!table)
		return;
	if (table->scols)
		scols_unref_table(table->scols);
	free(table->widths);
	free(table);
}

void text_table(struct report *r, const char *key, const char *title)
{
	struct text_state *state = r->own;

	(void)key;
	state->table = NULL;
	if (!title || r->style.brief)
		return;
	text_separate(r, TEXT_BLOCK);
	report_put(r, "%s:", title);
	state->table = calloc(1, sizeof(*state->table));
	if (!state->table || set_up(r, state->table) < 0) {
		text_table_free(state->table);
		state->table = NULL;
		report_put(r, "\n");
		report_fail(r, -ENOMEM);
	}
}

/* Adds the row to those that will be aligned. */
static int keep_row(struct report *r, struct text_table *table)
{
	struct libscols_line *line = scols_table_new_line(table->scols, NULL);
	size_t place = 0;

	if (!line)
		return -ENOMEM;
	for (unsigned i = 0; i < r->column_count; i++) {
		char buffer[TEXT_VALUE_SIZE];
		const char *text = text_of(&r->cells[i], r->columns[i].decimals, buffer);
		size_t width = text_width(text, strlen(text));

		if (!is_shown(&r->columns[i]))
			continue;
		if (width > table->widths[i])
			table->widths[i] = width;
		if (scols_line_set_data(line, place++, text) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Cells are UTF-8 whatever the locale of the run, which under cron is "C": libsmartcols must measure
 * them as such, or it shows \x escapes, and 2.38 told not to would never return. So it gets a locale
 * of its own for the while; where the system has none, the escapes stay.
 */
static void print_kept(struct report *r, struct text_table *table)
{
	int fitted = r->style.width > 0 ? text_table_fit(r, &table->scols) : 0;
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0), old = (locale_t)0;

	if (fitted < 0)
		report_fail(r, fitted);
	if (utf8)
		old = uselocale(utf8);
	scols_table_enable_noencoding(table->scols, utf8 != (locale_t)0);
	errno = 0;
	if (scols_print_table(table->scols) < 0 || ferror(r->out) || errno == ENOMEM)
		report_fail(r, errno ? -errno : -EIO);
	scols_unref_table(table->scols);
	table->scols = NULL;
	if (utf8) {
		uselocale(old);
		freelocale(utf8);
	}
}

static void put_row(struct report *r, const struct text_table *table)
{
	size_t owed = 0; /* blanks to write before the next text, so that no line ends with any */

	for (unsigned i = 0; i < r->column_count; i++) {
		char buffer[TEXT_VALUE_SIZE];
		const char *text = text_of(&r->cells[i], r->columns[i].decimals, buffer);
		size_t width = text_width(text, strlen(text)), pad = width < table->widths[i] ? table->widths[i] - width : 0;

		if (!is_shown(&r->columns[i]))
			continue;
		owed += is_right(&r->columns[i]) ? pad : 0;
		if (*text) {
			report_put(r, "%*s%s", (int)owed, "", text);
			owed = 0;
		}
		owed += strlen(GAP) + (is_right(&r->columns[i]) ? 0 : pad);
	}
	report_put(r, "\n");
}

void text_row(struct report *r)
{
	struct text_state *state = r->own;
	struct text_table *table = state->table;

	if (!table)
		return;
	if (table->rows++ == 0)
		report_put(r, "\n");
	if (table->rows <= REPORT_ALIGN_ROWS) {
		int error = keep_row(r, table);

		if (error < 0)
			report_fail(r, error);
		return;
	}
	if (table->scols)
		print_kept(r, table);
	put_row(r, table);
}

void text_table_end(struct report *r)
{
	struct text_state *state = r->own;
	struct text_table *table = state->table;

	if (!table)
		return;
	if (table->rows == 0)
		report_put(r, " none\n");
	else if (table->scols)
		print_kept(r, table);
	text_table_free(table);
	state->table = NULL;
}
