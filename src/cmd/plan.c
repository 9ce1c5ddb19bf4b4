/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos plan: a policy compiled for this fabric, and what would change. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy_plan.h"

struct plan_options {
	struct cmd_options common; /* first: children get the same pointer */
	unsigned plan_flags;
	bool explain;
};

enum { KEY_ALLOW_DROP = 0x200, KEY_ALLOW_BOUNCE, KEY_EXPLAIN };

static const struct argp_option own_options[] = {
	CMD_SITE_ROW,
	CMD_OPENSM_CONFIG_ROW,
	{"allow-drop", KEY_ALLOW_DROP, NULL, 0, "accept a policy that drops unused SLs", 0},
	{"allow-link-bounce", KEY_ALLOW_BOUNCE, NULL, 0,
	 "accept a max_op_vls in OpenSM's config that takes links of adapters down and up", 0},
	{"explain", KEY_EXPLAIN, NULL, 0, "show what each class has on each kind of link, and how long it can wait", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct plan_options *o = state->input;

	if (cmd_site_option(&o->common, key, arg))
		return 0;
	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &o->common);
		return 0;
	case KEY_ALLOW_DROP:
		o->plan_flags |= PLAN_ALLOW_DROP;
		return 0;
	case KEY_ALLOW_BOUNCE:
		o->plan_flags |= PLAN_ALLOW_BOUNCE;
		return 0;
	case KEY_EXPLAIN:
		o->explain = true;
		return 0;
	default:
		return cmd_argument(key, arg, state, &o->common, 1, "the policy file");
	}
}

const struct argp cmd_plan_argp = {
	.options = own_options,
	.parser = parse,
	.args_doc = "POLICY",
	.doc = "Compiles a policy for this fabric and shows the classes with their guaranteed shares, how many ports "
	       "differ today, and what would change in OpenSM's files. Writes nothing.\v"
	       "Exit status: 0 the plan holds, 1 with warnings, 2 refused, 3 part of the fabric did not answer.",
	.children = cmd_source_children,
};

static int report_diff(struct report *r, const char *key, const char *path, const char *old, size_t old_size,
		       const char *new, size_t new_size)
{
	char *text = NULL, *old_shown = NULL, *new_shown = NULL;
	int error = old ? opensm_conf_redact(old, old_size, &old_shown, &old_size) : 0;

	/* lines around a change may hold keys; none is ever changed */
	if (error == 0 && new)
		error = opensm_conf_redact(new, new_size, &new_shown, &new_size);
	if (error == 0)
		error = cmd_diff(path, old_shown, old_size, new_shown, new_size, &text);

	if (error == 0)
		report_text(r, key, path, text[0] ? text : "(no change)\n");
	free(text);
	free(old_shown);
	free(new_shown);
	return error;
}

/*
 * Moves the findings that say 'unknown': what differs today is what the plan is for, and only counted. Values that
 * cannot be were told with the plan.
 */
static void take_unknown(struct finding_list *from, struct finding_list *to)
{
	for (size_t i = 0; i < from->count; i++) {
		struct finding empty = {0};

		if (from->items[i].severity != FINDING_UNKNOWN || from->items[i].code == FINDING_PORT_INFO_RESERVED)
			continue;
		*finding_add(to, from->items[i].code) = from->items[i];
		from->items[i] = empty;
	}
	to->lost |= from->lost;
	finding_list_clear(from);
}

/* How many ports hold something else today. */
static void report_differences(struct cmd_session *s, const struct plan *plan)
{
	struct finding_list found = {0};
	struct verify *verify = NULL;

	if (session_verify(s, &plan->config, &verify)) {
		const struct verify_result *result = verify_result(verify);

		report_section(s->report, "ports_today", "ports today");
		report_number(s->report, "looked_at", "looked at", result->ports);
		report_number(s->report, "differ", "differ from the plan", result->ports_differ);
		report_number(s->report, "unknown", "not known", result->ports_unknown);
		report_section_end(s->report);
		session_coverage(s, result);
		verify_findings(verify, &found);
		take_unknown(&found, &s->findings);
	}
	verify_free(verify);
}

enum ibqos_exit cmd_plan(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct plan_options options = {0};
	struct cmd_session s;
	struct cmd_plan p;

	cmd_defaults(&options.common, ctx);
	cmd_parse(&cmd_plan_argp, argc, argv, &options);
	if (options.common.site)
		return cmd_site(ctx, &options.common, argc, argv);
	if (!session_begin(&s, ctx, &options.common))
		return IBQOS_EXIT_UNKNOWN;
	s.figures.wanted = true;
	if (cmd_compile(&s, options.common.argument[0], options.plan_flags, &p)) {
		int error = 0;

		cmd_report_classes(s.report, p.plan);
		if (options.explain || options.common.format == REPORT_JSON || options.common.format == REPORT_HTML)
			error = cmd_report_explain(s.report, &p, s.fabric);
		if (error != 0)
			session_fail(&s, "cannot explain the plan: %s", strerror(-error));
		cmd_figure_shares(&s, p.policy, p.plan);
		cmd_report_tables(s.report, p.plan);
		session_fabric_fields(&s);
		cmd_plan_guard(&s, &p);
		report_differences(&s, p.plan);
		if (cmd_opensm_elsewhere(&options.common))
			report_string(s.report, "opensm_files", "OpenSM's files",
				      "on another host: run `ibqos plan` and `ibqos apply` with this policy there");
		else
			error = report_diff(s.report, "opensm_conf_diff", p.plan->conf_path, p.plan->conf_old,
					    p.plan->conf_old_size, p.plan->conf_new, p.plan->conf_new_size);
		if (error == 0 && !cmd_opensm_elsewhere(&options.common))
			error = report_diff(s.report, "qos_policy_diff", p.plan->rules_path, p.plan->rules_old,
					    p.plan->rules_old_size, p.plan->rules_new, p.plan->rules_new_size);
		if (error != 0)
			session_fail(&s, "cannot show the difference of OpenSM's files with diff: %s",
				     strerror(-error));
	}
	cmd_plan_clear(&p);
	return session_end(&s);
}
