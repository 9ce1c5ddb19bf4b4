/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The QoS keys of opensm.conf: tables written so that OpenSM cannot misread them, and read as
 * OpenSM 3.3.23 reads them, right or wrong (osm_qos.c:556-668, osm_subnet.c:377-391, 1918-1930).
 *
 * How OpenSM reads a list: strtoul(…, 0) and one character skipped, whatever it is, again and
 * again, 64 pairs for a VLArb table and 16 numbers for an SL2VL table. So leading zeros mean octal
 * and 0x hexadecimal, blanks before a number do no harm, but a blank or letter behind one shifts
 * all that follows. VL is taken modulo 15, weight modulo 256, an SL2VL entry modulo 16; what is
 * missing is 0. "(null)" is no value; an empty value is one, all 0.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"

/* OSM_DEFAULT_QOS_* (osm_base.h:627-660); VLHighLimit's is 0 */
#define DEFAULT_HIGH "0:4,1:0,2:0,3:0,4:0,5:0,6:0,7:0,8:0,9:0,10:0,11:0,12:0,13:0,14:0"
#define DEFAULT_LOW "0:0,1:4,2:4,3:4,4:4,5:4,6:4,7:4,8:4,9:4,10:4,11:4,12:4,13:4,14:4"
#define DEFAULT_SL2VL "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7"

enum qos_key { KEY_HIGH_LIMIT, KEY_VLARB_HIGH, KEY_VLARB_LOW, KEY_SL2VL, QOS_KEYS };

struct key_kind {
	const char *name;
	const char *fallback; /* where no line sets it */
	const char *wanted;
};

static const struct key_kind key_kinds[QOS_KEYS] = {
	[KEY_HIGH_LIMIT] = {"high_limit", "0", "a decimal number 0-255"},
	[KEY_VLARB_HIGH] = {"vlarb_high", DEFAULT_HIGH, "at most 64 VL:weight pairs, VL 0-14, weight 0-255"},
	[KEY_VLARB_LOW] = {"vlarb_low", DEFAULT_LOW, "at most 64 VL:weight pairs, VL 0-14, weight 0-255"},
	[KEY_SL2VL] = {"sl2vl", DEFAULT_SL2VL, "16 VLs, each 0-15"},
};

/* The set that the port types fall back on has no port type; its keys start with "qos_" alone. */
#define BASE_SET QOS_PORT_TYPES
#define SETS (QOS_PORT_TYPES + 1)
#define KEY_TEXT 32

static void key_text(unsigned set, enum qos_key key, char text[KEY_TEXT])
{
	if (set == BASE_SET)
		snprintf(text, KEY_TEXT, "qos_%s", key_kinds[key].name);
	else
		snprintf(text, KEY_TEXT, "qos_%s_%s", qos_port_type_name(set), key_kinds[key].name);
}

/* --- writing --- */

static bool tables_valid(const struct qos_tables *tables)
{
	const struct qos_vlarb *both[] = {&tables->high, &tables->low};

	for (unsigned sl = 0; sl < QOS_SLS; sl++)
		if (tables->sl2vl.vl[sl] > QOS_VL_DROP)
			return false;
	for (unsigned i = 0; i < 2; i++) {
		if (both[i]->count > QOS_VLARB_ENTRIES)
			return false;
		for (unsigned n = 0; n < both[i]->count; n++)
			if (both[i]->entry[n].vl >= QOS_DATA_VLS)
				return false;
	}
	return true;
}

static void value_text(const struct qos_tables *tables, enum qos_key key, char text[QOS_TEXT_MAX])
{
	const struct qos_vlarb *vlarb = key == KEY_VLARB_HIGH ? &tables->high : &tables->low;

	if (key == KEY_HIGH_LIMIT)
		snprintf(text, QOS_TEXT_MAX, "%u", tables->high_limit);
	else if (key == KEY_SL2VL)
		qos_sl2vl_format(&tables->sl2vl, text);
	else if (vlarb->count == 0)
		strcpy(text, "0:0"); /* the same table, and plain to see */
	else
		qos_vlarb_format(vlarb->entry, vlarb->count, text);
}

/*
 * max_vls is left alone: OpenSM reads it and uses it for nothing but torus-2QoS warnings
 * (osm_qos.c:607-613). max_op_vls too: a change takes every host link down (osm_lid_mgr.c:977).
 */
