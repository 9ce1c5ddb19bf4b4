/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The cache of infiniband-diags. Its shape, all numbers little-endian (rdma-core libibnetdisc/ibnetdisc_cache.c):
 *
 *   header  magic 4, version 4, nodes 4, ports 4, GUID of the node that looked 8, most hops 4
 *   node    LID 2, LMC 1, enhanced port 0 1, SwitchInfo 64, GUID 8, type 1, ports 1, NodeInfo 64, description 64,
 *           count 1 of keys: port GUID 8, port number 1
 *   port    GUID 8, number 1, external number 1, LID 2, LMC 1, PortInfo 64, node GUID 8, has a peer 1, the peer's key 9
 *
 * A port is found by its key, which no two have. Answers of the vendor's ExtendedPortInfo are not in it: where
 * libibnetdisc asks for them QDR and FDR10 cannot be told apart.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mad.h>

#include "dump.h"
#include "walk.h"

#define MAGIC 0x8fe7832bu
#define VERSION 1
#define HEADER_SIZE 28
#define NODE_SIZE (15 + 3 * MAD_SMP_DATA)
#define KEY_SIZE 9
#define PORT_SIZE (31 + MAD_SMP_DATA)

struct key {
	uint64_t guid;
	uint8_t number;
};

/* A record of a port. */
struct record {
	struct key key, peer;
	bool has_peer;
	uint64_t node_guid;
	size_t at;
	const uint8_t *info;
	uint32_t node;	/* in the fabric; FABRIC_NONE: no node claims it */
};

struct reading {
	const uint8_t *data;
	size_t size, at;
	struct fabric *fabric;
	struct dump_faults *faults;
	struct record *records;
	uint32_t count; /* of them */
	size_t nodes_at;
	uint32_t node_count;
	uint64_t from_guid;
};

static uint64_t number(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes-- > 0)
		value = value << 8 | at[bytes];
	return value;
}

static struct key key_at(const uint8_t *at)
{
	return (struct key){.guid = number(at, 8), .number = at[8]};
}

