/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters asked for: what each device says that it has, then that, then what totals consist of.
 */
#include <errno.h>
#include <infiniband/mad.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/counters.h"
#include "ibqos/link.h"
#include "place.h"

/* ClassPortInfo:CapabilityMask and CapabilityMask2 of performance management (IBA 16.1.3.1). */
#define CAP_EXT_WIDTH (1u << 9)
#define CAP_EXT_WIDTH_NO_IETF (1u << 10)
#define CAP2_EXT_ERRORS (1u << 1)
#define CAP2_SHIFT 5 /* its low bits are the response time */

/*
 * PortSamplesControl:OptionMask, 64 bits: which optional attributes there are (IBA 16.1.3.2; those of SLs as in the layouts of
 * NVIDIA's ibutils2).
 */
#define OPTION_BYTE 12
#define OPTION_VL_XMIT_WAIT 23
#define OPTION_XMIT_DATA_SL 55
#define OPTION_XMIT_DATA_SL_EXT 57

/* What a port still has to be asked, a bit an item. */
#define ITEM(item) (1u << (item))

struct asking {
	const struct fabric *fabric;
	struct counters *counters;
	uint32_t *agents; /* port indexes */
	uint32_t agent_count;
	uint32_t *at;	 /* of each agent, the next port slot to look at */
	uint16_t *wants; /* of each port: bits of items */
	bool *ext_errors; /* of each port that is an agent */
	unsigned round;	  /* bits of items that are asked now */
	struct speeds {
		bool wanted, ended; /* of a port: it is one of those that may have PortExtendedSpeedsCounters; asked */
		struct mad_answer how;
	} *speeds;
	struct model *models;
	size_t model_count, model_room;
};

/*
 * Nothing says whether a device has PortExtendedSpeedsCounters (IBA 16.1.4.20), and some leave a question for what they do not
 * have unanswered. So a few devices of each kind are asked first, and the others if one of them has it.
 */
#define PROBES 3
struct model {
	uint32_t vendor;
	uint16_t device;
	uint8_t type;
	uint8_t probes;	    /* devices asked */
	uint32_t last_node; /* the last of them */
	bool has;
};

#define ROUND_CLASS ITEM(COUNTERS_CLASS_PORT_INFO)
#define ROUND_COUNTERS (ITEM(COUNTERS_PORT) | ITEM(COUNTERS_EXT))
#define ROUND_SPEEDS ITEM(COUNTERS_SPEEDS)
#define ROUND_OPTIONS ITEM(COUNTERS_SAMPLES)
#define ROUND_SHARES (ITEM(COUNTERS_SENT_SL) | ITEM(COUNTERS_SENT_SL_EXT) | ITEM(COUNTERS_VL_WAIT))
#define ROUND_DETAILS (ITEM(COUNTERS_SAMPLES) | ITEM(COUNTERS_RCV_DETAILS) | ITEM(COUNTERS_XMIT_DETAILS))

static const struct {
	const char *name;
	uint16_t attribute;
	bool must; /* a port that does not answer it is not read */
} items[COUNTERS_ITEMS] = {
	[COUNTERS_CLASS_PORT_INFO] = {"ClassPortInfo", MAD_PERF_CLASS_PORT_INFO, true},
	[COUNTERS_PORT] = {"PortCounters", MAD_PORT_COUNTERS, true},
	[COUNTERS_EXT] = {"PortCountersExtended", MAD_PORT_COUNTERS_EXT, true},
	[COUNTERS_SPEEDS] = {"PortExtendedSpeedsCounters", MAD_PORT_EXT_SPEEDS_COUNTERS, false},
	[COUNTERS_SAMPLES] = {"PortSamplesControl", MAD_PORT_SAMPLES_CONTROL, false},
	[COUNTERS_RCV_DETAILS] = {"PortRcvErrorDetails", MAD_PORT_RCV_ERROR_DETAILS, false},
	[COUNTERS_XMIT_DETAILS] = {"PortXmitDiscardDetails", MAD_PORT_XMIT_DISCARD_DETAILS, false},
	[COUNTERS_SENT_SL] = {"PortXmitDataSL", MAD_PORT_XMIT_DATA_SL, false},
	[COUNTERS_SENT_SL_EXT] = {"PortXmitDataSLExt", MAD_PORT_XMIT_DATA_SL_EXT, false},
	[COUNTERS_VL_WAIT] = {"PortVLXmitWaitCounters", MAD_PORT_VL_XMIT_WAIT, false},
};

