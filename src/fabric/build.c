/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Taking in what a discovery found, in any order. Field offsets: IBA 14.2.5.3 (NodeInfo), 14.2.5.4
 * (SwitchInfo), by libibmad's decoders.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mad.h>

#include "build.h"
#include "ibqos/link.h"

struct fabric *fabric_new(const char *label)
{
	struct fabric *fabric = calloc(1, sizeof(*fabric));

	if (!fabric)
		return NULL;
	fabric->from_node = FABRIC_NONE;
	fabric->label = strdup(label ? label : "");
	if (!fabric->label) {
		free(fabric);
		return NULL;
	}
	return fabric;
}

void fabric_forget_guids(struct fabric *fabric)
{
	struct fabric_guid *entry, *next;

	HASH_ITER(hh, fabric->by_guid, entry, next)
	{
		HASH_DEL(fabric->by_guid, entry);
		free(entry);
	}
}

static void cable_free(struct fabric_cable *cable)
{
	if (!cable)
		return;
	free(cable->vendor);
	free(cable->part);
	free(cable->serial);
	free(cable);
}

static bool copy_text(const char *text, char **copy)
{
	*copy = text ? strdup(text) : NULL;
	return *copy || !text;
}

int fabric_port_cable(struct fabric *fabric, uint32_t port, const char *vendor, const char *part, const char *serial)
{
	struct fabric_cable *cable = calloc(1, sizeof(*cable));

	if (!cable || !copy_text(vendor, &cable->vendor) || !copy_text(part, &cable->part) ||
	    !copy_text(serial, &cable->serial)) {
		cable_free(cable);
		return -ENOMEM;
	}
	cable_free(fabric->ports[port].cable);
	fabric->ports[port].cable = cable;
	return 0;
}

void fabric_free(struct fabric *fabric)
{
	if (!fabric)
		return;
	fabric_forget_guids(fabric);
	for (uint32_t i = 0; i < fabric->node_count; i++)
		free(fabric->nodes[i].name);
	for (uint32_t i = 0; i < fabric->port_count; i++)
		cable_free(fabric->ports[i].cable);
	free(fabric->nodes);
	free(fabric->ports);
	free(fabric->links);
	free(fabric->gaps);
	free(fabric->label);
	free(fabric);
}

static uint32_t field(const uint8_t *info, enum MAD_FIELDS which)
{
	return mad_get_field((void *)info, 0, which);
}

static uint64_t field64(const uint8_t *info, enum MAD_FIELDS which)
{
	return mad_get_field64((void *)info, 0, which);
}

static bool all_zero(const uint8_t *data)
{
	static const uint8_t zero[MAD_SMP_DATA];

	return memcmp(data, zero, MAD_SMP_DATA) == 0;
}

/* Remembers where a GUID is; false when out of memory. */
static bool remember(struct fabric *fabric, uint64_t guid, uint32_t node)
{
	struct fabric_guid *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return false;
	entry->guid = guid;
	entry->node = node;
	HASH_ADD(hh, fabric->by_guid, guid, sizeof(entry->guid), entry);
	if (entry->lost) {
		free(entry);
		return false;
	}
	return true;
}

/* Makes room for one node of `slots` ports. */
static bool make_room(struct fabric *fabric, unsigned slots)
{
	struct fabric_node *nodes;
	struct fabric_port *ports;

	if (fabric->port_count >= FABRIC_NONE - slots)
		return false;
	nodes = array_grow(fabric->nodes, &fabric->node_room, (size_t)fabric->node_count + 1, sizeof(*nodes));
	if (!nodes)
		return false;
	fabric->nodes = nodes;
	ports = array_grow(fabric->ports, &fabric->port_room, (size_t)fabric->port_count + slots,
			   sizeof(*ports));
	if (!ports)
		return false;
	fabric->ports = ports;
	return true;
}

