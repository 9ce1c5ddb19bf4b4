/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * diff: two states of a fabric. Nodes by GUID, links by both their ends, then what both have. Changes of
 * cables are told as people make them: a node taken away, a cable plugged in elsewhere, two cables exchanged.
 */
#include "ibqos/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/link.h"
#include "ibqos/snapshot.h"

#include "diff.h"
#include "place.h"

struct end {
	uint64_t guid;
	unsigned port;
};

/* A link of one state, its lower end first. */
struct cable {
	struct end a, b;
	uint32_t port_a, port_b; /* in its own fabric */
	bool other;              /* the other state has it too */
	bool told;               /* a finding tells it already */
};

struct cables {
	struct cable *items;
	size_t count;
};

struct diffing {
	const struct diff_state *before, *after;
	struct finding_list *findings;
	struct diff_result *result;
	struct cables old, new; /* GUIDs are those of `after` where a node was replaced */
	uint32_t *twin; /* of each port of `before`: the same port in `after`, or FABRIC_NONE */
};

static int by_end(const struct end *x, const struct end *y)
{
	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return (x->port > y->port) - (x->port < y->port);
}

static int by_ends(const void *a, const void *b)
{
	const struct cable *x = a, *y = b;
	int order = by_end(&x->a, &y->a);

	return order ? order : by_end(&x->b, &y->b);
}

static struct end end_of(const struct fabric *f, uint32_t port, const struct diff_result *result)
{
	return (struct end){diff_guid_after(result, fabric_port_node(f, port)->guid), f->ports[port].number};
}

static bool list_cables(const struct fabric *f, const struct diff_result *result, struct cables *list)
{
	list->items = calloc((size_t)f->link_count + 1, sizeof(*list->items));
	if (!list->items)
		return false;
	for (uint32_t i = 0; i < f->link_count; i++) {
		struct cable *c = &list->items[list->count++];

		*c = (struct cable){.port_a = f->links[i].a, .port_b = f->links[i].b};
		c->a = end_of(f, c->port_a, result);
		c->b = end_of(f, c->port_b, result);
		if (by_end(&c->a, &c->b) > 0)
			*c = (struct cable){.a = c->b, .b = c->a, .port_a = c->port_b, .port_b = c->port_a};
	}
	qsort(list->items, list->count, sizeof(*list->items), by_ends);
	return true;
}

/* --- nodes --- */

/* The GUID that a node of `after` had before. */
static uint64_t guid_before(const struct diffing *d, uint64_t guid)
{
	for (uint32_t i = 0; i < d->result->nodes_replaced; i++)
		if (d->result->replaced[i].after == guid)
			return d->result->replaced[i].before;
	return guid;
}

/* The node of an end in one of the two states. */
static uint32_t node_in(const struct diffing *d, const struct fabric *f, uint64_t guid)
{
	return fabric_find_node(f, f == d->before->fabric ? guid_before(d, guid) : guid);
}

static const char *name_of(const struct diffing *d, const struct fabric *f, uint64_t guid)
{
	uint32_t node = node_in(d, f, guid);

	return node == FABRIC_NONE ? "?" : f->nodes[node].name;
}

static unsigned links_of(const struct fabric *f, uint32_t node)
{
	unsigned count = 0;

	for (unsigned n = 1; n <= f->nodes[node].ports; n++)
		count += f->ports[f->nodes[node].first_port + n].peer != FABRIC_NONE;
	return count;
}

/* A node that only one state has; its first cable says where it is. */
static void tell_node(struct diffing *d, const struct fabric *f, uint32_t node, enum finding_code code, const bool *hidden)
{
	struct finding *x = finding_add(d->findings, code);
	unsigned links = links_of(f, node);

	x->guid = f->nodes[node].guid;
	x->port = FINDING_WHOLE_NODE;
	finding_set(&x->name, "%s", f->nodes[node].name);
	for (unsigned n = 1; n <= f->nodes[node].ports; n++) {
		uint32_t peer = f->ports[f->nodes[node].first_port + n].peer;

		if (peer == FABRIC_NONE)
			continue;
		x->peer_guid = fabric_port_node(f, peer)->guid;
		x->peer_port = f->ports[peer].number;
		finding_set(&x->peer_name, "%s", fabric_port_node(f, peer)->name);
		break;
	}
	finding_set(&x->detail, "with %u %s", links, links == 1 ? "link" : "links");
	if (hidden[node] && code == FINDING_NODE_NEW)
		finding_append(&x->detail, "it may have been there: it, or what leads to it, did not answer");
}

