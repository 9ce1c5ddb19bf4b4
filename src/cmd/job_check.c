/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos job check: what a job is started with, as NCCL reads it, against its class. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

#include "ibqos/opensm.h"

struct check_options {
	struct cmd_options common; /* first: children get the same pointer */
	const char *site, *policy, *class, *root, *sysfs, *hosts;
	unsigned pid;
	const char **scripts, **env_files;
	size_t script_count, script_room, env_file_count, env_file_room;
	bool no_conf, by_lft;
	struct job_question question;
	bool link_given, trusted;
	int argc; /* the command line */
	char **argv;
	struct site *of_site;
};

enum {
	KEY_POLICY = 0x300,
	KEY_CLASS,
	KEY_LINK,
	KEY_STACK,
	KEY_NCCL,
	KEY_PID,
	KEY_ENV_FILE,
	KEY_NO_CONF,
	KEY_ROOT,
	KEY_TRAFFIC_CLASS,
	KEY_GIN,
	KEY_SYSFS,
	KEY_JOB_HOSTS,
	KEY_BY_LFT,
	KEY_JOB_SITE,
};

static const struct argp_option own_options[] = {
	{"policy", KEY_POLICY, "FILE", 0, "the policy that has the job's class", 0},
	{"class", KEY_CLASS, "CLASS", 0, "the class that the job is to have", 0},
	{"site", KEY_JOB_SITE, "FILE", 0, "compare the job's adapters with the fabrics of this site (ibqos-site(5)), and follow its paths in each", 0},
	{"link-layer", KEY_LINK, "LAYER", 0, "infiniband or ethernet (default: this host's, else infiniband)", 0},
	{"nccl", KEY_NCCL, "VERSION", 0, "as this version of NCCL reads it (default: the newest known, 2.30.7)", 0},
	{"pid", KEY_PID, "PID", 0, "the environment of that process, and the files of its root", 0},
	{"env-file", KEY_ENV_FILE, "FILE", 0, "an environment in a file; several are the hosts of one job", 0},
	{"no-conf", KEY_NO_CONF, NULL, 0, "do not read NCCL's configuration files", 0},
	{"root", KEY_ROOT, "FOLDER", 0, "read NCCL's files (and passwd) below this folder, a container's", 0},
	{"sysfs", KEY_SYSFS, "FOLDER", 0, "the job's adapters are there (default for a process of this host: /sys)", 0},
	{"hosts", KEY_JOB_HOSTS, "NODELIST", 0, "follow the paths between these hosts on the job's SL: gpu-[001-008,012]", 0},
	{"by-lft", KEY_BY_LFT, NULL, 0, "with --hosts: the forwarding tables are the paths, though routing may be adaptive", 0},
	{"traffic-class", KEY_TRAFFIC_CLASS, "N", 0, "the application sets ncclConfig.trafficClass to this", 0},
	{"stack", KEY_STACK, "LIST", 0, "the job uses these too, of ucx, openmpi, nvshmem, deepep, mooncake, sharp", 0},
	{"gin", KEY_GIN, NULL, 0, "the job uses GIN (device-initiated networking of NCCL)", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct check_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &o->common);
		return 0;
	case KEY_POLICY:
		o->policy = arg;
		return 0;
	case KEY_JOB_SITE:
		o->site = arg;
		return 0;
	case KEY_CLASS:
		o->class = arg;
		return 0;
	case KEY_LINK:
		o->question.link = cmd_job_link(state, arg);
		o->link_given = true;
		return 0;
	case KEY_NCCL:
		o->question.nccl = cmd_job_nccl(state, arg);
		return 0;
	case KEY_PID:
		o->pid = (unsigned)cmd_number(state, "--pid", arg, 1, 4194304);
		return 0;
	case KEY_ENV_FILE:
		return cmd_keep(state, &o->env_files, &o->env_file_count, &o->env_file_room, arg);
	case KEY_NO_CONF:
		o->no_conf = true;
		return 0;
	case KEY_ROOT:
		o->root = arg;
		return 0;
	case KEY_TRAFFIC_CLASS:
		o->question.app_tc = (int64_t)cmd_number(state, "--traffic-class", arg, 0, INT32_MAX);
		return 0;
	case KEY_STACK:
		if (job_stacks_of(arg, &o->question.stacks) != 0)
			argp_error(state, "--stack takes names as ucx,nvshmem: see --help, not '%s'", arg);
		return 0;
	case KEY_SYSFS:
		o->sysfs = arg;
		return 0;
	case KEY_JOB_HOSTS:
		o->hosts = arg;
		return 0;
	case KEY_BY_LFT:
		o->by_lft = true;
		return 0;
	case KEY_GIN:
		o->question.gin = true;
		return 0;
	case ARGP_KEY_ARG:
		return cmd_keep(state, &o->scripts, &o->script_count, &o->script_room, arg);
	case ARGP_KEY_END:
		if (!o->policy != !o->class)
			argp_error(state, "--policy and --class go together");
		if (o->common.from && !o->hosts)
			argp_error(state, "--from is for the fabric between the hosts of a job: name them with --hosts");
		if (o->pid && o->env_file_count)
			argp_error(state, "--pid and --env-file exclude each other");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp cmd_job_check_argp = {
	.options = own_options,
	.parser = parse,
	.args_doc = "[SCRIPT...]",
	.doc = "Reads what a job is started with as NCCL reads it, and says what that does on the fabric: the environment of "
	       "this process, of another one, or of a file; launch scripts (shell, batch, Dockerfile, YAML, Python), which are "
	       "not run; ~/.nccl.conf and /etc/nccl.conf. With a policy and a class it says whether the job is in the class.\v"
	       "Several --env-file are compared with each other; NCCL's files are not read then, as they are of other hosts. "
	       "Exit status: 0 nothing found, 1 warnings, 2 faults, 3 something could not be looked at or is not known.",
	.children = cmd_source_children,
};

static void add_index(unsigned *list, size_t *count, unsigned index)
{
	for (size_t i = 0; i < *count; i++)
		if (list[i] == index)
			return;
	list[(*count)++] = index;
}

/* The SLs that the job's queue pairs will have, as far as they are known, for the fabric. */
static void follow_paths(struct cmd_session *s, const struct check_options *o, const struct job_env *envs, size_t count)
{
	const struct job_question *q = &o->question;
	struct job_wish wish = {
		.hosts = o->hosts, .policy = q->policy, .by_lft = o->by_lft, .question = q, .envs = envs, .env_count = count};
	unsigned *pkeys = calloc(count + 1, sizeof(*pkeys)), index;

	if (!pkeys || q->link != JOB_LINK_INFINIBAND) {
		session_fail(s, "cannot follow paths: %s", pkeys ? "the job's link layer is Ethernet" : "out of memory");
		free(pkeys);
		return;
	}
	wish.pkeys = pkeys;
	for (size_t i = 0; i < count; i++) {
		struct job_sl sl = job_sl(&envs[i], q), gin = job_gin_sl(&envs[i], q);

		if (sl.known)
			wish.sls |= (uint16_t)(1u << sl.sl);
		else
			session_fail(s, "cannot follow paths of %s: its SL is not known", envs[i].label);
		if (q->gin && gin.known)
			wish.sls |= (uint16_t)(1u << gin.sl);
		if (!job_pkey_index(&envs[i], q, &index))
			session_fail(s, "cannot look at partitions of %s: its index of the P_Key is not known", envs[i].label);
		else
			add_index(pkeys, &wish.pkey_count, index);
	}
	if (wish.sls && cmd_job_by_site(&o->common, o->site))
		cmd_job_paths_site(s, &wish, o->of_site, o->trusted, o->argc, o->argv);
	else if (wish.sls)
		cmd_job_paths(s, &wish);
	free(pkeys);
}

/* How OpenSM routes, where its config file is at hand: two strings that the caller frees. */
static void routing_of(const struct policy *policy, char **engine, char **ar_sl_mask)
{
	struct opensm_conf *conf = NULL;
	char *text = NULL;
	size_t size = 0;

	if (file_read(policy->opensm_config, &text, &size) == 0 && opensm_conf_parse(text, size, &conf) == 0) {
		const char *value = opensm_conf_get(conf, "routing_engine"), *mask = opensm_conf_get(conf, "ar_sl_mask");

		*engine = value ? strdup(value) : NULL;
		*ar_sl_mask = mask ? strdup(mask) : NULL;
	}
	opensm_conf_free(conf);
	free(text);
}

static void settings_of(struct report *r, const struct job_env *env)
{
	for (size_t i = 0; i < env->count; i++) {
		const struct job_setting *s = &env->items[i];
		char from[PATH_MAX + 32], *value = NULL;

		if (!job_env_cares(s->name, strlen(s->name)) || strcmp(s->name, "HOME") == 0 || s->removed)
			continue;
		if (s->line)
			snprintf(from, sizeof(from), "%s:%u:%u", s->file, s->line, s->column);
		else
			snprintf(from, sizeof(from), "%s", s->file);
		value = s->value ? text_utf8(s->value, strlen(s->value)) : NULL;
		report_cell_string(r, env->label);
		report_cell_string(r, s->name);
		report_cell_string(r, value);
		report_cell_string(r, from);
		report_cell_bool(r, !s->hidden);
		report_row_end(r);
		free(value);
	}
}

static void report_settings(struct report *r, const struct job_env *envs, size_t count)
{
	static const struct report_column columns[] = {
		{.key = "environment", .type = REPORT_STRING},
		{.key = "name", .title = "setting", .type = REPORT_STRING},
		{.key = "value", .title = "value", .type = REPORT_STRING},
		{.key = "from", .title = "from", .type = REPORT_STRING},
		{.key = "counts", .title = "counts", .type = REPORT_BOOL},
	};

	report_table(r, "settings", "settings", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++)
		settings_of(r, &envs[i]);
	report_table_end(r);
}

static void cell_sl(struct report *r, struct job_sl sl)
{
	if (sl.known)
		report_cell_number(r, sl.sl);
	else
		report_cell_string(r, NULL);
}

static void report_sls(struct report *r, const struct job_env *envs, size_t count, const struct job_question *q)
{
	static const struct report_column columns[] = {
		{.key = "environment", .title = "environment", .type = REPORT_STRING},
		{.key = "sl", .title = "SL of NCCL", .type = REPORT_NUMBER},
		{.key = "from", .title = "from", .type = REPORT_STRING},
		{.key = "gin_sl", .title = "of its GIN", .type = REPORT_NUMBER},
		{.key = "gin_from", .title = "from", .type = REPORT_STRING},
		{.key = "adaptive_routing", .title = "routed adaptively", .type = REPORT_STRING},
	};
	static const char *const adaptive[] = {[JOB_ADAPTIVE_ON] = "yes", [JOB_ADAPTIVE_NOT_FOR_SL] = "not this SL"};

	report_table(r, "sls", "service levels", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++) {
		struct job_sl sl = job_sl(&envs[i], q), gin = job_gin_sl(&envs[i], q);

		report_cell_string(r, envs[i].label);
		cell_sl(r, sl);
		report_cell_string(r, sl.name ? sl.name : "default");
		if (q->nccl >= JOB_NCCL(2, 28, 7)) {
			cell_sl(r, gin);
			report_cell_string(r, gin.name ? gin.name : "default");
		} else {
			report_cell_none(r);
			report_cell_none(r);
		}
		report_cell_string(r, adaptive[job_adaptive(q, sl)]); /* unknown to the files alone */
		report_row_end(r);
	}
	report_table_end(r);
}

static void report_rails(struct report *r, const struct job_env *envs, size_t count, const struct job_question *q)
{
	static const struct report_column columns[] = {
		{.key = "environment", .title = "environment", .type = REPORT_STRING},
		{.key = "fabric", .title = "fabric", .type = REPORT_STRING},
		{.key = "adapters", .title = "hosts' adapters", .type = REPORT_STRING},
		{.key = "used", .title = "used", .type = REPORT_STRING},
	};
	static const char *const uses[] = {
		[JOB_RAIL_USE_NONE] = "none", [JOB_RAIL_USE_SOME] = "some", [JOB_RAIL_USE_ALL] = "all"};

	report_table(r, "rails", "fabrics", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++) {
		for (size_t n = 0; n < q->site->count; n++) {
			const struct site_fabric *f = &q->site->fabrics[n];
			char *adapters = NULL;

			for (size_t a = 0; a < f->adapter_count; a++)
				finding_append(&adapters, "%s", f->adapters[a]);
			if (adapters) {
				report_cell_string(r, envs[i].label);
				report_cell_string(r, f->name);
				report_cell_string(r, adapters);
				report_cell_string(r, uses[job_rail_use(&envs[i], q, f)]);
				report_row_end(r);
			}
			free(adapters);
		}
	}
	report_table_end(r);
}

static void report_files(struct report *r, const struct job_env *envs, size_t count)
{
	static const struct report_column columns[] = {{.key = "file", .title = "files read", .type = REPORT_STRING}};

	report_table(r, "files", NULL, columns, 1);
	for (size_t i = 0; i < count; i++) {
		for (size_t f = 0; f < envs[i].file_count; f++) {
			report_cell_string(r, envs[i].files[f]);
			report_row_end(r);
		}
	}
	report_table_end(r);
}

/* What cannot be read may set anything: an error, and for machines a finding. A signal is told at the end. */
static void unread(struct cmd_session *s, const struct check_options *o, const char *what, int error)
{
	struct finding *f;
	bool file = false;

	if (error == -EINTR)
		return;
	what = what ? what : "the environment";
	session_fail(s, "cannot read %s: %s", what, strerror(-error));
	for (size_t i = 0; i < o->script_count; i++)
		file |= strcmp(o->scripts[i], what) == 0;
	for (size_t i = 0; i < o->env_file_count; i++)
		file |= strcmp(o->env_files[i], what) == 0;
	f = finding_add(&s->findings, FINDING_JOB_UNREAD);
	if (file)
		finding_at(f, what, 0, 0);
	else
		finding_set(&f->what, "%s", what);
	finding_set(&f->got, "%s", strerror(-error));
}

/* One environment each; false, told, if one cannot be read. */
static bool collect(struct cmd_session *s, const struct check_options *o, struct job_env *envs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct job_sources sources = {
			.ctx = s->ctx,
			.scripts = o->scripts,
			.script_count = o->script_count,
			.pid = o->pid,
			.env_file = o->env_file_count ? o->env_files[i] : NULL,
			.own = !o->pid && !o->env_file_count && !o->script_count,
			.conf = !o->no_conf && count == 1,
			.root = o->root,
			.nccl = o->question.nccl,
		};
		const char *failed;
		int error = job_collect(&sources, &s->findings, &envs[i], &failed);

		if (error != 0)
			unread(s, o, failed, error);
		if (error != 0)
			return false;
	}
	return true;
}

