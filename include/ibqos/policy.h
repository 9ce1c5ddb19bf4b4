/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * policy: what the admin wants (YAML, version 1), and the plan that gives it on a fabric.
 */
#ifndef IBQOS_POLICY_H
#define IBQOS_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "ibqos/fabric.h"
#include "ibqos/finding.h"
#include "ibqos/opensm.h"
#include "ibqos/qos.h"

#define POLICY_NO_TC (-1)

enum policy_priority { POLICY_PRIORITY_NORMAL, POLICY_PRIORITY_HIGH };
enum policy_unused { POLICY_UNUSED_DEFAULT, POLICY_UNUSED_DROP };

struct policy_mark { /* a spot in the policy file, from 1 */
	unsigned line, column;
};

struct policy_class {
	char *name;	/* [A-Za-z][A-Za-z0-9_-]*, unique */
	unsigned sl;	/* 0..15, unique */
	int nccl_ib_tc; /* 0..255, unique, or POLICY_NO_TC */
	double share;	/* percent of a saturated link, above 0, up to 100 */
	enum policy_priority priority;
	bool is_default; /* has all that nothing else claims; exactly one class */
	struct policy_mark mark, sl_mark, tc_mark, share_mark;
};

struct policy {
	char *path; /* as given, for messages */
	char *name; /* what the admin calls it; NULL if not named */
	struct policy_class *classes;
	size_t class_count;
	size_t default_class; /* index */
	enum policy_unused unused_sls;
	struct policy_mark unused_mark;
	char *opensm_config;	 /* never NULL: from the file or OpenSM's default */
	char *opensm_qos_policy; /* NULL: what opensm.conf says, else OpenSM's default */
	char *opensm_log;	 /* NULL: what the running process says */
};

/*
 * Reads a policy. All faults of all kinds are reported in one run as findings with
 * path:line:column; *policy is NULL if any of them is critical. 0 also then; -errno: the file
 * could not be read (no finding added), out of memory.
 */
int policy_read(const char *path, struct finding_list *findings, struct policy **policy);
/* The same from text already read. */
int policy_parse(const char *path, const char *text, size_t size, struct finding_list *findings,
		 struct policy **policy);
void policy_free(struct policy *policy);

/* --- plan --- */

struct plan_class {
	const struct policy_class *policy; /* borrowed */
	unsigned vl;
	double share_full; /* guaranteed fraction of a saturated link, every class sending packets of plan->mtu */
	double share_256;  /* the same with this class sending 256-byte packets, the others plan->mtu */
};

struct plan {
	unsigned vls;		   /* data VLs that host and switch-to-switch links run, the least of them */
	unsigned mtu;		   /* largest NeighborMTU in the fabric, bytes */
	unsigned vlarb_cap;	   /* smallest VLArb table of those links */
	struct plan_class *classes; /* in policy order */
	size_t class_count;
	struct qos_config config;
	/* OpenSM's files as they are (NULL: missing) and as they are to be */
	char *conf_path, *conf_old, *conf_new;
	size_t conf_old_size, conf_new_size;
	char *rules_path, *rules_old, *rules_new;
	size_t rules_old_size, rules_new_size;
};

/*
 * Compiles a policy for a fabric: same input, same bytes. Reads OpenSM's two files (the only I/O
 * here). Refusals (more classes than VLs, tables too small, links where folding would merge two
 * classes, torus-2QoS and its like in opensm.conf) are critical findings, a fabric without active
 * links is an unknown one; *plan is then NULL and 0 is returned.
 * The policy must outlive the plan.
 */
#define PLAN_ALLOW_DROP (1u << 0)  /* `unused_sls: drop` is accepted */
#define PLAN_TABLES_ONLY (1u << 1) /* OpenSM's files are neither read nor judged, and stay NULL: for a host without them */
int plan_make(const struct policy *policy, const struct fabric *fabric, unsigned flags, struct finding_list *findings,
	      struct plan **plan);
void plan_free(struct plan *plan);

/*
 * The pure part: tables for `class_count` classes with VLs already given, for VLArb tables of
 * `cap` entries (of which at most one block of 32 is used) and packets of `mtu` bytes. 0; -ENOSPC:
 * cap too small for one entry a class; -EINVAL: not an IB MTU, no class, more than 15 or a VL above 14.
 */
int plan_tables(const struct policy *policy, const unsigned *vl_of_class, unsigned cap, unsigned mtu,
		struct qos_tables *tables);

#endif
