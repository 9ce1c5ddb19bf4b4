/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: which switches are nearest siblings, by the neighbours that they share, and what those have that one lacks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "siblings_compare.h"

int siblings_add_odd(struct odds *odds, struct odd odd)
{
	struct odd *items = array_grow(odds->items, &odds->room, odds->count + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	odds->items = items;
	items[odds->count++] = odd;
	return 0;
}

/*
 * Siblings are those that share neighbours of a role with a switch: shared[] by node, 0 before, how many, but for one. Returns
 * the most that one of them shares.
 */
static uint32_t count_shared(const struct site *site, uint32_t node, uint32_t role, uint32_t but, uint32_t *shared)
{
	uint32_t most = 0;

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

/*
 * Whether none of a switch's siblings, two at least, has a cable to where it has one. This is asked of each bundle: so only
 * siblings are looked at, not all nodes, and tally[] is left as it was, all 0.
 */
static enum known strange_to(struct comparing *c, uint32_t node, uint32_t to)
{
	const struct site *site = c->site;
	uint32_t *shared = c->tally, most = count_shared(site, node, site->role[to], to, shared), siblings = 0;
	bool known = false;

	for (size_t i = site->first_bundle[node]; i < site->first_bundle[node + 1]; i++) {
		uint32_t via = site->bundles[i].to;

		for (size_t j = site->first_bundle[via]; j < site->first_bundle[via + 1]; j++) {
			uint32_t sibling = site->bundles[j].to;

			if (!known && is_near(shared[sibling], most)) {
				siblings++;
				known = site_between(site, sibling, to) > 0;
			}
			shared[sibling] = 0;
		}
	}
	if (known)
		return NO;
	return siblings >= 2 ? YES : UNKNOWN;
}

/* A cable between two levels of a tree that should not be there: of pods that are not each other's. */
bool siblings_strange(struct comparing *c, const struct bundle *b)
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

/* Cables between a pair, as most siblings have them. */
static uint32_t pair_of_siblings(const struct site *site, uint32_t node, uint32_t to)
{
	uint32_t most = 0, found = 0;

	for (size_t i = site->first_bundle[to]; i < site->first_bundle[to + 1]; i++) {
		uint32_t count = site->bundles[i].count, alike = 0;

		if (site->role[site->bundles[i].to] != site->role[node])
			continue;
		for (size_t n = site->first_bundle[to]; n < site->first_bundle[to + 1]; n++)
			alike += site->role[site->bundles[n].to] == site->role[node] && site->bundles[n].count == count;
		if (alike > most) {
			most = alike;
			found = count;
		}
	}
	return found;
}

uint32_t siblings_lacking(struct comparing *c, uint32_t node, uint32_t other_role, uint32_t *want)
{
	const struct site *site = c->site;
	uint32_t *shared = c->values, siblings = 0, found = FABRIC_NONE, nodes = site->fabric->node_count, most;
	bool several = false;

	memset(c->tally, 0, nodes * sizeof(*c->tally));
	memset(shared, 0, nodes * sizeof(*shared));
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
	*want = pair_of_siblings(site, node, found);
	return found;
}

/*
 * Switches farther from hosts that at least two thirds of a switch's siblings are cabled to, two at least; tally[] by node: how
 * many are. Returns how many siblings there are.
 */
static uint32_t tally_siblings(struct comparing *c, uint32_t node, uint32_t role)
{
	const struct site *site = c->site;
	uint32_t most, siblings = 0;

	memset(c->values, 0, site->fabric->node_count * sizeof(*c->values));
	most = count_shared(site, node, role, FABRIC_NONE, c->values);
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
			ret = siblings_add_odd(&c->fewer, (struct odd){node, lacking[i], 0, pair_of_siblings(site, node, lacking[i]),
							      false, true});
	free(lacking);
	return ret;
}

int siblings_find_gone(struct comparing *c)
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

