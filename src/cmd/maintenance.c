/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos maintenance: a table of its own commands, the options they share, and the list of what was begun. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ibqos/snapshot.h"
#include "maintenance.h"

const struct cmd cmd_maintenance_table[] = {
	{"begin", cmd_maintenance_begin, "keep the state of the fabric before work on it", &cmd_maintenance_begin_argp, NULL, RIGHTS_WRITE},
	{"end", cmd_maintenance_end, "what the work has changed: new, fixed, unchanged, too early", &cmd_maintenance_end_argp, NULL, RIGHTS_WRITE},
	{"list", cmd_maintenance_list, "what was begun and ended", &cmd_maintenance_list_argp, NULL, RIGHTS_WRITE},
	{"drain", cmd_maintenance_drain, "what would be cut if nodes were taken out", &cmd_maintenance_drain_argp, NULL, RIGHTS_WRITE},
	{0},
};
#define WAIT_MAX_S (7 * 86400)

enum ibqos_exit cmd_maintenance(struct ibqos_ctx *ctx, int argc, char **argv)
{
	return cmd_group(ctx, "maintenance", "Before and after work on the fabric. Nothing in it is changed.", cmd_maintenance_table, argc, argv);
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
		c->wait_s = (unsigned)cmd_duration(state, "--wait", arg, 0, WAIT_MAX_S);
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
	cmd_parse(argp, argc, argv, c);
}

enum ibqos_exit cmd_maintenance_run(struct ibqos_ctx *ctx, const struct argp *argp, int argc, char **argv,
				    void (*body)(struct cmd_session *s, struct cmd_maintenance *c))
{
	struct cmd_maintenance c;
	struct cmd_session s;
	enum ibqos_exit code = IBQOS_EXIT_UNKNOWN;

	cmd_maintenance_parse(ctx, argp, argc, argv, &c);
	if (session_begin(&s, ctx, &c.common)) {
		body(&s, &c);
		code = session_end(&s);
	}
	maintenance_close(&c.m);
	free(c.drain);
	return code;
}

bool cmd_maintenance_keep(struct cmd_session *s, const struct cmd_maintenance *c, const char *name, const struct snapshot *snapshot)
{
	uint8_t *data = NULL;
	size_t size = 0;
	int error = snapshot_encode(snapshot, &data, &size);

	if (error == 0)
		error = maintenance_write(&c->m, name, data, size);
	free(data);
	if (error != 0)
		session_fail(s, "cannot keep the snapshot in '%s': %s", c->m.folder, strerror(-error));
	return error == 0;
}

bool cmd_maintenance_keep_manifest(struct cmd_session *s, const struct cmd_maintenance *c, bool whole)
{
	int error = whole ? maintenance_keep(&c->m) : -ENOMEM;

	if (error != 0)
		session_fail(s, "cannot write '%s/" MAINTENANCE_MANIFEST "': %s", c->m.folder, strerror(-error));
	return error == 0;
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

const struct argp cmd_maintenance_list_argp = {
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

	cmd_maintenance_parse(ctx, &cmd_maintenance_list_argp, argc, argv, &c);
	if (!session_begin(&s, ctx, &c.common))
		return IBQOS_EXIT_UNKNOWN;
	session_trust_state(&s, MAINTENANCE_FOLDER);
	error = maintenance_list(ctx, &entries, &count);
	if (error != 0)
		session_fail(&s, "cannot read '%s/" MAINTENANCE_FOLDER "': %s", ctx->state_dir, strerror(-error));
	report_table(s.report, "maintenance", "maintenance", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++) {
		const struct maintenance_entry *e = &entries[i];

		report_cell_string(s.report, e->name);
		report_cell_string(s.report, state_of(e));
		report_cell_if(s.report, e->manifest.fabric && e->manifest.fabric[0] ? e->manifest.fabric : NULL);
		report_cell_if(s.report, e->manifest.begun);
		report_cell_if(s.report, e->manifest.begun_by);
		report_cell_if(s.report, e->manifest.ended);
		report_cell_if(s.report, e->manifest.ended_by);
		report_cell_if(s.report, e->manifest.policy);
		report_row_end(s.report);
		if (e->error != 0 && e->error != -ENOENT)
			s.least = IBQOS_EXIT_UNKNOWN;
	}
	report_table_end(s.report);
	maintenance_list_free(entries, count);
	return session_end(&s);
}
