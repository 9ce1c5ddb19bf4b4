/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * drift: ports that hold something else than OpenSM has recorded there. It compares a new config with its record alone and never
 * reads tables back (osm_qos.c, osm_port_info_rcv.c), so that a table that a change leaves as it is is not sent again.
 */
#include <errno.h>
#include <stdlib.h>

#include "transaction.h"

#define LAG_RECORDS 1000

void ask_records(struct transaction *t, struct verify *verify)
{
	const struct sm_options none = {.qos = true};
	struct sm_result sm;
	struct verify_records records;
	struct verify_record_options options = {.sm = &sm, .file_holds = true, .limit = LAG_RECORDS};

	if (ctx_stopped(t->ctx) || sm_check(t->source, t->fabric, &none, NULL, &sm) != 0)
		return;
	if (verify_ask_records(verify, t->source, &options, &records) == -ENOMEM)
		t->findings->lost = true;
}

/* Whether tables differ, and each that does is as OpenSM has recorded it. VLHighLimit alone is set again by a reload. */
bool only_drift(struct transaction *t, struct verify *verify)
{
	struct finding_list list = {0};
	bool drift = true, tables = false;

	ask_records(t, verify);
	verify_findings(verify, &list);
	for (size_t i = 0; i < list.count; i++) {
		const struct finding *f = &list.items[i];
		bool table = f->code == FINDING_SL2VL_DIFFERS || f->code == FINDING_VLARB_DIFFERS;

		if (table || f->code == FINDING_HIGH_LIMIT_DIFFERS)
			drift = drift && f->cause == CAUSE_DRIFTED;
		tables = tables || table;
	}
	drift = drift && tables && !list.lost;
	finding_list_clear(&list);
	return drift;
}

int keep_drift(struct transaction *t, const struct verify *verify)
{
	t->drifted = calloc((size_t)t->fabric->port_count + 1, sizeof(*t->drifted));
	if (!t->drifted)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->fabric->port_count; i++)
		t->drifted[i] = verify_port_differs(verify, i);
	return 0;
}

bool drifted_before(struct transaction *t, struct verify *verify, const struct verify_result *state)
{
	if (!t->drifted || state->ports_differ == 0 || state->ports_unknown > 0)
		return false;
	for (uint32_t i = 0; i < t->fabric->port_count; i++)
		if (verify_port_differs(verify, i) && !t->drifted[i])
			return false;
	return only_drift(t, verify);
}
