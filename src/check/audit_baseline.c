/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * audit against a baseline: cables and nodes that went, came or moved since, causes before symptoms. What a switch takes
 * with it, a host with several adapters, and many hosts behind one switch are one finding each.
 */
#include "ibqos/audit.h"
#include "ibqos/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "paths.h"

#define BURST 3 /* so many hosts gone behind a switch that stays have a common cause */

static bool is_topology(enum finding_code code)
{
	switch (code) {
	case FINDING_NODE_GONE:
	case FINDING_NODE_SILENT:
	case FINDING_NODE_NEW:
	case FINDING_NODE_REPLACED:
	case FINDING_NODE_RENAMED:
	case FINDING_NODE_RESIZED:
	case FINDING_LINK_GONE:
	case FINDING_LINK_NEW:
	case FINDING_LINK_MOVED:
	case FINDING_LINKS_SWAPPED:
		return true;
	default: /* rates and abilities are judged by audit itself */
		return false;
	}
}

/* A node that went, in the baseline, and the finding about it. */
struct gone {
	uint32_t node, host_of; /* the switch of its first cable, FABRIC_NONE */
	size_t finding;
	uint32_t adapters, hosts; /* that it stands for */
	bool folded;
	bool silent; /* it may be there */
};

static int find_gone(const struct fabric *old, const struct finding_list *findings, struct gone **out, size_t *count)
{
	struct gone *gone = calloc(findings->count + 1, sizeof(*gone));

	*out = gone;
	*count = 0;
	if (!gone)
		return -ENOMEM;
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *f = &findings->items[i];
		bool silent = f->code == FINDING_NODE_SILENT;
		uint32_t node = silent || f->code == FINDING_NODE_GONE ? fabric_find_node(old, f->guid) : FABRIC_NONE;

		if (node == FABRIC_NONE)
			continue;
		gone[(*count)++] = (struct gone){.node = node,
						 .host_of = f->peer_guid ? fabric_find_node(old, f->peer_guid) : FABRIC_NONE,
						 .finding = i,
						 .silent = silent,
						 .adapters = 1,
						 .hosts = 1};
	}
	return 0;
}

/* Whether two adapters are of one host: the same first word of their names, or one system image. */
static bool same_host(const struct fabric_node *a, const struct fabric_node *b)
{
	size_t length = strcspn(a->name, " /:");

	return (length > 0 && strcspn(b->name, " /:") == length && strncmp(a->name, b->name, length) == 0) ||
	       (a->system_guid && a->system_guid == b->system_guid);
}

/* Adapters whose every cable led to a switch that went too are symptoms of that. */
static bool behind(const struct fabric *old, const struct gone *adapter, const struct gone *sw)
{
	const struct fabric_node *node = &old->nodes[adapter->node];
	bool any = false;

	for (unsigned p = 1; p <= node->ports; p++) {
		uint32_t peer = old->ports[node->first_port + p].peer;

		if (peer == FABRIC_NONE)
			continue;
		if (old->ports[peer].node != sw->node)
			return false;
		any = true;
	}
	return any;
}

static void fold_into_switches(const struct fabric *old, struct gone *gone, size_t count)
{
	for (size_t s = 0; s < count; s++) {
		if (old->nodes[gone[s].node].type != FABRIC_SWITCH)
			continue;
		gone[s].adapters = gone[s].hosts = 0;
		for (size_t i = 0; i < count; i++)
			if (!gone[i].folded && old->nodes[gone[i].node].type != FABRIC_SWITCH &&
			    behind(old, &gone[i], &gone[s])) {
				gone[i].folded = true;
				gone[s].adapters++;
			}
	}
}

static void fold_into_hosts(const struct fabric *old, struct gone *gone, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (gone[i].folded || old->nodes[gone[i].node].type != FABRIC_CA)
			continue;
		for (size_t n = i + 1; n < count; n++)
			if (!gone[n].folded && gone[n].silent == gone[i].silent &&
			    old->nodes[gone[n].node].type == FABRIC_CA && same_host(&old->nodes[gone[i].node], &old->nodes[gone[n].node])) {
				gone[n].folded = true;
				gone[i].adapters++;
			}
	}
}

