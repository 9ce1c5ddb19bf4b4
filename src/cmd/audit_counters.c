/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Counters in ibqos audit: asked, judged by how they grew, remembered. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit_counters.h"
#include "ibqos/snapshot.h"

enum { KEY_COUNTERS = 0x300, KEY_STATE, KEY_THRESHOLDS, KEY_SUPPRESS, KEY_SUPPRESS_COMMON, KEY_CONGESTION, KEY_HOLD, KEY_NOW, KEY_SHARES, KEY_INTERVAL, KEY_SINCE };

static const struct argp_option options_table[] = {
	{NULL, 0, NULL, 0, "Counters:", 1},
	{"counters", KEY_COUNTERS, NULL, 0, "ask the counters of both ends of each link too; they are never cleared", 0},
	{"state", KEY_STATE, "FILE", 0, "remember there: counters to compare with, findings since when, acknowledgements", 0},
	{"since", KEY_SINCE, "WHEN", 0, "only what changed since: last (run), 2h, 7d, 2026-11-30, 2026-11-30T10:00:00Z", 0},
	{"hold", KEY_HOLD, "MIN", 0, "a finding stays until clean for so long (default 60)", 0},
	{"error-thresholds", KEY_THRESHOLDS, "FILE", 0, "thresholds of totals, as infiniband-diags has them", 0},
	{"suppress", KEY_SUPPRESS, "NAMES", 0, "counters to tell nothing of: NAME,NAME...", 0},
	{"suppress-common", KEY_SUPPRESS_COMMON, NULL, 0, "tell nothing of PortRcvSwitchRelayErrors", 0},
	{"congestion", KEY_CONGESTION, "PERCENT", 0, "warn of ports that could not send for so much of the time", 0},
	{"shares", KEY_SHARES, NULL, 0, "ask what each service level sent, and compare busy ports with the policy", 0},
	{"interval", KEY_INTERVAL, "SECONDS", 0, "look twice, so long apart, in place of an earlier run's --state", 0},
	{"now", KEY_NOW, "SECONDS", OPTION_HIDDEN, "for tests: the time, in seconds since 1970", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_counters_options *o = state->input;
	const char *bad;
	uint64_t unused;
	size_t size;

	switch (key) {
	case KEY_COUNTERS:
		o->counters = true;
		return 0;
	case KEY_STATE:
		o->state = arg;
		return 0;
	case KEY_SINCE:
		if (state_since_parse(arg, UINT32_MAX, 0, &unused) != 0)
			argp_error(state, "--since takes last, a time before now as 90s, 30min, 2h or 7d, or a date as 2026-11-30 or "
					  "2026-11-30T10:00:00Z, not '%s'", arg);
		o->since = arg;
		return 0;
	case KEY_HOLD:
		o->hold_s = 60 * (unsigned)cmd_number(state, "--hold", arg, 0, 525600);
		return 0;
	case KEY_THRESHOLDS:
		o->thresholds = arg;
		return 0;
	case KEY_SUPPRESS:
		if (!counter_suppress(&o->suppress, arg, &bad, &size))
			argp_error(state, "--suppress takes names of counters with commas between, and none is called '%.*s'",
				   size > 80 ? 80 : (int)size, bad);
		return 0;
	case KEY_SUPPRESS_COMMON:
		counter_suppress_common(&o->suppress);
		return 0;
	case KEY_CONGESTION:
		o->congestion = (unsigned)cmd_number(state, "--congestion", arg, 1, 100);
		return 0;
	case KEY_SHARES:
		o->shares = true;
		return 0;
	case KEY_INTERVAL:
		o->interval = (unsigned)cmd_number(state, "--interval", arg, 5, 86400);
		return 0;
	case KEY_NOW:
		o->now = cmd_number(state, "--now", arg, 1, UINT32_MAX);
		return 0;
	case ARGP_KEY_SUCCESS:
		if (!o->counters && (o->thresholds || o->suppress.suppressed || o->congestion || o->shares || o->interval))
			argp_error(state, "--error-thresholds, --suppress, --congestion, --shares and --interval are about counters: "
					  "add --counters");
		if (o->since && !o->state && !o->cmd->site) /* a site has one for each fabric */
			argp_error(state, "--since compares with what --state FILE remembers");
		if (o->interval && o->state)
			argp_error(state, "--interval looks twice in one run; with --state the earlier look is that of the run before");
		if ((o->interval || o->shares) && o->cmd->from)
			argp_error(state, "--interval and --shares ask the fabric itself, --from looks at a file");
		if (o->state && o->cmd->from)
			argp_error(state, "--state remembers what the fabric itself is like, --from looks at a file");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp cmd_counters_argp = {.options = options_table, .parser = parse};

void cmd_counters_defaults(struct cmd_counters_options *options, struct cmd_options *cmd)
{
	*options = (struct cmd_counters_options){.cmd = cmd, .hold_s = STATE_HOLD_S};
}

static void read_thresholds(struct cmd_session *s, const struct cmd_counters_options *options,
			    struct counter_thresholds *thresholds)
{
	char *text;
	size_t size;
	int error;

	*thresholds = options->suppress;
	if (!options->thresholds)
		return;
	session_trust(s, options->thresholds);
	error = file_read(options->thresholds, &text, &size);
	if (error != 0) {
		session_fail(s, "cannot read '%s': %s", options->thresholds, strerror(-error));
		return;
	}
	counter_thresholds_parse(options->thresholds, text, &s->findings, thresholds);
	free(text);
}

static void report_coverage(struct report *r, const struct counters *counters)
{
	static const struct report_column columns[] = {
		{.key = "item", .title = "asked for", .type = REPORT_STRING},
		{.key = "asked", .title = "queries", .type = REPORT_NUMBER},
		{.key = "answered", .title = "answered", .type = REPORT_NUMBER},
		{.key = "unsupported", .title = "not there", .type = REPORT_NUMBER},
		{.key = "status", .title = "refused", .type = REPORT_NUMBER},
		{.key = "timed_out", .title = "timed out", .type = REPORT_NUMBER},
		{.key = "not_asked", .title = "given up", .type = REPORT_NUMBER},
	};

	report_table(r, "counters_coverage", "coverage of counters", columns, sizeof(columns) / sizeof(columns[0]));
	for (int i = 0; i < COUNTERS_ITEMS; i++) {
		const struct check_coverage *c = &counters->coverage[i];

		if (i >= COUNTERS_SENT_SL && !counters->shares)
			continue;
		report_cell_string(r, counters_item_name(i));
		report_cell_number(r, c->asked);
		report_cell_number(r, c->ended[MAD_ANSWERED]);
		report_cell_number(r, counters->unsupported[i]);
		report_cell_number(r, c->ended[MAD_STATUS] - counters->unsupported[i]);
		report_cell_number(r, c->ended[MAD_TIMED_OUT]);
		report_cell_number(r, c->ended[MAD_NOT_ASKED]);
		report_row_end(r);
	}
	report_table_end(r);
}

/* Every counter that grew, where it was asked since when. */
static void report_growth(struct cmd_session *s, const struct counters *counters, const struct counter_growth *growth)
{
	static const struct report_column columns[] = {
		{.key = "node_guid", .title = NULL, .type = REPORT_GUID},
		{.key = "node", .title = "node", .type = REPORT_STRING},
		{.key = "port", .title = "port", .type = REPORT_NUMBER},
		{.key = "counter", .title = "counter", .type = REPORT_STRING},
		{.key = "growth", .title = "grew by", .type = REPORT_NUMBER},
		{.key = "least", .title = "or more", .type = REPORT_BOOL},
		{.key = "since", .title = "since", .type = REPORT_STRING},
	};
	char since[STATE_TIME];

	report_table(s->report, "counter_growth", "counters that grew", columns, sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < s->fabric->port_count; i++)
		for (unsigned id = 0; id < COUNTERS; id++) {
			/* data and time without credits grow everywhere: only where all is asked for */
			if (!counters->ports[i].wanted || !(growth[i].known & COUNTER_BIT(id)) || growth[i].growth[id] == 0 ||
			    (counter_row(id)->rule == COUNTER_CONTEXT && !s->options->all))
				continue;
			state_time_text(growth[i].since, since);
			report_cell_guid(s->report, fabric_port_node(s->fabric, i)->guid);
			report_cell_string(s->report, fabric_port_node(s->fabric, i)->name);
			report_cell_number(s->report, s->fabric->ports[i].number);
			report_cell_string(s->report, counter_row(id)->name);
			report_cell_number(s->report, growth[i].growth[id]);
			report_cell_bool(s->report, growth[i].least & COUNTER_BIT(id));
			report_cell_string(s->report, since);
			report_row_end(s->report);
		}
	report_table_end(s->report);
}

static void report_result(struct report *r, const struct counters *counters, const struct counters_result *result, bool state)
{
	report_section(r, "counters", "counters");
	report_number(r, "ports", "ports asked", counters->wanted);
	report_number(r, "read", "of these answered", counters->read);
	report_number(r, "no_lid", "active, but without a LID to ask at", counters->no_lid);
	report_number(r, "saturated", "with a counter at its highest value", result->saturated);
	if (state) {
		report_number(r, "compared", "compared with an earlier look", result->compared);
		report_number(r, "first", "seen for the first time", result->first);
		report_number(r, "new_link", "with another peer or speed than then", result->new_link);
		report_number(r, "restarted", "of devices that restarted", result->restarted);
		report_number(r, "cleared", "cleared by somebody", result->cleared);
		report_number(r, "anew", "cleared or restarted", result->anew);
		report_number(r, "ber_good", "bit errors within limits for sure", result->ber[BER_GOOD]);
		report_number(r, "ber_early", "too early to say", result->ber[BER_EARLY]);
		report_number(r, "ber_between", "neither sure", result->ber[BER_BETWEEN]);
		report_number(r, "ber_bad", "above limits for sure", result->ber[BER_WARN] + result->ber[BER_ERROR]);
		report_number(r, "ber_unknown", "not known: of unknown speed, or without a count of symbol errors", result->ber[BER_UNKNOWN]);
		report_number(r, "waiting_known", "time without credits known", result->waiting_known);
		report_number(r, "waiting_10", "of these 10 % and more", result->waiting_10);
		report_number(r, "waiting_50", "of these 50 % and more", result->waiting_50);
	}
	report_section_end(r);
}

/* Every counter that is not zero, where all is asked for. */
static void report_totals(struct cmd_session *s, const struct counters *counters)
{
	static const struct report_column columns[] = {
		{.key = "node_guid", .title = NULL, .type = REPORT_GUID},
		{.key = "node", .title = "node", .type = REPORT_STRING},
		{.key = "port", .title = "port", .type = REPORT_NUMBER},
		{.key = "counter", .title = "counter", .type = REPORT_STRING},
		{.key = "value", .title = "total", .type = REPORT_NUMBER},
		{.key = "saturated", .title = "or more", .type = REPORT_BOOL},
	};

	report_table(s->report, "counter_totals", "counters that are not zero", columns, sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < s->fabric->port_count; i++) {
		const struct counter_reading *r = &counters->ports[i];

		for (unsigned id = 0; id < COUNTERS; id++) {
			if (!(r->known & COUNTER_BIT(id)) || r->value[id] == 0)
				continue;
			report_cell_guid(s->report, fabric_port_node(s->fabric, i)->guid);
			report_cell_string(s->report, fabric_port_node(s->fabric, i)->name);
			report_cell_number(s->report, s->fabric->ports[i].number);
			report_cell_string(s->report, counter_row(id)->name);
			report_cell_number(s->report, r->value[id]);
			report_cell_bool(s->report, r->saturated & COUNTER_BIT(id));
			report_row_end(s->report);
		}
	}
	report_table_end(s->report);
}

static void judge(struct cmd_session *s, const struct cmd_counters_options *options, const struct policy *policy,
		  struct cmd_counters *c, uint64_t read_at)
{
	struct counters_options how = {.now = read_at, .congestion = options->congestion, .growth = options->since, .since = c->since,
				       .measures = calloc(s->fabric->port_count + 1, sizeof(*how.measures))};
	struct state *state = c->usable ? &c->state : NULL;
	struct counters_result result;
	int error;

	read_thresholds(s, options, &how.thresholds);
	if (policy) {
		how.policy = &policy->counters;
		how.thresholds.suppressed |= policy->counters.suppressed;
		how.congestion = how.congestion ? how.congestion : policy->counters.congestion;
	}
	counters_gaps(&c->counters, s->fabric, &s->findings);
	error = counters_judge(&c->counters, s->fabric, state, &how, &s->findings, &result);
	if (error == 0 && !how.measures)
		error = -ENOMEM;
	if (error != 0)
		session_fail(s, "cannot judge the counters: %s", strerror(-error));
	report_result(s->report, &c->counters, &result, options->state || options->interval);
	report_coverage(s->report, &c->counters);
	if (result.growth)
		report_growth(s, &c->counters, result.growth);
	free(result.growth);
	if (how.measures && (options->state || options->interval))
		cmd_measures_report(s, how.measures);
	if (options->state || options->interval)
		s->figures.measures = how.measures;
	else
		free(how.measures);
	if (c->counters.shares)
		cmd_shares(s, policy, c, state, read_at);
	if (s->options->all)
		report_totals(s, &c->counters);
	if (c->counters.wanted == 0)
		session_fail(s, "no port's counters could be asked");
	else if (c->counters.read < c->counters.wanted || c->counters.no_lid > 0)
		s->least = IBQOS_EXIT_UNKNOWN;
}

/* A file that was written without counters: nobody was asked, which is one fact and not one of each device. */
static bool file_has_none(struct cmd_session *s, const struct cmd_counters *c)
{
	uint64_t asked = 0, given_up = 0;

	if (!source_is_file(s->source))
		return false;
	for (int i = 0; i < COUNTERS_ITEMS; i++) {
		asked += c->counters.coverage[i].asked;
		given_up += c->counters.coverage[i].ended[MAD_NOT_ASKED];
	}
	return asked > 0 && asked == given_up;
}

static void tell_none(struct cmd_session *s, const struct cmd_counters *c)
{
	struct counters_result none = {0};

	if (!source_lacks(s->source) || !strstr(source_lacks(s->source), "counters")) /* else told already */
		finding_set(&finding_at(finding_add(&s->findings, FINDING_SOURCE_LACKS), s->options->from, 0, 0)->what,
			    source_snapshot(s->source) ? "counters: this file has none; take it with `ibqos snapshot --counters`" :
							 "counters: this file has none");
	report_result(s->report, &c->counters, &none, false);
	report_coverage(s->report, &c->counters);
	s->least = IBQOS_EXIT_UNKNOWN;
}

static uint64_t now_of(const struct cmd_counters_options *options)
{
	return options->now ? options->now : (uint64_t)time(NULL);
}

/* The state as it is now that nobody else writes it. */
static void read_state(struct cmd_session *s, const struct cmd_counters_options *options, struct cmd_counters *c)
{
	int error;

	session_trust(s, options->state);
	error = file_lock(s->ctx, options->state, STATE_LOCK_MS, &c->lock);

	if (error == -EWOULDBLOCK)
		session_fail(s, "cannot write '%s': another run holds '%s.lock' for more than %u s", options->state, options->state,
			     STATE_LOCK_MS / 1000);
	else if (error != 0 && error != -EINTR)
		session_fail(s, "cannot write '%s': cannot lock '%s.lock': %s", options->state, options->state, strerror(-error));
	c->now = now_of(options); /* after the wait: others may have written it meanwhile */
	error = state_load(options->state, s->fabric, c->now, &s->findings, &c->state, &c->usable);
	if (error != 0)
		session_fail(s, "cannot read '%s': %s", options->state, strerror(-error));
	if (options->since && state_since_parse(options->since, c->now, c->state.written, &c->since) != 0)
		session_fail(s, "cannot read --since '%s'", options->since);
}

static void ask(struct cmd_session *s, const struct cmd_counters_options *options, struct cmd_counters *c)
{
	int error = counters_ask(s->source, s->fabric, session_scope_of(s), options->shares, &c->counters);

	c->asked = error == 0;
	if (error != 0 && error != -EINTR)
		session_fail(s, "cannot read the counters: %s", strerror(-error));
}

/* The first of two looks of one run: into a state that is never written. What is wrong then is judged at the second. */
static void look_before(struct cmd_session *s, const struct cmd_counters_options *options, const struct policy *policy,
			struct cmd_counters *c)
{
	struct counters_options how = {.now = now_of(options)};
	struct shares_options shares = {.now = how.now, .policy = policy};
	struct finding_list unheard = {0};
	struct counters_result result;
	struct shares_result had = {0};
	uint64_t end;
	int error;

	c->state.label = strdup("");
	ask(s, options, c);
	if (!c->state.label || !c->counters.ports)
		return;
	error = counters_judge(&c->counters, s->fabric, &c->state, &how, &unheard, &result);
	if (error == 0 && c->counters.shares)
		error = counters_shares(&c->counters, s->fabric, &c->state, &shares, &unheard, &had);
	c->usable = error == 0;
	free(had.rows);
	finding_list_clear(&unheard);
	counters_clear(&c->counters);
	end = clock_ns() + options->interval * UINT64_C(1000000000);
	while (clock_ns() < end && !ctx_stopped(s->ctx))
		poll(NULL, 0, 100);
}

void cmd_counters_run(struct cmd_session *s, const struct cmd_counters_options *options, const struct policy *policy,
		      struct cmd_counters *c)
{
	uint64_t read_at;

	*c = (struct cmd_counters){.now = now_of(options), .lock = -1};
	if (options->interval)
		look_before(s, options, policy, c);
	read_at = now_of(options);
	if (options->counters)
		ask(s, options, c);
	if (options->state)
		read_state(s, options, c);
	if (c->counters.ports && file_has_none(s, c))
		tell_none(s, c);
	else if (c->counters.ports)
		judge(s, options, policy, c, read_at);
}

/* --- at the end --- */

struct looking {
	const struct cmd_session *s;
	const struct cmd_counters *counters;
};

static bool is_of_counters(enum finding_code code)
{
	for (unsigned id = 0; id < COUNTERS; id++)
		if (counter_row(id)->rule != COUNTER_CONTEXT && counter_row(id)->code == code)
			return true;
	return code == FINDING_COUNTER_SATURATED || code == FINDING_COUNTER_OVER_THRESHOLD || code == FINDING_PORT_CONGESTED;
}

/* Whether this run would have found it again, were it still there. */
static bool looked(const struct state_finding *finding, void *arg)
{
	const struct looking *l = arg;
	const struct fabric *fabric = l->s->fabric;
	uint32_t node = fabric_find_node(fabric, finding->guid), port;

	if (node == FABRIC_NONE)
		return false;
	port = fabric_node_port(fabric, node, finding->port == FINDING_WHOLE_NODE ? 0 : (unsigned)finding->port);
	if (port == FABRIC_NONE || !scope_has(session_scope_of(l->s), port))
		return false;
	if (is_of_counters(finding->code))
		return l->counters->asked && l->counters->counters.ports[port].wanted &&
		       l->counters->counters.ports[port].outcome == MAD_ANSWERED;
	return finding->port == FINDING_WHOLE_NODE || fabric->ports[port].known;
}

static int draw(FILE *out, void *arg)
{
	return figure_history(out, arg);
}

static void draw_history(struct cmd_session *s, const struct cmd_counters *counters)
{
	struct figure_history history = {.findings = &s->findings, .state = &counters->state, .now = counters->now};

	report_figure(s->report, "figure_history", "history of links with findings", draw, &history);
}

void cmd_counters_end(struct cmd_session *s, const struct cmd_counters_options *options, struct cmd_counters *counters)
{
	struct looking looking = {s, counters};
	struct state_look look = {.now = counters->now, .hold_s = options->hold_s, .since = counters->since, .looked = looked, .arg = &looking};
	int error;

	if (options->state && counters->usable && !ctx_stopped(s->ctx)) {
		error = state_findings(&counters->state, &look, &s->findings);
		if (error == 0 && counters->lock >= 0)
			error = state_save(options->state, s->fabric, counters->now, &counters->state);
		if (error != 0)
			session_fail(s, "cannot write '%s': %s", options->state, strerror(-error));
		report_section(s->report, "state", "state");
		if (options->since) {
			char since[STATE_TIME];

			state_time_text(counters->since, since);
			report_string(s->report, "since", "changes since", since);
			report_number(s->report, "older", "findings there before, not shown", look.older);
		}
		report_number(s->report, "acknowledged", "findings acknowledged", look.acknowledged);
		report_number(s->report, "held", "findings of before, not clean for long enough", look.held);
		report_section_end(s->report);
	}
	if (options->state && counters->usable)
		draw_history(s, counters);
	file_unlock(counters->lock);
	state_clear(&counters->state);
	s->figures.counters = counters->counters; /* drawn, and freed, at the end */
}
