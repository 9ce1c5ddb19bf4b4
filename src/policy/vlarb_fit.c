/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Fitting a VL arbitration table. A weight counts 64 bytes and ends at 255, so an entry sends 1 to
 * 3 packets of 4096 bytes a turn, 1 to 7 of 2048. Weights are whole packets only: then a turn
 * overshoots nothing, and arbiters that carry an overshoot agree with those that forget it.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "vlarb_fit.h"

#define TOLERANCE 1e-9 /* shortfalls nearer than this are the same: rounding never decides */

struct cycle {
	unsigned total;
	unsigned packets[QOS_DATA_VLS];
	double shortfall; /* the largest, as a fraction of the table */
};

unsigned vlarb_usable(unsigned cap)
{
	return cap < QOS_VLARB_BLOCK ? cap : QOS_VLARB_BLOCK;
}

static unsigned div_up(unsigned a, unsigned b)
{
	return (a + b - 1) / b;
}

/*
 * The best cycle of exactly `total` packets, if it beats `bound`. Every want starts with the
 * fewest packets that keep it within the bound; then the one that falls shortest gets one more
 * until all are given. As each raises the largest shortfall's own want and nothing less would,
 * the result is the best for this total. False: none beats the bound; where entries ran out with
 * packets left, a shorter cycle does at least as well.
 */
static bool best_cycle(const struct vlarb_want *wants, unsigned count, unsigned entries, unsigned per_entry,
		       unsigned total, double bound, struct cycle *cycle)
{
	unsigned given = 0, used = 0;

	for (unsigned i = 0; i < count; i++) {
		double fewest = ceil(total * (wants[i].share - bound));

		cycle->packets[i] = fewest > wants[i].least ? (unsigned)fewest : wants[i].least;
		given += cycle->packets[i];
		used += div_up(cycle->packets[i], per_entry);
	}
	if (given > total || used > entries)
		return false;
	for (;;) {
		unsigned shortest = 0;

		cycle->shortfall = -INFINITY;
		for (unsigned i = 0; i < count; i++) {
			double shortfall = wants[i].share - (double)cycle->packets[i] / total;

			if (shortfall > cycle->shortfall + TOLERANCE) {
				cycle->shortfall = shortfall;
				shortest = i;
			}
		}
		if (given == total)
			break;
		if (cycle->packets[shortest] % per_entry == 0 && used++ == entries)
			return false;
		cycle->packets[shortest]++;
		given++;
	}
	cycle->total = total;
	return cycle->shortfall < bound;
}

/*
 * How many entries each want is cut into: as few as hold its packets, then, while there is room,
 * one more for the want with the longest turns, so that nobody waits for a long burst.
 */
static void cut_entries(const unsigned *packets, unsigned count, unsigned entries, unsigned per_entry,
			unsigned *cuts)
{
	unsigned used = 0;

	for (unsigned i = 0; i < count; i++) {
		cuts[i] = div_up(packets[i], per_entry);
		used += cuts[i];
	}
	for (; used < entries; used++) {
		unsigned longest = count;

		for (unsigned i = 0; i < count; i++) {
			if (packets[i] <= cuts[i])
				continue; /* single packets, or none */
			if (longest == count || packets[i] * cuts[longest] > packets[longest] * cuts[i])
				longest = i;
		}
		if (longest == count)
			break;
		cuts[longest]++;
	}
}

/*
 * Puts the entries in order so that each want's own are spread evenly and those of different wants
 * mingle: every step credits each want with its number of entries, and the one with most credit
 * stands next and pays for all. The result is a full circle: all credits are 0 again at its end.
 * Turns of a want that differ by a packet alternate.
 */
static void lay_out(const struct vlarb_want *wants, const unsigned *packets, unsigned count, unsigned entries,
		    unsigned mtu, struct qos_vlarb *table)
{
	unsigned unit = mtu / QOS_WEIGHT_UNIT, cuts[QOS_DATA_VLS], placed[QOS_DATA_VLS] = {0}, all = 0;
	int credit[QOS_DATA_VLS] = {0};

	cut_entries(packets, count, entries, UINT8_MAX / unit, cuts);
	for (unsigned i = 0; i < count; i++)
		all += cuts[i];
	memset(table, 0, sizeof(*table));
	while (table->count < all) {
		unsigned next = 0, n, turn;

		for (unsigned i = 0; i < count; i++) {
			credit[i] += (int)cuts[i];
			if (credit[i] > credit[next])
				next = i;
		}
		credit[next] -= (int)all;
		n = placed[next]++;
		turn = (n + 1) * packets[next] / cuts[next] - n * packets[next] / cuts[next];
		table->entry[table->count++] = (struct qos_vlarb_entry){
			.vl = (uint8_t)wants[next].vl,
			.weight = (uint8_t)(turn * unit),
		};
	}
}

int vlarb_fit(const struct vlarb_want *wants, unsigned count, unsigned entries, unsigned mtu,
	      unsigned *packets, struct qos_vlarb *table)
{
	unsigned per_entry = UINT8_MAX / (mtu / QOS_WEIGHT_UNIT), needed = 0;
	struct cycle best = {.total = 0, .shortfall = INFINITY};

	for (unsigned i = 0; i < count; i++)
		needed += wants[i].least;
	if (needed > entries || count > QOS_DATA_VLS || entries > QOS_VLARB_ENTRIES)
		return -ENOSPC;
	for (unsigned total = 1; total <= entries * per_entry && best.shortfall > TOLERANCE; total++) {
		double bound = best.total ? best.shortfall - TOLERANCE : 2; /* no share is short by 2 */
		struct cycle cycle;

		if (best_cycle(wants, count, entries, per_entry, total, bound, &cycle))
			best = cycle;
	}
	if (!best.total)
		return -ENOSPC;
	memcpy(packets, best.packets, count * sizeof(packets[0]));
	lay_out(wants, packets, count, entries, mtu, table);
	return 0;
}
