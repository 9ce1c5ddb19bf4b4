/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Building a fabric: order, duplicates, links, gaps, size. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "images.h"

static struct fabric *make(void)
{
	struct fabric *fabric = fabric_new("train");

	assert_non_null(fabric);
	return fabric;
}

static void port_info(uint8_t *info, unsigned state, unsigned phys, unsigned lid)
{
	image_port_info(info, &(struct image_port){.state = state, .phys_state = phys, .lid = lid});
}

static bool has_gap(const struct fabric *f, enum fabric_gap_reason reason, uint64_t guid, unsigned number)
{
	for (uint32_t i = 0; i < f->gap_count; i++) {
		const struct fabric_port *port = &f->ports[f->gaps[i].port];

		if (f->gaps[i].reason == reason && f->nodes[port->node].guid == guid &&
		    port->number == number)
			return true;
	}
	return false;
}

static uint32_t port_at(const struct fabric *f, uint64_t guid, unsigned number)
{
	uint32_t port = fabric_node_port(f, fabric_find_node(f, guid), number);

	assert_int_not_equal(port, FABRIC_NONE);
	return port;
}

static void empty_fabric(void **state)
{
	struct fabric *f = make();

	(void)state;
	assert_string_equal(f->label, "train");
	assert_int_equal(f->from_node, FABRIC_NONE);
	assert_int_equal(fabric_finish(f), 0);
	assert_int_equal(f->node_count + f->port_count + f->link_count + f->gap_count, 0);
	assert_int_equal(fabric_find_node(f, 1), FABRIC_NONE);
	assert_int_equal(fabric_node_port(f, 0, 0), FABRIC_NONE);
	fabric_free(f);
	fabric_free(NULL);
	f = fabric_new(NULL);
	assert_string_equal(f->label, "");
	fabric_free(f);
}

static void nodes_are_sorted_and_links_follow(void **state)
{
	static const uint64_t orders[][3] = {{0x10, 0x20, 0x30}, {0x30, 0x10, 0x20}, {0x20, 0x30, 0x10}};

	(void)state;
	for (unsigned o = 0; o < 3; o++) {
		struct fabric *f = make();
		uint32_t leaf = 0, h1 = 0, h2 = 0;

		for (unsigned i = 0; i < 3; i++) {
			if (orders[o][i] == 0x20)
				leaf = image_add_switch(f, "leaf", 0x20, 4, 7);
			else if (orders[o][i] == 0x10)
				h1 = image_add_host(f, "h1", 0x10, 1);
			else
				h2 = image_add_host(f, "h2", 0x30, 2);
		}
		image_link(f, leaf, 3, h1, 1, NULL);
		image_link(f, h2, 1, leaf, 1, NULL);
		f->from_node = h2;
		f->from_port = 1;
		assert_int_equal(fabric_finish(f), 0);
		assert_int_equal(f->node_count, 3);
		assert_int_equal(f->port_count, 2 + 5 + 2);
		assert_string_equal(f->nodes[0].name, "h1");
		assert_string_equal(f->nodes[1].name, "leaf");
		assert_string_equal(f->nodes[2].name, "h2");
		assert_int_equal(f->nodes[0].first_port, 0);
		assert_int_equal(f->nodes[1].first_port, 2);
		assert_int_equal(f->nodes[2].first_port, 7);
		assert_int_equal(f->from_node, 2);
		assert_int_equal(f->nodes[1].lid, 7);
		assert_int_equal(f->nodes[0].lid, 0);
		assert_int_equal(f->nodes[1].system_guid, 0xf000000000000020);
		assert_int_equal(f->nodes[1].vendor, 0x02c9);
		assert_int_equal(f->nodes[1].device, 0xcb20);
		assert_true(f->nodes[1].has_switch_info);
		for (uint32_t i = 0; i < f->port_count; i++) {
			const struct fabric_node *node = fabric_port_node(f, i);

			assert_int_equal(i, node->first_port + f->ports[i].number);
			assert_true(f->ports[i].peer == FABRIC_NONE || f->ports[f->ports[i].peer].peer == i);
		}
		assert_int_equal(f->link_count, 2);
		assert_int_equal(f->links[0].a, 1); /* h1[1] */
		assert_int_equal(f->links[0].b, 5); /* leaf[3] */
		assert_int_equal(f->links[1].a, 3); /* leaf[1] */
		assert_int_equal(f->links[1].b, 8); /* h2[1] */
		assert_int_equal(f->ports[5].guid, 0x20);
		assert_int_equal(f->ports[1].guid, 0x11);
		assert_int_equal(f->ports[0].guid, 0);
		assert_false(f->ports[0].known);
		assert_int_equal(f->gap_count, 0);
		assert_int_equal(fabric_find_node(f, 0x20), 1);
		assert_int_equal(fabric_find_node(f, 0x21), FABRIC_NONE);
		assert_int_equal(fabric_find_node(f, 0x31), FABRIC_NONE);
		assert_int_equal(fabric_node_port(f, 1, 4), 6);
		assert_int_equal(fabric_node_port(f, 1, 5), FABRIC_NONE);
		fabric_free(f);
	}
}

