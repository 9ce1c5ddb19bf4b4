/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: hosts whose names number regularly over switches, and those that break it. Looked for are, of one kind of
 * host and one of its adapters: so many numbers in a row on each switch; each so-manieth number on the same switch; all
 * hosts of a rack, by their names, on one switch; and ranges of any length. Nine hosts in ten must keep it, on three switches at
 * least: otherwise nothing is said.
 */
#include "siblings_seats.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAVES_LEAST 3
#define ONE_ODD_LEAST 8	 /* hosts, for one of them to be told; */
#define TWO_ODD_LEAST 15 /* for two: in small numbers many orders look like one */
#define ODD_OF 10	 /* one host in so many at most */

struct member {
	struct seat *seat;
	size_t at; /* which it is by number */
	unsigned long number;
	uint32_t leaf;	/* among the family's, from 0, by name */
	uint32_t block; /* that it is in by the pattern that is tried */
	uint32_t want;	/* the leaf that the pattern wants; NOWHERE: nothing is known */
};
#define NOWHERE UINT32_MAX

/* Hosts of one kind, with one of their adapters, by number. */
struct family {
	const struct site *site;
	struct member *members;
	size_t count;
	uint32_t *leaves; /* ranks of switches by name */
	uint32_t leaf_count;
	bool in_order; /* all leaves' names differ */
	/* for the pattern that is tried: */
	uint32_t *block_leaf;	    /* by block: the leaf it is matched with, NOWHERE */
	uint32_t *leaf_block;	    /* by leaf: the block that has most hosts there, NOWHERE where two have */
	uint32_t *leaf_most, *tally; /* by leaf; tally is all 0 between uses */
	/* of the best so far, by member: where it belongs, its own leaf where it is right or several patterns disagree */
	uint32_t *want;
	size_t score;
};

/* --- trying one pattern: members are in the order of their blocks --- */

static size_t block_end(const struct family *f, size_t first)
{
	size_t i = first;

	while (i < f->count && f->members[i].block == f->members[first].block)
		i++;
	return i;
}

/* Which block has most hosts on each leaf. */
static void find_leaf_blocks(struct family *f)
{
	for (uint32_t l = 0; l < f->leaf_count; l++) {
		f->leaf_most[l] = 0;
		f->leaf_block[l] = NOWHERE;
	}
	for (size_t first = 0, end; first < f->count; first = end) {
		uint32_t block = f->members[first].block;

		end = block_end(f, first);
		f->block_leaf[block] = NOWHERE;
		for (size_t i = first; i < end; i++)
			f->tally[f->members[i].leaf]++;
		for (size_t i = first; i < end; i++) {
			uint32_t l = f->members[i].leaf;

			if (f->tally[l] == 0)
				continue;
			if (f->tally[l] > f->leaf_most[l]) {
				f->leaf_most[l] = f->tally[l];
				f->leaf_block[l] = block;
			} else if (f->tally[l] == f->leaf_most[l]) {
				f->leaf_block[l] = NOWHERE;
			}
			f->tally[l] = 0;
		}
	}
}

/* The leaf with most of a block's hosts, two at least, which are most there, too. */
static uint32_t main_leaf(struct family *f, size_t first, size_t end)
{
	uint32_t most = 0, leaf = NOWHERE;

	for (size_t i = first; i < end; i++) {
		uint32_t l = f->members[i].leaf;

		if (++f->tally[l] > most) {
			most = f->tally[l];
			leaf = l;
		}
	}
	for (size_t i = first; i < end; i++) {
		if (f->tally[f->members[i].leaf] == most && f->members[i].leaf != leaf)
			leaf = NOWHERE; /* another has as many */
		if (leaf == NOWHERE)
			break;
	}
	for (size_t i = first; i < end; i++)
		f->tally[f->members[i].leaf] = 0;
	return leaf != NOWHERE && most >= 2 && f->leaf_block[leaf] == f->members[first].block ? leaf : NOWHERE;
}

/*
 * A block that no leaf has most of, as its few hosts are on several: the only one of those leaves that no other block has;
 * where leaves' names go with the numbers, the only one between those of the blocks on both sides (low, high).
 */
static uint32_t left_leaf(const struct family *f, size_t first, size_t end, int64_t low, int64_t high)
{
	uint32_t block = f->members[first].block, found = NOWHERE;

	for (size_t i = first; i < end; i++) {
		uint32_t l = f->members[i].leaf;

		if ((f->leaf_block[l] != block && f->leaf_block[l] != NOWHERE) || l <= low || l >= high || l == found)
			continue;
		if (found != NOWHERE)
			return NOWHERE;
		found = l;
	}
	return found;
}