/* The adapters that the job will use, where they are known: of this host for a process of it. */
static void read_host(struct cmd_session *s, struct check_options *o, struct job_host *host)
{
	bool local = o->pid || (!o->env_file_count && !o->script_count);
	const char *sysfs = o->sysfs ? o->sysfs : "/sys";
	int error;

	if (!o->sysfs && !local)
		return;
	error = job_host_read(sysfs, host);
	if (error != 0 && (o->sysfs || error != -ENOENT))
		session_fail(s, "cannot read %s/class/infiniband: %s", sysfs, strerror(-error));
	if (error != 0 || host->hca_count == 0)
		return;
	o->question.host = host;
	if (!o->link_given)
		job_host_link(host, &o->question.link);
}

static void check(struct cmd_session *s, struct check_options *o)
{
	size_t count = o->env_file_count ? o->env_file_count : 1;
	struct job_env *envs = calloc(count, sizeof(*envs));
	const struct job_question *q = &o->question;
	struct job_host host = {0};
	char version[JOB_NCCL_TEXT];

	read_host(s, o, &host);
	job_nccl_text(q->nccl, version);
	report_string(s->report, "nccl", "as NCCL", version);
	report_string(s->report, "link_layer", "link layer", job_link_name(q->link));
	report_string(s->report, "policy", NULL, o->policy ? o->policy : "");
	if (q->class)
		report_string(s->report, "class", "class", q->class->name);
	if (q->nccl > JOB_NCCL_NEWEST)
		report_string(s->report, "nccl_rules", "not known", "what NCCL after 2.30.7 changes; read as 2.30.7 does");
	if (!envs)
		session_fail(s, "out of memory");
	else if (collect(s, o, envs, count)) {
		report_files(s->report, envs, count);
		report_settings(s->report, envs, count);
		if (q->link == JOB_LINK_INFINIBAND)
			report_sls(s->report, envs, count, q);
		if (q->site)
			report_rails(s->report, envs, count, q);
		for (size_t i = 0; i < count; i++)
			job_check(&envs[i], q, &s->findings);
		job_check_hosts(envs, count, q, &s->findings);
		if (o->hosts)
			follow_paths(s, o, envs, count);
	}
	for (size_t i = 0; envs && i < count; i++)
		job_env_clear(&envs[i]);
	free(envs);
	o->question.host = NULL;
	job_host_clear(&host);
}

