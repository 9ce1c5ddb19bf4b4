/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * apply: installs a plan's files, reloads OpenSM, waits until the devices read back right, and
 * puts the old files back when they do not.
 */
#ifndef IBQOS_APPLY_H
#define IBQOS_APPLY_H

#include "ibqos/check.h"
#include "ibqos/policy.h"

struct apply_options {
	unsigned deadline_s;   /* for all ports to read back right, rollback has as much again */
	double max_lag;	       /* fraction of the ports present throughout that may lag without roll back: 0.01 */
	bool allow_incomplete; /* go on although part of the fabric does not answer */
	bool (*progress)(void *arg, const char *step, const struct verify_result *result); /* may be NULL; false: stop */
	void *progress_arg;
};

enum apply_step {
	APPLY_PREFLIGHT, APPLY_BACKUP, APPLY_INSTALL, APPLY_RELOAD, APPLY_CONVERGE, APPLY_ROLLBACK, APPLY_DONE,
};
const char *apply_step_name(enum apply_step step);

struct apply_result {
	enum apply_step reached; /* the last step begun */
	bool unchanged;		 /* files were right already and the devices agree: nothing was done */
	bool installed;		 /* the new files are in place now */
	bool rolled_back;	 /* the old files are in place again and OpenSM was told */
	unsigned reloads;	 /* SIGHUPs sent */
	char *history;		 /* folder with the old files; NULL if not made */
	double seconds;		 /* from the first reload until the last port read right */
	struct verify_result verify; /* the last state measured */
};
void apply_result_clear(struct apply_result *result);

/*
 * Runs the transaction. Everything that can be refused is refused before the first file is
 * touched; each reason is a finding. 0 when it ran to an end, good or bad (findings and result
 * tell); -errno when it could not.
 */
int apply_run(const struct ibqos_ctx *ctx, struct source *source, struct fabric *fabric, const struct policy *policy,
	      const struct plan *plan, const struct apply_options *options, struct finding_list *findings,
	      struct apply_result *result);

#endif
