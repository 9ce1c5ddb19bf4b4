/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The engine's windows, turns and rate; a wire that fails; signals. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "script_bench.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define MS 1000000ull

static const struct mad_limits one_by_one = {
	.window = 1, .device_window = 1, .timeout_ms = 100, .retries = 2, .rate = 0, .give_up = 0};

static void a_refused_mad_is_kept(void **state)
{
	static const struct script_entry entries[] = {GET(7, 1, ANSWER), GET(7, 2, REFUSED(-EAGAIN)),
						      GET(7, 2, REFUSED(-EAGAIN)), GET(7, 2, ANSWER)};
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	bench_script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 2);
	counts = bench_run(&b, 0);
	assert_result(&b, 0, 1, MAD_ANSWERED, 0, 1);
	assert_int_equal(counts->send_failed, 0);
	assert_int_equal(counts->sent, 2);
	bench_end(&b);
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
	bench_play(&b, &one_by_one, always, &error);
	script_job_add(&b.job, 7, 5);
	counts = bench_run(&b, -EAGAIN);
	assert_int_equal(counts->ended[MAD_NOT_ASKED], 5);
	assert_in_range(bench_ms(&b), 100, 200);
	bench_end(&b);
}

/* Takes two MADs, then none for 150 ms; device 7 is silent. */
static int refuse_a_while(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	const uint64_t *start_ns = arg;

	if (wire->sends >= 2 && wire->clock_ns < *start_ns + 150 * MS)
		return -EAGAIN;
	return request->to->lid == 7 ? 0 : script_answer_all(NULL, wire, request);
}

static void a_refusal_ends_with_its_query(void **state)
{
	/* A try lasts 121 ms: less than the wire refuses in all, more than it refuses each query. */
	const struct mad_limits limits = {
		.window = 3, .device_window = 2, .timeout_ms = 90, .retries = 0, .give_up = 1};
	struct bench b;

	(void)state;
	bench_play(&b, &limits, refuse_a_while, &b.start_ns);
	script_job_add(&b.job, 7, 2);
	script_job_add(&b.job, 8, 2);
	bench_run(&b, 0);
	assert_result(&b, 0, 0, MAD_TIMED_OUT, 0, 1);
	assert_result(&b, 0, 1, MAD_NOT_ASKED, 0, 0);
	assert_result(&b, 1, 1, MAD_ANSWERED, 0, 1);
	assert_in_range(bench_ms(&b), 150, 160);
	bench_end(&b);
}

static void bad_addresses_do_not_break_the_run(void **state)
{
	const struct mad_counts *counts;
	struct bench b;
	unsigned i;

	(void)state;
	bench_play(&b, &one_by_one, script_answer_all, NULL);
	for (i = 0; i < 20; i++)
		script_job_add(&b.job, (uint16_t)(100 + i), 3)->no_address = true;
	script_job_add(&b.job, 7, 3);
	counts = bench_run(&b, 0);
	assert_int_equal(counts->send_failed, 60);
	assert_int_equal(counts->ended[MAD_NOT_ASKED], 60);
	assert_int_equal(counts->ended[MAD_ANSWERED], 3);
	bench_end(&b);
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
	bench_script(&b, &one_by_one, entries, COUNT(entries));
	script_job_add(&b.job, 7, 30);
	counts = bench_run(&b, -ENODEV);
	assert_int_equal(counts->ended[MAD_ANSWERED], 1);
	assert_int_equal(counts->ended[MAD_NOT_ASKED], 29);
	assert_int_equal(counts->send_failed, 15);
	bench_end(&b);
}

static void failing_receives_break_the_run(void **state)
{
	const struct mad_limits limits = {.window = 4, .device_window = 2, .timeout_ms = 100, .retries = 1};
	const struct mad_counts *counts;
	struct bench b;

	(void)state;
	bench_play(&b, &limits, script_answer_all, NULL);
	script_job_add(&b.job, 7, 10);
	script_job_add(&b.job, 8, 10);
	b.wire.receive_errors = 7; /* borne */
	b.wire.receive_error = -ENODEV;
	counts = bench_run(&b, 0);
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
	bench_end(&b);
}

static void an_interrupted_receive_is_no_error(void **state)
{
	struct bench b;

	(void)state;
	bench_play(&b, &one_by_one, script_answer_all, NULL);
	script_job_add(&b.job, 7, 10);
	b.wire.receive_errors = 50;
	b.wire.receive_error = -EINTR;
	assert_int_equal(bench_run(&b, 0)->ended[MAD_ANSWERED], 10);
	bench_end(&b);
}

