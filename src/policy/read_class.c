/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A class of the policy file, and its matches: the keys, and what each one sets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "read.h"

#define MATCHES_MAX 64 /* of a class */

/* --- a match --- */

static int set_service(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_match *match = target;
	size_t count;
	const struct policy_service *services = policy_services(&count);

	match->service_mark = value->node->mark;
	if (value->number < count) {
		match->service = &services[value->number];
	} else {
		const struct policy_self_chooser *choosers = policy_self_choosers(&count);
		const struct policy_self_chooser *who = choosers;
		struct finding *f = read_finding(in, FINDING_POLICY_NEVER_ASKS, value->node->mark);

		while (strcmp(who->name, value->node->text) != 0)
			who++;
		finding_set(&f->what, "key 'service'");
		finding_set(&f->got, "%s", who->name);
		finding_set(&f->detail, "set %s to the class's SL where the job is started", who->how);
	}
	return 0;
}

static int set_service_id(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_match *match = target;

	(void)in;
	return ranges_add(&match->service_ids, value->low, value->high, value->node->mark);
}

static int set_pkey(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_match *match = target;

	match->pkey = read_pkey(in, value);
	match->pkey_mark = value->node->mark;
	return 0;
}

static int set_partition(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_match *match = target;

	(void)in;
	match->partition_mark = value->node->mark;
	return text_set(&match->partition, value->node->text);
}

static int set_qos_class(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_match *match = target;

	(void)in;
	return ranges_add(&match->qos_classes, value->low, value->high, value->node->mark);
}

static int set_source(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_match *match = target;

	(void)in;
	return texts_add(&match->sources, value->node);
}

static int set_destination(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_match *match = target;

	(void)in;
	return texts_add(&match->destinations, value->node);
}

/* In the order of policy_services(), then of policy_self_choosers(): the latter are known, to be refused. */
static const char *const service_choices[] = {"lustre", "nvme-of", "nfs-rdma", "iser",	   "rds",    "sdp",	"srp", "ipoib",
					      "nccl",	"ucx",	   "nvshmem",  "deepep", "mooncake", "mpi", NULL};

static const struct key_row match_rows[] = {
	{.name = "service",
	 .type = VALUE_CHOICE,
	 .choices = service_choices,
	 .set = set_service,
	 .wanted = "lustre, nvme-of, nfs-rdma, iser, rds, sdp, srp or ipoib",
	 .doc = "Traffic of a known kind. Programs that ask nobody (nccl, ucx, nvshmem, deepep, mooncake, mpi) are "
		"refused here: no rule can reach them, they must be started with the class's SL."},
	{.name = "service_id",
	 .type = VALUE_RANGE,
	 .many = KEY_MANY,
	 .max = UINT64_MAX,
	 .set = set_service_id,
	 .wanted = "a service ID or a range a-b, hexadecimal with 0x or decimal",
	 .doc = "Service IDs that the request names. Of rdma_cm over TCP port space it is 0x01060000 plus the port."},
	{.name = "pkey",
	 .type = VALUE_NUMBER,
	 .min = 1,
	 .max = UINT16_MAX,
	 .set = set_pkey,
	 .wanted = "a partition key 0x1-0x7fff, with or without the membership bit 0x8000",
	 .doc = "The partition that the request names."},
	{.name = "partition",
	 .type = VALUE_NAME,
	 .set = set_partition,
	 .wanted = "the name of a partition in 'partitions'",
	 .doc = "The same, by a name of ``partitions``."},
	{.name = "qos_class",
	 .type = VALUE_RANGE,
	 .many = KEY_MANY,
	 .max = 255,
	 .set = set_qos_class,
	 .wanted = "a whole number 0-255 or a range a-b",
	 .doc = "QoS classes. rdma_cm sends a program's type-of-service byte here, over IPv4 only: a request over "
		"IPv6 has no QoS class and never matches."},
	{.name = "source",
	 .type = VALUE_NAME,
	 .many = KEY_MANY,
	 .set = set_source,
	 .wanted = "the name of a group in 'groups'",
	 .doc = "Groups, one of which must have the port that the path starts at."},
	{.name = "destination",
	 .type = VALUE_NAME,
	 .many = KEY_MANY,
	 .set = set_destination,
	 .wanted = "the name of a group in 'groups'",
	 .doc = "Groups, one of which must have the port that the path ends at. With both, both must hold."},
};
static const struct key_table match_key_table = KEY_TABLE("match", match_rows, true);

static void match_clear(struct policy_match *match)
{
	free(match->service_ids.items);
	free(match->qos_classes.items);
	free(match->partition);
	texts_free(&match->sources);
	texts_free(&match->destinations);
}

void class_clear(struct policy_class *class)
{
	for (size_t i = 0; i < class->match_count; i++)
		match_clear(&class->matches[i]);
	free(class->matches);
	free(class->more_tcs.items);
	free(class->name);
}

