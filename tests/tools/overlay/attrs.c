/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Attributes by name, their fields by libibmad's names, and values put into them. Fields that the
 * libibmad of rdma-core 44 has no name for are given one here, by their place in the attribute.
 */
#include <infiniband/mad.h>
#include <stdlib.h>
#include <string.h>

#include "overlay.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fields of 32 and 64 bits are passed by one pointer");

enum port_from { PORT_OF_ENTRY, PORT_IN_MODIFIER, PORT_IN_DATA };

struct attr {
	const char *name;
	int class;
	uint16_t id;
	enum port_from port_from;
	struct {
		int first, end;
	} fields[4]; /* libibmad's numbers, end not included */
};

/* IBA 14.2.5, 16.1.3, 16.1.4 */
static const struct attr attrs[] = {
	{"NodeDesc", CLASS_SMP, 0x10, PORT_OF_ENTRY, {{0}}},
	{"NodeInfo", CLASS_SMP, 0x11, PORT_OF_ENTRY, {{IB_NODE_FIRST_F, IB_NODE_LAST_F}}},
	{"SwitchInfo", CLASS_SMP, 0x12, PORT_OF_ENTRY, {{IB_SW_FIRST_F, IB_SW_LAST_F}}},
	{"PortInfo",
	 CLASS_SMP,
	 0x15,
	 PORT_IN_MODIFIER,
	 {{IB_PORT_FIRST_F, IB_PORT_LAST_F},
	  {IB_PORT_CAPMASK2_F, IB_PORT_CAPMASK2_F + 1},
	  {IB_PORT_LINK_SPEED_EXT_ACTIVE_F, IB_PORT_LINK_SPEED_EXT_LAST_F}}},
	{"PKeyTable", CLASS_SMP, 0x16, PORT_IN_MODIFIER, {{0}}},
	{"SL2VL", CLASS_SMP, 0x17, PORT_IN_MODIFIER, {{0}}},
	{"VLArb", CLASS_SMP, 0x18, PORT_IN_MODIFIER, {{0}}},
	{"LFT", CLASS_SMP, 0x19, PORT_OF_ENTRY, {{0}}},
	{"SMInfo", CLASS_SMP, 0x20, PORT_OF_ENTRY, {{IB_SMINFO_GUID_F, IB_SMINFO_STATE_F + 1}}},
	{"PortInfoExtended",
	 CLASS_SMP,
	 0x33,
	 PORT_IN_MODIFIER,
	 {{IB_PORT_EXT_FIRST_F, IB_PORT_EXT_LAST_F},
	  {IB_PORT_EXT_HDR_FEC_MODE_SUPPORTED_F, IB_PORT_EXT_HDR_FEC_MODE_LAST_F},
	  {IB_PORT_EXT_NDR_FEC_MODE_SUPPORTED_F, IB_PORT_EXT_NDR_FEC_MODE_LAST_F}}},
	{"MlnxExtPortInfo", CLASS_SMP, 0xff90, PORT_IN_MODIFIER, {{IB_MLNX_EXT_PORT_STATE_CHG_ENABLE_F, IB_MLNX_EXT_PORT_LAST_F}}},
	{"ClassPortInfo", CLASS_PMA, 0x01, PORT_OF_ENTRY, {{IB_CPI_BASEVER_F, IB_CPI_TRAP_QKEY_F + 1}}},
	{"PortSamplesControl", CLASS_PMA, 0x10, PORT_IN_DATA, {{IB_PSC_OPCODE_F, IB_PSC_LAST_F}}},
	{"PortCounters",
	 CLASS_PMA,
	 0x12,
	 PORT_IN_DATA,
	 {{IB_PC_FIRST_F, IB_PC_LAST_F}, {IB_PC_QP1_DROP_F, IB_PC_QP1_DROP_F + 1}}},
	{"PortRcvErrorDetails", CLASS_PMA, 0x15, PORT_IN_DATA, {{IB_PC_RCV_LOCAL_PHY_ERR_F, IB_PC_RCV_ERR_LAST_F}}},
	{"PortXmitDiscardDetails", CLASS_PMA, 0x16, PORT_IN_DATA, {{IB_PC_XMT_INACT_DISC_F, IB_PC_XMT_DISC_LAST_F}}},
	{"PortVLXmitWaitCounters", CLASS_PMA, 0x1c, PORT_IN_DATA, {{IB_PC_PORT_VL_XMIT_WAIT_COUNTERS_FIRST_F, IB_PC_PORT_VL_XMIT_WAIT_COUNTERS_LAST_F}}},
	{"PortXmitDataSL", CLASS_PMA, 0x36, PORT_IN_DATA, {{IB_PC_XMT_DATA_SL_FIRST_F, IB_PC_XMT_DATA_SL_LAST_F}}},
	{"PortXmitDataSLExt", CLASS_PMA, 0x38, PORT_IN_DATA, {{0}}},
	{"PortCountersExtended",
	 CLASS_PMA,
	 0x1d,
	 PORT_IN_DATA,
	 {{IB_PC_EXT_FIRST_F, IB_PC_EXT_LAST_F}, {IB_PC_EXT_COUNTER_SELECT2_F, IB_PC_EXT_ERR_LAST_F}}},
	/* the forms without and with RS-FEC: what both have lies at the same place */
	{"PortExtendedSpeedsCounters",
	 CLASS_PMA,
	 0x1f,
	 PORT_IN_DATA,
	 {{IB_PESC_PORT_SELECT_F, IB_PESC_LAST_F}, {IB_PESC_RSFEC_FIRST_F, IB_PESC_RSFEC_LAST_F}}},
};
#define ATTRS (sizeof(attrs) / sizeof(attrs[0]))

