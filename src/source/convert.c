/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* libibnetdisc's fabric made ours: its types stop here. Linear in nodes and ports. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/ibnetdisc.h>

#include "live.h"

static bool usable(const struct ibnd_node *node)
{
	return node->guid != 0 && node->type >= FABRIC_CA && node->type <= FABRIC_ROUTER;
}

/* The index that a node got; fabric_add_node() gives it again for the same GUID. */
static uint32_t index_of(struct fabric *fabric, const struct ibnd_node *node)
{
	return usable(node) ? fabric_add_node(fabric, node->info, NULL, NULL, NULL) : FABRIC_NONE;
}

static void copy_route(const ib_portid_t *from, struct mad_route *to)
{
	int hops = from->drpath.cnt;

	*to = (struct mad_route){0};
	if (hops < 0 || hops > MAD_ROUTE_HOPS)
		return;
	to->hops = hops;
	memcpy(to->port, from->drpath.p, (size_t)hops + 1);
}

/* A node and its ports. */
static int add_node(struct fabric *fabric, const struct ibnd_node *node)
{
	struct mad_route route;
	uint32_t index;

	copy_route(&node->path_portid, &route);
	index = fabric_add_node(fabric, node->info, node->switchinfo, (const uint8_t *)node->nodedesc,
				&route);
	if (index == FABRIC_NONE)
		return -ENOMEM;
	for (int n = node->type == FABRIC_SWITCH ? 0 : 1; node->ports && n <= node->numports; n++) {
		const struct ibnd_port *port = node->ports[n];
		int error = 0;

		if (port)
			error = fabric_port_seen(fabric, index, n, port->guid, port->info, port->ext_info);
		if (error != 0)
			return error;
	}
	return 0;
}

/* Links of a node; each is met from both ends, and the second time changes nothing. */
static void add_links(struct fabric *fabric, const struct ibnd_node *node)
{
	uint32_t index = index_of(fabric, node);

	for (int n = 1; node->ports && n <= node->numports; n++) {
		const struct ibnd_port *port = node->ports[n], *peer = port ? port->remoteport : NULL;
		uint32_t peer_index = peer ? index_of(fabric, peer->node) : FABRIC_NONE;

		/* A refused link leaves a port without a peer, which is then a gap. */
		if (peer_index != FABRIC_NONE)
			fabric_link(fabric, index, n, peer_index, peer->portnum);
	}
}

static void note_origin(struct fabric *fabric, const struct ibnd_fabric *found)
{
	const struct ibnd_node *node = found->from_node;
	int number = found->from_portnum;

	fabric->from_node = index_of(fabric, node);
	fabric->from_port = number;
	if (node->ports && number >= 0 && number <= node->numports && node->ports[number])
		fabric->sm_lid = mad_get_field(node->ports[number]->info, 0, IB_PORT_SMLID_F);
}

int live_convert(const struct ibqos_ctx *ctx, const struct ibnd_fabric *found, struct fabric **fabric)
{
	struct fabric *made;
	int error = 0;

	*fabric = NULL;
	if (!found->from_node || !usable(found->from_node))
		return -ENETUNREACH;
	made = fabric_new(ctx->fabric);
	if (!made)
		return -ENOMEM;
	for (const struct ibnd_node *node = found->nodes; node && error == 0; node = node->next) {
		if (usable(node))
			error = add_node(made, node);
		else
			ctx_warn(ctx, "node with GUID 0x%016" PRIx64 " and NodeType %d left out", node->guid,
				 node->type);
	}
	if (error == 0) {
		for (const struct ibnd_node *node = found->nodes; node; node = node->next) {
			if (usable(node))
				add_links(made, node);
		}
		note_origin(made, found);
		error = fabric_finish(made);
	}
	if (error != 0) {
		fabric_free(made);
		return error;
	}
	*fabric = made;
	return 0;
}

/* A file with NULs is of another encoding, or damaged: lines that have one become empty, and are told. */
static void drop_nul_lines(const char *file, char *text, size_t size, struct finding_list *findings)
{
	unsigned line = 1, first = 0, count = 0;
	size_t column = 0;

	for (size_t start = 0, end; start < size; start = end + 1, line++) {
		const char *newline = memchr(text + start, '\n', size - start), *nul;

		end = newline ? (size_t)(newline - text) : size;
		nul = memchr(text + start, '\0', end - start);
		if (!nul)
			continue;
		if (count++ == 0) {
			first = line;
			column = (size_t)(nul - text) - start;
		}
		memset(text + start, ' ', end - start);
	}
	if (count > 0) {
		struct finding *f = finding_at(finding_add(findings, FINDING_NAME_MAP_BAD), file, first,
					       (unsigned)column + 1);

		finding_set(&f->got, "a NUL byte");
		finding_set(&f->detail, "%u %s passed over", count, count == 1 ? "line is" : "lines are");
	}
}

int live_name_nodes(struct fabric *fabric, const char *path, struct finding_list *findings)
{
	const char *file = path ? path : LIVE_NODE_NAME_MAP;
	char *text;
	size_t size;
	int error = file_read(file, &text, &size);

	if (error == -ENOMEM || (error == -ENOENT && !path))
		return error == -ENOENT ? 0 : error;
	if (error != 0) {
		struct finding *f = finding_at(finding_add(findings, FINDING_NAME_MAP_BAD), file, 0, 0);

		finding_set(&f->what, "the whole file");
		finding_set(&f->got, "%s", strerror(-error));
		return 0;
	}
	drop_nul_lines(file, text, size, findings);
	error = fabric_name_nodes(fabric, file, text, findings);
	free(text);
	return error;
}
