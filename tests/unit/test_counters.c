/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters: decoded from bytes laid out by hand from IBA 16.1.3.5, 16.1.4; bounds against a sum of the Poisson distribution in long
 * double and against tables of it; verdicts of bit errors.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "ibqos/counters.h"
#include "ibqos/link.h"
#include "images.h"

/* --- bounds --- */

/* P(X <= n), term by term from 0, each by its logarithm: slow, and by another way than the code under test. */
static long double at_most(unsigned n, long double mean)
{
	long double sum = 0;

	for (unsigned k = 0; k <= n; k++)
		sum += expl(k * logl(mean) - mean - lgammal(k + 1.0L));
	return sum;
}

static void test_bounds_by_the_sum(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 300; n++) {
		assert_true(fabsl(at_most(n, counter_upper(n)) - 0.05L) < 1e-9L);
		if (n > 0)
			assert_true(fabsl(1 - at_most(n - 1, counter_lower(n)) - 0.05L) < 1e-9L);
	}
	for (unsigned n = 1000; n <= 65535; n += 21511) {
		assert_true(fabsl(at_most(n, counter_upper(n)) - 0.05L) < 1e-7L);
		assert_true(fabsl(1 - at_most(n - 1, counter_lower(n)) - 0.05L) < 1e-7L);
	}
}

/* Half of chi-square quantiles, as tables have them: 0.95 of 2n + 2 and 0.05 of 2n degrees of freedom. */
static void test_bounds_by_tables(void **state)
{
	static const struct {
		uint64_t n;
		double lower, upper;
	} rows[] = {{0, 0, 2.99573}, {1, 0.05129, 4.74386}, {2, 0.35536, 6.29579}, {3, 0.81769, 7.75366},
		    {5, 1.97015, 10.51303}, {10, 5.42541, 16.96222}, {20, 13.25465, 29.06202}};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(fabs(counter_lower(rows[i].n) - rows[i].lower) < 5e-5);
		assert_true(fabs(counter_upper(rows[i].n) - rows[i].upper) < 5e-5);
	}
	/* on both sides of where sums give way to an approximation */
	for (uint64_t n = 999990; n < 1000010; n++) {
		assert_true(fabs(counter_upper(n + 1) - counter_upper(n) - 1.0008) < 1e-3);
		assert_true(fabs(counter_lower(n + 1) - counter_lower(n) - 0.9992) < 1e-3);
	}
	assert_true(fabs(counter_upper(1000000) - 1001646.42277) < 1e-4);
	assert_true(fabs(counter_lower(1000000) - 998355.71508) < 1e-4);
	/* far out, where the normal distribution takes over: n -+ 1.6449 sqrt(n) */
	assert_true(fabs(counter_upper(UINT64_C(1) << 40) - ldexp(1, 40) - 1.6449 * ldexp(1, 20)) < 0.01 * ldexp(1, 20));
	assert_true(fabs(ldexp(1, 40) - counter_lower(UINT64_C(1) << 40) - 1.6449 * ldexp(1, 20)) < 0.01 * ldexp(1, 20));
	assert_true(counter_upper(UINT64_MAX) >= 1.8e19 && counter_lower(UINT64_MAX) <= 1.9e19);
}

/* The bits of signalling lanes; zero errors prove 1e-15 after 8.1 h of EDR, 3.9 h of HDR, 1.96 h of NDR at 4x. */
static void test_time_that_proves_a_link(void **state)
{
	static const struct {
		unsigned speed;
		double hours;
	} rows[] = {{LINK_EDR, 8.07}, {LINK_HDR, 3.92}, {LINK_NDR, 1.96}, {LINK_XDR, 0.98}};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double second = 1e9 * link_line_gbps(LINK_4X, rows[i].speed), hours = rows[i].hours;

		assert_int_equal(ber_judge(rows[i].speed, second * 3600 * hours * 0.99, 0, false), BER_EARLY);
		assert_int_equal(ber_judge(rows[i].speed, second * 3600 * hours * 1.01, 0, false), BER_GOOD);
		assert_int_equal(ber_judge(rows[i].speed, second * 3600 * hours * 1.01, 0, true), BER_BETWEEN);
	}
	assert_true(link_line_gbps(LINK_4X, LINK_EDR) == 103.125);
	assert_true(link_line_gbps(LINK_2X, LINK_HDR) == 106.25);
	assert_true(link_line_gbps(0, LINK_HDR) == 0 && link_line_gbps(LINK_4X, 0) == 0);
}

