/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The steps of an apply, in order. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "survey.h"

#define SM_TRIES 10
#define SM_WAIT_MS 300
#define SM_PATIENCE_NS (15 * 1000000000ull) /* after which it is not asked anew */

static const char *const outcome_texts[] = {
	[APPLY_REFUSED] = "refused, nothing was touched",
	[APPLY_UNCHANGED] = "nothing to do: files and ports were right already",
	[APPLY_APPLIED] = "applied",
	[APPLY_LAGGING] = "applied, but a few ports lag",
	[APPLY_NOT_INSTALLED] = "failed, the old files are in place",
	[APPLY_ROLLED_BACK] = "rolled back",
	[APPLY_NOT_ROLLED_BACK] = "failed, and not rolled back",
	[APPLY_KEPT] = "nothing to do: it was confirmed or undone before",
	[APPLY_STAGED] = "staged: the files are written elsewhere",
	[APPLY_WAITED] = "every port holds the tables",
	[APPLY_NOT_REACHED] = "not every port holds the tables",
	[APPLY_DRIFT_LEFT] = "applied, but ports that had drifted before still do; restart OpenSM, a reload does not repair them",
	[APPLY_DRIFTED] = "nothing to install: the files are right, but ports have drifted; restart OpenSM, a reload does not repair them",
};

const char *apply_outcome_text(enum apply_outcome outcome)
{
	return outcome_texts[outcome];
}

void apply_result_clear(struct apply_result *result)
{
	free(result->history);
	free(result->confirm_id);
	free(result->steps_text);
	apply_preflight_clear(&result->preflight);
	*result = (struct apply_result){0};
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

	if (error == -EPROTO || error == -ESTALE) /* told where it was found */
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
static void list_lagging(struct transaction *t, struct verify *verify)
{
	struct finding *f = finding_add(t->findings, FINDING_APPLY_LAG);

	finding_set(&f->got, "%u of %u ports", lagging(&t->result->verify), t->result->verify.ports);
	finding_set(&f->detail, "the new tables stay: no more than %.3g %% lag", 100 * t->options->max_lag);
	ask_records(t, verify);
	verify_findings(verify, t->findings);
	t->result->outcome = APPLY_LAGGING;
	note(t, APPLY_DONE, "some ports lag, the new tables stay");
}

/*
 * The change is in force, but for tables that it does not alter and that had drifted before: neither waiting nor the way
 * back would mend them. The records were asked for when that was found.
 */
static void list_drifted(struct transaction *t, struct verify *verify)
{
	verify_findings(verify, t->findings);
	t->result->outcome = APPLY_DRIFT_LEFT;
	note(t, APPLY_DONE, "in force, ports that had drifted before still hold other tables");
}

/*
 * The files hold the plan already and OpenSM says that it runs it: nothing to do, be it that the devices hold
 * it too, or that those which do not have drifted, since OpenSM then has sent what they should hold and a reload
 * sends it no more (osm_qos.c compares with its record). Files alone do not tell: they may have been replaced
 * without a reload, and a change that only the qos-policy file has shows on no port.
 */
static int already_applied(struct transaction *t, const struct qos_config *config, bool *applied)
{
	struct verify *verify = NULL;
	struct sm_result sm;
	bool drift = false;
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
		drift = t->result->verify.ports_differ > 0 && only_drift(t, verify);
		*applied = drift || lagging(&t->result->verify) == 0;
	}
	if (error == 0 && *applied) {
		error = sm_check(t->source, t->fabric, t->sm_wanted, NULL, &sm);
		*applied = error == 0 && sm.right;
	}
	if (*applied && drift)
		verify_findings(verify, t->findings);
	if (*applied)
		t->result->outcome = drift ? APPLY_DRIFTED : APPLY_UNCHANGED;
	verify_free(verify);
	return error;
}

/* Keeps the old files and says so in the journal; false, with a finding, if that cannot be done. */
static bool back_up(struct transaction *t, const struct policy *policy, const struct plan *plan)
{
	int error;

	note(t, APPLY_BACKUP, "keeping the old files");
	error = history_begin(t, policy, plan, &t->result->history);
	if (error == 0 && !confirm_arm(t)) {
		note(t, APPLY_DONE, DONE_NOT_INSTALLED);
		t->result->outcome = APPLY_REFUSED;
		return false;
	}
	if (error == 0)
		error = history_note(t->result->history, APPLY_INSTALL, "writing OpenSM's files");
	if (error != 0) {
		say_failed(t, "keeping the old files under the state directory", strerror(-error));
		t->result->outcome = APPLY_NOT_INSTALLED;
	}
	return error == 0;
}

static void say_not_run(struct transaction *t, const struct sm_result *result)
{
	bool says_other = (result->qos_known && !result->qos) || result->paths_wrong > 0;
	struct finding *f = finding_add(t->findings, FINDING_APPLY_FAILED);

	finding_set(&f->got, "every port holds the new tables, but OpenSM, process %d, does not say that it runs the policy",
		    (int)t->sm.pid);
	if (!result->known || !result->qos_known || (result->paths_unknown > 0 && !says_other))
		finding_set(&f->detail, "it did not answer all that it was asked, so that it is not known");
	else
		finding_set(&f->detail, "had it %s when it started? Without, it never reads it: restart it then", t->conf.path);
}