static void init_node(struct fabric *fabric, struct fabric_node *node, const uint8_t *node_info,
		      unsigned type)
{
	*node = (struct fabric_node){
		.guid = field64(node_info, IB_NODE_GUID_F),
		.system_guid = field64(node_info, IB_NODE_SYSTEM_GUID_F),
		.type = type,
		.ports = field(node_info, IB_NODE_NPORTS_F),
		.first_port = fabric->port_count,
		.vendor = field(node_info, IB_NODE_VENDORID_F),
		.device = field(node_info, IB_NODE_DEVID_F),
	};
	memcpy(node->node_info, node_info, MAD_SMP_DATA);
}

static void init_ports(struct fabric *fabric, uint32_t index)
{
	struct fabric_node *node = &fabric->nodes[index];
	uint64_t port_guid = field64(node->node_info, IB_NODE_PORT_GUID_F);
	unsigned local_port = field(node->node_info, IB_NODE_LOCAL_PORT_F);

	for (unsigned n = 0; n <= node->ports; n++) {
		bool named = node->type == FABRIC_SWITCH || (n == local_port && n > 0);

		fabric->ports[node->first_port + n] = (struct fabric_port){
			.node = index, .peer = FABRIC_NONE, .guid = named ? port_guid : 0, .number = n};
	}
}

/* Fills in what the node does not have yet; false when out of memory. */
static bool complete_node(struct fabric_node *node, const uint8_t *switch_info, const uint8_t *node_desc)
{
	if (switch_info && !node->has_switch_info && node->type == FABRIC_SWITCH && !all_zero(switch_info)) {
		memcpy(node->switch_info, switch_info, MAD_SMP_DATA);
		node->has_switch_info = true;
		node->enhanced_port0 = field(switch_info, IB_SW_ENHANCED_PORT0_F);
	}
	if (node_desc && !node->name && !all_zero(node_desc)) {
		node->name = text_utf8(node_desc, MAD_SMP_DATA);
		if (!node->name)
			return false;
	}
	return true;
}

uint32_t fabric_index(const struct fabric *fabric, uint64_t guid)
{
	struct fabric_guid *known;

	HASH_FIND(hh, fabric->by_guid, &guid, sizeof(guid), known);
	return known ? known->node : FABRIC_NONE;
}

uint32_t fabric_add_node(struct fabric *fabric, const uint8_t *node_info, const uint8_t *switch_info,
			 const uint8_t *node_desc, const struct mad_route *route)
{
	unsigned type = field(node_info, IB_NODE_TYPE_F), ports = field(node_info, IB_NODE_NPORTS_F);
	uint64_t guid = field64(node_info, IB_NODE_GUID_F);
	struct fabric_guid *known;
	uint32_t index;

	if (fabric->finished || guid == 0 || type < FABRIC_CA || type > FABRIC_ROUTER)
		return FABRIC_NONE;
	HASH_FIND(hh, fabric->by_guid, &guid, sizeof(guid), known);
	if (known) {
		if (!complete_node(&fabric->nodes[known->node], switch_info, node_desc))
			return FABRIC_NONE;
		return known->node;
	}
	index = fabric->node_count;
	if (!make_room(fabric, ports + 1) || !remember(fabric, guid, index))
		return FABRIC_NONE;
	init_node(fabric, &fabric->nodes[index], node_info, type);
	if (route && route->hops <= MAD_ROUTE_HOPS)
		fabric->nodes[index].route = *route;
	init_ports(fabric, index);
	fabric->node_count++;
	fabric->port_count += ports + 1;
	if (!complete_node(&fabric->nodes[index], switch_info, node_desc))
		return FABRIC_NONE;
	return index;
}

