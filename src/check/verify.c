/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * verify: asks every port what it holds and compares each answer as it comes.
 *
 * Two passes. The first asks PortInfo of every port that can be asked, ports that were down at
 * discovery too, since OperationalVLs, the capacities and the state decide what the second asks.
 * Whatever was to be asked and gave no data is counted against its port, so that no port is clean
 * unless every one of its queries was answered.
 */
#include "verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VLARB_STEPS QOS_VLARB_BLOCKS /* steps of the second pass: VLArb blocks, then in-ports */

const char *verify_item_name(enum verify_item item)
{
	switch (item) {
	case VERIFY_PORT_INFO:
		return "PortInfo";
	case VERIFY_SL2VL:
		return "SL2VL";
	case VERIFY_VLARB:
		return "VLArb";
	case VERIFY_ITEMS:
		break;
	}
	return "";
}

/* --- making --- */

/*
 * All ports of a switch. A port of a CA or router is its own agent, so only those that discovery
 * came to can be asked: the others are not cabled, or to another fabric.
 */
static bool in_scope(const struct fabric *fabric, const struct fabric_node *node, unsigned number)
{
	const struct fabric_port *port = &fabric->ports[node->first_port + number];

	if (node->type == FABRIC_SWITCH)
		return true;
	return number != 0 && (port->known || port->guid != 0 || port->peer != FABRIC_NONE);
}

static void add_agent(struct verify *v, uint32_t first, uint32_t end)
{
	v->agents[v->agent_count++] = (struct agent_state){
		.agent = fabric_port_agent(v->fabric, first),
		.first = first,
		.end = end,
	};
}

static void add_node(struct verify *v, const struct fabric_node *node)
{
	unsigned number;

	for (number = 0; number <= node->ports; number++) {
		if (!in_scope(v->fabric, node, number))
			continue;
		v->ports[node->first_port + number].flags = PORT_IN_SCOPE;
		if (node->type != FABRIC_SWITCH)
			add_agent(v, node->first_port + number, node->first_port + number + 1);
	}
	if (node->type == FABRIC_SWITCH)
		add_agent(v, node->first_port, node->first_port + node->ports + 1);
}

int verify_new(const struct ibqos_ctx *ctx, struct fabric *fabric, const struct qos_config *config,
	       struct verify **verify)
{
	struct verify *v = calloc(1, sizeof(*v));
	size_t count = (size_t)fabric->port_count + 1; /* never 0, for calloc() */
	uint32_t i;

	if (!v)
		return -ENOMEM;
	v->ctx = ctx;
	v->fabric = fabric;
	v->ports = calloc(count, sizeof(*v->ports));
	v->agents = calloc(count, sizeof(*v->agents));
	v->run = calloc(count, sizeof(*v->run));
	v->run_agents = calloc(count, sizeof(*v->run_agents));
	if (!v->ports || !v->agents || !v->run || !v->run_agents) {
		verify_free(v);
		return -ENOMEM;
	}
	expect_init(&v->expect, config);
	for (i = 0; i < fabric->node_count; i++)
		add_node(v, &fabric->nodes[i]);
	*verify = v;
	return 0;
}

static void forget_diff(struct port_state *state)
{
	unsigned block;

	if (!state->diff)
		return;
	for (block = 0; block < QOS_VLARB_BLOCKS; block++)
		free(state->diff->vlarb[block]);
	free(state->diff);
	state->diff = NULL;
}

void verify_free(struct verify *verify)
{
	uint32_t i;

	if (!verify)
		return;
	for (i = 0; verify->ports && i < verify->fabric->port_count; i++)
		forget_diff(&verify->ports[i]);
	free(verify->ports);
	free(verify->agents);
	free(verify->run);
	free(verify->run_agents);
	free(verify);
}

/* --- asking --- */

