/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Taking snapshots, for the commands that do. */
#ifndef IBQOS_CMD_TAKE_H
#define IBQOS_CMD_TAKE_H

#include "cmd.h"

#include "ibqos/snapshot.h"

/*
 * Takes a snapshot after session_discover(); with a policy or an opensm.conf (or NULL) the subnet manager is asked all that
 * verify would ask it. False, with a message, if there is none; the caller frees it.
 */
bool cmd_take(struct cmd_session *s, const char *policy, const char *opensm_conf, struct snapshot **snapshot);

/* Asks for counters, which the snapshot then has too. Says what went wrong. */
void cmd_take_counters(struct cmd_session *s, struct snapshot *snapshot);

/* A policy that cannot be used is told before the fabric is asked: false, with findings or a message. */
bool cmd_policy_is_good(struct cmd_session *s, const char *path);

#endif
