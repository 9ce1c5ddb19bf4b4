/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos maintenance end: the state of after against that of before, as one report. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "maintenance.h"
#include "take.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_maintenance *c = state->input;
	error_t error = cmd_maintenance_option(key, arg, state);

	return error == ARGP_ERR_UNKNOWN ? cmd_argument(key, arg, state, &c->common, 1, "the name of the maintenance") : error;
}

static const struct argp_option own_options[] = {
	{"expect", MAINTENANCE_KEY_EXPECT, "FILE", 0, "a change file: what the work was meant to change", 0},
	{"policy", MAINTENANCE_KEY_POLICY, "POLICY", 0, "verify against this policy, not that of the begin", 0},
	{"wait", MAINTENANCE_KEY_WAIT, "TIME", 0,
	 "wait so long at most (90s, 10m, 2h) until links that the work touched have been up long enough (default: not)", 0},
	{"no-counters", MAINTENANCE_KEY_NO_COUNTERS, NULL, 0, "do not ask for counters", 0},
	{"state-dir", MAINTENANCE_KEY_STATE_DIR, "DIR", 0, "where it is kept (default " IBQOS_STATE_DIR ")", 0},
	{"now", MAINTENANCE_KEY_NOW, "SECONDS", OPTION_HIDDEN, "for tests: the time, in seconds since 1970", 0},
	{0},
};

const struct argp cmd_maintenance_end_argp = {
	.options = own_options,
	.parser = parse,
	.args_doc = "NAME",
	.doc = "Compares the fabric with what `ibqos maintenance begin NAME` kept: what has changed, which findings are new, fixed and "
	       "unchanged, which links it is too early to judge. Can be run again for those.\v"
	       "Exit status: 0 nothing but what was expected, 1 and 2 by what is new, whatever was there before, 3 not all could be "
	       "compared, or it is too early.",
	.children = cmd_fabric_children,
};

static void keep_manifest(struct cmd_session *s, struct cmd_maintenance *c)
{
	struct maintenance_manifest *m = &c->m.manifest;
	char when[SESSION_TIME];

	session_time(cmd_maintenance_now(c), when);
	free(m->ended);
	free(m->ended_by);
	m->ended = strdup(when);
	m->ended_by = maintenance_who();
	cmd_maintenance_keep_manifest(s, c, m->ended && m->ended_by);
}

/* Paths of what is compared. */
struct ends {
	char *before, *after, *policy; /* policy of the begin; NULL: it had none */
	const char *policy_after;
};

static int find_files(const struct cmd_maintenance *c, struct ends *e)
{
	*e = (struct ends){.before = maintenance_path(&c->m, MAINTENANCE_BEFORE),
			   .after = maintenance_path(&c->m, MAINTENANCE_AFTER),
			   .policy = maintenance_path(&c->m, MAINTENANCE_POLICY)};
	if (!e->before || !e->after || !e->policy)
		return -ENOMEM;
	if (access(e->policy, F_OK) != 0) {
		free(e->policy);
		e->policy = NULL;
	}
	e->policy_after = c->policy ? c->policy : e->policy;
	return 0;
}

static void report_what(struct report *r, const struct cmd_maintenance *c)
{
	report_section(r, "maintenance", "maintenance");
	report_string(r, "name", "name", c->m.name);
	report_string(r, "folder", "kept in", c->m.folder);
	report_string(r, "begun", "begun", c->m.manifest.begun);
	report_string(r, "begun_by", "by", c->m.manifest.begun_by);
	report_section_end(r);
}

/* Both snapshots are there. */
static void compare(struct cmd_session *s, struct cmd_maintenance *c, const struct ends *e, const struct changes *changes)
{
	struct finding_list before = {0}, after = {0};
	struct cmd_side old = {0}, new = {0};
	struct diff_result diff = {0};
	int error = 0;

	if (!cmd_side_open(s, s->ctx, e->before, NULL, &old) || !cmd_side_open(s, s->ctx, e->after, NULL, &new))
		goto out;
	if (cmd_diff_sides(s, &old, &new, changes, &diff) != 0 ||
	    !cmd_look(s, e->before, e->policy, old.fabric, cmd_maintenance_now(c), &before) ||
	    !cmd_look(s, e->after, e->policy_after, old.fabric, cmd_maintenance_now(c), &after))
		goto out;
	c->rates = e->policy_after;
	if (c->m.manifest.counters && !c->no_counters)
		cmd_maintenance_counters_end(s, c, &before, &after);
	error = cmd_look_compare(s, &before, &after, &diff, new.fabric);
	if (error != 0)
		session_fail(s, "cannot compare: %s", strerror(-error));
	else
		keep_manifest(s, c);
out:
	finding_list_clear(&before);
	finding_list_clear(&after);
	diff_result_clear(&diff);
	cmd_side_close(&old);
	cmd_side_close(&new);
}

/* What was kept must be readable before the fabric is asked. */
static bool is_of_this_fabric(struct cmd_session *s, const struct ends *e)
{
	struct finding_list none = {0};
	struct source *source = NULL;
	struct fabric *before = NULL;
	int error = source_open_file(s->ctx, e->before, NULL, &source);
	bool same = false;

	if (error == 0)
		error = source_discover(source, &none, &before);
	if (error == 0)
		same = fabric_is_same(before, s->fabric);
	if (error != 0)
		session_fail(s, "cannot read '%s': %s", e->before, strerror(-error));
	else if (!same)
		session_fail(s, "this is another fabric than '%s' has: fewer than half of the nodes are the same", e->before);
	finding_list_clear(&none);
	fabric_free(before);
	source_close(source);
	return same;
}

static void end(struct cmd_session *s, struct cmd_maintenance *c)
{
	struct snapshot *snapshot = NULL;
	struct changes *changes = NULL;
	struct ends e = {0};
	int error = maintenance_open(s->ctx, c->common.argument[0], false, &c->m);

	session_trust_state(s, MAINTENANCE_FOLDER);
	if (error == 0 && !c->m.begun)
		error = -ENOENT;
	if (error != 0) {
		cmd_maintenance_refuse(s, c, false, error);
		return;
	}
	report_what(s->report, c);
	s->figures.wanted = true;
	if ((c->expect && !cmd_changes_read(s, c->expect, &changes)) || (c->policy && !cmd_policy_is_good(s, c->policy)))
		goto out;
	if (find_files(c, &e) != 0)
		session_fail(s, "out of memory");
	else if (session_discover(s) && is_of_this_fabric(s, &e) && cmd_take(s, e.policy_after, NULL, &snapshot) &&
		 cmd_maintenance_keep(s, c, MAINTENANCE_AFTER, snapshot))
		compare(s, c, &e, changes);
out:
	snapshot_free(snapshot);
	changes_free(changes);
	free(e.before);
	free(e.after);
	free(e.policy);
}

enum ibqos_exit cmd_maintenance_end(struct ibqos_ctx *ctx, int argc, char **argv)
{
	return cmd_maintenance_run(ctx, &cmd_maintenance_end_argp, argc, argv, end);
}
