/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any names and numbers in what becomes metrics. Line by line, by rules of its own, the text is what Prometheus takes: HELP
 * and TYPE once before a metric's samples, labels quoted and escaped, no sample twice. The line for Nagios is one, with one '|'.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/report.h"
#include "report/prometheus.h"

#define STEPS_MAX 64
#define COLUMNS_MAX 8

/* --- reading back --- */

static const char *skip_name(const char *at)
{
	require(isalpha((unsigned char)*at) || *at == '_');
	while (isalnum((unsigned char)*at) || *at == '_')
		at++;
	return at;
}

/* Behind the labels; what is a sample's key ends there. */
static const char *skip_labels(const char *at)
{
	require(*at == '{');
	do {
		at = skip_name(at + 1);
		require(at[0] == '=' && at[1] == '"');
		for (at += 2; *at != '"'; at++) {
			require(*at != '\0' && *at != '\n');
			if (*at == '\\')
				at++, require(*at == '\\' || *at == '"' || *at == 'n');
		}
		at++;
	} while (*at == ',');
	require(*at == '}');
	return at + 1;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void check_metrics(char *text)
{
	char name[128] = "", *keys[4096], *line = text, *next;
	size_t count = 0;
	bool typed = false;

	require(fuzz_printable(text, "\n") && text[strlen(text) - 1] == '\n');
	for (; *line; line = next) {
		const char *end;
		char *rest;

		next = strchr(line, '\n') + 1;
		next[-1] = '\0';
		if (strncmp(line, "# HELP ", 7) == 0) {
			end = skip_name(line + 7);
			snprintf(name, sizeof(name), "%.*s", (int)(end - line - 7), line + 7);
			require(end[0] == ' ' && end[1] > ' ');
			typed = false;
			/* a metric comes once: its HELP is a key, too */
		} else if (strncmp(line, "# TYPE ", 7) == 0) {
			end = skip_name(line + 7);
			require(!typed && strlen(name) == (size_t)(end - line - 7) && strncmp(name, line + 7, strlen(name)) == 0);
			require(strcmp(end, " gauge") == 0 || strcmp(end, " counter") == 0);
			typed = true;
			continue;
		} else {
			end = skip_name(line);
			require(typed && strlen(name) == (size_t)(end - line) && strncmp(name, line, strlen(name)) == 0);
			end = skip_labels(end);
			require(*end == ' ' && (isdigit((unsigned char)end[1]) || end[1] == '-'));
			strtod(end, &rest);
			require(*rest == '\0');
			line[end - line] = '\0';
		}
		require(count < sizeof(keys) / sizeof(keys[0]));
		keys[count++] = line;
	}
	qsort(keys, count, sizeof(keys[0]), by_text);
	for (size_t i = 1; i < count; i++)
		require(strcmp(keys[i - 1], keys[i]) != 0);
}

static void check_nagios(const char *text)
{
	const char *bar = strchr(text, '|');

	require(fuzz_printable(text, "\n") && strchr(text, '\n') == text + strlen(text) - 1);
	require(bar && !strchr(bar + 1, '|') && strncmp(text, "IBQOS ", 6) == 0);
}

/* --- calls --- */

/* A name of few letters, so that two are alike now and then. */
static char *some_name(struct fuzz *in)
{
	static const char *const few[] = {"", "a", "\"", "\\", "\n", "\\\"|", "\xff\x1b", "master", "2026-11-30T10:42:21Z", "400 Gb/sec"};
	unsigned which = fuzz_below(in, 16);

	return which < 10 ? strdup(few[which]) : fuzz_text(in, 60);
}

static void some_field(struct report *r, struct fuzz *in, const char *key)
{
	char *name = some_name(in);
	uint64_t number = fuzz_u64(in);
	double real;

	memcpy(&real, &number, sizeof(real));
	switch (fuzz_below(in, 4)) {
	case 0:
		report_string(r, key, NULL, name);
		break;
	case 1:
		report_number(r, key, NULL, number);
		break;
	case 2:
		report_real(r, key, NULL, real, 3, NULL);
		break;
	default:
		report_bool(r, key, NULL, number & 1);
	}
	free(name);
}

/* A table of some rule with the columns that it names. */
static void some_table(struct report *r, struct fuzz *in, const struct prom_rule *rule)
{
	struct report_column columns[COLUMNS_MAX];
	char names[COLUMNS_MAX][32];
	const char *at = rule->columns;
	unsigned count = 1, rows = fuzz_below(in, 5);

	columns[0] = (struct report_column){.key = rule->key, .type = REPORT_NUMBER};
	while (*at && count < COLUMNS_MAX) {
		size_t length = strcspn(at, ",");

		const char *equals = memchr(at, '=', length);
		size_t label = equals ? (size_t)(equals + 1 - at) : 0;

		snprintf(names[count], sizeof(names[0]), "%.*s", (int)(length - label), at + label);
		columns[count] = (struct report_column){.key = names[count], .type = REPORT_STRING};
		count += strcmp(names[count], rule->key) != 0;
		at += length;
		at += *at == ',';
	}
	report_table(r, rule->group, NULL, columns, count);
	for (unsigned i = 0; i < rows; i++) {
		char *name = some_name(in);

		report_cell_number(r, fuzz_u64(in));
		for (unsigned n = 1; n < count; n++) {
			if (fuzz_bit(in))
				report_cell_guid(r, fuzz_byte(in));
			else
				report_cell_string(r, name);
		}
		report_row_end(r);
		free(name);
	}
	report_table_end(r);
}

static void some_finding(struct finding_list *findings, struct fuzz *in)
{
	struct finding *f = finding_add(findings, (enum finding_code)(fuzz_byte(in) % FINDING_CODES));

	f->cause = (enum finding_cause)fuzz_below(in, CAUSES);
	f->guid = fuzz_byte(in);
	f->port = (int)fuzz_byte(in) - 1;
	f->name = some_name(in);
	f->peer_guid = fuzz_byte(in);
	f->peer_port = (int)fuzz_byte(in) - 1;
	f->peer_name = some_name(in);
	f->file = fuzz_bit(in) ? some_name(in) : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = {data, size};
	char *texts[2] = {NULL, NULL}, *fabric = some_name(&in);
	struct ibqos_ctx ctx = {.program = "fuzz", .command = "fuzz", .err = stderr, .fabric = fabric};
	struct finding_list findings = {0};
	struct report *metrics, *line;
	size_t sizes[2];
	FILE *out[2] = {open_memstream(&texts[0], &sizes[0]), open_memstream(&texts[1], &sizes[1])};
	enum ibqos_exit verdict = fuzz_below(&in, 4);

	require(out[0] && out[1]);
	metrics = report_begin(&ctx, out[0], REPORT_PROMETHEUS);
	line = report_begin(&ctx, out[1], REPORT_NAGIOS);
	require(metrics && line);
	report_also(metrics, line);
	for (unsigned steps = 0; in.left > 0 && steps < STEPS_MAX; steps++) {
		const struct prom_rule *rule = &prom_rules[fuzz_byte(&in) % prom_rule_count];

		if (fuzz_below(&in, 3) == 0) {
			some_finding(&findings, &in);
		} else if (rule->columns) {
			some_table(metrics, &in, rule);
		} else {
			if (*rule->group)
				report_section(metrics, rule->group, NULL);
			some_field(metrics, &in, rule->key);
			report_section_end(metrics);
		}
	}
	finding_list_sort(&findings);
	report_findings(metrics, &findings, fuzz_bit(&in));
	require(report_end(metrics, verdict) == 0 && report_end(line, verdict) == 0);
	require(fclose(out[0]) == 0 && fclose(out[1]) == 0);
	check_metrics(texts[0]);
	check_nagios(texts[1]);
	finding_list_clear(&findings);
	free(fabric);
	free(texts[0]);
	free(texts[1]);
	return 0;
}
