/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* verify where not everything answers: nothing that was not read is called clean, and blame falls right. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "check_rig.h"

static void fail_queries(struct rig *rig, uint32_t agent, uint32_t port, uint16_t attribute,
			 uint32_t modifier, enum mad_outcome outcome)
{
	script_source_fail(rig->source, agent, port, attribute, modifier, outcome, 0x001c);
}

/* One lost answer of 103, wherever it is: one port is not known, and the exit code is not clean. */
static void test_no_lost_answer_is_clean(void **state)
{
	static const enum mad_outcome outcomes[] = {MAD_STATUS, MAD_TIMED_OUT, MAD_NOT_ASKED};
	static const struct {
		uint64_t guid;
		unsigned number;
		uint16_t attribute;
		uint32_t modifier;
		enum verify_item item;
	} queries[] = {
		{RIG_LEAF, 1, MAD_PORT_INFO, 1, VERIFY_PORT_INFO},
		{RIG_SPINE, 0, MAD_PORT_INFO, 0, VERIFY_PORT_INFO},
		{RIG_LEAF, 4, MAD_PORT_INFO, 4, VERIFY_PORT_INFO}, /* was down */
		{RIG_LEAF, 0, MAD_SL2VL, 0 << 8, VERIFY_SL2VL},
		{RIG_LEAF, 5, MAD_SL2VL, 0 << 8 | 5, VERIFY_SL2VL},
		{RIG_LEAF, 5, MAD_SL2VL, 6 << 8 | 5, VERIFY_SL2VL},
		{RIG_GPU_1, 1, MAD_SL2VL, 0, VERIFY_SL2VL},
		{RIG_SPINE, 2, MAD_VLARB, 0x10002, VERIFY_VLARB},
		{RIG_SPINE, 2, MAD_VLARB, 0x20002, VERIFY_VLARB},
		{RIG_SPINE, 2, MAD_VLARB, 0x40002, VERIFY_VLARB},
		{RIG_ROUTER, 1, MAD_VLARB, 0x30000, VERIFY_VLARB},
	};
	const struct verify_result *result;
	const struct finding *f;
	struct rig rig;

	(void)state;
	for (unsigned i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		for (unsigned o = 0; o < 3; o++) {
			rig_make(&rig, &(struct rig_options){.isl = {.low_cap = 40, .high_cap = 40}});
			fail_queries(&rig, SCRIPT_ANY, rig_port(&rig, queries[i].guid, queries[i].number),
				     queries[i].attribute, queries[i].modifier, outcomes[o]);
			rig_verify(&rig);
			result = verify_result(rig.verify);
			assert_int_equal(result->ports_unknown, 1);
			assert_int_equal(result->ports_differ, 0);
			assert_int_equal(result->coverage[queries[i].item].ended[outcomes[o]], 1);
			assert_int_equal(finding_exit(&rig.findings), IBQOS_EXIT_UNKNOWN);
			assert_int_equal(rig.findings.count, 1);
			f = &rig.findings.items[0];
			assert_int_equal(f->guid, queries[i].guid);
			/* given up at some query: the agent stopped answering */
			assert_int_equal(f->code, outcomes[o] == MAD_NOT_ASKED ? FINDING_AGENT_SILENT
									       : FINDING_QUERY_FAILED);
			/* once it answers, all is well */
			script_source_clear(rig.source);
			rig_verify_again(&rig);
			assert_int_equal(rig.findings.count, 0);
			assert_int_equal(verify_result(rig.verify)->ports_unknown, 0);
			assert_int_equal(
				verify_result(rig.verify)->coverage[queries[i].item].ended[outcomes[o]], 0);
			rig_free(&rig);
		}
	}
}

static void test_refusal_names_its_status(void **state)
{
	const struct finding *f;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	fail_queries(&rig, SCRIPT_ANY, rig_port(&rig, RIG_LEAF, 2), MAD_SL2VL, SCRIPT_ANY, MAD_STATUS);
	rig_verify(&rig);
	f = rig_only(&rig, FINDING_QUERY_FAILED);
	assert_int_equal(f->guid, RIG_LEAF);
	assert_int_equal(f->port, 2);
	assert_string_equal(f->peer_name, "gpu-2");
	assert_string_equal(f->what, "SL2VL, 7 of 7 queries");
	assert_string_equal(f->detail, "answered with MAD status 0x001c");
	/* an answer with a status is an answer: the agent is not silent */
	assert_null(rig_only(&rig, FINDING_AGENT_SILENT));
	rig_free(&rig);
}

