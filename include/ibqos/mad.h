/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mad: asks devices. One asynchronous engine over one wire; Get only: neither the engine nor a
 * wire has a way to express a Set. Knows addresses, not fabrics.
 */
#ifndef IBQOS_MAD_H
#define IBQOS_MAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ibqos/util.h"

#define MAD_SMP_DATA 64	  /* bytes of an SMP attribute */
#define MAD_SA_DATA 200	  /* bytes of a record of the subnet administrator (IBA 15.2.1.1) */
#define MAD_PERF_DATA 192  /* of an attribute of performance management (IBA 16.1.1) */
#define MAD_DATA_MAX 200  /* of any attribute asked here */
#define MAD_ROUTE_HOPS 63 /* IBA 14.2.1.2: a directed route's path has 64 bytes, the first unused */

/* SMP attributes (IBA 14.2.5) */
enum mad_attribute {
	MAD_NODE_DESC = 0x0010,
	MAD_NODE_INFO = 0x0011,
	MAD_SWITCH_INFO = 0x0012,
	MAD_PORT_INFO = 0x0015,
	MAD_PKEY_TABLE = 0x0016,
	MAD_SL2VL = 0x0017,
	MAD_VLARB = 0x0018,
	MAD_LFT = 0x0019, /* LinearForwardingTable, a block of 64 LIDs */
	MAD_SM_INFO = 0x0020,
	MAD_MLNX_ADAPTIVE = 0xff20, /* vendor's, of switches: AdaptiveRoutingInfo */
	MAD_MLNX_EXT_PORT_INFO = 0xff90, /* vendor's: FDR10 (rdma-core: mad.h, IB_ATTR_MLNX_EXT_PORT_INFO) */
};

#define MAD_VENDOR_MELLANOX 0x0002c9u /* NodeInfo:VendorID of those who have the vendor's attributes */
#define MAD_STATUS_FIELD 0x001cu	/* of a MAD status: what was wrong with the request (IBA 13.4.7) */
#define MAD_STATUS_UNSUPPORTED 0x000cu	/* of that field: the device has no such attribute or method */

/* Attributes of the subnet administrator (IBA 15.2.4), which have numbers of their own. */
enum mad_sa_attribute {
	MAD_SA_CLASS_PORT_INFO = 0x0001,
	MAD_SA_PORT_INFO_RECORD = 0x0012,
	MAD_SA_SL2VL_RECORD = 0x0013,
	MAD_SA_PATH_RECORD = 0x0035,
	MAD_SA_VLARB_RECORD = 0x0036,
#define MAD_SA_CLASS_PORT_INFO_SIZE 72 /* bytes of each (IBA 13.4.8.1, 15.2.5) */
#define MAD_SA_PORT_INFO_RECORD_SIZE 68
#define MAD_SA_SL2VL_RECORD_SIZE 16
#define MAD_SA_PATH_RECORD_SIZE 64
#define MAD_SA_VLARB_RECORD_SIZE 72
};

/*
 * Attributes of performance management (IBA 16.1.3, 16.1.4). Of these a query's and an answer's modifier is the
 * PortSelect, which the attribute itself carries (its second byte): 0xff is all ports together, where ClassPortInfo
 * says that there is that. ClassPortInfo has none: modifier 0.
 */
enum mad_perf_attribute {
	MAD_PERF_CLASS_PORT_INFO = 0x0001,
	MAD_PORT_SAMPLES_CONTROL = 0x0010,
	MAD_PORT_COUNTERS = 0x0012,
	MAD_PORT_RCV_ERROR_DETAILS = 0x0015,
	MAD_PORT_XMIT_DISCARD_DETAILS = 0x0016,
	MAD_PORT_VL_XMIT_WAIT = 0x001c, /* PortVLXmitWaitCounters */
	MAD_PORT_COUNTERS_EXT = 0x001d,
	MAD_PORT_EXT_SPEEDS_COUNTERS = 0x001f,
	MAD_PORT_XMIT_DATA_SL = 0x0036,
	MAD_PORT_XMIT_DATA_SL_EXT = 0x0038,
};

/* Management classes besides that of SMPs. */
enum {
	MAD_CLASS_SMP = 0, /* 0x01 by LID, 0x81 by directed route: the address decides */
	MAD_CLASS_SA = 0x03,
	MAD_CLASS_PERF = 0x04,
};

