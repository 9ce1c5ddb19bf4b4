/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the steps of an apply share. */
#ifndef IBQOS_APPLY_TRANSACTION_H
#define IBQOS_APPLY_TRANSACTION_H

#include "ibqos/apply.h"

struct text {
	const char *text; /* NULL: the file does not exist */
	size_t size;
};

/* One of the two files. All borrowed. */
struct change_file {
	const char *path;
	struct text now; /* what is in place, as far as we know: anything else is somebody else's */
	struct text old; /* what a roll back puts back */
	struct text new; /* what is to be */
};

bool text_equal(const struct text *a, const struct text *b);

struct transaction {
	const struct ibqos_ctx *ctx;
	struct source *source;
	struct fabric *fabric;
	const struct apply_options *options;
	struct finding_list *findings;
	struct apply_result *result;
	struct change_file conf, rules;
	bool undo;	 /* going back is what was asked for, no failure */
	bool unfinished; /* an earlier apply was cut short: whether OpenSM read its files is not known */
	const struct sm_options *sm_wanted; /* what the SM must say once all is applied; NULL: not asked */
	const char *log_path; /* NULL: what the instance says */
	struct opensm_instance sm;
	int lock; /* descriptor of the locked folder, -1 */
	struct opensm_log_events events; /* of the log since the last reload began */
};

/* --- preflight.c --- */

/*
 * Takes the lock that keeps two applies from one OpenSM's files: on the folder of its config, which
 * any state directory shares. False, with a finding, if another one has it.
 */
bool lock_files(struct transaction *t);
/* Whether both files are as t has them as `now`; else a finding each. */
bool files_are_ours(struct transaction *t);
/* Refusals, each a finding; nothing is written but, last of all, the state directory made. True when it may go on. */
bool preflight(struct transaction *t);

/* --- preflight_opensm.c --- */

/* Finds the OpenSM whose files they are, and looks at its command line. As preflight(). */
bool preflight_opensm(struct transaction *t);

/* --- history.c --- */

/* What a history folder keeps, read back; freed by history_clear(). */
struct history {
	char *folder;
	char *conf_path, *rules_path, *log_path; /* log_path: NULL if the policy named none */
	struct text conf_old, conf_new, rules_old, rules_new; /* malloc'ed */
};

/* Whether a history folder can be made: makes STATE_DIR/history. */
int history_prepare(const struct ibqos_ctx *ctx);
/*
 * Keeps the old and the new files whole in a new folder under the state directory, and a journal of
 * the steps in it; *folder is malloc'ed. `policy` NULL: none is kept.
 */
int history_begin(const struct transaction *t, const struct policy *policy, char **folder);
/* Appends a line "TIME STEP text" to the journal and fsyncs it. */
int history_note(const char *folder, enum apply_step step, const char *text);
/*
 * The newest change, if it was cut short after it began to write files: 0, else -ENOENT.
 */
int history_unfinished(const struct ibqos_ctx *ctx, struct history *history);
/* Reads a folder, or the newest one (NULL) whose change was installed. -ENOENT: there is none. */
int history_read(const struct ibqos_ctx *ctx, const char *folder, struct history *history);
void history_clear(struct history *history);

/* --- converge.c --- */

struct goal {
	const struct ibqos_ctx *ctx;
	const struct qos_config *config;
	/* A refused qos-policy file fails it, and the end of a sweep must be seen: not on the way back. */
	bool judge_rules;
	struct verify_result *state; /* the last one measured */
};

/*
 * Reloads OpenSM and reads back until every port holds the goal's tables, reloading a second time
 * once the first sweep was seen to end.
 * 0: all ports match; -ETIME: the deadline came first; -ESRCH: OpenSM is gone; -EBADMSG: it refused
 * the qos-policy file; -EINTR: stopped; other -errno: the wire broke.
 */
int converge(struct transaction *t, const struct goal *goal, struct verify **verify);

/* --- rollback.c --- */

/* Puts the old files back, reloads until the ports hold the old tables, sets the outcome, adds findings. */
void roll_back(struct transaction *t);

#endif
