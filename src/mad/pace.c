/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The rate ceiling. */
#include "pace.h"

#define SECOND_NS 1000000000ull
#define BURSTS_PER_SECOND 100 /* a burst is at most this part of a second's MADs */

void pace_init(struct pace *pace, unsigned rate, unsigned burst)
{
	uint64_t even;

	*pace = (struct pace){0};
	if (!rate)
		return;
	if (burst > rate / BURSTS_PER_SECOND)
		burst = rate / BURSTS_PER_SECOND;
	if (!burst)
		burst = 1;
	/*
	 * n MADs take at least (n - burst) intervals. With 1 s / interval <= rate - burst + 1, fewer
	 * than rate + 1 start within a second.
	 */
	even = (uint64_t)rate - burst + 1;
	pace->interval_ns = (SECOND_NS + even - 1) / even;
	pace->tolerance_ns = (burst - 1) * pace->interval_ns;
}

uint64_t pace_wait(const struct pace *pace, uint64_t now_ns)
{
	uint64_t reach = now_ns + pace->tolerance_ns;

	return pace->due_ns > reach ? pace->due_ns - reach : 0;
}

void pace_take(struct pace *pace, uint64_t now_ns)
{
	if (!pace->interval_ns)
		return;
	if (pace->due_ns < now_ns)
		pace->due_ns = now_ns;
	pace->due_ns += pace->interval_ns;
}
