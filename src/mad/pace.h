/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The rate ceiling: a token bucket kept as one time stamp (the virtual scheduling form of ITU-T
 * I.371's generic cell rate algorithm). Bursts are small, and no second, wherever it starts,
 * holds more than `rate` MADs, since the refill is slowed by what a burst can add.
 */
#ifndef IBQOS_MAD_PACE_H
#define IBQOS_MAD_PACE_H

#include <stdint.h>

struct pace {
	uint64_t interval_ns;  /* between MADs once the burst is used up; 0: no ceiling */
	uint64_t tolerance_ns; /* how far ahead of its time a MAD may go: burst - 1 intervals */
	uint64_t due_ns;       /* when the next MAD would leave at an even rate */
};

/* `rate` MADs a second, 0: no ceiling; bursts of at most `burst` (at least 1) and of 10 ms worth. */
void pace_init(struct pace *pace, unsigned rate, unsigned burst);
/* Nanoseconds until a MAD may leave; 0: now. */
uint64_t pace_wait(const struct pace *pace, uint64_t now_ns);
/* One has left. */
void pace_take(struct pace *pace, uint64_t now_ns);

#endif
