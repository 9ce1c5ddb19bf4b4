/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * csv: the sections of ibdiagnet's db_csv, their columns by name, their rows as fields.
 */
#ifndef SOURCE_CSV_H
#define SOURCE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dump.h"

#define CSV_COLUMNS 1024 /* of a row; real ones have 200 at most */

struct csv_field {
	const char *at; /* without quotes and blanks around it */
	size_t size;
	unsigned column; /* in the line, from 1 */
};

struct csv_section {
	const char *name;
	size_t name_size;
	const char *at, *end;	   /* its rows, behind the line of columns */
	unsigned line;		   /* of the first row */
	const char *head, *head_end; /* the line of columns */
	unsigned head_line;
};

struct csv {
	struct csv_section *sections;
	size_t count, room;
	struct dump_faults *faults;
};

/* Finds the sections. One that does not end is a fault, and so is what does not begin. 0, -EBADMSG, -ENOMEM. */
int csv_open(const char *text, size_t size, struct dump_faults *faults, struct csv *csv);
void csv_close(struct csv *csv);
const struct csv_section *csv_section(const struct csv *csv, const char *name); /* NULL: there is none */

struct csv_row {
	const struct csv_section *section;
	struct dump_faults *faults;
	const char *at; /* what follows */
	unsigned line;	/* of the row that was read */
	unsigned next_line;
	struct csv_field *fields; /* CSV_COLUMNS */
	unsigned columns, count;  /* of the header, of the row */
	struct csv_field *names;
};

/* Begins on the rows of a section, of which there must be no other: reads its columns. 0, -EBADMSG, -ENOMEM; csv_row_end() in any case. */
int csv_row_begin(const struct csv *csv, const struct csv_section *section, struct csv_row *row);
/* The number of a column by its name, whatever its case; several names with '|' between. -1: there is none. */
int csv_column(const struct csv_row *row, const char *names);
/* The next row that has as many fields as there are columns; others are faults. False: there is no more. */
bool csv_row_next(struct csv_row *row);
void csv_row_end(struct csv_row *row);

enum csv_value { CSV_GOOD, CSV_NONE, CSV_BAD };
/*
 * A number in decimal or 0x, up to `max`. CSV_NONE: the column is -1, or there is "N/A" or nothing. CSV_BAD: a fault, which
 * is told.
 */
enum csv_value csv_number(struct csv_row *row, int column, uint64_t max, uint64_t *value);
/* The same, and a fault is not told. */
enum csv_value csv_number_quiet(const struct csv_row *row, int column, uint64_t max, uint64_t *value);
enum csv_value csv_hex(struct csv_row *row, int column, uint64_t *value); /* a GUID, with or without 0x */
/* The text, made printable; the caller frees it; NULL: there is none, or no memory. */
char *csv_text(const struct csv_row *row, int column);

#endif
