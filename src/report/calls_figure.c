/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A picture that another process has drawn. Nothing of it is taken on trust: it is read mark by mark, and written again if each is
 * one that figure_*.c make: elements and attributes of the lists here, all closed in turn, text with its entities, classes of
 * pictures alone. Names of places in it (id, for, ...) get the fabric's before them, so that many can stand on one page.
 */
#include <errno.h>
#include <string.h>

#include "calls.h"
#include "ibqos/report.h"
#include "ibqos/util.h"

#define DEPTH_MAX 32
#define NAME_MAX_BYTES 24
#define SIZE_DIGITS 6 /* of a width or height */

enum closing {
	CLOSED,	     /* by its end tag */
	CLOSED_BOTH, /* or at once: <path/> */
	VOID,	     /* never */
};

static const struct {
	const char *name;
	enum closing closing;
} elements[] = {
	{"b", CLOSED},	     {"br", VOID},     {"caption", CLOSED}, {"circle", CLOSED_BOTH}, {"desc", CLOSED}, {"details", CLOSED},
	{"div", CLOSED},     {"g", CLOSED},    {"h3", CLOSED},	    {"input", VOID},	     {"label", CLOSED}, {"li", CLOSED},
	{"p", CLOSED},	     {"path", CLOSED_BOTH}, {"rect", CLOSED_BOTH}, {"summary", CLOSED}, {"svg", CLOSED}, {"table", CLOSED},
	{"tbody", CLOSED},   {"td", CLOSED},   {"text", CLOSED},    {"th", CLOSED},	     {"thead", CLOSED}, {"title", CLOSED},
	{"tr", CLOSED},	     {"ul", CLOSED},
};

enum value {
	VALUE_NONE,  /* the name alone */
	VALUE_ANY,   /* is only ever read as data */
	VALUE_CLASS, /* of pictures */
	VALUE_PLACE, /* the name of a place, or some of them */
	VALUE_SIZE,
	VALUE_WORD, /* small letters */
};

static const struct {
	const char *name;
	enum value value;
} attributes[] = {
	{"aria-hidden", VALUE_WORD}, {"aria-labelledby", VALUE_PLACE}, {"aria-live", VALUE_WORD}, {"autocomplete", VALUE_WORD},
	{"checked", VALUE_NONE},     {"class", VALUE_CLASS},	       {"cx", VALUE_SIZE},	  {"cy", VALUE_SIZE},
	{"d", VALUE_ANY},	     {"for", VALUE_PLACE},	       {"height", VALUE_SIZE},	  {"hidden", VALUE_NONE},
	{"id", VALUE_PLACE},	     {"name", VALUE_PLACE},	       {"r", VALUE_SIZE},	  {"role", VALUE_WORD},
	{"rx", VALUE_SIZE},	     {"scope", VALUE_WORD},	       {"transform", VALUE_ANY},  {"type", VALUE_WORD},
	{"viewBox", VALUE_ANY},	     {"width", VALUE_SIZE},	       {"x", VALUE_SIZE},	  {"y", VALUE_SIZE},
};

/* What html_figures.css and html_figures.js know: no class of another part of the page. */
static const char *const classes[] = {"c", "fm", "hi", "sh", "sign", "t", "tp", "v"};
static const char *const class_starts[] = {"fig-", "fm-", "hi-", "k-", "sh-", "tp-", "v-"};

static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
static const char place_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

struct reading {
	FILE *out; /* NULL: it is only checked */
	const char *at, *end, *fabric;
	size_t open[DEPTH_MAX];
	unsigned depth;
};

static void put(struct reading *p, const char *text, size_t size)
{
	if (p->out)
		fwrite(text, 1, size, p->out);
}

static void put_word(struct reading *p, const char *text)
{
	put(p, text, strlen(text));
}

static bool take(struct reading *p, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(p->end - p->at) < size || memcmp(p->at, word, size) != 0)
		return false;
	p->at += size;
	return true;
}

/* A name of letters, digits and '-' into `name`; false where there is none, or one too long. */
static bool take_name(struct reading *p, char name[NAME_MAX_BYTES])
{
	size_t size = 0;

	while (p->at < p->end && size + 1 < NAME_MAX_BYTES && (strchr(place_letters, *p->at) || *p->at == 'B') && *p->at != '\0')
		name[size++] = *p->at++;
	name[size] = '\0';
	return size > 0;
}

/* --- values of attributes, which lie before p->at and end at a quote --- */

static bool is_class(const char *text, size_t size)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strlen(classes[i]) == size && memcmp(classes[i], text, size) == 0)
			return true;
	for (size_t i = 0; i < sizeof(class_starts) / sizeof(class_starts[0]); i++)
		if (strlen(class_starts[i]) < size && memcmp(class_starts[i], text, strlen(class_starts[i])) == 0)
			return true;
	return false;
}

