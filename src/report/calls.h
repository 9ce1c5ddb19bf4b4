/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Of calls.c and replay.c: a finding as JSON and back, whole, and the check of pictures. */
#ifndef REPORT_CALLS_H
#define REPORT_CALLS_H

#include <stdio.h>

#include "ibqos/finding.h"

struct json_object;

/* NULL: out of memory. */
struct json_object *calls_of_finding(const struct finding *f);
/*
 * Appends the finding, for a fabric (NULL: none). 0; -ENOMEM; -EINVAL: it is none, or of a code that this ibqos does not
 * know; *why says which (static, or the code in `object`).
 */
int calls_to_finding(struct json_object *object, const char *fabric, struct finding_list *findings, const char **why);

#define CALLS_FIGURE_MAX (32u << 20) /* bytes of a picture; of 11,664 hosts it has some three million */
/*
 * Writes a picture again that another process has drawn, names of places in it behind the fabric's (NULL: as they are). `out`
 * NULL: it is only checked. 0; -EINVAL: it has what no picture of this ibqos has, and what was written of it is not whole;
 * errors of writing are those of `out`.
 */
int calls_figure_put(FILE *out, const char *text, size_t size, const char *fabric);

#endif
