/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The engine's parts: slots and their transaction IDs, the rate ceiling, the ring of devices. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "../../src/mad/pace.h"
#include "../../src/mad/ring.h"
#include "../../src/mad/slots.h"

static void slots_know_present_past_and_alien(void **state)
{
	uint32_t first, second, index;
	struct slots s;

	(void)state;
	assert_int_equal(slots_init(&s, 3), 0);
	first = slots_next_tid(&s, 1);
	assert_int_equal(slots_find(&s, first, &index), SLOT_ALIEN); /* not sent yet */
	slots_sent(&s, 1, 50, 100, 100);
	assert_int_equal(slots_find(&s, first, &index), SLOT_PRESENT);
	assert_int_equal(index, 1);
	slots_move(&s, 1, SLOTS_READY); /* to be asked again: an answer to the first try still counts */
	assert_int_equal(slots_find(&s, first, &index), SLOT_EARLIER);
	second = slots_next_tid(&s, 1);
	assert_int_not_equal(first, second);
	slots_sent(&s, 1, 150, 200, 200);
	assert_int_equal(slots_find(&s, first, &index), SLOT_EARLIER);
	assert_int_equal(slots_find(&s, second, &index), SLOT_PRESENT);
	slots_listen(&s, 1);
	assert_int_equal(slots_find(&s, second, &index), SLOT_PRESENT);
	assert_int_equal(slots_find(&s, slots_next_tid(&s, 1), &index), SLOT_ALIEN);
	assert_int_equal(slots_find(&s, slots_next_tid(&s, 0), &index), SLOT_ALIEN);
	assert_int_equal(slots_find(&s, 3 | 1 << 12, &index), SLOT_ALIEN); /* no such slot */
	assert_int_equal(slots_find(&s, 0, &index), SLOT_ALIEN);
	s.slot[1].settled = true;
	assert_int_equal(slots_find(&s, second, &index), SLOT_PAST);
	slots_move(&s, 1, SLOTS_FREE);
	assert_int_equal(slots_find(&s, first, &index), SLOT_PAST);
	s.slot[1].tries = 0; /* the next query */
	slots_sent(&s, 1, 250, 300, 300);
	assert_int_equal(slots_find(&s, second, &index), SLOT_PAST);
	slots_free(&s);
	assert_int_equal(slots_init(&s, 0), -EINVAL);
	assert_int_equal(slots_init(&s, SLOTS_MAX + 1), -EINVAL);
}

static void transaction_ids_wrap(void **state)
{
	uint32_t i, tid, before = 0, index;
	struct slots s;

	(void)state;
	assert_int_equal(slots_init(&s, 1), 0);
	for (i = 0; i < 3u << 20; i++) {
		tid = slots_next_tid(&s, 0);
		assert_int_not_equal(tid, 0);
		s.slot[0].tries = 0;
		slots_sent(&s, 0, i, i, i);
		if (slots_find(&s, tid, &index) != SLOT_PRESENT)
			fail_msg("0x%x is not found", tid);
		if (before && slots_find(&s, before, &index) != SLOT_PAST)
			fail_msg("0x%x is not past", before);
		before = tid;
	}
	slots_free(&s);
}

static void lists_keep_their_order(void **state)
{
	struct slots s;

	(void)state;
	assert_int_equal(slots_init(&s, 3), 0);
	assert_int_equal(slots_first(&s, SLOTS_READY), SLOT_NONE);
	assert_int_equal(slots_first(&s, SLOTS_WAITING), SLOT_NONE);
	slots_move(&s, 2, SLOTS_READY);
	slots_move(&s, 0, SLOTS_READY);
	slots_move(&s, 1, SLOTS_READY);
	assert_int_equal(slots_first(&s, SLOTS_FREE), SLOT_NONE);
	slots_sent(&s, 0, 0, 1, 1); /* from the middle */
	assert_int_equal(slots_first(&s, SLOTS_READY), 2);
	slots_sent(&s, 2, 0, 2, 2);
	assert_int_equal(slots_first(&s, SLOTS_READY), 1);
	assert_int_equal(slots_first(&s, SLOTS_WAITING), 0);
	slots_move(&s, 0, SLOTS_FREE);
	assert_int_equal(slots_first(&s, SLOTS_WAITING), 2);
	assert_int_equal(slots_first(&s, SLOTS_FREE), 0);
	slots_free(&s);
}

