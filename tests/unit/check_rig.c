/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* check_rig: see check_rig.h. PortInfo is read here by byte offset, tables are folded by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "check_rig.h"

#define SL_MAP 0x40 /* CapabilityMask bit 6 */

void rig_config(struct qos_config *config)
{
	unsigned type, i;

	memset(config, 0, sizeof(*config));
	for (type = 0; type < QOS_PORT_TYPES; type++) {
		struct qos_tables *t = &config->of[type];

		for (i = 0; i < QOS_SLS; i++)
			t->sl2vl.vl[i] = (i * (type + 1) + type) % 15;
		t->sl2vl.vl[15] = QOS_VL_DROP;
		t->low.count = t->high.count = QOS_VLARB_ENTRIES;
		for (i = 0; i < QOS_VLARB_ENTRIES; i++) {
			t->low.entry[i] = (struct qos_vlarb_entry){(i + type) % 15, 1 + 3 * i + type};
			t->high.entry[i] = (struct qos_vlarb_entry){(2 * i + type) % 15, 255 - 2 * i - type};
		}
		t->high_limit = 10 * type + 1;
	}
}

/* --- the fabric --- */

static void seen(struct fabric *fabric, uint32_t node, unsigned number, const struct image_port *port)
{
	uint8_t info[MAD_SMP_DATA];

	image_port_info(info, port);
	assert_int_equal(fabric_port_seen(fabric, node, number, 0, info, NULL), 0);
}

static uint32_t add_switch(struct fabric *fabric, const char *name, uint64_t guid, unsigned ports,
			   bool has_switch_info, bool enhanced, const struct mad_route *route)
{
	uint8_t node_info[MAD_SMP_DATA], switch_info[MAD_SMP_DATA], desc[MAD_SMP_DATA];
	uint32_t node;

	image_node_info(node_info, FABRIC_SWITCH, guid, ports, 0);
	image_switch_info(switch_info, enhanced);
	image_node_desc(desc, name);
	node = fabric_add_node(fabric, node_info, has_switch_info ? switch_info : NULL, desc, route);
	assert_int_not_equal(node, FABRIC_NONE);
	return node;
}

static uint32_t add_end(struct fabric *fabric, const char *name, uint64_t guid, enum fabric_node_type type,
			const struct image_port *port, const struct mad_route *route)
{
	uint8_t node_info[MAD_SMP_DATA], desc[MAD_SMP_DATA];
	uint32_t node;

	image_node_info(node_info, type, guid, 2, 1); /* a second port that is not cabled */
	image_node_desc(desc, name);
	node = fabric_add_node(fabric, node_info, NULL, desc, route);
	assert_int_not_equal(node, FABRIC_NONE);
	seen(fabric, node, 1, port);
	return node;
}

static struct image_port with(struct image_port port, unsigned lid, uint32_t cap_mask)
{
	port.lid = lid;
	port.cap_mask = cap_mask;
	return port;
}

static struct fabric *make_fabric(const struct rig_options *o)
{
	const struct image_port down = {.state = FABRIC_STATE_DOWN, .phys_state = 2};
	const struct mad_route to_leaf = {.hops = 1, .port = {0, 1}};
	const struct mad_route to_gpu_2 = {.hops = 2, .port = {0, 1, 2}};
	const struct mad_route to_router = {.hops = 2, .port = {0, 1, 3}};
	const struct mad_route to_spine = {.hops = 2, .port = {0, 1, 5}};
	const struct mad_route to_store = {.hops = 3, .port = {0, 1, 5, 3}};
	const struct mad_route here = {.hops = 0};
	struct fabric *fabric = fabric_new("rig");
	uint32_t host_caps = o->no_host_sl_map ? 0 : SL_MAP;
	struct image_port port;
	uint32_t leaf, spine, gpu_1, gpu_2, store, router;

