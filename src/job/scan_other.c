/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Dockerfiles; and quoted names with quoted values, as Python and JSON have them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

/* Behind blanks. Not strspn(): where addresses are checked, it looks at all of the text each time. */
static size_t behind_blanks(const struct scan *s, size_t at)
{
	while (at < s->size && (s->text[at] == ' ' || s->text[at] == '\t'))
		at++;
	return at;
}

static size_t word_length(const struct scan *s, size_t at)
{
	size_t end = at;

	while (end < s->size && s->text[end] && !strchr(" \t\r\n", s->text[end]))
		end++;
	return end - at;
}

/* Whether the word there is this one, in letters of any case. */
static bool is_word(const struct scan *s, size_t at, size_t length, const char *word)
{
	if (length != strlen(word))
		return false;
	for (size_t i = 0; i < length; i++)
		if (toupper((unsigned char)s->text[at + i]) != word[i])
			return false;
	return true;
}

/* Where an instruction ends: at a newline that no backslash stands before (comment lines inside do not end it). */
static size_t instruction_end(const struct scan *s, size_t at)
{
	while (at < s->size) {
		const char *newline = memchr(s->text + at, '\n', s->size - at);
		size_t end = newline ? (size_t)(newline - s->text) : s->size, last = end;

		while (last > at && strchr(" \t\r", s->text[last - 1]) && s->text[last - 1])
			last--;
		if (last == at || s->text[last - 1] != '\\')
			return end;
		at = end + (newline ? 1 : 0);
		while (behind_blanks(s, at) < s->size && s->text[behind_blanks(s, at)] == '#') {
			newline = memchr(s->text + at, '\n', s->size - at);
			at = newline ? (size_t)(newline - s->text) + 1 : s->size;
		}
	}
	return s->size;
}

/* ENV A=1 B="2", or the old ENV A the rest */
static void docker_env(struct scan *s, size_t begin, size_t end)
{
	struct words w = {.scan = s, .at = begin, .end = end};
	struct command c = {0};

	/* more than one command: a comment line stands inside the instruction */
	for (bool first = true; words_command(&w, &c); first = false) {
		bool old = first && !strchr(c.words[0].text, '=') && c.count > 1;

		if (old) {
			const char *value = s->text + c.words[1].at[0];
			size_t size = end - c.words[1].at[0];

			while (size > 0 && strchr(" \t\r", value[size - 1]) && value[size - 1])
				size--;
			scan_add(s, c.words[0].at[0], c.words[0].text, c.words[0].size, memchr(value, '$', size) ? NULL : value,
				 size);
		}
		for (size_t i = 0; !old && i < c.count; i++) {
			const struct word *word = &c.words[i];
			const char *equals = strchr(word->text, '=');

			if (equals)
				scan_add(s, word->at[0], word->text, (size_t)(equals - word->text), equals + 1,
					 word->size - (size_t)(equals - word->text) - 1);
		}
	}
	s->failed |= w.failed;
	command_free(&c);
}

/* What RUN sets is gone with its shell. */
static void docker_run(struct scan *s, size_t begin, size_t end)
{
	struct job_env *kept = s->env, lost = {0};

	s->env = &lost;
	scan_shell(s, begin, end, 0);
	s->env = kept;
	for (size_t i = 0; i < lost.count; i++) {
		const struct job_setting *l = &lost.items[i];
		struct finding *f;

		if (l->removed)
			continue;
		f = finding_at(finding_add(s->findings, FINDING_JOB_NOT_EXPORTED), s->file, l->line, l->column);
		finding_set(&f->what, "%s=%s", l->name, l->value ? l->value : "(not known)");
		finding_set(&f->wanted, "ENV %s=%s", l->name, l->value ? l->value : "...");
		finding_set(&f->got, "gone when this RUN ends");
	}
	job_env_clear(&lost);
}

void scan_docker(struct scan *s)
{
	for (size_t at = 0; at < s->size && !scan_stopped(s);) {
		size_t start = behind_blanks(s, at), end, word;

		if (start < s->size && s->text[start] == '#') {
			const char *newline = memchr(s->text + start, '\n', s->size - start);

			at = newline ? (size_t)(newline - s->text) + 1 : s->size;
			continue;
		}
		end = instruction_end(s, at);
		word = word_length(s, start);
		if (start + word < end) {
			if (is_word(s, start, word, "ENV"))
				docker_env(s, start + word, end);
			else if (is_word(s, start, word, "RUN"))
				docker_run(s, start + word, end);
			else if (is_word(s, start, word, "CMD") || is_word(s, start, word, "ENTRYPOINT"))
				scan_shell(s, start + word, end, 0);
		}
		at = end + 1;
	}
}

static size_t blanks(const struct scan *s, size_t at)
{
	while (at < s->size && s->text[at] && strchr(" \t\r\n", s->text[at]))
		at++;
	return at;
}

/*
 * The end of a string in quotes that begins at `at`, on one line; 0 if it is none. Where one has no end, later quotes of its kind
 * on the line were passed over behind backslashes, and lead to the line's end likewise.
 */
