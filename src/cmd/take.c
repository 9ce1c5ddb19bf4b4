/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Taking a snapshot of the fabric that a session has discovered, with what a policy needs of the subnet manager. */
#include "take.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ibqos/counters.h"
#include "ibqos/policy.h"
#include "verify_sm.h"

/* What is asked of the subnet manager: who it is, what its administrator can, and paths. */
static int make_questions(const struct cmd_session *s, struct source_sm_query **queries, size_t *count)
{
	struct sm_probe *probes = NULL;
	unsigned skipped;
	size_t probe_count = 0;
	int error = sm_probes(NULL, s->fabric, SM_PAIRS, &probes, &probe_count, &skipped);

	*queries = NULL;
	*count = 0;
	if (error == 0) {
		*queries = calloc(probe_count + 2, sizeof(**queries));
		error = *queries ? 0 : -ENOMEM;
	}
	if (error == 0) {
		(*queries)[(*count)++] =
			(struct source_sm_query){.mgmt_class = MAD_CLASS_SMP, .attribute = MAD_SM_INFO};
		(*queries)[(*count)++] = (struct source_sm_query){.mgmt_class = MAD_CLASS_SA,
								  .attribute = MAD_SA_CLASS_PORT_INFO};
		for (size_t i = 0; i < probe_count; i++)
			sm_probe_query(s->fabric, &probes[i], &(*queries)[(*count)++]);
	}
	free(probes);
	return error;
}

/*
 * What verify asks depends on a policy, and on what it finds: it runs on the snapshot just taken, and what it
 * asks of the subnet manager beyond that is put to it and kept. What it says of the fabric is for a later
 * verify.
 */
static void record(struct cmd_session *s, struct snapshot *snapshot, const char *policy, const char *opensm_conf)
{
	struct cmd_session scratch = {.ctx = s->ctx, .options = s->options, .out = fopen("/dev/null", "we")};
	int error = scratch.out ? source_open_recording(snapshot, s->source, &scratch.source) : -errno;

	if (error == 0) {
		scratch.report = report_begin(s->ctx, scratch.out, REPORT_TEXT);
		error = scratch.report ? 0 : -ENOMEM;
	}
	if (error == 0) {
		if (policy)
			cmd_verify_policy(&scratch, policy, SM_RECORDS);
		else
			cmd_verify_conf(&scratch, opensm_conf, SM_RECORDS);
		if (scratch.least != IBQOS_EXIT_CLEAN) /* it has said why */
			s->least = IBQOS_EXIT_UNKNOWN;
		report_end(scratch.report, scratch.least);
	}
	if (error != 0)
		session_fail(s, "cannot verify what was taken: %s", strerror(-error));
	if (scratch.out)
		fclose(scratch.out);
	finding_list_clear(&scratch.findings);
	fabric_free(scratch.fabric);
	source_close(scratch.source);
}

void cmd_take_counters(struct cmd_session *s, struct snapshot *snapshot)
{
	struct counters counters = {0};
	struct source *source = NULL;
	int error = source_open_recording_counters(snapshot, s->source, &source);

	if (error == 0)
		error = counters_ask(source, s->fabric, NULL, false, &counters);
	if (counters.ports)
		counters_gaps(&counters, s->fabric, &s->findings);
	if (error != 0 && error != -EINTR) /* a signal is told at the end */
		session_fail(s, "cannot read the counters: %s", strerror(-error));
	counters_clear(&counters);
	source_close(source);
}

bool cmd_take(struct cmd_session *s, const char *policy, const char *opensm_conf, struct snapshot **snapshot)
{
	struct source_sm_query *queries = NULL;
	size_t count = 0;
	int error = make_questions(s, &queries, &count);

	*snapshot = NULL;
	if (error == 0)
		error = snapshot_take(s->ctx, s->source, s->fabric, (uint64_t)time(NULL), queries, count, snapshot);
	if (error == 0 && (policy || opensm_conf))
		record(s, *snapshot, policy, opensm_conf);
	free(queries);
	if (error == 0 && !ctx_stopped(s->ctx))
		return true;
	if (error == 0 || error == -EINTR)
		session_fail(s, "stopped by a signal: nothing was written");
	else
		session_fail(s, "cannot take a snapshot: %s", strerror(-error));
	snapshot_free(*snapshot);
	*snapshot = NULL;
	return false;
}

bool cmd_policy_is_good(struct cmd_session *s, const char *path)
{
	struct policy *policy = NULL;
	int error = policy_read(path, &s->findings, &policy);
	bool good = policy;

	session_trust(s, path);
	if (error != 0)
		session_fail(s, "cannot read policy %s: %s", path, strerror(-error));
	if (good)
		session_policy(s, path, policy->name);
	finding_list_drop(&s->findings, FINDING_NOTE);
	policy_free(policy);
	return error == 0 && good;
}
