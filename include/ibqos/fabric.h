/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * fabric: the model of what was found: nodes, ports and links in indexed arrays. No I/O.
 *
 * Made with fabric_new(), fabric_add_node(), fabric_port_seen(), fabric_link(), then closed with
 * fabric_finish(), which sorts nodes by GUID (so that any source gives the same order), builds the
 * links and finds the gaps. Indexes are stable after that.
 */
#ifndef IBQOS_FABRIC_H
#define IBQOS_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ibqos/mad.h"
#include "ibqos/qos.h"

#define FABRIC_NONE UINT32_MAX

/* NodeInfo:NodeType (IBA 14.2.5.3) */
enum fabric_node_type { FABRIC_CA = 1, FABRIC_SWITCH = 2, FABRIC_ROUTER = 3 };

/* PortInfo:PortState and PortPhysicalState (IBA 14.2.5.6) */
enum { FABRIC_STATE_DOWN = 1, FABRIC_STATE_INIT = 2, FABRIC_STATE_ARMED = 3, FABRIC_STATE_ACTIVE = 4 };
enum { FABRIC_PHYS_LINK_UP = 5 };

/* A cable or transceiver, by the module at one end. Strings may be NULL. */
struct fabric_cable {
	char *vendor, *part, *serial;
};

struct fabric_port {
	uint32_t node; /* index into fabric->nodes */
	uint32_t peer; /* index of the port at the other end, or FABRIC_NONE */
	uint64_t guid; /* port GUID; that of the switch for all its ports; 0 if never seen */
	uint8_t number;
	bool known;	 /* PortInfo was answered: info is real */
	bool has_ext;	 /* the vendor's ExtendedPortInfo (0xff90) was answered */
	uint8_t notes;	 /* bits 1 << enum fabric_gap_reason: fabric_port_note() */
	uint8_t told_width;  /* as another tool's dump says, where PortInfo is not known: enum link_width, */
	uint16_t told_speed; /* enum link_speed; 0: nothing is said */
	uint16_t told_lid;
	struct fabric_cable *cable; /* what its module says of itself, as a dump has it; NULL: not known */
	uint8_t info[MAD_SMP_DATA]; /* raw PortInfo, but for its M_Key, which reads 0 */
	uint8_t ext_info[MAD_SMP_DATA];
};

struct fabric_node {
	uint64_t guid, system_guid;
	enum fabric_node_type type;
	uint8_t ports;	     /* NodeInfo:NumPorts */
	uint32_t first_port; /* index of the slot of port 0; port n is at first_port + n, for every
				node type; slot 0 of a CA or router is never known */
	uint16_t lid;	     /* of a switch's port 0; 0 for a CA: see its ports */
	uint32_t vendor;
	uint16_t device;
	bool enhanced_port0; /* switch: SwitchInfo says so */
	bool has_switch_info;
	struct mad_route route; /* from the port that looked, as found */
	char *name;		/* from the node-name map, else the description made printable, else the GUID */
	uint8_t node_info[MAD_SMP_DATA];
	uint8_t switch_info[MAD_SMP_DATA];
};

struct fabric_link {
	uint32_t a, b; /* port indexes, a < b; a == b: a port cabled to itself (loopback plug) */
};

/*
 * Where something did not answer: coverage is then not complete. PortInfo of an adapter or router is
 * only missed on ports that a link led to: its others may lie in another fabric. Of a switch whose
 * port 0 gave no PortInfo no port is asked at all: that is one gap, on port 0.
 */
enum fabric_gap_reason {
	FABRIC_GAP_NO_PEER,	 /* a port is LinkUp but nothing answered behind it */
	FABRIC_GAP_NO_PORT_INFO, /* the node is known, this port's PortInfo was not answered */
	FABRIC_GAP_NO_NODE_DESC, /* the node's description was not answered (all zero) */
	FABRIC_GAP_NO_SWITCH_INFO,
	FABRIC_GAP_NO_EXT_INFO,	 /* the vendor's ExtendedPortInfo got lost: QDR or FDR10 is not known */
	FABRIC_GAP_PEER_CHANGED, /* another answered behind this port than before, or at two ports the same */
	FABRIC_GAP_PEER_BAD,	 /* what answered behind this port gave a NodeInfo that cannot be */
};

struct fabric_gap {
	enum fabric_gap_reason reason;
	uint32_t port; /* the port it is seen from; for a whole node its port 0 slot */
};

