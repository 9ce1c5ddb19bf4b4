/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rails: adapters of all rails put in order of their hosts. A host is known by the first word of its adapters' names, an adapter
 * by the second one; where that tells nothing, by the system image GUID that it has in common with an adapter whose host is known.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/link.h"
#include "place.h"
#include "rails.h"

#define ALIKE_MOST 16 /* adapters without a name of their own that one host has in a rail, at most */

static int compare_name(const struct host_name *x, const struct host_name *y)
{
	int c = strcmp(x->stem, y->stem);

	if (c != 0)
		return c;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return strcmp(x->host, y->host);
}

static int compare_place(const struct rail_seat *x, const struct rail_seat *y)
{
	int c;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	c = strcmp(x->name.device, y->name.device);
	if (c != 0)
		return c;
	return (x->number > y->number) - (x->number < y->number);
}

static int by_host(const void *a, const void *b)
{
	const struct rail_seat *x = a, *y = b;
	int c;

	if (x->named != y->named)
		return x->named ? -1 : 1;
	c = x->named ? compare_name(&x->name, &y->name) : 0;
	if (c == 0)
		c = compare_place(x, y);
	if (c != 0)
		return c;
	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return (x->rail > y->rail) - (x->rail < y->rail);
}

static void sort(struct rails *r)
{
	if (r->seat_count > 0)
		qsort(r->seats, r->seat_count, sizeof(*r->seats), by_host);
}

/* A name is a host's and perhaps an adapter's: two words at most. What adapters say of themselves by default has more. */
static bool read_name(const char *name, struct host_name *out)
{
	return name && strncmp(name, "0x", 2) != 0 && host_name_read(name, out) && !strpbrk(out->device, " \t") &&
	       (out->device[0] || !strchr(name, ' '));
}

static uint32_t rate_of(const struct fabric *f, uint32_t port)
{
	struct link_state state = {.width_active = f->ports[port].told_width, .speed_active = f->ports[port].told_speed};

	if (f->ports[port].known && !link_decode(f, port, &state))
		return 0;
	return (uint32_t)(link_gbps(state.width_active, state.speed_active) * 1000 + 0.5);
}

static bool is_seat(const struct fabric *f, uint32_t port)
{
	const struct fabric_node *node = fabric_port_node(f, port);

	return node->type == FABRIC_CA && !fabric_node_is_aggregation(node) && f->ports[port].peer != FABRIC_NONE;
}

static size_t add_rail(struct rails *r, size_t rail, struct rail_seat *to)
{
	const struct fabric *f = r->items[rail].fabric;
	size_t count = 0;

	for (uint32_t p = 0; p < f->port_count; p++) {
		const struct fabric_node *node = fabric_port_node(f, p);
		struct rail_seat *seat = to ? &to[count] : NULL;

		if (!is_seat(f, p))
			continue;
		count++;
		if (!seat)
			continue;
		*seat = (struct rail_seat){.rail = (uint8_t)rail,
					   .group = r->group[rail],
					   .belongs = RAIL_NONE,
					   .number = f->ports[p].number,
					   .port = p,
					   .guid = node->guid,
					   .system_guid = node->system_guid,
					   .rate = rate_of(f, p)};
		seat->named = read_name(node->name, &seat->name);
		if (!seat->named)
			seat->name = (struct host_name){.device = ""};
	}
	return count;
}

/* Adapters of one rail that have one name tell nothing: two devices cannot be the same adapter of a host. */
static void drop_doubtful(struct rails *r)
{
	for (size_t i = 0, next; i < r->seat_count; i = next) {
		struct rail_seat *first = &r->seats[i];
		bool several = false;
		size_t most;

		for (next = i + 1; next < r->seat_count && first->named && r->seats[next].named &&
				   compare_name(&first->name, &r->seats[next].name) == 0 &&
				   compare_place(first, &r->seats[next]) == 0;
		     next++)
			several |= r->seats[next].guid != r->seats[next - 1].guid;
		most = first->name.device[0] ? 1 : ALIKE_MOST;
		if (!several || next - i <= most)
			continue;
		for (size_t n = i; n < next; n++) {
			r->seats[n].named = false;
			r->seats[n].name = (struct host_name){.device = ""};
		}
	}
}

/* --- adapters without a name, by the card that they are on --- */

static int by_card(const void *a, const void *b)
{
	const struct rail_seat *x = *(const struct rail_seat *const *)a, *y = *(const struct rail_seat *const *)b;

	if (x->system_guid != y->system_guid)
		return x->system_guid < y->system_guid ? -1 : 1;
	if (x->named != y->named)
		return x->named ? -1 : 1;
	return x->named ? compare_name(&x->name, &y->name) : 0;
}

