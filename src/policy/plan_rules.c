/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The rules' side of a plan: groups of ports as this fabric has them, and the text of OpenSM's
 * qos-policy file.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plan.h"
#include "read.h"

#define DEFAULT_LEVEL "default" /* the name that OpenSM falls back to (osm_qos_policy.c) */

/* A group of the policy in this fabric. */
struct members {
	uint64_t *guids; /* of ports, ascending */
	size_t count, room;
	bool used;  /* a rule names it */
	char *name; /* in OpenSM's file */
};

struct making {
	const struct policy *policy;
	const struct fabric *fabric;
	struct finding_list *findings;
	struct policy_rule *rules;
	size_t rule_count;
	struct members *groups; /* as policy->groups */
	char **level_names;	/* as policy->classes */
};

/* --- names --- */

static bool name_taken(char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (names[i] && strcasecmp(names[i], name) == 0)
			return true;
	return false;
}

/* A policy's name as OpenSM's parser takes it, case-blind unique; NULL: out of memory. */
static char *opensm_name(const char *policy_name, char *const *names, size_t count)
{
	char *base = strdup(policy_name), *name = NULL;

	if (!base)
		return NULL;
	for (char *c = base; *c; c++)
		if (*c == '-')
			*c = '_';
	if (!name_taken(names, count, base))
		return base;
	for (unsigned n = 2;; n++) {
		if (asprintf(&name, "%s_%u", base, n) < 0) {
			name = NULL;
			break;
		}
		if (!name_taken(names, count, name))
			break;
		free(name);
	}
	free(base);
	return name;
}

static int name_levels(struct making *m)
{
	const struct policy *policy = m->policy;

	m->level_names[policy->default_class] = strdup(DEFAULT_LEVEL);
	for (size_t i = 0; i < policy->class_count; i++) {
		if (i != policy->default_class)
			m->level_names[i] = opensm_name(policy->classes[i].name, m->level_names, policy->class_count);
		if (!m->level_names[i])
			return -ENOMEM;
	}
	return 0;
}

static int name_groups(struct making *m)
{
	size_t count = m->policy->group_count;
	char **names = calloc(count + 1, sizeof(*names));
	int r = names ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < count; i++) {
		names[i] = opensm_name(m->policy->groups[i].name, names, i);
		m->groups[i].name = names[i];
		r = names[i] ? 0 : -ENOMEM;
	}
	free(names);
	return r;
}

/* --- groups in the fabric --- */

static bool item_has(const struct policy_group_item *item, const struct fabric_node *node, uint64_t port_guid)
{
	bool named = item->names.count == 0, known = item->guids.count == 0;

	if (item->node_types && !(item->node_types >> node->type & 1))
		return false;
	for (size_t i = 0; !known && i < item->guids.count; i++)
		known = item->guids.items[i].low == port_guid || item->guids.items[i].low == node->guid;
	for (size_t i = 0; known && !named && i < item->names.count; i++)
		named = node->name && fnmatch(item->names.items[i].text, node->name, 0) == 0;
	return named && known;
}

bool policy_group_has(const struct policy_group *group, const struct fabric_node *node, uint64_t port_guid)
{
	for (size_t i = 0; i < group->item_count; i++)
		if (item_has(&group->items[i], node, port_guid))
			return true;
	return false;
}

static int add_member(struct members *members, uint64_t guid)
{
	uint64_t *guids = array_grow(members->guids, &members->room, members->count + 1, sizeof(*guids));

	if (!guids)
		return -ENOMEM;
	members->guids = guids;
	guids[members->count++] = guid;
	return 0;
}

static int compare_guids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* OpenSM knows a switch by its port 0, whose GUID is the switch's; of others each port has its own. */
static int find_members(const struct policy_group *group, const struct fabric *fabric, struct members *members)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < fabric->node_count; i++) {
		const struct fabric_node *node = &fabric->nodes[i];

		if (node->type == FABRIC_SWITCH) {
			if (policy_group_has(group, node, node->guid))
				r = add_member(members, node->guid);
			continue;
		}
		for (unsigned n = 1; r == 0 && n <= node->ports; n++) {
			uint64_t guid = fabric->ports[node->first_port + n].guid;

			if (guid && policy_group_has(group, node, guid))
				r = add_member(members, guid);
		}
	}
	if (members->count)
		qsort(members->guids, members->count, sizeof(*members->guids), compare_guids);
	return r;
}

