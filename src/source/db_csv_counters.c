/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * db_csv's PM_INFO as the answers that devices gave: PortCounters, PortCountersExtended, details of errors and discards. A
 * device has what the rows of all its active ports have; ClassPortInfo is made to say so. Names: as IBA's, with "Ext" for those of 64 bits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mad.h>

#include "db_csv.h"

#define CAP_EXT_WIDTH (1u << 9)	 /* ClassPortInfo:CapabilityMask */
#define CAP2_EXT_ERRORS (1u << 1) /* CapabilityMask2 */
#define CAP2_SHIFT 5
#define SELECT_BYTE 1 /* PortSelect, of every attribute here */

static const struct db_column totals[] = {
	{"SymbolErrorCounter", IB_PC_ERR_SYM_F, 16, true},
	{"LinkErrorRecoveryCounter", IB_PC_LINK_RECOVERS_F, 8, true},
	{"LinkDownedCounter", IB_PC_LINK_DOWNED_F, 8, true},
	{"PortRcvErrors", IB_PC_ERR_RCV_F, 16, true},
	{"PortRcvRemotePhysicalErrors", IB_PC_ERR_PHYSRCV_F, 16, true},
	{"PortRcvSwitchRelayErrors", IB_PC_ERR_SWITCH_REL_F, 16, true},
	{"PortXmitDiscards", IB_PC_XMT_DISCARDS_F, 16, true},
	{"PortXmitConstraintErrors", IB_PC_ERR_XMTCONSTR_F, 8, true},
	{"PortRcvConstraintErrors", IB_PC_ERR_RCVCONSTR_F, 8, true},
	{"LocalLinkIntegrityErrors", IB_PC_ERR_LOCALINTEG_F, 4, true},
	{"ExcessiveBufferOverrunErrors", IB_PC_ERR_EXCESS_OVR_F, 4, true},
	{"VL15Dropped", IB_PC_VL15_DROPPED_F, 16, true},
	{"PortXmitData", IB_PC_XMT_BYTES_F, 32, true},
	{"PortRcvData", IB_PC_RCV_BYTES_F, 32, true},
	{"PortXmitPkts", IB_PC_XMT_PKTS_F, 32, true},
	{"PortRcvPkts", IB_PC_RCV_PKTS_F, 32, true},
	{"PortXmitWait", IB_PC_XMT_WAIT_F, 32, true},
};

static const struct db_column wide_data[] = {
	{"PortXmitDataExtended|PortXmitDataExt", IB_PC_EXT_XMT_BYTES_F, 64, true},
	{"PortRcvDataExtended|PortRcvDataExt", IB_PC_EXT_RCV_BYTES_F, 64, true},
	{"PortXmitPktsExtended|PortXmitPktsExt", IB_PC_EXT_XMT_PKTS_F, 64, true},
	{"PortRcvPktsExtended|PortRcvPktsExt", IB_PC_EXT_RCV_PKTS_F, 64, true},
};

#define WIDE(name) name "Ext|" name "Extended"
static const struct db_column wide_errors[] = {
	{WIDE("SymbolErrorCounter"), IB_PC_EXT_ERR_SYM_F, 64, true},
	{WIDE("LinkErrorRecoveryCounter"), IB_PC_EXT_LINK_RECOVERS_F, 64, true},
	{WIDE("LinkDownedCounter"), IB_PC_EXT_LINK_DOWNED_F, 64, true},
	{WIDE("PortRcvErrors"), IB_PC_EXT_ERR_RCV_F, 64, true},
	{WIDE("PortRcvRemotePhysicalErrors"), IB_PC_EXT_ERR_PHYSRCV_F, 64, true},
	{WIDE("PortRcvSwitchRelayErrors"), IB_PC_EXT_ERR_SWITCH_REL_F, 64, true},
	{WIDE("PortXmitDiscards"), IB_PC_EXT_XMT_DISCARDS_F, 64, true},
	{WIDE("PortXmitConstraintErrors"), IB_PC_EXT_ERR_XMTCONSTR_F, 64, true},
	{WIDE("PortRcvConstraintErrors"), IB_PC_EXT_ERR_RCVCONSTR_F, 64, true},
	{WIDE("LocalLinkIntegrityErrors"), IB_PC_EXT_ERR_LOCALINTEG_F, 64, true},
	{WIDE("ExcessiveBufferOverrunErrors"), IB_PC_EXT_ERR_EXCESS_OVR_F, 64, true},
	{WIDE("VL15Dropped"), IB_PC_EXT_VL15_DROPPED_F, 64, true},
	{WIDE("PortXmitWait"), IB_PC_EXT_XMT_WAIT_F, 64, true},
	{WIDE("QP1Dropped"), IB_PC_EXT_QP1_DROP_F, 64, true},
};

