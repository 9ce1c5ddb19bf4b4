/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * audit: where every link of a kind has the same to be said of it, it is said once: a matter of settings or devices, not of
 * cables.
 */
#include "siblings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/link.h"

#define UNIFORM_LEAST 4 /* links of a kind */

struct row {
	uint32_t kind[SITE_KIND];
	size_t finding; /* SIZE_MAX: a link, to be counted */
	const struct finding *of;
};

static int by_row(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int c;

	for (int i = 0; i < SITE_KIND; i++)
		if (x->kind[i] != y->kind[i])
			return x->kind[i] < y->kind[i] ? -1 : 1;
	if (!x->of || !y->of)
		return !x->of - !y->of;
	if (x->of->code != y->of->code)
		return x->of->code < y->of->code ? -1 : 1;
	c = strcmp(x->of->what ? x->of->what : "", y->of->what ? y->of->what : "");
	if (c == 0)
		c = strcmp(x->of->wanted ? x->of->wanted : "", y->of->wanted ? y->of->wanted : "");
	if (c == 0)
		c = strcmp(x->of->got ? x->of->got : "", y->of->got ? y->of->got : "");
	if (c == 0)
		c = x->finding < y->finding ? -1 : x->finding > y->finding;
	return c;
}

static bool alike(const struct row *x, const struct row *y)
{
	struct row a = *x, b = *y;

	a.finding = b.finding = 0;
	return by_row(&a, &b) == 0;
}

/* Only what is about a link that runs. */
static bool is_rate(enum finding_code code)
{
	return code >= FINDING_LINK_WIDTH_LOW && code <= FINDING_LINK_SPEED_LOST;
}

static const char *end_name(const struct site *site, uint32_t port, char *text, size_t size)
{
	const struct fabric *f = site->fabric;
	uint32_t node = f->ports[port].node;

	if (!site_is_switch(site, node))
		return f->nodes[node].type == FABRIC_ROUTER ? "routers" : "adapters";
	if (site->level[node] == 0)
		return "switches with hosts";
	if (site->level[node] == LEVEL_NONE)
		return "switches";
	snprintf(text, size, "switches %u above those with hosts", site->level[node]);
	return text;
}

static int height(const struct site *site, uint32_t port)
{
	uint32_t node = site->fabric->ports[port].node;

	return site_is_switch(site, node) ? site->level[node] : -1;
}

/* One finding without a place in place of all of a kind. */
static void merge(const struct site *site, const struct row *rows, size_t count, struct finding_list *findings, bool *drop)
{
	struct finding *f = &findings->items[rows->finding];
	const struct fabric *fabric = site->fabric;
	uint32_t node = fabric_find_node(fabric, f->guid);
	uint32_t port = fabric_node_port(fabric, node, (unsigned)f->port), peer = fabric->ports[port].peer;
	char a[64], b[64], *what = NULL;
	double weight = 0;

	for (size_t i = 0; i < count; i++) {
		weight += findings->items[rows[i].finding].weight;
		drop[rows[i].finding] = i > 0;
	}
	if (height(site, port) > height(site, peer)) {
		uint32_t swap = port;

		port = peer;
		peer = swap;
	}
	finding_set(&what, "%s of all %zu links between %s and %s", f->what, count, end_name(site, port, a, sizeof(a)),
		    end_name(site, peer, b, sizeof(b)));
	free(f->what);
	f->what = what;
	free(f->name);
	free(f->peer_name);
	free(f->detail);
	f->name = f->peer_name = f->detail = NULL;
	f->guid = f->peer_guid = 0;
	f->port = f->peer_port = FINDING_WHOLE_NODE;
	f->weight = weight;
	finding_set(&f->detail, "for example %s[%u] to %s[%u]; --all names each", fabric_port_node(fabric, port)->name,
		    fabric->ports[port].number, fabric_port_node(fabric, peer)->name, fabric->ports[peer].number);
}

struct sieve {
	const bool *drop;
	size_t at;
};

static bool stays(const struct finding *f, void *arg)
{
	struct sieve *sieve = arg;

	(void)f;
	return !sieve->drop[sieve->at++];
}

static size_t make_rows(const struct site *site, const struct finding_list *findings, struct row *rows)
{
	const struct fabric *f = site->fabric;
	size_t count = 0;

	for (uint32_t i = 0; i < f->link_count; i++)
		if (site_kind(site, f->links[i].a, rows[count].kind))
			rows[count++].finding = SIZE_MAX;
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *x = &findings->items[i];
		uint32_t node = is_rate(x->code) && x->port >= 0 ? fabric_find_node(f, x->guid) : FABRIC_NONE;
		uint32_t port = node == FABRIC_NONE ? FABRIC_NONE : fabric_node_port(f, node, (unsigned)x->port);

		if (port == FABRIC_NONE || f->ports[port].peer == FABRIC_NONE || !site_kind(site, port, rows[count].kind))
			continue;
		rows[count].finding = i;
		rows[count++].of = x;
	}
	return count;
}

int audit_uniform(const struct fabric *fabric, struct finding_list *findings)
{
	size_t room = (size_t)fabric->link_count + findings->count + 1, count;
	struct row *rows = calloc(room, sizeof(*rows));
	bool *drop = calloc(findings->count + 1, sizeof(*drop));
	struct sieve sieve = {drop, 0};
	struct site site;
	int ret = site_new(fabric, &site);

	if (!rows || !drop)
		ret = -ENOMEM;
	if (ret == 0) {
		count = make_rows(&site, findings, rows);
		qsort(rows, count, sizeof(*rows), by_row);
		/* of a kind first its findings, then its links */
		for (size_t first = 0, end; first < count; first = end) {
			size_t links = 0;

			for (end = first; end < count && memcmp(rows[end].kind, rows[first].kind, sizeof(rows->kind)) == 0; end++)
				links += !rows[end].of;
			for (size_t i = first, next; i < end && rows[i].of; i = next) {
				for (next = i + 1; next < end && rows[next].of && alike(&rows[i], &rows[next]); next++)
					;
				if (next - i == links && links >= UNIFORM_LEAST)
					merge(&site, &rows[i], next - i, findings, drop);
			}
		}
		finding_list_filter(findings, stays, &sieve);
	}
	free(rows);
	free(drop);
	site_clear(&site);
	return ret;
}
