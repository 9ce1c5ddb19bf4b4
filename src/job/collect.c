/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The environment of a job from where it lies: scripts, a process, a file; and NCCL's configuration files, found as
 * each version of NCCL finds them (src/misc/param.cc, initEnv and userHomeDir).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf.h"

extern char **environ;

#define CONF_PATH 1023 /* bytes of a path that NCCL keeps */

struct collect {
	const struct job_sources *sources;
	struct finding_list *findings;
	struct job_env *env;
};

static int remember(struct job_env *env, const char *path)
{
	char **grown = array_grow(env->files, &env->file_room, env->file_count + 1, sizeof(*grown));
	char *copy = strdup(path);

	if (grown)
		env->files = grown;
	if (!grown || !copy) {
		free(copy);
		return -ENOMEM;
	}
	env->files[env->file_count++] = copy;
	return 0;
}

static int own_environment(struct job_env *env)
{
	int error = 0;

	for (char **e = environ; e && *e && error == 0; e++)
		error = job_env_process(env, "environment", *e, strlen(*e));
	return error;
}

/* Files of /proc and pipes have no size to be read by. A NUL stands behind what was read. */
static int read_stream(const char *path, char **data, size_t *size)
{
	FILE *from = fopen(path, "re");
	char *text = NULL;
	size_t room = 0, got;
	int error = 0;

	*size = 0;
	if (!from)
		return -errno;
	do {
		char *grown = array_grow(text, &room, *size + 4097, 1);

		if (!grown) {
			error = -ENOMEM;
			break;
		}
		text = grown;
		got = fread(text + *size, 1, 4096, from);
		*size += got;
		text[*size] = '\0';
	} while (got > 0 && *size < FILE_READ_MAX);
	if (error == 0 && ferror(from))
		error = errno ? -errno : -EIO;
	else if (error == 0 && *size >= FILE_READ_MAX)
		error = -EFBIG;
	fclose(from);
	*data = text;
	return error;
}

/* A file, or what a shell's <(…) is. */
static int read_any(const char *path, char **data, size_t *size)
{
	struct stat st;

	*data = NULL;
	*size = 0;
	if (stat(path, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode) || S_ISSOCK(st.st_mode)))
		return read_stream(path, data, size);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return -EISDIR;
	return file_read(path, data, size);
}

static int process_environment(struct collect *c)
{
	char path[64], *text = NULL;
	size_t size = 0;
	int error;

	snprintf(path, sizeof(path), "/proc/%u/environ", c->sources->pid);
	error = read_stream(path, &text, &size);
	if (error == 0)
		error = job_env_process(c->env, path, text, size);
	free(text);
	return error;
}

/* Of /etc/passwd below a root, or of this host's users. NULL: none. The caller frees it. */
static char *home_of_uid(const char *root, uid_t uid)
{
	struct passwd *user = NULL;
	char *path = NULL, *home = NULL;
	FILE *from;

	if (!root) {
		user = getpwuid(uid);
		return user && user->pw_dir ? strdup(user->pw_dir) : NULL;
	}
	if (asprintf(&path, "%s/etc/passwd", root) < 0)
		return NULL;
	from = fopen(path, "re");
	free(path);
	while (from && (user = fgetpwent(from)) != NULL) {
		if (user->pw_uid == uid) {
			home = strdup(user->pw_dir);
			break;
		}
	}
	if (from)
		fclose(from);
	return home;
}

/* NULL: NCCL finds none. The caller frees it. */
static char *home(struct collect *c, const char *root)
{
	const struct job_setting *s = job_env_get(c->env, "HOME");
	struct stat st;
	char proc[64];
	uid_t uid = getuid();

	if (c->sources->nccl >= CONF_PIECES_FROM) {
		const char *own = c->sources->pid || c->sources->env_file ? NULL : getenv("HOME");

		if (s)
			return s->value ? strdup(s->value) : NULL;
		return own ? strdup(own) : NULL;
	}
	snprintf(proc, sizeof(proc), "/proc/%u", c->sources->pid);
	if (c->sources->pid && stat(proc, &st) == 0)
		uid = st.st_uid;
	return home_of_uid(root, uid);
}

/* Reads one file that NCCL would open. `named`: by NCCL_CONF_FILE, so it should be there. */
static int conf_file(struct collect *c, enum job_origin origin, const char *path, const char *shown,
		     const struct job_setting *named)
{
	char *text = NULL;
	size_t size = 0;
	int error = file_read(path, &text, &size);

	if (error == -ENOMEM)
		return error;
	if (error == -ENOENT || error == -ENOTDIR || error == -EINVAL) { /* NCCL says nothing of it either */
		if (named) {
			struct finding *f = finding_add(c->findings, FINDING_JOB_CONF_MISSING);

			finding_at(f, named->file, named->line, named->column);
			finding_set(&f->what, "NCCL_CONF_FILE=%s", named->value);
			finding_set(&f->got, "%s", error == -EINVAL ? "no file" : strerror(-error));
			if (named->value[0] == '~')
				finding_set(&f->detail, "'~' is not expanded");
		}
		return 0;
	}
	if (error != 0) {
		struct finding *f = finding_add(c->findings, FINDING_JOB_CONF_UNREAD);

		finding_at(f, shown, 0, 0);
		finding_set(&f->got, "%s", strerror(-error));
		return 0;
	}
	error = remember(c->env, shown);
	if (error == 0)
		error = job_env_conf(c->env, origin, shown, text, size, c->sources->nccl);
	if (error == 0)
		job_conf_lint(shown, text, size, c->sources->nccl, c->findings);
	free(text);
	return error;
}

