/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The most that can flow, by Dinic's algorithm: shortest ways first, all of one length at a time. */
#include "flow.h"

#include <errno.h>
#include <stdlib.h>

#include "ibqos/util.h"

int flow_new(uint32_t points, struct flow_net *net)
{
	size_t count = (size_t)points + 1;

	*net = (struct flow_net){.points = points,
				 .first = malloc(count * sizeof(*net->first)),
				 .at = calloc(count, sizeof(*net->at)),
				 .distance = calloc(count, sizeof(*net->distance)),
				 .queue = calloc(count, sizeof(*net->queue)),
				 .sink = calloc(count, sizeof(*net->sink))};
	if (!net->first || !net->at || !net->distance || !net->queue || !net->sink)
		return -ENOMEM;
	for (uint32_t i = 0; i < points; i++)
		net->first[i] = FLOW_NONE;
	return 0;
}

void flow_clear(struct flow_net *net)
{
	free(net->arcs);
	free(net->first);
	free(net->at);
	free(net->distance);
	free(net->queue);
	free(net->sink);
	*net = (struct flow_net){0};
}

static void add_arc(struct flow_net *net, uint32_t from, uint32_t to, uint64_t capacity)
{
	net->arcs[net->arc_count] = (struct flow_arc){.to = to, .next = net->first[from], .capacity = capacity};
	net->first[from] = net->arc_count++;
}

int flow_join(struct flow_net *net, uint32_t from, uint32_t to, uint64_t forth, uint64_t back)
{
	struct flow_arc *grown = array_grow(net->arcs, &net->room, (size_t)net->arc_count + 2, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	net->arcs = grown;
	add_arc(net, from, to, forth);
	add_arc(net, to, from, back);
	return 0;
}

/* How far each point is over arcs with room. True if a sink can be reached. */
static bool measure(struct flow_net *net, uint32_t from)
{
	uint32_t head = 0, tail = 0;
	bool reached = false;

	for (uint32_t i = 0; i < net->points; i++) {
		net->distance[i] = FLOW_NONE;
		net->at[i] = net->first[i];
	}
	net->distance[from] = 0;
	net->queue[tail++] = from;
	while (head < tail) {
		uint32_t n = net->queue[head++];

		if (net->sink[n] && n != from) { /* nothing goes on from there */
			reached = true;
			continue;
		}
		for (uint32_t a = net->first[n]; a != FLOW_NONE; a = net->arcs[a].next) {
			uint32_t to = net->arcs[a].to;

			if (net->arcs[a].left == 0 || net->distance[to] != FLOW_NONE)
				continue;
			net->distance[to] = net->distance[n] + 1;
			net->queue[tail++] = to;
		}
	}
	return reached;
}

/*
 * One way from a point to a sink, without recursion: the queue holds the arcs gone. What it can carry is taken off; 0: there
 * is none any more.
 */
static uint64_t push(struct flow_net *net, uint32_t from)
{
	uint32_t depth = 0, n = from;
	uint64_t most = FLOW_ENDLESS;

	while (!net->sink[n] || n == from) {
		uint32_t a = net->at[n];

		while (a != FLOW_NONE && (net->arcs[a].left == 0 || net->distance[net->arcs[a].to] != net->distance[n] + 1))
			a = net->arcs[a].next;
		net->at[n] = a;
		if (a != FLOW_NONE) {
			net->queue[depth++] = a;
			n = net->arcs[a].to;
			continue;
		}
		if (depth == 0)
			return 0;
		a = net->queue[--depth]; /* a dead end: back, and on with the next arc */
		n = net->arcs[a ^ 1].to;
		net->at[n] = net->arcs[a].next;
	}
	for (uint32_t i = 0; i < depth; i++)
		if (net->arcs[net->queue[i]].left < most)
			most = net->arcs[net->queue[i]].left;
	for (uint32_t i = 0; i < depth; i++) {
		net->arcs[net->queue[i]].left -= most;
		net->arcs[net->queue[i] ^ 1].left += most;
	}
	return most;
}

uint64_t flow_most(struct flow_net *net, uint32_t from)
{
	uint64_t sum = 0, more;

	for (uint32_t a = 0; a < net->arc_count; a++)
		net->arcs[a].left = net->arcs[a].capacity;
	while (measure(net, from))
		while ((more = push(net, from)) > 0)
			sum += more;
	return sum;
}
