/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters before and after work: how they grew over it, and whether links that it touched, or that trained anew, have been up
 * long enough to say anything of their bit errors.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "maintenance.h"

#include "ibqos/link.h"
#include "ibqos/policy.h"

#define SHOW_NS UINT64_C(10000000000) /* progress that is not on a terminal */
#define NAP_US 200000

/* --- begin --- */

static bool always(const struct state_finding *finding, void *arg)
{
	(void)finding;
	(void)arg;
	return true;
}

/* Judges against `state`, which takes the readings, by the policy's rates where there is one. 0 or -errno. */
static int judge(const struct cmd_session *s, const struct cmd_maintenance *c, const struct counters *counters, struct state *state,
		 struct finding_list *found, struct counters_result *result)
{
	struct counters_options how = {.now = cmd_maintenance_now(c)};
	struct finding_list known = {0}; /* told where the policy was read first */
	struct policy *policy = NULL;
	int error = c->rates ? policy_read(c->rates, &known, &policy) : 0;

	if (policy) {
		how.policy = &policy->counters;
		how.thresholds.suppressed = policy->counters.suppressed;
		how.congestion = policy->counters.congestion;
	}
	if (error == 0)
		error = counters_judge(counters, s->fabric, state, &how, found, result);
	finding_list_drop(found, FINDING_NOTE);
	finding_list_clear(&known);
	policy_free(policy);
	return error;
}

/* Asks and judges. */
static bool ask(struct cmd_session *s, const struct cmd_maintenance *c, struct state *state, struct finding_list *found,
		struct counters *counters)
{
	struct counters_result result;
	int error = counters_ask(s->source, s->fabric, NULL, false, counters), judged;

	if (error != 0 && error != -EINTR)
		session_fail(s, "cannot read the counters: %s", strerror(-error));
	if (!counters->ports)
		return false;
	counters_gaps(counters, s->fabric, &s->findings);
	judged = judge(s, c, counters, state, found, &result);
	if (judged != 0) {
		session_fail(s, "cannot judge the counters: %s", strerror(-judged));
		return false;
	}
	report_section(s->report, "counters", "counters");
	report_number(s->report, "ports", "ports asked", counters->wanted);
	report_number(s->report, "read", "of these answered", counters->read);
	report_number(s->report, "compared", "compared with an earlier look", result.compared);
	report_section_end(s->report);
	return error == 0;
}

void cmd_maintenance_counters_begin(struct cmd_session *s, struct cmd_maintenance *c)
{
	struct state_look look = {.looked = always};
	struct state known = {0}, state = {0};
	struct counters counters = {0};
	struct finding_list found = {0};
	bool usable = true;
	char *path = maintenance_path(&c->m, MAINTENANCE_COUNTERS);
	int error = path ? 0 : -ENOMEM;

	if (error == 0 && c->state)
		error = state_load(c->state, s->fabric, cmd_maintenance_now(c), &s->findings, &known, &usable);
	if (error == 0 && usable && ask(s, c, &known, &found, &counters)) {
		/* only what counters say: the rest is in the snapshot */
		state.ports = known.ports;
		state.port_count = known.port_count;
		state.port_room = known.port_room;
		known.ports = NULL;
		known.port_count = known.port_room = 0;
		look.now = cmd_maintenance_now(c); /* only now: what was read meanwhile is not of the future */
		error = state_findings(&state, &look, &found);
		if (error == 0)
			error = state_save(path, s->fabric, look.now, &state);
		c->m.manifest.counters = error == 0;
	}
	if (error != 0)
		session_fail(s, "cannot keep the counters in '%s': %s", c->m.folder, strerror(-error));
	finding_list_clear(&found);
	counters_clear(&counters);
	state_clear(&known);
	state_clear(&state);
	free(path);
}

/* --- end --- */

/* Whether anything happened to a port's link since then. */
static bool is_touched(const struct fabric *f, const struct state *begin, const struct counter_reading *r, uint32_t port)
{
	const struct state_port *was = state_port_find(begin, fabric_port_node(f, port)->guid, f->ports[port].number);
	uint32_t peer = f->ports[port].peer;
	struct link_state link;

	if (!was || peer == FABRIC_NONE || was->peer_guid != fabric_port_node(f, peer)->guid ||
	    was->peer_port != f->ports[peer].number)
		return true;
	if (link_decode(f, port, &link) && (was->width != link.width_active || was->speed != link.speed_active))
		return true;
	/* a count that is less began anew, and what was before is not known */
	return r->known & was->known & COUNTER_BIT(COUNTER_DOWNED) && r->value[COUNTER_DOWNED] != was->value[COUNTER_DOWNED];
}

