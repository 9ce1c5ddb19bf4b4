/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos lint: a policy file, or OpenSM's own files, checked by themselves; all faults in one run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opensm_files.h"
#include "policy_plan.h"

#include "ibqos/changes.h"
#include "ibqos/policy.h"
#include "ibqos/site.h"

struct lint_options {
	struct cmd_options common; /* first: children get the same pointer */
	struct cmd_files files;	   /* in place of a policy */
	bool suggest_sl;
	const char *site; /* in place of a policy */
	int (*describe)(FILE *out); /* --schema, --manual, --findings: in place of a policy */
};

enum { KEY_SUGGEST_SL = 0x200, KEY_SCHEMA, KEY_MANUAL, KEY_FINDINGS, KEY_SITE, KEY_SITE_SCHEMA, KEY_SITE_MANUAL, KEY_CHANGE_SCHEMA };

static const struct argp_option own_options[] = {
	CMD_FILES_KEYS,
	{"suggest-sl", KEY_SUGGEST_SL, NULL, 0, "propose free SLs for classes that have none yet", 0},
	{"schema", KEY_SCHEMA, NULL, 0, "print the policy language as a JSON Schema", 0},
	{"manual", KEY_MANUAL, NULL, OPTION_HIDDEN, NULL, 0},
	{"findings", KEY_FINDINGS, NULL, OPTION_HIDDEN, NULL, 0},
	{"site", KEY_SITE, "FILE", 0, "check a site file (ibqos-site(5)), and the policy of each of its fabrics that is on this host", 0},
	{"site-schema", KEY_SITE_SCHEMA, NULL, 0, "print the language of site files as a JSON Schema", 0},
	{"change-schema", KEY_CHANGE_SCHEMA, NULL, 0, "print the language of change files as a JSON Schema", 0},
	{"site-manual", KEY_SITE_MANUAL, NULL, OPTION_HIDDEN, NULL, 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct lint_options *o = state->input;

	if (cmd_files_option(&o->files, key, arg))
		return 0;
	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &o->common);
		return 0;
	case KEY_SUGGEST_SL:
		o->suggest_sl = true;
		return 0;
	case KEY_SCHEMA:
		o->describe = policy_schema;
		return 0;
	case KEY_MANUAL:
		o->describe = policy_manual;
		return 0;
	case KEY_FINDINGS:
		o->describe = finding_manual;
		return 0;
	case KEY_SITE:
		o->site = arg;
		return 0;
	case KEY_SITE_SCHEMA:
		o->describe = site_schema;
		return 0;
	case KEY_CHANGE_SCHEMA:
		o->describe = changes_schema;
		return 0;
	case KEY_SITE_MANUAL:
		o->describe = site_manual;
		return 0;
	default:
		return cmd_argument(key, arg, state, &o->common, o->describe || o->site || cmd_files_given(&o->files) ? 0 : 1,
				    "the policy file");
	}
}

const struct argp cmd_lint_argp = {
	.options = own_options,
	.parser = parse,
	.args_doc = "POLICY\n--opensm-conf FILE [--qos-policy FILE] [--partitions FILE]\n--site FILE",
	.doc = "Checks a policy file and reports every fault with its line and column. What may stand in it is told by "
	       "ibqos-policy(5). Or checks files of OpenSM: what OpenSM refuses, passes over, or reads otherwise than it "
	       "looks, and what does harm to traffic.\v"
	       "Exit status: 0 no fault, 1 warnings, 2 faults, 3 the file cannot be read.",
	.children = cmd_output_children,
};

static void report_classes(struct report *r, const struct policy *policy)
{
	static const struct report_column columns[] = {
		{.key = "name", .title = "class", .type = REPORT_STRING},
		{.key = "sl", .title = "SL", .type = REPORT_NUMBER},
		{.key = "nccl_ib_tc", .title = "NCCL_IB_TC", .type = REPORT_NUMBER},
		{.key = "more_tcs", .title = "or", .type = REPORT_STRING},
		{.key = "share", .title = "share", .type = REPORT_REAL, .unit = "%", .decimals = 1},
		{.key = "priority", .title = "priority", .type = REPORT_STRING},
		{.key = "min_latency", .title = "least latency", .type = REPORT_BOOL},
		{.key = "default", .title = "default", .type = REPORT_BOOL},
	};

	report_table(r, "classes", "classes", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < policy->class_count; i++) {
		const struct policy_class *c = &policy->classes[i];

		report_cell_string(r, c->name);
		if (c->sl_mark.line)
			report_cell_number(r, c->sl);
		else
			report_cell_none(r);
		cmd_cells_of_tcs(r, c);
		report_cell_real(r, c->share);
		report_cell_string(r, c->priority == POLICY_PRIORITY_HIGH ? "high" : "normal");
		report_cell_bool(r, c->min_latency);
		report_cell_bool(r, c->is_default);
		report_row_end(r);
	}
	report_table_end(r);
}

