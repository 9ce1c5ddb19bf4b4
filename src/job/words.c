/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Words and commands of a shell script: quotes, escapes, expansions (kept as one byte that says "not known"),
 * comments, redirections, here-documents. Every loop ends at the end of the text, whatever is not closed.
 */
#include <stdlib.h>
#include <string.h>

#include "words.h"

static char look(const struct words *w, size_t ahead)
{
	return w->at + ahead < w->end ? w->scan->text[w->at + ahead] : '\0';
}

static void put(struct words *w, struct word *word, char c, size_t at)
{
	char *text = array_grow(word->text, &word->room, word->size + 2, 1);
	size_t *places = text ? array_grow(word->at, &word->at_room, word->size + 2, sizeof(*places)) : NULL;

	if (text)
		word->text = text;
	if (!places) {
		w->failed = true;
		return;
	}
	word->at = places;
	word->text[word->size] = c ? c : '?'; /* a NUL in a script is no end of a word */
	word->at[word->size++] = at;
	word->text[word->size] = '\0';
	word->at[word->size] = at;
}

/* Past an expansion that begins at '$' or '`': over nested brackets and quotes. */
static void expansion(struct words *w, struct word *word)
{
	size_t start = w->at;
	char open = look(w, 0) == '`' ? '`' : look(w, 1);

	put(w, word, SCAN_EXPANSION, start);
	w->at++;
	if (open == '`') {
		while (w->at < w->end && look(w, 0) != '`')
			w->at += look(w, 0) == '\\' ? 2 : 1;
		w->at++;
	} else if (open == '(' || open == '{') {
		char close = open == '(' ? ')' : '}';
		unsigned depth = 0;

		for (; w->at < w->end; w->at++) {
			char c = look(w, 0);

			if (c == '\\') {
				w->at++;
			} else if (c == '\'' && open == '(') {
				for (w->at++; w->at < w->end && look(w, 0) != '\'';)
					w->at++;
			} else if (c == open) {
				depth++;
			} else if (c == close && --depth == 0) {
				w->at++;
				break;
			}
		}
	} else {
		size_t name = w->at;

		while (w->at < w->end && (look(w, 0) == '_' || (look(w, 0) >= '0' && look(w, 0) <= '9') ||
					  ((look(w, 0) | 32) >= 'a' && (look(w, 0) | 32) <= 'z')))
			w->at++;
		if (w->at == name && w->at < w->end && strchr("?#@*!-$", look(w, 0)) && look(w, 0))
			w->at++;
	}
	if (w->at > w->end)
		w->at = w->end;
}

static void quoted(struct words *w, struct word *word, char quote)
{
	for (w->at++; w->at < w->end && look(w, 0) != quote;) {
		char c = look(w, 0), next = look(w, 1);

		if (quote == '"' && (c == '`' || (c == '$' && next && strchr("({_", next)) ||
				     (c == '$' && ((next | 32) >= 'a' && (next | 32) <= 'z')) ||
				     (c == '$' && next && strchr("?#@*!0123456789", next)))) {
			expansion(w, word);
			continue;
		}
		if (quote == '"' && c == '\\' && next == '\n') {
			w->at += 2;
			continue;
		}
		if (quote == '"' && c == '\\' && next && strchr("\"\\$`", next))
			w->at++;
		put(w, word, look(w, 0), w->at);
		w->at++;
	}
	if (w->at < w->end)
		w->at++;
}

static bool ends_word(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')' ||
	       c == '<' || c == '>';
}

static void read_word(struct words *w, struct word *word)
{
	while (w->at < w->end && !ends_word(look(w, 0))) {
		char c = look(w, 0);

		if (c == '\\' && look(w, 1) == '\n') {
			w->at += 2;
		} else if (c == '\\' && look(w, 1) == '\r' && look(w, 2) == '\n') {
			w->at += 3;
		} else if (c == '\\') {
			w->at++;
			if (w->at < w->end)
				put(w, word, look(w, 0), w->at);
			w->at++;
		} else if (c == '\'' || c == '"') {
			quoted(w, word, c);
		} else if (c == '$' && (look(w, 1) == '\'' || look(w, 1) == '"')) {
			w->at++;
		} else if (c == '$' || c == '`') {
			expansion(w, word);
		} else {
			put(w, word, c, w->at);
			w->at++;
		}
	}
	if (w->at > w->end)
		w->at = w->end;
}

static struct word *new_word(struct words *w, struct command *c)
{
	struct word *grown = array_grow(c->words, &c->room, c->count + 1, sizeof(*grown));
	struct word *word;

