/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Why a table differs: what was wanted, what the device holds and what a subnet manager has recorded, each changed by
 * itself; the class that comes of it, what is asked for, and what is said where hardly any port holds what it should.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check_rig.h"

#define SM_LID 11
#define HIGH_LIMIT 38 /* byte of PortInfo */
#define OPER_VLS 43   /* byte whose upper half it is */

/* A rig and the memory of a subnet manager that programmed it, by port index as the devices. */
struct three {
	struct rig rig;
	struct rig_device *records;
	struct sm_result sm;
	struct verify_record_options options;
	struct verify_records result;
	uint32_t silent; /* a port whose records are not answered; FABRIC_NONE: none */
	bool lies;	 /* answers are about another port */
	unsigned asked;
};

/* The port that a record is about, by its LID and number; read here by byte. */
static uint32_t port_of(const struct fabric *fabric, unsigned lid, unsigned number)
{
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct fabric_port *port = &fabric->ports[i];

		if (!port->known || (unsigned)(port->info[16] << 8 | port->info[17]) != lid)
			continue;
		if (fabric_port_node(fabric, i)->type == FABRIC_SWITCH)
			return fabric_port_node(fabric, i)->first_port + number;
		return i;
	}
	fail();
	return FABRIC_NONE;
}

static void manage(void *arg, struct source_sm_query *query)
{
	struct three *t = arg;
	const uint8_t *key = query->record;
	bool sl2vl = query->attribute == 0x13, vlarb = query->attribute == 0x36;
	uint32_t port = port_of(t->rig.fabric, (unsigned)key[0] << 8 | key[1], sl2vl ? key[3] : key[2]);
	const struct rig_device *record = &t->records[port];

	assert_int_equal(query->mgmt_class, 3);
	t->asked++;
	query->outcome = port == t->silent ? MAD_TIMED_OUT : MAD_ANSWERED;
	query->tries = 4;
	memset(query->data, 0, sizeof(query->data));
	memcpy(query->data, key, 4);
	query->data[1] ^= t->lies;
	if (sl2vl) {
		assert_int_equal(query->mask, 7);
		memcpy(query->data + 8, record->sl2vl[key[2]], 8);
	} else if (vlarb) {
		assert_int_equal(query->mask, 7);
		assert_in_range(key[3], 1, 4);
		memcpy(query->data + 8, record->vlarb[key[3] - 1], 64);
	} else {
		assert_int_equal(query->attribute, 0x12);
		assert_int_equal(query->mask, 3);
		memcpy(query->data + 4, record->info, 64);
	}
}

static void remember(struct three *t)
{
	memcpy(t->records, t->rig.devices, t->rig.fabric->port_count * sizeof(*t->records));
}

static void begin(struct three *t, const struct rig_options *options)
{
	*t = (struct three){.silent = FABRIC_NONE};
	rig_make(&t->rig, options);
	t->rig.fabric->sm_lid = SM_LID;
	t->records = calloc(t->rig.fabric->port_count, sizeof(*t->records));
	assert_non_null(t->records);
	remember(t);
	t->sm = (struct sm_result){.known = true, .qos_known = true, .qos = true};
	t->options = (struct verify_record_options){.sm = &t->sm, .limit = SM_RECORDS};
	script_source_manager(t->rig.source, manage, t);
}

static void finish(struct three *t)
{
	free(t->records);
	rig_free(&t->rig);
}

static void look(struct three *t)
{
	uint64_t ended = 0, asked = 0;

	rig_verify(&t->rig);
	t->asked = 0;
	assert_int_equal(verify_ask_records(t->rig.verify, t->rig.source, &t->options, &t->result), 0);
	for (int i = 0; i < SM_TABLE_KINDS; i++) {
		asked += t->result.coverage[i].asked;
		for (int o = 0; o < MAD_OUTCOMES; o++)
			ended += t->result.coverage[i].ended[o];
	}
	assert_int_equal(asked, t->asked);
	assert_int_equal(ended, asked);
	finding_list_clear(&t->rig.findings);
	verify_findings(t->rig.verify, &t->rig.findings);
	finding_list_sort(&t->rig.findings);
}

