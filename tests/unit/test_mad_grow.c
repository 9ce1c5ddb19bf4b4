/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Jobs that grow: answers give devices more to ask, and the job more devices. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "script_wire.h"

#define DEVICES 3000
#define MS UINT64_C(1000000)

/*
 * Each device answers its query 1 by giving itself queries 2..`each` and, while there are fewer than `limit`, two
 * devices more. LID 1 + device.
 */
struct growth {
	struct mad_job job;
	unsigned limit, each;
	struct mad_address address;
	unsigned wanted[DEVICES], given[DEVICES], done[DEVICES];
	unsigned outcomes[MAD_OUTCOMES];
	uint32_t silent;       /* device that answers nothing but `spared`, late */
	unsigned spared;
	unsigned stop_after;
	volatile sig_atomic_t stop;
};

static const struct mad_address *address(void *arg, uint32_t device)
{
	struct growth *g = arg;

	g->address.lid = (uint16_t)(device + 1);
	return &g->address;
}

static bool next(void *arg, uint32_t device, struct mad_query *query)
{
	struct growth *g = arg;

	assert_true(device < g->job.devices);
	if (g->given[device] == g->wanted[device])
		return false;
	query->attribute = MAD_SL2VL;
	query->modifier = ++g->given[device];
	return true;
}

static void done(void *arg, uint32_t device, const struct mad_query *query, const struct mad_answer *answer)
{
	struct growth *g = arg;

	g->done[device]++;
	g->outcomes[answer->outcome]++;
	if (g->stop_after && --g->stop_after == 0)
		g->stop = 1;
	if (answer->outcome != MAD_ANSWERED || query->modifier != 1)
		return;
	g->wanted[device] = g->each;
	for (unsigned i = 0; i < 2 && g->job.devices < g->limit; i++)
		g->wanted[g->job.devices++] = 1;
}

static int play(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	struct growth *g = arg;
	struct mad_reply reply = script_answer(request);
	uint64_t delay = 1000;

	if (request->to->lid == g->silent + 1) {
		if (request->modifier != g->spared)
			return 0;
		delay = 900 * MS;
	}
	script_reply(wire, delay, &reply);
	return 0;
}

static struct growth *make(unsigned limit, unsigned each)
{
	struct growth *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	g->job = (struct mad_job){.devices = 1, .address = address, .next = next, .done = done, .arg = g, .grows = true};
	g->limit = limit;
	g->each = each;
	g->wanted[0] = 1;
	g->silent = UINT32_MAX - 1;
	return g;
}

static int run(struct growth *g, const struct mad_limits *limits, struct mad_counts *counts)
{
	struct ibqos_ctx ctx = {.program = "test", .stop = &g->stop, .err = stderr};
	struct script_wire wire;
	struct mad_engine *engine;
	int error;

	script_wire_play(&wire, play, g);
	assert_int_equal(mad_engine_new(&ctx, &wire.wire, limits, &engine), 0);
	error = mad_engine_run(engine, &g->job);
	*counts = *mad_engine_counts(engine);
	assert_true(wire.peak <= limits->window);
	assert_true(wire.device_peak <= limits->device_window);
	mad_engine_free(engine);
	script_wire_end(&wire);
	for (unsigned i = 0; i < g->job.devices; i++)
		assert_int_equal(g->done[i], g->given[i]);
	return error;
}

static struct mad_limits plain(void)
{
	struct mad_limits limits = MAD_LIMITS_DEFAULT;

	limits.rate = 0;
	return limits;
}

static void all_that_came_up_is_asked(void **state)
{
	const struct mad_limits limits = plain();
	struct growth *g = make(DEVICES, 5);
	struct mad_counts counts;

	(void)state;
	assert_int_equal(run(g, &limits, &counts), 0);
	assert_int_equal(g->job.devices, DEVICES);
	for (unsigned i = 0; i < DEVICES; i++)
		assert_int_equal(g->done[i], 5);
	assert_int_equal(counts.ended[MAD_ANSWERED], 5 * DEVICES);
	assert_int_equal(counts.sent, 5 * DEVICES);
	free(g);
}

static void one_at_a_time(void **state)
{
	struct mad_limits limits = plain();
	struct growth *g = make(50, 3);
	struct mad_counts counts;

	(void)state;
	limits.window = limits.device_window = 1;
	assert_int_equal(run(g, &limits, &counts), 0);
	assert_int_equal(counts.ended[MAD_ANSWERED], 150);
	free(g);
}

/* A job that does not say so is not asked again. */
static void a_job_that_does_not_grow(void **state)
{
	const struct mad_limits limits = plain();
	struct growth *g = make(50, 3);
	struct mad_counts counts;

	(void)state;
	g->job.grows = false;
	assert_int_equal(run(g, &limits, &counts), 0);
	assert_int_equal(g->done[0], 1);
	free(g);
}

/* What a device that was given up is found to have besides is handed back unasked. */
static void a_device_given_up_meanwhile(void **state)
{
	struct mad_limits limits = plain();
	struct growth *g = make(1, 40);
	struct mad_counts counts;

	(void)state;
	limits.give_up = 2;
	g->silent = 0;
	g->spared = 1;
	assert_int_equal(run(g, &limits, &counts), 0);
	assert_int_equal(g->given[0], 40);
	assert_int_equal(g->outcomes[MAD_ANSWERED], 1);
	assert_true(g->outcomes[MAD_NOT_ASKED] >= 40 - 1 - limits.device_window - limits.give_up);
	free(g);

	/* its answer comes when it has been given up for others that it left out */
	g = make(1, 40);
	g->silent = 0;
	g->spared = 2;
	g->wanted[0] = 4;
	limits.give_up = 1;
	limits.timeout_ms = 100;
	limits.retries = 20;
	assert_int_equal(run(g, &limits, &counts), 0);
	free(g);
}

static void a_signal_hands_all_back(void **state)
{
	const struct mad_limits limits = plain();
	struct mad_counts counts;

	(void)state;
	for (unsigned after = 1; after < 400; after += 7) {
		struct growth *g = make(300, 4);

		g->stop_after = after;
		assert_int_equal(run(g, &limits, &counts), -EINTR);
		assert_int_equal(counts.queries, counts.ended[MAD_ANSWERED] + counts.ended[MAD_NOT_ASKED]);
		for (unsigned i = 0; i < g->job.devices; i++)
			assert_int_equal(g->given[i], g->wanted[i]);
		free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_came_up_is_asked),
		cmocka_unit_test(one_at_a_time),
		cmocka_unit_test(a_job_that_does_not_grow),
		cmocka_unit_test(a_device_given_up_meanwhile),
		cmocka_unit_test(a_signal_hands_all_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
