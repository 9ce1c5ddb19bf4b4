/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * guard: whether tables that are to be programmed let credits wait in a circle, on the routes in force.
 *
 * VLs only divide links: a circle among channels is one among links too. So if there is none while all traffic is
 * taken as on one VL, there is none with any tables, nor with any mixture of old and new ones while ports change one
 * by one, and no table need be looked at. Where links do form a circle, OpenSM's tables cannot break it, being the same
 * on all switches; but what the devices hold today may, set by other means.
 */
#include "ibqos/paths.h"

#include <errno.h>
#include <stdlib.h>

uint16_t paths_management_sls(const struct fabric *fabric)
{
	uint16_t sls = 1;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct fabric_port *port = &fabric->ports[i];

		if (port->known && fabric_port_lid(port) != 0 && fabric_port_state(port) == FABRIC_STATE_ACTIVE)
			sls |= 1u << fabric_port_sm_sl(port);
	}
	return sls;
}

/* Everything on VL 0. */
static void one_lane(struct qos_config *config)
{
	*config = (struct qos_config){0};
	for (int type = 0; type < QOS_PORT_TYPES; type++) {
		config->of[type].low.count = 1;
		config->of[type].low.entry[0] = (struct qos_vlarb_entry){.vl = 0, .weight = 1};
	}
}

struct guard {
	const struct ibqos_ctx *ctx;
	struct fabric *fabric;
	struct routes *routes;
	struct finding_list found; /* of the last look */
	struct paths_result result;
};

static int look(struct guard *g, const struct lanes *lanes, const struct paths_options *options)
{
	finding_list_clear(&g->found);
	return paths_credit_loops(g->ctx, g->fabric, g->routes, lanes, options, &g->found, &g->result);
}

static int look_at_config(struct guard *g, const struct qos_config *config, const struct paths_options *options)
{
	struct lanes *lanes = NULL;
	int error = lanes_expected(g->fabric, config, &lanes);

	if (error == 0)
		error = look(g, lanes, options);
	lanes_free(lanes);
	return error;
}

/* With what the ports hold now, which is read here. */
static int look_at_devices(struct guard *g, struct source *source, const struct qos_config *config,
			   const struct paths_options *options)
{
	struct lanes *lanes = NULL;
	struct source *listener = NULL;
	struct verify *verify = NULL;
	int lost = 0, error = lanes_new(g->fabric, &lanes);

	if (error == 0)
		error = lanes_listen(lanes, source, &lost, &listener);
	/* verify knows which tables a port has; whether they are as wanted does not matter here */
	if (error == 0)
		error = verify_new(g->ctx, g->fabric, config, &verify);
	if (error == 0)
		error = verify_run(verify, listener, false);
	if (error == 0)
		error = lost ? lost : look(g, lanes, options);
	verify_free(verify);
	source_close(listener);
	lanes_free(lanes);
	return error;
}

/* Hands findings on: circles as findings of `code`, or not at all with FINDING_CODES. */
static void tell(struct finding_list *found, enum finding_code code, struct finding_list *findings)
{
	for (size_t i = 0; i < found->count; i++) {
		struct finding *from = &found->items[i], *to;

		if (from->code == FINDING_CREDIT_LOOP && code == FINDING_CODES)
			continue;
		if (from->code == FINDING_CREDIT_LOOP) {
			from->code = code;
			from->severity = finding_kind(code)->severity;
		}
		to = finding_add(findings, from->code);
		if (to == &findings->scratch)
			continue;
		*to = *from;
		*from = (struct finding){0};
	}
	findings->lost |= found->lost;
	finding_list_clear(found);
}

/* Links form a circle, so that VLs decide: with the planned tables, and as it is today. */
static int judge_tables(struct guard *g, struct source *source, const struct qos_config *config,
			const struct paths_options *options, struct finding_list *findings)
{
	struct finding_list planned = {0};
	int error = look_at_config(g, config, options);

	if (error != 0)
		return error;
	planned = g->found;
	g->found = (struct finding_list){0};
	error = look_at_devices(g, source, config, options);
	if (error == 0) {
		tell(&planned, g->result.credit_loops > 0 ? FINDING_PLAN_LOOP_TODAY : FINDING_PLAN_LOOP, findings);
		tell(&g->found, FINDING_CODES, findings); /* what could not be looked at today */
	}
	finding_list_clear(&planned);
	return error;
}

int paths_guard(const struct ibqos_ctx *ctx, struct source *source, struct fabric *fabric,
		const struct qos_config *config, uint16_t sls, struct finding_list *findings,
		struct check_coverage *coverage)
{
	const struct paths_options one = {.sls = &(struct paths_sl){.sl = 0, .data = true, .management = true}, .sl_count = 1};
	struct guard g = {.ctx = ctx, .fabric = fabric};
	uint16_t management = paths_management_sls(fabric);
	struct paths_sl list[QOS_SLS];
	struct paths_options options = {.sls = list};
	struct qos_config lane;
	int error = routes_new(fabric, &g.routes);

	*coverage = (struct check_coverage){0};
	if (error == 0) {
		routes_want_all(g.routes);
		error = routes_read(g.routes, source);
		*coverage = *routes_coverage(g.routes, ROUTES_LFT);
	}
	one_lane(&lane);
	if (error == 0)
		error = look_at_config(&g, &lane, &one);
	if (error == 0 && g.result.credit_loops == 0) {
		tell(&g.found, FINDING_CODES, findings); /* tables of routes that are not known, if any */
	} else if (error == 0) {
		for (unsigned sl = 0; sl < QOS_SLS; sl++)
			if ((sls | management) >> sl & 1)
				list[options.sl_count++] = (struct paths_sl){
					.sl = sl, .data = sls >> sl & 1, .management = management >> sl & 1};
		error = judge_tables(&g, source, config, &options, findings);
	}
	finding_list_clear(&g.found);
	routes_free(g.routes);
	return error;
}
