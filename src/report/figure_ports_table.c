/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the picture of ports shows, in words: a row a switch. And as data, from which the page's script tells of a cell that is
 * pointed at.
 */
#include "figure_ports.h"

/* "3, 5-8": the ports of a class. */
static void put_ranges(FILE *out, const uint8_t *of, unsigned ports, unsigned class)
{
	bool first = true;

	for (unsigned port = 1, next; port <= ports; port = next) {
		for (next = port + 1; next <= ports && of[next] == of[port];)
			next++;
		if (of[port] != class)
			continue;
		fprintf(out, next - port > 1 ? "%s%u-%u" : "%s%u", first ? "" : ", ", port, next - 1);
		first = false;
	}
}

static bool node_has(const uint8_t *of, unsigned ports, unsigned class)
{
	for (unsigned port = 1; port <= ports; port++)
		if (of[port] == class)
			return true;
	return false;
}

static void put_view_cell(FILE *out, const struct cells *c, enum cell_view view, const struct fabric_node *node)
{
	const uint8_t *of = c->of[view] + node->first_port;
	bool first = true;

	fputs("<td>", out);
	for (unsigned class = 0; class < c->class_count[view]; class++) {
		if (!node_has(of, node->ports, class))
			continue;
		fprintf(out, "%s%s: ", first ? "" : "; ", c->classes[view][class].text);
		put_ranges(out, of, node->ports, class);
		first = false;
	}
	fputs("</td>", out);
}

static void put_measured_cell(FILE *out, const struct cells *c, const struct fabric_node *node)
{
	char text[CELL_TEXT];
	bool first = true;

	fputs("<td>", out);
	for (unsigned port = 1; port <= node->ports; port++) {
		if (!cells_measured(c, node->first_port + port, text))
			continue;
		fprintf(out, "%s%u: %s", first ? "" : "; ", port, text);
		first = false;
	}
	fputs("</td>", out);
}

static void put_row(FILE *out, const struct ports_figure *p, uint32_t node)
{
	const struct fabric_node *n = &p->cells.in->fabric->nodes[node];

	fputs("<tr><th scope=\"row\">", out);
	figure_text(out, figure_name(p->cells.in->fabric, node));
	fprintf(out, "</th><td>0x%016" PRIx64 "</td><td>", n->guid);
	if (p->layers.level[node] == LAYERS_NO_HOSTS)
		fputs("no way to a host", out);
	else
		fprintf(out, "%u", p->layers.level[node]);
	fprintf(out, "</td><td>%s</td>", figure_severity_text(p->marks.node[node]));
	for (int view = 0; view < CELL_VIEWS; view++)
		if (p->cells.has[view])
			put_view_cell(out, &p->cells, view, n);
	if (p->cells.in->measures)
		put_measured_cell(out, &p->cells, n);
	fputs("</tr>\n", out);
}

void ports_table(FILE *out, const struct ports_figure *p)
{
	fputs("<details class=\"fig-table\"><summary>the ports as a table</summary>\n<div class=\"fig-scroll\"><table id=\"fm-table\"><thead><tr>"
	      "<th scope=\"col\">switch</th><th scope=\"col\">GUID</th><th scope=\"col\">layer</th><th scope=\"col\">as a whole</th>",
	      out);
	for (int view = 0; view < CELL_VIEWS; view++)
		if (p->cells.has[view])
			fprintf(out, "<th scope=\"col\">ports by %s</th>", cells_view_title(view));
	if (p->cells.in->measures)
		fputs("<th scope=\"col\">ports that stand out</th>", out);
	fputs("</tr></thead><tbody>\n", out);
	for (uint32_t i = 0; i < p->layers.count; i++)
		put_row(out, p, p->layers.order[i]);
	fputs("</tbody></table></div></details>\n", out);
}

/* "12.3 - 40.1": node and port at the other end of each, by the list of names. */
static void put_peers(FILE *out, const struct fabric *f, const struct fabric_node *node)
{
	for (unsigned port = 1; port <= node->ports; port++) {
		uint32_t peer = f->ports[node->first_port + port].peer;

		if (port > 1)
			putc_unlocked(' ', out);
		if (peer == FABRIC_NONE)
			putc_unlocked('-', out);
		else
			fprintf(out, "%u.%u", f->ports[peer].node, f->ports[peer].number);
	}
}

static void put_line(FILE *out, const struct ports_figure *p, uint32_t node)
{
	const struct fabric *f = p->cells.in->fabric;
	const struct fabric_node *n = &f->nodes[node];
	char text[CELL_TEXT];

	fprintf(out, "%u\t%s", node, figure_severity_text(p->marks.node[node]));
	for (int view = 0; view < CELL_VIEWS; view++) {
		putc_unlocked('\t', out);
		for (unsigned port = 1; p->cells.has[view] && port <= n->ports; port++)
			putc_unlocked(p->cells.classes[view][p->cells.of[view][n->first_port + port]].letter, out);
	}
	putc_unlocked('\t', out);
	put_peers(out, f, n);
	putc_unlocked('\t', out);
	for (unsigned port = 1; port <= n->ports; port++)
		if (cells_measured(&p->cells, n->first_port + port, text))
			fprintf(out, "%u:%s;", port, text);
	putc_unlocked('\n', out);
}

void ports_data(FILE *out, const struct ports_figure *p)
{
	const struct fabric *f = p->cells.in->fabric;

	fputs("<div hidden class=\"fm-data\">\n", out);
	for (uint32_t i = 0; i < p->layers.count; i++)
		put_line(out, p, p->layers.order[i]);
	fputs("</div>\n<div hidden class=\"fm-names\">\n", out);
	for (uint32_t n = 0; n < f->node_count; n++) {
		figure_text(out, figure_name(f, n));
		putc_unlocked('\n', out);
	}
	fputs("</div>\n", out);
}
