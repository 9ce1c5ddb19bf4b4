/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos ack: a finding of the audit that somebody knows of, until a date. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "ibqos/state.h"

enum { KEY_TICKET = 0x400, KEY_UNTIL, KEY_STATE, KEY_NOW };

struct ack_options {
	struct cmd_options cmd;
	const char *ticket, *until_text, *state;
	uint64_t until, now;
};

static const struct argp_option options_table[] = {
	{"ticket", KEY_TICKET, "T", 0, "what it is known by: a ticket, a name", 0},
	{"until", KEY_UNTIL, "DATE", 0, "2026-11-30 (its end) or 2026-11-30T10:00:00Z, UTC; afterwards it is told again", 0},
	{"state", KEY_STATE, "FILE", 0, "state file of the audit", 0},
	{"now", KEY_NOW, "SECONDS", OPTION_HIDDEN, "for tests: the time, in seconds since 1970", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ack_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &o->cmd);
		return 0;
	case KEY_TICKET:
		o->ticket = arg;
		return 0;
	case KEY_UNTIL:
		if (state_time_parse(arg, &o->until) != 0)
			argp_error(state, "--until takes a date as 2026-11-30 or 2026-11-30T10:00:00Z, not '%s'", arg);
		o->until_text = arg;
		return 0;
	case KEY_STATE:
		o->state = arg;
		return 0;
	case KEY_NOW:
		o->now = cmd_number(state, "--now", arg, 1, UINT32_MAX);
		return 0;
	case ARGP_KEY_SUCCESS:
		if (!o->ticket || !*o->ticket || !o->until_text || !o->state)
			argp_error(state, "--ticket, --until and --state are all needed");
		return 0;
	default:
		return cmd_argument(key, arg, state, &o->cmd, 2, "CODE or PLACE");
	}
}

const struct argp cmd_ack_argp = {
	.options = options_table,
	.parser = parse,
	.args_doc = "CODE PLACE",
	.doc = "Acknowledges a finding of `ibqos audit --state`: CODE as the audit names it, PLACE a port, leaf-1[3], or a whole "
	       "node, by name or GUID. Until the date it is a note, which changes no exit status.\v"
	       "Exit status: 0 acknowledged, 3 not.",
	.children = cmd_output_children,
};

static bool find_code(const char *text, enum finding_code *code)
{
	for (unsigned i = 0; i < FINDING_CODES; i++)
		if (strcmp(finding_kind((enum finding_code)i)->code, text) == 0) {
			*code = (enum finding_code)i;
			return true;
		}
	return false;
}

/*
 * Codes that only other commands tell, and those of files: the audit's state never has them. By how they begin; what is not a
 * warning at least is not remembered (state_findings()).
 */
static const char *const never[] = {"policy-", "plan-", "opensm-", "import-", "apply-", "confirm-", "job-", "rail-", "site-",
				    "merge-", "drain-", "changes-", "expected-", "path-", "lft-", "sl2vl-", "vlarb-", "oper-",
				    "high-limit-", "key-file-", "ibdiag-", "name-map-", "file-", "thresholds-", "ack-", "not-applied",
				    "tables-", "capability-", "credit-loop", "qos-off", "burst-", "link-class-", "link-exception-"};

/* Why an audit with --state will not heed an acknowledgement of it; NULL: it does. */
static const char *why_never(enum finding_code code)
{
	const struct finding_kind *kind = finding_kind(code);

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (strncmp(kind->code, never[i], strlen(never[i])) == 0)
			return "`ibqos audit --state` never finds it";
	if (kind->severity == FINDING_UNKNOWN)
		return "what could not be looked at stays unknown; of a dead host, list it for `ibqos audit --drained`";
	return kind->severity == FINDING_NOTE ? "it is a note already" : NULL;
}

