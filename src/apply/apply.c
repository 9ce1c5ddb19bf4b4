/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The steps of an apply, in order, and the way back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transaction.h"

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
}

/* Writes a file, or removes it where it did not exist before. */
static int put_back(const char *path, const char *text, size_t size)
{
	if (text)
		return file_replace(path, text, size, 0644);
	return unlink(path) == 0 || errno == ENOENT ? 0 : -errno;
}

static int install(struct transaction *t)
{
	const struct plan *p = t->plan;
	int error;

	/* The rules first: read with the old tables they do no harm, the tables without them would mislead. */
	error = file_replace(p->rules_path, p->rules_new, p->rules_new_size, 0644);
	if (error != 0) {
		failed(t, p->rules_path, error);
		return error;
	}
	error = file_replace(p->conf_path, p->conf_new, p->conf_new_size, 0644);
	if (error != 0) {
		int undo = put_back(p->rules_path, p->rules_old, p->rules_old_size);

		failed(t, p->conf_path, error);
		if (undo != 0) {
			struct finding *f = finding_at(finding_add(t->findings, FINDING_APPLY_ROLLBACK_FAILED),
						       p->rules_path, 0, 0);

			finding_set(&f->got, "%s", strerror(-undo));
		}
		return error;
	}
	t->result->installed = true;
	return 0;
}

/*
 * The old opensm.conf made explicit for the way back: with QoS on, so that OpenSM programs the old
 * tables at all, and later, where QoS was off, with the key written: a key that is missing keeps
 * its running value over a reload (osm_subnet.c).
 */
static int old_conf_with_qos(const struct transaction *t, const char *qos, char **text, size_t *size)
{
	struct opensm_conf *conf = NULL;
	int error = opensm_conf_parse(t->plan->conf_old, t->plan->conf_old_size, &conf);

	if (error == 0)
		error = opensm_conf_set(conf, "qos", qos);
	if (error == 0)
		error = opensm_conf_render(conf, text, size);
	opensm_conf_free(conf);
	return error;
}

static int old_config(const struct transaction *t, struct qos_config *config, bool *enabled)
{
	struct finding_list doubts = {0}; /* the admin's own file, as it was: no news */
	struct opensm_conf *conf = NULL;
	int error = opensm_conf_parse(t->plan->conf_old, t->plan->conf_old_size, &conf);

	if (error == 0)
		error = opensm_conf_get_qos(conf, t->plan->conf_path, config, enabled, &doubts);
	opensm_conf_free(conf);
	finding_list_clear(&doubts);
	return error;
}

static int restore_files(struct transaction *t, const char *qos)
{
	const struct plan *p = t->plan;
	char *text = NULL;
	size_t size = 0;
	int error = old_conf_with_qos(t, qos, &text, &size);

	if (error == 0)
		error = put_back(p->rules_path, p->rules_old, p->rules_old_size);
	if (error == 0)
		error = file_replace(p->conf_path, text, size, 0644);
	free(text);
	return error;
}

/*
 * Puts the old files back and reloads until the ports hold the old tables again. A stop by the
 * user does not stop this: half-way is the worst place to be.
 */
static void roll_back(struct transaction *t, struct verify **verify)
{
	struct ibqos_ctx steadfast = *t->ctx;
	struct qos_config config;
	bool qos_was_on = false;
	struct finding *f;
	int error;

	steadfast.stop = NULL;
	begin_step(t, APPLY_ROLLBACK, "putting the old files back");
	error = old_config(t, &config, &qos_was_on);
	if (error == 0)
		error = restore_files(t, "TRUE");
	if (error == 0) {
		t->result->installed = false;
		error = converge(t, &steadfast, &config, verify);
	}
	if (!qos_was_on) {
		int off = restore_files(t, "FALSE");

		t->result->installed &= off != 0;
		if (off == 0)
			off = opensm_reload(&t->sm);
		if (off == 0)
			t->result->reloads++;
		if (error == 0)
			error = off;
	}
	t->result->rolled_back = !t->result->installed && error == 0;
	f = finding_add(t->findings, t->result->rolled_back ? FINDING_APPLY_ROLLED_BACK : FINDING_APPLY_ROLLBACK_FAILED);
	if (!t->result->rolled_back)
		finding_set(&f->got, "%s%s", error == -ETIME ? "the ports did not take the old tables in time" : strerror(-error),
			    t->result->installed ? "; the new files are still in place" : "; the old files are in place");
	if (t->result->history)
		finding_set(&f->detail, "the files before and after are kept in %s", t->result->history);
	history_note(t->result->history, APPLY_DONE, t->result->rolled_back ? "rolled back" : "roll back failed");
}

