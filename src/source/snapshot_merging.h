/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* snapshot_merging: what is put together of several snapshots of one fabric, while it is (snapshot_merge.c). */
#ifndef SOURCE_SNAPSHOT_MERGING_H
#define SOURCE_SNAPSHOT_MERGING_H

#include "snapshot_parts.h"

struct merging {
	const struct snapshot *const *parts; /* the newest first */
	size_t count;
	struct snapshot *to;
	struct snapshot_merged *result;
	uint64_t *guids;    /* of the nodes, sorted */
	uint32_t *first;    /* by node: its first port; and one more */
	uint32_t **node_of; /* by part and node of the part: the node */
	uint32_t **port_of; /* the same of ports; FABRIC_NONE: it has no place */
	uint32_t *told_by;  /* by port: the part that its PortInfo is of, from 1 */
	uint32_t *decided;  /* by port: the part, from 1, by which it is known what it is cabled to; 0: none */
	bool lost;	    /* memory ran out */
};

/* An item of bytes of a part, as one of the whole. m->lost where memory runs out. */
uint32_t merging_keep(struct merging *m, const struct snapshot *from, uint32_t item);
/* Whether two parts, from 0, were taken in one second: which is the newer nobody knows then. */
bool merging_same_second(const struct merging *m, size_t x, size_t y);
/* Answers of ports, and what the subnet manager said, by query: 0, -ENOMEM, -EFBIG (too many). */
int merging_take_answers(struct merging *m);
int merging_take_sm(struct merging *m);

#endif
