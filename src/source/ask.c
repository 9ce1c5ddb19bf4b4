/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Queries about ports of a fabric put to the engine, which knows only addresses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"

struct ask {
	const struct source_asker *asker;
	struct mad_address *addresses; /* of each agent */
	bool *by_smp; /* whether SMPs reach it */
	bool lids; /* can be trusted */
};

static const struct mad_answer not_asked = {.outcome = MAD_NOT_ASKED};

/* Hands the queries for one agent back without asking. */
static void refuse_agent(const struct source_asker *asker, uint32_t which)
{
	struct source_query query = {0};

	while (asker->next(asker->arg, which, &query)) {
		asker->answer(asker->arg, &query, &not_asked);
		query = (struct source_query){0};
	}
}

void live_ask_nothing(const struct source_asker *asker)
{
	for (uint32_t i = 0; i < asker->agent_count; i++)
		refuse_agent(asker, i);
}

static const struct mad_address *job_address(void *arg, uint32_t device)
{
	struct ask *ask = arg;

	return &ask->addresses[device];
}

static bool job_next(void *arg, uint32_t device, struct mad_query *query)
{
	struct ask *ask = arg;
	const struct mad_address *address = &ask->addresses[device];

	for (;;) {
		struct source_query asked = {0};
		bool can;

		if (!ask->asker->next(ask->asker->arg, device, &asked))
			return false;
		can = asked.mgmt_class == MAD_CLASS_SMP ? ask->by_smp[device]
							: ask->lids && (address->lid || address->gmp_lid);
		*query = (struct mad_query){.attribute = asked.attribute,
					    .modifier = asked.modifier,
					    .mgmt_class = asked.mgmt_class,
					    .tag = asked.port};
		if (can)
			return true;
		ask->asker->answer(ask->asker->arg, &asked, &not_asked);
	}
}

static void job_done(void *arg, uint32_t device, const struct mad_query *query,
		     const struct mad_answer *answer)
{
	struct ask *ask = arg;
	struct source_query asked = {
		.agent = ask->asker->agents[device],
		.port = (uint32_t)query->tag,
		.attribute = query->attribute,
		.modifier = query->modifier,
		.mgmt_class = query->mgmt_class,
	};

	ask->asker->answer(ask->asker->arg, &asked, answer);
}

int live_ask(struct mad_engine *engine, const struct fabric *fabric, const struct source_keys *keys, bool directed,
	     const struct source_asker *asker)
{
	struct ask ask = {.asker = asker, .lids = fabric->sm_lid != 0};
	struct mad_job job = {
		.devices = asker->agent_count,
		.address = job_address,
		.next = job_next,
		.done = job_done,
		.arg = &ask,
		.what = asker->what,
		.total = asker->total,
	};
	int error = -ENOMEM;

	ask.addresses = calloc((size_t)asker->agent_count + 1, sizeof(*ask.addresses));
	ask.by_smp = calloc((size_t)asker->agent_count + 1, sizeof(*ask.by_smp));
	if (!ask.addresses || !ask.by_smp) {
		live_ask_nothing(asker);
		goto out;
	}
	for (uint32_t i = 0; i < asker->agent_count; i++) {
		ask.by_smp[i] = fabric_agent_address(fabric, asker->agents[i], directed, &ask.addresses[i]);
		ask.addresses[i].mkey = source_keys_of(keys, fabric->ports[asker->agents[i]].guid);
	}
	error = mad_engine_run(engine, &job);
out:
	if (ask.addresses) /* they hold keys */
		explicit_bzero(ask.addresses, asker->agent_count * sizeof(*ask.addresses));
	free(ask.addresses);
	free(ask.by_smp);
	return error;
}
