/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The answers of a snapshot as runs, and its data put in the order in which its tables name them. */
#include <errno.h>
#include <stdlib.h>

#include "snapshot_parts.h"

/* Whether an answer goes on with a run: the same, one step on. The second one says how long a step is. */
static bool goes_on(const struct snapshot_run *run, const struct snapshot_run *a)
{
	uint32_t ahead = a->modifier - run->modifier;

	return a->mgmt_class == MAD_CLASS_SMP && run->mgmt_class == a->mgmt_class && run->port == a->port &&
	       run->attribute == a->attribute && run->outcome == a->outcome && run->value == a->value &&
	       (run->count == 1 || ahead == run->count * run->step);
}

int snapshot_add_run(struct snapshot *s, size_t *room, const struct snapshot_run *answer)
{
	struct snapshot_run *last = s->run_count > 0 ? &s->runs[s->run_count - 1] : NULL, *runs;

	if (last && goes_on(last, answer)) {
		if (last->count == 1)
			last->step = answer->modifier - last->modifier;
		last->count++;
		return 0;
	}
	runs = array_grow(s->runs, room, (size_t)s->run_count + 1, sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	s->runs = runs;
	s->runs[s->run_count++] = *answer;
	return 0;
}

/*
 * The pool has its items in the order in which answers came, the file in the order in which its tables name
 * them: so the same answers give the same bytes.
 */
int snapshot_order_data(struct snapshot *s)
{
	struct snapshot_pool ordered = {0};
	uint32_t *place = calloc((size_t)s->data.count + 1, sizeof(*place)); /* + 1; 0: none yet */
	bool lost = !place || !snapshot_pool_begin(&ordered);
	uint32_t **refs = NULL;
	size_t ref_count = 0;

	if (!lost) {
		refs = calloc((size_t)3 * s->node_count + (size_t)2 * s->port_count + s->run_count +
				      (size_t)2 * s->sm_count + 1,
			      sizeof(*refs));
		lost = !refs;
	}
	for (uint32_t i = 0; !lost && i < s->node_count; i++) {
		refs[ref_count++] = &s->nodes[i].node_info;
		refs[ref_count++] = &s->nodes[i].switch_info;
		refs[ref_count++] = &s->nodes[i].route;
	}
	for (uint32_t i = 0; !lost && i < s->port_count; i++) {
		refs[ref_count++] = &s->ports[i].info;
		refs[ref_count++] = &s->ports[i].ext_info;
	}
	for (uint32_t i = 0; !lost && i < s->run_count; i++)
		if (s->runs[i].outcome == MAD_ANSWERED)
			refs[ref_count++] = &s->runs[i].value;
	for (uint32_t i = 0; !lost && i < s->sm_count; i++) {
		refs[ref_count++] = &s->sm[i].record;
		if (s->sm[i].outcome == MAD_ANSWERED)
			refs[ref_count++] = &s->sm[i].value;
	}
	for (size_t i = 0; !lost && i < ref_count; i++) {
		uint32_t item = *refs[i];
		size_t size;
		const uint8_t *bytes = snapshot_item_bytes(&s->data, item, &size);

		if (place[item] == 0) {
			uint32_t kept = snapshot_keep(&ordered, bytes, size);

			lost = kept == UINT32_MAX;
			place[item] = kept + 1;
		}
		*refs[i] = place[item] - 1;
	}
	free(refs);
	free(place);
	if (lost) {
		snapshot_pool_free(&ordered);
		return -ENOMEM;
	}
	snapshot_pool_free(&s->data);
	s->data = ordered;
	return 0;
}
