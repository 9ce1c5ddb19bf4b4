/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Metrics for Prometheus (text exposition format 0.0.4), as node_exporter's textfile collector reads them. GUID and port
 * are labels; names, which change, are in ibqos_port_info alone. How many series there are does not grow with the fabric
 * unless each port is asked for.
 */
#include "prometheus.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ibqos/util.h"

/* Findings with a place that are told by port; the worst come first. */
#define PLACES_MAX 1000

struct prom_state {
	uint64_t began_ns;
	char *common; /* labels of every sample: command, fabric */
	char *version;
	bool failed;	       /* the run was not done */
	char *section, *table; /* that is open; NULL: none */
	bool wanted;	       /* some rule is about the table */
	size_t placed;
	struct prom_samples samples[PROM_METRICS];
};

/* --- labels --- */

static void put_escaped(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			fputc('\\', to);
		if (*text == '\n')
			fputs("\\n", to);
		else
			fputc(*text, to);
	}
}

/* A label, unless its value is not known: an empty label is the same as none. `first` becomes false. */
static void put_label(FILE *to, const char *name, size_t length, const struct report_value *value, bool *first)
{
	char buffer[TEXT_VALUE_SIZE];
	const char *text = value->knowledge == REPORT_KNOWN ? text_of(value, 6, buffer) : "";

	if (value->type == REPORT_BOOL && *text)
		text = value->truth ? "1" : "0";
	if (!*text)
		return;
	fprintf(to, "%s%.*s=\"", *first ? "" : ",", (int)length, name);
	put_escaped(to, text);
	fputc('"', to);
	*first = false;
}

static const struct report_value *cell_of(const struct report *r, const char *key, size_t length)
{
	for (unsigned i = 0; i < r->column_count && i < r->cell_count; i++)
		if (strncmp(r->columns[i].key, key, length) == 0 && r->columns[i].key[length] == '\0')
			return &r->cells[i];
	return NULL;
}

/* The cells of a row that are labels, by the names of their columns with commas between; "label=column" where they differ. */
static void put_cells(FILE *to, const struct report *r, const char *names, bool *first)
{
	while (names && *names) {
		size_t length = strcspn(names, ","), label = strcspn(names, ",=");
		size_t column = label < length ? label + 1 : 0;
		const struct report_value *cell = cell_of(r, names + column, length - column);

		if (cell)
			put_label(to, names, label, cell, first);
		names += length;
		names += *names == ',';
	}
}

/* The labels of some cells, or NULL when out of memory, which is remembered. The caller frees it. */
static char *labels_of(struct report *r, const char *names)
{
	char *text = NULL;
	size_t size;
	bool first = true;
	FILE *to = open_memstream(&text, &size);

	if (to) {
		put_cells(to, r, names, &first);
		if (text_stream_end(to, &text) == 0)
			return text;
	}
	report_fail(r, -ENOMEM);
	return NULL;
}

/* --- samples --- */

/* Labels put together, the part's fabric first; any may be NULL or "". NULL: out of memory. */
static char *join_labels(const struct report *r, const char *labels, const char *cells)
{
	char *text = NULL;
	size_t size;
	const char *between = "";
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	if (r->part) {
		fputs("fabric=\"", to);
		put_escaped(to, r->part);
		fputc('"', to);
		between = ",";
	}
	if (labels && *labels) {
		fprintf(to, "%s%s", between, labels);
		between = ",";
	}
	if (cells && *cells)
		fprintf(to, "%s%s", between, cells);
	return text_stream_end(to, &text) == 0 ? text : NULL;
}

/* Adds a sample; all strings may be NULL. `cells` and `more` become the sample's. */
static void add(struct report *r, enum prom_metric metric, const char *labels, char *cells, char *more, double value)
{
	struct prom_state *state = r->own;
	char *both = join_labels(r, labels, cells);

	free(cells);
	if (!both || prom_samples_add(&state->samples[metric], both, more, value) < 0) {
		free(both);
		free(more);
		report_fail(r, -ENOMEM);
	}
}

static void put_sample(struct report *r, enum prom_metric metric, const char *labels, double value)
{
	add(r, metric, labels, NULL, NULL, value);
}

