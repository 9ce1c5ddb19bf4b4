/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* How far long work has come, for people who wait for it. */
#ifndef IBQOS_CMD_PROGRESS_H
#define IBQOS_CMD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "ibqos/util.h"

/*
 * On a terminal (standard error) one line that is written over, some times a second, once the work has lasted a second; it is taken
 * away before anything else is written. Elsewhere, with -v, a message each some seconds. With -q nothing.
 */
struct cmd_line {
	struct ibqos_progress hook; /* for the context */
	const struct ibqos_ctx *ctx;
	bool terminal;
	bool visible;	   /* a line stands there */
	const char *what;  /* of the work that was told of last */
	uint64_t done;	   /* of it */
	uint64_t began_ns; /* this work */
	uint64_t first_ns; /* any work; 0: none yet */
	uint64_t shown_ns; /* 0: not yet */
};

void cmd_line_begin(struct cmd_line *line, struct ibqos_ctx *ctx);
void cmd_line_end(struct cmd_line *line, struct ibqos_ctx *ctx);
/* Whether a text would be shown now: not too early, not too often. Where `wait` is false at once, for work that is known to take long. */
bool cmd_line_due(const struct cmd_line *line, uint64_t now, bool wait);
/* Shows a text of ASCII in place of the one that stands there. */
__attribute__((format(printf, 3, 4))) void cmd_line_show(struct cmd_line *line, uint64_t now, const char *format, ...);

#endif