static void impossible_nodes_are_refused(void **state)
{
	struct fabric *f = make();
	uint8_t info[MAD_SMP_DATA];

	(void)state;
	image_node_info(info, FABRIC_CA, 0, 1, 1);
	assert_int_equal(fabric_add_node(f, info, NULL, NULL, NULL), FABRIC_NONE);
	image_node_info(info, 4, 0x10, 1, 1);
	assert_int_equal(fabric_add_node(f, info, NULL, NULL, NULL), FABRIC_NONE);
	image_node_info(info, 0, 0x10, 1, 1);
	assert_int_equal(fabric_add_node(f, info, NULL, NULL, NULL), FABRIC_NONE);
	assert_int_equal(f->node_count, 0);
	f->from_node = 0; /* none such */
	assert_int_equal(fabric_finish(f), -EINVAL);
	f->from_node = FABRIC_NONE;
	assert_int_equal(fabric_finish(f), 0);
	assert_int_equal(fabric_finish(f), -EINVAL);
	image_node_info(info, FABRIC_CA, 0x10, 1, 1);
	assert_int_equal(fabric_add_node(f, info, NULL, NULL, NULL), FABRIC_NONE);
	fabric_free(f);
}

static void same_guid_is_same_node(void **state)
{
	struct fabric *f = make();
	uint8_t info[MAD_SMP_DATA], desc[MAD_SMP_DATA], si[MAD_SMP_DATA], zero[MAD_SMP_DATA] = {0};
	struct mad_route first = {.hops = 2, .port = {0, 1, 9}}, second = {.hops = 1, .port = {0, 2}};
	uint32_t node, sw;

	(void)state;
	image_node_info(info, FABRIC_CA, 0x10, 2, 1);
	node = fabric_add_node(f, info, NULL, zero, &first);
	assert_int_equal(node, 0);
	image_node_info(info, FABRIC_SWITCH, 0x20, 4, 3);
	sw = fabric_add_node(f, info, zero, NULL, &first);
	image_node_info(info, FABRIC_CA, 0x10, 2, 2);
	image_node_desc(desc, "host-1 HCA-1");
	assert_int_equal(fabric_add_node(f, info, NULL, desc, &second), node);
	image_node_info(info, FABRIC_SWITCH, 0x20, 4, 1);
	image_switch_info(si, true);
	assert_int_equal(fabric_add_node(f, info, si, NULL, &second), sw);
	assert_int_equal(f->node_count, 2);
	assert_int_equal(f->port_count, 3 + 5);
	assert_int_equal(fabric_finish(f), 0);
	assert_string_equal(f->nodes[0].name, "host-1 HCA-1");
	assert_int_equal(f->nodes[0].route.hops, 2); /* the first NodeInfo and its route belong together */
	assert_int_equal(f->nodes[0].node_info[36], 1);
	assert_true(f->nodes[1].has_switch_info);
	assert_true(f->nodes[1].enhanced_port0);
	assert_true(has_gap(f, FABRIC_GAP_NO_NODE_DESC, 0x20, 0));
	assert_false(has_gap(f, FABRIC_GAP_NO_NODE_DESC, 0x10, 0));
	assert_string_equal(f->nodes[1].name, "0x0000000000000020");
	fabric_free(f);
}

