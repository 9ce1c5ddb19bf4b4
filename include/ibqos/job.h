/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * job: does a training job really travel in its class? What a job must be started with, what NCCL makes of
 * what it is started with, and what it said afterwards. Nothing here asks a fabric.
 *
 * NCCL writes the SL straight into its queue pairs and asks no SA (src/transport/net_ib), so a policy reaches
 * it through the job's environment alone. Rules named "NCCL x.y" were read in the release tags of
 * github.com/NVIDIA/nccl from 2.12.7 to 2.30.7.
 */
#ifndef IBQOS_JOB_H
#define IBQOS_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ibqos/finding.h"
#include "ibqos/policy.h"
#include "ibqos/site.h"

enum job_link { JOB_LINK_INFINIBAND, JOB_LINK_ETHERNET };
/* "infiniband" or "ethernet" ("ib" and "roce" too), in any case. -EINVAL. */
int job_link_of(const char *name, enum job_link *link);
const char *job_link_name(enum job_link link);

/* A version of NCCL as one number that compares: 2.28.9 is 22809. */
#define JOB_NCCL(major, minor, patch) ((major) * 10000u + (minor) * 100u + (patch))
#define JOB_NCCL_OLDEST JOB_NCCL(2, 12, 7) /* the releases whose sources the rules were read in */
#define JOB_NCCL_NEWEST JOB_NCCL(2, 30, 7)
/* "2.28.9", as NCCL prints it; what follows ("-1", "+cuda12.4") does not count. -EINVAL; -ERANGE below the oldest. */
int job_nccl_parse(const char *text, unsigned *version);
/* "2.28.9" into text. */
#define JOB_NCCL_TEXT 16
void job_nccl_text(unsigned version, char text[JOB_NCCL_TEXT]);

/* --- the environment of a class (advise.c, forms.c) --- */

enum job_stack {
	JOB_STACK_NCCL,
	JOB_STACK_UCX,
	JOB_STACK_OPENMPI,
	JOB_STACK_NVSHMEM,
	JOB_STACK_DEEPEP,
	JOB_STACK_MOONCAKE,
	JOB_STACK_RDMA_CM, /* Lustre, NVMe-oF, RDS, libfabric's MSG end points: they ask the SA */
	JOB_STACK_SHARP,
	JOB_STACKS
};
#define JOB_ALL_STACKS ((1u << JOB_STACKS) - 1)
const char *job_stack_name(enum job_stack stack); /* "nccl" */
/* "nccl,ucx" as a mask of 1 << enum job_stack. -EINVAL for a name that is none. */
int job_stacks_of(const char *list, unsigned *mask);

/* One setting that puts a program into a class, or a remark about one that does not. */
struct job_advice {
	enum job_stack stack;
	const char *name; /* of the variable; static */
	char *value;	  /* NULL: nothing to set, `why` says it all */
	char *why;	  /* a clause for people, on one line */
};
/*
 * What puts programs of the given stacks into a class on this link layer. The caller frees the items with
 * job_advice_free(). 0 or -ENOMEM.
 */
int job_advise(const struct policy_class *class, enum job_link link, unsigned stacks, struct job_advice **items,
	       size_t *count);
void job_advice_free(struct job_advice *items, size_t count);

enum job_form { JOB_FORM_SHELL, JOB_FORM_NCCL_CONF, JOB_FORM_SLURM, JOB_FORM_KUBERNETES, JOB_FORM_OPENMPI, JOB_FORMS };
const char *job_form_name(enum job_form form);
int job_form_of(const char *name, enum job_form *form); /* -EINVAL */
/*
 * Writes the settings in a form that can be used as it is. Remarks become comments where the form has them;
 * slurm and openmpi are made for $(…) on a command line and have none. 0 or -errno.
 */
int job_advice_write(FILE *out, enum job_form form, const struct policy_class *class, const struct job_advice *items,
		     size_t count);

/* --- what a job is started with (env.c, conf.c, scan*.c) --- */

