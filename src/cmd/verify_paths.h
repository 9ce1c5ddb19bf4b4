/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What verify --paths and trace share. */
#ifndef IBQOS_CMD_VERIFY_PATHS_H
#define IBQOS_CMD_VERIFY_PATHS_H

#include "cmd.h"

#include "ibqos/paths.h"
#include "ibqos/policy.h"

struct cmd_paths {
	bool wanted;
	bool by_lft;	 /* adaptive routing is a note */
	uint16_t sls;	 /* of --sl, as bits; 0: the policy's */
	struct lanes *lanes;
	int lost;	 /* an answer could not be kept */
	struct source *inner; /* the session's own source */
};

/* Before session_verify(): from now on its answers are kept. */
void cmd_paths_listen(struct cmd_session *s, struct cmd_paths *p);
/*
 * After it: reads the forwarding tables, judges all paths and reports. SLs are those of --sl, else of the policy's
 * classes, else all that adapters' tables in `config` do not drop; management's are always in the search for credit
 * loops.
 */
void cmd_paths_report(struct cmd_session *s, struct cmd_paths *p, const struct policy *policy,
		      const struct qos_config *config);
void cmd_paths_clear(struct cmd_session *s, struct cmd_paths *p);

/* A table of what was asked for routes. */
void cmd_routes_coverage(struct cmd_session *s, const struct routes *routes);

#endif
