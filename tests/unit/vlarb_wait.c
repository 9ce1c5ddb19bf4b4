/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The arbiter whose VLs come and go.
 */
#include "vlarb_wait.h"

struct pointer {
	unsigned at;
	long left;   /* of the turn */
	bool in_turn;
};

struct arbiter {
	const struct qos_tables *tables;
	const unsigned *packet;
	bool forgets; /* the count of high bytes, once nothing low waits; else it is kept */
	struct pointer high, low;
	long gone;
};

static bool has_packet(const struct qos_vlarb_entry *e, uint16_t waiting)
{
	return e->weight && e->vl < QOS_DATA_VLS && (waiting & 1u << e->vl);
}

static bool any(const struct qos_vlarb *table, uint16_t waiting)
{
	for (unsigned i = 0; i < table->count; i++)
		if (has_packet(&table->entry[i], waiting))
			return true;
	return false;
}

static unsigned take(const struct arbiter *a, const struct qos_vlarb *table, struct pointer *p, uint16_t waiting)
{
	while (!has_packet(&table->entry[p->at], waiting) || (p->in_turn && p->left <= 0)) {
		p->at = p->at + 1 == table->count ? 0 : p->at + 1;
		p->in_turn = false;
	}
	if (!p->in_turn)
		p->left = 64L * table->entry[p->at].weight;
	p->in_turn = true;
	p->left -= a->packet[table->entry[p->at].vl];
	return table->entry[p->at].vl;
}

/* Sends one packet; returns its VL, or QOS_DATA_VLS if nothing that waits may go. */
static unsigned send_one(struct arbiter *a, uint16_t waiting)
{
	bool high = any(&a->tables->high, waiting), low = any(&a->tables->low, waiting);
	unsigned limit = a->tables->high_limit, vl;

	if (!high && !low)
		return QOS_DATA_VLS;
	if (high && low && limit != 255 && a->gone > 0 && a->gone >= 4096L * limit)
		high = false;
	if (!high) {
		a->gone = 0;
		return take(a, &a->tables->low, &a->low, waiting);
	}
	vl = take(a, &a->tables->high, &a->high, waiting);
	if (low)
		a->gone += a->packet[vl];
	else if (a->forgets)
		a->gone = 0;
	return vl;
}

static uint16_t some_of(uint16_t mask, uint64_t *seed)
{
	return (uint16_t)(mask & sim_random(seed, 1u << 15));
}

uint64_t vlarb_sim_wait(const struct qos_tables *tables, uint16_t busy, const unsigned packet[QOS_DATA_VLS],
			unsigned vl, unsigned packets, uint64_t *seed, bool *never)
{
	struct arbiter run = {.tables = tables, .packet = packet, .forgets = sim_random(seed, 2)};
	uint16_t ours = (uint16_t)(1u << vl), others = (uint16_t)(busy & ~ours), waiting = others, own = 0;
	uint64_t longest = 0;

	*never = false;
	for (unsigned played = 0; played < packets;) {
		struct arbiter fork;
		bool steady = sim_random(seed, 4) != 0;
		unsigned flying, sent = QOS_DATA_VLS, before = played;
		uint64_t wait = 0;

		/* now and then others; in between the same ones for a while */
		if (sim_random(seed, 4) == 0)
			waiting = (uint16_t)(sim_random(seed, 3) ? some_of(others, seed) : others);
		if (sim_random(seed, 8) == 0)
			own = ours & ~own;
		flying = send_one(&run, (uint16_t)(waiting | own));
		played++;
		fork = run;
		if (flying != QOS_DATA_VLS && flying != vl)
			wait = packet[flying];
		while (sent != vl && played - before <= packets) {
			sent = send_one(&fork, (uint16_t)(ours | (steady ? others : some_of(others, seed))));
			played++;
			if (sent == QOS_DATA_VLS)
				break;
			wait += sent != vl ? packet[sent] : 0;
		}
		if (sent != vl) {
			*never = true;
			return longest;
		}
		longest = wait > longest ? wait : longest;
	}
	return longest;
}
