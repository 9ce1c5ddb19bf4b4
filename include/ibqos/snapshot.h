/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * snapshot: the state of a fabric as one file: what was found, every answer that ibqos can ask for, and how
 * each query ended that has none (part of folder source). The file's format: docs/snapshot-format.md.
 */
#ifndef IBQOS_SNAPSHOT_H
#define IBQOS_SNAPSHOT_H

#include "ibqos/source.h"

struct snapshot;

/* What is known of a snapshot as a whole. Strings are the snapshot's own. */
struct snapshot_info {
	uint64_t taken;	     /* when taking began, in seconds since 1970, UTC */
	const char *version; /* of the ibqos that took it */
	const char *label;   /* of the fabric, "" if none was given */
	int stopped;	     /* 0: taking came to its end; else the errno value that cut it short */
	bool redacted;	     /* names and GUIDs are not the real ones */
};

/* How the queries for one attribute ended. */
struct snapshot_item {
	uint8_t mgmt_class; /* MAD_CLASS_... */
	uint16_t attribute;
	uint64_t ended[MAD_OUTCOMES];
};
#define SNAPSHOT_ITEMS 32 /* room for snapshot_items() */

/* How the queries to one agent for one attribute ended, of those that have no data. */
struct snapshot_lack {
	uint32_t agent; /* port index in the snapshot's fabric; FABRIC_NONE: the subnet manager and its administrator */
	struct snapshot_item item;
	uint16_t status; /* of the first that was refused */
	unsigned tries;	 /* most MADs sent for one that timed out */
};

/*
 * Takes a snapshot of a fabric that was just discovered by `source`: PortInfo of every port first, then the
 * tables of those that are not down, partition keys, forwarding tables, and what `sm` asks of the subnet manager
 * (filled in). M_Key and SM_Key are never kept. A wire that broke cuts it short, which
 * snapshot_info() tells. 0; -EINTR when stopped; -ENOMEM; the caller frees *snapshot.
 */
int snapshot_take(const struct ibqos_ctx *ctx, struct source *source, const struct fabric *fabric, uint64_t now,
		  struct source_sm_query *sm, size_t sm_count, struct snapshot **snapshot);
void snapshot_free(struct snapshot *snapshot); /* NULL is fine */

void snapshot_info(const struct snapshot *snapshot, struct snapshot_info *info);
/* Attributes asked for, in order of class and number; returns how many of `items` were filled. */
size_t snapshot_items(const struct snapshot *snapshot, struct snapshot_item items[SNAPSHOT_ITEMS]);
/*
 * What has no data, by agent and attribute, in order. That the administrator has no such record is an answer. The
 * caller frees *lacks. 0 or -ENOMEM.
 */
int snapshot_lacks(const struct snapshot *snapshot, const struct fabric *fabric, struct snapshot_lack **lacks,
		   size_t *count);
/* "SL2VL", "LinearForwardingTable"; NULL for one that ibqos does not ask for. Static. */
const char *snapshot_attribute_name(uint8_t mgmt_class, uint16_t attribute);

/* The fabric as it was discovered, finished; the caller frees it. 0 or -ENOMEM. */
int snapshot_fabric(const struct snapshot *snapshot, struct fabric **fabric);

/* How the answers to the queries about a port differ. */
struct snapshot_difference {
	uint64_t compared;	  /* answered in both */
	uint64_t differ;	  /* of these */
	uint64_t bytes;		  /* that differ in them */
	uint64_t unknown;	  /* not answered in one of the two, or in both */
	uint64_t only_one;	  /* asked in `a` alone */
	/* where some differ: */
	bool alike;		  /* all that differ do so from the same to the same */
	uint32_t modifier;	  /* of the first that differs, */
	uint8_t before[MAD_SMP_DATA], after[MAD_SMP_DATA]; /* and its answers */
};
/* Compares all answers about an attribute of SMPs that `a` has of a port with those that `b` has. */
void snapshot_compare(const struct snapshot *a, uint32_t port_a, const struct snapshot *b, uint32_t port_b,
		      uint16_t attribute, struct snapshot_difference *difference);

/* --- the file --- */

/* Where a file is not a snapshot that can be read. */
struct snapshot_fault {
	char section[5]; /* "" where it is no section's */
	size_t offset;	 /* of the section, else of the fault, in the file */
	char text[160];
};

#define SNAPSHOT_FILE_MAX (1u << 30) /* bytes of a file that is read; ibdiagnet's db_csv of 10,000 hosts has some 100 MB */
#define SNAPSHOT_MAGIC "IBQOSNAP"
/* Whether a file starts as a snapshot does. */
bool snapshot_is(const void *data, size_t size);

/* The same answers give the same bytes, but for the header: time and ActCount go on. 0 or -ENOMEM; caller frees. */
int snapshot_encode(const struct snapshot *snapshot, uint8_t **data, size_t *size);
/* 0; -EBADMSG with *fault filled; -ENOMEM. */
int snapshot_decode(const void *data, size_t size, struct snapshot **snapshot, struct snapshot_fault *fault);

/*
 * Replaces names and GUIDs, the fabric's label is dropped. `map` is the text of the map that an earlier one left, or
 * empty: GUIDs that it has get the same ones again; what two maps made never has a GUID in common (32 bits of a map's
 * are by chance). *more is what is to be added to it, freed by the caller: lines `#= 0xNEW 0xREAL`, and for nodes
 * `0xNEW "real name"`, so that it serves as node-name map of what is said of the redacted snapshot. -EBADMSG: *line of
 * the map cannot be read; then and on any other error the snapshot can only be freed.
 */
