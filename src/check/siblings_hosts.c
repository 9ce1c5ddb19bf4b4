/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: hosts that are missing among their neighbours.
 *
 * A leaf with fewer hosts than others may be meant so. A host is taken for missing only where its port is empty,
 * at least two thirds of the other leaves have a host at that port, and either hosts are at ports on both sides of it, or
 * the numbers in the hosts' names leave one out just there and nowhere in the fabric is a host of that number.
 */
#include "siblings_seats.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/link.h"
#include "place.h"

static uint32_t host_at(const struct site *site, uint32_t node, unsigned port)
{
	const struct fabric *f = site->fabric;
	uint32_t peer;

	if (port < 1 || port > f->nodes[node].ports)
		return FABRIC_NONE;
	peer = f->ports[f->nodes[node].first_port + port].peer;
	if (peer == FABRIC_NONE || site->kind[f->ports[peer].node] != KIND_HOST)
		return FABRIC_NONE;
	return f->ports[peer].node;
}

/* Hosts that differ in their number alone. */
struct kind {
	char stem[HOST_NAME_MAX_LENGTH];
	unsigned long low, high, count;
};

/* All hosts' names, sorted, to look up a number; and their kinds. */
struct names {
	char **items;
	size_t count;
	struct kind *kinds;
	size_t kind_count;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_stem(const void *a, const void *b)
{
	return strcmp(((const struct kind *)a)->stem, ((const struct kind *)b)->stem);
}

/* Kinds of hosts with the lowest and the highest number of each, and how many there are. */
static int find_kinds(struct names *names)
{
	size_t kept = 0, count = 0;

	names->kinds = calloc(names->count + 1, sizeof(*names->kinds));
	if (!names->kinds)
		return -ENOMEM;
	for (size_t i = 0; i < names->count; i++) {
		struct host_name name;

		if ((i > 0 && strcmp(names->items[i], names->items[i - 1]) == 0) || /* of several adapters */
		    !host_name_read(names->items[i], &name) || name.digits == 0)
			continue;
		memcpy(names->kinds[count].stem, name.stem, sizeof(name.stem));
		names->kinds[count].low = names->kinds[count].high = name.number;
		names->kinds[count++].count = 1;
	}
	if (count > 0)
		qsort(names->kinds, count, sizeof(*names->kinds), by_stem);
	for (size_t i = 0; i < count; i++) {
		struct kind *last = kept > 0 ? &names->kinds[kept - 1] : NULL;

		if (!last || strcmp(last->stem, names->kinds[i].stem) != 0) {
			names->kinds[kept++] = names->kinds[i];
			continue;
		}
		last->count++;
		if (names->kinds[i].low < last->low)
			last->low = names->kinds[i].low;
		if (names->kinds[i].high > last->high)
			last->high = names->kinds[i].high;
	}
	names->kind_count = kept;
	return 0;
}

static int names_make(const struct site *site, struct names *names)
{
	const struct fabric *f = site->fabric;

	*names = (struct names){.items = calloc((size_t)f->node_count + 1, sizeof(*names->items))};
	if (!names->items)
		return -ENOMEM;
	for (uint32_t n = 0; n < f->node_count; n++) {
		struct host_name name;

		if (site->kind[n] != KIND_HOST || !host_name_read(f->nodes[n].name, &name))
			continue;
		names->items[names->count] = strdup(name.host);
		if (!names->items[names->count])
			return -ENOMEM;
		names->count++;
	}
	qsort(names->items, names->count, sizeof(*names->items), by_text);
	return find_kinds(names);
}

static void names_clear(struct names *names)
{
	free(names->kinds);
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
}

static bool names_have(const struct names *names, const char *name)
{
	return bsearch(&name, names->items, names->count, sizeof(*names->items), by_text) != NULL;
}

/* The name left out after (step 1) or before (step -1) that of a host; false: none is, or it is the last. */
static bool left_out(const struct site *site, const struct names *names, uint32_t host, int step, char *name,
		     size_t size)
{
	struct host_name from;
	char beyond[HOST_NAME_MAX_LENGTH * 2];

	if (host == FABRIC_NONE || !host_name_read(site->fabric->nodes[host].name, &from) || from.digits == 0 ||
	    (step < 0 && from.number < 2))
		return false;
	host_name_beside(&from, step, name, size);
	host_name_beside(&from, 2 * step, beyond, sizeof(beyond));
	return !names_have(names, name) && names_have(names, beyond);
}

/* Whether a number between the lowest and the highest of a host's kind is nobody's; where it has no number, it may be. */
static bool has_gap(const struct names *names, const char *host)
{
	const struct kind *found;
	struct host_name name;
	struct kind key;

	if (!host_name_read(host, &name) || name.digits == 0)
		return true;
	memcpy(key.stem, name.stem, sizeof(key.stem));
	found = bsearch(&key, names->kinds, names->kind_count, sizeof(key), by_stem);
	return !found || found->count < SIBLINGS_LEAST || found->high - found->low + 1 > found->count;
}

/* --- empty ports of leaves --- */

struct hole {
	uint32_t node;
	unsigned port;
	char name[HOST_NAME_MAX_LENGTH * 2]; /* of the host that is likely missing; "" */
	char beside[HOST_NAME_MAX_LENGTH];	/* the host before it: with adapters on several leaves the same on each */
};

struct holes {
	struct hole *items;
	size_t count, room;
};

/* Between hosts on both sides, numbered in steps: "gpu-031" between gpu-029 and gpu-033. */
static bool left_between(const struct site *site, const struct names *names, uint32_t below, uint32_t above, char *name,
			 size_t size)
{
	struct host_name a, b;
	unsigned long middle;

	if (below == FABRIC_NONE || above == FABRIC_NONE || !host_name_read(site->fabric->nodes[below].name, &a) ||
	    !host_name_read(site->fabric->nodes[above].name, &b) || a.digits == 0 || b.digits == 0 ||
	    strcmp(a.stem, b.stem) != 0 || a.number == b.number || (a.number + b.number) % 2 != 0)
		return false;
	middle = (a.number + b.number) / 2;
	host_name_beside(&a, (int)((long)middle - (long)a.number), name, size);
	return !names_have(names, name);
}

/* The name of the host that is likely missing at an empty port; false: none can be told. */
static bool guess(const struct site *site, const struct names *names, uint32_t node, unsigned port, char *name, size_t size)
{
	uint32_t below = seats_next_host(site, node, port, -1), above = seats_next_host(site, node, port, 1);

	return left_out(site, names, below, 1, name, size) || left_out(site, names, above, -1, name, size) ||
	       left_between(site, names, below, above, name, size);
}

/*
 * Whether at least two thirds of the other leaves of a role have a host at this port; those that lack the same host, which
 * has an adapter on each, aside.
 */
static bool hosts_elsewhere(const struct site *site, const struct names *names, const struct hole *hole)
{
	uint32_t peers = 0, there = 0, hosts = 0;

	for (uint32_t n = 0; n < site->fabric->node_count; n++) {
		char name[sizeof(hole->name)];
		bool here;

		if (n == hole->node || site->role[n] != site->role[hole->node] || site->hosts[n] == 0)
			continue;
		here = host_at(site, n, hole->port) != FABRIC_NONE;
		if (!here && hole->name[0] && guess(site, names, n, hole->port, name, sizeof(name)) &&
		    strcmp(name, hole->name) == 0)
			continue;
		peers++;
		hosts += site->hosts[n];
		there += here;
	}
	/* one with less than half of what others have is no leaf as they are: storage on a spine */
	if (site->hosts[hole->node] * 2 * peers < hosts)
		return false;
	return peers + 1 >= SIBLINGS_LEAST && there * 3 >= peers * 2;
}

/* Of hosts at this port of the others: whether most are of kinds that somebody may be missing from. */
static bool may_lack(const struct site *site, const struct names *names, const struct hole *hole)
{
	uint32_t hosts = 0, lacking = 0;

	for (uint32_t n = 0; n < site->fabric->node_count; n++) {
		uint32_t host = FABRIC_NONE;

		if (n != hole->node && site->role[n] == site->role[hole->node] && site->hosts[n] > 0)
			host = host_at(site, n, hole->port);
		if (host == FABRIC_NONE)
			continue;
		hosts++;
		lacking += has_gap(names, site->fabric->nodes[host].name);
	}
	return lacking * 2 > hosts;
}

#define FULL_LEAST 8

/* Whether each other leaf, eight at least, has a host at this port and more hosts than this one. */
static bool only_one(const struct site *site, const struct hole *hole)
{
	uint32_t peers = 0;

	for (uint32_t n = 0; n < site->fabric->node_count; n++) {
		if (n == hole->node || site->role[n] != site->role[hole->node] || site->hosts[n] == 0)
			continue;
		if (host_at(site, n, hole->port) == FABRIC_NONE || site->hosts[n] <= site->hosts[hole->node])
			return false;
		peers++;
	}
	return peers >= FULL_LEAST;
}

static bool is_up(const struct fabric_port *port)
{
	return port->known && fabric_port_phys_state(port) == FABRIC_PHYS_LINK_UP;
}

static int find_holes(const struct site *site, const struct names *names, uint32_t node, struct holes *holes)
{
	const struct fabric *f = site->fabric;

	for (unsigned p = 1; p <= f->nodes[node].ports; p++) {
		struct hole *items, hole = {.node = node, .port = p};
		struct host_name beside;
		uint32_t below, above;

		if (f->ports[f->nodes[node].first_port + p].peer != FABRIC_NONE ||
		    is_up(&f->ports[f->nodes[node].first_port + p])) /* something is there that does not answer: a gap, told already */
			continue;
		below = seats_next_host(site, node, p, -1);
		above = seats_next_host(site, node, p, 1);
		if (below == FABRIC_NONE && above == FABRIC_NONE)
			continue;
		if (!guess(site, names, node, p, hole.name, sizeof(hole.name)))
			hole.name[0] = '\0';
		if (host_name_read(f->nodes[below != FABRIC_NONE ? below : above].name, &beside))
			memcpy(hole.beside, beside.host, sizeof(hole.beside));
		if (!hole.name[0] && (below == FABRIC_NONE || above == FABRIC_NONE) && !only_one(site, &hole))
			continue;
		if (!hosts_elsewhere(site, names, &hole))
			continue;
		items = array_grow(holes->items, &holes->room, holes->count + 1, sizeof(*items));
		if (!items)
			return -ENOMEM;
		holes->items = items;
		items[holes->count++] = hole;
	}
	return 0;
}

static int by_hole(const void *a, const void *b)
{
	const struct hole *x = a, *y = b;
	int names = strcmp(x->name, y->name);

	if (names == 0 && !x->name[0])
		names = strcmp(x->beside, y->beside);
	if (names != 0)
		return names;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->port < y->port ? -1 : x->port > y->port;
}

/* One finding a host that has a name; of those without, one for all beside the same host. */
static void tell_holes(const struct site *site, struct holes *holes, struct finding_list *findings)
{
	const struct fabric *f = site->fabric;

	for (size_t i = 0, next; i < holes->count; i = next) {
		const struct hole *hole = &holes->items[i];
		struct finding *told = finding_add(findings, FINDING_SIBLING_HOST_MISSING);

		place_port(told, f, f->nodes[hole->node].first_port + hole->port);
		finding_set(&told->what, "%s", hole->name[0] ? hole->name : "host");
		finding_set(&told->wanted, "a host, as on this port of most other switches");
		finding_set(&told->got, "no link");
		for (next = i + 1; next < holes->count; next++) {
			const struct hole *other = &holes->items[next];

			if (strcmp(other->name, hole->name) != 0 || (!hole->name[0] && strcmp(other->beside, hole->beside) != 0))
				break;
			finding_append(&told->detail, "also %s[%u]", f->nodes[other->node].name ? f->nodes[other->node].name : "",
				       other->port);
		}
	}
}

/* Those that have been named are no gap in their kinds any more. */
static void close_gaps(struct names *names, const struct holes *holes)
{
	for (size_t i = 0; i < holes->count; i++) {
		const struct hole *hole = &holes->items[i];
		struct host_name name;
		struct kind key, *kind;

		if (!hole->name[0] || (i > 0 && strcmp(hole->name, holes->items[i - 1].name) == 0) ||
		    !host_name_read(hole->name, &name))
			continue;
		memcpy(key.stem, name.stem, sizeof(key.stem));
		kind = bsearch(&key, names->kinds, names->kind_count, sizeof(key), by_stem);
		if (kind)
			kind->count++;
	}
}

/* How many numbers are nobody's, of all kinds; where most hosts are of no kind there is no end. */
static unsigned long count_gaps(const struct names *names)
{
	unsigned long gaps = 0, hosts = 0, numbered = 0;

	for (size_t i = 0; i < names->count; i++)
		hosts += i == 0 || strcmp(names->items[i], names->items[i - 1]) != 0;
	for (size_t i = 0; i < names->kind_count; i++) {
		const struct kind *kind = &names->kinds[i];

		if (kind->count < SIBLINGS_LEAST)
			continue;
		numbered += kind->count;
		gaps += kind->high - kind->low + 1 - kind->count;
	}
	return numbered * 2 >= hosts ? gaps : ULONG_MAX;
}

/* Those without a name, of several leaves beside the same host once. They are in order. */
static unsigned long count_nameless(const struct holes *holes)
{
	unsigned long count = 0;

	for (size_t i = 0; i < holes->count && !holes->items[i].name[0]; i++)
		count += i == 0 || strcmp(holes->items[i].beside, holes->items[i - 1].beside) != 0;
	return count;
}

/*
 * Keeps those without a name only where nothing else explains them: a host that is elsewhere, a kind that lacks nobody; and
 * not more than there are numbers for.
 */
static void drop_explained(struct site *site, struct names *names, struct holes *holes)
{
	size_t kept = 0;
	bool none;

	if (holes->count > 0)
		qsort(holes->items, holes->count, sizeof(*holes->items), by_hole);
	close_gaps(names, holes);
	for (size_t i = 0; i < holes->count; i++) {
		const struct hole *hole = &holes->items[i];

		if (hole->name[0] || (may_lack(site, names, hole) && site->astray[hole->node] <= 0))
			holes->items[kept++] = *hole;
	}
	holes->count = kept;
	none = count_nameless(holes) > count_gaps(names);
	kept = 0;
	for (size_t i = 0; i < holes->count; i++)
		if (holes->items[i].name[0] || !none)
			holes->items[kept++] = holes->items[i];
	holes->count = kept;
	for (size_t i = 0; i < kept; i++)
		site->astray[holes->items[i].node]++;
}

static int missing_hosts(struct site *site, struct finding_list *findings)
{
	struct holes holes = {0};
	struct names names;
	int ret = names_make(site, &names);

	for (uint32_t n = 0; ret == 0 && n < site->fabric->node_count; n++)
		if (site_is_switch(site, n) && site->level[n] == 0 && site->hosts[n] > 0)
			ret = find_holes(site, &names, n, &holes);
	if (ret == 0) {
		drop_explained(site, &names, &holes);
		tell_holes(site, &holes, findings);
	}
	free(holes.items);
	names_clear(&names);
	return ret;
}

/* --- */

int siblings_hosts(struct site *site, struct finding_list *findings)
{
	struct seats seats;
	int ret = seats_new(site, &seats);

	if (ret == 0)
		ret = seats_by_rails(&seats);
	if (ret == 0)
		ret = seats_by_ranges(site, &seats);
	if (ret == 0) {
		seats_tell(site, &seats, site->astray, findings);
		ret = missing_hosts(site, findings);
	}
	seats_free(&seats);
	return ret;
}
