/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any bytes as a cache of infiniband-diags. A refusal has a place in the file. What is taken has each node of the file, by a
 * walk of our own, and is the same again when it is written out as libibnetdisc writes it and read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mad.h>

#include "fuzz.h"
#include "source/dump.h"

#define NODE 207
#define PORT 95

struct out {
	uint8_t *bytes;
	size_t size;
};

static void put(struct out *o, const void *data, size_t size)
{
	memcpy(o->bytes + o->size, data, size);
	o->size += size;
}

static void put_number(struct out *o, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		o->bytes[o->size++] = (uint8_t)(value >> 8 * i);
}

static uint64_t get_number(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = bytes; i > 0; i--)
		value = value << 8 | at[i - 1];
	return value;
}

/* A key of its own for each port: what the GUIDs of ports are does not matter. */
static void put_key(struct out *o, uint32_t port, unsigned number)
{
	put_number(o, 0x100000000u + port, 8);
	put_number(o, number, 1);
}

static void put_node(struct out *o, const struct fabric *f, uint32_t index)
{
	const struct fabric_node *n = &f->nodes[index];
	uint8_t desc[MAD_SMP_DATA] = "x";
	size_t count_at;

	put_number(o, n->lid, 2);
	put_number(o, 0, 1);
	put_number(o, n->enhanced_port0, 1);
	put(o, n->switch_info, MAD_SMP_DATA);
	put_number(o, n->guid, 8);
	put_number(o, n->type, 1);
	put_number(o, n->ports, 1);
	put(o, n->node_info, MAD_SMP_DATA);
	put(o, desc, MAD_SMP_DATA);
	count_at = o->size++;
	o->bytes[count_at] = 0;
	for (unsigned p = 0; p <= n->ports && o->bytes[count_at] < 255; p++) {
		if (!f->ports[n->first_port + p].known && f->ports[n->first_port + p].peer == FABRIC_NONE)
			continue;
		o->bytes[count_at]++;
		put_key(o, n->first_port + p, p);
	}
}

static struct out write_out(const struct fabric *f)
{
	struct out o = {.bytes = malloc(28 + (size_t)f->node_count * (NODE + 9 * 256) + (size_t)f->port_count * PORT)};
	uint32_t ports = 0;

	require(o.bytes);
	put_number(&o, 0x8fe7832b, 4);
	put_number(&o, 1, 4);
	put_number(&o, f->node_count, 4);
	put_number(&o, 0, 4);
	put_number(&o, f->nodes[f->from_node].guid, 8);
	put_number(&o, 9, 4);
	for (uint32_t i = 0; i < f->node_count; i++)
		put_node(&o, f, i);
	for (uint32_t i = 0; i < f->port_count; i++) {
		const struct fabric_port *p = &f->ports[i];

		if (!p->known && p->peer == FABRIC_NONE)
			continue;
		ports++;
		put_key(&o, i, p->number);
		put_number(&o, 0, 4);
		put(&o, p->info, MAD_SMP_DATA);
		put_number(&o, f->nodes[p->node].guid, 8);
		put_number(&o, p->peer != FABRIC_NONE, 1);
		put_key(&o, p->peer, p->peer != FABRIC_NONE ? f->ports[p->peer].number : 0);
	}
	for (unsigned i = 0; i < 4; i++)
		o.bytes[12 + i] = (uint8_t)(ports >> 8 * i);
	return o;
}

static void same(const struct fabric *a, const struct fabric *b)
{
	require(a->node_count == b->node_count && a->port_count == b->port_count && a->link_count == b->link_count);
	require(a->from_node == b->from_node && a->from_port == b->from_port && a->sm_lid == b->sm_lid);
	for (uint32_t i = 0; i < a->node_count; i++) {
		require(memcmp(a->nodes[i].node_info, b->nodes[i].node_info, MAD_SMP_DATA) == 0);
		require(a->nodes[i].has_switch_info == b->nodes[i].has_switch_info);
		require(memcmp(a->nodes[i].switch_info, b->nodes[i].switch_info, MAD_SMP_DATA) == 0);
	}
	for (uint32_t i = 0; i < a->port_count; i++) {
		require(a->ports[i].known == b->ports[i].known && a->ports[i].peer == b->ports[i].peer);
		require(memcmp(a->ports[i].info, b->ports[i].info, MAD_SMP_DATA) == 0);
	}
}

/* Each node of the file is in the fabric, as its record has it; an M_Key is in none. */
static void check_fabric(const struct fabric *f, const uint8_t *data)
{
	size_t at = 28;

	require(f->finished && f->node_count == get_number(data + 8, 4) && f->from_node < f->node_count);
	for (uint32_t i = 0; i < f->node_count; i++) {
		uint32_t node = fabric_find_node(f, get_number(data + at + 68, 8));

		require(node != FABRIC_NONE && memcmp(f->nodes[node].node_info, data + at + 78, MAD_SMP_DATA) == 0);
		require(f->nodes[node].name[0] && fuzz_printable(f->nodes[node].name, ""));
		at += NODE + 9u * data[at + 206];
	}
	for (uint32_t i = 0; i < f->port_count; i++) {
		static const uint8_t none[8];
		const struct fabric_port *p = &f->ports[i];

		require(p->peer == FABRIC_NONE || f->ports[p->peer].peer == i);
		require(memcmp(p->info, none, sizeof(none)) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dump_result result, again;
	struct dump_faults faults;
	uint8_t *copy = malloc(size + 1); /* so that a byte too much is seen */
	struct out written;
	int error;

	require(copy);
	memcpy(copy, data, size);
	copy = realloc(copy, size ? size : 1);
	require(copy);
	ibnd_cache_is((const char *)copy, size);
	error = ibnd_cache_read("", (const char *)copy, size, &result, &faults);
	require(error == (faults.count > 0 ? -EBADMSG : 0));
	if (error != 0) {
		require(!result.fabric && faults.count == 1 && faults.items[0].binary && faults.items[0].offset <= size);
		require(faults.items[0].text[0] && fuzz_printable(faults.items[0].text, ""));
	} else {
		check_fabric(result.fabric, data);
		written = write_out(result.fabric);
		require(ibnd_cache_read("", (const char *)written.bytes, written.size, &again, &faults) == 0);
		same(result.fabric, again.fabric);
		dump_result_clear(&again);
		free(written.bytes);
	}
	dump_result_clear(&result);
	free(copy);
	return 0;
}
