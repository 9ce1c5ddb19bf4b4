/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * verify: the state that a run (verify.c) and its answers (verify_ask.c) leave and the findings
 * (verify_findings.c) read.
 *
 * A table is kept only where it differs, so a fabric of 58,000 switch ports with 37 tables each
 * costs some megabytes.
 */
#ifndef IBQOS_CHECK_VERIFY_H
#define IBQOS_CHECK_VERIFY_H

#include "ibqos/check.h"

#include "expect.h"

#define VERIFY_IN_PORTS 256

/* Why a table differs, once the SM's record was asked for (three_way.c). */
struct table_cause {
	uint8_t cause; /* enum finding_cause */
	bool third;    /* the record is neither what was wanted nor what the device holds */
	bool empty;    /* record and device hold zeros: a Set never answered, or another config's zeros */
	bool assumed;  /* its own record was not asked for: taken from the port's others */
};

struct sl2vl_diff {
	uint8_t wire[QOS_SL2VL_WIRE]; /* what the device holds */
	bool differs;
	struct table_cause cause;
};

/* What a port holds otherwise than it should: made at its first difference. */
struct port_diff {
	struct sl2vl_diff *sl2vl;         /* by in-port, expect.in_ports of them; NULL: none differs */
	uint8_t *vlarb[QOS_VLARB_BLOCKS]; /* blocks that differ, 2 bytes an entry */
	struct table_cause vlarb_cause[QOS_VLARB_BLOCKS];
	struct table_cause high_limit_cause;
};

enum port_flag {
	PORT_IN_SCOPE = 1 << 0, /* it can be asked about */
	PORT_SELECTED = 1 << 1, /* asked about in this run */
	PORT_ASKED = 1 << 2,    /* in this run or an earlier one: its state below counts */
	PORT_EXCLUDED = 1 << 3, /* OpenSM does not program it */
	PORT_UNSURE = 1 << 4,   /* not known whether it does, or what its link carries */
	PORT_SL2VL = 1 << 5,    /* the following: differs there */
	PORT_VLARB = 1 << 6,
	PORT_HIGH_LIMIT = 1 << 7,
	PORT_LEFT = 1 << 8, /* found with a peer, but down when it was asked */
	PORT_DIFFERS = PORT_SL2VL | PORT_VLARB | PORT_HIGH_LIMIT,
};

struct port_state {
	struct port_diff *diff; /* NULL: no table differs, or no memory to keep what does */
	struct expect_port expect;
	uint16_t flags;
	uint8_t high_limit_got;
	uint8_t tries;         /* most MADs sent for a query that was not answered */
	uint8_t vlarb_blocks;  /* bits: blocks that differ */
	uint16_t sl2vl_differ; /* tables that differ */
	uint16_t asked[VERIFY_ITEMS];
	uint16_t ended[VERIFY_ITEMS][MAD_OUTCOMES];
	uint16_t status[VERIFY_ITEMS]; /* MAD status of the first query that was refused */
};

/* A management agent and how far the ports behind it are asked. */
struct agent_state {
	uint32_t agent;      /* port index: where it is asked */
	uint32_t first, end; /* port indexes that it answers for */
	uint32_t at;         /* the port that is being asked about */
	unsigned step;       /* the next query for it */
};

struct verify {
	const struct ibqos_ctx *ctx;
	struct fabric *fabric;
	struct expect expect;
	struct port_state *ports; /* as fabric->ports */
	struct agent_state *agents;
	uint32_t agent_count;
	uint32_t ports_there; /* before a sample was taken of them; counted then */
	bool sampled;
	bool stopped; /* the last run did not come to its end */
	bool of_file; /* what it asked is a file */
	uint64_t end_ns; /* when runs end, whatever is left; 0: when all was asked */
	struct verify_result result;

	/* of a pass: the agents that it asks, as source_ask() wants them */
	enum verify_item pass; /* VERIFY_PORT_INFO, or VERIFY_SL2VL for all tables */
	uint32_t *run;         /* index into agents */
	uint32_t *run_agents;  /* their port index */
	uint32_t run_count;
	int error; /* of an answer that could not be kept */
};

/* The next query of the pass to an agent, counted as asked; false: no more. */
bool verify_next_query(struct verify *v, struct agent_state *agent, struct source_query *query);
/* How many queries this pass has for an agent in all. */
uint64_t verify_queries(const struct verify *v, const struct agent_state *agent);
/* The callbacks of source_ask(); arg is the struct verify. */
bool verify_next(void *arg, uint32_t which, struct source_query *query);
void verify_answer(void *arg, const struct source_query *query, const struct mad_answer *answer);

/* Whether a run over all would look at this port, as far as discovery can tell. */
bool verify_looks_at(const struct verify *v, uint32_t port);
/* The port's diff, made where there is none yet; NULL, with verify->error set: no memory. */
struct port_diff *verify_diff_of(struct verify *v, struct port_state *state);
/* How many queries about a port ended so, over all items. */
unsigned verify_port_ended(const struct port_state *state, enum mad_outcome outcome);
/* Queries about a port that gave no data. */
unsigned verify_port_failed(const struct port_state *state);
/* Whether both ends of a link answered and run different numbers of VLs. */
bool verify_link_differs(const struct verify *verify, const struct fabric_link *link);

#endif