/* Of one card: those without a name take that of the others, if that is one. */
static void adopt(struct rail_seat **seats, size_t count)
{
	size_t named = 0;

	while (named < count && seats[named]->named)
		named++;
	if (named == 0 || seats[0]->system_guid == 0 || compare_name(&seats[0]->name, &seats[named - 1]->name) != 0)
		return;
	for (size_t i = named; i < count; i++) {
		seats[i]->name = seats[0]->name;
		seats[i]->name.device = "";
		seats[i]->named = true;
	}
}

static int name_by_cards(struct rails *r)
{
	struct rail_seat **cards = calloc(r->seat_count + 1, sizeof(struct rail_seat *));
	size_t first = 0;

	if (!cards)
		return -ENOMEM;
	for (size_t i = 0; i < r->seat_count; i++)
		cards[i] = &r->seats[i];
	if (r->seat_count > 0)
		qsort(cards, r->seat_count, sizeof(struct rail_seat *), by_card);
	for (size_t i = 1; i <= r->seat_count && r->seat_count > 0; i++) {
		if (i < r->seat_count && cards[i]->system_guid == cards[first]->system_guid)
			continue;
		adopt(&cards[first], i - first);
		first = i;
	}
	free(cards);
	return 0;
}

/* --- hosts --- */

static int make_hosts(struct rails *r)
{
	r->hosts = calloc(r->named_count + 1, sizeof(*r->hosts));
	if (!r->hosts)
		return -ENOMEM;
	for (size_t i = 0, next; i < r->named_count; i = next) {
		struct rail_host *host = &r->hosts[r->host_count++];

		host->first = i;
		for (next = i; next < r->named_count && compare_name(&r->seats[i].name, &r->seats[next].name) == 0; next++)
			host->present |= (uint64_t)1 << r->seats[next].group;
		host->count = next - i;
	}
	return 0;
}

static int by_port(const void *a, const void *b)
{
	const struct rail_seat *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->named != y->named)
		return x->named ? -1 : 1;
	return (x->rail > y->rail) - (x->rail < y->rail);
}

/* Of a port in several planes one seat stays, one with a name if there is one. */
static void one_a_port(struct rails *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->seat_count; i++) {
		const struct rail_seat *last = kept > 0 ? &r->seats[kept - 1] : NULL, *seat = &r->seats[i];

		if (last && last->group == seat->group && last->guid == seat->guid && last->number == seat->number)
			continue;
		r->seats[kept++] = *seat;
	}
	r->seat_count = kept;
}

static void tell_unknown(const struct rails *r)
{
	for (size_t i = r->named_count, next; i < r->seat_count; i = next) {
		const struct rail_seat *seat = &r->seats[i];
		struct finding *f = finding_add(r->findings, FINDING_RAIL_HOST_UNKNOWN);

		for (next = i; next < r->seat_count && r->seats[next].group == seat->group;)
			next++;
		seat_place(f, r, seat);
		finding_set(&f->fabric, "%s", r->items[seat->group].name);
		finding_set(&f->what, "rail %s", r->items[seat->group].name);
		finding_set(&f->got, "%zu adapter%s whose name tells no host", next - i, next - i > 1 ? "s, this one the first," : "");
	}
}

int rails_gather(struct rails *r)
{
	size_t count = 0;
	int error;

	for (size_t i = 0; i < r->count; i++)
		count += r->left[i] ? 0 : add_rail(r, i, NULL);
	r->seats = calloc(count + 1, sizeof(*r->seats));
	if (!r->seats)
		return -ENOMEM;
	for (size_t i = 0; i < r->count; i++)
		r->seat_count += r->left[i] ? 0 : add_rail(r, i, &r->seats[r->seat_count]);
	if (r->seat_count > 0)
		qsort(r->seats, r->seat_count, sizeof(*r->seats), by_port);
	rails_planes(r);
	one_a_port(r);
	sort(r);
	drop_doubtful(r);
	error = name_by_cards(r);
	if (error != 0)
		return error;
	sort(r);
	while (r->named_count < r->seat_count && r->seats[r->named_count].named)
		r->named_count++;
	tell_unknown(r);
	r->result->adapters = (uint32_t)r->seat_count;
	r->result->adapters_unknown = (uint32_t)(r->seat_count - r->named_count);
	return make_hosts(r);
}

const char *seat_text(const struct rails *r, const struct rail_seat *seat, char text[FABRIC_TEXT])
{
	const struct fabric_node *node = fabric_port_node(seat_fabric(r, seat), seat->port);

	if (!seat->name.device[0])
		return fabric_port_text(seat_fabric(r, seat), seat->port, text, FABRIC_TEXT);
	if (node->ports > 1)
		snprintf(text, FABRIC_TEXT, "%.64s[%u]", seat->name.device, seat->number);
	else
		snprintf(text, FABRIC_TEXT, "%.64s", seat->name.device);
	return text;
}

void seat_place(struct finding *f, const struct rails *r, const struct rail_seat *seat)
{
	place_port(f, seat_fabric(r, seat), seat->port);
}
