/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters that grew, told: by the bits that passed, by rates, by thresholds; and how long a port could not send.
 */
#include <stdio.h>

#include "counters_judge.h"
#include "ibqos/link.h"
#include "place.h"

#define VENDOR_MELLANOX 0x0002c9u
#define SPAN_TEXT 32

/* "5 min", "26 h", "45 s" */
static const char *span(uint64_t seconds, char text[SPAN_TEXT])
{
	if (seconds >= 48 * 3600)
		snprintf(text, SPAN_TEXT, "%llu days", (unsigned long long)seconds / 86400);
	else if (seconds >= 2 * 3600)
		snprintf(text, SPAN_TEXT, "%llu h", (unsigned long long)seconds / 3600);
	else if (seconds >= 120)
		snprintf(text, SPAN_TEXT, "%llu min", (unsigned long long)seconds / 60);
	else
		snprintf(text, SPAN_TEXT, "%llu s", (unsigned long long)seconds);
	return text;
}

static struct finding *add(struct judging *g, uint32_t port, enum finding_code code, unsigned id, struct finding_list *findings)
{
	struct finding *f = finding_add(findings, code);

	place_port(f, g->fabric, port);
	finding_set(&f->what, "%s", counter_row(id)->name);
	return f;
}

static const char *at_least(bool least)
{
	return least ? "≥ " : "";
}

/* What a total consists of, where the device says so. */
static void add_details(struct finding *f, const struct counter_reading *r, unsigned id)
{
	unsigned i;

	if (id == COUNTER_RCV_ERRORS && r->has_rcv_details)
		for (i = 0; i < COUNTER_RCV_DETAILS; i++)
			if (r->rcv_details[i])
				finding_append(&f->detail, "%s %u in all", counter_rcv_detail_name(i), r->rcv_details[i]);
	if (id == COUNTER_XMIT_DISCARDS && r->has_xmit_details)
		for (i = 0; i < COUNTER_XMIT_DETAILS; i++)
			if (r->xmit_details[i])
				finding_append(&f->detail, "%s %u in all", counter_xmit_detail_name(i), r->xmit_details[i]);
}

/* --- bit errors --- */

static void measure_errors(struct judging *g, uint32_t port, uint64_t errors, double bits)
{
	struct counter_measure *m = g->options->measures ? &g->options->measures[port] : NULL;

	if (!m || !(bits > 0) || (m->has_errors && (double)errors / bits <= m->errors))
		return;
	m->has_errors = true;
	m->errors = (double)errors / bits;
	m->errors_upper = counter_upper(errors) / bits;
}

/* What is counted. None of them is a bit: each is one bit error at least, as which it is taken. */
static const char *errors_of(unsigned id)
{
	switch (id) {
	case COUNTER_SYMBOL:
		return "symbol errors";
	case COUNTER_SYNC_HEADER:
		return "broken block headers";
	case COUNTER_UNKNOWN_BLOCK:
		return "unknown blocks";
	case COUNTER_RCV_ERRORS:
		return "broken packets";
	case COUNTER_FEC_UNCORRECTED:
		return "blocks that FEC could not mend";
	default:
		return "errors";
	}
}

static enum ber_verdict tell_ber(struct judging *g, uint32_t port, unsigned id, struct finding_list *findings)
{
	const struct judged *j = &g->ports[port];
	const struct state_bucket *last = &j->now.last, *before = &j->now.before;
	uint64_t errors = last->growth[id] + before->growth[id], seconds = last->seconds + before->seconds;
	bool least = (last->least | before->least) & COUNTER_BIT(id);
	double rate = link_line_gbps(j->now.width, j->now.speed) * 1e9, bits = rate * (double)seconds;
	enum ber_verdict verdict = rate > 0 ? ber_judge(j->now.speed, bits, errors, least) : BER_UNKNOWN;
	const struct ber_limits *limits = ber_limits_of(j->now.speed);
	char text[SPAN_TEXT];
	struct finding *f;

