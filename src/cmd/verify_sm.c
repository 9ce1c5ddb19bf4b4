/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The subnet manager's part of a verdict: asked, and reported as a section and a table of coverage. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verify_sm.h"

static const char *state_of(const struct sm_result *result)
{
	static const char *const names[] = {[MAD_SM_NOT_ACTIVE] = "not active",
					    [MAD_SM_DISCOVERING] = "discovering",
					    [MAD_SM_STANDBY] = "standby",
					    [MAD_SM_MASTER] = "master"};

	return result->known && result->info.state <= MAD_SM_MASTER ? names[result->info.state] : NULL;
}

static void report_sm(struct cmd_session *s, const struct sm_result *result, unsigned skipped)
{
	struct report *r = s->report;

	report_section(r, "sm", "subnet manager");
	report_number(r, "lid", "LID", s->fabric->sm_lid);
	report_string(r, "state", "state", state_of(result));
	if (result->known) {
		report_guid(r, "port_guid", "port GUID", result->info.guid);
		report_number(r, "priority", "priority", result->info.priority);
		report_number(r, "act_count", NULL, result->info.act_count); /* not in text, which is the same each time */
	}
	report_string(r, "qos", "QoS", !result->qos_known ? NULL : result->qos ? "on" : "off");
	if (result->coverage[SM_PATH_RECORD].asked > 0) {
		report_number(r, "paths_right", "paths with the SL of the policy", result->paths_right);
		report_number(r, "paths_wrong", "paths with another", result->paths_wrong);
		report_number(r, "paths_none", "asked for where there is none", result->paths_none);
		report_number(r, "paths_unknown", "paths not known", result->paths_unknown);
		report_number(r, "rules_not_asked", "rules not asked about", skipped);
	}
	report_section_end(r);
}

static void report_coverage(struct report *r, const struct sm_result *result)
{
	static const struct report_column columns[] = {
		{.key = "item", .title = "asked for", .type = REPORT_STRING},
		{.key = "asked", .title = "queries", .type = REPORT_NUMBER},
		{.key = "answered", .title = "answered", .type = REPORT_NUMBER},
		{.key = "status", .title = "refused", .type = REPORT_NUMBER},
		{.key = "timed_out", .title = "timed out", .type = REPORT_NUMBER},
		{.key = "not_asked", .title = "given up", .type = REPORT_NUMBER},
	};

	report_table(r, "sm_coverage", "coverage of the subnet manager", columns,
		     sizeof(columns) / sizeof(columns[0]));
	for (int i = 0; i < SM_ITEMS; i++) {
		const struct check_coverage *c = &result->coverage[i];

		if (c->asked == 0)
			continue;
		report_cell_string(r, sm_item_name(i));
		report_cell_number(r, c->asked);
		report_cell_number(r, c->ended[MAD_ANSWERED]);
		report_cell_number(r, c->ended[MAD_STATUS]);
		report_cell_number(r, c->ended[MAD_TIMED_OUT]);
		report_cell_number(r, c->ended[MAD_NOT_ASKED]);
		report_row_end(r);
	}
	report_table_end(r);
}

void cmd_verify_sm(struct cmd_session *s, const struct policy *policy)
{
	struct sm_options options = {.qos = true};
	struct sm_probe *probes = NULL;
	struct sm_result result;
	unsigned skipped = 0;
	int error = 0;

	if (s->fabric->sm_lid == 0)
		return;
	if (policy)
		error = sm_probes(policy, s->fabric, SM_PAIRS, &probes, &options.probe_count, &skipped);
	options.probes = probes;
	if (error == 0) {
		if (policy && options.probe_count == 0)
			session_fail(s, "no active adapter was found, so the subnet administrator was asked for no path");
		error = sm_check(s->source, s->fabric, &options, &s->findings, &result);
		report_sm(s, &result, skipped);
		report_coverage(s->report, &result);
	}
	if (error != 0 && error != -EINTR) /* a signal is told at the end */
		session_fail(s, "cannot ask the subnet manager: %s", strerror(-error));
	free(probes);
}

void cmd_ask_sm(struct cmd_session *s)
{
	const struct sm_options options = {0};
	struct sm_result result;
	int error = s->fabric->sm_lid == 0 ? 0 : sm_check(s->source, s->fabric, &options, &s->findings, &result);

	if (error != 0 && error != -EINTR)
		session_fail(s, "cannot ask the subnet manager: %s", strerror(-error));
}
