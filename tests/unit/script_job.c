/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A job for tests of the engine. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "script_job.h"
#include "script_wire.h"

static const struct mad_address *job_address(void *arg, uint32_t device)
{
	struct script_job *j = arg;

	assert_true(device < j->job.devices);
	return j->device[device].no_address ? NULL : &j->device[device].address;
}

static bool job_next(void *arg, uint32_t device, struct mad_query *query)
{
	struct script_job *j = arg;
	struct script_job_device *d = &j->device[device];

	assert_true(device < j->job.devices);
	assert_false(d->ended);
	assert_true(d->given - d->done < j->limits->device_window);
	if (d->given == d->queries) {
		d->ended = true;
		return false;
	}
	query->attribute = SCRIPT_ATTRIBUTE;
	query->modifier = d->given + 1;
	query->tag = d->first + d->given;
	d->given++;
	j->given++;
	return true;
}

static void job_done(void *arg, uint32_t device, const struct mad_query *query,
		     const struct mad_answer *answer)
{
	struct script_job *j = arg;
	struct script_job_device *d = &j->device[device];
	struct script_result *r;
	uint8_t data[MAD_SMP_DATA];

	assert_true(device < j->job.devices);
	assert_true(query->tag >= d->first && query->tag < d->first + d->given);
	assert_int_equal(query->attribute, SCRIPT_ATTRIBUTE);
	assert_int_equal(query->modifier, query->tag - d->first + 1);
	r = &j->result[query->tag];
	assert_int_equal(r->done, 0);
	*r = (struct script_result){1, answer->outcome, answer->status, answer->tries};
	assert_int_equal(answer->status != 0, answer->outcome == MAD_STATUS);
	if (answer->outcome == MAD_ANSWERED) {
		script_data(d->address.lid, query->attribute, query->modifier, data);
		assert_memory_equal(answer->data, data, sizeof(data));
	} else {
		assert_null(answer->data);
	}
	if (answer->outcome != MAD_NOT_ASKED)
		assert_in_range(answer->tries, 1, j->limits->retries + 1);
	d->outcomes[answer->outcome]++;
	d->done++;
	j->done++;
	if (j->on_done)
		j->on_done(j->arg, device, answer);
}

void script_job_init(struct script_job *j, const struct mad_limits *limits)
{
	*j = (struct script_job){
		.job = {.address = job_address, .next = job_next, .done = job_done, .arg = j},
		.limits = limits,
	};
}

struct script_job_device *script_job_add(struct script_job *j, uint16_t lid, unsigned queries)
{
	struct script_job_device *d;

	j->device = realloc(j->device, (j->job.devices + 1) * sizeof(*j->device));
	assert_non_null(j->device);
	d = &j->device[j->job.devices++];
	*d = (struct script_job_device){.address.lid = lid, .queries = queries, .first = j->queries};
	j->queries += queries;
	j->result = realloc(j->result, (j->queries + 1) * sizeof(*j->result));
	assert_non_null(j->result);
	memset(j->result + d->first, 0, queries * sizeof(*j->result));
	return d;
}

void script_job_check(const struct script_job *j, const struct mad_counts *counts)
{
	uint64_t outcomes[MAD_OUTCOMES] = {0};
	uint32_t i;
	size_t q;

	for (i = 0; i < j->job.devices; i++) {
		if (!j->device[i].ended)
			fail_msg("device %u still has queries", i);
		assert_int_equal(j->device[i].done, j->device[i].queries);
	}
	for (q = 0; q < j->queries; q++) {
		if (j->result[q].done != 1)
			fail_msg("query %zu was handed back %u times", q, j->result[q].done);
		outcomes[j->result[q].outcome]++;
	}
	assert_int_equal(counts->queries, j->queries);
	for (i = 0; i < MAD_OUTCOMES; i++)
		assert_int_equal(counts->ended[i], outcomes[i]);
}

void script_job_free(struct script_job *j)
{
	free(j->device);
	free(j->result);
	*j = (struct script_job){0};
}

const struct script_result *script_job_result(const struct script_job *j, uint32_t device, unsigned query)
{
	assert_true(device < j->job.devices && query < j->device[device].queries);
	return &j->result[j->device[device].first + query];
}
