/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Waiting alone: another tool has put the files there and reloads OpenSM; ibqos only reads the ports
 * until they hold the policy, and asks the SM whether it runs it.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "survey.h"

#define NS_PER_S 1000000000ull
#define WAIT_MS 250

/* Whether the SM says so too: its answers may come a moment after the tables. */
static int ask(struct transaction *t, struct finding_list *findings, bool *right)
{
	struct sm_result sm = {0};
	int error = sm_check(t->source, t->fabric, t->sm_wanted, findings, &sm);

	*right = error == 0 && sm.right;
	return error;
}

/* One look at what differs still; and when nothing does, at all. 0: right; -EAGAIN; -errno. */
static int look(struct transaction *t, struct verify *verify, bool first)
{
	const struct verify_result *state = &t->result->verify;
	bool right = false;
	int error = verify_run(verify, t->source, !first);

	t->result->verify = *verify_result(verify);
	t->result->measured = true;
	if (error == 0 && !first && state->ports_differ + state->ports_unknown == 0) {
		error = verify_run(verify, t->source, false);
		t->result->verify = *verify_result(verify);
	}
	if (error == 0 && t->options->progress && !t->options->progress(t->options->progress_arg, "waiting", state))
		error = -EINTR;
	if (error == 0 && state->ports_differ + state->ports_unknown == 0)
		error = ask(t, NULL, &right);
	return error ? error : right ? 0 : -EAGAIN;
}

static void tell_missed(struct transaction *t, const struct verify *verify)
{
	const struct verify_result *state = &t->result->verify;
	uint32_t lag = state->ports_differ + state->ports_unknown;
	struct finding *f;
	bool right;

	t->result->outcome = APPLY_NOT_REACHED;
	if (lag > 0) {
		f = finding_add(t->findings, FINDING_APPLY_LAG);
		finding_set(&f->got, "%u of %u ports, after %u s", lag, state->ports, t->options->deadline_s);
		verify_findings(verify, t->findings);
		return;
	}
	f = finding_add(t->findings, FINDING_APPLY_FAILED);
	finding_set(&f->got, "every port holds the tables, but the subnet manager does not say that it runs the policy");
	ask(t, t->findings, &right);
}

/* Where the OpenSM that is meant runs here, whether the ports are those of its fabric; else a finding. */
static bool is_its_fabric(struct transaction *t, int *error)
{
	if (t->options->elsewhere)
		return true;
	*error = survey_master(t);
	if (*error != 0 || !judge_master_here(t))
		return false;
	tell_master_unknown(t);
	return true;
}

int wait_only(struct transaction *t, const struct qos_config *config)
{
	uint64_t start = clock_ns();
	struct verify *verify = NULL;
	bool first = true;
	int error = 0;

	if (!is_its_fabric(t, &error))
		return error;
	error = verify_new(t->ctx, t->fabric, config, &verify);
	note(t, APPLY_CONVERGE, "reading the ports back");
	while (error == 0) {
		error = look(t, verify, first);
		first = false;
		if (error == 0) {
			t->result->outcome = APPLY_WAITED;
			t->result->seconds = (double)(clock_ns() - start) / NS_PER_S;
			t->result->reached = APPLY_DONE;
			break;
		}
		if (error != -EAGAIN || ctx_stopped(t->ctx))
			break;
		error = 0;
		if (clock_ns() - start > t->options->deadline_s * NS_PER_S) {
			tell_missed(t, verify);
			break;
		}
		poll(NULL, 0, WAIT_MS);
	}
	verify_free(verify);
	return ctx_stopped(t->ctx) ? -EINTR : error == -EAGAIN ? 0 : error;
}
