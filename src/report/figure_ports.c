/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The ports of all switches, a row a switch and a cell a port. Cells of a class that lie side by side are one stroke, dashed by
 * the style sheet, so that a picture of 60,000 cells has some thousand elements; what it shows is told again in figure_ports_table.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "figure_ports.h"

#define ROWS_MAX 60 /* in one picture: a page to be printed */
#define NAME_SHOWN 24
/* The page's script (html_figures.js) and style sheet know these. */
#define PITCH 11 /* of cells; 10 of it are the cell */
#define ROW 12
#define HEAD 16
#define NODE_X 150
#define PORT_X 166

/* A picture of some rows, by their places in the order of layers. */
struct block {
	const uint32_t *rows;
	uint32_t count;
	unsigned ports; /* most of them */
};

static uint32_t node_of(const struct ports_figure *p, const struct block *b, uint32_t row)
{
	return p->layers.order[b->rows[row]];
}

static int middle_of(uint32_t row)
{
	return HEAD + (int)row * ROW + ROW / 2;
}

/* The cells of one class, as strokes. */
static void put_strokes(FILE *out, const struct ports_figure *p, const struct block *b, enum cell_view view, unsigned class)
{
	for (uint32_t row = 0; row < b->count; row++) {
		const struct fabric_node *node = &p->cells.in->fabric->nodes[node_of(p, b, row)];
		const uint8_t *of = p->cells.of[view] + node->first_port;

		for (unsigned port = 1, next; port <= node->ports; port = next) {
			for (next = port + 1; next <= node->ports && of[next] == of[port];)
				next++;
			if (of[port] == class)
				fprintf(out, "M%u %dh%u", PORT_X + (port - 1) * PITCH, middle_of(row), (next - port) * PITCH - 1);
		}
	}
}

static void put_signs(FILE *out, const struct ports_figure *p, const struct block *b, enum cell_view view, unsigned class)
{
	for (uint32_t row = 0; row < b->count; row++) {
		const struct fabric_node *node = &p->cells.in->fabric->nodes[node_of(p, b, row)];
		const uint8_t *of = p->cells.of[view] + node->first_port;

		for (unsigned port = 1; port <= node->ports; port++)
			if (of[port] == class)
				figure_sign_path(out, p->cells.classes[view][class].sign, (int)(PORT_X + (port - 1) * PITCH + 1),
						 middle_of(row) - 4);
	}
}

static bool block_has(const struct ports_figure *p, const struct block *b, enum cell_view view, unsigned class)
{
	for (uint32_t row = 0; row < b->count; row++) {
		const struct fabric_node *node = &p->cells.in->fabric->nodes[node_of(p, b, row)];

		for (unsigned port = 1; port <= node->ports; port++)
			if (p->cells.of[view][node->first_port + port] == class)
				return true;
	}
	return false;
}

static void put_view(FILE *out, const struct ports_figure *p, const struct block *b, enum cell_view view)
{
	fprintf(out, "<g class=\"v v-%s\">", cells_view_name(view));
	for (unsigned class = 0; class < p->cells.class_count[view]; class++) {
		const struct cell_class *c = &p->cells.classes[view][class];

		if (c->count == 0 || !block_has(p, b, view, class))
			continue;
		fprintf(out, "<path class=\"c %s\" data-c=\"%c\" d=\"", c->css, c->letter);
		put_strokes(out, p, b, view, class);
		fputs("\"/>", out);
		if (c->sign == SIGN_NONE)
			continue;
		fputs("<path class=\"sign\" d=\"", out);
		put_signs(out, p, b, view, class);
		fputs("\"/>", out);
	}
	fputs("</g>\n", out);
}

static void put_labels(FILE *out, const struct ports_figure *p, const struct block *b)
{
	const struct fabric *f = p->cells.in->fabric;

	fputs("<g class=\"t\">", out);
	for (unsigned port = 1; port <= b->ports; port++)
		if (port == 1 || port % 5 == 0)
			fprintf(out, "<text x=\"%u\" y=\"11\">%u</text>", PORT_X + (port - 1) * PITCH, port);
	for (uint32_t row = 0; row < b->count; row++) {
		fprintf(out, "<text x=\"0\" y=\"%d\">", middle_of(row) + 3);
		figure_text_cut(out, figure_name(f, node_of(p, b, row)), NAME_SHOWN);
		fputs("</text>", out);
	}
	fputs("</g>\n", out);
}

