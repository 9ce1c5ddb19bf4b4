/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* An engine with a scripted wire and job around it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "script_bench.h"

static void set_up(struct bench *b, const struct mad_limits *limits)
{
	b->limits = *limits;
	b->stop = 0;
	b->ctx = (struct ibqos_ctx){.program = "test", .fabric = "", .err = stderr, .stop = &b->stop};
	assert_int_equal(mad_engine_new(&b->ctx, &b->wire.wire, &b->limits, &b->engine), 0);
	script_job_init(&b->job, &b->limits);
	b->start_ns = b->wire.clock_ns;
}

void bench_script(struct bench *b, const struct mad_limits *limits, const struct script_entry *entries,
		  size_t count)
{
	script_wire_init(&b->wire, entries, count);
	set_up(b, limits);
}

void bench_play(struct bench *b, const struct mad_limits *limits, script_device *device, void *arg)
{
	script_wire_play(&b->wire, device, arg);
	set_up(b, limits);
}

const struct mad_counts *bench_run(struct bench *b, int expected)
{
	assert_int_equal(mad_engine_run(b->engine, &b->job.job), expected);
	script_job_check(&b->job, mad_engine_counts(b->engine));
	assert_int_equal(mad_engine_counts(b->engine)->sent, b->wire.sends);
	return mad_engine_counts(b->engine);
}

uint64_t bench_ms(const struct bench *b)
{
	return (b->wire.clock_ns - b->start_ns) / 1000000;
}

void bench_end(struct bench *b)
{
	mad_engine_free(b->engine);
	script_wire_end(&b->wire);
	script_job_free(&b->job);
}

void assert_result(const struct bench *b, uint32_t device, unsigned query, enum mad_outcome outcome,
		   uint16_t status, unsigned tries)
{
	const struct script_result *r = script_job_result(&b->job, device, query);

	assert_int_equal(r->outcome, outcome);
	assert_int_equal(r->status, status);
	assert_int_equal(r->tries, tries);
}

int script_answer_all(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	const struct mad_reply reply = script_answer(request);

	(void)arg;
	script_reply(wire, SCRIPT_DELAY_US * 1000, &reply);
	return 0;
}

int script_answer_none(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	(void)arg;
	(void)wire;
	(void)request;
	return 0;
}
