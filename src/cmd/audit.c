/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos audit: each link's width and speed against what both ends can. */
#include "cmd.h"
#include "verify_sm.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_options *o = state->input;

	if (key == ARGP_KEY_INIT) {
		cmd_hand_down(state, o);
		return 0;
	}
	return cmd_argument(key, arg, state, o, 0, "");
}

static const struct argp argp = {
	.parser = parse,
	.doc = "Finds links that run narrower or slower than both their ends can, worst first.\v"
	       "Exit status: 0 none, 1 warnings, 2 such links, 3 part of the fabric did not answer.",
	.children = cmd_scope_children,
};

enum ibqos_exit cmd_audit(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct cmd_options options;
	struct audit_result result = {0};
	struct cmd_session s;

	cmd_defaults(&options, ctx);
	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &options);
	if (!session_begin(&s, ctx, &options))
		return IBQOS_EXIT_UNKNOWN;
	if (session_discover(&s) && session_scope(&s)) {
		session_fabric_fields(&s);
		cmd_ask_sm(&s);
		audit_links(s.fabric, session_scope_of(&s), &s.findings, &result);
		report_section(s.report, "links", "links audited");
		report_number(s.report, "looked_at", "looked at", result.links);
		report_number(s.report, "slow", "below what both ends can", result.links_slow);
		report_number(s.report, "unknown", "not known", result.links_unknown);
		report_section_end(s.report);
		session_mads(&s);
		if (result.links == 0)
			session_fail(&s, "no link could be looked at");
		else if (result.links_unknown > 0)
			s.least = IBQOS_EXIT_UNKNOWN;
	}
	return session_end(&s);
}
