/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Random policies on random fabrics, from the text of the policy to packets: each is compiled or refused
 * as it must be; what OpenSM would read from the config is what was planned; every class has what it was
 * told on every link, packet by packet, and what it asked for unless it was told otherwise.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/policy.h"
#include "cases.h"
#include "images.h"
#include "vlarb_wait.h"

#define POLICIES 350
#define CLASSES_MAX 15
#define MISSED 2.0	 /* points below the share that are told of */
#define SIMULATED 0.0015 /* how far a simulation of so many cycles may be off */
#define CYCLES 500

struct sample {
	unsigned count, vls, cap; /* classes; the least VLs and entries of the links */
	double share[CLASSES_MAX];
	unsigned sl[CLASSES_MAX];
	bool high[CLASSES_MAX], latency[CLASSES_MAX];
	unsigned default_class;
	bool short_of[CLASSES_MAX]; /* its share, somewhere, when played */
	bool overridden;	 /* the limit of adapters */
	double lower;		 /* share of class 0 on switches; 0: as everywhere */
	char text[4096];
	struct fabric *fabric;
};

struct tally {
	unsigned compiled, refused, with_high, met, missed, places, classes;
	double worst, worst_carried;
};

static unsigned pick(uint64_t *seed, const unsigned *items, unsigned count)
{
	return items[sim_random(seed, count)];
}
#define PICK(seed, ...)                                                                                          \
	pick(seed, (const unsigned[]){__VA_ARGS__}, sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

/* --- policies --- */

static void choose_classes(struct sample *s, uint64_t *seed)
{
	unsigned left = 100, first = sim_random(seed, QOS_SLS), style = sim_random(seed, 4);

	s->count = sim_random(seed, 6) ? 1 + sim_random(seed, 6) : 1 + sim_random(seed, CLASSES_MAX);
	s->default_class = sim_random(seed, s->count);
	for (unsigned i = 0; i < s->count; i++) {
		unsigned most = left - (s->count - 1 - i), even = 2 * left / (s->count - i);

		most = most < even ? most : even;
		s->share[i] = i + 1 == s->count && sim_random(seed, 2) ? left : 1 + sim_random(seed, most);
		left -= (unsigned)s->share[i];
		s->sl[i] = (first + 3 * i) % QOS_SLS; /* 3 and 16 have no divisor in common: all differ */
		s->high[i] = style == 1 ? sim_random(seed, 2) : style == 2 && i == 0;
		s->latency[i] = s->high[i] && style == 2 && sim_random(seed, 3) == 0;
	}
}

static unsigned highs(const struct sample *s)
{
	unsigned high = 0;

	for (unsigned i = 0; i < s->count; i++)
		high += s->high[i];
	return high;
}

/* Priority for nobody, as for all, makes no difference. */
static bool has_priority(const struct sample *s)
{
	return highs(s) > 0 && highs(s) < s->count;
}

static void write_policy(struct sample *s, uint64_t *seed)
{
	FILE *out = fmemopen(s->text, sizeof(s->text), "w");

	assert_non_null(out);
	fprintf(out, "version: 1\nopensm: {config: /nonexistent/opensm.conf}\nclasses:\n");
	for (unsigned i = 0; i < s->count; i++)
		fprintf(out, "  - {name: c%u, sl: %u, share: %.0f%%%s%s%s}\n", i, s->sl[i], s->share[i],
			i == s->default_class ? ", default: true" : "", s->high[i] && !s->latency[i] ? ", priority: high" : "",
			s->latency[i] ? ", min_latency: true" : "");
	s->overridden = has_priority(s) && sim_random(seed, 6) == 0;
	s->lower = s->share[0] > 2 && sim_random(seed, 8) == 0 ? floor(s->share[0] / 2) : 0;
	if (s->overridden || s->lower > 0)
		fprintf(out, "overrides:\n");
	if (s->overridden)
		fprintf(out, "  ca: {high_limit: %u}\n", sim_random(seed, 20));
	if (s->lower > 0)
		fprintf(out, "  swe: {shares: [{class: c0, share: %.0f%%}]}\n", s->lower);
	assert_int_equal(fclose(out), 0);
}

/* --- fabrics --- */

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* A link; both ends run the VLs of the one that has fewer. */
static struct image_port choose_link(struct sample *s, uint64_t *seed, bool special)
{
	/* most have room for what is asked, as real ones have; some do not */
	unsigned code = sim_random(seed, 40) ? PICK(seed, 4, 4, 5) : PICK(seed, 1, 2, 3);
	unsigned cap = sim_random(seed, 30) ? PICK(seed, 8, 8, 16, 32, 64) : PICK(seed, 2, 4, 5, 40, 63);
	struct image_port port = {.mtu = PICK(seed, 5, 5, 5, 4, 4, 3, 2, 1), .vl_cap = code, .oper_vls = code};

	if (s->count > 8 && sim_random(seed, 20)) {
		port.vl_cap = port.oper_vls = 5;
		cap = cap < 15 ? 16 : cap;
	} else if (s->count > 4 && s->count <= 8 && port.oper_vls < 4 && sim_random(seed, 2)) {
		port.vl_cap = port.oper_vls = 4;
	} else if (s->count <= 4 && sim_random(seed, 4) == 0) {
		port.vl_cap = port.oper_vls = 3;
	}
	if (special)
		port.vl_cap = port.oper_vls = 2;
	port.high_cap = cap;
	port.low_cap = sim_random(seed, 5) ? cap : PICK(seed, 8, 16, 32);
	if (s->count > 8 && port.low_cap < 15)
		port.low_cap = cap;
	if (!special) {
		s->vls = least(s->vls, qos_vls_of_code(port.oper_vls));
		if (port.vl_cap != 1)
			s->cap = least(s->cap, least(port.high_cap, port.low_cap));
	}
	return port;
}

static void add_host(struct sample *s, uint64_t *seed, const char *name, unsigned n, uint32_t leaf, bool special)
{
	struct image_port port = choose_link(s, seed, special), own = port;
	uint64_t guid = 0x1000u + 0x10u * n;
	uint32_t host = image_add_host(s->fabric, name, guid, n + 10);
	uint8_t info[MAD_SMP_DATA];

	own.lid = n + 10;
	image_port_info(info, &own);
	assert_int_equal(fabric_port_seen(s->fabric, host, 1, guid + 1, info, NULL), 0);
	if (port.vl_cap < 5 && port.vl_cap > 1)
		port.vl_cap++; /* a switch that could more than this adapter */
	image_link(s->fabric, leaf, n + 1, host, 1, &port);
}

static void make_fabric(struct sample *s, uint64_t *seed)
{
	unsigned hosts = 1 + sim_random(seed, 5);
	uint32_t leaf, spine;
	struct image_port up;

	s->fabric = fabric_new("");
	assert_non_null(s->fabric);
	s->vls = s->cap = UINT32_MAX;
	leaf = image_add_switch(s->fabric, "leaf", 0x10, 20, 1);
	spine = image_add_switch(s->fabric, "spine", 0x20, 20, 2);
	for (unsigned n = 0; n < hosts; n++)
		add_host(s, seed, "host", n, leaf, false);
	if (sim_random(seed, 4) == 0)
		add_host(s, seed, "Mellanox Technologies Aggregation Node", hosts, leaf, true);
	up = choose_link(s, seed, false);
	image_link(s->fabric, leaf, 19, spine, 19, &up);
	assert_int_equal(fabric_finish(s->fabric), 0);
}

/* --- what must hold --- */

static bool told(const struct finding_list *findings, enum finding_code code, unsigned class)
{
	char name[32];

	snprintf(name, sizeof(name), "class 'c%u'", class);
	for (size_t i = 0; i < findings->count; i++)
		if (findings->items[i].code == code && strncmp(findings->items[i].what, name, strlen(name)) == 0)
			return true;
	return false;
}

static void check_config(unsigned n, const struct plan *plan)
{
	struct finding_list doubts = {0};
	struct opensm_conf *conf;
	struct qos_config read;
	bool enabled;

	assert_int_equal(opensm_conf_parse(plan->conf_new, plan->conf_new_size, &conf), 0);
	assert_int_equal(opensm_conf_get_qos(conf, "conf", &read, &enabled, &doubts), 0);
	assert_true(enabled);
	assert_int_equal(doubts.count, 0);
	for (int type = 0; type < QOS_PORT_TYPES; type++) {
		char a[QOS_TEXT_MAX], b[QOS_TEXT_MAX];
		const struct qos_tables *x = &read.of[type], *y = &plan->config.of[type];

		if (!qos_sl2vl_equal(&x->sl2vl, &y->sl2vl) || x->high_limit != y->high_limit)
			fail_msg("policy %u: OpenSM reads other maps or limits", n);
		qos_vlarb_format(x->low.entry, x->low.count, a);
		qos_vlarb_format(y->low.entry, y->low.count, b);
		assert_string_equal(a, b);
		qos_vlarb_format(x->high.entry, x->high.count, a);
		qos_vlarb_format(y->high.entry, y->high.count, b);
		assert_string_equal(a, b);
	}
	opensm_conf_free(conf);
}

static double asked(const struct sample *s, const struct plan_place *p, unsigned class)
{
	return class == 0 && s->lower > 0 && p->type == QOS_PORT_SWE ? s->lower : s->share[class];
}

/* A place's tables, packet by packet. */
static void check_place(unsigned n, struct sample *s, const struct plan *plan, const struct plan_place *p,
			const struct finding_list *findings, uint64_t *seed, struct tally *tally)
{
	bool latency = finding_count_code(findings, FINDING_PLAN_MIN_LATENCY) > 0;
	double played[QOS_DATA_VLS], carried[QOS_DATA_VLS];
	unsigned packet[QOS_DATA_VLS], waits;
	uint16_t busy = 0;
	uint64_t bytes, longest;
	bool never;

	for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++)
		packet[vl] = p->mtu;
	for (unsigned i = 0; i < s->count; i++) {
		assert_true(p->classes[i].vl < p->vls);
		assert_true(p->special || !(busy >> p->classes[i].vl & 1));
		busy |= (uint16_t)(1u << p->classes[i].vl);
	}
	bytes = CYCLES * (vlarb_sim_cycle(&p->tables.low, busy, packet) + vlarb_sim_cycle(&p->tables.high, busy, packet)) *
		(p->tables.high_limit + 1u);
	vlarb_sim(&p->tables, busy, packet, false, bytes, played);
	/* weights are whole packets of the largest MTU planned for: a special link may have a larger one */
	vlarb_sim(&p->tables, busy, packet, p->mtu <= plan->mtu, bytes, carried);
	waits = sim_random(seed, s->count);
	longest = vlarb_sim_wait(&p->tables, busy, packet, p->classes[waits].vl, 2000, seed, &never);
	if (longest > p->classes[waits].wait)
		fail_msg("policy %u: class %u waits for %ju bytes, %ju told\n%s", n, waits, (uintmax_t)longest,
			 (uintmax_t)p->classes[waits].wait, s->text);
	tally->places++;
	for (unsigned i = 0; i < s->count; i++) {
		double got = played[p->classes[i].vl], also = carried[p->classes[i].vl];

		tally->classes++;
		tally->worst = fmax(tally->worst, fabs(got - p->classes[i].guaranteed));
		tally->worst_carried = fmax(tally->worst_carried, fabs(also - p->classes[i].guaranteed));
		if (fabs(got - p->classes[i].guaranteed) > SIMULATED || fabs(also - p->classes[i].guaranteed) > SIMULATED)
			fail_msg("policy %u: class %u has %.5f, where overshoot is carried %.5f, told %.5f\n%s", n, i, got, also,
				 p->classes[i].guaranteed, s->text);
		/* where no training traffic goes a table may be cut to nothing, which is told */
		if (got <= 0 && !(p->special && finding_count_code(findings, FINDING_PLAN_FEWER_VLS)))
			fail_msg("policy %u: class %u starves\n%s", n, i, s->text);
		s->short_of[i] |= !p->special && got < asked(s, p, i) / 100 - MISSED / 100 + SIMULATED;
		if (p->special || latency || told(findings, FINDING_PLAN_SHARE_MISSED, i))
			continue;
		if (got < asked(s, p, i) / 100 - MISSED / 100 - SIMULATED)
			fail_msg("policy %u: class %u has %.4f of %.0f %% on %s, MTU %u\n%s", n, i, got, asked(s, p, i),
				 qos_port_type_name(p->type), p->mtu, s->text);
	}
}

