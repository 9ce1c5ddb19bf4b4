/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Roles of switches from how they are cabled: how far from the hosts, inside a chassis or not, which model.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "siblings.h"

/* A switch with fewer hosts than one for so many cables to switches is no leaf: a manager sits on a spine. */
#define CABLES_FOR_A_HOST 12

static enum node_kind kind_of(const struct fabric_node *node)
{
	if (node->type == FABRIC_SWITCH)
		return KIND_SWITCH;
	if (node->type != FABRIC_CA || fabric_node_is_aggregation(node))
		return KIND_OTHER;
	return KIND_HOST;
}

static int by_ends(const void *a, const void *b)
{
	const struct bundle *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->port < y->port ? -1 : x->port > y->port;
}

/* Cables of a switch to itself lead nowhere. */
static int make_bundles(struct site *site)
{
	const struct fabric *f = site->fabric;
	size_t count = 0, kept = 0;

	site->bundles = calloc(2 * (size_t)f->link_count + 1, sizeof(*site->bundles));
	site->first_bundle = calloc(f->node_count + 1, sizeof(*site->first_bundle));
	if (!site->bundles || !site->first_bundle)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->link_count; i++) {
		uint32_t a = f->links[i].a, b = f->links[i].b, x = f->ports[a].node, y = f->ports[b].node;

		if (x == y || !site_is_switch(site, x) || !site_is_switch(site, y))
			continue;
		site->bundles[count++] = (struct bundle){x, y, 1, a};
		site->bundles[count++] = (struct bundle){y, x, 1, b};
	}
	qsort(site->bundles, count, sizeof(*site->bundles), by_ends);
	for (size_t i = 0; i < count; i++) {
		struct bundle *last = kept ? &site->bundles[kept - 1] : NULL;

		if (last && last->from == site->bundles[i].from && last->to == site->bundles[i].to)
			last->count++;
		else
			site->bundles[kept++] = site->bundles[i];
	}
	site->bundle_count = kept;
	for (size_t i = 0; i < kept; i++)
		site->first_bundle[site->bundles[i].from + 1] = i + 1;
	for (uint32_t n = 0; n < f->node_count; n++)
		if (site->first_bundle[n + 1] < site->first_bundle[n])
			site->first_bundle[n + 1] = site->first_bundle[n];
	return 0;
}

static void count_hosts(struct site *site)
{
	const struct fabric *f = site->fabric;

	for (uint32_t i = 0; i < f->link_count; i++) {
		uint32_t x = f->ports[f->links[i].a].node, y = f->ports[f->links[i].b].node;

		if (site_is_switch(site, x) && site->kind[y] == KIND_HOST)
			site->hosts[x]++;
		if (site_is_switch(site, y) && site->kind[x] == KIND_HOST)
			site->hosts[y]++;
	}
}

static int find_levels(struct site *site)
{
	uint32_t nodes = site->fabric->node_count, head = 0, tail = 0;
	uint32_t *queue = calloc(nodes + 1, sizeof(*queue));

	if (!queue)
		return -ENOMEM;
	for (uint32_t n = 0; n < nodes; n++) {
		uint32_t cables = 0;

		site->level[n] = LEVEL_NONE;
		if (!site_is_switch(site, n) || site->hosts[n] == 0)
			continue;
		for (size_t i = site->first_bundle[n]; i < site->first_bundle[n + 1]; i++)
			cables += site->bundles[i].count;
		if (site->hosts[n] * CABLES_FOR_A_HOST < cables)
			continue;
		site->level[n] = 0;
		queue[tail++] = n;
	}
	while (head < tail) {
		uint32_t n = queue[head++];

		for (size_t i = site->first_bundle[n]; i < site->first_bundle[n + 1]; i++) {
			uint32_t to = site->bundles[i].to;

			if (site->level[to] != LEVEL_NONE || site->level[n] + 1 == LEVEL_NONE)
				continue;
			site->level[to] = site->level[n] + 1;
			queue[tail++] = to;
		}
	}
	free(queue);
	return 0;
}

static void count_cables(struct site *site)
{
	for (size_t i = 0; i < site->bundle_count; i++) {
		const struct bundle *b = &site->bundles[i];
		uint8_t from = site->level[b->from], to = site->level[b->to];

		*(to > from ? &site->up[b->from] : to < from ? &site->down[b->from] : &site->side[b->from]) += b->count;
	}
}

struct role_key {
	uint32_t node, vendor;
	uint16_t device;
	uint8_t level;
	bool chassis;
};

static int by_role(const void *a, const void *b)
{
	const struct role_key *x = a, *y = b;

	if (x->level != y->level)
		return x->level - y->level;
	if (x->chassis != y->chassis)
		return x->chassis - y->chassis;
	if (x->vendor != y->vendor)
		return x->vendor < y->vendor ? -1 : 1;
	return x->device - y->device;
}

/* A chip of a chassis shares its system image GUID with another switch that it is cabled to. */
static bool in_chassis(const struct site *site, uint32_t node)
{
	const struct fabric_node *nodes = site->fabric->nodes;

	for (size_t i = site->first_bundle[node]; i < site->first_bundle[node + 1]; i++)
		if (nodes[node].system_guid && nodes[site->bundles[i].to].system_guid == nodes[node].system_guid)
			return true;
	return false;
}

