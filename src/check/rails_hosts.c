/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rails: hosts that lack a rail that others of their kind are in, or have an adapter in another rail than those have it in.
 *
 * Hosts whose names differ in their number alone are of one kind; but three or more that are in the same less than half of
 * the rails are a kind of their own, being built so. What at least two thirds of a kind have is usual (site_usual()). Where
 * the caller says which adapters belong in a rail, that counts instead.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rails.h"

/* Room for the hosts of one family, and what is usual of the kind in hand. */
struct judging {
	struct rails *r;
	uint64_t *masks;  /* of hosts without a kind yet, sorted */
	uint32_t *values; /* for site_usual() */
	struct rail_seat **seats;
	uint32_t usual[RAILS_MAX]; /* adapters of a host in each group; 0: none, or nothing is usual */
	unsigned usual_rails;
	uint32_t kinds;
};

/* --- kinds --- */

#define KIND_NONE UINT32_MAX

static unsigned bits(uint64_t mask)
{
	return (unsigned)__builtin_popcountll(mask);
}

static int by_mask(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* How many of the sorted masks are this one. */
static size_t alike(const uint64_t *masks, size_t count, uint64_t mask)
{
	size_t low = 0, high = count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (masks[middle] < mask)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < count && masks[end] == mask;)
		end++;
	return end - low;
}

/* The set of most rails that three hosts are in; of several the most common one. 0: there is none. */
static uint64_t fullest(const uint64_t *masks, size_t count)
{
	uint64_t most = 0;
	size_t most_count = 0;

	for (size_t i = 0, next; i < count; i = next) {
		for (next = i; next < count && masks[next] == masks[i];)
			next++;
		if (next - i < SIBLINGS_LEAST || bits(masks[i]) < bits(most) ||
		    (bits(masks[i]) == bits(most) && next - i <= most_count))
			continue;
		most = masks[i];
		most_count = next - i;
	}
	return most;
}

/* A host is no node of a fabric: by its name, and the GUID of one of its adapters. */
static void host_place(struct finding *f, const struct rail_seat *seat)
{
	f->guid = seat->guid;
	f->port = FINDING_WHOLE_NODE;
	finding_set(&f->name, "%s", seat->name.host);
}

static void note_kind(const struct rails *r, const struct rail_host *first, size_t count, uint64_t base)
{
	struct finding *f = finding_add(r->findings, FINDING_RAIL_OTHER_KIND);
	const struct rail_seat *seat = &r->seats[first->first];
	bool which[RAILS_MAX];

	for (size_t i = 0; i < RAILS_MAX; i++)
		which[i] = first->present >> i & 1;
	host_place(f, seat);
	finding_set(&f->what, "%zu hosts, this one the first", count);
	finding_set(&f->wanted, "%u rails", bits(base));
	rails_names(&f->got, r, which);
}

/* Gives hosts of one family their kinds. Each round halves the number of rails, so they are few. */
static void make_kinds(struct judging *j, struct rail_host *hosts, size_t count)
{
	uint64_t base = 0;

	for (size_t left = count; left > 0; j->kinds++) {
		size_t n = 0;
		uint64_t most;
		bool told = base == 0;

		for (size_t i = 0; i < count; i++)
			if (hosts[i].kind == KIND_NONE)
				j->masks[n++] = hosts[i].present;
		qsort(j->masks, n, sizeof(*j->masks), by_mask);
		most = fullest(j->masks, n);
		for (size_t i = 0; i < count; i++) {
			uint64_t present = hosts[i].present;

			if (hosts[i].kind != KIND_NONE ||
			    (bits(present) * 2 < bits(most) && alike(j->masks, n, present) >= SIBLINGS_LEAST))
				continue; /* has one, or is of one to come */
			hosts[i].kind = j->kinds;
			left--;
			if (!told && present == most)
				note_kind(j->r, &hosts[i], alike(j->masks, n, most), base);
			told |= present == most;
		}
		if (base == 0)
			base = most;
	}
}

/* --- what is usual --- */

/* The rail that an adapter belongs in by what the caller says of the rails. */
static bool told_rail(const struct rails *r, const struct rail_seat *seat, uint32_t *group)
{
	for (size_t i = 0; i < r->count; i++)
		for (size_t n = 0; !r->left[i] && n < r->items[i].adapter_count; n++)
			if (fabric_adapter_is(r->items[i].adapters[n], seat->name.device, seat->number)) {
				*group = r->group[i];
				return true;
			}
	return false;
}

