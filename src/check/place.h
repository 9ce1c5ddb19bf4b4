/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * place: says where in the fabric a finding is.
 */
#ifndef IBQOS_CHECK_PLACE_H
#define IBQOS_CHECK_PLACE_H

#include "ibqos/fabric.h"
#include "ibqos/finding.h"

/* Places a finding at a port, and names the port at the other end of its cable if there is one. */
void place_port(struct finding *f, const struct fabric *fabric, uint32_t port);
/* Places a finding at a node as a whole, and names the port before it. */
void place_node(struct finding *f, const struct fabric *fabric, uint32_t node);

/* What is told of a query that nobody was asked, where the source is a file. */
#define NOT_IN_FILE "not in the file: it was not asked for when that was made"

/* Adds FINDING_PORT_INFO_RESERVED where the port has a reserved value in this field. True if it has. */
bool place_reserved(const struct fabric *fabric, uint32_t port, enum fabric_link_field field, struct finding_list *findings);

/*
 * The last port on the way to a node: where someone who looks for a dead device starts. Followed
 * along the node's route; FABRIC_NONE for the node that looked or where the route is not known.
 */
uint32_t place_before(const struct fabric *fabric, uint32_t node);

#endif
