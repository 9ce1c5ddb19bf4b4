/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any answers of a discovery as a fabric: raw NodeInfo, SwitchInfo, NodeDescription and PortInfo, links
 * between any ports. Whatever they say, the model is sound (each index leads where it should, each link
 * is there from both ends, each node has a name that can be shown), does not depend on the order in
 * which it was told, what is decoded lies in its range, and nothing that is missing goes unsaid.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/audit.h"
#include "ibqos/link.h"

#define NODES_MAX 8
#define PORTS_MAX 24
#define LINKS_MAX 16
#define LID_UNICAST_MAX 0xbfff

/* What a discovery found, to be told in any order. */
struct node {
	uint8_t node_info[MAD_SMP_DATA], switch_info[MAD_SMP_DATA], desc[MAD_SMP_DATA];
	bool has_route;
	struct mad_route route;
	uint32_t index; /* that it got */
};

struct port {
	unsigned node, number; /* any: need not be there */
	bool has_ext;
	uint8_t info[MAD_SMP_DATA], ext_info[MAD_SMP_DATA];
};

struct told {
	struct node nodes[NODES_MAX];
	struct port ports[PORTS_MAX];
	struct {
		unsigned node_a, port_a, node_b, port_b;
	} links[LINKS_MAX];
	unsigned node_count, port_count, link_count;
	unsigned from_node, from_port; /* from_node NODES_MAX: not known */
	bool doubles; /* two nodes of one GUID, or two PortInfo of one port: then order counts */
};

static void read_node(struct fuzz *in, struct node *node, unsigned number)
{
	fuzz_fill(in, node->node_info, MAD_SMP_DATA);
	if (!fuzz_bit(in)) { /* mostly one that can be, and a GUID of its own; NodeInfo: IBA 14.2.5.3 */
		node->node_info[2] = (uint8_t)(1 + node->node_info[2] % 3);
		node->node_info[3] %= 9;
		memset(node->node_info + 12, 0, 8);
		node->node_info[18] = node->node_info[12 + 20];
		node->node_info[19] = (uint8_t)(number + 1);
	}
	fuzz_fill(in, node->switch_info, fuzz_bit(in) ? MAD_SMP_DATA : 0);
	fuzz_fill(in, node->desc, fuzz_below(in, MAD_SMP_DATA + 1));
	node->has_route = fuzz_bit(in);
	if (!node->has_route)
		return;
	node->route.hops = (uint8_t)fuzz_byte(in); /* too many, too */
	fuzz_fill(in, node->route.port, 1 + fuzz_below(in, MAD_ROUTE_HOPS + 1));
}

static void read_port(struct fuzz *in, struct port *port, unsigned nodes)
{
	port->node = fuzz_below(in, nodes + 1);
	port->number = fuzz_below(in, 11);
	fuzz_fill(in, port->info, MAD_SMP_DATA);
	if (!fuzz_bit(in)) { /* mostly up and active: PortState and PortPhysicalState, IBA 14.2.5.6 */
		port->info[32] = (uint8_t)((port->info[32] & 0xf0) | FABRIC_STATE_ACTIVE);
		port->info[33] = (uint8_t)((port->info[33] & 0x0f) | FABRIC_PHYS_LINK_UP << 4);
	}
	port->has_ext = fuzz_bit(in);
	if (port->has_ext)
		fuzz_fill(in, port->ext_info, MAD_SMP_DATA);
}

static struct told *read_told(struct fuzz *in)
{
	struct told *t = calloc(1, sizeof(*t));

	require(t);
	t->node_count = fuzz_below(in, NODES_MAX + 1);
	t->port_count = fuzz_below(in, PORTS_MAX + 1);
	t->link_count = fuzz_below(in, LINKS_MAX + 1);
	t->from_node = fuzz_below(in, NODES_MAX + 1);
	t->from_port = fuzz_byte(in);
	for (unsigned i = 0; i < t->link_count; i++) {
		t->links[i].node_a = fuzz_below(in, NODES_MAX);
		t->links[i].node_b = fuzz_below(in, NODES_MAX);
		t->links[i].port_a = fuzz_below(in, 10);
		t->links[i].port_b = fuzz_below(in, 10);
	}
	for (unsigned i = 0; i < t->node_count; i++) {
		read_node(in, &t->nodes[i], i);
		for (unsigned k = 0; k < i; k++)
			t->doubles |= !memcmp(t->nodes[i].node_info + 12, t->nodes[k].node_info + 12, 8);
	}
	for (unsigned i = 0; i < t->port_count; i++) {
		read_port(in, &t->ports[i], NODES_MAX);
		for (unsigned k = 0; k < i; k++)
			t->doubles |= t->ports[i].node == t->ports[k].node &&
				      t->ports[i].number == t->ports[k].number;
	}
	return t;
}

