/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * ibqos-poked [--settle S] [--idle S] COMMAND [ARGUMENT...]: runs a command once for all datagrams that come in a row; the
 * other end of the event plugin. Started by systemd with the socket as descriptor 3 (ibqos-poke.socket).
 *
 * A sweep seldom comes alone, and ports take their tables during it: the command runs when nothing came for `settle` seconds
 * (10), or six times that after the first. What comes while it runs makes it run once more. Nothing for `idle` seconds (30)
 * ends it. Exit status: 0; 3 bad usage, no socket, or the command could not be run.
 */
#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SOCKET_FD 3 /* SD_LISTEN_FDS_START of sd_listen_fds(3) */
#define FAILED 3

extern char **environ;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Takes all that waits. True if there was any. */
static bool drain(void)
{
	char unused[64];
	bool any = false;

	for (;;) {
		ssize_t got = recv(SOCKET_FD, unused, sizeof(unused), MSG_DONTWAIT | MSG_TRUNC);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return any;
		any = true;
	}
}

/* Waits for a datagram, and takes all. False: none came in time. */
static bool poked(int64_t ms)
{
	struct pollfd fd = {.fd = SOCKET_FD, .events = POLLIN};
	int64_t end = now_ms() + ms;

	do {
		int64_t left = end - now_ms();
		int ready = poll(&fd, 1, left > 0 ? (int)left : 0);

		if (ready > 0 && drain())
			return true;
		if (ready < 0 && errno != EINTR)
			return false;
	} while (now_ms() < end);
	return false;
}

static void settle(int64_t ms)
{
	int64_t end = now_ms() + 6 * ms;

	while (ms > 0 && now_ms() < end && poked(ms))
		continue;
}

/* The command's own findings are its own; that it could not be run is ours. */
static int run(char **argv)
{
	int status, error;
	pid_t pid;

	error = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
	if (error != 0) {
		fprintf(stderr, "ibqos-poked: cannot run %s: %s\n", argv[0], strerror(error));
		return FAILED;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return FAILED;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status))
		fprintf(stderr, "ibqos-poked: %s ended with status %d\n", argv[0], WEXITSTATUS(status));
	else
		fprintf(stderr, "ibqos-poked: %s was ended by signal %d\n", argv[0], WTERMSIG(status));
	return 0;
}

/* Seconds as a decimal; false: not one. */
static bool seconds(const char *text, int64_t *ms)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end != '\0' || !(value >= 0 && value <= 3600))
		return false;
	*ms = (int64_t)(value * 1000);
	return true;
}

static bool is_socket(void)
{
	const char *count = getenv("LISTEN_FDS");
	int type = 0;
	socklen_t size = sizeof(type);

	return count && strcmp(count, "1") == 0 && getsockopt(SOCKET_FD, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
	       type == SOCK_DGRAM;
}

int main(int argc, char **argv)
{
	int64_t settle_ms = 10000, idle_ms = 30000;
	int at = 1, code;

	for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
		int64_t *ms = strcmp(argv[at], "--settle") == 0 ? &settle_ms : strcmp(argv[at], "--idle") == 0 ? &idle_ms : NULL;

		if (!ms || !seconds(argv[at + 1], ms))
			break;
	}
	if (at >= argc || argv[at][0] == '-') {
		fprintf(stderr, "Usage: ibqos-poked [--settle SECONDS] [--idle SECONDS] COMMAND [ARGUMENT...]\n");
		return FAILED;
	}
	if (!is_socket()) {
		fprintf(stderr, "ibqos-poked: no datagram socket: it is started by ibqos-poke.socket\n");
		return FAILED;
	}
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_PID");
	while (poked(idle_ms)) {
		settle(settle_ms);
		code = run(&argv[at]);
		if (code != 0)
			return code;
	}
	return 0;
}
