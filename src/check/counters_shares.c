/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What each class had of what busy ports sent, against what the plan promises it.
 *
 * By SL, not by VL: a class is its SLs, which stay with a packet all its way, where two classes may meet on one VL. How long a VL waited
 * mixes waiting for its turn with waiting for credits, and its 16 bits are full after microseconds: it only tells that
 * a class did not wait at all, and so had all that it asked for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/link.h"
#include "ibqos/state.h"
#include "place.h"

#define SUBSTANTIAL 0.1 /* of what a port sent: a class that sends so much is no trickle that asks for no more */
#define WAITED_FULL UINT16_MAX

struct sharing {
	const struct fabric *fabric;
	const struct counters *counters;
	const struct shares_options *options;
	struct shares_result *result;
	struct finding_list *findings;
};

/* --- classes --- */

static size_t class_of_sl(const struct plan *plan, const struct policy *policy, unsigned sl)
{
	for (size_t i = 0; i < plan->class_count; i++)
		if (plan->classes[i].policy->sl == sl)
			return i;
	return policy->unused_sls == POLICY_UNUSED_DROP ? plan->class_count : policy->default_class;
}

/* The VL of a class on a port, as it is to be programmed. */
static unsigned vl_of(const struct sharing *s, uint32_t port, size_t class)
{
	const struct plan *plan = s->options->plan;
	struct qos_sl2vl held;

	qos_fold_sl2vl(&plan->config.of[fabric_port_qos_type(s->fabric, port)].sl2vl,
		       fabric_port_oper_vls(&s->fabric->ports[port]), &held);
	return held.vl[plan->classes[class].policy->sl];
}

/* --- one port --- */

enum waiting { WAITED_NOT, WAITED, WAITED_UNKNOWN };

static enum waiting waiting_of(const struct counter_shares *now, const struct state_shares *was, unsigned vl)
{
	if (!now->has_waited || !was->has_waited || vl >= QOS_SLS)
		return WAITED_UNKNOWN;
	if (now->waited[vl] == WAITED_FULL)
		return was->waited[vl] == WAITED_FULL ? WAITED_UNKNOWN : WAITED; /* it was full before: nobody knows */
	return now->waited[vl] > was->waited[vl] ? WAITED : now->waited[vl] < was->waited[vl] ? WAITED_UNKNOWN : WAITED_NOT;
}

/* Data of each class, in bytes, and of all; false: not known. */
static bool sent_by(const struct sharing *s, const struct counter_shares *now, const struct state_shares *was, double *of_class,
		    double *all)
{
	const struct plan *plan = s->options->plan;

	if (!now->has_sent || now->wide != was->wide || now->saturated)
		return false;
	*all = 0;
	for (unsigned sl = 0; sl < QOS_SLS; sl++) {
		double bytes;
		size_t class = plan ? class_of_sl(plan, s->options->policy, sl) : QOS_SLS;

		if (now->sent[sl] < was->sent[sl])
			return false;
		bytes = 4.0 * (double)(now->sent[sl] - was->sent[sl]);
		*all += bytes;
		if (plan && class < plan->class_count)
			of_class[class] += bytes;
	}
	return true;
}

static void tell_low(struct sharing *s, uint32_t port, size_t class, double share, double busy, uint64_t seconds)
{
	const struct plan_class *c = &s->options->plan->classes[class];
	struct finding *f = finding_add(s->findings, FINDING_CLASS_SHARE_LOW);

	place_port(f, s->fabric, port);
	finding_set(&f->what, "class '%s'", c->policy->name);
	finding_set(&f->wanted, "%.0f %% while it has something to send", 100 * c->share_full);
	finding_set(&f->got, "%.0f %% of what the port sent in %llu s", 100 * share, (unsigned long long)seconds);
	finding_set(&f->detail, "the port was %.0f %% busy, and the class had to wait", 100 * busy);
}

static void judge_class(struct sharing *s, uint32_t port, const struct state_shares *was, size_t class, double share, double busy,
			uint64_t seconds)
{
	const struct plan_class *c = &s->options->plan->classes[class];
	unsigned tolerance = s->options->tolerance ? s->options->tolerance : POLICY_TOLERANCE;
	enum waiting waiting;

	if (share >= c->share_full * (1 - tolerance / 100.0))
		return;
	waiting = waiting_of(&s->counters->shares[port], was, vl_of(s, port, class));
	if (waiting == WAITED_NOT)
		return; /* all that it asked for was sent at once */
	if (waiting == WAITED && share >= SUBSTANTIAL) {
		s->result->low++;
		tell_low(s, port, class, share, busy, seconds);
	} else {
		s->result->unsure[class]++;
	}
}

