/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The policy file, version 1: its keys, and what each one sets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "read.h"

/* --- the whole --- */

struct reading {
	struct policy_mark classes_mark; /* line 0: no good list of classes */
};

static int set_policy_name(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)target;
	return text_set(&in->policy->name, value->node->text);
}

static int set_version(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)in;
	(void)target;
	(void)value; /* its range allows version 1 only */
	return 0;
}

static void *add_class(struct policy_reader *in, void *target, struct policy_mark mark)
{
	struct policy_class *class = &in->policy->classes[in->policy->class_count++];

	(void)target;
	class->nccl_ib_tc = POLICY_NO_TC;
	class->mark = mark;
	return class;
}

static int set_classes(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct reading *reading = target;

	/* more classes than SLs cannot be: no need to look at the rest of a file gone wrong */
	in->policy->classes = calloc(QOS_SLS, sizeof(*in->policy->classes));
	if (!in->policy->classes)
		return -ENOMEM;
	reading->classes_mark = value->node->mark;
	return read_list(in, value->node, &class_key_table, QOS_SLS, add_class, target);
}

static int set_vls(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)target;
	in->policy->vls = value->number;
	in->policy->vls_mark = value->node->mark;
	if (qos_code_of_vls(value->number) == 0) {
		struct finding *f = read_finding(in, FINDING_POLICY_RANGE, value->node->mark);

		finding_set(&f->what, "key 'vls'");
		finding_set(&f->wanted, "1, 2, 4, 8 or 15");
		finding_set(&f->got, "%u", value->number);
	}
	return 0;
}

static int set_unused(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)target;
	in->policy->unused_sls = value->number == 0 ? POLICY_UNUSED_DEFAULT : POLICY_UNUSED_DROP;
	in->policy->unused_mark = value->node->mark;
	return 0;
}

static int set_config(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)target;
	return text_set(&in->policy->opensm_config, value->node->text);
}

static int set_qos_policy(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)target;
	return text_set(&in->policy->opensm_qos_policy, value->node->text);
}

static int set_log(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)target;
	return text_set(&in->policy->opensm_log, value->node->text);
}

static const struct key_row opensm_rows[] = {
	{.name = "config",
	 .type = VALUE_PATH,
	 .set = set_config,
	 .wanted = "an absolute path",
	 .doc = "The config that OpenSM was started with. Default: /etc/opensm/opensm.conf."},
	{.name = "qos_policy",
	 .type = VALUE_PATH,
	 .set = set_qos_policy,
	 .wanted = "an absolute path",
	 .doc = "Its qos-policy file. Default: what that config says."},
	{.name = "log",
	 .type = VALUE_PATH,
	 .set = set_log,
	 .wanted = "an absolute path",
	 .doc = "Its log file. Default: what the running OpenSM says."},
};
static const struct key_table opensm_key_table = KEY_TABLE("opensm", opensm_rows, false);

static int set_opensm(struct policy_reader *in, void *target, const struct key_value *value)
{
	return read_keys(in, value->node, &opensm_key_table, target);
}

static const char *const unused_choices[] = {"default", "drop", NULL};

static const struct key_row policy_rows[] = {
	{.name = "version",
	 .type = VALUE_INTEGER,
	 .required = true,
	 .min = 1,
	 .max = 1,
	 .set = set_version,
	 .wanted = "1, the version of policy files that this ibqos reads",
	 .doc = "1, the version of the language."},
	{.name = "name",
	 .type = VALUE_NAME,
	 .set = set_policy_name,
	 .wanted = "a letter, then letters, digits, '_' or '-', 64 at most",
	 .doc = "What the policy is called."},
	{.name = "classes",
	 .type = VALUE_LIST,
	 .required = true,
	 .keys = &class_key_table,
	 .set = set_classes,
	 .wanted = "a list of classes",
	 .doc = "Which traffic matters, 1 to 16 classes. Each gets a virtual lane of its own, so there may be no more "
		"than the links run."},
	{.name = "unused_sls",
	 .type = VALUE_CHOICE,
	 .choices = unused_choices,
	 .set = set_unused,
	 .wanted = "default or drop",
	 .doc = "Where SLs go that no class has: to the ``default`` class, or nowhere. ``drop`` needs ``--allow-drop``, "
		"since libraries choose SLs by themselves; SL 0 is never dropped. Default: default."},
	{.name = "vls",
	 .type = VALUE_INTEGER,
	 .min = 1,
	 .max = QOS_DATA_VLS,
	 .set = set_vls,
	 .wanted = "1, 2, 4, 8 or 15",
	 .doc = "How many data VLs the links are expected to run. A plan is refused where they run fewer, and says so "
		"where all run more. Default: whatever they run."},
	{.name = "groups",
	 .type = VALUE_NAMED,
	 .keys = &group_key_table,
	 .set = set_groups,
	 .wanted = "names of groups, each with a list of group items",
	 .doc = "Sets of ports for ``source`` and ``destination``, by name. Of one item all keys must hold; the items are "
		"alternatives. Groups become the port GUIDs that the fabric has when the plan is made: plan and apply "
		"again when nodes come or change their adapters."},
	{.name = "partitions",
	 .type = VALUE_LIST,
	 .keys = &partition_key_table,
	 .set = set_partitions,
	 .wanted = "a list of partitions",
	 .doc = "Partitions as OpenSM's partitions.conf has them, for matches to name and for checks. ibqos does not "
		"write that file: an error in it takes every partition but the default one away."},
	{.name = "tables",
	 .type = VALUE_MAPPING,
	 .keys = &tables_key_table,
	 .set = set_tables,
	 .wanted = "keys and values: ca, sw0, swe, rtr",
	 .doc = "Exact tables, word for word as in opensm.conf, in place of those that ibqos makes of shares: how ``ibqos "
		"import`` says what is there. VLs are then those of **sl2vl**, and classes may share one; shares only say "
		"what each class should have, and ``ibqos plan`` what the tables give it. Not with **overrides**, "
		"**unused_sls**, **priority** and **min_latency**."},
	{.name = "overrides",
	 .type = VALUE_MAPPING,
	 .keys = &overrides_key_table,
	 .set = set_overrides,
	 .wanted = "keys and values: ca, swe, rtr",
	 .doc = "What one kind of port has otherwise."},
	{.name = "links",
	 .type = VALUE_LIST,
	 .keys = &link_key_table,
	 .set = set_links,
	 .wanted = "a list of link classes",
	 .doc = "What links are to run, by kind, for ``ibqos audit --policy``; the first class that a link matches has "
		"it. A link in no class is to run what both its ends can. Nothing is programmed."},
	{.name = "counters",
	 .type = VALUE_MAPPING,
	 .keys = &counters_key_table,
	 .set = set_counters,
	 .wanted = "keys and values: rates, suppress, congestion, busy, tolerance",
	 .doc = "What ``ibqos audit --counters --policy`` makes of error counters and of what classes sent. Nothing is programmed."},
	{.name = "opensm",
	 .type = VALUE_MAPPING,
	 .keys = &opensm_key_table,
	 .set = set_opensm,
	 .wanted = "keys and values: config, qos_policy, log",
	 .doc = "The OpenSM that is to program it."},
};
const struct key_table policy_key_table = KEY_TABLE("policy", policy_rows, false);

