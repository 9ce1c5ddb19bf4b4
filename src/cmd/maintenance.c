/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos maintenance: a table of its own commands, the options they share, and the list of what was begun. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "maintenance.h"

static const struct cmd commands[] = {
	{"begin", cmd_maintenance_begin, "keep the state of the fabric before work on it"},
	{"end", cmd_maintenance_end, "say what the work has changed: new, fixed, unchanged, too early to say"},
	{"list", cmd_maintenance_list, "what was begun and ended"},
	{"drain", cmd_maintenance_drain, "what would be cut if nodes were taken out"},
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))
#define WAIT_MAX_S (7 * 86400)

static void usage(FILE *to)
{
	fprintf(to, "Usage: ibqos maintenance COMMAND [OPTION...] [ARGUMENT...]\n"
		    "Before and after work on the fabric. Nothing in it is changed.\n\nCommands:\n");
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fprintf(to, "\n`ibqos maintenance COMMAND --help` tells a command's own options.\n");
}

enum ibqos_exit cmd_maintenance(struct ibqos_ctx *ctx, int argc, char **argv)
{
	char name[64], full[32];

	if (argc < 2) {
		usage(stderr);
		return IBQOS_EXIT_UNKNOWN;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		usage(stdout);
		return fflush(stdout) ? IBQOS_EXIT_UNKNOWN : IBQOS_EXIT_CLEAN;
	}
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		snprintf(name, sizeof(name), "ibqos maintenance %s", commands[i].name);
		snprintf(full, sizeof(full), "maintenance %s", commands[i].name);
		ctx->command = full;
		argv[1] = name;
		return commands[i].run(ctx, argc - 1, argv + 1);
	}
	ctx_error(ctx, "unknown command 'maintenance %s'; `ibqos maintenance --help` lists them", argv[1]);
	return IBQOS_EXIT_UNKNOWN;
}

