/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The tables behind the drawing of switches: layers and what is between them, and pairs of switches.
 */
#include "figure_topology.h"

#define PAIRS_MAX 5000

struct between {
	uint32_t bundles, cables, least, most, marked;
};

static struct between between(const struct topology *t, unsigned from, unsigned to)
{
	struct between sum = {0};

	for (size_t i = 0; i < t->layers.bundle_count; i++) {
		const struct layer_bundle *b = &t->layers.bundles[i];

		if (t->layers.level[b->from] != from || t->layers.level[b->to] != to)
			continue;
		sum.least = sum.bundles == 0 || b->cables < sum.least ? b->cables : sum.least;
		sum.most = b->cables > sum.most ? b->cables : sum.most;
		sum.bundles++;
		sum.cables += b->cables;
		sum.marked += marks_pair(&t->marks, b->from, b->to) != NULL;
	}
	return sum;
}

/* Levels as the order has them: up to levels - 1, then those without a way to hosts. */
static unsigned level_at(const struct topology *t, unsigned at)
{
	return at < t->layers.levels ? at : LAYERS_NO_HOSTS;
}

static void put_level(FILE *out, unsigned level)
{
	if (level == LAYERS_NO_HOSTS)
		fputs("no way to a host", out);
	else
		fprintf(out, "%u", level);
}

static void put_layers(FILE *out, const struct topology *t)
{
	fputs("<table id=\"tp-layers\"><caption>layers, and the cables between them</caption><thead><tr><th scope=\"col\">layer</th>"
	      "<th scope=\"col\">and</th><th scope=\"col\">pairs of switches</th><th scope=\"col\">cables</th><th scope=\"col\">cables a pair</th>"
	      "<th scope=\"col\">pairs with findings</th></tr></thead><tbody>\n",
	      out);
	for (unsigned i = 0; i <= t->layers.levels; i++)
		for (unsigned n = i; n <= t->layers.levels; n++) {
			struct between b = between(t, level_at(t, i), level_at(t, n));

			if (b.bundles == 0)
				continue;
			fputs("<tr><td>", out);
			put_level(out, level_at(t, i));
			fputs("</td><td>", out);
			put_level(out, level_at(t, n));
			fprintf(out, "</td><td>%u</td><td>%u</td><td>", b.bundles, b.cables);
			fprintf(out, b.least == b.most ? "%u" : "%u to %u", b.least, b.most);
			fprintf(out, "</td><td>%u</td></tr>\n", b.marked);
		}
	fputs("</tbody></table>\n", out);
}

static void put_pair(FILE *out, const struct topology *t, const struct layer_bundle *b, const struct pair_mark *m)
{
	const struct fabric *f = t->layers.fabric;

	fprintf(out, "<tr data-a=\"0x%016" PRIx64 "\" data-b=\"0x%016" PRIx64 "\"><td>", f->nodes[b->from].guid, f->nodes[b->to].guid);
	figure_text(out, figure_name(f, b->from));
	fputs("</td><td>", out);
	figure_text(out, figure_name(f, b->to));
	fprintf(out, "</td><td>%u</td><td>%u</td><td>%s</td></tr>\n", b->cables, m ? m->findings : 0, m ? figure_severity_text(m->worst) : "");
}

static uint32_t put_bundles(FILE *out, const struct topology *t)
{
	uint32_t shown = 0, left = 0;

	for (size_t i = 0; i < t->layers.bundle_count; i++) {
		const struct layer_bundle *b = &t->layers.bundles[i];
		const struct pair_mark *m = marks_pair(&t->marks, b->from, b->to);

		if (!m && !t->all)
			continue;
		if (shown == PAIRS_MAX) {
			left++;
			continue;
		}
		shown++;
		put_pair(out, t, b, m);
	}
	for (size_t i = 0; i < t->marks.pair_count; i++) {
		const struct pair_mark *m = &t->marks.pairs[i];
		bool up = t->layers.place[m->a] < t->layers.place[m->b];
		struct layer_bundle none = {up ? m->a : m->b, up ? m->b : m->a, 0};

		if (layers_bundle(&t->layers, m->a, m->b) != SIZE_MAX)
			continue;
		if (shown == PAIRS_MAX) {
			left++;
			continue;
		}
		shown++;
		put_pair(out, t, &none, m);
	}
	return left;
}

void topology_tables(FILE *out, const struct topology *t)
{
	char number[FIGURE_NUMBER];
	uint32_t left;

	fputs("<details class=\"fig-table\"><summary>the cables as tables</summary>\n<div class=\"fig-scroll\">\n", out);
	put_layers(out, t);
	fprintf(out, "<table id=\"tp-pairs\"><caption>pairs of switches%s</caption><thead><tr><th scope=\"col\">switch</th><th scope=\"col\">and</th>"
		     "<th scope=\"col\">cables</th><th scope=\"col\">findings</th><th scope=\"col\">the worst</th></tr></thead><tbody>\n",
		t->all ? "" : " with findings");
	left = put_bundles(out, t);
	fputs("</tbody></table>\n", out);
	if (left > 0)
		fprintf(out, "<p>%s more pairs are not listed here.</p>\n", figure_number(left, number));
	fputs("</div></details>\n", out);
}
