/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Reports that are kept, compared and written anew. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "ibqos/util.h"

void golden_compare(const char *name, const char *ending, const char *got)
{
	const char *source = getenv("IBQOS_SRC");
	char *path, *wanted;
	size_t size;

	assert_true(asprintf(&path, "%s/tests/golden/report/%s.%s", source ? source : ".", name, ending) > 0);
	if (getenv("IBQOS_GOLDEN_UPDATE"))
		assert_int_equal(file_replace(path, got, strlen(got), 0644), 0);
	if (file_read(path, &wanted, &size) != 0)
		fail_msg("cannot read %s", path);
	if (strcmp(wanted, got) != 0)
		fail_msg("%s differs; it would now be:\n%s", path, got);
	free(wanted);
	free(path);
}