/* Why the change did not come through, as a finding. */
static void report_why(struct transaction *t, int error)
{
	struct finding *f;

	if (error == -EBADMSG) {
		f = finding_at(finding_add(t->findings, FINDING_OPENSM_POLICY_REFUSED), t->plan->rules_path, 0, 0);
		if (t->events.last_error)
			finding_set(&f->got, "%s", t->events.last_error);
	} else {
		f = finding_add(t->findings, FINDING_APPLY_FAILED);
		if (error == -ESRCH)
			finding_set(&f->got, "OpenSM ended after it was told to reload");
		else if (error == -ETIME)
			finding_set(&f->got, "%u of %u ports did not read back right within %u s",
				    t->result->verify.ports_differ + t->result->verify.ports_unknown,
				    t->result->verify.ports, t->options->deadline_s);
		else if (error == -EINTR)
			finding_set(&f->got, "stopped by a signal");
		else
			finding_set(&f->got, "%s", strerror(-error));
	}
}

/* Whether so few ports lag that the new tables stay: the rest of the fabric runs on them already. */
static bool few_lag(const struct transaction *t)
{
	const struct verify_result *r = &t->result->verify;
	uint32_t lag = r->ports_differ + r->ports_unknown;

	return r->ports > 0 && lag <= t->options->max_lag * r->ports;
}

static void list_lagging(struct transaction *t)
{
	struct finding *f = finding_add(t->findings, FINDING_APPLY_LAG);

	finding_set(&f->got, "%u of %u ports", t->result->verify.ports_differ + t->result->verify.ports_unknown,
		    t->result->verify.ports);
	finding_set(&f->detail, "the new tables stay: no more than %.3g %% lag", 100 * t->options->max_lag);
}

/* The devices hold the plan already and so do the files: nothing to do. */
static int already_applied(struct transaction *t, bool *applied)
{
	const struct plan *p = t->plan;
	struct verify *verify = NULL;
	int error;

	*applied = false;
	if (!p->rules_old || p->conf_old_size != p->conf_new_size || p->rules_old_size != p->rules_new_size ||
	    memcmp(p->conf_old, p->conf_new, p->conf_new_size) != 0 ||
	    memcmp(p->rules_old, p->rules_new, p->rules_new_size) != 0)
		return 0;
	error = verify_new(t->ctx, t->fabric, &p->config, &verify);
	if (error == 0)
		error = verify_run(verify, t->source, false);
	if (error == 0) {
		t->result->verify = *verify_result(verify);
		*applied = t->result->verify.ports_differ == 0 && t->result->verify.ports_unknown == 0;
	}
	verify_free(verify);
	return error;
}

static void change(struct transaction *t)
{
	struct verify *verify = NULL;
	int error;

	begin_step(t, APPLY_BACKUP, "keeping the old files");
	error = history_begin(t->ctx, t->policy, t->plan, &t->result->history);
	if (error != 0) {
		failed(t, "keeping the old files under the state directory", error);
		return;
	}
	error = begin_step(t, APPLY_INSTALL, "writing OpenSM's files");
	if (error != 0) {
		failed(t, "writing the journal", error);
		return;
	}
	if (install(t) != 0)
		return;
	begin_step(t, APPLY_CONVERGE, "reloading OpenSM and reading the ports back");
	error = converge(t, t->ctx, &t->plan->config, &verify);
	if (error == 0) {
		begin_step(t, APPLY_DONE, "every port holds the new tables");
	} else {
		report_why(t, error);
		if (error == -ETIME && few_lag(t)) {
			list_lagging(t);
			verify_findings(verify, t->findings);
			history_note(t->result->history, APPLY_DONE, "some ports lag, the new tables stay");
		} else {
			/* which ports, as they were before the way back changes them again */
			if (verify && error == -ETIME)
				verify_findings(verify, t->findings);
			roll_back(t, &verify);
		}
	}
	verify_free(verify);
}

int apply_run(const struct ibqos_ctx *ctx, struct source *source, struct fabric *fabric, const struct policy *policy,
	      const struct plan *plan, const struct apply_options *options, struct finding_list *findings,
	      struct apply_result *result)
{
	struct transaction t = {.ctx = ctx, .source = source, .fabric = fabric, .policy = policy, .plan = plan,
				.options = options, .findings = findings, .result = result, .sm = {.pidfd = -1}};
	bool applied = false;
	int error = 0;

	*result = (struct apply_result){0};
	begin_step(&t, APPLY_PREFLIGHT, "looking whether the change can be made");
	if (preflight(&t)) {
		t.log_path = policy->opensm_log ? policy->opensm_log : t.sm.log;
		error = already_applied(&t, &applied);
		if (error == 0 && applied) {
			result->unchanged = true;
			result->installed = true;
			result->reached = APPLY_DONE;
		} else if (error == 0) {
			change(&t);
		}
	}
	opensm_log_events_clear(&t.events);
	opensm_instance_clear(&t.sm);
	return error;
}
