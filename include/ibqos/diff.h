/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * diff: two states of a fabric, and which of the changes between them were expected (part of folder check).
 */
#ifndef IBQOS_DIFF_H
#define IBQOS_DIFF_H

#include "ibqos/changes.h"
#include "ibqos/check.h"

struct diff_state {
	const struct fabric *fabric;
	const struct snapshot *snapshot; /* NULL: only the fabric is known */
};

/* A node that stands in the place of another one. */
struct diff_replaced {
	uint64_t before, after; /* node GUIDs */
};

struct diff_result {
	uint32_t nodes, links; /* in both; a node that was replaced is in both */
	uint32_t nodes_gone, nodes_new, nodes_replaced, nodes_renamed, links_gone, links_new, links_moved, links_swapped;
	uint32_t rates;	       /* links that run at another width or speed */
	uint32_t capabilities; /* ports that support other widths or speeds */
	uint32_t tables;       /* ports with other tables */
	uint32_t routes;       /* switches with other forwarding tables */
	uint32_t unknown;      /* what could not be compared: links and ports */
	struct diff_replaced *replaced; /* [nodes_replaced], by `before` */
};

/*
 * What changed from `before` to `after`, as findings placed in `after` where the place is there, else in `before`.
 * A node is the same by its GUID, a port by its number. A node of another GUID has replaced one that is gone if both are
 * of one type and it has at least half of its cables (an adapter: a cable and its name), or both have a name that nothing else
 * has: one finding, and the two are compared as one. Links of a node that is gone or new are told with it; two
 * links that exchanged ends are one finding, and so is a link one end of which is elsewhere now. 0 or -ENOMEM.
 * diff_result_clear() frees what is in the result, in any case.
 */
int check_diff(const struct diff_state *before, const struct diff_state *after, struct finding_list *findings,
	       struct diff_result *result);
void diff_result_clear(struct diff_result *result);
/* The GUID that a node of `before` has in `after`; the same if it was not replaced. */
uint64_t diff_guid_after(const struct diff_result *result, uint64_t guid);

/* How an expected change ended. */
struct diff_expected {
	uint32_t meant;	   /* nodes or links that it is about */
	uint32_t happened; /* of these */
	uint32_t covered;  /* findings that it explains */
};

/*
 * Which findings of check_diff() were expected: they become notes, "expected" and the line in their detail. What was
 * expected and did not happen becomes a finding (expected-change-missing), one a node or link. `expected` has room for
 * one of each of changes->count. 0 or -ENOMEM.
 */
int diff_expect(const struct diff_state *before, const struct diff_state *after, const struct changes *changes,
		const struct diff_result *result, struct finding_list *findings, struct diff_expected *expected);

#endif