/* The rules in the order in which OpenSM tries them. */
static int report_rules(struct report *r, const struct policy *policy)
{
	static const struct report_column columns[] = {
		{.key = "matches", .title = "a request with", .type = REPORT_STRING},
		{.key = "class", .title = "is in class", .type = REPORT_STRING},
		{.key = "sl", .title = "SL", .type = REPORT_NUMBER},
		{.key = "line", .title = "line", .type = REPORT_NUMBER},
	};
	struct policy_rule *rules;
	size_t count;
	int error = policy_rules(policy, &rules, &count);

	if (error != 0)
		return error;
	report_table(r, "rules", "rules: the first that matches counts; all else is in the default class", columns,
		     sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++) {
		const struct policy_class *c = &policy->classes[rules[i].class];
		char *text = policy_rule_text(&rules[i]);

		report_cell_string(r, text);
		report_cell_string(r, c->name);
		if (c->sl_mark.line)
			report_cell_number(r, c->sl);
		else
			report_cell_none(r);
		report_cell_number(r, rules[i].mark.line);
		report_row_end(r);
		free(text);
	}
	report_table_end(r);
	policy_rules_free(rules, count);
	return 0;
}

static void report_partitions(struct report *r, const struct policy *policy)
{
	static const struct report_column columns[] = {
		{.key = "name", .title = "partition", .type = REPORT_STRING},
		{.key = "pkey", .title = "P_Key", .type = REPORT_STRING},
		{.key = "sl", .title = "SL", .type = REPORT_NUMBER},
		{.key = "ipoib", .title = "IPoIB", .type = REPORT_BOOL},
	};

	report_table(r, "partitions", "partitions", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < policy->partition_count; i++) {
		const struct policy_partition *p = &policy->partitions[i];
		char pkey[16];

		snprintf(pkey, sizeof(pkey), "0x%04x", p->pkey);
		report_cell_string(r, p->name);
		report_cell_string(r, pkey);
		if (p->sl_mark.line)
			report_cell_number(r, p->sl);
		else
			report_cell_none(r);
		report_cell_bool(r, p->ipoib);
		report_row_end(r);
	}
	report_table_end(r);
}

static void report_suggestions(struct cmd_session *s, const struct policy *policy)
{
	static const struct report_column columns[] = {
		{.key = "class", .title = "class", .type = REPORT_STRING},
		{.key = "sl", .title = "SL to use", .type = REPORT_NUMBER},
		{.key = "why", .title = "why", .type = REPORT_STRING},
	};
	char who[POLICY_SL_TEXT];
	unsigned sl[QOS_SLS];
	int error = policy_suggest_sls(policy, sl);

	if (error != 0) {
		session_fail(s, "cannot propose SLs: %s",
			     error == -ENOSPC ? "there are more classes than SLs" : strerror(-error));
		return;
	}
	report_table(s->report, "suggested_sls", "SLs for classes without one", columns,
		     sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < policy->class_count; i++) {
		const struct policy_class *c = &policy->classes[i];

		if (c->sl_mark.line)
			continue;
		report_cell_string(s->report, c->name);
		report_cell_number(s->report, sl[i]);
		if (c->is_default && sl[i] == 0)
			report_cell_string(s->report, "the default class has what chooses no SL, and that has SL 0");
		else if (policy_sl_self_chosen(policy, sl[i], who))
			report_cell_string(s->report, "free, but taken by other programs: no better one is left");
		else
			report_cell_string(s->report, "free, and no library is known to choose it by itself");
		report_row_end(s->report);
	}
	report_table_end(s->report);
	report_string(s->report, "suggestion_limits", "not known",
		      "whether adaptive routing is on for these SLs (the subnet manager's AR SL mask): a training class needs it");
}

static void report_policy(struct cmd_session *s, const struct policy *policy, bool suggest)
{
	int error;

	report_string(s->report, "name", policy->name ? "name" : NULL, policy->name);
	report_classes(s->report, policy);
	error = report_rules(s->report, policy);
	if (error != 0)
		session_fail(s, "cannot list the rules: %s", strerror(-error));
	if (policy->partition_count)
		report_partitions(s->report, policy);
	if (suggest)
		report_suggestions(s, policy);
}

/* --- sites --- */

