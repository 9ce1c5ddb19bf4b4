/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * counters: what ports count (IBA 16.1.3, 16.1.4), asked for and never cleared, and what is wrong by how it grew since an
 * earlier look (part of folder check). The earlier look is kept in a state file: include/ibqos/state.h.
 */
#ifndef IBQOS_COUNTERS_H
#define IBQOS_COUNTERS_H

#include "ibqos/check.h"
#include "ibqos/policy.h"

/* One a row of the table in src/check/counters.c. Their order is no part of any file. */
enum counter_id {
	COUNTER_SYMBOL,
	COUNTER_RECOVERY,
	COUNTER_DOWNED,
	COUNTER_RCV_ERRORS,
	COUNTER_RCV_REMOTE,
	COUNTER_RCV_RELAY,
	COUNTER_XMIT_DISCARDS,
	COUNTER_XMIT_CONSTRAINT,
	COUNTER_RCV_CONSTRAINT,
	COUNTER_INTEGRITY,
	COUNTER_OVERRUN,
	COUNTER_VL15,
	COUNTER_QP1,
	COUNTER_XMIT_WAIT,
	COUNTER_XMIT_DATA,
	COUNTER_RCV_DATA,
	COUNTER_XMIT_PKTS,
	COUNTER_RCV_PKTS,
	COUNTER_SYNC_HEADER,
	COUNTER_UNKNOWN_BLOCK,
	COUNTER_FEC_CORRECTED,
	COUNTER_FEC_UNCORRECTED,
	COUNTERS
};

/* How growth is judged. */
enum counter_rule {
	COUNTER_CONTEXT, /* not at all */
	COUNTER_BER,	 /* each is a bit error at least: against the bits that have passed, by the link's speed */
	COUNTER_RATE,	 /* so many in so long a time */
};

struct counter_row {
	const char *name; /* libibmad's, as perfquery and ibqueryerrors print it; of the state file too */
	uint16_t attribute;
	int field;	      /* libibmad's number in that attribute; 0: read by its place, libibmad's being wrong */
	uint8_t bits;	      /* in it; it stays at all ones (IBA 16.1.3.5) */
	int field_ext;	      /* of 64 bits in PortCountersExtended; 0: none */
	bool ext_errors;      /* which needs CapabilityMask2's bit, not CapabilityMask's */
	enum counter_rule rule;
	enum finding_code code; /* of its finding, unless COUNTER_CONTEXT */
	uint64_t count;		/* COUNTER_RATE: so many */
	unsigned seconds;	/* in so long */
	const char *meaning;	/* a clause */
};
const struct counter_row *counter_row(enum counter_id id);
enum counter_id counter_named(const char *name); /* COUNTERS: none */

/* Of PortRcvErrorDetails and PortXmitDiscardDetails (IBA 16.1.4.2, 16.1.4.3): what a total consists of. */
#define COUNTER_RCV_DETAILS 6
#define COUNTER_XMIT_DETAILS 4
const char *counter_rcv_detail_name(unsigned which);  /* 0..COUNTER_RCV_DETAILS - 1 */
const char *counter_xmit_detail_name(unsigned which); /* 0..COUNTER_XMIT_DETAILS - 1 */

#define COUNTER_BIT(id) (1u << (id))

/*
 * What a port sent of each SL, and how long each VL had to wait: PortXmitDataSL (32 bits), PortXmitDataSLExt (64 bits),
 * PortVLXmitWaitCounters (16 bits; IBA 16.1.4.8). PortSamplesControl:OptionMask says which of them there are.
 */
struct counter_shares {
	bool has_sent, has_waited;
	bool wide;		   /* sent[] is of 64 bits */
	uint16_t saturated;	   /* SLs whose sent[] is at all ones */
	uint64_t sent[QOS_SLS];	   /* in 4 bytes */
	uint16_t waited[QOS_SLS];  /* by VL, ticks; at all ones: that many or more */
};
void counter_decode_shares(struct counter_shares *shares, uint16_t attribute, const uint8_t *data);