	measure_errors(g, port, errors, bits);
	if (verdict < BER_WARN || g->options->thresholds.suppressed & COUNTER_BIT(id))
		return verdict;
	f = add(g, port, counter_row(id)->code, id, findings);
	f->severity = verdict == BER_ERROR ? FINDING_CRITICAL : FINDING_WARNING;
	finding_set(&f->wanted, "at most %.0e %s a bit at %s", limits->good, errors_of(id), link_speed_name(j->now.speed));
	finding_set(&f->got, "%.1e, more than %.1e for sure (95 %%): %s%llu in %s of being up", (double)errors / bits,
		    counter_lower(errors) / (bits > counter_upper(0) / limits->good ? bits : counter_upper(0) / limits->good),
		    at_least(least), (unsigned long long)errors, span(seconds, text));
	add_details(f, j->reading, id);
	return verdict;
}

/* Worst first, but that what is too early may still become anything. */
static unsigned rank(enum ber_verdict verdict)
{
	static const unsigned ranks[BER_VERDICTS] = {[BER_GOOD] = 0, [BER_UNKNOWN] = 1, [BER_EARLY] = 2, [BER_BETWEEN] = 3,
						     [BER_WARN] = 4, [BER_ERROR] = 5};

	return ranks[verdict];
}

static void tell_bers(struct judging *g, uint32_t port, struct finding_list *findings)
{
	enum ber_verdict worst = BER_GOOD;
	bool any = false;

	for (unsigned id = 0; id < COUNTERS; id++) {
		enum ber_verdict verdict;

		if (counter_row(id)->rule != COUNTER_BER || !(g->ports[port].now.known & COUNTER_BIT(id)))
			continue;
		verdict = tell_ber(g, port, id, findings);
		worst = !any || rank(verdict) > rank(worst) ? verdict : worst;
		any = true;
	}
	/* without symbol errors nobody can call it good */
	if (!(g->ports[port].now.known & COUNTER_BIT(COUNTER_SYMBOL)) && worst < BER_WARN)
		any = false;
	worst = any ? worst : BER_UNKNOWN;
	g->result->ber[worst]++;
	if (g->options->measures) {
		g->options->measures[port].verdict = worst;
		g->options->measures[port].has_errors &= worst != BER_UNKNOWN;
	}
}

/* --- rates --- */

/* So many in so long; seconds 0: it has no rate. */
struct rate {
	uint64_t count;
	unsigned seconds;
};

/* The policy's at the link's speed, else that for all speeds, else our own. */
static struct rate rate_of(const struct judging *g, uint32_t port, unsigned id)
{
	const struct policy_counters *policy = g->options->policy;
	const struct counter_row *row = counter_row(id);
	struct rate rate = {0};

	if (row->rule == COUNTER_RATE)
		rate = (struct rate){row->count, row->seconds};
	for (unsigned exact = 0; policy && exact < 2; exact++)
		for (size_t i = 0; i < policy->rate_count; i++) {
			const struct policy_counter_rate *r = &policy->rates[i];

			if (r->counter == id && (exact ? r->speed == g->ports[port].now.speed && r->speed != 0 : r->speed == 0))
				rate = (struct rate){r->count, r->seconds};
		}
	return rate;
}

static bool too_many(struct rate rate, uint64_t growth, uint64_t seconds)
{
	double periods = (double)seconds / rate.seconds;

	return growth > 0 && (double)growth >= (double)rate.count * (periods > 1 ? periods : 1);
}

/* Growth since the last look, or where that is more of a rate, since the buckets began. */
struct growth {
	uint64_t count, seconds;
	bool least;
};

static struct growth growth_of(const struct judging *g, uint32_t port, unsigned id, struct rate rate)
{
	const struct judged *j = &g->ports[port];
	const struct state_bucket *last = &j->now.last, *before = &j->now.before;
	uint64_t since = before->since ? before->since : last->since;
	struct growth whole = {last->growth[id] + before->growth[id], g->options->now - since,
			       (last->least | before->least) & COUNTER_BIT(id)};
	struct growth now = {j->growth[id], j->seconds, j->least & COUNTER_BIT(id)};

