/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Parts of the ports: all parts together are everything, once; what is kept of them between runs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/check/verify.h"
#include "check_rig.h"

#define PORTS_MAX 64

static struct verify *sampled(struct rig *rig, const struct verify_sample *sample)
{
	struct verify *v;

	assert_int_equal(verify_new(&rig->ctx, rig->fabric, &rig->config, &v), 0);
	if (sample)
		assert_int_equal(verify_set_sample(v, sample), 0);
	assert_int_equal(verify_run(v, rig->source, false), 0);
	return v;
}

static void all_parts_are_everything_once(void **state)
{
	static const uint32_t parts[] = {1, 2, 3, 7, 100};
	const struct rig_options options = {.host = {.lid = 0}};
	struct verify_part part[100];
	uint64_t whole[VERIFY_ITEMS];
	struct verify *v;
	struct rig rig;

	(void)state;
	rig_make(&rig, &options);
	v = sampled(&rig, NULL);
	assert_int_equal(verify_result(v)->ports, verify_result(v)->ports_there);
	assert_in_range(verify_result(v)->ports, 13, PORTS_MAX);
	for (unsigned item = 0; item < VERIFY_ITEMS; item++)
		whole[item] = verify_result(v)->coverage[item].asked;
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		uint32_t ports = verify_result(v)->ports, seen = 0, times[PORTS_MAX] = {0};
		uint64_t asked[VERIFY_ITEMS] = {0};

		for (uint32_t p = 1; p <= parts[i]; p++) {
			struct verify *one = sampled(&rig, &(struct verify_sample){.part = p, .parts = parts[i]});

			verify_count_parts(v, parts[i], part);
			assert_int_equal(verify_result(one)->ports, part[p - 1].ports);
			assert_int_equal(verify_result(one)->ports_there, ports);
			seen += verify_result(one)->ports;
			for (unsigned item = 0; item < VERIFY_ITEMS; item++)
				asked[item] += verify_result(one)->coverage[item].asked;
			for (uint32_t port = 0; port < rig.fabric->port_count; port++) {
				uint32_t peer = rig.fabric->ports[port].peer;
				bool in = one->ports[port].flags & PORT_ASKED;

				times[port] += in;
				if (peer != FABRIC_NONE)
					assert_int_equal(in, (one->ports[peer].flags & PORT_ASKED) != 0);
			}
			verify_free(one);
		}
		assert_int_equal(seen, ports);
		assert_memory_equal(asked, whole, sizeof(whole));
		for (uint32_t port = 0; port < rig.fabric->port_count; port++)
			assert_int_equal(times[port], (v->ports[port].flags & PORT_ASKED) != 0);
	}
	verify_free(v);
	rig_free(&rig);
}

static void so_many_ports_are_drawn(void **state)
{
	const struct rig_options options = {.host = {.lid = 0}};
	uint32_t wanted, there, different = 0;
	struct rig rig;

	(void)state;
	rig_make(&rig, &options);
	for (wanted = 1; wanted <= 20; wanted++) {
		struct verify *v = sampled(&rig, &(struct verify_sample){.ports = wanted, .seed = 5});
		struct verify *again = sampled(&rig, &(struct verify_sample){.ports = wanted, .seed = 5});
		struct verify *other = sampled(&rig, &(struct verify_sample){.ports = wanted, .seed = 6});

		there = verify_result(v)->ports_there;
		/* both ends of a link together: one more than wanted at most */
		assert_in_range(verify_result(v)->ports, wanted < there ? wanted : there, wanted < there ? wanted + 1 : there);
		for (uint32_t i = 0; i < rig.fabric->port_count; i++) {
			assert_int_equal(v->ports[i].flags, again->ports[i].flags);
			different += v->ports[i].flags != other->ports[i].flags;
		}
		verify_free(v);
		verify_free(again);
		verify_free(other);
	}
	assert_true(different > 20);
	rig_free(&rig);
}

static void a_part_changes_with_its_ports(void **state)
{
	struct rig_options options = {.host = {.lid = 0}};
	struct verify_part before[5], after[5];
	unsigned different = 0;
	struct verify *v;
	struct rig rig;

	(void)state;
	rig_make(&rig, &options);
	assert_int_equal(verify_new(&rig.ctx, rig.fabric, &rig.config, &v), 0);
	verify_count_parts(v, 5, before);
	verify_free(v);
	rig_free(&rig);
	options.host.state = FABRIC_STATE_DOWN; /* one link: both its ends are in one part */
	options.host.phys_state = 2;
	rig_make(&rig, &options);
	assert_int_equal(verify_new(&rig.ctx, rig.fabric, &rig.config, &v), 0);
	verify_count_parts(v, 5, after);
	for (unsigned i = 0; i < 5; i++) {
		if (before[i].who != after[i].who) {
			different++;
			assert_int_equal(before[i].ports, after[i].ports + 2);
		} else {
			assert_int_equal(before[i].ports, after[i].ports);
		}
	}
	assert_int_equal(different, 1);
	verify_free(v);
	rig_free(&rig);
}