/* At the gate of 3 / 1e-15 bits: a count is bad from where its lower bound is 5 and 10 times what is good. */
static void test_ber_verdicts(void **state)
{
	double gate = counter_upper(0) / 1e-15;

	(void)state;
	for (uint64_t n = 0; n < 100; n++) {
		enum ber_verdict wanted = counter_lower(n) > 10 * counter_upper(0)  ? BER_ERROR
					  : counter_lower(n) > 5 * counter_upper(0) ? BER_WARN
										    : BER_EARLY;

		assert_int_equal(ber_judge(LINK_NDR, 1, n, false), wanted); /* before it: were the rest clean */
		if (wanted != BER_EARLY)
			assert_int_equal(ber_judge(LINK_NDR, gate, n, true), wanted);
		else
			assert_int_equal(ber_judge(LINK_NDR, gate * 1.0001, n, false), n == 0 ? BER_GOOD : BER_BETWEEN);
	}
	assert_int_equal(ber_judge(LINK_NDR, 1, 22, false), BER_EARLY);
	assert_int_equal(ber_judge(LINK_NDR, 1, 23, false), BER_WARN);
	assert_int_equal(ber_judge(LINK_NDR, 1, 39, false), BER_WARN);
	assert_int_equal(ber_judge(LINK_NDR, 1, 40, false), BER_ERROR);
	assert_int_equal(ber_judge(LINK_NDR, 20e15, 10, false), BER_GOOD); /* 16.96 at most in 20 */
	assert_int_equal(ber_judge(LINK_NDR, 16e15, 10, false), BER_BETWEEN);
	assert_int_equal(ber_judge(LINK_FDR, 1e13, 40, false), BER_BETWEEN);
	assert_int_equal(ber_judge(LINK_FDR, 1e13, 400, false), BER_ERROR);
	assert_int_equal(ber_judge(0, 1e18, 1000, false), BER_UNKNOWN);
}

/* --- bytes --- */

