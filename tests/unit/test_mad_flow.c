/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Flow control by itself: windows that losses and slow answers narrow, and how long a short try is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "../../src/mad/flow.h"
#include "../../src/mad/park.h"
#include "../../src/mad/ring.h"

#define MS 1000000ull

static void answer(struct flow *f, unsigned times, uint64_t took_ns, uint64_t *now)
{
	while (times--)
		flow_answer(f, took_ns, took_ns, 0, *now += MS);
}

static void a_wide_window_is_opened_by_answers(void **state)
{
	uint64_t now = 0;
	struct flow f;

	(void)state;
	flow_init(&f, 100);
	assert_int_equal(f.window, 16);
	answer(&f, 15, MS, &now);
	assert_int_equal(f.window, 16);
	answer(&f, 1, MS, &now);
	assert_int_equal(f.window, 32);
	answer(&f, 32, MS, &now);
	assert_int_equal(f.window, 64);
	answer(&f, 64, MS, &now);
	assert_int_equal(f.window, 100);
	answer(&f, 1000, MS, &now);
	assert_int_equal(f.window, 100);
	assert_int_equal(f.least, 16);
	flow_init(&f, 3);
	assert_int_equal(f.window, 3);
	assert_int_equal(f.least, 3);
}

static void losses_halve_it_once_each_time(void **state)
{
	uint64_t now = 100 * MS;
	struct flow f;

	(void)state;
	flow_init(&f, 16);
	flow_loss(&f, 90 * MS, now);
	assert_int_equal(f.window, 8);
	/* others that were on the wire at the same time tell nothing new */
	flow_loss(&f, 95 * MS, now + MS);
	flow_loss(&f, 100 * MS, now + MS);
	assert_int_equal(f.window, 8);
	flow_loss(&f, 101 * MS, now + 2 * MS);
	assert_int_equal(f.window, 4);
	assert_int_equal(f.losses, 2);
	/* then one wider with each windowful, of 16 answers at least */
	now += 10 * MS;
	answer(&f, 16, MS, &now);
	assert_int_equal(f.window, 5);
	answer(&f, 11 * 16, MS, &now);
	assert_int_equal(f.window, 16);
	answer(&f, 100, MS, &now);
	assert_int_equal(f.window, 16);
	assert_int_equal(f.least, 4);
	for (unsigned i = 0; i < 10; i++, now += MS)
		flow_loss(&f, now, now + 1);
	assert_int_equal(f.window, 1);
	assert_int_equal(f.least, 1);
}

static void slow_answers_narrow_it(void **state)
{
	uint64_t now = 0;
	struct flow f;

	(void)state;
	flow_init(&f, 16);
	answer(&f, 16, MS, &now);
	/* 6 ms: four times the fastest and 5 ms more must both be passed */
	answer(&f, 16, 6 * MS, &now);
	assert_int_equal(f.window, 16);
	/* half of them is not most */
	answer(&f, 8, 7 * MS, &now);
	answer(&f, 8, MS, &now);
	assert_int_equal(f.window, 16);
	answer(&f, 9, 7 * MS, &now);
	answer(&f, 7, MS, &now);
	assert_int_equal(f.window, 8);
	answer(&f, 16 * 3, 7 * MS, &now);
	assert_int_equal(f.window, 1);
	assert_int_equal(f.slowdowns, 4);
	assert_int_equal(f.losses, 0);
	answer(&f, 16, MS, &now);
	assert_int_equal(f.window, 2);
	/* a device that was never faster is none that has become slow */
	flow_init(&f, 16);
	for (unsigned i = 0; i < 100; i++)
		flow_answer(&f, i < 16 ? MS : 50 * MS, i < 16 ? MS : 50 * MS, i < 16 ? 0 : 49 * MS, now += MS);
	assert_int_equal(f.window, 16);
	/* nor is one that nobody looked for */
	for (unsigned i = 0; i < 100; i++)
		flow_answer(&f, 50 * MS, 4 * MS, 0, now += MS);
	assert_int_equal(f.window, 16);
	/* where all is far away 5 ms more are nothing */
	flow_init(&f, 16);
	answer(&f, 16, 100 * MS, &now);
	answer(&f, 100, 350 * MS, &now);
	assert_int_equal(f.window, 16);
	answer(&f, 100, 401 * MS, &now);
	assert_true(f.window < 16);
}

