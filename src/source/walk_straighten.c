/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Routes that do not depend on the order of answers: breadth first over the links found, ports in rising order,
 * so that nodes are met in the order of their routes. A link that was met from one end is taken both ways.
 */
#include <errno.h>
#include <stdlib.h>

#include <infiniband/mad.h>

#include "walk.h"

/* Of NodeInfo only these two depend on the port that it is asked at. */
static void move_node_info(struct fabric_node *node, const struct fabric_port *arrival)
{
	mad_set_field(node->node_info, 0, IB_NODE_LOCAL_PORT_F, arrival->number);
	mad_set_field64(node->node_info, 0, IB_NODE_PORT_GUID_F, arrival->guid);
}

/* Links lead on from a switch, and from the port that looked. */
static bool leads_on(const struct fabric *fabric, uint32_t node, unsigned number)
{
	return fabric->nodes[node].type == FABRIC_SWITCH ||
	       (node == fabric->from_node && number == fabric->from_port);
}

int walk_straighten(struct fabric *fabric)
{
	bool *met = calloc((size_t)fabric->node_count + 1, sizeof(*met));
	uint32_t *queue = calloc((size_t)fabric->node_count + 1, sizeof(*queue)), count = 0;
	int error = met && queue ? 0 : -ENOMEM;

	if (error == 0) {
		met[fabric->from_node] = true;
		queue[count++] = fabric->from_node;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct fabric_node *node = &fabric->nodes[queue[i]];

		for (unsigned n = 1; n <= node->ports; n++) {
			uint32_t peer = fabric->ports[node->first_port + n].peer, next;

			if (peer == FABRIC_NONE || !leads_on(fabric, queue[i], n) ||
			    node->route.hops == MAD_ROUTE_HOPS)
				continue;
			next = fabric->ports[peer].node;
			if (met[next])
				continue;
			met[next] = true;
			queue[count++] = next;
			fabric->nodes[next].route = node->route;
			fabric->nodes[next].route.port[++fabric->nodes[next].route.hops] = (uint8_t)n;
			move_node_info(&fabric->nodes[next], &fabric->ports[peer]);
		}
	}
	free(met);
	free(queue);
	return error;
}
