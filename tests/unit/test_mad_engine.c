/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the engine makes of answers, statuses, silence and strangers, one case at a time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "script_bench.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct mad_limits one_by_one = {
	.window = 1, .device_window = 1, .timeout_ms = 100, .retries = 2, .rate = 0, .give_up = 0};

static void answers_are_handed_back(void **state)
{
	static const struct script_entry entries[] = {GET(7, 1, ANSWER), GET(7, 2, ANSWER),
						      GET(7, 3, ANSWER)};
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	bench_script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 3);
	counts = bench_run(&b, 0);
	assert_result(&b, 0, 2, MAD_ANSWERED, 0, 1);
	assert_int_equal(counts->sent, 3);
	assert_int_equal(counts->retried + counts->late + counts->foreign + counts->send_failed, 0);
	assert_int_equal(b.wire.last.timeout_ms, 100);
	bench_end(&b);
}

static void nothing_to_ask(void **state)
{
	struct bench b;

	(void)state;
	bench_script(&b, &one_by_one, NULL, 0);
	bench_run(&b, 0); /* no device */
	script_job_add(&b.job, 7, 0);
	script_job_add(&b.job, 8, 0);
	bench_run(&b, 0);
	assert_int_equal(bench_ms(&b), 0);
	bench_end(&b);
}

static void routes_reach_the_wire(void **state)
{
	struct script_job_device *d;
	struct bench b;

	(void)state;
	bench_play(&b, &one_by_one, script_answer_all, NULL);
	d = script_job_add(&b.job, 0, 1);
	d->address.route = (struct mad_route){.hops = 3, .port = {0, 1, 36, 7}};
	bench_run(&b, 0);
	assert_result(&b, 0, 0, MAD_ANSWERED, 0, 1);
	assert_memory_equal(&b.wire.last_to, &b.job.device[0].address, sizeof(b.wire.last_to));
	bench_end(&b);
}

static void a_status_is_final(void **state)
{
	/* 0x0c: attribute not supported; the devices of GSI-only ports say so to SL2VL. */
	static const struct script_entry entries[] = {GET(7, 1, SAYS(0x000c)), GET(7, 2, ANSWER)};
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	bench_script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 2);
	counts = bench_run(&b, 0);
	assert_result(&b, 0, 0, MAD_STATUS, 0x000c, 1);
	assert_result(&b, 0, 1, MAD_ANSWERED, 0, 1);
	assert_int_equal(counts->retried, 0);
	bench_end(&b);
}

static void busy_is_asked_again_later(void **state)
{
	static const struct script_entry entries[] = {GET(7, 1, SAYS(1)), GET(7, 1, SAYS(1)),
						      GET(7, 1, ANSWER)};
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	bench_script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 1);
	counts = bench_run(&b, 0);
	assert_result(&b, 0, 0, MAD_ANSWERED, 0, 3);
	assert_int_equal(counts->retried, 2);
	assert_in_range(bench_ms(&b), 200, 400);
	bench_end(&b);
}

static void busy_to_the_end_is_a_status(void **state)
{
	static const struct script_entry entries[] = {
		GET(7, 1, SAYS(1)), GET(7, 1, LOST), GET(7, 1, LOST),
		GET(7, 2, LOST),    GET(7, 2, LOST), GET(7, 2, SAYS(1)),
	};
	struct bench b;

	(void)state;
	bench_script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 2);
	bench_run(&b, 0);
	assert_result(&b, 0, 0, MAD_STATUS, 1, 3);
	assert_result(&b, 0, 1, MAD_STATUS, 1, 3);
	bench_end(&b);
}

static void the_wires_timeout_is_repeated(void **state)
{
	static const struct script_entry entries[] = {GET(7, 1, LOST), GET(7, 1, ANSWER), GET(7, 2, LOST),
						      GET(7, 2, LOST), GET(7, 2, LOST)};
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	bench_script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 2);
	counts = bench_run(&b, 0);
	assert_result(&b, 0, 0, MAD_ANSWERED, 0, 2);
	assert_result(&b, 0, 1, MAD_TIMED_OUT, 0, 3);
	assert_int_equal(counts->retried, 3);
	assert_int_equal(bench_ms(&b), 400);
	bench_end(&b);
}

static void silence_meets_our_own_deadline(void **state)
{
	static const struct script_entry entries[] = {GET(7, 1, SILENCE), GET(7, 1, SILENCE),
						      GET(7, 1, SILENCE)};
	struct bench b;

	(void)state;
	bench_script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 1);
	bench_run(&b, 0);
	assert_result(&b, 0, 0, MAD_TIMED_OUT, 0, 3);
	/* Later than the wire would have said, but not much. */
	assert_in_range(bench_ms(&b), 3 * 100 + 1, 3 * 140);
	bench_end(&b);
}

