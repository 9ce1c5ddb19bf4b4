/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Speed and width: one table each. Encodings: IBA 14.2.5.6 (PortInfo), rdma-core libibmad/fields.c
 * and dump.c; FDR10: ExtendedPortInfo 0xff90 of Mellanox devices, bit 0, beside a LinkSpeedActive
 * of QDR. LinkSpeedExt2 (XDR) is not in the libibmad of rdma-core 44, so it is decoded here: of
 * PortInfo's byte 56, bits 6-5 are Active, 4-3 Supported, 2-0 Enabled.
 */
#include <infiniband/mad.h>
#include <string.h>

#include "ibqos/link.h"

#define CAP_EXT_SPEEDS (1u << 14) /* CapabilityMask: IsExtendedSpeedsSupported */
#define CAP_MASK2 (1u << 15)      /* CapabilityMask: IsCapabilityMask2Supported */
#define CAP2_EXT_SPEEDS_2 0x0800u /* CapabilityMask2: IsExtendedSpeeds2Supported */

#define EXT2_BYTE 56
#define EXT_BYTE 62 /* LinkSpeedExtActive and Supported, and in the next Enabled */

/*
 * First bit and width (IBA 14.2.5.6; libibmad/fields.c has the same numbers): an audit decodes each port several times over,
 * and mad_get_field() takes ten times as long for one that lies within a byte.
 */
#define WIDTH_ENABLED 232, 8
#define WIDTH_SUPPORTED_BITS 240, 8
#define WIDTH_ACTIVE 248, 8
#define SPEED_SUPPORTED_BITS 256, 4
#define SPEED_ACTIVE 280, 4
#define SPEED_ENABLED 284, 4
#define EXT_SPEED_ACTIVE 496, 4
#define EXT_SPEED_SUPPORTED 500, 4
#define EXT_SPEED_ENABLED 507, 5
#define EXT_DISABLED 30  /* LinkSpeedExtEnabled: extended speeds off */
#define EXT_SUPPORTED 31 /* LinkSpeedExtEnabled: as LinkSpeedExtSupported */
#define SPEED_SUPPORTED 15
#define WIDTH_SUPPORTED 255
#define RAW_QDR 4

/*
 * Signalling rates: IBA volume 2, 5.1 and 6.2; HDR, NDR and XDR as NVIDIA's adapters and switches have them (PAM4, twice the baud rate).
 * Data: less 8b10b or 64b66b; from HDR on the nominal rate, of which coding and FEC have taken their part.
 */
static const struct link_speed_row speeds[] = {
	{LINK_SDR, "SDR", LINK_FIELD_SPEED, 1, 2.5, 2, "8b10b"},
	{LINK_DDR, "DDR", LINK_FIELD_SPEED, 2, 5, 4, "8b10b"},
	{LINK_QDR, "QDR", LINK_FIELD_SPEED, 4, 10, 8, "8b10b"},
	{LINK_FDR10, "FDR10", LINK_FIELD_VENDOR, 1, 10.3125, 10, "64b66b"},
	{LINK_FDR, "FDR", LINK_FIELD_EXT, 1, 14.0625, 14.0625 * 64 / 66, "64b66b"},
	{LINK_EDR, "EDR", LINK_FIELD_EXT, 2, 25.78125, 25, "64b66b"},
	{LINK_HDR, "HDR", LINK_FIELD_EXT, 4, 53.125, 50, "PAM4, FEC"},
	{LINK_NDR, "NDR", LINK_FIELD_EXT, 8, 106.25, 100, "PAM4, FEC"},
	{LINK_XDR, "XDR", LINK_FIELD_EXT2, 1, 212.5, 200, "PAM4, FEC"},
};
#define SPEEDS (sizeof(speeds) / sizeof(speeds[0]))

static const struct link_width_row widths[] = {
	{LINK_1X, "1x", 1, 1}, {LINK_2X, "2x", 16, 2},	 {LINK_4X, "4x", 2, 4},
	{LINK_8X, "8x", 4, 8}, {LINK_12X, "12x", 8, 12},
};
#define WIDTHS (sizeof(widths) / sizeof(widths[0]))

const struct link_speed_row *link_speed_rows(size_t *count)
{
	*count = SPEEDS;
	return speeds;
}

const struct link_width_row *link_width_rows(size_t *count)
{
	*count = WIDTHS;
	return widths;
}

/* The raw speed fields of one kind: active, supported or enabled. */
struct raw_speeds {
	unsigned of[LINK_FIELDS];
};

static unsigned bits(const uint8_t *info, unsigned first, unsigned width)
{
	return info[first / 8] >> (8 - first % 8 - width) & ((1u << width) - 1);
}

