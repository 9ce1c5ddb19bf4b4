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

/* The name of the host that is likely missing at an empty port; false: none can be told. */
static bool guess(const struct site *site, const struct names *names, uint32_t node, unsigned port, char *name, size_t size)
{
	return left_out(site, names, seats_next_host(site, node, port, -1), 1, name, size) ||
	       left_out(site, names, seats_next_host(site, node, port, 1), -1, name, size);
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

static int find_holes(const struct site *site, const struct names *names, uint32_t node, uint32_t *vacant,
		      struct holes *holes)
{
	const struct fabric *f = site->fabric;

	for (unsigned p = 1; p <= f->nodes[node].ports; p++) {
		struct hole *items, hole = {.node = node, .port = p};
		struct host_name beside;
		uint32_t below, above;
		bool named;

		if (f->ports[f->nodes[node].first_port + p].peer != FABRIC_NONE)
			continue;
		below = seats_next_host(site, node, p, -1);
		above = seats_next_host(site, node, p, 1);
		if (below == FABRIC_NONE && above == FABRIC_NONE)
			continue;
		named = guess(site, names, node, p, hole.name, sizeof(hole.name));
		if (!named)
			hole.name[0] = '\0';
		if (host_name_read(f->nodes[below != FABRIC_NONE ? below : above].name, &beside))
			memcpy(hole.beside, beside.host, sizeof(hole.beside));
		if ((!named && (below == FABRIC_NONE || above == FABRIC_NONE)) || !hosts_elsewhere(site, names, &hole))
			continue;
		if (!named && !may_lack(site, names, &hole))
			continue;
		if (!named && vacant[node] > 0) {
			vacant[node]--;
			continue;
		}
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

	if (holes->count > 0)
		qsort(holes->items, holes->count, sizeof(*holes->items), by_hole);
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

/* vacant[node]: how many are elsewhere, as another finding says: so many empty ports without a name are theirs. */
static int missing_hosts(const struct site *site, uint32_t *vacant, struct finding_list *findings)
{
	struct holes holes = {0};
	struct names names;
	int ret = names_make(site, &names);

	for (uint32_t n = 0; ret == 0 && n < site->fabric->node_count; n++)
		if (site_is_switch(site, n) && site->level[n] == 0 && site->hosts[n] > 0)
			ret = find_holes(site, &names, n, vacant, &holes);
	if (ret == 0)
		tell_holes(site, &holes, findings);
	free(holes.items);
	names_clear(&names);
	return ret;
}

/* --- */

int siblings_hosts(const struct site *site, struct finding_list *findings)
{
	uint32_t *vacant = calloc((size_t)site->fabric->node_count + 1, sizeof(*vacant));
	struct seats seats;
	int ret = seats_new(site, &seats);

	if (!vacant)
		ret = -ENOMEM;
	if (ret == 0)
		ret = seats_by_rails(&seats);
	if (ret == 0)
		ret = seats_by_ranges(site, &seats);
	if (ret == 0) {
		seats_tell(site, &seats, vacant, findings);
		ret = missing_hosts(site, vacant, findings);
	}
	seats_free(&seats);
	free(vacant);
	return ret;
}
