/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Nodes that were replaced: one is gone, and another of its type has its cables, or its name.
 */
#include "diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct matching {
	const struct fabric *before, *after;
	uint32_t *is;  /* by node of `before`: the node that it is in `after`, or FABRIC_NONE */
	uint32_t *was; /* by node of `after`, the other way round */
};

uint64_t diff_guid_after(const struct diff_result *result, uint64_t guid)
{
	size_t low = 0, high = result->nodes_replaced;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (result->replaced[middle].before == guid)
			return result->replaced[middle].after;
		if (result->replaced[middle].before < guid)
			low = middle + 1;
		else
			high = middle;
	}
	return guid;
}

void diff_result_clear(struct diff_result *result)
{
	free(result->replaced);
	*result = (struct diff_result){0};
}

/* The node at the place where a cable of a node that is gone led, by the port at the cable's other end; FABRIC_NONE. */
static uint32_t at_the_cable(const struct matching *m, uint32_t port)
{
	uint32_t peer = m->before->ports[port].peer, node, there;

	if (peer == FABRIC_NONE)
		return FABRIC_NONE;
	node = m->is[m->before->ports[peer].node];
	if (node == FABRIC_NONE)
		return FABRIC_NONE;
	there = fabric_node_port(m->after, node, m->before->ports[peer].number);
	there = there == FABRIC_NONE ? FABRIC_NONE : m->after->ports[there].peer;
	if (there == FABRIC_NONE || m->after->ports[there].number != m->before->ports[port].number)
		return FABRIC_NONE;
	return m->after->ports[there].node;
}

/* Whether `candidate`, which is new, stands in the place of a node that is gone. */
static bool has_its_cables(const struct matching *m, uint32_t gone, uint32_t candidate)
{
	const struct fabric_node *old = &m->before->nodes[gone], *new = &m->after->nodes[candidate];
	unsigned cables = 0, same = 0;

	if (m->was[candidate] != FABRIC_NONE || old->type != new->type)
		return false;
	for (unsigned n = 1; n <= old->ports; n++) {
		uint32_t port = old->first_port + n;

		cables += m->before->ports[port].peer != FABRIC_NONE;
		same += at_the_cable(m, port) == candidate;
	}
	/* at one end of a cable anything may be plugged in: a name must say that it is the same host's */
	if (old->type != FABRIC_SWITCH)
		return same > 0 && strcmp(old->name, new->name) == 0;
	return same > 0 && 2 * same >= cables;
}

static bool find_by_cables(struct matching *m)
{
	bool found = false;

	for (uint32_t i = 0; i < m->before->node_count; i++) {
		const struct fabric_node *node = &m->before->nodes[i];

		for (unsigned n = 1; m->is[i] == FABRIC_NONE && n <= node->ports; n++) {
			uint32_t candidate = at_the_cable(m, node->first_port + n);

			if (candidate == FABRIC_NONE || !has_its_cables(m, i, candidate))
				continue;
			m->is[i] = candidate;
			m->was[candidate] = i;
			found = true;
		}
	}
	return found;
}

/* The only node of this name; FABRIC_NONE: none, or several. */
static uint32_t named(const struct fabric *f, const char *name)
{
	uint32_t found = FABRIC_NONE;

	for (uint32_t i = 0; i < f->node_count; i++) {
		if (strcmp(f->nodes[i].name, name) != 0)
			continue;
		if (found != FABRIC_NONE)
			return FABRIC_NONE;
		found = i;
	}
	return found;
}

static void find_by_names(struct matching *m)
{
	for (uint32_t i = 0; i < m->before->node_count; i++) {
		const struct fabric_node *node = &m->before->nodes[i];
		uint32_t new;

		if (m->is[i] != FABRIC_NONE || named(m->before, node->name) != i)
			continue;
		new = named(m->after, node->name);
		if (new == FABRIC_NONE || m->was[new] != FABRIC_NONE || m->after->nodes[new].type != node->type)
			continue;
		m->is[i] = new;
		m->was[new] = i;
	}
}

static int keep(const struct matching *m, struct diff_result *result)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < m->before->node_count; i++)
		count += m->is[i] != FABRIC_NONE && m->after->nodes[m->is[i]].guid != m->before->nodes[i].guid;
	result->replaced = calloc((size_t)count + 1, sizeof(*result->replaced));
	if (!result->replaced)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->before->node_count; i++) { /* in order of GUID */
		if (m->is[i] == FABRIC_NONE || m->after->nodes[m->is[i]].guid == m->before->nodes[i].guid)
			continue;
		result->replaced[result->nodes_replaced++] =
			(struct diff_replaced){m->before->nodes[i].guid, m->after->nodes[m->is[i]].guid};
	}
	return 0;
}

int diff_find_replaced(const struct fabric *before, const struct fabric *after, struct diff_result *result)
{
	struct matching m = {.before = before, .after = after};
	int error = -ENOMEM;

	m.is = malloc(((size_t)before->node_count + 1) * sizeof(*m.is));
	m.was = malloc(((size_t)after->node_count + 1) * sizeof(*m.was));
	if (!m.is || !m.was)
		goto out;
	for (uint32_t i = 0; i < after->node_count; i++)
		m.was[i] = FABRIC_NONE;
	for (uint32_t i = 0; i < before->node_count; i++) {
		m.is[i] = fabric_find_node(after, before->nodes[i].guid);
		if (m.is[i] != FABRIC_NONE)
			m.was[m.is[i]] = i;
	}
	/* of two neighbours that were both replaced the second is found by the first; where the first is not, by its name */
	while (find_by_cables(&m))
		;
	find_by_names(&m);
	while (find_by_cables(&m))
		;
	error = keep(&m, result);
out:
	free(m.is);
	free(m.was);
	return error;
}
