/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any bytes as a change file: either changes and no finding, or findings with a place and no changes. What is read says again
 * what was written: its words, put together anew, are read as the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/changes.h"
#include "ibqos/link.h"

static void check_change(const struct change *c)
{
	require(c->kind < CHANGE_KINDS && c->text && c->subject && c->subject[0] && c->line > 0 && c->column > 0);
	require(strncmp(c->text, c->subject, strlen(c->subject)) == 0 && strlen(c->subject) < strlen(c->text));
	require(c->name_count >= 1 && c->name_count <= CHANGES_NAMES_MAX);
	for (size_t i = 0; i < c->name_count; i++)
		require(c->names[i] && c->names[i][0]);
	require((c->kind == CHANGE_RENAMED) == (c->to != NULL) && (!c->to || c->to[0]));
	require((c->kind == CHANGE_RATE) == (c->width || c->speed));
	require((c->width & (c->width - 1)) == 0 && (c->speed & (c->speed - 1)) == 0);
	require(!c->width || link_width_name(c->width)[0]);
	require(!c->speed || link_speed_name(c->speed)[0]);
}

/* A YAML text in single quotes. */
static void put(FILE *out, const char *text)
{
	fputs("  - '", out);
	for (; *text; text++)
		fprintf(out, *text == '\'' ? "''" : "%c", *text);
	fputs("'\n", out);
}

/* Only words on one line: YAML folds others. */
static bool is_plain(const struct changes *changes)
{
	for (size_t i = 0; i < changes->count; i++)
		if (!fuzz_printable(changes->items[i].text, ""))
			return false;
	return true;
}

static void read_again(const struct changes *first)
{
	struct finding_list findings = {0};
	struct changes *again = NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	require(out);
	fputs("version: 1\nchanges:\n", out);
	if (first->count == 0)
		fputs("  []\n", out);
	for (size_t i = 0; i < first->count; i++)
		put(out, first->items[i].text);
	require(fclose(out) == 0);
	require(changes_parse("again", text, size, &findings, &again) == 0);
	/* without its groups a name may be no name any more */
	require(again || finding_count(&findings, FINDING_CRITICAL) > 0);
	for (size_t i = 0; again && i < again->count; i++) {
		const struct change *x = &first->items[i], *y = &again->items[i];

		require(x->kind == y->kind && strcmp(x->subject, y->subject) == 0 && x->width == y->width && x->speed == y->speed);
	}
	changes_free(again);
	finding_list_clear(&findings);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct finding_list findings = {0};
	struct changes *changes = NULL;

	require(changes_parse("c", (const char *)data, size, &findings, &changes) == 0);
	require((changes != NULL) == (findings.count == 0));
	for (size_t i = 0; i < findings.count; i++) {
		const struct finding *f = &findings.items[i];

		require(f->severity == FINDING_CRITICAL && f->file && f->line > 0 && f->column > 0);
		require(f->code == FINDING_CHANGES_SYNTAX || f->code == FINDING_CHANGES_FAULT);
	}
	for (size_t i = 0; changes && i < changes->count; i++)
		check_change(&changes->items[i]);
	if (changes && is_plain(changes))
		read_again(changes);
	changes_free(changes);
	finding_list_clear(&findings);
	return 0;
}
