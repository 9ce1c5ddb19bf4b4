/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The steps of an apply, in order; and an undo, which is just its way back. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transaction.h"

#define SM_TRIES 10
#define SM_WAIT_MS 300

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
	const struct text *now = &t->rules.now;
	int error = now->text ? file_replace(t->rules.path, now->text, now->size, 0644) : file_remove(t->rules.path);

	if (error != 0) {
		struct finding *f = finding_at(finding_add(t->findings, FINDING_APPLY_ROLLBACK_FAILED), t->rules.path, 0, 0);

		finding_set(&f->got, "%s", strerror(-error));
		t->result->outcome = APPLY_NOT_ROLLED_BACK;
	}
}

static int install(struct transaction *t)
{
	int error;

	/* Once more, right before: reading the ports took its time, and others may edit these files. */
	if (!files_are_ours(t)) {
		t->result->outcome = APPLY_NOT_INSTALLED;
		return -EBUSY;
	}
	/* The rules first: read with the old tables they do no harm, the tables without them would mislead. */
	error = file_replace(t->rules.path, t->rules.new.text, t->rules.new.size, 0644);
	if (error != 0) {
		failed(t, t->rules.path, error);
		return error;
	}
	error = file_replace(t->conf.path, t->conf.new.text, t->conf.new.size, 0644);
	if (error != 0) {
		failed(t, t->conf.path, error);
		put_rules_back(t);
		return error;
	}
	t->conf.now = t->conf.new;
	t->rules.now = t->rules.new;
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

	if (error == -EPROTO) /* ask_sm() has told */
		return;
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

/*
 * The devices hold the plan already and so do the files, and OpenSM says that it runs it: nothing to
 * do. Files alone do not tell: they may have been replaced without a reload, and a change that only
 * the qos-policy file has shows on no port.
 */
static int already_applied(struct transaction *t, const struct qos_config *config, bool *applied)
{
	struct verify *verify = NULL;
	struct sm_result sm;
	int error;

	*applied = false;
	if (t->unfinished || !text_equal(&t->conf.now, &t->conf.new) || !text_equal(&t->rules.now, &t->rules.new))
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
	if (error == 0 && *applied) {
		error = sm_check(t->source, t->fabric, t->sm_wanted, NULL, &sm);
		*applied = error == 0 && sm.right;
	}
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

/*
 * Whether the running OpenSM says itself that it has the policy in force: ports may hold the right
 * tables by chance, from an OpenSM that has ended, say, while this one never read the files. Its
 * answers may lag behind its tables by a moment.
 */
static int ask_sm(struct transaction *t)
{
	struct sm_result result = {0};
	struct finding *f;
	int error = 0;

	if (!t->sm_wanted)
		return 0;
	for (unsigned n = 0; n < SM_TRIES && error == 0 && !result.right && !ctx_stopped(t->ctx); n++) {
		if (n > 0)
			poll(NULL, 0, SM_WAIT_MS);
		error = sm_check(t->source, t->fabric, t->sm_wanted, NULL, &result);
	}
	if (error != 0 || result.right)
		return error;
	sm_check(t->source, t->fabric, t->sm_wanted, t->findings, &result); /* once more, for the findings */
	if (result.right)
		return 0;
	f = finding_add(t->findings, FINDING_APPLY_FAILED);
	finding_set(&f->got, "every port holds the new tables, but OpenSM, process %d, does not say that it runs the policy",
		    (int)t->sm.pid);
	finding_set(&f->detail, "had it %s when it started? Without, it never reads it: restart it then", t->conf.path);
	return -EPROTO;
}

static void change(struct transaction *t, const struct qos_config *config)
{
	struct goal goal = {.ctx = t->ctx, .config = config, .judge_rules = true, .state = &t->result->verify};
	struct verify *verify = NULL;
	int error;

	begin_step(t, APPLY_CONVERGE, "reloading OpenSM and reading the ports back");
	error = converge(t, &goal, &verify);
	t->result->measured = verify != NULL;
	if (error == 0)
		error = ask_sm(t);
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

/*
 * An apply that was killed may have left a mixture of its old and new files, or files that OpenSM
 * never read. What was there before it counts as the old files; false if they are neither.
 */
static void take_up_unfinished(struct transaction *t, const struct history *h)
{
	struct finding *f;

	if (strcmp(h->conf_path, t->conf.path) != 0 || strcmp(h->rules_path, t->rules.path) != 0)
		return;
	if ((!text_equal(&t->conf.now, &h->conf_old) && !text_equal(&t->conf.now, &h->conf_new)) ||
	    (!text_equal(&t->rules.now, &h->rules_old) && !text_equal(&t->rules.now, &h->rules_new)))
		return; /* edited since */
	t->conf.old = h->conf_old;
	t->rules.old = h->rules_old;
	t->unfinished = true;
	f = finding_at(finding_add(t->findings, FINDING_APPLY_UNFINISHED), h->folder, 0, 0);
	finding_set(&f->detail, "the files from before it count as the old ones now");
}

int apply_run(const struct ibqos_ctx *ctx, struct source *source, struct fabric *fabric, const struct policy *policy,
	      const struct plan *plan, const struct apply_options *options, struct finding_list *findings,
	      struct apply_result *result)
{
	const struct text conf = {plan->conf_old, plan->conf_old_size}, rules = {plan->rules_old, plan->rules_old_size};
	struct sm_options sm_wanted = {.qos = true};
	struct sm_probe *probes = NULL;
	struct transaction t = {
		.ctx = ctx, .source = source, .fabric = fabric, .options = options, .findings = findings, .result = result,
		.conf = {plan->conf_path, conf, conf, {plan->conf_new, plan->conf_new_size}},
		.rules = {plan->rules_path, rules, rules, {plan->rules_new, plan->rules_new_size}},
		.log_path = policy->opensm_log, .sm_wanted = &sm_wanted, .sm = {.pidfd = -1}, .lock = -1,
	};
	struct history unfinished = {0};
	unsigned skipped;
	bool applied = false;
	int error;

	*result = (struct apply_result){0};
	begin_step(&t, APPLY_PREFLIGHT, "looking whether the change can be made");
	error = sm_probes(policy, fabric, SM_PAIRS, &probes, &sm_wanted.probe_count, &skipped);
	sm_wanted.probes = probes;
	if (error == 0 && lock_files(&t)) {
		if (history_unfinished(ctx, &unfinished) == 0)
			take_up_unfinished(&t, &unfinished);
		if (preflight(&t)) {
			error = already_applied(&t, &plan->config, &applied);
			if (error == 0 && applied) {
				result->outcome = APPLY_UNCHANGED;
				result->installed = true;
				result->reached = APPLY_DONE;
			} else if (error == 0 && back_up(&t, policy) && install(&t) == 0) {
				change(&t, &plan->config);
			}
		}
	}
	transaction_end(&t);
	history_clear(&unfinished);
	free(probes);
	return error;
}

/* Which of two texts is in place: the first, if it cannot be told. */
static struct text in_place(const char *path, const struct text *first, const struct text *second)
{
	struct text there = {0};
	char *data = NULL;
	int error = file_read(path, &data, &there.size);
	bool is_second;

	there.text = data;
	is_second = (error == 0 || error == -ENOENT) && text_equal(&there, second);
	free(data);
	return is_second ? *second : *first;
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
	/* An apply that was killed may have written one file and not the other. */
	t.conf = (struct change_file){h.conf_path, in_place(h.conf_path, &h.conf_new, &h.conf_old), h.conf_old, h.conf_new};
	t.rules = (struct change_file){h.rules_path, in_place(h.rules_path, &h.rules_new, &h.rules_old), h.rules_old,
				       h.rules_new};
	t.log_path = h.log_path;
	if (lock_files(&t) && preflight(&t)) {
		result->history = strdup(h.folder); /* its journal goes on */
		if (result->history)
			roll_back(&t);
		else
			error = -ENOMEM;
	}
	transaction_end(&t);
	history_clear(&h);
	return error;
}
