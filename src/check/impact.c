/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * impact: what share of all pairs of hosts a link carries, by which findings are ranked: by the forwarding tables
 * where they were read, else as if each pair used all its shortest ways alike.
 */
#include "siblings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/link.h"

#include "ibqos/routes.h"

struct impact {
	const struct site *site;
	uint32_t ends;	/* ports of hosts at switches */
	double *load;	/* by port index of a switch: ordered pairs of hosts whose packets leave there to a switch */
	double *to_switches; /* by node, a leaf: Gb/s of its links to other switches; below 0: not added up yet */
};

/* One destination switch: how far each other is, nearest first, then what all hosts send there, farthest first. */
struct flood {
	uint32_t *order, *distance;
	double *flow;
	double *cable; /* by bundle: what one cable of it carries */
};

static void flood_to(const struct site *site, uint32_t to, struct flood *f)
{
	uint32_t nodes = site->fabric->node_count, head = 0, tail = 0;

	memset(f->distance, 0xff, nodes * sizeof(*f->distance));
	f->distance[to] = 0;
	f->order[tail++] = to;
	while (head < tail) {
		uint32_t n = f->order[head++];

		f->flow[n] = n == to ? 0 : site->hosts[n];
		for (size_t i = site->first_bundle[n]; i < site->first_bundle[n + 1]; i++) {
			uint32_t next = site->bundles[i].to;

			if (f->distance[next] != UINT32_MAX)
				continue;
			f->distance[next] = f->distance[n] + 1;
			f->order[tail++] = next;
		}
	}
	while (tail > 1) {
		uint32_t n = f->order[--tail], cables = 0;

		for (size_t i = site->first_bundle[n]; i < site->first_bundle[n + 1]; i++)
			if (f->distance[site->bundles[i].to] < f->distance[n])
				cables += site->bundles[i].count;
		for (size_t i = site->first_bundle[n]; cables > 0 && i < site->first_bundle[n + 1]; i++) {
			const struct bundle *b = &site->bundles[i];
			double each = f->flow[n] / cables;

			if (f->distance[b->to] >= f->distance[n])
				continue;
			f->flow[b->to] += each * b->count;
			f->cable[i] += each * site->hosts[to];
		}
	}
}

static size_t bundle_of(const struct site *site, uint32_t from, uint32_t to)
{
	for (size_t i = site->first_bundle[from]; i < site->first_bundle[from + 1]; i++)
		if (site->bundles[i].to == to)
			return i;
	return site->bundle_count;
}

static int by_structure(struct impact *impact)
{
	const struct site *site = impact->site;
	const struct fabric *fabric = site->fabric;
	uint32_t nodes = fabric->node_count;
	struct flood f = {.order = calloc(nodes + 1, sizeof(*f.order)),
			  .distance = calloc(nodes + 1, sizeof(*f.distance)),
			  .flow = calloc(nodes + 1, sizeof(*f.flow)),
			  .cable = calloc(site->bundle_count + 1, sizeof(*f.cable))};
	int ret = f.order && f.distance && f.flow && f.cable ? 0 : -ENOMEM;

	for (uint32_t n = 0; ret == 0 && n < nodes; n++)
		if (site_is_switch(site, n) && site->hosts[n] > 0)
			flood_to(site, n, &f);
	for (uint32_t i = 0; ret == 0 && i < fabric->link_count; i++) {
		uint32_t a = fabric->links[i].a, b = fabric->links[i].b;
		uint32_t x = fabric->ports[a].node, y = fabric->ports[b].node;

		if (x == y || !site_is_switch(site, x) || !site_is_switch(site, y))
			continue;
		impact->load[a] = f.cable[bundle_of(site, x, y)];
		impact->load[b] = f.cable[bundle_of(site, y, x)];
	}
	free(f.order);
	free(f.distance);
	free(f.flow);
	free(f.cable);
	return ret;
}

/* Room for one destination's tree of next hops. */
struct tree {
	uint32_t *out, *waiting, *queue; /* by switch: the port it leaves by; how many send to it; those ready */
	uint64_t *flow;
};

