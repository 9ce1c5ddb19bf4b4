/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the steps of an apply share. */
#ifndef IBQOS_APPLY_TRANSACTION_H
#define IBQOS_APPLY_TRANSACTION_H

#include "ibqos/apply.h"

struct transaction {
	const struct ibqos_ctx *ctx;
	struct source *source;
	struct fabric *fabric;
	const struct policy *policy;
	const struct plan *plan;
	const struct apply_options *options;
	struct finding_list *findings;
	struct apply_result *result;
	struct opensm_instance sm;
	const char *log_path;
	struct opensm_log_events events; /* of the log since the last reload began */
};

/* Refusals, each a finding; nothing is written. True when the change may go on. (preflight.c) */
bool preflight(struct transaction *t);

/*
 * Keeps the old and the new files whole in a new folder under the state directory, and a journal of
 * the steps in it; *folder is malloc'ed. (history.c)
 */
int history_begin(const struct ibqos_ctx *ctx, const struct policy *policy, const struct plan *plan, char **folder);
/* Appends a line "TIME STEP text" to the journal and fsyncs it. */
int history_note(const char *folder, enum apply_step step, const char *text);

/*
 * Reloads OpenSM and reads back until every port holds `config`, reloading a second time once the
 * first sweep was seen to end. (converge.c)
 * 0: all ports match; -ETIME: the deadline came first; -ESRCH: OpenSM is gone; -EBADMSG: it refused
 * the qos-policy file; -EINTR: stopped; other -errno: the wire broke.
 */
int converge(struct transaction *t, const struct ibqos_ctx *ctx, const struct qos_config *config,
	     struct verify **verify);

#endif
