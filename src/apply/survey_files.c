/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The files that OpenSM reads on a reload, ours and other people's: whether it would take them as they
 * are to be, and what somebody else changed in them since it read them, which the reload would bring
 * into force beside the policy.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ibqos/opensm_files.h"
#include "survey.h"

static const struct text *own_text(const struct transaction *t, int role, bool new)
{
	const struct change_file *file = role == PREFLIGHT_CONF ? &t->conf : &t->rules;

	return role > PREFLIGHT_RULES ? NULL : new ? &file->new : &file->now;
}

/* --- faults --- */

static int role_of(const struct apply_preflight *p, const struct finding *f)
{
	for (int i = 0; f->file && i < PREFLIGHT_FILES; i++)
		if (p->files[i].path && strcmp(p->files[i].path, f->file) == 0)
			return i;
	return PREFLIGHT_FILES;
}

/* Counted by file; those for which OpenSM drops a file or traffic stops are findings here. The rest is for `lint`. */
static void take_faults(struct transaction *t, struct finding_list *found)
{
	struct apply_preflight *p = &t->result->preflight;

	for (size_t i = 0; i < found->count; i++) {
		struct finding *f = &found->items[i], empty = {0};
		int role = role_of(p, f);

		bool wanted = f->severity == FINDING_CRITICAL;

		/* these tables are the policy's own, exact ones: the plan has said what they starve */
		if (f->code == FINDING_OPENSM_VL_STARVED && role == PREFLIGHT_CONF) {
			f->severity = FINDING_WARNING;
			wanted = false;
		}
		/* what OpenSM has read already, the reload makes no worse */
		if (wanted && role > PREFLIGHT_RULES && role < PREFLIGHT_FILES && p->files[role].pending == PREFLIGHT_NO)
			f->severity = FINDING_WARNING;
		if (role < PREFLIGHT_FILES)
			p->files[role].faults[f->severity]++;
		if (!wanted)
			continue;
		*finding_add(t->findings, f->code) = *f;
		*f = empty;
	}
	t->findings->lost |= found->lost;
	finding_list_clear(found);
}

static int lint_conf(const struct text *text, const char *path, struct opensm_conf **conf, struct finding_list *found)
{
	struct qos_config config;
	bool enabled;
	int error = opensm_conf_parse(text->text, text->size, conf);

	if (error == 0)
		error = opensm_conf_lint(*conf, path, found);
	return error ? error : opensm_conf_get_qos(*conf, path, &config, &enabled, found);
}

/* As they will be read: the two new ones, and the others as they are. */
static int lint_files(struct transaction *t, const struct text others[PREFLIGHT_FILES])
{
	const struct apply_preflight *p = &t->result->preflight;
	const struct text *partitions = &others[PREFLIGHT_PARTITIONS], *routes = &others[PREFLIGHT_PREFIX_ROUTES];
	struct opensm_policy_file *rules = NULL;
	struct opensm_partitions *read = NULL;
	struct finding_list found = {0};
	struct opensm_conf *conf = NULL;
	struct opensm_files files = {.conf_path = t->conf.path, .policy_path = t->rules.path};
	int error = 0;

	if (t->conf.new.text)
		error = lint_conf(&t->conf.new, t->conf.path, &conf, &found);
	if (error == 0 && t->rules.new.text)
		error = opensm_policy_read(t->rules.path, t->rules.new.text, t->rules.new.size, &found, &rules);
	if (error == 0 && partitions->text)
		error = opensm_partitions_read(p->files[PREFLIGHT_PARTITIONS].path, partitions->text, partitions->size, &found, &read);
	if (error == 0 && routes->text)
		opensm_prefix_routes_lint(p->files[PREFLIGHT_PREFIX_ROUTES].path, routes->text, routes->size, &found);
	files.conf = conf;
	files.policy = rules;
	files.partitions = read;
	files.partitions_path = read ? p->files[PREFLIGHT_PARTITIONS].path : NULL;
	if (error == 0)
		error = opensm_files_lint(&files, &found);
	take_faults(t, &found);
	opensm_partitions_free(read);
	opensm_policy_file_free(rules);
	opensm_conf_free(conf);
	return error;
}

/* --- edits of others --- */

