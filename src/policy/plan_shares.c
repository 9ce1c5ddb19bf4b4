/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The shares of a plan: what each class keeps of a link by the arbitration model, on every kind of
 * port and at every MTU of the fabric, and which class is told that it is not what it asked for.
 */
#include <string.h>

#include "plan.h"

#define SMALL_PACKET 256
#define MISSED 2.0 /* points of a hundred below the wanted share that are told */
#define SMALL_PART 0.5 /* of its share: a class that keeps less with small packets is told */

double plan_wanted_share(const struct policy *policy, enum qos_port_type type, size_t class)
{
	const struct policy_override *override = &policy->overrides[type];

	for (size_t i = 0; override->given && i < override->share_count; i++)
		if (strcmp(override->shares[i].class_name, policy->classes[class].name) == 0)
			return override->shares[i].share;
	return policy->classes[class].share;
}

/* A kind of port and an MTU that links have. */
struct where {
	const struct plan *plan;
	enum qos_port_type type;
	unsigned mtu;
};

/* What a class of `busy` keeps when these have packets of the MTU, but its own are of `own` bytes. */
static double guaranteed(const struct where *where, uint16_t busy, size_t class, unsigned own)
{
	unsigned vl = where->plan->classes[class].vl, packet[QOS_DATA_VLS];
	double share[QOS_DATA_VLS];

	for (unsigned i = 0; i < QOS_DATA_VLS; i++)
		packet[i] = where->mtu;
	packet[vl] = own < where->mtu ? own : where->mtu;
	qos_arbitrate(&where->plan->config.of[where->type], busy, packet, share);
	return share[vl];
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

		sum += plan_wanted_share(policy, type, i);
		if (class->priority != POLICY_PRIORITY_HIGH) {
			latency->others |= (uint16_t)(1u << plan->classes[i].vl);
			continue;
		}
		if (!class->min_latency) {
			latency->first = NULL;
			return;
		}
		own += plan_wanted_share(policy, type, i);
		if (!latency->first)
			latency->first = class;
	}
	latency->left = sum > 0 ? 1 - own / sum : 1;
	if (!latency->others)
		latency->first = NULL;
}

/* The class of high priority that takes most beyond its share there, which is then why the others lack theirs; NULL: none does. */
static const struct policy_class *taker(const struct policy *policy, const struct where *where, double *takes, double *wanted)
{
	const struct policy_class *found = NULL;
	double most = MISSED;
	uint16_t busy = 0;

	for (size_t i = 0; i < where->plan->class_count; i++)
		busy |= (uint16_t)(1u << where->plan->classes[i].vl);
	for (size_t i = 0; i < where->plan->class_count; i++) {
		double share = plan_wanted_share(policy, where->type, i), got;

		if (policy->classes[i].priority != POLICY_PRIORITY_HIGH)
			continue;
		got = 100 * guaranteed(where, busy, i, where->mtu);
		if (got - share <= most)
			continue;
		most = got - share;
		found = &policy->classes[i];
		*takes = got;
		*wanted = share;
	}
	return found;
}

static void missed(const struct policy *policy, const struct where *where, size_t class, double got,
		   struct finding_list *findings)
{
	const struct policy_class *c = &policy->classes[class];
	struct finding *f = finding_add(findings, FINDING_PLAN_SHARE_MISSED);
	bool apart = policy->overrides[where->type].given, smaller = where->mtu != where->plan->mtu;
	double takes, wanted;
	const struct policy_class *high = taker(policy, where, &takes, &wanted);

