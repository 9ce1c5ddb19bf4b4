/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos verify: what every port holds against what OpenSM should have programmed there. */
#include <errno.h>
#include <string.h>

#include "policy_plan.h"

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
	.doc = "Asks every switch and adapter port for its SL2VL tables, VL arbitration tables and VLHighLimit, and\n"
	       "compares them with what OpenSM must have programmed there for this policy.\v"
	       "Exit status: 0 all as it should be, 1 warnings, 2 differences, 3 something was not answered.",
	.children = cmd_fabric_children,
};

static void verify_fabric(struct cmd_session *s, const struct plan *plan)
{
	struct verify *verify = NULL;

	if (session_verify(s, &plan->config, &verify)) {
		const struct verify_result *result = verify_result(verify);

		report_section(s->report, "ports", "ports");
		report_number(s->report, "looked_at", "looked at", result->ports);
		report_number(s->report, "differ", "differ", result->ports_differ);
		report_number(s->report, "unknown", "not known", result->ports_unknown);
		report_number(s->report, "excluded", "not programmed by OpenSM", result->ports_excluded);
		report_section_end(s->report);
		session_coverage(s, result);
		verify_findings(verify, &s->findings);
	}
	verify_free(verify);
}

enum ibqos_exit cmd_verify(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct cmd_options options;
	struct cmd_session s;
	struct cmd_plan p;

	cmd_defaults(&options, ctx);
	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &options);
	if (!session_begin(&s, ctx, &options))
		return IBQOS_EXIT_UNKNOWN;
	/*
	 * Tables only, from policy and fabric: the host that verifies need not be the SM's. What apply
	 * asked consent for is no news here.
	 */
	if (cmd_compile(&s, options.argument[0], PLAN_ALLOW_DROP | PLAN_TABLES_ONLY, &p)) {
		session_fabric_fields(&s);
		verify_fabric(&s, p.plan);
	}
	cmd_plan_clear(&p);
	return session_end(&s);
}
