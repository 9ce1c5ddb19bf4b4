/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Everything that can be refused is refused here, before the first file is touched. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "survey.h"

#define LEFTOVER_AGE_S 60 /* in a folder that the lock does not cover */

/* The folder that a file really lies in, symbolic links followed; for a file that does not exist yet, its own. */
static int folder_of(const char *path, char folder[PATH_MAX])
{
	char *slash;

	if (!realpath(path, folder)) {
		if (errno != ENOENT || snprintf(folder, PATH_MAX, "%s", path) >= PATH_MAX)
			return -errno;
	}
	slash = strrchr(folder, '/');
	if (!slash)
		strcpy(folder, ".");
	else
		slash[slash == folder] = '\0';
	return 0;
}

/*
 * Whether a file can be replaced, tried by really writing one of its size without a name beside it:
 * permission bits do not tell of read-only mounts, full disks or what root may do.
 */
static int try_to_write(const char *path, size_t size)
{
	char folder[PATH_MAX];
	int error = folder_of(path, folder), fd;

	if (error != 0)
		return error;
	fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0) {
		if (errno != EOPNOTSUPP && errno != EISDIR)
			return -errno;
		return access(folder, W_OK | X_OK) == 0 ? 0 : -errno; /* a file system without O_TMPFILE */
	}
	if (size > 0)
		error = -posix_fallocate(fd, 0, (off_t)size);
	close(fd);
	return error == -EOPNOTSUPP ? 0 : error;
}

static bool writable(struct transaction *t, enum preflight_role role, const char *path, size_t size)
{
	int error = try_to_write(path, size);
	struct finding *f;

	t->result->preflight.files[role].writable = error == 0 ? PREFLIGHT_YES : PREFLIGHT_NO;
	if (error == 0)
		return true;
	f = finding_at(finding_add(t->findings, FINDING_APPLY_NOT_WRITABLE), path, 0, 0);
	finding_set(&f->got, "%s", strerror(-error));
	return false;
}

static bool file_is_ours(struct transaction *t, const struct change_file *file)
{
	char *data = NULL;
	struct text there = {0};
	struct finding *f;
	int error = file_read(file->path, &data, &there.size);
	bool same;

	there.text = data;
	same = (error == 0 || error == -ENOENT) && text_equal(&there, &file->now);
	free(data);
	if (!same) {
		f = finding_at(finding_add(t->findings, FINDING_APPLY_FILE_CHANGED), file->path, 0, 0);
		if (error != 0 && error != -ENOENT)
			finding_set(&f->got, "%s", strerror(-error));
		if (t->undo)
			finding_set(&f->detail, "what the change had written is in its history folder, as new-*: put that back, or undo later changes first");
	}
	return same;
}

bool files_are_ours(struct transaction *t)
{
	bool ours = file_is_ours(t, &t->conf);

	return file_is_ours(t, &t->rules) & ours;
}

bool lock_files(struct transaction *t)
{
	char folder[PATH_MAX];
	int error = folder_of(t->conf.path, folder);
	struct finding *f;

	if (error == 0) {
		t->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		error = t->lock < 0 ? -errno : flock(t->lock, LOCK_EX | LOCK_NB) != 0 ? -errno : 0;
	}
	for (unsigned waited = 0; error == -EWOULDBLOCK && waited < t->lock_wait_s && !ctx_stopped(t->ctx); waited++) {
		poll(NULL, 0, 1000);
		error = flock(t->lock, LOCK_EX | LOCK_NB) != 0 ? -errno : 0;
	}
	if (error == 0) { /* what a killed run left goes, now that no other one can be writing */
		file_remove_leftovers(t->conf.path, 0);
		file_remove_leftovers(t->rules.path, LEFTOVER_AGE_S);
		return true;
	}
	f = finding_add(t->findings, error == -EWOULDBLOCK ? FINDING_APPLY_BUSY : FINDING_APPLY_NOT_WRITABLE);
	finding_at(f, t->conf.path, 0, 0);
	if (error != -EWOULDBLOCK)
		finding_set(&f->got, "%s", strerror(-error));
	return false;
}

/* The state directory last: a refusal for another reason leaves no trace. */
static bool prepare_history(struct transaction *t)
{
	int error = history_prepare(t->ctx);
	struct finding *f;

	if (error == 0)
		return true;
	f = finding_at(finding_add(t->findings, FINDING_APPLY_NOT_WRITABLE), t->ctx->state_dir, 0, 0);
	finding_set(&f->got, "%s", strerror(-error));
	return false;
}

/* Without the file at its start OpenSM has no config path, and a reload reads nothing (osm_subnet.c). */
static bool config_exists(struct transaction *t)
{
	return t->conf.now.text || (t->options->allow_restart && t->result->preflight.facts.unit);
}

/* Looks at everything and judges it; where it could not look, that is no reason to go on. */
static bool look_around(struct transaction *t)
{
	int error = survey(t);
	struct finding *f;

	if (error == 0)
		return judge(t);
	f = finding_add(t->findings, FINDING_APPLY_FAILED);
	finding_set(&f->what, "looking around");
	finding_set(&f->got, "%s", strerror(-error));
	return false;
}

bool preflight(struct transaction *t)
{
	struct finding *f;
	bool go = true;

	if (t->fabric->sm_lid == 0) {
		if (finding_count_code(t->findings, FINDING_NO_SM) == 0)
			finding_add(t->findings, FINDING_NO_SM);
		go = false;
	}
	if (t->fabric->gap_count > 0 && !t->options->allow_incomplete) {
		f = finding_add(t->findings, FINDING_APPLY_INCOMPLETE_FABRIC);
		finding_set(&f->got, "%u places without an answer", t->fabric->gap_count);
		finding_set(&f->detail, "--allow-incomplete goes on all the same");
		go = false;
	}
	go &= preflight_opensm(t);
	go &= preflight_signal(t);
	go &= look_around(t);
	go &= preflight_trust(t);
	go &= config_exists(t);
	go &= writable(t, PREFLIGHT_CONF, t->conf.path, t->conf.new.size);
	go &= writable(t, PREFLIGHT_RULES, t->rules.path, t->rules.new.size);
	go &= files_are_ours(t);
	go = go && prepare_history(t);
	if (t->options->surveyed)
		t->options->surveyed(t->options->surveyed_arg, &t->result->preflight);
	return go;
}
