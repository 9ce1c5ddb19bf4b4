/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The text of an imported policy.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"

#define GUIDS_A_LINE 4

/* --- pieces --- */

static void write_quoted(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

/* A node's name as a pattern that matches it alone. */
static void write_pattern(FILE *out, const char *text, size_t size)
{
	fputc('"', out);
	for (size_t i = 0; i < size; i++) {
		if (strchr("*?[\\", text[i]) && text[i])
			fputs("\\\\", out); /* a backslash, in double quotes */
		if (text[i] == '\\' || text[i] == '"')
			fputc('\\', out);
		fputc(text[i], out);
	}
	fputc('"', out);
}

static void write_ranges(FILE *out, const char *key, bool decimal, const struct policy_ranges *ranges)
{
	fprintf(out, "%s: %s", key, ranges->count > 1 ? "[" : "");
	for (size_t i = 0; i < ranges->count; i++) {
		const struct policy_range *range = &ranges->items[i];

		fputs(i ? ", " : "", out);
		fprintf(out, decimal ? "%" PRIu64 : "0x%" PRIx64, range->low);
		if (range->high != range->low)
			fprintf(out, decimal ? "-%" PRIu64 : "-0x%" PRIx64, range->high);
	}
	fputs(ranges->count > 1 ? "]" : "", out);
}

static void write_names(FILE *out, const char *key, const struct policy_texts *texts)
{
	fprintf(out, "%s: %s", key, texts->count > 1 ? "[" : "");
	for (size_t i = 0; i < texts->count; i++)
		fprintf(out, "%s%s", i ? ", " : "", texts->items[i].text);
	fputs(texts->count > 1 ? "]" : "", out);
}

/* --- classes --- */

/* The service that is exactly these IDs; NULL: none. */
static const char *service_of(const struct policy_ranges *ranges)
{
	size_t count;
	const struct policy_service *services = policy_services(&count);

	for (size_t i = 0; ranges->count == 1 && i < count; i++)
		if (services[i].high && services[i].low == ranges->items[0].low && services[i].high == ranges->items[0].high)
			return services[i].name;
	return NULL;
}

static void write_match(FILE *out, const struct import_rule *rule)
{
	const struct policy_rule *r = &rule->rule;
	const char *service = service_of(&r->service_ids), *between = "";

	fputs("      - {", out);
	if (service)
		fprintf(out, "service: %s", service);
	else if (r->service_ids.count)
		write_ranges(out, "service_id", false, &r->service_ids);
	between = r->service_ids.count ? ", " : "";
	if (r->qos_classes.count) {
		fputs(between, out);
		write_ranges(out, "qos_class", true, &r->qos_classes);
		between = ", ";
	}
	if (r->pkey) {
		fprintf(out, "%spkey: 0x%x", between, r->pkey);
		between = ", ";
	}
	if (r->sources) {
		fputs(between, out);
		write_names(out, "source", r->sources);
		between = ", ";
	}
	if (r->destinations) {
		fputs(between, out);
		write_names(out, "destination", r->destinations);
	}
	fprintf(out, "} # line %u\n", rule->mark.line);
}

static void write_class(FILE *out, const struct import *import, size_t number)
{
	const struct import_class *class = &import->classes[number];
	bool match = false;

	fprintf(out, "  - name: %s # %s\n    sl: %u\n    share: %.1f%%\n", class->name, class->why, class->sl, class->share);
	if (number == import->default_class)
		fputs("    default: true\n", out);
	for (size_t i = 0; i < import->rule_count; i++) {
		if (import->rules[i].rule.class != number)
			continue;
		fputs(match ? "" : "    match:\n", out);
		write_match(out, &import->rules[i]);
		match = true;
	}
}

static void write_classes(FILE *out, const struct import *import)
{
	fputs("classes:\n", out);
	for (unsigned place = 0; place < import->class_count; place++)
		for (size_t i = 0; i < import->class_count; i++)
			if (import->classes[i].order == place)
				write_class(out, import, i);
}

/* --- tables --- */

static bool same_vlarb(const struct qos_vlarb *a, const struct qos_vlarb *b)
{
	return a->count == b->count && memcmp(a->entry, b->entry, sizeof(a->entry)) == 0;
}

static bool same_tables(const struct qos_tables *a, const struct qos_tables *b)
{
	return a->high_limit == b->high_limit && qos_sl2vl_equal(&a->sl2vl, &b->sl2vl) && same_vlarb(&a->high, &b->high) &&
	       same_vlarb(&a->low, &b->low);
}

static void write_vlarb(FILE *out, const char *key, const struct qos_vlarb *table)
{
	char text[QOS_TEXT_MAX];

	qos_vlarb_format(table->entry, table->count, text);
	fprintf(out, "    %s: %s\n", key, *text ? text : "0:0"); /* an empty table is one of zeros */
}

static void write_tables(FILE *out, const struct import *import)
{
	const struct qos_tables *ca = &import->config.of[QOS_PORT_CA];
	char text[QOS_TEXT_MAX];

	if (!import->tables)
		return;
	fputs("tables:\n", out);
	for (int type = 0; type < QOS_PORT_TYPES; type++) {
		const struct qos_tables *tables = &import->config.of[type];

		if (type != QOS_PORT_CA && same_tables(tables, ca))
			continue;
		qos_sl2vl_format(&tables->sl2vl, text);
		fprintf(out, "  %s:\n    sl2vl: %s\n", qos_port_type_name(type), text);
		write_vlarb(out, "vlarb_high", &tables->high);
		write_vlarb(out, "vlarb_low", &tables->low);
		fprintf(out, "    high_limit: %u\n", tables->high_limit);
	}
}

/* --- groups --- */

static void write_guids(FILE *out, const struct opensm_ranges *guids)
{
	unsigned count = 0;

	for (size_t i = 0; i < guids->count; i++)
		for (uint64_t guid = guids->items[i].low;; guid++) {
			if (guid) /* there is no GUID 0 */
				fprintf(out, "%s0x%016" PRIx64, count == 0 ? "" : count % GUIDS_A_LINE ? ", " : ",\n               ", guid);
			count += guid != 0;
			if (guid == guids->items[i].high)
				break;
		}
}

static void write_node_types(FILE *out, unsigned types)
{
	static const char *const names[] = {"ca", "switch", "router"};
	const char *between = "";

	for (unsigned i = 0; i < 3; i++) {
		if (!(types >> i & 1))
			continue;
		fprintf(out, "%s%s", between, names[i]);
		between = ", ";
	}
}

static void write_group(FILE *out, const struct import_group *name, const struct opensm_file_group *group)
{
	fprintf(out, "  %s: # line %u\n", name->name, group->mark.line);
	if (import_guids_sayable(group)) {
		fputs("    - {guid: [", out);
		write_guids(out, &group->guids);
		fputs("]}\n", out);
	}
	for (size_t i = 0; i < group->ports.count; i++) {
		const struct opensm_name *port = &group->ports.items[i];

		if (!import_port_sayable(group, i))
			continue;
		fputs("    - {name: ", out);
		write_pattern(out, port->text, (size_t)(strrchr(port->text, '/') - port->text));
		fputs("}\n", out);
	}
	if (group->node_types) {
		fputs("    - {node_type: [", out);
		write_node_types(out, group->node_types);
		fputs("]}\n", out);
	}
}

static void write_groups(FILE *out, const struct import *import)
{
	bool any = false;

	for (size_t i = 0; import->files->policy && i < import->files->policy->group_count; i++) {
		if (!import->groups[i].used)
			continue;
		fputs(any ? "" : "groups:\n", out);
		write_group(out, &import->groups[i], &import->files->policy->groups[i]);
		any = true;
	}
}

/* --- partitions --- */

struct namer {
	char **names;
	size_t count;
};

/* Unique, since a policy knows partitions by name; a partition with a name that another has is known by its key. */
static void partition_name(const struct opensm_partition *partition, size_t number,
			   const struct opensm_partitions *all, char name[POLICY_NAME_MAX + 1])
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	const char *text = partition->name;
	bool plain = strspn(text, good) == strlen(text) && strspn(text, good) > 0 && !strchr(good + 52, *text);

	for (size_t i = 0; plain && i < number; i++)
		plain = strcmp(all->items[i].name, text) != 0;
	if (plain)
		snprintf(name, POLICY_NAME_MAX + 1, "%s", text);
	else
		snprintf(name, POLICY_NAME_MAX + 1, "pkey-%04x", partition->pkey);
}

