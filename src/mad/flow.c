/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Flow control. */
#include "flow.h"

#define MS_NS 1000000ull

void flow_init(struct flow *flow, unsigned most)
{
	*flow = (struct flow){.most = most, .threshold = most};
	flow->window = flow->least = most < FLOW_START ? most : FLOW_START;
}

static void halve(struct flow *flow, uint64_t now_ns)
{
	flow->window = flow->window > 1 ? flow->window / 2 : 1;
	flow->threshold = flow->window;
	if (flow->window < flow->least)
		flow->least = flow->window;
	flow->shrunk_ns = now_ns;
	flow->answers = flow->slow = 0;
}

static void measure(struct flow *flow, uint64_t took_ns)
{
	uint64_t off;

	if (flow->known == 0) {
		flow->fastest_ns = flow->mean_ns = took_ns;
		flow->spread_ns = took_ns / 2;
	} else {
		off = took_ns > flow->mean_ns ? took_ns - flow->mean_ns : flow->mean_ns - took_ns;
		flow->spread_ns = (3 * flow->spread_ns + off) / 4;
		flow->mean_ns = (7 * flow->mean_ns + took_ns) / 8;
		if (took_ns < flow->fastest_ns)
			flow->fastest_ns = took_ns;
	}
	if (flow->known < FLOW_KNOWN)
		flow->known++;
}

static bool is_slow(uint64_t took_ns, uint64_t fastest_ns)
{
	return took_ns > fastest_ns + FLOW_SLOW_NS && took_ns > FLOW_SLOW_TIMES * fastest_ns;
}

void flow_answer(struct flow *flow, uint64_t took_ns, uint64_t least_ns, uint64_t device_ns, uint64_t now_ns)
{
	unsigned epoch = flow->window > FLOW_EPOCH ? flow->window : FLOW_EPOCH;

	measure(flow, took_ns);
	/* A device that always takes long tells nothing. */
	flow->slow += is_slow(least_ns, flow->fastest_ns) && (!device_ns || is_slow(least_ns, device_ns));
	if (++flow->answers < epoch)
		return;
	if (2 * flow->slow > flow->answers) {
		halve(flow, now_ns);
		flow->slowdowns++;
		return;
	}
	flow->answers = flow->slow = 0;
	if (flow->window < flow->threshold)
		flow->window = 2 * flow->window < flow->threshold ? 2 * flow->window : flow->threshold;
	else if (flow->window < flow->most)
		flow->window++;
}

void flow_loss(struct flow *flow, uint64_t sent_ns, uint64_t now_ns)
{
	if (sent_ns <= flow->shrunk_ns)
		return;
	halve(flow, now_ns);
	flow->losses++;
}

unsigned flow_short_ms(const struct flow *flow, uint64_t device_ns, unsigned full_ms)
{
	uint64_t ms = FLOW_SHORT_FIRST_MS;

	if (flow->known >= FLOW_KNOWN) {
		ms = (flow->mean_ns + 4 * flow->spread_ns) / MS_NS;
		if (ms < FLOW_SHORT_LEAST_MS)
			ms = FLOW_SHORT_LEAST_MS;
	}
	if (ms < 2 * device_ns / MS_NS)
		ms = 2 * device_ns / MS_NS;
	return ms < full_ms ? (unsigned)ms : full_ms;
}
