/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Starting OpenSM again, where nothing less makes it read its config: it had none when it was started, so
 * that it has no path to read on a reload (osm_subnet.c:2216-2227, 2282). Done by systemctl and only where
 * the process is a service of systemd's: what else started it, with which environment and limits, is
 * not known here, so the commands are told instead.
 */
#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "survey.h"

#define FIND_MS 200

bool judge_restart(struct transaction *t)
{
	const struct apply_preflight *p = &t->result->preflight;
	struct finding *f;

	t->restart = !t->conf.now.text;
	if (!t->restart || p->pid == 0)
		return true;
	if (t->options->allow_restart && p->facts.unit)
		return true;
	f = finding_at(finding_add(t->findings, FINDING_APPLY_RESTART_NEEDED), t->conf.path, 0, 0);
	finding_set(&f->what, "OpenSM, process %d", p->pid);
	if (p->facts.unit)
		finding_set(&f->detail, "by hand: systemctl restart %s", p->facts.unit);
	else
		finding_set(&f->detail, "it is no service of systemd's, so neither ibqos nor --allow-restart does it: put a config there (opensm -c %s writes "
			    "its defaults), end it, and start it as it was: %s", t->conf.path,
			    p->facts.command ? p->facts.command : "its command line is not known");
	return false;
}

/* The environment is ours but for what is preloaded into us. */
static int run_systemctl(const char *unit)
{
	const char *search = getenv("PATH");
	char *path = NULL, *argv[] = {"systemctl", "restart", (char *)unit, NULL};
	char *environment[] = {NULL, "LC_ALL=C.UTF-8", NULL};
	pid_t pid;
	int error, status;

	if (asprintf(&path, "PATH=%s", search ? search : "/usr/bin:/bin") < 0)
		return -ENOMEM;
	environment[0] = path;
	error = -posix_spawnp(&pid, argv[0], NULL, NULL, argv, environment);
	free(path);
	if (error != 0)
		return error;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

/* The new process, once it takes a SIGHUP. */
static int find_new(struct transaction *t, uint64_t until)
{
	pid_t old = t->sm.pid;
	struct opensm_instance now;

	do {
		if (opensm_find(t->ctx, t->conf.path, &now) == 0) {
			if (now.pid != old) {
				opensm_instance_clear(&t->sm);
				t->sm = now;
				return 0;
			}
			opensm_instance_clear(&now);
		}
		poll(NULL, 0, FIND_MS);
	} while (clock_ns() < until && !ctx_stopped(t->ctx));
	return ctx_stopped(t->ctx) ? -EINTR : -ETIME;
}

int restart(struct transaction *t)
{
	const char *unit = t->result->preflight.facts.unit;
	char text[320];
	int error;

	snprintf(text, sizeof(text), "starting OpenSM again: systemctl restart %s", unit);
	note(t, APPLY_RELOAD, text);
	error = run_systemctl(unit);
	if (error == 0)
		error = find_new(t, clock_ns() + t->options->deadline_s * 1000000000ull);
	if (error != 0) {
		snprintf(text, sizeof(text), "%s", error == -EIO ? "systemctl failed" : error == -ETIME ? "no OpenSM came up with this config"
													: strerror(-error));
		say_failed(t, "restart", text);
		return error;
	}
	t->result->restarted = true;
	return 0;
}
