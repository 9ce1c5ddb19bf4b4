/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Whole files: read, and replaced so that a reader, or a machine that loses power, sees all of the
 * old or all of the new one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attributes.h"
#include "ibqos/faultpoint.h"
#include "ibqos/trust.h"
#include "ibqos/util.h"

#define TEMP_PREFIX ".ibqos-"
#define TEMP_LETTERS 6 /* that mkostemp() fills in */
#define LINKS_MAX 40 /* as the kernel follows in one path: path_resolution(7) */

static int read_all(int fd, size_t expected, size_t max, char **data, size_t *size)
{
	size_t room = 0, filled = 0;
	char *text = NULL;
	int rc;

	/* Until end of file, not until st_size: files under /proc claim to be empty, others grow. */
	for (;;) {
		char *grown = array_grow(text, &room, (filled < expected ? expected : filled) + 2, 1);
		ssize_t got;

		if (!grown) {
			rc = -ENOMEM;
			goto fail;
		}
		text = grown;
		got = read(fd, text + filled, room - filled - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			rc = -errno;
			goto fail;
		}
		if (got == 0)
			break;
		filled += (size_t)got;
		if (filled > max) {
			rc = -EFBIG;
			goto fail;
		}
	}
	text[filled] = '\0';
	*data = text;
	*size = filled;
	return 0;
fail:
	free(text);
	return rc;
}

static int read_file(const char *path, int flags, size_t max, char **data, size_t *size)
{
	struct stat st;
	int fd, rc;

	/* O_NONBLOCK: a FIFO is refused below, not waited for */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		rc = -errno;
	else if (!S_ISREG(st.st_mode))
		rc = -EINVAL;
	else if (st.st_size > (off_t)max)
		rc = -EFBIG;
	else
		rc = read_all(fd, (size_t)st.st_size, max, data, size);
	close(fd);
	return rc;
}

int file_read_up_to(const char *path, size_t max, char **data, size_t *size)
{
	return read_file(path, 0, max, data, size);
}

int file_read(const char *path, char **data, size_t *size)
{
	return read_file(path, 0, FILE_READ_MAX, data, size);
}

int file_read_own(const char *path, char **data, size_t *size)
{
	return read_file(path, O_NOFOLLOW, FILE_READ_MAX, data, size);
}

/* Joins the folder of `path` (with its slash, or nothing) and `name`. NULL when out of memory. */
static char *beside(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	char *joined;

	if (asprintf(&joined, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, name) < 0)
		return NULL;
	return joined;
}

/*
 * Where `path` leads when the symbolic links at its end are followed. The last one may lead to
 * nothing: its target is then made. realpath() would refuse that.
 */
static int follow_links(const char *path, char **target)
{
	char *at = strdup(path);
	int rc = -ENOMEM;

	for (int hop = 0; at; hop++) {
		char link[4096], *next;
		ssize_t length;
		int fd = open(at, O_PATH | O_NOFOLLOW | O_CLOEXEC); /* so that what is judged is what is read */

		if (fd < 0 && errno == ENOENT) {
			*target = at;
			return 0;
		}
		rc = fd < 0 ? -errno : trust_planted(at, fd);
		length = rc == 0 ? readlinkat(fd, "", link, sizeof(link)) : -1;
		if (rc == 0 && length < 0 && errno != ENOENT && errno != EINVAL) /* ENOENT: it is no link */
			rc = -errno;
		if (fd >= 0)
			close(fd);
		if (rc == 0 && length < 0) {
			*target = at;
			return 0;
		}
		if (rc == 0 && length == (ssize_t)sizeof(link))
			rc = -ENAMETOOLONG;
		else if (rc == 0 && hop >= LINKS_MAX)
			rc = -ELOOP;
		if (rc < 0)
			break;
		link[length] = '\0';
		next = link[0] == '/' ? strdup(link) : beside(at, link);
		free(at);
		at = next;
		rc = -ENOMEM;
	}
	free(at);
	return rc;
}

static int write_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t put = write(fd, data, size);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		data += put;
		size -= (size_t)put;
	}
	return 0;
}

