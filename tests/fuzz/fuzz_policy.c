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

static void check_policy(const struct policy *policy)
{
	unsigned sls = 0, defaults = 0;
	double sum = 0;

	require(policy->class_count >= 1 && policy->class_count <= QOS_SLS);
	for (size_t i = 0; i < policy->class_count; i++) {
		const struct policy_class *class = &policy->classes[i];

		require(class->name && class->sl < QOS_SLS && !(sls & 1u << class->sl));
		sls |= 1u << class->sl;
		require(class->nccl_ib_tc >= POLICY_NO_TC && class->nccl_ib_tc <= 255);
		require(class->share > 0 && class->share <= 100);
		require(class->sl_mark.line > 0 && class->share_mark.column > 0);
		sum += class->share;
		defaults += class->is_default;
	}
	require(sum <= 100 + 1e-6 && defaults == 1);
	require(policy->classes[policy->default_class].is_default);
	require(policy->opensm_config[0] == '/');
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
