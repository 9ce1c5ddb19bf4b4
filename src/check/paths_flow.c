/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * paths_flow: all packets to one LID. First by the tables alone, then on each SL those that arrive by them.
 */
#include "paths.h"

#include <errno.h>
#include <stdlib.h>

/* --- where they go --- */

/* Out-port and next switch of every switch, and how many stand before each. */
static void set_steps(struct paths_run *run, unsigned lid)
{
	const struct fabric *fabric = run->fabric;
	uint32_t i;

	for (i = 0; i < run->switch_count; i++) {
		struct paths_switch *s = &run->switches[i];

		s->flow = s->waits = 0;
		s->next = PATHS_END;
	}
	for (i = 0; i < run->switch_count; i++) {
		struct paths_switch *s = &run->switches[i];
		const struct fabric_port *peer;

		s->step = routes_step(run->routes, s->node, lid, &s->out);
		if (s->step != ROUTE_ON)
			continue;
		peer = &fabric->ports[fabric->ports[s->out].peer];
		s->next = run->of_node[peer->node];
		s->next_in = peer->number;
		run->switches[s->next].waits++;
	}
}

/* Switches in an order in which each comes before the next one on its way. Those on a circle keep waits > 0. */
static void set_order(struct paths_run *run)
{
	uint32_t i, done;

	run->order_count = 0;
	for (i = 0; i < run->switch_count; i++)
		if (run->switches[i].waits == 0)
			run->order[run->order_count++] = i;
	for (done = 0; done < run->order_count; done++) {
		uint32_t next = run->switches[run->order[done]].next;

		if (next != PATHS_END && --run->switches[next].waits == 0)
			run->order[run->order_count++] = next;
	}
}

/* --- by the tables alone --- */

/* Sources at a switch, without the destination itself. */
static uint32_t sources(const struct paths_run *run, uint32_t at, uint32_t to)
{
	const struct fabric_port *port = &run->fabric->ports[to];
	uint32_t count = run->switches[at].ends;

	if (port->peer != FABRIC_NONE && run->of_node[run->fabric->ports[port->peer].node] == at &&
	    routes_link(run->routes, to, 0) == ROUTE_ON)
		count--;
	return count;
}

/* Gathers in s->flow of each switch where packets end how many do. */
static void gather(struct paths_run *run, uint32_t to)
{
	uint32_t i;

	for (i = 0; i < run->order_count; i++) {
		struct paths_switch *s = &run->switches[run->order[i]];

		s->flow += sources(run, run->order[i], to);
		if (s->next != PATHS_END)
			run->switches[s->next].flow += s->flow;
	}
}

/* The circle that a switch is on, from its lowest port on; its switches are taken off the list of those waiting. */
static void tell_circle(struct paths_run *run, uint32_t start, uint32_t to, unsigned lid)
{
	uint32_t *ports, at = start;
	unsigned count = 0, low = 0, i;
	uint64_t paths = 0;

	do {
		count++;
		at = run->switches[at].next;
	} while (at != start);
	ports = malloc(2 * count * sizeof(*ports)); /* twice round, so that it can be told from any of them on */
	if (!ports)
		run->error = -ENOMEM;
	for (i = 0; i < count; i++) {
		struct paths_switch *s = &run->switches[at];

		paths += s->flow + sources(run, at, to);
		if (ports)
			ports[i] = ports[count + i] = s->out;
		s->waits = 0;
		at = s->next;
	}
	if (ports) {
		for (i = 1; i < count; i++)
			low = ports[i] < ports[low] ? i : low;
		run->result->by_lft.dead += paths;
		paths_looped(run, ports + low, count, paths, lid);
	}
	free(ports);
}