/* What is wrong with a switch as a whole stands before its ports. */
static void put_nodes(FILE *out, const struct ports_figure *p, const struct block *b)
{
	for (uint32_t row = 0; row < b->count; row++) {
		uint8_t worst = p->marks.node[node_of(p, b, row)];

		if (worst == 0)
			continue;
		fprintf(out, "<path class=\"c %s\" data-c=\"node\" d=\"M%d %dh10\"/><path class=\"sign\" d=\"", figure_severity_class(worst),
			NODE_X, middle_of(row));
		figure_sign_path(out, figure_severity_sign(worst), NODE_X + 1, middle_of(row) - 4);
		fputs("\"/>\n", out);
	}
}

/* "0-59 61": the script finds rows of data by them. */
static void put_rows(FILE *out, const struct block *b)
{
	for (uint32_t row = 0, next; row < b->count; row = next) {
		for (next = row + 1; next < b->count && b->rows[next] == b->rows[next - 1] + 1;)
			next++;
		fprintf(out, next - row > 1 ? "%s%u-%u" : "%s%u", row ? " " : "", b->rows[row], b->rows[next - 1]);
	}
}

static void put_block(FILE *out, struct ports_figure *p, const uint32_t *rows, uint32_t count)
{
	const struct fabric *f = p->cells.in->fabric;
	struct block b = {.rows = rows, .count = count};
	unsigned number = p->blocks++;

	for (uint32_t row = 0; row < count; row++)
		if (f->nodes[node_of(p, &b, row)].ports > b.ports)
			b.ports = f->nodes[node_of(p, &b, row)].ports;
	fprintf(out, "<div class=\"fig-scroll\"><svg class=\"fm-s\" role=\"img\" aria-labelledby=\"fm-t%u\" width=\"%u\" height=\"%u\" data-rows=\"",
		number, PORT_X + b.ports * PITCH, HEAD + count * ROW);
	put_rows(out, &b);
	fprintf(out, "\"><title id=\"fm-t%u\">Ports of %u switch%s, ", number, count, count == 1 ? "" : "es");
	figure_text_cut(out, figure_name(f, node_of(p, &b, 0)), FIGURE_CUT);
	if (count > 1) {
		fputs(" to ", out);
		figure_text_cut(out, figure_name(f, node_of(p, &b, count - 1)), FIGURE_CUT);
	}
	fputs(": the table below has the same in words</title>\n", out);
	put_labels(out, p, &b);
	put_nodes(out, p, &b);
	for (int view = 0; view < CELL_VIEWS; view++)
		if (p->cells.has[view])
			put_view(out, p, &b, view);
	fputs("</svg></div>\n", out);
}

static void put_blocks(FILE *out, struct ports_figure *p, const uint32_t *rows, uint32_t count)
{
	for (uint32_t at = 0; at < count; at += ROWS_MAX)
		put_block(out, p, rows + at, count - at < ROWS_MAX ? count - at : ROWS_MAX);
}

static void put_legend(FILE *out, const struct cells *cells, enum cell_view view)
{
	char number[FIGURE_NUMBER];

	fprintf(out, "<ul class=\"fig-legend v v-%s\">", cells_view_name(view));
	for (unsigned i = 0; i < cells->class_count[view]; i++) {
		const struct cell_class *c = &cells->classes[view][i];

		if (c->count == 0)
			continue;
		fprintf(out, "<li data-c=\"%c\"><svg width=\"10\" height=\"10\" aria-hidden=\"true\"><path class=\"c %s\" d=\"M0 5h10\"/>"
			     "<path class=\"sign\" d=\"",
			c->letter, c->css);
		figure_sign_path(out, c->sign, 1, 1);
		fprintf(out, "\"/></svg> %s: <b>%s</b></li>\n", c->text, figure_number(c->count, number));
	}
	fputs("</ul>\n", out);
}

