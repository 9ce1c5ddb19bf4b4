/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The arbitration model: cases derived by hand, and random tables against a packet-by-packet
 * simulation.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "vlarb_sim.h"

#define ALL 0x7fff

static void add(struct qos_vlarb *table, unsigned vl, unsigned weight)
{
	table->entry[table->count++] = (struct qos_vlarb_entry){(uint8_t)vl, (uint8_t)weight};
}

static void packets(unsigned packet[QOS_DATA_VLS], unsigned bytes)
{
	for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++)
		packet[vl] = bytes;
}

static void assert_share(double got, double wanted)
{
	if (fabs(got - wanted) > 1e-12)
		fail_msg("share %.15f, expected %.15f", got, wanted);
}

/* One high VL and one low, full 4096-byte packets: low gets 1 of high_limit + 1 packets. */
static void test_high_limit(void **state)
{
	static const struct {
		uint8_t limit;
		double low;
	} cases[] = {{0, 1 / 2.0}, {1, 1 / 2.0},  {2, 1 / 3.0},     {3, 1 / 4.0},
		     {4, 1 / 5.0}, {9, 1 / 10.0}, {254, 1 / 255.0}, {255, 0}};
	unsigned packet[QOS_DATA_VLS];

	(void)state;
	packets(packet, 4096);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct qos_tables t = {.high_limit = cases[i].limit};
		double share[QOS_DATA_VLS];

		add(&t.high, 1, 64);
		add(&t.low, 0, 192);
		qos_arbitrate(&t, ALL, packet, share);
		assert_share(share[0], cases[i].low);
		assert_share(share[1], 1 - cases[i].low);
		assert_share(share[2], 0);
	}
}

static void test_low_alone(void **state)
{
	struct qos_tables t = {.high_limit = 0};
	unsigned packet[QOS_DATA_VLS];
	double share[QOS_DATA_VLS];

	(void)state;
	packets(packet, 4096);
	add(&t.high, 0, 0); /* weight 0 sends nothing, and so does VL15 */
	add(&t.high, 15, 255);
	add(&t.low, 0, 64);
	add(&t.low, 1, 128);
	add(&t.low, 2, 192);
	qos_arbitrate(&t, ALL, packet, share);
	assert_share(share[0], 1 / 6.0);
	assert_share(share[1], 2 / 6.0);
	assert_share(share[2], 3 / 6.0);
	qos_arbitrate(&t, 1 << 0 | 1 << 2, packet, share);
	assert_share(share[0], 1 / 4.0);
	assert_share(share[1], 0);
	assert_share(share[2], 3 / 4.0);
}

/* A packet that starts within the count is sent whole. */
static void test_turn_rounds_up(void **state)
{
	struct qos_tables t = {.high_limit = 0};
	unsigned packet[QOS_DATA_VLS];
	double share[QOS_DATA_VLS];

	(void)state;
	packets(packet, 4096);
	add(&t.low, 0, 1);   /* 1 packet */
	add(&t.low, 1, 64);  /* exactly 1 */
	add(&t.low, 2, 65);  /* 4160 bytes: 2 */
	add(&t.low, 3, 255); /* 16320 bytes: 4 */
	qos_arbitrate(&t, ALL, packet, share);
	assert_share(share[0], 1 / 8.0);
	assert_share(share[1], 1 / 8.0);
	assert_share(share[2], 2 / 8.0);
	assert_share(share[3], 4 / 8.0);
	/* the same weight of small packets: 16 of 256 bytes beside one of 4096; weight 1 a single one */
	packet[1] = 256;
	qos_arbitrate(&t, 1 << 0 | 1 << 1, packet, share);
	assert_share(share[0], 1 / 2.0);
	packet[0] = 256;
	packet[1] = 4096;
	qos_arbitrate(&t, 1 << 0 | 1 << 1, packet, share);
	assert_share(share[0], 256 / 4352.0);
}

