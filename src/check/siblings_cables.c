/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: tells pairs of switches with more or fewer cables than others: as exchanged or moved cables, else as missing ones.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "siblings_compare.h"

struct odd *siblings_odd(struct odds *odds, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < odds->count; i++)
		if (!odds->items[i].told && odds->items[i].from == from && odds->items[i].to == to)
			return &odds->items[i];
	return NULL;
}

/* A cable that `odd` lacks is explained: totals need not tell it again. */
static void explain(struct comparing *c, struct odd *odd)
{
	uint8_t from = c->site->level[odd->from], to = c->site->level[odd->to];
	uint32_t lacking = odd->want - odd->have;

	odd->told = true;
	if (from == to) {
		c->told_side[odd->from] += lacking;
		c->told_side[odd->to] += lacking;
	} else {
		c->told_up[odd->from] += lacking;
		c->told_down[odd->to] += lacking;
	}
}

/* a-x and b-y have one too few, a-y and b-x one too many. */
static bool tell_exchanged(struct comparing *c, struct odd *first)
{
	for (size_t i = 0; i < c->fewer.count; i++) {
		struct odd *second = &c->fewer.items[i], *a, *b;
		struct finding *f;

		if (second == first || second->told || second->from == first->from || second->to == first->to)
			continue;
		a = siblings_odd(&c->more, first->from, second->to);
		b = siblings_odd(&c->more, second->from, first->to);
		if (!a || !b)
			continue;
		f = siblings_tell(c, FINDING_SIBLING_CABLE_MOVED, first->from, second->from);
		finding_set(&f->what, "two cables, exchanged");
		finding_set(&f->wanted, "%s to %s, %s to %s", site_label(c->site, first->from), site_label(c->site, first->to),
			    site_label(c->site, second->from), site_label(c->site, second->to));
		finding_set(&f->got, "%s to %s, %s to %s", site_label(c->site, first->from), site_label(c->site, second->to),
			    site_label(c->site, second->from), site_label(c->site, first->to));
		explain(c, first);
		explain(c, second);
		a->told = b->told = true;
		return true;
	}
	return false;
}

/* The untold odd bundle from one switch, whichever end it is of, to `to` or (FABRIC_NONE) to any other than `not`. */
static struct odd *next_fewer(struct comparing *c, uint32_t from, uint32_t to, uint32_t not, uint32_t *end)
{
	for (size_t i = 0; i < c->fewer.count; i++) {
		struct odd *odd = &c->fewer.items[i];

		if (odd->told || odd->have + 1 != odd->want || (odd->from != from && odd->to != from))
			continue;
		*end = odd->from == from ? odd->to : odd->from;
		if (*end != not && (to == FABRIC_NONE || *end == to))
			return odd;
	}
	return NULL;
}

static bool has_usual_side(struct comparing *c, uint32_t node)
{
	uint32_t usual;

	return siblings_usual_side(c, c->site->role[node], &usual) && c->site->side[node] == usual;
}

/*
 * On a grid: a-x, x-b, b-y and y-a have one too few each, while all four switches have as many cables as others. Two
 * cables of a-x and b-y lead a-y and b-x, or the other way round: which, nothing tells.
 */
static bool tell_four(struct comparing *c, struct odd *first)
{
	const struct site *site = c->site;
	uint32_t a = first->from, x = first->to, b, y, end;
	struct odd *second, *third, *last;
	struct finding *f;

	if (site->level[a] != site->level[x] || first->have + 1 != first->want)
		return false;
	second = next_fewer(c, x, FABRIC_NONE, a, &b);
	third = second ? next_fewer(c, b, FABRIC_NONE, x, &y) : NULL;
	last = third ? next_fewer(c, y, a, b, &end) : NULL;
	if (!last || y == a || !has_usual_side(c, a) || !has_usual_side(c, x) || !has_usual_side(c, b) ||
	    !has_usual_side(c, y))
		return false;
	f = siblings_tell(c, FINDING_SIBLING_CABLE_MOVED, a, b);
	finding_set(&f->what, "two cables, exchanged");
	finding_set(&f->wanted, "%u cables each from %s and %s to %s and %s, or none", first->want, site_label(site, a),
		    site_label(site, b), site_label(site, x), site_label(site, y));
	finding_set(&f->got, "%u each", first->have);
	first->told = second->told = third->told = last->told = true;
	return true;
}

