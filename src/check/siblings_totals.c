/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: how many cables each switch has in all, for what no bundle explains.
 */
#include <errno.h>
#include <stdlib.h>

#include "siblings_compare.h"

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

bool siblings_usual_side(struct comparing *c, uint32_t role, uint32_t *usual)
{
	return role != FABRIC_NONE && usual_total(c, role, SIDE, usual);
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
			found = siblings_lacking(c, node, site->role[n], &want);
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
	struct finding *f = siblings_tell(c, rich == FABRIC_NONE ? FINDING_SIBLING_CABLE_MISSING : FINDING_SIBLING_CABLE_MOVED, node,
				 rich == FABRIC_NONE ? peer : rich);

	finding_set(&f->what, "%s", whats[d]);
	siblings_set_cables(&f->wanted, usual);
	siblings_set_cables(&f->got, have);
	if (rich != FABRIC_NONE)
		finding_set(&f->detail, "%s has %u", site_label(c->site, rich), total_of(c->site, d)[rich]);
}

int siblings_totals(struct comparing *c)
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

			lacks[d][n] = have < most && total_of(site, (enum direction)d)[n] * 2 >= most ? most - have : 0;
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

