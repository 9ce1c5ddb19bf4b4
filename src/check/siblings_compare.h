/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: what comparing switches' cables shares: bundles (siblings_bundles.c, siblings_near.c,
 * siblings_cables.c), how they lie (siblings_order.c), totals
 * (siblings_totals.c).
 */
#ifndef IBQOS_CHECK_SIBLINGS_COMPARE_H
#define IBQOS_CHECK_SIBLINGS_COMPARE_H

#include "siblings.h"

/* A pair of switches with another number of cables than such pairs have: `from` is the one nearer to hosts. */
struct odd {
	uint32_t from, to, have, want;
	bool told;
	bool none; /* there is no cable left, though siblings have theirs */
};

struct odds {
	struct odd *items;
	size_t count, room;
};

struct comparing {
	const struct site *site;
	struct finding_list *findings;
	struct odds fewer, more;
	uint32_t *tally;       /* by node, all 0 between uses */
	uint32_t *values;      /* room for a value a node */
	uint32_t *told_up, *told_side, *told_down; /* by node: missing cables that a finding tells already */
};

/* A finding at a switch, and at the other end where there is one (else FABRIC_NONE); of a missing cable with the ports. */
struct finding *siblings_tell(struct comparing *c, enum finding_code code, uint32_t node, uint32_t peer);
void siblings_set_cables(char **member, uint32_t count); /* "2 cables" */

/* The port of a switch that has no cable and leads to switches of the other's role on its siblings; 0: not one only. */
unsigned siblings_empty_port(const struct site *site, uint32_t node, uint32_t to);

/* Notes one. 0 or -ENOMEM. */
int siblings_add_odd(struct odds *odds, struct odd odd);
/* The one of these two switches that is not told yet; NULL: none. */
struct odd *siblings_odd(struct odds *odds, uint32_t from, uint32_t to);
/* Notes pairs without any cable left, of switches that have at least as many with. 0 or -ENOMEM. */
int siblings_find_gone(struct comparing *c);
/* Whether cables between two levels of a tree should not be there: of pods that are not each other's. */
bool siblings_strange(struct comparing *c, const struct bundle *bundle);
/* Tells those that were noted. */
void siblings_tell_bundles(struct comparing *c);

/*
 * A switch of a role that `node` has no cable to, while at least two thirds of its siblings, two at least, have: FABRIC_NONE
 * where there is none, or not one only. *want: how many cables.
 */
uint32_t siblings_lacking(struct comparing *c, uint32_t node, uint32_t other_role, uint32_t *want);

/* How many cables most switches of a role have to others of their level; false: they have none in common. */
bool siblings_usual_side(struct comparing *c, uint32_t role, uint32_t *usual);

int siblings_bundles(struct comparing *c); /* 0 or -ENOMEM */
int siblings_totals(struct comparing *c);
int siblings_order(struct comparing *c);

#endif
