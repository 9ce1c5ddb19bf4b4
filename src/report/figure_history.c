/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the state file remembers of ports that have a finding: when it came, and how counters grew in the two stretches of time that are
 * kept, as bars over time.
 */
#include <errno.h>
#include <stdlib.h>

#include "figure.h"
#include "ibqos/state.h"

#define PORTS_MAX 200
#define WIDE 220
#define ROW 18 /* html_figures.css has it too: the counter of a bar stands beside it */
#define BAR 14
#define COUNTERS_SHOWN 5

/* A port with findings. */
struct entry {
	const struct state_port *port;
	enum finding_severity worst;
	size_t first; /* index of its first finding */
};

struct history {
	const struct figure_history *in;
	struct entry *entries;
	size_t count, left; /* left: more than are shown */
};

static int by_port(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* The worst first, then as the ports are in the state. */
static int by_severity(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->worst != b->worst)
		return a->worst > b->worst ? -1 : 1;
	return a->port < b->port ? -1 : a->port > b->port;
}

/* Either end that the state knows; notes are no reason to look back. */
static int find_entries(struct history *h)
{
	const struct finding_list *list = h->in->findings;
	size_t kept = 0;

	h->entries = calloc(2 * list->count + 1, sizeof(*h->entries));
	if (!h->entries)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++) {
		const struct finding *f = &list->items[i];
		const struct state_port *here = NULL, *there = NULL;

		if (f->severity == FINDING_NOTE)
			continue;
		if (f->guid && f->port > 0)
			here = state_port_find(h->in->state, f->guid, (unsigned)f->port);
		if (f->peer_guid && f->peer_port > 0)
			there = state_port_find(h->in->state, f->peer_guid, (unsigned)f->peer_port);
		if (here)
			h->entries[h->count++] = (struct entry){here, f->severity, i};
		if (there)
			h->entries[h->count++] = (struct entry){there, f->severity, i};
	}
	qsort(h->entries, h->count, sizeof(*h->entries), by_port);
	for (size_t i = 0; i < h->count; i++) {
		struct entry *last = kept ? &h->entries[kept - 1] : NULL;

		if (!last || last->port != h->entries[i].port)
			h->entries[kept++] = h->entries[i];
		else if (last->worst < h->entries[i].worst)
			last->worst = h->entries[i].worst;
	}
	h->count = kept;
	qsort(h->entries, h->count, sizeof(*h->entries), by_severity);
	h->left = h->count > PORTS_MAX ? h->count - PORTS_MAX : 0;
	h->count -= h->left;
	return 0;
}

static bool is_of(const struct finding *f, const struct state_port *p)
{
	return (f->guid == p->guid && f->port == p->port) || (f->peer_guid == p->guid && f->peer_port == p->port);
}

static uint64_t first_seen(const struct history *h, const struct entry *e)
{
	uint64_t first = 0;

	for (size_t i = e->first; i < h->in->findings->count; i++) {
		const struct finding *f = &h->in->findings->items[i];

		if (f->first_seen && is_of(f, e->port) && (first == 0 || f->first_seen < first))
			first = f->first_seen;
	}
	return first;
}

/* Time as a place between 0 and WIDE. */
struct axis {
	uint64_t from, to;
};

static int x_of(const struct axis *axis, uint64_t when)
{
	if (when <= axis->from)
		return 0;
	if (when >= axis->to)
		return WIDE;
	return (int)((when - axis->from) * WIDE / (axis->to - axis->from));
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return b != 0 && (a == 0 || b < a) ? b : a;
}

static struct axis axis_of(const struct history *h, const struct entry *e)
{
	uint64_t from = earlier(earlier(e->port->at, e->port->last.since), earlier(e->port->before.since, first_seen(h, e)));

	return (struct axis){from, h->in->now > from ? h->in->now : from + 1};
}

static bool grew(const struct state_port *p, unsigned id)
{
	return counter_row(id)->rule != COUNTER_CONTEXT && (p->last.growth[id] > 0 || p->before.growth[id] > 0);
}

/* Growth in an hour of a stretch. */
static double rate_of(const struct state_bucket *b, uint64_t end, unsigned id)
{
	if (b->since == 0 || end <= b->since)
		return 0;
	return (double)b->growth[id] * 3600 / (double)(end - b->since);
}

static void put_stretch(FILE *out, const struct axis *axis, const struct state_bucket *b, uint64_t end, double most, unsigned id, int y)
{
	double rate = rate_of(b, end, id);
	int x = x_of(axis, b->since), wide = x_of(axis, end) - x, high;

	if (rate <= 0 || most <= 0)
		return;
	high = (int)(rate * BAR / most + 0.5);
	high = high < 2 ? 2 : high;
	fprintf(out, "<rect class=\"hi-b\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>", x, y + ROW - 2 - high, wide < 2 ? 2 : wide, high);
}

static uint64_t end_of_before(const struct state_port *p)
{
	return p->last.since ? p->last.since : p->at;
}

static void put_counter(FILE *out, const struct axis *axis, const struct state_port *p, unsigned id, int y)
{
	double last = rate_of(&p->last, p->at, id), before = rate_of(&p->before, end_of_before(p), id);
	double most = last > before ? last : before;

	put_stretch(out, axis, &p->before, end_of_before(p), most, id, y);
	put_stretch(out, axis, &p->last, p->at, most, id, y);
}

static void put_time(FILE *out, uint64_t when)
{
	char text[STATE_TIME];

	if (when == 0) {
		fputs("not known", out);
		return;
	}
	state_time_text(when, text);
	fputs(text, out);
}

