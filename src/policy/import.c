/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A config of OpenSM made a policy that compiles to the same tables. Classes are the SLs that the files
 * speak of: those of levels, of qos-ulps, of partitions, SL 0; and for each VL that none of these is on
 * the first SL that is. The tables are said word for word, shares are what they give.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"

#define RISE_MOST 1.8 /* points: a class that misses 2 of its share is told by plan */
#define SHARE_LEAST 0.1 /* percent: a policy knows no class without a share */

struct finding *import_tell(struct import *import, enum finding_code code, const char *path, struct opensm_mark mark)
{
	return finding_at(finding_add(import->findings, code), path, mark.line, mark.column);
}

/* --- names --- */

/* A letter, then letters, digits, '_' and '-'. */
static char *clean_name(const char *text, const char *fallback)
{
	char *name = malloc(POLICY_NAME_MAX + 1);
	size_t used = 0;

	if (!name)
		return NULL;
	for (const char *c = text; *c && used < POLICY_NAME_MAX - 4; c++) { /* room for a number behind */
		unsigned char u = (unsigned char)*c;
		bool letter = u < 0x80 && isalpha(u), good = letter || (u < 0x80 && isdigit(u)) || u == '-' || u == '_';

		if (used == 0 && !letter)
			continue;
		name[used++] = good ? *c : '_';
	}
	name[used] = '\0';
	if (used == 0)
		snprintf(name, POLICY_NAME_MAX + 1, "%s", fallback);
	return name;
}

/* Words that YAML has for something else. */
static bool is_word(const char *name)
{
	static const char *const words[] = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasecmp(words[i], name) == 0)
			return true;
	return false;
}

char *import_name(const char *text, const char *fallback, bool (*taken)(const struct import *import, const char *name),
		  const struct import *import)
{
	char *base = clean_name(text, fallback), *name;

	if (!base || (!taken(import, base) && !is_word(base)))
		return base;
	for (unsigned n = 2;; n++) {
		if (asprintf(&name, "%.*s_%u", POLICY_NAME_MAX - 5, base, n) < 0)
			name = NULL;
		if (!name || !taken(import, name))
			break;
		free(name);
	}
	free(base);
	return name;
}

static bool class_named(const struct import *import, const char *name)
{
	for (size_t i = 0; i < import->class_count; i++)
		if (strcasecmp(import->classes[i].name, name) == 0)
			return true;
	return false;
}

/* --- classes --- */

static bool sl_dropped(const struct import *import, unsigned sl)
{
	for (int type = 0; import->tables && type < QOS_PORT_TYPES; type++)
		if (import->config.of[type].sl2vl.vl[sl] == QOS_VL_DROP)
			return true;
	return false;
}

static int add_class(struct import *import, unsigned sl, const char *name, const char *why)
{
	struct import_class *class = &import->classes[import->class_count];
	char fallback[16];

	if (sl >= QOS_SLS || import->class_of_sl[sl] != OPENSM_NONE || sl_dropped(import, sl))
		return 0;
	snprintf(fallback, sizeof(fallback), "sl%u", sl);
	class->name = import_name(name ? name : fallback, fallback, class_named, import);
	if (!class->name)
		return -ENOMEM;
	class->sl = sl;
	class->why = why;
	import->class_of_sl[sl] = import->class_count++;
	return 0;
}

static bool has_criteria(const struct opensm_file_rule *rule)
{
	return rule->qos_classes.count || rule->service_ids.count || rule->pkeys.count || rule->sources.count ||
	       rule->destinations.count;
}

/* The SL of whatever no rule matches: of the default level, or of the first rule that matches everything. */
static unsigned default_sl(struct import *import)
{
	const struct opensm_policy_file *policy = import->files->policy;
	unsigned sl = policy ? policy->default_sl : 0;
	struct opensm_mark mark = policy ? policy->default_mark : (struct opensm_mark){0, 0};
	struct finding *f;

	import->rules_tried = policy ? policy->rule_count : 0;
	for (size_t i = 0; policy && i < policy->rule_count; i++) {
		if (has_criteria(&policy->rules[i]))
			continue;
		import->rules_tried = i;
		sl = policy->rules[i].sl;
		mark = policy->rules[i].mark;
		break;
	}
	if (sl < QOS_SLS && !sl_dropped(import, sl))
		return sl;
	f = import_tell(import, FINDING_IMPORT_CHANGED, import->files->policy_path, mark);
	finding_set(&f->what, "what no rule matches");
	finding_set(&f->wanted, "SL %u, by which OpenSM finds no path", sl);
	finding_set(&f->got, "SL 0");
	return 0;
}