/* NULL where it cannot be told: the node that looked is none. */
static struct fabric *tell(struct told *t, bool backwards)
{
	struct fabric *fabric = fabric_new("fuzz");

	require(fabric);
	for (unsigned i = 0; i < t->node_count; i++) {
		struct node *n = &t->nodes[backwards ? t->node_count - 1 - i : i];

		n->index = fabric_add_node(fabric, n->node_info, n->switch_info, n->desc,
					   n->has_route ? &n->route : NULL);
	}
	for (unsigned i = 0; i < t->port_count; i++) {
		const struct port *p = &t->ports[backwards ? t->port_count - 1 - i : i];
		uint32_t node = p->node < t->node_count ? t->nodes[p->node].index : FABRIC_NONE;
		int r = fabric_port_seen(fabric, node, p->number, 0, p->info,
					 p->has_ext ? p->ext_info : NULL);

		require(r == 0 || r == -22);
	}
	for (unsigned i = 0; i < t->link_count; i++) {
		unsigned a = t->links[i].node_a, b = t->links[i].node_b;

		if (a >= t->node_count || b >= t->node_count)
			continue;
		if (backwards)
			fabric_link(fabric, t->nodes[b].index, t->links[i].port_b, t->nodes[a].index,
				    t->links[i].port_a);
		else
			fabric_link(fabric, t->nodes[a].index, t->links[i].port_a, t->nodes[b].index,
				    t->links[i].port_b);
	}
	if (t->from_node < t->node_count) {
		fabric->from_node = t->nodes[t->from_node].index;
		fabric->from_port = (uint8_t)t->from_port;
	}
	require(fabric_finish(fabric) == 0);
	return fabric;
}

/* --- the model --- */

static void check_nodes(const struct fabric *f)
{
	uint32_t slots = 0;

	for (uint32_t i = 0; i < f->node_count; i++) {
		const struct fabric_node *n = &f->nodes[i];

		require(n->guid != 0 && n->type >= FABRIC_CA && n->type <= FABRIC_ROUTER);
		require(i == 0 || n->guid > f->nodes[i - 1].guid);
		require(fabric_find_node(f, n->guid) == i);
		require(n->first_port == slots);
		for (unsigned k = 0; k <= n->ports; k++) {
			require(f->ports[slots + k].node == i && f->ports[slots + k].number == k);
			require(fabric_node_port(f, i, k) == slots + k);
		}
		require(fabric_node_port(f, i, n->ports + 1u) == FABRIC_NONE);
		require(n->name && n->name[0] && fuzz_printable(n->name, ""));
		require(n->type == FABRIC_SWITCH || (!n->has_switch_info && !f->ports[n->first_port].known));
		require(n->route.hops <= MAD_ROUTE_HOPS);
		slots += n->ports + 1u;
	}
	require(f->port_count == slots);
	require(fabric_find_node(f, 0) == FABRIC_NONE);
	require(f->from_node == FABRIC_NONE || f->from_node < f->node_count);
}

static void check_links(const struct fabric *f)
{
	uint32_t cabled = 0, plugs = 0;

	for (uint32_t i = 0; i < f->port_count; i++) {
		uint32_t peer = f->ports[i].peer;

		require(peer == FABRIC_NONE || (peer < f->port_count && f->ports[peer].peer == i));
		require(peer == FABRIC_NONE || f->ports[i].number > 0);
		cabled += peer != FABRIC_NONE;
		plugs += peer == i;
	}
	require(2 * f->link_count == cabled + plugs);
	for (uint32_t i = 0; i < f->link_count; i++) {
		require(f->links[i].a <= f->links[i].b && f->ports[f->links[i].a].peer == f->links[i].b);
		require(i == 0 || f->links[i].a > f->links[i - 1].a);
	}
}

