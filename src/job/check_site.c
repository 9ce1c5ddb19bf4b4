/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The adapters that NCCL_IB_HCA takes against the fabrics of a site, and what lets NCCL connect two of them.
 *
 * The list only filters: adapters are taken in the order of ibv_get_device_list() (NCCL 2.12 to 2.30.7, src/transport/net_ib,
 * ncclIbInit: matchIfList in the loop over devices), in 2.30.7 sorted by PCI address after that. So the order of the list means
 * nothing. NCCL_CROSS_NIC=0 keeps each ring and tree on one adapter, 1 does not, 2, the default, does where it loses nothing by
 * it (src/graph/search.cc, ncclTopoCompute and ncclTopoSearchCheckNet); and of two adapters with a rail number of 2.30.7 in the
 * list the numbers are compared in place of the adapters.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define PORTS 254
#define ITEM 128 /* bytes of an item that can match: a name of 63, and numbers */

/* --- what a list takes --- */

/* Whether a list takes an adapter of a site file. Without a port it is all of its ports, and one of them will do. */
static bool takes(const char *list, const char *adapter)
{
	size_t length = strcspn(adapter, ":");
	char name[64];

	if (length >= sizeof(name))
		return false;
	memcpy(name, adapter, length);
	name[length] = '\0';
	if (adapter[length])
		return job_hca_takes(list, name, (unsigned)strtoul(adapter + length + 1, NULL, 10));
	for (unsigned port = 1; port <= PORTS; port++)
		if (job_hca_takes(list, name, port))
			return true;
	return false;
}

/* The list, or NULL where all are taken; false: not known before the job starts. */
static bool list_of(const struct job_env *env, const char **list)
{
	const struct job_setting *s = job_env_get(env, "NCCL_IB_HCA");

	*list = s ? s->value : NULL;
	return !s || s->value;
}

enum job_rail_use job_rail_use(const struct job_env *env, const struct job_question *q, const struct site_fabric *fabric)
{
	size_t taken = 0;
	const char *list;

	if (!list_of(env, &list) || q->link != JOB_LINK_INFINIBAND)
		return JOB_RAIL_USE_UNKNOWN;
	for (size_t i = 0; i < fabric->adapter_count; i++)
		taken += takes(list, fabric->adapters[i]);
	return taken == 0 ? JOB_RAIL_USE_NONE : taken < fabric->adapter_count ? JOB_RAIL_USE_SOME : JOB_RAIL_USE_ALL;
}

/* The fabrics that it takes adapters of, a bit each. */
static uint64_t fabrics_of(const struct site *site, const char *list)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < site->count; i++)
		for (size_t n = 0; n < site->fabrics[i].adapter_count; n++)
			if (takes(list, site->fabrics[i].adapters[n]))
				mask |= (uint64_t)1 << i;
	return mask;
}

static void add_names(char **text, const struct site *site, uint64_t mask)
{
	for (size_t i = 0; i < site->count; i++)
		if (mask >> i & 1)
			finding_append(text, "%s", site->fabrics[i].name);
}

static bool has_adapters(const struct site *site)
{
	size_t count = 0;

	for (size_t i = 0; i < site->count; i++)
		count += site->fabrics[i].adapter_count;
	return count > 0;
}

/* --- the items of a list --- */

/* One item as a list of its own; false: it is none, or longer than any that matches. */
static bool next_item(const char **at, bool exact, char item[ITEM], size_t *length)
{
	const char *from = *at;

	*length = strcspn(from, ",");
	*at += *length + (from[*length] == ',');
	if (*length == 0 || *from == ':' || *length > ITEM - 2)
		return false;
	snprintf(item, ITEM, "%s%.*s", exact ? "=" : "", (int)*length, from);
	return true;
}

/* Where the items of a list that names what it takes begin; NULL: it takes all but what it names, or all. */
static const char *items_of(const char *list, bool *exact)
{
	*exact = list && *list == '=';
	if (!list || *list == '^')
		return NULL;
	return list + *exact;
}

