/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the tables of an opensm.conf do to traffic: VLs that SLs are mapped to and that may not send, SLs
 * that are dropped, kinds of port that OpenSM programs twice.
 */
#include <errno.h>
#include <string.h>

#include "conf_lint.h"

#define KEY_ROOM 32

/* The line that decides a value of a kind of port: its own, or that of all; line 0 where none does. */
static void deciding_line(const struct lint *l, unsigned type, const char *kind, char key[KEY_ROOM],
			  struct conf_line *line)
{
	snprintf(key, KEY_ROOM, "qos_%s_%s", qos_port_type_name(type), kind);
	if (conf_line_of(l->conf, key, line) && strcmp(line->value, "(null)") != 0)
		return;
	snprintf(key, KEY_ROOM, "qos_%s", kind);
	if (conf_line_of(l->conf, key, line) && strcmp(line->value, "(null)") != 0)
		return;
	snprintf(key, KEY_ROOM, "qos_%s_%s", qos_port_type_name(type), kind);
	*line = (struct conf_line){.key = key};
}

static struct finding *tell(struct lint *l, enum finding_code code, unsigned type, const char *kind)
{
	struct conf_line line;
	char key[KEY_ROOM];

	deciding_line(l, type, kind, key, &line);
	return lint_tell(l, code, &line);
}

/* True if the same line decides a value for an earlier kind of port: it is told of once. */
static bool told(const struct lint *l, unsigned type, const char *kind)
{
	struct conf_line line, before;
	char key[KEY_ROOM], key_before[KEY_ROOM];

	deciding_line(l, type, kind, key, &line);
	for (unsigned i = 0; i < type; i++) {
		deciding_line(l, i, kind, key_before, &before);
		if (before.line == line.line)
			return true;
	}
	return false;
}

static void weights(const struct qos_tables *tables, unsigned code, unsigned weight[QOS_SLS])
{
	const struct qos_vlarb *both[] = {&tables->high, &tables->low};

	memset(weight, 0, QOS_SLS * sizeof(weight[0]));
	for (unsigned t = 0; t < 2; t++)
		for (unsigned i = 0; i < both[t]->count; i++)
			weight[qos_fold_vl(both[t]->entry[i].vl, code)] += both[t]->entry[i].weight;
}

/* SLs on a VL as text: "0, 3". */
static void set_sls(char **member, const struct qos_sl2vl *map, unsigned vl)
{
	char text[64] = "";
	size_t used = 0;

	for (unsigned sl = 0; sl < QOS_SLS; sl++)
		if (map->vl[sl] == vl)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", used ? ", " : "", sl);
	finding_set(member, "SLs %s", text);
}

/* On links of so many VLs; the first number of VLs at which one starves is told. */
static void check_starved(struct lint *l, unsigned type, const struct qos_tables *tables)
{
	for (unsigned code = 5; code > 1; code--) { /* with one VL there is no arbitration */
		unsigned weight[QOS_SLS];
		struct qos_sl2vl map;
		bool found = false;

		qos_fold_sl2vl(&tables->sl2vl, code, &map);
		weights(tables, code, weight);
		for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++) {
			struct finding *f;

			if (weight[vl] || !memchr(map.vl, (int)vl, QOS_SLS))
				continue;
			f = tell(l, FINDING_OPENSM_VL_STARVED, type, "vlarb_low");
			finding_set(&f->got, "VL %u on ports of kind %s", vl, qos_port_type_name(type));
			set_sls(&f->detail, &map, vl);
			finding_set(&f->detail, "%s; on links of %u VLs", f->detail ? f->detail : "", qos_vls_of_code(code));
			found = true;
		}
		if (found)
			return;
	}
}

static void check_dropped(struct lint *l, unsigned type, const struct qos_tables *tables)
{
	struct conf_line line;
	struct finding *f;
	uint64_t sm_sl = 0;

	if (told(l, type, "sl2vl"))
		return;
	if (tables->sl2vl.vl[0] == QOS_VL_DROP) {
		f = tell(l, FINDING_OPENSM_SL_DROPPED, type, "sl2vl");
		finding_set(&f->got, "SL 0");
		finding_set(&f->detail, "whatever chooses no SL has it");
	}
	if (lint_number(l, "sm_sl", UINT8_MAX, &sm_sl, &line) && sm_sl > 0 && sm_sl < QOS_SLS &&
	    tables->sl2vl.vl[sm_sl] == QOS_VL_DROP) {
		f = tell(l, FINDING_OPENSM_SL_DROPPED, type, "sl2vl");
		finding_set(&f->got, "SL %u, of sm_sl", (unsigned)sm_sl);
		finding_set(&f->detail, "packets between the subnet manager and its clients have it");
	}
}

