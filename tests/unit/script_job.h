/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A job for tests of the engine: devices with so many queries each. It holds the engine to its
 * contract while it runs: next() is called only while the device has room and never after it said no,
 * done() once for each query, with the device, query and data that belong to it.
 */
#ifndef SCRIPT_JOB_H
#define SCRIPT_JOB_H

#include "ibqos/mad.h"

#define SCRIPT_ATTRIBUTE MAD_SL2VL

struct script_result {
	unsigned done; /* how often it was handed back */
	enum mad_outcome outcome;
	uint16_t status;
	unsigned tries;
};

struct script_job_device {
	struct mad_address address;
	bool no_address; /* the job has none for it */
	unsigned queries, given, done;
	bool ended;   /* next() has said no */
	size_t first; /* of its results */
	unsigned outcomes[MAD_OUTCOMES];
};

struct script_job {
	struct mad_job job;
	const struct mad_limits *limits;
	struct script_job_device *device;
	struct script_result *result; /* of each query, those of a device in a row */
	size_t queries, given, done;
	void (*on_done)(void *arg, uint32_t device, const struct mad_answer *answer); /* may be NULL */
	void *arg;
};

void script_job_init(struct script_job *job, const struct mad_limits *limits);
/* Adds a device; modifiers of its queries are 1, 2, ...; returns it. */
struct script_job_device *script_job_add(struct script_job *job, uint16_t lid, unsigned queries);
/* All queries were given and handed back, and the engine counted as the job did. */
void script_job_check(const struct script_job *job, const struct mad_counts *counts);
void script_job_free(struct script_job *job);
const struct script_result *script_job_result(const struct script_job *job, uint32_t device, unsigned query);

#endif
