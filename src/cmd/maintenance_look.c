/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What audit and verify say of a snapshot, as a list: the one of before and the one of after are judged alike. */
#include <errno.h>
#include <string.h>

#include "maintenance.h"
#include "verify_sm.h"

#include "ibqos/audit.h"
#include "ibqos/snapshot.h"

#define DAY_SECONDS 86400

/* A session over a file whose report nobody reads. */
struct looking {
	struct cmd_session session;
	struct cmd_options options;
};

static int begin(const struct cmd_session *s, const char *path, struct looking *l)
{
	*l = (struct looking){.options = *s->options};
	l->options.from = path;
	l->options.output = NULL;
	l->session = (struct cmd_session){.ctx = s->ctx, .options = &l->options, .out = fopen("/dev/null", "we")};
	if (!l->session.out)
		return -errno;
	l->session.report = report_begin(s->ctx, l->session.out, REPORT_TEXT);
	return l->session.report ? 0 : -ENOMEM;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Among the first `count` of a list. */
static bool has(const struct finding_list *list, size_t count, const struct finding *x)
{
	for (size_t i = 0; i < count; i++) {
		const struct finding *f = &list->items[i];

		if (f->code == x->code && f->guid == x->guid && f->port == x->port && same_text(f->what, x->what) &&
		    same_text(f->file, x->file) && f->line == x->line && same_text(f->got, x->got))
			return true;
	}
	return false;
}

/* Takes what is no note and was not there already: audit and verify tell the same of a discovery. */
static void end(struct looking *l, struct finding_list *found)
{
	struct finding_list *from = &l->session.findings;
	size_t known = found->count;

	for (size_t i = 0; i < from->count; i++)
		if (from->items[i].severity != FINDING_NOTE && !has(found, known, &from->items[i]))
			finding_move(&from->items[i], found);
	found->lost |= from->lost;
	finding_list_clear(from);
	if (l->session.report)
		report_end(l->session.report, IBQOS_EXIT_CLEAN);
	if (l->session.out)
		fclose(l->session.out);
	scope_clear(&l->session.scope);
	fabric_free(l->session.fabric);
	source_close(l->session.source);
}

static int audit(struct cmd_session *s, const struct policy *policy, const struct fabric *baseline, uint64_t now)
{
	const struct audit_options options = {
		.policy = policy && policy->link_class_count > 0 ? policy : NULL,
		.today = (unsigned)(now / DAY_SECONDS),
		.baseline = baseline ? baseline : s->fabric, /* cables are compared by diff, not with siblings */
	};
	struct audit_result result;
	int error = 0;

	if (source_snapshot(s->source))
		error = check_snapshot(source_snapshot(s->source), s->fabric, &s->findings);
	cmd_ask_sm(s);
	if (error == 0)
		error = audit_links(s->fabric, &options, &s->findings, &result);
	if (error == 0)
		error = audit_siblings(s->fabric, &options, &s->findings);
	if (error == 0)
		error = audit_health(s->fabric, &options, &s->findings);
	return error ? error : audit_rank(s->fabric, NULL, &s->findings);
}

static bool read_policy(struct cmd_session *s, const char *path, struct policy **policy)
{
	int error = policy_read(path, &s->findings, policy);

	session_trust(s, path);

	finding_list_drop(&s->findings, FINDING_NOTE);
	if (error != 0)
		session_fail(s, "cannot read policy %s: %s", path, strerror(-error));
	return error == 0 && *policy;
}

bool cmd_look(struct cmd_session *s, const char *path, const char *policy_path, const struct fabric *baseline, uint64_t now,
	      struct finding_list *found)
{
	struct policy *policy = NULL;
	struct looking l;
	int error;
	bool done;

	if (policy_path && !read_policy(s, policy_path, &policy))
		return false;
	error = begin(s, path, &l);
	done = error == 0 && session_discover(&l.session);
	if (done)
		error = audit(&l.session, policy, baseline, now);
	end(&l, found);
	policy_free(policy);
	if (done && error == 0 && policy_path) {
		error = begin(s, path, &l);
		if (error == 0)
			cmd_verify_policy(&l.session, policy_path, SM_RECORDS);
		end(&l, found);
	}
	if (error != 0)
		session_fail(s, "cannot look at '%s': %s", path, strerror(-error));
	return done && error == 0;
}