/* Whether matched blocks, in their order, are on leaves in the order of names. */
static bool blocks_in_order(const struct family *f)
{
	int64_t before = -1;

	for (size_t first = 0; f->in_order && first < f->count; first = block_end(f, first)) {
		uint32_t leaf = f->block_leaf[f->members[first].block];

		if (leaf == NOWHERE)
			continue;
		if (leaf < before)
			return false;
		before = leaf;
	}
	return f->in_order;
}

static void match_left(struct family *f)
{
	bool ordered = blocks_in_order(f);
	int64_t low = -1, high;

	for (size_t first = 0, end; first < f->count; first = end) {
		uint32_t *leaf = &f->block_leaf[f->members[first].block];

		end = block_end(f, first);
		if (*leaf != NOWHERE) {
			low = ordered ? (int64_t)*leaf : -1;
			continue;
		}
		high = INT64_MAX;
		for (size_t next = end; ordered && next < f->count; next = block_end(f, next))
			if (f->block_leaf[f->members[next].block] != NOWHERE) {
				high = f->block_leaf[f->members[next].block];
				break;
			}
		*leaf = left_leaf(f, first, end, low, high);
	}
}

/* Matches blocks and leaves, says where each member belongs, and returns how many are there; 0: it is no pattern. */
static size_t match(struct family *f)
{
	uint32_t matched = 0;
	size_t score = 0;

	find_leaf_blocks(f);
	for (size_t first = 0, end; first < f->count; first = end) {
		end = block_end(f, first);
		f->block_leaf[f->members[first].block] = main_leaf(f, first, end);
		matched += f->block_leaf[f->members[first].block] != NOWHERE;
	}
	if (matched < LEAVES_LEAST)
		return 0;
	match_left(f);
	for (size_t i = 0; i < f->count; i++) {
		struct member *m = &f->members[i];

		m->want = f->block_leaf[m->block];
		score += m->want == m->leaf;
	}
	return score;
}

static bool is_pattern(const struct family *f, size_t score)
{
	size_t odd = f->count - score, most = f->count / ODD_OF;

	if (most < 2)
		most = f->count >= TWO_ODD_LEAST ? 2 : f->count >= ONE_ODD_LEAST ? 1 : 0;
	return odd <= most;
}

/* --- patterns --- */

