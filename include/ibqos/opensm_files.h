/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * opensm_files: OpenSM's files as other people wrote them, read as OpenSM 3.3.23 reads them, right or
 * wrong: what it refuses, what it takes for something else, what it makes of the rest. Pure functions
 * of texts; what depends on the fabric is said to.
 *
 * Sources: OpenSM 3.3.23 opensm/osm_qos_parser_l.l, osm_qos_parser_y.y, osm_qos_policy.c,
 * osm_prtn_config.c, osm_prtn.c, osm_subnet.c.
 */
#ifndef IBQOS_OPENSM_FILES_H
#define IBQOS_OPENSM_FILES_H

#include "ibqos/opensm.h"

struct opensm_mark { /* from 1; column in bytes */
	unsigned line, column;
};
struct opensm_ranges { /* in order, none touching the next */
	struct opensm_range *items;
	size_t count, room;
};
#define OPENSM_NONE SIZE_MAX
struct opensm_name {
	char *text; /* as OpenSM has it: without blanks that were not quoted */
	size_t index; /* of the group meant, in rules; OPENSM_NONE otherwise */
	bool blanks_dropped;
	struct opensm_mark mark;
};
struct opensm_names {
	struct opensm_name *items;
	size_t count, room;
};

/* --- qos-policy.conf --- */

struct opensm_file_level {
	char *name;
	unsigned sl;	     /* 0..255: OpenSM takes 8 bits */
	unsigned mtu, rate;  /* IB's codes; 0: no limit */
	bool life_set;
	unsigned life;
	struct opensm_ranges path_bits, pkeys;
	struct opensm_mark mark, sl_mark;
};
#define OPENSM_NODE_CA (1u << 0)
#define OPENSM_NODE_SWITCH (1u << 1)
#define OPENSM_NODE_ROUTER (1u << 2)
struct opensm_file_group {
	char *name;
	struct opensm_ranges guids, pkeys;
	struct opensm_names ports, partitions; /* "node/P1"; names of partitions */
	unsigned node_types;
	bool self; /* the port that OpenSM runs on */
	bool made; /* by OpenSM, of a line in qos-ulps; its name may be that of others too */
	struct opensm_mark mark;
};
struct opensm_file_rule {
	size_t level; /* OPENSM_NONE: of qos-ulps, which says the SL itself */
	unsigned sl;  /* the level's, or that of the line */
	char *level_name;
	struct opensm_ranges qos_classes, service_ids, pkeys;
	struct opensm_names sources, destinations;
	struct opensm_mark mark;
};
struct opensm_policy_file {
	struct opensm_file_level *levels;
	size_t level_count, level_room;
	struct opensm_file_group *groups;
	size_t group_count, group_room;
	struct opensm_file_rule *rules; /* in the order in which they are tried: match rules, then qos-ulps */
	size_t rule_count, rule_room;
	size_t default_level; /* OPENSM_NONE: `default` of qos-ulps */
	unsigned default_sl;
	struct opensm_mark default_mark;
};

/*
 * Reads a qos-policy file. What OpenSM would refuse it for is a critical finding
 * (opensm-rules-refused), *file is then NULL: OpenSM stops at the first, and so does this. 0 or
 * -ENOMEM, -EFBIG. Whether partitions and node names exist is not known here.
 */
int opensm_policy_read(const char *path, const char *text, size_t size, struct finding_list *findings,
		       struct opensm_policy_file **file);
void opensm_policy_file_free(struct opensm_policy_file *file);

/* --- partitions.conf --- */

struct opensm_partition {
	char *name;
	unsigned pkey; /* 0x1..0x7fff, without the membership bit; OpenSM chooses one where the file does not */
	bool chosen;
	unsigned sl;
	bool ipoib;
	bool members; /* some are named; one without any does not come into being */
	struct opensm_mark mark, sl_mark; /* sl_mark.line 0: no `sl` was taken */
};
struct opensm_partitions {
	struct opensm_partition *items; /* one for each P_Key, the first always the default one, 0x7fff */
	size_t count, room;
};
/*
 * Reads a partitions file. *partitions is NULL where OpenSM would refuse the file and go on with the
 * default partition only (opensm-partitions-refused). 0 or -ENOMEM, -EFBIG.
 */
int opensm_partitions_read(const char *path, const char *text, size_t size, struct finding_list *findings,
			   struct opensm_partitions **partitions);
void opensm_partitions_free(struct opensm_partitions *partitions);

/* --- prefix-routes.conf --- */

/* Lines that OpenSM passes over, each a finding. */
void opensm_prefix_routes_lint(const char *path, const char *text, size_t size, struct finding_list *findings);

/* --- all together --- */

/*
 * Faults and traps of an opensm.conf, beyond the values of its tables (opensm_conf_get_qos()): keys that
 * OpenSM does not know, values that it does not take, tables under which a VL cannot send.
 */
int opensm_conf_lint(const struct opensm_conf *conf, const char *path, struct finding_list *findings);
/* Whether a routing engine of this name chooses SLs or VLs by itself, in this config. */
bool opensm_engine_owns_sls(const struct opensm_conf *conf, const char *engine);

/* The files of one OpenSM; NULL: not given, or refused. */
struct opensm_files {
	const struct opensm_conf *conf;
	const char *conf_path;
	const struct opensm_policy_file *policy;
	const char *policy_path;
	const struct opensm_partitions *partitions;
	const char *partitions_path;
};
/* What the files do to each other. */
int opensm_files_lint(const struct opensm_files *files, struct finding_list *findings);
/* The SL of a path in a partition for a request that names nothing else. */
unsigned opensm_policy_file_sl(const struct opensm_policy_file *file, unsigned pkey);

#endif