static const struct db_column rcv_details[] = {
	{"PortLocalPhysicalErrors", IB_PC_RCV_LOCAL_PHY_ERR_F, 16, true},
	{"PortMalformedPacketErrors", IB_PC_RCV_MALFORMED_PKT_ERR_F, 16, true},
	{"PortBufferOverrunErrors", IB_PC_RCV_BUF_OVR_ERR_F, 16, true},
	{"PortDLIDMappingErrors", IB_PC_RCV_DLID_MAP_ERR_F, 16, true},
	{"PortVLMappingErrors", IB_PC_RCV_VL_MAP_ERR_F, 16, true},
	{"PortLoopingErrors", IB_PC_RCV_LOOPING_ERR_F, 16, true},
};

static const struct db_column xmit_details[] = {
	{"PortInactiveDiscards", IB_PC_XMT_INACT_DISC_F, 16, true},
	{"PortNeighborMTUDiscards", IB_PC_XMT_NEIGH_MTU_DISC_F, 16, true},
	{"PortSwLifetimeLimitDiscards", IB_PC_XMT_SW_LIFE_DISC_F, 16, true},
	{"PortSwHOQLifetimeLimitDiscards", IB_PC_XMT_SW_HOL_DISC_F, 16, true},
};

#define COUNT(table) ((unsigned)(sizeof(table) / sizeof((table)[0])))

enum part { PART_TOTALS, PART_DATA, PART_ERRORS, PART_RCV, PART_XMIT, PARTS };
static const struct {
	const char *name;
	const struct db_column *table;
	unsigned count;
	uint16_t attribute;
} parts[PARTS] = {
	[PART_TOTALS] = {"PortCounters", totals, COUNT(totals), MAD_PORT_COUNTERS},
	[PART_DATA] = {"PortCountersExtended", wide_data, COUNT(wide_data), MAD_PORT_COUNTERS_EXT},
	[PART_ERRORS] = {"errors of 64 bits", wide_errors, COUNT(wide_errors), MAD_PORT_COUNTERS_EXT},
	[PART_RCV] = {"PortRcvErrorDetails", rcv_details, COUNT(rcv_details), MAD_PORT_RCV_ERROR_DETAILS},
	[PART_XMIT] = {"PortXmitDiscardDetails", xmit_details, COUNT(xmit_details), MAD_PORT_XMIT_DISCARD_DETAILS},
};
#define PART_COLUMNS 20

struct reading {
	struct db *db;
	struct csv_row row;
	int at[PARTS][PART_COLUMNS];
	int guid, number;
	uint8_t *has; /* by agent's port index: bits of parts that all its rows have */
	bool *told;   /* by agent's port index: it has rows */
	bool *seen;   /* by port index */
};

/* A counter that is too large for its field is at its highest value there: that many or more. */
static bool fill(struct csv_row *row, enum part part, const int *at, uint8_t *data)
{
	for (unsigned i = 0; i < parts[part].count; i++) {
		const struct db_column *c = &parts[part].table[i];
		uint64_t most = c->bits == 64 ? UINT64_MAX : (UINT64_C(1) << c->bits) - 1, value = 0;

		if (at[i] < 0 || csv_number(row, at[i], UINT64_MAX, &value) != CSV_GOOD)
			return false;
		if (c->bits == 64)
			mad_set_field64(data, 0, (enum MAD_FIELDS)c->field, value);
		else
			mad_set_field(data, 0, (enum MAD_FIELDS)c->field, (uint32_t)(value < most ? value : most));
	}
	return true;
}

/* Which parts a row has; all of PortCountersExtended into one answer. */
static unsigned has_parts(struct reading *r, uint8_t data[PARTS][MAD_PERF_DATA], uint8_t number)
{
	unsigned has = 0;

	memset(data, 0, (size_t)PARTS * MAD_PERF_DATA);
	for (int part = 0; part < PARTS; part++)
		if (fill(&r->row, (enum part)part, r->at[part], data[part == PART_ERRORS ? PART_DATA : part]))
			has |= 1u << part;
	if (!(has & 1u << PART_DATA))
		has &= ~(1u << PART_ERRORS);
	for (int part = 0; part < PARTS; part++)
		data[part][SELECT_BYTE] = number;
	return has;
}

