/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The part of a fabric that a user names: what a name means, what lies at the other end, what is not there, what is told. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ibqos/check.h"
#include "images.h"

#define HOST(n) (0x100u * (n)) /* node GUID; its port's is one more */
#define LEAF 0x10
#define SPINE 0x20

/* Hosts 1..5 at ports 1..5 of leaf, whose port 6 leads to port 1 of spine. */
static struct fabric *make_fabric(void)
{
	static const char *const names[] = {"gpu-1 mlx5_0", "gpu-1 mlx5_1", "gpu-10 mlx5_0", "gpu-2/U1", "oss"};
	struct fabric *fabric = fabric_new("");
	uint32_t leaf = image_add_switch(fabric, "leaf", LEAF, 6, 1), spine = image_add_switch(fabric, "spine", SPINE, 2, 2);

	for (unsigned n = 1; n <= 5; n++)
		image_link(fabric, image_add_host(fabric, names[n - 1], HOST(n), 10 + n), 1, leaf, n, NULL);
	image_link(fabric, leaf, 6, spine, 1, NULL);
	assert_int_equal(fabric_finish(fabric), 0);
	return fabric;
}

static uint32_t port_of(const struct fabric *fabric, uint64_t guid, unsigned number)
{
	return fabric_node_port(fabric, fabric_find_node(fabric, guid), number);
}

/* Makes a scope of one name; returns how many nodes it has. */
static uint32_t make(const struct fabric *fabric, enum scope_kind kind, const char *text, struct scope *scope,
		     struct finding_list *findings)
{
	const struct scope_name name = {kind, text};

	finding_list_clear(findings);
	assert_int_equal(scope_make(fabric, &name, 1, findings, scope), 0);
	return scope->nodes;
}

static void test_what_names_mean(void **state)
{
	static const struct {
		enum scope_kind kind;
		const char *text;
		uint32_t nodes;
	} cases[] = {
		{SCOPE_HOSTS, "gpu-1", 2}, /* each adapter of the host, and not of gpu-10 */
		{SCOPE_HOSTS, "gpu-10", 1},
		{SCOPE_HOSTS, "gpu-2", 1},
		{SCOPE_HOSTS, "oss", 1},
		{SCOPE_HOSTS, "gpu-[1-2,10]", 4},
		{SCOPE_HOSTS, "gpu-1 mlx5_0", 1},
		{SCOPE_HOSTS, "leaf", 0}, /* no host */
		{SCOPE_HOSTS, "gpu", 0},
		{SCOPE_HOSTS, "0x100", 0},
		{SCOPE_NODE, "gpu-1 mlx5_0", 1},
		{SCOPE_NODE, "gpu-1", 0}, /* no node is called so */
		{SCOPE_NODE, "leaf", 1},
		{SCOPE_NODE, "0x100", 1}, /* a node's GUID, */
		{SCOPE_NODE, "0x101", 1}, /* a port's */
		{SCOPE_NODE, "0x0", 0},
		{SCOPE_NODE, "256", 0}, /* a GUID begins with 0x */
		{SCOPE_NODE, "0x100x", 0},
		{SCOPE_SWITCH, "leaf", 1},
		{SCOPE_SWITCH, "0x20", 1},
		{SCOPE_SWITCH, "oss", 0},
		{SCOPE_SWITCH, "0x100", 0},
	};
	struct fabric *fabric = make_fabric();
	struct finding_list findings = {0};
	struct scope scope;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t nodes = make(fabric, cases[i].kind, cases[i].text, &scope, &findings);

		if (nodes != cases[i].nodes)
			fail_msg("'%s': %u nodes, not %u", cases[i].text, nodes, cases[i].nodes);
		/* nothing that is missing is missed in silence */
		assert_int_equal(finding_count_code(&findings, FINDING_SCOPE_UNKNOWN), nodes == 0);
		assert_int_equal(finding_exit(&findings), nodes ? IBQOS_EXIT_CLEAN : IBQOS_EXIT_UNKNOWN);
		scope_clear(&scope);
	}
	finding_list_clear(&findings);
	fabric_free(fabric);
}

