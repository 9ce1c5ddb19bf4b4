/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * state: what an audit remembers for the next one, in a file: counters of ports, findings since when, and what was
 * acknowledged (part of folder check). Format: docs/counters.md, "The state file".
 */
#ifndef IBQOS_STATE_H
#define IBQOS_STATE_H

#include "ibqos/counters.h"

#define STATE_FORGET_S (90 * UINT64_C(86400)) /* what was not seen for so long is forgotten */
#define STATE_LOCK_MS 30000u	    /* how long a run waits for others that write the same file */
#define STATE_HOLD_S 3600u	    /* a finding stays so long after it was last seen */
#define STATE_BUCKET_S 86400u	    /* growth is kept by so long buckets, the last one and the one before */

/* Growth in a stretch of time. */
struct state_bucket {
	uint64_t since;	  /* when it began; 0: there is none */
	uint64_t seconds; /* of it in which the link stayed up: growth of COUNTER_BER counters is of these alone */
	uint32_t least; /* COUNTER_BIT(): that many or more */
	uint64_t growth[COUNTERS];
};

struct state_port {
	uint64_t guid, peer_guid; /* of nodes; peer 0: none */
	uint8_t port, peer_port;
	uint8_t width;	/* enum link_width; 0: unknown */
	uint16_t speed; /* enum link_speed */
	uint64_t at;	/* when it was read, seconds since 1970 */
	uint32_t known, saturated;
	uint64_t value[COUNTERS];
	struct state_bucket last, before;
};

/* What a port had sent of each SL at its last look. */
struct state_shares {
	uint64_t guid, peer_guid; /* of nodes */
	uint8_t port, peer_port;
	uint8_t width;	/* enum link_width; 0: unknown */
	uint16_t speed; /* enum link_speed */
	bool wide, has_waited;
	uint16_t saturated;
	uint64_t at;
	uint64_t sent[QOS_SLS];
	uint16_t waited[QOS_SLS]; /* by VL */
};

struct state_finding {
	enum finding_code code;
	enum finding_severity severity;
	uint64_t guid, peer_guid;
	int port, peer_port;	/* FINDING_WHOLE_NODE */
	uint64_t first, seen;	/* seconds since 1970 */
	uint64_t clean;		/* since when its place was looked at without it; 0: it is there */
	char *what, *wanted, *got; /* NULL: none */
	bool now;		/* internal: among this run's */
};

struct state_ack {
	enum finding_code code;
	uint64_t guid;
	int port; /* FINDING_WHOLE_NODE: any of the node's */
	uint64_t until;
	char *ticket;
	uint64_t since; /* when that was said; 0: not known, an older ibqos kept it */
	char *by;	/* who said it: maintenance_who(); NULL: not known */
};

struct state_node {
	uint64_t guid;
	char *name;
};

struct state {
	char *label;	  /* of the fabric; "" if none */
	uint64_t written; /* 0: never */
	struct state_node *nodes;
	struct state_port *ports; /* by GUID and port number */
	struct state_shares *shares; /* by GUID and port number */
	struct state_finding *findings;
	struct state_ack *acks;
	size_t node_count, port_count, shares_count, finding_count, ack_count;
	size_t node_room, port_room, shares_room, finding_room, ack_room; /* internal */
};

/* --- the file --- */

/*
 * Reads a file's text into an empty state. -EINVAL: it is none, or not whole; *line says where (1..), *why what is wrong (static).
 * -ENOMEM. The state is then empty.
 */
int state_parse(const char *text, struct state *state, unsigned *line, const char **why);
char *state_text(const struct state *state, size_t *size); /* freed by the caller; NULL: no memory */
void state_clear(struct state *state);
/*
 * Reads a file. One that is not there is an empty state; one that cannot be read or is broken a finding, as is one of another
 * fabric (other label, or fewer than half of the nodes of the smaller of the two in common): *usable is then false, and the
 * file must stay as it is. fabric NULL: no such check. 0 or -ENOMEM.
 */
