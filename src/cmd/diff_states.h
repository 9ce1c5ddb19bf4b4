/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Two states of a fabric, for the commands that compare them. */
#ifndef IBQOS_CMD_DIFF_STATES_H
#define IBQOS_CMD_DIFF_STATES_H

#include "cmd.h"

#include "ibqos/diff.h"

struct cmd_side {
	struct source *source;
	struct fabric *fabric;
	struct source_sm_query sm; /* SMInfo of the master */
};

/*
 * Reads a file, or the fabric of one of several that `ctx` names; `map` (NULL: none) has names of nodes. What it lacks goes to the
 * session's findings. 0 or -errno, of which the source has said what is wrong. cmd_side_close() in any case.
 */
int cmd_side_read(struct cmd_session *s, const struct ibqos_ctx *ctx, const char *path, const char *map, struct cmd_side *side);
/* The same, and asks for the master. False, told in the report too, if it cannot be read. */
bool cmd_side_open(struct cmd_session *s, const struct ibqos_ctx *ctx, const char *path, const char *map, struct cmd_side *side);
/* Places without an answer, as findings: one that is silent in both states once, another with the state that it is silent in. */
void cmd_sides_gaps(struct cmd_session *s, const struct fabric *before, const struct fabric *after);
void cmd_side_close(struct cmd_side *side);
/* The files and when they were taken, as fields. */
void cmd_sides_report(struct report *r, const char *before_path, const struct cmd_side *before, const char *after_path,
		      const struct cmd_side *after);
/*
 * Compares, reports how much changed, and adds the findings; `changes` (NULL: none) were expected. 0, or -ENOMEM, which is
 * said. diff_result_clear() in any case.
 */
int cmd_diff_sides(struct cmd_session *s, const struct cmd_side *before, const struct cmd_side *after,
		   const struct changes *changes, struct diff_result *result);
/* Reads a change file. False, with a message or findings, if it has a fault. */
bool cmd_changes_read(struct cmd_session *s, const char *path, struct changes **changes);

#endif
