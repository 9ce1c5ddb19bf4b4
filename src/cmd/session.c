/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What every command does around its own work: report, source, discovery, exit code. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "keys.h"
#include "terminal.h"
#include "verify_sample.h"

#include "ibqos/snapshot.h"

/* A terminal, pipe or socket cannot be replaced: written as it is, unless somebody has put it there to be written. */
static int write_through(const char *path, const char *text, size_t size)
{
	int fd, error = trust_planted(path, -1);
	struct stat st;
	FILE *to;

	if (error != 0)
		return error;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0 || S_ISBLK(st.st_mode) || S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	to = fdopen(fd, "w");
	if (!to) {
		error = -errno;
		close(fd);
		return error;
	}
	error = fwrite(text, 1, size, to) == size ? 0 : -EIO;
	if (fclose(to) != 0)
		error = -errno;
	return error;
}

int cmd_write(const char *path, const char *text, size_t size)
{
	struct stat st;

	if (!path)
		return fwrite(text, 1, size, stdout) == size && fflush(stdout) == 0 ? 0 : -errno;
	if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
		return file_replace(path, text, size, 0644);
	return write_through(path, text, size);
}

/* A report into memory, of which a file is made at the end. NULL, with nothing left, when out of memory. */
static struct report *begin_in_memory(struct ibqos_ctx *ctx, enum report_format format, FILE **out, char **buffer, size_t *size)
{
	struct report *report;

	*out = open_memstream(buffer, size);
	if (!*out)
		return NULL;
	report = report_begin(ctx, *out, format);
	if (report)
		return report;
	fclose(*out);
	free(*buffer);
	*buffer = NULL;
	return NULL;
}

static void report_labels(struct cmd_session *s)
{
	if (s->options->label_count == 0)
		return;
	report_section(s->report, REPORT_LABELS, REPORT_LABELS);
	for (unsigned i = 0; i < s->options->label_count; i++) {
		const char *text = s->options->labels[i], *value = strchr(text, '=');
		char name[64]; /* as options.c has seen to */

		snprintf(name, sizeof(name), "%.*s", (int)(value - text), text);
		report_string(s->report, name, name, value + 1);
	}
	report_section_end(s->report);
}

/* What the command is for; where that is to read, what its options have it write counts. */
static enum rights rights_of(const struct ibqos_ctx *ctx, const struct cmd_options *options)
{
	size_t length = strcspn(ctx->command, " "); /* "maintenance begin" has those of its group */

	if (ctx->reads_only)
		return options->writes || options->output || options->metrics ? RIGHTS_WRITE : RIGHTS_READ;
	for (const struct cmd *c = cmd_table; c->name; c++)
		if (strncmp(c->name, ctx->command, length) == 0 && c->name[length] == '\0')
			return c->rights;
	return RIGHTS_CHANGE;
}

bool session_begin(struct cmd_session *s, struct ibqos_ctx *ctx, const struct cmd_options *options)
{
	struct report_style style = cmd_style(ctx, options);

	*s = (struct cmd_session){.ctx = ctx, .options = options, .out = stdout};
	s->began = (uint64_t)time(NULL);
	if (!options->site) /* else its workers do so, and site.c once they run */
		rights_keep(ctx, rights_of(ctx, options));
	if (options->metrics) {
		s->metrics = begin_in_memory(ctx, REPORT_PROMETHEUS, &s->metrics_out, &s->metrics_buffer, &s->metrics_size);
		if (!s->metrics)
			goto fail;
	}
	s->report = options->output || options->no_report ? begin_in_memory(ctx, options->format, &s->out, &s->buffer, &s->buffer_size)
				    : report_begin(ctx, s->out, options->format);
	if (!s->report)
		goto fail;
	report_set_style(s->report, &style);
	if (s->metrics)
		report_also(s->report, s->metrics);
	report_labels(s);
	cmd_line_begin(&s->line, ctx);
	return true;
fail:
	ctx_error(ctx, "out of memory");
	if (s->metrics) {
		report_end(s->metrics, IBQOS_EXIT_UNKNOWN);
		fclose(s->metrics_out);
		free(s->metrics_buffer);
	}
	return false;
}

