/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What keys must be to each other within a match, a group, a partition and an override, and that
 * names name something.
 */
#include <string.h>

#include "read.h"

#define SHARE_TOLERANCE 1e-9 /* percent: sums of decimal fractions are seldom exact */

static void conflict(struct policy_reader *in, struct policy_mark mark, const char *key, const char *detail)
{
	struct finding *f = read_finding(in, FINDING_POLICY_KEY_CONFLICT, mark);

	finding_set(&f->what, "key '%s'", key);
	finding_set(&f->detail, "%s", detail);
}

static void unknown_name(struct policy_reader *in, struct policy_mark mark, const char *what, const char *name)
{
	struct finding *f = read_finding(in, FINDING_POLICY_NAME_UNKNOWN, mark);

	finding_set(&f->what, "%s", what);
	read_quote(&f->got, name);
}

/* --- matches --- */

static void check_groups(struct policy_reader *in, const struct policy_texts *names)
{
	for (size_t i = 0; i < names->count; i++)
		if (!policy_find_group(in->policy, names->items[i].text))
			unknown_name(in, names->items[i].mark, "group", names->items[i].text);
}

static const struct policy_partition *find_partition(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->partition_count; i++)
		if (policy->partitions[i].name && strcmp(policy->partitions[i].name, name) == 0)
			return &policy->partitions[i];
	return NULL;
}

static void check_partition_of(struct policy_reader *in, struct policy_match *match)
{
	const struct policy_partition *partition;

	if (!match->partition)
		return;
	if (match->pkey_mark.line) {
		conflict(in, match->partition_mark, "partition", "'pkey' names the partition already");
		return;
	}
	partition = find_partition(in->policy, match->partition);
	if (partition)
		match->pkey = partition->pkey;
	else
		unknown_name(in, match->partition_mark, "partition", match->partition);
}

static void check_service(struct policy_reader *in, const struct policy_match *match)
{
	const struct policy_service *service = match->service;

	if (!service)
		return;
	if (match->service_ids.count)
		conflict(in, match->service_mark, "service", "'service_id' names the service already");
	if (service->by_destination && !match->destinations.count)
		conflict(in, match->service_mark, "service",
			 "this one is known by its targets only: 'destination' must name their group");
	if (service->by_pkey && match->qos_classes.count)
		conflict(in, match->service_mark, "service", "its requests have no QoS class");
}

static void check_match(struct policy_reader *in, struct policy_match *match)
{
	check_service(in, match);
	check_partition_of(in, match);
	check_groups(in, &match->sources);
	check_groups(in, &match->destinations);
}

static void check_latency(struct policy_reader *in, struct policy_class *class)
{
	if (!class->min_latency)
		return;
	if (class->priority_mark.line && class->priority == POLICY_PRIORITY_NORMAL)
		conflict(in, class->priority_mark, "priority", "'min_latency' makes it high");
	class->priority = POLICY_PRIORITY_HIGH;
}

/* --- groups --- */

static bool group_used(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->class_count; i++) {
		for (size_t n = 0; n < policy->classes[i].match_count; n++) {
			const struct policy_match *match = &policy->classes[i].matches[n];
			const struct policy_texts *ends[] = {&match->sources, &match->destinations};

			for (size_t e = 0; e < 2; e++)
				for (size_t t = 0; t < ends[e]->count; t++)
					if (strcmp(ends[e]->items[t].text, name) == 0)
						return true;
		}
	}
	return false;
}

static void check_group(struct policy_reader *in, const struct policy_group *group)
{
	if (!group_used(in->policy, group->name))
		read_quote(&read_finding(in, FINDING_POLICY_GROUP_UNUSED, group->mark)->got, group->name);
}

/* --- partitions --- */

