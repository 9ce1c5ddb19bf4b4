/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The engine, one behaviour at a time, against scripts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "script_job.h"
#include "script_wire.h"

#define MS 1000000ull
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define GET(device, query, what)                                                                             \
	{                                                                                                    \
		.lid = (device), .attribute = SCRIPT_ATTRIBUTE, .modifier = (query), what                    \
	}
#define ANSWER .fate = SCRIPT_ANSWER
#define LOST .fate = SCRIPT_LOST
#define SILENCE .fate = SCRIPT_SILENCE
#define SAYS(code) .fate = SCRIPT_STATUS, .status = (code)
#define REFUSED(code) .fate = SCRIPT_REFUSED, .error = (code)

static const struct mad_limits one_by_one = {
	.window = 1, .device_window = 1, .timeout_ms = 100, .retries = 2, .rate = 0, .give_up = 0};

struct bench {
	struct script_wire wire;
	struct script_job job;
	struct mad_limits limits;
	struct mad_engine *engine;
	volatile sig_atomic_t stop;
	struct ibqos_ctx ctx;
	uint64_t start_ns;
};

static void set_up(struct bench *b, const struct mad_limits *limits)
{
	b->limits = *limits;
	b->stop = 0;
	b->ctx = (struct ibqos_ctx){.program = "test", .fabric = "", .err = stderr, .stop = &b->stop};
	assert_int_equal(mad_engine_new(&b->ctx, &b->wire.wire, &b->limits, &b->engine), 0);
	script_job_init(&b->job, &b->limits);
	b->start_ns = b->wire.clock_ns;
}

static void script(struct bench *b, const struct mad_limits *limits, const struct script_entry *entries,
		   size_t count)
{
	script_wire_init(&b->wire, entries, count);
	set_up(b, limits);
}

static void play(struct bench *b, const struct mad_limits *limits, script_device *device, void *arg)
{
	script_wire_play(&b->wire, device, arg);
	set_up(b, limits);
}

static const struct mad_counts *run(struct bench *b, int expected)
{
	assert_int_equal(mad_engine_run(b->engine, &b->job.job), expected);
	script_job_check(&b->job, mad_engine_counts(b->engine));
	assert_int_equal(mad_engine_counts(b->engine)->sent, b->wire.sends);
	return mad_engine_counts(b->engine);
}

static uint64_t elapsed_ms(const struct bench *b)
{
	return (b->wire.clock_ns - b->start_ns) / MS;
}

static void tear_down(struct bench *b)
{
	mad_engine_free(b->engine);
	script_wire_end(&b->wire);
	script_job_free(&b->job);
}

static void assert_result(const struct bench *b, uint32_t device, unsigned query, enum mad_outcome outcome,
			  uint16_t status, unsigned tries)
{
	const struct script_result *r = script_job_result(&b->job, device, query);

	assert_int_equal(r->outcome, outcome);
	assert_int_equal(r->status, status);
	assert_int_equal(r->tries, tries);
}

static void answers_are_handed_back(void **state)
{
	static const struct script_entry entries[] = {GET(7, 1, ANSWER), GET(7, 2, ANSWER),
						      GET(7, 3, ANSWER)};
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 3);
	counts = run(&b, 0);
	assert_result(&b, 0, 2, MAD_ANSWERED, 0, 1);
	assert_int_equal(counts->sent, 3);
	assert_int_equal(counts->retried + counts->late + counts->foreign + counts->send_failed, 0);
	assert_int_equal(b.wire.last.timeout_ms, 100);
	tear_down(&b);
}

static void nothing_to_ask(void **state)
{
	struct bench b;

	(void)state;
	script(&b, &one_by_one, NULL, 0);
	run(&b, 0); /* no device */
	script_job_add(&b.job, 7, 0);
	script_job_add(&b.job, 8, 0);
	run(&b, 0);
	assert_int_equal(elapsed_ms(&b), 0);
	tear_down(&b);
}

