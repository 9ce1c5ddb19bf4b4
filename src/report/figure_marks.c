/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Where findings are: on which ports, nodes and pairs of switches of a fabric.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"

/* One finding about two switches, with the port of the first that tells which cable; FABRIC_NONE: none does. */
struct pair_item {
	uint32_t a, b, port;
	uint8_t worst;
};

struct placing {
	const struct fabric *fabric;
	struct figure_marks *marks;
	struct pair_item *items;
	size_t count;
};

static void worsen(uint8_t *worst, uint8_t to)
{
	if (*worst < to)
		*worst = to;
}

/* The port of a node, FABRIC_NONE where the node as a whole is meant. */
static uint32_t port_of(const struct fabric *f, uint32_t node, int number)
{
	if (number < 0 || (number == 0 && f->nodes[node].type == FABRIC_SWITCH))
		return FABRIC_NONE;
	return fabric_node_port(f, node, (unsigned)number);
}

static void add_pair(struct placing *p, uint32_t a, uint32_t b, uint32_t port_a, uint32_t port_b, uint8_t worst)
{
	const struct fabric_node *nodes = p->fabric->nodes;

	if (a == b || nodes[a].type != FABRIC_SWITCH || nodes[b].type != FABRIC_SWITCH)
		return;
	p->items[p->count++] = a < b ? (struct pair_item){a, b, port_a, worst} : (struct pair_item){b, a, port_b, worst};
}

/* The other end of a finding: as it says, else what the port is cabled to. */
static void place_pair(struct placing *p, const struct finding *found, uint32_t node, uint32_t port, uint8_t worst)
{
	const struct fabric *f = p->fabric;
	uint32_t peer = found->peer_guid ? fabric_find_node(f, found->peer_guid) : FABRIC_NONE, peer_port = FABRIC_NONE;

	if (peer != FABRIC_NONE)
		peer_port = port_of(f, peer, found->peer_port);
	else if (port != FABRIC_NONE && !found->peer_guid)
		peer_port = f->ports[port].peer;
	if (peer == FABRIC_NONE && peer_port != FABRIC_NONE)
		peer = f->ports[peer_port].node;
	if (peer == FABRIC_NONE)
		return;
	if (peer_port != FABRIC_NONE)
		worsen(&p->marks->peer[peer_port], worst);
	if (peer != node)
		p->marks->at[peer]++;
	/* a cable is told by the lower node's port; where only the other's is known, by what that is cabled to */
	if (port == FABRIC_NONE && peer_port != FABRIC_NONE && f->ports[peer_port].peer != FABRIC_NONE &&
	    fabric_port_node(f, f->ports[peer_port].peer) == &f->nodes[node])
		port = f->ports[peer_port].peer;
	if (peer_port == FABRIC_NONE && port != FABRIC_NONE && f->ports[port].peer != FABRIC_NONE &&
	    f->ports[f->ports[port].peer].node == peer)
		peer_port = f->ports[port].peer;
	add_pair(p, node, peer, port, peer_port, worst);
}

static void place(struct placing *p, const struct finding *found)
{
	const struct fabric *f = p->fabric;
	uint8_t worst = (uint8_t)(found->severity + 1);
	uint32_t node = found->guid ? fabric_find_node(f, found->guid) : FABRIC_NONE, port;

	if (node == FABRIC_NONE) {
		/* what is gone is told at the port that it was on, if that is there */
		if (found->peer_guid && fabric_find_node(f, found->peer_guid) != FABRIC_NONE) {
			node = fabric_find_node(f, found->peer_guid);
			port = port_of(f, node, found->peer_port);
			worsen(port != FABRIC_NONE ? &p->marks->port[port] : &p->marks->node[node], worst);
			p->marks->at[node]++;
			return;
		}
		p->marks->nowhere[found->severity] += !found->told_by_another;
		return;
	}
	port = port_of(f, node, found->port);
	worsen(port != FABRIC_NONE ? &p->marks->port[port] : &p->marks->node[node], worst);
	p->marks->at[node]++;
	place_pair(p, found, node, port, worst);
}