const char *counters_item_name(enum counters_item item)
{
	return items[item].name;
}

static enum counters_item item_of(uint16_t attribute)
{
	unsigned item = 0;

	while (item < COUNTERS_ITEMS && items[item].attribute != attribute)
		item++;
	return item;
}

/* The ports that a device answers for: all of a switch's, else its own. */
static uint32_t last_of(const struct fabric *fabric, uint32_t agent)
{
	const struct fabric_node *node = fabric_port_node(fabric, agent);

	return node->type == FABRIC_SWITCH ? node->first_port + node->ports : agent;
}

static bool next(void *arg, uint32_t which, struct source_query *query)
{
	struct asking *a = arg;
	uint32_t agent = a->agents[which], port = a->at[which], last = last_of(a->fabric, agent);
	unsigned item = 0;

	while (port <= last && !(a->wants[port] & a->round))
		port++;
	a->at[which] = port;
	if (port > last)
		return false;
	while (!(a->wants[port] & a->round & ITEM(item)))
		item++;
	a->wants[port] &= (uint16_t)~ITEM(item);
	*query = (struct source_query){
		.agent = agent,
		.port = port,
		.attribute = items[item].attribute,
		.modifier = item == COUNTERS_CLASS_PORT_INFO ? 0 : a->fabric->ports[port].number,
		.mgmt_class = MAD_CLASS_PERF,
	};
	a->counters->coverage[item].asked++;
	return true;
}

static bool unsupported(const struct mad_answer *answer)
{
	return answer->outcome == MAD_STATUS && (answer->status & MAD_STATUS_FIELD) == MAD_STATUS_UNSUPPORTED;
}

/* Its ClassPortInfo says what the ports behind an agent have. */
static void take_class(struct asking *a, uint32_t agent, const uint8_t *data)
{
	unsigned caps = (unsigned)data[2] << 8 | data[3];
	uint32_t caps2 = ((uint32_t)data[4] << 24 | (uint32_t)data[5] << 16 | (uint32_t)data[6] << 8 | data[7]) >> CAP2_SHIFT;

	a->ext_errors[agent] = caps2 & CAP2_EXT_ERRORS;
	for (uint32_t port = agent; port <= last_of(a->fabric, agent); port++) {
		if (!a->counters->ports[port].wanted)
			continue;
		if (caps & (CAP_EXT_WIDTH | CAP_EXT_WIDTH_NO_IETF) || a->ext_errors[agent])
			a->wants[port] |= ITEM(COUNTERS_EXT);
		if (a->ext_errors[agent]) /* all that PortCounters has, and wider */
			a->wants[port] &= (uint16_t)~ITEM(COUNTERS_PORT);
	}
}

static bool option(const uint8_t *data, unsigned bit)
{
	return data[OPTION_BYTE + 7 - bit / 8] >> bit % 8 & 1;
}

/* What a device counts by SL and VL, of all its ports. */
static void take_options(struct asking *a, uint32_t agent, const uint8_t *data)
{
	uint16_t wants = 0;

	if (option(data, OPTION_XMIT_DATA_SL_EXT))
		wants |= ITEM(COUNTERS_SENT_SL_EXT);
	else if (option(data, OPTION_XMIT_DATA_SL))
		wants |= ITEM(COUNTERS_SENT_SL);
	if (wants && option(data, OPTION_VL_XMIT_WAIT))
		wants |= ITEM(COUNTERS_VL_WAIT);
	for (uint32_t port = agent; port <= last_of(a->fabric, agent); port++)
		if (a->counters->ports[port].wanted)
			a->wants[port] |= wants;
}

static bool is_of_shares(enum counters_item item)
{
	return item == COUNTERS_SENT_SL || item == COUNTERS_SENT_SL_EXT || item == COUNTERS_VL_WAIT;
}

