/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* verify_sample: a part of the ports, the same on every machine and every day. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verify.h"

/* A link, or a port that is cabled to nothing known. */
struct drawn {
	uint64_t lot;
	uint32_t port;
};

/* The finalizer of splitmix64: each bit of the result hangs on all bits of the number. */
static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* Of the two ends of a link, that which stands for both. */
static uint32_t first_end(const struct fabric *fabric, uint32_t port)
{
	uint32_t peer = fabric->ports[port].peer;
	uint64_t guid, peer_guid;

	if (peer == FABRIC_NONE)
		return port;
	guid = fabric_port_node(fabric, port)->guid;
	peer_guid = fabric_port_node(fabric, peer)->guid;
	if (guid != peer_guid)
		return guid < peer_guid ? port : peer;
	return fabric->ports[port].number < fabric->ports[peer].number ? port : peer;
}

static uint64_t lot_of(const struct fabric *fabric, uint32_t port, uint64_t seed)
{
	uint32_t first = first_end(fabric, port);

	return mix(mix(fabric_port_node(fabric, first)->guid + seed) + fabric->ports[first].number);
}

static uint32_t part_of(const struct fabric *fabric, uint32_t port, uint32_t parts)
{
	return (uint32_t)(lot_of(fabric, port, 0) % parts) + 1;
}

void verify_count_parts(const struct verify *verify, uint32_t parts, struct verify_part *part)
{
	const struct fabric *fabric = verify->fabric;

	memset(part, 0, parts * sizeof(*part));
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		struct verify_part *p;

		if (!verify_looks_at(verify, i))
			continue;
		p = &part[part_of(fabric, i, parts) - 1];
		p->ports++;
		/* a sum: in whatever order they are */
		p->who += mix(mix(fabric_port_node(fabric, i)->guid) + fabric->ports[i].number);
	}
}

static int by_lot(const void *a, const void *b)
{
	const struct drawn *x = a, *y = b;

	if (x->lot != y->lot)
		return x->lot < y->lot ? -1 : 1;
	return x->port < y->port ? -1 : x->port > y->port;
}

/* Draws links by lot until there are enough ports; returns the last lot that is in. */
static uint64_t draw(struct drawn *drawn, uint32_t count, uint32_t wanted)
{
	uint32_t i = 0;

	if (!count || !wanted)
		return 0;
	qsort(drawn, count, sizeof(*drawn), by_lot);
	/* ports of one lot go together */
	for (i = wanted < count ? wanted - 1 : count - 1; i + 1 < count && drawn[i + 1].lot == drawn[i].lot;)
		i++;
	return drawn[i].lot;
}

int verify_set_sample(struct verify *verify, const struct verify_sample *sample)
{
	const struct fabric *fabric = verify->fabric;
	struct drawn *drawn = malloc(((size_t)fabric->port_count + 1) * sizeof(*drawn));
	uint32_t i, count = 0;
	uint64_t last;

	if (!drawn)
		return -ENOMEM;
	for (i = 0; i < fabric->port_count; i++)
		if (verify_looks_at(verify, i))
			drawn[count++] = (struct drawn){lot_of(fabric, i, sample->seed), i};
	verify->ports_there = count;
	verify->sampled = true;
	last = sample->parts ? 0 : draw(drawn, count, sample->ports);
	for (i = 0; i < fabric->port_count; i++) {
		bool in = sample->parts ? part_of(fabric, i, sample->parts) == sample->part
					: verify_looks_at(verify, i) && lot_of(fabric, i, sample->seed) <= last;

		if (!in)
			verify->ports[i].flags &= (uint16_t)~PORT_IN_SCOPE;
	}
	free(drawn);
	return 0;
}

uint64_t verify_config_id(const struct qos_config *config)
{
	uint64_t id = 0;

	for (unsigned type = 0; type < QOS_PORT_TYPES; type++) {
		const struct qos_tables *t = &config->of[type];
		const struct qos_vlarb *arb[] = {&t->low, &t->high};

		for (unsigned sl = 0; sl < QOS_SLS; sl++)
			id = mix(id + t->sl2vl.vl[sl]);
		for (unsigned i = 0; i < 2; i++) {
			id = mix(id + arb[i]->count);
			for (unsigned e = 0; e < arb[i]->count; e++)
				id = mix(id + arb[i]->entry[e].vl * 256u + arb[i]->entry[e].weight);
		}
		id = mix(id + t->high_limit + 1);
	}
	return id;
}
