/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: how parallel cables lie: where nearly all bundles between two roles have their cables in the order of ports at both
 * ends, one that has two crossed was cabled wrong. It changes nothing for any packet, but whoever looks for a cable
 * by its label pulls another.
 */
#include <errno.h>
#include <stdlib.h>

#include "place.h"
#include "siblings_compare.h"

#define BUNDLES_LEAST 12 /* of two roles; fewer may lie alike by chance */
#define KEPT_OF 10	 /* nine in ten keep the order */

enum order { RISING, FALLING, CROSSED, ORDERS };

/* A bundle of two cables or more between a switch and one that is farther from hosts, or of a higher index. */
struct lie {
	uint32_t from_role, to_role;
	uint32_t from, to;
	enum order order;
};

static int by_roles(const void *a, const void *b)
{
	const struct lie *x = a, *y = b;

	if (x->from_role != y->from_role)
		return x->from_role < y->from_role ? -1 : 1;
	if (x->to_role != y->to_role)
		return x->to_role < y->to_role ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static enum order order_of(const struct fabric *f, uint32_t from, uint32_t to)
{
	const struct fabric_node *node = &f->nodes[from];
	unsigned before = 0, rising = 0, falling = 0;

	for (unsigned p = 1; p <= node->ports; p++) {
		uint32_t peer = f->ports[node->first_port + p].peer;
		unsigned number;

		if (peer == FABRIC_NONE || f->ports[peer].node != to)
			continue;
		number = f->ports[peer].number;
		if (before > 0)
			*(number > before ? &rising : &falling) += 1;
		before = number;
	}
	return rising && falling ? CROSSED : rising ? RISING : FALLING;
}

/* Ports of a bundle, as "12-3, 13-4". */
static void set_ports(char **member, const struct fabric *f, uint32_t from, uint32_t to)
{
	const struct fabric_node *node = &f->nodes[from];

	for (unsigned p = 1; p <= node->ports; p++) {
		uint32_t peer = f->ports[node->first_port + p].peer;

		if (peer != FABRIC_NONE && f->ports[peer].node == to)
			finding_append(member, "port %u to %u", p, f->ports[peer].number);
	}
}

static void tell(struct comparing *c, const struct lie *lie, enum order usual)
{
	static const char *const names[ORDERS] = {"rise at both ends", "rise at one end and fall at the other", "crossed"};
	struct finding *f = siblings_tell(c, FINDING_SIBLING_BUNDLE_CROSSED, lie->from, lie->to);

	finding_set(&f->what, "parallel cables");
	finding_set(&f->wanted, "ports %s, as of other pairs", names[usual]);
	set_ports(&f->got, c->site->fabric, lie->from, lie->to);
}

/* Whether at least half of a switch's bundles to that role have as many cables: of one that lost or got a cable, order says nothing. */
static bool is_whole(const struct site *site, const struct bundle *bundle)
{
	uint32_t alike = 0, all = 0;

	for (size_t i = site->first_bundle[bundle->from]; i < site->first_bundle[bundle->from + 1]; i++) {
		const struct bundle *b = &site->bundles[i];

		all += site->role[b->to] == site->role[bundle->to];
		alike += site->role[b->to] == site->role[bundle->to] && b->count == bundle->count;
	}
	return alike * 2 >= all;
}

/* One that has a cable too many or too few is told as that. */
static bool is_told(const struct comparing *c, const struct lie *lie)
{
	const struct odds *odds[] = {&c->fewer, &c->more};

	for (size_t o = 0; o < 2; o++)
		for (size_t i = 0; i < odds[o]->count; i++)
			if (odds[o]->items[i].from == lie->from && odds[o]->items[i].to == lie->to)
				return true;
	return false;
}

static void compare(struct comparing *c, const struct lie *lies, size_t count)
{
	size_t orders[ORDERS] = {0};
	enum order usual = RISING;

	for (size_t i = 0; i < count; i++)
		orders[lies[i].order]++;
	if (orders[FALLING] > orders[RISING])
		usual = FALLING;
	if (count < BUNDLES_LEAST || (count - orders[usual]) * KEPT_OF > count)
		return;
	for (size_t i = 0; i < count; i++)
		if (lies[i].order != usual && !is_told(c, &lies[i]))
			tell(c, &lies[i], usual);
}

int siblings_order(struct comparing *c)
{
	const struct site *site = c->site;
	struct lie *lies = calloc(site->bundle_count + 1, sizeof(*lies));
	size_t count = 0, first = 0;

	if (!lies)
		return -ENOMEM;
	for (size_t i = 0; i < site->bundle_count; i++) {
		const struct bundle *b = &site->bundles[i];

		/* once, from either end: seen from the other it lies alike */
		if (b->count < 2 || !is_whole(site, b) || site->level[b->from] > site->level[b->to] ||
		    (site->level[b->from] == site->level[b->to] && b->from > b->to))
			continue;
		lies[count++] = (struct lie){site->role[b->from], site->role[b->to], b->from, b->to,
					     order_of(site->fabric, b->from, b->to)};
	}
	qsort(lies, count, sizeof(*lies), by_roles);
	for (size_t i = 1; count > 0 && i <= count; i++) {
		if (i < count && lies[i].from_role == lies[first].from_role && lies[i].to_role == lies[first].to_role)
			continue;
		compare(c, &lies[first], i - first);
		first = i;
	}
	free(lies);
	return 0;
}
