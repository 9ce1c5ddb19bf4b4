/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Closing a fabric: nodes in order of GUID, ports in order of node and number, links, gaps. Sorting
 * needs O(n log n), all else is linear.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"

struct place {
	uint64_t guid;
	uint32_t node; /* index before */
};

static int by_guid(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->guid > y->guid) - (x->guid < y->guid);
}

/* The arrays in their new order, exactly as large as they need be. */
struct sorted {
	struct place *order; /* new place -> node */
	uint32_t *place;     /* node -> new place */
	struct fabric_node *nodes;
	struct fabric_port *ports;
	struct fabric_link *links;
	struct fabric_gap *gaps;
	uint32_t link_count, gap_count;
	size_t gap_room;
};

/* One more, so that an empty fabric is no special case. */
static bool sorted_alloc(struct sorted *s, const struct fabric *f)
{
	s->order = calloc((size_t)f->node_count + 1, sizeof(*s->order));
	s->place = calloc((size_t)f->node_count + 1, sizeof(*s->place));
	s->nodes = calloc((size_t)f->node_count + 1, sizeof(*s->nodes));
	s->ports = calloc((size_t)f->port_count + 1, sizeof(*s->ports));
	return s->order && s->place && s->nodes && s->ports;
}

static void sort_nodes(struct sorted *s, const struct fabric *f)
{
	uint32_t first_port = 0;

	for (uint32_t i = 0; i < f->node_count; i++)
		s->order[i] = (struct place){.guid = f->nodes[i].guid, .node = i};
	qsort(s->order, f->node_count, sizeof(*s->order), by_guid);
	for (uint32_t i = 0; i < f->node_count; i++) {
		s->place[s->order[i].node] = i;
		s->nodes[i] = f->nodes[s->order[i].node];
		s->nodes[i].first_port = first_port;
		first_port += s->nodes[i].ports + 1u;
	}
}

/* Where a port of before is now. */
static uint32_t moved(const struct sorted *s, const struct fabric *f, uint32_t port)
{
	const struct fabric_port *p = &f->ports[port];

	return s->nodes[s->place[p->node]].first_port + p->number;
}

static void move_ports(struct sorted *s, const struct fabric *f)
{
	for (uint32_t i = 0; i < f->port_count; i++) {
		struct fabric_port *port = &s->ports[moved(s, f, i)];

		*port = f->ports[i];
		port->node = s->place[port->node];
		if (port->peer != FABRIC_NONE)
			port->peer = moved(s, f, port->peer);
	}
}

static bool make_links(struct sorted *s, uint32_t port_count)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < port_count; i++)
		count += s->ports[i].peer != FABRIC_NONE && i <= s->ports[i].peer;
	s->links = calloc((size_t)count + 1, sizeof(*s->links));
	if (!s->links)
		return false;
	for (uint32_t i = 0; i < port_count; i++) {
		if (s->ports[i].peer != FABRIC_NONE && i <= s->ports[i].peer)
			s->links[s->link_count++] = (struct fabric_link){.a = i, .b = s->ports[i].peer};
	}
	return true;
}

static bool add_gap(struct sorted *s, enum fabric_gap_reason reason, uint32_t port)
{
	struct fabric_gap *gaps = array_grow(s->gaps, &s->gap_room, (size_t)s->gap_count + 1, sizeof(*gaps));

	if (!gaps)
		return false;
	s->gaps = gaps;
	s->gaps[s->gap_count++] = (struct fabric_gap){.reason = reason, .port = port};
	return true;
}

/* Should this port's PortInfo have been answered? `from` is the port that looked. */
static bool info_expected(const struct sorted *s, const struct fabric_node *node, uint32_t port,
			  uint32_t from)
{
	if (node->type == FABRIC_SWITCH)
		return s->ports[node->first_port].known; /* else port 0 is the one gap */
	return s->ports[port].peer != FABRIC_NONE || port == from;
}

static bool noted(const struct fabric_port *port, enum fabric_gap_reason reason)
{
	return port->notes & 1u << reason;
}

