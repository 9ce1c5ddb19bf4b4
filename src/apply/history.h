/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Names in a history folder, for those who write it and those who read it back. */
#ifndef IBQOS_APPLY_HISTORY_H
#define IBQOS_APPLY_HISTORY_H

#include "transaction.h"

#define HISTORY_FOLDER "history"
#define HISTORY_MISSING ".missing" /* what did not exist is kept as an empty file with this behind its name */
#define HISTORY_PARTITIONS "read-partitions.conf" /* what OpenSM read then beside the two */
#define HISTORY_PREFIX_ROUTES "read-prefix-routes.conf"
#define HISTORY_STEP "step-%u-opensm.conf" /* from 1 */

/* "20261130T115531Z", and behind it "-001" for another of that second: 0, with its number; -EINVAL: another name. */
int history_name(const char *name, unsigned *number);
#define HISTORY_TIME 16 /* characters of the time */
/* The paths of all changes, newest first; freed by history_folders_free(). */
int history_folders(const struct ibqos_ctx *ctx, char ***folders, size_t *count);
void history_folders_free(char **folders, size_t count);

#endif
