/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos confirm: keeps a change that would be undone else; and what apply and rollback need for such. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "confirm.h"

static const struct argp_option own_options[] = {
	{"state-dir", APPLY_KEY_STATE_DIR, "DIR", 0, "where history is kept (default " IBQOS_STATE_DIR ")", 0},
	{0},
};

const struct argp cmd_confirm_argp = {
	.options = own_options,
	.parser = cmd_parse_change,
	.args_doc = "[ID]",
	.doc = "Keeps a change that `ibqos apply --confirm-within` has made: its timer then undoes nothing. ID is what apply "
	       "printed, the name of the history folder; without it the newest change in force is meant. Asks no device.\v"
	       "Exit status: 0 confirmed, now or before, 2 too late, 3 none waits, or another ibqos is at work.",
	.children = cmd_output_children,
};

enum ibqos_exit cmd_confirm(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct cmd_options options = {0};
	char *confirmed = NULL;
	struct cmd_session s;
	int error;

	cmd_defaults(&options, ctx);
	cmd_parse(&cmd_confirm_argp, argc, argv, &options);
	if (!session_begin(&s, ctx, &options))
		return IBQOS_EXIT_UNKNOWN;
	session_trust_state(&s, "history");
	error = apply_confirm(ctx, options.argument[0], &s.findings, &confirmed);
	if (error != 0)
		session_fail(&s, "cannot confirm: %s", strerror(-error));
	report_section(s.report, "confirm", "confirm");
	report_bool(s.report, "confirmed", "confirmed", confirmed != NULL);
	report_string(s.report, "id", "change", confirmed);
	report_section_end(s.report);
	free(confirmed);
	return session_end(&s);
}

/* --- for apply --- */

static char *keep(struct undo_command *c, char *text)
{
	c->argv[c->count] = text;
	if (text)
		c->count++;
	else
		c->lost = true;
	return text;
}

__attribute__((format(printf, 2, 3))) static void add(struct undo_command *c, const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	keep(c, text);
}

/* A file or folder that is named from here. */
static void add_path(struct undo_command *c, const char *option, const char *path, const char *cwd)
{
	if (path)
		add(c, "--%s=%s%s%s", option, *path == '/' ? "" : cwd, *path == '/' ? "" : "/", path);
}

/*
 * Nothing of it may depend on where and by whom the timer is run, and it is to ask the same port, by the same keys: files, that
 * is, of which the command line of the timer tells only the name.
 */
int cmd_undo_command(const struct cmd_options *options, const struct apply_options *apply, struct undo_command *c)
{
	const struct mad_limits *limits = &options->source.limits;
	const struct trust *trust = options->ctx->trust;
	char self[PATH_MAX], cwd[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	*c = (struct undo_command){0};
	if (length < 0 || !getcwd(cwd, sizeof(cwd)))
		return -errno;
	self[length] = '\0';
	add(c, "%s", self);
	add(c, "rollback");
	add_path(c, "state-dir", options->ctx->state_dir, cwd);
	add(c, "--deadline=%u", apply->deadline_s);
	add(c, "--allow-incomplete"); /* what does not answer is no reason to leave it as it is */
	add(c, "--timeout=%u", limits->timeout_ms);
	add(c, "--retries=%u", limits->retries);
	add(c, "--mad-rate=%u", limits->rate);
	if (options->source.device)
		add(c, "--Ca=%s", options->source.device);
	if (options->source.port != 0)
		add(c, "--Port=%d", options->source.port);
	if (options->source.port_guid != 0)
		add(c, "--port-guid=0x%016llx", (unsigned long long)options->source.port_guid);
	if (options->source.directed)
		add(c, "--directed-route");
	if (options->source.pkey_index != 0)
		add(c, "--pkey-idx=%u", options->source.pkey_index);
	add_path(c, "m_key", options->m_key, cwd);
	add_path(c, "guid2mkey", options->guid2mkey, cwd);
	add_path(c, "config", options->config, cwd);
	for (unsigned i = 0; i < trust->user_count; i++) /* numbers: what the timer trusts is what is trusted now */
		add(c, "--trust=%u", (unsigned)trust->users[i]);
	for (unsigned i = 0; i < trust->group_count; i++)
		add(c, "--trust=:%u", (unsigned)trust->groups[i]);
	if (*options->ctx->fabric)
		add(c, "--fabric=%s", options->ctx->fabric);
	return c->lost ? -ENOMEM : 0;
}

void cmd_undo_command_clear(struct undo_command *c)
{
	for (unsigned i = 0; i < c->count; i++)
		free(c->argv[i]);
	*c = (struct undo_command){0};
}

/* --- for the timer's rollback --- */

void cmd_log_unconfirmed(const struct ibqos_ctx *ctx, const char *id, const struct apply_result *result,
			 const struct finding_list *findings)
{
	bool alarm = result->outcome != APPLY_ROLLED_BACK && result->outcome != APPLY_KEPT;
	const char *why = "";

	for (size_t i = 0; i < findings->count; i++)
		if (findings->items[i].code == FINDING_APPLY_NOT_UNDONE && findings->items[i].got)
			why = findings->items[i].got;
	openlog("ibqos", LOG_PID | (ctx->verbosity >= 0 ? LOG_PERROR : 0), LOG_DAEMON);
	if (alarm)
		syslog(LOG_CRIT, "change %s was not confirmed and is NOT undone: %s%s%s", id,
		       apply_outcome_text(result->outcome), *why ? ": " : "", why);
	else
		syslog(LOG_NOTICE, "change %s: %s", id, apply_outcome_text(result->outcome));
	closelog();
}
