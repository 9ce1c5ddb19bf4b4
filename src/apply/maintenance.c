/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Folders of maintenance: names, locks, manifests. A manifest is written last, so that what was cut short is no begin. */
#include "ibqos/maintenance.h"

#include <dirent.h>
#include <errno.h>
#include <json-c/json.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT 1

bool maintenance_name_ok(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t length = strlen(name);

	return length > 0 && length <= MAINTENANCE_NAME_MAX && strchr(letters, name[0]) &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == length;
}

char *maintenance_who(void)
{
	const struct passwd *user = getpwuid(getuid());
	const char *sudo = getenv("SUDO_USER");
	char host[256] = "", *text = NULL, *clean;

	gethostname(host, sizeof(host) - 1);
	if (asprintf(&text, "%s%s%s%s on %s", user ? user->pw_name : "?", sudo ? " (" : "", sudo ? sudo : "", sudo ? ")" : "", host) <
	    0)
		return NULL;
	clean = text_utf8(text, strlen(text)); /* anybody may set the environment */
	free(text);
	return clean;
}

/* --- the manifest --- */

void maintenance_manifest_clear(struct maintenance_manifest *manifest)
{
	free(manifest->fabric);
	free(manifest->begun);
	free(manifest->begun_by);
	free(manifest->ended);
	free(manifest->ended_by);
	free(manifest->policy);
	*manifest = (struct maintenance_manifest){0};
}

/* A member that is a string, made printable; NULL: there is none. False: no memory, or it is no string. */
static bool take(struct json_object *all, const char *key, char **text)
{
	struct json_object *value;

	if (!json_object_object_get_ex(all, key, &value) || !value)
		return true;
	if (!json_object_is_type(value, json_type_string))
		return false;
	*text = text_utf8(json_object_get_string(value), (size_t)json_object_get_string_len(value));
	return *text != NULL;
}

int maintenance_manifest_parse(const char *text, struct maintenance_manifest *manifest)
{
	struct json_object *all = json_tokener_parse(text), *value;
	int error = -EINVAL;

	*manifest = (struct maintenance_manifest){0};
	if (all && json_object_is_type(all, json_type_object) && json_object_object_get_ex(all, "format", &value) &&
	    json_object_is_type(value, json_type_int) && json_object_get_int64(value) == FORMAT &&
	    take(all, "fabric", &manifest->fabric) && take(all, "begun", &manifest->begun) &&
	    take(all, "begun_by", &manifest->begun_by) && take(all, "ended", &manifest->ended) &&
	    take(all, "ended_by", &manifest->ended_by) && take(all, "policy", &manifest->policy) && manifest->begun) {
		manifest->counters = json_object_object_get_ex(all, "counters", &value) && json_object_get_boolean(value);
		error = 0;
	}
	json_object_put(all);
	if (error != 0)
		maintenance_manifest_clear(manifest);
	return error;
}

static struct json_object *string(const char *text)
{
	return text ? json_object_new_string(text) : NULL;
}

int maintenance_keep(const struct maintenance *m)
{
	const struct maintenance_manifest *from = &m->manifest;
	struct json_object *all = json_object_new_object();
	const char *text;
	int error = -ENOMEM;

	if (!all)
		return -ENOMEM;
	json_object_object_add(all, "format", json_object_new_int(FORMAT));
	json_object_object_add(all, "ibqos", json_object_new_string(IBQOS_VERSION));
	json_object_object_add(all, "fabric", string(from->fabric));
	json_object_object_add(all, "begun", string(from->begun));
	json_object_object_add(all, "begun_by", string(from->begun_by));
	json_object_object_add(all, "ended", string(from->ended));
	json_object_object_add(all, "ended_by", string(from->ended_by));
	json_object_object_add(all, "policy", string(from->policy));
	json_object_object_add(all, "counters", json_object_new_boolean(from->counters));
	text = json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY);
	if (text)
		error = maintenance_write(m, MAINTENANCE_MANIFEST, text, strlen(text));
	json_object_put(all);
	return error;
}

/* 0; -ENOENT; -EBADMSG; -errno */
static int read_manifest(const char *path, struct maintenance_manifest *manifest)
{
	char *text = NULL;
	size_t size = 0;
	int error = file_read_own(path, &text, &size);

	if (error == 0 && strlen(text) != size)
		error = -EBADMSG;
	if (error == 0)
		error = maintenance_manifest_parse(text, manifest);
	free(text);
	return error == -EINVAL ? -EBADMSG : error;
}