/* Against the first one before it that has the same. */
static void check_partition(struct policy_reader *in, size_t number)
{
	const struct policy_partition *partition = &in->policy->partitions[number];

	for (size_t i = 0; i < number; i++) {
		const struct policy_partition *first = &in->policy->partitions[i];
		bool name = partition->name && first->name && strcmp(partition->name, first->name) == 0;
		struct finding *f;

		if (!name && (!partition->pkey || partition->pkey != first->pkey))
			continue;
		f = read_finding(in, FINDING_POLICY_PARTITION_CLASH, name ? partition->mark : partition->pkey_mark);
		finding_set(&f->what, "key '%s'", name ? "name" : "pkey");
		if (name)
			read_quote(&f->got, partition->name);
		else
			finding_set(&f->got, "0x%x", partition->pkey);
		finding_set(&f->detail, "line %u has it", name ? first->mark.line : first->pkey_mark.line);
		return;
	}
}

/* --- overrides --- */

static struct policy_class *find_class(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->class_count; i++)
		if (policy->classes[i].name && strcmp(policy->classes[i].name, name) == 0)
			return &policy->classes[i];
	return NULL;
}

static const struct policy_override_share *find_share(const struct policy_override *override, size_t count,
						      const char *class_name)
{
	for (size_t i = 0; i < count; i++)
		if (override->shares[i].class_name && strcmp(override->shares[i].class_name, class_name) == 0)
			return &override->shares[i];
	return NULL;
}

static void check_override_shares(struct policy_reader *in, const struct policy_override *override)
{
	const struct policy *policy = in->policy;
	double sum = 0;

	for (size_t i = 0; i < override->share_count; i++) {
		const struct policy_override_share *share = &override->shares[i], *first;

		if (!share->class_name)
			continue;
		if (!find_class(policy, share->class_name))
			unknown_name(in, share->mark, "class", share->class_name);
		first = find_share(override, i, share->class_name);
		if (first) {
			struct finding *f = read_finding(in, FINDING_POLICY_KEY_DOUBLE, share->mark);

			finding_set(&f->what, "share of a class");
			read_quote(&f->got, share->class_name);
			finding_set(&f->detail, "first given at line %u", first->mark.line);
		}
	}
	for (size_t i = 0; override->share_count && i < policy->class_count; i++) {
		const struct policy_class *class = &policy->classes[i];
		const struct policy_override_share *share =
			class->name ? find_share(override, override->share_count, class->name) : NULL;

		sum += share ? share->share : class->share;
	}
	if (sum > 100 + SHARE_TOLERANCE) {
		struct finding *f = read_finding(in, FINDING_POLICY_SHARE_SUM, override->shares_mark);

		finding_set(&f->what, "key 'shares'");
		finding_set(&f->wanted, "100 %% or less in all");
		finding_set(&f->got, "%.10g %%", sum);
		finding_set(&f->detail, "classes that are not named keep their own");
	}
}

static void check_override(struct policy_reader *in, const struct policy_override *override)
{
	const struct policy *policy = in->policy;
	size_t high = 0;

	if (!override->given)
		return;
	for (size_t i = 0; i < policy->class_count; i++)
		high += policy->classes[i].priority == POLICY_PRIORITY_HIGH;
	if (override->limit_mark.line && (high == 0 || high == policy->class_count)) {
		struct finding *f = read_finding(in, FINDING_POLICY_OVERRIDE, override->limit_mark);

		finding_set(&f->what, "key 'high_limit'");
		finding_set(&f->detail, "%s", high ? "all classes have priority, so none has"
					     : "no class has priority, so nothing is sent from the high table");
	}
	check_override_shares(in, override);
}

void read_check_parts(struct policy_reader *in)
{
	struct policy *policy = in->policy;

	for (size_t i = 0; i < policy->class_count; i++) {
		check_latency(in, &policy->classes[i]);
		for (size_t n = 0; n < policy->classes[i].match_count; n++)
			check_match(in, &policy->classes[i].matches[n]);
	}
	for (size_t i = 0; i < policy->group_count; i++)
		check_group(in, &policy->groups[i]);
	for (size_t i = 0; i < policy->partition_count; i++)
		check_partition(in, i);
	for (int type = 0; type < QOS_PORT_TYPES; type++)
		check_override(in, &policy->overrides[type]);
}
