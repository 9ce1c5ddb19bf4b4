/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Switches in the order in which they are drawn, their pods and bundles.
 */
#include "ibqos/layers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "siblings.h"

static int by_layer(const void *left, const void *right, void *arg)
{
	const struct layers *l = arg;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct fabric_node *x = &l->fabric->nodes[a], *y = &l->fabric->nodes[b];
	int order;

	if (l->level[a] != l->level[b])
		return l->level[a] - l->level[b];
	order = strverscmp(x->name ? x->name : "", y->name ? y->name : "");
	if (order != 0)
		return order;
	return x->guid < y->guid ? -1 : x->guid > y->guid;
}

static void put_in_order(struct layers *l)
{
	for (uint32_t n = 0; n < l->fabric->node_count; n++) {
		l->place[n] = FABRIC_NONE;
		if (l->fabric->nodes[n].type != FABRIC_SWITCH)
			continue;
		l->order[l->count++] = n;
		if (l->level[n] != LAYERS_NO_HOSTS && l->level[n] + 1u > l->levels)
			l->levels = l->level[n] + 1u;
	}
	qsort_r(l->order, l->count, sizeof(*l->order), by_layer, l);
	for (uint32_t i = 0; i < l->count; i++)
		l->place[l->order[i]] = i;
}

static int by_places(const void *left, const void *right, void *arg)
{
	const struct layers *l = arg;
	const struct layer_bundle *a = left, *b = right;
	uint32_t x = l->place[a->from], y = l->place[b->from];

	if (x == y) {
		x = l->place[a->to];
		y = l->place[b->to];
	}
	return x < y ? -1 : x > y;
}

static int take_bundles(struct layers *l, const struct site *site)
{
	l->bundles = calloc(site->bundle_count + 1, sizeof(*l->bundles));
	if (!l->bundles)
		return -ENOMEM;
	for (size_t i = 0; i < site->bundle_count; i++) {
		const struct bundle *b = &site->bundles[i];

		if (l->place[b->from] < l->place[b->to])
			l->bundles[l->bundle_count++] = (struct layer_bundle){b->from, b->to, b->count};
	}
	qsort_r(l->bundles, l->bundle_count, sizeof(*l->bundles), by_places, l);
	return 0;
}

static uint32_t root_of(uint32_t *parent, uint32_t n)
{
	while (parent[n] != n) {
		parent[n] = parent[parent[n]];
		n = parent[n];
	}
	return n;
}

/* `parent` and `size`: room for a value a node. */
static void find_pods(struct layers *l, uint32_t *parent, uint32_t *size)
{
	uint32_t largest = 0;

	for (uint32_t n = 0; n < l->fabric->node_count; n++) {
		parent[n] = n;
		l->pod[n] = LAYERS_NO_POD;
	}
	if (l->levels < 2)
		return;
	for (size_t i = 0; i < l->bundle_count; i++) {
		const struct layer_bundle *b = &l->bundles[i];

		if (l->level[b->from] + 1u < l->levels && l->level[b->to] + 1u < l->levels)
			parent[root_of(parent, b->from)] = root_of(parent, b->to);
	}
	for (uint32_t i = 0; i < l->count; i++) {
		uint32_t n = l->order[i], root = root_of(parent, n);

		if (l->level[n] + 1u >= l->levels)
			continue;
		if (l->pod[root] == LAYERS_NO_POD)
			l->pod[root] = l->pods++;
		size[root]++;
		largest = size[root] > largest ? size[root] : largest;
	}
	if (l->pods < 2 || largest < 2)
		l->pods = 0;
	for (uint32_t i = 0; i < l->count; i++) {
		uint32_t n = l->order[i];

		if (l->pods == 0 || l->level[n] + 1u >= l->levels)
			l->pod[n] = LAYERS_NO_POD;
		else
			l->pod[n] = l->pod[root_of(parent, n)];
	}
}

int layers_new(const struct fabric *fabric, struct layers *layers)
{
	size_t nodes = (size_t)fabric->node_count + 1;
	uint32_t *parent = calloc(nodes, sizeof(*parent)), *size = calloc(nodes, sizeof(*size));
	struct site site;
	int ret = site_new(fabric, &site);

	*layers = (struct layers){.fabric = fabric};
	layers->order = calloc(nodes, sizeof(*layers->order));
	layers->place = calloc(nodes, sizeof(*layers->place));
	layers->level = calloc(nodes, sizeof(*layers->level));
	layers->hosts = calloc(nodes, sizeof(*layers->hosts));
	layers->pod = calloc(nodes, sizeof(*layers->pod));
	if (ret == 0 && (!parent || !size || !layers->order || !layers->place || !layers->level || !layers->hosts || !layers->pod))
		ret = -ENOMEM;
	if (ret == 0) {
		memcpy(layers->level, site.level, fabric->node_count * sizeof(*layers->level));
		memcpy(layers->hosts, site.hosts, fabric->node_count * sizeof(*layers->hosts));
		put_in_order(layers);
		ret = take_bundles(layers, &site);
	}
	if (ret == 0)
		find_pods(layers, parent, size);
	site_clear(&site);
	free(parent);
	free(size);
	return ret;
}

void layers_clear(struct layers *layers)
{
	free(layers->order);
	free(layers->place);
	free(layers->level);
	free(layers->hosts);
	free(layers->pod);
	free(layers->bundles);
	*layers = (struct layers){0};
}

size_t layers_bundle(const struct layers *layers, uint32_t a, uint32_t b)
{
	struct layer_bundle wanted = {a, b, 0};
	size_t low = 0, high = layers->bundle_count;

	if (layers->place[a] == FABRIC_NONE || layers->place[b] == FABRIC_NONE)
		return SIZE_MAX;
	if (layers->place[a] > layers->place[b])
		wanted = (struct layer_bundle){b, a, 0};
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = by_places(&layers->bundles[middle], &wanted, (void *)layers);

		if (order == 0)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return SIZE_MAX;
}