/* Whether an audit saw a link or had a finding there. */
static bool is_seen(const struct state *state, uint64_t guid, int port)
{
	if (port != FINDING_WHOLE_NODE && state_port_find(state, guid, (unsigned)port))
		return true;
	for (size_t i = 0; i < state->port_count; i++)
		if (state->ports[i].peer_guid == guid && (port == FINDING_WHOLE_NODE || state->ports[i].peer_port == port))
			return true;
	for (size_t i = 0; i < state->finding_count; i++) {
		const struct state_finding *f = &state->findings[i];

		if ((f->guid == guid && (port == FINDING_WHOLE_NODE || f->port == port)) ||
		    (f->peer_guid == guid && (port == FINDING_WHOLE_NODE || f->peer_port == port)))
			return true;
	}
	for (size_t i = 0; port == FINDING_WHOLE_NODE && i < state->node_count; i++)
		if (state->nodes[i].guid == guid)
			return true;
	return false;
}

static void acknowledge(struct cmd_session *s, const struct ack_options *o)
{
	uint64_t now = o->now ? o->now : (uint64_t)time(NULL), guid;
	struct state state = {0};
	enum finding_code code;
	char until[STATE_TIME], closest[STATE_CLOSEST];
	bool usable;
	int error, port, lock = -1;

	if (!find_code(o->cmd.argument[0], &code)) {
		session_fail(s, "no finding has the code '%s'", o->cmd.argument[0]);
		return;
	}
	if (why_never(code)) {
		session_fail(s, "cannot acknowledge '%s': %s", o->cmd.argument[0], why_never(code));
		return;
	}
	if (o->until <= now) {
		session_fail(s, "'%s' is in the past", o->until_text);
		return;
	}
	if (access(o->state, F_OK) != 0) {
		session_fail(s, "cannot read '%s': %s; `ibqos audit --state` makes it", o->state, strerror(errno));
		return;
	}
	session_trust(s, o->state);
	error = file_lock(s->ctx, o->state, STATE_LOCK_MS, &lock); /* an audit reads it, thinks and writes it */
	if (error != 0) {
		session_fail(s, "cannot lock '%s.lock': %s", o->state,
			     error == -EWOULDBLOCK ? "another run holds it; try again" : strerror(-error));
		return;
	}
	now = o->now ? o->now : (uint64_t)time(NULL); /* an audit may have written it while we waited */
	error = state_load(o->state, NULL, now, &s->findings, &state, &usable);
	if (error != 0 || !usable) {
		session_fail(s, "cannot use '%s'%s%s", o->state, error ? ": " : "", error ? strerror(-error) : "");
		goto out;
	}
	error = state_place(&state, o->cmd.argument[1], &guid, &port);
	if (error == -ENOENT) {
		state_closest(&state, o->cmd.argument[1], closest);
		session_fail(s, "no node is called '%s' in the state file%s%s", o->cmd.argument[1], *closest ? "; " : "", closest);
		goto out;
	}
	if (error != 0) {
		session_fail(s, "'%s' is no place: write it as leaf-1[3], leaf-1 or 0x0123456789abcdef[3]", o->cmd.argument[1]);
		goto out;
	}
	if (!is_seen(&state, guid, port)) {
		session_fail(s, "cannot acknowledge at '%s': no audit that '%s' is of saw a link or a finding there; "
			     "give a place that the audit named", o->cmd.argument[1], o->state);
		goto out;
	}
	error = state_acknowledge(&state, code, guid, port, o->ticket, o->until);
	if (error == 0)
		error = state_save(o->state, NULL, state.written, &state);
	if (error != 0) {
		session_fail(s, "cannot write '%s': %s", o->state, strerror(-error));
		goto out;
	}
	state_time_text(o->until, until);
	report_section(s->report, "acknowledged", "acknowledged");
	report_string(s->report, "code", "finding", finding_kind(code)->code);
	report_guid(s->report, "node_guid", "node", guid);
	if (port != FINDING_WHOLE_NODE)
		report_number(s->report, "port", "port", (uint64_t)port);
	report_string(s->report, "ticket", "ticket", o->ticket);
	report_string(s->report, "until", "until", until);
	report_section_end(s->report);
out:
	file_unlock(lock);
	state_clear(&state);
}

enum ibqos_exit cmd_ack(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct ack_options options = {0};
	struct cmd_session s;

	cmd_defaults(&options.cmd, ctx);
	cmd_parse(&cmd_ack_argp, argc, argv, &options);
	if (!session_begin(&s, ctx, &options.cmd))
		return IBQOS_EXIT_UNKNOWN;
	acknowledge(&s, &options);
	return session_end(&s);
}
