/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A plan told port by port: what each class has of the links of each kind that the fabric has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/link.h"
#include "plan.h"

void plan_hold(const struct qos_tables *all, unsigned high_cap, unsigned low_cap, unsigned oper_vls_code, struct qos_tables *held)
{
	const struct qos_vlarb *from[] = {&all->high, &all->low};
	struct qos_vlarb *to[] = {&held->high, &held->low};
	unsigned cap[] = {high_cap, low_cap};

	memset(held, 0, sizeof(*held));
	qos_fold_sl2vl(&all->sl2vl, oper_vls_code, &held->sl2vl);
	held->high_limit = all->high_limit;
	for (unsigned t = 0; t < 2; t++) {
		for (unsigned b = 0; b < QOS_VLARB_BLOCKS / 2; b++) {
			unsigned length;

			qos_vlarb_block(from[t], b, cap[t], oper_vls_code, &to[t]->entry[b * QOS_VLARB_BLOCK], &length);
			to[t]->count += length;
		}
	}
}

static void port_tables(const struct plan *plan, const struct fabric *fabric, uint32_t port, struct qos_tables *held)
{
	const struct fabric_port *p = &fabric->ports[port];

	plan_hold(&plan->config.of[fabric_port_qos_type(fabric, port)], fabric_port_vlarb_high_cap(p), fabric_port_vlarb_low_cap(p),
		  fabric_port_oper_vls(p), held);
	/* one VL for good has no tables (osm_qos.c:211), and needs none */
	if (fabric_port_vl_cap(p) == 1)
		held->low = (struct qos_vlarb){.count = 1, .entry = {{0, UINT8_MAX}}};
}

static int by_tables(const struct qos_tables *a, const struct qos_tables *b)
{
	int order = memcmp(&a->sl2vl, &b->sl2vl, sizeof(a->sl2vl));

	if (!order)
		order = memcmp(&a->high, &b->high, sizeof(a->high));
	if (!order)
		order = memcmp(&a->low, &b->low, sizeof(a->low));
	return order ? order : (int)a->high_limit - (int)b->high_limit;
}

static bool same_place(const struct plan_place *a, const struct plan_place *b)
{
	return a->type == b->type && a->special == b->special && a->vls == b->vls && a->mtu == b->mtu &&
	       a->width == b->width && a->speed == b->speed && by_tables(&a->tables, &b->tables) == 0;
}

static void look_at_port(const struct plan *plan, const struct fabric *fabric, uint32_t port, struct plan_place *place)
{
	const struct fabric_port *p = &fabric->ports[port];
	struct link_state state = {0};

	memset(place, 0, sizeof(*place));
	place->ports = 1;
	place->type = fabric_port_qos_type(fabric, port);
	place->special = plan_port_special(fabric, port);
	place->vls = qos_vls_of_code(fabric_port_oper_vls(p));
	place->mtu = fabric_port_neighbor_mtu(p);
	if (link_decode(fabric, port, &state)) {
		place->width = state.width_active;
		place->speed = state.speed_active;
		place->gbps = link_gbps(state.width_active, state.speed_active);
	}
	port_tables(plan, fabric, port, &place->tables);
}

/* What a class has of the link while exactly these VLs are busy. */
static double share_of(const struct plan_place *place, uint16_t busy, unsigned vl)
{
	unsigned packet[QOS_DATA_VLS];
	double share[QOS_DATA_VLS];

	for (unsigned i = 0; i < QOS_DATA_VLS; i++)
		packet[i] = place->mtu;
	qos_arbitrate(&place->tables, busy, packet, share);
	return share[vl];
}

/*
 * The most beside one other VL. Others that are busy too only take from it, so this is the most beside
 * any of them: held by the tests over all sets of busy VLs.
 */
static double most_beside_another(const struct plan_place *place, uint16_t busy, unsigned vl)
{
	double most = 0;

	for (unsigned other = 0; other < QOS_DATA_VLS; other++) {
		double share;

		if (other == vl || !(busy >> other & 1))
			continue;
		share = share_of(place, (uint16_t)(1u << vl | 1u << other), vl);
		most = share > most ? share : most;
	}
	return busy == 1u << vl ? 1 : most;
}

static void work_out(const struct plan *plan, struct plan_place *place)
{
	unsigned packet[QOS_DATA_VLS];
	uint16_t busy = 0;

	for (unsigned i = 0; i < QOS_DATA_VLS; i++)
		packet[i] = place->mtu;
	for (size_t i = 0; i < plan->class_count; i++) {
		unsigned vl = place->tables.sl2vl.vl[plan->classes[i].policy->sl];

		place->classes[i].vl = vl;
		if (vl != QOS_VL_DROP)
			busy |= (uint16_t)(1u << vl);
	}
	for (size_t i = 0; i < plan->class_count; i++) {
		struct plan_place_class *c = &place->classes[i];

		c->wait = QOS_WAIT_FOREVER;
		for (size_t j = 0; j < plan->class_count; j++)
			c->shared |= j != i && place->classes[j].vl == c->vl;
		if (c->vl == QOS_VL_DROP || place->mtu == 0)
			continue;
		c->guaranteed = share_of(place, busy, c->vl);
		c->at_most = most_beside_another(place, busy, c->vl);
		c->wait = qos_worst_wait(&place->tables, busy, packet, c->vl);
	}
}

/* By kind of port, then the fastest links first. */
static int by_place(const void *left, const void *right)
{
	const struct plan_place *a = left, *b = right;

	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->special != b->special)
		return a->special ? 1 : -1;
	if (a->gbps != b->gbps)
		return a->gbps > b->gbps ? -1 : 1;
	if (a->mtu != b->mtu)
		return a->mtu > b->mtu ? -1 : 1;
	if (a->vls != b->vls)
		return a->vls > b->vls ? -1 : 1;
	return by_tables(&a->tables, &b->tables);
}

int plan_explain(const struct plan *plan, const struct fabric *fabric, struct plan_place **places, size_t *count)
{
	size_t room = 0;

	*places = NULL;
	*count = 0;
	for (uint32_t port = 0; port < fabric->port_count; port++) {
		const struct fabric_port *p = &fabric->ports[port];
		struct plan_place place;
		size_t i = 0;
		void *grown;

		if (!p->known || p->peer == FABRIC_NONE || fabric_port_state(p) != FABRIC_STATE_ACTIVE)
			continue;
		look_at_port(plan, fabric, port, &place);
		while (i < *count && !same_place(&(*places)[i], &place))
			i++;
		if (i < *count) {
			(*places)[i].ports++;
			continue;
		}
		grown = array_grow(*places, &room, *count + 1, sizeof(place));
		if (!grown) {
			free(*places);
			*places = NULL;
			return -ENOMEM;
		}
		*places = grown;
		(*places)[(*count)++] = place;
	}
	for (size_t i = 0; i < *count; i++)
		work_out(plan, &(*places)[i]);
	if (*count)
		qsort(*places, *count, sizeof(**places), by_place);
	return 0;
}
