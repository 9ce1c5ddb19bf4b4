/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * M_Keys of ports, as OpenSM keeps them over its restarts. They are secrets: no message and no finding has one, and
 * what held them is wiped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/source.h"

#define BLANKS " \t\r"

static int compare_guids(const void *left, const void *right)
{
	const struct source_key *a = left, *b = right;

	return (a->guid > b->guid) - (a->guid < b->guid);
}

static int compare_keys(const void *left, const void *right)
{
	const struct source_key *a = left, *b = right;

	return (a->key > b->key) - (a->key < b->key);
}

static int add_key(struct source_keys *keys, uint64_t guid, uint64_t key)
{
	struct source_key *of;

	for (size_t i = 0; i < keys->count; i++)
		if (keys->of[i].guid == guid)
			return -EEXIST;
	/* not array_grow(): what it leaves behind would still hold the keys */
	if (keys->count == keys->room) {
		size_t room = keys->room ? 2 * keys->room : 64;

		of = calloc(room, sizeof(*of));
		if (!of)
			return -ENOMEM;
		if (keys->count)
			memcpy(of, keys->of, keys->count * sizeof(*of));
		if (keys->of)
			explicit_bzero(keys->of, keys->room * sizeof(*of));
		free(keys->of);
		keys->of = of;
		keys->room = room;
	}
	keys->of[keys->count++] = (struct source_key){guid, key};
	return 0;
}

/* "0xGUID 0xMKEY" and nothing else. */
static bool read_line(char *line, uint64_t *guid, uint64_t *key)
{
	char *rest, *first = strtok_r(line, BLANKS, &rest), *second = strtok_r(NULL, BLANKS, &rest);

	return first && second && !strtok_r(NULL, BLANKS, &rest) && text_to_u64(first, UINT64_MAX, guid) == 0 && *guid != 0 &&
	       text_to_u64(second, UINT64_MAX, key) == 0;
}

static void say_bad(struct finding_list *findings, const char *path, unsigned line, const char *why)
{
	struct finding *f = finding_at(finding_add(findings, FINDING_KEY_FILE_BAD), path, line, 1);

	finding_set(&f->detail, "%s", why);
}

static int read_lines(const char *path, char *text, struct finding_list *findings, struct source_keys *keys)
{
	unsigned number = 1;
	uint64_t guid, key;
	int error = 0;

	for (char *at = text, *end; error == 0 && *at; at = end, number++) {
		end = strchrnul(at, '\n');
		if (*end)
			*end++ = '\0';
		at += strspn(at, BLANKS);
		if (*at == '\0' || *at == '#')
			continue;
		if (!read_line(at, &guid, &key)) {
			say_bad(findings, path, number, "not a port GUID and a key");
			continue;
		}
		error = add_key(keys, guid, key);
		if (error == -EEXIST) {
			say_bad(findings, path, number, "this GUID stands further up already, and that counts");
			error = 0;
		}
	}
	return error;
}

/* The key that most ports have; 0: none has one. */
static uint64_t most_common(struct source_keys *keys)
{
	uint64_t best = 0;
	size_t most = 0, run = 0;

	qsort(keys->of, keys->count, sizeof(*keys->of), compare_keys);
	for (size_t i = 0; i < keys->count; i++) {
		run = i > 0 && keys->of[i].key == keys->of[i - 1].key ? run + 1 : 1;
		if (keys->of[i].key != 0 && run > most) {
			most = run;
			best = keys->of[i].key;
		}
	}
	return best;
}

int source_keys_read(const char *path, struct finding_list *findings, struct source_keys *keys)
{
	char *text = NULL;
	size_t size = 0;
	int error = file_read(path, &text, &size);

	if (error == 0)
		error = read_lines(path, text, findings, keys);
	if (text)
		explicit_bzero(text, size);
	free(text);
	if (error != 0 || keys->count == 0)
		return error;
	if (keys->any == 0)
		keys->any = most_common(keys);
	qsort(keys->of, keys->count, sizeof(*keys->of), compare_guids);
	return 0;
}

uint64_t source_keys_of(const struct source_keys *keys, uint64_t guid)
{
	const struct source_key wanted = {.guid = guid}, *found;

	if (!keys || keys->count == 0)
		return 0;
	found = bsearch(&wanted, keys->of, keys->count, sizeof(*keys->of), compare_guids);
	return found ? found->key : 0;
}

void source_keys_clear(struct source_keys *keys)
{
	if (keys->of)
		explicit_bzero(keys->of, keys->room * sizeof(*keys->of));
	free(keys->of);
	explicit_bzero(keys, sizeof(*keys));
}
