/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rails: several fabrics that the same hosts have adapters in, compared with each other (part of folder check). What the
 * rules take for granted and what they cannot see: docs/rails.md.
 */
#ifndef IBQOS_RAILS_H
#define IBQOS_RAILS_H

#include "ibqos/fabric.h"
#include "ibqos/finding.h"
#include "ibqos/source.h"

#define RAILS_MAX 64

struct rail_tables;

/* One of them. All borrowed. */
struct rail {
	const char *name; /* told in findings; no two alike */
	const struct fabric *fabric;
	const struct rail_tables *tables; /* NULL: not read, so not compared */
	/* what hosts have in it, as `adapters` of a site file (ibqos/site.h): then an adapter of this name belongs here, whatever most have */
	char *const *adapters;
	size_t adapter_count;
};

/*
 * Reads what the ports of a fabric do with service levels, of every cabled port of adapters and switches: OperationalVLs and
 * VLHighLimit from the fabric, SL2VL and VLArb from the source. The caller frees *tables. Returns as source_ask(); -ENOMEM.
 */
int rail_tables_read(struct source *source, const struct fabric *fabric, struct rail_tables **tables);
void rail_tables_free(struct rail_tables *tables); /* NULL is fine */

struct rails_result {
	uint32_t hosts;		 /* with an adapter in any rail, known by name */
	uint32_t hosts_compared; /* with others of their kind */
	uint32_t hosts_odd;	 /* lacking a rail, or with an adapter in another one */
	uint32_t adapters;	 /* ports of adapters; of several planes one */
	uint32_t adapters_unknown; /* whose host is not known */
	uint32_t planes;	 /* fabrics that are planes of the ports of another one */
	uint32_t tables_compared; /* kinds of port times kinds of table that at least two rails have */
};

/* What one rail has, for a table of them. */
struct rail_totals {
	uint32_t hosts, adapters, switches, links; /* links: between switches */
	double host_gbps, links_gbps; /* host_gbps: of the fastest adapter; 0: not known */
	uint64_t prefix; /* GidPrefix of the first port with a LID; 0: not known */
};

/*
 * Compares 2 to RAILS_MAX fabrics. `totals` has room for one of each. Findings name rails in their texts, and places in
 * the rail that the text names first. 0; -ENOMEM; -EINVAL: too many or too few.
 */
int check_rails(const struct rail *rails, size_t count, struct finding_list *findings, struct rail_totals *totals,
		struct rails_result *result);

#endif
