/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Devices joined by cables, behind a scripted wire. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "images.h"
#include "script_fabric.h"

#define LIDS 0x100 /* of the first node; the others' follow */

unsigned script_fabric_node(struct script_fabric *f, enum fabric_node_type type, uint64_t guid, unsigned ports)
{
	struct script_node *node = &f->node[f->count];

	assert_true(f->count < SCRIPT_NODES && ports <= SCRIPT_PORTS);
	*node = (struct script_node){.type = type, .guid = guid, .ports = ports};
	snprintf(node->desc, sizeof(node->desc), "node-%u", f->count);
	return f->count++;
}

void script_fabric_cable(struct script_fabric *f, unsigned a, unsigned port_a, unsigned b, unsigned port_b)
{
	assert_true(port_a > 0 && port_a <= f->node[a].ports && port_b > 0 && port_b <= f->node[b].ports);
	f->node[a].peer[port_a].node = b;
	f->node[a].peer[port_a].port = port_b;
	f->node[b].peer[port_b].node = a;
	f->node[b].peer[port_b].port = port_a;
}

bool script_fabric_leads_on(const struct script_fabric *f, unsigned node, unsigned port)
{
	return f->node[node].type == FABRIC_SWITCH || (node == f->from_node && port == f->from_port);
}

/* Where a route ends; false: at no node. */
static bool follow(const struct script_fabric *f, const struct mad_route *route, unsigned *node, unsigned *port)
{
	*node = f->from_node;
	*port = f->from_port;
	for (unsigned hop = 1; hop <= route->hops; hop++) {
		unsigned out = route->port[hop], next;

		if (out == 0 || out > f->node[*node].ports || f->node[*node].peer[out].port == 0)
			return false;
		/* an adapter passes nothing on, but sends from its own port */
		if (hop == 1 ? !script_fabric_leads_on(f, *node, out) : f->node[*node].type != FABRIC_SWITCH)
			return false;
		next = f->node[*node].peer[out].node;
		*port = f->node[*node].peer[out].port;
		*node = next;
	}
	return true;
}

static void port_info(const struct script_fabric *f, unsigned node, unsigned arrival, unsigned number,
		      uint8_t data[MAD_SMP_DATA])
{
	bool up = number == 0 || f->node[node].peer[number].port > 0;
	struct image_port port = {
		.lid = LIDS + node,
		.sm_lid = LIDS,
		.local_port = arrival,
		.speed_supported = 7,
		.speed_enabled = 7,
		.speed_active = f->speed_active,
	};

	if (!up) {
		port.state = FABRIC_STATE_DOWN;
		port.phys_state = 2;
	}
	image_port_info(data, &port);
}

static void answer(struct script_fabric *f, const struct mad_request *request, unsigned node, unsigned arrival,
		   struct mad_reply *reply)
{
	const struct script_node *n = &f->node[node];

	switch (request->attribute) {
	case MAD_NODE_INFO:
		f->asked[node][0]++;
		image_node_info(reply->data, n->type, n->guid, n->ports, arrival);
		if (n->device)
			image_put16(reply->data, 30, n->device);
		return;
	case MAD_NODE_DESC:
		f->asked[node][1]++;
		image_node_desc(reply->data, n->desc);
		return;
	case MAD_SWITCH_INFO:
		f->asked[node][2]++;
		assert_int_equal(n->type, FABRIC_SWITCH);
		image_switch_info(reply->data, true);
		return;
	case MAD_MLNX_EXT_PORT_INFO:
		f->asked[node][3]++;
		reply->data[15] = 1; /* LinkSpeedActive: FDR10 */
		return;
	case MAD_PORT_INFO:
		assert_true(request->modifier <= n->ports);
		if (n->type != FABRIC_SWITCH) /* an adapter's port answers for itself */
			assert_int_equal(request->modifier, arrival);
		f->port_asked[node][request->modifier]++;
		port_info(f, node, arrival, request->modifier, reply->data);
		return;
	default:
		fail_msg("attribute 0x%x is not of a discovery", request->attribute);
	}
}

int script_fabric_play(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	struct script_fabric *f = arg;
	struct mad_reply reply = {.tid = request->tid, .attribute = request->attribute, .modifier = request->modifier};
	unsigned node, arrival;

	assert_int_equal(request->to->lid, 0); /* LIDs may not be there yet, or lead elsewhere */
	assert_true(request->to->route.hops <= MAD_ROUTE_HOPS);
	if (!follow(f, &request->to->route, &node, &arrival)) {
		f->nowhere++;
		return 0;
	}
	answer(f, request, node, arrival, &reply);
	if (!f->meddle || f->meddle(f->arg, request, node, arrival, &reply))
		script_reply(wire, f->delay ? f->delay(f->arg) : SCRIPT_DELAY_US * UINT64_C(1000), &reply);
	return 0;
}

unsigned script_fabric_reach(const struct script_fabric *f, bool reached[SCRIPT_NODES])
{
	unsigned count = 1, before;

	memset(reached, 0, SCRIPT_NODES * sizeof(*reached));
	reached[f->from_node] = true;
	do {
		before = count;
		for (unsigned a = 0; a < f->count; a++) {
			for (unsigned p = 1; reached[a] && p <= f->node[a].ports; p++) {
				unsigned b = f->node[a].peer[p].node;

				if (f->node[a].peer[p].port == 0 || !script_fabric_leads_on(f, a, p) || reached[b])
					continue;
				reached[b] = true;
				count++;
			}
		}
	} while (count > before);
	return count;
}

/* A cable is seen where a request can pass it in one of its directions. */
static bool seen(const struct script_fabric *f, const bool *reached, unsigned a, unsigned p)
{
	unsigned b = f->node[a].peer[p].node, q = f->node[a].peer[p].port;

	return q > 0 && ((reached[a] && script_fabric_leads_on(f, a, p)) || (reached[b] && script_fabric_leads_on(f, b, q)));
}

static void check_node(const struct script_fabric *f, const bool *reached, unsigned node, const struct fabric *found)
{
	const struct script_node *n = &f->node[node];
	uint32_t at = fabric_find_node(found, n->guid);
	const struct fabric_node *got;

	assert_int_equal(at != FABRIC_NONE, reached[node]);
	if (at == FABRIC_NONE)
		return;
	got = &found->nodes[at];
	assert_int_equal(got->type, n->type);
	assert_int_equal(got->ports, n->ports);
	assert_string_equal(got->name, n->desc);
	assert_int_equal(got->has_switch_info, n->type == FABRIC_SWITCH);
	for (unsigned p = 1; p <= n->ports; p++) {
		const struct fabric_port *port = &found->ports[got->first_port + p];

		assert_int_equal(port->peer != FABRIC_NONE, seen(f, reached, node, p));
		if (port->peer == FABRIC_NONE)
			continue;
		assert_int_equal(fabric_port_node(found, port->peer)->guid, f->node[n->peer[p].node].guid);
		assert_int_equal(found->ports[port->peer].number, n->peer[p].port);
		assert_true(port->known);
		assert_int_equal(port->guid, n->type == FABRIC_SWITCH ? n->guid : n->guid + p);
	}
}

void script_fabric_check(const struct script_fabric *f, const struct fabric *found)
{
	bool reached[SCRIPT_NODES];

	assert_int_equal(found->node_count, script_fabric_reach(f, reached));
	assert_int_equal(found->nodes[found->from_node].guid, f->node[f->from_node].guid);
	assert_int_equal(found->from_port, f->from_port);
	for (unsigned i = 0; i < f->count; i++)
		check_node(f, reached, i, found);
}