static void count_by_lft(struct paths_run *run, unsigned lid, uint32_t to)
{
	struct paths_count *count = &run->result->by_lft;
	uint32_t i;

	gather(run, to);
	for (i = 0; i < run->switch_count; i++) {
		struct paths_switch *s = &run->switches[i];

		if (s->waits > 0) {
			tell_circle(run, i, to, lid);
			continue;
		}
		if (s->step == ROUTE_ON || s->flow == 0)
			continue;
		if (s->step == ROUTE_ARRIVED)
			count->arrive += s->flow;
		else if (route_unknown(s->step))
			count->unknown += s->flow;
		else
			count->dead += s->flow;
		if (s->step != ROUTE_ARRIVED)
			paths_died(run, s->step, s->out, s->node, s->flow, lid);
	}
	run->result->paths += run->end_count - 1;
}

/* Ends that no switch is behind: cabled to another end, or to nothing that is known. */
static void count_lone_ends(struct paths_run *run, unsigned lid, uint32_t to)
{
	struct paths_count *count = &run->result->by_lft;
	uint32_t i;

	for (i = run->end_count; i > 0 && run->ends[i - 1].at == PATHS_END; i--) {
		uint32_t port = run->ends[i - 1].port;
		enum route_step step = routes_link(run->routes, port, lid);

		if (port == to)
			continue;
		if (step == ROUTE_ARRIVED)
			count->arrive++;
		else if (route_unknown(step))
			count->unknown++;
		else
			count->dead++;
		if (step != ROUTE_ARRIVED)
			paths_died(run, step, port, run->fabric->ports[port].node, 1, lid);
	}
}

/* --- on an SL --- */

struct flow {
	struct paths_run *run;
	unsigned option, lid;
	uint32_t to;
	bool count;
	struct paths_count *result;
};

static uint8_t *code_at(const struct paths_run *run, const struct paths_switch *s, unsigned in, unsigned out,
			unsigned option)
{
	return &run->codes[((size_t)s->first_cell + in * s->width + out) * run->options->sl_count + option];
}

static void lose(const struct flow *f, enum lane_fate fate, uint32_t port, uint32_t paths)
{
	if (!f->count || paths == 0)
		return;
	paths_lost(f->run, fate, port, f->option, paths, f->lid);
	if (fate != LANE_UNKNOWN)
		f->result->dead += paths;
}

/* Packets that are to leave a switch with this code for their in-port. */
static void leave(const struct flow *f, struct paths_switch *s, uint8_t code, uint32_t sure, uint32_t unsure)
{
	enum lane_fate fate = PATHS_CODE_FATE(code);
	unsigned vl = PATHS_CODE_VL(code);

	if ((fate == LANE_FINE || fate == LANE_UNKNOWN) && vl != LANE_NO_VL)
		s->vls |= 1u << vl;
	if (fate == LANE_FINE) {
		s->flow += sure;
		s->unsure += unsure;
		return;
	}
	lose(f, fate, s->out, sure + unsure);
	if (fate == LANE_UNKNOWN) {
		s->unsure += sure + unsure;
		if (vl == LANE_NO_VL && s->step == ROUTE_ON)
			f->run->result->credit_known = false;
	}
}

/* The ends of a switch whose codes differ, one by one. */
static void start_each(const struct flow *f, struct paths_switch *s, unsigned out)
{
	const struct paths_run *run = f->run;
	unsigned sls = run->options->sl_count;
	uint32_t i;

	for (i = s->first_end; i < s->first_end + s->ends; i++) {
		const struct paths_end *end = &run->ends[i];
		enum lane_fate fate = PATHS_CODE_FATE(run->injected[(size_t)i * sls + f->option]);

		if (end->port == f->to || end->in == out)
			continue;
		if (fate != LANE_FINE)
			lose(f, fate, end->port, 1);
		if (fate != LANE_FINE && fate != LANE_UNKNOWN)
			continue;
		leave(f, s, *code_at(run, s, end->in, out, f->option), fate == LANE_FINE, fate != LANE_FINE);
	}
}

