/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * audit: what of a fabric's links slows training (part of folder check). What each rule sees and what it
 * cannot see: docs/links.md.
 */
#ifndef IBQOS_AUDIT_H
#define IBQOS_AUDIT_H

#include "ibqos/check.h"
#include "ibqos/policy.h"

/* --- verdicts on one link's width, or its speed --- */

/* Single bits of enum link_width or enum link_speed, whose order is that of their rates; 0: not known, or not given. */
struct link_levels {
	unsigned active;   /* what it runs: the lower of what the ends tell */
	unsigned enabled;  /* the best that both ends have enabled */
	unsigned can;	   /* the best that both ends support */
	unsigned expected; /* by the policy, at least */
	unsigned now, before; /* what an end can do now, and could at the time of the baseline */
};

/* Each is right or wrong by itself. */
enum link_verdict {
	LINK_BELOW_ENABLED = 1 << 0,
	LINK_BELOW_CAN = 1 << 1,
	LINK_BELOW_EXPECTED = 1 << 2,
	LINK_LOST = 1 << 3,
	LINK_UNKNOWN = 1 << 4, /* active or can is not known */
};
unsigned link_verdicts(const struct link_levels *levels);

/*
 * What of it is told, so that one cause is one finding: the policy, where it says something, is the measure in place
 * of what both ends can. From what it runs up to what is enabled the cable failed (LOW); from there up to what
 * both can the ports were told so (LIMITED); from there up to the policy's the devices lack it (BELOW_POLICY), or
 * have lost it since the baseline (LOST).
 */
enum link_telling {
	LINK_TELL_LOW = 1 << 0,
	LINK_TELL_LIMITED = 1 << 1,
	LINK_TELL_BELOW_POLICY = 1 << 2,
	LINK_TELL_LOST = 1 << 3,
};
unsigned link_tellings(const struct link_levels *levels);

/* --- all links --- */

struct audit_options {
	const struct scope *scope;	/* links with no end in it are left out; NULL: none is */
	const struct policy *policy;	/* its link classes count; NULL: none */
	unsigned today;			/* days since 1970: which exceptions of the policy hold */
	const struct fabric *baseline;	/* as the fabric once was; NULL: not known */
};

struct audit_result {
	uint32_t links;		/* looked at: both ends known and LinkUp */
	uint32_t links_slow;	/* with a finding about width or speed */
	uint32_t links_unknown; /* an end not known or an encoding not in the table */
	uint32_t links_excepted; /* that an exception of the policy, still in force, is about */
	uint32_t below_enabled, below_can, below_policy, lost; /* links with the verdict, whether told or not */
};

/*
 * Judges each link, in the order of the fabric; findings have the Gb/s lost as weight. options NULL: all links by
 * what both ends can. 0 or -ENOMEM.
 */
int audit_links(const struct fabric *fabric, const struct audit_options *options, struct finding_list *findings,
		struct audit_result *result);

/*
 * What went, came or moved since the options' baseline; nothing without one. A switch with the adapters behind it, a host
 * with several adapters, and three or more hosts behind a switch that stays are one finding each. 0 or -ENOMEM.
 */
int audit_baseline(const struct fabric *fabric, const struct audit_options *options, struct finding_list *findings);

/*
 * Compares switches, links and hosts with their siblings, without any baseline. What it takes for siblings and what it
 * can see: docs/links.md. With a baseline, which is the better measure of cables and hosts, only rates are compared.
 * Findings may lie outside a scope. 0 or -ENOMEM.
 */
int audit_siblings(const struct fabric *fabric, const struct audit_options *options, struct finding_list *findings);

/*
 * What must be so of any fabric: LIDs, GUIDs and names that are there once; parallel links of two switches that hold the same
 * MTU and VLs. Two ports of one LID are not told again where the list has such already. Obeys the scope. 0 or -ENOMEM.
 */
int audit_health(const struct fabric *fabric, const struct audit_options *options, struct finding_list *findings);

/*
 * Makes notes of warnings and critical findings at adapters of these hosts, or at the other ends of their links; how many. What is
 * unknown stays so.
 */
uint32_t audit_drained(const struct fabric *fabric, char *const *hosts, size_t count, struct finding_list *findings);

/*
 * Ranks findings by impact: their weight becomes the percentage of all pairs of hosts that cross the link, times
 * the part of its rate that is lost; which share it is, and what is left to a leaf's hosts, is added to their
 * detail. By the forwarding tables of `routes`, all read, else (NULL) as if pairs used all shortest ways alike. 0 or
 * -ENOMEM.
 */
struct routes;
int audit_rank(const struct fabric *fabric, const struct routes *routes, struct finding_list *findings);

/*
 * Makes one finding without a place of those about width and speed that all links of a kind, four at least, have alike. After
 * audit_rank(). 0 or -ENOMEM.
 */
int audit_uniform(const struct fabric *fabric, struct finding_list *findings);
/*
 * What findings about links have in common: of the two ends of a cable that tell the same the worse stands for both;
 * three or more links of a switch, half of what it has at least, are one finding at it, and those about each are marked
 * (finding.told_by_another). 0 or -ENOMEM.
 */
int audit_bursts(const struct fabric *fabric, struct finding_list *findings);

/*
 * Adds to the detail of findings about ports what their cables are, where a dump told it (struct fabric_cable); else what the
 * baseline (NULL: none) says of the same link, also of one that is gone. Last of all.
 */
void audit_cables(const struct fabric *fabric, const struct fabric *baseline, struct finding_list *findings);

#endif
