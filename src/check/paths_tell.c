/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * paths_tell: where paths end, gathered by cause and port, and told as findings.
 */
#include "paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "place.h"

#define CIRCLE_SHOWN 16 /* ports of a circle that are named */

/* Compared as bytes: every member counts, and there is no padding. */
struct death_key {
	uint32_t by_fate, cause; /* enum lane_fate or enum route_step */
	uint32_t port, node;	 /* port FABRIC_NONE: at the node */
	uint32_t option;
};

struct paths_death {
	struct death_key key;
	uint64_t paths;
	unsigned lids, first, last; /* LIDs; `last` so that each counts once */
	UT_hash_handle hh;
};

struct paths_loop {
	uint32_t *ports; /* the key */
	unsigned count;
	uint64_t paths;
	unsigned lids, first;
	UT_hash_handle hh;
};

static void add_death(struct paths_run *run, const struct death_key *key, uint64_t paths, unsigned lid)
{
	struct paths_death *death;

	HASH_FIND(hh, run->deaths, key, sizeof(*key), death);
	if (!death) {
		death = calloc(1, sizeof(*death));
		if (!death) {
			run->error = -ENOMEM;
			return;
		}
		death->key = *key;
		death->first = lid;
		HASH_ADD(hh, run->deaths, key, sizeof(*key), death);
	}
	death->paths += paths;
	death->lids += death->last != lid;
	death->last = lid;
}

void paths_died(struct paths_run *run, enum route_step step, uint32_t port, uint32_t node, uint64_t paths, unsigned lid)
{
	add_death(run, &(struct death_key){.cause = step, .port = port, .node = node}, paths, lid);
}

void paths_lost(struct paths_run *run, enum lane_fate fate, uint32_t port, unsigned option, uint64_t paths, unsigned lid)
{
	add_death(run, &(struct death_key){.by_fate = 1, .cause = fate, .port = port, .option = option}, paths, lid);
}

void paths_looped(struct paths_run *run, const uint32_t *ports, unsigned count, uint64_t paths, unsigned lid)
{
	struct paths_loop *loop;

	HASH_FIND(hh, run->loops, ports, count * sizeof(*ports), loop);
	if (!loop) {
		loop = calloc(1, sizeof(*loop));
		if (loop)
			loop->ports = malloc(count * sizeof(*ports));
		if (!loop || !loop->ports) {
			free(loop);
			run->error = -ENOMEM;
			return;
		}
		memcpy(loop->ports, ports, count * sizeof(*ports));
		loop->count = count;
		loop->first = lid;
		HASH_ADD_KEYPTR(hh, run->loops, loop->ports, count * sizeof(*ports), loop);
	}
	loop->paths += paths;
	loop->lids++;
}

void paths_forget(struct paths_run *run)
{
	struct paths_death *death, *next_death;
	struct paths_loop *loop, *next_loop;

	HASH_ITER(hh, run->deaths, death, next_death) {
		HASH_DEL(run->deaths, death);
		free(death);
	}
	HASH_ITER(hh, run->loops, loop, next_loop) {
		HASH_DEL(run->loops, loop);
		free(loop->ports);
		free(loop);
	}
}

/* --- as findings --- */

enum finding_code paths_step_code(enum route_step step)
{
	switch (step) {
	case ROUTE_MISROUTED:
		return FINDING_LFT_MISROUTED;
	case ROUTE_DOWN:
		return FINDING_LFT_LINK_DOWN;
	case ROUTE_LOOP:
		return FINDING_LFT_LOOP;
	case ROUTE_UNREAD:
	case ROUTE_RANDOM:
	case ROUTE_NO_PEER:
		return FINDING_PATH_UNKNOWN;
	default:
		return FINDING_LFT_UNSET;
	}
}

enum finding_code paths_fate_code(enum lane_fate fate)
{
	switch (fate) {
	case LANE_DROPPED:
		return FINDING_PATH_SL_DROPPED;
	case LANE_NOT_RUN:
		return FINDING_PATH_VL_NOT_RUN;
	case LANE_STARVED:
		return FINDING_PATH_VL_STARVED;
	default:
		return FINDING_PATH_UNKNOWN;
	}
}

static void set_lids(const struct paths_run *run, struct finding *f, uint64_t paths, unsigned lids, unsigned first)
{
	uint32_t port = routes_port_of_lid(run->routes, first);
	char text[FABRIC_TEXT];

	finding_set(&f->detail, "%ju path%s to %u LID%s, the first %u of %s", (uintmax_t)paths, paths == 1 ? "" : "s",
		    lids, lids == 1 ? "" : "s", first,
		    port == FABRIC_NONE ? "nobody" : fabric_port_text(run->fabric, port, text, sizeof(text)));
	f->weight = (double)paths;
}

static void tell_death(const struct paths_run *run, const struct paths_death *death, struct finding_list *findings)
{
	const struct death_key *key = &death->key;
	struct finding *f = finding_add(findings, key->by_fate ? paths_fate_code((enum lane_fate)key->cause)
							      : paths_step_code((enum route_step)key->cause));

	if (key->port != FABRIC_NONE)
		place_port(f, run->fabric, key->port);
	else
		place_node(f, run->fabric, key->node);
	if (key->by_fate)
		finding_set(&f->what, "SL %u", run->options->sls[key->option].sl);
	else
		finding_set(&f->what, "forwarding table");
	if (!key->by_fate)
		finding_set(&f->got, "%s", route_step_text((enum route_step)key->cause));
	set_lids(run, f, death->paths, death->lids, death->first);
}

/* "leaf-1[3] -> leaf-2[1] -> leaf-1[3]" */
static char *circle_text(const struct paths_run *run, const uint32_t *ports, unsigned count)
{
	char name[FABRIC_TEXT], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	unsigned i;

	if (!out)
		return NULL;
	for (i = 0; i < count && i < CIRCLE_SHOWN; i++)
		fprintf(out, "%s -> ", fabric_port_text(run->fabric, ports[i], name, sizeof(name)));
	if (count > CIRCLE_SHOWN)
		fprintf(out, "%u more -> ", count - CIRCLE_SHOWN);
	fprintf(out, "%s", fabric_port_text(run->fabric, ports[0], name, sizeof(name)));
	return text_stream_end(out, &text) == 0 ? text : NULL;
}

static void tell_loop(const struct paths_run *run, const struct paths_loop *loop, struct finding_list *findings)
{
	struct finding *f = finding_add(findings, FINDING_LFT_LOOP);
	char *text = circle_text(run, loop->ports, loop->count);

	place_port(f, run->fabric, loop->ports[0]);
	finding_set(&f->what, "circle of %u switches", loop->count);
	if (text)
		finding_set(&f->got, "%s", text);
	free(text);
	set_lids(run, f, loop->paths, loop->lids, loop->first);
}

void paths_tell(const struct paths_run *run, struct finding_list *findings)
{
	const struct paths_death *death;
	const struct paths_loop *loop;

	for (death = run->deaths; death; death = death->hh.next)
		tell_death(run, death, findings);
	for (loop = run->loops; loop; loop = loop->hh.next)
		tell_loop(run, loop, findings);
}