static void test_timeout_names_its_tries(void **state)
{
	const struct finding *f;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	fail_queries(&rig, SCRIPT_ANY, rig_port(&rig, RIG_LEAF, 2), MAD_VLARB, 0x30002, MAD_TIMED_OUT);
	rig_verify(&rig);
	f = rig_only(&rig, FINDING_QUERY_FAILED);
	assert_string_equal(f->what, "VLArb, 1 of 2 queries");
	assert_string_equal(f->detail, "not answered in 4 tries");
	rig_free(&rig);
}

/* What was seen wrong is wrong, whatever else was not answered; both are told. */
static void test_difference_beats_silence(void **state)
{
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	rig_device(&rig, RIG_SPINE, 3)->sl2vl[4][7] ^= 0x10;
	fail_queries(&rig, SCRIPT_ANY, rig_port(&rig, RIG_SPINE, 3), MAD_SL2VL, 0x0003, MAD_TIMED_OUT);
	fail_queries(&rig, SCRIPT_ANY, rig_port(&rig, RIG_SPINE, 3), MAD_VLARB, SCRIPT_ANY, MAD_STATUS);
	rig_verify(&rig);
	assert_int_equal(verify_result(rig.verify)->ports_differ, 1);
	assert_int_equal(verify_result(rig.verify)->ports_unknown, 0);
	assert_string_equal(rig_only(&rig, FINDING_SL2VL_DIFFERS)->detail,
			    "1 of 5 in-ports differ, 1 did not answer");
	assert_int_equal(finding_count_code(&rig.findings, FINDING_QUERY_FAILED), 2);
	assert_int_equal(finding_exit(&rig.findings), IBQOS_EXIT_CRITICAL);
	rig_free(&rig);
}

/* A dead switch costs its PortInfo queries and no more; every table of it is counted as not asked. */
static void test_silent_switch(void **state)
{
	const struct verify_result *result;
	const struct finding *f;
	uint32_t agent;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	agent = rig_port(&rig, RIG_SPINE, 0);
	for (unsigned attribute = MAD_PORT_INFO; attribute <= MAD_VLARB; attribute++)
		fail_queries(&rig, agent, SCRIPT_ANY, attribute, SCRIPT_ANY, MAD_TIMED_OUT);
	script_source_give_up(rig.source, 4);
	script_source_window(rig.source, 1);
	rig_verify(&rig);
	result = verify_result(rig.verify);
	assert_int_equal(script_source_asked(rig.source, agent, SCRIPT_ANY, MAD_SL2VL, SCRIPT_ANY), 0);
	assert_int_equal(result->coverage[VERIFY_PORT_INFO].ended[MAD_TIMED_OUT], 4);
	assert_int_equal(result->coverage[VERIFY_PORT_INFO].ended[MAD_NOT_ASKED], 1);
	assert_int_equal(result->coverage[VERIFY_SL2VL].asked, 61);
	assert_int_equal(result->coverage[VERIFY_SL2VL].ended[MAD_NOT_ASKED], 15);
	assert_int_equal(result->coverage[VERIFY_VLARB].ended[MAD_NOT_ASKED], 6);
	/* its 3 ports, and its port 0 and its down port, whose state is not known now */
	assert_int_equal(result->ports_unknown, 5);
	f = rig_only(&rig, FINDING_AGENT_SILENT);
	assert_int_equal(rig.findings.count, 1);
	assert_int_equal(f->guid, RIG_SPINE);
	assert_int_equal(f->port, FINDING_WHOLE_NODE);
	assert_string_equal(f->name, "spine");
	/* the last port on the way there */
	assert_int_equal(f->peer_guid, RIG_LEAF);
	assert_int_equal(f->peer_port, 5);
	assert_string_equal(f->peer_name, "leaf");
	assert_string_equal(f->what, "26 of 26 queries");
	assert_string_equal(f->detail, "4 not answered, 22 then not asked");
	assert_int_equal(finding_exit(&rig.findings), IBQOS_EXIT_UNKNOWN);
	rig_free(&rig);
}

