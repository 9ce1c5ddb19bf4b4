/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Switches as boxes with their names: the layer furthest from hosts at the top; a fabric of one layer as a circle.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "figure_topology.h"

#define BOX_W 104
#define BOX_H 38
#define PITCH_X 116
#define PITCH_Y 150 /* of layers */
#define WRAP_Y 64   /* of rows of one layer */
#define IN_A_ROW 12
#define EDGE 8
#define NAME_SHOWN 16
#define CIRCLE_LEAST 3
#define ARC 26 /* how far a line beside a row bends, and a part of its length */
#define TWO_PI 6.28318530717958647692

struct spot {
	double x, y; /* of the box's middle */
};

struct drawing {
	const struct topology *t;
	struct spot *spots; /* by node */
	double width, height;
	bool circle, beside; /* beside: some lines are between switches of one layer */
};

/* The drawn switches of a level are a stretch of the order. */
static uint32_t count_of_level(const struct topology *t, uint32_t *at, unsigned *level)
{
	const struct layers *l = &t->layers;
	uint32_t count = 0;

	*level = l->level[l->order[*at]];
	for (; *at < l->count && l->level[l->order[*at]] == *level; ++*at)
		count += t->drawn[l->order[*at]];
	return count;
}

static void place_circle(struct drawing *d)
{
	const struct topology *t = d->t;
	uint32_t i = 0;
	double radius = t->drawn_count * (double)PITCH_X / TWO_PI;

	radius = radius < 150 ? 150 : radius;
	d->width = 2 * radius + BOX_W + 2 * EDGE;
	d->height = 2 * radius + BOX_H + 2 * EDGE;
	for (uint32_t at = 0; at < t->layers.count; at++) {
		uint32_t node = t->layers.order[at];
		double turn;

		if (!t->drawn[node])
			continue;
		turn = TWO_PI * i++ / t->drawn_count;
		d->spots[node] = (struct spot){d->width / 2 + radius * sin(turn), d->height / 2 - radius * cos(turn)};
	}
}

static void place_row(struct drawing *d, uint32_t *at, uint32_t end, uint32_t count, double y)
{
	const struct topology *t = d->t;
	double x = (d->width - count * (double)PITCH_X) / 2 + PITCH_X / 2.0;

	for (; *at < end && count > 0; ++*at) {
		uint32_t node = t->layers.order[*at];

		if (!t->drawn[node])
			continue;
		d->spots[node] = (struct spot){x, y};
		x += PITCH_X;
		count--;
	}
}

static uint32_t rows_of(uint32_t count)
{
	return count / IN_A_ROW + (count % IN_A_ROW > 0);
}

/* Switches of a level in each of its rows, which are as even as can be. */
static uint32_t in_a_row(uint32_t count)
{
	uint32_t rows = rows_of(count);

	return rows > 1 ? count / rows + (count % rows > 0) : count;
}

static double height_of_level(uint32_t count)
{
	uint32_t more = count > 0 ? rows_of(count) - 1 : 0;

	return count > 0 ? PITCH_Y + more * (double)WRAP_Y : 0;
}

/* Whether two drawn switches are of one row's level, so that a straight line would run through boxes. */
static bool is_beside(const struct drawing *d, uint32_t a, uint32_t b)
{
	return !d->circle && d->t->layers.level[a] == d->t->layers.level[b];
}

static bool has_beside(const struct drawing *d)
{
	const struct topology *t = d->t;
	bool has = false;

	for (size_t i = 0; i < t->layers.bundle_count && !has; i++) {
		const struct layer_bundle *b = &t->layers.bundles[i];

		has = t->drawn[b->from] && t->drawn[b->to] && is_beside(d, b->from, b->to);
	}
	for (size_t i = 0; i < t->marks.pair_count && !has; i++) {
		const struct pair_mark *m = &t->marks.pairs[i];

		has = t->drawn[m->a] && t->drawn[m->b] && is_beside(d, m->a, m->b);
	}
	return has;
}

