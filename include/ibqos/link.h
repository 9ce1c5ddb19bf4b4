/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * link: width and speed of a port from its PortInfo (part of folder fabric).
 *
 * Encodings and rates: IBA 14.2.5.6 and rdma-core libibmad/fields.c, dump.c; one table in
 * src/fabric/link.c. Values that the table does not know are kept raw and never guessed.
 */
#ifndef IBQOS_LINK_H
#define IBQOS_LINK_H

#include "ibqos/fabric.h"

/* Speeds as bits, in rising order, so that a set of them is a mask and the best its highest bit. */
enum link_speed {
	LINK_SDR = 1 << 0,
	LINK_DDR = 1 << 1,
	LINK_QDR = 1 << 2,
	LINK_FDR10 = 1 << 3,
	LINK_FDR = 1 << 4,
	LINK_EDR = 1 << 5,
	LINK_HDR = 1 << 6,
	LINK_NDR = 1 << 7,
	LINK_XDR = 1 << 8,
};

/* Widths as lanes have no natural bit order in PortInfo (16 is 2x): kept as masks of these bits. */
enum link_width { LINK_1X = 1 << 0, LINK_2X = 1 << 1, LINK_4X = 1 << 2, LINK_8X = 1 << 3, LINK_12X = 1 << 4 };

struct link_state {
	unsigned width_active, width_supported, width_enabled; /* enum link_width masks; active: one bit, 0 unknown */
	unsigned speed_active, speed_supported, speed_enabled; /* enum link_speed masks; active: one bit, 0 unknown */
	unsigned raw_width_active; /* as read, to be shown where width_active is 0 */
	unsigned raw_speed_active; /* LinkSpeedActive | LinkSpeedExtActive << 8 | LinkSpeedExtActive2 << 16 */
};

/*
 * Decodes a port. The gates (CapabilityMask bit 14 extended speeds, bit 15 CapabilityMask2, its
 * 0x0800 extended speeds 2) are read from port 0 on a switch (rdma-core PR#1555); fields whose gate
 * is closed are reserved and not read. CapabilityMask2's bits for 2x, HDR, NDR and XDR gate no
 * field: as in rdma-core, the bits of the width and speed fields are taken as they are. Where the
 * gates are not known, a port with a value behind them has speeds unknown (all 0). Where the vendor's answer got
 * lost that tells FDR10 from QDR, the active speed is unknown.
 * False if the port is not known, not LinkUp or down: everything but the states is invalid when down
 * (IBA C14-24.2.1); and for a switch's port 0, which is no link.
 */
bool link_decode(const struct fabric *fabric, uint32_t port, struct link_state *state);

/* "4x", "EDR"; "" for 0; several bits: the best. Static strings. */
const char *link_width_name(unsigned widths);
const char *link_speed_name(unsigned speeds);
unsigned link_width_lanes(unsigned widths); /* of the widest; 0 for none */
/* Highest single bit of a mask; 0 for none. */
unsigned link_best(unsigned mask);
/* Data rate in Gb/s, line coding taken off, e.g. 4x EDR 100; 0 where unknown. */
double link_gbps(unsigned width, unsigned speed);

#endif
