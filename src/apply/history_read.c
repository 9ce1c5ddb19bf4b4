/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * History read back: the files of a change, and from its journal how far it came. A journal that ends in
 * the middle of a line, of a machine that lost power, is read up to there.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "history.h"

static int read_back(const char *folder, const char *name, char **text, size_t *size)
{
	char *path = NULL;
	int error;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return -ENOMEM;
	error = file_read_own(path, text, size);
	free(path);
	if (error != -ENOENT)
		return error;
	/* it may be kept as not having existed; else the folder is not whole */
	if (asprintf(&path, "%s/%s" HISTORY_MISSING, folder, name) < 0)
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

/* One without them is of a change that had none. */
static int manifest_steps(struct json_object *manifest, struct steps *steps)
{
	struct json_object *member = NULL;
	int64_t count;

	if (!json_object_object_get_ex(manifest, "steps", &member))
		return 0;
	count = json_object_get_int64(member);
	if (!json_object_is_type(member, json_type_int) || count < 0 || count > STEPS_MAX)
		return -EINVAL;
	steps->count = (unsigned)count;
	steps->back = json_object_object_get_ex(manifest, "steps_back", &member) && json_object_get_boolean(member);
	return 0;
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
	if (error == 0)
		error = manifest_steps(manifest, &h->steps);
	json_object_put(manifest);
	return error;
}

static void clear_manifest(struct history *h)
{
	free(h->conf_path);
	free(h->rules_path);
	free(h->log_path);
	h->conf_path = h->rules_path = h->log_path = NULL;
	h->steps.count = 0; /* no text of them is read yet */
}

/* --- the journal --- */

/* Whether `text` begins with these words. */
static bool begins(const char *text, const char *words)
{
	return strncmp(text, words, strlen(words)) == 0;
}

static enum history_state done_state(const char *text)
{
	if (begins(text, DONE_ROLLED_BACK) || begins(text, DONE_TAKEN_UP))
		return HISTORY_UNDONE;
	if (begins(text, DONE_NOT_INSTALLED))
		return HISTORY_NOTHING_WRITTEN;
	return begins(text, DONE_ROLLBACK_FAILED) ? HISTORY_CUT_SHORT : HISTORY_IN_FORCE;
}

/* "TIME STEP text", without its newline. */
static void take_line(struct history *h, const char *line)
{
	const char *step = strchr(line, ' ');
	const char *text = step ? strchr(step + 1, ' ') : NULL;
	size_t length;

	if (!text)
		return;
	length = (size_t)(text - ++step);
	text++;
	for (enum apply_step s = 0; s <= APPLY_DONE; s++) {
		if (strlen(apply_step_name(s)) != length || strncmp(step, apply_step_name(s), length) != 0)
			continue;
		if (s == APPLY_INSTALL || s == APPLY_ROLLBACK)
			h->state = HISTORY_CUT_SHORT;
		else if (s == APPLY_DONE)
			h->state = done_state(text);
		else if (s == APPLY_CONFIRM)
			h->confirm = begins(text, CONFIRM_CONFIRMED) ? HISTORY_CONFIRMED : HISTORY_WAITING;
	}
}

static int read_journal(struct history *h)
{
	char *text = NULL, *end;
	size_t size = 0;
	int error = read_back(h->folder, "journal", &text, &size);

	h->state = HISTORY_NOTHING_WRITTEN;
	for (char *line = text; error == 0 && line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		take_line(h, line);
		free(h->last);
		h->last = strdup(line);
		if (!h->last)
			error = -ENOMEM;
	}
	free(text);
	return error;
}

/* --- which --- */

/* Whether a change was installed and not undone since, of this config (NULL: any): else *h is cleared. */
static int consider(const char *folder, const char *conf_path, struct history *h)
{
	bool is;

	h->folder = strdup(folder);
	if (!h->folder || read_journal(h) == -ENOMEM)
		return -ENOMEM;
	is = h->state == HISTORY_CUT_SHORT || h->state == HISTORY_IN_FORCE;
	if (is && conf_path) {
		int error = read_manifest(h);

		if (error == -ENOMEM)
			return error;
		/* one that does not tell whose it is may be this one's: read_folder() will say that it is not whole */
		is = error != 0 || file_same(h->conf_path, conf_path) != 0;
		clear_manifest(h);
	}
	if (!is)
		history_clear(h);
	return 0;
}

/* The newest folder whose change was installed and not undone since; its journal is read. */
static int newest(const struct ibqos_ctx *ctx, const char *conf_path, struct history *h)
{
	char **folders = NULL;
	size_t count = 0;
	int error = history_folders(ctx, &folders, &count);

	for (size_t i = 0; i < count && error == 0 && !h->folder; i++)
		error = consider(folders[i], conf_path, h);
	history_folders_free(folders, count);
	return error ? error : h->folder ? 0 : -ENOENT;
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
	for (unsigned i = 0; i < h->steps.count && error == 0; i++) {
		char name[64];

		snprintf(name, sizeof(name), HISTORY_STEP, i + 1);
		error = read_text(h->folder, name, &h->steps.conf[i]);
	}
	/* not kept where they were not known */
	h->partitions_known = error == 0 && read_text(h->folder, HISTORY_PARTITIONS, &h->partitions) == 0;
	h->prefix_routes_known = error == 0 && read_text(h->folder, HISTORY_PREFIX_ROUTES, &h->prefix_routes) == 0;
	return error;
}

int history_newest(const struct ibqos_ctx *ctx, const char *conf_path, struct history *h)
{
	int error;

	*h = (struct history){0};
	error = newest(ctx, conf_path, h);
	return error ? error : read_folder(h);
}

int history_read(const struct ibqos_ctx *ctx, const char *folder, struct history *h)
{
	int error;

	if (!folder)
		return history_newest(ctx, NULL, h);
	*h = (struct history){0};
	h->folder = strdup(folder);
	error = h->folder ? read_journal(h) : -ENOMEM;
	return error ? error : read_folder(h);
}

void history_clear(struct history *h)
{
	free(h->folder);
	free(h->conf_path);
	free(h->rules_path);
	free(h->log_path);
	free(h->last);
	free((char *)h->conf_old.text);
	free((char *)h->conf_new.text);
	free((char *)h->rules_old.text);
	free((char *)h->rules_new.text);
	free((char *)h->partitions.text);
	free((char *)h->prefix_routes.text);
	steps_clear(&h->steps);
	*h = (struct history){0};
}

/* --- what of it is in place --- */

/* What is there; false if that cannot be told. The caller frees *data. */
static bool read_file(const char *path, char **data, struct text *there)
{
	int error = file_read(path, data, &there->size);

	there->text = error == 0 ? *data : NULL;
	return error == 0 || error == -ENOENT;
}

static bool take_if_equal(const struct text *there, const struct text *candidate, struct text *found)
{
	if (!text_equal(there, candidate))
		return false;
	*found = *candidate;
	return true;
}

bool history_find_rules(const struct history *h, struct text *found)
{
	struct text there = {0};
	char *data = NULL;
	bool known = read_file(h->rules_path, &data, &there);

	*found = h->rules_new;
	known = known && (take_if_equal(&there, &h->rules_new, found) || take_if_equal(&there, &h->rules_old, found));
	free(data);
	return known;
}

/* The way back writes the old config with `qos` on, and where it was off, off. */
static bool is_on_the_way_back(const struct history *h, const struct text *there, struct text *found, char **made)
{
	static const char *const values[] = {"TRUE", "FALSE"};

	for (int i = 0; i < 2; i++) {
		struct text text;

		if (conf_with_qos(&h->conf_old, values[i], made, &text.size) != 0)
			return false;
		text.text = *made;
		if (take_if_equal(there, &text, found))
			return true;
		free(*made);
		*made = NULL;
	}
	return false;
}

bool history_find_conf(const struct history *h, struct text *found, char **made)
{
	struct text there = {0};
	char *data = NULL;
	bool known = read_file(h->conf_path, &data, &there), is = false;

	*made = NULL;
	*found = h->conf_new;
	if (known)
		is = take_if_equal(&there, &h->conf_new, found) || take_if_equal(&there, &h->conf_old, found);
	for (unsigned i = 0; known && !is && i < h->steps.count; i++)
		is = take_if_equal(&there, &h->steps.conf[i], found);
	if (known && !is)
		is = is_on_the_way_back(h, &there, found, made);
	free(data);
	return is;
}
