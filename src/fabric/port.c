/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Reading the model: finding nodes and ports, PortInfo fields (IBA 14.2.5.6), ways to an agent. */
#include <stdlib.h>
#include <string.h>

#include <infiniband/mad.h>

#include "ibqos/fabric.h"

#define AGGREGATION_NODE "Mellanox Technologies Aggregation Node"
#define AGGREGATION_VENDOR 0x2c9
#define AGGREGATION_DEVICE 0xcf09

#define LID_UNICAST_MAX 0xbfff /* IBA 4.1.3 */

uint32_t fabric_find_node(const struct fabric *fabric, uint64_t guid)
{
	uint32_t low = 0, high = fabric->node_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (fabric->nodes[middle].guid < guid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < fabric->node_count && fabric->nodes[low].guid == guid ? low : FABRIC_NONE;
}

bool fabric_is_same(const struct fabric *before, const struct fabric *after)
{
	uint32_t common = 0, least = before->node_count < after->node_count ? before->node_count : after->node_count;

	for (uint32_t i = 0; i < before->node_count; i++)
		common += fabric_find_node(after, before->nodes[i].guid) != FABRIC_NONE;
	return common > 0 && 2 * common >= least;
}

uint32_t fabric_node_port(const struct fabric *fabric, uint32_t node, unsigned number)
{
	if (node >= fabric->node_count || number > fabric->nodes[node].ports)
		return FABRIC_NONE;
	return fabric->nodes[node].first_port + number;
}

uint32_t fabric_port_agent(const struct fabric *fabric, uint32_t port)
{
	const struct fabric_node *node = fabric_port_node(fabric, port);

	return node->type == FABRIC_SWITCH ? node->first_port : port;
}

uint32_t fabric_port_of_lid(const struct fabric *fabric, uint16_t lid)
{
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct fabric_port *port = &fabric->ports[i];

		if (port->known && fabric_port_agent(fabric, i) == i && fabric_port_lid(port) == lid)
			return i;
	}
	return FABRIC_NONE;
}

static bool has_route(const struct fabric *fabric, uint32_t node)
{
	return fabric->nodes[node].route.hops > 0 || node == fabric->from_node;
}

/* The route to an agent's port, if there is one. */
static bool agent_route(const struct fabric *fabric, uint32_t agent, struct mad_route *route)
{
	const struct fabric_port *port = &fabric->ports[agent], *peer;
	const struct fabric_node *node = fabric_port_node(fabric, agent);
	bool found_here = node->type == FABRIC_SWITCH ||
			  port->number == mad_get_field((void *)node->node_info, 0, IB_NODE_LOCAL_PORT_F);

	if (found_here && has_route(fabric, port->node)) {
		*route = node->route;
		return true;
	}
	if (port->peer == FABRIC_NONE)
		return false;
	/* Through the switch in front of it, which is known by a route of its own. */
	peer = &fabric->ports[port->peer];
	node = fabric_port_node(fabric, port->peer);
	if (node->type != FABRIC_SWITCH || !has_route(fabric, peer->node) ||
	    node->route.hops == MAD_ROUTE_HOPS)
		return false;
	*route = node->route;
	route->port[++route->hops] = peer->number;
	return true;
}

static unsigned agent_lid(const struct fabric *fabric, uint32_t agent)
{
	const struct fabric_port *port = &fabric->ports[agent];
	unsigned lid = port->known ? fabric_port_lid(port) : 0;

	if (lid > LID_UNICAST_MAX)
		return 0;
	if (fabric_port_node(fabric, agent)->type == FABRIC_SWITCH)
		return lid;
	return lid > 0 && fabric_port_state(port) == FABRIC_STATE_ACTIVE ? lid : 0;
}

bool fabric_agent_address(const struct fabric *fabric, uint32_t agent, bool directed,
			  struct mad_address *address)
{
	uint16_t lid = (uint16_t)agent_lid(fabric, agent);

	*address = (struct mad_address){.lid = directed ? 0 : lid, .gmp_lid = lid};
	return address->lid != 0 || agent_route(fabric, agent, &address->route);
}

