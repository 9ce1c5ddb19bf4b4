/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * verify: a run over all ports, and what it says in numbers.
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

void verify_set_scope(struct verify *verify, const struct scope *scope)
{
	for (uint32_t i = 0; i < verify->fabric->port_count; i++)
		if (!scope_has(scope, i))
			verify->ports[i].flags &= (uint16_t)~PORT_IN_SCOPE;
}

bool verify_looks_at(const struct verify *v, uint32_t port)
{
	struct expect_port unused;
	enum expect_scope scope;

	if (!(v->ports[port].flags & PORT_IN_SCOPE))
		return false;
	if (!v->fabric->ports[port].known)
		return true;
	scope = expect_port(&v->expect, v->fabric, port, &unused);
	return scope == EXPECT_PROGRAMMED || scope == EXPECT_UNSURE;
}

static uint32_t count_there(const struct verify *v)
{
	uint32_t i, count = 0;

	for (i = 0; i < v->fabric->port_count; i++)
		count += verify_looks_at(v, i);
	return count;
}

static void forget_diff(struct port_state *state)
{
	unsigned block;

	if (!state->diff)
		return;
	for (block = 0; block < QOS_VLARB_BLOCKS; block++)
		free(state->diff->vlarb[block]);
	free(state->diff->sl2vl);
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
	unsigned code;

	/* what cannot be is told as that */
	if (fabric_port_reserved(&ports[link->a], FABRIC_OPER_VLS, &code) ||
	    fabric_port_reserved(&ports[link->b], FABRIC_OPER_VLS, &code))
		return false;
	return has_oper_vls(verify, link->a) && has_oper_vls(verify, link->b) &&
	       fabric_port_oper_vls(&ports[link->a]) != fabric_port_oper_vls(&ports[link->b]);
}

static bool is_settled(const struct port_state *state)
{
	return state->flags & PORT_ASKED && !(state->flags & (PORT_DIFFERS | PORT_UNSURE | PORT_LEFT)) &&
	       verify_port_failed(state) == 0;
}

/* Port 0 of a switch tells for all its ports whether there are SL2VL tables to ask for. */
static bool switch_told(const struct verify *v, uint32_t port)
{
	const struct fabric_node *node = fabric_port_node(v->fabric, port);

	return node->type != FABRIC_SWITCH || answered_port_info(v, node->first_port);
}

/* What a silent port's other end says now tells whether it is still there. */
static void select_ends(struct verify *v)
{
	for (uint32_t i = 0; i < v->fabric->link_count; i++) {
		struct port_state *a = &v->ports[v->fabric->links[i].a], *b = &v->ports[v->fabric->links[i].b];

		if (verify_port_failed(a) > 0 && b->flags & PORT_IN_SCOPE)
			b->flags |= PORT_SELECTED;
		if (verify_port_failed(b) > 0 && a->flags & PORT_IN_SCOPE)
			a->flags |= PORT_SELECTED;
	}
}

static void select_ports(struct verify *v, bool only_differing)
{
	struct port_state *state;
	uint32_t i;

	for (i = 0; i < v->fabric->port_count; i++) {
		state = &v->ports[i];
		state->flags &= ~PORT_SELECTED;
		if (state->flags & PORT_IN_SCOPE &&
		    !(only_differing && is_settled(state) && switch_told(v, i)))
			state->flags |= PORT_SELECTED;
	}
	for (i = 0; only_differing && i < v->fabric->link_count; i++) {
		if (!verify_link_differs(v, &v->fabric->links[i]))
			continue;
		v->ports[v->fabric->links[i].a].flags |= PORT_SELECTED;
		v->ports[v->fabric->links[i].b].flags |= PORT_SELECTED;
	}
	select_ends(v);
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
		while (verify_next_query(v, &v->agents[i], &query))
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
	struct source_asker asker = {.agents = v->run_agents,
				     .next = verify_next,
				     .answer = verify_answer,
				     .arg = v,
				     .what = pass == VERIFY_PORT_INFO ? "reading ports" : "reading tables"};
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
	for (i = 0; v->ctx->progress && i < v->run_count; i++)
		asker.total += verify_queries(v, &v->agents[v->run[i]]);
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
	unsigned code;

	if (!p->known)
		return;
	switch (expect_port(&v->expect, v->fabric, port, &state->expect)) {
	case EXPECT_PROGRAMMED:
		break;
	case EXPECT_DOWN:
		state->flags |= p->peer != FABRIC_NONE ? PORT_LEFT : PORT_EXCLUDED;
		return;
	case EXPECT_BASE_PORT:
		state->flags |= PORT_EXCLUDED;
		return;
	case EXPECT_UNSURE:
		state->flags |= PORT_UNSURE;
		return;
	}
	if (fabric_port_reserved(p, FABRIC_VL_CAP, &code) || fabric_port_reserved(p, FABRIC_OPER_VLS, &code))
		state->flags |= PORT_UNSURE;
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
	if (state->flags & (PORT_EXCLUDED | PORT_LEFT) && !failed) {
		result->ports_excluded += state->flags & PORT_EXCLUDED ? 1 : 0;
		result->ports_left += state->flags & PORT_LEFT ? 1 : 0;
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
	if (!verify->sampled && !only_differing)
		verify->ports_there = count_there(verify);
	select_ports(verify, only_differing);
	error = run_pass(verify, source, VERIFY_PORT_INFO, true);
	for (i = 0; i < verify->fabric->port_count; i++)
		if (verify->ports[i].flags & PORT_SELECTED)
			judge_port(verify, i);
	error2 = run_pass(verify, source, VERIFY_SL2VL, error == 0);
	error = error ? error : error2;
	verify->stopped = error != 0;
	verify->of_file = source_is_file(source);

	memset(&verify->result, 0, sizeof(verify->result));
	verify->result.ports_there = verify->ports_there;
	for (i = 0; i < verify->fabric->port_count; i++)
		if (verify->ports[i].flags & PORT_ASKED)
			add_to_result(&verify->result, &verify->ports[i]);
	return error ? error : verify->error;
}

void verify_set_end(struct verify *verify, uint64_t end_ns)
{
	verify->end_ns = end_ns;
}

const struct verify_result *verify_result(const struct verify *verify)
{
	return &verify->result;
}

bool verify_port_differs(const struct verify *verify, uint32_t port)
{
	return port < verify->fabric->port_count && verify->ports[port].flags & PORT_DIFFERS;
}

bool verify_port_judged(const struct verify *verify, uint32_t port)
{
	const struct port_state *state;

	if (port >= verify->fabric->port_count)
		return false;
	state = &verify->ports[port];
	if (!(state->flags & PORT_ASKED))
		return false;
	return !(state->flags & (PORT_EXCLUDED | PORT_UNSURE | PORT_LEFT)) && verify_port_failed(state) == 0;
}
