/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * check: what the devices hold against what they should, and links against what they can.
 * Results are findings; nothing that was not looked at is reported clean.
 */
#ifndef IBQOS_CHECK_H
#define IBQOS_CHECK_H

#include "ibqos/fabric.h"
#include "ibqos/finding.h"
#include "ibqos/source.h"

/* --- coverage: what was asked and how it ended --- */

struct check_coverage {
	uint64_t asked;
	uint64_t ended[MAD_OUTCOMES]; /* adds up to asked */
};

/* Rows of coverage that verify has. */
enum verify_item { VERIFY_PORT_INFO, VERIFY_SL2VL, VERIFY_VLARB, VERIFY_ITEMS };
const char *verify_item_name(enum verify_item item); /* "PortInfo", ... */

struct verify_result {
	struct check_coverage coverage[VERIFY_ITEMS];
	uint32_t ports;		 /* looked at: programmed by OpenSM, or not known to be excluded */
	uint32_t ports_differ;	 /* of these, with at least one difference in SL2VL, VLArb or VLHighLimit; no plan
				    decides OperationalVLs, so two ends that differ there are only a finding */
	uint32_t ports_unknown;	 /* of these, with an unanswered query and no difference */
	uint32_t ports_left;	 /* found with a peer but down when asked: neither right nor wrong, no clean verdict */
	uint32_t ports_excluded; /* not programmed by OpenSM at all: down, base switch port 0, ... */
	uint32_t ports_there;	 /* that a run over the whole scope would look at, as far as discovery can tell */
};

/* --- scope: part of a fabric that a run is about --- */

enum scope_kind { SCOPE_NODE, SCOPE_SWITCH, SCOPE_HOSTS };
/* What a user named: a node or a switch by its name or GUID (of node, system or port), or hosts as a list. */
struct scope_name {
	enum scope_kind kind;
	const char *text;
};

struct scope {
	bool *ports;	     /* by port index: of the nodes named, and those at the other end of their cables */
	uint32_t nodes;	     /* named */
	uint32_t port_count; /* ports of these */
};

/*
 * The part of a fabric that these names mean. A host is each adapter whose name is the host's,
 * alone or before a blank, '/' or ':' ("gpu-001", "gpu-001 mlx5_0", "gpu-001/P1"). What the fabric does not have becomes
 * a finding (unknown, with the closest names), as does a list that cannot be read; the scope is then of the rest.
 * scope_clear() frees what is in it. 0 or -ENOMEM.
 */
int scope_make(const struct fabric *fabric, const struct scope_name *names, size_t count, struct finding_list *findings,
	       struct scope *scope);
void scope_clear(struct scope *scope);
/*
 * Whether a node is meant by a name: its own, its host's (adapters only), a GUID of its own, its system's or one of its ports, or a
 * pattern with '*' and '?'.
 */
bool scope_is_named(const struct fabric *fabric, const struct fabric_node *node, const char *name);
/* Whether a port is in it; a NULL scope is the whole fabric. */
bool scope_has(const struct scope *scope, uint32_t port);
/* Removes findings at nodes and ports outside; those without a place stay. */
void scope_filter(const struct scope *scope, const struct fabric *fabric, struct finding_list *findings);

struct verify;

/*
 * Prepares to compare every port's SL2VL tables, VLArb blocks, VLHighLimit and OperationalVLs with
 * what OpenSM programs there for `config` (rules: osm_qos.c, port.c:239-296). All borrowed.
 */
int verify_new(const struct ibqos_ctx *ctx, struct fabric *fabric, const struct qos_config *config,
	       struct verify **verify);
void verify_free(struct verify *verify);
/* Before the first run: only ports in the scope are asked and judged. */
void verify_set_scope(struct verify *verify, const struct scope *scope);

/*
 * A part of the ports: of `parts` parts, number `part` (from 1), or with parts 0 so many ports drawn by `seed`. Which part
 * a port is in depends on its node's GUID and its number alone, so that runs over all parts look at every port
 * exactly once, however the fabric changes otherwise. Both ends of a link are in one part.
 */
struct verify_sample {
	uint32_t part, parts;
	uint32_t ports; /* at least, if there are so many */
	uint64_t seed;
};
/* Before the first run, after verify_set_scope(): only these are asked and judged. 0 or -ENOMEM. */
int verify_set_sample(struct verify *verify, const struct verify_sample *sample);
/* Of verify_result's ports_there those in one part: how many, and a number that changes with any of them. */
struct verify_part {
	uint32_t ports;
	uint64_t who;
};
/* For each of `parts` parts. Before verify_set_sample(). */
void verify_count_parts(const struct verify *verify, uint32_t parts, struct verify_part *part);