/* The words of a value, parted by single spaces; a class may have a space at its end. */
static bool put_words(struct reading *p, const char *text, size_t size, bool places)
{
	const char *end = text + size;

	while (text < end) {
		const char *space = memchr(text, ' ', (size_t)(end - text));
		size_t length = (size_t)((space ? space : end) - text);

		if (places ? length == 0 : !is_class(text, length))
			return false;
		for (size_t i = 0; i < length; i++)
			if (!strchr(place_letters, text[i]) || text[i] == '\0')
				return false;
		if (places && p->fabric && p->out) {
			report_html_text(p->out, p->fabric);
			put_word(p, "--");
		}
		put(p, text, length);
		put_word(p, space ? " " : "");
		text += length + (space != NULL);
	}
	return true;
}

static bool is_of(const char *text, size_t size, const char *set)
{
	for (size_t i = 0; i < size; i++)
		if (text[i] == '\0' || !strchr(set, text[i]))
			return false;
	return true;
}

static bool put_value(struct reading *p, enum value kind, const char *text, size_t size)
{
	switch (kind) {
	case VALUE_NONE:
		return false;
	case VALUE_CLASS:
	case VALUE_PLACE:
		return put_words(p, text, size, kind == VALUE_PLACE);
	case VALUE_SIZE:
		if (size > SIZE_DIGITS || !is_of(text, size, "0123456789.-"))
			return false;
		break;
	case VALUE_WORD:
		if (!is_of(text, size, letters))
			return false;
		break;
	case VALUE_ANY:
		break;
	}
	put(p, text, size);
	return true;
}

/* --- text --- */

/* A character of text, or an entity of those that report_html_text() makes. Its bytes; 0: it is neither. */
static size_t text_unit(const char *text, size_t left, bool layout)
{
	static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

	if (*text == '&') {
		for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
			if (strlen(entities[i]) <= left && memcmp(entities[i], text, strlen(entities[i])) == 0)
				return strlen(entities[i]);
		return 0;
	}
	if (layout && (*text == '\n' || *text == '\t'))
		return 1;
	return *text == '<' || *text == '>' ? 0 : text_char(text, left);
}

static bool take_text(struct reading *p)
{
	const char *from = p->at;

	while (p->at < p->end && *p->at != '<') {
		size_t size = text_unit(p->at, (size_t)(p->end - p->at), true);

		if (size == 0)
			return false;
		p->at += size;
	}
	put(p, from, (size_t)(p->at - from));
	return true;
}

/* --- elements --- */

static bool find_attribute(const char *name, enum value *kind)
{
	if (strncmp(name, "data-", strlen("data-")) == 0) {
		*kind = VALUE_ANY;
		return true;
	}
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (strcmp(attributes[i].name, name) == 0) {
			*kind = attributes[i].value;
			return true;
		}
	return false;
}

/* One, behind its space. */
static bool take_attribute(struct reading *p)
{
	char name[NAME_MAX_BYTES];
	enum value kind;
	const char *from;

	if (!take_name(p, name) || !find_attribute(name, &kind))
		return false;
	put_word(p, " ");
	put_word(p, name);
	if (!take(p, "=\""))
		return kind == VALUE_NONE && (p->at >= p->end || *p->at != '=');
	from = p->at;
	while (p->at < p->end && *p->at != '"') {
		size_t size = text_unit(p->at, (size_t)(p->end - p->at), false);

		if (size == 0)
			return false;
		p->at += size;
	}
	put_word(p, "=\"");
	if (!put_value(p, kind, from, (size_t)(p->at - from)) || !take(p, "\""))
		return false;
	put_word(p, "\"");
	return true;
}

static bool find_element(const char *name, size_t *found)
{
	for (*found = 0; *found < sizeof(elements) / sizeof(elements[0]); ++*found)
		if (strcmp(elements[*found].name, name) == 0)
			return true;
	return false;
}

static bool take_end(struct reading *p)
{
	const char *name = p->depth > 0 ? elements[p->open[p->depth - 1]].name : "";

	if (p->depth == 0 || !take(p, name) || !take(p, ">"))
		return false;
	p->depth--;
	put_word(p, "</");
	put_word(p, name);
	put_word(p, ">");
	return true;
}

static bool take_element(struct reading *p)
{
	char name[NAME_MAX_BYTES];
	size_t element;

	if (take(p, "</"))
		return take_end(p);
	if (!take(p, "<") || !take_name(p, name) || !find_element(name, &element))
		return false;
	put_word(p, "<");
	put_word(p, name);
	while (take(p, " "))
		if (!take_attribute(p))
			return false;
	if (elements[element].closing == CLOSED_BOTH && take(p, "/>")) {
		put_word(p, "/>");
		return true;
	}
	if (!take(p, ">"))
		return false;
	put_word(p, ">");
	if (elements[element].closing == VOID)
		return true;
	if (p->depth == DEPTH_MAX)
		return false;
	p->open[p->depth++] = element;
	return true;
}

int calls_figure_put(FILE *out, const char *text, size_t size, const char *fabric)
{
	struct reading p = {.out = out, .at = text, .end = text + size, .fabric = fabric};

	while (p.at < p.end)
		if (*p.at == '<' ? !take_element(&p) : !take_text(&p))
			return -EINVAL;
	return p.depth == 0 ? 0 : -EINVAL;
}
