/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What each value becomes: numbers that are none, texts with characters too many, ranges, names, hidden settings. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

static const char *origin_name(enum job_origin origin)
{
	static const char *const names[] = {[JOB_FROM_PROCESS] = "the environment",
					    [JOB_FROM_SCRIPT] = "a script",
					    [JOB_FROM_USER_CONF] = "the user's configuration file",
					    [JOB_FROM_SYSTEM_CONF] = "the system's configuration file"};

	return names[origin];
}

static void number(struct check *c, const struct job_setting *s)
{
	struct job_number n = job_number(s->value);
	struct finding *f;

	if (n.empty)
		return;
	if (n.overflow) {
		finding_set(&check_tell(c, FINDING_JOB_VALUE_NUMBER, s)->got, "too large: NCCL takes its default");
	} else if (n.none) {
		f = check_tell(c, FINDING_JOB_VALUE_NUMBER, s);
		finding_set(&f->got, "0");
		if (strpbrk(s->value, "\"'"))
			finding_set(&f->detail, "the quotes are part of the value");
	} else if (n.octal) {
		finding_set(&check_tell(c, FINDING_JOB_VALUE_NUMBER, s)->got, "%lld: a leading zero makes it octal", n.value);
	} else if (*n.rest && strspn(n.rest, " \t\r") != strlen(n.rest)) {
		const char *behind = n.rest + strspn(n.rest, " \t");

		/* behind a blank and a '#' it is a comment to people, and to NCCL nothing; else a number went wrong */
		f = check_tell(c, *behind == '#' && behind > n.rest ? FINDING_JOB_VALUE_REST : FINDING_JOB_VALUE_NUMBER, s);
		finding_set(&f->got, "%lld: the rest is passed over", n.value);
	} else if (*n.rest) {
		finding_set(&check_tell(c, FINDING_JOB_VALUE_REST, s)->got, "%lld", n.value);
	}
}

/* A text to the letter: what people write and NCCL keeps. */
static void text(struct check *c, const struct job_setting *s, enum param_kind kind)
{
	size_t length = strlen(s->value);
	const char *why = NULL;

	if (length == 0)
		return;
	if (s->value[length - 1] == '\r')
		why = "a CR at the end is part of it: the file has DOS line ends";
	else if (strpbrk(s->value, "\"'"))
		why = "the quotes are part of it";
	else if (strstr(s->value, " #") || strstr(s->value, "\t#"))
		why = "the comment is part of it";
	else if (kind != PARAM_PATH && strpbrk(s->value, " \t"))
		why = "the blanks are part of it";
	else if (kind == PARAM_PATH && (s->value[0] == ' ' || s->value[length - 1] == ' '))
		why = "the blanks are part of it";
	else if (kind == PARAM_PATH && s->value[0] == '~')
		why = "'~' is not expanded";
	else if (s->origin >= JOB_FROM_USER_CONF && strchr(s->value, '$'))
		why = "'$' is not expanded";
	if (why)
		finding_set(&check_tell(c, FINDING_JOB_VALUE_TEXT, s)->got, "%s", why);
}

/* GPUDirect up to which distance: names, or numbers of old (src/graph/paths.cc, ncclGetLevel). */
static void level(struct check *c, const struct job_setting *s)
{
	static const char *const old[] = {"LOC", "PIX", "PXB", "PHB", "SYS", "SYS"};
	static const char *const names[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"};
	struct finding *f;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(s->value, names[i]) == 0)
			return;
	}
	if (!*s->value)
		return;
	if (s->value[0] >= '0' && s->value[0] <= '9') {
		unsigned long number = strtoul(s->value, NULL, 0);

		f = check_tell(c, FINDING_JOB_GDR_LEVEL, s);
		finding_set(&f->wanted, "%s=%s", s->name, old[number > 5 ? 5 : number]);
		finding_set(&f->got, "%s", old[number > 5 ? 5 : number]);
		return;
	}
	f = check_tell(c, FINDING_JOB_VALUE_TEXT, s);
	finding_set(&f->wanted, "LOC, PIX, PXB, PHB or SYS");
	finding_set(&f->got, "none of the levels, so the default counts");
}

