/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Scanning launch scripts for settings, without running them. */
#ifndef IBQOS_JOB_SCAN_H
#define IBQOS_JOB_SCAN_H

#include "ibqos/job.h"

struct scan {
	const struct ibqos_ctx *ctx; /* NULL: none */
	const char *file, *text;
	size_t size;
	size_t *line_start; /* offsets of lines */
	size_t lines;
	struct job_env *env;	  /* what is in the environment of what the script starts */
	struct job_env variables; /* a shell's own, not exported (yet); one of each name */
	struct scan_variable *by_name; /* indexes into them */
	struct finding_list *findings;
	size_t unclosed[2]; /* no string in double, single quotes that begins before this offset has an end on its line */
	bool all_exported;
	bool failed; /* memory ran out */
};

/* Expansions ($A, $(cmd), `cmd`) stand in a word as this byte: what they become is known at run time only. */
#define SCAN_EXPANSION '\x01'

/* Adds NAME=VALUE found at an offset of the text; a value with an expansion is not known. */
void scan_add(struct scan *s, size_t offset, const char *name, size_t name_size, const char *value, size_t value_size);
void scan_remove(struct scan *s, size_t offset, const char *name);
struct finding *scan_tell(struct scan *s, enum finding_code code, size_t offset);
void scan_place(const struct scan *s, size_t offset, unsigned *line, unsigned *column);

/* env.c: whether a script has put a variable of this name into the environment; that it has (0 or -ENOMEM), has taken it out. */
bool job_env_is_exported(const struct job_env *env, const char *name, size_t size);
int job_env_export(struct job_env *env, const char *name, size_t size);
void job_env_unexport(struct job_env *env, const char *name, size_t size);
/* The shell's variable of a name, with no value and no place if it is new; NULL: out of memory. Or only one that is there. */
struct job_setting *scan_variable(struct scan *s, const char *name, size_t size);
struct job_setting *scan_variable_find(const struct scan *s, const char *name, size_t size);

/* Asked to stop: every scanner then ends early. */
bool scan_stopped(const struct scan *s);

/* Each scans bytes begin..end of the text. */
void scan_shell(struct scan *s, size_t begin, size_t end, unsigned depth);
void scan_docker(struct scan *s);
void scan_quoted(struct scan *s); /* Python, JSON: quoted names */
void scan_yaml(struct scan *s);

#endif
