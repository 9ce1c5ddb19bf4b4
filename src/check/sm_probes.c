/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * sm_probes: which paths to ask the SA for, and the SL that a policy gives each of them: that of the
 * first rule whose criteria all hold, else the default class's (osm_qos_policy.c:577-690).
 */
#include "ibqos/check.h"

#include <errno.h>
#include <stdlib.h>

#include "ibqos/policy.h"

struct making {
	const struct policy *policy;
	const struct fabric *fabric;
	struct policy_rule *rules;
	size_t rule_count;
	uint32_t *hosts; /* port indexes of active adapter ports, in the fabric's order */
	uint32_t host_count;
	struct sm_probe *probes;
	size_t count, room;
};

/* --- hosts --- */

static bool is_host(const struct fabric *fabric, uint32_t i)
{
	const struct fabric_port *port = &fabric->ports[i];

	return fabric->nodes[port->node].type == FABRIC_CA && port->known && port->guid != 0 &&
	       fabric_port_state(port) == FABRIC_STATE_ACTIVE && fabric_port_lid(port) != 0;
}

static int find_hosts(struct making *m)
{
	m->hosts = calloc((size_t)m->fabric->port_count + 1, sizeof(*m->hosts));
	if (!m->hosts)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->fabric->port_count; i++)
		if (is_host(m->fabric, i))
			m->hosts[m->host_count++] = i;
	return 0;
}

static bool in_groups(const struct making *m, const struct policy_texts *groups, uint32_t port)
{
	const struct fabric_node *node = fabric_port_node(m->fabric, port);

	if (!groups)
		return true;
	for (size_t i = 0; i < groups->count; i++)
		if (policy_group_has(policy_find_group(m->policy, groups->items[i].text), node,
				     m->fabric->ports[port].guid))
			return true;
	return false;
}

/* A host of these groups, another one than `other` if there is one; FABRIC_NONE. */
static uint32_t host_of(const struct making *m, const struct policy_texts *groups, uint32_t other)
{
	uint32_t found = FABRIC_NONE;

	for (uint32_t i = 0; i < m->host_count; i++) {
		if (!in_groups(m, groups, m->hosts[i]))
			continue;
		found = m->hosts[i];
		if (found != other)
			break;
	}
	return found;
}

/* --- what the policy gives --- */

static bool in_ranges(const struct policy_ranges *ranges, bool given, uint64_t value)
{
	if (ranges->count == 0)
		return true;
	for (size_t i = 0; given && i < ranges->count; i++)
		if (value >= ranges->items[i].low && value <= ranges->items[i].high)
			return true;
	return false;
}

/* A criterion that the request does not name does not hold; none of ours names a partition. */
static bool rule_has(const struct making *m, const struct policy_rule *rule, const struct sm_probe *probe)
{
	return rule->pkey == 0 &&
	       in_ranges(&rule->qos_classes, probe->qos_class != MAD_NO_QOS_CLASS,
			 (uint64_t)probe->qos_class) &&
	       in_ranges(&rule->service_ids, probe->has_service_id, probe->service_id) &&
	       in_groups(m, rule->sources, probe->from) && in_groups(m, rule->destinations, probe->to);
}

static unsigned sl_of(const struct making *m, const struct sm_probe *probe)
{
	if (!m->policy)
		return 0;
	for (size_t i = 0; i < m->rule_count; i++)
		if (rule_has(m, &m->rules[i], probe))
			return m->policy->classes[m->rules[i].class].sl;
	return m->policy->classes[m->policy->default_class].sl;
}

/* --- probes --- */

static bool same_request(const struct sm_probe *a, const struct sm_probe *b)
{
	return a->from == b->from && a->to == b->to && a->qos_class == b->qos_class &&
	       a->has_service_id == b->has_service_id && a->service_id == b->service_id;
}

