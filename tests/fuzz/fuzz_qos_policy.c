/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any text as a qos-policy file: it is refused for one fault with a place in the text, or taken whole, with
 * ranges in order and names that name something. A comment in front changes nothing but the lines. What
 * is taken is imported as a policy that ibqos takes.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/opensm_files.h"
#include "ibqos/policy.h"

#define COMMENT "# c\n"

static unsigned lines_of(const char *text, size_t size)
{
	unsigned lines = 1;

	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	return lines;
}

static void check_ranges(const struct opensm_ranges *ranges, uint64_t max)
{
	for (size_t i = 0; i < ranges->count; i++) {
		require(ranges->items[i].low <= ranges->items[i].high && ranges->items[i].high <= max);
		require(i == 0 || ranges->items[i - 1].high + 1 < ranges->items[i].low);
	}
}

static void check_groups(const struct opensm_policy_file *file, const struct opensm_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		require(names->items[i].index < file->group_count);
		require(strcasecmp(names->items[i].text, file->groups[names->items[i].index].name) == 0);
	}
}

static void check_file(const struct opensm_policy_file *file)
{
	bool has_default = file->default_level == OPENSM_NONE;

	for (size_t i = 0; i < file->level_count; i++) {
		require(file->levels[i].name && file->levels[i].sl <= 255 && file->levels[i].mtu <= 5);
		has_default |= strcasecmp(file->levels[i].name, "default") == 0;
		check_ranges(&file->levels[i].pkeys, 0x7fff);
	}
	require(has_default);
	for (size_t i = 0; i < file->group_count; i++) {
		require(file->groups[i].name);
		check_ranges(&file->groups[i].guids, UINT64_MAX);
	}
	for (size_t i = 0; i < file->rule_count; i++) {
		const struct opensm_file_rule *rule = &file->rules[i];

		require(rule->level == OPENSM_NONE ? rule->sl < QOS_SLS : rule->sl == file->levels[rule->level].sl);
		check_ranges(&rule->qos_classes, UINT64_MAX);
		check_ranges(&rule->service_ids, UINT64_MAX);
		check_ranges(&rule->pkeys, 0x7fff);
		check_groups(file, &rule->sources);
		check_groups(file, &rule->destinations);
	}
}

static void check_import(const struct opensm_policy_file *file)
{
	const struct opensm_files files = {.policy = file, .policy_path = "qos-policy"};
	struct finding_list told = {0}, findings = {0};
	struct policy *policy = NULL;
	char *text;
	size_t size;

	require(policy_import(&files, &told, &text, &size) == 0);
	/* more levels than names of groups, or longer than any policy: told as what it is */
	require(policy_parse("policy", text, size, &findings, &policy) == 0);
	if (!policy)
		for (size_t i = 0; i < findings.count; i++)
			require(findings.items[i].severity != FINDING_CRITICAL || findings.items[i].code == FINDING_POLICY_RANGE ||
				findings.items[i].code == FINDING_POLICY_SYNTAX);
	policy_free(policy);
	free(text);
	finding_list_clear(&told);
	finding_list_clear(&findings);
}

static struct opensm_policy_file *read_file(const char *text, size_t size, struct finding_list *findings)
{
	struct opensm_policy_file *file;
	size_t refused;

	require(opensm_policy_read("f", text, size, findings, &file) == 0);
	refused = finding_count_code(findings, FINDING_OPENSM_RULES_REFUSED);
	require(refused == (file ? 0 : 1));
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *f = &findings->items[i];

		require(f->line >= 1 && f->line <= lines_of(text, size) && f->column >= 1 && f->column <= size + 1);
		require(fuzz_printable(f->got ? f->got : "", "") && fuzz_printable(f->detail ? f->detail : "", ""));
	}
	return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct finding_list findings = {0}, shifted = {0};
	struct opensm_policy_file *file = read_file((const char *)data, size, &findings), *again;
	char *text = malloc(size + sizeof(COMMENT));

	require(text);
	memcpy(text, COMMENT, strlen(COMMENT));
	memcpy(text + strlen(COMMENT), data, size);
	again = read_file(text, strlen(COMMENT) + size, &shifted);
	require(!file == !again && findings.count == shifted.count);
	for (size_t i = 0; i < findings.count; i++) {
		require(findings.items[i].code == shifted.items[i].code);
		require(findings.items[i].line + 1 == shifted.items[i].line);
		require(findings.items[i].column == shifted.items[i].column);
	}
	if (file) {
		check_file(file);
		check_import(file);
	}
	opensm_policy_file_free(file);
	opensm_policy_file_free(again);
	finding_list_clear(&findings);
	finding_list_clear(&shifted);
	free(text);
	return 0;
}