enum job_origin { JOB_FROM_PROCESS, JOB_FROM_SCRIPT, JOB_FROM_USER_CONF, JOB_FROM_SYSTEM_CONF };
struct job_setting {
	char *name;
	char *value; /* to the letter, not always printable; NULL: not known, as a shell makes it when the job starts */
	enum job_origin origin;
	bool removed; /* an `unset` in a script: there is no value */
	bool hidden;  /* another setting of the name counts; after job_env_settle() */
	char *file;
	unsigned line, column; /* of the name, from 1; 0 where a file has no lines */
};
/* One job's environment on one host, in order of precedence. */
struct job_env {
	char *label; /* "environment", a file's name */
	struct job_setting *items;
	size_t count, room;
	char **files; /* that were read for it */
	size_t file_count, file_room;
	size_t *counting, counting_count; /* internal: those that count, by name, while `settled` */
	bool settled;
	struct job_env_name *exported; /* internal: names that a script has put into the environment */
};
/* Whether a variable is one of those that are looked at; the others of an environment are not kept. */
bool job_env_cares(const char *name, size_t size);
/* Appends a setting of which all is copied; value NULL: not known. NULL: out of memory. */
struct job_setting *job_env_add(struct job_env *env, enum job_origin origin, const char *file, const char *name,
				size_t name_size, const char *value, size_t value_size);
/* A process's environment: strings with a NUL behind each (environ, /proc/PID/environ). 0 or -ENOMEM. */
int job_env_process(struct job_env *env, const char *file, const char *block, size_t size);
/*
 * A file of NAME=value lines, to the letter as docker --env-file and env(1) have it; or of `env -0`. Lines of '#' and
 * lines without '=' set nothing. 0 or -ENOMEM.
 */
int job_env_file(struct job_env *env, const char *file, const char *text, size_t size);
/*
 * A configuration file as NCCL of this version reads it (NCCL src/misc/param.cc, setEnvFile): key up to the first '=',
 * the rest of the line is the value; no trimming, quotes or `export`; a '#' in column 1 is a comment from 2.26.2;
 * a CR at the end goes from 2.30.3, and lines are cut into pieces of 4095 bytes then; keys and values hold 1023
 * bytes. The keys are kept whatever they are. 0 or -ENOMEM.
 */
int job_env_conf(struct job_env *env, enum job_origin origin, const char *file, const char *text, size_t size,
		 unsigned nccl);
/*
 * The settings that a launch script makes, without running it: shell and batch scripts (with #SBATCH and its like),
 * Dockerfiles, YAML (.yaml, .yml), Python and JSON (.py, .json). A value that a shell or a cluster makes is not known.
 * Findings: variables that are not exported, parts that are not read. 0; -EINTR when `ctx` (NULL: none) was asked
 * to stop; -ENOMEM.
 */
int job_scan(const struct ibqos_ctx *ctx, struct job_env *env, const char *file, const char *text, size_t size, struct finding_list *findings);
/* What in such a file is read otherwise than it looks: findings with line and column. */
void job_conf_lint(const char *file, const char *text, size_t size, unsigned nccl, struct finding_list *findings);
/*
 * Decides which settings count: of a script the last, of a process and of a file the first; scripts before the process,
 * both before the user's file, that before the system's. 0 or -ENOMEM.
 */
int job_env_settle(struct job_env *env);
/*
 * Collects one environment and settles it: scripts, then a process's environment, then the files that NCCL would read:
 * NCCL_CONF_FILE (from 2.23.4) or else .nccl.conf of the home (of passwd before 2.30.3, of HOME after), then
 * /etc/nccl.conf. Findings: what of these cannot be read, and job_conf_lint() of each file.
 * 0; -errno, with *failed the path that could not be read.
 */
struct job_sources {
	const struct ibqos_ctx *ctx; /* asked to stop: -EINTR; NULL: never */
	const char *const *scripts;
	size_t script_count;
	bool own;	      /* the environment of this process */
	unsigned pid;	      /* of that process; 0: none */
	const char *env_file; /* NULL: none */
	bool conf;	      /* read the configuration files: of `root`, of the process's root, or of this host */
	const char *root;     /* a container's file system; NULL: none */
	unsigned nccl;
};
int job_collect(const struct job_sources *sources, struct finding_list *findings, struct job_env *env,
		const char **failed);
