/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Mixtures of old and new tables during a change: cases by hand, and random changes whose two steps are
 * tried out in every mixture by a plain look at the tables, which shares no code with the planner.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibqos/policy.h"
#include "images.h"
#include "vlarb_sim.h"

struct rig {
	char folder[64], conf[96], rules[96];
	struct policy policy;
	struct policy_class classes[QOS_SLS];
	char names[QOS_SLS][16];
	struct fabric *fabric;
	struct finding_list findings;
	struct plan *plan;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	snprintf(r->folder, sizeof(r->folder), "/tmp/ibqos-test-mixture-XXXXXX");
	assert_non_null(mkdtemp(r->folder));
	snprintf(r->conf, sizeof(r->conf), "%s/opensm.conf", r->folder);
	snprintf(r->rules, sizeof(r->rules), "%s/qos-policy.conf", r->folder);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	plan_free(r->plan);
	fabric_free(r->fabric);
	finding_list_clear(&r->findings);
	unlink(r->conf);
	rmdir(r->folder);
	free(r);
	return 0;
}

/* A leaf and a host, each port as `port`. */
static void fabric_of(struct rig *r, const struct image_port *port)
{
	struct image_port own = *port;
	uint32_t leaf, host;
	uint8_t info[MAD_SMP_DATA];

	fabric_free(r->fabric);
	r->fabric = fabric_new("");
	assert_non_null(r->fabric);
	leaf = image_add_switch(r->fabric, "leaf", 0x10, 4, 1);
	host = image_add_host(r->fabric, "host", 0x100, 2);
	own.lid = 2;
	image_port_info(info, &own);
	assert_int_equal(fabric_port_seen(r->fabric, host, 1, 0x101, info, NULL), 0);
	image_link(r->fabric, leaf, 1, host, 1, port);
	assert_int_equal(fabric_finish(r->fabric), 0);
}

/* Class n of `count` has SL sls[n]; the last is the default. */
static void policy_of(struct rig *r, unsigned count, const unsigned *sls, const double *shares, unsigned high)
{
	memset(r->classes, 0, sizeof(r->classes));
	for (unsigned i = 0; i < count; i++) {
		snprintf(r->names[i], sizeof(r->names[i]), "c%u", i);
		r->classes[i] = (struct policy_class){.name = r->names[i], .sl = sls[i], .nccl_ib_tc = POLICY_NO_TC,
						      .share = shares[i], .mark = {10 + i, 5}, .is_default = i + 1 == count,
						      .priority = high >> i & 1 ? POLICY_PRIORITY_HIGH : POLICY_PRIORITY_NORMAL};
	}
	r->policy = (struct policy){.path = "p.yaml", .classes = r->classes, .class_count = count,
				    .default_class = count - 1, .opensm_config = r->conf};
}

static void plan_from(struct rig *r, const char *text, size_t size)
{
	char *whole;
	FILE *f = fopen(r->conf, "w");

	assert_non_null(f);
	assert_true(asprintf(&whole, "%.*s\nqos_policy_file %s\n", (int)size, text, r->rules) > 0);
	assert_true(fputs(whole, f) >= 0);
	assert_int_equal(fclose(f), 0);
	free(whole);
	plan_free(r->plan);
	finding_list_clear(&r->findings);
	assert_int_equal(plan_make(&r->policy, r->fabric, 0, &r->findings, &r->plan), 0);
	assert_non_null(r->plan);
}

static void plan_from_text(struct rig *r, const char *text)
{
	plan_from(r, text, strlen(text));
}

static const struct finding *mixture(const struct rig *r)
{
	for (size_t i = 0; i < r->findings.count; i++)
		if (r->findings.items[i].code == FINDING_PLAN_MIXTURE)
			return &r->findings.items[i];
	return NULL;
}

static const double shares[] = {70, 20, 10};