static bool tell_moved(struct comparing *c, struct odd *fewer)
{
	for (size_t i = 0; i < c->more.count; i++) {
		struct odd *more = &c->more.items[i];
		struct finding *f;

		if (more->told || (more->from != fewer->from && more->to != fewer->to))
			continue;
		f = siblings_tell(c, FINDING_SIBLING_CABLE_MOVED, fewer->from, fewer->to);
		finding_set(&f->what, "cable");
		finding_set(&f->wanted, "%s to %s", site_label(c->site, fewer->from), site_label(c->site, fewer->to));
		finding_set(&f->got, "%s to %s", site_label(c->site, more->from), site_label(c->site, more->to));
		explain(c, fewer);
		more->told = true;
		return true;
	}
	return false;
}

static void tell_missing(struct comparing *c, struct odd *odd)
{
	struct finding *f = siblings_tell(c, FINDING_SIBLING_CABLE_MISSING, odd->from, odd->to);

	finding_set(&f->what, "cables between the two");
	siblings_set_cables(&f->wanted, odd->want);
	if (odd->have > 0)
		siblings_set_cables(&f->got, odd->have);
	else
		finding_set(&f->got, "none");
	explain(c, odd);
}

/* Whether all pairs that an end of `odd` has with switches of the other's role, or two thirds of them, lack as much. */
static bool is_alike(const struct odd *a, const struct odd *b, bool at_to)
{
	return !b->told && !b->none && a->have == b->have && a->want == b->want &&
	       (at_to ? a->to == b->to : a->from == b->from);
}

#define ALIKE_LEAST 3

/* A switch with fewer cables to each of its neighbours: one finding at it, be it its design or a board that is gone. */
static bool tell_alike(struct comparing *c, struct odd *odd, bool at_to)
{
	const struct site *site = c->site;
	uint32_t node = at_to ? odd->to : odd->from, role = site->role[at_to ? odd->from : odd->to], pairs = 0, alike = 0;
	const struct odd like = *odd;
	struct finding *f;

	for (size_t i = site->first_bundle[node]; i < site->first_bundle[node + 1]; i++)
		pairs += site->role[site->bundles[i].to] == role;
	for (size_t i = 0; i < c->fewer.count; i++)
		alike += is_alike(&like, &c->fewer.items[i], at_to);
	if (like.none || site->level[like.from] == site->level[like.to] || alike < ALIKE_LEAST || alike * 3 < pairs * 2)
		return false;
	f = siblings_tell(c, FINDING_SIBLING_CABLE_MISSING, node, FABRIC_NONE);
	finding_set(&f->what, "cables to each switch %s it", at_to ? "below" : "above");
	finding_set(&f->detail, "%u of %u are so", alike, pairs);
	siblings_set_cables(&f->wanted, like.want);
	siblings_set_cables(&f->got, like.have);
	for (size_t i = 0; i < c->fewer.count; i++)
		if (is_alike(&like, &c->fewer.items[i], at_to))
			explain(c, &c->fewer.items[i]);
	return true;
}

#define SMALLER_LEAST 3

/* Hosts that a leaf is meant to have: those that are missing or elsewhere counted, strangers not. */
static uint32_t hosts_meant(const struct site *site, uint32_t node)
{
	int64_t hosts = (int64_t)site->hosts[node] + site->astray[node];

	return hosts > 0 ? (uint32_t)hosts : 0;
}