static void value_of(struct check *c, const struct job_setting *s)
{
	const struct param *p = param_find(s->name);

	if (!p) {
		if (strncmp(s->name, "NCCL_IB_", 8) == 0)
			finding_set(&check_tell(c, FINDING_JOB_NAME_UNKNOWN, s)->got, "%s",
				    strcmp(s->name, "NCCL_IB_GDR_LEVEL") == 0 ? "NCCL_NET_GDR_LEVEL is its name since 2.4"
									      : "nothing: no release up to 2.30.7 reads it");
		return;
	}
	if (p->since > c->q->nccl) {
		char since[JOB_NCCL_TEXT];

		job_nccl_text(p->since, since);
		finding_set(&check_tell(c, FINDING_JOB_NAME_UNKNOWN, s)->got, "nothing: it is read from NCCL %s on", since);
		return;
	}
	if (p->kind == PARAM_NUMBER)
		number(c, s);
	else if (p->kind == PARAM_LEVEL)
		level(c, s);
	else if (strcmp(s->name, "NCCL_IB_HCA") != 0) /* check_hca.c knows it better */
		text(c, s, p->kind);
}

/* A setting of one source that another source's goes before. */
static void hidden(struct check *c, const struct job_setting *s)
{
	const struct job_setting *by = job_env_get(c->env, s->name);
	struct finding *f;

	if (!by || s->origin == JOB_FROM_SCRIPT || !s->value)
		return;
	if (s->origin == by->origin) { /* of a file's doubles its own lint tells */
		if (s->origin == JOB_FROM_PROCESS && by->value && strcmp(by->value, s->value) != 0) {
			f = check_tell(c, FINDING_JOB_CONF_DOUBLE, s);
			f->severity = FINDING_WARNING;
			finding_set(&f->got, "%s, which getenv() finds first; some launchers take the last", by->value);
		}
		return;
	}
	if (by->value && !*by->value && s->origin >= JOB_FROM_USER_CONF) {
		f = check_tell(c, FINDING_JOB_EMPTY, by);
		finding_set(&f->wanted, "%s, as %s has it", s->value, s->file);
		finding_set(&f->got, "NCCL's default");
		return;
	}
	if (by->value && strcmp(by->value, s->value) == 0)
		return;
	f = check_tell(c, FINDING_JOB_CONF_HIDDEN, s);
	finding_set(&f->got, "%s, from %s", by->value ? by->value : "a value not known", origin_name(by->origin));
	if (by->origin >= JOB_FROM_USER_CONF) /* what such files are for */
		f->severity = FINDING_NOTE;
}

static void scripts(struct check *c)
{
	for (size_t i = 0; i < c->env->count; i++) {
		const struct job_setting *s = &c->env->items[i], *last = job_env_get(c->env, s->name);
		struct finding *f;

		if (s->origin != JOB_FROM_SCRIPT || !s->hidden || !last || last->origin != JOB_FROM_SCRIPT || !s->value ||
		    (last->value && strcmp(last->value, s->value) == 0))
			continue;
		f = check_tell(c, FINDING_JOB_SCRIPT_SEVERAL, s);
		finding_set(&f->got, "%s:%u says %s", last->file, last->line, last->value ? last->value : "what is not known");
	}
}

static void in_range(struct check *c, const char *name, long long low, long long high, enum finding_code code,
		     unsigned bits)
{
	long long value;
	struct finding *f;

	if (!check_number(c, name, &value) || (value >= low && value <= high))
		return;
	f = check_tell(c, code, check_get(c, name));
	finding_set(&f->wanted, "%lld to %lld", low, high);
	if (bits)
		finding_set(&f->got, "%lld, of which an mlx5 adapter takes %u bits: %lld", value, bits,
			    value & ((1 << bits) - 1));
	else
		finding_set(&f->got, "%lld", value);
}

/* The entry of each port that the job will use, here. */
static void pkey_here(struct check *c)
{
	const struct job_setting *list = check_get(c, "NCCL_IB_HCA");
	long long index = 0;

	check_number(c, "NCCL_IB_PKEY", &index);
	for (size_t i = 0; c->q->link == JOB_LINK_INFINIBAND && i < c->q->host->hca_count; i++) {
		const struct job_hca *h = &c->q->host->hcas[i];

		for (size_t n = 0; n < h->port_count; n++) {
			const struct job_port *p = &h->ports[n];
			unsigned key = index >= 0 && (size_t)index < p->pkey_count ? p->pkeys[index] : 0;
			struct finding *f;

			if (p->state != JOB_PORT_ACTIVE || !p->infiniband || p->pkey_count == 0 ||
			    !job_hca_takes(list ? list->value : NULL, h->name, p->number) || ((key & 0x8000) && (key & 0x7fff)))
				continue;
			f = check_tell(c, FINDING_JOB_PKEY_INDEX, check_get(c, "NCCL_IB_PKEY"));
			if (!check_get(c, "NCCL_IB_PKEY"))
				finding_set(&f->what, "NCCL_IB_PKEY, 0 by default");
			finding_set(&f->wanted, "the index of a full membership");
			finding_set(&f->got, "%s of the %zu entries of %s:%u", key ? "a limited member" : "none", p->pkey_count, h->name,
				    p->number);
			return;
		}
	}
}

