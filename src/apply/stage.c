/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Staging: the files as they are to be are written elsewhere, and what is to be done with them is
 * told: for sites where another tool deploys, for OpenSMs that ibqos does not reload, for standbys.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "survey.h"

#define STAGE_MODE 0644

/* A config has keys: nobody reads it there who could not read it where it comes from. */
static mode_t config_mode(const struct transaction *t)
{
	struct stat st;

	return stat(t->conf.path, &st) == 0 ? st.st_mode & 0644 : STAGE_MODE;
}

static int not_writable(struct finding_list *findings, const char *path, int error)
{
	struct finding *f = finding_at(finding_add(findings, FINDING_APPLY_NOT_WRITABLE), path, 0, 0);

	finding_set(&f->got, "%s", strerror(-error));
	return error;
}

static int make_folder(const char *folder, struct finding_list *findings)
{
	int error = dir_make(folder, 0755);

	return error ? not_writable(findings, folder, error) : 0;
}

static int write_into(const char *folder, const char *name, const char *text, size_t size, mode_t mode, struct finding_list *findings)
{
	char *path = NULL;
	int error;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return -ENOMEM;
	error = file_replace(path, text, size, mode);
	if (error != 0)
		not_writable(findings, path, error);
	free(path);
	return error;
}

static int write_one(const struct transaction *t, const char *name, const char *text, size_t size, mode_t mode)
{
	return write_into(t->options->stage, name, text, size, mode, t->findings);
}

static int write_files(const struct transaction *t)
{
	char *keys = NULL;
	size_t size = 0;
	int error = make_folder(t->options->stage, t->findings);

	if (error != 0)
		return error;
	error = shared_keys_text(&t->conf.new, &keys, &size);
	if (error == 0)
		error = write_one(t, "opensm.conf", t->conf.new.text, t->conf.new.size, config_mode(t));
	if (error == 0)
		error = write_one(t, "qos-policy.conf", t->rules.new.text, t->rules.new.size, STAGE_MODE);
	if (error == 0)
		error = write_one(t, "qos-keys.conf", keys, size, STAGE_MODE);
	free(keys);
	return error;
}

/*
 * Nothing is staged where OpenSM reads it: not in the folders of its files, where another instance's may lie too, nor
 * through a link that leads to one.
 */
static bool is_elsewhere(struct transaction *t)
{
	static const char *const names[] = {"opensm.conf", "qos-policy.conf", "qos-keys.conf"};
	const char *const live[] = {t->conf.path, t->rules.path};
	bool elsewhere = true;

	for (int i = 0; i < 2 && elsewhere; i++) {
		char *folder = strndup(live[i], (size_t)(strrchr(live[i], '/') - live[i]) + 1);

		elsewhere = folder && file_same(folder, t->options->stage) != 1;
		free(folder);
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]) && elsewhere; n++) {
			char *path = NULL;

			elsewhere = asprintf(&path, "%s/%s", t->options->stage, names[n]) >= 0 && file_same(path, live[i]) != 1;
			free(path);
		}
	}
	if (!elsewhere)
		finding_at(finding_add(t->findings, FINDING_APPLY_STAGE_LIVE), t->options->stage, 0, 0);
	return elsewhere;
}

/* How this OpenSM is told to read its files again. */
static void tell_reload(FILE *out, const struct apply_preflight *p, const char *conf)
{
	if (p->facts.flavour != OPENSM_TESTED && p->pid != 0)
		fprintf(out, "# reload it as its vendor says: ibqos does not know this OpenSM\n");
	else if (p->facts.unit)
		fprintf(out, "systemctl kill -s HUP %s\n", p->facts.unit);
	else if (p->pid != 0)
		fprintf(out, "kill -HUP %d\n", p->pid);
	else {
		fprintf(out, "# where it runs:\n");
		tell_reload_of(out, conf);
	}
}

/*
 * Rules first, as apply has it: with the old tables they do no harm. cp keeps owner, mode and links of what is there.
 * `policy` as a word for sh.
 */
