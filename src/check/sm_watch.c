/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * sm_watch: whether the subnet manager swept, was started anew or handed over while ports were read: then what was
 * read first and last may be of two states.
 *
 * SMInfo:ActCount counts the SMPs that it sends (osm_sm_mad_ctrl.c, osm_stats). A light sweep asks each switch once; a heavy
 * one at least each node, and something over each link.
 */
#include "ibqos/check.h"

#include "place.h"

static int ask(struct source *source, const struct fabric *fabric, struct sm_watch *watch, struct mad_sm_info *info,
	       bool *known)
{
	struct source_sm_query query = {.mgmt_class = MAD_CLASS_SMP, .attribute = MAD_SM_INFO};
	int error;

	*known = false;
	if (fabric->sm_lid == 0)
		return 0;
	error = source_ask_sm(source, fabric, &query, 1, NULL);
	watch->coverage.asked++;
	watch->coverage.ended[query.outcome]++;
	if (error == 0 && query.outcome == MAD_ANSWERED) {
		mad_sm_info_decode(query.data, info);
		*known = true;
	}
	return error;
}

int sm_watch_begin(struct source *source, const struct fabric *fabric, struct sm_watch *watch)
{
	*watch = (struct sm_watch){0};
	return ask(source, fabric, watch, &watch->before, &watch->known);
}

int sm_watch_end(struct source *source, const struct fabric *fabric, struct sm_watch *watch)
{
	const struct mad_sm_info *b = &watch->before, *a = &watch->after;
	int error;

	if (!watch->known || b->state != MAD_SM_MASTER) { /* told by who asks it more */
		watch->known = false;
		return 0;
	}
	error = ask(source, fabric, watch, &watch->after, &watch->known);
	if (!watch->known)
		return error;
	watch->sent = a->act_count - b->act_count; /* it wraps */
	if (a->guid != b->guid || a->state != MAD_SM_MASTER)
		watch->change = SM_HANDED_OVER;
	else if (a->act_count < b->act_count && b->act_count - a->act_count < UINT32_MAX / 2)
		watch->change = SM_STARTED_ANEW;
	else if (watch->sent >= (uint64_t)fabric->node_count + fabric->link_count)
		watch->change = SM_SWEPT;
	return error;
}

void sm_watch_findings(const struct sm_watch *watch, const struct fabric *fabric, uint32_t again,
		       struct finding_list *findings)
{
	struct finding *f;
	uint32_t port;

	if (!watch->known || watch->change == SM_STEADY)
		return;
	f = finding_add(findings, watch->change == SM_HANDED_OVER ? FINDING_SM_HANDED_OVER : FINDING_SM_SWEPT);
	port = fabric_port_of_lid(fabric, fabric->sm_lid);
	if (port != FABRIC_NONE)
		place_port(f, fabric, port);
	switch (watch->change) {
	case SM_SWEPT:
		finding_set(&f->what, "%u MADs of its own", (unsigned)watch->sent);
		break;
	case SM_STARTED_ANEW:
		finding_set(&f->what, "its count of MADs");
		finding_set(&f->got, "%u, it was %u before: it was started anew", (unsigned)watch->after.act_count,
			    (unsigned)watch->before.act_count);
		break;
	default:
		finding_set(&f->what, "SMInfo");
		if (watch->after.guid != watch->before.guid)
			finding_set(&f->got, "another port GUID than before");
		else
			finding_set(&f->got, "no master any more");
		break;
	}
	if (again > 0)
		finding_set(&f->detail, "%u ports that differed were read again", (unsigned)again);
}
