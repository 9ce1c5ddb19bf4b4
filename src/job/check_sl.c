/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which SL and traffic class NCCL's queue pairs get (src/transport/net_ib.cc up to 2.28, net_ib/connect.cc and gin.cc
 * after it) and whether the job's class has them.
 *
 * Before 2.26: SL is NCCL_IB_SL, 0 if unset. From 2.26: NCCL_IB_SL unless -1, else ncclConfig.trafficClass, else 0;
 * the traffic class likewise from NCCL_IB_TC. GIN's own queue pairs: in 2.28.7 to 2.29 NCCL_IB_SL or 0; in 2.30
 * NCCL_IB_SL, else trafficClass; from 2.30.7 NCCL_GIN_IB_TC and NCCL_IB_TC go before trafficClass there, so that a
 * traffic class becomes the SL. Nothing checks ranges: an mlx5 adapter takes the low four bits (ads.sl).
 */
#include <string.h>

#include "check.h"

#define CONFIG_FROM JOB_NCCL(2, 26, 2)
#define GIN_FROM JOB_NCCL(2, 28, 7)
#define GIN_CONFIG_FROM JOB_NCCL(2, 30, 3)
#define GIN_TC_FROM JOB_NCCL(2, 30, 7)

static struct job_sl from(const char *name, long long value)
{
	return (struct job_sl){.known = true, .sl = (unsigned)(value & 15), .name = name};
}

/* One step of a resolution: true if it ends here. */
static bool step(const struct check *c, const char *name, bool minus_is_unset, struct job_sl *out)
{
	long long value;

	if (check_unknown(c, name)) {
		*out = (struct job_sl){.name = name};
		return true;
	}
	if (!check_number(c, name, &value) || (minus_is_unset && value == -1))
		return false;
	*out = from(name, value);
	return true;
}

static struct job_sl rest(const struct job_question *q, bool config)
{
	return config && q->app_tc != JOB_NO_TC ? from("trafficClass", q->app_tc) : (struct job_sl){.known = true};
}

struct job_sl job_sl(const struct job_env *env, const struct job_question *q)
{
	struct check c = {.env = env, .q = q};
	bool config = q->nccl >= CONFIG_FROM;
	struct job_sl sl;

	return step(&c, "NCCL_IB_SL", config, &sl) ? sl : rest(q, config);
}

struct job_sl job_gin_sl(const struct job_env *env, const struct job_question *q)
{
	struct check c = {.env = env, .q = q};
	struct job_sl sl;

	if (step(&c, "NCCL_IB_SL", true, &sl))
		return sl;
	if (q->nccl >= GIN_TC_FROM && (step(&c, "NCCL_GIN_IB_TC", true, &sl) || step(&c, "NCCL_IB_TC", true, &sl)))
		return sl;
	return rest(q, q->nccl >= GIN_CONFIG_FROM);
}

/* Where an SL leads, for people. */
static void where(struct check *c, struct finding *f, unsigned sl)
{
	const struct policy *p = c->q->policy;
	const struct policy_class *has = check_class_of_sl(p, sl);

	if (has->sl == sl)
		finding_set(&f->detail, "SL %u is the class %s", sl, has->name);
	else if (p->unused_sls == POLICY_UNUSED_DROP)
		finding_set(&f->detail, "no class has SL %u, and the policy drops what none has", sl);
	else
		finding_set(&f->detail, "no class has SL %u, so it is in the default class %s", sl, has->name);
}

static void range(struct check *c, const char *name)
{
	long long value;
	struct finding *f;

	if (!check_number(c, name, &value) || (value >= 0 && value <= 15))
		return;
	if (value == -1 && c->q->nccl >= CONFIG_FROM) /* its way to say unset */
		return;
	f = check_tell(c, FINDING_JOB_SL_RANGE, check_get(c, name));
	finding_set(&f->wanted, "0 to 15");
	finding_set(&f->got, "%lld, of which the adapter takes four bits: SL %u", value, (unsigned)(value & 15));
}

/* Tables that a policy gives word for word may drop or starve an SL. */
static void tables(struct check *c, unsigned sl, const struct job_setting *s)
{
	const struct policy *p = c->q->policy;

	for (int type = 0; p->tables.given && type < QOS_PORT_TYPES; type++) {
		const struct qos_tables *t = &p->tables.config.of[type];
		unsigned vl = t->sl2vl.vl[sl], weight = 0;
		struct finding *f;

		for (unsigned i = 0; i < t->low.count; i++)
			weight += t->low.entry[i].vl == vl ? t->low.entry[i].weight : 0;
		for (unsigned i = 0; i < t->high.count; i++)
			weight += t->high.entry[i].vl == vl ? t->high.entry[i].weight : 0;
		if (vl != 15 && weight > 0)
			continue;
		f = check_tell(c, vl == 15 ? FINDING_JOB_SL_DROPPED : FINDING_JOB_SL_STARVED, s);
		finding_set(&f->got, "SL %u is VL %u on %s ports", sl, vl, qos_port_type_name(type));
		return;
	}
}

