/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The queries that the engine has in hand. */
#include "slots.h"

#include <errno.h>
#include <stdlib.h>

#define INDEX_BITS 12
#define INDEX_MASK ((1u << INDEX_BITS) - 1)
#define COUNT_MASK (UINT32_MAX >> INDEX_BITS)

_Static_assert(SLOTS_MAX == INDEX_MASK + 1, "a slot's index must fit into its bits of the transaction ID");

static uint32_t list_head(const struct slots *slots, enum slot_list list)
{
	return slots->count + list;
}

static void unlink_slot(struct slots *slots, uint32_t index)
{
	struct slot *slot = &slots->slot[index];

	slots->slot[slot->previous].next = slot->next;
	slots->slot[slot->next].previous = slot->previous;
	slots->waiting -= slot->list == SLOTS_WAITING;
}

/* Puts a slot behind `previous`, a slot of the list or its head. */
static void insert_slot(struct slots *slots, uint32_t index, enum slot_list list, uint32_t previous)
{
	struct slot *slot = &slots->slot[index];

	slot->list = list;
	slot->previous = previous;
	slot->next = slots->slot[previous].next;
	slots->slot[slot->next].previous = index;
	slots->slot[previous].next = index;
	slots->waiting += list == SLOTS_WAITING;
}

static void append_slot(struct slots *slots, uint32_t index, enum slot_list list)
{
	insert_slot(slots, index, list, slots->slot[list_head(slots, list)].previous);
}

/* By deadline, from the end: nearly all tries last equally long. */
static void sort_in(struct slots *slots, uint32_t index, enum slot_list list)
{
	uint32_t head = list_head(slots, list), at = slots->slot[head].previous;

	while (at != head && slots->slot[at].deadline_ns > slots->slot[index].deadline_ns)
		at = slots->slot[at].previous;
	insert_slot(slots, index, list, at);
}

int slots_init(struct slots *slots, uint32_t count)
{
	uint32_t i;

	if (count < 1 || count > SLOTS_MAX)
		return -EINVAL;
	*slots = (struct slots){.count = count};
	slots->slot = calloc((size_t)count + SLOT_LISTS, sizeof(*slots->slot));
	if (!slots->slot)
		return -ENOMEM;
	for (i = count; i < count + SLOT_LISTS; i++)
		slots->slot[i].previous = slots->slot[i].next = i;
	for (i = 0; i < count; i++)
		append_slot(slots, i, SLOTS_FREE);
	return 0;
}

void slots_free(struct slots *slots)
{
	free(slots->slot);
	*slots = (struct slots){0};
}

uint32_t slots_first(const struct slots *slots, enum slot_list list)
{
	uint32_t head = list_head(slots, list), first = slots->slot[head].next;

	return first == head ? SLOT_NONE : first;
}

uint32_t slots_after(const struct slots *slots, uint32_t index)
{
	uint32_t next = slots->slot[index].next;

	return next >= slots->count ? SLOT_NONE : next;
}

void slots_move(struct slots *slots, uint32_t index, enum slot_list list)
{
	unlink_slot(slots, index);
	append_slot(slots, index, list);
}

/* The count after `mads` whose part in a transaction ID is not 0. */
static uint32_t next_count(uint32_t mads)
{
	mads++;
	return mads & COUNT_MASK ? mads : mads + 1;
}

uint32_t slots_next_tid(const struct slots *slots, uint32_t index)
{
	return next_count(slots->slot[index].mads) << INDEX_BITS | index;
}

void slots_sent(struct slots *slots, uint32_t index, uint64_t now_ns, uint64_t deadline_ns, uint64_t end_ns)
{
	struct slot *slot = &slots->slot[index];

	slot->mads = next_count(slot->mads);
	if (!slot->tries++)
		slot->first_ns = now_ns;
	slot->settled = false;
	slot->sent_ns = now_ns;
	slot->deadline_ns = deadline_ns;
	slot->end_ns = end_ns;
	unlink_slot(slots, index);
	sort_in(slots, index, SLOTS_WAITING);
}

void slots_listen(struct slots *slots, uint32_t index)
{
	unlink_slot(slots, index);
	slots->slot[index].deadline_ns = slots->slot[index].end_ns;
	sort_in(slots, index, SLOTS_LISTENING);
}

enum slot_match slots_find(const struct slots *slots, uint32_t tid, uint32_t *index)
{
	uint32_t count = tid >> INDEX_BITS, age;
	const struct slot *slot;

	*index = tid & INDEX_MASK;
	if (*index >= slots->count || !count)
		return SLOT_ALIEN;
	slot = &slots->slot[*index];
	age = (slot->mads - count) & COUNT_MASK;
	if (age >= slot->mads)
		return SLOT_ALIEN;
	if (slot->list == SLOTS_FREE || age >= slot->tries || (age == 0 && slot->settled))
		return SLOT_PAST;
	return age == 0 && slot->list != SLOTS_READY ? SLOT_PRESENT : SLOT_EARLIER;
}
