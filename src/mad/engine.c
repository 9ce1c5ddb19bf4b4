/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The engine: keeps a window of Gets on the wire, pulls the next query when there is room, and
 * hands each query back exactly once, with its outcome.
 */
#include "ibqos/mad.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "pace.h"
#include "ring.h"
#include "slots.h"

#define MS_NS 1000000ull
#define WAIT_MAX_MS 100    /* a signal is noticed within this time */
#define WAIT_REFUSED_MS 5  /* before a MAD that the wire would not take is tried again */
#define WIRE_FAILURES 8    /* in a row: the wire is broken */
#define STATUS_BUSY 0x0001 /* IBA 13.4.7: the MAD was discarded, come again */

struct mad_engine {
	const struct ibqos_ctx *ctx;
	struct mad_wire *wire;
	struct mad_limits limits;
	struct mad_counts counts;
	struct slots slots;
	struct pace pace;
	unsigned timeout_ms;                      /* of the job that is being run */
	uint64_t try_ns;                          /* how long a try lasts in it */
	unsigned send_failures, receive_failures; /* in a row */
	bool refused;                             /* the wire last said -EAGAIN, */
	uint64_t refused_ns;                      /* and has done since then */
};

/* One job being run. */
struct run {
	struct mad_engine *engine;
	const struct mad_job *job;
	struct ring ring;
	int error; /* no memory for devices that the job has more of now */
};

int mad_engine_new(const struct ibqos_ctx *ctx, struct mad_wire *wire, const struct mad_limits *limits,
		   struct mad_engine **engine)
{
	struct mad_engine *e;
	int err;

	*engine = NULL;
	if (limits->window < 1 || limits->window > SLOTS_MAX || limits->device_window < 1 ||
	    limits->device_window > limits->window || limits->timeout_ms < 1 || limits->timeout_ms > INT_MAX)
		return -EINVAL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	err = slots_init(&e->slots, limits->window);
	if (err) {
		free(e);
		return err;
	}
	e->ctx = ctx;
	e->wire = wire;
	e->limits = *limits;
	pace_init(&e->pace, limits->rate, limits->window);
	*engine = e;
	return 0;
}

void mad_engine_free(struct mad_engine *engine)
{
	if (!engine)
		return;
	engine->wire->ops->close(engine->wire);
	slots_free(&engine->slots);
	free(engine);
}

const struct mad_counts *mad_engine_counts(const struct mad_engine *engine)
{
	return &engine->counts;
}

static uint64_t now_ns(const struct mad_engine *engine)
{
	return engine->wire->ops->now(engine->wire);
}

/* --- handing back --- */

static void hand_back(struct run *run, uint32_t device, const struct mad_query *query,
		      const struct mad_answer *answer)
{
	struct mad_counts *counts = &run->engine->counts;

	counts->queries++;
	counts->ended[answer->outcome]++;
	run->job->done(run->job->arg, device, query, answer);
}

/* Hands back, unsent, every query that a device still has. */
static void drain(struct run *run, uint32_t device)
{
	const struct mad_answer answer = {.outcome = MAD_NOT_ASKED};
	struct mad_query query = {0};

	while (run->job->next(run->job->arg, device, &query)) {
		hand_back(run, device, &query, &answer);
		query = (struct mad_query){0};
	}
}

/* Counts how a device answers; gives up one that has stopped. */
static void judge_device(struct run *run, uint32_t device, enum mad_outcome outcome)
{
	struct ring_device *d = &run->ring.device[device];
	unsigned give_up = run->engine->limits.give_up;

	if (outcome == MAD_NOT_ASKED)
		return;
	if (outcome != MAD_TIMED_OUT) {
		d->unanswered = 0;
		return;
	}
	d->unanswered++;
	if (!give_up || d->unanswered < give_up || d->given_up)
		return;
	d->given_up = true;
	if (!d->exhausted)
		drain(run, device);
	run->ring.device[device].exhausted = true; /* what d pointed to may have moved: a job can grow */
}

/* What an answer has given a job that grows more to ask. */
static void take_growth(struct run *run, uint32_t device, enum mad_outcome outcome)
{
	struct ring_device *d;

	if (!run->job->grows || outcome == MAD_NOT_ASKED)
		return;
	if (ring_grow(&run->ring, run->job->devices) != 0)
		run->error = -ENOMEM;
	d = &run->ring.device[device];
	if (d->given_up)
		drain(run, device); /* an answer that was still under way */
	else
		d->exhausted = false;
}

/* Ends the query in a slot. The slot is free before the caller hears of it. */
static void finish(struct run *run, uint32_t index, const struct mad_answer *answer)
{
	struct slots *slots = &run->engine->slots;
	const struct mad_query query = slots->slot[index].query;
	uint32_t device = slots->slot[index].device;

	slots_move(slots, index, SLOTS_FREE);
	run->ring.device[device].in_hand--;
	hand_back(run, device, &query, answer);
	judge_device(run, device, answer->outcome);
	take_growth(run, device, answer->outcome);
	ring_offer(&run->ring, device);
}