static void judge_port(struct sharing *s, uint32_t port, const struct state_shares *was, struct shares_row *row)
{
	const struct counter_shares *now = &s->counters->shares[port];
	unsigned from = s->options->busy ? s->options->busy : POLICY_BUSY;
	struct link_state link;
	double of_class[QOS_SLS] = {0}, all, rate;

	if (!was || was->at >= s->options->now || !link_decode(s->fabric, port, &link))
		return;
	rate = link_gbps(link.width_active, link.speed_active) * 1e9 / 8;
	if (rate <= 0 || was->speed != link.speed_active || was->width != link.width_active ||
	    was->peer_guid != fabric_port_node(s->fabric, s->fabric->ports[port].peer)->guid ||
	    was->peer_port != s->fabric->ports[s->fabric->ports[port].peer].number || !sent_by(s, now, was, of_class, &all))
		return;
	s->result->known++;
	row->seconds = s->options->now - was->at;
	row->busy = all / (rate * (double)row->seconds);
	if (100 * row->busy < from || all <= 0)
		return;
	s->result->busy++;
	row->judged = true;
	for (size_t i = 0; s->options->plan && i < s->options->plan->class_count; i++) {
		row->share[i] = of_class[i] / all;
		judge_class(s, port, was, i, row->share[i], row->busy, row->seconds);
	}
}

/* --- all --- */

static bool was_asked(const struct counters *counters, uint32_t port)
{
	return counters->ports[port].wanted && counters->shares[port].has_sent;
}

static int remember(struct sharing *s, struct state *state)
{
	struct state_shares *items = calloc(s->fabric->port_count + 1u, sizeof(*items));
	size_t count = 0;
	int error;

	if (!items)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->fabric->port_count; i++) {
		const struct counter_shares *now = &s->counters->shares[i];
		uint32_t peer = s->fabric->ports[i].peer;
		struct link_state link = {0};

		if (!was_asked(s->counters, i))
			continue;
		link_decode(s->fabric, i, &link);
		items[count] = (struct state_shares){
			.guid = fabric_port_node(s->fabric, i)->guid,
			.port = s->fabric->ports[i].number,
			.peer_guid = fabric_port_node(s->fabric, peer)->guid,
			.peer_port = s->fabric->ports[peer].number,
			.width = (uint8_t)link.width_active,
			.speed = (uint16_t)link.speed_active,
			.at = s->options->now,
			.wide = now->wide,
			.has_waited = now->has_waited,
			.saturated = now->saturated,
		};
		memcpy(items[count].sent, now->sent, sizeof(now->sent));
		memcpy(items[count].waited, now->waited, sizeof(now->waited));
		count++;
	}
	error = state_shares_put(state, items, count, s->options->now);
	free(items);
	return error;
}

int counters_shares(const struct counters *counters, const struct fabric *fabric, struct state *state,
		    const struct shares_options *options, struct finding_list *findings, struct shares_result *result)
{
	struct sharing s = {.fabric = fabric, .counters = counters, .options = options, .result = result, .findings = findings};

	*result = (struct shares_result){.rows = calloc(fabric->port_count + 1u, sizeof(*result->rows))};
	if (!result->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		if (!was_asked(counters, i))
			continue;
		result->counted++;
		judge_port(&s, i, state ? state_shares_find(state, fabric_port_node(fabric, i)->guid, fabric->ports[i].number) : NULL,
			   &result->rows[i]);
	}
	for (size_t i = 0; options->plan && i < options->plan->class_count; i++) {
		struct finding *f;

		if (result->unsure[i] == 0)
			continue;
		f = finding_add(findings, FINDING_CLASS_SHARE_UNSURE);
		finding_set(&f->what, "class '%s'", options->plan->classes[i].policy->name);
		finding_set(&f->got, "on %u of %u busy ports", result->unsure[i], result->busy);
	}
	return state ? remember(&s, state) : 0;
}
