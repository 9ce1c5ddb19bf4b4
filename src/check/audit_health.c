/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What must be so of any fabric: each port one LID and one GUID of its own, each node a name, and parallel links between two
 * switches alike in what they can hold. Sorting takes n log n, the rest is linear.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/audit.h"
#include "place.h"

#define LMC_BYTE 34 /* PortInfo: M_KeyProtectBits 2 bits, 3 reserved, LMC 3 (IBA 14.2.5.6) */
#define LIDS 0xc000  /* unicast: IBA 4.1.3 */

struct health {
	const struct fabric *fabric;
	const struct scope *scope;
	struct finding_list *findings;
};

static bool is_switch(const struct fabric *fabric, uint32_t node)
{
	return fabric->nodes[node].type == FABRIC_SWITCH;
}

static struct finding *add(const struct health *h, enum finding_code code, uint32_t port)
{
	struct finding *f = finding_add(h->findings, code);

	place_port(f, h->fabric, port);
	return f;
}

/* --- LIDs --- */

/* Of a switch port 0 has the LID, and is in use as soon as one of its ports is active. */
static bool is_in_use(const struct fabric *fabric, uint32_t port)
{
	const struct fabric_port *p = &fabric->ports[port];
	const struct fabric_node *node = &fabric->nodes[p->node];

	if (node->type != FABRIC_SWITCH)
		return p->number != 0 && p->known && fabric_port_state(p) == FABRIC_STATE_ACTIVE;
	if (p->number != 0 || !p->known)
		return false;
	for (uint32_t i = node->first_port + 1; i <= node->first_port + node->ports; i++)
		if (fabric->ports[i].known && fabric_port_state(&fabric->ports[i]) == FABRIC_STATE_ACTIVE)
			return true;
	return false;
}

static void tell_lid_twice(const struct health *h, uint32_t port, uint32_t other, unsigned lid)
{
	char text[FABRIC_TEXT];
	struct finding *f;

	if (!scope_has(h->scope, port) && !scope_has(h->scope, other))
		return;
	f = add(h, FINDING_LID_TWICE, port);
	finding_set(&f->what, "LID %u", lid);
	finding_set(&f->detail, "%s has it too", fabric_port_text(h->fabric, other, text, sizeof(text)));
}

static int check_lids(const struct health *h)
{
	const struct fabric *fabric = h->fabric;
	bool told = finding_count_code(h->findings, FINDING_LID_TWICE) > 0; /* by who read the routes */
	uint32_t *owner = malloc(LIDS * sizeof(*owner));

	if (!owner)
		return -ENOMEM;
	for (unsigned i = 0; i < LIDS; i++)
		owner[i] = FABRIC_NONE;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		unsigned base, count;
		uint32_t other = FABRIC_NONE;

		if (!is_in_use(fabric, i))
			continue;
		base = fabric_port_lid(&fabric->ports[i]);
		count = 1u << (fabric->ports[i].info[LMC_BYTE] & 7);
		if (base == 0) {
			if (scope_has(h->scope, i))
				add(h, FINDING_LID_MISSING, i);
			continue;
		}
		for (unsigned lid = base; lid < base + count && lid < LIDS; lid++) {
			if (owner[lid] == FABRIC_NONE)
				owner[lid] = i;
			else if (!told && owner[lid] != other)
				tell_lid_twice(h, i, other = owner[lid], lid); /* once for each other one */
		}
	}
	free(owner);
	return 0;
}

/* --- GUIDs and names --- */

struct named {
	uint64_t guid;
	const char *name;
	uint32_t port; /* index */
};

static int by_guid(const void *left, const void *right)
{
	const struct named *a = left, *b = right;

	if (a->guid != b->guid)
		return a->guid < b->guid ? -1 : 1;
	return (a->port > b->port) - (a->port < b->port);
}

static int by_name(const void *left, const void *right)
{
	const struct named *a = left, *b = right;
	int by = strcmp(a->name, b->name);

	return by ? by : (a->port > b->port) - (a->port < b->port);
}

