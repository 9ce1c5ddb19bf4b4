/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos job bw-plan, bw-read: measurements by perftest between pairs of hosts, and what they say. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

struct bw_options {
	struct cmd_options common; /* first: children get the same pointer */
	const char *policy, *class, *hosts, *rails;
	bool all, busy;
	enum job_link link;
	unsigned seconds;
	double gbps, floor;
	const char **files;
	size_t file_count, file_room;
};

enum { KEY_POLICY = 0x300, KEY_CLASS, KEY_HOSTS, KEY_RAILS, KEY_ALL_PAIRS, KEY_LINK, KEY_SECONDS, KEY_RATE, KEY_FLOOR, KEY_BUSY };

static const struct argp_option plan_options[] = {
	{"hosts", KEY_HOSTS, "NODELIST", 0, "hosts to measure between: gpu-[001-008,012]", 0},
	{"hca", KEY_RAILS, "LIST", 0, "names of the adapters, the same on each host: mlx5_0,mlx5_1", 0},
	{"all-pairs", KEY_ALL_PAIRS, NULL, 0, "every pair, in rounds; else neighbours in the list", 0},
	{"seconds", KEY_SECONDS, "N", 0, "length of each measurement (default 10)", 0},
	{"policy", KEY_POLICY, "FILE", 0, "the policy that has the class", 0},
	{"class", KEY_CLASS, "CLASS", 0, "measure with this class's SL", 0},
	{"link-layer", KEY_LINK, "LAYER", 0, "infiniband (default) or ethernet: then the class's traffic class", 0},
	{0},
};

static const struct argp_option read_options[] = {
	{"rate", KEY_RATE, "GBPS", 0, "data rate of the links", 0},
	{"floor", KEY_FLOOR, "PERCENT", 0, "of what a link can carry, still good (default 90)", 0},
	{"policy", KEY_POLICY, "FILE", 0, "the policy that has the class", 0},
	{"class", KEY_CLASS, "CLASS", 0, "class that was measured", 0},
	{"busy", KEY_BUSY, NULL, 0, "all classes were busy meanwhile: the class's share is what counts", 0},
	{0},
};

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	struct bw_options *o = state->input;

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
	case ARGP_KEY_END:
		if (!o->policy != !o->class)
			argp_error(state, "--policy and --class go together");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_plan(int key, char *arg, struct argp_state *state)
{
	struct bw_options *o = state->input;

	switch (key) {
	case KEY_HOSTS:
		o->hosts = arg;
		return 0;
	case KEY_RAILS:
		o->rails = arg;
		return 0;
	case KEY_ALL_PAIRS:
		o->all = true;
		return 0;
	case KEY_SECONDS:
		o->seconds = (unsigned)cmd_number(state, "--seconds", arg, 1, 3600);
		return 0;
	case KEY_LINK:
		o->link = cmd_job_link(state, arg);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is one argument too many", arg);
		return 0;
	case ARGP_KEY_END:
		if (!o->hosts || !o->rails)
			argp_error(state, "--hosts and --hca are needed");
		cmd_no_metrics(state, &o->common);
		return parse_common(key, arg, state);
	default:
		return parse_common(key, arg, state);
	}
}

static error_t parse_read(int key, char *arg, struct argp_state *state)
{
	struct bw_options *o = state->input;

	switch (key) {
	case KEY_RATE:
		o->gbps = (double)cmd_number(state, "--rate", arg, 1, 100000);
		return 0;
	case KEY_FLOOR:
		o->floor = (double)cmd_number(state, "--floor", arg, 1, 100) / 100;
		return 0;
	case KEY_BUSY:
		o->busy = true;
		return 0;
	case ARGP_KEY_ARG:
		return cmd_keep(state, &o->files, &o->file_count, &o->file_room, arg);
	case ARGP_KEY_END:
		if (o->file_count == 0)
			argp_error(state, "files with ib_write_bw's output are missing");
		if (o->busy && !o->class)
			argp_error(state, "--busy needs --policy and --class");
		return parse_common(key, arg, state);
	default:
		return parse_common(key, arg, state);
	}
}

const struct argp cmd_job_bw_plan_argp = {
	.options = plan_options,
	.parser = parse_plan,
	.args_doc = "--hosts NODELIST --hca LIST",
	.doc = "Prints a shell script that measures bandwidth between pairs of hosts by ib_write_bw over ssh, rail by rail, with "
	       "the SL of a class if one is given. Nothing is run.\v"
	       "Each measurement leaves a file for `ibqos job bw-read`.",
	.children = cmd_output_children,
};

const struct argp cmd_job_bw_read_argp = {
	.options = read_options,
	.parser = parse_read,
	.args_doc = "FILE...",
	.doc = "Reads what ib_write_bw printed, and judges it: against the links' data rate less headers, against a class's share "
	       "of it where all classes were busy, and the pairs against each other.\v"
	       "Exit status: 0 good, 1 a pair is slower than the others, 2 below what the link should carry, 3 no result.",
	.children = cmd_output_children,
};

/* The class, NULL where none was asked for; false, told, if it cannot be had. */
static bool class_of(struct ibqos_ctx *ctx, const struct bw_options *o, struct policy **policy,
		     const struct policy_class **class, enum ibqos_exit *code)
{
	*policy = NULL;
	*class = NULL;
	if (!o->policy)
		return true;
	*policy = cmd_job_policy(ctx, o->policy, code);
	if (!*policy)
		return false;
	*code = IBQOS_EXIT_UNKNOWN;
	*class = cmd_job_class(ctx, *policy, o->class);
	return *class != NULL;
}