static size_t string_end(struct scan *s, size_t at)
{
	char quote = at < s->size ? s->text[at] : '\0';

	if ((quote != '"' && quote != '\'') || at < s->unclosed[quote == '\''])
		return 0;
	for (at++; at < s->size && s->text[at] != '\n'; at++) {
		if (s->text[at] == '\\')
			at++;
		else if (s->text[at] == quote)
			return at;
	}
	s->unclosed[quote == '\''] = at;
	return 0;
}

#define LOOK_BACK 4096 /* bytes: a call or a line that began further away is not recognized */

/* Whether a string that ends at `at` is all of the value: "1" + x, "1" if x else "2" and "1" "2" are something else. */
static bool is_whole(const struct scan *s, size_t at)
{
	at++;
	while (at < s->size && s->text[at] && strchr(" \t\r", s->text[at]))
		at++;
	return at >= s->size || (s->text[at] && strchr("\n,)}];#", s->text[at]));
}

/* The value at `at` of a name at `name`; returns where it ends, 0 where it is no string. */
static size_t add_value(struct scan *s, size_t name, size_t name_size, size_t at, bool known)
{
	size_t end = string_end(s, at);

	known = known && end && is_whole(s, end) && !memchr(s->text + at + 1, '\\', end - at - 1);
	scan_add(s, name, s->text + name, name_size, known ? s->text + at + 1 : NULL, known ? end - at - 1 : 0);
	return end;
}

static bool name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Whether what is named at `at` is an argument of update() or dict(); *argument: of a call at all. */
static bool in_update(const struct scan *s, size_t at, bool *argument)
{
	size_t before = at, depth = 0, least = at > LOOK_BACK ? at - LOOK_BACK : 0;

	while (before > least && strchr(" \t\r\n", s->text[before - 1]) && s->text[before - 1])
		before--;
	*argument = before > 0 && (s->text[before - 1] == '(' || s->text[before - 1] == ',');
	while (before > least && (s->text[before - 1] != '(' || depth > 0)) {
		before--;
		depth += s->text[before] == ')';
		depth -= s->text[before] == '(' && depth > 0;
	}
	return *argument && ((before >= 7 && strncmp(s->text + before - 7, "update(", 7) == 0) ||
			     (before >= 5 && strncmp(s->text + before - 5, "dict(", 5) == 0));
}

/* NAME=VALUE as an argument: os.environ.update(A="1"), dict(os.environ, A="1"); of other calls the value is not known. */
static size_t scan_keyword(struct scan *s, size_t at)
{
	size_t end = at, next;
	bool argument, known;

	while (end < s->size && name_char(s->text[end]))
		end++;
	next = blanks(s, end);
	if (!job_env_cares(s->text + at, end - at) || next + 1 >= s->size || s->text[next] != '=' || s->text[next + 1] == '=')
		return end;
	known = in_update(s, at, &argument);
	if (!argument)
		return end;
	next = add_value(s, at, end - at, blanks(s, next + 1), known);
	return next ? next + 1 : end;
}

/* del os.environ["NAME"] */
static bool is_deleted(const struct scan *s, size_t at)
{
	size_t least = at > LOOK_BACK ? at - LOOK_BACK : 0;

	while (at > least && s->text[at - 1] != '\n' && s->text[at - 1] != ';')
		at--;
	at = behind_blanks(s, at);
	return s->size - at >= 4 && memcmp(s->text + at, "del ", 4) == 0;
}

static void delete_name(struct scan *s, size_t at, size_t size)
{
	char *name = strndup(s->text + at, size);

	if (name)
		scan_remove(s, at, name);
	s->failed |= !name;
	free(name);
}

/*
 * "NAME" then, past brackets, one of '=', ':' and ',' and a string: environ["A"] = "1", {"A": "1"}, setdefault("A", "1").
 * Anything else behind it but a comparison is a value that is not known, or no setting.
 */
void scan_quoted(struct scan *s)
{
	for (size_t at = 0; at < s->size && !scan_stopped(s);) {
		size_t name_end, next, value_end;

		if (s->text[at] == '#') { /* a comment of Python; in a string it is met inside quotes only */
			const char *newline = memchr(s->text + at, '\n', s->size - at);

			at = newline ? (size_t)(newline - s->text) + 1 : s->size;
			continue;
		}
		if (name_char(s->text[at])) {
			at = scan_keyword(s, at);
			continue;
		}
		name_end = string_end(s, at);
		if (name_end == 0) {
			at++;
			continue;
		}
		next = blanks(s, name_end + 1);
		at++;
		if (!job_env_cares(s->text + at, name_end - at) || memchr(s->text + at, '=', name_end - at)) {
			at = name_end + 1;
			continue;
		}
		if (next < s->size && s->text[next] == ']') {
			if (is_deleted(s, at))
				delete_name(s, at, name_end - at);
			next = blanks(s, next + 1);
		}
		if (next + 1 >= s->size || !s->text[next] || !strchr("=:,", s->text[next]) || s->text[next + 1] == '=') {
			at = name_end + 1;
			continue;
		}
		value_end = add_value(s, at, name_end - at, blanks(s, next + 1), true);
		at = (value_end ? value_end : name_end) + 1;
	}
}