/* QoS off, or tables as they will be: nothing to pass through. */
static void test_nothing_to_pass(void **state)
{
	struct rig *r = *state;
	char *conf;

	fabric_of(r, &(struct image_port){0});
	policy_of(r, 3, (const unsigned[]){1, 2, 0}, shares, 0);
	plan_from_text(r, "qos FALSE\nqos_sl2vl 5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5\n");
	assert_null(mixture(r));
	assert_null(r->plan->step);
	conf = strdup(r->plan->conf_new);
	assert_non_null(conf);
	plan_from_text(r, conf);
	assert_null(mixture(r));
	assert_null(r->plan->step);
	free(conf);
}

/*
 * OpenSM's own tables: SL n has VL n, and every VL weight, VL 0 in the high table, the others in the low.
 * The classes are sent all along, since VL 1, 2 and 0 stay, unless a MAD is lost: VL 0 has no weight where
 * the low table is the old one and the high one new, for SLs that have VL 0 then as well. SLs 3 to 7 and,
 * with 8 VLs, 11 to 15 are on VLs that the new tables lack: on every port, until its SL2VL tables come.
 */
static void test_from_the_default(void **state)
{
	struct rig *r = *state;
	const struct finding *f;

	fabric_of(r, &(struct image_port){0});
	policy_of(r, 3, (const unsigned[]){1, 2, 0}, shares, 0);
	plan_from_text(r, "qos TRUE\n");
	f = mixture(r);
	assert_non_null(f);
	assert_int_equal(f->severity, FINDING_NOTE);
	assert_string_equal(f->what, "class 'c2'");
	assert_string_equal(f->got, "SL 0, 3-15 is held up");
	assert_string_equal(f->detail, "on ports of ca swe, as VL 3 has no weight where the old SL2VL table meets the "
				       "new low and old high VL arbitration table");
	assert_non_null(r->plan->step);
	/* the map can be the new one at once, as both tables weigh what it names */
	assert_int_equal(r->plan->step->of[QOS_PORT_CA].sl2vl.vl[3], 0);
	assert_int_equal(r->plan->step->of[QOS_PORT_CA].sl2vl.vl[1], 1);
}

/* Classes that move to VLs that the old tables do not weigh: only where the new map overtakes them. */
static void test_new_vl(void **state)
{
	static const char old[] = "qos TRUE\nqos_sl2vl 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n"
				  "qos_vlarb_high 0:0\nqos_vlarb_low 0:64\nqos_high_limit 0\n";
	struct rig *r = *state;
	const struct finding *f;

	fabric_of(r, &(struct image_port){0});
	policy_of(r, 3, (const unsigned[]){1, 2, 0}, shares, 0);
	plan_from_text(r, old);
	assert_int_equal(finding_count_code(&r->findings, FINDING_PLAN_MIXTURE), 2);
	f = mixture(r);
	assert_int_equal(f->severity, FINDING_NOTE);
	assert_string_equal(f->what, "class 'c0'");
	assert_int_equal(f->line, 10);
	assert_string_equal(f->got, "SL 1 is held up");
	assert_string_equal(f->detail, "where a MAD is lost, on ports of ca swe, as VL 1 has no weight where the new "
				       "SL2VL table meets the old low and old high VL arbitration table");
	assert_non_null(r->plan->step);
	/* the map stays for one step, and all VLs are weighed */
	assert_int_equal(r->plan->step->of[QOS_PORT_CA].sl2vl.vl[1], 0);
	/* a fabric whose ports all have one VL has nothing to mix */
	policy_of(r, 1, (const unsigned[]){0}, shares, 0);
	fabric_of(r, &(struct image_port){.vl_cap = 1, .oper_vls = 1});
	plan_from_text(r, old);
	assert_null(mixture(r));
}

