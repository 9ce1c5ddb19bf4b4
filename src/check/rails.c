/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rails: several fabrics against each other. First which of them are one and the same, or planes of the same ports (by GUIDs
 * that they share); then hosts, rates, links and tables.
 */
#include "rails.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "place.h"

#define DEFAULT_PREFIX 0xfe80000000000000u

void rails_names(char **text, const struct rails *r, const bool *which)
{
	unsigned count = 0;
	char *all = NULL;
	size_t size;
	FILE *out;

	for (size_t i = 0; i < r->count; i++)
		count += which[i];
	out = open_memstream(&all, &size);
	if (!out)
		return;
	fprintf(out, count == 1 ? "rail" : "rails");
	for (size_t i = 0, n = 0; i < r->count; i++)
		if (which[i])
			fprintf(out, "%s %s", n++ ? "," : "", r->items[i].name);
	if (text_stream_end(out, &all) == 0)
		finding_set(text, "%s", all);
	free(all);
}

/* --- what is in two fabrics --- */

struct guids {
	uint64_t *items;
	size_t count;
};

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Of switches their own, else those of the cabled ports of adapters. */
static bool take_guids(const struct fabric *f, bool switches, struct guids *guids)
{
	guids->items = calloc((size_t)f->port_count + f->node_count + 1, sizeof(*guids->items));
	if (!guids->items)
		return false;
	for (uint32_t n = 0; switches && n < f->node_count; n++)
		if (f->nodes[n].type == FABRIC_SWITCH)
			guids->items[guids->count++] = f->nodes[n].guid;
	for (uint32_t p = 0; !switches && p < f->port_count; p++)
		if (fabric_port_node(f, p)->type == FABRIC_CA && f->ports[p].peer != FABRIC_NONE && f->ports[p].guid)
			guids->items[guids->count++] = f->ports[p].guid;
	qsort(guids->items, guids->count, sizeof(*guids->items), by_number);
	return true;
}

static size_t shared(const struct guids *a, const struct guids *b, uint64_t *first)
{
	size_t count = 0;

	for (size_t i = 0, n = 0; i < a->count && n < b->count;) {
		if (a->items[i] == b->items[n] && count++ == 0)
			*first = a->items[i];
		if (a->items[i] <= b->items[n])
			i++;
		else
			n++;
	}
	return count;
}

static bool is_most(size_t count, const struct guids *a, const struct guids *b)
{
	return count * 2 >= (a->count < b->count ? a->count : b->count);
}

static struct finding *tell_shared(const struct rails *r, enum finding_code code, size_t a, size_t b)
{
	struct finding *f = finding_add(r->findings, code);

	finding_set(&f->what, "%s and %s", r->items[a].name, r->items[b].name);
	return f;
}

static void judge_pair(struct rails *r, size_t a, size_t b, const struct guids *switches, const struct guids *ports)
{
	uint64_t guid = 0;
	size_t count = shared(&switches[a], &switches[b], &guid);
	struct finding *f;

	if (count > 0) {
		uint32_t node = fabric_find_node(r->items[a].fabric, guid);

		f = tell_shared(r, FINDING_RAIL_SAME_FABRIC, a, b);
		if (node != FABRIC_NONE)
			place_node(f, r->items[a].fabric, node);
		finding_set(&f->got, "%zu switch%s in both", count, count > 1 ? "es, this one the first," : "");
		if (is_most(count, &switches[a], &switches[b]))
			r->left[b] = true;
		return;
	}
	count = shared(&ports[a], &ports[b], &guid);
	if (count == 0)
		return;
	if (is_most(count, &ports[a], &ports[b])) {
		r->group[b] = r->group[a];
		r->result->planes++;
		return;
	}
	f = tell_shared(r, FINDING_RAIL_PORT_TWICE, a, b);
	finding_set(&f->got, "%zu port%s in both, the first 0x%016llx", count, count > 1 ? "s" : "", (unsigned long long)guid);
}