static unsigned field(const uint8_t *info, enum MAD_FIELDS which)
{
	return mad_get_field((void *)info, 0, which);
}

static void read_speeds(const struct fabric_port *port, struct raw_speeds *active,
			struct raw_speeds *supported, struct raw_speeds *enabled)
{
	unsigned ext2 = port->info[EXT2_BYTE];

	*active = (struct raw_speeds){.of = {bits(port->info, SPEED_ACTIVE),
					     bits(port->info, EXT_SPEED_ACTIVE),
					     ext2 >> 5 & 3}};
	*supported = (struct raw_speeds){.of = {bits(port->info, SPEED_SUPPORTED_BITS),
						bits(port->info, EXT_SPEED_SUPPORTED),
						ext2 >> 3 & 3}};
	*enabled = (struct raw_speeds){.of = {bits(port->info, SPEED_ENABLED),
					      bits(port->info, EXT_SPEED_ENABLED), ext2 & 7}};
	if (!port->has_ext)
		return;
	active->of[LINK_FIELD_VENDOR] = field(port->ext_info, IB_MLNX_EXT_PORT_LINK_SPEED_ACTIVE_F);
	supported->of[LINK_FIELD_VENDOR] = field(port->ext_info, IB_MLNX_EXT_PORT_LINK_SPEED_SUPPORTED_F);
	enabled->of[LINK_FIELD_VENDOR] = field(port->ext_info, IB_MLNX_EXT_PORT_LINK_SPEED_ENABLED_F);
}

/* Clears the fields that the port's gates say are reserved; false where the gates are not known. */
static bool apply_gates(const struct fabric_port *gates, struct raw_speeds *raw)
{
	unsigned cap_mask = gates->known ? fabric_port_cap_mask(gates) : 0;
	unsigned cap_mask2 = cap_mask & CAP_MASK2 ? field(gates->info, IB_PORT_CAPMASK2_F) : 0;

	if (!gates->known && (raw->of[LINK_FIELD_EXT] || raw->of[LINK_FIELD_EXT2]))
		return false;
	if (!(cap_mask & CAP_EXT_SPEEDS))
		raw->of[LINK_FIELD_EXT] = 0;
	if (!(cap_mask & CAP_EXT_SPEEDS) || !(cap_mask2 & CAP2_EXT_SPEEDS_2))
		raw->of[LINK_FIELD_EXT2] = 0;
	return true;
}

/* A value that must be one bit of the table; 0 if it is not. */
static unsigned one_speed(enum link_field which, unsigned raw)
{
	for (unsigned i = 0; i < SPEEDS; i++) {
		if (speeds[i].field == which && speeds[i].raw == raw)
			return speeds[i].speed;
	}
	return 0;
}

/* The latest field that has a value wins: the older ones then say the best they can express. */
static unsigned active_speed(const struct raw_speeds *raw)
{
	if (raw->of[LINK_FIELD_EXT2])
		return one_speed(LINK_FIELD_EXT2, raw->of[LINK_FIELD_EXT2]);
	if (raw->of[LINK_FIELD_EXT])
		return one_speed(LINK_FIELD_EXT, raw->of[LINK_FIELD_EXT]);
	if (raw->of[LINK_FIELD_SPEED] == RAW_QDR && raw->of[LINK_FIELD_VENDOR] & 1)
		return LINK_FDR10;
	return one_speed(LINK_FIELD_SPEED, raw->of[LINK_FIELD_SPEED]);
}

static unsigned speed_mask(const struct raw_speeds *raw)
{
	unsigned mask = 0;

	for (unsigned i = 0; i < SPEEDS; i++) {
		if (raw->of[speeds[i].field] & speeds[i].raw)
			mask |= speeds[i].speed;
	}
	return mask;
}

/* Enabled fields have values that stand for others. */
static void resolve_enabled(struct raw_speeds *enabled, const struct raw_speeds *supported)
{
	if (enabled->of[LINK_FIELD_SPEED] == SPEED_SUPPORTED)
		enabled->of[LINK_FIELD_SPEED] = supported->of[LINK_FIELD_SPEED];
	if (enabled->of[LINK_FIELD_EXT] == EXT_SUPPORTED)
		enabled->of[LINK_FIELD_EXT] = supported->of[LINK_FIELD_EXT];
	else if (enabled->of[LINK_FIELD_EXT] == EXT_DISABLED)
		enabled->of[LINK_FIELD_EXT] = 0;
}

static void decode_speeds(const struct fabric_port *port, const struct fabric_port *gates,
			  struct link_state *state)
{
	struct raw_speeds active, supported, enabled;