static size_t group_index(const struct policy *policy, const char *name)
{
	return (size_t)(policy_find_group(policy, name) - policy->groups);
}

static void mark_used(struct making *m, const struct policy_texts *names)
{
	for (size_t i = 0; names && i < names->count; i++)
		m->groups[group_index(m->policy, names->items[i].text)].used = true;
}

static int resolve_groups(struct making *m)
{
	int r = 0;

	for (size_t i = 0; i < m->rule_count; i++) {
		mark_used(m, m->rules[i].sources);
		mark_used(m, m->rules[i].destinations);
	}
	for (size_t i = 0; r == 0 && i < m->policy->group_count; i++) {
		const struct policy_group *group = &m->policy->groups[i];
		struct finding *f;

		if (!m->groups[i].used)
			continue;
		r = find_members(group, m->fabric, &m->groups[i]);
		if (r < 0 || m->groups[i].count)
			continue;
		f = finding_add(m->findings, FINDING_PLAN_GROUP_EMPTY);
		finding_at(f, m->policy->path, group->mark.line, group->mark.column);
		finding_set(&f->what, "group '%s'", group->name);
	}
	return r;
}

/* --- rules that meet in this fabric only --- */

static bool members_meet(const struct members *a, const struct members *b)
{
	for (size_t i = 0, n = 0; i < a->count && n < b->count;) {
		if (a->guids[i] == b->guids[n])
			return true;
		if (a->guids[i] < b->guids[n])
			i++;
		else
			n++;
	}
	return false;
}

static bool groups_meet(void *arg, const struct policy_texts *a, const struct policy_texts *b)
{
	const struct making *m = arg;

	for (size_t i = 0; i < a->count; i++)
		for (size_t n = 0; n < b->count; n++)
			if (members_meet(&m->groups[group_index(m->policy, a->items[i].text)],
					 &m->groups[group_index(m->policy, b->items[n].text)]))
				return true;
	return false;
}

/* Overlaps that could not be seen without the fabric: of groups with other names. */
static void check_overlap(struct making *m, size_t number)
{
	const struct policy_rule *rule = &m->rules[number];

	for (size_t i = 0; i < number; i++) {
		const struct policy_rule *first = &m->rules[i];
		struct finding *f;
		bool shared;
		char *text;

		if (first->class == rule->class || !(first->sources || first->destinations) ||
		    rule_meets(first, rule, NULL, NULL, &shared) || !rule_meets(first, rule, groups_meet, m, &shared))
			continue;
		f = finding_add(m->findings, FINDING_POLICY_MATCH_OVERLAP);
		finding_at(f, m->policy->path, rule->mark.line, rule->mark.column);
		finding_set(&f->what, "match of class '%s'", m->policy->classes[rule->class].name);
		text = policy_rule_text(first);
		finding_set(&f->detail, "class '%s' in line %u comes first: %s; the groups have ports in common here",
			    m->policy->classes[first->class].name, first->mark.line, text ? text : "");
		free(text);
		return;
	}
}

/* --- OpenSM's rules --- */

/* The lists that a rule of OpenSM points to. */
struct lists {
	struct opensm_range *ranges;
	const char **names;
};

static size_t put_ranges(struct opensm_range *to, const struct policy_ranges *from)
{
	for (size_t i = 0; i < from->count; i++)
		to[i] = (struct opensm_range){from->items[i].low, from->items[i].high};
	return from->count;
}

/* Names of the groups that have ports. */
static size_t put_names(const struct making *m, const char **to, const struct policy_texts *from)
{
	size_t count = 0;

	for (size_t i = 0; from && i < from->count; i++) {
		const struct members *members = &m->groups[group_index(m->policy, from->items[i].text)];

		if (members->count)
			to[count++] = members->name;
	}
	return count;
}

