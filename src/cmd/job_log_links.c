/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos job log --from, --state: what is wrong with the links of adapters whose transfers failed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"

#include "ibqos/audit.h"
#include "ibqos/snapshot.h"
#include "ibqos/state.h"

/* The fabric of the file, and what is wrong with its links; nothing of it is told but what a tie names. */
static int read_fabric(struct cmd_session *s, struct finding_list *of_links)
{
	struct audit_options options = {0};
	struct audit_result result = {0};
	int error = source_open_file(s->ctx, s->options->from, s->options->source.node_name_map, &s->source);

	s->findings.of_file = of_links->of_file = true;
	if (error == 0)
		error = source_discover(s->source, &s->findings, &s->fabric);
	if (error == 0) {
		const struct snapshot *snapshot = source_snapshot(s->source);

		if (source_lacks(s->source))
			finding_set(&finding_at(finding_add(&s->findings, FINDING_SOURCE_LACKS), s->options->from, 0, 0)->what, "%s",
				    source_lacks(s->source));
		if (snapshot) {
			struct snapshot_info info;
			char taken[SESSION_TIME];

			snapshot_info(snapshot, &info);
			session_time(info.taken, taken);
			report_string(s->report, "from", "links as in", s->options->from);
			report_string(s->report, "taken", "taken", taken);
			check_snapshot_cut(snapshot, &s->findings);
		} else {
			report_string(s->report, "from", "links as in", s->options->from);
		}
		error = audit_links(s->fabric, &options, of_links, &result);
	}
	return error ? error : audit_siblings(s->fabric, &options, of_links);
}

/* False, told, if there is nothing to look at. */
static bool read_state(struct cmd_session *s, const char *path, struct state *state)
{
	char written[STATE_TIME];
	bool usable = false;
	int error = access(path, F_OK) == 0 ? 0 : -errno;

	session_trust(s, path);
	if (error == 0)
		error = state_load(path, NULL, UINT64_MAX, &s->findings, state, &usable);
	if (error != 0)
		session_fail(s, "cannot read '%s': %s", path, strerror(-error));
	else if (!usable)
		session_fail(s, "cannot use '%s'", path);
	if (error != 0 || !usable)
		return false;
	state_time_text(state->written, written);
	report_string(s->report, "state", "and in", path);
	report_string(s->report, "state_written", "written", state->written ? written : NULL);
	return true;
}

static void report_ties(struct report *r, const struct job_log_view *v, const struct job_log_tie *ties, size_t count)
{
	static const struct report_column columns[] = {
		{.key = "host", .title = "host", .type = REPORT_STRING},
		{.key = "adapter", .title = "adapter", .type = REPORT_STRING},
		{.key = "status", .title = "status", .type = REPORT_NUMBER},
		{.key = "times", .title = "times", .type = REPORT_NUMBER},
		{.key = "of", .title = "link of", .type = REPORT_STRING},
		{.key = "node_guid", .type = REPORT_GUID},
		{.key = "node", .title = "node", .type = REPORT_STRING},
		{.key = "port", .title = "port", .type = REPORT_NUMBER},
		{.key = "peer_guid", .type = REPORT_GUID},
		{.key = "switch", .title = "switch", .type = REPORT_STRING},
		{.key = "switch_port", .title = "port", .type = REPORT_NUMBER},
		{.key = "finding", .title = "wrong with it", .type = REPORT_STRING},
		{.key = "severity", .type = REPORT_STRING},
		{.key = "where", .type = REPORT_STRING},
		{.key = "got", .type = REPORT_STRING},
		{.key = "wanted", .type = REPORT_STRING},
		{.key = "first_seen", .type = REPORT_STRING},
		{.key = "from", .type = REPORT_STRING},
	};

	report_table(r, "links", "links of adapters whose transfers failed", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++) {
		const struct job_log_tie *t = &ties[i];
		const struct job_log_event *e = &v->events[t->event];
		char seen[STATE_TIME];

		report_cell_string(r, v->hosts[e->host].name);
		report_cell_string(r, e->device);
		if (e->kind == JOB_LOG_COMPLETION)
			report_cell_number(r, (uint64_t)e->code);
		else
			report_cell_none(r);
		report_cell_number(r, e->count);
		report_cell_string(r, t->peer ? "its peer" : t->guessed ? "one of these" : "itself");
		report_cell_guid(r, t->guid);
		report_cell_string(r, t->name);
		report_cell_number(r, t->port);
		report_cell_guid(r, t->peer_guid);
		report_cell_string(r, t->peer_name);
		if (t->peer_port >= 0)
			report_cell_number(r, (uint64_t)t->peer_port);
		else
			report_cell_none(r);
		report_cell_string(r, t->code ? t->code : "nothing");
		if (t->code)
			report_cell_string(r, finding_severity_name(t->severity));
		else
			report_cell_none(r);
		report_cell_string(r, t->where);
		report_cell_string(r, t->got);
		report_cell_string(r, t->wanted);
		if (t->first_seen) {
			state_time_text(t->first_seen, seen);
			report_cell_string(r, seen);
		} else {
			report_cell_none(r);
		}
		report_cell_string(r, t->from);
		report_row_end(r);
	}
	report_table_end(r);
}

void cmd_job_log_links(struct cmd_session *s, const struct job_log *log, const char *state_path)
{
	struct finding_list of_links = {0};
	struct job_log_links links = {.from = s->options->from};
	struct job_log_view v = job_log_view(log);
	struct job_log_tie *ties = NULL;
	struct state state = {0};
	size_t count = 0;
	int error = 0;

	if (links.from) {
		error = read_fabric(s, &of_links);
		if (error != 0)
			session_fail(s, "cannot read '%s': %s", links.from, strerror(-error));
		else {
			links.fabric = s->fabric;
			links.findings = &of_links;
		}
	}
	if (state_path && read_state(s, state_path, &state)) {
		links.state_file = state_path;
		links.state = &state;
	}
	if (!links.fabric)
		links.from = NULL;
	if (links.fabric || links.state) {
		error = job_log_tie(log, &links, &s->findings, &ties, &count);
		if (error != 0)
			session_fail(s, "cannot look up links: %s", strerror(-error));
		report_ties(s->report, &v, ties, count);
	}
	job_log_ties_free(ties, count);
	state_clear(&state);
	finding_list_clear(&of_links);
}