/* From the bottom up, since that is the order of layers. */
static void place_layers(struct drawing *d)
{
	const struct topology *t = d->t;
	uint32_t most = 0;
	unsigned level;
	double y;

	d->height = 2 * EDGE + BOX_H - PITCH_Y;
	for (uint32_t at = 0; at < t->layers.count;) {
		uint32_t count = count_of_level(t, &at, &level);

		most = count > 0 && in_a_row(count) > most ? in_a_row(count) : most;
		d->height += height_of_level(count);
	}
	d->height += d->beside ? ARC * 4 : 0; /* lines beside the lowest and the highest row */
	d->width = most * (double)PITCH_X + 2 * EDGE;
	y = d->height - EDGE - BOX_H / 2.0 - (d->beside ? ARC * 2 : 0);
	for (uint32_t at = 0; at < t->layers.count;) {
		uint32_t first = at, count = count_of_level(t, &at, &level);
		double row = y;

		for (uint32_t left = count, wide = in_a_row(count); left > 0; left -= wide) {
			wide = left < wide ? left : wide;
			place_row(d, &first, at, wide, row);
			row -= WRAP_Y;
		}
		y -= height_of_level(count);
	}
}

/* How many cables most drawn bundles between two levels have: those are not numbered one by one. */
static uint32_t usual_cables(const struct topology *t, unsigned from, unsigned to)
{
	uint32_t counts[64] = {0}, best = 0;

	for (size_t i = 0; i < t->layers.bundle_count; i++) {
		const struct layer_bundle *b = &t->layers.bundles[i];

		if (t->drawn[b->from] && t->drawn[b->to] && t->layers.level[b->from] == from && t->layers.level[b->to] == to &&
		    b->cables < sizeof(counts) / sizeof(counts[0]))
			counts[b->cables]++;
	}
	for (uint32_t n = 1; n < sizeof(counts) / sizeof(counts[0]); n++)
		best = counts[n] > counts[best] ? n : best;
	return best;
}

/* The path of a line, and the point where its number stands. */
static struct spot put_path(FILE *out, const struct drawing *d, uint32_t a, uint32_t b)
{
	struct spot from = d->spots[a], to = d->spots[b];
	double part = 0.2 + 0.12 * (d->t->layers.place[b] % 4); /* signs of neighbours would lie on each other */

	if (is_beside(d, a, b)) {
		double sign = d->t->layers.level[a] == 0 ? 1 : -1, bend = ARC + 0.05 * fabs(to.x - from.x);

		bend = bend > 3 * ARC ? 3 * ARC : bend;
		from.y += sign * BOX_H / 2.0;
		to.y += sign * BOX_H / 2.0;
		fprintf(out, "M%.1f %.1fQ%.1f %.1f %.1f %.1f", from.x, from.y, (from.x + to.x) / 2, (from.y + to.y) / 2 + sign * bend, to.x,
			to.y);
		return (struct spot){(from.x + to.x) / 2, (from.y + to.y) / 2 + sign * bend / 2};
	}
	if (!d->circle) {
		from.y -= BOX_H / 2.0;
		to.y += BOX_H / 2.0;
	}
	fprintf(out, "M%.1f %.1fL%.1f %.1f", from.x, from.y, to.x, to.y);
	return (struct spot){from.x + part * (to.x - from.x), from.y + part * (to.y - from.y)};
}

static void put_ends(FILE *out, const struct fabric *f, uint32_t a, uint32_t b)
{
	figure_text(out, figure_name(f, a));
	fputs(" to ", out);
	figure_text(out, figure_name(f, b));
}

