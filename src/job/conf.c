/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * nccl.conf as NCCL reads it (src/misc/param.cc, setEnvFile, of each release): what is a line, what a key, what a
 * value. Read from memory; fuzz_nccl_conf.c holds it against the C library's own getline(), fgets() and setenv().
 */
#include <errno.h>
#include <string.h>

#include "conf.h"

bool conf_next(struct conf_reader *r, struct conf_line *l)
{
	size_t limit = r->nccl >= CONF_PIECES_FROM && r->left > CONF_PIECE ? CONF_PIECE : r->left;
	const char *newline = memchr(r->at, '\n', limit);
	size_t raw = newline ? (size_t)(newline - r->at) + 1 : limit;

	if (r->left == 0)
		return false;
	*l = (struct conf_line){.text = r->at, .line = r->line, .column = r->column, .cut = !newline && raw < r->left};
	l->size = strnlen(r->at, raw); /* C strings end at a NUL, whatever stands behind it */
	l->nul = l->size < raw;
	if (l->size == raw && newline)
		l->size--;
	l->cr = l->size > 0 && l->text[l->size - 1] == '\r';
	if (l->cr && r->nccl >= CONF_PIECES_FROM)
		l->size--;
	r->at += raw;
	r->left -= raw;
	r->column = newline ? 1 : r->column + (unsigned)raw;
	r->line += newline ? 1 : 0;
	l->comment = l->size > 0 && l->text[0] == '#';
	if (l->comment && r->nccl >= CONF_COMMENT_FROM)
		return true;
	l->equals = memchr(l->text, '=', l->size);
	if (!l->equals)
		return true;
	l->key_size = (size_t)(l->equals - l->text);
	l->value = l->equals + 1;
	l->value_size = l->size - l->key_size - 1;
	if (l->key_size > CONF_TEXT) {
		l->overrun = r->nccl < CONF_KEY_SAFE_FROM;
		l->key_size = CONF_TEXT;
		l->long_key = true;
	}
	if (l->value_size > CONF_TEXT) {
		l->value_size = CONF_TEXT;
		l->long_value = true;
	}
	/* setenv() refuses an empty name; with the overrun the key is anybody's guess */
	l->sets = l->key_size > 0 && !l->overrun;
	return true;
}

int job_env_conf(struct job_env *env, enum job_origin origin, const char *file, const char *text, size_t size,
		 unsigned nccl)
{
	struct conf_reader reader = conf_reader(text, size, nccl);
	struct conf_line l;

	while (conf_next(&reader, &l)) {
		struct job_setting *s;

		if (!l.sets)
			continue;
		s = job_env_add(env, origin, file, l.text, l.key_size, l.value, l.value_size);
		if (!s)
			return -ENOMEM;
		s->line = l.line;
		s->column = l.column;
	}
	return 0;
}
