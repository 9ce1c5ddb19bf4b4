/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos rails: several fabrics that the same hosts are in, compared with each other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

#include "ibqos/rails.h"
#include "ibqos/snapshot.h"

#define TIMES_APART 3600 /* seconds */

struct rails_options {
	struct cmd_options common; /* first: children get the same pointer */
	const char **files;
	size_t file_count, file_room;
};

enum { KEY_NODE_NAME_MAP = 0x200 };

static const struct argp_option own_options[] = {
	{"node-name-map", KEY_NODE_NAME_MAP, "FILE", 0, "names of nodes, as for infiniband-diags", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct rails_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &o->common);
		return 0;
	case KEY_NODE_NAME_MAP:
		o->common.source.node_name_map = arg;
		return 0;
	case ARGP_KEY_ARG:
		return cmd_keep(state, &o->files, &o->file_count, &o->file_room, arg);
	case ARGP_KEY_END:
		if (o->file_count < 1)
			argp_error(state, "needed: the files of two rails or more, or one file of several");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp cmd_rails_argp = {
	.options = own_options,
	.parser = parse,
	.args_doc = "[NAME=]FILE...",
	.doc = "Compares fabrics that the same hosts have adapters in, one a file: a snapshot, or what ibnetdiscover or ibdiagnet wrote; or all in one file that ibqos merge made. "
	       "Which host lacks a rail, which adapter is in another one, which rail is slower, has fewer links, or treats service "
	       "levels otherwise. NAME is its name in all output; else the snapshot's label, or the file's name.\v"
	       "Exit status: 0 all alike, 1 differences, 2 two of them are one fabric, 3 something could not be compared.",
	.children = cmd_output_children,
};

/* One rail, opened. */
struct side {
	char *name;
	struct ibqos_ctx ctx; /* names the fabric of a file of several */
	const char *path;
	struct source *source;
	struct fabric *fabric;
	struct rail_tables *tables;
	uint64_t taken; /* 0: not known */
};

/* NAME=FILE; else the label of the snapshot, else the file's name without folder and ending. */
static bool name_side(struct side *side, const char *given, size_t given_length)
{
	const struct snapshot *snapshot = source_snapshot(side->source);
	struct snapshot_info info = {.label = ""};
	const char *base = strrchr(side->path, '/');
	size_t length;

	if (snapshot) {
		snapshot_info(snapshot, &info);
		side->taken = info.taken;
	}
	if (!given && info.label[0]) {
		given = info.label;
		given_length = strlen(given);
	} else if (!given) {
		given = base ? base + 1 : side->path;
		length = strcspn(given, ".");
		given_length = length > 0 ? length : strlen(given);
	}
	side->name = text_utf8(given, given_length);
	return side->name != NULL;
}

static bool open_side(struct cmd_session *s, struct side *side, const char *name, size_t length)
{
	int error = source_open_file(&side->ctx, side->path, s->options->source.node_name_map, &side->source);

	if (error == 0)
		error = source_discover(side->source, &s->findings, &side->fabric);
	if (error != 0) { /* the source has said what is wrong */
		s->least = IBQOS_EXIT_UNKNOWN;
		report_string(s->report, "error", NULL, strerror(-error));
		return false;
	}
	if (source_snapshot(side->source))
		check_snapshot_cut(source_snapshot(side->source), &s->findings);
	else
		finding_set(&finding_at(finding_add(&s->findings, FINDING_SOURCE_LACKS), side->path, 0, 0)->what, "%s",
			    source_lacks(side->source));
	if (source_merged(side->source))
		session_merged(s, side->ctx.fabric, source_merged(side->source));
	check_gaps(side->fabric, &s->findings);
	if (!name_side(side, name, length) || rail_tables_read(side->source, side->fabric, &side->tables) < 0) {
		session_fail(s, "cannot read the tables of '%s': %s", side->path, strerror(ENOMEM));
		return false;
	}
	return true;
}

/* All that is in a file: each fabric of one of several, under its own name. */
static bool open_file(struct cmd_session *s, const char *text, struct side *sides, size_t *count)
{
	size_t length = strcspn(text, "=/"), inner = 0;
	bool named = text[length] == '=' && length > 0, good = true;
	const char *path = named ? text + length + 1 : text;
	char **fabrics = NULL;
	int error = source_file_fabrics(s->ctx, path, &fabrics, &inner);

	if (error != 0)
		session_fail(s, "cannot read '%s': %s", path, strerror(-error));
	else if (named && inner > 1)
		session_fail(s, "cannot call '%s' %.*s: its fabrics have names", path, (int)length, text);
	good = error == 0 && !(named && inner > 1);
	for (size_t i = 0; good && i < (inner > 1 ? inner : 1); i++) {
		struct side *side = &sides[*count];

		if (*count == RAILS_MAX) {
			session_fail(s, "more than %d rails", RAILS_MAX);
			good = false;
			break;
		}
		(*count)++;
		side->path = path;
		side->ctx = *s->ctx;
		if (inner > 1)
			side->ctx.fabric = fabrics[i];
		good = open_side(s, side, named ? text : NULL, length);
	}
	for (size_t i = 0; i < inner; i++)
		free(fabrics[i]);
	free(fabrics);
	return good;
}

static bool open_sides(struct cmd_session *s, const struct rails_options *o, struct side *sides, size_t *count)
{
	for (size_t i = 0; i < o->file_count; i++)
		if (!open_file(s, o->files[i], sides, count))
			return false;
	for (size_t i = 0; i < *count; i++)
		for (size_t n = 0; n < i; n++)
			if (strcmp(sides[n].name, sides[i].name) == 0) {
				session_fail(s, "'%s' and '%s' are both called '%s': give names, NAME=FILE", sides[n].path,
					     sides[i].path, sides[i].name);
				return false;
			}
	if (*count >= 2)
		return true;
	session_fail(s, "one rail alone has nothing to be compared with");
	return false;
}

static void report_rails(struct report *r, const struct side *sides, const struct rail_totals *totals, size_t count)
{
	static const struct report_column columns[] = {
		{.key = "rail", .title = "rail", .type = REPORT_STRING},
		{.key = "hosts", .title = "hosts", .type = REPORT_NUMBER},
		{.key = "adapters", .title = "adapters", .type = REPORT_NUMBER},
		{.key = "adapter_gbps", .title = "adapters' rate", .type = REPORT_REAL, .unit = "Gb/s"},
		{.key = "switches", .title = "switches", .type = REPORT_NUMBER},
		{.key = "links", .title = "links between them", .type = REPORT_NUMBER},
		{.key = "links_gbps", .title = "their rate", .type = REPORT_REAL, .unit = "Gb/s"},
		{.key = "prefix", .title = "GID prefix", .type = REPORT_GUID},
		{.key = "taken", .title = "taken", .type = REPORT_STRING},
		{.key = "from", .title = "from", .type = REPORT_STRING},
	};

	report_table(r, "rails", "rails", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++) {
		char taken[SESSION_TIME];

		session_time(sides[i].taken, taken);
		report_cell_string(r, sides[i].name);
		report_cell_number(r, totals[i].hosts);
		report_cell_number(r, totals[i].adapters);
		if (totals[i].host_gbps > 0)
			report_cell_real(r, totals[i].host_gbps);
		else
			report_cell_string(r, NULL);
		report_cell_number(r, totals[i].switches);
		report_cell_number(r, totals[i].links);
		report_cell_real(r, totals[i].links_gbps);
		if (totals[i].prefix)
			report_cell_guid(r, totals[i].prefix);
		else
			report_cell_string(r, NULL);
		report_cell_string(r, sides[i].taken ? taken : NULL);
		report_cell_string(r, sides[i].path);
		report_row_end(r);
	}
	report_table_end(r);
}

static void report_result(struct report *r, const struct rails_result *result)
{
	report_section(r, "compared", "compared");
	report_number(r, "hosts", "hosts", result->hosts);
	report_number(r, "hosts_compared", "compared with others of their kind", result->hosts_compared);
	report_number(r, "hosts_odd", "lacking a rail, or in another one", result->hosts_odd);
	report_number(r, "adapters", "adapters", result->adapters);
	report_number(r, "adapters_unknown", "whose host is not known", result->adapters_unknown);
	if (result->planes > 0)
		report_number(r, "planes", "rails that are planes of another's ports", result->planes);
	report_number(r, "tables", "tables by kind of port", result->tables_compared);
	report_section_end(r);
}

/* What changed in between looks like a difference of the rails. */
static void judge_times(struct cmd_session *s, const struct side *sides, size_t count)
{
	size_t first = 0, last = 0, known = 0;
	char early[SESSION_TIME], late[SESSION_TIME];
	struct finding *f;

	for (size_t i = 0; i < count; i++) {
		if (sides[i].taken == 0)
			continue;
		if (known++ == 0)
			first = last = i;
		first = sides[i].taken < sides[first].taken ? i : first;
		last = sides[i].taken > sides[last].taken ? i : last;
	}
	if (known < 2 || sides[last].taken - sides[first].taken <= TIMES_APART)
		return;
	session_time(sides[first].taken, early);
	session_time(sides[last].taken, late);
	f = finding_add(&s->findings, FINDING_RAIL_TIMES);
	finding_set(&f->what, "rails %s and %s", sides[first].name, sides[last].name);
	finding_set(&f->got, "%s and %s", early, late);
}

static void compare(struct cmd_session *s, const struct side *sides, size_t count)
{
	struct rail_totals totals[RAILS_MAX];
	struct rail rails[RAILS_MAX];
	struct rails_result result;
	int error;

	for (size_t i = 0; i < count; i++)
		rails[i] = (struct rail){sides[i].name, sides[i].fabric, sides[i].tables};
	error = check_rails(rails, count, &s->findings, totals, &result);
	if (error != 0) {
		session_fail(s, "cannot compare the rails: %s", strerror(-error));
		return;
	}
	judge_times(s, sides, count);
	report_rails(s->report, sides, totals, count);
	report_result(s->report, &result);
	if (result.hosts_compared == 0)
		session_fail(s, "no host could be compared with others of its kind");
}

enum ibqos_exit cmd_rails(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct side sides[RAILS_MAX] = {{0}};
	struct rails_options o = {0};
	struct cmd_session s;
	enum ibqos_exit code;
	size_t count = 0;

	cmd_defaults(&o.common, ctx);
	cmd_parse(&cmd_rails_argp, argc, argv, &o);
	if (!session_begin(&s, ctx, &o.common)) {
		free(o.files);
		return IBQOS_EXIT_UNKNOWN;
	}
	if (open_sides(&s, &o, sides, &count))
		compare(&s, sides, count);
	code = session_end(&s);
	for (size_t i = 0; i < count; i++) {
		rail_tables_free(sides[i].tables);
		fabric_free(sides[i].fabric);
		source_close(sides[i].source);
		free(sides[i].name);
	}
	free(o.files);
	return code;
}