/*
 * Whether the running OpenSM says itself that it has the policy in force: ports may hold the right
 * tables by chance, from an OpenSM that has ended, say, while this one never read the files. Its
 * answers may lag behind its tables by a moment.
 */
static int ask_sm(struct transaction *t)
{
	struct sm_result result = {0};
	struct finding_list said = {0}; /* the last time */
	uint64_t end = clock_ns() + SM_PATIENCE_NS;
	int error = 0;

	if (!t->sm_wanted)
		return 0;
	for (unsigned n = 0; n < SM_TRIES && error == 0 && !result.right && !ctx_stopped(t->ctx); n++) {
		if (n > 0 && clock_ns() > end) /* an administrator that loses questions takes its time each time */
			break;
		if (n > 0)
			poll(NULL, 0, SM_WAIT_MS);
		finding_list_clear(&said);
		error = sm_check(t->source, t->fabric, t->sm_wanted, &said, &result);
	}
	if (error == 0 && !result.right)
		error = ctx_stopped(t->ctx) ? -EINTR : -EPROTO;
	if (error == -EPROTO) {
		for (size_t i = 0; i < said.count; i++)
			finding_move(&said.items[i], t->findings);
		t->findings->lost |= said.lost;
		say_not_run(t, &result);
	}
	finding_list_clear(&said);
	return error;
}

static bool few_lag(const struct transaction *t, int error)
{
	const struct verify_result *state = &t->result->verify;

	return error == -ETIME && lagging(state) <= t->options->max_lag * state->ports;
}

/* The tables of a step, which the goal has from then on. */
static int aim_at(struct transaction *t, unsigned step, const struct plan *plan, struct qos_config *config)
{
	bool enabled;

	t->result->step = step + 1;
	if (step < t->steps.count)
		return config_of(&t->steps.conf[step], t->conf.path, config, &enabled);
	*config = plan->config;
	return 0;
}

/*
 * All steps up to the new tables. Of those in between it is enough that ports match, and a few that lag are not
 * what it ends with.
 */
static int go_through(struct transaction *t, const struct plan *plan, struct qos_config *config, struct verify **verify)
{
	struct goal goal = {.ctx = t->ctx, .config = config, .judge_rules = true, .state = &t->result->verify};
	char text[96];

	for (unsigned step = 0;; step++) {
		bool last = step == t->steps.count;
		int error = aim_at(t, step, plan, config);

		snprintf(text, sizeof(text), "reloading OpenSM and reading the ports back, tables %u of %u", step + 1,
			 t->steps.count + 1);
		note(t, APPLY_CONVERGE, text);
		goal.passing = !last;
		if (error == 0)
			error = converge(t, &goal, verify);
		t->result->measured = *verify != NULL;
		if (last)
			return error;
		if (error == 0 || error == -EUCLEAN || few_lag(t, error))
			error = install_step(t, step + 1);
		if (error != 0)
			return error;
	}
}

static void change(struct transaction *t, const struct plan *plan)
{
	struct verify *verify = NULL;
	struct qos_config config;
	bool drift;
	int error = t->restart ? restart(t) : 0;

	if (error != 0) {
		roll_back(t);
		return;
	}
	error = go_through(t, plan, &config, &verify);

	if (verify)
		presence_findings(t->presence, verify, t->findings);
	drift = error == -EUCLEAN;
	if (error == 0 || drift)
		error = ask_sm(t);
	if (error == 0 && drift) {
		list_drifted(t, verify);
	} else if (error == 0) {
		t->result->outcome = APPLY_APPLIED;
		note(t, APPLY_DONE, "every port holds the new tables");
	} else {
		report_why(t, error);
		if (t->result->step > t->steps.count && few_lag(t, error)) {
			list_lagging(t, verify);
		} else {
			/* which ports, as they were before the way back changes them again */
			if (verify && error == -ETIME) {
				ask_records(t, verify);
				verify_findings(verify, t->findings);
			}
			roll_back(t);
		}
	}
	verify_free(verify);
}

/* Whatever the change came to, later runs go by the journal. */
static void say_journal(struct transaction *t)
{
	struct finding *f;

	if (t->journal_error == 0)
		return;
	f = finding_at(finding_add(t->findings, FINDING_APPLY_JOURNAL), t->result->history, 0, 0);
	finding_set(&f->got, "%s", strerror(-t->journal_error));
}

void transaction_end(struct transaction *t)
{
	say_journal(t);
	presence_free(t->presence);
	free(t->drifted);
	opensm_log_events_clear(&t->events);
	opensm_instance_clear(&t->sm);
	if (t->lock >= 0)
		close(t->lock);
}

static const char *which(const struct text *found, const struct text *old, const struct text *new)
{
	return text_equal(found, new) ? "new" : text_equal(found, old) ? "old" : "in between";
}

