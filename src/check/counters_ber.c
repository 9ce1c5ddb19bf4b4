/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Bit errors: how sure a count is, and what a speed is allowed.
 */
#include <math.h>

#include "ibqos/counters.h"
#include "ibqos/link.h"

#define DOUBT 0.05 /* a bound is wrong so often */
#define DOUBT_Z 1.6448536269514722 /* the normal distribution's bound for that */
#define MANY 1000000		   /* counts from which on terms are too many to add, and need not be */
#define STEPS 200  /* of halving an interval: beyond what a double tells apart */

/*
 * P(X <= count) of a Poisson mean. Terms are added from the largest one downwards and, for the complement, upwards, each by
 * its ratio to the one before, so that nothing underflows but what does not matter.
 */
static double at_most(uint64_t count, double mean)
{
	double n = (double)count, term, sum = 0, k;

	if (mean <= 0)
		return 1;
	term = exp(n * log(mean) - mean - lgamma(n + 1));
	if (n < mean) { /* terms shrink from n downwards */
		for (k = n; k >= 0 && term > sum * 1e-17; k--) {
			sum += term;
			term *= k / mean;
		}
		return sum;
	}
	for (k = n + 1, term *= mean / k; term > sum * 1e-17 && term > 0; k++) { /* from n + 1 upwards */
		sum += term;
		term *= mean / (k + 1);
	}
	return 1 - sum;
}

/* The mean for which P(X <= count) is `p`: it falls as the mean rises. */
static double mean_for(uint64_t count, double p)
{
	double n = (double)count, low = 0, high = n + 10 * sqrt(n + 1) + 10;

	if (count >= MANY) { /* Wilson and Hilferty's: here right to eleven digits */
		double k = n + 1, z = p > 0.5 ? -DOUBT_Z : DOUBT_Z;

		return k * pow(1 - 1 / (9 * k) + z / (3 * sqrt(k)), 3);
	}
	if (count == 0) /* P(X <= 0) is e to the minus mean */
		return -log(p);
	for (unsigned i = 0; i < STEPS && low < high; i++) {
		double middle = (low + high) / 2;

		if (middle <= low || middle >= high)
			break;
		if (at_most(count, middle) > p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

double counter_upper(uint64_t count)
{
	return mean_for(count, DOUBT);
}

double counter_lower(uint64_t count)
{
	return count == 0 ? 0 : mean_for(count - 1, 1 - DOUBT);
}

/*
 * NDR: NVIDIA's "InfiniBand Cluster Bring-up", symbol BER normal, warning, error. The same is taken for EDR and HDR, whose
 * links have FEC or cables of that class, and XDR, for which no final figures are public. Up to FDR: a BER of 1e-12 is what
 * IBA volume 2 demands; warning and error stand to it as NVIDIA's do.
 */
static const struct {
	enum link_speed speed;
	struct ber_limits limits;
} speeds[] = {
	{LINK_SDR, {1e-12, 5e-12, 1e-11}},	     {LINK_DDR, {1e-12, 5e-12, 1e-11}},
	{LINK_QDR, {1e-12, 5e-12, 1e-11}},	     {LINK_FDR10, {1e-12, 5e-12, 1e-11}},
	{LINK_FDR, {1e-12, 5e-12, 1e-11}},  {LINK_EDR, {1e-15, 5e-15, 1e-14}},
	{LINK_HDR, {1e-15, 5e-15, 1e-14}},   {LINK_NDR, {1e-15, 5e-15, 1e-14}},
	{LINK_XDR, {1e-15, 5e-15, 1e-14}},
};
#define SPEEDS (sizeof(speeds) / sizeof(speeds[0]))

const struct ber_limits *ber_limits_of(unsigned speed)
{
	for (unsigned i = 0; i < SPEEDS; i++)
		if (speeds[i].speed == speed)
			return &speeds[i].limits;
	return NULL;
}

enum ber_verdict ber_judge(unsigned speed, double bits, uint64_t errors, bool least)
{
	const struct ber_limits *limits = ber_limits_of(speed);
	double needed, lower;

	if (!limits)
		return BER_UNKNOWN;
	needed = counter_upper(0) / limits->good;
	lower = counter_lower(errors) / (bits > needed ? bits : needed);
	if (lower > limits->error)
		return BER_ERROR;
	if (lower > limits->warn)
		return BER_WARN;
	if (bits < needed)
		return BER_EARLY;
	return !least && counter_upper(errors) / bits <= limits->good ? BER_GOOD : BER_BETWEEN;
}
