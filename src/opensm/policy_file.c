/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A qos-policy file as OpenSM's parser takes it (osm_qos_parser_y.y): port groups, levels, match rules.
 * The grammar is one that needs to look at the next word only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy_file.h"

#define MTU_MAX 5   /* IB_MAX_MTU: 4096 bytes */
#define RATE_MIN 2  /* IB_MIN_RATE: 2.5 Gb/s */
#define RATE_MAX 22 /* IB_MAX_RATE: 600 Gb/s; later versions know more */
/* Digits of a port number behind "/P" above which OpenSM reads past the table of a switch's ports. */
#define PORTS_MAX 254

/* --- port groups --- */

struct opensm_file_group *add_group(struct policy_parser *p, struct opensm_mark mark)
{
	struct opensm_policy_file *file = p->file;
	struct opensm_file_group *groups =
		array_grow(file->groups, &file->group_room, file->group_count + 1, sizeof(*groups));

	if (!groups) {
		parser_no_memory(p);
		return NULL;
	}
	file->groups = groups;
	groups[file->group_count].mark = mark;
	return &groups[file->group_count++];
}

/* A value that may be given once; *given is set. */
static bool parse_once(struct policy_parser *p, const char *what, bool *given, struct opensm_name *name)
{
	struct opensm_mark mark = p->next.mark;

	if (!parse_text(p, name))
		return false;
	if (*given) {
		free(name->text);
		name->text = NULL;
		return parser_refuse(p, mark, what, "given more than once");
	}
	*given = true;
	return true;
}

static bool parse_use(struct policy_parser *p, bool *given)
{
	struct opensm_name name;

	if (!parse_once(p, "use", given, &name))
		return false;
	free(name.text);
	return true;
}

static bool parse_name(struct policy_parser *p, const char *what, bool *given, char **text)
{
	struct opensm_name name;

	if (!parse_once(p, what, given, &name))
		return false;
	*text = name.text;
	return true;
}

/* "node/P1", with the last slash before the port (osm_qos_parser_y.y: port_group_port_name). */
static bool check_port_name(struct policy_parser *p, const struct opensm_name *name)
{
	const char *slash = strrchr(name->text, '/');
	unsigned number;
	struct finding *f;

	if (!slash || strlen(slash) < 3 || (slash[1] != 'p' && slash[1] != 'P'))
		return parser_refuse(p, name->mark, "port-name", "'%.64s' is not a node's name, '/P' and a port number",
				     name->text);
	number = (unsigned)strtoul(slash + 2, NULL, 0);
	if (number == 0)
		return parser_refuse(p, name->mark, "port-name", "'%.64s' has no port number behind '/P'", name->text);
	if (name->blanks_dropped) {
		f = parser_tell(p, FINDING_OPENSM_NAME_NEVER, name->mark);
		finding_set(&f->what, "port-name");
		finding_set(&f->got, "%.64s", name->text);
		finding_set(&f->detail, "OpenSM drops blanks outside of quotes");
	}
	f = parser_tell(p, number > PORTS_MAX ? FINDING_OPENSM_RULES_UNSAFE : FINDING_OPENSM_RULES_RISK, name->mark);
	finding_set(&f->what, "port-name");
	finding_set(&f->got, "port %u", number);
	finding_set(&f->detail, number > PORTS_MAX ? "where a node has this name OpenSM reads past its ports"
						   : "where a node of this name has no such port");
	return true;
}

static bool parse_port_names(struct policy_parser *p, struct opensm_file_group *group)
{
	size_t first = group->ports.count;

	if (!parse_names(p, &group->ports))
		return false;
	for (size_t i = first; i < group->ports.count; i++)
		if (!check_port_name(p, &group->ports.items[i]))
			return false;
	return true;
}

