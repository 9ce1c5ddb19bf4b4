/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Inside the HTML writer. The page's order is not that of the walk: the verdict, known last, stands first, and the findings
 * before what they were found in. So parts go to a temporary file as they come, and close() puts them together.
 */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include <sys/types.h>

#include "writer.h"

/* In the order of the page. */
enum html_part {
	HTML_ERRORS,  /* what went wrong */
	HTML_SUMMARY, /* fields before anything else */
	HTML_ALIKE,   /* findings, alike ones together */
	HTML_EACH,    /* findings, one by one */
	HTML_FIGURES,
	HTML_BODY,
	HTML_PARTS
};

/* Where a piece of a part begins in the temporary file; it ends where the next one begins. */
struct html_piece {
	enum html_part part;
	off_t begin;
};

/* An entry of the table of contents. */
struct html_entry {
	enum html_part part;
	char *id, *title;
	char *fabric; /* of a report of many; else NULL */
};

struct html_state {
	FILE *page; /* where the page goes; r->out is the temporary file until the end */
	struct html_piece *pieces;
	size_t piece_count, piece_room;
	struct html_entry *entries;
	size_t entry_count, entry_room;
	bool written[HTML_PARTS]; /* something is in this part */
	enum html_part part;	  /* that is being written */
	char *command, *fabric;
	char *section;	 /* key of the section that is open */
	bool section_shown, list_open;
	enum html_part body;	 /* where what is no finding and no picture goes: behind parts, what is told of all of them stands first */
	bool body_began; /* no field from here on is of the summary */

	/* the table that is open */
	bool table_shown;
	size_t rows;

	/* findings */
	size_t groups, findings, counts[REPORT_SEVERITIES];
	unsigned columns_used; /* bits of those in which a finding has something */
};

/* From here on a part is written. */
void html_to(struct report *r, enum html_part part);
/* Ends a list of fields. */
void html_end_list(struct report *r);
/* Begins a piece with a heading, which the table of contents names, in the open section if there is one. */
void html_heading(struct report *r, enum html_part part, const char *key, const char *title);

/* html_text.c: text as HTML, safe in an element and in a quoted attribute. */
void html_put(struct report *r, const char *text);
void html_put_part(struct report *r, const char *text, size_t size); /* so many bytes of it, which end between characters */
/* A value as a person reads it, in its element: "unknown" where nobody could tell. */
void html_value(struct report *r, const struct report_value *value, int decimals);
void html_block(struct report *r, const char *key, const char *title, const struct report_value *value);

/* html_table.c. Rows from HTML_ROWS on are lines of text, which the page's script shows in the table. */
#define HTML_ROWS 500
#define HTML_LINES 1000 /* in one element */
void html_table(struct report *r, const char *key, const char *title);
void html_row(struct report *r);
void html_table_end(struct report *r);
/* What parts and ends rows, for html_findings.c too: `row` counts from 0. */
void html_table_open(struct report *r, const char *id, const char *label);
void html_column(struct report *r, const char *type, const char *title, const char *unit);
void html_row_begin(struct report *r, size_t row);
void html_cell(struct report *r, size_t row, bool first, const char *type);
void html_row_close(struct report *r, size_t row);
void html_table_close(struct report *r, size_t rows);

/* html_findings.c */
#define HTML_GROUPS 1000 /* that are shown as such */
void html_group(struct report *r, const struct report_group *group);
void html_findings_end(struct report *r);

/* html_page.c: all up to the report itself, and the end. */
void html_page_begin(struct report *r, enum ibqos_exit exit_code, const char *verdict);
void html_page_end(struct report *r);

#endif