/* A class whose VL the new tables have no more: each port has them before its new map. */
static void test_class_moves(void **state)
{
	struct rig *r = *state;
	const struct finding *f;

	fabric_of(r, &(struct image_port){0});
	policy_of(r, 3, (const unsigned[]){1, 2, 0}, shares, 0);
	plan_from_text(r, "qos TRUE\nqos_sl2vl 0,5,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n"
			  "qos_vlarb_high 0:0,1:0\nqos_vlarb_low 0:64,1:64,2:64,5:64\nqos_high_limit 0\n");
	assert_int_equal(finding_count_code(&r->findings, FINDING_PLAN_MIXTURE), 1);
	f = mixture(r);
	assert_int_equal(f->severity, FINDING_NOTE); /* there is a step */
	assert_string_equal(f->what, "class 'c0'");
	assert_string_equal(f->got, "SL 1 is held up");
	assert_string_equal(f->detail, "on ports of ca swe, as VL 5 has no weight where the old SL2VL table meets the "
				       "new low and old high VL arbitration table");
	assert_non_null(r->plan->step);
	assert_int_equal(r->plan->step->of[QOS_PORT_CA].sl2vl.vl[1], 1); /* which the old tables weigh, too */
}

/* Everything high without a limit before: until the limit comes, the low ones can starve. */
static void test_limit_comes_last(void **state)
{
	struct rig *r = *state;
	const struct finding *f;

	fabric_of(r, &(struct image_port){0});
	policy_of(r, 2, (const unsigned[]){1, 0}, (const double[]){50, 50}, 1);
	plan_from_text(r, "qos TRUE\nqos_sl2vl 0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n"
			  "qos_vlarb_high 0:64,1:64\nqos_vlarb_low 0:64,1:64\nqos_high_limit 255\n");
	f = mixture(r);
	assert_non_null(f);
	assert_string_equal(f->what, "class 'c1'");
	assert_string_equal(f->got, "SL 0, 2-15 can wait without end");
	assert_string_equal(f->detail, "on ports of ca swe, as VL 0 is in the low table alone while the high one has no "
				       "limit where the old SL2VL table meets the new low and new high VL arbitration "
				       "table and the old limit");
	assert_non_null(r->plan->step);
	assert_int_equal(r->plan->step->of[QOS_PORT_SWE].high_limit, r->plan->config.of[QOS_PORT_SWE].high_limit);
}

/* --- random changes --- */

static bool weighs(const struct qos_vlarb *table, unsigned cap, unsigned mask, unsigned vl)
{
	for (unsigned i = 0; i < table->count && i < cap; i++)
		if ((table->entry[i].vl & mask) == vl && table->entry[i].weight)
			return true;
	return false;
}

/* 0 sent, 1 behind an unlimited high table, 2 without weight, 3 dropped; caps below 32 only. */
static int judge(const struct qos_tables *map, const struct qos_tables *high, const struct qos_tables *low,
		 const struct qos_tables *limit, unsigned sl, unsigned cap, unsigned mask)
{
	unsigned vl = map->sl2vl.vl[sl];
	bool any_high = false;

	if (vl == 15)
		return 3;
	vl &= mask;
	if (weighs(&high->high, cap, mask, vl))
		return 0;
	if (!weighs(&low->low, cap, mask, vl))
		return 2;
	for (unsigned i = 0; i < 15; i++)
		any_high |= weighs(&high->high, cap, mask, i);
	return any_high && limit->high_limit == 255;
}

/* Whether an SL fares in some mixture of a and b worse than `bearable`. */
static bool worse(const struct qos_tables *a, const struct qos_tables *b, unsigned sl, unsigned cap, unsigned mask,
		  int bearable)
{
	const struct qos_tables *of[] = {a, b};

	for (unsigned m = 0; m < 16; m++)
		if (judge(of[m & 1], of[m >> 1 & 1], of[m >> 2 & 1], of[m >> 3 & 1], sl, cap, mask) > bearable)
			return true;
	return false;
}

static void random_vlarb(uint64_t *seed, char *text, size_t room)
{
	size_t used = 0;

	for (unsigned n = 1 + sim_random(seed, 8), i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, room - used, "%s%u:%u", i ? "," : "", sim_random(seed, 8),
					 sim_random(seed, 3) ? 64 : 0);
}

