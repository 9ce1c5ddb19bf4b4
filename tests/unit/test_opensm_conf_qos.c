/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The QoS keys of opensm.conf: what OpenSM makes of odd values, and that what is set is what is got.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/opensm.h"

static void get(const char *text, struct qos_config *config, bool *enabled, struct finding_list *findings)
{
	struct opensm_conf *conf;

	memset(findings, 0, sizeof(*findings));
	assert_int_equal(opensm_conf_parse(text, strlen(text), &conf), 0);
	assert_int_equal(opensm_conf_get_qos(conf, "opensm.conf", config, enabled, findings), 0);
	opensm_conf_free(conf);
}

/* "vl:weight,…" of a table for comparing, all entries that count */
static const char *vlarb_text(const struct qos_vlarb *table, char text[QOS_TEXT_MAX])
{
	qos_vlarb_format(table->entry, table->count, text);
	return text;
}

static const struct {
	const char *value, *reads;
	bool doubtful;
} vlarbs[] = {
	/* These rows and those of SL2VL were given to OpenSM 3.3.23 on ibsim and its tables read back with
	   smpquery. */
	{"0:64,1:192", "0:64,1:192", false},
	{"0:64, 1:32", "0:64,1:32", false},
	{"0 :64,1:32", "0:0,4:1,2:0", true},
	{"0:64 ,1:32", "0:64,0:1,2:0", true},
	{"15:10,16:11", "0:10,1:11", true},
	{"1:300,2:256", "1:44,2:0", true},
	{"1:010,08:5", "1:8,0:0,5:0", true},
	{"0x2:0x10", "2:16", false},
	{"a:5,1:6", "0:0,5:1,6:0", true},
	{"", "", false},
	{"1:5", "1:5", false},
	{"1:5,", "1:5", false},
	{"1:5,,2:6", "1:5,0:2,6:0", true},
	{"1;5;2;6", "1:5,2:6", true},
	{"1", "1:0", true},
	{"-1:3", "0:3", true},
	{"1:2,3", "1:2,3:0", true},
};

static void test_vlarb_quirks(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vlarbs) / sizeof(*vlarbs); i++) {
		struct finding_list findings;
		struct qos_config config;
		char text[QOS_TEXT_MAX];
		bool enabled;

		snprintf(text, sizeof(text), "qos TRUE\nqos_ca_vlarb_low %s\n", vlarbs[i].value);
		get(text, &config, &enabled, &findings);
		assert_true(enabled);
		assert_string_equal(vlarb_text(&config.of[QOS_PORT_CA].low, text), vlarbs[i].reads);
		if (findings.count != vlarbs[i].doubtful)
			fail_msg("'%s': %zu findings", vlarbs[i].value, findings.count);
		if (findings.count) {
			assert_int_equal(findings.items[0].code, FINDING_OPENSM_VALUE_DOUBTFUL);
			assert_string_equal(findings.items[0].file, "opensm.conf");
			assert_int_equal(findings.items[0].line, 2);
			assert_string_equal(findings.items[0].what, "key 'qos_ca_vlarb_low'");
			assert_string_equal(findings.items[0].got, vlarbs[i].value);
		}
		finding_list_clear(&findings);
	}
}

static const struct {
	const char *value, *reads;
	bool doubtful;
} sl2vls[] = {
	{"0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7", false},
	{"0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,15", "0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,15", false},
	{"1, 1, 1, 1,1,1,1,1,1,1,1,1,1,1,1,1", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", false},
	{"16,17,18,3", "0,1,2,3,0,0,0,0,0,0,0,0,0,0,0,0", true},
	{"1,2", "1,2,0,0,0,0,0,0,0,0,0,0,0,0,0,0", true},
	{"1 ,2,3", "1,0,2,3,0,0,0,0,0,0,0,0,0,0,0,0", true},
	{"07,08,1", "7,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0", true},
	{"1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", true},
	{"", "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0", true},
	{"(null)", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7", false},
};

static void test_sl2vl_quirks(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sl2vls) / sizeof(*sl2vls); i++) {
		struct finding_list findings;
		struct qos_config config;
		char text[QOS_TEXT_MAX];
		bool enabled;

		snprintf(text, sizeof(text), "qos_swe_sl2vl %s\n", sl2vls[i].value);
		get(text, &config, &enabled, &findings);
		qos_sl2vl_format(&config.of[QOS_PORT_SWE].sl2vl, text);
		assert_string_equal(text, sl2vls[i].reads);
		assert_int_equal(findings.count, sl2vls[i].doubtful);
		finding_list_clear(&findings);
	}
}

