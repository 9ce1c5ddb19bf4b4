/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The steps of an apply, in order; and an undo, which is just its way back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transaction.h"

static const char *const outcome_texts[] = {
	[APPLY_REFUSED] = "refused, nothing was touched",
	[APPLY_UNCHANGED] = "nothing to do: files and ports were right already",
	[APPLY_APPLIED] = "applied",
	[APPLY_LAGGING] = "applied, but a few ports lag",
	[APPLY_NOT_INSTALLED] = "failed, the old files are in place",
	[APPLY_ROLLED_BACK] = "rolled back",
	[APPLY_NOT_ROLLED_BACK] = "failed, and not rolled back",
};

const char *apply_outcome_text(enum apply_outcome outcome)
{
	return outcome_texts[outcome];
}

void apply_result_clear(struct apply_result *result)
{
	free(result->history);
	*result = (struct apply_result){0};
}

/* A step begins: kept in the result and, once there is one, in the journal. */
static int begin_step(struct transaction *t, enum apply_step step, const char *text)
{
	t->result->reached = step;
	ctx_info(t->ctx, "%s: %s", apply_step_name(step), text);
	return t->result->history ? history_note(t->result->history, step, text) : 0;
}

static void failed(struct transaction *t, const char *doing, int error)
{
	struct finding *f = finding_add(t->findings, FINDING_APPLY_FAILED);

	finding_set(&f->what, "%s", doing);
	finding_set(&f->got, "%s", strerror(-error));
	t->result->outcome = APPLY_NOT_INSTALLED;
}

/* Undoes the first half of an install. */
static void put_rules_back(struct transaction *t)
{
	int error = 0;

	if (t->rules.old)
		error = file_replace(t->rules.path, t->rules.old, t->rules.old_size, 0644);
	else if (unlink(t->rules.path) != 0)
		error = -errno;
	if (error != 0) {
		struct finding *f = finding_at(finding_add(t->findings, FINDING_APPLY_ROLLBACK_FAILED), t->rules.path, 0, 0);

		finding_set(&f->got, "%s", strerror(-error));
		t->result->outcome = APPLY_NOT_ROLLED_BACK;
	}
}

static int install(struct transaction *t)
{
	int error;

	/* The rules first: read with the old tables they do no harm, the tables without them would mislead. */
	error = file_replace(t->rules.path, t->rules.new, t->rules.new_size, 0644);
	if (error != 0) {
		failed(t, t->rules.path, error);
		return error;
	}
	error = file_replace(t->conf.path, t->conf.new, t->conf.new_size, 0644);
	if (error != 0) {
		failed(t, t->conf.path, error);
		put_rules_back(t);
		return error;
	}
	t->result->installed = true;
	return 0;
}

static uint32_t lagging(const struct verify_result *r)
{
	return r->ports_differ + r->ports_unknown;
}

/* Why the change did not come through, as a finding. */
static void report_why(struct transaction *t, int error)
{
	const struct verify_result *state = &t->result->verify;
	struct finding *f;

	if (error == -EBADMSG) {
		f = finding_at(finding_add(t->findings, FINDING_OPENSM_POLICY_REFUSED), t->rules.path, 0, 0);
		if (t->events.last_error)
			finding_set(&f->got, "%s", t->events.last_error);
		return;
	}
	f = finding_add(t->findings, FINDING_APPLY_FAILED);
	if (error == -ESRCH) {
		finding_set(&f->got, "OpenSM ended after it was told to reload");
	} else if (error == -ETIME) {
		finding_set(&f->got, "%u of %u ports did not read back right within %u s", lagging(state), state->ports,
			    t->options->deadline_s);
		if (lagging(state) == state->ports)
			finding_set(&f->detail, "none did: does OpenSM, process %d, still run, and had it %s when it started? "
				    "Without, it never reads it: restart it then", (int)t->sm.pid, t->conf.path);
	} else if (error == -EINTR) {
		finding_set(&f->got, "stopped by a signal");
	} else {
		finding_set(&f->got, "%s", strerror(-error));
	}
}

/* So few ports lag that the new tables stay: the rest of the fabric runs on them already. */
static void list_lagging(struct transaction *t, const struct verify *verify)
{
	struct finding *f = finding_add(t->findings, FINDING_APPLY_LAG);

	finding_set(&f->got, "%u of %u ports", lagging(&t->result->verify), t->result->verify.ports);
	finding_set(&f->detail, "the new tables stay: no more than %.3g %% lag", 100 * t->options->max_lag);
	verify_findings(verify, t->findings);
	t->result->outcome = APPLY_LAGGING;
	history_note(t->result->history, APPLY_DONE, "some ports lag, the new tables stay");
}

/* The devices hold the plan already and so do the files: nothing to do. */
static int already_applied(struct transaction *t, const struct qos_config *config, bool *applied)
{
	struct verify *verify = NULL;
	int error;

	*applied = false;
	if (!t->rules.old || t->conf.old_size != t->conf.new_size || t->rules.old_size != t->rules.new_size ||
	    memcmp(t->conf.old, t->conf.new, t->conf.new_size) != 0 ||
	    memcmp(t->rules.old, t->rules.new, t->rules.new_size) != 0)
		return 0;
	error = verify_new(t->ctx, t->fabric, config, &verify);
	if (error == 0)
		error = verify_run(verify, t->source, false);
	if (error == 0) {
		t->result->verify = *verify_result(verify);
		t->result->measured = true;
		*applied = lagging(&t->result->verify) == 0;
	}
	verify_free(verify);
	return error;
}

