/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: tells adapters that are on another switch than they belong: all of one host as one finding, two that are where
 * the other belongs as exchanged.
 */
#include <stdlib.h>
#include <string.h>

#include "place.h"
#include "siblings_seats.h"

static bool is_odd(const struct seat *seat)
{
	return seat->belongs != FABRIC_NONE && seat->belongs != seat->leaf;
}

/* Whether a host's number is `step` away from another's of its kind. */
static bool is_beside(const struct site *site, uint32_t host, const struct host_name *name, int step)
{
	struct host_name other;

	return host != FABRIC_NONE && name->digits > 0 && host_name_read(site->fabric->nodes[host].name, &other) &&
	       other.digits > 0 && strcmp(other.stem, name->stem) == 0 &&
	       other.number == name->number + (unsigned long)(long)step;
}

/*
 * The empty port of the switch where it belongs that is next to the hosts of the number before or after, in the only row
 * of empty ports that is; 0: none.
 */
static unsigned empty_seat(const struct site *site, const struct seat *seat)
{
	const struct fabric *f = site->fabric;
	const struct fabric_node *node = &f->nodes[seat->belongs];
	unsigned found = 0, last = 0;

	for (unsigned p = 1; p <= node->ports; p++) {
		bool after, before;

		if (f->ports[node->first_port + p].peer != FABRIC_NONE)
			continue;
		after = is_beside(site, seats_next_host(site, seat->belongs, p, -1), &seat->name, -1);
		before = is_beside(site, seats_next_host(site, seat->belongs, p, 1), &seat->name, 1);
		if (!after && !before)
			continue;
		if (found && p != last + 1)
			return 0;
		if (!found || !after)
			found = p;
		last = p;
	}
	return found;
}

static struct finding *place(const struct site *site, const struct seat *seat, struct finding_list *findings)
{
	struct finding *f = finding_add(findings, seat->by_rail ? FINDING_SIBLING_RAIL : FINDING_SIBLING_HOST_MOVED);

	place_port(f, site->fabric, seat->port);
	return f;
}

/* The other end of an exchange: where this one belongs, and belongs where this one is; `alike`: the same adapter of its host. */
static struct seat *find_other(struct seats *seats, size_t at, bool alike)
{
	const struct seat *seat = &seats->items[at];
	struct seat *found = NULL;

	for (size_t i = 0; i < seats->count; i++) {
		struct seat *other = &seats->items[i];

		if (i == at || !is_odd(other) || other->leaf != seat->belongs || other->belongs != seat->leaf ||
		    (alike ? strcmp(other->name.device, seat->name.device) != 0 || other->number != seat->number :
			     strcmp(other->name.host, seat->name.host) == 0))
			continue;
		if (found)
			return NULL; /* several: who stands in for whom is not known */
		found = other;
	}
	return found;
}

static void tell_exchanged(const struct site *site, struct seat *a, struct seat *b, struct finding_list *findings)
{
	struct finding *f = place(site, a, findings);
	const struct fabric *fabric = site->fabric;
	const char *x = fabric_port_node(fabric, a->port)->name, *y = fabric_port_node(fabric, b->port)->name;
	char here[FABRIC_TEXT], there[FABRIC_TEXT];

	fabric_port_text(fabric, fabric->ports[a->port].peer, here, sizeof(here));
	fabric_port_text(fabric, fabric->ports[b->port].peer, there, sizeof(there));
	finding_set(&f->what, "two cables, exchanged");
	finding_set(&f->wanted, "%s on %s, %s on %s", x, there, y, here);
	finding_set(&f->got, "%s on %s, %s on %s", x, here, y, there);
	a->belongs = b->belongs = FABRIC_NONE;
}

static const char *label_of(const struct seat *seat)
{
	return seat->name.device[0] ? seat->name.device : seat->name.host;
}

/* Adapters of one host, from the first that is odd. */
static void tell_host(const struct site *site, struct seat *seats, size_t count, int32_t *astray,
		      struct finding_list *findings)
{
	struct finding *f = NULL;

	for (size_t i = 0; i < count; i++) {
		struct seat *seat = &seats[i];
		unsigned port;

		if (!is_odd(seat))
			continue;
		astray[seat->belongs]++;
		astray[seat->leaf]--;
		if (f) {
			finding_append(&f->detail, "%s on %s, not %s", label_of(seat), site_label(site, seat->leaf),
				       site_label(site, seat->belongs));
			continue;
		}
		port = empty_seat(site, seat);
		f = place(site, seat, findings);
		finding_set(&f->what, "%s", seat->name.host);
		if (port)
			finding_set(&f->wanted, "%s on %s[%u]", label_of(seat), site_label(site, seat->belongs), port);
		else
			finding_set(&f->wanted, "%s on %s", label_of(seat), site_label(site, seat->belongs));
		finding_set(&f->got, "%s on %s", label_of(seat), site_label(site, seat->leaf));
	}
}

void seats_tell(const struct site *site, struct seats *seats, int32_t *astray, struct finding_list *findings)
{
	seats_sort(seats);
	for (size_t i = 0; i < seats->count; i++) {
		struct seat *other = is_odd(&seats->items[i]) ? find_other(seats, i, true) : NULL;

		if (!other && is_odd(&seats->items[i]))
			other = find_other(seats, i, false);
		if (other)
			tell_exchanged(site, &seats->items[i], other, findings);
	}
	for (size_t i = 0, next; i < seats->count; i = next) {
		for (next = i + 1; next < seats->count &&
				   strcmp(seats->items[next].name.host, seats->items[i].name.host) == 0;)
			next++;
		tell_host(site, &seats->items[i], next - i, astray, findings);
	}
}