static int answer_all(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	const struct mad_reply reply = script_answer(request);

	(void)arg;
	script_reply(wire, SCRIPT_DELAY_US * 1000, &reply);
	return 0;
}

static void routes_reach_the_wire(void **state)
{
	struct script_job_device *d;
	struct bench b;

	(void)state;
	play(&b, &one_by_one, answer_all, NULL);
	d = script_job_add(&b.job, 0, 1);
	d->address.route = (struct mad_route){.hops = 3, .port = {0, 1, 36, 7}};
	run(&b, 0);
	assert_result(&b, 0, 0, MAD_ANSWERED, 0, 1);
	assert_memory_equal(&b.wire.last_to, &b.job.device[0].address, sizeof(b.wire.last_to));
	tear_down(&b);
}

static void a_status_is_final(void **state)
{
	/* 0x0c: attribute not supported; the devices of GSI-only ports say so to SL2VL. */
	static const struct script_entry entries[] = {GET(7, 1, SAYS(0x000c)), GET(7, 2, ANSWER)};
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 2);
	counts = run(&b, 0);
	assert_result(&b, 0, 0, MAD_STATUS, 0x000c, 1);
	assert_result(&b, 0, 1, MAD_ANSWERED, 0, 1);
	assert_int_equal(counts->retried, 0);
	tear_down(&b);
}

static void busy_is_asked_again_later(void **state)
{
	static const struct script_entry entries[] = {GET(7, 1, SAYS(1)), GET(7, 1, SAYS(1)),
						      GET(7, 1, ANSWER)};
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 1);
	counts = run(&b, 0);
	assert_result(&b, 0, 0, MAD_ANSWERED, 0, 3);
	assert_int_equal(counts->retried, 2);
	assert_in_range(elapsed_ms(&b), 200, 400);
	tear_down(&b);
}

static void busy_to_the_end_is_a_status(void **state)
{
	static const struct script_entry entries[] = {
		GET(7, 1, SAYS(1)), GET(7, 1, LOST), GET(7, 1, LOST),
		GET(7, 2, LOST),    GET(7, 2, LOST), GET(7, 2, SAYS(1)),
	};
	struct bench b;

	(void)state;
	script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 2);
	run(&b, 0);
	assert_result(&b, 0, 0, MAD_STATUS, 1, 3);
	assert_result(&b, 0, 1, MAD_STATUS, 1, 3);
	tear_down(&b);
}

static void the_wires_timeout_is_repeated(void **state)
{
	static const struct script_entry entries[] = {GET(7, 1, LOST), GET(7, 1, ANSWER), GET(7, 2, LOST),
						      GET(7, 2, LOST), GET(7, 2, LOST)};
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 2);
	counts = run(&b, 0);
	assert_result(&b, 0, 0, MAD_ANSWERED, 0, 2);
	assert_result(&b, 0, 1, MAD_TIMED_OUT, 0, 3);
	assert_int_equal(counts->retried, 3);
	assert_int_equal(elapsed_ms(&b), 400);
	tear_down(&b);
}

