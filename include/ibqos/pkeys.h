/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * pkeys: the partition key that ports have at an index of their tables, which is how a queue pair names its partition
 * (part of folder check). Sources: IBA vol. 1 10.9.2 (two ports can talk where the lower 15 bits of their keys are the same
 * and one of them at least is a full member), 14.2.5.7 (P_KeyTable: 32 keys a block).
 */
#ifndef IBQOS_PKEYS_H
#define IBQOS_PKEYS_H

#include "ibqos/check.h"

#define PKEY_FULL 0x8000u /* a full member */
#define PKEY_BASE 0x7fffu

struct port_pkey {
	uint32_t port; /* port index of an adapter's port: filled in by the caller */
	bool there;    /* its table is long enough to have the index */
	enum mad_outcome outcome;
	uint16_t status; /* when MAD_STATUS */
	unsigned tries;
	uint16_t key; /* when answered; 0: none */
};

/*
 * Asks each port for the block with the index; one whose table ends before (NodeInfo:PartitionCap) is not asked. Returns as
 * source_ask(); -ENOMEM. Adds to *coverage.
 */
int pkeys_ask(struct source *source, const struct fabric *fabric, unsigned index, struct port_pkey *keys, size_t count,
	      struct check_coverage *coverage);
/*
 * Findings about ports of one job that all use this index: what is no full membership, one whose partition is not the one
 * that most ports have, a table that was not answered.
 */
void pkeys_findings(const struct fabric *fabric, unsigned index, const struct port_pkey *keys, size_t count,
		    struct finding_list *findings);

#endif
