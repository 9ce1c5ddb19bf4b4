/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Parsing of a command's line: what argp does, and which option may have been meant by one that is none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "terminal.h"

#define HELP_LEAST 50 /* columns: less leaves no room beside the options */
#define HELP_MOST 100

/* A long option looked up in the tables, as getopt_long(3) would: in full, or by any beginning. */
struct lookup {
	const char *name;
	size_t length;
	const struct argp_option *exact, *begins; /* begins: one of those */
	const char *near;			  /* what may have been meant */
	unsigned least;				  /* how far that is */
};

static void look_in(struct lookup *l, const struct argp *argp)
{
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)l->length, l->name);
	for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc || o->group); o++) {
		unsigned distance;

		if (!o->name)
			continue;
		if (strncmp(o->name, l->name, l->length) == 0) {
			l->begins = o;
			if (strlen(o->name) == l->length)
				l->exact = o;
		}
		distance = text_distance(name, o->name);
		if (!(o->flags & OPTION_HIDDEN) && distance < l->least && distance < strlen(o->name)) {
			l->least = distance;
			l->near = o->name;
		}
	}
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		look_in(l, child->argp);
}

/* Whether a short option takes a value that is the next word. */
static bool takes_next(const struct argp *argp, const char *word)
{
	for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc || o->group); o++)
		if (o->key == word[1] && o->arg && !word[2])
			return true;
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		if (takes_next(child->argp, word))
			return true;
	return false;
}

/* argp itself tells only that an option is none. */
static void refuse_unknown(const struct argp *argp, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		struct lookup l = {.name = argv[i] + 2, .least = CMD_TYPO_MAX + 1};
		const struct argp_option *found;

		if (strncmp(argv[i], "--", 2) != 0) {
			i += argv[i][0] == '-' && argv[i][1] && takes_next(argp, argv[i]);
			continue;
		}
		l.length = strcspn(l.name, "=");
		look_in(&l, argp);
		found = l.exact ? l.exact : l.begins;
		if (found) {
			i += found->arg && !l.name[l.length];
			continue;
		}
		if (!l.near)
			return;
		fprintf(stderr, "%s: unrecognized option '--%.*s', did you mean '--%s'?\nTry `%s --help' for more information.\n", argv[0],
			(int)l.length, l.name, l.near, argv[0]);
		exit(IBQOS_EXIT_UNKNOWN);
	}
}

/* argp asks the environment alone how wide help may be; lines much longer than 100 are hard to read. */
static void fit_help(void)
{
	unsigned width;
	char format[32];

	if (!isatty(STDOUT_FILENO))
		return;
	width = cmd_terminal_width(STDOUT_FILENO);
	width = width < HELP_LEAST ? HELP_LEAST : width > HELP_MOST ? HELP_MOST : width;
	snprintf(format, sizeof(format), "rmargin=%u", width - 1);
	setenv("ARGP_HELP_FMT", format, 0);
}

void cmd_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	refuse_unknown(argp, argc, argv);
	fit_help();
	argp_parse(argp, argc, argv, ARGP_NO_HELP, NULL, input);
}
