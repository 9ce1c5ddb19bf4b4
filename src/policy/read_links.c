/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Link classes of the policy file: the keys, and what each one sets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "read.h"

#define LINK_CLASSES_MAX 64
#define EXCEPTIONS_MAX 1024

/* --- values that several tables have --- */

const char *const policy_speed_choices[] = {"SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR", NULL};
static const char *const width_choices[] = {"1x", "2x", "4x", "8x", "12x", NULL};

/* The choices stand in the order of the bits of enum link_speed and link_width. */
static unsigned bit_of(const struct key_value *value)
{
	return 1u << value->number;
}

/* --- ends --- */

static int set_end_node(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_link_end *end = target;

	(void)in;
	return texts_add(&end->names, value->node);
}

static int set_end_type(struct policy_reader *in, void *target, const struct key_value *value)
{
	static const enum fabric_node_type types[] = {FABRIC_CA, FABRIC_SWITCH, FABRIC_ROUTER};
	struct policy_link_end *end = target;

	(void)in;
	end->node_types |= 1u << types[value->number];
	return 0;
}

static int set_end_device(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_link_end *end = target;

	(void)in;
	return ranges_add(&end->devices, value->low, value->low, value->node->mark);
}

static const char *const node_types[] = {"ca", "switch", "router", NULL};

static const struct key_row end_rows[] = {
	{.name = "node",
	 .type = VALUE_PATTERN,
	 .many = KEY_MANY,
	 .set = set_end_node,
	 .wanted = "a pattern of node names, as a shell takes it: \"gpu*\"",
	 .doc = "The node there by name, as in **groups**."},
	{.name = "node_type",
	 .type = VALUE_CHOICE,
	 .many = 3,
	 .choices = node_types,
	 .set = set_end_type,
	 .wanted = "ca, switch or router",
	 .doc = "What it is."},
	{.name = "device",
	 .type = VALUE_NUMBER,
	 .many = KEY_MANY,
	 .min = 1,
	 .max = UINT16_MAX,
	 .set = set_end_device,
	 .wanted = "a device ID 1-0xffff, as vendstat or ibqos snapshot shows it",
	 .doc = "Its model: NodeInfo:DeviceID."},
};
static const struct key_table end_key_table = KEY_TABLE("end", end_rows, true);

static void *add_end(struct policy_reader *in, void *target, struct policy_mark mark)
{
	struct policy_link_class *class = target;

	(void)in;
	class->ends[class->end_count].mark = mark;
	return &class->ends[class->end_count++];
}

static int set_ends(struct policy_reader *in, void *target, const struct key_value *value)
{
	return read_list(in, value->node, &end_key_table, POLICY_LINK_ENDS, add_end, target);
}

/* --- exceptions --- */

static int set_exception_node(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_link_exception *exception = target;

	(void)in;
	return texts_add(&exception->names, value->node);
}

static int set_exception_port(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_link_exception *exception = target;

	(void)in;
	return ranges_add(&exception->ports, value->low, value->high, value->node->mark);
}

static int set_exception_speed(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_link_exception *exception = target;

	(void)in;
	exception->speed = bit_of(value);
	return 0;
}

static int set_exception_width(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_link_exception *exception = target;

	(void)in;
	exception->width = bit_of(value);
	return 0;
}

static int set_exception_reason(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_link_exception *exception = target;

	(void)in;
	return text_set(&exception->reason, value->node->text);
}

static int set_exception_until(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_link_exception *exception = target;

	(void)in;
	exception->until = value->number;
	return 0;
}

static const struct key_row exception_rows[] = {
	{.name = "node",
	 .type = VALUE_PATTERN,
	 .many = KEY_MANY,
	 .required = true,
	 .set = set_exception_node,
	 .wanted = "a pattern of node names, as a shell takes it: \"gpu-017*\"",
	 .doc = "The node at either end of the link, by name."},
	{.name = "port",
	 .type = VALUE_RANGE,
	 .many = KEY_MANY,
	 .min = 1,
	 .max = 254,
	 .set = set_exception_port,
	 .wanted = "a port 1-254, or a range of them",
	 .doc = "Only these ports of that node. Default: all."},
	{.name = "speed",
	 .type = VALUE_CHOICE,
	 .choices = policy_speed_choices,
	 .set = set_exception_speed,
	 .wanted = "SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR",
	 .doc = "What it is to run at least meanwhile. Without **speed** and **width** it is not judged at all."},
	{.name = "width",
	 .type = VALUE_CHOICE,
	 .choices = width_choices,
	 .set = set_exception_width,
	 .wanted = "1x, 2x, 4x, 8x or 12x",
	 .doc = "Likewise."},
	{.name = "reason",
	 .type = VALUE_TEXT,
	 .required = true,
	 .set = set_exception_reason,
	 .wanted = "a line of text",
	 .doc = "Why, for whoever reads the finding once it has expired: a ticket."},
	{.name = "until",
	 .type = VALUE_DATE,
	 .required = true,
	 .set = set_exception_until,
	 .wanted = "a day, as 2026-12-31",
	 .doc = "The last day on which it holds. Afterwards the link is judged again, and the exception is a finding "
		"itself."},
};
static const struct key_table exception_key_table = KEY_TABLE("exception", exception_rows, false);

