/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a policy may say and seldom means, and what cannot be known from it: of a policy whose values
 * are good.
 */
#include <string.h>

#include "read.h"

/* --- shares --- */

/* 0.3 for 30 %: alone they would come out right, in proportion; beside whole percents they would not. */
static void fraction(struct policy_reader *in, double share, bool bare, struct policy_mark mark)
{
	struct finding *f;

	if (!bare || share >= 1 || !mark.line)
		return;
	f = read_finding(in, FINDING_POLICY_SHARE_FRACTION, mark);
	finding_set(&f->what, "key 'share'");
	finding_set(&f->got, "%.10g, which is %.10g %%", share, share);
	finding_set(&f->detail, "is this a fraction? write %.10g%%", 100 * share);
}

/* --- ways in --- */

/* NCCL asks nobody (connect.cc:445), rdma_cm and IPoIB do: what neither names is for the former only. */
static void check_way_in(struct policy_reader *in, const struct policy_class *class)
{
	if (class->is_default || class->nccl_ib_tc != POLICY_NO_TC || class->match_count || class->sl == 0)
		return;
	finding_set(&read_finding(in, FINDING_POLICY_NO_WAY_IN, class->mark)->what, "class '%s'", class->name);
}

/* Told once, at the first class for training: it holds for all. */
static void check_adaptive(struct policy_reader *in)
{
	for (size_t i = 0; i < in->policy->class_count; i++) {
		const struct policy_class *class = &in->policy->classes[i];
		struct finding *f;

		if (class->nccl_ib_tc == POLICY_NO_TC || class->is_default || !class->sl_mark.line)
			continue;
		f = read_finding(in, FINDING_POLICY_AR_UNKNOWN, class->sl_mark);
		finding_set(&f->what, "class '%s'", class->name);
		finding_set(&f->got, "SL %u", class->sl);
		return;
	}
}

/* --- storage among what must not wait --- */

/* The storage that a rule is for; NULL: none. */
static const struct policy_service *storage_of(const struct policy_rule *rule)
{
	size_t count;
	const struct policy_service *services = policy_services(&count);

	if (rule->match && rule->match->service)
		return rule->match->service->bulk ? rule->match->service : NULL;
	for (size_t i = 0; i < count; i++)
		for (size_t n = 0; n < rule->service_ids.count && services[i].bulk && services[i].low; n++)
			if (rule->service_ids.items[n].low <= services[i].low &&
			    rule->service_ids.items[n].high >= services[i].high)
				return &services[i];
	return NULL;
}

/*
 * Who shares a class with the storage in it; NULL: nobody who must not wait. *meant: it was put there, for
 * the sake of storage over IP perhaps.
 */
static const char *company(const struct policy *policy, const struct policy_rule *rules, size_t count, size_t number,
			   bool *meant)
{
	const struct policy_class *class = &policy->classes[number];

	*meant = false;
	if (class->is_default)
		return "the default class has all that chooses no SL";
	if (class->sl_mark.line && class->sl == 0)
		return "SL 0 is that of the SM's clients, of IPoIB and of all that chooses none";
	*meant = true;
	for (size_t i = 0; i < count; i++)
		if (rules[i].class == number && rules[i].match && rules[i].match->service &&
		    rules[i].match->service->by_pkey)
			return "IPoIB is in this class too";
	for (size_t i = 0; i < policy->partition_count; i++)
		if (policy->partitions[i].ipoib && policy->partitions[i].sl_mark.line && class->sl_mark.line &&
		    policy->partitions[i].sl == class->sl)
			return "a partition gives the multicast of IPoIB this SL";
	return NULL;
}

/* One finding a class, at the first match that is for storage. */
static void check_storage(struct policy_reader *in, const struct policy_rule *rules, size_t count)
{
	uint32_t told = 0; /* classes */

	for (size_t i = 0; i < count; i++) {
		const struct policy_service *storage = storage_of(&rules[i]);
		bool meant = false;
		const char *with = storage ? company(in->policy, rules, count, rules[i].class, &meant) : NULL;
		struct finding *f;

		if (!with || told >> rules[i].class & 1)
			continue;
		told |= 1u << rules[i].class;
		f = read_finding(in, FINDING_POLICY_STORAGE_SHARED, rules[i].mark);
		finding_set(&f->what, "class '%s'", in->policy->classes[rules[i].class].name);
		finding_set(&f->got, "%s", storage->name);
		finding_set(&f->detail, "%s", with);
		if (meant)
			f->severity = FINDING_NOTE;
	}
}

void read_check_doubts(struct policy_reader *in, const struct policy_rule *rules, size_t count)
{
	const struct policy *policy = in->policy;

	for (size_t i = 0; i < policy->class_count; i++) {
		fraction(in, policy->classes[i].share, policy->classes[i].share_bare, policy->classes[i].share_mark);
		check_way_in(in, &policy->classes[i]);
	}
	for (int type = 0; type < QOS_PORT_TYPES; type++)
		for (size_t i = 0; i < policy->overrides[type].share_count; i++) {
			const struct policy_override_share *share = &policy->overrides[type].shares[i];

			fraction(in, share->share, share->share_bare, share->share_mark);
		}
	check_adaptive(in);
	check_storage(in, rules, count);
}