/* AttributeModifiers: IBA 14.2.5.9 (input port << 8 | output port), 14.2.5.10 (block 1..4 << 16 | port). */
#define MAD_SL2VL_MODIFIER(in, out) ((uint32_t)(in) << 8 | (uint32_t)(out))
#define MAD_VLARB_MODIFIER(block, port) (((uint32_t)(block) + 1) << 16 | (uint32_t)(port))
/*
 * PortInfo: SMSupportExtendedSpeeds (IBA 14.2.5.6). A device may leave the fields of extended speeds empty for one who does not
 * set it (OpenSM: osm_port_info_rcv.c, since 2026), and refuse it if it is older than they are.
 */
#define MAD_PORT_INFO_EXT_SPEEDS (UINT32_C(1) << 31)
#define MAD_PKEY_MODIFIER(block, port) ((uint32_t)(port) << 16 | (uint32_t)(block)) /* IBA 14.2.5.7; port 0 but on switches */

struct mad_route {
	uint8_t hops;			  /* 0: the local port itself */
	uint8_t port[MAD_ROUTE_HOPS + 1]; /* port[1] is the local port, port[hops] the last way out */
};

/*
 * Where an SMP goes: to a LID (class 0x01) if lid is not 0, else along the directed route (0x81). A MAD
 * of another class goes to queue pair 1 of lid, or where that is 0 of gmp_lid, on `sl`: there is no directed
 * route for it.
 */
struct mad_address {
	uint16_t lid;
	struct mad_route route;
	uint16_t gmp_lid;
	uint8_t sl;
	uint64_t mkey; /* M_Key of the device (IBA 14.2.4); 0: the wire's, if it has one */
};

/* How a query ended. */
enum mad_outcome {
	MAD_ANSWERED,  /* data is there */
	MAD_STATUS,    /* answered with a MAD status other than 0: no data */
	MAD_TIMED_OUT, /* no answer in any try */
	MAD_NOT_ASKED, /* never sent, or given up: the device had stopped answering, or the run was stopped */
};
#define MAD_OUTCOMES 4

struct mad_query {
	uint16_t attribute;
	uint32_t modifier;
	uint64_t tag; /* the caller's, handed back untouched */
	/* Not of SMPs: */
	uint8_t mgmt_class;  /* MAD_CLASS_... */
	uint64_t mask;	     /* ComponentMask: which members of the record are given */
	const uint8_t *data; /* SA: the record, MAD_SA_DATA bytes that stay until done(); NULL: all zero */
};

struct mad_answer {
	enum mad_outcome outcome;
	uint16_t status;     /* IBA 13.4.7, when MAD_STATUS */
	const uint8_t *data; /* when MAD_ANSWERED, else NULL; MAD_SMP_DATA bytes, of the SA MAD_SA_DATA, of
				performance management MAD_PERF_DATA; valid during the call */
	unsigned tries;	     /* MADs sent for it */
};

/* What went over the wire, counted since the engine was made. */
struct mad_counts {
	uint64_t queries;		  /* handed back, by outcome in ended[] */
	uint64_t ended[MAD_OUTCOMES];
	uint64_t sent;			  /* MADs, retries included */
	uint64_t retried;		  /* of these, repeats after a timeout */
	uint64_t late;			  /* answers after their deadline, or a second time: dropped */
	uint64_t foreign;		  /* answers to nothing we asked: dropped */
	uint64_t send_failed;		  /* the wire refused a MAD */
	uint64_t slow;			  /* answers to a MAD that was repeated already: taken */
	uint64_t rounds;		  /* late rounds (mad_engine_run()) */
	uint64_t losses, slowdowns;	  /* how often the window was halved: by lost MADs, by answers that became slow */
	unsigned window, window_least;	  /* MADs on the wire at once, at most: now, and at its narrowest */
};

/* Adds what an engine has counted since it had counted `since`; its window is the sum's from now on. */
void mad_counts_add(struct mad_counts *sum, const struct mad_counts *now, const struct mad_counts *since);