/* Whether any of those that share something lies in the scope. */
static bool any_in_scope(const struct health *h, const struct named *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct fabric_node *node = fabric_port_node(h->fabric, items[i].port);

		for (uint32_t port = node->first_port; port <= node->first_port + node->ports; port++)
			if (scope_has(h->scope, port))
				return true;
	}
	return false;
}

static void tell_guid_twice(const struct health *h, const struct named *items, size_t count)
{
	char text[FABRIC_TEXT];

	for (size_t i = 1; i < count; i++) {
		struct finding *f = add(h, FINDING_GUID_TWICE, items[i].port);

		finding_set(&f->what, "port GUID 0x%016llx", (unsigned long long)items[i].guid);
		finding_set(&f->detail, "%s has it too", fabric_port_text(h->fabric, items[0].port, text, sizeof(text)));
	}
}

static void tell_name_twice(const struct health *h, const struct named *items, size_t count)
{
	struct finding *f = finding_add(h->findings, FINDING_NAME_TWICE);

	place_node(f, h->fabric, h->fabric->ports[items[0].port].node);
	finding_set(&f->what, "name '%s'", items[0].name);
	finding_set(&f->got, "%zu nodes", count);
	for (size_t i = 1; i < count && i < 4; i++)
		finding_append(&f->detail, "0x%016llx has it too",
			       (unsigned long long)fabric_port_node(h->fabric, items[i].port)->guid);
}

static void tell_shared(const struct health *h, const struct named *items, size_t count,
			int (*compare)(const void *, const void *),
			void (*tell)(const struct health *h, const struct named *items, size_t count))
{
	size_t from = 0, to;

	for (; from < count; from = to) {
		for (to = from + 1; to < count; to++) {
			struct named one = items[to], first = items[from];

			one.port = first.port = 0;
			if (compare(&one, &first) != 0)
				break;
		}
		if (to - from > 1 && any_in_scope(h, items + from, to - from))
			tell(h, items + from, to - from);
	}
}

/* A port GUID belongs to one port; a switch has one for all its ports (IBA 14.2.5.3). */
static int check_guids(const struct health *h)
{
	const struct fabric *fabric = h->fabric;
	struct named *items = calloc(fabric->port_count + 1u, sizeof(*items));
	size_t count = 0;

	if (!items)
		return -ENOMEM;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct fabric_port *p = &fabric->ports[i];

		if (p->guid != 0 && (is_switch(fabric, p->node) ? p->number == 0 : p->number != 0))
			items[count++] = (struct named){.guid = p->guid, .port = i};
	}
	qsort(items, count, sizeof(*items), by_guid);
	tell_shared(h, items, count, by_guid, tell_guid_twice);
	free(items);
	return 0;
}

/* Aggregation nodes all have the name that the maker gave them. */
static int check_names(const struct health *h)
{
	const struct fabric *fabric = h->fabric;
	struct named *items = calloc(fabric->node_count + 1u, sizeof(*items));
	size_t count = 0;

	if (!items)
		return -ENOMEM;
	for (uint32_t i = 0; i < fabric->node_count; i++)
		if (fabric->nodes[i].name && !fabric_node_is_aggregation(&fabric->nodes[i]))
			items[count++] = (struct named){.name = fabric->nodes[i].name, .port = fabric->nodes[i].first_port};
	qsort(items, count, sizeof(*items), by_name);
	tell_shared(h, items, count, by_name, tell_name_twice);
	free(items);
	return 0;
}

/* --- parallel links --- */

/* What a link can hold; in the order in which one explains the other, so that the first that differs is told. */
enum holds { HOLDS_MTU, HOLDS_VL_CAP, HOLDS_OPER_VLS, HOLDS };

struct bundled {
	uint32_t from, to; /* nodes */
	uint32_t port;	   /* of `from` */
	unsigned value[HOLDS];
};

