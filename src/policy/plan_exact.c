/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The plan of a policy that says its tables itself: what they give each class, by the arbitration model.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

#define SMALL_PACKET 256
#define MISSED 2.0 /* points of a hundred below the wanted share that are told */
#define MTUS (256u | 512u | 1024u | 2048u | 4096u)

static struct finding *tell(const struct policy *policy, enum finding_code code, struct policy_mark mark,
			    struct finding_list *findings)
{
	return finding_at(finding_add(findings, code), policy->path, mark.line, mark.column);
}

/* --- SLs that are dropped --- */

static bool check_drop(const struct policy *policy, bool allowed, struct finding_list *findings)
{
	char text[64] = "";
	size_t used = 0;
	struct finding *f;

	for (unsigned sl = 0; sl < QOS_SLS; sl++)
		for (int type = 0; type < QOS_PORT_TYPES; type++)
			if (policy->tables.config.of[type].sl2vl.vl[sl] == QOS_VL_DROP) {
				used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", used ? ", " : "", sl);
				break;
			}
	if (!used)
		return true;
	f = tell(policy, allowed ? FINDING_PLAN_DROPS_SLS : FINDING_POLICY_DROP, policy->tables.mark, findings);
	finding_set(&f->what, "tables");
	finding_set(&f->got, "SLs %s are mapped to VL 15", text);
	return allowed;
}

/* --- shares --- */

static unsigned vl_of(const struct plan *plan, enum qos_port_type type, size_t class)
{
	return plan->config.of[type].sl2vl.vl[plan->classes[class].policy->sl];
}

/* As OpenSM folds it where links run the fewest VLs of this fabric. */
static unsigned held_vl_of(const struct plan *plan, enum qos_port_type type, size_t class)
{
	unsigned vl = vl_of(plan, type, class);

	return vl == QOS_VL_DROP ? vl : qos_fold_vl((uint8_t)vl, qos_code_of_vls(plan->vls));
}

/* What the classes on a VL should have together. */
static double wanted_of_vl(const struct plan *plan, enum qos_port_type type, unsigned vl)
{
	double sum = 0;

	for (size_t i = 0; i < plan->class_count; i++)
		if (held_vl_of(plan, type, i) == vl)
			sum += plan->classes[i].policy->share;
	return sum;
}

/* What a class keeps with packets of `own` bytes, the others' being of `mtu`: its part of what its VL keeps. */
static double guaranteed(const struct plan *plan, enum qos_port_type type, size_t class, unsigned mtu, unsigned own)
{
	unsigned vl = held_vl_of(plan, type, class), packet[QOS_DATA_VLS];
	unsigned cap = plan->vlarb_cap ? plan->vlarb_cap : QOS_VLARB_ENTRIES;
	struct qos_tables held;
	double share[QOS_DATA_VLS];
	uint16_t busy = 0;

	if (vl == QOS_VL_DROP)
		return 0;
	plan_hold(&plan->config.of[type], cap, cap, qos_code_of_vls(plan->vls), &held);
	for (size_t i = 0; i < plan->class_count; i++)
		busy |= (uint16_t)(1u << held_vl_of(plan, type, i));
	for (unsigned i = 0; i < QOS_DATA_VLS; i++)
		packet[i] = mtu;
	packet[vl] = own;
	qos_arbitrate(&held, busy, packet, share);
	return share[vl] * plan->classes[class].policy->share / wanted_of_vl(plan, type, vl);
}

static void work_out(struct plan *plan, enum qos_port_type type, size_t class)
{
	struct plan_class *c = &plan->classes[class];

	for (unsigned mtu = 256; mtu & MTUS; mtu <<= 1) {
		double full, small;

		if (!(plan->mtus & mtu))
			continue;
		full = guaranteed(plan, type, class, mtu, mtu);
		small = guaranteed(plan, type, class, mtu, SMALL_PACKET);
		c->share_full = full < c->share_full ? full : c->share_full;
		c->share_256 = small < c->share_256 ? small : c->share_256;
	}
}

static void check_share(const struct policy *policy, const struct plan_class *class, struct finding_list *findings)
{
	const struct policy_class *c = class->policy;
	struct finding *f;

	if (class->share_full > 0 && 100 * class->share_full >= c->share - MISSED)
		return;
	f = tell(policy, class->share_full > 0 ? FINDING_PLAN_SHARE_MISSED : FINDING_PLAN_TABLES_STARVE, c->share_mark,
		 findings);
	finding_set(&f->what, "class '%s'", c->name);
	finding_set(&f->wanted, "%.1f %%", c->share);
	finding_set(&f->got, "%.1f %%", 100 * class->share_full);
}

/* --- VLs that classes share --- */

/* Names of the classes whose VL is `vl`, folded by a code; NULL: fewer than two, or out of memory. */
static char *sharers(const struct plan *plan, enum qos_port_type type, unsigned vl, unsigned code, bool *apart)
{
	unsigned count = 0, first = QOS_VL_DROP;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	*apart = false;
	if (!out)
		return NULL;
	for (size_t i = 0; i < plan->class_count; i++) {
		unsigned own = vl_of(plan, type, i);

		if (qos_fold_vl((uint8_t)own, code) != vl)
			continue;
		*apart |= count > 0 && own != first; /* only the fold brings them together */
		first = own;
		fprintf(out, "%s%s", count++ ? ", " : "", plan->classes[i].policy->name);
	}
	if (text_stream_end(out, &text) < 0 || count < 2) {
		free(text);
		return NULL;
	}
	return text;
}

static void check_shared(const struct policy *policy, const struct plan *plan, struct finding_list *findings)
{
	unsigned code = qos_code_of_vls(plan->vls);

	for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++) {
		bool apart;
		char *names = sharers(plan, QOS_PORT_SWE, vl, 0, &apart);
		struct finding *f;

		if (names) {
			f = tell(policy, FINDING_PLAN_VL_SHARED, policy->tables.mark, findings);
			finding_set(&f->what, "VL %u", vl);
			finding_set(&f->got, "%s", names);
		}
		free(names);
		names = sharers(plan, QOS_PORT_SWE, vl, code, &apart);
		if (names && apart) {
			f = tell(policy, FINDING_PLAN_CLASSES_FOLD, policy->tables.mark, findings);
			finding_set(&f->what, "links of %u VLs", plan->vls);
			finding_set(&f->got, "VL %u: %s", vl, names);
		}
		free(names);
	}
}

int plan_exact(const struct policy *policy, unsigned flags, struct plan *plan, struct finding_list *findings,
	       bool *refused)
{
	plan->config = policy->tables.config;
	for (size_t i = 0; i < policy->class_count; i++) {
		const struct policy_class *class = &policy->classes[i];

		plan->classes[i] = (struct plan_class){.policy = class, .share_full = 1, .share_256 = 1};
		plan->classes[i].vl = held_vl_of(plan, QOS_PORT_SWE, i);
	}
	for (size_t i = 0; i < policy->class_count; i++) {
		work_out(plan, QOS_PORT_SWE, i);
		work_out(plan, QOS_PORT_CA, i);
		check_share(policy, &plan->classes[i], findings);
	}
	check_shared(policy, plan, findings);
	if (!check_drop(policy, flags & PLAN_ALLOW_DROP, findings))
		*refused = true;
	return 0;
}
