/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Groups, partitions and overrides of the policy file: the keys, and what each one sets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "read.h"

#define GROUPS_MAX 256
#define GROUP_ITEMS_MAX 256
#define GUIDS_MAX 4096
#define PARTITIONS_MAX 1024

#define PKEY_MEMBERSHIP 0x8000u

unsigned read_pkey(struct policy_reader *in, const struct key_value *value)
{
	unsigned pkey = (unsigned)value->low & ~PKEY_MEMBERSHIP;
	struct finding *f;

	if (pkey)
		return pkey;
	f = read_finding(in, FINDING_POLICY_RANGE, value->node->mark);
	finding_set(&f->what, "key 'pkey'");
	finding_set(&f->wanted, "a partition key 0x1-0x7fff, with or without the membership bit 0x8000");
	finding_set(&f->got, "%s", value->node->text);
	return 0;
}

/* --- groups --- */

static int set_pattern(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_group_item *item = target;

	(void)in;
	return texts_add(&item->names, value->node);
}

static int set_guid(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_group_item *item = target;

	(void)in;
	return ranges_add(&item->guids, value->low, value->low, value->node->mark);
}

static int set_node_type(struct policy_reader *in, void *target, const struct key_value *value)
{
	static const enum fabric_node_type types[] = {FABRIC_CA, FABRIC_SWITCH, FABRIC_ROUTER};
	struct policy_group_item *item = target;

	(void)in;
	item->node_types |= 1u << types[value->number];
	return 0;
}

static const char *const node_types[] = {"ca", "switch", "router", NULL};

static const struct key_row group_rows[] = {
	{.name = "name",
	 .type = VALUE_PATTERN,
	 .many = KEY_MANY,
	 .set = set_pattern,
	 .wanted = "a pattern of node names, as a shell takes it: \"oss*\"",
	 .doc = "Nodes by name: of the node-name map, else the node description. ``*``, ``?`` and ``[...]`` as in a "
		"shell, for the whole name."},
	{.name = "guid",
	 .type = VALUE_NUMBER,
	 .many = GUIDS_MAX,
	 .min = 1,
	 .max = UINT64_MAX,
	 .set = set_guid,
	 .wanted = "a GUID, hexadecimal with 0x",
	 .doc = "Nodes or single ports by GUID."},
	{.name = "node_type",
	 .type = VALUE_CHOICE,
	 .many = 3,
	 .choices = node_types,
	 .set = set_node_type,
	 .wanted = "ca, switch or router",
	 .doc = "Nodes by what they are."},
};
const struct key_table group_key_table = KEY_TABLE("group item", group_rows, true);

static void *add_group_item(struct policy_reader *in, void *target, struct policy_mark mark)
{
	struct policy_group *group = target;
	struct policy_group_item *items =
		array_grow(group->items, &group->item_room, group->item_count + 1, sizeof(*items));

	(void)in;
	if (!items)
		return NULL;
	group->items = items;
	items[group->item_count].mark = mark;
	return &items[group->item_count++];
}

static int add_group(struct policy_reader *in, void *target, const struct tree_node *name)
{
	struct policy *policy = in->policy;
	struct policy_group *groups, *group;
	struct finding *f;

	(void)target;
	if (name->next->kind != NODE_SEQUENCE) {
		f = read_finding(in, FINDING_POLICY_TYPE, name->next->mark);
		finding_set(&f->what, "group");
		finding_set(&f->wanted, "a list of group items: name, guid, node_type");
		read_set_got(&f->got, name->next);
		return 0;
	}
	groups = array_grow(policy->groups, &policy->group_room, policy->group_count + 1, sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	policy->groups = groups;
	group = &groups[policy->group_count];
	group->name = strdup(name->text);
	if (!group->name)
		return -ENOMEM;
	policy->group_count++;
	group->mark = name->mark;
	return read_list(in, name->next, &group_key_table, GROUP_ITEMS_MAX, add_group_item, group);
}

int set_groups(struct policy_reader *in, void *target, const struct key_value *value)
{
	return read_named(in, value->node, GROUPS_MAX, add_group, target);
}

const struct policy_group *policy_find_group(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->group_count; i++)
		if (strcmp(policy->groups[i].name, name) == 0)
			return &policy->groups[i];
	return NULL;
}

