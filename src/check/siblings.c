/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: switches of one role compared with each other, without any baseline: cables that one lacks, and
 * cables that go elsewhere than those of the others; then hosts, and rates.
 *
 * Told is only what a large majority of siblings have otherwise (site_usual()), and only of a switch that has at
 * least half of what they have: less is another design. First bundles, which name both ends; then totals, for what
 * no bundle explains.
 */
#include "siblings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/snapshot.h"
#include "siblings_compare.h"

unsigned siblings_empty_port(const struct site *site, uint32_t node, uint32_t to)
{
	const struct fabric *f = site->fabric;
	unsigned found = 0;

	for (unsigned p = 1; p <= f->nodes[node].ports; p++) {
		uint32_t peers = 0, there = 0;

		if (f->ports[f->nodes[node].first_port + p].peer != FABRIC_NONE)
			continue;
		for (uint32_t n = 0; n < f->node_count; n++) {
			uint32_t peer;

			if (n == node || site->role[n] != site->role[node] || p > f->nodes[n].ports)
				continue;
			peers++;
			peer = f->ports[f->nodes[n].first_port + p].peer;
			there += peer != FABRIC_NONE && site->role[f->ports[peer].node] == site->role[to];
		}
		if (there == 0 || there * 3 < peers * 2)
			continue;
		if (found)
			return 0;
		found = p;
	}
	return found;
}

struct finding *siblings_tell(struct comparing *c, enum finding_code code, uint32_t node, uint32_t peer)
{
	const struct fabric_node *nodes = c->site->fabric->nodes;
	struct finding *f = finding_add(c->findings, code);
	unsigned port;

	f->guid = nodes[node].guid;
	f->port = FINDING_WHOLE_NODE;
	finding_set(&f->name, "%s", nodes[node].name ? nodes[node].name : "");
	if (peer == FABRIC_NONE)
		return f;
	f->peer_guid = nodes[peer].guid;
	f->peer_port = FINDING_WHOLE_NODE;
	finding_set(&f->peer_name, "%s", nodes[peer].name ? nodes[peer].name : "");
	if (code != FINDING_SIBLING_CABLE_MISSING)
		return f;
	port = siblings_empty_port(c->site, node, peer);
	if (port)
		f->port = (int)port;
	port = siblings_empty_port(c->site, peer, node);
	if (port)
		f->peer_port = (int)port;
	return f;
}

void siblings_set_cables(char **member, uint32_t count)
{
	finding_set(member, "%u cable%s", count, count == 1 ? "" : "s");
}

static void tell_radix(struct comparing *c)
{
	const struct site *site = c->site;
	const struct fabric *f = site->fabric;

	for (uint32_t role = 0; role < site->roles; role++) {
		uint32_t usual;
		size_t count = 0;

		for (uint32_t n = 0; n < f->node_count; n++)
			if (site->role[n] == role)
				c->values[count++] = f->nodes[n].ports;
		if (!site_usual(c->values, count, &usual))
			continue;
		for (uint32_t n = 0; n < f->node_count; n++) {
			struct finding *told;

			if (site->role[n] != role || f->nodes[n].ports == usual)
				continue;
			told = siblings_tell(c, FINDING_SIBLING_RADIX, n, FABRIC_NONE);
			finding_set(&told->what, "ports");
			finding_set(&told->wanted, "%u ports", usual);
			finding_set(&told->got, "%u ports", f->nodes[n].ports);
		}
	}
}

/* --- */

/* Names that redaction gave are numbered in the order of the walk: what hosts are compared by is not in them. */
static bool is_redacted(const struct fabric *fabric)
{
	for (uint32_t n = 0; n < fabric->node_count; n++)
		if (snapshot_name_redacted(fabric->nodes[n].guid, fabric->nodes[n].name))
			return true;
	return false;
}

static int compare_hosts(struct site *site, struct finding_list *findings)
{
	if (!is_redacted(site->fabric))
		return siblings_hosts(site, findings);
	finding_set(&finding_add(findings, FINDING_SOURCE_LACKS)->what,
		    "names of hosts, replaced by redaction: hosts missing or on other switches are not looked for; "
		    "give the map as --node-name-map");
	return 0;
}

static int compare_switches(struct comparing *c)
{
	int ret = siblings_bundles(c);

	if (ret == 0)
		ret = siblings_totals(c);
	if (ret == 0)
		ret = siblings_order(c);
	if (ret == 0)
		tell_radix(c);
	return ret;
}

int audit_siblings(const struct fabric *fabric, const struct audit_options *options, struct finding_list *findings)
{
	struct site site;
	struct comparing c = {.site = &site, .findings = findings};
	size_t nodes = (size_t)fabric->node_count + 1;
	int ret = site_new(fabric, &site);

	c.tally = calloc(nodes, sizeof(*c.tally));
	c.values = calloc(nodes, sizeof(*c.values));
	c.told_up = calloc(nodes, sizeof(*c.told_up));
	c.told_side = calloc(nodes, sizeof(*c.told_side));
	c.told_down = calloc(nodes, sizeof(*c.told_down));
	if (ret == 0 && (!c.tally || !c.values || !c.told_up || !c.told_side || !c.told_down))
		ret = -ENOMEM;
	if (ret == 0 && !options->baseline)
		ret = compare_hosts(&site, findings);
	if (ret == 0 && !options->baseline)
		ret = compare_switches(&c);
	if (ret == 0)
		ret = siblings_rates(&site, options, findings);
	free(c.fewer.items);
	free(c.more.items);
	free(c.tally);
	free(c.values);
	free(c.told_up);
	free(c.told_side);
	free(c.told_down);
	site_clear(&site);
	return ret;
}
