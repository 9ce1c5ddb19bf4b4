/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the subnet manager and administrator are asked and say, byte by byte: SMInfo (IBA 14.2.5.13),
 * ClassPortInfo (13.4.8.1), PathRecord (15.2.5.16); and their questions through the engine.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ibqos/mad.h"
#include "script_wire.h"

#define MS 1000000ull

/* --- layouts --- */

static void an_sm_info(void **state)
{
	/* GUID, SM_Key, ActCount, Priority and SMState */
	uint8_t data[MAD_SMP_DATA] = {0x00, 0x02, 0xc9, 0x03, 0x00, 0x11, 0x22, 0x33, 0xff, 0xff, 0xff,
				      0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x02, 0x03, 0x04, 0xe3};
	struct mad_sm_info info;

	(void)state;
	mad_sm_info_decode(data, &info);
	assert_true(info.guid == 0x0002c90300112233);
	assert_int_equal(info.act_count, 0x01020304);
	assert_int_equal(info.priority, 14);
	assert_int_equal(info.state, MAD_SM_MASTER);
	data[20] = 0x02;
	mad_sm_info_decode(data, &info);
	assert_int_equal(info.priority, 0);
	assert_int_equal(info.state, MAD_SM_STANDBY);
}

static void qos_in_class_port_info(void **state)
{
	/* BaseVersion, ClassVersion, CapabilityMask; 27 bits of CapabilityMask2, 5 of RespTimeValue */
	uint8_t data[MAD_SA_DATA] = {1, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbf};

	(void)state;
	assert_false(mad_sa_qos(data)); /* bit 1 alone is missing: 1 << (5 + 1) */
	memset(data + 2, 0, 6);
	data[7] = 0x40;
	assert_true(mad_sa_qos(data));
	data[7] = 0x3f;
	assert_false(mad_sa_qos(data));
}

static void a_path_question(void **state)
{
	struct mad_path_question question = {.qos_class = MAD_NO_QOS_CLASS};
	uint8_t data[MAD_SA_DATA], expected[MAD_SA_DATA] = {0};

	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		question.from[i] = (uint8_t)(0x10 + i);
		question.to[i] = (uint8_t)(0x20 + i);
		expected[8 + i] = question.to[i];
		expected[24 + i] = question.from[i];
	}
	expected[49] = 0x81;
	memset(data, 0xee, sizeof(data));
	assert_true(mad_path_encode(&question, data) == 0x180c);
	assert_memory_equal(data, expected, sizeof(data));
	/* all 12 bits, above the 4 of the SL */
	question.qos_class = 0xabc;
	expected[52] = 0xab;
	expected[53] = 0xc0;
	assert_true(mad_path_encode(&question, data) == 0x580c);
	assert_memory_equal(data, expected, sizeof(data));
	question.qos_class = 255;
	expected[52] = 0x0f;
	expected[53] = 0xf0;
	mad_path_encode(&question, data);
	assert_memory_equal(data, expected, sizeof(data));
	question.qos_class = 0; /* named, though it is 0 */
	expected[52] = expected[53] = 0;
	assert_true(mad_path_encode(&question, data) == 0x580c);
	assert_memory_equal(data, expected, sizeof(data));
	question.qos_class = MAD_NO_QOS_CLASS;
	question.has_service_id = true;
	question.service_id = 0x01020304010603db;
	memcpy(expected, "\1\2\3\4\1\6\3\xdb", 8);
	assert_true(mad_path_encode(&question, data) == 0x180f);
	assert_memory_equal(data, expected, sizeof(data));
	question.pkey = 0x8123;
	expected[50] = 0x81;
	expected[51] = 0x23;
	assert_true(mad_path_encode(&question, data) == 0x380f);
	assert_memory_equal(data, expected, sizeof(data));
}

static void whose_a_path_is(void **state)
{
	uint8_t asked[MAD_SA_DATA], got[MAD_SA_DATA];

	(void)state;
	for (unsigned byte = 0; byte < MAD_SA_DATA; byte++) {
		bool guid = (byte >= 16 && byte < 24) || (byte >= 32 && byte < 40);

		memset(asked, 0x5a, sizeof(asked));
		memset(got, 0x5a, sizeof(got));
		got[byte] ^= 1;
		assert_int_equal(mad_path_is_of(asked, got), !guid);
	}
}

static void the_sl_of_a_path(void **state)
{
	uint8_t data[MAD_SA_DATA];

	(void)state;
	memset(data, 0xff, sizeof(data));
	data[53] = 0xf7;
	assert_int_equal(mad_path_sl(data), 7);
	memset(data, 0, sizeof(data));
	data[53] = 0x0c;
	assert_int_equal(mad_path_sl(data), 12);
}

