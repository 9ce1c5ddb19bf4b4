/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * preflight: what an apply found out before it touched a file, for the report. What is not known is
 * NULL, 0 or said to be so.
 */
#ifndef IBQOS_PREFLIGHT_H
#define IBQOS_PREFLIGHT_H

#include "ibqos/check.h"
#include "ibqos/opensm.h"

/* Something that may be known. */
enum preflight_answer { PREFLIGHT_UNKNOWN, PREFLIGHT_NO, PREFLIGHT_YES };

/* A subnet manager of the fabric. */
struct preflight_sm {
	char *name; /* of its node */
	uint64_t guid; /* of its port */
	struct sm_seen seen;
	bool master;		    /* of the LID that the ports name */
	bool standby;		    /* none of those: it may take over */
	enum preflight_answer here; /* the process whose files these are */
	/* Whether a standby has the same files: confirmed, put off, or neither. Not for the master. */
	enum { PREFLIGHT_OPEN, PREFLIGHT_LATER, PREFLIGHT_CONFIRMED } files;
};

/* The files that OpenSM reads again on a reload. */
enum preflight_role { PREFLIGHT_CONF, PREFLIGHT_RULES, PREFLIGHT_PARTITIONS, PREFLIGHT_PREFIX_ROUTES, PREFLIGHT_FILES };
const char *preflight_role_name(enum preflight_role role); /* "opensm.conf", "qos-policy", ... */

struct preflight_file {
	char *path;
	bool exists;
	enum preflight_answer pending; /* changed by others since OpenSM read it */
	const char *against; /* static: by what that was told; NULL if it is not known */
	unsigned changes;    /* keys of opensm.conf that differ; 1 for another file */
	unsigned faults[FINDING_CRITICAL + 1]; /* that lint has with it as it is to be, by severity */
	enum preflight_answer writable;	       /* of the two that ibqos writes */
	uint64_t room; /* bytes that a user may still write there; 0: none, or not known */
};

struct apply_preflight {
	bool looked;
	int pid; /* 0: no OpenSM was found */
	char *config, *log; /* as opensm_instance */
	bool config_given;
	struct opensm_facts facts;
	char *engine; /* that routed last: by its console, else by its log */
	const char *options_from; /* static: "its console"; NULL: its effective options are not known */
	enum preflight_answer master_here; /* whether the master is the process whose files these are */
	struct preflight_sm *sms;
	uint32_t sm_count;
	struct preflight_file files[PREFLIGHT_FILES];
	uint64_t state_room; /* bytes free where history is kept; 0: none, or not known */
	uint32_t gaps;	     /* places of the fabric without an answer */
	bool drift_known;    /* ports against the config that is in place: not where QoS is off in it */
	struct verify_result drift;
	char digest[65]; /* of the files as they are to be: apply_digest(); "" if not made */
};
void apply_preflight_clear(struct apply_preflight *preflight);

/*
 * The SHA-256, in hexadecimal, of what two OpenSMs must have the same: of opensm.conf the last value of `qos`, of
 * each key of tables (qos_sl2vl, qos_ca_vlarb_low, ...), of max_op_vls, routing_engine and sm_sl (its defaults where
 * they are not set) as lines "KEY VALUE\n" in order of keys, then the qos-policy file. Other keys differ by host.
 * 0 or -ENOMEM.
 */
int apply_digest(const char *conf, size_t conf_size, const char *rules, size_t rules_size, char digest[65]);
/*
 * The shell command that prints the same for a config and the qos-policy file that it names, by coreutils, sed and
 * awk; NULL: out of memory. The caller frees it.
 */
char *apply_digest_command(const char *conf_path);

#endif