/*
 * Which parts were looked at when, and how that ended: kept in a file between runs, so that each takes the part that waits
 * longest. `config` tells apart what was compared with.
 */
#define VERIFY_PARTS_MAX 10000
struct verify_look {
	uint64_t ms;	  /* since 1970; 0: never */
	uint64_t who;	  /* the ports that were there then */
	uint8_t exit;	  /* enum ibqos_exit of that part alone */
};
struct verify_rotation {
	uint32_t parts;
	uint64_t config;
	struct verify_look *look; /* [parts], part 1 first */
};
/* An empty one. 0 or -ENOMEM. */
int verify_rotation_new(uint32_t parts, uint64_t config, struct verify_rotation *rotation);
void verify_rotation_clear(struct verify_rotation *rotation);
/* Takes from a file's text what belongs to so many parts and this config; nothing otherwise. -EINVAL: it is no such file. */
int verify_rotation_read(struct verify_rotation *rotation, const char *text);
/* As text, freed by the caller; NULL: no memory. */
char *verify_rotation_write(const struct verify_rotation *rotation);
/* The part that waits longest, from 1. */
uint32_t verify_rotation_next(const struct verify_rotation *rotation);
/* A number that two configs share only if they are alike. */
uint64_t verify_config_id(const struct qos_config *config);

/*
 * Asks and compares: PortInfo of all ports first (kept in the fabric, since OperationalVLs decide
 * the rest), then tables. With only_differing, just the ports that did not match in the last run,
 * whose earlier verdicts and coverage are replaced, so that the result is always that of the whole.
 * Compares as answers come: no table that matches is kept. Whatever was not answered is counted,
 * MAD_NOT_ASKED where the run ended early. 0; -EINTR; -errno when the wire broke.
 */
int verify_run(struct verify *verify, struct source *source, bool only_differing);

/*
 * Runs end when clock_ns() is beyond this, as far as MADs that are on the wire let them: what was not asked by then is
 * counted so, and unknown. 0, as at first: no end.
 */
void verify_set_end(struct verify *verify, uint64_t end_ns);

/* The state after the last run. */
const struct verify_result *verify_result(const struct verify *verify);
/* Adds the findings of the last state: one a port and kind (SL2VL, VLArb, high limit, OperVLs), one a silent agent. */
void verify_findings(const struct verify *verify, struct finding_list *findings);
bool verify_port_differs(const struct verify *verify, uint32_t port);
/* Whether the last state says of a port that it is right or differs: all of it was answered, and it is one that OpenSM programs. */
bool verify_port_judged(const struct verify *verify, uint32_t port);

/* --- ports that are there throughout, while a fabric is watched over several runs --- */

struct presence;
/* Notes which ports are up now. presence_free() takes NULL. 0 or -ENOMEM. */
int presence_new(const struct fabric *fabric, struct presence **presence);
void presence_free(struct presence *presence);
/*
 * Takes out of a result what is about ports that came up since, and ports that went since: down, or silent while
 * the other end of each cable of theirs that answers is down. Those that went are counted as ports_left.
 */
void presence_adjust(const struct presence *presence, const struct verify *verify, struct verify_result *result);
/* One for each port that came or went since, as the last run has it. */
void presence_findings(const struct presence *presence, const struct verify *verify, struct finding_list *findings);

/* --- the subnet manager and its administrator: do they run the policy --- */

/* A path that the SA is asked for, and the SL that it must give. */
struct sm_probe {
	uint32_t from, to;   /* port indexes, ports with a GUID */
	int qos_class;	     /* or MAD_NO_QOS_CLASS */
	uint64_t service_id; /* if has_service_id */
	bool has_service_id;
	uint16_t pkey; /* 0: none is named */
	unsigned sl;
};

/* Who is a member of partitions, by the P_Key tables of hosts. */
struct sm_partitions {
	uint16_t *pkeys; /* 0x1..0x7fff */
	size_t count;
	uint8_t *member; /* [port index * count + which]: 0 none or not known, 1 limited, 2 full */
	struct check_coverage coverage;
};
/*
 * Asks the active adapters of the fabric for their P_Key tables (IBA 14.2.5.7), where the policy has rules by partition;
 * else nothing is asked and the result is empty. sm_partitions_clear() frees what is in it. Returns as source_ask(); -ENOMEM.
 */
struct policy;
int sm_partitions_ask(struct source *source, const struct fabric *fabric, const struct policy *policy,
		      struct sm_partitions *partitions);
