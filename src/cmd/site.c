/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * --site: a command about many fabrics at once. Each fabric has a worker, this program run anew, which hands back its report as
 * the calls that made it (report_replay()); they become parts of one report, their findings one list, the worst exit code the
 * whole's. A fabric whose worker gave no whole answer is unknown, by name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "site_args.h"
#include "workers.h"

#include "ibqos/site.h"

struct part {
	const struct site_fabric *fabric;
	bool whole; /* there is an answer */
	bool silent; /* which is that nothing could be looked at */
	char *why;  /* there is none; NULL: no memory to say why */
	const struct part *same; /* the fabric is that of this part */
	struct report_replayed answer;
	struct finding_list findings;
};

struct site_run {
	struct cmd_session *s;
	struct site *site;
	struct site_words words;
	struct part *parts;
	struct worker *workers;
	size_t count;
};

/* --- which fabrics --- */

static bool choose(struct site_run *run, const char *names)
{
	const struct site_fabric **chosen = NULL;
	bool live = !run->words.options->from && strcmp(run->s->ctx->command, "diff") != 0;
	bool good = site_choose(run->s, run->site, live, names, &chosen, &run->count);

	run->parts = calloc(run->count + 1, sizeof(*run->parts));
	run->workers = calloc(run->count + 1, sizeof(*run->workers));
	if (!run->parts || !run->workers) {
		session_fail(run->s, "out of memory");
		good = false;
	}
	for (size_t i = 0; good && i < run->count; i++)
		run->parts[i].fabric = chosen[i];
	free(chosen);
	return good;
}

/* Files of this host are looked at without a program of the site's. */
static bool may_run(struct site_run *run, bool trusted)
{
	const struct site_fabric *fabric;
	bool may = true;

	if (run->words.options->from || strcmp(run->s->ctx->command, "diff") == 0)
		return true;
	for (size_t i = 0; i < run->count && may; i++) {
		fabric = run->parts[i].fabric;
		may = site_may_run(run->s, &fabric, 1, trusted);
	}
	return may;
}

/* --- their workers --- */

static bool prepare(struct site_run *run)
{
	const struct ibqos_ctx *ctx = run->s->ctx;

	for (size_t i = 0; i < run->count; i++) {
		const struct site_fabric *f = run->parts[i].fabric;
		const char *lack = site_words_lack(ctx, &run->words, f);
		char **argv = lack ? NULL : site_argv(ctx, &run->words, f);

		if (!argv) {
			session_fail(run->s, "fabric %s: %s", f->name, lack ? lack : "out of memory");
			return false;
		}
		run->workers[i] = (struct worker){
			.name = f->name, .argv = argv, .timeout_s = f->timeout_s, .mark = REPORT_CALLS_MARK};
		for (size_t n = 0; argv[n] && ctx->verbosity >= 2; n++)
			ctx_debug(ctx, "%s: word %zu: %s", f->name, n, argv[n]);
	}
	return true;
}

/* "ended by signal 9 (Killed)" */
static char *ending_of(const struct worker *w)
{
	const char *said = w->last_line ? w->last_line : "it said nothing";
	char *text;
	int made;

	if (WIFSIGNALED(w->status))
		made = asprintf(&text, "it was ended by signal %d (%s)", WTERMSIG(w->status), strsignal(WTERMSIG(w->status)));
	else
		made = asprintf(&text, "it ended with status %d without an answer: %s", WEXITSTATUS(w->status), said);
	return made < 0 ? NULL : text;
}

/* Reads an answer from end to end without a use of it. What is wrong with it, to be freed; NULL with `whole` not set: no memory. */
static char *fault_of_answer(const struct ibqos_ctx *ctx, struct part *part, struct worker *w)
{
	char *fault = NULL;
	int error;

	if (w->fault)
		return strdup(w->fault);
	if (WIFSIGNALED(w->status) || w->bytes == 0)
		return ending_of(w);
	error = report_replay(ctx, w->output, ctx->command, part->fabric->name, NULL, &part->findings, &part->answer, &fault);
	if (error == -EINTR)
		return strdup("stopped by a signal before it was read");
	if (error != 0)
		return fault ? fault : strdup(strerror(-error));
	if (WEXITSTATUS(w->status) != (int)part->answer.exit &&
	    asprintf(&fault, "it ended with status %d, but its answer says %d", WEXITSTATUS(w->status), (int)part->answer.exit) < 0)
		fault = NULL;
	part->whole = WEXITSTATUS(w->status) == (int)part->answer.exit;
	return fault;
}

/* What came before the fault of a broken answer is not part of the report either. */
static void check_answer(const struct ibqos_ctx *ctx, struct part *part, struct worker *w)
{
	part->why = fault_of_answer(ctx, part, w);
	if (part->whole)
		return;
	finding_list_clear(&part->findings);
	part->answer = (struct report_replayed){.exit = IBQOS_EXIT_UNKNOWN};
}

/* --- the report --- */

static void count_findings(const struct finding_list *findings, struct report_part *result)
{
	for (size_t i = 0; i < findings->count; i++) {
		result->counts[findings->items[i].severity]++;
		result->told[findings->items[i].severity] += !findings->items[i].told_by_another;
	}
}

