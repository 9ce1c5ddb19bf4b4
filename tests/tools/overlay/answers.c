/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Answers: what the rules make of them, and those that wait for their time. */
#include <errno.h>
#include <infiniband/mad.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define HOLD_MS 50 /* the longest that reorder= holds an answer back */

/* --- answers that wait --- */

static void insert(struct state *st, struct pending *p)
{
	struct pending **at = &st->pending;

	while (*at && (*at)->due <= p->due)
		at = &(*at)->next;
	p->next = *at;
	*at = p;
}

static struct pending *new_pending(int fd, int agent, const uint8_t *umad, int length, uint64_t due)
{
	struct pending *p = calloc(1, sizeof(*p));

	if (!p)
		die("out of memory");
	p->fd = fd;
	p->agent = agent;
	p->length = length;
	p->due = due;
	memcpy(p->umad, umad, UMAD_BYTES);
	return p;
}

void push(struct state *st, int fd, int agent, const uint8_t *umad, int length, uint64_t due)
{
	insert(st, new_pending(fd, agent, umad, length, due));
}

struct pending **first_pending(struct state *st, int fd, uint64_t *due)
{
	struct pending **at = &st->pending;

	while (*at && (*at)->fd != fd)
		at = &(*at)->next;
	*due = *at ? (*at)->due : FOREVER;
	return at;
}

static void hold_back(struct state *st, int fd, int agent, const uint8_t *umad, int length, unsigned after)
{
	struct pending *p = new_pending(fd, agent, umad, length, now_ms() + HOLD_MS);

	p->after = after;
	insert(st, p);
}

/* An answer comes that is not held back: one less to wait for. */
static void count_down(struct state *st, int fd)
{
	struct pending **at = &st->pending, *freed = NULL, **tail = &freed, *p;

	while ((p = *at)) {
		if (p->fd != fd || !p->after || --p->after) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		p->next = NULL;
		p->due = now_ms();
		*tail = p;
		tail = &p->next;
	}
	while ((p = freed)) {
		freed = p->next;
		insert(st, p);
	}
}

/* --- parts of a MAD --- */

void set_status(uint8_t *mad, uint16_t status)
{
	/* in a directed-route SMP the top bit is the direction (IBA 14.2.1.2) */
	mad[4] = (uint8_t)((mad[1] == 0x81 ? mad[4] & 0x80 : 0) | status >> 8);
	mad[5] = (uint8_t)status;
}

uint16_t get_status(const uint8_t *mad)
{
	return (uint16_t)((mad[4] << 8 | mad[5]) & (mad[1] == 0x81 ? 0x7fff : 0xffff));
}

static void turn_tid(uint8_t *mad, uint32_t bits)
{
	mad_set_field64(mad, 0, IB_MAD_TRID_F, mad_get_field64(mad, 0, IB_MAD_TRID_F) ^ bits);
}

/* How long a request lives: until the kernel reports it. */
static uint64_t lifetime(const struct request *r)
{
	return (uint64_t)(r->timeout_ms > 0 ? r->timeout_ms : 0) * (unsigned)(r->retries > 0 ? r->retries + 1 : 1);
}

bool to_guard(const struct state *st, const struct request *r)
{
	return st->sm && r->timeout_ms > 0 && class_is_smp(r->class) &&
	       (r->attr == IB_ATTR_SMINFO || r->attr == IB_SA_ATTR_NOTICE);
}

void guard(struct state *st, const struct request *r, int fd, int agent, const uint8_t *umad)
{
	_Alignas(8) uint8_t copy[UMAD_BYTES] = {0};
	struct pending *p;

	memcpy(copy, umad, umad_size() + (size_t)r->length);
	((ib_user_mad_t *)copy)->status = ETIMEDOUT;
	p = new_pending(fd, agent, copy, r->length, now_ms() + lifetime(r));
	p->guards = r->tid;
	insert(st, p);
}

void end_guard(struct state *st, uint32_t tid)
{
	for (struct pending **at = &st->pending; *at; at = &(*at)->next) {
		struct pending *p = *at;

		if (p->guards != tid)
			continue;
		*at = p->next;
		free(p);
		return;
	}
}

