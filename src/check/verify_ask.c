/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * verify_ask: what is asked of a port, and each answer compared as it comes.
 */
#include "verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VLARB_STEPS QOS_VLARB_BLOCKS /* steps of the second pass: VLArb blocks, then in-ports */

static bool port_info_query(const struct verify *v, uint32_t port, struct source_query *query)
{
	query->attribute = MAD_PORT_INFO;
	query->modifier = v->fabric->ports[port].number;
	return true;
}

/* False where the port has nothing to ask at this step. */
static bool table_query(const struct verify *v, uint32_t port, unsigned step, struct source_query *query)
{
	const struct expect_port *expect = &v->ports[port].expect;
	bool of_switch = fabric_port_node(v->fabric, port)->type == FABRIC_SWITCH;
	/* A CA or router port is asked at itself: OpenSM leaves the port number 0 there, and so do we. */
	unsigned number = of_switch ? v->fabric->ports[port].number : 0;
	struct qos_vlarb_entry unused[QOS_VLARB_BLOCK];

	if (step < VLARB_STEPS) {
		query->attribute = MAD_VLARB;
		query->modifier = MAD_VLARB_MODIFIER(step, number);
		return expect_vlarb(&v->expect, expect, step, unused) > 0;
	}
	query->attribute = MAD_SL2VL;
	query->modifier = MAD_SL2VL_MODIFIER(step - VLARB_STEPS, number);
	return true;
}

static unsigned port_steps(const struct verify *v, uint32_t port)
{
	if (!(v->ports[port].flags & PORT_SELECTED))
		return 0;
	return v->pass == VERIFY_PORT_INFO ? 1 : VLARB_STEPS + v->ports[port].expect.in_ports;
}

static enum verify_item item_of(uint16_t attribute)
{
	return attribute == MAD_PORT_INFO ? VERIFY_PORT_INFO
	       : attribute == MAD_SL2VL   ? VERIFY_SL2VL
					  : VERIFY_VLARB;
}

bool verify_next_query(struct verify *v, struct agent_state *agent, struct source_query *query)
{
	for (; agent->at < agent->end; agent->at++, agent->step = 0) {
		while (agent->step < port_steps(v, agent->at)) {
			unsigned step = agent->step++;
			bool ask = v->pass == VERIFY_PORT_INFO ? port_info_query(v, agent->at, query)
							       : table_query(v, agent->at, step, query);

			if (!ask)
				continue;
			query->agent = agent->agent;
			query->port = agent->at;
			v->ports[agent->at].asked[item_of(query->attribute)]++;
			return true;
		}
	}
	return false;
}

uint64_t verify_queries(const struct verify *v, const struct agent_state *agent)
{
	struct source_query unused;
	uint64_t count = 0;

	for (uint32_t port = agent->first; port < agent->end; port++)
		for (unsigned step = 0; step < port_steps(v, port); step++)
			count += v->pass == VERIFY_PORT_INFO || table_query(v, port, step, &unused);
	return count;
}

bool verify_next(void *arg, uint32_t which, struct source_query *query)
{
	struct verify *v = arg;

	if (v->end_ns != 0 && clock_ns() > v->end_ns) /* settle_pass() counts what is left */
		return false;
	return verify_next_query(v, &v->agents[v->run[which]], query);
}

/* --- comparing --- */

struct port_diff *verify_diff_of(struct verify *v, struct port_state *state)
{
	if (!state->diff)
		state->diff = calloc(1, sizeof(*state->diff));
	if (!state->diff)
		v->error = -ENOMEM;
	return state->diff;
}

static bool is_right_sl2vl(const struct verify *v, const struct port_state *state, unsigned in_port, const uint8_t *data)
{
	const uint8_t *good[] = {expect_sl2vl(&v->expect, &state->expect, in_port),
				 expect_sl2vl_common(&v->expect, &state->expect, in_port),
				 expect_sl2vl_other(&v->expect, &state->expect, in_port)};

	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (good[i] && memcmp(data, good[i], QOS_SL2VL_WIRE) == 0)
			return true;
	return false;
}

static void compare_sl2vl(struct verify *v, struct port_state *state, unsigned in_port, const uint8_t *data)
{
	struct port_diff *diff;

	if (is_right_sl2vl(v, state, in_port, data))
		return;
	state->flags |= PORT_SL2VL;
	state->sl2vl_differ++;
	diff = verify_diff_of(v, state);
	if (diff && !diff->sl2vl)
		diff->sl2vl = calloc(state->expect.in_ports, sizeof(*diff->sl2vl));
	if (!diff || !diff->sl2vl) {
		v->error = -ENOMEM;
		return;
	}
	diff->sl2vl[in_port].differs = true;
	memcpy(diff->sl2vl[in_port].wire, data, QOS_SL2VL_WIRE);
}

static void compare_vlarb(struct verify *v, struct port_state *state, unsigned block, const uint8_t *data)
{
	struct qos_vlarb_entry wanted[QOS_VLARB_BLOCK], got[QOS_VLARB_BLOCK];
	unsigned length = expect_vlarb(&v->expect, &state->expect, block, wanted), i;
	bool leftover = expect_leftover(&state->expect, block);
	struct port_diff *diff;

	qos_vlarb_decode(data, got);
	for (i = 0; i < length; i++)
		if ((wanted[i].vl != got[i].vl && !leftover) || wanted[i].weight != got[i].weight)
			break;
	if (i == length)
		return;
	state->flags |= PORT_VLARB;
	state->vlarb_blocks |= 1u << block;
	diff = verify_diff_of(v, state);
	if (!diff)
		return;
	diff->vlarb[block] = malloc(2 * QOS_VLARB_BLOCK);
	if (diff->vlarb[block])
		memcpy(diff->vlarb[block], data, 2 * QOS_VLARB_BLOCK);
	else
		v->error = -ENOMEM;
}

static void take_answer(struct verify *v, const struct source_query *query, const uint8_t *data)
{
	struct port_state *state = &v->ports[query->port];

	switch (query->attribute) {
	case MAD_PORT_INFO:
		fabric_port_refresh(v->fabric, query->port, data);
		break;
	case MAD_SL2VL:
		compare_sl2vl(v, state, query->modifier >> 8 & 0xff, data);
		break;
	case MAD_VLARB:
		compare_vlarb(v, state, (query->modifier >> 16) - 1, data);
		break;
	}
}

void verify_answer(void *arg, const struct source_query *query, const struct mad_answer *answer)
{
	struct verify *v = arg;
	struct port_state *state = &v->ports[query->port];
	enum verify_item item = item_of(query->attribute);

	state->ended[item][answer->outcome]++;
	if (answer->outcome == MAD_ANSWERED)
		take_answer(v, query, answer->data);
	else if (answer->outcome == MAD_STATUS && state->ended[item][MAD_STATUS] == 1)
		state->status[item] = answer->status;
	else if (answer->outcome == MAD_TIMED_OUT && answer->tries > state->tries)
		state->tries = answer->tries < UINT8_MAX ? answer->tries : UINT8_MAX;
}
