/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A finding as JSON and back, whole: of calls.c and replay.c. */
#ifndef REPORT_CALLS_H
#define REPORT_CALLS_H

#include "ibqos/finding.h"

struct json_object;

/* NULL: out of memory. */
struct json_object *calls_of_finding(const struct finding *f);
/*
 * Appends the finding, for a fabric (NULL: none). 0; -ENOMEM; -EINVAL: it is none, or of a code that this ibqos does not
 * know; *why says which (static, or the code in `object`).
 */
int calls_to_finding(struct json_object *object, const char *fabric, struct finding_list *findings, const char **why);

#endif
