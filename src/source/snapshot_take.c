/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Taking a snapshot: which attributes are asked of which ports, as rows; passes over all of them; answers
 * kept in the pools and put in order at the end, so that the order in which they came leaves no trace.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mad.h>

#include "ibqos/link.h"
#include "snapshot_parts.h"

#define PKEYS_A_BLOCK 32
#define LIDS_A_BLOCK 64
#define LFT_TOP_MAX 0xbfff /* the last unicast LID, IBA 4.1.1 */

/* One answer; what value is, struct snapshot_run says. */
struct answer {
	uint32_t port, modifier, value;
	uint16_t attribute;
	uint8_t outcome;
};

/* An agent and how far its ports are asked in this pass. */
struct agent {
	uint32_t first, end; /* ports that it answers for */
	uint32_t at;
	unsigned row, step;
};

struct taking {
	const struct fabric *fabric;
	struct snapshot *snapshot;
	uint8_t (*info)[MAD_SMP_DATA]; /* the latest PortInfo of each port */
	bool *known;
	bool *silent; /* ports whose PortInfo got no answer at all */
	struct answer *answers;
	size_t count, room;
	struct agent *agents;
	uint32_t *ports; /* of the agents, as source_ask() wants them */
	uint32_t agent_count;
	uint32_t *run; /* those asked in this pass, as indexes into agents */
	unsigned pass;
	bool lost; /* memory ran out */
};

/* --- which ports have what --- */

static unsigned field(const uint8_t *info, enum MAD_FIELDS which)
{
	return mad_get_field((void *)info, 0, which);
}

static bool is_switch(const struct taking *t, uint32_t port)
{
	return fabric_port_node(t->fabric, port)->type == FABRIC_SWITCH;
}

/* The number by which a port is named in an AttributeModifier: an adapter's port is asked at itself. */
static unsigned own_number(const struct taking *t, uint32_t port)
{
	return is_switch(t, port) ? t->fabric->ports[port].number : 0;
}

/* Whether OpenSM programs tables there: not on a port that is down, nor on a switch's port 0 that is no end
 * port. */
static bool has_tables(const struct taking *t, uint32_t port)
{
	const struct fabric_node *node = fabric_port_node(t->fabric, port);

	if (!t->known[port] || field(t->info[port], IB_PORT_STATE_F) == FABRIC_STATE_DOWN)
		return false;
	return t->fabric->ports[port].number > 0 || node->type != FABRIC_SWITCH ||
	       (node->has_switch_info && node->enhanced_port0);
}

static unsigned port_info_steps(const struct taking *t, uint32_t port)
{
	(void)t;
	(void)port;
	return 1;
}

static bool port_info_query(const struct taking *t, uint32_t port, unsigned step, uint32_t *modifier)
{
	(void)step;
	*modifier = t->fabric->ports[port].number;
	return true;
}

static unsigned vlarb_steps(const struct taking *t, uint32_t port)
{
	/* a port with one data VL has no arbitration */
	return has_tables(t, port) && field(t->info[port], IB_PORT_VL_CAP_F) != 1 ? QOS_VLARB_BLOCKS : 0;
}

static bool vlarb_query(const struct taking *t, uint32_t port, unsigned step, uint32_t *modifier)
{
	unsigned cap = field(t->info[port],
			     step < 2 ? IB_PORT_VL_ARBITRATION_LOW_CAP_F : IB_PORT_VL_ARBITRATION_HIGH_CAP_F);

	*modifier = MAD_VLARB_MODIFIER(step, own_number(t, port));
	return cap > (step % 2 ? QOS_VLARB_BLOCK : 0);
}

static unsigned sl2vl_steps(const struct taking *t, uint32_t port)
{
	const struct fabric_node *node = fabric_port_node(t->fabric, port);
	uint32_t teller =
		node->type == FABRIC_SWITCH ? node->first_port : port; /* for all ports of a switch */

	if (!has_tables(t, port) ||
	    (t->known[teller] && !(field(t->info[teller], IB_PORT_CAPMASK_F) & FABRIC_CAP_SL_MAP)))
		return 0;
	return node->type == FABRIC_SWITCH ? node->ports + 1u : 1;
}

