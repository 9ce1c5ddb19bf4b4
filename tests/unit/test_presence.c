/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Ports that come and go while a change is made, told from those that lag; and runs of verify that have an end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "check_rig.h"

#define STATE 32 /* byte of PortInfo whose low half is the state */

static void set_state(struct rig *rig, uint64_t guid, unsigned number, unsigned state)
{
	rig_device(rig, guid, number)->info[STATE] = (uint8_t)state;
}

static void silence(struct rig *rig, uint64_t guid, unsigned number)
{
	script_source_fail(rig->source, rig_port(rig, guid, number), SCRIPT_ANY, MAD_PORT_INFO, SCRIPT_ANY, MAD_TIMED_OUT, 0);
	script_source_fail(rig->source, rig_port(rig, guid, number), SCRIPT_ANY, MAD_SL2VL, SCRIPT_ANY, MAD_TIMED_OUT, 0);
	script_source_fail(rig->source, rig_port(rig, guid, number), SCRIPT_ANY, MAD_VLARB, SCRIPT_ANY, MAD_TIMED_OUT, 0);
}

struct watch {
	struct rig rig;
	struct presence *presence;
	struct verify_result result;
	struct finding_list findings;
};

static int begin(void **state)
{
	struct watch *w = calloc(1, sizeof(*w));

	rig_make(&w->rig, NULL);
	assert_int_equal(presence_new(w->rig.fabric, &w->presence), 0);
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct watch *w = *state;

	finding_list_clear(&w->findings);
	presence_free(w->presence);
	rig_free(&w->rig);
	free(w);
	return 0;
}

static void look(struct watch *w)
{
	rig_verify(&w->rig);
	w->result = *verify_result(w->rig.verify);
	presence_adjust(w->presence, w->rig.verify, &w->result);
	finding_list_clear(&w->findings);
	presence_findings(w->presence, w->rig.verify, &w->findings);
}

static void expect(const struct watch *w, unsigned ports, unsigned differ, unsigned unknown, unsigned left)
{
	assert_int_equal(w->result.ports, ports);
	assert_int_equal(w->result.ports_differ, differ);
	assert_int_equal(w->result.ports_unknown, unknown);
	assert_int_equal(w->result.ports_left, left);
}

static void test_nothing_moves(void **state)
{
	struct watch *w = *state;

	look(w);
	expect(w, 13, 0, 0, 0);
	assert_int_equal(w->findings.count, 0);
}

/* The adapter is silent, its switch port says that the cable is down. */
static void test_a_host_goes(void **state)
{
	struct watch *w = *state;

	set_state(&w->rig, RIG_LEAF, 2, FABRIC_STATE_DOWN);
	silence(&w->rig, RIG_GPU_2, 1);
	look(w);
	expect(w, 11, 0, 0, 2);
	assert_int_equal(finding_count_code(&w->findings, FINDING_APPLY_PORT_WENT), 2);
	assert_int_equal(w->findings.count, 2);
	assert_int_equal(w->findings.items[0].guid + w->findings.items[1].guid, RIG_LEAF + RIG_GPU_2);
}

/* Silent with its cable up: it lags, or worse. */
static void test_a_host_that_is_only_silent(void **state)
{
	struct watch *w = *state;

	silence(&w->rig, RIG_GPU_2, 1);
	look(w);
	expect(w, 13, 0, 1, 0);
	assert_int_equal(w->findings.count, 0);
}

static void test_a_switch_goes(void **state)
{
	struct watch *w = *state;

	silence(&w->rig, RIG_LEAF, 0);
	set_state(&w->rig, RIG_GPU_1, 1, FABRIC_STATE_DOWN);
	set_state(&w->rig, RIG_GPU_2, 1, FABRIC_STATE_DOWN);
	set_state(&w->rig, RIG_SPINE, 1, FABRIC_STATE_DOWN);
	set_state(&w->rig, RIG_SPINE, 2, FABRIC_STATE_DOWN);
	silence(&w->rig, RIG_ROUTER, 1); /* which is behind it: what it says is not known */
	look(w);
	/* store and spine[3] are right; of the router and of leaf[4], which was down at first, nobody knows */
	expect(w, 3 + 1, 0, 2, 6 + 4);
	assert_int_equal(finding_count_code(&w->findings, FINDING_APPLY_PORT_WENT), 6 + 4);
	/* one cable that is up at its other end: the switch is there, and silent */
	set_state(&w->rig, RIG_SPINE, 2, FABRIC_STATE_ACTIVE);
	look(w);
	assert_int_equal(finding_count_code(&w->findings, FINDING_APPLY_PORT_WENT), 3);
	assert_true(w->result.ports_unknown >= 6);
}

