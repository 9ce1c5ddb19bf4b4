/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What two OpenSMs of a fabric must have the same, as one SHA-256: by ibqos for the files that it is
 * about to write, and by coreutils and awk on a standby's host for those that it has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sha2.h>

#include "survey.h"

/* As awk knows them. Not qos_policy_file, which is read where it lies, nor *_max_vls, which have no effect. */
#define KEYS "^(qos|qos_((ca|sw0|swe|rtr)_)?(high_limit|vlarb_high|vlarb_low|sl2vl)|max_op_vls|routing_engine|sm_sl)$"

/* What OpenSM has where they are not set (osm_subnet.c); all the others are always set by ibqos. */
static const struct {
	const char *key, *value;
} defaults[] = {{"max_op_vls", "5"}, {"routing_engine", "(null)"}, {"sm_sl", "0"}};

struct pair {
	const char *key, *value;
	size_t order;
};

struct pairs {
	struct pair *items;
	size_t count, room;
};

static bool is_table_key(const char *key)
{
	static const char *const types[] = {"ca_", "sw0_", "swe_", "rtr_"}, *const tables[] = {"high_limit", "vlarb_high",
											       "vlarb_low", "sl2vl"};

	if (strncmp(key, "qos_", 4) != 0)
		return false;
	key += 4;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strncmp(key, types[i], strlen(types[i])) == 0) {
			key += strlen(types[i]);
			break;
		}
	}
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (strcmp(key, tables[i]) == 0)
			return true;
	return false;
}

static bool is_shared(const char *key)
{
	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (strcmp(key, defaults[i].key) == 0)
			return true;
	return strcmp(key, "qos") == 0 || is_table_key(key);
}

/* By key as bytes: the order that LC_ALL=C sort gives lines of them, for no key is the start of another but before '_'. */
static int by_key(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	return order ? order : x->order < y->order ? -1 : x->order > y->order;
}

static void drop_returns(char *line)
{
	char *to = line;

	for (; *line; line++)
		if (*line != '\r')
			*to++ = *line;
	*to = '\0';
}

static int add(struct pairs *p, const char *key, const char *value)
{
	struct pair *grown = array_grow(p->items, &p->room, p->count + 1, sizeof(*p->items));

	if (!grown)
		return -ENOMEM;
	p->items = grown;
	grown[p->count] = (struct pair){key, value, p->count};
	p->count++;
	return 0;
}

static int add_line(struct pairs *p, char *line)
{
	char *rest = NULL, *key, *value;

	line[strcspn(line, "#")] = '\0';
	drop_returns(line);
	key = strtok_r(line, " \t", &rest);
	value = key ? strtok_r(NULL, " \t", &rest) : NULL;
	return key && is_shared(key) ? add(p, key, value ? value : "") : 0;
}

/* The shared keys of a config, each once, in order; pointers into *text, which is a copy to be freed. */
static int shared_keys(const char *conf, size_t size, char **text, struct pairs *p)
{
	char *rest = NULL;
	size_t kept = 0;
	int error = 0;

	*p = (struct pairs){0};
	*text = strndup(conf ? conf : "", conf ? size : 0);
	if (!*text)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]) && error == 0; i++)
		error = add(p, defaults[i].key, defaults[i].value);
	for (char *line = strtok_r(*text, "\n", &rest); line && error == 0; line = strtok_r(NULL, "\n", &rest))
		error = add_line(p, line);
	if (error != 0)
		return error;
	qsort(p->items, p->count, sizeof(*p->items), by_key);
	for (size_t i = 0; i < p->count; i++) /* the last of each counts */
		if (i + 1 == p->count || strcmp(p->items[i].key, p->items[i + 1].key) != 0)
			p->items[kept++] = p->items[i];
	p->count = kept;
	return 0;
}

static void add_text(SHA2_CTX *state, const char *text)
{
	SHA256Update(state, (const uint8_t *)text, strlen(text));
}

int apply_digest(const char *conf, size_t conf_size, const char *rules, size_t rules_size, char digest[65])
{
	struct pairs pairs;
	SHA2_CTX state;
	char *text;
	int error = shared_keys(conf, conf_size, &text, &pairs);

	if (error == 0) {
		SHA256Init(&state);
		for (size_t i = 0; i < pairs.count; i++) {
			add_text(&state, pairs.items[i].key);
			add_text(&state, " ");
			add_text(&state, pairs.items[i].value);
			add_text(&state, "\n");
		}
		if (rules)
			SHA256Update(&state, (const uint8_t *)rules, rules_size);
		SHA256End(&state, digest);
	}
	free(pairs.items);
	free(text);
	return error;
}

/* Begins with an empty line, as what it is put behind may have no last newline. */
int shared_keys_text(const struct text *conf, char **out, size_t *size)
{
	struct pairs pairs;
	char *text;
	int error = shared_keys(conf->text, conf->size, &text, &pairs);
	FILE *to = error == 0 ? open_memstream(out, size) : NULL;

	if (error == 0 && !to)
		error = -ENOMEM;
	if (to) {
		fprintf(to, "\n# by ibqos: what all OpenSMs of this fabric must have the same\n");
		for (size_t i = 0; i < pairs.count; i++)
			fprintf(to, "%s %s\n", pairs.items[i].key, pairs.items[i].value);
		error = text_stream_end(to, out);
	}
	free(pairs.items);
	free(text);
	return error;
}

char *apply_digest_command(const char *conf_path)
{
	char *conf = text_shell_word(conf_path), *text = NULL;

	if (!conf || asprintf(&text,
			      "{ sed 's/#.*//; s/\\r//g' %s | awk 'BEGIN {v[\"max_op_vls\"] = 5; v[\"routing_engine\"] = \"(null)\"; "
			      "v[\"sm_sl\"] = 0} $1 ~ /" KEYS "/ {v[$1] = $2} END {for (k in v) print k, v[k]}' | LC_ALL=C sort; "
			      "cat \"$(sed 's/#.*//; s/\\r//g' %s | awk '$1 == \"qos_policy_file\" {p = $2} "
			      "END {print p ? p : \"" OPENSM_QOS_POLICY "\"}')\"; } | sha256sum",
			      conf, conf) < 0)
		text = NULL;
	free(conf);
	return text;
}
