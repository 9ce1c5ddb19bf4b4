/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The site file: what is read of it, defaults, and every fault with its place. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "ibqos/site.h"

static struct site *parse(const char *text, struct finding_list *findings)
{
	struct site *site;

	assert_int_equal(site_parse("s.yaml", text, strlen(text), findings, &site), 0);
	assert_int_equal(site == NULL, findings->count > 0);
	return site;
}

static void reads_all(void **state)
{
	struct finding_list findings = {0};
	struct site *site = parse("version: 1\nname: c7\n"
				  "defaults: {policy: /p.yaml, state: '/s/{fabric}/{fabric}.state', via: [ssh, 'm-{fabric}'], timeout: 60,\n"
				  "           opensm: {config: '/o/{fabric}.conf', host: mgmt}}\n"
				  "fabrics:\n"
				  "  - {name: rail0, port: {ca: mlx5_0, port: 2}}\n"
				  "  - {name: rail1, port: {guid: 0x0c42a10300000011}, policy: /own.yaml, timeout: 7, via: env,\n"
				  "     opensm: {host: other}, program: /bin/ibqos, history: '/h/{fabric}'}\n",
				  &findings);
	const struct site_fabric *f = &site->fabrics[0];

	(void)state;
	assert_string_equal(site->name, "c7");
	assert_int_equal(site->count, 2);
	assert_string_equal(f->name, "rail0");
	assert_string_equal(f->ca, "mlx5_0");
	assert_int_equal(f->port, 2);
	assert_int_equal(f->line, 6);
	assert_string_equal(f->policy, "/p.yaml");
	assert_string_equal(f->state, "/s/rail0/rail0.state");
	assert_int_equal(f->via_count, 2);
	assert_string_equal(f->via[1], "m-rail0");
	assert_string_equal(f->opensm_config, "/o/rail0.conf");
	assert_string_equal(f->opensm_host, "mgmt");
	assert_int_equal(f->timeout_s, 60);
	assert_null(f->history);
	f = site_find(site, "rail1");
	assert_true(f->port_guid == 0x0c42a10300000011 && !f->ca && f->port == 0);
	assert_string_equal(f->policy, "/own.yaml");
	assert_string_equal(f->opensm_config, "/o/rail1.conf");
	assert_string_equal(f->opensm_host, "other");
	assert_int_equal(f->via_count, 1);
	assert_string_equal(f->via[0], "env");
	assert_string_equal(f->history, "/h/rail1");
	assert_int_equal(f->timeout_s, 7);
	assert_null(site_find(site, "rail2"));
	site_free(site);
}

static void takes_ports_of_the_host(void **state)
{
	struct finding_list findings = {0};
	struct site *site = parse("version: 1\nall_active_ports: true\ndefaults: {state: '/s/{fabric}'}\n", &findings);

	(void)state;
	assert_int_equal(site->count, 0);
	assert_true(site->all_active_ports);
	for (unsigned i = 0; i < SITE_FABRICS_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "mlx5_%u-1", i);
		assert_int_equal(site_add_port(site, name, "mlx5_x", 1), 0);
		assert_int_equal(site_add_port(site, name, "mlx5_x", 1), -EEXIST);
	}
	assert_int_equal(site_add_port(site, "more", "mlx5_x", 1), -ENOSPC);
	assert_string_equal(site->fabrics[3].state, "/s/mlx5_3-1");
	assert_int_equal(site->fabrics[3].timeout_s, SITE_TIMEOUT_S);
	assert_int_equal(site->fabrics[3].line, 0);
	site_free(site);
}

