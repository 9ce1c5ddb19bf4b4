/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* live: parts of the live source, so that each can be tested without a wire. */
#ifndef SOURCE_LIVE_H
#define SOURCE_LIVE_H

#include "ibqos/source.h"

#define LIVE_NODE_NAME_MAP "/etc/rdma/ib-node-name-map" /* infiniband-diags' own default */

/* Opens the wire at the first source_ask(): mad_wire_open_umad(), or a script in tests. */
typedef int live_opener(void *arg, const struct ibqos_ctx *ctx, const char *device, int port,
			struct mad_wire **wire);

/* A live source on a port of this machine that is known to be good. */
int source_live_new(const struct ibqos_ctx *ctx, const struct source_options *options, const char *device,
		    int port, live_opener *opener, void *arg, struct source **source);

/* What to say of a port that mad_port_check() refused; freed by the caller, NULL: out of memory. */
char *live_port_fault(const char *device, int port, const struct mad_port_info *info, int error);

/*
 * What to say where the file of umad that `st` tells of (NULL: not known) may not be opened, or is not there; freed by the
 * caller, NULL: out of memory.
 */
struct stat;
char *live_file_fault(const char *device, int port, const char *path, const struct stat *st, int error);

/* libibnetdisc's fabric as ours, finished. -ENETUNREACH: not even the port that looked answered. */
struct ibnd_fabric;
int live_convert(const struct ibqos_ctx *ctx, const struct ibnd_fabric *found, struct fabric **fabric);

/* Gives nodes the names of the map at `path`, or of the default one where it exists; faults are findings. */
int live_name_nodes(struct fabric *fabric, const char *path, struct finding_list *findings);

/* Runs an asker over an engine. */
int live_ask(struct mad_engine *engine, const struct fabric *fabric, const struct source_keys *keys, bool directed,
	     const struct source_asker *asker);
/* Puts questions to the SM's port, those to the SA with the limits' times for it. As source_ask_sm(). */
int live_ask_sm(struct mad_engine *engine, const struct fabric *fabric, const struct mad_limits *limits, const struct source *part_of,
		struct source_sm_query *queries, size_t count, uint64_t *lost_ns);
/* Hands all queries of an asker back as MAD_NOT_ASKED. */
void live_ask_nothing(const struct source_asker *asker);

#endif
