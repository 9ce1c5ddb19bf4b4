/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The prefix routes file, read as OpenSM does on every reload (osm_subnet.c: parse_prefix_routes_file):
 * lines "PREFIX GUID", each hexadecimal or '*'. A line with an error is passed over; after eleven of
 * them the rest is.
 */
#include <stdlib.h>
#include <string.h>

#include "ibqos/opensm_files.h"

#define ERRORS_MAX 10
#define LINE_PIECE 1023 /* fgets(buf, 1024, …) */
#define BLANKS " \t\n"

/* A number as strtoull(…, 16) takes it whole; '*' is any. */
static bool is_number(const char *word, bool comment_may_follow)
{
	char *end;

	if (strcmp(word, "*") == 0)
		return true;
	strtoull(word, &end, 16);
	return *end == '\0' || (comment_may_follow && *end == '#');
}

/* What is wrong with a line; NULL: nothing. */
static const char *fault_of(char *line)
{
	char *rest = NULL, *prefix = strtok_r(line, BLANKS, &rest), *guid;

	if (!prefix || *prefix == '#')
		return NULL;
	guid = strtok_r(NULL, BLANKS, &rest);
	if (!guid)
		return "no GUID";
	if (!is_number(prefix, false))
		return "a prefix that is no hexadecimal number";
	return is_number(guid, true) ? NULL : "a GUID that is no hexadecimal number";
}

void opensm_prefix_routes_lint(const char *path, const char *text, size_t size, struct finding_list *findings)
{
	unsigned line = 0, errors = 0;

	for (size_t at = 0; at < size && errors <= ERRORS_MAX;) {
		const char *newline = memchr(text + at, '\n', size - at);
		size_t length = newline ? (size_t)(newline - text) + 1 - at : size - at;
		char piece[LINE_PIECE + 1];
		const char *fault;
		struct finding *f;

		if (length > LINE_PIECE)
			length = LINE_PIECE;
		memcpy(piece, text + at, length);
		piece[length] = '\0';
		at += length;
		line++;
		fault = fault_of(piece);
		if (!fault)
			continue;
		errors++;
		f = finding_at(finding_add(findings, FINDING_OPENSM_PREFIX_ROUTE), path, line, 0);
		finding_set(&f->got, "%s", fault);
		if (errors > ERRORS_MAX)
			finding_set(&f->detail, "OpenSM reads no further");
	}
}