static struct rig_device *device(struct three *t, uint64_t guid, unsigned number)
{
	return rig_device(&t->rig, guid, number);
}

static struct rig_device *record(struct three *t, uint64_t guid, unsigned number)
{
	return &t->records[rig_port(&t->rig, guid, number)];
}

/* The one finding, of this class. */
static const struct finding *only(const struct three *t, enum finding_code code, enum finding_cause cause)
{
	assert_int_equal(t->rig.findings.count, 1);
	assert_int_equal(t->rig.findings.items[0].code, code);
	assert_int_equal(t->rig.findings.items[0].cause, cause);
	return &t->rig.findings.items[0];
}

/* --- one table, by the three --- */

static void test_nothing_differs_nothing_is_asked(void **state)
{
	struct three t;

	(void)state;
	begin(&t, NULL);
	look(&t);
	assert_int_equal(t.asked, 0);
	assert_int_equal(t.rig.findings.count, 0);
	finish(&t);
}

/* Device and record of one SL2VL table, as wanted (w), another (x), a third (y), or zeros (0). */
static void test_sl2vl(void **state)
{
	static const struct {
		char device, record;
		bool qos, file_holds;
		enum finding_cause cause;
		bool third;
	} cases[] = {
		{'x', 'w', true, false, CAUSE_DRIFTED, false},
		{'x', 'w', false, true, CAUSE_DRIFTED, false}, /* it was sent, whatever the SM does now */
		{'0', 'w', true, false, CAUSE_DRIFTED, false},
		{'x', 'x', true, false, CAUSE_OTHER_CONFIG, false},
		{'x', 'x', true, true, CAUSE_NOT_APPLIED, false}, /* the file that it reads has what is wanted */
		{'x', 'x', false, false, CAUSE_NOT_APPLIED, false}, /* QoS is off */
		{'x', 'y', true, false, CAUSE_OTHER_CONFIG, true},
		{'0', 'y', true, false, CAUSE_OTHER_CONFIG, true},
		{'x', '0', true, false, CAUSE_NOT_APPLIED, false}, /* no Set was answered */
		{'0', '0', true, false, CAUSE_NOT_APPLIED, false},
	};
	struct three t;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct finding *f;

		begin(&t, NULL);
		t.sm.qos = cases[i].qos;
		t.options.file_holds = cases[i].file_holds;
		if (cases[i].device != 'w')
			memset(device(&t, RIG_LEAF, 5)->sl2vl[3], cases[i].device == 'x' ? 0x11 : 0, 8);
		if (cases[i].record != 'w')
			memset(record(&t, RIG_LEAF, 5)->sl2vl[3], cases[i].record == 'x' ? 0x11 : cases[i].record == 'y' ? 0x22 : 0, 8);
		look(&t);
		f = only(&t, FINDING_SL2VL_DIFFERS, cases[i].cause);
		assert_int_equal(f->guid, RIG_LEAF);
		assert_int_equal(f->port, 5);
		assert_string_equal(f->what, "SL2VL, in-port 3");
		assert_int_equal(f->detail && strstr(f->detail, "neither of the two") != NULL, cases[i].third);
		assert_int_equal(t.asked, 1);
		finish(&t);
	}
}

static void test_vlarb_of_an_adapter(void **state)
{
	struct three t;

	(void)state;
	begin(&t, NULL);
	device(&t, RIG_GPU_2, 1)->vlarb[0][3] ^= 1;
	look(&t);
	assert_string_equal(only(&t, FINDING_VLARB_DIFFERS, CAUSE_DRIFTED)->what, "VLArb low");
	record(&t, RIG_GPU_2, 1)->vlarb[0][3] ^= 1;
	look(&t);
	only(&t, FINDING_VLARB_DIFFERS, CAUSE_OTHER_CONFIG);
	memset(record(&t, RIG_GPU_2, 1)->vlarb[0], 0, 64);
	look(&t);
	only(&t, FINDING_VLARB_DIFFERS, CAUSE_NOT_APPLIED);
	finish(&t);
}

