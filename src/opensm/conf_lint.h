/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Looking over an opensm.conf, inside this folder: line by line (conf_lint.c), its tables
 * (conf_lint_tables.c), and what the files do to each other (files_lint.c).
 */
#ifndef OPENSM_CONF_LINT_H
#define OPENSM_CONF_LINT_H

#include "conf.h"

#include "ibqos/opensm_files.h"

struct lint {
	const struct opensm_conf *conf;
	const char *path;
	struct finding_list *findings;
};

/* A finding at a line's value, about its key. */
struct finding *lint_tell(struct lint *l, enum finding_code code, const struct conf_line *line);
/* The number that OpenSM has of a key, and the line that it is from; false: of none. */
bool lint_number(const struct lint *l, const char *key, uint64_t max, uint64_t *number, struct conf_line *from);
/* Tables under which traffic is dropped or starves; findings about values are told elsewhere. */
int lint_tables(struct lint *l);

#endif
