/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * ibqos verify: what every port holds against what OpenSM should have programmed there, and whether the
 * subnet manager that runs now has it in force.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibqos/apply.h"
#include "policy_plan.h"
#include "verify_paths.h"
#include "verify_sample.h"
#include "verify_sm.h"

struct verify_options {
	struct cmd_options common; /* first: children get the same pointer */
	const char *opensm_conf;   /* instead of a policy */
	size_t sm_records;
	bool all_leaves;
	unsigned sa_rate;
	struct cmd_paths paths;
	struct cmd_sample sample;
};

enum {
	KEY_OPENSM_CONF = 0x200,
	KEY_SM_RECORDS,
	KEY_ALL_LEAVES,
	KEY_SA_RATE,
	KEY_PATHS,
	KEY_SL,
	KEY_BY_LFT,
	KEY_SAMPLE,
	KEY_ROTATE,
	KEY_COVERAGE_FLOOR,
	KEY_STATE_DIR,
};

static const struct argp_option own_options[] = {
	CMD_SITE_ROW,
	CMD_OPENSM_CONFIG_ROW,
	{"opensm-conf", KEY_OPENSM_CONF, "FILE", 0, "expect what OpenSM programs from this opensm.conf; no policy is needed", 0},
	{"all-leaves", KEY_ALL_LEAVES, NULL, 0, "ask for the paths of each class between every two leaf switches, not for a sample", 0},
	{"sa-rate", KEY_SA_RATE, "N", 0, "with --all-leaves: paths asked for in a second at most; 0: no ceiling (default 1000)", 0},
	{"sm-records", KEY_SM_RECORDS, "N", 0, "tables that differ, of which the subnet manager's record is asked for (default 10000)", 0},
	{"paths", KEY_PATHS, NULL, 0, "judge all paths by the forwarding tables too: do packets arrive, on which VLs, and can "
				      "credits wait for each other in a circle", 0},
	{"sl", KEY_SL, "N", 0, "(--paths) packets of this SL, may be repeated (default: of each class)", 0},
	{"by-lft", KEY_BY_LFT, NULL, 0, "(--paths) take the forwarding tables for the paths where adaptive routing is on or not known too", 0},
	{"sample", KEY_SAMPLE, "PART", 0, "look at some ports only: 250, 5%, or 3/24 for the third of 24 parts; the exit status is 3 then", 0},
	{"rotate", KEY_ROTATE, "FILE", 0, "with --sample 1/N: the parts in turn, kept in FILE, and what they all say together", 0},
	{"coverage-floor", KEY_COVERAGE_FLOOR, "P", 0, "with --sample: percent of the ports that are enough for exit status 0 (default 100)", 0},
	{"state-dir", KEY_STATE_DIR, "DIR", 0, "where apply keeps its history (default " IBQOS_STATE_DIR ")", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct verify_options *o = state->input;

	if (cmd_site_option(&o->common, key, arg))
		return 0;
	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &o->common);
		return 0;
	case KEY_STATE_DIR:
		o->common.ctx->state_dir = arg;
		return 0;
	case KEY_OPENSM_CONF:
		o->opensm_conf = arg;
		return 0;
	case KEY_ALL_LEAVES:
		o->all_leaves = true;
		return 0;
	case KEY_SA_RATE:
		o->sa_rate = (unsigned)cmd_number(state, "--sa-rate", arg, 0, 1000000);
		return 0;
	case KEY_SM_RECORDS:
		o->sm_records = cmd_number(state, "--sm-records", arg, 0, 10000000);
		return 0;
	case KEY_PATHS:
		o->paths.wanted = true;
		return 0;
	case KEY_SL:
		o->paths.sls |= 1u << cmd_number(state, "--sl", arg, 0, QOS_SLS - 1);
		return 0;
	case KEY_BY_LFT:
		o->paths.by_lft = true;
		return 0;
	case KEY_SAMPLE:
		cmd_sample_parse(&o->sample, state, arg);
		return 0;
	case KEY_ROTATE:
		o->sample.rotate = arg;
		return 0;
	case KEY_COVERAGE_FLOOR:
		o->sample.floor = (unsigned)cmd_number(state, "--coverage-floor", arg, 1, 100);
		return 0;
	case ARGP_KEY_SUCCESS:
		if (o->all_leaves && o->opensm_conf)
			argp_error(state, "--all-leaves needs a policy: it says which SL a path must have");
		if ((o->paths.sls || o->paths.by_lft) && !o->paths.wanted)
			argp_error(state, "--sl and --by-lft go with --paths");
		if (o->paths.wanted && (o->common.scope_count > 0 || o->sample.kind != SAMPLE_ALL))
			argp_error(state, "--paths is about the whole fabric: no part of it can be chosen");
		cmd_sample_check(&o->sample, state);
		return 0;
	default:
		return cmd_argument(key, arg, state, &o->common, o->opensm_conf ? 0 : 1,
				    "the policy file (or --opensm-conf FILE)");
	}
}

