/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * policy: what the admin wants (YAML, version 1), and the plan that gives it on a fabric.
 */
#ifndef IBQOS_POLICY_H
#define IBQOS_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ibqos/fabric.h"
#include "ibqos/finding.h"
#include "ibqos/link.h"
#include "ibqos/opensm.h"
#include "ibqos/qos.h"

#define POLICY_NO_TC (-1)

enum policy_priority { POLICY_PRIORITY_NORMAL, POLICY_PRIORITY_HIGH };
enum policy_unused { POLICY_UNUSED_DEFAULT, POLICY_UNUSED_DROP };

struct policy_mark { /* a spot in the policy file, from 1 */
	unsigned line, column;
};

/* Lists of values, each with its spot. A single number is a range of one. */
struct policy_range {
	uint64_t low, high;
	struct policy_mark mark;
};
struct policy_ranges {
	struct policy_range *items;
	size_t count, room;
};
struct policy_text {
	char *text;
	struct policy_mark mark;
};
struct policy_texts {
	struct policy_text *items;
	size_t count, room;
};

/*
 * Traffic that asks the SA and is known by a name. OpenSM has a keyword for some of them, and makes
 * of each the very rule that is meant here (osm_qos_parser_y.y: qos_ulp).
 */
struct policy_service {
	const char *name;
	uint64_t low, high;   /* service IDs; 0 to 0: it is not known by one */
	bool by_pkey;	      /* by its partition: every request in it looks the same to OpenSM */
	bool by_destination;  /* by the port it talks to */
	bool bulk;	      /* storage: long streams that fill links */
	const char *doc;
};
const struct policy_service *policy_services(size_t *count);

/* One criterion of a class: all that is given must hold. */
struct policy_match {
	const struct policy_service *service; /* NULL: none */
	struct policy_ranges service_ids;
	unsigned pkey; /* 0x1..0x7fff, without the membership bit; 0: none */
	char *partition; /* its name; pkey is then the partition's */
	struct policy_ranges qos_classes; /* 0..255 */
	struct policy_texts sources, destinations; /* names of groups */
	struct policy_mark mark, service_mark, pkey_mark, partition_mark;
};

struct policy_class {
	char *name;	/* [A-Za-z][A-Za-z0-9_-]*, unique */
	unsigned sl;	/* 0..15, unique */
	int nccl_ib_tc; /* 0..255, unique, or POLICY_NO_TC; the first if there are several */
	struct policy_ranges more_tcs; /* those beyond the first */
	double share;	/* percent of a saturated link, above 0, up to 100 */
	bool share_bare; /* written without '%' */
	enum policy_priority priority;
	bool min_latency; /* high, with the smallest high limit that keeps its share */
	bool is_default; /* has all that nothing else claims; exactly one class */
	struct policy_match *matches;
	size_t match_count, match_room;
	struct policy_mark mark, sl_mark, tc_mark, share_mark, priority_mark, latency_mark;
};

/* A set of ports: those for which all keys of at least one item hold. */
struct policy_group_item {
	struct policy_texts names;  /* patterns as of fnmatch(3) for node names */
	struct policy_ranges guids; /* of nodes or ports */
	unsigned node_types;	    /* bit = enum fabric_node_type; 0: any */
	struct policy_mark mark;
};
struct policy_group {
	char *name;
	struct policy_group_item *items;
	size_t item_count, item_room;
	struct policy_mark mark;
};

/* A partition of OpenSM's partitions.conf, which ibqos does not write. */
struct policy_partition {
	char *name;
	unsigned pkey; /* 0x1..0x7fff */
	unsigned sl;   /* of sl=, 0 if sl_mark.line is 0 */
	bool ipoib;
	struct policy_mark mark, pkey_mark, sl_mark;
};

/* What one kind of port has otherwise. */
#define POLICY_NO_LIMIT (-1)
struct policy_override_share {
	char *class_name;
	double share;
	bool share_bare;
	struct policy_mark mark, share_mark;
};
struct policy_override {
	bool given;
	int high_limit; /* 0..254 or POLICY_NO_LIMIT; of no meaning unless given */
	struct policy_override_share *shares;
	size_t share_count, share_room;
	struct policy_mark mark, limit_mark, shares_mark;
};

/*
 * Links of one kind, and what they are to run at least: the first class that a link matches has it. An end is
 * described by all that is given of it; a class without ends has all links, with one those that have such an end.
 */
