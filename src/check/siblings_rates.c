/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: a link that is slower than the others of its kind although its ends claim no more.
 */
#include "siblings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/link.h"
#include "place.h"

#define LINKS_LEAST 4 /* fewer links of a kind say nothing, but for those of one bundle */

/* A link of which a rate is known, and what makes its kind: models and roles at both ends. */
struct rated {
	uint32_t link;
	uint32_t kind[SITE_KIND];
	unsigned width, speed;
	bool full; /* all that both ends can: otherwise it has a finding already */
	double gbps;
};

static bool rate(const struct site *site, const struct audit_options *options, uint32_t i, struct rated *r)
{
	const struct fabric *f = site->fabric;
	const struct fabric_link *link = &f->links[i];
	const struct policy_link_class *class;
	struct link_state a, b;

	class = options->policy ? policy_link_class_of(options->policy, f, link) : NULL;
	if (class && (class->speed || class->width))
		return false; /* it has its measure */
	if (!site_kind(site, link->a, r->kind) ||
	    !link_decode(f, link->a, &a) || !link_decode(f, link->b, &b) || !a.width_active || !a.speed_active ||
	    a.width_active != b.width_active || a.speed_active != b.speed_active)
		return false;
	r->link = i;
	r->width = a.width_active;
	r->speed = a.speed_active;
	r->full = a.width_active >= link_best(a.width_supported & b.width_supported) &&
		  a.speed_active >= link_best(a.speed_supported & b.speed_supported);
	r->gbps = link_gbps(a.width_active, a.speed_active);
	return true;
}

static int by_kind(const void *a, const void *b)
{
	const struct rated *x = a, *y = b;

	for (int i = 0; i < SITE_KIND; i++)
		if (x->kind[i] != y->kind[i])
			return x->kind[i] < y->kind[i] ? -1 : 1;
	return x->link < y->link ? -1 : x->link > y->link;
}

static void tell(const struct site *site, const struct rated *r, unsigned width, unsigned speed, size_t of, size_t others,
		 struct finding_list *findings)
{
	struct finding *f = finding_add(findings, FINDING_SIBLING_LINK_SLOW);
	double gbps = link_gbps(width, speed);

	place_port(f, site->fabric, site->fabric->links[r->link].a);
	finding_set(&f->what, "link");
	finding_set(&f->wanted, "%s %s", link_width_name(width), link_speed_name(speed));
	finding_set(&f->got, "%s %s", link_width_name(r->width), link_speed_name(r->speed));
	finding_set(&f->detail, "%.4g of %.4g Gb/s; so run %zu of %zu links of this kind", r->gbps, gbps, others, of);
	f->weight = gbps - r->gbps;
}

/* One cause, one finding: what has been told of a link, by its codes, is not told again. */
static bool is_told(const struct site *site, const struct rated *r, const struct finding_list *findings)
{
	const struct fabric *f = site->fabric;
	const struct fabric_link *link = &f->links[r->link];

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *x = &findings->items[i];

		if (strncmp(finding_kind(x->code)->code, "link-", strlen("link-")) != 0)
			continue;
		if ((x->guid == fabric_port_node(f, link->a)->guid && x->port == f->ports[link->a].number) ||
		    (x->guid == fabric_port_node(f, link->b)->guid && x->port == f->ports[link->b].number))
			if (x->code != FINDING_LINK_NOT_ACTIVE)
				return true;
	}
	return false;
}

/* Links of one kind: the rate that at least two thirds have, and those below it. */
static int compare(const struct site *site, const struct rated *links, size_t count, struct finding_list *findings)
{
	uint32_t *values, usual;
	size_t same = 0;
	const struct rated *model = NULL;
	bool known;

	if (count < LINKS_LEAST)
		return 0;
	values = calloc(count, sizeof(*values));
	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		values[i] = links[i].width << 16 | links[i].speed;
	known = site_usual(values, count, &usual);
	free(values);
	if (!known)
		return 0;
	for (size_t i = 0; i < count; i++)
		if ((links[i].width << 16 | links[i].speed) == usual) {
			model = &links[i];
			same++;
		}
	for (size_t i = 0; model && i < count; i++)
		if (links[i].full && links[i].gbps < model->gbps && !is_told(site, &links[i], findings))
			tell(site, &links[i], model->width, model->speed, count, same, findings);
	return 0;
}

int siblings_rates(const struct site *site, const struct audit_options *options, struct finding_list *findings)
{
	struct rated *links = calloc((size_t)site->fabric->link_count + 1, sizeof(*links));
	size_t count = 0, first = 0;
	int ret = 0;

	if (!links)
		return -ENOMEM;
	for (uint32_t i = 0; i < site->fabric->link_count; i++)
		count += rate(site, options, i, &links[count]);
	qsort(links, count, sizeof(*links), by_kind);
	for (size_t i = 1; ret == 0 && i <= count; i++) {
		if (i < count && memcmp(links[i].kind, links[first].kind, sizeof(links->kind)) == 0)
			continue;
		ret = compare(site, &links[first], i - first, findings);
		first = i;
	}
	free(links);
	return ret;
}