static void test_silent_host(void **state)
{
	const struct finding *f;
	uint32_t agent;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	agent = rig_port(&rig, RIG_STORE, 1);
	fail_queries(&rig, agent, SCRIPT_ANY, MAD_PORT_INFO, SCRIPT_ANY, MAD_TIMED_OUT);
	rig_verify(&rig);
	f = rig_only(&rig, FINDING_AGENT_SILENT);
	assert_int_equal(rig.findings.count, 1);
	assert_int_equal(f->guid, RIG_STORE);
	assert_int_equal(f->port, 1);
	assert_int_equal(f->peer_guid, RIG_SPINE);
	assert_int_equal(f->peer_port, 3);
	assert_string_equal(f->what, "4 of 4 queries");
	rig_free(&rig);
}

/* It answered PortInfo and then no more; what it said wrong before it fell silent stays said. */
static void test_agent_falls_silent(void **state)
{
	uint32_t agent;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	rig_device(&rig, RIG_LEAF, 1)->info[38] ^= 4;
	agent = rig_port(&rig, RIG_LEAF, 0);
	fail_queries(&rig, agent, SCRIPT_ANY, MAD_VLARB, SCRIPT_ANY, MAD_TIMED_OUT);
	fail_queries(&rig, agent, SCRIPT_ANY, MAD_SL2VL, SCRIPT_ANY, MAD_TIMED_OUT);
	script_source_give_up(rig.source, 4);
	rig_verify(&rig);
	assert_int_equal(rig.findings.count, 2);
	assert_non_null(rig_only(&rig, FINDING_HIGH_LIMIT_DIFFERS));
	assert_string_equal(rig_only(&rig, FINDING_AGENT_SILENT)->detail,
			    "4 not answered, 50 then not asked");
	assert_int_equal(verify_result(rig.verify)->ports_differ, 1);
	assert_int_equal(verify_result(rig.verify)->ports_unknown, 5);
	rig_free(&rig);
}

/* An adapter has so few queries that it need not have been given up. */
static void test_host_falls_silent(void **state)
{
	uint32_t agent;
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	agent = rig_port(&rig, RIG_GPU_2, 1);
	fail_queries(&rig, agent, SCRIPT_ANY, MAD_VLARB, SCRIPT_ANY, MAD_TIMED_OUT);
	fail_queries(&rig, agent, SCRIPT_ANY, MAD_SL2VL, SCRIPT_ANY, MAD_TIMED_OUT);
	rig_verify(&rig);
	assert_int_equal(rig.findings.count, 1);
	assert_string_equal(rig_only(&rig, FINDING_AGENT_SILENT)->what, "3 of 4 queries");
	/* one table that it answers, or refuses, and it is not silent */
	fail_queries(&rig, agent, SCRIPT_ANY, MAD_SL2VL, SCRIPT_ANY, MAD_STATUS);
	rig_verify(&rig);
	assert_int_equal(rig.findings.count, 2);
	assert_int_equal(finding_count_code(&rig.findings, FINDING_QUERY_FAILED), 2);
	rig_free(&rig);
}

/* Where the fresh PortInfo is lost the discovery's serves to look further. */
static void test_lost_port_info_does_not_hide_a_difference(void **state)
{
	struct rig rig;

	(void)state;
	rig_make(&rig, NULL);
	fail_queries(&rig, SCRIPT_ANY, rig_port(&rig, RIG_LEAF, 1), MAD_PORT_INFO, SCRIPT_ANY, MAD_TIMED_OUT);
	rig_device(&rig, RIG_LEAF, 1)->sl2vl[2][0] ^= 0x10;
	rig_verify(&rig);
	assert_non_null(rig_only(&rig, FINDING_SL2VL_DIFFERS));
	assert_string_equal(rig_only(&rig, FINDING_QUERY_FAILED)->what, "PortInfo");
	rig_free(&rig);
}

