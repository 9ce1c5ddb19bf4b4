/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * ibqos snapshot --accept: a snapshot becomes the baseline after it was looked at. The old one stays beside it under the time,
 * and a log says who accepted what and when.
 */
#include "accept.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "diff_states.h"

#include "ibqos/maintenance.h"
#include "ibqos/snapshot.h"

#define DATED 17 /* characters of ".20261130T101112Z" */
#define SAME_SECOND 100 /* copies in one second: ".20261130T101112Z-01" */

struct accepting {
	struct cmd_session *s;
	const struct cmd_accept *o;
	char *new, *old; /* bytes; old NULL: there is no baseline yet */
	size_t new_size, old_size;
	char *copy;	 /* path of the old one, once it is kept */
	char *log;	 /* path */
	uint64_t taken, old_taken;
};

/* --- files --- */

/* A path beside the baseline that there is not yet. */
static int find_copy(struct accepting *a)
{
	time_t now = time(NULL);
	char when[32];
	struct tm tm;

	if (!gmtime_r(&now, &tm) || strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm) == 0)
		return -EOVERFLOW;
	for (unsigned n = 0; n < SAME_SECOND; n++) {
		char more[16] = "";

		if (n > 0)
			snprintf(more, sizeof(more), "-%02u", n);
		if (asprintf(&a->copy, "%s.%s%s", a->o->baseline, when, more) < 0) {
			a->copy = NULL;
			return -ENOMEM;
		}
		if (access(a->copy, F_OK) != 0)
			return 0;
		free(a->copy);
		a->copy = NULL;
	}
	return -EEXIST;
}

static int append_log(struct accepting *a)
{
	char *old = NULL, *all = NULL, *who = maintenance_who(), when[SESSION_TIME], taken[SESSION_TIME];
	/* a name may have a newline in it, and make another line of the log */
	char *from = text_utf8(a->o->accept, strlen(a->o->accept)), *copy = a->copy ? text_utf8(a->copy, strlen(a->copy)) : NULL;
	size_t size = 0;
	int error = who && from && (copy || !a->copy) ? file_read(a->log, &old, &size) : -ENOMEM, length;

	if (error == -ENOENT)
		error = 0;
	session_time((uint64_t)time(NULL), when);
	session_time(a->taken, taken);
	if (error == 0) {
		length = asprintf(&all, "%s%s %s accepted %s, taken %s%s%s\n", old ? old : "", when, who, from, taken,
				  copy ? ", in place of " : "", copy ? copy : "");
		error = length < 0 ? -ENOMEM : file_replace(a->log, all, (size_t)length, 0644);
		free(length < 0 ? NULL : all);
	}
	free(old);
	free(who);
	free(from);
	free(copy);
	return error;
}

