/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the subnet manager and administrator answered, kept in a snapshot without keys. */
#include <errno.h>
#include <string.h>

#include "snapshot_parts.h"

/* SMInfo (IBA 14.2.5.13): the SM_Key at 8 is never kept, ActCount at 16 grows with each MAD that the SM
 * sends. */
static void keep_act_count(struct snapshot *s, uint8_t *data)
{
	for (unsigned i = 0; i < 4; i++)
		s->act_count = s->act_count << 8 | data[16 + i];
	memset(data + 8, 0, 12);
}

int snapshot_keep_sm(struct snapshot *s, const struct source_sm_query *sm, size_t count)
{
	struct snapshot_sm *grown = array_grow(s->sm, &s->sm_room, s->sm_count + count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	s->sm = grown;
	for (size_t i = 0; i < count; i++) {
		const struct source_sm_query *q = &sm[i];
		bool smp = q->mgmt_class == MAD_CLASS_SMP;
		struct snapshot_sm *row = &s->sm[s->sm_count];
		uint8_t data[MAD_DATA_MAX];

		memcpy(data, q->data, sizeof(data));
		if (smp && q->attribute == MAD_SM_INFO && q->outcome == MAD_ANSWERED)
			keep_act_count(s, data);
		if (!smp && q->attribute == MAD_SA_PORT_INFO_RECORD)
			memset(data + 4, 0, 8); /* the M_Key, behind the record's key of four bytes */
		*row = (struct snapshot_sm){.mask = q->mask,
					    .modifier = q->modifier,
					    .attribute = q->attribute,
					    .mgmt_class = q->mgmt_class,
					    .outcome = q->outcome};
		row->record = smp ? 0 : snapshot_keep_data(s, q->record, sizeof(q->record));
		if (q->outcome == MAD_ANSWERED)
			row->value = snapshot_keep_data(s, data,
							snapshot_attribute_size(q->mgmt_class, q->attribute));
		else
			row->value = q->outcome == MAD_STATUS      ? q->status
				     : q->outcome == MAD_TIMED_OUT ? q->tries
								   : 0;
		if (row->record == UINT32_MAX || row->value == UINT32_MAX)
			return -ENOMEM;
		s->sm_count++;
	}
	return 0;
}
