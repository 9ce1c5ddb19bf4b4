/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * source: where a fabric and its state come from: live, or later a snapshot or another tool's
 * dump, behind one interface.
 */
#ifndef IBQOS_SOURCE_H
#define IBQOS_SOURCE_H

#include "ibqos/fabric.h"
#include "ibqos/finding.h"
#include "ibqos/mad.h"

struct source;

/* Who discovers: our walker on the engine, or libibnetdisc, its reference (docs/discovery.md). */
enum source_walker { SOURCE_WALK_NATIVE, SOURCE_WALK_LIBIBNETDISC };

/* The M_Key of a port's device: that of a switch's port 0, or of an adapter's own port. */
struct source_key {
	uint64_t guid; /* of the port */
	uint64_t key;
};
struct source_keys {
	uint64_t any; /* for all devices that are not in the list, and for discovery; 0: none */
	struct source_key *of;
	size_t count, room;
};
/*
 * Adds the keys of OpenSM's guid2mkey file (osm_db_files.c, osm_db_pack.c): lines of "0xGUID 0xMKEY", blank ones
 * between. A line that is none becomes a finding, which does not show it. Where `any` is 0 it becomes the key that most
 * ports have. 0; -errno of reading; -ENOMEM.
 */
int source_keys_read(const char *path, struct finding_list *findings, struct source_keys *keys);
uint64_t source_keys_of(const struct source_keys *keys, uint64_t guid); /* 0: none of its own; keys may be NULL */
void source_keys_clear(struct source_keys *keys); /* and wipes them */

/*
 * The config file of infiniband-diags (ibdiag_common.c, read_ibdiag_config()): lines of name=value, '#' comments, the
 * last of a name counts. What ibqos has no use for (sa_key, nd_format) is passed over; lines that cannot be read and
 * names that infiniband-diags does not know become findings.
 */
#define IBDIAG_CONF "/etc/infiniband-diags/ibdiag.conf"
struct ibdiag_conf {
	char *ca;	     /* NULL: not set */
	int port;	     /* 0: not set */
	unsigned timeout_ms; /* 0: not set */
	bool no_ext_info;    /* MLX_EPI=false: the vendor's ExtendedPortInfo is not asked for */
	uint64_t mkey;	     /* 0: not set */
};
int ibdiag_conf_parse(const char *path, const char *text, struct finding_list *findings, struct ibdiag_conf *conf);
void ibdiag_conf_clear(struct ibdiag_conf *conf);

struct source_options {
	const char *device;	   /* -C; NULL: libibumad's choice */
	int port;		   /* -P; 0: libibumad's choice */
	uint64_t port_guid;	   /* in place of both; 0: not given */
	struct mad_limits limits;  /* -t, -o, --mad-rate, ... */
	unsigned discover_window;  /* SMPs that libibnetdisc keeps on the wire; 0: limits.window */
	bool directed;		   /* ask by directed route even where a LID is known */
	const char *node_name_map; /* path; NULL: the default file if it exists */
	enum source_walker walker;
	const struct source_keys *keys; /* NULL: none; stay until the source is closed */
	uint16_t pkey_index;		/* -Y: mad_wire_umad_pkey_index() */
	bool no_ext_info;		/* do not ask for the vendor's ExtendedPortInfo */
};

/*
 * Live: the fabric that a port of this machine is cabled to. Opens nothing yet but checks that
 * the port exists and is InfiniBand; on failure says so to ctx and returns the -errno of
 * mad_wire_open_umad().
 */
int source_open_live(const struct ibqos_ctx *ctx, const struct source_options *options, struct source **source);
void source_close(struct source *source); /* NULL is fine */

/*
 * Discovers. The caller frees the fabric. May be done again after source_ask(); libibnetdisc closes the wire
 * until the next one. SIGINT, SIGTERM, SIGHUP, SIGALRM and SIGUSR1/2 are held while libibnetdisc runs,
 * which breaks when interrupted; a stop that came meanwhile is -EINTR. Says what failed to ctx.
 */
int source_discover(struct source *source, struct finding_list *findings, struct fabric **fabric);

/* One thing to ask. */
struct source_query {
	uint32_t agent; /* port index whose agent is asked: fabric_port_agent() */
	uint32_t port;	/* port index that the answer is about */
	uint16_t attribute;
	uint32_t modifier;
	uint8_t mgmt_class; /* MAD_CLASS_SMP, or MAD_CLASS_PERF: needs a LID, MAD_NOT_ASKED where there is none to trust */
};