struct mad_limits {
	unsigned window;	/* MADs on the wire at once, at most, 1..4096; how many it is follows losses and latency */
	unsigned device_window; /* of these, to one device, at most, 1..window */
	unsigned timeout_ms;	/* for one try; what is not answered much sooner takes no more place in the windows */
	unsigned retries;	/* repeats after the first try: after a timeout, or when the device is busy */
	unsigned rate;		/* MADs a second at most; 0: no ceiling */
	unsigned give_up;	/* queries in a row that a device left unanswered before the rest of its
				   queries are handed back as MAD_NOT_ASKED; 0: never */
	unsigned sa_timeout_ms; /* for one try to the subnet administrator, which computes its answers and sweeps
				   meanwhile; timeout_ms where that is longer */
	unsigned sa_patience_ms; /* what an administrator that leaves questions unanswered may cost in one series of them
				   (mad_job.lost_ns) before it is given up; 0: any time */
};

/*
 * Polite defaults: VL15 has no flow control and carries the SM's MADs too. OpenSM itself keeps 4
 * SMPs on the wire (max_wire_smps), infiniband-diags 2.
 */
#define MAD_LIMITS_DEFAULT                                                                                 \
	((struct mad_limits){.window = 16, .device_window = 4, .timeout_ms = 1000, .retries = 3, .rate = 20000, \
			     .give_up = 4, .sa_timeout_ms = 2000, .sa_patience_ms = 10000})

/* --- the wire: what carries MADs; umad on a machine, a script in tests --- */

struct mad_request {
	const struct mad_address *to;
	uint32_t tid; /* the low 32 bits of the transaction ID, unique among those on the wire */
	uint16_t attribute;
	uint32_t modifier;
	unsigned timeout_ms;
	unsigned short_ms; /* after which it counts as lost and another may be on the wire; at most timeout_ms */
	uint8_t mgmt_class; /* this and what follows: as in the query */
	uint64_t mask;
	const uint8_t *data;
};

struct mad_reply {
	uint32_t tid;
	uint16_t attribute;
	uint32_t modifier;
	bool timed_out; /* the wire itself gave this request up (umad status ETIMEDOUT) */
	uint16_t status;
	uint8_t mgmt_class; /* MAD_CLASS_... */
	uint8_t data[MAD_DATA_MAX];
};

struct mad_wire;
struct mad_wire_ops {
	/* Sends a Get; 0 or -errno (-EAGAIN: not now, try again; -EINVAL: an address or a class that cannot be). */
	int (*send)(struct mad_wire *wire, const struct mad_request *request);
	/* Waits up to wait_ms for one reply, 0: only looks: 1 and *reply filled, 0 none, -errno. -EINTR is not an error. */
	int (*receive)(struct mad_wire *wire, struct mad_reply *reply, unsigned wait_ms);
	/* Time in nanoseconds on the wire's clock; a script has one of its own. */
	uint64_t (*now)(struct mad_wire *wire);
	void (*close)(struct mad_wire *wire); /* frees the wire */
};
/* First member of every kind of wire. */
struct mad_wire {
	const struct mad_wire_ops *ops;
};

#define MAD_DEVICE_NAME 20 /* room for a device name, as in libibumad */

/* A port of this machine, as the kernel describes it. */
struct mad_port_info {
	char device[MAD_DEVICE_NAME]; /* "mlx5_0" */
	int port;
	uint64_t guid;
	uint64_t subnet_prefix;		  /* of its first GID; 0: not known */
	uint16_t lid;			  /* base LID; 0: no SM has been here yet */
	uint16_t sm_lid;		  /* 0: no SM has been here yet */
	unsigned state;			  /* logical state: 1 down, 2 init, 3 armed, 4 active */
	char link_layer[MAD_DEVICE_NAME]; /* "InfiniBand" or "IB"; "Ethernet" */
};

/*
 * Chooses and checks a port of this machine; opens nothing. `device` NULL or port 0: any, an active
 * one before one whose link is up before others, in libibumad's order. -ENODEV: no such adapter or
 * port, or none at all, *info is then all zero; -EPROTONOSUPPORT: the port's link layer is not
 * InfiniBand; -ENETDOWN: its logical state is down (init is enough for directed routes); *info says
 * which port that was. Other: -errno.
 */
