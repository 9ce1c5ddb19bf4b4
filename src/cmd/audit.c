/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos audit: what of the fabric's links slows training. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit_counters.h"
#include "verify_paths.h"
#include "verify_sm.h"

#include "ibqos/audit.h"
#include "ibqos/routes.h"
#include "ibqos/snapshot.h"

#define DAY_SECONDS 86400

struct audit_command {
	struct cmd_options common; /* first: children get the same pointer */
	const char *policy, *baseline;
	unsigned today;
	struct cmd_counters_options counters;
	const char *drained; /* path; NULL: none are known */
	bool impact;
	bool links_may_lack; /* the policy is that of a site, which verify needs, too */
};

enum { KEY_POLICY = 0x200, KEY_BASELINE, KEY_AS_OF, KEY_IMPACT, KEY_DRAINED, KEY_LINKS_OF };

static const struct argp_option own_options[] = {
	CMD_SITE_ROW,
	{"policy", KEY_POLICY, "FILE", 0, "judge links by the policy's `links`, too", 0},
	{"links-of", KEY_LINKS_OF, "FILE", OPTION_HIDDEN, NULL, 0}, /* --policy of a site: it need not have `links` */
	{"baseline", KEY_BASELINE, "FILE", 0, "compare with a snapshot, or what ibnetdiscover wrote, of when all was well", 0},
	{"as-of", KEY_AS_OF, "DATE", 0, "day on which the policy's exceptions must hold, as 2026-12-31 (default: today)", 0},
	{"drained", KEY_DRAINED, "FILE", 0, "hosts that are drained, as sinfo lists them: what is wrong there is a note", 0},
	{"impact", KEY_IMPACT, NULL, 0, "rank by the forwarding tables, which are read for that, not by how the fabric is cabled", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct audit_command *c = state->input;

	if (key == CMD_KEY_SITE) {
		c->common.site = arg;
		return 0;
	}
	switch (key) {
	case KEY_POLICY:
		c->policy = arg;
		return 0;
	case KEY_LINKS_OF:
		c->policy = arg;
		c->links_may_lack = true;
		return 0;
	case KEY_BASELINE:
		c->baseline = arg;
		return 0;
	case KEY_AS_OF:
		if (policy_date_of(arg, &c->today) < 0)
			argp_error(state, "--as-of takes a day as 2026-12-31, not '%s'", arg);
		return 0;
	case KEY_DRAINED:
		c->drained = arg;
		return 0;
	case KEY_IMPACT:
		c->impact = true;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &c->counters;
		state->child_inputs[1] = &c->common;
		return 0;
	default:
		return cmd_argument(key, arg, state, &c->common, 0, "");
	}
}

/* The shared options, whose input is another than that of the counters' own. */
static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	for (unsigned i = 0; cmd_scope_children[i].argp; i++)
		state->child_inputs[i] = state->input;
	return 0;
}

static const struct argp common_argp = {.parser = parse_common, .children = cmd_scope_children};
static const struct argp_child children[] = {{&cmd_counters_argp, 0, NULL, 1}, {&common_argp, 0, NULL, 1}, {0}};

const struct argp cmd_audit_argp = {
	.options = own_options,
	.parser = parse,
	.doc = "Finds links that run narrower or slower than they should, worst first.\v"
	       "Exit status: 0 none, 1 warnings, 2 such links, 3 part of the fabric did not answer.",
	.children = children,
};

/* The policy before the fabric: a fault in it is told without waiting. */
static bool read_policy(struct cmd_session *s, struct audit_command *c, struct policy **policy)
{
	const char *path = c->policy;
	int error;

	report_string(s->report, "policy", NULL, path);
	session_trust(s, path);
	error = policy_read(path, &s->findings, policy);
	if (error != 0) {
		session_fail(s, "cannot read policy %s: %s", path, strerror(-error));
		return false;
	}
	if (!*policy)
		return false;
	session_policy(s, path, (*policy)->name);
	finding_list_drop(&s->findings, FINDING_NOTE); /* those are for lint */
	if ((*policy)->link_class_count > 0 || c->counters.counters)
		return true;
	if (c->links_may_lack) {
		policy_free(*policy);
		*policy = NULL;
		c->policy = NULL;
		return true;
	}
	session_fail(s, "policy %s has no 'links', so it says nothing of them", path);
	return false;
}

static bool read_baseline(struct cmd_session *s, const char *path, struct fabric **baseline)
{
	struct finding_list faults = {0}; /* of the node-name map, told of the fabric itself already */
	struct source *source = NULL;
	int error;

	report_string(s->report, "baseline", "baseline", path);
	session_trust(s, path);
	error = source_open_file(s->ctx, path, s->options->source.node_name_map, &source);
	if (error == 0)
		error = source_discover(source, &faults, baseline);
	finding_list_clear(&faults);
	source_close(source);
	if (error == 0)
		return true;
	session_fail(s, "cannot read baseline %s: %s", path, strerror(-error));
	return false;
}

static void report_links(struct cmd_session *s, const struct audit_command *c, const struct audit_result *result)
{
	report_section(s->report, "links", "links audited");
	report_number(s->report, "looked_at", "looked at", result->links);
	report_number(s->report, "slow", "slower than they should be", result->links_slow);
	report_number(s->report, "below_enabled", NULL, result->below_enabled);
	report_number(s->report, "below_can", "below what both ends can", result->below_can);
	if (c->policy) {
		report_number(s->report, "below_policy", "below what the policy expects", result->below_policy);
		report_number(s->report, "excepted", "under an exception of the policy", result->links_excepted);
	}
	if (c->baseline)
		report_number(s->report, "lost", "no longer able to what they were", result->lost);
	report_number(s->report, "unknown", "not known", result->links_unknown);
	report_section_end(s->report);
}

