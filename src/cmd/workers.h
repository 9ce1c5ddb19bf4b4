/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Processes that run at the same time, each of whose standard output is kept in a file without a name and whose standard error is
 * told line by line behind its name. What becomes of one touches no other.
 */
#ifndef IBQOS_CMD_WORKERS_H
#define IBQOS_CMD_WORKERS_H

#include "ibqos/util.h"

#define WORKER_LINE 1024   /* bytes of a line of standard error that are told */
#define WORKER_LINES 2000  /* lines of one worker that are told */
#define WORKER_OUTPUT_MAX (1ull << 30) /* bytes of standard output: 53 MB at 11,664 hosts with 143,213 findings (docs/performance.md); replay.c takes a million */

struct worker {
	/* of the caller */
	const char *name;
	char *const *argv;	/* with NULL at the end; argv[0] is looked for in PATH unless there is a slash in it */
	unsigned timeout_s;
	const char *mark;	/* what its output must begin with; else it is ended at once */
	/* what became of it */
	FILE *output;	     /* from its beginning; closed by workers_clear() */
	int status;	     /* as of waitpid(); valid if `started` and not `lost` */
	bool started;
	char *fault;	     /* why there is no answer, for people; NULL: it ended by itself, see `status` */
	char *last_line;     /* of its standard error; NULL: it said nothing */
	double seconds;
	/* inside workers.c */
	int pid, pidfd, out, err, exec_fault;
	uint64_t began_ns, ended_ns, bytes;
	char line[WORKER_LINE];
	size_t line_size;
	unsigned lines;
	unsigned signalled; /* 1 asked to end, 2 killed */
	bool cut_line;
};

/*
 * Runs all of them and returns when all have ended, or -errno if none could be looked after. Rights of root are given up (RIGHTS_END) when
 * all have been started and nothing of them has been read. `news` (may be NULL) is called
 * each time that something may have happened, some times a second at least. When ctx_stopped() all are asked to end (SIGTERM), and killed 10 s later.
 */
int workers_run(const struct ibqos_ctx *ctx, struct worker *workers, size_t count,
		void (*news)(void *arg, const struct worker *workers, size_t count), void *arg);
void workers_clear(struct worker *workers, size_t count);

#endif
