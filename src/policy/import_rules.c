/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Groups and rules of a qos-policy file as those of a policy. A criterion that a policy cannot say is
 * never just dropped, since the rule would then match more: the rule is left out, and told of.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"

#define PKEYS_MAX 64	/* of one rule, each of which makes a match */
#define RANGES_MAX KEY_MANY
#define GUIDS_MAX 4096 /* of a group */
#define QOS_CLASS_MAX 255
#define MATCHES_MAX 64 /* of a class */
#define PORTS_MAX 200  /* names of a group */
#define PATTERN_MAX 100 /* bytes, each of which may need escaping */

/* --- groups --- */

static bool group_named(const struct import *import, const char *name)
{
	for (size_t i = 0; import->groups && i < import->files->policy->group_count; i++)
		if (import->groups[i].name && strcasecmp(import->groups[i].name, name) == 0)
			return true;
	return false;
}

static void group_lost(struct import *import, const struct opensm_file_group *group, const char *what,
		       const char *detail)
{
	struct finding *f = import_tell(import, FINDING_IMPORT_LEFT_OUT, import->files->policy_path, group->mark);

	finding_set(&f->what, "port-group '%.64s'", group->name);
	finding_set(&f->got, "%s", what);
	finding_set(&f->detail, "%s", detail);
}

bool import_guids_sayable(const struct opensm_file_group *group)
{
	uint64_t count = 0;

	for (size_t i = 0; i < group->guids.count; i++) {
		const struct opensm_range *range = &group->guids.items[i];

		if (range->high - range->low >= GUIDS_MAX)
			return false;
		count += range->high - range->low + (range->low != 0); /* there is no GUID 0 */
	}
	return count > 0 && count <= GUIDS_MAX;
}

bool import_port_sayable(const struct opensm_file_group *group, size_t number)
{
	const struct opensm_name *port = &group->ports.items[number];
	size_t size = (size_t)(strrchr(port->text, '/') - port->text);

	if (port->blanks_dropped || size == 0 || size > PATTERN_MAX || number >= PORTS_MAX)
		return false;
	for (size_t at = 0, length; at < size; at += length) {
		length = text_char(port->text + at, size - at);
		if (length == 0)
			return false;
	}
	return true;
}

/* Whether the policy has something of the group. */
static bool check_group(struct import *import, const struct opensm_file_group *group)
{
	bool some = group->node_types != 0;

	if (import_guids_sayable(group))
		some = true;
	else if (group->guids.count)
		group_lost(import, group, "port-guid", "more than 4096 GUIDs, or none but 0");
	for (size_t i = 0; i < group->ports.count; i++) {
		const struct opensm_name *port = &group->ports.items[i];
		struct finding *f;

		if (!import_port_sayable(group, i)) {
			group_lost(import, group, port->text,
				   port->blanks_dropped ? "OpenSM dropped its blanks, so it matches nothing"
							: "no name that a policy takes");
			continue;
		}
		f = import_tell(import, FINDING_IMPORT_CHANGED, import->files->policy_path, port->mark);
		finding_set(&f->what, "port-name");
		finding_set(&f->wanted, "%.64s", port->text);
		finding_set(&f->detail, "a policy names nodes: all ports of this one are in the group");
		some = true;
	}
	if (group->self)
		group_lost(import, group, "SELF", "name the node");
	if (group->pkeys.count || group->partitions.count)
		group_lost(import, group, "members of partitions", "name the nodes");
	return some;
}

int import_groups(struct import *import)
{
	const struct opensm_policy_file *policy = import->files->policy;
	size_t count = policy ? policy->group_count : 0;

	import->groups = calloc(count + 1, sizeof(*import->groups));
	if (!import->groups)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct opensm_file_group *group = &policy->groups[i];

		if (!check_group(import, group))
			continue;
		import->groups[i].name = import_name(group->name, "group", group_named, import);
		if (!import->groups[i].name)
			return -ENOMEM;
	}
	return 0;
}

/* --- rules --- */

static void rule_free(struct import_rule *rule)
{
	free(rule->rule.service_ids.items);
	free(rule->rule.qos_classes.items);
	free(rule->sources.items);
	free(rule->destinations.items);
	free(rule->groups);
}

void import_rules_clear(struct import *import)
{
	size_t groups = import->files->policy ? import->files->policy->group_count : 0;

	for (size_t i = 0; i < import->rule_count; i++)
		rule_free(&import->rules[i]);
	free(import->rules);
	for (size_t i = 0; import->groups && i < groups; i++)
		free(import->groups[i].name);
	free(import->groups);
}

