/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fabric's side of a plan: what its links can carry, and what each port makes of the tables.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "vlarb_fit.h"

static bool is_special(const struct fabric_node *node)
{
	return node->type == FABRIC_ROUTER || fabric_node_is_aggregation(node);
}

static bool link_special(const struct fabric *fabric, const struct fabric_link *link)
{
	return is_special(fabric_port_node(fabric, link->a)) || is_special(fabric_port_node(fabric, link->b));
}

bool plan_port_special(const struct fabric *fabric, uint32_t port)
{
	uint32_t peer = fabric->ports[port].peer;

	return is_special(fabric_port_node(fabric, port)) ||
	       (peer != FABRIC_NONE && is_special(fabric_port_node(fabric, peer)));
}

static bool port_active(const struct fabric *fabric, uint32_t port)
{
	const struct fabric_port *p = &fabric->ports[port];

	return p->known && fabric_port_state(p) == FABRIC_STATE_ACTIVE;
}

/* Calls back with every active port at the end of a link, in the order of the links. */
static void each_port(const struct fabric *fabric, void (*call)(void *arg, uint32_t port, bool special),
		      void *arg)
{
	for (uint32_t i = 0; i < fabric->link_count; i++) {
		const struct fabric_link *link = &fabric->links[i];
		bool special = link_special(fabric, link);

		if (port_active(fabric, link->a))
			call(arg, link->a, special);
		if (link->b != link->a && port_active(fabric, link->b))
			call(arg, link->b, special);
	}
}

static unsigned port_vls(const struct fabric_port *port)
{
	return qos_vls_of_code(fabric_port_oper_vls(port));
}

/* OpenSM sends no VLArb table to a port that has one VL for good (osm_qos.c:211). */
static bool has_vlarb(const struct fabric_port *port)
{
	return fabric_port_vl_cap(port) != 1;
}

static unsigned port_cap(const struct fabric_port *port)
{
	unsigned high = fabric_port_vlarb_high_cap(port), low = fabric_port_vlarb_low_cap(port);

	if (!has_vlarb(port))
		return QOS_VLARB_ENTRIES;
	return high < low ? high : low;
}

struct survey {
	const struct fabric *fabric;
	struct plan_links *links;
};

static void survey_port(void *arg, uint32_t port, bool special)
{
	const struct survey *s = arg;
	const struct fabric_port *p = &s->fabric->ports[port];
	unsigned vls = port_vls(p), cap = port_cap(p), mtu = fabric_port_neighbor_mtu(p);
	struct plan_links *links = s->links;

	if (special)
		return;
	/* a value that cannot be says nothing of the link: plan_tell_reserved() */
	if (vls != 0 && (links->vls == 0 || vls < links->vls))
		links->vls = vls;
	if (links->ports++ == 0 || cap < links->cap)
		links->cap = cap;
	links->mtu = mtu > links->mtu ? mtu : links->mtu;
	links->mtus |= mtu;
}

void plan_survey(const struct fabric *fabric, struct plan_links *links)
{
	struct survey s = {fabric, links};

	*links = (struct plan_links){.ports = 0};
	for (uint32_t i = 0; i < fabric->link_count; i++)
		if (!link_special(fabric, &fabric->links[i]))
			links->unknown += !fabric->ports[fabric->links[i].a].known + !fabric->ports[fabric->links[i].b].known;
	each_port(fabric, survey_port, &s);
}

/* --- findings about ports: one each, since the report groups those that say the same --- */

struct blame {
	struct finding_list *findings;
	const struct fabric *fabric;
	enum finding_code code;
	unsigned count;
};

static struct finding *blame_port(struct blame *blame, uint32_t port)
{
	const struct fabric_port *p = &blame->fabric->ports[port];
	const struct fabric_node *node = fabric_port_node(blame->fabric, port);
	struct finding *f = finding_add(blame->findings, blame->code);