/* A port that is up with nothing known behind it, a switch's port that told nothing: said, each once. */
static void check_gaps_told(const struct fabric *f)
{
	uint32_t expected = 0;
	struct finding_list findings = {0};

	for (uint32_t i = 0; i < f->port_count; i++) {
		const struct fabric_port *p = &f->ports[i];
		const struct fabric_node *n = fabric_port_node(f, i);
		bool looked = p->node == f->from_node && p->number == f->from_port;

		if (p->number == 0 && n->type == FABRIC_SWITCH)
			expected += !p->known;
		else if (p->number > 0 && p->known)
			expected +=
				p->peer == FABRIC_NONE && fabric_port_phys_state(p) == FABRIC_PHYS_LINK_UP;
		else if (p->number > 0 && n->type == FABRIC_SWITCH)
			expected += f->ports[n->first_port].known;
		else if (p->number > 0)
			expected += p->peer != FABRIC_NONE || looked;
	}
	for (uint32_t i = 0; i < f->gap_count; i++) {
		require(f->gaps[i].port < f->port_count);
		expected += f->gaps[i].reason == FABRIC_GAP_NO_NODE_DESC ||
			    f->gaps[i].reason == FABRIC_GAP_NO_SWITCH_INFO;
	}
	require(f->gap_count == expected);
	check_gaps(f, &findings);
	require(findings.count == f->gap_count && !findings.lost);
	require(findings.count == 0 || finding_exit(&findings) == IBQOS_EXIT_UNKNOWN);
	finding_list_clear(&findings);
}

/* --- one port --- */

static bool one_bit(unsigned mask)
{
	return mask != 0 && (mask & (mask - 1)) == 0;
}

static void check_speed(unsigned width, unsigned speed)
{
	double gbps = link_gbps(width, speed);

	require(isfinite(gbps) && gbps >= 0 && gbps <= 12 * 200);
	require((gbps > 0) == (width != 0 && speed != 0));
	require((link_width_name(width)[0] != '\0') == (width != 0));
	require((link_speed_name(speed)[0] != '\0') == (speed != 0));
	require((link_width_lanes(width) != 0) == (width != 0));
}

static void check_link_state(const struct fabric *f, uint32_t port)
{
	struct link_state s;

	if (!link_decode(f, port, &s)) {
		require(s.width_active == 0 && s.speed_active == 0 && s.width_supported == 0);
		return;
	}
	require(f->ports[port].known && f->ports[port].number > 0);
	require(fabric_port_phys_state(&f->ports[port]) == FABRIC_PHYS_LINK_UP);
	require(s.width_active == 0 || one_bit(s.width_active));
	require(s.speed_active == 0 || one_bit(s.speed_active));
	require((s.width_active | s.width_supported | s.width_enabled) < LINK_12X << 1);
	require((s.speed_active | s.speed_supported | s.speed_enabled) < LINK_XDR << 1);
	check_speed(s.width_active, s.speed_active);
	check_speed(s.width_supported, s.speed_supported);
	check_speed(s.width_enabled, s.speed_enabled);
}

static void check_address(const struct fabric *f, uint32_t port, bool directed)
{
	uint32_t agent = fabric_port_agent(f, port);
	struct mad_address to;

	require(agent < f->port_count && f->ports[agent].node == f->ports[port].node);
	require(fabric_port_agent(f, agent) == agent);
	if (!fabric_agent_address(f, agent, directed, &to))
		return;
	require(to.lid <= LID_UNICAST_MAX && !(directed && to.lid != 0));
	require(to.lid != 0 || to.route.hops <= MAD_ROUTE_HOPS);
	/* no hops is this machine's own port */
	require(to.lid != 0 || to.route.hops > 0 || f->ports[agent].node == f->from_node);
}

static void check_text(const struct fabric *f, uint32_t port)
{
	static const size_t sizes[] = {1, 2, 5, 16, FABRIC_TEXT};
	char text[FABRIC_TEXT];

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		require(fabric_port_text(f, port, text, sizes[i]) == text);
		require(strlen(text) < sizes[i] && fuzz_printable(text, ""));
	}
}