static void configs_have_their_own_number(void **state)
{
	struct qos_config config, other;
	uint64_t id;

	(void)state;
	rig_config(&config);
	id = verify_config_id(&config);
	other = config;
	assert_int_equal(verify_config_id(&other), id);
	other.of[QOS_PORT_SWE].sl2vl.vl[3] ^= 1;
	assert_int_not_equal(verify_config_id(&other), id);
	other = config;
	other.of[QOS_PORT_CA].high_limit++;
	assert_int_not_equal(verify_config_id(&other), id);
	other = config;
	other.of[QOS_PORT_RTR].low.entry[63].weight++;
	assert_int_not_equal(verify_config_id(&other), id);
	other = config;
	other.of[QOS_PORT_RTR].low.count--;
	assert_int_not_equal(verify_config_id(&other), id);
}

static void a_rotation_is_kept(void **state)
{
	struct verify_rotation r, other;
	char *text;

	(void)state;
	assert_int_equal(verify_rotation_new(3, 0xabc, &r), 0);
	assert_int_equal(verify_rotation_next(&r), 1);
	r.look[0] = (struct verify_look){1000, UINT64_MAX, 2};
	assert_int_equal(verify_rotation_next(&r), 2);
	r.look[1] = (struct verify_look){900, 7, 0};
	assert_int_equal(verify_rotation_next(&r), 3);
	text = verify_rotation_write(&r);
	assert_string_equal(text, "ibqos-rotation 1 3 0x0000000000000abc\n1 1000 2 0xffffffffffffffff\n"
				  "2 900 0 0x0000000000000007\n");
	assert_int_equal(verify_rotation_new(3, 0xabc, &other), 0);
	assert_int_equal(verify_rotation_read(&other, text), 0);
	assert_memory_equal(&other.look[0], &r.look[0], 2 * sizeof(r.look[0]));
	assert_int_equal(verify_rotation_next(&other), 3);
	r.look[2] = (struct verify_look){1001, 1, 0};
	assert_int_equal(verify_rotation_next(&r), 2); /* the oldest */
	verify_rotation_clear(&other);
	/* another number of parts, another config: a new start */
	assert_int_equal(verify_rotation_new(4, 0xabc, &other), 0);
	assert_int_equal(verify_rotation_read(&other, text), 0);
	assert_int_equal(other.look[0].ms, 0);
	verify_rotation_clear(&other);
	assert_int_equal(verify_rotation_new(3, 0xabd, &other), 0);
	assert_int_equal(verify_rotation_read(&other, text), 0);
	assert_int_equal(other.look[0].ms, 0);
	verify_rotation_clear(&other);
	verify_rotation_clear(&r);
	free(text);
}

static void other_files_are_not_rotations(void **state)
{
	static const char *const bad[] = {
		"",
		"ibqos-rotation 1",
		"ibqos-rotation 2 3 0xabc\n",
		"ibqos-rotation 1 3\n",
		"ibqos-rotation 1 3 0xabc",
		"ibqos-rotation 1 10001 0xabc\n",
		"ibqos-rotation 1 3 0xabc\n1 1000 2 0x1",	    /* cut */
		"ibqos-rotation 1 3 0xabc\n1 1000 2 0x1\n2 9",     /* cut */
		"ibqos-rotation 1 3 0xabc\n4 1000 2 0x1\n",	    /* no such part */
		"ibqos-rotation 1 3 0xabc\n0 1000 2 0x1\n",
		"ibqos-rotation 1 3 0xabc\n1 0 2 0x1\n",
		"ibqos-rotation 1 3 0xabc\n1 1000 4 0x1\n",	    /* no such exit code */
		"ibqos-rotation 1 3 0xabc\n1 1000 2 0x1 \n",
		"ibqos-rotation 1 3 0xabc\n\n",
		"root:x:0:0:root:/root:/bin/bash\n",
	};
	struct verify_rotation r;

	(void)state;
	assert_int_equal(verify_rotation_new(3, 0xabc, &r), 0);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		r.look[0].ms = 1;
		if (verify_rotation_read(&r, bad[i]) != -EINVAL)
			fail_msg("taken: '%s'", bad[i]);
		assert_int_equal(r.look[0].ms, 0);
	}
	verify_rotation_clear(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_parts_are_everything_once),
		cmocka_unit_test(so_many_ports_are_drawn),
		cmocka_unit_test(a_part_changes_with_its_ports),
		cmocka_unit_test(configs_have_their_own_number),
		cmocka_unit_test(a_rotation_is_kept),
		cmocka_unit_test(other_files_are_not_rotations),
	};

	return cmocka_run_group_tests_name("verify_sample", tests, NULL, NULL);
}