/*
 * Produces queries and takes the answers. next() is called for one of `agents` (by its index in
 * the array) when there is room for another MAD to it, and fills *query or returns false when
 * there is no more; answer() is called exactly once a query, in any order.
 */
struct source_asker {
	const uint32_t *agents;
	uint32_t agent_count;
	bool (*next)(void *arg, uint32_t which, struct source_query *query);
	void (*answer)(void *arg, const struct source_query *query, const struct mad_answer *answer);
	void *arg;
	const char *what; /* for people: what is read; NULL: not shown */
	uint64_t total;	  /* queries in all, where that is known; 0: not */
};

/*
 * Asks until all queries are answered or given up. 0; -EINTR when stopped; -errno when the wire broke
 * or did not open. Queries for an agent that there is no way to end as MAD_NOT_ASKED, as does what is
 * left after a failure. Where no SM is known to the fabric, LIDs are not trusted: directed routes only.
 */
int source_ask(struct source *source, const struct fabric *fabric, const struct source_asker *asker);

/* A question to the subnet manager (an SMP to its port) or the administrator there, and how it ended. */
struct source_sm_query {
	uint8_t mgmt_class; /* MAD_CLASS_SMP or MAD_CLASS_SA */
	uint16_t attribute;
	uint32_t modifier;
	uint64_t mask;		     /* SA: ComponentMask */
	uint8_t record[MAD_SA_DATA]; /* SA: what is asked for */
	/* filled in: */
	enum mad_outcome outcome;
	uint16_t status;	    /* when MAD_STATUS */
	unsigned tries;
	uint8_t data[MAD_DATA_MAX]; /* when MAD_ANSWERED: MAD_SMP_DATA or MAD_SA_DATA bytes */
};

/*
 * Asks the subnet manager that the fabric's ports name: SMPs first, then what is for the SA, a few at a time. What an
 * SA that does not answer may cost is bounded (mad_limits.sa_patience_ms of lost time): then what was asked without an
 * answer ends as MAD_TIMED_OUT, the rest as MAD_NOT_ASKED. *lost_ns, 0 at first, is the lost time of the calls that share
 * one such bound; NULL: this call has its own. Returns as source_ask(); where no SM is known to the fabric, all
 * ends as MAD_NOT_ASKED.
 */
int source_ask_sm(struct source *source, const struct fabric *fabric, struct source_sm_query *queries, size_t count,
		  uint64_t *lost_ns);

/*
 * For people who wait: what the next source_ask_sm() is a part of, which takes `total` questions in all, `before` of them asked
 * already. Where it is not the last part, that call's successor follows without anything being written in between.
 */
void source_sm_part(struct source *source, const char *what, uint64_t before, uint64_t total);

/* MADs of all source_ask() and source_ask_sm() so far. */
const struct mad_counts *source_counts(const struct source *source);
/* MADs of all source_discover() so far; of libibnetdisc only `sent` is known, without its repeats. NULL: not counted. */
const struct mad_counts *source_discovery_counts(const struct source *source);

/* The port that a live one looks from, as the kernel described it when it was opened; NULL: it looks from none. */
const struct mad_port_info *source_port(const struct source *source);

/* Whether it is a file, which has answers or not; nobody is asked then. */
bool source_is_file(const struct source *source);

/* --- for those who make a source: live, script (tests), snapshot --- */
struct source_ops {
	int (*discover)(struct source *source, struct finding_list *findings, struct fabric **fabric);
	int (*ask)(struct source *source, const struct fabric *fabric, const struct source_asker *asker);
	/* NULL: this kind knows no SM. All queries come as MAD_NOT_ASKED; the fabric has an SM. */
	int (*ask_sm)(struct source *source, const struct fabric *fabric, struct source_sm_query *queries, size_t count,
		      uint64_t *lost_ns);
	const struct mad_counts *(*counts)(const struct source *source);
	const struct mad_counts *(*discovery_counts)(const struct source *source); /* NULL: this kind counts none */
	const struct mad_port_info *(*port)(const struct source *source); /* NULL: this kind has none */
	void (*close)(struct source *source);
};
struct source { /* first member of every kind of source */
	const struct source_ops *ops;
	struct { /* of source_sm_part(); what NULL: nothing is shown */
		const char *what;
		uint64_t before, total;
	} sm_part;
};

#endif
