/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Exact tables of the policy file: the keys, what each one sets, and what they must be to the rest.
 */
#include <string.h>

#include "read.h"

static int set_sl2vl(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct qos_tables *tables = target;

	(void)in;
	qos_sl2vl_parse(value->node->text, &tables->sl2vl);
	return 0;
}

static int set_high(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct qos_tables *tables = target;

	(void)in;
	qos_vlarb_parse(value->node->text, &tables->high);
	return 0;
}

static int set_low(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct qos_tables *tables = target;

	(void)in;
	qos_vlarb_parse(value->node->text, &tables->low);
	return 0;
}

static int set_limit(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct qos_tables *tables = target;

	(void)in;
	tables->high_limit = (uint8_t)value->number;
	return 0;
}

static const struct key_row type_rows[] = {
	{.name = "sl2vl",
	 .type = VALUE_SL2VL,
	 .required = true,
	 .set = set_sl2vl,
	 .wanted = "16 VLs 0-15 with commas between, as in opensm.conf",
	 .doc = "The VL of each SL; 15 drops it, which SL 0 and the SLs of classes may not be, and which needs "
		"``--allow-drop``."},
	{.name = "vlarb_high",
	 .type = VALUE_VLARB,
	 .required = true,
	 .set = set_high,
	 .wanted = "1 to 64 pairs VL:weight with commas between, VL 0-14, weight 0-255, as in opensm.conf",
	 .doc = "The table of high priority; 0:0 sends nothing."},
	{.name = "vlarb_low",
	 .type = VALUE_VLARB,
	 .required = true,
	 .set = set_low,
	 .wanted = "1 to 64 pairs VL:weight with commas between, VL 0-14, weight 0-255, as in opensm.conf",
	 .doc = "The table of low priority."},
	{.name = "high_limit",
	 .type = VALUE_INTEGER,
	 .required = true,
	 .max = QOS_HIGH_UNLIMITED,
	 .set = set_limit,
	 .wanted = "a whole number 0-255, in units of 4096 bytes",
	 .doc = "VLHighLimit; 255 has no end, and lets VLs of the low table starve."},
};
static const struct key_table type_key_table = KEY_TABLE("table", type_rows, false);

static int set_type(struct policy_reader *in, enum qos_port_type type, const struct key_value *value)
{
	struct policy_tables *tables = &in->policy->tables;

	tables->type_given[type] = true;
	tables->marks[type] = value->node->mark;
	return read_keys(in, value->node, &type_key_table, &tables->config.of[type]);
}

static int set_ca(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)target;
	return set_type(in, QOS_PORT_CA, value);
}

static int set_sw0(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)target;
	return set_type(in, QOS_PORT_SW0, value);
}

static int set_swe(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)target;
	return set_type(in, QOS_PORT_SWE, value);
}

static int set_rtr(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)target;
	return set_type(in, QOS_PORT_RTR, value);
}

#define TYPE_WANTED "keys and values: sl2vl, vlarb_high, vlarb_low, high_limit"

static const struct key_row tables_rows[] = {
	{.name = "ca",
	 .type = VALUE_MAPPING,
	 .required = true,
	 .keys = &type_key_table,
	 .set = set_ca,
	 .wanted = TYPE_WANTED,
	 .doc = "Of adapters, and of each kind of port that is not named."},
	{.name = "sw0",
	 .type = VALUE_MAPPING,
	 .keys = &type_key_table,
	 .set = set_sw0,
	 .wanted = TYPE_WANTED,
	 .doc = "Of port 0 of switches. Where they differ from those of swe OpenSM programs an enhanced port 0 from "
		"both, one after the other, on each sweep."},
	{.name = "swe",
	 .type = VALUE_MAPPING,
	 .keys = &type_key_table,
	 .set = set_swe,
	 .wanted = TYPE_WANTED,
	 .doc = "Of the other ports of switches."},
	{.name = "rtr",
	 .type = VALUE_MAPPING,
	 .keys = &type_key_table,
	 .set = set_rtr,
	 .wanted = TYPE_WANTED,
	 .doc = "Of routers."},
};
const struct key_table tables_key_table = KEY_TABLE("tables", tables_rows, false);

