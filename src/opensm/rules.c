/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * qos-policy.conf as OpenSM's parser takes it (osm_qos_parser_l.l, osm_qos_parser_y.y). One fault
 * would drop the whole policy while the sweep goes on (osm_qos_parser_y.y:2447), so that what
 * could be one is refused here. The first line is a comment: its newline resets the lexer's
 * flags, which outlive a file that ended badly. CRLF and an unended last line are syntax errors.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ibqos/opensm.h"

#define DEFAULT_LEVEL "default" /* OSM_QOS_POLICY_DEFAULT_LEVEL_NAME */
#define QOS_CLASS_MAX 255

/* Letters, digits and '_' only: blanks are dropped by the lexer, hyphens make keywords. */
static bool name_valid(const char *name)
{
	const char *good = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

	return *name && name[strspn(name, good)] == '\0';
}

static const struct opensm_level *level_find(const struct opensm_level *levels, size_t count,
					     const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(levels[i].name, name) == 0) /* as osm_qos_policy.c compares */
			return &levels[i];
	return NULL;
}

/* OpenSM loads an SL above 15 and then finds no path; needs a default level; of doubles it takes the first.
 */
static bool policy_valid(const struct opensm_level *levels, size_t level_count,
			 const struct opensm_rule *rules, size_t rule_count)
{
	for (size_t i = 0; i < level_count; i++)
		if (!name_valid(levels[i].name) || levels[i].sl >= QOS_SLS ||
		    level_find(levels, i, levels[i].name))
			return false;
	for (size_t i = 0; i < rule_count; i++)
		if (rules[i].qos_class > QOS_CLASS_MAX || !level_find(levels, level_count, rules[i].level))
			return false;
	return level_find(levels, level_count, DEFAULT_LEVEL) != NULL;
}

int opensm_policy_render(const struct opensm_level *levels, size_t level_count,
			 const struct opensm_rule *rules, size_t rule_count, char **text, size_t *size)
{
	FILE *out;

	*text = NULL;
	if (!policy_valid(levels, level_count, rules, rule_count))
		return -EINVAL;
	out = open_memstream(text, size);
	if (!out)
		return -ENOMEM;
	fputs("# Made by ibqos from its policy: edit that one, this file is replaced.\n"
	      "qos-levels\n",
	      out);
	for (size_t i = 0; i < level_count; i++)
		fprintf(out, "    qos-level\n        name: %s\n        sl: %u\n    end-qos-level\n",
			levels[i].name, levels[i].sl);
	fputs("end-qos-levels\n", out);
	if (rule_count > 0) {
		fputs("\nqos-match-rules\n", out);
		for (size_t i = 0; i < rule_count; i++)
			fprintf(out,
				"    qos-match-rule\n        qos-class: %u\n        qos-level-name: %s\n"
				"    end-qos-match-rule\n",
				rules[i].qos_class, rules[i].level);
		fputs("end-qos-match-rules\n", out);
	}
	return text_stream_end(out, text);
}
