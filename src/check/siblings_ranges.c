/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: hosts whose names number regularly over switches, and those that break it. Looked for are patterns in the
 * numbers of one kind of host, with one of its adapters (siblings_patterns.c); one host a switch of the same number; and
 * all hosts of a rack, by their names, on one switch.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "siblings_family.h"

static int by_number(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* The switch whose name has this stem and number; FABRIC_NONE: none, or several. */
static uint32_t find_switch(const struct site *site, const struct host_name *like, unsigned long number)
{
	uint32_t found = FABRIC_NONE;

	for (uint32_t n = 0; n < site->fabric->node_count; n++) {
		struct host_name name;

		if (!site_is_switch(site, n) || !host_name_read(site->fabric->nodes[n].name, &name) || name.digits == 0 ||
		    name.number != number || strcmp(name.stem, like->stem) != 0)
			continue;
		if (found != FABRIC_NONE)
			return FABRIC_NONE;
		found = n;
	}
	return found;
}

static int by_difference(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return x < y ? -1 : x > y;
}

/*
 * One host a switch, both numbered alike: oss-07 is on leaf-07. The difference of the two numbers that most have is what
 * the others break.
 */
static int try_singles(struct family *f)
{
	long *differences = calloc(f->count + 1, sizeof(*differences)), usual = 0;
	struct host_name *names = calloc(f->count + 1, sizeof(*names));
	size_t kept = 0, run = 0;

	if (!differences || !names) {
		free(differences);
		free(names);
		return -ENOMEM;
	}
	for (size_t i = 0; i < f->count; i++) {
		if (!host_name_read(f->site->fabric->nodes[f->members[i].seat->leaf].name, &names[i]) ||
		    names[i].digits == 0 || strcmp(names[i].stem, names[0].stem) != 0)
			goto out;
		differences[i] = (long)names[i].number - (long)f->members[i].number;
	}
	qsort(differences, f->count, sizeof(*differences), by_difference);
	for (size_t i = 0; i < f->count; i++) {
		run = i > 0 && differences[i] == differences[i - 1] ? run + 1 : 1;
		if (run > kept) {
			kept = run;
			usual = differences[i];
		}
	}
	/* two in eight: so many numbers alike are no chance */
	if (f->count - kept > (f->count / FAMILY_ODD_OF > 2 ? f->count / FAMILY_ODD_OF : 2))
		goto out;
	for (size_t i = 0; i < f->count; i++) {
		struct seat *seat = f->members[i].seat;
		uint32_t leaf;

		if ((long)names[i].number - (long)f->members[i].number == usual || seat->belongs != FABRIC_NONE)
			continue;
		leaf = find_switch(f->site, &names[0], (unsigned long)((long)f->members[i].number + usual));
		if (leaf != FABRIC_NONE)
			seat->belongs = leaf;
	}
out:
	free(differences);
	free(names);
	return 0;
}

/* --- families --- */

/* Switches in the order of their names, by node. */
struct ranks {
	uint32_t *of;	/* by node */
	uint32_t *node; /* by rank */
	uint32_t count;
};

struct named {
	const char *name;
	uint32_t node;
};

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int c = strverscmp(x->name, y->name);

	return c ? c : x->node < y->node ? -1 : x->node > y->node;
}

