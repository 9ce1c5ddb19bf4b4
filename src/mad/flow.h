/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Flow control of our own, since VL15 has none: how many MADs may be on the wire at once, and how long an
 * answer is waited for before its place on the wire is given to another. Windows grow by one with each
 * windowful of answers and are halved by a loss, or when most answers have become slow (additive increase,
 * multiplicative decrease, as RFC 5681); the time for an answer follows RFC 6298.
 */
#ifndef IBQOS_MAD_FLOW_H
#define IBQOS_MAD_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#define FLOW_START 16		/* a wider window is opened by answers */
#define FLOW_EPOCH 16		/* answers after which the window is judged, or as many as it is wide */
#define FLOW_SHORT_LEAST_MS 50	/* a short try is never shorter: a busy process or kernel takes so long */
#define FLOW_SHORT_FIRST_MS 250 /* nor than this before it is known how fast answers come */
#define FLOW_KNOWN 8		/* answers after which it is */
#define FLOW_SLOW_NS 5000000ull /* an answer is slow if it took so much longer than the fastest, also of its device, and */
#define FLOW_SLOW_TIMES 4	/* so many times as long */

struct flow {
	unsigned most;	    /* the window is 1..most */
	unsigned window;
	unsigned threshold; /* below this it doubles instead of growing by one */
	unsigned answers, slow; /* of this epoch */
	unsigned least;	    /* narrowest so far */
	uint64_t shrunk_ns; /* when it was last halved */
	uint64_t fastest_ns, mean_ns, spread_ns; /* of answers */
	unsigned known;	    /* answers that this rests on, up to FLOW_KNOWN */
	uint64_t losses, slowdowns; /* halvings for each reason */
};

void flow_init(struct flow *flow, unsigned most);
/*
 * An answer was seen after took_ns and cannot have come before least_ns: in between nobody looked, which on a busy
 * machine may be long and says nothing of the fabric. The fastest of its device so far took device_ns (0: it
 * is the first).
 */
void flow_answer(struct flow *flow, uint64_t took_ns, uint64_t least_ns, uint64_t device_ns, uint64_t now_ns);
/* A MAD sent at sent_ns was lost: its repeat was answered. One sent before the last halving tells nothing new. */
void flow_loss(struct flow *flow, uint64_t sent_ns, uint64_t now_ns);
/* How long the first try lasts to a device whose answers take device_ns (0: unknown), at most full_ms. */
unsigned flow_short_ms(const struct flow *flow, uint64_t device_ns, unsigned full_ms);

#endif