/* The only fabric that an item takes adapters of; SITE_FABRICS_MAX: none, or several. */
static size_t fabric_of_item(const struct site *site, const char *item, bool *none)
{
	uint64_t mask = fabrics_of(site, item);

	*none = mask == 0;
	return mask && (mask & (mask - 1)) == 0 ? (size_t)__builtin_ctzll(mask) : SITE_FABRICS_MAX;
}

/* Of job_adapters_left(): what is asked for each adapter. */
struct left {
	bool (*looked)(const char *list, void *arg);
	void *arg;
	char **names;
	size_t *taken;
};

static void look_for(const struct left *l, const char *item)
{
	(*l->taken)++;
	if (!l->looked(item, l->arg))
		finding_append(l->names, "%s", item + (*item == '='));
}

static void look_for_site(const struct left *l, const struct site_fabric *fabric, const char *list)
{
	char item[ITEM];

	for (size_t n = 0; n < fabric->adapter_count; n++) {
		if (!takes(list, fabric->adapters[n]))
			continue;
		snprintf(item, sizeof(item), "=%s", fabric->adapters[n]);
		look_for(l, item);
	}
}

static void look_for_host(const struct left *l, const struct job_host *host, const char *list)
{
	char item[ITEM];

	for (size_t i = 0; i < host->hca_count; i++) {
		for (size_t n = 0; n < host->hcas[i].port_count; n++) {
			const struct job_port *p = &host->hcas[i].ports[n];

			if (p->state != JOB_PORT_ACTIVE || (p->known_layer && !p->infiniband) ||
			    !job_hca_takes(list, host->hcas[i].name, p->number))
				continue;
			snprintf(item, sizeof(item), "=%.63s:%u", host->hcas[i].name, p->number);
			look_for(l, item);
		}
	}
}

void job_adapters_left(const struct job_env *env, const struct job_question *q, const struct site_fabric *of,
		       bool (*looked)(const char *list, void *arg), void *arg, char **left, size_t *taken)
{
	const struct left l = {looked, arg, left, taken};
	const char *list, *at;
	char item[ITEM];
	size_t length;
	bool exact;

	*taken = 0;
	if (!list_of(env, &list))
		return;
	if (q->site && has_adapters(q->site)) {
		for (size_t i = 0; i < q->site->count; i++)
			if (!of || of == &q->site->fabrics[i])
				look_for_site(&l, &q->site->fabrics[i], list);
	} else if (of) {
		return; /* which of them are in this fabric is not known, and told */
	} else if (q->host) {
		look_for_host(&l, q->host, list);
	} else {
		for (at = items_of(list, &exact); at && *at;)
			if (next_item(&at, exact, item, &length))
				look_for(&l, item);
	}
}

static void tell_none(struct check *c, const struct job_setting *s, const char *name, size_t length)
{
	struct finding *f = check_tell(c, FINDING_JOB_RAIL_NONE, s);

	if (!s)
		finding_set(&f->what, "NCCL_IB_HCA is not set");
	finding_set(&f->got, "%.*s", (int)length, name);
}

/* As NCCL 2.30.7 takes "name:port:rail": atoi(), and -1 where there is nothing. */
static int rail_number(const char *item)
{
	const char *at = item;

	for (unsigned i = 0; i < 2; i++) {
		at += strcspn(at, ":");
		at += *at == ':';
	}
	return *at && *at != ':' ? atoi(at) : -1;
}

static void tell_order(struct check *c, const struct job_setting *s, const size_t *order, size_t count)
{
	struct finding *f;
	bool sorted = true;

	for (size_t i = 1; i < count; i++)
		sorted &= order[i - 1] < order[i];
	if (sorted)
		return;
	f = check_tell(c, FINDING_JOB_RAIL_ORDER, s);
	for (size_t i = 0; i < count; i++)
		finding_append(&f->got, "%s", c->q->site->fabrics[order[i]].name);
	finding_set(&f->detail, "adapters are taken in the order in which the system has them");
}

