/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * nccl.conf: what is read otherwise than it looks. Keys and lines only; what a value becomes is check_values.c's,
 * since a value may come from elsewhere too.
 */
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "param.h"

struct lint {
	const char *file;
	unsigned nccl;
	struct finding_list *findings;
	struct job_env seen; /* keys so far, in order of their lines */
};

static struct finding *tell(struct lint *l, enum finding_code code, const struct conf_line *line, size_t column)
{
	return finding_at(finding_add(l->findings, code), l->file, line->line, line->column + (unsigned)column);
}

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The key that was meant: without a byte order mark, `export`, quotes and blanks. */
static void meant(const char *key, size_t size, const char **start, size_t *length)
{
	if (size >= 3 && memcmp(key, "\xef\xbb\xbf", 3) == 0) {
		key += 3;
		size -= 3;
	}
	while (size > 0 && blank(key[0])) {
		key++;
		size--;
	}
	if (size > 7 && (memcmp(key, "export ", 7) == 0 || memcmp(key, "setenv ", 7) == 0)) {
		key += 7;
		size -= 7;
	}
	while (size > 0 && (blank(key[0]) || key[0] == '"' || key[0] == '\'')) {
		key++;
		size--;
	}
	while (size > 0 && (blank(key[size - 1]) || key[size - 1] == '"' || key[size - 1] == '\''))
		size--;
	*start = key;
	*length = size;
}

static void lint_key(struct lint *l, const struct conf_line *line)
{
	const char *key;
	size_t size;

	meant(line->text, line->key_size, &key, &size);
	if (size != line->key_size && job_env_cares(key, size)) {
		struct finding *f = tell(l, FINDING_JOB_CONF_KEY, line, 0);

		finding_set(&f->what, "%.*s", (int)size, key);
		finding_set(&f->wanted, "%.*s=%.*s", (int)size, key, (int)line->value_size, line->value);
		if (line->key_size >= 3 && memcmp(line->text, "\xef\xbb\xbf", 3) == 0) /* which nobody would see */
			finding_set(&f->got, "a byte order mark and '%.*s' are the key", (int)line->key_size - 3, line->text + 3);
		else
			finding_set(&f->got, "the key is '%.*s'", (int)line->key_size, line->text);
		return;
	}
	if (!job_env_cares(line->text, line->key_size))
		return;
	if (strncmp(line->text, "NCCL_", 5) != 0) {
		struct finding *f = tell(l, FINDING_JOB_CONF_LATE, line, 0);

		finding_set(&f->what, "%.*s", (int)line->key_size, line->text);
	} else if (line->key_size == 14 && memcmp(line->text, "NCCL_CONF_FILE", 14) == 0) {
		struct finding *f = tell(l, FINDING_JOB_CONF_LATE, line, 0);

		finding_set(&f->what, "NCCL_CONF_FILE");
		finding_set(&f->detail, "by then NCCL has chosen its files");
	}
}

/* A line without '=' that does not look like a comment or an empty one. */
static void lint_no_equals(struct lint *l, const struct conf_line *line)
{
	const char *key;
	struct finding *f;
	size_t size, at = 0;

	while (at < line->size && (blank(line->text[at]) || line->text[at] == '\r'))
		at++;
	if (at == line->size || line->text[at] == '#')
		return;
	meant(line->text, line->size, &key, &size);
	f = tell(l, FINDING_JOB_CONF_LINE, line, at);
	finding_set(&f->what, "%.*s", (int)size, key);
	if (job_env_cares(key, size))
		finding_set(&f->detail, "it has no '='");
}

static void lint_length(struct lint *l, const struct conf_line *line)
{
	struct finding *f;

	if (!line->cut && !line->long_key && !line->long_value)
		return;
	f = tell(l, FINDING_JOB_CONF_LONG, line, 0);
	if (line->cut)
		finding_set(&f->got, "cut after %u bytes; the rest is read as a line of its own", CONF_PIECE);
	else if (line->overrun)
		finding_set(&f->got, "a key above %u bytes, which NCCL before 2.23 writes outside its buffer", CONF_TEXT);
	else
		finding_set(&f->got, "%s cut after %u bytes", line->long_key ? "key" : "value", CONF_TEXT);
}

static void lint_double(struct lint *l)
{
	if (job_env_settle(&l->seen) != 0)
		l->findings->lost = true;
	for (size_t i = 0; i < l->seen.count; i++) {
		const struct job_setting *again = &l->seen.items[i], *first;
		struct finding *f;

		if (!again->hidden)
			continue;
		first = job_env_get(&l->seen, again->name);
		f = finding_at(finding_add(l->findings, FINDING_JOB_CONF_DOUBLE), l->file, again->line, again->column);
		finding_set(&f->what, "%s=%s", again->name, again->value);
		finding_set(&f->got, "line %u counts: %s", first->line, first->value);
		if (strcmp(first->value, again->value) == 0)
			f->severity = FINDING_NOTE;
	}
}

void job_conf_lint(const char *file, const char *text, size_t size, unsigned nccl, struct finding_list *findings)
{
	struct lint l = {.file = file, .nccl = nccl, .findings = findings};
	struct conf_reader reader = conf_reader(text, size, nccl);
	struct conf_line line;

	while (conf_next(&reader, &line)) {
		struct job_setting *s;

		lint_length(&l, &line);
		if (line.comment)
			continue;
		if (!line.equals) {
			lint_no_equals(&l, &line);
			continue;
		}
		lint_key(&l, &line);
		if (!line.sets || !job_env_cares(line.text, line.key_size))
			continue;
		s = job_env_add(&l.seen, JOB_FROM_USER_CONF, file, line.text, line.key_size, line.value, line.value_size);
		if (!s) {
			findings->lost = true;
			break;
		}
		s->line = line.line;
		s->column = line.column;
	}
	lint_double(&l);
	job_env_clear(&l.seen);
}
