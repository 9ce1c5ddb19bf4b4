/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * ibqos rails --site: each fabric has a worker, this program run anew or behind the fabric's `via`, which writes a snapshot to its
 * standard output; that goes to a file without a name. What becomes of one worker touches no other fabric.
 */
#include "rails_site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "ibqos/snapshot.h"

static bool prepare(struct cmd_session *s, struct rails_site *site)
{
	site->workers = calloc(site->count, sizeof(*site->workers));
	if (!site->workers) {
		session_fail(s, "out of memory");
		return false;
	}
	for (size_t i = 0; i < site->count; i++) {
		const struct site_fabric *f = site->fabrics[i];

		site->workers[i] = (struct worker){.name = f->name, .timeout_s = f->timeout_s, .mark = SNAPSHOT_MAGIC};
		site->workers[i].argv = site_argv(s->ctx, &site->words, f);
		if (!site->workers[i].argv) {
			session_fail(s, "out of memory");
			return false;
		}
	}
	return true;
}

bool rails_site_take(struct cmd_session *s, const char *names, struct rails_site *site)
{
	const char *path = s->options->site;
	bool trusted = session_trust(s, path);
	int error = site_read(path, &s->findings, &site->site);

	report_string(s->report, "site", "site", path);
	report_by_fabric(s->report);
	if (error != 0)
		session_fail(s, "cannot read site %s: %s", path, strerror(-error));
	return site->site && site_choose(s, site->site, true, names, &site->fabrics, &site->count) && rails_site_run(s, trusted, site);
}

bool rails_site_run(struct cmd_session *s, bool trusted, struct rails_site *site)
{
	int error;

	site->words.taking = true;
	if (!site_may_run(s, site->fabrics, site->count, trusted) || !prepare(s, site))
		return false;
	error = workers_run(s->ctx, site->workers, site->count, site_progress, s);
	ctx_progress_end(s->ctx);
	if (error != 0)
		session_fail(s, "cannot look at the fabrics: %s", strerror(-error));
	if (error == 0 && ctx_stopped(s->ctx))
		session_fail(s, "stopped by a signal: nothing was %s", strcmp(s->ctx->command, "rails") == 0 ? "compared" : "looked at");
	return error == 0 && !ctx_stopped(s->ctx);
}

int rails_site_read(struct cmd_session *s, const struct ibqos_ctx *ctx, const struct site_fabric *fabric, const struct worker *w,
		    struct cmd_side *side)
{
	const char *map = s->options->source.node_name_map;
	char path[40];
	int error;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(w->output));
	error = cmd_side_read(s, ctx, path, map ? map : fabric->via_count ? NULL : fabric->node_name_map, side);
	if (error == 0 && !source_snapshot(side->source))
		error = -EBADMSG;
	if (error == 0)
		check_gaps(side->fabric, &s->findings);
	return error;
}

void rails_site_lost(struct cmd_session *s, const struct site_fabric *fabric, const struct worker *w, const char *why)
{
	struct finding *f = finding_add(&s->findings, FINDING_SITE_NO_ANSWER);

	finding_set(&f->fabric, "%s", fabric->name);
	finding_set(&f->detail, "%s", why);
	if (w->last_line)
		finding_set(&f->got, "%s", w->last_line);
}

bool rails_site_answered(struct cmd_session *s, const struct site_fabric *fabric, const struct worker *w)
{
	char why[96];

	if (w->fault)
		snprintf(why, sizeof(why), "%s", w->fault);
	else if (WIFSIGNALED(w->status))
		snprintf(why, sizeof(why), "it was ended by signal %d (%s)", WTERMSIG(w->status), strsignal(WTERMSIG(w->status)));
	else if (w->bytes == 0)
		snprintf(why, sizeof(why), "it ended with status %d without a snapshot", WEXITSTATUS(w->status));
	else
		return true;
	rails_site_lost(s, fabric, w, why);
	return false;
}

void rails_site_clear(struct rails_site *site)
{
	if (site->workers)
		workers_clear(site->workers, site->count);
	for (size_t i = 0; site->workers && i < site->count; i++)
		site_argv_free((char **)site->workers[i].argv);
	free(site->workers);
	free(site->fabrics);
	site_free(site->site);
	site_words_clear(&site->words);
}