static void ranges(struct check *c)
{
	long long value;

	in_range(c, "NCCL_IB_TIMEOUT", 1, 31, FINDING_JOB_TIMEOUT_RANGE, 5);
	in_range(c, "NCCL_IB_RETRY_CNT", 0, 7, FINDING_JOB_RETRY_RANGE, 3);
	in_range(c, "NCCL_IB_QPS_PER_CONNECTION", 1, 128, FINDING_JOB_QPS_RANGE, 0);
	if (check_number(c, "NCCL_IB_TIMEOUT", &value) && value >= 1 && value < 18) {
		struct finding *f = check_tell(c, FINDING_JOB_TIMEOUT_LOW, check_get(c, "NCCL_IB_TIMEOUT"));

		finding_set(&f->wanted, "18 or more");
		finding_set(&f->got, "4.096 us * 2^%lld = %.3g s a try", value, 4.096e-6 * (double)(1ull << value));
	}
	/* An index of the P_Key table, whose length is the host's. A P_Key has 15 bits and the membership */
	if (c->q->host)
		pkey_here(c);
	else if (check_number(c, "NCCL_IB_PKEY", &value) && (value < 0 || value >= 128)) {
		struct finding *f = check_tell(c, FINDING_JOB_PKEY_INDEX, check_get(c, "NCCL_IB_PKEY"));

		finding_set(&f->wanted, "an index, mostly 0");
		finding_set(&f->got, value >= 0x7fff || value < 0 ? "%lld: a P_Key, not an index" : "%lld", value);
		if (value > 0 && value < 0x7fff) {
			f->severity = FINDING_WARNING;
			finding_set(&f->detail, "tables of that length are rare");
		}
	}
	if (c->q->link == JOB_LINK_INFINIBAND && check_number(c, "NCCL_IB_ADAPTIVE_ROUTING", &value) && value == 0)
		check_tell(c, FINDING_JOB_AR_OFF, check_get(c, "NCCL_IB_ADAPTIVE_ROUTING"));
}

/* What counts on RoCE alone. */
static void no_effect(struct check *c)
{
	static const char *const names[] = {"NCCL_IB_GID_INDEX", "NCCL_IB_ROCE_VERSION_NUM", "NCCL_IB_ADDR_FAMILY",
					    "NCCL_IB_ADDR_RANGE"};
	long long value;

	for (size_t i = 0; c->q->link == JOB_LINK_INFINIBAND && i < sizeof(names) / sizeof(names[0]); i++) {
		const struct job_setting *s = job_env_get(c->env, names[i]);

		if (!s || (s->value && !*s->value) || param_find(names[i])->since > c->q->nccl)
			continue;
		if (i == 0 && c->q->nccl < JOB_NCCL(2, 21, 5))
			finding_set(&check_tell(c, FINDING_JOB_NO_EFFECT, s)->got, "a GID that is read but sent in no header");
		else
			finding_set(&check_tell(c, FINDING_JOB_NO_EFFECT, s)->got, "nothing: it is for RoCE");
	}
	if (c->q->link == JOB_LINK_ETHERNET && c->q->nccl >= JOB_NCCL(2, 21, 5) &&
	    check_number(c, "NCCL_IB_GID_INDEX", &value) && value >= 0)
		finding_set(&check_tell(c, FINDING_JOB_GID_FIXED, check_get(c, "NCCL_IB_GID_INDEX"))->got, "entry %lld", value);
}

static void logging(struct check *c)
{
	const struct job_setting *debug = check_get(c, "NCCL_DEBUG"), *subsys = check_get(c, "NCCL_DEBUG_SUBSYS");

	if (!debug || strcasecmp(debug->value, "INFO") != 0 || check_unknown(c, "NCCL_DEBUG_SUBSYS"))
		return;
	if (subsys && (strcasestr(subsys->value, "NET") || strcasestr(subsys->value, "ALL")) && subsys->value[0] != '^')
		return;
	if (subsys && subsys->value[0] == '^' && !strcasestr(subsys->value, "NET") && !strcasestr(subsys->value, "ALL"))
		return;
	check_tell(c, FINDING_JOB_LOG_NET, subsys ? subsys : debug);
}

void check_values(struct check *c)
{
	for (size_t i = 0; i < c->env->count && !(c->q->ctx && ctx_stopped(c->q->ctx)); i++) {
		const struct job_setting *s = &c->env->items[i];

		if (s->hidden)
			hidden(c, s);
		else if (!s->removed && s->value && strncmp(s->name, "NCCL_", 5) == 0)
			value_of(c, s);
	}
	scripts(c);
	ranges(c);
	no_effect(c);
	logging(c);
}
