/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The policy file, version 1: its keys, and what each one sets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "read.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static int set_text(char **member, const char *text)
{
	*member = strdup(text);
	return *member ? 0 : -ENOMEM;
}

/* --- a class --- */

static int set_name(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_class *class = target;

	(void)in;
	class->mark = value->node->mark;
	return set_text(&class->name, value->node->text);
}

static int set_sl(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_class *class = target;

	(void)in;
	class->sl = value->number;
	class->sl_mark = value->node->mark;
	return 0;
}

static int set_tc(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_class *class = target;

	(void)in;
	class->nccl_ib_tc = (int)value->number;
	class->tc_mark = value->node->mark;
	return 0;
}

static int set_share(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_class *class = target;

	(void)in;
	class->share = value->percent;
	class->share_mark = value->node->mark;
	return 0;
}

static int set_priority(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_class *class = target;

	(void)in;
	class->priority = value->number == 0 ? POLICY_PRIORITY_NORMAL : POLICY_PRIORITY_HIGH;
	return 0;
}

static int set_default(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_class *class = target;

	(void)in;
	class->is_default = value->number != 0;
	return 0;
}

static const char *const priorities[] = {"normal", "high", NULL};

static const struct key_row class_keys[] = {
	{.name = "name",
	 .type = VALUE_NAME,
	 .required = true,
	 .set = set_name,
	 .wanted = "a letter, then letters, digits, '_' or '-', 64 at most"},
	{.name = "sl",
	 .type = VALUE_INTEGER,
	 .required = true,
	 .min = 0,
	 .max = QOS_SLS - 1,
	 .set = set_sl,
	 .wanted = "a whole number 0-15"},
	{.name = "nccl_ib_tc",
	 .type = VALUE_INTEGER,
	 .min = 0,
	 .max = 255,
	 .set = set_tc,
	 .wanted = "a whole number 0-255"},
	{.name = "share",
	 .type = VALUE_PERCENT,
	 .required = true,
	 .set = set_share,
	 .wanted = "a percentage above 0 up to 100"},
	{.name = "priority",
	 .type = VALUE_CHOICE,
	 .choices = priorities,
	 .set = set_priority,
	 .wanted = "normal or high"},
	{.name = "default", .type = VALUE_BOOLEAN, .set = set_default, .wanted = "true or false"},
};

/* --- the whole --- */

struct reading {
	struct policy_mark classes_mark; /* line 0: no good list of classes */
};

static int set_policy_name(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)target;
	return set_text(&in->policy->name, value->node->text);
}

static int set_version(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)in;
	(void)target;
	(void)value; /* its range allows version 1 only */
	return 0;
}

static int add_class(struct policy_reader *in, const struct tree_node *node)
{
	struct policy_class *class = &in->policy->classes[in->policy->class_count];

	if (node->kind != NODE_MAPPING) {
		struct finding *f;

		if (node->refused)
			return 0;
		f = read_finding(in, FINDING_POLICY_TYPE, node->mark);
		finding_set(&f->what, "class");
		finding_set(&f->wanted, "keys and values: name, sl, share, …");
		if (node->kind == NODE_SEQUENCE)
			finding_set(&f->got, "a list");
		else
			read_quote(&f->got, node->text[0] ? node->text : "nothing");
		return 0;
	}
	in->policy->class_count++;
	class->nccl_ib_tc = POLICY_NO_TC;
	class->mark = node->mark;
	return read_keys(in, node, class_keys, COUNT(class_keys), class);
}

