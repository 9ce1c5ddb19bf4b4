/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A subnet administrator that loses part of what it is asked: what that may cost, on a clock of the wire's own, and how
 * each question ends. Which answers are lost is drawn from a seed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../src/source/live.h"
#include "images.h"
#include "script_wire.h"

#define SM_LID 7
#define NS_PER_MS 1000000ull
#define TRY_MS 2270 /* a try of 2 s, and what it is waited for beyond */
#define SEEDS 10

/* --- an administrator --- */

struct administrator {
	uint32_t random;
	unsigned percent;   /* of its answers that are lost */
	unsigned answer_us; /* one takes so long */
	unsigned asked;     /* MADs */
};

static unsigned draw(struct administrator *a)
{
	a->random = a->random * 1664525u + 1013904223u;
	return (a->random >> 16) % 100;
}

/* The record comes back as it was asked for, but for its first byte. */
static int administer(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	struct administrator *a = arg;
	struct mad_reply reply = script_answer(request);

	assert_int_equal(request->mgmt_class, MAD_CLASS_SA);
	a->asked++;
	if (draw(a) < a->percent) {
		reply.timed_out = true;
		script_reply(wire, request->timeout_ms * NS_PER_MS, &reply);
		return 0;
	}
	memcpy(reply.data, request->data, MAD_SA_DATA);
	reply.data[0] = 0xaa;
	script_reply(wire, a->answer_us * 1000ull, &reply);
	return 0;
}

/* --- a run --- */

struct run {
	struct ibqos_ctx ctx;
	struct script_wire wire;
	struct administrator administrator;
	struct fabric *fabric;
	struct source *source;
	struct source_sm_query *queries;
	size_t count;
	uint64_t lost_ns, took_ns; /* by the wire's clock */
	unsigned ended[MAD_OUTCOMES];
};

static int open_script(void *arg, const struct ibqos_ctx *ctx, const char *device, int port, struct mad_wire **wire)
{
	(void)ctx, (void)device, (void)port;
	*wire = &((struct script_wire *)arg)->wire;
	return 0;
}

static void begin(struct run *r, unsigned percent, uint32_t seed, size_t count, unsigned patience_ms)
{
	struct source_options options = {.limits = MAD_LIMITS_DEFAULT};

	*r = (struct run){.administrator = {.random = seed * 7919, .percent = percent, .answer_us = 300}, .count = count};
	options.limits.sa_patience_ms = patience_ms;
	r->fabric = fabric_new("");
	image_add_switch(r->fabric, "leaf", 0x10, 2, 1);
	r->fabric->sm_lid = SM_LID;
	assert_int_equal(fabric_finish(r->fabric), 0);
	r->queries = calloc(count, sizeof(*r->queries));
	assert_non_null(r->queries);
	for (size_t i = 0; i < count; i++) {
		r->queries[i] = (struct source_sm_query){.mgmt_class = MAD_CLASS_SA, .attribute = MAD_SA_SL2VL_RECORD, .mask = 7};
		r->queries[i].record[2] = (uint8_t)(i >> 8);
		r->queries[i].record[3] = (uint8_t)i;
	}
	script_wire_play(&r->wire, administer, &r->administrator);
	assert_int_equal(source_live_new(&r->ctx, &options, "sim0", 1, open_script, &r->wire, &r->source), 0);
}

/* Each question has ended once, with its own answer, and the source has counted it so. */
static void ask(struct run *r)
{
	const struct mad_counts *counts = source_counts(r->source), before = *counts;
	uint64_t began = r->wire.clock_ns;
	unsigned asked = r->administrator.asked, tries = 0;

	assert_int_equal(source_ask_sm(r->source, r->fabric, r->queries, r->count, &r->lost_ns), 0);
	r->took_ns = r->wire.clock_ns - began;
	memset(r->ended, 0, sizeof(r->ended));
	for (size_t i = 0; i < r->count; i++) {
		const struct source_sm_query *q = &r->queries[i];

		r->ended[q->outcome]++;
		tries += q->tries;
		assert_in_range(q->tries, 0, 4);
		assert_true((q->outcome == MAD_NOT_ASKED) == (q->tries == 0));
		if (q->outcome != MAD_ANSWERED)
			continue;
		assert_int_equal(q->data[0], 0xaa);
		assert_memory_equal(q->data + 1, q->record + 1, MAD_SA_DATA - 1);
	}
	assert_int_equal(r->ended[MAD_STATUS], 0);
	assert_int_equal(tries, r->administrator.asked - asked);
	assert_int_equal(counts->sent - before.sent, tries);
	for (int o = 0; o < MAD_NOT_ASKED; o++)
		assert_int_equal(counts->ended[o] - before.ended[o], r->ended[o]);
}

