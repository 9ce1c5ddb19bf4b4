/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One VL arbitration table fitted to shares: how many packets a cycle each VL gets, and in what
 * order its entries stand.
 */
#ifndef IBQOS_POLICY_VLARB_FIT_H
#define IBQOS_POLICY_VLARB_FIT_H

#include "ibqos/qos.h"

/*
 * Entries that every port with a capacity of `cap` keeps. Not more than one block: at a capacity
 * of exactly 64 OpenSM loses the second one (osm_qos.c:213-252), and a port of 40 may have a
 * neighbour of 64.
 */
unsigned vlarb_usable(unsigned cap);

struct vlarb_want {
	unsigned vl;
	double share;   /* wanted, as a fraction of what the table sends; all together 1 or more */
	unsigned least; /* packets a cycle that it must have: 1, or 0 for one that may go without */
};

/*
 * Fits a table of at most `entries` entries to `count` wants, for packets of `mtu` bytes: of all
 * cycles that fit, the one whose largest shortfall below a wanted share is smallest, and of these
 * the shortest. packets[i] gets what want i has of a cycle; *table the entries, a VL's own spread
 * evenly over it. 0; -ENOSPC: not one entry for each that must have one.
 */
int vlarb_fit(const struct vlarb_want *wants, unsigned count, unsigned entries, unsigned mtu,
	      unsigned *packets, struct qos_vlarb *table);

#endif
