/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: adapters' ports on switches, with what their hosts' names tell.
 */
#include "siblings_seats.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool host_name_read(const char *name, struct host_name *out)
{
	size_t length = name ? strcspn(name, " /:") : 0, end, stem;

	if (length == 0 || length >= HOST_NAME_MAX_LENGTH)
		return false;
	memcpy(out->host, name, length);
	out->host[length] = '\0';
	out->device = name[length] ? name + length + 1 : "";
	end = strcspn(out->host, ".");
	for (stem = end; stem > 0 && isdigit((unsigned char)out->host[stem - 1]);)
		stem--;
	out->digits = 0;
	out->number = 0;
	memcpy(out->stem, out->host, stem);
	out->stem[stem] = '\0';
	if (stem == end || end - stem > 9)
		return true;
	out->digits = (unsigned)(end - stem);
	out->number = strtoul(out->host + stem, NULL, 10);
	return true;
}

void host_name_beside(const struct host_name *name, int step, char *out, size_t size)
{
	snprintf(out, size, "%s%0*lu%s", name->stem, (int)name->digits, name->number + (unsigned long)(long)step,
		 name->host + strcspn(name->host, "."));
}

static int by_host(const void *a, const void *b)
{
	const struct seat *x = a, *y = b;
	int c = strcmp(x->name.host, y->name.host);

	if (c == 0)
		c = strcmp(x->name.device, y->name.device);
	if (c != 0)
		return c;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->port < y->port ? -1 : x->port > y->port;
}

void seats_sort(struct seats *seats)
{
	if (seats->count > 0)
		qsort(seats->items, seats->count, sizeof(*seats->items), by_host);
}

/* Gives each host the number of its set of switches; hosts with adapters on one switch only have none (0). */
static void mark_sets(struct seat *seats, size_t count)
{
	for (size_t i = 0, next; i < count; i = next) {
		uint64_t set = 0;
		bool several = false;

		for (next = i; next < count && strcmp(seats[next].name.host, seats[i].name.host) == 0; next++) {
			/* a sum, so that the order does not matter; spread, so that sums do not meet */
			uint64_t spread = (uint64_t)(seats[next].leaf + 1) * 0x9e3779b97f4a7c15u;

			set += spread ^ spread >> 29;
			several |= seats[next].leaf != seats[i].leaf;
		}
		for (size_t n = i; n < next; n++)
			seats[n].leaves = several ? set : 0;
	}
}

int seats_new(const struct site *site, struct seats *seats)
{
	const struct fabric *f = site->fabric;

	*seats = (struct seats){.items = calloc(2 * (size_t)f->link_count + 1, sizeof(*seats->items))};
	if (!seats->items)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->link_count; i++)
		for (int end = 0; end < 2; end++) {
			uint32_t port = end ? f->links[i].b : f->links[i].a, peer = end ? f->links[i].a : f->links[i].b;
			uint32_t node = f->ports[port].node, leaf = f->ports[peer].node;
			struct seat *seat = &seats->items[seats->count];

			if (site->kind[node] != KIND_HOST || !site_is_switch(site, leaf) ||
			    !host_name_read(f->nodes[node].name, &seat->name))
				continue;
			seat->number = f->ports[port].number;
			seat->port = port;
			seat->leaf = leaf;
			seat->belongs = FABRIC_NONE;
			seats->count++;
		}
	seats_sort(seats);
	mark_sets(seats->items, seats->count);
	return 0;
}

void seats_free(struct seats *seats)
{
	free(seats->items);
	*seats = (struct seats){0};
}

uint32_t seats_next_host(const struct site *site, uint32_t node, unsigned port, int step)
{
	const struct fabric *f = site->fabric;

	for (int p = (int)port + step; p >= 1 && p <= f->nodes[node].ports; p += step) {
		uint32_t peer = f->ports[f->nodes[node].first_port + (unsigned)p].peer;

		if (peer != FABRIC_NONE && site->kind[f->ports[peer].node] == KIND_HOST)
			return f->ports[peer].node;
	}
	return FABRIC_NONE;
}
