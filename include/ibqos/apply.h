/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * apply: installs a plan's files, reloads OpenSM, waits until the devices read back right, and
 * puts the old files back when they do not.
 */
#ifndef IBQOS_APPLY_H
#define IBQOS_APPLY_H

#include "ibqos/check.h"
#include "ibqos/policy.h"
#include "ibqos/preflight.h"

/* What somebody says of a standby: see apply_digest(). */
struct apply_standby {
	const char *host; /* its node's name, the first word of it, or its port GUID */
	const char *digest;
};

struct apply_options {
	unsigned deadline_s;   /* for all ports to read back right, for each step, and as much again for each way back */
	double max_lag;	       /* fraction of the ports present throughout that may lag without roll back: 0.01 */
	bool allow_incomplete; /* go on although part of the fabric does not answer */
	bool include_pending;  /* go on although the reload brings edits of others into force */
	bool force_flavour;    /* go on although the OpenSM is not one that ibqos is tested with */
	unsigned confirm_within_s; /* undo it unless it is confirmed within this time, from before the first file is touched; 0: no */
	const char *const *undo_command; /* what a timer runs then, up to NULL: "--unconfirmed" and the ID come behind it */
	bool unconfirmed;	   /* (apply_undo) this is that timer: only a change that still waits is undone */
	bool allow_restart;    /* where a reload does not make OpenSM read its config */
	const struct apply_standby *standby; /* whose files are the same */
	size_t standby_count;
	bool standby_later; /* go on although a standby has not the same files */
	const char *stage;  /* a folder: files are written there and nothing else is done; NULL */
	bool wait_only;	    /* nothing is written and OpenSM not told: read back until the ports hold the policy */
	const char *again;  /* what this run was told, for commands that are printed: " -C mlx5_3 ...", as sh takes it; NULL: nothing */
	bool elsewhere;	    /* (wait_only) OpenSM runs on another host: one here with that config is not the one meant */
	bool (*progress)(void *arg, const char *step, const struct verify_result *result); /* may be NULL; false: stop */
	void *progress_arg;
	void (*surveyed)(void *arg, const struct apply_preflight *preflight); /* before a file is touched, or it is refused; may be NULL */
	void *surveyed_arg;
};

enum apply_step {
	APPLY_PREFLIGHT, APPLY_BACKUP, APPLY_CONFIRM, APPLY_INSTALL, APPLY_RELOAD, APPLY_CONVERGE, APPLY_ROLLBACK,
	APPLY_DONE,
};
const char *apply_step_name(enum apply_step step);

/* How it ended. */
enum apply_outcome {
	APPLY_REFUSED,	       /* by preflight: nothing was touched */
	APPLY_UNCHANGED,       /* files and devices were right already */
	APPLY_APPLIED,	       /* every port holds the new tables */
	APPLY_LAGGING,	       /* the new files stay, a few ports (max_lag) do not hold the tables */
	APPLY_NOT_INSTALLED,   /* a file could not be written; the old ones are in place */
	APPLY_ROLLED_BACK,     /* the old files are in place again and OpenSM was told */
	APPLY_NOT_ROLLED_BACK, /* it should have been rolled back, but that failed */
	APPLY_KEPT,	       /* (unconfirmed) it was confirmed, or undone, before: nothing was touched */
	APPLY_STAGED,	       /* the files are in the folder that was named */
	APPLY_WAITED,	       /* every port holds the tables; nothing was written */
	APPLY_NOT_REACHED,     /* some did not, before the deadline; nothing was written */
	APPLY_DRIFT_LEFT,      /* the new files are in force; ports had drifted before in tables that the change does not alter */
	APPLY_DRIFTED,	       /* the files were right already, and OpenSM runs them; ports that differ have drifted */
};
const char *apply_outcome_text(enum apply_outcome outcome); /* "rolled back", ... */

