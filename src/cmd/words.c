/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A command line looked at once more, by the same tables as argp's: for workers of a site, and for commands that are printed. */
#include "words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

/* --- each option --- */

/* The option of a name as getopt_long(3) takes it, in full or as much as no other begins with; or of a letter. */
static void find_option(const struct argp *argp, const char *name, size_t length, int letter, const struct argp_option **found,
			bool *whole)
{
	for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++) {
		bool same = o->name && name && strncmp(o->name, name, length) == 0;

		if (letter && o->key == letter)
			*found = o;
		if (same && (!*whole || o->name[length] == '\0'))
			*found = o;
		*whole |= same && o->name[length] == '\0';
	}
	for (const struct argp_child *c = argp->children; c && c->argp; c++)
		find_option(c->argp, name, length, letter, found, whole);
}

/* "-vt500": letters, the last of which may have a value, here or in the next word. */
static bool take_letters(const struct argp *argp, char **argv, int *at, words_take take, void *arg)
{
	for (const char *letter = argv[*at] + 1; *letter; letter++) {
		const struct argp_option *option = NULL;
		bool whole = false;
		const char *value = NULL;

		find_option(argp, NULL, 0, *letter, &option, &whole);
		if (!option)
			return true; /* argp would have refused it */
		if (option->arg)
			value = letter[1] ? letter + 1 : argv[++*at];
		if (!take(arg, option, value))
			return false;
		if (value)
			break;
	}
	return true;
}

bool words_walk(const struct argp *argp, int argc, char **argv, words_take take, void *arg)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const struct argp_option *option = NULL;
		size_t length;
		bool whole = false;
		const char *value = NULL;

		if (strncmp(argv[i], "--", 2) != 0) {
			if (argv[i][0] == '-' && argv[i][1] && !take_letters(argp, argv, &i, take, arg))
				return false;
			continue;
		}
		length = strcspn(argv[i] + 2, "=");
		find_option(argp, argv[i] + 2, length, 0, &option, &whole);
		if (!option)
			continue;
		if (argv[i][2 + length] == '=')
			value = argv[i] + 2 + length + 1;
		else if (option->arg && i + 1 < argc)
			value = argv[++i];
		if (!take(arg, option, value))
			return false;
	}
	return true;
}

/* --- as it was told --- */

/* Of these each printed command has its own, or none: what it does, and how it tells. */
static const char *const left_out[] = {"stage",	 "wait-only", "standby", "standby-later", "site", "format", "output", "metrics",
				       "label",	 "all",	      "color",	 "verbose",	  "debug", "quiet", NULL};

static bool print_option(void *arg, const struct argp_option *option, const char *value)
{
	FILE *out = arg;
	char *word;

	for (unsigned i = 0; left_out[i]; i++)
		if (strcmp(left_out[i], option->name) == 0)
			return true;
	if (option->key < 0x80 && isalpha(option->key))
		fprintf(out, " -%c", option->key);
	else
		fprintf(out, " --%s", option->name);
	if (!value)
		return true;
	word = text_shell_word(value);
	if (!word)
		return false;
	fprintf(out, " %s", word);
	free(word);
	return true;
}

char *words_again(const struct ibqos_ctx *ctx, int argc, char **argv)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool whole = out && words_walk(cmd_find(cmd_table, ctx->command)->argp, argc, argv, print_option, out);

	if (out && text_stream_end(out, &text) == 0 && whole)
		return text;
	free(text);
	return NULL;
}