static int sync_fd(int fd)
{
	while (fsync(fd) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/*
 * Gives the new file owner and mode. An owner that cannot be given is an error, unless it is right
 * already: a file that its reader (OpenSM under another user, say) could not open any more would
 * be worse than none. Mode after owner, since a new owner takes set-ID bits away.
 */
static int set_owner_mode(int fd, const struct stat *old, mode_t mode)
{
	struct stat st;

	if (old) {
		if (fstat(fd, &st) < 0)
			return -errno;
		if ((st.st_uid != old->st_uid || st.st_gid != old->st_gid) &&
		    fchown(fd, old->st_uid, old->st_gid) < 0)
			return -errno;
		mode = old->st_mode;
	}
	return fchmod(fd, mode & 07777) < 0 ? -errno : 0;
}

/* Fills the temporary file made as `fd` for `target`; it is closed whatever happens: also where close() fails (close(2)). */
static int fill(int fd, const char *target, const void *data, size_t size, const struct stat *old, mode_t mode)
{
	int rc = set_owner_mode(fd, old, mode);

	if (rc == 0 && old)
		rc = attributes_copy(target, fd);
	if (rc == 0)
		rc = FAULT_CALL("file-write", target);
	if (rc == 0)
		rc = write_all(fd, data, size);
	if (rc == 0)
		rc = FAULT_CALL("file-sync", target);
	if (rc == 0)
		rc = sync_fd(fd);
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	return rc;
}

/* File systems that have nothing to sync for a folder say so. */
static int sync_folder(int fd, const char *folder)
{
	int rc = FAULT_CALL("folder-sync", folder);

	if (rc == 0)
		rc = sync_fd(fd);
	return rc == -EINVAL ? 0 : rc;
}

int file_replace(const char *path, const void *data, size_t size, mode_t mode)
{
	char *target = NULL, *folder = NULL, *temp = NULL;
	struct stat old;
	bool exists;
	int folder_fd = -1, fd, rc;

	rc = follow_links(path, &target);
	if (rc < 0)
		goto out;
	exists = lstat(target, &old) == 0; /* a link that has come since is refused, as all but files */
	if (!exists && errno != ENOENT) {
		rc = -errno;
		goto out;
	}
	if (exists && !S_ISREG(old.st_mode)) {
		rc = S_ISDIR(old.st_mode) ? -EISDIR : -EINVAL;
		goto out;
	}
	folder = beside(target, ".");
	temp = beside(target, TEMP_PREFIX "XXXXXX");
	if (!folder || !temp) {
		rc = -ENOMEM;
		goto out;
	}
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = folder_fd < 0 ? -errno : FAULT_CALL("file-make", target);
	if (rc < 0)
		goto out;
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0) {
		rc = -errno;
		goto out;
	}
	rc = fill(fd, target, data, size, exists ? &old : NULL, mode);
	if (rc == 0)
		rc = FAULT_CALL("file-rename", target);
	if (rc == 0 && rename(temp, target) < 0)
		rc = -errno;
	if (rc < 0) {
		unlink(temp);
		goto out;
	}
	FAULT_POINT("file-renamed");
	rc = sync_folder(folder_fd, folder);
out:
	if (folder_fd >= 0)
		close(folder_fd);
	free(temp);
	free(folder);
	free(target);
	return rc;
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* For two files that do not exist: the same name in the same folder. */
static int same_missing(const char *a, const char *b)
{
	char *folder_a = strdup(a), *folder_b = strdup(b), *name_a = strdup(a), *name_b = strdup(b);
	struct stat stat_a, stat_b;
	int r = -ENOMEM;

	if (folder_a && folder_b && name_a && name_b) {
		if (strcmp(basename(name_a), basename(name_b)) != 0)
			r = 0;
		else if (stat(dirname(folder_a), &stat_a) < 0 || stat(dirname(folder_b), &stat_b) < 0)
			r = errno == ENOENT ? 0 : -errno;
		else
			r = same_inode(&stat_a, &stat_b);
	}
	free(folder_a);
	free(folder_b);
	free(name_a);
	free(name_b);
	return r;
}

int file_same(const char *a, const char *b)
{
	struct stat stat_a, stat_b;
	bool missing_a = stat(a, &stat_a) < 0;
	int error_a = errno;
	bool missing_b = stat(b, &stat_b) < 0;
	int error_b = errno;

	if (missing_a && error_a != ENOENT)
		return -error_a;
	if (missing_b && error_b != ENOENT)
		return -error_b;
	if (missing_a && missing_b)
		return same_missing(a, b);
	return !missing_a && !missing_b && same_inode(&stat_a, &stat_b);
}

int file_remove(const char *path)
{
	char *target = NULL, *folder = NULL;
	int rc = follow_links(path, &target), fd;

	if (rc < 0)
		return rc;
	folder = beside(target, ".");
	rc = folder ? FAULT_CALL("file-remove", target) : -ENOMEM;
	if (rc == 0 && unlink(target) < 0)
		rc = errno == ENOENT ? 0 : -errno;
	FAULT_POINT("file-removed");
	if (rc == 0) {
		fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0) {
			rc = sync_folder(fd, folder);
			close(fd);
		}
	}
	free(folder);
	free(target);
	return rc;
}

static bool is_leftover(int folder, const char *name, time_t before)
{
	struct stat st;

	return strncmp(name, TEMP_PREFIX, strlen(TEMP_PREFIX)) == 0 &&
	       strlen(name) == strlen(TEMP_PREFIX) + TEMP_LETTERS &&
	       fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && st.st_mtime <= before;
}

int file_remove_leftovers(const char *path, unsigned age_s)
{
	char *target = NULL, *folder = NULL;
	const struct dirent *entry;
	int rc = follow_links(path, &target);
	DIR *dir = NULL;

	if (rc == 0) {
		folder = beside(target, ".");
		dir = folder ? opendir(folder) : NULL;
		rc = !folder ? -ENOMEM : !dir ? -errno : 0;
	}
	while (dir && rc >= 0 && (entry = readdir(dir))) {
		if (is_leftover(dirfd(dir), entry->d_name, time(NULL) - (time_t)age_s) &&
		    unlinkat(dirfd(dir), entry->d_name, 0) == 0)
			rc++;
	}
	if (dir)
		closedir(dir);
	free(folder);
	free(target);
	return rc;
}

static int make_one(const char *path, mode_t mode)
{
	struct stat st;
	int rc;

	if (mkdir(path, mode) == 0)
		return 0;
	rc = -errno;
	/* What exists is fine, even where mkdir() says EROFS or EACCES for it. */
	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	return rc;
}

int dir_make(const char *path, mode_t mode)
{
	char *copy, *slash;
	int rc = 0;

	if (*path == '\0')
		return -ENOENT;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	for (slash = strchr(copy + 1, '/'); slash && rc == 0; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		rc = make_one(copy, mode);
		*slash = '/';
	}
	if (rc == 0)
		rc = make_one(copy, mode);
	free(copy);
	return rc;
}