/* Seconds that a link must still be up; 0: it can be judged; -1: no limit is known for its speed. */
static double left_of(const struct state *state, const struct fabric *f, uint32_t port)
{
	const struct state_port *p = state_port_find(state, fabric_port_node(f, port)->guid, f->ports[port].number);
	const struct ber_limits *limits = p ? ber_limits_of(p->speed) : NULL;
	double rate = p ? link_line_gbps(p->width, p->speed) * 1e9 : 0, needed;

	if (!limits || rate <= 0)
		return -1;
	needed = counter_upper(0) / limits->good / rate;
	needed -= (double)(p->last.seconds + p->before.seconds);
	return needed > 0 ? needed : 0;
}

struct touched {
	bool *ports; /* of `fabric`, one end of each link */
	uint32_t count, early, unlimited;
	double left; /* seconds until the last of them can be judged */
};

static void count_early(struct touched *t, const struct state *state, const struct fabric *f)
{
	t->early = t->unlimited = 0;
	t->left = 0;
	for (uint32_t i = 0; i < f->port_count; i++) {
		double left = t->ports[i] ? left_of(state, f, i) : 0;

		t->early += left > 0;
		t->unlimited += left < 0;
		t->left = left > t->left ? left : t->left;
	}
}

/* Both ends of a link are one link. */
static int find_touched(const struct fabric *f, const struct state *begin, const struct counters *counters, struct touched *t)
{
	*t = (struct touched){.ports = calloc((size_t)f->port_count + 1, sizeof(*t->ports))};
	if (!t->ports)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->link_count; i++) {
		uint32_t a = f->links[i].a, b = f->links[i].b;
		const struct counter_reading *x = &counters->ports[a], *y = &counters->ports[b];

		if ((x->wanted && x->known && is_touched(f, begin, x, a)) || (y->wanted && y->known && is_touched(f, begin, y, b))) {
			t->ports[x->wanted && x->known ? a : b] = true;
			t->count++;
		}
	}
	return 0;
}

/* Elsewhere than on a terminal this is said without -v, too: who waits for hours wants to know why. */
static void show(struct cmd_session *s, const struct touched *t, double left, uint64_t *shown)
{
	uint64_t now = clock_ns();

	if (s->ctx->verbosity < 0 || (*shown != 0 && now - *shown < (s->line.terminal ? SHOW_NS / 10 : SHOW_NS)))
		return;
	*shown = now;
	if (s->line.terminal)
		cmd_line_show(&s->line, now, "%s: %u links have not been up long enough to be judged, waiting for %.0f s", s->ctx->program, t->early,
			      ceil(left));
	else
		fprintf(s->ctx->err, "%s: %u links have not been up long enough to be judged, waiting for %.0f s\n", s->ctx->program, t->early,
			ceil(left));
}

/* Until the last of them can be judged, the time given is over, or a signal comes. True if any time went by. */
static bool wait_for(struct cmd_session *s, const struct touched *t, unsigned wait_s)
{
	double seconds = t->left + 1 < wait_s ? t->left + 1 : wait_s;
	uint64_t begun = clock_ns(), shown = 0, end = begun + (uint64_t)(seconds * 1e9);

	while (t->early > 0 && clock_ns() < end && !ctx_stopped(s->ctx)) {
		show(s, t, (double)(end - clock_ns()) / 1e9, &shown);
		usleep(NAP_US);
	}
	ctx_progress_end(s->ctx);
	return shown != 0;
}

static void set_span(char **member, double seconds)
{
	if (seconds >= 7200)
		finding_set(member, "%.1f h", seconds / 3600);
	else if (seconds >= 120)
		finding_set(member, "%.0f min", ceil(seconds / 60));
	else
		finding_set(member, "%.0f s", ceil(seconds));
}

