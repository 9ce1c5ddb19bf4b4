/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* OpenSM's files read for lint and import, and lint of them. */
#include <stdlib.h>
#include <string.h>

#include "opensm_files.h"

bool cmd_files_option(struct cmd_files *files, int key, const char *arg)
{
	switch (key) {
	case CMD_KEY_CONF:
		files->conf_path = arg;
		return true;
	case CMD_KEY_POLICY:
		files->policy_path = arg;
		return true;
	case CMD_KEY_PARTITIONS:
		files->partitions_path = arg;
		return true;
	default:
		return false;
	}
}

bool cmd_files_given(const struct cmd_files *files)
{
	return files->conf_path || files->policy_path || files->partitions_path;
}

struct opensm_files cmd_files_view(const struct cmd_files *files)
{
	return (struct opensm_files){
		.conf = files->conf,
		.conf_path = files->conf_path,
		.policy = files->policy,
		.policy_path = files->policy_path,
		.partitions = files->partitions,
		.partitions_path = files->partitions_path,
	};
}

static int read_conf(struct cmd_session *s, struct cmd_files *files, const char *text, size_t size)
{
	(void)s;
	return opensm_conf_parse(text, size, &files->conf);
}

static int read_policy(struct cmd_session *s, struct cmd_files *files, const char *text, size_t size)
{
	return opensm_policy_read(files->policy_path, text, size, &s->findings, &files->policy);
}

static int read_partitions(struct cmd_session *s, struct cmd_files *files, const char *text, size_t size)
{
	return opensm_partitions_read(files->partitions_path, text, size, &s->findings, &files->partitions);
}

/* True if there is nothing to read, too. */
static bool read_one(struct cmd_session *s, struct cmd_files *files, const char *key, const char *path,
		     int (*read)(struct cmd_session *s, struct cmd_files *files, const char *text, size_t size))
{
	char *text = NULL;
	size_t size = 0;
	int error;

	if (!path)
		return true;
	report_string(s->report, key, NULL, path);
	error = file_read(path, &text, &size);
	if (error == 0)
		error = read(s, files, text, size);
	free(text);
	if (error != 0)
		session_fail(s, "cannot read %s: %s", path, strerror(-error));
	return error == 0;
}

bool cmd_files_read(struct cmd_session *s, struct cmd_files *files)
{
	bool good = read_one(s, files, "opensm_conf", files->conf_path, read_conf);

	good &= read_one(s, files, "qos_policy", files->policy_path, read_policy);
	good &= read_one(s, files, "partitions_conf", files->partitions_path, read_partitions);
	return good;
}

void cmd_files_clear(struct cmd_files *files)
{
	opensm_conf_free(files->conf);
	opensm_policy_file_free(files->policy);
	opensm_partitions_free(files->partitions);
}

void cmd_files_tables(struct cmd_session *s, const struct qos_config *config)
{
	static const struct report_column columns[] = {
		{.key = "port_type", .title = "ports", .type = REPORT_STRING},
		{.key = "sl2vl", .title = "SL2VL", .type = REPORT_STRING},
		{.key = "vlarb_high", .title = "VLArb high", .type = REPORT_STRING},
		{.key = "vlarb_low", .title = "VLArb low", .type = REPORT_STRING},
		{.key = "high_limit", .title = "high limit", .type = REPORT_NUMBER},
	};
	char text[QOS_TEXT_MAX];

	report_table(s->report, "tables", "tables, as OpenSM reads them", columns, sizeof(columns) / sizeof(columns[0]));
	for (int type = 0; type < QOS_PORT_TYPES; type++) {
		const struct qos_tables *t = &config->of[type];

		report_cell_string(s->report, qos_port_type_name(type));
		qos_sl2vl_format(&t->sl2vl, text);
		report_cell_string(s->report, text);
		qos_vlarb_format(t->high.entry, t->high.count, text);
		report_cell_string(s->report, text);
		qos_vlarb_format(t->low.entry, t->low.count, text);
		report_cell_string(s->report, text);
		report_cell_number(s->report, t->high_limit);
		report_row_end(s->report);
	}
	report_table_end(s->report);
}

static int lint_conf(struct cmd_session *s, const struct cmd_files *files)
{
	struct finding_list ignored = {0}; /* told by the lint */
	struct qos_config config;
	bool enabled;
	int error = opensm_conf_lint(files->conf, files->conf_path, &s->findings);

	if (error == 0)
		error = opensm_conf_get_qos(files->conf, files->conf_path, &config, &enabled, &ignored);
	finding_list_clear(&ignored);
	if (error == 0) {
		report_bool(s->report, "qos", "QoS", enabled);
		cmd_files_tables(s, &config);
	}
	return error;
}

static void report_rules(struct cmd_session *s, const struct opensm_policy_file *policy)
{
	report_number(s->report, "levels", "levels", policy->level_count);
	report_number(s->report, "groups", "port groups", policy->group_count);
	report_number(s->report, "rules", "rules", policy->rule_count);
	report_number(s->report, "default_sl", "SL where no rule matches", policy->default_sl);
}

static void report_partitions(struct cmd_session *s, const struct opensm_partitions *partitions)
{
	static const struct report_column columns[] = {
		{.key = "name", .title = "partition", .type = REPORT_STRING},
		{.key = "pkey", .title = "P_Key", .type = REPORT_STRING},
		{.key = "sl", .title = "SL", .type = REPORT_NUMBER},
		{.key = "ipoib", .title = "IPoIB", .type = REPORT_BOOL},
		{.key = "line", .title = "line", .type = REPORT_NUMBER},
	};

	report_table(s->report, "partitions", "partitions", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < partitions->count; i++) {
		const struct opensm_partition *p = &partitions->items[i];
		char pkey[16];

		snprintf(pkey, sizeof(pkey), "0x%04x", p->pkey);
		report_cell_string(s->report, p->name);
		report_cell_string(s->report, pkey);
		report_cell_number(s->report, p->sl);
		report_cell_bool(s->report, p->ipoib);
		if (p->mark.line)
			report_cell_number(s->report, p->mark.line);
		else
			report_cell_none(s->report);
		report_row_end(s->report);
	}
	report_table_end(s->report);
}

void cmd_lint_files(struct cmd_session *s, struct cmd_files *files)
{
	struct opensm_files view;
	int error = 0;

	cmd_files_read(s, files); /* what can be read is looked at all the same */
	if (files->conf)
		error = lint_conf(s, files);
	view = cmd_files_view(files);
	if (error == 0)
		error = opensm_files_lint(&view, &s->findings);
	if (files->policy)
		report_rules(s, files->policy);
	if (files->partitions)
		report_partitions(s, files->partitions);
	if (error != 0)
		session_fail(s, "cannot look over the files: %s", strerror(-error));
}
