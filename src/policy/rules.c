/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The rules of a policy in the order in which OpenSM tries them, and how two rules stand to each
 * other. OpenSM goes through its list and takes the first one whose criteria all hold; a criterion
 * that the request does not name does not hold (osm_qos_policy.c:577-690).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "read.h"

#define DEFAULT_PKEY 0x7fff

/* --- sets of numbers --- */

static int compare_ranges(const void *a, const void *b)
{
	const struct policy_range *x = a, *y = b;

	return x->low != y->low ? (x->low < y->low ? -1 : 1) : x->high < y->high ? -1 : x->high > y->high;
}

/* In order, and ranges that overlap or touch made one. */
static void ranges_tidy(struct policy_ranges *ranges)
{
	size_t kept = 0;

	if (ranges->count == 0)
		return;
	qsort(ranges->items, ranges->count, sizeof(*ranges->items), compare_ranges);
	for (size_t i = 1; i < ranges->count; i++) {
		struct policy_range *last = &ranges->items[kept];
		const struct policy_range *next = &ranges->items[i];

		if (last->high == UINT64_MAX || next->low <= last->high + 1) {
			if (next->high > last->high)
				last->high = next->high;
		} else {
			ranges->items[++kept] = *next;
		}
	}
	ranges->count = kept + 1;
}

static int ranges_copy(struct policy_ranges *to, const struct policy_ranges *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->count; i++)
		r = ranges_add(to, from->items[i].low, from->items[i].high, from->items[i].mark);
	return r;
}

static bool ranges_meet(const struct policy_ranges *a, const struct policy_ranges *b)
{
	for (size_t i = 0, n = 0; i < a->count && n < b->count;) {
		if (a->items[i].high < b->items[n].low)
			i++;
		else if (b->items[n].high < a->items[i].low)
			n++;
		else
			return true;
	}
	return false;
}

static bool ranges_cover(const struct policy_ranges *a, const struct policy_ranges *b)
{
	for (size_t i = 0, n = 0; n < b->count; n++) {
		while (i < a->count && a->items[i].high < b->items[n].high)
			i++;
		if (i == a->count || a->items[i].low > b->items[n].low)
			return false;
	}
	return true;
}

/* --- sets of groups --- */

static bool texts_have(const struct policy_texts *texts, const char *text)
{
	for (size_t i = 0; i < texts->count; i++)
		if (strcmp(texts->items[i].text, text) == 0)
			return true;
	return false;
}

static bool texts_meet(const struct policy_texts *a, const struct policy_texts *b)
{
	for (size_t i = 0; i < a->count; i++)
		if (texts_have(b, a->items[i].text))
			return true;
	return false;
}

static bool texts_cover(const struct policy_texts *a, const struct policy_texts *b)
{
	for (size_t i = 0; i < b->count; i++)
		if (!texts_have(a, b->items[i].text))
			return false;
	return true;
}

/* --- two rules --- */

bool rule_covers(const struct policy_rule *a, const struct policy_rule *b)
{
	return (!a->service_ids.count || (b->service_ids.count && ranges_cover(&a->service_ids, &b->service_ids))) &&
	       (!a->qos_classes.count || (b->qos_classes.count && ranges_cover(&a->qos_classes, &b->qos_classes))) &&
	       (!a->pkey || a->pkey == b->pkey) &&
	       (!a->sources || (b->sources && texts_cover(a->sources, b->sources))) &&
	       (!a->destinations || (b->destinations && texts_cover(a->destinations, b->destinations)));
}

bool rule_meets(const struct policy_rule *a, const struct policy_rule *b,
		bool (*groups_meet)(void *arg, const struct policy_texts *a, const struct policy_texts *b), void *arg,
		bool *shared)
{
	const struct policy_texts *groups[2][2] = {{a->sources, b->sources}, {a->destinations, b->destinations}};

	*shared = false;
	if (a->service_ids.count && b->service_ids.count) {
		if (!ranges_meet(&a->service_ids, &b->service_ids))
			return false;
		*shared = true;
	}
	if (a->qos_classes.count && b->qos_classes.count) {
		if (!ranges_meet(&a->qos_classes, &b->qos_classes))
			return false;
		*shared = true;
	}
	if (a->pkey && b->pkey) {
		if (a->pkey != b->pkey)
			return false;
		*shared = true;
	}
	for (int end = 0; end < 2; end++) {
		const struct policy_texts *x = groups[end][0], *y = groups[end][1];

		if (!x || !y)
			continue;
		if (!texts_meet(x, y) && !(groups_meet && groups_meet(arg, x, y)))
			return false;
		*shared = true;
	}
	return true;
}

/* --- the list --- */

struct rule_list {
	struct policy_rule *items;
	size_t count, room;
};

static struct policy_rule *add_rule(struct rule_list *list, size_t class, struct policy_mark mark)
{
	struct policy_rule *items = array_grow(list->items, &list->room, list->count + 1, sizeof(*items));

