/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The steps of a look around before an apply, inside this folder. */
#ifndef IBQOS_APPLY_SURVEY_H
#define IBQOS_APPLY_SURVEY_H

#include "transaction.h"

#define OPENSM_PARTITIONS "/etc/opensm/partitions.conf" /* osm_base.h:245 */
#define OPENSM_PREFIX_ROUTES "/etc/opensm/prefix-routes.conf"

struct survey {
	struct opensm_conf *conf;    /* as it is in place; NULL: there is none */
	struct opensm_conf *running; /* effective options; NULL: not known */
};

/*
 * Fills in t->result->preflight; findings are added for what is wrong with the files that a reload
 * reads: faults and edits of others. 0; -ENOMEM, -EINTR, -errno when the wire broke.
 */
int survey(struct transaction *t);

/* --- judge.c --- */

/* Whether what the survey found lets it go on; else a finding each. */
bool judge(struct transaction *t);

/* --- survey_files.c --- */

/* The files that a reload reads: their faults, and what others changed in them. */
int survey_files(struct transaction *t, struct survey *s);

/* --- digest.c --- */

char *shell_word(const char *word); /* for sh, quoted where needed; NULL: out of memory */

#endif
