/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: switches of one role compared with each other, without any baseline: cables that one lacks, and
 * cables that go elsewhere than those of the others.
 *
 * Told is only what a large majority of siblings have otherwise (site_usual()), and only of a switch that has at
 * least half of what they have: less is another design. First bundles, which name both ends; then totals, for what
 * no bundle explains.
 */
#include "siblings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "place.h"

/* A pair of switches with another number of cables than such pairs have: `from` is the one nearer to hosts. */
struct odd {
	uint32_t from, to, have, want;
	bool told;
};

struct odds {
	struct odd *items;
	size_t count, room;
};

struct comparing {
	const struct site *site;
	struct finding_list *findings;
	struct odds fewer, more;
	uint32_t *tally;       /* by node, all 0 between uses */
	uint32_t *values;      /* room for a value a node */
	uint32_t *told_up, *told_side, *told_down; /* by node: missing cables that a finding tells already */
};

static int add_odd(struct odds *odds, struct odd odd)
{
	struct odd *items = array_grow(odds->items, &odds->room, odds->count + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	odds->items = items;
	items[odds->count++] = odd;
	return 0;
}

static const char *name_of(const struct site *site, uint32_t node)
{
	const char *name = site->fabric->nodes[node].name;

	return name ? name : "";
}

/* The port of a switch that has no cable and leads to switches of a higher level on its siblings; 0: not one only. */
static unsigned empty_port(const struct site *site, uint32_t node, uint32_t to)
{
	const struct fabric *f = site->fabric;
	unsigned found = 0;

	for (unsigned p = 1; p <= f->nodes[node].ports; p++) {
		uint32_t peers = 0, there = 0;

		if (f->ports[f->nodes[node].first_port + p].peer != FABRIC_NONE)
			continue;
		for (uint32_t n = 0; n < f->node_count; n++) {
			uint32_t peer;

			if (n == node || site->role[n] != site->role[node] || p > f->nodes[n].ports)
				continue;
			peers++;
			peer = f->ports[f->nodes[n].first_port + p].peer;
			there += peer != FABRIC_NONE && site->role[f->ports[peer].node] == site->role[to];
		}
		if (there == 0 || there * 3 < peers * 2)
			continue;
		if (found)
			return 0;
		found = p;
	}
	return found;
}

static struct finding *tell(struct comparing *c, enum finding_code code, uint32_t node, uint32_t peer)
{
	const struct fabric_node *nodes = c->site->fabric->nodes;
	struct finding *f = finding_add(c->findings, code);
	unsigned port;

	f->guid = nodes[node].guid;
	f->port = FINDING_WHOLE_NODE;
	finding_set(&f->name, "%s", name_of(c->site, node));
	if (peer == FABRIC_NONE)
		return f;
	f->peer_guid = nodes[peer].guid;
	f->peer_port = FINDING_WHOLE_NODE;
	finding_set(&f->peer_name, "%s", name_of(c->site, peer));
	if (code != FINDING_SIBLING_CABLE_MISSING)
		return f;
	port = empty_port(c->site, node, peer);
	if (port)
		f->port = (int)port;
	port = empty_port(c->site, peer, node);
	if (port)
		f->peer_port = (int)port;
	return f;
}

static void set_cables(char **member, uint32_t count)
{
	finding_set(member, "%u cable%s", count, count == 1 ? "" : "s");
}

/* --- bundles --- */

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
		struct odd odd = {b->from, b->to, b->count, usual, false};

		if (b->count != usual && add_odd(b->count < usual ? &c->fewer : &c->more, odd) < 0)
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

/*
 * A switch that `node` has no cable to, while at least two thirds of its siblings that share a neighbour of the
 * other's role with it, two at least, have: FABRIC_NONE where there is none, or not one only. *want: how many cables.
 */
static uint32_t find_lacking(struct comparing *c, uint32_t node, uint32_t other_role, uint32_t *want)
{
	const struct site *site = c->site;
	uint32_t *seen = c->values, siblings = 0, found = FABRIC_NONE, most = 0;
	bool several = false;

	/* siblings, each once: seen[] by node, tally[] by neighbour */
	memset(seen, 0, site->fabric->node_count * sizeof(*seen));
	memset(c->tally, 0, site->fabric->node_count * sizeof(*c->tally));
	for (size_t i = site->first_bundle[node]; i < site->first_bundle[node + 1]; i++) {
		uint32_t via = site->bundles[i].to;

		if (site->role[via] != other_role)
			continue;
		for (size_t j = site->first_bundle[via]; j < site->first_bundle[via + 1]; j++) {
			uint32_t sibling = site->bundles[j].to;

			if (sibling == node || site->role[sibling] != site->role[node] || seen[sibling]++)
				continue;
			siblings++;
			for (size_t k = site->first_bundle[sibling]; k < site->first_bundle[sibling + 1]; k++)
				c->tally[site->bundles[k].to]++;
		}
	}
	for (uint32_t n = 0; siblings >= 2 && n < site->fabric->node_count; n++) {
		if (n == node || site->role[n] != other_role || c->tally[n] < 2 || c->tally[n] * 3 < siblings * 2 ||
		    site_between(site, node, n) > 0)
			continue;
		several = most > 0;
		most = c->tally[n];
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

/* A pair that has a cable too many took it from one that has none left: that one is noted among the fewer. */
static int find_emptied_bundles(struct comparing *c)
{
	const struct site *site = c->site;
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < c->more.count; i++) {
		uint32_t from = c->more.items[i].from, to = c->more.items[i].to, want;
		uint32_t lacking = find_lacking(c, from, site->role[to], &want);

		if (lacking != FABRIC_NONE && !find_odd(&c->fewer, from, lacking))
			ret = add_odd(&c->fewer, (struct odd){from, lacking, 0, c->more.items[i].want, false});
		lacking = find_lacking(c, to, site->role[from], &want);
		if (ret == 0 && lacking != FABRIC_NONE && !find_odd(&c->fewer, lacking, to))
			ret = add_odd(&c->fewer, (struct odd){lacking, to, 0, c->more.items[i].want, false});
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
		f = tell(c, FINDING_SIBLING_CABLE_MOVED, first->from, second->from);
		finding_set(&f->what, "two cables, exchanged");
		finding_set(&f->wanted, "%s to %s, %s to %s", name_of(c->site, first->from), name_of(c->site, first->to),
			    name_of(c->site, second->from), name_of(c->site, second->to));
		finding_set(&f->got, "%s to %s, %s to %s", name_of(c->site, first->from), name_of(c->site, second->to),
			    name_of(c->site, second->from), name_of(c->site, first->to));
		explain(c, first);
		explain(c, second);
		a->told = b->told = true;
		return true;
	}
	return false;
}

static bool tell_moved(struct comparing *c, struct odd *fewer)
{
	for (size_t i = 0; i < c->more.count; i++) {
		struct odd *more = &c->more.items[i];
		struct finding *f;

		if (more->told || (more->from != fewer->from && more->to != fewer->to))
			continue;
		f = tell(c, FINDING_SIBLING_CABLE_MOVED, fewer->from, fewer->to);
		finding_set(&f->what, "cable");
		finding_set(&f->wanted, "%s to %s", name_of(c->site, fewer->from), name_of(c->site, fewer->to));
		finding_set(&f->got, "%s to %s", name_of(c->site, more->from), name_of(c->site, more->to));
		explain(c, fewer);
		more->told = true;
		return true;
	}
	return false;
}

static void tell_missing(struct comparing *c, struct odd *odd)
{
	struct finding *f = tell(c, FINDING_SIBLING_CABLE_MISSING, odd->from, odd->to);

	finding_set(&f->what, "cables between the two");
	set_cables(&f->wanted, odd->want);
	set_cables(&f->got, odd->have);
	explain(c, odd);
}

#define SMALLER_LEAST 3

/*
 * Leaves with as many cables fewer as hosts fewer, several of them: a number that did not go into all leaves evenly, by
 * design. Of a single one that would be a fault beside a host that is off.
 */
static void pass_over_smaller_leaves(struct comparing *c)
{
	const struct site *site = c->site;
	uint32_t nodes = site->fabric->node_count, smaller = 0;
	uint32_t *lacking = c->values, *most = c->tally; /* by node; by role */

	memset(lacking, 0, nodes * sizeof(*lacking));
	memset(most, 0, nodes * sizeof(*most));
	for (uint32_t n = 0; n < nodes; n++)
		if (site->role[n] != FABRIC_NONE && site->hosts[n] > most[site->role[n]])
			most[site->role[n]] = site->hosts[n];
	for (size_t i = 0; i < c->fewer.count; i++)
		if (!c->fewer.items[i].told)
			lacking[c->fewer.items[i].from] += c->fewer.items[i].want - c->fewer.items[i].have;
	for (uint32_t n = 0; n < nodes; n++) {
		if (lacking[n] > 0 && site->level[n] == 0 && most[site->role[n]] - site->hosts[n] == lacking[n])
			smaller++;
		else
			lacking[n] = 0;
	}
	for (size_t i = 0; smaller >= SMALLER_LEAST && i < c->fewer.count; i++)
		if (!c->fewer.items[i].told && lacking[c->fewer.items[i].from] > 0)
			explain(c, &c->fewer.items[i]);
}

static void tell_bundles(struct comparing *c)
{
	for (size_t i = 0; i < c->fewer.count; i++)
		if (!c->fewer.items[i].told)
			tell_exchanged(c, &c->fewer.items[i]);
	for (size_t i = 0; i < c->fewer.count; i++)
		if (!c->fewer.items[i].told)
			tell_moved(c, &c->fewer.items[i]);
	pass_over_smaller_leaves(c);
	for (size_t i = 0; i < c->fewer.count; i++)
		if (!c->fewer.items[i].told && c->fewer.items[i].have * 2 >= c->fewer.items[i].want)
			tell_missing(c, &c->fewer.items[i]);
}

/* --- totals --- */

enum direction { UP, SIDE, DOWN };

/* On a grid or ring switches at the edge have fewer, by design: there only a single missing cable is told. */
#define GRID_SWITCHES_LEAST 8
#define GRID_CABLES_LEAST 3

static uint32_t *total_of(const struct site *site, enum direction d)
{
	return d == UP ? site->up : d == SIDE ? site->side : site->down;
}

static uint32_t *told_of(struct comparing *c, enum direction d)
{
	return d == UP ? c->told_up : d == SIDE ? c->told_side : c->told_down;
}

/* How many cables of a role most have; false: nothing can be said. */
static bool usual_total(struct comparing *c, uint32_t role, enum direction d, uint32_t *usual)
{
	const struct site *site = c->site;
	const uint32_t *total = total_of(site, d);
	size_t count = 0, lacking = 0;

	for (uint32_t n = 0; n < site->fabric->node_count; n++)
		if (site->role[n] == role)
			c->values[count++] = total[n];
	if (!site_usual(c->values, count, usual) || *usual == 0)
		return false;
	for (size_t i = 0; i < count; i++)
		lacking += c->values[i] < *usual;
	return d != SIDE || (lacking <= 2 && count >= GRID_SWITCHES_LEAST && *usual >= GRID_CABLES_LEAST);
}

/* The only other switch that lacks a cable the other way round, of those that could be at the other end; else none. */
static uint32_t other_end(struct comparing *c, uint32_t node, enum direction d, const uint32_t *lacks[])
{
	const struct site *site = c->site;
	const uint32_t *theirs = lacks[d == UP ? DOWN : d == DOWN ? UP : SIDE];
	uint32_t found = FABRIC_NONE, want;

	for (uint32_t n = 0; n < site->fabric->node_count; n++) {
		if (n == node || theirs[n] == 0 || (d != SIDE && (site->level[n] > site->level[node]) != (d == UP)))
			continue;
		if (found != FABRIC_NONE) { /* several: the one that siblings are cabled to */
			found = find_lacking(c, node, site->role[n], &want);
			return found != FABRIC_NONE && theirs[found] ? found : FABRIC_NONE;
		}
		found = n;
	}
	return found;
}

/* A switch of the same role that has more than the others: the cable may be there. */
static uint32_t richer(const struct site *site, uint32_t node, enum direction d, uint32_t usual)
{
	uint32_t found = FABRIC_NONE;

	for (uint32_t n = 0; n < site->fabric->node_count; n++) {
		if (site->role[n] != site->role[node] || total_of(site, d)[n] <= usual)
			continue;
		if (found != FABRIC_NONE)
			return FABRIC_NONE;
		found = n;
	}
	return found;
}

static void tell_total(struct comparing *c, uint32_t node, enum direction d, uint32_t usual, uint32_t peer)
{
	static const char *const whats[] = {"cables to switches above", "cables to switches beside it",
					    "cables to switches below"};
	uint32_t have = total_of(c->site, d)[node];
	uint32_t rich = peer == FABRIC_NONE ? richer(c->site, node, d, usual) : FABRIC_NONE;
	struct finding *f = tell(c, rich == FABRIC_NONE ? FINDING_SIBLING_CABLE_MISSING : FINDING_SIBLING_CABLE_MOVED, node,
				 rich == FABRIC_NONE ? peer : rich);

	finding_set(&f->what, "%s", whats[d]);
	set_cables(&f->wanted, usual);
	set_cables(&f->got, have);
	if (rich != FABRIC_NONE)
		finding_set(&f->detail, "%s has %u", name_of(c->site, rich), total_of(c->site, d)[rich]);
}

static int tell_totals(struct comparing *c)
{
	const struct site *site = c->site;
	uint32_t nodes = site->fabric->node_count, *lacks[3], *usual[3];
	int ret = 0;

	for (int d = UP; d <= DOWN; d++) {
		lacks[d] = calloc(nodes + 1, sizeof(**lacks));
		usual[d] = calloc(site->roles + 1, sizeof(**usual));
		if (!lacks[d] || !usual[d])
			ret = -ENOMEM;
	}
	for (int d = UP; ret == 0 && d <= DOWN; d++) {
		for (uint32_t role = 0; role < site->roles; role++)
			if (!usual_total(c, role, (enum direction)d, &usual[d][role]))
				usual[d][role] = 0;
		for (uint32_t n = 0; n < nodes; n++) {
			uint32_t have = total_of(site, (enum direction)d)[n] + told_of(c, (enum direction)d)[n];
			uint32_t most = site->role[n] == FABRIC_NONE ? 0 : usual[d][site->role[n]];

			lacks[d][n] = have < most && have * 2 >= most ? most - have : 0;
		}
	}
	for (int d = UP; ret == 0 && d <= DOWN; d++)
		for (uint32_t n = 0; n < nodes; n++) {
			uint32_t peer;

			if (lacks[d][n] == 0)
				continue;
			peer = other_end(c, n, (enum direction)d, (const uint32_t **)lacks);
			tell_total(c, n, (enum direction)d, usual[d][site->role[n]], peer);
			lacks[d][n] = 0;
			if (peer != FABRIC_NONE) /* one cable, one finding */
				lacks[d == UP ? DOWN : d == DOWN ? UP : SIDE][peer]--;
		}
	for (int d = UP; d <= DOWN; d++) {
		free(lacks[d]);
		free(usual[d]);
	}
	return ret;
}

/* --- models --- */

static void tell_radix(struct comparing *c)
{
	const struct site *site = c->site;
	const struct fabric *f = site->fabric;

	for (uint32_t role = 0; role < site->roles; role++) {
		uint32_t usual;
		size_t count = 0;

		for (uint32_t n = 0; n < f->node_count; n++)
			if (site->role[n] == role)
				c->values[count++] = f->nodes[n].ports;
		if (!site_usual(c->values, count, &usual))
			continue;
		for (uint32_t n = 0; n < f->node_count; n++) {
			struct finding *told;

			if (site->role[n] != role || f->nodes[n].ports == usual)
				continue;
			told = tell(c, FINDING_SIBLING_RADIX, n, FABRIC_NONE);
			finding_set(&told->what, "ports");
			finding_set(&told->wanted, "%u ports", usual);
			finding_set(&told->got, "%u ports", f->nodes[n].ports);
		}
	}
}

/* --- */

static int compare_switches(struct comparing *c)
{
	int ret = find_odd_bundles(c);

	if (ret == 0)
		ret = find_emptied_bundles(c);
	if (ret == 0) {
		tell_bundles(c);
		ret = tell_totals(c);
	}
	if (ret == 0)
		tell_radix(c);
	return ret;
}

int audit_siblings(const struct fabric *fabric, const struct audit_options *options, struct finding_list *findings)
{
	struct site site;
	struct comparing c = {.site = &site, .findings = findings};
	size_t nodes = (size_t)fabric->node_count + 1;
	int ret = site_new(fabric, &site);

	c.tally = calloc(nodes, sizeof(*c.tally));
	c.values = calloc(nodes, sizeof(*c.values));
	c.told_up = calloc(nodes, sizeof(*c.told_up));
	c.told_side = calloc(nodes, sizeof(*c.told_side));
	c.told_down = calloc(nodes, sizeof(*c.told_down));
	if (ret == 0 && (!c.tally || !c.values || !c.told_up || !c.told_side || !c.told_down))
		ret = -ENOMEM;
	if (ret == 0 && !options->baseline)
		ret = compare_switches(&c);
	if (ret == 0 && !options->baseline)
		ret = siblings_hosts(&site, findings);
	if (ret == 0)
		ret = siblings_rates(&site, options, findings);
	free(c.fewer.items);
	free(c.more.items);
	free(c.tally);
	free(c.values);
	free(c.told_up);
	free(c.told_side);
	free(c.told_down);
	site_clear(&site);
	return ret;
}
