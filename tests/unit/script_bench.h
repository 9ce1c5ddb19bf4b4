/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* An engine with a scripted wire and job around it, and short words for scripts. */
#ifndef SCRIPT_BENCH_H
#define SCRIPT_BENCH_H

#include <signal.h>

#include "script_job.h"
#include "script_wire.h"

/* GET(7, 2, LOST): the second query of the device with LID 7 gets lost. */
#define GET(device, query, ...)                                                                              \
	{                                                                                                    \
		.lid = (device), .attribute = SCRIPT_ATTRIBUTE, .modifier = (query), __VA_ARGS__             \
	}
#define ANSWER .fate = SCRIPT_ANSWER
#define ANSWER_AFTER(ms) .fate = SCRIPT_ANSWER, .delay_us = (ms)*1000
#define LOST .fate = SCRIPT_LOST
#define SILENCE .fate = SCRIPT_SILENCE
#define SAYS(code) .fate = SCRIPT_STATUS, .status = (code)
#define REFUSED(code) .fate = SCRIPT_REFUSED, .error = (code)

struct bench {
	struct script_wire wire;
	struct script_job job;
	struct mad_limits limits;
	struct mad_engine *engine;
	volatile sig_atomic_t stop;
	struct ibqos_ctx ctx;
	uint64_t start_ns;
};

void bench_script(struct bench *b, const struct mad_limits *limits, const struct script_entry *entries,
		  size_t count);
void bench_play(struct bench *b, const struct mad_limits *limits, script_device *device, void *arg);
/* Runs the job and checks that every query came back and every MAD was counted. */
const struct mad_counts *bench_run(struct bench *b, int expected);
/* Milliseconds of the wire's clock since the bench was made. */
uint64_t bench_ms(const struct bench *b);
void bench_end(struct bench *b);

void assert_result(const struct bench *b, uint32_t device, unsigned query, enum mad_outcome outcome,
		   uint16_t status, unsigned tries);

/* Devices that always and never answer. */
int script_answer_all(void *arg, struct script_wire *wire, const struct mad_request *request);
int script_answer_none(void *arg, struct script_wire *wire, const struct mad_request *request);

#endif