static void late_answers_are_dropped(void **state)
{
	/* The first answer comes while the repeat is on the wire, and must not be taken for its answer. */
	static const struct script_entry entries[] = {
		{.attribute = SCRIPT_ATTRIBUTE, .modifier = 1, .delay_us = 150000},
		{.attribute = SCRIPT_ATTRIBUTE, .modifier = 1, .delay_us = 90000},
	};
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	bench_script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 1);
	counts = bench_run(&b, 0);
	assert_result(&b, 0, 0, MAD_ANSWERED, 0, 2);
	assert_int_equal(counts->late, 1);
	assert_in_range(bench_ms(&b), 151, 250);
	bench_end(&b);
}

static void second_copies_are_dropped(void **state)
{
	static const struct script_entry entries[] = {
		{.attribute = SCRIPT_ATTRIBUTE, .modifier = 1, .copies = 2},
		{.attribute = SCRIPT_ATTRIBUTE,
		 .modifier = 2,
		 .fate = SCRIPT_STATUS,
		 .status = 1,
		 .copies = 1},
		{.attribute = SCRIPT_ATTRIBUTE, .modifier = 2, .delay_us = 100},
	};
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	bench_script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 2);
	counts = bench_run(&b, 0);
	assert_result(&b, 0, 0, MAD_ANSWERED, 0, 1);
	assert_result(&b, 0, 1, MAD_ANSWERED, 0, 2);
	assert_int_equal(counts->late, 3);
	assert_int_equal(counts->foreign, 0);
	bench_end(&b);
}

/* Answers that are not ours, then the right one. */
static int answer_after_strangers(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	struct mad_reply reply = script_answer(request);

	(void)arg;
	reply.tid ^= 1u << 31;
	script_reply(wire, 1000, &reply);
	reply.tid = request->tid ^ 0x800; /* another slot, which this window does not have */
	script_reply(wire, 2000, &reply);
	reply.tid = 0;
	script_reply(wire, 3000, &reply);
	reply = script_answer(request);
	reply.attribute++;
	script_reply(wire, 4000, &reply);
	reply = script_answer(request);
	reply.modifier ^= 0x100;
	script_reply(wire, 5000, &reply);
	reply.timed_out = true; /* not an answer: not counted */
	script_reply(wire, 6000, &reply);
	reply = script_answer(request);
	script_reply(wire, 7000, &reply);
	return 0;
}

static void foreign_answers_are_dropped(void **state)
{
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	bench_play(&b, &one_by_one, answer_after_strangers, NULL);
	script_job_add(&b.job, 7, 4);
	counts = bench_run(&b, 0);
	assert_int_equal(counts->ended[MAD_ANSWERED], 4);
	assert_int_equal(counts->sent, 4);
	assert_int_equal(counts->foreign, 4 * 5);
	assert_int_equal(counts->late, 0);
	bench_end(&b);
}

static void a_silent_device_is_given_up(void **state)
{
	static const struct script_entry entries[] = {/* an answer in between starts the count again */
						      GET(7, 1, LOST), GET(7, 2, LOST), GET(7, 3, ANSWER),
						      GET(7, 4, LOST), GET(7, 5, SAYS(0x1c)), GET(7, 6, LOST),
						      GET(7, 7, LOST), GET(7, 8, LOST),
						      /* the next device is asked all the same */
						      GET(8, 1, ANSWER)};
	struct mad_limits limits = one_by_one;
	unsigned i;
	struct bench b;

	(void)state;
	limits.retries = 0;
	limits.give_up = 3;
	bench_script(&b, &limits, entries, COUNT(entries));
	script_job_add(&b.job, 7, 100);
	bench_run(&b, 0); /* alone, so that the order is the script's */
	for (i = 5; i < 8; i++)
		assert_result(&b, 0, i, MAD_TIMED_OUT, 0, 1);
	for (i = 8; i < 100; i++)
		assert_result(&b, 0, i, MAD_NOT_ASKED, 0, 0);
	script_job_free(&b.job);
	script_job_init(&b.job, &b.limits);
	script_job_add(&b.job, 8, 1);
	assert_int_equal(mad_engine_run(b.engine, &b.job.job), 0);
	assert_result(&b, 0, 0, MAD_ANSWERED, 0, 1);
	bench_end(&b);
}

/* Device 7 is silent, all others answer. */
static int silent_7(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	return request->to->lid == 7 ? 0 : script_answer_all(arg, wire, request);
}