/*
 * An apply that was killed may have left a mixture of its old and new files, or files that OpenSM
 * never read. What was there before it counts as the old files, unless somebody has edited them since.
 */
static void take_up_unfinished(struct transaction *t, const struct history *h)
{
	struct text conf, rules;
	struct finding *f;
	char *made = NULL;

	if (file_same(h->rules_path, t->rules.path) == 1 && history_find_conf(h, &conf, &made) && history_find_rules(h, &rules)) {
		t->conf.old = h->conf_old;
		t->rules.old = h->rules_old;
		t->unfinished = true;
		f = finding_at(finding_add(t->findings, FINDING_APPLY_UNFINISHED), h->folder, 0, 0);
		finding_set(&f->got, "opensm.conf is %s, qos-policy %s; its journal ends with: %s",
			    which(&conf, &h->conf_old, &h->conf_new), which(&rules, &h->rules_old, &h->rules_new),
			    h->last ? h->last : "nothing");
		finding_set(&f->detail, "the files from before it count as the old ones now");
	} else {
		f = finding_at(finding_add(t->findings, FINDING_APPLY_UNFINISHED), h->folder, 0, 0);
		finding_set(&f->got, "the files in place are not its own any more; its journal ends with: %s",
			    h->last ? h->last : "nothing");
		finding_set(&f->detail, "those in place count as the old ones now");
	}
	free(made);
}

/* An apply of this config before this one; false, with a finding: it was cut short, and what it did cannot be read. */
static bool look_back(struct transaction *t, struct history *h)
{
	int error = history_newest(t->ctx, t->conf.path, h);
	struct finding *f;

	if (!h->folder || h->state != HISTORY_CUT_SHORT)
		return true;
	if (error == 0) {
		take_up_unfinished(t, h);
		return true;
	}
	f = finding_at(finding_add(t->findings, FINDING_APPLY_HISTORY_BROKEN), h->folder, 0, 0);
	finding_set(&f->got, "%s", strerror(-error));
	finding_set(&f->detail, "an apply was cut short, and which files were there before it is not known: put the right ones in "
				"place, and move this folder elsewhere");
	return false;
}

/* Once its own journal holds that it writes, the one before is no longer what a rollback would undo. */
static void close_unfinished(struct transaction *t, const struct history *h)
{
	char text[64 + NAME_MAX];
	int error;

	if (!t->unfinished)
		return;
	snprintf(text, sizeof(text), DONE_TAKEN_UP " by %s", history_id(t->result->history));
	error = history_note(h->folder, APPLY_DONE, text);
	if (error != 0 && t->journal_error == 0)
		t->journal_error = error;
}

/* Nothing is left that could be undone. */
static void forget_confirm(struct transaction *t)
{
	confirm_disarm(t->result->history);
	free(t->result->confirm_id);
	t->result->confirm_id = NULL;
}

/* Preflight has let it through. */
static int carry_out(struct transaction *t, const struct policy *policy, const struct plan *plan,
		     const struct history *unfinished)
{
	bool applied = false;
	int error = already_applied(t, &plan->config, &applied);

	if (error != 0)
		return error;
	if (applied) {
		t->result->installed = true;
		t->result->reached = APPLY_DONE;
		return 0;
	}
	error = steps_make(plan, &t->steps);
	t->result->steps = t->steps.count + 1;
	if (error == 0 && back_up(t, policy, plan)) {
		close_unfinished(t, unfinished);
		if (install(t) == 0)
			change(t, plan);
	}
	if (t->result->confirm_id && t->result->outcome != APPLY_APPLIED && t->result->outcome != APPLY_LAGGING &&
	    t->result->outcome != APPLY_DRIFT_LEFT && t->result->outcome != APPLY_NOT_ROLLED_BACK)
		forget_confirm(t);
	steps_clear(&t->steps);
	return error;
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
		.log_path = policy->opensm_log, .policy_path = policy->path, .sm_wanted = &sm_wanted, .sm = {.pidfd = -1}, .lock = -1,
	};
	struct history unfinished = {0};
	unsigned skipped;
	int error;

	*result = (struct apply_result){0};
	note(&t, APPLY_PREFLIGHT, "looking whether the change can be made");
	error = presence_new(fabric, &t.presence);
	if (error == 0)
		error = sm_probes(policy, fabric, SM_PAIRS, &probes, &sm_wanted.probe_count, &skipped);
	sm_wanted.probes = probes;
	if (error == 0 && options->stage) {
		error = stage(&t, policy);
	} else if (error == 0 && options->wait_only) {
		t.conf.path = policy->opensm_config; /* of the plan, which is of tables only, there is none */
		error = wait_only(&t, &plan->config);
	} else if (error == 0 && lock_files(&t)) {
		if (look_back(&t, &unfinished) && none_waits(&t) && preflight(&t))
			error = carry_out(&t, policy, plan, &unfinished);
		settle_standbys(&t);
		if (error == 0)
			error = steps_text(&t, policy->path, &result->steps_text);
	}
	transaction_end(&t);
	history_clear(&unfinished);
	free(probes);
	return error;
}
