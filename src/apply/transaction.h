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

/* Tables that the ports go through on the way to the new ones: the config file with these in it. */
#define STEPS_MAX 2
struct steps {
	struct text conf[STEPS_MAX]; /* malloc'ed */
	unsigned count;
	bool back; /* the way back goes through them too */
};

struct transaction {
	const struct ibqos_ctx *ctx;
	struct source *source;
	struct fabric *fabric;
	const struct apply_options *options;
	struct finding_list *findings;
	struct apply_result *result;
	struct change_file conf, rules;
	struct steps steps; /* borrowed texts, in order */
	bool restart;	 /* OpenSM is to be started again, not only told to reload */
	bool undo;	 /* going back is what was asked for, no failure */
	bool unfinished; /* an earlier apply was cut short: whether OpenSM read its files is not known */
	const struct sm_options *sm_wanted; /* what the SM must say once all is applied; NULL: not asked */
	const char *log_path; /* NULL: what the instance says */
	const char *policy_path, *undone; /* what it goes by: a policy, or the history folder of the change that is undone */
	struct opensm_instance sm;
	int lock; /* descriptor of the locked folder, -1 */
	unsigned lock_wait_s; /* for another one to end */
	struct opensm_log_events events; /* of the log since the last reload began */
	struct presence *presence; /* which ports were up at first */
	bool *drifted; /* by port: it did not hold what the config in place said at first; NULL: not known */
	uint64_t began_ns; /* the first reload; 0: none yet */
	int journal_error; /* the first -errno of a line that is missing in the journal */
};

/* --- apply.c --- */

/* Tells of a journal that is not whole, unlocks, and frees what a transaction owns. */
void transaction_end(struct transaction *t);

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

/* --- preflight_trust.c --- */

/* Whether only an admin, or the user of OpenSM, can have written what this goes by. After survey(). As preflight(). */
bool preflight_trust(struct transaction *t);
/* Whether OpenSM can be told to reload. As preflight(). */
bool preflight_signal(struct transaction *t);

/* --- history.c: writing --- */

/* Whether a history folder can be made: makes STATE_DIR/history. */
int history_prepare(const struct ibqos_ctx *ctx);
/*
 * Keeps the old and the new files and the tables in between whole in a new folder under the state
 * directory, with the policy, the plan, and a journal of the steps; *folder is malloc'ed. All of it is on
 * disk when it returns 0. `policy` and `plan` NULL: none is kept.
 */
int history_begin(const struct transaction *t, const struct policy *policy, const struct plan *plan, char **folder);
/*
 * Appends a line "TIME STEP text" to the journal and fsyncs it; on failure the journal is as it was.
 * The last line of a change begins with one of:
 */
#define DONE_ROLLED_BACK "rolled back"
#define DONE_ROLLBACK_FAILED "roll back failed"
#define DONE_NOT_INSTALLED "not installed"
#define DONE_TAKEN_UP "taken up"
/* and a line of APPLY_CONFIRM with one of these */
#define CONFIRM_WAITING "waiting"
#define CONFIRM_CONFIRMED "confirmed"
int history_note(const char *folder, enum apply_step step, const char *text);

/* --- history_read.c --- */

/* How far a change got, as its journal says. */
enum history_state {
	HISTORY_NOTHING_WRITTEN, /* or written and put back at once */
	HISTORY_CUT_SHORT,	 /* whether it is in force is not known */
	HISTORY_IN_FORCE,
	HISTORY_UNDONE, /* rolled back, or taken up by a later one */
};
enum history_confirm { HISTORY_NOT_ASKED, HISTORY_WAITING, HISTORY_CONFIRMED };

/* What a history folder keeps, read back; freed by history_clear(). */
struct history {
	char *folder;
	char *conf_path, *rules_path, *log_path; /* log_path: NULL if the policy named none */
	struct text conf_old, conf_new, rules_old, rules_new; /* malloc'ed */
	struct steps steps;
	enum history_state state;
	enum history_confirm confirm;
	char *last; /* the last line of the journal; NULL if there is none */
	struct text partitions, prefix_routes; /* as OpenSM read them then, if known; malloc'ed */
	bool partitions_known, prefix_routes_known;
};

/*
 * The newest change of this opensm.conf, by whatever name, that was installed and not undone. -ENOENT: there is none;
 * -errno, with the folder and its state in *history: it cannot be read as it should.
 */
int history_newest(const struct ibqos_ctx *ctx, const char *conf_path, struct history *history);
/* Reads a folder, or the newest one (NULL) whose change was installed and not undone. -ENOENT: there is none. */
int history_read(const struct ibqos_ctx *ctx, const char *folder, struct history *history);
void history_clear(struct history *history);
/*
 * Which of the files that this change writes, on its way there or back, is in place as OpenSM's config: it is
 * given in *found, for history_clear() or, with *made, for free(). False, and *found the new one: none of them.
 */
