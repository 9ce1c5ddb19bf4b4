/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the cell of a port shows: the worst finding there, its speed, bit errors, time without credits. What was not looked
 * at is a class of its own in each of these views, never the one of ports that are well.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "ibqos/link.h"

#define SPEEDS_SHOWN 10 /* classes of speed and width; slower ones are one class */
#define ERRORS_MANY 100

static const struct {
	const char *name, *title;
} views[CELL_VIEWS] = {
	[VIEW_FINDINGS] = {"findings", "state and findings"},
	[VIEW_SPEED] = {"speed", "width and speed"},
	[VIEW_ERRORS] = {"errors", "bit errors"},
	[VIEW_WAITING] = {"waiting", "time without credits"},
};

const char *cells_view_name(enum cell_view view)
{
	return views[view].name;
}

const char *cells_view_title(enum cell_view view)
{
	return views[view].title;
}

static void add_class(struct cells *c, enum cell_view view, char letter, const char *css, enum figure_sign sign, const char *text)
{
	struct cell_class *class = &c->classes[view][c->class_count[view]++];

	*class = (struct cell_class){.letter = letter, .css = css, .sign = sign};
	snprintf(class->text, sizeof(class->text), "%s", text);
}

/* What is linked, by what the port itself says or what another tool said of it. */
static bool rate_of(const struct fabric *f, uint32_t port, unsigned *width, unsigned *speed)
{
	const struct fabric_port *p = &f->ports[port];
	struct link_state link = {0};

	*width = p->known ? 0 : p->told_width;
	*speed = p->known ? 0 : p->told_speed;
	if (p->known && link_decode(f, port, &link)) {
		*width = link.width_active;
		*speed = link.speed_active;
	}
	return *width && *speed;
}

static bool is_down(const struct fabric_port *port)
{
	return port->known && fabric_port_state(port) == FABRIC_STATE_DOWN;
}

/* --- the worst finding --- */

enum { OF_CRITICAL, OF_UNKNOWN, OF_WARNING, OF_NOT_LOOKED, OF_NOTE, OF_INIT, OF_DOWN, OF_ACTIVE };

static void findings_classes(struct cells *c)
{
	add_class(c, VIEW_FINDINGS, 'c', "k-crit", SIGN_CRITICAL, "critical finding");
	add_class(c, VIEW_FINDINGS, 'u', "k-what", SIGN_UNKNOWN, "finding: unknown");
	add_class(c, VIEW_FINDINGS, 'w', "k-warn", SIGN_WARNING, "warning");
	add_class(c, VIEW_FINDINGS, '?', "k-unk", SIGN_NONE, "not looked at, not known");
	add_class(c, VIEW_FINDINGS, 'n', "k-note", SIGN_NOTE, "note");
	add_class(c, VIEW_FINDINGS, 'i', "k-init", SIGN_NONE, "linked, not active yet");
	add_class(c, VIEW_FINDINGS, 'd', "k-down", SIGN_NONE, "down");
	add_class(c, VIEW_FINDINGS, 'a', "k-ok", SIGN_NONE, "active, no finding");
}

static bool was_looked_at(const struct cells *c, uint32_t port)
{
	return c->in->fabric->ports[port].known && (!c->in->looked || c->in->looked[port]);
}

static unsigned findings_class(const struct cells *c, uint32_t port)
{
	const struct fabric_port *p = &c->in->fabric->ports[port];
	uint8_t worst = marks_worst(c->marks, port);

	if (worst == FINDING_CRITICAL + 1)
		return OF_CRITICAL;
	if (worst == FINDING_UNKNOWN + 1)
		return OF_UNKNOWN;
	if (worst == FINDING_WARNING + 1)
		return OF_WARNING;
	if (!p->known || (!is_down(p) && !was_looked_at(c, port)))
		return OF_NOT_LOOKED;
	if (worst == FINDING_NOTE + 1)
		return OF_NOTE;
	if (is_down(p))
		return OF_DOWN;
	return fabric_port_state(p) == FABRIC_STATE_ACTIVE ? OF_ACTIVE : OF_INIT;
}

/* --- speed --- */

struct rate {
	unsigned width, speed;
	double gbps;
};

static int fastest_first(const void *left, const void *right)
{
	const struct rate *a = left, *b = right;

	if (a->gbps != b->gbps)
		return a->gbps > b->gbps ? -1 : 1;
	if (a->speed != b->speed)
		return a->speed > b->speed ? -1 : 1;
	return (a->width < b->width) - (a->width > b->width);
}

struct rates {
	struct rate items[64]; /* more than pairs of the tables in use */
	unsigned count;
};

