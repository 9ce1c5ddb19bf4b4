/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The section qos-ulps of a qos-policy file: each line is a rule with an SL of its own, behind all
 * match rules (osm_qos_parser_y.y: qos_ulp).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy_file.h"

#define DEFAULT_PKEY 0x7fff
#define PORT_MAX 0xffff
/* osm_qos_policy.h:57-61 */
#define SDP_SERVICE 0x0000000000010000ull
#define RDS_SERVICE 0x0000000001060000ull
#define RDS_PORT 0x48ca
#define ISER_PORT 0x0cbc

enum ulp_by { BY_SERVICE, BY_PKEY, BY_TARGET, BY_SOURCE, BY_BOTH, BY_PORT };

struct ulp {
	enum lex_kind kind;
	enum ulp_by by;
	uint64_t low, high; /* without a list behind it; of BY_PORT: low is added to each number */
	const char *group;  /* the name of the group that OpenSM makes */
	bool ipoib;
};

static const struct ulp ulps[] = {
	{LEX_ULP_ANY_SERVICE_ID, BY_SERVICE, 0, 0, NULL, false},
	{LEX_ULP_ANY_PKEY, BY_PKEY, 0, 0, NULL, false},
	{LEX_ULP_ANY_TARGET, BY_TARGET, 0, 0, "_ULP_Targets_", false},
	{LEX_ULP_ANY_SOURCE, BY_SOURCE, 0, 0, "_ULP_Sources_", false},
	{LEX_ULP_ANY_BOTH, BY_BOTH, 0, 0, "_ULP_Sources_Targets_", false},
	{LEX_ULP_SDP, BY_SERVICE, SDP_SERVICE, SDP_SERVICE + PORT_MAX, NULL, false},
	{LEX_ULP_SDP_PORT, BY_PORT, SDP_SERVICE, 0, NULL, false},
	{LEX_ULP_RDS, BY_SERVICE, RDS_SERVICE + RDS_PORT, RDS_SERVICE + RDS_PORT, NULL, false},
	{LEX_ULP_RDS_PORT, BY_PORT, RDS_SERVICE, 0, NULL, false},
	{LEX_ULP_ISER, BY_SERVICE, RDS_SERVICE + ISER_PORT, RDS_SERVICE + ISER_PORT, NULL, false},
	{LEX_ULP_ISER_PORT, BY_PORT, RDS_SERVICE, 0, NULL, false},
	{LEX_ULP_SRP, BY_TARGET, 0, 0, "_SRP_Targets_", false},
	{LEX_ULP_IPOIB, BY_PKEY, DEFAULT_PKEY, DEFAULT_PKEY, NULL, true},
	{LEX_ULP_IPOIB_PKEY, BY_PKEY, 0, 0, NULL, true},
};
#define ULPS (sizeof(ulps) / sizeof(ulps[0]))

static bool parse_sl(struct policy_parser *p, unsigned *sl)
{
	struct opensm_mark mark = p->next.mark;
	uint64_t value;

	if (!parse_number(p, &value))
		return false;
	if (value >= QOS_SLS)
		return parser_refuse(p, mark, "SL", "illegal SL value: 0 to 15");
	*sl = (unsigned)value;
	return true;
}

static bool parse_default(struct policy_parser *p)
{
	p->ulp_default_mark = p->next.mark;
	if (!parse_sl(p, &p->ulp_default_sl))
		return false;
	p->ulp_default = true;
	return true;
}

/* Ports of a protocol, as service IDs. */
static bool parse_ports(struct policy_parser *p, uint64_t base, struct opensm_ranges *ranges)
{
	struct opensm_mark mark = p->next.mark;

	if (!parse_ranges(p, ranges))
		return false;
	for (size_t i = 0; i < ranges->count; i++) {
		if (ranges->items[i].high > PORT_MAX)
			return parser_refuse(p, mark, "port-num", "port number out of range: 0 to 65535");
		ranges->items[i].low += base;
		ranges->items[i].high += base;
	}
	return true;
}

