/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenSM's lexer for qos-policy files, followed rule by rule (osm_qos_parser_l.l): at each place the
 * longest match counts. Words need no end, so "my-port-group" is the text "my-" and a keyword. A newline
 * outside a quoted text ends what the line has started; a comment is one only if a newline ends it.
 */
#include <string.h>

#include "policy_lex.h"

enum starts { NOTHING, STRINGS, DESCRIPTION, NODE_TYPES };
enum letters { EXACT, FIRST_ANY_CASE };

struct word {
	enum lex_kind kind;
	const char *pattern;
	enum starts starts;
	enum letters letters;
};

static const struct word words[] = {
#define LEX_WORD(symbol, pattern, starts) {LEX_##symbol, pattern, starts, EXACT},
	LEX_WORDS
#undef LEX_WORD
#define LEX_WORD(symbol, pattern, starts) {LEX_##symbol, pattern, starts, FIRST_ANY_CASE},
	LEX_ULPS LEX_NODES
#undef LEX_WORD
};
#define WORDS (sizeof(words) / sizeof(words[0]))

static size_t blanks(const char *text, const char *end)
{
	size_t count = 0;

	while (text + count < end && (text[count] == ' ' || text[count] == '\t'))
		count++;
	return count;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* How much of the text matches a word's pattern; 0: it does not. */
static size_t match_word(const struct word *word, const char *text, const char *end)
{
	bool any_case = word->letters == FIRST_ANY_CASE;
	const char *at = text;

	for (const char *p = word->pattern; *p; p++) {
		bool mark = *p == ':' || *p == ',';

		if (mark) {
			at += blanks(at, end);
			any_case = false;
		}
		if (at == end || (any_case ? lower(*at) : *at) != *p)
			return 0;
		at++;
		if (mark)
			at += blanks(at, end);
	}
	return (size_t)(at - text);
}

static bool digit(char c, bool hex)
{
	c = lower(c);
	return (c >= '0' && c <= '9') || (hex && c >= 'a' && c <= 'f');
}

static size_t match_number(const char *text, const char *end)
{
	size_t size = 0;

	if (end - text > 2 && text[0] == '0' && lower(text[1]) == 'x' && digit(text[2], true)) {
		for (size = 2; text + size < end && digit(text[size], true);)
			size++;
		return size;
	}
	while (text + size < end && digit(text[size], false))
		size++;
	return size;
}

static size_t match_quoted(const char *text, const char *end)
{
	const char *close = *text == '"' ? memchr(text + 1, '"', (size_t)(end - text - 1)) : NULL;

	return close ? (size_t)(close - text) + 1 : 0;
}

static void advance(struct lexer *lexer, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (lexer->at[i] == '\n')
			lexer->mark = (struct opensm_mark){lexer->mark.line + 1, 1};
		else
			lexer->mark.column++;
	}
	lexer->at += size;
}

static void line_ends(struct lexer *lexer, size_t size)
{
	advance(lexer, size);
	lexer->description = lexer->strings = lexer->node_types = false;
}

/* Comments, newlines and, outside a description, blanks. True if there were blanks just before the end. */
static bool skip(struct lexer *lexer)
{
	bool after_blank = false;

	while (lexer->at < lexer->end) {
		size_t left = (size_t)(lexer->end - lexer->at), size = blanks(lexer->at, lexer->end);
		const char *newline;

		if (*lexer->at == '\n' || (size < left && size > 0 && lexer->at[size] == '\n')) {
			line_ends(lexer, size + 1);
			after_blank = false;
		} else if (*lexer->at == '#' && (newline = memchr(lexer->at, '\n', left))) {
			line_ends(lexer, (size_t)(newline - lexer->at) + 1);
			after_blank = false;
		} else if (size > 0 && !lexer->description) {
			advance(lexer, size);
			after_blank = true;
		} else {
			break;
		}
	}
	return after_blank;
}

static void start(struct lexer *lexer, enum starts starts)
{
	lexer->strings |= starts == STRINGS;
	lexer->description |= starts == DESCRIPTION;
	lexer->node_types |= starts == NODE_TYPES;
}

static bool is_node(enum lex_kind kind)
{
	return kind >= LEX_NODE_ROUTER && kind <= LEX_NODE_ALL;
}

static enum lex_kind word_kind(struct lexer *lexer, const struct word *word)
{
	if (is_node(word->kind))
		return lexer->node_types ? word->kind : LEX_TEXT;
	if (lexer->description)
		return LEX_TEXT;
	start(lexer, word->starts);
	return word->kind;
}

static enum lex_kind mark_kind(const struct lexer *lexer, char c)
{
	static const char marks[] = "-:,*";
	static const enum lex_kind kinds[] = {LEX_DASH, LEX_COLON, LEX_COMMA, LEX_ASTERISK};
	const char *mark = c ? strchr(marks, c) : NULL;

	if (!mark || lexer->description || (lexer->strings && c != ','))
		return LEX_TEXT;
	return kinds[mark - marks];
}

void lex_start(struct lexer *lexer, const char *text, size_t size)
{
	*lexer = (struct lexer){.at = text, .end = text + size, .mark = {1, 1}};
}

struct lex_token lex_next(struct lexer *lexer)
{
	struct lex_token token = {.kind = LEX_END};
	const struct word *word = NULL;
	size_t number, quoted;

	token.after_blank = skip(lexer);
	token.mark = lexer->mark;
	token.text = lexer->at;
	if (lexer->at == lexer->end)
		return token;
	token.size = 1;
	for (size_t i = 0; i < WORDS; i++) {
		size_t size = match_word(&words[i], lexer->at, lexer->end);

		if (size > token.size || (size == token.size && size > 0 && !word)) {
			token.size = size;
			word = &words[i];
		}
	}
	number = match_number(lexer->at, lexer->end);
	quoted = match_quoted(lexer->at, lexer->end);
	if (word) {
		token.kind = word_kind(lexer, word);
	} else if (number) {
		token.size = number;
		token.kind = lexer->description || lexer->strings ? LEX_TEXT : LEX_NUMBER;
	} else if (quoted) {
		token.kind = LEX_TEXT;
		token.text++;
		token.size = quoted - 2;
		advance(lexer, quoted);
		return token;
	} else if (blanks(lexer->at, lexer->end)) { /* of a description */
		token.size = blanks(lexer->at, lexer->end);
		token.kind = LEX_TEXT;
	} else {
		token.kind = mark_kind(lexer, *lexer->at);
	}
	advance(lexer, token.size);
	return token;
}

const char *lex_kind_name(enum lex_kind kind)
{
	switch (kind) {
	case LEX_END:
		return "the end of the file";
	case LEX_TEXT:
		return "a text";
	case LEX_NUMBER:
		return "a number";
	case LEX_DASH:
		return "-";
	case LEX_COLON:
		return ":";
	case LEX_COMMA:
		return ",";
	case LEX_ASTERISK:
		return "*";
	default:
		break;
	}
	for (size_t i = 0; i < WORDS; i++)
		if (words[i].kind == kind)
			return words[i].pattern;
	return "?";
}
