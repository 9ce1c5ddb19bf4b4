/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* routes: what reading (routes_ask.c) and following (routes.c) share. */
#ifndef IBQOS_CHECK_ROUTES_H
#define IBQOS_CHECK_ROUTES_H

#include "ibqos/routes.h"

enum block_state { BLOCK_PLAIN, BLOCK_WANTED, BLOCK_ASKED, BLOCK_READ };

/* A switch: its table by LID, up to the last LID that is in it and that anyone has. */
struct routes_switch {
	uint8_t *ports;	 /* blocks * ROUTES_BLOCK entries; NULL: nothing to read */
	uint8_t *blocks; /* enum block_state */
	unsigned block_count;
	unsigned top;	 /* LinearFDBTop; 0 where not known */
	bool known;	 /* SwitchInfo was answered */
	bool linear;	 /* LinearFDBCap is not 0 */
	unsigned failed; /* blocks that were asked for and not answered */
	unsigned asked;
	uint16_t status; /* MAD status of the first that was refused */
	uint8_t tries;
	uint8_t adaptive; /* enum routes_adaptive */
	uint16_t adaptive_sls;
	bool adaptive_asked;
	unsigned at; /* the next block to ask for */
};

struct routes {
	const struct fabric *fabric;
	bool of_file; /* what was asked is a file */
	struct routes_switch *switches; /* as fabric->nodes; all zero for others */
	uint32_t *owner;		/* port index by LID, FABRIC_NONE */
	uint32_t *twice;		/* LIDs that a second port has, and that port: pairs */
	size_t twice_count, twice_room;
	unsigned lid_top; /* the highest LID that anyone has */
	struct check_coverage coverage[ROUTES_ITEMS];

	/* of a run */
	uint32_t *agents;
	uint32_t agent_count;
};

#endif