static void put_line(FILE *out, const struct drawing *d, const struct layer_bundle *b, const struct pair_mark *mark, bool numbered)
{
	const struct fabric *f = d->t->layers.fabric;
	struct spot at;

	fprintf(out, "<g class=\"tp-e\" data-a=\"0x%016" PRIx64 "\" data-b=\"0x%016" PRIx64 "\" data-n=\"%u\" data-worst=\"%s\"><title>",
		f->nodes[b->from].guid, f->nodes[b->to].guid, b->cables, mark ? figure_severity_text(mark->worst) : "");
	put_ends(out, f, b->from, b->to);
	if (b->cables == 0)
		fputs(": no cable", out);
	else
		fprintf(out, ": %u cable%s", b->cables, b->cables == 1 ? "" : "s");
	if (mark)
		fprintf(out, ", %u finding%s, the worst %s", mark->findings, mark->findings == 1 ? "" : "s",
			figure_severity_text(mark->worst));
	fprintf(out, "</title><path class=\"tp-l %s%s\" d=\"", b->cables == 0 ? "tp-gone " : "", figure_severity_class(mark ? mark->worst : 0));
	at = put_path(out, d, b->from, b->to);
	fputs("\"/>", out);
	if (mark) {
		fprintf(out, "<g transform=\"translate(%.1f %.1f)\"><circle class=\"tp-s %s\" r=\"7\"/><path class=\"sign\" d=\"", at.x, at.y,
			figure_severity_class(mark->worst));
		figure_sign_path(out, figure_severity_sign(mark->worst), -4, -4);
		fputs("\"/></g>", out);
	}
	if (mark && mark->cables > 0 && mark->cables < b->cables)
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">%u of %u</text>", at.x + 10, at.y + 4, mark->cables, b->cables);
	else if (mark || numbered)
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">%u</text>", at.x + (mark ? 10 : 0), at.y + 4, b->cables);
	fputs("</g>\n", out);
}

/* Those with findings last, so that they lie on top. */
static void put_lines(FILE *out, const struct drawing *d)
{
	const struct topology *t = d->t;
	unsigned from = LAYERS_NO_HOSTS + 1, to = from;
	uint32_t usual = 0;

	for (int with = 0; with < 2; with++)
		for (size_t i = 0; i < t->layers.bundle_count; i++) {
			const struct layer_bundle *b = &t->layers.bundles[i];
			const struct pair_mark *mark = marks_pair(&t->marks, b->from, b->to);

			if (!t->drawn[b->from] || !t->drawn[b->to] || (mark != NULL) != with)
				continue;
			if (t->layers.level[b->from] != from || t->layers.level[b->to] != to) {
				from = t->layers.level[b->from];
				to = t->layers.level[b->to];
				usual = usual_cables(t, from, to);
			}
			put_line(out, d, b, mark, b->cables != usual);
		}
	for (size_t i = 0; i < t->marks.pair_count; i++) {
		const struct pair_mark *m = &t->marks.pairs[i];
		bool up = t->layers.place[m->a] < t->layers.place[m->b];
		struct layer_bundle none = {up ? m->a : m->b, up ? m->b : m->a, 0};

		if (t->drawn[m->a] && t->drawn[m->b] && layers_bundle(&t->layers, m->a, m->b) == SIZE_MAX)
			put_line(out, d, &none, m, true);
	}
}

static uint32_t bundles_not_drawn(const struct topology *t, uint32_t node)
{
	uint32_t count = 0;

	if (t->all)
		return 0;
	for (size_t i = 0; i < t->layers.bundle_count; i++) {
		const struct layer_bundle *b = &t->layers.bundles[i];

		if ((b->from == node && !t->drawn[b->to]) || (b->to == node && !t->drawn[b->from]))
			count++;
	}
	return count;
}

