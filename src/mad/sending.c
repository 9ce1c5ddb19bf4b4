/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Fills the wire: what is to be asked next, and whether it may be sent now. */
#include <errno.h>

#include "run.h"

static struct slot *fill_slot(struct run *run, uint32_t index, uint32_t device)
{
	struct slot *slot = &run->engine->slots.slot[index];

	slot->device = device;
	slot->tries = 0;
	slot->busy = 0;
	slot->lost_ns = slot->first_ns = 0;
	slot->settled = slot->late = slot->spent = false;
	slots_move(&run->engine->slots, index, SLOTS_READY);
	return slot;
}

/* Puts a query that was parked into a slot. */
static uint32_t resume(struct run *run, uint32_t index)
{
	struct parked parked;
	struct slot *slot;

	if (!park_take(&run->park, &run->park.next, &parked))
		return SLOT_NONE;
	slot = fill_slot(run, index, parked.device);
	slot->query = parked.query;
	slot->tries = parked.tries;
	slot->busy = parked.busy;
	slot->lost_ns = parked.lost_ns;
	slot->late = parked.late;
	return index;
}

/* Pulls the next query of the job into a slot; SLOT_NONE when there is nothing to ask. */
static uint32_t pull(struct run *run, uint32_t index)
{
	struct slots *slots = &run->engine->slots;
	uint32_t device;

	while ((device = ring_take(&run->ring)) != RING_NONE) {
		if (run->ring.device[device].exhausted)
			continue;
		slots->slot[index].query = (struct mad_query){0};
		if (!run->job->next(run->job->arg, device, &slots->slot[index].query)) {
			run->ring.device[device].exhausted = true;
			continue;
		}
		fill_slot(run, index, device);
		run->ring.device[device].in_hand++;
		ring_offer(&run->ring, device);
		return index;
	}
	return SLOT_NONE;
}

/* The next query to be sent, which has no slot yet; SLOT_NONE: none, or no slot. */
static uint32_t admit(struct run *run)
{
	uint32_t free = slots_first(&run->engine->slots, SLOTS_FREE), index;

	if (free == SLOT_NONE)
		return SLOT_NONE;
	index = resume(run, free);
	if (index == SLOT_NONE)
		index = pull(run, free);
	if (index == SLOT_NONE && run_late_round(run)) {
		index = slots_first(&run->engine->slots, SLOTS_READY);
		if (index == SLOT_NONE)
			index = resume(run, free);
	}
	return index;
}

static int transmit(struct run *run, uint32_t index, unsigned short_ms)
{
	struct mad_engine *engine = run->engine;
	const struct slot *slot = &engine->slots.slot[index];
	struct mad_request request = {
		.to = run->job->address(run->job->arg, slot->device),
		.tid = slots_next_tid(&engine->slots, index),
		.attribute = slot->query.attribute,
		.modifier = slot->query.modifier,
		.timeout_ms = engine->timeout_ms,
		.short_ms = short_ms,
		.mgmt_class = slot->query.mgmt_class,
		.mask = slot->query.mask,
		.data = slot->query.data,
	};

	return request.to ? engine->wire->ops->send(engine->wire, &request) : -EINVAL;
}

/* How long a first try to a device lasts in a job that has times of its own; flow_short_ms() in the others. */
static unsigned job_short_ms(const struct mad_job *job, uint64_t took_ns, unsigned full_ms)
{
	uint64_t ms = job->short_ms ? job->short_ms : full_ms;

	if (ms < 2 * took_ns / MS_NS)
		ms = 2 * took_ns / MS_NS;
	return ms < full_ms ? (unsigned)ms : full_ms;
}

/*
 * How long the next try of a slot takes its place on the wire: each longer than the one before, in case
 * answers have only become slow, but not in a late round, where there is little hope.
 */
static unsigned short_ms(const struct run *run, uint32_t index)
{
	const struct mad_engine *engine = run->engine;
	const struct slot *slot = &engine->slots.slot[index];
	uint64_t took_ns = run->ring.device[slot->device].took_us * 1000ull;
	unsigned ms, i;

	if (engine->measures)
		ms = flow_short_ms(&engine->flow, took_ns, engine->timeout_ms);
	else
		ms = job_short_ms(run->job, took_ns, engine->timeout_ms);
	for (i = 0; i < slot->tries && !slot->late && ms < engine->timeout_ms; i++)
		ms = 2 * ms < engine->timeout_ms ? 2 * ms : engine->timeout_ms;
	return ms;
}

static void note_sent(struct mad_engine *engine, uint32_t index, unsigned ms, uint64_t now)
{
	uint64_t end = now + engine->try_ns;

	slots_sent(&engine->slots, index, now, ms < engine->timeout_ms ? now + ms * MS_NS : end, end);
	pace_take(&engine->pace, now);
	engine->counts.sent++;
	if (engine->slots.slot[index].tries > 1)
		engine->counts.retried++;
	engine->send_failures = 0;
	engine->refused = false;
}

/* -EAGAIN is borne for as long as a try lasts. */
static int note_refused(struct mad_engine *engine, uint64_t now)
{
	if (!engine->refused)
		engine->refused_ns = now;
	engine->refused = true;
	return now - engine->refused_ns > engine->try_ns ? -EAGAIN : 0;
}

/* -EINVAL is the query's own fault (an address that cannot be); anything else tells on the wire. */
static int note_failed(struct run *run, uint32_t index, int err)
{
	struct mad_engine *engine = run->engine;

	engine->counts.send_failed++;
	engine->refused = false;
	run_finish_unasked(run, index);
	return err != -EINVAL && ++engine->send_failures >= WIRE_FAILURES ? err : 0;
}

/* Ends a query that was to be sent, again or at all, to a device that was given up since. */
static void finish_given_up(struct run *run, uint32_t index)
{
	run->engine->refused = false;
	if (run->engine->slots.slot[index].tries)
		run_finish_tried(run, index);
	else
		run_finish_unasked(run, index);
}

/* Sends one; 0: go on, 1: not now, -errno. */
static int send_next(struct run *run)
{
	struct mad_engine *engine = run->engine;
	uint64_t now = run_now(run);
	uint32_t index = slots_first(&engine->slots, SLOTS_READY);
	unsigned ms;
	int err;

	if (index != SLOT_NONE && run->ring.device[engine->slots.slot[index].device].given_up) {
		finish_given_up(run, index);
		return 0;
	}
	if (engine->slots.waiting >= engine->flow.window || pace_wait(&engine->pace, now))
		return 1;
	if (index == SLOT_NONE)
		return admit(run) == SLOT_NONE;
	ms = short_ms(run, index);
	err = transmit(run, index, ms);
	if (err == -EAGAIN) {
		err = note_refused(engine, now);
		return err ? err : 1;
	}
	if (err)
		return note_failed(run, index, err);
	note_sent(engine, index, ms, now);
	return 0;
}

int run_fill(struct run *run)
{
	int ret = 0;

	while (ret == 0)
		ret = ctx_stopped(run->engine->ctx) ? -EINTR : send_next(run);
	return ret < 0 ? ret : 0;
}
