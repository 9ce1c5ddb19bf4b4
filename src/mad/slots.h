/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One slot for each query that the engine has in hand, as many as the window is wide. A slot is
 * found by transaction ID in one step: the low bits are its index, the others count its MADs, so
 * that an answer to an earlier MAD of the slot is told from one to the present MAD. Every slot is
 * in one of three lists, each in the order of arrival; since all tries last equally long, that is
 * the order of deadlines too.
 */
#ifndef IBQOS_MAD_SLOTS_H
#define IBQOS_MAD_SLOTS_H

#include <stdint.h>

#include "ibqos/mad.h"

#define SLOTS_MAX 4096
#define SLOT_NONE UINT32_MAX

enum slot_list {
	SLOTS_FREE,
	SLOTS_READY,   /* to be sent, for the first time or again */
	SLOTS_WAITING, /* sent */
	SLOT_LISTS,
};

struct slot {
	struct mad_query query;
	uint64_t deadline_ns;
	uint32_t device;
	uint32_t mads;  /* MADs sent from this slot so far, its earlier queries included */
	uint32_t tries; /* of these, for the present query */
	uint32_t previous, next;
	enum slot_list list;
	uint16_t busy; /* the last status that asked to come again later, 0: none */
	bool settled;  /* the present try was answered (busy) and only waits for its deadline */
};

struct slots {
	struct slot *slot; /* `count` slots, then a head for each list */
	uint32_t count;
};

/* What a transaction ID belongs to. */
enum slot_match {
	SLOT_PRESENT, /* the MAD that *index waits for */
	SLOT_PAST,    /* an earlier one, or one answered already */
	SLOT_ALIEN,   /* nothing that was sent from here */
};

int slots_init(struct slots *slots, uint32_t count);
void slots_free(struct slots *slots);
/* The first of a list, SLOT_NONE when it is empty. */
uint32_t slots_first(const struct slots *slots, enum slot_list list);
/* Moves a slot to the end of a list. */
void slots_move(struct slots *slots, uint32_t index, enum slot_list list);
/* The transaction ID for the slot's next MAD; never 0, which libibmad takes for "none". */
uint32_t slots_next_tid(const struct slots *slots, uint32_t index);
/* That MAD was sent: the slot waits for its answer. */
void slots_sent(struct slots *slots, uint32_t index, uint64_t deadline_ns);
enum slot_match slots_find(const struct slots *slots, uint32_t tid, uint32_t *index);

#endif