/*
 * Whether on leaves of a role cables up go by hosts: two thirds have as many of both, and three at least have fewer of both than
 * the others.
 */
static bool goes_by_hosts(const struct site *site, uint32_t role)
{
	uint32_t leaves = 0, alike = 0, smaller = 0, most = 0;

	for (uint32_t n = 0; n < site->fabric->node_count; n++)
		if (site->role[n] == role && site->hosts[n] > 0 && hosts_meant(site, n) > most)
			most = hosts_meant(site, n);
	for (uint32_t n = 0; n < site->fabric->node_count; n++) {
		if (site->role[n] != role || site->hosts[n] == 0)
			continue;
		leaves++;
		alike += site->up[n] == hosts_meant(site, n);
		smaller += site->up[n] < most && hosts_meant(site, n) < most;
	}
	return alike * 3 >= leaves * 2 && smaller >= SMALLER_LEAST;
}

/* Of a smaller leaf that has fewer cables than hosts all the same: which of the small bundles is the one is not known. */
static void tell_smaller(struct comparing *c, uint32_t leaf)
{
	const struct site *site = c->site;
	struct finding *f = siblings_tell(c, FINDING_SIBLING_CABLE_MISSING, leaf, FABRIC_NONE);

	finding_set(&f->what, "cables to switches above");
	siblings_set_cables(&f->wanted, hosts_meant(site, leaf));
	siblings_set_cables(&f->got, site->up[leaf]);
	for (size_t i = 0; i < c->fewer.count; i++)
		if (!c->fewer.items[i].told && c->fewer.items[i].from == leaf)
			finding_append(&f->detail, "%s has %u of %u", site_label(site, c->fewer.items[i].to),
				       c->fewer.items[i].have, c->fewer.items[i].want);
}

/*
 * A number of hosts that did not go into all leaves evenly, with as many cables up as hosts on each: smaller leaves lack
 * nothing, by design. Of a single one that would be a fault beside a host that is off.
 */
static void pass_over_smaller_leaves(struct comparing *c)
{
	const struct site *site = c->site;

	for (size_t i = 0; i < c->fewer.count; i++) {
		uint32_t leaf = c->fewer.items[i].from, lacking = 0;

		if (c->fewer.items[i].told || site->level[leaf] != 0 || !goes_by_hosts(site, site->role[leaf]))
			continue;
		for (size_t n = i; n < c->fewer.count; n++)
			if (!c->fewer.items[n].told && c->fewer.items[n].from == leaf)
				lacking++;
		if (site->up[leaf] < hosts_meant(site, leaf)) {
			if (lacking < 2)
				continue; /* the only one it is */
			tell_smaller(c, leaf);
		}
		for (size_t n = i; n < c->fewer.count; n++)
			if (!c->fewer.items[n].told && c->fewer.items[n].from == leaf)
				explain(c, &c->fewer.items[n]);
	}
}

void siblings_tell_bundles(struct comparing *c)
{
	for (size_t i = 0; i < c->fewer.count; i++)
		if (!c->fewer.items[i].told)
			tell_exchanged(c, &c->fewer.items[i]);
	for (size_t i = 0; i < c->fewer.count; i++)
		if (!c->fewer.items[i].told)
			tell_moved(c, &c->fewer.items[i]);
	for (size_t i = 0; i < c->fewer.count; i++)
		if (!c->fewer.items[i].told)
			tell_four(c, &c->fewer.items[i]);
	pass_over_smaller_leaves(c);
	for (size_t i = 0; i < c->fewer.count; i++)
		if (!c->fewer.items[i].told && !tell_alike(c, &c->fewer.items[i], true))
			tell_alike(c, &c->fewer.items[i], false);
	for (size_t i = 0; i < c->fewer.count; i++)
		if (!c->fewer.items[i].told &&
		    (c->fewer.items[i].none || c->fewer.items[i].have * 2 >= c->fewer.items[i].want))
			tell_missing(c, &c->fewer.items[i]);
}

