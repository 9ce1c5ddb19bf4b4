/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: hosts that are missing among their neighbours, and adapters on another rail's switch.
 *
 * A leaf with fewer hosts than others may be meant so. A host is taken for missing only where its port is empty,
 * at least two thirds of the other leaves have a host at that port, and either hosts are at ports on both sides of it, or
 * the numbers in the hosts' names leave one out just there and nowhere in the fabric is a host of that number.
 */
#include "siblings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/link.h"
#include "place.h"

#define NAME_MAX_LENGTH 64

/* "gpu-001 mlx5_3": host "gpu-001", device "mlx5_3"; of the host the part before its last number, and the number. */
struct host_name {
	char host[NAME_MAX_LENGTH], stem[NAME_MAX_LENGTH];
	unsigned digits;
	unsigned long number;
	const char *device;
};

static bool parse_name(const char *name, struct host_name *out)
{
	size_t length = name ? strcspn(name, " /:") : 0, stem;

	if (length == 0 || length >= NAME_MAX_LENGTH)
		return false;
	memcpy(out->host, name, length);
	out->host[length] = '\0';
	out->device = name[length] ? name + length + 1 : "";
	for (stem = length; stem > 0 && isdigit((unsigned char)name[stem - 1]);)
		stem--;
	if (stem == length || length - stem > 9) {
		out->digits = 0;
		return true;
	}
	memcpy(out->stem, name, stem);
	out->stem[stem] = '\0';
	out->digits = (unsigned)(length - stem);
	out->number = strtoul(out->host + stem, NULL, 10);
	return true;
}

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

/* All hosts' names, sorted, to look up a number. */
struct names {
	char **items;
	size_t count;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int names_make(const struct site *site, struct names *names)
{
	const struct fabric *f = site->fabric;

	*names = (struct names){.items = calloc((size_t)f->node_count + 1, sizeof(*names->items))};
	if (!names->items)
		return -ENOMEM;
	for (uint32_t n = 0; n < f->node_count; n++) {
		struct host_name name;

		if (site->kind[n] != KIND_HOST || !parse_name(f->nodes[n].name, &name))
			continue;
		names->items[names->count] = strdup(name.host);
		if (!names->items[names->count])
			return -ENOMEM;
		names->count++;
	}
	qsort(names->items, names->count, sizeof(*names->items), by_text);
	return 0;
}

static void names_clear(struct names *names)
{
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
	char beyond[NAME_MAX_LENGTH * 2];

	if (host == FABRIC_NONE || !parse_name(site->fabric->nodes[host].name, &from) || from.digits == 0 ||
	    (step < 0 && from.number < 2))
		return false;
	snprintf(name, size, "%s%0*lu", from.stem, (int)from.digits, from.number + (unsigned long)(long)step);
	snprintf(beyond, sizeof(beyond), "%s%0*lu", from.stem, (int)from.digits,
		 from.number + 2 * (unsigned long)(long)step);
	return !names_have(names, name) && names_have(names, beyond);
}

/* --- empty ports of leaves --- */

struct hole {
	uint32_t node;
	unsigned port;
	char name[NAME_MAX_LENGTH * 2]; /* of the host that is likely missing; "" */
	char beside[NAME_MAX_LENGTH];	/* the host before it: with adapters on several leaves the same on each */
};

struct holes {
	struct hole *items;
	size_t count, room;
};

/* The nearest host at a port below (step -1) or above (step 1), over empty ports only: another host may be gone as well. */
static uint32_t next_host(const struct site *site, uint32_t node, unsigned port, int step)
{
	const struct fabric *f = site->fabric;

	for (int p = (int)port + step; p >= 1 && p <= f->nodes[node].ports; p += step) {
		uint32_t peer = f->ports[f->nodes[node].first_port + (unsigned)p].peer;

		if (peer != FABRIC_NONE)
			return site->kind[f->ports[peer].node] == KIND_HOST ? f->ports[peer].node : FABRIC_NONE;
	}
	return FABRIC_NONE;
}

/* The name of the host that is likely missing at an empty port; false: none can be told. */
static bool guess(const struct site *site, const struct names *names, uint32_t node, unsigned port, char *name, size_t size)
{
	return left_out(site, names, next_host(site, node, port, -1), 1, name, size) ||
	       left_out(site, names, next_host(site, node, port, 1), -1, name, size);
}

/*
 * Whether at least two thirds of the other leaves of a role have a host at this port; those that lack the same host, which
 * has an adapter on each, aside.
 */
static bool hosts_elsewhere(const struct site *site, const struct names *names, const struct hole *hole)
{
	uint32_t peers = 0, there = 0;

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
		there += here;
	}
	return peers + 1 >= SIBLINGS_LEAST && there * 3 >= peers * 2;
}