int set_tables(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_tables *tables = &in->policy->tables;
	int r;

	tables->given = true;
	tables->mark = value->node->mark;
	r = read_keys(in, value->node, &tables_key_table, target);
	for (int type = 0; type < QOS_PORT_TYPES; type++)
		if (!tables->type_given[type])
			tables->config.of[type] = tables->config.of[QOS_PORT_CA];
	return r;
}

/* --- checks --- */

static void conflict(struct policy_reader *in, struct policy_mark mark, const char *key)
{
	struct finding *f = read_finding(in, FINDING_POLICY_KEY_CONFLICT, mark);

	finding_set(&f->what, "key '%s'", key);
	finding_set(&f->detail, "'tables' says the tables already");
}

static void check_class(struct policy_reader *in, const struct policy_class *class)
{
	const struct policy_tables *tables = &in->policy->tables;

	if (class->priority_mark.line)
		conflict(in, class->priority_mark, "priority");
	if (class->latency_mark.line)
		conflict(in, class->latency_mark, "min_latency");
	for (int type = 0; class->sl_mark.line && class->sl && type < QOS_PORT_TYPES; type++) {
		struct finding *f;

		if (tables->config.of[type].sl2vl.vl[class->sl] != QOS_VL_DROP)
			continue;
		f = read_finding(in, FINDING_POLICY_SL_DROPPED, class->sl_mark);
		finding_set(&f->what, "key 'sl'");
		finding_set(&f->got, "SL %u", class->sl);
		finding_set(&f->detail, "by the tables of %s", qos_port_type_name(type));
		return;
	}
}

/* With no end to the high table the low one may never be reached (IBA 7.6.9). */
static void check_limit(struct policy_reader *in, int type)
{
	const struct qos_tables *tables = &in->policy->tables.config.of[type];
	unsigned weight = 0;

	for (unsigned i = 0; i < tables->high.count; i++)
		weight += tables->high.entry[i].weight;
	if (tables->high_limit == QOS_HIGH_UNLIMITED && weight)
		finding_set(&read_finding(in, FINDING_OPENSM_HIGH_UNLIMITED, in->policy->tables.marks[type])->what,
			    "tables of %s", qos_port_type_name(type));
}

/* Both are sent to an enhanced port 0, one after the other (osm_qos.c:301-419). */
static void check_sw0(struct policy_reader *in)
{
	const struct policy_tables *tables = &in->policy->tables;
	const struct qos_tables *sw0 = &tables->config.of[QOS_PORT_SW0], *swe = &tables->config.of[QOS_PORT_SWE];
	bool own = tables->type_given[QOS_PORT_SW0];

	if (!qos_sl2vl_equal(&sw0->sl2vl, &swe->sl2vl))
		finding_set(&read_finding(in, FINDING_OPENSM_SW0_DIFFERS,
					  own ? tables->marks[QOS_PORT_SW0] : tables->marks[QOS_PORT_SWE])->what,
			    "tables of %s", own ? "sw0" : "swe");
}

void read_check_tables(struct policy_reader *in)
{
	const struct policy *policy = in->policy;
	const struct policy_tables *tables = &policy->tables;

	if (!tables->given)
		return;
	if (policy->unused_mark.line)
		conflict(in, policy->unused_mark, "unused_sls");
	for (int type = 0; type < QOS_PORT_TYPES; type++) {
		if (policy->overrides[type].given)
			conflict(in, policy->overrides[type].mark, "overrides");
		if (tables->type_given[type] && tables->config.of[type].sl2vl.vl[0] == QOS_VL_DROP)
			finding_set(&read_finding(in, FINDING_POLICY_SL0_DROPPED, tables->marks[type])->what, "tables of %s",
				    qos_port_type_name(type));
		if (tables->type_given[type])
			check_limit(in, type);
	}
	check_sw0(in);
	for (size_t i = 0; i < policy->class_count; i++)
		check_class(in, &policy->classes[i]);
}
