/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The table of counters: where each stands, how wide it is and what its growth means.
 *
 * Places: IBA 16.1.3.5, 16.1.4.11, 16.1.4.20, by libibmad's field numbers (rdma-core libibmad/fields.c). Rates: link downs
 * NVIDIA's "InfiniBand Cluster Bring-up" (two in 24 h); discards, constraint errors, overruns and VL15 the defaults of
 * NVIDIA UFM's events, which looks every 300 s; link recoveries and remote errors as ibcheckerrs had them, a day.
 */
#include <infiniband/mad.h>
#include <string.h>

#include "ibqos/counters.h"

#define QP1_BYTE 20 /* IBA 16.1.3.5: bits 160 to 175 */
#define DAY 86400
#define UFM 300 /* seconds between two looks */

#define PC MAD_PORT_COUNTERS
#define PCX MAD_PORT_COUNTERS_EXT
#define PESC MAD_PORT_EXT_SPEEDS_COUNTERS
#define BER(code) COUNTER_BER, code, 0, 0
#define RATE(code, count, seconds) COUNTER_RATE, code, count, seconds
#define CONTEXT COUNTER_CONTEXT, FINDING_CODES, 0, 0

/* clang-format off */
static const struct counter_row rows[COUNTERS] = {
	[COUNTER_SYMBOL] = {"SymbolErrorCounter", PC, IB_PC_ERR_SYM_F, 16, IB_PC_EXT_ERR_SYM_F, true,
		BER(FINDING_LINK_BER_HIGH), "symbols received with errors, after correction where the link has FEC"},
	[COUNTER_RECOVERY] = {"LinkErrorRecoveryCounter", PC, IB_PC_LINK_RECOVERS_F, 8, IB_PC_EXT_LINK_RECOVERS_F, true,
		RATE(FINDING_LINK_RECOVERIES, 10, DAY), "times the link was trained again and came back"},
	[COUNTER_DOWNED] = {"LinkDownedCounter", PC, IB_PC_LINK_DOWNED_F, 8, IB_PC_EXT_LINK_DOWNED_F, true,
		RATE(FINDING_LINK_FLAPS, 2, DAY), "times the link went down"},
	[COUNTER_RCV_ERRORS] = {"PortRcvErrors", PC, IB_PC_ERR_RCV_F, 16, IB_PC_EXT_ERR_RCV_F, true,
		BER(FINDING_LINK_RECEIVE_ERRORS), "packets received with errors, and lost"},
	[COUNTER_RCV_REMOTE] = {"PortRcvRemotePhysicalErrors", PC, IB_PC_ERR_PHYSRCV_F, 16, IB_PC_EXT_ERR_PHYSRCV_F, true,
		RATE(FINDING_PORT_REMOTE_ERRORS, 100, DAY), "packets received that another link had broken"},
	[COUNTER_RCV_RELAY] = {"PortRcvSwitchRelayErrors", PC, IB_PC_ERR_SWITCH_REL_F, 16, IB_PC_EXT_ERR_SWITCH_REL_F, true,
		CONTEXT, "packets that the switch did not pass on: multicast to its own port, mostly"},
	[COUNTER_XMIT_DISCARDS] = {"PortXmitDiscards", PC, IB_PC_XMT_DISCARDS_F, 16, IB_PC_EXT_XMT_DISCARDS_F, true,
		RATE(FINDING_PORT_DISCARDS, 200, UFM), "packets to be sent that were dropped"},
	[COUNTER_XMIT_CONSTRAINT] = {"PortXmitConstraintErrors", PC, IB_PC_ERR_XMTCONSTR_F, 8, IB_PC_EXT_ERR_XMTCONSTR_F, true,
		RATE(FINDING_PORT_CONSTRAINT, 200, UFM), "packets of a foreign partition, not sent"},
	[COUNTER_RCV_CONSTRAINT] = {"PortRcvConstraintErrors", PC, IB_PC_ERR_RCVCONSTR_F, 8, IB_PC_EXT_ERR_RCVCONSTR_F, true,
		RATE(FINDING_PORT_CONSTRAINT, 200, UFM), "packets of a foreign partition, dropped"},
	[COUNTER_INTEGRITY] = {"LocalLinkIntegrityErrors", PC, IB_PC_ERR_LOCALINTEG_F, 4, IB_PC_EXT_ERR_LOCALINTEG_F, true,
		BER(FINDING_LINK_RECEIVE_ERRORS), "times that packets with errors came thick"},
	[COUNTER_OVERRUN] = {"ExcessiveBufferOverrunErrors", PC, IB_PC_ERR_EXCESS_OVR_F, 4, IB_PC_EXT_ERR_EXCESS_OVR_F, true,
		RATE(FINDING_PORT_OVERRUN, 100, UFM), "times that buffers ran over for long"},
	[COUNTER_VL15] = {"VL15Dropped", PC, IB_PC_VL15_DROPPED_F, 16, IB_PC_EXT_VL15_DROPPED_F, true,
		RATE(FINDING_PORT_VL15_DROPPED, 50, UFM), "management packets dropped"},
	[COUNTER_QP1] = {"QP1Dropped", PC, 0, 16, IB_PC_EXT_QP1_DROP_F, true,
		CONTEXT, "packets to the port's general services dropped"},
	[COUNTER_XMIT_WAIT] = {"PortXmitWait", PC, IB_PC_XMT_WAIT_F, 32, IB_PC_EXT_XMT_WAIT_F, true,
		CONTEXT, "ticks in which there was something to send and it could not be"},
	[COUNTER_XMIT_DATA] = {"PortXmitData", PC, IB_PC_XMT_BYTES_F, 32, IB_PC_EXT_XMT_BYTES_F, false,
		CONTEXT, "sent, in 4 bytes"},
	[COUNTER_RCV_DATA] = {"PortRcvData", PC, IB_PC_RCV_BYTES_F, 32, IB_PC_EXT_RCV_BYTES_F, false,
		CONTEXT, "received, in 4 bytes"},
	[COUNTER_XMIT_PKTS] = {"PortXmitPkts", PC, IB_PC_XMT_PKTS_F, 32, IB_PC_EXT_XMT_PKTS_F, false,
		CONTEXT, "packets sent"},
	[COUNTER_RCV_PKTS] = {"PortRcvPkts", PC, IB_PC_RCV_PKTS_F, 32, IB_PC_EXT_RCV_PKTS_F, false,
		CONTEXT, "packets received"},
	[COUNTER_SYNC_HEADER] = {"SyncHeaderErrorCounter", PESC, IB_PESC_SYNC_HDR_ERR_CTR_F, 16, 0, false,
		BER(FINDING_LINK_BER_HIGH), "blocks whose header was broken"},
	[COUNTER_UNKNOWN_BLOCK] = {"UnknownBlockCounter", PESC, IB_PESC_UNK_BLOCK_CTR_F, 16, 0, false,
		BER(FINDING_LINK_BER_HIGH), "blocks of no type that there is"},
	[COUNTER_FEC_CORRECTED] = {"PortFECCorrectableBlockCtr", PESC, IB_PESC_PORT_FEC_CORR_BLOCK_CTR_F, 32, 0, false,
		CONTEXT, "blocks that FEC mended"},
	[COUNTER_FEC_UNCORRECTED] = {"PortFECUncorrectableBlockCtr", PESC, IB_PESC_PORT_FEC_UNCORR_BLOCK_CTR_F, 32, 0, false,
		BER(FINDING_LINK_FEC_UNCORRECTED), "blocks that FEC could not mend"},
};
/* clang-format on */

