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

#define RING_NONE UINT32_MAX

struct ring_device {
	uint32_t next;       /* in the queue, while queued */
	uint32_t unanswered; /* queries in a row that ended without an answer */
	uint16_t in_hand;    /* queries that take part of its window */
	bool queued;
	bool exhausted; /* has no more queries */
	bool given_up;
};

struct ring {
	struct ring_device *device;
	uint32_t count;
	size_t room;
	uint32_t first, last; /* of the queue of devices with room and perhaps more queries */
	unsigned window;      /* of one device */
};

int ring_init(struct ring *ring, uint32_t count, unsigned window);
void ring_free(struct ring *ring);
/* More devices, behind those there are; -ENOMEM: none was added. */
int ring_grow(struct ring *ring, uint32_t count);
/* The device whose turn it is, taken from the queue; RING_NONE: none. */
uint32_t ring_take(struct ring *ring);
/* Queues a device again if it may be sent another MAD. */
void ring_offer(struct ring *ring, uint32_t device);

#endif
