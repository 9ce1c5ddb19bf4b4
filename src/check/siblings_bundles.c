/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: parallel cables between two switches that are more or fewer than those of other pairs of the same roles.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "siblings_compare.h"

/* Each pair of switches once: from the lower level, on one level from the lower index. */
static bool is_first_end(const struct site *site, const struct bundle *b)
{
	uint8_t from = site->level[b->from], to = site->level[b->to];

	return from < to || (from == to && b->from < b->to);
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

		if (b->count <= usual && (siblings_strange(c, b) || leads_to_richer(c, b))) {
			odd.want = 0;
			more = true;
		}
		if (b->count != odd.want && siblings_add_odd(more ? &c->more : &c->fewer, odd) < 0)
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
	memset(c->tally, 0, site->fabric->node_count * sizeof(*c->tally));
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

/* A pair that has a cable too many took it from one that has none left: that one is noted among the fewer. */
static int find_emptied_bundles(struct comparing *c)
{
	const struct site *site = c->site;
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < c->more.count; i++) {
		const struct odd more = c->more.items[i];
		uint32_t lost = more.want > 0 ? more.want : more.have, want;
		uint32_t lacking = siblings_lacking(c, more.from, site->role[more.to], &want);

		if (lacking != FABRIC_NONE && !siblings_odd(&c->fewer, more.from, lacking))
			ret = siblings_add_odd(&c->fewer, (struct odd){more.from, lacking, 0, lost, false, false});
		lacking = siblings_lacking(c, more.to, site->role[more.from], &want);
		if (ret == 0 && lacking != FABRIC_NONE && !siblings_odd(&c->fewer, lacking, more.to))
			ret = siblings_add_odd(&c->fewer, (struct odd){lacking, more.to, 0, lost, false, false});
	}
	return ret;
}

int siblings_bundles(struct comparing *c)
{
	int ret = find_odd_bundles(c);

	if (ret == 0)
		ret = siblings_find_gone(c);
	if (ret == 0)
		ret = find_emptied_bundles(c);
	if (ret == 0)
		siblings_tell_bundles(c);
	return ret;
}