struct fabric {
	char *label; /* ctx->fabric at the time; "" if none */
	struct fabric_node *nodes;
	struct fabric_port *ports;
	struct fabric_link *links;
	struct fabric_gap *gaps;
	uint32_t node_count, port_count, link_count, gap_count;
	uint32_t from_node; /* the node that looked, FABRIC_NONE if unknown */
	uint8_t from_port;
	uint16_t sm_lid; /* MasterSMLID of the port that looked; 0: no SM */
	size_t node_room, port_room, link_room, gap_room; /* internal */
	struct fabric_guid *by_guid;			  /* internal: while building */
	bool finished;
};

/* --- building --- */

struct fabric *fabric_new(const char *label); /* NULL: out of memory */
void fabric_free(struct fabric *fabric);

/*
 * Adds a node from its raw NodeInfo (MAD_SMP_DATA bytes) and returns its index before
 * fabric_finish(); FABRIC_NONE when out of memory or the NodeInfo cannot be (type unknown, GUID 0).
 * switch_info and node_desc may be NULL, or all zero, where they were not answered, route NULL where
 * none is known. A GUID that was added before gives the same index; the first NodeInfo and route
 * stay, a missing SwitchInfo or description is filled in.
 */
uint32_t fabric_add_node(struct fabric *fabric, const uint8_t *node_info, const uint8_t *switch_info,
			 const uint8_t *node_desc, const struct mad_route *route);
/*
 * Notes an answered PortInfo; ext_info may be NULL. One that is all zero is taken as not answered.
 * The last one given stays. -EINVAL: no such port.
 */
int fabric_port_seen(struct fabric *fabric, uint32_t node, unsigned number, uint64_t port_guid,
		     const uint8_t *info, const uint8_t *ext_info);
/*
 * Notes that two ports are cabled together (once a link, or from both ends); the two may be ports of
 * one node, or the same port. -EINVAL: no such port, or port 0. -EEXIST: one of them is already
 * cabled to another; that link stays, and the port left over becomes a gap if it is LinkUp.
 */
int fabric_link(struct fabric *fabric, uint32_t node_a, unsigned port_a, uint32_t node_b, unsigned port_b);
/*
 * As fabric_link(), but of links that exclude each other the last one told stays, and all ports of both are
 * noted as FABRIC_GAP_PEER_CHANGED.
 */
int fabric_relink(struct fabric *fabric, uint32_t node_a, unsigned port_a, uint32_t node_b, unsigned port_b);
/* Notes an answered ExtendedPortInfo; all zero is taken as not answered. -EINVAL: no such port. */
int fabric_port_ext_seen(struct fabric *fabric, uint32_t node, unsigned number, const uint8_t *ext_info);
/* Notes what only the one who looked can know: FABRIC_GAP_NO_EXT_INFO and those after it. -EINVAL: no such port. */
int fabric_port_note(struct fabric *fabric, uint32_t node, unsigned number, enum fabric_gap_reason reason);
/* The index of a node before fabric_finish(), by its GUID; FABRIC_NONE: not added yet. */
uint32_t fabric_index(const struct fabric *fabric, uint64_t guid);
/* -EINVAL: done before, or from_node is none. -ENOMEM: the fabric can only be freed. */
int fabric_finish(struct fabric *fabric);

/*
 * Gives nodes the names of a map file as infiniband-diags reads it (lines `0xGUID "name"`, `#`
 * comments; a GUID that is not in the fabric is fine; of two names for a GUID the first counts).
 * `text` is the file's. Faults are returned as findings with line and column; good lines are used
 * all the same, where infiniband-diags drops the whole file. -ENOMEM.
 */
struct finding_list;
int fabric_name_nodes(struct fabric *fabric, const char *path, const char *text, struct finding_list *findings);

/* --- reading --- */

static inline const struct fabric_node *fabric_port_node(const struct fabric *f, uint32_t port)
{
	return &f->nodes[f->ports[port].node];
}

uint32_t fabric_find_node(const struct fabric *fabric, uint64_t guid); /* bsearch; FABRIC_NONE */
/* Whether these are one fabric at two times: half of the nodes of the smaller one, by GUID, are in both; one without nodes is none. */
bool fabric_is_same(const struct fabric *before, const struct fabric *after);
uint32_t fabric_node_port(const struct fabric *fabric, uint32_t node, unsigned number); /* FABRIC_NONE if out of range */

