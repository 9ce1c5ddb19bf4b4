/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * ibdiagnet2.db_csv: nodes, ports, links. Names of columns: ibutils2's own reader of the file (ibdiag_fabric.h, NodeRecord,
 * PortRecord, SwitchRecord, LinkRecord). Speeds are one number: what PortInfo has in four fields, a byte each (ibutils2
 * ibdm, IBLinkSpeed): LinkSpeed, LinkSpeedExt, the vendor's, LinkSpeedExt2; of the active one only the best is set.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mad.h>

#include "ibqos/util.h"

#include "db_csv.h"

#define EXT2_BYTE 56 /* of PortInfo: LinkSpeedExt2Active 2 bits, Supported 2, Enabled 3, from bit 6 on */
#define SPEED_QDR 4
#define COLUMNS 64 /* most of a table here */

static const struct db_column node_columns[] = {
	{"NodeType", IB_NODE_TYPE_F, 8, true},
	{"NumPorts", IB_NODE_NPORTS_F, 8, true},
	{"ClassVersion", IB_NODE_CLASS_VERS_F, 8, false},
	{"BaseVersion", IB_NODE_BASE_VERS_F, 8, false},
	{"DeviceID", IB_NODE_DEVID_F, 16, false},
	{"PartitionCap", IB_NODE_PARTITION_CAP_F, 16, false},
	{"revision", IB_NODE_REVISION_F, 32, false},
	{"VendorID", IB_NODE_VENDORID_F, 24, false},
	{"LocalPortNum", IB_NODE_LOCAL_PORT_F, 8, false},
};

static const struct db_column switch_columns[] = {
	{"LinearFDBCap", IB_SW_LINEAR_FDB_CAP_F, 16, true},
	{"RandomFDBCap", IB_SW_RANDOM_FDB_CAP_F, 16, false},
	{"MCastFDBCap", IB_SW_MCAST_FDB_CAP_F, 16, false},
	{"LinearFDBTop", IB_SW_LINEAR_FDB_TOP_F, 16, true},
	{"DefPort", IB_SW_DEF_PORT_F, 8, false},
	{"DefMCastPriPort", IB_SW_DEF_MCAST_PRIM_F, 8, false},
	{"DefMCastNotPriPort", IB_SW_DEF_MCAST_NOT_PRIM_F, 8, false},
	{"LifeTimeValue", IB_SW_LIFE_TIME_F, 5, false},
	{"PortStateChange", IB_SW_STATE_CHANGE_F, 1, false},
	{"OptimizedSLVLMapping", IB_SW_OPT_SLTOVL_MAPPING_F, 2, true},
	{"LidsPerPort", IB_SW_LIDS_PER_PORT_F, 16, false},
	{"PartEnfCap", IB_SW_PARTITION_ENFORCE_CAP_F, 16, true},
	{"InbEnfCap", IB_SW_PARTITION_ENF_INB_F, 1, false},
	{"OutbEnfCap", IB_SW_PARTITION_ENF_OUTB_F, 1, false},
	{"FilterRawInbCap", IB_SW_FILTER_RAW_INB_F, 1, false},
	{"FilterRawOutbCap", IB_SW_FILTER_RAW_OUTB_F, 1, false},
	{"ENP0", IB_SW_ENHANCED_PORT0_F, 1, true},
	{"MCastFDBTop", IB_SW_MCAST_FDB_TOP_F, 16, false},
};

