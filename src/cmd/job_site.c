/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * ibqos job check --hosts --site: the paths of one job in each fabric of a site that it takes adapters of. A worker takes a snapshot
 * of each by the fabric's own port; --from has a folder of them. A fabric that was not looked at is unknown, by name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "job.h"
#include "rails_site.h"

bool cmd_job_by_site(const struct cmd_options *o, const char *site)
{
	struct stat from;

	if (o->from)
		return site && stat(o->from, &from) == 0 && S_ISDIR(from.st_mode);
	return site && !o->source.device && !o->source.port && !o->source.port_guid;
}

/* Whether an environment may take an adapter that the hosts have in it, as far as is known. */
static bool may_be_used(const struct job_wish *wish, const struct site_fabric *of)
{
	for (size_t i = 0; i < wish->env_count; i++)
		if (of->adapter_count == 0 || job_rail_use(&wish->envs[i], wish->question, of) != JOB_RAIL_USE_NONE)
			return true;
	return false;
}

/* Fabrics that no adapter of the job is in are no matter of its paths. */
static void drop_unused(struct rails_site *site, const struct job_wish *wish)
{
	size_t kept = 0;

	for (size_t i = 0; i < site->count; i++)
		if (may_be_used(wish, site->fabrics[i]))
			site->fabrics[kept++] = site->fabrics[i];
	site->count = kept;
}

/* Fabrics of the job that --fabric leaves out. */
static void tell_left_out(struct cmd_session *s, const struct rails_site *site, const struct job_wish *wish)
{
	for (size_t i = 0; i < site->site->count; i++) {
		const struct site_fabric *of = &site->site->fabrics[i];
		bool looked = of->adapter_count == 0 || !may_be_used(wish, of);
		struct finding *f;

		for (size_t n = 0; n < site->count; n++)
			looked |= site->fabrics[n] == of;
		if (looked)
			continue;
		f = finding_add(&s->findings, FINDING_JOB_PATHS_LEFT);
		finding_set(&f->fabric, "%s", of->name);
		for (size_t n = 0; n < of->adapter_count; n++)
			finding_append(&f->got, "%s", of->adapters[n]);
		finding_set(&f->detail, "--fabric leaves it out");
	}
}

/* Of a folder of snapshots. */
static int read_kept(struct cmd_session *s, const struct ibqos_ctx *ctx, const struct site_fabric *of, struct cmd_side *side)
{
	const char *map = s->options->source.node_name_map;
	char *path;
	int error;

	if (asprintf(&path, "%s/%s.snap", s->options->from, of->name) < 0)
		return -ENOMEM;
	s->findings.of_file = true;
	error = cmd_side_read(s, ctx, path, map ? map : of->node_name_map, side);
	if (error == 0)
		check_gaps(side->fabric, &s->findings);
	free(path);
	return error;
}

/* `w` NULL: it is in a folder. False, told: nothing is known of the fabric. */
static bool open_fabric(struct cmd_session *s, const struct ibqos_ctx *ctx, const struct site_fabric *of, const struct worker *w,
			struct cmd_side *side)
{
	const struct worker none = {.name = of->name};
	int error;

	if (w && !rails_site_answered(s, of, w))
		return false;
	error = w ? rails_site_read(s, ctx, of, w, side) : read_kept(s, ctx, of, side);
	if (error != 0)
		rails_site_lost(s, of, w ? w : &none, strerror(-error));
	return error == 0;
}

/* What a run about this fabric alone would tell, but for its findings, which come after those of the others. */
static void look_at(struct cmd_session *s, const struct job_wish *wish, const struct site_fabric *of, const struct worker *w)
{
	struct report_part part = {.whole = true, .seconds = w ? w->seconds : 0};
	struct finding_list others = s->findings;
	enum ibqos_exit least = s->least;
	struct ibqos_ctx ctx = *s->ctx;
	struct cmd_side side = {0};

	report_part(s->report, of->name);
	s->findings = (struct finding_list){0};
	s->least = IBQOS_EXIT_CLEAN;
	ctx.fabric = "";
	if (open_fabric(s, &ctx, of, w, &side)) {
		s->source = side.source;
		s->fabric = side.fabric;
		if (s->fabric->sm_lid == 0)
			finding_add(&s->findings, FINDING_NO_SM);
		cmd_job_paths_in(s, wish, of);
		s->source = NULL;
		s->fabric = NULL;
	} else {
		part.whole = false;
		s->least = IBQOS_EXIT_UNKNOWN;
		report_string(s->report, "error", "error", "it was not looked at");
	}
	cmd_side_close(&side);
	part.exit = session_worse(s->least, finding_exit(&s->findings));
	for (size_t i = 0; i < s->findings.count; i++) {
		struct finding *f = &s->findings.items[i];

		part.counts[f->severity]++;
		part.told[f->severity] += !f->told_by_another;
		if (!f->fabric)
			finding_set(&f->fabric, "%s", of->name);
		finding_move(f, &others);
	}
	others.lost |= s->findings.lost;
	finding_list_clear(&s->findings);
	s->findings = others;
	report_part_end(s->report, &part);
	s->least = session_worse(least, part.exit);
}

void cmd_job_paths_site(struct cmd_session *s, const struct job_wish *wish, struct site *of, bool trusted, int argc, char **argv)
{
	struct rails_site site = {.site = of, .words = {.argp = &cmd_job_check_argp, .only = cmd_source_children}};
	const char *names = s->ctx->fabric ? s->ctx->fabric : "";
	bool live = !s->options->from;

	if (!site_words_sort(s->ctx, s->options, argc, argv, &site.words)) {
		session_fail(s, "an option is not for many fabrics");
		goto out;
	}
	if (!site_choose(s, of, live, names, &site.fabrics, &site.count))
		goto out;
	drop_unused(&site, wish);
	tell_left_out(s, &site, wish);
	if (site.count == 0) {
		session_fail(s, "cannot follow paths: the job takes no adapter of these fabrics");
		goto out;
	}
	if (live && !rails_site_run(s, trusted, &site))
		goto out;
	report_parts(s->report, "fabrics");
	for (size_t i = 0; i < site.count; i++)
		look_at(s, wish, site.fabrics[i], live ? &site.workers[i] : NULL);
	report_parts_end(s->report);
out:
	site.site = NULL; /* the caller's */
	rails_site_clear(&site);
}
