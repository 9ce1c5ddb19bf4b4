/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* OpenSM's files read for lint and import: options, texts, what they say. */
#ifndef IBQOS_CMD_OPENSM_FILES_H
#define IBQOS_CMD_OPENSM_FILES_H

#include "cmd.h"

#include "ibqos/opensm_files.h"

struct cmd_files {
	const char *conf_path, *policy_path, *partitions_path; /* as given; NULL: not given */
	struct opensm_conf *conf;
	struct opensm_policy_file *policy;
	struct opensm_partitions *partitions;
};

/* argp: --opensm-conf, --qos-policy, --partitions. */
#define CMD_FILES_KEYS {"opensm-conf", CMD_KEY_CONF, "FILE", 0, "an opensm.conf", 0}, \
	{"qos-policy", CMD_KEY_POLICY, "FILE", 0, "a qos-policy file of OpenSM", 0}, \
	{"partitions", CMD_KEY_PARTITIONS, "FILE", 0, "a partitions file of OpenSM", 0}
enum { CMD_KEY_CONF = 0x400, CMD_KEY_POLICY, CMD_KEY_PARTITIONS };
/* Takes one of them; false: the key is another one. */
bool cmd_files_option(struct cmd_files *files, int key, const char *arg);
bool cmd_files_given(const struct cmd_files *files);

/* Reads what was given; faults become findings. False, with a message, if a file cannot be read. */
bool cmd_files_read(struct cmd_session *s, struct cmd_files *files);
/* As the functions of OpenSM's files want them. */
struct opensm_files cmd_files_view(const struct cmd_files *files);
void cmd_files_clear(struct cmd_files *files);
/* The tables that OpenSM makes of opensm.conf, by kind of port. */
void cmd_files_tables(struct cmd_session *s, const struct qos_config *config);
/* The whole of lint for OpenSM's files. */
void cmd_lint_files(struct cmd_session *s, struct cmd_files *files);

#endif