static void finish_unasked(struct run *run, uint32_t index)
{
	const struct mad_answer answer = {.outcome = MAD_NOT_ASKED,
					  .tries = run->engine->slots.slot[index].tries};

	finish(run, index, &answer);
}

/* Ends a query whose tries are over: unanswered, or only with "busy". */
static void finish_tried(struct run *run, uint32_t index)
{
	const struct slot *slot = &run->engine->slots.slot[index];
	const struct mad_answer answer = {.outcome = slot->busy ? MAD_STATUS : MAD_TIMED_OUT,
					  .status = slot->busy,
					  .tries = slot->tries};

	finish(run, index, &answer);
}

/* Hands everything that is left back as not asked. */
static void abandon(struct run *run)
{
	struct slots *slots = &run->engine->slots;
	uint32_t i;

	while ((i = slots_first(slots, SLOTS_WAITING)) != SLOT_NONE)
		finish_unasked(run, i);
	while ((i = slots_first(slots, SLOTS_READY)) != SLOT_NONE)
		finish_unasked(run, i);
	for (i = 0; i < run->ring.count; i++)
		if (!run->ring.device[i].exhausted)
			drain(run, i);
}

/* --- sending --- */

/* Pulls the next query into a slot; SLOT_NONE when there is no room or nothing to ask. */
static uint32_t pull(struct run *run)
{
	struct slots *slots = &run->engine->slots;
	uint32_t index = slots_first(slots, SLOTS_FREE), device;
	struct ring_device *d;
	struct slot *slot;

	if (index == SLOT_NONE)
		return SLOT_NONE;
	slot = &slots->slot[index];
	while ((device = ring_take(&run->ring)) != RING_NONE) {
		d = &run->ring.device[device];
		if (d->exhausted)
			continue;
		slot->query = (struct mad_query){0};
		if (!run->job->next(run->job->arg, device, &slot->query)) {
			d->exhausted = true;
			continue;
		}
		slot->device = device;
		slot->tries = 0;
		slot->busy = 0;
		slot->settled = false;
		slots_move(slots, index, SLOTS_READY);
		d->in_hand++;
		ring_offer(&run->ring, device);
		return index;
	}
	return SLOT_NONE;
}

static int transmit(struct run *run, uint32_t index)
{
	struct mad_engine *engine = run->engine;
	const struct slot *slot = &engine->slots.slot[index];
	struct mad_request request = {
		.to = run->job->address(run->job->arg, slot->device),
		.tid = slots_next_tid(&engine->slots, index),
		.attribute = slot->query.attribute,
		.modifier = slot->query.modifier,
		.timeout_ms = engine->timeout_ms,
		.mgmt_class = slot->query.mgmt_class,
		.mask = slot->query.mask,
		.data = slot->query.data,
	};

	return request.to ? engine->wire->ops->send(engine->wire, &request) : -EINVAL;
}

static void note_sent(struct mad_engine *engine, uint32_t index, uint64_t now)
{
	slots_sent(&engine->slots, index, now + engine->try_ns);
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
	finish_unasked(run, index);
	return err != -EINVAL && ++engine->send_failures >= WIRE_FAILURES ? err : 0;
}

/* Ends a query that was to be sent, again or at all, to a device that was given up since. */
static void finish_given_up(struct run *run, uint32_t index)
{
	run->engine->refused = false;
	if (run->engine->slots.slot[index].tries)
		finish_tried(run, index);
	else
		finish_unasked(run, index);
}

/* Sends as much as the windows, the rate and the wire allow: repeats first. -errno: ends the run. */
static int fill(struct run *run)
{
	struct mad_engine *engine = run->engine;
	uint64_t now;
	uint32_t index;
	int err;

	for (;;) {
		if (ctx_stopped(engine->ctx))
			return -EINTR;
		now = now_ns(engine);
		index = slots_first(&engine->slots, SLOTS_READY);
		if (index != SLOT_NONE && run->ring.device[engine->slots.slot[index].device].given_up) {
			finish_given_up(run, index);
			continue;
		}
		if (pace_wait(&engine->pace, now))
			return 0;
		if (index == SLOT_NONE)
			index = pull(run);
		if (index == SLOT_NONE)
			return 0;
		err = transmit(run, index);
		if (err == -EAGAIN)
			return note_refused(engine, now);
		if (!err)
			note_sent(engine, index, now);
		else
			err = note_failed(run, index, err);
		if (err)
			return err;
	}
}

/* --- receiving --- */

/* The present try of a slot has ended without an answer that counts. */
static void end_try(struct run *run, uint32_t index)
{
	struct mad_engine *engine = run->engine;

	if (engine->slots.slot[index].tries <= engine->limits.retries)
		slots_move(&engine->slots, index, SLOTS_READY);
	else
		finish_tried(run, index);
}

static void expire(struct run *run)
{
	struct slots *slots = &run->engine->slots;
	uint64_t now = now_ns(run->engine);
	uint32_t index;

	while ((index = slots_first(slots, SLOTS_WAITING)) != SLOT_NONE &&
	       slots->slot[index].deadline_ns <= now)
		end_try(run, index);
}