/* What a value is as a number; false: nothing that is known. */
static bool number_of(const struct prom_rule *rule, const struct report_value *value, double *number)
{
	double scale = rule->scale != 0 ? rule->scale : 1;
	struct tm tm = {0};
	char *end;

	if (value->knowledge != REPORT_KNOWN)
		return false;
	if (rule->how == PROM_INFO) {
		*number = 1;
		return true;
	}
	if (rule->how == PROM_VALUE) {
		if (value->type != REPORT_NUMBER && value->type != REPORT_REAL && value->type != REPORT_BOOL)
			return false;
		*number = scale * (value->type == REPORT_NUMBER ? (double)value->number
				   : value->type == REPORT_REAL ? value->real
								: value->truth);
		return true;
	}
	if (value->type != REPORT_STRING)
		return false;
	switch (rule->how) {
	case PROM_EQUALS:
		*number = strcmp(value->string, rule->word) == 0;
		return true;
	case PROM_NUMBER:
		*number = scale * strtod(value->string, &end);
		return end != value->string;
	case PROM_UTC:
		end = strptime(value->string, "%Y-%m-%dT%H:%M:%SZ", &tm);
		*number = end ? (double)timegm(&tm) : 0;
		return end && *end == '\0';
	default:
		return false;
	}
}

static void apply_rules(struct report *r, const char *group, const char *key, const struct report_value *value)
{
	for (size_t i = 0; i < prom_rule_count; i++) {
		const struct prom_rule *rule = &prom_rules[i];
		const struct report_value *only;
		char *cells;
		double number;

		if (strcmp(rule->key, key) != 0 || strcmp(rule->group, group) != 0 || !number_of(rule, value, &number))
			continue;
		/* a section and a table may have one name; cells are of tables */
		if ((rule->columns != NULL) != (r->columns != NULL))
			continue;
		only = rule->only ? cell_of(r, rule->only, strlen(rule->only)) : NULL;
		if (rule->only && (!only || only->knowledge != REPORT_KNOWN || only->type != REPORT_STRING ||
				   strcmp(only->string, rule->word) != 0))
			continue;
		cells = rule->columns ? labels_of(r, rule->columns) : NULL;
		if (cells || !rule->columns)
			add(r, rule->metric, rule->labels, cells, NULL, number);
	}
}

/* --- places and findings --- */

static bool known(const struct report_value *value)
{
	return value && value->knowledge == REPORT_KNOWN;
}

static void add_cells(struct report *r, enum prom_metric metric, const char *columns, const char *more)
{
	/* where one is missing, memory is, and the report comes to nothing */
	add(r, metric, NULL, labels_of(r, columns), more ? labels_of(r, more) : NULL, 1);
}

/* The names of a port that has a metric. */
static void add_info(struct report *r)
{
	add_cells(r, PROM_PORT_INFO, "fabric,node_guid,port", "node,peer_guid,peer_port,peer");
}

static void add_finding(struct report *r, struct prom_state *state)
{
	add_cells(r, PROM_BY_CODE, "fabric,code,severity,class", NULL);
	if (!known(cell_of(r, "node_guid", strlen("node_guid"))))
		return;
	if (state->placed >= PLACES_MAX && !r->all) {
		add_cells(r, PROM_PORT_OMITTED, "fabric", NULL);
		return;
	}
	state->placed++;
	add_cells(r, PROM_PORT_FINDINGS, "fabric,node_guid,port,code,severity,class", NULL);
	add_info(r);
}

/* --- the writer --- */

static int prom_open(struct report *r)
{
	struct prom_state *state = calloc(1, sizeof(*state));

	if (!state)
		return -ENOMEM;
	state->began_ns = clock_ns();
	r->own = state;
	return 0;
}

/* A label of every sample, from a field of the report's head. */
static void add_common(struct report *r, struct prom_state *state, const char *name, const struct report_value *value)
{
	char *text = NULL;
	size_t size;
	bool first = !state->common;
	FILE *to = open_memstream(&text, &size);

	if (to) {
		fputs(state->common ? state->common : "", to);
		put_label(to, name, strlen(name), value, &first);
		if (text_stream_end(to, &text) != 0)
			text = NULL;
	}
	if (!text)
		report_fail(r, -ENOMEM);
	free(state->common);
	state->common = text;
}

static void keep(struct report *r, char **text, const char *value)
{
	free(*text);
	*text = value ? strdup(value) : NULL;
	if (value && !*text)
		report_fail(r, -ENOMEM);
}

static void prom_field(struct report *r, const char *key, const char *title, const struct report_value *value)
{
	struct prom_state *state = r->own;
	bool top = !state->section;

	(void)title;
	if ((!top && strcmp(state->section, REPORT_LABELS) == 0) ||
	    (top && (strcmp(key, "command") == 0 || strcmp(key, "fabric") == 0)))
		add_common(r, state, key, value);
	else if (top && strcmp(key, "ibqos") == 0)
		keep(r, &state->version, known(value) ? value->string : NULL);
	else if (strcmp(key, "error") == 0 || strncmp(key, "error_", 6) == 0)
		state->failed = true;
	else if (top && strcmp(key, "findings_lost") == 0 && value->truth)
		state->failed = true;
	else
		apply_rules(r, top ? "" : state->section, key, value);
}

