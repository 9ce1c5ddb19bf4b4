/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Values of a qos-policy file: numbers, ranges, texts, as OpenSM's parser makes them of words, and what
 * is doubtful about one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "policy_file.h"

#define PKEY_BASE 0x7fffu
/* OpenSM looks up each GUID of a range, with its lock held: a second or so for this many. */
#define GUIDS_SLOW 1000000u
#define SHOWN 64 /* bytes of a text in a finding */

/* --- findings --- */

struct finding *parser_tell(struct policy_parser *p, enum finding_code code, struct opensm_mark mark)
{
	return finding_at(finding_add(p->findings, code), p->path, mark.line, mark.column);
}

bool parser_refuse(struct policy_parser *p, struct opensm_mark mark, const char *what, const char *format, ...)
{
	struct finding *f = parser_tell(p, FINDING_OPENSM_RULES_REFUSED, mark);
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	finding_set(&f->what, "%s", what);
	finding_set(&f->detail, "%s", text ? text : "");
	free(text);
	return false;
}

bool parser_no_memory(struct policy_parser *p)
{
	p->error = -ENOMEM;
	return false;
}

static void set_token(char **member, const struct lex_token *token)
{
	size_t size = token->size < SHOWN ? token->size : SHOWN;

	if (token->kind == LEX_END)
		finding_set(member, "%s", lex_kind_name(LEX_END));
	else if (token->size == 1 && *token->text == '\r')
		finding_set(member, "a carriage return: OpenSM wants lines that end with a newline alone");
	else if (token->size == 1 && *token->text == '#')
		finding_set(member, "#: a comment is one only if its line ends with a newline");
	else
		finding_set(member, "%.*s", (int)size, token->text);
}

bool parser_syntax(struct policy_parser *p, const char *wanted)
{
	struct finding *f = parser_tell(p, FINDING_OPENSM_RULES_REFUSED, p->next.mark);

	finding_set(&f->what, "syntax");
	finding_set(&f->wanted, "%s", wanted);
	set_token(&f->got, &p->next);
	return false;
}

/* --- words --- */

void parser_step(struct policy_parser *p)
{
	p->next = lex_next(&p->lexer);
}

bool parser_take(struct policy_parser *p, enum lex_kind kind)
{
	if (p->next.kind != kind)
		return false;
	parser_step(p);
	return true;
}

bool parser_expect(struct policy_parser *p, enum lex_kind kind)
{
	return parser_take(p, kind) || parser_syntax(p, lex_kind_name(kind));
}

/* --- numbers --- */

static void check_number(struct policy_parser *p, const struct lex_token *token, uint64_t value)
{
	struct finding *f;

	if (token->size < 2 || token->text[0] != '0' || token->text[1] == 'x' || token->text[1] == 'X')
		return;
	f = parser_tell(p, FINDING_OPENSM_VALUE_DOUBTFUL, token->mark);
	finding_set(&f->what, "number");
	finding_set(&f->wanted, "a number without leading zeros");
	finding_set(&f->got, "%.*s", (int)(token->size < SHOWN ? token->size : SHOWN), token->text);
	finding_set(&f->detail, "a leading zero makes it octal: OpenSM reads %" PRIu64, value);
}

bool parse_number(struct policy_parser *p, uint64_t *value)
{
	struct lex_token token = p->next;
	char *text;

	if (token.kind != LEX_NUMBER)
		return parser_syntax(p, lex_kind_name(LEX_NUMBER));
	text = malloc(token.size + 1);
	if (!text)
		return parser_no_memory(p);
	memcpy(text, token.text, token.size);
	text[token.size] = '\0';
	*value = strtoull(text, NULL, 0);
	free(text);
	check_number(p, &token, *value);
	parser_step(p);
	return true;
}

/* --- ranges --- */