/* --- a class --- */

static int set_name(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_class *class = target;

	(void)in;
	class->mark = value->node->mark;
	return text_set(&class->name, value->node->text);
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
	if (class->nccl_ib_tc != POLICY_NO_TC)
		return ranges_add(&class->more_tcs, value->number, value->number, value->node->mark);
	class->nccl_ib_tc = (int)value->number;
	class->tc_mark = value->node->mark;
	return 0;
}

static int set_share(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_class *class = target;

	(void)in;
	class->share = value->percent;
	class->share_bare = !strchr(value->node->text, '%');
	class->share_mark = value->node->mark;
	return 0;
}

static int set_priority(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_class *class = target;

	(void)in;
	class->priority = value->number == 0 ? POLICY_PRIORITY_NORMAL : POLICY_PRIORITY_HIGH;
	class->priority_mark = value->node->mark;
	return 0;
}

static int set_min_latency(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_class *class = target;

	(void)in;
	class->min_latency = value->number != 0;
	class->latency_mark = value->node->mark;
	return 0;
}

static int set_default(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_class *class = target;

	(void)in;
	class->is_default = value->number != 0;
	return 0;
}

static void *add_match(struct policy_reader *in, void *target, struct policy_mark mark)
{
	struct policy_class *class = target;
	struct policy_match *matches =
		array_grow(class->matches, &class->match_room, class->match_count + 1, sizeof(*matches));

	(void)in;
	if (!matches)
		return NULL;
	class->matches = matches;
	matches[class->match_count].mark = mark;
	return &matches[class->match_count++];
}

static int set_match(struct policy_reader *in, void *target, const struct key_value *value)
{
	return read_list(in, value->node, &match_key_table, MATCHES_MAX, add_match, target);
}

static const char *const priorities[] = {"normal", "high", NULL};

static const struct key_row class_rows[] = {
	{.name = "name",
	 .type = VALUE_NAME,
	 .required = true,
	 .set = set_name,
	 .wanted = "a letter, then letters, digits, '_' or '-', 64 at most",
	 .doc = "What it is called in all output, and in OpenSM's file. No two classes have the same."},
	{.name = "sl",
	 .type = VALUE_INTEGER,
	 .required = true,
	 .draft_may_lack = true,
	 .min = 0,
	 .max = QOS_SLS - 1,
	 .set = set_sl,
	 .wanted = "a whole number 0-15",
	 .doc = "The service level, one class each: what jobs set as NCCL_IB_SL, UCX_IB_SL and the like. ``ibqos lint "
		"--suggest-sl`` proposes free ones for classes that have none yet."},
	{.name = "nccl_ib_tc",
	 .type = VALUE_INTEGER,
	 .many = KEY_MANY,
	 .min = 0,
	 .max = 255,
	 .set = set_tc,
	 .wanted = "a whole number 0-255",
	 .doc = "The traffic class that jobs set as NCCL_IB_TC, or several. OpenSM gives rdma_cm programs of that type "
		"of service (over IPv4) the same SL. NCCL itself asks nobody: what counts for it is NCCL_IB_SL."},
	{.name = "share",
	 .type = VALUE_PERCENT,
	 .required = true,
	 .set = set_share,
	 .wanted = "a percentage above 0 up to 100",
	 .doc = "Of a link on which all classes are busy, guaranteed. What a class does not use is there for the others. "
		"All together 100 % at most."},
	{.name = "priority",
	 .type = VALUE_CHOICE,
	 .choices = priorities,
	 .set = set_priority,
	 .wanted = "normal or high",
	 .doc = "``high`` also goes ahead of the others, up to its share, or half of the link where that is more: no table caps "
		"it lower while it sends without end. Its arithmetic is coarser, ``ibqos plan`` shows it. Default: normal."},
	{.name = "min_latency",
	 .type = VALUE_BOOLEAN,
	 .set = set_min_latency,
	 .wanted = "true or false",
	 .doc = "For a class that sends little and must not wait: priority high with the smallest high limit that keeps "
		"its share, which for a share up to half of the link is one packet ahead of each packet of the others. "
		"No table can cap such a class below half of a link, so a class that keeps sending takes more than its "
		"share from the others: ``ibqos plan`` says how much. Default: false."},
	{.name = "default",
	 .type = VALUE_BOOLEAN,
	 .set = set_default,
	 .wanted = "true or false",
	 .doc = "The class that has all that no other claims; exactly one has it."},
	{.name = "match",
	 .type = VALUE_LIST,
	 .keys = &match_key_table,
	 .set = set_match,
	 .wanted = "a list of matches",
	 .doc = "Which traffic of programs that ask the subnet manager for a path is in this class. Of one item all keys "
		"must hold; the items are alternatives."},
};
const struct key_table class_key_table = KEY_TABLE("class", class_rows, false);
