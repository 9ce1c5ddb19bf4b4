/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos merge: snapshots of several hosts and fabrics in one file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

#include "ibqos/snapshot.h"

struct merge_options {
	struct cmd_options common; /* first: children get the same pointer */
	const char **files;
	size_t file_count, file_room;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct merge_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &o->common);
		return 0;
	case ARGP_KEY_ARG:
		return cmd_keep(state, &o->files, &o->file_count, &o->file_room, arg);
	case ARGP_KEY_END:
		if (o->file_count < 2)
			argp_error(state, "it takes a file to write, and one or more to read");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp cmd_merge_argp = {
	.parser = parse,
	.args_doc = "TO [NAME=]FILE...",
	.doc = "Puts snapshots into one file, TO, which is replaced whole: of several fabrics, each under its name, and of one fabric, taken by "
	       "several hosts within an hour, which are then read as one. NAME is the fabric's name; else the snapshot's label, "
	       "else that of another file that has switches in common with it.\v"
	       "Exit status: 0 written, 1 written, and files of one name have no switch in common, 2 fabrics of two names have switches in "
	       "common, 3 nothing was written.",
	.children = cmd_output_children,
};

/* --- reading --- */

static bool add_file(struct cmd_session *s, struct snapshot_set *set, const char *text)
{
	size_t length = strcspn(text, "=/"), size = 0;
	bool named = text[length] == '=' && length > 0;
	const char *path = named ? text + length + 1 : text;
	char *name = named ? strndup(text, length) : NULL, *data = NULL;
	struct snapshot_fault fault = {0};
	int error = named && !name ? -ENOMEM : file_read_up_to(path, SNAPSHOT_FILE_MAX, &data, &size);

	if (error == 0 && !snapshot_is(data, size) && !snapshot_set_is(data, size))
		session_fail(s, "cannot read '%s': not a snapshot", path);
	else if (error == 0)
		error = snapshot_set_add(set, name, data, size, &fault);
	if (error == -EBADMSG)
		session_fail(s, "cannot read '%s': at byte %zu: %s", path, fault.offset, fault.text);
	else if (error == -EEXIST)
		session_fail(s, "cannot read '%s': its fabrics have names already, so '%s' can name none", path, name);
	else if (error != 0)
		session_fail(s, "cannot read '%s': %s", path, strerror(-error));
	free(name);
	free(data);
	return s->least != IBQOS_EXIT_UNKNOWN;
}

/* --- names --- */

static bool rename_part(struct snapshot_part *part, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return false;
	free(part->name);
	part->name = copy;
	return true;
}

/* The name of those with switches in common with one that has none; NULL: none has, or they have two (*twice). */
static const char *name_of_others(const struct snapshot_set *set, size_t at, const char **twice)
{
	const char *name = NULL;

	*twice = NULL;
	for (size_t i = 0; i < set->count; i++) {
		const struct snapshot_part *other = &set->parts[i];

		if (!other->name[0] || snapshot_shared_switches(set->parts[at].snapshot, other->snapshot) == 0)
			continue;
		if (name && strcmp(name, other->name) != 0)
			*twice = other->name;
		name = name ? name : other->name;
	}
	return name;
}

/* Whether those without a name are one fabric: each has a switch in common with one that is known to be of it. */
static bool are_one(const struct snapshot_set *set)
{
	bool *in = calloc(set->count + 1, sizeof(*in)), grown = true, one = true;

	if (!in)
		return false;
	in[0] = true;
	while (grown) {
		grown = false;
		for (size_t i = 0; i < set->count; i++)
			for (size_t n = 0; n < set->count && !in[i]; n++)
				if (in[n] && snapshot_shared_switches(set->parts[i].snapshot, set->parts[n].snapshot) > 0)
					in[i] = grown = true;
	}
	for (size_t i = 0; i < set->count; i++)
		one &= in[i];
	free(in);
	return one;
}

