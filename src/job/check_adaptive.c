/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Whether packets of a job's SL are routed adaptively: by what switches say, or OpenSM's file. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* An engine of NVIDIA's OpenSM that routes adaptively: ar_updn, ar_ftree, ar_torus, ar_minhop, dfp. */
static bool is_adaptive(const char *name, size_t length)
{
	return (length > 3 && strncasecmp(name, "ar_", 3) == 0) || (length >= 3 && strncasecmp(name, "dfp", 3) == 0);
}

/* Whether one of a list of engines, which OpenSM tries in turn, is adaptive. */
static bool has_adaptive(const char *engines)
{
	for (size_t length; *engines; engines += length + strspn(engines + length, ", \t")) {
		length = strcspn(engines, ", \t");
		if (is_adaptive(engines, length))
			return true;
	}
	return false;
}

enum job_adaptive job_adaptive(const struct job_question *q, struct job_sl sl)
{
	char *end;
	unsigned long mask;

	if (q->link != JOB_LINK_INFINIBAND || !q->engine || !has_adaptive(q->engine) || !q->ar_sl_mask || !sl.known)
		return JOB_ADAPTIVE_UNKNOWN; /* without a name of an engine it is the build's default; others may be helped by a plugin */
	mask = strtoul(q->ar_sl_mask, &end, 0);
	if (end == q->ar_sl_mask || mask > 0xffff)
		return JOB_ADAPTIVE_UNKNOWN;
	return mask >> sl.sl & 1 ? JOB_ADAPTIVE_ON : JOB_ADAPTIVE_NOT_FOR_SL;
}

/* Whether NCCL uses it at all: it is told not to, or is as old as not to know of it. */
static bool wants_adaptive(struct check *c)
{
	long long value;

	return c->q->nccl >= JOB_NCCL(2, 16, 2) && !(check_number(c, "NCCL_IB_ADAPTIVE_ROUTING", &value) && value == 0);
}

void check_adaptive(struct check *c)
{
	struct job_sl sl = job_sl(c->env, c->q);
	struct finding *f;

	if (job_adaptive(c->q, sl) != JOB_ADAPTIVE_NOT_FOR_SL || !wants_adaptive(c))
		return;
	f = check_tell(c, FINDING_JOB_AR_SL, sl.name ? job_env_get(c->env, sl.name) : NULL);
	if (!f->what)
		finding_set(&f->what, "SL %u", sl.sl);
	finding_set(&f->wanted, "SL %u among them", sl.sl);
	finding_set(&f->got, "ar_sl_mask %s in %s", c->q->ar_sl_mask, c->q->engine_file);
}

void job_check_adaptive(const struct job_env *env, const struct job_question *q, const struct job_adaptive_switches *switches,
			struct finding_list *findings)
{
	struct check c = {.env = env, .q = q, .findings = findings};
	struct job_sl sl = job_sl(env, q);
	struct finding *f;

	if (!sl.known || switches->not_for_sl == 0 || !wants_adaptive(&c))
		return;
	f = check_tell(&c, FINDING_JOB_AR_SL, sl.name ? job_env_get(env, sl.name) : NULL);
	if (!f->what)
		finding_set(&f->what, "SL %u", sl.sl);
	finding_set(&f->wanted, "SL %u among them", sl.sl);
	finding_set(&f->got, "SLs 0x%04x on %s", switches->mask, switches->first);
	if (switches->not_for_sl > 1)
		finding_append(&f->got, "and without it on %u switches more", switches->not_for_sl - 1);
	if (switches->on > 0)
		finding_set(&f->detail, "on %u switches it is", switches->on);
}