/* Of any node of either state: its GUID is that of `before` or, where it was replaced, of `after`. */
static uint32_t twin_of(const void *arg, const struct fabric *other, uint64_t guid)
{
	const struct diffing *d = arg;

	return node_in(d, other, other == d->after->fabric ? diff_guid_after(d->result, guid) : guid);
}

static int compare_nodes(struct diffing *d)
{
	const struct fabric *old = d->before->fabric, *new = d->after->fabric;
	bool *old_hidden = NULL, *new_hidden = NULL;
	int error = diff_find_hidden(old, new, twin_of, d, &old_hidden);

	if (error == 0)
		error = diff_find_hidden(new, old, twin_of, d, &new_hidden);
	if (error != 0)
		goto out;
	for (uint32_t i = 0; i < old->node_count; i++) {
		uint64_t guid = diff_guid_after(d->result, old->nodes[i].guid);
		uint32_t twin = fabric_find_node(new, guid);
		struct finding *x;

		if (twin == FABRIC_NONE) {
			d->result->nodes_gone += !old_hidden[i];
			tell_node(d, old, i, old_hidden[i] ? FINDING_NODE_SILENT : FINDING_NODE_GONE, old_hidden);
			continue;
		}
		d->result->nodes++;
		if (guid != old->nodes[i].guid) {
			x = finding_add(d->findings, FINDING_NODE_REPLACED);
			place_node(x, new, twin);
			finding_set(&x->what, "node GUID");
			finding_set(&x->wanted, "0x%016" PRIx64, old->nodes[i].guid);
			finding_set(&x->got, "0x%016" PRIx64, guid);
		}
		for (unsigned n = 0; n <= old->nodes[i].ports && n <= new->nodes[twin].ports; n++)
			d->twin[old->nodes[i].first_port + n] = new->nodes[twin].first_port + n;
		if (strcmp(old->nodes[i].name, new->nodes[twin].name) != 0) {
			d->result->nodes_renamed++;
			x = finding_add(d->findings, FINDING_NODE_RENAMED);
			place_node(x, new, twin);
			finding_set(&x->wanted, "%s", old->nodes[i].name);
			finding_set(&x->got, "%s", new->nodes[twin].name);
		}
		if (old->nodes[i].ports != new->nodes[twin].ports) {
			x = finding_add(d->findings, FINDING_NODE_RESIZED);
			place_node(x, new, twin);
			finding_set(&x->what, "number of ports");
			finding_set(&x->wanted, "%u", old->nodes[i].ports);
			finding_set(&x->got, "%u", new->nodes[twin].ports);
		}
	}
	for (uint32_t i = 0; i < new->node_count; i++) {
		if (node_in(d, old, new->nodes[i].guid) != FABRIC_NONE)
			continue;
		d->result->nodes_new++;
		tell_node(d, new, i, FINDING_NODE_NEW, new_hidden);
	}
out:
	free(old_hidden);
	free(new_hidden);
	return error;
}

/* --- cables --- */

/* The cable at an end that the other state does not have and nothing tells yet; NULL: none. */
static struct cable *cable_at(struct cables *list, const struct end *end)
{
	for (size_t i = 0; i < list->count; i++) {
		struct cable *c = &list->items[i];

		if (!c->other && !c->told && (by_end(&c->a, end) == 0 || by_end(&c->b, end) == 0))
			return c;
	}
	return NULL;
}

static const struct end *far_end(const struct cable *c, const struct end *end)
{
	return by_end(&c->a, end) == 0 ? &c->b : &c->a;
}

static void mark_both(struct diffing *d)
{
	for (size_t i = 0, j = 0; i < d->old.count && j < d->new.count;) {
		int order = by_ends(&d->old.items[i], &d->new.items[j]);

		if (order == 0) {
			d->old.items[i].other = d->new.items[j].other = true;
			d->result->links++;
		}
		i += order <= 0;
		j += order >= 0;
	}
}