static bool sl2vl_query(const struct taking *t, uint32_t port, unsigned step, uint32_t *modifier)
{
	*modifier = MAD_SL2VL_MODIFIER(step, own_number(t, port));
	return true;
}

/* Blocks of partition keys: NodeInfo and, for a switch's other ports, SwitchInfo tell how many keys there
 * are. */
static unsigned pkey_steps(const struct taking *t, uint32_t port)
{
	const struct fabric_node *node = fabric_port_node(t->fabric, port);
	unsigned keys;

	if (!t->known[port] || field(t->info[port], IB_PORT_STATE_F) == FABRIC_STATE_DOWN)
		return 0;
	if (node->type != FABRIC_SWITCH || t->fabric->ports[port].number == 0)
		keys = field(node->node_info, IB_NODE_PARTITION_CAP_F);
	else
		keys = node->has_switch_info ? field(node->switch_info, IB_SW_PARTITION_ENFORCE_CAP_F) : 0;
	return (keys + PKEYS_A_BLOCK - 1) / PKEYS_A_BLOCK;
}

static bool pkey_query(const struct taking *t, uint32_t port, unsigned step, uint32_t *modifier)
{
	*modifier = MAD_PKEY_MODIFIER(step, own_number(t, port));
	return true;
}

static unsigned lft_steps(const struct taking *t, uint32_t port)
{
	const struct fabric_node *node = fabric_port_node(t->fabric, port);
	unsigned top;

	if (node->type != FABRIC_SWITCH || t->fabric->ports[port].number != 0 || !node->has_switch_info)
		return 0;
	top = field(node->switch_info, IB_SW_LINEAR_FDB_TOP_F);
	return (top < LFT_TOP_MAX ? top : LFT_TOP_MAX) / LIDS_A_BLOCK + 1;
}

static bool lft_query(const struct taking *t, uint32_t port, unsigned step, uint32_t *modifier)
{
	(void)t;
	(void)port;
	*modifier = step;
	return true;
}

/* Whether routing is adaptive: of switches whose vendor has an attribute for it. */
static unsigned adaptive_steps(const struct taking *t, uint32_t port)
{
	const struct fabric_node *node = fabric_port_node(t->fabric, port);

	return node->type == FABRIC_SWITCH && t->fabric->ports[port].number == 0 && node->vendor == MAD_VENDOR_MELLANOX;
}

static bool adaptive_query(const struct taking *t, uint32_t port, unsigned step, uint32_t *modifier)
{
	(void)t;
	(void)port;
	*modifier = step;
	return true;
}

/* SMInfo of each port that says that a subnet manager is there, and of that which the ports name. */
static unsigned sm_info_steps(const struct taking *t, uint32_t port)
{
	if (!t->known[port] || fabric_port_agent(t->fabric, port) != port)
		return 0;
	return field(t->info[port], IB_PORT_CAPMASK_F) & FABRIC_CAP_IS_SM ||
	       (t->fabric->sm_lid != 0 && field(t->info[port], IB_PORT_LID_F) == t->fabric->sm_lid);
}

static bool sm_info_query(const struct taking *t, uint32_t port, unsigned step, uint32_t *modifier)
{
	(void)t;
	(void)port;
	*modifier = step;
	return true;
}

/*
 * What is asked, pass by pass; within a pass port by port, in this order, so that a device which falls silent
 * leaves unanswered what it would leave to verify.
 */
static const struct wanted {
	unsigned pass;
	uint16_t attribute;
	unsigned (*steps)(const struct taking *t, uint32_t port);
	bool (*query)(const struct taking *t, uint32_t port, unsigned step, uint32_t *modifier);
} wanted[] = {
	{0, MAD_PORT_INFO, port_info_steps, port_info_query},
	{1, MAD_SM_INFO, sm_info_steps, sm_info_query},
	{1, MAD_VLARB, vlarb_steps, vlarb_query},
	{1, MAD_SL2VL, sl2vl_steps, sl2vl_query},
	{2, MAD_PKEY_TABLE, pkey_steps, pkey_query},
	{3, MAD_LFT, lft_steps, lft_query},
	{4, MAD_MLNX_ADAPTIVE, adaptive_steps, adaptive_query},
};
#define WANTED (sizeof(wanted) / sizeof(wanted[0]))
#define PASSES 5

