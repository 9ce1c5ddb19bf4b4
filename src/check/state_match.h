/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * state_match: what belongs together of thousands of findings, earlier ones and acknowledgements, each found by a search
 * in a sorted index.
 */
#ifndef IBQOS_CHECK_STATE_MATCH_H
#define IBQOS_CHECK_STATE_MATCH_H

#include "ibqos/state.h"

struct match_entry {
	size_t at;    /* in the array that is indexed */
	size_t taken; /* of the first of equal ones: how many were given out */
};

struct match_index {
	struct match_entry *entries;
	size_t count;
	uint64_t *compared; /* counted up; NULL: not counted */
};

/* Frees what is in it. */
void match_clear(struct match_index *index);

/* Earlier findings, by code, place and what. 0 or -ENOMEM. The state's array may grow meanwhile. */
int match_findings(const struct state *state, uint64_t *compared, struct match_index *index);
/* An earlier one that is the same finding and was not given out yet: SIZE_MAX: none. */
size_t match_take(const struct state *state, struct match_index *index, const struct finding *f);

/* Acknowledgements, by code and node. 0 or -ENOMEM. */
int match_acks(const struct state *state, uint64_t *compared, struct match_index *index);
/* The first entry, of an index of acknowledgements, of a code and node; *count: how many follow, itself among them. */
size_t match_acks_of(const struct state *state, const struct match_index *index, enum finding_code code, uint64_t guid,
		     size_t *count);

#endif