static int by_pair(const void *left, const void *right)
{
	const struct pair_item *x = left, *y = right;

	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	if (x->b != y->b)
		return x->b < y->b ? -1 : 1;
	return x->port < y->port ? -1 : x->port > y->port;
}

static void fold_pairs(struct placing *p)
{
	struct figure_marks *m = p->marks;

	if (p->count > 0)
		qsort(p->items, p->count, sizeof(*p->items), by_pair);
	for (size_t i = 0; i < p->count; i++) {
		const struct pair_item *item = &p->items[i];
		struct pair_mark *last = m->pair_count ? &m->pairs[m->pair_count - 1] : NULL;
		bool same = last && last->a == item->a && last->b == item->b;

		if (!same) {
			last = &m->pairs[m->pair_count++];
			*last = (struct pair_mark){.a = item->a, .b = item->b};
		}
		last->findings++;
		worsen(&last->worst, item->worst);
		if (item->port != FABRIC_NONE && !(same && p->items[i - 1].port == item->port))
			last->cables++;
	}
}

int marks_new(const struct figure_fabric *in, struct figure_marks *marks)
{
	const struct fabric *f = in->fabric;
	size_t count = in->findings->count;
	struct placing p = {.fabric = f, .marks = marks, .items = calloc(count + 1, sizeof(*p.items))};

	*marks = (struct figure_marks){
		.port = calloc((size_t)f->port_count + 1, sizeof(*marks->port)),
		.peer = calloc((size_t)f->port_count + 1, sizeof(*marks->peer)),
		.node = calloc((size_t)f->node_count + 1, sizeof(*marks->node)),
		.at = calloc((size_t)f->node_count + 1, sizeof(*marks->at)),
		.pairs = calloc(count + 1, sizeof(*marks->pairs)),
	};
	if (!p.items || !marks->port || !marks->peer || !marks->node || !marks->at || !marks->pairs) {
		free(p.items);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		place(&p, &in->findings->items[i]);
	fold_pairs(&p);
	free(p.items);
	return 0;
}

void marks_clear(struct figure_marks *marks)
{
	free(marks->port);
	free(marks->peer);
	free(marks->node);
	free(marks->at);
	free(marks->pairs);
	*marks = (struct figure_marks){0};
}

uint8_t marks_worst(const struct figure_marks *marks, uint32_t port)
{
	return marks->port[port] > marks->peer[port] ? marks->port[port] : marks->peer[port];
}

const struct pair_mark *marks_pair(const struct figure_marks *marks, uint32_t a, uint32_t b)
{
	uint32_t x = a < b ? a : b, y = a < b ? b : a;
	size_t low = 0, high = marks->pair_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct pair_mark *m = &marks->pairs[middle];

		if (m->a == x && m->b == y)
			return m;
		if (m->a < x || (m->a == x && m->b < y))
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

void marks_tell_nowhere(FILE *out, const struct figure_marks *marks)
{
	uint64_t sum = 0;
	char number[FIGURE_NUMBER];

	for (int s = FINDING_NOTE; s <= FINDING_CRITICAL; s++)
		sum += marks->nowhere[s];
	if (sum == 0)
		return;
	fprintf(out, "<p class=\"fig-nowhere\">%s finding%s of the list %s no place in this picture (", figure_number(sum, number),
		sum == 1 ? "" : "s", sum == 1 ? "has" : "have");
	for (int s = FINDING_CRITICAL, first = 1; s >= FINDING_NOTE; s--)
		if (marks->nowhere[s] > 0) {
			fprintf(out, "%s%s %s", first ? "" : ", ", figure_number(marks->nowhere[s], number),
				figure_severity_text((uint8_t)(s + 1)));
			first = 0;
		}
	fputs("): about files, the fabric as a whole, or all links of a kind. No cell shows them.</p>\n", out);
}
