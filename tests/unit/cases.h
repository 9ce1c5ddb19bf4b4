/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * cases: how many random cases a test tries: `usual`, or as many times that as the environment's
 * IBQOS_CASES says ("0.1", "20"), never none. Fewer for a slow emulator, more for a long run.
 */
#ifndef CASES_H
#define CASES_H

unsigned cases(unsigned usual);

#endif
