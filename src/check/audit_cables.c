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

void audit_cables(const struct fabric *fabric, struct finding_list *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		struct finding *f = &findings->items[i];
		uint32_t node = f->guid != 0 && f->port > 0 ? fabric_find_node(fabric, f->guid) : FABRIC_NONE;
		uint32_t port = node == FABRIC_NONE ? FABRIC_NONE : fabric_node_port(fabric, node, (unsigned)f->port);
		const struct fabric_cable *here = port == FABRIC_NONE ? NULL : cable_at(fabric, port), *there = NULL;

		if (!here)
			continue;
		if (fabric->ports[port].peer != FABRIC_NONE)
			there = fabric->ports[fabric->ports[port].peer].cable;
		tell(f, "cable ", here);
		/* two transceivers and a fibre between */
		if (there && there != here && !same_serial(here, there))
			tell(f, "at the other end ", there);
	}
}