/* The M_Key is left where it is: it opens the port to who reads it. */
static const struct db_column port_columns[] = {
	{"GIDPrfx", IB_PORT_GID_PREFIX_F, 64, false},
	{"MSMLID", IB_PORT_SMLID_F, 16, true},
	{"LID", IB_PORT_LID_F, 16, true},
	{"CapMsk", IB_PORT_CAPMASK_F, 32, true},
	{"M_KeyLeasePeriod", IB_PORT_MKEY_LEASE_F, 16, false},
	{"DiagCode", IB_PORT_DIAG_F, 16, false},
	{"LinkWidthActv", IB_PORT_LINK_WIDTH_ACTIVE_F, 8, true},
	{"LinkWidthSup", IB_PORT_LINK_WIDTH_SUPPORTED_F, 8, true},
	{"LinkWidthEn", IB_PORT_LINK_WIDTH_ENABLED_F, 8, true},
	{"LocalPortNum", IB_PORT_LOCAL_PORT_F, 8, false},
	{"LMC", IB_PORT_LMC_F, 3, true},
	{"MKeyProtBits", IB_PORT_MKEY_PROT_BITS_F, 2, false},
	{"LinkDownDefState", IB_PORT_LINK_DOWN_DEF_F, 4, false},
	{"PortPhyState", IB_PORT_PHYS_STATE_F, 4, true},
	{"PortState", IB_PORT_STATE_F, 4, true},
	{"VLArbHighCap", IB_PORT_VL_ARBITRATION_HIGH_CAP_F, 8, true},
	{"VLHighLimit", IB_PORT_VL_HIGH_LIMIT_F, 8, true},
	{"InitType", IB_PORT_INIT_TYPE_F, 4, false},
	{"VLCap", IB_PORT_VL_CAP_F, 4, true},
	{"MSMSL", IB_PORT_SMSL_F, 4, true},
	{"NMTU", IB_PORT_NEIGHBOR_MTU_F, 4, true},
	{"FilterRawOutb", IB_PORT_FILTER_RAW_OUTB_F, 1, false},
	{"FilterRawInb", IB_PORT_FILTER_RAW_INB_F, 1, false},
	{"PartEnfOutb", IB_PORT_PART_EN_OUTB_F, 1, false},
	{"PartEnfInb", IB_PORT_PART_EN_INB_F, 1, false},
	{"OpVLs", IB_PORT_OPER_VLS_F, 4, true},
	{"HoQLife", IB_PORT_HOQ_LIFE_F, 5, false},
	{"VLStallCnt", IB_PORT_VL_STALL_COUNT_F, 3, false},
	{"MTUCap", IB_PORT_MTU_CAP_F, 4, true},
	{"InitTypeReply", IB_PORT_INIT_TYPE_REPLY_F, 4, false},
	{"VLArbLowCap", IB_PORT_VL_ARBITRATION_LOW_CAP_F, 8, true},
	{"PKeyViolations", IB_PORT_PKEY_VIOL_F, 16, false},
	{"MKeyViolations", IB_PORT_MKEY_VIOL_F, 16, false},
	{"SubnTmo", IB_PORT_SUBN_TIMEOUT_F, 5, false},
	{"ClientReregister", IB_PORT_CLIENT_REREG_F, 1, false},
	{"GUIDCap", IB_PORT_GUID_CAP_F, 8, false},
	{"QKeyViolations", IB_PORT_QKEY_VIOL_F, 16, false},
	{"MaxCreditHint", IB_PORT_MAX_CREDIT_HINT_F, 16, false},
	{"OverrunErrs", IB_PORT_OVERRUN_ERR_F, 4, false},
	{"LocalPhyError", IB_PORT_LOCAL_PHYS_ERR_F, 4, false},
	{"RespTimeValue", IB_PORT_RESP_TIME_VAL_F, 5, false},
	{"LinkRoundTripLatency", IB_PORT_LINK_ROUND_TRIP_F, 24, false},
	{"CapMsk2", IB_PORT_CAPMASK2_F, 16, false},
};
#define COUNT(table) ((unsigned)(sizeof(table) / sizeof((table)[0])))
_Static_assert(sizeof(port_columns) / sizeof(port_columns[0]) <= COLUMNS, "int at[COLUMNS]");

