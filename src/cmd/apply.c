/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos apply: installs a policy, reloads OpenSM, waits until every port reads back right, else rolls back. */
#include <stdlib.h>
#include <string.h>

#include "confirm.h"
#include "policy_plan.h"
#include "words.h"

struct apply_command {
	struct cmd_options common; /* first: children get the same pointer */
	struct apply_options apply;
	unsigned plan_flags;
	struct apply_standby *standby; /* as many as arguments may be */
	size_t standby_room;
};

enum { KEY_ALLOW_DROP = 0x200, KEY_ALLOW_BOUNCE, KEY_MAX_LAG, KEY_INCLUDE_PENDING, KEY_FORCE_FLAVOUR,
	KEY_ALLOW_RESTART, KEY_STANDBY, KEY_STANDBY_LATER, KEY_STAGE, KEY_WAIT_ONLY, KEY_CONFIRM_WITHIN };

static const struct argp_option own_options[] = {
	APPLY_OPTIONS,
	{"max-lag", KEY_MAX_LAG, "PERCENT", 0,
	 "of the ports may still differ at the deadline without a roll back (default 1)", 0},
	{"allow-drop", KEY_ALLOW_DROP, NULL, 0, "accept a policy that drops unused SLs", 0},
	{"allow-link-bounce", KEY_ALLOW_BOUNCE, NULL, 0,
	 "accept a max_op_vls in OpenSM's config that takes links of adapters down and up", 0},
	{"include-pending", KEY_INCLUDE_PENDING, NULL, 0,
	 "go on although the reload brings edits of others into force", 0},
	{"confirm-within", KEY_CONFIRM_WITHIN, "TIME", 0,
	 "undo it again, by a systemd timer, unless `ibqos confirm` comes within TIME (10m)", 0},
	{"allow-restart", KEY_ALLOW_RESTART, NULL, 0,
	 "have systemd start OpenSM again where it had no config at its start, which a reload does not mend", 0},
	{"standby", KEY_STANDBY, "HOST:SHA256", 0, "this standby has the same files; may be given for each", 0},
	{"standby-later", KEY_STANDBY_LATER, NULL, 0, "go on although a standby has not got the files yet", 0},
	{"stage", KEY_STAGE, "DIR", 0, "write the files there, say what to do with them, and change nothing", 0},
	{"site", CMD_KEY_SITE, "FILE", 0,
	 "with --stage: a folder in DIR for each fabric of this site (ibqos-site(5)); --fabric NAME,NAME: for these of them", 0},
	CMD_OPENSM_CONFIG_ROW,
	{"wait-only", KEY_WAIT_ONLY, NULL, 0, "write nothing and reload nothing: read back until the ports hold the policy", 0},
	{"force-flavour", KEY_FORCE_FLAVOUR, NULL, 0, "go on although OpenSM is not one that ibqos is tested with", 0},
	{0},
};