static const struct {
	const char *text;
	unsigned limit; /* of a CA */
	bool doubtful;
} limits[] = {
	{"", 0, false},
	{"qos_high_limit -1\n", 0, false},
	{"qos_high_limit 12\n", 12, false},
	{"qos_high_limit 12\nqos_ca_high_limit -1\n", 12, false},
	{"qos_high_limit 12\nqos_ca_high_limit 0\n", 0, false},
	{"qos_high_limit 12\nqos_ca_high_limit 255\n", 255, false},
	{"qos_high_limit 12\nqos_ca_high_limit 256\n", 12, true},
	{"qos_ca_high_limit 300\n", 0, true},
	{"qos_ca_high_limit 010\n", 8, true},
	{"qos_ca_high_limit 0x10\n", 16, false},
	{"qos_ca_high_limit 7x\n", 7, true},
	{"qos_ca_high_limit ten\n", 0, true},
	{"qos_high_limit 12\nqos_ca_high_limit (null)\n", 0, true},
	{"qos_high_limit 12\nqos_ca_high_limit\n", 0, true},
	{"qos_high_limit 12\nqos_ca_high_limit -5\n", 12, true},
	{"qos_ca_high_limit 4294967299\n", 3, true},
};

static void test_high_limit_quirks(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		struct finding_list findings;
		struct qos_config config;
		bool enabled;

		get(limits[i].text, &config, &enabled, &findings);
		if (config.of[QOS_PORT_CA].high_limit != limits[i].limit ||
		    findings.count != limits[i].doubtful)
			fail_msg("'%s': %u, %zu findings", limits[i].text, config.of[QOS_PORT_CA].high_limit,
				 findings.count);
		finding_list_clear(&findings);
	}
}

static const struct {
	const char *text;
	bool enabled, doubtful;
} switches[] = {
	{"", false, false},
	{"qos TRUE\n", true, false},
	{"qos FALSE\n", false, false},
	{"qos true\n", false, true},
	{"qos 1\n", false, true},
	{"qos yes\n", false, true},
	{"qos TRUE\r\n", true, false},
	{"qos \"TRUE\"\n", true, false},
	{"qos TRUE # on\n", true, false},
	{"qos TRUE\nqos FALSE\n", false, false},
	{"qos = TRUE\n", false, true},
	{"qos\n", false, true},
};

static void test_enabled(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++) {
		struct finding_list findings;
		struct qos_config config;
		bool enabled;

		get(switches[i].text, &config, &enabled, &findings);
		if (enabled != switches[i].enabled || findings.count != switches[i].doubtful)
			fail_msg("'%s'", switches[i].text);
		finding_list_clear(&findings);
	}
}

