/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The running OpenSM, inside this folder and for its tests: its command line as a pure function,
 * and the search with the place of /proc as a parameter.
 */
#ifndef OPENSM_INSTANCE_H
#define OPENSM_INSTANCE_H

#include "ibqos/opensm.h"

/* What a command line says; pointers into it, NULL where it does not. */
struct opensm_arguments {
	const char *config; /* -F, --config */
	const char *log;    /* -f, --log_file */
	bool erases_log;    /* -e, --erase_log_file */
	bool qos;	    /* -Q, --qos */
	const char *qos_policy;	    /* -Y, --qos_policy_file */
	const char *routing_engine; /* -R, --routing_engine */
	const char *nue_vls;	    /* --nue_max_num_vls */
	const char *sm_sl;	    /* --sm_sl */
	const char *guid;	    /* -g, --guid */
	const char *partitions;	    /* -P, --Pconfig */
	const char *prefix_routes;  /* --prefix_routes_file */
	const char *console;	    /* -q, --console */
	const char *console_port;   /* -C, --console-port */
	const char *keys[OPENSM_KEYS_MAX]; /* static names of the reloaded keys that options of it set, once each */
	unsigned key_count;
};

/*
 * Reads arguments as /proc/PID/cmdline has them: each ended by a NUL, the first is the program. The
 * text must be NUL-terminated one past size.
 */
void opensm_arguments_read(const char *cmdline, size_t size, struct opensm_arguments *arguments);

/* opensm_find() in a /proc that stands at `proc`. */
int opensm_find_in(const struct ibqos_ctx *ctx, const char *proc, const char *config,
		   struct opensm_instance *instance);

/* opensm_others() in a /proc that stands at `proc`. */
char *opensm_others_in(const struct ibqos_ctx *ctx, const char *proc);

#endif