	blame->count++;
	f->guid = node->guid;
	f->port = p->number;
	finding_set(&f->name, "%s", node->name ? node->name : "");
	if (p->peer != FABRIC_NONE) {
		const struct fabric_node *peer = fabric_port_node(blame->fabric, p->peer);

		f->peer_guid = peer->guid;
		f->peer_port = blame->fabric->ports[p->peer].number;
		finding_set(&f->peer_name, "%s", peer->name ? peer->name : "");
	}
	return f;
}

static void tell_vls(struct finding *f, const struct fabric_port *port)
{
	unsigned cap = qos_vls_of_code(fabric_port_vl_cap(port)), oper = port_vls(port);

	finding_set(&f->detail, "VLCap %u (%u VLs), OperationalVLs %u (%u VLs)", fabric_port_vl_cap(port),
		    cap, fabric_port_oper_vls(port), oper);
}

/* --- too few VLs --- */

struct vls_check {
	struct blame blame;
	size_t needed;	  /* VLs that must be there */
	const char *why;
};

static void check_port_vls(void *arg, uint32_t port, bool special)
{
	struct vls_check *check = arg;
	const struct fabric_port *p = &check->blame.fabric->ports[port];
	struct finding *f;

	if (special || port_vls(p) == 0 || port_vls(p) >= check->needed)
		return;
	f = blame_port(&check->blame, port);
	finding_set(&f->what, "OperationalVLs");
	finding_set(&f->wanted, "%zu VLs%s", check->needed, check->why);
	finding_set(&f->got, "%u", port_vls(p));
	tell_vls(f, p);
}

bool plan_check_vls(const struct policy *policy, const struct fabric *fabric, struct finding_list *findings)
{
	struct vls_check check = {
		.blame = {findings, fabric, FINDING_PLAN_TOO_MANY_CLASSES, 0},
		.needed = policy->class_count,
		.why = ", one a class",
	};

	each_port(fabric, check_port_vls, &check);
	return check.blame.count == 0;
}

bool plan_check_expected_vls(const struct policy *policy, const struct fabric *fabric, const struct plan *plan,
			     struct finding_list *findings)
{
	struct vls_check check = {
		.blame = {findings, fabric, FINDING_PLAN_VLS_FEWER, 0},
		.needed = policy->vls,
		.why = "",
	};
	struct finding *f;

	each_port(fabric, check_port_vls, &check);
	if (policy->vls && plan->vls > policy->vls) {
		f = finding_add(findings, FINDING_PLAN_VLS_MORE);
		finding_at(f, policy->path, policy->vls_mark.line, policy->vls_mark.column);
		finding_set(&f->what, "vls");
		finding_set(&f->wanted, "%u", policy->vls);
		finding_set(&f->got, "%u", plan->vls);
	}
	return check.blame.count == 0;
}

/* --- links of which it is not known what they carry --- */

struct reserved_check {
	struct blame blame;
	bool mtu_only;
};

static void check_port_reserved(void *arg, uint32_t port, bool special)
{
	struct reserved_check *check = arg;
	struct finding *f;
	unsigned code;

	(void)special; /* theirs are reported with what they get, which is not known either */
	for (enum fabric_link_field field = FABRIC_VL_CAP; field < FABRIC_LINK_FIELDS; field++) {
		if (check->mtu_only && field != FABRIC_NEIGHBOR_MTU)
			continue;
		if (!fabric_port_reserved(&check->blame.fabric->ports[port], field, &code))
			continue;
		f = blame_port(&check->blame, port);
		finding_set(&f->what, "%s", fabric_link_field_name(field));
		finding_set(&f->wanted, "1 to 5");
		finding_set(&f->got, "%u", code);
		if (field == FABRIC_NEIGHBOR_MTU)
			finding_set(&f->detail, "shares are for the MTUs of the other links");
	}
}

