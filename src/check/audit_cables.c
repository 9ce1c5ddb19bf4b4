/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Which cable a finding about a link is about: part and serial number, where the modules at its ends told them. */
#include <string.h>

#include "ibqos/audit.h"

/* The cable at a port, or else what the other end of the link says. */
static const struct fabric_cable *cable_at(const struct fabric *fabric, uint32_t port)
{
	const struct fabric_port *p = &fabric->ports[port];

	if (p->cable || p->peer == FABRIC_NONE)
		return p->cable;
	return fabric->ports[p->peer].cable;
}

static bool same_serial(const struct fabric_cable *a, const struct fabric_cable *b)
{
	return a->serial && b->serial && strcmp(a->serial, b->serial) == 0;
}

static void tell(struct finding *f, const char *what, const struct fabric_cable *cable)
{
	finding_append(&f->detail, "%s%s%s%s%s%s%s", what, cable->vendor ? cable->vendor : "",
		       cable->vendor && cable->part ? " " : "", cable->part ? cable->part : "", cable->serial ? " serial " : "",
		       cable->serial ? cable->serial : "", cable->vendor || cable->part || cable->serial ? "" : "not named");
}

static uint32_t find_port(const struct fabric *fabric, uint64_t guid, int number)
{
	uint32_t node = guid != 0 && number > 0 ? fabric_find_node(fabric, guid) : FABRIC_NONE;

	return node == FABRIC_NONE ? FABRIC_NONE : fabric_node_port(fabric, node, (unsigned)number);
}

/* What the modules at a finding's port and at the other end told, if it has them; false: neither. */
static bool add(const struct fabric *fabric, struct finding *f)
{
	uint32_t port = find_port(fabric, f->guid, f->port);
	const struct fabric_cable *here = port == FABRIC_NONE ? NULL : cable_at(fabric, port), *there = NULL;

	if (!here)
		return false;
	if (fabric->ports[port].peer != FABRIC_NONE)
		there = fabric->ports[fabric->ports[port].peer].cable;
	tell(f, "cable ", here);
	/* two transceivers and a fibre between */
	if (there && there != here && !same_serial(here, there))
		tell(f, "at the other end ", there);
	return true;
}

/* Whether the baseline has the link that a finding names: its cable is then the one that is meant. */
static bool had_link(const struct fabric *baseline, const struct finding *f)
{
	uint32_t port = find_port(baseline, f->guid, f->port), peer = find_port(baseline, f->peer_guid, f->peer_port);

	return port != FABRIC_NONE && peer != FABRIC_NONE && baseline->ports[port].peer == peer;
}

void audit_cables(const struct fabric *fabric, const struct fabric *baseline, struct finding_list *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		if (!add(fabric, &findings->items[i]) && baseline && had_link(baseline, &findings->items[i]))
			add(baseline, &findings->items[i]);
}
