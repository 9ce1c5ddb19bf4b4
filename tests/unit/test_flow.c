/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The most that can flow, against the least cut of small networks, which is found by trying every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/check/flow.h"

#define POINTS 8

/* A generator of its own, so that a case can be made again. */
static uint32_t draw(uint32_t *seed, uint32_t end)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % end;
}

/* The least that has to be cut so that nothing gets from `from` to any sink (Ford and Fulkerson 1956). */
static uint64_t least_cut(uint64_t capacity[POINTS][POINTS], uint32_t from, const bool *sink)
{
	uint64_t least = UINT64_MAX;

	for (unsigned side = 0; side < 1u << POINTS; side++) {
		uint64_t cut = 0;
		bool splits = side & 1u << from;

		for (unsigned a = 0; splits && a < POINTS; a++)
			splits = !(sink[a] && a != from && side & 1u << a);
		for (unsigned a = 0; splits && a < POINTS; a++)
			for (unsigned b = 0; b < POINTS; b++)
				if (side & 1u << a && !(side & 1u << b))
					cut += capacity[a][b];
		if (splits && cut < least)
			least = cut;
	}
	return least;
}

static void test_most_is_least_cut(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 400; seed++) {
		uint64_t capacity[POINTS][POINTS] = {{0}};
		uint32_t at = seed, arcs = 4 + draw(&at, 20);
		bool sink[POINTS] = {false};
		struct flow_net net;

		assert_int_equal(flow_new(POINTS, &net), 0);
		for (uint32_t i = 0; i < arcs; i++) {
			uint32_t a = draw(&at, POINTS), b = draw(&at, POINTS);
			uint64_t forth = draw(&at, 10), back = draw(&at, 4) == 0 ? draw(&at, 10) : 0;

			if (a == b)
				continue;
			assert_int_equal(flow_join(&net, a, b, forth, back), 0);
			capacity[a][b] += forth;
			capacity[b][a] += back;
		}
		for (uint32_t i = 1; i < POINTS; i++)
			sink[i] = net.sink[i] = draw(&at, 3) == 0;
		sink[POINTS - 1] = net.sink[POINTS - 1] = true;
		for (uint32_t from = 0; from < POINTS - 1; from++)
			assert_int_equal(flow_most(&net, from), least_cut(capacity, from, sink));
		flow_clear(&net);
	}
}

static void test_nothing(void **state)
{
	struct flow_net net;

	(void)state;
	assert_int_equal(flow_new(2, &net), 0);
	net.sink[1] = true;
	assert_int_equal(flow_most(&net, 0), 0);
	assert_int_equal(flow_join(&net, 0, 1, FLOW_ENDLESS, 0), 0);
	assert_true(flow_most(&net, 0) == FLOW_ENDLESS);
	assert_int_equal(flow_most(&net, 1), 0);
	flow_clear(&net);
	flow_clear(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_most_is_least_cut),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