static void silence_meets_our_own_deadline(void **state)
{
	static const struct script_entry entries[] = {GET(7, 1, SILENCE), GET(7, 1, SILENCE),
						      GET(7, 1, SILENCE)};
	struct bench b;

	(void)state;
	script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 1);
	run(&b, 0);
	assert_result(&b, 0, 0, MAD_TIMED_OUT, 0, 3);
	/* Later than the wire would have said, but not much. */
	assert_in_range(elapsed_ms(&b), 3 * 100 + 1, 3 * 140);
	tear_down(&b);
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
	script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 1);
	counts = run(&b, 0);
	assert_result(&b, 0, 0, MAD_ANSWERED, 0, 2);
	assert_int_equal(counts->late, 1);
	assert_in_range(elapsed_ms(&b), 151, 250);
	tear_down(&b);
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
	script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 2);
	counts = run(&b, 0);
	assert_result(&b, 0, 0, MAD_ANSWERED, 0, 1);
	assert_result(&b, 0, 1, MAD_ANSWERED, 0, 2);
	assert_int_equal(counts->late, 3);
	assert_int_equal(counts->foreign, 0);
	tear_down(&b);
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
	play(&b, &one_by_one, answer_after_strangers, NULL);
	script_job_add(&b.job, 7, 4);
	counts = run(&b, 0);
	assert_int_equal(counts->ended[MAD_ANSWERED], 4);
	assert_int_equal(counts->sent, 4);
	assert_int_equal(counts->foreign, 4 * 5);
	assert_int_equal(counts->late, 0);
	tear_down(&b);
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
	script(&b, &limits, entries, COUNT(entries));
	script_job_add(&b.job, 7, 100);
	run(&b, 0); /* alone, so that the order is the script's */
	for (i = 5; i < 8; i++)
		assert_result(&b, 0, i, MAD_TIMED_OUT, 0, 1);
	for (i = 8; i < 100; i++)
		assert_result(&b, 0, i, MAD_NOT_ASKED, 0, 0);
	script_job_free(&b.job);
	script_job_init(&b.job, &b.limits);
	script_job_add(&b.job, 8, 1);
	assert_int_equal(mad_engine_run(b.engine, &b.job.job), 0);
	assert_result(&b, 0, 0, MAD_ANSWERED, 0, 1);
	tear_down(&b);
}

/* Device 7 is silent, all others answer. */
static int silent_7(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	return request->to->lid == 7 ? 0 : answer_all(arg, wire, request);
}

static void giving_up_ends_repeats_too(void **state)
{
	const struct mad_limits limits = {
		.window = 8, .device_window = 4, .timeout_ms = 100, .retries = 3, .give_up = 1};
	const struct mad_counts *counts;
	struct bench b;
	unsigned i;

	(void)state;
	play(&b, &limits, silent_7, NULL);
	script_job_add(&b.job, 7, 1000);
	script_job_add(&b.job, 8, 1000);
	counts = run(&b, 0);
	assert_int_equal(b.job.device[1].outcomes[MAD_ANSWERED], 1000);
	/* The four in hand had all their tries when the first of them ended, as they went together. */
	for (i = 0; i < 4; i++)
		assert_result(&b, 0, i, MAD_TIMED_OUT, 0, 4);
	assert_int_equal(counts->ended[MAD_TIMED_OUT], 4);
	assert_int_equal(counts->ended[MAD_NOT_ASKED], 996);
	assert_int_equal(counts->sent, 1000 + 16);
	tear_down(&b);
}

static void zero_never_gives_up(void **state)
{
	const struct mad_limits limits = {
		.window = 4, .device_window = 4, .timeout_ms = 10, .retries = 0, .give_up = 0};
	struct bench b;

	(void)state;
	play(&b, &limits, silent_7, NULL);
	script_job_add(&b.job, 7, 50);
	assert_int_equal(run(&b, 0)->ended[MAD_TIMED_OUT], 50);
	tear_down(&b);
}

static void a_refused_mad_is_kept(void **state)
{
	static const struct script_entry entries[] = {GET(7, 1, ANSWER), GET(7, 2, REFUSED(-EAGAIN)),
						      GET(7, 2, REFUSED(-EAGAIN)), GET(7, 2, ANSWER)};
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 2);
	counts = run(&b, 0);
	assert_result(&b, 0, 1, MAD_ANSWERED, 0, 1);
	assert_int_equal(counts->send_failed, 0);
	assert_int_equal(counts->sent, 2);
	tear_down(&b);
}

static int always(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	(void)wire;
	(void)request;
	return *(int *)arg;
}

static void a_wire_that_refuses_for_ever_is_broken(void **state)
{
	int error = -EAGAIN;
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	play(&b, &one_by_one, always, &error);
	script_job_add(&b.job, 7, 5);
	counts = run(&b, -EAGAIN);
	assert_int_equal(counts->ended[MAD_NOT_ASKED], 5);
	assert_in_range(elapsed_ms(&b), 100, 200);
	tear_down(&b);
}

