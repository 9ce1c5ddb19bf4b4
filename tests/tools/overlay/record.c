/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The record: what the subnet manager set and the device accepted. ibsim forgets VLHighLimit (it always
 * reads 0), so that its true value is only known from the Set that OpenSM sent; and it has no VL
 * arbitration tables of more than 8 entries. The overlay in OpenSM's process appends a line for each Set;
 * overlays in readers answer from these lines alone. LIDs come with them, and from PortInfo answers that
 * this process has seen itself.
 */
#include <infiniband/mad.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "overlay.h"

#define INVALID_FIELD 0x1c /* IBA 13.4.7: a value of the attribute or its modifier */
#define PORT_INFO "set guid=0x%" SCNx64 " port=%u lid=%u lmc=%u vlhighlimit=%u"
#define VLARB "vlarb guid=0x%" SCNx64 " port=%u block=%u data=%n"

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

static struct port *port_of(const struct record *record, const struct net *net, const char *line, uint64_t guid,
			    unsigned port)
{
	struct node *node = net_by_guid(net, guid);

	if (!node || port > node->ports)
		die("record %s: no such port in the net file: '%s'", record->path, line);
	return &node->port[port];
}

static void take_vlarb(const struct record *record, const struct net *net, const char *line)
{
	unsigned port, block;
	struct port *p;
	uint64_t guid;
	int at = 0;

	if (sscanf(line, VLARB, &guid, &port, &block, &at) != 3 || !at || block >= VLARB_BLOCKS)
		die("record %s: cannot read '%s'", record->path, line);
	p = port_of(record, net, line, guid, port);
	for (unsigned i = 0; i < SMP_BYTES; i++)
		if (sscanf(line + at + 2 * i, "%2hhx", &p->vlarb[block][i]) != 1)
			die("record %s: cannot read '%s'", record->path, line);
}

static void take_portinfo(const struct record *record, struct net *net, const char *line)
{
	unsigned port, lid, lmc, limit;
	uint64_t guid;

	if (sscanf(line, PORT_INFO, &guid, &port, &lid, &lmc, &limit) != 5)
		die("record %s: cannot read '%s'", record->path, line);
	port_of(record, net, line, guid, port)->vl_high_limit = (int)limit;
	if (port_has_lid(net_by_guid(net, guid), port))
		learn_lid(net, net_by_guid(net, guid), port, lid, lmc);
}

void record_refresh(struct record *record, struct net *net)
{
	char line[256];
	long at;

	if (!record->in)
		return;
	clearerr(record->in);
	while (at = ftell(record->in), fgets(line, sizeof(line), record->in)) {
		if (!strchr(line, '\n')) { /* half written: again next time */
			fseek(record->in, at, SEEK_SET);
			return;
		}
		if (!strncmp(line, "vlarb", 5))
			take_vlarb(record, net, line);
		else
			take_portinfo(record, net, line);
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

static void append_vlarb(const struct record *record, uint64_t guid, unsigned port, unsigned block, const uint8_t *data)
{
	FILE *out = fopen(record->path, "a");

	if (!out)
		die("record %s: %m", record->path);
	fprintf(out, "vlarb guid=0x%016" PRIx64 " port=%u block=%u data=", guid, port, block);
	for (unsigned i = 0; i < SMP_BYTES; i++)
		fprintf(out, "%02x", data[i]);
	fputc('\n', out);
	if (fclose(out))
		die("record %s: %m", record->path);
}

uint16_t record_vlarb(struct record *record, struct net *net, const struct request *req, unsigned low_cap,
		      unsigned high_cap, uint8_t *data)
{
	struct node *node = req->place.node;
	unsigned port = about_port(req), block = (req->mod >> 16) - 1, cap, entries;

	if (!record->path)
		die("vlarb-caps needs IBQOS_OVERLAY_RECORD");
	if (!node || port > node->ports || block >= VLARB_BLOCKS)
		return INVALID_FIELD;
	cap = block < 2 ? low_cap : high_cap;
	if (block % 2 && cap <= 32)
		return INVALID_FIELD;
	entries = block % 2 ? cap - 32 : cap < 32 ? cap : 32;
	if (req->method == IB_MAD_METHOD_SET) {
		uint8_t kept[SMP_BYTES] = {0};

		if (!record->writer)
			die("only the subnet manager sets VL arbitration");
		memcpy(kept, req->mad + data_offset(req->class), 2 * entries);
		append_vlarb(record, node->guid, port, block, kept);
	}
	record_refresh(record, net);
	memcpy(data, node->port[port].vlarb[block], SMP_BYTES);
	return 0;
}
