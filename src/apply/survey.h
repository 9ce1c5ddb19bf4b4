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
/* Of that only whether the OpenSM of t->conf.path, if it runs here, is the master. Nothing known of it is no error. */
int survey_master(struct transaction *t);

/* --- judge.c --- */

/* Whether what the survey found lets it go on; else a finding each. */
bool judge(struct transaction *t);

/* False, with findings: a file that is written would be another one that OpenSM reads or writes too. */
bool judge_paths(struct transaction *t);
bool judge_flavour(struct transaction *t);
bool judge_masters(struct transaction *t);
/* Whether the master of the fabric that is asked is not known to be another than the OpenSM whose files these are; else a finding. */
bool judge_master_here(struct transaction *t);
/* A note where that is not known. */
void tell_master_unknown(struct transaction *t);

/* --- standby.c --- */

/* Whether each standby has the same files, or that was put off. */
bool judge_standbys(struct transaction *t);
/* Keeps what came of it; where the old files are back, says so of standbys that have the new ones. */
void settle_standbys(struct transaction *t);
/* What this run was told, for a printed command: " --state-dir DIR"; "". */
const char *again(const struct transaction *t);
/* The commands that tell the OpenSM of a config, a word for sh, and no other on that host, to reload. */
void tell_reload_of(FILE *out, const char *conf);

/* The commands for each standby that is not confirmed; `folder` (NULL: not written yet) and `policy` as words for sh. */
int tell_standbys(FILE *out, const struct transaction *t, const char *folder, const char *policy);

/* --- restart.c --- */

/* Whether OpenSM has to be started again for the change, kept in t->restart, and may be; else a finding. */
bool judge_restart(struct transaction *t);
/* Does it, and finds the new process. 0 or, with a finding, -errno. */
int restart(struct transaction *t);

/* --- stage.c, wait.c --- */

int stage(struct transaction *t, const struct policy *policy);
/* What an admin has to do: all of it when staging, else on standbys. The caller frees *text. */
int steps_text(const struct transaction *t, const char *policy, char **text);
int wait_only(struct transaction *t, const struct qos_config *config);

/* --- survey_files.c --- */

/* The files that a reload reads: their faults, and what others changed in them. */
int survey_files(struct transaction *t, struct survey *s);

/* --- digest.c --- */

/* The keys that all OpenSMs must have the same, to be put behind a standby's config. The caller frees *text. */
int shared_keys_text(const struct text *conf, char **text, size_t *size);

#endif