_Static_assert(COUNTERS <= 32, "COUNTER_BIT() is a bit of 32");

const struct counter_row *counter_row(enum counter_id id)
{
	return &rows[id];
}

enum counter_id counter_named(const char *name)
{
	unsigned id = 0;

	while (id < COUNTERS && strcmp(rows[id].name, name) != 0)
		id++;
	return id;
}

/* In the order in which they stand: IBA 16.1.4.2, 16.1.4.3. */
static const int rcv_detail_fields[COUNTER_RCV_DETAILS] = {IB_PC_RCV_LOCAL_PHY_ERR_F, IB_PC_RCV_MALFORMED_PKT_ERR_F,
							   IB_PC_RCV_BUF_OVR_ERR_F,   IB_PC_RCV_DLID_MAP_ERR_F,
							   IB_PC_RCV_VL_MAP_ERR_F,    IB_PC_RCV_LOOPING_ERR_F};
static const int xmit_detail_fields[COUNTER_XMIT_DETAILS] = {IB_PC_XMT_INACT_DISC_F, IB_PC_XMT_NEIGH_MTU_DISC_F,
							     IB_PC_XMT_SW_LIFE_DISC_F, IB_PC_XMT_SW_HOL_DISC_F};

const char *counter_rcv_detail_name(unsigned which)
{
	static const char *const names[COUNTER_RCV_DETAILS] = {
		"PortLocalPhysicalErrors", "PortMalformedPacketErrors", "PortBufferOverrunErrors",
		"PortDLIDMappingErrors",   "PortVLMappingErrors",	"PortLoopingErrors"};

	return names[which];
}

