/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The devices of a run. */
#include "ring.h"

#include <errno.h>
#include <stdlib.h>

#include "ibqos/util.h"

int ring_init(struct ring *ring, uint32_t count, unsigned window)
{
	*ring = (struct ring){.first = RING_NONE, .last = RING_NONE, .window = window};
	return ring_grow(ring, count);
}

int ring_grow(struct ring *ring, uint32_t count)
{
	struct ring_device *device;

	if (count <= ring->count)
		return 0;
	device = array_grow(ring->device, &ring->room, count, sizeof(*ring->device));
	if (!device)
		return -ENOMEM;
	ring->device = device;
	while (ring->count < count) {
		ring->device[ring->count] = (struct ring_device){
			.parked = PARK_LIST_EMPTY,
			.window = (uint16_t)(ring->window < RING_START ? ring->window : RING_START),
		};
		ring_offer(ring, ring->count++);
	}
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

	if (d->queued || d->exhausted || d->in_hand >= d->window)
		return;
	d->queued = true;
	d->next = RING_NONE;
	if (ring->last == RING_NONE)
		ring->first = device;
	else
		ring->device[ring->last].next = device;
	ring->last = device;
}

void ring_heard(struct ring *ring, uint32_t device, uint64_t took_ns, uint64_t now_ns)
{
	struct ring_device *d = &ring->device[device];
	uint32_t took_us = took_ns / 1000 < UINT32_MAX / 8 ? (uint32_t)(took_ns / 1000) : UINT32_MAX / 8;

	d->heard_ns = now_ns;
	d->misses = 0;
	if (took_ns && (!d->fastest_ns || took_ns < d->fastest_ns))
		d->fastest_ns = took_ns;
	if (took_us)
		d->took_us = d->took_us ? (7 * d->took_us + took_us) / 8 : took_us;
	if (++d->answers < d->window)
		return;
	d->answers = 0;
	if (d->window < ring->window)
		d->window++;
}

void ring_shrink(struct ring *ring, uint32_t device, uint64_t sent_ns, uint64_t now_ns)
{
	struct ring_device *d = &ring->device[device];

	if (sent_ns <= d->shrunk_ns)
		return;
	d->shrunk_ns = now_ns;
	d->answers = 0;
	if (d->window > 1)
		d->window /= 2;
}
