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

/* Replaces what stands between two marks, wherever they stand, by "…". */
static void leave_out(char **text, const char *before, const char *after)
{
	size_t at = 0;

	for (;;) {
		char *from = strstr(*text + at, before), *to, *made;

		if (!from)
			return;
		from += strlen(before);
		to = strstr(from, after);
		assert_non_null(to);
		assert_true(asprintf(&made, "%.*s…%s", (int)(from - *text), *text, to) > 0);
		at = (size_t)(from - *text);
		free(*text);
		*text = made;
	}
}

void golden_page(const char *name, const char *page)
{
	char *text = strdup(page);

	assert_non_null(text);
	leave_out(&text, "<style>", "</style>");
	leave_out(&text, "<script>", "</script>");
	leave_out(&text, "'sha256-", "'");
	leave_out(&text, "content=\"ibqos ", "\"");
	leave_out(&text, "<footer>ibqos ", "</footer>");
	golden_compare(name, "html", text);
	free(text);
}
