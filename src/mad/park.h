/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queries that wait off the wire: those that a silent device left unanswered, kept by device until it is
 * heard again or nothing else is left to ask; and those taken from there, which are to be sent next.
 */
#ifndef IBQOS_MAD_PARK_H
#define IBQOS_MAD_PARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ibqos/mad.h"

#define PARK_NONE UINT32_MAX

struct parked {
	struct mad_query query;
	uint64_t lost_ns; /* when its last unanswered MAD was sent */
	uint32_t device;
	uint32_t next;
	uint32_t tries;
	uint16_t busy;
	bool late; /* taken up in a late round */
};

struct park_list {
	uint32_t first, last;
};
#define PARK_LIST_EMPTY ((struct park_list){PARK_NONE, PARK_NONE})

struct park {
	struct parked *item;
	uint32_t count; /* places made so far */
	size_t room;
	uint32_t free;
	struct park_list next; /* to be sent next, in this order */
};

void park_init(struct park *park);
void park_free(struct park *park);
/* Keeps a query at the end of a list. -ENOMEM: it is not kept. */
int park_add(struct park *park, struct park_list *list, const struct parked *query);
/* Takes the first of a list; false: it is empty. */
bool park_take(struct park *park, struct park_list *list, struct parked *query);
/* Moves the first of a list to those sent next; `late` marks it. False: it is empty. */
bool park_release(struct park *park, struct park_list *list, bool late);

#endif
