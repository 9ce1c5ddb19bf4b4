/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * report: what a command says, walked once; a writer renders it as text or JSON, as metrics or as one line.
 *
 * A report is a sequence of fields, sections of fields, tables, text blocks and the findings.
 * Keys are JSON names (lower_case); titles are for people. A value that is not known is said so:
 * null in JSON, "unknown" in text. Errors of writing are remembered and returned by report_end().
 */
#ifndef IBQOS_REPORT_H
#define IBQOS_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ibqos/finding.h"
#include "ibqos/util.h"

/* REPORT_PROMETHEUS: the numbers of it as metrics (src/report/prometheus_metrics.def); REPORT_NAGIOS: one line for Nagios or Icinga.
 * REPORT_HTML: a page for a browser, whole in itself. */
enum report_format { REPORT_TEXT, REPORT_JSON, REPORT_PROMETHEUS, REPORT_NAGIOS, REPORT_HTML, REPORT_CALLS, REPORT_CALLS_DRAWN };
/* -EINVAL for a name that is none; `names` for messages: "text, json, ...". */
int report_format_of(const char *name, enum report_format *format);
const char *report_format_names(void);

enum report_type { REPORT_STRING, REPORT_NUMBER, REPORT_REAL, REPORT_BOOL, REPORT_GUID };

struct report_column {
	const char *key;   /* JSON name */
	const char *title; /* text heading; NULL: not shown in text */
	enum report_type type; /* numbers are right-aligned in text; GUIDs are "0x%016x" strings in both */
	const char *unit;  /* appended to the heading as "(Gb/s)"; may be NULL */
	int decimals;	   /* REPORT_REAL: digits after the point in text; JSON keeps 6 significant */
};

struct report;

/* Keys of fields that a brief report has too: what a change came to, and what is left to be done for it. */
#define REPORT_OUTCOME "outcome"
#define REPORT_TO_DO "to_do"

/* Starts a report; `out` is borrowed. NULL: out of memory. JSON begins with format, ibqos version, command, fabric. */
struct report *report_begin(const struct ibqos_ctx *ctx, FILE *out, enum report_format format);
/* How text looks. Other formats are the same for everybody. */
struct report_style {
	bool color;	/* of severities and the verdict, by SGR sequences; they say the same in words */
	unsigned width; /* columns that tables and lists keep to where that can be, by lines more, never by cutting; 0: none */
	bool brief;	/* only findings, the verdict, and the fields REPORT_OUTCOME and REPORT_TO_DO */
};
void report_set_style(struct report *r, const struct report_style *style);

/*
 * From here on `also`, of another format and begun just now, gets all that `r` gets; it is ended after `r`, by its own
 * report_end(). Nothing else is called with it.
 */
void report_also(struct report *r, struct report *also);
/*
 * Labels of all metrics: fields of a section of this key, before anything else is reported. Whether a name can be one: as
 * Prometheus has them, and none that ibqos's own metrics use.
 */
#define REPORT_LABELS "labels"
bool report_label_good(const char *name);

/* Fields: "title: value" in text (title NULL: JSON only); a member in JSON. */
void report_string(struct report *r, const char *key, const char *title, const char *value); /* NULL: unknown */
void report_number(struct report *r, const char *key, const char *title, uint64_t value);
void report_real(struct report *r, const char *key, const char *title, double value, int decimals, const char *unit);
void report_bool(struct report *r, const char *key, const char *title, bool value);
void report_guid(struct report *r, const char *key, const char *title, uint64_t value); /* 0: unknown */

/* A section: a heading in text, an object in JSON. Not nested. */
void report_section(struct report *r, const char *key, const char *title);
void report_section_end(struct report *r);

/*
 * A table: rows of cells in column order. Text is aligned by libsmartcols up to REPORT_ALIGN_ROWS
 * rows and streamed with fixed widths beyond; JSON is streamed, one object a row.
 */
#define REPORT_ALIGN_ROWS 4000
void report_table(struct report *r, const char *key, const char *title, const struct report_column *columns,
		  unsigned column_count);
void report_cell_string(struct report *r, const char *value); /* NULL: unknown */
void report_cell_if(struct report *r, const char *value);     /* NULL: there is none */
void report_cell_number(struct report *r, uint64_t value);
void report_cell_real(struct report *r, double value);
void report_cell_bool(struct report *r, bool value);
void report_cell_guid(struct report *r, uint64_t value); /* 0: none */
void report_cell_none(struct report *r);		  /* empty in text, null in JSON */
void report_row_end(struct report *r);
void report_table_end(struct report *r);

