/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What stands beside NCCL's own queue pairs: switches that lead past them, other libraries' SLs, plugins, SHARP. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

static bool switched_on(struct check *c, const char *name)
{
	long long value;

	return check_number(c, name, &value) && value != 0;
}

static void network(struct check *c)
{
	const struct job_setting *net = check_get(c, "NCCL_NET");
	bool off = switched_on(c, "NCCL_IB_DISABLE");

	if (off)
		finding_set(&check_tell(c, FINDING_JOB_IB_OFF, check_get(c, "NCCL_IB_DISABLE"))->got,
			    "NET/Socket, unless a plugin has a network");
	if (net && strcasecmp(net->value, "Socket") == 0)
		finding_set(&check_tell(c, FINDING_JOB_IB_OFF, net)->got, "NET/Socket");
	if (switched_on(c, "NCCL_IBEXT_DISABLE") && !off)
		check_tell(c, FINDING_JOB_IBEXT_ALONE, check_get(c, "NCCL_IBEXT_DISABLE"));
}

/* Whether a library is in use: it is said to be, or something of its own is set. */
static bool used(const struct check *c, enum job_stack stack, const char *beginning)
{
	if (c->q->stacks & (1u << stack))
		return true;
	for (size_t i = 0; i < c->env->count; i++) {
		const struct job_setting *s = &c->env->items[i];

		if (!s->hidden && !s->removed && s->origin <= JOB_FROM_SCRIPT && s->value &&
		    strncmp(s->name, beginning, strlen(beginning)) == 0)
			return true;
	}
	return false;
}

/* Another library's SL: `unset` is what it takes without one. */
static void library(struct check *c, const char *name, bool in_use, unsigned unset)
{
	const struct policy_class *class = c->q->class;
	const struct job_setting *s = job_env_get(c->env, name);
	long long value = unset;
	struct finding *f;

	if (!class || (s && !s->value))
		return;
	if (!s && (!in_use || unset == class->sl))
		return;
	if (s && strcasecmp(s->value, "auto") != 0 && *s->value)
		value = job_number(s->value).value;
	if (value == (long long)class->sl)
		return;
	f = check_tell(c, s ? FINDING_JOB_SL_OTHER : FINDING_JOB_STACK_SL_UNSET, s);
	if (!s)
		finding_set(&f->what, "%s", name);
	finding_set(&f->wanted, "%s=%u", name, class->sl);
	finding_set(&f->got, "SL %lld, class %s", value & 15, check_class_of_sl(c->q->policy, (unsigned)(value & 15))->name);
}

static void ucx(struct check *c)
{
	const struct job_setting *sl = job_env_get(c->env, "UCX_IB_SL"), *tc = job_env_get(c->env, "UCX_IB_TRAFFIC_CLASS");
	const struct job_setting *ar = check_get(c, "UCX_IB_AR_ENABLE");
	bool automatic = !sl || (sl->value && (!*sl->value || strcasecmp(sl->value, "auto") == 0));

	if (c->q->link == JOB_LINK_INFINIBAND && ar && automatic &&
	    (strcasecmp(ar->value, "yes") == 0 || strcasecmp(ar->value, "y") == 0 || strcasecmp(ar->value, "try") == 0 ||
	     strcmp(ar->value, "1") == 0)) {
		struct finding *f = check_tell(c, FINDING_JOB_UCX_AR, ar);

		if (c->q->class)
			finding_set(&f->wanted, "UCX_IB_SL=%u", c->q->class->sl);
	} else if (c->q->link == JOB_LINK_INFINIBAND) {
		library(c, "UCX_IB_SL", used(c, JOB_STACK_UCX, "UCX_IB_"), 0);
	}
	if (sl && !automatic && !job_env_get(c->env, "NCCL_IB_SL") && c->q->link == JOB_LINK_INFINIBAND)
		finding_set(&check_tell(c, FINDING_JOB_UCX_ONLY, sl)->wanted, "NCCL_IB_SL=%s",
			    sl->value ? sl->value : "the same");
	if (tc && !job_env_get(c->env, "NCCL_IB_TC") && c->q->link == JOB_LINK_ETHERNET)
		finding_set(&check_tell(c, FINDING_JOB_UCX_ONLY, tc)->wanted, "NCCL_IB_TC=%s",
			    tc->value ? tc->value : "the same");
}

/* DeepEP V2 asks NCCL for SL 3, or EP_OVERRIDE_RDMA_SL, by trafficClass; NCCL_IB_SL goes before it. */
static void deepep(struct check *c)
{
	const struct job_setting *ep = check_get(c, "EP_OVERRIDE_RDMA_SL"), *nccl = check_get(c, "NCCL_IB_SL");
	long long sl;

	if (ep && nccl && check_number(c, "NCCL_IB_SL", &sl) && sl != job_number(ep->value).value) {
		struct finding *f = check_tell(c, FINDING_JOB_ENV_WINS, nccl);

		finding_set(&f->wanted, "SL %lld, as EP_OVERRIDE_RDMA_SL asks", job_number(ep->value).value);
		finding_set(&f->got, "SL %lld", sl & 15);
	} else if (!nccl) {
		library(c, "EP_OVERRIDE_RDMA_SL", used(c, JOB_STACK_DEEPEP, "EP_"), 3);
	}
}

static void plugins(struct check *c)
{
	const struct job_setting *s = check_get(c, "NCCL_ENV_PLUGIN");

	if (s && c->q->nccl >= JOB_NCCL(2, 28, 7) && strcasecmp(s->value, "none") != 0)
		check_tell(c, FINDING_JOB_PLUGIN, s);
}

static void sharp(struct check *c)
{
	const struct job_setting *s = check_get(c, "NCCL_ALGO");
	struct finding *f;

	if (switched_on(c, "NCCL_COLLNET_ENABLE")) {
		check_tell(c, FINDING_JOB_SHARP, check_get(c, "NCCL_COLLNET_ENABLE"));
	} else if (s && strcasestr(s->value, "collnet") && s->value[0] != '^') {
		check_tell(c, FINDING_JOB_SHARP, s);
	} else if (c->q->stacks & (1u << JOB_STACK_SHARP)) {
		f = check_tell(c, FINDING_JOB_SHARP, NULL);
		finding_set(&f->what, "SHARP");
	}
}

void check_stacks(struct check *c)
{
	network(c);
	ucx(c);
	if (c->q->link == JOB_LINK_INFINIBAND) {
		library(c, "NVSHMEM_IB_SL", used(c, JOB_STACK_NVSHMEM, "NVSHMEM_"), 0);
		library(c, "MC_IB_SL", used(c, JOB_STACK_MOONCAKE, "MC_IB_") || job_env_get(c->env, "MC_GID_INDEX"), 0);
		library(c, "OMPI_MCA_btl_openib_ib_service_level", used(c, JOB_STACK_OPENMPI, "OMPI_MCA_btl_openib_"), 0);
		deepep(c);
	}
	plugins(c);
	sharp(c);
}
