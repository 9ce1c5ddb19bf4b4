/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * SL2VL and VL arbitration tables: what a port makes of them (folding, capacity), their form in a
 * MAD and in opensm.conf.
 */
#include <stdio.h>
#include <string.h>

#include "ibqos/qos.h"

const char *qos_port_type_name(enum qos_port_type type)
{
	switch (type) {
	case QOS_PORT_CA:
		return "ca";
	case QOS_PORT_SW0:
		return "sw0";
	case QOS_PORT_SWE:
		return "swe";
	case QOS_PORT_RTR:
		return "rtr";
	case QOS_PORT_TYPES:
		break;
	}
	return "unknown";
}

/* IBA 14.2.5.6: PortInfo:VLCap and OperationalVLs */
unsigned qos_vls_of_code(unsigned code)
{
	switch (code) {
	case 1:
		return 1;
	case 2:
		return 2;
	case 3:
		return 4;
	case 4:
		return 8;
	case 5:
		return 15;
	default:
		return 0;
	}
}

unsigned qos_code_of_vls(unsigned vls)
{
	for (unsigned code = 1; code <= 5; code++)
		if (qos_vls_of_code(code) == vls)
			return code;
	return 0;
}

/*
 * osm_qos.c:174. Code 5 gives 0x0f, so all VLs stay. Codes that IBA reserves are taken as 5 is,
 * since a mask that OpenSM would make of them keeps VL 0..14 too (a shift by -1 for code 0 is
 * undefined in C and gives all bits where it runs).
 */
static uint8_t fold(uint8_t vl, unsigned oper_vls_code)
{
	if (oper_vls_code < 1 || oper_vls_code > 5)
		return vl;
	return vl & ((1u << (oper_vls_code - 1)) - 1);
}

uint8_t qos_fold_vl(uint8_t vl, unsigned oper_vls_code)
{
	return vl == QOS_VL_DROP ? vl : fold(vl, oper_vls_code);
}

void qos_fold_sl2vl(const struct qos_sl2vl *in, unsigned oper_vls_code, struct qos_sl2vl *out)
{
	for (unsigned sl = 0; sl < QOS_SLS; sl++)
		out->vl[sl] = qos_fold_vl(in->vl[sl], oper_vls_code);
}

/* osm_qos.c:213-252 */
static unsigned block_length(unsigned block, unsigned cap)
{
	if (block == 0)
		return cap < QOS_VLARB_BLOCK ? cap : QOS_VLARB_BLOCK;
	if (block == 1 && cap > QOS_VLARB_BLOCK)
		return cap % QOS_VLARB_BLOCK;
	return 0;
}

void qos_vlarb_block(const struct qos_vlarb *table, unsigned block, unsigned cap, unsigned oper_vls_code,
		     struct qos_vlarb_entry out[QOS_VLARB_BLOCK], unsigned *length)
{
	unsigned first = block * QOS_VLARB_BLOCK;

	*length = block_length(block, cap);
	memset(out, 0, QOS_VLARB_BLOCK * sizeof(out[0]));
	for (unsigned i = 0; i < *length && first + i < table->count && first + i < QOS_VLARB_ENTRIES; i++) {
		/* no exception for VL15 here: OpenSM takes VLs of these tables modulo 15 when it reads them
		 */
		out[i].vl = fold(table->entry[first + i].vl, oper_vls_code);
		out[i].weight = table->entry[first + i].weight;
	}
}

/* IBA 14.2.5.9: SL0 in the upper half of the first byte */
void qos_sl2vl_decode(const uint8_t wire[QOS_SL2VL_WIRE], struct qos_sl2vl *table)
{
	for (unsigned i = 0; i < QOS_SL2VL_WIRE; i++) {
		table->vl[2 * i] = wire[i] >> 4;
		table->vl[2 * i + 1] = wire[i] & 0xf;
	}
}

void qos_sl2vl_encode(const struct qos_sl2vl *table, uint8_t wire[QOS_SL2VL_WIRE])
{
	for (unsigned i = 0; i < QOS_SL2VL_WIRE; i++)
		wire[i] = (uint8_t)((table->vl[2 * i] & 0xf) << 4 | (table->vl[2 * i + 1] & 0xf));
}

/* IBA 14.2.5.10: 4 reserved bits, 4 bits VL, 8 bits weight */
void qos_vlarb_decode(const uint8_t wire[2 * QOS_VLARB_BLOCK], struct qos_vlarb_entry out[QOS_VLARB_BLOCK])
{
	for (unsigned i = 0; i < QOS_VLARB_BLOCK; i++) {
		out[i].vl = wire[2 * i] & 0xf;
		out[i].weight = wire[2 * i + 1];
	}
}

void qos_sl2vl_format(const struct qos_sl2vl *table, char text[QOS_TEXT_MAX])
{
	size_t used = 0;

	for (unsigned sl = 0; sl < QOS_SLS; sl++)
		used += (size_t)snprintf(text + used, QOS_TEXT_MAX - used, "%s%u", sl ? "," : "",
					 table->vl[sl]);
}

/* 64 entries of at most "255:255," are 512 bytes with the NUL in the last comma's place. */
void qos_vlarb_format(const struct qos_vlarb_entry *entries, unsigned count, char text[QOS_TEXT_MAX])
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < count && i < QOS_VLARB_ENTRIES; i++)
		used += (size_t)snprintf(text + used, QOS_TEXT_MAX - used, "%s%u:%u", i ? "," : "",
					 entries[i].vl, entries[i].weight);
}

/* A decimal number without leading zeros, up to `max`, at *text, which is moved behind it. */
static bool parse_number(const char **text, unsigned max, unsigned *number)
{
	const char *at = *text;

	*number = 0;
	if (*at < '0' || *at > '9' || (*at == '0' && at[1] >= '0' && at[1] <= '9'))
		return false;
	for (; *at >= '0' && *at <= '9'; at++) {
		*number = *number * 10 + (unsigned)(*at - '0');
		if (*number > max)
			return false;
	}
	*text = at;
	return true;
}

bool qos_sl2vl_parse(const char *text, struct qos_sl2vl *table)
{
	for (unsigned sl = 0; sl < QOS_SLS; sl++) {
		unsigned vl;

		if ((sl > 0 && *text++ != ',') || !parse_number(&text, QOS_VL_DROP, &vl))
			return false;
		table->vl[sl] = (uint8_t)vl;
	}
	return *text == '\0';
}

bool qos_vlarb_parse(const char *text, struct qos_vlarb *table)
{
	memset(table, 0, sizeof(*table));
	while (table->count < QOS_VLARB_ENTRIES) {
		unsigned vl, weight;

		if (!parse_number(&text, QOS_DATA_VLS - 1, &vl) || *text++ != ':' || !parse_number(&text, UINT8_MAX, &weight))
			return false;
		table->entry[table->count++] = (struct qos_vlarb_entry){(uint8_t)vl, (uint8_t)weight};
		if (*text == '\0')
			return true;
		if (*text++ != ',')
			return false;
	}
	return false;
}

bool qos_sl2vl_equal(const struct qos_sl2vl *a, const struct qos_sl2vl *b)
{
	return memcmp(a->vl, b->vl, sizeof(a->vl)) == 0;
}
