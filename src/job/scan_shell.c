/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shell scripts and batch scripts, to the depth that settings need: words with their quotes, commands, comments,
 * here-documents; not what a condition or loop does. What is set in several places is told by the check.
 */
#include <stdlib.h>
#include <string.h>

#include "words.h"

#define DEEPEST 4 /* scripts in the words of scripts: bash -c "srun bash -c '…'" */

static bool is(const struct word *w, const char *text)
{
	return strcmp(w->text, text) == 0;
}

static bool one_of(const struct word *w, const char *const *list)
{
	for (; *list; list++) {
		if (is(w, *list))
			return true;
	}
	return false;
}

/* Length of the name that a word starts with if it is an assignment: NAME= or NAME+=; 0 if it is none. */
static size_t assigned_name(const char *text)
{
	size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	if (length == 0 || (text[0] >= '0' && text[0] <= '9'))
		return 0;
	return text[length] == '=' || (text[length] == '+' && text[length + 1] == '=') ? length : 0;
}

/* NAME=VALUE at byte `from` of a word; the value reaches to `size`. */
static void set_from_word(struct scan *s, const struct word *w, size_t from, size_t size)
{
	size_t name = assigned_name(w->text + from);
	bool adds = name > 0 && w->text[from + name] == '+';

	if (name == 0)
		return;
	if (adds) /* the old value and more */
		scan_add(s, w->at[from], w->text + from, name, NULL, 0);
	else
		scan_add(s, w->at[from], w->text + from, name, w->text + from + name + 1, size - from - name - 1);
}

/* A,B=1,C=2 as of sbatch --export and qsub -v. */
static void set_from_list(struct scan *s, const struct word *w, size_t from)
{
	for (size_t at = from; at < w->size;) {
		size_t length = strcspn(w->text + at, ",");

		set_from_word(s, w, at, at + length);
		at += length + 1;
	}
}

static void to_shell(struct scan *s, const struct word *w)
{
	size_t name = assigned_name(w->text);
	bool adds = w->text[name] == '+', known = !adds && !memchr(w->text, SCAN_EXPANSION, w->size);
	struct job_setting *v;

	if (s->all_exported) {
		set_from_word(s, w, 0, w->size);
		return;
	}
	if (!job_env_cares(w->text, name))
		return;
	if (job_env_is_exported(s->env, w->text, name)) { /* once exported, always */
		set_from_word(s, w, 0, w->size);
		return;
	}
	v = scan_variable(s, w->text, name);
	if (!v) {
		s->failed = true;
		return;
	}
	free(v->value);
	v->value = known ? strndup(w->text + name + 1, w->size - name - 1) : NULL;
	v->removed = false;
	s->failed |= known && !v->value;
	scan_place(s, w->at[0], &v->line, &v->column);
}

/* `export NAME` of a variable that the shell has. */
static void export_name(struct scan *s, const struct word *w)
{
	struct job_setting *v = scan_variable_find(s, w->text, w->size), *e;

	if (!v || v->removed)
		return;
	v->removed = true;
	e = job_env_add(s->env, JOB_FROM_SCRIPT, s->file, v->name, strlen(v->name), v->value,
			v->value ? strlen(v->value) : 0);
	if (e) {
		e->line = v->line;
		e->column = v->column;
	}
	if (!e || job_env_export(s->env, v->name, strlen(v->name)) != 0)
		s->failed = true;
}

static void export_words(struct scan *s, const struct command *c, size_t from)
{
	for (size_t i = from; i < c->count; i++) {
		if (assigned_name(c->words[i].text))
			set_from_word(s, &c->words[i], 0, c->words[i].size);
		else
			export_name(s, &c->words[i]);
	}
}

/* A word that is a script itself, as of bash -c. */
static bool holds_script(const struct word *w)
{
	return w->size > 0 && strpbrk(w->text, " \t\n;") && strpbrk(w->text, "=") &&
	       (strstr(w->text, "NCCL_") || strstr(w->text, "UCX_") || strstr(w->text, "NVSHMEM_") || strstr(w->text, "MC_"));
}

