/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Unified differences by diff(1): an Essential package on Debian, and its output is what admins know. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"

/* A text as an anonymous file that the child can open as /dev/fd/N. */
static int text_fd(const char *text, size_t size)
{
	int fd = memfd_create("ibqos-diff", 0);

	for (size_t done = 0; fd >= 0 && done < size;) {
		ssize_t n = write(fd, text + done, size - done);

		if (n < 0) {
			close(fd);
			return -errno;
		}
		done += (size_t)n;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd < 0 ? -errno : fd;
}

/* Reads a pipe to its end. */
static int read_all(int fd, char **text)
{
	size_t size = 0;
	FILE *to = open_memstream(text, &size);
	char chunk[4096];
	ssize_t n;

	if (!to)
		return -ENOMEM;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0 || (n < 0 && errno == EINTR)) {
		if (n > 0)
			fwrite(chunk, 1, (size_t)n, to);
	}
	return text_stream_end(to, text) != 0 ? -ENOMEM : n < 0 ? -EIO : 0;
}

static int spawn_diff(const char *name, const int fds[2], bool old_exists, bool new_exists, int out, pid_t *pid)
{
	/* A bare environment: what the user preloads into ibqos is none of diff's business. */
	char *environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", NULL};
	char path[2][32], *label[2] = {NULL, NULL};
	posix_spawn_file_actions_t actions;
	int error;

	snprintf(path[0], sizeof(path[0]), "/dev/fd/%d", fds[0]);
	snprintf(path[1], sizeof(path[1]), "/dev/fd/%d", fds[1]);
	if (asprintf(&label[0], "%s", old_exists ? name : "/dev/null") < 0 ||
	    asprintf(&label[1], "%s", new_exists ? name : "/dev/null") < 0) {
		free(label[0]);
		return -ENOMEM;
	}
	char *argv[] = {"diff", "-u", "--label", label[0], "--label", label[1], path[0], path[1], NULL};

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	error = posix_spawnp(pid, "diff", &actions, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	free(label[0]);
	free(label[1]);
	return -error;
}

int cmd_diff(const char *name, const char *old, size_t old_size, const char *new, size_t new_size, char **text)
{
	int fds[2] = {-1, -1}, pipes[2] = {-1, -1}, error, status = 0;
	pid_t pid;

	*text = NULL;
	fds[0] = text_fd(old, old_size);
	fds[1] = text_fd(new, new_size);
	error = fds[0] < 0 ? fds[0] : fds[1] < 0 ? fds[1] : 0;
	if (error == 0 && pipe2(pipes, O_CLOEXEC) != 0)
		error = -errno;
	if (error == 0)
		error = spawn_diff(name, fds, old != NULL, new != NULL, pipes[1], &pid);
	if (error == 0) {
		close(pipes[1]);
		pipes[1] = -1;
		error = read_all(pipes[0], text);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		/* 0 equal, 1 different, 2 trouble */
		if (error == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) > 1))
			error = -EIO;
	}
	for (int i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		if (pipes[i] >= 0)
			close(pipes[i]);
	}
	if (error != 0) {
		free(*text);
		*text = NULL;
	}
	return error;
}
