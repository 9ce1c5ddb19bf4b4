/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which ports are asked for the vendor's ExtendedPortInfo (0xff90), which tells FDR10 from QDR: the devices and
 * conditions of libibnetdisc (rdma-core: ibnetdisc.c, is_mlnx_ext_port_info_supported(), recv_port_info()).
 */
#include <infiniband/mad.h>

#include "walk.h"

#define VENDOR_BULL 0x119f
#define SPEED_QDR 4
#define CAP_EXT_SPEEDS (1u << 14) /* CapabilityMask: IsExtendedSpeedsSupported */
#define CAP_MASK2 (1u << 15)	  /* CapabilityMask: IsCapabilityMask2Supported */
#define CAP2_EXT_SPEEDS_2 0x0800u /* CapabilityMask2: IsExtendedSpeeds2Supported */
#define EXT2_BYTE 56		  /* bits 6-5: LinkSpeedExtActive2 */

/* Ranges of device IDs; vendor 0: any. */
static const struct {
	uint32_t vendor;
	uint16_t first, last;
} devices[] = {
	{0, 0xc738, 0xc73b}, /* SwitchX */
	{0, 0xc839, 0xc839}, {0, 0xcb20, 0xcb20}, {0, 0xcf08, 0xcf09}, {0, 0xd2f0, 0xd2f0},
	{0, 0x1003, 0x101b}, /* ConnectX-3 and later */
	{0, 0xa2d2, 0xa2d2}, /* BlueField */
	{VENDOR_BULL, 0x1b02, 0x1b02}, {VENDOR_BULL, 0x1b50, 0x1b50}, {VENDOR_BULL, 0x1ba0, 0x1ba0},
	{VENDOR_BULL, 0x1bd0, 0x1bd5}, {VENDOR_BULL, 0x1bf0, 0x1bf0}, {VENDOR_BULL, 0x1b33, 0x1b33},
	{VENDOR_BULL, 0x1b73, 0x1b73}, {VENDOR_BULL, 0x1b40, 0x1b41}, {VENDOR_BULL, 0x1b60, 0x1b61},
	{VENDOR_BULL, 0x1b83, 0x1b83}, {VENDOR_BULL, 0x1b93, 0x1b94}, {VENDOR_BULL, 0x1bb4, 0x1bb5},
	{VENDOR_BULL, 0x1bc4, 0x1bc6},
};

static bool has_attribute(const struct fabric_node *node)
{
	for (unsigned i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		if ((devices[i].vendor == 0 || devices[i].vendor == node->vendor) &&
		    node->device >= devices[i].first && node->device <= devices[i].last)
			return true;
	}
	return false;
}

/* The gates of a switch's ports are at its port 0. */
static bool has_ext_speed(const struct fabric_port *gates, const struct fabric_port *port)
{
	unsigned mask = gates->known ? fabric_port_cap_mask(gates) : 0;

	if (!(mask & CAP_EXT_SPEEDS))
		return false;
	if (mad_get_field((void *)port->info, 0, IB_PORT_LINK_SPEED_EXT_ACTIVE_F) != 0)
		return true;
	return mask & CAP_MASK2 &&
	       mad_get_field((void *)gates->info, 0, IB_PORT_CAPMASK2_F) & CAP2_EXT_SPEEDS_2 &&
	       (port->info[EXT2_BYTE] >> 5 & 3) != 0;
}

bool walk_wants_ext(const struct fabric *fabric, uint32_t port)
{
	const struct fabric_port *p = &fabric->ports[port];
	const struct fabric_node *node = fabric_port_node(fabric, port);
	const struct fabric_port *gates = node->type == FABRIC_SWITCH ? &fabric->ports[node->first_port] : p;

	return has_attribute(node) && fabric_port_phys_state(p) == FABRIC_PHYS_LINK_UP &&
	       mad_get_field((void *)p->info, 0, IB_PORT_LINK_SPEED_ACTIVE_F) == SPEED_QDR &&
	       !has_ext_speed(gates, p);
}