static bool name_group(struct policy_parser *p, struct opensm_names *names, size_t group)
{
	struct opensm_name *items = array_grow(names->items, &names->room, names->count + 1, sizeof(*items));

	if (!items)
		return parser_no_memory(p);
	names->items = items;
	items[names->count] = (struct opensm_name){.index = group, .mark = p->file->groups[group].mark};
	items[names->count].text = strdup(p->file->groups[group].name);
	return items[names->count++].text || parser_no_memory(p);
}

static bool parse_targets(struct policy_parser *p, const struct ulp *ulp, struct opensm_file_rule *rule)
{
	struct opensm_file_group *group;
	size_t number;

	group = add_group(p, rule->mark);
	if (!group)
		return false;
	number = p->file->group_count - 1;
	group->made = true;
	group->name = strdup(ulp->group);
	if (!group->name)
		return parser_no_memory(p);
	if (!parse_guids(p, &group->guids))
		return false;
	if (ulp->by != BY_TARGET && !name_group(p, &rule->sources, number))
		return false;
	if (ulp->by != BY_SOURCE && !name_group(p, &rule->destinations, number))
		return false;
	if (ulp->by == BY_BOTH)
		parser_tell(p, FINDING_OPENSM_BOTH_ENDS, rule->mark);
	return true;
}

static void check_ipoib(struct policy_parser *p, const struct opensm_file_rule *rule)
{
	struct finding *f = parser_tell(p, FINDING_OPENSM_RULES_RISK, rule->mark);

	finding_set(&f->what, "ipoib");
	finding_set(&f->detail,
		    "each of its partitions must have two full members at least at the time of each sweep");
}

/* What the rule knows its traffic by. */
static bool parse_criterion(struct policy_parser *p, const struct ulp *ulp, struct opensm_file_rule *rule)
{
	struct opensm_ranges *ranges = ulp->by == BY_PKEY ? &rule->pkeys : &rule->service_ids;
	bool good;

	if (ulp->high > 0)
		return ranges_put(ranges, ulp->low, ulp->high) == 0 || parser_no_memory(p);
	if (ulp->by == BY_PORT)
		good = parse_ports(p, ulp->low, ranges);
	else if (ulp->by == BY_PKEY)
		good = parse_pkeys(p, ranges);
	else if (ulp->by == BY_SERVICE)
		good = parse_ranges(p, ranges);
	else
		good = parse_targets(p, ulp, rule);
	return good && parser_expect(p, LEX_COLON);
}

static bool parse_rule(struct policy_parser *p, const struct ulp *ulp, struct opensm_mark mark)
{
	struct opensm_file_rule *rules = array_grow(p->ulps, &p->ulp_room, p->ulp_count + 1, sizeof(*rules));
	struct opensm_file_rule *rule;

	if (!rules)
		return parser_no_memory(p);
	p->ulps = rules;
	rule = &rules[p->ulp_count++];
	*rule = (struct opensm_file_rule){.level = OPENSM_NONE, .mark = mark};
	if (!parse_criterion(p, ulp, rule))
		return false;
	if (ulp->ipoib)
		check_ipoib(p, rule);
	return parse_sl(p, &rule->sl);
}

static bool parse_ulp(struct policy_parser *p)
{
	struct opensm_mark mark = p->next.mark;

	if (parser_take(p, LEX_ULP_DEFAULT))
		return parse_default(p);
	for (size_t i = 0; i < ULPS; i++)
		if (parser_take(p, ulps[i].kind))
			return parse_rule(p, &ulps[i], mark);
	return parser_syntax(p, "a protocol and its SL, as in 'sdp: 1'");
}

bool parse_ulps(struct policy_parser *p)
{
	struct opensm_mark mark = p->next.mark;

	do {
		if (!parse_ulp(p))
			return false;
	} while (p->next.kind != LEX_END_QOS_ULPS);
	parser_step(p);
	parser_tell(p, FINDING_OPENSM_ULPS_STAY, mark);
	return true;
}