static void ports_out_of_range(void **state)
{
	struct fabric *f = make();
	uint8_t info[MAD_SMP_DATA];
	uint32_t host = image_add_host(f, "h", 0x10, 1), sw = image_add_switch(f, "s", 0x20, 2, 2);

	(void)state;
	port_info(info, 0, 0, 1);
	assert_int_equal(fabric_port_seen(f, host, 0, 0, info, NULL), -EINVAL); /* an adapter has no port 0 */
	assert_int_equal(fabric_port_seen(f, host, 2, 0, info, NULL), -EINVAL);
	assert_int_equal(fabric_port_seen(f, sw, 3, 0, info, NULL), -EINVAL);
	assert_int_equal(fabric_port_seen(f, 2, 1, 0, info, NULL), -EINVAL);
	assert_int_equal(fabric_link(f, host, 1, sw, 3), -EINVAL);
	assert_int_equal(fabric_link(f, host, 0, sw, 1), -EINVAL);
	assert_int_equal(fabric_link(f, host, 1, sw, 0), -EINVAL);
	assert_int_equal(fabric_link(f, host, 1, 2, 1), -EINVAL);
	assert_int_equal(fabric_finish(f), 0);
	assert_int_equal(f->link_count, 0);
	assert_int_equal(fabric_link(f, 0, 1, 1, 1), -EINVAL); /* too late */
	fabric_free(f);
}

static void links_twice_to_itself_and_conflicting(void **state)
{
	struct fabric *f = make();
	uint32_t sw = image_add_switch(f, "s", 0x20, 8, 2), h = image_add_host(f, "h", 0x10, 1),
		 g = image_add_host(f, "g", 0x30, 3);

	(void)state;
	image_link(f, sw, 1, h, 1, NULL);
	assert_int_equal(fabric_link(f, h, 1, sw, 1), 0); /* from the other end */
	assert_int_equal(fabric_link(f, sw, 1, h, 1), 0);
	image_link(f, sw, 3, sw, 4, NULL); /* cabled to its own switch */
	image_link(f, sw, 5, sw, 5, NULL); /* loopback plug */
	assert_int_equal(fabric_link(f, sw, 5, sw, 5), 0);
	assert_int_equal(fabric_link(f, g, 1, sw, 1), -EEXIST);
	assert_int_equal(fabric_link(f, sw, 6, h, 1), -EEXIST);
	assert_int_equal(fabric_link(f, sw, 3, sw, 5), -EEXIST);
	assert_int_equal(fabric_finish(f), 0);
	assert_int_equal(f->link_count, 3);
	assert_int_equal(f->ports[port_at(f, 0x20, 1)].peer, port_at(f, 0x10, 1));
	assert_int_equal(f->ports[port_at(f, 0x10, 1)].peer, port_at(f, 0x20, 1));
	assert_int_equal(f->ports[port_at(f, 0x20, 3)].peer, port_at(f, 0x20, 4));
	assert_int_equal(f->ports[port_at(f, 0x20, 4)].peer, port_at(f, 0x20, 3));
	assert_int_equal(f->ports[port_at(f, 0x20, 5)].peer, port_at(f, 0x20, 5));
	assert_int_equal(f->links[2].a, f->links[2].b);
	assert_int_equal(f->gap_count, 1); /* what lost the conflict is up and has no peer */
	assert_true(has_gap(f, FABRIC_GAP_NO_PEER, 0x30, 1));
	fabric_free(f);
}

