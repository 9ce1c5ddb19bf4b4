/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos maintenance begin: the state of before, in a folder that is whole once its manifest is there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "maintenance.h"
#include "take.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_maintenance *c = state->input;
	error_t error = cmd_maintenance_option(key, arg, state);

	if (key == ARGP_KEY_SUCCESS && c->no_counters && c->state)
		argp_error(state, "--state is about counters, --no-counters leaves them out");
	return error == ARGP_ERR_UNKNOWN ? cmd_argument(key, arg, state, &c->common, 1, "the name of the maintenance") : error;
}

static const struct argp_option own_options[] = {
	{"policy", MAINTENANCE_KEY_POLICY, "POLICY", 0, "verify against this policy, too, and judge links by it", 0},
	{"drain", MAINTENANCE_KEY_DRAIN, "NODE", 0, "say what taking this node out would cut; may be repeated", 0},
	{"state", MAINTENANCE_KEY_STATE, "FILE", 0, "state file of the audit: what counters said before (only read)", 0},
	{"no-counters", MAINTENANCE_KEY_NO_COUNTERS, NULL, 0, "do not ask for counters", 0},
	{"state-dir", MAINTENANCE_KEY_STATE_DIR, "DIR", 0, "where it is kept (default " IBQOS_STATE_DIR ")", 0},
	{"now", MAINTENANCE_KEY_NOW, "SECONDS", OPTION_HIDDEN, "for tests: the time, in seconds since 1970", 0},
	{0},
};

const struct argp cmd_maintenance_begin_argp = {
	.options = own_options,
	.parser = parse,
	.args_doc = "NAME",
	.doc = "Keeps the state of the fabric before work on it: a snapshot, counters, the policy. `ibqos maintenance end NAME` "
	       "compares with it. What was cut short can be begun again.\v"
	       "Exit status: 0 all was kept, whatever it says of the fabric, since work is often done for what is wrong; with --drain 1 or 2 where that cuts something; 3 "
	       "something was not answered, or nothing was kept.",
	.children = cmd_fabric_children,
};

/* What there is to be said of the fabric before anything is done, by code. */
static void report_before(struct report *r, const struct finding_list *found)
{
	static const struct report_column columns[] = {
		{.key = "code", .title = "finding", .type = REPORT_STRING},
		{.key = "severity", .title = "severity", .type = REPORT_STRING},
		{.key = "count", .title = "places", .type = REPORT_NUMBER},
		{.key = "title", .title = "is", .type = REPORT_STRING},
	};

	report_table(r, "before", "findings before the work", columns, sizeof(columns) / sizeof(columns[0]));
	for (int code = 0; code < FINDING_CODES; code++) {
		size_t count = finding_count_code(found, (enum finding_code)code);

		if (count == 0)
			continue;
		report_cell_string(r, finding_kind((enum finding_code)code)->code);
		report_cell_string(r, finding_severity_name(finding_kind((enum finding_code)code)->severity));
		report_cell_number(r, count);
		report_cell_string(r, finding_kind((enum finding_code)code)->title);
		report_row_end(r);
	}
	report_table_end(r);
}

static bool is_told(const struct finding_list *findings, const struct finding *f)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->items[i].code == f->code && findings->items[i].guid == f->guid && findings->items[i].port == f->port)
			return true;
	return false;
}

/*
 * The same as one finding, which is told however brief the report is: of those that are not told themselves. A note, since begin
 * is about whether the state was kept.
 */
static void tell_before(const struct finding_list *found, struct finding_list *findings)
{
	size_t codes[FINDING_CODES] = {0}, severities[FINDING_CRITICAL + 1] = {0};
	struct finding *f = NULL;

	for (size_t i = 0; i < found->count; i++) {
		if (found->items[i].severity == FINDING_NOTE || is_told(findings, &found->items[i]))
			continue;
		codes[found->items[i].code]++;
		severities[found->items[i].severity]++;
	}
	for (int severity = FINDING_CRITICAL; severity > FINDING_NOTE; severity--) {
		const char *name = finding_severity_name((enum finding_severity)severity);

		if (severities[severity] == 0)
			continue;
		if (!f)
			f = finding_add(findings, FINDING_MAINTENANCE_FOUND_BEFORE);
		if (f->what)
			finding_set(&f->what, "%s, %zu %s", f->what, severities[severity], name);
		else
			finding_set(&f->what, "%zu %s", severities[severity], name);
	}
	for (int code = 0; f && code < FINDING_CODES; code++)
		if (codes[code] > 0)
			finding_append(&f->got, "%zu %s", codes[code], finding_kind((enum finding_code)code)->code);
}