/* Two 3072-byte packets go before 4096 bytes are reached: the budget is overshot to 6144. */
static void test_budget_overshoot(void **state)
{
	struct qos_tables t = {.high_limit = 1};
	unsigned packet[QOS_DATA_VLS];
	double share[QOS_DATA_VLS];

	(void)state;
	packets(packet, 4096);
	packet[1] = 3072;
	add(&t.high, 1, 255);
	add(&t.low, 0, 64);
	qos_arbitrate(&t, ALL, packet, share);
	assert_share(share[1], 6144 / 10240.0);
}

/*
 * High cycle: A of 4096 bytes, B of 256. The first round is A alone, the next starts at B, which
 * leaves the budget open for A too: from then on every round is B and A. Were the place forgotten,
 * B would starve.
 */
static void test_high_keeps_its_place(void **state)
{
	struct qos_tables t = {.high_limit = 1};
	unsigned packet[QOS_DATA_VLS];
	double share[QOS_DATA_VLS];

	(void)state;
	packets(packet, 4096);
	packet[2] = 256;
	add(&t.high, 1, 64);
	add(&t.high, 2, 4);
	add(&t.low, 0, 64);
	qos_arbitrate(&t, ALL, packet, share);
	assert_share(share[1], 4096 / 8448.0);
	assert_share(share[2], 256 / 8448.0);
	assert_share(share[0], 4096 / 8448.0);
}

/*
 * Rounds that differ: cycle of A, 2048 bytes, and B, 3072, limit 1 (4096). From A: A B (5120), back
 * at A: always 5120 a round. With C of 1024 after them the cycle is 6144: A B | C A B (6144) | C A B …
 * so 6144. With limit 0: A | B | C: 6144 over three rounds.
 */
static void test_rounds_that_differ(void **state)
{
	struct qos_tables t = {.high_limit = 1};
	unsigned packet[QOS_DATA_VLS];
	double share[QOS_DATA_VLS];

	(void)state;
	packets(packet, 4096);
	packet[1] = 2048;
	packet[2] = 3072;
	packet[3] = 1024;
	add(&t.high, 1, 32);
	add(&t.high, 2, 48);
	add(&t.low, 0, 64);
	qos_arbitrate(&t, ALL, packet, share);
	assert_share(share[0], 4096 / 9216.0);
	add(&t.high, 3, 16);
	qos_arbitrate(&t, ALL, packet, share);
	assert_share(share[0], 4096 / 10240.0);
	assert_share(share[1], 2048 / 10240.0);
	t.high_limit = 0;
	qos_arbitrate(&t, ALL, packet, share);
	assert_share(share[0], 3 * 4096 / (3 * 4096 + 6144.0));
	assert_share(share[2], 3072 / (3 * 4096 + 6144.0));
}

static void test_in_both_tables(void **state)
{
	struct qos_tables t = {.high_limit = 1};
	unsigned packet[QOS_DATA_VLS];
	double share[QOS_DATA_VLS];

	(void)state;
	packets(packet, 4096);
	add(&t.high, 0, 64);
	add(&t.low, 0, 64);
	add(&t.low, 1, 64);
	qos_arbitrate(&t, ALL, packet, share);
	assert_share(share[0], 3 / 4.0);
	assert_share(share[1], 1 / 4.0);
	/* 255: low starves, though VL 0's own low entries do too */
	t.high_limit = 255;
	qos_arbitrate(&t, ALL, packet, share);
	assert_share(share[0], 1);
	assert_share(share[1], 0);
}

static void test_nothing_to_send(void **state)
{
	struct qos_tables t = {.high_limit = 3};
	unsigned packet[QOS_DATA_VLS];
	double share[QOS_DATA_VLS];

	(void)state;
	packets(packet, 2048);
	qos_arbitrate(&t, ALL, packet, share);
	for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++)
		assert_share(share[vl], 0);
	add(&t.high, 1, 10);
	add(&t.low, 0, 10);
	qos_arbitrate(&t, 1 << 5, packet, share);
	for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++)
		assert_share(share[vl], 0);
	packet[1] = 0; /* never sends */
	qos_arbitrate(&t, ALL, packet, share);
	assert_share(share[0], 1);
}

