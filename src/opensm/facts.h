/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What is known of the running OpenSM: the pure parts, for this folder and its tests. */
#ifndef OPENSM_FACTS_H
#define OPENSM_FACTS_H

#include "instance.h"

/* The version in a program's bytes; NULL: none, or more than one. The caller frees it. */
char *opensm_version_in(const char *program, size_t size);
/* `program` and `config`: paths, NULL where not known. */
enum opensm_flavour opensm_flavour_of(const char *version, const char *program, const char *config);
/* The service unit that /proc/PID/cgroup names; NULL: none. The caller frees it. */
char *opensm_unit_in(const char *cgroups);

/* What a log says, the last of each counting; NULL or 0: nothing. */
struct opensm_log_facts {
	char *version, *engine;
	uint64_t port_guid;
	bool lost; /* out of memory */
};
void opensm_log_facts_take(const char *text, size_t size, struct opensm_log_facts *facts); /* whole lines of a log */
void opensm_log_facts_clear(struct opensm_log_facts *facts);

#endif