struct comparing {
	struct transaction *t;
	struct survey *s;
	bool history_known;
	struct history last; /* what ibqos put in place last, and what OpenSM read then */
};

/* A file that nobody has touched since the process was started was read as it is: the change time is the kernel's own. */
static bool older_than_start(const struct apply_preflight *p, const char *path)
{
	struct stat st;

	if (p->facts.started.tv_sec == 0 || stat(path, &st) != 0)
		return false;
	return st.st_ctim.tv_sec < p->facts.started.tv_sec ||
	       (st.st_ctim.tv_sec == p->facts.started.tv_sec && st.st_ctim.tv_nsec < p->facts.started.tv_nsec);
}

static bool set_by_options(const struct apply_preflight *p, const char *key)
{
	for (unsigned i = 0; i < p->facts.key_count; i++)
		if (strcmp(p->facts.keys[i], key) == 0)
			return true;
	return false;
}

/*
 * Whether a difference in opensm.conf is one that this apply would bring into force for somebody else:
 * not what the policy wants at that key anyway, not what an option of the command line is kept at, not
 * what an apply that was cut short, or rolled back, left there itself.
 */
static bool is_foreign(const struct comparing *c, const struct opensm_conf_change *change, const struct opensm_conf *new)
{
	const char *wanted = opensm_conf_get(new, change->key);
	bool ours = strncmp(change->key, "qos", 3) == 0;

	if (ours && (c->t->unfinished || (wanted && strcmp(wanted, change->file) == 0)))
		return false;
	if (!c->s->running && strcmp(change->key, "qos") == 0 && c->last.state == HISTORY_UNDONE)
		return false;
	return !(c->s->running && set_by_options(&c->t->result->preflight, change->key));
}

/* OpenSM may have read it all the same, where somebody has reloaded it since: by an apply with another history, say. */
static void tell_not_in_history(const struct comparing *c, struct finding *f)
{
	finding_set(&f->detail, "not in this history, %s/history, where wanted is what its last apply left there: somebody has edited it since, or "
				"an apply has that is in another history, which --state-dir names", c->t->ctx->state_dir);
}

static int tell_changes(const struct comparing *c, const struct opensm_conf *running)
{
	struct transaction *t = c->t;
	struct preflight_file *file = &t->result->preflight.files[PREFLIGHT_CONF];
	struct opensm_conf_change *changes = NULL;
	struct opensm_conf *new = NULL;
	size_t count = 0;
	int error = opensm_conf_parse(t->conf.new.text, t->conf.new.size, &new);

	if (error == 0)
		error = opensm_conf_changes(c->s->conf, running, &changes, &count);
	for (size_t i = 0; i < count; i++) {
		struct finding *f;

		if (!is_foreign(c, &changes[i], new))
			continue;
		file->changes++;
		f = finding_at(finding_add(t->findings, FINDING_APPLY_PENDING_EDITS), file->path, changes[i].line, 0);
		finding_set(&f->what, "%s", changes[i].key);
		finding_set(&f->wanted, "%s", changes[i].running ? changes[i].running : "not set");
		finding_set(&f->got, "%s", changes[i].file);
		if (c->s->running)
			finding_set(&f->detail, "wanted is what OpenSM runs with, as its console says");
		else
			tell_not_in_history(c, f);
	}
	file->pending = file->changes > 0 ? PREFLIGHT_YES : PREFLIGHT_NO;
	free(changes);
	opensm_conf_free(new);
	return error;
}

static int compare_conf(struct comparing *c)
{
	struct preflight_file *file = &c->t->result->preflight.files[PREFLIGHT_CONF];
	const struct text *left = c->last.state == HISTORY_UNDONE ? &c->last.conf_old : &c->last.conf_new;
	struct opensm_conf *read = NULL;
	int error;

	if (c->s->running) {
		file->against = "its console";
		return tell_changes(c, c->s->running);
	}
	if (older_than_start(&c->t->result->preflight, file->path)) {
		file->pending = PREFLIGHT_NO;
		file->against = "its start";
		return 0;
	}
	if (!c->history_known || !left->text)
		return 0;
	file->against = "history";
	error = opensm_conf_parse(left->text, left->size, &read);
	if (error == 0)
		error = tell_changes(c, read);
	opensm_conf_free(read);
	return error;
}