static int compare(const void *a, const void *b)
{
	const struct opensm_range *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

/* In order; those that overlap or touch made one (osm_qos_parser_y.y: __sort_reduce_rangearr). */
static void tidy(struct opensm_ranges *ranges)
{
	size_t kept = 0;

	if (ranges->count == 0)
		return;
	qsort(ranges->items, ranges->count, sizeof(*ranges->items), compare);
	for (size_t i = 1; i < ranges->count; i++) {
		struct opensm_range *last = &ranges->items[kept], next = ranges->items[i];

		if (last->high == UINT64_MAX || next.low <= last->high + 1)
			last->high = next.high > last->high ? next.high : last->high;
		else
			ranges->items[++kept] = next;
	}
	ranges->count = kept + 1;
}

int ranges_put(struct opensm_ranges *ranges, uint64_t low, uint64_t high)
{
	struct opensm_range *items = array_grow(ranges->items, &ranges->room, ranges->count + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	ranges->items = items;
	items[ranges->count++] = (struct opensm_range){low, high};
	return 0;
}

struct range_kind {
	uint64_t mask;
	void (*check)(struct policy_parser *p, struct opensm_mark mark, uint64_t low, uint64_t high);
};

static bool parse_range(struct policy_parser *p, const struct range_kind *kind, struct opensm_ranges *ranges)
{
	struct opensm_mark mark = p->next.mark;
	uint64_t a, b;

	if (!parse_number(p, &a))
		return false;
	b = a;
	if (parser_take(p, LEX_DASH) && !parse_number(p, &b))
		return false;
	if (kind->check)
		kind->check(p, mark, a < b ? a : b, a < b ? b : a);
	a &= kind->mask;
	b &= kind->mask;
	return ranges_put(ranges, a < b ? a : b, a < b ? b : a) == 0 || parser_no_memory(p);
}

static bool parse_range_list(struct policy_parser *p, const struct range_kind *kind, struct opensm_ranges *ranges)
{
	do {
		if (!parse_range(p, kind, ranges))
			return false;
	} while (parser_take(p, LEX_COMMA));
	tidy(ranges);
	return true;
}

bool parse_ranges(struct policy_parser *p, struct opensm_ranges *ranges)
{
	static const struct range_kind plain = {.mask = UINT64_MAX};

	return parse_range_list(p, &plain, ranges);
}

static void check_pkeys(struct policy_parser *p, struct opensm_mark mark, uint64_t low, uint64_t high)
{
	uint64_t a = low & PKEY_BASE, b = high & PKEY_BASE;
	struct finding *f;

	/* the membership bit is nothing to tell of, nor are both ends with it */
	if (high <= UINT16_MAX && (low >> 15) == (high >> 15))
		return;
	if (low == high && high <= UINT16_MAX)
		return;
	f = parser_tell(p, FINDING_OPENSM_VALUE_DOUBTFUL, mark);
	finding_set(&f->what, "pkey");
	finding_set(&f->wanted, "partition keys 0x1-0x7fff");
	finding_set(&f->got, "0x%" PRIx64 "-0x%" PRIx64, low, high);
	finding_set(&f->detail, "OpenSM takes 15 bits of each end: 0x%" PRIx64 "-0x%" PRIx64, a < b ? a : b, a < b ? b : a);
}

bool parse_pkeys(struct policy_parser *p, struct opensm_ranges *ranges)
{
	static const struct range_kind pkeys = {.mask = PKEY_BASE, .check = check_pkeys};

	return parse_range_list(p, &pkeys, ranges);
}

static void check_guids(struct policy_parser *p, struct opensm_mark mark, uint64_t low, uint64_t high)
{
	struct finding *f;

	if (high - low < GUIDS_SLOW && high != UINT64_MAX)
		return;
	f = parser_tell(p, FINDING_OPENSM_RULES_UNSAFE, mark);
	finding_set(&f->what, "range of GUIDs");
	finding_set(&f->got, "0x%016" PRIx64 "-0x%016" PRIx64, low, high);
	finding_set(&f->detail, "%s",
		    high == UINT64_MAX ? "OpenSM counts through it and never comes to an end"
				       : "OpenSM counts through it one by one on each sweep, and answers nobody meanwhile");
}

bool parse_guids(struct policy_parser *p, struct opensm_ranges *ranges)
{
	static const struct range_kind guids = {.mask = UINT64_MAX, .check = check_guids};

	return parse_range_list(p, &guids, ranges);
}

/* --- texts --- */

/* isspace() of the C locale, in which OpenSM runs. */
static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static char *strip(char *text)
{
	size_t size = strlen(text), from = 0;

	while (size > 0 && is_space(text[size - 1]))
		size--;
	while (from < size && is_space(text[from]))
		from++;
	memmove(text, text + from, size - from);
	text[size - from] = '\0';
	return text;
}

static bool too_long(struct policy_parser *p, struct opensm_mark mark, size_t size)
{
	struct finding *f;

	if (size <= POLICY_TEXT_MAX)
		return false;
	f = parser_tell(p, FINDING_OPENSM_RULES_UNSAFE, mark);
	finding_set(&f->what, "text");
	finding_set(&f->wanted, "at most %u bytes", POLICY_TEXT_MAX);
	finding_set(&f->detail, "OpenSM writes past the end of its memory");
	parser_refuse(p, mark, "text", "longer than OpenSM has room for");
	return true;
}

static void check_spans(struct policy_parser *p, struct opensm_mark mark, const char *text)
{
	struct finding *f = parser_tell(p, FINDING_OPENSM_TEXT_SPANS, mark);

	finding_set(&f->what, "text");
	finding_set(&f->got, "%.*s", SHOWN, text);
}

/* All texts that follow each other are one, over the ends of lines too. */
bool parse_text(struct policy_parser *p, struct opensm_name *name)
{
	struct opensm_mark mark = p->next.mark;
	char *text = NULL;
	size_t size = 0, room = 0;
	bool spans = false;

	*name = (struct opensm_name){.index = OPENSM_NONE, .mark = mark};
	if (p->next.kind != LEX_TEXT)
		return parser_syntax(p, lex_kind_name(LEX_TEXT));
	while (p->next.kind == LEX_TEXT) {
		char *grown = array_grow(text, &room, size + p->next.size + 1, 1);

		if (!grown) {
			free(text);
			return parser_no_memory(p);
		}
		text = grown;
		memcpy(text + size, p->next.text, p->next.size);
		if (size > 0 && p->next.after_blank)
			name->blanks_dropped = true;
		size += p->next.size;
		text[size] = '\0';
		spans |= p->next.mark.line != mark.line;
		parser_step(p);
	}
	if (too_long(p, mark, size)) {
		free(text);
		return false;
	}
	name->text = strip(text);
	if (spans)
		check_spans(p, mark, text);
	return true;
}

bool parse_names(struct policy_parser *p, struct opensm_names *names)
{
	do {
		struct opensm_name *items = array_grow(names->items, &names->room, names->count + 1, sizeof(*items));

		if (!items)
			return parser_no_memory(p);
		names->items = items;
		if (!parse_text(p, &items[names->count]))
			return false;
		names->count++;
	} while (parser_take(p, LEX_COMMA));
	return true;
}

void names_free(struct opensm_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i].text);
	free(names->items);
}
