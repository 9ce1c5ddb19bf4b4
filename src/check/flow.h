/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* flow: the most that can flow through a network (Dinic 1970), from one point to any of several. */
#ifndef IBQOS_CHECK_FLOW_H
#define IBQOS_CHECK_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOW_ENDLESS (UINT64_MAX / 4)
#define FLOW_NONE UINT32_MAX

struct flow_arc {
	uint32_t to, next; /* FLOW_NONE: the last of its point */
	uint64_t capacity, left;
};

struct flow_net {
	uint32_t points, arc_count;
	size_t room;
	struct flow_arc *arcs; /* an arc and its way back stand side by side */
	uint32_t *first, *at, *distance, *queue;
	bool *sink; /* by point: flow ends there; filled in by the caller */
};

int flow_new(uint32_t points, struct flow_net *net); /* 0 or -ENOMEM */
void flow_clear(struct flow_net *net);
/* An arc with what it carries forth and back. 0 or -ENOMEM. */
int flow_join(struct flow_net *net, uint32_t from, uint32_t to, uint64_t forth, uint64_t back);
/* The most from a point, which may be a sink itself but then is none, to all sinks together; never changes the net. */
uint64_t flow_most(struct flow_net *net, uint32_t from);

#endif
