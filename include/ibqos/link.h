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

/* Which field of PortInfo a speed is in; FDR10 is in the vendor's ExtendedPortInfo. */
enum link_field { LINK_FIELD_SPEED, LINK_FIELD_EXT, LINK_FIELD_EXT2, LINK_FIELD_VENDOR, LINK_FIELDS };

/* The tables of encodings: docs/links.md has them too, and a test holds both together. */
struct link_speed_row {
	enum link_speed speed;
	const char *name;
	enum link_field field;
	unsigned raw;	  /* bit in that field */
	double line_gbps; /* a lane, signalled */
	double gbps;	  /* a lane, data */
	const char *coding;
};
struct link_width_row {
	enum link_width width;
	const char *name;
	unsigned raw; /* bit in LinkWidthSupported, Enabled, Active */
	unsigned lanes;
};
const struct link_speed_row *link_speed_rows(size_t *count); /* in rising order */
const struct link_width_row *link_width_rows(size_t *count);

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

/*
 * Whether a port's PortInfo lacks the extended speeds that its gates say there are: LinkUp, with IsExtendedSpeedsSupported, and
 * LinkSpeedExtSupported is 0. It is then to be asked for with MAD_PORT_INFO_EXT_SPEEDS.
 */
bool link_lacks_ext_speeds(const struct fabric *fabric, uint32_t port);
/* Puts the extended speeds of an earlier PortInfo into a later one of the same port, LinkUp as well, that lacks them all. */
void link_keep_ext_speeds(const uint8_t *earlier, uint8_t *info);

/* "4x", "EDR"; "" for 0; several bits: the best. Static strings. */
const char *link_width_name(unsigned widths);
const char *link_speed_name(unsigned speeds);
unsigned link_width_lanes(unsigned widths); /* of the widest; 0 for none */
/* Highest single bit of a mask; 0 for none. */
unsigned link_best(unsigned mask);
/* Data rate in Gb/s, line coding taken off, e.g. 4x EDR 100; 0 where unknown. */
double link_gbps(unsigned width, unsigned speed);
/* Signalling rate in Gb/s, coding and all, e.g. 4x EDR 103.125: bits that can be wrong; 0 where unknown. */
double link_line_gbps(unsigned width, unsigned speed);

#endif
