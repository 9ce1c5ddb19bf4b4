/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * plan_explain: what is told of each kind of link, by hand; and for random policies that it holds for
 * every set of busy classes.
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

#include "ibqos/link.h"
#include "ibqos/policy.h"
#include "images.h"
#include "vlarb_sim.h"

struct rig {
	struct policy policy;
	struct policy_class classes[QOS_SLS];
	char names[QOS_SLS][16];
	struct fabric *fabric;
	uint32_t leaf;
	struct finding_list findings;
	struct plan *plan;
	struct plan_place *places;
	size_t count;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	*state = r;
	return 0;
}

static void clear(struct rig *r)
{
	free(r->places);
	plan_free(r->plan);
	fabric_free(r->fabric);
	finding_list_clear(&r->findings);
	r->places = NULL;
	r->plan = NULL;
	r->fabric = NULL;
}

static int teardown(void **state)
{
	clear(*state);
	free(*state);
	return 0;
}

static void start(struct rig *r, unsigned count, const double *shares, unsigned high)
{
	clear(r);
	memset(r->classes, 0, sizeof(r->classes));
	for (unsigned i = 0; i < count; i++) {
		bool last = i + 1 == count;

		snprintf(r->names[i], sizeof(r->names[i]), "c%u", i);
		r->classes[i] = (struct policy_class){.name = r->names[i], .sl = last ? 0 : i + 1, .share = shares[i],
						      .nccl_ib_tc = POLICY_NO_TC, .is_default = last,
						      .priority = high >> i & 1 ? POLICY_PRIORITY_HIGH : POLICY_PRIORITY_NORMAL};
	}
	r->policy = (struct policy){.path = "p", .classes = r->classes, .class_count = count, .default_class = count - 1};
	r->fabric = fabric_new("");
	assert_non_null(r->fabric);
	r->leaf = image_add_switch(r->fabric, "leaf", 0x10, 20, 1);
}

static void add_host(struct rig *r, const char *name, uint64_t guid, unsigned number, const struct image_port *port)
{
	struct image_port own = *port;
	uint32_t host = image_add_host(r->fabric, name, guid, number + 1);
	uint8_t info[MAD_SMP_DATA];

	own.lid = number + 1;
	image_port_info(info, &own);
	assert_int_equal(fabric_port_seen(r->fabric, host, 1, guid + 1, info, NULL), 0);
	image_link(r->fabric, r->leaf, number, host, 1, port);
}

static void explain(struct rig *r)
{
	assert_int_equal(fabric_finish(r->fabric), 0);
	assert_int_equal(plan_make(&r->policy, r->fabric, PLAN_TABLES_ONLY, &r->findings, &r->plan), 0);
	assert_non_null(r->plan);
	assert_int_equal(plan_explain(r->plan, r->fabric, &r->places, &r->count), 0);
}

/* 70/20/10 on two kinds of hosts, and an aggregation node of two VLs. */
static void test_by_hand(void **state)
{
	static const double shares[] = {70, 20, 10};
	static const double most[] = {7 / 8.0, 2 / 3.0, 1 / 3.0}; /* 70 of 80, 20 of 30, 10 of 30 */
	struct rig *r = *state;
	const struct plan_place *p;

	start(r, 3, shares, 0);
	add_host(r, "gpu-1", 0x100, 1, &(struct image_port){0});
	add_host(r, "gpu-2", 0x200, 2, &(struct image_port){0});
	add_host(r, "old", 0x300, 3, &(struct image_port){.mtu = 4, .vl_cap = 3, .oper_vls = 3});
	add_host(r, "Mellanox Technologies Aggregation Node", 0x400, 4, &(struct image_port){.vl_cap = 2, .oper_vls = 2});
	explain(r);
	assert_int_equal(r->count, 6); /* three kinds of link, two ends each */
	p = &r->places[0];
	assert_int_equal(p->type, QOS_PORT_CA);
	assert_int_equal(p->ports, 2);
	assert_int_equal(p->mtu, 4096);
	assert_int_equal(p->vls, 8);
	assert_true(p->gbps == link_gbps(p->width, p->speed));
	for (unsigned i = 0; i < 3; i++) {
		assert_true(fabs(p->classes[i].guaranteed - shares[i] / 100) < 1e-9);
		assert_true(fabs(p->classes[i].at_most - most[i]) < 1e-9);
		assert_false(p->classes[i].shared);
	}
	/* 1:64,2:64,1:64,1:128,0:64,1:64,2:64,1:128 */
	assert_int_equal(p->classes[0].wait, 4096);
	assert_int_equal(p->classes[1].wait, 5 * 4096);
	assert_int_equal(p->classes[2].wait, 9 * 4096);
	p = &r->places[1];
	assert_int_equal(p->mtu, 2048);
	assert_int_equal(p->vls, 4);
	assert_int_equal(p->ports, 1);
	assert_int_equal(p->classes[2].wait, 9 * 4096); /* a turn is two packets */
	p = &r->places[2];
	assert_true(p->special);
	/* storage's VL 2 is VL 0 there, with other: 3 of 10 packets together */
	assert_true(p->classes[1].shared && p->classes[2].shared && !p->classes[0].shared);
	assert_int_equal(p->classes[1].vl, 0);
	assert_true(fabs(p->classes[1].guaranteed - 0.3) < 1e-9);
	assert_true(fabs(p->classes[2].guaranteed - 0.3) < 1e-9);
	assert_int_equal(r->places[3].type, QOS_PORT_SWE);
}

