/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* db_csv: what the readers of its sections share. */
#ifndef SOURCE_DB_CSV_H
#define SOURCE_DB_CSV_H

#include <stdio.h>

#include "csv.h"

struct db {
	struct csv csv;
	struct fabric *fabric; /* finished, for db_counters() and those below */
	struct dump_result *result;
	struct dump_faults *faults;
	FILE *lacks; /* what is missing, a clause each, with "; " between */
	bool lacking;
};

/* A column that goes into a field of an attribute. */
struct db_column {
	const char *names; /* as csv_column() takes them */
	int field;	   /* libibmad's number */
	uint8_t bits;	   /* 64: set as such */
	bool needed;	   /* without it the attribute is not known */
};

/* Adds a clause to what the file lacks. */
__attribute__((format(printf, 2, 3))) void db_lacks(struct db *db, const char *format, ...);
/* The columns of a table by their place in the rows; says which needed ones are missing. False: some are. */
bool db_columns(struct db *db, const struct csv_row *row, const struct db_column *table, unsigned count, int *at);
/* Fills an attribute from a row. False: a needed column has no value there, or one that is a fault. */
bool db_fill(struct csv_row *row, const struct db_column *table, unsigned count, const int *at, uint8_t *data);
/* The port that a row is about, by its columns of node GUID and number; FABRIC_NONE, told: there is none. */
uint32_t db_port(struct db *db, struct csv_row *row, int guid, int number);

/*
 * Sections that are answers to questions, for a finished fabric. 0; -ENOMEM; faults are counted. Where a section is not
 * there, the file lacks it.
 */
int db_counters(struct db *db);	  /* PM_INFO */
int db_pkeys(struct db *db);	  /* PKEY */
int db_arbitration(struct db *db); /* VL_ARBITRATION_TABLE */
int db_managers(struct db *db);	  /* SM_INFO */
int db_cables(struct db *db);	  /* CABLE_INFO */

#endif
