/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The subnet manager's part of a verdict: asked, and reported as a section and a table of coverage. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/opensm.h"
#include "verify_sm.h"

static const char *state_of(const struct sm_result *result)
{
	static const char *const names[] = {[MAD_SM_NOT_ACTIVE] = "not active",
					    [MAD_SM_DISCOVERING] = "discovering",
					    [MAD_SM_STANDBY] = "standby",
					    [MAD_SM_MASTER] = "master"};

	return result->known && result->info.state <= MAD_SM_MASTER ? names[result->info.state] : NULL;
}

static void report_sm(struct cmd_session *s, const struct sm_result *result, unsigned skipped,
		      const struct verify_records *records)
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
	if (records->left > 0)
		report_number(r, "records_not_asked", "records of differing tables not asked for (--sm-records)", records->left);
	report_section_end(r);
}

/* Only what there was to ask. */
static void coverage_row(struct report *r, const char *item, const struct check_coverage *c)
{
	if (c->asked > 0)
		session_coverage_row(r, item, c);
}

static void report_coverage(struct report *r, const struct sm_result *result, const struct verify_records *records,
			    const struct sm_partitions *partitions)
{
	session_coverage_table(r, "sm_coverage", "coverage of the subnet manager");
	for (int i = 0; i < SM_ITEMS; i++)
		coverage_row(r, sm_item_name(i), &result->coverage[i]);
	for (int i = 0; i < SM_TABLE_KINDS; i++)
		coverage_row(r, sm_table_name(i), &records->coverage[i]);
	coverage_row(r, "P_Key tables of hosts", &partitions->coverage);
	report_table_end(r);
}

/* Whether the master runs on this machine: its port is of the system that we look from. */
static bool is_local(const struct fabric *fabric, const struct sm_result *result)
{
	if (!result->known || fabric->from_node == FABRIC_NONE)
		return false;
	for (uint32_t i = 0; i < fabric->port_count; i++)
		if (fabric->ports[i].guid == result->info.guid)
			return fabric_port_node(fabric, i)->system_guid == fabric->nodes[fabric->from_node].system_guid;
	return false;
}

/* Whether `config` is the very file that the master reads. */
static bool reads_config(const struct cmd_session *s, const char *config, const struct sm_result *result)
{
	struct opensm_instance instance = {.pidfd = -1};
	bool reads;

	if (!config || !is_local(s->fabric, result))
		return false;
	reads = opensm_find(s->ctx, config, &instance) == 0 && opensm_sees(&instance, config) == 1;
	opensm_instance_clear(&instance);
	return reads;
}

static int class_differences(struct cmd_session *s, const struct cmd_sm_options *options,
			     const struct sm_result *result, bool file_holds, struct verify_records *records)
{
	const struct verify_record_options asked = {.sm = result, .file_holds = file_holds, .limit = options->records};

	if (!options->verify || options->records == 0)
		return 0;
	return verify_ask_records(options->verify, s->source, &asked, records);
}

static const char *state_name(const struct sm_seen *sm)
{
	const struct sm_result result = {.known = sm->outcome == MAD_ANSWERED, .info = sm->info};

	return state_of(&result);
}

/* Each subnet manager, where there are several. */
static void report_sms(struct cmd_session *s, const struct sm_seen *sms, uint32_t count)
{
	static const struct report_column columns[] = {
		{.key = "node", .title = "on", .type = REPORT_STRING},
		{.key = "port", .title = "port", .type = REPORT_NUMBER},
		{.key = "port_guid", .title = "port GUID", .type = REPORT_GUID},
		{.key = "lid", .title = "LID", .type = REPORT_NUMBER},
		{.key = "state", .title = "state", .type = REPORT_STRING},
		{.key = "priority", .title = "priority", .type = REPORT_NUMBER},
	};

	report_table(s->report, "sms", "subnet managers", columns, sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < count; i++) {
		const struct fabric_port *port = &s->fabric->ports[sms[i].port];

		report_cell_string(s->report, fabric_port_node(s->fabric, sms[i].port)->name);
		report_cell_number(s->report, port->number);
		report_cell_guid(s->report, port->guid);
		report_cell_number(s->report, fabric_port_lid(port));
		report_cell_string(s->report, state_name(&sms[i]));
		if (sms[i].outcome == MAD_ANSWERED)
			report_cell_number(s->report, sms[i].info.priority);
		else
			report_cell_none(s->report);
		report_row_end(s->report);
	}
	report_table_end(s->report);
}

/* All of them; those that were not asked before count in the result's coverage too. */
static int ask_sms(struct cmd_session *s, struct sm_result *result)
{
	struct sm_seen *sms = NULL;
	uint32_t count = 0;
	int error = sm_list(s->source, s->fabric, &sms, &count);

	for (uint32_t i = 0; i < count; i++) {
		if (fabric_port_lid(&s->fabric->ports[sms[i].port]) == s->fabric->sm_lid)
			continue;
		result->coverage[SM_INFO].asked++;
		result->coverage[SM_INFO].ended[sms[i].outcome]++;
	}
	if (error == 0 && count > 1)
		report_sms(s, sms, count);
	if (error == 0)
		sm_rivals(s->fabric, result, sms, count, &s->findings);
	free(sms);
	return error;
}

/* SMInfo was asked for before and after the ports were read, too. */
static void add_coverage(struct check_coverage *to, const struct check_coverage *more)
{
	to->asked += more->asked;
	for (int i = 0; i < MAD_OUTCOMES; i++)
		to->ended[i] += more->ended[i];
}

void cmd_verify_sm(struct cmd_session *s, const struct cmd_sm_options *options, struct cmd_sm_told *told)
{
	const struct policy *policy = options->policy;
	struct sm_options asked = {.qos = true, .rate = options->all_leaves ? options->sa_rate : 0};
	struct sm_partitions partitions = {0};
	struct verify_records records = {0};
	struct sm_probe *probes = NULL;
	struct sm_result result;
	unsigned skipped = 0;
	bool file_holds;
	int error = 0;

	if (told)
		*told = (struct cmd_sm_told){0};
	if (s->fabric->sm_lid == 0)
		return;
	if (policy)
		error = sm_partitions_ask(s->source, s->fabric, policy, &partitions);
	if (policy && error == 0) {
		const struct sm_probe_options choice = {.pairs = SM_PAIRS,
							.all_leaves = options->all_leaves,
							.scope = session_scope_of(s),
							.partitions = &partitions};

		error = sm_probes_choose(policy, s->fabric, &choice, &probes, &asked.probe_count, &skipped);
	}
	asked.probes = probes;
	if (error == 0) {
		if (policy && asked.probe_count == 0)
			session_fail(s, "no active adapter was found, so the subnet administrator was asked for no path");
		error = sm_check(s->source, s->fabric, &asked, &s->findings, &result);
		file_holds = error == 0 && reads_config(s, options->config, &result);
		if (error == 0)
			error = class_differences(s, options, &result, file_holds, &records);
		if (options->verify)
			verify_records_findings(options->verify, &records, &s->findings);
		if (told)
			*told = (struct cmd_sm_told){.asked = true, .result = result, .file_holds = file_holds};
		if (options->watch)
			add_coverage(&result.coverage[SM_INFO], &options->watch->coverage);
		report_sm(s, &result, skipped, &records);
		if (error == 0)
			error = ask_sms(s, &result);
		report_coverage(s->report, &result, &records, &partitions);
	}
	if (error != 0 && error != -EINTR) /* a signal is told at the end */
		session_fail(s, "cannot ask the subnet manager: %s", strerror(-error));
	sm_partitions_clear(&partitions);
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