int mad_port_check(const char *device, int port, struct mad_port_info *info);
/* The file that has to be opened to send and receive through a port, "/dev/infiniband/umad0". 0; -ENOENT: it has none; -errno. */
int mad_port_file(const char *device, int port, char *path, size_t size);
/* The port of this machine with a GUID. -ENODEV: there is none. */
int mad_port_of_guid(uint64_t guid, struct mad_port_info *info);
/* Tells of each active InfiniBand port of an adapter of this machine. -ENODEV: there is no adapter. */
int mad_ports(void (*each)(void *arg, const struct mad_port_info *info), void *arg);

/*
 * Opens a port through libibumad and registers agents for classes 0x01, 0x81, 0x03 and 0x04. Chooses the port
 * and fails as mad_port_check(); -EOPNOTSUPP: the kernel's ib_umad is missing; other: -errno.
 * Any discovery by libibnetdisc must be over before (umad2sim hands answers to the last opener).
 */
int mad_wire_open_umad(const struct ibqos_ctx *ctx, const char *device, int port, struct mad_wire **wire);

/*
 * The M_Key that SMPs carry to devices of which none of their own is known. Devices without protection do not look at it.
 * The one that a PortInfo shows never leaves the wire: its bytes read 0.
 */
void mad_wire_umad_key(struct mad_wire *wire, uint64_t mkey);
/* Where the P_Key that MADs to queue pair 1 carry stands in our port's table (IBA 14.2.5.7); 0, as at first: its first. */
void mad_wire_umad_pkey_index(struct mad_wire *wire, uint16_t index);

/* --- the engine --- */

struct mad_engine;

/* Makes an engine on a wire, which it then owns and closes; not on failure. Limits out of range: -EINVAL. */
int mad_engine_new(const struct ibqos_ctx *ctx, struct mad_wire *wire, const struct mad_limits *limits,
		   struct mad_engine **engine);
void mad_engine_free(struct mad_engine *engine);
const struct mad_counts *mad_engine_counts(const struct mad_engine *engine);

/*
 * A job: queries to `devices` devices, produced one by one as there is room on the wire, so that
 * nothing is queued. Callbacks run inside mad_engine_run() and must not call it.
 */
struct mad_job {
	uint32_t devices;
	/* Address of a device; the pointer stays valid during the run. */
	const struct mad_address *(*address)(void *arg, uint32_t device);
	/* Next query for a device: true and *query filled, or false when it has no more. */
	bool (*next)(void *arg, uint32_t device, struct mad_query *query);
	/* Called exactly once for each query that next() gave, in any order. */
	void (*done)(void *arg, uint32_t device, const struct mad_query *query, const struct mad_answer *answer);
	void *arg;
	unsigned timeout_ms; /* for one try; 0: as the limits say */
	unsigned short_ms; /* with timeout_ms: no MAD is taken for lost earlier; 0: not before its try ends. Without: as answers come */
	/*
	 * Lost time: in which a MAD was out that had no answer in the time after which it is taken for lost; times that overlap
	 * count once. Added to *lost_ns, which may come from an earlier job; at lost_limit_ns all devices are given up, as by give_up.
	 * NULL: not counted.
	 */
	uint64_t *lost_ns;
	uint64_t lost_limit_ns; /* 0: none */
	/*
	 * done() may find more to ask: for the device that answered, whose next() is then called again even if it
	 * had no more, and for new ones, by raising `devices`. Not after MAD_NOT_ASKED.
	 */
	bool grows;
	const char *what; /* for people: what is being done; NULL: nothing is shown */
	uint64_t total;	  /* queries in all; 0: not known */
	uint64_t before;  /* of them, asked in runs before this one */
	bool part;	  /* further runs may follow: the caller takes away what is shown, not the run */
};

/*
 * Runs a job to its end: every query is handed back with its outcome. 0, or -errno when the wire
 * broke; what was left is then handed back as MAD_NOT_ASKED, as after ctx_stopped() (-EINTR).
 *
 * Silent devices cost little: a MAD that is not answered in a short time, which follows how fast answers
 * come (50 ms at least), leaves its place to others, though its answer is still taken until its try ends. A device that
 * lives is asked again at once. One that does not gets no more queries for the time being, and what it owes is asked
 * again in a late round, when there is nothing else left to ask: one query of each such device, all devices together,
 * with all the tries left to it. If it is answered the others follow; if not, they end with it as MAD_TIMED_OUT with
 * the tries that they had (with give_up 0 each has all its tries). A job that grows needs nothing more: dead
 * nodes come back in the late round, after all that can be found was found, and what an answer then opens up is asked
 * as at first.
 */