/* --- partitions --- */

static int set_partition_name(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_partition *partition = target;

	(void)in;
	partition->mark = value->node->mark;
	return text_set(&partition->name, value->node->text);
}

static int set_partition_pkey(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_partition *partition = target;

	partition->pkey = read_pkey(in, value);
	partition->pkey_mark = value->node->mark;
	return 0;
}

static int set_partition_sl(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_partition *partition = target;

	(void)in;
	partition->sl = value->number;
	partition->sl_mark = value->node->mark;
	return 0;
}

static int set_partition_ipoib(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_partition *partition = target;

	(void)in;
	partition->ipoib = value->number != 0;
	return 0;
}

static const struct key_row partition_rows[] = {
	{.name = "name",
	 .type = VALUE_NAME,
	 .required = true,
	 .set = set_partition_name,
	 .wanted = "a letter, then letters, digits, '_' or '-', 64 at most",
	 .doc = "What ``match`` calls it by."},
	{.name = "pkey",
	 .type = VALUE_NUMBER,
	 .required = true,
	 .min = 1,
	 .max = UINT16_MAX,
	 .set = set_partition_pkey,
	 .wanted = "a partition key 0x1-0x7fff, with or without the membership bit 0x8000",
	 .doc = "Its key, as in partitions.conf."},
	{.name = "sl",
	 .type = VALUE_INTEGER,
	 .max = QOS_SLS - 1,
	 .set = set_partition_sl,
	 .wanted = "a whole number 0-15",
	 .doc = "Its ``sl=`` in partitions.conf (without one OpenSM takes 0). While OpenSM has a policy it counts for "
		"the multicast of IPoIB only."},
	{.name = "ipoib",
	 .type = VALUE_BOOLEAN,
	 .set = set_partition_ipoib,
	 .wanted = "true or false",
	 .doc = "Whether IPoIB runs in it (``ipoib`` in partitions.conf). Default: false."},
};
const struct key_table partition_key_table = KEY_TABLE("partition", partition_rows, false);

static void *add_partition(struct policy_reader *in, void *target, struct policy_mark mark)
{
	struct policy *policy = in->policy;
	struct policy_partition *partitions = array_grow(policy->partitions, &policy->partition_room,
							 policy->partition_count + 1, sizeof(*partitions));

	(void)target;
	if (!partitions)
		return NULL;
	policy->partitions = partitions;
	partitions[policy->partition_count].mark = mark;
	return &partitions[policy->partition_count++];
}

int set_partitions(struct policy_reader *in, void *target, const struct key_value *value)
{
	return read_list(in, value->node, &partition_key_table, PARTITIONS_MAX, add_partition, target);
}

/* --- overrides --- */

static int set_share_class(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_override_share *share = target;

	(void)in;
	share->mark = value->node->mark;
	return text_set(&share->class_name, value->node->text);
}

static int set_share_share(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_override_share *share = target;

	(void)in;
	share->share = value->percent;
	share->share_bare = !strchr(value->node->text, '%');
	share->share_mark = value->node->mark;
	return 0;
}

static const struct key_row share_rows[] = {
	{.name = "class",
	 .type = VALUE_NAME,
	 .required = true,
	 .set = set_share_class,
	 .wanted = "the name of a class",
	 .doc = "Of which class."},
	{.name = "share",
	 .type = VALUE_PERCENT,
	 .required = true,
	 .set = set_share_share,
	 .wanted = "a percentage above 0 up to 100",
	 .doc = "Its share there."},
};
static const struct key_table share_key_table = KEY_TABLE("share", share_rows, false);