struct items {
	size_t order[SITE_FABRICS_MAX], count; /* fabrics as they come first */
	uint64_t seen;
	int number[SITE_FABRICS_MAX]; /* of the fabric's rail, by the first item that gives one; -1: none */
	uint64_t told;
};

static void judge_number(struct check *c, const struct job_setting *s, struct items *items, size_t fabric, int number)
{
	const struct site_fabric *fabrics = c->q->site->fabrics;

	if (number < 0 || c->q->nccl < JOB_NCCL(2, 30, 7))
		return;
	for (size_t i = 0; i < c->q->site->count; i++) {
		struct finding *f;

		if (i == fabric || items->number[i] != number || items->told >> fabric & 1)
			continue;
		f = check_tell(c, FINDING_JOB_RAIL_NUMBER, s);
		finding_set(&f->got, "number %d of %s and %s", number, fabrics[i].name, fabrics[fabric].name);
		items->told |= (uint64_t)1 << fabric;
	}
	if (items->number[fabric] < 0)
		items->number[fabric] = number;
}

static void judge_items(struct check *c, const struct job_setting *s, const char *list)
{
	struct items items = {.count = 0};
	char item[ITEM];
	size_t length;
	bool exact, none;
	const char *at = items_of(list, &exact);

	for (size_t i = 0; i < SITE_FABRICS_MAX; i++)
		items.number[i] = -1;
	while (at && *at) {
		size_t fabric;

		if (!next_item(&at, exact, item, &length))
			continue;
		fabric = fabric_of_item(c->q->site, item, &none);
		if (none)
			tell_none(c, s, item + exact, length);
		if (fabric == SITE_FABRICS_MAX)
			continue;
		if (!(items.seen >> fabric & 1))
			items.order[items.count++] = fabric;
		items.seen |= (uint64_t)1 << fabric;
		judge_number(c, s, &items, fabric, rail_number(item));
	}
	tell_order(c, s, items.order, items.count);
}

/* --- the host's adapters --- */

/* Whether an item that takes nothing of the site's, and was told, takes this one. */
static bool told_by_item(const struct check *c, const char *list, const char *name, unsigned port)
{
	char item[ITEM];
	size_t length;
	bool exact, none;
	const char *at = items_of(list, &exact);

	while (at && *at) {
		if (!next_item(&at, exact, item, &length))
			continue;
		fabric_of_item(c->q->site, item, &none);
		if (none && job_hca_takes(item, name, port))
			return true;
	}
	return false;
}

/* Adapters here that are taken and in no fabric of the site: storage, management. */
static void judge_host(struct check *c, const struct job_setting *s, const char *list)
{
	for (size_t i = 0; c->q->host && i < c->q->host->hca_count; i++) {
		const struct job_hca *h = &c->q->host->hcas[i];

		for (size_t n = 0; n < h->port_count; n++) {
			const struct job_port *p = &h->ports[n];
			char text[96];

			if (p->state != JOB_PORT_ACTIVE || !job_hca_takes(list, h->name, p->number) ||
			    site_fabric_of(c->q->site, h->name, p->number) || told_by_item(c, list, h->name, p->number))
				continue;
			snprintf(text, sizeof(text), "%.63s:%u", h->name, p->number);
			tell_none(c, s, text, strlen(text));
		}
	}
}

/* --- the whole --- */

static void judge_missing(struct check *c, const struct job_setting *s, const char *list)
{
	const struct site *site = c->q->site;
	struct finding *f = NULL;

	for (size_t i = 0; i < site->count; i++) {
		for (size_t n = 0; n < site->fabrics[i].adapter_count; n++) {
			if (takes(list, site->fabrics[i].adapters[n]))
				continue;
			if (!f)
				f = check_tell(c, FINDING_JOB_RAIL_MISSING, s);
			finding_append(&f->got, "without %s of %s", site->fabrics[i].adapters[n], site->fabrics[i].name);
		}
	}
}

