/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* drain: what drain.c and drain_left.c share. */
#ifndef IBQOS_CHECK_DRAIN_H
#define IBQOS_CHECK_DRAIN_H

#include "ibqos/drain.h"
#include "siblings.h"

struct draining {
	const struct fabric *fabric;
	const bool *out; /* by node */
	struct site site;
	struct drain_result *result;
};

bool drain_is_end(const struct draining *d, uint32_t port);
/* Bandwidth and redundancy that are left. 0 or -ENOMEM. */
int drain_left(struct draining *d);

#endif