/* The setting that counts, or NULL. Its value may be NULL (not known) and is never one that was removed. */
const struct job_setting *job_env_get(const struct job_env *env, const char *name);
void job_env_clear(struct job_env *env);

/* A number as NCCL takes it: strtoll() of base 0, of which the end is not looked at (ncclLoadParam). */
struct job_number {
	long long value;
	bool empty;    /* nothing there: the default counts */
	bool overflow; /* does not fit: the default counts */
	bool none;     /* no digit at all: 0 */
	bool octal;    /* a leading zero makes another number of it than it looks */
	const char *rest; /* what is passed over behind it; "" if nothing */
};
struct job_number job_number(const char *value);

/* --- whether it puts the job into its class (check*.c) --- */

#define JOB_NO_TC INT64_MIN
struct job_host;
struct job_question {
	const struct ibqos_ctx *ctx;	   /* asked to stop: a check ends early; NULL: never */
	const struct policy *policy;	   /* NULL: none; then what depends on classes is not looked at */
	const struct policy_class *class;  /* of the job; not NULL with a policy */
	enum job_link link;
	unsigned nccl;
	int64_t app_tc;	      /* ncclConfig.trafficClass of the application, JOB_NO_TC: not set or not known */
	unsigned stacks;      /* that the job is said to use, besides NCCL: 1 << enum job_stack */
	bool gin;	      /* the job is said to use GIN (device-initiated networking) */
	const struct site *site; /* whose fabrics' adapters the job should use; NULL: not known */
	const struct job_host *host; /* whose adapters the job will use; NULL: not known */
	const char *engine;   /* OpenSM's routing_engine; NULL: not known */
	const char *engine_file;
	const char *ar_sl_mask; /* as that file of NVIDIA's OpenSM has it; NULL: not known */
};
/* What NCCL writes into its queue pairs. */
struct job_sl {
	bool known;
	unsigned sl;	  /* as the adapter takes it: four bits */
	const char *name; /* of the variable that it comes from, "trafficClass", or NULL: NCCL's default */
};
struct job_sl job_sl(const struct job_env *env, const struct job_question *q);	 /* of data on the host's channels */
/* The index of its P_Key table that NCCL's queue pairs use (ibv_qp_attr has 16 bits of it); false: known only when the job starts. */
bool job_pkey_index(const struct job_env *env, const struct job_question *q, unsigned *index);
struct job_sl job_gin_sl(const struct job_env *env, const struct job_question *q); /* of GIN's queue pairs */
/* All findings about one settled environment. */
void job_check(const struct job_env *env, const struct job_question *q, struct finding_list *findings);
/* --- adaptive routing (check_adaptive.c) --- */

/* Whether packets of an SL are routed adaptively, by OpenSM's file alone. */
enum job_adaptive { JOB_ADAPTIVE_UNKNOWN, JOB_ADAPTIVE_ON, JOB_ADAPTIVE_NOT_FOR_SL };
enum job_adaptive job_adaptive(const struct job_question *q, struct job_sl sl);
/* Switches by what they do with the job's SL. */
struct job_adaptive_switches {
	unsigned on, not_for_sl, off, unknown; /* not_for_sl: on, but for other SLs */
	const char *first;  /* the first of not_for_sl */
	uint16_t mask;	    /* its SLs */
};
/* Finding: an SL that is left out. */
void job_check_adaptive(const struct job_env *env, const struct job_question *q, const struct job_adaptive_switches *switches,
			struct finding_list *findings);

/* --- the site's fabrics (check_site.c); with q->site --- */