static int set_classes(struct policy_reader *in, void *target, const struct key_value *value)
{
	const struct tree_node *node = value->node->first;
	struct reading *reading = target;
	int r = 0;

	/* more classes than SLs cannot be: no need to look at the rest of a file gone wrong */
	in->policy->classes = calloc(QOS_SLS, sizeof(*in->policy->classes));
	if (!in->policy->classes)
		return -ENOMEM;
	reading->classes_mark = value->node->mark;
	for (; r == 0 && node && in->policy->class_count < QOS_SLS; node = node->next)
		r = add_class(in, node);
	if (r == 0 && (node || (!value->node->first && !value->node->open))) {
		struct finding *f =
			read_finding(in, FINDING_POLICY_RANGE, node ? node->mark : value->node->mark);

		finding_set(&f->what, "key 'classes'");
		finding_set(&f->wanted, "1 to 16 classes, since there are 16 SLs");
		finding_set(&f->got, "%s", node ? "a 17th class" : "none");
	}
	return r;
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
	return set_text(&in->policy->opensm_config, value->node->text);
}

static int set_qos_policy(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)target;
	return set_text(&in->policy->opensm_qos_policy, value->node->text);
}

static int set_log(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)target;
	return set_text(&in->policy->opensm_log, value->node->text);
}

static const struct key_row opensm_keys[] = {
	{.name = "config", .type = VALUE_PATH, .set = set_config, .wanted = "an absolute path"},
	{.name = "qos_policy", .type = VALUE_PATH, .set = set_qos_policy, .wanted = "an absolute path"},
	{.name = "log", .type = VALUE_PATH, .set = set_log, .wanted = "an absolute path"},
};

static int set_opensm(struct policy_reader *in, void *target, const struct key_value *value)
{
	return read_keys(in, value->node, opensm_keys, COUNT(opensm_keys), target);
}

static const char *const unused_choices[] = {"default", "drop", NULL};

static const struct key_row policy_keys[] = {
	{.name = "version",
	 .type = VALUE_INTEGER,
	 .required = true,
	 .min = 1,
	 .max = 1,
	 .set = set_version,
	 .wanted = "1, the version of policy files that this ibqos reads"},
	{.name = "name",
	 .type = VALUE_NAME,
	 .set = set_policy_name,
	 .wanted = "a letter, then letters, digits, '_' or '-', 64 at most"},
	{.name = "classes",
	 .type = VALUE_LIST,
	 .required = true,
	 .set = set_classes,
	 .wanted = "a list of classes"},
	{.name = "unused_sls",
	 .type = VALUE_CHOICE,
	 .choices = unused_choices,
	 .set = set_unused,
	 .wanted = "default or drop"},
	{.name = "opensm",
	 .type = VALUE_MAPPING,
	 .set = set_opensm,
	 .wanted = "keys and values: config, qos_policy, log"},
};

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
		if (root->kind == NODE_SEQUENCE)
			finding_set(&f->got, "a list");
		else
			read_quote(&f->got, root->text[0] ? root->text : "nothing");
		return 0;
	}
	r = read_keys(in, root, policy_keys, COUNT(policy_keys), &reading);
	if (r == 0 && reading.classes_mark.line)
		read_check(in, whole, reading.classes_mark);
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

int policy_parse(const char *path, const char *text, size_t size, struct finding_list *findings,
		 struct policy **policy)
{
	struct policy_reader in = {.path = path, .findings = findings};
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
		r = set_text(&in.policy->opensm_config, OPENSM_CONFIG);
	if (r == 0 && findings->lost)
		r = -ENOMEM;
	if (r < 0 || criticals(findings) > before)
		policy_free(in.policy);
	else
		*policy = in.policy;
	return r;
}

int policy_read(const char *path, struct finding_list *findings, struct policy **policy)
{
	char *text;
	size_t size;
	int r;

	*policy = NULL;
	r = file_read(path, &text, &size);
	if (r < 0)
		return r;
	r = policy_parse(path, text, size, findings, policy);
	free(text);
	return r;
}

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	for (size_t i = 0; i < policy->class_count; i++)
		free(policy->classes[i].name);
	free(policy->classes);
	free(policy->path);
	free(policy->name);
	free(policy->opensm_config);
	free(policy->opensm_qos_policy);
	free(policy->opensm_log);
	free(policy);
}