#define POLICY_LINK_ENDS 2
struct policy_link_end {
	struct policy_texts names;    /* patterns as of fnmatch(3) for node names */
	unsigned node_types;	      /* bit = enum fabric_node_type; 0: any */
	struct policy_ranges devices; /* NodeInfo:DeviceID; none: any */
	struct policy_mark mark;
};
/* Links that may run less than their class, for a reason, up to and with a day. */
struct policy_link_exception {
	struct policy_texts names; /* of the node at either end */
	struct policy_ranges ports; /* of that node; none: any */
	unsigned speed, width;	   /* enum link_speed, link_width: at least that; both 0: they are not judged at all */
	char *reason;
	unsigned until; /* in days since 1970 */
	struct policy_mark mark;
};
struct policy_link_class {
	char *name;
	struct policy_link_end ends[POLICY_LINK_ENDS];
	size_t end_count;
	unsigned speed, width; /* enum link_speed, link_width; 0: whatever both ends can */
	struct policy_link_exception *exceptions;
	size_t exception_count, exception_room;
	struct policy_mark mark;
};

/* What audit is to make of counters. */
#define POLICY_BUSY 80	    /* percent of its rate from which on a port is busy */
#define POLICY_TOLERANCE 20 /* percent of its share that a class may lack */
struct policy_counter_rate {
	unsigned counter; /* enum counter_id: policy_counter_name() */
	unsigned speed;	  /* enum link_speed; 0: any */
	uint64_t count;	  /* so many are too many */
	unsigned seconds; /* in so long */
	struct policy_mark mark;
};
struct policy_counters {
	bool given;
	struct policy_counter_rate *rates;
	size_t rate_count, rate_room;
	uint32_t suppressed; /* bits 1 << enum counter_id */
	unsigned congestion; /* percent; 0: not given */
	unsigned busy, tolerance; /* percent; 0: the defaults above */
};
const char *policy_counter_name(unsigned counter); /* NULL: none */

/* Exact tables, in place of those that shares would make. */
struct policy_tables {
	bool given;
	bool type_given[QOS_PORT_TYPES]; /* of those that are not the tables are the adapters' */
	struct qos_config config;
	struct policy_mark mark, marks[QOS_PORT_TYPES];
};