static void check_port(const struct fabric *f, uint32_t port)
{
	const struct fabric_port *p = &f->ports[port];

	check_link_state(f, port);
	check_address(f, port, false);
	check_address(f, port, true);
	check_text(f, port);
	require(fabric_port_qos_type(f, port) < QOS_PORT_TYPES);
	require(fabric_port_state(p) < 16 && fabric_port_phys_state(p) < 16 && fabric_port_lid(p) < 0x10000);
	require(fabric_port_vl_cap(p) < 16 && fabric_port_oper_vls(p) < 16);
	require(fabric_port_vlarb_high_cap(p) < 256 && fabric_port_vlarb_low_cap(p) < 256);
	require(fabric_port_high_limit(p) < 256);
	require(fabric_port_mtu_cap(p) <= 4096 && fabric_port_neighbor_mtu(p) <= 4096);
}

/* --- the whole --- */

/* Whatever is concluded is about what is there; ranks are numbers; nothing changes against the fabric itself. */
static void check_conclusions(const struct fabric *f, struct finding_list *findings)
{
	struct audit_options options = {.today = 0}, same = {.baseline = f};
	size_t told = findings->count;

	require(audit_baseline(f, &same, findings) == 0 && findings->count == told);
	require(audit_siblings(f, &options, findings) == 0);
	for (size_t i = told; i < findings->count; i++) {
		const struct finding *g = &findings->items[i];

		require(g->guid && fabric_find_node(f, g->guid) != FABRIC_NONE && g->what && g->wanted && g->got);
		require(!g->peer_guid || fabric_find_node(f, g->peer_guid) != FABRIC_NONE);
	}
	require(audit_rank(f, NULL, findings) == 0);
	for (size_t i = 0; i < findings->count; i++)
		require(isfinite(findings->items[i].weight) && findings->items[i].weight >= 0);
	told = findings->count;
	require(audit_uniform(f, findings) == 0 && findings->count <= told);
}

static void check_audit(const struct fabric *f)
{
	struct finding_list findings = {0};
	struct audit_result result;

	audit_links(f, NULL, &findings, &result);
	require(result.links + result.links_unknown >= f->link_count && result.links <= f->link_count);
	require(result.links_slow <= result.links && result.links_unknown <= f->link_count);
	for (size_t i = 0; i < findings.count; i++) {
		const struct finding *g = &findings.items[i];

		require(g->guid && g->port > 0 && g->name && g->what && g->got);
		require(isfinite(g->weight));
		/* a link is slow by as much as it is found to be */
		if (g->code == FINDING_LINK_WIDTH_LOW || g->code == FINDING_LINK_SPEED_LOW)
			require(g->wanted && strcmp(g->wanted, g->got) != 0 && result.links_slow > 0);
	}
	check_conclusions(f, &findings);
	finding_list_sort(&findings);
	finding_list_clear(&findings);
}

static bool same_fabric(const struct fabric *a, const struct fabric *b)
{
	if (a->node_count != b->node_count || a->port_count != b->port_count ||
	    a->link_count != b->link_count || a->gap_count != b->gap_count || a->from_node != b->from_node)
		return false;
	for (uint32_t i = 0; i < a->node_count; i++) {
		if (a->nodes[i].guid != b->nodes[i].guid || strcmp(a->nodes[i].name, b->nodes[i].name) != 0 ||
		    a->nodes[i].lid != b->nodes[i].lid ||
		    memcmp(&a->nodes[i].route, &b->nodes[i].route, sizeof(struct mad_route)) != 0)
			return false;
	}
	for (uint32_t i = 0; i < a->port_count; i++) {
		if (a->ports[i].peer != b->ports[i].peer || a->ports[i].known != b->ports[i].known ||
		    memcmp(a->ports[i].info, b->ports[i].info, MAD_SMP_DATA) != 0)
			return false;
	}
	for (uint32_t i = 0; i < a->gap_count; i++)
		if (a->gaps[i].port != b->gaps[i].port || a->gaps[i].reason != b->gaps[i].reason)
			return false;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = {data, size};
	struct told *told = read_told(&in);
	struct fabric *fabric = tell(told, false), *again;

	check_nodes(fabric);
	check_links(fabric);
	check_gaps_told(fabric);
	for (uint32_t i = 0; i < fabric->port_count; i++)
		check_port(fabric, i);
	check_audit(fabric);
	if (!told->doubles) {
		again = tell(told, true);
		require(same_fabric(fabric, again));
		fabric_free(again);
	}
	fabric_free(fabric);
	free(told);
	return 0;
}
