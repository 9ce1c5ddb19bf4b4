/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What each class had of busy ports, in ibqos audit: against what the policy's plan promises on this fabric. */
#include <stdlib.h>
#include <string.h>

#include "audit_counters.h"

static int draw(FILE *out, void *arg)
{
	return figure_had(out, arg);
}

/* What each class had of the ports that were busy. */
static void report_shares(struct cmd_session *s, const struct shares_options *options, const struct shares_result *result)
{
	static const struct report_column columns[] = {
		{.key = "node_guid", .title = NULL, .type = REPORT_GUID},
		{.key = "node", .title = "node", .type = REPORT_STRING},
		{.key = "port", .title = "port", .type = REPORT_NUMBER},
		{.key = "busy", .title = "busy", .type = REPORT_REAL, .unit = "%", .decimals = 0},
		{.key = "class", .title = "class", .type = REPORT_STRING},
		{.key = "share", .title = "had", .type = REPORT_REAL, .unit = "%", .decimals = 1},
		{.key = "promised", .title = "promised", .type = REPORT_REAL, .unit = "%", .decimals = 1},
	};

	report_section(s->report, "shares", "what classes had");
	report_number(s->report, "counted", "ports that count by SL", result->counted);
	report_number(s->report, "known", "of these compared with an earlier look", result->known);
	report_number(s->report, "busy", "of these busy", result->busy);
	report_number(s->report, "low", "classes with less than their share", result->low);
	report_section_end(s->report);
	if (options->plan)
		report_figure(s->report, "figure_had", "what classes had of busy ports", draw,
			      &(struct figure_had){.fabric = s->fabric, .plan = options->plan, .result = result});
	if (!s->options->all || !options->plan)
		return;
	report_table(s->report, "class_shares", "busy ports", columns, sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < s->fabric->port_count; i++)
		for (size_t c = 0; result->rows[i].judged && c < options->plan->class_count; c++) {
			report_cell_guid(s->report, fabric_port_node(s->fabric, i)->guid);
			report_cell_string(s->report, fabric_port_node(s->fabric, i)->name);
			report_cell_number(s->report, s->fabric->ports[i].number);
			report_cell_real(s->report, 100 * result->rows[i].busy);
			report_cell_string(s->report, options->plan->classes[c].policy->name);
			report_cell_real(s->report, 100 * result->rows[i].share[c]);
			report_cell_real(s->report, 100 * options->plan->classes[c].share_full);
			report_row_end(s->report);
		}
	report_table_end(s->report);
}

/* What the policy promises its classes on this fabric, in `plan`; false: it has no plan, and that was told. */
static bool make_plan(struct cmd_session *s, const struct policy *policy, struct plan **plan)
{
	struct finding_list refused = {0}; /* plan tells them */
	int error = plan_make(policy, s->fabric, PLAN_TABLES_ONLY | PLAN_ALLOW_DROP, &refused, plan);

	finding_list_clear(&refused);
	if (error != 0 || !*plan)
		session_fail(s, "cannot compare shares: the policy has no plan for this fabric; see `ibqos plan`");
	return error == 0 && *plan;
}

void cmd_shares(struct cmd_session *s, const struct policy *policy, const struct cmd_counters *c, struct state *state,
		uint64_t read_at)
{
	struct shares_options how = {.now = read_at, .policy = policy};
	struct shares_result result = {0};
	struct plan *plan = NULL;
	int error;

	if (policy && make_plan(s, policy, &plan)) {
		how.busy = policy->counters.busy;
		how.tolerance = policy->counters.tolerance;
	}
	how.plan = plan;
	error = counters_shares(&c->counters, s->fabric, state, &how, &s->findings, &result);
	if (error != 0)
		session_fail(s, "cannot compare shares: %s", strerror(-error));
	else
		report_shares(s, &how, &result);
	free(result.rows);
	plan_free(plan);
}