	assert_non_null(fabric);
	/* not in the order of GUIDs */
	spine = add_switch(fabric, "spine", RIG_SPINE, RIG_SPINE_PORTS, !o->no_spine_switch_info, false,
			   &to_spine);
	leaf = add_switch(fabric, "leaf", RIG_LEAF, RIG_LEAF_PORTS, true, true, &to_leaf);
	port = with(o->host, 11, host_caps);
	gpu_1 = add_end(fabric, "gpu-1", RIG_GPU_1, FABRIC_CA, &port, &here);
	port = (struct image_port){.lid = 12, .cap_mask = SL_MAP};
	gpu_2 = add_end(fabric, "gpu-2", RIG_GPU_2, FABRIC_CA, &port, &to_gpu_2);
	port.lid = 13;
	store = add_end(fabric, "store", RIG_STORE, FABRIC_CA, &port, &to_store);
	port = with(o->router, 14, SL_MAP);
	router = add_end(fabric, "router", RIG_ROUTER, FABRIC_ROUTER, &port, &to_router);

	port = with(o->port0, 1, o->no_leaf_sl_map ? 0 : SL_MAP);
	seen(fabric, leaf, 0, &port);
	port = (struct image_port){.lid = 2, .cap_mask = SL_MAP};
	seen(fabric, spine, 0, &port);
	seen(fabric, leaf, 1, &o->host);
	seen(fabric, leaf, 2, &(struct image_port){.lid = 0});
	seen(fabric, leaf, 3, &o->router);
	seen(fabric, leaf, 4, &down);
	seen(fabric, leaf, 5, &o->isl);
	seen(fabric, leaf, 6, &o->isl);
	seen(fabric, spine, 1, &o->isl);
	if (!o->no_spine_port2_info)
		seen(fabric, spine, 2, &o->isl);
	seen(fabric, spine, 3, &(struct image_port){.lid = 0});
	seen(fabric, spine, 4, &down);
	assert_int_equal(fabric_link(fabric, gpu_1, 1, leaf, 1), 0);
	assert_int_equal(fabric_link(fabric, gpu_2, 1, leaf, 2), 0);
	assert_int_equal(fabric_link(fabric, router, 1, leaf, 3), 0);
	assert_int_equal(fabric_link(fabric, leaf, 5, spine, 1), 0);
	assert_int_equal(fabric_link(fabric, leaf, 6, spine, 2), 0);
	assert_int_equal(fabric_link(fabric, store, 1, spine, 3), 0);
	fabric->from_node = gpu_1;
	fabric->from_port = 1;
	assert_int_equal(fabric_finish(fabric), 0);
	return fabric;
}

/* --- OpenSM --- */

static unsigned info_code(const uint8_t *info, unsigned byte)
{
	return info[byte] >> 4;
}

static unsigned mask_of(const uint8_t *info)
{
	static const unsigned masks[] = {[1] = 0, [2] = 1, [3] = 3, [4] = 7, [5] = 15};

	assert_in_range(info_code(info, 43), 1, 5);
	return masks[info_code(info, 43)];
}

static bool has_sl_map(const uint8_t *info)
{
	return info[23] & SL_MAP;
}

/* sl2vl_update_table() */
static void set_sl2vl(struct rig_device *device, unsigned in, const struct qos_sl2vl *table)
{
	unsigned mask = mask_of(device->info), sl;
	uint8_t vl;

	memset(device->sl2vl[in], 0, sizeof(device->sl2vl[in]));
	for (sl = 0; sl < 16; sl++) {
		vl = table->vl[sl] == 15 ? 15 : table->vl[sl] & mask;
		device->sl2vl[in][sl / 2] |= sl % 2 ? vl : vl << 4;
	}
}

/* vlarb_update_table_block() */
static void set_vlarb(struct rig_device *device, unsigned block, const struct qos_vlarb *table,
		      unsigned first, unsigned length)
{
	unsigned mask = mask_of(device->info), i;

	for (i = 0; i < length; i++) {
		device->vlarb[block][2 * i] = table->entry[first + i].vl & mask;
		device->vlarb[block][2 * i + 1] = table->entry[first + i].weight;
	}
}

