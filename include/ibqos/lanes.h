/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * lanes: which VL a packet has on a link, from the SL2VL and VL arbitration tables that ports hold, or that
 * OpenSM would program there (part of folder check).
 *
 * The VL of a hop is that of the table for the in-port and the out-port (IBA 7.6.6, 14.2.5.9), so it can
 * change along a path. Tables are kept once each: a fabric of 2 million of them costs 4 bytes a table.
 */
#ifndef IBQOS_LANES_H
#define IBQOS_LANES_H

#include "ibqos/check.h"

struct lanes;

/* What becomes of a packet that is to leave by a port. */
enum lane_fate {
	LANE_FINE,
	LANE_DROPPED, /* its SL is mapped to VL 15 */
	LANE_NOT_RUN, /* to a VL that the link does not run */
	LANE_STARVED, /* to a VL without weight in either arbitration table */
	LANE_UNKNOWN, /* SL2VL or VL arbitration was not answered */
	LANE_FATES
};
const char *lane_fate_text(enum lane_fate fate); /* "dropped: VL 15", ... */

#define LANE_NO_VL 15 /* LANE_DROPPED, or not known */

/* Empty: all is unknown until lanes_take(). The fabric is borrowed, and PortInfo read as it is there. 0 or -ENOMEM. */
int lanes_new(const struct fabric *fabric, struct lanes **lanes);
/* As every port would hold it once OpenSM has programmed `config`. Ports whose PortInfo is not known stay unknown. */
int lanes_expected(const struct fabric *fabric, const struct qos_config *config, struct lanes **lanes);
void lanes_free(struct lanes *lanes); /* NULL is fine */

/* Takes an answer: SL2VL and VL arbitration; others are passed over. -ENOMEM: it is not kept, and stays unknown. */
int lanes_take(struct lanes *lanes, const struct source_query *query, const uint8_t *data);

/*
 * The VL of a packet of `sl` that came in by port number `in` (0: it starts at this node) and leaves by port index
 * `out`. A port that can only run one VL has VL 0 whatever its table says. *vl is LANE_NO_VL where it has none or
 * is not known; with LANE_UNKNOWN it may be known, and only the arbitration not.
 */
enum lane_fate lanes_fate(const struct lanes *lanes, uint32_t out, unsigned in, unsigned sl, unsigned *vl);

/*
 * A source that asks `inner` and shows each answer to `lanes` too, so that what verify asks need not be asked again.
 * Both are borrowed: source_close() frees only the wrapper. *lost becomes -ENOMEM if an answer could not be kept.
 */
int lanes_listen(struct lanes *lanes, struct source *inner, int *lost, struct source **source);

#endif