static void class_of_sl(struct check *c)
{
	const struct policy_class *class = c->q->class;
	struct job_sl sl = job_sl(c->env, c->q);
	const struct job_setting *s = sl.name ? job_env_get(c->env, sl.name) : NULL;
	struct finding *f;

	if (!sl.known) {
		f = check_tell(c, FINDING_JOB_SL_UNKNOWN, s);
		finding_set(&f->wanted, "SL %u", class->sl);
		return;
	}
	if (c->q->policy->unused_sls == POLICY_UNUSED_DROP && check_class_of_sl(c->q->policy, sl.sl)->sl != sl.sl)
		finding_set(&check_tell(c, FINDING_JOB_SL_DROPPED, s)->got, "SL %u, which no class has", sl.sl);
	tables(c, sl.sl, s);
	if (sl.sl == class->sl)
		return;
	if (sl.name) {
		f = check_tell(c, FINDING_JOB_SL_OTHER, s);
		if (!s)
			finding_set(&f->what, "trafficClass of the application");
		finding_set(&f->wanted, "NCCL_IB_SL=%u", class->sl);
		finding_set(&f->got, "SL %u", sl.sl);
		where(c, f, sl.sl);
		return;
	}
	f = check_tell(c, class->match_count ? FINDING_JOB_RULE_ONLY : FINDING_JOB_SL_UNSET, NULL);
	finding_set(&f->what, "NCCL_IB_SL");
	finding_set(&f->wanted, "NCCL_IB_SL=%u, for class %s", class->sl, class->name);
	finding_set(&f->got, "SL 0, NCCL's default");
	where(c, f, 0);
}

/* A traffic class, which is no more than a belief on InfiniBand. */
static void tc_on_infiniband(struct check *c)
{
	static const char *const names[] = {"NCCL_IB_TC", "NCCL_IB_FIFO_TC"};
	struct job_sl sl = job_sl(c->env, c->q), gin = job_gin_sl(c->env, c->q);

	for (size_t i = 0; i < 2; i++) {
		const struct job_setting *s = job_env_get(c->env, names[i]);
		long long value;
		struct finding *f;

		if (!s || (s->value && (!check_number(c, names[i], &value) || value == -1 ||
					(value == 0 && c->q->nccl < CONFIG_FROM))))
			continue;
		f = check_tell(c, sl.name ? FINDING_JOB_NO_EFFECT : FINDING_JOB_TC_WITHOUT_SL, s);
		if (sl.name)
			finding_set(&f->got, "no traffic class on the wire; the SL is what counts");
		else
			finding_set(&f->got, "SL 0, and no traffic class on the wire");
		if (c->q->class)
			finding_set(&f->wanted, "NCCL_IB_SL=%u", c->q->class->sl);
	}
	if (c->q->nccl < GIN_FROM || !gin.name || strcmp(gin.name, "NCCL_IB_SL") == 0 ||
	    strcmp(gin.name, "trafficClass") == 0)
		return;
	{
		struct finding *f = check_tell(c, FINDING_JOB_TC_BECOMES_SL, job_env_get(c->env, gin.name));

		if (gin.known)
			finding_set(&f->got, "SL %u in the queue pairs of GIN: its low four bits", gin.sl);
		if (c->q->class)
			finding_set(&f->wanted, "NCCL_IB_SL=%u", c->q->class->sl);
		if (!c->q->gin) { /* whether the job uses GIN is not known */
			f->severity = FINDING_WARNING;
			finding_set(&f->detail, "if the job uses GIN (device-initiated networking)");
		}
	}
}

static void tc_on_ethernet(struct check *c)
{
	const struct policy_class *class = c->q->class;
	const struct job_setting *s = job_env_get(c->env, "NCCL_IB_TC");
	bool given = true;
	long long value = 0;
	struct finding *f;

	if (!class || class->nccl_ib_tc == POLICY_NO_TC || (s && !s->value))
		return;
	if (!check_number(c, "NCCL_IB_TC", &value) || (value == -1 && c->q->nccl >= CONFIG_FROM)) {
		s = NULL;
		given = c->q->nccl >= CONFIG_FROM && c->q->app_tc != JOB_NO_TC;
		value = given ? c->q->app_tc : 0;
	}
	if ((value & 0xff) == class->nccl_ib_tc)
		return;
	f = check_tell(c, given ? FINDING_JOB_TC_OTHER : FINDING_JOB_TC_UNSET, s);
	if (!s)
		finding_set(&f->what, given ? "trafficClass of the application" : "NCCL_IB_TC");
	finding_set(&f->wanted, "NCCL_IB_TC=%d, DSCP %d", class->nccl_ib_tc, class->nccl_ib_tc >> 2);
	finding_set(&f->got, "%lld, DSCP %lld", value & 0xff, (value & 0xff) >> 2);
}

