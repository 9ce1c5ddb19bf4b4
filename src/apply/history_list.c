/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* All changes of the history, newest first: for people, and to find what ibqos left in place last. */
#include <dirent.h>
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"

int history_name(const char *name, unsigned *number)
{
	static const char form[] = "ddddddddTddddddZ-ddd";
	size_t length = strlen(name);

	*number = 0;
	if (length != HISTORY_TIME && length != strlen(form))
		return -EINVAL;
	for (size_t i = 0; i < length; i++)
		if (form[i] == 'd' ? name[i] < '0' || name[i] > '9' : name[i] != form[i])
			return -EINVAL;
	if (length > HISTORY_TIME)
		*number = (unsigned)strtoul(name + HISTORY_TIME + 1, NULL, 10);
	return 0;
}

const char *history_id(const char *folder)
{
	return strrchr(folder, '/') + 1;
}

/* A copy that somebody made of a folder is not another change. */
static int is_entry(const struct dirent *entry)
{
	unsigned number;

	return history_name(entry->d_name, &number) == 0;
}

int history_folders(const struct ibqos_ctx *ctx, char ***folders, size_t *count)
{
	struct dirent **names = NULL;
	char *history = NULL;
	int found, error = 0;

	*folders = NULL;
	*count = 0;
	if (asprintf(&history, "%s/" HISTORY_FOLDER, ctx->state_dir) < 0)
		return -ENOMEM;
	found = scandir(history, &names, is_entry, alphasort);
	if (found < 0)
		error = -errno;
	else
		*folders = calloc((size_t)found + 1, sizeof(**folders));
	if (error == 0 && !*folders)
		error = -ENOMEM;
	for (int i = found - 1; i >= 0; i--) {
		if (error == 0 && asprintf(&(*folders)[*count], "%s/%s", history, names[i]->d_name) < 0)
			error = -ENOMEM;
		else if (error == 0)
			(*count)++;
		free(names[i]);
	}
	free(names);
	free(history);
	return error;
}

void history_folders_free(char **folders, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(folders[i]);
	free(folders);
}

int history_last(const struct ibqos_ctx *ctx, const char *conf_path, struct history *h)
{
	char **folders = NULL;
	size_t count = 0;
	bool found = false;
	int error = history_folders(ctx, &folders, &count);

	*h = (struct history){0};
	for (size_t i = 0; error == 0 && !found && i < count; i++) {
		error = history_read(ctx, folders[i], h);
		if (h->state == HISTORY_NOTHING_WRITTEN) {
			/* nor need it be whole */
			error = error == -ENOMEM ? error : 0;
		} else if (error == 0) {
			/* one that cannot be read tells nothing, also not that an older one still holds */
			found = file_same(h->conf_path, conf_path) == 1;
		}
		if (!found)
			history_clear(h);
	}
	history_folders_free(folders, count);
	return error ? error : found ? 0 : -ENOENT;
}

/* Whether this change stands, and is of another config than this one and those that are listed already. */
static bool is_other(const struct history *h, const char *conf_path, const char *listed)
{
	char name[PATH_MAX + 3];

	if (h->state != HISTORY_CUT_SHORT && h->state != HISTORY_IN_FORCE)
		return false;
	if (!h->conf_path)
		return true;
	snprintf(name, sizeof(name), "(%s)", h->conf_path);
	return file_same(h->conf_path, conf_path) != 1 && !(listed && strstr(listed, name));
}

int history_others(const struct ibqos_ctx *ctx, const char *conf_path, char **others)
{
	char **folders = NULL;
	size_t count = 0;
	int error = history_folders(ctx, &folders, &count);

	*others = NULL;
	for (size_t i = 0; error == 0 && i < count; i++) {
		struct history h;
		char *more = NULL;

		error = history_read(ctx, folders[i], &h) == -ENOMEM ? -ENOMEM : 0;
		if (error == 0 && is_other(&h, conf_path, *others)) {
			if (asprintf(&more, "%s%s%s (%s)", *others ? *others : "", *others ? ", " : "", history_id(folders[i]),
				     h.conf_path ? h.conf_path : "of an unknown config") < 0)
				error = -ENOMEM;
			free(*others);
			*others = error == 0 ? more : NULL;
		}
		history_clear(&h);
	}
	history_folders_free(folders, count);
	return error;
}

/* --- for people --- */

static char *manifest_text(struct json_object *manifest, const char *key)
{
	struct json_object *value;
	const char *text;

	if (!json_object_object_get_ex(manifest, key, &value) || !json_object_is_type(value, json_type_string))
		return NULL;
	text = json_object_get_string(value);
	return text_utf8(text, strlen(text));
}

static void take_manifest(struct apply_entry *e)
{
	struct json_object *manifest = NULL, *value;
	char *path = NULL, *text = NULL;
	size_t size;

	if (asprintf(&path, "%s/manifest.json", e->folder) >= 0 && file_read_own(path, &text, &size) == 0)
		manifest = json_tokener_parse(text);
	free(text);
	free(path);
	if (json_object_is_type(manifest, json_type_object)) {
		e->when = manifest_text(manifest, "when");
		e->host = manifest_text(manifest, "host");
		e->fabric = manifest_text(manifest, "fabric");
		e->user = manifest_text(manifest, "user");
		e->sudo_user = manifest_text(manifest, "sudo_user");
		e->ibqos = manifest_text(manifest, "ibqos");
		e->policy_path = manifest_text(manifest, "policy");
		e->config = manifest_text(manifest, "opensm_conf");
		if (json_object_object_get_ex(manifest, "uid", &value))
			e->uid = json_object_get_int64(value);
		if (json_object_object_get_ex(manifest, "login_uid", &value))
			e->login_uid = json_object_get_int64(value);
	}
	json_object_put(manifest);
}

