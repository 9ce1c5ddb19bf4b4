/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The data of a snapshot put in the order in which its tables name them. */
#include <errno.h>
#include <stdlib.h>

#include "snapshot_parts.h"

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