static void fail(struct counter_reading *reading, const struct mad_answer *answer)
{
	if (reading->outcome != MAD_ANSWERED)
		return; /* the first failure is told */
	reading->outcome = answer->outcome;
	reading->status = answer->status;
}

static void take(void *arg, const struct source_query *query, const struct mad_answer *answer)
{
	struct asking *a = arg;
	enum counters_item item = item_of(query->attribute);
	struct counter_reading *reading = &a->counters->ports[query->port];

	a->counters->coverage[item].ended[answer->outcome]++;
	if (item == COUNTERS_SPEEDS)
		a->speeds[query->port] = (struct speeds){true, true, {.outcome = answer->outcome, .status = answer->status}};
	if (answer->outcome == MAD_ANSWERED && item == COUNTERS_SAMPLES && a->round == ROUND_OPTIONS)
		take_options(a, query->agent, answer->data);
	if (answer->outcome == MAD_ANSWERED && is_of_shares(item))
		counter_decode_shares(&a->counters->shares[query->port], query->attribute, answer->data);
	else if (answer->outcome == MAD_ANSWERED && item == COUNTERS_CLASS_PORT_INFO)
		take_class(a, query->agent, answer->data);
	else if (answer->outcome == MAD_ANSWERED)
		counter_decode(reading, query->attribute, a->ext_errors[query->agent], answer->data);
	else if (unsupported(answer) && item != COUNTERS_PORT && item != COUNTERS_EXT)
		a->counters->unsupported[item]++;
	else if (item == COUNTERS_CLASS_PORT_INFO) /* what else there is to ask is then not known */
		for (uint32_t port = query->agent; port <= last_of(a->fabric, query->agent); port++)
			fail(&a->counters->ports[port], answer);
	else if (items[item].must || is_of_shares(item)) /* it says that it has those */
		fail(reading, answer);
}

/* One round of questions: these items of all ports that want them. */
static int ask(struct asking *a, struct source *source, unsigned round, int before)
{
	const struct mad_answer none = {.outcome = MAD_NOT_ASKED};
	struct source_asker asker = {
		.agents = a->agents, .agent_count = a->agent_count, .next = next, .answer = take, .arg = a, .what = "reading counters"};
	struct source_query query;
	int error = before;

	a->round = round;
	for (uint32_t i = 0; i < a->agent_count; i++) /* what an answer adds is for another round */
		for (uint32_t port = a->agents[i]; port <= last_of(a->fabric, a->agents[i]); port++)
			asker.total += (uint64_t)__builtin_popcount(a->wants[port] & round);
	for (uint32_t i = 0; i < a->agent_count; i++)
		a->at[i] = a->agents[i];
	if (a->agent_count > 0 && error == 0)
		error = source_ask(source, a->fabric, &asker);
	for (uint32_t i = 0; i < a->agent_count; i++) /* what a run that broke left */
		while (next(a, i, &query))
			take(a, &query, &none);
	return error;
}

/* 64b/66b coding: the attribute is of links from FDR on (IBA 16.1.4.20). */
static bool has_blocks(const struct fabric *fabric, uint32_t port)
{
	struct link_state state;

	return link_decode(fabric, port, &state) && state.speed_active >= LINK_FDR10;
}

static void choose(struct asking *a, const struct scope *scope)
{
	const struct fabric *fabric = a->fabric;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct fabric_port *port = &fabric->ports[i];
		uint32_t agent;
		struct mad_address address;

		if (!port->known || port->number == 0 || port->peer == FABRIC_NONE || !scope_has(scope, i) ||
		    fabric_port_state(port) != FABRIC_STATE_ACTIVE)
			continue;
		agent = fabric_port_agent(fabric, i);
		if (!fabric_agent_address(fabric, agent, false, &address) || (address.lid == 0 && address.gmp_lid == 0)) {
			a->counters->no_lid++;
			continue;
		}
		a->counters->ports[i].wanted = true;
		a->counters->wanted++;
		if (a->agent_count == 0 || a->agents[a->agent_count - 1] != agent)
			a->agents[a->agent_count++] = agent;
		a->wants[agent] |= ITEM(COUNTERS_CLASS_PORT_INFO);
		a->wants[i] |= ITEM(COUNTERS_PORT);
		a->speeds[i].wanted = has_blocks(fabric, i);
	}
}

