/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A wire for tests. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "script_wire.h"

#define SECOND_NS 1000000000ull

/* A MAD that was sent and has neither been answered nor come to count as lost. */
struct script_flight {
	uint32_t tid;
	uint16_t attribute;
	uint32_t modifier;
	uint8_t mgmt_class;
	uint32_t device;
	uint64_t end_ns;
};

struct script_pending {
	uint64_t when_ns;
	struct mad_reply reply;
};

static void *make_room(void *items, size_t *room, size_t needed, size_t size)
{
	if (needed <= *room)
		return items;
	*room = 2 * needed;
	items = realloc(items, *room * size);
	assert_non_null(items);
	return items;
}

static uint32_t device_of(const struct mad_address *to)
{
	return to->lid ? to->lid : 0x10000u | to->route.port[to->route.hops];
}

/* --- what is on the wire --- */

static void forget_flight(struct script_wire *w, size_t i)
{
	w->flight[i] = w->flight[--w->flights];
}

static void land(struct script_wire *w, const struct mad_reply *reply)
{
	const struct script_flight *f;
	size_t i;

	for (i = 0; i < w->flights; i++) {
		f = &w->flight[i];
		if (f->tid == reply->tid && f->attribute == reply->attribute &&
		    f->modifier == reply->modifier && f->mgmt_class == reply->mgmt_class) {
			forget_flight(w, i);
			return;
		}
	}
}

static void take_off(struct script_wire *w, const struct mad_request *request)
{
	struct script_flight new = {
		.tid = request->tid,
		.attribute = request->attribute,
		.modifier = request->modifier,
		.mgmt_class = request->mgmt_class,
		.device = device_of(request->to),
		.end_ns = w->clock_ns + request->short_ms * 1000000ull,
	};
	unsigned to_device = 1;
	size_t i;

	for (i = w->flights; i-- > 0;)
		if (w->flight[i].end_ns <= w->clock_ns)
			forget_flight(w, i);
	for (i = 0; i < w->flights; i++) {
		if (w->flight[i].tid == new.tid)
			fail_msg("transaction ID 0x%x is on the wire already", new.tid);
		to_device += w->flight[i].device == new.device;
	}
	w->flight = make_room(w->flight, &w->flight_room, w->flights + 1, sizeof(*w->flight));
	w->flight[w->flights++] = new;
	if (w->flights > w->peak)
		w->peak = (unsigned)w->flights;
	if (to_device > w->device_peak)
		w->device_peak = to_device;
	w->sent_ns = make_room(w->sent_ns, &w->sent_room, w->sends + 1, sizeof(*w->sent_ns));
	w->sent_ns[w->sends++] = w->clock_ns;
}

size_t script_wire_most_in_a_second(const struct script_wire *w)
{
	size_t first = 0, last, most = 0;

	for (last = 0; last < w->sends; last++) {
		while (w->sent_ns[last] - w->sent_ns[first] >= SECOND_NS)
			first++;
		if (last - first + 1 > most)
			most = last - first + 1;
	}
	return most;
}

/* --- replies --- */

void script_reply(struct script_wire *w, uint64_t delay_ns, const struct mad_reply *reply)
{
	uint64_t when = w->clock_ns + delay_ns;
	size_t i = w->pendings;

	w->pending = make_room(w->pending, &w->pending_room, w->pendings + 1, sizeof(*w->pending));
	for (; i > 0 && w->pending[i - 1].when_ns > when; i--)
		w->pending[i] = w->pending[i - 1];
	w->pending[i] = (struct script_pending){.when_ns = when, .reply = *reply};
	w->pendings++;
}

void script_data(uint16_t lid, uint16_t attribute, uint32_t modifier, uint8_t data[MAD_SMP_DATA])
{
	uint32_t mix = lid * 2654435761u ^ attribute * 40503u ^ modifier * 2246822519u;
	unsigned i;

	for (i = 0; i < MAD_SMP_DATA; i++) {
		mix = mix * 1664525u + 1013904223u;
		data[i] = (uint8_t)(mix >> 24);
	}
}

struct mad_reply script_answer(const struct mad_request *request)
{
	struct mad_reply reply = {.tid = request->tid,
				  .attribute = request->attribute,
				  .modifier = request->modifier,
				  .mgmt_class = request->mgmt_class};

	script_data(request->to->lid, request->attribute, request->modifier, reply.data);
	return reply;
}

/* --- the script --- */