static void collect_rates(const struct cells *c, struct rates *rates)
{
	const struct fabric *f = c->in->fabric;

	rates->count = 0;
	for (uint32_t i = 0; i < f->port_count; i++) {
		struct rate rate;
		unsigned n = 0;

		if (fabric_port_node(f, i)->type != FABRIC_SWITCH || !rate_of(f, i, &rate.width, &rate.speed))
			continue;
		rate.gbps = link_gbps(rate.width, rate.speed);
		while (n < rates->count && (rates->items[n].width != rate.width || rates->items[n].speed != rate.speed))
			n++;
		if (n == rates->count && n < sizeof(rates->items) / sizeof(rates->items[0]))
			rates->items[rates->count++] = rate;
	}
	qsort(rates->items, rates->count, sizeof(rates->items[0]), fastest_first);
}

/* The first classes are of ports that are down and of those whose rate is not known. */
#define RATES_FROM 2

static void speed_classes(struct cells *c, const struct rates *rates)
{
	static const char *const css[SPEEDS_SHOWN + 1] = {"k-s0", "k-s1", "k-s2", "k-s3", "k-s4", "k-s5",
							 "k-s6", "k-s7", "k-s8", "k-s9", "k-s9"};

	add_class(c, VIEW_SPEED, 'd', "k-down", SIGN_NONE, "down");
	add_class(c, VIEW_SPEED, '?', "k-unk", SIGN_NONE, "not known");
	for (unsigned i = 0; i < rates->count && i < SPEEDS_SHOWN; i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s %s, %g Gb/s", link_width_name(rates->items[i].width),
			 link_speed_name(rates->items[i].speed), rates->items[i].gbps);
		add_class(c, VIEW_SPEED, (char)('A' + i), css[i], SIGN_NONE, text);
	}
	if (rates->count > SPEEDS_SHOWN)
		add_class(c, VIEW_SPEED, (char)('A' + SPEEDS_SHOWN), css[SPEEDS_SHOWN], SIGN_NONE, "slower than these");
}

static unsigned speed_class(const struct cells *c, const struct rates *rates, uint32_t port)
{
	unsigned width, speed, n = 0;

	if (is_down(&c->in->fabric->ports[port]))
		return 0;
	if (!rate_of(c->in->fabric, port, &width, &speed))
		return 1;
	while (n < rates->count && (rates->items[n].width != width || rates->items[n].speed != speed))
		n++;
	return RATES_FROM + (n < SPEEDS_SHOWN ? n : SPEEDS_SHOWN);
}

/* --- bit errors: by how they grew, else by what the counters hold --- */

enum { ERR_DOWN, ERR_NOT_READ, ERR_GOOD, ERR_EARLY, ERR_BETWEEN, ERR_BAD, ERR_NO_SPEED };
enum { TOTAL_NONE = ERR_GOOD, TOTAL_SOME, TOTAL_MANY, TOTAL_FULL };

static void error_classes(struct cells *c)
{
	bool grown = c->in->measures;

	add_class(c, VIEW_ERRORS, 'd', "k-down", SIGN_NONE, "down");
	add_class(c, VIEW_ERRORS, '?', "k-unk", SIGN_NONE, grown ? "not read, or no earlier look" : "not read");
	add_class(c, VIEW_ERRORS, 'g', "k-ok", SIGN_NONE, grown ? "within limits for sure" : "none counted");
	add_class(c, VIEW_ERRORS, 'e', "k-note", SIGN_NOTE, grown ? "too early to say" : "up to 99, since nobody knows when");
	add_class(c, VIEW_ERRORS, 'b', "k-warn", SIGN_WARNING, grown ? "neither within nor above for sure" : "100 and more, likewise");
	if (grown) {
		add_class(c, VIEW_ERRORS, 'x', "k-crit", SIGN_CRITICAL, "above limits for sure");
		add_class(c, VIEW_ERRORS, 'u', "k-what", SIGN_UNKNOWN, "speed unknown, so no limits");
	} else {
		add_class(c, VIEW_ERRORS, 'u', "k-what", SIGN_UNKNOWN, "a counter is at its highest value");
	}
}

static unsigned grown_class(const struct counter_measure *m)
{
	static const unsigned of[BER_VERDICTS] = {
		[BER_UNKNOWN] = ERR_NO_SPEED, [BER_EARLY] = ERR_EARLY, [BER_GOOD] = ERR_GOOD, [BER_BETWEEN] = ERR_BETWEEN,
		[BER_WARN] = ERR_BAD,	      [BER_ERROR] = ERR_BAD};

	return m->has_errors ? of[m->verdict] : ERR_NOT_READ;
}

