/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Questions to the subnet manager and the subnet administrator, which are both behind the LID that
 * the fabric's ports name as their master SM's.
 */
#include <string.h>

#include "live.h"

#define NS_PER_MS 1000000ull
/*
 * An SA that has answered lately and is not heard for so long has most likely lost the question. It is asked again
 * before its time is over, twice as late each time; what it answers to the earlier one still counts.
 */
#define SA_SHORT_MS 50

/* The questions of one class, which are asked in one run of the engine. */
struct asking {
	struct mad_address to;
	struct source_sm_query *queries;
	size_t count, next;
	uint8_t mgmt_class;
};

static const struct mad_address *job_address(void *arg, uint32_t device)
{
	struct asking *asking = arg;

	(void)device;
	return &asking->to;
}

static bool job_next(void *arg, uint32_t device, struct mad_query *query)
{
	struct asking *asking = arg;
	const struct source_sm_query *asked;

	(void)device;
	while (asking->next < asking->count && asking->queries[asking->next].mgmt_class != asking->mgmt_class)
		asking->next++;
	if (asking->next == asking->count)
		return false;
	asked = &asking->queries[asking->next];
	*query = (struct mad_query){
		.attribute = asked->attribute,
		.modifier = asked->modifier,
		.tag = asking->next++,
		.mgmt_class = asked->mgmt_class,
		.mask = asked->mask,
		.data = asked->mgmt_class == MAD_CLASS_SMP ? NULL : asked->record,
	};
	return true;
}

static void job_done(void *arg, uint32_t device, const struct mad_query *query,
		     const struct mad_answer *answer)
{
	struct asking *asking = arg;
	struct source_sm_query *asked = &asking->queries[query->tag];

	(void)device;
	asked->outcome = answer->outcome;
	asked->status = answer->status;
	asked->tries = answer->tries;
	memset(asked->data, 0, sizeof(asked->data));
	if (answer->data)
		memcpy(asked->data, answer->data,
		       query->mgmt_class == MAD_CLASS_SMP ? MAD_SMP_DATA : MAD_SA_DATA);
}

/* The SL that the SM wants to be written to on (PortInfo:MasterSMSL), as the port that looked was told. */
static uint8_t sm_sl(const struct fabric *fabric)
{
	uint32_t port;

	if (fabric->from_node == FABRIC_NONE)
		return 0;
	port = fabric_node_port(fabric, fabric->from_node, fabric->from_port);
	if (port == FABRIC_NONE || !fabric->ports[port].known)
		return 0;
	return (uint8_t)fabric_port_sm_sl(&fabric->ports[port]);
}

static int ask_class(struct mad_engine *engine, struct asking *asking, struct mad_job *job)
{
	job->devices = 1;
	job->address = job_address;
	job->next = job_next;
	job->done = job_done;
	job->arg = asking;
	return mad_engine_run(engine, job);
}

int live_ask_sm(struct mad_engine *engine, const struct fabric *fabric, const struct mad_limits *limits, const struct source *part_of,
		struct source_sm_query *queries, size_t count, uint64_t *lost_ns)
{
	struct asking asking = {
		.to = {.lid = fabric->sm_lid, .sl = sm_sl(fabric)},
		.queries = queries,
		.count = count,
		.mgmt_class = MAD_CLASS_SMP,
	};
	struct mad_job smps = {0};
	struct mad_job sa = {
		.timeout_ms = limits->sa_timeout_ms > limits->timeout_ms ? limits->sa_timeout_ms : limits->timeout_ms,
		.short_ms = SA_SHORT_MS,
		.lost_ns = lost_ns,
		.lost_limit_ns = limits->sa_patience_ms * NS_PER_MS,
		.what = part_of->sm_part.what,
		.before = part_of->sm_part.before,
		.total = part_of->sm_part.total,
		.part = true,
	};
	int error = ask_class(engine, &asking, &smps);

	if (error != 0 || (sa.lost_limit_ns && *lost_ns >= sa.lost_limit_ns))
		return error;
	asking.mgmt_class = MAD_CLASS_SA;
	asking.next = 0;
	return ask_class(engine, &asking, &sa);
}
