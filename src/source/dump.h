/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * dump: what other tools wrote of a fabric, read into the model. None has all that ibqos asks for; what a
 * dump lacks stays unknown.
 */
#ifndef SOURCE_DUMP_H
#define SOURCE_DUMP_H

#include "ibqos/fabric.h"

/* Where and why a dump cannot be read. */
struct dump_fault {
	unsigned line, column; /* of a text, from 1; 0: the file as a whole, or one that has no lines */
	size_t offset;	       /* of one that has none, in bytes */
	bool binary;
	char text[160];
};
/* All of a file. Those above DUMP_FAULTS are counted only. */
#define DUMP_FAULTS 20
struct dump_faults {
	struct dump_fault items[DUMP_FAULTS];
	size_t count;
};
/* Adds one and returns -EBADMSG. */
__attribute__((format(printf, 4, 5))) int dump_bad(struct dump_faults *faults, unsigned line, unsigned column,
						   const char *format, ...);
__attribute__((format(printf, 3, 4))) int dump_bad_byte(struct dump_faults *faults, size_t offset,
							const char *format, ...);

/* Answers that a dump has of what ibqos would ask of a port, by their place in the finished fabric. */
struct dump_answer {
	uint32_t port, modifier;
	uint16_t attribute;
	uint8_t mgmt_class, size;
	size_t at; /* in bytes */
};
struct dump_answers {
	struct dump_answer *items;
	uint8_t *bytes;
	size_t count, room, size, byte_room;
};
/* Keeps one; zeros at its end take no room. -ENOMEM. */
int dump_keep(struct dump_answers *answers, uint32_t port, uint8_t mgmt_class, uint16_t attribute, uint32_t modifier,
	      const uint8_t *data, size_t size);
/* Before anything is looked up: puts them in order; of two to one question the first stays. */
void dump_order(struct dump_answers *answers);
/* Fills *data (MAD_DATA_MAX bytes); false: the dump does not have it. */
bool dump_find(const struct dump_answers *answers, uint32_t port, uint8_t mgmt_class, uint16_t attribute,
	       uint32_t modifier, uint8_t data[MAD_DATA_MAX]);

/* What was read. */
struct dump_result {
	struct fabric *fabric; /* finished */
	struct dump_answers answers;
	char *lacks; /* for people: "counters, ..."; NULL: what the kind of file always lacks is all */
};
void dump_result_clear(struct dump_result *result);

/*
 * The readers. is(): whether a file looks like one of the kind, by its content. read(): 0; -EBADMSG with *faults;
 * -ENOMEM. `text` need not end in NUL.
 */

/*
 * ibnetdiscover's text (infiniband-diags; ibsim's net files are like it; ibdiagnet's has labels behind port
 * numbers): nodes, links, names, LIDs, width and speed of links; no port's PortInfo known. What stands before the
 * first node (messages, prompts), comments and headings are passed over. A link to a node that is not there is a fault.
 */
bool netdiscover_is(const char *text, size_t size);
int netdiscover_read(const char *label, const char *text, size_t size, struct dump_result *result,
		     struct dump_faults *faults);

/*
 * The cache of infiniband-diags (ibnetdiscover --cache; rdma-core libibnetdisc/ibnetdisc_cache.c), version 1: NodeInfo,
 * descriptions, SwitchInfo, PortInfo and links as libibnetdisc found them; little-endian, whoever wrote it. A record that
 * names one that is not there is as libibnetdisc takes it: that port was not answered, and becomes a gap.
 */
bool ibnd_cache_is(const char *text, size_t size);
int ibnd_cache_read(const char *label, const char *text, size_t size, struct dump_result *result,
		    struct dump_faults *faults);

/*
 * ibdiagnet2.db_csv (ibdiagnet 2 of ibutils2): sections of lines with commas between, START_NAME, names of columns, rows,
 * END_NAME. Columns are found by their names. A section or column that ibqos has no use for is passed over; one that it
 * needs and that is not there, or "N/A" in it, leaves what depends on it unknown.
 */
bool db_csv_is(const char *text, size_t size);
int db_csv_read(const char *label, const char *text, size_t size, struct dump_result *result,
		struct dump_faults *faults);

#endif
