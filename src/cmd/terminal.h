/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What can be shown where the output goes. */
#ifndef IBQOS_CMD_TERMINAL_H
#define IBQOS_CMD_TERMINAL_H

#include "cmd.h"

/* Columns of a terminal: COLUMNS where it is set, else what the terminal says, else 80. */
unsigned cmd_terminal_width(int fd);
/* Whether it is a terminal that knows more than letters: TERM is set, and not "dumb". */
bool cmd_terminal_obeys(int fd);
/* How a report as these options ask for is to look. */
struct report_style cmd_style(const struct ibqos_ctx *ctx, const struct cmd_options *options);

#endif