static void put_box(FILE *out, const struct drawing *d, uint32_t node)
{
	const struct topology *t = d->t;
	const struct fabric *f = t->layers.fabric;
	uint32_t others = bundles_not_drawn(t, node), hosts = t->layers.hosts[node];
	const char *css = figure_severity_class(t->worst[node]);
	char level[FIGURE_LAYER];

	figure_layer_name(t->layers.level[node], level);
	fprintf(out, "<g class=\"tp-n\" data-guid=\"0x%016" PRIx64 "\" data-level=\"%d\" data-hosts=\"%u\" data-worst=\"%s\" transform=\"translate(%.1f %.1f)\"><title>",
		f->nodes[node].guid, t->layers.level[node] == LAYERS_NO_HOSTS ? -1 : t->layers.level[node], hosts,
		t->worst[node] ? figure_severity_text(t->worst[node]) : "", d->spots[node].x - BOX_W / 2.0, d->spots[node].y - BOX_H / 2.0);
	figure_text(out, figure_name(f, node));
	fprintf(out, ", 0x%016" PRIx64 ", %s, %u host%s, %u finding%s</title><rect class=\"tp-b %s\" width=\"%d\" height=\"%d\" rx=\"4\"/><text x=\"6\" y=\"15\">",
		f->nodes[node].guid, level, hosts, hosts == 1 ? "" : "s", t->marks.at[node], t->marks.at[node] == 1 ? "" : "s", css, BOX_W, BOX_H);
	figure_text_cut(out, figure_name(f, node), NAME_SHOWN);
	fputs("</text>", out);
	if (hosts > 0 || others > 0) {
		fputs("<text class=\"tp-h\" x=\"6\" y=\"30\">", out);
		if (hosts > 0)
			fprintf(out, "%u host%s", hosts, hosts == 1 ? "" : "s");
		if (others > 0)
			fprintf(out, "%s+%u", hosts ? ", " : "", others);
		fputs("</text>", out);
	}
	if (t->worst[node]) {
		fprintf(out, "<g transform=\"translate(%d 0)\"><circle class=\"tp-s %s\" r=\"7\"/><path class=\"sign\" d=\"", BOX_W, css);
		figure_sign_path(out, figure_severity_sign(t->worst[node]), -4, -4);
		fputs("\"/></g>", out);
	}
	fputs("</g>\n", out);
}

static bool is_one_layer(const struct topology *t)
{
	const struct layers *l = &t->layers;

	return t->all && l->count >= CIRCLE_LEAST && l->bundle_count > 0 && l->level[l->order[0]] == l->level[l->order[l->count - 1]];
}

static void put_drawing(FILE *out, const struct drawing *d)
{
	const struct topology *t = d->t;
	const char *id = t->all ? "tp-all" : "tp-chosen";

	fprintf(out, "<div class=\"fig-scroll\"><svg class=\"tp-d\" id=\"%s\" role=\"img\" aria-labelledby=\"%s-t %s-d\" width=\"%.0f\" height=\"%.0f\" "
		     "viewBox=\"0 0 %.0f %.0f\"><title id=\"%s-t\">%s by layers</title><desc id=\"%s-d\">%u boxes, with lines for the cables between them; "
		     "the table below has the same in words</desc>\n",
		id, id, id, d->width, d->height, d->width, d->height, id, t->all ? "All switches" : "Switches with findings", id, t->drawn_count);
	put_lines(out, d);
	for (uint32_t i = 0; i < t->layers.count; i++)
		if (t->drawn[t->layers.order[i]])
			put_box(out, d, t->layers.order[i]);
	fputs("</svg></div>\n", out);
	if (!t->all)
		fputs("<p class=\"fig-say\">\"+16\" in a box are lines to switches that are not drawn here, and have no finding.</p>\n", out);
	if (t->all && t->layers.bundle_count > 0)
		fputs("<p class=\"fig-say\">A line without a number has as many cables as most between the same layers.</p>\n", out);
}

int topology_draw(FILE *out, const struct topology *t)
{
	struct drawing d = {.t = t, .spots = calloc((size_t)t->layers.fabric->node_count + 1, sizeof(*d.spots)), .circle = is_one_layer(t)};

	if (!d.spots)
		return -ENOMEM;
	d.beside = has_beside(&d);
	if (d.circle)
		place_circle(&d);
	else
		place_layers(&d);
	put_drawing(out, &d);
	free(d.spots);
	return 0;
}
