/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * db_csv's tables: PKEY, VL_ARBITRATION_TABLE, SM_INFO and CABLE_INFO. The first two have a row an entry; a port with rows has
 * its whole table there, and what has no row is empty.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <infiniband/mad.h>

#include "ibqos/qos.h"
#include "ibqos/util.h"

#include "db_csv.h"

#define PKEYS_A_BLOCK 32
#define PKEY_BLOCKS_MAX 2048 /* 65536 keys: NodeInfo:PartitionCap has 16 bits */
#define PKEY_FULL 0x8000u

/* Begins on a section's rows, with the port's two columns. 1: it is not there, or says nothing of ports, which is told. */
static int begin(struct db *db, const char *name, const char *means, struct csv_row *row, int *guid, int *number)
{
	const struct csv_section *section = csv_section(&db->csv, name);
	int error;

	*row = (struct csv_row){0};
	if (!section) {
		db_lacks(db, "%s (%s)", means, name);
		return 1;
	}
	error = csv_row_begin(&db->csv, section, row);
	if (error != 0)
		return error == -EBADMSG ? 1 : error; /* it is among the faults */
	*guid = csv_column(row, "NodeGUID");
	*number = csv_column(row, "PortNum|PortNumber");
	if (*guid >= 0 && *number >= 0)
		return 0;
	db_lacks(db, "%s: %s has no columns NodeGUID and PortNum", means, name);
	return 1;
}

/* How a port is named in an AttributeModifier. */
static unsigned own_number(const struct fabric *f, uint32_t port)
{
	return fabric_port_node(f, port)->type == FABRIC_SWITCH ? f->ports[port].number : 0;
}

/* --- partition keys --- */

/* An entry of a port's table; all of them in order of port and index. */
struct pkey {
	uint32_t port;
	uint16_t index, key;
};
struct pkeys {
	struct pkey *items;
	size_t count, room;
};

