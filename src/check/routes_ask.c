/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * routes_ask: forwarding tables asked block by block, and whether routing is adaptive.
 */
#include "routes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>


const char *routes_item_name(enum routes_item item)
{
	switch (item) {
	case ROUTES_LFT:
		return "LinearForwardingTable";
	case ROUTES_AR_INFO:
		return "AdaptiveRoutingInfo";
	case ROUTES_ITEMS:
		break;
	}
	return "";
}

const struct check_coverage *routes_coverage(const struct routes *routes, enum routes_item item)
{
	return &routes->coverage[item];
}

enum routes_adaptive routes_adaptive_of(const struct routes *routes, uint32_t node)
{
	return routes->switches[node].adaptive;
}

uint16_t routes_adaptive_sls(const struct routes *routes, uint32_t node)
{
	return routes->switches[node].adaptive_sls;
}

void routes_want(struct routes *routes, uint32_t node, unsigned lid)
{
	struct routes_switch *s = &routes->switches[node];
	unsigned block = lid / ROUTES_BLOCK;

	if (lid <= s->top && block < s->block_count && s->blocks[block] == BLOCK_PLAIN)
		s->blocks[block] = BLOCK_WANTED;
}

void routes_want_all(struct routes *routes)
{
	unsigned lid;
	uint32_t i;

	for (i = 0; i < routes->fabric->node_count; i++)
		for (lid = 1; lid <= routes->lid_top; lid++)
			if (routes->owner[lid] != FABRIC_NONE)
				routes_want(routes, i, lid);
}

/* --- forwarding tables --- */

static bool next_block(void *arg, uint32_t which, struct source_query *query)
{
	struct routes *routes = arg;
	uint32_t node = routes->fabric->ports[routes->agents[which]].node;
	struct routes_switch *s = &routes->switches[node];

	while (s->at < s->block_count && s->blocks[s->at] != BLOCK_WANTED)
		s->at++;
	if (s->at == s->block_count)
		return false;
	*query = (struct source_query){.agent = routes->agents[which], .port = routes->agents[which],
				       .attribute = MAD_LFT, .modifier = s->at};
	s->blocks[s->at++] = BLOCK_ASKED;
	s->asked++;
	routes->coverage[ROUTES_LFT].asked++;
	return true;
}

static void take_block(void *arg, const struct source_query *query, const struct mad_answer *answer)
{
	struct routes *routes = arg;
	struct routes_switch *s = &routes->switches[routes->fabric->ports[query->agent].node];

	routes->coverage[ROUTES_LFT].ended[answer->outcome]++;
	if (answer->outcome == MAD_ANSWERED && query->modifier < s->block_count) {
		memcpy(s->ports + (size_t)query->modifier * ROUTES_BLOCK, answer->data, ROUTES_BLOCK);
		s->blocks[query->modifier] = BLOCK_READ;
		return;
	}
	s->failed++;
	if (answer->outcome == MAD_STATUS && !s->status)
		s->status = answer->status;
	else if (answer->outcome == MAD_TIMED_OUT && answer->tries > s->tries)
		s->tries = answer->tries < UINT8_MAX ? answer->tries : UINT8_MAX;
}

static bool wants(const struct routes_switch *s)
{
	return s->blocks && memchr(s->blocks, BLOCK_WANTED, s->block_count);
}

int routes_read(struct routes *routes, struct source *source)
{
	struct source_asker asker = {.agents = routes->agents, .next = next_block, .answer = take_block, .arg = routes,
				     .what = "reading forwarding tables"};
	struct source_query query;
	struct mad_answer none = {.outcome = MAD_NOT_ASKED};
	int error = 0;
	uint32_t i;

	routes->agent_count = 0;
	for (i = 0; i < routes->fabric->node_count; i++) {
		struct routes_switch *s = &routes->switches[i];

		s->at = 0;
		if (!wants(s))
			continue;
		routes->agents[routes->agent_count++] = routes->fabric->nodes[i].first_port;
		for (uint32_t block = 0; block < s->block_count; block++)
			asker.total += s->blocks[block] == BLOCK_WANTED;
	}
	asker.agent_count = routes->agent_count;
	routes->of_file = source_is_file(source);
	if (asker.agent_count > 0)
		error = source_ask(source, routes->fabric, &asker);
	for (i = 0; i < routes->agent_count; i++) /* what nobody took, should a source leave any */
		while (next_block(routes, i, &query))
			take_block(routes, &query, &none);
	return error;
}

/* --- adaptive routing --- */

static bool next_adaptive(void *arg, uint32_t which, struct source_query *query)
{
	struct routes *routes = arg;
	struct routes_switch *s = &routes->switches[routes->fabric->ports[routes->agents[which]].node];

	if (s->at > 0)
		return false;
	s->at = 1;
	*query = (struct source_query){.agent = routes->agents[which], .port = routes->agents[which],
				       .attribute = MAD_MLNX_ADAPTIVE};
	routes->coverage[ROUTES_AR_INFO].asked++;
	return true;
}

static void take_adaptive(void *arg, const struct source_query *query, const struct mad_answer *answer)
{
	struct routes *routes = arg;
	struct routes_switch *s = &routes->switches[routes->fabric->ports[query->agent].node];

	routes->coverage[ROUTES_AR_INFO].ended[answer->outcome]++;
	if (answer->outcome == MAD_ANSWERED) {
		s->adaptive = answer->data[3] & 1 ? ROUTES_ADAPTIVE_ON : ROUTES_ADAPTIVE_OFF;
		s->adaptive_sls = 0xffff;
		if (answer->data[0] & 0x10)
			s->adaptive_sls = (uint16_t)(answer->data[8] << 8 | answer->data[9]);
	} else if (answer->outcome == MAD_STATUS && (answer->status & MAD_STATUS_FIELD) == MAD_STATUS_UNSUPPORTED)
		s->adaptive = ROUTES_ADAPTIVE_OFF;
}

static void want_adaptive(struct routes *routes, uint32_t node)
{
	const struct fabric_node *n = &routes->fabric->nodes[node];
	struct routes_switch *s = &routes->switches[node];

	if (n->type != FABRIC_SWITCH || s->adaptive_asked)
		return;
	s->adaptive_asked = true;
	s->at = 0;
	if (n->vendor == MAD_VENDOR_MELLANOX)
		routes->agents[routes->agent_count++] = n->first_port;
}

int routes_read_adaptive(struct routes *routes, struct source *source, const uint32_t *nodes, uint32_t count)
{
	struct source_asker asker = {
		.agents = routes->agents, .next = next_adaptive, .answer = take_adaptive, .arg = routes, .what = "asking for adaptive routing"};
	uint32_t i;

	routes->agent_count = 0;
	for (i = 0; i < (nodes ? count : routes->fabric->node_count); i++)
		want_adaptive(routes, nodes ? nodes[i] : i);
	asker.total = asker.agent_count = routes->agent_count;
	return asker.agent_count > 0 ? source_ask(source, routes->fabric, &asker) : 0;
}
