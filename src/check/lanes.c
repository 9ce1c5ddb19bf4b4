/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * lanes: tables kept once each, and the VL that they give a packet.
 */
#include "ibqos/lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "expect.h"
#include "paths.h"

struct lane_table {
	uint8_t wire[QOS_SL2VL_WIRE]; /* the key */
	uint32_t number;
	UT_hash_handle hh;
};

/* Arbitration of a port: which VLs have weight, and which blocks have been answered. */
struct lane_arbitration {
	uint16_t weighted;
	uint8_t blocks;
};

struct lanes {
	const struct fabric *fabric;
	struct lane_table *by_wire;
	struct qos_sl2vl *tables;
	size_t table_count, table_room;
	uint32_t *first;  /* by port index: where its cells begin, one an in-port */
	uint32_t *cells;  /* number of a table + 1; 0: unknown */
	struct lane_arbitration *arbitration; /* by port index */
};

const char *lane_fate_text(enum lane_fate fate)
{
	static const char *const texts[LANE_FATES] = {
		[LANE_FINE] = "fine",
		[LANE_DROPPED] = "dropped: VL 15",
		[LANE_NOT_RUN] = "dropped: the link does not run this VL",
		[LANE_STARVED] = "stuck: no weight in either table",
		[LANE_UNKNOWN] = "unknown",
	};

	return texts[fate];
}

/* SL2VL tables for an out-port: one an in-port of a switch, one of a CA or router. */
static unsigned in_ports(const struct fabric *fabric, uint32_t port)
{
	const struct fabric_node *node = fabric_port_node(fabric, port);

	return node->type == FABRIC_SWITCH ? node->ports + 1u : 1;
}

int lanes_new(const struct fabric *fabric, struct lanes **lanes)
{
	struct lanes *l = calloc(1, sizeof(*l));
	size_t cells = 0;
	uint32_t i;

	*lanes = NULL;
	if (!l)
		return -ENOMEM;
	l->fabric = fabric;
	l->first = calloc((size_t)fabric->port_count + 1, sizeof(*l->first));
	l->arbitration = calloc((size_t)fabric->port_count + 1, sizeof(*l->arbitration));
	for (i = 0; l->first && i < fabric->port_count; i++) {
		l->first[i] = (uint32_t)cells;
		cells += in_ports(fabric, i);
	}
	l->cells = calloc(cells + 1, sizeof(*l->cells));
	if (!l->first || !l->arbitration || !l->cells) {
		lanes_free(l);
		return -ENOMEM;
	}
	*lanes = l;
	return 0;
}

void lanes_free(struct lanes *lanes)
{
	struct lane_table *table, *next;

	if (!lanes)
		return;
	HASH_ITER(hh, lanes->by_wire, table, next) {
		HASH_DEL(lanes->by_wire, table);
		free(table);
	}
	free(lanes->tables);
	free(lanes->first);
	free(lanes->cells);
	free(lanes->arbitration);
	free(lanes);
}

const struct fabric *lanes_fabric(const struct lanes *lanes)
{
	return lanes->fabric;
}

/* --- taking --- */

