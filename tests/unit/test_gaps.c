/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Gaps of a discovery as findings: what did not answer, and where to go and look. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "ibqos/check.h"
#include "images.h"

/*
 * host[1] - leaf[1], leaf[2] - spine[1]. leaf[3] is up and nothing answers behind it; spine gave no
 * SwitchInfo, no description and not the PortInfo of port 2.
 */
static struct fabric *make_fabric(void)
{
	const struct mad_route here = {.hops = 0}, to_leaf = {.hops = 1, .port = {0, 1}};
	const struct mad_route to_spine = {.hops = 2, .port = {0, 1, 2}};
	struct fabric *fabric = fabric_new("");
	uint8_t node_info[MAD_SMP_DATA], switch_info[MAD_SMP_DATA], desc[MAD_SMP_DATA], info[MAD_SMP_DATA];
	const struct image_port down = {.state = FABRIC_STATE_DOWN, .phys_state = 2};
	uint32_t host, leaf, spine;

	assert_non_null(fabric);
	image_switch_info(switch_info, false);
	image_node_info(node_info, FABRIC_CA, 0x30, 1, 1);
	image_node_desc(desc, "host");
	host = fabric_add_node(fabric, node_info, NULL, desc, &here);
	image_node_info(node_info, FABRIC_SWITCH, 0x10, 4, 0);
	image_node_desc(desc, "leaf");
	leaf = fabric_add_node(fabric, node_info, switch_info, desc, &to_leaf);
	image_node_info(node_info, FABRIC_SWITCH, 0x20, 2, 0);
	spine = fabric_add_node(fabric, node_info, NULL, NULL, &to_spine);
	image_port_info(info, &(struct image_port){.lid = 1});
	assert_int_equal(fabric_port_seen(fabric, host, 1, 0, info, NULL), 0);
	assert_int_equal(fabric_port_seen(fabric, leaf, 0, 0, info, NULL), 0);
	assert_int_equal(fabric_port_seen(fabric, spine, 0, 0, info, NULL), 0);
	for (unsigned n = 1; n <= 3; n++)
		assert_int_equal(fabric_port_seen(fabric, leaf, n, 0, info, NULL), 0);
	assert_int_equal(fabric_port_seen(fabric, spine, 1, 0, info, NULL), 0);
	image_port_info(info, &down);
	assert_int_equal(fabric_port_seen(fabric, leaf, 4, 0, info, NULL), 0);
	assert_int_equal(fabric_link(fabric, host, 1, leaf, 1), 0);
	assert_int_equal(fabric_link(fabric, leaf, 2, spine, 1), 0);
	fabric->from_node = host;
	fabric->from_port = 1;
	assert_int_equal(fabric_finish(fabric), 0);
	return fabric;
}

static void assert_finding(const struct finding *f, enum finding_code code, uint64_t guid, int port,
			   const char *what)
{
	assert_int_equal(f->code, code);
	assert_int_equal(f->severity, FINDING_UNKNOWN);
	assert_int_equal(f->guid, guid);
	assert_int_equal(f->port, port);
	assert_string_equal(f->what, what);
}

static void test_each_gap_is_a_finding(void **state)
{
	struct fabric *fabric = make_fabric();
	struct finding_list findings = {0};

	(void)state;
	assert_int_equal(fabric->gap_count, 4);
	check_gaps(fabric, &findings);
	finding_list_sort(&findings);
	assert_int_equal(findings.count, 4);
	assert_finding(&findings.items[0], FINDING_NO_ANSWER, 0x10, 3, "device behind this port");
	assert_string_equal(findings.items[0].name, "leaf");
	assert_int_equal(findings.items[0].peer_guid, 0);
	assert_finding(&findings.items[1], FINDING_PORT_INFO_MISSING, 0x20, 2, "PortInfo");
	assert_finding(&findings.items[2], FINDING_NODE_INFO_INCOMPLETE, 0x20, FINDING_WHOLE_NODE,
		       "NodeDescription");
	/* named by the port before it, which is all that there is to go by */
	assert_int_equal(findings.items[2].peer_guid, 0x10);
	assert_int_equal(findings.items[2].peer_port, 2);
	assert_string_equal(findings.items[2].peer_name, "leaf");
	assert_finding(&findings.items[3], FINDING_NODE_INFO_INCOMPLETE, 0x20, FINDING_WHOLE_NODE,
		       "SwitchInfo");
	assert_int_equal(finding_exit(&findings), IBQOS_EXIT_UNKNOWN);
	finding_list_clear(&findings);
	fabric_free(fabric);
}

