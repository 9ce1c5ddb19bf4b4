/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any text as a list of hosts: refused with a reason and no names, or names without brackets and commas; these
 * as a list are themselves; a name more in front or behind changes nothing of the others.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/util.h"

#define REJOINED_MAX 1000 /* names of which a list is made again */

static char *join(const struct hostlist *list)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	require(out);
	for (size_t i = 0; i < list->count; i++)
		fprintf(out, "%s%s", i ? "," : "", list->names[i]);
	require(text_stream_end(out, &text) == 0);
	return text;
}

static void same(const struct hostlist *a, const struct hostlist *b, size_t skip)
{
	require(b->count >= a->count + skip);
	for (size_t i = 0; i < a->count; i++)
		require(strcmp(a->names[i], b->names[skip + i]) == 0);
}

static void check_again(const struct hostlist *list, const char *text)
{
	struct hostlist again;
	char *fault, *made = join(list), *wrapped;

	require(hostlist_expand(made, &again, &fault) == 0 && again.count == list->count);
	same(list, &again, 0);
	hostlist_clear(&again);
	require(asprintf(&wrapped, "first,%s,last", text) >= 0);
	require(hostlist_expand(wrapped, &again, &fault) == 0 && again.count == list->count + 2);
	require(strcmp(again.names[0], "first") == 0 && strcmp(again.names[again.count - 1], "last") == 0);
	same(list, &again, 1);
	hostlist_clear(&again);
	free(wrapped);
	free(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = {data, size};
	char *text = fuzz_rest(&in), *fault;
	struct hostlist list;
	int error = hostlist_expand(text, &list, &fault);

	require(error == 0 || error == -EINVAL);
	require((error != 0) == (fault != NULL));
	require(error == 0 ? list.count > 0 && list.count <= HOSTLIST_MAX : list.count == 0);
	for (size_t i = 0; i < list.count; i++)
		require(list.names[i][0] && !strpbrk(list.names[i], "[],"));
	if (error == 0 && list.count < REJOINED_MAX)
		check_again(&list, text);
	hostlist_clear(&list);
	free(fault);
	free(text);
	return 0;
}
