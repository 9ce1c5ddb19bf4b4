/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * opensm: OpenSM's files read and written, and the running instance. Knows no policy.
 *
 * Sources: OpenSM 3.3.23 opensm/osm_subnet.c (options), osm_qos.c, osm_qos_parser_y.y, main.c.
 */
#ifndef IBQOS_OPENSM_H
#define IBQOS_OPENSM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "ibqos/finding.h"
#include "ibqos/qos.h"
#include "ibqos/util.h"

#define OPENSM_CONFIG "/etc/opensm/opensm.conf"
#define OPENSM_QOS_POLICY "/etc/opensm/qos-policy.conf"
#define OPENSM_LOG "/var/log/opensm.log"

/* --- opensm.conf --- */

struct opensm_conf;

/* Parses line by line, keeping every byte: what is not edited is written back as it was. */
int opensm_conf_parse(const char *text, size_t size, struct opensm_conf **conf);
void opensm_conf_free(struct opensm_conf *conf);
/*
 * The value OpenSM takes for a key: the last line that sets it, comment and quotes stripped;
 * NULL if no line does. "(null)" is given as it stands: for a text OpenSM takes it as none. Owned
 * by conf, valid until it is changed.
 */
/*
 * A copy of the text with "(not shown)" in place of the value of each key that opens devices, commented out or not: for
 * people to look at. The caller frees *shown. 0 or -errno.
 */
int opensm_conf_redact(const char *text, size_t size, char **shown, size_t *shown_size);
const char *opensm_conf_get(const struct opensm_conf *conf, const char *key);
unsigned opensm_conf_line(const struct opensm_conf *conf, const char *key); /* its line number from 1; 0 if none */
/*
 * Sets a key: the line that OpenSM takes (the last) is rewritten in place, keeping what stands
 * around the value; earlier lines of that key, which OpenSM overrides anyway, stay. Where no line
 * sets it, one is appended. Nothing changes when such a line has the value already, unless
 * OpenSM reads it in pieces (longer than 1022 bytes, a NUL in it). -EINVAL: OpenSM would
 * read something else (a '#', a newline, blanks or quotes around it, too long for a line).
 */
int opensm_conf_set(struct opensm_conf *conf, const char *key, const char *value);
int opensm_conf_render(const struct opensm_conf *conf, char **text, size_t *size);

/*
 * Writes every QoS key of every port type (qos_*, qos_ca_*, qos_sw0_*, qos_swe_*, qos_rtr_*:
 * high_limit, vlarb_high, vlarb_low, sl2vl) and `qos TRUE`: a missing key would keep its running
 * value over a HUP, and the sets do not inherit reliably (facts: osm_qos.c:599-668).
 */
int opensm_conf_set_qos(struct opensm_conf *conf, const struct qos_config *config);
/*
 * What OpenSM would program from this file: per key the port type's own, else qos_*, else
 * OpenSM's default, values read with OpenSM's parsing (one delimiter skipped, VL % 15, weight as
 * 8 bits, octal, short lists). *enabled: exactly `TRUE`. Doubtful values are reported as findings
 * at `path`:line.
 */
int opensm_conf_get_qos(const struct opensm_conf *conf, const char *path, struct qos_config *config, bool *enabled,
			struct finding_list *findings);

/* --- qos-policy.conf --- */

