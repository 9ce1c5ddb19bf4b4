/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The pictures of a report, from what a command has at hand. */
#include <errno.h>
#include <stdlib.h>

#include "cmd.h"

static int draw_ports(FILE *out, void *arg)
{
	return figure_ports(out, arg);
}

static int draw_topology(FILE *out, void *arg)
{
	return figure_topology(out, arg);
}

static int draw_shares(FILE *out, void *arg)
{
	figure_shares(out, arg);
	return 0;
}

void cmd_figures_judged(struct cmd_session *s, const struct verify *verify)
{
	uint32_t count = s->fabric->port_count;

	free(s->figures.looked);
	s->figures.looked = calloc((size_t)count + 1, sizeof(*s->figures.looked));
	if (!s->figures.looked) {
		session_fail(s, "out of memory");
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		s->figures.looked[i] = verify_port_judged(verify, i);
}

void cmd_figure_shares(struct cmd_session *s, const struct policy *policy, const struct plan *plan)
{
	struct plan_place *places = NULL;
	struct figure_shares shares = {.policy = policy, .plan = plan};
	int error = plan_explain(plan, s->fabric, &places, &shares.count);

	if (error != 0) {
		session_fail(s, "cannot explain the plan: out of memory");
		return;
	}
	shares.places = places;
	report_figure(s->report, "figure_shares", "shares of classes, by kind of link", draw_shares, &shares);
	free(places);
}

/* Ports outside of the scope were not looked at, whatever else is known of them. */
static bool narrow(struct cmd_session *s)
{
	const struct scope *scope = session_scope_of(s);
	uint32_t count = s->fabric->port_count;
	bool had = s->figures.looked;

	if (!scope)
		return true;
	if (!had)
		s->figures.looked = calloc((size_t)count + 1, sizeof(*s->figures.looked));
	if (!s->figures.looked)
		return false;
	for (uint32_t i = 0; i < count; i++)
		s->figures.looked[i] = scope_has(scope, i) && (!had || s->figures.looked[i]);
	return true;
}

void cmd_figures_end(struct cmd_session *s)
{
	struct cmd_figures *figures = &s->figures;
	struct figure_fabric in = {
		.fabric = s->fabric,
		.findings = &s->findings,
		.counters = figures->counters.ports ? &figures->counters : NULL,
		.measures = figures->measures,
	};

	if (figures->wanted && s->fabric && !narrow(s)) {
		ctx_error(s->ctx, "out of memory: the report has no pictures");
	} else if (figures->wanted && s->fabric) {
		in.looked = figures->looked;
		report_figure(s->report, "figure_topology", "topology", draw_topology, &in);
		report_figure(s->report, "figure_ports", "ports of switches", draw_ports, &in);
	}
	free(figures->looked);
	free(figures->measures);
	counters_clear(&figures->counters);
}
