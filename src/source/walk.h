/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * walk: discovers a fabric by directed routes on the engine. Private to the folder; what is asked, in which
 * order, and what differs from libibnetdisc: docs/discovery.md.
 */
#ifndef SOURCE_WALK_H
#define SOURCE_WALK_H

#include "ibqos/fabric.h"
#include "ibqos/util.h"

/*
 * Discovers from the engine's port and returns the fabric finished; the caller frees it. -ENETUNREACH: not
 * even that port answered; -EINTR: stopped; -ENOMEM; -errno of the engine.
 */
int walk(const struct ibqos_ctx *ctx, struct mad_engine *engine, struct fabric **fabric);

/*
 * Nodes and ports beyond which nothing more is added: a subnet has 0xbfff unicast LIDs, and each node needs
 * one. What a broken or hostile device makes up ends here; ports that lead on from there are gaps.
 */
struct walk_bounds {
	uint32_t nodes, ports;
	bool no_ext_info; /* the vendor's ExtendedPortInfo is asked of none */
};
#define WALK_BOUNDS ((struct walk_bounds){.nodes = 0xbfff, .ports = 2u << 20})
int walk_bounded(const struct ibqos_ctx *ctx, struct mad_engine *engine, const struct walk_bounds *bounds,
		 struct fabric **fabric);

/*
 * Whether a port whose PortInfo is known is asked for the vendor's ExtendedPortInfo: LinkUp at QDR without
 * an extended speed, on a device that has it (walk_ext.c).
 */
bool walk_wants_ext(const struct fabric *fabric, uint32_t port);

/*
 * Before fabric_finish(): gives each node the shortest route, of those the one with the lowest ports first,
 * and the NodeInfo that it answers along it, so that the order in which answers came does not show. -ENOMEM.
 */
int walk_straighten(struct fabric *fabric);

#endif
