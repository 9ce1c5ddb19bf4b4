/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The engine against fabrics that misbehave at random, seeds fixed. Whatever devices and wire do:
 * each query is handed back exactly once with its own data (script_job.c checks that), windows and
 * rate are never exceeded, answers are counted to the last one, a device that answers properly is
 * not blamed for others, and a dead one costs no more MADs than its limits allow.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"
#include "script_job.h"
#include "script_wire.h"

#define MS 1000000ull
#define SEEDS cases(100)
#define DEVICES_MAX 200

enum manner {
	SOUND,   /* answers in time */
	DEAD,    /* never answers */
	REFUSES, /* answers each query with a status */
	WILD,    /* anything below, by chance */
	MANNERS,
};

struct fabric {
	uint64_t random;
	const struct mad_limits *limits;
	enum manner manner[DEVICES_MAX];
	uint64_t sent[DEVICES_MAX];
	unsigned send_errors;  /* of 1000 sends, how many fail in some way */
	bool fatal;            /* errors of the kind that tells on the wire may occur */
	struct mad_reply kept; /* of an earlier request, to be sent again */
	bool has_kept;
	volatile sig_atomic_t *stop;
	uint64_t stop_after; /* MADs; 0: never */
};

static uint32_t draw(struct fabric *f, uint32_t below)
{
	/* splitmix64, so that a seed gives the same run everywhere */
	uint64_t z = f->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ z >> 31) % below);
}

static uint64_t in_time(struct fabric *f)
{
	return 1 + draw(f, (uint32_t)(f->limits->timeout_ms * MS - 1));
}

static void misbehave(struct fabric *f, struct script_wire *wire, const struct mad_request *request)
{
	struct mad_reply reply = script_answer(request);
	uint64_t late = (uint64_t)(f->limits->timeout_ms * MS) * (1 + draw(f, 5));

	switch (draw(f, 12)) {
	case 0: /* silence */
		return;
	case 1: /* the wire gives it up */
		reply.timed_out = true;
		script_reply(wire, f->limits->timeout_ms * MS, &reply);
		return;
	case 2: /* twice, and once more when it has long been forgotten */
		script_reply(wire, in_time(f), &reply);
		script_reply(wire, in_time(f), &reply);
		break;
	case 3: /* late */
		script_reply(wire, late + draw(f, 50000000), &reply);
		return;
	case 4: /* busy */
		reply.status = 1;
		break;
	case 5: /* a final status */
		reply.status = (uint16_t)(2 * (1 + draw(f, 14)));
		break;
	case 6: /* someone else's transaction */
		reply.tid = draw(f, UINT32_MAX);
		break;
	case 7:
		reply.attribute ^= (uint16_t)(1 + draw(f, 255));
		break;
	case 8:
		reply.modifier ^= 1 + draw(f, 255);
		break;
	case 9: /* an answer of an earlier request instead, this one later */
		if (f->has_kept)
			script_reply(wire, in_time(f), &f->kept);
		f->kept = reply;
		f->has_kept = true;
		return;
	default:
		break;
	}
	script_reply(wire, in_time(f), &reply);
}

static int play_device(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	struct fabric *f = arg;
	unsigned device = request->to->lid - 1u;
	struct mad_reply reply = script_answer(request);

	assert_true(device < DEVICES_MAX);
	if (f->stop_after && wire->sends >= f->stop_after)
		fail_msg("a MAD was sent after the stop");
	if (draw(f, 1000) < f->send_errors) {
		if (f->fatal && !draw(f, 2))
			return draw(f, 2) ? -EIO : -ENODEV;
		return draw(f, 2) ? -EAGAIN : -EINVAL;
	}
	if (f->stop_after && wire->sends + 1 == f->stop_after)
		*f->stop = 1;
	f->sent[device]++;
	switch (f->manner[device]) {
	case DEAD:
		break;
	case WILD:
		misbehave(f, wire, request);
		break;
	case REFUSES:
		reply.status = 0x000c;
		script_reply(wire, in_time(f), &reply);
		break;
	default:
		script_reply(wire, in_time(f), &reply);
		break;
	}
	return 0;
}