	if (!grown) {
		w->failed = true;
		return NULL;
	}
	c->words = grown;
	word = &c->words[c->count];
	if (!word->text) { /* an empty word ('') has text too */
		char *text = array_grow(NULL, &word->room, 1, 1);
		size_t *at = text ? array_grow(NULL, &word->at_room, 1, sizeof(*at)) : NULL;

		if (!at) {
			free(text);
			word->room = 0;
			w->failed = true;
			return NULL;
		}
		word->text = text;
		word->at = at;
	}
	word->size = 0;
	word->text[0] = '\0';
	word->at[0] = w->at;
	c->count++;
	c->used = c->count > c->used ? c->count : c->used;
	return word;
}

/* Past the here-documents that begin after the line just ended. What they say is not read, and that is told. */
static void skip_here_documents(struct words *w)
{
	for (unsigned i = 0; i < w->heres; i++) {
		bool told = false;

		while (w->at < w->end) {
			const char *line = w->scan->text + w->at, *end = memchr(line, '\n', w->end - w->at);
			size_t length = end ? (size_t)(end - line) : w->end - w->at, skip = 0;

			while (w->here_tabs[i] && skip < length && line[skip] == '\t')
				skip++;
			if (!told && (memmem(line, length, "NCCL_", 5) || memmem(line, length, "UCX_", 4))) {
				struct finding *f = scan_tell(w->scan, FINDING_JOB_SCRIPT_SKIPPED, w->at);

				finding_set(&f->what, "%.*s", (int)(length > 200 ? 200 : length), line);
				finding_set(&f->got, "text of a here-document");
				told = true;
			}
			w->at += length + (end ? 1 : 0);
			if (length - skip == strlen(w->here[i]) && memcmp(line + skip, w->here[i], length - skip) == 0)
				break;
		}
		free(w->here[i]);
	}
	w->heres = 0;
}

/* At '<' or '>': past the operator; a here-document's delimiter is kept, other targets are words of no meaning. */
static void redirection(struct words *w)
{
	struct command target = {0};
	struct word *word;
	bool here = look(w, 0) == '<' && look(w, 1) == '<' && look(w, 2) != '<', tabs = false;

	while (w->at < w->end && strchr("<>&|", look(w, 0)) && look(w, 0))
		w->at++;
	if (here && look(w, 0) == '-') {
		tabs = true;
		w->at++;
	}
	while (w->at < w->end && (look(w, 0) == ' ' || look(w, 0) == '\t'))
		w->at++;
	word = new_word(w, &target);
	if (word) {
		read_word(w, word);
		if (here && word->size > 0 && w->heres < WORDS_HERE_DOCUMENTS) {
			w->here[w->heres] = strdup(word->text);
			w->here_tabs[w->heres] = tabs;
			if (w->here[w->heres])
				w->heres++;
			else
				w->failed = true;
		}
	}
	command_free(&target);
}

/* A comment: the batch systems' ones are read as the words of a command, others passed over. */
static bool directive(struct words *w)
{
	static const char *const directives[] = {"#SBATCH", "#PBS", "#BSUB", "#$", "#PJM", "#COBALT"};
	bool line_start = w->at == 0 || w->scan->text[w->at - 1] == '\n';

	for (size_t i = 0; line_start && i < sizeof(directives) / sizeof(directives[0]); i++) {
		size_t length = strlen(directives[i]);

		if (w->end - w->at > length && memcmp(w->scan->text + w->at, directives[i], length) == 0 &&
		    (w->scan->text[w->at + length] == ' ' || w->scan->text[w->at + length] == '\t'))
			return true;
	}
	while (w->at < w->end && look(w, 0) != '\n')
		w->at++;
	return false;
}

bool words_command(struct words *w, struct command *c)
{
	c->count = 0;
	if (scan_stopped(w->scan))
		w->at = w->end;
	while (w->at < w->end && !w->failed) {
		char ch = look(w, 0);
		struct word *word;

		if (ch == ' ' || ch == '\t' || ch == '\r') {
			w->at++;
		} else if (ch == '\\' && (look(w, 1) == '\n' || (look(w, 1) == '\r' && look(w, 2) == '\n'))) {
			w->at += look(w, 1) == '\n' ? 2 : 3;
		} else if (ch == '\n' || ch == ';' || ch == '&' || ch == '|' || ch == '(' || ch == ')') {
			w->at++;
			if (ch == '\n')
				skip_here_documents(w);
			if (c->count > 0)
				return true;
		} else if (ch == '<' || ch == '>') {
			redirection(w);
		} else if (ch == '#' && !directive(w)) {
			continue;
		} else {
			word = new_word(w, c);
			if (word)
				read_word(w, word);
		}
	}
	for (unsigned i = 0; i < w->heres; i++)
		free(w->here[i]);
	w->heres = 0;
	return c->count > 0 && !w->failed;
}

void command_free(struct command *c)
{
	for (size_t i = 0; i < c->used; i++) {
		free(c->words[i].text);
		free(c->words[i].at);
	}
	free(c->words);
	*c = (struct command){0};
}
