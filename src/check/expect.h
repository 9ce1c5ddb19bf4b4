/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * expect: what a port must hold once OpenSM has programmed it. Pure functions of PortInfo,
 * SwitchInfo and the configuration.
 *
 * Rules: OpenSM 3.3.23 osm_qos.c (qos_extports_setup, qos_endport_setup, vlarb_update,
 * sl2vl_update_table) and osm_link_mgr.c (link_mgr_set_physp_pi: VLHighLimit).
 */
#ifndef IBQOS_CHECK_EXPECT_H
#define IBQOS_CHECK_EXPECT_H

#include "ibqos/fabric.h"
#include "ibqos/qos.h"

#define EXPECT_CODES 16 /* OperationalVLs is a field of 4 bits */

struct expect {
	const struct qos_config *config;
	/* All SL2VL tables that can occur, as on the wire: there are millions of answers to compare. */
	uint8_t sl2vl[QOS_PORT_TYPES][EXPECT_CODES][QOS_SL2VL_WIRE];
};

void expect_init(struct expect *expect, const struct qos_config *config);

/* Whether OpenSM programs a port, as far as discovery can tell. */
enum expect_scope {
	EXPECT_PROGRAMMED,
	EXPECT_DOWN,      /* left alone */
	EXPECT_BASE_PORT, /* port 0 of a switch without enhanced port 0: left alone */
	EXPECT_UNSURE,    /* port 0 of a switch whose SwitchInfo was not answered */
};

/* What there is to ask about one port and what decides the answers. All zero where not programmed. */
struct expect_port {
	uint8_t type;     /* enum qos_port_type */
	uint8_t oper_vls; /* code */
	uint8_t low_cap;  /* entries; 0: no such table */
	uint8_t high_cap;
	uint16_t in_ports; /* SL2VL tables: one an in-port from 0; 1 for a port that is none of a switch's; 0:
			      none */
	bool no_sl_map;    /* more than one VL, but no SL2VL table: OpenSM programs none */
	bool no_low, no_high; /* a link of more than one VL, weights for it, and no entry to hold them */
	bool has_high_limit;
	uint8_t high_limit;
	uint8_t common_vls; /* code; 0: none. Port 0 of a switch that takes its SL2VL tables all at once: see
			       expect_sl2vl_common() */
};

/* Reads the port's PortInfo, which must be known. */
enum expect_scope expect_port(const struct expect *expect, const struct fabric *fabric, uint32_t port,
			      struct expect_port *out);

/* The SL2VL table for an in-port, QOS_SL2VL_WIRE bytes. */
const uint8_t *expect_sl2vl(const struct expect *expect, const struct expect_port *port, unsigned in_port);

/*
 * What port 0 of a switch holds instead where OpenSM uses one Set for all tables of the switch (SwitchInfo says that it can,
 * `use_optimized_slvl TRUE` that it does, which is not known here): the map of the other ports, masked by the OperationalVLs
 * that most of them run; with a map of its own, in-port 0 alone has that (osm_qos.c, qos_extports_setup() and
 * osm_qos_setup()). NULL where that is no case of its own.
 */
const uint8_t *expect_sl2vl_common(const struct expect *expect, const struct expect_port *port, unsigned in_port);

/*
 * What in-port 0 of an enhanced port 0 holds after every second sweep where port 0 has a map of its own that is all zeros once
 * masked: qos_extports_setup() sends the map of the other ports and marks its copy by zeroing it, so that to
 * qos_endport_setup() the zeros are there already (sl2vl_update_table()). NULL where that is no case.
 */
const uint8_t *expect_sl2vl_other(const struct expect *expect, const struct expect_port *port, unsigned in_port);

/*
 * A VLArb block, 0..3 (low 0, low 1, high 0, high 1); returns how many entries count, 0: not programmed.
 * A table of exactly 64 entries is a case of its own: OpenSM sends its second block with no entry
 * (vlarb_update()), so whatever stands there stays in force. expect_leftover() says so; all 32 entries
 * then count, and none may have weight.
 */
bool expect_leftover(const struct expect_port *port, unsigned block);
unsigned expect_vlarb(const struct expect *expect, const struct expect_port *port, unsigned block,
		      struct qos_vlarb_entry out[QOS_VLARB_BLOCK]);

#endif
