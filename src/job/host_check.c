/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Whether a host's adapters are fit for a job. sysfs does not tell what a port could run, so a rate is compared with what was
 * asked for, or with the fastest port of the same kind of adapter here; and what PCIe carries with what the ports run.
 */
#include <stdlib.h>
#include <string.h>

#include "ibqos/job.h"

#define STATE_INIT 2

struct look {
	const struct job_host *host;
	const struct job_host_wish *wish;
	const char *root;
	struct finding_list *findings;
	unsigned active; /* adapters with an active port */
};

static struct finding *tell(struct look *l, enum finding_code code, const struct job_hca *h, const struct job_port *p)
{
	struct finding *f = finding_add(l->findings, code);

	finding_at(f, l->root, 0, 0);
	if (p)
		finding_set(&f->what, "%s:%u", h->name, p->number);
	else if (h)
		finding_set(&f->what, "%s", h->name);
	return f;
}

static bool counts(const struct look *l, const struct job_hca *h, const struct job_port *p)
{
	return job_hca_takes(l->wish->hca, h->name, p->number) &&
	       (!p->known_layer || p->infiniband == (l->wish->link == JOB_LINK_INFINIBAND));
}

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* The fastest active port of the same kind of adapter; its own if it is alone. */
static double usual_rate(const struct look *l, const struct job_hca *of, const struct job_port **which,
			 const struct job_hca **where)
{
	double most = 0;

	for (size_t i = 0; i < l->host->hca_count; i++) {
		const struct job_hca *h = &l->host->hcas[i];

		for (size_t p = 0; (h == of || same(h->type, of->type)) && p < h->port_count; p++) {
			if (!counts(l, h, &h->ports[p]) || h->ports[p].state != JOB_PORT_ACTIVE || h->ports[p].gbps <= most)
				continue;
			most = h->ports[p].gbps;
			*which = &h->ports[p];
			*where = h;
		}
	}
	return most;
}

static void rate(struct look *l, const struct job_hca *h, const struct job_port *p)
{
	const struct job_port *best = p;
	const struct job_hca *where = h;
	double wanted = l->wish->gbps > 0 ? l->wish->gbps : usual_rate(l, h, &best, &where);
	struct finding *f;

	if (p->gbps <= 0) {
		f = tell(l, FINDING_JOB_HOST_UNREAD, h, p);
		finding_set(&f->got, "no rate: %s", p->rate ? p->rate : "not told");
	} else if (p->gbps < wanted) {
		f = tell(l, FINDING_JOB_HOST_RATE, h, p);
		if (l->wish->gbps > 0)
			finding_set(&f->wanted, "%.4g Gb/s", wanted);
		else
			finding_set(&f->wanted, "%.4g Gb/s, as %s:%u has", wanted, where->name, best->number);
		finding_set(&f->got, "%s", p->rate);
	} else if (p->lanes == 1 || p->lanes == 2) { /* 2x is a split port, or lanes that were lost */
		f = tell(l, FINDING_JOB_HOST_RATE, h, p);
		f->severity = p->lanes == 1 ? FINDING_WARNING : FINDING_NOTE;
		finding_set(&f->wanted, "4 lanes, unless the port is split");
		finding_set(&f->got, "%s", p->rate);
	}
}

/* NCCL takes the entry of an index; the lowest 15 bits are the key, the highest says full membership. */
static void pkey(struct look *l, const struct job_hca *h, const struct job_port *p)
{
	unsigned index = l->wish->pkey_index;
	struct finding *f;

	if (!p->infiniband)
		return;
	if (index < p->pkey_count && (p->pkeys[index] & 0x7fff) && (p->pkeys[index] & 0x8000))
		return;
	f = tell(l, p->pkey_count ? FINDING_JOB_PKEY_INDEX : FINDING_JOB_HOST_UNREAD, h, p);
	finding_set(&f->wanted, "a full member at index %u", index);
	if (p->pkey_count == 0)
		finding_set(&f->got, "no P_Key table that can be read");
	else if (index >= p->pkey_count)
		finding_set(&f->got, "a table of %zu entries", p->pkey_count);
	else if ((p->pkeys[index] & 0x7fff) == 0)
		finding_set(&f->got, "an empty entry");
	else
		finding_set(&f->got, "0x%04x, a limited member", p->pkeys[index]);
	for (size_t i = 0; i < p->pkey_count; i++) {
		if (i == index || !(p->pkeys[i] & 0x8000) || !(p->pkeys[i] & 0x7fff))
			continue;
		finding_set(&f->detail, "index %zu has 0x%04x", i, p->pkeys[i]);
		break;
	}
}