static struct finding *rule_lost(struct import *import, const struct opensm_file_rule *rule, const char *what,
				 const char *detail)
{
	struct finding *f = import_tell(import, FINDING_IMPORT_LEFT_OUT, import->files->policy_path, rule->mark);

	finding_set(&f->what, "rule%s%.64s", rule->level_name ? " of qos-level " : "",
		    rule->level_name ? rule->level_name : "");
	finding_set(&f->got, "%s", what);
	finding_set(&f->detail, "%s", detail);
	return f;
}

/* The names of the groups that the policy has. False: out of memory. */
static bool take_groups(struct import *import, const struct opensm_names *names, struct policy_texts *texts,
			size_t *indexes, size_t *count)
{
	*count = 0;
	texts->items = calloc(names->count + 1, sizeof(*texts->items));
	if (!texts->items)
		return false;
	for (size_t i = 0; i < names->count; i++) {
		size_t index = names->items[i].index;

		if (!import->groups[index].name)
			continue;
		texts->items[texts->count++].text = import->groups[index].name; /* borrowed */
		indexes[(*count)++] = index;
	}
	return true;
}

/* What is left of the QoS classes once those that an earlier rule has by them alone are taken away. */
static bool classes_left(const struct import *import, const struct import_rule *rule, bool left[QOS_CLASS_MAX + 1])
{
	bool any = false;

	for (size_t i = 0; i < rule->rule.qos_classes.count; i++)
		for (uint64_t c = rule->rule.qos_classes.items[i].low; c <= rule->rule.qos_classes.items[i].high; c++)
			left[c] = true;
	for (size_t i = 0; i < import->rule_count; i++) {
		const struct policy_rule *first = &import->rules[i].rule;

		if (!first->qos_classes.count || first->service_ids.count || first->pkey || first->sources ||
		    first->destinations)
			continue;
		for (size_t n = 0; n < first->qos_classes.count; n++)
			for (uint64_t c = first->qos_classes.items[n].low; c <= first->qos_classes.items[n].high; c++)
				left[c] = false;
	}
	for (size_t c = 0; c <= QOS_CLASS_MAX; c++)
		any |= left[c];
	return any;
}

/* 1: there are some; 0: none that an earlier rule has not. */
static int narrow_classes(const struct import *import, struct import_rule *rule)
{
	bool left[QOS_CLASS_MAX + 1] = {false};
	struct policy_ranges *ranges = &rule->rule.qos_classes;

	if (!classes_left(import, rule, left))
		return 0;
	ranges->count = 0;
	for (unsigned c = 0; c <= QOS_CLASS_MAX; c++) {
		unsigned from = c;
		int r;

		if (!left[c])
			continue;
		while (c < QOS_CLASS_MAX && left[c + 1])
			c++;
		r = ranges_add(ranges, from, c, (struct policy_mark){0, 0});
		if (r < 0)
			return r;
	}
	return 1;
}

static int take_ranges(struct policy_ranges *to, const struct opensm_ranges *from, uint64_t max)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->count; i++) {
		const struct opensm_range *range = &from->items[i];

		if (range->low <= max)
			r = ranges_add(to, range->low, range->high < max ? range->high : max, (struct policy_mark){0, 0});
	}
	return r;
}

/* True if an earlier rule has all its requests: OpenSM never comes to it. */
static bool is_hidden(struct import *import, const struct import_rule *rule, const struct opensm_file_rule *of)
{
	for (size_t i = 0; i < import->rule_count; i++) {
		if (!rule_covers(&import->rules[i].rule, &rule->rule))
			continue;
		rule_lost(import, of, "it matches nothing", "an earlier rule has all its requests")->severity = FINDING_NOTE;
		return true;
	}
	return false;
}

/* Pointers into an array that has grown. */
static void settle(struct import *import)
{
	for (size_t i = 0; i < import->rule_count; i++) {
		struct import_rule *rule = &import->rules[i];

		rule->rule.sources = rule->source_count ? &rule->sources : NULL;
		rule->rule.destinations = rule->destination_count ? &rule->destinations : NULL;
	}
}

static size_t matches_of(const struct import *import, size_t class)
{
	size_t count = 0;

	for (size_t i = 0; i < import->rule_count; i++)
		count += import->rules[i].rule.class == class;
	return count;
}