int state_load(const char *path, const struct fabric *fabric, uint64_t now, struct finding_list *findings,
	       struct state *state, bool *usable);
/* Takes the fabric's label and names of nodes, and the time; then state_text() and file_replace(). 0 or -errno. */
int state_save(const char *path, const struct fabric *fabric, uint64_t now, struct state *state);

/* NULL: none */
struct state_port *state_port_find(const struct state *state, uint64_t guid, unsigned port);
/* Puts ports in, in place of those of the same GUID and number, and forgets others read before `forget`. 0 or -ENOMEM. */
int state_ports_put(struct state *state, const struct state_port *ports, size_t count, uint64_t forget);

const struct state_shares *state_shares_find(const struct state *state, uint64_t guid, unsigned port); /* NULL: none */
/* Puts these in, in place of those of the same GUID and number that are not later. 0 or -ENOMEM. */
int state_shares_put(struct state *state, const struct state_shares *shares, size_t count, uint64_t now);

/* --- findings and acknowledgements --- */

/*
 * Takes this run's findings at a place of the fabric that are warnings or critical: says since when each is seen. Earlier ones
 * that are gone are put back until their place was looked at without them for `hold_s`. looked(): whether this run looked at
 * what that one is about; if not, it stays as it is. What is acknowledged becomes a note; an acknowledgement that has
 * expired while its finding stays is a finding of its own. With `since` only changes are left: what came since, what went since
 * and is still held, what an acknowledgement no longer covers since. 0 or -ENOMEM.
 */
struct state_look {
	uint64_t now;
	unsigned hold_s;
	bool (*looked)(const struct state_finding *finding, void *arg);
	void *arg;
	uint32_t acknowledged, held; /* filled in: how many */
	uint64_t since; /* 0: all; else what was there before then, and still is, is left out */
	uint32_t older; /* filled in: how many these are */
	uint64_t compared; /* likewise: comparisons that it took, n log n of all that there is */
};
int state_findings(struct state *state, struct state_look *look, struct finding_list *findings);

/* "leaf-1[3]", "leaf-1", "0x…[3]": by the names that the state has. -EINVAL no place; -ENOENT no such node. */
int state_place(const struct state *state, const char *text, uint64_t *guid, int *port);
/* The other way: "leaf-1[3]", "leaf-1", or with the GUID of a node whose name it does not have; what is longer is cut. */
#define STATE_PLACE 300
void state_place_text(const struct state *state, uint64_t guid, int port, char text[STATE_PLACE]);
/* For a place with no such node: "closest: 'leaf-1'", of the names that the state has; "" where none is near. */
#define STATE_CLOSEST 1024
void state_closest(const struct state *state, const char *text, char closest[STATE_CLOSEST]);
/* Acknowledges, in place of an earlier one of the same code and place; the texts are copied. 0 or -ENOMEM. */
int state_acknowledge(struct state *state, const struct state_ack *ack);
/* That of just this code and place; NULL: none. */
const struct state_ack *state_ack_find(const struct state *state, enum finding_code code, uint64_t guid, int port);
/* Frees what one has. */
void state_ack_clear(struct state_ack *ack);
/* Takes one of state->acks away. */
void state_ack_remove(struct state *state, const struct state_ack *ack);
/* Whether what it acknowledges was there at the last audit that looked; *last: when one saw it last, 0: none that is remembered. */
bool state_ack_seen(const struct state *state, const struct state_ack *ack, uint64_t *last);

/* "2026-11-30" (its end), "2026-11-30T10:00:00Z", UTC, or seconds since 1970. -EINVAL. */
int state_time_parse(const char *text, uint64_t *seconds);
/* The same, a day being its beginning; or "90s", "30min", "2h", "7d" before now; or "last": `written`. -EINVAL. */
int state_since_parse(const char *text, uint64_t now, uint64_t written, uint64_t *seconds);
#define STATE_TIME 40
void state_time_text(uint64_t seconds, char text[STATE_TIME]); /* "2026-11-30T10:00:00Z" */

#endif