static void gaps_of_a_switch(void **state)
{
	struct fabric *f = make();
	uint8_t info[MAD_SMP_DATA], node_info[MAD_SMP_DATA], desc[MAD_SMP_DATA];
	uint32_t sw, dark, zero;

	(void)state;
	image_node_desc(desc, "x");
	/* 1 up without a peer; 2 not answered; 3 down; 4 polling; 5 armed and up */
	image_node_info(node_info, FABRIC_SWITCH, 0x20, 5, 0);
	sw = fabric_add_node(f, node_info, NULL, desc, NULL);
	port_info(info, FABRIC_STATE_ACTIVE, FABRIC_PHYS_LINK_UP, 4);
	assert_int_equal(fabric_port_seen(f, sw, 0, 0x20, info, NULL), 0);
	assert_int_equal(fabric_port_seen(f, sw, 1, 0x20, info, NULL), 0);
	memset(info, 0, sizeof(info));
	assert_int_equal(fabric_port_seen(f, sw, 2, 0x20, info, NULL), 0); /* zeros: not answered */
	port_info(info, FABRIC_STATE_DOWN, 3, 0);
	assert_int_equal(fabric_port_seen(f, sw, 3, 0x20, info, NULL), 0);
	port_info(info, FABRIC_STATE_DOWN, 2, 0);
	assert_int_equal(fabric_port_seen(f, sw, 4, 0x20, info, NULL), 0);
	port_info(info, FABRIC_STATE_ARMED, FABRIC_PHYS_LINK_UP, 0);
	assert_int_equal(fabric_port_seen(f, sw, 5, 0x20, info, NULL), 0);
	/* a switch of 36 ports whose port 0 did not answer: one gap for all, and no description */
	image_node_info(node_info, FABRIC_SWITCH, 0x30, 36, 1);
	dark = fabric_add_node(f, node_info, NULL, NULL, NULL);
	assert_int_equal(fabric_link(f, sw, 5, dark, 1), 0);
	/* a switch without ports */
	image_node_info(node_info, FABRIC_SWITCH, 0x40, 0, 0);
	zero = fabric_add_node(f, node_info, desc, desc, NULL);
	port_info(info, FABRIC_STATE_ACTIVE, FABRIC_PHYS_LINK_UP, 9);
	assert_int_equal(fabric_port_seen(f, zero, 0, 0x40, info, NULL), 0);
	assert_int_equal(fabric_finish(f), 0);
	assert_true(has_gap(f, FABRIC_GAP_NO_SWITCH_INFO, 0x20, 0));
	assert_true(has_gap(f, FABRIC_GAP_NO_PEER, 0x20, 1));
	assert_true(has_gap(f, FABRIC_GAP_NO_PORT_INFO, 0x20, 2));
	assert_true(has_gap(f, FABRIC_GAP_NO_PORT_INFO, 0x30, 0));
	assert_true(has_gap(f, FABRIC_GAP_NO_SWITCH_INFO, 0x30, 0));
	assert_true(has_gap(f, FABRIC_GAP_NO_NODE_DESC, 0x30, 0));
	assert_int_equal(f->gap_count, 6);
	assert_false(f->ports[port_at(f, 0x20, 2)].known);
	fabric_free(f);
}

static void gaps_of_adapters(void **state)
{
	struct fabric *f = make();
	uint8_t info[MAD_SMP_DATA], node_info[MAD_SMP_DATA], desc[MAD_SMP_DATA];
	uint32_t sw = image_add_switch(f, "s", 0x20, 4, 2), two, lost, self, router;

	(void)state;
	image_node_desc(desc, "x");
	/* two ports, found through the first: the second is no gap */
	image_node_info(node_info, FABRIC_CA, 0x100, 2, 1);
	two = fabric_add_node(f, node_info, NULL, desc, NULL);
	port_info(info, FABRIC_STATE_ACTIVE, FABRIC_PHYS_LINK_UP, 11);
	assert_int_equal(fabric_port_seen(f, two, 1, 0, info, NULL), 0);
	image_link(f, sw, 1, two, 1, NULL);
	/* found, but its PortInfo was not answered */
	image_node_info(node_info, FABRIC_CA, 0x200, 2, 2);
	lost = fabric_add_node(f, node_info, NULL, desc, NULL);
	image_link(f, sw, 2, lost, 2, NULL);
	/* the adapter that looked: up, with nothing behind its port */
	image_node_info(node_info, FABRIC_CA, 0x300, 1, 1);
	self = fabric_add_node(f, node_info, NULL, desc, NULL);
	assert_int_equal(fabric_port_seen(f, self, 1, 0, info, NULL), 0);
	f->from_node = self;
	f->from_port = 1;
	/* a router is looked at as an adapter is */
	image_node_info(node_info, FABRIC_ROUTER, 0x400, 2, 1);
	router = fabric_add_node(f, node_info, NULL, desc, NULL);
	assert_int_equal(fabric_port_seen(f, router, 1, 0, info, NULL), 0);
	image_link(f, sw, 3, router, 1, NULL);
	assert_int_equal(fabric_finish(f), 0);
	assert_int_equal(f->from_node, fabric_find_node(f, 0x300));
	assert_true(has_gap(f, FABRIC_GAP_NO_PORT_INFO, 0x200, 2));
	assert_true(has_gap(f, FABRIC_GAP_NO_PEER, 0x300, 1));
	assert_int_equal(f->gap_count, 2);
	fabric_free(f);
}