/* Keeps the old files and says so in the journal; false, with a finding, if that cannot be done. */
static bool back_up(struct transaction *t, const struct policy *policy)
{
	int error;

	begin_step(t, APPLY_BACKUP, "keeping the old files");
	error = history_begin(t, policy, &t->result->history);
	if (error == 0)
		error = begin_step(t, APPLY_INSTALL, "writing OpenSM's files");
	if (error != 0)
		failed(t, "keeping the old files under the state directory", error);
	return error == 0;
}

static void change(struct transaction *t, const struct qos_config *config)
{
	struct goal goal = {.ctx = t->ctx, .config = config, .judge_rules = true, .state = &t->result->verify};
	struct verify *verify = NULL;
	int error;

	begin_step(t, APPLY_CONVERGE, "reloading OpenSM and reading the ports back");
	error = converge(t, &goal, &verify);
	t->result->measured = verify != NULL;
	if (error == 0) {
		t->result->outcome = APPLY_APPLIED;
		begin_step(t, APPLY_DONE, "every port holds the new tables");
	} else {
		report_why(t, error);
		if (error == -ETIME && lagging(&t->result->verify) <= t->options->max_lag * t->result->verify.ports) {
			list_lagging(t, verify);
		} else {
			/* which ports, as they were before the way back changes them again */
			if (verify && error == -ETIME)
				verify_findings(verify, t->findings);
			roll_back(t);
		}
	}
	verify_free(verify);
}

static void transaction_end(struct transaction *t)
{
	opensm_log_events_clear(&t->events);
	opensm_instance_clear(&t->sm);
	if (t->lock >= 0)
		close(t->lock);
}

int apply_run(const struct ibqos_ctx *ctx, struct source *source, struct fabric *fabric, const struct policy *policy,
	      const struct plan *plan, const struct apply_options *options, struct finding_list *findings,
	      struct apply_result *result)
{
	struct transaction t = {
		.ctx = ctx, .source = source, .fabric = fabric, .options = options, .findings = findings, .result = result,
		.conf = {plan->conf_path, plan->conf_old, plan->conf_new, plan->conf_old_size, plan->conf_new_size},
		.rules = {plan->rules_path, plan->rules_old, plan->rules_new, plan->rules_old_size, plan->rules_new_size},
		.log_path = policy->opensm_log, .sm = {.pidfd = -1}, .lock = -1,
	};
	bool applied = false;
	int error = 0;

	*result = (struct apply_result){0};
	begin_step(&t, APPLY_PREFLIGHT, "looking whether the change can be made");
	if (lock_files(&t) && preflight(&t)) {
		error = already_applied(&t, &plan->config, &applied);
		if (error == 0 && applied) {
			result->outcome = APPLY_UNCHANGED;
			result->installed = true;
			result->reached = APPLY_DONE;
		} else if (error == 0 && back_up(&t, policy) && install(&t) == 0) {
			change(&t, &plan->config);
		}
	}
	transaction_end(&t);
	return error;
}

int apply_undo(const struct ibqos_ctx *ctx, struct source *source, struct fabric *fabric, const char *folder,
	       const struct apply_options *options, struct finding_list *findings, struct apply_result *result)
{
	struct transaction t = {.ctx = ctx, .source = source, .fabric = fabric, .options = options,
				.findings = findings, .result = result, .undo = true, .sm = {.pidfd = -1}, .lock = -1};
	struct history h;
	int error = history_read(ctx, folder, &h);

	*result = (struct apply_result){0};
	if (error != 0) {
		struct finding *f = finding_add(findings, FINDING_APPLY_NO_HISTORY);

		finding_at(f, h.folder ? h.folder : ctx->state_dir, 0, 0);
		finding_set(&f->got, "%s", strerror(-error));
		history_clear(&h);
		return error == -ENOMEM ? error : 0;
	}
	/* For preflight the files in place are the old ones, and what is to be are those from before. */
	t.conf = (struct change_file){h.conf_path, h.conf_new, h.conf_old, h.conf_new_size, h.conf_old_size};
	t.rules = (struct change_file){h.rules_path, h.rules_new, h.rules_old, h.rules_new_size, h.rules_old_size};
	t.log_path = h.log_path;
	if (lock_files(&t) && preflight(&t)) {
		/* From here on it is the way back of that change, with its own folder as its history. */
		t.conf = (struct change_file){h.conf_path, h.conf_old, h.conf_new, h.conf_old_size, h.conf_new_size};
		t.rules = (struct change_file){h.rules_path, h.rules_old, h.rules_new, h.rules_old_size, h.rules_new_size};
		result->history = strdup(h.folder);
		if (result->history)
			roll_back(&t);
		else
			error = -ENOMEM;
	}
	transaction_end(&t);
	history_clear(&h);
	return error;
}