static void random_table(uint64_t *seed, unsigned cap, unsigned vls, struct qos_vlarb *table)
{
	static const unsigned often[] = {0, 1, 2, 4, 8, 16, 32, 64, 65, 128, 192, 254, 255};

	table->count = sim_random(seed, cap + 1);
	for (unsigned i = 0; i < table->count; i++) {
		unsigned weight = sim_random(seed, 3)
					  ? sim_random(seed, 256)
					  : often[sim_random(seed, sizeof(often) / sizeof(often[0]))];

		table->entry[i].vl = sim_random(seed, 16) ? (uint8_t)sim_random(seed, vls) : QOS_VL_DROP;
		table->entry[i].weight = (uint8_t)weight;
	}
}

#define CASES cases(3000)
#define CYCLES                                                                                               \
	600 /* simulated bytes, in cycles of both tables: about 1/600 of error could come from where it ends \
	     */
#define BOUND 0.001 /* measured: 0.00066 */

static void test_against_simulation(void **state)
{
	static const uint8_t limits[] = {0, 1, 2, 9, 254, 255};
	uint64_t seed = 20261104;
	double worst = 0;
	unsigned both = 0;

	(void)state;
	for (unsigned n = 0; n < CASES; n++) {
		struct qos_tables t = {.high_limit = 0};
		unsigned packet[QOS_DATA_VLS], cap = n % 10 ? 1 + sim_random(&seed, 8) : 64;
		unsigned vls = 1 + sim_random(&seed, n % 3 ? 4 : 15);
		double got[QOS_DATA_VLS], sum = 0;
		uint16_t busy = sim_random(&seed, 4) ? ALL : (uint16_t)sim_random(&seed, ALL);
		uint64_t high, low;

		t.high_limit = n % 7 ? limits[n % 6] : (uint8_t)sim_random(&seed, 256);
		random_table(&seed, cap, vls, &t.high);
		random_table(&seed, cap, vls, &t.low);
		/* any size on one case in four, not only the MTUs */
		for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++)
			packet[vl] = n % 4 ? 256u << sim_random(&seed, 5) : 256 + 4 * sim_random(&seed, 961);
		high = vlarb_sim_cycle(&t.high, busy, packet);
		low = vlarb_sim_cycle(&t.low, busy, packet);
		both += high && low;

		double expected[QOS_DATA_VLS];

		vlarb_sim(&t, busy, packet, false, CYCLES * (high + low), expected);
		qos_arbitrate(&t, busy, packet, got);
		for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++) {
			double error = fabs(got[vl] - expected[vl]);

			if (error > worst)
				worst = error;
			if (error > BOUND)
				fail_msg("case %u: VL %u gets %.6f, simulated %.6f", n, vl, got[vl],
					 expected[vl]);
			sum += got[vl];
		}
		assert_true(high + low ? fabs(sum - 1) < 1e-9 : sum == 0);
	}
	print_message("%u tables, %u with both tables busy: largest error %.6f\n", CASES, both, worst);
	assert_true(both > CASES / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_high_limit),           cmocka_unit_test(test_low_alone),
		cmocka_unit_test(test_turn_rounds_up),       cmocka_unit_test(test_budget_overshoot),
		cmocka_unit_test(test_high_keeps_its_place), cmocka_unit_test(test_rounds_that_differ),
		cmocka_unit_test(test_in_both_tables),       cmocka_unit_test(test_nothing_to_send),
		cmocka_unit_test(test_against_simulation),
	};

	return cmocka_run_group_tests_name("qos arbitrate", tests, NULL, NULL);
}
