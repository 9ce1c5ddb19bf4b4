/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * History: a folder for each apply under STATE_DIR/history, named by its time, with the policy, the
 * old and new files whole, where they belong (manifest.json) and a journal of the steps, so that a
 * change can be undone, by ibqos or by hand.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "transaction.h"

#define MISSING ".missing" /* what did not exist is kept as an empty file with this behind its name */

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

/* --- writing --- */

int history_prepare(const struct ibqos_ctx *ctx)
{
	char *path = NULL;
	int error;

	if (asprintf(&path, "%s/history", ctx->state_dir) < 0)
		return -ENOMEM;
	error = dir_make(path, 0700);
	free(path);
	return error;
}

static int make_folder(const struct ibqos_ctx *ctx, char **folder)
{
	char when[32], *path = NULL;
	int error = timestamp("%Y%m%dT%H%M%SZ", when, sizeof(when));

	*folder = NULL;
	if (error == 0)
		error = history_prepare(ctx);
	/* Two applies in one second get a number each, which sorts behind. */
	for (unsigned n = 0; error == 0; n++) {
		char more[16] = "";

		if (n > 0)
			snprintf(more, sizeof(more), "-%03u", n);
		if (asprintf(&path, "%s/history/%s%s", ctx->state_dir, when, more) < 0)
			return -ENOMEM;
		if (mkdir(path, 0700) == 0) {
			*folder = path;
			return 0;
		}
		error = errno == EEXIST && n < 999 ? 0 : -errno;
		free(path);
	}
	return error;
}