/* What one port has answered. */
struct counter_reading {
	bool wanted;	    /* active, with a device that has a LID, and in the scope */
	uint32_t known;	    /* COUNTER_BIT(): answered */
	uint32_t saturated; /* of these at all ones: that many or more */
	uint32_t wide;	    /* of these from a field of 64 bits */
	uint32_t impossible; /* answered as 64 bits all ones: not counted there, and not known */
	uint64_t value[COUNTERS];
	bool has_rcv_details, has_xmit_details;
	uint16_t rcv_details[COUNTER_RCV_DETAILS];
	uint16_t xmit_details[COUNTER_XMIT_DETAILS];
	bool has_tick;
	uint8_t tick; /* PortSamplesControl:Tick of its device */
	/* how what it must answer was not answered; MAD_ANSWERED: it was */
	enum mad_outcome outcome;
	uint16_t status;
};
/* Takes an attribute's data into a reading; `ext_errors`: PortCountersExtended has the fields of CapabilityMask2. */
void counter_decode(struct counter_reading *reading, uint16_t attribute, bool ext_errors, const uint8_t *data);

enum counters_item {
	COUNTERS_CLASS_PORT_INFO,
	COUNTERS_PORT,
	COUNTERS_EXT,
	COUNTERS_SPEEDS,
	COUNTERS_SAMPLES,
	COUNTERS_RCV_DETAILS,
	COUNTERS_XMIT_DETAILS,
	COUNTERS_SENT_SL, /* this and what follows only with `shares` */
	COUNTERS_SENT_SL_EXT,
	COUNTERS_VL_WAIT,
	COUNTERS_ITEMS
};
const char *counters_item_name(enum counters_item item); /* "ClassPortInfo", ... */

struct counters {
	struct counter_reading *ports; /* by port index */
	struct counter_shares *shares; /* likewise; NULL: not asked */
	uint32_t wanted, read;	       /* ports; read: all that they must answer was */
	uint32_t no_lid;	       /* active, in the scope, but no LID to ask at */
	struct check_coverage coverage[COUNTERS_ITEMS];
	uint64_t unsupported[COUNTERS_ITEMS]; /* of MAD_STATUS: the device says that it has no such attribute */
};

/*
 * Asks all active ports of the scope (NULL: all), both ends of each link: ClassPortInfo of each device, then what it says
 * that there is, then details of totals that are not zero; with `shares` also what each SL sent. Gets only. 0; -EINTR; -ENOMEM; -errno when the wire broke: the
 * rest is then counted as not asked. counters_clear() frees what is in it, in any case.
 */
int counters_ask(struct source *source, const struct fabric *fabric, const struct scope *scope, bool shares,
		 struct counters *counters);
void counters_clear(struct counters *counters);
/* What was not answered, one a device. */
void counters_gaps(const struct counters *counters, const struct fabric *fabric, struct finding_list *findings);

/* --- bit errors --- */

/*
 * One-sided 95 % bounds of a Poisson mean of which `count` was seen, exact: P(X <= count) is 5 % at the upper one, which for 0 is
 * 3.0; P(X >= count) is 5 % at the lower one, which for 0 is 0.
 */
double counter_upper(uint64_t count);
double counter_lower(uint64_t count);

/* What a speed is allowed (enum link_speed), as errors a bit. */
struct ber_limits {
	double good, warn, error;
};
const struct ber_limits *ber_limits_of(unsigned speed); /* NULL: unknown speed */

enum ber_verdict {
	BER_UNKNOWN, /* speed unknown */
	BER_EARLY,   /* too few bits have passed, and what was seen could still be within limits */
	BER_GOOD,    /* the upper bound is within `good` */
	BER_BETWEEN, /* neither good nor bad for sure */
	BER_WARN,    /* the lower bound is above `warn` */
	BER_ERROR,
	BER_VERDICTS
};
/*
 * Before 3 / good bits have passed (the least that can prove a link without errors good; NVIDIA's 125 minutes at 4x NDR) a link
 * is bad only if it would be so were the rest of these bits clean. `least`: errors are a lower bound, so no link is good.
 */
enum ber_verdict ber_judge(unsigned speed, double bits, uint64_t errors, bool least);

/* --- thresholds of infiniband-diags --- */

#define ERROR_THRESHOLDS "/etc/infiniband-diags/error_thresholds"
/* Of totals, as ibqueryerrors has them; a name that the file does not have is not compared. */
struct counter_thresholds {
	uint32_t given;	     /* COUNTER_BIT() */
	uint32_t suppressed; /* not told at all, by any rule */
	uint64_t value[COUNTERS];
};
/* Lines Name=value, '#' comments. What cannot be read becomes a finding with its line; the rest counts. */
void counter_thresholds_parse(const char *path, const char *text, struct finding_list *findings,
			      struct counter_thresholds *thresholds);
