/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which links a policy's link classes and their exceptions are about; and dates.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ibqos/policy.h"

#define DAY_SECONDS 86400

static bool name_matches(const struct policy_texts *patterns, const struct fabric_node *node)
{
	for (size_t i = 0; i < patterns->count; i++)
		if (node->name && fnmatch(patterns->items[i].text, node->name, 0) == 0)
			return true;
	return patterns->count == 0;
}

static bool in_ranges(const struct policy_ranges *ranges, uint64_t value)
{
	for (size_t i = 0; i < ranges->count; i++)
		if (value >= ranges->items[i].low && value <= ranges->items[i].high)
			return true;
	return ranges->count == 0;
}

static bool end_matches(const struct policy_link_end *end, const struct fabric_node *node)
{
	return name_matches(&end->names, node) && (!end->node_types || end->node_types & 1u << node->type) &&
	       in_ranges(&end->devices, node->device);
}

static bool class_matches(const struct policy_link_class *class, const struct fabric_node *a, const struct fabric_node *b)
{
	const struct policy_link_end *ends = class->ends;

	if (class->end_count == 0)
		return true;
	if (class->end_count == 1)
		return end_matches(&ends[0], a) || end_matches(&ends[0], b);
	return (end_matches(&ends[0], a) && end_matches(&ends[1], b)) ||
	       (end_matches(&ends[0], b) && end_matches(&ends[1], a));
}

const struct policy_link_class *policy_link_class_of(const struct policy *policy, const struct fabric *fabric,
						     const struct fabric_link *link)
{
	const struct fabric_node *a = fabric_port_node(fabric, link->a), *b = fabric_port_node(fabric, link->b);

	for (size_t i = 0; i < policy->link_class_count; i++)
		if (class_matches(&policy->link_classes[i], a, b))
			return &policy->link_classes[i];
	return NULL;
}

static bool excepts(const struct policy_link_exception *exception, const struct fabric *fabric, uint32_t port)
{
	return name_matches(&exception->names, fabric_port_node(fabric, port)) &&
	       in_ranges(&exception->ports, fabric->ports[port].number);
}

bool policy_link_excepted(const struct policy_link_exception *exception, const struct fabric *fabric,
			  const struct fabric_link *link)
{
	return excepts(exception, fabric, link->a) || excepts(exception, fabric, link->b);
}

int policy_date_of(const char *text, unsigned *days)
{
	struct tm tm = {0}, made;
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	time_t seconds;

	if (!end || *end || strlen(text) != strlen("2026-12-31"))
		return -EINVAL;
	made = tm;
	seconds = timegm(&made); /* which makes the 30th of February another day */
	if (seconds < 0 || made.tm_mday != tm.tm_mday || made.tm_mon != tm.tm_mon)
		return -EINVAL;
	*days = (unsigned)(seconds / DAY_SECONDS);
	return 0;
}

const char *policy_date_text(unsigned days, char text[POLICY_DATE_TEXT])
{
	time_t seconds = (time_t)days * DAY_SECONDS;
	struct tm tm;

	text[0] = '\0';
	if (gmtime_r(&seconds, &tm))
		strftime(text, POLICY_DATE_TEXT, "%Y-%m-%d", &tm);
	return text;
}