/* --- asking --- */

static bool next_query(struct taking *t, struct agent *agent, struct source_query *query)
{
	for (; agent->at < agent->end; agent->at++, agent->row = 0, agent->step = 0) {
		for (; agent->row < WANTED; agent->row++, agent->step = 0) {
			const struct wanted *w = &wanted[agent->row];

			if (w->pass != t->pass)
				continue;
			while (agent->step < w->steps(t, agent->at)) {
				if (!w->query(t, agent->at, agent->step++, &query->modifier))
					continue;
				query->agent = fabric_port_agent(t->fabric, agent->first);
				query->port = agent->at;
				query->attribute = w->attribute;
				return true;
			}
		}
	}
	return false;
}

static bool next(void *arg, uint32_t which, struct source_query *query)
{
	struct taking *t = arg;

	return next_query(t, &t->agents[t->run[which]], query);
}

static void answer(void *arg, const struct source_query *query, const struct mad_answer *answered)
{
	struct taking *t = arg;
	struct answer *answers = array_grow(t->answers, &t->room, t->count + 1, sizeof(*answers));
	struct answer made = {.port = query->port,
			      .modifier = query->modifier,
			      .attribute = query->attribute,
			      .outcome = answered->outcome};
	uint8_t data[MAD_SMP_DATA];

	if (!answers) {
		t->lost = true;
		return;
	}
	t->answers = answers;
	if (answered->outcome == MAD_ANSWERED) {
		memcpy(data, answered->data, sizeof(data));
		if (query->attribute == MAD_PORT_INFO) {
			memset(data, 0, 8); /* the M_Key: it opens the port to whoever reads it */
			if (t->fabric->ports[query->port].known)
				link_keep_ext_speeds(t->fabric->ports[query->port].info, data);
			memcpy(t->info[query->port], data, sizeof(data));
			t->known[query->port] = true;
		}
		if (query->attribute == MAD_SM_INFO)
			memset(data + 8, 0, 12); /* the SM_Key, and ActCount, which goes on by itself */
		made.value = snapshot_keep_data(t->snapshot, data,
						snapshot_attribute_size(MAD_CLASS_SMP, query->attribute));
		t->lost |= made.value == UINT32_MAX;
	} else if (answered->outcome == MAD_STATUS) {
		made.value = answered->status;
	} else if (answered->outcome == MAD_TIMED_OUT) {
		made.value = answered->tries < UINT16_MAX ? answered->tries : UINT16_MAX;
	}
	if (query->attribute == MAD_PORT_INFO)
		t->silent[query->port] =
			answered->outcome == MAD_TIMED_OUT || answered->outcome == MAD_NOT_ASKED;
	t->answers[t->count++] = made;
}

/* One that left all of its PortInfo unanswered is not asked any more, which would only cost time. */
static bool is_asked(const struct taking *t, const struct agent *agent)
{
	for (uint32_t i = agent->first; i < agent->end; i++)
		if (!t->silent[i])
			return true;
	return false;
}

/* Of a copy: nothing is asked yet. */
static uint64_t count_queries(struct taking *t, struct agent agent)
{
	struct source_query unused = {0};
	uint64_t count = 0;

	while (next_query(t, &agent, &unused))
		count++;
	return count;
}