/*
 * A SHARP aggregation node in an NVIDIA switch: a CA to discovery, though no host. By its device or its name, since the one
 * may be new and the other from a map.
 */
bool fabric_node_is_aggregation(const struct fabric_node *node);

/* Notes what a port's module says of itself; strings are copied, and may be NULL. The last one given stays. -ENOMEM. */
int fabric_port_cable(struct fabric *fabric, uint32_t port, const char *vendor, const char *part, const char *serial);

/* Replaces a port's PortInfo by a fresh one. */
void fabric_port_refresh(struct fabric *fabric, uint32_t port, const uint8_t *info);

/*
 * The port's management agent: a switch answers for all its ports at port 0, a CA or router port
 * for itself. Returns the port index whose LID it is asked at.
 */
uint32_t fabric_port_agent(const struct fabric *fabric, uint32_t port);
/* The port that has this base LID; FABRIC_NONE. Looks at each. */
uint32_t fabric_port_of_lid(const struct fabric *fabric, uint16_t lid);
/*
 * How to reach an agent. By LID where the agent's port has one and is active (or is a switch's
 * port 0), unless `directed` is set; else along the node's route, which for a CA port is only
 * right for the port it was found through (NodeInfo:LocalPortNum); for another one along the route
 * of the switch that it is cabled to. False if there is no way.
 */
bool fabric_agent_address(const struct fabric *fabric, uint32_t agent, bool directed, struct mad_address *address);

/* PortInfo fields, host order (IBA 14.2.5.6). Undefined on a port that is not known. */
unsigned fabric_port_state(const struct fabric_port *port);
unsigned fabric_port_phys_state(const struct fabric_port *port);
unsigned fabric_port_lid(const struct fabric_port *port);
unsigned fabric_port_sm_sl(const struct fabric_port *port); /* MasterSMSL */
unsigned fabric_port_vl_cap(const struct fabric_port *port);	   /* code 1..5 */
unsigned fabric_port_oper_vls(const struct fabric_port *port);	   /* code 1..5 */
unsigned fabric_port_high_limit(const struct fabric_port *port);
unsigned fabric_port_vlarb_high_cap(const struct fabric_port *port);
unsigned fabric_port_vlarb_low_cap(const struct fabric_port *port);
unsigned fabric_port_mtu_cap(const struct fabric_port *port);	   /* bytes: 256..4096; 0 unknown */
unsigned fabric_port_neighbor_mtu(const struct fabric_port *port); /* bytes in use on the link; 0 unknown */
uint32_t fabric_port_cap_mask(const struct fabric_port *port);
#define FABRIC_CAP_IS_SM (1u << 1)  /* IsSM: a subnet manager is there, in whatever state */
#define FABRIC_CAP_SL_MAP (1u << 6) /* IsSLMappingSupported (IBA 14.2.5.6, CapabilityMask bit 6) */

/* Fields that say what a link carries, and that have values which IBA reserves: all but 1..5. */
enum fabric_link_field { FABRIC_VL_CAP, FABRIC_OPER_VLS, FABRIC_NEIGHBOR_MTU, FABRIC_LINK_FIELDS };
const char *fabric_link_field_name(enum fabric_link_field field); /* "VLCap", ... */
/*
 * Whether a port tells such a value, which goes to *code: what its link carries is then not known. Not of a switch's port 0,
 * which has no link, nor of a port that is not known or down; and in Init, before the SM has set them, VLCap alone counts.
 */
bool fabric_port_reserved(const struct fabric_port *port, enum fabric_link_field field, unsigned *code);

/* Which of OpenSM's option sets a port is programmed from. */
enum qos_port_type fabric_port_qos_type(const struct fabric *fabric, uint32_t port);

/*
 * "leaf-1[3]" for a port, "leaf-1" for a port 0, into text of `size` bytes, which a long name is cut
 * to between characters. Returns text.
 */
#define FABRIC_TEXT 128
const char *fabric_port_text(const struct fabric *fabric, uint32_t port, char *text, size_t size);

/* --- link speed and width: include/ibqos/link.h --- */

/* Whether "mlx5_0", or "mlx5_0:2" for one port, means this port of an adapter of this name. */
bool fabric_adapter_is(const char *entry, const char *name, unsigned port);

#endif