/* Of a host's seats; what belongs elsewhere by what is said of the rails is counted there. */
static uint32_t seats_in(const struct rails *r, const struct rail_host *host, size_t group)
{
	uint32_t count = 0, told;

	for (size_t i = host->first; i < host->first + host->count; i++)
		count += (told_rail(r, &r->seats[i], &told) ? told : r->seats[i].group) == group;
	return count;
}

/* False: nothing is, and these hosts cannot be compared. */
static bool find_usual(struct judging *j, const struct rail_host *hosts, size_t count, uint32_t kind)
{
	const struct rails *r = j->r;

	j->usual_rails = 0;
	for (size_t g = 0; g < r->count; g++) {
		size_t n = 0;

		j->usual[g] = 0;
		if (!rail_counts(r, g))
			continue;
		for (size_t i = 0; i < count; i++)
			if (hosts[i].kind == kind)
				j->values[n++] = seats_in(r, &hosts[i], g);
		if (!site_usual(j->values, n, &j->usual[g]))
			j->usual[g] = 0;
		j->usual_rails += j->usual[g] > 0;
	}
	return j->usual_rails > 0;
}

static int by_device(const void *a, const void *b)
{
	const struct rail_seat *x = *(const struct rail_seat *const *)a, *y = *(const struct rail_seat *const *)b;
	int c = strcmp(x->name.device, y->name.device);

	if (c != 0)
		return c;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x > y) - (x < y); /* as in order of hosts */
}

static bool same_device(const struct rail_seat *x, const struct rail_seat *y)
{
	return strcmp(x->name.device, y->name.device) == 0 && x->number == y->number;
}

/* Says of the seats of one adapter's name which rail they belong in. */
static void judge_device(struct judging *j, struct rail_seat **seats, size_t count)
{
	uint32_t usual;
	size_t n = 0;

	if (told_rail(j->r, seats[0], &usual)) {
		for (size_t i = 0; i < count; i++)
			seats[i]->belongs = seats[i]->group != usual ? (uint8_t)usual : RAIL_NONE;
		return;
	}
	for (size_t i = 0; i < count; i++)
		j->values[n++] = seats[i]->group;
	if (!site_usual(j->values, n, &usual))
		return;
	for (size_t i = 0; i < count; i++) {
		bool twice = (i > 0 && strcmp(seats[i - 1]->name.host, seats[i]->name.host) == 0) ||
			     (i + 1 < count && strcmp(seats[i + 1]->name.host, seats[i]->name.host) == 0);

		if (seats[i]->group != usual && !twice)
			seats[i]->belongs = (uint8_t)usual;
	}
}

static void find_wrong(struct judging *j, const struct rail_host *hosts, size_t count, uint32_t kind)
{
	struct rails *r = j->r;
	size_t n = 0, first = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t s = hosts[i].first; hosts[i].kind == kind && s < hosts[i].first + hosts[i].count; s++)
			if (r->seats[s].name.device[0])
				j->seats[n++] = &r->seats[s];
	if (n == 0)
		return;
	qsort(j->seats, n, sizeof(struct rail_seat *), by_device);
	for (size_t i = 1; i <= n; i++) {
		if (i < n && same_device(j->seats[i], j->seats[first]))
			continue;
		judge_device(j, &j->seats[first], i - first);
		first = i;
	}
}

/* --- telling --- */

static void tell_wrong(const struct rails *r, struct rail_host *host, size_t odd)
{
	struct finding *f = finding_add(r->findings, FINDING_RAIL_HOST_WRONG);
	const struct rail_seat *first = NULL, *second = NULL;

	if (!r->findings->lost)
		host->wrong = r->findings->count;
	finding_set(&f->what, "host %s", r->seats[host->first].name.host);

	for (size_t i = host->first; i < host->first + host->count; i++) {
		const struct rail_seat *seat = &r->seats[i];
		char text[FABRIC_TEXT];

		if (seat->belongs == RAIL_NONE)
			continue;
		if (!first)
			seat_place(f, r, seat);
		second = first ? seat : NULL;
		first = first ? first : seat;
		finding_append(&f->wanted, "%s in %s", seat_text(r, seat, text), r->items[seat->belongs].name);
		finding_append(&f->got, "%s in %s", seat_text(r, seat, text), r->items[seat->group].name);
	}
	if (odd == 2 && first && second && first->belongs == second->group && second->belongs == first->group)
		finding_set(&f->detail, "the two are exchanged");
	else if (odd >= SIBLINGS_LEAST && odd == host->count)
		finding_set(&f->detail, "all of its adapters: they may only be numbered in another order than those of the others");
}

