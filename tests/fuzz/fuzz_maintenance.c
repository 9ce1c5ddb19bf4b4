/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any text as the manifest of a maintenance: refused as a whole and then empty, or all its strings are printable. Any text as a
 * name: none that is one leads out of its folder.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/maintenance.h"

static void check_text(const char *text)
{
	require(!text || fuzz_printable(text, ""));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = {data, size};
	char *text = fuzz_rest(&in);
	struct maintenance_manifest m;
	int error = maintenance_manifest_parse(text, &m);

	require(error == 0 || error == -EINVAL);
	require((error == 0) == (m.begun != NULL));
	check_text(m.fabric);
	check_text(m.begun);
	check_text(m.begun_by);
	check_text(m.ended);
	check_text(m.ended_by);
	check_text(m.policy);
	if (maintenance_name_ok(text))
		require(text[0] != '.' && !strchr(text, '/') && strlen(text) <= MAINTENANCE_NAME_MAX && fuzz_printable(text, ""));
	maintenance_manifest_clear(&m);
	free(text);
	return 0;
}
