/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Findings over time: since when they are seen, how long they stay after they were, and what was acknowledged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/state.h"
#include "state_match.h"

static bool is_kept(const struct finding *f)
{
	return f->guid != 0 && (f->severity == FINDING_WARNING || f->severity == FINDING_CRITICAL) &&
	       f->code != FINDING_ACK_EXPIRED;
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
static int take(struct state *state, struct match_index *earlier, struct finding *f, uint64_t now)
{
	size_t at = match_take(state, earlier, f);
	struct state_finding *s = at == SIZE_MAX ? NULL : &state->findings[at];
	bool known = s;

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
	f->first_seen = known ? s->first : 0; /* one of this run; its time comes when changes were sifted */
	f->seen_before = s->first < now;
	return 0;
}

static const char *name_of(const struct state *state, uint64_t guid)
{
	size_t low = 0, high = state->node_count;

	while (low < high) { /* nodes are in the order of their GUIDs */
		size_t middle = (low + high) / 2;

		if (state->nodes[middle].guid < guid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < state->node_count && state->nodes[low].guid == guid ? state->nodes[low].name : NULL;
}

/* What an earlier run found and this one did not, but is not clean for long enough. */
static void put_back(const struct state *state, const struct state_look *look, const struct state_finding *s,
		     struct finding_list *findings)
{
	struct finding *f = finding_add(findings, s->code);
	char seen[STATE_TIME];
	const char *name = name_of(state, s->guid), *peer = name_of(state, s->peer_guid);

	f->severity = s->severity;
	f->guid = s->guid;
	f->port = s->port;
	f->peer_guid = s->peer_guid;
	f->peer_port = s->peer_port;
	f->first_seen = s->first;
	f->seen_before = true;
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
	state_time_text(s->seen, seen);
	finding_set(&f->detail, "not seen now, last %s; stays until clean for %u min", seen, look->hold_s / 60);
}

static int keep_earlier(struct state *state, struct state_look *look, struct finding_list *findings)
{
	size_t kept = 0;

	for (size_t i = 0; i < state->finding_count; i++) {
		struct state_finding *s = &state->findings[i];

		if (!s->now && look->looked(s, look->arg)) {
			bool went_before = s->clean != 0 && s->clean <= look->since;

			if (s->clean == 0)
				s->clean = look->now;
			if (look->now >= s->clean && look->now - s->clean >= look->hold_s) {
				free(s->what);
				free(s->wanted);
				free(s->got);
				continue;
			}
			if (went_before)
				look->older++;
			else
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

/* Of those that cover a place the one that lasts longest; NULL: none. needed: of all of them it is noted that they do. */
static const struct state_ack *best_ack(const struct state *state, const struct match_index *acks, enum finding_code code,
					uint64_t guid, int port, bool *needed)
{
	size_t count, first = match_acks_of(state, acks, code, guid, &count);
	const struct state_ack *best = NULL;

	for (size_t i = first; i < first + count; i++) {
		const struct state_ack *ack = &state->acks[acks->entries[i].at];

		if (ack->port != FINDING_WHOLE_NODE && ack->port != port)
			continue;
		if (!best || ack->until > best->until)
			best = ack;
		if (needed)
			needed[acks->entries[i].at] = true;
	}
	return best;
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

/* Of either end. */
static const struct state_ack *ack_of(const struct state *state, const struct match_index *acks, const struct finding *f)
{
	const struct state_ack *here = best_ack(state, acks, f->code, f->guid, f->port, NULL), *there = NULL;

	if (f->peer_guid)
		there = best_ack(state, acks, f->code, f->peer_guid, f->peer_port, NULL);
	return !here || (there && there->until > here->until) ? there : here;
}

static void apply_acks(struct state *state, const struct match_index *acks, struct state_look *look,
		       struct finding_list *findings)
{
	size_t count = findings->count;

	for (size_t i = 0; i < count && !findings->lost; i++) {
		struct finding *f = &findings->items[i];
		const struct state_ack *best = is_kept(f) ? ack_of(state, acks, f) : NULL;
		char until[STATE_TIME];

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

/* Acknowledgements that have expired go, but those of findings that are still remembered. */
static int drop_acks(struct state *state, const struct match_index *acks, uint64_t now)
{
	bool *needed = calloc(state->ack_count + 1, sizeof(*needed));
	size_t kept = 0;

	if (!needed)
		return -ENOMEM;
	for (size_t i = 0; i < state->finding_count; i++) {
		const struct state_finding *s = &state->findings[i];

		best_ack(state, acks, s->code, s->guid, s->port, needed);
		best_ack(state, acks, s->code, s->peer_guid, s->peer_port, needed);
	}
	for (size_t k = 0; k < state->ack_count; k++) {
		struct state_ack *ack = &state->acks[k];

		if (needed[k] || ack->until > now)
			state->acks[kept++] = *ack;
		else
			state_ack_clear(ack);
	}
	state->ack_count = kept;
	free(needed);
	return 0;
}

struct sifting {
	const struct state *state;
	const struct match_index *acks;
	struct state_look *look;
};

/* What was there before, is no change; but for one that an acknowledgement covered until after then. */
static bool is_change(const struct finding *f, void *arg)
{
	const struct sifting *s = arg;
	const struct state_ack *ack;

	if (f->first_seen == 0 || f->first_seen > s->look->since)
		return true;
	ack = is_kept(f) ? ack_of(s->state, s->acks, f) : NULL;
	if (ack && ack->until <= s->look->now && ack->until > s->look->since)
		return true;
	s->look->older++;
	return false;
}

int state_findings(struct state *state, struct state_look *look, struct finding_list *findings)
{
	struct match_index earlier = {0}, acks = {0};
	struct sifting sifting = {state, &acks, look};
	size_t count = findings->count;
	int error;

	look->acknowledged = look->held = look->older = 0;
	look->compared = 0;
	error = match_findings(state, &look->compared, &earlier);
	if (error == 0)
		error = match_acks(state, &look->compared, &acks);
	for (size_t i = 0; i < count && error == 0; i++)
		if (is_kept(&findings->items[i]))
			error = take(state, &earlier, &findings->items[i], look->now);
	if (error == 0 && look->since)
		finding_list_filter(findings, is_change, &sifting);
	for (size_t i = 0; i < findings->count && error == 0; i++)
		if (is_kept(&findings->items[i]) && findings->items[i].first_seen == 0)
			findings->items[i].first_seen = look->now;
	if (error == 0)
		error = keep_earlier(state, look, findings);
	if (error == 0) {
		apply_acks(state, &acks, look, findings);
		error = drop_acks(state, &acks, look->now);
	}
	match_clear(&earlier);
	match_clear(&acks);
	return error;
}
