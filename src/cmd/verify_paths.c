/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos verify --paths: where all packets go, on which VL, and whether credits can wait in a circle. */
#include "verify_paths.h"

#include <errno.h>
#include <string.h>

void cmd_paths_listen(struct cmd_session *s, struct cmd_paths *p)
{
	struct source *listener;
	int error = lanes_new(s->fabric, &p->lanes);

	if (error == 0)
		error = lanes_listen(p->lanes, s->source, &p->lost, &listener);
	if (error != 0) {
		session_fail(s, "cannot look at paths: %s", strerror(-error));
		return;
	}
	p->inner = s->source;
	s->source = listener;
}

static void stop_listening(struct cmd_session *s, struct cmd_paths *p)
{
	if (!p->inner)
		return;
	source_close(s->source);
	s->source = p->inner;
	p->inner = NULL;
}

void cmd_paths_clear(struct cmd_session *s, struct cmd_paths *p)
{
	stop_listening(s, p);
	lanes_free(p->lanes);
	p->lanes = NULL;
}

/* --- SLs --- */

static uint16_t sls_of(const struct cmd_paths *p, const struct policy *policy, const struct qos_config *config)
{
	uint16_t sls = p->sls;
	unsigned i;

	for (i = 0; p->sls == 0 && policy && i < policy->class_count; i++)
		sls |= 1u << policy->classes[i].sl;
	for (i = 0; p->sls == 0 && !policy && i < QOS_SLS; i++)
		if (config->of[QOS_PORT_CA].sl2vl.vl[i] != QOS_VL_DROP)
			sls |= 1u << i;
	return sls;
}

static void set_options(const struct fabric *fabric, uint16_t data, struct paths_sl sls[QOS_SLS],
			struct paths_options *options)
{
	uint16_t management = paths_management_sls(fabric);

	*options = (struct paths_options){.sls = sls};
	for (unsigned i = 0; i < QOS_SLS; i++)
		if ((data | management) >> i & 1)
			sls[options->sl_count++] =
				(struct paths_sl){.sl = i, .data = data >> i & 1, .management = management >> i & 1};
}

/* --- report --- */

static const char *class_of(const struct policy *policy, unsigned sl)
{
	for (size_t i = 0; policy && i < policy->class_count; i++)
		if (policy->classes[i].sl == sl)
			return policy->classes[i].name;
	return NULL;
}

static void report_counts(struct report *r, const struct policy *policy, const struct paths_options *options,
			  const struct paths_result *result)
{
	static const struct report_column columns[] = {
		{.key = "sl", .title = "SL", .type = REPORT_NUMBER},
		{.key = "class", .title = "class", .type = REPORT_STRING},
		{.key = "arrive", .title = "arrive", .type = REPORT_NUMBER},
		{.key = "dead", .title = "do not", .type = REPORT_NUMBER},
		{.key = "unknown", .title = "not known", .type = REPORT_NUMBER},
	};

	report_table(r, "paths_by_sl", "paths with a forwarding entry all the way, by SL", columns,
		     sizeof(columns) / sizeof(columns[0]));
	for (unsigned i = 0; i < options->sl_count; i++) {
		const struct paths_count *count = &result->sl[i];
		const char *class = class_of(policy, options->sls[i].sl);

		if (!options->sls[i].data)
			continue;
		report_cell_number(r, options->sls[i].sl);
		report_cell_if(r, class);
		report_cell_number(r, count->arrive);
		report_cell_number(r, count->dead);
		report_cell_number(r, count->unknown);
		report_row_end(r);
	}
	report_table_end(r);
}

static const char *adaptive_text(const struct fabric *fabric, const struct routes *routes)
{
	bool on = false, unknown = false;

	for (uint32_t i = 0; i < fabric->node_count; i++) {
		if (fabric->nodes[i].type != FABRIC_SWITCH)
			continue;
		on |= routes_adaptive_of(routes, i) == ROUTES_ADAPTIVE_ON;
		unknown |= routes_adaptive_of(routes, i) == ROUTES_ADAPTIVE_UNKNOWN;
	}
	return on ? "on" : unknown ? NULL : "off";
}

static void report_result(struct cmd_session *s, const struct policy *policy, const struct routes *routes,
			  const struct paths_options *options, const struct paths_result *result)
{
	struct report *r = s->report;

	report_section(r, "paths", "paths, by the forwarding tables");
	report_number(r, "ends", "active ports of adapters and routers", result->ends);
	report_number(r, "ends_left", "ports with a link that is not active", result->ends_left);
	report_number(r, "lids", "LIDs of these ports", result->lids);
	report_number(r, "paths", "paths", result->paths);
	report_number(r, "arrive", "arrive", result->by_lft.arrive);
	report_number(r, "dead", "do not", result->by_lft.dead);
	report_number(r, "unknown", "not known", result->by_lft.unknown);
	report_string(r, "adaptive_routing", "adaptive routing", adaptive_text(s->fabric, routes));
	report_number(r, "channels", "channels between switches (link, direction, VL)", result->channels);
	report_number(r, "dependencies", "dependencies between them", result->turns);
	report_number(r, "credit_loops", "groups that wait in a circle", result->credit_loops);
	report_bool(r, "credit_loops_known", NULL, result->credit_known);
	report_section_end(r);
	report_counts(r, policy, options, result);
	cmd_routes_coverage(s, routes);
}

void cmd_routes_coverage(struct cmd_session *s, const struct routes *routes)
{
	session_coverage_table(s->report, "routes_coverage", "coverage of forwarding");
	for (int i = 0; i < ROUTES_ITEMS; i++)
		session_coverage_row(s->report, routes_item_name(i), routes_coverage(routes, i));
	report_table_end(s->report);
}

void cmd_paths_report(struct cmd_session *s, struct cmd_paths *p, const struct policy *policy,
		      const struct qos_config *config)
{
	struct paths_sl sls[QOS_SLS];
	struct paths_options options;
	struct paths_result result;
	struct routes *routes = NULL;
	uint64_t start;
	int error = p->lost;

	if (!p->inner) /* it was said why */
		return;
	stop_listening(s, p);
	set_options(s->fabric, sls_of(p, policy, config), sls, &options);
	if (error == 0)
		error = routes_new(s->fabric, &routes);
	if (error == 0) {
		routes_want_all(routes);
		error = routes_read(routes, s->source);
	}
	if (error == 0)
		error = routes_read_adaptive(routes, s->source, NULL, 0);
	if (error == 0) {
		start = clock_ns();
		error = paths_check(s->ctx, s->fabric, routes, p->lanes, &options, &s->findings, &result);
		ctx_info(s->ctx, "%ju paths judged in %.2f s", (uintmax_t)(error ? 0 : result.paths),
			 (double)(clock_ns() - start) / 1e9);
	}
	if (error == 0) {
		report_result(s, policy, routes, &options, &result);
		routes_findings(routes, p->by_lft, &s->findings);
		if (result.paths == 0)
			session_fail(s, "there are no two active ports with LIDs, so no path was looked at");
	} else if (error != -EINTR) { /* a signal is told at the end */
		session_fail(s, "cannot look at paths: %s", strerror(-error));
	}
	routes_free(routes);
}