const struct argp cmd_verify_argp = {
	.options = own_options,
	.parser = parse,
	.args_doc = "POLICY\n--opensm-conf FILE",
	.doc = "Asks every switch and adapter port for its SL2VL tables, VL arbitration tables and VLHighLimit, and "
	       "compares them with what OpenSM must have programmed there for this policy, or from its own config. Asks "
	       "the running subnet manager whether QoS is on and which SL it gives paths.\v"
	       "Exit status: 0 all as it should be, 1 warnings, 2 differences, 3 something was not answered.",
	.children = cmd_scope_children,
};

static void watch_failed(struct cmd_session *s, int error)
{
	if (error != 0 && error != -EINTR) /* a signal is told at the end */
		session_fail(s, "cannot ask the subnet manager: %s", strerror(-error));
}

/*
 * The ports, with an eye on the subnet manager: those that differ are read once more where it swept meanwhile,
 * since they may have been about to be programmed. The result as of session_verify().
 */
static bool verify_ports(struct cmd_session *s, const struct qos_config *config, struct sm_watch *watch,
			 struct verify **verify)
{
	int error = sm_watch_begin(s->source, s->fabric, watch);
	uint32_t again = 0;
	bool done;

	watch_failed(s, error);
	done = session_verify(s, config, verify);
	if (error == 0) {
		error = sm_watch_end(s->source, s->fabric, watch);
		watch_failed(s, error);
	}
	if (error == 0 && done && watch->known && watch->change != SM_STEADY) {
		again = verify_result(*verify)->ports_differ;
		if (again > 0)
			error = verify_run(*verify, s->source, true);
		if (error != 0 && error != -EINTR)
			session_fail(s, "cannot read the ports: %s", strerror(-error));
		sm_watch_findings(watch, s->fabric, again, &s->findings);
	}
	return done;
}

/* Without a policy: only tables and the SM's QoS. `path` is the policy's, or the config's. */
static void verify_fabric(struct cmd_session *s, const char *path, const struct qos_config *config,
			  const struct cmd_sm_options *sm, struct cmd_paths *paths)
{
	struct cmd_sm_options asked = *sm;
	struct verify *verify = NULL;
	struct cmd_sm_told told;
	struct sm_watch watch;

	if (paths->wanted)
		cmd_paths_listen(s, paths);
	if (verify_ports(s, config, &watch, &verify)) {
		const struct verify_result *result = verify_result(verify);

		report_section(s->report, "ports", "ports");
		report_number(s->report, "looked_at", "looked at", result->ports);
		report_number(s->report, "differ", "differ", result->ports_differ);
		report_number(s->report, "unknown", "not known", result->ports_unknown);
		report_number(s->report, "excluded", "not programmed by OpenSM", result->ports_excluded);
		report_section_end(s->report);
		if (paths->wanted)
			cmd_paths_report(s, paths, sm->policy, config);
		cmd_sample_report(s, verify);
		asked.verify = verify;
		asked.watch = &watch;
		cmd_verify_sm(s, &asked, &told);
		session_coverage(s, result);
		verify_findings(verify, &s->findings);
		cmd_figures_judged(s, verify);
		verify_fold_not_applied(verify,
					&(struct verify_not_applied){
						.path = path,
						.sm = told.asked ? &told.result : NULL,
						.file_holds = told.file_holds,
					},
					&s->findings);
	}
	cmd_paths_clear(s, paths);
	verify_free(verify);
}

static void say_file_differs(struct cmd_session *s, const char *path, const char *old, size_t old_size,
			     const char *new, size_t new_size)
{
	if (!old || old_size != new_size || memcmp(old, new, new_size) != 0)
		finding_at(finding_add(&s->findings, FINDING_FILE_NOT_THE_POLICY), path, 0, 0);
}

/*
 * Where this host has OpenSM's config: whether its files hold the policy, or whether the next reload
 * would change the fabric, by somebody's edit, say. What the plan says of the config itself is told too. True where
 * the config is as the policy has it.
 */
