/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * paths: a run over all paths: what every LID's is computed from, made once.
 *
 * The table of a switch for one LID does not depend on where a packet comes from, so all packets to a LID go along a tree
 * of switches: LIDs x switches steps, each with a count of the sources behind it, tell of all pairs. The VL depends on
 * the in-port too, so there is a code for each SL and pair of ports of a switch; ends of one switch whose codes are
 * alike count as one.
 */
#include "paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- switches and ends --- */

static int make_switches(struct paths_run *run)
{
	const struct fabric *fabric = run->fabric;
	uint32_t i;

	run->of_node = calloc((size_t)fabric->node_count + 1, sizeof(*run->of_node));
	run->switches = calloc((size_t)fabric->node_count + 1, sizeof(*run->switches));
	run->order = calloc((size_t)fabric->node_count + 1, sizeof(*run->order));
	if (!run->of_node || !run->switches || !run->order)
		return -ENOMEM;
	for (i = 0; i < fabric->node_count; i++) {
		struct paths_switch *s = &run->switches[run->switch_count];

		run->of_node[i] = PATHS_END;
		if (fabric->nodes[i].type != FABRIC_SWITCH)
			continue;
		*s = (struct paths_switch){.node = i, .width = fabric->nodes[i].ports + 1u,
					   .first_cell = (uint32_t)run->cell_count, .first_out = (uint32_t)run->out_count};
		run->cell_count += (size_t)s->width * s->width;
		run->out_count += s->width;
		run->of_node[i] = run->switch_count++;
	}
	return 0;
}

static bool is_end(const struct fabric *fabric, uint32_t port)
{
	const struct fabric_port *p = &fabric->ports[port];

	return fabric_port_node(fabric, port)->type != FABRIC_SWITCH && p->known && p->number != 0 &&
	       fabric_port_state(p) == FABRIC_STATE_ACTIVE && fabric_port_lid(p) != 0;
}

static bool has_link(const struct fabric *fabric, uint32_t port)
{
	const struct fabric_port *p = &fabric->ports[port];

	return fabric_port_node(fabric, port)->type != FABRIC_SWITCH && p->number != 0 &&
	       (p->peer != FABRIC_NONE || (p->known && fabric_port_phys_state(p) == FABRIC_PHYS_LINK_UP));
}

static int by_switch(const void *a, const void *b)
{
	const struct paths_end *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->in < y->in ? -1 : x->in > y->in;
}

static int make_ends(struct paths_run *run)
{
	const struct fabric *fabric = run->fabric;
	uint32_t i;

	run->ends = calloc((size_t)fabric->port_count + 1, sizeof(*run->ends));
	if (!run->ends)
		return -ENOMEM;
	for (i = 0; i < fabric->port_count; i++) {
		struct paths_end *end = &run->ends[run->end_count];

		if (!is_end(fabric, i)) {
			run->result->ends_left += has_link(fabric, i);
			continue;
		}
		*end = (struct paths_end){.port = i, .at = PATHS_END};
		run->end_count++;
		/* any LID will do: what is asked is whether a switch is behind it */
		if (routes_link(run->routes, i, 0) != ROUTE_ON)
			continue;
		end->at = run->of_node[fabric->ports[fabric->ports[i].peer].node];
		end->in = fabric->ports[fabric->ports[i].peer].number;
	}
	run->result->ends = run->end_count;
	if (run->end_count > 0)
		qsort(run->ends, run->end_count, sizeof(*run->ends), by_switch);
	for (i = 0; i < run->end_count && run->ends[i].at != PATHS_END; i++) {
		struct paths_switch *s = &run->switches[run->ends[i].at];

		if (s->ends++ == 0)
			s->first_end = i;
	}
	return 0;
}

/* --- codes --- */

static uint8_t code_of(const struct paths_run *run, uint32_t out, unsigned in, unsigned option)
{
	unsigned vl;
	enum lane_fate fate = lanes_fate(run->lanes, out, in, run->options->sls[option].sl, &vl);

	return PATHS_CODE(fate, vl);
}

static void set_codes(struct paths_run *run, const struct paths_switch *s)
{
	unsigned sls = run->options->sl_count, in, out, i;
	uint32_t first = run->fabric->nodes[s->node].first_port;

	for (out = 1; out < s->width; out++)
		for (in = 0; in < s->width; in++)
			for (i = 0; i < sls; i++)
				run->codes[((size_t)s->first_cell + in * s->width + out) * sls + i] =
					code_of(run, first + out, in, i);
}