void sm_partitions_clear(struct sm_partitions *partitions);

#define SM_PAIRS 4
struct sm_probe_options {
	unsigned pairs;
	bool all_leaves;			/* instead: one pair of hosts for each pair of leaf switches */
	const struct scope *scope;		/* paths begin at hosts in it; NULL: at any */
	const struct sm_partitions *partitions; /* NULL: not known */
};

/*
 * Probes for a policy on this fabric: between `pairs` pairs of active hosts, spread over the fabric and the
 * same each time, without QoS class and as each rule matches, a rule that names groups or a partition between hosts of
 * those. With all_leaves, of each class the first rule that names no group, between every two switches that have active
 * hosts, in either direction by turns. The SL wanted is that of the first rule that matches, as OpenSM decides.
 * *skipped counts rules that no host can ask by: of empty groups, of partitions without two members (or where
 * who is one is not known). The caller frees *probes. 0 or -ENOMEM. Without a policy (NULL): without QoS class alone, and no SL is
 * wanted.
 */
int sm_probes_choose(const struct policy *policy, const struct fabric *fabric, const struct sm_probe_options *options,
		     struct sm_probe **probes, size_t *count, unsigned *skipped);
/* The same with `pairs` alone. */
int sm_probes(const struct policy *policy, const struct fabric *fabric, unsigned pairs, struct sm_probe **probes,
	      size_t *count, unsigned *skipped);

/* The question to the SA that a probe is. */
void sm_probe_query(const struct fabric *fabric, const struct sm_probe *probe, struct source_sm_query *query);

struct sm_options {
	bool qos; /* QoS must be on */
	const struct sm_probe *probes;
	size_t probe_count;
	unsigned rate; /* paths asked for in a second at most; 0: as fast as they are answered */
};

/* Rows of coverage that the SM has. */
enum sm_item { SM_INFO, SM_CLASS_PORT_INFO, SM_PATH_RECORD, SM_ITEMS };
const char *sm_item_name(enum sm_item item); /* "SMInfo", ... */

struct sm_result {
	struct check_coverage coverage[SM_ITEMS];
	bool known;		 /* SMInfo was answered: */
	struct mad_sm_info info;
	bool qos_known, qos;	 /* whether QoS is on */
	uint32_t paths_right, paths_wrong, paths_unknown; /* of the probes */
	uint32_t paths_none; /* between ports that have no path at all: they may share no partition. Unknown instead
				where no probe has a path */
	bool right; /* a master that has QoS on where it must, and gives every path that there is the SL wanted */
};

/*
 * Asks the subnet manager that the fabric's ports name for its SMInfo; if it is a master, the SA there for
 * its ClassPortInfo, and if it answers, for each probe's path. What differs or was not answered becomes a
 * finding (findings may be NULL); a fabric without an SM is its discovery's finding, not ours. Without an answer the
 * rest is not asked, and counted so. 0; -EINTR; -ENOMEM; -errno when the wire broke.
 */
int sm_check(struct source *source, const struct fabric *fabric, const struct sm_options *options,
	     struct finding_list *findings, struct sm_result *result);

/* --- what the subnet manager remembers to have programmed --- */

enum sm_table_kind { SM_TABLE_SL2VL, SM_TABLE_VLARB, SM_TABLE_PORT_INFO, SM_TABLE_KINDS };
const char *sm_table_name(enum sm_table_kind kind); /* "SL2VL record", ... */

/* One table of a port as the SM has it, and how the question ended. */
struct sm_table {
	uint32_t port; /* index */
	uint8_t kind;  /* enum sm_table_kind */
	uint8_t index; /* SL2VL: in-port, 0 on a port that is none of a switch's; VLArb: block 0..3 */
	/* filled in: */
	enum mad_outcome outcome;   /* MAD_STATUS with status 0: the record was another port's */
	uint16_t status;	    /* MAD_SA_NO_RECORDS: the SM does not know the port, or shares no partition with us */
	uint8_t data[MAD_SMP_DATA]; /* as the device would answer; 8 bytes of SL2VL, 64 of the others. All zero: OpenSM has
				       had no Set answered there since it started, or the last one failed */
};

/*
 * Asks the subnet administrator for these tables, one Get each. Ports that have no LID, and all where no SM is known
 * to the fabric, end as MAD_NOT_ASKED. Returns as source_ask_sm(); -ENOMEM.
 */
int sm_tables_ask(struct source *source, const struct fabric *fabric, struct sm_table *tables, size_t count);

/* --- three-way truth: what was wanted, what the SM has recorded, what the device holds --- */

