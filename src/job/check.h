/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The parts of a check of one environment. */
#ifndef IBQOS_JOB_CHECK_H
#define IBQOS_JOB_CHECK_H

#include "param.h"

struct check {
	const struct job_env *env;
	const struct job_question *q;
	struct finding_list *findings;
};

/* A finding at a setting's place, `what` being NAME=VALUE; setting NULL: about the environment as a whole. */
struct finding *check_tell(struct check *c, enum finding_code code, const struct job_setting *setting);
/* As job_env_get(), of settings with a value that is known. */
const struct job_setting *check_get(const struct check *c, const char *name);
/* Whether it is set at all, and its number; false, and `value` untouched, if NCCL takes the default. */
bool check_number(const struct check *c, const char *name, long long *value);
bool check_unknown(const struct check *c, const char *name); /* set, but to what is known at run time only */
/* The class that has an SL, or that has all unclaimed ones. */
const struct policy_class *check_class_of_sl(const struct policy *policy, unsigned sl);

void check_sl(struct check *c);	    /* check_sl.c: NCCL's SL and traffic class */
void check_values(struct check *c); /* check_values.c: what each value becomes, names, ranges */
void check_hca(struct check *c);    /* check_hca.c: lists of adapters and interfaces */
void check_site(struct check *c);   /* check_site.c: which of the site's fabrics it takes */
/* Hosts of one job that take different ones. */
void check_site_hosts(const struct job_env *envs, size_t count, const struct job_question *q, struct finding_list *findings);
void check_adaptive(struct check *c); /* check_adaptive.c: by OpenSM's file */
void check_stacks(struct check *c); /* check_stacks.c: other libraries, plugins, SHARP */

#endif