static int by_index(const void *left, const void *right)
{
	const struct pkey *a = left, *b = right;

	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

/* "Full", "Limited", or the bit itself. */
static enum csv_value membership(struct csv_row *row, int column, uint64_t *full)
{
	char *text = csv_text(row, column);
	bool is_full = text && strcasecmp(text, "full") == 0, is_limited = text && strcasecmp(text, "limited") == 0;

	free(text);
	*full = is_full;
	return is_full || is_limited ? CSV_GOOD : csv_number(row, column, 1, full);
}

static int take_pkey(struct db *db, struct csv_row *row, uint32_t port, const int at[4], struct pkeys *keys)
{
	uint64_t block = 0, index = 0, key = 0, full = 0;
	struct pkey *grown;

	if (csv_number(row, at[0], PKEY_BLOCKS_MAX - 1, &block) == CSV_BAD ||
	    csv_number(row, at[1], UINT16_MAX, &index) != CSV_GOOD || csv_number(row, at[2], UINT16_MAX, &key) != CSV_GOOD ||
	    membership(row, at[3], &full) == CSV_BAD)
		return 0;
	if (at[0] >= 0 && index >= PKEYS_A_BLOCK) {
		dump_bad(db->faults, row->line, 1, "entry %u of a block: a block has %d", (unsigned)index, PKEYS_A_BLOCK);
		return 0;
	}
	grown = array_grow(keys->items, &keys->room, keys->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	keys->items = grown;
	grown[keys->count++] = (struct pkey){.port = port,
					     .index = (uint16_t)(block * PKEYS_A_BLOCK + index),
					     .key = (uint16_t)(key | (full ? PKEY_FULL : 0))};
	return 0;
}

/* All blocks that the device says it has: those without a row are empty. */
static int keep_pkeys(struct db *db, const struct pkey *items, size_t count)
{
	const struct fabric_node *node = fabric_port_node(db->fabric, items->port);
	unsigned cap = mad_get_field((void *)node->node_info, 0, IB_NODE_PARTITION_CAP_F);
	unsigned last = items[count - 1].index / PKEYS_A_BLOCK, blocks = (cap + PKEYS_A_BLOCK - 1) / PKEYS_A_BLOCK;
	int error = 0;

	for (unsigned block = 0, i = 0; error == 0 && (block < blocks || block <= last); block++) {
		uint8_t data[MAD_SMP_DATA] = {0};

		for (; i < count && items[i].index / PKEYS_A_BLOCK == block; i++) {
			data[2 * (items[i].index % PKEYS_A_BLOCK)] = (uint8_t)(items[i].key >> 8);
			data[2 * (items[i].index % PKEYS_A_BLOCK) + 1] = (uint8_t)items[i].key;
		}
		error = dump_keep(&db->result->answers, items->port, MAD_CLASS_SMP, MAD_PKEY_TABLE,
				  MAD_PKEY_MODIFIER(block, own_number(db->fabric, items->port)), data, sizeof(data));
	}
	return error;
}

int db_pkeys(struct db *db)
{
	struct pkeys keys = {0};
	int guid = -1, number = -1, at[4] = {-1, -1, -1, -1}, error;
	struct csv_row row;

	error = begin(db, "PKEY", "P_Keys", &row, &guid, &number);
	if (error == 0) {
		at[0] = csv_column(&row, "BlockNum|Block");
		at[1] = csv_column(&row, "Index");
		at[2] = csv_column(&row, "PKey|P_Key");
		at[3] = csv_column(&row, "Membership");
		if (at[1] < 0 || at[2] < 0) {
			db_lacks(db, "P_Keys: PKEY has no columns Index and PKey");
			error = 1;
		}
	}
	while (error == 0 && csv_row_next(&row)) {
		uint32_t port = db_port(db, &row, guid, number);

		if (port != FABRIC_NONE)
			error = take_pkey(db, &row, port, at, &keys);
	}
	csv_row_end(&row);
	if (keys.count > 0)
		qsort(keys.items, keys.count, sizeof(*keys.items), by_index);
	for (size_t start = 0, end; error == 0 && start < keys.count; start = end) {
		for (end = start + 1; end < keys.count && keys.items[end].port == keys.items[start].port;)
			end++;
		error = keep_pkeys(db, &keys.items[start], end - start);
	}
	free(keys.items);
	return error == 1 ? 0 : error;
}

/* --- arbitration --- */

/* Of one port: entries that have come so far, low and high. */
struct arbitration {
	uint8_t wire[2][2 * QOS_VLARB_ENTRIES];
	uint8_t count[2];
};

static bool take_entry(struct db *db, struct csv_row *row, const int at[3], struct arbitration *a)
{
	char *priority = csv_text(row, at[0]);
	bool high = priority && strcasecmp(priority, "high") == 0, low = priority && strcasecmp(priority, "low") == 0;
	uint64_t vl = 0, weight = 0;

	free(priority);
	if (!high && !low) {
		dump_bad(db->faults, row->line, row->fields[at[0]].column, "Priority is neither High nor Low");
		return false;
	}
	if (csv_number(row, at[1], QOS_SLS - 1, &vl) != CSV_GOOD || csv_number(row, at[2], UINT8_MAX, &weight) != CSV_GOOD)
		return false;
	if (a->count[high] == QOS_VLARB_ENTRIES) {
		dump_bad(db->faults, row->line, 1, "more than %d entries of one table", QOS_VLARB_ENTRIES);
		return false;
	}
	a->wire[high][2 * a->count[high]] = (uint8_t)vl;
	a->wire[high][2 * a->count[high] + 1] = (uint8_t)weight;
	a->count[high]++;
	return true;
}

static int keep_arbitration(struct db *db, uint32_t port, const struct arbitration *a)
{
	int error = 0;

	for (unsigned block = 0; block < QOS_VLARB_BLOCKS && error == 0; block++)
		error = dump_keep(&db->result->answers, port, MAD_CLASS_SMP, MAD_VLARB,
				  MAD_VLARB_MODIFIER(block, own_number(db->fabric, port)),
				  a->wire[block / 2] + (size_t)(block % 2) * MAD_SMP_DATA, MAD_SMP_DATA);
	return error;
}

int db_arbitration(struct db *db)
{
	struct arbitration *ports = NULL;
	uint32_t *which = NULL, count = 0, port; /* by port index: its number among those with rows, + 1 */
	int guid = -1, number = -1, at[3] = {-1, -1, -1}, error;
	size_t room = 0;
	struct csv_row row;

	error = begin(db, "VL_ARBITRATION_TABLE", "VL arbitration", &row, &guid, &number);
	if (error == 0) {
		at[0] = csv_column(&row, "Priority");
		at[1] = csv_column(&row, "VL");
		at[2] = csv_column(&row, "Weight");
		if (at[0] < 0 || at[1] < 0 || at[2] < 0) {
			db_lacks(db, "VL arbitration: VL_ARBITRATION_TABLE has no columns Priority, VL and Weight");
			error = 1;
		}
	}
	if (error == 0) {
		which = calloc((size_t)db->fabric->port_count + 1, sizeof(*which));
		error = which ? 0 : -ENOMEM;
	}
	while (error == 0 && csv_row_next(&row)) {
		port = db_port(db, &row, guid, number);
		if (port == FABRIC_NONE)
			continue;
		if (which[port] == 0) {
			struct arbitration *grown = array_grow(ports, &room, (size_t)count + 1, sizeof(*grown));

			error = grown ? 0 : -ENOMEM;
			if (!grown)
				break;
			ports = grown;
			ports[count] = (struct arbitration){0};
			which[port] = ++count;
		}
		take_entry(db, &row, at, &ports[which[port] - 1]);
	}
	for (port = 0; error == 0 && which && port < db->fabric->port_count; port++)
		if (which[port] > 0)
			error = keep_arbitration(db, port, &ports[which[port] - 1]);
	csv_row_end(&row);
	free(ports);
	free(which);
	return error == 1 ? 0 : error;
}

/* --- subnet managers --- */

static const struct db_column sm_columns[] = {
	{"ActCount", IB_SMINFO_ACT_F, 32, false},
	{"Priority", IB_SMINFO_PRIO_F, 4, true},
	{"SmState|SMState|State", IB_SMINFO_STATE_F, 4, true},
};
#define SM_COLUMNS 3

int db_managers(struct db *db)
{
	int guid = -1, number = -1, at[SM_COLUMNS] = {-1, -1, -1}, port_guid, error;
	struct csv_row row;

	error = begin(db, "SM_INFO", "subnet managers", &row, &guid, &number);
	if (error == 0 && !db_columns(db, &row, sm_columns, SM_COLUMNS, at))
		error = 1;
	port_guid = error == 0 ? csv_column(&row, "PortGUID|GUID") : -1;
	while (error == 0 && csv_row_next(&row)) {
		uint32_t port = db_port(db, &row, guid, number);
		uint8_t data[MAD_SMP_DATA] = {0};
		uint64_t value = 0;

		/* the SM_Key is left where it is */
		if (port == FABRIC_NONE || !db_fill(&row, sm_columns, SM_COLUMNS, at, data))
			continue;
		if (csv_hex(&row, port_guid, &value) == CSV_GOOD)
			mad_set_field64(data, 0, IB_SMINFO_GUID_F, value);
		error = dump_keep(&db->result->answers, port, MAD_CLASS_SMP, MAD_SM_INFO, 0, data, sizeof(data));
	}
	csv_row_end(&row);
	return error == 1 ? 0 : error;
}

/* --- cables --- */

int db_cables(struct db *db)
{
	int guid = -1, number = -1, vendor, part, serial, error;
	struct csv_row row;

	error = begin(db, "CABLE_INFO", "cables", &row, &guid, &number);
	vendor = error == 0 ? csv_column(&row, "Vendor") : -1;
	part = error == 0 ? csv_column(&row, "PN|PartNumber") : -1;
	serial = error == 0 ? csv_column(&row, "SN|SerialNumber") : -1;
	while (error == 0 && csv_row_next(&row)) {
		uint32_t port = db_port(db, &row, guid, number);
		char *texts[3] = {csv_text(&row, vendor), csv_text(&row, part), csv_text(&row, serial)};

		if (port != FABRIC_NONE)
			error = fabric_port_cable(db->fabric, port, texts[0], texts[1], texts[2]);
		for (unsigned i = 0; i < 3; i++)
			free(texts[i]);
	}
	csv_row_end(&row);
	return error == 1 ? 0 : error;
}