static void test_port_counters(void **state)
{
	uint8_t data[MAD_PERF_DATA] = {0};
	struct counter_reading r = {0};

	(void)state;
	image_put16(data, 4, 0x0102);  /* SymbolErrorCounter */
	data[6] = 3;		       /* LinkErrorRecoveryCounter */
	data[7] = 255;		       /* LinkDownedCounter */
	image_put16(data, 8, 5);       /* PortRcvErrors */
	image_put16(data, 10, 6);      /* PortRcvRemotePhysicalErrors */
	image_put16(data, 12, 7);      /* PortRcvSwitchRelayErrors */
	image_put16(data, 14, 65535);  /* PortXmitDiscards */
	data[16] = 9;		       /* PortXmitConstraintErrors */
	data[17] = 10;		       /* PortRcvConstraintErrors */
	data[19] = 0xbf;	       /* LocalLinkIntegrityErrors, ExcessiveBufferOverrunErrors: 4 bits each */
	image_put16(data, 20, 13);     /* QP1Dropped */
	image_put16(data, 22, 12);     /* VL15Dropped */
	image_put32(data, 24, 14);     /* PortXmitData */
	image_put32(data, 28, 15);
	image_put32(data, 32, 16);
	image_put32(data, 36, 17);
	image_put32(data, 40, UINT32_MAX); /* PortXmitWait */
	counter_decode(&r, MAD_PORT_COUNTERS, false, data);
	static const uint64_t wanted[] = {0x102, 3, 255, 5, 6, 7, 65535, 9, 10, 11, 15, 12, 13, UINT32_MAX, 14, 15, 16, 17};
	for (unsigned id = COUNTER_SYMBOL; id <= COUNTER_RCV_PKTS; id++)
		assert_int_equal(r.value[id], wanted[id]);
	assert_int_equal(r.known, COUNTER_BIT(COUNTER_SYNC_HEADER) - 1);
	assert_int_equal(r.wide, 0);
	assert_int_equal(r.saturated, COUNTER_BIT(COUNTER_DOWNED) | COUNTER_BIT(COUNTER_XMIT_DISCARDS) |
					      COUNTER_BIT(COUNTER_OVERRUN) | COUNTER_BIT(COUNTER_XMIT_WAIT));
	/* the wider fields win, in whatever order they come */
	memset(data, 0, sizeof(data));
	image_put64(data, 8, UINT64_C(1) << 40); /* PortXmitData */
	image_put64(data, 72, 70000);		 /* SymbolErrorCounter */
	image_put64(data, 168, UINT64_C(1) << 33); /* PortXmitWait */
	counter_decode(&r, MAD_PORT_COUNTERS_EXT, true, data);
	assert_int_equal(r.value[COUNTER_SYMBOL], 70000);
	assert_int_equal(r.value[COUNTER_XMIT_DATA], UINT64_C(1) << 40);
	assert_int_equal(r.value[COUNTER_XMIT_WAIT], UINT64_C(1) << 33);
	assert_int_equal(r.saturated, 0);
	memset(data, 0xff, sizeof(data));
	counter_decode(&r, MAD_PORT_COUNTERS, false, data);
	assert_int_equal(r.value[COUNTER_SYMBOL], 70000);
	assert_int_equal(r.saturated, 0);
}

/* Without CapabilityMask2's bit what lies behind the packet counters is not errors. */
static void test_extended_without_errors(void **state)
{
	uint8_t data[MAD_PERF_DATA];
	struct counter_reading r = {0};

	(void)state;
	memset(data, 7, sizeof(data));
	counter_decode(&r, MAD_PORT_COUNTERS_EXT, false, data);
	assert_int_equal(r.known, COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_DATA) |
					  COUNTER_BIT(COUNTER_XMIT_PKTS) | COUNTER_BIT(COUNTER_RCV_PKTS));
}

static void test_details_and_speeds(void **state)
{
	uint8_t data[MAD_PERF_DATA] = {0};
	struct counter_reading r = {0};

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		image_put16(data, 4 + 2 * i, (uint16_t)(100 + i));
	counter_decode(&r, MAD_PORT_RCV_ERROR_DETAILS, false, data);
	assert_true(r.has_rcv_details && !r.has_xmit_details);
	for (unsigned i = 0; i < COUNTER_RCV_DETAILS; i++)
		assert_int_equal(r.rcv_details[i], 100 + i);
	assert_string_equal(counter_rcv_detail_name(0), "PortLocalPhysicalErrors");
	counter_decode(&r, MAD_PORT_XMIT_DISCARD_DETAILS, false, data);
	for (unsigned i = 0; i < COUNTER_XMIT_DETAILS; i++)
		assert_int_equal(r.xmit_details[i], 100 + i);
	assert_string_equal(counter_xmit_detail_name(0), "PortInactiveDiscards");
	memset(data, 0, sizeof(data));
	data[2] = 7; /* Tick */
	counter_decode(&r, MAD_PORT_SAMPLES_CONTROL, false, data);
	assert_true(r.has_tick && r.tick == 7);
	memset(data, 0, sizeof(data));
	image_put16(data, 16, 21);   /* SyncHeaderErrorCounter */
	image_put16(data, 18, 22);   /* UnknownBlockCounter */
	image_put32(data, 140, 23);  /* PortFECCorrectableBlockCtr */
	image_put32(data, 144, 24);  /* PortFECUncorrectableBlockCtr */
	counter_decode(&r, MAD_PORT_EXT_SPEEDS_COUNTERS, false, data);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(r.value[COUNTER_SYNC_HEADER + i], 21 + i);
	assert_int_equal(r.known, 0xfu << COUNTER_SYNC_HEADER);
}

