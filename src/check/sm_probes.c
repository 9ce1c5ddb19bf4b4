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
	const struct sm_probe_options *options;
	struct sm_probe_options sample; /* what these become where there are no two leaves */
	struct policy_rule *rules;
	size_t rule_count;
	uint32_t *hosts; /* port indexes of active adapter ports, in the fabric's order */
	uint32_t host_count;
	uint32_t *from; /* of these, those in the scope: where paths begin */
	uint32_t from_count;
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
	m->from = calloc((size_t)m->fabric->port_count + 1, sizeof(*m->from));
	if (!m->hosts || !m->from)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->fabric->port_count; i++) {
		if (!is_host(m->fabric, i))
			continue;
		m->hosts[m->host_count++] = i;
		if (scope_has(m->options->scope, i))
			m->from[m->from_count++] = i;
	}
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

/* 0 no member of the partition, or not known; 1 a limited, 2 a full one. Without a partition all are full. */
static unsigned membership(const struct making *m, unsigned pkey, uint32_t port)
{
	const struct sm_partitions *p = m->options->partitions;

	if (pkey == 0)
		return 2;
	for (size_t i = 0; p && i < p->count; i++)
		if (p->pkeys[i] == pkey)
			return p->member[(size_t)port * p->count + i];
	return 0;
}

/* Two limited members of a partition do not talk to each other (IBA 10.9.3). */
static bool can_talk(const struct making *m, unsigned pkey, uint32_t a, uint32_t b)
{
	unsigned one = membership(m, pkey, a), other = membership(m, pkey, b);

	return one > 0 && other > 0 && one + other > 2;
}

