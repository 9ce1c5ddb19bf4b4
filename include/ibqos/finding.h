/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * finding: the one record of everything that ibqos finds, in a policy, a file or a fabric.
 *
 * The codes are stable: scripts and tickets hold them. A new one is a row in
 * finding_codes.def; none is ever renamed or reused.
 */
#ifndef IBQOS_FINDING_H
#define IBQOS_FINDING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ibqos/util.h"

/* Ordered so that the larger one decides the exit code. Notes never change it. */
enum finding_severity {
	FINDING_NOTE,
	FINDING_WARNING,
	FINDING_UNKNOWN,
	FINDING_CRITICAL,
};

enum finding_code {
#define FINDING_CODE(symbol, text, severity, title, advice) FINDING_##symbol,
#include "ibqos/finding_codes.def"
#undef FINDING_CODE
	FINDING_CODES
};

/* A row of the table of codes. All strings are static. */
struct finding_kind {
	const char *code;  /* "sl2vl-differs": lower case, hyphens */
	enum finding_severity severity;
	const char *title; /* a clause: "SL2VL table differs from what was expected" */
	const char *advice; /* what to do, an imperative clause */
};

/* Never NULL for a valid code. */
const struct finding_kind *finding_kind(enum finding_code code);
/* What to do in place of its advice where the fabric was read from a file (finding_file_advice.def); NULL: the same. */
const char *finding_file_advice(enum finding_code code);
/* The other way: -EINVAL for a name that is none. */
int finding_code_of(const char *name, enum finding_code *code);
int finding_severity_of(const char *name, enum finding_severity *severity);
const char *finding_severity_name(enum finding_severity severity);

/*
 * Why a device does not hold what it should, as its own answer and the subnet manager's record of it tell
 * together: the `class` of a finding. Names are stable, as codes are.
 */
enum finding_cause {
	CAUSE_NONE,	    /* not of this kind */
	CAUSE_NOT_APPLIED,  /* the SM has not programmed it: it has no record, QoS is off, or its file was not read */
	CAUSE_AWAITS_SWEEP, /* the SM programmed it for other OperationalVLs than the port runs now */
	CAUSE_DRIFTED,	    /* the SM's record is as wanted: the device was changed or reset since */
	CAUSE_OTHER_CONFIG, /* the SM has programmed something else */
	CAUSE_UNKNOWN,	    /* the SM's record is not known, or would be the same in two cases */
	CAUSE_UNSUPPORTED,  /* the device cannot hold it */
	CAUSES
};

/* A row of the table of causes; all strings are static. */
struct finding_cause_kind {
	const char *name;   /* "drifted" */
	const char *title;  /* a clause: what it means */
	const char *advice; /* in place of that of the code */
	const char *file_advice; /* as of a code */
};
int finding_cause_of(const char *name, enum finding_cause *cause); /* -EINVAL for a name that is none */
/* NULL for CAUSE_NONE. */
const struct finding_cause_kind *finding_cause_kind(enum finding_cause cause);

#define FINDING_WHOLE_NODE (-1)

/*
 * One finding. Strings are owned by the finding and may be NULL where they say nothing; they are
 * valid UTF-8. A place is a port or node of the fabric (guid != 0), or a spot in a file
 * (file != NULL, line and column from 1, 0 where unknown), or neither (the fabric as a whole).
 */
struct finding {
	enum finding_code code;
	enum finding_severity severity; /* the code's own unless set otherwise */
	enum finding_cause cause;
	char *fabric;			/* whose it is, where many fabrics are looked at; NULL: the one that there is */
	uint64_t guid;			/* node GUID */
	int port;			/* port number, or FINDING_WHOLE_NODE */
	char *name;			/* of the node */
	uint64_t peer_guid;		/* node GUID of the other end of the link; 0: none or unknown */
	int peer_port;
	char *peer_name;
	char *file;
	unsigned line, column;
	char *what;   /* the part meant: "SL2VL, in-ports 0-36", "key 'share'" */
	char *wanted; /* what was expected there */
	char *got;    /* what is there */
	char *detail; /* one more clause for this one finding, e.g. "not answered in 4 tries" */
	uint64_t first_seen; /* seconds since 1970; 0: not known */
	bool seen_before;    /* by an earlier run: text says since when */
	bool of_file;	     /* the fabric was read from a file: nobody was asked, and asking again changes nothing */
	bool told_by_another; /* another of the list says it for all: in text with --all only */
	double weight; /* how bad among its severity, e.g. Gb/s that a link loses; 0 where that has no measure */
};

struct finding_list {
	struct finding *items;
	size_t count, room;
	bool of_file; /* each one that is added from here on is */
	bool lost; /* memory ran out for one: the list is not whole, the exit code not clean */
	struct finding scratch; /* what finding_add() returns then */
};

/*
 * Appends a finding of `code` with the code's severity and no place, and returns it to be filled
 * in; the pointer is valid until the next call. When out of memory it returns a scratch finding
 * (so that callers need no check) and sets list->lost.
 */
struct finding *finding_add(struct finding_list *list, enum finding_code code);

/* Appends a finding, taking its strings. */
void finding_move(struct finding *from, struct finding_list *to);

/* Places a finding in a file. Returns the finding. */
struct finding *finding_at(struct finding *f, const char *file, unsigned line, unsigned column);

/*
 * Whether nobody but whom `trust` names (ibqos/trust.h) can have written a file or folder that the run goes by; else, and where that cannot be
 * seen, a finding at it (once). A path of NULL, and a file that is not there, are fine.
 */
bool finding_trust(const struct trust *trust, struct finding_list *list, const char *path);

/*
 * printf into one of the string members: finding_set(&f->got, "VL %u", vl). Frees the old value,
 * makes the new one printable UTF-8; NULL when out of memory.
 */
__attribute__((format(printf, 2, 3))) void finding_set(char **member, const char *format, ...);
/* The same, added behind what is there already, after "; ". */
__attribute__((format(printf, 2, 3))) void finding_append(char **member, const char *format, ...);

/* What to do about it: the cause's advice if there is one, else the code's; each its own of a file. Never NULL. */
const char *finding_advice(const struct finding *f);

/* The manual page of all codes, ibqos-findings(7), in reStructuredText. 0 or -errno. */
int finding_manual(FILE *out);

/*
 * The order of all output: worst first, then by weight; those in files by file, line and column, then
 * the others by code, cause, name (host-2 before host-10), GUID and port.
 */
void finding_list_sort(struct finding_list *list);

/* The same, and of findings that say the same of the same place in every respect one stays: several paths may lead over a port. */
void finding_list_unique(struct finding_list *list);

/* Removes what keep() is false for. */
void finding_list_filter(struct finding_list *list, bool (*keep)(const struct finding *f, void *arg), void *arg);

/* Removes all findings of a severity. */
void finding_list_drop(struct finding_list *list, enum finding_severity severity);

/* How many findings have this severity, or this code. */
size_t finding_count(const struct finding_list *list, enum finding_severity severity);
size_t finding_count_code(const struct finding_list *list, enum finding_code code);

/* The exit code that the list asks for: critical 2, unknown 3, warning 1, else 0; 3 at least if lost. */
enum ibqos_exit finding_exit(const struct finding_list *list);

/* Frees the findings, not the list itself, which is empty afterwards. NULL is fine. */
void finding_list_clear(struct finding_list *list);

#endif
