/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* How far one name is from another that may have been meant. */
#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "ibqos/util.h"

#define DISTANCE_LENGTH 64 /* bytes of a name that is compared at all */

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Optimal string alignment: a change, an addition, a loss, or two letters changed about cost one each. */
unsigned text_distance(const char *a, const char *b)
{
	unsigned row[3][DISTANCE_LENGTH + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > DISTANCE_LENGTH || lb > DISTANCE_LENGTH)
		return UINT_MAX;
	for (size_t i = 0; i <= la; i++) {
		unsigned *now = row[i % 3];
		const unsigned *before = row[(i + 2) % 3], *two_before = row[(i + 1) % 3];

		for (size_t j = 0; j <= lb; j++) {
			unsigned best;

			if (i == 0 || j == 0) {
				now[j] = (unsigned)(i + j);
				continue;
			}
			best = before[j - 1] + !same_letter(a[i - 1], b[j - 1]);
			if (before[j] + 1 < best)
				best = before[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]) &&
			    two_before[j - 2] + 1 < best)
				best = two_before[j - 2] + 1;
			now[j] = best;
		}
	}
	return row[la % 3][lb];
}
