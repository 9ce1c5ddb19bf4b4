/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The section qos-setup of a qos-policy file: OpenSM reads its tables, refuses the file for faults in
 * them, and uses them for nothing.
 */
#include "policy_file.h"

#define SWITCH_PORTS 128 /* OSM_QOS_POLICY_MAX_PORTS_ON_SWITCH */

static bool pass_names(struct policy_parser *p)
{
	struct opensm_names names = {0};
	bool good = parse_names(p, &names);

	names_free(&names);
	return good;
}

static bool pass_pairs(struct policy_parser *p)
{
	uint64_t value;

	do {
		if (!parse_number(p, &value) || !parser_expect(p, LEX_COLON) || !parse_number(p, &value))
			return false;
	} while (parser_take(p, LEX_COMMA));
	return true;
}

/* Ports, or '*' for all. */
static bool pass_ports(struct policy_parser *p)
{
	struct opensm_mark mark = p->next.mark;
	uint64_t low, high;

	if (parser_take(p, LEX_ASTERISK))
		return true;
	do {
		if (!parse_number(p, &low))
			return false;
		high = low;
		if (parser_take(p, LEX_DASH) && !parse_number(p, &high))
			return false;
		if (low >= SWITCH_PORTS || high >= SWITCH_PORTS)
			return parser_refuse(p, mark, "'from' or 'to'", "port number out of range: 0 to %d", SWITCH_PORTS - 1);
	} while (parser_take(p, LEX_COMMA));
	return true;
}

static bool pass_sl2vl(struct policy_parser *p)
{
	struct opensm_mark mark = p->next.mark;
	unsigned count = 0;
	bool large = false;

	do {
		uint64_t value;

		if (!parse_number(p, &value))
			return false;
		large |= value > QOS_VL_DROP;
		count++;
	} while (parser_take(p, LEX_COMMA));
	if (count != QOS_SLS)
		return parser_refuse(p, mark, "sl2vl-table", "%u values, 16 are wanted", count);
	return !large || parser_refuse(p, mark, "sl2vl-table", "wrong VL value: 0 to 15");
}

static bool parse_vlarb_scope(struct policy_parser *p, struct opensm_mark mark)
{
	bool ports = false;
	uint64_t value;

	while (!parser_take(p, LEX_END_VLARB_SCOPE)) {
		bool good;

		if (parser_take(p, LEX_GROUP) || parser_take(p, LEX_ACROSS))
			good = ports = pass_names(p);
		else if (parser_take(p, LEX_VLARB_HIGH) || parser_take(p, LEX_VLARB_LOW))
			good = pass_pairs(p);
		else if (parser_take(p, LEX_VL_HIGH_LIMIT))
			good = parse_number(p, &value);
		else
			good = parser_syntax(p, "a key of a vlarb-scope or 'end-vlarb-scope'");
		if (!good)
			return false;
	}
	return ports || parser_refuse(p, mark, "vlarb-scope", "no 'group' and no 'across'");
}

static bool parse_sl2vl_scope(struct policy_parser *p, struct opensm_mark mark)
{
	bool ports = false, table = false;

	while (!parser_take(p, LEX_END_SL2VL_SCOPE)) {
		struct opensm_mark at = p->next.mark;
		bool good;

		if (parser_take(p, LEX_GROUP) || parser_take(p, LEX_ACROSS) || parser_take(p, LEX_ACROSS_TO) ||
		    parser_take(p, LEX_ACROSS_FROM)) {
			good = ports = pass_names(p);
		} else if (parser_take(p, LEX_FROM) || parser_take(p, LEX_TO)) {
			good = pass_ports(p);
		} else if (parser_take(p, LEX_SL2VL_TABLE)) {
			good = pass_sl2vl(p);
			if (good && table)
				return parser_refuse(p, at, "sl2vl-scope", "more than one sl2vl-table");
			table = true;
		} else {
			good = parser_syntax(p, "a key of an sl2vl-scope or 'end-sl2vl-scope'");
		}
		if (!good)
			return false;
	}
	if (!table)
		return parser_refuse(p, mark, "sl2vl-scope", "no sl2vl-table");
	return ports || parser_refuse(p, mark, "sl2vl-scope", "no 'group', 'across', 'across-to' and 'across-from'");
}

static bool parse_scopes(struct policy_parser *p, enum lex_kind start, enum lex_kind end,
			 bool (*parse)(struct policy_parser *p, struct opensm_mark mark))
{
	struct opensm_mark mark = p->next.mark;

	while (parser_take(p, start)) {
		if (!parse(p, mark))
			return false;
		mark = p->next.mark;
	}
	return parser_expect(p, end);
}

bool parse_setup(struct policy_parser *p)
{
	struct opensm_mark mark = p->next.mark;

	while (!parser_take(p, LEX_END_QOS_SETUP)) {
		bool good;

		if (parser_take(p, LEX_VLARB_TABLES))
			good = parse_scopes(p, LEX_VLARB_SCOPE, LEX_END_VLARB_TABLES, parse_vlarb_scope);
		else if (parser_take(p, LEX_SL2VL_TABLES))
			good = parse_scopes(p, LEX_SL2VL_SCOPE, LEX_END_SL2VL_TABLES, parse_sl2vl_scope);
		else
			good = parser_syntax(p, "'vlarb-tables', 'sl2vl-tables' or 'end-qos-setup'");
		if (!good)
			return false;
	}
	finding_set(&parser_tell(p, FINDING_OPENSM_KEY_UNUSED, mark)->what, "section 'qos-setup'");
	return true;
}
