/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A VL arbiter whose VLs come and go, played packet by packet to find how long one of them can be made
 * to wait. Shares no code with src/: written from IBA 7.6.9 alone.
 */
#ifndef IBQOS_VLARB_WAIT_H
#define IBQOS_VLARB_WAIT_H

#include "vlarb_sim.h"

/*
 * Plays at most `packets` packets of `busy` VLs that are switched on and off at random. From each
 * moment on of many a packet of `vl` comes to an empty queue, and all others, or others at random, are
 * busy until it goes. Returns the most bytes of others that went meanwhile; *never is set if once it had
 * not gone after as many packets again.
 */
uint64_t vlarb_sim_wait(const struct qos_tables *tables, uint16_t busy, const unsigned packet[QOS_DATA_VLS],
			unsigned vl, unsigned packets, uint64_t *seed, bool *never);

#endif