static void add_lost(struct finding_list *findings, const struct part *part, const struct worker *w)
{
	struct finding *f = finding_add(findings, FINDING_SITE_NO_ANSWER);

	finding_set(&f->fabric, "%s", part->fabric->name);
	finding_set(&f->detail, "%s", part->why ? part->why : "out of memory");
	if (w->last_line)
		finding_set(&f->got, "%s", w->last_line);
}

/* What it could not do is told in its report; a list of findings alone must tell it too. True: it has looked at nothing. */
static bool add_error(struct part *part, const struct worker *w)
{
	struct finding *f;

	if (!part->whole || !part->answer.error[0])
		return false;
	f = finding_add(&part->findings, part->answer.looked ? FINDING_SITE_NOT_WHOLE : FINDING_SITE_NO_ANSWER);
	finding_set(&f->fabric, "%s", part->fabric->name);
	finding_set(&f->detail, "%s", part->answer.error);
	if (!part->answer.looked && w->last_line)
		finding_set(&f->got, "%s", w->last_line);
	return !part->answer.looked;
}

static void add_same(struct part *part)
{
	struct finding *f = finding_add(&part->findings, FINDING_SITE_SAME_FABRIC);

	if (part->fabric->line == 0) /* nobody said that it would be another one */
		f->severity = FINDING_NOTE;
	finding_set(&f->fabric, "%s", part->fabric->name);
	finding_set(&f->what, "the same nodes as of fabric '%s'", part->same->fabric->name);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_finding(const struct finding *a, const struct finding *b)
{
	return a->code == b->code && a->severity == b->severity && a->guid == b->guid && a->port == b->port &&
	       same_text(a->what, b->what) && same_text(a->wanted, b->wanted) && same_text(a->got, b->got);
}

static size_t hash_of(const struct finding *f)
{
	uint64_t mixed = (f->guid * 31 + (uint64_t)f->port) * 31 + (uint64_t)f->code;

	return (size_t)((mixed * 0x9e3779b97f4a7c15u) >> 48);
}

/* Drops those findings of the list that the other list has too. Without memory to see, all are told. */
static void drop_told(struct finding_list *list, const struct finding_list *told)
{
	struct finding_list kept = {.lost = list->lost};
	size_t *first = calloc(1u << 16, sizeof(*first)), *next = calloc(told->count + 1, sizeof(*next)); /* index + 1; 0: the end */

	for (size_t i = 0; first && next && i < told->count; i++) {
		size_t hash = hash_of(&told->items[i]);

		next[i] = first[hash];
		first[hash] = i + 1;
	}
	for (size_t i = 0; first && next && i < list->count; i++) {
		size_t at = first[hash_of(&list->items[i])];

		while (at != 0 && !same_finding(&list->items[i], &told->items[at - 1]))
			at = next[at - 1];
		if (at == 0)
			finding_move(&list->items[i], &kept);
	}
	if (first && next) {
		finding_list_clear(list);
		*list = kept;
	}
	free(first);
	free(next);
}

/* Ports that reach one fabric find the same nodes. */
static void find_same(struct site_run *run)
{
	if (run->words.options->from || strcmp(run->s->ctx->command, "diff") == 0)
		return;
	for (size_t b = 0; b < run->count; b++) {
		struct part *part = &run->parts[b];

		for (size_t a = 0; a < b && !part->same; a++)
			if (part->whole && run->parts[a].whole && part->answer.digest[0] && !run->parts[a].same &&
			    strcmp(part->answer.digest, run->parts[a].answer.digest) == 0)
				part->same = &run->parts[a];
		if (!part->same)
			continue;
		if (part->fabric->line == 0) /* an active port: the fabric is told once, but what only this port saw is told too */
			drop_told(&part->findings, &part->same->findings);
		add_same(part);
	}
}

/* What has been checked is made part of the report; its findings are there already. False: it is not there whole, and that is told. */
static bool report_answer(struct site_run *run, struct part *part, struct worker *w)
{
	struct finding_list again = {0};
	struct report_replayed same;
	char *fault = NULL;
	int error;

	rewind(w->output);
	error = report_replay(run->s->ctx, w->output, run->s->ctx->command, part->fabric->name, run->s->report, &again, &same, &fault);
	if (error != 0 && error != -EINTR)
		session_fail(run->s, "cannot read the answer of fabric %s again: %s", part->fabric->name,
			     fault ? fault : strerror(-error));
	free(fault);
	finding_list_clear(&again);
	return error == 0;
}

static void report_one(struct site_run *run, struct part *part, struct worker *w)
{
	struct report_part result = {.whole = part->whole, .exit = part->answer.exit, .seconds = w->seconds};
	struct report *r = run->s->report;

	report_part(r, part->fabric->name);
	if (part->fabric->opensm_host) {
		report_string(r, "opensm_host", "OpenSM runs on", part->fabric->opensm_host);
		if (part->fabric->opensm_config)
			report_string(r, "opensm_config", "its config there", part->fabric->opensm_config);
	}
	if (!part->whole) {
		report_string(r, "error", "error", part->why);
		add_lost(&part->findings, part, w);
		result.exit = IBQOS_EXIT_UNKNOWN;
	} else if (part->same && part->fabric->line == 0) {
		report_string(r, "same_fabric_as", "the same fabric as", part->same->fabric->name);
	} else {
		if (strcmp(part->answer.version, IBQOS_VERSION) != 0)
			report_string(r, "ibqos", "looked at by ibqos", part->answer.version);
		result.whole = report_answer(run, part, w);
		if (!result.whole)
			result.exit = IBQOS_EXIT_UNKNOWN;
	}
	part->silent = add_error(part, w);
	part->findings.lost |= part->answer.lost; /* what is not told may be the worst: its own exit status is not clean */
	count_findings(&part->findings, &result);
	result.exit = session_worse(result.exit, finding_exit(&part->findings));
	report_part_end(r, &result);
	run->s->least = session_worse(run->s->least, result.exit);
	for (size_t i = 0; i < part->findings.count; i++)
		finding_move(&part->findings.items[i], &run->s->findings);
	run->s->findings.lost |= part->findings.lost;
	part->answer.exit = result.exit;
}

static void report_summary(const struct site_run *run)
{
	static const struct report_column columns[] = {
		{.key = "fabric", .title = "fabric", .type = REPORT_STRING},
		{.key = "verdict", .title = "verdict", .type = REPORT_STRING},
		{.key = "answered", .title = "answered", .type = REPORT_BOOL},
		{.key = "seconds", .title = NULL, .type = REPORT_REAL},
	};
	static const char *const verdicts[] = {"clean", "warning", "critical", "unknown"};
	struct report *r = run->s->report;

	report_table(r, "summary", "fabrics", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < run->count; i++) {
		report_cell_string(r, run->parts[i].fabric->name);
		report_cell_string(r, verdicts[run->parts[i].answer.exit]);
		report_cell_bool(r, run->parts[i].whole && !run->parts[i].silent);
		report_cell_real(r, run->workers[i].seconds);
		report_row_end(r);
	}
	report_table_end(r);
}

static void look(struct site_run *run)
{
	int error = workers_run(run->s->ctx, run->workers, run->count, site_progress, run->s);

	ctx_progress_end(run->s->ctx);
	if (error != 0) {
		session_fail(run->s, "cannot look at the fabrics: %s", strerror(-error));
		return;
	}
	for (size_t i = 0; i < run->count; i++)
		check_answer(run->s->ctx, &run->parts[i], &run->workers[i]);
	find_same(run);
	report_parts(run->s->report, "fabrics");
	for (size_t i = 0; i < run->count; i++)
		report_one(run, &run->parts[i], &run->workers[i]);
	report_parts_end(run->s->report);
	report_summary(run);
	if (ctx_stopped(run->s->ctx)) /* while they ran, or while their answers were put together */
		session_fail(run->s, "stopped by a signal: the result is not whole");
}

/* The folder of a set of snapshots is made here, unless they are written elsewhere. */
static bool make_folder(struct cmd_session *s)
{
	const char *folder = s->options->argument[0];
	int error = strcmp(s->ctx->command, "snapshot") == 0 && s->options->arguments > 0 ? dir_make(folder, 0755) : 0;

	if (error != 0)
		session_fail(s, "cannot make folder %s: %s", folder, strerror(-error));
	return error == 0;
}

static void clear(struct site_run *run)
{
	if (run->workers)
		workers_clear(run->workers, run->count);
	for (size_t i = 0; run->workers && i < run->count; i++)
		site_argv_free((char **)run->workers[i].argv);
	for (size_t i = 0; run->parts && i < run->count; i++) {
		finding_list_clear(&run->parts[i].findings);
		free(run->parts[i].why);
	}
	free(run->parts);
	free(run->workers);
	site_free(run->site);
	site_words_clear(&run->words);
}

enum ibqos_exit cmd_site(struct ibqos_ctx *ctx, const struct cmd_options *options, int argc, char **argv)
{
	const char *names = ctx->fabric ? ctx->fabric : "";
	struct site_run run = {0};
	struct cmd_session s;
	enum ibqos_exit code;
	bool trusted;
	int error;

	ctx->fabric = ""; /* the report is about all of them */
	if (!site_words_sort(ctx, options, argc, argv, &run.words)) {
		site_words_clear(&run.words);
		return IBQOS_EXIT_UNKNOWN;
	}
	if (!session_begin(&s, ctx, options)) {
		site_words_clear(&run.words);
		return IBQOS_EXIT_UNKNOWN;
	}
	run.s = &s;
	report_string(s.report, "site", "site", options->site);
	trusted = session_trust(&s, options->site);
	error = site_read(options->site, &s.findings, &run.site);
	if (error != 0)
		session_fail(&s, "cannot read site %s: %s", options->site, strerror(-error));
	if (run.site && choose(&run, names) && may_run(&run, trusted) && make_folder(&s) && prepare(&run))
		look(&run);
	code = session_end(&s);
	clear(&run);
	return code;
}