static bool can_ask(const struct making *m, const struct policy_rule *rule, uint32_t from, uint32_t to)
{
	return in_groups(m, rule->sources, from) && in_groups(m, rule->destinations, to) &&
	       can_talk(m, rule->pkey, from, to);
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

/* A criterion that the request does not name does not hold. */
static bool rule_has(const struct making *m, const struct policy_rule *rule, const struct sm_probe *probe)
{
	return (rule->pkey == 0 || rule->pkey == (probe->pkey & 0x7fffu)) &&
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
	       a->has_service_id == b->has_service_id && a->service_id == b->service_id && a->pkey == b->pkey;
}

static int add_probe(struct making *m, struct sm_probe probe)
{
	struct sm_probe *probes;

	/* Between leaves no two are alike; and there are too many to compare. */
	for (size_t i = 0; !m->options->all_leaves && i < m->count; i++)
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

/* A request as the rule wants it, with the lowest value of each of its ranges of QoS classes, or of the first. */
static int add_rule(struct making *m, const struct policy_rule *rule, uint32_t from, uint32_t to)
{
	struct sm_probe probe = {.from = from, .to = to, .qos_class = MAD_NO_QOS_CLASS, .pkey = (uint16_t)rule->pkey};
	size_t i = 0;
	int error;

	if (rule->pkey && membership(m, rule->pkey, from) == 2) /* as the one who asks has it in its table */
		probe.pkey |= 0x8000;
	if (rule->service_ids.count) {
		probe.has_service_id = true;
		probe.service_id = rule->service_ids.items[0].low;
	}
	do {
		if (rule->qos_classes.count)
			probe.qos_class = (int)rule->qos_classes.items[i].low;
		error = add_probe(m, probe);
	} while (error == 0 && ++i < rule->qos_classes.count && !m->options->all_leaves);
	return error;
}

/* The k-th of `pairs` pairs: sources evenly spread from the first host to the last, each to the one half-way
 * round. */
static void choose_pair(const struct making *m, unsigned k, unsigned pairs, uint32_t *from, uint32_t *to)
{
	uint32_t i = pairs > 1 ? (uint32_t)((uint64_t)k * (m->from_count - 1) / (pairs - 1)) : 0, at = 0;

	*from = m->from[i];
	while (m->hosts[at] != *from)
		at++;
	*to = m->hosts[(at + m->host_count / 2) % m->host_count];
}

static int add_spread(struct making *m)
{
	unsigned pairs = m->options->pairs < m->from_count ? m->options->pairs : m->from_count;
	int error = 0;

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

/* Where paths that a rule matches may end, from the host half-way round on; the caller frees *ends. */
static int find_ends(const struct making *m, const struct policy_rule *rule, uint32_t **ends, uint32_t *count)
{
	*ends = calloc((size_t)m->host_count + 1, sizeof(**ends));
	*count = 0;
	if (!*ends)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->host_count; i++) {
		uint32_t to = m->hosts[(i + m->host_count / 2) % m->host_count];

		if (membership(m, rule->pkey, to) > 0 && in_groups(m, rule->destinations, to))
			(*ends)[(*count)++] = to;
	}
	return 0;
}

/* The first of them that a source can talk to, itself only where there is no other; FABRIC_NONE. */
static uint32_t end_for(const struct making *m, const struct policy_rule *rule, uint32_t from, const uint32_t *ends,
			uint32_t count)
{
	uint32_t itself = FABRIC_NONE;

	for (uint32_t i = 0; i < count; i++) {
		if (!can_talk(m, rule->pkey, from, ends[i]))
			continue;
		if (ends[i] != from)
			return ends[i];
		itself = from;
	}
	return itself;
}

/* A rule that not every host can ask by: between the first pair that can; by partition, as many as are spread. */
static int add_chosen(struct making *m, const struct policy_rule *rule, unsigned *skipped)
{
	unsigned wanted = rule->pkey ? m->options->pairs : 1, found = 0;
	uint32_t *ends, count;
	int error = find_ends(m, rule, &ends, &count);

	for (uint32_t i = 0; error == 0 && count > 0 && found < wanted && i < m->from_count; i++) {
		uint32_t from = m->from[i], to;

		if (membership(m, rule->pkey, from) == 0 || !in_groups(m, rule->sources, from))
			continue;
		to = end_for(m, rule, from, ends, count);
		if (to == FABRIC_NONE || (to == from && i + 1 < m->from_count))
			continue;
		found++;
		error = add_plain(m, from, to);
		if (error == 0)
			error = add_rule(m, rule, from, to);
	}
	*skipped += found == 0;
	free(ends);
	return error;
}

/* --- between all leaves --- */

/* Hosts by the switch that they are cabled to. */
struct leaf {
	uint32_t node;
	uint32_t *hosts; /* into an array of all, sorted by switch */
	uint32_t count;
};

struct cabled {
	uint32_t node, host;
};

static int compare_cabled(const void *left, const void *right)
{
	const struct cabled *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return (a->host > b->host) - (a->host < b->host);
}

/* Leaves and their hosts; the caller frees *leaves and *hosts. */
static int find_leaves(const struct making *m, struct leaf **leaves, size_t *count, uint32_t **hosts)
{
	struct cabled *cabled = calloc((size_t)m->host_count + 1, sizeof(*cabled));
	uint32_t used = 0;

	*leaves = calloc((size_t)m->host_count + 1, sizeof(**leaves));
	*hosts = calloc((size_t)m->host_count + 1, sizeof(**hosts));
	*count = 0;
	if (!cabled || !*leaves || !*hosts) {
		free(cabled);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < m->host_count; i++) {
		uint32_t peer = m->fabric->ports[m->hosts[i]].peer;

		if (peer != FABRIC_NONE && fabric_port_node(m->fabric, peer)->type == FABRIC_SWITCH)
			cabled[used++] = (struct cabled){m->fabric->ports[peer].node, m->hosts[i]};
	}
	qsort(cabled, used, sizeof(*cabled), compare_cabled);
	for (uint32_t i = 0; i < used; i++) {
		(*hosts)[i] = cabled[i].host;
		if (i == 0 || cabled[i].node != cabled[i - 1].node)
			(*leaves)[(*count)++] = (struct leaf){.node = cabled[i].node, .hosts = &(*hosts)[i]};
		(*leaves)[*count - 1].count++;
	}
	free(cabled);
	return 0;
}

/* The first rule of its class that names no group. */
static bool stands_for_class(const struct making *m, size_t which)
{
	const struct policy_rule *rule = &m->rules[which];

	if (rule->sources || rule->destinations)
		return false;
	for (size_t i = 0; i < which; i++)
		if (m->rules[i].class == rule->class && !m->rules[i].sources && !m->rules[i].destinations)
			return false;
	return true;
}

/* A pair of hosts of two leaves that a rule (NULL: any) can be asked between; another one for each pair of leaves. */
static bool pick_hosts(const struct making *m, const struct policy_rule *rule, const struct leaf *a,
		       const struct leaf *b, size_t turn, uint32_t *from, uint32_t *to)
{
	for (uint32_t i = 0; i < a->count; i++) {
		*from = a->hosts[(i + turn) % a->count];
		for (uint32_t k = 0; scope_has(m->options->scope, *from) && k < b->count; k++) {
			*to = b->hosts[(k + turn) % b->count];
			if (!rule || can_ask(m, rule, *from, *to))
				return true;
		}
	}
	return false;
}

static int add_between(struct making *m, const struct policy_rule *rule, const struct leaf *a, const struct leaf *b,
		       size_t turn, bool *found)
{
	uint32_t from, to;

	if (!pick_hosts(m, rule, a, b, turn, &from, &to) && !pick_hosts(m, rule, b, a, turn, &from, &to))
		return 0;
	*found = true;
	return rule ? add_rule(m, rule, from, to) : add_plain(m, from, to);
}

static int add_leaves(struct making *m, unsigned *skipped)
{
	struct leaf *leaves = NULL;
	uint32_t *hosts = NULL;
	size_t count;
	int error = find_leaves(m, &leaves, &count, &hosts);

	/* which == rule_count: requests that name nothing */
	for (size_t which = 0; error == 0 && which <= m->rule_count; which++) {
		const struct policy_rule *rule = which < m->rule_count ? &m->rules[which] : NULL;
		bool found = false;

		if (rule && !stands_for_class(m, which))
			continue;
		for (size_t i = 0; error == 0 && i < count; i++)
			for (size_t k = i + 1; error == 0 && k < count; k++)
				error = (i + k) % 2 ? add_between(m, rule, &leaves[i], &leaves[k], i + k, &found)
						    : add_between(m, rule, &leaves[k], &leaves[i], i + k, &found);
		*skipped += rule && !found;
	}
	free(leaves);
	free(hosts);
	return error;
}

/* --- all of it --- */

static int add_all(struct making *m, unsigned *skipped)
{
	int error;

	if (m->options->all_leaves) {
		error = add_leaves(m, skipped);
		if (error || m->count > 0)
			return error;
		/* hosts on one switch, or back to back: there are no two leaves to ask between */
		*skipped = 0;
		m->sample = *m->options;
		m->sample.all_leaves = false;
		m->options = &m->sample;
	}
	error = add_spread(m);
	for (size_t i = 0; error == 0 && i < m->rule_count; i++)
		if (m->rules[i].pkey != 0 || m->rules[i].sources || m->rules[i].destinations || m->from_count == 0)
			error = add_chosen(m, &m->rules[i], skipped);
	return error;
}

int sm_probes_choose(const struct policy *policy, const struct fabric *fabric, const struct sm_probe_options *options,
		     struct sm_probe **probes, size_t *count, unsigned *skipped)
{
	struct making m = {.policy = policy, .fabric = fabric, .options = options};
	int error = policy ? policy_rules(policy, &m.rules, &m.rule_count) : 0;

	*skipped = 0;
	if (error == 0)
		error = find_hosts(&m);
	if (error == 0)
		error = add_all(&m, skipped);
	if (error) {
		free(m.probes);
		m.probes = NULL;
		m.count = 0;
	}
	*probes = m.probes;
	*count = m.count;
	free(m.hosts);
	free(m.from);
	policy_rules_free(m.rules, m.rule_count);
	return error;
}

int sm_probes(const struct policy *policy, const struct fabric *fabric, unsigned pairs, struct sm_probe **probes,
	      size_t *count, unsigned *skipped)
{
	const struct sm_probe_options options = {.pairs = pairs};

	return sm_probes_choose(policy, fabric, &options, probes, count, skipped);
}