/* When a file that does not tell was written last; false: not known. */
static bool written_at(const char *path, char text[SESSION_TIME])
{
	struct stat st;
	bool known = stat(path, &st) == 0 && S_ISREG(st.st_mode);

	if (known)
		session_time((uint64_t)st.st_mtime, text);
	return known;
}

/* Of when a report from a file is. */
static void from_fields(struct cmd_session *s)
{
	const struct snapshot *snapshot = source_snapshot(s->source);
	struct snapshot_info info;
	char taken[SESSION_TIME];

	report_string(s->report, "from", "from", s->options->from);
	if (source_lacks(s->source))
		finding_set(&finding_at(finding_add(&s->findings, FINDING_SOURCE_LACKS), s->options->from, 0, 0)->what, "%s",
			    source_lacks(s->source));
	if (!snapshot) {
		if (written_at(s->options->from, taken))
			report_string(s->report, "from_written", "file written", taken);
		return;
	}
	snapshot_info(snapshot, &info);
	session_time(info.taken, taken);
	report_string(s->report, "taken", "taken", taken);
	check_snapshot_cut(snapshot, &s->findings);
	if (source_merged(s->source))
		session_merged(s, NULL, source_merged(s->source));
}

/* "fe80::", as GIDs are written */
static const char *prefix_text(uint64_t prefix, char text[INET6_ADDRSTRLEN])
{
	uint64_t gid[2] = {htobe64(prefix), 0};

	return inet_ntop(AF_INET6, gid, text, INET6_ADDRSTRLEN);
}

/* When, by what, from where and by which policy: which of many reports this one is. For programs in parts, for people in lines. */
static void report_head(struct cmd_session *s)
{
	const struct mad_port_info *port = s->options->nameless ? NULL : source_port(s->source);
	bool file = s->options->from != NULL;
	char began[SESSION_TIME], host[256] = "", prefix[INET6_ADDRSTRLEN] = "", *line = NULL;

	session_time(s->began, began);
	report_section(s->report, "run", NULL);
	report_string(s->report, "began", NULL, began);
	report_string(s->report, "source", NULL, file ? "file" : "live");
	if (s->policy_path) {
		report_string(s->report, "policy", NULL, s->policy_path);
		report_string(s->report, "policy_name", NULL, s->policy_name);
	}
	if (port) {
		gethostname(host, sizeof(host) - 1);
		report_string(s->report, "host", NULL, host);
		report_string(s->report, "device", NULL, port->device);
		report_number(s->report, "port", NULL, (uint64_t)port->port);
		report_guid(s->report, "port_guid", NULL, port->guid);
		report_number(s->report, "lid", NULL, port->lid);
		report_string(s->report, "subnet_prefix", NULL, port->subnet_prefix ? prefix_text(port->subnet_prefix, prefix) : NULL);
	}
	report_section_end(s->report);
	if (port && asprintf(&line, "%s from %s %s/%d, LID %u, subnet %s", began, host, port->device, port->port, port->lid,
			     port->subnet_prefix ? prefix : "not known") < 0)
		line = NULL;
	if (!port && asprintf(&line, "%s %s", began, file ? "at a file" : "from this host") < 0)
		line = NULL;
	report_string(s->report, "looked", "looked", line);
	free(line);
	if (asprintf(&line, "ibqos %s%s%s%s%s%s", IBQOS_VERSION, s->policy_path ? ", policy " : "", s->policy_path ? s->policy_path : "",
		     s->policy_name ? " (" : "", s->policy_name ? s->policy_name : "", s->policy_name ? ")" : "") < 0)
		line = NULL;
	report_string(s->report, "looked_by", "by", line);
	free(line);
	s->headed = true;
}

