/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* near: for the name of a node that is not there, those that come closest. */
#ifndef CHECK_NEAR_H
#define CHECK_NEAR_H

#include <stddef.h>

#define NEAR_NAMES 3 /* shown for one that is not there */
#define NEAR_NAME 256
#define NEAR_TEXT (NEAR_NAMES * (NEAR_NAME + 8) + 16)

struct near {
	unsigned distance[NEAR_NAMES];
	char name[NEAR_NAMES][NEAR_NAME];
	unsigned count;
};

/* How many bytes of a node's name are its host's. */
size_t near_host_length(const char *name);
/*
 * Takes a name that there is if it is closer to the text than what was taken before. The host's part alone is close too: who says
 * gpu-001 means "gpu-001 mlx5_0".
 */
void near_offer(struct near *near, const char *name, const char *text);
/* "closest: 'gpu-001', 'gpu-002'"; nothing where nothing is near. */
void near_text(const struct near *near, char text[NEAR_TEXT]);

#endif
