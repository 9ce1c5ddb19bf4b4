/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Worst waits: cases derived by hand, and random tables against an arbiter whose VLs come and go.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cases.h"
#include "vlarb_wait.h"

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

/* One VL with priority before two others: a low packet in flight, whatever the limit. */
static void test_one_high(void **state)
{
	static const uint8_t limits[] = {0, 1, 2, 9, 255};
	unsigned packet[QOS_DATA_VLS];

	(void)state;
	packets(packet, 4096);
	for (size_t i = 0; i < sizeof(limits); i++) {
		struct qos_tables t = {.high_limit = limits[i]};

		add(&t.high, 1, 64);
		add(&t.low, 0, 128);
		add(&t.low, 2, 64);
		assert_int_equal(qos_worst_wait(&t, ALL, packet, 1), 4096);
		assert_int_equal(qos_worst_wait(&t, 1 << 1, packet, 1), 0); /* alone */
		assert_int_equal(qos_worst_wait(&t, 1 << 1 | 1 << 5, packet, 1), 0); /* VL 5 never sends */
	}
}

/*
 * The low ones beside it, limit 2: a high packet in flight, and two before each low one. VL 2 waits for the
 * two packets of VL 0 and its own: 1 + 3 * 2 + 2 packets; VL 0 for one of VL 2: 1 + 2 * 2 + 1.
 */
static void test_low_behind_high(void **state)
{
	struct qos_tables t = {.high_limit = 2};
	unsigned packet[QOS_DATA_VLS];

	(void)state;
	packets(packet, 4096);
	add(&t.high, 1, 64);
	add(&t.low, 0, 128);
	add(&t.low, 2, 64);
	assert_int_equal(qos_worst_wait(&t, ALL, packet, 2), 9 * 4096);
	assert_int_equal(qos_worst_wait(&t, ALL, packet, 0), 6 * 4096);
	assert_int_equal(qos_worst_wait(&t, 1 << 0 | 1 << 2, packet, 0), 4096);
	t.high_limit = 0; /* one before each: 1 + 3 + 2 */
	assert_int_equal(qos_worst_wait(&t, ALL, packet, 2), 6 * 4096);
	t.high_limit = 255;
	assert_true(qos_worst_wait(&t, ALL, packet, 2) == QOS_WAIT_FOREVER);
	assert_int_equal(qos_worst_wait(&t, 1 << 0 | 1 << 2, packet, 2), 2 * 4096);
}

/* "1:64,2:64,1:64,1:128,0:64,1:64,2:64,1:128": the longest way from one entry of a VL to its next. */
static void test_shares_only(void **state)
{
	static const uint8_t entries[][2] = {{1, 64}, {2, 64}, {1, 64}, {1, 128}, {0, 64}, {1, 64}, {2, 64}, {1, 128}};
	struct qos_tables t = {.high_limit = 0};
	unsigned packet[QOS_DATA_VLS];

	(void)state;
	packets(packet, 4096);
	add(&t.high, 0, 0);
	for (size_t i = 0; i < 8; i++)
		add(&t.low, entries[i][0], entries[i][1]);
	assert_int_equal(qos_worst_wait(&t, ALL, packet, 1), 4096);
	assert_int_equal(qos_worst_wait(&t, ALL, packet, 2), 5 * 4096); /* 1 + 2 + (0) 1 + 1 */
	assert_int_equal(qos_worst_wait(&t, ALL, packet, 0), 9 * 4096); /* the whole cycle but itself */
	assert_true(qos_worst_wait(&t, ALL, packet, 3) == QOS_WAIT_FOREVER);
	assert_true(qos_worst_wait(&t, ALL, packet, 15) == QOS_WAIT_FOREVER);
	/* the same weights in packets of 256 bytes are as long, but what is in flight is not */
	packets(packet, 256);
	assert_int_equal(qos_worst_wait(&t, ALL, packet, 0), 9 * 4096);
}

/* Two high ones, limit 1: A waits for B's two packets, a low one in flight and one after each of them. */
static void test_two_high(void **state)
{
	struct qos_tables t = {.high_limit = 1};
	unsigned packet[QOS_DATA_VLS];

	(void)state;
	packets(packet, 4096);
	packet[0] = 2048;
	add(&t.high, 1, 64);
	add(&t.high, 2, 128);
	add(&t.low, 0, 64);
	assert_int_equal(qos_worst_wait(&t, ALL, packet, 1), 2 * 4096 + 3 * 2048);
	assert_int_equal(qos_worst_wait(&t, ALL, packet, 2), 4096 + 2 * 2048);
	t.high_limit = 2;
	assert_int_equal(qos_worst_wait(&t, ALL, packet, 1), 2 * 4096 + 2 * 2048);
	t.high_limit = 255;
	assert_int_equal(qos_worst_wait(&t, ALL, packet, 1), 2 * 4096 + 2048);
	/* in both tables the shorter way counts */
	add(&t.low, 1, 64);
	t.high_limit = 1;
	assert_int_equal(qos_worst_wait(&t, 1 << 1 | 1 << 2, packet, 1), 2 * 4096);
}

