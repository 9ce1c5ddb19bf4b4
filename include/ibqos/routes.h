/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * routes: the linear forwarding tables of all switches, and who has which LID (part of folder check).
 *
 * Sources: IBA vol. 1 14.2.5.4 (SwitchInfo), 14.2.5.11 (LinearForwardingTable: 64 entries a block, port
 * 255: packets are dropped), 18.2.4.3.3 (a LID above LinearFDBTop is dropped).
 */
#ifndef IBQOS_ROUTES_H
#define IBQOS_ROUTES_H

#include "ibqos/check.h"

#define ROUTES_BLOCK 64			 /* LIDs in one MAD */
#define ROUTES_LID_MAX 0xbfff		 /* of one port (IBA 4.1.3): those above are multicast */

struct routes;

/* Rows of coverage. */
enum routes_item { ROUTES_LFT, ROUTES_AR_INFO, ROUTES_ITEMS };
const char *routes_item_name(enum routes_item item); /* "LinearForwardingTable", ... */

/* Nothing is read yet. The fabric is borrowed. 0 or -ENOMEM. */
int routes_new(const struct fabric *fabric, struct routes **routes);
void routes_free(struct routes *routes); /* NULL is fine */

/* What routes_read() is to ask: the block with one LID of one switch, or all blocks with LIDs that a port has. */
void routes_want(struct routes *routes, uint32_t node, unsigned lid);
void routes_want_all(struct routes *routes);
/*
 * Asks for what is wanted and was not asked before. Entries that were not answered are unknown, and counted.
 * 0; -EINTR; -errno when the wire broke.
 */
int routes_read(struct routes *routes, struct source *source);

/*
 * Whether a switch may send packets another way than its table says. There is no attribute of IBA for it:
 * switches with Mellanox's vendor ID are asked for theirs, where the lowest bit of the first 32 says that it is
 * enabled; one that refuses the attribute as unsupported (MAD status 0x000c) has none. Not known for others, and where
 * there is no such answer.
 */
enum routes_adaptive { ROUTES_ADAPTIVE_UNKNOWN, ROUTES_ADAPTIVE_OFF, ROUTES_ADAPTIVE_ON };
/* Asks the switches of `nodes`; NULL: all. Returns as routes_read(). */
int routes_read_adaptive(struct routes *routes, struct source *source, const uint32_t *nodes, uint32_t count);
enum routes_adaptive routes_adaptive_of(const struct routes *routes, uint32_t node);
/*
 * SLs (1 << SL) that a switch routes adaptively, where that is on: those of its mask if it goes by one, else all. The vendor's
 * tools have the layout (ibis, packets_layouts.h, adaptive_routing_info): by_sl_en is bit 28 of the first 32, the mask the upper
 * half of the third.
 */
uint16_t routes_adaptive_sls(const struct routes *routes, uint32_t node);

const struct check_coverage *routes_coverage(const struct routes *routes, enum routes_item item);

/* The port that has a LID, by base LID and LMC; a switch's at its port 0. FABRIC_NONE: nobody known. */
uint32_t routes_port_of_lid(const struct routes *routes, unsigned lid);

/* Where a switch sends packets to a LID. */
enum route_step {
	ROUTE_ON,	 /* over *out to another switch */
	ROUTE_ARRIVED,	 /* over *out to the port that has the LID; *out is port 0 if the switch has it itself */
	ROUTE_UNSET,	 /* dropped: no entry (255, or a port that the switch does not have) */
	ROUTE_ABOVE_TOP, /* dropped: the LID is above LinearFDBTop */
	ROUTE_MISROUTED, /* over *out to a port that does not have the LID and is no switch */
	ROUTE_DOWN,	 /* *out has no link that is active at both ends */
	ROUTE_LOOP,	 /* never of routes_step(): for those who follow it */
	ROUTE_UNREAD,	 /* not known: the table, or SwitchInfo, was not answered */
	ROUTE_RANDOM,	 /* not known: the switch has no linear table */
	ROUTE_NO_PEER,	 /* not known: what is behind *out was not answered */
	ROUTE_STEPS
};
/* *out is a port index, FABRIC_NONE where there is none. `node` must be a switch. */
enum route_step routes_step(const struct routes *routes, uint32_t node, unsigned lid, uint32_t *out);
static inline bool route_unknown(enum route_step step)
{
	return step >= ROUTE_UNREAD;
}
/* "no forwarding entry", ...: what befalls packets there. */
const char *route_step_text(enum route_step step);

/*
 * Findings: tables that were not read, one a switch; a LID that two ports have; adaptive routing that is on or not
 * known, among the switches that were asked about it, as an unknown, or a note with `by_lft`.
 */
void routes_findings(const struct routes *routes, bool by_lft, struct finding_list *findings);

#endif