static int run_pass(struct taking *t, struct source *source, unsigned pass)
{
	static const char *const what[PASSES] = {"reading ports", "reading tables", "reading partition keys", "reading forwarding tables",
						 "asking for adaptive routing"};
	struct source_asker asker = {.next = next, .answer = answer, .arg = t, .agents = t->ports, .what = what[pass]};

	t->pass = pass;
	for (uint32_t i = 0; i < t->agent_count; i++) {
		struct agent *agent = &t->agents[i];

		agent->at = agent->first;
		agent->row = agent->step = 0;
		if (!is_asked(t, agent))
			continue;
		asker.total += count_queries(t, *agent);
		t->run[asker.agent_count] = i;
		t->ports[asker.agent_count++] = fabric_port_agent(t->fabric, agent->first);
	}
	return asker.agent_count > 0 ? source_ask(source, t->fabric, &asker) : 0;
}

static void add_agent(struct taking *t, uint32_t first, uint32_t end)
{
	t->agents[t->agent_count++] = (struct agent){.first = first, .end = end};
}

/* A port of an adapter answers for itself, and can only be asked where discovery came to it. */
static void add_agents(struct taking *t, const struct fabric_node *node)
{
	if (node->type == FABRIC_SWITCH) {
		add_agent(t, node->first_port, node->first_port + node->ports + 1);
		return;
	}
	for (unsigned n = 1; n <= node->ports; n++) {
		const struct fabric_port *port = &t->fabric->ports[node->first_port + n];

		if (port->known || port->guid != 0 || port->peer != FABRIC_NONE)
			add_agent(t, node->first_port + n, node->first_port + n + 1);
	}
}

/* --- what was found --- */

static uint32_t keep(struct taking *t, const uint8_t *data, bool present)
{
	uint32_t item = present ? snapshot_keep_data(t->snapshot, data, MAD_SMP_DATA) : 0;

	t->lost |= item == UINT32_MAX;
	return item;
}

static uint32_t keep_text(struct taking *t, const char *text)
{
	uint32_t item = snapshot_keep_text(t->snapshot, text);

	t->lost |= item == UINT32_MAX;
	return item;
}

static void keep_node(struct taking *t, uint32_t index)
{
	const struct fabric_node *node = &t->fabric->nodes[index];
	struct snapshot_node *row = &t->snapshot->nodes[index];

	row->node_info = keep(t, node->node_info, true);
	row->switch_info = keep(t, node->switch_info, node->has_switch_info);
	row->route = snapshot_keep(&t->snapshot->data, node->route.port, node->route.hops + 1u);
	t->lost |= row->route == UINT32_MAX;
	row->name = keep_text(t, node->name);
	row->has_desc = 1;
}

static void keep_port(struct taking *t, uint32_t index)
{
	const struct fabric_port *port = &t->fabric->ports[index];
	struct snapshot_port *row = &t->snapshot->ports[index];

	memcpy(t->info[index], port->info, MAD_SMP_DATA);
	memset(t->info[index], 0, 8); /* the M_Key */
	t->known[index] = port->known;
	*row = (struct snapshot_port){
		.guid = port->guid,
		.info = keep(t, t->info[index], port->known),
		.ext_info = keep(t, port->ext_info, port->has_ext),
		.peer = port->peer,
	};
}

static bool keep_fabric(struct taking *t, const struct ibqos_ctx *ctx)
{
	const struct fabric *f = t->fabric;
	struct snapshot *s = t->snapshot;

	s->meta = calloc(1, sizeof(*s->meta));
	s->nodes = calloc((size_t)f->node_count + 1, sizeof(*s->nodes));
	s->ports = calloc((size_t)f->port_count + 1, sizeof(*s->ports));
	s->gaps = calloc((size_t)f->gap_count + 1, sizeof(*s->gaps));
	if (!s->meta || !s->nodes || !s->ports || !s->gaps || !snapshot_pool_begin(&s->strings) ||
	    !snapshot_pool_begin(&s->data))
		return false;
	s->meta_count = 1;
	s->node_count = f->node_count;
	s->port_count = f->port_count;
	s->gap_count = f->gap_count;
	*s->meta = (struct snapshot_meta){
		.version = keep_text(t, IBQOS_VERSION),
		.label = keep_text(t, ctx->fabric),
		.from_node = f->from_node,
		.from_port = f->from_port,
		.sm_lid = f->sm_lid,
	};
	for (uint32_t i = 0; i < f->node_count; i++)
		keep_node(t, i);
	for (uint32_t i = 0; i < f->port_count; i++)
		keep_port(t, i);
	for (uint32_t i = 0; i < f->gap_count; i++) {
		s->gaps[i] =
			(struct snapshot_gap){.port = f->gaps[i].port, .reason = (uint8_t)f->gaps[i].reason};
		if (f->gaps[i].reason == FABRIC_GAP_NO_NODE_DESC)
			s->nodes[f->ports[f->gaps[i].port].node].has_desc = 0;
	}
	return !t->lost;
}

