/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * sms: every subnet manager of the fabric: the ports that say that one sits on them, each asked for
 * its SMInfo.
 */
#include <errno.h>
#include <stdlib.h>

#include <infiniband/mad.h>

#include "ibqos/check.h"

struct listing {
	struct sm_seen *sms;
	uint32_t *agents;
	uint32_t count;
};

static bool next(void *arg, uint32_t which, struct source_query *query)
{
	struct listing *l = arg;

	if (l->sms[which].asked)
		return false;
	l->sms[which].asked = true;
	*query = (struct source_query){.agent = l->agents[which], .port = l->agents[which], .attribute = MAD_SM_INFO};
	return true;
}

static void answer(void *arg, const struct source_query *query, const struct mad_answer *given)
{
	struct listing *l = arg;

	for (uint32_t i = 0; i < l->count; i++) {
		struct sm_seen *sm = &l->sms[i];

		if (l->agents[i] != query->port)
			continue;
		sm->outcome = given->outcome;
		sm->status = given->status;
		if (given->outcome == MAD_ANSWERED)
			mad_sm_info_decode(given->data, &sm->info);
		return;
	}
}

/* The SM that the ports name has to be asked even where its port does not say that it has one. */
static bool has_sm(const struct fabric *fabric, uint32_t port)
{
	const struct fabric_port *p = &fabric->ports[port];

	if (!p->known || fabric_port_agent(fabric, port) != port)
		return false;
	return (fabric_port_cap_mask(p) & FABRIC_CAP_IS_SM) || (fabric->sm_lid != 0 && fabric_port_lid(p) == fabric->sm_lid);
}

int sm_list(struct source *source, const struct fabric *fabric, struct sm_seen **sms, uint32_t *count)
{
	struct listing l = {0};
	struct source_asker asker = {.next = next, .answer = answer, .arg = &l};
	int error = 0;

	*sms = NULL;
	*count = 0;
	for (uint32_t i = 0; i < fabric->port_count; i++)
		l.count += has_sm(fabric, i);
	if (l.count == 0)
		return 0;
	l.sms = calloc(l.count, sizeof(*l.sms));
	l.agents = calloc(l.count, sizeof(*l.agents));
	if (!l.sms || !l.agents) {
		error = -ENOMEM;
		goto out;
	}
	for (uint32_t i = 0, at = 0; i < fabric->port_count; i++) {
		if (!has_sm(fabric, i))
			continue;
		l.agents[at] = i;
		l.sms[at++] = (struct sm_seen){.port = i, .outcome = MAD_NOT_ASKED};
	}
	asker.agents = l.agents;
	asker.agent_count = l.count;
	error = source_ask(source, fabric, &asker);
out:
	free(l.agents);
	if (error != 0) {
		free(l.sms);
		return error;
	}
	*sms = l.sms;
	*count = l.count;
	return 0;
}
