/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The subnet manager's part of a verdict. */
#ifndef IBQOS_CMD_VERIFY_SM_H
#define IBQOS_CMD_VERIFY_SM_H

#include "cmd.h"

#include "ibqos/policy.h"

/*
 * Asks the subnet manager whether it runs with QoS on and, with a policy, gives paths the SLs of its rules; reports
 * it and adds the findings. Nothing where the fabric has no SM, which is a finding already.
 */
void cmd_verify_sm(struct cmd_session *s, const struct policy *policy);

/* Only whether there is a subnet manager that answers and is the master; else a finding. Reports nothing. */
void cmd_ask_sm(struct cmd_session *s);

#endif
