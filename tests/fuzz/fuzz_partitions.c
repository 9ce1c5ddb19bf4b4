/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any text up to a NUL as opensm.conf, and what follows as a partitions file. The partitions file is
 * refused for one fault, or gives partitions with a key of their own each. Both are looked over, and imported
 * as a policy that ibqos takes and that has the tables which OpenSM reads, but for a dropped SL 0.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/opensm_files.h"
#include "ibqos/policy.h"

static void check_partitions(const struct opensm_partitions *p)
{
	require(p->count > 0 && p->items[0].pkey == 0x7fff);
	for (size_t i = 0; i < p->count; i++) {
		require(p->items[i].name && *p->items[i].name && p->items[i].sl < QOS_SLS);
		require(p->items[i].pkey >= 1 && p->items[i].pkey <= 0x7fff);
		for (size_t n = 0; n < i; n++)
			require(p->items[n].pkey != p->items[i].pkey);
	}
}

static bool same_vlarb(const struct qos_vlarb *a, const struct qos_vlarb *b)
{
	return memcmp(a->entry, b->entry, sizeof(a->entry)) == 0;
}

static void check_tables(const struct policy *policy, const struct qos_config *config)
{
	require(policy->tables.given);
	for (unsigned type = 0; type < QOS_PORT_TYPES; type++) {
		const struct qos_tables *a = &policy->tables.config.of[type], *b = &config->of[type];

		for (unsigned sl = 0; sl < QOS_SLS; sl++)
			require(a->sl2vl.vl[sl] == b->sl2vl.vl[sl] || (sl == 0 && b->sl2vl.vl[0] == QOS_VL_DROP));
		require(same_vlarb(&a->high, &b->high) && same_vlarb(&a->low, &b->low) && a->high_limit == b->high_limit);
	}
}

static void check_import(const struct opensm_files *files, const struct qos_config *config)
{
	struct finding_list told = {0}, findings = {0};
	struct policy *policy = NULL;
	char *text;
	size_t size;

	require(policy_import(files, &told, &text, &size) == 0);
	require(policy_parse("policy", text, size, &findings, &policy) == 0);
	if (policy)
		check_tables(policy, config);
	else /* a path that is none, too many partitions */
		for (size_t i = 0; i < findings.count; i++)
			require(findings.items[i].severity != FINDING_CRITICAL || findings.items[i].code == FINDING_POLICY_RANGE ||
				findings.items[i].code == FINDING_POLICY_SYNTAX);
	policy_free(policy);
	free(text);
	finding_list_clear(&told);
	finding_list_clear(&findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *nul = memchr(text, '\0', size);
	size_t conf_size = nul ? (size_t)(nul - text) : size;
	struct finding_list findings = {0}, ignored = {0};
	struct opensm_partitions *partitions;
	struct opensm_conf *conf;
	struct opensm_files files;
	struct qos_config config;
	bool enabled;

	require(opensm_partitions_read("p", nul ? nul + 1 : "", nul ? size - conf_size - 1 : 0, &findings, &partitions) == 0);
	require(finding_count_code(&findings, FINDING_OPENSM_PARTITIONS_REFUSED) == (partitions ? 0 : 1));
	if (partitions)
		check_partitions(partitions);
	require(opensm_conf_parse(text, conf_size, &conf) == 0);
	require(opensm_conf_lint(conf, "c", &findings) == 0);
	require(opensm_conf_get_qos(conf, "c", &config, &enabled, &ignored) == 0);
	files = (struct opensm_files){
		.conf = conf, .conf_path = "/dev/null", .partitions = partitions, .partitions_path = "p"};
	require(opensm_files_lint(&files, &findings) == 0);
	for (size_t i = 0; i < findings.count; i++)
		require(fuzz_printable(findings.items[i].got ? findings.items[i].got : "", ""));
	check_import(&files, &config);
	opensm_conf_free(conf);
	opensm_partitions_free(partitions);
	finding_list_clear(&findings);
	finding_list_clear(&ignored);
	return 0;
}
