/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* diff: what diff.c has of the files beside it. */
#ifndef IBQOS_CHECK_DIFF_H
#define IBQOS_CHECK_DIFF_H

#include "ibqos/diff.h"

/* Fills in result->replaced (diff_replaced.c). 0 or -ENOMEM. */
int diff_find_replaced(const struct fabric *before, const struct fabric *after, struct diff_result *result);

/*
 * Which nodes of `f`, among those that `other` does not have (twin() says which of its nodes has a GUID), are behind a port that
 * nothing answers at in it: whether they are there is not known (diff_silent.c). An array by node, the caller's. 0 or -ENOMEM.
 */
int diff_find_hidden(const struct fabric *f, const struct fabric *other,
		     uint32_t (*twin)(const void *arg, const struct fabric *other, uint64_t guid), const void *arg, bool **hidden);

/* Compares the tables of one port (diff_tables.c). */
void diff_tables(const struct diff_state *before, uint32_t port, const struct diff_state *after, uint32_t twin,
		 struct finding_list *findings, struct diff_result *result);

#endif
