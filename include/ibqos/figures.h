/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * figures: the pictures of an HTML report (part of folder report). Each writes a piece of HTML: inline SVG that needs nothing else
 * than the page's style sheet, its data as a table behind it, and no colour that is the only sign of anything. The same input
 * gives the same bytes. How to read them: docs/html-report.md.
 */
#ifndef IBQOS_FIGURES_H
#define IBQOS_FIGURES_H

#include <stdio.h>

#include "ibqos/counters.h"

/* What pictures of a fabric are made of. All is borrowed. */
struct figure_fabric {
	const struct fabric *fabric;
	const struct finding_list *findings;
	/*
	 * By port index: whether the command judged it. NULL: each whose PortInfo is known. One that it did not judge, without a
	 * finding, is drawn as not looked at.
	 */
	const bool *looked;
	const struct counters *counters;	/* NULL: not asked */
	const struct counter_measure *measures; /* by port index; NULL: there was no earlier look */
};

/* The ports of all switches, a cell each. 0 or -ENOMEM; errors of writing are those of `out`. */
int figure_ports(FILE *out, const struct figure_fabric *in);
/* The switches by layers, with the cables between them. Likewise. */
int figure_topology(FILE *out, const struct figure_fabric *in);

/* What each class is guaranteed on each kind of link, beside what the policy asks for. */
struct figure_shares {
	const struct policy *policy;
	const struct plan *plan;	  /* of the policy */
	const struct plan_place *places; /* of plan_explain() */
	size_t count;
};
void figure_shares(FILE *out, const struct figure_shares *in);

/* What each class had of busy ports, beside what it is promised: of audit. */
struct figure_had {
	const struct fabric *fabric;
	const struct plan *plan;
	const struct shares_result *result;
};
int figure_had(FILE *out, const struct figure_had *in); /* 0 or -ENOMEM */

/* What the state file remembers of ports that have a finding: how their counters grew, and when they were looked at. */
struct state;
struct figure_history {
	const struct finding_list *findings;
	const struct state *state; /* after this run was put there */
	uint64_t now;		   /* seconds since 1970 */
};
int figure_history(FILE *out, const struct figure_history *in); /* 0 or -ENOMEM */

#endif
