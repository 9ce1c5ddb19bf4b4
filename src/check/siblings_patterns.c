/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * siblings: patterns by which numbered hosts lie on switches: so many numbers in a row on each; each so-manieth number on the
 * same; ranges of any length. Nine hosts in ten must keep it, on three switches at least: otherwise nothing is said.
 */
#include <stdlib.h>

#include "siblings_family.h"

#define LEAVES_LEAST 3
#define STRAY_MOST 2 /* so many in a row may be elsewhere than those on both sides */
#define TWO_ODD_LEAST 15 /* hosts, for two of them to be told: in small numbers many orders look like one */

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

/* How many of a family may be elsewhere. */
static size_t odd_most(const struct family *f)
{
	size_t most = f->count / FAMILY_ODD_OF;

	if (most < 2)
		most = f->count >= TWO_ODD_LEAST ? 2 : f->count >= FAMILY_LEAST ? 1 : 0;
	return most;
}

static bool is_pattern(const struct family *f, size_t score)
{
	return f->count - score <= odd_most(f);
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
 * Whether a member that is not where it belongs joins those that are on its switch: no other is between them by number, but for
 * one or two in a row that are fewer than those that they part. Switches need not have the same number of hosts.
 */
static bool joins(const struct family *f, size_t at, int step)
{
	const struct member *m = &f->members[at];

	for (size_t i = at + (size_t)(long)step; i < f->count; i += (size_t)(long)step) { /* below 0 it wraps */
		const struct member *other = &f->members[i];

		if (other->leaf == m->leaf && other->want == m->leaf)
			return true;
		if (other->leaf != m->leaf && (other->run > STRAY_MOST || other->run >= m->run))
			return false;
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

/* By leaf, in leaf_most: how many runs of numbers are on it. */
static void count_runs(struct family *f)
{
	for (uint32_t l = 0; l < f->leaf_count; l++)
		f->leaf_most[l] = 0;
	for (size_t i = 0; i < f->count; i++)
		if (i == 0 || f->members[i].leaf != f->members[i - 1].leaf)
			f->leaf_most[f->members[i].leaf]++;
	for (size_t i = 0; i < f->count; i++)
		f->members[i].alone = f->leaf_most[f->members[i].leaf] == 1;
}

/*
 * So many numbers in a row a block, in one pass that ends as soon as it is clear that this is no pattern, as nearly all are
 * that are tried: of each block all but one leaf's are odd. A leaf has no more of a block than its run of numbers there, or, if
 * it has several runs, than there are of such leaves.
 */
static bool set_rows(struct family *f, unsigned long row, unsigned long offset)
{
	size_t most = odd_most(f), odd = 0, start = 0, run = 0, longest = 0, scattered = 0;
	uint32_t block = 0;
	unsigned long begin = 0; /* of the block, with the offset */

	if (most > f->count - f->score)
		most = f->count - f->score;
	for (size_t i = 0; i < f->count; i++) {
		struct member *m = &f->members[i];

		if (i == 0 || m->number + offset - begin >= row) {
			begin = (m->number + offset) / row * row;
			odd += i - start - (longest > scattered ? longest : scattered);
			if (odd > most)
				return false;
			block += i > 0;
			start = i;
			run = longest = scattered = 0;
		}
		m->block = block;
		if (!m->alone) {
			scattered++;
			continue;
		}
		run = i > start && f->members[i - 1].leaf == m->leaf ? run + 1 : 1;
		longest = run > longest ? run : longest;
	}
	odd += f->count - start - (longest > scattered ? longest : scattered);
	return odd <= most;
}

/* So many numbers in a row on each switch. */
static void try_rows(struct family *f)
{
	static const unsigned long more[] = {72, 80, 96, 100, 128, 1000};
	const unsigned long most = 64;

	count_runs(f);
	for (size_t n = 2; n <= most + sizeof(more) / sizeof(more[0]); n++) {
		unsigned long row = n <= most ? n : more[n - most - 1];

		for (unsigned long offset = 0; offset < (row <= most ? row : 2); offset++)
			if (set_rows(f, row, offset))
				keep(f, match(f), true);
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
		odd = first > 0 && end < f->count && end - first <= STRAY_MOST && f->leaf_most[leaf] > end - first &&
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

void family_try_numbers(struct family *f)
{
	if (f->leaf_count < LEAVES_LEAST)
		return;
	try_rows(f);
	try_dealt(f);
	if (f->score == 0)
		try_ranges(f);
}

void family_try_blocks(struct family *f)
{
	keep(f, match(f), false);
}
