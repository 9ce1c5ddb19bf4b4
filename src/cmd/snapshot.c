/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos snapshot: the state of the fabric to a file, and what such a file has. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accept.h"
#include "take.h"

#include "ibqos/snapshot.h"

struct snapshot_options {
	struct cmd_options common;        /* first: children get the same pointer */
	const char *map;                  /* of --redact */
	const char *policy, *opensm_conf; /* to ask of the subnet manager what verify asks with it */
	bool show, counters;
	struct cmd_accept accept;
};

enum { KEY_POLICY = 0x200, KEY_OPENSM_CONF, KEY_REDACT, KEY_SHOW, KEY_ACCEPT, KEY_BASELINE, KEY_KEEP, KEY_YES, KEY_COUNTERS };

static const struct argp_option own_options[] = {
	CMD_SITE_ROW,
	{"policy", KEY_POLICY, "POLICY", 0,
	 "ask the subnet manager also what verify asks it with this policy", 0},
	{"opensm-conf", KEY_OPENSM_CONF, "FILE", 0, "ask the subnet manager also what verify asks it with this opensm.conf", 0},
	{"redact", KEY_REDACT, "MAP", 0,
	 "replace names and GUIDs; what stands for what is kept in MAP, for you alone", 0},
	{"accept", KEY_ACCEPT, "NEW", 0, "show what snapshot NEW changes against the baseline, then make it the baseline", 0},
	{"baseline", KEY_BASELINE, "FILE", 0, "with --accept: the baseline, as audit --baseline takes it", 0},
	{"keep", KEY_KEEP, "N", 0, "with --accept: old baselines that are kept, under their time (default 10)", 0},
	{"yes", KEY_YES, NULL, 0, "with --accept: do not ask", 0},
	{"counters", KEY_COUNTERS, NULL, 0, "keep the counters of all active ports too, for diff; they are never cleared", 0},
	{"show", KEY_SHOW, NULL, 0, "tell what the file has, and write nothing", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct snapshot_options *o = state->input;

	if (key == CMD_KEY_SITE) {
		o->common.site = arg;
		return 0;
	}
	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &o->common);
		return 0;
	case KEY_POLICY:
		o->policy = arg;
		return 0;
	case KEY_OPENSM_CONF:
		o->opensm_conf = arg;
		return 0;
	case KEY_REDACT:
		o->map = arg;
		o->common.nameless = true;
		return 0;
	case KEY_SHOW:
		o->show = true;
		return 0;
	case KEY_ACCEPT:
		o->accept.accept = arg;
		return 0;
	case KEY_BASELINE:
		o->accept.baseline = arg;
		return 0;
	case KEY_KEEP:
		o->accept.keep = (unsigned)cmd_number(state, "--keep", arg, 0, 10000);
		return 0;
	case KEY_COUNTERS:
		o->counters = true;
		return 0;
	case KEY_YES:
		o->accept.yes = true;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (!o->accept.accept != !o->accept.baseline)
			argp_error(state, "--accept NEW and --baseline FILE go together");
		if (o->policy && o->opensm_conf)
			argp_error(state, "--policy and --opensm-conf exclude each other");
		if (o->common.from && o->counters)
			argp_error(state, "--from reads a file: there is nobody to ask for --counters");
		if (o->common.from && (o->policy || o->opensm_conf))
			argp_error(
				state,
				"--from reads a file: there is nobody to ask for --policy or --opensm-conf");
		return 0;
	default:
		return cmd_argument(key, arg, state, &o->common, o->accept.accept ? 0 : 1, "the file");
	}
}

const struct argp cmd_snapshot_argp = {
	.options = own_options,
	.parser = parse,
	.args_doc = "FILE\n--show FILE\n--accept NEW --baseline FILE",
	.doc = "Asks every switch and adapter and the subnet manager for all that ibqos knows to ask for, and keeps the "
	       "answers in FILE, which is replaced whole; - is standard output. Other commands look at it with --from FILE.\v"
	       "Exit status: 0 all was answered, 3 something was not: the file then has what was. With --accept: 0 accepted, else not: 1, 2 "
	       "by what has changed, 3 not all could be compared, or it could not be done.",
	.children = cmd_source_children,
};

