/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the functions of libibumad that the overlay stands in for share; behind one lock. */
#ifndef IBQOS_TESTS_OVERLAY_STATE_H
#define IBQOS_TESTS_OVERLAY_STATE_H

#include <infiniband/umad.h>
#include <pthread.h>
#include <sys/stat.h>

#include "overlay.h"

#define FOREVER UINT64_MAX
#define UMAD_BYTES (sizeof(ib_user_mad_t) + MAD_BYTES)

/* An answer that waits for its time. */
struct pending {
	struct pending *next;
	uint64_t due;	/* ms */
	unsigned after; /* or as soon as so many others have come */
	uint32_t guards; /* the transaction whose answer takes it away; 0: none */
	int fd, agent, length;
	uint8_t umad[UMAD_BYTES];
};

struct state {
	pthread_mutex_t lock;
	int (*send)(int fd, int agentid, void *umad, int length, int timeout_ms, int retries);
	int (*recv)(int fd, void *umad, int *length, int timeout_ms);
	int (*poll)(int fd, int timeout_ms);
	bool sm; /* the program is OpenSM */
	_Atomic int on_the_way; /* asked of the simulator, which has not answered */
	bool has_net;
	struct net net;
	struct record record;
	const char *rules_path;
	struct stat rules_stat;
	struct rules *rules;
	uint64_t seed;
	long double now;
	FILE *log;
	uint64_t gets, sets, others;
	struct request *request[1024];
	struct pending *pending;
	struct spread *spread;
	uint32_t spread_tids;
};

/* --- overlay.c; all but now_ms() with the lock held --- */

uint64_t now_ms(void);
void refresh_rules(struct state *st);
struct request *take_request(struct state *st, uint32_t tid, uint8_t class);
void find_place(struct state *st, struct request *req);

/* --- answers.c --- */

/* What becomes of what came in: true if it goes on to the program now. Takes the lock. */
bool judge(struct state *st, int fd, int agent, uint8_t *umad, int length);
void push(struct state *st, int fd, int agent, const uint8_t *umad, int length, uint64_t due);
/*
 * ibsim loses what it sends to an OpenSM that is just starting or has ended, and every TrapRepress. It has
 * no timers: the sender would wait without end. So what one OpenSM asks or tells another is timed here.
 */
bool to_guard(const struct state *st, const struct request *r);
void guard(struct state *st, const struct request *r, int fd, int agent, const uint8_t *umad);
void end_guard(struct state *st, uint32_t tid);
/* The first answer waiting on fd; *due says when. */
struct pending **first_pending(struct state *st, int fd, uint64_t *due);
uint16_t get_status(const uint8_t *mad);
void set_status(uint8_t *mad, uint16_t status);

/* --- optimized.c --- */

/* Is this an SL2VL Set to a switch that is meant for all its ports? */
bool for_all_ports(const struct request *r);
/* Begins to spread it: *first is to leave in its place. Ends the process if no rule makes the switch take such. */
void spread_begin(struct state *st, const struct request *r, bool taken, int fd, int agent, const void *umad,
		  uint8_t *first);
enum spread_step {
	SPREAD_NOT,	/* none of its answers */
	SPREAD_GOES_ON, /* swallow it; up to SPREAD_BURST more are in `more`, to be sent */
	SPREAD_ENDED,	/* it has been made the answer to the Set itself */
};
#define SPREAD_BURST 2
enum spread_step spread_answer(struct state *st, uint8_t *umad, uint8_t more[SPREAD_BURST][UMAD_BYTES], unsigned *count,
			       int *agent);

#endif
