/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A policy compiled for a fabric. Every reason to refuse is looked for before it gives up, so that
 * one run tells them all.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

#define MTU_MAX 4096

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	free(plan->classes);
	free(plan->step);
	free(plan->conf_path);
	free(plan->conf_old);
	free(plan->conf_new);
	free(plan->rules_path);
	free(plan->rules_old);
	free(plan->rules_new);
	free(plan);
}

/* The default class has VL 0, where unmapped traffic goes; the others 1, 2, ... in policy order. */
static void assign_vls(const struct policy *policy, unsigned *vl_of_class)
{
	unsigned next = 1;

	for (size_t i = 0; i < policy->class_count; i++)
		vl_of_class[i] = i == policy->default_class ? 0 : next++;
}

/* --- dropped SLs --- */

static bool sl_used(const struct policy *policy, unsigned sl)
{
	for (size_t i = 0; i < policy->class_count; i++)
		if (policy->classes[i].sl == sl)
			return true;
	return sl == 0;
}

/* Who is known to use an SL that would be dropped; the caller frees it; NULL: out of memory. */
static char *drop_text(const struct policy *policy)
{
	char who[POLICY_SL_TEXT], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "known to choose by themselves: ");
	for (unsigned sl = 0; sl < QOS_SLS; sl++)
		if (!sl_used(policy, sl) && policy_sl_self_chosen(policy, sl, who))
			fprintf(out, "SL %u: %s; ", sl, who);
	fprintf(out, "and UCX with UCX_IB_AR_ENABLE=yes or try: the first SL for which the adapter has adaptive routing");
	return text_stream_end(out, &text) == 0 ? text : NULL;
}

static bool check_drop(const struct policy *policy, bool allow_drop, struct finding_list *findings)
{
	struct finding *f;
	char *text;

	if (policy->unused_sls != POLICY_UNUSED_DROP)
		return true;
	f = finding_add(findings, allow_drop ? FINDING_PLAN_DROPS_SLS : FINDING_POLICY_DROP);
	finding_at(f, policy->path, policy->unused_mark.line, policy->unused_mark.column);
	finding_set(&f->what, "unused_sls");
	finding_set(&f->wanted, "default");
	finding_set(&f->got, "drop");
	text = drop_text(policy);
	if (!text)
		findings->lost = true;
	finding_set(&f->detail, "%s", text ? text : "");
	free(text);
	return allow_drop;
}

/* --- tables --- */

/* The tables of one kind of port: the policy's, with what is overridden there. */
static int make_type(const struct policy *policy, const unsigned *vl_of_class, const struct plan *plan,
		     enum qos_port_type type, struct qos_tables *tables)
{
	const struct policy_override *override = &policy->overrides[type];
	struct policy_class *classes;
	struct policy local = *policy;
	int ret;

	if (!override->given)
		return plan_tables_settled(policy, vl_of_class, plan->vlarb_cap, plan->mtu, POLICY_NO_LIMIT, tables);
	classes = malloc(policy->class_count * sizeof(*classes));
	if (!classes)
		return -ENOMEM;
	memcpy(classes, policy->classes, policy->class_count * sizeof(*classes));
	for (size_t i = 0; i < policy->class_count; i++)
		classes[i].share = plan_wanted_share(policy, type, i);
	local.classes = classes;
	ret = plan_tables_settled(&local, vl_of_class, plan->vlarb_cap, plan->mtu, override->high_limit, tables);
	free(classes);
	return ret;
}

static int make_tables(const struct policy *policy, const struct fabric *fabric, struct plan *plan,
		       struct finding_list *findings, bool *refused)
{
	unsigned vl_of_class[QOS_SLS];
	int ret = 0;

	assign_vls(policy, vl_of_class);
	for (size_t i = 0; i < policy->class_count; i++)
		plan->classes[i] = (struct plan_class){.policy = &policy->classes[i], .vl = vl_of_class[i]};
	for (int type = 0; ret == 0 && type < QOS_PORT_TYPES; type++)
		ret = make_type(policy, vl_of_class, plan, type, &plan->config.of[type]);
	if (ret == -ENOSPC) {
		plan_blame_caps(policy, vl_of_class, plan->mtu, fabric, findings);
		*refused = true;
		return 0;
	}
	if (ret)
		return ret;
	/* sw0 must not differ from swe: OpenSM programs an enhanced port 0 from both, one after the other */
	plan->config.of[QOS_PORT_SW0] = plan->config.of[QOS_PORT_SWE];
	if (!plan_check_tables(plan, fabric, findings))
		*refused = true;
	plan_work_out_shares(policy, plan, findings);
	return 0;
}

static int fill(const struct policy *policy, const struct fabric *fabric, unsigned flags, struct plan *plan,
		struct finding_list *findings, bool *refused)
{
	struct plan_links links = {.ports = 0};
	int ret;

	plan_survey(fabric, &links);
	plan_tell_reserved(fabric, flags & PLAN_TABLES_ONLY, findings);
	plan->vls = links.vls;
	plan->vlarb_cap = links.cap;
	/* tables for the largest are right for each: their weights are whole packets of any MTU */
	plan->mtu = links.mtu ? links.mtu : MTU_MAX;
	plan->mtus = links.mtus | plan->mtu;
	if (!links.ports) {
		finding_add(findings, links.unknown ? FINDING_PLAN_VLS_UNKNOWN : FINDING_PLAN_NO_LINKS);
		*refused = true;
	} else if (!links.vls) { /* each port has been told of */
		*refused = true;
	} else if (policy->tables.given) {
		ret = plan_exact(policy, flags, plan, findings, refused);
		if (ret)
			return ret;
		if (!plan_check_expected_vls(policy, fabric, plan, findings))
			*refused = true;
	} else if (!plan_check_vls(policy, fabric, findings)) {
		*refused = true;
	} else {
		if (!plan_check_expected_vls(policy, fabric, plan, findings))
			*refused = true;
		ret = make_tables(policy, fabric, plan, findings, refused);
		if (ret)
			return ret;
		/* a matter of what to choose, and of no use to who only compares with the tables */
		if (!*refused && !(flags & PLAN_TABLES_ONLY))
			plan_tell_small(policy, plan, findings);
	}
	return flags & PLAN_TABLES_ONLY ? 0 : plan_files(policy, fabric, flags, plan, findings, refused);
}

int plan_make(const struct policy *policy, const struct fabric *fabric, unsigned flags,
	      struct finding_list *findings, struct plan **plan)
{
	struct plan *made;
	bool refused;
	int ret;

	*plan = NULL;
	if (!policy->class_count || policy->class_count > QOS_SLS ||
	    policy->default_class >= policy->class_count)
		return -EINVAL;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->class_count = policy->class_count;
	made->classes = calloc(policy->class_count, sizeof(*made->classes));
	refused = !check_drop(policy, flags & PLAN_ALLOW_DROP, findings);
	ret = made->classes ? fill(policy, fabric, flags, made, findings, &refused) : -ENOMEM;
	if (ret || refused)
		plan_free(made);
	else
		*plan = made;
	return ret;
}