static void tell_early(struct cmd_session *s, const struct touched *t, const struct state *state)
{
	const struct fabric *f = s->fabric;

	for (uint32_t i = 0; i < f->port_count; i++) {
		double left = t->ports[i] ? left_of(state, f, i) : 0;
		uint32_t peer = f->ports[i].peer;
		struct finding *x;

		if (left == 0 || peer == FABRIC_NONE)
			continue;
		x = finding_add(&s->findings, FINDING_MAINTENANCE_TOO_EARLY);
		x->guid = fabric_port_node(f, i)->guid;
		x->port = f->ports[i].number;
		finding_set(&x->name, "%s", fabric_port_node(f, i)->name);
		x->peer_guid = fabric_port_node(f, peer)->guid;
		x->peer_port = f->ports[peer].number;
		finding_set(&x->peer_name, "%s", fabric_port_node(f, peer)->name);
		finding_set(&x->what, "bit errors");
		if (left < 0)
			finding_set(&x->detail, "its speed has no known limit");
		else
			set_span(&x->wanted, left);
		if (x->wanted)
			finding_set(&x->wanted, "up %s longer", x->wanted);
	}
	report_section(s->report, "touched", "links that the work touched");
	report_number(s->report, "links", "links", t->count);
	report_number(s->report, "too_early", "up too short to be judged", t->early);
	report_number(s->report, "unlimited", "of a speed without known limits", t->unlimited);
	report_section_end(s->report);
}

/* Findings of counters that begin knew of. */
static void take_known(const struct state *begin, struct finding_list *before)
{
	for (size_t i = 0; i < begin->finding_count; i++) {
		const struct state_finding *was = &begin->findings[i];
		struct finding *f = finding_add(before, was->code);

		f->severity = was->severity;
		f->guid = was->guid;
		f->port = was->port;
		f->peer_guid = was->peer_guid;
		f->peer_port = was->peer_port;
		if (was->what)
			finding_set(&f->what, "%s", was->what);
		if (was->wanted)
			finding_set(&f->wanted, "%s", was->wanted);
		if (was->got)
			finding_set(&f->got, "%s", was->got);
		for (size_t n = 0; n < begin->node_count; n++)
			if (begin->nodes[n].guid == was->guid)
				finding_set(&f->name, "%s", begin->nodes[n].name);
	}
}

/* A file of counters in the folder; -ENOENT: it is not usable, which is told. */
static int load(struct cmd_session *s, struct cmd_maintenance *c, const char *file, struct state *state)
{
	char *path = maintenance_path(&c->m, file);
	bool usable = false;
	int error = path ? state_load(path, s->fabric, cmd_maintenance_now(c), &s->findings, state, &usable) : -ENOMEM;

	free(path);
	return error ? error : usable ? 0 : -ENOENT;
}

void cmd_maintenance_counters_end(struct cmd_session *s, struct cmd_maintenance *c, struct finding_list *before,
				  struct finding_list *after)
{
	struct state begin = {0}, state = {0};
	struct finding_list found = {0}, late = {0};
	struct counters counters = {0};
	struct touched t = {0};
	char *path = maintenance_path(&c->m, MAINTENANCE_COUNTERS_AFTER);
	int error = path ? load(s, c, MAINTENANCE_COUNTERS, &begin) : -ENOMEM;

	/* from the first end on links that came with the work have a history too */
	if (error == 0)
		error = load(s, c, access(path, F_OK) == 0 ? MAINTENANCE_COUNTERS_AFTER : MAINTENANCE_COUNTERS, &state);
	if (error != 0)
		goto out;
	if (!ask(s, c, &state, &found, &counters))
		goto out;
	error = find_touched(s->fabric, &begin, &counters, &t);
	if (error != 0)
		goto out;
	count_early(&t, &state, s->fabric);
	if (wait_for(s, &t, c->wait_s) && !ctx_stopped(s->ctx)) {
		struct counters_result result;

		counters_clear(&counters);
		error = counters_ask(s->source, s->fabric, NULL, false, &counters);
		if (error == 0)
			error = judge(s, c, &counters, &state, &late, &result);
		if (error != 0)
			goto out;
		finding_list_clear(&found);
		found = late;
		late = (struct finding_list){0};
		count_early(&t, &state, s->fabric);
	}
	tell_early(s, &t, &state);
	error = state_save(path, s->fabric, cmd_maintenance_now(c), &state);
	take_known(&begin, before);
	for (size_t i = 0; i < found.count; i++)
		finding_move(&found.items[i], after);
out:
	if (error != 0)
		session_fail(s, "cannot judge the counters: %s",
			     error == -ENOENT ? "those of the begin are not usable" : strerror(-error));
	free(t.ports);
	free(path);
	counters_clear(&counters);
	finding_list_clear(&found);
	finding_list_clear(&late);
	state_clear(&begin);
	state_clear(&state);
}
