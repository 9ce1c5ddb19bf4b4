/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos job: the side of the jobs. A table of its own commands, and what they share. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

const struct cmd cmd_job_table[] = {
	{"env", cmd_job_env, "print the settings that put a job into a class", &cmd_job_env_argp, NULL, RIGHTS_READ},
	{"check", cmd_job_check, "what a job is started with, as NCCL reads it, against its class", &cmd_job_check_argp, NULL, RIGHTS_READ},
	{"log", cmd_job_log, "read logs of NCCL: networks, adapters, settings in force, errors", &cmd_job_log_argp, NULL, RIGHTS_READ},
	{"host", cmd_job_host, "look at the adapters of this host before a job starts", &cmd_job_host_argp, NULL, RIGHTS_READ},
	{"bw-plan", cmd_job_bw_plan, "a script that measures bandwidth between pairs of hosts", &cmd_job_bw_plan_argp, NULL, RIGHTS_READ},
	{"bw-read", cmd_job_bw_read, "judge what ib_write_bw printed", &cmd_job_bw_read_argp, NULL, RIGHTS_READ},
	{0},
};

enum ibqos_exit cmd_job(struct ibqos_ctx *ctx, int argc, char **argv)
{
	return cmd_group(ctx, "job", "Does a training job really travel in its class? Only `check --hosts` asks the\nfabric.",
			 cmd_job_table, argc, argv);
}

struct policy *cmd_job_policy(struct ibqos_ctx *ctx, const char *path, enum ibqos_exit *code)
{
	struct finding_list findings = {0};
	struct policy *policy = NULL;
	int error = policy_read(path, &findings, &policy);
	char *why = NULL;

	if (trust_path(ctx->trust, path, &why) == 1)
		ctx_warn(ctx, "somebody else can have written policy %s: %s; --trust USER:GROUP says who may", path, why);
	free(why);

	*code = IBQOS_EXIT_UNKNOWN;
	if (error != 0) {
		ctx_error(ctx, "cannot read policy %s: %s", path, strerror(-error));
	} else if (!policy) {
		ctx_error(ctx, "policy %s has %zu faults, so no class can be taken from it: `ibqos lint %s` names them", path,
			  finding_count(&findings, FINDING_CRITICAL), path);
		*code = IBQOS_EXIT_CRITICAL;
	}
	finding_list_clear(&findings);
	return policy;
}

const struct policy_class *cmd_job_class(struct ibqos_ctx *ctx, const struct policy *policy, const char *name)
{
	char *names = NULL;
	size_t size = 0;
	FILE *list;

	for (size_t i = 0; i < policy->class_count; i++) {
		if (strcmp(policy->classes[i].name, name) == 0)
			return &policy->classes[i];
	}
	list = open_memstream(&names, &size);
	for (size_t i = 0; list && i < policy->class_count; i++)
		fprintf(list, "%s%s", i ? ", " : "", policy->classes[i].name);
	if (list && text_stream_end(list, &names) != 0)
		names = NULL;
	ctx_error(ctx, "no class '%s' in policy %s; it has %s", name, policy->path, names ? names : "others");
	free(names);
	return NULL;
}

enum job_link cmd_job_link(struct argp_state *state, const char *text)
{
	enum job_link link = JOB_LINK_INFINIBAND;

	if (job_link_of(text, &link) != 0)
		argp_error(state, "--link-layer takes infiniband or ethernet, not '%s'", text);
	return link;
}

unsigned cmd_job_nccl(struct argp_state *state, const char *text)
{
	unsigned version = JOB_NCCL_NEWEST;
	int error = job_nccl_parse(text, &version);

	if (error == -ERANGE)
		argp_error(state, "--nccl: the rules before 2.12.7 are not known, so not those of '%s'", text);
	else if (error != 0)
		argp_error(state, "--nccl takes a version as 2.28.9, not '%s'", text);
	return version;
}
