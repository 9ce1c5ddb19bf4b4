/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * sm_partitions: who is a member of the partitions that a policy's rules name, read from the hosts' own P_Key
 * tables, so that paths can be asked for in them.
 */
#include "ibqos/check.h"

#include <errno.h>
#include <stdlib.h>

#include <infiniband/mad.h>

#include "ibqos/policy.h"

#define BLOCK 32 /* P_Keys of a block */
#define FULL 0x8000

struct asking {
	struct sm_partitions *partitions;
	const struct fabric *fabric;
	uint32_t *hosts;
	uint16_t *next; /* block of each host */
	uint32_t host_count;
};

static bool is_host(const struct fabric *fabric, uint32_t i)
{
	const struct fabric_port *port = &fabric->ports[i];

	return fabric->nodes[port->node].type == FABRIC_CA && port->known && port->guid != 0 &&
	       fabric_port_state(port) == FABRIC_STATE_ACTIVE && fabric_port_lid(port) != 0;
}

/* NodeInfo:PartitionCap (IBA 14.2.5.3). */
static unsigned blocks_of(const struct fabric *fabric, uint32_t port)
{
	const struct fabric_node *node = fabric_port_node(fabric, port);
	unsigned cap = mad_get_field((void *)node->node_info, 0, IB_NODE_PARTITION_CAP_F);

	return (cap + BLOCK - 1) / BLOCK;
}

static bool next_query(void *arg, uint32_t which, struct source_query *query)
{
	struct asking *a = arg;
	uint32_t port = a->hosts[which];

	if (a->next[which] >= blocks_of(a->fabric, port))
		return false;
	*query = (struct source_query){
		.agent = port, .port = port, .attribute = MAD_PKEY_TABLE, .modifier = MAD_PKEY_MODIFIER(a->next[which]++, 0)};
	a->partitions->coverage.asked++;
	return true;
}

static void take_answer(void *arg, const struct source_query *query, const struct mad_answer *answer)
{
	struct asking *a = arg;
	struct sm_partitions *p = a->partitions;

	p->coverage.ended[answer->outcome]++;
	for (unsigned i = 0; answer->outcome == MAD_ANSWERED && i < BLOCK; i++) {
		unsigned pkey = (unsigned)answer->data[2 * i] << 8 | answer->data[2 * i + 1];

		for (size_t k = 0; k < p->count; k++) {
			uint8_t *member = &p->member[(size_t)query->port * p->count + k];
			uint8_t kind = pkey & FULL ? 2 : 1;

			if ((pkey & ~(unsigned)FULL) == p->pkeys[k] && kind > *member)
				*member = kind;
		}
	}
}

static int find_pkeys(const struct policy *policy, struct sm_partitions *partitions)
{
	struct policy_rule *rules = NULL;
	size_t count = 0;
	int error = policy_rules(policy, &rules, &count);

	partitions->pkeys = calloc(count + 1, sizeof(*partitions->pkeys));
	if (error == 0 && !partitions->pkeys)
		error = -ENOMEM;
	for (size_t i = 0; error == 0 && i < count; i++) {
		size_t k = 0;

		while (k < partitions->count && partitions->pkeys[k] != rules[i].pkey)
			k++;
		if (rules[i].pkey != 0 && k == partitions->count)
			partitions->pkeys[partitions->count++] = (uint16_t)rules[i].pkey;
	}
	policy_rules_free(rules, count);
	return error;
}

int sm_partitions_ask(struct source *source, const struct fabric *fabric, const struct policy *policy,
		      struct sm_partitions *partitions)
{
	struct asking a = {.partitions = partitions, .fabric = fabric};
	struct source_asker asker = {.next = next_query, .answer = take_answer, .arg = &a};
	int error;

	*partitions = (struct sm_partitions){0};
	error = find_pkeys(policy, partitions);
	if (error != 0 || partitions->count == 0)
		return error;
	partitions->member = calloc((size_t)fabric->port_count + 1, partitions->count);
	a.hosts = calloc((size_t)fabric->port_count + 1, sizeof(*a.hosts));
	a.next = calloc((size_t)fabric->port_count + 1, sizeof(*a.next));
	if (!partitions->member || !a.hosts || !a.next)
		error = -ENOMEM;
	for (uint32_t i = 0; error == 0 && i < fabric->port_count; i++)
		if (is_host(fabric, i))
			a.hosts[a.host_count++] = i;
	asker.agents = a.hosts;
	asker.agent_count = a.host_count;
	if (error == 0 && a.host_count > 0)
		error = source_ask(source, fabric, &asker);
	free(a.hosts);
	free(a.next);
	return error;
}

void sm_partitions_clear(struct sm_partitions *partitions)
{
	free(partitions->pkeys);
	free(partitions->member);
	*partitions = (struct sm_partitions){0};
}