void session_policy(struct cmd_session *s, const char *path, const char *name)
{
	s->policy_path = path;
	free(s->policy_name);
	s->policy_name = name ? strdup(name) : NULL;
	s->findings.lost |= name && !s->policy_name;
}

static struct finding *add_merged(struct cmd_session *s, enum finding_code code, const char *fabric)
{
	struct finding *f = finding_add(&s->findings, code);

	if (fabric && fabric[0])
		finding_set(&f->what, "%s", fabric);
	return f;
}

void session_merged(struct cmd_session *s, const char *fabric, const struct snapshot_merged *merged)
{
	char from[SESSION_TIME], to[SESSION_TIME];
	struct finding *f;

	if (merged->links == 0 && merged->answers == 0 && merged->filled == 0 && merged->undecided == 0)
		return;
	session_time(merged->oldest, from);
	session_time(merged->newest, to);
	if (merged->links > 0 || merged->answers > 0) {
		f = add_merged(s, FINDING_MERGE_DIFFERS, fabric);
		finding_set(&f->got, "%u links, %llu answers that older ones have otherwise", merged->links,
			    (unsigned long long)merged->answers);
		finding_set(&f->detail, "%zu snapshots from %s to %s", merged->parts, from, to);
	}
	if (merged->undecided > 0) {
		f = add_merged(s, FINDING_MERGE_UNDECIDED, fabric);
		finding_set(&f->got, "%llu ports, links or answers that differ", (unsigned long long)merged->undecided);
		finding_set(&f->detail, "%zu snapshots from %s to %s", merged->parts, from, to);
	}
	if (merged->filled > 0) {
		f = add_merged(s, FINDING_MERGE_FILLED, fabric);
		finding_set(&f->got, "%llu that one had no answer to, or saw no peer of, and another has",
			    (unsigned long long)merged->filled);
		finding_set(&f->detail, "%zu snapshots within %llu s, from %s to %s", merged->parts,
			    (unsigned long long)(merged->newest - merged->oldest), from, to);
	}
}

void session_time(uint64_t seconds, char text[SESSION_TIME])
{
	time_t when = (time_t)seconds;
	struct tm tm;

	if (!gmtime_r(&when, &tm) || strftime(text, SESSION_TIME, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(text, SESSION_TIME, "%llu s after 1970", (unsigned long long)seconds);
}

/* A file of another tool may have no PortInfo at all. */
static uint32_t ports_known(const struct fabric *f)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < f->port_count; i++)
		known += f->ports[i].known;
	return known;
}

bool session_trust(struct cmd_session *s, const char *path)
{
	return finding_trust(s->ctx->trust, &s->findings, path);
}

bool session_trust_state(struct cmd_session *s, const char *folder)
{
	char *path = NULL;
	bool trusted;

	if (asprintf(&path, "%s/%s", s->ctx->state_dir, folder) < 0) {
		s->findings.lost = true;
		return false;
	}
	trusted = session_trust(s, path);
	free(path);
	return trusted;
}

bool session_discover(struct cmd_session *s)
{
	struct source_options options;
	uint64_t start;
	int error = 0;

	if (!s->source && !s->options->from && !cmd_secrets_read(s, &s->secrets, &options))
		return false;
	session_trust(s, s->options->source.node_name_map);
	s->findings.of_file = s->options->from || source_is_file(s->source);
	start = clock_ns();
	if (!s->source)
		error = s->options->from
				? source_open_file(s->ctx, s->options->from, s->options->source.node_name_map, &s->source)
				: source_open_live(s->ctx, &options, &s->source);

	if (error == 0 && !s->headed)
		report_head(s);
	if (error == 0)
		error = source_discover(s->source, &s->findings, &s->fabric);
	s->discovery_seconds = (double)(clock_ns() - start) / 1e9;
	if (error != 0) { /* the source has said what is wrong */
		s->least = IBQOS_EXIT_UNKNOWN;
		report_string(s->report, "error", NULL, strerror(-error));
		return false;
	}
	if (s->options->from)
		from_fields(s);
	check_gaps(s->fabric, &s->findings);
	if (s->fabric->sm_lid == 0 && (!source_lacks(s->source) || ports_known(s->fabric) > 0))
		finding_add(&s->findings, FINDING_NO_SM);
	return true;
}