/* How much of what the hosts have in a fabric a job takes, by its NCCL_IB_HCA. */
enum job_rail_use { JOB_RAIL_USE_UNKNOWN, JOB_RAIL_USE_NONE, JOB_RAIL_USE_SOME, JOB_RAIL_USE_ALL };
/*
 * The adapters that a job takes and for which `looked` is false, as a list of names in *left (appended to, freed by the caller; stays
 * NULL: none), and how many it takes: those of the site's fabric `of` (NULL: of all); without `adapters` in the site, or a site, those
 * of its host; without a host what its list names. looked() gets a list of NCCL_IB_HCA with one adapter in it.
 */
void job_adapters_left(const struct job_env *env, const struct job_question *q, const struct site_fabric *of,
		       bool (*looked)(const char *list, void *arg), void *arg, char **left, size_t *taken);
enum job_rail_use job_rail_use(const struct job_env *env, const struct job_question *q, const struct site_fabric *fabric);

/* Differences between the environments of one job's hosts. */
void job_check_hosts(const struct job_env *envs, size_t count, const struct job_question *q,
		     struct finding_list *findings);

/* --- what NCCL logged (log*.c) --- */

/*
 * Logs are read as a stream: what is kept is what there is of hosts, processes, adapters, settings and kinds of errors,
 * not of lines. Lines of all processes may be mixed, each with what a launcher puts before it.
 */
struct job_log;

enum job_log_cause { /* why a process uses sockets; the first that is known counts */
	JOB_LOG_CAUSE_NONE,
	JOB_LOG_CAUSE_DISABLED,	   /* NCCL_IB_DISABLE */
	JOB_LOG_CAUSE_NET,	   /* NCCL_NET */
	JOB_LOG_CAUSE_LIBRARY,	   /* libibverbs cannot be opened */
	JOB_LOG_CAUSE_NO_IP,	   /* no IP interface for NET/IB */
	JOB_LOG_CAUSE_NO_DEVICE,   /* no adapter with an active port that NCCL_IB_HCA takes */
};
#define JOB_LOG_NETWORK 32
#define JOB_LOG_SETTINGS 256 /* different settings that are told apart */
struct job_log_process {
	char *key;		      /* "host:pid" */
	size_t host;		      /* index */
	unsigned nccl;		      /* 0: not told */
	long rank, ranks;	      /* in the largest communicator; -1: not told */
	char network[JOB_LOG_NETWORK]; /* "IB", "Socket", a plugin's; "": not told */
	bool failed;		      /* no network could be started */
	bool no_interface;	      /* no interface for sockets */
	bool connected;		      /* "Connected all rings" */
	bool net_lines, env_lines;    /* lines that only NET, only ENV of NCCL_DEBUG_SUBSYS shows */
	enum job_log_cause cause;
	unsigned line;		      /* that chose the network; 0: none */
	size_t file;		      /* index */
	uint64_t channels_net, channels_gdr, channels_socket, channels_local;
	uint64_t info, warn;	      /* lines */
	bool infiniband, ethernet;    /* link layers of the adapters that it uses */
	uint64_t settings[JOB_LOG_SETTINGS / 64]; /* bit: index of a setting */
};
#define JOB_LOG_ADDRESSES 2
struct job_log_host {
	char *name;
	char *addresses[JOB_LOG_ADDRESSES]; /* "10.0.0.1", by which peers name it; NULL: not told */
	size_t processes;
	uint64_t warn, completions, events;
	size_t devices, first_device; /* how many, and the last one met: index, those before by `next` */
};
struct job_log_device {
	size_t next; /* the host's device before; undefined in its first */
	size_t host;
	char *name; /* "mlx5_0:1" */
	enum job_link link;
	uint64_t mbps;	      /* 0: not told */
	int gdr;	      /* 1 enabled, 0 disabled, -1 not told */
};
struct job_log_setting {
	char *name, *value;
	bool cr; /* the value ends in a CR, which is part of it */
	size_t processes, file;
	unsigned line;
};
enum job_log_kind {
	JOB_LOG_COMPLETION, /* code is the status of the work completion */
	JOB_LOG_ASYNC,
	JOB_LOG_ASYNC_FATAL,
	JOB_LOG_MODIFY_QP,
	JOB_LOG_FLID,
	JOB_LOG_OTHER, /* any other line of NCCL WARN */
};
struct job_log_event {
	enum job_log_kind kind;
	size_t host;
	char *device;	/* "mlx5_0" or "mlx5_0:1"; NULL: not told */
	int code;
	unsigned vendor;
	char *text;	/* of the first: the event's name, the message */
	char *peer;	/* of the first; NULL */
	uint64_t count;
	size_t file;
	unsigned line; /* of the first */
};
struct job_log_view { /* borrowed; valid until the log is freed */
	const struct job_log_process *processes;
	size_t process_count;
	const struct job_log_host *hosts;
	size_t host_count;
	const struct job_log_device *devices;
	size_t device_count;
	const struct job_log_setting *settings;
	size_t setting_count;
	const struct job_log_event *events;
	size_t event_count;
	char *const *files;
	size_t file_count;
	uint64_t bytes, lines, nccl_lines, torn; /* torn: a line that another process's line broke */
	uint64_t untracked; /* things for which there was no more room */
	bool all_cr;	    /* every line of NCCL ends in CR: the file's way, not the values' */
};

