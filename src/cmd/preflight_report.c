/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What an apply found out before it touched a file. */
#include <string.h>

#include "apply_report.h"

static const char *answer_text(enum preflight_answer answer)
{
	static const char *const texts[] = {[PREFLIGHT_UNKNOWN] = NULL, [PREFLIGHT_NO] = "no", [PREFLIGHT_YES] = "yes"};

	return texts[answer];
}

static void report_process(struct report *r, const struct apply_preflight *p)
{
	char text[160];

	report_section(r, "preflight", "before the change: OpenSM");
	report_number(r, "pid", p->pid ? "process" : NULL, (uint64_t)p->pid);
	if (p->pid == 0) {
		report_string(r, "process", "process", "none with this config on this machine");
		report_section_end(r);
		return;
	}
	report_string(r, "command_line", "command line", p->facts.command);
	report_string(r, "unit", "service", p->facts.unit ? p->facts.unit : "none");
	report_string(r, "version", NULL, p->facts.version);
	report_string(r, "version_from", NULL, p->facts.version_from);
	report_string(r, "flavour", NULL, opensm_flavour_text(p->facts.flavour));
	snprintf(text, sizeof(text), "%s (by %s): %s", p->facts.version ? p->facts.version : "unknown",
		 p->facts.version_from ? p->facts.version_from : "nothing", opensm_flavour_text(p->facts.flavour));
	report_string(r, "version_text", "version", text);
	report_string(r, "config", "config", p->config);
	report_bool(r, "config_given", "named on its command line", p->config_given);
	report_string(r, "log", "log", p->log ? p->log : "none");
	report_guid(r, "port_guid", "its port", p->facts.port_guid);
	report_string(r, "engine", "routing engine in use", p->engine);
	report_string(r, "options_from", "options it runs with", p->options_from);
	report_string(r, "master_here", "it is the master", answer_text(p->master_here));
	report_string(r, "digest", "SHA-256 of what a standby must have", p->digest);
	report_section_end(r);
}

static const char *state_text(const struct preflight_sm *sm)
{
	static const char *const states[] = {"not active", "discovering", "standby", "master"};

	if (sm->seen.outcome != MAD_ANSWERED)
		return sm->seen.outcome == MAD_TIMED_OUT ? "no answer" : sm->seen.outcome == MAD_STATUS ? "refused" : "not asked";
	return sm->seen.info.state <= MAD_SM_MASTER ? states[sm->seen.info.state] : "not defined";
}

static void report_sms(struct report *r, const struct apply_preflight *p)
{
	static const struct report_column columns[] = {
		{.key = "node", .title = "node", .type = REPORT_STRING},
		{.key = "port_guid", .title = "port", .type = REPORT_GUID},
		{.key = "state", .title = "state", .type = REPORT_STRING},
		{.key = "priority", .title = "priority", .type = REPORT_NUMBER},
		{.key = "master", .title = "named by the ports", .type = REPORT_BOOL},
		{.key = "here", .title = "this one", .type = REPORT_STRING},
		{.key = "files", .title = "its files", .type = REPORT_STRING},
	};
	static const char *const files[] = {
		[PREFLIGHT_OPEN] = "not known to be the same", [PREFLIGHT_LATER] = "to be done", [PREFLIGHT_CONFIRMED] = "confirmed"};

	report_table(r, "subnet_managers", "subnet managers", columns, sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < p->sm_count; i++) {
		const struct preflight_sm *sm = &p->sms[i];

		report_cell_string(r, sm->name);
		report_cell_guid(r, sm->guid);
		report_cell_string(r, state_text(sm));
		if (sm->seen.outcome == MAD_ANSWERED)
			report_cell_number(r, sm->seen.info.priority);
		else
			report_cell_none(r);
		report_cell_bool(r, sm->master);
		report_cell_string(r, answer_text(sm->here));
		if (sm->master)
			report_cell_none(r);
		else
			report_cell_string(r, files[sm->files]);
		report_row_end(r);
	}
	report_table_end(r);
}

static void report_files(struct report *r, const struct apply_preflight *p)
{
	static const struct report_column columns[] = {
		{.key = "file", .title = "file", .type = REPORT_STRING},
		{.key = "path", .title = "path", .type = REPORT_STRING},
		{.key = "exists", .title = "exists", .type = REPORT_BOOL},
		{.key = "writable", .title = "can be written", .type = REPORT_STRING},
		{.key = "free_bytes", .title = "bytes free", .type = REPORT_NUMBER},
		{.key = "pending", .title = "changed by others", .type = REPORT_STRING},
		{.key = "against", .title = "told by", .type = REPORT_STRING},
		{.key = "changes", .title = "changes", .type = REPORT_NUMBER},
		{.key = "critical", .title = "critical", .type = REPORT_NUMBER},
		{.key = "warnings", .title = "warnings", .type = REPORT_NUMBER},
	};

	report_table(r, "files", "files that OpenSM reads on a reload; faults as `ibqos lint` tells them", columns,
		     sizeof(columns) / sizeof(columns[0]));
	for (int i = 0; i < PREFLIGHT_FILES; i++) {
		const struct preflight_file *file = &p->files[i];

		if (!file->path)
			continue;
		report_cell_string(r, preflight_role_name(i));
		report_cell_string(r, file->path);
		report_cell_bool(r, file->exists);
		if (i <= PREFLIGHT_RULES)
			report_cell_string(r, answer_text(file->writable));
		else
			report_cell_none(r);
		report_cell_number(r, file->room);
		if (i > PREFLIGHT_RULES && !file->exists && file->pending == PREFLIGHT_UNKNOWN)
			report_cell_none(r);
		else
			report_cell_string(r, answer_text(file->pending));
		report_cell_if(r, file->against);
		report_cell_number(r, file->changes);
		report_cell_number(r, file->faults[FINDING_CRITICAL]);
		report_cell_number(r, file->faults[FINDING_WARNING] + file->faults[FINDING_UNKNOWN]);
		report_row_end(r);
	}
	report_table_end(r);
}

void cmd_report_preflight(struct report *r, const struct apply_preflight *p)
{
	if (!p->looked)
		return;
	report_process(r, p);
	report_sms(r, p);
	report_files(r, p);
	report_section(r, "before", "before the change: fabric and disk");
	report_number(r, "no_answer", "places without an answer", p->gaps);
	report_number(r, "state_free_bytes", "bytes free for the history", p->state_room);
	report_bool(r, "drift_known", NULL, p->drift_known);
	if (p->drift_known) {
		report_number(r, "drift_looked_at", "ports looked at", p->drift.ports);
		report_number(r, "drift_differ", "of these not as the config in place says", p->drift.ports_differ);
		report_number(r, "drift_unknown", "not known", p->drift.ports_unknown);
	} else {
		report_string(r, "drift", "ports, against the config in place", "not compared: it has QoS off, or is not there");
	}
	report_section_end(r);
}
