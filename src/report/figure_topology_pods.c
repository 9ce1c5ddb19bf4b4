/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * All switches in little: a square each, in the boxes of their pods, those outside of pods in strips.
 */
#include <errno.h>
#include <stdlib.h>

#include "figure_topology.h"

#define PITCH 12 /* of squares; 10 of it are the square */
#define WIDTH 1200
#define POD_SQUARES 18 /* in a row of a pod, at most */
#define POD_LEAST 9
#define GAP 8
#define HEAD 16
#define LINES_MAX 120

struct place {
	int x, y; /* of the square's left and middle */
};

struct map {
	const struct topology *t;
	struct place *places; /* by node */
	int in_a_pod;	      /* squares in a row of a pod */
	int height;
};

/* Squares of the switches of one pod (or of none) and level, from x and *y on; *y goes below them. False: there are none. */
static bool put_squares(struct map *m, uint32_t pod, unsigned level, int x, int in_a_row, int *y)
{
	const struct layers *l = &m->t->layers;
	int count = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		uint32_t node = l->order[i];

		if (l->pod[node] != pod || l->level[node] != level)
			continue;
		m->places[node] = (struct place){x + count % in_a_row * PITCH, *y + count / in_a_row * PITCH + PITCH / 2};
		count++;
	}
	*y += (count + in_a_row - 1) / in_a_row * PITCH;
	return count > 0;
}

/* As many squares as the fullest row has. */
static int squares_of_pods(const struct layers *l)
{
	int most = POD_LEAST, count = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		bool same = i > 0 && l->level[l->order[i]] == l->level[l->order[i - 1]] && l->pod[l->order[i]] == l->pod[l->order[i - 1]];

		count = same ? count + 1 : 1;
		most = l->pod[l->order[i]] != LAYERS_NO_POD && count > most ? count : most;
	}
	return most < POD_SQUARES ? most : POD_SQUARES;
}

static int pod_width(const struct map *m)
{
	return m->in_a_pod * PITCH + 14;
}

static void put_text(FILE *out, int x, int y, const char *text)
{
	fprintf(out, "<text x=\"%d\" y=\"%d\">%s</text>\n", x, y, text);
}

/* A pod's box: its higher levels above. Returns where it ends. */
static int put_pod(FILE *out, struct map *m, uint32_t pod, int x, int y)
{
	const struct layers *l = &m->t->layers;
	uint32_t switches = 0, first = FABRIC_NONE;
	uint64_t hosts = 0;
	int top = y;

	for (uint32_t i = 0; i < l->count; i++)
		if (l->pod[l->order[i]] == pod) {
			first = first == FABRIC_NONE ? l->order[i] : first;
			switches++;
			hosts += l->hosts[l->order[i]];
		}
	fprintf(out, "<g data-pod=\"%u\" data-switches=\"%u\"><title>pod %u: %u switches, %" PRIu64 " hosts, the first ", pod + 1, switches,
		pod + 1, switches, hosts);
	figure_text(out, figure_name(l->fabric, first));
	fprintf(out, "</title><text x=\"%d\" y=\"%d\">%u: ", x + 4, y + 11, pod + 1);
	figure_text_cut(out, figure_name(l->fabric, first), 18);
	fputs(" …</text>", out);
	y += HEAD;
	for (unsigned level = l->levels; level-- > 0;)
		if (put_squares(m, pod, level, x + 6, m->in_a_pod, &y))
			y += GAP / 2;
	fprintf(out, "<rect class=\"tp-pod\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/></g>\n", x, top, pod_width(m), y - top);
	return y;
}

static int put_pods(FILE *out, struct map *m, int y)
{
	int end = y, x = 0;

	for (uint32_t pod = 0; pod < m->t->layers.pods; pod++) {
		int below;

		if (x + pod_width(m) > WIDTH) {
			x = 0;
			y = end + GAP;
		}
		below = put_pod(out, m, pod, x, y);
		end = below > end ? below : end;
		x += pod_width(m) + GAP;
	}
	return end;
}

/* Switches outside of pods, from the top: without hosts, then the highest level first. */
static int put_strips(FILE *out, struct map *m)
{
	int y = 0;

	for (int level = LAYERS_NO_HOSTS; level >= 0; level--) {
		char name[FIGURE_LAYER];
		int from = y + HEAD;

		if (!put_squares(m, LAYERS_NO_POD, (unsigned)level, 0, WIDTH / PITCH, &from))
			continue;
		figure_layer_name((unsigned)level, name);
		put_text(out, 0, y + 12, name);
		y = from + 4 * GAP; /* room for lines */
	}
	return y;
}

