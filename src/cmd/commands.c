/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The table of commands and the one of options before the command, of which help and completion are made. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"

const struct cmd cmd_table[] = {
	{"discover", cmd_discover, "show the nodes and links of the fabric", &cmd_discover_argp, NULL, RIGHTS_READ},
	{"lint", cmd_lint, "check a policy file", &cmd_lint_argp, NULL, RIGHTS_READ},
	{"import", cmd_import, "make a policy of OpenSM's own files", &cmd_import_argp, NULL, RIGHTS_READ},
	{"plan", cmd_plan, "compile a policy for this fabric and show what would change", &cmd_plan_argp, NULL, RIGHTS_READ},
	{"apply", cmd_apply, "install a policy, and wait until every port reads back right", &cmd_apply_argp, NULL, RIGHTS_CHANGE},
	{"rollback", cmd_rollback, "undo an apply: the old files, and the old tables on every port", &cmd_rollback_argp, NULL, RIGHTS_CHANGE},
	{"history", cmd_history, "list the changes that were applied, or show one", &cmd_history_argp, NULL, RIGHTS_READ},
	{"confirm", cmd_confirm, "keep a change that was applied with --confirm-within", &cmd_confirm_argp, NULL, RIGHTS_CHANGE},
	{"verify", cmd_verify, "compare what every port holds with what it should", &cmd_verify_argp, NULL, RIGHTS_READ},
	{"trace", cmd_trace, "follow packets from one port to another, hop by hop", &cmd_trace_argp, NULL, RIGHTS_READ},
	{"audit", cmd_audit, "find links below what both ends can", &cmd_audit_argp, NULL, RIGHTS_READ},
	{"rails", cmd_rails, "compare fabrics that the same hosts are in", &cmd_rails_argp, NULL, RIGHTS_READ},
	{"merge", cmd_merge, "put snapshots of several hosts and fabrics into one file", &cmd_merge_argp, NULL, RIGHTS_WRITE},
	{"ack", cmd_ack, "acknowledge a finding of the audit until a date, list, take back", &cmd_ack_argp, NULL, RIGHTS_WRITE},
	{"job", cmd_job, "environments, scripts and logs of jobs, against their class", NULL, cmd_job_table, RIGHTS_READ},
	{"diff", cmd_diff_states, "what changed from one snapshot to another", &cmd_diff_states_argp, NULL, RIGHTS_READ},
	{"maintenance", cmd_maintenance, "work on the fabric: what it would cut, what it has changed", NULL, cmd_maintenance_table, RIGHTS_WRITE},
	{"snapshot", cmd_snapshot, "keep the state of the fabric in a file, for --from", &cmd_snapshot_argp, NULL, RIGHTS_WRITE},
	{"help", cmd_help, "show the options of a command, with examples", NULL, NULL, RIGHTS_READ},
	{0},
};

const struct cmd_global cmd_globals[] = {
	{"verbose", 'v', "more messages"},
	{"debug", 'd', "debugging messages"},
	{"quiet", 'q', "only findings and the verdict, and of messages only errors"},
	{"version", 'V', "show the version"},
	{"help", 'h', "show this help"},
	{0},
};

const struct cmd *cmd_find(const struct cmd *table, const char *name)
{
	for (; table->name; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

const char *cmd_near(const struct cmd *table, const char *name)
{
	const char *nearest = NULL;
	unsigned least = CMD_TYPO_MAX + 1;

	for (; table->name; table++) {
		unsigned distance = text_distance(name, table->name);

		/* a beginning is as good as one slip */
		if (*name && strncmp(table->name, name, strlen(name)) == 0)
			distance = 1;
		if (distance < least && distance < strlen(table->name)) {
			least = distance;
			nearest = table->name;
		}
	}
	return nearest;
}

enum ibqos_exit cmd_run(struct ibqos_ctx *ctx, int argc, char **argv)
{
	const struct cmd *command = cmd_find(cmd_table, argv[0]);
	const char *near = command ? NULL : cmd_near(cmd_table, argv[0]);
	char name[64];

	if (command) {
		ctx->reads_only = command->rights == RIGHTS_READ;
		ctx->command = command->name;
		snprintf(name, sizeof(name), "ibqos %s", command->name);
		argv[0] = name;
		return command->run(ctx, argc, argv);
	}
	if (near)
		ctx_error(ctx, "unknown command '%s', did you mean '%s'? `ibqos --help` lists them", argv[0], near);
	else
		ctx_error(ctx, "unknown command '%s'; `ibqos --help` lists them", argv[0]);
	return IBQOS_EXIT_UNKNOWN;
}

/* As git and others have it: `help job env` is `job env --help`. */
enum ibqos_exit cmd_help(struct ibqos_ctx *ctx, int argc, char **argv)
{
	char option[] = "--help";

	if (argc < 2 || argv[1][0] == '-' || strcmp(argv[1], "help") == 0) {
		cmd_usage(stdout);
		return fflush(stdout) ? IBQOS_EXIT_UNKNOWN : IBQOS_EXIT_CLEAN;
	}
	/* the command takes its own name's place, and --help stands behind it */
	memmove(&argv[0], &argv[1], (size_t)(argc - 1) * sizeof(*argv));
	argv[argc - 1] = option;
	return cmd_run(ctx, argc, argv);
}

void cmd_usage(FILE *to)
{
	fprintf(to, "Usage: ibqos [OPTION...] COMMAND [OPTION...] [ARGUMENT]\n"
		    "Quality of service and link health of InfiniBand fabrics that carry training.\n\nCommands:\n");
	for (const struct cmd *c = cmd_table; c->name; c++)
		fprintf(to, "  %-12s%s\n", c->name, c->summary);
	fprintf(to, "\nNew to it: ibqos discover, then ibqos lint, plan and apply a policy.\n"
		    "`ibqos help COMMAND` shows a command's own options, with examples.\n");
	fprintf(to, "\nOptions before the command:\n");
	for (const struct cmd_global *g = cmd_globals; g->name; g++)
		if (g->summary)
			fprintf(to, "  -%c, --%-9s %s\n", g->letter, g->name, g->summary);
	fprintf(to, "\nExit status: 0 clean, 1 warning, 2 critical, 3 could not look, or bad usage.\n");
}