/* A port that gave no PortInfo at discovery is asked again: if it answers now it counts. */
static void test_gap_of_the_discovery(void **state)
{
	struct rig rig;

	(void)state;
	rig_make(&rig, &(struct rig_options){.no_spine_port2_info = true});
	assert_int_equal(rig.fabric->gap_count, 1);
	fail_queries(&rig, SCRIPT_ANY, rig_port(&rig, RIG_SPINE, 2), MAD_PORT_INFO, SCRIPT_ANY,
		     MAD_TIMED_OUT);
	rig_verify(&rig);
	assert_int_equal(verify_result(rig.verify)->ports_unknown, 1);
	assert_int_equal(verify_result(rig.verify)->ports, 13);
	assert_int_equal(verify_result(rig.verify)->coverage[VERIFY_SL2VL].asked, 61 - 5);
	assert_int_equal(rig_only(&rig, FINDING_QUERY_FAILED)->port, 2);
	rig_free(&rig);

	rig_make(&rig, &(struct rig_options){.no_spine_port2_info = true});
	rig_verify(&rig);
	assert_int_equal(rig.findings.count, 0);
	assert_int_equal(verify_result(rig.verify)->ports, 13);
	assert_int_equal(verify_result(rig.verify)->coverage[VERIFY_SL2VL].asked, 61);
	rig_device(&rig, RIG_SPINE, 2)->sl2vl[1][1] ^= 1;
	rig_verify(&rig);
	assert_int_equal(rig_only(&rig, FINDING_SL2VL_DIFFERS)->port, 2);
	rig_free(&rig);
}

/* Without SwitchInfo it is not known whether port 0 has tables. */
static void test_switch_info_unknown(void **state)
{
	const struct finding *f;
	struct rig rig;

	(void)state;
	rig_make(&rig, &(struct rig_options){.no_spine_switch_info = true});
	rig_verify(&rig);
	f = rig_only(&rig, FINDING_QUERY_FAILED);
	assert_int_equal(f->guid, RIG_SPINE);
	assert_int_equal(f->port, 0);
	assert_int_equal(verify_result(rig.verify)->ports_unknown, 1);
	assert_int_equal(verify_result(rig.verify)->ports_excluded, 2);
	rig_free(&rig);
}

/* Ended by a signal or a broken wire: what is left is not known, and no agent is blamed for it. */
static void test_stopped_run(void **state)
{
	static const struct {
		unsigned after;
		int error;
	} cases[] = {{0, -EINTR}, {5, -EIO}, {16, -EINTR}, {60, -EIO}};
	const struct verify_result *result;
	uint64_t answered, asked;
	struct rig rig;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rig_make(&rig, NULL);
		script_source_break(rig.source, cases[i].after, cases[i].error);
		assert_int_equal(verify_new(&rig.ctx, rig.fabric, &rig.config, &rig.verify), 0);
		assert_int_equal(verify_run(rig.verify, rig.source, false), cases[i].error);
		rig_check_coverage(&rig);
		verify_findings(rig.verify, &rig.findings);
		result = verify_result(rig.verify);
		answered = asked = 0;
		for (unsigned item = 0; item < VERIFY_ITEMS; item++) {
			answered += result->coverage[item].ended[MAD_ANSWERED];
			asked += result->coverage[item].asked;
		}
		assert_int_equal(answered, cases[i].after);
		assert_int_equal(asked, 16 + 61 + 26);
		assert_true(result->ports_unknown > 0);
		assert_int_equal(finding_count_code(&rig.findings, FINDING_AGENT_SILENT), 0);
		assert_int_equal(finding_exit(&rig.findings), IBQOS_EXIT_UNKNOWN);
		for (size_t f = 0; f < rig.findings.count; f++)
			assert_string_equal(rig.findings.items[f].detail,
					    "not asked, as the run was stopped");
		/* another run asks what is left, and only that */
		rig_verify_again(&rig);
		assert_int_equal(rig.findings.count, 0);
		assert_int_equal(verify_result(rig.verify)->ports_unknown, 0);
		rig_free(&rig);
	}
}

/*
 * Port 0 of a switch that gained SL mapping since the discovery did not answer: once it does, the other
 * ports' tables, which nobody knew of, are asked for too.
 */
