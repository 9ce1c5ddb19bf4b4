/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Devices that are silent, slow or lossy beside others that are not: what they cost, and when they are asked
 * again. Times are the wire's own, so they are exact.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "script_bench.h"

#define MS 1000000ull
#define LIVING 16

/* LIDs from 1000 on never answer; others answer after 1 ms. */
static int dead_from_1000(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	const struct mad_reply reply = script_answer(request);

	(void)arg;
	if (request->to->lid < 1000)
		script_reply(wire, MS, &reply);
	return 0;
}

static const struct mad_limits normal = {
	.window = 16, .device_window = 4, .timeout_ms = 1000, .retries = 3, .give_up = 4};

static void add_living(struct bench *b, unsigned queries)
{
	for (unsigned i = 0; i < LIVING; i++)
		script_job_add(&b->job, (uint16_t)(1 + i), queries);
}

static void dead_devices_cost_one_late_round(void **state)
{
	const struct mad_counts *counts;
	uint64_t without;
	struct bench b;
	unsigned i;

	(void)state;
	bench_play(&b, &normal, dead_from_1000, NULL);
	add_living(&b, 1000);
	bench_run(&b, 0);
	without = bench_ms(&b);
	assert_int_equal(without, 1000); /* 16 at once, 1 ms each */
	bench_end(&b);

	bench_play(&b, &normal, dead_from_1000, NULL);
	add_living(&b, 1000);
	for (i = 0; i < 300; i++)
		script_job_add(&b.job, (uint16_t)(1000 + i), 100);
	counts = bench_run(&b, 0);
	for (i = 0; i < LIVING; i++)
		assert_int_equal(b.job.device[i].outcomes[MAD_ANSWERED], 1000);
	for (; i < LIVING + 300; i++) {
		assert_int_equal(b.job.device[i].outcomes[MAD_TIMED_OUT], 4);
		assert_int_equal(b.job.device[i].outcomes[MAD_NOT_ASKED], 96);
	}
	assert_int_equal(counts->rounds, 1);
	/* Four MADs each at first, and three more for the one that is asked again. */
	assert_int_equal(counts->sent, LIVING * 1000 + 300 * (4 + 3));
	/*
	 * Each of these takes a place for 50 ms, 250 before it is known how fast answers come: 6.6 s of all 16 places;
	 * and the last one waits for three whole tries. With all tries whole, all the time in their place, it would be
	 * 300 s.
	 */
	assert_in_range(bench_ms(&b), 6600, 11000);
	assert_int_equal(b.wire.peak, 16);
	assert_int_equal(counts->window_least, 16); /* dead is not lossy */
	bench_end(&b);
}

/* Notes when the last query of a living device was answered. */
struct last {
	struct bench *bench;
	uint64_t ms;
};

static void note_last(void *arg, uint32_t device, const struct mad_answer *answer)
{
	struct last *last = arg;

	if (device >= 3 && answer->outcome == MAD_ANSWERED)
		last->ms = bench_ms(last->bench);
}

static void a_dead_device_holds_no_place(void **state)
{
	struct last last;
	struct bench b;
	unsigned i;

	(void)state;
	bench_play(&b, &normal, dead_from_1000, NULL);
	last = (struct last){.bench = &b};
	b.job.on_done = note_last;
	b.job.arg = &last;
	for (i = 0; i < 3; i++)
		script_job_add(&b.job, (uint16_t)(1000 + i), 1);
	script_job_add(&b.job, 1, 2000);
	bench_run(&b, 0);
	for (i = 0; i < 3; i++)
		assert_result(&b, i, 0, MAD_TIMED_OUT, 0, 4);
	/* Four at a time are the device's limit: as if it were alone. */
	assert_int_equal(last.ms, 500);
	/* The first try counts as lost after 250 ms, then three whole ones: the wire's own deadline is 1,145 ms. */
	assert_in_range(bench_ms(&b), 250 + 3 * 1000, 250 + 3 * 1145 + 10);
	bench_end(&b);
}

