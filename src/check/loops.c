/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * loops: circles among channels that wait for each other (Dally and Seitz 1987: routing is free of deadlock if the
 * graph of dependencies between channels has no circle).
 *
 * A channel is a VL of a link in one direction, between switches: an adapter takes what comes, and waits for
 * nothing. A channel depends on another where a packet that holds a buffer behind the one needs credits of the other: for
 * some LID and SL a path goes over both, one after the other, on these VLs. run->waits has that for each pair of
 * ports, so parallel paths cost nothing.
 */
#include "paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "place.h"

#define VLS QOS_DATA_VLS
#define SEARCH_STEPS 200000000u /* of the search for the shortest circle, after which the shortest so far is told */
#define CIRCLE_SHOWN 24

/* The graph: channel = number of an out-port among run->out_count, times VLS, plus VL. */
struct graph {
	const struct paths_run *run;
	uint32_t nodes;
	uint32_t *ports; /* port index by out-port */
	uint32_t *first; /* where a channel's edges begin; nodes + 1 of them */
	uint32_t *edges;
	uint32_t *group; /* strongly connected: the same number */
	uint32_t groups;
};

/* --- making it --- */

/* Calls of each dependency; `edges` NULL: only counted in first[channel + 1]. */
static void put(struct graph *g, uint32_t from, uint32_t to, bool count)
{
	if (count)
		g->first[from + 1]++;
	else
		g->edges[g->first[from]++] = to;
}

/* VLs, by bit, that a pair of ports waits on for packets that leave on `vl`. */
static uint16_t waiting(const struct paths_run *run, size_t cell, unsigned vl)
{
	unsigned sls = run->options->sl_count, i;
	uint16_t vls = 0;

	for (i = 0; i < sls; i++) {
		uint8_t code = run->codes[cell * sls + i];

		if (PATHS_CODE_VL(code) == vl && PATHS_CODE_FATE(code) != LANE_NOT_RUN)
			vls |= run->waits[cell * sls + i];
	}
	return vls;
}

static void put_pair(struct graph *g, const struct paths_switch *s, unsigned in, unsigned out, uint32_t before,
		     bool count)
{
	size_t cell = s->first_cell + (size_t)in * s->width + out;
	unsigned vl, from;

	for (vl = 0; vl < VLS; vl++) {
		uint16_t vls = waiting(g->run, cell, vl);

		for (from = 0; vls >> from; from++)
			if (vls >> from & 1)
				put(g, before * VLS + from, (s->first_out + out) * VLS + vl, count);
	}
}

/* The out-port, by number among all, that leads to a port of a switch; PATHS_END if that is no switch's. */
static uint32_t out_before(const struct paths_run *run, uint32_t port)
{
	uint32_t peer = run->fabric->ports[port].peer, at;

	if (peer == FABRIC_NONE)
		return PATHS_END;
	at = run->of_node[run->fabric->ports[peer].node];
	return at == PATHS_END ? PATHS_END : run->switches[at].first_out + run->fabric->ports[peer].number;
}

static void put_all(struct graph *g, bool count)
{
	const struct paths_run *run = g->run;
	unsigned sls = run->options->sl_count, in, out, i;
	uint32_t n;

	for (n = 0; n < run->switch_count; n++) {
		const struct paths_switch *s = &run->switches[n];

		for (in = 1; in < s->width; in++) {
			uint32_t before = out_before(run, run->fabric->nodes[s->node].first_port + in);

			for (out = 1; before != PATHS_END && out < s->width; out++) {
				const uint16_t *w = &run->waits[((size_t)s->first_cell + in * s->width + out) * sls];

				for (i = 0; i < sls && w[i] == 0; i++)
					;
				if (i < sls)
					put_pair(g, s, in, out, before, count);
			}
		}
	}
}

