/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * History: a folder for each apply under STATE_DIR/history, named by its time, with the policy, the
 * old and new files whole and a journal of the steps, so that a change can be undone by hand too.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "transaction.h"

static const char *const step_names[] = {
	[APPLY_PREFLIGHT] = "preflight", [APPLY_BACKUP] = "backup",	[APPLY_INSTALL] = "install",
	[APPLY_RELOAD] = "reload",	 [APPLY_CONVERGE] = "converge", [APPLY_ROLLBACK] = "rollback",
	[APPLY_DONE] = "done",
};

const char *apply_step_name(enum apply_step step)
{
	return step_names[step];
}

static int timestamp(const char *format, char *text, size_t size)
{
	time_t now = time(NULL);
	struct tm utc;

	return gmtime_r(&now, &utc) && strftime(text, size, format, &utc) > 0 ? 0 : -EOVERFLOW;
}

static int make_folder(const struct ibqos_ctx *ctx, char **folder)
{
	char when[32], *path = NULL;
	int error = timestamp("%Y%m%dT%H%M%SZ", when, sizeof(when));

	*folder = NULL;
	if (error != 0)
		return error;
	if (asprintf(&path, "%s/history", ctx->state_dir) < 0)
		return -ENOMEM;
	error = dir_make(path, 0700);
	free(path);
	/* Two applies in one second get a number each. */
	for (unsigned n = 0; error == 0; n++) {
		if (asprintf(&path, "%s/history/%s%s%.0u", ctx->state_dir, when, n ? "-" : "", n) < 0)
			return -ENOMEM;
		if (mkdir(path, 0700) == 0) {
			*folder = path;
			return 0;
		}
		error = errno == EEXIST && n < 1000 ? 0 : -errno;
		free(path);
	}
	return error;
}

/* Keeps one text; what did not exist is kept as an empty file named NAME.missing. */
static int keep(const char *folder, const char *name, const char *text, size_t size)
{
	char *path = NULL;
	int error;

	if (asprintf(&path, "%s/%s%s", folder, name, text ? "" : ".missing") < 0)
		return -ENOMEM;
	error = file_replace(path, text ? text : "", text ? size : 0, 0600);
	free(path);
	return error;
}

int history_begin(const struct ibqos_ctx *ctx, const struct policy *policy, const struct plan *plan, char **folder)
{
	char *text = NULL, *line = NULL;
	size_t size = 0;
	int error = make_folder(ctx, folder);

	if (error == 0)
		error = file_read(policy->path, &text, &size);
	if (error == 0)
		error = keep(*folder, "policy.yaml", text, size);
	if (error == 0)
		error = keep(*folder, "old-opensm.conf", plan->conf_old, plan->conf_old_size);
	if (error == 0)
		error = keep(*folder, "old-qos-policy.conf", plan->rules_old, plan->rules_old_size);
	if (error == 0)
		error = keep(*folder, "new-opensm.conf", plan->conf_new, plan->conf_new_size);
	if (error == 0)
		error = keep(*folder, "new-qos-policy.conf", plan->rules_new, plan->rules_new_size);
	if (error == 0 && asprintf(&line, "by uid %u, policy %s, opensm.conf %s, qos-policy %s", getuid(), policy->path,
				   plan->conf_path, plan->rules_path) < 0)
		error = -ENOMEM;
	if (error == 0)
		error = history_note(*folder, APPLY_BACKUP, line);
	free(line);
	free(text);
	return error;
}

int history_note(const char *folder, enum apply_step step, const char *text)
{
	char when[32], *path = NULL;
	int error = timestamp("%Y-%m-%dT%H:%M:%SZ", when, sizeof(when)), fd;

	if (error != 0)
		return error;
	if (asprintf(&path, "%s/journal", folder) < 0)
		return -ENOMEM;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	free(path);
	if (fd < 0)
		return -errno;
	if (dprintf(fd, "%s %s %s\n", when, apply_step_name(step), text) < 0 || fsync(fd) != 0)
		error = -errno;
	if (close(fd) != 0 && error == 0)
		error = -errno;
	return error;
}