/* What starts at a switch: packets of its ends, and of itself. */
static void start(const struct flow *f, uint32_t at)
{
	const struct paths_run *run = f->run;
	struct paths_switch *s = &run->switches[at];
	unsigned out = run->fabric->ports[s->out].number, sls = run->options->sl_count;
	const struct paths_sl *sl = &run->options->sls[f->option];
	uint32_t count = sources(run, at, f->to);
	uint8_t common;

	if (out == 0) { /* to the switch itself */
		s->flow += count;
		return;
	}
	common = run->end_codes[((size_t)s->first_out + out) * sls + f->option];
	if (common == PATHS_MIXED) {
		start_each(f, s, out);
	} else if (count > 0) { /* an end is never at `out`: it would be the destination */
		leave(f, s, common, count, 0);
	}
	if (sl->management && fabric_port_node(run->fabric, f->to)->type != FABRIC_SWITCH)
		leave(&(struct flow){.run = f->run, .option = f->option}, s, *code_at(run, s, 0, out, f->option), 0, 0);
}

/* On to the next switch. */
static void go_on(const struct flow *f, const struct paths_switch *s)
{
	struct paths_run *run = f->run;
	struct paths_switch *next = &run->switches[s->next];
	unsigned out;

	if (s->flow == 0 && s->unsure == 0 && s->vls == 0)
		return;
	out = run->fabric->ports[next->out].number;
	if (out == 0) {
		next->flow += s->flow;
		next->unsure += s->unsure;
		return;
	}
	if (next->step == ROUTE_ON)
		run->waits[((size_t)next->first_cell + s->next_in * next->width + out) * run->options->sl_count + f->option] |=
			s->vls;
	leave(f, next, *code_at(run, next, s->next_in, out, f->option), s->flow, s->unsure);
}

/* Which switches' packets arrive by the tables; in s->used. Told from the last on the way to the first. */
static void set_used(struct paths_run *run)
{
	uint32_t i;

	for (i = 0; i < run->switch_count; i++)
		run->switches[i].used = false;
	for (i = run->order_count; i > 0; i--) {
		struct paths_switch *s = &run->switches[run->order[i - 1]];
		bool unknown = route_unknown(s->step);

		s->used = s->step == ROUTE_ARRIVED || (s->step == ROUTE_ON && run->switches[s->next].used);
		if (unknown && run->end_count > 0)
			run->result->credit_known = false;
	}
}

static void follow_sl(struct paths_run *run, unsigned lid, unsigned option, uint32_t to, bool count)
{
	struct flow f = {.run = run, .option = option, .lid = lid, .to = to, .count = count,
			 .result = &run->result->sl[option]};
	uint32_t i;

	for (i = 0; i < run->switch_count; i++) {
		run->switches[i].flow = run->switches[i].unsure = 0;
		run->switches[i].vls = 0;
	}
	for (i = 0; i < run->order_count; i++) {
		struct paths_switch *s = &run->switches[run->order[i]];

		if (!s->used)
			continue;
		start(&f, run->order[i]);
		if (s->step == ROUTE_ON) {
			go_on(&f, s);
		} else if (count) {
			f.result->arrive += s->flow;
			f.result->unknown += s->unsure;
		}
	}
	for (i = run->end_count; count && i > 0 && run->ends[i - 1].at == PATHS_END; i--) {
		enum lane_fate fate = PATHS_CODE_FATE(run->injected[(size_t)(i - 1) * run->options->sl_count + option]);
		uint32_t port = run->ends[i - 1].port;

		if (port == to || routes_link(run->routes, port, lid) != ROUTE_ARRIVED)
			continue;
		lose(&f, fate, port, fate != LANE_FINE);
		f.result->arrive += fate == LANE_FINE;
		f.result->unknown += fate == LANE_UNKNOWN;
	}
}

void paths_follow(struct paths_run *run, unsigned lid)
{
	uint32_t to = routes_port_of_lid(run->routes, lid);
	bool to_end = fabric_port_node(run->fabric, to)->type != FABRIC_SWITCH;
	unsigned i;

	set_steps(run, lid);
	set_order(run);
	set_used(run);
	if (to_end && !run->loops_only) {
		count_by_lft(run, lid, to);
		count_lone_ends(run, lid, to);
	}
	for (i = 0; i < run->options->sl_count; i++) {
		const struct paths_sl *sl = &run->options->sls[i];

		if (to_end || sl->management)
			follow_sl(run, lid, i, to, to_end && sl->data && !run->loops_only);
	}
}