/* Whether it must be refused: each class needs a VL, and an entry in its table. */
static bool too_small(const struct sample *s)
{
	unsigned high = highs(s), entries = has_priority(s) ? (high > s->count - high ? high : s->count - high) : s->count;

	return s->vls < s->count || s->cap < entries;
}

static void check_plan(unsigned n, struct sample *s, const struct plan *plan, const struct finding_list *findings,
		       uint64_t *seed, struct tally *tally)
{
	struct plan_place *places;
	bool missed = false;
	size_t count;

	check_config(n, plan);
	assert_int_equal(plan_explain(plan, s->fabric, &places, &count), 0);
	assert_true(count >= 2);
	for (size_t i = 0; i < count; i++)
		check_place(n, s, plan, &places[i], findings, seed, tally);
	for (unsigned i = 0; i < s->count; i++) {
		missed |= told(findings, FINDING_PLAN_SHARE_MISSED, i);
		if (told(findings, FINDING_PLAN_SHARE_MISSED, i) && !s->short_of[i] &&
		    !finding_count_code(findings, FINDING_PLAN_MIN_LATENCY))
			fail_msg("policy %u: class %u has its share, but is told that it has not\n%s", n, i, s->text);
	}
	tally->compiled++;
	tally->with_high += has_priority(s);
	*(missed ? &tally->missed : &tally->met) += 1;
	free(places);
}

