/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is left when nodes are taken out: of the bandwidth to the top of a tree, and of ways from each switch with hosts to the
 * others that share no cable.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "drain.h"
#include "flow.h"
#include "ibqos/link.h"

#define UNITS 1000.0 /* in a Gb/s: rates in whole Mb/s */

/* --- ways --- */

/* Leaves are switches at which ends stay. */
static void find_leaves(struct draining *d)
{
	const struct fabric *f = d->fabric;
	struct drain_result *r = d->result;

	for (uint32_t n = 0; n < f->node_count; n++) {
		bool stays = false;

		if (!site_is_switch(&d->site, n) || d->out[n] || d->site.level[n] != 0)
			continue;
		for (unsigned p = 1; !stays && p <= f->nodes[n].ports; p++) {
			uint32_t peer = f->ports[f->nodes[n].first_port + p].peer;

			stays = peer != FABRIC_NONE && !d->out[f->ports[peer].node] && drain_is_end(d, peer);
		}
		if (stays)
			r->leaves[r->leaf_count++] = (struct drain_leaf){.node = n};
	}
}

/* Each cable between switches once, either way. */
static int join_cables(const struct draining *d, const bool *out, struct flow_net *net)
{
	const struct fabric *f = d->fabric;
	int error = 0;

	for (uint32_t i = 0; error == 0 && i < f->link_count; i++) {
		uint32_t a = f->ports[f->links[i].a].node, b = f->ports[f->links[i].b].node;

		if (a != b && site_is_switch(&d->site, a) && site_is_switch(&d->site, b) && !(out && (out[a] || out[b])))
			error = flow_join(net, a, b, 1, 1);
	}
	return error;
}

static int count_ways(struct draining *d, const bool *out)
{
	struct drain_result *r = d->result;
	struct flow_net net;
	int error = flow_new(d->fabric->node_count, &net);

	if (error == 0)
		error = join_cables(d, out, &net);
	for (uint32_t i = 0; error == 0 && i < r->leaf_count; i++)
		net.sink[r->leaves[i].node] = true;
	for (uint32_t i = 0; error == 0 && i < r->leaf_count; i++) {
		uint32_t ways = (uint32_t)flow_most(&net, r->leaves[i].node);

		*(out ? &r->leaves[i].ways_after : &r->leaves[i].ways_before) = ways;
	}
	flow_clear(&net);
	return error;
}

/* --- bandwidth --- */

/* Every switch between the leaves and one top level, no cable but one level up; NULL, or why it is none. */
static const char *not_a_tree(const struct draining *d, uint8_t *top)
{
	const struct fabric *f = d->fabric;

	*top = 0;
	for (uint32_t n = 0; n < f->node_count; n++)
		if (site_is_switch(&d->site, n) && d->site.level[n] != LEVEL_NONE && d->site.level[n] > *top)
			*top = d->site.level[n];
	if (*top == 0)
		return "no switch stands above those with hosts";
	for (uint32_t n = 0; n < f->node_count; n++) {
		if (!site_is_switch(&d->site, n) || d->site.up[n] + d->site.side[n] + d->site.down[n] + d->site.hosts[n] == 0)
			continue;
		if (d->site.level[n] == LEVEL_NONE)
			return "a switch cannot be reached from those with hosts";
		if (d->site.side[n] > 0)
			return "switches are cabled across: the fabric is no tree";
		if (d->site.level[n] < *top && d->site.up[n] == 0)
			return "switches below the top have no cable upwards: the fabric is no even tree";
	}
	return NULL;
}

/* Mb/s of a link; 0: not known. */
static uint64_t rate_of(const struct fabric *f, uint32_t port)
{
	struct link_state s;

	if (!link_decode(f, port, &s)) {
		s.width_active = f->ports[port].told_width;
		s.speed_active = f->ports[port].told_speed;
	}
	return (uint64_t)llround(link_gbps(s.width_active, s.speed_active) * UNITS);
}

/* Cables upwards with their rates, and one more point that all leaves get all they want from. -ENODATA: a rate is not known. */
static int join_rates(const struct draining *d, const bool *out, uint8_t top, struct flow_net *net)
{
	const struct fabric *f = d->fabric;
	int error = 0;

	for (uint32_t i = 0; error == 0 && i < f->link_count; i++) {
		uint32_t a = f->ports[f->links[i].a].node, b = f->ports[f->links[i].b].node;
		uint64_t rate;

		if (a == b || !site_is_switch(&d->site, a) || !site_is_switch(&d->site, b) || (out && (out[a] || out[b])))
			continue;
		rate = rate_of(f, f->links[i].a);
		if (rate == 0)
			return -ENODATA;
		if (d->site.level[a] < d->site.level[b])
			error = flow_join(net, a, b, rate, 0);
		else
			error = flow_join(net, b, a, rate, 0);
	}
	for (uint32_t n = 0; n < f->node_count; n++)
		net->sink[n] = site_is_switch(&d->site, n) && d->site.level[n] == top;
	for (uint32_t i = 0; error == 0 && i < d->result->leaf_count; i++)
		error = flow_join(net, f->node_count, d->result->leaves[i].node, FLOW_ENDLESS / (d->result->leaf_count + 1u), 0);
	return error;
}

static int measure_rates(struct draining *d, const bool *out, uint8_t top)
{
	struct drain_result *r = d->result;
	struct flow_net net;
	int error = flow_new(d->fabric->node_count + 1, &net);

	if (error == 0)
		error = join_rates(d, out, top, &net);
	if (error == 0)
		*(out ? &r->up_after : &r->up_before) = (double)flow_most(&net, d->fabric->node_count) / UNITS;
	for (uint32_t i = 0; error == 0 && i < r->leaf_count; i++) {
		double up = (double)flow_most(&net, r->leaves[i].node) / UNITS;

		*(out ? &r->leaves[i].up_after : &r->leaves[i].up_before) = up;
	}
	flow_clear(&net);
	return error;
}

static double share(const struct drain_leaf *leaf)
{
	return leaf->up_before > 0 ? leaf->up_after / leaf->up_before : 1;
}

int drain_left(struct draining *d)
{
	struct drain_result *r = d->result;
	uint8_t top;
	int error;

	find_leaves(d);
	error = count_ways(d, NULL);
	if (error == 0)
		error = count_ways(d, d->out);
	if (error != 0)
		return error;
	r->why_unknown = not_a_tree(d, &top);
	if (!r->why_unknown && r->leaf_count < 2)
		r->why_unknown = "fewer than two switches with hosts stay";
	if (r->why_unknown)
		return 0;
	error = measure_rates(d, NULL, top);
	if (error == 0)
		error = measure_rates(d, d->out, top);
	if (error == -ENODATA) {
		r->why_unknown = "the rate of a link between switches is not known";
		return 0;
	}
	for (uint32_t i = 1; i < r->leaf_count; i++)
		if (share(&r->leaves[i]) < share(&r->leaves[r->worst_leaf]))
			r->worst_leaf = i;
	return error;
}