/* Keys as OpenSM's ib_types.h has them: LID, then in and out port, port and block from 1, or port and options. */
static void records_of_ports(void **state)
{
	uint8_t asked[MAD_SA_DATA], got[MAD_SA_DATA] = {0}, key[4];

	(void)state;
	memset(asked, 0xee, sizeof(asked));
	assert_true(mad_sl2vl_record_encode(0x1234, 7, 36, asked) == 7);
	assert_memory_equal(asked, ((uint8_t[MAD_SA_DATA]){0x12, 0x34, 7, 36}), MAD_SA_DATA);
	memcpy(got, "\x12\x34\x07\x24\0\0\0\0\x01\x23\x45\x67\x89\xab\xcd\xef", 16);
	assert_memory_equal(mad_record_table(MAD_SA_SL2VL_RECORD, asked, got), "\x01\x23\x45\x67\x89\xab\xcd\xef", 8);
	for (unsigned i = 0; i < sizeof(key); i++) { /* of another port */
		got[i] ^= 1;
		assert_null(mad_record_table(MAD_SA_SL2VL_RECORD, asked, got));
		got[i] ^= 1;
	}
	assert_true(mad_vlarb_record_encode(0x1234, 36, 3, asked) == 7);
	assert_memory_equal(asked, ((uint8_t[MAD_SA_DATA]){0x12, 0x34, 36, 4}), MAD_SA_DATA);
	memcpy(got, asked, 4);
	assert_ptr_equal(mad_record_table(MAD_SA_VLARB_RECORD, asked, got), got + 8);
	got[3] = 3;
	assert_null(mad_record_table(MAD_SA_VLARB_RECORD, asked, got));
	assert_true(mad_port_info_record_encode(0xbffe, 254, asked) == 3);
	assert_memory_equal(asked, ((uint8_t[MAD_SA_DATA]){0xbf, 0xfe, 254}), MAD_SA_DATA);
	memcpy(got, asked, 4);
	got[3] = 0x80; /* options are the answer's own */
	assert_ptr_equal(mad_record_table(MAD_SA_PORT_INFO_RECORD, asked, got), got + 4);
}

/* --- through the engine --- */

/* Plays an SM and its SA: SubnAdmGet by attribute, SMInfo, all at one LID. */
struct manager {
	unsigned silent; /* SA questions that it leaves unanswered */
	bool confused;   /* answers of the SA come as SMPs */
	unsigned asked;
	unsigned timeout_ms; /* of the last request */
	uint64_t mask;
	uint8_t data[MAD_SA_DATA];
};

static int manage(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	struct manager *m = arg;
	struct mad_reply reply = script_answer(request);

	m->asked++;
	m->timeout_ms = request->timeout_ms;
	m->mask = request->mask;
	if (request->data)
		memcpy(m->data, request->data, MAD_SA_DATA);
	if (request->mgmt_class == MAD_CLASS_SA && m->silent > 0) {
		m->silent--;
		return 0;
	}
	if (m->confused)
		reply.mgmt_class = MAD_CLASS_SMP;
	memset(reply.data, request->mgmt_class ? 0x5a : 0xa5, sizeof(reply.data));
	script_reply(wire, MS, &reply);
	return 0;
}

struct asking {
	struct mad_address to;
	const struct mad_query *queries;
	unsigned count, given;
	enum mad_outcome outcome[8];
	unsigned tries[8];
	uint8_t first[8], last[8];
};

static const struct mad_address *address(void *arg, uint32_t device)
{
	assert_int_equal(device, 0);
	return &((struct asking *)arg)->to;
}

static bool next(void *arg, uint32_t device, struct mad_query *query)
{
	struct asking *a = arg;

	(void)device;
	if (a->given == a->count)
		return false;
	*query = a->queries[a->given];
	query->tag = a->given++;
	return true;
}

static void done(void *arg, uint32_t device, const struct mad_query *query, const struct mad_answer *answer)
{
	struct asking *a = arg;
	const struct mad_query *asked = &a->queries[query->tag];

	(void)device;
	assert_int_equal(query->mgmt_class, asked->mgmt_class);
	assert_true(query->mask == asked->mask);
	assert_ptr_equal(query->data, asked->data);
	a->outcome[query->tag] = answer->outcome;
	a->tries[query->tag] = answer->tries;
	if (answer->data) {
		a->first[query->tag] = answer->data[0];
		a->last[query->tag] = answer->data[query->mgmt_class ? MAD_SA_DATA - 1 : MAD_SMP_DATA - 1];
	}
}

static void run(struct asking *a, struct manager *m, struct script_wire *wire, struct mad_counts *counts,
		unsigned timeout_ms)
{
	struct ibqos_ctx ctx = {.program = "test", .err = stderr};
	struct mad_limits limits = MAD_LIMITS_DEFAULT;
	struct mad_job job = {.devices = 1,
			      .address = address,
			      .next = next,
			      .done = done,
			      .arg = a,
			      .timeout_ms = timeout_ms};
	struct mad_engine *engine;

	script_wire_play(wire, manage, m);
	assert_int_equal(mad_engine_new(&ctx, &wire->wire, &limits, &engine), 0);
	assert_int_equal(mad_engine_run(engine, &job), 0);
	*counts = *mad_engine_counts(engine);
	mad_engine_free(engine);
}