/* vlarb_update(), and what link_mgr_set_physp_pi() then sets */
static void set_vlarbs(struct rig_device *device, const struct qos_tables *tables)
{
	unsigned low = device->info[40], high = device->info[39];

	device->info[38] = tables->high_limit;
	if (info_code(device->info, 37) == 1) {
		device->info[38] = 0;
		return;
	}
	set_vlarb(device, 0, &tables->low, 0, low < 32 ? low : 32);
	if (low > 32)
		set_vlarb(device, 1, &tables->low, 32, low % 32);
	set_vlarb(device, 2, &tables->high, 0, high < 32 ? high : 32);
	if (high > 32)
		set_vlarb(device, 3, &tables->high, 32, high % 32);
}

static bool is_down(const struct rig_device *device)
{
	return (device->info[32] & 0xf) == 1;
}

static void program_switch(struct rig *rig, const struct fabric_node *node)
{
	struct rig_device *ports = &rig->devices[node->first_port];
	const struct qos_config *config = &rig->config;
	unsigned out, in;

	for (out = 1; out <= node->ports; out++)
		if (!is_down(&ports[out]))
			set_vlarbs(&ports[out], &config->of[QOS_PORT_SWE]);
	for (out = node->enhanced_port0 ? 0 : 1; has_sl_map(ports[0].info) && out <= node->ports; out++)
		for (in = 0; in <= node->ports && !is_down(&ports[out]); in++)
			set_sl2vl(&ports[out], in, &config->of[QOS_PORT_SWE].sl2vl);
	if (!node->enhanced_port0)
		return;
	set_vlarbs(&ports[0], &config->of[QOS_PORT_SW0]);
	if (has_sl_map(ports[0].info))
		set_sl2vl(&ports[0], 0, &config->of[QOS_PORT_SW0].sl2vl);
}

void rig_program(struct rig *rig)
{
	struct fabric *fabric = rig->fabric;
	uint32_t i;

	for (i = 0; i < fabric->node_count; i++) {
		const struct fabric_node *node = &fabric->nodes[i];
		struct rig_device *device = &rig->devices[node->first_port + 1];
		enum qos_port_type type = node->type == FABRIC_ROUTER ? QOS_PORT_RTR : QOS_PORT_CA;

		if (node->type == FABRIC_SWITCH) {
			program_switch(rig, node);
			continue;
		}
		set_vlarbs(device, &rig->config.of[type]);
		if (has_sl_map(device->info))
			set_sl2vl(device, 0, &rig->config.of[type].sl2vl);
	}
}

/* --- answering --- */

/* As devices do: a switch takes port numbers from the modifier, an end port is the one asked. */
static enum mad_outcome respond(void *arg, const struct source_query *query, uint8_t *data, uint16_t *status)
{
	struct rig *rig = arg;
	const struct fabric_node *node = fabric_port_node(rig->fabric, query->agent);
	struct rig_device *own = &rig->devices[query->agent], *ports = &rig->devices[node->first_port];
	bool is_switch = node->type == FABRIC_SWITCH;
	unsigned number = query->modifier & 0xff, in = query->modifier >> 8, block = query->modifier >> 16;

	*status = 0x1c; /* invalid attribute modifier */
	if (query->attribute == MAD_PORT_INFO) {
		if (number > node->ports || (!is_switch && number != rig->fabric->ports[query->agent].number))
			return MAD_STATUS;
		memcpy(data, ports[number].info, MAD_SMP_DATA);
	} else if (query->attribute == MAD_SL2VL) {
		if (is_switch ? number > node->ports || in > node->ports : query->modifier != 0)
			return MAD_STATUS;
		if (!has_sl_map(is_switch ? ports[0].info : own->info))
			return MAD_STATUS;
		memcpy(data, is_switch ? ports[number].sl2vl[in] : own->sl2vl[0], 8);
	} else if (query->attribute == MAD_VLARB) {
		if (block < 1 || block > 4 || (is_switch ? number > node->ports : number != 0))
			return MAD_STATUS;
		memcpy(data, (is_switch ? &ports[number] : own)->vlarb[block - 1], 64);
	} else {
		return MAD_STATUS;
	}
	return MAD_ANSWERED;
}