static void judge_cross(struct check *c, const char *list)
{
	const struct job_setting *s = check_get(c, "NCCL_CROSS_NIC");
	uint64_t mask = fabrics_of(c->q->site, list);
	long long value = 2;
	struct finding *f;

	if ((mask & (mask - 1)) == 0)
		return;
	if (check_unknown(c, "NCCL_CROSS_NIC")) {
		f = check_tell(c, FINDING_JOB_RAIL_UNKNOWN, job_env_get(c->env, "NCCL_CROSS_NIC"));
		finding_set(&f->got, "not known whether adapters of different fabrics may be connected");
		return;
	}
	check_number(c, "NCCL_CROSS_NIC", &value);
	if (value == 0)
		return;
	f = check_tell(c, FINDING_JOB_RAIL_CROSS, s);
	if (!s)
		finding_set(&f->what, "NCCL_CROSS_NIC is not set");
	finding_set(&f->wanted, "NCCL_CROSS_NIC=0");
	add_names(&f->detail, c->q->site, mask);
	if (value == 1)
		f->severity = FINDING_WARNING;
	finding_set(&f->got, value == 1 ? "a ring or tree may go from one adapter to any other"
					: "one adapter for each ring and tree, unless NCCL reckons that several are faster");
}

void check_site(struct check *c)
{
	const struct job_setting *s = job_env_get(c->env, "NCCL_IB_HCA");
	const char *list;
	struct finding *f;

	if (!c->q->site)
		return;
	if (!list_of(c->env, &list)) {
		f = check_tell(c, FINDING_JOB_RAIL_UNKNOWN, s);
		finding_set(&f->got, "known when the job starts");
		return;
	}
	if (c->q->link != JOB_LINK_INFINIBAND || !has_adapters(c->q->site)) {
		f = finding_add(c->findings, FINDING_JOB_RAIL_UNKNOWN);
		finding_at(f, c->q->site->path, 0, 0);
		finding_set(&f->got, c->q->link != JOB_LINK_INFINIBAND ? "the job's link layer is Ethernet"
									  : "no fabric of the site has 'adapters'");
		return;
	}
	judge_items(c, s, list);
	judge_host(c, s, list);
	judge_missing(c, s, list);
	judge_cross(c, list);
}

/* --- several hosts --- */

/* The value that most have, of those that are known (not 0); the first such. 0: none is. */
static uint64_t usual(const uint64_t *masks, size_t count)
{
	uint64_t best = 0;
	size_t most = 0;

	for (size_t i = 0; i < count; i++) {
		size_t same = 0;

		for (size_t n = 0; masks[i] && masks[i] != best && n < count; n++)
			same += masks[n] == masks[i];
		if (same > most) {
			most = same;
			best = masks[i];
		}
	}
	return best;
}

static void tell_host(struct check *c, uint64_t mask, uint64_t most)
{
	const struct job_setting *s = job_env_get(c->env, "NCCL_IB_HCA");
	struct finding *f = check_tell(c, FINDING_JOB_RAIL_HOSTS, s);

	if (!s)
		finding_set(&f->what, "NCCL_IB_HCA is not set");
	add_names(&f->wanted, c->q->site, most);
	add_names(&f->got, c->q->site, mask);
	if (mask == 0)
		finding_set(&f->got, "none");
	if ((mask & most) == 0) { /* not one path between this host and those */
		f->severity = FINDING_CRITICAL;
		finding_set(&f->detail, "no fabric in common with most hosts");
	}
}

void check_site_hosts(const struct job_env *envs, size_t count, const struct job_question *q, struct finding_list *findings)
{
	uint64_t *masks, most;
	const char *list;

	if (!q->site || count < 2 || q->link != JOB_LINK_INFINIBAND)
		return;
	masks = calloc(count, sizeof(*masks));
	if (!masks) {
		findings->lost = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		masks[i] = list_of(&envs[i], &list) ? fabrics_of(q->site, list) : 0;
	most = usual(masks, count);
	for (size_t i = 0; most && i < count; i++) {
		struct check c = {.env = &envs[i], .q = q, .findings = findings};

		if (masks[i] != most && list_of(&envs[i], &list))
			tell_host(&c, masks[i], most);
	}
	free(masks);
}
