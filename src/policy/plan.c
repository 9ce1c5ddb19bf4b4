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

/* --- shares --- */

/* What a class of `busy` keeps on a kind of port when these have packets of the MTU, but its own are of `own` bytes. */
static double guaranteed(const struct plan *plan, enum qos_port_type type, uint16_t busy, size_t class, unsigned own)
{
	unsigned packet[QOS_DATA_VLS];
	double share[QOS_DATA_VLS];

	for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++)
		packet[vl] = plan->mtu;
	packet[plan->classes[class].vl] = own;
	qos_arbitrate(&plan->config.of[type], busy, packet, share);
	return share[plan->classes[class].vl];
}

static double wanted_share(const struct policy *policy, enum qos_port_type type, size_t class)
{
	const struct policy_override *override = &policy->overrides[type];

	for (size_t i = 0; override->given && i < override->share_count; i++)
		if (strcmp(override->shares[i].class_name, policy->classes[class].name) == 0)
			return override->shares[i].share;
	return policy->classes[class].share;
}

/* What the classes that are after latency only leave the others, if they keep within their share. */
struct latency {
	const struct policy_class *first; /* NULL: there is none, or another class has priority too */
	uint16_t others;		  /* their VLs */
	double left;
};

static void latency_of(const struct policy *policy, const struct plan *plan, enum qos_port_type type,
		       struct latency *latency)
{
	double sum = 0, own = 0;

	*latency = (struct latency){.left = 1};
	for (size_t i = 0; i < policy->class_count; i++) {
		const struct policy_class *class = &policy->classes[i];

		sum += wanted_share(policy, type, i);
		if (class->priority != POLICY_PRIORITY_HIGH) {
			latency->others |= (uint16_t)(1u << plan->classes[i].vl);
			continue;
		}
		if (!class->min_latency) {
			latency->first = NULL;
			return;
		}
		own += wanted_share(policy, type, i);
		if (!latency->first)
			latency->first = class;
	}
	latency->left = sum > 0 ? 1 - own / sum : 1;
	if (!latency->others)
		latency->first = NULL;
}

static void missed(const struct policy *policy, enum qos_port_type type, size_t class, double got,
		   struct finding_list *findings)
{
	const struct policy_class *c = &policy->classes[class];
	struct finding *f = finding_add(findings, FINDING_PLAN_SHARE_MISSED);

	finding_at(f, policy->path, c->share_mark.line, c->share_mark.column);
	finding_set(&f->what, "class '%s'", c->name);
	finding_set(&f->wanted, "%.1f %%", wanted_share(policy, type, class));
	finding_set(&f->got, "%.1f %%", 100 * got);
	if (policy->overrides[type].given)
		finding_set(&f->detail, "on ports of %s", qos_port_type_name(type));
}

static void tell_latency(const struct policy *policy, const struct latency *latency, double taken,
			 enum qos_port_type type, struct finding_list *findings)
{
	struct finding *f = finding_add(findings, FINDING_PLAN_MIN_LATENCY);

	finding_at(f, policy->path, latency->first->latency_mark.line, latency->first->latency_mark.column);
	finding_set(&f->what, "class '%s'%s", latency->first->name,
		    policy->overrides[type].given ? " (on ports of a kind with an override)" : "");
	finding_set(&f->wanted, "%.1f %%", 100 * (1 - latency->left));
	finding_set(&f->got, "up to %.1f %%", 100 * taken);
	finding_set(&f->detail, "while it sends without end; the shares shown for the others are for that case");
}

/* The shares on one kind of port, and what is missing. */
static void work_out_type(const struct policy *policy, struct plan *plan, enum qos_port_type type, bool tell,
			  struct finding_list *findings)
{
	struct latency latency;
	uint16_t busy = 0;
	double taken = 0;
	bool told = false;

	for (size_t i = 0; i < plan->class_count; i++)
		busy |= (uint16_t)(1u << plan->classes[i].vl);
	latency_of(policy, plan, type, &latency);
	for (size_t i = 0; i < plan->class_count; i++) {
		struct plan_class *class = &plan->classes[i];
		double full = guaranteed(plan, type, busy, i, plan->mtu);
		double small = guaranteed(plan, type, busy, i, SMALL_PACKET), least = full;

		class->share_full = full < class->share_full ? full : class->share_full;
		class->share_256 = small < class->share_256 ? small : class->share_256;
		if (!(latency.others >> class->vl & 1)) {
			taken += full;
		} else if (latency.first && 100 * full < wanted_share(policy, type, i) - MISSED) {
			least = latency.left * guaranteed(plan, type, latency.others, i, plan->mtu);
			told = true;
		}
		if (tell && 100 * least < wanted_share(policy, type, i) - MISSED)
			missed(policy, type, i, least, findings);
	}
	if (tell && told)
		tell_latency(policy, &latency, taken, type, findings);
}

/* The least of what adapters and switches give; routers have their own say. */
static void work_out_shares(const struct policy *policy, struct plan *plan, struct finding_list *findings)
{
	bool apart = policy->overrides[QOS_PORT_CA].given || policy->overrides[QOS_PORT_SWE].given;

	for (size_t i = 0; i < plan->class_count; i++)
		plan->classes[i].share_full = plan->classes[i].share_256 = 1;
	work_out_type(policy, plan, QOS_PORT_SWE, true, findings);
	work_out_type(policy, plan, QOS_PORT_CA, apart, findings);
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
		return plan_tables(policy, vl_of_class, plan->vlarb_cap, plan->mtu, tables);
	classes = malloc(policy->class_count * sizeof(*classes));
	if (!classes)
		return -ENOMEM;
	memcpy(classes, policy->classes, policy->class_count * sizeof(*classes));
	for (size_t i = 0; i < policy->class_count; i++)
		classes[i].share = wanted_share(policy, type, i);
	local.classes = classes;
	ret = plan_tables_limited(&local, vl_of_class, plan->vlarb_cap, plan->mtu, override->high_limit, tables);
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
	work_out_shares(policy, plan, findings);
	return 0;
}

static int fill(const struct policy *policy, const struct fabric *fabric, unsigned flags, struct plan *plan,
		struct finding_list *findings, bool *refused)
{
	struct plan_links links = {.ports = 0};
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
		if (!plan_check_expected_vls(policy, fabric, plan, findings))
			*refused = true;
		ret = make_tables(policy, fabric, plan, findings, refused);
		if (ret)
			return ret;
	}
	return flags & PLAN_TABLES_ONLY ? 0 : plan_files(policy, fabric, plan, findings, refused);
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
