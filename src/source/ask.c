/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Queries about ports of a fabric put to the engine, which knows only addresses. */
#include <errno.h>
#include <stdlib.h>

#include "live.h"

struct ask {
	const struct source_asker *asker;
	struct mad_address *addresses; /* of each agent */
	bool *reachable;
};

static const struct mad_answer not_asked = {.outcome = MAD_NOT_ASKED};

/* Hands the queries for one agent back without asking. */
static void refuse_agent(const struct source_asker *asker, uint32_t which)
{
	struct source_query query;

	while (asker->next(asker->arg, which, &query))
		asker->answer(asker->arg, &query, &not_asked);
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
	struct source_query asked;

	if (!ask->reachable[device] || !ask->asker->next(ask->asker->arg, device, &asked))
		return false;
	*query = (struct mad_query){
		.attribute = asked.attribute, .modifier = asked.modifier, .tag = asked.port};
	return true;
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
	};

	ask->asker->answer(ask->asker->arg, &asked, answer);
}

int live_ask(struct mad_engine *engine, const struct fabric *fabric, bool directed,
	     const struct source_asker *asker)
{
	struct ask ask = {.asker = asker};
	struct mad_job job = {
		.devices = asker->agent_count,
		.address = job_address,
		.next = job_next,
		.done = job_done,
		.arg = &ask,
	};
	int error = -ENOMEM;

	ask.addresses = calloc((size_t)asker->agent_count + 1, sizeof(*ask.addresses));
	ask.reachable = calloc((size_t)asker->agent_count + 1, sizeof(*ask.reachable));
	if (!ask.addresses || !ask.reachable) {
		live_ask_nothing(asker);
		goto out;
	}
	for (uint32_t i = 0; i < asker->agent_count; i++) {
		ask.reachable[i] =
			fabric_agent_address(fabric, asker->agents[i], directed, &ask.addresses[i]);
		if (!ask.reachable[i])
			refuse_agent(asker, i);
	}
	error = mad_engine_run(engine, &job);
out:
	free(ask.addresses);
	free(ask.reachable);
	return error;
}
