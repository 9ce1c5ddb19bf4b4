/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * script_fabric: devices behind a scripted wire that are joined by cables: a request along a directed route
 * goes from cable to cable and is answered where it ends, or by nobody. A test may meddle with each answer.
 */
#ifndef SCRIPT_FABRIC_H
#define SCRIPT_FABRIC_H

#include "ibqos/fabric.h"
#include "script_wire.h"

#define SCRIPT_NODES 128
#define SCRIPT_PORTS 255

struct script_node {
	enum fabric_node_type type;
	uint64_t guid; /* a CA's port has guid + its number */
	unsigned ports;
	char desc[16];
	uint16_t device; /* device ID; 0: 0xcb20, one that has ExtendedPortInfo */
	struct {
		unsigned node, port; /* port 0: no cable, port down */
	} peer[SCRIPT_PORTS + 1];
};

/* What becomes of an answer: as it is, or lost. */
typedef bool script_meddler(void *arg, const struct mad_request *request, unsigned node, unsigned arrival,
			    struct mad_reply *reply);

struct script_fabric {
	struct script_node node[SCRIPT_NODES];
	unsigned count;
	unsigned from_node, from_port; /* whose port the wire is; port 0: a switch itself */
	unsigned speed_active;	       /* of all ports that are up: raw LinkSpeedActive; 0: 4x QDR without EDR's gates */
	script_meddler *meddle;
	void *arg;
	uint64_t (*delay)(void *arg); /* of an answer in nanoseconds; NULL: SCRIPT_DELAY_US */
	/* counted: requests by attribute that reached a node, and those that reached none */
	unsigned asked[SCRIPT_NODES][4]; /* NodeInfo, NodeDescription, SwitchInfo, 0xff90 */
	unsigned port_asked[SCRIPT_NODES][SCRIPT_PORTS + 1];
	unsigned nowhere;
};

unsigned script_fabric_node(struct script_fabric *f, enum fabric_node_type type, uint64_t guid, unsigned ports);
void script_fabric_cable(struct script_fabric *f, unsigned a, unsigned port_a, unsigned b, unsigned port_b);
/* For script_wire_play(); arg is the fabric. */
int script_fabric_play(void *arg, struct script_wire *wire, const struct mad_request *request);

/* Whether links lead on from a node's port: from a switch, and from the port that looks. */
bool script_fabric_leads_on(const struct script_fabric *f, unsigned node, unsigned port);
/* Which nodes a walk can reach; returns how many. */
unsigned script_fabric_reach(const struct script_fabric *f, bool reached[SCRIPT_NODES]);
/* Aborts the test where a discovered fabric is not exactly this one, as far as it can be reached. */
void script_fabric_check(const struct script_fabric *f, const struct fabric *found);

#endif
