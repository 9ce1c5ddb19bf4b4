/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Growing arrays of any item.
 */
#include <stdlib.h>
#include <string.h>

#include "ibqos/util.h"

void *array_grow(void *items, size_t *room, size_t needed, size_t item_size)
{
	size_t old = items ? *room : 0;
	size_t grown = old < 8 ? 16 : old * 2;
	char *enlarged;

	if (items && needed <= old)
		return items;
	if (grown < needed || grown / 2 < old) /* the doubling is too small, or wrapped */
		grown = needed;
	if (grown > PTRDIFF_MAX / item_size)
		return NULL;
	enlarged = realloc(items, grown * item_size);
	if (!enlarged)
		return NULL;
	memset(enlarged + old * item_size, 0, (grown - old) * item_size);
	*room = grown;
	return enlarged;
}