/* "90", "90s", "10m", "2h": seconds. */
static unsigned read_wait(struct argp_state *state, const char *text)
{
	static const struct {
		char letter;
		unsigned seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
	size_t length = strlen(text);
	unsigned unit = 1;
	char number[16];
	uint64_t value = 0;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (length > 1 && text[length - 1] == units[i].letter)
			unit = units[i].seconds;
	snprintf(number, sizeof(number), "%.*s", (int)(length - (length > 1 && strchr("smh", text[length - 1]) ? 1 : 0)), text);
	if (length >= sizeof(number) || text_to_u64(number, WAIT_MAX_S, &value) != 0 || value * unit > WAIT_MAX_S)
		argp_error(state, "--wait takes a time up to a week as 90s, 10m or 2h, not '%s'", text);
	return (unsigned)value * unit;
}

error_t cmd_maintenance_option(int key, char *arg, struct argp_state *state)
{
	struct cmd_maintenance *c = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &c->common);
		return 0;
	case MAINTENANCE_KEY_POLICY:
		c->policy = arg;
		return 0;
	case MAINTENANCE_KEY_STATE:
		c->state = arg;
		return 0;
	case MAINTENANCE_KEY_EXPECT:
		c->expect = arg;
		return 0;
	case MAINTENANCE_KEY_DRAIN:
		return cmd_keep(state, &c->drain, &c->drain_count, &c->drain_room, arg);
	case MAINTENANCE_KEY_NO_COUNTERS:
		c->no_counters = true;
		return 0;
	case MAINTENANCE_KEY_WAIT:
		c->wait_s = read_wait(state, arg);
		return 0;
	case MAINTENANCE_KEY_STATE_DIR:
		c->common.ctx->state_dir = arg;
		return 0;
	case MAINTENANCE_KEY_NOW:
		c->now = cmd_number(state, "--now", arg, 1, UINT32_MAX);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void cmd_maintenance_parse(struct ibqos_ctx *ctx, const struct argp *argp, int argc, char **argv, struct cmd_maintenance *c)
{
	*c = (struct cmd_maintenance){.m = {.lock = -1}};
	cmd_defaults(&c->common, ctx);
	argp_parse(argp, argc, argv, ARGP_NO_HELP, NULL, c);
}

uint64_t cmd_maintenance_now(const struct cmd_maintenance *c)
{
	return c->now ? c->now : (uint64_t)time(NULL);
}

void cmd_maintenance_refuse(struct cmd_session *s, const struct cmd_maintenance *c, bool make, int error)
{
	const char *name = c->common.argument[0];

	if (error == -EINVAL)
		session_fail(s, "'%s' cannot be a name: letters, digits, '.', '_' and '-', %d at most, the first a letter or digit", name,
			     MAINTENANCE_NAME_MAX);
	else if (error == -ENOENT && !make)
		session_fail(s, "no maintenance '%s' was begun; `ibqos maintenance list` shows those that were", name);
	else if (error == -EWOULDBLOCK)
		session_fail(s, "another begin or end of maintenance '%s' runs at this moment", name);
	else if (error == -EBADMSG)
		session_fail(s, "cannot read '%s/" MAINTENANCE_MANIFEST "': it is broken; choose another name, or remove the folder",
			     c->m.folder);
	else
		session_fail(s, "cannot use '%s': %s", c->m.folder ? c->m.folder : name, strerror(-error));
}

/* --- list --- */

static error_t parse_list(int key, char *arg, struct argp_state *state)
{
	struct cmd_maintenance *c = state->input;
	error_t error = cmd_maintenance_option(key, arg, state);

	return error == ARGP_ERR_UNKNOWN ? cmd_argument(key, arg, state, &c->common, 0, "") : error;
}

static const struct argp_option list_options[] = {
	{"state-dir", MAINTENANCE_KEY_STATE_DIR, "DIR", 0, "where they are kept (default " IBQOS_STATE_DIR ")", 0},
	{0},
};

static const struct argp list_argp = {
	.options = list_options,
	.parser = parse_list,
	.doc = "Lists what was begun with `ibqos maintenance begin`.\v"
	       "Exit status: 0, or 3 where something of it cannot be read.",
	.children = cmd_output_children,
};

static const char *state_of(const struct maintenance_entry *e)
{
	if (e->error == -ENOENT)
		return "begin was cut short";
	if (e->error != 0)
		return "cannot be read";
	return e->manifest.ended ? "ended" : "begun";
}

static void cell(struct report *r, const char *text)
{
	if (text)
		report_cell_string(r, text);
	else
		report_cell_none(r);
}

enum ibqos_exit cmd_maintenance_list(struct ibqos_ctx *ctx, int argc, char **argv)
{
	static const struct report_column columns[] = {
		{.key = "name", .title = "name", .type = REPORT_STRING},	{.key = "state", .title = "state", .type = REPORT_STRING},
		{.key = "fabric", .title = "fabric", .type = REPORT_STRING},	{.key = "begun", .title = "begun", .type = REPORT_STRING},
		{.key = "begun_by", .title = "by", .type = REPORT_STRING},	{.key = "ended", .title = "ended", .type = REPORT_STRING},
		{.key = "ended_by", .title = "by", .type = REPORT_STRING},	{.key = "policy", .title = "policy", .type = REPORT_STRING},
	};
	struct maintenance_entry *entries;
	struct cmd_maintenance c;
	struct cmd_session s;
	size_t count;
	int error;

	cmd_maintenance_parse(ctx, &list_argp, argc, argv, &c);
	if (!session_begin(&s, ctx, &c.common))
		return IBQOS_EXIT_UNKNOWN;
	error = maintenance_list(ctx, &entries, &count);
	if (error != 0)
		session_fail(&s, "cannot read '%s/" MAINTENANCE_FOLDER "': %s", ctx->state_dir, strerror(-error));
	report_table(s.report, "maintenance", "maintenance", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++) {
		const struct maintenance_entry *e = &entries[i];

		report_cell_string(s.report, e->name);
		report_cell_string(s.report, state_of(e));
		cell(s.report, e->manifest.fabric && e->manifest.fabric[0] ? e->manifest.fabric : NULL);
		cell(s.report, e->manifest.begun);
		cell(s.report, e->manifest.begun_by);
		cell(s.report, e->manifest.ended);
		cell(s.report, e->manifest.ended_by);
		cell(s.report, e->manifest.policy);
		report_row_end(s.report);
		if (e->error != 0 && e->error != -ENOENT)
			s.least = IBQOS_EXIT_UNKNOWN;
	}
	report_table_end(s.report);
	maintenance_list_free(entries, count);
	return session_end(&s);
}