/* Levels by their names, whether a rule has them or not: jobs may be started with their SLs. */
static int level_classes(struct import *import)
{
	const struct opensm_policy_file *policy = import->files->policy;
	int r = 0;

	for (size_t i = 0; policy && r == 0 && i < policy->level_count; i++)
		r = add_class(import, policy->levels[i].sl, policy->levels[i].name, "a level of the qos-policy file");
	for (size_t i = 0; policy && r == 0 && i < import->rules_tried; i++)
		if (policy->rules[i].level == OPENSM_NONE)
			r = add_class(import, policy->rules[i].sl, NULL, "an SL of qos-ulps");
	return r;
}

static int partition_classes(struct import *import)
{
	const struct opensm_partitions *partitions = import->files->partitions;
	int r = 0;

	for (size_t i = 0; partitions && r == 0 && i < partitions->count; i++)
		if (partitions->items[i].sl_mark.line)
			r = add_class(import, partitions->items[i].sl, NULL, "the SL of a partition");
	return r;
}

static bool vl_has_class(const struct import *import, int type, unsigned vl)
{
	for (size_t i = 0; i < import->class_count; i++)
		if (import->config.of[type].sl2vl.vl[import->classes[i].sl] == vl)
			return true;
	return false;
}

/* A class for each VL of adapters and switches that has none yet. */
static int vl_classes(struct import *import)
{
	static const int types[] = {QOS_PORT_SWE, QOS_PORT_CA};
	int r = 0;

	for (size_t t = 0; import->tables && t < 2; t++)
		for (unsigned sl = 0; r == 0 && sl < QOS_SLS; sl++)
			if (!vl_has_class(import, types[t], import->config.of[types[t]].sl2vl.vl[sl]))
				r = add_class(import, sl, NULL, "the first SL on its VL");
	return r;
}

static int make_classes(struct import *import)
{
	unsigned sl = default_sl(import);
	int r;

	for (unsigned i = 0; i < QOS_SLS; i++)
		import->class_of_sl[i] = OPENSM_NONE;
	r = level_classes(import);
	if (r == 0)
		r = add_class(import, sl, "default", "what no rule matches");
	if (r == 0)
		r = add_class(import, 0, NULL, "whatever chooses no SL");
	if (r == 0)
		r = partition_classes(import);
	if (r == 0)
		r = vl_classes(import);
	if (r == 0)
		import->default_class = import->class_of_sl[sl];
	return r;
}

/* --- shares --- */

static unsigned sharers(const struct import *import, int type, unsigned vl)
{
	unsigned count = 0;

	for (size_t i = 0; i < import->class_count; i++)
		count += import->config.of[type].sl2vl.vl[import->classes[i].sl] == vl;
	return count;
}

/* What the tables of a kind of port give each class at least, of packets of an MTU. */
static void shares_of(struct import *import, int type, unsigned mtu)
{
	const struct qos_tables *tables = &import->config.of[type];
	unsigned packet[QOS_DATA_VLS];
	double share[QOS_DATA_VLS];
	uint16_t busy = 0;

	for (size_t i = 0; i < import->class_count; i++)
		busy |= (uint16_t)(1u << tables->sl2vl.vl[import->classes[i].sl]);
	for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++)
		packet[vl] = mtu;
	qos_arbitrate(tables, busy, packet, share);
	for (size_t i = 0; i < import->class_count; i++) {
		struct import_class *class = &import->classes[i];
		unsigned vl = tables->sl2vl.vl[class->sl];
		double percent = 100 * share[vl] / sharers(import, type, vl);

		if (percent < class->share)
			class->share = percent;
	}
}

/* Tenths that rounding down has left over, one each to those that lost most by it: in all it is the whole again. */
static void hand_out(struct import *import, double lost[QOS_SLS], double sum)
{
	for (long tenths = lround(10 * (100 - sum)); tenths > 0; tenths--) {
		size_t most = 0;

		for (size_t i = 1; i < import->class_count; i++)
			if (lost[i] > lost[most])
				most = i;
		import->classes[most].share = (double)lround(10 * import->classes[most].share + 1) / 10;
		lost[most] -= 0.1;
	}
}

