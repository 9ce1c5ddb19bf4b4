/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Optimized SL2VL programming (IBA 14.2.5.8): a switch that has it takes one Set for all input ports
 * (modifier bit 17) and all output ports (bit 16). ibsim knows Sets for one pair of ports alone and would
 * take such a one for the pair 0, 0. So it leaves as Sets for each pair, one after the other, and when all
 * are answered the program gets the one answer that it waits for. "All" begins with port 0 where the
 * switch has an enhanced port 0, else with port 1, which is how OpenSM reads it (osm_slvl_map_rcv.c).
 */
#include <errno.h>
#include <infiniband/mad.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define ALL_OUT 0x10000u
#define ALL_IN 0x20000u
#define OWN_TIDS 0xf0000000u /* programs begin theirs at the other end */
#define IN_FLIGHT 4	     /* the simulator's sockets hold few */

struct spread {
	struct spread *next;
	uint32_t first_tid, total, sent, answered;
	unsigned in_from, in_count, out_from, out_count;
	uint16_t status; /* the first that was not 0 */
	bool failed;
	int fd, agent;
	uint8_t umad[UMAD_BYTES]; /* as the program sent it */
};

bool for_all_ports(const struct request *r)
{
	return r->method == IB_MAD_METHOD_SET && class_is_smp(r->class) && r->attr == IB_ATTR_SLVL_TABLE &&
	       r->mod & (ALL_IN | ALL_OUT) && r->place.node && r->place.node->type == NODE_SWITCH;
}

static void put_tid(uint8_t *mad, uint32_t tid)
{
	uint64_t all = mad_get_field64(mad, 0, IB_MAD_TRID_F) & ~(uint64_t)UINT32_MAX;

	mad_set_field64(mad, 0, IB_MAD_TRID_F, all | tid);
}

/* The next Set of a spread, made from the one that the program sent. */
static void make_next(struct spread *s, uint8_t *umad)
{
	unsigned in = s->in_from + s->sent / s->out_count, out = s->out_from + s->sent % s->out_count;
	uint8_t *mad;

	memcpy(umad, s->umad, UMAD_BYTES);
	mad = umad_get_mad(umad);
	mad_set_field(mad, 0, IB_MAD_ATTRMOD_F, in << 8 | out);
	put_tid(mad, s->first_tid + s->sent++);
}

void spread_begin(struct state *st, const struct request *r, bool taken, int fd, int agent, const void *umad,
		  uint8_t *first)
{
	struct spread *s = calloc(1, sizeof(*s));
	unsigned from = r->place.node->esp0 ? 0 : 1, count = r->place.node->ports + 1 - from;

	if (!taken)
		die("an SL2VL Set for all ports (modifier 0x%08x) of %s, which no rule gives optimized-sl2vl", r->mod,
		    r->place.node->id);
	if (!s)
		die("out of memory");
	s->in_from = r->mod & ALL_IN ? from : r->mod >> 8 & 0xff;
	s->in_count = r->mod & ALL_IN ? count : 1;
	s->out_from = r->mod & ALL_OUT ? from : r->mod & 0xff;
	s->out_count = r->mod & ALL_OUT ? count : 1;
	s->total = s->in_count * s->out_count;
	s->first_tid = OWN_TIDS + st->spread_tids;
	st->spread_tids = (st->spread_tids + s->total) % ~OWN_TIDS;
	s->fd = fd;
	s->agent = agent;
	memcpy(s->umad, umad, umad_size() + (size_t)r->length);
	s->next = st->spread;
	st->spread = s;
	make_next(s, first);
}

/* The last answer made the one to the Set itself. */
static void make_whole(struct spread *s, uint8_t *umad)
{
	uint8_t *mad = umad_get_mad(umad), *sent = umad_get_mad(s->umad);

	put_tid(mad, (uint32_t)mad_get_field64(sent, 0, IB_MAD_TRID_F));
	mad_set_field(mad, 0, IB_MAD_ATTRMOD_F, mad_get_field(sent, 0, IB_MAD_ATTRMOD_F));
	if (s->failed)
		((ib_user_mad_t *)umad)->status = ETIMEDOUT;
	else
		set_status(mad, s->status);
}

enum spread_step spread_answer(struct state *st, uint8_t *umad, uint8_t more[SPREAD_BURST][UMAD_BYTES], unsigned *count,
			       int *agent)
{
	uint8_t *mad = umad_get_mad(umad);
	uint32_t tid = (uint32_t)mad_get_field64(mad, 0, IB_MAD_TRID_F);
	struct spread **at = &st->spread, *s;

	*count = 0;
	if (tid < OWN_TIDS || !class_is_smp(mad[1]))
		return SPREAD_NOT;
	while (*at && tid - (*at)->first_tid >= (*at)->total)
		at = &(*at)->next;
	s = *at;
	if (!s)
		die("an answer to a Set that was not sent: transaction 0x%08x", tid);
	s->answered++;
	if (((ib_user_mad_t *)umad)->status)
		s->failed = true;
	else if (!s->status)
		s->status = get_status(mad);
	if (s->answered == s->total) {
		make_whole(s, umad);
		*at = s->next;
		free(s);
		return SPREAD_ENDED;
	}
	*agent = s->agent;
	while (*count < SPREAD_BURST && s->sent < s->total && s->sent - s->answered < IN_FLIGHT)
		make_next(s, more[(*count)++]);
	return SPREAD_GOES_ON;
}