/* root + path; a relative path is one of the process's folder. */
static char *below(struct collect *c, const char *root, const char *path)
{
	char *full = NULL;
	int made;

	if (path[0] == '/' || !c->sources->pid)
		made = asprintf(&full, "%s%s%.*s", root ? root : "", root && path[0] != '/' ? "/" : "", CONF_PATH, path);
	else
		made = asprintf(&full, "/proc/%u/cwd/%.*s", c->sources->pid, CONF_PATH, path);
	return made < 0 ? NULL : full;
}

static int conf_files(struct collect *c)
{
	const struct job_setting *named = job_env_get(c->env, "NCCL_CONF_FILE");
	char proc[64], *folder = NULL, *path = NULL;
	const char *root = c->sources->root;
	int error = 0;

	if (!root && c->sources->pid) {
		snprintf(proc, sizeof(proc), "/proc/%u/root", c->sources->pid);
		root = proc;
	}
	if (named && c->sources->nccl >= CONF_FILE_FROM && !named->value) {
		struct finding *f = finding_add(c->findings, FINDING_JOB_CONF_UNREAD);

		finding_at(f, named->file, named->line, named->column);
		finding_set(&f->what, "NCCL_CONF_FILE");
		finding_set(&f->got, "a path that is not known before the job starts");
	} else if (named && c->sources->nccl >= CONF_FILE_FROM && *named->value) {
		path = below(c, root, named->value);
		error = path ? conf_file(c, JOB_FROM_USER_CONF, path, path, named) : -ENOMEM;
	} else {
		folder = home(c, root);
		if (folder && asprintf(&path, "%s%s/.nccl.conf", root ? root : "", folder) < 0) {
			path = NULL;
			error = -ENOMEM;
		}
		if (path)
			error = conf_file(c, JOB_FROM_USER_CONF, path, path, NULL);
	}
	free(path);
	free(folder);
	if (error != 0)
		return error;
	path = below(c, root, "/etc/nccl.conf");
	error = path ? conf_file(c, JOB_FROM_SYSTEM_CONF, path, path, NULL) : -ENOMEM;
	free(path);
	return error;
}

static int read_with(struct collect *c, const char *path,
		     int (*take)(struct collect *c, const char *path, const char *text, size_t size))
{
	char *text = NULL;
	size_t size = 0;
	int error = read_any(path, &text, &size);

	if (error == 0 && !text)
		error = -ENOMEM;
	if (error == 0)
		error = remember(c->env, path);
	if (error == 0)
		error = take(c, path, text, size);
	free(text);
	return error;
}

static int take_script(struct collect *c, const char *path, const char *text, size_t size)
{
	/* a program, a compressed file, UTF-16: that no setting is found in it says nothing */
	if (memchr(text, '\0', size))
		return -ENOEXEC;
	return job_scan(c->sources->ctx, c->env, path, text, size, c->findings);
}

static int take_env_file(struct collect *c, const char *path, const char *text, size_t size)
{
	return job_env_file(c->env, path, text, size);
}

static const char *label_of(const struct job_sources *s)
{
	if (s->env_file)
		return s->env_file;
	if (s->pid)
		return "process";
	return s->own || s->script_count == 0 ? "environment" : s->scripts[0];
}

int job_collect(const struct job_sources *sources, struct finding_list *findings, struct job_env *env,
		const char **failed)
{
	struct collect c = {.sources = sources, .findings = findings, .env = env};
	int error = 0;

	*failed = NULL;
	*env = (struct job_env){.label = strdup(label_of(sources))};
	if (!env->label)
		return -ENOMEM;
	for (size_t i = 0; i < sources->script_count && error == 0; i++) {
		error = sources->ctx && ctx_stopped(sources->ctx) ? -EINTR : read_with(&c, sources->scripts[i], take_script);
		*failed = sources->scripts[i];
	}
	if (error == 0 && sources->own)
		error = own_environment(env);
	if (error == 0 && sources->pid) {
		error = process_environment(&c);
		*failed = "the environment of the process that --pid names";
	}
	if (error == 0 && sources->env_file) {
		error = read_with(&c, sources->env_file, take_env_file);
		*failed = sources->env_file;
	}
	if (error == 0)
		error = job_env_settle(env);
	if (error == 0 && sources->conf) {
		error = conf_files(&c);
		*failed = "a configuration file of NCCL";
	}
	if (error == 0)
		error = job_env_settle(env);
	return error;
}