bool session_scope(struct cmd_session *s)
{
	const struct cmd_options *o = s->options;
	char *text = NULL;
	size_t size;
	FILE *out;
	int error;

	if (o->scope_count == 0)
		return true;
	error = scope_make(s->fabric, o->scope, o->scope_count, &s->findings, &s->scope);
	if (error != 0) {
		session_fail(s, "%s", strerror(-error));
		return false;
	}
	scope_filter(&s->scope, s->fabric, &s->findings);
	out = open_memstream(&text, &size);
	for (unsigned i = 0; out && i < o->scope_count; i++)
		fprintf(out, "%s%s", i ? ", " : "", o->scope[i].text);
	if (!out || text_stream_end(out, &text) != 0)
		text = NULL;
	report_section(s->report, "scope", "scope: only");
	report_string(s->report, "named", "named", text);
	report_number(s->report, "nodes", "nodes", s->scope.nodes);
	report_number(s->report, "ports", "ports of these, with their links' other ends", s->scope.port_count);
	report_section_end(s->report);
	free(text);
	if (s->scope.nodes > 0)
		return true;
	session_fail(s, "nothing of what was named is in this fabric, so nothing was looked at");
	return false;
}

const struct scope *session_scope_of(const struct cmd_session *s)
{
	return s->scope.ports ? &s->scope : NULL;
}

void session_fail(struct cmd_session *s, const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	ctx_error(s->ctx, "%s", text ? text : "out of memory");
	report_string(s->report, "error", NULL, text);
	free(text);
	s->least = IBQOS_EXIT_UNKNOWN;
}

/* The worse of two exit codes, in the order critical, unknown, warning, clean. */
enum ibqos_exit session_worse(enum ibqos_exit a, enum ibqos_exit b)
{
	static const int rank[] = {
		[IBQOS_EXIT_CLEAN] = 0, [IBQOS_EXIT_WARNING] = 1, [IBQOS_EXIT_UNKNOWN] = 2, [IBQOS_EXIT_CRITICAL] = 3};

	return rank[a] > rank[b] ? a : b;
}

/* Makes a file of what was reported into memory, unless that has failed. The size is known once the stream is closed. */
static int write_whole(const char *path, int error, FILE *out, char **buffer, const size_t *size)
{
	int unfinished = text_stream_end(out, buffer);

	error = error ? error : unfinished;
	if (error == 0)
		error = cmd_write(path, *buffer, *size);
	free(*buffer);
	*buffer = NULL;
	return error;
}

static enum ibqos_exit told_unwritten(struct cmd_session *s, const char *path, int error, enum ibqos_exit code)
{
	if (error == 0)
		return code;
	ctx_error(s->ctx, "cannot write %s: %s", path ? path : "standard output", strerror(-error));
	return session_worse(code, IBQOS_EXIT_UNKNOWN);
}

enum ibqos_exit session_end(struct cmd_session *s)
{
	enum ibqos_exit code;
	int error;

