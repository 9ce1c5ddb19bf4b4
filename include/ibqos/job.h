/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * job: does a training job really travel in its class? What a job must be started with, what NCCL makes of
 * what it is started with, and what it said afterwards. Nothing here asks a fabric.
 *
 * NCCL writes the SL straight into its queue pairs and asks no SA (src/transport/net_ib), so a policy reaches
 * it through the job's environment alone. Rules named "NCCL x.y" were read in the release tags of
 * github.com/NVIDIA/nccl from 2.12.7 to 2.30.7.
 */
#ifndef IBQOS_JOB_H
#define IBQOS_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "ibqos/finding.h"
#include "ibqos/policy.h"

enum job_link { JOB_LINK_INFINIBAND, JOB_LINK_ETHERNET };
/* "infiniband" or "ethernet" ("ib" and "roce" too), in any case. -EINVAL. */
int job_link_of(const char *name, enum job_link *link);
const char *job_link_name(enum job_link link);

/* A version of NCCL as one number that compares: 2.28.9 is 22809. */
#define JOB_NCCL(major, minor, patch) ((major) * 10000u + (minor) * 100u + (patch))
#define JOB_NCCL_OLDEST JOB_NCCL(2, 12, 7) /* the releases whose sources the rules were read in */
#define JOB_NCCL_NEWEST JOB_NCCL(2, 30, 7)
/* "2.28.9", as NCCL prints it; what follows ("-1", "+cuda12.4") does not count. -EINVAL; -ERANGE below the oldest. */
int job_nccl_parse(const char *text, unsigned *version);
/* "2.28.9" into text. */
#define JOB_NCCL_TEXT 16
void job_nccl_text(unsigned version, char text[JOB_NCCL_TEXT]);

/* --- the environment of a class (advise.c, forms.c) --- */

enum job_stack {
	JOB_STACK_NCCL,
	JOB_STACK_UCX,
	JOB_STACK_OPENMPI,
	JOB_STACK_NVSHMEM,
	JOB_STACK_DEEPEP,
	JOB_STACK_MOONCAKE,
	JOB_STACK_RDMA_CM, /* Lustre, NVMe-oF, RDS, libfabric's MSG end points: they ask the SA */
	JOB_STACK_SHARP,
	JOB_STACKS
};
#define JOB_ALL_STACKS ((1u << JOB_STACKS) - 1)
const char *job_stack_name(enum job_stack stack); /* "nccl" */
/* "nccl,ucx" as a mask of 1 << enum job_stack. -EINVAL for a name that is none. */
int job_stacks_of(const char *list, unsigned *mask);

/* One setting that puts a program into a class, or a remark about one that does not. */
struct job_advice {
	enum job_stack stack;
	const char *name; /* of the variable; static */
	char *value;	  /* NULL: nothing to set, `why` says it all */
	char *why;	  /* a clause for people, on one line */
};
/*
 * What puts programs of the given stacks into a class on this link layer. The caller frees the items with
 * job_advice_free(). 0 or -ENOMEM.
 */
int job_advise(const struct policy_class *class, enum job_link link, unsigned stacks, struct job_advice **items,
	       size_t *count);
void job_advice_free(struct job_advice *items, size_t count);

enum job_form { JOB_FORM_SHELL, JOB_FORM_NCCL_CONF, JOB_FORM_SLURM, JOB_FORM_KUBERNETES, JOB_FORM_OPENMPI, JOB_FORMS };
const char *job_form_name(enum job_form form);
int job_form_of(const char *name, enum job_form *form); /* -EINVAL */
/*
 * Writes the settings in a form that can be used as it is. Remarks become comments where the form has them;
 * slurm and openmpi are made for $(…) on a command line and have none. 0 or -errno.
 */
int job_advice_write(FILE *out, enum job_form form, const struct policy_class *class, const struct job_advice *items,
		     size_t count);

#endif
