/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A policy compiled for a fabric. Every reason to refuse is looked for before it gives up, so that
 * one run tells them all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

#define MTU_MAX 4096
#define SMALL_PACKET 256
#define MISSED 2.0 /* points of a hundred below the wanted share that are told */

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	free(plan->classes);
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

static bool check_drop(const struct policy *policy, bool allow_drop, struct finding_list *findings)
{
	struct finding *f;

	if (policy->unused_sls != POLICY_UNUSED_DROP || allow_drop)
		return true;
	f = finding_add(findings, FINDING_POLICY_DROP);
	finding_at(f, policy->path, policy->unused_mark.line, policy->unused_mark.column);
	finding_set(&f->what, "unused_sls");
	finding_set(&f->wanted, "default");
	finding_set(&f->got, "drop");
	return false;
}

/* What a class keeps when all have packets of the MTU, but its own are of `own` bytes. */
static double guaranteed(const struct plan *plan, size_t class, unsigned own)
{
	unsigned packet[QOS_DATA_VLS];
	double share[QOS_DATA_VLS];
	uint16_t busy = 0;

	for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++)
		packet[vl] = plan->mtu;
	for (size_t i = 0; i < plan->class_count; i++)
		busy |= (uint16_t)(1u << plan->classes[i].vl);
	packet[plan->classes[class].vl] = own;
	qos_arbitrate(&plan->config.of[QOS_PORT_SWE], busy, packet, share);
	return share[plan->classes[class].vl];
}

static void work_out_shares(const struct policy *policy, struct plan *plan, struct finding_list *findings)
{
	for (size_t i = 0; i < plan->class_count; i++) {
		struct plan_class *class = &plan->classes[i];
		struct finding *f;

		class->share_full = guaranteed(plan, i, plan->mtu);
		class->share_256 = guaranteed(plan, i, SMALL_PACKET);
		if (100 * class->share_full >= class->policy->share - MISSED)
			continue;
		f = finding_add(findings, FINDING_PLAN_SHARE_MISSED);
		finding_at(f, policy->path, class->policy->share_mark.line, class->policy->share_mark.column);
		finding_set(&f->what, "class '%s'", class->policy->name);
		finding_set(&f->wanted, "%.1f %%", class->policy->share);
		finding_set(&f->got, "%.1f %%", 100 * class->share_full);
	}
}

/* Tables for the links as they are, the same for every kind of port. */
static int make_tables(const struct policy *policy, const struct fabric *fabric, struct plan *plan,
		       struct finding_list *findings, bool *refused)
{
	unsigned vl_of_class[QOS_SLS];
	struct qos_tables tables;
	int ret;

	assign_vls(policy, vl_of_class);
	for (size_t i = 0; i < policy->class_count; i++)
		plan->classes[i] = (struct plan_class){.policy = &policy->classes[i], .vl = vl_of_class[i]};
	ret = plan_tables(policy, vl_of_class, plan->vlarb_cap, plan->mtu, &tables);
	if (ret == -ENOSPC) {
		plan_blame_caps(policy, vl_of_class, plan->mtu, fabric, findings);
		*refused = true;
		return 0;
	}
	if (ret)
		return ret;
	/* sw0 must not differ from swe: OpenSM programs an enhanced port 0 from both, one after the other */
	for (int type = 0; type < QOS_PORT_TYPES; type++)
		plan->config.of[type] = tables;
	if (!plan_check_tables(plan, fabric, findings))
		*refused = true;
	work_out_shares(policy, plan, findings);
	return 0;
}

static int fill(const struct policy *policy, const struct fabric *fabric, unsigned flags, struct plan *plan,
		struct finding_list *findings, bool *refused)
{
	struct plan_links links;
	int ret;

	plan_survey(fabric, &links);
	plan->vls = links.vls;
	plan->vlarb_cap = links.cap;
	plan->mtu = links.mtu ? links.mtu : MTU_MAX; /* tables for the largest hold for smaller ones too */
	if (!links.ports) {
		finding_add(findings, FINDING_PLAN_NO_LINKS);
		*refused = true;
	} else if (!plan_check_vls(policy, fabric, findings)) {
		*refused = true;
	} else {
		ret = make_tables(policy, fabric, plan, findings, refused);
		if (ret)
			return ret;
	}
	return flags & PLAN_TABLES_ONLY ? 0 : plan_files(policy, plan, findings, refused);
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
