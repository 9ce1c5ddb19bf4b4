/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Of several snapshots of one fabric: what ports answered, and what the subnet manager said (snapshot_merge.c has the rule). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot_merging.h"

uint32_t merging_keep(struct merging *m, const struct snapshot *from, uint32_t item)
{
	size_t size;
	const uint8_t *bytes = snapshot_item_bytes(&from->data, item, &size);
	uint32_t kept = snapshot_keep(&m->to->data, bytes, size);

	m->lost |= kept == UINT32_MAX;
	return kept;
}

bool merging_same_second(const struct merging *m, size_t x, size_t y)
{
	return x != y && m->parts[x]->taken == m->parts[y]->taken;
}

/* --- answers --- */

#define RUN_MAX 4096 /* answers of one attribute that a port has at most: 2048 blocks of partition keys */

struct answer {
	struct snapshot_run run; /* of one query; value is that of the part */
	uint32_t part;
};

static int by_query(const void *a, const void *b)
{
	const struct answer *x = a, *y = b;
	int c = snapshot_run_compare(&x->run, &y->run);

	return c ? c : x->part < y->part ? -1 : x->part > y->part;
}

static bool same_data(const struct merging *m, const struct answer *x, const struct answer *y)
{
	size_t size_x, size_y;
	const uint8_t *a = snapshot_item_bytes(&m->parts[x->part]->data, x->run.value, &size_x),
		      *b = snapshot_item_bytes(&m->parts[y->part]->data, y->run.value, &size_y);

	return size_x == size_y && (size_x == 0 || memcmp(a, b, size_x) == 0);
}

/* Of all that parts have of one query, the newest first. */
static int take_answer(struct merging *m, const struct answer *answers, size_t count, size_t *room)
{
	const struct answer *best = &answers[0];
	struct snapshot_run run;
	bool differ = false, undecided = false, lacked = best->run.outcome != MAD_ANSWERED;

	for (size_t i = 1; i < count; i++) {
		if (answers[i].run.outcome != MAD_ANSWERED) {
			lacked = true;
			continue;
		}
		if (best->run.outcome != MAD_ANSWERED) {
			best = &answers[i];
		} else if (!same_data(m, best, &answers[i])) {
			differ = true;
			undecided |= merging_same_second(m, best->part, answers[i].part);
		}
	}
	/* counters go on by themselves */
	m->result->answers += differ && best->run.mgmt_class != MAD_CLASS_PERF;
	m->result->undecided += undecided && best->run.mgmt_class != MAD_CLASS_PERF;
	m->result->filled += lacked && best->run.outcome == MAD_ANSWERED;
	run = best->run;
	if (run.outcome == MAD_ANSWERED)
		run.value = merging_keep(m, m->parts[best->part], run.value);
	return m->lost ? -ENOMEM : snapshot_add_run(m->to, room, &run);
}

/* Of one alone, as it has them. */
static int copy_answers(struct merging *m)
{
	const struct snapshot *part = m->parts[0];

	m->to->runs = calloc((size_t)part->run_count + 1, sizeof(*m->to->runs));
	if (!m->to->runs)
		return -ENOMEM;
	for (uint32_t i = 0; i < part->run_count; i++) {
		struct snapshot_run run = part->runs[i];

		if (run.outcome == MAD_ANSWERED)
			run.value = merging_keep(m, part, run.value);
		m->to->runs[m->to->run_count++] = run;
	}
	return m->lost ? -ENOMEM : 0;
}

/* How many answers there are; -EFBIG: more than any fabric has. */
static int count_answers(const struct merging *m, size_t *all)
{
	*all = 0;
	for (size_t p = 0; p < m->count; p++)
		for (uint32_t i = 0; i < m->parts[p]->run_count; i++) {
			if (m->parts[p]->runs[i].count > RUN_MAX)
				return -EFBIG;
			*all += m->parts[p]->runs[i].count;
		}
	return *all > SNAPSHOT_MERGE_ANSWERS ? -EFBIG : 0;
}