/* Links of a node that is gone or new are told with the node. */
static void mark_with_nodes(const struct diffing *d, struct cables *list, const struct fabric *other)
{
	for (size_t i = 0; i < list->count; i++)
		list->items[i].told |= node_in(d, other, list->items[i].a.guid) == FABRIC_NONE ||
				       node_in(d, other, list->items[i].b.guid) == FABRIC_NONE;
}

static void set_end(const struct diffing *d, char **member, const struct fabric *f, const struct end *end)
{
	finding_set(member, "%s[%u]", name_of(d, f, end->guid), end->port);
}

static struct finding *find_at(struct diffing *d, const struct fabric *f, const struct end *at,
			       const struct end *peer, enum finding_code code)
{
	struct finding *x = finding_add(d->findings, code);

	x->guid = at->guid;
	x->port = (int)at->port;
	finding_set(&x->name, "%s", name_of(d, f, at->guid));
	x->peer_guid = peer->guid;
	x->peer_port = (int)peer->port;
	finding_set(&x->peer_name, "%s", name_of(d, f, peer->guid));
	return x;
}

/* a-b and x-y before, a-x and b-y after. */
static bool tell_swap(struct diffing *d, struct cable *was)
{
	const struct fabric *f = d->after->fabric;
	struct cable *now = cable_at(&d->new, &was->a), *was2, *now2;
	const struct end *x, *y;
	struct finding *found;

	if (!now)
		return false;
	x = far_end(now, &was->a);
	was2 = cable_at(&d->old, x);
	if (!was2 || was2 == was)
		return false;
	y = far_end(was2, x);
	now2 = cable_at(&d->new, &was->b);
	if (!now2 || now2 == now || by_end(far_end(now2, &was->b), y) != 0)
		return false;
	d->result->links_swapped++;
	found = find_at(d, f, &was->a, x, FINDING_LINKS_SWAPPED);
	finding_set(&found->wanted, "%s[%u] to %s[%u], %s[%u] to %s[%u]", name_of(d, f, was->a.guid),
		    was->a.port, name_of(d, f, was->b.guid), was->b.port, name_of(d, f, x->guid), x->port,
		    name_of(d, f, y->guid), y->port);
	finding_set(&found->got, "%s[%u] to %s[%u], %s[%u] to %s[%u]", name_of(d, f, was->a.guid), was->a.port,
		    name_of(d, f, x->guid), x->port, name_of(d, f, was->b.guid), was->b.port, name_of(d, f, y->guid),
		    y->port);
	was->told = was2->told = now->told = now2->told = true;
	return true;
}

/* One end stayed. */
static bool tell_move(struct diffing *d, struct cable *was)
{
	const struct end *stays[2] = {&was->a, &was->b};

	for (unsigned i = 0; i < 2; i++) {
		struct cable *now = cable_at(&d->new, stays[i]);
		struct finding *x;

		if (!now)
			continue;
		d->result->links_moved++;
		x = find_at(d, d->after->fabric, stays[i], far_end(now, stays[i]), FINDING_LINK_MOVED);
		set_end(d, &x->wanted, d->before->fabric, far_end(was, stays[i]));
		set_end(d, &x->got, d->after->fabric, far_end(now, stays[i]));
		was->told = now->told = true;
		return true;
	}
	return false;
}

static void compare_cables(struct diffing *d)
{
	mark_both(d);
	mark_with_nodes(d, &d->old, d->after->fabric);
	mark_with_nodes(d, &d->new, d->before->fabric);
	/* All exchanges first: of two cables that exchanged ends each looks as if it had moved. */
	for (size_t i = 0; i < d->old.count; i++)
		if (!d->old.items[i].other && !d->old.items[i].told)
			tell_swap(d, &d->old.items[i]);
	for (size_t i = 0; i < d->old.count; i++)
		if (!d->old.items[i].other && !d->old.items[i].told)
			tell_move(d, &d->old.items[i]);
	for (size_t i = 0; i < d->old.count; i++) {
		struct cable *c = &d->old.items[i];

		if (c->other || c->told)
			continue;
		d->result->links_gone++;
		find_at(d, d->before->fabric, &c->a, &c->b, FINDING_LINK_GONE);
	}
	for (size_t i = 0; i < d->new.count; i++) {
		struct cable *c = &d->new.items[i];

		if (c->other || c->told)
			continue;
		d->result->links_new++;
		find_at(d, d->after->fabric, &c->a, &c->b, FINDING_LINK_NEW);
	}
}