/* --- the rig --- */

void rig_make(struct rig *rig, const struct rig_options *options)
{
	const struct rig_options plain = {.no_leaf_sl_map = false};
	uint32_t i;

	memset(rig, 0, sizeof(*rig));
	rig->ctx = (struct ibqos_ctx){.program = "test", .fabric = "", .err = stderr};
	rig->fabric = make_fabric(options ? options : &plain);
	rig->source = script_source_new();
	rig_config(&rig->config);
	rig->devices = calloc(rig->fabric->port_count, sizeof(*rig->devices));
	assert_non_null(rig->devices);
	/* Whatever OpenSM does not write is not what anyone expects. */
	memset(rig->devices, 0xee, rig->fabric->port_count * sizeof(*rig->devices));
	for (i = 0; i < rig->fabric->port_count; i++)
		memcpy(rig->devices[i].info, rig->fabric->ports[i].info, MAD_SMP_DATA);
	if (options && options->no_spine_port2_info)
		image_port_info(rig_device(rig, RIG_SPINE, 2)->info, &options->isl);
	rig_program(rig);
	script_source_responder(rig->source, respond, rig);
}

void rig_free(struct rig *rig)
{
	verify_free(rig->verify);
	source_close(rig->source);
	fabric_free(rig->fabric);
	free(rig->devices);
	finding_list_clear(&rig->findings);
}

uint32_t rig_port(const struct rig *rig, uint64_t guid, unsigned number)
{
	uint32_t node = fabric_find_node(rig->fabric, guid), port;

	assert_int_not_equal(node, FABRIC_NONE);
	port = fabric_node_port(rig->fabric, node, number);
	assert_int_not_equal(port, FABRIC_NONE);
	return port;
}

struct rig_device *rig_device(struct rig *rig, uint64_t guid, unsigned number)
{
	return &rig->devices[rig_port(rig, guid, number)];
}

static void collect(struct rig *rig)
{
	finding_list_clear(&rig->findings);
	verify_findings(rig->verify, &rig->findings);
	finding_list_sort(&rig->findings);
	rig_check_coverage(rig);
}

void rig_verify(struct rig *rig)
{
	verify_free(rig->verify);
	rig->verify = NULL;
	assert_int_equal(verify_new(&rig->ctx, rig->fabric, &rig->config, &rig->verify), 0);
	assert_int_equal(verify_run(rig->verify, rig->source, false), 0);
	collect(rig);
}

void rig_verify_again(struct rig *rig)
{
	assert_int_equal(verify_run(rig->verify, rig->source, true), 0);
	collect(rig);
}

const struct finding *rig_only(const struct rig *rig, enum finding_code code)
{
	const struct finding *found = NULL;
	size_t i;

	for (i = 0; i < rig->findings.count; i++) {
		if (rig->findings.items[i].code != code)
			continue;
		assert_null(found);
		found = &rig->findings.items[i];
	}
	return found;
}

void rig_check_coverage(const struct rig *rig)
{
	const struct verify_result *result = verify_result(rig->verify);
	unsigned item, outcome;
	uint64_t ended;

	for (item = 0; item < VERIFY_ITEMS; item++) {
		for (ended = 0, outcome = 0; outcome < MAD_OUTCOMES; outcome++)
			ended += result->coverage[item].ended[outcome];
		assert_int_equal(ended, result->coverage[item].asked);
	}
}
