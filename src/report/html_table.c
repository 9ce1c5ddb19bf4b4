/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tables of the page. The first rows are rows of the table; the others, which would cost a browser seconds and gigabytes as
 * elements, are lines of text behind it, cells parted by tabs: the page's script shows them in the table as they are asked
 * for, and without it they can be read and searched as they stand.
 */
#include <errno.h>
#include <stdlib.h>

#include "html.h"

static const char *type_name(enum report_type type)
{
	return type == REPORT_NUMBER || type == REPORT_REAL ? "number" : "text";
}

void html_table_open(struct report *r, const char *id, const char *label)
{
	report_puts(r, "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"");
	html_put(r, label);
	report_puts(r, "\">\n<table class=\"data\" id=\"");
	html_put(r, id);
	report_puts(r, "\">\n<thead><tr>");
}

void html_column(struct report *r, const char *type, const char *title, const char *unit)
{
	report_put(r, "<th scope=\"col\" data-type=\"%s\">", type);
	html_put(r, title);
	if (unit) {
		report_puts(r, " (");
		html_put(r, unit);
		report_puts(r, ")");
	}
	report_puts(r, "</th>");
}

void html_row_begin(struct report *r, size_t row)
{
	if (row == 0)
		report_puts(r, "</tr></thead>\n<tbody>\n");
	if (row == HTML_ROWS)
		report_puts(r, "</tbody>\n</table>\n</div>\n<div class=\"rest\">\n<p>The other rows, one a line, as text:</p>\n");
	if (row < HTML_ROWS)
		report_puts(r, "<tr>");
	else if ((row - HTML_ROWS) % HTML_LINES == 0) /* the first newline is not part of the text */
		report_puts(r, row == HTML_ROWS ? "<pre>\n" : "</pre>\n<pre>\n");
}

void html_cell(struct report *r, size_t row, bool first, const char *type)
{
	if (row >= HTML_ROWS)
		report_puts(r, first ? "" : "\t");
	else
		report_put(r, type[0] == 'n' ? "<td class=\"n\">" : "<td>");
}

void html_row_close(struct report *r, size_t row)
{
	report_puts(r, row < HTML_ROWS ? "</tr>\n" : "\n");
}

void html_table_close(struct report *r, size_t rows)
{
	if (rows == 0)
		report_puts(r, "</tr></thead>\n<tbody>\n");
	if (rows <= HTML_ROWS)
		report_puts(r, "</tbody>\n</table>\n</div>\n");
	else
		report_put(r, "</pre>\n<p class=\"rows\" data-rows=\"%zu\">%zu rows</p>\n</div>\n", rows, rows);
}

void html_table(struct report *r, const char *key, const char *title)
{
	struct html_state *state = r->own;
	char *id;

	state->table_shown = title != NULL;
	state->rows = 0;
	if (!title)
		return;
	html_heading(r, state->body, key, title);
	if (asprintf(&id, "t-%s%s%s%s%s", r->part ? r->part : "", r->part ? "--" : "", state->section ? state->section : "", state->section ? "-" : "", key) < 0) {
		report_fail(r, -ENOMEM);
		id = NULL;
	}
	html_table_open(r, id ? id : "", title);
	free(id);
	for (unsigned i = 0; i < r->column_count; i++)
		if (r->columns[i].title)
			html_column(r, type_name(r->columns[i].type), r->columns[i].title, r->columns[i].unit);
}

void html_row(struct report *r)
{
	struct html_state *state = r->own;
	bool first = true;

	if (!state->table_shown)
		return;
	html_row_begin(r, state->rows);
	for (unsigned i = 0; i < r->column_count; i++) {
		if (!r->columns[i].title)
			continue;
		html_cell(r, state->rows, first, type_name(r->columns[i].type));
		html_value(r, &r->cells[i], r->columns[i].decimals);
		if (state->rows < HTML_ROWS)
			report_puts(r, "</td>");
		first = false;
	}
	html_row_close(r, state->rows++);
}

void html_table_end(struct report *r)
{
	struct html_state *state = r->own;

	if (!state->table_shown)
		return;
	html_table_close(r, state->rows);
	if (state->rows == 0)
		report_puts(r, "<p>none</p>\n");
	report_puts(r, "</section>\n");
	state->table_shown = false;
}