static void try_one(unsigned n, uint64_t *seed, struct tally *tally)
{
	struct finding_list findings = {0};
	struct sample s = {0};
	struct policy *policy;
	struct plan *plan;

	choose_classes(&s, seed);
	write_policy(&s, seed);
	make_fabric(&s, seed);
	assert_int_equal(policy_parse("p.yaml", s.text, strlen(s.text), &findings, &policy), 0);
	if (!policy)
		fail_msg("policy %u is refused: %s\n%s", n, findings.items[0].what, s.text);
	assert_int_equal(plan_make(policy, s.fabric, 0, &findings, &plan), 0);
	if (!plan != too_small(&s))
		fail_msg("policy %u: %s, %u classes on %u VLs and %u entries\n%s", n, plan ? "compiled" : "refused", s.count, s.vls,
			 s.cap, s.text);
	if (plan)
		check_plan(n, &s, plan, &findings, seed, tally);
	else
		tally->refused++;
	plan_free(plan);
	policy_free(policy);
	fabric_free(s.fabric);
	finding_list_clear(&findings);
}

static void test_policies_on_fabrics(void **state)
{
	unsigned policies = cases(POLICIES);
	struct tally tally = {0};

	(void)state;
	for (unsigned n = 0; n < policies; n++) {
		uint64_t seed = 0x9e3779b97f4a7c15u * (n + 1); /* its own, so that one can be repeated alone */

		try_one(n, &seed, &tally);
	}
	print_message("%u policies: %u refused, %u compiled (%u with priority), of which %u meet all shares and %u are told that "
		      "they cannot; %u shares on %u kinds of link played, off by %.5f at most, %.5f where overshoot is carried\n",
		      policies, tally.refused, tally.compiled, tally.with_high, tally.met, tally.missed, tally.classes,
		      tally.places, tally.worst, tally.worst_carried);
	assert_true(policies < 100 || (tally.compiled > policies / 2 && tally.refused > policies / 50 &&
				       tally.met > tally.compiled / 2 && tally.with_high > policies / 20));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_policies_on_fabrics)};

	return cmocka_run_group_tests_name("plan property", tests, NULL, NULL);
}
