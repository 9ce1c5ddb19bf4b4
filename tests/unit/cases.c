/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* cases: see cases.h. */
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"

unsigned cases(unsigned usual)
{
	const char *text = getenv("IBQOS_CASES");
	double factor = 1;
	char *end;

	if (text && *text) {
		factor = strtod(text, &end);
		if (*end || !(factor > 0 && factor * usual < 1e9)) {
			fprintf(stderr, "IBQOS_CASES=%s: a factor above 0 was expected\n", text);
			exit(1);
		}
	}
	return factor * usual < 1 ? 1 : (unsigned)(factor * usual);
}