/* All faults in one run, each at its place. */
static void tells_faults(void **state)
{
	static const struct {
		unsigned line, column;
		const char *what, *detail;
	} wanted[] = {
		{1, 10, "key 'version'", "value out of range"},
		{2, 1, "fabric", "unknown key; did you mean 'fabrics'?"},
		{4, 5, "key 'name'", "required key is missing"},
		{5, 11, "port", "keys that exclude or need each other"},
		{6, 13, "key 'policy'", "value out of range"},
	};
	struct finding_list findings = {0};

	(void)state;
	parse("version: 2\n"
	      "fabric: []\n"
	      "fabrics:\n"
	      "  - timeout: 3\n"
	      "    port: {ca: x, guid: 1}\n"
	      "    policy: relative.yaml\n"
	      "  - {name: b, port: {ca: mlx5_0}, state: /s}\n",
	      &findings);
	assert_int_equal(findings.count, 5);
	for (size_t i = 0; i < findings.count; i++) {
		const struct finding *f = NULL;

		for (size_t n = 0; n < findings.count; n++)
			if (findings.items[n].line == wanted[i].line)
				f = &findings.items[n];
		assert_non_null(f);
		assert_int_equal(f->code, FINDING_SITE_FAULT);
		assert_int_equal(f->column, wanted[i].column);
		assert_string_equal(f->what, wanted[i].what);
		assert_string_equal(f->detail, wanted[i].detail);
	}
	finding_list_clear(&findings);
}

static void tells_what_fabrics_share(void **state)
{
	struct finding_list findings = {0};

	(void)state;
	parse("version: 1\ndefaults: {state: /s, policy: /p}\nfabrics:\n"
	      "  - {name: a, port: {ca: mlx5_0, port: 1}}\n"
	      "  - {name: b, port: {ca: mlx5_0, port: 1}, state: /t}\n"
	      "  - {name: c, port: {ca: mlx5_0, port: 1}, via: [ssh, other]}\n"
	      "  - {name: a, port: {ca: mlx5_1}, state: /u}\n"
	      "  - {name: e, port: {ca: mlx5_2}}\n",
	      &findings);
	assert_int_equal(findings.count, 3);
	assert_string_equal(findings.items[0].what, "port of fabric 'b'");
	assert_int_equal(findings.items[0].line, 5);
	assert_string_equal(findings.items[1].what, "fabric 'a'");
	assert_int_equal(findings.items[1].line, 7);
	assert_string_equal(findings.items[2].what, "key 'state' of fabric 'e'");
	assert_string_equal(findings.items[2].detail, "keys that exclude or need each other; as fabric 'a' at line 4");
	finding_list_clear(&findings);
}

static void tells_what_is_no_site(void **state)
{
	static const struct {
		const char *text;
		enum finding_code code;
	} cases[] = {
		{"", FINDING_SITE_SYNTAX},
		{"version: [1", FINDING_SITE_SYNTAX},
		{"- 1", FINDING_SITE_FAULT},
		{"version: 1", FINDING_SITE_FAULT},
		{"version: 1\nfabrics: []", FINDING_SITE_FAULT},
		{"version: 1\nall_active_ports: false", FINDING_SITE_FAULT},
		{"version: 1\nall_active_ports: true\ndefaults: {}", FINDING_SITE_FAULT},
		{"version: 1\nall_active_ports: true\ndefaults: {name: x}", FINDING_SITE_FAULT},
		{"version: 1\nfabrics: [{name: a, via: []}]", FINDING_SITE_FAULT},
		{"version: 1\nfabrics: [{name: a, opensm: {}}]", FINDING_SITE_FAULT},
		{"version: 1\nfabrics: [{name: a, name: b}]", FINDING_SITE_FAULT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct finding_list findings = {0};

		parse(cases[i].text, &findings);
		assert_int_equal(findings.items[0].code, cases[i].code);
		for (size_t n = 0; n < findings.count; n++)
			assert_true(findings.items[n].line > 0 && findings.items[n].column > 0);
		finding_list_clear(&findings);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_all),
		cmocka_unit_test(takes_ports_of_the_host),
		cmocka_unit_test(tells_faults),
		cmocka_unit_test(tells_what_fabrics_share),
		cmocka_unit_test(tells_what_is_no_site),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