static void giving_up_ends_repeats_too(void **state)
{
	const struct mad_limits limits = {
		.window = 8, .device_window = 4, .timeout_ms = 100, .retries = 3, .give_up = 1};
	const struct mad_counts *counts;
	struct bench b;
	unsigned i;

	(void)state;
	bench_play(&b, &limits, silent_7, NULL);
	script_job_add(&b.job, 7, 1000);
	script_job_add(&b.job, 8, 1000);
	counts = bench_run(&b, 0);
	assert_int_equal(b.job.device[1].outcomes[MAD_ANSWERED], 1000);
	/* Of the four in hand one is asked again for all of them, and they end with it. */
	assert_result(&b, 0, 0, MAD_TIMED_OUT, 0, 4);
	for (i = 1; i < 4; i++)
		assert_result(&b, 0, i, MAD_TIMED_OUT, 0, 1);
	assert_int_equal(counts->ended[MAD_TIMED_OUT], 4);
	assert_int_equal(counts->ended[MAD_NOT_ASKED], 996);
	assert_int_equal(counts->sent, 1000 + 4 + 3);
	assert_int_equal(counts->rounds, 1);
	bench_end(&b);
}

static void zero_never_gives_up(void **state)
{
	const struct mad_limits limits = {
		.window = 4, .device_window = 4, .timeout_ms = 10, .retries = 0, .give_up = 0};
	struct bench b;

	(void)state;
	bench_play(&b, &limits, silent_7, NULL);
	script_job_add(&b.job, 7, 50);
	assert_int_equal(bench_run(&b, 0)->ended[MAD_TIMED_OUT], 50);
	bench_end(&b);
}

static void busy_is_a_sign_of_life(void **state)
{
	static const struct script_entry entries[] = {
		GET(7, 1, LOST),                       /* 0 ms */
		GET(7, 2, ANSWER_AFTER(30)),           /* 0 ms */
		GET(7, 3, ANSWER_AFTER(50)),           /* 0 ms */
		GET(7, 4, LOST),                       /* 30 ms */
		GET(7, 5, LOST),                       /* 50 ms */
		GET(7, 1, LOST),                       /* 100 ms; ends unanswered at 200 ms */
		GET(7, 4, LOST),                       /* 130 ms; ends unanswered at 230 ms */
		GET(7, 5, SAYS(1), .delay_us = 70000), /* 150 ms; but this came in between, at 220 ms */
		GET(7, 6, ANSWER_AFTER(60)),
		GET(7, 7, ANSWER), /* 200 and 230 ms */
	};
	const struct mad_limits limits = {
		.window = 3, .device_window = 3, .timeout_ms = 100, .retries = 1, .give_up = 2};
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	bench_script(&b, &limits, entries, COUNT(entries));
	script_job_add(&b.job, 7, 7);
	counts = bench_run(&b, 0);
	assert_result(&b, 0, 0, MAD_TIMED_OUT, 0, 2);
	assert_result(&b, 0, 3, MAD_TIMED_OUT, 0, 2);
	assert_result(&b, 0, 4, MAD_STATUS, 1, 2);
	assert_int_equal(counts->ended[MAD_ANSWERED], 4);
	bench_end(&b);
}

static void a_device_given_up_is_not_asked_again(void **state)
{
	static const struct script_entry entries[] = {
		GET(7, 1, ANSWER_AFTER(80)),
		GET(7, 2, LOST),             /* 0 ms */
		GET(7, 3, ANSWER_AFTER(80)), /* 80 ms */
		GET(7, 2, LOST),             /* 100 ms; ends at 200 ms */
		GET(7, 4, LOST),             /* 160 ms; ends at 260 ms, with no second try */
	};
	const struct mad_limits limits = {
		.window = 2, .device_window = 2, .timeout_ms = 100, .retries = 1, .give_up = 1};
	struct bench b;

	(void)state;
	bench_script(&b, &limits, entries, COUNT(entries));
	script_job_add(&b.job, 7, 6);
	bench_run(&b, 0);
	assert_result(&b, 0, 1, MAD_TIMED_OUT, 0, 2);
	assert_result(&b, 0, 3, MAD_TIMED_OUT, 0, 1);
	assert_result(&b, 0, 4, MAD_NOT_ASKED, 0, 0);
	assert_int_equal(bench_ms(&b), 260);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_handed_back),
		cmocka_unit_test(nothing_to_ask),
		cmocka_unit_test(routes_reach_the_wire),
		cmocka_unit_test(a_status_is_final),
		cmocka_unit_test(busy_is_asked_again_later),
		cmocka_unit_test(busy_to_the_end_is_a_status),
		cmocka_unit_test(the_wires_timeout_is_repeated),
		cmocka_unit_test(silence_meets_our_own_deadline),
		cmocka_unit_test(late_answers_are_dropped),
		cmocka_unit_test(second_copies_are_dropped),
		cmocka_unit_test(foreign_answers_are_dropped),
		cmocka_unit_test(a_silent_device_is_given_up),
		cmocka_unit_test(giving_up_ends_repeats_too),
		cmocka_unit_test(zero_never_gives_up),
		cmocka_unit_test(busy_is_a_sign_of_life),
		cmocka_unit_test(a_device_given_up_is_not_asked_again),
	};

	return cmocka_run_group_tests_name("mad_engine", tests, NULL, NULL);
}
