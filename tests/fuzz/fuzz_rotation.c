/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any text as the file of verify --rotate: refused as a whole, or what is written of it is read as the same; the next part
 * is one that there is, and none waits longer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/check.h"

#define PARTS 3
#define CONFIG 0xabc

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = {data, size};
	char *text = fuzz_rest(&in), *written;
	struct verify_rotation first, again;
	uint32_t next;
	int error;

	require(verify_rotation_new(PARTS, CONFIG, &first) == 0 && verify_rotation_new(PARTS, CONFIG, &again) == 0);
	error = verify_rotation_read(&first, text);
	require(error == 0 || error == -EINVAL);
	for (unsigned i = 0; i < PARTS; i++)
		require(error == 0 ? first.look[i].exit <= IBQOS_EXIT_UNKNOWN : first.look[i].ms == 0);
	written = verify_rotation_write(&first);
	require(written && verify_rotation_read(&again, written) == 0);
	for (unsigned i = 0; i < PARTS; i++)
		require(first.look[i].ms == again.look[i].ms && first.look[i].exit == again.look[i].exit &&
			first.look[i].who == again.look[i].who);
	next = verify_rotation_next(&first);
	require(next >= 1 && next <= PARTS);
	for (unsigned i = 0; i < PARTS; i++)
		require(first.look[next - 1].ms <= first.look[i].ms);
	verify_rotation_clear(&first);
	verify_rotation_clear(&again);
	free(written);
	free(text);
	return 0;
}
