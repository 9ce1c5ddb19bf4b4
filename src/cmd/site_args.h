/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a worker of a site is told: the words of its command line, of those that this run got and of its fabric. */
#ifndef IBQOS_CMD_SITE_ARGS_H
#define IBQOS_CMD_SITE_ARGS_H

#include "cmd.h"
#include "workers.h"

#include "ibqos/site.h"

/* What of this run's command line goes on to each worker. */
struct site_words {
	const struct cmd_options *options;
	const char **passed; /* words; count of them */
	size_t count, room;
	const char *stage; /* of --stage: the folder that has one for each fabric; NULL */
	bool given[8]; /* of what a fabric has too: site_args.c */
	/* of the caller, before site_words_sort(); NULL: all options of the command in cmd_table */
	const struct argp *argp;	  /* of the command line */
	const struct argp_child *only; /* what of it goes on: what is not in these tables is left out */
	bool taking;   /* workers write a snapshot to standard output, whatever the command is */
};

/*
 * Sorts the words of a command line that argp has taken. False, with a message: one of them means nothing for many fabrics.
 */
bool site_words_sort(struct ibqos_ctx *ctx, const struct cmd_options *options, int argc, char **argv, struct site_words *words);
void site_words_clear(struct site_words *words);

/* What is missing for a fabric to be looked at, as "no policy"; NULL: nothing. */
const char *site_words_lack(const struct ibqos_ctx *ctx, const struct site_words *words, const struct site_fabric *fabric);

/* The command line of a fabric's worker, with NULL at the end; freed by site_argv_free(). NULL: out of memory. */
char **site_argv(const struct ibqos_ctx *ctx, const struct site_words *words, const struct site_fabric *fabric);
/*
 * The fabrics of a site that `names` has, "" being all of them, in their order; with `ports` also active ports of this host, if the
 * site wants them. The caller frees *chosen. False, told: there is none, or one of the names is none.
 */
bool site_choose(struct cmd_session *s, struct site *site, bool ports, const char *names, const struct site_fabric ***chosen,
		 size_t *count);

void site_argv_free(char **argv);

/* Shows how many workers have ended, and the names of the others: of workers_run(), whose argument is the session. */
void site_progress(void *arg, const struct worker *workers, size_t count);

/*
 * Whether workers of these may be started. False, told: one has a program run, and the site file is not `trusted` (session_trust()): what
 * it has run is run with the rights of who runs this, not by the word of somebody else.
 */
bool site_may_run(struct cmd_session *s, const struct site_fabric *const *fabrics, size_t count, bool trusted);

#endif
