/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * images: attributes as bytes for tests, laid out by hand from IBA 14.2.5.3 (NodeInfo), 14.2.5.4
 * (SwitchInfo) and 14.2.5.6 (PortInfo), so that no decoder is tested against its own encoder.
 */
#ifndef IMAGES_H
#define IMAGES_H

#include "ibqos/fabric.h"

/* Big-endian values into an image. */
void image_put16(uint8_t *image, unsigned byte, uint16_t value);
void image_put32(uint8_t *image, unsigned byte, uint32_t value);
void image_put64(uint8_t *image, unsigned byte, uint64_t value);

/* NodeInfo; the port GUID is guid + local_port for a CA or router, guid for a switch. */
void image_node_info(uint8_t image[MAD_SMP_DATA], enum fabric_node_type type, uint64_t guid, unsigned ports,
		     unsigned local_port);
void image_switch_info(uint8_t image[MAD_SMP_DATA], bool enhanced_port0);
void image_node_desc(uint8_t image[MAD_SMP_DATA], const char *text);

struct image_port {
	unsigned state, phys_state; /* 0: active, link up */
	unsigned lid, sm_lid, lmc;
	uint32_t cap_mask;
	uint16_t cap_mask2;
	unsigned width_supported, width_enabled, width_active; /* raw; all 0: 4x of 1x or 4x */
	unsigned speed_supported, speed_enabled, speed_active; /* raw, 4 bits each */
	unsigned ext_supported, ext_enabled, ext_active;       /* 4, 5, 4 bits */
	unsigned ext2_supported, ext2_enabled, ext2_active;    /* 2, 3, 2 bits */
	unsigned vl_cap, oper_vls;                             /* codes; 0: code 4, VL0-7 */
	unsigned high_limit, high_cap, low_cap;                /* caps 0: 8 */
	unsigned mtu_cap, mtu;                                 /* codes; 0: 5, 4096 bytes */
	unsigned local_port;
};
void image_port_info(uint8_t image[MAD_SMP_DATA], const struct image_port *port);

/*
 * Adds nodes as a discovery would: description, SwitchInfo, and for switches PortInfo of port 0
 * (LID `lid`); the other ports down. Abort the test on failure.
 */
uint32_t image_add_switch(struct fabric *fabric, const char *name, uint64_t guid, unsigned ports,
			  unsigned lid);
/* A host with one port known at `lid` and active. */
uint32_t image_add_host(struct fabric *fabric, const char *name, uint64_t guid, unsigned lid);
/* Links two ports and gives switch ports a PortInfo that is active, as `port` or NULL for plain. */
void image_link(struct fabric *fabric, uint32_t a, unsigned port_a, uint32_t b, unsigned port_b,
		const struct image_port *port);

#endif
