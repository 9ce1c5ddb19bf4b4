/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Changes that are undone unless they are confirmed: what apply and rollback need for them. */
#ifndef IBQOS_CMD_CONFIRM_H
#define IBQOS_CMD_CONFIRM_H

#include "apply_report.h"

#define UNDO_WORDS (24 + 2 * TRUST_MAX)
struct undo_command {
	char *argv[UNDO_WORDS]; /* up to NULL */
	unsigned count;
	bool lost;
};
/* The rollback that a timer runs, as this run was called. 0 or -errno. */
int cmd_undo_command(const struct cmd_options *options, const struct apply_options *apply, struct undo_command *command);
void cmd_undo_command_clear(struct undo_command *command);

/* What became of a change that nobody confirmed, to the system's log: nobody looks at the timer's output. */
void cmd_log_unconfirmed(const struct ibqos_ctx *ctx, const char *id, const struct apply_result *result,
			 const struct finding_list *findings);

#endif