static void check_long(struct lint *l, unsigned type, const char *kind, const struct qos_vlarb *table)
{
	unsigned last = 0;

	for (unsigned i = 0; i < table->count; i++)
		if (table->entry[i].weight)
			last = i + 1;
	if (last > QOS_VLARB_BLOCK && !told(l, type, kind))
		finding_set(&tell(l, FINDING_OPENSM_VLARB_LONG, type, kind)->got, "%u entries", last);
}

static void check_unlimited(struct lint *l, unsigned type, const struct qos_tables *tables)
{
	unsigned high = 0;

	for (unsigned i = 0; i < tables->high.count; i++)
		high += tables->high.entry[i].weight;
	if (tables->high_limit == QOS_HIGH_UNLIMITED && high && !told(l, type, "high_limit"))
		finding_set(&tell(l, FINDING_OPENSM_HIGH_UNLIMITED, type, "high_limit")->got, "255");
}

static bool same_vlarb(const struct qos_vlarb *a, const struct qos_vlarb *b)
{
	return memcmp(a->entry, b->entry, sizeof(a->entry)) == 0;
}

/* VLArb tables of port 0 are none that a packet meets. */
static void check_sw0(struct lint *l, const struct qos_config *config)
{
	const struct qos_tables *sw0 = &config->of[QOS_PORT_SW0], *swe = &config->of[QOS_PORT_SWE];
	const char *kind = NULL;

	if (!qos_sl2vl_equal(&sw0->sl2vl, &swe->sl2vl))
		kind = "sl2vl";
	else if (!same_vlarb(&sw0->low, &swe->low))
		kind = "vlarb_low";
	else if (!same_vlarb(&sw0->high, &swe->high))
		kind = "vlarb_high";
	else if (sw0->high_limit != swe->high_limit)
		kind = "high_limit";
	if (kind)
		tell(l, FINDING_OPENSM_SW0_DIFFERS, QOS_PORT_SW0, kind);
}

static void check_unused(struct lint *l)
{
	struct conf_line line, qos;
	struct finding *f;

	for (size_t n = 0; conf_line_at(l->conf, n, &line); n++) {
		if (!line.key || strncmp(line.key, "qos_", 4) != 0 || !*line.value || strcmp(line.value, "(null)") == 0 ||
		    strcmp(line.key, "qos_policy_file") == 0)
			continue;
		if (!conf_line_of(l->conf, "qos", &qos))
			qos = line;
		f = lint_tell(l, FINDING_OPENSM_QOS_UNUSED, &qos);
		finding_set(&f->what, "key 'qos'");
		finding_set(&f->got, "%s", strcmp(qos.key, "qos") == 0 ? qos.value : "not set, which is FALSE");
		finding_set(&f->detail, "lines that begin with qos_ have no effect");
		return;
	}
}

/* Of a refused table it keeps what the reply holds, and sends it no more (osm_slvl_map_rcv.c:95). */
static void check_hidden(struct lint *l)
{
	struct conf_line line;

	if (conf_line_of(l->conf, "suppress_sl2vl_mad_status_errors", &line) && strcmp(line.value, "TRUE") == 0)
		lint_tell(l, FINDING_OPENSM_ERRORS_HIDDEN, &line);
}

int lint_tables(struct lint *l)
{
	struct qos_config config;
	bool enabled;
	int r = opensm_conf_get_qos(l->conf, l->path, &config, &enabled, l->findings);

	if (r < 0)
		return r;
	if (!enabled) {
		check_unused(l);
		return 0;
	}
	for (unsigned type = 0; type < QOS_PORT_TYPES; type++) {
		const struct qos_tables *tables = &config.of[type];

		if (type != QOS_PORT_SW0) /* it has no arbiter that data meets */
			check_starved(l, type, tables);
		check_dropped(l, type, tables);
		check_long(l, type, "vlarb_high", &tables->high);
		check_long(l, type, "vlarb_low", &tables->low);
		check_unlimited(l, type, tables);
	}
	check_sw0(l, &config);
	check_hidden(l);
	return 0;
}