/* Per key: the type's own, else qos_*, else OpenSM's default. */
static void test_inheritance(void **state)
{
	struct finding_list findings;
	struct qos_config config;
	char text[QOS_TEXT_MAX];
	bool enabled;

	(void)state;
	get("qos TRUE\n"
	    "qos_vlarb_low 1:9\n"
	    "qos_vlarb_high (null)\n"
	    "qos_high_limit 7\n"
	    "qos_swe_vlarb_low 2:9\n"
	    "qos_sw0_vlarb_low (null)\n"
	    "qos_rtr_vlarb_high 3:3\n",
	    &config, &enabled, &findings);
	assert_int_equal(findings.count, 0);
	assert_string_equal(vlarb_text(&config.of[QOS_PORT_CA].low, text), "1:9");
	assert_string_equal(vlarb_text(&config.of[QOS_PORT_SW0].low, text), "1:9");
	assert_string_equal(vlarb_text(&config.of[QOS_PORT_SWE].low, text), "2:9");
	assert_string_equal(vlarb_text(&config.of[QOS_PORT_RTR].low, text), "1:9");
	assert_string_equal(vlarb_text(&config.of[QOS_PORT_CA].high, text),
			    "0:4,1:0,2:0,3:0,4:0,5:0,6:0,7:0,8:0,9:0,10:0,11:0,12:0,13:0,14:0");
	assert_string_equal(vlarb_text(&config.of[QOS_PORT_RTR].high, text), "3:3");
	for (unsigned type = 0; type < QOS_PORT_TYPES; type++)
		assert_int_equal(config.of[type].high_limit, 7);

	get("", &config, &enabled, &findings);
	assert_false(enabled);
	for (unsigned type = 0; type < QOS_PORT_TYPES; type++) {
		assert_int_equal(config.of[type].high_limit, 0);
		assert_string_equal(vlarb_text(&config.of[type].low, text),
				    "0:0,1:4,2:4,3:4,4:4,5:4,6:4,7:4,8:4,9:4,10:4,11:4,12:4,13:4,14:4");
		qos_sl2vl_format(&config.of[type].sl2vl, text);
		assert_string_equal(text, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7");
	}
}

/* A base value that every type overrides is not used, so its doubt is nobody's; one used by four is told
 * once. */
static void test_doubt_told_once(void **state)
{
	struct finding_list findings;
	struct qos_config config;
	bool enabled;

	(void)state;
	get("qos_high_limit 300\n", &config, &enabled, &findings);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.items[0].line, 1);
	finding_list_clear(&findings);
	get("qos_sl2vl 1\nqos_ca_sl2vl (null)\nqos_sl2vl 2\n", &config, &enabled, &findings);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.items[0].line, 3); /* the one that OpenSM takes */
	finding_list_clear(&findings);
	get("qos_vlarb_low 16:1\nqos_ca_vlarb_low 1:1\nqos_sw0_vlarb_low 1:1\nqos_swe_vlarb_low 1:1\n"
	    "qos_rtr_vlarb_low 1:1\n",
	    &config, &enabled, &findings);
	assert_int_equal(findings.count, 0);
}

/* A line that OpenSM reads in pieces is doubtful however fine it looks. */
static void test_torn_line(void **state)
{
	struct finding_list findings;
	struct qos_config config;
	char text[1200];
	bool enabled;

	(void)state;
	memset(text, ' ', sizeof(text));
	memcpy(text, "qos_ca_vlarb_low 1:1", 20);
	strcpy(text + 1100, "#\n");
	get(text, &config, &enabled, &findings);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.items[0].line, 1);
	finding_list_clear(&findings);
}

static void test_long_lists(void **state)
{
	struct finding_list findings;
	struct qos_config config;
	char text[1000] = "qos_ca_vlarb_low ";
	bool enabled;

	(void)state;
	for (unsigned i = 0; i < 64; i++)
		sprintf(text + strlen(text), "%s%u:%u", i ? "," : "", i % 15, i);
	get(text, &config, &enabled, &findings);
	assert_int_equal(findings.count, 0);
	assert_int_equal(config.of[QOS_PORT_CA].low.count, 64);
	assert_int_equal(config.of[QOS_PORT_CA].low.entry[63].vl, 3);
	assert_int_equal(config.of[QOS_PORT_CA].low.entry[63].weight, 63);
	strcat(text, ",1:1");
	get(text, &config, &enabled, &findings);
	assert_int_equal(findings.count, 1);
	assert_int_equal(config.of[QOS_PORT_CA].low.count, 64);
	finding_list_clear(&findings);
}

static unsigned random_below(uint64_t *seed, unsigned n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(*seed >> 33) % n;
}

static void random_tables(uint64_t *seed, struct qos_tables *tables)
{
	struct qos_vlarb *both[] = {&tables->high, &tables->low};

	memset(tables, 0, sizeof(*tables));
	tables->high_limit = (uint8_t)random_below(seed, 256);
	for (unsigned sl = 0; sl < QOS_SLS; sl++)
		tables->sl2vl.vl[sl] = (uint8_t)random_below(seed, 16);
	for (unsigned i = 0; i < 2; i++) {
		both[i]->count = 1 + random_below(seed, QOS_VLARB_ENTRIES);
		for (unsigned n = 0; n < both[i]->count; n++) {
			both[i]->entry[n].vl = (uint8_t)random_below(seed, QOS_DATA_VLS);
			both[i]->entry[n].weight = (uint8_t)random_below(seed, 256);
		}
	}
}