static void bad_addresses_do_not_break_the_run(void **state)
{
	const struct mad_counts *counts;
	struct bench b;
	unsigned i;

	(void)state;
	play(&b, &one_by_one, answer_all, NULL);
	for (i = 0; i < 20; i++)
		script_job_add(&b.job, (uint16_t)(100 + i), 3)->no_address = true;
	script_job_add(&b.job, 7, 3);
	counts = run(&b, 0);
	assert_int_equal(counts->send_failed, 60);
	assert_int_equal(counts->ended[MAD_NOT_ASKED], 60);
	assert_int_equal(counts->ended[MAD_ANSWERED], 3);
	tear_down(&b);
}

static void failing_sends_break_the_run(void **state)
{
	static const struct script_entry entries[] = {
		GET(7, 1, REFUSED(-EIO)),  GET(7, 2, REFUSED(-EIO)),    GET(7, 3, REFUSED(-EIO)),
		GET(7, 4, REFUSED(-EIO)),  GET(7, 5, REFUSED(-EIO)),    GET(7, 6, REFUSED(-EIO)),
		GET(7, 7, REFUSED(-EIO)),  GET(7, 8, ANSWER), /* seven in a row are borne */
		GET(7, 9, REFUSED(-EIO)),  GET(7, 10, REFUSED(-EIO)),   GET(7, 11, REFUSED(-EIO)),
		GET(7, 12, REFUSED(-EIO)), GET(7, 13, REFUSED(-EIO)),   GET(7, 14, REFUSED(-EIO)),
		GET(7, 15, REFUSED(-EIO)), GET(7, 16, REFUSED(-ENODEV))};
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 30);
	counts = run(&b, -ENODEV);
	assert_int_equal(counts->ended[MAD_ANSWERED], 1);
	assert_int_equal(counts->ended[MAD_NOT_ASKED], 29);
	assert_int_equal(counts->send_failed, 15);
	tear_down(&b);
}

static void failing_receives_break_the_run(void **state)
{
	const struct mad_limits limits = {.window = 4, .device_window = 2, .timeout_ms = 100, .retries = 1};
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	play(&b, &limits, answer_all, NULL);
	script_job_add(&b.job, 7, 10);
	script_job_add(&b.job, 8, 10);
	b.wire.receive_errors = 7; /* borne */
	b.wire.receive_error = -ENODEV;
	counts = run(&b, 0);
	assert_int_equal(counts->ended[MAD_ANSWERED], 20);
	script_job_free(&b.job);
	script_job_init(&b.job, &b.limits);
	script_job_add(&b.job, 9, 10);
	script_job_add(&b.job, 10, 10);
	b.wire.receive_errors = 8;
	assert_int_equal(mad_engine_run(b.engine, &b.job.job), -ENODEV);
	assert_int_equal(b.job.done, 20);
	assert_int_equal(counts->ended[MAD_NOT_ASKED], 20);
	assert_int_equal(counts->sent, 20 + 4);
	tear_down(&b);
}

static void an_interrupted_receive_is_no_error(void **state)
{
	struct bench b;

	(void)state;
	play(&b, &one_by_one, answer_all, NULL);
	script_job_add(&b.job, 7, 10);
	b.wire.receive_errors = 50;
	b.wire.receive_error = -EINTR;
	assert_int_equal(run(&b, 0)->ended[MAD_ANSWERED], 10);
	tear_down(&b);
}

/* Raises the stop flag when the 30th MAD is sent; devices with odd LIDs are silent. */
static int stop_at_30(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	struct bench *b = arg;

	if (wire->sends == 29)
		b->stop = 1;
	return request->to->lid & 1 ? 0 : answer_all(NULL, wire, request);
}