static int by_number(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Blocks of another kind are not in the order of numbers. */
static int by_block(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return by_number(a, b);
}

/*
 * Whether a member that is not where it belongs joins those that are on its switch: no other is between them by number.
 * Switches need not have the same number of hosts.
 */
static bool joins(const struct family *f, size_t at, int step)
{
	const struct member *m = &f->members[at];

	for (size_t i = at + (size_t)(long)step; i < f->count; i += (size_t)(long)step) { /* below 0 it wraps */
		if (f->members[i].leaf != m->leaf)
			return false;
		if (f->members[i].want == m->leaf)
			return true;
	}
	return false;
}

/*
 * A switch with more hosts of the family than most have, next to one with fewer, while two thirds have as many: then one
 * that joins is moved all the same.
 */
static bool is_between_uneven(struct family *f, uint32_t here, uint32_t there)
{
	uint32_t usual, *counts = f->leaf_most; /* of no use any more */
	uint32_t have, want;

	for (uint32_t l = 0; l < f->leaf_count; l++)
		counts[l] = 0;
	for (size_t i = 0; i < f->count; i++)
		counts[f->members[i].leaf]++;
	have = counts[here];
	want = counts[there];
	return site_usual(counts, f->leaf_count, &usual) && have == usual + 1 && want + 1 == usual;
}

/* Keeps a pattern that is as good as the best so far; where both are, what both say. */
static void keep(struct family *f, size_t score, bool rows)
{
	if (score < f->score || !is_pattern(f, score))
		return;
	for (size_t i = 0; i < f->count; i++) {
		struct member *m = &f->members[i];
		uint32_t want = m->want;

		if (want == NOWHERE || (rows && want != m->leaf && (joins(f, i, 1) || joins(f, i, -1)) &&
					!is_between_uneven(f, m->leaf, want)))
			want = m->leaf;
		if (score > f->score)
			f->want[m->at] = want;
		else if (f->want[m->at] != want)
			f->want[m->at] = m->leaf;
	}
	f->score = score;
}

/* So many numbers in a row on each switch. */
static void try_rows(struct family *f)
{
	static const unsigned long more[] = {72, 80, 96, 100, 128, 1000};
	const unsigned long most = 64;

	for (size_t n = 2; n <= most + sizeof(more) / sizeof(more[0]); n++) {
		unsigned long row = n <= most ? n : more[n - most - 1];

		for (unsigned long offset = 0; offset < (row <= most ? row : 2); offset++) {
			uint32_t block = 0;
			unsigned long before = 0;

			for (size_t i = 0; i < f->count; i++) {
				unsigned long now = (f->members[i].number + offset) / row;

				block += i > 0 && now != before;
				before = now;
				f->members[i].block = block;
			}
			keep(f, match(f), true);
		}
	}
}

/* Hosts that were dealt out: each so-manieth number on the same switch. */
static void try_dealt(struct family *f)
{
	for (uint32_t every = f->leaf_count - 1; every <= f->leaf_count + 1 && 2 * every <= f->count; every++) {
		for (size_t i = 0; i < f->count; i++)
			f->members[i].block = (uint32_t)(f->members[i].number % every);
		qsort(f->members, f->count, sizeof(*f->members), by_block);
		keep(f, match(f), false);
		qsort(f->members, f->count, sizeof(*f->members), by_number);
	}
}

/*
 * Ranges of any length: one or two hosts in a row elsewhere than those on both sides of them, which are on one
 * switch, as most on theirs are in another range.
 */
static void try_ranges(struct family *f)
{
	size_t score = 0;

	for (uint32_t l = 0; l < f->leaf_count; l++)
		f->leaf_most[l] = 0;
	for (size_t first = 0, end; first < f->count; first = end) {
		uint32_t leaf = f->members[first].leaf, run;

		for (end = first + 1; end < f->count && f->members[end].leaf == leaf;)
			end++;
		run = (uint32_t)(end - first);
		if (run > f->leaf_most[leaf])
			f->leaf_most[leaf] = run;
	}
	for (size_t first = 0, end; first < f->count; first = end) {
		uint32_t leaf = f->members[first].leaf;
		bool odd;

		for (end = first + 1; end < f->count && f->members[end].leaf == leaf;)
			end++;
		odd = first > 0 && end < f->count && end - first <= 2 && f->leaf_most[leaf] > end - first &&
		      f->members[first - 1].leaf == f->members[end].leaf;
		for (size_t i = first; i < end; i++)
			f->members[i].want = odd ? f->members[end].leaf : leaf;
	}
	/* with those put where they belong each switch has one range */
	for (uint32_t l = 0; l < f->leaf_count; l++)
		f->leaf_block[l] = 0;
	for (size_t i = 0; i < f->count; i++)
		if (i == 0 || f->members[i].want != f->members[i - 1].want)
			f->leaf_block[f->members[i].want]++;
	for (size_t i = 0; i < f->count; i++)
		score += f->members[i].want == f->members[i].leaf && f->leaf_block[f->members[i].leaf] == 1 &&
			 f->leaf_most[f->members[i].leaf] > 1;
	for (size_t i = 0; i < f->count; i++)
		if (f->leaf_block[f->members[i].want] != 1)
			f->members[i].want = f->members[i].leaf;
	keep(f, score, false);
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
	if (f->count - kept > (f->count / ODD_OF > 2 ? f->count / ODD_OF : 2))
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

/* Hosts that differ in their number alone. */
static int judge_numbered(struct family *f, const struct ranks *ranks)
{
	if (f->count < ONE_ODD_LEAST || f->members[0].seat->name.digits == 0)
		return 0;
	qsort(f->members, f->count, sizeof(*f->members), by_number);
	for (size_t i = 0; i < f->count; i++) {
		if (i > 0 && f->members[i].number == f->members[i - 1].number)
			return 0; /* two of one name */
		f->members[i].at = i;
	}
	find_leaves(f, ranks);
	f->score = 0;
	if (f->leaf_count < LEAVES_LEAST)
		return 0;
	try_rows(f);
	try_dealt(f);
	if (f->score == 0)
		try_ranges(f);
	settle(f, ranks);
	return f->score == 0 ? try_singles(f) : 0;
}

/* Hosts of racks, whose numbers are before theirs: all of one on one switch. They are in the order of racks. */
static void judge_racks(struct family *f, const struct ranks *ranks)
{
	uint32_t block = 0;

	if (f->count < ONE_ODD_LEAST)
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
	keep(f, match(f), false);
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
