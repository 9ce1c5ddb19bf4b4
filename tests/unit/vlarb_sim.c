/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The packet-by-packet arbiter: two pointers into two tables and a budget.
 */
#include <string.h>

#include "vlarb_sim.h"

struct side {
	const struct qos_vlarb *table;
	unsigned at; /* entry whose turn it is */
	long left;   /* bytes of its count that are not used up; below 0: overshot */
	long owed[QOS_VLARB_ENTRIES];
	bool fresh; /* its turn has not begun */
};

static bool can_send(const struct qos_vlarb_entry *e, uint16_t busy)
{
	return e->weight > 0 && e->vl < QOS_DATA_VLS && (busy >> e->vl & 1);
}

static bool side_busy(const struct side *s, uint16_t busy)
{
	for (unsigned i = 0; i < s->table->count; i++)
		if (can_send(&s->table->entry[i], busy))
			return true;
	return false;
}

/* Sends one packet from a table that has something to send; returns its VL. */
static unsigned side_send(struct side *s, uint16_t busy, const unsigned *packet, bool carry)
{
	for (;;) {
		const struct qos_vlarb_entry *e = &s->table->entry[s->at];

		if (can_send(e, busy)) {
			if (s->fresh) {
				s->left = e->weight * 64L - (carry ? s->owed[s->at] : 0);
				s->owed[s->at] = 0;
				s->fresh = false;
			}
			if (s->left > 0) {
				s->left -= packet[e->vl];
				return e->vl;
			}
			s->owed[s->at] = -s->left;
		}
		s->at = (s->at + 1) % s->table->count;
		s->fresh = true;
	}
}

void vlarb_sim(const struct qos_tables *tables, uint16_t busy, const unsigned packet[QOS_DATA_VLS],
	       bool carry, uint64_t bytes, double share[QOS_DATA_VLS])
{
	struct side high = {.table = &tables->high, .fresh = true},
		    low = {.table = &tables->low, .fresh = true};
	bool any_high = side_busy(&high, busy), any_low = side_busy(&low, busy);
	long limit = tables->high_limit * 4096L, gone = 0;
	uint64_t sent[QOS_DATA_VLS] = {0}, total = 0;
	bool round_over = false;

	memset(share, 0, QOS_DATA_VLS * sizeof(share[0]));
	if (!any_high && !any_low)
		return;
	if (any_high && any_low && tables->high_limit == 255)
		any_low = false;
	while (total < bytes || !round_over) {
		bool from_low;
		unsigned vl;

		if (any_high && any_low)
			from_low = limit ? gone >= limit : gone > 0;
		else
			from_low = any_low;
		vl = side_send(from_low ? &low : &high, busy, packet, carry);
		if (from_low)
			gone = carry && limit ? gone - limit : 0;
		else
			gone += packet[vl];
		sent[vl] += packet[vl];
		total += packet[vl];
		round_over = from_low || !any_low;
	}
	for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++)
		share[vl] = (double)sent[vl] / (double)total;
}

uint64_t vlarb_sim_cycle(const struct qos_vlarb *table, uint16_t busy, const unsigned packet[QOS_DATA_VLS])
{
	struct side s = {.table = table, .fresh = true};
	uint64_t bytes = 0;
	unsigned first = 0;

	if (!side_busy(&s, busy))
		return 0;
	while (!can_send(&table->entry[first], busy))
		first++;
	for (;;) {
		unsigned vl = side_send(&s, busy, packet, false);
		bool began = s.left == table->entry[s.at].weight * 64L - (long)packet[vl];

		if (s.at == first && began && bytes)
			return bytes;
		bytes += packet[vl];
	}
}

uint32_t sim_random(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*state >> 33) % below);
}