static void test_port_0_tells_late(void **state)
{
	const struct finding *f;
	struct rig rig;

	(void)state;
	rig_make(&rig, &(struct rig_options){.no_leaf_sl_map = true});
	rig_device(&rig, RIG_LEAF, 0)->info[23] |= 0x40;
	rig_program(&rig);
	rig_device(&rig, RIG_LEAF, 5)->sl2vl[2][0] ^= 0x10;
	script_source_fail(rig.source, SCRIPT_ANY, rig_port(&rig, RIG_LEAF, 0), MAD_PORT_INFO, 0,
			   MAD_TIMED_OUT, 0);
	rig_verify(&rig);
	assert_int_equal(verify_result(rig.verify)->ports_unknown, 1);
	assert_int_equal(verify_result(rig.verify)->ports_differ, 0);
	script_source_clear(rig.source);
	rig_verify_again(&rig);
	f = rig_only(&rig, FINDING_SL2VL_DIFFERS);
	assert_non_null(f);
	assert_int_equal(f->guid, RIG_LEAF);
	assert_int_equal(f->port, 5);
	/* a later run has no reason to ask them all again */
	script_source_clear(rig.source);
	rig_verify_again(&rig);
	assert_int_equal(script_source_asked(rig.source, SCRIPT_ANY, SCRIPT_ANY, MAD_PORT_INFO, SCRIPT_ANY),
			 1);
	rig_free(&rig);
}

/* --- a source that breaks its word --- */

static int forgetful_ask(struct source *source, const struct fabric *fabric, const struct source_asker *asker)
{
	struct source_query query;

	(void)source;
	(void)fabric;
	for (uint32_t i = 0; i < asker->agent_count; i++)
		while (asker->next(asker->arg, i, &query))
			; /* and never hands it back */
	return 0;
}

static int idle_ask(struct source *source, const struct fabric *fabric, const struct source_asker *asker)
{
	(void)source;
	(void)fabric;
	(void)asker;
	return 0;
}

/* Even then nothing is clean that was not read. */
static void test_source_that_loses_queries(void **state)
{
	int (*const asks[])(struct source *, const struct fabric *,
			    const struct source_asker *) = {forgetful_ask, idle_ask};
	struct rig rig;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const struct source_ops ops = {.ask = asks[i]};
		struct source source = {.ops = &ops};

		rig_make(&rig, NULL);
		assert_int_equal(verify_new(&rig.ctx, rig.fabric, &rig.config, &rig.verify), 0);
		assert_int_equal(verify_run(rig.verify, &source, false), 0);
		rig_check_coverage(&rig);
		assert_int_equal(verify_result(rig.verify)->ports_unknown, 16);
		assert_int_equal(verify_result(rig.verify)->coverage[VERIFY_SL2VL].ended[MAD_NOT_ASKED], 61);
		verify_findings(rig.verify, &rig.findings);
		assert_int_equal(finding_count_code(&rig.findings, FINDING_AGENT_SILENT), 6);
		rig_free(&rig);
	}
}

static void test_empty_fabric(void **state)
{
	struct rig rig = {.ctx = {.program = "test"}};

	(void)state;
	rig.fabric = fabric_new("");
	assert_non_null(rig.fabric);
	assert_int_equal(fabric_finish(rig.fabric), 0);
	rig.source = script_source_new();
	rig_config(&rig.config);
	rig_verify(&rig);
	assert_int_equal(verify_result(rig.verify)->ports, 0);
	assert_int_equal(rig.findings.count, 0);
	assert_false(verify_port_differs(rig.verify, 0));
	rig_free(&rig);
	verify_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_lost_answer_is_clean),
		cmocka_unit_test(test_refusal_names_its_status),
		cmocka_unit_test(test_timeout_names_its_tries),
		cmocka_unit_test(test_difference_beats_silence),
		cmocka_unit_test(test_silent_switch),
		cmocka_unit_test(test_silent_host),
		cmocka_unit_test(test_agent_falls_silent),
		cmocka_unit_test(test_host_falls_silent),
		cmocka_unit_test(test_lost_port_info_does_not_hide_a_difference),
		cmocka_unit_test(test_gap_of_the_discovery),
		cmocka_unit_test(test_switch_info_unknown),
		cmocka_unit_test(test_stopped_run),
		cmocka_unit_test(test_port_0_tells_late),
		cmocka_unit_test(test_source_that_loses_queries),
		cmocka_unit_test(test_empty_fabric),
	};

	return cmocka_run_group_tests_name("verify: what does not answer", tests, NULL, NULL);
}