/* Why a port that is LinkUp has no peer. */
static bool add_peerless(struct sorted *s, uint32_t port)
{
	const struct fabric_port *p = &s->ports[port];

	if (noted(p, FABRIC_GAP_PEER_CHANGED)) /* told already */
		return true;
	return add_gap(s, noted(p, FABRIC_GAP_PEER_BAD) ? FABRIC_GAP_PEER_BAD : FABRIC_GAP_NO_PEER, port);
}

static bool port_gaps(struct sorted *s, const struct fabric_node *node, uint32_t from)
{
	for (unsigned n = 1; n <= node->ports; n++) {
		uint32_t port = node->first_port + n;
		const struct fabric_port *p = &s->ports[port];

		if (noted(p, FABRIC_GAP_PEER_CHANGED) && !add_gap(s, FABRIC_GAP_PEER_CHANGED, port))
			return false;
		if (noted(p, FABRIC_GAP_NO_EXT_INFO) && !add_gap(s, FABRIC_GAP_NO_EXT_INFO, port))
			return false;
		if (!p->known) {
			if (info_expected(s, node, port, from) && !add_gap(s, FABRIC_GAP_NO_PORT_INFO, port))
				return false;
		} else if (p->peer == FABRIC_NONE && fabric_port_phys_state(p) == FABRIC_PHYS_LINK_UP) {
			if (!add_peerless(s, port))
				return false;
		}
	}
	return true;
}

static bool node_gaps(struct sorted *s, const struct fabric_node *node, uint32_t from)
{
	if (!node->name && !add_gap(s, FABRIC_GAP_NO_NODE_DESC, node->first_port))
		return false;
	if (node->type == FABRIC_SWITCH) {
		if (!node->has_switch_info && !add_gap(s, FABRIC_GAP_NO_SWITCH_INFO, node->first_port))
			return false;
		if (!s->ports[node->first_port].known &&
		    !add_gap(s, FABRIC_GAP_NO_PORT_INFO, node->first_port))
			return false;
	}
	return port_gaps(s, node, from);
}

/* Names are owned by both arrays until one is dropped, so they are made in the old one too. */
static bool name_nameless(struct sorted *s, struct fabric *f)
{
	for (uint32_t i = 0; i < f->node_count; i++) {
		struct fabric_node *node = &s->nodes[i];
		char *name;

		if (node->name && node->name[0] != '\0')
			continue;
		if (asprintf(&name, "0x%016" PRIx64, node->guid) < 0)
			return false;
		free(node->name);
		node->name = name;
		f->nodes[s->order[i].node].name = name;
	}
	return true;
}

static void take_over(struct fabric *f, struct sorted *s)
{
	free(f->nodes);
	free(f->ports);
	f->nodes = s->nodes;
	f->ports = s->ports;
	f->links = s->links;
	f->gaps = s->gaps;
	f->link_count = s->link_count;
	f->gap_count = s->gap_count;
	f->node_room = f->node_count;
	f->port_room = f->port_count;
	f->link_room = s->link_count;
	f->gap_room = s->gap_room;
	if (f->from_node != FABRIC_NONE)
		f->from_node = s->place[f->from_node];
	f->finished = true;
	fabric_forget_guids(f);
}

int fabric_finish(struct fabric *fabric)
{
	struct sorted s = {0};
	uint32_t from = FABRIC_NONE;

	if (fabric->finished || (fabric->from_node != FABRIC_NONE && fabric->from_node >= fabric->node_count))
		return -EINVAL;
	if (!sorted_alloc(&s, fabric))
		goto no_memory;
	sort_nodes(&s, fabric);
	move_ports(&s, fabric);
	if (!make_links(&s, fabric->port_count))
		goto no_memory;
	if (fabric->from_node != FABRIC_NONE) {
		from = fabric_node_port(fabric, fabric->from_node, fabric->from_port);
		from = from != FABRIC_NONE ? moved(&s, fabric, from) : FABRIC_NONE;
	}
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		if (!node_gaps(&s, &s.nodes[i], from))
			goto no_memory;
	}
	if (!name_nameless(&s, fabric))
		goto no_memory;
	take_over(fabric, &s);
	free(s.order);
	free(s.place);
	return 0;

no_memory:
	free(s.order);
	free(s.place);
	free(s.nodes);
	free(s.ports);
	free(s.links);
	free(s.gaps);
	return -ENOMEM;
}
