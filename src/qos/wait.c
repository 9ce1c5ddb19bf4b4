/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The arbitration model: how long a packet can be made to wait.
 *
 * The packet comes to an empty queue at the worst moment, and the VLs beside it are on and off as it
 * is worst. Three things are then in its way. What is being sent already is sent whole. Of the other
 * entries of its own table, those between two of its own have a turn each: the worst moment is when
 * its entry has just been passed over. And the other table has its part: a low packet for each
 * HighLimit of high bytes, or a whole HighLimit for each low packet.
 */
#include "ibqos/qos.h"

static uint64_t div_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

struct others {
	uint16_t vls; /* the busy ones besides the one that waits */
	const unsigned *packet;
};

static bool sends(const struct qos_vlarb_entry *e)
{
	return e->weight > 0 && e->vl < QOS_DATA_VLS;
}

static bool is_other(const struct others *others, const struct qos_vlarb_entry *e)
{
	return sends(e) && (others->vls >> e->vl & 1) && others->packet[e->vl] > 0;
}

/* The VLs of others that a table sends. */
static uint16_t vls_of(const struct qos_vlarb *table, const struct others *others)
{
	uint16_t vls = 0;

	for (unsigned i = 0; i < table->count && i < QOS_VLARB_ENTRIES; i++)
		if (is_other(others, &table->entry[i]))
			vls |= (uint16_t)(1u << table->entry[i].vl);
	return vls;
}

static uint64_t largest_packet(const struct others *others, uint16_t vls)
{
	uint64_t largest = 0;

	for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++)
		if ((vls >> vl & 1) && others->packet[vl] > largest)
			largest = others->packet[vl];
	return largest;
}

static uint64_t common_divisor(const struct qos_vlarb *table, const struct others *others)
{
	uint64_t divisor = 0;

	for (unsigned i = 0; i < table->count && i < QOS_VLARB_ENTRIES; i++) {
		uint64_t a = divisor, b;

		if (!is_other(others, &table->entry[i]))
			continue;
		for (b = others->packet[table->entry[i].vl]; a != 0;) {
			uint64_t rest = b % a;

			b = a;
			a = rest;
		}
		divisor = b;
	}
	return divisor;
}

/* A limit of 0 lets one high packet go: the same as a budget of a single byte. */
static uint64_t budget_of(const struct qos_tables *tables)
{
	return tables->high_limit ? (uint64_t)tables->high_limit * QOS_HIGH_LIMIT_UNIT : 1;
}

/* What lies between two entries of the VL that waits. */
struct gap {
	uint64_t bytes, packets;
	uint64_t rounds; /* times that the high budget is reached in it */
	uint64_t round;  /* bytes since it was last */
};

static void gap_add(struct gap *gap, const struct qos_vlarb_entry *e, const struct others *others, uint64_t budget)
{
	uint64_t packet = others->packet[e->vl], packets = div_up((uint64_t)e->weight * QOS_WEIGHT_UNIT, packet);

	gap->bytes += packets * packet;
	gap->packets += packets;
	for (; packets > 0; packets--) {
		gap->round += packet;
		if (gap->round >= budget) {
			gap->rounds++;
			gap->round = 0;
		}
	}
}

/* Calls back with the gap after each entry of `vl`. False if it has none. */
static bool worst_gap(const struct qos_vlarb *table, const struct others *others, unsigned vl, uint64_t budget,
		      uint64_t (*cost)(const void *arg, const struct gap *gap), const void *arg, uint64_t *worst)
{
	unsigned count = table->count < QOS_VLARB_ENTRIES ? table->count : QOS_VLARB_ENTRIES;
	bool any = false;

	*worst = 0;
	for (unsigned i = 0; i < count; i++) {
		struct gap gap = {0};
		uint64_t wait;

		if (!sends(&table->entry[i]) || table->entry[i].vl != vl)
			continue;
		any = true;
		for (unsigned n = 1; n < count; n++) {
			const struct qos_vlarb_entry *e = &table->entry[(i + n) % count];

			if (sends(e) && e->vl == vl)
				break;
			if (is_other(others, e))
				gap_add(&gap, e, others, budget);
		}
		wait = cost(arg, &gap);
		*worst = wait > *worst ? wait : *worst;
	}
	return any;
}

struct high_wait {
	uint64_t low_packet;
	bool unlimited;
};

/* One low packet is in flight, or due as the packet comes; one more goes each time the budget is reached. */
static uint64_t high_cost(const void *arg, const struct gap *gap)
{
	const struct high_wait *wait = arg;

	return gap->bytes + (1 + (wait->unlimited ? 0 : gap->rounds)) * wait->low_packet;
}

static uint64_t wait_in_high(const struct qos_tables *tables, const struct others *others, unsigned vl)
{
	struct high_wait wait = {.unlimited = tables->high_limit == QOS_HIGH_UNLIMITED};
	uint16_t low = vls_of(&tables->low, others);
	uint64_t worst;

	/* without a limit a VL of both tables never sends from the low one */
	if (wait.unlimited)
		low &= (uint16_t)~vls_of(&tables->high, others);
	wait.low_packet = largest_packet(others, low);
	if (!worst_gap(&tables->high, others, vl, budget_of(tables), high_cost, &wait, &worst))
		return QOS_WAIT_FOREVER;
	return worst;
}

struct low_wait {
	uint64_t high_round; /* 0: nothing goes before */
	uint64_t in_flight;
	bool unlimited;
};

/*
 * A high packet is in flight that began while nothing low waited, so that the limit does not count it;
 * then a round of high packets goes before each low one, ours too.
 */
static uint64_t low_cost(const void *arg, const struct gap *gap)
{
	const struct low_wait *wait = arg;

	if (wait->high_round == 0)
		return gap->bytes;
	if (wait->unlimited)
		return QOS_WAIT_FOREVER;
	return gap->bytes + wait->in_flight + (gap->packets + 1) * wait->high_round;
}

static uint64_t wait_in_low(const struct qos_tables *tables, const struct others *others, unsigned vl)
{
	struct low_wait wait = {.unlimited = tables->high_limit == QOS_HIGH_UNLIMITED};
	uint64_t worst, divisor = common_divisor(&tables->high, others);
	uint16_t high = vls_of(&tables->high, others);

	/* all but the last packet of a round end short of the budget, at a sum of whole packets */
	if (divisor)
		wait.high_round = (budget_of(tables) - 1) / divisor * divisor + largest_packet(others, high);
	wait.in_flight = largest_packet(others, (uint16_t)(high & ~vls_of(&tables->low, others)));
	if (!worst_gap(&tables->low, others, vl, UINT64_MAX, low_cost, &wait, &worst))
		return QOS_WAIT_FOREVER;
	return worst;
}

uint64_t qos_worst_wait(const struct qos_tables *tables, uint16_t busy, const unsigned packet[QOS_DATA_VLS],
			unsigned vl)
{
	struct others others = {.packet = packet};
	uint64_t high, low;

	if (vl >= QOS_DATA_VLS)
		return QOS_WAIT_FOREVER;
	others.vls = (uint16_t)(busy & ~(1u << vl));
	high = wait_in_high(tables, &others, vl);
	low = wait_in_low(tables, &others, vl);
	return high < low ? high : low;
}