static int make_graph(struct graph *g)
{
	const struct paths_run *run = g->run;
	uint32_t i, n;
	unsigned port;

	g->nodes = (uint32_t)run->out_count * VLS;
	g->first = calloc((size_t)g->nodes + 2, sizeof(*g->first));
	g->ports = calloc(run->out_count + 1, sizeof(*g->ports));
	g->group = calloc((size_t)g->nodes + 1, sizeof(*g->group));
	if (!g->first || !g->ports || !g->group)
		return -ENOMEM;
	for (n = 0; n < run->switch_count; n++)
		for (port = 0; port < run->switches[n].width; port++)
			g->ports[run->switches[n].first_out + port] =
				run->fabric->nodes[run->switches[n].node].first_port + port;
	put_all(g, true);
	for (i = 0; i < g->nodes; i++)
		g->first[i + 1] += g->first[i];
	g->edges = calloc((size_t)g->first[g->nodes] + 1, sizeof(*g->edges));
	if (!g->edges)
		return -ENOMEM;
	put_all(g, false); /* moves each first[] to the next one's */
	for (i = g->nodes; i > 0; i--)
		g->first[i] = g->first[i - 1];
	g->first[0] = 0;
	run->result->turns = g->first[g->nodes];
	return 0;
}

/* --- strongly connected channels (Tarjan 1972), without recursion --- */

struct tarjan {
	uint32_t *index, *low, *stack, *path, *at;
	uint32_t next, depth, length;
	bool *on_stack;
};

static void enter(struct tarjan *t, const struct graph *g, uint32_t node)
{
	t->index[node] = t->low[node] = ++t->next;
	t->stack[t->depth++] = node;
	t->on_stack[node] = true;
	t->at[node] = g->first[node];
	t->path[t->length++] = node;
}

static void close_group(struct tarjan *t, struct graph *g, uint32_t root)
{
	uint32_t node;

	g->groups++;
	do {
		node = t->stack[--t->depth];
		t->on_stack[node] = false;
		g->group[node] = g->groups;
	} while (node != root);
}

static void visit(struct tarjan *t, struct graph *g, uint32_t root)
{
	enter(t, g, root);
	while (t->length > 0) {
		uint32_t node = t->path[t->length - 1], to;

		if (t->at[node] < g->first[node + 1]) {
			to = g->edges[t->at[node]++];
			if (t->index[to] == 0)
				enter(t, g, to);
			else if (t->on_stack[to] && t->index[to] < t->low[node])
				t->low[node] = t->index[to];
			continue;
		}
		t->length--;
		if (t->length > 0 && t->low[node] < t->low[t->path[t->length - 1]])
			t->low[t->path[t->length - 1]] = t->low[node];
		if (t->low[node] == t->index[node])
			close_group(t, g, node);
	}
}

static int find_groups(struct graph *g)
{
	size_t room = (size_t)g->nodes + 1;
	struct tarjan t = {
		.index = calloc(room, sizeof(uint32_t)),
		.low = calloc(room, sizeof(uint32_t)),
		.stack = calloc(room, sizeof(uint32_t)),
		.path = calloc(room, sizeof(uint32_t)),
		.at = calloc(room, sizeof(uint32_t)),
		.on_stack = calloc(room, sizeof(bool)),
	};
	int error = t.index && t.low && t.stack && t.path && t.at && t.on_stack ? 0 : -ENOMEM;
	uint32_t i;

	for (i = 0; error == 0 && i < g->nodes; i++)
		if (t.index[i] == 0 && g->first[i] < g->first[i + 1])
			visit(&t, g, i);
	free(t.index);
	free(t.low);
	free(t.stack);
	free(t.path);
	free(t.at);
	free(t.on_stack);
	return error;
}

/* --- the shortest circle of a group --- */

struct search {
	struct graph *graph;
	uint32_t *before, *distance, *queue;
	uint32_t *reached; /* channels whose distance was set, to be unset */
	uint32_t steps;
	uint32_t *best;
	uint32_t best_length;
};

/* Breadth first from `start` within its group, back to it. Keeps the circle if it is shorter than the best. */
static void search_from(struct search *s, uint32_t start)
{
	const struct graph *g = s->graph;
	uint32_t head = 0, tail = 0, i, node, to;

	s->queue[tail++] = start;
	s->distance[start] = 1;
	while (head < tail) {
		node = s->queue[head++];
		if (s->best_length && s->distance[node] >= s->best_length)
			break;
		for (i = g->first[node]; i < g->first[node + 1]; i++) {
			to = g->edges[i];
			s->steps++;
			if (to == start) {
				s->best_length = s->distance[node];
				for (uint32_t k = s->best_length; k > 0; k--, node = s->before[node])
					s->best[k - 1] = node;
				goto out;
			}
			if (g->group[to] != g->group[start] || s->distance[to] != 0)
				continue;
			s->distance[to] = s->distance[node] + 1;
			s->before[to] = node;
			s->queue[tail++] = to;
		}
	}
out:
	while (tail > 0)
		s->distance[s->queue[--tail]] = 0;
}