static int find_groups(struct rails *r)
{
	struct guids switches[RAILS_MAX] = {{0}}, ports[RAILS_MAX] = {{0}};
	int error = 0;

	for (size_t i = 0; i < r->count; i++) {
		r->group[i] = (uint8_t)i;
		if (!take_guids(r->items[i].fabric, true, &switches[i]) || !take_guids(r->items[i].fabric, false, &ports[i]))
			error = -ENOMEM;
	}
	for (size_t a = 0; error == 0 && a < r->count; a++)
		for (size_t b = a + 1; b < r->count; b++)
			if (!r->left[a] && !r->left[b] && r->group[a] == a && r->group[b] == b)
				judge_pair(r, a, b, switches, ports);
	for (size_t i = 0; i < r->count; i++) {
		free(switches[i].items);
		free(ports[i].items);
	}
	return error;
}

/* --- GidPrefix --- */

/* PortInfo:GidPrefix, IBA 14.2.5.6, of the first port with a LID; the subnet manager gives all the same one. */
static uint64_t prefix_of(const struct fabric *f)
{
	for (uint32_t p = 0; p < f->port_count; p++) {
		uint64_t prefix = 0;

		if (!f->ports[p].known || fabric_port_agent(f, p) != p || fabric_port_lid(&f->ports[p]) == 0)
			continue;
		for (unsigned i = 0; i < 8; i++)
			prefix = prefix << 8 | f->ports[p].info[8 + i];
		return prefix;
	}
	return 0;
}

static void compare_prefixes(const struct rails *r, const struct rail_totals *totals)
{
	bool told[RAILS_MAX] = {false};

	for (size_t i = 0; i < r->count; i++) {
		bool which[RAILS_MAX] = {false};
		struct finding *f;
		size_t same = 0;

		if (told[i] || !rail_counts(r, i) || totals[i].prefix == 0)
			continue;
		for (size_t n = i; n < r->count; n++) {
			which[n] = rail_counts(r, n) && totals[n].prefix == totals[i].prefix;
			told[n] |= which[n];
			same += which[n];
		}
		if (same < 2)
			continue;
		f = finding_add(r->findings, FINDING_RAIL_PREFIX);
		rails_names(&f->what, r, which);
		finding_set(&f->got, "0x%016llx%s", (unsigned long long)totals[i].prefix,
			    totals[i].prefix == DEFAULT_PREFIX ? ", the default" : "");
		if (totals[i].prefix != DEFAULT_PREFIX) /* somebody set it, and to tell them apart */
			f->severity = FINDING_WARNING;
	}
}

/* --- */

static void sum_up(const struct rails *r, struct rail_totals *totals)
{
	for (size_t i = 0; i < r->count; i++)
		totals[i].prefix = prefix_of(r->items[i].fabric);
	for (size_t h = 0; h < r->host_count; h++)
		for (size_t i = 0; i < r->count; i++)
			totals[i].hosts += !r->left[i] && r->hosts[h].present >> r->group[i] & 1;
	for (size_t s = 0; s < r->seat_count; s++) {
		struct rail_totals *t = &totals[r->seats[s].group];

		t->adapters++;
		if (t->host_gbps * 1000 < r->seats[s].rate)
			t->host_gbps = (double)r->seats[s].rate / 1000;
	}
	for (size_t i = 0; i < r->count; i++)
		if (r->group[i] != i) {
			totals[i].adapters = totals[r->group[i]].adapters;
			totals[i].host_gbps = totals[r->group[i]].host_gbps;
		}
}

int check_rails(const struct rail *rails, size_t count, struct finding_list *findings, struct rail_totals *totals,
		struct rails_result *result)
{
	struct rails r = {.items = rails, .count = count, .findings = findings, .result = result};
	int error;

	*result = (struct rails_result){0};
	if (count < 2 || count > RAILS_MAX)
		return -EINVAL;
	memset(totals, 0, count * sizeof(*totals));
	error = find_groups(&r);
	if (error == 0)
		error = rails_gather(&r);
	if (error == 0)
		error = rails_hosts(&r);
	if (error == 0)
		error = rails_rates(&r);
	if (error == 0) {
		rails_links(&r, totals);
		sum_up(&r, totals);
		compare_prefixes(&r, totals);
		error = rails_tables(&r);
	}
	free(r.seats);
	free(r.hosts);
	return error;
}