/* Each switch sends to one next: those that nobody sends to any more are drained in turn; circles never are. */
static void follow(struct impact *impact, const struct routes *routes, unsigned lid, struct tree *t)
{
	const struct site *site = impact->site;
	const struct fabric *f = site->fabric;
	uint32_t head = 0, tail = 0;

	memset(t->waiting, 0, f->node_count * sizeof(*t->waiting));
	for (uint32_t n = 0; n < f->node_count; n++) {
		t->out[n] = FABRIC_NONE;
		t->flow[n] = site->hosts[n];
		if (!site_is_switch(site, n) || routes_step(routes, n, lid, &t->out[n]) != ROUTE_ON)
			t->out[n] = FABRIC_NONE;
		else
			t->waiting[f->ports[f->ports[t->out[n]].peer].node]++;
	}
	for (uint32_t n = 0; n < f->node_count; n++)
		if (site_is_switch(site, n) && t->waiting[n] == 0)
			t->queue[tail++] = n;
	while (head < tail) {
		uint32_t n = t->queue[head++], next;

		if (t->out[n] == FABRIC_NONE)
			continue;
		impact->load[t->out[n]] += (double)t->flow[n];
		next = f->ports[f->ports[t->out[n]].peer].node;
		t->flow[next] += t->flow[n];
		if (--t->waiting[next] == 0)
			t->queue[tail++] = next;
	}
}

static int by_routes(struct impact *impact, const struct routes *routes)
{
	const struct fabric *f = impact->site->fabric;
	size_t nodes = (size_t)f->node_count + 1;
	struct tree t = {.out = calloc(nodes, sizeof(*t.out)),
			 .waiting = calloc(nodes, sizeof(*t.waiting)),
			 .queue = calloc(nodes, sizeof(*t.queue)),
			 .flow = calloc(nodes, sizeof(*t.flow))};
	int ret = t.out && t.waiting && t.queue && t.flow ? 0 : -ENOMEM;

	for (uint32_t i = 0; ret == 0 && i < f->link_count; i++)
		for (int end = 0; end < 2; end++) {
			const struct fabric_port *p = &f->ports[end ? f->links[i].b : f->links[i].a];
			const struct fabric_port *peer = &f->ports[end ? f->links[i].a : f->links[i].b];

			if (impact->site->kind[p->node] == KIND_HOST && site_is_switch(impact->site, peer->node) &&
			    p->known && fabric_port_lid(p))
				follow(impact, routes, fabric_port_lid(p), &t);
		}
	free(t.out);
	free(t.waiting);
	free(t.queue);
	free(t.flow);
	return ret;
}

/* The share of unordered pairs of hosts that a link carries, 0 to 1. */
static double share_of(const struct impact *impact, uint32_t port)
{
	const struct fabric *f = impact->site->fabric;
	uint32_t peer = f->ports[port].peer;
	double pairs = (double)impact->ends * (impact->ends - 1.0);

	if (impact->ends < 2 || peer == FABRIC_NONE)
		return 0;
	if (impact->site->kind[f->ports[port].node] == KIND_HOST || impact->site->kind[f->ports[peer].node] == KIND_HOST)
		return 2.0 / impact->ends;
	return (impact->load[port] + impact->load[peer]) / pairs;
}

static uint32_t place_of(const struct fabric *f, uint64_t guid, int port)
{
	uint32_t node = guid && port >= 0 ? fabric_find_node(f, guid) : FABRIC_NONE;

	return node == FABRIC_NONE ? FABRIC_NONE : fabric_node_port(f, node, (unsigned)port);
}

/* Gb/s that a port's link carries; 0: not known. */
static double gbps_of(const struct fabric *f, uint32_t port)
{
	struct link_state state;

	return link_decode(f, port, &state) ? link_gbps(state.width_active, state.speed_active) : 0;
}

