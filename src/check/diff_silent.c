/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Nodes that only one of two states has, of which the other does not tell that they are not there: they, or what leads to them,
 * did not answer in it.
 */
#include <errno.h>
#include <stdlib.h>

#include "diff.h"

struct hiding {
	const struct fabric *f, *other;
	uint32_t (*twin)(const void *arg, const struct fabric *other, uint64_t guid);
	const void *arg;
	bool *hidden;
	uint32_t *queue;
	size_t queued;
	bool *silent; /* ports of `other` with nothing behind them that answers */
};

static void hide(struct hiding *h, uint32_t node)
{
	if (h->hidden[node])
		return;
	h->hidden[node] = true;
	h->queue[h->queued++] = node;
}

/* The node at a port's other end, if the other state does not have it; `silent`: whether that end is silent there. */
static uint32_t look_over(const struct hiding *h, uint32_t port, bool *silent)
{
	uint32_t peer = h->f->ports[port].peer, twin, there;

	*silent = false;
	if (peer == FABRIC_NONE)
		return FABRIC_NONE;
	twin = h->twin(h->arg, h->other, fabric_port_node(h->f, peer)->guid);
	if (twin == FABRIC_NONE)
		return h->f->ports[peer].node;
	there = fabric_node_port(h->other, twin, h->f->ports[peer].number);
	*silent = there != FABRIC_NONE && h->silent[there];
	return FABRIC_NONE;
}

static void spread(struct hiding *h)
{
	for (uint32_t i = 0; i < h->f->node_count; i++) {
		const struct fabric_node *node = &h->f->nodes[i];
		bool silent = false;

		if (h->twin(h->arg, h->other, node->guid) != FABRIC_NONE)
			continue;
		for (unsigned n = 1; n <= node->ports && !silent; n++)
			look_over(h, node->first_port + n, &silent);
		if (silent)
			hide(h, i);
	}
	for (size_t at = 0; at < h->queued; at++) {
		const struct fabric_node *node = &h->f->nodes[h->queue[at]];

		for (unsigned n = 1; n <= node->ports; n++) {
			bool silent;
			uint32_t next = look_over(h, node->first_port + n, &silent);

			if (next != FABRIC_NONE)
				hide(h, next);
		}
	}
}

int diff_find_hidden(const struct fabric *f, const struct fabric *other,
		     uint32_t (*twin)(const void *arg, const struct fabric *other, uint64_t guid), const void *arg, bool **hidden)
{
	struct hiding h = {.f = f, .other = other, .twin = twin, .arg = arg};
	int error = -ENOMEM;

	*hidden = NULL;
	h.hidden = calloc((size_t)f->node_count + 1, sizeof(*h.hidden));
	h.queue = calloc((size_t)f->node_count + 1, sizeof(*h.queue));
	h.silent = calloc((size_t)other->port_count + 1, sizeof(*h.silent));
	if (h.hidden && h.queue && h.silent) {
		for (uint32_t i = 0; i < other->gap_count; i++)
			h.silent[other->gaps[i].port] |= other->gaps[i].reason == FABRIC_GAP_NO_PEER;
		spread(&h);
		*hidden = h.hidden;
		h.hidden = NULL;
		error = 0;
	}
	free(h.hidden);
	free(h.queue);
	free(h.silent);
	return error;
}