static bool port(struct look *l, const struct job_hca *h, const struct job_port *p)
{
	struct finding *f;

	if (p->state == JOB_PORT_ACTIVE) {
		if (!p->known_layer) /* InfiniBand's P_Keys and subnet manager are not looked at then */
			finding_set(&tell(l, FINDING_JOB_HOST_UNREAD, h, p)->got, "no link layer");
		rate(l, h, p);
		pkey(l, h, p);
		if (p->infiniband && p->sm_lid == 0)
			tell(l, FINDING_JOB_HOST_PORT, h, p)->severity = FINDING_WARNING;
		return true;
	}
	if (p->state == 0) {
		finding_set(&tell(l, FINDING_JOB_HOST_UNREAD, h, p)->got, "no state");
		return false;
	}
	f = tell(l, FINDING_JOB_HOST_PORT, h, p);
	finding_set(&f->wanted, "ACTIVE");
	finding_set(&f->got, "%s, physically %s", p->state_name ? p->state_name : "unknown", p->phys_name ? p->phys_name : "unknown");
	if (p->state >= STATE_INIT && p->infiniband)
		finding_set(&f->detail, "the link is up: no subnet manager has set it up");
	else if (!l->wish->hca) /* it may be meant to have no cable */
		f->severity = FINDING_WARNING;
	return false;
}

static void pcie(struct look *l, const struct job_hca *h, double needed)
{
	double has = job_pcie_gbps(h->pcie_gts, h->pcie_width), could = job_pcie_gbps(h->pcie_max_gts, h->pcie_max_width);
	struct finding *f;

	if (needed <= 0)
		return;
	if (has <= 0) {
		f = tell(l, FINDING_JOB_HOST_UNREAD, h, NULL);
		f->severity = FINDING_NOTE; /* a virtual machine does not tell it */
		finding_set(&f->got, "no speed and width of PCIe");
		return;
	}
	if (has >= needed && (has >= could || could <= 0))
		return;
	f = tell(l, FINDING_JOB_HOST_PCIE, h, NULL);
	finding_set(&f->got, "%.4g GT/s x%u: %.4g Gb/s", h->pcie_gts, h->pcie_width, has);
	finding_set(&f->wanted, "%.4g Gb/s for its ports", needed);
	if (could > has)
		finding_set(&f->detail, "the adapter can do %.4g GT/s x%u", h->pcie_max_gts, h->pcie_max_width);
	if (has >= needed)
		f->severity = FINDING_NOTE;
}

static void one_hca(struct look *l, const struct job_hca *h)
{
	bool active = false;
	double needed = 0;

	for (size_t i = 0; i < h->port_count; i++) {
		if (!counts(l, h, &h->ports[i]))
			continue;
		if (port(l, h, &h->ports[i])) {
			active = true;
			needed += h->ports[i].gbps;
		}
	}
	l->active += active;
	pcie(l, h, needed);
}

/* Adapters of one kind with different firmware. */
static void firmware(struct look *l)
{
	for (size_t i = 1; i < l->host->hca_count; i++) {
		const struct job_hca *h = &l->host->hcas[i];

		for (size_t j = 0; j < i; j++) {
			const struct job_hca *other = &l->host->hcas[j];
			struct finding *f;

			if (!same(h->type, other->type) || (h->board && other->board && !same(h->board, other->board)))
				continue;
			if (!h->firmware || !other->firmware || same(h->firmware, other->firmware))
				break;
			f = tell(l, FINDING_JOB_HOST_FIRMWARE, h, NULL);
			finding_set(&f->wanted, "%s, as %s has", other->firmware, other->name);
			finding_set(&f->got, "%s", h->firmware);
			break;
		}
	}
}

void job_host_check(const struct job_host *host, const struct job_host_wish *wish, const char *root,
		    struct finding_list *findings)
{
	struct look l = {.host = host, .wish = wish, .root = root, .findings = findings};
	struct finding *f;

	for (size_t i = 0; i < host->hca_count; i++)
		one_hca(&l, &host->hcas[i]);
	if (l.active == 0 || l.active < wish->adapters) {
		f = tell(&l, FINDING_JOB_HOST_ADAPTERS, NULL, NULL);
		finding_set(&f->what, "%s", wish->hca ? wish->hca : job_link_name(wish->link));
		finding_set(&f->wanted, "%u with an active port", wish->adapters ? wish->adapters : 1);
		finding_set(&f->got, "%u of %zu", l.active, host->hca_count);
	}
	firmware(&l);
	if (host->nvidia && !host->peermem)
		finding_set(&tell(&l, FINDING_JOB_HOST_PEERMEM, NULL, NULL)->what, "nvidia_peermem");
}