/* Hosts that went behind a switch that stays: one finding at it. */
static void fold_into_bursts(const struct fabric *old, struct gone *gone, size_t count, struct finding_list *findings)
{
	for (size_t i = 0; i < count; i++) {
		const struct fabric_node *sw;
		uint32_t hosts = 1;
		struct finding *f;

		if (gone[i].folded || gone[i].silent || old->nodes[gone[i].node].type != FABRIC_CA ||
		    gone[i].host_of == FABRIC_NONE)
			continue;
		for (size_t n = i + 1; n < count; n++)
			hosts += !gone[n].folded && !gone[n].silent && old->nodes[gone[n].node].type == FABRIC_CA &&
				 gone[n].host_of == gone[i].host_of;
		if (hosts < BURST)
			continue;
		sw = &old->nodes[gone[i].host_of];
		f = finding_add(findings, FINDING_HOSTS_GONE);
		f->guid = sw->guid;
		f->port = FINDING_WHOLE_NODE;
		finding_set(&f->name, "%s", sw->name);
		finding_set(&f->got, "%u hosts gone", hosts);
		for (size_t n = i; n < count; n++) {
			if (gone[n].folded || gone[n].silent || old->nodes[gone[n].node].type != FABRIC_CA ||
			    gone[n].host_of != gone[i].host_of)
				continue;
			finding_append(&f->detail, "%s", old->nodes[gone[n].node].name);
			gone[n].folded = true;
		}
	}
}

static void tell_folds(const struct fabric *old, const struct gone *gone, size_t count, struct finding_list *findings)
{
	for (size_t i = 0; i < count; i++) {
		struct finding *f = &findings->items[gone[i].finding];

		if (gone[i].folded)
			continue;
		if (old->nodes[gone[i].node].type == FABRIC_SWITCH && gone[i].adapters > 0)
			finding_append(&f->detail, gone[i].silent ? "%u adapters behind it are not seen either" : "%u adapters behind it are gone with it",
				       gone[i].adapters);
		else if (old->nodes[gone[i].node].type == FABRIC_CA && gone[i].adapters > 1)
			finding_append(&f->detail, "all %u adapters of this host", gone[i].adapters);
	}
}

static int fold(const struct fabric *old, struct finding_list *findings, bool *drop)
{
	struct gone *gone;
	size_t count;
	int ret = find_gone(old, findings, &gone, &count);

	if (ret == 0) {
		fold_into_switches(old, gone, count);
		fold_into_hosts(old, gone, count);
		tell_folds(old, gone, count, findings);
		fold_into_bursts(old, gone, count, findings);
		for (size_t i = 0; i < count; i++)
			drop[gone[i].finding] = gone[i].folded;
	}
	free(gone);
	return ret;
}

int audit_baseline(const struct fabric *fabric, const struct audit_options *options, struct finding_list *findings)
{
	struct diff_state before = {.fabric = options->baseline}, after = {.fabric = fabric};
	struct finding_list changes = {0};
	struct diff_result result;
	bool *drop = NULL;
	int ret;

	if (!options->baseline)
		return 0;
	ret = check_diff(&before, &after, &changes, &result);
	if (ret == 0) {
		drop = calloc(changes.count + 1, sizeof(*drop));
		ret = drop ? 0 : -ENOMEM;
	}
	if (ret == 0) {
		size_t told = changes.count; /* those that folding adds are all kept */

		ret = fold(options->baseline, &changes, drop);
		for (size_t i = 0; ret == 0 && i < changes.count; i++)
			if (i >= told || (!drop[i] && is_topology(changes.items[i].code)))
				finding_move(&changes.items[i], findings);
	}
	findings->lost |= changes.lost;
	finding_list_clear(&changes);
	diff_result_clear(&result);
	free(drop);
	return ret;
}
