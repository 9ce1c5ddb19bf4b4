/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters against an earlier look at them: what grew, what began anew and why. What is wrong of it is told by
 * counters_tell.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "counters_judge.h"
#include "ibqos/link.h"

#define NARROW_HALF (UINT64_C(1) << 31)

static bool is_traffic(unsigned id)
{
	return id == COUNTER_XMIT_DATA || id == COUNTER_RCV_DATA || id == COUNTER_XMIT_PKTS || id == COUNTER_RCV_PKTS ||
	       id == COUNTER_XMIT_WAIT;
}

/* A device that lets 32 bits run round, which it should not: nothing has begun anew. */
static bool ran_round(const struct judged *j, const struct state_port *was, unsigned id)
{
	return is_traffic(id) && !(j->reading->wide & COUNTER_BIT(id)) && was->value[id] >= NARROW_HALF &&
	       was->value[id] <= UINT32_MAX;
}

/*
 * Less by one: whoever clears counters does not leave them there, so the device is not steady. Nothing is known of its growth,
 * which would else be all that it ever counted.
 */
static bool is_unsteady(uint64_t now, uint64_t then)
{
	return then > 1 && now == then - 1;
}

/* Whether any counter is less than it was. Of 32-bit counters of traffic only together with others. */
static bool has_fallen(const struct judged *j, const struct state_port *was, uint32_t both)
{
	for (unsigned id = 0; id < COUNTERS; id++)
		if (both & COUNTER_BIT(id) && j->reading->value[id] < was->value[id] && !ran_round(j, was, id) &&
		    !is_unsteady(j->reading->value[id], was->value[id]))
			return true;
	return false;
}

/* How much a counter grew, or the least of it. */
static void compare_one(struct judged *j, const struct state_port *was, unsigned id)
{
	uint64_t now = j->reading->value[id], then = was->value[id];
	bool least = j->fallen || (j->reading->saturated | was->saturated) & COUNTER_BIT(id);

	if (is_unsteady(now, then)) {
		j->growth[id] = 0;
		least = true;
	} else if (now >= then) {
		j->growth[id] = now - then;
	} else if (!j->fallen) { /* ran round, at least once */
		j->growth[id] = now + (UINT64_C(1) << 32) - then;
		least = true;
	} else {
		j->growth[id] = now;
	}
	j->grown |= COUNTER_BIT(id);
	j->least |= least ? COUNTER_BIT(id) : 0;
}

static void compare(struct judging *g, uint32_t port)
{
	struct judged *j = &g->ports[port];
	const struct state_port *was = g->state ? state_port_find(g->state, j->now.guid, j->now.port) : NULL;
	uint32_t both;

	if (!was) {
		g->result->first++;
		return;
	}
	j->was = was;
	if (was->at >= g->options->now) { /* within one second: nothing to be seen, and nothing to be forgotten */
		j->now = *was;
		return;
	}
	if (was->peer_guid != j->now.peer_guid || was->peer_port != j->now.peer_port) {
		g->result->new_link++;
		j->new_peer = true;
		return;
	}
	if (was->width != j->now.width || was->speed != j->now.speed) {
		g->result->new_link++;
		return;
	}
	g->result->compared++;
	j->seconds = g->options->now - was->at;
	both = was->known & j->reading->known;
	j->fallen = has_fallen(j, was, both);
	for (unsigned id = 0; id < COUNTERS; id++)
		if (both & COUNTER_BIT(id))
			compare_one(j, was, id);
}

static bool downed_known(const struct judged *j)
{
	return j->seconds > 0 && j->grown & COUNTER_BIT(COUNTER_DOWNED);
}

/*
 * Counters that began anew: the device did if the other end saw the link go down, else somebody cleared them. A restart that
 * the other end does not tell of is not known.
 */
static void explain(struct judging *g, uint32_t port)
{
	struct judged *j = &g->ports[port];
	const struct judged *peer = &g->ports[g->fabric->ports[port].peer];

	if (!j->fallen)
		return;
	if (!downed_known(peer)) {
		j->anew = ANEW_UNKNOWN;
		g->result->anew++;
	} else if (peer->growth[COUNTER_DOWNED] > 0) {
		j->anew = ANEW_RESTARTED;
		g->result->restarted++;
	} else {
		j->anew = ANEW_CLEARED;
		g->result->cleared++;
	}
}

/* Whether the link was up all the time since the last look. */
static bool stayed_up(const struct judging *g, uint32_t port)
{
	const struct judged *j = &g->ports[port], *peer = &g->ports[g->fabric->ports[port].peer];

	if (!downed_known(j) || j->growth[COUNTER_DOWNED] > 0)
		return false;
	return (!downed_known(peer) || peer->growth[COUNTER_DOWNED] == 0) && j->anew != ANEW_UNKNOWN;
}

/* A link that goes down because an end restarts does not flap. */
static bool restart_explains(const struct judging *g, uint32_t port)
{
	enum judged_anew here = g->ports[port].anew, there = g->ports[g->fabric->ports[port].peer].anew;

	return here == ANEW_RESTARTED || there == ANEW_RESTARTED || here == ANEW_UNKNOWN || there == ANEW_UNKNOWN;
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b >= a ? a + b : UINT64_MAX;
}

