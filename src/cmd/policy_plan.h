/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What plan, apply and verify share. */
#ifndef IBQOS_CMD_POLICY_PLAN_H
#define IBQOS_CMD_POLICY_PLAN_H

#include "cmd.h"

#include "ibqos/policy.h"

struct cmd_plan {
	struct policy *policy;
	struct plan *plan;
};

/* Reads the policy, discovers the fabric, compiles (flags: PLAN_...). False if there is no plan; findings or session_fail() tell why. */
/* The policy's path of OpenSM's config is replaced by that of --opensm-config, if there is one. */
bool cmd_compile(struct cmd_session *s, const char *path, unsigned flags, struct cmd_plan *out);
/*
 * Whether the plan lets credits wait in a circle that there is not today, on the routes in force: findings, and the
 * coverage of the forwarding tables that were read. True if it does not, or it could not be known.
 */
bool cmd_plan_guard(struct cmd_session *s, const struct cmd_plan *p);
/* OpenSM runs on another host, by --opensm-config none: none of its files is here. */
bool cmd_opensm_elsewhere(const struct cmd_options *options);
void cmd_plan_clear(struct cmd_plan *p);

/* Two cells: the first traffic class of a class, and the further ones as text ("45, 49"). */
void cmd_cells_of_tcs(struct report *r, const struct policy_class *class);
void cmd_report_classes(struct report *r, const struct plan *plan);
void cmd_report_tables(struct report *r, const struct plan *plan);
/* What each class has on each kind of link, as a table, in text as a chart too. 0 or -ENOMEM. */
int cmd_report_explain(struct report *r, const struct cmd_plan *p, const struct fabric *fabric);

#endif
