/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The choice of a port on machines of all kinds. libibumad's calls that read sysfs are replaced:
 * this program's own functions come before the library's.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/umad.h>

#include "ibqos/mad.h"

#define ADAPTERS 4

struct adapter {
	const char *name;
	unsigned node_type;
	int error; /* of umad_get_ca() */
	struct {
		unsigned state, phys_state;
		const char *link_layer; /* NULL: no such port */
	} port[3];
};

static struct {
	struct adapter adapter[ADAPTERS];
	int list_errno;
	struct umad_device_node node[ADAPTERS];
	int cas_held;
} machine;

struct umad_device_node *umad_get_ca_device_list(void)
{
	struct umad_device_node *first = NULL;
	int i;

	for (i = ADAPTERS - 1; i >= 0; i--) {
		if (!machine.adapter[i].name)
			continue;
		machine.node[i] = (struct umad_device_node){first, machine.adapter[i].name};
		first = &machine.node[i];
	}
	errno = machine.list_errno;
	return first;
}

void umad_free_ca_device_list(struct umad_device_node *head)
{
	(void)head;
}

int umad_get_ca(const char *name, umad_ca_t *ca)
{
	const struct adapter *a = machine.adapter;
	umad_port_t *port;
	int i;

	while (a < machine.adapter + ADAPTERS && !(a->name && !strcmp(a->name, name)))
		a++;
	assert_true(a < machine.adapter + ADAPTERS);
	if (a->error)
		return a->error;
	memset(ca, 0, sizeof(*ca));
	ca->node_type = a->node_type;
	for (i = 0; i < 3; i++) {
		if (!a->port[i].link_layer)
			continue;
		port = ca->ports[i] = calloc(1, sizeof(*port));
		assert_non_null(port);
		port->portnum = ca->numports = i;
		port->state = a->port[i].state;
		port->phys_state = a->port[i].phys_state;
		port->base_lid = 40 + (unsigned)i;
		port->sm_lid = 9;
		port->port_guid = htobe64(0x0002c90300001230 + (unsigned)i);
		strcpy(port->link_layer, a->port[i].link_layer);
	}
	machine.cas_held++;
	return 0;
}

int umad_release_ca(umad_ca_t *ca)
{
	int i;

	for (i = 0; i < UMAD_CA_MAX_PORTS; i++)
		free(ca->ports[i]);
	machine.cas_held--;
	return 0;
}

static int check(const char *device, int port, struct mad_port_info *info)
{
	int ret = mad_port_check(device, port, info);

	assert_int_equal(machine.cas_held, 0);
	return ret;
}

static void ports_of_a_machine(void **state)
{
	struct mad_port_info info;

	(void)state;
	memset(&machine, 0, sizeof(machine));
	machine.adapter[0] =
		(struct adapter){.name = "mlx5_eth", .node_type = 1, .port[1] = {4, 5, "Ethernet"}};
	machine.adapter[1] = (struct adapter){
		.name = "mlx5_0", .node_type = 1, .port = {{0}, {1, 2, "InfiniBand"}, {2, 5, "InfiniBand"}}};
	machine.adapter[2] = (struct adapter){
		.name = "mlx5_1", .node_type = 1, .port = {{0}, {1, 3, "InfiniBand"}, {4, 5, "InfiniBand"}}};
	machine.adapter[3] = (struct adapter){.name = "broken", .node_type = 1, .error = -EIO};

	assert_int_equal(check(NULL, 0, &info), 0); /* the active one */
	assert_string_equal(info.device, "mlx5_1");
	assert_int_equal(info.port, 2);
	assert_int_equal(info.guid, 0x0002c90300001232);
	assert_int_equal(info.lid, 42);
	assert_int_equal(info.sm_lid, 9);
	assert_int_equal(info.state, 4);
	assert_string_equal(info.link_layer, "InfiniBand");
	assert_int_equal(check("mlx5_0", 0, &info), 0); /* init is enough */
	assert_int_equal(info.port, 2);
	assert_int_equal(info.state, 2);
	assert_int_equal(check(NULL, 1, &info), -ENETDOWN); /* better than Ethernet */
	assert_string_equal(info.device, "mlx5_0");
	assert_int_equal(check("mlx5_1", 1, &info), -ENETDOWN);
	assert_int_equal(info.state, 1);
	assert_int_equal(check("mlx5_eth", 0, &info), -EPROTONOSUPPORT);
	assert_string_equal(info.link_layer, "Ethernet");
	assert_int_equal(info.port, 1);
	assert_int_equal(check("mlx5_eth", 2, &info), -ENODEV);
	assert_int_equal(check("mlx5_9", 0, &info), -ENODEV);
	assert_string_equal(info.device, "");
	assert_int_equal(check("mlx5_", 0, &info), -ENODEV);
	assert_int_equal(check("mlx5_0", 3, &info), -ENODEV);
	assert_int_equal(check(NULL, 10, &info), -ENODEV);
	assert_int_equal(check(NULL, -1, &info), -ENODEV);
	assert_int_equal(check("broken", 0, &info), -EIO);
}

static void machines_without_a_port(void **state)
{
	struct mad_port_info info;

	(void)state;
	memset(&machine, 0, sizeof(machine));
	assert_int_equal(check(NULL, 0, &info), -ENODEV);
	assert_int_equal(check("mlx5_0", 1, &info), -ENODEV);
	machine.list_errno = EACCES;
	assert_int_equal(check(NULL, 0, &info), -EACCES);
	machine.list_errno = 0;
	machine.adapter[0] = (struct adapter){.name = "broken", .node_type = 1, .error = -EIO};
	assert_int_equal(check(NULL, 0, &info), -ENODEV);
	machine.adapter[0] =
		(struct adapter){.name = "mlx5_eth", .node_type = 1, .port[1] = {4, 5, "Ethernet"}};
	assert_int_equal(check(NULL, 0, &info), -EPROTONOSUPPORT);
	/* a host's port 0 is none; a switch has no other */
	machine.adapter[0] = (struct adapter){.name = "hca", .node_type = 1, .port[0] = {4, 5, "InfiniBand"}};
	assert_int_equal(check(NULL, 0, &info), -ENODEV);
	machine.adapter[0].node_type = 2;
	assert_int_equal(check(NULL, 0, &info), 0);
	assert_int_equal(info.port, 0);
	/* a name that libibumad could not hold */
	machine.adapter[0].name = "a_name_of_twenty_byte";
	assert_int_equal(check(NULL, 0, &info), -ENODEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_of_a_machine),
		cmocka_unit_test(machines_without_a_port),
	};

	return cmocka_run_group_tests_name("mad_port", tests, NULL, NULL);
}