/* What is there of it all when adapters that are elsewhere are counted where they belong. */
static void tell_missing(const struct judging *j, const struct rail_host *host, const uint32_t *there)
{
	const struct rails *r = j->r;
	const struct rail_seat *seat = &r->seats[host->first];
	bool lacks[RAILS_MAX] = {false}, extra[RAILS_MAX] = {false}, none = true, more = false;
	struct finding *f = NULL;
	unsigned count = 0;

	for (size_t g = 0; g < r->count; g++) {
		lacks[g] = there[g] < j->usual[g];
		extra[g] = j->usual[g] > 0 && there[g] > j->usual[g];
		count += lacks[g];
		none &= !lacks[g] || there[g] == 0;
		more |= extra[g];
	}
	if (count == 0)
		return;
	f = finding_add(r->findings, FINDING_RAIL_HOST_MISSING);
	host_place(f, seat);
	rails_names(&f->what, r, lacks);
	finding_set(&f->wanted, "all of the %u rails that others of its kind are in", j->usual_rails);
	finding_set(&f->got, none ? "no adapter there" : "too few adapters there");
	if (more) {
		char *where = NULL;

		rails_names(&where, r, extra);
		finding_set(&f->detail, "it has more than others in %s", where ? where : "another one");
		free(where);
	}
}

static void judge_host(struct judging *j, struct rail_host *host)
{
	struct rails *r = j->r;
	uint32_t there[RAILS_MAX] = {0}, before = r->result->hosts_odd;
	size_t odd = 0, findings = r->findings->count;

	for (size_t i = host->first; i < host->first + host->count; i++) {
		const struct rail_seat *seat = &r->seats[i];

		odd += seat->belongs != RAIL_NONE;
		there[seat->belongs != RAIL_NONE ? seat->belongs : seat->group]++;
	}
	if (odd > 0)
		tell_wrong(r, host, odd);
	tell_missing(j, host, there);
	r->result->hosts_odd = before + (r->findings->count > findings);
}

static void judge_kind(struct judging *j, struct rail_host *hosts, size_t count, uint32_t kind)
{
	size_t members = 0;

	for (size_t i = 0; i < count; i++)
		members += hosts[i].kind == kind;
	if (members < SIBLINGS_LEAST || !find_usual(j, hosts, count, kind)) {
		for (size_t i = 0; i < count; i++)
			if (hosts[i].kind == kind)
				hosts[i].kind = KIND_NONE;
		return;
	}
	j->r->result->hosts_compared += (uint32_t)members;
	find_wrong(j, hosts, count, kind);
	for (size_t i = 0; i < count; i++)
		if (hosts[i].kind == kind)
			judge_host(j, &hosts[i]);
}

/* Hosts that cannot be compared with others, but with what is said of the rails. */
static void judge_told(struct rails *r)
{
	for (size_t i = 0; i < r->host_count; i++) {
		struct rail_host *host = &r->hosts[i];
		uint32_t told;
		size_t odd = 0;

		for (size_t s = host->first; host->kind == KIND_NONE && s < host->first + host->count; s++) {
			if (!told_rail(r, &r->seats[s], &told) || told == r->seats[s].group)
				continue;
			r->seats[s].belongs = (uint8_t)told;
			odd++;
		}
		if (odd > 0)
			tell_wrong(r, host, odd);
		r->result->hosts_odd += odd > 0;
	}
}

static const struct rail_seat *first_wrong(const struct rails *r, const struct rail_host *host)
{
	size_t i = host->first;

	while (i + 1 < host->first + host->count && r->seats[i].belongs == RAIL_NONE)
		i++;
	return &r->seats[i];
}

static bool has_device(const struct rails *r, const struct rail_host *host, const struct rail_seat *like)
{
	for (size_t i = host->first; i < host->first + host->count; i++)
		if (same_device(&r->seats[i], like))
			return true;
	return false;
}