static int compare_keys(const struct key *a, const struct key *b)
{
	if (a->guid != b->guid)
		return a->guid < b->guid ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static int by_key(const void *left, const void *right)
{
	const struct record *a = left, *b = right;

	return compare_keys(&a->key, &b->key);
}

static struct record *find(const struct reading *r, struct key key)
{
	const struct record wanted = {.key = key};

	return r->count > 0 ? bsearch(&wanted, r->records, r->count, sizeof(wanted), by_key) : NULL;
}

/* The next record of so many bytes; NULL, told, if the file ends before. */
static const uint8_t *take(struct reading *r, size_t bytes, const char *what, uint32_t which)
{
	const uint8_t *start = r->data + r->at;

	if (r->size - r->at < bytes) {
		dump_bad_byte(r->faults, r->at, "%s %" PRIu32 " is not whole: the file is cut off", what, which);
		return NULL;
	}
	r->at += bytes;
	return start;
}

static int read_header(struct reading *r)
{
	uint64_t version;

	if (r->size < HEADER_SIZE)
		return dump_bad_byte(r->faults, r->size, "the header is not whole: the file is cut off");
	version = number(r->data + 4, 4);
	if (version != VERSION)
		return dump_bad_byte(r->faults, 4, "version %" PRIu64 " of the cache: only version %d is known", version,
				     VERSION);
	r->node_count = (uint32_t)number(r->data + 8, 4);
	r->count = (uint32_t)number(r->data + 12, 4);
	r->from_guid = number(r->data + 16, 8);
	r->at = r->nodes_at = HEADER_SIZE;
	if (r->node_count == 0)
		return dump_bad_byte(r->faults, 8, "no node in it: it was not written to its end");
	/* before memory is asked for */
	if (r->node_count > (r->size - HEADER_SIZE) / NODE_SIZE)
		return dump_bad_byte(r->faults, 8, "%" PRIu32 " nodes: the file is too short for them", r->node_count);
	if (r->count > (r->size - HEADER_SIZE) / PORT_SIZE)
		return dump_bad_byte(r->faults, 12, "%" PRIu32 " ports: the file is too short for them", r->count);
	return 0;
}

/* What a node says twice must be the same. */
static int check_node(struct reading *r, const uint8_t *node, uint32_t which)
{
	const uint8_t *info = node + 78;
	uint64_t guid = number(node + 68, 8);
	size_t at = (size_t)(node - r->data);
	unsigned type = mad_get_field((void *)info, 0, IB_NODE_TYPE_F);

	if (guid == 0 || guid != mad_get_field64((void *)info, 0, IB_NODE_GUID_F))
		return dump_bad_byte(r->faults, at + 68, "node %" PRIu32 ": GUID 0x%016" PRIx64 " is not that of its NodeInfo",
				     which, guid);
	if (node[76] != type || type < FABRIC_CA || type > FABRIC_ROUTER)
		return dump_bad_byte(r->faults, at + 76, "node %" PRIu32 ": type %u, and %u in its NodeInfo", which, node[76],
				     type);
	if (node[77] != mad_get_field((void *)info, 0, IB_NODE_NPORTS_F))
		return dump_bad_byte(r->faults, at + 77, "node %" PRIu32 ": %u ports, and another number in its NodeInfo",
				     which, node[77]);
	if (fabric_index(r->fabric, guid) != FABRIC_NONE)
		return dump_bad_byte(r->faults, at, "node %" PRIu32 ": GUID 0x%016" PRIx64 " a second time", which, guid);
	return 0;
}

static int read_nodes(struct reading *r)
{
	for (uint32_t i = 0; i < r->node_count; i++) {
		const uint8_t *node = take(r, NODE_SIZE, "node", i);
		uint32_t index;
		int error = node ? check_node(r, node, i) : -EBADMSG;

		if (error != 0)
			return error;
		if (!take(r, (size_t)node[NODE_SIZE - 1] * KEY_SIZE, "the ports of node", i))
			return -EBADMSG;
		index = fabric_add_node(r->fabric, node + 78, node + 4, node + 142, NULL);
		if (index == FABRIC_NONE)
			return -ENOMEM;
	}
	return 0;
}

static int read_ports(struct reading *r)
{
	r->records = calloc((size_t)r->count + 1, sizeof(*r->records));
	if (!r->records)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->count; i++) {
		const uint8_t *port = take(r, PORT_SIZE, "port", i);

		if (!port)
			return -EBADMSG;
		r->records[i] = (struct record){.key = key_at(port),
						.peer = key_at(port + 86),
						.has_peer = port[85],
						.node_guid = number(port + 77, 8),
						.at = (size_t)(port - r->data),
						.info = port + 13,
						.node = FABRIC_NONE};
	}
	if (r->at < r->size)
		return dump_bad_byte(r->faults, r->at, "%zu bytes behind the last port", r->size - r->at);
	if (r->count > 0)
		qsort(r->records, r->count, sizeof(*r->records), by_key);
	for (uint32_t i = 1; i < r->count; i++)
		if (by_key(&r->records[i - 1], &r->records[i]) == 0)
			return dump_bad_byte(r->faults, r->records[i].at, "port 0x%016" PRIx64 ":%u a second time",
					     r->records[i].key.guid, r->records[i].key.number);
	return 0;
}

/* The ports that a node claims by their keys. One that is not there was not written, since it was not answered. */
static int claim_ports(struct reading *r, const uint8_t *node)
{
	uint32_t index = fabric_index(r->fabric, number(node + 68, 8));

	for (unsigned i = 0; i < node[NODE_SIZE - 1]; i++) {
		const uint8_t *key = node + NODE_SIZE + (size_t)i * KEY_SIZE;
		struct record *record = find(r, key_at(key));
		size_t at = (size_t)(key - r->data);
		uint8_t info[MAD_SMP_DATA];

		if (!record)
			continue;
		if (record->node != FABRIC_NONE)
			return dump_bad_byte(r->faults, at, "port 0x%016" PRIx64 ":%u is claimed twice", record->key.guid,
					     record->key.number);
		if (record->node_guid != r->fabric->nodes[index].guid)
			return dump_bad_byte(r->faults, at, "port 0x%016" PRIx64 ":%u says that it is of another node",
					     record->key.guid, record->key.number);
		memcpy(info, record->info, sizeof(info));
		memset(info, 0, 8); /* the M_Key, which is no answer either where all else is zero */
		if (fabric_port_seen(r->fabric, index, record->key.number, record->key.guid, info, NULL) != 0)
			return dump_bad_byte(r->faults, at, "port %u, which the node does not have", record->key.number);
		record->node = index;
	}
	return 0;
}

