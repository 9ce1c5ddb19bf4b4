/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* OpenSM's two files put in place, and back where one of them fails. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/faultpoint.h"
#include "transaction.h"

static bool holds(const char *path, const struct text *text)
{
	struct text there = {0};
	char *data = NULL;
	int error = file_read(path, &data, &there.size);
	bool same;

	there.text = error == 0 ? data : NULL;
	same = (error == 0 || error == -ENOENT) && text_equal(&there, text);
	free(data);
	return same;
}

int put_file(struct change_file *file, const struct text *text)
{
	int error = text->text ? file_replace(file->path, text->text, text->size, 0644) : file_remove(file->path);

	/* Where only the folder's fsync failed, or removing it, the file may be there all the same. */
	if (error == 0 || holds(file->path, text))
		file->now = *text;
	return error;
}

void note(struct transaction *t, enum apply_step step, const char *text)
{
	int error;

	t->result->reached = step;
	ctx_info(t->ctx, "%s: %s", apply_step_name(step), text);
	error = t->result->history ? history_note(t->result->history, step, text) : 0;
	if (error != 0 && t->journal_error == 0)
		t->journal_error = error;
}

void say_failed(struct transaction *t, const char *what, const char *why)
{
	struct finding *f = finding_add(t->findings, FINDING_APPLY_FAILED);

	if (what)
		finding_set(&f->what, "%s", what);
	finding_set(&f->got, "%s", why);
}

/* Puts back what is not as it was. An fsync that fails again does not make it another file. */
static bool put_back(struct transaction *t, struct change_file *file, const struct text *was)
{
	struct finding *f;
	int error = text_equal(&file->now, was) ? 0 : put_file(file, was);

	if (text_equal(&file->now, was))
		return true;
	f = finding_at(finding_add(t->findings, FINDING_APPLY_ROLLBACK_FAILED), file->path, 0, 0);
	finding_set(&f->got, "%s", strerror(-error));
	finding_set(&f->detail, "the files before and after are kept in %s", t->result->history);
	return false;
}

const struct text *conf_of_step(const struct transaction *t, unsigned step)
{
	return step < t->steps.count ? &t->steps.conf[step] : &t->conf.new;
}

/*
 * The rules first: read with the old tables they do no harm, the tables without them would mislead. OpenSM has
 * been told nothing yet, so on failure the files are simply put back.
 */
int install(struct transaction *t)
{
	const struct text conf = t->conf.now, rules = t->rules.now;
	const char *failed = t->rules.path;
	int error;
	bool back;

	t->result->outcome = APPLY_NOT_INSTALLED;
	if (ctx_stopped(t->ctx)) {
		say_failed(t, NULL, "stopped by a signal");
		return -EINTR;
	}
	/* Once more, right before: reading the ports took its time, and others may edit these files. */
	if (!files_are_ours(t))
		return -EBUSY;
	error = put_file(&t->rules, &t->rules.new);
	if (error == 0) {
		failed = t->conf.path;
		error = put_file(&t->conf, conf_of_step(t, 0));
	}
	if (error == 0) {
		t->result->installed = true;
		return 0;
	}
	say_failed(t, failed, strerror(-error));
	back = put_back(t, &t->conf, &conf);
	back = put_back(t, &t->rules, &rules) && back;
	if (!back)
		t->result->outcome = APPLY_NOT_ROLLED_BACK;
	note(t, APPLY_DONE, back ? DONE_NOT_INSTALLED : DONE_ROLLBACK_FAILED);
	return error;
}

/* The config of a later step. -ESTALE, with findings: somebody else has changed a file meanwhile. */
int install_step(struct transaction *t, unsigned step)
{
	char text[64];

	if (!files_are_ours(t))
		return -ESTALE;
	snprintf(text, sizeof(text), "tables %u of %u", step + 1, t->steps.count + 1);
	note(t, APPLY_INSTALL, text);
	return put_file(&t->conf, conf_of_step(t, step));
}