static void looking_port_without_port_info(void **state)
{
	struct fabric *f = make();
	uint8_t node_info[MAD_SMP_DATA], desc[MAD_SMP_DATA];

	(void)state;
	image_node_desc(desc, "x");
	image_node_info(node_info, FABRIC_CA, 0x300, 2, 2);
	f->from_node = fabric_add_node(f, node_info, NULL, desc, NULL);
	f->from_port = 2;
	assert_int_equal(fabric_finish(f), 0);
	assert_int_equal(f->gap_count, 1);
	assert_true(has_gap(f, FABRIC_GAP_NO_PORT_INFO, 0x300, 2));
	fabric_free(f);
}

static void extended_info_is_kept(void **state)
{
	struct fabric *f = make();
	uint8_t info[MAD_SMP_DATA], ext[MAD_SMP_DATA] = {0};
	uint32_t sw = image_add_switch(f, "s", 0x20, 2, 2), host = image_add_host(f, "h", 0x10, 1);

	(void)state;
	image_link(f, sw, 1, host, 1, NULL);
	port_info(info, 0, 0, 0);
	assert_int_equal(fabric_port_seen(f, sw, 1, 0, info, ext), 0); /* zeros: not answered */
	assert_false(f->ports[fabric_node_port(f, sw, 1)].has_ext);
	ext[15] = 1;
	assert_int_equal(fabric_port_seen(f, sw, 1, 0, info, ext), 0);
	assert_int_equal(fabric_finish(f), 0);
	assert_true(f->ports[port_at(f, 0x20, 1)].has_ext);
	assert_int_equal(f->ports[port_at(f, 0x20, 1)].ext_info[15], 1);
	assert_int_equal(f->ports[port_at(f, 0x20, 1)].guid, 0x20);
	fabric_free(f);
}

/* 255 ports is the most that NodeInfo can say. */
static void largest_switch(void **state)
{
	struct fabric *f = make();
	uint32_t a = image_add_switch(f, "a", 0x20, 255, 2), b = image_add_switch(f, "b", 0x10, 255, 3);

	(void)state;
	for (unsigned n = 1; n <= 255; n++)
		image_link(f, a, n, b, 256 - n, NULL);
	assert_int_equal(fabric_finish(f), 0);
	assert_int_equal(f->port_count, 512);
	assert_int_equal(f->link_count, 255);
	assert_int_equal(f->ports[port_at(f, 0x20, 255)].peer, port_at(f, 0x10, 1));
	fabric_free(f);
}

/* 1,620 switches of 36 ports and 11,664 hosts: the arrays stay under 20 MB. */
static void size_of_a_large_fabric(void **state)
{
	struct fabric *f = make();
	size_t bytes;

	(void)state;
	for (uint32_t i = 0; i < 1620; i++)
		image_add_switch(f, "switch", 0x900000 - i, 36, i + 1);
	for (uint32_t i = 0; i < 11664; i++) {
		uint32_t host =
			image_add_host(f, "host", 0x100000 + i * 2654435761u % 0x400000 * 16, 2000 + i);

		image_link(f, i / 18, i % 18 + 1, host, 1, NULL);
	}
	assert_int_equal(fabric_finish(f), 0);
	assert_int_equal(f->node_count, 1620 + 11664);
	assert_int_equal(f->link_count, 11664);
	assert_int_equal(f->gap_count, 0);
	bytes = f->node_room * sizeof(*f->nodes) + f->port_room * sizeof(*f->ports) +
		f->link_room * sizeof(*f->links) + f->node_count * 32ul; /* names */
	assert_in_range(bytes, 1, 20000000);
	for (uint32_t i = 1; i < f->node_count; i++)
		assert_true(f->nodes[i - 1].guid < f->nodes[i].guid);
	fabric_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_fabric),
		cmocka_unit_test(nodes_are_sorted_and_links_follow),
		cmocka_unit_test(impossible_nodes_are_refused),
		cmocka_unit_test(same_guid_is_same_node),
		cmocka_unit_test(ports_out_of_range),
		cmocka_unit_test(links_twice_to_itself_and_conflicting),
		cmocka_unit_test(gaps_of_a_switch),
		cmocka_unit_test(gaps_of_adapters),
		cmocka_unit_test(looking_port_without_port_info),
		cmocka_unit_test(extended_info_is_kept),
		cmocka_unit_test(largest_switch),
		cmocka_unit_test(size_of_a_large_fabric),
	};

	return cmocka_run_group_tests_name("fabric", tests, NULL, NULL);
}