/* --- putting in order --- */

static int by_place(const void *a, const void *b)
{
	const struct answer *x = a, *y = b;

	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	if (x->attribute != y->attribute)
		return x->attribute < y->attribute ? -1 : 1;
	return (x->modifier > y->modifier) - (x->modifier < y->modifier);
}

static int make_runs(struct taking *t)
{
	size_t room = 0;
	int error = 0;

	if (t->count > 0)
		qsort(t->answers, t->count, sizeof(*t->answers), by_place);
	for (size_t i = 0; error == 0 && i < t->count; i++) {
		const struct answer *a = &t->answers[i];
		const struct snapshot_run run = {.port = a->port,
						 .modifier = a->modifier,
						 .count = 1,
						 .step = 1,
						 .value = a->value,
						 .attribute = a->attribute,
						 .mgmt_class = MAD_CLASS_SMP,
						 .outcome = a->outcome};

		error = snapshot_add_run(t->snapshot, &room, &run);
	}
	return error;
}

/* --- the subnet manager --- */

static int take_sm(struct taking *t, struct source *source, struct source_sm_query *sm, size_t count)
{
	int error = source_ask_sm(source, t->fabric, sm, count, NULL),
	    error2 = snapshot_keep_sm(t->snapshot, sm, count);

	return error2 ? error2 : error;
}

/* --- all of it --- */

static bool make_room(struct taking *t)
{
	size_t count = (size_t)t->fabric->port_count + 1;

	t->info = calloc(count, sizeof(*t->info));
	t->known = calloc(count, sizeof(*t->known));
	t->silent = calloc(count, sizeof(*t->silent));
	t->agents = calloc(count, sizeof(*t->agents));
	t->ports = calloc(count, sizeof(*t->ports));
	t->run = calloc(count, sizeof(*t->run));
	t->snapshot = snapshot_new();
	return t->info && t->known && t->silent && t->agents && t->ports && t->run && t->snapshot;
}

int snapshot_take(const struct ibqos_ctx *ctx, struct source *source, const struct fabric *fabric,
		  uint64_t now, struct source_sm_query *sm, size_t sm_count, struct snapshot **snapshot)
{
	struct taking t = {.fabric = fabric};
	int broke = 0, error = make_room(&t) && keep_fabric(&t, ctx) ? 0 : -ENOMEM;

	*snapshot = NULL;
	if (error == 0)
		t.snapshot->taken = now;
	for (uint32_t i = 0; i < fabric->node_count && error == 0; i++)
		add_agents(&t, &fabric->nodes[i]);
	for (unsigned pass = 0; pass < PASSES && error == 0 && broke == 0; pass++)
		broke = run_pass(&t, source, pass);
	if (error == 0 && broke == 0)
		broke = take_sm(&t, source, sm, sm_count);
	if (error == 0 && (broke == -EINTR || broke == -ENOMEM))
		error = broke;
	if (error == 0 && t.lost)
		error = -ENOMEM;
	if (error == 0) {
		t.snapshot->meta->stopped = (uint32_t)-broke;
		error = make_runs(&t);
	}
	if (error == 0)
		error = snapshot_order_data(t.snapshot);
	if (error == 0)
		error = snapshot_close(t.snapshot);
	if (error == 0) {
		*snapshot = t.snapshot;
		t.snapshot = NULL;
	}
	snapshot_free(t.snapshot);
	free(t.info);
	free(t.known);
	free(t.silent);
	free(t.agents);
	free(t.ports);
	free(t.run);
	free(t.answers);
	return error;
}
