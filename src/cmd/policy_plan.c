/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What plan, apply and verify share: a policy compiled for the fabric, and its classes as a table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy_plan.h"

#include "ibqos/paths.h"

bool cmd_opensm_elsewhere(const struct cmd_options *options)
{
	return options->opensm_config && strcmp(options->opensm_config, "none") == 0;
}

/* What --opensm-config says in place of the policy. False: out of memory. */
static bool opensm_config_of(const struct cmd_session *s, struct policy *policy, unsigned *flags)
{
	char *path;

	if (cmd_opensm_elsewhere(s->options)) {
		*flags |= PLAN_TABLES_ONLY;
		return true;
	}
	if (!s->options->opensm_config)
		return true;
	path = strdup(s->options->opensm_config);
	if (!path)
		return false;
	if (strcmp(path, policy->opensm_config) != 0) { /* that of another OpenSM; this one's process says where its own is */
		free(policy->opensm_log);
		policy->opensm_log = NULL;
	}
	free(policy->opensm_config);
	policy->opensm_config = path;
	return true;
}

bool cmd_compile(struct cmd_session *s, const char *path, unsigned flags, struct cmd_plan *out)
{
	int error;

	*out = (struct cmd_plan){0};
	report_string(s->report, "policy", NULL, path);
	session_trust(s, path);
	/* The policy first: a fault in it is told without waiting for the fabric. */
	error = policy_read(path, &s->findings, &out->policy);
	if (error != 0) {
		session_fail(s, "cannot read policy %s: %s", path, strerror(-error));
		return false;
	}
	if (!out->policy)
		return false;
	session_policy(s, path, out->policy->name);
	if (!opensm_config_of(s, out->policy, &flags)) {
		session_fail(s, "out of memory");
		return false;
	}
	/* Notes on the file are for lint: here they would only hide what matters. */
	finding_list_drop(&s->findings, FINDING_NOTE);
	if (!session_discover(s))
		return false;
	error = plan_make(out->policy, s->fabric, flags, &s->findings, &out->plan);
	if (error != 0) {
		session_fail(s, "cannot make a plan: %s", strerror(-error));
		return false;
	}
	return out->plan != NULL;
}

bool cmd_plan_guard(struct cmd_session *s, const struct cmd_plan *p)
{
	struct check_coverage coverage;
	uint16_t sls = 0;
	int error;

	for (size_t i = 0; i < p->policy->class_count; i++)
		sls |= (uint16_t)(1u << p->policy->classes[i].sl);
	error = paths_guard(s->ctx, s->source, s->fabric, &p->plan->config, sls, &s->findings, &coverage);
	if (error != 0 && error != -EINTR) /* a signal is told at the end */
		session_fail(s, "cannot look for circles of credits: %s", strerror(-error));
	report_section(s->report, "forwarding_tables", "forwarding tables, for circles of credits");
	report_number(s->report, "asked", "queries", coverage.asked);
	report_number(s->report, "answered", "answered", coverage.ended[MAD_ANSWERED]);
	session_failures(s->report, "status", "refused", coverage.ended[MAD_STATUS]);
	session_failures(s->report, "timed_out", "timed out", coverage.ended[MAD_TIMED_OUT]);
	session_failures(s->report, "not_asked", "given up", coverage.ended[MAD_NOT_ASKED]);
	report_section_end(s->report);
	return finding_count_code(&s->findings, FINDING_PLAN_LOOP) == 0;
}

void cmd_plan_clear(struct cmd_plan *p)
{
	plan_free(p->plan);
	policy_free(p->policy);
	*p = (struct cmd_plan){0};
}

/* A class's traffic classes beyond the first: "45, 49"; NULL: out of memory. */
static char *more_tcs(const struct policy_class *class)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < class->more_tcs.count; i++)
		fprintf(out, "%s%u", i ? ", " : "", (unsigned)class->more_tcs.items[i].low);
	return text_stream_end(out, &text) == 0 ? text : NULL;
}