static void test_microseconds(void **state)
{
	(void)state;
	assert_true(qos_wait_us(4096, 100) > 0.3276 && qos_wait_us(4096, 100) < 0.3277);
}

static void random_table(uint64_t *seed, unsigned vls, struct qos_vlarb *table)
{
	table->count = sim_random(seed, 9);
	for (unsigned i = 0; i < table->count; i++) {
		unsigned weight = sim_random(seed, 4) ? 16 * (1 + sim_random(seed, 12)) : sim_random(seed, 256);

		table->entry[i].vl = sim_random(seed, 16) ? (uint8_t)sim_random(seed, vls) : QOS_VL_DROP;
		table->entry[i].weight = (uint8_t)weight;
	}
}

static bool stands_in(const struct qos_vlarb *table, unsigned vl)
{
	for (unsigned i = 0; i < table->count; i++)
		if (table->entry[i].vl == vl && table->entry[i].weight)
			return true;
	return false;
}

#define CASES cases(3000)
#define PLAYED 80000 /* packets a case, or more where waits are long */
/*
 * How near the bound is, for a VL of one table among packets of one size: nine in ten waits reach it to the
 * byte. The rest is what a random search misses.
 */
#define TIGHT 0.7

static void test_against_simulation(void **state)
{
	static const uint8_t limits[] = {0, 1, 2, 3, 5, 255};
	unsigned compared = 0, reached = 0, forever = 0, plain = 0, loose = 0;
	double least = 1, least_of_all = 1;
	uint64_t seed = 20261130;

	(void)state;
	for (unsigned n = 0; n < CASES; n++) {
		struct qos_tables t = {.high_limit = limits[sim_random(&seed, 6)]};
		unsigned packet[QOS_DATA_VLS], vls = 2 + sim_random(&seed, 4), vl = sim_random(&seed, vls);
		unsigned played;
		bool uniform = n % 3 != 0, one_table, never;
		uint64_t bound, longest;

		random_table(&seed, vls, &t.high);
		random_table(&seed, vls, &t.low);
		packets(packet, 512u << sim_random(&seed, 4));
		for (unsigned i = 0; i < vls && !uniform; i++)
			packet[i] = 512u << sim_random(&seed, 4);
		one_table = stands_in(&t.high, vl) != stands_in(&t.low, vl);
		bound = qos_worst_wait(&t, ALL, packet, vl);
		played = 200 * (bound == QOS_WAIT_FOREVER ? 0 : (unsigned)(bound / packet[vl]));
		longest = vlarb_sim_wait(&t, ALL, packet, vl, played > PLAYED ? played : PLAYED, &seed, &never);
		if (never != (bound == QOS_WAIT_FOREVER))
			fail_msg("case %u: VL %u %s", n, vl, never ? "starves" : "is said to starve");
		if (longest > bound)
			fail_msg("case %u: VL %u waits for %ju bytes, at most %ju are told", n, vl, (uintmax_t)longest,
				 (uintmax_t)bound);
		forever += never;
		if (never || bound == 0)
			continue;
		compared++;
		reached += longest == bound;
		least_of_all = (double)longest / (double)bound < least_of_all ? (double)longest / (double)bound : least_of_all;
		if (!uniform || !one_table)
			continue;
		plain++;
		loose += longest < bound;
		least = (double)longest / (double)bound < least ? (double)longest / (double)bound : least;
		if ((double)longest < TIGHT * (double)bound)
			fail_msg("case %u: VL %u waits for %ju bytes only, %ju are told", n, vl, (uintmax_t)longest,
				 (uintmax_t)bound);
	}
	print_message("%u waits, %u reached to the byte, at least %.3f of the bound; where packets are of one size and "
		      "the VL in one table %u of %u, at least %.3f; %u starve\n",
		      compared, reached, least_of_all, plain - loose, plain, least, forever);
	/* of few cases the parts vary more */
	assert_true(compared > CASES / 2 && (CASES < 1000 || loose * 10 < plain) && forever > CASES / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_high),    cmocka_unit_test(test_low_behind_high),
		cmocka_unit_test(test_shares_only), cmocka_unit_test(test_two_high),
		cmocka_unit_test(test_microseconds), cmocka_unit_test(test_against_simulation),
	};

	return cmocka_run_group_tests_name("qos wait", tests, NULL, NULL);
}
