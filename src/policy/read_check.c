/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What classes must be to each other: no SL, traffic class or name twice, shares of at most the
 * whole, one default. A value that was missing or faulty has been reported and is left out here.
 */
#include <string.h>

#include "read.h"

#define SHARE_TOLERANCE 1e-9 /* percent: sums of decimal fractions are seldom exact */
#define ECN_BITS 3           /* of a traffic class byte: DSCP << 2 | ECN */

static bool same_sl(const struct policy_class *a, const struct policy_class *b)
{
	return a->sl_mark.line && b->sl_mark.line && a->sl == b->sl;
}

static bool same_name(const struct policy_class *a, const struct policy_class *b)
{
	return a->name && b->name && strcmp(a->name, b->name) == 0;
}

/* What no two classes may share. */
struct unique {
	enum finding_code code;
	const char *key;
	bool (*same)(const struct policy_class *a, const struct policy_class *b);
	size_t mark; /* offset of the value's mark in a class */
};
static const struct unique unique_sl = {FINDING_POLICY_SL_CLASH, "sl", same_sl,
					offsetof(struct policy_class, sl_mark)};
static const struct unique unique_name = {FINDING_POLICY_NAME_CLASH, "name", same_name,
					  offsetof(struct policy_class, mark)};

static struct policy_mark mark_at(const struct policy_class *class, size_t offset)
{
	struct policy_mark mark;

	memcpy(&mark, (const char *)class + offset, sizeof(mark));
	return mark;
}

/* Each class against the first one before it that has the same. */
static void check_unique(struct policy_reader *in, const struct unique *unique)
{
	const struct policy *policy = in->policy;

	for (size_t i = 1; i < policy->class_count; i++) {
		const struct policy_class *class = &policy->classes[i], *first = policy->classes;
		struct finding *f;

		while (first < class && !unique->same(first, class))
			first++;
		if (first == class)
			continue;
		f = read_finding(in, unique->code, mark_at(class, unique->mark));
		finding_set(&f->what, "key '%s'", unique->key);
		if (unique->same == same_sl)
			finding_set(&f->got, "%u", class->sl);
		else
			read_quote(&f->got, class->name);
		finding_set(&f->detail, "class '%s' has it in line %u", first->name ? first->name : "?",
			    mark_at(first, unique->mark).line);
	}
}

/* The nth traffic class of a class. False: it has no more. */
static bool nth_tc(const struct policy_class *class, size_t n, unsigned *tc, struct policy_mark *mark)
{
	if (class->nccl_ib_tc == POLICY_NO_TC || n > class->more_tcs.count)
		return false;
	*tc = n == 0 ? (unsigned)class->nccl_ib_tc : (unsigned)class->more_tcs.items[n - 1].low;
	*mark = n == 0 ? class->tc_mark : class->more_tcs.items[n - 1].mark;
	return true;
}

/* Each traffic class against the first class before that has it too. */
static void check_tc_clash(struct policy_reader *in, size_t class, unsigned tc, struct policy_mark mark)
{
	for (size_t i = 0; i < class; i++) {
		const struct policy_class *first = &in->policy->classes[i];
		struct policy_mark first_mark;
		unsigned first_tc;

		for (size_t n = 0; nth_tc(first, n, &first_tc, &first_mark); n++) {
			struct finding *f;

			if (first_tc != tc)
				continue;
			f = read_finding(in, FINDING_POLICY_TC_CLASH, mark);
			finding_set(&f->what, "key 'nccl_ib_tc'");
			finding_set(&f->got, "%u", tc);
			finding_set(&f->detail, "class '%s' has it in line %u", first->name ? first->name : "?",
				    first_mark.line);
			return;
		}
	}
}

static void check_ecn(struct policy_reader *in, size_t class, unsigned tc, struct policy_mark mark)
{
	struct finding *f;

	(void)class;
	if (!(tc & ECN_BITS))
		return;
	f = read_finding(in, FINDING_POLICY_TC_ECN, mark);
	finding_set(&f->what, "key 'nccl_ib_tc'");
	finding_set(&f->got, "%u", tc);
	finding_set(&f->detail, "DSCP %u, ECN %u", tc >> 2, tc & ECN_BITS);
}

static void each_tc(struct policy_reader *in,
		    void (*check)(struct policy_reader *in, size_t class, unsigned tc, struct policy_mark mark))
{
	for (size_t i = 0; i < in->policy->class_count; i++) {
		struct policy_mark mark;
		unsigned tc;

		for (size_t n = 0; nth_tc(&in->policy->classes[i], n, &tc, &mark); n++)
			check(in, i, tc, mark);
	}
}

/* Reported at the last share, which is the one that can be changed without counting on others. */
static void check_shares(struct policy_reader *in, bool whole)
{
	struct policy_mark last = {0};
	double sum = 0;
	bool all = whole;
	struct finding *f;

	for (size_t i = 0; i < in->policy->class_count; i++) {
		const struct policy_class *class = &in->policy->classes[i];

		if (class->share_mark.line) {
			sum += class->share;
			last = class->share_mark;
		} else {
			all = false;
		}
	}
	if (!last.line || (sum <= 100 + SHARE_TOLERANCE && (!all || sum >= 100 - SHARE_TOLERANCE)))
		return;
	f = read_finding(in, sum > 100 ? FINDING_POLICY_SHARE_SUM : FINDING_POLICY_SHARE_SPARE, last);
	finding_set(&f->what, "key 'share'");
	finding_set(&f->wanted, "%s", sum > 100 ? "100 % or less in all" : "100 % in all");
	finding_set(&f->got, "%.10g %%", sum);
}

/*
 * A VL each, at the first class for which there is none: no link runs more than 15, and none is to run more than `vls`.
 * Exact tables may put several classes on one.
 */
static void check_vls(struct policy_reader *in)
{
	const struct policy *policy = in->policy;
	unsigned most = policy->vls ? policy->vls : QOS_DATA_VLS;
	struct finding *f;

	if (policy->tables.given || policy->class_count <= most)
		return;
	f = read_finding(in, FINDING_POLICY_CLASSES_VLS, policy->classes[most].mark);
	finding_set(&f->what, "class '%s'", policy->classes[most].name ? policy->classes[most].name : "?");
	finding_set(&f->wanted, "%u classes at most, one a VL%s", most, policy->vls ? " of 'vls'" : "");
	finding_set(&f->got, "%zu", policy->class_count);
}

static void check_default(struct policy_reader *in, bool whole, struct policy_mark classes_mark)
{
	struct policy *policy = in->policy;
	const struct policy_class *first = NULL;

	for (size_t i = 0; i < policy->class_count; i++) {
		const struct policy_class *class = &policy->classes[i];
		struct finding *f;

		if (!class->is_default)
			continue;
		if (!first) {
			first = class;
			policy->default_class = i;
			continue;
		}
		f = read_finding(in, FINDING_POLICY_DEFAULT, class->mark);
		finding_set(&f->what, "key 'default'");
		finding_set(&f->got, "a second default class");
		finding_set(&f->detail, "class '%s' is the default already", first->name ? first->name : "?");
	}
	if (!first && whole && policy->class_count > 0)
		finding_set(&read_finding(in, FINDING_POLICY_DEFAULT, classes_mark)->got, "none");
}

void read_check(struct policy_reader *in, bool whole, struct policy_mark classes_mark)
{
	check_unique(in, &unique_sl);
	each_tc(in, check_tc_clash);
	check_unique(in, &unique_name);
	each_tc(in, check_ecn);
	check_shares(in, whole);
	check_vls(in);
	check_default(in, whole, classes_mark);
}
