/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* An apply undone: asked for by somebody, or by the timer of a change that nobody confirmed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "survey.h"

#define LOCK_WAIT_S 60

/* The timer has fired, and does not do what it is for: somebody has to come. */
static void raise_alarm(struct transaction *t, const char *folder, const char *why)
{
	struct finding *f = finding_at(finding_add(t->findings, FINDING_APPLY_NOT_UNDONE), folder, 0, 0);

	finding_set(&f->got, "%s", why);
}

/* Only where nothing has changed since: this OpenSM is the master, and the files are those of the change. */
static bool may_undo(struct transaction *t, const struct history *h, bool conf_known, bool rules_known)
{
	const char *why = NULL;

	if (!t->options->unconfirmed)
		return preflight(t);
	if (!conf_known || !rules_known)
		why = "the files in place are not those of the change";
	else if (!preflight(t))
		why = t->result->preflight.master_here == PREFLIGHT_NO ? "the OpenSM of these files is not the master any more"
								       : "see the other findings";
	else if (t->result->preflight.master_here != PREFLIGHT_YES)
		why = "it is not known whether the OpenSM of these files is still the master";
	if (why)
		raise_alarm(t, h->folder, why);
	return !why;
}

static int undo(struct transaction *t, struct history *h)
{
	char *made = NULL;
	bool conf, rules;
	int error = 0;

	t->conf = (struct change_file){.path = h->conf_path, .old = h->conf_old, .new = h->conf_new};
	t->rules = (struct change_file){.path = h->rules_path, .old = h->rules_old, .new = h->rules_new};
	t->steps = h->steps;
	t->log_path = h->log_path;
	t->undone = h->folder;
	/* An apply that was killed may have written any of its files; others are refused by preflight. */
	conf = history_find_conf(h, &t->conf.now, &made);
	rules = history_find_rules(h, &t->rules.now);
	if (may_undo(t, h, conf, rules)) {
		t->result->history = strdup(h->folder); /* its journal goes on */
		if (t->result->history) {
			roll_back(t);
			if (!t->options->unconfirmed && h->confirm == HISTORY_WAITING &&
			    t->result->outcome == APPLY_ROLLED_BACK)
				confirm_disarm(h->folder);
			settle_standbys(t);
		} else {
			error = -ENOMEM;
		}
	}
	free(made);
	return error;
}

static void no_history(struct transaction *t, const char *folder, int error)
{
	struct finding *f;

	if (t->options->unconfirmed) {
		raise_alarm(t, folder, strerror(-error));
		return;
	}
	f = finding_at(finding_add(t->findings, FINDING_APPLY_NO_HISTORY), folder, 0, 0);
	if (error == -ENOENT && folder == t->ctx->state_dir)
		finding_set(&f->got, "nothing in its history, or all of it was rolled back already");
	else
		finding_set(&f->got, "%s", strerror(-error));
}

/* "The newest" is nobody's in particular where several fabrics' OpenSMs have their changes in one history. */
static bool is_ambiguous(struct transaction *t, const struct history *h, int *error)
{
	char *others = NULL;
	struct finding *f;

	*error = history_others(t->ctx, h->conf_path, &others);
	if (others) {
		f = finding_at(finding_add(t->findings, FINDING_ROLLBACK_AMBIGUOUS), t->ctx->state_dir, 0, 0);
		finding_set(&f->got, "%s (%s), %s", history_id(h->folder), h->conf_path, others);
	}
	free(others);
	return others || *error != 0;
}

int apply_undo(const struct ibqos_ctx *ctx, struct source *source, struct fabric *fabric, const char *folder,
	       const struct apply_options *options, struct finding_list *findings, struct apply_result *result)
{
	struct transaction t = {.ctx = ctx, .source = source, .fabric = fabric, .options = options,
				.findings = findings, .result = result, .undo = true, .sm = {.pidfd = -1}, .lock = -1};
	struct history h;
	int error;

	*result = (struct apply_result){0};
	error = presence_new(fabric, &t.presence);
	if (error != 0)
		return error;
	error = history_read(ctx, folder, &h);
	if (error != 0) {
		no_history(&t, h.folder ? h.folder : ctx->state_dir, error);
		error = error == -ENOMEM ? error : 0;
		goto out;
	}
	if (!folder && is_ambiguous(&t, &h, &error))
		goto out;
	t.conf.path = h.conf_path;
	t.rules.path = h.rules_path;
	/* the change itself may still be going on, with all its steps there and back */
	t.lock_wait_s = options->unconfirmed ? 2 * (STEPS_MAX + 1) * options->deadline_s + LOCK_WAIT_S : 0;
	if (!lock_files(&t)) {
		if (options->unconfirmed)
			raise_alarm(&t, h.folder, "another ibqos works on these files");
	} else if (!options->unconfirmed || still_waits(&t, &h)) {
		error = undo(&t, &h);
	} else if (result->outcome != APPLY_KEPT) {
		raise_alarm(&t, ctx->state_dir, "its history cannot be read any more");
	}
out:
	transaction_end(&t);
	history_clear(&h);
	return error;
}