static bool verify_files(struct cmd_session *s, const struct policy *policy)
{
	struct finding_list found = {0};
	struct plan *plan = NULL;
	bool holds = false;

	if (access(policy->opensm_config, R_OK) != 0)
		return false;
	if (plan_make(policy, s->fabric, PLAN_ALLOW_DROP, &found, &plan) == 0 && plan) {
		say_file_differs(s, plan->conf_path, plan->conf_old, plan->conf_old_size, plan->conf_new, plan->conf_new_size);
		holds = plan->conf_old && plan->conf_old_size == plan->conf_new_size &&
			memcmp(plan->conf_old, plan->conf_new, plan->conf_new_size) == 0;
		say_file_differs(s, plan->rules_path, plan->rules_old, plan->rules_old_size, plan->rules_new,
				 plan->rules_new_size);
	}
	for (size_t i = 0; i < found.count; i++) {
		const struct finding *f = &found.items[i];

		if (!plan && f->severity == FINDING_CRITICAL && f->file && strcmp(f->file, policy->opensm_config) == 0) {
			struct finding *told = finding_at(finding_add(&s->findings, f->code), f->file, f->line, f->column);

			finding_set(&told->what, "%s", f->what ? f->what : "");
			finding_set(&told->got, "%s", f->got ? f->got : "");
		}
	}
	finding_list_clear(&found);
	plan_free(plan);
	return holds;
}

/* `sm` says what to ask the subnet manager, but for what comes from the policy. */
static void verify_policy(struct cmd_session *s, const char *path, struct cmd_sm_options sm, struct cmd_paths *paths)
{
	struct cmd_plan p;

	/*
	 * Tables only, from policy and fabric: the host that verifies need not be the SM's. What apply
	 * asked consent for is no news here.
	 */
	if (cmd_compile(s, path, PLAN_ALLOW_DROP | PLAN_TABLES_ONLY, &p) && session_scope(s)) {
		session_fabric_fields(s);
		cmd_figure_shares(s, p.policy, p.plan);
		sm.policy = p.policy;
		if (!cmd_opensm_elsewhere(s->options)) {
			if (verify_files(s, p.policy))
				sm.config = p.policy->opensm_config;
			apply_standby_todo(s->ctx, p.policy->opensm_config, &s->findings);
		}
		verify_fabric(s, path, &p.plan->config, &sm, paths);
	}
	cmd_plan_clear(&p);
}

static void verify_conf(struct cmd_session *s, const char *path, struct cmd_sm_options sm, struct cmd_paths *paths)
{
	struct opensm_conf *conf = NULL;
	struct qos_config config;
	bool enabled = false;
	char *text = NULL;
	size_t size = 0;
	int error = file_read(path, &text, &size);

	sm.config = path;
	session_trust(s, path);
	report_string(s->report, "opensm_conf", NULL, path);
	if (error == 0)
		error = opensm_conf_parse(text, size, &conf);
	if (error == 0)
		error = opensm_conf_get_qos(conf, path, &config, &enabled, &s->findings);
	if (error != 0) {
		session_fail(s, "cannot read %s: %s", path, strerror(-error));
	} else if (!enabled) { /* OpenSM then programs no tables: there is nothing to expect */
		finding_at(finding_add(&s->findings, FINDING_QOS_OFF), path, opensm_conf_line(conf, "qos"), 0);
	} else if (session_discover(s) && session_scope(s)) {
		session_fabric_fields(s);
		verify_fabric(s, path, &config, &sm, paths);
	}
	opensm_conf_free(conf);
	free(text);
}

void cmd_verify_policy(struct cmd_session *s, const char *path, size_t records)
{
	struct cmd_paths none = {.wanted = false};

	verify_policy(s, path, (struct cmd_sm_options){.records = records}, &none);
}

void cmd_verify_conf(struct cmd_session *s, const char *path, size_t records)
{
	struct cmd_paths none = {.wanted = false};

	verify_conf(s, path, (struct cmd_sm_options){.records = records}, &none);
}

enum ibqos_exit cmd_verify(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct verify_options options = {.sm_records = SM_RECORDS, .sa_rate = 1000, .sample = {.floor = 100}};
	struct cmd_sm_options sm;
	struct cmd_session s;

	cmd_defaults(&options.common, ctx);
	cmd_parse(&cmd_verify_argp, argc, argv, &options);
	if (options.common.site)
		return cmd_site(ctx, &options.common, argc, argv);
	sm = (struct cmd_sm_options){.records = options.sm_records, .all_leaves = options.all_leaves, .sa_rate = options.sa_rate};
	options.common.writes = options.sample.rotate != NULL;
	if (!session_begin(&s, ctx, &options.common))
		return IBQOS_EXIT_UNKNOWN;
	s.sample = &options.sample;
	s.figures.wanted = true;
	if (options.opensm_conf)
		verify_conf(&s, options.opensm_conf, sm, &options.paths);
	else
		verify_policy(&s, options.common.argument[0], sm, &options.paths);
	cmd_sample_clear(&options.sample);
	return session_end(&s);
}