/* The request itself comes back with ETIMEDOUT after its time, as the kernel does it. */
static void time_out(struct state *st, const struct request *r, int fd, int agent, const uint8_t *answer)
{
	_Alignas(8) uint8_t umad[UMAD_BYTES];

	memcpy(umad, answer, sizeof(umad));
	((ib_user_mad_t *)umad)->status = ETIMEDOUT;
	memcpy(umad_get_mad(umad), r->mad, (size_t)r->length);
	push(st, fd, agent, umad, r->length, now_ms() + lifetime(r));
}

/* An answer to what the simulator does not know: zeros, and the port that was asked for. */
static void make_answer(const struct request *r, uint8_t *umad)
{
	uint8_t *mad = umad_get_mad(umad);
	unsigned data = data_offset(r->class);
	uint8_t port = r->mad[data + 1];

	memcpy(mad, r->mad, MAD_BYTES);
	memset(mad + data, 0, r->class == 0x81 ? 64 : MAD_BYTES - data);
	if (class_of(r->class) == CLASS_PMA)
		mad[data + 1] = port;
	mad[3] = IB_MAD_METHOD_GET | 0x80;
	if (r->class == 0x81)
		mad[4] |= 0x80;
	((ib_user_mad_t *)umad)->status = 0;
	((ib_user_mad_t *)umad)->addr.lid = htons(r->dlid);
}

/* From answers to NodeInfo: which device has the LID that was asked. */
static void learn_node(struct state *st, const struct request *r, uint8_t *data)
{
	uint64_t guid = mad_get_field64(data, 0, IB_NODE_GUID_F);
	struct node *node = net_by_guid(&st->net, guid);

	if (node && r->class == 0x01 && r->dlid && r->dlid <= LID_MAX)
		st->net.lid[r->dlid] = (struct place){
			node, node->type == NODE_SWITCH ? 0 : mad_get_field(data, 0, IB_NODE_LOCAL_PORT_F)};
}

/* --- judging --- */

static bool lost(enum fate fate)
{
	return fate == FATE_DROP || fate == FATE_TIMEOUT;
}

/* The kernel's retries: each is drawn too, and each that is lost takes a timeout. */
static void draw_retries(struct state *st, const struct request *r, struct verdict *v)
{
	for (int i = 1; lost(v->fate) && i <= r->retries; i++) {
		struct verdict again = rules_apply(st->rules, r, NULL, PHASE_RETRY);

		if (lost(again.fate))
			continue;
		v->fate = again.fate;
		v->status = again.status;
		v->has_status = again.has_status;
		v->delay_ms += (unsigned)(r->timeout_ms * i);
		return;
	}
}

static struct verdict ask_rules(struct state *st, const struct request *r, uint8_t *data)
{
	struct verdict v = {.fate = FATE_ANSWER};

	if (r->decided) {
		v.fate = r->fate;
		v.status = r->status;
		v.has_status = true;
		return v;
	}
	if (!st->rules)
		return v;
	v = rules_apply(st->rules, r, data, r->asked ? PHASE_ANSWER_OF_SET : PHASE_ANSWER);
	if (!r->asked)
		draw_retries(st, r, &v);
	return v;
}

/* Changes the answer itself. */
static void alter(const struct verdict *v, uint8_t *mad)
{
	if (v->has_status)
		set_status(mad, v->status);
	if (v->tid_xor)
		turn_tid(mad, v->tid_xor);
	if (v->has_other_attr)
		mad_set_field(mad, 0, IB_MAD_ATTRID_F, v->other_attr);
	if (v->has_other_mod)
		mad_set_field(mad, 0, IB_MAD_ATTRMOD_F, v->other_mod);
}

/* Answers that are nobody's here: the top bit of a transaction ID's lower half is turned, and all data. */
static void push_foreign(struct state *st, int fd, int agent, const uint8_t *umad, int length, unsigned count)
{
	_Alignas(8) uint8_t other[UMAD_BYTES];
	uint8_t *mad;

	memcpy(other, umad, sizeof(other));
	mad = umad_get_mad(other);
	for (unsigned i = data_offset(mad[1]); i < MAD_BYTES; i++)
		mad[i] = (uint8_t)~mad[i];
	for (unsigned i = 0; i < count; i++) {
		memcpy(mad + 8, (uint8_t *)umad_get_mad((void *)umad) + 8, 8);
		turn_tid(mad, 0x80000000u ^ i);
		push(st, fd, agent, other, length, now_ms());
	}
}

