/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * routes: who has which LID, where a switch sends it, and findings about what was read.
 */
#include "routes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "paths.h"
#include "place.h"

#define LIDS (ROUTES_LID_MAX + 1u)

static unsigned get16(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

/* --- who has which LID --- */

static int own(struct routes *routes, unsigned lid, uint32_t port)
{
	uint32_t *grown;

	if (lid > ROUTES_LID_MAX)
		return 0;
	if (routes->owner[lid] == FABRIC_NONE) {
		routes->owner[lid] = port;
		if (lid > routes->lid_top)
			routes->lid_top = lid;
		return 0;
	}
	grown = array_grow(routes->twice, &routes->twice_room, 2 * (routes->twice_count + 1), sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	routes->twice = grown;
	grown[2 * routes->twice_count] = lid;
	grown[2 * routes->twice_count + 1] = port;
	routes->twice_count++;
	return 0;
}

/* PortInfo:LID and LMC; of a switch only port 0 has one. A port that is down may still show an old one. */
static int own_port(struct routes *routes, uint32_t index)
{
	const struct fabric_port *port = &routes->fabric->ports[index];
	bool port0 = fabric_port_node(routes->fabric, index)->type == FABRIC_SWITCH;
	unsigned base, lmc, i;
	int error = 0;

	if (!port->known || (port0 && port->number != 0))
		return 0;
	if (!port0 && fabric_port_state(port) < FABRIC_STATE_ARMED)
		return 0;
	base = fabric_port_lid(port);
	lmc = port->info[34] & 7;
	for (i = 0; base != 0 && error == 0 && i < 1u << lmc; i++)
		error = own(routes, base + i, index);
	return error;
}

static int make_switch(struct routes *routes, uint32_t node)
{
	const struct fabric_node *n = &routes->fabric->nodes[node];
	struct routes_switch *s = &routes->switches[node];
	unsigned last;

	s->known = n->has_switch_info;
	s->linear = s->known && get16(n->switch_info) != 0;
	if (!s->linear)
		return 0;
	s->top = get16(n->switch_info + 6);
	last = s->top < routes->lid_top ? s->top : routes->lid_top;
	s->block_count = last / ROUTES_BLOCK + 1;
	s->ports = malloc((size_t)s->block_count * ROUTES_BLOCK);
	s->blocks = calloc(s->block_count, 1);
	return s->ports && s->blocks ? 0 : -ENOMEM;
}

int routes_new(const struct fabric *fabric, struct routes **routes)
{
	struct routes *r = calloc(1, sizeof(*r));
	int error = -ENOMEM;
	uint32_t i;

	*routes = NULL;
	if (!r)
		return -ENOMEM;
	r->fabric = fabric;
	r->switches = calloc((size_t)fabric->node_count + 1, sizeof(*r->switches));
	r->agents = calloc((size_t)fabric->node_count + 1, sizeof(*r->agents));
	r->owner = malloc(LIDS * sizeof(*r->owner));
	if (!r->switches || !r->agents || !r->owner)
		goto fail;
	for (i = 0; i < LIDS; i++)
		r->owner[i] = FABRIC_NONE;
	for (error = 0, i = 0; error == 0 && i < fabric->port_count; i++)
		error = own_port(r, i);
	for (i = 0; error == 0 && i < fabric->node_count; i++)
		if (fabric->nodes[i].type == FABRIC_SWITCH)
			error = make_switch(r, i);
	if (error != 0)
		goto fail;
	*routes = r;
	return 0;
fail:
	routes_free(r);
	return error;
}

void routes_free(struct routes *routes)
{
	uint32_t i;

	if (!routes)
		return;
	for (i = 0; routes->switches && i < routes->fabric->node_count; i++) {
		free(routes->switches[i].ports);
		free(routes->switches[i].blocks);
	}
	free(routes->switches);
	free(routes->agents);
	free(routes->owner);
	free(routes->twice);
	free(routes);
}

uint32_t routes_port_of_lid(const struct routes *routes, unsigned lid)
{
	return lid > 0 && lid <= ROUTES_LID_MAX ? routes->owner[lid] : FABRIC_NONE;
}

/* --- following --- */

enum route_step routes_link(const struct routes *routes, uint32_t out, unsigned lid)
{
	const struct fabric *fabric = routes->fabric;
	const struct fabric_port *port = &fabric->ports[out], *peer;

	if (port->number == 0)
		return routes_port_of_lid(routes, lid) == out ? ROUTE_ARRIVED : ROUTE_MISROUTED;
	if (!port->known)
		return ROUTE_NO_PEER;
	if (fabric_port_state(port) != FABRIC_STATE_ACTIVE)
		return ROUTE_DOWN;
	if (port->peer == FABRIC_NONE)
		return ROUTE_NO_PEER;
	peer = &fabric->ports[port->peer];
	if (peer->known && fabric_port_state(peer) != FABRIC_STATE_ACTIVE)
		return ROUTE_DOWN;
	if (fabric->nodes[peer->node].type == FABRIC_SWITCH)
		return ROUTE_ON;
	return routes_port_of_lid(routes, lid) == port->peer ? ROUTE_ARRIVED : ROUTE_MISROUTED;
}

enum route_step routes_step(const struct routes *routes, uint32_t node, unsigned lid, uint32_t *out)
{
	const struct fabric_node *n = &routes->fabric->nodes[node];
	const struct routes_switch *s = &routes->switches[node];
	unsigned number;

	*out = FABRIC_NONE;
	if (!s->known)
		return ROUTE_UNREAD;
	if (!s->linear)
		return ROUTE_RANDOM;
	if (lid > s->top)
		return ROUTE_ABOVE_TOP;
	if (lid / ROUTES_BLOCK >= s->block_count || s->blocks[lid / ROUTES_BLOCK] != BLOCK_READ)
		return ROUTE_UNREAD;
	number = s->ports[lid];
	if (number > n->ports)
		return ROUTE_UNSET;
	*out = n->first_port + number;
	return routes_link(routes, *out, lid);
}

const char *route_step_text(enum route_step step)
{
	static const char *const texts[ROUTE_STEPS] = {
		[ROUTE_ON] = "forwarded",
		[ROUTE_ARRIVED] = "arrived",
		[ROUTE_UNSET] = "dropped: no forwarding entry",
		[ROUTE_ABOVE_TOP] = "dropped: LID above LinearFDBTop",
		[ROUTE_MISROUTED] = "sent to a port that does not have the LID",
		[ROUTE_DOWN] = "dropped: link not active",
		[ROUTE_LOOP] = "loop",
		[ROUTE_UNREAD] = "unknown: forwarding table not answered",
		[ROUTE_RANDOM] = "unknown: no linear forwarding table",
		[ROUTE_NO_PEER] = "unknown: no answer behind this port",
	};

	return texts[step];
}

/* --- findings --- */

static void add_unread(const struct routes *routes, uint32_t node, struct finding_list *findings)
{
	const struct routes_switch *s = &routes->switches[node];
	struct finding *f;

	if (s->failed == 0)
		return;
	f = finding_add(findings, FINDING_QUERY_FAILED);
	place_node(f, routes->fabric, node);
	finding_set(&f->what, "LinearForwardingTable, %u of %u blocks", s->failed, s->asked);
	if (s->status)
		finding_set(&f->detail, "answered with MAD status 0x%04x", s->status);
	else if (s->tries)
		finding_set(&f->detail, "not answered in %u tries", s->tries);
	else
		finding_set(&f->detail, "%s", routes->of_file ? NOT_IN_FILE :
			    "not asked, as the device had stopped answering or the run was stopped");
}

static void add_adaptive(const struct routes *routes, enum routes_adaptive state, bool by_lft,
			 struct finding_list *findings)
{
	uint32_t i, count = 0, asked = 0, first = FABRIC_NONE;
	struct finding *f;

	for (i = 0; i < routes->fabric->node_count; i++) {
		asked += routes->switches[i].adaptive_asked;
		if (!routes->switches[i].adaptive_asked || routes->switches[i].adaptive != state)
			continue;
		if (count++ == 0)
			first = i;
	}
	if (count == 0)
		return;
	f = finding_add(findings, FINDING_ADAPTIVE_ROUTING);
	if (by_lft)
		f->severity = FINDING_NOTE;
	finding_set(&f->what, state == ROUTES_ADAPTIVE_ON ? "on" : "not known");
	finding_set(&f->got, "%u of %u switches, the first %s", count, asked, routes->fabric->nodes[first].name);
}

void routes_findings(const struct routes *routes, bool by_lft, struct finding_list *findings)
{
	struct finding *f;
	char text[FABRIC_TEXT];
	uint32_t i;
	size_t n;

	for (i = 0; i < routes->fabric->node_count; i++)
		add_unread(routes, i, findings);
	for (n = 0; n < routes->twice_count; n++) {
		f = finding_add(findings, FINDING_LID_TWICE);
		place_port(f, routes->fabric, routes->twice[2 * n + 1]);
		finding_set(&f->what, "LID %u", routes->twice[2 * n]);
		finding_set(&f->detail, "%s has it too",
			    fabric_port_text(routes->fabric, routes->owner[routes->twice[2 * n]], text, sizeof(text)));
	}
	add_adaptive(routes, ROUTES_ADAPTIVE_ON, by_lft, findings);
	add_adaptive(routes, ROUTES_ADAPTIVE_UNKNOWN, by_lft, findings);
}
