/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Keys that stand in opensm.conf: none is shown, in whatever is said of the file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"

#define HIDDEN "(not shown)"

bool conf_is_secret(const char *option)
{
	size_t length = strlen(option);

	/* the seed is of NVIDIA's OpenSM, which makes a key for each port of it */
	return (length > 4 && strcmp(option + length - 4, "_key") == 0) || strcmp(option, "key_mgr_seed") == 0;
}

const char *conf_shown(const char *option, const char *value)
{
	return conf_is_secret(option) && *value ? HIDDEN : value;
}

/* In a line without its comment sign: where the value behind a key begins and ends; false: none that is secret. */
static bool find_secret(const char *line, size_t size, bool comment, size_t *from, size_t *to)
{
	static const char blanks[] = " \t\r\n";
	size_t key = 0, end;
	char name[64];

	while (key < size && (strchr(blanks, line[key]) || (comment && line[key] == '#')))
		key++;
	for (end = key; end < size && !strchr(blanks, line[end]) && line[end] != '#'; end++)
		;
	if (end == key || end - key >= sizeof(name))
		return false;
	memcpy(name, line + key, end - key);
	name[end - key] = '\0';
	/* of comments those that are a line switched off, not words about one */
	if (!conf_is_secret(name) || (comment && !conf_option_find(name)))
		return false;
	for (*from = end; *from < size && strchr(blanks, line[*from]); (*from)++)
		;
	for (*to = *from; *to < size && line[*to] != '#' && line[*to] != '\n'; (*to)++)
		;
	while (*to > *from && strchr(blanks, line[*to - 1]))
		(*to)--;
	return *to > *from;
}

static bool is_comment(const char *line, size_t size)
{
	size_t at = 0;

	while (at < size && (line[at] == ' ' || line[at] == '\t'))
		at++;
	return at < size && line[at] == '#';
}

int opensm_conf_redact(const char *text, size_t size, char **shown, size_t *shown_size)
{
	FILE *out = open_memstream(shown, shown_size);
	size_t at = 0;

	if (!out)
		return -ENOMEM;
	while (at < size) {
		const char *line = text + at, *newline = memchr(line, '\n', size - at);
		size_t length = newline ? (size_t)(newline - line) + 1 : size - at, from, to;

		if (find_secret(line, length, is_comment(line, length), &from, &to)) {
			fwrite(line, 1, from, out);
			fputs(HIDDEN, out);
			fwrite(line + to, 1, length - to, out);
		} else {
			fwrite(line, 1, length, out);
		}
		at += length;
	}
	return text_stream_end(out, shown);
}
