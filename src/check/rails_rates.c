/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rails: rates of adapters, of each host against its rail and of the rails against each other; planes of one port; numbers of
 * switches and of the links between them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/link.h"
#include "rails.h"

bool rails_reference(const struct rails *r, const uint64_t *values, const bool *have, uint64_t *reference)
{
	size_t most = 0, known = 0;

	for (size_t i = 0; i < r->count; i++) {
		size_t same = 0;

		if (!have[i])
			continue;
		known++;
		for (size_t n = 0; n < r->count; n++)
			same += have[n] && values[n] == values[i];
		if (same < most || (same == most && values[i] <= *reference))
			continue;
		most = same;
		*reference = values[i];
	}
	return known >= 2;
}

static void set_gbps(char **member, uint64_t mbps)
{
	finding_set(member, "%g Gb/s", (double)mbps / 1000);
}

/* --- adapters --- */

struct rates {
	const struct rails *r;
	uint32_t *values;
	uint64_t usual[RAILS_MAX];
	bool known[RAILS_MAX], told[RAILS_MAX];
};

static size_t collect(struct rates *t, size_t first, size_t end, uint32_t kind, size_t group)
{
	const struct rails *r = t->r;
	size_t n = 0;

	for (size_t i = first; i < end; i++)
		for (size_t s = r->hosts[i].first; r->hosts[i].kind == kind && s < r->hosts[i].first + r->hosts[i].count; s++)
			if (r->seats[s].group == group && r->seats[s].rate > 0)
				t->values[n++] = r->seats[s].rate;
	return n;
}

static void tell_slow(const struct rates *t, const struct rail_host *host)
{
	const struct rails *r = t->r;

	for (size_t s = host->first; s < host->first + host->count; s++) {
		const struct rail_seat *seat = &r->seats[s];
		struct finding *f;

		if (!t->known[seat->group] || seat->rate == 0 || seat->rate >= t->usual[seat->group])
			continue;
		f = finding_add(r->findings, FINDING_RAIL_HOST_SLOW);
		seat_place(f, r, seat);
		finding_set(&f->fabric, "%s", r->items[seat->group].name);
		finding_set(&f->what, "rail %s", r->items[seat->group].name);
		set_gbps(&f->wanted, t->usual[seat->group]);
		set_gbps(&f->got, seat->rate);
	}
}

/* Hosts of one kind: each against the others in its rail, then the rails. */
static void compare_kind(struct rates *t, size_t first, size_t end, uint32_t kind)
{
	const struct rails *r = t->r;
	uint64_t reference = 0;

	for (size_t g = 0; g < r->count; g++) {
		uint32_t usual = 0;

		t->known[g] = rail_counts(r, g) && site_usual(t->values, collect(t, first, end, kind, g), &usual);
		t->usual[g] = usual;
	}
	for (size_t i = first; i < end; i++)
		if (r->hosts[i].kind == kind)
			tell_slow(t, &r->hosts[i]);
	if (!rails_reference(r, t->usual, t->known, &reference))
		return;
	for (size_t g = 0; g < r->count; g++) {
		const struct rail_seat *seat = &r->seats[r->hosts[first].first];
		struct finding *f;

		if (!t->known[g] || t->usual[g] == reference || t->told[g])
			continue;
		t->told[g] = true;
		f = finding_add(r->findings, FINDING_RAIL_UNEQUAL);
		finding_set(&f->fabric, "%s", r->items[g].name);
		finding_set(&f->what, "rail %s, adapters of %s*", r->items[g].name, seat->name.stem);
		set_gbps(&f->wanted, reference);
		set_gbps(&f->got, t->usual[g]);
	}
}

int rails_rates(const struct rails *r)
{
	struct rates t = {.r = r, .values = calloc(r->seat_count + 1, sizeof(*t.values))};

	if (!t.values)
		return -ENOMEM;
	for (size_t i = 0, next; i < r->host_count; i = next) {
		const char *stem = r->seats[r->hosts[i].first].name.stem;
		uint32_t low = UINT32_MAX, high = 0;

		for (next = i; next < r->host_count && strcmp(r->seats[r->hosts[next].first].name.stem, stem) == 0; next++) {
			uint32_t kind = r->hosts[next].kind;

			if (kind == UINT32_MAX)
				continue;
			low = kind < low ? kind : low;
			high = kind > high ? kind : high;
		}
		for (uint32_t kind = low; low != UINT32_MAX && kind <= high; kind++)
			compare_kind(&t, i, next, kind);
	}
	free(t.values);
	return 0;
}

/* --- planes --- */

