/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * figure_ports: what the picture of ports (figure_ports.c) and its table and data (figure_ports_table.c) share.
 */
#ifndef REPORT_FIGURE_PORTS_H
#define REPORT_FIGURE_PORTS_H

#include "figure.h"

struct ports_figure {
	struct layers layers;
	struct figure_marks marks;
	struct cells cells;
	unsigned blocks; /* drawn so far */
};

/* A row a switch: its ports by class, in ranges. */
void ports_table(FILE *out, const struct ports_figure *p);
/* The same for the page's script, with what each port is cabled to. */
void ports_data(FILE *out, const struct ports_figure *p);

#endif