/* False, told: there is one to be read, and it is none. */
static bool read_site(struct cmd_session *s, struct check_options *o, struct site **site)
{
	int error;

	o->trusted = session_trust(s, o->site);
	error = o->site ? site_read(o->site, &s->findings, site) : 0;
	if (error != 0)
		session_fail(s, "cannot read site %s: %s", o->site, strerror(-error));
	o->question.site = o->of_site = *site;
	return !o->site || *site;
}

enum ibqos_exit cmd_job_check(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct check_options options = {.question = {.ctx = ctx, .nccl = JOB_NCCL_NEWEST, .app_tc = JOB_NO_TC}};
	struct policy *policy = NULL;
	struct site *site = NULL;
	char *engine = NULL, *ar_sl_mask = NULL;
	enum ibqos_exit code;
	struct cmd_session s;

	cmd_defaults(&options.common, ctx);
	cmd_parse(&cmd_job_check_argp, argc, argv, &options);
	options.argc = argc;
	options.argv = argv;
	if (options.hosts && cmd_job_by_site(&options.common, options.site))
		options.common.site = options.site; /* its workers look at the fabrics */
	if (options.policy) {
		policy = cmd_job_policy(ctx, options.policy, &code);
		if (!policy)
			goto out;
		code = IBQOS_EXIT_UNKNOWN;
		options.question.policy = policy;
		options.question.class = cmd_job_class(ctx, policy, options.class);
		if (!options.question.class)
			goto out;
		routing_of(policy, &engine, &ar_sl_mask);
		options.question.engine = engine;
		options.question.ar_sl_mask = ar_sl_mask;
		options.question.engine_file = policy->opensm_config;
	}
	code = IBQOS_EXIT_UNKNOWN;
	if (session_begin(&s, ctx, &options.common)) {
		if (read_site(&s, &options, &site))
			check(&s, &options);
		code = session_end(&s);
	}
out:
	free(engine);
	free(ar_sl_mask);
	free(options.scripts);
	free(options.env_files);
	site_free(site);
	policy_free(policy);
	return code;
}
