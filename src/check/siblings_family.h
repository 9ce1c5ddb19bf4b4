/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: hosts of one kind, with one of their adapters, in the order of their numbers (siblings_ranges.c), and the
 * patterns that they are laid out by (siblings_patterns.c).
 */
#ifndef IBQOS_CHECK_SIBLINGS_FAMILY_H
#define IBQOS_CHECK_SIBLINGS_FAMILY_H

#include "siblings_seats.h"

#define FAMILY_LEAST 8 /* hosts; fewer say nothing */
#define FAMILY_ODD_OF 10 /* one host in so many at most may be elsewhere */

struct member {
	struct seat *seat;
	size_t at; /* which it is by number */
	unsigned long number;
	uint32_t leaf;	/* among the family's, from 0, by name */
	uint32_t run;	/* so many in a row, by number, are on the same leaf */
	uint32_t block; /* that it is in by the pattern that is tried */
	uint32_t want;	/* the leaf that the pattern wants; NOWHERE: nothing is known */
	bool alone;	/* all members of its leaf follow each other by number */
};
#define NOWHERE UINT32_MAX

/* Hosts of one kind, with one of their adapters, by number. */
struct family {
	const struct site *site;
	struct member *members;
	size_t count;
	uint32_t *leaves; /* ranks of switches by name */
	uint32_t leaf_count;
	bool in_order; /* all leaves' names differ */
	/* for the pattern that is tried: */
	uint32_t *block_leaf;	    /* by block: the leaf it is matched with, NOWHERE */
	uint32_t *leaf_block;	    /* by leaf: the block that has most hosts there, NOWHERE where two have */
	uint32_t *leaf_most, *tally; /* by leaf; tally is all 0 between uses */
	/* of the best so far, by member: where it belongs, its own leaf where it is right or several patterns disagree */
	uint32_t *want;
	size_t score;
};

/*
 * Each tries a pattern, and keeps where members belong by it if it is better than those before (`score`, 0 at first): members in
 * the order of numbers, or of blocks that are set already.
 */
void family_try_numbers(struct family *family);
void family_try_blocks(struct family *family);

#endif