static void deadlines_keep_their_order(void **state)
{
	struct slots s;

	(void)state;
	assert_int_equal(slots_init(&s, 4), 0);
	slots_sent(&s, 0, 0, 50, 90);
	slots_sent(&s, 1, 1, 51, 91);
	slots_sent(&s, 2, 2, 40, 60); /* shorter than those before it */
	slots_sent(&s, 3, 3, 50, 80); /* as long as another: after it */
	assert_int_equal(s.waiting, 4);
	assert_int_equal(slots_first(&s, SLOTS_WAITING), 2);
	assert_int_equal(slots_after(&s, 2), 0);
	assert_int_equal(slots_after(&s, 0), 3);
	assert_int_equal(slots_after(&s, 3), 1);
	assert_int_equal(slots_after(&s, 1), SLOT_NONE);
	slots_listen(&s, 1);
	slots_listen(&s, 3);
	slots_listen(&s, 0);
	assert_int_equal(s.waiting, 1);
	assert_int_equal(slots_first(&s, SLOTS_LISTENING), 3);
	assert_int_equal(slots_after(&s, 3), 0);
	assert_int_equal(slots_after(&s, 0), 1);
	slots_free(&s);
}

/* Sends whenever it may, from `start` on: how many leave within each of the next seconds. */
static unsigned greedy_second(struct pace *pace, uint64_t start)
{
	uint64_t now = start, wait;
	unsigned sent = 0;

	while (now < start + 1000000000ull) {
		wait = pace_wait(pace, now);
		if (wait) {
			now += wait;
			continue;
		}
		pace_take(pace, now);
		sent++;
	}
	return sent;
}

static void the_pace_is_never_exceeded(void **state)
{
	static const unsigned rates[] = {1, 2, 3, 7, 99, 100, 101, 1000, 20000, 1000000};
	static const unsigned bursts[] = {1, 2, 16, 4096};
	uint64_t start = 12345;
	unsigned r, b, second, sent;
	struct pace pace;

	(void)state;
	for (r = 0; r < sizeof(rates) / sizeof(*rates); r++) {
		for (b = 0; b < sizeof(bursts) / sizeof(*bursts); b++) {
			pace_init(&pace, rates[r], bursts[b]);
			/* The first second begins with a full burst. */
			for (second = 0; second < 3; second++) {
				sent = greedy_second(&pace, start + second * 1000000000ull);
				if (sent > rates[r] || sent < rates[r] - rates[r] / 50)
					fail_msg("%u a second with bursts of %u: %u", rates[r], bursts[b],
						 sent);
			}
		}
	}
	pace_init(&pace, 0, 1);
	assert_int_equal(pace_wait(&pace, 5), 0);
	pace_take(&pace, 5);
	assert_int_equal(pace_wait(&pace, 5), 0);
}

static void bursts_are_small(void **state)
{
	struct pace pace;
	unsigned i;

	(void)state;
	pace_init(&pace, 20000, 16);
	for (i = 0; i < 16; i++) {
		assert_int_equal(pace_wait(&pace, 1000000), 0);
		pace_take(&pace, 1000000);
	}
	/* 16 at once leave 19985 intervals to a second */
	assert_int_equal(pace_wait(&pace, 1000000), 50038);
	pace_init(&pace, 300, 16); /* 10 ms worth: 3 */
	for (i = 0; i < 3; i++)
		pace_take(&pace, 1000000);
	assert_true(pace_wait(&pace, 1000000) > 0);
}

static void devices_take_turns_while_they_have_room(void **state)
{
	struct ring r;

	(void)state;
	assert_int_equal(ring_init(&r, 3, 2), 0);
	assert_int_equal(ring_take(&r), 0);
	r.device[0].in_hand = 1;
	ring_offer(&r, 0);
	ring_offer(&r, 0); /* only once */
	assert_int_equal(ring_take(&r), 1);
	assert_int_equal(ring_take(&r), 2);
	assert_int_equal(ring_take(&r), 0);
	assert_int_equal(ring_take(&r), RING_NONE);
	r.device[0].in_hand = 2;
	ring_offer(&r, 0);
	r.device[1].exhausted = true;
	ring_offer(&r, 1);
	assert_int_equal(ring_take(&r), RING_NONE);
	r.device[0].in_hand = 1;
	ring_offer(&r, 0);
	assert_int_equal(ring_take(&r), 0);
	ring_free(&r);
	assert_int_equal(ring_init(&r, 0, 2), 0);
	assert_int_equal(ring_take(&r), RING_NONE);
	ring_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_know_present_past_and_alien),
		cmocka_unit_test(transaction_ids_wrap),
		cmocka_unit_test(lists_keep_their_order),
		cmocka_unit_test(deadlines_keep_their_order),
		cmocka_unit_test(the_pace_is_never_exceeded),
		cmocka_unit_test(bursts_are_small),
		cmocka_unit_test(devices_take_turns_while_they_have_room),
	};

	return cmocka_run_group_tests_name("mad_parts", tests, NULL, NULL);
}