/* A dated copy by its name, behind the baseline's. */
static bool is_copy(const char *name, const char *base)
{
	static const char shape[] = ".00000000T000000Z";
	size_t length = strlen(base);

	if (strncmp(name, base, length) != 0)
		return false;
	name += length;
	for (size_t i = 0; i < DATED; i++)
		if (shape[i] == '0' ? name[i] < '0' || name[i] > '9' : name[i] != shape[i])
			return false;
	name += DATED;
	return !*name || (*name == '-' && strspn(name + 1, "0123456789") == 2 && !name[3]);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Removes the oldest copies beyond those to be kept. */
static int prune(const struct cmd_accept *o, unsigned *removed)
{
	const char *slash = strrchr(o->baseline, '/'), *base = slash ? slash + 1 : o->baseline;
	char *folder = slash ? strndup(o->baseline, (size_t)(slash - o->baseline + 1)) : strdup("./"), **names = NULL;
	DIR *dir = folder ? opendir(folder) : NULL;
	size_t count = 0, room = 0;
	const struct dirent *at;
	int error = dir ? 0 : -errno;

	*removed = 0;
	while (dir && error == 0 && (at = readdir(dir))) {
		char **grown;

		if (!is_copy(at->d_name, base))
			continue;
		grown = array_grow(names, &room, count + 1, sizeof(*grown));
		if (!grown) {
			error = -ENOMEM;
			break;
		}
		names = grown;
		names[count] = NULL;
		if (asprintf(&names[count], "%s%s", folder, at->d_name) < 0)
			error = -ENOMEM;
		else
			count++;
	}
	if (count > 0)
		qsort(names, count, sizeof(*names), by_text);
	for (size_t i = 0; error == 0 && i + o->keep < count; i++) {
		error = file_remove(names[i]);
		*removed += error == 0;
	}
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
	free(folder);
	if (dir)
		closedir(dir);
	return error;
}

/* The old one is kept before anything else, so that a run that is cut short loses nothing. */
static bool install(struct accepting *a, unsigned *removed)
{
	int error = 0;

	if (a->old) {
		error = find_copy(a);
		if (error == 0)
			error = file_replace(a->copy, a->old, a->old_size, 0644);
	}
	if (error == 0)
		error = file_replace(a->o->baseline, a->new, a->new_size, 0644);
	if (error != 0) {
		session_fail(a->s, "not accepted: cannot write '%s': %s", a->copy && a->old ? a->copy : a->o->baseline, strerror(-error));
		return false;
	}
	error = append_log(a);
	if (error != 0)
		session_fail(a->s, "accepted, but cannot write '%s': %s", a->log, strerror(-error));
	error = prune(a->o, removed);
	if (error != 0)
		session_fail(a->s, "accepted, but cannot remove old copies of '%s': %s", a->o->baseline, strerror(-error));
	return true;
}

/* --- what is accepted --- */

/* True if it can be a baseline: a snapshot, whole, of the same fabric. */
static bool is_fit(struct accepting *a, const struct cmd_side *new, const struct cmd_side *old)
{
	struct snapshot_info info, was = {0};

	if (!source_snapshot(new->source)) {
		session_fail(a->s, "'%s' is no snapshot", a->o->accept);
		return false;
	}
	snapshot_info(source_snapshot(new->source), &info);
	a->taken = info.taken;
	if (info.stopped != 0) {
		session_fail(a->s, "'%s' is not whole, so it can be no baseline: take another one", a->o->accept);
		return false;
	}
	if (!old)
		return true;
	if (source_snapshot(old->source))
		snapshot_info(source_snapshot(old->source), &was);
	if (info.redacted != was.redacted) {
		session_fail(a->s, "of '%s' and '%s' one has names and GUIDs replaced", a->o->accept, a->o->baseline);
		return false;
	}
	if (fabric_is_same(old->fabric, new->fabric))
		return true;
	session_fail(a->s, "'%s' is of another fabric than '%s': fewer than half of the nodes are the same; remove that first if it is meant",
		     a->o->accept, a->o->baseline);
	return false;
}

/* The very bytes that were compared. */
static bool is_still(struct accepting *a)
{
	char *now = NULL;
	size_t size = 0;
	int error = file_read(a->o->accept, &now, &size);
	bool same = error == 0 && size == a->new_size && memcmp(now, a->new, size) == 0;

	free(now);
	if (!same)
		session_fail(a->s, "'%s' has changed meanwhile: not accepted", a->o->accept);
	return same;
}

/* What was reviewed is no fault any more; what could not be compared stays unknown. */
static void soften(struct finding_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].severity != FINDING_UNKNOWN)
			list->items[i].severity = FINDING_NOTE;
}

static void report(struct accepting *a, bool accepted, unsigned removed)
{
	struct report *r = a->s->report;

	report_section(r, "baseline", "baseline");
	report_string(r, "file", "file", a->o->baseline);
	report_bool(r, "accepted", "accepted", accepted);
	if (accepted) {
		if (a->copy)
			report_string(r, "kept", "the old one is", a->copy);
		report_number(r, "removed", "older ones removed", removed);
		report_string(r, "log", "log", a->log);
	}
	report_section_end(r);
}

static bool ask(void)
{
	char line[16] = "";

	fprintf(stderr, "Accept it as the new baseline? [y/N] ");
	fflush(stderr);
	return fgets(line, sizeof(line), stdin) && (strcmp(line, "y\n") == 0 || strcmp(line, "yes\n") == 0);
}

