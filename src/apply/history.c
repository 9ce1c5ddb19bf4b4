/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * History: a folder for each apply under STATE_DIR/history, named by its time, with the policy, the
 * plan, the old and new files whole, where they belong and who changed them (manifest.json) and a journal
 * of the steps, so that a change can be undone, by ibqos or by hand. history_read.c reads it.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "history.h"
#include "ibqos/faultpoint.h"

static const char *const step_names[] = {
	[APPLY_PREFLIGHT] = "preflight", [APPLY_BACKUP] = "backup", [APPLY_CONFIRM] = "confirm",
	[APPLY_INSTALL] = "install",	 [APPLY_RELOAD] = "reload", [APPLY_CONVERGE] = "converge",
	[APPLY_ROLLBACK] = "rollback",	 [APPLY_DONE] = "done",
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

int history_prepare(const struct ibqos_ctx *ctx)
{
	char *path = NULL;
	int error;

	if (asprintf(&path, "%s/" HISTORY_FOLDER, ctx->state_dir) < 0)
		return -ENOMEM;
	error = dir_make(path, 0700);
	free(path);
	return error;
}

/* What was made in a folder is on disk only once the folder is. */
static int sync_folder(const char *path)
{
	int error = FAULT_CALL("history-sync", path), fd;

	if (error != 0)
		return error;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fsync(fd) != 0 && errno != EINVAL) /* a file system that has nothing to sync there */
		error = -errno;
	close(fd);
	return error;
}

static int sync_parent(const char *path)
{
	char *parent = strdup(path);
	int error = -ENOMEM;

	if (parent) {
		*strrchr(parent, '/') = '\0';
		error = sync_folder(parent);
	}
	free(parent);
	return error;
}

/*
 * The names tell which change is the newest, whatever the clock did since: where it was set back, `when` becomes the time
 * of the newest. Gives the number that the first of that second has: two applies in one second sort by it.
 */
static int behind_newest(const struct ibqos_ctx *ctx, char when[32], unsigned *number)
{
	char **folders = NULL;
	size_t count = 0;
	int error = history_folders(ctx, &folders, &count), order;

	*number = 0;
	if (error == 0 && count > 0) {
		const char *name = strrchr(folders[0], '/') + 1;

		order = strncmp(name, when, HISTORY_TIME);
		if (order > 0) {
			ctx_warn(ctx, "the clock is behind the newest change, %s: the name of this one follows that", name);
			memcpy(when, name, HISTORY_TIME);
		}
		if (order >= 0 && history_name(name, number) == 0)
			(*number)++;
	}
	history_folders_free(folders, count);
	return error;
}