/* What only the one who looked knows. */
static void test_what_was_noted(void **state)
{
	struct finding_list findings = {0};
	struct fabric *fabric = fabric_new("");
	uint32_t leaf, host, spine;

	(void)state;
	assert_non_null(fabric);
	leaf = image_add_switch(fabric, "leaf", 0x10, 4, 1);
	spine = image_add_switch(fabric, "spine", 0x20, 4, 3);
	host = image_add_host(fabric, "host", 0x30, 2);
	image_link(fabric, leaf, 1, host, 1, NULL);
	image_link(fabric, leaf, 2, spine, 2, NULL);
	image_link(fabric, leaf, 3, leaf, 4, NULL);
	fabric->ports[fabric_node_port(fabric, leaf, 3)].peer = FABRIC_NONE;
	fabric->ports[fabric_node_port(fabric, leaf, 4)].peer = FABRIC_NONE;
	assert_int_equal(fabric_port_note(fabric, leaf, 3, FABRIC_GAP_PEER_BAD), 0);
	assert_int_equal(fabric_port_note(fabric, leaf, 1, FABRIC_GAP_PEER_BAD), 0); /* but it has a peer */
	assert_int_equal(fabric_port_note(fabric, leaf, 5, FABRIC_GAP_PEER_BAD), -EINVAL);
	assert_int_equal(fabric_port_note(fabric, spine, 2, FABRIC_GAP_NO_EXT_INFO), 0);
	assert_int_equal(fabric_relink(fabric, leaf, 2, spine, 2), 0); /* the same */
	assert_int_equal(fabric_relink(fabric, leaf, 4, spine, 2), 0); /* another: leaf's port 2 has none now */
	assert_int_equal(fabric_finish(fabric), 0);
	check_gaps(fabric, &findings);
	finding_list_sort(&findings);
	assert_int_equal(findings.count, 5);
	assert_finding(&findings.items[0], FINDING_NODE_INFO_BAD, 0x10, 3, "device behind this port");
	assert_finding(&findings.items[1], FINDING_PEER_CHANGED, 0x10, 2, "device behind this port");
	assert_finding(&findings.items[2], FINDING_PEER_CHANGED, 0x10, 4, "device behind this port");
	assert_finding(&findings.items[3], FINDING_PEER_CHANGED, 0x20, 2, "device behind this port");
	assert_finding(&findings.items[4], FINDING_SPEED_UNANSWERED, 0x20, 2, "vendor's ExtendedPortInfo");
	assert_int_equal(finding_exit(&findings), IBQOS_EXIT_UNKNOWN);
	finding_list_clear(&findings);
	fabric_free(fabric);
}

static void test_no_gap_no_finding(void **state)
{
	struct finding_list findings = {0};
	struct fabric *fabric = fabric_new("");
	uint32_t leaf, host;

	(void)state;
	assert_non_null(fabric);
	leaf = image_add_switch(fabric, "leaf", 0x10, 4, 1);
	host = image_add_host(fabric, "host", 0x30, 2);
	image_link(fabric, leaf, 1, host, 1, NULL);
	assert_int_equal(fabric_finish(fabric), 0);
	check_gaps(fabric, &findings);
	assert_int_equal(findings.count, 0);
	fabric_free(fabric);
}

/* A way that cannot be followed names nobody rather than somebody wrong. */
static void test_route_not_known(void **state)
{
	struct finding_list findings = {0};
	struct fabric *fabric = make_fabric();

	(void)state;
	fabric->from_node = FABRIC_NONE;
	check_gaps(fabric, &findings);
	finding_list_sort(&findings);
	assert_int_equal(findings.items[3].peer_guid, 0);
	assert_null(findings.items[3].peer_name);
	finding_list_clear(&findings);

	fabric->from_node = fabric_find_node(fabric, 0x30);
	fabric->nodes[fabric_find_node(fabric, 0x20)].route.port[2] = 4; /* leads nowhere */
	check_gaps(fabric, &findings);
	finding_list_sort(&findings);
	assert_int_equal(findings.items[3].peer_guid, 0);
	finding_list_clear(&findings);

	fabric->nodes[fabric_find_node(fabric, 0x20)].route.port[2] = 1; /* leads back to the host */
	check_gaps(fabric, &findings);
	finding_list_sort(&findings);
	assert_int_equal(findings.items[3].peer_guid, 0);
	finding_list_clear(&findings);
	fabric_free(fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_gap_is_a_finding),
		cmocka_unit_test(test_what_was_noted),
		cmocka_unit_test(test_no_gap_no_finding),
		cmocka_unit_test(test_route_not_known),
	};

	return cmocka_run_group_tests_name("gaps", tests, NULL, NULL);
}