static void make_shares(struct import *import)
{
	double sum = 0, given = 0, highest = 0, scale = 1, lost[QOS_SLS] = {0};
	size_t largest = 0;
	bool whole;

	for (size_t i = 0; i < import->class_count; i++)
		import->classes[i].share = import->tables ? 100 : 100.0 / (double)import->class_count;
	/* the MTU of the fabric is not known here: the less of what is common */
	for (unsigned mtu = 2048; import->tables && mtu <= 4096; mtu *= 2) {
		shares_of(import, QOS_PORT_SWE, mtu);
		shares_of(import, QOS_PORT_CA, mtu);
	}
	for (size_t i = 0; i < import->class_count; i++) {
		given += import->classes[i].share;
		highest = fmax(highest, import->classes[i].share);
	}
	/* what kinds of port and MTUs differ by; where that is more, no shares of 100 in all would be true */
	whole = given > 0 && highest * (100 / given - 1) <= RISE_MOST;
	if (whole)
		scale = 100 / given;
	for (size_t i = 0; i < import->class_count; i++) {
		struct import_class *class = &import->classes[i];
		double exact = scale * class->share;

		class->share = floor(10 * exact + 1e-6) / 10;
		lost[i] = exact - class->share;
		if (class->share < SHARE_LEAST)
			class->share = SHARE_LEAST;
		sum += class->share;
		if (class->share > import->classes[largest].share)
			largest = i;
	}
	if (sum > 100) /* for those that have none */
		import->classes[largest].share -= ceil(10 * (sum - 100) - 1e-6) / 10;
	else if (whole)
		hand_out(import, lost, sum);
}

/* --- tables --- */

static int make_tables(struct import *import)
{
	const struct opensm_files *files = import->files;
	struct finding_list told = {0}; /* by lint */
	bool enabled;
	int r;

	if (!files->conf)
		return 0;
	r = opensm_conf_get_qos(files->conf, files->conf_path, &import->config, &enabled, &told);
	finding_list_clear(&told);
	import->tables = true;
	for (int type = 0; type < QOS_PORT_TYPES; type++) {
		struct qos_sl2vl *map = &import->config.of[type].sl2vl;
		struct finding *f;

		if (map->vl[0] != QOS_VL_DROP)
			continue;
		map->vl[0] = 0;
		f = import_tell(import, FINDING_IMPORT_CHANGED, files->conf_path, (struct opensm_mark){0, 0});
		finding_set(&f->what, "SL 0 on ports of kind %s", qos_port_type_name(type));
		finding_set(&f->wanted, "VL 15: dropped");
		finding_set(&f->got, "VL 0");
		finding_set(&f->detail, "no policy drops SL 0");
	}
	return r;
}

/* --- what levels say beyond their SL --- */

static void lost(struct import *import, const struct opensm_file_level *level, const char *what)
{
	struct finding *f = import_tell(import, FINDING_IMPORT_LEFT_OUT, import->files->policy_path, level->mark);

	finding_set(&f->what, "qos-level '%.64s'", level->name);
	finding_set(&f->got, "%s", what);
}

static void check_levels(struct import *import)
{
	const struct opensm_policy_file *policy = import->files->policy;

	for (size_t i = 0; policy && i < policy->level_count; i++) {
		const struct opensm_file_level *level = &policy->levels[i];

		if (level->mtu)
			lost(import, level, "mtu-limit");
		if (level->rate)
			lost(import, level, "rate-limit");
		if (level->life_set)
			lost(import, level, "packet-life");
		if (level->pkeys.count)
			lost(import, level, "pkey");
		if (level->sl >= QOS_SLS || sl_dropped(import, level->sl))
			lost(import, level, "an SL by which OpenSM finds no path");
	}
}

/* --- the whole --- */

int policy_import(const struct opensm_files *files, struct finding_list *findings, char **text, size_t *size)
{
	struct import import = {.files = files, .findings = findings};
	int r;

	*text = NULL;
	r = make_tables(&import);
	if (r == 0)
		r = make_classes(&import);
	if (r == 0) {
		make_shares(&import);
		check_levels(&import);
		r = import_groups(&import);
	}
	if (r == 0)
		r = import_rules(&import);
	if (r == 0) {
		import_order(&import);
		r = import_write(&import, text, size);
	}
	import_rules_clear(&import);
	for (size_t i = 0; i < import.class_count; i++)
		free(import.classes[i].name);
	if (r == 0 && findings->lost) {
		free(*text);
		*text = NULL;
		r = -ENOMEM;
	}
	return r;
}
