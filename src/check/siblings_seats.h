/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: adapters' ports on switches ("seats"), with what their hosts' names tell; and which of them are on another
 * switch than those that they belong with. Rules: siblings_rails.c, siblings_ranges.c; told by siblings_moved.c.
 */
#ifndef IBQOS_CHECK_SIBLINGS_SEATS_H
#define IBQOS_CHECK_SIBLINGS_SEATS_H

#include "siblings.h"

#define HOST_NAME_MAX_LENGTH 64

/*
 * "gpu-001.site mlx5_3": host "gpu-001.site", device "mlx5_3"; of the host the part before its last number, the
 * number.
 */
struct host_name {
	char host[HOST_NAME_MAX_LENGTH], stem[HOST_NAME_MAX_LENGTH];
	unsigned digits; /* 0: it ends in no number */
	unsigned long number;
	const char *device; /* in the name that was read */
};
/* False: there is no name, or one too long to be a host's. */
bool host_name_read(const char *name, struct host_name *out);
/* Writes the name of the host whose number is `step` away. */
void host_name_beside(const struct host_name *name, int step, char *out, size_t size);

/* An adapter's port on a switch. */
struct seat {
	struct host_name name;
	unsigned number; /* of the adapter's port: with the device it is the rail */
	uint32_t port, leaf;
	uint64_t leaves;   /* of the whole host: a number that hosts on the same switches share; 0: one switch only */
	uint32_t belongs;  /* the switch that it should be on; FABRIC_NONE: nothing is said */
	bool by_rail;	   /* told so by the other adapters of hosts, not by numbers */
};

struct seats {
	struct seat *items;
	size_t count;
};

int seats_new(const struct site *site, struct seats *seats); /* 0 or -ENOMEM */
void seats_free(struct seats *seats);
/* Orders by host, device and port. */
void seats_sort(struct seats *seats);

/* Each says of seats where they belong; those that have been told already stay. 0 or -ENOMEM. */
int seats_by_rails(struct seats *seats);
int seats_by_ranges(const struct site *site, struct seats *seats);

/* Tells those that are elsewhere than they belong. astray[node] (struct site) counts them, where they are not exchanged. */
void seats_tell(const struct site *site, struct seats *seats, int32_t *astray, struct finding_list *findings);

/* The nearest host at a port below (step -1) or above (step 1); FABRIC_NONE: none. */
uint32_t seats_next_host(const struct site *site, uint32_t node, unsigned port, int step);

#endif