static bool parse_node_types(struct policy_parser *p, struct opensm_file_group *group)
{
	do {
		if (parser_take(p, LEX_NODE_CA))
			group->node_types |= OPENSM_NODE_CA;
		else if (parser_take(p, LEX_NODE_SWITCH))
			group->node_types |= OPENSM_NODE_SWITCH;
		else if (parser_take(p, LEX_NODE_ROUTER))
			group->node_types |= OPENSM_NODE_ROUTER;
		else if (parser_take(p, LEX_NODE_ALL))
			group->node_types |= OPENSM_NODE_CA | OPENSM_NODE_SWITCH | OPENSM_NODE_ROUTER;
		else if (parser_take(p, LEX_NODE_SELF))
			group->self = true;
		else
			return parser_syntax(p, "CA, SWITCH, ROUTER, SELF or ALL");
	} while (parser_take(p, LEX_COMMA));
	return true;
}

struct once { /* keys of one item that may be given once */
	bool name, use, sl, mtu, rate, life;
};

static bool parse_group_key(struct policy_parser *p, struct opensm_file_group *group, struct once *once)
{
	if (parser_take(p, LEX_NAME))
		return parse_name(p, "name", &once->name, &group->name);
	if (parser_take(p, LEX_USE))
		return parse_use(p, &once->use);
	if (parser_take(p, LEX_PORT_GUID))
		return parse_guids(p, &group->guids);
	if (parser_take(p, LEX_PORT_NAME))
		return parse_port_names(p, group);
	if (parser_take(p, LEX_PKEY))
		return parse_pkeys(p, &group->pkeys);
	if (parser_take(p, LEX_PARTITION))
		return parse_names(p, &group->partitions);
	if (parser_take(p, LEX_NODE_TYPE))
		return parse_node_types(p, group);
	return parser_syntax(p, "a key of a port-group or 'end-port-group'");
}

static bool parse_group(struct policy_parser *p, struct opensm_mark mark)
{
	struct opensm_file_group *group = add_group(p, mark);
	struct once once = {false};
	struct opensm_mark end;

	if (!group)
		return false;
	for (;;) {
		end = p->next.mark;
		if (parser_take(p, LEX_END_PORT_GROUP))
			break;
		if (!parse_group_key(p, group, &once))
			return false;
	}
	return group->name || parser_refuse(p, end, "port-group", "it has no name");
}

static bool parse_groups(struct policy_parser *p)
{
	struct opensm_mark mark = p->next.mark;

	if (p->next.kind != LEX_PORT_GROUP) /* one at least */
		return parser_syntax(p, lex_kind_name(LEX_PORT_GROUP));
	while (parser_take(p, LEX_PORT_GROUP)) {
		if (!parse_group(p, mark))
			return false;
		mark = p->next.mark;
	}
	return parser_expect(p, LEX_END_PORT_GROUPS);
}

/* --- levels --- */

static bool parse_number_once(struct policy_parser *p, const char *what, bool *given, uint64_t *value)
{
	struct opensm_mark mark = p->next.mark;

	if (!parse_number(p, value))
		return false;
	if (*given)
		return parser_refuse(p, mark, what, "given more than once");
	*given = true;
	return true;
}

/* OpenSM keeps 8 bits and looks no further; requests that get such a level find no path. */
static bool parse_level_sl(struct policy_parser *p, struct opensm_file_level *level, bool *given)
{
	uint64_t value;
	struct finding *f;

	level->sl_mark = p->next.mark;
	if (!parse_number_once(p, "sl", given, &value))
		return false;
	level->sl = (uint8_t)value;
	if (value < QOS_SLS)
		return true;
	f = parser_tell(p, level->sl < QOS_SLS ? FINDING_OPENSM_VALUE_DOUBTFUL : FINDING_OPENSM_LEVEL_SL, level->sl_mark);
	finding_set(&f->what, "sl");
	finding_set(&f->wanted, "0 to 15");
	finding_set(&f->got, "%ju", (uintmax_t)value);
	finding_set(&f->detail, "OpenSM reads %u", level->sl);
	return true;
}

static bool parse_limit(struct policy_parser *p, const char *what, bool *given, uint64_t low, uint64_t high,
			unsigned *limit)
{
	struct opensm_mark mark = p->next.mark;
	uint64_t value;

	if (!parse_number_once(p, what, given, &value))
		return false;
	if (value < low || value > high)
		return parser_refuse(p, mark, what, "out of range: a code %ju to %ju", (uintmax_t)low, (uintmax_t)high);
	*limit = (unsigned)value;
	return true;
}

