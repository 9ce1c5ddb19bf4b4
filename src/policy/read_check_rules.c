/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the rules of a policy do to each other, and where they do not reach: of a policy whose values
 * are good.
 */
#include <errno.h>
#include <stdlib.h>

#include "read.h"

static const char *class_name(const struct policy_reader *in, const struct policy_rule *rule)
{
	return in->policy->classes[rule->class].name;
}

static bool only_qos_class(const struct policy_rule *rule)
{
	return !rule->service_ids.count && !rule->pkey && !rule->sources && !rule->destinations;
}

/* What two rules of different classes are to each other; FINDING_CODES: nothing. */
static enum finding_code relation(const struct policy_rule *first, const struct policy_rule *rule)
{
	bool shared;

	if (first->class == rule->class || !rule_meets(first, rule, NULL, NULL, &shared))
		return FINDING_CODES;
	if (only_qos_class(first) && only_qos_class(rule))
		return first->match || rule->match ? FINDING_POLICY_QOS_CLASS_CLASH : FINDING_CODES;
	if (rule_covers(first, rule))
		return FINDING_POLICY_MATCH_HIDDEN;
	if (shared)
		return FINDING_POLICY_MATCH_OVERLAP;
	/* whoever gives a program a traffic class means it; those that are tried last are told of elsewhere */
	return first->match && rule->match && !rule->loose ? FINDING_POLICY_MATCH_EITHER : FINDING_CODES;
}

static unsigned rank(enum finding_code code)
{
	return code == FINDING_CODES ? 0 : finding_kind(code)->severity + 1;
}

/* Each rule against all before it: the worst that there is, and of these the first. */
static void check_pair(struct policy_reader *in, const struct policy_rule *rules, size_t number)
{
	const struct policy_rule *rule = &rules[number], *with = NULL;
	enum finding_code worst = FINDING_CODES;
	struct finding *f;
	char *text;

	for (size_t i = 0; i < number; i++) {
		enum finding_code code = relation(&rules[i], rule);

		if (rank(code) > rank(worst)) {
			worst = code;
			with = &rules[i];
		}
	}
	if (!with)
		return;
	f = read_finding(in, worst, rule->mark);
	finding_set(&f->what, "%s of class '%s'", rule->match ? "match" : "nccl_ib_tc", class_name(in, rule));
	text = policy_rule_text(rule);
	finding_set(&f->got, "%s", text ? text : "");
	free(text);
	text = policy_rule_text(with);
	finding_set(&f->detail, "class '%s' in line %u comes first: %s", class_name(in, with), with->mark.line,
		    text ? text : "");
	free(text);
}

/* --- where rules do not reach --- */

static void check_reach(struct policy_reader *in, const struct policy_class *class)
{
	const struct policy_match *match = class->matches;
	struct finding *f;

	if (class->nccl_ib_tc == POLICY_NO_TC || class->match_count == 0)
		return;
	f = read_finding(in, FINDING_POLICY_MATCH_NOT_NCCL, match->mark);
	finding_set(&f->what, "class '%s'", class->name);
}

/* Told once: it holds for all. */
static void check_ipv6(struct policy_reader *in, const struct policy_rule *rules, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!rules[i].match || !rules[i].match->qos_classes.count)
			continue;
		finding_set(&read_finding(in, FINDING_POLICY_IPV6, rules[i].match->qos_classes.items[0].mark)->what,
			    "key 'qos_class'");
		return;
	}
}

static const struct policy_partition *partition_of(const struct policy *policy, unsigned pkey)
{
	for (size_t i = 0; i < policy->partition_count; i++)
		if (policy->partitions[i].pkey == pkey)
			return &policy->partitions[i];
	return NULL;
}

static void check_ipoib(struct policy_reader *in, const struct policy_rule *rules, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct policy_match *match = rules[i].match;
		const struct policy_partition *partition = partition_of(in->policy, rules[i].pkey);
		struct finding *f;

		if (!match || !match->service || !match->service->by_pkey ||
		    !in->policy->classes[rules[i].class].sl_mark.line ||
		    (partition && partition->sl == in->policy->classes[rules[i].class].sl))
			continue;
		f = read_finding(in, FINDING_POLICY_IPOIB_MULTICAST, match->service_mark);
		finding_set(&f->what, "P_Key 0x%x", rules[i].pkey);
		finding_set(&f->wanted, "SL %u", in->policy->classes[rules[i].class].sl);
		if (partition)
			finding_set(&f->got, "SL %u", partition->sl);
	}
}

/* --- partitions --- */

/* The class whose SL a path in the partition gets if nothing but the P_Key is asked for. */
static size_t class_of_pkey(const struct policy *policy, const struct policy_rule *rules, size_t count, unsigned pkey)
{
	const struct policy_rule request = {.pkey = pkey};

	for (size_t i = 0; i < count; i++)
		if (rule_covers(&rules[i], &request))
			return rules[i].class;
	return policy->default_class;
}

static bool sl_used(const struct policy *policy, unsigned sl)
{
	for (size_t i = 0; i < policy->class_count; i++)
		if (policy->classes[i].sl == sl)
			return true;
	return sl == 0;
}

/* By `unused_sls: drop` or by exact tables; SL 0 never is, which is told elsewhere. */
static bool sl_dropped(const struct policy *policy, unsigned sl)
{
	if (!policy->tables.given)
		return policy->unused_sls == POLICY_UNUSED_DROP && !sl_used(policy, sl);
	for (int type = 0; sl != 0 && type < QOS_PORT_TYPES; type++)
		if (type != QOS_PORT_RTR && policy->tables.config.of[type].sl2vl.vl[sl] == QOS_VL_DROP)
			return true;
	return false;
}

static void check_partition(struct policy_reader *in, const struct policy_rule *rules, size_t count,
			    const struct policy_partition *partition)
{
	const struct policy *policy = in->policy;
	const struct policy_class *class = &policy->classes[class_of_pkey(policy, rules, count, partition->pkey)];
	struct finding *f;

	if (partition->sl_mark.line && sl_dropped(policy, partition->sl))
		f = read_finding(in, FINDING_POLICY_PARTITION_DROPPED, partition->sl_mark);
	else if (partition->sl_mark.line && class->sl_mark.line && class->sl != partition->sl)
		f = read_finding(in, FINDING_POLICY_PARTITION_SL, partition->sl_mark);
	else
		return;
	finding_set(&f->what, "partition '%s'", partition->name);
	finding_set(&f->wanted, "SL %u", class->sl);
	finding_set(&f->got, "SL %u", partition->sl);
	if (f->code == FINDING_POLICY_PARTITION_SL)
		finding_set(&f->detail, "paths in it are in class '%s'", class->name);
}

int read_check_rules(struct policy_reader *in)
{
	const struct policy *policy = in->policy;
	struct policy_rule *rules;
	size_t count;
	int r = policy_rules(policy, &rules, &count);

	if (r < 0)
		return r;
	for (size_t i = 1; i < count; i++)
		check_pair(in, rules, i);
	for (size_t i = 0; i < policy->class_count; i++)
		check_reach(in, &policy->classes[i]);
	check_ipv6(in, rules, count);
	check_ipoib(in, rules, count);
	for (size_t i = 0; i < policy->partition_count; i++)
		check_partition(in, rules, count, &policy->partitions[i]);
	read_check_doubts(in, rules, count);
	policy_rules_free(rules, count);
	return 0;
}