/* Words of a launcher: srun, mpirun, docker, env, ssh … */
static void launcher(struct scan *s, const struct command *c, size_t from, unsigned depth)
{
	static const char *const lists[] = {"--export=", "-v", NULL};
	static const char *const prefixes[] = {"--env=", "-x", "-e", "--setenv=", NULL};
	static const char *const takes_value[] = {"-e", "-x", "--env", "--setenv", "env", NULL};
	static const char *const pairs[] = {"-genv", "-env", "--genv", NULL};

	for (size_t i = from; i < c->count; i++) {
		const struct word *w = &c->words[i], *next = i + 1 < c->count ? &c->words[i + 1] : NULL;
		size_t skip = 0;

		if (one_of(w, pairs) && next && i + 2 < c->count) {
			scan_add(s, next->at[0], next->text, next->size, c->words[i + 2].text, c->words[i + 2].size);
			i += 2;
			continue;
		}
		if ((is(w, "--mca") || is(w, "-mca")) && next && i + 2 < c->count && is(next, "btl_openib_ib_service_level")) {
			static const char name[] = "OMPI_MCA_btl_openib_ib_service_level";

			scan_add(s, next->at[0], name, sizeof(name) - 1, c->words[i + 2].text, c->words[i + 2].size);
			i += 2;
			continue;
		}
		if (is(w, "-x") && next && !assigned_name(next->text)) {
			export_name(s, next);
			continue;
		}
		if ((is(w, "--export") || is(w, "-v")) && next) {
			set_from_list(s, next, 0);
			i++;
			continue;
		}
		for (size_t p = 0; lists[p] && skip == 0; p++) {
			skip = strncmp(w->text, lists[p], strlen(lists[p])) == 0 ? strlen(lists[p]) : 0;
			if (skip)
				set_from_list(s, w, skip);
		}
		for (size_t p = 0; prefixes[p] && skip == 0; p++) {
			skip = strncmp(w->text, prefixes[p], strlen(prefixes[p])) == 0 ? strlen(prefixes[p]) : 0;
			if (skip)
				set_from_word(s, w, skip, w->size);
		}
		/* "NAME=1 program" behind ssh or bash -c is a script, behind -e it is one value */
		if (skip == 0 && depth < DEEPEST && holds_script(w) && !(i > from && one_of(w - 1, takes_value)))
			scan_shell(s, w->at[0], w->at[w->size - 1] + 1, depth + 1);
		else if (skip == 0 && job_env_cares(w->text, assigned_name(w->text)))
			set_from_word(s, w, 0, w->size);
	}
}

static void run(struct scan *s, const struct command *c, unsigned depth)
{
	static const char *const before[] = {"if",   "then", "else", "elif", "do", "while", "until", "!",
					     "time", "{",    "}",    "exec", "done", "fi",  "nohup", "command", NULL};
	static const char *const silent[] = {"echo", "printf", "[", "[[", "test", "grep", "sed", "awk", "case", NULL};
	static const char *const declaring[] = {"declare", "typeset", "local", "readonly", NULL};
	size_t first = 0, i;

	while (first < c->count && one_of(&c->words[first], before))
		first++;
	for (i = first; i < c->count && assigned_name(c->words[i].text); i++)
		continue;
	for (size_t a = first; a < i; a++) {
		if (i == c->count)
			to_shell(s, &c->words[a]);
		else
			set_from_word(s, &c->words[a], 0, c->words[a].size);
	}
	if (i == c->count || one_of(&c->words[i], silent))
		return;
	if (is(&c->words[i], "export") ||
	    (one_of(&c->words[i], declaring) && i + 1 < c->count && c->words[i + 1].text[0] == '-' &&
	     strchr(c->words[i + 1].text, 'x'))) {
		export_words(s, c, i + 1);
	} else if (one_of(&c->words[i], declaring)) {
		for (size_t w = i + 1; w < c->count; w++) {
			if (assigned_name(c->words[w].text))
				to_shell(s, &c->words[w]);
		}
	} else if (is(&c->words[i], "unset") || is(&c->words[i], "unsetenv")) {
		for (size_t w = i + 1; w < c->count; w++)
			scan_remove(s, c->words[w].size ? c->words[w].at[0] : c->words[i].at[0], c->words[w].text);
	} else if (is(&c->words[i], "setenv") && i + 2 < c->count) {
		scan_add(s, c->words[i + 1].size ? c->words[i + 1].at[0] : c->words[i].at[0], c->words[i + 1].text,
			 c->words[i + 1].size, c->words[i + 2].text, c->words[i + 2].size);
	} else if (is(&c->words[i], "set") && i + 1 < c->count &&
		   (is(&c->words[i + 1], "-a") || (i + 2 < c->count && is(&c->words[i + 2], "allexport")))) {
		s->all_exported = c->words[i + 1].text[0] == '-';
	} else if ((is(&c->words[i], "source") || is(&c->words[i], ".")) && i + 1 < c->count) {
		struct finding *f = scan_tell(s, FINDING_JOB_SCRIPT_SKIPPED, c->words[i].at[0]);

		finding_set(&f->what, "%s", c->words[i + 1].text);
		finding_set(&f->got, "another script, which was not given");
	} else {
		launcher(s, c, i, depth);
	}
}

void scan_shell(struct scan *s, size_t begin, size_t end, unsigned depth)
{
	struct words w = {.scan = s, .at = begin, .end = end};
	struct command c = {0};

	while (words_command(&w, &c))
		run(s, &c, depth);
	s->failed |= w.failed;
	command_free(&c);
}
