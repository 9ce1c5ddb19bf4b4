/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Queries that wait off the wire. */
#include "park.h"

#include <errno.h>
#include <stdlib.h>

#include "ibqos/util.h"

void park_init(struct park *park)
{
	*park = (struct park){.free = PARK_NONE, .next = PARK_LIST_EMPTY};
}

void park_free(struct park *park)
{
	free(park->item);
	park_init(park);
}

static void append(struct park *park, struct park_list *list, uint32_t index)
{
	park->item[index].next = PARK_NONE;
	if (list->first == PARK_NONE)
		list->first = index;
	else
		park->item[list->last].next = index;
	list->last = index;
}

static uint32_t unhook(struct park *park, struct park_list *list)
{
	uint32_t index = list->first;

	if (index == PARK_NONE)
		return PARK_NONE;
	list->first = park->item[index].next;
	if (list->first == PARK_NONE)
		list->last = PARK_NONE;
	return index;
}

int park_add(struct park *park, struct park_list *list, const struct parked *query)
{
	uint32_t index = park->free;
	struct parked *item;

	if (index != PARK_NONE) {
		park->free = park->item[index].next;
	} else {
		item = array_grow(park->item, &park->room, (size_t)park->count + 1, sizeof(*item));
		if (!item)
			return -ENOMEM;
		park->item = item;
		index = park->count++;
	}
	park->item[index] = *query;
	append(park, list, index);
	return 0;
}

bool park_take(struct park *park, struct park_list *list, struct parked *query)
{
	uint32_t index = unhook(park, list);

	if (index == PARK_NONE)
		return false;
	*query = park->item[index];
	park->item[index].next = park->free;
	park->free = index;
	return true;
}

bool park_release(struct park *park, struct park_list *list, bool late)
{
	uint32_t index = unhook(park, list);

	if (index == PARK_NONE)
		return false;
	park->item[index].late = late;
	append(park, &park->next, index);
	return true;
}