static void end(struct run *r)
{
	source_close(r->source);
	script_wire_end(&r->wire);
	fabric_free(r->fabric);
	free(r->queries);
}

/* --- tests --- */

static void without_loss_there_is_no_lost_time(void **state)
{
	struct run r;

	(void)state;
	begin(&r, 0, 1, 3000, 10000);
	ask(&r);
	assert_int_equal(r.ended[MAD_ANSWERED], 3000);
	assert_int_equal(r.administrator.asked, 3000);
	assert_int_equal(r.lost_ns, 0);
	end(&r);
}

/* The few that a verify of a fabric that is right asks: with two lost of ten, all are answered, in a second or two. */
static void few_questions_are_all_answered(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= SEEDS; seed++) {
		struct run r;

		begin(&r, 20, seed, 8, 10000);
		ask(&r);
		assert_int_equal(r.ended[MAD_ANSWERED] + r.ended[MAD_TIMED_OUT], 8);
		assert_in_range(r.ended[MAD_ANSWERED], 7, 8); /* one of 625 needs a fifth try */
		assert_true(r.took_ns <= 4 * TRY_MS * NS_PER_MS);
		end(&r);
	}
}

/*
 * Very many, of which so many are lost: it ends when patience does, but for the try that was under way. A second series of the same
 * patience asks nothing more; one of its own does.
 */
static void many_questions_end_with_the_patience(void **state)
{
	static const unsigned percent[] = {20, 50, 100}, answered_least[] = {1000, 10, 0};

	(void)state;
	for (size_t i = 0; i < sizeof(percent) / sizeof(percent[0]); i++) {
		for (uint32_t seed = 1; seed <= SEEDS; seed++) {
			struct run r;
			unsigned asked;

			begin(&r, percent[i], seed, 10000, 10000);
			ask(&r);
			assert_true(r.took_ns <= (10000 + TRY_MS + 1000) * NS_PER_MS);
			assert_true(r.lost_ns <= r.took_ns);
			assert_in_range(r.ended[MAD_ANSWERED], answered_least[i], percent[i] == 100 ? 0 : 5000);
			assert_in_range(r.ended[MAD_TIMED_OUT], 1, 64);
			assert_true(r.ended[MAD_NOT_ASKED] > 5000);
			asked = r.administrator.asked;
			if (r.lost_ns >= 10000 * NS_PER_MS) {
				ask(&r);
				assert_int_equal(r.administrator.asked, asked);
				assert_int_equal(r.ended[MAD_NOT_ASKED], 10000);
			}
			r.lost_ns = 0;
			r.administrator.percent = 0;
			ask(&r);
			assert_int_equal(r.ended[MAD_ANSWERED], 10000);
			end(&r);
		}
	}
}

static void without_a_bound_all_are_asked(void **state)
{
	struct run r;

	(void)state;
	begin(&r, 20, 3, 3000, 0);
	ask(&r);
	assert_int_equal(r.ended[MAD_NOT_ASKED], 0);
	assert_in_range(r.ended[MAD_TIMED_OUT], 0, 20); /* 0.16 % */
	end(&r);
}

/* It sweeps, say: every answer takes 700 ms. They are late for a repeat, but none is lost. */
static void slow_is_not_lost(void **state)
{
	struct run r;

	(void)state;
	begin(&r, 0, 1, 12, 10000);
	r.administrator.answer_us = 700000;
	ask(&r);
	assert_int_equal(r.ended[MAD_ANSWERED], 12);
	end(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_loss_there_is_no_lost_time),
		cmocka_unit_test(few_questions_are_all_answered),
		cmocka_unit_test(many_questions_end_with_the_patience),
		cmocka_unit_test(without_a_bound_all_are_asked),
		cmocka_unit_test(slow_is_not_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