/* Device 1000 answers from 2 s on. */
static int wakes_at_2_s(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	const uint64_t *start_ns = arg;
	const struct mad_reply reply = script_answer(request);

	if (request->to->lid < 1000 || wire->clock_ns >= *start_ns + 2000 * MS)
		script_reply(wire, MS, &reply);
	return 0;
}

static void one_that_wakes_is_asked_everything(void **state)
{
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	bench_play(&b, &normal, wakes_at_2_s, &b.start_ns);
	script_job_add(&b.job, 1, 100);
	script_job_add(&b.job, 1000, 100);
	counts = bench_run(&b, 0);
	assert_int_equal(counts->ended[MAD_ANSWERED], 200);
	assert_int_equal(counts->rounds, 1);
	/* The probe alone: at 25 ms (its short try over at 250), 250, 1395 and 2540 ms. */
	assert_result(&b, 1, 0, MAD_ANSWERED, 0, 4);
	assert_result(&b, 1, 1, MAD_ANSWERED, 0, 2);
	assert_result(&b, 1, 4, MAD_ANSWERED, 0, 1);
	assert_int_equal(counts->sent, 200 + 3 + 3);
	assert_in_range(bench_ms(&b), 2500, 2600);
	bench_end(&b);
}

/* Answers after 300 ms, if the LID is 1000. */
static int slow_1000(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	const struct mad_reply reply = script_answer(request);

	(void)arg;
	script_reply(wire, request->to->lid == 1000 ? 300 * MS : MS, &reply);
	return 0;
}

static void a_slow_device_is_heard_all_the_same(void **state)
{
	struct mad_limits limits = normal;
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	limits.retries = 0;
	bench_play(&b, &limits, slow_1000, NULL);
	add_living(&b, 1000);
	script_job_add(&b.job, 1000, 10);
	counts = bench_run(&b, 0);
	/* Not one answer is lost, though each comes long after its MAD left its place to others. */
	assert_int_equal(counts->ended[MAD_ANSWERED], LIVING * 1000 + 10);
	assert_int_equal(counts->sent, LIVING * 1000 + 10);
	assert_int_equal(counts->late, 0);
	assert_int_equal(counts->window_least, 16); /* one slow device is not a slow fabric */
	bench_end(&b);

	limits.retries = 3;
	bench_play(&b, &limits, slow_1000, NULL);
	add_living(&b, 1000);
	script_job_add(&b.job, 1000, 100);
	counts = bench_run(&b, 0);
	assert_int_equal(counts->ended[MAD_ANSWERED], LIVING * 1000 + 100);
	/* Once its own time is known it is not asked twice any more. */
	assert_in_range(counts->retried, 0, 12);
	bench_end(&b);
}

/* Every tenth MAD is lost. */
static int every_tenth_lost(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	const struct mad_reply reply = script_answer(request);

	(void)arg;
	if (wire->sends % 10 != 9)
		script_reply(wire, MS, &reply);
	return 0;
}

static void losses_narrow_the_windows(void **state)
{
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	bench_play(&b, &normal, every_tenth_lost, NULL);
	add_living(&b, 500);
	counts = bench_run(&b, 0);
	assert_int_equal(counts->ended[MAD_ANSWERED], LIVING * 500);
	assert_int_equal(counts->retried, counts->sent / 10);
	assert_true(counts->losses > 10);
	assert_in_range(counts->window_least, 1, 4);
	assert_int_equal(counts->slowdowns, 0);
	bench_end(&b);
}

/* For a while an answer takes 2 ms for each MAD that is on the wire. */
static int crowded_a_while(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	const struct mad_reply reply = script_answer(request);
	bool crowded = wire->sends >= 200 && wire->sends < 2000;

	(void)arg;
	script_reply(wire, crowded ? 2 * (wire->flights + 1) * MS : MS, &reply);
	return 0;
}

