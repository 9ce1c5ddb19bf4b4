/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos job env: the settings that put a job into a class, in the form that its launcher takes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

struct env_options {
	struct cmd_options common; /* first: children get the same pointer */
	const char *policy, *class;
	enum job_form form;
	enum job_link link;
	unsigned stacks;
};

enum { KEY_POLICY = 0x300, KEY_CLASS, KEY_FORM, KEY_LINK, KEY_STACK };

static const struct argp_option own_options[] = {
	{"class", KEY_CLASS, "CLASS", 0, "the class that the job is to have", 0},
	{"policy", KEY_POLICY, "FILE", 0, "the policy that has the class", 0},
	{"form", KEY_FORM, "FORM", 0, "shell (default), nccl-conf, slurm, kubernetes or openmpi", 0},
	{"link-layer", KEY_LINK, "LAYER", 0, "infiniband (default) or ethernet", 0},
	{"stack", KEY_STACK, "LIST", 0,
	 "only these, of nccl, ucx, openmpi, nvshmem, deepep, mooncake, rdma-cm, sharp (default: all)", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct env_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &o->common);
		return 0;
	case KEY_POLICY:
		o->policy = arg;
		return 0;
	case KEY_CLASS:
		o->class = arg;
		return 0;
	case KEY_FORM:
		if (job_form_of(arg, &o->form) != 0)
			argp_error(state, "--form takes one of shell, nccl-conf, slurm, kubernetes, openmpi, not '%s'", arg);
		return 0;
	case KEY_LINK:
		o->link = cmd_job_link(state, arg);
		return 0;
	case KEY_STACK:
		if (job_stacks_of(arg, &o->stacks) != 0)
			argp_error(state, "--stack takes names as nccl,ucx: see --help, not '%s'", arg);
		return 0;
	case ARGP_KEY_END:
		if (!o->policy || !o->class)
			argp_error(state, "--policy and --class are needed");
		cmd_no_metrics(state, &o->common);
		return 0;
	default:
		return cmd_argument(key, arg, state, &o->common, 0, NULL);
	}
}

const struct argp cmd_job_env_argp = {
	.options = own_options,
	.parser = parse,
	.args_doc = "--policy FILE --class CLASS",
	.doc = "Prints the settings that put a job into a class of the policy: for NCCL and for other programs that choose "
	       "an SL themselves. A variable is set only where it has an effect on the link layer; comments say why.\v"
	       "In a job script: eval \"$(ibqos job env --policy FILE --class training)\". With --format json the same as "
	       "rows. Exit status: 0 done, 2 the policy has faults, 3 it cannot be read or has no such class.",
	.children = cmd_output_children,
};

static void report_rows(struct cmd_session *s, const struct job_advice *items, size_t count)
{
	static const struct report_column columns[] = {
		{.key = "stack", .title = "of", .type = REPORT_STRING},
		{.key = "name", .title = "setting", .type = REPORT_STRING},
		{.key = "value", .title = "value", .type = REPORT_STRING},
		{.key = "why", .title = "why", .type = REPORT_STRING},
	};

	report_table(s->report, "settings", "settings", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++) {
		report_cell_string(s->report, job_stack_name(items[i].stack));
		report_cell_string(s->report, items[i].name);
		report_cell_if(s->report, items[i].value);
		report_cell_string(s->report, items[i].why);
		report_row_end(s->report);
	}
	report_table_end(s->report);
}

static enum ibqos_exit as_report(struct ibqos_ctx *ctx, const struct env_options *o, const struct policy_class *class,
				 const struct job_advice *items, size_t count)
{
	struct cmd_session s;

	if (!session_begin(&s, ctx, &o->common))
		return IBQOS_EXIT_UNKNOWN;
	report_string(s.report, "class", "class", class->name);
	report_number(s.report, "sl", "SL", class->sl);
	report_string(s.report, "link_layer", "link layer", job_link_name(o->link));
	report_rows(&s, items, count);
	return session_end(&s);
}

/* The bare form: nothing else may stand on standard output, which a shell is going to run. */
static enum ibqos_exit as_form(struct ibqos_ctx *ctx, const struct env_options *o, const struct policy_class *class,
			       const struct job_advice *items, size_t count)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	int error = to ? job_advice_write(to, o->form, class, items, count) : -ENOMEM;
	int unfinished = to ? text_stream_end(to, &text) : 0;

	error = error ? error : unfinished;
	if (error == 0)
		error = cmd_write(o->common.output, text, size);
	free(text);
	if (error == 0)
		return IBQOS_EXIT_CLEAN;
	ctx_error(ctx, "cannot write %s: %s", o->common.output ? o->common.output : "standard output", strerror(-error));
	return IBQOS_EXIT_UNKNOWN;
}

enum ibqos_exit cmd_job_env(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct env_options options = {.stacks = JOB_ALL_STACKS};
	const struct policy_class *class = NULL;
	struct job_advice *items = NULL;
	struct policy *policy;
	enum ibqos_exit code;
	size_t count = 0;
	int error;

	cmd_defaults(&options.common, ctx);
	cmd_parse(&cmd_job_env_argp, argc, argv, &options);
	policy = cmd_job_policy(ctx, options.policy, &code);
	if (policy)
		class = cmd_job_class(ctx, policy, options.class);
	if (!class) {
		code = policy ? IBQOS_EXIT_UNKNOWN : code;
		goto out;
	}
	error = job_advise(class, options.link, options.stacks, &items, &count);
	if (error != 0) {
		ctx_error(ctx, "cannot make the settings: %s", strerror(-error));
		code = IBQOS_EXIT_UNKNOWN;
		goto out;
	}
	code = options.common.format == REPORT_TEXT ? as_form(ctx, &options, class, items, count)
						    : as_report(ctx, &options, class, items, count);
out:
	job_advice_free(items, count);
	policy_free(policy);
	return code;
}
