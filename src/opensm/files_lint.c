/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What OpenSM's files do to each other: SLs that a rule or a partition gives and the tables drop,
 * partitions whose SL the policy takes away, files that are read only while QoS is on.
 */
#include <errno.h>
#include <string.h>

#include "conf_lint.h"

/* A path that would be dropped on one of its hops is one that OpenSM does not give (osm_sa_path_record.c:240). */
static bool dropped(const struct qos_config *config, unsigned sl)
{
	for (unsigned type = 0; type < QOS_PORT_TYPES; type++)
		if (type != QOS_PORT_RTR && sl < QOS_SLS && config->of[type].sl2vl.vl[sl] == QOS_VL_DROP)
			return true;
	return false;
}

static struct finding *tell(struct finding_list *findings, enum finding_code code, const char *path,
			    struct opensm_mark mark)
{
	return finding_at(finding_add(findings, code), path, mark.line, mark.column);
}

static void check_policy_sls(const struct opensm_files *files, const struct qos_config *config,
			     struct finding_list *findings)
{
	const struct opensm_policy_file *policy = files->policy;
	struct finding *f;

	for (size_t i = 0; i < policy->level_count; i++) {
		const struct opensm_file_level *level = &policy->levels[i];

		if (!dropped(config, level->sl))
			continue;
		f = tell(findings, FINDING_OPENSM_SL_DROPPED, files->policy_path, level->sl_mark);
		finding_set(&f->what, "qos-level '%.64s'", level->name);
		finding_set(&f->got, "SL %u", level->sl);
		finding_set(&f->detail, "OpenSM finds no path for whoever has this level");
	}
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct opensm_file_rule *rule = &policy->rules[i];

		if (rule->level != OPENSM_NONE || !dropped(config, rule->sl))
			continue;
		f = tell(findings, FINDING_OPENSM_SL_DROPPED, files->policy_path, rule->mark);
		finding_set(&f->what, "qos-ulps");
		finding_set(&f->got, "SL %u", rule->sl);
	}
	if (policy->default_level == OPENSM_NONE && dropped(config, policy->default_sl))
		finding_set(&tell(findings, FINDING_OPENSM_SL_DROPPED, files->policy_path, policy->default_mark)->got,
			    "SL %u", policy->default_sl);
}

/* The policy in force gives the SL: `sl=` is left to multicast (osm_sa_path_record.c:727-790). */
static void check_masked(const struct opensm_files *files, const struct opensm_partition *partition,
			 struct finding_list *findings)
{
	unsigned sl = opensm_policy_file_sl(files->policy, partition->pkey);
	struct finding *f;

	if (!partition->sl_mark.line || sl == partition->sl)
		return;
	f = tell(findings, FINDING_POLICY_PARTITION_SL, files->partitions_path, partition->sl_mark);
	finding_set(&f->what, "partition '%s'", partition->name);
	finding_set(&f->wanted, "SL %u", sl);
	finding_set(&f->got, "SL %u", partition->sl);
}

static void check_partitions(const struct opensm_files *files, const struct qos_config *config, bool enabled,
			     struct finding_list *findings)
{
	for (size_t i = 0; i < files->partitions->count; i++) {
		const struct opensm_partition *partition = &files->partitions->items[i];
		struct finding *f;

		if (!partition->mark.line)
			continue;
		if (!enabled && partition->sl) {
			f = tell(findings, FINDING_OPENSM_QOS_UNUSED, files->partitions_path, partition->sl_mark);
			finding_set(&f->what, "partition '%s'", partition->name);
			finding_set(&f->detail, "OpenSM makes its SL 0");
		}
		if (enabled && dropped(config, partition->sl)) {
			f = tell(findings, FINDING_POLICY_PARTITION_DROPPED, files->partitions_path,
				 partition->sl_mark.line ? partition->sl_mark : partition->mark);
			finding_set(&f->what, "partition '%s'", partition->name);
			finding_set(&f->got, "SL %u", partition->sl);
		}
		if (enabled && files->policy)
			check_masked(files, partition, findings);
	}
}

/* opensm.conf names another file than the one that was looked at. */
static void check_name(const struct opensm_files *files, const char *key, const char *path,
		       struct finding_list *findings)
{
	struct lint l = {.conf = files->conf, .path = files->conf_path, .findings = findings};
	struct conf_line line;
	struct finding *f;

	if (!path || !conf_line_of(files->conf, key, &line) || *line.value != '/' || strcmp(line.value, path) == 0)
		return;
	f = lint_tell(&l, FINDING_OPENSM_FILE_NAME, &line);
	finding_set(&f->wanted, "%s", path);
	finding_set(&f->got, "%s", line.value);
	f->severity = FINDING_NOTE; /* a copy may be looked at */
}

int opensm_files_lint(const struct opensm_files *files, struct finding_list *findings)
{
	struct finding_list ignored = {0};
	struct qos_config config;
	bool enabled = true;
	int r = 0;

	if (files->conf) {
		r = opensm_conf_get_qos(files->conf, files->conf_path, &config, &enabled, &ignored);
		finding_list_clear(&ignored);
		check_name(files, "qos_policy_file", files->policy_path, findings);
		check_name(files, "partition_config_file", files->partitions_path, findings);
	} else {
		memset(&config, 0, sizeof(config)); /* not known: nothing is dropped */
	}
	if (r == 0 && files->policy && enabled)
		check_policy_sls(files, &config, findings);
	if (r == 0 && files->partitions)
		check_partitions(files, &config, enabled, findings);
	return r == 0 && findings->lost ? -ENOMEM : r;
}