bool history_find_conf(const struct history *history, struct text *found, char **made);
/* The same for the qos-policy file, which is the new or the old one. */
bool history_find_rules(const struct history *history, struct text *found);

/* --- steps.c --- */

/*
 * The steps that a change to a plan's tables has to take: those that the plan found for a change without a
 * mixture that holds traffic up; and where the new SL2VL tables are all zeros and OpenSM may never have set
 * any, so that it would not send them, others before (docs/architecture.md). 0 or -errno.
 */
int steps_make(const struct plan *plan, struct steps *steps);
void steps_clear(struct steps *steps);
/* The tables that OpenSM programs from a config; *enabled: `qos` is TRUE. */
int config_of(const struct text *conf, const char *path, struct qos_config *config, bool *enabled);
/* The old config with `qos` written as given; the caller frees *made. */
int conf_with_qos(const struct text *text, const char *qos, char **made, size_t *size);

/* --- history_list.c --- */

/* How a change is called: the name of its folder, a part of that text. */
const char *history_id(const char *folder);
/*
 * The newest change of each other opensm.conf than this one that was installed and not undone: "FOLDER (CONFIG), …",
 * freed by the caller; NULL: there is none. A folder that does not tell its config is one.
 */
int history_others(const struct ibqos_ctx *ctx, const char *conf_path, char **others);
/* The newest change of this opensm.conf that wrote files, also one that was undone. -ENOENT: there is none. */
int history_last(const struct ibqos_ctx *ctx, const char *conf_path, struct history *history);

/* --- confirm.c --- */

/* The path of a change's folder by its ID; NULL: no ID, or out of memory. The caller frees it. */
char *history_by_id(const struct ibqos_ctx *ctx, const char *id);
/* Sets the timer of a change and notes it; false, with a finding: there is none. */
bool confirm_arm(struct transaction *t);
/* Ends the timer of a change, where there is one; that it fires all the same does no harm. */
void confirm_disarm(const char *folder);
/* False, with a finding, if the newest change waits to be confirmed. */
bool none_waits(struct transaction *t);
/*
 * Of the timer, with the files locked: whether a change that is read anew still waits. KEPT it is then by t's outcome.
 */
bool still_waits(struct transaction *t, struct history *history);

/* --- converge.c --- */

struct goal {
	const struct ibqos_ctx *ctx;
	const struct qos_config *config;
	/* A refused qos-policy file fails it, and the end of a sweep must be seen: not on the way back. */
	bool judge_rules;
	bool passing; /* others follow: ports that match are enough */
	struct verify_result *state; /* the last one measured */
};

/*
 * Reloads OpenSM and reads back until every port holds the goal's tables, reloading a second time
 * once the first sweep was seen to end.
 * 0: all ports match; -EUCLEAN: all but some that had drifted before, to which OpenSM has nothing to send (it compares with its record),
 * so that no reload and no waiting helps; -ETIME: the deadline came first; -ESRCH: OpenSM is gone; -EBADMSG: it refused
 * the qos-policy file; -EINTR: stopped; other -errno: the wire broke.
 */
int converge(struct transaction *t, const struct goal *goal, struct verify **verify);

/* --- drift.c --- */

/*
 * Why ports lag: the tables that they hold beside those that OpenSM has recorded. As many as one wants to wait for while
 * the fabric is between two sets of tables.
 */
void ask_records(struct transaction *t, struct verify *verify);
/* Whether tables differ, and each that does is as OpenSM has recorded it. Asks it. */
bool only_drift(struct transaction *t, struct verify *verify);
/* Keeps which ports differ from the config in place, before anything is changed. 0 or -ENOMEM. */
int keep_drift(struct transaction *t, const struct verify *verify);
/* Whether all ports that differ did so before, and only_drift(). */
bool drifted_before(struct transaction *t, struct verify *verify, const struct verify_result *state);

/* --- install.c --- */

/* A step begins, or ends: kept in the result and, once there is one, in the journal. */
void note(struct transaction *t, enum apply_step step, const char *text);
/* A finding: the change failed, `what` (may be NULL) did, and why. */
void say_failed(struct transaction *t, const char *what, const char *why);
/* The config with the tables of a step, from 0; the last are the new ones. */
const struct text *conf_of_step(const struct transaction *t, unsigned step);
/* Puts the new rules and the config of the first step in place; on failure what was there before, with findings. */
int install(struct transaction *t);
int install_step(struct transaction *t, unsigned step);
/*
 * Writes a file, or removes it, and keeps in file->now what is in place afterwards: also where that failed so late
 * that it is in place, but perhaps not on disk.
 */
int put_file(struct change_file *file, const struct text *text);

/* --- rollback.c --- */

/* Puts the old files back, reloads until the ports hold the old tables, sets the outcome, adds findings. */
void roll_back(struct transaction *t);

#endif