static void write_partitions(FILE *out, const struct import *import)
{
	const struct opensm_partitions *partitions = import->files->partitions;
	bool any = false;

	for (size_t i = 0; partitions && i < partitions->count; i++) {
		const struct opensm_partition *p = &partitions->items[i];
		char name[POLICY_NAME_MAX + 1];

		if (!p->mark.line)
			continue;
		partition_name(p, i, partitions, name);
		fprintf(out, "%s  - {name: \"%s\", pkey: 0x%x", any ? "" : "partitions:\n", name, p->pkey);
		if (p->sl_mark.line)
			fprintf(out, ", sl: %u", p->sl);
		fprintf(out, "%s}\n", p->ipoib ? ", ipoib: true" : "");
		any = true;
	}
}

/* --- the whole --- */

static void write_opensm(FILE *out, const struct import *import)
{
	const struct opensm_files *files = import->files;
	const char *rules = files->conf ? opensm_conf_get(files->conf, "qos_policy_file") : NULL;
	char *path = files->conf ? realpath(files->conf_path, NULL) : NULL;

	if (!path)
		return;
	fputs("opensm:\n  config: ", out);
	write_quoted(out, path);
	fputc('\n', out);
	if (rules && *rules == '/') {
		fputs("  qos_policy: ", out);
		write_quoted(out, rules);
		fputc('\n', out);
	}
	free(path);
}

int import_write(const struct import *import, char **text, size_t *size)
{
	FILE *out = open_memstream(text, size);

	if (!out)
		return -ENOMEM;
	fputs("# Made by ibqos import of OpenSM's own files. The shares are what the tables give; to have ibqos\n"
	      "# make tables of shares, change these and remove 'tables'.\n"
	      "version: 1\n",
	      out);
	write_classes(out, import);
	write_tables(out, import);
	write_groups(out, import);
	write_partitions(out, import);
	write_opensm(out, import);
	return text_stream_end(out, text);
}