static void put_chart(FILE *out, const struct history *h, const struct entry *e, size_t number)
{
	struct axis axis = axis_of(h, e);
	const struct state_port *p = e->port;
	uint64_t first = first_seen(h, e);
	int rows = 0, y = 0;

	for (unsigned id = 0; id < COUNTERS; id++)
		rows += grew(p, id);
	rows = rows > COUNTERS_SHOWN ? COUNTERS_SHOWN : rows;
	fprintf(out, "<svg class=\"hi\" role=\"img\" aria-labelledby=\"hi-%zu\" width=\"%d\" height=\"%d\"><title id=\"hi-%zu\">from ", number, WIDE,
		(rows + 1) * ROW, number);
	put_time(out, axis.from);
	fputs(" to ", out);
	put_time(out, axis.to);
	fputs(": how fast counters grew; the numbers stand beside it</title>\n", out);
	for (unsigned id = 0; id < COUNTERS && rows > 0; id++)
		if (grew(p, id)) {
			put_counter(out, &axis, p, id, y);
			y += ROW;
			rows--;
		}
	fprintf(out, "<path class=\"hi-a\" d=\"M0 %dh%d\"/><circle class=\"hi-l\" cx=\"%d\" cy=\"%d\" r=\"3\"/>", y + 6, WIDE, x_of(&axis, p->at), y + 6);
	if (first)
		fprintf(out, "<path class=\"hi-f\" d=\"M%d %dl-4-7h8z\"/>", x_of(&axis, first), y + 6);
	fputs("</svg>", out);
}

static const char *name_of(const struct state *state, uint64_t guid)
{
	for (size_t i = 0; i < state->node_count; i++)
		if (state->nodes[i].guid == guid)
			return state->nodes[i].name;
	return NULL;
}

static void put_place(FILE *out, const struct history *h, uint64_t guid, unsigned port)
{
	const char *name = name_of(h->in->state, guid);

	for (size_t i = 0; !name && i < h->in->findings->count; i++) {
		const struct finding *f = &h->in->findings->items[i];

		name = f->guid == guid ? f->name : f->peer_guid == guid ? f->peer_name : NULL;
	}
	if (name)
		figure_text(out, name);
	else
		fprintf(out, "0x%016" PRIx64, guid);
	fprintf(out, "[%u]", port);
}

/* "SymbolErrorCounter 40, before 3" */
static void put_growth(FILE *out, const struct state_port *p)
{
	bool any = false;

	for (unsigned id = 0; id < COUNTERS; id++) {
		if (!grew(p, id))
			continue;
		fprintf(out, "%s%s: %" PRIu64 "%s", any ? "<br>" : "<div class=\"hi-g\">", counter_row(id)->name, p->last.growth[id],
			p->last.least & COUNTER_BIT(id) ? " or more" : "");
		if (p->before.since)
			fprintf(out, ", in the stretch before %" PRIu64 "%s", p->before.growth[id],
				p->before.least & COUNTER_BIT(id) ? " or more" : "");
		any = true;
	}
	if (any)
		fputs("</div>", out);
	else
		fputs(p->last.since == p->at && p->before.since == 0 ? "looked at once: nothing to compare with" : "none grew", out);
}

static void put_codes(FILE *out, const struct history *h, const struct entry *e)
{
	bool first = true;

	for (size_t i = e->first; i < h->in->findings->count; i++) {
		const struct finding *f = &h->in->findings->items[i];

		if (f->severity == FINDING_NOTE || !is_of(f, e->port))
			continue;
		fprintf(out, "%s%s: %s", first ? "" : "<br>", finding_severity_name(f->severity), finding_kind(f->code)->code);
		if (f->first_seen) {
			fputs(",<br>first seen ", out);
			put_time(out, f->first_seen);
		}
		first = false;
	}
}

static void put_entry(FILE *out, const struct history *h, const struct entry *e, size_t number)
{
	const struct state_port *p = e->port;

	fprintf(out, "<tr data-guid=\"0x%016" PRIx64 "\" data-port=\"%u\"><th scope=\"row\">", p->guid, p->port);
	put_place(out, h, p->guid, p->port);
	if (p->peer_guid) {
		fputs("<br>to ", out);
		put_place(out, h, p->peer_guid, p->peer_port);
	}
	fputs("</th><td>", out);
	put_codes(out, h, e);
	fputs("</td><td>", out);
	put_chart(out, h, e, number);
	fputs("</td><td>", out);
	put_growth(out, p);
	fputs("</td><td>", out);
	put_time(out, p->last.since);
	fputs("</td><td>", out);
	put_time(out, p->at);
	fputs("</td></tr>\n", out);
}

int figure_history(FILE *out, const struct figure_history *in)
{
	struct history h = {.in = in};
	char number[FIGURE_NUMBER];
	int ret = find_entries(&h);

	if (ret == 0 && h.count == 0) {
		fputs("<p>No port with a finding has counters in the state file.</p>\n", out);
	} else if (ret == 0) {
		fputs("<p>Ports with findings whose counters the state file remembers: how fast counters grew, each against its own fastest, in the last "
		      "stretch of a day or less and the one before; the triangle is when a finding was first seen, the dot the last look.</p>\n"
		      "<div class=\"fig-scroll\"><table id=\"hi-table\"><thead><tr><th scope=\"col\">port</th><th scope=\"col\">findings</th>"
		      "<th scope=\"col\">over time</th><th scope=\"col\">grew by</th><th scope=\"col\">since</th><th scope=\"col\">last look</th></tr></thead><tbody>\n",
		      out);
		for (size_t i = 0; i < h.count; i++)
			put_entry(out, &h, &h.entries[i], i);
		fputs("</tbody></table></div>\n", out);
		if (h.left > 0)
			fprintf(out, "<p>%s more ports are not shown: those with the worst findings are.</p>\n", figure_number(h.left, number));
	}
	free(h.entries);
	return ret;
}