bool text_equal(const struct text *a, const struct text *b)
{
	if (!a->text || !b->text)
		return !a->text && !b->text;
	return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

static int keep(const char *folder, const char *name, const char *text, size_t size)
{
	char *path = NULL;
	int error;

	if (asprintf(&path, "%s/%s%s", folder, name, text ? "" : MISSING) < 0)
		return -ENOMEM;
	error = file_replace(path, text ? text : "", text ? size : 0, 0600);
	free(path);
	return error;
}

static int keep_file(const char *folder, const char *name, const struct change_file *file)
{
	char what[64];
	int error;

	snprintf(what, sizeof(what), "old-%s", name);
	error = keep(folder, what, file->old.text, file->old.size);
	snprintf(what, sizeof(what), "new-%s", name);
	return error ? error : keep(folder, what, file->new.text, file->new.size);
}

static int keep_policy(const char *folder, const struct policy *policy)
{
	char *text = NULL;
	size_t size = 0;
	int error = file_read(policy->path, &text, &size);

	if (error == 0)
		error = keep(folder, "policy.yaml", text, size);
	free(text);
	return error;
}

/* Where the files belong and who changed them. */
static int keep_manifest(const char *folder, const struct transaction *t, const struct policy *policy)
{
	struct json_object *manifest = json_object_new_object();
	const char *text;
	int error = -ENOMEM;

	if (!manifest)
		return -ENOMEM;
	json_object_object_add(manifest, "format", json_object_new_int(1));
	json_object_object_add(manifest, "ibqos", json_object_new_string(IBQOS_VERSION));
	json_object_object_add(manifest, "uid", json_object_new_int64(getuid()));
	json_object_object_add(manifest, "policy", policy ? json_object_new_string(policy->path) : NULL);
	json_object_object_add(manifest, "opensm_conf", json_object_new_string(t->conf.path));
	json_object_object_add(manifest, "qos_policy", json_object_new_string(t->rules.path));
	json_object_object_add(manifest, "log", t->log_path ? json_object_new_string(t->log_path) : NULL);
	text = json_object_to_json_string_ext(manifest, JSON_C_TO_STRING_PRETTY);
	if (text)
		error = keep(folder, "manifest.json", text, strlen(text));
	json_object_put(manifest);
	return error;
}

int history_begin(const struct transaction *t, const struct policy *policy, char **folder)
{
	int error = make_folder(t->ctx, folder);

	if (error == 0 && policy)
		error = keep_policy(*folder, policy);
	if (error == 0)
		error = keep_file(*folder, "opensm.conf", &t->conf);
	if (error == 0)
		error = keep_file(*folder, "qos-policy.conf", &t->rules);
	if (error == 0)
		error = keep_manifest(*folder, t, policy);
	return error ? error : history_note(*folder, APPLY_BACKUP, "kept the old and new files");
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

/* --- reading --- */

static int read_back(const char *folder, const char *name, char **text, size_t *size)
{
	char *path = NULL;
	int error;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return -ENOMEM;
	error = file_read(path, text, size);
	free(path);
	if (error != -ENOENT)
		return error;
	/* it may be kept as not having existed; else the folder is not whole */
	if (asprintf(&path, "%s/%s" MISSING, folder, name) < 0)
		return -ENOMEM;
	error = access(path, F_OK) == 0 ? 0 : -errno;
	free(path);
	*text = NULL;
	*size = 0;
	return error;
}

/* A string of the manifest; *value NULL where it is null. -EINVAL: not there and required, or no path. */
static int manifest_path(struct json_object *manifest, const char *key, bool required, char **value)
{
	struct json_object *member = NULL;
	const char *text;

	if (!json_object_object_get_ex(manifest, key, &member) || !member)
		return required ? -EINVAL : 0;
	text = json_object_get_string(member);
	if (!json_object_is_type(member, json_type_string) || text[0] != '/')
		return -EINVAL;
	*value = strdup(text);
	return *value ? 0 : -ENOMEM;
}

static int read_manifest(struct history *h)
{
	struct json_object *manifest = NULL;
	char *text = NULL;
	size_t size = 0;
	int error = read_back(h->folder, "manifest.json", &text, &size);

	if (error == 0)
		manifest = text ? json_tokener_parse(text) : NULL;
	free(text);
	if (error == 0 && !json_object_is_type(manifest, json_type_object))
		error = -EINVAL;
	if (error == 0)
		error = manifest_path(manifest, "opensm_conf", true, &h->conf_path);
	if (error == 0)
		error = manifest_path(manifest, "qos_policy", true, &h->rules_path);
	if (error == 0)
		error = manifest_path(manifest, "log", false, &h->log_path);
	json_object_put(manifest);
	return error;
}

/* How far a change got, as its journal says. */
enum progress { NOTHING_WRITTEN, CUT_SHORT, IN_FORCE, ROLLED_BACK };

static enum progress progress_of(const char *folder)
{
	enum progress progress = NOTHING_WRITTEN;
	char *text = NULL;
	size_t size = 0;

	if (read_back(folder, "journal", &text, &size) == 0 && text && strstr(text, " install ")) {
		progress = strstr(text, " done rolled back") ? ROLLED_BACK
			   : strstr(text, " done ")	      ? IN_FORCE
							      : CUT_SHORT;
	}
	free(text);
	return progress;
}

static int is_entry(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* The newest folder whose change was installed and not rolled back since. */
static int newest(const struct ibqos_ctx *ctx, char **folder, enum progress *progress)
{
	struct dirent **names = NULL;
	char *history = NULL;
	int count, error = 0;

	*folder = NULL;
	if (asprintf(&history, "%s/history", ctx->state_dir) < 0)
		return -ENOMEM;
	count = scandir(history, &names, is_entry, alphasort);
	if (count < 0)
		error = -errno;
	for (int i = count - 1; i >= 0; i--) {
		if (!*folder && error == 0) {
			char *path = NULL;

			if (asprintf(&path, "%s/%s", history, names[i]->d_name) < 0)
				error = -ENOMEM;
			else if ((*progress = progress_of(path)) == CUT_SHORT || *progress == IN_FORCE)
				*folder = path;
			else
				free(path);
		}
		free(names[i]);
	}
	free(names);
	free(history);
	return error ? error : *folder ? 0 : -ENOENT;
}

static int read_text(const char *folder, const char *name, struct text *text)
{
	char *data = NULL;
	int error = read_back(folder, name, &data, &text->size);

	text->text = data;
	return error;
}

static int read_folder(struct history *h)
{
	int error = read_manifest(h);

	if (error == 0)
		error = read_text(h->folder, "old-opensm.conf", &h->conf_old);
	if (error == 0)
		error = read_text(h->folder, "new-opensm.conf", &h->conf_new);
	if (error == 0)
		error = read_text(h->folder, "old-qos-policy.conf", &h->rules_old);
	if (error == 0)
		error = read_text(h->folder, "new-qos-policy.conf", &h->rules_new);
	return error;
}

int history_read(const struct ibqos_ctx *ctx, const char *folder, struct history *h)
{
	enum progress progress;
	int error;

	*h = (struct history){0};
	if (folder) {
		h->folder = strdup(folder);
		error = h->folder ? 0 : -ENOMEM;
	} else {
		error = newest(ctx, &h->folder, &progress);
	}
	return error ? error : read_folder(h);
}

int history_unfinished(const struct ibqos_ctx *ctx, struct history *h)
{
	enum progress progress;
	int error;

	*h = (struct history){0};
	error = newest(ctx, &h->folder, &progress);
	if (error == 0 && progress != CUT_SHORT)
		error = -ENOENT;
	return error ? error : read_folder(h);
}

void history_clear(struct history *h)
{
	free(h->folder);
	free(h->conf_path);
	free(h->rules_path);
	free(h->log_path);
	free((char *)h->conf_old.text);
	free((char *)h->conf_new.text);
	free((char *)h->rules_old.text);
	free((char *)h->rules_new.text);
	*h = (struct history){0};
}
