/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The line of progress on a terminal, and what stands for it elsewhere. */
#include "progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "terminal.h"

#define FIRST_NS UINT64_C(1000000000)	/* what is done sooner needs no line */
#define AGAIN_NS UINT64_C(200000000)	/* between two on a terminal */
#define MESSAGE_NS UINT64_C(5000000000) /* between two messages elsewhere */
#define SURE_NS UINT64_C(500000000)	/* of work, before its rate means anything */

static void hide(void *arg)
{
	struct cmd_line *line = arg;

	if (!line->visible)
		return;
	line->visible = false;
	fputs("\r\033[K", line->ctx->err);
	fflush(line->ctx->err);
}

bool cmd_line_due(const struct cmd_line *line, uint64_t now, bool wait)
{
	uint64_t between = line->terminal ? AGAIN_NS : MESSAGE_NS;

	if (line->ctx->verbosity < (line->terminal ? 0 : 1) || (line->shown_ns != 0 && now - line->shown_ns < between))
		return false;
	return !wait || (line->first_ns != 0 && now - line->first_ns >= (line->terminal ? FIRST_NS : MESSAGE_NS));
}

void cmd_line_show(struct cmd_line *line, uint64_t now, const char *format, ...)
{
	unsigned width;
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	line->shown_ns = now;
	if (!line->terminal) {
		ctx_info(line->ctx, "%s", text);
		return;
	}
	width = cmd_terminal_width(fileno(line->ctx->err)); /* asked each time: it may have changed */
	line->visible = true;
	/* the last column stays free, or some terminals go on to the next line */
	fprintf(line->ctx->err, "\r%.*s\033[K", (int)width - 1, text);
	fflush(line->ctx->err);
}

/* "45 s", "3 min", "2 h" */
static void put_time(char text[24], double seconds)
{
	if (seconds < 99.5)
		snprintf(text, 24, "%.0f s", seconds);
	else if (seconds < 99.5 * 60)
		snprintf(text, 24, "%.0f min", seconds / 60);
	else
		snprintf(text, 24, "%.0f h", seconds / 3600 < 9999 ? seconds / 3600 : 9999);
}

static void step(void *arg, const char *what, uint64_t done, uint64_t total)
{
	struct cmd_line *line = arg;
	uint64_t now = clock_ns();
	char of_all[64] = "", rest[64] = "", rate[64] = "", left[24];
	double seconds;

	if (line->first_ns == 0)
		line->first_ns = now;
	if (what != line->what || done < line->done) {
		line->what = what;
		line->began_ns = now;
	}
	line->done = done;
	if (!cmd_line_due(line, now, true))
		return;
	seconds = (double)(now - line->began_ns) / 1e9;
	if (total > 0) /* more than was thought is said as it is */
		snprintf(of_all, sizeof(of_all), " of %" PRIu64 " (%.0f %%)", total, done < total ? 100.0 * (double)done / (double)total : 100.0);
	if (now - line->began_ns >= SURE_NS && done > 0) {
		snprintf(rate, sizeof(rate), ", %.0f a second", (double)done / seconds);
		if (total > done) {
			put_time(left, (double)(total - done) * seconds / (double)done);
			snprintf(rest, sizeof(rest), ", about %s more", left);
		}
	}
	cmd_line_show(line, now, "%s%s%s: %" PRIu64 "%s answers%s%s", line->terminal ? line->ctx->program : "", line->terminal ? ": " : "", what,
		      done, of_all, rate, total > 0 ? rest : ", how many are to come is not known");
}

/* At once, since nobody can be asked how long it lasts; the cursor goes back, so that a library's own messages are written over it. */
static void blind(void *arg, const char *what)
{
	struct cmd_line *line = arg;
	uint64_t now = clock_ns();

	if (!cmd_line_due(line, now, false))
		return;
	cmd_line_show(line, now, "%s%s%s, how far is not known", line->terminal ? line->ctx->program : "", line->terminal ? ": " : "", what);
	if (line->terminal)
		fputc('\r', line->ctx->err);
	fflush(line->ctx->err);
}

void cmd_line_begin(struct cmd_line *line, struct ibqos_ctx *ctx)
{
	*line = (struct cmd_line){.hook = {.step = step, .hide = hide, .blind = blind, .arg = line}, .ctx = ctx};
	line->terminal = cmd_terminal_obeys(fileno(ctx->err));
	ctx->progress = ctx->verbosity >= (line->terminal ? 0 : 1) ? &line->hook : NULL;
}

void cmd_line_end(struct cmd_line *line, struct ibqos_ctx *ctx)
{
	hide(line);
	ctx->progress = NULL;
}