static int ranks_make(const struct fabric *fabric, struct ranks *ranks)
{
	struct named *named = calloc((size_t)fabric->node_count + 1, sizeof(*named));
	uint32_t count = 0;

	ranks->of = calloc((size_t)fabric->node_count + 1, sizeof(*ranks->of));
	ranks->node = calloc((size_t)fabric->node_count + 1, sizeof(*ranks->node));
	if (!named || !ranks->of || !ranks->node) {
		free(named);
		return -ENOMEM;
	}
	for (uint32_t n = 0; n < fabric->node_count; n++)
		named[count++] = (struct named){fabric->nodes[n].name ? fabric->nodes[n].name : "", n};
	qsort(named, count, sizeof(*named), by_name);
	for (uint32_t r = 0; r < count; r++) {
		ranks->node[r] = named[r].node;
		ranks->of[named[r].node] = r;
	}
	free(named);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Numbers the family's switches from 0, by name. */
static void find_leaves(struct family *f, const struct ranks *ranks)
{
	const struct fabric *fabric = f->site->fabric;
	uint32_t kept = 0;

	for (size_t i = 0; i < f->count; i++)
		f->leaves[i] = ranks->of[f->members[i].seat->leaf];
	qsort(f->leaves, f->count, sizeof(*f->leaves), by_value);
	f->in_order = true;
	for (size_t i = 0; i < f->count; i++) {
		const char *before = kept > 0 ? fabric->nodes[ranks->node[f->leaves[kept - 1]]].name : NULL;
		const char *name = fabric->nodes[ranks->node[f->leaves[i]]].name;

		if (kept > 0 && f->leaves[kept - 1] == f->leaves[i])
			continue;
		if (!name || (before && strcmp(before, name) == 0))
			f->in_order = false;
		f->leaves[kept++] = f->leaves[i];
	}
	f->leaf_count = kept;
	for (size_t i = 0; i < f->count; i++) {
		uint32_t rank = ranks->of[f->members[i].seat->leaf];
		const uint32_t *at = bsearch(&rank, f->leaves, kept, sizeof(*f->leaves), by_value);

		f->members[i].leaf = at ? (uint32_t)(at - f->leaves) : 0;
	}
}

/* Says where members belong by the best pattern. */
static void settle(struct family *f, const struct ranks *ranks)
{
	for (size_t i = 0; i < f->count; i++) {
		struct member *m = &f->members[i];
		uint32_t want = f->score > 0 ? f->want[m->at] : m->leaf;

		if (want != m->leaf && m->seat->belongs == FABRIC_NONE)
			m->seat->belongs = ranks->node[f->leaves[want]];
	}
}

static void find_runs(struct family *f)
{
	for (size_t first = 0, end; first < f->count; first = end) {
		for (end = first + 1; end < f->count && f->members[end].leaf == f->members[first].leaf;)
			end++;
		for (size_t i = first; i < end; i++)
			f->members[i].run = (uint32_t)(end - first);
	}
}

/* Hosts that differ in their number alone. */
static int judge_numbered(struct family *f, const struct ranks *ranks)
{
	if (f->count < FAMILY_LEAST || f->members[0].seat->name.digits == 0)
		return 0;
	qsort(f->members, f->count, sizeof(*f->members), by_number);
	for (size_t i = 0; i < f->count; i++) {
		if (i > 0 && f->members[i].number == f->members[i - 1].number)
			return 0; /* two of one name */
		f->members[i].at = i;
	}
	find_leaves(f, ranks);
	f->score = 0;
	find_runs(f);
	family_try_numbers(f);
	settle(f, ranks);
	return f->score == 0 ? try_singles(f) : 0;
}

/* Hosts of racks, whose numbers are before theirs: all of one on one switch. They are in the order of racks. */
static void judge_racks(struct family *f, const struct ranks *ranks)
{
	uint32_t block = 0;

	if (f->count < FAMILY_LEAST)
		return;
	for (size_t i = 0; i < f->count; i++) {
		block += i > 0 && strcmp(f->members[i].seat->name.stem, f->members[i - 1].seat->name.stem) != 0;
		f->members[i].block = block;
		f->members[i].at = i;
	}
	if (block == 0)
		return;
	find_leaves(f, ranks);
	f->score = 0;
	family_try_blocks(f);
	settle(f, ranks);
}

/* Compares texts as if all numbers in them were one. */
static int compare_masked(const char *a, const char *b)
{
	for (;;) {
		bool x = isdigit((unsigned char)*a), y = isdigit((unsigned char)*b);

		if (x && y) {
			a += strspn(a, "0123456789");
			b += strspn(b, "0123456789");
			continue;
		}
		if (*a != *b || !*a)
			return (unsigned char)*a - (unsigned char)*b;
		a++;
		b++;
	}
}

static int compare_kind(const struct seat *x, const struct seat *y)
{
	int c = compare_masked(x->name.stem, y->name.stem);

	if (c == 0)
		c = strcmp(x->name.device, y->name.device);
	return c ? c : x->number < y->number ? -1 : x->number > y->number;
}

static int by_kind(const void *a, const void *b)
{
	const struct seat *x = a, *y = b;
	int c = compare_kind(x, y);

	if (c == 0)
		c = strcmp(x->name.stem, y->name.stem);
	if (c != 0)
		return c;
	if (x->name.number != y->name.number)
		return x->name.number < y->name.number ? -1 : 1;
	return x->port < y->port ? -1 : x->port > y->port;
}

static void take(struct family *f, struct seat *seats, size_t count)
{
	for (size_t i = 0; i < count; i++)
		f->members[i] = (struct member){.seat = &seats[i], .number = seats[i].name.number};
	f->count = count;
}

static int judge(struct family *f, struct seats *seats, const struct ranks *ranks)
{
	struct seat *s = seats->items;
	int ret = 0;

	for (size_t first = 0, end; ret == 0 && first < seats->count; first = end) {
		for (end = first + 1; end < seats->count && compare_kind(&s[end], &s[first]) == 0;)
			end++;
		for (size_t from = first, to; ret == 0 && from < end; from = to) {
			for (to = from + 1; to < end && strcmp(s[to].name.stem, s[from].name.stem) == 0;)
				to++;
			take(f, &s[from], to - from);
			ret = judge_numbered(f, ranks);
		}
		take(f, &s[first], end - first);
		judge_racks(f, ranks);
	}
	return ret;
}

int seats_by_ranges(const struct site *site, struct seats *seats)
{
	size_t room = seats->count + 1;
	struct family f = {.site = site,
			   .members = calloc(room, sizeof(*f.members)),
			   .leaves = calloc(room, sizeof(*f.leaves)),
			   .block_leaf = calloc(room, sizeof(*f.block_leaf)),
			   .leaf_block = calloc(room, sizeof(*f.leaf_block)),
			   .leaf_most = calloc(room, sizeof(*f.leaf_most)),
			   .tally = calloc(room, sizeof(*f.tally)),
			   .want = calloc(room, sizeof(*f.want))};
	struct ranks ranks = {0};
	int ret = f.members && f.leaves && f.block_leaf && f.leaf_block && f.leaf_most && f.tally && f.want ? 0 : -ENOMEM;

	if (ret == 0)
		ret = ranks_make(site->fabric, &ranks);
	if (ret == 0 && seats->count > 0) {
		qsort(seats->items, seats->count, sizeof(*seats->items), by_kind);
		ret = judge(&f, seats, &ranks);
	}
	free(ranks.of);
	free(ranks.node);
	free(f.members);
	free(f.leaves);
	free(f.block_leaf);
	free(f.leaf_block);
	free(f.leaf_most);
	free(f.tally);
	free(f.want);
	return ret;
}
