/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shares of classes as bars: what a plan guarantees each on each kind of link beside what the policy asks for, and what each had
 * of busy ports beside what it is promised.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "figure.h"
#include "ibqos/link.h"

#define BAR_X 150
#define BAR_W 300 /* the whole link */
#define BAR_END 620
#define ROW 22
#define NAME_SHOWN 22
#define LESS 0.05 /* points of a hundred: less than what is shown can tell */
#define PORTS_MAX 60

static int width_of(double percent)
{
	if (!(percent > 0))
		return 0;
	return (int)lround((percent > 100 ? 100 : percent) * BAR_W / 100);
}

/* A class's bar, with a mark where it should end; behind it both as numbers. */
static void put_bar(FILE *out, unsigned row, const char *name, double wanted, double got, const char *got_word, const char *more)
{
	int y = (int)row * ROW;
	bool less = got < wanted - LESS;

	fprintf(out, "<g class=\"sh-r\"><text x=\"0\" y=\"%d\">", y + 15);
	figure_text_cut(out, name, NAME_SHOWN);
	fprintf(out, "</text><rect class=\"sh-all\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"14\"/><rect class=\"sh-got%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"14\"/>",
		BAR_X, y + 4, BAR_W, less ? " sh-less" : "", BAR_X, y + 4, width_of(got));
	fprintf(out, "<path class=\"sh-want\" d=\"M%d %dv20\"/><text x=\"%d\" y=\"%d\">%s%.1f %% of %.1f %%%s%s</text></g>\n",
		BAR_X + width_of(wanted), y + 1, BAR_X + BAR_W + 10, y + 15, got_word, got, wanted, less ? ", less" : "", more);
}

static void begin_bars(FILE *out, const char *id, size_t number, size_t rows)
{
	fprintf(out, "<svg class=\"sh\" role=\"img\" aria-labelledby=\"%s%zu\" width=\"%d\" height=\"%zu\">\n", id, number, BAR_END, rows * ROW + 4);
}

/* --- of a plan --- */

static const char *const port_names[QOS_PORT_TYPES] = {
	[QOS_PORT_CA] = "adapters",
	[QOS_PORT_SW0] = "port 0 of switches",
	[QOS_PORT_SWE] = "switches",
	[QOS_PORT_RTR] = "routers",
};

static void put_place_name(FILE *out, const struct plan_place *p)
{
	char number[FIGURE_NUMBER];

	fprintf(out, "%s%s, ", port_names[p->type], p->special ? ", special link" : "");
	if (p->gbps > 0)
		fprintf(out, "%s %s, %g Gb/s", link_width_name(p->width), link_speed_name(p->speed), p->gbps);
	else
		fputs("unknown rate", out);
	fprintf(out, ", MTU %u, %u VLs: %s port%s", p->mtu, p->vls, figure_number(p->ports, number), p->ports == 1 ? "" : "s");
}

/* What all classes on the VL of one ask for: its bar is theirs together. */
static double wanted_of_vl(const struct figure_shares *in, const struct plan_place *p, size_t class)
{
	double sum = 0;

	for (size_t i = 0; i < in->plan->class_count; i++)
		if (i == class || p->classes[i].vl == p->classes[class].vl)
			sum += plan_wanted_share(in->policy, p->type, i);
	return sum;
}

static void put_place(FILE *out, const struct figure_shares *in, size_t number)
{
	const struct plan_place *p = &in->places[number];

	fprintf(out, "<h3 id=\"sh-p%zu\">", number);
	put_place_name(out, p);
	fputs("</h3>\n", out);
	if (!p->mtu || !p->vls) {
		fputs("<p>These ports tell values that cannot be: what classes have there is not known.</p>\n", out);
		return;
	}
	begin_bars(out, "sh-p", number, in->plan->class_count);
	for (size_t i = 0; i < in->plan->class_count; i++)
		put_bar(out, (unsigned)i, in->plan->classes[i].policy->name, wanted_of_vl(in, p, i),
			100 * p->classes[i].guaranteed, "", p->classes[i].shared ? ", with the others of its VL" : "");
	fputs("</svg>\n", out);
}

static void put_place_rows(FILE *out, const struct figure_shares *in, const struct plan_place *p)
{
	for (size_t i = 0; i < in->plan->class_count; i++) {
		fputs("<tr><td>", out);
		put_place_name(out, p);
		fputs("</td><th scope=\"row\">", out);
		figure_text(out, in->plan->classes[i].policy->name);
		fprintf(out, "</th><td>%.1f %%</td>", plan_wanted_share(in->policy, p->type, i));
		if (p->mtu && p->vls)
			fprintf(out, "<td>%.1f %%</td><td>%.1f %%</td><td>%s</td></tr>\n", 100 * p->classes[i].guaranteed,
				100 * p->classes[i].at_most, p->classes[i].shared ? "with others" : "alone");
		else
			fputs("<td>unknown</td><td>unknown</td><td>unknown</td></tr>\n", out);
	}
}

