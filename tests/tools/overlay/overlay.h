/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * overlay: stands between a program and the simulated fabric (LD_PRELOAD, before libumad2sim.so) and
 * makes devices answer what ibsim cannot: other capabilities, values it forgets, silence, errors.
 *
 * Environment (docs: the head of rules.c has the grammar):
 *   IBQOS_OVERLAY_RULES   rules file; read again when it changes (replace it by rename)
 *   IBQOS_OVERLAY_NET     the net file that ibsim runs, to know which device a MAD is for
 *   IBQOS_OVERLAY_RECORD  what the subnet manager has set, one line a PortInfo Set
 *   IBQOS_OVERLAY_ROLE    sm: this process is the subnet manager and writes the record; reader (default)
 *   IBQOS_OVERLAY_LOG     one line for each Set that this process sends and each answer that a rule tells, and the counts at its end
 *   IBQOS_OVERLAY_SEED    for prob=
 *   IBQOS_OVERLAY_NOW     the time that growing counters see, in Unix seconds; default: the clock
 *   SIM_HOST              the node that this process is attached to, as for libumad2sim.so
 */
#ifndef IBQOS_TESTS_OVERLAY_H
#define IBQOS_TESTS_OVERLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MAD_BYTES 256
#define SMP_BYTES 64 /* of an SMP's attribute */
#define VLARB_BLOCKS 4
#define NODE_CA 1
#define NODE_SWITCH 2
#define NODE_ROUTER 3
#define LID_MAX 0xbfff

/* A test must not pass by a mistake in its own rules: say what is wrong and end the process. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...);

/* --- net.c: the fabric as the net file gives it --- */

struct node {
	char *id, *desc;
	uint64_t guid;
	unsigned type, ports;
	bool esp0; /* a switch with an enhanced port 0 */
	struct port {
		struct node *peer;
		unsigned peer_port;
		int vl_high_limit; /* as last set by the subnet manager; -1: never */
		uint8_t vlarb[VLARB_BLOCKS][SMP_BYTES]; /* likewise, where a rule gives vlarb-caps */
		char *peer_id;	   /* while loading */
	} *port;		   /* [0..ports] */
	struct node *next;
};

/* Where a MAD went: the device, and the port it came in by (0 for a switch itself). */
struct place {
	struct node *node;
	unsigned port;
};

struct net {
	struct node *first, *attach;
	struct node **by_id, **by_guid; /* all nodes, sorted: fabrics have ten thousands */
	size_t nodes;
	struct place *lid; /* [0..LID_MAX] as far as known */
};

void net_load(struct net *net, const char *path, const char *attach);
struct node *net_by_guid(const struct net *net, uint64_t guid);
bool net_any_name(const struct net *net, const char *glob);
bool node_named(const struct node *node, const char *glob);
/* Follows a directed route from where this process is attached; false where it leaves the net. */
bool net_walk(const struct net *net, const uint8_t *path, unsigned hops, struct place *place);

/* --- a request on its way, and what was decided for it when it left --- */

enum fate {
	FATE_ANSWER,
	FATE_DROP,    /* silence */
	FATE_TIMEOUT, /* the request itself comes back, as from the kernel */
	FATE_LATE,    /* so it does, and then the answer comes all the same */
};

struct request {
	struct request *next;
	uint32_t tid;
	uint8_t class, method;
	uint16_t attr;
	uint32_t mod;
	uint16_t dlid;
	int timeout_ms, retries;
	bool asked;   /* a Set whose fate was drawn when it left */
	bool decided; /* a Set that a rule loses or refuses: it left as a Get, the device keeps what it had */
	bool without_bit31; /* PortInfo with SMSupportExtendedSpeeds, which the simulator takes for a port number */
	bool stands_in; /* ClassPortInfo was asked in its place: the answer is to be made */
	enum fate fate;
	uint16_t status;
	struct place place; /* node NULL: not known */
	int length;
	uint8_t mad[MAD_BYTES];
};

static inline bool class_is_smp(uint8_t class)
{
	return class == 0x01 || class == 0x81;
}
/* Where an attribute's data starts in a MAD (IBA 14.2.1, 16.1.1, 15.2.1.1). */
static inline unsigned data_offset(uint8_t class)
{
	return class == 0x03 ? 56 : 64;
}

/* --- attrs.c: attributes, their fields, values put into them --- */

enum { CLASS_ANY, CLASS_SMP, CLASS_PMA, CLASS_SA };

