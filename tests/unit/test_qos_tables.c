/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * SL2VL and VLArb tables: codes, folding, blocks, wire and text forms. Expected values are worked
 * out from IBA and from what osm_qos.c computes, not from the functions tested.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ibqos/qos.h"

static void test_codes(void **state)
{
	static const unsigned vls[] = {0, 1, 2, 4, 8, 15, 0, 0};

	(void)state;
	for (unsigned code = 0; code < 8; code++)
		assert_int_equal(qos_vls_of_code(code), vls[code]);
	for (unsigned n = 0; n <= 16; n++)
		assert_int_equal(qos_code_of_vls(n), n == 1    ? 1
						     : n == 2  ? 2
						     : n == 4  ? 3
						     : n == 8  ? 4
						     : n == 15 ? 5
							       : 0);
	assert_string_equal(qos_port_type_name(QOS_PORT_CA), "ca");
	assert_string_equal(qos_port_type_name(QOS_PORT_SW0), "sw0");
	assert_string_equal(qos_port_type_name(QOS_PORT_SWE), "swe");
	assert_string_equal(qos_port_type_name(QOS_PORT_RTR), "rtr");
}

static void test_fold_vl(void **state)
{
	static const unsigned modulus[] = {16, 1, 2, 4, 8, 16};

	(void)state;
	for (unsigned code = 0; code <= 5; code++) {
		for (uint8_t vl = 0; vl < QOS_DATA_VLS; vl++)
			assert_int_equal(qos_fold_vl(vl, code), vl % modulus[code]);
		assert_int_equal(qos_fold_vl(QOS_VL_DROP, code), QOS_VL_DROP);
	}
}

static void test_fold_sl2vl(void **state)
{
	const struct qos_sl2vl in = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
	const struct qos_sl2vl on4 = {{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 15}};
	struct qos_sl2vl out;

	(void)state;
	qos_fold_sl2vl(&in, 3, &out);
	assert_true(qos_sl2vl_equal(&out, &on4));
	assert_false(qos_sl2vl_equal(&out, &in));
	qos_fold_sl2vl(&in, 5, &out);
	assert_true(qos_sl2vl_equal(&out, &in));
	qos_fold_sl2vl(&in, 1, &out);
	for (unsigned sl = 0; sl < 15; sl++)
		assert_int_equal(out.vl[sl], 0);
	assert_int_equal(out.vl[15], 15);
}

static void fill(struct qos_vlarb *table, unsigned count)
{
	table->count = count;
	for (unsigned i = 0; i < count; i++)
		table->entry[i] = (struct qos_vlarb_entry){(uint8_t)(i % 15), (uint8_t)(i + 1)};
}

static void test_block_length(void **state)
{
	/* cap; entries set in block 0 and in block 1 by osm_qos.c:213-252 */
	static const unsigned cases[][3] = {{0, 0, 0},   {1, 1, 0},   {8, 8, 0},    {31, 31, 0}, {32, 32, 0},
					    {33, 32, 1}, {40, 32, 8}, {63, 32, 31}, {64, 32, 0}};
	struct qos_vlarb_entry out[QOS_VLARB_BLOCK];
	struct qos_vlarb table;
	unsigned length;

	(void)state;
	fill(&table, QOS_VLARB_ENTRIES);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (unsigned block = 0; block < 2; block++) {
			qos_vlarb_block(&table, block, cases[i][0], 5, out, &length);
			assert_int_equal(length, cases[i][1 + block]);
			for (unsigned n = 0; n < QOS_VLARB_BLOCK; n++) {
				unsigned entry = block * 32 + n;

				assert_int_equal(out[n].vl, n < length ? entry % 15 : 0);
				assert_int_equal(out[n].weight, n < length ? entry + 1 : 0);
			}
		}
		qos_vlarb_block(&table, 2, cases[i][0], 5, out, &length);
		assert_int_equal(length, 0);
	}
}

static void test_block_fold_and_end(void **state)
{
	struct qos_vlarb table = {.count = 3, .entry = {{4, 64}, {7, 10}, {14, 255}}};
	struct qos_vlarb_entry out[QOS_VLARB_BLOCK];
	unsigned length;

	(void)state;
	memset(out, 0xff, sizeof(out));
	qos_vlarb_block(&table, 0, 8, 3, out, &length);
	assert_int_equal(length, 8);
	assert_int_equal(out[0].vl, 0);
	assert_int_equal(out[0].weight, 64);
	assert_int_equal(out[1].vl, 3);
	assert_int_equal(out[2].vl, 2);
	assert_int_equal(out[2].weight, 255);
	for (unsigned n = 3; n < QOS_VLARB_BLOCK; n++)
		assert_true(out[n].vl == 0 && out[n].weight == 0);
	qos_vlarb_block(&table, 0, 2, 2, out, &length); /* cut in silence */
	assert_int_equal(length, 2);
	assert_int_equal(out[1].vl, 1);
	assert_int_equal(out[2].weight, 0);
}

static void test_wire(void **state)
{
	static const uint8_t wire[QOS_SL2VL_WIRE] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xe7};
	uint8_t back[QOS_SL2VL_WIRE], arb[2 * QOS_VLARB_BLOCK] = {0x03, 200, 0xf1, 7};
	struct qos_vlarb_entry out[QOS_VLARB_BLOCK];
	struct qos_sl2vl table;

	(void)state;
	qos_sl2vl_decode(wire, &table);
	for (unsigned sl = 0; sl < 15; sl++)
		assert_int_equal(table.vl[sl], sl);
	assert_int_equal(table.vl[15], 7);
	qos_sl2vl_encode(&table, back);
	assert_memory_equal(back, wire, sizeof(wire));
	arb[63] = 255;
	qos_vlarb_decode(arb, out);
	assert_int_equal(out[0].vl, 3);
	assert_int_equal(out[0].weight, 200);
	assert_int_equal(out[1].vl, 1); /* the upper four bits are reserved */
	assert_int_equal(out[1].weight, 7);
	assert_int_equal(out[31].vl, 0);
	assert_int_equal(out[31].weight, 255);
}

static void test_text(void **state)
{
	const struct qos_sl2vl drop = {{0, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 14}};
	struct qos_vlarb_entry longest[QOS_VLARB_ENTRIES];
	struct qos_vlarb table = {.count = 2, .entry = {{0, 64}, {1, 192}}};
	char text[QOS_TEXT_MAX];

	(void)state;
	qos_sl2vl_format(&drop, text);
	assert_string_equal(text, "0,15,15,15,15,15,15,15,15,15,15,15,15,15,15,14");
	qos_vlarb_format(table.entry, table.count, text);
	assert_string_equal(text, "0:64,1:192");
	qos_vlarb_format(table.entry, 0, text);
	assert_string_equal(text, "");
	memset(longest, 0xff, sizeof(longest));
	qos_vlarb_format(longest, QOS_VLARB_ENTRIES, text);
	assert_int_equal(strlen(text), QOS_TEXT_MAX - 1);
	assert_string_equal(text + 504, "255:255");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_fold_vl),
		cmocka_unit_test(test_fold_sl2vl),
		cmocka_unit_test(test_block_length),
		cmocka_unit_test(test_block_fold_and_end),
		cmocka_unit_test(test_wire),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests_name("qos tables", tests, NULL, NULL);
}