static void put_classes(FILE *out, const struct map *m)
{
	const struct layers *l = &m->t->layers;

	for (unsigned at = 0; at <= FINDING_CRITICAL + 1; at++) {
		uint8_t worst = (uint8_t)at;
		uint32_t count = 0;

		for (uint32_t i = 0; i < l->count; i++) {
			uint32_t node = l->order[i];

			if (m->t->worst[node] != worst)
				continue;
			if (count++ == 0)
				fprintf(out, "<path class=\"c %s\" data-worst=\"%s\" d=\"", figure_severity_class(worst),
					worst ? figure_severity_text(worst) : "");
			fprintf(out, "M%d %dh10", m->places[node].x, m->places[node].y);
		}
		if (count == 0)
			continue;
		fputs("\"/>\n<path class=\"sign\" d=\"", out);
		for (uint32_t i = 0; i < l->count; i++)
			if (m->t->worst[l->order[i]] == worst)
				figure_sign_path(out, figure_severity_sign(worst), m->places[l->order[i]].x + 1,
						 m->places[l->order[i]].y - 4);
		fputs("\"/>\n", out);
	}
}

static void put_bad_line(FILE *out, const struct map *m, const struct pair_mark *p)
{
	const struct layers *l = &m->t->layers;
	bool gone = layers_bundle(l, p->a, p->b) == SIZE_MAX;

	fprintf(out, "<path class=\"tp-l %s%s\" d=\"M%d %dL%d %d\"><title>", gone ? "tp-gone " : "", figure_severity_class(p->worst),
		m->places[p->a].x + 5, m->places[p->a].y, m->places[p->b].x + 5, m->places[p->b].y);
	figure_text(out, figure_name(l->fabric, p->a));
	fputs(" to ", out);
	figure_text(out, figure_name(l->fabric, p->b));
	fprintf(out, ": %s</title></path>\n", figure_severity_text(p->worst));
}

/* The worst first; how many are left. */
static uint32_t put_bad(FILE *out, const struct map *m)
{
	uint32_t drawn = 0, left = 0;

	for (uint8_t worst = FINDING_CRITICAL + 1; worst > FINDING_NOTE + 1; worst--)
		for (size_t i = 0; i < m->t->marks.pair_count; i++) {
			if (m->t->marks.pairs[i].worst != worst)
				continue;
			if (drawn == LINES_MAX) {
				left++;
				continue;
			}
			drawn++;
			put_bad_line(out, m, &m->t->marks.pairs[i]);
		}
	return left;
}

/* Its height is known once all is placed. */
static int put_map(FILE *out, struct map *m)
{
	uint32_t left;
	char number[FIGURE_NUMBER], *text = NULL;
	size_t size = 0;
	FILE *body = open_memstream(&text, &size);

	if (!body)
		return -ENOMEM;
	m->in_a_pod = squares_of_pods(&m->t->layers);
	m->height = put_strips(body, m);
	m->height = put_pods(body, m, m->height) + GAP;
	put_classes(body, m);
	left = put_bad(body, m);
	if (text_stream_end(body, &text) != 0)
		return -ENOMEM;
	fprintf(out, "<div class=\"fig-scroll\"><svg class=\"tp-d\" id=\"tp-map\" role=\"img\" aria-labelledby=\"tp-map-t tp-map-d\" width=\"%d\" height=\"%d\" "
		     "viewBox=\"0 0 %d %d\"><title id=\"tp-map-t\">All switches by layers and pods</title><desc id=\"tp-map-d\">a square a switch; lines are "
		     "cables with findings; the tables below have the same in words</desc>\n%s</svg></div>\n",
		WIDTH, m->height, WIDTH, m->height, text);
	free(text);
	if (left > 0)
		fprintf(out, "<p>%s more pairs of switches with findings are in the table only.</p>\n", figure_number(left, number));
	return 0;
}

int topology_pods(FILE *out, const struct topology *t)
{
	struct map m = {.t = t, .places = calloc((size_t)t->layers.fabric->node_count + 1, sizeof(*m.places))};
	int ret;

	ret = m.places ? put_map(out, &m) : -ENOMEM;
	free(m.places);
	return ret;
}
