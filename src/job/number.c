/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Numbers as NCCL takes them from its environment (src/misc/param.cc, ncclLoadParam). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/job.h"

struct job_number job_number(const char *value)
{
	struct job_number n = {.rest = value};
	char *end;

	if (!*value) {
		n.empty = true;
		return n;
	}
	errno = 0;
	n.value = strtoll(value, &end, 0);
	n.overflow = errno != 0;
	n.none = end == value;
	n.rest = end;
	/* "0", "007" and "0x1f" are what they look like; "010" is 8 and "09" is 0 */
	n.octal = !n.none && !n.overflow && strpbrk(value, "0123456789")[0] == '0' &&
		  strpbrk(value, "xX") == NULL && strtoll(value, NULL, 10) != n.value;
	return n;
}