	if (id != COUNTER_DOWNED && now.seconds > 0 && too_many(rate, now.count, now.seconds))
		return now;
	return whole;
}

static void tell_rate(struct judging *g, uint32_t port, unsigned id, struct finding_list *findings)
{
	const struct counter_row *row = counter_row(id);
	uint32_t peer = g->fabric->ports[port].peer;
	struct rate rate = rate_of(g, port, id);
	struct growth growth;
	char text[SPAN_TEXT];
	struct finding *f;

	if (rate.seconds == 0 || g->options->thresholds.suppressed & COUNTER_BIT(id))
		return;
	growth = growth_of(g, port, id, rate);
	if (id == COUNTER_DOWNED && g->ports[peer].now.known & COUNTER_BIT(id)) { /* both ends count the same */
		struct growth there = growth_of(g, peer, id, rate);

		if (port > peer)
			return;
		if (there.count > growth.count)
			growth = there;
	}
	if (!too_many(rate, growth.count, growth.seconds))
		return;
	f = add(g, port, row->rule == COUNTER_CONTEXT ? FINDING_COUNTER_OVER_THRESHOLD : row->code, id, findings);
	finding_set(&f->wanted, "fewer than %llu in %s", (unsigned long long)rate.count, span(rate.seconds, text));
	finding_set(&f->got, "%s%llu in %s", at_least(growth.least), (unsigned long long)growth.count, span(growth.seconds, text));
	add_details(f, g->ports[port].reading, id);
}

/* --- totals --- */

static void tell_total(struct judging *g, uint32_t port, unsigned id, struct finding_list *findings)
{
	const struct counter_reading *r = g->ports[port].reading;
	const struct counter_thresholds *t = &g->options->thresholds;
	bool saturated = r->saturated & COUNTER_BIT(id);
	struct finding *f;

	if (!(r->known & COUNTER_BIT(id)) || t->suppressed & COUNTER_BIT(id))
		return;
	if (saturated && counter_row(id)->rule != COUNTER_CONTEXT) {
		f = add(g, port, FINDING_COUNTER_SATURATED, id, findings);
		finding_set(&f->got, "≥ %llu", (unsigned long long)r->value[id]);
	}
	if (!(t->given & COUNTER_BIT(id)) || r->value[id] <= t->value[id])
		return;
	f = add(g, port, FINDING_COUNTER_OVER_THRESHOLD, id, findings);
	finding_set(&f->wanted, "at most %llu", (unsigned long long)t->value[id]);
	finding_set(&f->got, "%s%llu", at_least(saturated), (unsigned long long)r->value[id]);
	add_details(f, r, id);
}

/* --- time without credits --- */

/*
 * Bytes that could have been sent in a tick of PortXmitWait (NVIDIA's "Congestion Assessment"): Quantum tick + 1, SwitchX and
 * Switch-IB that many on each lane. 0: not known for this device.
 */
static double wait_bytes(const struct fabric_node *node, const struct judged *j)
{
	if (node->type != FABRIC_SWITCH || node->vendor != VENDOR_MELLANOX || !j->reading->has_tick)
		return 0;
	switch (node->device) {
	case 0xd2f0: /* Quantum */
	case 0xd2f2: /* Quantum-2 */
	case 0xd2f4: /* Quantum-3 */
		return j->reading->tick + 1.0;
	case 0xc738: /* SwitchX */
	case 0xcb20: /* Switch-IB */
	case 0xcf08: /* Switch-IB 2 */
		return (j->reading->tick + 1.0) * link_width_lanes(j->now.width);
	}
	return 0;
}

