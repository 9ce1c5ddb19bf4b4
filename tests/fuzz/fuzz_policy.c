/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any bytes as a policy: no crash, no policy with a critical finding, and what is read keeps its
 * promises.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/policy.h"

/* What a class matches is known, and every number is one that OpenSM's file can hold. */
static void check_match(const struct policy *policy, const struct policy_match *match)
{
	const struct policy_texts *ends[] = {&match->sources, &match->destinations};

	require(match->mark.line > 0 && match->pkey <= 0x7fff && (!match->partition || match->pkey));
	require(match->service || match->service_ids.count || match->pkey || match->qos_classes.count ||
		match->sources.count || match->destinations.count);
	for (size_t i = 0; i < match->service_ids.count; i++)
		require(match->service_ids.items[i].low <= match->service_ids.items[i].high);
	for (size_t i = 0; i < match->qos_classes.count; i++)
		require(match->qos_classes.items[i].low <= match->qos_classes.items[i].high &&
			match->qos_classes.items[i].high <= 255);
	for (size_t e = 0; e < 2; e++)
		for (size_t i = 0; i < ends[e]->count; i++)
			require(policy_find_group(policy, ends[e]->items[i].text) != NULL);
}

static void check_class(const struct policy *policy, const struct policy_class *class)
{
	require(class->name && class->sl < QOS_SLS);
	require(class->nccl_ib_tc >= POLICY_NO_TC && class->nccl_ib_tc <= 255);
	require(class->more_tcs.count == 0 || class->nccl_ib_tc != POLICY_NO_TC);
	require(class->share > 0 && class->share <= 100);
	require(class->sl_mark.line > 0 && class->share_mark.column > 0);
	require(!class->min_latency || class->priority == POLICY_PRIORITY_HIGH);
	for (size_t i = 0; i < class->match_count; i++)
		check_match(policy, &class->matches[i]);
}

static void check_parts(const struct policy *policy)
{
	require(policy->vls == 0 || qos_code_of_vls(policy->vls) > 0);
	require(!policy->overrides[QOS_PORT_SW0].given);
	for (size_t i = 0; i < policy->partition_count; i++) {
		require(policy->partitions[i].name && policy->partitions[i].pkey);
		require(policy->partitions[i].pkey <= 0x7fff && policy->partitions[i].sl < QOS_SLS);
	}
	for (size_t i = 0; i < policy->group_count; i++)
		for (size_t n = 0; n < policy->groups[i].item_count; n++)
			require(policy->groups[i].items[n].names.count || policy->groups[i].items[n].guids.count ||
				policy->groups[i].items[n].node_types);
}

/* The rules: each has a class and criteria; those tried last stand last; ranges are in order and apart. */
static void check_rules(const struct policy *policy)
{
	struct policy_rule *rules;
	size_t count;
	bool loose = false;

	require(policy_rules(policy, &rules, &count) == 0);
	for (size_t i = 0; i < count; i++) {
		const struct policy_ranges *ids = &rules[i].service_ids;
		char *text = policy_rule_text(&rules[i]);

		require(text && text[0] && rules[i].class < policy->class_count && rules[i].mark.line > 0);
		require(rules[i].loose || !loose);
		loose = rules[i].loose;
		for (size_t n = 1; n < ids->count; n++)
			require(ids->items[n].low > ids->items[n - 1].high + 1 && ids->items[n - 1].high < UINT64_MAX);
		free(text);
	}
	policy_rules_free(rules, count);
}

static void check_policy(const struct policy *policy)
{
	unsigned sls = 0, defaults = 0, proposed[QOS_SLS];
	double sum = 0;

	require(policy->class_count >= 1 && policy->class_count <= QOS_SLS);
	for (size_t i = 0; i < policy->class_count; i++) {
		const struct policy_class *class = &policy->classes[i];

		check_class(policy, class);
		require(!(sls & 1u << class->sl));
		sls |= 1u << class->sl;
		sum += class->share;
		defaults += class->is_default;
	}
	require(sum <= 100 + 1e-6 && defaults == 1);
	require(policy->classes[policy->default_class].is_default);
	require(policy->opensm_config[0] == '/');
	check_parts(policy);
	check_rules(policy);
	require(policy_suggest_sls(policy, proposed) == 0);
	for (size_t i = 0; i < policy->class_count; i++)
		require(proposed[i] == policy->classes[i].sl);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct finding_list findings = {0};
	struct policy *policy;

	require(policy_parse("p", (const char *)data, size, &findings, &policy) == 0);
	require((policy != NULL) == (finding_count(&findings, FINDING_CRITICAL) == 0));
	for (size_t i = 0; i < findings.count; i++)
		require(findings.items[i].line > 0 && findings.items[i].column > 0);
	if (policy)
		check_policy(policy);
	policy_free(policy);
	finding_list_clear(&findings);
	return 0;
}
