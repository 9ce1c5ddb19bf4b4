/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Findings over time: since when they are seen, how long they stay after they were, and what was acknowledged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/state.h"
#include "place.h"

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_kept(const struct finding *f)
{
	return f->guid != 0 && (f->severity == FINDING_WARNING || f->severity == FINDING_CRITICAL) &&
	       f->code != FINDING_ACK_EXPIRED;
}

static struct state_finding *find(const struct state *state, const struct finding *f)
{
	for (size_t i = 0; i < state->finding_count; i++) {
		struct state_finding *s = &state->findings[i];

		if (!s->now && s->code == f->code && s->guid == f->guid && s->port == f->port && same_text(s->what, f->what))
			return s;
	}
	return NULL;
}

static bool set_text(char **to, const char *from)
{
	char *copy = from ? strdup(from) : NULL;

	if (from && !copy)
		return false;
	free(*to);
	*to = copy;
	return true;
}

static struct state_finding *add(struct state *state, const struct finding *f, uint64_t now)
{
	struct state_finding *grown =
		array_grow(state->findings, &state->finding_room, state->finding_count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	state->findings = grown;
	grown += state->finding_count++;
	*grown = (struct state_finding){.code = f->code, .guid = f->guid, .port = f->port, .first = now};
	return set_text(&grown->what, f->what) ? grown : NULL;
}

/* What this run found. */
static int take(struct state *state, struct finding *f, uint64_t now)
{
	struct state_finding *s = find(state, f);
	char text[STATE_TIME];

	if (!s)
		s = add(state, f, now);
	if (!s || !set_text(&s->wanted, f->wanted) || !set_text(&s->got, f->got))
		return -ENOMEM;
	s->now = true;
	s->severity = f->severity;
	s->seen = now;
	s->clean = 0;
	s->peer_guid = f->peer_guid;
	s->peer_port = f->peer_port;
	f->first_seen = s->first;
	if (s->first < now) {
		state_time_text(s->first, text);
		finding_append(&f->detail, "first seen %s", text);
	}
	return 0;
}

static const char *name_of(const struct state *state, uint64_t guid)
{
	for (size_t i = 0; i < state->node_count; i++)
		if (state->nodes[i].guid == guid)
			return state->nodes[i].name;
	return NULL;
}

/* What an earlier run found and this one did not, but is not clean for long enough. */
static void put_back(const struct state *state, const struct state_look *look, const struct state_finding *s,
		     struct finding_list *findings)
{
	struct finding *f = finding_add(findings, s->code);
	char first[STATE_TIME], seen[STATE_TIME];
	const char *name = name_of(state, s->guid), *peer = name_of(state, s->peer_guid);

	f->severity = s->severity;
	f->guid = s->guid;
	f->port = s->port;
	f->peer_guid = s->peer_guid;
	f->peer_port = s->peer_port;
	f->first_seen = s->first;
	if (name)
		finding_set(&f->name, "%s", name);
	if (peer)
		finding_set(&f->peer_name, "%s", peer);
	if (s->what)
		finding_set(&f->what, "%s", s->what);
	if (s->wanted)
		finding_set(&f->wanted, "%s", s->wanted);
	if (s->got)
		finding_set(&f->got, "%s", s->got);
	state_time_text(s->first, first);
	state_time_text(s->seen, seen);
	finding_set(&f->detail, "not seen now, last %s; stays until clean for %u min; first seen %s", seen, look->hold_s / 60,
		    first);
}

static int keep_earlier(struct state *state, struct state_look *look, struct finding_list *findings)
{
	size_t kept = 0;

	for (size_t i = 0; i < state->finding_count; i++) {
		struct state_finding *s = &state->findings[i];

		if (!s->now && look->looked(s, look->arg)) {
			if (s->clean == 0)
				s->clean = look->now;
			if (look->now >= s->clean && look->now - s->clean >= look->hold_s) {
				free(s->what);
				free(s->wanted);
				free(s->got);
				continue;
			}
			put_back(state, look, s, findings);
			look->held++;
		}
		s->now = false;
		state->findings[kept++] = *s;
	}
	state->finding_count = kept;
	return findings->lost ? -ENOMEM : 0;
}

/* --- acknowledgements --- */

static bool covers(const struct state_ack *ack, enum finding_code code, uint64_t guid, int port)
{
	return ack->code == code && ack->guid == guid && (ack->port == FINDING_WHOLE_NODE || ack->port == port);
}

static void tell_expired(const struct state_ack *ack, size_t at, struct finding_list *findings)
{
	struct finding *f = finding_add(findings, FINDING_ACK_EXPIRED); /* may move the others */
	const struct finding *of = &findings->items[at];
	char until[STATE_TIME];

	state_time_text(ack->until, until);
	f->guid = of->guid;
	f->port = of->port;
	f->peer_guid = of->peer_guid;
	f->peer_port = of->peer_port;
	if (of->name)
		finding_set(&f->name, "%s", of->name);
	if (of->peer_name)
		finding_set(&f->peer_name, "%s", of->peer_name);
	finding_set(&f->what, "%s", finding_kind(ack->code)->code);
	finding_set(&f->got, "ticket %s, until %s", ack->ticket, until);
}

static bool covers_finding(const struct state_ack *ack, const struct finding *f)
{
	return covers(ack, f->code, f->guid, f->port) || (f->peer_guid && covers(ack, f->code, f->peer_guid, f->peer_port));
}

static void apply_acks(struct state *state, struct state_look *look, struct finding_list *findings)
{
	size_t count = findings->count;

	for (size_t i = 0; i < count && !findings->lost; i++) {
		struct finding *f = &findings->items[i];
		const struct state_ack *best = NULL; /* of those that cover it the one that lasts longest */
		char until[STATE_TIME];

		for (size_t k = 0; k < state->ack_count && is_kept(f); k++)
			if (covers_finding(&state->acks[k], f) && (!best || state->acks[k].until > best->until))
				best = &state->acks[k];
		if (!best)
			continue;
		if (best->until <= look->now) {
			tell_expired(best, i, findings);
			continue;
		}
		state_time_text(best->until, until);
		f->severity = FINDING_NOTE;
		finding_append(&f->detail, "acknowledged until %s, ticket %s", until, best->ticket);
		look->acknowledged++;
	}
}

/* An acknowledgement that has expired, of a finding that is no longer remembered. */
static void drop_acks(struct state *state, uint64_t now)
{
	size_t kept = 0;

	for (size_t k = 0; k < state->ack_count; k++) {
		struct state_ack *ack = &state->acks[k];
		bool needed = ack->until > now;

		for (size_t i = 0; i < state->finding_count && !needed; i++) {
			const struct state_finding *s = &state->findings[i];

			needed = covers(ack, s->code, s->guid, s->port) || covers(ack, s->code, s->peer_guid, s->peer_port);
		}
		if (needed)
			state->acks[kept++] = *ack;
		else
			free(ack->ticket);
	}
	state->ack_count = kept;
}

int state_findings(struct state *state, struct state_look *look, struct finding_list *findings)
{
	size_t count = findings->count;
	int error = 0;

	look->acknowledged = look->held = 0;
	for (size_t i = 0; i < count && error == 0; i++)
		if (is_kept(&findings->items[i]))
			error = take(state, &findings->items[i], look->now);
	if (error == 0)
		error = keep_earlier(state, look, findings);
	apply_acks(state, look, findings);
	drop_acks(state, look->now);
	return error;
}
