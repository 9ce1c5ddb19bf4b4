/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A qos-policy file whose sections have been read: names resolved, what they lack, and what the rules do
 * (osm_qos_policy.c: osm_qos_policy_validate).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "policy_file.h"

#define DEFAULT_LEVEL "default" /* OSM_QOS_POLICY_DEFAULT_LEVEL_NAME */
#define QOS_CLASS_MAX 0xfff	/* the field of a path record has 12 bits */

static size_t find_level(const struct opensm_policy_file *file, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(file->levels[i].name, name) == 0)
			return i;
	return OPENSM_NONE;
}

static size_t find_group(const struct opensm_policy_file *file, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(file->groups[i].name, name) == 0)
			return i;
	return OPENSM_NONE;
}

static void name_twice(struct policy_parser *p, const char *what, const char *name, struct opensm_mark mark,
		       struct opensm_mark first)
{
	struct finding *f = parser_tell(p, FINDING_OPENSM_NAME_TWICE, mark);

	finding_set(&f->what, "%s", what);
	finding_set(&f->got, "%.64s", name);
	finding_set(&f->detail, "line %u has it", first.line);
}

static void check_names(struct policy_parser *p)
{
	const struct opensm_policy_file *file = p->file;

	for (size_t i = 1; i < file->level_count; i++) {
		size_t first = find_level(file, i, file->levels[i].name);

		if (first != OPENSM_NONE)
			name_twice(p, "qos-level", file->levels[i].name, file->levels[i].mark, file->levels[first].mark);
	}
	for (size_t i = 1; i < file->group_count; i++) {
		size_t first = file->groups[i].made ? OPENSM_NONE : find_group(file, i, file->groups[i].name);

		if (first != OPENSM_NONE)
			name_twice(p, "port-group", file->groups[i].name, file->groups[i].mark, file->groups[first].mark);
	}
}

static bool resolve_default(struct policy_parser *p)
{
	struct opensm_policy_file *file = p->file;

	file->default_level = find_level(file, file->level_count, DEFAULT_LEVEL);
	if (file->default_level != OPENSM_NONE) {
		file->default_sl = file->levels[file->default_level].sl;
		file->default_mark = file->levels[file->default_level].sl_mark;
		return true;
	}
	if (!p->ulp_default)
		return parser_refuse(p, p->next.mark, "qos-levels",
				     "no level is named 'default', and qos-ulps has no default");
	file->default_sl = p->ulp_default_sl;
	file->default_mark = p->ulp_default_mark;
	return true;
}

static bool resolve_groups(struct policy_parser *p, struct opensm_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		struct opensm_name *name = &names->items[i];

		if (name->index == OPENSM_NONE)
			name->index = find_group(p->file, p->file->group_count, name->text);
		if (name->index == OPENSM_NONE)
			return parser_refuse(p, name->mark, "qos-match-rule", "there is no port-group '%.64s'", name->text);
	}
	return true;
}

static bool resolve_rule(struct policy_parser *p, struct opensm_file_rule *rule)
{
	if (rule->level_name) {
		rule->level = find_level(p->file, p->file->level_count, rule->level_name);
		if (rule->level == OPENSM_NONE)
			return parser_refuse(p, rule->mark, "qos-match-rule", "there is no qos-level '%.64s'",
					     rule->level_name);
		rule->sl = p->file->levels[rule->level].sl;
	}
	return resolve_groups(p, &rule->sources) && resolve_groups(p, &rule->destinations);
}

static void check_rules(struct policy_parser *p)
{
	const struct opensm_policy_file *file = p->file;

	for (size_t i = 0; i < file->rule_count; i++) {
		const struct opensm_file_rule *rule = &file->rules[i];
		struct finding *f;

		if (rule->qos_classes.count && rule->qos_classes.items[0].low > QOS_CLASS_MAX) {
			f = parser_tell(p, FINDING_OPENSM_RULE_NEVER, rule->mark);
			finding_set(&f->wanted, "a qos-class of 12 bits");
		}
		if (rule->qos_classes.count || rule->service_ids.count || rule->pkeys.count || rule->sources.count ||
		    rule->destinations.count)
			continue;
		f = parser_tell(p, FINDING_OPENSM_RULE_ALL, rule->mark);
		if (i + 1 < file->rule_count)
			finding_set(&f->detail, "the %zu rules behind it are never tried", file->rule_count - i - 1);
	}
}

static void check_level_pkeys(struct policy_parser *p)
{
	for (size_t i = 0; i < p->file->level_count; i++) {
		const struct opensm_file_level *level = &p->file->levels[i];
		struct finding *f;

		if (!level->pkeys.count)
			continue;
		f = parser_tell(p, FINDING_OPENSM_LEVEL_PKEY, level->mark);
		finding_set(&f->what, "qos-level '%.64s'", level->name);
	}
}

static bool append_ulps(struct policy_parser *p)
{
	struct opensm_policy_file *file = p->file;
	struct opensm_file_rule *rules =
		array_grow(file->rules, &file->rule_room, file->rule_count + p->ulp_count + 1, sizeof(*rules));

	if (!rules)
		return parser_no_memory(p);
	file->rules = rules;
	memcpy(rules + file->rule_count, p->ulps, p->ulp_count * sizeof(*rules));
	file->rule_count += p->ulp_count;
	p->ulp_count = 0;
	return true;
}

bool parse_finish(struct policy_parser *p)
{
	if (p->ulp_count && !append_ulps(p))
		return false;
	if (!resolve_default(p))
		return false;
	for (size_t i = 0; i < p->file->rule_count; i++)
		if (!resolve_rule(p, &p->file->rules[i]))
			return false;
	check_names(p);
	check_rules(p);
	check_level_pkeys(p);
	return true;
}

static bool has(const struct opensm_ranges *ranges, uint64_t value)
{
	for (size_t i = 0; i < ranges->count; i++)
		if (value >= ranges->items[i].low && value <= ranges->items[i].high)
			return true;
	return false;
}

unsigned opensm_policy_file_sl(const struct opensm_policy_file *file, unsigned pkey)
{
	for (size_t i = 0; i < file->rule_count; i++) {
		const struct opensm_file_rule *rule = &file->rules[i];

		if (!rule->qos_classes.count && !rule->service_ids.count && !rule->sources.count &&
		    !rule->destinations.count && (!rule->pkeys.count || has(&rule->pkeys, pkey)))
			return rule->sl;
	}
	return file->default_sl;
}