static void draw_limits(struct fabric *f, struct mad_limits *limits)
{
	static const unsigned rates[] = {0, 0, 50, 1000, 20000};

	limits->window = 1 + draw(f, draw(f, 2) ? 8 : 100);
	limits->device_window = 1 + draw(f, limits->window);
	limits->timeout_ms = 1 + draw(f, 200);
	limits->retries = draw(f, 4);
	limits->rate = rates[draw(f, 5)];
	limits->give_up = draw(f, 5);
}

static void draw_job(struct fabric *f, struct script_job *job)
{
	unsigned devices = 1 + draw(f, DEVICES_MAX), most = draw(f, 4) ? 30 : 300, i;

	for (i = 0; i < devices; i++) {
		f->manner[i] = draw(f, 3) ? WILD : draw(f, MANNERS);
		script_job_add(job, (uint16_t)(i + 1), draw(f, most));
	}
}

/* What the outcome of each device must be when no send failed. */
static void check_devices(const struct fabric *f, const struct script_job *job)
{
	const struct mad_limits *l = f->limits;
	uint64_t dead_most = (uint64_t)(l->give_up - 1 + l->device_window) * (l->retries + 1);
	const struct script_job_device *d;
	uint32_t i;

	for (i = 0; i < job->job.devices; i++) {
		d = &job->device[i];
		switch (f->manner[i]) {
		case SOUND:
			/* An answer that takes long is taken, though its MAD may have been repeated by then. */
			assert_int_equal(d->outcomes[MAD_ANSWERED], d->queries);
			assert_in_range(f->sent[i], d->queries, (uint64_t)d->queries * (l->retries + 1));
			break;
		case REFUSES:
			assert_int_equal(d->outcomes[MAD_STATUS], d->queries);
			assert_in_range(f->sent[i], d->queries, (uint64_t)d->queries * (l->retries + 1));
			break;
		case DEAD:
			assert_int_equal(d->outcomes[MAD_TIMED_OUT] + d->outcomes[MAD_NOT_ASKED], d->queries);
			if (!l->give_up) {
				assert_int_equal(d->outcomes[MAD_NOT_ASKED], 0);
				assert_int_equal(f->sent[i], (uint64_t)d->queries * (l->retries + 1));
			} else {
				assert_true(f->sent[i] <= dead_most);
			}
			break;
		default:
			if (!l->give_up)
				assert_int_equal(d->outcomes[MAD_NOT_ASKED], 0);
			break;
		}
	}
}

static void check_wire(const struct script_wire *wire, const struct mad_limits *limits,
		       const struct mad_counts *counts)
{
	assert_true(wire->peak <= limits->window);
	assert_true(wire->device_peak <= limits->device_window);
	if (limits->rate)
		assert_true(script_wire_most_in_a_second(wire) <= limits->rate);
	assert_int_equal(counts->sent, wire->sends);
	assert_true(counts->retried <= counts->sent);
	assert_in_range(counts->window_least, 1, limits->window);
	assert_in_range(counts->window, counts->window_least, limits->window);
}

struct scene {
	struct fabric fabric;
	struct mad_limits limits;
	struct script_wire wire;
	struct script_job job;
	struct mad_engine *engine;
	volatile sig_atomic_t stop;
	struct ibqos_ctx ctx;
};

static void set_scene(struct scene *s, uint64_t seed)
{
	*s = (struct scene){.fabric = {.random = seed, .limits = &s->limits, .stop = &s->stop},
			    .ctx = {.program = "test", .err = stderr, .stop = &s->stop}};
	draw_limits(&s->fabric, &s->limits);
	script_wire_play(&s->wire, play_device, &s->fabric);
	script_job_init(&s->job, &s->limits);
	draw_job(&s->fabric, &s->job);
	assert_int_equal(mad_engine_new(&s->ctx, &s->wire.wire, &s->limits, &s->engine), 0);
}

static void end_scene(struct scene *s)
{
	mad_engine_free(s->engine);
	script_wire_end(&s->wire);
	script_job_free(&s->job);
}