/* False: it names groups, but none with a port, so nothing would match; without them anything would. -ENOMEM too. */
static int put_rule(const struct making *m, const struct policy_rule *rule, struct opensm_rule *to, struct lists *lists)
{
	size_t sources = rule->sources ? rule->sources->count : 0;
	size_t destinations = rule->destinations ? rule->destinations->count : 0;
	struct opensm_range *ranges =
		calloc(rule->qos_classes.count + rule->service_ids.count + 1, sizeof(*ranges));
	const char **names = calloc(sources + destinations + 1, sizeof(*names));

	*lists = (struct lists){ranges, names};
	if (!ranges || !names)
		return -ENOMEM;
	*to = (struct opensm_rule){.level = m->level_names[rule->class]};
	to->qos_classes = ranges;
	to->qos_class_count = put_ranges(ranges, &rule->qos_classes);
	ranges += to->qos_class_count;
	to->service_ids = ranges;
	to->service_id_count = put_ranges(ranges, &rule->service_ids);
	ranges += to->service_id_count;
	to->pkeys = ranges;
	to->pkey_count = rule->pkey ? 1 : 0;
	*ranges = (struct opensm_range){rule->pkey, rule->pkey};
	to->sources = names;
	to->source_count = put_names(m, names, rule->sources);
	names += to->source_count;
	to->destinations = names;
	to->destination_count = put_names(m, names, rule->destinations);
	return (!sources || to->source_count) && (!destinations || to->destination_count);
}

static void put_levels(const struct making *m, struct opensm_level *levels)
{
	for (size_t i = 0; i < m->policy->class_count; i++)
		levels[i] = (struct opensm_level){m->level_names[i], m->policy->classes[i].sl};
}

static size_t put_groups(const struct making *m, struct opensm_group *groups)
{
	size_t count = 0;

	for (size_t i = 0; i < m->policy->group_count; i++)
		if (m->groups[i].count)
			groups[count++] = (struct opensm_group){m->groups[i].name, m->groups[i].guids, m->groups[i].count};
	return count;
}

static int render(const struct making *m, struct plan *plan)
{
	struct opensm_level *levels = calloc(m->policy->class_count, sizeof(*levels));
	struct opensm_group *groups = calloc(m->policy->group_count + 1, sizeof(*groups));
	struct opensm_rule *rules = calloc(m->rule_count + 1, sizeof(*rules));
	struct lists *lists = calloc(m->rule_count + 1, sizeof(*lists));
	struct opensm_policy out = {.levels = levels, .level_count = m->policy->class_count, .groups = groups, .rules = rules};
	int r = levels && groups && rules && lists ? 0 : -ENOMEM;

	for (size_t i = 0; r >= 0 && i < m->rule_count; i++) {
		r = put_rule(m, &m->rules[i], &rules[out.rule_count], &lists[i]);
		out.rule_count += r == 1;
	}
	if (r >= 0) {
		put_levels(m, levels);
		out.group_count = put_groups(m, groups);
		r = opensm_policy_render(&out, &plan->rules_new, &plan->rules_new_size);
	}
	for (size_t i = 0; lists && i < m->rule_count; i++) {
		free(lists[i].ranges);
		free(lists[i].names);
	}
	free(lists);
	free(rules);
	free(groups);
	free(levels);
	return r;
}

int plan_rules(const struct policy *policy, const struct fabric *fabric, struct plan *plan,
	       struct finding_list *findings)
{
	struct making m = {.policy = policy, .fabric = fabric, .findings = findings};
	int r = policy_rules(policy, &m.rules, &m.rule_count);

	m.groups = calloc(policy->group_count + 1, sizeof(*m.groups));
	m.level_names = calloc(policy->class_count, sizeof(*m.level_names));
	if (r == 0 && (!m.groups || !m.level_names))
		r = -ENOMEM;
	if (r == 0)
		r = name_levels(&m);
	if (r == 0)
		r = name_groups(&m);
	if (r == 0)
		r = resolve_groups(&m);
	if (r == 0) {
		for (size_t i = 1; i < m.rule_count; i++)
			check_overlap(&m, i);
		r = render(&m, plan);
	}
	for (size_t i = 0; m.groups && i < policy->group_count; i++) {
		free(m.groups[i].guids);
		free(m.groups[i].name);
	}
	for (size_t i = 0; m.level_names && i < policy->class_count; i++)
		free(m.level_names[i]);
	free(m.groups);
	free(m.level_names);
	policy_rules_free(m.rules, m.rule_count);
	return r;
}