static int tell_steps(FILE *out, const struct transaction *t, const char *policy)
{
	const struct apply_preflight *p = &t->result->preflight;
	char *folder = text_shell_word(t->options->stage), *conf = text_shell_word(t->conf.path), *rules = text_shell_word(t->rules.path);
	int error = folder && conf && rules ? 0 : -ENOMEM;

	if (error == 0) {
		error = tell_standbys(out, t, folder, policy);
		fprintf(out, "# the master's own files\n");
		fprintf(out, "cp %s/qos-policy.conf %s\n", folder, rules);
		fprintf(out, "cp %s/opensm.conf %s\n", folder, conf);
		if (!t->conf.now.text)
			fprintf(out, "# there was no config: OpenSM has to be started again, a reload does not make it read one\n");
		else
			tell_reload(out, p, conf);
		fprintf(out, "ibqos apply --wait-only%s %s\n", again(t), policy);
	}
	free(folder);
	free(conf);
	free(rules);
	return error;
}

int steps_text(const struct transaction *t, const char *policy, char **text)
{
	size_t size;
	char *word = text_shell_word(policy);
	FILE *out = word ? open_memstream(text, &size) : NULL;
	int error, ended;

	if (!out) {
		free(word);
		return -ENOMEM;
	}
	if (t->options->stage)
		error = tell_steps(out, t, word);
	else
		error = tell_standbys(out, t, NULL, word);
	free(word);
	ended = text_stream_end(out, text);
	if (error == 0)
		error = ended;
	if (error != 0) {
		free(*text);
		*text = NULL;
	}
	return error;
}

/* What would stop an apply is said, but stops nothing here, other than files that OpenSM would refuse. */
static bool judge_staged(struct transaction *t)
{
	bool refused = false;
	size_t first;

	for (int i = 0; i < PREFLIGHT_FILES; i++)
		refused |= t->result->preflight.files[i].faults[FINDING_CRITICAL] > 0;
	refused |= !judge_paths(t);
	refused |= !is_elsewhere(t);
	first = t->findings->count;
	judge_flavour(t);
	judge_masters(t);
	for (size_t i = first; i < t->findings->count; i++)
		t->findings->items[i].severity = FINDING_WARNING;
	for (size_t i = 0; i < t->findings->count; i++)
		if (t->findings->items[i].code == FINDING_APPLY_PENDING_EDITS)
			t->findings->items[i].severity = FINDING_WARNING;
	return !refused;
}

int stage(struct transaction *t, const struct policy *policy)
{
	int error;

	opensm_find(t->ctx, t->conf.path, &t->sm); /* none is fine: it may run elsewhere */
	error = survey(t);
	if (error != 0)
		return error;
	if (t->options->surveyed)
		t->options->surveyed(t->options->surveyed_arg, &t->result->preflight);
	if (!judge_staged(t))
		return 0;
	error = write_files(t);
	if (error != 0)
		return error == -ENOMEM ? error : 0; /* told */
	error = steps_text(t, policy->path, &t->result->steps_text);
	if (error == 0) {
		t->result->outcome = APPLY_STAGED;
		t->result->reached = APPLY_DONE;
	}
	return error;
}

/* --- where OpenSM runs on another host --- */

#define STAGED_POLICY "policy.yaml"

/* Which config it is, the policy says, or whoever is on that host. */
static int tell_other_host(const char *folder, char **text)
{
	char *word = text_shell_word(folder);
	int made = word ? asprintf(text,
				   "# OpenSM runs on another host: copy %s/" STAGED_POLICY " there, and there\n"
				   "ibqos plan " STAGED_POLICY "\n"
				   "ibqos apply " STAGED_POLICY "\n"
				   "# with --opensm-config FILE, where its config is another than the policy names, and -C and -P, where its\n"
				   "# port is not the first active one\n", word) : -1;

	free(word);
	if (made < 0)
		*text = NULL;
	return made < 0 ? -ENOMEM : 0;
}

int apply_stage_policy(const struct policy *policy, const struct apply_options *options, struct finding_list *findings,
		       struct apply_result *result)
{
	char *text = NULL;
	size_t size;
	int error;

	*result = (struct apply_result){0};
	error = file_read(policy->path, &text, &size);
	if (error != 0)
		return error;
	error = make_folder(options->stage, findings);
	if (error == 0)
		error = write_into(options->stage, STAGED_POLICY, text, size, STAGE_MODE, findings);
	free(text);
	if (error != 0)
		return error == -ENOMEM ? error : 0; /* told */
	error = tell_other_host(options->stage, &result->steps_text);
	if (error == 0) {
		result->outcome = APPLY_STAGED;
		result->reached = APPLY_DONE;
	}
	return error;
}