static int find_holes(const struct site *site, const struct names *names, uint32_t node, struct holes *holes)
{
	const struct fabric *f = site->fabric;

	for (unsigned p = 1; p <= f->nodes[node].ports; p++) {
		struct hole *items, hole = {.node = node, .port = p};
		struct host_name beside;
		uint32_t below, above;
		bool named;

		if (f->ports[f->nodes[node].first_port + p].peer != FABRIC_NONE)
			continue;
		below = next_host(site, node, p, -1);
		above = next_host(site, node, p, 1);
		if (below == FABRIC_NONE && above == FABRIC_NONE)
			continue;
		named = guess(site, names, node, p, hole.name, sizeof(hole.name));
		if (!named)
			hole.name[0] = '\0';
		if (parse_name(f->nodes[below != FABRIC_NONE ? below : above].name, &beside))
			memcpy(hole.beside, beside.host, sizeof(hole.beside));
		if ((!named && (below == FABRIC_NONE || above == FABRIC_NONE)) || !hosts_elsewhere(site, names, &hole))
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

static int missing_hosts(const struct site *site, struct finding_list *findings)
{
	struct holes holes = {0};
	struct names names;
	int ret = names_make(site, &names);

	for (uint32_t n = 0; ret == 0 && n < site->fabric->node_count; n++)
		if (site_is_switch(site, n) && site->level[n] == 0 && site->hosts[n] > 0)
			ret = find_holes(site, &names, n, &holes);
	if (ret == 0)
		tell_holes(site, &holes, findings);
	free(holes.items);
	names_clear(&names);
	return ret;
}

/* --- rails --- */

/* An adapter's port on a switch. */
struct seat {
	char host[NAME_MAX_LENGTH];
	const char *device; /* with the port of a two-port adapter it is the rail */
	unsigned number;
	uint32_t leaf, port;
	uint64_t leaves; /* of the whole host: a number that hosts on the same switches share */
};

static int by_host(const void *a, const void *b)
{
	const struct seat *x = a, *y = b;
	int c = strcmp(x->host, y->host);

	if (c == 0)
		c = strcmp(x->device, y->device);
	return c ? c : x->number < y->number ? -1 : x->number > y->number;
}

static int by_rail(const void *a, const void *b)
{
	const struct seat *x = a, *y = b;
	int c;

	if (x->leaves != y->leaves)
		return x->leaves < y->leaves ? -1 : 1;
	c = strcmp(x->device, y->device);
	if (c == 0 && x->number != y->number)
		c = x->number < y->number ? -1 : 1;
	return c ? c : strcmp(x->host, y->host);
}

static size_t find_seats(const struct site *site, struct seat *seats)
{
	const struct fabric *f = site->fabric;
	size_t count = 0;

	for (uint32_t i = 0; i < f->link_count; i++)
		for (int end = 0; end < 2; end++) {
			uint32_t port = end ? f->links[i].b : f->links[i].a, peer = end ? f->links[i].a : f->links[i].b;
			uint32_t node = f->ports[port].node, leaf = f->ports[peer].node;
			struct host_name name;

			if (site->kind[node] != KIND_HOST || !site_is_switch(site, leaf) ||
			    !parse_name(f->nodes[node].name, &name) || !name.device[0])
				continue;
			seats[count] = (struct seat){.device = name.device, .number = f->ports[port].number, .leaf = leaf,
						     .port = port};
			memcpy(seats[count].host, name.host, sizeof(name.host));
			count++;
		}
	return count;
}

/* Gives each host the number of its set of switches; hosts with adapters on one switch only have none (0). */
static void mark_sets(struct seat *seats, size_t count)
{
	for (size_t i = 0, next; i < count; i = next) {
		uint64_t set = 0;
		bool several = false;

		for (next = i; next < count && strcmp(seats[next].host, seats[i].host) == 0; next++) {
			/* a sum, so that the order does not matter; spread, so that sums do not meet */
			uint64_t spread = (uint64_t)(seats[next].leaf + 1) * 0x9e3779b97f4a7c15u;

			set += spread ^ spread >> 29;
			several |= seats[next].leaf != seats[i].leaf;
		}
		for (size_t n = i; n < next; n++)
			seats[n].leaves = several ? set : 0;
	}
}

static void tell_rail(const struct site *site, const struct seat *seat, uint32_t leaf, struct finding_list *findings)
{
	const struct fabric *f = site->fabric;
	struct finding *told;

	/* a host whose adapters are exchanged is one finding, at the first of them */
	for (size_t i = 0; i < findings->count; i++) {
		struct finding *before = &findings->items[i];

		if (before->code != FINDING_SIBLING_RAIL || !before->what || strcmp(before->what, seat->host) != 0)
			continue;
		finding_append(&before->detail, "%s on %s, not %s", seat->device, f->nodes[seat->leaf].name, f->nodes[leaf].name);
		return;
	}
	told = finding_add(findings, FINDING_SIBLING_RAIL);
	place_port(told, f, seat->port);
	finding_set(&told->what, "%s", seat->host);
	finding_set(&told->wanted, "%s on %s", seat->device, f->nodes[leaf].name);
	finding_set(&told->got, "%s on %s", seat->device, f->nodes[seat->leaf].name);
}

/* Seats of one rail of hosts on the same switches. */
static void compare_rail(const struct site *site, const struct seat *seats, size_t count, uint32_t *values,
			 struct finding_list *findings)
{
	uint32_t usual;

	for (size_t i = 0; i < count; i++)
		values[i] = seats[i].leaf;
	if (seats->leaves == 0 || !site_usual(values, count, &usual))
		return;
	for (size_t i = 0; i < count; i++)
		if (seats[i].leaf != usual)
			tell_rail(site, &seats[i], usual, findings);
}

static int rails(const struct site *site, struct finding_list *findings)
{
	size_t room = 2 * (size_t)site->fabric->link_count + 1, count, first = 0;
	struct seat *seats = calloc(room, sizeof(*seats));
	uint32_t *values = calloc(room, sizeof(*values));
	int ret = seats && values ? 0 : -ENOMEM;

	if (ret == 0) {
		count = find_seats(site, seats);
		qsort(seats, count, sizeof(*seats), by_host);
		mark_sets(seats, count);
		qsort(seats, count, sizeof(*seats), by_rail);
		for (size_t i = 1; i <= count; i++) {
			if (i < count && seats[i].leaves == seats[first].leaves && seats[i].number == seats[first].number &&
			    strcmp(seats[i].device, seats[first].device) == 0)
				continue;
			compare_rail(site, &seats[first], i - first, values, findings);
			first = i;
		}
	}
	free(seats);
	free(values);
	return ret;
}

int siblings_hosts(const struct site *site, struct finding_list *findings)
{
	int ret = missing_hosts(site, findings);

	return ret < 0 ? ret : rails(site, findings);
}
