/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Launch scripts: which kind a file is, and what its scanners share. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "scan.h"

void scan_place(const struct scan *s, size_t offset, unsigned *line, unsigned *column)
{
	size_t low = 0, high = s->lines;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (s->line_start[middle] <= offset)
			low = middle;
		else
			high = middle;
	}
	*line = (unsigned)low + 1;
	*column = (unsigned)(offset - s->line_start[low]) + 1;
}

bool scan_stopped(const struct scan *s)
{
	return s->ctx && ctx_stopped(s->ctx);
}

struct finding *scan_tell(struct scan *s, enum finding_code code, size_t offset)
{
	unsigned line, column;

	scan_place(s, offset, &line, &column);
	return finding_at(finding_add(s->findings, code), s->file, line, column);
}

static struct job_setting *add(struct scan *s, size_t offset, const char *name, size_t name_size, const char *value,
			       size_t value_size)
{
	struct job_setting *item;

	if (value && memchr(value, SCAN_EXPANSION, value_size))
		value = NULL;
	item = job_env_add(s->env, JOB_FROM_SCRIPT, s->file, name, name_size, value, value_size);
	if (item)
		scan_place(s, offset, &item->line, &item->column);
	else
		s->failed = true;
	return item;
}

void scan_add(struct scan *s, size_t offset, const char *name, size_t name_size, const char *value, size_t value_size)
{
	if (!job_env_cares(name, name_size))
		return;
	if (add(s, offset, name, name_size, value, value_size) && job_env_export(s->env, name, name_size) != 0)
		s->failed = true;
}

void scan_remove(struct scan *s, size_t offset, const char *name)
{
	struct job_setting *item = job_env_cares(name, strlen(name)) ? add(s, offset, name, strlen(name), "", 0) : NULL;

	if (!item)
		return;
	item->removed = true;
	job_env_unexport(s->env, name, strlen(name)); /* what is assigned later is the shell's own again */
	item = scan_variable_find(s, name, strlen(name));
	if (item)
		item->removed = true;
}

/* --- a shell's own variables --- */

struct scan_variable {
	UT_hash_handle hh;
	size_t at;
	char name[];
};

struct job_setting *scan_variable_find(const struct scan *s, const char *name, size_t size)
{
	struct scan_variable *found;

	HASH_FIND(hh, s->by_name, name, size, found);
	return found ? &s->variables.items[found->at] : NULL;
}

struct job_setting *scan_variable(struct scan *s, const char *name, size_t size)
{
	struct job_setting *v = scan_variable_find(s, name, size);
	struct scan_variable *made;

	if (v)
		return v;
	v = job_env_add(&s->variables, JOB_FROM_SCRIPT, s->file, name, size, NULL, 0);
	made = v ? malloc(sizeof(*made) + size + 1) : NULL;
	if (!made)
		return NULL;
	made->at = s->variables.count - 1;
	memcpy(made->name, name, size);
	made->name[size] = '\0';
	HASH_ADD(hh, s->by_name, name[0], (unsigned)size, made);
	return v;
}

static void variables_free(struct scan *s)
{
	struct scan_variable *item, *next;

	HASH_ITER(hh, s->by_name, item, next) {
		HASH_DEL(s->by_name, item);
		free(item);
	}
	job_env_clear(&s->variables);
}

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), tail = strlen(end);

	return length >= tail && strcasecmp(name + length - tail, end) == 0;
}

/* A Dockerfile by another name begins with FROM, perhaps after comments and ARG. */
static bool begins_with_from(const char *text, size_t size)
{
	while (size > 0) {
		const char *end = memchr(text, '\n', size);
		size_t length = end ? (size_t)(end - text) + 1 : size, at = strspn(text, " \t");

		if (at + 5 < length && strncasecmp(text + at, "FROM ", 5) == 0)
			return true;
		if (at < length && text[at] != '#' && text[at] != '\n' && text[at] != '\r' &&
		    !(at + 4 < length && strncasecmp(text + at, "ARG ", 4) == 0))
			return false;
		text += length;
		size -= length;
	}
	return false;
}

static void by_kind(struct scan *s)
{
	const char *name = strrchr(s->file, '/');

	name = name ? name + 1 : s->file;
	if (ends_with(name, ".yaml") || ends_with(name, ".yml"))
		scan_yaml(s);
	else if (ends_with(name, ".py") || ends_with(name, ".json"))
		scan_quoted(s);
	else if (strncasecmp(name, "Dockerfile", 10) == 0 || strncasecmp(name, "Containerfile", 13) == 0 ||
		 ends_with(name, ".dockerfile") || begins_with_from(s->text, s->size))
		scan_docker(s);
	else
		scan_shell(s, 0, s->size, 0);
}

static bool find_lines(struct scan *s)
{
	size_t room = 0;

	for (size_t at = 0; at <= s->size;) {
		const char *end = at < s->size ? memchr(s->text + at, '\n', s->size - at) : NULL;
		size_t *grown = array_grow(s->line_start, &room, s->lines + 1, sizeof(*grown));

		if (!grown)
			return false;
		s->line_start = grown;
		s->line_start[s->lines++] = at;
		if (!end)
			break;
		at = (size_t)(end - s->text) + 1;
	}
	return true;
}

int job_scan(const struct ibqos_ctx *ctx, struct job_env *env, const char *file, const char *text, size_t size,
	     struct finding_list *findings)
{
	struct scan s = {.ctx = ctx, .file = file, .text = text, .size = size, .env = env, .findings = findings};

	if (!find_lines(&s)) {
		free(s.line_start);
		return -ENOMEM;
	}
	by_kind(&s);
	for (size_t i = 0; i < s.variables.count; i++) {
		const struct job_setting *v = &s.variables.items[i];
		struct finding *f;

		if (v->removed)
			continue;
		f = finding_at(finding_add(findings, FINDING_JOB_NOT_EXPORTED), file, v->line, v->column);
		finding_set(&f->what, "%s=%s", v->name, v->value ? v->value : "(not known)");
		finding_set(&f->wanted, "export %s", v->name);
		finding_set(&f->got, "a variable of the shell alone");
	}
	variables_free(&s);
	free(s.line_start);
	return s.failed ? -ENOMEM : scan_stopped(&s) ? -EINTR : 0;
}