struct opensm_level {
	const char *name; /* [A-Za-z0-9_]+ ; the one named "default" (any case) is OpenSM's fall-back */
	unsigned sl;
};
struct opensm_group {
	const char *name; /* as of a level */
	const uint64_t *guids; /* port GUIDs: of a CA's port, of a switch's port 0 */
	size_t guid_count;
};
struct opensm_range {
	uint64_t low, high; /* both included */
};
/* All criteria that are given (count above 0) must hold, each with one of its values. */
struct opensm_rule {
	const char *level; /* name of an opensm_level */
	const struct opensm_range *qos_classes; /* 0..255: for rdma_cm over IPv4, the type-of-service byte */
	size_t qos_class_count;
	const struct opensm_range *service_ids;
	size_t service_id_count;
	const struct opensm_range *pkeys; /* 1..0x7fff, without the membership bit */
	size_t pkey_count;
	const char *const *sources; /* names of groups */
	size_t source_count;
	const char *const *destinations;
	size_t destination_count;
};
struct opensm_policy {
	const struct opensm_level *levels;
	size_t level_count;
	const struct opensm_group *groups;
	size_t group_count;
	const struct opensm_rule *rules; /* in the order in which they are tried: the first that matches counts */
	size_t rule_count;
};
/*
 * Renders a policy file that OpenSM's strict parser takes: comment first, LF, final newline. Of its
 * keywords for protocols (qos-ulps) none is used: OpenSM makes match rules of them, but keeps those
 * read before a syntax error for the next good file (osm_qos_parser_y.y:2447), and refuses the whole
 * file for `ipoib` while fewer than two ports are members. -EINVAL: something that it would not
 * take, or take otherwise. The caller frees *text.
 */
int opensm_policy_render(const struct opensm_policy *policy, char **text, size_t *size);

/* --- the running instance --- */

struct opensm_instance {
	pid_t pid;
	int pidfd;		   /* holds on to this very process; -1 when not found */
	char *config;		   /* absolute path it was started with (-F/--config), or the default */
	char *log;		   /* absolute path of its log file: -f/--log_file, else its config's log_file, else the
				      default; NULL: stdout or stderr */
	bool config_given;	   /* -F was on its command line */
	bool erases_log;	   /* -e was: it empties its log file each time it opens it */
	/* Options that go before the config, as they stand on its command line; NULL, false: not there. */
	bool qos;		   /* -Q: counts until the file's `qos` changes (osm_subnet.c:351, 464) */
	char *qos_policy;	   /* -Y: for good, as of a key that is not read again */
	char *routing_engine;	   /* -R: likewise */
	char *nue_vls;		   /* --nue_max_num_vls: until the file's changes */
	char *sm_sl;		   /* --sm_sl: likewise */
};

/*
 * Finds the OpenSM process of this machine that reads `config` (paths compared by what they
 * resolve to), among the /proc entries named "opensm". 0; -ESRCH: none runs; -ENOENT: some run,
 * none with this config; -EMLINK: more than one does; -ENOSYS: the kernel has no pidfd_open.
 */
int opensm_find(const struct ibqos_ctx *ctx, const char *config, struct opensm_instance *instance);
void opensm_instance_clear(struct opensm_instance *instance);
/* Each OpenSM of this machine with its config, for people: "process 12 with /a, process 13 with /b"; NULL: none,
 * or out of memory. The caller frees it. */
char *opensm_others(const struct ibqos_ctx *ctx);
/* Whether a path that the process was given leads to the file that is at `path` for us: as opensm_sees(). */
int opensm_means(const struct opensm_instance *instance, const char *given, const char *path);
/*
 * Whether it sees at `path` the very file that is there for us, or is missing for us: 1, 0, or -errno
 * if that cannot be told. It does not in another mount namespace or root.
 */
int opensm_sees(const struct opensm_instance *instance, const char *path);
/* SIGHUP through the pidfd: heavy sweep and config re-read. -ESRCH once it is gone. */
/* Whether it may be told: 0; -EPERM; -ESRCH: it is gone; -errno. */
int opensm_may_reload(const struct opensm_instance *instance);
int opensm_reload(const struct opensm_instance *instance);
bool opensm_alive(const struct opensm_instance *instance);
/*
 * Has it write out what it has logged so far: SIGUSR1, on which it closes its log file and opens it
 * again, as logrotate does (main.c:597, osm_log.c:452). Without `force_log_flush` the end of a sweep
 * shows up minutes late. Not for one that erases its log when it opens it: -EPERM.
 */
int opensm_flush_log(const struct opensm_instance *instance);

/* --- what is known of the running instance --- */