/* Zeros are wanted, and the record of zeros may also be that of a table that was never sent. */
static void test_zeros_are_wanted(void **state)
{
	struct three t;

	(void)state;
	begin(&t, NULL);
	memset(t.rig.config.of[QOS_PORT_CA].sl2vl.vl, 0, QOS_SLS);
	rig_program(&t.rig);
	remember(&t);
	device(&t, RIG_STORE, 1)->sl2vl[0][0] = 0x10;
	look(&t);
	only(&t, FINDING_SL2VL_DIFFERS, CAUSE_UNKNOWN);
	finish(&t);
}

/* Programmed while the link ran 4 VLs; now it runs 8. */
static void test_another_number_of_vls(void **state)
{
	struct three t;

	(void)state;
	begin(&t, &(struct rig_options){.isl = {.oper_vls = 3}});
	device(&t, RIG_LEAF, 5)->info[OPER_VLS] = device(&t, RIG_SPINE, 1)->info[OPER_VLS] = 4 << 4;
	look(&t);
	assert_true(t.rig.findings.count >= 4);
	for (size_t i = 0; i < t.rig.findings.count; i++)
		assert_int_equal(t.rig.findings.items[i].cause, CAUSE_AWAITS_SWEEP);
	/* with QoS off there is no sweep that puts it right */
	t.sm.qos = false;
	look(&t);
	for (size_t i = 0; i < t.rig.findings.count; i++)
		assert_int_equal(t.rig.findings.items[i].cause, CAUSE_NOT_APPLIED);
	/* of one table alone that stands as if for 4 VLs, while the port's others were programmed for 8, it is no such thing */
	t.sm.qos = true;
	rig_program(&t.rig);
	remember(&t);
	for (unsigned b = 0; b < 8; b++)
		device(&t, RIG_LEAF, 5)->sl2vl[2][b] &= 0x33;
	memcpy(record(&t, RIG_LEAF, 5)->sl2vl[2], device(&t, RIG_LEAF, 5)->sl2vl[2], 8);
	look(&t);
	only(&t, FINDING_SL2VL_DIFFERS, CAUSE_OTHER_CONFIG);
	finish(&t);
}

