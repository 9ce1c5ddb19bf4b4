/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * audit: what several findings about links have in common: the two ends of one cable, and one switch at whose links they all
 * are. One of them, or a new one at the switch, then stands for the others (finding.told_by_another).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/audit.h"

#define BURST_LEAST 3 /* links, and half of those that the switch has */

/* A finding about a link, by its two ends in the order of GUIDs. */
struct about {
	struct finding *finding;
	uint64_t guid[2];
	int port[2];
};

/* What a cable, a port or a device brings about; not what was set so. */
static bool is_of_link(const struct finding *f)
{
	switch (f->code) {
	case FINDING_LINK_WIDTH_LOW:
	case FINDING_LINK_SPEED_LOW:
	case FINDING_LINK_BER_HIGH:
	case FINDING_LINK_RECEIVE_ERRORS:
	case FINDING_LINK_FEC_UNCORRECTED:
	case FINDING_LINK_FLAPS:
	case FINDING_LINK_RECOVERIES:
	case FINDING_LINK_GONE:
		return f->severity != FINDING_NOTE && f->guid != 0 && f->peer_guid != 0 && f->port > 0 && f->peer_port > 0;
	default:
		return false;
	}
}

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int by_link(const void *left, const void *right)
{
	const struct about *a = left, *b = right;

	if (a->finding->code != b->finding->code)
		return a->finding->code < b->finding->code ? -1 : 1;
	for (int end = 0; end < 2; end++) {
		if (a->guid[end] != b->guid[end])
			return a->guid[end] < b->guid[end] ? -1 : 1;
		if (a->port[end] != b->port[end])
			return a->port[end] - b->port[end];
	}
	return compare_text(a->finding->what, b->finding->what);
}

static size_t find_links(struct finding_list *findings, struct about *abouts)
{
	size_t count = 0;

	for (size_t i = 0; i < findings->count; i++) {
		struct finding *f = &findings->items[i];
		bool turned = f->peer_guid < f->guid || (f->peer_guid == f->guid && f->peer_port < f->port);

		if (!is_of_link(f) || f->told_by_another)
			continue;
		abouts[count++] = (struct about){.finding = f,
						 .guid = {turned ? f->peer_guid : f->guid, turned ? f->guid : f->peer_guid},
						 .port = {turned ? f->peer_port : f->port, turned ? f->port : f->peer_port}};
	}
	if (count > 0)
		qsort(abouts, count, sizeof(*abouts), by_link);
	return count;
}

/* Both ends tell the same of their cable: the worse one stands for both. */
static void fold_ends(struct about *abouts, size_t count)
{
	for (size_t i = 0; i + 1 < count; i++) {
		struct finding *a = abouts[i].finding, *b = abouts[i + 1].finding;

		if (by_link(&abouts[i], &abouts[i + 1]) != 0 || a->guid == b->guid)
			continue;
		if (b->severity > a->severity || (b->severity == a->severity && b->weight > a->weight)) {
			struct finding *worse = b;

			b = a;
			a = worse;
		}
		b->told_by_another = true;
		if (b->got)
			finding_append(&a->detail, "the other end: %s", b->got);
		i++;
	}
}

/* --- one switch --- */

/* How many links a switch has, and has findings of one code about. */
struct share {
	uint32_t node, links, odd;
};

static int by_share(const void *left, const void *right)
{
	const struct share *a = left, *b = right;

	if (a->odd != b->odd)
		return a->odd > b->odd ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static bool is_at(const struct about *about, uint64_t guid)
{
	return !about->finding->told_by_another && (about->guid[0] == guid || about->guid[1] == guid);
}

static uint32_t count_at(const struct about *abouts, size_t count, uint64_t guid)
{
	uint32_t at = 0;

	for (size_t i = 0; i < count; i++)
		at += is_at(&abouts[i], guid);
	return at;
}

static bool is_burst(const struct share *share, uint32_t odd)
{
	return odd >= BURST_LEAST && odd * 2 >= share->links;
}

/* `burst` is no member of the list: adding to it would move those that abouts[] point to. */
static void fold_burst(const struct fabric *fabric, struct about *abouts, size_t count, const struct share *share, uint32_t odd,
		       struct finding_list *bursts)
{
	const struct fabric_node *node = &fabric->nodes[share->node];
	struct finding *burst = finding_add(bursts, FINDING_BURST_AT_SWITCH);

	burst->guid = node->guid;
	burst->port = FINDING_WHOLE_NODE;
	finding_set(&burst->name, "%s", node->name ? node->name : "");
	finding_set(&burst->what, "%s", finding_kind(abouts->finding->code)->code);
	finding_set(&burst->got, "%u of its %u links", odd, share->links);
	for (size_t i = 0; i < count; i++) {
		struct finding *f = abouts[i].finding;

		if (!is_at(&abouts[i], node->guid))
			continue;
		f->told_by_another = true;
		finding_append(&burst->detail, "port %d", f->guid == node->guid ? f->port : f->peer_port);
		if (f->severity > burst->severity)
			burst->severity = f->severity;
		if (f->weight > burst->weight)
			burst->weight = f->weight;
		if (f->first_seen && (!burst->first_seen || f->first_seen < burst->first_seen))
			burst->first_seen = f->first_seen;
	}
}

/* Findings of one code: the switch with most of them first. Links that are gone count as its own. */
static void find_bursts(const struct fabric *fabric, struct about *abouts, size_t count, struct share *shares,
		       struct finding_list *bursts)
{
	size_t switches = 0;

	for (uint32_t n = 0; n < fabric->node_count; n++) {
		const struct fabric_node *node = &fabric->nodes[n];
		struct share share = {.node = n};

		if (node->type != FABRIC_SWITCH)
			continue;
		for (unsigned p = 1; p <= node->ports; p++)
			share.links += fabric->ports[node->first_port + p].peer != FABRIC_NONE;
		share.odd = count_at(abouts, count, node->guid);
		if (abouts->finding->code == FINDING_LINK_GONE)
			share.links += share.odd;
		shares[switches++] = share;
	}
	if (switches < 2)
		return; /* all links are its own */
	qsort(shares, switches, sizeof(*shares), by_share);
	for (size_t i = 0; i < switches && is_burst(&shares[i], shares[i].odd); i++) {
		uint32_t odd = count_at(abouts, count, fabric->nodes[shares[i].node].guid); /* that no other has taken */

		if (is_burst(&shares[i], odd))
			fold_burst(fabric, abouts, count, &shares[i], odd, bursts);
	}
}

int audit_bursts(const struct fabric *fabric, struct finding_list *findings)
{
	struct about *abouts = calloc(findings->count + 1, sizeof(*abouts));
	struct share *shares = calloc((size_t)fabric->node_count + 1, sizeof(*shares));
	struct finding_list bursts = {0};
	int ret = abouts && shares ? 0 : -ENOMEM;
	size_t count;

	if (ret == 0) {
		count = find_links(findings, abouts);
		fold_ends(abouts, count);
		for (size_t first = 0, end; first < count; first = end) {
			for (end = first + 1; end < count && abouts[end].finding->code == abouts[first].finding->code;)
				end++;
			if (end - first >= BURST_LEAST)
				find_bursts(fabric, &abouts[first], end - first, shares, &bursts);
		}
	}
	for (size_t i = 0; i < bursts.count; i++)
		finding_move(&bursts.items[i], findings);
	findings->lost |= bursts.lost;
	finding_list_clear(&bursts);
	free(abouts);
	free(shares);
	return ret;
}
