/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Colour and width: by what the output goes to, by the environment, by options. */
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_USUAL 80
#define WIDTH_LEAST 20 /* below it nothing could be told apart */
#define WIDTH_MOST 10000

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

unsigned cmd_terminal_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t width = 0;

	if (!columns || text_to_u64(columns, WIDTH_MOST, &width) != 0 || width == 0)
		width = ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
	if (width == 0)
		return WIDTH_USUAL;
	return width < WIDTH_LEAST ? WIDTH_LEAST : (unsigned)width;
}

bool cmd_terminal_obeys(int fd)
{
	return isatty(fd) && is_set("TERM") && strcmp(getenv("TERM"), "dumb") != 0;
}

/* https://no-color.org and https://bixense.com/clicolors: NO_COLOR goes before CLICOLOR_FORCE, an option before both. */
static bool is_coloured(const struct cmd_options *o)
{
	const char *force = getenv("CLICOLOR_FORCE"), *may = getenv("CLICOLOR");

	if (o->color != CMD_COLOR_AUTO)
		return o->color == CMD_COLOR_ALWAYS;
	if (is_set("NO_COLOR"))
		return false;
	if (force && *force && strcmp(force, "0") != 0)
		return true;
	return cmd_terminal_obeys(STDOUT_FILENO) && !(may && strcmp(may, "0") == 0);
}

struct report_style cmd_style(const struct ibqos_ctx *ctx, const struct cmd_options *options)
{
	struct report_style style = {.brief = ctx->verbosity < 0};

	if (options->output || options->format != REPORT_TEXT)
		return style;
	style.color = is_coloured(options);
	style.width = isatty(STDOUT_FILENO) ? cmd_terminal_width(STDOUT_FILENO) : 0;
	return style;
}
