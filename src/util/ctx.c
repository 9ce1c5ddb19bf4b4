/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Messages to people: one line each, whatever text went into them; the stop flag; the clock.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ibqos/util.h"

/* Names of nodes and files end up in messages: a '?' for each byte that a terminal might obey. */
static void make_one_line(char *text)
{
	size_t left = strlen(text);
	const char *from = text;

	while (left > 0) {
		size_t length = text_char(from, left);

		if (length == 0) {
			*text++ = '?';
			length = 1;
		} else {
			memmove(text, from, length);
			text += length;
		}
		from += length;
		left -= length;
	}
	*text = '\0';
}

__attribute__((format(printf, 3, 0))) static void message(const struct ibqos_ctx *ctx, const char *prefix,
							  const char *format, va_list args)
{
	int saved = errno; /* callers go on to return it */
	char *text;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	if (text)
		make_one_line(text);
	ctx_progress_end(ctx);
	/* The format alone still says what failed when there is no memory for the rest. */
	fprintf(ctx->err, "%s: %s%s\n", ctx->program, prefix, text ? text : format);
	free(text);
	errno = saved;
}

void ctx_error(const struct ibqos_ctx *ctx, const char *format, ...)
{
	va_list args;

	/* Shown when quiet too: an exit code without its reason helps nobody. */
	va_start(args, format);
	message(ctx, "", format, args);
	va_end(args);
}

void ctx_warn(const struct ibqos_ctx *ctx, const char *format, ...)
{
	va_list args;

	if (ctx->verbosity < 0)
		return;
	va_start(args, format);
	message(ctx, "warning: ", format, args);
	va_end(args);
}

void ctx_info(const struct ibqos_ctx *ctx, const char *format, ...)
{
	va_list args;

	if (ctx->verbosity < 1)
		return;
	va_start(args, format);
	message(ctx, "", format, args);
	va_end(args);
}

void ctx_debug(const struct ibqos_ctx *ctx, const char *format, ...)
{
	va_list args;

	if (ctx->verbosity < 2)
		return;
	va_start(args, format);
	message(ctx, "debug: ", format, args);
	va_end(args);
}

void ctx_progress(const struct ibqos_ctx *ctx, const char *what, uint64_t done, uint64_t total)
{
	if (ctx->progress)
		ctx->progress->step(ctx->progress->arg, what, done, total);
}

void ctx_progress_blind(const struct ibqos_ctx *ctx, const char *what)
{
	if (ctx->progress)
		ctx->progress->blind(ctx->progress->arg, what);
}

void ctx_progress_end(const struct ibqos_ctx *ctx)
{
	if (ctx->progress)
		ctx->progress->hide(ctx->progress->arg);
}

bool ctx_stopped(const struct ibqos_ctx *ctx)
{
	return ctx->stop && *ctx->stop != 0;
}

uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
