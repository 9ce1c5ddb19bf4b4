/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* NCCL's settings by name. */
#ifndef IBQOS_JOB_PARAM_H
#define IBQOS_JOB_PARAM_H

#include "ibqos/job.h"

enum param_kind {
	PARAM_NUMBER, /* job_number() */
	PARAM_LEVEL,  /* LOC, PIX, PXB, PHB, SYS and others, or an old number */
	PARAM_TEXT,   /* to the letter */
	PARAM_PATH,   /* a file's name to the letter */
};
struct param {
	const char *name;
	enum param_kind kind;
	unsigned since; /* first release that reads it; 0: all that are known */
};
const struct param *param_find(const char *name); /* NULL: none that is known */

#endif