static bool port_info_query(const struct verify *v, uint32_t port, unsigned step, struct source_query *query)
{
	query->attribute = MAD_PORT_INFO;
	query->modifier = v->fabric->ports[port].number;
	return step == 0;
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

/* The next query to an agent, counted as asked. */
static bool next_query(struct verify *v, struct agent_state *agent, struct source_query *query)
{
	for (; agent->at < agent->end; agent->at++, agent->step = 0) {
		while (agent->step < port_steps(v, agent->at)) {
			unsigned step = agent->step++;
			bool ask = v->pass == VERIFY_PORT_INFO ? port_info_query(v, agent->at, step, query)
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

static bool asker_next(void *arg, uint32_t which, struct source_query *query)
{
	struct verify *v = arg;

	return next_query(v, &v->agents[v->run[which]], query);
}

/* --- comparing --- */

static struct port_diff *diff_of(struct verify *v, struct port_state *state)
{
	if (!state->diff)
		state->diff = calloc(1, sizeof(*state->diff));
	if (!state->diff)
		v->error = -ENOMEM;
	return state->diff;
}

static void compare_sl2vl(struct verify *v, struct port_state *state, unsigned in_port, const uint8_t *data)
{
	struct port_diff *diff;

	if (memcmp(data, expect_sl2vl(&v->expect, &state->expect, in_port), QOS_SL2VL_WIRE) == 0)
		return;
	state->flags |= PORT_SL2VL;
	diff = diff_of(v, state);
	if (!diff)
		return;
	diff->in_ports[in_port / 8] |= 1u << in_port % 8;
	if (state->sl2vl_differ > 0 && memcmp(data, diff->sl2vl, QOS_SL2VL_WIRE) != 0)
		diff->unlike = true;
	if (state->sl2vl_differ == 0 || in_port < diff->first_in) {
		diff->first_in = in_port;
		memcpy(diff->sl2vl, data, QOS_SL2VL_WIRE);
	}
	state->sl2vl_differ++;
}

static void compare_vlarb(struct verify *v, struct port_state *state, unsigned block, const uint8_t *data)
{
	struct qos_vlarb_entry wanted[QOS_VLARB_BLOCK], got[QOS_VLARB_BLOCK];
	unsigned length = expect_vlarb(&v->expect, &state->expect, block, wanted), i;
	struct port_diff *diff;

	qos_vlarb_decode(data, got);
	for (i = 0; i < length; i++)
		if (wanted[i].vl != got[i].vl || wanted[i].weight != got[i].weight)
			break;
	if (i == length)
		return;
	state->flags |= PORT_VLARB;
	state->vlarb_blocks |= 1u << block;
	diff = diff_of(v, state);
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

static void asker_answer(void *arg, const struct source_query *query, const struct mad_answer *answer)
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

/* --- a run --- */

unsigned verify_port_ended(const struct port_state *state, enum mad_outcome outcome)
{
	unsigned count = 0, item;

	for (item = 0; item < VERIFY_ITEMS; item++)
		count += state->ended[item][outcome];
	return count;
}

unsigned verify_port_failed(const struct port_state *state)
{
	return verify_port_ended(state, MAD_STATUS) + verify_port_ended(state, MAD_TIMED_OUT) +
	       verify_port_ended(state, MAD_NOT_ASKED);
}

static bool answered_port_info(const struct verify *v, uint32_t port)
{
	return v->ports[port].ended[VERIFY_PORT_INFO][MAD_ANSWERED] > 0;
}

/* OpenSM sets OperationalVLs on the way from Init to Armed: before that they mean nothing. */
static bool has_oper_vls(const struct verify *v, uint32_t port)
{
	return answered_port_info(v, port) && fabric_port_state(&v->fabric->ports[port]) > FABRIC_STATE_INIT;
}

bool verify_link_differs(const struct verify *verify, const struct fabric_link *link)
{
	const struct fabric_port *ports = verify->fabric->ports;

	return has_oper_vls(verify, link->a) && has_oper_vls(verify, link->b) &&
	       fabric_port_oper_vls(&ports[link->a]) != fabric_port_oper_vls(&ports[link->b]);
}

static bool is_settled(const struct port_state *state)
{
	return state->flags & PORT_ASKED && !(state->flags & (PORT_DIFFERS | PORT_UNSURE)) &&
	       verify_port_failed(state) == 0;
}

static void select_ports(struct verify *v, bool only_differing)
{
	struct port_state *state;
	uint32_t i;

	for (i = 0; i < v->fabric->port_count; i++) {
		state = &v->ports[i];
		state->flags &= ~PORT_SELECTED;
		if (state->flags & PORT_IN_SCOPE && !(only_differing && is_settled(state)))
			state->flags |= PORT_SELECTED;
	}
	for (i = 0; only_differing && i < v->fabric->link_count; i++) {
		if (!verify_link_differs(v, &v->fabric->links[i]))
			continue;
		v->ports[v->fabric->links[i].a].flags |= PORT_SELECTED;
		v->ports[v->fabric->links[i].b].flags |= PORT_SELECTED;
	}
	for (i = 0; i < v->fabric->port_count; i++) {
		state = &v->ports[i];
		if (!(state->flags & PORT_SELECTED))
			continue;
		forget_diff(state);
		*state = (struct port_state){.flags = PORT_IN_SCOPE | PORT_SELECTED | PORT_ASKED};
	}
}

/*
 * Whether a pass asks an agent: one that left all of its PortInfo queries unanswered is not asked
 * for tables, which would only cost time.
 */
static bool is_asked(const struct verify *v, const struct agent_state *agent)
{
	unsigned selected = 0, lost = 0;
	uint32_t i;

	for (i = agent->first; i < agent->end; i++) {
		const struct port_state *state = &v->ports[i];

		if (!(state->flags & PORT_SELECTED))
			continue;
		selected++;
		lost += state->ended[VERIFY_PORT_INFO][MAD_TIMED_OUT] +
			state->ended[VERIFY_PORT_INFO][MAD_NOT_ASKED];
	}
	return lost < selected;
}

/*
 * Counts what a pass had to ask and did not, so that it ends as MAD_NOT_ASKED: the queries that
 * nobody took, and (none, if the source keeps its word) those that it never handed back.
 */
static void settle_pass(struct verify *v)
{
	struct source_query query;
	unsigned item, outcome, left;
	uint32_t i;

	for (i = 0; i < v->agent_count; i++)
		while (next_query(v, &v->agents[i], &query))
			;
	for (i = 0; i < v->fabric->port_count; i++) {
		struct port_state *state = &v->ports[i];

		for (item = 0; item < VERIFY_ITEMS; item++) {
			left = state->asked[item];
			for (outcome = 0; outcome < MAD_OUTCOMES; outcome++)
				left -= state->ended[item][outcome];
			state->ended[item][MAD_NOT_ASKED] += left;
		}
	}
}

static int run_pass(struct verify *v, struct source *source, enum verify_item pass, bool ask)
{
	struct source_asker asker = {
		.agents = v->run_agents, .next = asker_next, .answer = asker_answer, .arg = v};
	int error = 0;
	uint32_t i;

	v->pass = pass;
	v->run_count = 0;
	for (i = 0; i < v->agent_count; i++) {
		struct agent_state *agent = &v->agents[i];

		if (is_asked(v, agent)) {
			v->run[v->run_count] = i;
			v->run_agents[v->run_count++] = agent->agent;
		}
		agent->at = agent->first;
		agent->step = 0;
	}
	asker.agent_count = v->run_count;
	if (ask && v->run_count > 0)
		error = source_ask(source, v->fabric, &asker);
	settle_pass(v);
	return error;
}

/*
 * What the second pass asks of a port. Where the fresh PortInfo was not answered that of the
 * discovery serves: the port is not known to be right in any case, but may be seen to be wrong.
 */
static void judge_port(struct verify *v, uint32_t port)
{
	struct port_state *state = &v->ports[port];
	const struct fabric_port *p = &v->fabric->ports[port];

	if (!p->known)
		return;
	switch (expect_port(&v->expect, v->fabric, port, &state->expect)) {
	case EXPECT_PROGRAMMED:
		break;
	case EXPECT_DOWN:
	case EXPECT_BASE_PORT:
		state->flags |= PORT_EXCLUDED;
		return;
	case EXPECT_UNSURE:
		state->flags |= PORT_UNSURE;
		return;
	}
	if (!state->expect.has_high_limit || !answered_port_info(v, port))
		return;
	state->high_limit_got = fabric_port_high_limit(p);
	if (state->high_limit_got != state->expect.high_limit)
		state->flags |= PORT_HIGH_LIMIT;
}

static void add_to_result(struct verify_result *result, const struct port_state *state)
{
	bool failed = state->flags & PORT_UNSURE || verify_port_failed(state) > 0;
	unsigned item, outcome;

	for (item = 0; item < VERIFY_ITEMS; item++) {
		result->coverage[item].asked += state->asked[item];
		for (outcome = 0; outcome < MAD_OUTCOMES; outcome++)
			result->coverage[item].ended[outcome] += state->ended[item][outcome];
	}
	if (state->flags & PORT_EXCLUDED && !failed) {
		result->ports_excluded++;
		return;
	}
	result->ports++;
	if (state->flags & PORT_DIFFERS)
		result->ports_differ++;
	else if (failed)
		result->ports_unknown++;
}

int verify_run(struct verify *verify, struct source *source, bool only_differing)
{
	int error, error2;
	uint32_t i;

	verify->error = 0;
	select_ports(verify, only_differing);
	error = run_pass(verify, source, VERIFY_PORT_INFO, true);
	for (i = 0; i < verify->fabric->port_count; i++)
		if (verify->ports[i].flags & PORT_SELECTED)
			judge_port(verify, i);
	error2 = run_pass(verify, source, VERIFY_SL2VL, error == 0);
	error = error ? error : error2;
	verify->stopped = error != 0;

	memset(&verify->result, 0, sizeof(verify->result));
	for (i = 0; i < verify->fabric->port_count; i++)
		if (verify->ports[i].flags & PORT_ASKED)
			add_to_result(&verify->result, &verify->ports[i]);
	return error ? error : verify->error;
}

const struct verify_result *verify_result(const struct verify *verify)
{
	return &verify->result;
}

bool verify_port_differs(const struct verify *verify, uint32_t port)
{
	return port < verify->fabric->port_count && verify->ports[port].flags & PORT_DIFFERS;
}
