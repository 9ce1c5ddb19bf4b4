/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Dockerfiles; and quoted names with quoted values, as Python and JSON have them. */
#include <stdlib.h>
#include <string.h>

#include "words.h"

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
		while (at < s->size && s->text[at + strspn(s->text + at, " \t")] == '#') {
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
	for (size_t at = 0; at < s->size;) {
		size_t start = at + strspn(s->text + at, " \t"), end, word;

		if (start < s->size && s->text[start] == '#') {
			const char *newline = memchr(s->text + start, '\n', s->size - start);

			at = newline ? (size_t)(newline - s->text) + 1 : s->size;
			continue;
		}
		end = instruction_end(s, at);
		word = strcspn(s->text + start, " \t\r\n");
		if (start + word < end) {
			if (word == 3 && strncasecmp(s->text + start, "ENV", 3) == 0)
				docker_env(s, start + word, end);
			else if (word == 3 && strncasecmp(s->text + start, "RUN", 3) == 0)
				docker_run(s, start + word, end);
			else if ((word == 3 && strncasecmp(s->text + start, "CMD", 3) == 0) ||
				 (word == 10 && strncasecmp(s->text + start, "ENTRYPOINT", 10) == 0))
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

/* The end of a string in quotes that begins at `at`, on one line; 0 if it is none. */
static size_t string_end(const struct scan *s, size_t at)
{
	char quote = at < s->size ? s->text[at] : '\0';

	if (quote != '"' && quote != '\'')
		return 0;
	for (at++; at < s->size && s->text[at] != '\n'; at++) {
		if (s->text[at] == '\\')
			at++;
		else if (s->text[at] == quote)
			return at;
	}
	return 0;
}

/*
 * "NAME" then, past brackets, one of '=', ':' and ',' and a string: environ["A"] = "1", {"A": "1"}, setdefault("A", "1").
 * Anything else behind it but a comparison is a value that is not known, or no setting.
 */
void scan_quoted(struct scan *s)
{
	for (size_t at = 0; at < s->size; at++) {
		size_t name_end, next, value_end;

		if (s->text[at] == '#') { /* a comment of Python; in a string it is met inside quotes only */
			const char *newline = memchr(s->text + at, '\n', s->size - at);

			at = newline ? (size_t)(newline - s->text) : s->size;
			continue;
		}
		name_end = string_end(s, at);
		if (name_end == 0)
			continue;
		if (!job_env_cares(s->text + at + 1, name_end - at - 1) ||
		    memchr(s->text + at + 1, '=', name_end - at - 1)) {
			at = name_end;
			continue;
		}
		next = blanks(s, name_end + 1);
		if (next < s->size && s->text[next] == ']')
			next = blanks(s, next + 1);
		if (next + 1 >= s->size || !s->text[next] || !strchr("=:,", s->text[next]) || s->text[next + 1] == '=') {
			at = name_end;
			continue;
		}
		next = blanks(s, next + 1);
		value_end = string_end(s, next);
		if (value_end)
			scan_add(s, at + 1, s->text + at + 1, name_end - at - 1, s->text + next + 1, value_end - next - 1);
		else
			scan_add(s, at + 1, s->text + at + 1, name_end - at - 1, NULL, 0);
		at = value_end ? value_end : name_end;
	}
}