/* A baseline of another fabric would make a fault of each of its links, here and in the state file. */
static bool baseline_is_of(struct cmd_session *s, const char *path, const struct fabric *baseline)
{
	if (!baseline || fabric_is_same(baseline, s->fabric))
		return true;
	session_fail(s, "baseline '%s' is of another fabric: fewer than half of the nodes are the same. Nothing was compared; "
			"name another one, or see whether this port leads where it should", path);
	return false;
}

/* Forwarding tables are read where that was asked for, and there is something to rank. */
static int rank(struct cmd_session *s, const struct audit_command *c)
{
	struct routes *routes = NULL;
	int error = 0;

	if (s->findings.count == 0)
		return 0;
	if (c->impact) {
		error = routes_new(s->fabric, &routes);
		if (error == 0) {
			routes_want_all(routes);
			error = routes_read(routes, s->source);
		}
		if (error == 0) {
			routes_findings(routes, true, &s->findings);
			cmd_routes_coverage(s, routes);
		}
	}
	if (error == 0)
		error = audit_rank(s->fabric, routes, &s->findings);
	routes_free(routes);
	return error;
}

struct drained {
	uint64_t hosts, findings;
};

/* One list of hosts. */
static bool note_hosts(struct cmd_session *s, const char *path, unsigned line, const char *list, struct drained *drained)
{
	struct hostlist hosts;
	char *fault = NULL;
	int error = hostlist_expand(list, &hosts, &fault);

	if (error != 0) {
		session_fail(s, "cannot read '%s', line %u: %s", path, line, fault ? fault : strerror(-error));
		free(fault);
		return false;
	}
	drained->hosts += hosts.count;
	drained->findings += audit_drained(s->fabric, hosts.names, hosts.count, &s->findings);
	hostlist_clear(&hosts);
	return true;
}

/* Lists of hosts, one or more a line, '#' comments. */
static void note_drained(struct cmd_session *s, const char *path)
{
	struct drained drained = {0};
	char *text = NULL, *next;
	unsigned number = 0;
	bool good = true;
	size_t size;
	int error = file_read(path, &text, &size);

	session_trust(s, path);
	if (error != 0) {
		session_fail(s, "cannot read '%s': %s", path, strerror(-error));
		return;
	}
	for (char *line = text; line && good; line = next) {
		char *word, *rest = line;

		number++;
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line[strcspn(line, "#")] = '\0';
		while (good && (word = strsep(&rest, " \t\r")))
			good = !*word || note_hosts(s, path, number, word, &drained);
	}
	free(text);
	report_section(s->report, "drained", "drained");
	report_number(s->report, "hosts", "hosts", drained.hosts);
	report_number(s->report, "findings", "findings at them", drained.findings);
	report_section_end(s->report);
}

static void audit(struct cmd_session *s, const struct audit_command *c, const struct policy *policy,
		  const struct fabric *baseline)
{
	struct audit_result result = {0};
	struct cmd_counters counters;
	struct audit_options options = {
		.scope = session_scope_of(s), .policy = policy, .today = c->today, .baseline = baseline};
	int error;

	session_fabric_fields(s);
	cmd_ask_sm(s);
	error = audit_links(s->fabric, &options, &s->findings, &result);
	if (error == 0)
		error = audit_baseline(s->fabric, &options, &s->findings);
	if (error == 0)
		error = audit_siblings(s->fabric, &options, &s->findings);
	if (error == 0 && options.scope)
		scope_filter(options.scope, s->fabric, &s->findings);
	if (error == 0)
		error = rank(s, c);
	if (error == 0)
		error = audit_health(s->fabric, &options, &s->findings);
	if (error != 0) {
		session_fail(s, "cannot audit: %s", strerror(-error));
		return;
	}
	report_links(s, c, &result);
	cmd_counters_run(s, &c->counters, policy, &counters);
	cmd_counters_end(s, &c->counters, &counters);
	if (c->drained)
		note_drained(s, c->drained);
	/* last: the state has each of them */
	if (!options.scope && !s->options->all && audit_uniform(s->fabric, &s->findings) < 0)
		s->findings.lost = true;
	if (audit_bursts(s->fabric, &s->findings) < 0)
		s->findings.lost = true;
	audit_cables(s->fabric, baseline, &s->findings);
	session_mads(s);
	if (result.links == 0)
		session_fail(s, "no link could be looked at");
	else if (result.links_unknown > 0)
		s->least = IBQOS_EXIT_UNKNOWN;
}

enum ibqos_exit cmd_audit(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct audit_command c = {.today = (unsigned)(time(NULL) / DAY_SECONDS)};
	struct fabric *baseline = NULL;
	struct policy *policy = NULL;
	struct cmd_session s;
	enum ibqos_exit code;

	cmd_defaults(&c.common, ctx);
	cmd_counters_defaults(&c.counters, &c.common);
	cmd_parse(&cmd_audit_argp, argc, argv, &c);
	c.common.writes = c.counters.state != NULL;
	if (c.common.site)
		return cmd_site(ctx, &c.common, argc, argv);
	if (!session_begin(&s, ctx, &c.common))
		return IBQOS_EXIT_UNKNOWN;
	s.figures.wanted = true;
	if ((!c.policy || read_policy(&s, &c, &policy)) && (!c.baseline || read_baseline(&s, c.baseline, &baseline)) &&
	    session_discover(&s) && baseline_is_of(&s, c.baseline, baseline) && session_scope(&s))
		audit(&s, &c, policy, baseline);
	code = session_end(&s);
	fabric_free(baseline);
	policy_free(policy);
	return code;
}