static bool parse_life(struct policy_parser *p, struct opensm_file_level *level, bool *given)
{
	uint64_t value;

	if (!parse_number_once(p, "packet-life", given, &value))
		return false;
	level->life_set = true;
	level->life = (uint8_t)value;
	return true;
}

static bool parse_path_bits(struct policy_parser *p, struct opensm_file_level *level)
{
	finding_set(&parser_tell(p, FINDING_OPENSM_KEY_UNUSED, p->next.mark)->what, "path-bits");
	return parse_ranges(p, &level->path_bits);
}

static bool parse_level_key(struct policy_parser *p, struct opensm_file_level *level, struct once *once)
{
	if (parser_take(p, LEX_NAME))
		return parse_name(p, "name", &once->name, &level->name);
	if (parser_take(p, LEX_USE))
		return parse_use(p, &once->use);
	if (parser_take(p, LEX_SL))
		return parse_level_sl(p, level, &once->sl);
	if (parser_take(p, LEX_MTU_LIMIT))
		return parse_limit(p, "mtu-limit", &once->mtu, 1, MTU_MAX, &level->mtu);
	if (parser_take(p, LEX_RATE_LIMIT))
		return parse_limit(p, "rate-limit", &once->rate, RATE_MIN, RATE_MAX, &level->rate);
	if (parser_take(p, LEX_PACKET_LIFE))
		return parse_life(p, level, &once->life);
	if (parser_take(p, LEX_PATH_BITS))
		return parse_path_bits(p, level);
	if (parser_take(p, LEX_PKEY))
		return parse_pkeys(p, &level->pkeys);
	return parser_syntax(p, "a key of a qos-level or 'end-qos-level'");
}

static bool parse_level(struct policy_parser *p, struct opensm_mark mark)
{
	struct opensm_policy_file *file = p->file;
	struct opensm_file_level *levels =
		array_grow(file->levels, &file->level_room, file->level_count + 1, sizeof(*levels));
	struct opensm_file_level *level;
	struct once once = {false};
	struct opensm_mark end;

	if (!levels)
		return parser_no_memory(p);
	file->levels = levels;
	level = &levels[file->level_count++];
	level->mark = mark;
	for (;;) {
		end = p->next.mark;
		if (parser_take(p, LEX_END_QOS_LEVEL))
			break;
		if (!parse_level_key(p, level, &once))
			return false;
	}
	if (!once.sl)
		return parser_refuse(p, end, "qos-level", "it has no sl");
	return level->name || parser_refuse(p, end, "qos-level", "it has no name");
}

static bool parse_levels(struct policy_parser *p)
{
	struct opensm_mark mark = p->next.mark;

	while (parser_take(p, LEX_QOS_LEVEL)) {
		if (!parse_level(p, mark))
			return false;
		mark = p->next.mark;
	}
	return parser_expect(p, LEX_END_QOS_LEVELS);
}

/* --- match rules --- */

void rule_clear(struct opensm_file_rule *rule)
{
	free(rule->level_name);
	free(rule->qos_classes.items);
	free(rule->service_ids.items);
	free(rule->pkeys.items);
	names_free(&rule->sources);
	names_free(&rule->destinations);
}

static bool parse_rule_key(struct policy_parser *p, struct opensm_file_rule *rule, struct once *once)
{
	if (parser_take(p, LEX_USE))
		return parse_use(p, &once->use);
	if (parser_take(p, LEX_QOS_CLASS))
		return parse_ranges(p, &rule->qos_classes);
	if (parser_take(p, LEX_QOS_LEVEL_NAME))
		return parse_name(p, "qos-level-name", &once->name, &rule->level_name);
	if (parser_take(p, LEX_SOURCE))
		return parse_names(p, &rule->sources);
	if (parser_take(p, LEX_DESTINATION))
		return parse_names(p, &rule->destinations);
	if (parser_take(p, LEX_SERVICE_ID))
		return parse_ranges(p, &rule->service_ids);
	if (parser_take(p, LEX_PKEY))
		return parse_pkeys(p, &rule->pkeys);
	return parser_syntax(p, "a key of a qos-match-rule or 'end-qos-match-rule'");
}

