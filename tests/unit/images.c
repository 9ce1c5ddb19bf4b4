/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* images: see images.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "images.h"

void image_put16(uint8_t *image, unsigned byte, uint16_t value)
{
	image[byte] = value >> 8;
	image[byte + 1] = value & 0xff;
}

void image_put32(uint8_t *image, unsigned byte, uint32_t value)
{
	image_put16(image, byte, value >> 16);
	image_put16(image, byte + 2, value & 0xffff);
}

void image_put64(uint8_t *image, unsigned byte, uint64_t value)
{
	image_put32(image, byte, value >> 32);
	image_put32(image, byte + 4, value & 0xffffffff);
}

void image_node_info(uint8_t image[MAD_SMP_DATA], enum fabric_node_type type, uint64_t guid, unsigned ports,
		     unsigned local_port)
{
	memset(image, 0, MAD_SMP_DATA);
	image[0] = 1; /* BaseVersion */
	image[1] = 1; /* ClassVersion */
	image[2] = type;
	image[3] = ports;
	image_put64(image, 4, guid | 0xf000000000000000); /* SystemImageGUID */
	image_put64(image, 12, guid);
	image_put64(image, 20, type == FABRIC_SWITCH ? guid : guid + local_port);
	image_put16(image, 28, 32);     /* PartitionCap */
	image_put16(image, 30, 0xcb20); /* DeviceID */
	image_put32(image, 32, 0xa0);   /* Revision */
	image[36] = local_port;
	image[37] = 0x00; /* VendorID, 24 bits */
	image_put16(image, 38, 0x02c9);
}

void image_switch_info(uint8_t image[MAD_SMP_DATA], bool enhanced_port0)
{
	memset(image, 0, MAD_SMP_DATA);
	image_put16(image, 0, 49152); /* LinearFDBCap */
	image[16] = enhanced_port0 ? 0x08 : 0;
}

void image_node_desc(uint8_t image[MAD_SMP_DATA], const char *text)
{
	memset(image, 0, MAD_SMP_DATA);
	memcpy(image, text, strnlen(text, MAD_SMP_DATA));
}

static unsigned or_else(unsigned value, unsigned otherwise)
{
	return value ? value : otherwise;
}

void image_port_info(uint8_t image[MAD_SMP_DATA], const struct image_port *port)
{
	bool plain = !port->width_supported && !port->width_enabled && !port->width_active;

	memset(image, 0, MAD_SMP_DATA);
	image_put64(image, 8, 0xfe80000000000000);
	image_put16(image, 16, port->lid);
	image_put16(image, 18, port->sm_lid);
	image_put32(image, 20, port->cap_mask);
	image[28] = port->local_port;
	image[29] = plain ? 3 : port->width_enabled;
	image[30] = plain ? 3 : port->width_supported;
	image[31] = plain ? 2 : port->width_active;
	image[32] = port->speed_supported << 4 | or_else(port->state, FABRIC_STATE_ACTIVE);
	image[33] = or_else(port->phys_state, FABRIC_PHYS_LINK_UP) << 4 | 2;
	image[34] = port->lmc;
	image[35] = port->speed_active << 4 | port->speed_enabled;
	image[36] = or_else(port->mtu, 5) << 4;
	image[37] = or_else(port->vl_cap, 4) << 4;
	image[38] = port->high_limit;
	image[39] = or_else(port->high_cap, 8);
	image[40] = or_else(port->low_cap, 8);
	image[41] = or_else(port->mtu_cap, 5);
	image[43] = or_else(port->oper_vls, 4) << 4;
	image[56] = port->ext2_active << 5 | port->ext2_supported << 3 | port->ext2_enabled;
	image_put16(image, 60, port->cap_mask2);
	image[62] = port->ext_active << 4 | port->ext_supported;
	image[63] = port->ext_enabled;
}

static void add_port(struct fabric *fabric, uint32_t node, unsigned number, uint64_t guid,
		     const struct image_port *port)
{
	uint8_t info[MAD_SMP_DATA];

	image_port_info(info, port);
	assert_int_equal(fabric_port_seen(fabric, node, number, guid, info, NULL), 0);
}

static const struct image_port port_down = {.state = FABRIC_STATE_DOWN, .phys_state = 2};

uint32_t image_add_switch(struct fabric *fabric, const char *name, uint64_t guid, unsigned ports,
			  unsigned lid)
{
	uint8_t node_info[MAD_SMP_DATA], switch_info[MAD_SMP_DATA], desc[MAD_SMP_DATA];
	uint32_t node;

	image_node_info(node_info, FABRIC_SWITCH, guid, ports, 0);
	image_switch_info(switch_info, false);
	image_node_desc(desc, name);
	node = fabric_add_node(fabric, node_info, switch_info, desc, NULL);
	assert_int_not_equal(node, FABRIC_NONE);
	add_port(fabric, node, 0, guid, &(struct image_port){.lid = lid});
	for (unsigned n = 1; n <= ports; n++)
		add_port(fabric, node, n, guid, &port_down);
	return node;
}

uint32_t image_add_host(struct fabric *fabric, const char *name, uint64_t guid, unsigned lid)
{
	uint8_t node_info[MAD_SMP_DATA], desc[MAD_SMP_DATA];
	uint32_t node;

	image_node_info(node_info, FABRIC_CA, guid, 1, 1);
	image_node_desc(desc, name);
	node = fabric_add_node(fabric, node_info, NULL, desc, NULL);
	assert_int_not_equal(node, FABRIC_NONE);
	add_port(fabric, node, 1, guid + 1, &(struct image_port){.lid = lid});
	return node;
}

void image_link(struct fabric *fabric, uint32_t a, unsigned port_a, uint32_t b, unsigned port_b,
		const struct image_port *port)
{
	const struct image_port plain = {0};

	if (!port)
		port = &plain;
	if (fabric->nodes[a].type == FABRIC_SWITCH)
		add_port(fabric, a, port_a, 0, port);
	if (fabric->nodes[b].type == FABRIC_SWITCH)
		add_port(fabric, b, port_b, 0, port);
	assert_int_equal(fabric_link(fabric, a, port_a, b, port_b), 0);
}