int job_log_new(struct job_log **log);
void job_log_free(struct job_log *log);
/* A file's bytes, in pieces of any size. 0 or -ENOMEM. */
int job_log_begin(struct job_log *log, const char *file);
int job_log_feed(struct job_log *log, const char *data, size_t size);
int job_log_end(struct job_log *log);
/* Reads a file whole, "-" being standard input; gzip is unpacked. 0 or -errno; -EINTR when asked to stop. -EBADMSG: a
 * gzip file that ends too early or is broken; what was read counts. */
int job_log_read(struct job_log *log, const struct ibqos_ctx *ctx, const char *path);
struct job_log_view job_log_view(const struct job_log *log);
/* Findings of all that was read; with a class also whether it was run in it. */
void job_log_check(const struct job_log *log, const struct job_question *question, struct finding_list *findings);

/*
 * What a fabric's links have to do with failed transfers and events of adapters (log_tie.c). A host's adapters are the nodes
 * whose name begins with the host's, up to a blank, '/' or ':', and goes on with the adapter's: "gpu-001 mlx5_0"; where no
 * node of a host has the adapter's name, all of the host are meant. The peer of a failed transfer is known where some host of
 * the log told its address.
 */
struct fabric;
struct state;
struct job_log_links {
	const char *from;		    /* where `fabric` is from, for people */
	const struct fabric *fabric;	    /* NULL: none */
	const struct finding_list *findings; /* of its links: audit_links(), audit_siblings() */
	const char *state_file;
	const struct state *state; /* of an audit; NULL: none */
};
struct job_log_tie {
	size_t event;	  /* index in the view */
	bool peer;	  /* the link is of the peer's adapter, any of them, not the host's own */
	bool guessed;	  /* any of the host's adapters, as their names do not tell */
	const char *from; /* which of the two it is from */
	uint64_t guid;	  /* of the adapter's node; its name, port, and what is behind it: switch and port */
	char *name, *peer_name;
	unsigned port;
	uint64_t peer_guid;
	int peer_port; /* -1: not known */
	const char *code; /* of the finding; "port-down", "counters" for what is none; NULL: nothing is wrong there */
	enum finding_severity severity;
	char *got, *wanted, *where; /* `where` is the end that the finding names; strings may be NULL */
	uint64_t first_seen; /* seconds since 1970; 0: not known */
};
/*
 * Every link of every adapter of such events, in their order: one for each thing that is wrong with it, or one that says nothing
 * is. Findings: what is wrong (job-log-link), and adapters that neither source has (job-log-untied). The caller frees the
 * ties with job_log_ties_free(). 0 or -ENOMEM.
 */
int job_log_tie(const struct job_log *log, const struct job_log_links *links, struct finding_list *findings,
		struct job_log_tie **ties, size_t *count);
void job_log_ties_free(struct job_log_tie *ties, size_t count);

