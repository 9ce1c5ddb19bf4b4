/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * qos: service levels, virtual lanes, SL2VL and VL arbitration tables as values, and what a port
 * makes of them. No I/O; knows no fabric and no policy.
 *
 * Sources: IBA vol. 1 7.6.9 (arbitration), 14.2.5.9 (SLtoVLMappingTable), 14.2.5.10
 * (VLArbitrationTable), 14.2.5.6 (PortInfo); OpenSM 3.3.23 opensm/osm_qos.c.
 */
#ifndef IBQOS_QOS_H
#define IBQOS_QOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QOS_SLS 16
#define QOS_DATA_VLS 15	      /* VL0..VL14 */
#define QOS_VL_DROP 15	      /* in an SL2VL table: packets of that SL are dropped */
#define QOS_VLARB_ENTRIES 64  /* most that a table can have */
#define QOS_VLARB_BLOCK 32    /* entries carried by one MAD */
#define QOS_VLARB_BLOCKS 4    /* low 0, low 1, high 0, high 1: AttributeModifier 1..4 << 16 */
#define QOS_SL2VL_WIRE 8      /* bytes of an SL2VL table in a MAD: two SLs a byte, even SL high */
#define QOS_WEIGHT_UNIT 64    /* bytes a unit of weight stands for */
#define QOS_HIGH_LIMIT_UNIT 4096 /* bytes a unit of VLHighLimit stands for */
#define QOS_HIGH_UNLIMITED 255

struct qos_sl2vl {
	uint8_t vl[QOS_SLS];
};

struct qos_vlarb_entry {
	uint8_t vl;
	uint8_t weight; /* units of QOS_WEIGHT_UNIT bytes; 0: the entry is skipped */
};

struct qos_vlarb {
	unsigned count; /* entries in use, 0..QOS_VLARB_ENTRIES */
	struct qos_vlarb_entry entry[QOS_VLARB_ENTRIES];
};

struct qos_tables {
	struct qos_sl2vl sl2vl;
	struct qos_vlarb high, low;
	uint8_t high_limit;
};

/* The kinds of port for which OpenSM has a set of options each (opensm/osm_qos.c:599-668). */
enum qos_port_type { QOS_PORT_CA, QOS_PORT_SW0, QOS_PORT_SWE, QOS_PORT_RTR, QOS_PORT_TYPES };

/* "ca", "sw0", "swe", "rtr": the middle of OpenSM's option names. */
const char *qos_port_type_name(enum qos_port_type type);

/* What OpenSM is told, or was told, to program, by kind of port. */
struct qos_config {
	struct qos_tables of[QOS_PORT_TYPES];
};

/* VLs of a VLCap or OperationalVLs code: 1, 2, 4, 8, 15 for 1..5; 0 for any other code. */
unsigned qos_vls_of_code(unsigned code);
/* The reverse for exactly 1, 2, 4, 8 or 15 VLs; 0 for any other number. */
unsigned qos_code_of_vls(unsigned vls);

/*
 * The VL that OpenSM programs for `vl` on a port with `oper_vls_code`: ANDed with
 * (1 << (code - 1)) - 1, so VLs fold modulo 1, 2, 4, 8, 16 and merge rather than vanish; VL15, in
 * an SL2VL table, stays (osm_qos.c:174, 271-279). A code that IBA does not know (0: a port that
 * tells none) leaves VL as is.
 */
uint8_t qos_fold_vl(uint8_t vl, unsigned oper_vls_code);
void qos_fold_sl2vl(const struct qos_sl2vl *in, unsigned oper_vls_code, struct qos_sl2vl *out);

/*
 * One block of a VLArb table as OpenSM programs it: `block` 0 or 1 of `table`, for a table
 * capacity of `cap` entries, folded. *length gets the number of entries that the MAD sets and that
 * may be compared: cap below 32: cap, block 0 only; 32..: 32; block 1: cap % 32, so a cap of
 * exactly 64 leaves entries 33-64 alone (osm_qos.c:202-255). 0: OpenSM sends no such block.
 * Entries past the end of the table are 0:0.
 */
void qos_vlarb_block(const struct qos_vlarb *table, unsigned block, unsigned cap, unsigned oper_vls_code,
		     struct qos_vlarb_entry out[QOS_VLARB_BLOCK], unsigned *length);

