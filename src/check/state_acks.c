/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Acknowledgements in what an audit remembers: put in, found, taken away, and whether what they are of is still there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/state.h"

void state_ack_clear(struct state_ack *ack)
{
	free(ack->ticket);
	free(ack->by);
	*ack = (struct state_ack){0};
}

const struct state_ack *state_ack_find(const struct state *state, enum finding_code code, uint64_t guid, int port)
{
	for (size_t i = 0; i < state->ack_count; i++)
		if (state->acks[i].code == code && state->acks[i].guid == guid && state->acks[i].port == port)
			return &state->acks[i];
	return NULL;
}

int state_acknowledge(struct state *state, const struct state_ack *ack)
{
	const struct state_ack *there = state_ack_find(state, ack->code, ack->guid, ack->port);
	size_t at = there ? (size_t)(there - state->acks) : state->ack_count;
	struct state_ack copy = *ack, *grown;

	copy.ticket = text_utf8(ack->ticket, strlen(ack->ticket));
	copy.by = ack->by ? text_utf8(ack->by, strlen(ack->by)) : NULL;
	grown = there ? state->acks : array_grow(state->acks, &state->ack_room, at + 1, sizeof(*grown));
	if (grown)
		state->acks = grown;
	if (!grown || !copy.ticket || (ack->by && !copy.by)) {
		state_ack_clear(&copy);
		return -ENOMEM;
	}
	if (there)
		state_ack_clear(&state->acks[at]);
	else
		state->ack_count++;
	state->acks[at] = copy;
	return 0;
}

void state_ack_remove(struct state *state, const struct state_ack *ack)
{
	size_t at = (size_t)(ack - state->acks);

	state_ack_clear(&state->acks[at]);
	state->ack_count--;
	memmove(&state->acks[at], &state->acks[at + 1], (state->ack_count - at) * sizeof(*state->acks));
}

/* Of a node, or one of its ports. */
static bool covers(const struct state_ack *ack, uint64_t guid, int port)
{
	return ack->guid == guid && (ack->port == FINDING_WHOLE_NODE || ack->port == port);
}

bool state_ack_seen(const struct state *state, const struct state_ack *ack, uint64_t *last)
{
	bool there = false;

	*last = 0;
	for (size_t i = 0; i < state->finding_count; i++) {
		const struct state_finding *f = &state->findings[i];

		if (f->code != ack->code || (!covers(ack, f->guid, f->port) && !covers(ack, f->peer_guid, f->peer_port)))
			continue;
		there |= f->clean == 0;
		*last = f->seen > *last ? f->seen : *last;
	}
	return there;
}