static int read_row(struct reading *r, uint32_t port)
{
	const struct fabric_port *p = &r->db->fabric->ports[port];
	uint8_t number = p->number, data[PARTS][MAD_PERF_DATA];
	uint32_t agent = fabric_port_agent(r->db->fabric, port);
	unsigned has = has_parts(r, data, number);
	int error = 0;

	/* nobody asks for those of a port that is not active, and its row may be empty */
	if (!p->known || p->number == 0 || fabric_port_state(p) != FABRIC_STATE_ACTIVE)
		return 0;
	r->has[agent] = (uint8_t)(r->told[agent] ? r->has[agent] & has : has);
	r->told[agent] = true;
	for (int part = 0; part < PARTS && error == 0; part++)
		if (has & 1u << part && part != PART_ERRORS)
			error = dump_keep(&r->db->result->answers, port, MAD_CLASS_PERF, parts[part].attribute, number,
					  data[part], MAD_PERF_DATA);
	return error;
}

/* What the device says that it has, as its rows show it. */
static int keep_class(struct reading *r, uint32_t agent)
{
	uint8_t data[MAD_PERF_DATA] = {0};
	unsigned has = r->has[agent];
	unsigned caps = has & 1u << PART_DATA ? CAP_EXT_WIDTH : 0;
	unsigned caps2 = has & 1u << PART_ERRORS ? CAP2_EXT_ERRORS << CAP2_SHIFT : 0;

	if (!(has & (1u << PART_TOTALS | 1u << PART_ERRORS)))
		return 0; /* neither all totals nor all of 64 bits: what it counts is not known */
	data[0] = data[1] = 1; /* versions of the class */
	data[2] = (uint8_t)(caps >> 8);
	data[3] = (uint8_t)caps;
	data[7] = (uint8_t)caps2;
	return dump_keep(&r->db->result->answers, agent, MAD_CLASS_PERF, MAD_PERF_CLASS_PORT_INFO, 0, data, sizeof(data));
}

static void find_columns(struct reading *r)
{
	bool some[PARTS];

	for (int part = 0; part < PARTS; part++) {
		some[part] = true;
		for (unsigned i = 0; i < parts[part].count; i++) {
			r->at[part][i] = csv_column(&r->row, parts[part].table[i].names);
			some[part] &= r->at[part][i] >= 0;
		}
		if (!some[part] && (part == PART_RCV || part == PART_XMIT))
			db_lacks(r->db, "%s", parts[part].name);
	}
	if (!some[PART_TOTALS] && !(some[PART_DATA] && some[PART_ERRORS]))
		db_lacks(r->db, "counters: neither all of PortCounters nor all of 64 bits have columns in PM_INFO");
}

static int read_rows(struct reading *r)
{
	const struct fabric *f = r->db->fabric;
	int error = 0;

	while (error == 0 && csv_row_next(&r->row)) {
		uint32_t port = db_port(r->db, &r->row, r->guid, r->number);

		if (port == FABRIC_NONE)
			continue;
		if (r->seen[port])
			dump_bad(r->db->faults, r->row.line, 1, "counters of port %u a second time", f->ports[port].number);
		else
			error = read_row(r, port);
		r->seen[port] = true;
	}
	for (uint32_t i = 0; i < f->port_count && error == 0; i++)
		if (r->told[i])
			error = keep_class(r, i);
	return error;
}

int db_counters(struct db *db)
{
	const struct csv_section *section = csv_section(&db->csv, "PM_INFO");
	size_t room = (size_t)db->fabric->port_count + 1;
	struct reading r = {.db = db};
	int error;

	if (!section) {
		db_lacks(db, "counters (PM_INFO)");
		return 0;
	}
	r.has = calloc(room, sizeof(*r.has));
	r.told = calloc(room, sizeof(*r.told));
	r.seen = calloc(room, sizeof(*r.seen));
	error = r.has && r.told && r.seen ? csv_row_begin(&db->csv, section, &r.row) : -ENOMEM;
	if (error == 0) {
		r.guid = csv_column(&r.row, "NodeGUID");
		r.number = csv_column(&r.row, "PortNumber|PortNum");
		if (r.guid < 0 || r.number < 0) {
			db_lacks(db, "counters: PM_INFO has no columns NodeGUID and PortNumber");
		} else {
			find_columns(&r);
			error = read_rows(&r);
		}
	}
	csv_row_end(&r.row);
	free(r.has);
	free(r.told);
	free(r.seen);
	return error == -EBADMSG ? 0 : error; /* it is among the faults */
}
