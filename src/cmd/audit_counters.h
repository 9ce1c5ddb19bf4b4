/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * audit_counters: the part of audit that looks at counters, and what it remembers between runs.
 */
#ifndef IBQOS_CMD_AUDIT_COUNTERS_H
#define IBQOS_CMD_AUDIT_COUNTERS_H

#include "cmd.h"
#include "ibqos/state.h"

struct cmd_counters_options {
	struct cmd_options *cmd;
	bool counters;
	const char *state; /* path; NULL: nothing is remembered */
	const char *since; /* NULL: all */
	const char *thresholds;
	struct counter_thresholds suppress;
	unsigned congestion, hold_s;
	bool shares;
	unsigned interval; /* seconds between two looks of one run; 0: one look */
	uint64_t now; /* 0: by the machine's clock */
};

/* Its input is the struct cmd_counters_options. */
extern const struct argp cmd_counters_argp;
void cmd_counters_defaults(struct cmd_counters_options *options, struct cmd_options *cmd);

struct cmd_counters {
	struct counters counters;
	struct state state;
	bool usable; /* what the state file says can be used */
	int lock;    /* of the state file; -1: it is not to be written */
	bool asked;
	uint64_t now;
	uint64_t since; /* 0: all */
};

/*
 * Asks, reads the state and judges, after all that came before in the audit has its findings. Says what went wrong. From then
 * on to the end the state is locked: what others write meanwhile, an acknowledgement above all, would be lost.
 */
void cmd_counters_run(struct cmd_session *s, const struct cmd_counters_options *options, const struct policy *policy,
		      struct cmd_counters *counters);
/* A table of bit errors and time without credits by port: those that stand out, or with --all each. */
void cmd_measures_report(struct cmd_session *s, const struct counter_measure *measures);
/* After all findings are there: since when, acknowledged or not; and writes the state. Frees. */
void cmd_counters_end(struct cmd_session *s, const struct cmd_counters_options *options, struct cmd_counters *counters);

/* Judges and reports what each SL sent, for cmd_counters_run(). policy and state NULL: there is none. */
void cmd_shares(struct cmd_session *s, const struct policy *policy, const struct cmd_counters *counters, struct state *state,
		uint64_t read_at);

#endif