#define SL_EXT(sl) {"PortXmitDataSLExt", "XmtDataSL" #sl, 64 + 64 * (sl), 64}

/* Names of our own: first bit from the attribute's first (the highest of a byte is first), and width. */
static const struct {
	const char *attr, *name;
	unsigned first, width;
} own_fields[] = {
	/* XDR; as rdma-core's libibmad has them since 2024 */
	{"PortInfo", "LinkSpeedExtActive2", 449, 2},
	{"PortInfo", "LinkSpeedExtSupported2", 451, 2},
	{"PortInfo", "LinkSpeedExtEnabled2", 453, 3},
	{"PortInfo", "CapMask2", 480, 16},
	{"ClassPortInfo", "CapMask", 16, 16},
	{"ClassPortInfo", "CapMask2", 32, 27},
	/* as in the layouts of NVIDIA's ibutils2: four reserved bytes, then 16 values */
	SL_EXT(0), SL_EXT(1), SL_EXT(2), SL_EXT(3), SL_EXT(4), SL_EXT(5), SL_EXT(6), SL_EXT(7), SL_EXT(8), SL_EXT(9), SL_EXT(10),
	SL_EXT(11), SL_EXT(12), SL_EXT(13), SL_EXT(14), SL_EXT(15),
};
#define OWN_FIELDS (sizeof(own_fields) / sizeof(own_fields[0]))

const struct attr *attr_named(const char *name)
{
	for (unsigned i = 0; i < ATTRS; i++)
		if (!strcmp(attrs[i].name, name))
			return &attrs[i];
	return NULL;
}

uint16_t attr_id(const struct attr *attr)
{
	return attr->id;
}

int attr_class(const struct attr *attr)
{
	return attr->class;
}

int class_of(uint8_t class)
{
	return class_is_smp(class) ? CLASS_SMP : class == 0x04 ? CLASS_PMA : class == 0x03 ? CLASS_SA : CLASS_ANY;
}

unsigned about_port(const struct request *req)
{
	const struct attr *attr = NULL;
	unsigned port = 0;

	for (unsigned i = 0; i < ATTRS && !attr; i++)
		if (attrs[i].id == req->attr && attrs[i].class == class_of(req->class))
			attr = &attrs[i];
	if (attr && attr->port_from == PORT_IN_MODIFIER)
		port = req->mod & 0xff;
	else if (attr && attr->port_from == PORT_IN_DATA)
		port = req->mad[data_offset(req->class) + 1];
	return port ? port : req->place.port;
}

/* --- fields --- */

/* SLn, entryN, byteN: the number behind the prefix, or -1. */
static int numbered(const char *name, const char *prefix, int max)
{
	size_t l = strlen(prefix);
	char *end;
	long n;

	if (strncmp(name, prefix, l) || !name[l])
		return -1;
	n = strtol(name + l, &end, 10);
	return *end || n < 0 || n > max ? -1 : (int)n;
}

static bool find_field(struct setter *s, const struct attr *attr, const char *name)
{
	for (unsigned i = 0; i < OWN_FIELDS; i++)
		if (!strcmp(own_fields[i].attr, attr->name) && !strcmp(own_fields[i].name, name)) {
			s->kind = SET_BITS;
			s->index = (int)own_fields[i].first;
			s->width = own_fields[i].width;
			return true;
		}
	for (unsigned i = 0; i < sizeof(attr->fields) / sizeof(attr->fields[0]); i++)
		for (int f = attr->fields[i].first; f && f < attr->fields[i].end; f++)
			if (mad_field_name(f) && !strcmp(mad_field_name(f), name)) {
				s->kind = SET_FIELD;
				s->index = f;
				return true;
			}
	return false;
}

static uint64_t get(const struct setter *s, uint8_t *data)
{
	uint64_t value = 0;

	if (s->kind == SET_FIELD)
		mad_decode_field(data, s->index, &value);
	for (unsigned i = 0; s->kind == SET_BITS && i < s->width; i++) {
		unsigned bit = (unsigned)s->index + i;

		value = value << 1 | (data[bit / 8] >> (7 - bit % 8) & 1);
	}
	return value;
}