struct policy {
	char *path; /* as given, for messages */
	char *name; /* what the admin calls it; NULL if not named */
	struct policy_class *classes;
	size_t class_count;
	size_t default_class; /* index */
	enum policy_unused unused_sls;
	struct policy_mark unused_mark;
	unsigned vls; /* data VLs that links are expected to run: 1, 2, 4, 8, 15; 0: as many as there are */
	struct policy_mark vls_mark;
	struct policy_group *groups;
	size_t group_count, group_room;
	struct policy_partition *partitions;
	size_t partition_count, partition_room;
	struct policy_tables tables;
	struct policy_override overrides[QOS_PORT_TYPES]; /* sw0 is never given: it has what swe has */
	struct policy_link_class *link_classes;
	size_t link_class_count, link_class_room;
	struct policy_counters counters;
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
/*
 * The same for a policy that is still being written: a class without `sl` is a warning, and has
 * sl_mark.line 0. Such a policy must not be planned.
 */
int policy_read_draft(const char *path, struct finding_list *findings, struct policy **policy);
void policy_free(struct policy *policy);

const struct policy_group *policy_find_group(const struct policy *policy, const char *name); /* NULL: none */
/* Whether a port is in a group; a switch's by the GUID that all its ports have. */
bool policy_group_has(const struct policy_group *group, const struct fabric_node *node, uint64_t port_guid);

/* The class of a link; NULL: it is in none. */
const struct policy_link_class *policy_link_class_of(const struct policy *policy, const struct fabric *fabric,
						     const struct fabric_link *link);
/* Whether an exception is about a link, whatever its date. */
bool policy_link_excepted(const struct policy_link_exception *exception, const struct fabric *fabric,
			  const struct fabric_link *link);
/* "2026-12-31" in days since 1970, 1970 to 9999; and back, for text of POLICY_DATE_TEXT bytes. -EINVAL: it is no date. */
#define POLICY_DATE_TEXT 32
int policy_date_of(const char *text, unsigned *days);
const char *policy_date_text(unsigned days, char text[POLICY_DATE_TEXT]);

/*
 * OpenSM's own files as the text of a policy that compiles to the same tables. What a policy cannot say, or
 * not quite, is told as findings at places of those files (import-*). The caller frees *text. 0 or -errno.
 */
struct opensm_files;
int policy_import(const struct opensm_files *files, struct finding_list *findings, char **text, size_t *size);

/* --- which rule has a request --- */

/* A rule as OpenSM tries it: the traffic classes of a class, or one of its matches. */
struct policy_rule {
	size_t class;
	const struct policy_match *match; /* NULL: the class's traffic classes */
	struct policy_ranges service_ids, qos_classes; /* in order, none touching the next */
	unsigned pkey; /* 0: none */
	const struct policy_texts *sources, *destinations; /* NULL: any */
	bool loose; /* tried after all others: it knows its traffic by partition or destination only */
	struct policy_mark mark;
};
/*
 * All rules in the order in which OpenSM tries them, the first that matches has the request: class
 * by class, a class's traffic classes before its matches; then the loose ones. 0 or -ENOMEM.
 */
int policy_rules(const struct policy *policy, struct policy_rule **rules, size_t *count);
void policy_rules_free(struct policy_rule *rules, size_t count);
/* "service ID 0x…, QoS class 41, from group a": what a rule matches; NULL: out of memory. The caller frees it. */
char *policy_rule_text(const struct policy_rule *rule);

/* --- SLs --- */

/* Who takes an SL without being told to; *text is "" if nobody does. For text of POLICY_SL_TEXT bytes. */
#define POLICY_SL_TEXT 256
bool policy_sl_self_chosen(const struct policy *policy, unsigned sl, char text[POLICY_SL_TEXT]);
/* For each class without an SL one that is free; sl[i] is the class's own where it has one. -ENOSPC: not enough. */
int policy_suggest_sls(const struct policy *policy, unsigned sl[QOS_SLS]);

/* --- what a policy file may say, from the tables that read it --- */

int policy_schema(FILE *out); /* JSON Schema */
int policy_manual(FILE *out); /* man page, reStructuredText */

/* --- plan --- */

struct plan_class {
	const struct policy_class *policy; /* borrowed */
	unsigned vl;
	/* the least over all kinds of port and MTUs of this fabric */
	double share_full; /* guaranteed fraction of a saturated link, every class sending packets of the MTU */
	double share_256;  /* the same with this class sending 256-byte packets, the others packets of the MTU */
};

struct plan {
	unsigned vls;		   /* data VLs that host and switch-to-switch links run, the least of them */
	unsigned mtu;		   /* largest NeighborMTU in the fabric, bytes */
	unsigned mtus;		   /* all of them: a mask of bytes, 256 | 2048 */
	unsigned vlarb_cap;	   /* smallest VLArb table of those links */
	struct plan_class *classes; /* in policy order */
	size_t class_count;
	struct qos_config config;
	/*
	 * Where the direct change passes a mixture of old and new tables in which traffic waits without
	 * end or is dropped: tables from which no step does, to be programmed first. NULL: not needed, or
	 * there are none, or the old ones are not known (QoS is off).
	 */
	struct qos_config *step;
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
#define PLAN_ALLOW_BOUNCE (1u << 2) /* a `max_op_vls` that takes links of adapters down is accepted */
#define PLAN_TABLES_ONLY (1u << 1) /* OpenSM's files are neither read nor judged, and stay NULL: for a host without them */
int plan_make(const struct policy *policy, const struct fabric *fabric, unsigned flags, struct finding_list *findings,
	      struct plan **plan);
void plan_free(struct plan *plan);

/* Ports that hold the same tables on the same kind of link, and what the classes have there. */
struct plan_place_class {
	unsigned vl;	   /* as folded there */
	bool shared;	   /* another class has this VL too: the figures are for both together */
	double guaranteed; /* fraction of the link while all classes are busy with packets of the MTU */
	double at_most;	   /* the most of it beside another class; alone each has the whole link */
	uint64_t wait;	   /* longest wait of a packet in bytes, QOS_WAIT_FOREVER: without end (qos_worst_wait) */
};
struct plan_place {
	enum qos_port_type type;
	bool special; /* a link of an aggregation node or a router, which may fold classes */
	unsigned vls, mtu, width, speed; /* enum link_width and link_speed; 0: not known */
	double gbps;			 /* 0: not known */
	uint32_t ports;
	struct qos_tables tables; /* as the ports hold them */
	struct plan_place_class classes[QOS_SLS]; /* in the plan's order */
};
/* Every kind of active port at a link. The caller frees *places. 0 or -ENOMEM. */
int plan_explain(const struct plan *plan, const struct fabric *fabric, struct plan_place **places, size_t *count);

/* The share that a class asks for on a kind of port, in percent. */
double plan_wanted_share(const struct policy *policy, enum qos_port_type type, size_t class);

/*
 * The pure part: tables for `class_count` classes with VLs already given, for VLArb tables of
 * `cap` entries (of which at most one block of 32 is used) and packets of `mtu` bytes. 0; -ENOSPC:
 * cap too small for one entry a class; -EINVAL: not an IB MTU, no class, more than 15 or a VL above 14.
 */
int plan_tables(const struct policy *policy, const unsigned *vl_of_class, unsigned cap, unsigned mtu,
		struct qos_tables *tables);

#endif
