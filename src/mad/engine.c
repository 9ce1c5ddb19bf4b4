/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The engine: keeps a window of Gets on the wire, pulls the next query when there is room, and
 * hands each query back exactly once, with its outcome.
 */
#include "ibqos/mad.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "run.h"

#define WAIT_MAX_MS 100    /* a signal is noticed within this time */
#define WAIT_REFUSED_MS 5  /* before a MAD that the wire would not take is tried again */
#define BURST_MS 2	   /* of the rate, at once: a wait is a whole millisecond, and what it missed may be made up */
#define STATUS_BUSY 0x0001 /* IBA 13.4.7: the MAD was discarded, come again */

static void note_flow(struct mad_engine *engine)
{
	const struct flow *flow = &engine->flow;

	engine->counts.window = flow->window;
	engine->counts.window_least = flow->least;
	engine->counts.losses = flow->losses;
	engine->counts.slowdowns = flow->slowdowns;
}

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
	err = slots_init(&e->slots, SLOTS_MAX);
	if (err) {
		free(e);
		return err;
	}
	e->ctx = ctx;
	e->wire = wire;
	e->limits = *limits;
	pace_init(&e->pace, limits->rate, limits->rate / 1000 * BURST_MS);
	flow_init(&e->flow, limits->window);
	note_flow(e);
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

/* --- receiving --- */

static void expire(struct run *run)
{
	struct slots *slots = &run->engine->slots;
	uint64_t now = run_now(run);
	uint32_t index;

	while ((index = slots_first(slots, SLOTS_WAITING)) != SLOT_NONE &&
	       slots->slot[index].deadline_ns <= now) {
		if (slots->slot[index].spent)
			run_release(run, index);
		else if (slots->slot[index].end_ns <= now)
			run_end_try(run, index);
		else
			run_end_short(run, index);
	}
	while ((index = slots_first(slots, SLOTS_LISTENING)) != SLOT_NONE &&
	       slots->slot[index].deadline_ns <= now)
		run_end_try(run, index);
}

/* How an answered query tells on what is sent from now on. took_ns 0: it answers one of several MADs. */
static void learn(struct run *run, const struct slot *slot, uint64_t took_ns, bool earlier)
{
	struct mad_engine *engine = run->engine;
	uint64_t now = run_now(run);

	if (engine->measures && took_ns)
		flow_answer(&engine->flow, took_ns,
			    engine->empty_ns > slot->sent_ns ? engine->empty_ns - slot->sent_ns : 0, run->ring.device[slot->device].fastest_ns, now);
	/* What has times of its own is no SMP: its loss says nothing of VL 15, and it is asked again later each time. */
	if (engine->measures && slot->lost_ns && slot->lost_ns != slot->sent_ns && !earlier)
		flow_loss(&engine->flow, slot->lost_ns, now);
	if (engine->measures && slot->lost_ns)
		ring_shrink(&run->ring, slot->device, slot->lost_ns, now);
	run_heard(run, slot->device, took_ns, now);
}

/* It lives, but will not be pressed: the rest of this try's time is a pause. */
static void take_busy(struct run *run, uint32_t index, uint16_t status)
{
	struct slot *slot = &run->engine->slots.slot[index];
	uint64_t now = run_now(run);

	run->ring.device[slot->device].unanswered = 0;
	ring_shrink(&run->ring, slot->device, slot->sent_ns, now);
	run_heard(run, slot->device, 0, now);
	slot->busy = status;
	slot->settled = true;
	slots_listen(&run->engine->slots, index);
}

static void take_answer(struct run *run, uint32_t index, const struct mad_reply *reply, bool earlier)
{
	const struct slot *slot = &run->engine->slots.slot[index];
	struct mad_answer answer = {.outcome = MAD_ANSWERED, .data = reply->data, .tries = slot->tries};
	uint64_t took_ns = 0;

	if (reply->status) {
		answer.outcome = MAD_STATUS;
		answer.status = reply->status;
		answer.data = NULL;
	}
	if (!earlier)
		took_ns = run_now(run) - slot->sent_ns;
	learn(run, slot, took_ns, earlier);
	if (earlier)
		run_finish_early(run, index, &answer);
	else
		run_finish(run, index, &answer);
}

/* An answer to an earlier try counts as long as that try would have lasted. */
static bool in_time(const struct run *run, uint32_t index)
{
	return run_now(run) <= run->engine->slots.slot[index].first_ns + run->engine->try_ns;
}