static void prom_section(struct report *r, const char *key, const char *title)
{
	struct prom_state *state = r->own;

	(void)title;
	keep(r, &state->section, key);
}

static void prom_section_end(struct report *r)
{
	struct prom_state *state = r->own;

	keep(r, &state->section, NULL);
}

static void prom_table(struct report *r, const char *key, const char *title)
{
	struct prom_state *state = r->own;

	(void)title;
	keep(r, &state->table, key);
	state->wanted = strcmp(key, "findings") == 0;
	for (size_t i = 0; i < prom_rule_count; i++)
		state->wanted |= prom_rules[i].columns && strcmp(prom_rules[i].group, key) == 0;
}

static void prom_row(struct report *r)
{
	struct prom_state *state = r->own;

	if (!state->wanted || !state->table)
		return;
	if (strcmp(state->table, "findings") == 0) {
		add_finding(r, state);
		return;
	}
	for (unsigned i = 0; i < r->column_count && i < r->cell_count; i++)
		apply_rules(r, state->table, r->columns[i].key, &r->cells[i]);
	if (cell_of(r, "node_guid", strlen("node_guid")) && cell_of(r, "node", strlen("node")))
		add_info(r);
}

static void prom_table_end(struct report *r)
{
	struct prom_state *state = r->own;

	keep(r, &state->table, NULL);
}

static void prom_block(struct report *r, const char *key, const char *title, const struct report_value *value)
{
	(void)r, (void)key, (void)title, (void)value; /* no numbers */
}

/* What there is to say of any run, of one fabric or of a part. */
static void put_run(struct report *r, struct prom_state *state, enum ibqos_exit exit_code, bool up, double seconds,
		    const size_t counts[REPORT_SEVERITIES])
{
	static const char *const verdicts[] = {"clean", "warning", "critical", "unknown"};
	char labels[96];

	put_sample(r, PROM_UP, NULL, up);
	snprintf(labels, sizeof(labels), "version=\"%.64s\"", state->version ? state->version : "");
	put_sample(r, PROM_BUILD, labels, 1);
	put_sample(r, PROM_LAST_RUN, NULL, (double)time(NULL));
	put_sample(r, PROM_DURATION, NULL, seconds);
	put_sample(r, PROM_EXIT, NULL, exit_code);
	for (int i = 0; i <= IBQOS_EXIT_UNKNOWN; i++) {
		snprintf(labels, sizeof(labels), "verdict=\"%s\"", verdicts[i]);
		put_sample(r, PROM_VERDICT, labels, (int)exit_code == i);
	}
	for (int i = 0; i < REPORT_SEVERITIES; i++) {
		if (!up && counts[i] == 0) /* none so far is not none */
			continue;
		snprintf(labels, sizeof(labels), "severity=\"%s\"", finding_severity_name(i));
		put_sample(r, PROM_FINDINGS, labels, (double)counts[i]);
	}
	put_sample(r, PROM_PORT_OMITTED, NULL, 0); /* what add_finding() has left out is added */
}

static void prom_part(struct report *r, const char *name)
{
	struct prom_state *state = r->own;

	(void)name;
	state->failed = false;
}

static void prom_part_end(struct report *r, const char *name, const struct report_part *result, const char *verdict)
{
	struct prom_state *state = r->own;

	(void)name;
	(void)verdict;
	put_run(r, state, result->exit, result->whole && !state->failed && r->error == 0, result->seconds, result->counts);
}

static void prom_verdict(struct report *r, enum ibqos_exit exit_code, const char *name)
{
	struct prom_state *state = r->own;

	(void)name;
	if (!r->had_parts) /* each part has said it of its fabric */
		put_run(r, state, exit_code, !state->failed && r->error == 0 && !ctx_stopped(r->ctx),
			(double)(clock_ns() - state->began_ns) / 1e9, r->counts);
	for (int i = 0; i < PROM_METRICS; i++)
		prom_samples_put(r, i, &state->samples[i], state->common);
}

static void prom_close(struct report *r)
{
	struct prom_state *state = r->own;

	for (int i = 0; i < PROM_METRICS; i++)
		prom_samples_clear(&state->samples[i]);
	free(state->common);
	free(state->version);
	free(state->section);
	free(state->table);
	free(state);
}

const struct report_writer report_prometheus_writer = {
	.open = prom_open,
	.field = prom_field,
	.section = prom_section,
	.section_end = prom_section_end,
	.table = prom_table,
	.row = prom_row,
	.table_end = prom_table_end,
	.block = prom_block,
	.part = prom_part,
	.part_end = prom_part_end,
	.verdict = prom_verdict,
	.close = prom_close,
};
