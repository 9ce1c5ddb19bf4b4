/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The devices of a run: which of them may be sent another MAD, taken in turn so that the load
 * spreads, and how each of them answers. A step costs the same however many devices there are.
 */
#ifndef IBQOS_MAD_RING_H
#define IBQOS_MAD_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "park.h"

#define RING_START 4 /* a wider window of a device is opened by its answers */
#define RING_NONE UINT32_MAX

struct ring_device {
	uint64_t heard_ns;   /* when it last answered anything; 0: never */
	uint64_t shrunk_ns;  /* when its window was last halved */
	struct park_list parked; /* queries that it left unanswered, to be asked again later */
	uint64_t fastest_ns; /* its fastest answer; 0: unknown */
	uint32_t took_us;    /* its answers take so long, smoothed; 0: unknown */
	uint32_t next;       /* in the queue, while queued */
	uint32_t unanswered; /* queries in a row that ended without an answer */
	uint16_t in_hand;    /* queries that take part of its window, parked ones too */
	uint16_t window, answers; /* as in flow.h: 1..ring.window, answers since it last changed */
	uint16_t misses; /* tries in a row that had no answer in time */
	bool queued;
	bool exhausted; /* has no more queries */
	bool given_up;
	bool probed; /* one of its parked queries is being asked again for all of them */
};

struct ring {
	struct ring_device *device;
	uint32_t count;
	size_t room;
	uint32_t first, last; /* of the queue of devices with room and perhaps more queries */
	unsigned window;      /* of one device, at most */
};

int ring_init(struct ring *ring, uint32_t count, unsigned window);
void ring_free(struct ring *ring);
/* More devices, behind those there are; -ENOMEM: none was added. */
int ring_grow(struct ring *ring, uint32_t count);
/* The device whose turn it is, taken from the queue; RING_NONE: none. */
uint32_t ring_take(struct ring *ring);
/* Queues a device again if it may be sent another MAD. */
void ring_offer(struct ring *ring, uint32_t device);
/* A device answered, after took_ns (0: not known). */
void ring_heard(struct ring *ring, uint32_t device, uint64_t took_ns, uint64_t now_ns);
/* A MAD to it, sent at sent_ns, was lost, or it is pressed too hard: its window is halved, once for what was sent before. */
void ring_shrink(struct ring *ring, uint32_t device, uint64_t sent_ns, uint64_t now_ns);

#endif
