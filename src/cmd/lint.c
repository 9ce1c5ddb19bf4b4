/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos lint: a policy file checked by itself; all faults in one run. */
#include <string.h>

#include "cmd.h"

#include "ibqos/policy.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_options *o = state->input;

	if (key == ARGP_KEY_INIT) {
		cmd_hand_down(state, o);
		return 0;
	}
	return cmd_argument(key, arg, state, o, 1, "the policy file");
}

static const struct argp argp = {
	.parser = parse,
	.args_doc = "POLICY",
	.doc = "Checks a policy file and reports every fault with its line and column.\v"
	       "Exit status: 0 no fault, 1 warnings, 2 faults, 3 the file cannot be read.",
	.children = cmd_output_children,
};

static void report_policy(struct report *r, const struct policy *policy)
{
	static const struct report_column columns[] = {
		{.key = "name", .title = "class", .type = REPORT_STRING},
		{.key = "sl", .title = "SL", .type = REPORT_NUMBER},
		{.key = "nccl_ib_tc", .title = "NCCL_IB_TC", .type = REPORT_NUMBER},
		{.key = "share", .title = "share", .type = REPORT_REAL, .unit = "%", .decimals = 1},
		{.key = "priority", .title = "priority", .type = REPORT_STRING},
		{.key = "default", .title = "default", .type = REPORT_BOOL},
	};

	report_table(r, "classes", "classes", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < policy->class_count; i++) {
		const struct policy_class *c = &policy->classes[i];

		report_cell_string(r, c->name);
		report_cell_number(r, c->sl);
		if (c->nccl_ib_tc == POLICY_NO_TC)
			report_cell_none(r);
		else
			report_cell_number(r, (uint64_t)c->nccl_ib_tc);
		report_cell_real(r, c->share);
		report_cell_string(r, c->priority == POLICY_PRIORITY_HIGH ? "high" : "normal");
		report_cell_bool(r, c->is_default);
		report_row_end(r);
	}
	report_table_end(r);
}

enum ibqos_exit cmd_lint(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct policy *policy = NULL;
	struct cmd_options options;
	struct cmd_session s;
	int error;

	cmd_defaults(&options, ctx);
	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &options);
	if (!session_begin(&s, ctx, &options))
		return IBQOS_EXIT_UNKNOWN;
	report_string(s.report, "policy", NULL, options.argument[0]);
	error = policy_read(options.argument[0], &s.findings, &policy);
	if (error != 0)
		session_fail(&s, "cannot read policy %s: %s", options.argument[0], strerror(-error));
	if (error == 0 && policy) {
		report_string(s.report, "name", policy->name ? "name" : NULL, policy->name);
		report_policy(s.report, policy);
	}
	policy_free(policy);
	return session_end(&s);
}
