/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What two OpenSMs of a fabric must have the same, as one SHA-256: by ibqos for the files that it is
 * about to write, and by coreutils on a standby's host for those that it has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sha2.h>

#include "survey.h"

/* As awk and OpenSM take a line apart: up to a '#', by blanks and tabs; the value is the next word. */
#define KEYS "^(qos.*|max_op_vls|routing_engine|sm_sl)$"

struct pair {
	char *key, *value;
	size_t order;
};

static bool is_shared(const char *key)
{
	return strncmp(key, "qos", 3) == 0 || strcmp(key, "max_op_vls") == 0 || strcmp(key, "routing_engine") == 0 ||
	       strcmp(key, "sm_sl") == 0;
}

/* By key as bytes, which is the order of LC_ALL=C sort as long as no key is the start of another with a byte below ' '. */
static int by_key(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	return order ? order : x->order < y->order ? -1 : 1;
}

static void drop_returns(char *line)
{
	char *to = line;

	for (; *line; line++)
		if (*line != '\r')
			*to++ = *line;
	*to = '\0';
}

static int add_line(struct pair **pairs, size_t *room, size_t *count, char *line)
{
	char *rest = NULL, *key, *value;
	struct pair *grown;

	line[strcspn(line, "#")] = '\0';
	drop_returns(line);
	key = strtok_r(line, " \t", &rest);
	value = key ? strtok_r(NULL, " \t", &rest) : NULL;
	if (!key || !is_shared(key))
		return 0;
	grown = array_grow(*pairs, room, *count + 1, sizeof(**pairs));
	if (!grown)
		return -ENOMEM;
	*pairs = grown;
	grown[*count] = (struct pair){key, value ? value : key + strlen(key), *count};
	(*count)++;
	return 0;
}

static void hash(SHA2_CTX *state, const struct pair *pairs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count && strcmp(pairs[i].key, pairs[i + 1].key) == 0)
			continue; /* the last one counts */
		SHA256Update(state, (const uint8_t *)pairs[i].key, strlen(pairs[i].key));
		SHA256Update(state, (const uint8_t *)" ", 1);
		SHA256Update(state, (const uint8_t *)pairs[i].value, strlen(pairs[i].value));
		SHA256Update(state, (const uint8_t *)"\n", 1);
	}
}

int apply_digest(const char *conf, size_t conf_size, const char *rules, size_t rules_size, char digest[65])
{
	char *text = strndup(conf ? conf : "", conf ? conf_size : 0);
	struct pair *pairs = NULL;
	size_t room = 0, count = 0;
	int error = text ? 0 : -ENOMEM;
	char *rest = NULL;
	SHA2_CTX state;

	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line && error == 0; line = strtok_r(NULL, "\n", &rest))
		error = add_line(&pairs, &room, &count, line);
	if (error == 0) {
		if (count > 0)
			qsort(pairs, count, sizeof(*pairs), by_key);
		SHA256Init(&state);
		hash(&state, pairs, count);
		if (rules)
			SHA256Update(&state, (const uint8_t *)rules, rules_size);
		SHA256End(&state, digest);
	}
	free(pairs);
	free(text);
	return error;
}

/* A word for sh: as it is, or in single quotes. */
char *shell_word(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
	char *text = NULL;
	size_t size;
	FILE *out;

	if (*word && word[strspn(word, plain)] == '\0')
		return strdup(word);
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	fputc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	}
	fputc('\'', out);
	return text_stream_end(out, &text) == 0 ? text : NULL;
}

char *apply_digest_command(const char *conf_path, const char *rules_path)
{
	char *conf = shell_word(conf_path), *rules = shell_word(rules_path), *text = NULL;

	if (conf && rules &&
	    asprintf(&text,
		     "{ sed 's/#.*//; s/\\r//g' %s | awk '$1 ~ /" KEYS "/ {v[$1] = $2} END {for (k in v) print k, v[k]}' | "
		     "LC_ALL=C sort; cat %s; } | sha256sum",
		     conf, rules) < 0)
		text = NULL;
	free(conf);
	free(rules);
	return text;
}