static void take_answer(struct run *run, uint32_t index, const struct mad_reply *reply)
{
	struct slot *slot = &run->engine->slots.slot[index];
	struct mad_answer answer = {.outcome = MAD_ANSWERED, .data = reply->data, .tries = slot->tries};

	if (reply->status & STATUS_BUSY) {
		/* It lives, but will not be pressed: the rest of this try's time is a pause. */
		run->ring.device[slot->device].unanswered = 0;
		slot->busy = reply->status;
		slot->settled = true;
		return;
	}
	if (reply->status) {
		answer.outcome = MAD_STATUS;
		answer.status = reply->status;
		answer.data = NULL;
	}
	finish(run, index, &answer);
}

static void take_reply(struct run *run, const struct mad_reply *reply)
{
	struct mad_engine *engine = run->engine;
	const struct slot *slot;
	uint32_t index;
	enum slot_match match = slots_find(&engine->slots, reply->tid, &index);

	if (match == SLOT_PRESENT) {
		/* A MAD of performance management that timed out has lost its PortSelect. */
		bool header_only = reply->timed_out && reply->mgmt_class == MAD_CLASS_PERF;

		slot = &engine->slots.slot[index];
		if (reply->attribute != slot->query.attribute || reply->mgmt_class != slot->query.mgmt_class ||
		    (reply->modifier != slot->query.modifier && !header_only))
			match = SLOT_ALIEN;
	}
	if (match == SLOT_PRESENT && reply->timed_out)
		end_try(run, index);
	else if (match == SLOT_PRESENT)
		take_answer(run, index, reply);
	else if (reply->timed_out)
		return; /* the wire gives up what our own deadline ended before: not an answer */
	else if (match == SLOT_PAST)
		engine->counts.late++;
	else
		engine->counts.foreign++;
}

/* How long nothing but a reply can happen; never 0 unless a deadline has passed. */
static unsigned idle_ms(const struct run *run)
{
	const struct mad_engine *engine = run->engine;
	const struct slots *slots = &engine->slots;
	uint32_t waiting = slots_first(slots, SLOTS_WAITING);
	bool wants = slots_first(slots, SLOTS_READY) != SLOT_NONE ||
		     (slots_first(slots, SLOTS_FREE) != SLOT_NONE && run->ring.first != RING_NONE);
	uint64_t now = now_ns(engine), wait = WAIT_MAX_MS * MS_NS, pause;

	if (waiting != SLOT_NONE) {
		if (slots->slot[waiting].deadline_ns <= now)
			return 0;
		if (slots->slot[waiting].deadline_ns - now < wait)
			wait = slots->slot[waiting].deadline_ns - now;
	}
	if (wants) {
		pause = engine->refused ? WAIT_REFUSED_MS * MS_NS : pace_wait(&engine->pace, now);
		if (pause < wait)
			wait = pause;
	}
	/* Rounded up: a wait of less than a millisecond must not become polling. */
	return wait ? (unsigned)((wait + MS_NS - 1) / MS_NS) : 1;
}

/* Takes one reply, or lets time pass. -errno: the wire broke. */
static int receive(struct run *run)
{
	struct mad_engine *engine = run->engine;
	struct mad_reply reply;
	int ret = engine->wire->ops->receive(engine->wire, &reply, idle_ms(run));

	if (ret == -EINTR)
		return 0;
	if (ret < 0)
		return ++engine->receive_failures >= WIRE_FAILURES ? ret : 0;
	engine->receive_failures = 0;
	if (ret > 0)
		take_reply(run, &reply);
	return 0;
}

static bool in_hand(const struct run *run)
{
	const struct slots *slots = &run->engine->slots;

	return slots_first(slots, SLOTS_WAITING) != SLOT_NONE ||
	       slots_first(slots, SLOTS_READY) != SLOT_NONE || run->ring.first != RING_NONE;
}

/*
 * How long the tries of this job last: one length, since slots wait in the order they were sent in.
 * The wire normally says itself that a MAD timed out; our deadline catches what it loses, so it must
 * come later than a kernel timer that is rounded up and runs in a busy work queue.
 */
static int set_timeout(struct mad_engine *engine, const struct mad_job *job)
{
	unsigned ms = job->timeout_ms ? job->timeout_ms : engine->limits.timeout_ms;

	if (ms > INT_MAX)
		return -EINVAL;
	engine->timeout_ms = ms;
	engine->try_ns = (ms + ms / 8 + 20) * MS_NS;
	return 0;
}

int mad_engine_run(struct mad_engine *engine, const struct mad_job *job)
{
	struct run run = {.engine = engine, .job = job};
	int err = set_timeout(engine, job);
	uint32_t i;

	if (!err)
		err = ring_init(&run.ring, job->devices, engine->limits.device_window);
	if (err) {
		for (i = 0; i < job->devices; i++)
			drain(&run, i);
		return err;
	}
	engine->send_failures = engine->receive_failures = 0;
	engine->refused = false;
	do {
		expire(&run);
		err = fill(&run);
		if (err || !in_hand(&run))
			break;
		err = receive(&run);
	} while (!err && !run.error);
	if (!err)
		err = run.error;
	if (err)
		abandon(&run);
	ring_free(&run.ring);
	return err;
}
