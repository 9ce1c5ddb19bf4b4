/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: parallel cables between two switches, compared with those of other pairs of the same roles.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "siblings_compare.h"

static int add_odd(struct odds *odds, struct odd odd)
{
	struct odd *items = array_grow(odds->items, &odds->room, odds->count + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	odds->items = items;
	items[odds->count++] = odd;
	return 0;
}

/* Each pair of switches once: from the lower level, on one level from the lower index. */
static bool is_first_end(const struct site *site, const struct bundle *b)
{
	uint8_t from = site->level[b->from], to = site->level[b->to];

	return from < to || (from == to && b->from < b->to);
}

/*
 * Siblings are those that share neighbours of a role with a switch: shared[] by node, how many, but for one. Returns the
 * most that one of them shares.
 */
static uint32_t count_shared(const struct site *site, uint32_t node, uint32_t role, uint32_t but, uint32_t *shared)
{
	uint32_t most = 0;

	memset(shared, 0, site->fabric->node_count * sizeof(*shared));
	for (size_t i = site->first_bundle[node]; i < site->first_bundle[node + 1]; i++) {
		uint32_t via = site->bundles[i].to;

		if (via == but || site->role[via] != role)
			continue;
		for (size_t j = site->first_bundle[via]; j < site->first_bundle[via + 1]; j++) {
			uint32_t sibling = site->bundles[j].to;

			if (sibling != node && site->role[sibling] == site->role[node] && ++shared[sibling] > most)
				most = shared[sibling];
		}
	}
	return most;
}

/* Those that share most: one that a single cable gone astray leads to shares less. */
static bool is_near(uint32_t shared, uint32_t most)
{
	return shared > 0 && shared * 2 > most;
}

enum known { UNKNOWN, NO, YES };

/* Whether none of a switch's siblings, two at least, has a cable to where it has one. */
static enum known strange_to(struct comparing *c, uint32_t node, uint32_t to)
{
	const struct site *site = c->site;
	uint32_t most = count_shared(site, node, site->role[to], to, c->values), siblings = 0;

	for (uint32_t n = 0; n < site->fabric->node_count; n++)
		if (is_near(c->values[n], most)) {
			siblings++;
			if (site_between(site, n, to) > 0)
				return NO;
		}
	return siblings >= 2 ? YES : UNKNOWN;
}

/* A cable between two levels of a tree that should not be there: of pods that are not each other's. */
static bool is_strange(struct comparing *c, const struct bundle *b)
{
	enum known from, to;

	if (c->site->level[b->from] == c->site->level[b->to])
		return false;
	from = strange_to(c, b->from, b->to);
	if (from == NO)
		return false;
	to = strange_to(c, b->to, b->from);
	return to != NO && (from == YES || to == YES);
}

struct pair_key {
	uint32_t from_role, to_role;
	const struct bundle *bundle;
};

static int by_roles(const void *a, const void *b)
{
	const struct pair_key *x = a, *y = b;

	if (x->from_role != y->from_role)
		return x->from_role < y->from_role ? -1 : 1;
	if (x->to_role != y->to_role)
		return x->to_role < y->to_role ? -1 : 1;
	return x->bundle < y->bundle ? -1 : x->bundle > y->bundle;
}

/*
 * On a grid: a bundle that is too small, at a switch that has more cables than most: the cable has come there from another
 * switch.
 */
static bool leads_to_richer(struct comparing *c, const struct bundle *b)
{
	const struct site *site = c->site;
	uint32_t usual;

	return site->level[b->from] == site->level[b->to] && siblings_usual_side(c, site->role[b->from], &usual) &&
	       (site->side[b->from] == usual + 1 || site->side[b->to] == usual + 1);
}

#define BUNDLES_LEAST 4 /* fewer bundles between two roles say nothing */

/* Notes the bundles between two roles that are not as large as the others: those are all from one pair of keys to the next. */
static int compare_bundles(struct comparing *c, const struct pair_key *keys, size_t count)
{
	uint32_t *values, usual = 0;
	bool known;

	if (count < BUNDLES_LEAST || keys->from_role == FABRIC_NONE || keys->to_role == FABRIC_NONE)
		return 0;
	values = calloc(count, sizeof(*values));
	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		values[i] = keys[i].bundle->count;
	known = site_usual(values, count, &usual);
	free(values);
	for (size_t i = 0; known && i < count; i++) {
		const struct bundle *b = keys[i].bundle;
		struct odd odd = {b->from, b->to, b->count, usual, false, false};
		bool more = b->count > usual;

		if (b->count <= usual && (is_strange(c, b) || leads_to_richer(c, b))) {
			odd.want = 0;
			more = true;
		}
		if (b->count != odd.want && add_odd(more ? &c->more : &c->fewer, odd) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int find_odd_bundles(struct comparing *c)
{
	const struct site *site = c->site;
	struct pair_key *keys = calloc(site->bundle_count + 1, sizeof(*keys));
	size_t count = 0, first = 0;
	int ret = 0;

	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < site->bundle_count; i++)
		if (is_first_end(site, &site->bundles[i]))
			keys[count++] = (struct pair_key){site->role[site->bundles[i].from],
							  site->role[site->bundles[i].to], &site->bundles[i]};
	qsort(keys, count, sizeof(*keys), by_roles);
	for (size_t i = 1; ret == 0 && i <= count; i++) {
		if (i < count && keys[i].from_role == keys[first].from_role && keys[i].to_role == keys[first].to_role)
			continue;
		ret = compare_bundles(c, &keys[first], i - first);
		first = i;
	}
	free(keys);
	return ret;
}

uint32_t siblings_lacking(struct comparing *c, uint32_t node, uint32_t other_role, uint32_t *want)
{
	const struct site *site = c->site;
	uint32_t *shared = c->values, siblings = 0, found = FABRIC_NONE, nodes = site->fabric->node_count, most;
	bool several = false;

	memset(c->tally, 0, nodes * sizeof(*c->tally));
	most = count_shared(site, node, other_role, FABRIC_NONE, shared);
	for (uint32_t sibling = 0; sibling < nodes; sibling++) {
		if (!is_near(shared[sibling], most))
			continue;
		siblings++;
		for (size_t k = site->first_bundle[sibling]; k < site->first_bundle[sibling + 1]; k++)
			c->tally[site->bundles[k].to]++;
	}
	for (uint32_t n = 0; siblings >= 2 && n < nodes; n++) {
		if (n == node || site->role[n] != other_role || c->tally[n] < 2 || c->tally[n] * 3 < siblings * 2 ||
		    site_between(site, node, n) > 0)
			continue;
		several = found != FABRIC_NONE;
		found = n;
	}
	if (several || found == FABRIC_NONE)
		return FABRIC_NONE;
	*want = 0;
	for (size_t i = site->first_bundle[found]; i < site->first_bundle[found + 1]; i++)
		if (site->role[site->bundles[i].to] == site->role[node] && site->bundles[i].count > *want)
			*want = site->bundles[i].count;
	return found;
}

static struct odd *find_odd(struct odds *odds, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < odds->count; i++)
		if (!odds->items[i].told && odds->items[i].from == from && odds->items[i].to == to)
			return &odds->items[i];
	return NULL;
}

/*
 * Switches farther from hosts that at least two thirds of a switch's siblings are cabled to, two at least; tally[] by node: how
 * many are. Returns how many siblings there are.
 */
static uint32_t tally_siblings(struct comparing *c, uint32_t node, uint32_t role)
{
	const struct site *site = c->site;
	uint32_t most = count_shared(site, node, role, FABRIC_NONE, c->values), siblings = 0;

	memset(c->tally, 0, site->fabric->node_count * sizeof(*c->tally));
	for (uint32_t n = 0; n < site->fabric->node_count; n++) {
		if (!is_near(c->values[n], most))
			continue;
		siblings++;
		for (size_t k = site->first_bundle[n]; k < site->first_bundle[n + 1]; k++)
			if (site->role[site->bundles[k].to] == role)
				c->tally[site->bundles[k].to]++;
	}
	return siblings;
}

static bool is_kept(uint32_t tally, uint32_t siblings)
{
	return siblings >= 2 && tally >= 2 && tally * 3 >= siblings * 2;
}

/* Whether siblings of `to`, seen from there, have cables to `node`: two switches that belong together. */
static bool belongs_to(struct comparing *c, uint32_t to, uint32_t node)
{
	uint32_t siblings = tally_siblings(c, to, c->site->role[node]);

	return siblings < 2 || is_kept(c->tally[node], siblings);
}

/* Cables between a pair, as siblings have them. */
static uint32_t pair_of_siblings(const struct site *site, uint32_t node, uint32_t to)
{
	uint32_t most = 0;

	for (size_t i = site->first_bundle[to]; i < site->first_bundle[to + 1]; i++)
		if (site->role[site->bundles[i].to] == site->role[node] && site->bundles[i].count > most)
			most = site->bundles[i].count;
	return most;
}

/* Pairs of a switch without any cable, where it has at least as many with. */
static int find_gone_bundles(struct comparing *c, uint32_t node, uint32_t role)
{
	const struct site *site = c->site;
	uint32_t nodes = site->fabric->node_count, siblings = tally_siblings(c, node, role), have = 0, lack = 0;
	uint32_t *lacking;
	int ret = 0;

	for (uint32_t n = 0; n < nodes; n++)
		if (is_kept(c->tally[n], siblings))
			*(site_between(site, node, n) > 0 ? &have : &lack) += 1;
	if (lack == 0 || lack > have)
		return 0;
	lacking = calloc(lack, sizeof(*lacking));
	if (!lacking)
		return -ENOMEM;
	for (uint32_t n = 0, i = 0; n < nodes && i < lack; n++)
		if (is_kept(c->tally[n], siblings) && site_between(site, node, n) == 0)
			lacking[i++] = n;
	for (uint32_t i = 0; ret == 0 && i < lack; i++)
		if (belongs_to(c, lacking[i], node))
			ret = add_odd(&c->fewer, (struct odd){node, lacking[i], 0, pair_of_siblings(site, node, lacking[i]),
							      false, true});
	free(lacking);
	return ret;
}

static int find_all_gone_bundles(struct comparing *c)
{
	const struct site *site = c->site;
	int ret = 0;

	for (uint32_t n = 0; ret == 0 && n < site->fabric->node_count; n++) {
		if (!site_is_switch(site, n) || site->role[n] == FABRIC_NONE)
			continue;
		for (uint32_t role = 0; ret == 0 && role < site->roles; role++) {
			bool above = false;

			for (size_t i = site->first_bundle[n]; !above && i < site->first_bundle[n + 1]; i++)
				above = site->role[site->bundles[i].to] == role &&
					site->level[site->bundles[i].to] > site->level[n];
			if (above)
				ret = find_gone_bundles(c, n, role);
		}
	}
	return ret;
}

/* A pair that has a cable too many took it from one that has none left: that one is noted among the fewer. */
static int find_emptied_bundles(struct comparing *c)
{
	const struct site *site = c->site;
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < c->more.count; i++) {
		const struct odd more = c->more.items[i];
		uint32_t lost = more.want > 0 ? more.want : more.have, want;
		uint32_t lacking = siblings_lacking(c, more.from, site->role[more.to], &want);

		if (lacking != FABRIC_NONE && !find_odd(&c->fewer, more.from, lacking))
			ret = add_odd(&c->fewer, (struct odd){more.from, lacking, 0, lost, false, false});
		lacking = siblings_lacking(c, more.to, site->role[more.from], &want);
		if (ret == 0 && lacking != FABRIC_NONE && !find_odd(&c->fewer, lacking, more.to))
			ret = add_odd(&c->fewer, (struct odd){lacking, more.to, 0, lost, false, false});
	}
	return ret;
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
		a = find_odd(&c->more, first->from, second->to);
		b = find_odd(&c->more, second->from, first->to);
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

static void tell_bundles(struct comparing *c)
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
		if (!c->fewer.items[i].told &&
		    (c->fewer.items[i].none || c->fewer.items[i].have * 2 >= c->fewer.items[i].want))
			tell_missing(c, &c->fewer.items[i]);
}

int siblings_bundles(struct comparing *c)
{
	int ret = find_odd_bundles(c);

	if (ret == 0)
		ret = find_all_gone_bundles(c);
	if (ret == 0)
		ret = find_emptied_bundles(c);
	if (ret == 0)
		tell_bundles(c);
	return ret;
}
