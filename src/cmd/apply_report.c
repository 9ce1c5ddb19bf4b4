/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What apply and rollback share. */
#include <stdlib.h>
#include <string.h>

#include "apply_report.h"

error_t cmd_apply_option(int key, char *arg, struct argp_state *state, struct ibqos_ctx *ctx, struct apply_options *options)
{
	switch (key) {
	case APPLY_KEY_DEADLINE:
		options->deadline_s = (unsigned)cmd_number(state, "--deadline", arg, 1, 86400);
		return 0;
	case APPLY_KEY_ALLOW_INCOMPLETE:
		options->allow_incomplete = true;
		return 0;
	case APPLY_KEY_STATE_DIR:
		ctx->state_dir = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

error_t cmd_parse_change(int key, char *arg, struct argp_state *state)
{
	struct cmd_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, o);
		return 0;
	case APPLY_KEY_STATE_DIR:
		o->ctx->state_dir = arg;
		return 0;
	case ARGP_KEY_END: /* without an ID too */
		return 0;
	default:
		return cmd_argument(key, arg, state, o, 1, "");
	}
}

/* "about 12 s more", by the ports that came since the first look at these tables; "" where none did. */
static void format_rest(const struct cmd_progress *p, uint32_t right, uint32_t rest, uint64_t now, char text[32])
{
	text[0] = '\0';
	if (rest > 0 && right > p->from)
		snprintf(text, 32, ", about %.0f s more",
			 (double)(now - p->began_ns) / 1e9 * rest / (right - p->from) + 0.5);
}

/* Tables that come slowly: how many ports hold them so far. */
static bool show_progress(void *arg, const char *step, const struct verify_result *result)
{
	struct cmd_session *s = arg;
	struct cmd_progress *p = &s->progress;
	uint32_t rest = result->ports_differ + result->ports_unknown, right = result->ports - rest;
	uint64_t now = clock_ns();
	char more[32];

	if (p->began_ns == 0 || right < p->right) /* other tables to come */
		*p = (struct cmd_progress){.began_ns = now, .from = right};
	p->right = right;
	if (!cmd_line_due(&s->line, now, false) && !(s->line.shown_ns != 0 && rest == 0))
		return true; /* all of them is shown in any case */
	format_rest(p, right, rest, now, more);
	cmd_line_show(&s->line, now, "%s%s%s: %u of %u ports hold the tables, %.0f s%s", s->line.terminal ? s->ctx->program : "",
		      s->line.terminal ? ": " : "", step, right, result->ports, (double)(now - p->began_ns) / 1e9, more);
	return true;
}

void cmd_apply_defaults(struct apply_options *options)
{
	*options = (struct apply_options){.deadline_s = 60, .max_lag = 0.01, .progress = show_progress};
}

/* Shown at once: what comes next takes its time, and may end badly. */
static void show_preflight(void *arg, const struct apply_preflight *preflight)
{
	struct cmd_session *s = arg;

	cmd_report_preflight(s->report, preflight);
	fflush(s->out);
}

void cmd_apply_begin(struct apply_options *options, struct cmd_session *s)
{
	options->surveyed = show_preflight;
	options->surveyed_arg = s;
	options->progress_arg = s;
}

static void report_ports(struct report *r, const char *key, const char *title, const struct verify_result *state)
{
	report_section(r, key, title);
	report_number(r, "looked_at", "looked at", state->ports);
	report_number(r, "differ", "differ", state->ports_differ);
	report_number(r, "unknown", "not known", state->ports_unknown);
	report_section_end(r);
}

#define TO_CONFIRM "to be confirmed, or it is undone: ibqos confirm"

/* The command, with the history that it is in. */
static void report_confirm(struct cmd_session *s, const char *id)
{
	char *word = text_shell_word(s->ctx->state_dir), *title = NULL;

	if (strcmp(s->ctx->state_dir, IBQOS_STATE_DIR) != 0 && word &&
	    asprintf(&title, TO_CONFIRM " --state-dir %s", word) < 0)
		title = NULL;
	report_string(s->report, "confirm", title ? title : TO_CONFIRM, id);
	free(title);
	free(word);
}

void cmd_apply_end(struct cmd_session *s, const struct apply_result *result, int error)
{
	struct report *r = s->report;

	ctx_progress_end(s->ctx);
	if (error != 0)
		session_fail(s, "cannot %s: %s", s->ctx->command, strerror(-error));
	if (result->outcome == APPLY_REFUSED) {
		ctx_error(s->ctx, "nothing was changed: see the findings");
		s->least = IBQOS_EXIT_UNKNOWN;
	}
	report_section(r, "apply", s->ctx->command);
	report_string(r, REPORT_OUTCOME, "outcome", apply_outcome_text(result->outcome));
	report_string(r, "reached", NULL, apply_step_name(result->reached));
	report_bool(r, "unchanged", NULL, result->outcome == APPLY_UNCHANGED);
	report_bool(r, "installed", NULL, result->installed);
	report_bool(r, "rolled_back", NULL, result->outcome == APPLY_ROLLED_BACK);
	if (result->outcome != APPLY_REFUSED && result->outcome != APPLY_STAGED)
		report_number(r, "reloads", "reloads of OpenSM", result->reloads);
	if (result->steps > 0) {
		report_number(r, "steps", NULL, result->steps);
		report_number(r, "step", NULL, result->step);
	}
	if (result->outcome == APPLY_APPLIED || result->outcome == APPLY_WAITED)
		report_real(r, "seconds", "until the last port read right", result->seconds, 1, "s");
	if (result->confirm_id)
		report_confirm(s, result->confirm_id);
	if (result->history)
		report_string(r, "history", "files before and after", result->history);
	if (result->restarted)
		report_bool(r, "restarted", "OpenSM was started again", true);
	report_section_end(r);
	if (result->steps_text && result->steps_text[0])
		report_text(r, REPORT_TO_DO, "to be done, by hand or by another tool", result->steps_text);
	if (result->measured) {
		report_ports(r, "ports", "ports, against the new tables", &result->verify);
		if (!result->back_measured)
			session_coverage(s, &result->verify);
	}
	if (result->back_measured) {
		report_ports(r, "ports_back", "ports, against the old tables after rolling back", &result->back);
		session_coverage(s, &result->back);
	}
}
