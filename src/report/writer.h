/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What report.c and findings.c hand to a writer, and what a writer is: one table of functions.
 * Each record is walked once and every writer gets the same calls, so formats cannot drift apart.
 */
#ifndef REPORT_WRITER_H
#define REPORT_WRITER_H

#include "ibqos/report.h"

enum report_knowledge {
	REPORT_KNOWN,
	REPORT_UNKNOWN, /* there is a value, but nobody could tell it */
	REPORT_NONE,    /* there is no value here */
};

/* Strings are valid UTF-8 without control characters (but for newlines and tabs in a block). */
struct report_value {
	enum report_type type;
	enum report_knowledge knowledge;
	union {
		char *string;
		uint64_t number; /* REPORT_NUMBER and REPORT_GUID */
		double real;     /* finite */
		bool truth;
	};
	int decimals;     /* of a REPORT_REAL field; those of a cell are its column's */
	const char *unit; /* of a field; may be NULL */
};

/* Alike findings: same severity, code, cause, what, wanted and got. In the order of the list. */
struct report_group {
	const struct finding *const *members;
	size_t count;
	bool all;          /* name each member */
	bool last_of_code; /* no more groups of this code and cause follow */
	bool last_of_advice; /* nor of what to do about it */
};

/*
 * The functions of a writer. Keys are unique within their object; titles are NULL for what is not
 * shown to people. Any that does not apply to a format is NULL. Writing goes through report_put().
 */
struct report_writer {
	int (*open)(struct report *r);
	void (*field)(struct report *r, const char *key, const char *title, const struct report_value *value);
	void (*section)(struct report *r, const char *key, const char *title);
	void (*section_end)(struct report *r);
	void (*table)(struct report *r, const char *key, const char *title); /* r->columns are set */
	void (*row)(struct report *r);                                       /* r->cells, all set */
	void (*table_end)(struct report *r);
	void (*block)(struct report *r, const char *key, const char *title, const struct report_value *value);
	/* `title` is never NULL; draw() writes to r->out */
	void (*figure)(struct report *r, const char *key, const char *title, int (*draw)(FILE *out, void *arg), void *arg);
	void (*group)(struct report *r, const struct report_group *group);
	void (*finding)(struct report *r, const struct finding *f); /* each of them whole; those that have it take no rows of the table */
	void (*parts)(struct report *r, const char *key);
	void (*part)(struct report *r, const char *name);
	void (*part_end)(struct report *r, const char *name, const struct report_part *result, const char *verdict);
	void (*parts_end)(struct report *r);
	void (*verdict)(struct report *r, enum ibqos_exit exit_code, const char *name);
	void (*close)(struct report *r); /* frees r->own */
};

extern const struct report_writer report_text_writer, report_json_writer, report_prometheus_writer, report_nagios_writer,
	report_html_writer, report_calls_writer, report_drawn_writer;

#define REPORT_LOST "findings_lost" /* a field that is never left out */
#define REPORT_SEVERITIES (FINDING_CRITICAL + 1)

struct report {
	const struct ibqos_ctx *ctx;
	struct report *also; /* another report of the same; NULL: none */
	FILE *out;
	struct report_style style;
	int error; /* the first that happened, -errno */
	const struct report_writer *writer;
	void *own; /* the writer's state */

	/* keys in use in the top object and, from section_keys on, in the section */
	char **keys;
	size_t key_count, key_room, section_keys, part_keys;
	bool in_section;
	bool in_parts;	 /* of more than one fabric */
	bool had_parts;
	bool by_fabric; /* findings have their fabric, as where there were parts */
	char *part;	 /* the name of the one that is open; NULL: none */

	const struct report_column *columns; /* of the table that is open; NULL: none is */
	unsigned column_count, cell_count;
	struct report_value *cells; /* column_count of them */

	size_t counts[REPORT_SEVERITIES]; /* findings reported */
	bool all;			  /* each place of them is asked for */
};

/* printf to the output; an error is remembered. */
__attribute__((format(printf, 2, 3))) void report_put(struct report *r, const char *format, ...);
/* A text as it is: much cheaper. */
void report_puts(struct report *r, const char *text);
/* Remembers an error unless there was one before. */
void report_fail(struct report *r, int error);

/* findings.c: UTC, as in "2026-11-30T10:42:21Z"; false: not known. */
#define FINDINGS_TIME 40
bool findings_time(uint64_t seconds, char text[FINDINGS_TIME]);

/* text.c, for the other files of the text writer */
struct text_table;
enum text_kind { TEXT_NOTHING, TEXT_FIELD, TEXT_BLOCK, TEXT_GROUP };

struct text_state {
	enum text_kind last; /* what was written last */
	bool hidden;	     /* in a section that people are not shown */
	struct text_table *table;
};
/* A blank line, unless a field follows a field, a group a group, or nothing was written yet. */
void text_separate(struct report *r, enum text_kind next);
#define TEXT_VALUE_SIZE 64
/* A value for people: its own string, or made in `buffer`. */
const char *text_of(const struct report_value *value, int decimals, char buffer[TEXT_VALUE_SIZE]);
/* Writes a string whose origin is not known to be clean, U+FFFD for what must not reach a terminal. */
void text_put_clean(struct report *r, const char *text);

/* A word that says how bad it is, with the colour for it if colours are wanted. */
void text_put_word(struct report *r, enum finding_severity severity, const char *word);
/* " (318 critical, 2 notes)"; nothing where there are no findings. */
void text_counts(struct report *r, const size_t counts[REPORT_SEVERITIES]);

/* table.c */
void text_table(struct report *r, const char *key, const char *title);
void text_row(struct report *r);
void text_table_end(struct report *r);
void text_table_free(struct text_table *table);
struct libscols_table;
/* An empty one, as all are set up; NULL when out of memory. */
struct libscols_table *text_table_make(struct report *r);
/*
 * Puts one in place of a table that is wider than the style asks for (fit.c): no wider, if that can be, its cells and headings
 * broken into lines between words. 0 or -ENOMEM, the table is then as it was.
 */
int text_table_fit(struct report *r, struct libscols_table **table);

/* groups.c */
/* "leaf-1[3] to host-7[1]"; the caller frees it; NULL when out of memory, which is remembered. */
char *group_place(struct report *r, const struct finding *f, bool with_detail, bool all);
/* Whether it is at a node or port. */
bool group_has_place(const struct finding *f);
/* What the members are: "ports", "nodes", both are "places"; "times" where they have none. */
const char *group_noun(const struct report_group *group);
/* The detail, and since when it is seen, in words; the caller frees it; NULL where there is none, or out of memory, which is remembered. */
char *group_detail(struct report *r, const struct finding *f);
/* Whether all members have the same detail, so that it can be said once. */
bool group_detail_shared(const struct report_group *group);
void text_group(struct report *r, const struct report_group *group);

#endif