int mad_engine_run(struct mad_engine *engine, const struct mad_job *job);

/* --- what the subnet manager and the subnet administrator say (sa.c) --- */

/* SMInfo:SMState (IBA 14.2.5.13) */
enum mad_sm_state { MAD_SM_NOT_ACTIVE, MAD_SM_DISCOVERING, MAD_SM_STANDBY, MAD_SM_MASTER };

struct mad_sm_info {
	uint64_t guid; /* of the port that it sits on */
	uint32_t act_count;
	uint8_t priority;
	uint8_t state; /* enum mad_sm_state; others are not defined */
};
void mad_sm_info_decode(const uint8_t data[MAD_SMP_DATA], struct mad_sm_info *info);

/* Bytes of a record that the SA is asked for by Get; 0: the attribute is none of these. */
size_t mad_sa_record_size(uint16_t attribute);
/* Whether the SA's ClassPortInfo says that QoS is on: CapabilityMask2 bit 1 (OpenSM: osm_sa_class_port_info.c). */
bool mad_sa_qos(const uint8_t data[MAD_SA_DATA]);

#define MAD_GID 16
#define MAD_NO_QOS_CLASS (-1)
#define MAD_QOS_CLASS_MAX 0xfff /* 12 bits */

/* One path from a GID to a GID, reversible, asked for as rdma_cm does, but in any partition where none is named. */
struct mad_path_question {
	uint8_t from[MAD_GID], to[MAD_GID];
	int qos_class; /* 0..MAD_QOS_CLASS_MAX, or MAD_NO_QOS_CLASS: none is named */
	uint64_t service_id; /* if has_service_id */
	bool has_service_id;
	uint16_t pkey; /* 0: any */
};
/* The PathRecord to send (IBA 15.2.5.16), and the ComponentMask that belongs to it. */
uint64_t mad_path_encode(const struct mad_path_question *question, uint8_t data[MAD_SA_DATA]);
/*
 * Whether an answered PathRecord is of the ports that were asked for: both GUIDs are the same. Prefixes are not compared, as the
 * subnet administrator puts its own there (OpenSM: osm_sa_path_record.c).
 */
bool mad_path_is_of(const uint8_t asked[MAD_SA_DATA], const uint8_t got[MAD_SA_DATA]);
/* The SL of a PathRecord that was answered. */
unsigned mad_path_sl(const uint8_t data[MAD_SA_DATA]);

/*
 * Records of what the subnet manager holds of a port, each asked for alone, with all members of its key:
 * SLtoVLMappingTableRecord (IBA 15.2.5.4), VLArbitrationTableRecord (15.2.5.9; block 0..3), PortInfoRecord
 * (15.2.5.3). The LID is a switch's port 0's or the port's own; on a port that is none of a switch's `in` and `out`
 * are 0, `port` is its number. OpenSM's records are its memory of the last answer to a Set (SL2VL, VLArb) or of
 * the last sweep (PortInfo); it never reads tables back (osm_port_info_rcv.c). Encoding fills MAD_SA_DATA bytes and
 * returns the ComponentMask; decoding gives the table as a device would answer, or NULL where the record is of
 * another port.
 */
uint64_t mad_sl2vl_record_encode(uint16_t lid, unsigned in, unsigned out, uint8_t data[MAD_SA_DATA]);
uint64_t mad_vlarb_record_encode(uint16_t lid, unsigned port, unsigned block, uint8_t data[MAD_SA_DATA]);
uint64_t mad_port_info_record_encode(uint16_t lid, unsigned port, uint8_t data[MAD_SA_DATA]);
const uint8_t *mad_record_table(uint16_t attribute, const uint8_t asked[MAD_SA_DATA], const uint8_t got[MAD_SA_DATA]);

#define MAD_SA_NO_RECORDS 0x0300 /* MAD status (IBA 15.2.2): nothing matches */

#endif
