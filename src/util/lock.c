/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One at a time: a lock for a file that is replaced whole, and so cannot carry it itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ibqos/trust.h"
#include "ibqos/util.h"

#define STEP_MS 20 /* between two tries */

static int try_lock(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : -errno;
}

int file_lock(const struct ibqos_ctx *ctx, const char *path, unsigned wait_ms, int *lock)
{
	char *target = realpath(path, NULL), *name = NULL;
	uint64_t end = clock_ns() + wait_ms * UINT64_C(1000000);
	struct stat st;
	int error, fd;

	*lock = -1;
	if (target && (stat(target, &st) != 0 || !S_ISREG(st.st_mode))) { /* no file is made beside a device */
		free(target);
		return -EINVAL;
	}
	if (asprintf(&name, "%s.lock", target ? target : path) < 0)
		name = NULL;
	free(target);
	if (!name)
		return -ENOMEM;
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
	if (fd < 0)
		error = -errno;
	else if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) /* somebody has put a pipe there */
		error = -EINVAL;
	else
		error = trust_planted(name, fd);
	if (error == 0)
		error = try_lock(fd);
	free(name);
	while (error == -EWOULDBLOCK && clock_ns() < end) {
		if (ctx_stopped(ctx)) {
			error = -EINTR;
			break;
		}
		poll(NULL, 0, STEP_MS);
		error = try_lock(fd);
	}
	if (error == 0)
		*lock = fd;
	else if (fd >= 0)
		close(fd);
	return error;
}

void file_unlock(int lock)
{
	if (lock >= 0)
		close(lock);
}