/* One VL for good has no tables: its one class has all of it and waits for nobody. */
static void test_one_vl(void **state)
{
	struct rig *r = *state;

	start(r, 1, (const double[]){100}, 0);
	add_host(r, "one", 0x100, 1, &(struct image_port){.vl_cap = 1, .oper_vls = 1});
	explain(r);
	assert_int_equal(r->count, 2);
	assert_true(r->places[0].classes[0].guaranteed == 1 && r->places[0].classes[0].at_most == 1);
	assert_int_equal(r->places[0].classes[0].wait, 0);
}

#define POLICIES 300

/* Every set of busy classes: all of the link is used, nobody has nothing, and all keep what is told. */
static void test_every_set(void **state)
{
	struct rig *r = *state;
	unsigned sets = 0, first = 0;
	uint64_t seed = 31;

	for (unsigned n = 0; n < POLICIES; n++) {
		unsigned count = 2 + sim_random(&seed, 6), high = n % 2 ? sim_random(&seed, 1u << count) : 0;
		unsigned mtu = 3 + sim_random(&seed, 3), cap = count + sim_random(&seed, 10);
		double shares[8];

		for (unsigned i = 0; i < count; i++)
			shares[i] = 1 + sim_random(&seed, 100 / count);
		start(r, count, shares, high);
		add_host(r, "host", 0x100, 1, &(struct image_port){.mtu = mtu, .high_cap = cap, .low_cap = cap});
		explain(r);
		first += high && high != (1u << count) - 1;
		for (size_t at = 0; at < r->count; at++) {
			const struct plan_place *p = &r->places[at];
			double most[8] = {0};
			unsigned packet[QOS_DATA_VLS];

			for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++)
				packet[vl] = p->mtu;
			for (unsigned set = 1; set < 1u << count; set++) {
				double share[QOS_DATA_VLS], sum = 0;
				uint16_t busy = 0;

				for (unsigned i = 0; i < count; i++)
					busy |= (uint16_t)((set >> i & 1) << p->classes[i].vl);
				qos_arbitrate(&p->tables, busy, packet, share);
				sets++;
				for (unsigned i = 0; i < count; i++) {
					double got = share[p->classes[i].vl];

					if (!(set >> i & 1))
						continue;
					sum += got;
					if (got <= 0 || got < p->classes[i].guaranteed - 1e-9)
						fail_msg("policy %u, busy 0x%x: class %u has %.4f, told %.4f", n, set, i, got,
							 p->classes[i].guaranteed);
					if (set != 1u << i)
						most[i] = fmax(most[i], got);
				}
				assert_true(fabs(sum - 1) < 1e-9);
			}
			for (unsigned i = 0; i < count; i++)
				if (fabs(most[i] - p->classes[i].at_most) > 1e-9)
					fail_msg("policy %u: class %u has up to %.4f, told %.4f", n, i, most[i],
						 p->classes[i].at_most);
			for (unsigned i = 0; i < count; i++)
				assert_true(p->classes[i].wait != QOS_WAIT_FOREVER);
		}
	}
	print_message("%u policies (%u with priority), %u sets of busy classes\n", POLICIES, first, sets);
	assert_true(first > POLICIES / 4);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_by_hand), T(test_one_vl), T(test_every_set)};

	return cmocka_run_group_tests_name("plan explain", tests, NULL, NULL);
}