	read_speeds(port, &active, &supported, &enabled);
	state->raw_speed_active =
		active.of[LINK_FIELD_SPEED] | active.of[LINK_FIELD_EXT] << 8 | active.of[LINK_FIELD_EXT2] << 16;
	if (!apply_gates(gates, &active) || !apply_gates(gates, &supported) || !apply_gates(gates, &enabled))
		return;
	resolve_enabled(&enabled, &supported);
	state->speed_active = active_speed(&active);
	if (state->speed_active == LINK_QDR && port->notes & 1u << FABRIC_GAP_NO_EXT_INFO)
		state->speed_active = 0; /* or FDR10: the answer that tells them apart got lost */
	state->speed_supported = speed_mask(&supported);
	state->speed_enabled = speed_mask(&enabled);
}

static unsigned width_mask(unsigned raw)
{
	unsigned mask = 0;

	for (unsigned i = 0; i < WIDTHS; i++) {
		if (raw & widths[i].raw)
			mask |= widths[i].width;
	}
	return mask;
}

static unsigned one_width(unsigned raw)
{
	for (unsigned i = 0; i < WIDTHS; i++) {
		if (widths[i].raw == raw)
			return widths[i].width;
	}
	return 0;
}

static void decode_widths(const struct fabric_port *port, struct link_state *state)
{
	unsigned enabled = bits(port->info, WIDTH_ENABLED);

	state->raw_width_active = bits(port->info, WIDTH_ACTIVE);
	state->width_active = one_width(state->raw_width_active);
	state->width_supported = width_mask(bits(port->info, WIDTH_SUPPORTED_BITS));
	state->width_enabled = enabled == WIDTH_SUPPORTED ? state->width_supported : width_mask(enabled);
}

static const struct fabric_port *gates_of(const struct fabric *fabric, uint32_t port)
{
	const struct fabric_node *node = fabric_port_node(fabric, port);

	return node->type == FABRIC_SWITCH ? &fabric->ports[node->first_port] : &fabric->ports[port];
}

static bool lacks(const uint8_t *info)
{
	return field(info, IB_PORT_PHYS_STATE_F) == FABRIC_PHYS_LINK_UP && field(info, IB_PORT_LINK_SPEED_EXT_SUPPORTED_F) == 0;
}

bool link_lacks_ext_speeds(const struct fabric *fabric, uint32_t port)
{
	const struct fabric_port *p = &fabric->ports[port], *gates = gates_of(fabric, port);

	return p->known && p->number != 0 && gates->known && fabric_port_cap_mask(gates) & CAP_EXT_SPEEDS && lacks(p->info);
}

void link_keep_ext_speeds(const uint8_t *earlier, uint8_t *info)
{
	if (!lacks(info) || field(earlier, IB_PORT_PHYS_STATE_F) != FABRIC_PHYS_LINK_UP)
		return;
	memcpy(info + EXT_BYTE, earlier + EXT_BYTE, 2);
	info[EXT2_BYTE] = earlier[EXT2_BYTE];
}

bool link_decode(const struct fabric *fabric, uint32_t port, struct link_state *state)
{
	const struct fabric_port *p = &fabric->ports[port];

	*state = (struct link_state){0};
	if (!p->known || p->number == 0 || fabric_port_phys_state(p) != FABRIC_PHYS_LINK_UP ||
	    fabric_port_state(p) == FABRIC_STATE_DOWN)
		return false;
	decode_widths(p, state);
	decode_speeds(p, gates_of(fabric, port), state);
	return true;
}

unsigned link_best(unsigned mask)
{
	while (mask & (mask - 1))
		mask &= mask - 1;
	return mask;
}

const char *link_width_name(unsigned set)
{
	for (unsigned i = 0; i < WIDTHS; i++) {
		if (widths[i].width == link_best(set))
			return widths[i].name;
	}
	return "";
}

const char *link_speed_name(unsigned set)
{
	for (unsigned i = 0; i < SPEEDS; i++) {
		if (speeds[i].speed == link_best(set))
			return speeds[i].name;
	}
	return "";
}

unsigned link_width_lanes(unsigned set)
{
	for (unsigned i = 0; i < WIDTHS; i++) {
		if (widths[i].width == link_best(set))
			return widths[i].lanes;
	}
	return 0;
}

double link_gbps(unsigned width, unsigned speed)
{
	for (unsigned i = 0; i < SPEEDS; i++) {
		if (speeds[i].speed == link_best(speed))
			return link_width_lanes(width) * speeds[i].gbps;
	}
	return 0;
}

double link_line_gbps(unsigned width, unsigned speed)
{
	for (unsigned i = 0; i < SPEEDS; i++) {
		if (speeds[i].speed == link_best(speed))
			return link_width_lanes(width) * speeds[i].line_gbps;
	}
	return 0;
}