/* Whatever stands in the file before: what is set is what OpenSM reads, without doubt, and stable. */
static void test_round_trip(void **state)
{
	static const char *const before[] = {
		"",
		"qos FALSE\n",
		"qos_ca_sl2vl 1,2 # old\nqos_ca_sl2vl 3\n",
		"# x\r\nqos_vlarb_low (null)\r\n",
		"qos_swe_high_limit '9'\nsweep_interval 10",
	};
	uint64_t seed = 20260101;

	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		struct qos_config config, got = {0};
		struct finding_list findings = {0};
		struct opensm_conf *conf, *again;
		char *text, *twice;
		size_t size;
		bool enabled;

		for (unsigned type = 0; type < QOS_PORT_TYPES; type++)
			random_tables(&seed, &config.of[type]);
		text = strdup(before[round % 5]);
		assert_int_equal(opensm_conf_parse(text, strlen(text), &conf), 0);
		free(text);
		assert_int_equal(opensm_conf_set_qos(conf, &config), 0);
		assert_int_equal(opensm_conf_render(conf, &text, &size), 0);
		assert_int_equal(opensm_conf_parse(text, size, &again), 0);
		assert_int_equal(opensm_conf_get_qos(again, "f", &got, &enabled, &findings), 0);
		assert_true(enabled);
		assert_int_equal(findings.count, 0);
		assert_memory_equal(&config, &got, sizeof(config)); /* padding is 0 in both */
		assert_int_equal(opensm_conf_set_qos(again, &config), 0);
		assert_int_equal(opensm_conf_render(again, &twice, &size), 0);
		assert_string_equal(twice, text);
		/* every key that a HUP would otherwise leave at its running value is there */
		for (unsigned key = 0; key < 20; key++) {
			static const char *const sets[] = {"", "ca_", "sw0_", "swe_", "rtr_"};
			static const char *const keys[] = {"high_limit", "vlarb_high", "vlarb_low", "sl2vl"};
			char name[32];

			snprintf(name, sizeof(name), "qos_%s%s", sets[key / 4], keys[key % 4]);
			assert_non_null(opensm_conf_get(again, name));
		}
		assert_null(opensm_conf_get(again, "max_op_vls"));
		assert_null(opensm_conf_get(again, "qos_max_vls"));
		free(text);
		free(twice);
		opensm_conf_free(conf);
		opensm_conf_free(again);
	}
}

static void test_set_refuses(void **state)
{
	struct qos_config config;
	struct opensm_conf *conf;
	uint64_t seed = 1;
	char *text;
	size_t size;

	(void)state;
	assert_int_equal(opensm_conf_parse("a b\n", 4, &conf), 0);
	for (unsigned type = 0; type < QOS_PORT_TYPES; type++)
		random_tables(&seed, &config.of[type]);
	config.of[QOS_PORT_RTR].low.count = 1;
	config.of[QOS_PORT_RTR].low.entry[0].vl = 15;
	assert_int_equal(opensm_conf_set_qos(conf, &config), -EINVAL);
	config.of[QOS_PORT_RTR].low.entry[0].vl = 14;
	config.of[QOS_PORT_SW0].sl2vl.vl[15] = 16;
	assert_int_equal(opensm_conf_set_qos(conf, &config), -EINVAL);
	config.of[QOS_PORT_SW0].sl2vl.vl[15] = 15;
	config.of[QOS_PORT_SW0].high.count = 65;
	assert_int_equal(opensm_conf_set_qos(conf, &config), -EINVAL);
	assert_int_equal(opensm_conf_render(conf, &text, &size), 0);
	assert_string_equal(text, "a b\n"); /* refused before anything was changed */
	free(text);
	/* an empty table is written as one that sends nothing */
	config.of[QOS_PORT_SW0].high.count = 0;
	assert_int_equal(opensm_conf_set_qos(conf, &config), 0);
	assert_string_equal(opensm_conf_get(conf, "qos_sw0_vlarb_high"), "0:0");
	opensm_conf_free(conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vlarb_quirks),      cmocka_unit_test(test_sl2vl_quirks),
		cmocka_unit_test(test_high_limit_quirks), cmocka_unit_test(test_enabled),
		cmocka_unit_test(test_inheritance),       cmocka_unit_test(test_doubt_told_once),
		cmocka_unit_test(test_torn_line),         cmocka_unit_test(test_long_lists),
		cmocka_unit_test(test_round_trip),        cmocka_unit_test(test_set_refuses),
	};

	return cmocka_run_group_tests_name("QoS keys of opensm.conf", tests, NULL, NULL);
}