static void test_a_port_comes(void **state)
{
	struct watch *w = *state;

	set_state(&w->rig, RIG_LEAF, 4, FABRIC_STATE_ACTIVE);
	memset(rig_device(&w->rig, RIG_LEAF, 4)->sl2vl, 0x77, sizeof(rig_device(&w->rig, RIG_LEAF, 4)->sl2vl));
	look(w);
	assert_int_equal(verify_result(w->rig.verify)->ports_differ, 1);
	expect(w, 13, 0, 0, 0);
	assert_int_equal(w->findings.count, 1);
	assert_int_equal(w->findings.items[0].code, FINDING_APPLY_PORT_CAME);
	assert_int_equal(w->findings.items[0].guid, RIG_LEAF);
	assert_int_equal(w->findings.items[0].port, 4);
}

/* A port that lags while others go is one that lags. */
static void test_lag_is_lag(void **state)
{
	struct watch *w = *state;

	set_state(&w->rig, RIG_LEAF, 2, FABRIC_STATE_DOWN);
	silence(&w->rig, RIG_GPU_2, 1);
	rig_device(&w->rig, RIG_STORE, 1)->vlarb[0][1] ^= 1;
	look(w);
	expect(w, 11, 1, 0, 2);
}

/* When the time is up nothing more is asked, and what was not asked is not known. */
static void test_a_run_that_has_an_end(void **state)
{
	struct watch *w = *state;
	const struct verify_result *result;
	uint64_t asked;

	assert_int_equal(verify_new(&w->rig.ctx, w->rig.fabric, &w->rig.config, &w->rig.verify), 0);
	verify_set_end(w->rig.verify, 1);
	assert_int_equal(verify_run(w->rig.verify, w->rig.source, false), 0);
	result = verify_result(w->rig.verify);
	assert_int_equal(script_source_asked(w->rig.source, SCRIPT_ANY, SCRIPT_ANY, 0, SCRIPT_ANY), 0);
	assert_true(result->ports_unknown == result->ports && result->ports >= 13);
	assert_int_equal(result->coverage[VERIFY_PORT_INFO].ended[MAD_NOT_ASKED], result->coverage[VERIFY_PORT_INFO].asked);
	/* all of it is made up for afterwards */
	verify_set_end(w->rig.verify, 0);
	assert_int_equal(verify_run(w->rig.verify, w->rig.source, true), 0);
	assert_int_equal(result->ports, 13);
	assert_int_equal(result->ports_unknown, 0);
	asked = script_source_asked(w->rig.source, SCRIPT_ANY, SCRIPT_ANY, 0, SCRIPT_ANY);
	/* one that lies far ahead changes nothing */
	verify_set_end(w->rig.verify, UINT64_MAX);
	assert_int_equal(verify_run(w->rig.verify, w->rig.source, false), 0);
	assert_int_equal(script_source_asked(w->rig.source, SCRIPT_ANY, SCRIPT_ANY, 0, SCRIPT_ANY), 2 * asked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_moves, begin, end),
		cmocka_unit_test_setup_teardown(test_a_host_goes, begin, end),
		cmocka_unit_test_setup_teardown(test_a_host_that_is_only_silent, begin, end),
		cmocka_unit_test_setup_teardown(test_a_switch_goes, begin, end),
		cmocka_unit_test_setup_teardown(test_a_port_comes, begin, end),
		cmocka_unit_test_setup_teardown(test_lag_is_lag, begin, end),
		cmocka_unit_test_setup_teardown(test_a_run_that_has_an_end, begin, end),
	};

	return cmocka_run_group_tests_name("presence", tests, NULL, NULL);
}
