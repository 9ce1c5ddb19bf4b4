/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A VL arbiter played packet by packet, to hold the analytic model and the planner against. Shares
 * no code with src/: written from IBA 7.6.9 alone, a plain loop.
 */
#ifndef IBQOS_VLARB_SIM_H
#define IBQOS_VLARB_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "ibqos/qos.h"

/*
 * Plays until at least `bytes` have gone and the current round is over. `carry`: the other reading
 * of an overshoot, taken off the next turn of the same entry, and off the next round's budget.
 */
void vlarb_sim(const struct qos_tables *tables, uint16_t busy, const unsigned packet[QOS_DATA_VLS],
	       bool carry, uint64_t bytes, double share[QOS_DATA_VLS]);

/* Bytes of one cycle of a table, counted by playing it; 0 if it never sends. */
uint64_t vlarb_sim_cycle(const struct qos_vlarb *table, uint16_t busy, const unsigned packet[QOS_DATA_VLS]);

/* A small generator of our own, so that a seed gives the same cases everywhere. */
uint32_t sim_random(uint64_t *state, uint32_t below);

#endif