static unsigned field(const struct fabric_port *port, enum MAD_FIELDS which)
{
	return mad_get_field((void *)port->info, 0, which);
}

unsigned fabric_port_state(const struct fabric_port *port)
{
	return field(port, IB_PORT_STATE_F);
}

unsigned fabric_port_phys_state(const struct fabric_port *port)
{
	return field(port, IB_PORT_PHYS_STATE_F);
}

unsigned fabric_port_lid(const struct fabric_port *port)
{
	return field(port, IB_PORT_LID_F);
}

unsigned fabric_port_sm_sl(const struct fabric_port *port)
{
	return field(port, IB_PORT_SMSL_F);
}

unsigned fabric_port_vl_cap(const struct fabric_port *port)
{
	return field(port, IB_PORT_VL_CAP_F);
}

unsigned fabric_port_oper_vls(const struct fabric_port *port)
{
	return field(port, IB_PORT_OPER_VLS_F);
}

unsigned fabric_port_high_limit(const struct fabric_port *port)
{
	return field(port, IB_PORT_VL_HIGH_LIMIT_F);
}

unsigned fabric_port_vlarb_high_cap(const struct fabric_port *port)
{
	return field(port, IB_PORT_VL_ARBITRATION_HIGH_CAP_F);
}

unsigned fabric_port_vlarb_low_cap(const struct fabric_port *port)
{
	return field(port, IB_PORT_VL_ARBITRATION_LOW_CAP_F);
}

/* MTU codes 1..5: 256 to 4096 bytes. */
static unsigned mtu_bytes(unsigned code)
{
	return code >= 1 && code <= 5 ? 128u << code : 0;
}

unsigned fabric_port_mtu_cap(const struct fabric_port *port)
{
	return mtu_bytes(field(port, IB_PORT_MTU_CAP_F));
}

unsigned fabric_port_neighbor_mtu(const struct fabric_port *port)
{
	return mtu_bytes(field(port, IB_PORT_NEIGHBOR_MTU_F));
}

const char *fabric_link_field_name(enum fabric_link_field field)
{
	static const char *const names[FABRIC_LINK_FIELDS] = {
		[FABRIC_VL_CAP] = "VLCap", [FABRIC_OPER_VLS] = "OperationalVLs", [FABRIC_NEIGHBOR_MTU] = "NeighborMTU"};

	return names[field];
}

bool fabric_port_reserved(const struct fabric_port *port, enum fabric_link_field which, unsigned *code)
{
	static const enum MAD_FIELDS fields[FABRIC_LINK_FIELDS] = {
		[FABRIC_VL_CAP] = IB_PORT_VL_CAP_F, [FABRIC_OPER_VLS] = IB_PORT_OPER_VLS_F, [FABRIC_NEIGHBOR_MTU] = IB_PORT_NEIGHBOR_MTU_F};
	unsigned least = which == FABRIC_VL_CAP ? FABRIC_STATE_INIT : FABRIC_STATE_INIT + 1;

	if (!port->known || port->number == 0 || fabric_port_state(port) < least)
		return false;
	*code = field(port, fields[which]);
	return *code < 1 || *code > 5;
}

uint32_t fabric_port_cap_mask(const struct fabric_port *port)
{
	return field(port, IB_PORT_CAPMASK_F);
}

bool fabric_node_is_aggregation(const struct fabric_node *node)
{
	return node->type == FABRIC_CA &&
	       ((node->vendor == AGGREGATION_VENDOR && node->device == AGGREGATION_DEVICE) ||
		(node->name && strncmp(node->name, AGGREGATION_NODE, strlen(AGGREGATION_NODE)) == 0));
}

enum qos_port_type fabric_port_qos_type(const struct fabric *fabric, uint32_t port)
{
	switch (fabric_port_node(fabric, port)->type) {
	case FABRIC_SWITCH:
		return fabric->ports[port].number == 0 ? QOS_PORT_SW0 : QOS_PORT_SWE;
	case FABRIC_ROUTER:
		return QOS_PORT_RTR;
	default:
		return QOS_PORT_CA;
	}
}