/* By places written out here: behind 4 bytes, 16 values; the 64-bit ones behind 4 bytes more. */
static void test_shares(void **state)
{
	uint8_t data[MAD_PERF_DATA] = {0};
	struct counter_shares s = {0};

	(void)state;
	for (unsigned i = 0; i < 16; i++)
		image_put32(data, 4 + 4 * i, i == 3 ? UINT32_MAX : 1000 + i);
	counter_decode_shares(&s, MAD_PORT_XMIT_DATA_SL, data);
	assert_true(s.has_sent && !s.has_waited && !s.wide);
	assert_int_equal(s.saturated, 1 << 3);
	assert_int_equal(s.sent[0], 1000);
	assert_int_equal(s.sent[15], 1015);
	memset(data, 0xee, sizeof(data));
	for (unsigned i = 0; i < 16; i++)
		image_put64(data, 8 + 8 * i, (UINT64_C(1) << 40) + i);
	counter_decode_shares(&s, MAD_PORT_XMIT_DATA_SL_EXT, data);
	assert_true(s.wide);
	assert_int_equal(s.saturated, 0);
	assert_int_equal(s.sent[15], (UINT64_C(1) << 40) + 15);
	for (unsigned i = 0; i < 16; i++)
		image_put16(data, 4 + 2 * i, (uint16_t)(7 * i));
	counter_decode_shares(&s, MAD_PORT_VL_XMIT_WAIT, data);
	assert_true(s.has_waited);
	assert_int_equal(s.waited[0], 0);
	assert_int_equal(s.waited[15], 105);
	assert_int_equal(s.sent[15], (UINT64_C(1) << 40) + 15);
	memset(data, 0, sizeof(data)); /* the narrower ones do not go before */
	counter_decode_shares(&s, MAD_PORT_XMIT_DATA_SL, data);
	assert_int_equal(s.sent[15], (UINT64_C(1) << 40) + 15);
}

static void test_table(void **state)
{
	(void)state;
	for (unsigned id = 0; id < COUNTERS; id++) {
		const struct counter_row *row = counter_row(id);

		assert_int_equal(counter_named(row->name), id);
		assert_true(row->meaning && row->bits >= 4 && row->bits <= 32);
		assert_int_equal(row->rule == COUNTER_RATE, row->count > 0 && row->seconds > 0);
	}
	assert_int_equal(counter_named("PortNothing"), COUNTERS);
}

static void test_suppress(void **state)
{
	struct counter_thresholds t = {0};
	const char *bad;
	size_t size;

	(void)state;
	assert_true(counter_suppress(&t, "VL15Dropped,PortXmitWait", &bad, &size));
	assert_int_equal(t.suppressed, COUNTER_BIT(COUNTER_VL15) | COUNTER_BIT(COUNTER_XMIT_WAIT));
	assert_false(counter_suppress(&t, "VL15Dropped,,PortXmitWait", &bad, &size));
	assert_int_equal(size, 0);
	assert_false(counter_suppress(&t, "VL15", &bad, &size));
	assert_int_equal(size, 4);
}

/* The policy's names of counters are those of the table, in its order. */
static void test_names_of_the_policy(void **unused)
{
	(void)unused;
	for (unsigned id = 0; id < COUNTERS; id++)
		assert_string_equal(policy_counter_name(id), counter_row(id)->name);
	assert_null(policy_counter_name(COUNTERS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_the_policy), cmocka_unit_test(test_shares),
		cmocka_unit_test(test_bounds_by_the_sum),	cmocka_unit_test(test_bounds_by_tables),
		cmocka_unit_test(test_time_that_proves_a_link), cmocka_unit_test(test_ber_verdicts),
		cmocka_unit_test(test_port_counters),		cmocka_unit_test(test_extended_without_errors),
		cmocka_unit_test(test_details_and_speeds),	cmocka_unit_test(test_table),
		cmocka_unit_test(test_suppress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