/* Hands an answer on as the verdict says: true if at once. */
static bool deliver(struct state *st, const struct verdict *v, const struct request *r, int fd, int agent,
		    uint8_t *umad, int length)
{
	uint64_t due = now_ms() + v->delay_ms;

	if (v->tell && st->log)
		fprintf(st->log, "told attr=0x%04x\n", r->attr);
	if (v->fate == FATE_TIMEOUT || v->fate == FATE_LATE || (v->fate == FATE_ANSWER && v->tid_xor))
		time_out(st, r, fd, agent, umad);
	if (lost(v->fate))
		return false;
	alter(v, umad_get_mad(umad));
	if (v->fate == FATE_LATE)
		due += lifetime(r) + v->late_ms;
	push_foreign(st, fd, agent, umad, length, v->foreign);
	if (v->reorder)
		hold_back(st, fd, agent, umad, length, v->reorder);
	else
		count_down(st, fd);
	for (unsigned i = 0; i < v->copies; i++)
		push(st, fd, agent, umad, length, due);
	if (v->reorder)
		return false;
	if (v->delay_ms || v->foreign || v->fate == FATE_LATE) {
		push(st, fd, agent, umad, length, due);
		return false;
	}
	return true;
}

/* True if it is the answer to a request, or is now made one. */
static bool is_answer(struct state *st, const struct request *r, uint8_t *umad)
{
	uint8_t *mad = umad_get_mad(umad);

	if (!((ib_user_mad_t *)umad)->status && !r->stands_in)
		return mad[3] & 0x80;
	if (!st->rules || !r->place.node || r->method != IB_MAD_METHOD_GET || !rules_make(st->rules, r))
		return false;
	make_answer(r, umad);
	return true;
}

static bool judge_locked(struct state *st, int fd, int agent, uint8_t *umad, int length)
{
	uint8_t *mad = umad_get_mad(umad), *data = mad + data_offset(mad[1]);
	struct request *r = take_request(st, (uint32_t)mad_get_field64(mad, 0, IB_MAD_TRID_F), mad[1]);
	struct verdict v;
	bool smp, pass = true;

	if (r && r->without_bit31)
		mad_set_field(mad, 0, IB_MAD_ATTRMOD_F, r->mod);
	if (!r)
		return true;
	if (to_guard(st, r))
		end_guard(st, r->tid);
	refresh_rules(st);
	if (!r->place.node)
		find_place(st, r);
	if (!is_answer(st, r, umad))
		goto out;
	smp = class_is_smp(r->class) && st->has_net && !get_status(mad);
	if (smp && r->attr == IB_ATTR_NODE_INFO)
		learn_node(st, r, data);
	if (!r->place.node)
		find_place(st, r);
	if (smp && r->attr == IB_ATTR_PORT_INFO && !r->decided)
		record_portinfo(&st->record, &st->net, r, data);
	v = ask_rules(st, r, data);
	pass = deliver(st, &v, r, fd, agent, umad, length);
out:
	free(r);
	return pass;
}

bool judge(struct state *st, int fd, int agent, uint8_t *umad, int length)
{
	_Alignas(8) uint8_t more[SPREAD_BURST][UMAD_BYTES];
	enum spread_step step;
	unsigned count;
	bool pass = false;
	int from = agent;

	pthread_mutex_lock(&st->lock);
	step = spread_answer(st, umad, more, &count, &from);
	if (step != SPREAD_GOES_ON)
		pass = judge_locked(st, fd, agent, umad, length);
	pthread_mutex_unlock(&st->lock);
	for (unsigned i = 0; i < count; i++)
		if (st->send(fd, from, more[i], MAD_BYTES, 0, 0) < 0)
			die("cannot spread an SL2VL Set: %m");
	return pass;
}