/* One match of a rule, of one P_Key if it has any. */
static int add_rule(struct import *import, const struct opensm_file_rule *of, unsigned pkey)
{
	struct import_rule *rules = array_grow(import->rules, &import->rule_room, import->rule_count + 1, sizeof(*rules));
	struct import_rule rule = {.mark = of->mark};
	int r;

	if (!rules)
		return -ENOMEM;
	import->rules = rules;
	settle(import);
	rule.rule.class = import->class_of_sl[of->sl];
	rule.rule.pkey = pkey;
	rule.groups = calloc(of->sources.count + of->destinations.count + 1, sizeof(*rule.groups));
	r = rule.groups ? take_ranges(&rule.rule.service_ids, &of->service_ids, UINT64_MAX) : -ENOMEM;
	if (r == 0)
		r = take_ranges(&rule.rule.qos_classes, &of->qos_classes, QOS_CLASS_MAX);
	if (r == 0 && (!take_groups(import, &of->sources, &rule.sources, rule.groups, &rule.source_count) ||
		       !take_groups(import, &of->destinations, &rule.destinations, rule.groups + rule.source_count,
				    &rule.destination_count)))
		r = -ENOMEM;
	if (r == 0 && of->qos_classes.count && !of->service_ids.count && !pkey && !of->sources.count &&
	    !of->destinations.count) {
		r = narrow_classes(import, &rule);
		if (r == 0)
			rule_lost(import, of, "it matches nothing", "earlier rules have all its QoS classes")->severity =
				FINDING_NOTE;
		r = r == 0 ? 1 : r == 1 ? 0 : r; /* 1: nothing to add */
	}
	rules[import->rule_count] = rule;
	if (r == 0) {
		struct import_rule *kept = &rules[import->rule_count];

		kept->rule.sources = kept->source_count ? &kept->sources : NULL;
		kept->rule.destinations = kept->destination_count ? &kept->destinations : NULL;
		if (is_hidden(import, kept, of))
			r = 1;
		else if (matches_of(import, kept->rule.class) == MATCHES_MAX) {
			rule_lost(import, of, "one match too many", "a class has at most 64");
			r = 1;
		}
	}
	if (r == 0) {
		for (size_t i = 0; i < rule.source_count + rule.destination_count; i++)
			import->groups[rule.groups[i]].used = true;
		import->rule_count++;
	} else {
		rule_free(&rule);
	}
	return r < 0 ? r : 0;
}

static uint64_t count_pkeys(const struct opensm_file_rule *rule)
{
	uint64_t count = 0;

	for (size_t i = 0; i < rule->pkeys.count; i++)
		count += rule->pkeys.items[i].high - rule->pkeys.items[i].low + 1;
	return count;
}

/* Whether a policy can say the rule; what it can say in part is told. */
static bool sayable(struct import *import, const struct opensm_file_rule *rule)
{
	const struct opensm_names *ends[] = {&rule->sources, &rule->destinations};

	if (rule->sl >= QOS_SLS || import->class_of_sl[rule->sl] == OPENSM_NONE) {
		rule_lost(import, rule, "an SL by which OpenSM finds no path", "requests that it matches got no path");
		return false;
	}
	if (rule->qos_classes.count && rule->qos_classes.items[0].low > QOS_CLASS_MAX) {
		rule_lost(import, rule, "QoS classes above 255", "rdma_cm sends none of these");
		return false;
	}
	if (rule->qos_classes.count && rule->qos_classes.items[rule->qos_classes.count - 1].high > QOS_CLASS_MAX)
		rule_lost(import, rule, "QoS classes above 255", "those below are kept");
	if (rule->qos_classes.count > RANGES_MAX || rule->service_ids.count > RANGES_MAX) {
		rule_lost(import, rule, "long lists", "of more than 32 ranges");
		return false;
	}
	if (count_pkeys(rule) > PKEYS_MAX) {
		rule_lost(import, rule, "pkey", "more than 64 partition keys");
		return false;
	}
	for (size_t e = 0; e < 2; e++) {
		size_t known = 0;

		for (size_t i = 0; i < ends[e]->count; i++)
			known += import->groups[ends[e]->items[i].index].name != NULL;
		if (ends[e]->count && known == 0) {
			rule_lost(import, rule, e ? "destination" : "source", "nothing of its groups can be said");
			return false;
		}
		if (known > RANGES_MAX) {
			rule_lost(import, rule, e ? "destination" : "source", "more than 32 groups");
			return false;
		}
	}
	return true;
}

