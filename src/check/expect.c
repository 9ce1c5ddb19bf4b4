/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * expect: what a port must hold once OpenSM has programmed it.
 */
#include "expect.h"

#include <string.h>

#include <infiniband/mad.h>

void expect_init(struct expect *expect, const struct qos_config *config)
{
	struct qos_sl2vl folded;
	unsigned type, code;

	expect->config = config;
	for (type = 0; type < QOS_PORT_TYPES; type++) {
		for (code = 0; code < EXPECT_CODES; code++) {
			qos_fold_sl2vl(&config->of[type].sl2vl, code, &folded);
			qos_sl2vl_encode(&folded, expect->sl2vl[type][code]);
		}
	}
}

/*
 * A switch has IsSLMappingSupported at port 0 for all its ports. Where port 0 did not tell, the
 * tables are asked for: a switch that has none refuses, and that is then reported as not known.
 */
static bool has_sl_map(const struct fabric *fabric, const struct fabric_node *node, uint32_t port)
{
	const struct fabric_port *teller = &fabric->ports[port];

	if (node->type == FABRIC_SWITCH)
		teller = &fabric->ports[node->first_port];
	return !teller->known || fabric_port_cap_mask(teller) & FABRIC_CAP_SL_MAP;
}

/*
 * link_mgr_process_node() passes by a port whose other end the SM does not know: it takes it down
 * unless it is in Init, so only there VLHighLimit stays what it was.
 */
static bool sets_high_limit(const struct fabric_port *port)
{
	return port->number == 0 || port->peer != FABRIC_NONE || fabric_port_state(port) != FABRIC_STATE_INIT;
}

/*
 * The OperationalVLs that most ports of a switch run, of equally many the one that got there first, as OpenSM counts; 0 where
 * the switch does not take all its SL2VL tables at once.
 */
static uint8_t common_vls(const struct fabric *fabric, const struct fabric_node *node)
{
	unsigned count[EXPECT_CODES] = {0}, most = 0;
	uint8_t common = 0;

	/* of the field's two bits OpenSM looks at the lower one (ib_types.h) */
	if (!(mad_get_field((void *)node->switch_info, 0, IB_SW_OPT_SLTOVL_MAPPING_F) & 1))
		return 0;
	for (uint32_t i = node->first_port + 1; i <= node->first_port + node->ports; i++) {
		const struct fabric_port *p = &fabric->ports[i];
		unsigned code;

		if (!p->known || fabric_port_state(p) == FABRIC_STATE_DOWN)
			continue;
		code = fabric_port_oper_vls(p) % EXPECT_CODES;
		if (++count[code] > most) {
			most = count[code];
			common = (uint8_t)code;
		}
	}
	return common;
}

static bool has_weight(const struct qos_vlarb *table)
{
	for (unsigned i = 0; i < table->count; i++)
		if (table->entry[i].weight > 0)
			return true;
	return false;
}

enum expect_scope expect_port(const struct expect *expect, const struct fabric *fabric, uint32_t port,
			      struct expect_port *out)
{
	const struct fabric_port *p = &fabric->ports[port];
	const struct fabric_node *node = fabric_port_node(fabric, port);
	bool is_switch = node->type == FABRIC_SWITCH;
	bool one_vl = fabric_port_vl_cap(p) == 1;

	memset(out, 0, sizeof(*out));
	if (is_switch && p->number == 0) {
		if (!node->has_switch_info)
			return EXPECT_UNSURE;
		if (!node->enhanced_port0)
			return EXPECT_BASE_PORT;
	}
	if (fabric_port_state(p) == FABRIC_STATE_DOWN)
		return EXPECT_DOWN;

	out->type = fabric_port_qos_type(fabric, port);
	out->oper_vls = fabric_port_oper_vls(p) % EXPECT_CODES;
	if (!one_vl) { /* vlarb_update(): a port with one data VL has no arbitration */
		out->low_cap = fabric_port_vlarb_low_cap(p);
		out->high_cap = fabric_port_vlarb_high_cap(p);
		/* port 0 of a switch has no link to arbitrate */
		out->no_low = p->number != 0 && out->low_cap == 0 && has_weight(&expect->config->of[out->type].low);
		out->no_high = p->number != 0 && out->high_cap == 0 && has_weight(&expect->config->of[out->type].high);
	}
	out->has_high_limit = sets_high_limit(p);
	out->high_limit = one_vl ? 0 : expect->config->of[out->type].high_limit;
	if (is_switch && p->number == 0)
		out->common_vls = common_vls(fabric, node);
	if (has_sl_map(fabric, node, port))
		out->in_ports = is_switch ? node->ports + 1 : 1;
	else
		out->no_sl_map = !one_vl;
	return EXPECT_PROGRAMMED;
}

const uint8_t *expect_sl2vl(const struct expect *expect, const struct expect_port *port, unsigned in_port)
{
	unsigned type = port->type;

	/*
	 * Enhanced port 0 as an out port: qos_extports_setup() writes the map of the other ports for
	 * every in-port, then qos_endport_setup() that of port 0 with modifier 0, which is in-port 0.
	 */
	if (type == QOS_PORT_SW0 && in_port != 0)
		type = QOS_PORT_SWE;
	return expect->sl2vl[type][port->oper_vls];
}

const uint8_t *expect_sl2vl_common(const struct expect *expect, const struct expect_port *port, unsigned in_port)
{
	const struct qos_tables *of = expect->config->of;

	if (port->common_vls == 0)
		return NULL;
	if (in_port == 0 && !qos_sl2vl_equal(&of[QOS_PORT_SW0].sl2vl, &of[QOS_PORT_SWE].sl2vl))
		return NULL;
	return expect->sl2vl[QOS_PORT_SWE][port->common_vls];
}

const uint8_t *expect_sl2vl_other(const struct expect *expect, const struct expect_port *port, unsigned in_port)
{
	static const uint8_t zeros[QOS_SL2VL_WIRE];

	if (port->type != QOS_PORT_SW0 || in_port != 0 ||
	    memcmp(expect->sl2vl[QOS_PORT_SW0][port->oper_vls], zeros, sizeof(zeros)) != 0)
		return NULL;
	return expect->sl2vl[QOS_PORT_SWE][port->oper_vls];
}

bool expect_leftover(const struct expect_port *port, unsigned block)
{
	return block % 2 == 1 && (block < 2 ? port->low_cap : port->high_cap) == QOS_VLARB_ENTRIES;
}

unsigned expect_vlarb(const struct expect *expect, const struct expect_port *port, unsigned block,
		      struct qos_vlarb_entry out[QOS_VLARB_BLOCK])
{
	const struct qos_tables *tables = &expect->config->of[port->type];
	bool low = block < 2;
	unsigned length;

	qos_vlarb_block(low ? &tables->low : &tables->high, block % 2, low ? port->low_cap : port->high_cap,
			port->oper_vls, out, &length);
	if (!expect_leftover(port, block))
		return length;
	memset(out, 0, QOS_VLARB_BLOCK * sizeof(*out));
	return QOS_VLARB_BLOCK;
}
