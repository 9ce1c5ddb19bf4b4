/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the parts of plan_make() share.
 */
#ifndef IBQOS_POLICY_PLAN_H
#define IBQOS_POLICY_PLAN_H

#include "ibqos/policy.h"

/* What the links that carry traffic have in common. */
struct plan_links {
	uint32_t ports; /* active ports on such links */
	uint32_t unknown; /* ports on such links of which PortInfo is not known: they may be active */
	unsigned vls;   /* the least OperationalVLs of them; 0: of none is it known */
	unsigned cap;   /* the smallest VLArb table */
	unsigned mtu;   /* the largest NeighborMTU; 0: of none is it known */
	unsigned mtus;  /* all of them, as a mask of bytes */
};

/*
 * Looks at all active host and switch-to-switch links; links of SHARP aggregation nodes and of
 * routers do not count.
 */
void plan_survey(const struct fabric *fabric, struct plan_links *links);

/*
 * Ports at links that tell a reserved VLCap, OperationalVLs or NeighborMTU, as findings that say 'unknown'. With mtu_only
 * the last alone: who compares tables tells the others of each port that has them.
 */
void plan_tell_reserved(const struct fabric *fabric, bool mtu_only, struct finding_list *findings);

/* Whether a port is at such a link. */
bool plan_port_special(const struct fabric *fabric, uint32_t port);

/* Ports that run fewer VLs than there are classes, as critical findings. False if there are any. */
bool plan_check_vls(const struct policy *policy, const struct fabric *fabric, struct finding_list *findings);
/* Ports whose own VLArb tables are too small for the classes, as critical findings. */
void plan_blame_caps(const struct policy *policy, const unsigned *vl_of_class, unsigned mtu,
		     const struct fabric *fabric, struct finding_list *findings);
/*
 * Every port as OpenSM will program it: critical findings where it folds two classes together or
 * leaves one without weight, false then; notes for the links that do not count.
 */
bool plan_check_tables(const struct plan *plan, const struct fabric *fabric, struct finding_list *findings);

/* The plan of a policy with exact tables. */
int plan_exact(const struct policy *policy, unsigned flags, struct plan *plan, struct finding_list *findings,
	       bool *refused);

/*
 * OpenSM's files: reads the old ones, writes the new ones' text. Refuses (*refused) a routing
 * engine that owns the SLs, a qos-policy file that OpenSM does not read, and a `max_op_vls` that takes
 * links down.
 */
int plan_files(const struct policy *policy, const struct fabric *fabric, unsigned flags, struct plan *plan,
	       struct finding_list *findings, bool *refused);

/*
 * Ports of adapters whose OperationalVLs OpenSM would change with this `max_op_vls`, by a link that goes
 * down and up (osm_lid_mgr.c:977-1003); *first is one of them.
 */
uint32_t plan_bounced(const struct fabric *fabric, unsigned max_op_vls, uint32_t *first);

/* The text of the qos-policy file, its groups resolved in the fabric; what is odd about them as findings. */
int plan_rules(const struct policy *policy, const struct fabric *fabric, struct plan *plan,
	       struct finding_list *findings);

/* What each class keeps, the least over adapters and switches; what is missing as findings. */
void plan_work_out_shares(const struct policy *policy, struct plan *plan, struct finding_list *findings);
/* Classes that keep less than half their share with small packets, as notes. */
void plan_tell_small(const struct policy *policy, const struct plan *plan, struct finding_list *findings);

/*
 * As plan_tables(), with a given VLHighLimit unless it is POLICY_NO_LIMIT, for as many fabrics as
 * possible the same: as if every table had 8 entries and, where no class is before the others,
 * every link MTU 4096, unless that costs a class half a point of its share. Else a device of
 * another kind that comes or leaves would change the tables of every port.
 */
int plan_tables_settled(const struct policy *policy, const unsigned *vl_of_class, unsigned cap, unsigned mtu,
			int high_limit, struct qos_tables *tables);

/*
 * What passes while the ports change one by one from the tables of opensm.conf to the plan's: what
 * is then worse than before and after as findings, and in plan->step tables for a change in two.
 */
int plan_mixture(const struct policy *policy, const struct fabric *fabric, const struct qos_config *old,
		 struct plan *plan, struct finding_list *findings);
/* Ports that run fewer VLs than the policy's `vls` says, as critical findings. False if there are any. */
bool plan_check_expected_vls(const struct policy *policy, const struct fabric *fabric, const struct plan *plan,
			     struct finding_list *findings);

/* plan_explain.c: tables as a port holds them, cut to its capacities and folded to its VLs. */
void plan_hold(const struct qos_tables *all, unsigned high_cap, unsigned low_cap, unsigned oper_vls_code, struct qos_tables *held);

#endif
