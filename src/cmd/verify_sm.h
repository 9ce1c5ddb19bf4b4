/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The subnet manager's part of a verdict. */
#ifndef IBQOS_CMD_VERIFY_SM_H
#define IBQOS_CMD_VERIFY_SM_H

#include "cmd.h"

#include "ibqos/policy.h"

struct cmd_sm_options {
	const struct policy *policy; /* NULL: no paths are asked for */
	struct verify *verify;	     /* whose differences are classed by what the SM has recorded; NULL: none */
	const char *config;	     /* a config file of this machine that holds what is wanted; NULL: none does */
	size_t records;		     /* of the SM's at most; 0: none are asked for */
	bool all_leaves;	     /* paths between every two leaf switches, not a sample */
	unsigned sa_rate;	     /* of these a second at most; 0: no ceiling */
	const struct sm_watch *watch; /* of while the ports were read: its questions count here; NULL: none */
};

/* What it said, for who sums up. */
struct cmd_sm_told {
	bool asked; /* the rest is known */
	struct sm_result result;
	bool file_holds; /* the very file that the running master reads has the config that is wanted */
};

/*
 * Asks the subnet manager whether it runs with QoS on and, with a policy, gives paths the SLs of its rules, and what it
 * has recorded of the tables that differ; reports it and adds the findings, but those of `verify`. Nothing where the
 * fabric has no SM, which is a finding already. `told` may be NULL.
 */
void cmd_verify_sm(struct cmd_session *s, const struct cmd_sm_options *options, struct cmd_sm_told *told);

/* All of verify, with a policy or an opensm.conf (verify.c); at most `records` of the SM's records are asked for. */
void cmd_verify_policy(struct cmd_session *s, const char *path, size_t records);
void cmd_verify_conf(struct cmd_session *s, const char *path, size_t records);

/* Only whether there is a subnet manager that answers and is the master; else a finding. Reports nothing. */
void cmd_ask_sm(struct cmd_session *s);

#endif