/* Carries the port's buckets on, with what grew since. */
static void carry(struct judging *g, uint32_t port)
{
	struct judged *j = &g->ports[port];
	bool up = j->seconds > 0 && stayed_up(g, port);
	struct state_bucket *last = &j->now.last;

	if (j->was && j->was->at >= g->options->now)
		return;
	if (j->seconds == 0) {
		last->since = g->options->now;
		return;
	}
	j->now.last = j->was->last;
	j->now.before = j->was->before;
	if (last->since == 0 || last->since > j->was->at)
		*last = (struct state_bucket){.since = j->was->at};
	if (j->was->at - last->since >= STATE_BUCKET_S) {
		j->now.before = *last;
		*last = (struct state_bucket){.since = j->was->at};
	}
	last->seconds = add(last->seconds, up ? j->seconds : 0);
	for (unsigned id = 0; id < COUNTERS; id++) {
		bool takes = counter_row(id)->rule == COUNTER_BER ? up : id != COUNTER_DOWNED || !restart_explains(g, port);

		if (!(j->grown & COUNTER_BIT(id)) || !takes)
			continue;
		last->growth[id] = add(last->growth[id], j->growth[id]);
		last->least |= j->least & COUNTER_BIT(id);
	}
}

/* Growth since the earliest time not before `since` from which on it is known; else since the last look. */
static void note_growth(const struct judging *g, uint32_t port, struct counter_growth *to)
{
	const struct judged *j = &g->ports[port];
	const struct state_bucket *last = &j->now.last, *before = &j->now.before;
	uint64_t since = g->options->since;
	bool both = before->since != 0 && before->since >= since, one = last->since != 0 && last->since >= since;

	if (j->seconds == 0 || !j->was)
		return;
	to->since = both ? before->since : one ? last->since : j->was->at;
	to->known = j->grown;
	for (unsigned id = 0; id < COUNTERS; id++)
		to->growth[id] = both ? add(last->growth[id], before->growth[id]) : one ? last->growth[id] : j->growth[id];
	to->least = j->grown & (both ? last->least | before->least : one ? last->least : j->least);
}

/* What is to be remembered of a port. */
static void note(struct judging *g, uint32_t port)
{
	struct judged *j = &g->ports[port];
	uint32_t peer = g->fabric->ports[port].peer;
	struct link_state link;

	j->reading = &g->counters->ports[port];
	j->now = (struct state_port){
		.guid = fabric_port_node(g->fabric, port)->guid,
		.port = g->fabric->ports[port].number,
		.peer_guid = fabric_port_node(g->fabric, peer)->guid,
		.peer_port = g->fabric->ports[peer].number,
		.at = g->options->now,
		.known = j->reading->known,
		.saturated = j->reading->saturated,
	};
	memcpy(j->now.value, j->reading->value, sizeof(j->now.value));
	if (link_decode(g->fabric, port, &link)) {
		j->now.width = (uint8_t)link.width_active;
		j->now.speed = (uint16_t)link.speed_active;
	}
}

static bool is_judged(const struct judging *g, uint32_t port)
{
	const struct counter_reading *r = &g->counters->ports[port];

	return r->wanted && r->known != 0;
}

static int remember(struct judging *g)
{
	struct state_port *ports = calloc(g->fabric->port_count + 1u, sizeof(*ports));
	size_t count = 0;
	int error;

	if (!ports)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->fabric->port_count; i++)
		if (is_judged(g, i))
			ports[count++] = g->ports[i].now;
	error = state_ports_put(g->state, ports, count, g->options->now > STATE_FORGET_S ? g->options->now - STATE_FORGET_S : 0);
	free(ports);
	return error;
}

int counters_judge(const struct counters *counters, const struct fabric *fabric, struct state *state,
		   const struct counters_options *options, struct finding_list *findings, struct counters_result *result)
{
	struct judging g = {.counters = counters, .fabric = fabric, .state = state, .options = options, .result = result};
	int error = 0;
	uint32_t i;

	*result = (struct counters_result){0};
	g.ports = calloc(fabric->port_count + 1u, sizeof(*g.ports));
	if (options->growth)
		result->growth = calloc(fabric->port_count + 1u, sizeof(*result->growth));
	if (!g.ports || (options->growth && !result->growth)) {
		free(g.ports);
		return -ENOMEM;
	}
	for (i = 0; i < fabric->port_count; i++)
		if (is_judged(&g, i)) {
			note(&g, i);
			compare(&g, i);
		}
	for (i = 0; i < fabric->port_count; i++)
		if (is_judged(&g, i))
			explain(&g, i);
	for (i = 0; i < fabric->port_count; i++)
		if (is_judged(&g, i))
			carry(&g, i);
	for (i = 0; i < fabric->port_count; i++)
		if (is_judged(&g, i)) {
			judged_tell(&g, i, findings);
			if (result->growth)
				note_growth(&g, i, &result->growth[i]);
		}
	judged_tell_anew(&g, findings);
	if (state)
		error = remember(&g);
	free(g.ports);
	return error;
}