/* Whose rules it follows: what ibqos expects of devices is modelled after upstream's (osm_qos.c). */
enum opensm_flavour {
	OPENSM_FLAVOUR_UNKNOWN, /* no version was found */
	OPENSM_TESTED,		/* 3.3.23, or 3.3.24, which has the same QoS, parser, routing and sweep code */
	OPENSM_UNTESTED,
	OPENSM_NVIDIA, /* by its version ("5.17.0.MLNX...", 4 and above), or UFM's, by its path */
};
const char *opensm_flavour_text(enum opensm_flavour flavour); /* for people */

#define OPENSM_KEYS_MAX 32
struct opensm_facts { /* strings are NULL where it is not known, or not there */
	char *command;		  /* its command line, printable */
	char *version;		  /* "3.3.23" */
	const char *version_from; /* static: "its program" or "its log" */
	enum opensm_flavour flavour;
	char *unit;		 /* systemd's service that it runs in, "opensm@0x....service" */
	uint64_t port_guid;	 /* that it sits on, by its log or -g; 0: not known */
	char *engine;		 /* that routed last, by its log: "minhop" */
	struct timespec started; /* by the wall clock as it is set now; zero: not known */
	char *partitions;	 /* -P */
	char *prefix_routes;	 /* --prefix_routes_file */
	char *console;		 /* -q */
	unsigned console_port;	 /* -C; 0: not given */
	const char *keys[OPENSM_KEYS_MAX]; /* static: keys of opensm.conf that its command line sets, of those that a
					      reload reads again */
	unsigned key_count;
};
/*
 * Looks without starting anything: the version is a string in the program that runs (/proc/PID/exe),
 * else in its log's first lines. `log`: path of its log, may be NULL. 0 or -ENOMEM.
 */
int opensm_facts_read(const struct opensm_instance *instance, const char *log, struct opensm_facts *facts);
void opensm_facts_clear(struct opensm_facts *facts);

/* The port of its console on the loopback, by its command line, else by the config that it started with; 0: none. */
unsigned opensm_console_port(const struct opensm_facts *facts, const struct opensm_conf *conf);
/*
 * Asks the console one command ("dump_conf": its effective options, in the form of opensm.conf;
 * "status"). Says nothing to what does not greet as OpenSM does. The caller frees *text. 0 or -errno.
 */
int opensm_console_ask(unsigned port, const char *command, unsigned timeout_ms, char **text);
struct opensm_status {
	char *engine, *state; /* "minhop", "Master" */
	uint64_t port_guid;   /* that it sits on */
};
void opensm_console_status(const char *status, struct opensm_status *out);
void opensm_status_clear(struct opensm_status *status);

/* A key that has another value in a file than in what OpenSM runs with; borrowed from both, secrets not shown. */
struct opensm_conf_change {
	const char *key, *file, *running; /* running NULL: not set there */
	unsigned line;
};
/*
 * What a reload of `file` would change: keys that a reload reads again (osm_subnet.c: can_update), their
 * values as OpenSM reads them; one that it does not take changes nothing, nor does one that is gone from the
 * file (osm_subnet.c:2295). `running`: its effective options (dump_conf), or the file that it read last. Not
 * compared: the congestion control keys that stand once for each SL. The caller frees *changes. 0 or -ENOMEM.
 */
int opensm_conf_changes(const struct opensm_conf *file, const struct opensm_conf *running,
			struct opensm_conf_change **changes, size_t *count);

/*
 * Follows a log file from where it ends now. Only a hint of a sweep's end: SUBNET UP proves
 * nothing about tables.
 */
struct opensm_log;
struct opensm_log_events {
	unsigned subnet_up;    /* "SUBNET UP" or "Errors during initialization" lines since the start */
	unsigned init_errors;  /* of these, the latter */
	unsigned policy_errors; /* AC01, AC03..AC06, AC10..AC13: the qos-policy file was refused */
	char *last_error;      /* the last line with " ERR ", printable; NULL if none */
};
/* A file that does not exist yet is fine; of NULL, or what is no regular file, nothing is ever told. */
int opensm_log_open(const char *path, struct opensm_log **log);
void opensm_log_close(struct opensm_log *log);
int opensm_log_poll(struct opensm_log *log, struct opensm_log_events *events); /* adds; follows rotation */
void opensm_log_events_clear(struct opensm_log_events *events);

#endif
