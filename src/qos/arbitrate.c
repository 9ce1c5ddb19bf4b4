/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The arbitration model: shares in the long run, without playing the packets one by one.
 *
 * A table whose busy entries always have packets is a ring: each turn sends a fixed number of
 * packets of a fixed size, so a cycle has fixed bytes, split among VLs in a fixed way. With one
 * table busy that is the whole answer. With both, time falls into rounds: high packets until the
 * budget is reached, then one low packet.
 *
 * Two things need care there. The high ring stands where it was when the low packet goes, so a
 * round may end in the middle of a turn, and the next one starts there; over many rounds the high
 * ring is still walked evenly, so its VLs split its bytes as in a cycle. And the budget is
 * overshot by part of a packet: by how much depends on where in the ring the round started, with
 * packets of mixed size from round to round. A round's end is the first packet boundary at or
 * after start + budget; that map of a ring onto itself is monotone, so its mean step (the rotation
 * number) is the same from any start, and taking it over one closed walk of the map gives it
 * exactly.
 */
#include <string.h>

#include "ibqos/qos.h"

struct turn {
	uint64_t packet; /* bytes of each of its packets */
	uint64_t end;    /* bytes of the cycle up to the end of this turn */
};

struct ring {
	unsigned turns;
	struct turn turn[QOS_VLARB_ENTRIES];
	uint64_t bytes, packets; /* of a cycle */
	uint64_t vl_bytes[QOS_DATA_VLS];
};

static uint64_t div_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

static void ring_build(const struct qos_vlarb *table, uint16_t busy, const unsigned packet[QOS_DATA_VLS],
		       struct ring *ring)
{
	memset(ring, 0, sizeof(*ring));
	for (unsigned i = 0; i < table->count && i < QOS_VLARB_ENTRIES; i++) {
		const struct qos_vlarb_entry *e = &table->entry[i];
		uint64_t packets, bytes;

		if (e->weight == 0 || e->vl >= QOS_DATA_VLS || !(busy & 1u << e->vl) || packet[e->vl] == 0)
			continue;
		packets = div_up((uint64_t)e->weight * QOS_WEIGHT_UNIT, packet[e->vl]);
		bytes = packets * packet[e->vl];
		ring->bytes += bytes;
		ring->packets += packets;
		ring->vl_bytes[e->vl] += bytes;
		ring->turn[ring->turns++] = (struct turn){packet[e->vl], ring->bytes};
	}
}

/* The first packet boundary at or after `at`, 0..ring->bytes, of a cycle. */
static uint64_t ring_boundary(const struct ring *ring, uint64_t at)
{
	uint64_t start = 0;

	for (unsigned i = 0; i < ring->turns; i++) {
		if (at <= ring->turn[i].end)
			return start + div_up(at - start, ring->turn[i].packet) * ring->turn[i].packet;
		start = ring->turn[i].end;
	}
	return ring->bytes;
}

/* Bytes that a round which starts at boundary `at` of the ring sends before the budget is reached. */
static uint64_t round_bytes(const struct ring *ring, uint64_t at, uint64_t budget)
{
	uint64_t laps = (at + budget) / ring->bytes, rest = (at + budget) % ring->bytes;

	return laps * ring->bytes + ring_boundary(ring, rest) - at;
}

/*
 * Mean bytes of a round. There are ring->packets places to start from, so as many rounds from
 * anywhere lead onto the closed walk that all walks end in.
 */
static double mean_round(const struct ring *ring, uint64_t budget)
{
	uint64_t at = 0, origin, sent = 0, rounds = 0;

	for (uint64_t i = 0; i < ring->packets; i++)
		at = (at + round_bytes(ring, at, budget)) % ring->bytes;
	origin = at;
	do {
		uint64_t bytes = round_bytes(ring, at, budget);

		sent += bytes;
		rounds++;
		at = (at + bytes) % ring->bytes;
	} while (at != origin);
	return (double)sent / (double)rounds;
}

static void add_shares(const struct ring *ring, double of_link, double share[QOS_DATA_VLS])
{
	for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++)
		share[vl] += of_link * (double)ring->vl_bytes[vl] / (double)ring->bytes;
}

void qos_arbitrate(const struct qos_tables *tables, uint16_t busy, const unsigned packet[QOS_DATA_VLS],
		   double share[QOS_DATA_VLS])
{
	struct ring high, low;
	double high_bytes, low_bytes;
	uint64_t budget;

	for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++)
		share[vl] = 0;
	ring_build(&tables->high, busy, packet, &high);
	ring_build(&tables->low, busy, packet, &low);
	if (high.turns && (!low.turns || tables->high_limit == QOS_HIGH_UNLIMITED)) {
		add_shares(&high, 1, share);
		return;
	}
	if (!high.turns) {
		if (low.turns)
			add_shares(&low, 1, share);
		return;
	}
	/* A limit of 0 lets one high packet go: the same as a budget of a single byte. */
	budget = tables->high_limit ? (uint64_t)tables->high_limit * QOS_HIGH_LIMIT_UNIT : 1;
	high_bytes = mean_round(&high, budget);
	low_bytes = (double)low.bytes / (double)low.packets;
	add_shares(&high, high_bytes / (high_bytes + low_bytes), share);
	add_shares(&low, low_bytes / (high_bytes + low_bytes), share);
}