	if (!items)
		return NULL;
	list->items = items;
	items[list->count] = (struct policy_rule){.class = class, .mark = mark};
	return &items[list->count++];
}

static int add_tcs(struct rule_list *list, const struct policy *policy, size_t class)
{
	const struct policy_class *c = &policy->classes[class];
	struct policy_rule *rule;
	int r;

	if (c->nccl_ib_tc == POLICY_NO_TC)
		return 0;
	rule = add_rule(list, class, c->tc_mark);
	if (!rule)
		return -ENOMEM;
	r = ranges_add(&rule->qos_classes, (unsigned)c->nccl_ib_tc, (unsigned)c->nccl_ib_tc, c->tc_mark);
	if (r == 0)
		r = ranges_copy(&rule->qos_classes, &c->more_tcs);
	ranges_tidy(&rule->qos_classes);
	return r;
}

static bool is_loose(const struct policy_match *match)
{
	return match->service && (match->service->by_pkey || match->service->by_destination);
}

static int add_match(struct rule_list *list, size_t class, const struct policy_match *match)
{
	const struct policy_service *service = match->service;
	struct policy_rule *rule = add_rule(list, class, match->mark);
	int r;

	if (!rule)
		return -ENOMEM;
	rule->match = match;
	rule->loose = is_loose(match);
	rule->pkey = match->pkey ? match->pkey : service && service->by_pkey ? DEFAULT_PKEY : 0;
	rule->sources = match->sources.count ? &match->sources : NULL;
	rule->destinations = match->destinations.count ? &match->destinations : NULL;
	r = ranges_copy(&rule->service_ids, &match->service_ids);
	if (r == 0)
		r = ranges_copy(&rule->qos_classes, &match->qos_classes);
	if (r == 0 && service && service->high)
		r = ranges_add(&rule->service_ids, service->low, service->high, match->service_mark);
	ranges_tidy(&rule->service_ids);
	ranges_tidy(&rule->qos_classes);
	return r;
}

int policy_rules(const struct policy *policy, struct policy_rule **rules, size_t *count)
{
	struct rule_list list = {0};
	int r = 0;

	for (int loose = 0; loose < 2; loose++) {
		for (size_t i = 0; r == 0 && i < policy->class_count; i++) {
			const struct policy_class *class = &policy->classes[i];

			if (!loose)
				r = add_tcs(&list, policy, i);
			for (size_t n = 0; r == 0 && n < class->match_count; n++)
				if (is_loose(&class->matches[n]) == (loose == 1))
					r = add_match(&list, i, &class->matches[n]);
		}
	}
	if (r < 0) {
		policy_rules_free(list.items, list.count);
		list = (struct rule_list){0};
	}
	*rules = list.items;
	*count = list.count;
	return r;
}

void policy_rules_free(struct policy_rule *rules, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(rules[i].service_ids.items);
		free(rules[i].qos_classes.items);
	}
	free(rules);
}

/* --- for people --- */

static void write_number(FILE *out, bool decimal, uint64_t number)
{
	if (decimal)
		fprintf(out, "%" PRIu64, number);
	else
		fprintf(out, "0x%" PRIx64, number);
}

static const char *write_ranges(FILE *out, const char *between, const char *what, bool decimal,
				const struct policy_ranges *ranges)
{
	for (size_t i = 0; i < ranges->count; i++) {
		fprintf(out, "%s%s", i ? ", " : between, i ? "" : what);
		write_number(out, decimal, ranges->items[i].low);
		if (ranges->items[i].high == ranges->items[i].low)
			continue;
		fputc('-', out);
		write_number(out, decimal, ranges->items[i].high);
	}
	return ranges->count ? "; " : between;
}

static const char *write_texts(FILE *out, const char *between, const char *what, const struct policy_texts *texts)
{
	for (size_t i = 0; texts && i < texts->count; i++)
		fprintf(out, "%s%s%s", i ? " or " : between, i ? "" : what, texts->items[i].text);
	return texts ? "; " : between;
}

char *policy_rule_text(const struct policy_rule *rule)
{
	const char *between = "";
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (rule->match && rule->match->service) {
		fprintf(out, "%s", rule->match->service->name);
		between = ": ";
	}
	between = write_ranges(out, between, "service ID ", false, &rule->service_ids);
	between = write_ranges(out, between, "QoS class ", true, &rule->qos_classes);
	if (rule->pkey) {
		fprintf(out, "%sP_Key 0x%x", between, rule->pkey);
		between = "; ";
		if (rule->match && rule->match->partition)
			fprintf(out, " (%s)", rule->match->partition);
	}
	between = write_texts(out, between, "from ", rule->sources);
	write_texts(out, between, "to ", rule->destinations);
	return text_stream_end(out, &text) == 0 ? text : NULL;
}
