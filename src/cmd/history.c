/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos history: the changes that were applied, newest first; or one of them, with its journal. */
#include <errno.h>
#include <string.h>

#include "apply_report.h"

#include "ibqos/apply.h"

static const struct argp_option own_options[] = {
	{"state-dir", APPLY_KEY_STATE_DIR, "DIR", 0, "where apply keeps it (default " IBQOS_STATE_DIR ")", 0},
	{0},
};

const struct argp cmd_history_argp = {
	.options = own_options,
	.parser = cmd_parse_change,
	.args_doc = "[ID]",
	.doc = "Lists the changes that `ibqos apply` has made on this host, newest first: when, by whom, the policy, what came "
	       "of it and whether `ibqos rollback --to` its folder can undo it. With ID shows one of them and its journal.\v"
	       "Exit status: 0, or 3 where the history cannot be read.",
	.children = cmd_output_children,
};

static const char *who(const struct apply_entry *e)
{
	return e->sudo_user ? e->sudo_user : e->user;
}

static void list(struct report *r, const struct apply_entry *entries, size_t count)
{
	static const struct report_column columns[] = {
		{.key = "id", .title = "change", .type = REPORT_STRING},
		{.key = "when", .title = "when", .type = REPORT_STRING},
		{.key = "who", .title = "who", .type = REPORT_STRING},
		{.key = "policy", .title = "policy", .type = REPORT_STRING},
		{.key = "state", .title = "state", .type = REPORT_STRING},
		{.key = "outcome", .title = "outcome", .type = REPORT_STRING},
		{.key = "confirm", .title = "confirmation", .type = REPORT_STRING},
		{.key = "can_roll_back", .title = "can be rolled back", .type = REPORT_BOOL},
		{.key = "opensm_config", .title = "OpenSM's config", .type = REPORT_STRING},
	};

	report_table(r, "history", "changes, newest first", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++) {
		const struct apply_entry *e = &entries[i];

		report_cell_string(r, e->id);
		report_cell_string(r, e->when);
		report_cell_string(r, who(e));
		report_cell_string(r, e->policy ? e->policy : e->policy_path);
		report_cell_string(r, e->state);
		report_cell_string(r, e->outcome);
		report_cell_if(r, e->confirm);
		report_cell_bool(r, e->can_undo);
		report_cell_string(r, e->config);
		report_row_end(r);
	}
	report_table_end(r);
}

static void show(struct report *r, const struct apply_entry *e)
{
	report_section(r, "change", "change");
	report_string(r, "id", "change", e->id);
	report_string(r, "folder", "folder", e->folder);
	report_string(r, "when", "when", e->when);
	report_string(r, "host", "host", e->host);
	report_string(r, "fabric", NULL, e->fabric);
	report_string(r, "user", "user", e->user);
	report_number(r, "uid", NULL, (uint64_t)e->uid);
	report_number(r, "login_uid", "login user", (uint64_t)e->login_uid);
	report_string(r, "sudo_user", "by sudo", e->sudo_user ? e->sudo_user : "no");
	report_string(r, "policy", e->policy || !e->policy_path ? "policy" : NULL, e->policy);
	report_string(r, "policy_path", e->policy ? "read from" : "policy, read from", e->policy_path);
	report_string(r, "opensm_config", "OpenSM's config", e->config);
	report_string(r, "ibqos_then", "ibqos", e->ibqos);
	report_string(r, "state", "state", e->state);
	report_string(r, REPORT_OUTCOME, "outcome", e->outcome);
	report_string(r, "confirm", "confirmation", e->confirm ? e->confirm : "none needed");
	report_bool(r, "can_roll_back", "can be rolled back", e->can_undo);
	if (e->why_not)
		report_string(r, "why_not", "why not", e->why_not);
	report_section_end(r);
	report_text(r, "journal", "journal", e->journal ? e->journal : "");
}

enum ibqos_exit cmd_history(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct cmd_options options = {0};
	struct apply_entry *entries = NULL;
	struct cmd_session s;
	const char *id;
	size_t count = 0;
	int error;

	cmd_defaults(&options, ctx);
	cmd_parse(&cmd_history_argp, argc, argv, &options);
	if (!session_begin(&s, ctx, &options))
		return IBQOS_EXIT_UNKNOWN;
	id = options.arguments ? options.argument[0] : NULL;
	session_trust_state(&s, "history");
	error = apply_history(ctx, id, &entries, &count);
	if (error != 0)
		session_fail(&s, "cannot read the history in %s%s%s: %s", ctx->state_dir, id ? " of change " : "", id ? id : "",
			     strerror(-error));
	for (size_t i = 0; i < count; i++) {
		struct finding *f;

		if (entries[i].error == 0)
			continue;
		f = finding_at(finding_add(&s.findings, FINDING_APPLY_HISTORY_BROKEN), entries[i].folder, 0, 0);
		finding_set(&f->got, "%s", strerror(-entries[i].error));
	}
	if (error == 0 && id)
		show(s.report, &entries[0]);
	else if (error == 0)
		list(s.report, entries, count);
	apply_history_free(entries, count);
	return session_end(&s);
}
