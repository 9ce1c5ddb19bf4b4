/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* How queries end, and where those wait that may yet be answered. */
#include <errno.h>

#include "run.h"

#define QUICK_MISSES 2 /* in a row from a device that has been heard: still asked again at once */

/* --- handing back --- */

static void hand_back(struct run *run, uint32_t device, const struct mad_query *query,
		      const struct mad_answer *answer)
{
	struct mad_counts *counts = &run->engine->counts;

	counts->queries++;
	counts->ended[answer->outcome]++;
	run->job->done(run->job->arg, device, query, answer);
}

void run_drain(struct run *run, uint32_t device)
{
	const struct mad_answer answer = {.outcome = MAD_NOT_ASKED};
	struct mad_query query = {0};

	while (run->job->next(run->job->arg, device, &query)) {
		hand_back(run, device, &query, &answer);
		query = (struct mad_query){0};
	}
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
		run_drain(run, device); /* an answer that was still under way */
	else
		d->exhausted = false;
}

static void end_parked(struct run *run, uint32_t device);

static void give_up_device(struct run *run, uint32_t device)
{
	if (run->ring.device[device].given_up)
		return;
	run->ring.device[device].given_up = true;
	end_parked(run, device);
	if (!run->ring.device[device].exhausted)
		run_drain(run, device);
	run->ring.device[device].exhausted = true;
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
	if (give_up && d->unanswered >= give_up)
		give_up_device(run, device);
}

/* `query` is a copy: what it was kept in may be used again by now. */
static void end_query(struct run *run, uint32_t device, const struct mad_query *query,
		      const struct mad_answer *answer, bool off_the_wire)
{
	run->ring.device[device].in_hand -= off_the_wire;
	hand_back(run, device, query, answer);
	judge_device(run, device, answer->outcome);
	take_growth(run, device, answer->outcome);
	ring_offer(&run->ring, device);
}

static struct mad_answer tried_answer(uint16_t busy, unsigned tries)
{
	return (struct mad_answer){
		.outcome = busy ? MAD_STATUS : MAD_TIMED_OUT, .status = busy, .tries = tries};
}

/* Those that a device still owes, when it left the one that was asked again for all of them unanswered. */
static void end_parked(struct run *run, uint32_t device)
{
	struct mad_answer answer;
	struct parked parked;

	while (park_take(&run->park, &run->ring.device[device].parked, &parked)) {
		run->parked--;
		answer = tried_answer(parked.busy, parked.tries);
		end_query(run, device, &parked.query, &answer, true);
	}
}

static void leave_round(struct run *run, uint32_t device, bool late)
{
	if (!late)
		return;
	run->late--;
	run->ring.device[device].probed = false;
}

void run_finish(struct run *run, uint32_t index, const struct mad_answer *answer)
{
	struct slots *slots = &run->engine->slots;
	const struct mad_query query = slots->slot[index].query;
	uint32_t device = slots->slot[index].device;

	leave_round(run, device, slots->slot[index].late);
	slots_move(slots, index, SLOTS_FREE);
	end_query(run, device, &query, answer, true);
}

void run_finish_early(struct run *run, uint32_t index, const struct mad_answer *answer)
{
	struct slot *slot = &run->engine->slots.slot[index];
	const struct mad_query query = slot->query;
	uint32_t device = slot->device;

	if (slot->list != SLOTS_WAITING) {
		run_finish(run, index, answer);
		return;
	}
	leave_round(run, device, slot->late);
	slot->spent = true;
	end_query(run, device, &query, answer, false);
}

void run_release(struct run *run, uint32_t index)
{
	uint32_t device = run->engine->slots.slot[index].device;

	slots_move(&run->engine->slots, index, SLOTS_FREE);
	run->ring.device[device].in_hand--;
	ring_offer(&run->ring, device);
}

void run_finish_unasked(struct run *run, uint32_t index)
{
	const struct mad_answer answer = {.outcome = MAD_NOT_ASKED,
					  .tries = run->engine->slots.slot[index].tries};

	run_finish(run, index, &answer);
}

void run_finish_tried(struct run *run, uint32_t index)
{
	const struct slot *slot = &run->engine->slots.slot[index];
	const struct mad_answer answer = tried_answer(slot->busy, slot->tries);
	bool for_all = slot->late && answer.outcome == MAD_TIMED_OUT && run->engine->limits.give_up;
	uint32_t device = slot->device;

	run_finish(run, index, &answer);
	if (for_all)
		end_parked(run, device);
}

static void abandon_list(struct run *run, struct park_list *list)
{
	struct mad_answer answer = {.outcome = MAD_NOT_ASKED};
	struct parked parked;

	while (park_take(&run->park, list, &parked)) {
		answer.tries = parked.tries;
		end_query(run, parked.device, &parked.query, &answer, true);
	}
}

void run_abandon(struct run *run)
{
	static const enum slot_list lists[] = {SLOTS_WAITING, SLOTS_LISTENING, SLOTS_READY};
	struct slots *slots = &run->engine->slots;
	uint32_t i, index;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		while ((index = slots_first(slots, lists[i])) != SLOT_NONE) {
			if (slots->slot[index].spent)
				run_release(run, index);
			else
				run_finish_unasked(run, index);
		}
	}
	abandon_list(run, &run->park.next);
	for (i = 0; i < run->ring.count; i++) {
		abandon_list(run, &run->ring.device[i].parked);
		if (!run->ring.device[i].exhausted)
			run_drain(run, i);
	}
}

