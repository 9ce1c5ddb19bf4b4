/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A file as a source: whatever was asked when it was written is answered as it was then. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "snapshot_parts.h"

struct stored {
	struct source source;
	struct snapshot *snapshot;
	struct snapshot_merged merged; /* parts 0: it is as taken */
	struct source *live; /* answers what the snapshot does not have; NULL: nobody does */
	bool borrowed;       /* the snapshot is not ours */
	bool counters;       /* what is asked of devices is put to `live`, and kept */
	uint32_t sm_next;    /* where the next question is likely to be */
	char *map;
	struct mad_counts counts; /* nothing is sent; queries and how they ended */
};

static int stored_discover(struct source *source, struct finding_list *findings, struct fabric **fabric)
{
	struct stored *s = (struct stored *)source;
	int error = snapshot_fabric(s->snapshot, fabric);

	if (error == 0)
		error = live_name_nodes(*fabric, s->map, findings);
	if (error != 0) {
		fabric_free(*fabric);
		*fabric = NULL;
	}
	return error;
}

/* What the file has of an answer, data in `data`. */
static struct mad_answer answer_of(const struct snapshot *snapshot, enum mad_outcome outcome, uint32_t value,
				   uint8_t *data, size_t size)
{
	struct mad_answer answer = {.outcome = outcome};

	switch (outcome) {
	case MAD_ANSWERED:
		snapshot_get_data(snapshot, value, data, size);
		answer.data = data;
		break;
	case MAD_STATUS:
		answer.status = (uint16_t)value;
		break;
	case MAD_TIMED_OUT:
		answer.tries = value;
		break;
	case MAD_NOT_ASKED:
		break;
	}
	return answer;
}

static void count(struct stored *s, enum mad_outcome outcome)
{
	s->counts.queries++;
	s->counts.ended[outcome]++;
}

/* --- counters, put to the fabric and kept --- */

struct recording {
	struct snapshot *snapshot;
	const struct source_asker *asker;
	struct snapshot_run *runs;
	size_t count, room;
	bool lost; /* memory ran out */
};

static bool recording_next(void *arg, uint32_t which, struct source_query *query)
{
	const struct recording *r = arg;

	return r->asker->next(r->asker->arg, which, query);
}

static void recording_answer(void *arg, const struct source_query *query, const struct mad_answer *answer)
{
	struct recording *r = arg;
	struct snapshot_run *grown = array_grow(r->runs, &r->room, r->count + 1, sizeof(*grown));
	struct snapshot_run run = {.port = query->port,
				   .modifier = query->modifier,
				   .count = 1,
				   .step = 1,
				   .attribute = query->attribute,
				   .mgmt_class = query->mgmt_class,
				   .outcome = (uint8_t)answer->outcome};

	if (answer->outcome == MAD_ANSWERED)
		run.value = snapshot_keep_data(r->snapshot, answer->data,
					       snapshot_attribute_size(query->mgmt_class, query->attribute));
	else if (answer->outcome == MAD_STATUS)
		run.value = answer->status;
	else if (answer->outcome == MAD_TIMED_OUT)
		run.value = answer->tries < UINT16_MAX ? answer->tries : UINT16_MAX;
	if (grown)
		r->runs = grown;
	if (grown && run.value != UINT32_MAX)
		r->runs[r->count++] = run;
	else
		r->lost = true;
	r->asker->answer(r->asker->arg, query, answer);
}

/* Puts the new rows among the others. */
static int keep_runs(struct snapshot *s, const struct recording *r)
{
	struct snapshot_run *all;

	if (r->lost || r->count > UINT32_MAX - s->run_count)
		return -ENOMEM;
	if (r->count == 0)
		return 0;
	all = realloc(s->runs, (s->run_count + r->count) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	memcpy(all + s->run_count, r->runs, r->count * sizeof(*all));
	s->runs = all;
	s->run_count += (uint32_t)r->count;
	qsort(s->runs, s->run_count, sizeof(*s->runs), snapshot_run_compare);
	return 0;
}

static int record_ask(struct stored *s, const struct fabric *fabric, const struct source_asker *asker)
{
	struct recording r = {.snapshot = s->snapshot, .asker = asker};
	const struct source_asker outer = {.agents = asker->agents, .what = asker->what, .total = asker->total,
					   .agent_count = asker->agent_count,
					   .next = recording_next,
					   .answer = recording_answer,
					   .arg = &r};
	int error = source_ask(s->live, fabric, &outer), kept = keep_runs(s->snapshot, &r);

	free(r.runs);
	return kept ? kept : error;
}

static int stored_ask(struct source *source, const struct fabric *fabric, const struct source_asker *asker)
{
	struct stored *s = (struct stored *)source;
	struct source_query query = {0};

	if (s->counters)
		return record_ask(s, fabric, asker);
	for (uint32_t i = 0; i < asker->agent_count; i++) {
		while (asker->next(asker->arg, i, &query)) {
			enum mad_outcome outcome = MAD_NOT_ASKED;
			struct mad_answer answer;
			uint8_t data[MAD_DATA_MAX];
			uint32_t value = 0;

			snapshot_find(s->snapshot, query.port, query.mgmt_class, query.attribute, query.modifier,
				      &outcome, &value);
			answer = answer_of(s->snapshot, outcome, value, data, sizeof(data));
			count(s, outcome);
			asker->answer(asker->arg, &query, &answer);
			query = (struct source_query){0}; /* producers fill in what is not 0 */
		}
	}
	return 0;
}

/* The same question: class, attribute, modifier and, to the SA, every member of the record. */
static bool same_question(const struct snapshot *snapshot, const struct snapshot_sm *row,
			  const struct source_sm_query *query)
{
	uint8_t record[MAD_SA_DATA];

	if (row->mgmt_class != query->mgmt_class || row->attribute != query->attribute ||
	    row->modifier != query->modifier || row->mask != query->mask)
		return false;
	if (query->mgmt_class == MAD_CLASS_SMP)
		return true;
	snapshot_get_data(snapshot, row->record, record, sizeof(record));
	return memcmp(record, query->record, sizeof(record)) == 0;
}

static void put_act_count(const struct snapshot *snapshot, uint8_t *data)
{
	for (unsigned i = 0; i < 4; i++)
		data[16 + i] = (uint8_t)(snapshot->act_count >> (24 - 8 * i));
}

static bool find_sm(struct stored *s, struct source_sm_query *query)
{
	uint32_t count = s->snapshot->sm_count;

	/* They are mostly asked in the order in which they were kept. */
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = (s->sm_next + i) % count;
		const struct snapshot_sm *row = &s->snapshot->sm[at];
		struct mad_answer answer;

		if (!same_question(s->snapshot, row, query))
			continue;
		answer = answer_of(s->snapshot, row->outcome, row->value, query->data, sizeof(query->data));
		query->outcome = answer.outcome;
		query->status = answer.status;
		query->tries = answer.tries;
		if (query->mgmt_class == MAD_CLASS_SMP && query->attribute == MAD_SM_INFO && answer.data)
			put_act_count(s->snapshot, query->data);
		s->sm_next = at + 1;
		return true;
	}
	return false;
}