static void tell_plane(const struct rails *r, const struct rail_seat *seats, const bool *lacks, unsigned missing)
{
	struct finding *f = finding_add(r->findings, FINDING_RAIL_PLANE);

	seat_place(f, r, &seats[0]);
	if (missing > 0) {
		rails_names(&f->what, r, lacks);
		finding_set(&f->wanted, "each plane of the port");
		finding_set(&f->got, "the port is not there");
		return;
	}
	finding_set(&f->what, "planes of the port");
	finding_set(&f->wanted, "one rate");
}

/* The seats of one port, one a plane. */
static void judge_port(const struct rails *r, const struct rail_seat *seats, size_t count)
{
	bool lacks[RAILS_MAX] = {false}, unequal = false;
	unsigned missing = 0;
	struct finding *f;

	for (size_t i = 0; i < r->count; i++) {
		bool there = false;

		if (r->left[i] || r->group[i] != seats->group)
			continue;
		for (size_t n = 0; n < count; n++)
			there |= seats[n].rail == i;
		lacks[i] = !there;
		missing += !there;
	}
	for (size_t n = 1; n < count; n++)
		unequal |= seats[n].rate > 0 && seats[0].rate > 0 && seats[n].rate != seats[0].rate;
	if (missing > 0)
		tell_plane(r, seats, lacks, missing);
	if (!unequal)
		return;
	tell_plane(r, seats, lacks, 0);
	f = &r->findings->items[r->findings->count - 1];
	for (size_t n = 0; n < count; n++)
		finding_append(&f->got, "%g Gb/s in %s", (double)seats[n].rate / 1000, r->items[seats[n].rail].name);
}

void rails_planes(const struct rails *r)
{
	bool several[RAILS_MAX] = {false};

	for (size_t i = 0; i < r->count; i++)
		if (!r->left[i] && r->group[i] != i)
			several[r->group[i]] = true;
	for (size_t i = 0, next; i < r->seat_count; i = next) {
		const struct rail_seat *seat = &r->seats[i];

		for (next = i; next < r->seat_count && r->seats[next].guid == seat->guid && r->seats[next].number == seat->number &&
			       r->seats[next].group == seat->group;)
			next++;
		if (several[seat->group])
			judge_port(r, seat, next - i);
	}
}

/* --- switches and the links between them --- */

static void count_links(const struct fabric *f, struct rail_totals *totals)
{
	for (uint32_t n = 0; n < f->node_count; n++)
		totals->switches += f->nodes[n].type == FABRIC_SWITCH;
	for (uint32_t i = 0; i < f->link_count; i++) {
		uint32_t port = f->links[i].a;
		struct link_state state = {.width_active = f->ports[port].told_width, .speed_active = f->ports[port].told_speed};

		if (fabric_port_node(f, port)->type != FABRIC_SWITCH || fabric_port_node(f, f->links[i].b)->type != FABRIC_SWITCH)
			continue;
		totals->links++;
		if (!f->ports[port].known || link_decode(f, port, &state))
			totals->links_gbps += link_gbps(state.width_active, state.speed_active);
	}
}

static bool tell_totals(const struct rails *r, const char *what, const uint64_t *values, const bool *have, const char *unit)
{
	uint64_t reference = 0;
	bool told = false;

	if (!rails_reference(r, values, have, &reference))
		return false;
	for (size_t i = 0; i < r->count; i++) {
		struct finding *f;

		if (!have[i] || values[i] == reference)
			continue;
		told = true;
		f = finding_add(r->findings, FINDING_RAIL_UNEQUAL);
		finding_set(&f->fabric, "%s", r->items[i].name);
		finding_set(&f->what, "rail %s, %s", r->items[i].name, what);
		finding_set(&f->wanted, "%llu%s", (unsigned long long)reference, unit);
		finding_set(&f->got, "%llu%s", (unsigned long long)values[i], unit);
	}
	return told;
}

void rails_links(const struct rails *r, struct rail_totals *totals)
{
	uint64_t switches[RAILS_MAX] = {0}, links[RAILS_MAX] = {0}, gbps[RAILS_MAX] = {0};
	bool have[RAILS_MAX] = {false};

	for (size_t i = 0; i < r->count; i++) {
		count_links(r->items[i].fabric, &totals[i]);
		have[i] = !r->left[i];
		switches[i] = totals[i].switches;
		links[i] = totals[i].links;
		gbps[i] = (uint64_t)(totals[i].links_gbps + 0.5);
	}
	tell_totals(r, "switches", switches, have, "");
	if (!tell_totals(r, "links between switches", links, have, ""))
		tell_totals(r, "all links between switches", gbps, have, " Gb/s");
}
