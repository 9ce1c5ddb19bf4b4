/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * cmd: the commands. One file a command: collect, call, report. Only this folder and main.c print
 * results or choose exit codes.
 */
#ifndef IBQOS_CMD_H
#define IBQOS_CMD_H

#include <argp.h>

#include "progress.h"

#include "ibqos/check.h"
#include "ibqos/figures.h"
#include "ibqos/report.h"
#include "ibqos/rights.h"
#include "ibqos/trust.h"
#include "ibqos/source.h"

/*
 * A row of the table of commands (commands.c), or of a group's own one (job.c, maintenance.c), whose last row has no name.
 * Help and completion are made of these, too. run() gets argv[0] = "ibqos NAME" and returns the exit code. One of neither options nor
 * commands of its own (`help`) takes the name of another.
 */
struct cmd {
	const char *name;
	enum ibqos_exit (*run)(struct ibqos_ctx *ctx, int argc, char **argv);
	const char *summary;
	const struct argp *argp;	/* its options; NULL for a group, and for `help` */
	const struct cmd *commands; /* of a group; NULL for a command */
	enum rights rights; /* what it needs; of a command that has commands, those of the one that needs most */
};

extern const struct cmd cmd_table[], cmd_job_table[], cmd_maintenance_table[];
/* The row of a table with this name; NULL: none. */
const struct cmd *cmd_find(const struct cmd *table, const char *name);

#define CMD_TYPO_MAX 2 /* keys amiss */
/* Of a name that is none: the one of a table that may have been meant; NULL: none is near. */
const char *cmd_near(const struct cmd *table, const char *name);