void plan_tell_reserved(const struct fabric *fabric, bool mtu_only, struct finding_list *findings)
{
	struct reserved_check check = {.blame = {findings, fabric, FINDING_PORT_INFO_RESERVED, 0}, .mtu_only = mtu_only};

	each_port(fabric, check_port_reserved, &check);
}

/* --- links that a reload takes down --- */

struct bounce {
	const struct fabric *fabric;
	unsigned max; /* a code */
	uint32_t count, first;
};

/* As osm_physp_calc_link_op_vls() has it, of ports that are no switch's. */
static void count_bounce(void *arg, uint32_t port, bool special)
{
	struct bounce *b = arg;
	const struct fabric_port *p = &b->fabric->ports[port], *peer;
	unsigned code = 0, other;

	(void)special; /* they go down like any other */
	if (p->peer == FABRIC_NONE || fabric_port_node(b->fabric, port)->type == FABRIC_SWITCH)
		return;
	peer = &b->fabric->ports[p->peer];
	if (!peer->known || fabric_port_reserved(p, FABRIC_OPER_VLS, &code) ||
	    fabric_port_reserved(p, FABRIC_VL_CAP, &code) || fabric_port_reserved(peer, FABRIC_VL_CAP, &code))
		return; /* told of: what OpenSM makes of it is not known */
	code = fabric_port_vl_cap(p);
	other = fabric_port_vl_cap(peer);
	code = other < code ? other : code;
	code = code > b->max ? b->max : code;
	if (code != fabric_port_oper_vls(p) && b->count++ == 0)
		b->first = port;
}

uint32_t plan_bounced(const struct fabric *fabric, unsigned max_op_vls, uint32_t *first)
{
	struct bounce b = {.fabric = fabric, .max = max_op_vls, .first = FABRIC_NONE};

	each_port(fabric, count_bounce, &b);
	*first = b.first;
	return b.count;
}

/* --- too small tables --- */

struct cap_check {
	struct blame blame;
	size_t classes;
	bool too_small[UINT8_MAX + 1]; /* by capacity */
};

static void check_port_cap(void *arg, uint32_t port, bool special)
{
	struct cap_check *check = arg;
	const struct fabric_port *p = &check->blame.fabric->ports[port];
	struct finding *f;

	if (special || !check->too_small[port_cap(p) & UINT8_MAX])
		return;
	f = blame_port(&check->blame, port);
	finding_set(&f->what, "VLArbitrationHighCap, LowCap");
	finding_set(&f->wanted, "an entry a class, %zu classes", check->classes);
	finding_set(&f->got, "fewer");
	finding_set(&f->detail, "HighCap %u, LowCap %u", fabric_port_vlarb_high_cap(p), fabric_port_vlarb_low_cap(p));
}

void plan_blame_caps(const struct policy *policy, const unsigned *vl_of_class, unsigned mtu,
		     const struct fabric *fabric, struct finding_list *findings)
{
	struct cap_check check = {
		.blame = {findings, fabric, FINDING_PLAN_VLARB_SMALL, 0},
		.classes = policy->class_count,
	};
	struct qos_tables tables;

	for (unsigned cap = 0; cap < policy->class_count; cap++)
		check.too_small[cap] = plan_tables(policy, vl_of_class, cap, mtu, &tables) == -ENOSPC;
	each_port(fabric, check_port_cap, &check);
}

/* --- what each port makes of the tables --- */

/* Weight that each VL has in both tables together, after OpenSM's cut and fold. */
static void port_weights(const struct qos_tables *tables, const struct fabric_port *port,
			 unsigned weight[QOS_SLS])
{
	const struct qos_vlarb *table[] = {&tables->low, &tables->high};
	unsigned cap[] = {fabric_port_vlarb_low_cap(port), fabric_port_vlarb_high_cap(port)};
	struct qos_vlarb_entry block[QOS_VLARB_BLOCK];
	unsigned length;

	memset(weight, 0, QOS_SLS * sizeof(weight[0]));
	for (unsigned t = 0; t < 2; t++) {
		for (unsigned b = 0; b < QOS_VLARB_BLOCKS / 2; b++) {
			qos_vlarb_block(table[t], b, cap[t], fabric_port_oper_vls(port), block, &length);
			for (unsigned i = 0; i < length; i++)
				weight[block[i].vl & 0xf] += block[i].weight;
		}
	}
}