#define SM_RECORDS 10000 /* at most, unless told otherwise */

struct verify_record_options {
	const struct sm_result *sm; /* of sm_check() before; NULL, or an SA that did not answer: nothing is asked */
	bool file_holds;	    /* the very file that the running master reads has the config that is wanted */
	size_t limit;		    /* records at most: first one a port and kind, then the others; 0: none */
};

struct verify_records {
	struct check_coverage coverage[SM_TABLE_KINDS];
	uint64_t left; /* not asked for, the limit being reached */
};

/*
 * Asks the SM's record of each table that differed in the last run and says why it differs: the class of its finding
 * in verify_findings() (enum finding_cause). VLHighLimit has no record of what was sent, only of what the device told
 * last, and OpenSM sets it again on each heavy sweep (osm_link_mgr.c). 0; -EINTR; -ENOMEM; -errno when the wire broke: what was not
 * answered is then of the class 'unknown'.
 */
int verify_ask_records(struct verify *verify, struct source *source, const struct verify_record_options *options,
		       struct verify_records *records);
/* One finding where records were asked for and not answered, with their number and that of those not asked for any more. */
void verify_records_findings(const struct verify *verify, const struct verify_records *records, struct finding_list *findings);

/*
 * Where (nearly) all ports that were looked at hold other tables, and not because they changed or await a sweep: one
 * finding that says so with their number, and marks those that follow from it (finding.told_by_another). After
 * verify_findings() and verify_ask_records(). True if it did.
 */
struct verify_not_applied {
	const char *path;	    /* of the policy or config */
	const struct sm_result *sm; /* NULL: not asked */
	bool file_holds;	    /* as in struct verify_record_options */
};
bool verify_fold_not_applied(const struct verify *verify, const struct verify_not_applied *why,
			     struct finding_list *findings);

/*
 * --- whether the subnet manager was at rest while ports were read: its SMInfo before and after. ---
 */
enum sm_change { SM_STEADY, SM_SWEPT, SM_STARTED_ANEW, SM_HANDED_OVER };
struct sm_watch {
	bool known; /* both times answered, at first by a master: */
	enum sm_change change;
	struct mad_sm_info before, after;
	uint32_t sent; /* SMPs that it sent meanwhile */
	struct check_coverage coverage;
};
/*
 * One SMInfo each, the second only if a master answered the first. SM_SWEPT: it sent as many SMPs as a heavy sweep takes at least, a node and a link each one; many light
 * sweeps in a long time make as many. Return as source_ask_sm().
 */
int sm_watch_begin(struct source *source, const struct fabric *fabric, struct sm_watch *watch);
int sm_watch_end(struct source *source, const struct fabric *fabric, struct sm_watch *watch);
/* What happened, unless it was at rest. `again`: ports that were read again because of it. */
void sm_watch_findings(const struct sm_watch *watch, const struct fabric *fabric, uint32_t again,
		       struct finding_list *findings);

/* A subnet manager of the fabric, at a port whose PortInfo says IsSM, or that the ports name as their master's. */
struct sm_seen {
	uint32_t port;
	enum mad_outcome outcome; /* of asking for SMInfo */
	uint16_t status;
	struct mad_sm_info info; /* if MAD_ANSWERED */
	bool asked;		 /* internal */
};
/*
 * Asks each of them, in the order of their ports. The caller frees *sms. One that was started after the
 * fabric was discovered is not seen. 0; -EINTR; -ENOMEM; -errno when the wire broke.
 */
int sm_list(struct source *source, const struct fabric *fabric, struct sm_seen **sms, uint32_t *count);

/*
 * What is wrong among them, besides the one that the ports name, of which sm_check() has told: a second master, a
 * standby that ranks above the master, one that does not answer.
 */
void sm_rivals(const struct fabric *fabric, const struct sm_result *known, const struct sm_seen *sms, uint32_t count,
	       struct finding_list *findings);

/* --- gaps of a discovery as findings: 'no answer', named by the switch port before it --- */
void check_gaps(const struct fabric *fabric, struct finding_list *findings);

/*
 * --- what a snapshot lacks: a finding for each agent and attribute that has queries without an answer, one for
 * the subnet manager; and (_cut) one if taking it did not come to its end ---
 */
struct snapshot;
void check_snapshot_cut(const struct snapshot *snapshot, struct finding_list *findings);
int check_snapshot(const struct snapshot *snapshot, const struct fabric *fabric, struct finding_list *findings);

/* --- two states of a fabric: include/ibqos/diff.h --- */

/* --- links: include/ibqos/audit.h --- */

#endif