static int find_roles(struct site *site)
{
	const struct fabric *f = site->fabric;
	struct role_key *keys = calloc(f->node_count + 1, sizeof(*keys));
	uint32_t count = 0;

	if (!keys)
		return -ENOMEM;
	for (uint32_t n = 0; n < f->node_count; n++) {
		site->role[n] = FABRIC_NONE;
		if (site_is_switch(site, n) && site->level[n] != LEVEL_NONE)
			keys[count++] = (struct role_key){n, f->nodes[n].vendor, f->nodes[n].device, site->level[n],
							  in_chassis(site, n)};
	}
	qsort(keys, count, sizeof(*keys), by_role);
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0 && by_role(&keys[i - 1], &keys[i]) != 0)
			site->roles++;
		site->role[keys[i].node] = site->roles;
	}
	site->roles += count > 0;
	free(keys);
	return 0;
}

static int by_text(const void *a, const void *b, void *nodes)
{
	return strcmp(((const struct fabric_node *)nodes)[*(const uint32_t *)a].name,
		      ((const struct fabric_node *)nodes)[*(const uint32_t *)b].name);
}

static int make_labels(struct site *site)
{
	struct fabric_node *nodes = site->fabric->nodes;
	uint32_t *order = calloc((size_t)site->fabric->node_count + 1, sizeof(*order)), count = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t n = 0; n < site->fabric->node_count; n++)
		if (site_is_switch(site, n) && nodes[n].name)
			order[count++] = n;
	qsort_r(order, count, sizeof(*order), by_text, nodes);
	for (uint32_t i = 0; i < count; i++) {
		bool before = i > 0 && strcmp(nodes[order[i]].name, nodes[order[i - 1]].name) == 0;
		bool after = i + 1 < count && strcmp(nodes[order[i]].name, nodes[order[i + 1]].name) == 0;

		if ((before || after) && asprintf(&site->label[order[i]], "%s 0x%016" PRIx64, nodes[order[i]].name,
						  nodes[order[i]].guid) < 0) {
			site->label[order[i]] = NULL;
			free(order);
			return -ENOMEM;
		}
	}
	free(order);
	return 0;
}

const char *site_label(const struct site *site, uint32_t node)
{
	const char *name = site->label[node] ? site->label[node] : site->fabric->nodes[node].name;

	return name ? name : "";
}

int site_new(const struct fabric *fabric, struct site *site)
{
	uint32_t n = fabric->node_count + 1;
	int ret;

	*site = (struct site){.fabric = fabric};
	site->kind = calloc(n, sizeof(*site->kind));
	site->level = calloc(n, sizeof(*site->level));
	site->role = calloc(n, sizeof(*site->role));
	site->hosts = calloc(n, sizeof(*site->hosts));
	site->up = calloc(n, sizeof(*site->up));
	site->side = calloc(n, sizeof(*site->side));
	site->down = calloc(n, sizeof(*site->down));
	site->label = calloc(n, sizeof(*site->label));
	site->astray = calloc(n, sizeof(*site->astray));
	if (!site->label || !site->astray || !site->kind || !site->level || !site->role || !site->hosts || !site->up || !site->side || !site->down)
		return -ENOMEM;
	for (uint32_t i = 0; i < fabric->node_count; i++)
		site->kind[i] = (uint8_t)kind_of(&fabric->nodes[i]);
	count_hosts(site);
	ret = make_bundles(site);
	if (ret == 0)
		ret = find_levels(site);
	if (ret < 0)
		return ret;
	count_cables(site);
	ret = find_roles(site);
	return ret < 0 ? ret : make_labels(site);
}

void site_clear(struct site *site)
{
	for (uint32_t i = 0; site->label && i < site->fabric->node_count; i++)
		free(site->label[i]);
	free(site->label);
	free(site->astray);
	free(site->kind);
	free(site->level);
	free(site->role);
	free(site->hosts);
	free(site->up);
	free(site->side);
	free(site->down);
	free(site->bundles);
	free(site->first_bundle);
	*site = (struct site){0};
}

static uint32_t kind_of_end(const struct site *site, uint32_t node)
{
	return site_is_switch(site, node) ? site->role[node] : 0x80000000u + site->fabric->nodes[node].device;
}

bool site_kind(const struct site *site, uint32_t port, uint32_t kind[SITE_KIND])
{
	const struct fabric *f = site->fabric;
	uint32_t a = f->ports[port].node, peer = f->ports[port].peer, b = peer == FABRIC_NONE ? a : f->ports[peer].node;
	uint32_t x = kind_of_end(site, a), y = kind_of_end(site, b);

	if (a == b || x == FABRIC_NONE || y == FABRIC_NONE || site->kind[a] == KIND_OTHER || site->kind[b] == KIND_OTHER)
		return false;
	kind[0] = x < y ? x : y;
	kind[1] = x < y ? y : x;
	kind[2] = f->nodes[a].system_guid && f->nodes[a].system_guid == f->nodes[b].system_guid;
	return true;
}

uint32_t site_between(const struct site *site, uint32_t from, uint32_t to)
{
	size_t low = site->first_bundle[from], high = site->first_bundle[from + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (site->bundles[middle].to == to)
			return site->bundles[middle].count;
		if (site->bundles[middle].to < to)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

bool site_usual(uint32_t *values, size_t count, uint32_t *usual)
{
	size_t run = 0;

	if (count < SIBLINGS_LEAST)
		return false;
	qsort(values, count, sizeof(*values), by_value);
	for (size_t i = 0; i < count; i++) {
		run = i > 0 && values[i] == values[i - 1] ? run + 1 : 1;
		if (run * 3 >= count * 2) {
			*usual = values[i];
			return true;
		}
	}
	return false;
}