static int claim_all(struct reading *r)
{
	size_t at = r->nodes_at;
	int error = 0;

	for (uint32_t i = 0; i < r->node_count && error == 0; i++) {
		const uint8_t *node = r->data + at;

		error = claim_ports(r, node);
		at += NODE_SIZE + (size_t)node[NODE_SIZE - 1] * KEY_SIZE;
	}
	return error;
}

/*
 * A peer that no node claims is one that did not answer. Of links that exclude each other, as cables that move while
 * somebody looks leave them, the first stays; the port left over is then a gap.
 */
static int link_ports(struct reading *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const struct record *record = &r->records[i], *peer = record->has_peer ? find(r, record->peer) : NULL;
		int error;

		if (!peer || record->node == FABRIC_NONE || peer->node == FABRIC_NONE)
			continue;
		error = fabric_link(r->fabric, record->node, record->key.number, peer->node, peer->key.number);
		if (error == -EINVAL)
			return dump_bad_byte(r->faults, record->at, "port 0x%016" PRIx64 ":%u: a peer at port 0",
					     record->key.guid, record->key.number);
	}
	return 0;
}

/* The one that looked did so by the port that its NodeInfo names. */
static int find_origin(struct reading *r)
{
	struct fabric *f = r->fabric;
	uint32_t port;

	f->from_node = fabric_index(f, r->from_guid);
	if (f->from_node == FABRIC_NONE)
		return dump_bad_byte(r->faults, 16, "the node that looked, 0x%016" PRIx64 ", is not in it", r->from_guid);
	f->from_port = (uint8_t)mad_get_field(f->nodes[f->from_node].node_info, 0, IB_NODE_LOCAL_PORT_F);
	port = fabric_node_port(f, f->from_node, f->from_port);
	if (port != FABRIC_NONE && f->ports[port].known)
		f->sm_lid = (uint16_t)mad_get_field(f->ports[port].info, 0, IB_PORT_SMLID_F);
	return 0;
}

static void note_lost(struct fabric *f)
{
	for (uint32_t i = 0; i < f->port_count; i++)
		if (f->ports[i].known && walk_wants_ext(f, i))
			fabric_port_note(f, f->ports[i].node, f->ports[i].number, FABRIC_GAP_NO_EXT_INFO);
}

int ibnd_cache_read(const char *label, const char *text, size_t size, struct dump_result *result,
		    struct dump_faults *faults)
{
	struct reading r = {.data = (const uint8_t *)text, .size = size, .fabric = fabric_new(label), .faults = faults};
	int error = r.fabric ? 0 : -ENOMEM;

	*result = (struct dump_result){0};
	*faults = (struct dump_faults){0};
	if (error == 0)
		error = read_header(&r);
	if (error == 0)
		error = read_nodes(&r);
	if (error == 0)
		error = read_ports(&r);
	if (error == 0)
		error = claim_all(&r);
	if (error == 0)
		error = link_ports(&r);
	if (error == 0)
		error = find_origin(&r);
	if (error == 0) {
		note_lost(r.fabric);
		error = fabric_finish(r.fabric);
	}
	free(r.records);
	if (error != 0)
		fabric_free(r.fabric);
	else
		result->fabric = r.fabric;
	return error;
}

bool ibnd_cache_is(const char *text, size_t size)
{
	return size >= 4 && number((const uint8_t *)text, 4) == MAGIC;
}
