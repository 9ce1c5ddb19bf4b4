/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * maintenance: what is kept of work on a fabric between its begin and its end: a folder for each under
 * STATE_DIR/maintenance (part of folder apply). Files in it: docs/maintenance.md.
 */
#ifndef IBQOS_MAINTENANCE_H
#define IBQOS_MAINTENANCE_H

#include "ibqos/util.h"

#define MAINTENANCE_FOLDER "maintenance"
#define MAINTENANCE_NAME_MAX 64

/* What is in a folder. */
#define MAINTENANCE_BEFORE "before.snap"
#define MAINTENANCE_AFTER "after.snap"
#define MAINTENANCE_POLICY "policy.yaml"
#define MAINTENANCE_COUNTERS "before.state"	/* counters at begin */
#define MAINTENANCE_COUNTERS_AFTER "after.state" /* from the first end on */
#define MAINTENANCE_MANIFEST "manifest.json"	/* written last: without it nothing was begun */

/* What a manifest says. Strings are NULL where they are not known. */
struct maintenance_manifest {
	char *fabric, *begun, *begun_by, *ended, *ended_by; /* times as "2026-11-30T11:55:31Z"; ended NULL: not yet */
	char *policy;					    /* where the policy came from */
	bool counters;					    /* were read at begin */
};
void maintenance_manifest_clear(struct maintenance_manifest *manifest);
/* Reads its text. -EINVAL: it is none. -ENOMEM. */
int maintenance_manifest_parse(const char *text, struct maintenance_manifest *manifest);

struct maintenance {
	char *name, *folder;
	int lock; /* -1: none */
	bool begun; /* the manifest is there */
	struct maintenance_manifest manifest;
};

/* Whether it can be a name: letters, digits, '.', '_', '-', 64 at most, the first a letter or digit. */
bool maintenance_name_ok(const char *name);
/*
 * Opens one and locks it, so that only one begin or end of a name runs at a time; with `make` its folder is made. -ENOENT: there is
 * none; -EWOULDBLOCK: another one runs; -EBADMSG: its manifest cannot be read; -errno. maintenance_close() in any case.
 */
int maintenance_open(const struct ibqos_ctx *ctx, const char *name, bool make, struct maintenance *m);
void maintenance_close(struct maintenance *m);
/* The path of a file in it, freed by the caller; NULL: no memory. */
char *maintenance_path(const struct maintenance *m, const char *file);
/* Writes a file in it, whole, for its owner alone. 0 or -errno. */
int maintenance_write(const struct maintenance *m, const char *file, const void *data, size_t size);
/* Writes the manifest. 0 or -errno. */
int maintenance_keep(const struct maintenance *m);

/* Who runs this and where: "root (alice) on host-1", freed by the caller; NULL: no memory. */
char *maintenance_who(void);

/* One that there is, for a list. */
struct maintenance_entry {
	char *name;
	int error; /* -ENOENT: it was not begun to its end; -EBADMSG: its manifest cannot be read */
	struct maintenance_manifest manifest;
};
/* All, by name. 0, also where there is none; -errno. */
int maintenance_list(const struct ibqos_ctx *ctx, struct maintenance_entry **entries, size_t *count);
void maintenance_list_free(struct maintenance_entry *entries, size_t count);

#endif
