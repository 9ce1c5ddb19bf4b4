/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The record: what the subnet manager set and the device accepted. ibsim forgets VLHighLimit (it always
 * reads 0), so that its true value is only known from the Set that OpenSM sent. The overlay in OpenSM's
 * process appends a line for each; overlays in readers answer from these lines alone. LIDs come with
 * them, and from PortInfo answers that this process has seen itself.
 */
#include <infiniband/mad.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "overlay.h"

#define LINE "set guid=0x%" SCNx64 " port=%u lid=%u lmc=%u vlhighlimit=%u"


static void learn_lid(struct net *net, struct node *node, unsigned port, unsigned lid, unsigned lmc)
{
	for (unsigned l = lid; lid && l < lid + (1u << lmc) && l <= LID_MAX; l++)
		net->lid[l] = (struct place){node, node->type == NODE_SWITCH ? 0 : port};
}

/* A switch has its LID on port 0 alone; a CA on each port. */
static bool port_has_lid(const struct node *node, unsigned port)
{
	return node->type == NODE_SWITCH ? port == 0 : port != 0;
}

void record_open(struct record *record, const char *path, bool writer)
{
	FILE *touch = fopen(path, "a");

	if (!touch)
		die("record %s: %m", path);
	fclose(touch);
	record->path = path;
	record->writer = writer;
	record->in = fopen(path, "r");
	if (!record->in)
		die("record %s: %m", path);
}

void record_refresh(struct record *record, struct net *net)
{
	char line[256];
	long at;

	if (!record->in)
		return;
	clearerr(record->in);
	while (at = ftell(record->in), fgets(line, sizeof(line), record->in)) {
		unsigned port, lid, lmc, limit;
		struct node *node;
		uint64_t guid;

		if (!strchr(line, '\n')) { /* half written: again next time */
			fseek(record->in, at, SEEK_SET);
			return;
		}
		if (sscanf(line, LINE, &guid, &port, &lid, &lmc, &limit) != 5)
			die("record %s: cannot read '%s'", record->path, line);
		node = net_by_guid(net, guid);
		if (!node || port > node->ports)
			die("record %s: no such port in the net file: '%s'", record->path, line);
		node->port[port].vl_high_limit = (int)limit;
		if (port_has_lid(node, port))
			learn_lid(net, node, port, lid, lmc);
	}
}

static void append(const struct record *record, uint64_t guid, unsigned port, const uint8_t *sent)
{
	FILE *out = fopen(record->path, "a");
	uint8_t *pi = (uint8_t *)sent;

	if (!out)
		die("record %s: %m", record->path);
	/* one write(2) with O_APPEND, so that readers never see lines mixed */
	fprintf(out, "set guid=0x%016" PRIx64 " port=%u lid=%u lmc=%u vlhighlimit=%u\n", guid, port,
		mad_get_field(pi, 0, IB_PORT_LID_F), mad_get_field(pi, 0, IB_PORT_LMC_F),
		mad_get_field(pi, 0, IB_PORT_VL_HIGH_LIMIT_F));
	if (fclose(out))
		die("record %s: %m", record->path);
}

void record_portinfo(struct record *record, struct net *net, const struct request *req, uint8_t *data)
{
	struct node *node = req->place.node;
	unsigned port = about_port(req);
	int limit;

	if (!node) { /* a LID that nothing is known of yet: nothing to tell, nothing to learn */
		return;
	}
	if (port > node->ports)
		return;
	if (port_has_lid(node, port))
		learn_lid(net, node, port, mad_get_field(data, 0, IB_PORT_LID_F),
			  mad_get_field(data, 0, IB_PORT_LMC_F));
	if (record->path && record->writer && req->method == IB_MAD_METHOD_SET)
		append(record, node->guid, port, req->mad + data_offset(req->class));
	if (record->path) {
		record_refresh(record, net);
		limit = node->port[port].vl_high_limit;
		if (limit >= 0)
			mad_set_field(data, 0, IB_PORT_VL_HIGH_LIMIT_F, (uint32_t)limit);
	}
}