static int make_folder(const struct ibqos_ctx *ctx, char **folder)
{
	char when[32], *path = NULL;
	int error = timestamp("%Y%m%dT%H%M%SZ", when, sizeof(when));
	unsigned first = 0;

	*folder = NULL;
	if (error == 0)
		error = history_prepare(ctx);
	if (error == 0)
		error = FAULT_CALL("history-folder", ctx->state_dir);
	if (error == 0)
		error = behind_newest(ctx, when, &first);
	for (unsigned n = first; error == 0; n++) {
		char more[16] = "";

		if (n > 0)
			snprintf(more, sizeof(more), "-%03u", n);
		if (asprintf(&path, "%s/" HISTORY_FOLDER "/%s%s", ctx->state_dir, when, more) < 0)
			return -ENOMEM;
		if (mkdir(path, 0700) == 0) {
			*folder = path;
			return sync_parent(path);
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

/* --- what is kept --- */

static int keep(const char *folder, const char *name, const char *text, size_t size)
{
	char *path = NULL;
	int error;

	if (asprintf(&path, "%s/%s%s", folder, name, text ? "" : HISTORY_MISSING) < 0)
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

static int keep_steps(const char *folder, const struct steps *steps)
{
	char what[64];
	int error = 0;

	for (unsigned i = 0; i < steps->count && error == 0; i++) {
		snprintf(what, sizeof(what), HISTORY_STEP, i + 1);
		error = keep(folder, what, steps->conf[i].text, steps->conf[i].size);
	}
	return error;
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

/* Writes a JSON value, which is freed; NULL: out of memory. */
static int keep_json(const char *folder, const char *name, struct json_object *value)
{
	const char *text = value ? json_object_to_json_string_ext(value, JSON_C_TO_STRING_PRETTY) : NULL;
	int error = text ? keep(folder, name, text, strlen(text)) : -ENOMEM;

	json_object_put(value);
	return error;
}

static struct json_object *tables_json(const struct qos_config *config)
{
	struct json_object *types = json_object_new_object();
	char text[QOS_TEXT_MAX];

	for (int type = 0; types && type < QOS_PORT_TYPES; type++) {
		const struct qos_tables *t = &config->of[type];
		struct json_object *tables = json_object_new_object();

		qos_sl2vl_format(&t->sl2vl, text);
		json_object_object_add(tables, "sl2vl", json_object_new_string(text));
		qos_vlarb_format(t->high.entry, t->high.count, text);
		json_object_object_add(tables, "vlarb_high", json_object_new_string(text));
		qos_vlarb_format(t->low.entry, t->low.count, text);
		json_object_object_add(tables, "vlarb_low", json_object_new_string(text));
		json_object_object_add(tables, "high_limit", json_object_new_int(t->high_limit));
		json_object_object_add(types, qos_port_type_name(type), tables);
	}
	return types;
}

/* What was promised: the classes and the tables that the ports were to hold. */
static int keep_plan(const char *folder, const struct plan *plan)
{
	struct json_object *all = json_object_new_object(), *classes = json_object_new_array();

	for (size_t i = 0; i < plan->class_count; i++) {
		const struct plan_class *c = &plan->classes[i];
		struct json_object *class = json_object_new_object();

		json_object_object_add(class, "name", json_object_new_string(c->policy->name));
		json_object_object_add(class, "sl", json_object_new_int((int)c->policy->sl));
		json_object_object_add(class, "vl", json_object_new_int((int)c->vl));
		json_object_object_add(class, "share_guaranteed", json_object_new_double(100 * c->share_full));
		json_object_array_add(classes, class);
	}
	json_object_object_add(all, "classes", classes);
	json_object_object_add(all, "vls", json_object_new_int((int)plan->vls));
	json_object_object_add(all, "mtu", json_object_new_int((int)plan->mtu));
	json_object_object_add(all, "tables", tables_json(&plan->config));
	return keep_json(folder, "plan.json", all);
}

/* Who it is: the user, and the one who logged in, where that is another. */
static void add_user(struct json_object *manifest)
{
	const struct passwd *user = getpwuid(getuid());
	uint64_t login = UINT32_MAX;
	char *text = NULL;
	size_t size = 0;

	json_object_object_add(manifest, "uid", json_object_new_int64(getuid()));
	json_object_object_add(manifest, "user", user ? json_object_new_string(user->pw_name) : NULL);
	if (getenv("SUDO_USER")) /* as sudo says; anybody may set it */
		json_object_object_add(manifest, "sudo_user", json_object_new_string(getenv("SUDO_USER")));
	if (file_read("/proc/self/loginuid", &text, &size) == 0 && text_to_u64(text, UINT32_MAX, &login) == 0 &&
	    login != UINT32_MAX)
		json_object_object_add(manifest, "login_uid", json_object_new_int64((int64_t)login));
	free(text);
}

/* What OpenSM reads beside the two: to tell later what others have changed there. */
static int keep_read(const char *folder, const struct transaction *t)
{
	static const char *const names[] = {HISTORY_PARTITIONS, HISTORY_PREFIX_ROUTES};
	int error = 0;

	for (int i = 0; i < 2 && error == 0; i++) {
		const char *path = t->result->preflight.files[PREFLIGHT_PARTITIONS + i].path;
		char *text = NULL;
		size_t size = 0;

		if (!path)
			continue;
		error = file_read(path, &text, &size);
		if (error == 0 || error == -ENOENT)
			error = keep(folder, names[i], text, size);
		else if (error != -ENOMEM)
			error = 0; /* not readable: then it is not known */
		free(text);
	}
	return error;
}

/* Where the files belong, who changed them, and when. */
static int keep_manifest(const char *folder, const struct transaction *t, const struct policy *policy)
{
	struct json_object *manifest = json_object_new_object();
	char when[32], host[256] = "";
	int error = timestamp("%Y-%m-%dT%H:%M:%SZ", when, sizeof(when));

	if (!manifest || error != 0) {
		json_object_put(manifest);
		return error ? error : -ENOMEM;
	}
	gethostname(host, sizeof(host) - 1);
	json_object_object_add(manifest, "format", json_object_new_int(1));
	json_object_object_add(manifest, "ibqos", json_object_new_string(IBQOS_VERSION));
	json_object_object_add(manifest, "when", json_object_new_string(when));
	json_object_object_add(manifest, "host", json_object_new_string(host));
	json_object_object_add(manifest, "fabric", json_object_new_string(t->ctx->fabric));
	add_user(manifest);
	json_object_object_add(manifest, "policy", policy ? json_object_new_string(policy->path) : NULL);
	json_object_object_add(manifest, "opensm_conf", json_object_new_string(t->conf.path));
	json_object_object_add(manifest, "qos_policy", json_object_new_string(t->rules.path));
	json_object_object_add(manifest, "log", t->log_path ? json_object_new_string(t->log_path) : NULL);
	json_object_object_add(manifest, "steps", json_object_new_int((int)t->steps.count));
	json_object_object_add(manifest, "steps_back", json_object_new_boolean(t->steps.back));
	return keep_json(folder, "manifest.json", manifest);
}

int history_begin(const struct transaction *t, const struct policy *policy, const struct plan *plan, char **folder)
{
	int error = make_folder(t->ctx, folder);

	if (error == 0 && policy)
		error = keep_policy(*folder, policy);
	if (error == 0 && plan)
		error = keep_plan(*folder, plan);
	if (error == 0)
		error = keep_file(*folder, "opensm.conf", &t->conf);
	if (error == 0)
		error = keep_file(*folder, "qos-policy.conf", &t->rules);
	if (error == 0)
		error = keep_steps(*folder, &t->steps);
	if (error == 0)
		error = keep_read(*folder, t);
	if (error == 0)
		error = keep_manifest(*folder, t, policy);
	return error ? error : history_note(*folder, APPLY_BACKUP, "kept the old and new files");
}

/* --- the journal --- */

/* A line whole or not at all: what a full disk took of it is taken back. */
static int append(int fd, const char *line, size_t size)
{
	off_t before = lseek(fd, 0, SEEK_END);
	int error = before < 0 ? -errno : FAULT_CALL("journal-write", line);
	ssize_t put = 0;

	if (error == 0) {
		put = write(fd, line, size);
		error = put < 0 ? -errno : put < (ssize_t)size ? -ENOSPC : 0;
	}
	if (error == 0)
		error = FAULT_CALL("journal-sync", line);
	if (error == 0 && fsync(fd) != 0)
		error = -errno;
	if (error != 0 && put > 0 && ftruncate(fd, before) != 0)
		return error; /* half a line has no end, and is not read */
	return error;
}

int history_note(const char *folder, enum apply_step step, const char *text)
{
	char when[32], *path = NULL, *line = NULL;
	int error = timestamp("%Y-%m-%dT%H:%M:%SZ", when, sizeof(when)), fd = -1, length;
	bool made;

	if (error != 0)
		return error;
	length = asprintf(&line, "%s %s %s\n", when, apply_step_name(step), text);
	if (length < 0 || asprintf(&path, "%s/journal", folder) < 0) {
		free(length < 0 ? NULL : line);
		return -ENOMEM;
	}
	made = access(path, F_OK) != 0;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	error = fd < 0 ? -errno : append(fd, line, (size_t)length);
	if (fd >= 0 && close(fd) != 0 && error == 0)
		error = -errno;
	if (error == 0 && made)
		error = sync_folder(folder);
	free(line);
	free(path);
	FAULT_POINT("journal-noted");
	return error;
}