/* The same numbers, but needed: kinds of speed, each of four bytes. */
enum { SPEED_ACTIVE, SPEED_SUPPORTED, SPEED_ENABLED, SPEEDS };
static const struct db_column speed_columns[SPEEDS] = {
	{"LinkSpeedActv", IB_PORT_LINK_SPEED_ACTIVE_F, 32, true},
	{"LinkSpeedSup", IB_PORT_LINK_SPEED_SUPPORTED_F, 32, true},
	{"LinkSpeedEn", IB_PORT_LINK_SPEED_ENABLED_F, 32, true},
};

void db_lacks(struct db *db, const char *format, ...)
{
	va_list args;

	if (db->lacking)
		fputs("; ", db->lacks);
	db->lacking = true;
	va_start(args, format);
	vfprintf(db->lacks, format, args);
	va_end(args);
}

static unsigned name_size(const char *names)
{
	return (unsigned)strcspn(names, "|");
}

bool db_columns(struct db *db, const struct csv_row *row, const struct db_column *table, unsigned count, int *at)
{
	bool whole = true;

	for (unsigned i = 0; i < count; i++) {
		at[i] = csv_column(row, table[i].names);
		if (at[i] >= 0 || !table[i].needed)
			continue;
		db_lacks(db, "column %.*s of %.*s", (int)name_size(table[i].names), table[i].names, (int)row->section->name_size,
			 row->section->name);
		whole = false;
	}
	return whole;
}

