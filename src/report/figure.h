/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * figure: what the pictures share: where findings are (figure_marks.c), text, signs and legends (figure_parts.c), the classes that
 * cells of ports are in (figure_cells.c).
 */
#ifndef REPORT_FIGURE_H
#define REPORT_FIGURE_H

#include <inttypes.h>

#include "ibqos/figures.h"
#include "ibqos/layers.h"
#include "ibqos/report.h"

/* --- figure_marks.c: where findings are --- */

/* Severities here are enum finding_severity and one; 0: there is no finding. */
struct pair_mark {
	uint32_t a, b; /* nodes, a < b */
	uint8_t worst;
	uint32_t findings;
	uint32_t cables; /* of the pair that are meant: those of a port's findings, each once */
};

struct figure_marks {
	uint8_t *port; /* by port index: the worst there */
	uint8_t *peer; /* by port index: the worst that is told at the other end of a cable */
	uint8_t *node; /* by node: the worst of the node as a whole, or of a switch's port 0 */
	uint32_t *at;  /* by node: findings that name it or its ports */
	struct pair_mark *pairs; /* of switches, by a and b */
	size_t pair_count;
	uint32_t nowhere[FINDING_CRITICAL + 1]; /* by severity: findings without a place in this fabric */
};
int marks_new(const struct figure_fabric *in, struct figure_marks *marks); /* 0 or -ENOMEM */
void marks_clear(struct figure_marks *marks);
/* The worst of a port, either end, or (0) of a node as a whole. */
uint8_t marks_worst(const struct figure_marks *marks, uint32_t port);
const struct pair_mark *marks_pair(const struct figure_marks *marks, uint32_t a, uint32_t b); /* NULL: none */
/* Says how many findings have no place in the picture, as a paragraph; nothing where all have one. */
void marks_tell_nowhere(FILE *out, const struct figure_marks *marks);

/* --- figure_parts.c --- */

#define FIGURE_CUT 64
/* Writes a text as HTML's text or an attribute's value in quotes. */
void figure_text(FILE *out, const char *text);
/* The same, of at most so many characters (FIGURE_CUT at most), the last one "…" where it was longer. */
void figure_text_cut(FILE *out, const char *text, unsigned characters);
const char *figure_name(const struct fabric *fabric, uint32_t node); /* never NULL */
/* "1,620" */
#define FIGURE_NUMBER 32
const char *figure_number(uint64_t number, char text[FIGURE_NUMBER]);

/* What marks a finding besides colour, drawn from (0, 0) to (8, 8) at a point. */
enum figure_sign { SIGN_NONE, SIGN_NOTE, SIGN_WARNING, SIGN_UNKNOWN, SIGN_CRITICAL };
void figure_sign_path(FILE *out, enum figure_sign sign, int x, int y);
/* By severity and one. */
const char *figure_severity_class(uint8_t worst); /* "k-crit"; "k-ok" for 0 */
const char *figure_severity_text(uint8_t worst);  /* "critical"; "no finding" for 0 */
enum figure_sign figure_severity_sign(uint8_t worst);

/* "layer 1: 1 hop from hosts" (figure_ports.c) */
#define FIGURE_LAYER 64
void figure_layer_name(unsigned level, char text[FIGURE_LAYER]);

/* --- figure_cells.c: the ways to colour the cells of ports --- */

struct cell_class {
	char letter; /* in the page's data */
	const char *css;
	enum figure_sign sign;
	char text[64]; /* for the legend */
	uint32_t count;
};
enum cell_view { VIEW_FINDINGS, VIEW_SPEED, VIEW_ERRORS, VIEW_WAITING, CELL_VIEWS };
#define CELL_CLASSES 16

struct cells {
	const struct figure_fabric *in;
	const struct figure_marks *marks;
	bool has[CELL_VIEWS];
	struct cell_class classes[CELL_VIEWS][CELL_CLASSES];
	unsigned class_count[CELL_VIEWS];
	uint8_t *of[CELL_VIEWS]; /* by port index: index into classes; NULL: this view is not there */
};
int cells_new(const struct figure_fabric *in, const struct figure_marks *marks, struct cells *cells); /* 0 or -ENOMEM */
void cells_clear(struct cells *cells);
const char *cells_view_name(enum cell_view view);  /* "findings": of classes and ids */
const char *cells_view_title(enum cell_view view); /* for people */
/* "3e-12 errors a bit (at most 5e-12), 63.0 % of the time without credits"; false, and "": nothing stands out. */
#define CELL_TEXT 128
bool cells_measured(const struct cells *cells, uint32_t port, char text[CELL_TEXT]);

#endif