static void take_reply(struct run *run, const struct mad_reply *reply)
{
	struct mad_engine *engine = run->engine;
	const struct slot *slot;
	uint32_t index;
	enum slot_match match = slots_find(&engine->slots, reply->tid, &index);

	if (match == SLOT_PRESENT || match == SLOT_EARLIER) {
		/* A MAD of performance management that timed out has lost its PortSelect. */
		bool header_only = reply->timed_out && reply->mgmt_class == MAD_CLASS_PERF;

		slot = &engine->slots.slot[index];
		if (reply->attribute != slot->query.attribute || reply->mgmt_class != slot->query.mgmt_class ||
		    (reply->modifier != slot->query.modifier && !header_only))
			match = SLOT_ALIEN;
		else if (slot->spent && match == SLOT_PRESENT)
			run_release(run, index);
		if (match != SLOT_ALIEN && slot->spent)
			match = SLOT_PAST;
	}
	if (reply->timed_out) {
		/* What our own deadline ended before is not an answer. */
		if (match == SLOT_PRESENT)
			run_end_try(run, index);
	} else if (match == SLOT_PRESENT) {
		if (reply->status & STATUS_BUSY)
			take_busy(run, index, reply->status);
		else
			take_answer(run, index, reply, false);
	} else if (match == SLOT_EARLIER && !(reply->status & STATUS_BUSY) && in_time(run, index)) {
		engine->counts.slow++;
		take_answer(run, index, reply, true);
	} else if (match == SLOT_ALIEN) {
		engine->counts.foreign++;
	} else {
		engine->counts.late++;
	}
}

/* Shortens a wait to the next deadline of a list; false: it has passed. */
static bool until_deadline(const struct slots *slots, enum slot_list list, uint64_t now, uint64_t *wait)
{
	uint32_t first = slots_first(slots, list);

	if (first == SLOT_NONE)
		return true;
	if (slots->slot[first].deadline_ns <= now)
		return false;
	if (slots->slot[first].deadline_ns - now < *wait)
		*wait = slots->slot[first].deadline_ns - now;
	return true;
}

/* How long nothing but a reply can happen; never 0 unless a deadline has passed. */
static unsigned idle_ms(const struct run *run)
{
	const struct mad_engine *engine = run->engine;
	const struct slots *slots = &engine->slots;
	bool wants = slots_first(slots, SLOTS_READY) != SLOT_NONE ||
		     (slots_first(slots, SLOTS_FREE) != SLOT_NONE &&
		      (run->ring.first != RING_NONE || run->park.next.first != PARK_NONE));
	uint64_t now = run_now(run), wait = WAIT_MAX_MS * MS_NS, pause;

	if (slots->waiting) /* so that it is known how long an answer was not there */
		wait = FLOW_SLOW_NS;
	if (!until_deadline(slots, SLOTS_WAITING, now, &wait) ||
	    !until_deadline(slots, SLOTS_LISTENING, now, &wait))
		return 0;
	if (wants && slots->waiting < engine->flow.window) {
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
	/* Under load the next reply is there already; if not, that is worth knowing. */
	int ret = engine->wire->ops->receive(engine->wire, &reply, 0);

	if (ret == 0) {
		engine->empty_ns = run_now(run);
		ret = engine->wire->ops->receive(engine->wire, &reply, idle_ms(run));
	}
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

	return slots->waiting ||
	       slots_first(slots, SLOTS_LISTENING) != SLOT_NONE ||
	       slots_first(slots, SLOTS_READY) != SLOT_NONE || run->ring.first != RING_NONE ||
	       run->park.next.first != PARK_NONE || run->parked;
}

/*
 * How long the tries of this job last. The wire normally says itself that a MAD timed out; our deadline catches what it loses, so it must
 * come later than a kernel timer that is rounded up and runs in a busy work queue.
 */
static int set_timeout(struct mad_engine *engine, const struct mad_job *job)
{
	unsigned ms = job->timeout_ms ? job->timeout_ms : engine->limits.timeout_ms;

	if (ms > INT_MAX)
		return -EINVAL;
	engine->timeout_ms = ms;
	engine->measures = !job->timeout_ms;
	engine->try_ns = (ms + ms / 8 + 20) * MS_NS;
	return 0;
}

static uint64_t ended(const struct mad_counts *counts)
{
	uint64_t sum = 0;

	for (int i = 0; i < MAD_OUTCOMES; i++)
		sum += counts->ended[i];
	return sum;
}

int mad_engine_run(struct mad_engine *engine, const struct mad_job *job)
{
	struct run run = {.engine = engine, .job = job};
	uint64_t before = ended(&engine->counts);
	int err = set_timeout(engine, job);
	uint32_t i;

	park_init(&run.park);
	if (!err)
		err = ring_init(&run.ring, job->devices, engine->limits.device_window);
	if (err) {
		for (i = 0; i < job->devices; i++)
			run_drain(&run, i);
		return err;
	}
	engine->send_failures = engine->receive_failures = 0;
	engine->refused = false;
	do {
		expire(&run);
		err = run_fill(&run);
		if (err || !in_hand(&run))
			break;
		err = receive(&run);
		if (!err)
			err = run.error;
		if (job->what)
			ctx_progress(engine->ctx, job->what, job->before + ended(&engine->counts) - before, job->total);
	} while (!err);
	if (job->what && !job->part)
		ctx_progress_end(engine->ctx);
	if (err)
		run_abandon(&run);
	note_flow(engine);
	ring_free(&run.ring);
	park_free(&run.park);
	return err;
}
