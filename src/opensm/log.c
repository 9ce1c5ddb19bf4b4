/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenSM's log, followed from its end: what a sweep ended with, and what was refused.
 *
 * A line is "Mon DD HH:MM:SS uuuuuu [thread] 0xLEVEL -> text" (libopensm/osm_log.c), with
 * log_prefix and ": " before the text if that option is set. "SUBNET UP" and "Errors during
 * initialization" are the whole text (osm_state_mgr.c:90, 1672); the box of stars around the same
 * words that a verbose OpenSM adds is a line without "->".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ibqos/opensm.h"

#define LINE_MAX_BYTES 2048        /* the rest of a longer line is passed over */
#define POLL_MAX_BYTES (16u << 20) /* at once: a log that grows faster than it is read must not hold us */

struct opensm_log {
	char *path; /* NULL: nothing to follow */
	int fd;     /* -1: not there yet */
	off_t at;   /* read up to here */
	size_t length;
	char line[LINE_MAX_BYTES + 1]; /* the line that has not ended yet */
};

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* A qos-policy file was refused: not AC02 and AC14, which tell of an absent partition only. */
static bool is_policy_error(const char *number)
{
	static const char *const fatal[] = {"AC01", "AC03", "AC04", "AC05", "AC06",
					    "AC10", "AC11", "AC12", "AC13"};

	for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
		if (starts_with(number, fatal[i]))
			return true;
	return false;
}

/* True if the text of a line is `words`, after a log_prefix or not. */
static bool text_is(const char *text, const char *words)
{
	size_t length = strlen(text), wanted = strlen(words);

	if (length < wanted || strcmp(text + length - wanted, words) != 0)
		return false;
	return length == wanted || (length >= wanted + 2 && starts_with(text + length - wanted - 2, ": "));
}

static int take_line(const char *line, struct opensm_log_events *events)
{
	const char *text = strstr(line, " -> "), *error = strstr(line, " ERR ");
	char *printable;

	if (!text)
		return 0;
	text += strlen(" -> ");
	if (text_is(text, "SUBNET UP")) {
		events->subnet_up++;
	} else if (text_is(text, "Errors during initialization")) {
		events->subnet_up++;
		events->init_errors++;
	}
	if (!error || error < text - 1)
		return 0;
	if (is_policy_error(error + strlen(" ERR ")))
		events->policy_errors++;
	printable = text_utf8(line, strlen(line));
	if (!printable)
		return -ENOMEM;
	free(events->last_error);
	events->last_error = printable;
	return 0;
}

static int take_bytes(struct opensm_log *log, const char *bytes, size_t size,
		      struct opensm_log_events *events)
{
	int r = 0;

	while (size > 0 && r == 0) {
		const char *newline = memchr(bytes, '\n', size);
		size_t part = newline ? (size_t)(newline - bytes) : size;
		size_t room = LINE_MAX_BYTES - log->length, kept = part < room ? part : room;

		memcpy(log->line + log->length, bytes, kept);
		log->length += kept;
		if (newline) {
			log->line[log->length] = '\0';
			log->length = 0;
			r = take_line(log->line, events);
			part++;
		}
		bytes += part;
		size -= part;
	}
	return r;
}

/* Reads what the open file has gained. 0 or -errno. */
static int drain(struct opensm_log *log, struct opensm_log_events *events)
{
	char bytes[16384];
	size_t total = 0;

	while (total < POLL_MAX_BYTES) {
		ssize_t got = pread(log->fd, bytes, sizeof(bytes), log->at);
		int r;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		log->at += got;
		total += (size_t)got;
		r = take_bytes(log, bytes, (size_t)got, events);
		if (r < 0)
			return r;
	}
	return 0;
}

static void forget_file(struct opensm_log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	log->fd = -1;
	log->at = 0;
	log->length = 0;
}

static int open_file(struct opensm_log *log)
{
	log->fd = open(log->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return log->fd < 0 && errno != ENOENT ? -errno : 0;
}

int opensm_log_open(const char *path, struct opensm_log **result)
{
	struct opensm_log *log = calloc(1, sizeof(*log));
	struct stat st;
	int r = 0;

	*result = NULL;
	if (!log)
		return -ENOMEM;
	log->fd = -1;
	if (path) {
		log->path = strdup(path);
		r = log->path ? open_file(log) : -ENOMEM;
	}
	if (r == 0 && log->fd >= 0) {
		if (fstat(log->fd, &st) < 0) {
			r = -errno;
		} else if (S_ISREG(st.st_mode)) {
			log->at = st.st_size;
		} else { /* /dev/null, a pipe: nothing is kept there */
			forget_file(log);
			free(log->path);
			log->path = NULL;
		}
	}
	if (r < 0) {
		opensm_log_close(log);
		return r;
	}
	*result = log;
	return 0;
}

void opensm_log_close(struct opensm_log *log)
{
	if (!log)
		return;
	forget_file(log);
	free(log->path);
	free(log);
}

/*
 * True if the path leads to a file other than the open one that has something in it. An empty new
 * one is not gone over to yet: after logrotate moved the old one, OpenSM writes to it until SIGUSR1.
 */
static bool rotated(const struct opensm_log *log, const struct stat *open_file_stat)
{
	struct stat now;

	return stat(log->path, &now) == 0 && now.st_size > 0 &&
	       (now.st_dev != open_file_stat->st_dev || now.st_ino != open_file_stat->st_ino);
}

int opensm_log_poll(struct opensm_log *log, struct opensm_log_events *events)
{
	struct stat st;
	bool gone_over;
	int r;

	if (!log->path)
		return 0;
	if (log->fd < 0) {
		r = open_file(log);
		if (r < 0 || log->fd < 0)
			return r;
	}
	if (fstat(log->fd, &st) < 0)
		return -errno;
	if (st.st_size < log->at) { /* emptied: OpenSM does so at log_max_size, logrotate with copytruncate */
		log->at = 0;
		log->length = 0;
	}
	gone_over = rotated(log, &st);
	r = drain(log, events);
	if (r < 0 || !gone_over)
		return r;
	forget_file(log);
	r = open_file(log);
	return r < 0 || log->fd < 0 ? r : drain(log, events);
}

void opensm_log_events_clear(struct opensm_log_events *events)
{
	free(events->last_error);
	*events = (struct opensm_log_events){0};
}
