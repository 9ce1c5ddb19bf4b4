/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * HTML: one page for a browser, with nothing beside it. This file has the parts and their order, fields, sections and figures;
 * tables, findings and the page's frame are in html_*.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "html.h"

/* Memory is the second choice: it may be that no folder for temporary files can be written. */
static FILE *open_parts(void)
{
	FILE *parts = tmpfile();
	int fd;

	if (parts)
		return parts;
	fd = memfd_create("ibqos-report", MFD_CLOEXEC);
	return fd < 0 ? NULL : fdopen(fd, "w+");
}

static int html_open(struct report *r)
{
	struct html_state *state = calloc(1, sizeof(*state));
	FILE *parts = state ? open_parts() : NULL;

	if (!parts) {
		free(state);
		return -ENOMEM;
	}
	state->page = r->out;
	state->part = HTML_PARTS;
	state->body = HTML_BODY;
	r->out = parts;
	r->own = state;
	return 0;
}

void html_to(struct report *r, enum html_part part)
{
	struct html_state *state = r->own;
	struct html_piece *pieces;

	state->body_began |= part == HTML_FIGURES || part == HTML_BODY;
	if (part == state->part)
		return;
	html_end_list(r);
	state->part = part;
	state->written[part] = true;
	pieces = array_grow(state->pieces, &state->piece_room, state->piece_count + 1, sizeof(*pieces));
	if (!pieces) {
		report_fail(r, -ENOMEM);
		return;
	}
	state->pieces = pieces;
	pieces[state->piece_count++] = (struct html_piece){.part = part, .begin = ftello(r->out)};
}

void html_end_list(struct report *r)
{
	struct html_state *state = r->own;

	if (state->list_open)
		report_puts(r, "</dl>\n");
	state->list_open = false;
}

static void add_entry(struct report *r, enum html_part part, const char *id, const char *title)
{
	struct html_state *state = r->own;
	struct html_entry *entries =
		array_grow(state->entries, &state->entry_room, state->entry_count + 1, sizeof(*entries));
	const char *more = strstr(title, ": "); /* the contents are names alone */
	struct html_entry entry = {.part = part, .id = strdup(id), .fabric = r->part ? strdup(r->part) : NULL};

	entry.title = more ? strndup(title, (size_t)(more - title)) : strdup(title);
	if (entries)
		state->entries = entries;
	if (!entries || !entry.id || !entry.title || (r->part && !entry.fabric)) {
		free(entry.fabric);
		free(entry.id);
		free(entry.title);
		report_fail(r, -ENOMEM);
		return;
	}
	entries[state->entry_count++] = entry;
}

/* "rail0: ", whose it is in a report of many fabrics. */
static void put_fabric(struct report *r)
{
	if (!r->part)
		return;
	html_put(r, r->part);
	report_puts(r, ": ");
}

void html_heading(struct report *r, enum html_part part, const char *key, const char *title)
{
	struct html_state *state = r->own;
	bool inner = state->section && state->section_shown && part == state->body;
	const char *more = inner ? NULL : strstr(title, ": ");
	char *id;

	html_to(r, part);
	html_end_list(r);
	/* keys have no '-': no two places can have one name */
	if (asprintf(&id, "r-%s%s%s%s%s", r->part ? r->part : "", r->part ? "--" : "", inner ? state->section : "", inner ? "-" : "",
		     key) < 0) {
		report_fail(r, -ENOMEM);
		return;
	}
	if (!inner)
		add_entry(r, part, id, title);
	report_puts(r, "<section id=\"");
	html_put(r, id);
	report_puts(r, "\">\n");
	report_puts(r, inner ? "<h3>" : "<h2>");
	put_fabric(r);
	if (more) {
		html_put_part(r, title, (size_t)(more - title) + 2);
		report_puts(r, "<small>");
	}
	html_put(r, more ? more + 2 : title);
	report_puts(r, inner ? "</h3>\n" : more ? "</small></h2>\n" : "</h2>\n");
	free(id);
}

static void keep(struct report *r, char **text, const char *value)
{
	free(*text);
	*text = value ? strdup(value) : NULL;
	if (value && !*text)
		report_fail(r, -ENOMEM);
}

static bool is_error(const char *key)
{
	return strcmp(key, "error") == 0 || strncmp(key, "error_", strlen("error_")) == 0;
}

/* Where a field stands: errors first, what comes before all else in the summary, the rest in its place. */
static enum html_part part_of(const struct html_state *state, const char *key)
{
	if (state->section)
		return state->body;
	if (is_error(key) || strcmp(key, "findings_lost") == 0)
		return HTML_ERRORS;
	return state->body_began ? state->body : HTML_SUMMARY;
}