int opensm_conf_set_qos(struct opensm_conf *conf, const struct qos_config *config)
{
	int r;

	for (unsigned type = 0; type < QOS_PORT_TYPES; type++)
		if (!tables_valid(&config->of[type]))
			return -EINVAL;
	r = opensm_conf_set(conf, "qos", "TRUE");
	/* The base set first; it decides nothing once every type has its own, and is kept like the hosts'. */
	for (unsigned i = 0; r == 0 && i < SETS; i++) {
		unsigned set = i == 0 ? BASE_SET : i - 1;

		for (unsigned key = 0; r == 0 && key < QOS_KEYS; key++) {
			char name[KEY_TEXT], text[QOS_TEXT_MAX];

			key_text(set, key, name);
			value_text(&config->of[set == BASE_SET ? QOS_PORT_CA : set], key, text);
			r = opensm_conf_set(conf, name, text);
		}
	}
	return r;
}

/* --- reading as OpenSM does --- */

static size_t read_number(const char *text, unsigned *value)
{
	char *end;

	*value = (unsigned)strtoul(text, &end, 0);
	return (size_t)(end - text) + (*end ? 1 : 0);
}

static void read_vlarb(const char *text, struct qos_vlarb *table)
{
	memset(table, 0, sizeof(*table));
	while (*text && table->count < QOS_VLARB_ENTRIES) {
		struct qos_vlarb_entry *entry = &table->entry[table->count++];
		unsigned number;

		text += read_number(text, &number);
		entry->vl = (uint8_t)(number % QOS_DATA_VLS);
		text += read_number(text, &number);
		entry->weight = (uint8_t)number;
	}
}

static void read_sl2vl(const char *text, struct qos_sl2vl *table)
{
	for (unsigned sl = 0; sl < QOS_SLS; sl++) {
		unsigned number;

		text += read_number(text, &number);
		table->vl[sl] = number & 0xf;
	}
}

/* -1: OpenSM takes it as not set (subn_verify_high_limit(), osm_subnet.c:1918). */
static int read_high_limit(const char *text)
{
	int32_t value = (int32_t)strtol(text, NULL, 0);

	return value < 0 || value > UINT8_MAX ? -1 : (int)value;
}

/* --- what a value looks like to a person, to tell where OpenSM differs --- */

/* A number between blanks up to one of `ends` or the end of the text; decimal, or hexadecimal with 0x. */
static bool look_number(const char **text, const char *ends, unsigned max, unsigned *value)
{
	const char *digits = *text + strspn(*text, " \t");
	bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
	char *end;
	unsigned long number;

	if (!strchr("0123456789", *digits) || !*digits)
		return false;
	number = strtoul(digits, &end, hex ? 16 : 10);
	if (number > max)
		return false;
	end += strspn(end, " \t");
	if (*end && !strchr(ends, *end))
		return false;
	*value = (unsigned)number;
	*text = end;
	return true;
}

static bool look_vlarb(const char *text, struct qos_vlarb *table)
{
	memset(table, 0, sizeof(*table));
	while (*text) {
		unsigned vl, weight;

		if (table->count == QOS_VLARB_ENTRIES)
			return false;
		if (!look_number(&text, ":", QOS_DATA_VLS - 1, &vl) || *text++ != ':' ||
		    !look_number(&text, ",", UINT8_MAX, &weight))
			return false;
		table->entry[table->count++] = (struct qos_vlarb_entry){(uint8_t)vl, (uint8_t)weight};
		if (*text)
			text++;
	}
	return true;
}

static bool look_sl2vl(const char *text, struct qos_sl2vl *table)
{
	for (unsigned sl = 0; sl < QOS_SLS; sl++) {
		unsigned vl;

		if (!look_number(&text, ",", QOS_VL_DROP, &vl))
			return false;
		table->vl[sl] = (uint8_t)vl;
		if (*text)
			text++;
	}
	return !*text;
}

static bool look_high_limit(const char *text, int *limit)
{
	unsigned value;

	if (strcmp(text, "-1") == 0) { /* OpenSM's own template writes it for 'not set' */
		*limit = -1;
		return true;
	}
	if (!look_number(&text, "", UINT8_MAX, &value) || *text)
		return false;
	*limit = (int)value;
	return true;
}