/* Of a cable between two switches that is not there: what its siblings carry. */
static double share_of_missing(const struct impact *impact, const struct finding *finding)
{
	const struct site *site = impact->site;
	const struct fabric *f = site->fabric;
	uint32_t node = fabric_find_node(f, finding->guid);
	double sum = 0;
	uint32_t cables = 0;

	if (node == FABRIC_NONE || !site_is_switch(site, node))
		return 0;
	for (unsigned p = 1; p <= f->nodes[node].ports; p++) {
		uint32_t port = f->nodes[node].first_port + p, peer = f->ports[port].peer;

		if (peer == FABRIC_NONE || !site_is_switch(site, f->ports[peer].node))
			continue;
		sum += share_of(impact, port);
		cables++;
	}
	return cables > 0 ? sum / cables : 0;
}

static double gbps_to_switches(const struct site *site, uint32_t node)
{
	const struct fabric *f = site->fabric;
	double sum = 0;

	for (unsigned p = 1; p <= f->nodes[node].ports; p++) {
		uint32_t other = f->ports[f->nodes[node].first_port + p].peer;

		if (other != FABRIC_NONE && site_is_switch(site, f->ports[other].node))
			sum += gbps_of(f, f->nodes[node].first_port + p);
	}
	return sum;
}

/* Hosts behind a leaf's cable, and what is left to them. */
static void add_behind(const struct impact *impact, struct finding *finding, uint32_t port)
{
	const struct site *site = impact->site;
	const struct fabric *f = site->fabric;
	uint32_t node = f->ports[port].node, peer = f->ports[port].peer;

	if (peer == FABRIC_NONE || !site_is_switch(site, node) || !site_is_switch(site, f->ports[peer].node) ||
	    site->level[node] != 0 || site->level[f->ports[peer].node] == 0)
		return;
	if (impact->to_switches[node] < 0)
		impact->to_switches[node] = gbps_to_switches(site, node);
	finding_append(&finding->detail, "%.4g Gb/s left to other switches for %u host ports of %s", impact->to_switches[node],
		       site->hosts[node], f->nodes[node].name);
}

static void rank(const struct impact *impact, struct finding *finding)
{
	const struct fabric *f = impact->site->fabric;
	const char *code = finding_kind(finding->code)->code;
	uint32_t port = place_of(f, finding->guid, finding->port);
	double share, lost = finding->weight, left;

	if (finding->code == FINDING_SIBLING_CABLE_MISSING || finding->code == FINDING_SIBLING_CABLE_MOVED) {
		finding->weight = 100 * share_of_missing(impact, finding);
		return;
	}
	if ((strncmp(code, "link-", strlen("link-")) != 0 && finding->code != FINDING_SIBLING_LINK_SLOW) ||
	    port == FABRIC_NONE || f->ports[port].peer == FABRIC_NONE) {
		finding->weight = 0;
		return;
	}
	share = share_of(impact, port);
	left = gbps_of(f, port);
	if (finding->code == FINDING_LINK_NOT_ACTIVE)
		finding->weight = 100 * share;
	else
		finding->weight = lost > 0 ? 100 * share * lost / (lost + left) : 0;
	if (share > 0 && lost > 0)
		finding_append(&finding->detail, "%.3g%% of host pairs cross it", 100 * share);
	if (lost > 0) {
		add_behind(impact, finding, port);
		add_behind(impact, finding, f->ports[port].peer);
	}
}

int audit_rank(const struct fabric *fabric, const struct routes *routes, struct finding_list *findings)
{
	struct site site;
	struct impact impact = {.site = &site};
	int ret = site_new(fabric, &site);

	impact.load = calloc((size_t)fabric->port_count + 1, sizeof(*impact.load));
	impact.to_switches = calloc((size_t)fabric->node_count + 1, sizeof(*impact.to_switches));
	if (ret == 0 && (!impact.load || !impact.to_switches))
		ret = -ENOMEM;
	for (uint32_t n = 0; ret == 0 && n < fabric->node_count; n++) {
		impact.ends += site.hosts[n];
		impact.to_switches[n] = -1;
	}
	if (ret == 0)
		ret = routes ? by_routes(&impact, routes) : by_structure(&impact);
	for (size_t i = 0; ret == 0 && i < findings->count; i++)
		rank(&impact, &findings->items[i]);
	free(impact.load);
	free(impact.to_switches);
	site_clear(&site);
	return ret;
}