/* --- one --- */

char *maintenance_path(const struct maintenance *m, const char *file)
{
	char *path = NULL;

	return asprintf(&path, "%s/%s", m->folder, file) < 0 ? NULL : path;
}

int maintenance_write(const struct maintenance *m, const char *file, const void *data, size_t size)
{
	char *path = maintenance_path(m, file);
	int error = path ? file_replace(path, data, size, 0600) : -ENOMEM;

	free(path);
	return error;
}

/* What killed runs left, once nobody else can be writing there. */
static int open_locked(struct maintenance *m)
{
	char *manifest = maintenance_path(m, MAINTENANCE_MANIFEST);
	int error = manifest ? 0 : -ENOMEM;

	if (error == 0) {
		file_remove_leftovers(manifest, 0);
		error = read_manifest(manifest, &m->manifest);
	}
	m->begun = error == 0;
	free(manifest);
	return error == -ENOENT ? 0 : error;
}

int maintenance_open(const struct ibqos_ctx *ctx, const char *name, bool make, struct maintenance *m)
{
	struct stat st;
	char *file;
	int error = 0;

	*m = (struct maintenance){.lock = -1};
	if (!maintenance_name_ok(name))
		return -EINVAL;
	m->name = strdup(name);
	if (!m->name || asprintf(&m->folder, "%s/" MAINTENANCE_FOLDER "/%s", ctx->state_dir, name) < 0) {
		m->folder = NULL;
		return -ENOMEM;
	}
	if (make)
		error = dir_make(m->folder, 0700);
	else if (stat(m->folder, &st) != 0)
		error = -errno;
	if (error != 0)
		return error;
	file = maintenance_path(m, MAINTENANCE_MANIFEST);
	error = file ? file_lock(ctx, file, 0, &m->lock) : -ENOMEM;
	free(file);
	return error == 0 ? open_locked(m) : error;
}

void maintenance_close(struct maintenance *m)
{
	file_unlock(m->lock);
	maintenance_manifest_clear(&m->manifest);
	free(m->name);
	free(m->folder);
	*m = (struct maintenance){.lock = -1};
}

/* --- all --- */

static int by_name(const void *a, const void *b)
{
	const struct maintenance_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int add_entry(const char *folder, const char *name, struct maintenance_entry **entries, size_t *count, size_t *room)
{
	struct maintenance_entry *grown = array_grow(*entries, room, *count + 1, sizeof(*grown));
	char *path = NULL;

	if (!grown)
		return -ENOMEM;
	*entries = grown;
	grown[*count] = (struct maintenance_entry){.name = strdup(name)};
	if (!grown[*count].name || asprintf(&path, "%s/%s/" MAINTENANCE_MANIFEST, folder, name) < 0) {
		free(grown[*count].name);
		return -ENOMEM;
	}
	grown[*count].error = read_manifest(path, &grown[*count].manifest);
	(*count)++;
	free(path);
	return 0;
}

int maintenance_list(const struct ibqos_ctx *ctx, struct maintenance_entry **entries, size_t *count)
{
	const struct dirent *at;
	size_t room = 0;
	char *folder = NULL;
	int error = 0;
	DIR *dir;

	*entries = NULL;
	*count = 0;
	if (asprintf(&folder, "%s/" MAINTENANCE_FOLDER, ctx->state_dir) < 0)
		return -ENOMEM;
	dir = opendir(folder);
	if (!dir)
		error = errno == ENOENT ? 0 : -errno;
	while (dir && error == 0 && (at = readdir(dir)))
		if (maintenance_name_ok(at->d_name))
			error = add_entry(folder, at->d_name, entries, count, &room);
	if (dir)
		closedir(dir);
	if (*count > 0)
		qsort(*entries, *count, sizeof(**entries), by_name);
	free(folder);
	if (error != 0) {
		maintenance_list_free(*entries, *count);
		*entries = NULL;
		*count = 0;
	}
	return error;
}

void maintenance_list_free(struct maintenance_entry *entries, size_t count)
{
	for (size_t i = 0; entries && i < count; i++) {
		free(entries[i].name);
		maintenance_manifest_clear(&entries[i].manifest);
	}
	free(entries);
}