/* Shows the difference, and on a terminal asks: findings stand at the end of a report, which then has ended. */
static enum ibqos_exit decide(struct accepting *a, bool fit)
{
	bool terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO), accepted = false;
	unsigned removed = 0;
	enum ibqos_exit code;

	if (fit && (a->o->yes || !a->old)) {
		accepted = is_still(a) && install(a, &removed);
		if (accepted)
			soften(&a->s->findings);
	}
	if (fit)
		report(a, accepted, removed);
	if (fit && !accepted && a->s->least == IBQOS_EXIT_CLEAN && !terminal)
		session_fail(a->s, "not accepted: look at what has changed, then add --yes");
	if (!fit || accepted || !terminal || a->s->least != IBQOS_EXIT_CLEAN)
		return session_end(a->s);
	code = session_end(a->s);
	if (!ask())
		return IBQOS_EXIT_UNKNOWN;
	/* the session's report has ended: messages alone */
	a->s->report = report_begin(a->s->ctx, stdout, REPORT_TEXT);
	if (!a->s->report)
		return IBQOS_EXIT_UNKNOWN;
	a->s->least = IBQOS_EXIT_CLEAN;
	accepted = is_still(a) && install(a, &removed);
	report(a, accepted, removed);
	report_end(a->s->report, accepted ? a->s->least : IBQOS_EXIT_UNKNOWN);
	return !accepted ? IBQOS_EXIT_UNKNOWN : code == IBQOS_EXIT_UNKNOWN ? code : a->s->least;
}

static enum ibqos_exit run(struct accepting *a)
{
	struct cmd_side old = {0}, new = {0};
	struct diff_result diff = {0};
	enum ibqos_exit code;
	bool fit = cmd_side_open(a->s, a->s->ctx, a->o->accept, NULL, &new);

	if (fit && a->old)
		fit = cmd_side_open(a->s, a->s->ctx, a->o->baseline, NULL, &old);
	a->s->findings.of_file = true;
	if (fit && a->old)
		cmd_sides_gaps(a->s, old.fabric, new.fabric);
	else if (fit)
		check_gaps(new.fabric, &a->s->findings);
	fit = fit && is_fit(a, &new, a->old ? &old : NULL);
	if (fit && a->old) {
		cmd_sides_report(a->s->report, a->o->baseline, &old, a->o->accept, &new);
		fit = cmd_diff_sides(a->s, &old, &new, NULL, &diff) == 0;
	}
	code = decide(a, fit);
	diff_result_clear(&diff);
	cmd_side_close(&old);
	cmd_side_close(&new);
	return code;
}

enum ibqos_exit cmd_accept(struct ibqos_ctx *ctx, const struct cmd_options *options, const struct cmd_accept *accept)
{
	struct accepting a = {.o = accept};
	enum ibqos_exit code = IBQOS_EXIT_UNKNOWN;
	struct cmd_session s;
	int lock = -1, error;

	if (!session_begin(&s, ctx, options))
		return IBQOS_EXIT_UNKNOWN;
	a.s = &s;
	session_trust(&s, accept->baseline);
	error = file_lock(ctx, accept->baseline, 0, &lock);
	if (error == 0)
		error = file_read(accept->accept, &a.new, &a.new_size);
	if (error == 0) {
		error = file_read(accept->baseline, &a.old, &a.old_size);
		error = error == -ENOENT ? 0 : error;
	}
	if (error == 0 && asprintf(&a.log, "%s.log", accept->baseline) < 0) {
		a.log = NULL;
		error = -ENOMEM;
	}
	if (error != 0) {
		session_fail(&s, "cannot accept '%s' as baseline '%s': %s", accept->accept, accept->baseline,
			     error == -EWOULDBLOCK ? "another run does so at this moment" : strerror(-error));
		session_end(&s);
	} else {
		code = run(&a);
	}
	file_unlock(lock);
	free(a.new);
	free(a.old);
	free(a.copy);
	free(a.log);
	return code;
}