static void test_ports_and_their_other_ends(void **state)
{
	struct fabric *fabric = make_fabric();
	struct finding_list findings = {0};
	struct scope scope;

	(void)state;
	make(fabric, SCOPE_HOSTS, "gpu-1", &scope, &findings);
	assert_int_equal(scope.port_count, 2);
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		bool in = i == port_of(fabric, HOST(1), 1) || i == port_of(fabric, HOST(2), 1) || i == port_of(fabric, LEAF, 1) ||
			  i == port_of(fabric, LEAF, 2) || i == port_of(fabric, HOST(1), 0) || i == port_of(fabric, HOST(2), 0);

		assert_int_equal(scope_has(&scope, i), in);
		assert_true(scope_has(NULL, i)); /* no scope is all of it */
	}
	scope_clear(&scope);
	make(fabric, SCOPE_SWITCH, "spine", &scope, &findings);
	assert_true(scope_has(&scope, port_of(fabric, SPINE, 0)));
	assert_true(scope_has(&scope, port_of(fabric, LEAF, 6)));
	assert_false(scope_has(&scope, port_of(fabric, LEAF, 0)));
	assert_false(scope_has(&scope, port_of(fabric, LEAF, 5)));
	scope_clear(&scope);
	finding_list_clear(&findings);
	fabric_free(fabric);
}

/* The same node named twice is one; a name that is not there leaves the others. */
static void test_several_names(void **state)
{
	const struct scope_name names[] = {{SCOPE_NODE, "oss"}, {SCOPE_NODE, "0x500"}, {SCOPE_HOSTS, "os"}, {SCOPE_HOSTS, "x[2-1]"},
					   {SCOPE_SWITCH, "spine"}};
	struct fabric *fabric = make_fabric();
	struct finding_list findings = {0};
	struct scope scope;

	(void)state;
	assert_int_equal(scope_make(fabric, names, 5, &findings, &scope), 0);
	assert_int_equal(scope.nodes, 2);
	assert_int_equal(findings.count, 2);
	assert_int_equal(findings.items[0].code, FINDING_SCOPE_UNKNOWN);
	assert_string_equal(findings.items[0].what, "host 'os'");
	assert_string_equal(findings.items[0].detail, "closest: 'oss'");
	assert_int_equal(findings.items[1].code, FINDING_SCOPE_BAD);
	scope_clear(&scope);
	finding_list_clear(&findings);
	fabric_free(fabric);
}

static void add_at(struct finding_list *findings, uint64_t guid, int port, uint64_t peer, int peer_port)
{
	struct finding *f = finding_add(findings, FINDING_QUERY_FAILED);

	f->guid = guid;
	f->port = port;
	f->peer_guid = peer;
	f->peer_port = peer_port;
}

/* Findings outside go; those at either end inside, of a node with a port inside, and of no place stay. */
static void test_findings_outside_go(void **state)
{
	static const struct {
		uint64_t guid;
		int port;
		uint64_t peer;
		int peer_port;
		bool stays;
	} cases[] = {
		{0, FINDING_WHOLE_NODE, 0, FINDING_WHOLE_NODE, true},
		{HOST(1), 1, 0, FINDING_WHOLE_NODE, true},
		{HOST(1), FINDING_WHOLE_NODE, 0, FINDING_WHOLE_NODE, true},
		{LEAF, 1, 0, FINDING_WHOLE_NODE, true},
		{LEAF, FINDING_WHOLE_NODE, 0, FINDING_WHOLE_NODE, true}, /* the switch before the host */
		{LEAF, 3, 0, FINDING_WHOLE_NODE, false},
		{LEAF, 3, HOST(1), 1, true},
		{SPINE, FINDING_WHOLE_NODE, 0, FINDING_WHOLE_NODE, false},
		{SPINE, FINDING_WHOLE_NODE, LEAF, 6, false},
		{0x9999, 1, 0, FINDING_WHOLE_NODE, false},
		{LEAF, 99, 0, FINDING_WHOLE_NODE, false},
	};
	size_t count = sizeof(cases) / sizeof(cases[0]), at = 0;
	struct fabric *fabric = make_fabric();
	struct finding_list findings = {0};
	struct scope scope;

	(void)state;
	make(fabric, SCOPE_NODE, "gpu-1 mlx5_0", &scope, &findings);
	for (size_t i = 0; i < count; i++)
		add_at(&findings, cases[i].guid, cases[i].port, cases[i].peer, cases[i].peer_port);
	scope_filter(NULL, fabric, &findings);
	assert_int_equal(findings.count, count);
	scope_filter(&scope, fabric, &findings);
	for (size_t i = 0; i < count; i++) {
		if (!cases[i].stays)
			continue;
		assert_true(at < findings.count);
		assert_int_equal(findings.items[at].guid, cases[i].guid);
		assert_int_equal(findings.items[at++].port, cases[i].port);
	}
	assert_int_equal(findings.count, at);
	scope_clear(&scope);
	finding_list_clear(&findings);
	fabric_free(fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_names_mean),
		cmocka_unit_test(test_ports_and_their_other_ends),
		cmocka_unit_test(test_several_names),
		cmocka_unit_test(test_findings_outside_go),
	};

	return cmocka_run_group_tests_name("scope", tests, NULL, NULL);
}
