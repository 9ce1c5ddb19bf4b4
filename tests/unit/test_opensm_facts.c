/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What is known of the running OpenSM, by texts alone: versions, its log, its unit, what a reload would change. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../src/opensm/facts.h"
#include "ibqos/opensm_files.h"

#define BYTES(text) text, sizeof(text) - 1

/* --- version and flavour --- */

static void assert_version(const char *program, size_t size, const char *wanted)
{
	char *got = opensm_version_in(program, size);

	if (!got != !wanted || (got && strcmp(got, wanted) != 0))
		fail_msg("'%s' in place of '%s'", got ? got : "none", wanted ? wanted : "none");
	free(got);
}

static void test_versions(void **state)
{
	(void)state;
	assert_version(BYTES("\x7f" "ELF\0OpenSM 3.3.23\0rest"), "3.3.23");
	assert_version(BYTES("OpenSM 3.3.23\0"), "3.3.23");
	assert_version(BYTES("\0OpenSM 5.17.0.MLNX20231105.d437ae0a\0"), "5.17.0.MLNX20231105.d437ae0a");
	assert_version(BYTES("\0OpenSM 3.3.23\0OpenSM 3.3.23\0"), "3.3.23");
	assert_version(BYTES("\0OpenSM 3.3.23\0OpenSM 3.3.24\0"), NULL); /* which? */
	assert_version(BYTES("\0OpenSM 3.3.23"), NULL);			/* cut off */
	assert_version(BYTES("\0an OpenSM 3.3.23\0"), NULL);
	assert_version(BYTES("\0OpenSM 3.3.23 \0"), NULL);
	assert_version(BYTES("\0OpenSM $ \0OpenSM version 3.2.1\0OpenSM 3\0"), NULL);
	assert_version(BYTES(""), NULL);
}