static void report_items(struct report *r, const struct snapshot *snapshot)
{
	static const struct report_column columns[] = {
		{.key = "item", .title = "asked for", .type = REPORT_STRING},
		{.key = "answered", .title = "answered", .type = REPORT_NUMBER},
		{.key = "status", .title = "refused", .type = REPORT_NUMBER},
		{.key = "timed_out", .title = "timed out", .type = REPORT_NUMBER},
		{.key = "not_asked", .title = "given up", .type = REPORT_NUMBER},
	};
	struct snapshot_item items[SNAPSHOT_ITEMS];
	size_t count = snapshot_items(snapshot, items);

	report_table(r, "coverage", "coverage", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++) {
		const char *name = snapshot_attribute_name(items[i].mgmt_class, items[i].attribute);

		report_cell_string(r, name ? name : "other");
		report_cell_number(r, items[i].ended[MAD_ANSWERED]);
		report_cell_number(r, items[i].ended[MAD_STATUS]);
		report_cell_number(r, items[i].ended[MAD_TIMED_OUT]);
		report_cell_number(r, items[i].ended[MAD_NOT_ASKED]);
		report_row_end(r);
	}
	report_table_end(r);
}

static void report_snapshot(struct cmd_session *s, const struct snapshot *snapshot, uint64_t bytes)
{
	struct snapshot_info info;
	char taken[SESSION_TIME];

	snapshot_info(snapshot, &info);
	session_time(info.taken, taken);
	report_section(s->report, "snapshot", "snapshot");
	report_string(s->report, "file", "file", s->options->argument[0]);
	report_string(s->report, "taken", "taken", taken);
	report_string(s->report, "by", "by ibqos", info.version);
	if (info.label[0])
		report_string(s->report, "of", "of fabric", info.label);
	report_bool(s->report, "whole", "whole", info.stopped == 0);
	report_bool(s->report, "redacted", "names and GUIDs replaced", info.redacted);
	if (bytes > 0)
		report_number(s->report, "bytes", "bytes", bytes);
	report_section_end(s->report);
	session_fabric_fields(s);
	report_items(s->report, snapshot);
}

/* The fabric and what lacks, as findings. */
static void judge(struct cmd_session *s, const struct snapshot *snapshot)
{
	if (check_snapshot(snapshot, s->fabric, &s->findings) != 0)
		session_fail(s, "out of memory");
}

/* --- taking one --- */

/* To standard output, which is not a report's then. */
static int write_out(const uint8_t *data, size_t size)
{
	if (isatty(STDOUT_FILENO))
		return -ENOTSUP;
	if (fwrite(data, 1, size, stdout) != size || fflush(stdout) != 0)
		return errno ? -errno : -EIO;
	return 0;
}

static void write_file(struct cmd_session *s, const struct snapshot *snapshot)
{
	const char *path = s->options->argument[0];
	uint8_t *data = NULL;
	size_t size = 0;
	int error = snapshot_encode(snapshot, &data, &size);

	if (error == 0)
		error = s->options->no_report ? write_out(data, size) : file_replace(path, data, size, 0644);
	if (error != 0)
		session_fail(s, "cannot write '%s': %s", path, strerror(-error));
	else
		report_snapshot(s, snapshot, size);
	free(data);
}

/* Replaces names and GUIDs by those of the map, which grows first: without it nobody could tell what is what.
 */
static bool redact(struct cmd_session *s, struct snapshot *snapshot, const char *path)
{
	static const char head[] =
		"# What stands for what in redacted snapshots. Keep it to yourself, and use it again:\n"
		"# the same nodes then get the same names. With --node-name-map it turns them back.\n";
	char *old = NULL, *more = NULL, *all = NULL;
	size_t size = 0;
	unsigned line = 0;
	int error = file_read(path, &old, &size);

	if (error == -ENOENT) {
		old = strdup(head);
		size = old ? strlen(old) : 0;
		error = old ? 0 : -ENOMEM;
	}
	if (error == 0)
		error = snapshot_redact(snapshot, old, size, &more, &line);
	if (error == -EBADMSG) {
		session_fail(s, "cannot read '%s': line %u is not of this map", path, line);
	} else if (error == 0) {
		if (asprintf(&all, "%s%s", old, more) < 0) {
			all = NULL;
			error = -ENOMEM;
		} else {
			error = file_replace(path, all, strlen(all), 0600);
		}
	}
	if (error != 0 && error != -EBADMSG)
		session_fail(s, "cannot redact by '%s': %s", path, strerror(-error));
	free(old);
	free(more);
	free(all);
	return error == 0;
}