int snapshot_redact(struct snapshot *snapshot, const char *map, size_t size, char **more, unsigned *line);

/* Whether a node's name is the one that snapshot_redact() gives a node of this GUID: nothing can be told by it. name NULL: no. */
bool snapshot_name_redacted(uint64_t guid, const char *name);

/* --- several snapshots of one fabric, or of several fabrics --- */

/* What came of making one of several. */
struct snapshot_merged {
	size_t parts;
	uint64_t oldest, newest; /* when they were taken */
	uint32_t links;		 /* that older ones have otherwise */
	uint64_t answers;	 /* that they have otherwise, counters apart */
	uint64_t undecided;	 /* of ports, links, answers and the subnet manager: that two of one second have otherwise */
	uint64_t filled;	 /* that one of them lacked, for want of an answer, and another has */
};
#define SNAPSHOT_MERGE_ANSWERS ((size_t)64000000) /* of all parts together, at most: four of 11,664 hosts each */
/* Seconds from the first to the last that are taken for one state: what did not answer may have died since an older one. */
#define SNAPSHOT_APART_MAX 3600
/*
 * Makes one snapshot of those of one fabric, the newest first: each node, answer and link as the newest has it that has
 * one. The way to a node is kept where the same node looked. `name` becomes its label. 0; -EFBIG: too many answers;
 * -ERANGE: more than SNAPSHOT_APART_MAX apart, the times are in *result; -ENOMEM.
 */
int snapshot_merge(const struct snapshot *const *parts, size_t count, const char *name, struct snapshot **snapshot,
		   struct snapshot_merged *result);
/* How many switches are in both: a switch is in one subnet only. */
uint32_t snapshot_shared_switches(const struct snapshot *a, const struct snapshot *b);

/* A file of several, each whole and under the name of its fabric; several of one name are parts of it. */
#define SNAPSHOT_SET_MAGIC "IBQOSSET"
#define SNAPSHOT_SET_MAX 1024
struct snapshot_part {
	char *name;
	uint8_t *data; /* of its file */
	size_t size;
	struct snapshot *snapshot;
};
struct snapshot_set {
	struct snapshot_part *parts; /* in order: snapshot_set_order() */
	size_t count, room;
};
bool snapshot_set_is(const void *data, size_t size);
/* 0; -EBADMSG with *fault filled; -ENOMEM. On failure the set is empty. */
int snapshot_set_decode(const void *data, size_t size, struct snapshot_set *set, struct snapshot_fault *fault);
/*
 * Adds a file, a snapshot or all of such a set. `name` NULL: the snapshot's label, or "". -EEXIST: a name for a file whose
 * fabrics have names; else as snapshot_set_decode().
 */
int snapshot_set_add(struct snapshot_set *set, const char *name, const void *data, size_t size, struct snapshot_fault *fault);
/* Puts them in order by name, of one name the newest first; what is there twice goes. */
void snapshot_set_order(struct snapshot_set *set);
int snapshot_set_encode(const struct snapshot_set *set, uint8_t **data, size_t *size); /* 0 or -ENOMEM */
/* The first part of the next name. */
size_t snapshot_set_next(const struct snapshot_set *set, size_t first);
/* All parts of the name that begins at `first`, made one: snapshot_merge(). */
int snapshot_set_fabric(const struct snapshot_set *set, size_t first, struct snapshot **snapshot, struct snapshot_merged *result);
void snapshot_set_clear(struct snapshot_set *set);

/* --- as a source --- */

/* What its file was made of; NULL: of one snapshot, or no snapshot at all. */
const struct snapshot_merged *source_merged(const struct source *source);
/*
 * The names of the fabrics that a file has, in order, each to be freed, as is the list; *count 0: it is no file of several
 * snapshots. 0; -errno; what cannot be read is said to ctx.
 */
int source_file_fabrics(const struct ibqos_ctx *ctx, const char *path, char ***names, size_t *count);

/*
 * A source over a file, a snapshot or one of another tool (docs/dumps.md): discovers what the file has, answers what was asked then; everything else ends as
 * MAD_NOT_ASKED. `map` is a node-name map, NULL: the default one if it exists; what cannot be read is said to
 * ctx. -EBADMSG: not a file that can be read. Of a file of several fabrics the one that ctx->fabric names, or the only one: -ENOENT
 * where that is none. Other: -errno.
 */
int source_open_file(const struct ibqos_ctx *ctx, const char *path, const char *map, struct source **source);
/*
 * A source over a snapshot just taken, to which a question to the subnet manager that it has no answer to yet is put
 * by `live`, and kept. Both are borrowed. -ENOMEM.
 */
int source_open_recording(struct snapshot *snapshot, struct source *live, struct source **source);
/*
 * A source over a snapshot just taken that puts what counters_ask() asks of devices to `live`, and keeps it. Both are borrowed. -ENOMEM.
 */
int source_open_recording_counters(struct snapshot *snapshot, struct source *live, struct source **source);
/* What a file of another tool has not, for people: "PortInfo, ..."; NULL: nothing that could be told beforehand. Static. */
const char *source_lacks(const struct source *source);
/* The snapshot behind a source of these kinds; NULL for any other. */
const struct snapshot *source_snapshot(const struct source *source);

#endif