/* A file of which only the whole can be compared. `left`: what ibqos left or saw there last, NULL: not known. */
static void compare_whole(const struct comparing *c, int role, const struct text *now, const struct text *left)
{
	struct transaction *t = c->t;
	struct preflight_file *file = &t->result->preflight.files[role];
	struct finding *f;

	if (role == PREFLIGHT_RULES && (t->unfinished || !now->text || text_equal(now, &t->rules.new))) {
		file->pending = PREFLIGHT_NO; /* nothing but what the policy says */
		file->against = "the policy";
		return;
	}
	if (now->text && older_than_start(&t->result->preflight, file->path)) {
		file->pending = PREFLIGHT_NO;
		file->against = "its start";
		return;
	}
	if (!left) {
		/* one that is missing now may have been there when it was read */
		return;
	}
	file->against = "history";
	file->pending = text_equal(now, left) ? PREFLIGHT_NO : PREFLIGHT_YES;
	if (file->pending == PREFLIGHT_NO)
		return;
	file->changes = 1;
	f = finding_at(finding_add(t->findings, FINDING_APPLY_PENDING_EDITS), file->path, 0, 0);
	finding_set(&f->what, "the file");
	finding_set(&f->wanted, "as it is kept in %s", c->last.folder);
	tell_not_in_history(c, f);
	finding_set(&f->got, now->text ? left->text ? "another text" : "a file that was not there" : "no file");
}

static int compare_files(struct comparing *c, const struct text others[PREFLIGHT_FILES])
{
	const struct text *rules = c->last.state == HISTORY_UNDONE ? &c->last.rules_old : &c->last.rules_new;
	struct transaction *t = c->t;
	int error = 0;

	if (c->s->conf)
		error = compare_conf(c);
	compare_whole(c, PREFLIGHT_RULES, &t->rules.now, c->history_known ? rules : NULL);
	for (int role = PREFLIGHT_PARTITIONS; role < PREFLIGHT_FILES; role++) {
		const struct text *read = role == PREFLIGHT_PARTITIONS ? &c->last.partitions : &c->last.prefix_routes;
		bool known = c->history_known && (role == PREFLIGHT_PARTITIONS ? c->last.partitions_known : c->last.prefix_routes_known);

		if (t->result->preflight.files[role].path)
			compare_whole(c, role, &others[role], known ? read : NULL);
	}
	return error;
}

/* With consent they are told all the same. */
static void allow_pending(struct transaction *t)
{
	for (size_t i = 0; t->options->include_pending && i < t->findings->count; i++)
		if (t->findings->items[i].code == FINDING_APPLY_PENDING_EDITS)
			t->findings->items[i].severity = FINDING_WARNING;
}

/* Those that ibqos does not write, as they are. One that OpenSM sees otherwise is not known. */
static int read_others(struct transaction *t, struct text others[PREFLIGHT_FILES])
{
	struct apply_preflight *p = &t->result->preflight;

	for (int role = 0; role < PREFLIGHT_FILES; role++) {
		struct preflight_file *file = &p->files[role];
		const struct text *own = own_text(t, role, false);
		char *text = NULL;
		int error;

		if (own)
			file->exists = own->text != NULL;
		if (own || !file->path)
			continue;
		if (t->sm.pidfd >= 0 && opensm_sees(&t->sm, file->path) == 0) {
			free(file->path);
			file->path = NULL;
			continue;
		}
		error = file_read(file->path, &text, &others[role].size);
		others[role].text = text;
		file->exists = error != -ENOENT;
		if (error == -ENOMEM)
			return error;
	}
	return 0;
}

int survey_files(struct transaction *t, struct survey *s)
{
	struct text others[PREFLIGHT_FILES] = {{0}};
	struct comparing c = {.t = t, .s = s};
	int error = read_others(t, others);

	if (error == 0 && !t->undo) {
		c.history_known = history_last(t->ctx, t->conf.path, &c.last) == 0;
		error = compare_files(&c, others);
		allow_pending(t);
	}
	if (error == 0 && !t->undo)
		error = lint_files(t, others);
	history_clear(&c.last);
	for (int role = PREFLIGHT_PARTITIONS; role < PREFLIGHT_FILES; role++)
		free((char *)others[role].text);
	return error;
}