static unsigned lower(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static int by_pair(const void *left, const void *right)
{
	const struct bundled *a = left, *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return (a->port > b->port) - (a->port < b->port);
}

/* What most of a bundle have; of two values as frequent the higher one. */
static unsigned usual(const struct bundled *items, size_t count, enum holds what)
{
	unsigned best = 0;
	size_t best_count = 0;

	for (size_t i = 0; i < count; i++) {
		size_t same = 0;

		for (size_t k = 0; k < count; k++)
			same += items[k].value[what] == items[i].value[what];
		if (same > best_count || (same == best_count && items[i].value[what] > best)) {
			best = items[i].value[what];
			best_count = same;
		}
	}
	return best;
}

static void set_value(char **member, enum holds what, unsigned value)
{
	if (what == HOLDS_MTU)
		finding_set(member, "%u bytes", value);
	else
		finding_set(member, "%s", value == 1 ? "VL 0" : value == 2 ? "VL 0-1" : value == 3 ? "VL 0-3" : value == 4 ? "VL 0-7" : "VL 0-14");
}

static void check_bundle(const struct health *h, const struct bundled *items, size_t count)
{
	static const char *const names[HOLDS] = {"NeighborMTU", "VLCap, of both ends", "OperationalVLs"};

	for (size_t i = 0; i < count; i++) {
		uint32_t peer = h->fabric->ports[items[i].port].peer;
		unsigned what = 0, wanted = 0;
		struct finding *f;

		for (; what < HOLDS; what++) {
			wanted = usual(items, count, what);
			if (items[i].value[what] != wanted)
				break;
		}
		if (what == HOLDS || (!scope_has(h->scope, items[i].port) && !scope_has(h->scope, peer)))
			continue;
		f = add(h, FINDING_BUNDLE_UNEVEN, items[i].port);
		finding_set(&f->what, "%s", names[what]);
		set_value(&f->wanted, what, wanted);
		set_value(&f->got, what, items[i].value[what]);
		finding_set(&f->detail, "%zu links between these two", count);
	}
}

static bool is_known(const struct bundled *b)
{
	for (unsigned i = 0; i < HOLDS; i++)
		if (b->value[i] == 0 || (i != HOLDS_MTU && b->value[i] > 5))
			return false;
	return true;
}

static int check_bundles(const struct health *h)
{
	const struct fabric *fabric = h->fabric;
	struct bundled *items = calloc(fabric->link_count + 1u, sizeof(*items));
	size_t count = 0, from = 0, to;

	if (!items)
		return -ENOMEM;
	for (uint32_t i = 0; i < fabric->link_count; i++) {
		const struct fabric_link *link = &fabric->links[i];
		const struct fabric_port *a = &fabric->ports[link->a], *b = &fabric->ports[link->b];
		struct bundled one = {.from = a->node, .to = b->node, .port = link->a};

		if (a->node == b->node || !is_switch(fabric, a->node) || !is_switch(fabric, b->node) || !a->known || !b->known ||
		    fabric_port_state(a) != FABRIC_STATE_ACTIVE || fabric_port_state(b) != FABRIC_STATE_ACTIVE)
			continue;
		one.value[HOLDS_MTU] = lower(fabric_port_neighbor_mtu(a), fabric_port_neighbor_mtu(b));
		one.value[HOLDS_VL_CAP] = lower(fabric_port_vl_cap(a), fabric_port_vl_cap(b));
		one.value[HOLDS_OPER_VLS] = lower(fabric_port_oper_vls(a), fabric_port_oper_vls(b));
		if (is_known(&one)) /* else it is a matter for verify */
			items[count++] = one;
	}
	qsort(items, count, sizeof(*items), by_pair);
	for (; from < count; from = to) {
		for (to = from + 1; to < count && items[to].from == items[from].from && items[to].to == items[from].to;)
			to++;
		check_bundle(h, items + from, to - from);
	}
	free(items);
	return 0;
}

int audit_health(const struct fabric *fabric, const struct audit_options *options, struct finding_list *findings)
{
	struct health h = {.fabric = fabric, .scope = options ? options->scope : NULL, .findings = findings};
	int error = check_lids(&h);

	if (error == 0)
		error = check_guids(&h);
	if (error == 0)
		error = check_names(&h);
	if (error == 0)
		error = check_bundles(&h);
	return error;
}
