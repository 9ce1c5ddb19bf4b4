/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The switches of a fabric in layers, with the cables between them. Of more than can be told apart all are drawn in little, and
 * those with findings by name.
 */
#include <errno.h>
#include <stdlib.h>

#include "figure_topology.h"

static int find_worst(struct topology *t)
{
	const struct fabric *f = t->layers.fabric;

	t->worst = calloc((size_t)f->node_count + 1, sizeof(*t->worst));
	t->drawn = calloc((size_t)f->node_count + 1, sizeof(*t->drawn));
	if (!t->worst || !t->drawn)
		return -ENOMEM;
	for (uint32_t n = 0; n < f->node_count; n++) {
		const struct fabric_node *node = &f->nodes[n];

		if (node->type != FABRIC_SWITCH)
			continue;
		t->worst[n] = t->marks.node[n];
		for (unsigned port = 1; port <= node->ports; port++) {
			uint8_t here = marks_worst(&t->marks, node->first_port + port);

			t->worst[n] = here > t->worst[n] ? here : t->worst[n];
		}
	}
	for (size_t i = 0; i < t->marks.pair_count; i++) { /* of bundles without a port */
		const struct pair_mark *m = &t->marks.pairs[i];

		t->worst[m->a] = m->worst > t->worst[m->a] ? m->worst : t->worst[m->a];
		t->worst[m->b] = m->worst > t->worst[m->b] ? m->worst : t->worst[m->b];
	}
	return 0;
}

static bool choose_one(struct topology *t, uint32_t node)
{
	if (t->drawn[node])
		return true;
	if (t->drawn_count == TOPOLOGY_CHOSEN)
		return false;
	t->drawn[node] = true;
	t->drawn_count++;
	return true;
}

/* The worst first: both ends of bundles, then switches by themselves. */
static void choose(struct topology *t)
{
	for (uint8_t worst = FINDING_CRITICAL + 1; worst > FINDING_NOTE + 1; worst--) {
		for (size_t i = 0; i < t->marks.pair_count; i++)
			if (t->marks.pairs[i].worst == worst && t->drawn_count + 1 < TOPOLOGY_CHOSEN) {
				choose_one(t, t->marks.pairs[i].a);
				choose_one(t, t->marks.pairs[i].b);
			}
		for (uint32_t i = 0; i < t->layers.count; i++)
			if (t->worst[t->layers.order[i]] == worst)
				choose_one(t, t->layers.order[i]);
	}
	for (uint32_t i = 0; i < t->layers.count; i++)
		t->left_out += t->worst[t->layers.order[i]] > FINDING_NOTE + 1 && !t->drawn[t->layers.order[i]];
}

static void choose_all(struct topology *t)
{
	for (uint32_t i = 0; i < t->layers.count; i++)
		t->drawn[t->layers.order[i]] = true;
	t->drawn_count = t->layers.count;
}

static void put_legend(FILE *out, const struct topology *t)
{
	static const uint8_t shown[] = {FINDING_CRITICAL + 1, FINDING_UNKNOWN + 1, FINDING_WARNING + 1, FINDING_NOTE + 1, 0};
	uint32_t counts[FINDING_CRITICAL + 2] = {0};
	char number[FIGURE_NUMBER];

	for (uint32_t i = 0; i < t->layers.count; i++)
		counts[t->worst[t->layers.order[i]]]++;
	fputs("<ul class=\"fig-legend\">", out);
	for (size_t i = 0; i < sizeof(shown); i++) {
		if (counts[shown[i]] == 0)
			continue;
		fprintf(out, "<li><svg width=\"10\" height=\"10\" aria-hidden=\"true\"><path class=\"c %s\" d=\"M0 5h10\"/><path class=\"sign\" d=\"",
			figure_severity_class(shown[i]));
		figure_sign_path(out, figure_severity_sign(shown[i]), 1, 1);
		fprintf(out, "\"/></svg> %s, at the switch or a port of it: <b>%s</b></li>\n", figure_severity_text(shown[i]),
			figure_number(counts[shown[i]], number));
	}
	fputs("<li><svg width=\"28\" height=\"10\" aria-hidden=\"true\"><path class=\"tp-l k-ok\" d=\"M0 5h28\"/></svg> cables without a finding</li>\n"
	      "<li><svg width=\"28\" height=\"10\" aria-hidden=\"true\"><path class=\"tp-l k-crit\" d=\"M0 5h28\"/></svg> with a finding: thick and broken</li>\n"
	      "<li><svg width=\"28\" height=\"10\" aria-hidden=\"true\"><path class=\"tp-l tp-gone\" d=\"M0 5h28\"/></svg> told of two switches that have no cable</li>\n"
	      "</ul>\n",
	      out);
}

static int draw(FILE *out, struct topology *t)
{
	char number[FIGURE_NUMBER];
	int ret = 0;

	t->all = t->layers.count <= TOPOLOGY_ALL && t->layers.bundle_count <= TOPOLOGY_LINES;
	if (t->all)
		choose_all(t);
	else
		choose(t);
	fprintf(out, "<div class=\"tp\" data-drawn=\"%s\">\n<p>%s switch%s in %u layer%s by their distance from hosts; a line is all cables of two switches. ",
		t->all ? "all" : "chosen", figure_number(t->layers.count, number), t->layers.count == 1 ? "" : "es", t->layers.levels,
		t->layers.levels == 1 ? "" : "s");
	fputs(t->all ? "Hosts are a number in the box of their switch.</p>\n"
		     : "These are too many to draw each cable: all switches are squares, by layer and pod, and of the cables only those with "
		       "findings are lines. Below them, the switches that findings are about, by name.</p>\n",
	      out);
	marks_tell_nowhere(out, &t->marks);
	put_legend(out, t);
	if (!t->all)
		ret = topology_pods(out, t);
	if (ret == 0 && t->drawn_count > 0)
		ret = topology_draw(out, t);
	if (ret == 0 && t->left_out > 0)
		fprintf(out, "<p>%s more switches with findings are not drawn by name: see the table of ports.</p>\n",
			figure_number(t->left_out, number));
	if (ret == 0)
		topology_tables(out, t);
	fputs("</div>\n", out);
	return ret;
}

int figure_topology(FILE *out, const struct figure_fabric *in)
{
	struct topology t = {.all = false};
	int ret = layers_new(in->fabric, &t.layers);

	if (ret == 0)
		ret = marks_new(in, &t.marks);
	if (ret == 0)
		ret = find_worst(&t);
	if (ret == 0)
		ret = draw(out, &t);
	free(t.worst);
	free(t.drawn);
	marks_clear(&t.marks);
	layers_clear(&t.layers);
	return ret;
}