static struct model *model_of(struct asking *a, uint32_t port)
{
	const struct fabric_node *n = fabric_port_node(a->fabric, port);
	struct model *grown;
	size_t i = 0;

	while (i < a->model_count && (a->models[i].vendor != n->vendor || a->models[i].device != n->device ||
				      a->models[i].type != (uint8_t)n->type))
		i++;
	if (i < a->model_count)
		return &a->models[i];
	grown = array_grow(a->models, &a->model_room, i + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	a->models = grown;
	grown[i] = (struct model){
		.vendor = n->vendor, .device = n->device, .type = (uint8_t)n->type, .last_node = FABRIC_NONE};
	a->model_count++;
	return &grown[i];
}

/* The first port of the first devices of each kind. */
static int want_probes(struct asking *a)
{
	for (uint32_t i = 0; i < a->fabric->port_count; i++) {
		struct model *m = a->speeds[i].wanted ? model_of(a, i) : NULL;

		if (a->speeds[i].wanted && !m)
			return -ENOMEM;
		if (!m || m->probes == PROBES || m->last_node == a->fabric->ports[i].node)
			continue;
		m->probes++;
		m->last_node = a->fabric->ports[i].node;
		a->wants[i] |= ITEM(COUNTERS_SPEEDS);
	}
	return 0;
}

/* The others of kinds of which one has it, be it that it was busy. */
static void want_speeds(struct asking *a)
{
	for (uint32_t i = 0; i < a->fabric->port_count; i++)
		if (a->speeds[i].ended && (a->speeds[i].how.outcome == MAD_ANSWERED ||
					   (a->speeds[i].how.outcome == MAD_STATUS && !unsupported(&a->speeds[i].how))))
			model_of(a, i)->has = true;
	for (uint32_t i = 0; i < a->fabric->port_count; i++)
		if (a->speeds[i].wanted && !a->speeds[i].ended && model_of(a, i)->has)
			a->wants[i] |= ITEM(COUNTERS_SPEEDS);
}

/* One that is silent, of a kind that has it, is not known. */
static void judge_speeds(struct asking *a)
{
	for (uint32_t i = 0; i < a->fabric->port_count; i++) {
		const struct mad_answer *how = &a->speeds[i].how;

		if (a->speeds[i].ended && how->outcome != MAD_ANSWERED && !unsupported(how) && model_of(a, i)->has)
			fail(&a->counters->ports[i], how);
	}
}

/* What a total consists of, where it is not zero; a device's tick, where a port of it had to wait. */
static void want_details(struct asking *a)
{
	uint32_t ticked = FABRIC_NONE;

	for (uint32_t i = 0; i < a->fabric->port_count; i++) {
		const struct counter_reading *r = &a->counters->ports[i];

		if (!r->wanted)
			continue;
		if (r->known & COUNTER_BIT(COUNTER_RCV_ERRORS) && r->value[COUNTER_RCV_ERRORS] > 0)
			a->wants[i] |= ITEM(COUNTERS_RCV_DETAILS);
		if (r->known & COUNTER_BIT(COUNTER_XMIT_DISCARDS) && r->value[COUNTER_XMIT_DISCARDS] > 0)
			a->wants[i] |= ITEM(COUNTERS_XMIT_DETAILS);
		if (r->has_tick)
			ticked = a->fabric->ports[i].node;
		if (r->value[COUNTER_XMIT_WAIT] > 0 && a->fabric->ports[i].node != ticked) {
			a->wants[i] |= ITEM(COUNTERS_SAMPLES);
			ticked = a->fabric->ports[i].node;
		}
	}
}

/* A device has one tick (IBA 16.1.3.2 gives each port the register; devices have one clock). */
static void spread_ticks(struct asking *a)
{
	uint32_t node = FABRIC_NONE;
	uint8_t tick = 0;

	for (uint32_t i = 0; i < a->fabric->port_count; i++) {
		struct counter_reading *r = &a->counters->ports[i];

		if (r->has_tick) {
			node = a->fabric->ports[i].node;
			tick = r->tick;
		} else if (r->wanted && a->fabric->ports[i].node == node) {
			r->has_tick = true;
			r->tick = tick;
		}
	}
}

/* The first port of each device says what all of them count. */
static void want_options(struct asking *a)
{
	for (uint32_t i = 0; i < a->agent_count; i++) {
		uint32_t port = a->agents[i];

		while (port < last_of(a->fabric, a->agents[i]) && !a->counters->ports[port].wanted)
			port++;
		a->wants[port] |= ITEM(COUNTERS_SAMPLES);
	}
}

int counters_ask(struct source *source, const struct fabric *fabric, const struct scope *scope, bool shares,
		 struct counters *counters)
{
	size_t room = fabric->port_count + 1u;
	struct asking a = {.fabric = fabric, .counters = counters};
	int error = -ENOMEM;