/* --- the host's own adapters, from sysfs (host*.c) --- */

#define JOB_PORT_ACTIVE 4 /* struct job_port.state */
struct job_port {
	unsigned number;
	unsigned state, phys_state; /* as in sysfs: 4 ACTIVE, 5 LinkUp; 0: not known */
	char *state_name, *phys_name;
	bool infiniband, known_layer;
	double gbps;	  /* 0: not known */
	unsigned lanes;	  /* 1, 2, 4, 8, 12; 0: not known */
	char *rate;	  /* "400 Gb/sec (4X NDR)" */
	unsigned lid, sm_lid;
	unsigned *pkeys;  /* by index */
	size_t pkey_count;
};
struct job_hca {
	char *name, *type, *board, *firmware; /* NULL: not told */
	double pcie_gts, pcie_max_gts;	      /* GT/s a lane; 0: not told */
	unsigned pcie_width, pcie_max_width;
	struct job_port *ports;
	size_t port_count, port_room;
};
struct job_host {
	struct job_hca *hcas;
	size_t hca_count, hca_room;
	bool nvidia, peermem; /* kernel modules */
};
/* Reads below a root of sysfs ("/sys"). 0; -ENOENT: there is no class/infiniband; -errno. */
int job_host_read(const char *root, struct job_host *host);
void job_host_clear(struct job_host *host);
/* The link layer of the active ports, if it is one. */
bool job_host_link(const struct job_host *host, enum job_link *link);
/* Whether a list of NCCL_IB_HCA takes an adapter's port (src/misc/utils.cc, matchIfList); NULL or "": all. */
bool job_hca_takes(const char *list, const char *name, unsigned port);
/* Gb/s of data that PCIe carries in one direction, line coding taken off; 0 where not known. */
double job_pcie_gbps(double gts, unsigned width);

struct job_host_wish {
	const char *hca;      /* adapters that count, as NCCL_IB_HCA; NULL: all */
	unsigned adapters;    /* as many must have an active port; 0: not said */
	double gbps;	      /* rate that each port must have; 0: that of the fastest of its kind here */
	unsigned pkey_index;
	enum job_link link;   /* ports of the other layer are passed over */
};
void job_host_check(const struct job_host *host, const struct job_host_wish *wish, const char *root,
		    struct finding_list *findings);

/* --- perftest (bw.c) --- */

struct job_bw_plan {
	const char *const *hosts;
	size_t host_count; /* at least 2 */
	const char *const *rails; /* names of adapters, the same on every host */
	size_t rail_count;
	bool all;	   /* every pair, in rounds in which each host has one partner; else neighbours in the list */
	int sl;		   /* -1: none */
	int traffic_class; /* RoCE; -1: none */
	unsigned seconds;  /* of each measurement */
};
/*
 * A shell script that runs ib_write_bw by ssh, one rail after the other, and leaves a file HOST-HOST-RAIL.bw a
 * measurement. Nothing is run here. 0 or -errno; -EINVAL: a name that a shell would not take for a name.
 */
int job_bw_write(FILE *out, const struct job_bw_plan *plan);

/* What ib_write_bw printed (perftest 4.4 and 4.5, src/perftest_parameters.c). */
struct job_bw_result {
	bool found;	   /* there is a line of results */
	double gbps;	   /* average of the largest message; MiB/s turned into Gb/s */
	uint64_t bytes;	   /* of a message */
	unsigned mtu;	   /* 0: not told */
	int sl;		   /* of a QoS run's line, -1: not told */
	char device[64];   /* "": not told */
	bool ethernet;
	char last[160];	   /* its last line that says something, for messages */
};
void job_bw_parse(const char *text, size_t size, struct job_bw_result *result);
/*
 * Judges results beside each other, each named by names[i]: against `gbps` (0: not known), of which a class
 * has `share` (1: all), down to the fraction `floor`; and against the middle of all of them.
 */
void job_bw_check(const struct job_bw_result *results, const char *const *names, size_t count, double gbps, double share,
		  double floor, struct finding_list *findings);

#endif