/* True if OpenSM reads `text` otherwise than a person; then `reads` says how it does. */
static bool value_doubtful(enum qos_key key, const char *text, char reads[QOS_TEXT_MAX])
{
	struct qos_vlarb vlarb, vlarb_look;
	struct qos_sl2vl sl2vl, sl2vl_look;
	int limit, limit_look;

	switch (key) {
	case KEY_HIGH_LIMIT:
		limit = read_high_limit(text);
		if (look_high_limit(text, &limit_look) && limit == limit_look)
			return false;
		if (limit < 0)
			strcpy(reads, "nothing: takes it as not set");
		else
			snprintf(reads, QOS_TEXT_MAX, "%d", limit);
		return true;
	case KEY_SL2VL:
		read_sl2vl(text, &sl2vl);
		if (look_sl2vl(text, &sl2vl_look) && qos_sl2vl_equal(&sl2vl, &sl2vl_look))
			return false;
		qos_sl2vl_format(&sl2vl, reads);
		return true;
	default:
		read_vlarb(text, &vlarb);
		/* both are zeroed past their ends, and have no padding */
		if (look_vlarb(text, &vlarb_look) && memcmp(&vlarb, &vlarb_look, sizeof(vlarb)) == 0)
			return false;
		qos_vlarb_format(vlarb.entry, vlarb.count, reads);
		return true;
	}
}

/* --- the tables of a file --- */

struct reading {
	const struct opensm_conf *conf;
	const char *path;
	struct finding_list *findings;
	bool told[SETS][QOS_KEYS]; /* the base set's values serve several types: one finding each */
};

static void doubt(struct reading *in, const char *key, const char *wanted, const char *reads)
{
	const char *value = opensm_conf_get(in->conf, key);
	struct finding *f = finding_at(finding_add(in->findings, FINDING_OPENSM_VALUE_DOUBTFUL), in->path,
				       opensm_conf_line(in->conf, key), 0);

	finding_set(&f->what, "key '%s'", key);
	finding_set(&f->wanted, "%s", wanted);
	finding_set(&f->got, "%s", value);
	finding_set(&f->detail, "OpenSM reads %s", *reads ? reads : "an empty table");
}

/* The value of a set's key if OpenSM has one from it, else NULL; says where it is doubtful. */
static const char *set_value(struct reading *in, unsigned set, enum qos_key key)
{
	char name[KEY_TEXT], reads[QOS_TEXT_MAX] = "";
	const char *value;
	bool torn;

	key_text(set, key, name);
	value = opensm_conf_get(in->conf, name);
	/* "(null)" is no string; for the number it is 0, since strtol() tells nobody (osm_subnet.c:377) */
	if (!value || (key != KEY_HIGH_LIMIT && strcmp(value, "(null)") == 0))
		return NULL;
	torn = opensm_conf_torn(in->conf, name);
	if (!in->told[set][key] && (value_doubtful(key, value, reads) || torn))
		doubt(in, name, key_kinds[key].wanted,
		      torn ? "at most 1022 bytes of a line at a time, up to a NUL" : reads);
	in->told[set][key] = true;
	return value;
}

static const char *type_value(struct reading *in, enum qos_port_type type, enum qos_key key)
{
	const char *value = set_value(in, type, key);

	if (!value)
		value = set_value(in, BASE_SET, key);
	return value ? value : key_kinds[key].fallback;
}

static uint8_t type_high_limit(struct reading *in, enum qos_port_type type)
{
	const char *value = set_value(in, type, KEY_HIGH_LIMIT);
	int limit = value ? read_high_limit(value) : -1;

	if (limit < 0) {
		value = set_value(in, BASE_SET, KEY_HIGH_LIMIT);
		limit = value ? read_high_limit(value) : -1;
	}
	return limit < 0 ? 0 : (uint8_t)limit;
}

int opensm_conf_get_qos(const struct opensm_conf *conf, const char *path, struct qos_config *config,
			bool *enabled, struct finding_list *findings)
{
	struct reading in = {.conf = conf, .path = path, .findings = findings};
	const char *qos = opensm_conf_get(conf, "qos");

	/* exactly TRUE (osm_subnet.c:449-470); "true", "yes" and "1" turn QoS off */
	*enabled = qos && strcmp(qos, "TRUE") == 0;
	if (qos && !*enabled && strcmp(qos, "FALSE") != 0)
		doubt(&in, "qos", "TRUE or FALSE", "FALSE");
	for (unsigned type = 0; type < QOS_PORT_TYPES; type++) {
		struct qos_tables *tables = &config->of[type];

		tables->high_limit = type_high_limit(&in, type);
		read_vlarb(type_value(&in, type, KEY_VLARB_HIGH), &tables->high);
		read_vlarb(type_value(&in, type, KEY_VLARB_LOW), &tables->low);
		read_sl2vl(type_value(&in, type, KEY_SL2VL), &tables->sl2vl);
	}
	return findings->lost ? -ENOMEM : 0;
}