static unsigned total_class(const struct counter_reading *r)
{
	uint64_t sum = 0;
	bool read = false;

	for (unsigned id = 0; id < COUNTERS; id++) {
		if (counter_row(id)->rule != COUNTER_BER || !(r->known & COUNTER_BIT(id)))
			continue;
		if (r->saturated & COUNTER_BIT(id))
			return TOTAL_FULL;
		read = true;
		sum = sum + r->value[id] < sum ? UINT64_MAX : sum + r->value[id];
	}
	if (!read)
		return ERR_NOT_READ;
	return sum == 0 ? TOTAL_NONE : sum < ERRORS_MANY ? TOTAL_SOME : TOTAL_MANY;
}

static unsigned error_class(const struct cells *c, uint32_t port)
{
	if (is_down(&c->in->fabric->ports[port]))
		return ERR_DOWN;
	return c->in->measures ? grown_class(&c->in->measures[port]) : total_class(&c->in->counters->ports[port]);
}

/* --- time without credits --- */

enum { WAIT_DOWN, WAIT_NOT_READ, WAIT_LITTLE, WAIT_SOME, WAIT_MUCH };

static void waiting_classes(struct cells *c)
{
	add_class(c, VIEW_WAITING, 'd', "k-down", SIGN_NONE, "down");
	add_class(c, VIEW_WAITING, '?', "k-unk", SIGN_NONE, "not read, or no earlier look");
	add_class(c, VIEW_WAITING, '0', "k-ok", SIGN_NONE, "less than 10 % of the time");
	add_class(c, VIEW_WAITING, '1', "k-note", SIGN_NOTE, "10 % to less than 50 %");
	add_class(c, VIEW_WAITING, '5', "k-warn", SIGN_WARNING, "50 % and more");
}

static unsigned waiting_class(const struct cells *c, uint32_t port)
{
	const struct counter_measure *m = &c->in->measures[port];

	if (is_down(&c->in->fabric->ports[port]))
		return WAIT_DOWN;
	if (!m->has_waiting)
		return WAIT_NOT_READ;
	return m->waiting >= 0.5 ? WAIT_MUCH : m->waiting >= 0.1 ? WAIT_SOME : WAIT_LITTLE;
}

/* --- */

static unsigned class_of(const struct cells *c, enum cell_view view, const struct rates *rates, uint32_t port)
{
	switch (view) {
	case VIEW_SPEED:
		return speed_class(c, rates, port);
	case VIEW_ERRORS:
		return error_class(c, port);
	case VIEW_WAITING:
		return waiting_class(c, port);
	default:
		return findings_class(c, port);
	}
}

static void classify(struct cells *c, enum cell_view view, const struct rates *rates)
{
	const struct fabric *f = c->in->fabric;

	for (uint32_t i = 0; i < f->port_count; i++) {
		if (fabric_port_node(f, i)->type != FABRIC_SWITCH || f->ports[i].number == 0)
			continue;
		c->of[view][i] = (uint8_t)class_of(c, view, rates, i);
		c->classes[view][c->of[view][i]].count++;
	}
}

int cells_new(const struct figure_fabric *in, const struct figure_marks *marks, struct cells *cells)
{
	struct rates rates;

	*cells = (struct cells){.in = in, .marks = marks};
	cells->has[VIEW_FINDINGS] = cells->has[VIEW_SPEED] = true;
	cells->has[VIEW_ERRORS] = in->measures || in->counters;
	cells->has[VIEW_WAITING] = in->measures;
	collect_rates(cells, &rates);
	findings_classes(cells);
	speed_classes(cells, &rates);
	error_classes(cells);
	waiting_classes(cells);
	for (int view = 0; view < CELL_VIEWS; view++) {
		if (!cells->has[view])
			continue;
		cells->of[view] = calloc((size_t)in->fabric->port_count + 1, sizeof(*cells->of[view]));
		if (!cells->of[view])
			return -ENOMEM;
		classify(cells, view, &rates);
	}
	return 0;
}

void cells_clear(struct cells *cells)
{
	for (int view = 0; view < CELL_VIEWS; view++)
		free(cells->of[view]);
	*cells = (struct cells){0};
}

bool cells_measured(const struct cells *cells, uint32_t port, char text[CELL_TEXT])
{
	const struct counter_measure *m = cells->in->measures ? &cells->in->measures[port] : NULL;
	int at = 0;

	text[0] = '\0';
	if (m && m->has_errors && m->verdict != BER_GOOD && m->verdict != BER_EARLY)
		at = snprintf(text, CELL_TEXT, "%.3g errors a bit (at most %.3g)", m->errors, m->errors_upper);
	if (m && m->has_waiting && m->waiting >= 0.1)
		snprintf(text + at, CELL_TEXT - (size_t)at, "%s%.1f %% of the time without credits", at ? ", " : "",
			 100 * m->waiting);
	return text[0] != '\0';
}
