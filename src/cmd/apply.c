/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos apply: installs a policy, reloads OpenSM, waits until every port reads back right, else rolls back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy_plan.h"

#include "ibqos/apply.h"

struct apply_command {
	struct cmd_options common; /* first: children get the same pointer */
	struct apply_options apply;
	unsigned plan_flags;
};

enum { KEY_ALLOW_DROP = 0x200, KEY_ALLOW_INCOMPLETE, KEY_DEADLINE, KEY_MAX_LAG };

static const struct argp_option own_options[] = {
	{"deadline", KEY_DEADLINE, "SECONDS", 0, "for all ports to read back right (default 60)", 0},
	{"max-lag", KEY_MAX_LAG, "PERCENT", 0,
	 "of the ports may still differ at the deadline without a roll back (default 1)", 0},
	{"allow-incomplete", KEY_ALLOW_INCOMPLETE, NULL, 0, "go on although part of the fabric does not answer", 0},
	{"allow-drop", KEY_ALLOW_DROP, NULL, 0, "accept a policy that drops unused SLs", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct apply_command *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &o->common);
		return 0;
	case KEY_DEADLINE:
		o->apply.deadline_s = (unsigned)cmd_number(state, "--deadline", arg, 1, 86400);
		return 0;
	case KEY_MAX_LAG:
		o->apply.max_lag = (double)cmd_number(state, "--max-lag", arg, 0, 100) / 100;
		return 0;
	case KEY_ALLOW_INCOMPLETE:
		o->apply.allow_incomplete = true;
		return 0;
	case KEY_ALLOW_DROP:
		o->plan_flags |= PLAN_ALLOW_DROP;
		return 0;
	default:
		return cmd_argument(key, arg, state, &o->common, 1, "the policy file");
	}
}

static const struct argp argp = {
	.options = own_options,
	.parser = parse,
	.args_doc = "POLICY",
	.doc = "Installs a policy: keeps OpenSM's old files, writes the new ones whole, reloads the running OpenSM and\n"
	       "reads every port back until it holds the new tables; puts the old files back when they do not come.\v"
	       "Exit status: 0 every port holds the policy, 1 with warnings, 2 failed or rolled back, 3 refused or unknown.",
	.children = cmd_fabric_children,
};

/* On a terminal, one line that is written over; else nothing. */
static bool show_progress(void *arg, const char *step, const struct verify_result *result)
{
	struct ibqos_ctx *ctx = arg;

	if (ctx->verbosity >= 0 && isatty(fileno(ctx->err)))
		fprintf(ctx->err, "\r%s: %s: %u of %u ports hold the new tables\033[K", ctx->program, step,
			result->ports - result->ports_differ - result->ports_unknown, result->ports);
	return true;
}

static void report_result(struct cmd_session *s, const struct apply_result *result)
{
	struct report *r = s->report;

	report_section(r, "apply", "apply");
	report_string(r, "reached", "last step", apply_step_name(result->reached));
	report_bool(r, "unchanged", "nothing to do", result->unchanged);
	report_bool(r, "installed", "new files in place", result->installed);
	report_bool(r, "rolled_back", "rolled back", result->rolled_back);
	report_number(r, "reloads", "reloads of OpenSM", result->reloads);
	if (result->reloads > 0 && !result->rolled_back && result->reached == APPLY_DONE)
		report_real(r, "seconds", "until the last port read right", result->seconds, 1, "s");
	if (result->history)
		report_string(r, "history", "old files kept in", result->history);
	report_section_end(r);
	report_section(r, "ports", "ports");
	report_number(r, "looked_at", "looked at", result->verify.ports);
	report_number(r, "differ", "differ", result->verify.ports_differ);
	report_number(r, "unknown", "not known", result->verify.ports_unknown);
	report_section_end(r);
	session_coverage(s, &result->verify);
}

enum ibqos_exit cmd_apply(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct apply_command options = {
		.apply = {.deadline_s = 60, .max_lag = 0.01, .progress = show_progress, .progress_arg = ctx}};
	struct apply_result result = {0};
	struct cmd_session s;
	struct cmd_plan p;
	int error;

	cmd_defaults(&options.common, ctx);
	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &options);
	if (!session_begin(&s, ctx, &options.common))
		return IBQOS_EXIT_UNKNOWN;
	if (cmd_compile(&s, options.common.argument[0], options.plan_flags, &p)) {
		cmd_report_classes(s.report, p.plan);
		error = apply_run(ctx, s.source, s.fabric, p.policy, p.plan, &options.apply, &s.findings, &result);
		if (isatty(fileno(ctx->err)) && result.reloads > 0)
			fputc('\n', ctx->err);
		if (error != 0)
			session_fail(&s, "cannot apply: %s", strerror(-error));
		if (result.reached == APPLY_PREFLIGHT) {
			ctx_error(ctx, "nothing was changed: see the findings");
			s.least = IBQOS_EXIT_UNKNOWN;
		}
		report_result(&s, &result);
	}
	apply_result_clear(&result);
	cmd_plan_clear(&p);
	return session_end(&s);
}