	finding_at(f, policy->path, c->share_mark.line, c->share_mark.column);
	finding_set(&f->what, "class '%s'", c->name);
	finding_set(&f->wanted, "%.1f %%", plan_wanted_share(policy, where->type, class));
	finding_set(&f->got, "%.1f %%", 100 * got);
	if (apart && smaller)
		finding_set(&f->detail, "on ports of %s with MTU %u", qos_port_type_name(where->type), where->mtu);
	else if (apart)
		finding_set(&f->detail, "on ports of %s", qos_port_type_name(where->type));
	else if (smaller)
		finding_set(&f->detail, "on links with MTU %u", where->mtu);
	if (high)
		finding_append(&f->detail, "class '%s' takes %.1f %% in place of %.1f %%, for its priority is high", high->name, takes, wanted);
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

/* Where a class is furthest below what it asked for. */
struct miss {
	double got;
	struct where where;
};

/* The shares at one place, and what is missing there. */
static void work_out(const struct policy *policy, struct plan *plan, const struct where *where,
		     struct miss miss[QOS_SLS], bool *latency_told, struct finding_list *findings)
{
	struct latency latency;
	uint16_t busy = 0;
	double taken = 0;
	bool excess = false;

	for (size_t i = 0; i < plan->class_count; i++)
		busy |= (uint16_t)(1u << plan->classes[i].vl);
	latency_of(policy, plan, where->type, &latency);
	for (size_t i = 0; i < plan->class_count; i++) {
		double full = guaranteed(where, busy, i, where->mtu), least = full;
		double small = guaranteed(where, busy, i, SMALL_PACKET);
		struct plan_class *class = &plan->classes[i];

		class->share_full = full < class->share_full ? full : class->share_full;
		class->share_256 = small < class->share_256 ? small : class->share_256;
		if (!(latency.others >> class->vl & 1)) {
			taken += full;
		} else if (latency.first && 100 * full < plan_wanted_share(policy, where->type, i) - MISSED) {
			least = latency.left * guaranteed(where, latency.others, i, where->mtu);
			excess = true;
		}
		if (least < miss[i].got)
			miss[i] = (struct miss){least, *where};
	}
	if (excess && !*latency_told)
		tell_latency(policy, &latency, taken, where->type, findings);
	*latency_told |= excess;
}

/* All MTUs, the largest first: a smaller one is named only where it is worse. */
static void work_out_type(const struct policy *policy, struct plan *plan, enum qos_port_type type, bool tell,
			  struct finding_list *findings)
{
	struct finding_list untold = {0};
	struct miss miss[QOS_SLS];
	bool latency_told = false;

	for (size_t i = 0; i < QOS_SLS; i++)
		miss[i] = (struct miss){2, {plan, type, plan->mtu}}; /* no share is that much */
	for (unsigned mtu = plan->mtu; mtu; mtu >>= 1)
		if (plan->mtus & mtu)
			work_out(policy, plan, &(struct where){plan, type, mtu}, miss, &latency_told,
				 tell ? findings : &untold);
	for (size_t i = 0; tell && i < plan->class_count; i++)
		if (100 * miss[i].got < plan_wanted_share(policy, type, i) - MISSED)
			missed(policy, &miss[i].where, i, miss[i].got, findings);
	finding_list_clear(&untold);
}

void plan_tell_small(const struct policy *policy, const struct plan *plan, struct finding_list *findings)
{
	for (size_t i = 0; i < plan->class_count; i++) {
		const struct plan_class *class = &plan->classes[i];
		struct finding *f;

		if (class->share_256 >= SMALL_PART * class->policy->share / 100)
			continue;
		f = finding_add(findings, FINDING_PLAN_SMALL_PACKETS);
		finding_at(f, policy->path, class->policy->share_mark.line, class->policy->share_mark.column);
		finding_set(&f->what, "class '%s'", class->policy->name);
		finding_set(&f->wanted, "%.1f %%", class->policy->share);
		finding_set(&f->got, "%.1f %%", 100 * class->share_256);
		finding_set(&f->detail, "when its packets are of 256 bytes and those of all others full");
	}
}

/* The least of what adapters and switches give; routers have their own say. */
void plan_work_out_shares(const struct policy *policy, struct plan *plan, struct finding_list *findings)
{
	bool apart = policy->overrides[QOS_PORT_CA].given || policy->overrides[QOS_PORT_SWE].given;

	for (size_t i = 0; i < plan->class_count; i++)
		plan->classes[i].share_full = plan->classes[i].share_256 = 1;
	work_out_type(policy, plan, QOS_PORT_SWE, true, findings);
	work_out_type(policy, plan, QOS_PORT_CA, apart, findings);
}