int fabric_port_seen(struct fabric *fabric, uint32_t node, unsigned number, uint64_t port_guid,
		     const uint8_t *info, const uint8_t *ext_info)
{
	uint32_t index = fabric_node_port(fabric, node, number);
	struct fabric_port *port;

	if (index == FABRIC_NONE || (number == 0 && fabric->nodes[node].type != FABRIC_SWITCH))
		return -EINVAL;
	port = &fabric->ports[index];
	if (port_guid != 0)
		port->guid = port_guid;
	if (all_zero(info))
		return 0;
	fabric_port_refresh(fabric, index, info);
	port->has_ext = false;
	return ext_info ? fabric_port_ext_seen(fabric, node, number, ext_info) : 0;
}

int fabric_port_ext_seen(struct fabric *fabric, uint32_t node, unsigned number, const uint8_t *ext_info)
{
	uint32_t index = fabric_node_port(fabric, node, number);
	struct fabric_port *port;

	if (index == FABRIC_NONE)
		return -EINVAL;
	port = &fabric->ports[index];
	port->has_ext = !all_zero(ext_info);
	if (port->has_ext)
		memcpy(port->ext_info, ext_info, MAD_SMP_DATA);
	return 0;
}

int fabric_port_note(struct fabric *fabric, uint32_t node, unsigned number, enum fabric_gap_reason reason)
{
	uint32_t index = fabric_node_port(fabric, node, number);

	if (index == FABRIC_NONE || fabric->finished)
		return -EINVAL;
	fabric->ports[index].notes |= (uint8_t)(1u << reason);
	return 0;
}

void fabric_port_refresh(struct fabric *fabric, uint32_t port, const uint8_t *info)
{
	struct fabric_port *p = &fabric->ports[port];
	struct fabric_node *node = &fabric->nodes[p->node];

	uint8_t fresh[MAD_SMP_DATA];

	memcpy(fresh, info, sizeof(fresh));
	if (p->known)
		link_keep_ext_speeds(p->info, fresh);
	memcpy(p->info, fresh, sizeof(fresh));
	memset(p->info, 0, sizeof(uint64_t)); /* its M_Key, which is nobody's business here */
	p->known = true;
	if (node->type == FABRIC_SWITCH && p->number == 0)
		node->lid = fabric_port_lid(p);
}

int fabric_link(struct fabric *fabric, uint32_t node_a, unsigned port_a, uint32_t node_b, unsigned port_b)
{
	uint32_t a = fabric_node_port(fabric, node_a, port_a), b = fabric_node_port(fabric, node_b, port_b);

	if (a == FABRIC_NONE || b == FABRIC_NONE || port_a == 0 || port_b == 0 || fabric->finished)
		return -EINVAL;
	if (fabric->ports[a].peer == b)
		return 0;
	if (fabric->ports[a].peer != FABRIC_NONE || fabric->ports[b].peer != FABRIC_NONE)
		return -EEXIST;
	fabric->ports[a].peer = b;
	fabric->ports[b].peer = a;
	return 0;
}

static void note_changed(struct fabric *fabric, uint32_t port)
{
	fabric->ports[port].notes |= 1u << FABRIC_GAP_PEER_CHANGED;
}

/* Takes a link away whose port has another peer now. */
static void unlink_port(struct fabric *fabric, uint32_t port)
{
	uint32_t peer = fabric->ports[port].peer;

	note_changed(fabric, port);
	if (peer == FABRIC_NONE)
		return;
	note_changed(fabric, peer);
	fabric->ports[peer].peer = FABRIC_NONE;
	fabric->ports[port].peer = FABRIC_NONE;
}

int fabric_relink(struct fabric *fabric, uint32_t node_a, unsigned port_a, uint32_t node_b, unsigned port_b)
{
	int error = fabric_link(fabric, node_a, port_a, node_b, port_b);

	if (error != -EEXIST)
		return error;
	unlink_port(fabric, fabric_node_port(fabric, node_a, port_a));
	unlink_port(fabric, fabric_node_port(fabric, node_b, port_b));
	return fabric_link(fabric, node_a, port_a, node_b, port_b);
}
