/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One slot for each query that the engine has in hand. A slot is found by transaction ID in one step: the
 * low bits are its index, the others count its MADs, so that an answer to an earlier MAD of the slot is told
 * from one to the present MAD. Every slot is in one of four lists: two in the order of arrival, two in that of
 * deadlines.
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
	SLOTS_WAITING, /* sent, and on the wire as far as is known */
	SLOTS_LISTENING, /* most likely lost, or busy: an answer is still taken, but it takes no place on the wire */
	SLOT_LISTS,
};

struct slot {
	struct mad_query query;
	uint64_t deadline_ns; /* when it leaves the list it is in */
	uint64_t end_ns;      /* when the present try ends */
	uint64_t sent_ns;     /* when the present try was sent */
	uint64_t first_ns;    /* when the first try was */
	uint64_t lost_ns;     /* when the last try without any answer was; 0: none was */
	uint32_t device;
	uint32_t mads;  /* MADs sent from this slot so far, its earlier queries included */
	uint32_t tries; /* of these, for the present query */
	uint32_t previous, next;
	enum slot_list list;
	uint16_t busy; /* the last status that asked to come again later, 0: none */
	bool late;     /* asked again in a late round */
	bool spent;    /* its query has ended, by an answer to an earlier MAD; the present one is still on the wire */
	bool settled;  /* the present try was answered (busy) and only waits for its deadline */
};

struct slots {
	struct slot *slot; /* `count` slots, then a head for each list */
	uint32_t count;
	uint32_t waiting; /* slots on the wire */
};

/* What a transaction ID belongs to. */
enum slot_match {
	SLOT_PRESENT, /* the MAD that *index waits for */
	SLOT_EARLIER, /* an earlier try of the query in *index */
	SLOT_PAST,    /* of a query that has ended, or one answered already */
	SLOT_ALIEN,   /* nothing that was sent from here */
};

int slots_init(struct slots *slots, uint32_t count);
void slots_free(struct slots *slots);
/* The first of a list, SLOT_NONE when it is empty. */
uint32_t slots_first(const struct slots *slots, enum slot_list list);
/* The one after it in its list, SLOT_NONE: it is the last. */
uint32_t slots_after(const struct slots *slots, uint32_t index);
/* Moves a slot to the end of a list. */
void slots_move(struct slots *slots, uint32_t index, enum slot_list list);
/* The transaction ID for the slot's next MAD; never 0, which libibmad takes for "none". */
uint32_t slots_next_tid(const struct slots *slots, uint32_t index);
/* That MAD was sent: the slot is on the wire until deadline_ns, its try ends at end_ns. */
void slots_sent(struct slots *slots, uint32_t index, uint64_t now_ns, uint64_t deadline_ns, uint64_t end_ns);
/* The slot takes no more place on the wire; it leaves its list when its try ends. */
void slots_listen(struct slots *slots, uint32_t index);
enum slot_match slots_find(const struct slots *slots, uint32_t tid, uint32_t *index);

#endif
