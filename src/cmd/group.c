/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A command that is a table of commands of its own: `ibqos job`, `ibqos maintenance`. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"

static void usage(FILE *to, const char *group, const char *about, const struct cmd *commands)
{
	fprintf(to, "Usage: ibqos %s COMMAND [OPTION...] [ARGUMENT...]\n%s\n\nCommands:\n", group, about);
	for (; commands->name; commands++)
		fprintf(to, "  %-10s %s\n", commands->name, commands->summary);
	fprintf(to, "\n`ibqos %s COMMAND --help` tells a command's own options.\n", group);
}

enum ibqos_exit cmd_group(struct ibqos_ctx *ctx, const char *group, const char *about, const struct cmd *commands, int argc, char **argv)
{
	const struct cmd *command;
	const char *near;
	char name[64], full[32];

	if (argc < 2) {
		usage(stderr, group, about, commands);
		return IBQOS_EXIT_UNKNOWN;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		usage(stdout, group, about, commands);
		return fflush(stdout) ? IBQOS_EXIT_UNKNOWN : IBQOS_EXIT_CLEAN;
	}
	command = cmd_find(commands, argv[1]);
	if (command) {
		snprintf(name, sizeof(name), "ibqos %s %s", group, command->name);
		snprintf(full, sizeof(full), "%s %s", group, command->name);
		ctx->command = full;
		argv[1] = name;
		return command->run(ctx, argc - 1, argv + 1);
	}
	near = cmd_near(commands, argv[1]);
	if (near)
		ctx_error(ctx, "unknown command '%s %s', did you mean '%s'? `ibqos %s --help` lists them", group, argv[1], near, group);
	else
		ctx_error(ctx, "unknown command '%s %s'; `ibqos %s --help` lists them", group, argv[1], group);
	return IBQOS_EXIT_UNKNOWN;
}