static int follow_script(void *arg, struct script_wire *w, const struct mad_request *request)
{
	uint64_t delay = SCRIPT_DELAY_US * 1000ull, lost = request->timeout_ms * 1000000ull;
	struct mad_reply reply = script_answer(request);
	const struct script_entry *e;
	unsigned i;

	(void)arg;
	if (w->script_used == w->script_size)
		fail_msg("request %zu is not in the script: LID %u attribute 0x%x modifier 0x%x",
			 w->script_used + 1, request->to->lid, request->attribute, request->modifier);
	e = &w->script[w->script_used++];
	if ((e->lid && e->lid != request->to->lid) || e->attribute != request->attribute ||
	    e->modifier != request->modifier)
		fail_msg("request %zu is for LID %u attribute 0x%x modifier 0x%x, not %u 0x%x 0x%x",
			 w->script_used, request->to->lid, request->attribute, request->modifier, e->lid,
			 e->attribute, e->modifier);
	if (e->delay_us)
		delay = e->delay_us * 1000ull;
	switch (e->fate) {
	case SCRIPT_STATUS:
		reply.status = e->status;
		break;
	case SCRIPT_LOST:
		reply.timed_out = true;
		delay = lost;
		break;
	case SCRIPT_SILENCE:
		return 0;
	case SCRIPT_REFUSED:
		return e->error;
	case SCRIPT_ANSWER:
		break;
	}
	for (i = 0; i <= e->copies; i++)
		script_reply(w, delay, &reply);
	return 0;
}

/* --- the wire's operations --- */

static int wire_send(struct mad_wire *wire, const struct mad_request *request)
{
	struct script_wire *w = (struct script_wire *)wire;
	int err;

	assert_false(w->closed);
	assert_int_not_equal(request->tid, 0);
	assert_in_range(request->short_ms, 1, request->timeout_ms);
	w->attempts++;
	w->last = *request;
	w->last_to = *request->to;
	w->last.to = &w->last_to;
	err = w->device(w->arg, w, request);
	if (!err)
		take_off(w, request);
	return err;
}

static int wire_receive(struct mad_wire *wire, struct mad_reply *reply, unsigned wait_ms)
{
	struct script_wire *w = (struct script_wire *)wire;
	uint64_t until = w->clock_ns + wait_ms * 1000000ull;

	assert_false(w->closed);
	if (w->receive_errors > 0) {
		w->receive_errors--;
		return w->receive_error;
	}
	if (!w->pendings || w->pending[0].when_ns > until) {
		w->clock_ns = until;
		w->idle_receives = wait_ms ? 0 : w->idle_receives + 1;
		if (w->idle_receives > 10)
			fail_msg("the engine spins instead of waiting");
		return 0;
	}
	w->idle_receives = 0;
	if (w->pending[0].when_ns > w->clock_ns)
		w->clock_ns = w->pending[0].when_ns;
	*reply = w->pending[0].reply;
	memmove(w->pending, w->pending + 1, --w->pendings * sizeof(*w->pending));
	land(w, reply);
	w->delivered += !reply->timed_out;
	return 1;
}

static uint64_t wire_now(struct mad_wire *wire)
{
	return ((struct script_wire *)wire)->clock_ns;
}

static void wire_close(struct mad_wire *wire)
{
	struct script_wire *w = (struct script_wire *)wire;

	assert_false(w->closed);
	w->closed = true;
}

static const struct mad_wire_ops script_ops = {
	.send = wire_send,
	.receive = wire_receive,
	.now = wire_now,
	.close = wire_close,
};

void script_wire_play(struct script_wire *w, script_device *device, void *arg)
{
	/* Any time but 0, which a careless engine might take for "never". */
	*w = (struct script_wire){
		.wire.ops = &script_ops, .clock_ns = 3600 * SECOND_NS, .device = device, .arg = arg};
}

void script_wire_init(struct script_wire *w, const struct script_entry *script, size_t size)
{
	script_wire_play(w, follow_script, NULL);
	w->script = script;
	w->script_size = size;
}

void script_wire_end(struct script_wire *w)
{
	if (!w->closed)
		fail_msg("the wire was not closed");
	if (w->script_used != w->script_size)
		fail_msg("%zu of the script's %zu requests did not come", w->script_size - w->script_used,
			 w->script_size);
	free(w->flight);
	free(w->pending);
	free(w->sent_ns);
	*w = (struct script_wire){0};
}