static void a_short_try_follows_the_answers(void **state)
{
	uint64_t now = 0;
	struct flow f;

	(void)state;
	flow_init(&f, 16);
	assert_int_equal(flow_short_ms(&f, 0, 1000), 250);
	assert_int_equal(flow_short_ms(&f, 0, 100), 100); /* never longer than the whole */
	answer(&f, 7, MS / 10, &now);
	assert_int_equal(flow_short_ms(&f, 0, 1000), 250);
	answer(&f, 1, MS / 10, &now);
	assert_int_equal(flow_short_ms(&f, 0, 1000), 50); /* never shorter */
	assert_int_equal(flow_short_ms(&f, 0, 20), 20);
	answer(&f, 200, 100 * MS, &now); /* the spread wears off */
	assert_in_range(flow_short_ms(&f, 0, 1000), 99, 102);
	/* a device that takes longer has its own */
	assert_int_equal(flow_short_ms(&f, 300 * MS, 1000), 600);
	assert_int_equal(flow_short_ms(&f, 300 * MS, 500), 500);
	assert_in_range(flow_short_ms(&f, 10 * MS, 1000), 99, 102);
}

static void a_device_has_a_window_of_its_own(void **state)
{
	struct ring r;
	unsigned i;

	(void)state;
	assert_int_equal(ring_init(&r, 2, 6), 0);
	assert_int_equal(r.device[0].window, 4);
	for (i = 0; i < 4; i++)
		ring_heard(&r, 0, 1000000, 5 + i);
	assert_int_equal(r.device[0].window, 5);
	for (i = 0; i < 100; i++)
		ring_heard(&r, 0, 1000000, 9 + i);
	assert_int_equal(r.device[0].window, 6);
	assert_int_equal(r.device[0].took_us, 1000);
	assert_int_equal(r.device[0].heard_ns, 108);
	ring_shrink(&r, 0, 100, 200);
	ring_shrink(&r, 0, 200, 210);
	assert_int_equal(r.device[0].window, 3);
	ring_shrink(&r, 0, 201, 220);
	ring_shrink(&r, 0, 221, 222);
	assert_int_equal(r.device[0].window, 1);
	assert_int_equal(r.device[1].window, 4);
	assert_int_equal(ring_grow(&r, 1000), 0);
	assert_int_equal(r.device[0].window, 1);
	assert_int_equal(r.device[999].window, 4);
	ring_free(&r);
}

static void parked_queries_keep_their_order(void **state)
{
	struct park_list mine = PARK_LIST_EMPTY, other = PARK_LIST_EMPTY;
	struct parked q = {.tries = 1}, got;
	struct park p;
	unsigned i;

	(void)state;
	park_init(&p);
	assert_false(park_take(&p, &mine, &got));
	assert_false(park_release(&p, &mine, true));
	for (i = 0; i < 40; i++) {
		q.query.tag = i;
		assert_int_equal(park_add(&p, i % 2 ? &other : &mine, &q), 0);
	}
	assert_true(park_release(&p, &mine, true));
	assert_true(park_release(&p, &other, false));
	assert_true(park_take(&p, &p.next, &got));
	assert_int_equal(got.query.tag, 0);
	assert_true(got.late);
	assert_true(park_take(&p, &p.next, &got));
	assert_int_equal(got.query.tag, 1);
	assert_false(got.late);
	assert_false(park_take(&p, &p.next, &got));
	for (i = 2; i < 40; i += 2) {
		assert_true(park_take(&p, &mine, &got));
		assert_int_equal(got.query.tag, i);
	}
	assert_false(park_take(&p, &mine, &got));
	/* places are used again */
	for (i = 0; i < 21; i++)
		assert_int_equal(park_add(&p, &mine, &q), 0);
	assert_int_equal(p.count, 40);
	park_free(&p);
}

static void counts_of_several_engines(void **state)
{
	static const struct mad_counts none;
	struct mad_counts sum = {0};
	const struct mad_counts first = {.queries = 2, .ended = {1, 0, 1, 0}, .sent = 5, .retried = 3, .late = 1,
					 .rounds = 1, .losses = 2, .slow = 1, .window = 8, .window_least = 2};
	const struct mad_counts later = {.queries = 1, .ended = {1}, .sent = 1, .slowdowns = 1, .window = 16,
					 .window_least = 16};
	const struct mad_counts all = {.queries = 3, .ended = {2, 0, 1, 0}, .sent = 6, .retried = 3, .late = 1,
				       .rounds = 1, .losses = 2, .slow = 1, .slowdowns = 1, .window = 16,
				       .window_least = 2};

	(void)state;
	mad_counts_add(&sum, &none, &none);
	mad_counts_add(&sum, &first, &none);
	mad_counts_add(&sum, &first, &first); /* nothing since */
	mad_counts_add(&sum, &later, &none);
	mad_counts_add(&sum, &none, &none);
	assert_memory_equal(&sum, &all, sizeof(all));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wide_window_is_opened_by_answers),
		cmocka_unit_test(losses_halve_it_once_each_time),
		cmocka_unit_test(slow_answers_narrow_it),
		cmocka_unit_test(a_short_try_follows_the_answers),
		cmocka_unit_test(a_device_has_a_window_of_its_own),
		cmocka_unit_test(parked_queries_keep_their_order),
		cmocka_unit_test(counts_of_several_engines),
	};

	return cmocka_run_group_tests_name("mad_flow", tests, NULL, NULL);
}
