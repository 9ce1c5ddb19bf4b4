/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A shell's words and commands. */
#ifndef IBQOS_JOB_WORDS_H
#define IBQOS_JOB_WORDS_H

#include "scan.h"

struct word {
	char *text;	/* unquoted, NUL-terminated; expansions as SCAN_EXPANSION */
	size_t *at;	/* where each byte stands in the scanned text */
	size_t size;
	size_t room, at_room;
};
struct command {
	struct word *words;
	size_t count, room, used; /* `used`: words that have memory */
};

#define WORDS_HERE_DOCUMENTS 8
struct words {
	struct scan *scan;
	size_t at, end;
	char *here[WORDS_HERE_DOCUMENTS]; /* delimiters of here-documents that begin after this line */
	bool here_tabs[WORDS_HERE_DOCUMENTS];
	unsigned heres;
	bool failed;
};

/* The next command that has words; false at the end. Comments that batch systems read (#SBATCH) are commands. */
bool words_command(struct words *w, struct command *c);
void command_free(struct command *c);

#endif