static void html_field(struct report *r, const char *key, const char *title, const struct report_value *value)
{
	struct html_state *state = r->own;
	bool string = value->type == REPORT_STRING && value->knowledge == REPORT_KNOWN;

	if (!state->section && string && strcmp(key, "command") == 0)
		keep(r, &state->command, value->string);
	if (!state->section && string && strcmp(key, "fabric") == 0) {
		keep(r, &state->fabric, title ? value->string : NULL);
		return; /* stands below the heading */
	}
	if (!state->section && is_error(key) && string)
		title = "error"; /* in text it is told on standard error */
	if (strcmp(key, "findings_lost") == 0 && !(value->type == REPORT_BOOL && value->truth))
		title = NULL;
	if (!title)
		return;
	html_to(r, part_of(state, key));
	if (!state->list_open)
		report_puts(r, "<dl>\n");
	state->list_open = true;
	report_puts(r, "<div><dt>");
	if (!state->section_shown) /* there, the heading tells it */
		put_fabric(r);
	html_put(r, title);
	report_puts(r, "</dt><dd>");
	html_value(r, value, value->decimals);
	if (value->unit && value->knowledge == REPORT_KNOWN) {
		report_puts(r, " ");
		html_put(r, value->unit);
	}
	report_puts(r, "</dd></div>\n");
}

static void html_section(struct report *r, const char *key, const char *title)
{
	struct html_state *state = r->own;

	if (title)
		html_heading(r, state->body, key, title);
	keep(r, &state->section, key);
	state->section_shown = title != NULL;
}

static void html_section_end(struct report *r)
{
	struct html_state *state = r->own;

	html_end_list(r);
	if (state->section_shown) {
		html_to(r, state->body);
		report_puts(r, "</section>\n");
	}
	state->section_shown = false;
	keep(r, &state->section, NULL);
}

static void html_figure(struct report *r, const char *key, const char *title, int (*draw)(FILE *out, void *arg), void *arg)
{
	int error;

	html_heading(r, HTML_FIGURES, key, title);
	report_puts(r, "<figure>\n");
	error = draw(r->out, arg);
	if (error < 0)
		report_fail(r, error);
	report_puts(r, "\n</figure>\n</section>\n");
}

static void html_parts_end(struct report *r)
{
	struct html_state *state = r->own;

	state->body = HTML_SUMMARY;
}

/* Copies the pieces of a part, in the order in which they were written, from the temporary file to the page. */
static void put_part(struct report *r, FILE *parts, enum html_part part, off_t end)
{
	struct html_state *state = r->own;
	char buffer[1 << 14];

	for (size_t i = 0; i < state->piece_count; i++) {
		off_t from = state->pieces[i].begin;
		off_t to = i + 1 < state->piece_count ? state->pieces[i + 1].begin : end;

		if (state->pieces[i].part != part || from >= to)
			continue;
		if (fseeko(parts, from, SEEK_SET) != 0) {
			report_fail(r, -errno);
			return;
		}
		while (from < to) {
			size_t want = (size_t)(to - from) < sizeof(buffer) ? (size_t)(to - from) : sizeof(buffer);
			size_t got = fread(buffer, 1, want, parts);

			if (got == 0) {
				report_fail(r, -EIO);
				return;
			}
			if (fwrite(buffer, 1, got, r->out) != got)
				report_fail(r, errno ? -errno : -EIO);
			from += (off_t)got;
		}
	}
}

static void html_verdict(struct report *r, enum ibqos_exit exit_code, const char *name)
{
	struct html_state *state = r->own;
	FILE *parts = r->out;
	off_t end;

	html_findings_end(r);
	html_end_list(r);
	end = ftello(parts);
	errno = 0;
	if (end < 0 || fflush(parts) != 0 || ferror(parts))
		report_fail(r, errno ? -errno : -EIO);
	r->out = state->page;
	html_page_begin(r, exit_code, name);
	for (int part = 0; part < HTML_PARTS; part++)
		put_part(r, parts, (enum html_part)part, end);
	html_page_end(r);
	fclose(parts);
}

static void html_close(struct report *r)
{
	struct html_state *state = r->own;

	for (size_t i = 0; i < state->entry_count; i++) {
		free(state->entries[i].fabric);
		free(state->entries[i].id);
		free(state->entries[i].title);
	}
	free(state->entries);
	free(state->pieces);
	free(state->command);
	free(state->fabric);
	free(state->section);
	free(state);
}

const struct report_writer report_html_writer = {
	.open = html_open,
	.field = html_field,
	.section = html_section,
	.section_end = html_section_end,
	.table = html_table,
	.row = html_row,
	.table_end = html_table_end,
	.block = html_block,
	.figure = html_figure,
	.group = html_group,
	.parts_end = html_parts_end,
	.verdict = html_verdict,
	.close = html_close,
};
