/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Logs from files, pipes and gzip files: read in pieces, as they are fed. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "log.h"

#define PIECE (128u << 10) /* what stays in a processor's cache */

static ssize_t read_some(int fd, char *buffer, size_t size)
{
	ssize_t got;

	do {
		got = read(fd, buffer, size);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* Fills the buffer as far as the file goes, so that the first bytes tell what it is. */
static ssize_t fill(int fd, char *buffer, size_t size)
{
	size_t have = 0;

	while (have < size) {
		ssize_t got = read_some(fd, buffer + have, size - have);

		if (got < 0)
			return got;
		if (got == 0)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

static int plain(struct job_log *log, const struct ibqos_ctx *ctx, int fd, char *buffer, size_t have)
{
	while (have > 0) {
		ssize_t got;
		int error = job_log_feed(log, buffer, have);

		if (error != 0)
			return error;
		if (ctx_stopped(ctx))
			return -EINTR;
		got = fill(fd, buffer, PIECE);
		if (got < 0)
			return (int)got;
		have = (size_t)got;
	}
	return 0;
}

/* Several members behind each other are one file, as gzip -dc has it. */
static int gzip(struct job_log *log, const struct ibqos_ctx *ctx, int fd, char *buffer, size_t have)
{
	z_stream z = {0};
	char *text = malloc(PIECE);
	int error = text && inflateInit2(&z, 16 + MAX_WBITS) == Z_OK ? 0 : -ENOMEM, state = Z_OK;
	bool between = false;

	if (error != 0) {
		free(text);
		return error;
	}
	z.next_in = (unsigned char *)buffer;
	z.avail_in = (unsigned)have;
	while (error == 0) {
		if (z.avail_in == 0) {
			ssize_t got = fill(fd, buffer, PIECE);

			if (got <= 0) {
				error = got < 0 ? (int)got : between ? 0 : -EBADMSG;
				break;
			}
			z.next_in = (unsigned char *)buffer;
			z.avail_in = (unsigned)got;
		}
		if (between && *z.next_in != 0x1f) /* what is behind the last member is no gzip: padding */
			break;
		between = false;
		z.next_out = (unsigned char *)text;
		z.avail_out = PIECE;
		state = inflate(&z, Z_NO_FLUSH);
		if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
			error = -EBADMSG;
		else
			error = job_log_feed(log, text, PIECE - z.avail_out);
		if (error == 0 && state == Z_STREAM_END) {
			between = true;
			inflateReset(&z);
		}
		if (ctx_stopped(ctx))
			error = -EINTR;
	}
	inflateEnd(&z);
	free(text);
	return error;
}

int job_log_read(struct job_log *log, const struct ibqos_ctx *ctx, const char *path)
{
	bool standard = strcmp(path, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), error, ended;
	char *buffer = aligned_alloc(4096, PIECE); /* the kernel copies whole pages fastest */
	ssize_t got;

	if (fd < 0 || !buffer) {
		error = fd < 0 ? -errno : -ENOMEM;
		free(buffer);
		if (fd >= 0 && !standard)
			close(fd);
		return error;
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	error = job_log_begin(log, path);
	got = error == 0 ? fill(fd, buffer, PIECE) : 0;
	if (got < 0)
		error = (int)got;
	else if (got >= 2 && memcmp(buffer, "\x1f\x8b", 2) == 0)
		error = gzip(log, ctx, fd, buffer, (size_t)got);
	else if (got > 0)
		error = plain(log, ctx, fd, buffer, (size_t)got);
	ended = job_log_end(log);
	free(buffer);
	if (!standard)
		close(fd);
	return error ? error : ended;
}