/* "HOST:SHA256". */
static void take_standby(struct argp_state *state, struct apply_command *o, char *arg)
{
	char *colon = strrchr(arg, ':');
	struct apply_standby *grown;

	if (!colon || colon == arg || strlen(colon + 1) != 64 || colon[1 + strspn(colon + 1, "0123456789abcdefABCDEF")]) {
		argp_error(state, "--standby %s: not a host, a colon and a SHA-256 of 64 hexadecimal digits", arg);
		return;
	}
	grown = array_grow(o->standby, &o->standby_room, o->apply.standby_count + 1, sizeof(*grown));
	if (!grown) {
		argp_failure(state, IBQOS_EXIT_UNKNOWN, 0, "out of memory");
		return;
	}
	*colon = '\0';
	o->standby = grown;
	o->standby[o->apply.standby_count++] = (struct apply_standby){arg, colon + 1};
	o->apply.standby = o->standby;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct apply_command *o = state->input;

	if (cmd_site_option(&o->common, key, arg))
		return 0;
	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &o->common);
		return 0;
	case KEY_MAX_LAG:
		o->apply.max_lag = (double)cmd_number(state, "--max-lag", arg, 0, 100) / 100;
		return 0;
	case KEY_ALLOW_DROP:
		o->plan_flags |= PLAN_ALLOW_DROP;
		return 0;
	case KEY_ALLOW_BOUNCE:
		o->plan_flags |= PLAN_ALLOW_BOUNCE;
		return 0;
	case KEY_INCLUDE_PENDING:
		o->apply.include_pending = true;
		return 0;
	case KEY_ALLOW_RESTART:
		o->apply.allow_restart = true;
		return 0;
	case KEY_STANDBY:
		take_standby(state, o, arg);
		return 0;
	case KEY_STANDBY_LATER:
		o->apply.standby_later = true;
		return 0;
	case KEY_STAGE:
		o->apply.stage = arg;
		return 0;
	case KEY_WAIT_ONLY:
		o->apply.wait_only = true;
		o->plan_flags |= PLAN_TABLES_ONLY; /* the files may lie on another host */
		return 0;
	case KEY_FORCE_FLAVOUR:
		o->apply.force_flavour = true;
		return 0;
	case KEY_CONFIRM_WITHIN:
		o->apply.confirm_within_s = (unsigned)cmd_duration(state, "--confirm-within", arg, 1, 7 * 86400);
		return 0;
	case ARGP_KEY_SUCCESS:
		if (o->apply.stage && o->apply.wait_only)
			argp_error(state, "--stage and --wait-only exclude each other");
		if (o->common.site && !o->apply.stage)
			argp_error(state, "--site needs --stage: each fabric is changed by a run of its own, with what the site file has for it: "
					  "ibqos apply -C CA -P PORT --opensm-config FILE --state-dir DIR POLICY");
		if (cmd_opensm_elsewhere(&o->common) && !o->apply.stage && !o->apply.wait_only)
			argp_error(state, "--opensm-config none: files are installed on the host where OpenSM runs; --stage prepares that");
		if (o->apply.confirm_within_s != 0 && o->common.m_key && strcmp(o->common.m_key, "prompt") == 0)
			argp_error(state, "--confirm-within: its timer has no terminal to ask for the M_Key at; put the key into a file");
		if (o->apply.confirm_within_s != 0 && o->apply.confirm_within_s <= o->apply.deadline_s)
			argp_error(state, "--confirm-within must be longer than --deadline, %u s, which it includes",
				   o->apply.deadline_s);
		return 0;
	default:
		if (cmd_apply_option(key, arg, state, o->common.ctx, &o->apply) == 0)
			return 0;
		return cmd_argument(key, arg, state, &o->common, 1, "the policy file");
	}
}

const struct argp cmd_apply_argp = {
	.options = own_options,
	.parser = parse,
	.args_doc = "POLICY",
	.doc = "Installs a policy: keeps OpenSM's old files, writes the new ones whole, reloads the running OpenSM and "
	       "reads every port back until it holds the new tables; puts the old files back when they do not come. "
	       "`ibqos rollback` undoes it later.\v"
	       "Exit status: 0 every port holds the policy, 1 with warnings, 2 failed or rolled back, 3 refused or unknown.",
	.children = cmd_fabric_children,
};

enum ibqos_exit cmd_apply(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct apply_command options = {0};
	struct apply_result result = {0};
	struct undo_command undo = {0};
	struct cmd_session s;
	struct cmd_plan p = {0};
	char *again;
	int error;

	cmd_defaults(&options.common, ctx);
	cmd_apply_defaults(&options.apply);
	cmd_parse(&cmd_apply_argp, argc, argv, &options);
	if (options.common.site) {
		free(options.standby);
		return cmd_site(ctx, &options.common, argc, argv);
	}
	if (!session_begin(&s, ctx, &options.common))
		return IBQOS_EXIT_UNKNOWN;
	options.apply.again = again = words_again(ctx, argc, argv);
	if (!again)
		session_fail(&s, "out of memory");
	else if (cmd_compile(&s, options.common.argument[0], options.plan_flags, &p)) {
		cmd_apply_begin(&options.apply, &s);
		options.apply.elsewhere = cmd_opensm_elsewhere(&options.common);
		error = cmd_undo_command(&options.common, &options.apply, &undo);
		options.apply.undo_command = (const char *const *)undo.argv;
		if (error == 0 && (options.apply.wait_only || cmd_plan_guard(&s, &p)))
			error = cmd_opensm_elsewhere(&options.common) && options.apply.stage ?
					apply_stage_policy(p.policy, &options.apply, &s.findings, &result) :
					apply_run(ctx, s.source, s.fabric, p.policy, p.plan, &options.apply, &s.findings, &result);
		if (result.outcome != APPLY_REFUSED)
			cmd_report_classes(s.report, p.plan);
		cmd_apply_end(&s, &result, error);
	}
	apply_result_clear(&result);
	cmd_undo_command_clear(&undo);
	free(options.standby);
	free(again);
	cmd_plan_clear(&p);
	return session_end(&s);
}