static void slow_answers_narrow_the_window(void **state)
{
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	bench_play(&b, &normal, crowded_a_while, NULL);
	add_living(&b, 500);
	counts = bench_run(&b, 0);
	assert_int_equal(counts->ended[MAD_ANSWERED], LIVING * 500);
	assert_true(counts->slowdowns >= 2);
	assert_in_range(counts->window_least, 1, 4);
	assert_int_equal(counts->window, 16); /* and wide again when it is over */
	bench_end(&b);
}

static void without_giving_up_all_is_asked_again(void **state)
{
	struct mad_limits limits = normal;
	const struct mad_counts *counts;
	struct bench b;
	unsigned i;

	(void)state;
	limits.give_up = 0;
	bench_play(&b, &limits, dead_from_1000, NULL);
	script_job_add(&b.job, 1000, 10);
	counts = bench_run(&b, 0);
	for (i = 0; i < 10; i++)
		assert_result(&b, 0, i, MAD_TIMED_OUT, 0, 4);
	assert_int_equal(counts->sent, 40);
	assert_int_equal(counts->rounds, 3); /* four at a time */
	bench_end(&b);
}

/* --- jobs that grow: device n, when it answers, leads to 2n and 2n+1, as far as there are any --- */

struct tree {
	struct mad_job job;
	struct mad_address address[64];
	bool asked[64];
	unsigned done[64], order[64], ended;
};

static const struct mad_address *tree_address(void *arg, uint32_t device)
{
	return &((struct tree *)arg)->address[device];
}

static bool tree_next(void *arg, uint32_t device, struct mad_query *query)
{
	struct tree *t = arg;

	if (t->asked[device])
		return false;
	t->asked[device] = true;
	*query = (struct mad_query){.attribute = MAD_NODE_INFO, .tag = device};
	return true;
}

static void tree_done(void *arg, uint32_t device, const struct mad_query *query, const struct mad_answer *answer)
{
	struct tree *t = arg;
	uint16_t lid = t->address[device].lid;

	assert_int_equal(query->tag, device);
	t->done[device]++;
	t->order[t->ended++] = lid;
	if (answer->outcome != MAD_ANSWERED || lid % 1000 >= 16)
		return;
	for (unsigned i = 0; i < 2; i++)
		t->address[t->job.devices++].lid = (uint16_t)(2 * (lid % 1000) + i);
}

/* Device 2 answers its second MAD only. */
static int second_time(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	unsigned *times = arg;
	const struct mad_reply reply = script_answer(request);

	if (request->to->lid != 2 || ++*times == 2)
		script_reply(wire, MS, &reply);
	return 0;
}

static void what_is_behind_a_late_device_is_found(void **state)
{
	struct tree t = {.job = {.devices = 1, .address = tree_address, .next = tree_next, .done = tree_done, .grows = true}};
	unsigned times = 0, i;
	struct bench b;

	(void)state;
	t.job.arg = &t;
	t.address[0].lid = 1;
	bench_play(&b, &normal, second_time, &times);
	b.limits.window = 4;
	assert_int_equal(mad_engine_run(b.engine, &t.job), 0);
	assert_int_equal(t.job.devices, 31);
	for (i = 0; i < 31; i++)
		assert_int_equal(t.done[i], 1);
	/* 1, then 3 and all behind it, then 2 in the late round, then all behind it. */
	assert_int_equal(t.order[0], 1);
	assert_int_equal(t.order[1], 3);
	assert_int_equal(t.order[16], 2);
	assert_int_equal(mad_engine_counts(b.engine)->rounds, 1);
	assert_in_range(bench_ms(&b), 250, 262);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dead_devices_cost_one_late_round),
		cmocka_unit_test(a_dead_device_holds_no_place),
		cmocka_unit_test(one_that_wakes_is_asked_everything),
		cmocka_unit_test(a_slow_device_is_heard_all_the_same),
		cmocka_unit_test(losses_narrow_the_windows),
		cmocka_unit_test(slow_answers_narrow_the_window),
		cmocka_unit_test(without_giving_up_all_is_asked_again),
		cmocka_unit_test(what_is_behind_a_late_device_is_found),
	};

	return cmocka_run_group_tests_name("mad_rounds", tests, NULL, NULL);
}