static bool parse_rule(struct policy_parser *p, struct opensm_mark mark)
{
	struct opensm_policy_file *file = p->file;
	struct opensm_file_rule *rules = array_grow(file->rules, &file->rule_room, file->rule_count + 1, sizeof(*rules));
	struct opensm_file_rule *rule;
	struct once once = {false};
	struct opensm_mark end;

	if (!rules)
		return parser_no_memory(p);
	file->rules = rules;
	rule = &rules[file->rule_count++];
	*rule = (struct opensm_file_rule){.level = OPENSM_NONE, .mark = mark};
	for (;;) {
		end = p->next.mark;
		if (parser_take(p, LEX_END_QOS_MATCH_RULE))
			break;
		if (!parse_rule_key(p, rule, &once))
			return false;
	}
	return rule->level_name || parser_refuse(p, end, "qos-match-rule", "it has no qos-level-name");
}

static bool parse_rules(struct policy_parser *p)
{
	struct opensm_mark mark = p->next.mark;

	while (parser_take(p, LEX_QOS_MATCH_RULE)) {
		if (!parse_rule(p, mark))
			return false;
		mark = p->next.mark;
	}
	return parser_expect(p, LEX_END_QOS_MATCH_RULES);
}

/* --- the whole --- */

static bool parse_file(struct policy_parser *p)
{
	while (p->next.kind != LEX_END) {
		bool good;

		if (parser_take(p, LEX_QOS_ULPS))
			good = parse_ulps(p);
		else if (parser_take(p, LEX_PORT_GROUPS))
			good = parse_groups(p);
		else if (parser_take(p, LEX_QOS_SETUP))
			good = parse_setup(p);
		else if (parser_take(p, LEX_QOS_LEVELS))
			good = parse_levels(p);
		else if (parser_take(p, LEX_QOS_MATCH_RULES))
			good = parse_rules(p);
		else
			good = parser_syntax(p, "a section: port-groups, qos-levels, qos-match-rules, qos-ulps, qos-setup");
		if (!good)
			return false;
	}
	return parse_finish(p);
}

static bool has_nul(struct policy_parser *p, const char *text, size_t size)
{
	struct opensm_mark mark = {1, 1};
	const char *nul = memchr(text, '\0', size);

	if (!nul)
		return false;
	for (const char *at = text; at < nul; at++)
		mark = *at == '\n' ? (struct opensm_mark){mark.line + 1, 1} : (struct opensm_mark){mark.line, mark.column + 1};
	parser_refuse(p, mark, "NUL byte", "this is no text: what OpenSM makes of it is not known");
	return true;
}

int opensm_policy_read(const char *path, const char *text, size_t size, struct finding_list *findings,
		       struct opensm_policy_file **file)
{
	struct policy_parser p = {.path = path, .findings = findings};
	bool good = false;

	*file = NULL;
	if (size > POLICY_FILE_MAX)
		return -EFBIG;
	p.file = calloc(1, sizeof(*p.file));
	if (!p.file)
		return -ENOMEM;
	if (!has_nul(&p, text, size)) {
		lex_start(&p.lexer, text, size);
		parser_step(&p);
		good = parse_file(&p);
	}
	for (size_t i = 0; i < p.ulp_count; i++)
		rule_clear(&p.ulps[i]);
	free(p.ulps);
	if (!p.error && findings->lost)
		p.error = -ENOMEM;
	if (good && !p.error)
		*file = p.file;
	else
		opensm_policy_file_free(p.file);
	return p.error;
}

void opensm_policy_file_free(struct opensm_policy_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->level_count; i++) {
		free(file->levels[i].name);
		free(file->levels[i].path_bits.items);
		free(file->levels[i].pkeys.items);
	}
	for (size_t i = 0; i < file->group_count; i++) {
		free(file->groups[i].name);
		free(file->groups[i].guids.items);
		free(file->groups[i].pkeys.items);
		names_free(&file->groups[i].ports);
		names_free(&file->groups[i].partitions);
	}
	for (size_t i = 0; i < file->rule_count; i++)
		rule_clear(&file->rules[i]);
	free(file->levels);
	free(file->groups);
	free(file->rules);
	free(file);
}
