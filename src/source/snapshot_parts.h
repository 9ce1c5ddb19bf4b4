/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * snapshot_parts: a snapshot in memory, as its file has it: pools of strings and of bytes, and tables of rows
 * that name what is in the pools by number. Equal things are in a pool once.
 */
#ifndef SOURCE_SNAPSHOT_PARTS_H
#define SOURCE_SNAPSHOT_PARTS_H

#include "ibqos/snapshot.h"

/* Items of bytes, one after the other. Item 0 is always the empty one. */
struct snapshot_pool {
	uint8_t *bytes;
	uint32_t *ends; /* of each item, in bytes */
	uint32_t count, size;
	size_t bytes_room, ends_room;
	uint32_t *slots; /* hash table of item + 1, while building */
	size_t slot_count;
};

struct snapshot_meta {
	uint32_t version, label; /* strings */
	uint32_t from_node;      /* FABRIC_NONE: unknown */
	uint32_t stopped;        /* errno */
	uint16_t sm_lid;
	uint8_t from_port;
	uint8_t redacted;
};

struct snapshot_node {
	uint32_t node_info;   /* bytes */
	uint32_t switch_info; /* bytes; 0: not answered */
	uint32_t route;       /* bytes: the ports on the way, the unused first one too; 0: not known */
	uint32_t name;        /* string */
	uint8_t has_desc;     /* the description was answered */
};

/* Nodes one after the other in order of GUID, and of each its ports from 0. */
struct snapshot_port {
	uint64_t guid;
	uint32_t info;     /* bytes; 0: not answered */
	uint32_t ext_info; /* bytes; 0: not asked or answered */
	uint32_t peer;     /* port; FABRIC_NONE: none */
};

struct snapshot_gap {
	uint32_t port;
	uint8_t reason; /* enum fabric_gap_reason */
};

/* Answers to queries about one port whose modifiers are `step` apart and that ended alike. */
struct snapshot_run {
	uint32_t port;
	uint32_t modifier; /* of the first */
	uint32_t count;    /* 1 at least */
	uint32_t step;     /* 1 at least */
	uint32_t value;    /* answered: bytes; refused: MAD status; timed out: tries; else 0 */
	uint16_t attribute;
	uint8_t mgmt_class;
	uint8_t outcome;
};

struct snapshot_sm {
	uint64_t mask;
	uint32_t modifier;
	uint32_t record; /* bytes */
	uint32_t value;  /* as of a run */
	uint16_t attribute;
	uint8_t mgmt_class;
	uint8_t outcome;
};

struct snapshot {
	uint64_t taken;
	uint32_t act_count; /* of SMInfo, which goes on by itself as the time does */
	struct snapshot_pool strings, data;
	struct snapshot_meta *meta; /* one */
	struct snapshot_node *nodes;
	struct snapshot_port *ports;
	struct snapshot_gap *gaps;
	struct snapshot_run *runs; /* by port, class, attribute, modifier */
	struct snapshot_sm *sm;
	uint32_t meta_count, node_count, port_count, gap_count, run_count, sm_count;
	size_t sm_room;
	char *version, *label; /* the strings of meta, safe to show: snapshot_close() */
};

/* Once all is there: what only building needs goes, and texts are made. 0 or -ENOMEM. */
int snapshot_close(struct snapshot *snapshot);

/*
 * Adds an answer behind the others, in order: as part of the last run if it goes on with it (of SMPs). *room belongs to
 * snapshot->runs, 0 at first. 0 or -ENOMEM.
 */
int snapshot_add_run(struct snapshot *snapshot, size_t *room, const struct snapshot_run *answer);

/* Puts the data pool into the order in which the tables name it; what none names goes. 0 or -ENOMEM. */
int snapshot_order_data(struct snapshot *snapshot);

/* Adds questions to the subnet manager with their answers. 0 or -ENOMEM. */
int snapshot_keep_sm(struct snapshot *snapshot, const struct source_sm_query *queries, size_t count);

/* Bytes of an attribute's data that mean something. */
size_t snapshot_attribute_size(uint8_t mgmt_class, uint16_t attribute);

/* The number of an item, added if it is not there yet; UINT32_MAX: out of memory. */
uint32_t snapshot_keep(struct snapshot_pool *pool, const void *bytes, size_t size);
/* The same without the zeros at its end. */
uint32_t snapshot_keep_data(struct snapshot *snapshot, const uint8_t *data, size_t size);
uint32_t snapshot_keep_text(struct snapshot *snapshot, const char *text);
/* Makes the item of no bytes, which every pool begins with. False: out of memory. */
bool snapshot_pool_begin(struct snapshot_pool *pool);
/* What only building needs goes. */
void snapshot_pool_close(struct snapshot_pool *pool);
void snapshot_pool_free(struct snapshot_pool *pool);