static void *add_share(struct policy_reader *in, void *target, struct policy_mark mark)
{
	struct policy_override *override = target;
	struct policy_override_share *shares =
		array_grow(override->shares, &override->share_room, override->share_count + 1, sizeof(*shares));

	(void)in;
	if (!shares)
		return NULL;
	override->shares = shares;
	shares[override->share_count].mark = mark;
	return &shares[override->share_count++];
}

static int set_override_shares(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_override *override = target;

	override->shares_mark = value->node->mark;
	return read_list(in, value->node, &share_key_table, QOS_SLS, add_share, target);
}

static int set_high_limit(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_override *override = target;

	(void)in;
	override->high_limit = (int)value->number;
	override->limit_mark = value->node->mark;
	return 0;
}

static const struct key_row override_rows[] = {
	{.name = "high_limit",
	 .type = VALUE_INTEGER,
	 .max = QOS_HIGH_UNLIMITED - 1,
	 .set = set_high_limit,
	 .wanted = "a whole number 0-254, in units of 4096 bytes",
	 .doc = "VLHighLimit, in place of the one that ibqos works out; for a policy with a class of priority high. 255, "
		"no limit, would let the others starve."},
	{.name = "shares",
	 .type = VALUE_LIST,
	 .keys = &share_key_table,
	 .set = set_override_shares,
	 .wanted = "a list of shares: class, share",
	 .doc = "Other shares; a class that is not named keeps its own."},
};
static const struct key_table override_key_table = KEY_TABLE("override", override_rows, true);

static int set_override(struct policy_reader *in, enum qos_port_type type, const struct key_value *value)
{
	struct policy_override *override = &in->policy->overrides[type];

	override->given = true;
	override->high_limit = POLICY_NO_LIMIT;
	override->mark = value->node->mark;
	return read_keys(in, value->node, &override_key_table, override);
}

static int set_ca(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)target;
	return set_override(in, QOS_PORT_CA, value);
}

static int set_swe(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)target;
	return set_override(in, QOS_PORT_SWE, value);
}

static int set_rtr(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)target;
	return set_override(in, QOS_PORT_RTR, value);
}

static const struct key_row overrides_rows[] = {
	{.name = "ca",
	 .type = VALUE_MAPPING,
	 .keys = &override_key_table,
	 .set = set_ca,
	 .wanted = "keys and values: high_limit, shares",
	 .doc = "What adapters send."},
	{.name = "swe",
	 .type = VALUE_MAPPING,
	 .keys = &override_key_table,
	 .set = set_swe,
	 .wanted = "keys and values: high_limit, shares",
	 .doc = "What switches send. Their port 0 (sw0) always has the same: OpenSM programs an enhanced port 0 from "
		"both, one after the other."},
	{.name = "rtr",
	 .type = VALUE_MAPPING,
	 .keys = &override_key_table,
	 .set = set_rtr,
	 .wanted = "keys and values: high_limit, shares",
	 .doc = "What routers send."},
};
const struct key_table overrides_key_table = KEY_TABLE("overrides", overrides_rows, true);

int set_overrides(struct policy_reader *in, void *target, const struct key_value *value)
{
	return read_keys(in, value->node, &overrides_key_table, target);
}

/* --- */

void parts_clear(struct policy *policy)
{
	for (size_t i = 0; i < policy->group_count; i++) {
		struct policy_group *group = &policy->groups[i];

		for (size_t n = 0; n < group->item_count; n++) {
			texts_free(&group->items[n].names);
			free(group->items[n].guids.items);
		}
		free(group->items);
		free(group->name);
	}
	free(policy->groups);
	for (size_t i = 0; i < policy->partition_count; i++)
		free(policy->partitions[i].name);
	free(policy->partitions);
	for (int type = 0; type < QOS_PORT_TYPES; type++) {
		struct policy_override *override = &policy->overrides[type];

		for (size_t i = 0; i < override->share_count; i++)
			free(override->shares[i].class_name);
		free(override->shares);
	}
}