static void put(const struct setter *s, uint64_t value, uint8_t *data)
{
	uint8_t *nibbles = data + s->index / 2;

	switch (s->kind) {
	case SET_FIELD:
		mad_encode_field(data, s->index, &value);
		break;
	case SET_BITS:
		for (unsigned i = 0; i < s->width; i++) {
			unsigned bit = (unsigned)s->index + i, mask = 0x80u >> bit % 8;

			data[bit / 8] = (uint8_t)(value >> (s->width - 1 - i) & 1 ? data[bit / 8] | mask :
										   data[bit / 8] & ~mask);
		}
		break;
	case SET_SL: /* IBA 14.2.5.8: SL0 in the upper half of the first byte */
		*nibbles = s->index % 2 ? (uint8_t)((*nibbles & 0xf0) | value) :
					  (uint8_t)((*nibbles & 0x0f) | value << 4);
		break;
	case SET_ENTRY:
		data[2 * s->index] = (uint8_t)(value >> 8);
		data[2 * s->index + 1] = (uint8_t)value;
		break;
	case SET_TEXT:
		memcpy(data, s->text, sizeof(s->text));
		break;
	case SET_BYTE:
		data[s->index] = (uint8_t)value;
		break;
	}
}

/* The highest value that fits the field. */
static uint64_t highest(const struct setter *s)
{
	uint8_t scratch[192] = {0};

	put(s, UINT64_MAX, scratch);
	return get(s, scratch);
}

static bool whole_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	*value = strtoull(text, &end, 0);
	return *text && *text != '-' && !*end && *value <= max;
}

static bool read_rate(const char *text, long double *rate)
{
	char *end;

	*rate = strtold(text, &end);
	return *text && end != text && !strcmp(end, "/s") && *rate > 0 && *rate < 1e15L;
}

/* The value of a field of libibmad or of our own. */
static const char *read_value(struct setter *s, bool grow, const char *value)
{
	if (grow)
		return read_rate(value, &s->rate) ? NULL : "not a rate, as in 12.5/s:";
	if (!whole_number(value, UINT64_MAX, &s->value))
		return "bad number";
	return s->value <= highest(s) ? NULL : "does not fit its field:";
}

const char *setter_read(struct setter *s, const struct attr *attr, int class, bool grow, const char *name,
			const char *value, const char **culprit)
{
	bool sl2vl = attr && attr->id == 0x17, vlarb = attr && attr->id == 0x18;
	unsigned vl, weight;
	char end;

	*s = (struct setter){0};
	*culprit = value;
	if (attr && find_field(s, attr, name))
		return read_value(s, grow, value);
	if (grow) {
		*culprit = name;
		return "not a counter:";
	}
	s->index = numbered(name, "byte", class == CLASS_SMP ? 63 : 191);
	if (s->index >= 0) {
		s->kind = SET_BYTE;
		return whole_number(value, 255, &s->value) ? NULL : "bad number";
	}
	if (sl2vl && (s->index = numbered(name, "SL", 15)) >= 0) {
		s->kind = SET_SL;
		return whole_number(value, 15, &s->value) ? NULL : "bad number";
	}
	if (vlarb && (s->index = numbered(name, "entry", 31)) >= 0) {
		if (sscanf(value, "%u:%u%c", &vl, &weight, &end) != 2 || vl > 15 || weight > 255)
			return "not VL:WEIGHT";
		s->kind = SET_ENTRY;
		s->value = vl << 8 | weight;
		return NULL;
	}
	if (attr && attr->id == 0x10 && !strcmp(name, "NodeDesc")) {
		if (strlen(value) > sizeof(s->text))
			return "too long";
		s->kind = SET_TEXT;
		memcpy(s->text, value, strlen(value));
		return NULL;
	}
	*culprit = name;
	return "unknown field";
}

/* --- counters that grow --- */

static uint64_t grown(uint64_t base, long double rate, const struct growth *g, long double now, uint64_t high)
{
	bool restarted = g->reset > 0 && now >= g->reset;
	long double seconds = now - (restarted ? g->reset : g->since);
	/* 1e15/s at most for 1e10 s: 1e25 */
	unsigned __int128 value = (restarted ? 0 : base) + (unsigned __int128)(seconds > 0 ? rate * seconds : 0);

	if (g->wrap)
		return (uint64_t)value & high; /* a field's highest value is all ones */
	return value > high ? high : (uint64_t)value;
}

void setter_put(const struct setter *s, const struct growth *growth, long double now, uint8_t *data)
{
	put(s, s->rate > 0 ? grown(get(s, data), s->rate, growth, now, highest(s)) : s->value, data);
}
