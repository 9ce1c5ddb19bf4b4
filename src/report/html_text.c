/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Text as HTML: nothing that it holds can become an element, an attribute or a character that turns what follows. */
#include <errno.h>
#include <string.h>

#include "html.h"

/* NULL: the character stands for itself. Quotes too, so that one function serves attributes. */
static const char *entity_of(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

static bool is_layout(char c)
{
	return c == '\n' || c == '\t';
}

static int put_text(FILE *out, const char *text, size_t left, bool with_layout)
{
	while (left > 0) {
		const char *entity = NULL;
		size_t plain = 0, length;

		while (plain < left && !(entity = entity_of(text[plain]))) {
			length = with_layout && is_layout(text[plain]) ? 1 : text_char(text + plain, left - plain);
			if (length == 0)
				break;
			plain += length;
		}
		if (plain > 0 && fwrite_unlocked(text, 1, plain, out) != plain)
			return -EIO;
		if (plain < left) {
			if (fputs_unlocked(entity ? entity : "\xef\xbf\xbd", out) < 0)
				return -EIO;
			plain++;
		}
		text += plain;
		left -= plain;
	}
	return 0;
}

int report_html_text(FILE *out, const char *text)
{
	return put_text(out, text, strlen(text), false);
}

void html_put_part(struct report *r, const char *text, size_t size)
{
	errno = 0;
	if (put_text(r->out, text, size, false) < 0)
		report_fail(r, errno ? -errno : -EIO);
}

static void put_lines(struct report *r, const char *text, size_t size)
{
	errno = 0;
	if (put_text(r->out, text, size, true) < 0)
		report_fail(r, errno ? -errno : -EIO);
}

void html_put(struct report *r, const char *text)
{
	html_put_part(r, text, strlen(text));
}

void html_value(struct report *r, const struct report_value *value, int decimals)
{
	char buffer[TEXT_VALUE_SIZE];

	html_put(r, text_of(value, decimals, buffer));
}

/* What diff(1) says of a line, by how it starts; the sign itself stays, so that colour says nothing alone. */
static const char *diff_class(const char *line)
{
	switch (line[0]) {
	case '+':
		return "plus";
	case '-':
		return "minus";
	case '@':
		return "hunk";
	default:
		return NULL;
	}
}

static void put_diff(struct report *r, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");
		const char *class = diff_class(text);

		if (class)
			report_put(r, "<span class=\"%s\">", class);
		put_lines(r, text, length);
		if (class)
			report_puts(r, "</span>");
		text += length;
		if (*text == '\n') {
			report_puts(r, "\n");
			text++;
		}
	}
}

void html_block(struct report *r, const char *key, const char *title, const struct report_value *value)
{
	const struct html_state *state = r->own;
	char buffer[TEXT_VALUE_SIZE];
	const char *text = text_of(value, 0, buffer);

	if (!title)
		return;
	html_heading(r, state->body, key, title);
	if (*text == '\0' || value->knowledge != REPORT_KNOWN) {
		report_put(r, "<p>%s</p>\n</section>\n", *text ? text : "none");
		return;
	}
	/* a newline right behind <pre> is dropped by browsers, one of the text's own would be */
	report_puts(r, "<pre class=\"block\" tabindex=\"0\" role=\"region\" aria-label=\"");
	html_put(r, title);
	report_puts(r, "\">\n");
	if (strncmp(text, "--- ", strlen("--- ")) == 0)
		put_diff(r, text);
	else
		put_lines(r, text, strlen(text));
	report_puts(r, "</pre>\n</section>\n");
}