/* A block of text shown as it is (a diff); a string in JSON. Of key NULL: in text only, where JSON says the same otherwise. */
void report_text(struct report *r, const char *key, const char *title, const char *text);

/*
 * A picture: HTML alone has it, the other formats ignore the call. draw() is called at once, or never, and writes what is to
 * stand in a <figure> below the heading `title`: SVG or HTML, well-formed; `arg` is its own. It returns 0 or -errno, which the
 * report's end gives back. A `key` is used once in a report, and no section, table or block has the same.
 *
 * The page's policy lets nothing in it run or load, and no style stand in elements: no <script>, no <style>, no style="",
 * no handlers. SVG has its attributes (fill="", transform="") and, better, classes: src/report/html_page.css has
 * the colours of both themes as variables (--critical, --warning, --unknown, --note, --clean, --text, --muted, --line, --back);
 * another file of style or script is a row in src/report/html_page.c. A picture is told in words, too (role="img" with <title>
 * and <desc>), says nothing by colour alone, and each name in it goes through report_html_text().
 */
void report_figure(struct report *r, const char *key, const char *title, int (*draw)(FILE *out, void *arg), void *arg);
/* Writes a text so that it is text in HTML, in an element or a quoted attribute; what is not printable becomes U+FFFD. 0 or -errno. */
int report_html_text(FILE *out, const char *text);

/*
 * The findings, already sorted. Text groups alike ones (same code, what, wanted and got: "318
 * ports: …") and names the first REPORT_NAMES of a group, saying how many more there are and where
 * they stand; with `all` it names each. JSON has each as a row, with code, severity, class, place,
 * wanted, got, title and advice.
 */
#define REPORT_NAMES 10
void report_findings(struct report *r, const struct finding_list *findings, bool all);

/*
 * Parts: one report about many fabrics. report_parts() opens them; each begins with report_part() and then has what a report
 * about that fabric alone would have, but for its findings, which come after report_parts_end(), all in one list, each
 * naming its fabric. In JSON an array of objects, in text a heading each; metrics of a part have the label `fabric`.
 */
struct report_part {
	enum ibqos_exit exit;
	bool whole;		       /* it came to its end; else what there is of it is not all */
	double seconds;
	size_t counts[FINDING_CRITICAL + 1]; /* findings by severity */
	size_t told[FINDING_CRITICAL + 1];   /* of these, in text */
};
void report_parts(struct report *r, const char *key);
void report_part(struct report *r, const char *name);
void report_part_end(struct report *r, const struct report_part *result);
void report_parts_end(struct report *r);
/* In a report without parts: each finding has the fabric that it is about all the same. */
void report_by_fabric(struct report *r);

/*
 * REPORT_CALLS: not for people or scripts, but what a worker hands back: each call of this header as a line of JSON, with
 * findings whole, behind a line that says what it is and before one that says that it is whole. report_replay() makes the
 * same calls of it for another report, appending the findings to a list with their fabric's name. Everything is checked
 * before a use is made of it. With `r` NULL it is checked only, and what a later run with `r` would give is known to be good.
 * REPORT_CALLS_DRAWN has the pictures too, which a page alone needs: as they are drawn, and each mark in them is checked.
 * `in` is read from where it stands to its end.
 * 0; -EINVAL: it is not what `command` about `fabric` answers, is cut off or another format's: *fault says what (freed by the
 * caller); -EINTR: ctx_stopped(), and what `r` got is not whole; -EIO; -ENOMEM.
 */
#define REPORT_CALLS_MARK "{\"ibqos_answer\":" /* how it begins */
#define REPORT_CALLS_FORMAT 1
struct report_replayed {
	enum ibqos_exit exit;
	bool lost;	 /* findings were lost for want of memory there */
	char version[32]; /* of the ibqos that answered */
	char digest[32];  /* of the nodes that were found: the same for the same fabric; "": not told */
	char error[512];  /* the first thing that it could not do; "": there is none */
	bool looked;	  /* there is more than single fields: what was looked at */
};
int report_replay(const struct ibqos_ctx *ctx, FILE *in, const char *command, const char *fabric, struct report *r,
		  struct finding_list *findings, struct report_replayed *out, char **fault);

/* Ends the report with the verdict ("clean", "warning", "critical", "unknown"), flushes, frees. 0 or -errno of any write. */
int report_end(struct report *r, enum ibqos_exit exit_code);

#endif