static void tell_waiting(struct judging *g, uint32_t port, struct finding_list *findings)
{
	const struct judged *j = &g->ports[port];
	double rate = link_gbps(j->now.width, j->now.speed) * 1e9 / 8; /* bytes a second */
	double bytes = wait_bytes(fabric_port_node(g->fabric, port), j), percent = 0;
	bool least = j->least & COUNTER_BIT(COUNTER_XMIT_WAIT);
	struct finding *f;
	char text[SPAN_TEXT];

	if (j->seconds == 0 || !(j->grown & COUNTER_BIT(COUNTER_XMIT_WAIT)))
		return;
	if (j->growth[COUNTER_XMIT_WAIT] > 0) {
		if (bytes == 0 || rate == 0)
			return;
		percent = 100 * (double)j->growth[COUNTER_XMIT_WAIT] * bytes / (rate * (double)j->seconds);
	} else if (least) {
		return;
	}
	percent = percent > 100 ? 100 : percent;
	if (g->options->measures) {
		g->options->measures[port].has_waiting = true;
		g->options->measures[port].waiting = percent / 100;
	}
	g->result->waiting_known++;
	g->result->waiting_10 += percent >= 10;
	g->result->waiting_50 += percent >= 50;
	if (g->options->congestion == 0 || percent < g->options->congestion)
		return;
	f = add(g, port, FINDING_PORT_CONGESTED, COUNTER_XMIT_WAIT, findings);
	finding_set(&f->wanted, "less than %u %% of the time", g->options->congestion);
	finding_set(&f->got, "%s%.0f %% of %s", at_least(least), percent, span(j->seconds, text));
}

void judged_tell(struct judging *g, uint32_t port, struct finding_list *findings)
{
	const struct judged *j = &g->ports[port];
	bool saturated = false;

	tell_bers(g, port, findings);
	for (unsigned id = 0; id < COUNTERS; id++) {
		if (j->now.known & COUNTER_BIT(id))
			tell_rate(g, port, id, findings);
		tell_total(g, port, id, findings);
		saturated |= j->now.saturated & COUNTER_BIT(id) && counter_row(id)->rule != COUNTER_CONTEXT;
	}
	g->result->saturated += saturated;
	tell_waiting(g, port, findings);
	if (j->new_peer) {
		struct finding *f = finding_add(findings, FINDING_LINK_NEW_PEER);

		place_port(f, g->fabric, port);
	}
}

void judged_tell_anew(struct judging *g, struct finding_list *findings)
{
	uint32_t cleared_nodes = 0, cleared_node = FABRIC_NONE, restarted_node = FABRIC_NONE;
	struct finding *f;

	for (uint32_t i = 0; i < g->fabric->port_count; i++) {
		uint32_t node = g->fabric->ports[i].node;

		if (g->ports[i].anew == ANEW_CLEARED && node != cleared_node) {
			cleared_nodes++;
			cleared_node = node;
		}
		if (g->ports[i].anew == ANEW_RESTARTED && node != restarted_node) {
			place_node(finding_add(findings, FINDING_DEVICE_RESTARTED), g->fabric, node);
			restarted_node = node;
		}
	}
	if (cleared_nodes > 0) {
		f = finding_add(findings, FINDING_COUNTERS_CLEARED);
		finding_set(&f->what, "counters of %u ports on %u devices", g->result->cleared, cleared_nodes);
		finding_set(&f->detail, "they are less than at the last look, and no link went down meanwhile");
	}
	for (unsigned id = 0; id < COUNTERS; id++) {
		uint32_t count = 0;

		for (uint32_t i = 0; i < g->fabric->port_count; i++)
			count += g->counters->ports[i].wanted && g->counters->ports[i].impossible & COUNTER_BIT(id);
		if (count == 0)
			continue;
		f = finding_add(findings, FINDING_COUNTER_NOT_COUNTED);
		finding_set(&f->what, "%s of %u ports", counter_row(id)->name, count);
		finding_set(&f->got, "64 bits all ones");
	}
	if (g->result->first > 0) {
		f = finding_add(findings, FINDING_COUNTERS_FIRST_LOOK);
		finding_set(&f->what, "counters of %u ports", g->result->first);
	}
}
