/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * layers: the switches of a fabric as they are drawn: by their distance from hosts, which pods they form, and the bundles
 * of cables between them (part of folder check). Distances and bundles are those that audit compares siblings by.
 */
#ifndef IBQOS_LAYERS_H
#define IBQOS_LAYERS_H

#include "ibqos/fabric.h"

#define LAYERS_NO_HOSTS 255 /* no way leads from there to a host */
#define LAYERS_NO_POD UINT32_MAX

/* All cables between two switches; each pair once. */
struct layer_bundle {
	uint32_t from, to; /* nodes; `from` is of the lower level, or of an equal one the first in `order` */
	uint32_t cables;
};

struct layers {
	const struct fabric *fabric;
	uint32_t *order; /* [count] switches: by level, those without hosts last, then name (leaf-2 before leaf-10), then GUID */
	uint32_t count;
	uint32_t *place; /* by node: index into order; FABRIC_NONE for what is no switch */
	uint8_t *level;	 /* by node: hops to a switch with hosts, or LAYERS_NO_HOSTS */
	uint32_t *hosts; /* by node: ports with a host */
	/*
	 * By node: a number from 0, in the order of its first switch. Pods are what falls apart when the switches of the highest
	 * level are left out, where that leaves at least two parts and one of at least two switches; else there are none.
	 */
	uint32_t *pod;
	uint32_t pods;
	unsigned levels; /* the highest and one more; 0: no switch has hosts */
	struct layer_bundle *bundles; /* by the places of `from` and `to` */
	size_t bundle_count;
};

/* The fabric is borrowed. 0 or -ENOMEM; layers_clear() frees what is in it, in any case. */
int layers_new(const struct fabric *fabric, struct layers *layers);
void layers_clear(struct layers *layers);
/* The bundle of two switches, in either order; SIZE_MAX: there is none. */
size_t layers_bundle(const struct layers *layers, uint32_t a, uint32_t b);

#endif
