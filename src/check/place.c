/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * place: says where in the fabric a finding is.
 */
#include "place.h"

static void set_name(char **member, const struct fabric_node *node)
{
	if (node->name)
		finding_set(member, "%s", node->name);
}

static void set_peer(struct finding *f, const struct fabric *fabric, uint32_t peer)
{
	const struct fabric_node *node;

	if (peer == FABRIC_NONE)
		return;
	node = fabric_port_node(fabric, peer);
	f->peer_guid = node->guid;
	f->peer_port = fabric->ports[peer].number;
	set_name(&f->peer_name, node);
}

void place_port(struct finding *f, const struct fabric *fabric, uint32_t port)
{
	const struct fabric_node *node = fabric_port_node(fabric, port);

	f->guid = node->guid;
	f->port = fabric->ports[port].number;
	set_name(&f->name, node);
	set_peer(f, fabric, fabric->ports[port].peer);
}

void place_node(struct finding *f, const struct fabric *fabric, uint32_t node)
{
	f->guid = fabric->nodes[node].guid;
	f->port = FINDING_WHOLE_NODE;
	set_name(&f->name, &fabric->nodes[node]);
	set_peer(f, fabric, place_before(fabric, node));
}

bool place_reserved(const struct fabric *fabric, uint32_t port, enum fabric_link_field field, struct finding_list *findings)
{
	struct finding *f;
	unsigned code;

	if (!fabric_port_reserved(&fabric->ports[port], field, &code))
		return false;
	f = finding_add(findings, FINDING_PORT_INFO_RESERVED);
	place_port(f, fabric, port);
	finding_set(&f->what, "%s", fabric_link_field_name(field));
	finding_set(&f->wanted, "1 to 5");
	finding_set(&f->got, "%u", code);
	return true;
}

uint32_t place_before(const struct fabric *fabric, uint32_t node)
{
	const struct mad_route *route = &fabric->nodes[node].route;
	uint32_t at = fabric->from_node, out = FABRIC_NONE, peer;
	unsigned hop;

	if (at == FABRIC_NONE)
		return FABRIC_NONE;
	for (hop = 1; hop <= route->hops && hop <= MAD_ROUTE_HOPS; hop++) {
		out = fabric_node_port(fabric, at, route->port[hop]);
		peer = out == FABRIC_NONE ? FABRIC_NONE : fabric->ports[out].peer;
		if (peer == FABRIC_NONE)
			return FABRIC_NONE;
		at = fabric->ports[peer].node;
	}
	return at == node ? out : FABRIC_NONE;
}