static int take_rule(struct import *import, const struct opensm_file_rule *rule)
{
	int r = 0;

	if (!sayable(import, rule))
		return 0;
	if (!rule->pkeys.count)
		return add_rule(import, rule, 0);
	for (size_t i = 0; i < rule->pkeys.count; i++) {
		for (uint64_t pkey = rule->pkeys.items[i].low; r == 0 && pkey <= rule->pkeys.items[i].high; pkey++) {
			if (pkey == 0)
				rule_lost(import, rule, "pkey 0", "there is no such partition")->severity = FINDING_NOTE;
			else
				r = add_rule(import, rule, (unsigned)pkey);
		}
	}
	return r;
}

int import_rules(struct import *import)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < import->rules_tried; i++)
		r = take_rule(import, &import->files->policy->rules[i]);
	return r;
}

/* --- order --- */

static const struct opensm_file_group *group_of(const struct import *import, const char *name)
{
	for (size_t i = 0; i < import->files->policy->group_count; i++)
		if (import->groups[i].name && strcmp(import->groups[i].name, name) == 0)
			return &import->files->policy->groups[i];
	return NULL;
}

static bool guids_meet(const struct opensm_ranges *a, const struct opensm_ranges *b)
{
	for (size_t i = 0; i < a->count; i++)
		for (size_t n = 0; n < b->count; n++)
			if (a->items[i].low <= b->items[n].high && b->items[n].low <= a->items[i].high)
				return true;
	return false;
}

/* Whether two lists of groups may have a port in common: for sure not only if all is said by GUID. */
static bool groups_meet(void *arg, const struct policy_texts *a, const struct policy_texts *b)
{
	const struct import *import = arg;

	for (size_t i = 0; i < a->count; i++) {
		for (size_t n = 0; n < b->count; n++) {
			const struct opensm_file_group *x = group_of(import, a->items[i].text);
			const struct opensm_file_group *y = group_of(import, b->items[n].text);

			if (!x || !y || x->ports.count || x->node_types || y->ports.count || y->node_types ||
			    guids_meet(&x->guids, &y->guids))
				return true;
		}
	}
	return false;
}

static bool meet(struct import *import, size_t i, size_t n)
{
	bool shared;

	return import->rules[i].rule.class != import->rules[n].rule.class &&
	       rule_meets(&import->rules[i].rule, &import->rules[n].rule, groups_meet, import, &shared);
}

/* The class without a place that has the fewest classes to wait for, and of these the first. */
static size_t next_class(bool before[QOS_SLS][QOS_SLS], const bool *placed, size_t count)
{
	size_t best = count, fewest = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		size_t waits = 0;

		for (size_t n = 0; n < count; n++)
			waits += before[n][i] && !placed[n];
		if (!placed[i] && waits < fewest) {
			fewest = waits;
			best = i;
		}
	}
	return best;
}

static void tell_order(struct import *import, size_t i, size_t n)
{
	struct finding *f =
		import_tell(import, FINDING_IMPORT_ORDER, import->files->policy_path, import->rules[n].mark);
	char *text = policy_rule_text(&import->rules[n].rule);

	finding_set(&f->what, "rule");
	finding_set(&f->got, "%s", text ? text : "");
	finding_set(&f->detail, "it now comes before that of line %u", import->rules[i].mark.line);
	free(text);
}

void import_order(struct import *import)
{
	bool before[QOS_SLS][QOS_SLS] = {{false}}, placed[QOS_SLS] = {false};
	const struct import_class *classes = import->classes;

	for (size_t i = 0; i < import->rule_count; i++)
		for (size_t n = i + 1; n < import->rule_count; n++)
			if (meet(import, i, n))
				before[import->rules[i].rule.class][import->rules[n].rule.class] = true;
	for (unsigned place = 0; place < import->class_count; place++) {
		size_t class = next_class(before, placed, import->class_count);

		placed[class] = true;
		import->classes[class].order = place;
	}
	for (size_t i = 0; i < import->rule_count; i++)
		for (size_t n = i + 1; n < import->rule_count; n++)
			if (classes[import->rules[n].rule.class].order < classes[import->rules[i].rule.class].order &&
			    meet(import, i, n))
				tell_order(import, i, n);
}
