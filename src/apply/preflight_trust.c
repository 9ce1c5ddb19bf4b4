/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Who can have written what this change goes by, and whether this process may do what it takes: nothing is
 * installed for somebody else's hand, nor begun that cannot be ended.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ibqos/trust.h"
#include "history.h"

/* OpenSM may write its own files: it is trusted with the fabric already. */
static void trust_opensm(const struct transaction *t, struct trust *trust)
{
	char name[64];
	struct stat st;

	if (t->ctx->trust)
		*trust = *t->ctx->trust;
	else
		trust_begin(trust);
	snprintf(name, sizeof(name), "/proc/%d", (int)t->sm.pid);
	if (t->sm.pid <= 0 || stat(name, &st) != 0)
		return;
	snprintf(name, sizeof(name), "%u:%u", (unsigned)st.st_uid, (unsigned)st.st_gid);
	trust_add(trust, name); /* where there is no room, it is not trusted */
}

static bool is_trusted(struct transaction *t, const struct trust *trust, const char *path)
{
	if (finding_trust(trust, t->findings, path))
		return true;
	/* told before, perhaps, when it was only read */
	for (size_t i = 0; i < t->findings->count; i++) {
		struct finding *f = &t->findings->items[i];

		if (f->code == FINDING_FILE_UNTRUSTED && f->file && strcmp(f->file, path) == 0)
			f->severity = FINDING_UNKNOWN;
	}
	return false;
}

bool preflight_trust(struct transaction *t)
{
	char *history = NULL;
	struct trust trust;
	bool go;

	if (asprintf(&history, "%s/" HISTORY_FOLDER, t->ctx->state_dir) < 0)
		history = NULL;
	go = history && is_trusted(t, t->ctx->trust, history);
	free(history);
	if (t->undone)
		go &= is_trusted(t, t->ctx->trust, t->undone);
	if (t->policy_path)
		go &= is_trusted(t, t->ctx->trust, t->policy_path);
	trust_opensm(t, &trust);
	go &= is_trusted(t, &trust, t->conf.path);
	go &= is_trusted(t, &trust, t->rules.path);
	for (int i = PREFLIGHT_PARTITIONS; i < PREFLIGHT_FILES; i++)
		if (t->result->preflight.files[i].path)
			go &= is_trusted(t, &trust, t->result->preflight.files[i].path);
	return go;
}

bool preflight_signal(struct transaction *t)
{
	int error = t->sm.pidfd >= 0 ? opensm_may_reload(&t->sm) : 0;
	struct finding *f;

	if (error != -EPERM)
		return true;
	f = finding_add(t->findings, FINDING_APPLY_NO_SIGNAL);
	finding_set(&f->what, "OpenSM, process %d", (int)t->sm.pid);
	finding_set(&f->got, "%s", strerror(-error));
	return false;
}
