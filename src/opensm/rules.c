/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * qos-policy.conf as OpenSM's parser takes it (osm_qos_parser_l.l, osm_qos_parser_y.y). One fault
 * would drop the whole policy while the sweep goes on (osm_qos_parser_y.y:2447), so that what
 * could be one is refused here. The first line is a comment: its newline resets the lexer's
 * flags, which outlive a file that ended badly. CRLF and an unended last line are syntax errors.
 *
 * Lists of names are written one a line: in a list the lexer would take "…any,pkey…" for a
 * keyword of the other section. GUIDs are single: OpenSM walks a range number by number.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ibqos/opensm.h"

#define DEFAULT_LEVEL "default" /* OSM_QOS_POLICY_DEFAULT_LEVEL_NAME */
#define NAME_MAX_LENGTH 1024	/* the parser collects a text in 10 KiB without looking */
#define QOS_CLASS_MAX 255
#define PKEY_MAX 0x7fff

/* --- what OpenSM would not take --- */

/* Letters, digits and '_' only: blanks are dropped by the lexer, hyphens make keywords. */
static bool name_valid(const char *name)
{
	const char *good = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

	return *name && name[strspn(name, good)] == '\0' && strlen(name) <= NAME_MAX_LENGTH;
}

static bool has_level(const struct opensm_policy *policy, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(policy->levels[i].name, name) == 0) /* as osm_qos_policy.c compares */
			return true;
	return false;
}

static bool has_group(const struct opensm_policy *policy, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(policy->groups[i].name, name) == 0)
			return true;
	return false;
}

static bool ranges_valid(const struct opensm_range *ranges, size_t count, uint64_t low, uint64_t high)
{
	for (size_t i = 0; i < count; i++)
		if (ranges[i].low > ranges[i].high || ranges[i].low < low || ranges[i].high > high)
			return false;
	return true;
}

static bool groups_named(const struct opensm_policy *policy, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!has_group(policy, policy->group_count, names[i]))
			return false;
	return true;
}

static bool rule_valid(const struct opensm_policy *policy, const struct opensm_rule *rule)
{
	/* one without criteria would match every request */
	return has_level(policy, policy->level_count, rule->level) &&
	       rule->qos_class_count + rule->service_id_count + rule->pkey_count + rule->source_count +
			       rule->destination_count > 0 &&
	       ranges_valid(rule->qos_classes, rule->qos_class_count, 0, QOS_CLASS_MAX) &&
	       ranges_valid(rule->service_ids, rule->service_id_count, 0, UINT64_MAX) &&
	       ranges_valid(rule->pkeys, rule->pkey_count, 1, PKEY_MAX) &&
	       groups_named(policy, rule->sources, rule->source_count) &&
	       groups_named(policy, rule->destinations, rule->destination_count);
}

/*
 * OpenSM loads an SL above 15 and then finds no path; needs a default level; of doubles it takes
 * the first. A group without ports is good for nothing.
 */
static bool policy_valid(const struct opensm_policy *policy)
{
	for (size_t i = 0; i < policy->level_count; i++)
		if (!name_valid(policy->levels[i].name) || policy->levels[i].sl >= QOS_SLS ||
		    has_level(policy, i, policy->levels[i].name))
			return false;
	for (size_t i = 0; i < policy->group_count; i++)
		if (!name_valid(policy->groups[i].name) || has_group(policy, i, policy->groups[i].name) ||
		    policy->groups[i].guid_count == 0)
			return false;
	for (size_t i = 0; i < policy->rule_count; i++)
		if (!rule_valid(policy, &policy->rules[i]))
			return false;
	return has_level(policy, policy->level_count, DEFAULT_LEVEL);
}

/* --- writing --- */

static void write_groups(FILE *out, const struct opensm_policy *policy)
{
	if (policy->group_count == 0) /* an empty section is a syntax error */
		return;
	fputs("port-groups\n", out);
	for (size_t i = 0; i < policy->group_count; i++) {
		const struct opensm_group *group = &policy->groups[i];

		fprintf(out, "    port-group\n        name: %s\n", group->name);
		for (size_t n = 0; n < group->guid_count; n++)
			fprintf(out, "        port-guid: 0x%016" PRIx64 "\n", group->guids[n]);
		fputs("    end-port-group\n", out);
	}
	fputs("end-port-groups\n\n", out);
}

static void write_levels(FILE *out, const struct opensm_policy *policy)
{
	fputs("qos-levels\n", out);
	for (size_t i = 0; i < policy->level_count; i++)
		fprintf(out, "    qos-level\n        name: %s\n        sl: %u\n    end-qos-level\n",
			policy->levels[i].name, policy->levels[i].sl);
	fputs("end-qos-levels\n", out);
}

static void write_number(FILE *out, bool decimal, uint64_t number)
{
	if (decimal)
		fprintf(out, "%" PRIu64, number);
	else
		fprintf(out, "0x%" PRIx64, number);
}

static void write_ranges(FILE *out, const char *key, bool decimal, const struct opensm_range *ranges,
			 size_t count)
{
	if (count == 0)
		return;
	fprintf(out, "        %s: ", key);
	for (size_t i = 0; i < count; i++) {
		fputs(i ? "," : "", out);
		write_number(out, decimal, ranges[i].low);
		if (ranges[i].high == ranges[i].low)
			continue;
		fputc('-', out);
		write_number(out, decimal, ranges[i].high);
	}
	fputc('\n', out);
}

static void write_names(FILE *out, const char *key, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fprintf(out, "        %s: %s\n", key, names[i]);
}

static void write_rules(FILE *out, const struct opensm_policy *policy)
{
	if (policy->rule_count == 0)
		return;
	fputs("\nqos-match-rules\n", out);
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct opensm_rule *rule = &policy->rules[i];

		fputs("    qos-match-rule\n", out);
		write_ranges(out, "qos-class", true, rule->qos_classes, rule->qos_class_count);
		write_ranges(out, "service-id", false, rule->service_ids, rule->service_id_count);
		write_ranges(out, "pkey", false, rule->pkeys, rule->pkey_count);
		write_names(out, "source", rule->sources, rule->source_count);
		write_names(out, "destination", rule->destinations, rule->destination_count);
		fprintf(out, "        qos-level-name: %s\n    end-qos-match-rule\n", rule->level);
	}
	fputs("end-qos-match-rules\n", out);
}

int opensm_policy_render(const struct opensm_policy *policy, char **text, size_t *size)
{
	FILE *out;

	*text = NULL;
	if (!policy_valid(policy))
		return -EINVAL;
	out = open_memstream(text, size);
	if (!out)
		return -ENOMEM;
	fputs("# Made by ibqos from its policy: edit that one, this file is replaced.\n", out);
	write_groups(out, policy);
	write_levels(out, policy);
	write_rules(out, policy);
	return text_stream_end(out, text);
}