struct apply_result {
	enum apply_step reached; /* the last step begun */
	enum apply_outcome outcome;
	bool installed;		 /* the new files are in place now */
	unsigned reloads;	 /* SIGHUPs sent */
	bool restarted;		 /* OpenSM was started again */
	unsigned steps, step;	 /* tables that the ports go through, the new ones included, and which was reached, from 1 */
	char *history;		 /* folder with the old files; NULL if not made */
	char *confirm_id;	 /* if it waits to be confirmed: apply_confirm() */
	struct apply_preflight preflight;
	char *steps_text;	 /* commands that an admin has to run; NULL or "": none */
	double seconds;		 /* from the first reload until the last port read right */
	bool measured, back_measured;
	struct verify_result verify; /* if measured: the last state against the new tables */
	struct verify_result back;   /* if back_measured: the last state against the old ones, after rolling back */
};
void apply_result_clear(struct apply_result *result);

/* A change that the history holds. What is not known is NULL. */
struct apply_entry {
	char *id, *folder;
	char *when, *host, *fabric; /* "2026-11-30T11:55:31Z" */
	char *user, *sudo_user;	    /* who ran it; who sudo said it was */
	int64_t uid, login_uid;	    /* of the first; of whoever logged in, 0: not known, or root */
	char *ibqos;		    /* version */
	char *policy_path, *policy; /* where it was read from; its name */
	char *config;		    /* path of the opensm.conf that it changed: which OpenSM's change it is */
	const char *state;	    /* static: "in force", "undone", "cut short", "nothing was written" */
	bool in_force;
	const char *confirm; /* static: "waiting", "confirmed"; NULL: it needs none */
	char *outcome;	     /* how its journal ends */
	char *journal;	     /* whole, printable */
	bool can_undo;
	const char *why_not; /* static, if it cannot */
	int error;	     /* -errno where its folder cannot be read as it should */
};
/* All changes, newest first, or the one that is named. -ENOENT: there is none of that name. */
int apply_history(const struct ibqos_ctx *ctx, const char *id, struct apply_entry **entries, size_t *count);
void apply_history_free(struct apply_entry *entries, size_t count);

/* A finding for each standby that was put off by an earlier apply of this config. */
void apply_standby_todo(const struct ibqos_ctx *ctx, const char *conf_path, struct finding_list *findings);

/*
 * Runs the transaction. Everything that can be refused is refused before the first file is
 * touched; each reason is a finding. 0 when it ran to an end, good or bad (findings and result
 * tell); -errno when it could not.
 */
int apply_run(const struct ibqos_ctx *ctx, struct source *source, struct fabric *fabric, const struct policy *policy,
	      const struct plan *plan, const struct apply_options *options, struct finding_list *findings,
	      struct apply_result *result);

/*
 * What stands for apply_run() where OpenSM runs on another host, and options->stage: a copy of the policy goes into the folder, and
 * the commands for that host are told. As apply_run(): 0 or -errno.
 */
int apply_stage_policy(const struct policy *policy, const struct apply_options *options, struct finding_list *findings,
		       struct apply_result *result);

/*
 * Undoes an apply: puts the old files of a history folder back, as apply's own roll back does, and
 * reads the ports back. `folder` NULL: the newest under the state directory. Refused when the files
 * in place are not those which that apply wrote. The outcome is APPLY_ROLLED_BACK when it went well.
 */
int apply_undo(const struct ibqos_ctx *ctx, struct source *source, struct fabric *fabric, const char *folder,
	       const struct apply_options *options, struct finding_list *findings, struct apply_result *result);

/*
 * Confirms a change that waits for it, so that its timer does nothing, and ends the timer. `id`: the name of its
 * history folder; NULL: the newest change in force. What stands against it is a finding: too late, none waits, it was
 * cut short. *confirmed (malloc'ed) is the ID where it is confirmed now or was before, else NULL. 0 or -ENOMEM.
 */
int apply_confirm(const struct ibqos_ctx *ctx, const char *id, struct finding_list *findings, char **confirmed);

#endif
