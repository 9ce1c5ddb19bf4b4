/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* paths: what trace, paths and loops share, and the run over all paths. */
#ifndef IBQOS_CHECK_PATHS_H
#define IBQOS_CHECK_PATHS_H

#include "ibqos/paths.h"

/* Of lanes.c: the fabric it was made for; entries that a block of the port's tables has. */
const struct fabric *lanes_fabric(const struct lanes *lanes);
unsigned lanes_block_entries(const struct fabric_port *port, unsigned block);

/* Of routes.c: what is behind a port for a packet to a LID. */
enum route_step routes_link(const struct routes *routes, uint32_t out, unsigned lid);

enum finding_code paths_step_code(enum route_step step); /* not of ROUTE_ON, ROUTE_ARRIVED */
enum finding_code paths_fate_code(enum lane_fate fate);	 /* not of LANE_FINE */

/* --- the run over all paths --- */

#define PATHS_END 0xffffffffu

/* A switch. Cells are its pairs of in-port and out-port: in * width + out. */
struct paths_switch {
	uint32_t node;
	uint32_t first_cell;	 /* of this switch's cells */
	uint32_t first_out;	 /* of this switch's ports, in arrays by switch and port */
	unsigned width;		 /* ports + 1 */
	uint32_t first_end, ends; /* in run->ends */
	/* of the LID that is followed */
	uint32_t out;	 /* port index, FABRIC_NONE */
	uint32_t next;	 /* index of the next switch; PATHS_END: none */
	unsigned next_in;
	uint8_t step;	 /* enum route_step */
	uint32_t waits;	 /* switches before this one that are still to be taken */
	uint32_t flow, unsure; /* packets, one a source, that came here; of these not sure to */
	uint16_t vls;	 /* on which they leave it */
	bool used;
};

/* An active port of an adapter or router. */
struct paths_end {
	uint32_t port;
	uint32_t at;	 /* index of the switch it is cabled to; PATHS_END: none */
	unsigned in;	 /* by this port */
};

/* VL in the lower 4 bits, enum lane_fate above. */
#define PATHS_CODE(fate, vl) ((uint8_t)((fate) << 4 | (vl)))
#define PATHS_CODE_VL(code) ((code) & 15u)
#define PATHS_CODE_FATE(code) ((enum lane_fate)((code) >> 4))
#define PATHS_MIXED 0xff /* the ends of a switch do not have the same code */

struct paths_death;
struct paths_loop;

struct paths_run {
	const struct ibqos_ctx *ctx;
	const struct fabric *fabric;
	const struct routes *routes;
	const struct lanes *lanes;
	const struct paths_options *options;
	struct paths_result *result;

	struct paths_switch *switches;
	uint32_t switch_count;
	uint32_t *of_node; /* index of the switch by node, PATHS_END */
	struct paths_end *ends;
	uint32_t end_count;
	uint32_t *order;   /* switches, those before others first; loops left out */
	uint32_t order_count;
	size_t cell_count, out_count;
	uint8_t *codes;	   /* [cell * sls + option] */
	uint8_t *end_codes; /* [out * sls + option]: of all ends of that switch but the one at that port, or PATHS_MIXED */
	uint8_t *injected; /* [end * sls + option]: code at the end's own port */
	uint16_t *waits;   /* [cell * sls + option]: VLs of the link before, on which packets came that left by the cell */
	bool loops_only;

	struct paths_death *deaths;
	struct paths_loop *loops;
	int error;
};

/* Notes that paths end, or are not known, at a port or a node. */
void paths_died(struct paths_run *run, enum route_step step, uint32_t port, uint32_t node, uint64_t paths, unsigned lid);
void paths_lost(struct paths_run *run, enum lane_fate fate, uint32_t port, unsigned option, uint64_t paths, unsigned lid);
/* A circle of out-ports that packets to a LID never leave. */
void paths_looped(struct paths_run *run, const uint32_t *ports, unsigned count, uint64_t paths, unsigned lid);
/* All of these as findings. */
void paths_tell(const struct paths_run *run, struct finding_list *findings);
void paths_forget(struct paths_run *run);

/* Looks for circles among the dependencies of run->waits. */
int paths_find_credit_loops(struct paths_run *run, struct finding_list *findings);

/* Of one LID (paths_flow.c): where each switch sends it, and what comes of all packets to it. */
void paths_follow(struct paths_run *run, unsigned lid);

#endif
