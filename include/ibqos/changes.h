/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * changes: a file that says which changes are expected (part of folder policy). Grammar: ibqos-diff(8), CHANGE FILES.
 */
#ifndef IBQOS_CHANGES_H
#define IBQOS_CHANGES_H

#include <stdio.h>

#include "ibqos/finding.h"

#define CHANGES_MAX 4096 /* lines in one file */
#define CHANGES_NAMES_MAX 64 /* names of one subject */

enum change_kind {
	CHANGE_DOWN,	 /* a node, with what hangs on it alone, or a link is gone */
	CHANGE_NEW,	 /* a node or a link is there that was not */
	CHANGE_REPLACED, /* another node stands in its place */
	CHANGE_RENAMED,	 /* a node has the name `to` */
	CHANGE_MOVED,	 /* a cable leads elsewhere */
	CHANGE_RATE,	 /* all links of it run at `width` and `speed` */
	CHANGE_TABLES,	 /* its SL2VL, arbitration or partition tables are others */
	CHANGE_KINDS
};

/* One expected change. */
struct change {
	enum change_kind kind;
	char *text;		/* as written */
	char *subject;		/* as written */
	char **names;		/* what the subject stands for: itself, or what its group has */
	size_t name_count;
	char *to;		/* CHANGE_RENAMED */
	unsigned width, speed;	/* CHANGE_RATE: one bit of enum link_width, link_speed; 0: any */
	unsigned line, column;	/* from 1 */
};

struct changes {
	char *path;
	struct change *items;
	size_t count;
};

/*
 * Reads a change file's text. Every fault becomes a finding with line and column; with a fault *changes is NULL. 0 or -ENOMEM.
 */
int changes_parse(const char *path, const char *text, size_t size, struct finding_list *findings, struct changes **changes);
/* The same from a file; -errno of reading it. */
int changes_read(const char *path, struct finding_list *findings, struct changes **changes);
void changes_free(struct changes *changes); /* NULL is fine */

/* The language of change files as a JSON Schema, made of what reads them. 0 or -EIO. */
int changes_schema(FILE *out);

#endif
