/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos ack: a finding of the audit that somebody knows of, until a date; which ones there are, and one no longer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "ibqos/maintenance.h"
#include "ibqos/state.h"

enum { KEY_TICKET = 0x400, KEY_UNTIL, KEY_STATE, KEY_NOW, KEY_LIST, KEY_REMOVE };

struct ack_options {
	struct cmd_options cmd;
	const char *ticket, *until_text, *state;
	uint64_t until, now;
	bool list, remove;
};

static const struct argp_option options_table[] = {
	{"ticket", KEY_TICKET, "T", 0, "what it is known by: a ticket, a name", 0},
	{"until", KEY_UNTIL, "DATE", 0, "2026-11-30 (its end) or 2026-11-30T10:00:00Z, UTC; afterwards it is told again", 0},
	{"state", KEY_STATE, "FILE", 0, "state file of the audit", 0},
	{"list", KEY_LIST, NULL, 0, "show what is acknowledged: by whom, since and until when, and whether it is still seen", 0},
	{"remove", KEY_REMOVE, NULL, 0, "take back the acknowledgement of CODE at PLACE: from now on it is told again", 0},
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
	case KEY_LIST:
		o->list = true;
		return 0;
	case KEY_REMOVE:
		o->remove = true;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (o->list && o->remove)
			argp_error(state, "--list and --remove do not go together");
		if ((o->list || o->remove) && (o->ticket || o->until_text))
			argp_error(state, "--ticket and --until are of an acknowledgement that is made, not of --%s", o->list ? "list" : "remove");
		if ((o->list || o->remove) && !o->state)
			argp_error(state, "--state is needed, the file that the acknowledgements are in");
		if (o->list || o->remove)
			return 0;
		if (!o->ticket || !*o->ticket || !o->until_text || !o->state)
			argp_error(state, "--ticket, --until and --state are all needed");
		return 0;
	default:
		return cmd_argument(key, arg, state, &o->cmd, o->list ? 0 : 2, "CODE or PLACE");
	}
}