/* Raises the stop flag when the 30th MAD is sent; devices with odd LIDs are silent. */
static int stop_at_30(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	struct bench *b = arg;

	if (wire->sends == 29)
		b->stop = 1;
	return request->to->lid & 1 ? 0 : script_answer_all(NULL, wire, request);
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
	bench_play(&b, &limits, stop_at_30, &b);
	for (i = 0; i < 10; i++)
		script_job_add(&b.job, (uint16_t)(10 + i % 2), 100);
	start = b.wire.clock_ns;
	counts = bench_run(&b, -EINTR);
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
	b.wire.device = script_answer_all;
	assert_int_equal(mad_engine_run(b.engine, &b.job.job), 0);
	assert_int_equal(b.job.device[0].outcomes[MAD_ANSWERED], 8);
	assert_int_equal(counts->foreign, 0);
	bench_end(&b);
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

static void a_signal_is_noticed_while_waiting(void **state)
{
	const struct mad_limits limits = {.window = 1, .device_window = 1, .timeout_ms = 60000, .retries = 5};
	struct mad_wire_ops ops;
	struct signal_at at;
	struct bench b;

	(void)state;
	bench_play(&b, &limits, script_answer_none, &at);
	ops = *b.wire.wire.ops;
	at = (struct signal_at){.now = ops.now, .stop = &b.stop, .when_ns = b.wire.clock_ns + 1050 * MS};
	ops.now = now_with_signal;
	b.wire.wire.ops = &ops;
	script_job_add(&b.job, 7, 1);
	bench_run(&b, -EINTR);
	assert_result(&b, 0, 0, MAD_NOT_ASKED, 0, 2); /* the second MAD in a late round */
	assert_in_range(bench_ms(&b), 1050, 1150);
	bench_end(&b);
}

static int note_order(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	uint16_t *order = arg;

	if (wire->sends < 8)
		order[wire->sends] = request->to->lid;
	return script_answer_all(NULL, wire, request);
}

static void devices_are_asked_in_turn(void **state)
{
	const struct mad_limits limits = {.window = 8, .device_window = 8, .timeout_ms = 100};
	static const uint16_t expected[] = {1, 2, 3, 4, 1, 2, 4, 1};
	uint16_t order[8];
	struct bench b;

	(void)state;
	bench_play(&b, &limits, note_order, order);
	script_job_add(&b.job, 1, 10);
	script_job_add(&b.job, 2, 2);
	script_job_add(&b.job, 3, 1);
	script_job_add(&b.job, 4, 2);
	bench_run(&b, 0);
	assert_memory_equal(order, expected, sizeof(expected));
	bench_end(&b);
}

static void windows_are_filled_and_held(void **state)
{
	const struct mad_limits limits = {.window = 10, .device_window = 3, .timeout_ms = 100};
	struct bench b;
	unsigned i;

	(void)state;
	bench_play(&b, &limits, script_answer_all, NULL);
	script_job_add(&b.job, 1, 100);
	bench_run(&b, 0);
	assert_int_equal(b.wire.peak, 3);
	script_job_free(&b.job);
	script_job_init(&b.job, &b.limits);
	for (i = 2; i < 9; i++)
		script_job_add(&b.job, (uint16_t)i, 100);
	assert_int_equal(mad_engine_run(b.engine, &b.job.job), 0);
	assert_int_equal(b.wire.peak, 10);
	assert_int_equal(b.wire.device_peak, 3);
	bench_end(&b);
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
		/* a millisecond's wait is longer than a windowful takes: the burst after it makes up for it */
		{20000, 16, 40000, 1990, 2050},
		{20000, 1, 4000, 198, 205},
	};
	struct mad_limits limits = {.timeout_ms = 100};
	struct bench b;
	unsigned i, device;

	(void)state;
	for (i = 0; i < COUNT(cases); i++) {
		limits.window = limits.device_window = cases[i].window;
		limits.rate = cases[i].rate;
		bench_play(&b, &limits, script_answer_all, NULL);
		for (device = 0; device < 4; device++)
			script_job_add(&b.job, (uint16_t)(1 + device), cases[i].queries / 4);
		bench_run(&b, 0);
		assert_in_range(bench_ms(&b), cases[i].least_ms, cases[i].most_ms);
		assert_true(script_wire_most_in_a_second(&b.wire) <= cases[i].rate);
		bench_end(&b);
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

/* Seven receives fail after each MAD. */
static int fail_in_between(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	wire->receive_errors = 7;
	wire->receive_error = -EIO;
	return script_answer_all(arg, wire, request);
}

static void failures_that_pass_are_borne(void **state)
{
	struct bench b;

	(void)state;
	bench_play(&b, &one_by_one, fail_in_between, NULL);
	script_job_add(&b.job, 7, 10);
	assert_int_equal(bench_run(&b, 0)->ended[MAD_ANSWERED], 10);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_mad_is_kept),
		cmocka_unit_test(a_wire_that_refuses_for_ever_is_broken),
		cmocka_unit_test(a_refusal_ends_with_its_query),
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
		cmocka_unit_test(failures_that_pass_are_borne),
	};

	return cmocka_run_group_tests_name("mad_limits", tests, NULL, NULL);
}
