/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos job: its subcommands, and what they share. */
#ifndef IBQOS_CMD_JOB_H
#define IBQOS_CMD_JOB_H

#include "cmd.h"

#include "ibqos/job.h"

enum ibqos_exit cmd_job_env(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_job_check(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_job_log(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_job_host(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_job_bw_plan(struct ibqos_ctx *ctx, int argc, char **argv);
enum ibqos_exit cmd_job_bw_read(struct ibqos_ctx *ctx, int argc, char **argv);
extern const struct argp cmd_job_env_argp, cmd_job_check_argp, cmd_job_log_argp, cmd_job_host_argp, cmd_job_bw_plan_argp,
	cmd_job_bw_read_argp;

/* A policy read for a job: NULL, with messages on standard error and *code set, if there is none to use. */
struct policy *cmd_job_policy(struct ibqos_ctx *ctx, const char *path, enum ibqos_exit *code);
/* A class by its name: NULL, with a message naming those there are. */
const struct policy_class *cmd_job_class(struct ibqos_ctx *ctx, const struct policy *policy, const char *name);
/* Options' values, or a usage error (exit 3). */
enum job_link cmd_job_link(struct argp_state *state, const char *text);
unsigned cmd_job_nccl(struct argp_state *state, const char *text);

/*
 * Ties failed transfers and events of a log to links, by the session's --from and the state file of an audit (NULL: none). Without
 * either it does nothing.
 */
void cmd_job_log_links(struct cmd_session *s, const struct job_log *log, const char *state);

/* What queue pairs of a job have, and between whom they are. */
struct job_wish {
	const char *hosts; /* a list of names */
	uint16_t sls;	   /* as bits */
	const unsigned *pkeys; /* indexes of P_Key tables */
	size_t pkey_count;
	const struct policy *policy; /* NULL: none */
	bool by_lft;
	const struct job_question *question;
	const struct job_env *envs; /* of its hosts */
	size_t env_count;
};
/*
 * Discovers the fabric, looks at the partition keys of the hosts' ports, and at which SLs switches route adaptively, and follows
 * the paths between them on each SL;
 * tables, findings and coverage go to the session.
 */
void cmd_job_paths(struct cmd_session *s, const struct job_wish *wish);
/* The same of the session's fabric, which is there already: `of` of a site, or NULL. */
void cmd_job_paths_in(struct cmd_session *s, const struct job_wish *wish, const struct site_fabric *of);
/* Whether each fabric of a site (NULL: none) is to be looked at: else a port or a file was named, which is one fabric. */
bool cmd_job_by_site(const struct cmd_options *options, const char *site);
/* The same of all fabrics of a site, each as a part of the report; the command line has what workers are told. */
void cmd_job_paths_site(struct cmd_session *s, const struct job_wish *wish, struct site *site, bool trusted, int argc, char **argv);

#endif
