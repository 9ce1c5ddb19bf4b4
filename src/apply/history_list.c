/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* All changes of the history, newest first: for people, and to find what ibqos left in place last. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"

static int is_entry(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* The paths of all folders, newest first; freed by free_folders(). */
static int list_folders(const struct ibqos_ctx *ctx, char ***folders, size_t *count)
{
	struct dirent **names = NULL;
	char *history = NULL;
	int found, error = 0;

	*folders = NULL;
	*count = 0;
	if (asprintf(&history, "%s/" HISTORY_FOLDER, ctx->state_dir) < 0)
		return -ENOMEM;
	found = scandir(history, &names, is_entry, alphasort);
	if (found < 0)
		error = -errno;
	else
		*folders = calloc((size_t)found + 1, sizeof(**folders));
	if (error == 0 && !*folders)
		error = -ENOMEM;
	for (int i = found - 1; i >= 0; i--) {
		if (error == 0 && asprintf(&(*folders)[*count], "%s/%s", history, names[i]->d_name) < 0)
			error = -ENOMEM;
		else if (error == 0)
			(*count)++;
		free(names[i]);
	}
	free(names);
	free(history);
	return error;
}

static void free_folders(char **folders, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(folders[i]);
	free(folders);
}

int history_last(const struct ibqos_ctx *ctx, const char *conf_path, struct history *h)
{
	char **folders = NULL;
	size_t count = 0;
	bool found = false;
	int error = list_folders(ctx, &folders, &count);

	*h = (struct history){0};
	for (size_t i = 0; error == 0 && !found && i < count; i++) {
		error = history_read(ctx, folders[i], h);
		if (h->state == HISTORY_NOTHING_WRITTEN) {
			/* nor need it be whole */
			error = error == -ENOMEM ? error : 0;
		} else if (error == 0) {
			/* one that cannot be read tells nothing, also not that an older one still holds */
			found = strcmp(h->conf_path, conf_path) == 0;
		}
		if (!found)
			history_clear(h);
	}
	free_folders(folders, count);
	return error ? error : found ? 0 : -ENOENT;
}