int merging_take_answers(struct merging *m)
{
	struct answer *answers;
	size_t all = 0, count = 0, room = 0;
	int error = m->count > 1 ? count_answers(m, &all) : 0;

	if (m->count == 1)
		return copy_answers(m);
	if (error != 0)
		return error;
	answers = calloc(all + 1, sizeof(*answers));
	if (!answers)
		return -ENOMEM;
	for (size_t p = 0; p < m->count; p++)
		for (uint32_t i = 0; i < m->parts[p]->run_count; i++) {
			struct snapshot_run run = m->parts[p]->runs[i];
			uint32_t queries = run.count;

			run.port = m->port_of[p][run.port];
			for (run.count = 1; queries > 0 && run.port != FABRIC_NONE; queries--, run.modifier += m->parts[p]->runs[i].step) {
				answers[count].run = run;
				answers[count].run.step = 1;
				answers[count++].part = (uint32_t)p;
			}
		}
	if (count > 0)
		qsort(answers, count, sizeof(*answers), by_query);
	for (size_t i = 0, next; error == 0 && i < count; i = next) {
		for (next = i; next < count && snapshot_run_compare(&answers[i].run, &answers[next].run) == 0;)
			next++;
		error = take_answer(m, &answers[i], next - i, &room);
	}
	free(answers);
	return error;
}

/* --- the subnet manager --- */

#define SM_INFO_ACT_COUNT 16 /* 4 bytes of SMInfo that go on by themselves (IBA 14.2.5.13) */

/* Whether two answers to one question are the same, in all that does not go on by itself. */
static bool same_value(const struct merging *m, const struct snapshot_sm *have, const struct snapshot *part, const struct snapshot_sm *row)
{
	uint8_t a[MAD_SA_DATA], b[MAD_SA_DATA];

	snapshot_get_data(m->to, have->value, a, sizeof(a));
	snapshot_get_data(part, row->value, b, sizeof(b));
	if (row->mgmt_class == MAD_CLASS_SMP && row->attribute == MAD_SM_INFO)
		memcpy(a + SM_INFO_ACT_COUNT, b + SM_INFO_ACT_COUNT, 4);
	return memcmp(a, b, sizeof(a)) == 0;
}

static bool same_record(const struct merging *m, const struct snapshot *part, const struct snapshot_sm *row,
			const struct snapshot_sm *have)
{
	uint8_t a[MAD_SA_DATA], b[MAD_SA_DATA];

	if (row->mgmt_class != have->mgmt_class || row->attribute != have->attribute || row->modifier != have->modifier ||
	    row->mask != have->mask)
		return false;
	snapshot_get_data(part, row->record, a, sizeof(a));
	snapshot_get_data(m->to, have->record, b, sizeof(b));
	return memcmp(a, b, sizeof(a)) == 0;
}

int merging_take_sm(struct merging *m)
{
	struct snapshot *to = m->to;
	size_t all = 0, *told_by;

	for (size_t p = 0; p < m->count; p++)
		all += m->parts[p]->sm_count;
	to->sm = calloc(all + 1, sizeof(*to->sm));
	told_by = calloc(all + 1, sizeof(*told_by));
	if (!to->sm || !told_by) {
		free(told_by);
		return -ENOMEM;
	}
	to->sm_room = all + 1;
	for (size_t p = 0; p < m->count; p++) {
		uint32_t before = to->sm_count;

		for (uint32_t i = 0; i < m->parts[p]->sm_count; i++) {
			const struct snapshot_sm *row = &m->parts[p]->sm[i];
			uint32_t at = 0;

			while (at < before && !same_record(m, m->parts[p], row, &to->sm[at]))
				at++;
			if (at < before) {
				if (to->sm[at].outcome == MAD_ANSWERED && row->outcome == MAD_ANSWERED &&
				    merging_same_second(m, told_by[at], p) && !same_value(m, &to->sm[at], m->parts[p], row))
					m->result->undecided++;
				m->result->filled += (to->sm[at].outcome == MAD_ANSWERED) != (row->outcome == MAD_ANSWERED);
				if (to->sm[at].outcome == MAD_ANSWERED || row->outcome != MAD_ANSWERED)
					continue;
			}
			if (at == before)
				at = to->sm_count++;
			told_by[at] = p;
			to->sm[at] = *row;
			to->sm[at].record = merging_keep(m, m->parts[p], row->record);
			if (row->outcome == MAD_ANSWERED)
				to->sm[at].value = merging_keep(m, m->parts[p], row->value);
		}
	}
	free(told_by);
	return m->lost ? -ENOMEM : 0;
}