/* The code that all ends of a switch have for an out-port, that at the port itself left out; PATHS_MIXED if they differ. */
static uint8_t common_code(const struct paths_run *run, const struct paths_switch *s, unsigned out, unsigned option)
{
	unsigned sls = run->options->sl_count;
	uint8_t common = PATHS_CODE(LANE_FINE, 0);
	bool first = true;
	uint32_t i;

	for (i = s->first_end; i < s->first_end + s->ends; i++) {
		uint8_t code = run->codes[((size_t)s->first_cell + run->ends[i].in * s->width + out) * sls + option];

		if (PATHS_CODE_FATE(run->injected[(size_t)i * sls + option]) != LANE_FINE)
			return PATHS_MIXED;
		if (run->ends[i].in == out)
			continue;
		if (!first && code != common)
			return PATHS_MIXED;
		common = code;
		first = false;
	}
	return common;
}

static int make_codes(struct paths_run *run)
{
	unsigned sls = run->options->sl_count, out, i;
	uint32_t n;

	run->codes = calloc(run->cell_count + 1, sls + 1u);
	run->end_codes = calloc(run->out_count + 1, sls + 1u);
	run->injected = calloc((size_t)run->end_count + 1, sls + 1u);
	run->waits = calloc(run->cell_count + 1, (sls + 1u) * sizeof(*run->waits));
	if (!run->codes || !run->end_codes || !run->injected || !run->waits)
		return -ENOMEM;
	for (n = 0; n < run->end_count; n++)
		for (i = 0; i < sls; i++)
			run->injected[(size_t)n * sls + i] = code_of(run, run->ends[n].port, 0, i);
	for (n = 0; n < run->switch_count; n++) {
		const struct paths_switch *s = &run->switches[n];

		set_codes(run, s);
		for (out = 1; out < s->width; out++)
			for (i = 0; i < sls; i++)
				run->end_codes[((size_t)s->first_out + out) * sls + i] = common_code(run, s, out, i);
	}
	return 0;
}

/* --- a run --- */

static bool has_management(const struct paths_options *options)
{
	for (unsigned i = 0; i < options->sl_count; i++)
		if (options->sls[i].management)
			return true;
	return false;
}

static int follow_all(struct paths_run *run)
{
	bool management = has_management(run->options);
	unsigned lid;

	for (lid = 1; lid <= ROUTES_LID_MAX; lid++) {
		uint32_t port = routes_port_of_lid(run->routes, lid);
		bool end;

		if (port == FABRIC_NONE)
			continue;
		end = is_end(run->fabric, port);
		if (!end && (fabric_port_node(run->fabric, port)->type != FABRIC_SWITCH || !management))
			continue;
		if (ctx_stopped(run->ctx))
			return -EINTR;
		run->result->lids += end;
		paths_follow(run, lid);
		if (run->error != 0)
			return run->error;
	}
	return 0;
}

static int run_all(const struct ibqos_ctx *ctx, const struct fabric *fabric, const struct routes *routes,
		   const struct lanes *lanes, const struct paths_options *options, bool loops_only,
		   struct finding_list *findings, struct paths_result *result)
{
	struct paths_run run = {.ctx = ctx, .fabric = fabric, .routes = routes, .lanes = lanes, .options = options,
				.result = result, .loops_only = loops_only};
	int error;

	*result = (struct paths_result){.credit_known = true};
	error = make_switches(&run);
	if (error == 0)
		error = make_ends(&run);
	if (error == 0)
		error = make_codes(&run);
	if (error == 0)
		error = follow_all(&run);
	if (error == 0 && findings)
		paths_tell(&run, findings);
	if (error == 0)
		error = paths_find_credit_loops(&run, findings);
	paths_forget(&run);
	free(run.of_node);
	free(run.switches);
	free(run.order);
	free(run.ends);
	free(run.codes);
	free(run.end_codes);
	free(run.injected);
	free(run.waits);
	return error;
}

int paths_check(const struct ibqos_ctx *ctx, const struct fabric *fabric, const struct routes *routes,
		const struct lanes *lanes, const struct paths_options *options, struct finding_list *findings,
		struct paths_result *result)
{
	return run_all(ctx, fabric, routes, lanes, options, false, findings, result);
}

int paths_credit_loops(const struct ibqos_ctx *ctx, const struct fabric *fabric, const struct routes *routes,
		       const struct lanes *lanes, const struct paths_options *options, struct finding_list *findings,
		       struct paths_result *result)
{
	int error = run_all(ctx, fabric, routes, lanes, options, true, findings, result);

	if (error == 0 && findings && !result->credit_known)
		finding_set(&finding_add(findings, FINDING_PATH_UNKNOWN)->what, "loops of credits");
	return error;
}
