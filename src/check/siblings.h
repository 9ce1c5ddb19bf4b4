/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: what the parts of audit_siblings() share: roles (siblings_roles.c), cables (siblings.c),
 * hosts and rails (siblings_hosts.c).
 */
#ifndef IBQOS_CHECK_SIBLINGS_H
#define IBQOS_CHECK_SIBLINGS_H

#include "ibqos/audit.h"

#define SIBLINGS_LEAST 3 /* fewer switches of a role than these say nothing */

enum node_kind { KIND_HOST, KIND_SWITCH, KIND_OTHER /* aggregation nodes, routers */ };

/* Parallel cables between two switches; once from either of them. */
struct bundle {
	uint32_t from, to; /* nodes */
	uint32_t count;
	uint32_t port; /* of `from`: one of them */
};

struct site {
	const struct fabric *fabric;
	uint8_t *kind;	   /* by node: enum node_kind */
	uint8_t *level;	   /* by node, of switches: hops to one with hosts; LEVEL_NONE: there is none */
	uint32_t *role;	   /* by node, of switches: an equal number for those of one role */
	uint32_t roles;
	uint32_t *hosts;   /* by node, of switches: ports with a host */
	int32_t *astray;   /* by node, of switches: hosts that belong here and are not, less those that do not and are */
	uint32_t *up, *side, *down; /* by node: cables to switches of a higher level, the same, a lower one */
	struct bundle *bundles; /* by from, then to */
	size_t bundle_count;
	size_t *first_bundle; /* by node, and one more */
	char **label; /* by node: of switches that share their name with another its name and GUID; else NULL */
};
#define LEVEL_NONE UINT8_MAX

int site_new(const struct fabric *fabric, struct site *site); /* 0 or -ENOMEM */
void site_clear(struct site *site);
static inline bool site_is_switch(const struct site *site, uint32_t node)
{
	return site->kind[node] == KIND_SWITCH;
}
/* What a node is called in a text: by its name, and its GUID where another switch has the same name. Never NULL. */
const char *site_label(const struct site *site, uint32_t node);
/* Cables between two switches. */
uint32_t site_between(const struct site *site, uint32_t from, uint32_t to);

/*
 * The value that at least two thirds of them have; false: there is none, or fewer than SIBLINGS_LEAST. values is
 * put in order.
 */
bool site_usual(uint32_t *values, size_t count, uint32_t *usual);

/*
 * What kind of link a port has, by the roles or models at its ends and whether it is inside a chassis: equal numbers for
 * links of a kind. False: it is none that is compared (an aggregation node's, a router's, a loop).
 */
#define SITE_KIND 3
bool site_kind(const struct site *site, uint32_t port, uint32_t kind[SITE_KIND]);

/* Before cables are compared: fills in `astray`. */
int siblings_hosts(struct site *site, struct finding_list *findings);
int siblings_rates(const struct site *site, const struct audit_options *options, struct finding_list *findings);

#endif