	cmd_line_end(&s->line, s->ctx);
	if (ctx_stopped(s->ctx) && s->least == IBQOS_EXIT_CLEAN)
		session_fail(s, "stopped by a signal: the result is not whole");
	finding_list_unique(&s->findings);
	code = session_worse(finding_exit(&s->findings), s->least);
	if (s->findings.lost)
		ctx_error(s->ctx, "out of memory: the list of findings is not whole");
	report_findings(s->report, &s->findings, s->options->all);
	cmd_figures_end(s);
	error = report_end(s->report, code);
	if (s->options->output)
		error = write_whole(s->options->output, error, s->out, &s->buffer, &s->buffer_size);
	else if (s->options->no_report) {
		fclose(s->out);
		free(s->buffer);
	}
	code = told_unwritten(s, s->options->output, error, code);
	if (s->metrics) {
		error = report_end(s->metrics, code);
		error = write_whole(s->options->metrics, error, s->metrics_out, &s->metrics_buffer, &s->metrics_size);
		code = told_unwritten(s, s->options->metrics, error, code);
	}
	free(s->policy_name);
	finding_list_clear(&s->findings);
	scope_clear(&s->scope);
	fabric_free(s->fabric);
	source_close(s->source);
	cmd_secrets_clear(&s->secrets);
	return code;
}

/* The same for the same nodes, whichever port they were found from (FNV-1a of their GUIDs, which are in order). */
static const char *nodes_digest(const struct fabric *f, char text[24])
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (uint32_t i = 0; i < f->node_count; i++) {
		for (unsigned shift = 0; shift < 64; shift += 8) {
			hash ^= f->nodes[i].guid >> shift & 0xff;
			hash *= 0x100000001b3u;
		}
	}
	snprintf(text, 24, "%016llx", (unsigned long long)hash);
	return text;
}

void session_fabric_fields(struct cmd_session *s)
{
	const struct fabric *f = s->fabric;
	uint32_t switches = 0, active = 0;
	char digest[24];

	for (uint32_t i = 0; i < f->node_count; i++)
		switches += f->nodes[i].type == FABRIC_SWITCH;
	for (uint32_t i = 0; i < f->port_count; i++) /* port 0 of a switch is no link */
		active += f->ports[i].number > 0 && f->ports[i].known && fabric_port_state(&f->ports[i]) == FABRIC_STATE_ACTIVE;
	report_section(s->report, "fabric_found", "fabric");
	report_number(s->report, "switches", "switches", switches);
	report_number(s->report, "adapters", "adapters and routers", f->node_count - switches);
	report_number(s->report, "links", "links", f->link_count);
	report_string(s->report, "nodes_digest", NULL, nodes_digest(f, digest));
	if (source_lacks(s->source) && ports_known(f) == 0) { /* states of ports are among it */
		report_string(s->report, "active_ports", "active ports", NULL);
	} else {
		report_number(s->report, "active_ports", "active ports", active);
		report_number(s->report, "no_answer", "places without an answer", f->gap_count);
	}
	report_section_end(s->report);
}

/* Verifies, and keeps how long the questions took; says what went wrong. The result may be partial. */
bool session_verify(struct cmd_session *s, const struct qos_config *config, struct verify **verify)
{
	int error = verify_new(s->ctx, s->fabric, config, verify);
	uint64_t start = clock_ns();

	if (error == 0)
		verify_set_scope(*verify, session_scope_of(s));
	if (error == 0)
		error = cmd_sample_choose(s, *verify, config);
	if (error == 0)
		error = verify_run(*verify, s->source, false);
	s->seconds = (double)(clock_ns() - start) / 1e9;
	if (error != 0 && error != -EINTR) /* a signal is told at the end */
		session_fail(s, "cannot read the ports: %s", strerror(-error));
	else if (error == 0 && verify_result(*verify)->ports == 0 && verify_result(*verify)->ports_there == 0)
		session_fail(s, "no active port was found, so nothing was compared");
	return *verify != NULL;
}

void session_coverage_table(struct report *r, const char *key, const char *title)
{
	static const struct report_column columns[] = {
		{.key = "item", .title = "asked for", .type = REPORT_STRING},
		{.key = "asked", .title = "queries", .type = REPORT_NUMBER},
		{.key = "answered", .title = "answered", .type = REPORT_NUMBER},
		{.key = "status", .title = "refused", .type = REPORT_NUMBER},
		{.key = "timed_out", .title = "timed out", .type = REPORT_NUMBER},
		{.key = "not_asked", .title = "given up", .type = REPORT_NUMBER},
	};

	report_table(r, key, title, columns, sizeof(columns) / sizeof(columns[0]));
}