static int keep_policy(struct cmd_session *s, const struct cmd_maintenance *c)
{
	char *text = NULL, *path;
	size_t size = 0;
	int error;

	if (!c->policy) { /* of a begin that was cut short */
		path = maintenance_path(&c->m, MAINTENANCE_POLICY);
		error = path ? file_remove(path) : -ENOMEM;
		free(path);
	} else {
		error = file_read(c->policy, &text, &size);
		if (error == 0)
			error = maintenance_write(&c->m, MAINTENANCE_POLICY, text, size);
		free(text);
	}
	if (error != 0)
		session_fail(s, "cannot keep the policy in '%s': %s", c->m.folder, strerror(-error));
	return error;
}

static bool keep_manifest(struct cmd_session *s, struct cmd_maintenance *c)
{
	struct maintenance_manifest *m = &c->m.manifest;
	char when[SESSION_TIME];

	session_time(cmd_maintenance_now(c), when);
	m->fabric = strdup(s->ctx->fabric);
	m->begun = strdup(when);
	m->begun_by = maintenance_who();
	m->policy = c->policy ? strdup(c->policy) : NULL;
	return cmd_maintenance_keep_manifest(s, c, m->fabric && m->begun && m->begun_by && (m->policy || !c->policy));
}

static void report_begun(struct report *r, const struct maintenance *m)
{
	report_section(r, "begun", "begun");
	report_string(r, "name", "name", m->name);
	report_string(r, "folder", "kept in", m->folder);
	report_string(r, "when", "when", m->manifest.begun);
	report_string(r, "by", "by", m->manifest.begun_by);
	report_section_end(r);
}

/* The manifest last: from then on it is begun. */
static bool keep(struct cmd_session *s, struct cmd_maintenance *c, const struct snapshot *snapshot)
{
	char *path = maintenance_path(&c->m, MAINTENANCE_BEFORE);
	struct finding_list found = {0};
	bool kept = false;

	check_snapshot_cut(snapshot, &s->findings);
	if (!path || check_snapshot(snapshot, s->fabric, &s->findings) != 0)
		session_fail(s, "out of memory");
	else
		kept = cmd_maintenance_keep(s, c, MAINTENANCE_BEFORE, snapshot) && keep_policy(s, c) == 0;
	if (kept && !c->no_counters) {
		c->rates = c->policy;
		cmd_maintenance_counters_begin(s, c);
		kept = c->m.manifest.counters;
	}
	kept = kept && cmd_look(s, path, c->policy, NULL, cmd_maintenance_now(c), &found) && !ctx_stopped(s->ctx) &&
	       keep_manifest(s, c);
	if (kept) {
		report_before(s->report, &found);
		tell_before(&found, &s->findings);
		report_begun(s->report, &c->m);
	}
	finding_list_clear(&found);
	free(path);
	return kept;
}

static void begin(struct cmd_session *s, struct cmd_maintenance *c)
{
	struct snapshot *snapshot = NULL;
	int error = maintenance_open(s->ctx, c->common.argument[0], true, &c->m);

	session_trust_state(s, MAINTENANCE_FOLDER);
	if (error != 0) {
		cmd_maintenance_refuse(s, c, true, error);
		return;
	}
	if (c->m.begun) {
		session_fail(s, "maintenance '%s' was begun at %s by %s%s: choose another name, or remove '%s'", c->m.name,
			     c->m.manifest.begun, c->m.manifest.begun_by ? c->m.manifest.begun_by : "somebody",
			     c->m.manifest.ended ? ", and ended" : "; `ibqos maintenance end` ends it", c->m.folder);
		return;
	}
	if (c->policy && !cmd_policy_is_good(s, c->policy))
		return;
	if (!session_discover(s))
		return;
	session_fabric_fields(s);
	if (c->drain_count > 0 && !cmd_drain_report(s, c->drain, c->drain_count))
		return;
	if (!cmd_take(s, c->policy, NULL, &snapshot) || !keep(s, c, snapshot))
		session_fail(s, "maintenance '%s' was not begun; the same command can be given again", c->m.name);
	snapshot_free(snapshot);
}

enum ibqos_exit cmd_maintenance_begin(struct ibqos_ctx *ctx, int argc, char **argv)
{
	return cmd_maintenance_run(ctx, &cmd_maintenance_begin_argp, argc, argv, begin);
}