static uint64_t highest(unsigned bits)
{
	return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

bool db_fill(struct csv_row *row, const struct db_column *table, unsigned count, const int *at, uint8_t *data)
{
	bool whole = true;

	for (unsigned i = 0; i < count; i++) {
		uint64_t value = 0, most = highest(table[i].bits);
		/* what nobody needs may be of another form in another version */
		enum csv_value got = table[i].needed ? csv_number(row, at[i], most, &value)
						     : csv_number_quiet(row, at[i], most, &value);

		if (got != CSV_GOOD && table[i].needed)
			whole = false;
		if (got != CSV_GOOD)
			continue;
		if (table[i].bits == 64)
			mad_set_field64(data, 0, (enum MAD_FIELDS)table[i].field, value);
		else
			mad_set_field(data, 0, (enum MAD_FIELDS)table[i].field, (uint32_t)value);
	}
	return whole;
}

/* --- places --- */

static uint32_t find_node(struct db *db, struct csv_row *row, int column)
{
	uint64_t guid = 0;
	enum csv_value got = csv_hex(row, column, &guid);
	uint32_t node;

	if (got == CSV_NONE)
		dump_bad(db->faults, row->line, 1, "no node GUID");
	if (got != CSV_GOOD)
		return FABRIC_NONE;
	node = db->fabric->finished ? fabric_find_node(db->fabric, guid) : fabric_index(db->fabric, guid);
	if (node == FABRIC_NONE)
		dump_bad(db->faults, row->line, row->fields[column].column,
			 "node 0x%016" PRIx64 " is not among the nodes: the file may be cut off", guid);
	return node;
}

uint32_t db_port(struct db *db, struct csv_row *row, int guid, int number)
{
	uint32_t node = find_node(db, row, guid), port;
	uint64_t value = 0;
	enum csv_value got = node == FABRIC_NONE ? CSV_BAD : csv_number(row, number, UINT8_MAX, &value);

	if (got == CSV_NONE)
		dump_bad(db->faults, row->line, 1, "no port number");
	if (got != CSV_GOOD)
		return FABRIC_NONE;
	port = fabric_node_port(db->fabric, node, (unsigned)value);
	if (port == FABRIC_NONE || (value == 0 && db->fabric->nodes[node].type != FABRIC_SWITCH)) {
		dump_bad(db->faults, row->line, row->fields[number].column, "no port %u of the node, which has %u",
			 (unsigned)value, db->fabric->nodes[node].ports);
		return FABRIC_NONE;
	}
	return port;
}

/* --- nodes --- */

/* The description as the device would have told it. */
static void put_description(const struct csv_row *row, int column, uint8_t desc[MAD_SMP_DATA])
{
	const struct csv_field *f = column < 0 ? NULL : &row->fields[column];

	memset(desc, 0, MAD_SMP_DATA);
	if (f && f->size > 0)
		memcpy(desc, f->at, f->size < MAD_SMP_DATA ? f->size : MAD_SMP_DATA);
}

static int add_node(struct db *db, struct csv_row *row, const int *at, const int guids[3], int desc_column)
{
	static const int guid_fields[] = {IB_NODE_GUID_F, IB_NODE_SYSTEM_GUID_F, IB_NODE_PORT_GUID_F};
	uint8_t info[MAD_SMP_DATA] = {0}, desc[MAD_SMP_DATA];
	uint32_t before = db->fabric->node_count;
	uint64_t guid = 0, node_guid = 0;

	if (csv_hex(row, guids[0], &node_guid) == CSV_BAD)
		return 0;
	if (node_guid == 0) {
		dump_bad(db->faults, row->line, 1, "a node without a GUID");
		return 0;
	}
	for (unsigned i = 0; i < 3; i++)
		if (csv_hex(row, guids[i], &guid) == CSV_GOOD)
			mad_set_field64(info, 0, (enum MAD_FIELDS)guid_fields[i], guid);
	if (!db_fill(row, node_columns, COUNT(node_columns), at, info)) {
		dump_bad(db->faults, row->line, 1, "type or number of ports of node 0x%016" PRIx64 " is not known", node_guid);
		return 0;
	}
	if (mad_get_field(info, 0, IB_NODE_TYPE_F) < FABRIC_CA || mad_get_field(info, 0, IB_NODE_TYPE_F) > FABRIC_ROUTER ||
	    mad_get_field(info, 0, IB_NODE_NPORTS_F) == 0 || mad_get_field(info, 0, IB_NODE_NPORTS_F) > 254) {
		dump_bad(db->faults, row->line, 1, "node 0x%016" PRIx64 " of type %u with %u ports: no such can be", node_guid,
			 mad_get_field(info, 0, IB_NODE_TYPE_F), mad_get_field(info, 0, IB_NODE_NPORTS_F));
		return 0;
	}
	put_description(row, desc_column, desc);
	if (fabric_add_node(db->fabric, info, NULL, desc, NULL) == FABRIC_NONE)
		return -ENOMEM;
	if (db->fabric->node_count == before)
		dump_bad(db->faults, row->line, 1, "node 0x%016" PRIx64 " a second time", node_guid);
	return 0;
}

static int read_nodes(struct db *db)
{
	const struct csv_section *section = csv_section(&db->csv, "NODES");
	struct csv_row row;
	int at[COLUMNS] = {0}, guids[3] = {-1, -1, -1}, desc = -1, error;

	if (!section)
		return dump_bad(db->faults, 0, 0, "no section NODES in it");
	error = csv_row_begin(&db->csv, section, &row);
	if (error == 0) {
		guids[0] = csv_column(&row, "NodeGUID");
		guids[1] = csv_column(&row, "SystemImageGUID");
		guids[2] = csv_column(&row, "PortGUID");
		desc = csv_column(&row, "NodeDesc");
		if (!db_columns(db, &row, node_columns, COUNT(node_columns), at) || guids[0] < 0)
			error = dump_bad(db->faults, section->head_line, 1,
					 "NODES needs columns NodeGUID, NodeType and NumPorts");
		while (error == 0 && csv_row_next(&row))
			error = add_node(db, &row, at, guids, desc);
	}
	csv_row_end(&row);
	if (error == 0 && db->fabric->node_count == 0 && db->faults->count == 0)
		error = dump_bad(db->faults, section->head_line, 1, "no node in it");
	return error;
}

static int read_switches(struct db *db)
{
	const struct csv_section *section = csv_section(&db->csv, "SWITCHES");
	int at[COLUMNS] = {0}, guid, error;
	struct csv_row row;
	bool whole;

	if (!section) {
		db_lacks(db, "SwitchInfo (SWITCHES)");
		return 0;
	}
	error = csv_row_begin(&db->csv, section, &row);
	guid = error == 0 ? csv_column(&row, "NodeGUID") : -1;
	whole = error == 0 && db_columns(db, &row, switch_columns, COUNT(switch_columns), at);
	if (error == 0 && guid < 0)
		db_lacks(db, "column NodeGUID of SWITCHES");
	while (whole && guid >= 0 && csv_row_next(&row)) {
		uint8_t info[MAD_SMP_DATA] = {0};
		uint32_t node = find_node(db, &row, guid);

		if (node == FABRIC_NONE || !db_fill(&row, switch_columns, COUNT(switch_columns), at, info))
			continue;
		fabric_add_node(db->fabric, db->fabric->nodes[node].node_info, info, NULL, NULL);
	}
	csv_row_end(&row);
	return error;
}

/* --- ports --- */

/* Speeds into the fields of PortInfo and ExtendedPortInfo. */
static void put_speeds(const uint64_t speed[SPEEDS], uint8_t *info, uint8_t *ext_info)
{
	static const enum MAD_FIELDS legacy[SPEEDS] = {IB_PORT_LINK_SPEED_ACTIVE_F, IB_PORT_LINK_SPEED_SUPPORTED_F,
						       IB_PORT_LINK_SPEED_ENABLED_F};
	static const enum MAD_FIELDS ext[SPEEDS] = {IB_PORT_LINK_SPEED_EXT_ACTIVE_F, IB_PORT_LINK_SPEED_EXT_SUPPORTED_F,
						    IB_PORT_LINK_SPEED_EXT_ENABLED_F};
	static const enum MAD_FIELDS vendor[SPEEDS] = {IB_MLNX_EXT_PORT_LINK_SPEED_ACTIVE_F,
						       IB_MLNX_EXT_PORT_LINK_SPEED_SUPPORTED_F,
						       IB_MLNX_EXT_PORT_LINK_SPEED_ENABLED_F};
	static const unsigned ext2_shift[SPEEDS] = {5, 3, 0}, ext2_mask[SPEEDS] = {3, 3, 7};

	for (unsigned i = 0; i < SPEEDS; i++) {
		unsigned old = speed[i] & 0xf;

		if (i == SPEED_ACTIVE && old == 0 && speed[i] != 0) /* the best that the old field can say */
			old = SPEED_QDR;
		mad_set_field(info, 0, legacy[i], old);
		mad_set_field(info, 0, ext[i], (uint32_t)(speed[i] >> 8 & 0x1f));
		mad_set_field(ext_info, 0, vendor[i], (uint32_t)(speed[i] >> 16 & 0xff));
		info[EXT2_BYTE] |= (uint8_t)((speed[i] >> 24 & ext2_mask[i]) << ext2_shift[i]);
	}
}

/* One row of PORTS. What it does not have leaves the port unknown. */
static void add_port(struct db *db, struct csv_row *row, uint32_t port, const int *at, const int *speeds)
{
	uint8_t info[MAD_SMP_DATA] = {0}, ext_info[MAD_SMP_DATA] = {0};
	uint64_t speed[SPEEDS] = {0}, guid = 0;
	bool whole = db_fill(row, port_columns, COUNT(port_columns), at, info);

	for (unsigned i = 0; i < SPEEDS; i++)
		whole &= csv_number(row, speeds[i], UINT32_MAX, &speed[i]) == CSV_GOOD;
	csv_hex(row, csv_column(row, "PortGuid"), &guid);
	/* of a port that is down all else means nothing (IBA C14-24.2.1) */
	whole = whole || mad_get_field(info, 0, IB_PORT_STATE_F) == FABRIC_STATE_DOWN;
	if (!whole)
		memset(info, 0, sizeof(info)); /* taken as not answered */
	else
		put_speeds(speed, info, ext_info);
	fabric_port_seen(db->fabric, db->fabric->ports[port].node, db->fabric->ports[port].number, guid, info, ext_info);
}

static int read_ports(struct db *db)
{
	const struct csv_section *section = csv_section(&db->csv, "PORTS");
	int at[COLUMNS] = {0}, speeds[SPEEDS] = {0}, guid, number, error;
	bool *seen = calloc((size_t)db->fabric->port_count + 1, sizeof(*seen)), whole;
	struct csv_row row;

	if (!section)
		db_lacks(db, "PortInfo (PORTS)");
	if (!seen || !section) {
		free(seen);
		return section ? -ENOMEM : 0;
	}
	error = csv_row_begin(&db->csv, section, &row);
	guid = error == 0 ? csv_column(&row, "NodeGuid") : -1;
	number = error == 0 ? csv_column(&row, "PortNum|PortNumber") : -1;
	if (error == 0 && (guid < 0 || number < 0))
		error = dump_bad(db->faults, section->head_line, 1, "PORTS needs columns NodeGuid and PortNum");
	whole = error == 0 && db_columns(db, &row, port_columns, COUNT(port_columns), at);
	if (error == 0)
		whole = db_columns(db, &row, speed_columns, SPEEDS, speeds) && whole;
	while (error == 0 && csv_row_next(&row)) {
		uint32_t port = db_port(db, &row, guid, number);

		if (port == FABRIC_NONE)
			continue;
		if (seen[port])
			dump_bad(db->faults, row.line, 1, "port %u of node 0x%016" PRIx64 " a second time",
				 db->fabric->ports[port].number, fabric_port_node(db->fabric, port)->guid);
		else if (whole)
			add_port(db, &row, port, at, speeds);
		seen[port] = true;
	}
	csv_row_end(&row);
	free(seen);
	return error;
}

/* --- links --- */

static int read_links(struct db *db)
{
	const struct csv_section *section = csv_section(&db->csv, "LINKS");
	int guid[2] = {-1, -1}, number[2] = {-1, -1}, error;
	struct csv_row row;

	if (!section) {
		db_lacks(db, "links (LINKS)");
		return 0;
	}
	error = csv_row_begin(&db->csv, section, &row);
	if (error == 0) {
		guid[0] = csv_column(&row, "NodeGuid1");
		number[0] = csv_column(&row, "PortNum1");
		guid[1] = csv_column(&row, "NodeGuid2");
		number[1] = csv_column(&row, "PortNum2");
		if (guid[0] < 0 || guid[1] < 0 || number[0] < 0 || number[1] < 0)
			error = dump_bad(db->faults, section->head_line, 1,
					 "LINKS needs columns NodeGuid1, PortNum1, NodeGuid2 and PortNum2");
	}
	while (error == 0 && csv_row_next(&row)) {
		uint32_t a = db_port(db, &row, guid[0], number[0]), b = db_port(db, &row, guid[1], number[1]);
		const struct fabric_port *ports = db->fabric->ports;
		int linked;

		if (a == FABRIC_NONE || b == FABRIC_NONE)
			continue;
		linked = fabric_link(db->fabric, ports[a].node, ports[a].number, ports[b].node, ports[b].number);
		if (linked != 0)
			dump_bad(db->faults, row.line, 1,
				 linked == -EEXIST ? "one of the two ports is cabled to another one" : "a link at port 0");
	}
	csv_row_end(&row);
	return error;
}

/* --- the whole --- */

/* MasterSMLID of the first end port that is active: the file does not say who looked. */
static void find_sm(struct fabric *f)
{
	for (uint32_t i = 0; i < f->port_count && f->sm_lid == 0; i++) {
		const struct fabric_port *p = &f->ports[i];

		if (p->known && (p->number == 0 || (fabric_port_node(f, i)->type != FABRIC_SWITCH &&
						    fabric_port_state(p) == FABRIC_STATE_ACTIVE)))
			f->sm_lid = (uint16_t)mad_get_field((void *)p->info, 0, IB_PORT_SMLID_F);
	}
}

/* Where no port is known at all, that is told once, not by port. */
static void drop_gaps(struct fabric *f)
{
	for (uint32_t i = 0; i < f->port_count; i++)
		if (f->ports[i].known)
			return;
	f->gap_count = 0;
}

static void count_passed(struct db *db)
{
	static const char *const read[] = {"NODES", "PORTS", "SWITCHES", "LINKS", "PM_INFO", "PKEY", "VL_ARBITRATION_TABLE",
					   "SM_INFO", "CABLE_INFO"};
	size_t passed = db->csv.count;

	for (unsigned i = 0; i < COUNT(read); i++)
		passed -= csv_section(&db->csv, read[i]) != NULL;
	if (passed > 0)
		db_lacks(db, "%zu of its sections passed over", passed);
}

static int read_answers(struct db *db)
{
	int error = db_counters(db);

	if (error == 0)
		error = db_arbitration(db);
	if (error == 0)
		error = db_pkeys(db);
	if (error == 0)
		error = db_managers(db);
	if (error == 0)
		error = db_cables(db);
	return error;
}

static int read_all(struct db *db)
{
	int error = read_nodes(db);

	if (error == 0 && db->faults->count > 0) /* what names nodes would only repeat what is wrong with them */
		error = -EBADMSG;
	if (error == 0)
		error = read_switches(db);
	if (error == 0)
		error = read_ports(db);
	if (error == 0)
		error = read_links(db);
	if (error == 0)
		error = fabric_finish(db->fabric);
	if (error != 0)
		return error;
	find_sm(db->fabric);
	drop_gaps(db->fabric);
	return read_answers(db);
}

int db_csv_read(const char *label, const char *text, size_t size, struct dump_result *result,
		struct dump_faults *faults)
{
	struct db db = {.result = result, .faults = faults};
	size_t lacks_size = 0;
	char *lacks = NULL;
	int error;

	*result = (struct dump_result){0};
	*faults = (struct dump_faults){0};
	error = csv_open(text, size, faults, &db.csv);
	if (error == 0) {
		db.fabric = result->fabric = fabric_new(label);
		db.lacks = open_memstream(&lacks, &lacks_size);
		error = db.fabric && db.lacks ? 0 : -ENOMEM;
	}
	if (error == 0) {
		db_lacks(&db, "SL2VL and forwarding: ibdiagnet writes them to other files");
		error = read_all(&db);
		count_passed(&db);
	}
	if (db.lacks && text_stream_end(db.lacks, &lacks) != 0 && error == 0)
		error = -ENOMEM;
	csv_close(&db.csv);
	if (error == 0 && faults->count > 0)
		error = -EBADMSG;
	result->lacks = lacks;
	if (error != 0)
		dump_result_clear(result);
	return error;
}

/* A section's mark on a line of its own. */
bool db_csv_is(const char *text, size_t size)
{
	static const char *const signs[] = {"START_NODES", "START_PORTS", "START_LINKS"};

	for (unsigned i = 0; i < COUNT(signs); i++) {
		const char *end = text + size, *at = text;

		while ((at = memmem(at, (size_t)(end - at), signs[i], strlen(signs[i]))) != NULL) {
			const char *behind = at + strlen(signs[i]);
			bool first = at == text || at[-1] == '\n' || (at == text + 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0);

			if (first && (behind == end || *behind == '\n' || *behind == '\r'))
				return true;
			at = behind;
		}
	}
	return false;
}