void session_coverage_row(struct report *r, const char *item, const struct check_coverage *c)
{
	report_cell_string(r, item);
	report_cell_number(r, c->asked);
	report_cell_number(r, c->ended[MAD_ANSWERED]);
	report_cell_number(r, c->ended[MAD_STATUS]);
	report_cell_number(r, c->ended[MAD_TIMED_OUT]);
	report_cell_number(r, c->ended[MAD_NOT_ASKED]);
	report_row_end(r);
}

void session_coverage(struct cmd_session *s, const struct verify_result *result)
{
	session_coverage_table(s->report, "coverage", "coverage");
	for (int i = 0; i < VERIFY_ITEMS; i++)
		session_coverage_row(s->report, verify_item_name(i), &result->coverage[i]);
	report_table_end(s->report);
	session_mads(s);
}

/* A count of what went wrong: people are told where there is something to tell. */
void session_failures(struct report *r, const char *key, const char *title, uint64_t count)
{
	report_number(r, key, count > 0 ? title : NULL, count);
}

/* libibnetdisc counts what it sends, and nothing else. */
static void report_discovery(struct report *r, const struct mad_counts *counts, bool native)
{
	report_number(r, "discovery_sent", "sent to discover", counts->sent);
	if (!native) {
		report_string(r, "discovery_repeated", "of these repeated", NULL);
		return;
	}
	session_failures(r, "discovery_repeated", "of these repeated", counts->retried);
	session_failures(r, "discovery_unanswered", "queries without an answer", counts->ended[MAD_TIMED_OUT]);
	session_failures(r, "discovery_refused", "queries refused", counts->ended[MAD_STATUS]);
	session_failures(r, "discovery_late", "late answers dropped", counts->late);
	session_failures(r, "discovery_foreign", "foreign answers dropped", counts->foreign);
	session_failures(r, "discovery_send_failed", "could not be sent", counts->send_failed);
	report_number(r, "discovery_late_rounds", NULL, counts->rounds);
	report_number(r, "discovery_window_least", NULL, counts->window_least);
}

void session_mads(struct cmd_session *s)
{
	const struct mad_counts *counts = source_counts(s->source), *discovery = source_discovery_counts(s->source);

	report_section(s->report, "mads", "MADs");
	if (discovery)
		report_discovery(s->report, discovery, s->options->source.walker == SOURCE_WALK_NATIVE);
	report_real(s->report, "discovery_seconds", NULL, s->discovery_seconds, 6, "s");
	report_number(s->report, "sent", "sent to ask", counts->sent);
	session_failures(s->report, "repeated", "of these repeated", counts->retried);
	session_failures(s->report, "late", "late answers dropped", counts->late);
	session_failures(s->report, "foreign", "foreign answers dropped", counts->foreign);
	session_failures(s->report, "send_failed", "could not be sent", counts->send_failed);
	report_number(s->report, "answered", NULL, counts->ended[MAD_ANSWERED]);
	report_number(s->report, "slow", NULL, counts->slow);
	report_number(s->report, "late_rounds", NULL, counts->rounds);
	report_number(s->report, "window", NULL, counts->window);
	report_number(s->report, "window_least", NULL, counts->window_least);
	report_number(s->report, "narrowed_by_loss", NULL, counts->losses);
	report_number(s->report, "narrowed_by_latency", NULL, counts->slowdowns);
	if (s->seconds > 0)
		report_real(s->report, "seconds", NULL, s->seconds, 6, "s"); /* of asking; not in text, which is the same each time */
	report_section_end(s->report);
}
