/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* diff: what diff.c has of the files beside it. */
#ifndef IBQOS_CHECK_DIFF_H
#define IBQOS_CHECK_DIFF_H

#include "ibqos/diff.h"

/* Fills in result->replaced (diff_replaced.c). 0 or -ENOMEM. */
int diff_find_replaced(const struct fabric *before, const struct fabric *after, struct diff_result *result);

/* Compares the tables of one port (diff_tables.c). */
void diff_tables(const struct diff_state *before, uint32_t port, const struct diff_state *after, uint32_t twin,
		 struct finding_list *findings, struct diff_result *result);

#endif
