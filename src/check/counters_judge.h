/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * counters_judge: what the two halves of counters_judge() share: comparing, and telling.
 */
#ifndef IBQOS_CHECK_COUNTERS_JUDGE_H
#define IBQOS_CHECK_COUNTERS_JUDGE_H

#include "ibqos/state.h"

/* Why counters began anew. */
enum judged_anew { ANEW_NOT, ANEW_RESTARTED, ANEW_CLEARED, ANEW_UNKNOWN };

struct judged {
	const struct counter_reading *reading; /* NULL: the port is none that was read */
	const struct state_port *was;	       /* the last look at it; NULL: none */
	struct state_port now;
	uint64_t seconds; /* since the last look at the same link; 0: there is none */
	uint32_t grown;	  /* COUNTER_BIT(): growth is known */
	uint32_t least;	  /* it is a lower bound */
	uint64_t growth[COUNTERS];
	bool fallen, new_peer;
	enum judged_anew anew;
};

struct judging {
	const struct counters *counters;
	const struct fabric *fabric;
	struct state *state;
	const struct counters_options *options;
	struct counters_result *result;
	struct judged *ports; /* by port index */
};

/* The findings of a port, and its verdicts in the result. */
void judged_tell(struct judging *g, uint32_t port, struct finding_list *findings);
/* Of the fabric as a whole: first looks, restarts, clearers. */
void judged_tell_anew(struct judging *g, struct finding_list *findings);

#endif
