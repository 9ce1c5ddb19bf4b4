/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rails: what the parts of check_rails() share: who has adapters where (rails_seats.c), which hosts lack what
 * (rails_hosts.c), rates and numbers of links (rails_rates.c), tables (rails_tables.c).
 */
#ifndef IBQOS_CHECK_RAILS_H
#define IBQOS_CHECK_RAILS_H

#include "ibqos/rails.h"
#include "siblings_seats.h"

#define RAIL_NONE UINT8_MAX

/* An adapter's port that is cabled. */
struct rail_seat {
	struct host_name name;
	bool named; /* the host is known */
	uint8_t rail, group;
	uint8_t belongs; /* the group that it should be in; RAIL_NONE: nothing is said */
	uint8_t number;	 /* of the adapter's port */
	uint32_t port;	 /* index in the rail's fabric */
	uint64_t guid, system_guid; /* of the node */
	uint32_t rate;	 /* Mb/s; 0: not known */
};

/* A host: its seats, one after the other. */
struct rail_host {
	size_t first, count;
	uint64_t present; /* groups that it is in, a bit each */
	uint32_t kind;	  /* equal for hosts that are compared with each other */
	size_t wrong;	  /* which finding says that its adapters are in other rails, from 1; 0: none */
};

struct rails {
	const struct rail *items;
	size_t count;
	/*
	 * Rails that are planes of the same ports are one group, named by the first of them; group[i] == i: it is one. left[i]: not
	 * compared, being the same fabric as another.
	 */
	uint8_t group[RAILS_MAX];
	bool left[RAILS_MAX];
	struct rail_seat *seats; /* in order of hosts; those without one last */
	size_t seat_count, named_count;
	struct rail_host *hosts; /* by name, numbers in order */
	size_t host_count;
	struct finding_list *findings;
	struct rails_result *result;
};

static inline bool rail_counts(const struct rails *r, size_t i)
{
	return r->group[i] == i && !r->left[i];
}
static inline const struct fabric *seat_fabric(const struct rails *r, const struct rail_seat *seat)
{
	return r->items[seat->rail].fabric;
}
/* "mlx5_3", "mlx5_3[2]", or the node's name where it tells no adapter. */
const char *seat_text(const struct rails *r, const struct rail_seat *seat, char text[FABRIC_TEXT]);

/* Places a finding at a seat. */
void seat_place(struct finding *f, const struct rails *r, const struct rail_seat *seat);

int rails_gather(struct rails *r);		/* seats and hosts; 0 or -ENOMEM */
void rails_planes(const struct rails *r);	/* of seats in order of group and port, one a plane yet */
int rails_hosts(struct rails *r);		/* 0 or -ENOMEM */
int rails_rates(const struct rails *r);		/* after rails_hosts(); 0 or -ENOMEM */
void rails_links(const struct rails *r, struct rail_totals *totals);
int rails_tables(const struct rails *r);	/* 0 or -ENOMEM */

/*
 * The value that most of the rails have that count and have one (have[i]), of several the largest; false: fewer than two have
 * one.
 */
bool rails_reference(const struct rails *r, const uint64_t *values, const bool *have, uint64_t *reference);
/* Adds "r0, r1" of the rails that `which` is true for. */
void rails_names(char **text, const struct rails *r, const bool *which);

#endif
