/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Indexes of earlier findings and of acknowledgements. A fabric of which a spine has died has thousands of both.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "state_match.h"

/* What qsort_r() hands to the comparison. */
struct sorting {
	const struct state *state;
	uint64_t *compared;
};

static void count_one(uint64_t *compared)
{
	if (compared)
		++*compared;
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int order_texts(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

/* code, GUID, port, what */
static int order_findings(enum finding_code code, uint64_t guid, int port, const char *what, const struct state_finding *s)
{
	int by = order(code, s->code);

	by = by ? by : order(guid, s->guid);
	by = by ? by : (port > s->port) - (port < s->port);
	return by ? by : order_texts(what, s->what);
}

static int compare_findings(const void *left, const void *right, void *arg)
{
	const struct match_entry *a = left, *b = right;
	const struct sorting *sorting = arg;
	const struct state_finding *s = &sorting->state->findings[a->at];
	int by = order_findings(s->code, s->guid, s->port, s->what, &sorting->state->findings[b->at]);

	count_one(sorting->compared);
	return by ? by : order(a->at, b->at);
}

static int compare_acks(const void *left, const void *right, void *arg)
{
	const struct match_entry *a = left, *b = right;
	const struct sorting *sorting = arg;
	const struct state_ack *x = &sorting->state->acks[a->at], *y = &sorting->state->acks[b->at];
	int by = order(x->code, y->code);

	count_one(sorting->compared);
	by = by ? by : order(x->guid, y->guid);
	return by ? by : order(a->at, b->at);
}

static int sort(const struct state *state, size_t count, uint64_t *compared,
		int (*compare)(const void *left, const void *right, void *arg), struct match_index *index)
{
	struct sorting sorting = {state, compared};

	*index = (struct match_index){.entries = calloc(count + 1, sizeof(*index->entries)), .count = count, .compared = compared};
	if (!index->entries)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		index->entries[i].at = i;
	qsort_r(index->entries, count, sizeof(*index->entries), compare, &sorting);
	return 0;
}

void match_clear(struct match_index *index)
{
	free(index->entries);
	*index = (struct match_index){0};
}

int match_findings(const struct state *state, uint64_t *compared, struct match_index *index)
{
	return sort(state, state->finding_count, compared, compare_findings, index);
}

size_t match_take(const struct state *state, struct match_index *index, const struct finding *f)
{
	size_t low = 0, high = index->count;
	struct match_entry *first;

	while (low < high) {
		size_t middle = (low + high) / 2;

		count_one(index->compared);
		if (order_findings(f->code, f->guid, f->port, f->what, &state->findings[index->entries[middle].at]) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == index->count)
		return SIZE_MAX;
	first = &index->entries[low];
	low += first->taken; /* of equal ones the next */
	if (low == index->count ||
	    order_findings(f->code, f->guid, f->port, f->what, &state->findings[index->entries[low].at]) != 0)
		return SIZE_MAX;
	first->taken++;
	return index->entries[low].at;
}

int match_acks(const struct state *state, uint64_t *compared, struct match_index *index)
{
	return sort(state, state->ack_count, compared, compare_acks, index);
}

static int order_ack(enum finding_code code, uint64_t guid, const struct state_ack *ack)
{
	int by = order(code, ack->code);

	return by ? by : order(guid, ack->guid);
}

size_t match_acks_of(const struct state *state, const struct match_index *index, enum finding_code code, uint64_t guid,
		     size_t *count)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		count_one(index->compared);
		if (order_ack(code, guid, &state->acks[index->entries[middle].at]) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (*count = 0; low + *count < index->count &&
			 order_ack(code, guid, &state->acks[index->entries[low + *count].at]) == 0;
	     ++*count)
		count_one(index->compared);
	return low;
}