static void a_signal_stops_everything(void **state)
{
	const struct mad_limits limits = {
		.window = 16, .device_window = 4, .timeout_ms = 5000, .retries = 5, .give_up = 4};
	const struct mad_counts *counts;
	uint64_t start;
	struct bench b;
	unsigned i;

	(void)state;
	play(&b, &limits, stop_at_30, &b);
	for (i = 0; i < 10; i++)
		script_job_add(&b.job, (uint16_t)(10 + i % 2), 100);
	start = b.wire.clock_ns;
	counts = run(&b, -EINTR);
	assert_int_equal(counts->sent, 30);
	assert_int_equal(counts->ended[MAD_TIMED_OUT], 0);
	assert_true(counts->ended[MAD_ANSWERED] < 30);
	assert_int_equal(counts->ended[MAD_ANSWERED] + counts->ended[MAD_NOT_ASKED], 1000);
	assert_true(b.wire.clock_ns - start <= 100 * MS);

	/* It stays usable: answers to the first run's MADs are late in the second. */
	b.stop = 0;
	script_job_free(&b.job);
	script_job_init(&b.job, &b.limits);
	script_job_add(&b.job, 20, 8);
	b.wire.device = answer_all;
	assert_int_equal(mad_engine_run(b.engine, &b.job.job), 0);
	assert_int_equal(b.job.device[0].outcomes[MAD_ANSWERED], 8);
	assert_int_equal(counts->foreign, 0);
	tear_down(&b);
}

/* A signal while nothing but a timeout can happen: raised as the clock passes a time. */
struct signal_at {
	uint64_t (*now)(struct mad_wire *wire);
	volatile sig_atomic_t *stop;
	uint64_t when_ns;
};

static uint64_t now_with_signal(struct mad_wire *wire)
{
	const struct signal_at *s = ((struct script_wire *)wire)->arg;
	uint64_t now = s->now(wire);

	if (now >= s->when_ns)
		*s->stop = 1;
	return now;
}

static int never_answer(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	(void)arg;
	(void)wire;
	(void)request;
	return 0;
}

static void a_signal_is_noticed_while_waiting(void **state)
{
	const struct mad_limits limits = {.window = 1, .device_window = 1, .timeout_ms = 60000, .retries = 5};
	struct mad_wire_ops ops;
	struct signal_at at;
	struct bench b;

	(void)state;
	play(&b, &limits, never_answer, &at);
	ops = *b.wire.wire.ops;
	at = (struct signal_at){.now = ops.now, .stop = &b.stop, .when_ns = b.wire.clock_ns + 1050 * MS};
	ops.now = now_with_signal;
	b.wire.wire.ops = &ops;
	script_job_add(&b.job, 7, 1);
	run(&b, -EINTR);
	assert_result(&b, 0, 0, MAD_NOT_ASKED, 0, 1);
	assert_in_range(elapsed_ms(&b), 1050, 1150);
	tear_down(&b);
}

static int note_order(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	uint16_t *order = arg;

	if (wire->sends < 8)
		order[wire->sends] = request->to->lid;
	return answer_all(NULL, wire, request);
}

static void devices_are_asked_in_turn(void **state)
{
	const struct mad_limits limits = {.window = 8, .device_window = 8, .timeout_ms = 100};
	static const uint16_t expected[] = {1, 2, 3, 4, 1, 2, 4, 1};
	uint16_t order[8];
	struct bench b;

	(void)state;
	play(&b, &limits, note_order, order);
	script_job_add(&b.job, 1, 10);
	script_job_add(&b.job, 2, 2);
	script_job_add(&b.job, 3, 1);
	script_job_add(&b.job, 4, 2);
	run(&b, 0);
	assert_memory_equal(order, expected, sizeof(expected));
	tear_down(&b);
}

