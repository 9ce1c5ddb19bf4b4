/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * run: the engine while it runs a job: sending.c fills the wire, engine.c takes what comes back, ending.c
 * hands queries back and keeps those that a silent device owes an answer to.
 *
 * A try lasts as long as the limits say, but it takes its place on the wire only for a short time, which
 * follows how fast answers come (flow.h). What is not answered by then is most likely lost. From a device
 * that lives it is asked again at once. From one that is silent it stays off the wire, and is asked again in
 * a late round: when nothing else is left to ask. A round takes one query of each such device, and gives it
 * all the tries that it has left; the others follow if it is answered, and end with it if not.
 */
#ifndef IBQOS_MAD_RUN_H
#define IBQOS_MAD_RUN_H

#include "flow.h"
#include "ibqos/mad.h"
#include "pace.h"
#include "park.h"
#include "ring.h"
#include "slots.h"

#define MS_NS 1000000ull
#define WIRE_FAILURES 8 /* in a row: the wire is broken */

struct mad_engine {
	const struct ibqos_ctx *ctx;
	struct mad_wire *wire;
	struct mad_limits limits;
	struct mad_counts counts;
	struct slots slots;
	struct pace pace;
	struct flow flow;
	uint64_t empty_ns;                        /* when nothing was there to receive, last */
	unsigned timeout_ms;                      /* of the job that is being run */
	bool measures;                            /* its answers tell how fast the fabric is */
	uint64_t try_ns;                          /* how long a try lasts in it */
	unsigned send_failures, receive_failures; /* in a row */
	bool refused;                             /* the wire last said -EAGAIN, */
	uint64_t refused_ns;                      /* and has done since then */
};

/* One job being run. */
struct run {
	struct mad_engine *engine;
	const struct mad_job *job;
	struct ring ring;
	struct park park;
	uint32_t parked; /* queries that devices keep there */
	uint32_t late;   /* queries in hand that a late round has taken up */
	uint64_t lost_until_ns; /* time up to here is counted as lost, where it was */
	int error; /* no memory for devices that the job has more of now */
};

static inline uint64_t run_now(const struct run *run)
{
	return run->engine->wire->ops->now(run->engine->wire);
}

/* --- ending.c --- */

/* Ends the query in a slot. The slot is free before the caller hears of it. */
void run_finish(struct run *run, uint32_t index, const struct mad_answer *answer);
/* As run_finish(), where an answer to an earlier MAD came first: the present one may still be on the wire. */
void run_finish_early(struct run *run, uint32_t index, const struct mad_answer *answer);
/* A spent slot's MAD was answered too, or counts as lost. */
void run_release(struct run *run, uint32_t index);
/* As not asked. */
void run_finish_unasked(struct run *run, uint32_t index);
/* Its tries are over: unanswered, or only with "busy". */
void run_finish_tried(struct run *run, uint32_t index);
/* Hands back, unsent, every query that a device still has. */
void run_drain(struct run *run, uint32_t device);
/* Hands everything that is left back as not asked. */
void run_abandon(struct run *run);
/* A device answered, after took_ns (0: not known): what it owes is to be asked again. */
void run_heard(struct run *run, uint32_t device, uint64_t took_ns, uint64_t now_ns);
/* The present try of a slot has ended without an answer that counts. */
void run_end_try(struct run *run, uint32_t index);
/* It has not ended, but takes its place on the wire no more. */
void run_end_short(struct run *run, uint32_t index);
/* Takes up what silent devices owe, unless a round is under way; false: nothing. */
bool run_late_round(struct run *run);

/* --- sending.c --- */

/* Sends as much as the windows, the rate and the wire allow: repeats first. -errno: ends the run. */
int run_fill(struct run *run);

#endif
