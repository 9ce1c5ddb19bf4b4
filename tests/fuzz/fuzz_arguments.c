/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any command line of OpenSM: what is read from it lies within it, and is what glibc's
 * getopt_long_only() gives OpenSM itself, wherever that finds no fault (else OpenSM ends at once).
 * The table of options is the file's own: what is looked at is how it is read.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "opensm/arguments.c"

#define ARGUMENTS_MAX 8192
#define LONG_BASE 0x1000 /* above any short option's letter */

static void make_table(struct option *table, char *letters)
{
	for (size_t i = 0; i < LONG_OPTIONS; i++)
		table[i] = (struct option){long_options[i].name, long_options[i].value, NULL,
					   LONG_BASE + (int)i};
	table[LONG_OPTIONS] = (struct option){0};
	for (const char *letter = SHORT_WITH_VALUE; *letter; letter++) {
		*letters++ = *letter;
		*letters++ = ':';
	}
	strcpy(letters, SHORT_ALONE);
}

/* False if OpenSM would refuse the command line. */
static bool by_getopt(int argc, char **argv, struct opensm_arguments *out)
{
	struct option table[LONG_OPTIONS + 1];
	char letters[2 * sizeof(SHORT_WITH_VALUE) + sizeof(SHORT_ALONE)];
	int option;

	*out = (struct opensm_arguments){0};
	make_table(table, letters);
	optind = 0;
	opterr = 0;
	while ((option = getopt_long_only(argc, argv, letters, table, NULL)) != -1) {
		if (option == '?' || option == ':')
			return false;
		if (option == 'F' ||
		    (option >= LONG_BASE && !strcmp(table[option - LONG_BASE].name, "config")))
			out->config = optarg;
		if (option == 'f' ||
		    (option >= LONG_BASE && !strcmp(table[option - LONG_BASE].name, "log_file")))
			out->log = optarg;
	}
	return true;
}

static bool within(const char *text, const char *start, size_t size)
{
	return !text || (text >= start && text <= start + size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *cmdline = calloc(1, size + 1), **argv = calloc(ARGUMENTS_MAX + 2, sizeof(*argv));
	struct opensm_arguments read, expected;
	int argc = 0;

	require(cmdline && argv);
	if (size > 0)
		memcpy(cmdline, data, size);
	for (char *at = cmdline; at < cmdline + size && argc < ARGUMENTS_MAX; at += strlen(at) + 1)
		argv[argc++] = at;
	opensm_arguments_read(cmdline, size, &read);
	require(within(read.config, cmdline, size) && within(read.log, cmdline, size));
	if (argc < ARGUMENTS_MAX && by_getopt(argc, argv, &expected))
		require(read.config == expected.config && read.log == expected.log);
	free(argv);
	free(cmdline);
	return 0;
}