static void put_head(FILE *out, const struct ports_figure *p)
{
	const struct cells *c = &p->cells;
	char ports[FIGURE_NUMBER], switches[FIGURE_NUMBER];
	uint64_t sum = 0;

	for (unsigned i = 0; i < c->class_count[VIEW_FINDINGS]; i++)
		sum += c->classes[VIEW_FINDINGS][i].count;
	fprintf(out, "<p>%s ports of %s switch%s, a cell each; the cell before port 1 is of the switch as a whole. What was found of a "
		     "cable marks both of its ends.</p>\n",
		figure_number(sum, ports), figure_number(p->layers.count, switches), p->layers.count == 1 ? "" : "es");
	marks_tell_nowhere(out, &p->marks);
	for (int view = 0; view < CELL_VIEWS; view++)
		if (c->has[view])
			fprintf(out, "<input type=\"radio\" name=\"fm-view\" autocomplete=\"off\" class=\"fm-%s\" id=\"fm-%s\"%s><label for=\"fm-%s\">%s%s</label>\n",
				cells_view_name(view), cells_view_name(view), view == VIEW_FINDINGS ? " checked" : "", cells_view_name(view),
				cells_view_title(view), view == VIEW_ERRORS && !c->in->measures ? ", totals" : "");
}

/* Switches with something worse than a note, put before all others where these are many. */
static uint32_t find_worst(const struct ports_figure *p, uint32_t *rows, uint32_t *more)
{
	const struct fabric *f = p->cells.in->fabric;
	uint32_t count = 0;

	*more = 0;
	for (uint32_t i = 0; i < p->layers.count; i++) {
		const struct fabric_node *node = &f->nodes[p->layers.order[i]];
		uint8_t worst = p->marks.node[p->layers.order[i]];

		for (unsigned port = 1; port <= node->ports; port++) {
			uint8_t here = marks_worst(&p->marks, node->first_port + port);

			worst = here > worst ? here : worst;
		}
		if (worst <= FINDING_NOTE + 1)
			continue;
		if (count < ROWS_MAX)
			rows[count++] = i;
		else
			++*more;
	}
	return count;
}

static void put_worst(FILE *out, struct ports_figure *p)
{
	uint32_t rows[ROWS_MAX], more, count;
	char number[FIGURE_NUMBER];

	if (p->layers.count <= ROWS_MAX)
		return;
	count = find_worst(p, rows, &more);
	if (count == 0)
		return;
	fprintf(out, "<h3>switches with findings, first: %s of %s</h3>\n", figure_number(count, number),
		figure_number(count + (uint64_t)more, (char[FIGURE_NUMBER]){0}));
	put_block(out, p, rows, count);
}

void figure_layer_name(unsigned level, char text[FIGURE_LAYER])
{
	if (level == LAYERS_NO_HOSTS)
		snprintf(text, FIGURE_LAYER, "no way to a host");
	else if (level == 0)
		snprintf(text, FIGURE_LAYER, "layer 0: with hosts");
	else
		snprintf(text, FIGURE_LAYER, "layer %u: %u hop%s from hosts", level, level, level == 1 ? "" : "s");
}

static void put_layers(FILE *out, struct ports_figure *p, const uint32_t *rows)
{
	const struct layers *l = &p->layers;
	char name[FIGURE_LAYER], number[FIGURE_NUMBER];

	for (uint32_t at = 0, next; at < l->count; at = next) {
		unsigned level = l->level[l->order[at]];

		for (next = at + 1; next < l->count && l->level[l->order[next]] == level;)
			next++;
		figure_layer_name(level, name);
		fprintf(out, "<h3>%s (%s switch%s)</h3>\n", name, figure_number(next - at, number), next - at == 1 ? "" : "es");
		put_blocks(out, p, rows + at, next - at);
	}
}

static int draw(FILE *out, struct ports_figure *p)
{
	uint32_t *rows = calloc((size_t)p->layers.count + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->layers.count; i++)
		rows[i] = i;
	fputs("<div class=\"fm\">\n", out);
	put_head(out, p);
	fputs("<div class=\"fm-all\">\n", out);
	for (int view = 0; view < CELL_VIEWS; view++)
		if (p->cells.has[view])
			put_legend(out, &p->cells, view);
	fputs("<p class=\"fm-told\" aria-live=\"polite\"></p>\n", out);
	put_worst(out, p);
	put_layers(out, p, rows);
	fputs("</div>\n", out);
	ports_table(out, p);
	ports_data(out, p);
	fputs("</div>\n", out);
	free(rows);
	return 0;
}

int figure_ports(FILE *out, const struct figure_fabric *in)
{
	struct ports_figure p = {.blocks = 0};
	int ret = layers_new(in->fabric, &p.layers);

	if (ret == 0)
		ret = marks_new(in, &p.marks);
	if (ret == 0)
		ret = cells_new(in, &p.marks, &p.cells);
	if (ret == 0)
		ret = draw(out, &p);
	cells_clear(&p.cells);
	marks_clear(&p.marks);
	layers_clear(&p.layers);
	return ret;
}
