/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos import: OpenSM's own files, read as OpenSM reads them, made a policy that compiles to the same tables. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "opensm_files.h"

#include "ibqos/policy.h"

struct import_options {
	struct cmd_options common; /* first: children get the same pointer */
	struct cmd_files files;
	bool force;
};

enum { KEY_FORCE = 0x200 };

static const struct argp_option own_options[] = {
	CMD_FILES_KEYS,
	{"force", KEY_FORCE, NULL, 0, "replace the policy file if there is one", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct import_options *o = state->input;

	if (cmd_files_option(&o->files, key, arg))
		return 0;
	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &o->common);
		return 0;
	case KEY_FORCE:
		o->force = true;
		return 0;
	case ARGP_KEY_END:
		if (!cmd_files_given(&o->files))
			argp_error(state, "no file is given: --opensm-conf, --qos-policy or --partitions");
		if (!o->common.output)
			argp_error(state, "--output POLICY is missing: where to write the policy");
		return 0;
	default:
		return cmd_argument(key, arg, state, &o->common, 0, "");
	}
}

const struct argp cmd_import_argp = {
	.options = own_options,
	.parser = parse,
	.args_doc = "--opensm-conf FILE [--qos-policy FILE] [--partitions FILE] --output POLICY",
	.doc = "Reads files of OpenSM as OpenSM reads them, right or wrong, and writes a policy that compiles to the same "
	       "tables; doubtful lines, and what a policy cannot say, are reported. --output names the policy; the report "
	       "goes to standard output.\v"
	       "Exit status: 0 all is in the policy, 1 warnings, 2 faults that OpenSM stumbles over, 3 nothing was written.",
	.children = cmd_output_children,
};

/* What ibqos itself says of the policy: only what it would refuse matters here. */
static bool check(struct cmd_session *s, const char *path, const char *text, size_t size)
{
	struct finding_list findings = {0};
	struct policy *policy = NULL;
	int error = policy_parse(path, text, size, &findings, &policy);

	for (size_t i = 0; error == 0 && !policy && i < findings.count; i++)
		if (findings.items[i].severity == FINDING_CRITICAL)
			ctx_error(s->ctx, "%s:%u: %s (%s %s)", path, findings.items[i].line,
				  finding_kind(findings.items[i].code)->title, findings.items[i].what ? findings.items[i].what : "",
				  findings.items[i].got ? findings.items[i].got : "");
	finding_list_clear(&findings);
	if (!policy)
		session_fail(s, "cannot make a policy of these files: %s",
			     error ? strerror(-error) : "ibqos would refuse what it makes of them");
	else
		report_number(s->report, "classes", "classes", policy->class_count);
	policy_free(policy);
	return policy != NULL;
}

/* Everything doubtful about the files first: import itself is silent about it. */
static int look_over(struct cmd_session *s, const struct cmd_files *files, const struct opensm_files *view)
{
	struct finding_list told = {0};
	struct qos_config config;
	bool enabled;
	int error = 0;

	if (files->conf)
		error = opensm_conf_lint(files->conf, files->conf_path, &s->findings);
	if (error == 0)
		error = opensm_files_lint(view, &s->findings);
	if (error == 0 && files->conf)
		error = opensm_conf_get_qos(files->conf, files->conf_path, &config, &enabled, &told);
	finding_list_clear(&told);
	if (error == 0 && files->conf) {
		report_bool(s->report, "qos", "QoS", enabled);
		cmd_files_tables(s, &config);
	}
	return error;
}

static void import(struct cmd_session *s, struct cmd_files *files, const char *to)
{
	struct opensm_files view;
	char *text = NULL;
	size_t size = 0;
	int error;

	if (!cmd_files_read(s, files))
		return;
	view = cmd_files_view(files);
	error = look_over(s, files, &view);
	if (error == 0)
		error = policy_import(&view, &s->findings, &text, &size);
	if (error != 0)
		session_fail(s, "cannot make a policy of these files: %s", strerror(-error));
	else if (check(s, to, text, size)) {
		error = file_replace(to, text, size, 0644);
		if (error != 0)
			session_fail(s, "cannot write %s: %s", to, strerror(-error));
		else
			report_string(s->report, "policy", "policy written", to);
	}
	free(text);
}

enum ibqos_exit cmd_import(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct import_options options = {0};
	struct cmd_session s;
	struct stat st;
	const char *to;

	cmd_defaults(&options.common, ctx);
	cmd_parse(&cmd_import_argp, argc, argv, &options);
	to = options.common.output;
	options.common.output = NULL;
	if (!session_begin(&s, ctx, &options.common))
		return IBQOS_EXIT_UNKNOWN;
	if (!options.force && lstat(to, &st) == 0)
		session_fail(&s, "%s exists: it is replaced only with --force", to);
	else
		import(&s, &options.files, to);
	cmd_files_clear(&options.files);
	return session_end(&s);
}
