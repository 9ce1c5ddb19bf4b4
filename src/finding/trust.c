/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A finding for a file that others than the admin can have written. */
#include <stdlib.h>
#include <string.h>

#include "ibqos/finding.h"
#include "ibqos/trust.h"

static bool is_told(const struct finding_list *list, const char *path)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct finding *f = &list->items[i];

		if (f->code == FINDING_FILE_UNTRUSTED && f->file && strcmp(f->file, path) == 0)
			return true;
	}
	return false;
}

bool finding_trust(const struct trust *trust, struct finding_list *list, const char *path)
{
	char *why = NULL;
	int r = path ? trust_path(trust, path, &why) : 0;
	struct finding *f;

	if (r == 0)
		return true;
	if (!is_told(list, path)) {
		f = finding_at(finding_add(list, FINDING_FILE_UNTRUSTED), path, 0, 0);
		finding_set(&f->got, "%s", r == 1 ? why : strerror(-r));
	}
	free(why);
	return false;
}