static void report_site(struct report *r, const struct site *site)
{
	static const struct report_column columns[] = {
		{.key = "fabric", .title = "fabric", .type = REPORT_STRING},
		{.key = "ca", .title = "adapter", .type = REPORT_STRING},
		{.key = "port", .title = "port", .type = REPORT_NUMBER},
		{.key = "port_guid", .title = "port GUID", .type = REPORT_GUID},
		{.key = "adapters", .title = "hosts' adapters", .type = REPORT_STRING},
		{.key = "via", .title = "via", .type = REPORT_STRING},
		{.key = "opensm_host", .title = "OpenSM on", .type = REPORT_STRING},
		{.key = "policy", .title = "policy", .type = REPORT_STRING},
		{.key = "baseline", .title = "baseline", .type = REPORT_STRING},
	};

	report_table(r, "fabrics", "fabrics", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < site->count; i++) {
		const struct site_fabric *f = &site->fabrics[i];
		char *adapters = NULL;

		report_cell_string(r, f->name);
		report_cell_if(r, f->ca);
		if (f->port)
			report_cell_number(r, f->port);
		else
			report_cell_none(r);
		report_cell_guid(r, f->port_guid);
		for (size_t n = 0; n < f->adapter_count; n++)
			finding_append(&adapters, "%s", f->adapters[n]);
		report_cell_if(r, adapters);
		free(adapters);
		report_cell_if(r, f->via_count ? f->via[0] : NULL);
		report_cell_if(r, f->opensm_host);
		report_cell_if(r, f->policy);
		report_cell_if(r, f->baseline);
		report_row_end(r);
	}
	report_table_end(r);
	report_bool(r, "all_active_ports", site->all_active_ports ? "and all active ports of this host" : NULL,
		    site->all_active_ports);
}

/* A policy that many fabrics share is read once. */
static void lint_policies_of(struct cmd_session *s, const struct site *site)
{
	for (size_t i = 0; i < site->count; i++) {
		const char *path = site->fabrics[i].via_count ? NULL : site->fabrics[i].policy;
		struct policy *policy = NULL;
		bool seen = !path;
		int error;

		for (size_t n = 0; n < i && !seen; n++)
			seen = !site->fabrics[n].via_count && site->fabrics[n].policy && strcmp(site->fabrics[n].policy, path) == 0;
		if (seen)
			continue;
		error = policy_read(path, &s->findings, &policy);
		if (error != 0)
			session_fail(s, "cannot read policy %s of fabric %s: %s", path, site->fabrics[i].name, strerror(-error));
		policy_free(policy);
	}
}

static void lint_site(struct cmd_session *s, const char *path)
{
	struct site *site = NULL;
	int error;

	session_trust(s, path);
	error = site_read(path, &s->findings, &site);
	report_string(s->report, "site", NULL, path);
	if (error != 0)
		session_fail(s, "cannot read site %s: %s", path, strerror(-error));
	if (site) {
		report_site(s->report, site);
		lint_policies_of(s, site);
	}
	site_free(site);
}

/* --schema, --manual, --findings: no report, no policy. */
static enum ibqos_exit describe(struct ibqos_ctx *ctx, const struct lint_options *options)
{
	int error = options->describe(stdout);

	if (error == 0 && fflush(stdout) != 0)
		error = -errno;
	if (error == 0)
		return IBQOS_EXIT_CLEAN;
	ctx_error(ctx, "cannot write standard output: %s", strerror(-error));
	return IBQOS_EXIT_UNKNOWN;
}

enum ibqos_exit cmd_lint(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct lint_options options = {0};
	struct policy *policy = NULL;
	struct cmd_session s;
	const char *path;
	int error;

	cmd_defaults(&options.common, ctx);
	cmd_parse(&cmd_lint_argp, argc, argv, &options);
	if (options.describe)
		return describe(ctx, &options);
	if (!session_begin(&s, ctx, &options.common))
		return IBQOS_EXIT_UNKNOWN;
	if (cmd_files_given(&options.files)) {
		cmd_lint_files(&s, &options.files);
		cmd_files_clear(&options.files);
		return session_end(&s);
	}
	if (options.site) {
		lint_site(&s, options.site);
		return session_end(&s);
	}
	path = options.common.argument[0];
	report_string(s.report, "policy", NULL, path);
	error = options.suggest_sl ? policy_read_draft(path, &s.findings, &policy)
				   : policy_read(path, &s.findings, &policy);
	if (error != 0)
		session_fail(&s, "cannot read policy %s: %s", path, strerror(-error));
	if (error == 0 && policy)
		report_policy(&s, policy, options.suggest_sl);
	policy_free(policy);
	return session_end(&s);
}