struct port_view {
	uint8_t vl[QOS_DATA_VLS];   /* of each class */
	bool merges;                /* two classes on one VL */
	bool starves[QOS_DATA_VLS]; /* the class's VL has no weight */
	bool any_starves;
};

static void view_port(const struct plan *plan, const struct fabric *fabric, uint32_t port,
		      struct port_view *view)
{
	const struct qos_tables *tables = &plan->config.of[fabric_port_qos_type(fabric, port)];
	const struct fabric_port *p = &fabric->ports[port];
	unsigned weight[QOS_SLS];
	struct qos_sl2vl folded;
	uint16_t taken = 0;

	memset(view, 0, sizeof(*view));
	qos_fold_sl2vl(&tables->sl2vl, fabric_port_oper_vls(p), &folded);
	port_weights(tables, p, weight);
	for (size_t i = 0; i < plan->class_count; i++) {
		uint8_t vl = folded.vl[plan->classes[i].policy->sl];

		view->vl[i] = vl;
		view->merges |= taken >> vl & 1;
		taken |= (uint16_t)(1u << vl);
		view->starves[i] = has_vlarb(p) && weight[vl] == 0;
		view->any_starves |= view->starves[i];
	}
}

/* "VL 0: other, storage; VL 1: training (no weight)"; the caller frees it; NULL: out of memory. */
static char *view_text(const struct plan *plan, const struct port_view *view)
{
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);
	const char *between = "";

	if (!out)
		return NULL;
	for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++) {
		bool first = true;

		for (size_t i = 0; i < plan->class_count; i++) {
			if (view->vl[i] != vl)
				continue;
			if (first)
				fprintf(out, "%sVL %u: ", between, vl);
			fprintf(out, "%s%s%s", first ? "" : ", ", plan->classes[i].policy->name,
				view->starves[i] ? " (no weight)" : "");
			first = false;
			between = "; ";
		}
	}
	return text_stream_end(out, &text) == 0 ? text : NULL;
}

struct table_check {
	const struct plan *plan;
	struct blame merged, cut, note;
};

static void check_port_tables(void *arg, uint32_t port, bool special)
{
	struct table_check *check = arg;
	const struct fabric_port *p = &check->note.fabric->ports[port];
	struct port_view view;
	struct finding *f;
	char *text;

	view_port(check->plan, check->note.fabric, port, &view);
	if (!view.merges && !view.any_starves)
		return;
	f = blame_port(special ? &check->note : view.merges ? &check->merged : &check->cut, port);
	text = view_text(check->plan, &view);
	if (!text)
		check->note.findings->lost = true;
	finding_set(&f->what, "classes on VLs");
	finding_set(&f->wanted, "%zu classes on VLs of their own", check->plan->class_count);
	finding_set(&f->got, "%s", text ? text : "unknown: out of memory");
	free(text);
	tell_vls(f, p);
}

bool plan_check_tables(const struct plan *plan, const struct fabric *fabric, struct finding_list *findings)
{
	struct table_check check = {
		.plan = plan,
		.merged = {findings, fabric, FINDING_PLAN_TOO_MANY_CLASSES, 0},
		.cut = {findings, fabric, FINDING_PLAN_VLARB_SMALL, 0},
		.note = {findings, fabric, FINDING_PLAN_FEWER_VLS, 0},
	};

	each_port(fabric, check_port_tables, &check);
	return check.merged.count == 0 && check.cut.count == 0;
}