const char *counter_xmit_detail_name(unsigned which)
{
	static const char *const names[COUNTER_XMIT_DETAILS] = {"PortInactiveDiscards", "PortNeighborMTUDiscards",
								"PortSwLifetimeLimitDiscards",
								"PortSwHOQLifetimeLimitDiscards"};

	return names[which];
}

/* libibmad fills 4 bytes for a field of up to 32 bits and 8 for one of more. */
static uint64_t get(const uint8_t *data, int field, unsigned bits)
{
	uint64_t wide = 0;
	uint32_t narrow = 0;

	if (bits > 32) {
		mad_decode_field((uint8_t *)data, field, &wide);
		return wide;
	}
	mad_decode_field((uint8_t *)data, field, &narrow);
	return narrow;
}

static void take(struct counter_reading *reading, unsigned id, uint64_t value, unsigned bits)
{
	uint64_t highest = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
	uint32_t bit = COUNTER_BIT(id);

	if (bits < 64 && reading->wide & bit)
		return; /* the wider one is there already */
	/* 2^64 of anything takes centuries: a device that says so does not have this counter */
	if (bits == 64 && value == highest) {
		reading->impossible |= bit;
		return;
	}
	reading->known |= bit;
	reading->value[id] = value;
	reading->saturated = value == highest ? reading->saturated | bit : reading->saturated & ~bit;
	if (bits == 64)
		reading->wide |= bit;
}

/*
 * Behind PortSelect and CounterSelect 16 values, SL or VL 0 first; of PortXmitDataSLExt behind four reserved bytes more (libibmad's
 * fields.c; the layouts in NVIDIA's ibutils2 for the 64-bit one, which libibmad does not have).
 */
void counter_decode_shares(struct counter_shares *shares, uint16_t attribute, const uint8_t *data)
{
	unsigned bytes = attribute == MAD_PORT_XMIT_DATA_SL_EXT ? 8 : attribute == MAD_PORT_XMIT_DATA_SL ? 4 : 2;
	const uint8_t *at = data + (bytes == 8 ? 8 : 4);

	if (bytes == 4 && shares->wide)
		return;
	shares->saturated = bytes == 2 ? shares->saturated : 0;
	for (unsigned i = 0; i < QOS_SLS; i++, at += bytes) {
		uint64_t value = 0, highest = bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * bytes) - 1;

		for (unsigned k = 0; k < bytes; k++)
			value = value << 8 | at[k];
		if (bytes == 2) {
			shares->waited[i] = (uint16_t)value;
			continue;
		}
		shares->sent[i] = value;
		shares->saturated |= value == highest ? (uint16_t)(1u << i) : 0;
	}
	if (bytes == 2)
		shares->has_waited = true;
	else
		shares->has_sent = true;
	shares->wide |= bytes == 8;
}

void counter_decode(struct counter_reading *reading, uint16_t attribute, bool ext_errors, const uint8_t *data)
{
	unsigned i;

	for (i = 0; i < COUNTERS; i++) {
		if (i == COUNTER_QP1 && attribute == PC) /* libibmad's IB_PC_QP1_DROP_F lies on VL15Dropped */
			take(reading, i, (uint64_t)data[QP1_BYTE] << 8 | data[QP1_BYTE + 1], rows[i].bits);
		else if (rows[i].attribute == attribute)
			take(reading, i, get(data, rows[i].field, rows[i].bits), rows[i].bits);
		if (attribute == PCX && rows[i].field_ext && (ext_errors || !rows[i].ext_errors))
			take(reading, i, get(data, rows[i].field_ext, 64), 64);
	}
	if (attribute == MAD_PORT_RCV_ERROR_DETAILS) {
		for (i = 0; i < COUNTER_RCV_DETAILS; i++)
			reading->rcv_details[i] = (uint16_t)get(data, rcv_detail_fields[i], 16);
		reading->has_rcv_details = true;
	}
	if (attribute == MAD_PORT_XMIT_DISCARD_DETAILS) {
		for (i = 0; i < COUNTER_XMIT_DETAILS; i++)
			reading->xmit_details[i] = (uint16_t)get(data, xmit_detail_fields[i], 16);
		reading->has_xmit_details = true;
	}
	if (attribute == MAD_PORT_SAMPLES_CONTROL) {
		reading->tick = (uint8_t)get(data, IB_PSC_TICK_F, 8);
		reading->has_tick = true;
	}
}
