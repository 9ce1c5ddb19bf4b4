/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Accepting a snapshot as the baseline. */
#ifndef IBQOS_CMD_ACCEPT_H
#define IBQOS_CMD_ACCEPT_H

#include "cmd.h"

#define ACCEPT_KEEP 10 /* old baselines, unless told otherwise */

struct cmd_accept {
	const char *accept, *baseline; /* paths; accept NULL: it is not asked for */
	unsigned keep;
	bool yes;
};

/* All of `ibqos snapshot --accept`. */
enum ibqos_exit cmd_accept(struct ibqos_ctx *ctx, const struct cmd_options *options, const struct cmd_accept *accept);

#endif