/* Two findings about hosts: the same adapters in the same rails. Texts may be missing for want of memory. */
static bool wrong_alike(const struct finding *a, const struct finding *b)
{
	return a->got && b->got && a->wanted && b->wanted && strcmp(a->got, b->got) == 0 && strcmp(a->wanted, b->wanted) == 0;
}

static bool is_kept(const struct finding *f, void *arg)
{
	(void)arg;
	return f->code != FINDING_RAIL_HOST_WRONG || !f->told_by_another;
}

/*
 * Hosts that all have the same adapters in the same other rails are not cabled wrong one by one: what the rails are said to have is,
 * or the numbers of their adapters. One finding takes the place of theirs. Two thirds of the hosts that have such an adapter, as
 * elsewhere; by what most hosts have alone it cannot come to that.
 */
static void group_wrong(const struct rails *r)
{
	for (size_t i = 0; i < r->host_count; i++) {
		const struct rail_host *host = &r->hosts[i];
		const struct rail_seat *seat = first_wrong(r, host);
		struct finding *f, *of = r->findings->items;
		size_t alike = 0, all = 0;

		if (host->wrong == 0 || of[host->wrong - 1].told_by_another)
			continue;
		for (size_t n = 0; n < r->host_count; n++) {
			all += has_device(r, &r->hosts[n], seat);
			alike += r->hosts[n].wrong > 0 && wrong_alike(&of[r->hosts[n].wrong - 1], &of[host->wrong - 1]);
		}
		if (alike < SIBLINGS_LEAST || alike * 3 < all * 2)
			continue;
		f = finding_add(r->findings, FINDING_RAIL_SITE_WRONG);
		of = r->findings->items; /* may have moved */
		finding_set(&f->what, "%zu of the %zu hosts that have %s, the first %s", alike, all, seat->name.device, seat->name.host);
		finding_set(&f->wanted, "%s", of[host->wrong - 1].wanted);
		finding_set(&f->got, "%s", of[host->wrong - 1].got);
		if (of[host->wrong - 1].detail)
			finding_set(&f->detail, "%s, on each of them", of[host->wrong - 1].detail);
		for (size_t n = r->host_count; n-- > i;)
			if (r->hosts[n].wrong > 0 && wrong_alike(&of[r->hosts[n].wrong - 1], &of[host->wrong - 1]))
				of[r->hosts[n].wrong - 1].told_by_another = true;
	}
	finding_list_filter(r->findings, is_kept, NULL);
}

static void tell_alone(const struct rails *r)
{
	uint32_t alone = r->result->hosts - r->result->hosts_compared;
	const struct rail_seat *seat;
	struct finding *f;

	if (alone == 0)
		return;
	f = finding_add(r->findings, FINDING_RAIL_HOST_ALONE);
	for (size_t i = 0; i < r->host_count; i++) {
		if (r->hosts[i].kind != KIND_NONE)
			continue;
		seat = &r->seats[r->hosts[i].first];
		finding_set(&f->got, "%u host%s, the first %s", alone, alone > 1 ? "s" : "", seat->name.host);
		break;
	}
}

int rails_hosts(struct rails *r)
{
	struct judging j = {.r = r};
	int error = 0;

	j.masks = calloc(r->host_count + 1, sizeof(*j.masks));
	j.values = calloc(r->seat_count + 1, sizeof(*j.values));
	j.seats = calloc(r->seat_count + 1, sizeof(struct rail_seat *));
	if (!j.masks || !j.values || !j.seats)
		error = -ENOMEM;
	for (size_t i = 0; i < r->host_count; i++)
		r->hosts[i].kind = KIND_NONE;
	for (size_t i = 0, next; error == 0 && i < r->host_count; i = next) {
		const char *stem = r->seats[r->hosts[i].first].name.stem;
		uint32_t first = j.kinds;

		for (next = i; next < r->host_count && strcmp(r->seats[r->hosts[next].first].name.stem, stem) == 0;)
			next++;
		make_kinds(&j, &r->hosts[i], next - i);
		for (uint32_t kind = first; kind < j.kinds; kind++)
			judge_kind(&j, &r->hosts[i], next - i, kind);
	}
	r->result->hosts = (uint32_t)r->host_count;
	if (error == 0) {
		judge_told(r);
		if (!r->findings->lost)
			group_wrong(r);
		tell_alone(r);
	}
	free(j.masks);
	free(j.values);
	free(j.seats);
	return error;
}
