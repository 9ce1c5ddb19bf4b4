/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any bytes as nccl.conf, of any version of NCCL: the settings that count are those that the C library's getline() or
 * fgets() and setenv() leave, used as NCCL's setEnvFile() uses them (told in include/ibqos/job.h); every place is one of the
 * file; the lint and the checks of values end, and say nothing that is not printable.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/job.h"

#define VARIABLES 64

struct variables {
	char *name[VARIABLES], *value[VARIABLES];
	size_t count;
	bool full;
};

/* setenv() that replaces nothing, without touching the process's own environment. */
static void set(struct variables *v, const char *name, const char *value)
{
	for (size_t i = 0; i < v->count; i++) {
		if (strcmp(v->name[i], name) == 0)
			return;
	}
	if (!*name)
		return;
	if (v->count == VARIABLES) {
		v->full = true;
		return;
	}
	v->name[v->count] = strdup(name);
	v->value[v->count++] = strdup(value);
}

static void take_line(struct variables *v, const char *line, unsigned nccl, bool *overrun)
{
	char key[1024] = "", value[1024] = "";
	const char *equals;

	if (line[0] == '#' && nccl >= 22602)
		return;
	equals = strchr(line, '=');
	if (!equals)
		return;
	if (equals - line > 1023 && nccl < 22304) {
		*overrun = true;
		return;
	}
	strncat(key, line, equals - line > 1023 ? 1023 : (size_t)(equals - line));
	strncat(value, equals + 1, 1023);
	set(v, key, value);
}

static void reference(struct variables *v, const uint8_t *data, size_t size, unsigned nccl, bool *overrun)
{
	FILE *in = fmemopen((void *)(uintptr_t)data, size, "rb");

	require(in != NULL);
	if (nccl >= 23003) {
		char line[4096];

		while (fgets(line, sizeof(line), in)) {
			size_t length = strlen(line);

			if (length > 0 && line[length - 1] == '\n')
				line[--length] = '\0';
			if (length > 0 && line[length - 1] == '\r')
				line[--length] = '\0';
			take_line(v, line, nccl, overrun);
		}
	} else {
		char *line = NULL;
		size_t room = 0;
		ssize_t got;

		while ((got = getline(&line, &room, in)) > 0) {
			if (line[got - 1] == '\n')
				line[got - 1] = '\0';
			take_line(v, line, nccl, overrun);
		}
		free(line);
	}
	fclose(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned versions[] = {21207, 22203, 22304, 22501, 22602, 22907, 23003, 23007};
	struct job_question question = {.app_tc = JOB_NO_TC};
	unsigned nccl = versions[size > 0 ? data[0] % 8 : 0], lines = 1;
	struct finding_list findings = {0};
	struct variables wanted = {0};
	struct job_env env = {0};
	bool overrun = false;
	size_t counting = 0;

	if (size < 2)
		return 0;
	data++;
	size--;
	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	reference(&wanted, data, size, nccl, &overrun);
	require(job_env_conf(&env, JOB_FROM_USER_CONF, "f", (const char *)data, size, nccl) == 0);
	require(job_env_settle(&env) == 0);
	for (size_t i = 0; i < env.count; i++) {
		require(env.items[i].line >= 1 && env.items[i].line <= lines && env.items[i].column >= 1);
		counting += !env.items[i].hidden;
	}
	require(wanted.full ? counting > VARIABLES : counting == wanted.count);
	for (size_t i = 0; i < wanted.count; i++) {
		const struct job_setting *s = job_env_get(&env, wanted.name[i]);

		require(s && strcmp(s->value, wanted.value[i]) == 0);
	}
	job_conf_lint("f", (const char *)data, size, nccl, &findings);
	question.nccl = nccl;
	question.link = size & 1 ? JOB_LINK_INFINIBAND : JOB_LINK_ETHERNET;
	env.label = strdup("f");
	job_check(&env, &question, &findings);
	for (size_t i = 0; i < findings.count; i++) {
		const struct finding *f = &findings.items[i];

		require(f->line <= lines && f->file);
		require(!f->what || fuzz_printable(f->what, ""));
		require(!f->got || fuzz_printable(f->got, ""));
		require(!f->wanted || fuzz_printable(f->wanted, ""));
	}
	require(job_sl(&env, &question).sl <= 15 && job_gin_sl(&env, &question).sl <= 15);
	finding_list_clear(&findings);
	job_env_clear(&env);
	for (size_t i = 0; i < wanted.count; i++) {
		free(wanted.name[i]);
		free(wanted.value[i]);
	}
	return 0;
}
