/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is cut if nodes are taken out: ends without any other, paths by the forwarding tables, and whether another way is left.
 * Bandwidth and redundancy: drain_left.c.
 */
#include "drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "place.h"

enum path_state { PATH_OPEN, PATH_WAITS, PATH_CLEAN, PATH_OUT, PATH_DEAD, PATH_UNREAD };

/* --- ends and parts of the fabric that hang together --- */

/* A port of an adapter with a cable that is not known to be inactive. */
bool drain_is_end(const struct draining *d, uint32_t port)
{
	const struct fabric_port *p = &d->fabric->ports[port];

	return d->site.kind[p->node] == KIND_HOST && p->number > 0 && p->peer != FABRIC_NONE &&
	       (!p->known || fabric_port_state(p) == FABRIC_STATE_ACTIVE);
}

static uint32_t root_of(uint32_t *part, uint32_t n)
{
	while (part[n] != n) {
		part[n] = part[part[n]];
		n = part[n];
	}
	return n;
}

/* Nodes that are joined over switches; packets do not go through adapters. */
static void join(const struct draining *d, const bool *out, uint32_t *part)
{
	const struct fabric *f = d->fabric;

	for (uint32_t n = 0; n < f->node_count; n++)
		part[n] = n;
	for (uint32_t i = 0; i < f->link_count; i++) {
		uint32_t a = f->ports[f->links[i].a].node, b = f->ports[f->links[i].b].node;

		if (!site_is_switch(&d->site, a) || !site_is_switch(&d->site, b) || (out && (out[a] || out[b])))
			continue;
		part[root_of(part, a)] = root_of(part, b);
	}
}

/* The part that an end is in: its switch's, or (two adapters cabled to each other) its own cable's; FABRIC_NONE: in none. */
static uint32_t part_of(const struct draining *d, uint32_t *part, const bool *out, uint32_t port)
{
	const struct fabric *f = d->fabric;
	uint32_t peer = f->ports[port].peer, node = f->ports[peer].node;

	if (out && out[node])
		return FABRIC_NONE;
	if (site_is_switch(&d->site, node))
		return root_of(part, node);
	return f->ports[port].node < node ? f->ports[port].node : node;
}

static void find_isolated(struct draining *d, uint32_t *before, uint32_t *after, uint32_t *ends_before, uint32_t *ends_after)
{
	const struct fabric *f = d->fabric;
	struct drain_result *r = d->result;

	for (uint32_t i = 0; i < f->port_count; i++) {
		uint32_t was, is;

		if (!drain_is_end(d, i))
			continue;
		was = part_of(d, before, NULL, i);
		ends_before[was]++;
		if (d->out[f->ports[i].node]) {
			r->ends_out++;
			continue;
		}
		r->ends++;
		is = part_of(d, after, d->out, i);
		if (is != FABRIC_NONE)
			ends_after[is]++;
	}
	for (uint32_t i = 0; i < f->port_count; i++) {
		uint32_t is;

		if (!drain_is_end(d, i) || d->out[f->ports[i].node] || ends_before[part_of(d, before, NULL, i)] < 2)
			continue;
		is = part_of(d, after, d->out, i);
		r->is_isolated[i] = is == FABRIC_NONE || ends_after[is] < 2;
		r->isolated += r->is_isolated[i];
	}
}

/* --- paths by the tables --- */

/* Where a packet to the LID that is followed gets from each switch; found once for each. */
static uint8_t follow(const struct draining *d, const struct routes *routes, unsigned lid, uint8_t *state, uint32_t *stack,
		      uint32_t node)
{
	const struct fabric *f = d->fabric;
	uint32_t depth = 0, out;
	uint8_t end = PATH_DEAD;

	while (state[node] == PATH_OPEN) {
		enum route_step step = routes_step(routes, node, lid, &out);

		state[node] = PATH_WAITS;
		stack[depth++] = node;
		if (step != ROUTE_ON) {
			end = step == ROUTE_ARRIVED ? PATH_CLEAN : route_unknown(step) ? PATH_UNREAD : PATH_DEAD;
			break;
		}
		node = f->ports[f->ports[out].peer].node;
		end = state[node] == PATH_WAITS ? PATH_DEAD : state[node]; /* a circle */
	}
	if (depth == 0)
		return state[node];
	while (depth > 0) {
		uint32_t n = stack[--depth];

		if (end == PATH_CLEAN && d->out[n])
			end = PATH_OUT;
		state[n] = end;
	}
	return end;
}

/* Ends that stay, by the switch that they are at. */
static void count_at_switches(const struct draining *d, uint32_t *at)
{
	const struct fabric *f = d->fabric;

	for (uint32_t i = 0; i < f->port_count; i++)
		if (drain_is_end(d, i) && !d->out[f->ports[i].node] && site_is_switch(&d->site, f->ports[f->ports[i].peer].node))
			at[f->ports[f->ports[i].peer].node]++;
}

struct walking {
	uint32_t *at, *stack, *after;
	uint8_t *state;
};

