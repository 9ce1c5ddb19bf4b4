/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos rails: several fabrics that the same hosts are in, compared with each other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diff_states.h"
#include "rails_site.h"

#include "ibqos/rails.h"
#include "ibqos/snapshot.h"

struct rails_options {
	struct cmd_options common; /* first: children get the same pointer */
	const char **files;
	size_t file_count, file_room;
	const char *names; /* of fabrics, with --site */
};

enum { KEY_NODE_NAME_MAP = 0x200, KEY_FABRIC };

static const struct argp_option own_options[] = {
	{"site", CMD_KEY_SITE, "FILE", 0, "look at the fabrics of this site now (ibqos-site(5))", 0},
	{"fabric", KEY_FABRIC, "NAMES", 0, "with --site: at these of them alone, NAME,NAME", 0},
	{"node-name-map", KEY_NODE_NAME_MAP, "FILE", 0, "names of nodes, as for infiniband-diags", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct rails_options *o = state->input;

	if (cmd_site_option(&o->common, key, arg))
		return 0;
	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &o->common);
		return 0;
	case KEY_FABRIC:
		o->names = arg;
		return 0;
	case KEY_NODE_NAME_MAP:
		o->common.source.node_name_map = arg;
		return 0;
	case ARGP_KEY_ARG:
		return cmd_keep(state, &o->files, &o->file_count, &o->file_room, arg);
	case ARGP_KEY_END:
		if (o->names && !o->common.site)
			argp_error(state, "--fabric is for --site; files have their names: NAME=FILE");
		if (o->common.site && o->file_count > 0)
			argp_error(state, "--site and files exclude each other");
		if (o->file_count < 1 && !o->common.site)
			argp_error(state, "needed: the files of two rails or more, or one file of several");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp cmd_rails_argp = {
	.options = own_options,
	.parser = parse,
	.args_doc = "[NAME=]FILE...\n--site FILE",
	.doc = "Compares fabrics that the same hosts have adapters in, one a file: a snapshot, or what ibnetdiscover or ibdiagnet wrote; or all in one file that ibqos merge made; or those of a site, looked at now. "
	       "Which host lacks a rail, which adapter is in another one, which rail is slower, has fewer links, or treats service "
	       "levels otherwise. NAME is its name in all output; else the snapshot's label, or the file's name.\v"
	       "Exit status: 0 all alike, 1 differences, 2 two of them are one fabric, 3 something could not be compared.",
	.children = cmd_asking_children,
};

/* One rail, opened. */
struct side {
	char *name;
	struct ibqos_ctx ctx; /* names the fabric of a file of several */
	const char *path; /* "": looked at just now */
	const struct site_fabric *of; /* what the site file says of it; NULL: nothing */
	struct cmd_side seen;
	struct rail_tables *tables;
	uint64_t taken; /* 0: not known */
};

/* NAME=FILE; else the label of the snapshot, else the file's name without folder and ending. */
static bool name_side(struct side *side, const char *given, size_t given_length)
{
	const struct snapshot *snapshot = source_snapshot(side->seen.source);
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
	size_t before = s->findings.count;

	s->findings.of_file = !s->options->site; /* else taken just now, and not kept */
	if (!cmd_side_open(s, &side->ctx, side->path, s->options->source.node_name_map, &side->seen))
		return false;
	check_gaps(side->seen.fabric, &s->findings);
	if (!name_side(side, name, length) || rail_tables_read(side->seen.source, side->seen.fabric, &side->tables) < 0) {
		session_fail(s, "cannot read the tables of '%s': %s", side->path, strerror(ENOMEM));
		return false;
	}
	for (size_t i = before; i < s->findings.count; i++)
		finding_set(&s->findings.items[i].fabric, "%s", side->name);
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

/* --- a site --- */

/* A fabric's snapshot, which its worker has written. False, told: it could not be read, so the fabric is unknown. */
static bool open_taken(struct cmd_session *s, struct side *side, const struct worker *w)
{
	const struct site_fabric *of = side->of;
	size_t before = s->findings.count;
	int error = rails_site_read(s, &side->ctx, of, w, &side->seen);

	if (error == 0)
		error = name_side(side, of->name, strlen(of->name)) ? 0 : -ENOMEM;
	if (error == 0 && rail_tables_read(side->seen.source, side->seen.fabric, &side->tables) < 0)
		error = -ENOMEM;
	for (size_t i = before; i < s->findings.count; i++)
		finding_set(&s->findings.items[i].fabric, "%s", of->name);
	if (error != 0)
		rails_site_lost(s, of, w, strerror(-error));
	return error == 0;
}

static void clear_side(struct side *side)
{
	rail_tables_free(side->tables);
	cmd_side_close(&side->seen);
	free(side->name);
}

static bool open_site(struct cmd_session *s, const struct rails_site *site, struct side *sides, size_t *count)
{
	for (size_t i = 0; i < site->count && *count < RAILS_MAX; i++) {
		struct side *side = &sides[*count];

		*side = (struct side){.path = "", .ctx = *s->ctx, .of = site->fabrics[i]};
		if (!rails_site_answered(s, site->fabrics[i], &site->workers[i]))
			continue;
		if (open_taken(s, side, &site->workers[i]))
			(*count)++;
		else
			clear_side(side);
	}
	if (*count >= 2)
		return true;
	session_fail(s, "fewer than two fabrics could be looked at: there is nothing to compare");
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
		report_cell_string(r, sides[i].of ? "now" : sides[i].path);
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
	if (known < 2 || sides[last].taken - sides[first].taken <= SNAPSHOT_APART_MAX)
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
		rails[i] = (struct rail){.name = sides[i].name, .fabric = sides[i].seen.fabric, .tables = sides[i].tables,
					 .adapters = sides[i].of ? sides[i].of->adapters : NULL,
					 .adapter_count = sides[i].of ? sides[i].of->adapter_count : 0};
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
	struct rails_site site = {0};
	struct cmd_session s;
	enum ibqos_exit code = IBQOS_EXIT_UNKNOWN;
	size_t count = 0;
	bool open;

	cmd_defaults(&o.common, ctx);
	cmd_parse(&cmd_rails_argp, argc, argv, &o);
	if (o.common.site && !site_words_sort(ctx, &o.common, argc, argv, &site.words))
		goto out;
	if (!session_begin(&s, ctx, &o.common))
		goto out;
	if (o.common.site)
		open = rails_site_take(&s, o.names ? o.names : "", &site) && open_site(&s, &site, sides, &count);
	else
		open = open_sides(&s, &o, sides, &count);
	if (open)
		compare(&s, sides, count);
	code = session_end(&s);
out:
	for (size_t i = 0; i < count; i++)
		clear_side(&sides[i]);
	rails_site_clear(&site);
	free(o.files);
	return code;
}