/* Wire form of SLtoVLMappingTable (8 bytes) and a VLArbitrationTable block (VL, weight pairs). */
void qos_sl2vl_decode(const uint8_t wire[QOS_SL2VL_WIRE], struct qos_sl2vl *table);
void qos_sl2vl_encode(const struct qos_sl2vl *table, uint8_t wire[QOS_SL2VL_WIRE]);
void qos_vlarb_decode(const uint8_t wire[2 * QOS_VLARB_BLOCK], struct qos_vlarb_entry out[QOS_VLARB_BLOCK]);

/*
 * Text as in opensm.conf, strict decimal, no blanks: "0,1,2,…" (16 VLs) and "0:64,1:192". `text`
 * has room for QOS_TEXT_MAX bytes. An empty VLArb table gives "".
 */
#define QOS_TEXT_MAX 512
void qos_sl2vl_format(const struct qos_sl2vl *table, char text[QOS_TEXT_MAX]);
void qos_vlarb_format(const struct qos_vlarb_entry *entries, unsigned count, char text[QOS_TEXT_MAX]);
/* The reverse, of exactly that form. False: it is none. */
bool qos_sl2vl_parse(const char *text, struct qos_sl2vl *table);
bool qos_vlarb_parse(const char *text, struct qos_vlarb *table);
bool qos_sl2vl_equal(const struct qos_sl2vl *a, const struct qos_sl2vl *b);

/*
 * Arbitration model (IBA 7.6.9): the fraction of the link that each VL gets, share[0..14], when
 * exactly the VLs of `busy` (bit = VL) always have packets of `packet[vl]` bytes and credits.
 *
 * Rule of a turn: an entry sends while its count is not used up and a packet that starts within
 * the count is sent whole: ceil(weight * 64 / packet) packets a turn, at least one for a weight
 * above 0. High packets go first until high_limit * 4096 bytes of them have gone while low ones
 * wait, then one low packet is sent; 0: one high, one low; 255: low may starve (share 0).
 * Entries of VLs that are not busy (or whose `packet` is 0), of VL15, and of weight 0 are passed
 * over. A busy VL in neither table gets 0. Shares add up to 1, or 0 if nothing can send.
 *
 * Of the two readings of an overshoot (the part of a packet sent beyond the count) this follows
 * the one that forgets it: a turn starts with its whole count, and a round of high packets with
 * its whole budget, whatever the one before took too much. Silicon may carry it as a deficit
 * instead; where weights and budget are multiples of the packet there is none and both agree.
 * Each table keeps its place, within a turn too, while the other one sends.
 *
 * The shares are those of the long run and exact for these rules; a packet-by-packet simulation
 * that ends after T bytes differs by at most about a cycle of each table over T.
 */
void qos_arbitrate(const struct qos_tables *tables, uint16_t busy, const unsigned packet[QOS_DATA_VLS],
		   double share[QOS_DATA_VLS]);

/*
 * Longest wait of a packet of `vl`, in bytes that other VLs send between the moment when it is first
 * in its queue and its own start, when these are on and off as it is worst for it: any of `busy`
 * (whether `vl` is in it or not) at any time, each with packets of packet[] bytes.
 *
 * With an entry in the high table: one low packet, of the largest size, in flight; then the turn of
 * each other high entry up to the next of its own; and one more low packet for every high_limit *
 * 4096 bytes of these (limit 0: for every packet, 255: none). With one in the low table: a high
 * packet in flight, the turns of the other low entries up to the next of its own, and before each
 * packet of these, and before its own, a round of high packets; QOS_WAIT_FOREVER where the limit is
 * 255 and anything high is busy. In both tables: the shorter. In neither: QOS_WAIT_FOREVER.
 *
 * As with shares, an overshoot is forgotten, and the model has no credits: what the next hop does not
 * take is not in it. Where others mix sizes up to packet[], each turn in the way can be longer by
 * less than a packet; and since one low packet goes a round, however small, a low VL behind a busy
 * high one waits for as many more rounds as their packets are smaller.
 */
#define QOS_WAIT_FOREVER UINT64_MAX
uint64_t qos_worst_wait(const struct qos_tables *tables, uint16_t busy, const unsigned packet[QOS_DATA_VLS],
			unsigned vl);

/* Microseconds in which so many bytes go at `gbps` Gb/s. */
static inline double qos_wait_us(uint64_t bytes, double gbps)
{
	return (double)bytes * 8 / (gbps * 1000);
}

#endif
