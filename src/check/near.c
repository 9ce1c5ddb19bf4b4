/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* near: names that come closest to one that is not there, by keys amiss. */
#include "near.h"

#include <stdio.h>
#include <string.h>

#include "ibqos/util.h"

#define FAR_OFF 4 /* keys amiss beyond which a name is none that was meant */

size_t near_host_length(const char *name)
{
	return strcspn(name, " /:");
}

void near_offer(struct near *near, const char *name, const char *text)
{
	unsigned distance = text_distance(name, text), of_host, at;
	char host[NEAR_NAME];

	snprintf(host, sizeof(host), "%.*s", (int)near_host_length(name), name);
	of_host = text_distance(host, text);
	distance = of_host < distance ? of_host : distance;
	if (distance > FAR_OFF || distance >= strlen(text))
		return;
	for (at = 0; at < near->count; at++)
		if (strcmp(near->name[at], name) == 0)
			return;
	for (at = near->count; at > 0 && near->distance[at - 1] > distance; at--)
		;
	if (at == NEAR_NAMES)
		return;
	if (near->count < NEAR_NAMES)
		near->count++;
	for (unsigned i = near->count - 1; i > at; i--) {
		near->distance[i] = near->distance[i - 1];
		memcpy(near->name[i], near->name[i - 1], NEAR_NAME);
	}
	near->distance[at] = distance;
	snprintf(near->name[at], NEAR_NAME, "%s", name);
}

void near_text(const struct near *near, char text[NEAR_TEXT])
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < near->count; i++)
		used += (size_t)snprintf(text + used, NEAR_TEXT - used, "%s'%s'", i ? ", " : "closest: ", near->name[i]);
}