const struct argp cmd_ack_argp = {
	.options = options_table,
	.parser = parse,
	.args_doc = "CODE PLACE\n--list\n--remove CODE PLACE",
	.doc = "Acknowledges a finding of `ibqos audit --state`: CODE as the audit names it, PLACE a port, leaf-1[3], or a whole "
	       "node, by name or GUID. Until the date it is a note, which changes no exit status.\v"
	       "Exit status: 0 acknowledged, listed or taken back, 3 not.",
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

/* The state file, locked where it will be written (*lock; < 0: not). False, with a message, if it cannot be had. */
static bool open_state(struct cmd_session *s, const struct ack_options *o, struct state *state, int *lock)
{
	uint64_t now;
	bool usable;
	int error;

	if (access(o->state, F_OK) != 0) {
		session_fail(s, "cannot read '%s': %s; `ibqos audit --state` makes it", o->state, strerror(errno));
		return false;
	}
	session_trust(s, o->state);
	error = o->list ? 0 : file_lock(s->ctx, o->state, STATE_LOCK_MS, lock); /* an audit reads it, thinks and writes it */
	if (error != 0) {
		session_fail(s, "cannot lock '%s.lock': %s", o->state,
			     error == -EWOULDBLOCK ? "another run holds it; try again" : strerror(-error));
		return false;
	}
	now = o->now ? o->now : (uint64_t)time(NULL); /* an audit may have written it while we waited */
	error = state_load(o->state, NULL, now, &s->findings, state, &usable);
	if (error == 0 && usable)
		return true;
	session_fail(s, "cannot use '%s'%s%s", o->state, error ? ": " : "", error ? strerror(-error) : "");
	return false;
}

/* Of what was named on the command line. False, with a message, if it is no place of the state's. */
static bool place_of(struct cmd_session *s, const struct state *state, const char *text, uint64_t *guid, int *port)
{
	int error = state_place(state, text, guid, port);
	char closest[STATE_CLOSEST];

	if (error == -ENOENT) {
		state_closest(state, text, closest);
		session_fail(s, "no node is called '%s' in the state file%s%s", text, *closest ? "; " : "", closest);
	} else if (error != 0) {
		session_fail(s, "'%s' is no place: write it as leaf-1[3], leaf-1 or 0x0123456789abcdef[3]", text);
	}
	return error == 0;
}

/* What is acknowledged from now on, or no longer. */
static void report_ack(struct report *r, const char *key, const char *title, const struct state_ack *ack)
{
	char until[STATE_TIME];

	state_time_text(ack->until, until);
	report_section(r, key, title);
	report_string(r, "code", "finding", finding_kind(ack->code)->code);
	report_guid(r, "node_guid", "node", ack->guid);
	if (ack->port != FINDING_WHOLE_NODE)
		report_number(r, "port", "port", (uint64_t)ack->port);
	report_string(r, "ticket", "ticket", ack->ticket);
	report_string(r, "until", "until", until);
	report_section_end(r);
}

static void acknowledge(struct cmd_session *s, const struct ack_options *o, enum finding_code code, struct state *state)
{
	struct state_ack ack = {.code = code, .until = o->until, .since = o->now ? o->now : (uint64_t)time(NULL)};
	int error;

	if (!place_of(s, state, o->cmd.argument[1], &ack.guid, &ack.port))
		return;
	if (!is_seen(state, ack.guid, ack.port)) {
		session_fail(s, "cannot acknowledge at '%s': no audit that '%s' is of saw a link or a finding there; "
			     "give a place that the audit named", o->cmd.argument[1], o->state);
		return;
	}
	ack.by = maintenance_who();
	ack.ticket = strdup(o->ticket);
	error = ack.by && ack.ticket ? state_acknowledge(state, &ack) : -ENOMEM;
	if (error == 0)
		error = state_save(o->state, NULL, state->written, state);
	if (error != 0)
		session_fail(s, "cannot write '%s': %s", o->state, strerror(-error));
	else
		report_ack(s->report, "acknowledged", "acknowledged", &ack);
	state_ack_clear(&ack);
}

static void take_back(struct cmd_session *s, const struct ack_options *o, enum finding_code code, struct state *state)
{
	const struct state_ack *there;
	struct state_ack ack;
	uint64_t guid;
	int error, port;

	if (!place_of(s, state, o->cmd.argument[1], &guid, &port))
		return;
	there = state_ack_find(state, code, guid, port);
	if (!there) {
		session_fail(s, "'%s' is not acknowledged at '%s'; `ibqos ack --list --state %s` shows what is", o->cmd.argument[0],
			     o->cmd.argument[1], o->state);
		return;
	}
	ack = *there;
	ack.by = NULL;
	ack.ticket = strdup(there->ticket);
	state_ack_remove(state, there);
	error = ack.ticket ? state_save(o->state, NULL, state->written, state) : -ENOMEM;
	if (error != 0)
		session_fail(s, "cannot write '%s': %s", o->state, strerror(-error));
	else
		report_ack(s->report, "removed", "no longer acknowledged", &ack);
	state_ack_clear(&ack);
}

static void cell_time(struct report *r, uint64_t seconds)
{
	char text[STATE_TIME];

	state_time_text(seconds, text);
	report_cell_string(r, seconds ? text : NULL);
}

static void list(struct cmd_session *s, const struct ack_options *o, const struct state *state)
{
	static const struct report_column columns[] = {
		{.key = "code", .title = "finding", .type = REPORT_STRING},
		{.key = "place", .title = "place", .type = REPORT_STRING},
		{.key = "node_guid", .type = REPORT_GUID},
		{.key = "port", .type = REPORT_NUMBER},
		{.key = "ticket", .title = "ticket", .type = REPORT_STRING},
		{.key = "by", .title = "by", .type = REPORT_STRING},
		{.key = "since", .title = "since", .type = REPORT_STRING},
		{.key = "until", .title = "until", .type = REPORT_STRING},
		{.key = "expired", .title = "expired", .type = REPORT_BOOL},
		{.key = "seen", .title = "still seen", .type = REPORT_BOOL},
		{.key = "last_seen", .title = "last seen", .type = REPORT_STRING},
	};
	uint64_t now = o->now ? o->now : (uint64_t)time(NULL), last;
	struct report *r = s->report;

	report_number(r, "acknowledged", "acknowledged", state->ack_count);
	report_table(r, "acknowledgements", "acknowledgements", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < state->ack_count; i++) {
		const struct state_ack *ack = &state->acks[i];
		bool seen = state_ack_seen(state, ack, &last);
		char place[STATE_PLACE];

		state_place_text(state, ack->guid, ack->port, place);
		report_cell_string(r, finding_kind(ack->code)->code);
		report_cell_string(r, place);
		report_cell_guid(r, ack->guid);
		if (ack->port == FINDING_WHOLE_NODE)
			report_cell_none(r);
		else
			report_cell_number(r, (uint64_t)ack->port);
		report_cell_string(r, ack->ticket);
		report_cell_string(r, ack->by);
		cell_time(r, ack->since);
		cell_time(r, ack->until);
		report_cell_bool(r, ack->until <= now);
		report_cell_bool(r, seen);
		if (last)
			cell_time(r, last);
		else
			report_cell_none(r);
		report_row_end(r);
	}
	report_table_end(r);
}

static void run(struct cmd_session *s, const struct ack_options *o)
{
	enum finding_code code = FINDING_CODES;
	struct state state = {0};
	int lock = -1;

	if (!o->list && !find_code(o->cmd.argument[0], &code)) {
		session_fail(s, "no finding has the code '%s'", o->cmd.argument[0]);
		return;
	}
	if (!o->list && !o->remove && why_never(code)) {
		session_fail(s, "cannot acknowledge '%s': %s", o->cmd.argument[0], why_never(code));
		return;
	}
	if (!o->list && !o->remove && o->until <= (o->now ? o->now : (uint64_t)time(NULL))) {
		session_fail(s, "'%s' is in the past", o->until_text);
		return;
	}
	if (open_state(s, o, &state, &lock)) {
		if (o->list)
			list(s, o, &state);
		else if (o->remove)
			take_back(s, o, code, &state);
		else
			acknowledge(s, o, code, &state);
	}
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
	run(&s, &options);
	return session_end(&s);
}
