/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos rollback: undoes an apply: the old files, and the old tables on every port. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "confirm.h"

struct rollback_command {
	struct cmd_options common; /* first: children get the same pointer */
	struct apply_options apply;
	const char *to, *unconfirmed;
};

enum { KEY_TO = 0x200, KEY_UNCONFIRMED };

static const struct argp_option own_options[] = {
	APPLY_OPTIONS,
	{"to", KEY_TO, "FOLDER", 0, "undo the apply of this history folder, or of this change as `ibqos history` lists it (default: the newest)", 0},
	{"unconfirmed", KEY_UNCONFIRMED, "ID", 0,
	 "what the timer of `ibqos apply --confirm-within` runs: undo this change if it still waits to be confirmed", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct rollback_command *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &o->common);
		return 0;
	case KEY_TO:
		o->to = arg;
		return 0;
	case KEY_UNCONFIRMED:
		if (!*arg || *arg == '.' || strchr(arg, '/'))
			argp_error(state, "--unconfirmed takes the name of a history folder, not '%s'", arg);
		o->unconfirmed = arg;
		o->apply.unconfirmed = true;
		return 0;
	default:
		if (cmd_apply_option(key, arg, state, o->common.ctx, &o->apply) == 0)
			return 0;
		return cmd_argument(key, arg, state, &o->common, 0, "");
	}
}

const struct argp cmd_rollback_argp = {
	.options = own_options,
	.parser = parse,
	.doc = "Undoes an apply: puts the files that OpenSM had before it back, reloads OpenSM and reads every port back "
	       "until it holds the old tables. Where QoS was off before, these are OpenSM's own, and QoS is switched off "
	       "afterwards. Refused when the files in place are not those which that apply wrote.\v"
	       "Exit status: 0 every port holds the old tables, 2 failed or some do not, 3 refused or unknown.",
	.children = cmd_fabric_children,
};

/* The folder of a change's ID; NULL, told: out of memory. The caller frees it. */
static char *folder_of(struct cmd_session *s, const char *id)
{
	char *folder = NULL;

	if (asprintf(&folder, "%s/history/%s", s->ctx->state_dir, id) < 0) {
		session_fail(s, "out of memory");
		return NULL;
	}
	return folder;
}

/* What `ibqos history` lists as the change, and not a folder where we are. */
static bool is_id(const char *to)
{
	return to && *to && *to != '.' && !strchr(to, '/') && access(to, F_OK) != 0;
}

enum ibqos_exit cmd_rollback(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct rollback_command options = {0};
	struct apply_result result = {0};
	char *folder = NULL;
	struct cmd_session s;
	const char *id;

	cmd_defaults(&options.common, ctx);
	cmd_apply_defaults(&options.apply);
	cmd_parse(&cmd_rollback_argp, argc, argv, &options);
	if (!session_begin(&s, ctx, &options.common))
		return IBQOS_EXIT_UNKNOWN;
	cmd_apply_begin(&options.apply, &s);
	id = options.unconfirmed ? options.unconfirmed : is_id(options.to) ? options.to : NULL;
	if (id)
		options.to = folder = folder_of(&s, id);
	if ((!id || folder) && session_discover(&s))
		cmd_apply_end(&s, &result,
			      apply_undo(ctx, s.source, s.fabric, options.to, &options.apply, &s.findings, &result));
	if (options.unconfirmed)
		cmd_log_unconfirmed(ctx, options.unconfirmed, &result, &s.findings);
	if (options.unconfirmed && result.outcome == APPLY_REFUSED)
		s.least = IBQOS_EXIT_CRITICAL; /* also where nothing could be looked at: it is not undone */
	apply_result_clear(&result);
	free(folder);
	return session_end(&s);
}
