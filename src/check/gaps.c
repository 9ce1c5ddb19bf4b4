/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * gaps: what a discovery did not see, as findings. Tools that drop a silent device to stderr and
 * exit 0 are why coverage is a verdict here.
 */
#include "ibqos/check.h"
#include "ibqos/link.h"

#include "place.h"

static void add_gap(const struct fabric *fabric, const struct fabric_gap *gap, struct finding_list *findings)
{
	uint32_t node = fabric->ports[gap->port].node;
	struct finding *f;

	switch (gap->reason) {
	case FABRIC_GAP_NO_PEER:
		f = finding_add(findings, FINDING_NO_ANSWER);
		place_port(f, fabric, gap->port);
		finding_set(&f->what, "device behind this port");
		return;
	case FABRIC_GAP_NO_PORT_INFO:
		f = finding_add(findings, FINDING_PORT_INFO_MISSING);
		place_port(f, fabric, gap->port);
		finding_set(&f->what, "PortInfo");
		return;
	case FABRIC_GAP_NO_NODE_DESC:
		f = finding_add(findings, FINDING_NODE_INFO_INCOMPLETE);
		place_node(f, fabric, node);
		finding_set(&f->what, "NodeDescription");
		return;
	case FABRIC_GAP_NO_SWITCH_INFO:
		f = finding_add(findings, FINDING_NODE_INFO_INCOMPLETE);
		place_node(f, fabric, node);
		finding_set(&f->what, "SwitchInfo");
		return;
	case FABRIC_GAP_NO_EXT_INFO:
		f = finding_add(findings, FINDING_SPEED_UNANSWERED);
		place_port(f, fabric, gap->port);
		finding_set(&f->what, "%s", link_lacks_ext_speeds(fabric, gap->port) ? "PortInfo, with extended speeds" : "vendor's ExtendedPortInfo");
		return;
	case FABRIC_GAP_PEER_CHANGED:
		f = finding_add(findings, FINDING_PEER_CHANGED);
		place_port(f, fabric, gap->port);
		finding_set(&f->what, "device behind this port");
		return;
	case FABRIC_GAP_PEER_BAD:
		f = finding_add(findings, FINDING_NODE_INFO_BAD);
		place_port(f, fabric, gap->port);
		finding_set(&f->what, "device behind this port");
		return;
	}
}

void check_gaps(const struct fabric *fabric, struct finding_list *findings)
{
	uint32_t i;

	for (i = 0; i < fabric->gap_count; i++)
		add_gap(fabric, &fabric->gaps[i], findings);
}