static bool name_parts(struct cmd_session *s, struct snapshot_set *set)
{
	const char *name, *twice;
	size_t nameless = 0;

	for (bool changed = true; changed;) {
		changed = false;
		nameless = 0;
		for (size_t i = 0; i < set->count; i++) {
			if (set->parts[i].name[0])
				continue;
			nameless++;
			name = name_of_others(set, i, &twice);
			if (twice) {
				session_fail(s, "a file without a name has switches in common with '%s' and '%s': give it a name, NAME=FILE",
					     name, twice);
				return false;
			}
			if (name && !rename_part(&set->parts[i], name)) {
				session_fail(s, "out of memory");
				return false;
			}
			changed |= name != NULL;
		}
	}
	if (nameless == 0)
		return true;
	if (nameless < set->count || !are_one(set)) {
		session_fail(s, "%zu of the snapshots have no name, and there is more than one fabric: give names, NAME=FILE", nameless);
		return false;
	}
	return true;
}

/* --- judging --- */

static void tell_pair(struct cmd_session *s, const struct snapshot_part *a, const struct snapshot_part *b, uint32_t shared)
{
	struct finding *f = finding_add(&s->findings, FINDING_RAIL_SAME_FABRIC);

	finding_set(&f->what, "%s and %s", a->name, b->name);
	finding_set(&f->got, "%u switch%s in both", shared, shared > 1 ? "es" : "");
}

/* Of two names with switches in common, once; of one name whether each part has one in common with another. */
static void judge_names(struct cmd_session *s, const struct snapshot_set *set)
{
	for (size_t i = 0, next; i < set->count; i = next) {
		next = snapshot_set_next(set, i);
		for (size_t a = i; a < next && next - i > 1; a++) {
			uint32_t shared = 0;

			for (size_t b = i; b < next; b++)
				shared += a == b ? 0 : snapshot_shared_switches(set->parts[a].snapshot, set->parts[b].snapshot);
			if (shared > 0)
				continue;
			finding_set(&finding_add(&s->findings, FINDING_MERGE_APART)->what, "%s", set->parts[i].name);
			break;
		}
		for (size_t other = next; other < set->count; other = snapshot_set_next(set, other)) {
			uint32_t shared = 0;

			for (size_t a = i; a < next; a++)
				for (size_t b = other; b < snapshot_set_next(set, other) && shared == 0; b++)
					shared = snapshot_shared_switches(set->parts[a].snapshot, set->parts[b].snapshot);
			if (shared > 0)
				tell_pair(s, &set->parts[i], &set->parts[other], shared);
		}
	}
}

static void fail_apart(struct cmd_session *s, const char *name, const struct snapshot_merged *merged)
{
	char from[SESSION_TIME], to[SESSION_TIME];

	session_time(merged->oldest, from);
	session_time(merged->newest, to);
	session_fail(s, "cannot merge: snapshots of one fabric%s%s were taken %llu s apart, %s and %s: more than %d s is not one state; "
		     "compare them with `ibqos diff`", name[0] ? ", " : "", name,
		     (unsigned long long)(merged->newest - merged->oldest), from, to, SNAPSHOT_APART_MAX);
}

