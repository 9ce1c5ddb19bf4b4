/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * not_applied: where hardly any port holds what it should, that is one matter, not one of each port: nobody has
 * applied it, or another config runs. Said once; what is told of each port stays in the list, for machines and --all.
 */
#include "verify.h"

#include "place.h"

#define PORTS_LEAST 4  /* below that each is told */
#define PARTS 10       /* all but one of so many must differ */

struct count {
	uint32_t sl2vl, vlarb, high_limit; /* ports */
	uint32_t not_applied, other_config, unknown;
};

/* One that a config which was never applied leaves at a port. Ones that drifted or await a sweep were applied once. */
static bool is_table(const struct finding *f)
{
	return (f->code == FINDING_SL2VL_DIFFERS || f->code == FINDING_VLARB_DIFFERS || f->code == FINDING_HIGH_LIMIT_DIFFERS) &&
	       f->cause != CAUSE_DRIFTED && f->cause != CAUSE_AWAITS_SWEEP;
}

/* What follows from it as long as it is not applied. */
static bool follows(const struct finding *f)
{
	return is_table(f) || f->code == FINDING_SM_QOS_OFF || f->code == FINDING_SA_SL_DIFFERS ||
	       f->code == FINDING_FILE_NOT_THE_POLICY;
}

static enum finding_cause cause_of_port(const struct port_state *state)
{
	const struct port_diff *diff = state->diff;

	if (!diff)
		return CAUSE_UNKNOWN;
	for (unsigned in = 0; diff->sl2vl && in < state->expect.in_ports; in++)
		if (diff->sl2vl[in].differs)
			return diff->sl2vl[in].cause.cause;
	for (unsigned block = 0; block < QOS_VLARB_BLOCKS; block++)
		if (diff->vlarb[block])
			return diff->vlarb_cause[block].cause;
	return diff->high_limit_cause.cause;
}

static uint32_t count_ports(const struct verify *v, struct count *count)
{
	uint32_t differ = 0;

	for (uint32_t i = 0; i < v->fabric->port_count; i++) {
		const struct port_state *state = &v->ports[i];
		enum finding_cause cause;

		if (!(state->flags & PORT_DIFFERS))
			continue;
		cause = cause_of_port(state);
		if (cause == CAUSE_DRIFTED || cause == CAUSE_AWAITS_SWEEP)
			continue;
		differ++;
		count->sl2vl += !!(state->flags & PORT_SL2VL);
		count->vlarb += !!(state->flags & PORT_VLARB);
		count->high_limit += !!(state->flags & PORT_HIGH_LIMIT);
		count->not_applied += cause == CAUSE_NOT_APPLIED;
		count->other_config += cause == CAUSE_OTHER_CONFIG;
		count->unknown += cause == CAUSE_NONE || cause == CAUSE_UNKNOWN;
	}
	return differ;
}

static void say_why(struct finding *f, const struct count *count, const struct verify_not_applied *why)
{
	if (why->sm && why->sm->qos_known && !why->sm->qos)
		finding_set(&f->detail, "the running subnet manager has QoS switched off");
	else if (why->file_holds)
		finding_set(&f->detail, "the subnet manager's file has it, so that it has not read the file since");
	else if (count->other_config >= count->not_applied && count->other_config > 0)
		finding_set(&f->detail, "the subnet manager has programmed another config");
	else if (count->not_applied > 0)
		finding_set(&f->detail, "the subnet manager has programmed none there");
	else
		finding_set(&f->detail, "what the subnet manager has programmed is not known");
	finding_append(&f->detail, "SL2VL tables of %u ports, VL arbitration of %u, VLHighLimit of %u: --all, or --format json, "
				   "names each", (unsigned)count->sl2vl, (unsigned)count->vlarb, (unsigned)count->high_limit);
}

bool verify_fold_not_applied(const struct verify *verify, const struct verify_not_applied *why,
			     struct finding_list *findings)
{
	const struct verify_result *result = verify_result(verify);
	struct count count = {0};
	uint32_t differ = count_ports(verify, &count);
	struct finding *f;

	if (differ < PORTS_LEAST || (uint64_t)differ * PARTS < (uint64_t)result->ports * (PARTS - 1))
		return false;
	for (size_t i = 0; i < findings->count; i++)
		findings->items[i].told_by_another = follows(&findings->items[i]);
	f = finding_add(findings, FINDING_NOT_APPLIED);
	finding_set(&f->what, "%s", why->path);
	finding_set(&f->got, "%u of %u ports hold other tables", (unsigned)differ, (unsigned)result->ports);
	say_why(f, &count, why);
	return true;
}
