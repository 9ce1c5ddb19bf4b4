/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * sm_tables: what the subnet manager remembers to have programmed on a port, asked of its administrator
 * table by table. OpenSM compares a new config with this memory, never with the device, so that only the
 * two together tell a table that was never sent from one that was changed behind its back.
 */
#include "ibqos/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 1024 /* questions at once: each has room for a record both ways */

const char *sm_table_name(enum sm_table_kind kind)
{
	static const char *const names[SM_TABLE_KINDS] = {[SM_TABLE_SL2VL] = "SL2VL record",
							  [SM_TABLE_VLARB] = "VLArb record",
							  [SM_TABLE_PORT_INFO] = "PortInfo record"};

	return names[kind];
}

/* The LID that a port's records go by: OpenSM names a switch's ports by its port 0. */
static uint16_t record_lid(const struct fabric *fabric, uint32_t port)
{
	const struct fabric_node *node = fabric_port_node(fabric, port);
	const struct fabric_port *p = &fabric->ports[port];

	if (node->type == FABRIC_SWITCH)
		return node->lid;
	return p->known ? (uint16_t)fabric_port_lid(p) : 0;
}

static bool make_question(const struct fabric *fabric, const struct sm_table *table,
			  struct source_sm_query *query)
{
	bool of_switch = fabric_port_node(fabric, table->port)->type == FABRIC_SWITCH;
	unsigned number = fabric->ports[table->port].number;
	uint16_t lid = record_lid(fabric, table->port);

	*query = (struct source_sm_query){.mgmt_class = MAD_CLASS_SA};
	switch ((enum sm_table_kind)table->kind) {
	case SM_TABLE_SL2VL:
		query->attribute = MAD_SA_SL2VL_RECORD;
		query->mask = mad_sl2vl_record_encode(lid, table->index, of_switch ? number : 0, query->record);
		break;
	case SM_TABLE_VLARB:
		query->attribute = MAD_SA_VLARB_RECORD;
		query->mask = mad_vlarb_record_encode(lid, number, table->index, query->record);
		break;
	case SM_TABLE_PORT_INFO:
		query->attribute = MAD_SA_PORT_INFO_RECORD;
		query->mask = mad_port_info_record_encode(lid, number, query->record);
		break;
	case SM_TABLE_KINDS:
		return false;
	}
	return lid != 0;
}

static void take(const struct source_sm_query *query, struct sm_table *table)
{
	const uint8_t *data;

	table->outcome = query->outcome;
	table->status = query->status;
	if (query->outcome != MAD_ANSWERED)
		return;
	data = mad_record_table(query->attribute, query->record, query->data);
	if (data) {
		memcpy(table->data, data, table->kind == SM_TABLE_SL2VL ? QOS_SL2VL_WIRE : MAD_SMP_DATA);
		return;
	}
	table->outcome = MAD_STATUS;
	table->status = 0;
}

int sm_tables_ask(struct source *source, const struct fabric *fabric, struct sm_table *tables, size_t count)
{
	struct source_sm_query *queries = calloc(CHUNK, sizeof(*queries));
	size_t *asked = calloc(CHUNK, sizeof(*asked)); /* which table a query is about */
	size_t next = 0, used, done = 0, total = 0;
	uint64_t lost_ns = 0;
	int error = queries && asked ? 0 : -ENOMEM;

	for (size_t i = 0; i < count; i++) {
		tables[i].outcome = MAD_NOT_ASKED;
		tables[i].status = 0;
		memset(tables[i].data, 0, sizeof(tables[i].data));
		total += error == 0 && make_question(fabric, &tables[i], queries);
	}
	while (error == 0 && next < count) {
		for (used = 0; next < count && used < CHUNK; next++) {
			asked[used] = next;
			used += make_question(fabric, &tables[next], &queries[used]);
		}
		source_sm_part(source, "asking for records of tables", done, total);
		error = source_ask_sm(source, fabric, queries, used, &lost_ns);
		done += used;
		for (size_t i = 0; i < used; i++)
			take(&queries[i], &tables[asked[i]]);
	}
	free(queries);
	free(asked);
	return error;
}