static int read_root(struct policy_reader *in, const struct tree_node *root, bool whole)
{
	struct reading reading = {0};
	int r;

	if (root->kind != NODE_MAPPING) {
		struct finding *f;

		if (root->refused)
			return 0;
		f = read_finding(in, FINDING_POLICY_TYPE, root->mark);
		finding_set(&f->what, "policy");
		finding_set(&f->wanted, "keys and values: version, classes, …");
		read_set_got(&f->got, root);
		return 0;
	}
	r = read_keys(in, root, &policy_key_table, &reading);
	if (r == 0 && reading.classes_mark.line)
		read_check(in, whole, reading.classes_mark);
	if (r == 0) {
		read_check_parts(in);
		read_check_tables(in);
	}
	return r;
}

static int policy_new(const char *path, struct policy **policy)
{
	*policy = calloc(1, sizeof(**policy));
	if (!*policy)
		return -ENOMEM;
	(*policy)->path = strdup(path);
	return (*policy)->path ? 0 : -ENOMEM;
}

static size_t criticals(const struct finding_list *findings)
{
	return finding_count(findings, FINDING_CRITICAL);
}

static int parse(const char *path, const char *text, size_t size, bool draft, struct finding_list *findings,
		 struct policy **policy)
{
	struct policy_reader in = {.path = path, .findings = findings, .draft = draft};
	size_t before = criticals(findings);
	struct tree_node *root = NULL;
	bool whole;
	int r;

	*policy = NULL;
	if (size > POLICY_SIZE_MAX) {
		struct finding *f = read_finding(&in, FINDING_POLICY_SYNTAX, (struct policy_mark){1, 1});

		finding_set(&f->wanted, "at most %u bytes", POLICY_SIZE_MAX);
		finding_set(&f->got, "%zu bytes", size);
		return 0;
	}
	r = policy_new(path, &in.policy);
	if (r == 0)
		r = tree_load(path, text, size, findings, &root, &whole);
	if (r == 0 && root)
		r = read_root(&in, root, whole);
	tree_free(root);
	if (r == 0 && !in.policy->opensm_config)
		r = text_set(&in.policy->opensm_config, OPENSM_CONFIG);
	if (r == 0 && criticals(findings) == before)
		r = read_check_rules(&in);
	if (r == 0 && findings->lost)
		r = -ENOMEM;
	if (r < 0 || criticals(findings) > before)
		policy_free(in.policy);
	else
		*policy = in.policy;
	return r;
}

int policy_parse(const char *path, const char *text, size_t size, struct finding_list *findings,
		 struct policy **policy)
{
	return parse(path, text, size, false, findings, policy);
}

static int read_file(const char *path, bool draft, struct finding_list *findings, struct policy **policy)
{
	char *text;
	size_t size;
	int r;

	*policy = NULL;
	r = file_read(path, &text, &size);
	if (r < 0)
		return r;
	r = parse(path, text, size, draft, findings, policy);
	free(text);
	return r;
}

int policy_read(const char *path, struct finding_list *findings, struct policy **policy)
{
	return read_file(path, false, findings, policy);
}

int policy_read_draft(const char *path, struct finding_list *findings, struct policy **policy)
{
	return read_file(path, true, findings, policy);
}

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	for (size_t i = 0; i < policy->class_count; i++)
		class_clear(&policy->classes[i]);
	free(policy->classes);
	parts_clear(policy);
	links_clear(policy);
	counters_part_clear(policy);
	free(policy->path);
	free(policy->name);
	free(policy->opensm_config);
	free(policy->opensm_qos_policy);
	free(policy->opensm_log);
	free(policy);
}
