/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A change that is undone unless somebody confirms it: for the admin whose own connection hangs on the fabric. The
 * timer is systemd's (a transient unit, systemd-run(1)) and so does not depend on this process; it is set before
 * the first file is touched. It ends with the machine: a reboot leaves the change in force, waiting.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "history.h"
#include "ibqos/faultpoint.h"

#define UNIT "ibqos-unconfirmed-"
#define SAID 256 /* of what a program says when it fails */

extern char **environ;

char *history_by_id(const struct ibqos_ctx *ctx, const char *id)
{
	char *path = NULL;

	if (!*id || *id == '.' || strchr(id, '/'))
		return NULL;
	return asprintf(&path, "%s/" HISTORY_FOLDER "/%s", ctx->state_dir, id) < 0 ? NULL : path;
}

/* --- programs --- */

/* The environment without what is preloaded into this process: NULL: out of memory. */
static char **environment(void)
{
	size_t count = 0, at = 0;
	char **copy;

	while (environ[count])
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < count; i++)
		if (strncmp(environ[i], "LD_", 3) != 0)
			copy[at++] = environ[i];
	return copy;
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

/* Runs a program found by PATH; `said` gets what it said on standard error. 0; -ECHILD: it failed; -errno. */
static int run_program(char *const argv[], char said[SAID])
{
	int out = memfd_create("ibqos-said", MFD_CLOEXEC), error;
	char **env = environment();
	posix_spawn_file_actions_t actions;
	ssize_t length;
	pid_t pid;

	said[0] = '\0';
	if (out < 0 || !env) {
		error = out < 0 ? -errno : -ENOMEM;
		goto out;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
	error = -posix_spawnp(&pid, argv[0], &actions, NULL, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	if (error == 0)
		error = wait_for(pid);
	length = pread(out, said, SAID - 1, 0);
	said[length > 0 ? length : 0] = '\0';
	said[strcspn(said, "\n")] = '\0';
out:
	if (out >= 0)
		close(out);
	free(env);
	return error;
}

/* --- the timer --- */

static size_t words(const char *const *command)
{
	size_t count = 0;

	while (command[count])
		count++;
	return count;
}

static int set_timer(const struct transaction *t, const char *id, char said[SAID])
{
	char *unit = NULL, *after = NULL;
	size_t count = words(t->options->undo_command), at = 0;
	const char **argv = calloc(count + 12, sizeof(*argv));
	int error = -ENOMEM;

	said[0] = '\0';
	if (!argv || asprintf(&unit, "--unit=" UNIT "%s", id) < 0) {
		unit = NULL;
		goto out;
	}
	if (asprintf(&after, "--on-active=%us", t->options->confirm_within_s) < 0) {
		after = NULL;
		goto out;
	}
	argv[at++] = "systemd-run";
	argv[at++] = unit;
	argv[at++] = after;
	argv[at++] = "--timer-property=AccuracySec=1s";
	argv[at++] = "--description=undo a change of ibqos that nobody confirmed";
	argv[at++] = "--";
	memcpy(&argv[at], t->options->undo_command, count * sizeof(*argv));
	at += count;
	argv[at++] = "--unconfirmed";
	argv[at++] = id;
	error = run_program((char *const *)argv, said);
out:
	free(argv);
	free(unit);
	free(after);
	return error;
}

bool confirm_arm(struct transaction *t)
{
	const char *id = history_id(t->result->history);
	time_t until = time(NULL) + t->options->confirm_within_s;
	char said[SAID], when[32] = "", text[128 + NAME_MAX];
	struct finding *f;
	struct tm utc;
	int error;

	if (t->options->confirm_within_s == 0)
		return true;
	FAULT_POINT("arm");
	error = set_timer(t, id, said);
	FAULT_POINT("armed");
	if (gmtime_r(&until, &utc))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc);
	snprintf(text, sizeof(text), CONFIRM_WAITING " until %s, by timer " UNIT "%s", when, id);
	if (error == 0) {
		error = history_note(t->result->history, APPLY_CONFIRM, text);
		if (error != 0) /* without the line it would do nothing */
			confirm_disarm(t->result->history);
		t->result->confirm_id = error == 0 ? strdup(id) : NULL;
	}
	if (error == 0)
		return true;
	f = finding_add(t->findings, FINDING_APPLY_NO_TIMER);
	finding_set(&f->what, "systemd-run");
	finding_set(&f->got, "%s", error == -ECHILD ? (*said ? said : "it failed") : strerror(-error));
	return false;
}

void confirm_disarm(const char *folder)
{
	char said[SAID], *unit = NULL;

	if (asprintf(&unit, UNIT "%s.timer", history_id(folder)) < 0)
		return;
	run_program((char *const[]){"systemctl", "stop", unit, NULL}, said);
	free(unit);
}

/* --- who waits --- */

bool none_waits(struct transaction *t)
{
	struct history h;
	struct finding *f;
	bool waits;

	/* also one that cannot be read whole */
	history_newest(t->ctx, t->conf.path, &h);
	waits = h.folder && h.state == HISTORY_IN_FORCE && h.confirm == HISTORY_WAITING;
	if (waits) {
		f = finding_at(finding_add(t->findings, FINDING_APPLY_UNCONFIRMED), h.folder, 0, 0);
		finding_set(&f->got, "its journal ends with: %s", h.last ? h.last : "nothing");
	}
	history_clear(&h);
	return !waits;
}

bool still_waits(struct transaction *t, struct history *h)
{
	char *folder = strdup(h->folder);
	int error = -ENOMEM;

	history_clear(h);
	if (folder)
		error = history_read(t->ctx, folder, h);
	free(folder);
	if (error == 0 && h->confirm == HISTORY_WAITING && (h->state == HISTORY_IN_FORCE || h->state == HISTORY_CUT_SHORT))
		return true;
	if (error == 0)
		t->result->outcome = APPLY_KEPT;
	return false;
}

/* --- to confirm --- */

static int confirm(struct transaction *t, struct history *h, char **confirmed)
{
	struct finding *f;
	int error;

	if (!still_waits(t, h)) {
		if (h->confirm == HISTORY_CONFIRMED && h->state == HISTORY_IN_FORCE) {
			*confirmed = strdup(history_id(h->folder));
			return *confirmed ? 0 : -ENOMEM;
		}
		finding_at(finding_add(t->findings, h->confirm == HISTORY_WAITING && h->state == HISTORY_UNDONE ?
						    FINDING_CONFIRM_TOO_LATE : FINDING_CONFIRM_NOT_WAITING),
			   h->folder, 0, 0);
		return 0;
	}
	if (h->state == HISTORY_CUT_SHORT) {
		finding_at(finding_add(t->findings, FINDING_CONFIRM_CUT_SHORT), h->folder, 0, 0);
		return 0;
	}
	error = history_note(h->folder, APPLY_CONFIRM, CONFIRM_CONFIRMED);
	if (error != 0) {
		f = finding_at(finding_add(t->findings, FINDING_APPLY_JOURNAL), h->folder, 0, 0);
		f->severity = FINDING_CRITICAL; /* it is as if it had not been confirmed */
		finding_set(&f->got, "%s", strerror(-error));
		return 0;
	}
	confirm_disarm(h->folder);
	*confirmed = strdup(history_id(h->folder));
	return *confirmed ? 0 : -ENOMEM;
}

/*
 * Without an ID: the one change that waits; where none does, the newest. -EEXIST, with a finding: two wait, of two
 * configs that share the state directory.
 */
static int choose(const struct ibqos_ctx *ctx, struct finding_list *findings, struct history *chosen)
{
	char **folders = NULL, *ids = NULL;
	struct history h;
	size_t count = 0;
	int error = history_folders(ctx, &folders, &count), waiting = 0;

	*chosen = (struct history){0};
	for (size_t i = 0; i < count && error == 0; i++) {
		char *more = NULL;

		error = history_read(ctx, folders[i], &h) == -ENOMEM ? -ENOMEM : 0;
		if (error != 0 || h.confirm != HISTORY_WAITING || (h.state != HISTORY_IN_FORCE && h.state != HISTORY_CUT_SHORT)) {
			history_clear(&h);
			continue;
		}
		if (asprintf(&more, "%s%s%s", ids ? ids : "", ids ? ", " : "", history_id(folders[i])) < 0)
			error = -ENOMEM;
		free(ids);
		ids = error == 0 ? more : NULL;
		if (waiting++ == 0)
			*chosen = h;
		else
			history_clear(&h);
	}
	if (error == 0 && waiting > 1) {
		finding_set(&finding_at(finding_add(findings, FINDING_CONFIRM_AMBIGUOUS), ctx->state_dir, 0, 0)->got, "%s", ids);
		error = -EEXIST;
	}
	free(ids);
	history_folders_free(folders, count);
	if (error != 0 || waiting == 1)
		return error != 0 ? error : chosen->conf_path ? 0 : -EINVAL;
	return history_read(ctx, NULL, chosen);
}

int apply_confirm(const struct ibqos_ctx *ctx, const char *id, struct finding_list *findings, char **confirmed)
{
	struct apply_options options = {0};
	struct apply_result result = {0};
	struct transaction t = {.ctx = ctx, .options = &options, .findings = findings, .result = &result,
				.sm = {.pidfd = -1}, .lock = -1};
	char *folder = id ? history_by_id(ctx, id) : NULL;
	struct history h = {0};
	int error = id && !folder ? -ENOENT : id ? history_read(ctx, folder, &h) : choose(ctx, findings, &h);

	*confirmed = NULL;
	if (error == 0) {
		t.conf.path = h.conf_path;
		t.rules.path = h.rules_path;
		/* so that the timer does not undo it meanwhile */
		if (lock_files(&t))
			error = confirm(&t, &h, confirmed);
	} else if (error == -EEXIST) { /* told */
		error = 0;
	} else if (error != -ENOMEM) {
		struct finding *f = finding_add(findings, FINDING_CONFIRM_NOT_WAITING);

		finding_at(f, h.folder ? h.folder : folder ? folder : ctx->state_dir, 0, 0);
		if (error != -ENOENT) /* the title says that there is none */
			finding_set(&f->got, "%s", strerror(-error));
		else if (id)
			finding_set(&f->got, "no change is called that");
		error = 0;
	}
	if (t.lock >= 0)
		close(t.lock);
	history_clear(&h);
	free(folder);
	return error;
}
