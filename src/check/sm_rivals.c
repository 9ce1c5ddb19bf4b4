/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Several subnet managers of one fabric: one master, and the others rank below it. */
#include "ibqos/check.h"

#include "place.h"

static bool is_master(const struct sm_seen *sm)
{
	return sm->outcome == MAD_ANSWERED && sm->info.state == MAD_SM_MASTER;
}

/* IBA 14.4.1: the higher priority, of equal ones the lower port GUID. */
static bool outranks(const struct mad_sm_info *a, const struct mad_sm_info *b)
{
	return a->priority != b->priority ? a->priority > b->priority : a->guid < b->guid;
}

static struct finding *find_at(const struct fabric *fabric, const struct sm_seen *sm, enum finding_code code,
			       struct finding_list *findings)
{
	struct finding *f = finding_add(findings, code);

	place_port(f, fabric, sm->port);
	finding_set(&f->what, "SMInfo");
	return f;
}

static void judge(const struct fabric *fabric, const struct sm_result *known, const struct sm_seen *sm,
		  struct finding_list *findings)
{
	const struct mad_sm_info *info = &sm->info;
	struct finding *f;

	if (sm->outcome != MAD_ANSWERED) {
		f = find_at(fabric, sm, sm->outcome == MAD_TIMED_OUT ? FINDING_SM_SILENT : FINDING_QUERY_FAILED, findings);
		finding_set(&f->detail, "its port says that a subnet manager is there, besides the one asked above");
		if (sm->outcome == MAD_STATUS)
			finding_append(&f->detail, "answered with MAD status 0x%04x", sm->status);
		return;
	}
	if (!known->known || known->info.state != MAD_SM_MASTER || info->guid == known->info.guid)
		return;
	if (is_master(sm)) {
		f = find_at(fabric, sm, FINDING_SM_TWO_MASTERS, findings);
		finding_set(&f->wanted, "standby");
		finding_set(&f->got, "master");
	} else if (info->state == MAD_SM_STANDBY && outranks(info, &known->info)) {
		f = find_at(fabric, sm, FINDING_SM_OUTRANKED, findings);
		finding_set(&f->got, "priority %u, the master's is %u", info->priority, known->info.priority);
	}
}

void sm_rivals(const struct fabric *fabric, const struct sm_result *known, const struct sm_seen *sms, uint32_t count,
	       struct finding_list *findings)
{
	for (uint32_t i = 0; i < count; i++)
		if (fabric_port_lid(&fabric->ports[sms[i].port]) != fabric->sm_lid)
			judge(fabric, known, &sms[i], findings);
}