static void test_flavours(void **state)
{
	static const struct {
		const char *version, *program, *config;
		enum opensm_flavour flavour;
	} cases[] = {
		{"3.3.23", "/usr/sbin/opensm", "/etc/opensm/opensm.conf", OPENSM_TESTED},
		{"3.3.24", NULL, NULL, OPENSM_TESTED},
		{"3.3.22", NULL, NULL, OPENSM_UNTESTED},
		{"3.3.230", NULL, NULL, OPENSM_UNTESTED},
		{"3.3.23_5e8c4f5", NULL, NULL, OPENSM_UNTESTED},
		{"3.3.23.MLNX", NULL, NULL, OPENSM_NVIDIA},
		{"4.9.0.MLNX20170531", NULL, NULL, OPENSM_NVIDIA},
		{"5.17.0", NULL, NULL, OPENSM_NVIDIA},
		{"10.1.0", NULL, NULL, OPENSM_NVIDIA},
		{"3.3.23", "/opt/ufm/opensm/sbin/opensm", NULL, OPENSM_NVIDIA},
		{"3.3.23", NULL, "/opt/ufm/files/conf/opensm/opensm.conf", OPENSM_NVIDIA},
		{NULL, NULL, NULL, OPENSM_FLAVOUR_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (opensm_flavour_of(cases[i].version, cases[i].program, cases[i].config) != cases[i].flavour)
			fail_msg("case %zu", i);
}

static void test_units(void **state)
{
	static const struct {
		const char *cgroups, *unit;
	} cases[] = {
		{"0::/system.slice/opensm.service\n", "opensm.service"},
		{"0::/system.slice/system-opensm.slice/opensm@0x0c42a103.service", "opensm@0x0c42a103.service"},
		{"12:pids:/a.service\n1:name=systemd:/system.slice/opensm.service\n0::/\n", "opensm.service"},
		{"0::/system.slice/opensm.service/sub\n", NULL},
		{"0::/user.slice/session-3.scope\n", NULL},
		{"0::/system.slice/.service\n", NULL},
		{"0::/system.slice/-x.service\n", NULL}, /* would be an option of systemctl's */
		{"0::/system.slice/a b.service\n", NULL},
		{"0::/system.slice/a;b.service\n", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *got = opensm_unit_in(cases[i].cgroups);

		if (!got != !cases[i].unit || (got && strcmp(got, cases[i].unit) != 0))
			fail_msg("case %zu: '%s'", i, got ? got : "none");
		free(got);
	}
}

/* --- its log --- */

#define AT "Nov 30 10:44:23 178106 [A3406740] 0x02 -> "

static void test_log(void **state)
{
	static const char log[] = "Nov 30 10:44:23 178106 [A3406740] 0x03 -> OpenSM 3.3.22\n"
				  AT "osm_vendor_bind: Mgmt class 0x81 binding to port GUID 0xc42a10300000011\n"
				  AT "osm_vendor_bind: Mgmt class 0x03 binding to port GUID 0x99\n"
				  AT "osm_ucast_mgr_process: ftree tables configured on all switches\n"
				  "Nov 30 10:45:23 178106 [A3406740] 0x80 -> OpenSM 3.3.23\n"
				  AT "x OpenSM 3.3.99\n"
				  AT "OpenSM 3.3.99 and more\n"
				  AT "osm_ucast_mgr_process: torus-2QoS tables configured on all switches\n"
				  AT "minhop tables configured on all switches?\n"
				  "no arrow: dor tables configured on all switches\n"
				  AT "osm_ucast_mgr_process: updn tables configured on all switches";
	struct opensm_log_facts facts = {0};

	(void)state;
	opensm_log_facts_take(log, strlen(log), &facts);
	assert_string_equal(facts.version, "3.3.23");
	assert_string_equal(facts.engine, "torus-2QoS"); /* the last line has not ended yet */
	assert_true(facts.port_guid == 0xc42a10300000011);
	opensm_log_facts_take(BYTES(AT "Mgmt class 0x81 binding to port GUID 0x12345678901234567\n"), &facts);
	assert_true(facts.port_guid == 0xc42a10300000011); /* no GUID */
	opensm_log_facts_clear(&facts);
	assert_null(facts.version);
}

static void test_status(void **state)
{
	static const char text[] = "   OpenSM Version       : OpenSM 3.3.23\n   SM State             : Master     \n"
				   "   Routing Engine       : minhop\n\n   Known SMs\n   Port GUID       SM State    Priority\n"
				   "   0x12 Standby 3\n   0xc42a10300000011 Master      0        SELF\n";
	struct opensm_status status;

	(void)state;
	opensm_console_status(text, &status);
	assert_string_equal(status.engine, "minhop");
	assert_string_equal(status.state, "Master");
	assert_true(status.port_guid == 0xc42a10300000011);
	opensm_status_clear(&status);
	opensm_console_status("Routing Engine", &status);
	assert_null(status.engine);
	assert_true(status.port_guid == 0);
	opensm_console_status("Routing Engine :\n SELF", &status);
	assert_null(status.engine);
	opensm_status_clear(&status);
}

/* --- what a reload changes --- */

static void test_changes(void **state)
{
	static const struct {
		const char *file, *running, *key; /* the key that changes; NULL: none */
	} cases[] = {
		{"sweep_interval 11\n", "sweep_interval 10\n", "sweep_interval"},
		{"sweep_interval 0xa\n", "sweep_interval 10\n", NULL},
		{"sweep_interval 11\nsweep_interval 10\n", "sweep_interval 10\n", NULL}, /* the last counts */
		{"sweep_interval ten\n", "sweep_interval 10\n", NULL},			 /* not taken */
		{"sm_priority 300\n", "sm_priority 1\n", NULL},				 /* nor this: 8 bits */
		{"sweep_interval 11\n", "", "sweep_interval"},
		{"", "sweep_interval 10\n", NULL}, /* what is gone keeps its value */
		{"qos TRUE\n", "qos FALSE\n", "qos"},
		{"qos true\n", "qos FALSE\n", NULL}, /* is FALSE */
		{"qos yes\n", "qos TRUE\n", "qos"},
		{"log_prefix (null)\n", "log_prefix (null)\n", NULL},
		{"log_prefix (null)\n", "", NULL},
		{"log_prefix a\n", "log_prefix (null)\n", "log_prefix"},
		{"log_prefix a\n", "log_prefix b\n", "log_prefix"},
		{"qos_high_limit -1\n", "qos_high_limit -1\n", NULL},
		{"qos_high_limit 5\n", "qos_high_limit -1\n", "qos_high_limit"},
		{"qos_high_limit 05\n", "qos_high_limit 5\n", NULL},
		{"lmc 2\n", "lmc 0\n", NULL}, /* read at the start only */
		{"nonsense 2\n", "nonsense 0\n", NULL},
		{"cc_ca_cong_setting_ccti_timer 0 5\n", "cc_ca_cong_setting_ccti_timer 1 5\n", NULL},
		{"max_op_vls\n", "max_op_vls 5\n", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct opensm_conf *file, *running;
		struct opensm_conf_change *changes;
		size_t count;

		assert_int_equal(opensm_conf_parse(cases[i].file, strlen(cases[i].file), &file), 0);
		assert_int_equal(opensm_conf_parse(cases[i].running, strlen(cases[i].running), &running), 0);
		assert_int_equal(opensm_conf_changes(file, running, &changes, &count), 0);
		if (count != (cases[i].key != NULL) || (count && strcmp(changes[0].key, cases[i].key) != 0))
			fail_msg("case %zu: %zu changes", i, count);
		free(changes);
		opensm_conf_free(file);
		opensm_conf_free(running);
	}
}

static void test_secrets(void **state)
{
	struct opensm_conf *file, *running;
	struct opensm_conf_change *changes;
	size_t count;

	(void)state;
	assert_int_equal(opensm_conf_parse(BYTES("\nsm_key 0x1234\n"), &file), 0);
	assert_int_equal(opensm_conf_parse(BYTES("sm_key 0x0000000000000001\n"), &running), 0);
	assert_int_equal(opensm_conf_changes(file, running, &changes, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(changes[0].line, 2);
	assert_null(strstr(changes[0].file, "1234"));
	assert_null(strstr(changes[0].running, "1"));
	free(changes);
	opensm_conf_free(file);
	opensm_conf_free(running);
}

static void test_keys_of_options(void **state)
{
	static const char line[] = "opensm\0-s\0" "33\0--priority=5\0-eQ\0--debug\0" "2\0-Q\0--sm_sl\0" "1";
	static const char *const wanted[] = {"sweep_interval", "sm_priority", "accum_log_file", "qos", "ignore_other_sm",
					     "force_log_flush", "disable_multicast", "sm_sl"};
	struct opensm_arguments got;

	(void)state;
	opensm_arguments_read(line, sizeof(line), &got);
	assert_int_equal(got.key_count, sizeof(wanted) / sizeof(wanted[0]));
	for (unsigned i = 0; i < got.key_count; i++)
		assert_string_equal(got.keys[i], wanted[i]);
}

static void test_console_port(void **state)
{
	struct opensm_facts facts = {0};
	struct opensm_conf *conf, *other;

	(void)state;
	assert_int_equal(opensm_conf_parse(BYTES("console loopback\n"), &conf), 0);
	assert_int_equal(opensm_conf_parse(BYTES("console off\nconsole_port 1234\n"), &other), 0);
	assert_int_equal(opensm_console_port(&facts, NULL), 0);
	assert_int_equal(opensm_console_port(&facts, conf), 10000);
	assert_int_equal(opensm_console_port(&facts, other), 0);
	facts.console = (char *)"loopback"; /* -q goes before the file */
	assert_int_equal(opensm_console_port(&facts, other), 1234);
	facts.console_port = 99;
	assert_int_equal(opensm_console_port(&facts, other), 99);
	facts.console = (char *)"local";
	assert_int_equal(opensm_console_port(&facts, conf), 0);
	opensm_conf_free(conf);
	opensm_conf_free(other);
}

/* --- prefix routes --- */

static void test_prefix_routes(void **state)
{
	static const char text[] = "# c\n\n* *\nfe80 0x1234 # c\nfe80\nxyz 1\n1 2g\n1 2#c\n1 2 3";
	static const unsigned wanted[] = {5, 6, 7};
	struct finding_list found = {0};
	char many[64 * 4];

	(void)state;
	opensm_prefix_routes_lint("f", text, strlen(text), &found);
	assert_int_equal(found.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(found.items[i].code, FINDING_OPENSM_PREFIX_ROUTE);
		assert_int_equal(found.items[i].line, wanted[i]);
	}
	finding_list_clear(&found);
	for (size_t i = 0; i < 64; i++)
		memcpy(many + 4 * i, "1 x\n", 4);
	opensm_prefix_routes_lint("f", many, sizeof(many), &found);
	assert_int_equal(found.count, 11); /* OpenSM gives up */
	finding_list_clear(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),	cmocka_unit_test(test_flavours),
		cmocka_unit_test(test_units),		cmocka_unit_test(test_log),
		cmocka_unit_test(test_status),		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_secrets),		cmocka_unit_test(test_keys_of_options),
		cmocka_unit_test(test_console_port),	cmocka_unit_test(test_prefix_routes),
	};

	return cmocka_run_group_tests_name("opensm-facts", tests, NULL, NULL);
}
