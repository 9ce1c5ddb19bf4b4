/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * paths: where packets go and on which VL: one path hop by hop, all paths of a fabric, and whether their
 * credits can wait for each other in a circle (part of folder check).
 *
 * All claims are by the forwarding tables: where routing is adaptive a packet may go another way.
 */
#ifndef IBQOS_PATHS_H
#define IBQOS_PATHS_H

#include "ibqos/lanes.h"
#include "ibqos/routes.h"

/* --- ends by name --- */

/*
 * The port that a text names, whose paths are meant: of a switch its port 0. In this order: a directed route from
 * the port that looked ("0,1,4"; "0": that port itself); a number up to 0xbfff: a LID; a greater one: a GUID of a node
 * or a port; a node's name, whole, or its first word or words up to a blank ("gpu-001" of "gpu-001 mlx5_0"); with
 * "[N]" behind it that port of it. A name or node GUID that leaves several ports is ambiguous. 0; -EINVAL: none or
 * ambiguous, and *fault, which the caller frees, says why and names candidates; -ENOMEM.
 */
int paths_find_end(const struct fabric *fabric, const struct routes *routes, const char *text, uint32_t *port,
		   char **fault);

/* --- one path --- */

struct trace_hop {
	uint32_t out;	  /* port index it leaves by; FABRIC_NONE where it ends in a switch that sends it nowhere */
	uint32_t node;	  /* index of the node it leaves */
	unsigned in;	  /* number of the port it came in by; 0: it starts here */
	enum lane_fate fate;
	unsigned vl;	  /* or LANE_NO_VL */
	bool share_known; /* where it is not and packets get through: tables or the MTU are not known */
	double share;	  /* fraction of the link that the VL keeps while all VLs of `busy` SLs have packets of the MTU */
	unsigned width, speed; /* enum link_width, link_speed; 0: not known */
	double gbps;	       /* 0: not known */
};

struct trace {
	uint32_t from, to; /* port indexes */
	unsigned lid, sl;
	struct trace_hop *hops;
	size_t count, room;
	enum route_step end; /* ROUTE_ARRIVED, or what stopped it behind the last hop */
	bool drops;	     /* a hop's VL is one on which it does not get through */
	bool unknown;	     /* a hop's VL or its arbitration is not known */
};

/*
 * Follows packets of `sl` from a port to a LID of another, asking each hop for its part of the forwarding table, its
 * SL2VL and its arbitration tables; PortInfo is that of the discovery. `busy`: SLs, as bits, whose VLs are taken as
 * busy where a share is computed. Whatever does not arrive is a trace too. 0; -EINTR; -ENOMEM; -errno when the
 * wire broke. trace_clear() frees what is in it, also after a failure.
 */
int trace_run(struct source *source, const struct fabric *fabric, struct routes *routes, uint32_t from, uint32_t to,
	      unsigned lid, unsigned sl, uint16_t busy, struct trace *trace);
void trace_clear(struct trace *trace);
/* What stops its packets, or is not known. */
void trace_findings(const struct trace *trace, const struct fabric *fabric, struct finding_list *findings);
/* Links on either way that audit has something to say of. */
void trace_link_findings(const struct trace *there, const struct trace *back, const struct fabric *fabric,
			 struct finding_list *findings);

/* --- all paths --- */

struct paths_sl {
	unsigned sl;
	bool data;	 /* of a class: paths between all ends are judged */
	bool management; /* also between ends and switches themselves: only for credit loops */
};

struct paths_options {
	const struct paths_sl *sls;
	unsigned sl_count; /* up to QOS_SLS */
};

struct paths_count {
	uint64_t arrive, dead, unknown; /* paths: from a port to a LID of another */
};

struct paths_result {
	uint32_t ends;	    /* active ports of adapters and routers with a LID */
	uint32_t ends_left; /* those with a link that are not active, or have no LID: no path of theirs is judged */
	uint32_t lids;	    /* of ends */
	uint64_t paths;
	struct paths_count by_lft;	  /* whatever the VL */
	struct paths_count sl[QOS_SLS];	  /* by index of the option: of those that arrive by the tables, on this SL */
	uint32_t channels;		  /* links by direction and VL, between switches, that paths use */
	uint32_t turns;			  /* dependencies between them */
	uint32_t credit_loops;		  /* groups of channels that wait for each other */
	bool credit_known;		  /* all tables that decide it were answered */
};

/*
 * Judges all paths between all ends by LID and switch, never pair by pair: LIDs x switches steps. Findings
 * (which may be NULL): one a cause and port, with how many paths end there; credit-loop with the shortest loop of
 * each group of channels. Routing tables must have been read (routes_want_all). A signal is heeded (-EINTR, nothing
 * is added). 0, -EINTR, -ENOMEM.
 */
int paths_check(const struct ibqos_ctx *ctx, const struct fabric *fabric, const struct routes *routes,
		const struct lanes *lanes, const struct paths_options *options, struct finding_list *findings,
		struct paths_result *result);

/*
 * Deadlock guard: only credit-loop findings, and a path-unknown one where tables are not known; for a plan before it
 * is applied use lanes_expected() of its config.
 */
int paths_credit_loops(const struct ibqos_ctx *ctx, const struct fabric *fabric, const struct routes *routes,
		       const struct lanes *lanes, const struct paths_options *options, struct finding_list *findings,
		       struct paths_result *result);

/* SLs, as bits, of management: 0, and what ports were told to use towards the subnet manager. */
uint16_t paths_management_sls(const struct fabric *fabric);

/*
 * The deadlock guard of a plan: reads the forwarding tables and says whether credits of `sls` (bits) and of management
 * could wait in a circle with the tables of `config`. plan-loop: yes, and not with what ports hold today; plan-loop-today:
 * yes, as today. Where the links that paths use form no circle at all neither can be, whatever mixture of old and new
 * tables ports hold, and they are not asked. By the forwarding tables alone.
 * *coverage: of these. 0; -EINTR; -ENOMEM; -errno when the wire broke.
 */
int paths_guard(const struct ibqos_ctx *ctx, struct source *source, struct fabric *fabric,
		const struct qos_config *config, uint16_t sls, struct finding_list *findings,
		struct check_coverage *coverage);

#endif