void figure_shares(FILE *out, const struct figure_shares *in)
{
	fputs("<div class=\"sh-all-places\">\n<p>The part of a busy link that each class keeps when all classes are busy with full packets, as the "
	      "tables of this plan give it, by kind of port. The upright line is what the policy asks for.</p>\n",
	      out);
	for (size_t i = 0; i < in->count; i++)
		put_place(out, in, i);
	fputs("<details class=\"fig-table\"><summary>the shares as a table</summary>\n<div class=\"fig-scroll\"><table id=\"sh-table\"><thead><tr>"
	      "<th scope=\"col\">ports</th><th scope=\"col\">class</th><th scope=\"col\">asked for</th><th scope=\"col\">guaranteed</th>"
	      "<th scope=\"col\">at most, beside another</th><th scope=\"col\">on its VL</th></tr></thead><tbody>\n",
	      out);
	for (size_t i = 0; i < in->count; i++)
		put_place_rows(out, in, &in->places[i]);
	fputs("</tbody></table></div></details>\n</div>\n", out);
}

/* --- measured --- */

/* How far the class that lacks most is below its promise, in parts of the link's use. */
static double lack_of(const struct figure_had *in, uint32_t port)
{
	double lack = -1;

	for (size_t c = 0; c < in->plan->class_count; c++) {
		double here = in->plan->classes[c].share_full - in->result->rows[port].share[c];

		lack = here > lack ? here : lack;
	}
	return lack;
}

struct had_port {
	double lack;
	uint32_t port;
};

static int worst_first(const void *left, const void *right)
{
	const struct had_port *a = left, *b = right;

	if (a->lack != b->lack)
		return a->lack > b->lack ? -1 : 1;
	return a->port < b->port ? -1 : a->port > b->port;
}

static void put_had_name(FILE *out, const struct figure_had *in, uint32_t port)
{
	char text[FABRIC_TEXT];

	figure_text(out, fabric_port_text(in->fabric, port, text, sizeof(text)));
	fprintf(out, ", %.0f %% busy", 100 * in->result->rows[port].busy);
}

static void put_had(FILE *out, const struct figure_had *in, uint32_t port, size_t number)
{
	fprintf(out, "<h3 id=\"sh-h%zu\">", number);
	put_had_name(out, in, port);
	fputs("</h3>\n", out);
	begin_bars(out, "sh-h", number, in->plan->class_count);
	for (size_t c = 0; c < in->plan->class_count; c++)
		put_bar(out, (unsigned)c, in->plan->classes[c].policy->name, 100 * in->plan->classes[c].share_full,
			100 * in->result->rows[port].share[c], "had ", "");
	fputs("</svg>\n", out);
}

static void put_had_rows(FILE *out, const struct figure_had *in, uint32_t port)
{
	for (size_t c = 0; c < in->plan->class_count; c++) {
		fputs("<tr><td>", out);
		put_had_name(out, in, port);
		fputs("</td><th scope=\"row\">", out);
		figure_text(out, in->plan->classes[c].policy->name);
		fprintf(out, "</th><td>%.1f %%</td><td>%.1f %%</td></tr>\n", 100 * in->plan->classes[c].share_full,
			100 * in->result->rows[port].share[c]);
	}
}

int figure_had(FILE *out, const struct figure_had *in)
{
	struct had_port *ports = calloc((size_t)in->fabric->port_count + 1, sizeof(*ports));
	char number[FIGURE_NUMBER];
	size_t count = 0, shown;

	if (!ports)
		return -ENOMEM;
	for (uint32_t i = 0; i < in->fabric->port_count; i++)
		if (in->result->rows[i].judged)
			ports[count++] = (struct had_port){lack_of(in, i), i};
	qsort(ports, count, sizeof(*ports), worst_first);
	shown = count < PORTS_MAX ? count : PORTS_MAX;
	fprintf(out, "<div class=\"sh-all-ports\">\n<p>What classes had of what busy ports sent; the upright line is what they are promised. A class "
		     "with less may have had no more to send. %s of %u ports that could be compared were busy%s.</p>\n",
		figure_number(count, number), in->result->known, shown < count ? "; shown are those where a class lacks most" : "");
	for (size_t i = 0; i < shown; i++)
		put_had(out, in, ports[i].port, i);
	if (shown > 0) {
		fputs("<details class=\"fig-table\"><summary>the same as a table</summary>\n<div class=\"fig-scroll\"><table id=\"sh-had\"><thead><tr>"
		      "<th scope=\"col\">port</th><th scope=\"col\">class</th><th scope=\"col\">promised</th><th scope=\"col\">had</th></tr></thead><tbody>\n",
		      out);
		for (size_t i = 0; i < shown; i++)
			put_had_rows(out, in, ports[i].port);
		fputs("</tbody></table></div></details>\n", out);
	}
	fputs("</div>\n", out);
	free(ports);
	return 0;
}
