/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos job log: what NCCL logged of its networks, adapters, settings and errors. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

struct log_options {
	struct cmd_options common; /* first: children get the same pointer */
	const char *policy, *class, *state;
	const char **files;
	size_t file_count, file_room;
};

enum { KEY_POLICY = 0x300, KEY_CLASS, KEY_FROM, KEY_STATE, KEY_MAP };

static const struct argp_option own_options[] = {
	{"policy", KEY_POLICY, "FILE", 0, "the policy that has the job's class", 0},
	{"class", KEY_CLASS, "CLASS", 0, "the class that the job was to have", 0},
	{"from", KEY_FROM, "FILE", 0, "look up links of adapters whose transfers failed in a snapshot, or what ibnetdiscover wrote", 0},
	{"state", KEY_STATE, "FILE", 0, "and in the state file of `ibqos audit`", 0},
	{"node-name-map", KEY_MAP, "FILE", 0, "names of nodes for --from, as for infiniband-diags", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct log_options *o = state->input;

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
	case KEY_FROM:
		o->common.from = arg;
		return 0;
	case KEY_STATE:
		o->state = arg;
		return 0;
	case KEY_MAP:
		o->common.source.node_name_map = arg;
		return 0;
	case ARGP_KEY_ARG:
		return cmd_keep(state, &o->files, &o->file_count, &o->file_room, arg);
	case ARGP_KEY_END:
		if (o->file_count == 0)
			argp_error(state, "a log is missing; - is standard input");
		if (!o->policy != !o->class)
			argp_error(state, "--policy and --class go together");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp cmd_job_log_argp = {
	.options = own_options,
	.parser = parse,
	.args_doc = "FILE...",
	.doc = "Reads logs of NCCL (NCCL_DEBUG=INFO) of one job: which network each process used, fall-back to sockets with its "
	       "cause, adapters and their speeds, GPUDirect, settings in force, failed transfers, events of adapters; for each "
	       "host a summary. Lines of several processes may be mixed; gzip files are unpacked; - is standard input.\v"
	       "With NCCL_DEBUG_SUBSYS=INIT,ENV,NET a log tells most. Exit status: 0 nothing found, 1 warnings, 2 faults, 3 the "
	       "log does not tell which network was used, or cannot be read.",
	.children = cmd_output_children,
};

static void report_hosts(struct report *r, const struct job_log_view *v)
{
	static const struct report_column columns[] = {
		{.key = "host", .title = "host", .type = REPORT_STRING},
		{.key = "processes", .title = "processes", .type = REPORT_NUMBER},
		{.key = "network", .title = "network", .type = REPORT_STRING},
		{.key = "adapters", .title = "adapters", .type = REPORT_NUMBER},
		{.key = "channels_net", .title = "channels over it", .type = REPORT_NUMBER},
		{.key = "channels_gdr", .title = "with GPUDirect", .type = REPORT_NUMBER},
		{.key = "warnings", .title = "warnings", .type = REPORT_NUMBER},
		{.key = "completions", .title = "failed transfers", .type = REPORT_NUMBER},
		{.key = "events", .title = "events", .type = REPORT_NUMBER},
	};
	struct sums {
		uint64_t net, gdr;
		size_t adapters;
		const char *network;
	} *sums = calloc(v->host_count + 1, sizeof(*sums));

	for (size_t i = 0; sums && i < v->process_count; i++) {
		const struct job_log_process *p = &v->processes[i];
		struct sums *s = &sums[p->host];

		s->net += p->channels_net;
		s->gdr += p->channels_gdr;
		if (p->network[0])
			s->network = s->network && strcmp(s->network, p->network) != 0 ? "several" : p->network;
	}
	for (size_t i = 0; sums && i < v->device_count; i++)
		sums[v->devices[i].host].adapters++;
	report_table(r, "hosts", "hosts", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; sums && i < v->host_count; i++) {
		report_cell_string(r, v->hosts[i].name);
		report_cell_number(r, v->hosts[i].processes);
		report_cell_string(r, sums[i].network);
		report_cell_number(r, sums[i].adapters);
		report_cell_number(r, sums[i].net);
		report_cell_number(r, sums[i].gdr);
		report_cell_number(r, v->hosts[i].warn);
		report_cell_number(r, v->hosts[i].completions);
		report_cell_number(r, v->hosts[i].events);
		report_row_end(r);
	}
	report_table_end(r);
	free(sums);
}

static void report_processes(struct report *r, const struct job_log_view *v)
{
	static const struct report_column columns[] = {
		{.key = "process", .type = REPORT_STRING}, {.key = "host", .type = REPORT_STRING},
		{.key = "rank", .type = REPORT_NUMBER},	   {.key = "ranks", .type = REPORT_NUMBER},
		{.key = "nccl", .type = REPORT_STRING},	   {.key = "network", .type = REPORT_STRING},
		{.key = "channels_net", .type = REPORT_NUMBER}, {.key = "channels_gdr", .type = REPORT_NUMBER},
		{.key = "channels_socket", .type = REPORT_NUMBER}, {.key = "channels_local", .type = REPORT_NUMBER},
		{.key = "warnings", .type = REPORT_NUMBER},
	};

	report_table(r, "processes", NULL, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < v->process_count; i++) {
		const struct job_log_process *p = &v->processes[i];
		char version[JOB_NCCL_TEXT];

		report_cell_string(r, p->key);
		report_cell_string(r, v->hosts[p->host].name);
		if (p->rank >= 0)
			report_cell_number(r, (uint64_t)p->rank);
		else
			report_cell_none(r);
		if (p->ranks >= 0)
			report_cell_number(r, (uint64_t)p->ranks);
		else
			report_cell_none(r);
		job_nccl_text(p->nccl, version);
		report_cell_string(r, p->nccl ? version : NULL);
		report_cell_string(r, p->network[0] ? p->network : NULL);
		report_cell_number(r, p->channels_net);
		report_cell_number(r, p->channels_gdr);
		report_cell_number(r, p->channels_socket);
		report_cell_number(r, p->channels_local);
		report_cell_number(r, p->warn);
		report_row_end(r);
	}
	report_table_end(r);
}

static void report_devices(struct report *r, const struct job_log_view *v)
{
	static const struct report_column columns[] = {
		{.key = "host", .title = "host", .type = REPORT_STRING},
		{.key = "adapter", .title = "adapter", .type = REPORT_STRING},
		{.key = "link_layer", .title = "link layer", .type = REPORT_STRING},
		{.key = "gbps", .title = "speed", .type = REPORT_REAL, .unit = "Gb/s", .decimals = 0},
		{.key = "gdr", .title = "GPUDirect", .type = REPORT_STRING},
	};

	if (v->device_count == 0)
		return;
	report_table(r, "adapters", "adapters", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < v->device_count; i++) {
		const struct job_log_device *d = &v->devices[i];

		report_cell_string(r, v->hosts[d->host].name);
		report_cell_string(r, d->name);
		report_cell_string(r, job_link_name(d->link));
		if (d->mbps)
			report_cell_real(r, (double)d->mbps / 1000);
		else
			report_cell_string(r, NULL);
		report_cell_string(r, d->gdr < 0 ? NULL : d->gdr ? "enabled" : "disabled");
		report_row_end(r);
	}
	report_table_end(r);
}

static void report_settings(struct report *r, const struct job_log_view *v)
{
	static const struct report_column columns[] = {
		{.key = "name", .title = "setting", .type = REPORT_STRING},
		{.key = "value", .title = "in force", .type = REPORT_STRING},
		{.key = "processes", .title = "processes", .type = REPORT_NUMBER},
	};

	if (v->setting_count == 0)
		return;
	report_table(r, "settings", "settings", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < v->setting_count; i++) {
		report_cell_string(r, v->settings[i].name);
		report_cell_string(r, v->settings[i].value);
		report_cell_number(r, v->settings[i].processes);
		report_row_end(r);
	}
	report_table_end(r);
}

static void report_events(struct report *r, const struct job_log_view *v)
{
	static const char *const kinds[] = {
		[JOB_LOG_COMPLETION] = "failed transfer", [JOB_LOG_ASYNC] = "event", [JOB_LOG_ASYNC_FATAL] = "fatal event",
		[JOB_LOG_MODIFY_QP] = "queue pair",	  [JOB_LOG_FLID] = "no routable LID", [JOB_LOG_OTHER] = "warning",
	};
	static const struct report_column columns[] = {
		{.key = "host", .type = REPORT_STRING},	  {.key = "adapter", .type = REPORT_STRING},
		{.key = "kind", .type = REPORT_STRING},	  {.key = "status", .type = REPORT_NUMBER},
		{.key = "vendor", .type = REPORT_NUMBER}, {.key = "text", .type = REPORT_STRING},
		{.key = "peer", .type = REPORT_STRING},	  {.key = "count", .type = REPORT_NUMBER},
		{.key = "file", .type = REPORT_STRING},	  {.key = "line", .type = REPORT_NUMBER},
	};

	report_table(r, "events", NULL, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < v->event_count; i++) {
		const struct job_log_event *e = &v->events[i];

		report_cell_string(r, v->hosts[e->host].name);
		report_cell_string(r, e->device);
		report_cell_string(r, kinds[e->kind]);
		if (e->kind == JOB_LOG_COMPLETION && e->code >= 0) {
			report_cell_number(r, (uint64_t)e->code);
			report_cell_number(r, e->vendor);
		} else {
			report_cell_none(r);
			report_cell_none(r);
		}
		report_cell_string(r, e->text);
		report_cell_string(r, e->peer);
		report_cell_number(r, e->count);
		report_cell_string(r, v->files[e->file]);
		report_cell_number(r, e->line);
		report_row_end(r);
	}
	report_table_end(r);
}

static void read_logs(struct cmd_session *s, struct job_log *log, const struct log_options *o)
{
	for (size_t i = 0; i < o->file_count; i++) {
		int error = job_log_read(log, s->ctx, o->files[i]);
		struct finding *f;

		if (error == -EINTR)
			return; /* told at the end */
		if (error == -EBADMSG) {
			f = finding_at(finding_add(&s->findings, FINDING_JOB_LOG_CUT), o->files[i], 0, 0);
			finding_set(&f->got, "a gzip file that ends too early, or is broken");
		} else if (error != 0) {
			session_fail(s, "cannot read %s: %s", o->files[i], strerror(-error));
		}
	}
}

enum ibqos_exit cmd_job_log(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct job_question question = {.app_tc = JOB_NO_TC, .nccl = JOB_NCCL_NEWEST};
	struct log_options options = {0};
	enum ibqos_exit code = IBQOS_EXIT_UNKNOWN;
	struct policy *policy = NULL;
	struct job_log *log = NULL;
	struct cmd_session s;

	cmd_defaults(&options.common, ctx);
	cmd_parse(&cmd_job_log_argp, argc, argv, &options);
	if (!session_begin(&s, ctx, &options.common))
		goto out;
	if (options.policy) {
		policy = cmd_job_policy(ctx, options.policy, &s.least);
		if (policy) {
			s.least = IBQOS_EXIT_CLEAN;
			question.policy = policy;
			question.class = cmd_job_class(ctx, policy, options.class);
		}
	}
	if (options.policy && !question.class) {
		report_string(s.report, "error", NULL, policy ? "no such class" : "no policy"); /* it was said why */
		if (policy)
			s.least = IBQOS_EXIT_UNKNOWN;
	} else if (job_log_new(&log) != 0) {
		session_fail(&s, "out of memory");
	} else {
		struct job_log_view v;

		read_logs(&s, log, &options);
		v = job_log_view(log);
		report_number(s.report, "bytes", NULL, v.bytes);
		report_number(s.report, "lines", "lines", v.lines);
		report_number(s.report, "nccl_lines", "of NCCL", v.nccl_lines);
		report_number(s.report, "torn", v.torn ? "broken by another process's" : NULL, v.torn);
		report_hosts(s.report, &v);
		report_processes(s.report, &v);
		report_devices(s.report, &v);
		report_settings(s.report, &v);
		report_events(s.report, &v);
		cmd_job_log_links(&s, log, options.state);
		job_log_check(log, &question, &s.findings);
	}
	code = session_end(&s);
out:
	job_log_free(log);
	free(options.files);
	policy_free(policy);
	return code;
}