/* "a,b" into words; the text is cut up. */
static size_t split(char *text, const char **words, size_t room)
{
	size_t count = 0;

	for (char *save = NULL, *word = strtok_r(text, ",", &save); word && count < room; word = strtok_r(NULL, ",", &save))
		words[count++] = word;
	return count;
}

enum ibqos_exit cmd_job_bw_plan(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct bw_options o = {.seconds = 10};
	const struct policy_class *class;
	enum ibqos_exit code = IBQOS_EXIT_UNKNOWN;
	char *fault = NULL, *rails = NULL, *text = NULL;
	struct hostlist hosts = {0};
	struct policy *policy;
	const char *names[64];
	size_t size = 0;
	FILE *to;
	int error;

	cmd_defaults(&o.common, ctx);
	cmd_parse(&cmd_job_bw_plan_argp, argc, argv, &o);
	if (!class_of(ctx, &o, &policy, &class, &code))
		goto out;
	code = IBQOS_EXIT_UNKNOWN;
	error = hostlist_expand(o.hosts, &hosts, &fault);
	if (error != 0 || hosts.count < 2) {
		ctx_error(ctx, "cannot use --hosts '%s': %s", o.hosts,
			  error == 0 ? "two hosts at least" : fault ? fault : strerror(-error));
		goto out;
	}
	rails = strdup(o.rails);
	to = open_memstream(&text, &size);
	if (!rails || !to) {
		if (to)
			fclose(to);
		ctx_error(ctx, "out of memory");
		goto out;
	}
	{
		struct job_bw_plan plan = {
			.hosts = (const char *const *)hosts.names, .host_count = hosts.count, .rails = names, .all = o.all,
			.seconds = o.seconds, .sl = class && o.link == JOB_LINK_INFINIBAND ? (int)class->sl : -1,
			.traffic_class = class && o.link == JOB_LINK_ETHERNET ? class->nccl_ib_tc : -1,
		};
		int unfinished;

		plan.rail_count = split(rails, names, sizeof(names) / sizeof(names[0]));
		error = job_bw_write(to, &plan);
		unfinished = text_stream_end(to, &text);
		error = error ? error : unfinished;
	}
	if (error == -EINVAL)
		ctx_error(ctx, "cannot write the plan: a name of a host or adapter has other characters than a-z, 0-9, '.', '_', '-'");
	else if (error == 0 && (error = cmd_write(o.common.output, text, size)) == 0)
		code = IBQOS_EXIT_CLEAN;
	else
		ctx_error(ctx, "cannot write the plan: %s", strerror(-error));
out:
	free(fault);
	free(rails);
	free(text);
	hostlist_clear(&hosts);
	policy_free(policy);
	return code;
}

static void report_results(struct report *r, const struct job_bw_result *results, const char *const *names, size_t count)
{
	static const struct report_column columns[] = {
		{.key = "file", .title = "measurement", .type = REPORT_STRING},
		{.key = "adapter", .title = "adapter", .type = REPORT_STRING},
		{.key = "gbps", .title = "average", .type = REPORT_REAL, .unit = "Gb/s", .decimals = 1},
		{.key = "bytes", .title = "message", .type = REPORT_NUMBER},
		{.key = "mtu", .title = "MTU", .type = REPORT_NUMBER},
	};

	report_table(r, "results", "results", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++) {
		report_cell_string(r, names[i]);
		report_cell_string(r, results[i].device[0] ? results[i].device : NULL);
		if (results[i].found) {
			report_cell_real(r, results[i].gbps);
			report_cell_number(r, results[i].bytes);
		} else {
			report_cell_string(r, NULL);
			report_cell_none(r);
		}
		if (results[i].mtu)
			report_cell_number(r, results[i].mtu);
		else
			report_cell_none(r);
		report_row_end(r);
	}
	report_table_end(r);
}

enum ibqos_exit cmd_job_bw_read(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct bw_options o = {.floor = 0.9};
	struct job_bw_result *results = NULL;
	const struct policy_class *class;
	enum ibqos_exit code = IBQOS_EXIT_UNKNOWN;
	struct policy *policy;
	struct cmd_session s;

	cmd_defaults(&o.common, ctx);
	cmd_parse(&cmd_job_bw_read_argp, argc, argv, &o);
	if (!class_of(ctx, &o, &policy, &class, &code))
		goto out;
	results = calloc(o.file_count, sizeof(*results));
	code = IBQOS_EXIT_UNKNOWN;
	if (!results) {
		ctx_error(ctx, "out of memory");
		goto out;
	}
	if (!session_begin(&s, ctx, &o.common))
		goto out;
	for (size_t i = 0; i < o.file_count; i++) {
		char *text = NULL;
		size_t size = 0;
		int error = file_read(o.files[i], &text, &size);

		if (error == 0)
			job_bw_parse(text, size, &results[i]);
		else
			session_fail(&s, "cannot read %s: %s", o.files[i], strerror(-error));
		free(text);
	}
	report_results(s.report, results, o.files, o.file_count);
	if (o.gbps <= 0)
		report_string(s.report, "rate", "not known", "the links' data rate (--rate): the pairs are compared with each other alone");
	job_bw_check(results, o.files, o.file_count, o.gbps, o.busy && class ? class->share / 100 : 1, o.floor, &s.findings);
	code = session_end(&s);
out:
	free(results);
	free(o.files);
	policy_free(policy);
	return code;
}