/* --- what both have --- */

/* Width and speed of a port, by its PortInfo or as a dump tells them; false: not known. */
static bool rate_of(const struct fabric *f, uint32_t port, struct link_state *state)
{
	if (link_decode(f, port, state))
		return state->width_active && state->speed_active;
	*state = (struct link_state){.width_active = f->ports[port].told_width,
				     .speed_active = f->ports[port].told_speed};
	return state->width_active && state->speed_active;
}

static void compare_rates(struct diffing *d)
{
	const struct fabric *new = d->after->fabric;

	for (size_t i = 0, j = 0; i < d->old.count; i++) {
		const struct cable *was = &d->old.items[i];
		struct link_state a, b;
		struct finding *x;
		bool slower;

		if (!was->other)
			continue;
		while (by_ends(&d->new.items[j], was) != 0)
			j++;
		if (!rate_of(d->before->fabric, was->port_a, &a) ||
		    !rate_of(new, d->new.items[j].port_a, &b)) {
			d->result->unknown++;
			x = find_at(d, new, &was->a, &was->b, FINDING_DIFF_UNKNOWN);
			finding_set(&x->what, "width and speed of the link");
			continue;
		}
		if (a.width_active == b.width_active && a.speed_active == b.speed_active)
			continue;
		d->result->rates++;
		slower =
			link_gbps(b.width_active, b.speed_active) < link_gbps(a.width_active, a.speed_active);
		x = find_at(d, new, &was->a, &was->b, slower ? FINDING_LINK_SLOWER : FINDING_LINK_FASTER);
		finding_set(&x->wanted, "%s %s", link_width_name(a.width_active),
			    link_speed_name(a.speed_active));
		finding_set(&x->got, "%s %s", link_width_name(b.width_active),
			    link_speed_name(b.speed_active));
		x->weight =
			link_gbps(a.width_active, a.speed_active) - link_gbps(b.width_active, b.speed_active);
	}
}

static void compare_capability(struct diffing *d, uint32_t port, uint32_t twin)
{
	const struct fabric *new = d->after->fabric;
	struct link_state a, b;
	struct finding *x;

	if (!link_decode(d->before->fabric, port, &a) || !link_decode(new, twin, &b))
		return;
	if (a.width_supported == b.width_supported && a.speed_supported == b.speed_supported)
		return;
	d->result->capabilities++;
	x = finding_add(d->findings, FINDING_CAPABILITY_CHANGED);
	place_port(x, new, twin);
	finding_set(&x->what, "best width and speed");
	finding_set(&x->wanted, "%s %s", link_width_name(link_best(a.width_supported)),
		    link_speed_name(link_best(a.speed_supported)));
	finding_set(&x->got, "%s %s", link_width_name(link_best(b.width_supported)),
		    link_speed_name(link_best(b.speed_supported)));
}

static void compare_ports(struct diffing *d)
{
	for (uint32_t port = 0; port < d->before->fabric->port_count; port++) {
		uint32_t twin = d->twin[port];

		if (twin == FABRIC_NONE)
			continue;
		compare_capability(d, port, twin);
		if (d->before->snapshot && d->after->snapshot)
			diff_tables(d->before, port, d->after, twin, d->findings, d->result);
	}
}

int check_diff(const struct diff_state *before, const struct diff_state *after, struct finding_list *findings,
	       struct diff_result *result)
{
	struct diffing d = {.before = before, .after = after, .findings = findings, .result = result};
	const struct diff_result none = {0};
	uint32_t ports = before->fabric->port_count;
	bool lost;

	*result = (struct diff_result){0};
	d.twin = malloc(((size_t)ports + 1) * sizeof(*d.twin));
	lost = !d.twin || diff_find_replaced(before->fabric, after->fabric, result) != 0 ||
	       !list_cables(before->fabric, result, &d.old) || !list_cables(after->fabric, &none, &d.new);
	if (!lost) {
		for (uint32_t i = 0; i < ports; i++)
			d.twin[i] = FABRIC_NONE;
		lost = compare_nodes(&d) != 0;
		compare_cables(&d);
		compare_rates(&d);
		compare_ports(&d);
	}
	free(d.twin);
	free(d.old.items);
	free(d.new.items);
	return lost ? -ENOMEM : 0;
}