/* All pairs to one end. */
static void count_pairs_to(struct draining *d, const struct routes *routes, uint32_t to, struct walking *w)
{
	const struct fabric *f = d->fabric;
	uint32_t home = f->ports[f->ports[to].peer].node, part = part_of(d, w->after, d->out, to);
	unsigned lid = fabric_port_lid(&f->ports[to]);
	struct drain_result *r = d->result;

	memset(w->state, PATH_OPEN, f->node_count);
	for (uint32_t n = 0; n < f->node_count; n++) {
		uint32_t pairs = w->at[n] - (n == home && w->at[n] > 0);

		if (pairs == 0)
			continue;
		switch (follow(d, routes, lid, w->state, w->stack, n)) {
		case PATH_OUT:
			r->lost += pairs;
			if (d->out[n] || part == FABRIC_NONE || root_of(w->after, n) != part)
				r->lost_for_good += pairs;
			r->pairs += pairs;
			break;
		case PATH_CLEAN:
			r->pairs += pairs;
			break;
		case PATH_UNREAD:
			r->pairs_unread += pairs;
			break;
		default:
			break;
		}
	}
}

static int count_pairs(struct draining *d, const struct ibqos_ctx *ctx, const struct routes *routes, uint32_t *after)
{
	const struct fabric *f = d->fabric;
	size_t room = (size_t)f->node_count + 1;
	struct walking w = {.at = calloc(room, sizeof(*w.at)),
			    .stack = calloc(room, sizeof(*w.stack)),
			    .state = calloc(room, 1),
			    .after = after};
	int error = w.at && w.stack && w.state ? 0 : -ENOMEM;

	if (error == 0)
		count_at_switches(d, w.at);
	for (uint32_t i = 0; error == 0 && i < f->port_count; i++) {
		if (!drain_is_end(d, i) || d->out[f->ports[i].node] || !site_is_switch(&d->site, f->ports[f->ports[i].peer].node))
			continue;
		if (f->ports[i].known && fabric_port_lid(&f->ports[i]) != 0)
			count_pairs_to(d, routes, i, &w);
		else /* nobody can say how packets get to what has no LID */
			d->result->pairs_unread += d->result->ends - 1;
		if (ctx_stopped(ctx))
			error = -EINTR;
	}
	d->result->pairs_known = error == 0;
	free(w.at);
	free(w.stack);
	free(w.state);
	return error;
}

/* --- all of it --- */

int drain_check(const struct ibqos_ctx *ctx, const struct fabric *fabric, const struct routes *routes, const bool *out,
		struct drain_result *result)
{
	struct draining d = {.fabric = fabric, .out = out, .result = result};
	size_t room = (size_t)fabric->node_count + 1;
	uint32_t *before = calloc(room, sizeof(*before)), *after = calloc(room, sizeof(*after)),
		 *ends_before = calloc(room, sizeof(*ends_before)), *ends_after = calloc(room, sizeof(*ends_after));
	int error = site_new(fabric, &d.site);

	*result = (struct drain_result){.is_isolated = calloc((size_t)fabric->port_count + 1, sizeof(*result->is_isolated)),
					.leaves = calloc(room, sizeof(*result->leaves))};
	if (!before || !after || !ends_before || !ends_after || !result->is_isolated || !result->leaves)
		error = -ENOMEM;
	if (error != 0)
		goto out;
	for (uint32_t n = 0; n < fabric->node_count; n++)
		result->nodes += out[n];
	join(&d, NULL, before);
	join(&d, out, after);
	find_isolated(&d, before, after, ends_before, ends_after);
	if (routes)
		error = count_pairs(&d, ctx, routes, after);
	if (error == 0)
		error = drain_left(&d);
out:
	free(before);
	free(after);
	free(ends_before);
	free(ends_after);
	site_clear(&d.site);
	return error;
}

void drain_clear(struct drain_result *result)
{
	free(result->is_isolated);
	free(result->leaves);
	*result = (struct drain_result){0};
}

void drain_findings(const struct drain_result *result, const struct fabric *fabric, struct finding_list *findings)
{
	struct finding *f;

	for (uint32_t i = 0; i < fabric->port_count; i++)
		if (result->is_isolated[i])
			place_port(finding_add(findings, FINDING_DRAIN_HOST_CUT), fabric, i);
	for (uint32_t i = 0; i < result->leaf_count; i++) {
		const struct drain_leaf *leaf = &result->leaves[i];

		if (leaf->ways_after >= leaf->ways_before || leaf->ways_after > 1)
			continue;
		f = finding_add(findings, FINDING_DRAIN_LAST_WAY);
		place_node(f, fabric, leaf->node);
		finding_set(&f->what, "cables on separate ways to other switches with hosts");
		finding_set(&f->wanted, "%u", leaf->ways_before);
		finding_set(&f->got, "%u", leaf->ways_after);
	}
	if (result->pairs_known && result->lost_for_good > 0) {
		f = finding_add(findings, FINDING_DRAIN_PAIRS_CUT);
		finding_set(&f->got, "%ju of %ju pairs", (uintmax_t)result->lost_for_good, (uintmax_t)result->pairs);
	}
}