static void *add_exception(struct policy_reader *in, void *target, struct policy_mark mark)
{
	struct policy_link_class *class = target;
	struct policy_link_exception *exceptions =
		array_grow(class->exceptions, &class->exception_room, class->exception_count + 1, sizeof(*exceptions));

	(void)in;
	if (!exceptions)
		return NULL;
	class->exceptions = exceptions;
	exceptions[class->exception_count].mark = mark;
	return &exceptions[class->exception_count++];
}

static int set_exceptions(struct policy_reader *in, void *target, const struct key_value *value)
{
	return read_list(in, value->node, &exception_key_table, EXCEPTIONS_MAX, add_exception, target);
}

/* --- classes --- */

static int set_link_name(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_link_class *class = target;

	for (size_t i = 0; i < in->policy->link_class_count; i++) {
		const char *name = in->policy->link_classes[i].name;
		struct finding *f;

		if (!name || strcmp(name, value->node->text) != 0)
			continue;
		f = read_finding(in, FINDING_POLICY_NAME_CLASH, value->node->mark);
		finding_set(&f->what, "name of a link class");
		finding_set(&f->got, "'%s'", name);
		return 0;
	}
	return text_set(&class->name, value->node->text);
}

static int set_link_speed(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_link_class *class = target;

	(void)in;
	class->speed = bit_of(value);
	return 0;
}

static int set_link_width(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_link_class *class = target;

	(void)in;
	class->width = bit_of(value);
	return 0;
}

static const struct key_row link_rows[] = {
	{.name = "name",
	 .type = VALUE_NAME,
	 .required = true,
	 .set = set_link_name,
	 .wanted = "a letter, then letters, digits, '_' or '-', 64 at most",
	 .doc = "What findings call it."},
	{.name = "ends",
	 .type = VALUE_LIST,
	 .keys = &end_key_table,
	 .set = set_ends,
	 .wanted = "a list of one or two ends: node, node_type, device",
	 .doc = "Which links: with two items those that have an end as each of them says, in either order; with one, "
		"those with at least one such end. Of an item all keys must hold. Default: all links."},
	{.name = "speed",
	 .type = VALUE_CHOICE,
	 .choices = policy_speed_choices,
	 .set = set_link_speed,
	 .wanted = "SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR",
	 .doc = "What they are to run at least, by lane: HDR100 is HDR at 2x, NDR200 NDR at 2x. Then it does not count "
		"that both ends could do more. Default: what both ends can."},
	{.name = "width",
	 .type = VALUE_CHOICE,
	 .choices = width_choices,
	 .set = set_link_width,
	 .wanted = "1x, 2x, 4x, 8x or 12x",
	 .doc = "Likewise. A split port is 2x."},
	{.name = "exceptions",
	 .type = VALUE_LIST,
	 .keys = &exception_key_table,
	 .set = set_exceptions,
	 .wanted = "a list of exceptions: node, port, speed, width, reason, until",
	 .doc = "Links of the class that may run less for a while. The first that is about a link counts."},
};
const struct key_table link_key_table = KEY_TABLE("link class", link_rows, false);

static void *add_link_class(struct policy_reader *in, void *target, struct policy_mark mark)
{
	struct policy *policy = in->policy;
	struct policy_link_class *classes = array_grow(policy->link_classes, &policy->link_class_room,
						       policy->link_class_count + 1, sizeof(*classes));

	(void)target;
	if (!classes)
		return NULL;
	policy->link_classes = classes;
	classes[policy->link_class_count].mark = mark;
	return &classes[policy->link_class_count++];
}

int set_links(struct policy_reader *in, void *target, const struct key_value *value)
{
	return read_list(in, value->node, &link_key_table, LINK_CLASSES_MAX, add_link_class, target);
}

void links_clear(struct policy *policy)
{
	for (size_t i = 0; i < policy->link_class_count; i++) {
		struct policy_link_class *class = &policy->link_classes[i];

		for (size_t n = 0; n < class->end_count; n++) {
			texts_free(&class->ends[n].names);
			free(class->ends[n].devices.items);
		}
		for (size_t n = 0; n < class->exception_count; n++) {
			texts_free(&class->exceptions[n].names);
			free(class->exceptions[n].ports.items);
			free(class->exceptions[n].reason);
		}
		free(class->exceptions);
		free(class->name);
	}
	free(policy->link_classes);
}