/* Device and record of zeros: a Set that failed, but beside tables of another config that config's own. */
static void test_zeros_beside_another_config(void **state)
{
	struct three t;

	(void)state;
	begin(&t, NULL);
	memset(device(&t, RIG_LEAF, 2)->sl2vl[1], 0, 8);
	memset(record(&t, RIG_LEAF, 2)->sl2vl[1], 0, 8);
	look(&t);
	only(&t, FINDING_SL2VL_DIFFERS, CAUSE_NOT_APPLIED);
	device(&t, RIG_LEAF, 2)->vlarb[0][1] = record(&t, RIG_LEAF, 2)->vlarb[0][1] = 77;
	look(&t);
	assert_int_equal(t.rig.findings.count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(t.rig.findings.items[i].cause, CAUSE_OTHER_CONFIG);
	finish(&t);
}

static void test_high_limit(void **state)
{
	struct three t;

	(void)state;
	begin(&t, NULL);
	device(&t, RIG_LEAF, 1)->info[HIGH_LIMIT] = 99;
	look(&t);
	assert_string_equal(only(&t, FINDING_HIGH_LIMIT_DIFFERS, CAUSE_DRIFTED)->detail, "OpenSM sets it again on its next heavy sweep");
	/* the record is what the device said last */
	record(&t, RIG_LEAF, 1)->info[HIGH_LIMIT] = 99;
	look(&t);
	only(&t, FINDING_HIGH_LIMIT_DIFFERS, CAUSE_UNKNOWN);
	t.options.file_holds = true;
	look(&t);
	only(&t, FINDING_HIGH_LIMIT_DIFFERS, CAUSE_NOT_APPLIED);
	/* the port's tables tell whose it is */
	t.options.file_holds = false;
	device(&t, RIG_LEAF, 1)->sl2vl[0][0] = record(&t, RIG_LEAF, 1)->sl2vl[0][0] = 0x77;
	look(&t);
	assert_int_equal(t.rig.findings.count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(t.rig.findings.items[i].cause, CAUSE_OTHER_CONFIG);
	finish(&t);
}

/* --- what was not answered, or not asked --- */

static void test_records_that_say_nothing(void **state)
{
	struct three t;

	(void)state;
	begin(&t, NULL);
	memset(device(&t, RIG_LEAF, 5)->sl2vl[3], 0x11, 8);
	t.silent = rig_port(&t.rig, RIG_LEAF, 5);
	look(&t);
	only(&t, FINDING_SL2VL_DIFFERS, CAUSE_UNKNOWN);
	assert_int_equal(t.result.coverage[SM_TABLE_SL2VL].ended[MAD_TIMED_OUT], 1);
	t.silent = FABRIC_NONE;
	t.lies = true;
	look(&t);
	only(&t, FINDING_SL2VL_DIFFERS, CAUSE_UNKNOWN);
	assert_int_equal(t.result.coverage[SM_TABLE_SL2VL].ended[MAD_STATUS], 1);
	t.lies = false;
	/* an SA that did not answer before is not asked */
	t.sm.qos_known = false;
	look(&t);
	only(&t, FINDING_SL2VL_DIFFERS, CAUSE_UNKNOWN);
	assert_int_equal(t.asked, 0);
	t.options.sm = NULL;
	look(&t);
	only(&t, FINDING_SL2VL_DIFFERS, CAUSE_UNKNOWN);
	finish(&t);
}

static void test_the_wire_breaks(void **state)
{
	struct three t;

	(void)state;
	begin(&t, NULL);
	memset(device(&t, RIG_LEAF, 5)->sl2vl[3], 0x11, 8);
	rig_verify(&t.rig);
	script_source_manager_error(t.rig.source, -EIO);
	assert_int_equal(verify_ask_records(t.rig.verify, t.rig.source, &t.options, &t.result), -EIO);
	finding_list_clear(&t.rig.findings);
	verify_findings(t.rig.verify, &t.rig.findings);
	only(&t, FINDING_SL2VL_DIFFERS, CAUSE_UNKNOWN);
	finish(&t);
}

/* First one a port and kind, then the others; those left out are taken for what those of their port and kind all are. */
static void test_the_limit(void **state)
{
	struct three t;

	(void)state;
	begin(&t, NULL);
	for (unsigned in = 0; in < 4; in++)
		memset(device(&t, RIG_LEAF, 5)->sl2vl[in], 0x11, 8);
	device(&t, RIG_LEAF, 5)->vlarb[0][3] ^= 1;
	memset(device(&t, RIG_SPINE, 3)->sl2vl[2], 0x11, 8);
	t.options.limit = 4;
	look(&t);
	assert_int_equal(t.asked, 4);
	assert_int_equal(t.result.left, 2);
	assert_int_equal(t.result.coverage[SM_TABLE_VLARB].asked, 1);
	assert_int_equal(t.rig.findings.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(t.rig.findings.items[i].cause, CAUSE_DRIFTED);
	assert_non_null(strstr(t.rig.findings.items[0].detail, "its record was asked for 2 of 4 tables"));
	/* of two that are asked for, one is another's: of the rest nothing is said */
	memset(record(&t, RIG_LEAF, 5)->sl2vl[1], 0x11, 8);
	look(&t);
	assert_int_equal(t.rig.findings.count, 5);
	for (size_t i = 0; i < 5; i++)
		if (t.rig.findings.items[i].cause == CAUSE_UNKNOWN)
			assert_string_equal(t.rig.findings.items[i].what, "SL2VL, in-ports 2-3");
	t.options.limit = 0;
	look(&t);
	assert_int_equal(t.asked, 0);
	finish(&t);
}

/* --- nothing was applied --- */

static void spoil_all(struct three *t)
{
	static const uint8_t other[8] = {0x12, 0x12, 0x12, 0x12, 0x12, 0x12, 0x12, 0x12};

	for (uint32_t i = 0; i < t->rig.fabric->port_count; i++)
		for (unsigned in = 0; in < 8; in++) {
			memcpy(t->rig.devices[i].sl2vl[in], other, sizeof(other));
			memcpy(t->records[i].sl2vl[in], other, sizeof(other));
		}
}

static void test_not_applied(void **state)
{
	struct verify_not_applied why = {.path = "p.yaml"};
	const struct finding *f = NULL;
	struct three t;
	size_t told = 0, before;

	(void)state;
	begin(&t, NULL);
	spoil_all(&t);
	look(&t);
	why.sm = &t.sm;
	before = t.rig.findings.count;
	finding_add(&t.rig.findings, FINDING_AGENT_SILENT);
	assert_true(verify_fold_not_applied(t.rig.verify, &why, &t.rig.findings));
	assert_int_equal(t.rig.findings.count, before + 2);
	for (size_t i = 0; i < t.rig.findings.count; i++) {
		if (t.rig.findings.items[i].code == FINDING_NOT_APPLIED)
			f = &t.rig.findings.items[i];
		told += !t.rig.findings.items[i].told_by_another;
	}
	assert_int_equal(told, 2); /* what has nothing to do with it stays */
	assert_non_null(f);
	assert_string_equal(f->what, "p.yaml");
	/* leaf's port 0 and five that are up, three of spine, four ends */
	assert_string_equal(f->got, "13 of 13 ports hold other tables");
	assert_non_null(strstr(f->detail, "has programmed another config"));
	t.sm.qos = false;
	look(&t);
	assert_true(verify_fold_not_applied(t.rig.verify, &why, &t.rig.findings));
	assert_non_null(strstr(t.rig.findings.items[t.rig.findings.count - 1].detail, "QoS switched off"));
	finish(&t);
}

static void test_what_is_told_of_each_port(void **state)
{
	struct verify_not_applied why = {.path = "p.yaml"};
	struct three t;

	(void)state;
	begin(&t, NULL);
	why.sm = &t.sm;
	/* three ports */
	for (unsigned n = 1; n <= 3; n++)
		memset(device(&t, RIG_LEAF, n)->sl2vl[0], 0x11, 8);
	look(&t);
	assert_false(verify_fold_not_applied(t.rig.verify, &why, &t.rig.findings));
	/* all, and all of them since */
	spoil_all(&t);
	rig_program(&t.rig);
	remember(&t);
	for (uint32_t i = 0; i < t.rig.fabric->port_count; i++)
		memset(t.rig.devices[i].sl2vl[0], 0x11, 8);
	look(&t);
	assert_true(verify_result(t.rig.verify)->ports_differ > 8);
	assert_false(verify_fold_not_applied(t.rig.verify, &why, &t.rig.findings));
	for (size_t i = 0; i < t.rig.findings.count; i++)
		assert_false(t.rig.findings.items[i].told_by_another);
	/* a whole switch and half the fabric */
	rig_program(&t.rig);
	for (unsigned n = 0; n <= RIG_LEAF_PORTS; n++) {
		memset(device(&t, RIG_LEAF, n)->sl2vl[0], 0x11, 8);
		memset(record(&t, RIG_LEAF, n)->sl2vl[0], 0x11, 8);
	}
	look(&t);
	assert_true(verify_result(t.rig.verify)->ports_differ >= 4);
	assert_false(verify_fold_not_applied(t.rig.verify, &why, &t.rig.findings));
	finish(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_differs_nothing_is_asked),
		cmocka_unit_test(test_sl2vl),
		cmocka_unit_test(test_vlarb_of_an_adapter),
		cmocka_unit_test(test_zeros_are_wanted),
		cmocka_unit_test(test_another_number_of_vls),
		cmocka_unit_test(test_zeros_beside_another_config),
		cmocka_unit_test(test_high_limit),
		cmocka_unit_test(test_records_that_say_nothing),
		cmocka_unit_test(test_the_wire_breaks),
		cmocka_unit_test(test_the_limit),
		cmocka_unit_test(test_not_applied),
		cmocka_unit_test(test_what_is_told_of_each_port),
	};

	return cmocka_run_group_tests_name("three_way", tests, NULL, NULL);
}