	*counters = (struct counters){.ports = calloc(room, sizeof(*counters->ports))};
	a.agents = calloc(room, sizeof(*a.agents));
	a.at = calloc(room, sizeof(*a.at));
	a.wants = calloc(room, sizeof(*a.wants));
	a.ext_errors = calloc(room, sizeof(*a.ext_errors));
	a.speeds = calloc(room, sizeof(*a.speeds));
	if (shares)
		counters->shares = calloc(room, sizeof(*counters->shares));
	if ((shares && !counters->shares) || !counters->ports || !a.agents || !a.at || !a.wants || !a.ext_errors || !a.speeds)
		goto out;
	choose(&a, scope);
	error = ask(&a, source, ROUND_CLASS, 0);
	error = ask(&a, source, ROUND_COUNTERS, error);
	if (want_probes(&a) != 0) {
		error = -ENOMEM;
		goto out;
	}
	error = ask(&a, source, ROUND_SPEEDS, error);
	want_speeds(&a);
	error = ask(&a, source, ROUND_SPEEDS, error);
	judge_speeds(&a);
	if (shares) {
		want_options(&a);
		error = ask(&a, source, ROUND_OPTIONS, error);
		error = ask(&a, source, ROUND_SHARES, error);
	}
	want_details(&a);
	error = ask(&a, source, ROUND_DETAILS, error);
	spread_ticks(&a);
	for (uint32_t i = 0; i < fabric->port_count; i++)
		counters->read += counters->ports[i].wanted && counters->ports[i].outcome == MAD_ANSWERED;
out:
	free(a.agents);
	free(a.at);
	free(a.wants);
	free(a.ext_errors);
	free(a.speeds);
	free(a.models);
	return error;
}

void counters_clear(struct counters *counters)
{
	free(counters->ports);
	free(counters->shares);
	*counters = (struct counters){0};
}

static void set_outcome(struct finding *f, const struct counter_reading *r)
{
	if (r->outcome == MAD_STATUS)
		finding_set(&f->got, "MAD status 0x%04x", r->status);
	else
		finding_set(&f->got, "%s", r->outcome == MAD_TIMED_OUT ? "no answer" : "not asked any more");
}

void counters_gaps(const struct counters *counters, const struct fabric *fabric, struct finding_list *findings)
{
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		uint32_t agent = fabric_port_agent(fabric, i), failed = 0, wanted = 0, first = FABRIC_NONE, port = agent;
		struct finding *f;

		if (agent != i) /* each device at its agent; a switch's port 0 has no counters that are asked for */
			continue;
		for (; port <= last_of(fabric, agent); port++) {
			const struct counter_reading *r = &counters->ports[port];

			wanted += r->wanted;
			if (!r->wanted || r->outcome == MAD_ANSWERED)
				continue;
			first = failed++ == 0 ? port : first;
		}
		if (failed == 0)
			continue;
		f = finding_add(findings, FINDING_COUNTERS_UNANSWERED);
		if (failed == wanted && wanted > 1)
			place_node(f, fabric, fabric->ports[agent].node);
		else
			place_port(f, fabric, first);
		finding_set(&f->what, "counters of %u of %u ports", failed, wanted);
		set_outcome(f, &counters->ports[first]);
	}
}
