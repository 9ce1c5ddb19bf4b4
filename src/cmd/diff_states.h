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

/* Opens a file; its findings go to the session's. False, with a message, if it cannot. cmd_side_close() in any case. */
bool cmd_side_open(struct cmd_session *s, const char *path, struct cmd_side *side);
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
