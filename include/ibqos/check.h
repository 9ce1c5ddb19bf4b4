/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * check: what the devices hold against what they should, and links against what they can.
 * Results are findings; nothing that was not looked at is reported clean.
 */
#ifndef IBQOS_CHECK_H
#define IBQOS_CHECK_H

#include "ibqos/fabric.h"
#include "ibqos/finding.h"
#include "ibqos/source.h"

/* --- coverage: what was asked and how it ended --- */

struct check_coverage {
	uint64_t asked;
	uint64_t ended[MAD_OUTCOMES]; /* adds up to asked */
};

/* Rows of coverage that verify has. */
enum verify_item { VERIFY_PORT_INFO, VERIFY_SL2VL, VERIFY_VLARB, VERIFY_ITEMS };
const char *verify_item_name(enum verify_item item); /* "PortInfo", ... */

struct verify_result {
	struct check_coverage coverage[VERIFY_ITEMS];
	uint32_t ports;		 /* looked at: programmed by OpenSM, or not known to be excluded */
	uint32_t ports_differ;	 /* of these, with at least one difference in SL2VL, VLArb or VLHighLimit; no plan
				    decides OperationalVLs, so two ends that differ there are only a finding */
	uint32_t ports_unknown;	 /* of these, with an unanswered query and no difference */
	uint32_t ports_excluded; /* not programmed by OpenSM at all: down, base switch port 0, ... */
};

struct verify;

/*
 * Prepares to compare every port's SL2VL tables, VLArb blocks, VLHighLimit and OperationalVLs with
 * what OpenSM programs there for `config` (rules: osm_qos.c, port.c:239-296). All borrowed.
 */
int verify_new(const struct ibqos_ctx *ctx, struct fabric *fabric, const struct qos_config *config,
	       struct verify **verify);
void verify_free(struct verify *verify);

/*
 * Asks and compares: PortInfo of all ports first (kept in the fabric, since OperationalVLs decide
 * the rest), then tables. With only_differing, just the ports that did not match in the last run,
 * whose earlier verdicts and coverage are replaced, so that the result is always that of the whole.
 * Compares as answers come: no table that matches is kept. Whatever was not answered is counted,
 * MAD_NOT_ASKED where the run ended early. 0; -EINTR; -errno when the wire broke.
 */
int verify_run(struct verify *verify, struct source *source, bool only_differing);

/* The state after the last run. */
const struct verify_result *verify_result(const struct verify *verify);
/* Adds the findings of the last state: one a port and kind (SL2VL, VLArb, high limit, OperVLs), one a silent agent. */
void verify_findings(const struct verify *verify, struct finding_list *findings);
bool verify_port_differs(const struct verify *verify, uint32_t port);

/* --- gaps of a discovery as findings: 'no answer', named by the switch port before it --- */
void check_gaps(const struct fabric *fabric, struct finding_list *findings);

/* --- links --- */

struct audit_result {
	uint32_t links;		/* looked at: both ends known and LinkUp */
	uint32_t links_slow;	/* below what both ends support, in width or speed */
	uint32_t links_unknown; /* an end not known or an encoding not in the table */
};

/* Compares each link's active width and speed with the best that both ends support; worst first by lost Gb/s. */
void audit_links(const struct fabric *fabric, struct finding_list *findings, struct audit_result *result);

#endif