/* Names with commas between, as ibqueryerrors --suppress. False: *bad (its length *size) is none. */
bool counter_suppress(struct counter_thresholds *thresholds, const char *names, const char **bad, size_t *size);
/* Those of ibqueryerrors --suppress-common: PortRcvSwitchRelayErrors. */
void counter_suppress_common(struct counter_thresholds *thresholds);

/* --- what is wrong --- */

/* What is known of one port's link since the earlier looks. */
struct counter_measure {
	bool has_errors, has_waiting;
	double errors, errors_upper; /* a bit, of the counter that has most; upper: 95 % bound */
	enum ber_verdict verdict;    /* the worst of its counters */
	double waiting;		     /* share of the time without credits, 0 to 1 */
};

struct state;
struct counters_options {
	uint64_t now; /* seconds since 1970 */
	struct counter_thresholds thresholds;
	unsigned congestion; /* percent of the time from which on a port that could not send is told; 0: never */
	const struct policy_counters *policy; /* its rates; NULL: none */
	struct counter_measure *measures;     /* by port index, zeroed: to be filled; NULL: not wanted */
	bool growth;	/* how counters grew is wanted, */
	uint64_t since; /* since then, or the first look after that of which is known, or the last look */
};

/* How counters of a port grew since a time. */
struct counter_growth {
	uint64_t since; /* from when on; 0: not known */
	uint32_t known, least; /* COUNTER_BIT(): grown is known; that much or more */
	uint64_t growth[COUNTERS];
};

struct counters_result {
	struct counter_growth *growth; /* by port index, where the options say since when; the caller frees it */
	uint32_t compared;  /* ports with an earlier look at the same link */
	uint32_t first;	    /* without */
	uint32_t new_link;  /* the other end or the speed is another than then: without, too */
	uint32_t restarted; /* began anew since, and the link went down meanwhile */
	uint32_t cleared;   /* began anew, and it did not: somebody clears them */
	uint32_t anew;	    /* began anew, and which of the two is not known */
	uint32_t saturated; /* with a counter at its highest value */
	uint32_t ber[BER_VERDICTS];
	uint32_t waiting_known, waiting_10, waiting_50; /* ports whose share of time without credits is known; at least 10, 50 % */
};

/*
 * Compares readings with the state's (NULL: there is none) and puts them there. What cannot be told by how counters grew is
 * not told: see the result. 0 or -ENOMEM.
 */
int counters_judge(const struct counters *counters, const struct fabric *fabric, struct state *state,
		   const struct counters_options *options, struct finding_list *findings, struct counters_result *result);

/* --- what each class had of busy ports --- */

struct shares_options {
	uint64_t now; /* when the readings were taken */
	const struct plan *plan; /* what classes are promised; NULL: nothing is, and only how busy ports are is told */
	const struct policy *policy; /* of the plan */
	unsigned busy, tolerance; /* percent; 0: POLICY_BUSY, POLICY_TOLERANCE */
};
struct shares_row {
	bool judged; /* busy since an earlier look */
	uint64_t seconds;
	double busy;		/* fraction of the data rate that was sent */
	double share[QOS_SLS];	/* by class of the plan: fraction of what was sent */
};
struct shares_result {
	struct shares_row *rows; /* by port index; the caller frees it */
	uint32_t counted;	 /* ports that tell what each SL sent */
	uint32_t known;		 /* of these with an earlier look at the same link, and nothing begun anew or full */
	uint32_t busy;		 /* of these busy all the time since */
	uint32_t low;		 /* findings */
	uint32_t unsure[QOS_SLS]; /* by class: ports on which it had less than promised, and may have had no more to send */
};
/*
 * Compares what each class had of what busy ports sent since the state's look (NULL: there is none) with what it is promised, and puts
 * this one there. counters->shares must be there. 0 or -ENOMEM.
 */
int counters_shares(const struct counters *counters, const struct fabric *fabric, struct state *state,
		    const struct shares_options *options, struct finding_list *findings, struct shares_result *result);

#endif
