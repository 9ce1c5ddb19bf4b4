/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The settings of a job's environment: where each comes from and which of those of one name counts. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "scan.h"

bool job_env_cares(const char *name, size_t size)
{
	static const char *const beginnings[] = {"NCCL_", "UCX_",   "NVSHMEM_",	    "MC_",
						 "EP_",	  "SHARP_", "OMPI_MCA_btl_", "TORCH_NCCL_"};

	for (size_t i = 0; i < size; i++) { /* a name with a blank in it is another name, that nobody reads */
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	}
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
		size_t length = strlen(beginnings[i]);

		if (size > length && memcmp(name, beginnings[i], length) == 0)
			return true;
	}
	return size == 4 && memcmp(name, "HOME", 4) == 0;
}

/* A string of bytes that need not end in a NUL. */
static char *copy(const char *text, size_t size)
{
	char *made = malloc(size + 1);

	if (made) {
		memcpy(made, text, size);
		made[size] = '\0';
	}
	return made;
}

struct job_setting *job_env_add(struct job_env *env, enum job_origin origin, const char *file, const char *name,
				size_t name_size, const char *value, size_t value_size)
{
	struct job_setting *grown = array_grow(env->items, &env->room, env->count + 1, sizeof(*grown));
	struct job_setting item = {.origin = origin};

	if (!grown)
		return NULL;
	env->items = grown;
	item.name = copy(name, name_size);
	item.value = value ? copy(value, value_size) : NULL;
	item.file = strdup(file);
	if (!item.name || !item.file || (value && !item.value)) {
		free(item.name);
		free(item.value);
		free(item.file);
		return NULL;
	}
	env->items[env->count] = item;
	env->settled = false;
	return &env->items[env->count++];
}

/* One NAME=value; others are no settings. */
static int add_pair(struct job_env *env, const char *file, const char *text, size_t size, unsigned line)
{
	const char *equals = memchr(text, '=', size);
	struct job_setting *s;
	size_t name_size;

	if (!equals)
		return 0;
	name_size = (size_t)(equals - text);
	if (!job_env_cares(text, name_size))
		return 0;
	s = job_env_add(env, JOB_FROM_PROCESS, file, text, name_size, equals + 1, size - name_size - 1);
	if (!s)
		return -ENOMEM;
	s->line = line;
	s->column = line ? 1 : 0;
	return 0;
}

int job_env_process(struct job_env *env, const char *file, const char *block, size_t size)
{
	int error = 0;

	for (size_t at = 0; at < size && error == 0;) {
		size_t length = strnlen(block + at, size - at);

		error = add_pair(env, file, block + at, length, 0);
		at += length + 1;
	}
	return error;
}

int job_env_file(struct job_env *env, const char *file, const char *text, size_t size)
{
	int error = 0;

	if (memchr(text, '\0', size))
		return job_env_process(env, file, text, size);
	for (unsigned line = 1; size > 0 && error == 0; line++) {
		const char *end = memchr(text, '\n', size);
		size_t length = end ? (size_t)(end - text) : size;

		if (length > 0 && text[0] != '#')
			error = add_pair(env, file, text, length, line);
		length += end ? 1 : 0;
		text += length;
		size -= length;
	}
	return error;
}

/* Order in which settings of one name count: scripts from their last on, then each source from its first on. */
static int precedence(const struct job_setting *s)
{
	static const int rank[] = {
		[JOB_FROM_SCRIPT] = 0, [JOB_FROM_PROCESS] = 1, [JOB_FROM_USER_CONF] = 2, [JOB_FROM_SYSTEM_CONF] = 3};

	return rank[s->origin];
}

static int by_name(const void *left, const void *right)
{
	struct job_setting *const *l = left, *const *r = right;
	const struct job_setting *a = *l, *b = *r;
	int order = strcmp(a->name, b->name);

	order = order ? order : precedence(a) - precedence(b);
	if (order == 0)
		order = (a > b) - (a < b); /* of one array: the order in which they were added */
	else
		return order;
	return a->origin == JOB_FROM_SCRIPT ? -order : order;
}

/* --- names that scripts have exported --- */

struct job_env_name {
	UT_hash_handle hh;
	char name[];
};

bool job_env_is_exported(const struct job_env *env, const char *name, size_t size)
{
	struct job_env_name *found;

	HASH_FIND(hh, env->exported, name, size, found);
	return found != NULL;
}

int job_env_export(struct job_env *env, const char *name, size_t size)
{
	struct job_env_name *made;

	if (job_env_is_exported(env, name, size))
		return 0;
	made = malloc(sizeof(*made) + size + 1);
	if (!made)
		return -ENOMEM;
	memcpy(made->name, name, size);
	made->name[size] = '\0';
	HASH_ADD(hh, env->exported, name[0], (unsigned)size, made);
	return 0;
}

void job_env_unexport(struct job_env *env, const char *name, size_t size)
{
	struct job_env_name *found;

	HASH_FIND(hh, env->exported, name, size, found);
	if (found) {
		HASH_DEL(env->exported, found);
		free(found);
	}
}

static void names_free(struct job_env *env)
{
	struct job_env_name *item, *next;

	HASH_ITER(hh, env->exported, item, next) {
		HASH_DEL(env->exported, item);
		free(item);
	}
}

/* --- which of them counts --- */

int job_env_settle(struct job_env *env)
{
	struct job_setting **sorted = calloc(env->count + 1, sizeof(struct job_setting *));
	size_t *counting = calloc(env->count + 1, sizeof(*counting)), count = 0;
	bool found = false, script_spoke = false;

	if (!sorted || !counting) {
		free(sorted);
		free(counting);
		return -ENOMEM;
	}
	for (size_t i = 0; i < env->count; i++)
		sorted[i] = &env->items[i];
	qsort(sorted, env->count, sizeof(struct job_setting *), by_name);
	for (size_t i = 0; i < env->count; i++) {
		struct job_setting *s = sorted[i];

		if (i == 0 || strcmp(sorted[i - 1]->name, s->name) != 0)
			found = script_spoke = false;
		/* a script's last word counts; an `unset` takes the process's setting away, but not a file's */
		s->hidden = found || (script_spoke && precedence(s) <= 1);
		found |= !s->hidden && !s->removed;
		script_spoke |= s->origin == JOB_FROM_SCRIPT;
		if (!s->hidden && !s->removed)
			counting[count++] = (size_t)(s - env->items);
	}
	free(sorted);
	free(env->counting);
	env->counting = counting;
	env->counting_count = count;
	env->settled = true;
	return 0;
}

const struct job_setting *job_env_get(const struct job_env *env, const char *name)
{
	size_t low = 0, high = env->counting_count;

	for (size_t i = 0; !env->settled && i < env->count; i++) {
		const struct job_setting *s = &env->items[i];

		if (!s->hidden && !s->removed && strcmp(s->name, name) == 0)
			return s;
	}
	while (env->settled && low < high) {
		size_t middle = low + (high - low) / 2;
		const struct job_setting *s = &env->items[env->counting[middle]];
		int order = strcmp(name, s->name);

		if (order == 0)
			return s;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

void job_env_clear(struct job_env *env)
{
	for (size_t i = 0; i < env->count; i++) {
		free(env->items[i].name);
		free(env->items[i].value);
		free(env->items[i].file);
	}
	for (size_t i = 0; i < env->file_count; i++)
		free(env->files[i]);
	names_free(env);
	free(env->counting);
	free(env->files);
	free(env->items);
	free(env->label);
	*env = (struct job_env){0};
}