/* Every traffic class, on either link layer. */
static void tc_values(struct check *c)
{
	static const char *const names[] = {"NCCL_IB_TC", "NCCL_IB_FIFO_TC", "NCCL_GIN_IB_TC"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		long long value;
		struct finding *f;

		if (!check_number(c, names[i], &value) || value == -1)
			continue;
		if (value < 0 || value > 255) {
			f = check_tell(c, FINDING_JOB_TC_RANGE, check_get(c, names[i]));
			finding_set(&f->got, "%lld, of which one byte is taken: %lld", value, value & 0xff);
		} else if (value & 3) {
			f = check_tell(c, FINDING_JOB_TC_ECN, check_get(c, names[i]));
			finding_set(&f->got, "DSCP %lld, ECN %lld (%s)", value >> 2, value & 3,
				    (value & 3) == 3 ? "CE" : (value & 3) == 2 ? "ECT(0)" : "ECT(1)");
		}
	}
}

/* The application's own wish, and the environment that goes before it. */
static void application(struct check *c)
{
	const struct job_setting *s = job_env_get(c->env, "NCCL_IB_SL");
	struct job_sl sl = job_sl(c->env, c->q);
	struct finding *f;

	if (c->q->app_tc == JOB_NO_TC)
		return;
	if (c->q->app_tc < 0 || c->q->app_tc > (c->q->link == JOB_LINK_INFINIBAND ? 15 : 255)) {
		f = check_tell(c, c->q->link == JOB_LINK_INFINIBAND ? FINDING_JOB_SL_RANGE : FINDING_JOB_TC_RANGE, NULL);
		finding_set(&f->what, "trafficClass=%lld of the application", (long long)c->q->app_tc);
		finding_set(&f->got, "%lld", (long long)c->q->app_tc & (c->q->link == JOB_LINK_INFINIBAND ? 15 : 255));
	}
	if (c->q->nccl < CONFIG_FROM) {
		f = check_tell(c, FINDING_JOB_NO_EFFECT, NULL);
		finding_set(&f->what, "trafficClass of the application");
		finding_set(&f->got, "NCCL before 2.26 knows none");
	} else if (s && sl.name && strcmp(sl.name, "NCCL_IB_SL") == 0 && (!sl.known || (int64_t)sl.sl != c->q->app_tc)) {
		f = check_tell(c, FINDING_JOB_ENV_WINS, s);
		finding_set(&f->wanted, "trafficClass %lld, as the application asks", (long long)c->q->app_tc);
		if (sl.known)
			finding_set(&f->got, "SL %u", sl.sl);
	}
}

/* Routing engines that give out SLs by path, as fabric, not class, needs them. */
static void engine(struct check *c)
{
	static const char *const owners[] = {"torus-2QoS", "dfsssp", "lash", "nue"};
	const struct job_setting *s = check_get(c, "NCCL_IB_SL");
	const char *at = c->q->engine;
	long long value;

	if (!at || c->q->link != JOB_LINK_INFINIBAND || !check_number(c, "NCCL_IB_SL", &value) || value == -1)
		return;
	/* a list: the first that can route the fabric is used, and which it is only OpenSM knows */
	for (size_t length; *at; at += length + strspn(at + length, ", \t")) {
		length = strcspn(at, ", \t");
		for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
			struct finding *f;

			if (strlen(owners[i]) != length || strncasecmp(owners[i], at, length) != 0)
				continue;
			f = check_tell(c, FINDING_JOB_ENGINE_OWNS_SL, s);
			finding_set(&f->got, "routing_engine %s in %s", c->q->engine, c->q->engine_file);
			return;
		}
	}
}

void check_sl(struct check *c)
{
	bool infiniband = c->q->link == JOB_LINK_INFINIBAND;

	if (infiniband)
		range(c, "NCCL_IB_SL");
	if (infiniband && c->q->class)
		class_of_sl(c);
	if (infiniband)
		tc_on_infiniband(c);
	else
		tc_on_ethernet(c);
	tc_values(c);
	application(c);
	engine(c);
}