/* The same attribute number and modifier in two classes: each answer goes to its own question. */
static void classes_do_not_mix(void **state)
{
	static const uint8_t record[MAD_SA_DATA] = {[0] = 1, [199] = 0x77};
	const struct mad_query queries[] = {
		{.attribute = 0x0020},
		{.attribute = 0x0020, .mgmt_class = MAD_CLASS_SA, .mask = 0x8000000000000001, .data = record},
		{.attribute = 0x0020},
	};
	struct asking a = {.to = {.lid = 4}, .queries = queries, .count = 3};
	struct manager m = {0};
	struct mad_counts counts;
	struct script_wire wire;

	(void)state;
	run(&a, &m, &wire, &counts, 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(a.outcome[i], MAD_ANSWERED);
		assert_int_equal(a.first[i], i == 1 ? 0x5a : 0xa5);
		assert_int_equal(a.last[i], i == 1 ? 0x5a : 0xa5);
	}
	assert_memory_equal(m.data, record, MAD_SA_DATA);
	assert_int_equal(m.timeout_ms, 1000);
	script_wire_end(&wire);
}

static void an_answer_of_another_class_is_foreign(void **state)
{
	const struct mad_query query = {.attribute = 1, .mgmt_class = MAD_CLASS_SA};
	struct asking a = {.to = {.lid = 4}, .queries = &query, .count = 1};
	struct manager m = {.confused = true};
	struct mad_counts counts;
	struct script_wire wire;

	(void)state;
	run(&a, &m, &wire, &counts, 0);
	assert_int_equal(a.outcome[0], MAD_TIMED_OUT);
	assert_int_equal(counts.foreign, 4);
	script_wire_end(&wire);
}

/* A job's own timeout holds for its tries, on the wire and for the engine's own deadline. */
static void a_job_with_a_timeout_of_its_own(void **state)
{
	const struct mad_query query = {.attribute = 1, .mgmt_class = MAD_CLASS_SA};
	struct asking a = {.to = {.lid = 4}, .queries = &query, .count = 1};
	struct manager m = {.silent = 2};
	struct mad_counts counts;
	struct script_wire wire;
	uint64_t waited;

	(void)state;
	run(&a, &m, &wire, &counts, 3000);
	assert_int_equal(a.outcome[0], MAD_ANSWERED);
	assert_int_equal(a.tries[0], 3);
	assert_int_equal(m.timeout_ms, 3000);
	waited = wire.sent_ns[2] - wire.sent_ns[0];
	assert_true(waited >= 2 * 3000 * MS && waited <= 2 * 3600 * MS);
	script_wire_end(&wire);
}

static void an_impossible_timeout_asks_nothing(void **state)
{
	struct ibqos_ctx ctx = {.program = "test", .err = stderr};
	const struct mad_query queries[2] = {{.attribute = 1}, {.attribute = 2}};
	struct asking a = {.to = {.lid = 4}, .queries = queries, .count = 2};
	struct mad_limits limits = MAD_LIMITS_DEFAULT;
	struct mad_job job = {.devices = 1,
			      .address = address,
			      .next = next,
			      .done = done,
			      .arg = &a,
			      .timeout_ms = 0x80000000};
	struct mad_engine *engine;
	struct manager m = {0};
	struct script_wire wire;

	(void)state;
	script_wire_play(&wire, manage, &m);
	assert_int_equal(mad_engine_new(&ctx, &wire.wire, &limits, &engine), 0);
	assert_int_equal(mad_engine_run(engine, &job), -22);
	assert_int_equal(a.given, 2);
	assert_int_equal(a.outcome[0], MAD_NOT_ASKED);
	assert_int_equal(a.outcome[1], MAD_NOT_ASKED);
	assert_int_equal(m.asked, 0);
	mad_engine_free(engine);
	script_wire_end(&wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_sm_info),
		cmocka_unit_test(qos_in_class_port_info),
		cmocka_unit_test(a_path_question),
		cmocka_unit_test(whose_a_path_is),
		cmocka_unit_test(the_sl_of_a_path),
		cmocka_unit_test(records_of_ports),
		cmocka_unit_test(classes_do_not_mix),
		cmocka_unit_test(an_answer_of_another_class_is_foreign),
		cmocka_unit_test(a_job_with_a_timeout_of_its_own),
		cmocka_unit_test(an_impossible_timeout_asks_nothing),
	};

	return cmocka_run_group_tests_name("mad_sa", tests, NULL, NULL);
}