static void windows_are_filled_and_held(void **state)
{
	const struct mad_limits limits = {.window = 10, .device_window = 3, .timeout_ms = 100};
	struct bench b;
	unsigned i;

	(void)state;
	play(&b, &limits, answer_all, NULL);
	script_job_add(&b.job, 1, 100);
	run(&b, 0);
	assert_int_equal(b.wire.peak, 3);
	script_job_free(&b.job);
	script_job_init(&b.job, &b.limits);
	for (i = 2; i < 9; i++)
		script_job_add(&b.job, (uint16_t)i, 100);
	assert_int_equal(mad_engine_run(b.engine, &b.job.job), 0);
	assert_int_equal(b.wire.peak, 10);
	assert_int_equal(b.wire.device_peak, 3);
	tear_down(&b);
}

static void the_rate_is_held_and_reached(void **state)
{
	static const struct {
		unsigned rate, window, queries;
		uint64_t least_ms, most_ms;
	} cases[] = {
		{1, 16, 4, 3000, 4100}, /* a second more to learn that there is no fifth query */
		{100, 16, 1000, 9900, 10100},
		{2000, 16, 10000, 4900, 5200},
		/* here a millisecond's wait is longer than the burst that may follow it */
		{20000, 16, 40000, 1950, 2700},
		{20000, 1, 4000, 200, 4200},
	};
	struct mad_limits limits = {.timeout_ms = 100};
	struct bench b;
	unsigned i, device;

	(void)state;
	for (i = 0; i < COUNT(cases); i++) {
		limits.window = limits.device_window = cases[i].window;
		limits.rate = cases[i].rate;
		play(&b, &limits, answer_all, NULL);
		for (device = 0; device < 4; device++)
			script_job_add(&b.job, (uint16_t)(1 + device), cases[i].queries / 4);
		run(&b, 0);
		assert_in_range(elapsed_ms(&b), cases[i].least_ms, cases[i].most_ms);
		assert_true(script_wire_most_in_a_second(&b.wire) <= cases[i].rate);
		tear_down(&b);
	}
}

static void limits_out_of_range(void **state)
{
	static const struct mad_limits bad[] = {
		{.window = 0, .device_window = 1, .timeout_ms = 1},
		{.window = 4097, .device_window = 1, .timeout_ms = 1},
		{.window = 4, .device_window = 0, .timeout_ms = 1},
		{.window = 4, .device_window = 5, .timeout_ms = 1},
		{.window = 4, .device_window = 4, .timeout_ms = 0},
		{.window = 4, .device_window = 4, .timeout_ms = 0x80000000u},
	};
	const struct mad_limits widest = {.window = 4096, .device_window = 4096, .timeout_ms = 0x7fffffff};
	struct ibqos_ctx ctx = {.program = "test", .err = stderr};
	struct mad_engine *engine;
	struct script_wire wire;
	unsigned i;

	(void)state;
	script_wire_init(&wire, NULL, 0);
	for (i = 0; i < COUNT(bad); i++) {
		assert_int_equal(mad_engine_new(&ctx, &wire.wire, &bad[i], &engine), -EINVAL);
		assert_null(engine);
		assert_false(wire.closed);
	}
	assert_int_equal(mad_engine_new(&ctx, &wire.wire, &widest, &engine), 0);
	mad_engine_free(engine);
	script_wire_end(&wire);
	mad_engine_free(NULL);
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
		cmocka_unit_test(a_refused_mad_is_kept),
		cmocka_unit_test(a_wire_that_refuses_for_ever_is_broken),
		cmocka_unit_test(bad_addresses_do_not_break_the_run),
		cmocka_unit_test(failing_sends_break_the_run),
		cmocka_unit_test(failing_receives_break_the_run),
		cmocka_unit_test(an_interrupted_receive_is_no_error),
		cmocka_unit_test(a_signal_stops_everything),
		cmocka_unit_test(a_signal_is_noticed_while_waiting),
		cmocka_unit_test(devices_are_asked_in_turn),
		cmocka_unit_test(windows_are_filled_and_held),
		cmocka_unit_test(the_rate_is_held_and_reached),
		cmocka_unit_test(limits_out_of_range),
	};

	return cmocka_run_group_tests_name("mad_engine", tests, NULL, NULL);
}