static bool report_fabrics(struct cmd_session *s, const struct snapshot_set *set)
{
	static const struct report_column columns[] = {
		{.key = "fabric", .title = "fabric", .type = REPORT_STRING},
		{.key = "parts", .title = "snapshots", .type = REPORT_NUMBER},
		{.key = "nodes", .title = "nodes", .type = REPORT_NUMBER},
		{.key = "oldest", .title = "taken from", .type = REPORT_STRING},
		{.key = "newest", .title = "to", .type = REPORT_STRING},
		{.key = "links_differ", .title = "links that differ", .type = REPORT_NUMBER},
		{.key = "answers_differ", .title = "answers that differ", .type = REPORT_NUMBER},
		{.key = "undecided", .title = "of one second", .type = REPORT_NUMBER},
		{.key = "filled", .title = "filled", .type = REPORT_NUMBER},
	};
	int error = 0;

	report_table(s->report, "fabrics", "fabrics", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; error == 0 && i < set->count; i = snapshot_set_next(set, i)) {
		struct snapshot *snapshot = NULL;
		struct fabric *fabric = NULL;
		struct snapshot_merged merged;
		char from[SESSION_TIME], to[SESSION_TIME];

		error = snapshot_set_fabric(set, i, &snapshot, &merged);
		if (error == -ERANGE)
			fail_apart(s, set->parts[i].name, &merged);
		if (error == 0)
			error = snapshot_fabric(snapshot, &fabric);
		if (error == 0) {
			session_time(merged.oldest, from);
			session_time(merged.newest, to);
			report_cell_string(s->report, set->parts[i].name);
			report_cell_number(s->report, merged.parts);
			report_cell_number(s->report, fabric->node_count);
			report_cell_string(s->report, from);
			report_cell_string(s->report, to);
			report_cell_number(s->report, merged.links);
			report_cell_number(s->report, merged.answers);
			report_cell_number(s->report, merged.undecided);
			report_cell_number(s->report, merged.filled);
			report_row_end(s->report);
			session_merged(s, set->parts[i].name, &merged);
		}
		fabric_free(fabric);
		snapshot_free(snapshot);
	}
	report_table_end(s->report);
	if (error != 0 && error != -ERANGE)
		session_fail(s, "cannot merge: %s", strerror(-error));
	return error == 0;
}

static bool same_redaction(struct cmd_session *s, const struct snapshot_set *set)
{
	struct snapshot_info first, other;

	for (size_t i = 1; i < set->count; i++) {
		snapshot_info(set->parts[0].snapshot, &first);
		snapshot_info(set->parts[i].snapshot, &other);
		if (first.redacted == other.redacted)
			continue;
		session_fail(s, "some of the snapshots have replaced names and GUIDs and some have not: nothing in them can be told to be the same");
		return false;
	}
	return true;
}

/* One snapshot under its own name is that snapshot. */
static void write_set(struct cmd_session *s, const struct snapshot_set *set, const char *path)
{
	struct snapshot_info info;
	uint8_t *data = NULL;
	size_t size = 0;
	int error = 0;
	bool alone;

	snapshot_info(set->parts[0].snapshot, &info);
	alone = set->count == 1 && (strcmp(info.label, set->parts[0].name) == 0 || !info.label[0]);
	if (alone)
		error = file_replace(path, set->parts[0].data, set->parts[0].size, 0644);
	else
		error = snapshot_set_encode(set, &data, &size);
	if (!alone && error == 0)
		error = file_replace(path, data, size, 0644);
	if (error != 0)
		session_fail(s, "cannot write '%s': %s", path, strerror(-error));
	else
		report_number(s->report, "bytes", "bytes", alone ? set->parts[0].size : size);
	free(data);
}

enum ibqos_exit cmd_merge(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct snapshot_set set = {0};
	struct merge_options o = {0};
	struct cmd_session s;
	enum ibqos_exit code;
	bool good = true;

	cmd_defaults(&o.common, ctx);
	cmd_parse(&cmd_merge_argp, argc, argv, &o);
	if (!session_begin(&s, ctx, &o.common)) {
		free(o.files);
		return IBQOS_EXIT_UNKNOWN;
	}
	report_string(s.report, "file", "file", o.files[0]);
	for (size_t i = 1; i < o.file_count && good; i++)
		good = add_file(&s, &set, o.files[i]);
	if (good && same_redaction(&s, &set) && name_parts(&s, &set)) {
		snapshot_set_order(&set);
		judge_names(&s, &set);
		if (report_fabrics(&s, &set))
			write_set(&s, &set, o.files[0]);
	}
	snapshot_set_clear(&set);
	code = session_end(&s);
	free(o.files);
	return code;
}
