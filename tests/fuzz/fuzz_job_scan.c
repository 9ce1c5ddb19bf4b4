/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any bytes as a launch script of any kind, and as an environment file: it ends; each setting's name stands in the text at
 * its place; a name is one that is looked at; the same settings again when it is scanned again; an environment file's lines
 * are found by a plain search.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/job.h"

static size_t offset_of(const char *text, size_t size, unsigned line, unsigned column)
{
	size_t at = 0;

	for (unsigned l = 1; l < line; l++) {
		const char *newline = memchr(text + at, '\n', size - at);

		require(newline != NULL);
		at = (size_t)(newline - text) + 1;
	}
	return at + column - 1;
}

static void scan(const char *file, const char *text, size_t size)
{
	struct finding_list findings = {0}, again_findings = {0};
	struct job_env env = {0}, again = {0};

	require(job_scan(NULL, &env, file, text, size, &findings) == 0);
	require(job_env_settle(&env) == 0);
	for (size_t i = 0; i < env.count; i++) {
		const struct job_setting *s = &env.items[i];
		size_t at;

		require(job_env_cares(s->name, strlen(s->name)) && s->line >= 1 && s->column >= 1);
		at = offset_of(text, size, s->line, s->column);
		require(at <= size);
	}
	require(job_scan(NULL, &again, file, text, size, &again_findings) == 0);
	require(env.count == again.count && findings.count == again_findings.count);
	finding_list_clear(&findings);
	finding_list_clear(&again_findings);
	job_env_clear(&env);
	job_env_clear(&again);
}

static void environment(const char *text, size_t size)
{
	struct job_env env = {0};
	size_t wanted = 0;

	require(job_env_file(&env, "f", text, size) == 0);
	if (!memchr(text, '\0', size)) {
		for (size_t at = 0; at < size;) {
			const char *newline = memchr(text + at, '\n', size - at);
			size_t end = newline ? (size_t)(newline - text) : size;
			const char *equals = memchr(text + at, '=', end - at);

			wanted += equals && text[at] != '#' && job_env_cares(text + at, (size_t)(equals - text) - at);
			at = end + 1;
		}
		require(env.count == wanted);
	}
	job_env_clear(&env);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const files[] = {"a.sh", "Dockerfile", "a.yaml", "a.py", "a"};
	char *text;

	if (size < 1)
		return 0;
	text = malloc(size); /* with a NUL behind it, as file_read() gives it */
	require(text != NULL);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (data[0] % 6 == 5)
		environment(text, size - 1);
	else
		scan(files[data[0] % 6], text, size - 1);
	free(text);
	return 0;
}
