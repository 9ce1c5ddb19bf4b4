/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The devices of a run. */
#include "ring.h"

#include <errno.h>
#include <stdlib.h>

int ring_init(struct ring *ring, uint32_t count, unsigned window)
{
	uint32_t i;

	*ring = (struct ring){.first = RING_NONE, .last = RING_NONE, .window = window};
	if (!count)
		return 0;
	ring->device = calloc(count, sizeof(*ring->device));
	if (!ring->device)
		return -ENOMEM;
	ring->count = count;
	for (i = 0; i < count; i++)
		ring_offer(ring, i);
	return 0;
}

void ring_free(struct ring *ring)
{
	free(ring->device);
	*ring = (struct ring){.first = RING_NONE, .last = RING_NONE};
}

uint32_t ring_take(struct ring *ring)
{
	uint32_t device = ring->first;

	if (device == RING_NONE)
		return RING_NONE;
	ring->first = ring->device[device].next;
	if (ring->first == RING_NONE)
		ring->last = RING_NONE;
	ring->device[device].queued = false;
	return device;
}

void ring_offer(struct ring *ring, uint32_t device)
{
	struct ring_device *d = &ring->device[device];

	if (d->queued || d->exhausted || d->in_hand >= ring->window)
		return;
	d->queued = true;
	d->next = RING_NONE;
	if (ring->last == RING_NONE)
		ring->first = device;
	else
		ring->device[ring->last].next = device;
	ring->last = device;
}
