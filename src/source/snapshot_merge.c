/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Several snapshots of one fabric, taken at about one time, made one. Of what more than one of them has the newest counts; but an
 * answer counts before none, whoever has it, and a port that is up and has no peer in one may have one in another. How often
 * that was is counted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot_merging.h"

static uint64_t guid_of(const struct snapshot *s, uint32_t node)
{
	uint8_t info[MAD_SMP_DATA];
	uint64_t guid = 0;

	snapshot_get_data(s, s->nodes[node].node_info, info, sizeof(info));
	for (unsigned i = 0; i < 8; i++) /* NodeInfo:NodeGUID, IBA 14.2.5.3 */
		guid = guid << 8 | info[12 + i];
	return guid;
}

static int by_guid(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* --- nodes and ports --- */

static uint32_t node_at(const struct merging *m, uint64_t guid)
{
	const uint64_t *found = bsearch(&guid, m->guids, m->to->node_count, sizeof(guid), by_guid);

	return found ? (uint32_t)(found - m->guids) : FABRIC_NONE;
}

/* The nodes of all parts, each once, in order. */
static int find_nodes(struct merging *m)
{
	size_t all = 0, kept = 0;

	for (size_t p = 0; p < m->count; p++)
		all += m->parts[p]->node_count;
	m->guids = calloc(all + 1, sizeof(*m->guids));
	m->node_of = calloc(m->count, sizeof(uint32_t *));
	m->port_of = calloc(m->count, sizeof(uint32_t *));
	if (!m->guids || !m->node_of || !m->port_of || all > UINT32_MAX / 512)
		return -ENOMEM;
	all = 0;
	for (size_t p = 0; p < m->count; p++)
		for (uint32_t n = 0; n < m->parts[p]->node_count; n++)
			m->guids[all++] = guid_of(m->parts[p], n);
	qsort(m->guids, all, sizeof(*m->guids), by_guid);
	for (size_t i = 0; i < all; i++)
		if (kept == 0 || m->guids[kept - 1] != m->guids[i])
			m->guids[kept++] = m->guids[i];
	m->to->node_count = (uint32_t)kept;
	return 0;
}

/* Takes from a part what the newer ones do not have. */
static void take_node(struct merging *m, const struct snapshot *part, uint32_t from, uint32_t to, bool same_way)
{
	const struct snapshot_node *old = &part->nodes[from];
	struct snapshot_node *node = &m->to->nodes[to];
	char *name;

	if (node->node_info == 0)
		node->node_info = merging_keep(m, part, old->node_info);
	if (node->switch_info == 0 && old->switch_info)
		node->switch_info = merging_keep(m, part, old->switch_info);
	/* ways of another one who looked lead elsewhere */
	if (node->route == 0 && old->route && same_way)
		node->route = merging_keep(m, part, old->route);
	if (node->name != FABRIC_NONE && (node->has_desc || !old->has_desc))
		return;
	name = snapshot_get_text(part, old->name);
	node->name = name ? snapshot_keep_text(m->to, name) : UINT32_MAX;
	m->lost |= node->name == UINT32_MAX;
	node->has_desc = old->has_desc;
	free(name);
}

static uint64_t looker(const struct snapshot *s)
{
	return s->meta->from_node == FABRIC_NONE ? 0 : guid_of(s, s->meta->from_node);
}

static int take_nodes(struct merging *m)
{
	struct snapshot *to = m->to;
	uint64_t from = looker(m->parts[0]);

	to->nodes = calloc((size_t)to->node_count + 1, sizeof(*to->nodes));
	m->first = calloc((size_t)to->node_count + 2, sizeof(*m->first));
	if (!to->nodes || !m->first)
		return -ENOMEM;
	for (uint32_t n = 0; n < to->node_count; n++)
		to->nodes[n].name = FABRIC_NONE;
	for (size_t p = 0; p < m->count; p++) {
		const struct snapshot *part = m->parts[p];

		m->node_of[p] = calloc((size_t)part->node_count + 1, sizeof(**m->node_of));
		if (!m->node_of[p])
			return -ENOMEM;
		for (uint32_t n = 0; n < part->node_count; n++) {
			m->node_of[p][n] = node_at(m, guid_of(part, n));
			take_node(m, part, n, m->node_of[p][n], from != 0 && looker(part) == from);
		}
	}
	if (m->lost)
		return -ENOMEM;
	for (uint32_t n = 0; n < to->node_count; n++)
		m->first[n + 1] = m->first[n] + snapshot_node_ports(to, n) + 1;
	to->port_count = m->first[to->node_count];
	return 0;
}

static int find_ports(struct merging *m)
{
	for (size_t p = 0; p < m->count; p++) {
		const struct snapshot *part = m->parts[p];
		uint32_t at = 0;

		m->port_of[p] = calloc((size_t)part->port_count + 1, sizeof(**m->port_of));
		if (!m->port_of[p])
			return -ENOMEM;
		for (uint32_t n = 0; n < part->node_count; n++) {
			uint32_t node = m->node_of[p][n], ports = snapshot_node_ports(part, n);

			for (uint32_t i = 0; i <= ports; i++, at++)
				m->port_of[p][at] = i <= snapshot_node_ports(m->to, node) ? m->first[node] + i : FABRIC_NONE;
		}
	}
	return 0;
}

/*
 * Bytes of PortInfo (IBA 14.2.5.6) that are judged: LID; from LinkWidthEnabled to what is beside OperationalVLs; the extended speeds. The
 * port that was asked through (LocalPortNum), violations and times are not of the link's state.
 */
static const struct {
	uint8_t from, to;
} judged[] = {{16, 18}, {29, 46}, {62, 64}};

static bool same_port_info(const struct snapshot *a, uint32_t x, const struct snapshot *b, uint32_t y)
{
	uint8_t left[MAD_SMP_DATA], right[MAD_SMP_DATA];

	snapshot_get_data(a, x, left, sizeof(left));
	snapshot_get_data(b, y, right, sizeof(right));
	for (size_t i = 0; i < sizeof(judged) / sizeof(judged[0]); i++)
		if (memcmp(left + judged[i].from, right + judged[i].from, (size_t)(judged[i].to - judged[i].from)) != 0)
			return false;
	return true;
}

static int take_ports(struct merging *m)
{
	struct snapshot *to = m->to;

	to->ports = calloc((size_t)to->port_count + 1, sizeof(*to->ports));
	m->decided = calloc((size_t)to->port_count + 1, sizeof(*m->decided));
	m->told_by = calloc((size_t)to->port_count + 1, sizeof(*m->told_by));
	if (!to->ports || !m->decided || !m->told_by)
		return -ENOMEM;
	for (uint32_t i = 0; i < to->port_count; i++)
		to->ports[i].peer = FABRIC_NONE;
	for (size_t p = 0; p < m->count; p++)
		for (uint32_t i = 0; i < m->parts[p]->port_count; i++) {
			const struct snapshot_port *old = &m->parts[p]->ports[i];
			uint32_t at = m->port_of[p][i];
			struct snapshot_port *port;

			if (at == FABRIC_NONE)
				continue;
			port = &to->ports[at];
			if (port->guid == 0)
				port->guid = old->guid;
			if (port->info == 0 && old->info) {
				port->info = merging_keep(m, m->parts[p], old->info);
				m->told_by[at] = (uint32_t)p + 1;
			} else if (old->info && merging_same_second(m, m->told_by[at] - 1, p)) {
				m->result->undecided += !same_port_info(to, port->info, m->parts[p], old->info);
			}
			if (port->ext_info == 0 && old->ext_info)
				port->ext_info = merging_keep(m, m->parts[p], old->ext_info);
		}
	return m->lost ? -ENOMEM : 0;
}

/* Whether what a part says of a port tells that it is cabled to nothing: it is known, and not LinkUp. */
static bool is_loose(const struct snapshot *s, const struct snapshot_port *port)
{
	uint8_t info[MAD_SMP_DATA];

	if (port->info == 0)
		return false;
	snapshot_get_data(s, port->info, info, sizeof(info));
	return info[33] >> 4 != FABRIC_PHYS_LINK_UP; /* PortPhysicalState, IBA 14.2.5.6 */
}

static void take_links(struct merging *m)
{
	struct snapshot *to = m->to;

	for (size_t p = 0; p < m->count; p++) {
		const struct snapshot *part = m->parts[p];

		for (uint32_t i = 0; i < part->port_count; i++) {
			uint32_t peer = part->ports[i].peer, a = m->port_of[p][i], b;

			if (peer == FABRIC_NONE || peer < i || a == FABRIC_NONE)
				continue;
			b = m->port_of[p][peer];
			if (b == FABRIC_NONE || to->ports[a].peer == b)
				continue;
			if (m->decided[a] || m->decided[b]) {
				m->result->links++;
				m->result->undecided += (m->decided[a] && merging_same_second(m, m->decided[a] - 1, p)) ||
							(m->decided[b] && merging_same_second(m, m->decided[b] - 1, p));
				continue;
			}
			to->ports[a].peer = b;
			to->ports[b].peer = a;
		}
		for (uint32_t i = 0; i < part->port_count; i++) {
			uint32_t a = m->port_of[p][i];

			if (a != FABRIC_NONE && m->decided[a] == 0 && (to->ports[a].peer != FABRIC_NONE || is_loose(part, &part->ports[i])))
				m->decided[a] = (uint32_t)p + 1;
		}
	}
}

/* --- gaps --- */

static int by_gap(const void *a, const void *b)
{
	const struct snapshot_gap *x = a, *y = b;

	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	return (x->reason > y->reason) - (x->reason < y->reason);
}

static uint32_t node_of_port(const struct merging *m, uint32_t port)
{
	uint32_t low = 0, high = m->to->node_count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (m->first[middle] <= port)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Whether another part has what this one lacked. */
static bool is_filled(const struct merging *m, const struct snapshot_gap *gap)
{
	const struct snapshot_port *port = &m->to->ports[gap->port];
	const struct snapshot_node *node = &m->to->nodes[node_of_port(m, gap->port)];

	switch (gap->reason) {
	case FABRIC_GAP_NO_PEER:
		return port->peer != FABRIC_NONE;
	case FABRIC_GAP_NO_PORT_INFO:
		return port->info != 0;
	case FABRIC_GAP_NO_NODE_DESC:
		return node->has_desc;
	case FABRIC_GAP_NO_SWITCH_INFO:
		return node->switch_info != 0;
	case FABRIC_GAP_NO_EXT_INFO:
		return port->ext_info != 0;
	default: /* a peer that changed, or gave what cannot be: somebody saw it */
		return false;
	}
}

static int take_gaps(struct merging *m)
{
	struct snapshot *to = m->to;
	size_t all = 0;
	uint32_t kept = 0;

	for (size_t p = 0; p < m->count; p++)
		all += m->parts[p]->gap_count;
	to->gaps = calloc(all + 1, sizeof(*to->gaps));
	if (!to->gaps)
		return -ENOMEM;
	for (size_t p = 0; p < m->count; p++)
		for (uint32_t i = 0; i < m->parts[p]->gap_count; i++) {
			struct snapshot_gap gap = m->parts[p]->gaps[i];

			gap.port = m->port_of[p][gap.port];
			if (gap.port == FABRIC_NONE)
				continue;
			if (is_filled(m, &gap))
				m->result->filled++;
			else
				to->gaps[to->gap_count++] = gap;
		}
	if (m->count > 1) {
		qsort(to->gaps, to->gap_count, sizeof(*to->gaps), by_gap);
		for (uint32_t i = 0; i < to->gap_count; i++)
			if (kept == 0 || by_gap(&to->gaps[kept - 1], &to->gaps[i]) != 0)
				to->gaps[kept++] = to->gaps[i];
		to->gap_count = kept;
	}
	return 0;
}

/* --- all of it --- */

static int begin(struct merging *m, const char *name)
{
	const struct snapshot *newest = m->parts[0];
	struct snapshot *to = m->to;
	uint64_t from = looker(newest);

	to->meta = calloc(1, sizeof(*to->meta));
	if (!to->meta || !snapshot_pool_begin(&to->strings) || !snapshot_pool_begin(&to->data))
		return -ENOMEM;
	to->meta_count = 1;
	to->taken = newest->taken;
	to->act_count = newest->act_count;
	*to->meta = *newest->meta;
	to->meta->version = snapshot_keep_text(to, newest->version);
	to->meta->label = snapshot_keep_text(to, name);
	to->meta->from_node = from ? node_at(m, from) : FABRIC_NONE;
	for (size_t p = 0; p < m->count; p++) {
		if (to->meta->stopped == 0)
			to->meta->stopped = m->parts[p]->meta->stopped;
		if (to->meta->sm_lid == 0)
			to->meta->sm_lid = m->parts[p]->meta->sm_lid;
	}
	return to->meta->version == UINT32_MAX || to->meta->label == UINT32_MAX ? -ENOMEM : 0;
}

static void end(struct merging *m)
{
	for (size_t p = 0; p < m->count; p++) {
		if (m->node_of)
			free(m->node_of[p]);
		if (m->port_of)
			free(m->port_of[p]);
	}
	free(m->node_of);
	free(m->port_of);
	free(m->guids);
	free(m->first);
	free(m->decided);
	free(m->told_by);
}

int snapshot_merge(const struct snapshot *const *parts, size_t count, const char *name, struct snapshot **snapshot,
		   struct snapshot_merged *result)
{
	struct merging m = {.parts = parts, .count = count, .to = snapshot_new(), .result = result};
	int error = m.to ? 0 : -ENOMEM;

	*result = (struct snapshot_merged){.parts = count, .newest = parts[0]->taken, .oldest = parts[count - 1]->taken};
	*snapshot = NULL;
	if (error == 0 && result->newest - result->oldest > SNAPSHOT_APART_MAX)
		error = -ERANGE;
	if (error == 0)
		error = find_nodes(&m);
	if (error == 0)
		error = begin(&m, name);
	if (error == 0)
		error = take_nodes(&m);
	if (error == 0)
		error = find_ports(&m);
	if (error == 0)
		error = take_ports(&m);
	if (error == 0)
		take_links(&m);
	if (error == 0)
		error = take_gaps(&m);
	if (error == 0)
		error = merging_take_answers(&m);
	if (error == 0)
		error = merging_take_sm(&m);
	if (error == 0)
		error = snapshot_order_data(m.to);
	if (error == 0)
		error = snapshot_close(m.to);
	end(&m);
	if (error != 0) {
		snapshot_free(m.to);
		return error;
	}
	*snapshot = m.to;
	return 0;
}

/* --- one fabric or two --- */

static bool is_switch(const struct snapshot *s, uint32_t node)
{
	uint8_t info[MAD_SMP_DATA];

	snapshot_get_data(s, s->nodes[node].node_info, info, sizeof(info));
	return info[2] == FABRIC_SWITCH;
}

uint32_t snapshot_shared_switches(const struct snapshot *a, const struct snapshot *b)
{
	uint32_t count = 0;

	for (uint32_t i = 0, n = 0; i < a->node_count && n < b->node_count;) {
		uint64_t x = guid_of(a, i), y = guid_of(b, n);

		count += x == y && is_switch(a, i);
		i += x <= y;
		n += y <= x;
	}
	return count;
}