/* Puts what the snapshot does not have to the fabric, and keeps it. */
static int record(struct stored *s, const struct fabric *fabric, struct source_sm_query *queries,
		  const bool *found, size_t query_count, uint64_t *lost_ns)
{
	struct source_sm_query *missing = calloc(query_count + 1, sizeof(*missing));
	size_t count = 0, at = 0;
	int error = missing ? 0 : -ENOMEM;

	for (size_t i = 0; i < query_count && error == 0; i++)
		if (!found[i])
			missing[count++] = queries[i];
	if (count > 0) {
		error = source_ask_sm(s->live, fabric, missing, count, lost_ns);
		for (size_t i = 0; i < query_count; i++)
			if (!found[i])
				queries[i] = missing[at++];
		if (snapshot_keep_sm(s->snapshot, missing, count) != 0)
			error = -ENOMEM;
	}
	free(missing);
	return error;
}

static int stored_ask_sm(struct source *source, const struct fabric *fabric, struct source_sm_query *queries,
			 size_t query_count, uint64_t *lost_ns)
{
	struct stored *s = (struct stored *)source;
	bool *found = calloc(query_count + 1, sizeof(*found));
	int error = found ? 0 : -ENOMEM;

	for (size_t i = 0; i < query_count && error == 0; i++)
		found[i] = find_sm(s, &queries[i]);
	if (error == 0 && s->live)
		error = record(s, fabric, queries, found, query_count, lost_ns);
	for (size_t i = 0; i < query_count; i++)
		count(s, queries[i].outcome);
	free(found);
	return error;
}

static const struct mad_counts *stored_counts(const struct source *source)
{
	return &((const struct stored *)source)->counts;
}

static void stored_close(struct source *source)
{
	struct stored *s = (struct stored *)source;

	if (!s->borrowed)
		snapshot_free(s->snapshot);
	free(s->map);
	free(s);
}

static const struct source_ops stored_ops = {
	.discover = stored_discover,
	.ask = stored_ask,
	.ask_sm = stored_ask_sm,
	.counts = stored_counts,
	.close = stored_close,
};

bool source_is_stored(const struct source *source)
{
	return source->ops == &stored_ops && !((const struct stored *)source)->live;
}

const struct snapshot *source_snapshot(const struct source *source)
{
	return source && source->ops == &stored_ops ? ((const struct stored *)source)->snapshot : NULL;
}

int source_open_recording(struct snapshot *snapshot, struct source *live, struct source **source)
{
	struct stored *s = calloc(1, sizeof(*s));

	*source = NULL;
	if (!s)
		return -ENOMEM;
	s->source.ops = &stored_ops;
	s->snapshot = snapshot;
	s->borrowed = true;
	s->live = live;
	*source = &s->source;
	return 0;
}

int source_open_recording_counters(struct snapshot *snapshot, struct source *live, struct source **source)
{
	int error = source_open_recording(snapshot, live, source);

	if (error == 0)
		((struct stored *)*source)->counters = true;
	return error;
}

const struct snapshot_merged *source_merged(const struct source *source)
{
	const struct stored *s = (const struct stored *)source;

	return source && source->ops == &stored_ops && s->merged.parts > 1 ? &s->merged : NULL;
}

int source_open_snapshot(struct snapshot *snapshot, const char *map, const struct snapshot_merged *merged, struct source **source)
{
	struct stored *s = calloc(1, sizeof(*s));

	*source = NULL;
	if (!s)
		return -ENOMEM;
	if (map) {
		s->map = strdup(map);
		if (!s->map) {
			free(s);
			return -ENOMEM;
		}
	}
	s->source.ops = &stored_ops;
	s->snapshot = snapshot;
	if (merged)
		s->merged = *merged;
	*source = &s->source;
	return 0;
}
