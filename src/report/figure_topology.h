/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * figure_topology: what the drawing of switches shares: which are drawn (figure_topology.c), where and how (figure_topology_draw.c),
 * all of them in little (figure_topology_pods.c), and the tables behind it (figure_topology_table.c).
 */
#ifndef REPORT_FIGURE_TOPOLOGY_H
#define REPORT_FIGURE_TOPOLOGY_H

#include "figure.h"

#define TOPOLOGY_ALL 96	   /* switches that are drawn one by one, with each bundle */
#define TOPOLOGY_CHOSEN 48 /* of more of them: those with findings that are drawn by name */
#define TOPOLOGY_LINES 2000 /* bundles in one drawing */

struct topology {
	struct layers layers;
	struct figure_marks marks;
	uint8_t *worst; /* by node, of switches: the worst of it and its ports */
	bool *drawn;	/* by node: has a box with its name */
	uint32_t drawn_count, left_out; /* left_out: switches with findings that have none */
	bool all;	/* each switch is drawn, and each bundle */
};

/* Boxes with names and the bundles between them. 0 or -ENOMEM. */
int topology_draw(FILE *out, const struct topology *t);
/* A square each for all switches, in layers and pods, with lines for bundles that have findings. 0 or -ENOMEM. */
int topology_pods(FILE *out, const struct topology *t);
void topology_tables(FILE *out, const struct topology *t);

#endif
