/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The options of a command line that argp has taken, one by one: for command lines that are made of it. */
#ifndef IBQOS_CMD_WORDS_H
#define IBQOS_CMD_WORDS_H

#include <argp.h>
#include <stdbool.h>

#include "ibqos/util.h"

/* An option and its value as it was given, NULL: it has none. False ends the walk. */
typedef bool (*words_take)(void *arg, const struct argp_option *option, const char *value);
/* Each option of a command line, in order; arguments are passed over. False: the walk was ended. */
bool words_walk(const struct argp *argp, int argc, char **argv, words_take take, void *arg);

/*
 * What this run was told of the fabric and of OpenSM, and how to go about it, as words for sh, each with a blank
 * before it: " -C mlx5_3 --opensm-config /a". Of a run of the command `ctx` names. Not what is about its output,
 * nor what makes an apply something else (--stage). No option has a key or another secret as its value. Freed by the caller;
 * NULL: out of memory.
 */
char *words_again(const struct ibqos_ctx *ctx, int argc, char **argv);

#endif