/* The policy as it was kept: what the admin called it. */
static void take_policy(struct apply_entry *e)
{
	struct finding_list doubts = {0};
	struct policy *policy = NULL;
	char *path = NULL;

	if (asprintf(&path, "%s/policy.yaml", e->folder) >= 0 && policy_read(path, &doubts, &policy) == 0 && policy &&
	    policy->name)
		e->policy = text_utf8(policy->name, strlen(policy->name));
	policy_free(policy);
	finding_list_clear(&doubts);
	free(path);
}

static int take_journal(struct apply_entry *e)
{
	char *path = NULL, *text = NULL;
	size_t size = 0;
	int error = asprintf(&path, "%s/journal", e->folder) < 0 ? -ENOMEM : file_read_own(path, &text, &size);
	FILE *out = error == 0 ? open_memstream(&e->journal, &size) : NULL;
	char *rest = NULL;

	for (char *line = out ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest)) {
		char *printable = text_utf8(line, strlen(line));

		fprintf(out, "%s\n", printable ? printable : "?");
		free(printable);
	}
	if (out)
		error = text_stream_end(out, &e->journal);
	free(text);
	free(path);
	return error;
}

static const char *const states[] = {
	[HISTORY_NOTHING_WRITTEN] = "nothing was written",
	[HISTORY_CUT_SHORT] = "cut short",
	[HISTORY_IN_FORCE] = "in force",
	[HISTORY_UNDONE] = "undone",
};

/* What `ibqos rollback` would say to it. */
static void take_undo(struct apply_entry *e, const struct history *h, int error)
{
	struct text found;
	char *made = NULL;

	if (error != 0)
		e->why_not = "its folder is not whole";
	else if (h->state == HISTORY_NOTHING_WRITTEN || h->state == HISTORY_UNDONE)
		e->why_not = h->state == HISTORY_UNDONE ? "it was undone" : "nothing was written";
	else if (!history_find_conf(h, &found, &made) || !history_find_rules(h, &found))
		e->why_not = "the files in place are not its own";
	else
		e->can_undo = true;
	free(made);
}

/* "TIME STEP text" without its time and, at the end, its step. */
static const char *outcome_of(const char *last)
{
	const char *step = last ? strchr(last, ' ') : NULL;

	if (!step)
		return NULL;
	step++;
	return strncmp(step, "done ", 5) == 0 ? step + 5 : step;
}

static int take_entry(const struct ibqos_ctx *ctx, const char *folder, struct apply_entry *e)
{
	struct history h;
	const char *outcome;
	int error = history_read(ctx, folder, &h);

	e->folder = strdup(folder);
	e->id = strdup(history_id(folder));
	if (!e->folder || !e->id || error == -ENOMEM) {
		history_clear(&h);
		return -ENOMEM;
	}
	e->error = error;
	/* one that was cut short before a file was touched need not be whole */
	if (h.state == HISTORY_NOTHING_WRITTEN)
		e->error = 0;
	take_manifest(e);
	take_policy(e);
	e->state = states[h.state];
	e->in_force = h.state == HISTORY_IN_FORCE;
	e->confirm = h.confirm == HISTORY_WAITING ? "waiting" : h.confirm == HISTORY_CONFIRMED ? "confirmed" : NULL;
	outcome = outcome_of(h.last);
	e->outcome = outcome ? text_utf8(outcome, strlen(outcome)) : NULL;
	take_undo(e, &h, error);
	error = take_journal(e);
	history_clear(&h);
	return error == -ENOMEM ? error : 0;
}

int apply_history(const struct ibqos_ctx *ctx, const char *id, struct apply_entry **entries, size_t *count)
{
	char **folders = NULL;
	size_t found = 0;
	int error = history_folders(ctx, &folders, &found);

	*entries = NULL;
	*count = 0;
	if (error == -ENOENT && !id) /* no apply yet */
		error = 0;
	if (error == 0 && found > 0) {
		*entries = calloc(found, sizeof(**entries));
		error = *entries ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < found && error == 0; i++)
		if (!id || strcmp(strrchr(folders[i], '/') + 1, id) == 0)
			error = take_entry(ctx, folders[i], &(*entries)[(*count)++]);
	history_folders_free(folders, found);
	if (error == 0 && id && *count == 0)
		error = -ENOENT;
	if (error != 0) {
		apply_history_free(*entries, *count);
		*entries = NULL;
		*count = 0;
	}
	return error;
}

void apply_history_free(struct apply_entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct apply_entry *e = &entries[i];

		free(e->id);
		free(e->folder);
		free(e->when);
		free(e->host);
		free(e->fabric);
		free(e->user);
		free(e->sudo_user);
		free(e->ibqos);
		free(e->policy_path);
		free(e->config);
		free(e->policy);
		free(e->outcome);
		free(e->journal);
	}
	free(entries);
}