static int add_probe(struct making *m, struct sm_probe probe)
{
	struct sm_probe *probes;

	for (size_t i = 0; i < m->count; i++)
		if (same_request(&m->probes[i], &probe))
			return 0;
	probes = array_grow(m->probes, &m->room, m->count + 1, sizeof(*probes));
	if (!probes)
		return -ENOMEM;
	m->probes = probes;
	probe.sl = sl_of(m, &probe);
	m->probes[m->count++] = probe;
	return 0;
}

/* A request that names nothing: what every program without a class gets, and whether there is a path at all.
 */
static int add_plain(struct making *m, uint32_t from, uint32_t to)
{
	return add_probe(m, (struct sm_probe){.from = from, .to = to, .qos_class = MAD_NO_QOS_CLASS});
}

/* A request as the rule wants it, with the lowest value of each of its ranges of QoS classes. */
static int add_rule(struct making *m, const struct policy_rule *rule, uint32_t from, uint32_t to)
{
	struct sm_probe probe = {.from = from, .to = to, .qos_class = MAD_NO_QOS_CLASS};
	size_t i = 0;
	int error;

	if (rule->service_ids.count) {
		probe.has_service_id = true;
		probe.service_id = rule->service_ids.items[0].low;
	}
	do {
		if (rule->qos_classes.count)
			probe.qos_class = (int)rule->qos_classes.items[i].low;
		error = add_probe(m, probe);
	} while (error == 0 && ++i < rule->qos_classes.count);
	return error;
}

/* The k-th of `pairs` pairs: sources evenly spread from the first host to the last, each to the one half-way
 * round. */
static void choose_pair(const struct making *m, unsigned k, unsigned pairs, uint32_t *from, uint32_t *to)
{
	uint32_t i = pairs > 1 ? (uint32_t)((uint64_t)k * (m->host_count - 1) / (pairs - 1)) : 0;

	*from = m->hosts[i];
	*to = m->hosts[(i + m->host_count / 2) % m->host_count];
}

static int add_spread(struct making *m, unsigned pairs)
{
	int error = 0;

	if (pairs > m->host_count)
		pairs = m->host_count;
	for (unsigned k = 0; error == 0 && k < pairs; k++) {
		uint32_t from, to;

		choose_pair(m, k, pairs, &from, &to);
		error = add_plain(m, from, to);
		for (size_t i = 0; error == 0 && i < m->rule_count; i++) {
			const struct policy_rule *rule = &m->rules[i];

			if (rule->pkey == 0 && !rule->sources && !rule->destinations)
				error = add_rule(m, rule, from, to);
		}
	}
	return error;
}

static int add_grouped(struct making *m, const struct policy_rule *rule, unsigned *skipped)
{
	uint32_t from = host_of(m, rule->sources, FABRIC_NONE);
	uint32_t to = host_of(m, rule->destinations, from);
	int error;

	if (from == FABRIC_NONE || to == FABRIC_NONE) {
		(*skipped)++;
		return 0;
	}
	error = add_plain(m, from, to);
	return error ? error : add_rule(m, rule, from, to);
}

int sm_probes(const struct policy *policy, const struct fabric *fabric, unsigned pairs,
	      struct sm_probe **probes, size_t *count, unsigned *skipped)
{
	struct making m = {.policy = policy, .fabric = fabric};
	int error = policy ? policy_rules(policy, &m.rules, &m.rule_count) : 0;

	*skipped = 0;
	if (error == 0)
		error = find_hosts(&m);
	if (error == 0)
		error = add_spread(&m, pairs);
	for (size_t i = 0; error == 0 && i < m.rule_count; i++) {
		if (m.rules[i].pkey != 0 || m.host_count == 0)
			(*skipped)++;
		else if (m.rules[i].sources || m.rules[i].destinations)
			error = add_grouped(&m, &m.rules[i], skipped);
	}
	if (error) {
		free(m.probes);
		m.probes = NULL;
		m.count = 0;
	}
	*probes = m.probes;
	*count = m.count;
	free(m.hosts);
	policy_rules_free(m.rules, m.rule_count);
	return error;
}
