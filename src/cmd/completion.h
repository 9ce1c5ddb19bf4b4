/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What completion for any shell is made of: the tables of commands and options, and what values they take. */
#ifndef IBQOS_CMD_COMPLETION_H
#define IBQOS_CMD_COMPLETION_H

#include "cmd.h"

/* What an option or an argument takes. */
enum completion_kind {
	COMPLETION_NONE, /* nothing that could be known */
	COMPLETION_FILE,
	COMPLETION_DIR,
	COMPLETION_YAML,
	COMPLETION_STATE,   /* of a fabric: a snapshot, or another tool's file */
	COMPLETION_KEY,	    /* a file, or "prompt" */
	COMPLETION_WORDS,   /* one of completion_words() */
	COMPLETION_LIST,    /* these with commas between */
	COMPLETION_ADAPTER, /* of this host */
	COMPLETION_CHANGE,  /* in the history */
	COMPLETION_WORK,    /* a maintenance that was begun */
	COMPLETION_KINDS
};

/* Of a long option that takes a value; `command` is its full name, "job env". */
enum completion_kind completion_option(const char *command, const struct argp_option *option);
/* Of the argument number `place` from 0 on; the last kind of a command goes on where its arguments may be repeated. */
enum completion_kind completion_argument(const char *command, unsigned place);
/* Whether there is such an argument at all. */
bool completion_has_argument(const char *command, unsigned place, bool *repeated);
/* The options of COMPLETION_WORDS or _LIST, which take the same in all commands; NULL behind the last. */
const char *completion_worded(size_t i);
/* Writes the words of such an option (NULL: of an argument), blanks between. */
void completion_words(FILE *out, const char *option);

/* Calls `each` for every option of an argp and its children that --help shows, in their order. */
void completion_walk(const struct argp *argp, void (*each)(void *arg, const struct argp_option *option), void *arg);

/* What a shell makes of each table of commands, and of each command that has options; `name` is its full name, "" of the program. */
struct completion_shell {
	/* `asking`: behind `help`, where names of commands follow each other, and nothing else */
	void (*table)(FILE *out, const char *name, const struct cmd *table, bool asking);
	void (*command)(FILE *out, const char *name, const struct argp *argp);
};
/* Calls these for all commands, each table before what is in it. */
void completion_tables(FILE *out, const struct completion_shell *shell);
/* Whether a row is `help`, which takes the names of the others. */
bool completion_asks(const struct cmd *c);

int completion_bash(FILE *out);
int completion_zsh(FILE *out);

#endif
