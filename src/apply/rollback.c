/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The way back: old files, old tables. A stop by the user does not stop it: half-way is the worst
 * place to be.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transaction.h"

#define FIND_TRIES 10
#define FIND_MS 100

/*
 * The old files with the config made explicit for the way back: with QoS on, so that OpenSM programs the old
 * tables at all, and later, where QoS was off, with the key written: a key that is missing keeps its running
 * value over a reload (osm_subnet.c). The config first: where there is no room for it all stays as it was, and
 * rules that are left over do no harm to old tables.
 */
static int restore_files(struct transaction *t, const char *qos, char **made)
{
	struct text conf = {0};
	int error = conf_with_qos(&t->conf.old, qos, made, &conf.size);

	if (error != 0)
		return error;
	conf.text = *made;
	error = put_file(&t->conf, &conf);
	if (text_equal(&t->conf.now, &conf) && !text_equal(&t->rules.now, &t->rules.old))
		error = put_file(&t->rules, &t->rules.old);
	/* what is in place but for an fsync that failed serves */
	return text_equal(&t->conf.now, &conf) && text_equal(&t->rules.now, &t->rules.old) ? 0 : error;
}

static void say_not_rolled_back(struct transaction *t, const char *why)
{
	struct finding *f = finding_add(t->findings, FINDING_APPLY_ROLLBACK_FAILED);

	t->result->outcome = APPLY_NOT_ROLLED_BACK;
	finding_set(&f->got, "%s", why);
	finding_set(&f->detail, "the files before and after are kept in %s", t->result->history);
	note(t, APPLY_DONE, DONE_ROLLBACK_FAILED);
}

/* The old files are in place: what became of the ports. */
static void say_rolled_back(struct transaction *t, int error, bool qos_was_on)
{
	struct finding *f = finding_add(t->findings, FINDING_APPLY_ROLLED_BACK);
	const struct verify_result *back = &t->result->back;

	t->result->outcome = APPLY_ROLLED_BACK;
	if (t->undo && error == 0)
		f->severity = FINDING_NOTE;
	if (error == -ETIME || error == -EUCLEAN)
		finding_set(&f->got, "%u of %u ports do not hold the old tables", back->ports_differ + back->ports_unknown,
			    back->ports);
	else if (error == -ESRCH)
		finding_set(&f->got, "OpenSM is gone: the ports hold what it left there");
	else if (error != 0)
		finding_set(&f->got, "the ports could not be read: %s", strerror(-error));
	else
		finding_set(&f->got, "every port holds the old tables%s",
			    qos_was_on ? "" : ", which are OpenSM's own, as QoS was off before");
	finding_set(&f->detail, "the files before and after are kept in %s", t->result->history);
	note(t, APPLY_DONE, DONE_ROLLED_BACK);
}

/*
 * An OpenSM that has ended may have been started again since, before the old files were back: then it
 * has read the new ones, and is the one to tell now.
 */
static void find_again(struct transaction *t)
{
	for (unsigned n = 0; n < FIND_TRIES && !opensm_alive(&t->sm); n++) {
		struct opensm_instance now;

		if (n > 0)
			poll(NULL, 0, FIND_MS);
		if (opensm_find(t->ctx, t->conf.path, &now) == 0) {
			opensm_instance_clear(&t->sm);
			t->sm = now;
		}
	}
}

/*
 * QoS was off before: once the ports hold the old tables it is switched off again. Reading the ports
 * back takes a while, in which the files may have become somebody else's. 0; -ESTALE, with findings.
 */
static int switch_qos_off(struct transaction *t, char **text)
{
	int error = files_are_ours(t) ? restore_files(t, "FALSE", text) : -ESTALE;

	if (error == -ESTALE)
		say_not_rolled_back(t, "the old files were put back, but changed by somebody else since and so left alone: "
				       "`qos`, which was off before, is still TRUE there");
	else if (error != 0)
		say_not_rolled_back(t, strerror(-error));
	return error;
}

/* Which of the steps is in place, from 0; the last is the new config. */
static unsigned step_in_place(const struct transaction *t)
{
	unsigned step = 0;

	while (step < t->steps.count && !text_equal(&t->conf.now, &t->steps.conf[step]))
		step++;
	return step;
}

/*
 * Back through the tables in between, from which no mixture with the old ones holds traffic up. Whatever does
 * not come of it, the old tables are what counts. -ESTALE: the files are somebody else's by now.
 */
static int step_back(struct transaction *t)
{
	struct verify_result state;
	struct qos_config config;
	struct goal goal = {.ctx = t->ctx, .config = &config, .passing = true, .state = &state};
	struct verify *verify = NULL;
	bool enabled;

	if (!t->steps.back || text_equal(&t->conf.now, &t->conf.old))
		return 0;
	for (unsigned step = step_in_place(t); step > 0; step--) {
		if (!files_are_ours(t))
			return -ESTALE;
		if (config_of(conf_of_step(t, step - 1), t->conf.path, &config, &enabled) != 0 ||
		    put_file(&t->conf, conf_of_step(t, step - 1)) != 0)
			return 0;
		find_again(t);
		converge(t, &goal, &verify);
		verify_free(verify);
		verify = NULL;
	}
	return files_are_ours(t) ? 0 : -ESTALE;
}

static void go_back(struct transaction *t)
{
	struct verify *verify = NULL;
	struct qos_config config;
	struct goal goal = {.ctx = t->ctx, .config = &config, .state = &t->result->back};
	char *with_qos = NULL, *without = NULL;
	bool qos_was_on = false;
	int error, off;

	note(t, APPLY_ROLLBACK, "putting the old files back");
	/* what somebody else wrote meanwhile is not overwritten */
	error = files_are_ours(t) ? step_back(t) : -ESTALE;
	if (error == -ESTALE) {
		say_not_rolled_back(t, "the files are not those of this change any more, so they were left alone");
		return;
	}
	error = config_of(&t->conf.old, t->conf.path, &config, &qos_was_on);
	if (error == 0)
		error = restore_files(t, "TRUE", &with_qos);
	if (error != 0) {
		say_not_rolled_back(t, strerror(-error));
		goto out;
	}
	t->result->installed = false;
	find_again(t);
	error = converge(t, &goal, &verify);
	t->result->back_measured = verify != NULL;
	verify_free(verify);
	if (!qos_was_on) {
		if (switch_qos_off(t, &without) != 0)
			goto out;
		find_again(t);
		off = opensm_reload(&t->sm);
		t->result->reloads += off == 0;
		error = error ? error : off;
	}
	say_rolled_back(t, error, qos_was_on);
out:
	t->conf.now = (struct text){0};
	free(with_qos);
	free(without);
}

/*
 * The wish to stop that brought us here is set aside, so that MADs are sent again, and further ones
 * wait until the end.
 */
void roll_back(struct transaction *t)
{
	volatile sig_atomic_t *stop = t->ctx->stop;
	sig_atomic_t wish = stop ? *stop : 0;
	sigset_t held, before;

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGHUP);
	sigprocmask(SIG_BLOCK, &held, &before);
	if (stop)
		*stop = 0;
	go_back(t);
	if (stop)
		*stop = wish;
	sigprocmask(SIG_SETMASK, &before, NULL);
}
