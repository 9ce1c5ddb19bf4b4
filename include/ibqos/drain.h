/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * drain: what would be cut if nodes were taken out, from cabling and forwarding tables (part of folder check). Definitions:
 * docs/maintenance.md.
 */
#ifndef IBQOS_DRAIN_H
#define IBQOS_DRAIN_H

#include "ibqos/routes.h"

/* A switch with hosts that stays, and how many of its cables are on ways to other such switches that share no cable. */
struct drain_leaf {
	uint32_t node;
	uint32_t ways_before, ways_after;
	double up_before, up_after; /* Gb/s to the top of the tree, alone; 0 where that is not known */
};

struct drain_result {
	uint32_t nodes;	       /* taken out */
	uint32_t ends_out;     /* active ports of adapters among them */
	uint32_t ends;	       /* active ports of adapters that stay */
	uint32_t isolated;     /* of these: can reach no other end any more, and could */
	bool *is_isolated;     /* by port index */
	/* ordered pairs of ends that stay, by the base LIDs; known where routes were given: */
	bool pairs_known;
	uint64_t pairs;	       /* with a path by the forwarding tables today */
	uint64_t pairs_unread; /* whose path is not known */
	uint64_t lost;	       /* whose path goes through what is taken out */
	uint64_t lost_for_good; /* of these: without any other way over what stays */
	/* bandwidth, where the switches form a tree and all rates are known; else why is a clause: */
	const char *why_unknown; /* NULL: known. Static */
	double up_before, up_after; /* Gb/s that all leaves that stay can send to the top of the tree at once */
	uint32_t worst_leaf;	    /* index into leaves: the one that keeps least of its own; of several the first */
	struct drain_leaf *leaves;
	uint32_t leaf_count;
};

/*
 * `out`: by node, those taken out. Routes with all tables read, or NULL. 0; -EINTR by ctx; -ENOMEM. drain_clear() frees what
 * is in the result, in any case.
 */
int drain_check(const struct ibqos_ctx *ctx, const struct fabric *fabric, const struct routes *routes, const bool *out,
		struct drain_result *result);
void drain_clear(struct drain_result *result);
/* Ends that are cut off, leaves that are left with one way or none, pairs without any way. */
void drain_findings(const struct drain_result *result, const struct fabric *fabric, struct finding_list *findings);

#endif
