/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What apply and rollback share: their options, progress and report. */
#ifndef IBQOS_CMD_APPLY_REPORT_H
#define IBQOS_CMD_APPLY_REPORT_H

#include "cmd.h"

#include "ibqos/apply.h"

enum { APPLY_KEY_DEADLINE = 0x300, APPLY_KEY_ALLOW_INCOMPLETE, APPLY_KEY_STATE_DIR };
#define APPLY_OPTIONS \
	{"deadline", APPLY_KEY_DEADLINE, "SECONDS", 0, "for all ports to read back right (default 60)", 0}, \
	{"allow-incomplete", APPLY_KEY_ALLOW_INCOMPLETE, NULL, 0, "go on although part of the fabric does not answer", 0}, \
	{"state-dir", APPLY_KEY_STATE_DIR, "DIR", 0, "where history is kept (default " IBQOS_STATE_DIR ")", 0}

/* Takes one of APPLY_OPTIONS; ARGP_ERR_UNKNOWN for another key. */
error_t cmd_apply_option(int key, char *arg, struct argp_state *state, struct ibqos_ctx *ctx, struct apply_options *options);
/* Parser of a command about one of the changes in history, whose input is a struct cmd_options: --state-dir and [ID]. */
error_t cmd_parse_change(int key, char *arg, struct argp_state *state);
void cmd_apply_defaults(struct apply_options *options);
/* Has what preflight finds reported before a file is touched, and progress shown. Comes before the run. */
void cmd_apply_begin(struct apply_options *options, struct cmd_session *s);
/* Takes the line of progress away, reports the result and sets the least exit code. `error`: what the call returned. */
void cmd_apply_end(struct cmd_session *s, const struct apply_result *result, int error);

/* What was found out before; nothing if it did not come so far. */
void cmd_report_preflight(struct report *r, const struct apply_preflight *preflight);

#endif