/* --- silence --- */

void run_heard(struct run *run, uint32_t device, uint64_t took_ns, uint64_t now_ns)
{
	struct ring_device *d = &run->ring.device[device];

	ring_heard(&run->ring, device, took_ns, now_ns);
	while (park_release(&run->park, &d->parked, false))
		run->parked--;
}

/* Whether a device that left this try unanswered lives all the same, so that only the MAD is lost. */
static bool lives(const struct run *run, const struct slot *slot)
{
	const struct ring_device *d = &run->ring.device[slot->device];

	return d->heard_ns > slot->sent_ns || (d->heard_ns && d->misses <= QUICK_MISSES);
}

static bool limit_reached(const struct run *run)
{
	return run->job->lost_ns && run->job->lost_limit_ns && *run->job->lost_ns >= run->job->lost_limit_ns;
}

/* Whoever loses so much is given up: what is out stays until its try ends, as an answer may still come. */
static void count_lost(struct run *run, const struct slot *slot)
{
	uint64_t now = run_now(run), from = slot->sent_ns > run->lost_until_ns ? slot->sent_ns : run->lost_until_ns;

	if (!run->job->lost_ns)
		return;
	*run->job->lost_ns += now - from;
	run->lost_until_ns = now;
	for (uint32_t i = 0; limit_reached(run) && i < run->ring.count; i++)
		give_up_device(run, i);
}

static void note_miss(struct run *run, struct slot *slot)
{
	struct ring_device *d = &run->ring.device[slot->device];

	if (d->misses < UINT16_MAX)
		d->misses++;
	slot->lost_ns = slot->sent_ns;
	count_lost(run, slot);
}

/* Takes a query out of its slot until its device is heard or a late round comes. */
static void park_slot(struct run *run, uint32_t index)
{
	const struct slot *slot = &run->engine->slots.slot[index];
	const struct parked parked = {
		.query = slot->query,
		.lost_ns = slot->lost_ns,
		.device = slot->device,
		.tries = slot->tries,
		.busy = slot->busy,
	};

	if (park_add(&run->park, &run->ring.device[slot->device].parked, &parked) != 0) {
		run_finish_tried(run, index);
		return;
	}
	run->parked++;
	slots_move(&run->engine->slots, index, SLOTS_FREE);
}

void run_end_try(struct run *run, uint32_t index)
{
	struct slot *slot = &run->engine->slots.slot[index];

	if (slot->list == SLOTS_WAITING)
		note_miss(run, slot);
	else
		count_lost(run, slot);
	if (slot->tries > run->engine->limits.retries || run->ring.device[slot->device].given_up)
		run_finish_tried(run, index);
	else if (slot->settled || slot->late || lives(run, slot))
		slots_move(&run->engine->slots, index, SLOTS_READY);
	else
		park_slot(run, index);
}

void run_end_short(struct run *run, uint32_t index)
{
	struct slot *slot = &run->engine->slots.slot[index];

	note_miss(run, slot);
	if (slot->tries <= run->engine->limits.retries && lives(run, slot) && !run->ring.device[slot->device].given_up)
		slots_move(&run->engine->slots, index, SLOTS_READY);
	else
		slots_listen(&run->engine->slots, index);
}

/* --- late rounds --- */

/* Whether a query of this device may join the round: one for all that it owes, where it may be given up. */
static bool joins(struct run *run, uint32_t device)
{
	struct ring_device *d = &run->ring.device[device];

	if (d->probed && run->engine->limits.give_up)
		return false;
	d->probed = true;
	run->late++;
	return true;
}

/*
 * Whether a MAD is still in its short time that would make another round needed: one to a device not heard yet,
 * which may be silent as well, and in a job that grows any, since its answer may lead to such devices.
 */
static bool awaits(const struct run *run)
{
	const struct slots *slots = &run->engine->slots;
	uint32_t index = slots_first(slots, SLOTS_WAITING);

	for (; index != SLOT_NONE; index = slots_after(slots, index)) {
		const struct slot *slot = &slots->slot[index];

		if (!slot->settled && (run->job->grows || !run->ring.device[slot->device].heard_ns))
			return true;
	}
	return false;
}

bool run_late_round(struct run *run)
{
	struct slots *slots = &run->engine->slots;
	uint32_t index, next, i;

	if (run->late || awaits(run))
		return false;
	for (index = slots_first(slots, SLOTS_LISTENING); index != SLOT_NONE; index = next) {
		struct slot *slot = &slots->slot[index];

		next = slots_after(slots, index);
		if (slot->settled || slot->tries > run->engine->limits.retries || !joins(run, slot->device))
			continue;
		slot->late = true;
		slots_move(slots, index, SLOTS_READY);
	}
	for (i = 0; run->parked && i < run->ring.count; i++) {
		struct ring_device *d = &run->ring.device[i];

		while (d->parked.first != PARK_NONE && joins(run, i)) {
			park_release(&run->park, &d->parked, true);
			run->parked--;
		}
	}
	run->engine->counts.rounds += run->late > 0;
	return run->late > 0;
}