const uint8_t *snapshot_item_bytes(const struct snapshot_pool *pool, uint32_t item, size_t *size);
/* An item of the data pool filled up with zeros. */
void snapshot_get_data(const struct snapshot *snapshot, uint32_t item, uint8_t *to, size_t size);
/* The caller frees it; NULL: out of memory. */
char *snapshot_get_text(const struct snapshot *snapshot, uint32_t item);

/* NULL: out of memory. */
struct snapshot *snapshot_new(void);

/* A source over a snapshot, which it then owns; not on failure. merged NULL: it is one snapshot as taken. -ENOMEM. */
int source_open_snapshot(struct snapshot *snapshot, const char *map, const struct snapshot_merged *merged, struct source **source);

/* Whether it is a snapshot that was read, not one that is being taken. */
bool source_is_stored(const struct source *source);

/* NumPorts of a node. */
unsigned snapshot_node_ports(const struct snapshot *snapshot, uint32_t node);

/* The answer to a query about a port; false if it was not asked. */
bool snapshot_find(const struct snapshot *snapshot, uint32_t port, uint8_t mgmt_class, uint16_t attribute,
		   uint32_t modifier, enum mad_outcome *outcome, uint32_t *value);
/* -1, 0, 1 by port, class, attribute and modifier. */
int snapshot_run_compare(const void *a, const void *b);

/* --- the tables of the file (snapshot_tables.c) --- */

/* What a number in a table may be. */
enum snapshot_limit {
	LIMIT_NONE,
	LIMIT_STRING,   /* a string */
	LIMIT_DATA,     /* an item of the data pool */
	LIMIT_NODE,     /* a node, or FABRIC_NONE */
	LIMIT_PORT,     /* a port */
	LIMIT_PEER,     /* a port, or FABRIC_NONE */
	LIMIT_FLAG,     /* 0 or 1 */
	LIMIT_OUTCOME,  /* enum mad_outcome */
	LIMIT_POSITIVE, /* 1 at least */
	LIMIT_GAP,      /* enum fabric_gap_reason */
	LIMIT_ERRNO,    /* an errno value */
};

struct snapshot_column {
	const char *name; /* as in docs/snapshot-format.md */
	uint16_t offset;  /* in the row's struct */
	uint8_t size;  /* bytes: 1, 2, 4, 8; those of 4 and 8 are stored as the difference from the row before
			*/
	uint8_t limit; /* enum snapshot_limit */
};

struct snapshot_table {
	const char *tag;
	uint16_t row_size;
	uint16_t rows;  /* where struct snapshot points to them */
	uint16_t count; /* and counts them */
	uint8_t column_count;
	const struct snapshot_column *columns;
};
#define SNAPSHOT_TABLES 6
extern const struct snapshot_table snapshot_tables[SNAPSHOT_TABLES];

/* A growing run of bytes. */
struct snapshot_bytes {
	uint8_t *at;
	size_t size, room;
	bool lost; /* memory ran out */
};
void snapshot_put(struct snapshot_bytes *to, const void *bytes, size_t size);
/* A number in little-endian order. */
void snapshot_put_number(struct snapshot_bytes *to, uint64_t value, unsigned size);
uint64_t snapshot_get_number(const uint8_t *at, unsigned size);

void snapshot_table_write(const struct snapshot *snapshot, const struct snapshot_table *table,
			  struct snapshot_bytes *to);
/* Rows from a section's bytes. -EBADMSG with *fault's text; -ENOMEM. */
int snapshot_table_read(struct snapshot *snapshot, const struct snapshot_table *table, const uint8_t *data,
			size_t size, struct snapshot_fault *fault);
/* Whether every number is one that may be. -EBADMSG with *fault's text. */
int snapshot_table_check(const struct snapshot *snapshot, const struct snapshot_table *table,
			 struct snapshot_fault *fault);

void snapshot_pool_write(const struct snapshot_pool *pool, struct snapshot_bytes *to);
int snapshot_pool_read(struct snapshot_pool *pool, size_t item_max, const uint8_t *data, size_t size,
		       struct snapshot_fault *fault);

__attribute__((format(printf, 2, 3))) int snapshot_bad(struct snapshot_fault *fault, const char *format, ...);

/* --- the layout of the file --- */

#define SNAPSHOT_MAJOR 1
#define SNAPSHOT_MINOR 0
#define SNAPSHOT_HEADER 32
#define SNAPSHOT_SECTION 16           /* bytes before a section's own */
#define SNAPSHOT_STRING_MAX 4096      /* bytes of a name */
#define SNAPSHOT_RAW_MAX (512u << 20) /* bytes of all sections unpacked */

/* The CRC-32 of IEEE 802.3, as zlib computes it, over more bytes; starts with 0. */
uint32_t snapshot_crc(uint32_t crc, const void *bytes, size_t size);

#endif