void cmd_cells_of_tcs(struct report *r, const struct policy_class *class)
{
	char *more = class->more_tcs.count ? more_tcs(class) : NULL;

	if (class->nccl_ib_tc == POLICY_NO_TC)
		report_cell_none(r);
	else
		report_cell_number(r, (uint64_t)class->nccl_ib_tc);
	if (class->more_tcs.count)
		report_cell_string(r, more);
	else
		report_cell_none(r);
	free(more);
}

void cmd_report_classes(struct report *r, const struct plan *plan)
{
	static const struct report_column columns[] = {
		{.key = "name", .title = "class", .type = REPORT_STRING},
		{.key = "sl", .title = "SL", .type = REPORT_NUMBER},
		{.key = "vl", .title = "VL", .type = REPORT_NUMBER},
		{.key = "nccl_ib_tc", .title = "NCCL_IB_TC", .type = REPORT_NUMBER},
		{.key = "more_tcs", .title = "or", .type = REPORT_STRING},
		{.key = "priority", .title = "priority", .type = REPORT_STRING},
		{.key = "share_wanted", .title = "share asked", .type = REPORT_REAL, .unit = "%", .decimals = 1},
		{.key = "share_guaranteed", .title = "guaranteed", .type = REPORT_REAL, .unit = "%", .decimals = 1},
		{.key = "share_256", .title = "with its packets 256 bytes, others full", .type = REPORT_REAL, .unit = "%", .decimals = 1},
	};

	report_table(r, "classes", "classes: the share of a busy link that each keeps when all are busy", columns,
		     sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < plan->class_count; i++) {
		const struct plan_class *c = &plan->classes[i];

		report_cell_string(r, c->policy->name);
		report_cell_number(r, c->policy->sl);
		report_cell_number(r, c->vl);
		cmd_cells_of_tcs(r, c->policy);
		report_cell_string(r, c->policy->priority == POLICY_PRIORITY_HIGH ? "high" : "normal");
		report_cell_real(r, c->policy->share);
		report_cell_real(r, 100 * c->share_full);
		report_cell_real(r, 100 * c->share_256);
		report_row_end(r);
	}
	report_table_end(r);
}

static void report_config(struct report *r, const char *key, const char *title, const struct qos_config *config)
{
	static const struct report_column columns[] = {
		{.key = "port_type", .title = "ports", .type = REPORT_STRING},
		{.key = "sl2vl", .title = "SL2VL", .type = REPORT_STRING},
		{.key = "vlarb_high", .title = "VLArb high", .type = REPORT_STRING},
		{.key = "vlarb_low", .title = "VLArb low", .type = REPORT_STRING},
		{.key = "high_limit", .title = "high limit", .type = REPORT_NUMBER},
	};
	char text[QOS_TEXT_MAX];

	report_table(r, key, title, columns, sizeof(columns) / sizeof(columns[0]));
	for (int type = 0; type < QOS_PORT_TYPES; type++) {
		const struct qos_tables *t = &config->of[type];

		report_cell_string(r, qos_port_type_name(type));
		qos_sl2vl_format(&t->sl2vl, text);
		report_cell_string(r, text);
		qos_vlarb_format(t->high.entry, t->high.count, text);
		report_cell_string(r, text);
		qos_vlarb_format(t->low.entry, t->low.count, text);
		report_cell_string(r, text);
		report_cell_number(r, t->high_limit);
		report_row_end(r);
	}
	report_table_end(r);
}

void cmd_report_tables(struct report *r, const struct plan *plan)
{
	report_section(r, "links_planned_for", "planned for");
	report_number(r, "vls", "data VLs on every link", plan->vls);
	report_number(r, "mtu", "MTU", plan->mtu);
	report_number(r, "vlarb_cap", "VLArb entries", plan->vlarb_cap);
	report_section_end(r);
	report_config(r, "tables", "tables", &plan->config);
	if (plan->step)
		report_config(r, "tables_between",
			      "tables in between: to be programmed first, so that no traffic is held up: apply does",
			      plan->step);
}