static void tell_group(const struct search *s, uint32_t size, struct finding_list *findings)
{
	const struct graph *g = s->graph;
	const struct paths_run *run = g->run;
	char name[FABRIC_TEXT], *text = NULL;
	struct finding *f;
	uint32_t i;
	size_t bytes;
	FILE *out;

	if (!findings)
		return;
	f = finding_add(findings, FINDING_CREDIT_LOOP);
	place_port(f, run->fabric, g->ports[s->best[0] / VLS]);
	finding_set(&f->what, "circle of %u links", s->best_length);
	finding_set(&f->detail, "the shortest among %u that depend on each other%s", size,
		    s->steps >= SEARCH_STEPS ? ", as far as was searched" : "");
	f->weight = size;
	out = open_memstream(&text, &bytes);
	if (!out)
		return;
	for (i = 0; i < s->best_length && i < CIRCLE_SHOWN; i++)
		fprintf(out, "%s VL %u -> ", fabric_port_text(run->fabric, g->ports[s->best[i] / VLS], name, sizeof(name)),
			s->best[i] % VLS);
	if (s->best_length > CIRCLE_SHOWN)
		fprintf(out, "%u more -> ", s->best_length - CIRCLE_SHOWN);
	fprintf(out, "%s VL %u", fabric_port_text(run->fabric, g->ports[s->best[0] / VLS], name, sizeof(name)),
		s->best[0] % VLS);
	if (text_stream_end(out, &text) == 0)
		finding_set(&f->got, "%s", text);
	free(text);
}

static bool waits_for_itself(const struct graph *g, uint32_t node)
{
	for (uint32_t i = g->first[node]; i < g->first[node + 1]; i++)
		if (g->edges[i] == node)
			return true;
	return false;
}

/* `members`: the channels in the order of their groups, `count` of one group. */
static void look_at_group(struct search *s, const uint32_t *members, uint32_t count, struct finding_list *findings)
{
	struct graph *g = s->graph;
	uint32_t i;

	if (count == 1 && !waits_for_itself(g, members[0]))
		return;
	s->best_length = s->steps = 0;
	for (i = 0; i < count && (s->best_length == 0 || s->steps < SEARCH_STEPS); i++)
		search_from(s, members[i]);
	g->run->result->credit_loops++;
	tell_group(s, count, findings);
}

static int look_at_groups(struct graph *g, struct finding_list *findings)
{
	size_t room = (size_t)g->nodes + 1;
	uint32_t *start = calloc((size_t)g->groups + 2, sizeof(*start)), *members = calloc(room, sizeof(*members));
	struct search s = {
		.graph = g,
		.before = calloc(room, sizeof(uint32_t)),
		.distance = calloc(room, sizeof(uint32_t)),
		.queue = calloc(room, sizeof(uint32_t)),
		.best = calloc(room, sizeof(uint32_t)),
	};
	int error = start && members && s.before && s.distance && s.queue && s.best ? 0 : -ENOMEM;
	uint32_t i;

	if (error != 0)
		goto out;
	for (i = 0; i < g->nodes; i++) /* group 0: channels without a dependency */
		start[g->group[i] + 1]++;
	for (i = 0; i <= g->groups; i++)
		start[i + 1] += start[i];
	g->run->result->channels = g->nodes - start[1];
	for (i = 0; i < g->nodes; i++)
		members[start[g->group[i]]++] = i;
	for (i = 1; i <= g->groups; i++) /* start[] of each is now where the next begins */
		look_at_group(&s, members + start[i - 1], start[i] - start[i - 1], findings);
out:
	free(start);
	free(members);
	free(s.before);
	free(s.distance);
	free(s.queue);
	free(s.best);
	return error;
}

int paths_find_credit_loops(struct paths_run *run, struct finding_list *findings)
{
	struct graph g = {.run = run};
	int error = make_graph(&g);

	if (error == 0)
		error = find_groups(&g);
	if (error == 0)
		error = look_at_groups(&g, findings);
	free(g.ports);
	free(g.first);
	free(g.edges);
	free(g.group);
	return error;
}