struct attr;
const struct attr *attr_named(const char *name);
uint16_t attr_id(const struct attr *attr);
int attr_class(const struct attr *attr);
int class_of(uint8_t class);
/* The port an attribute is about: the port selected by the modifier or data, or the port of entry. */
unsigned about_port(const struct request *req);

enum set_kind { SET_FIELD, SET_BITS, SET_SL, SET_ENTRY, SET_TEXT, SET_BYTE };

struct setter {
	enum set_kind kind;
	int index;	/* field of libibmad, first bit, SL, entry or byte */
	unsigned width; /* of SET_BITS */
	uint64_t value;
	long double rate; /* grows so much a second; 0: value is set */
	char text[64];
};

/* How the counters of a rule grow, in Unix seconds. */
struct growth {
	long double since, reset; /* reset 0: never */
	bool wrap;		  /* else it stays at its highest value (IBA 16.1.3.5) */
};

/*
 * Reads FIELD=VALUE for an attribute (NULL: only byteN); `grow`: VALUE is a rate. NULL, or what is wrong
 * with which of both.
 */
const char *setter_read(struct setter *s, const struct attr *attr, int class, bool grow, const char *name,
			const char *value, const char **culprit);
void setter_put(const struct setter *s, const struct growth *growth, long double now, uint8_t *data);

/* --- rules.c reads them, apply.c applies them --- */

#define SETTERS 40
struct rule {
	struct rule *next;
	unsigned line;
	/* matches */
	char *node;
	uint64_t guid;
	int class, method, port; /* port -1: any */
	int bit31; /* of the modifier: 0, 1; -1: any */
	bool has_guid, has_attr, has_mod, has_prob, has_count;
	const struct attr *attr;
	uint16_t attr_id;
	uint32_t mod;
	double prob;
	uint64_t skip, count, matched;
	/* actions */
	bool has_status, has_fate, has_mkey, has_other_attr, has_other_mod, has_vlarb, makes, optimized, tell;
	uint16_t status, other_attr;
	uint32_t other_mod, tid_xor;
	enum fate fate;
	uint64_t mkey;
	unsigned protect, low_cap, high_cap, delay_ms, late_ms, copies, foreign, reorder, setters;
	struct growth growth;
	struct setter setter[SETTERS];
};

struct record;
struct rules {
	struct rule *first;
	struct net *net;
	struct record *record;
	const char *path;
	uint64_t seed;
	long double now; /* 0: the clock */
};

/* `since`: when counters begin to grow unless a rule says otherwise. */
struct rules *rules_load(const char *path, struct net *net, struct record *record, uint64_t seed, long double since,
			 long double now);
void rules_free(struct rules *rules);

struct verdict {
	enum fate fate;
	uint16_t status, other_attr;
	uint32_t other_mod, tid_xor;
	unsigned delay_ms, late_ms, copies, foreign, reorder;
	bool has_status, has_other_attr, has_other_mod, optimized, tell;
	bool as_get; /* a Set that ibsim must not see: it leaves as a Get */
};

enum phase {
	PHASE_SET,	     /* a Set leaves: only its fate is asked for */
	PHASE_ANSWER,	     /* an answer came in */
	PHASE_ANSWER_OF_SET, /* so it did, and its fate was drawn when the Set left */
	PHASE_RETRY,	     /* what would have become of the kernel's next try */
};
/* What becomes of a request; sets fields in `data` in the phases of an answer. */
struct verdict rules_apply(struct rules *rules, const struct request *req, uint8_t *data, enum phase phase);
/* True if a rule makes answers to this, which the simulator does not know. */
bool rules_make(const struct rules *rules, const struct request *req);

/* --- record.c --- */

struct record {
	const char *path;
	bool writer;
	FILE *in;
};
void record_open(struct record *record, const char *path, bool writer);
/* Takes in what was added since the last call. */
void record_refresh(struct record *record, struct net *net);
/* After a PortInfo answer of status 0: learns the LID, records a Set, gives back the VLHighLimit set. */
void record_portinfo(struct record *record, struct net *net, const struct request *req, uint8_t *data);
/* A VLArb block in a port of these caps: a Set is recorded, a Get is answered from the record. The MAD status. */
uint16_t record_vlarb(struct record *record, struct net *net, const struct request *req, unsigned low_cap,
		      unsigned high_cap, uint8_t *data);

#endif
