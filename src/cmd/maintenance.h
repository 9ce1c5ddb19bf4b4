/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the commands of `ibqos maintenance` share. */
#ifndef IBQOS_CMD_MAINTENANCE_H
#define IBQOS_CMD_MAINTENANCE_H

#include "diff_states.h"

#include "ibqos/maintenance.h"
#include "ibqos/state.h"

struct cmd_maintenance {
	struct cmd_options common; /* first: children get the same pointer */
	const char *policy, *state, *expect;
	const char *rates; /* a policy, whose `counters` say what they may be; NULL */
	const char **drain; /* names of nodes */
	size_t drain_count, drain_room;
	bool no_counters;
	unsigned wait_s;
	uint64_t now; /* 0: by the machine's clock */
	struct maintenance m;
};

enum ibqos_exit cmd_maintenance_begin(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_maintenance_end(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_maintenance_list(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_maintenance_drain(struct ibqos_ctx *ctx, int argc, char **argv);
extern const struct argp cmd_maintenance_begin_argp, cmd_maintenance_end_argp, cmd_maintenance_list_argp, cmd_maintenance_drain_argp;

/* Parses, and ends the program on bad usage. */
void cmd_maintenance_parse(struct ibqos_ctx *ctx, const struct argp *argp, int argc, char **argv, struct cmd_maintenance *c);
/* Options that several of the commands take; their keys go to cmd_maintenance_option(), which knows all of them. */
enum { MAINTENANCE_KEY_POLICY = 0x500, MAINTENANCE_KEY_STATE, MAINTENANCE_KEY_EXPECT, MAINTENANCE_KEY_DRAIN, MAINTENANCE_KEY_NO_COUNTERS,
       MAINTENANCE_KEY_WAIT, MAINTENANCE_KEY_STATE_DIR, MAINTENANCE_KEY_NOW };
error_t cmd_maintenance_option(int key, char *arg, struct argp_state *state);

/* A run of a command that asks the fabric: parses, has `body` do it between the session's begin and end, and gives the exit code. */
enum ibqos_exit cmd_maintenance_run(struct ibqos_ctx *ctx, const struct argp *argp, int argc, char **argv,
				    void (*body)(struct cmd_session *s, struct cmd_maintenance *c));
/* Keeps a snapshot in the folder by this name. False, with a message, if it cannot. */
bool cmd_maintenance_keep(struct cmd_session *s, const struct cmd_maintenance *c, const char *name, const struct snapshot *snapshot);
/* Writes the manifest; `whole` is false where there was no memory for a part of it. False, with a message, if it cannot. */
bool cmd_maintenance_keep_manifest(struct cmd_session *s, const struct cmd_maintenance *c, bool whole);
/* Says why maintenance_open() failed; `make` as it was told. */
void cmd_maintenance_refuse(struct cmd_session *s, const struct cmd_maintenance *c, bool make, int error);
uint64_t cmd_maintenance_now(const struct cmd_maintenance *c);

/* What would be cut: a section, tables and findings. True if the names were all found. */
bool cmd_drain_report(struct cmd_session *s, const char *const *names, size_t count);

/* --- what audit and verify say of a snapshot (maintenance_look.c) --- */

/*
 * Adds what they say of the file that is no note, each once. `policy` may be NULL, `baseline` the fabric that links are
 * compared with. False, with a message, if it could not be looked at.
 */
bool cmd_look(struct cmd_session *s, const char *path, const char *policy, const struct fabric *baseline, uint64_t now,
	      struct finding_list *found);

/* --- what became of findings (maintenance_compare.c) --- */

enum look_fate { LOOK_NEW, LOOK_CHANGED, LOOK_UNCHANGED, LOOK_FIXED, LOOK_GONE, LOOK_UNKNOWN, LOOK_FATES };

/*
 * Compares findings of before and after, reports all with what became of them, and moves those that are new or have changed from
 * `after` to the session's. `after_fabric` tells whether the place of one that is not found any more was looked at.
 */
int cmd_look_compare(struct cmd_session *s, struct finding_list *before, struct finding_list *after,
		     const struct diff_result *diff, const struct fabric *after_fabric);

/* --- counters (maintenance_counters.c) --- */

/* At begin: reads them into the folder's file. */
void cmd_maintenance_counters_begin(struct cmd_session *s, struct cmd_maintenance *c);
/* At end: judges them, waits for links that the work touched; findings of before and after go to the two lists. */
void cmd_maintenance_counters_end(struct cmd_session *s, struct cmd_maintenance *c, struct finding_list *before,
				  struct finding_list *after);

#endif