static void random_old(uint64_t *seed, char *text, size_t room)
{
	char high[128], low[128];
	size_t used = (size_t)snprintf(text, room, "qos TRUE\nqos_sl2vl ");

	for (unsigned sl = 0; sl < 16; sl++)
		used += (size_t)snprintf(text + used, room - used, "%s%u", sl ? "," : "",
					 sim_random(seed, 16) ? sim_random(seed, 5) : 15);
	random_vlarb(seed, high, sizeof(high));
	random_vlarb(seed, low, sizeof(low));
	snprintf(text + used, room - used, "\nqos_vlarb_high %s\nqos_vlarb_low %s\nqos_high_limit %u\n", high, low,
		 (const unsigned[]){0, 3, 255}[sim_random(seed, 3)]);
}

static void read_old(const struct rig *r, struct qos_config *old)
{
	struct finding_list doubts = {0};
	struct opensm_conf *conf;
	bool enabled;

	assert_int_equal(opensm_conf_parse(r->plan->conf_old, r->plan->conf_old_size, &conf), 0);
	assert_int_equal(opensm_conf_get_qos(conf, r->conf, old, &enabled, &doubts), 0);
	assert_true(enabled);
	finding_list_clear(&doubts);
	opensm_conf_free(conf);
}

#define CHANGES 400

static void test_random_changes(void **state)
{
	unsigned troubled = 0, solved = 0;
	struct rig *r = *state;
	uint64_t seed = 15;

	for (unsigned n = 0; n < CHANGES; n++) {
		unsigned count = 1 + sim_random(&seed, 4), code = 3 + sim_random(&seed, 3), sls[4];
		unsigned cap = count + sim_random(&seed, 9), mask = code == 3 ? 3 : code == 4 ? 7 : 15;
		double parts[4];
		struct qos_config old;
		bool trouble = false;
		char text[512];

		for (unsigned i = 0; i < count; i++) {
			sls[i] = i + 1 == count ? 0 : 1 + 4 * i + sim_random(&seed, 4);
			parts[i] = 100.0 / count;
		}
		fabric_of(r, &(struct image_port){.vl_cap = code, .oper_vls = code, .high_cap = cap, .low_cap = cap});
		policy_of(r, count, sls, parts, n % 3 ? 0 : sim_random(&seed, 1u << count));
		random_old(&seed, text, sizeof(text));
		plan_from_text(r, text);
		read_old(r, &old);
		for (unsigned sl = 0; sl < 16; sl++) {
			const struct qos_tables *a = &old.of[QOS_PORT_SWE], *b = &r->plan->config.of[QOS_PORT_SWE];
			int before = judge(a, a, a, a, sl, cap, mask), after = judge(b, b, b, b, sl, cap, mask);
			int bearable = before > after ? before : after;

			assert_int_equal(after, 0);
			trouble |= worse(a, b, sl, cap, mask, bearable);
			if (!r->plan->step)
				continue;
			for (int type = 0; type < QOS_PORT_TYPES; type++) {
				const struct qos_tables *step = &r->plan->step->of[type];

				assert_true(step->high.count <= cap && step->low.count <= cap);
				if (worse(a, step, sl, cap, mask, bearable) || worse(step, b, sl, cap, mask, bearable))
					fail_msg("change %u: SL %u is worse off in two steps", n, sl);
			}
		}
		assert_int_equal(trouble, mixture(r) != NULL);
		assert_true(trouble || !r->plan->step);
		troubled += trouble;
		solved += r->plan->step != NULL;
		if (trouble && !r->plan->step)
			assert_non_null(strstr(mixture(r)->detail, "no tables in between"));
	}
	print_message("%u changes, %u with a mixture that is worse than both ends, %u of these have tables in between\n",
		      CHANGES, troubled, solved);
	assert_true(troubled > CHANGES / 4 && solved > troubled / 2);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_nothing_to_pass), T(test_from_the_default),  T(test_new_vl),
		T(test_class_moves),
		T(test_limit_comes_last), T(test_random_changes),
	};

	return cmocka_run_group_tests_name("plan mixture", tests, NULL, NULL);
}