/* Prints the seed if the checks after it fail. */
static void run_scene(struct scene *s, uint64_t seed, int expected)
{
	const struct mad_counts *counts = mad_engine_counts(s->engine);
	int ret = mad_engine_run(s->engine, &s->job.job);

	if (ret != expected)
		fail_msg("seed %llu: returned %d, not %d", (unsigned long long)seed, ret, expected);
	script_job_check(&s->job, counts);
	check_wire(&s->wire, &s->limits, counts);
}

static void every_query_comes_back_once(void **state)
{
	uint64_t queries = 0, seed, busy_or_answered, answers;
	const struct mad_counts *counts;
	struct scene s;

	(void)state;
	for (seed = 1; seed <= SEEDS; seed++) {
		set_scene(&s, seed);
		run_scene(&s, seed, 0);
		counts = mad_engine_counts(s.engine);
		check_devices(&s.fabric, &s.job);
		assert_int_equal(counts->send_failed, 0);
		/*
		 * Each answer delivered is late, foreign, or ended a query or said "busy" to one; a
		 * query ends with at most one answer that is not "busy", and "busy" costs a try.
		 */
		busy_or_answered = s.wire.delivered - counts->late - counts->foreign;
		answers = counts->ended[MAD_ANSWERED] + counts->ended[MAD_STATUS];
		assert_true(busy_or_answered >= answers);
		assert_true(busy_or_answered <= answers + counts->retried);
		queries += counts->queries;
		end_scene(&s);
	}
	print_message("%llu queries\n", (unsigned long long)queries);
	assert_true(queries > 1000 * SEEDS);
}

static void also_when_sends_fail(void **state)
{
	uint64_t seed, failed = 0;
	struct scene s;

	(void)state;
	for (seed = 1000; seed < 1000 + SEEDS; seed++) {
		set_scene(&s, seed);
		s.fabric.send_errors = 1 + draw(&s.fabric, 400);
		run_scene(&s, seed, 0);
		failed += mad_engine_counts(s.engine)->send_failed;
		end_scene(&s);
	}
	assert_true(failed > 10 * SEEDS);
}

static void also_when_the_wire_breaks(void **state)
{
	unsigned broken = 0;
	uint64_t seed;
	struct scene s;
	int ret;

	(void)state;
	for (seed = 2000; seed < 2000 + SEEDS; seed++) {
		set_scene(&s, seed);
		s.fabric.send_errors = 500 + draw(&s.fabric, 500);
		s.fabric.fatal = true;
		ret = mad_engine_run(s.engine, &s.job.job);
		assert_true(ret == 0 || ret == -EIO || ret == -ENODEV);
		broken += ret != 0;
		script_job_check(&s.job, mad_engine_counts(s.engine));
		check_wire(&s.wire, &s.limits, mad_engine_counts(s.engine));
		end_scene(&s);
	}
	assert_in_range(broken, SEEDS / 10, SEEDS);
}

static void also_when_stopped(void **state)
{
	unsigned stopped = 0;
	uint64_t seed;
	struct scene s;
	int ret;

	(void)state;
	for (seed = 3000; seed < 3000 + SEEDS; seed++) {
		set_scene(&s, seed);
		s.fabric.stop_after = 1 + draw(&s.fabric, 400);
		ret = mad_engine_run(s.engine, &s.job.job);
		assert_true(ret == 0 || ret == -EINTR);
		assert_int_equal(ret == -EINTR, s.stop != 0);
		stopped += ret != 0;
		script_job_check(&s.job, mad_engine_counts(s.engine));
		check_wire(&s.wire, &s.limits, mad_engine_counts(s.engine));
		end_scene(&s);
	}
	assert_in_range(stopped, SEEDS / 2, SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_query_comes_back_once),
		cmocka_unit_test(also_when_sends_fail),
		cmocka_unit_test(also_when_the_wire_breaks),
		cmocka_unit_test(also_when_stopped),
	};

	return cmocka_run_group_tests_name("mad_property", tests, NULL, NULL);
}