/* Findings about it as it was taken, so with the real names; then the file. */
static void finish(struct cmd_session *s, struct snapshot *snapshot, const struct snapshot_options *o)
{
	check_snapshot_cut(snapshot, &s->findings);
	judge(s, snapshot);
	if (!o->map || redact(s, snapshot, o->map))
		write_file(s, snapshot);
}

static void take(struct cmd_session *s, const struct snapshot_options *o)
{
	struct snapshot *snapshot = NULL;

	if (session_discover(s) && cmd_take(s, o->policy, o->opensm_conf, &snapshot)) {
		if (o->counters)
			cmd_take_counters(s, snapshot);
		if (ctx_stopped(s->ctx))
			session_fail(s, "stopped by a signal: nothing was written");
		else
			finish(s, snapshot, o);
	}
	snapshot_free(snapshot);
}

/* What is read must survive: with --redact it may be the only file that has the real names, and the map the only way back. */
static bool may_write(struct cmd_session *s, const struct snapshot_options *o)
{
	const char *path = o->common.argument[0];

	if (strcmp(path, "-") == 0)
		return true;
	if (o->common.from && file_same(path, o->common.from) == 1)
		session_fail(s, "'%s' is what --from reads: write to another file", path);
	else if (o->map && file_same(path, o->map) == 1)
		session_fail(s, "'%s' is the map of --redact: write to another file", path);
	else
		return true;
	return false;
}

/* One that is in a file already, to be redacted. */
static void take_file(struct cmd_session *s, const struct snapshot_options *o)
{
	const struct snapshot *stored;
	struct snapshot *snapshot = NULL;
	struct snapshot_fault fault;
	uint8_t *data = NULL;
	size_t size = 0;
	int error;

	if (!session_discover(s))
		return;
	stored = source_snapshot(s->source);
	if (!stored) {
		session_fail(s, "'%s' is no snapshot", o->common.from);
		return;
	}
	error = snapshot_encode(stored, &data, &size);
	if (error == 0)
		error = snapshot_decode(data, size, &snapshot, &fault);
	if (error == 0)
		finish(s, snapshot, o);
	else
		session_fail(s, "cannot copy '%s': %s", o->common.from, strerror(-error));
	snapshot_free(snapshot);
	free(data);
}

static void make(struct cmd_session *s, const struct snapshot_options *o)
{
	if (o->common.from)
		take_file(s, o);
	else if (!o->policy || cmd_policy_is_good(s, o->policy))
		take(s, o);
}

/* --- showing one --- */

static void show(struct cmd_session *s)
{
	const struct snapshot *snapshot;

	if (!session_discover(s))
		return;
	snapshot = source_snapshot(s->source);
	if (!snapshot) {
		session_fail(s, "'%s' is no snapshot; `ibqos discover --from` shows what other files have",
			     s->options->argument[0]);
		return;
	}
	judge(s, snapshot);
	report_snapshot(s, snapshot, 0);
}

enum ibqos_exit cmd_snapshot(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct snapshot_options options = {.accept = {.keep = ACCEPT_KEEP}};
	struct cmd_session s;

	cmd_defaults(&options.common, ctx);
	cmd_parse(&cmd_snapshot_argp, argc, argv, &options);
	if (options.common.site)
		return cmd_site(ctx, &options.common, argc, argv);
	if (options.accept.accept)
		return cmd_accept(ctx, &options.common, &options.accept);
	options.common.no_report = !options.show && strcmp(options.common.argument[0], "-") == 0;
	if (options.show)
		options.common.from = options.common.argument[0];

	if (!session_begin(&s, ctx, &options.common))
		return IBQOS_EXIT_UNKNOWN;
	if (options.show)
		show(&s);
	else if (may_write(&s, &options))
		make(&s, &options);
	return session_end(&s);
}
