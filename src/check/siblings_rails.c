/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: hosts with adapters on several switches, an adapter ("rail") on each. Hosts that have one adapter on a
 * switch have each other adapter on one and the same switch, too: what most of them keep tells where an adapter belongs.
 */
#include "siblings_seats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_device(const struct seat *x, const struct seat *y)
{
	int c = strcmp(x->name.device, y->name.device);

	return c ? c : x->number < y->number ? -1 : x->number > y->number;
}

/* --- hosts on the same switches, whose adapters are exchanged --- */

static int by_set(const void *a, const void *b)
{
	const struct seat *x = a, *y = b;
	int c;

	if (x->leaves != y->leaves)
		return x->leaves < y->leaves ? -1 : 1;
	c = compare_device(x, y);
	return c ? c : strcmp(x->name.host, y->name.host);
}

/* Seats of one rail of hosts on the same switches. */
static void compare_set(struct seat *seats, size_t count, uint32_t *values)
{
	uint32_t usual;

	for (size_t i = 0; i < count; i++)
		values[i] = seats[i].leaf;
	if (seats->leaves == 0 || !seats->name.device[0] || !site_usual(values, count, &usual))
		return;
	for (size_t i = 0; i < count; i++)
		if (seats[i].leaf != usual) {
			seats[i].belongs = usual;
			seats[i].by_rail = true;
		}
}

static int by_sets(struct seats *seats)
{
	uint32_t *values = calloc(seats->count + 1, sizeof(*values));
	size_t first = 0;

	if (!values)
		return -ENOMEM;
	if (seats->count > 0)
		qsort(seats->items, seats->count, sizeof(*seats->items), by_set);
	for (size_t i = 1; i <= seats->count; i++) {
		struct seat *s = seats->items;

		if (i < seats->count && s[i].leaves == s[first].leaves && compare_device(&s[i], &s[first]) == 0)
			continue;
		if (seats->count > 0)
			compare_set(&s[first], i - first, values);
		first = i;
	}
	free(values);
	return 0;
}

/* --- one adapter elsewhere: the others of its host say where it belongs --- */

#define VOTERS_LEAST 2 /* of two adapters neither can tell which of them is wrong */

/* Two adapters of one host: where the first is, where the second is. */
struct couple {
	const struct seat *first;
	size_t second; /* index of its seat */
	uint32_t leaf; /* of the second */
};

struct vote {
	uint32_t leaf; /* FABRIC_NONE: they disagree */
	uint32_t count, voters;
};

static int by_couple(const void *a, const void *b)
{
	const struct couple *x = a, *y = b;
	int c;

	if (x->first->leaf != y->first->leaf)
		return x->first->leaf < y->first->leaf ? -1 : 1;
	c = compare_device(x->first, y->first);
	if (c != 0)
		return c;
	return x->leaf < y->leaf ? -1 : x->leaf > y->leaf;
}

static void vote(struct vote *votes, const struct couple *couples, size_t count)
{
	uint32_t usual = FABRIC_NONE;
	size_t most = 0, run = 0;

	for (size_t i = 0; i < count; i++) {
		run = i > 0 && couples[i].leaf == couples[i - 1].leaf ? run + 1 : 1;
		if (run > most) {
			most = run;
			usual = couples[i].leaf;
		}
	}
	/* all but the one that is judged: two at least, and two thirds */
	if (most < VOTERS_LEAST || most * 3 < (count - 1) * 2)
		return;
	for (size_t i = 0; i < count; i++) {
		struct vote *v = &votes[couples[i].second];

		if (couples[i].leaf == usual)
			continue;
		if (v->count == 0)
			v->leaf = usual;
		else if (v->leaf != usual)
			v->leaf = FABRIC_NONE;
		v->count++;
	}
}

/* Couples of all hosts whose second adapter is of one device and port. */
static size_t find_couples(const struct seats *seats, const struct seat *of, struct couple *couples)
{
	size_t count = 0;

	for (size_t i = 0, next; i < seats->count; i = next) {
		size_t second = SIZE_MAX;

		for (next = i; next < seats->count &&
			       strcmp(seats->items[next].name.host, seats->items[i].name.host) == 0; next++)
			if (seats->items[next].leaves && compare_device(&seats->items[next], of) == 0)
				second = next;
		for (size_t n = i; second != SIZE_MAX && n < next; n++)
			if (n != second)
				couples[count++] = (struct couple){&seats->items[n], second, seats->items[second].leaf};
	}
	return count;
}

#define RAILS_MAX 64 /* kinds of adapters that are looked at */

/* One seat of each device and port that hosts on several switches have. */
static size_t find_devices(const struct seats *seats, const struct seat *devices[RAILS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < seats->count; i++) {
		bool known = !seats->items[i].leaves || !seats->items[i].name.device[0];

		for (size_t d = 0; d < count && !known; d++)
			known = compare_device(devices[d], &seats->items[i]) == 0;
		if (!known && count < RAILS_MAX)
			devices[count++] = &seats->items[i];
	}
	return count;
}

static void count_votes(struct seats *seats, const struct vote *votes)
{
	for (size_t i = 0, next; i < seats->count; i = next) {
		for (next = i; next < seats->count &&
			       strcmp(seats->items[next].name.host, seats->items[i].name.host) == 0;)
			next++;
		for (size_t n = i; n < next; n++) {
			struct seat *seat = &seats->items[n];
			const struct vote *v = &votes[n];

			if (v->count < VOTERS_LEAST || v->leaf == FABRIC_NONE || v->count * 2 <= next - i - 1 ||
			    seat->belongs != FABRIC_NONE)
				continue;
			seat->belongs = v->leaf;
			seat->by_rail = true;
		}
	}
}

static int by_votes(struct seats *seats)
{
	struct couple *couples = calloc(seats->count + 1, sizeof(*couples));
	struct vote *votes = calloc(seats->count + 1, sizeof(*votes));
	const struct seat *devices[RAILS_MAX];
	size_t count, first = 0, kinds;
	int ret = couples && votes ? 0 : -ENOMEM;

	seats_sort(seats);
	kinds = find_devices(seats, devices);
	for (size_t d = 0; ret == 0 && d < kinds; d++) {
		count = find_couples(seats, devices[d], couples);
		if (count > 0)
			qsort(couples, count, sizeof(*couples), by_couple);
		first = 0;
		for (size_t i = 1; i <= count; i++) {
			if (i < count && couples[i].first->leaf == couples[first].first->leaf &&
			    compare_device(couples[i].first, couples[first].first) == 0)
				continue;
			vote(votes, &couples[first], i - first);
			first = i;
		}
	}
	if (ret == 0)
		count_votes(seats, votes);
	free(couples);
	free(votes);
	return ret;
}

int seats_by_rails(struct seats *seats)
{
	int ret = by_sets(seats);

	return ret < 0 ? ret : by_votes(seats);
}