static int intern(struct lanes *lanes, const uint8_t wire[QOS_SL2VL_WIRE], uint32_t *number)
{
	struct lane_table *table;
	struct qos_sl2vl *grown;

	HASH_FIND(hh, lanes->by_wire, wire, QOS_SL2VL_WIRE, table);
	if (!table) {
		grown = array_grow(lanes->tables, &lanes->table_room, lanes->table_count + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		lanes->tables = grown;
		table = calloc(1, sizeof(*table));
		if (!table)
			return -ENOMEM;
		memcpy(table->wire, wire, QOS_SL2VL_WIRE);
		table->number = (uint32_t)lanes->table_count++;
		qos_sl2vl_decode(wire, &lanes->tables[table->number]);
		HASH_ADD(hh, lanes->by_wire, wire, QOS_SL2VL_WIRE, table);
	}
	*number = table->number;
	return 0;
}

static int take_sl2vl(struct lanes *lanes, uint32_t port, unsigned in, const uint8_t *data)
{
	uint32_t number = 0;
	int error;

	if (in >= in_ports(lanes->fabric, port))
		return 0;
	error = intern(lanes, data, &number);
	lanes->cells[lanes->first[port] + in] = error == 0 ? number + 1 : 0;
	return error;
}

/* How many entries of a block a port with a table of `cap` entries has. */
static unsigned entries_of(unsigned cap, unsigned block)
{
	unsigned first = block % 2 * QOS_VLARB_BLOCK;

	if (cap > QOS_VLARB_ENTRIES)
		cap = QOS_VLARB_ENTRIES;
	if (cap <= first)
		return 0;
	return cap - first < QOS_VLARB_BLOCK ? cap - first : QOS_VLARB_BLOCK;
}

unsigned lanes_block_entries(const struct fabric_port *port, unsigned block)
{
	if (fabric_port_vl_cap(port) == 1) /* no arbitration */
		return 0;
	return entries_of(block < 2 ? fabric_port_vlarb_low_cap(port) : fabric_port_vlarb_high_cap(port), block);
}

static void take_vlarb(struct lanes *lanes, uint32_t port, unsigned block, const struct qos_vlarb_entry *entries)
{
	struct lane_arbitration *a = &lanes->arbitration[port];
	unsigned count = lanes_block_entries(&lanes->fabric->ports[port], block), i;

	for (i = 0; i < count; i++)
		if (entries[i].weight > 0 && entries[i].vl < QOS_DATA_VLS)
			a->weighted |= 1u << entries[i].vl;
	a->blocks |= 1u << block;
}

int lanes_take(struct lanes *lanes, const struct source_query *query, const uint8_t *data)
{
	struct qos_vlarb_entry entries[QOS_VLARB_BLOCK];
	unsigned block = query->modifier >> 16;

	switch (query->attribute) {
	case MAD_SL2VL:
		return take_sl2vl(lanes, query->port, query->modifier >> 8 & 0xff, data);
	case MAD_VLARB:
		if (block < 1 || block > QOS_VLARB_BLOCKS)
			return 0;
		qos_vlarb_decode(data, entries);
		take_vlarb(lanes, query->port, block - 1, entries);
		return 0;
	}
	return 0;
}

int lanes_expected(const struct fabric *fabric, const struct qos_config *config, struct lanes **lanes)
{
	struct qos_vlarb_entry entries[QOS_VLARB_BLOCK];
	struct expect_port port;
	struct expect expect;
	unsigned in, block;
	int error = lanes_new(fabric, lanes);
	uint32_t i;

	expect_init(&expect, config);
	for (i = 0; error == 0 && i < fabric->port_count; i++) {
		if (!fabric->ports[i].known || expect_port(&expect, fabric, i, &port) != EXPECT_PROGRAMMED)
			continue;
		for (in = 0; error == 0 && in < port.in_ports; in++)
			error = take_sl2vl(*lanes, i, in, expect_sl2vl(&expect, &port, in));
		for (block = 0; block < QOS_VLARB_BLOCKS; block++)
			if (expect_vlarb(&expect, &port, block, entries) > 0)
				take_vlarb(*lanes, i, block, entries);
	}
	if (error != 0) {
		lanes_free(*lanes);
		*lanes = NULL;
	}
	return error;
}

/* --- the VL of a packet --- */

/* IsSLMappingSupported: a switch says so at port 0 for all its ports. Where it is not known its table counts. */
static bool has_table(const struct fabric *fabric, uint32_t out)
{
	const struct fabric_node *node = fabric_port_node(fabric, out);
	const struct fabric_port *teller = &fabric->ports[node->type == FABRIC_SWITCH ? node->first_port : out];

	return !teller->known || fabric_port_cap_mask(teller) & FABRIC_CAP_SL_MAP;
}

/* Whether either end of a link tells of it what cannot be, so that nobody knows which VLs it runs. */
static bool vls_unknown(const struct fabric *fabric, const struct fabric_port *port)
{
	unsigned code;

	return fabric_port_reserved(port, FABRIC_VL_CAP, &code) || fabric_port_reserved(port, FABRIC_OPER_VLS, &code) ||
	       (port->peer != FABRIC_NONE && fabric_port_reserved(&fabric->ports[port->peer], FABRIC_OPER_VLS, &code));
}

/* Data VLs that both ends run; in Init, where none is set (0), nothing is limited. */
static unsigned running(const struct fabric *fabric, const struct fabric_port *port)
{
	unsigned vls = qos_vls_of_code(fabric_port_oper_vls(port)), there = 0;

	if (port->peer != FABRIC_NONE && fabric->ports[port->peer].known)
		there = qos_vls_of_code(fabric_port_oper_vls(&fabric->ports[port->peer]));
	if (vls == 0 || (there != 0 && there < vls))
		vls = there;
	return vls ? vls : QOS_DATA_VLS;
}

/* Whether all blocks that the port's tables have were answered. */
static bool arbitration_known(const struct lanes *lanes, uint32_t port)
{
	unsigned block, wanted = 0;

	for (block = 0; block < QOS_VLARB_BLOCKS; block++)
		if (lanes_block_entries(&lanes->fabric->ports[port], block) > 0)
			wanted |= 1u << block;
	return wanted != 0 && (lanes->arbitration[port].blocks & wanted) == wanted;
}

enum lane_fate lanes_fate(const struct lanes *lanes, uint32_t out, unsigned in, unsigned sl, unsigned *vl)
{
	const struct fabric *fabric = lanes->fabric;
	const struct fabric_port *port = &fabric->ports[out];
	uint32_t cell;

	*vl = LANE_NO_VL;
	if (!port->known || in >= in_ports(fabric, out) || vls_unknown(fabric, port))
		return LANE_UNKNOWN;
	if (fabric_port_vl_cap(port) == 1 || (!has_table(fabric, out) && running(fabric, port) == 1)) {
		*vl = 0;
		return LANE_FINE;
	}
	cell = lanes->cells[lanes->first[out] + in];
	if (cell == 0)
		return LANE_UNKNOWN;
	*vl = lanes->tables[cell - 1].vl[sl % QOS_SLS];
	if (*vl == QOS_VL_DROP)
		return LANE_DROPPED;
	if (*vl >= running(fabric, port))
		return LANE_NOT_RUN;
	if (lanes->arbitration[out].weighted >> *vl & 1)
		return LANE_FINE;
	return arbitration_known(lanes, out) ? LANE_STARVED : LANE_UNKNOWN;
}

/* --- listening --- */

struct listener {
	struct source source;
	struct source *inner;
	struct lanes *lanes;
	int *lost;
	const struct source_asker *asker; /* whose answers are passed on */
};

static bool pass_next(void *arg, uint32_t which, struct source_query *query)
{
	const struct listener *l = arg;

	return l->asker->next(l->asker->arg, which, query);
}

/* The asker first: it keeps PortInfo, by which VL arbitration blocks are read. */
static void pass_answer(void *arg, const struct source_query *query, const struct mad_answer *answer)
{
	const struct listener *l = arg;

	l->asker->answer(l->asker->arg, query, answer);
	if (answer->outcome == MAD_ANSWERED && lanes_take(l->lanes, query, answer->data) != 0)
		*l->lost = -ENOMEM;
}

static int listen_discover(struct source *source, struct finding_list *findings, struct fabric **fabric)
{
	return source_discover(((struct listener *)source)->inner, findings, fabric);
}

static int listen_ask(struct source *source, const struct fabric *fabric, const struct source_asker *asker)
{
	struct listener *l = (struct listener *)source;
	struct source_asker mine = {.agents = asker->agents, .agent_count = asker->agent_count, .what = asker->what, .total = asker->total, .next = pass_next,
				    .answer = pass_answer, .arg = l};

	l->asker = asker;
	return source_ask(l->inner, fabric, &mine);
}

static int listen_ask_sm(struct source *source, const struct fabric *fabric, struct source_sm_query *queries,
			 size_t count, uint64_t *lost_ns)
{
	return source_ask_sm(((struct listener *)source)->inner, fabric, queries, count, lost_ns);
}

static const struct mad_counts *listen_counts(const struct source *source)
{
	return source_counts(((const struct listener *)source)->inner);
}

static void listen_close(struct source *source)
{
	free(source);
}

static const struct source_ops listen_ops = {
	.discover = listen_discover,
	.ask = listen_ask,
	.ask_sm = listen_ask_sm,
	.counts = listen_counts,
	.close = listen_close,
};

int lanes_listen(struct lanes *lanes, struct source *inner, int *lost, struct source **source)
{
	struct listener *l = calloc(1, sizeof(*l));

	*source = NULL;
	if (!l)
		return -ENOMEM;
	l->source.ops = &listen_ops;
	l->inner = inner;
	l->lanes = lanes;
	l->lost = lost;
	*lost = 0;
	*source = &l->source;
	return 0;
}
