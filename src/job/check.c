/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A job's environment against its class: what the parts share, and several hosts beside each other. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

struct finding *check_tell(struct check *c, enum finding_code code, const struct job_setting *setting)
{
	struct finding *f = finding_add(c->findings, code);

	finding_at(f, setting ? setting->file : c->env->label, setting ? setting->line : 0, setting ? setting->column : 0);
	if (setting)
		finding_set(&f->what, "%s=%s", setting->name, setting->value ? setting->value : "(not known)");
	return f;
}

const struct job_setting *check_get(const struct check *c, const char *name)
{
	const struct job_setting *s = job_env_get(c->env, name);

	return s && s->value ? s : NULL;
}

bool check_unknown(const struct check *c, const char *name)
{
	const struct job_setting *s = job_env_get(c->env, name);

	return s && !s->value;
}

bool check_number(const struct check *c, const char *name, long long *value)
{
	const struct job_setting *s = check_get(c, name);
	const struct param *p = param_find(name);
	struct job_number n;

	if (!s || (p && p->since > c->q->nccl))
		return false;
	n = job_number(s->value);
	if (n.empty || n.overflow)
		return false;
	*value = n.value;
	return true;
}

bool job_pkey_index(const struct job_env *env, const struct job_question *q, unsigned *index)
{
	struct check c = {.env = env, .q = q};
	long long value = 0;

	check_number(&c, "NCCL_IB_PKEY", &value);
	*index = (unsigned)value & UINT16_MAX;
	return !check_unknown(&c, "NCCL_IB_PKEY");
}

const struct policy_class *check_class_of_sl(const struct policy *policy, unsigned sl)
{
	for (size_t i = 0; i < policy->class_count; i++) {
		if (policy->classes[i].sl == sl)
			return &policy->classes[i];
	}
	return &policy->classes[policy->default_class];
}

void job_check(const struct job_env *env, const struct job_question *q, struct finding_list *findings)
{
	struct check c = {.env = env, .q = q, .findings = findings};

	check_sl(&c);
	check_values(&c);
	check_hca(&c);
	check_site(&c);
	check_stacks(&c);
	check_adaptive(&c);
}

/* What must be the same on all hosts of one job. */
static const char *const of_all_hosts[] = {
	"NCCL_IB_SL",	      "NCCL_IB_TC",	"NCCL_IB_FIFO_TC", "NCCL_GIN_IB_TC", "NCCL_IB_HCA",
	"NCCL_IB_PKEY",	      "NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT", "NCCL_IB_GID_INDEX", "NCCL_IB_QPS_PER_CONNECTION",
	"NCCL_IB_ADAPTIVE_ROUTING", "NCCL_IB_DISABLE", "NCCL_NET", "NCCL_NET_PLUGIN", "UCX_IB_SL", "NVSHMEM_IB_SL",
	"MC_IB_SL", "EP_OVERRIDE_RDMA_SL",
};

static const char *value_on(const struct job_env *env, const char *name)
{
	const struct job_setting *s = job_env_get(env, name);

	return !s ? "unset" : s->value ? s->value : "(not known)";
}

/* The value that most hosts have; the first such. */
static const char *usual(const struct job_env *envs, size_t count, const char *name)
{
	const char *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < count; i++) {
		const char *value = value_on(&envs[i], name);
		size_t same = 0;

		if (best && strcmp(value, best) == 0)
			continue;
		for (size_t j = 0; j < count; j++)
			same += strcmp(value_on(&envs[j], name), value) == 0;
		if (same > most) {
			most = same;
			best = value;
		}
	}
	return best;
}

void job_check_hosts(const struct job_env *envs, size_t count, const struct job_question *q,
		     struct finding_list *findings)
{
	check_site_hosts(envs, count, q, findings);
	for (size_t n = 0; count > 1 && n < sizeof(of_all_hosts) / sizeof(of_all_hosts[0]); n++) {
		const char *name = of_all_hosts[n], *most = usual(envs, count, name);
		bool steers = strcmp(name, "NCCL_IB_SL") == 0 || strcmp(name, "NCCL_IB_TC") == 0;

		for (size_t i = 0; i < count; i++) {
			const struct job_setting *s = job_env_get(&envs[i], name);
			struct finding *f;

			if (!most || strcmp(value_on(&envs[i], name), most) == 0)
				continue;
			f = finding_add(findings, FINDING_JOB_HOSTS_DIFFER);
			finding_at(f, s ? s->file : envs[i].label, s ? s->line : 0, s ? s->column : 0);
			finding_set(&f->what, "%s", name);
			finding_set(&f->wanted, "%s, as most hosts have", most);
			finding_set(&f->got, "%s", value_on(&envs[i], name));
			if (steers)
				finding_set(&f->detail, "%s", q->nccl < JOB_NCCL(2, 26, 2)
								      ? "each end sends with its own"
								      : "the sender's counts in both directions of a channel");
		}
	}
}