/* Runs the row of cmd_table that argv[0] names; what is none is told. The exit code. */
enum ibqos_exit cmd_run(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_help(struct ibqos_ctx *ctx, int argc, char **argv);

/* Examples of a command, by its full name, for the end of its help (examples.c). */
void cmd_examples(FILE *to, const char *command);

/* An option before the command: rows of a table whose last has no name. */
struct cmd_global {
	const char *name;
	char letter; /* 0: none */
	const char *summary; /* NULL: hidden */
};
extern const struct cmd_global cmd_globals[];
/* The help of the whole program. */
void cmd_usage(FILE *to);

/* Runs the row of a command's own table that argv[1] names; `about` says in a line what they are for (group.c). */
enum ibqos_exit cmd_group(struct ibqos_ctx *ctx, const char *group, const char *about, const struct cmd *commands, int argc, char **argv);

/* Writes the completion for "bash" or "zsh" (completion.c). 0, -EINVAL for another shell, -errno. */
int cmd_completion(const char *shell, FILE *out);

enum ibqos_exit cmd_discover(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_lint(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_import(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_plan(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_apply(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_rollback(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_history(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_confirm(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_verify(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_trace(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_audit(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_ack(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_job(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_diff_states(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_maintenance(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_rails(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_merge(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_snapshot(struct ibqos_ctx *ctx, int argc, char **argv);
extern const struct argp cmd_discover_argp, cmd_lint_argp, cmd_import_argp, cmd_plan_argp, cmd_apply_argp,
	cmd_rollback_argp, cmd_history_argp, cmd_confirm_argp, cmd_verify_argp, cmd_trace_argp, cmd_audit_argp,
	cmd_ack_argp, cmd_diff_states_argp, cmd_snapshot_argp, cmd_rails_argp, cmd_merge_argp;

/* --- options shared by commands (options.c) --- */

#define CMD_ARGUMENTS 2
#define CMD_SCOPE_MAX 64 /* names on one command line */
#define CMD_LABELS_MAX 8

struct cmd_options {
	struct ibqos_ctx *ctx;
	struct source_options source;
	const char *from; /* a file to read instead of the fabric; NULL: the fabric */
	enum report_format format;
	const char *config;    /* -z; NULL: the default config of infiniband-diags */
	const char *m_key;     /* -y: a file, or "prompt"; never a key */
	const char *guid2mkey; /* OpenSM's file of keys */
	bool timeout_given;
	const char *output; /* NULL: standard output */
	const char *metrics; /* file for node_exporter; NULL: none */
	const char *labels[CMD_LABELS_MAX]; /* "name=value" */
	unsigned label_count;
	bool no_report;	    /* standard output is for something else; --output may have the report */
	bool nameless;	    /* what this machine is called is not told (--redact) */
	bool writes;	    /* the command writes a file of its own, besides --output and --metrics */
	enum { CMD_COLOR_AUTO, CMD_COLOR_ALWAYS, CMD_COLOR_NEVER } color;
	bool all;	    /* name each place of a group of findings */
	struct scope_name scope[CMD_SCOPE_MAX]; /* the part of the fabric that it is about */
	unsigned scope_count;			/* 0: all of it */
	const char *argument[CMD_ARGUMENTS];
	unsigned arguments;
	bool asks;		   /* some of cmd_asking_children's are given */
	const char *site;	   /* of --site: many fabrics; NULL: one */
	const char *opensm_config; /* in place of the policy's; "none": OpenSM runs on another host; NULL: the policy's */
};

/*
 * Child tables of options; their input is the struct cmd_options. A command's own parser hands
 * them down at ARGP_KEY_INIT with cmd_hand_down() and leaves other keys to cmd_argument().
 */
extern const struct argp_child cmd_fabric_children[]; /* fabric, output and common options */
extern const struct argp_child cmd_scope_children[];  /* as cmd_source_children, and --node, --switch, --hosts */
extern const struct argp_child cmd_source_children[]; /* the same, and --from */
extern const struct argp_child cmd_asking_children[]; /* those of fabric options that mean something with --site; output and common options */
extern const struct argp_child cmd_output_children[]; /* output and common options */
/* Parses a command line, and ends the program on bad usage; an option that is none is told with the one that may have been meant. */
void cmd_parse(const struct argp *argp, int argc, char **argv, void *input);
void cmd_hand_down(struct argp_state *state, struct cmd_options *options);
/* The option that has a command look at all fabrics of a site, as a row of its own table; and what takes it: false for other keys. */
enum { CMD_KEY_SITE = 0x180, CMD_KEY_OPENSM_CONFIG };
#define CMD_SITE_ROW \
	{"site", CMD_KEY_SITE, "FILE", 0, "look at all fabrics of this site at once (ibqos-site(5)); --fabric NAME,NAME: at these of them", 0}
#define CMD_OPENSM_CONFIG_ROW \
	{"opensm-config", CMD_KEY_OPENSM_CONFIG, "FILE", 0, \
	 "OpenSM's config, in place of the one that the policy names; none: it runs on another host", 0}
bool cmd_site_option(struct cmd_options *options, int key, const char *arg);
/* Looks at all fabrics of options->site, by a worker each, and gives the exit code (site.c). `argv` as the command got it. */
enum ibqos_exit cmd_site(struct ibqos_ctx *ctx, const struct cmd_options *options, int argc, char **argv);
/* For commands that measure nothing: a usage error where metrics, or the line for Nagios, are asked for. */
void cmd_no_metrics(struct argp_state *state, const struct cmd_options *options);
/* Takes positional arguments, `wanted` of them, named in messages by `name`. */
error_t cmd_argument(int key, char *arg, struct argp_state *state, struct cmd_options *options, unsigned wanted,
		     const char *name);
/* An option's whole number in low..high, or a usage error (exit 3). */
uint64_t cmd_number(struct argp_state *state, const char *option, const char *text, uint64_t low, uint64_t high);
/* An option's time, as text_duration() has it, in seconds in low..high; or a usage error (exit 3). */
uint64_t cmd_duration(struct argp_state *state, const char *option, const char *text, uint64_t low, uint64_t high);
/* Appends to a list of strings that may be given more than once; the caller frees the list. 0, or ENOMEM, which is told. */
error_t cmd_keep(struct argp_state *state, const char ***list, size_t *count, size_t *room, const char *item);
void cmd_defaults(struct cmd_options *options, struct ibqos_ctx *ctx);

/* --- a run of a command (session.c) --- */

/* What is read before a source is opened and stays until it is closed (keys.c). */
struct cmd_secrets {
	struct source_keys keys;
	struct ibdiag_conf conf;
};

/* How far ports have come that take new tables. */
struct cmd_progress {
	uint64_t began_ns;	     /* 0: not yet */
	uint32_t from, right;	     /* ports that held them at the first look, and at the last */
};

/* What is drawn of the fabric at the end (figures.c): what commands have taken from their own work. */
struct cmd_figures {
	bool wanted;	/* by the command; only a page for a browser has any */
	bool *looked;	/* by port index; NULL: all that answered */
	struct counters counters; /* ports NULL: not asked */
	struct counter_measure *measures;
};

struct cmd_session {
	struct ibqos_ctx *ctx;
	const struct cmd_options *options;
	struct cmd_secrets secrets;
	struct source *source;
	struct fabric *fabric;
	struct scope scope; /* of session_scope(); ports NULL: the whole fabric */
	struct finding_list findings;
	struct report *report;
	FILE *out;
	char *buffer; /* what goes to --output, replaced whole at the end */
	size_t buffer_size;
	struct report *metrics; /* the same for --metrics; NULL: not asked for */
	FILE *metrics_out;
	char *metrics_buffer;
	size_t metrics_size;
	enum ibqos_exit least; /* the exit code is never better than this */
	struct cmd_figures figures;
	struct cmd_sample *sample; /* of verify: the ports to be looked at; NULL: all */
	uint64_t began;	     /* seconds since 1970 */
	const char *policy_path; /* of session_policy() */
	char *policy_name;
	bool headed;	     /* the head was told */
	double discovery_seconds;
	double seconds;	       /* that session_verify() asked */
	struct cmd_line line;
	struct cmd_progress progress;
};

/* Starts the report. False, with a message, if it cannot. */
bool session_begin(struct cmd_session *s, struct ibqos_ctx *ctx, const struct cmd_options *options);
struct snapshot_merged;
/* A note where snapshots that were made one say different things. */
void session_merged(struct cmd_session *s, const char *fabric, const struct snapshot_merged *merged);
/* "2026-11-30T10:42:21Z" */
#define SESSION_TIME 40
void session_time(uint64_t seconds, char text[SESSION_TIME]);
/* Whether nobody else can have written a file that the command goes by, else a finding; NULL is fine: finding_trust(). */
bool session_trust(struct cmd_session *s, const char *path);
bool session_trust_state(struct cmd_session *s, const char *folder); /* one below the state directory */
/* Which policy it goes by, for the head of the report: before session_discover(). `name` NULL: it has none. The path is borrowed. */
void session_policy(struct cmd_session *s, const char *path, const char *name);
/* Opens the source, unless there is one already, and discovers; gaps and a missing SM become findings. False, with a message, if it cannot. */
bool session_discover(struct cmd_session *s);
/*
 * After the discovery, and before anything else is looked at: the part of the fabric that was named on the command line, if
 * any, is all that findings, coverage and exit code are about from here on. False, with a message, if it is empty.
 */
bool session_scope(struct cmd_session *s);
/* The scope to hand on; NULL: the whole fabric. */
const struct scope *session_scope_of(const struct cmd_session *s);
/* The run could not be done: message to stderr and, in JSON, the member "error"; exit code unknown. */
__attribute__((format(printf, 2, 3))) void session_fail(struct cmd_session *s, const char *format, ...);
/* The worse of two exit codes, in the order critical, unknown, warning, clean. */
enum ibqos_exit session_worse(enum ibqos_exit a, enum ibqos_exit b);
/* Sorts and reports the findings, ends the report, writes --output, frees, and gives the exit code. */
enum ibqos_exit session_end(struct cmd_session *s);

/* Reads every port and compares. True if there is a result, even a partial one; session_fail() has said what broke. */
bool session_verify(struct cmd_session *s, const struct qos_config *config, struct verify **verify);
/* Coverage: what was asked, answered, failed. */
void session_coverage(struct cmd_session *s, const struct verify_result *result);
/* Writes a text to a file, which is replaced whole, to a device, or (path NULL) to standard output. 0 or -errno. */
int cmd_write(const char *path, const char *text, size_t size);
/* A table of coverage, ended by report_table_end(): what was asked for, how often, and how that ended. */
void session_coverage_table(struct report *r, const char *key, const char *title);
void session_coverage_row(struct report *r, const char *item, const struct check_coverage *c);
/* A number in JSON, and a field of text where it is not 0: counts of MADs that went wrong. */
void session_failures(struct report *r, const char *key, const char *title, uint64_t count);
/* The MADs of the whole run: to discover and to ask. session_coverage() has them already. */
void session_mads(struct cmd_session *s);
/* Number of nodes, ports and links found, as fields. */
void session_fabric_fields(struct cmd_session *s);

/* --- pictures (figures.c) --- */

/* Which ports a verify has judged. */
void cmd_figures_judged(struct cmd_session *s, const struct verify *verify);
/* What classes are guaranteed by a plan, at once. */
struct policy;
struct plan;
void cmd_figure_shares(struct cmd_session *s, const struct policy *policy, const struct plan *plan);
/* Ports and topology of the session's fabric with its findings, where the command wants them; and frees what they were drawn from. */
void cmd_figures_end(struct cmd_session *s);

/* --- unified differences (diff.c) --- */

/*
 * `diff -u` of two texts (NULL: the file does not exist) under the given name; "" if equal. Run by
 * diff(1), which every Debian has. The caller frees *text. 0 or -errno.
 */
int cmd_diff(const char *name, const char *old, size_t old_size, const char *new, size_t new_size, char **text);

#endif
