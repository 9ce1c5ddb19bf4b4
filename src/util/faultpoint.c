/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Fault points of the tests' binary; compiled to nothing in any other: see faultpoint.h. */
#include "ibqos/faultpoint.h"

#ifdef IBQOS_FAULT_POINTS

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void trace(unsigned number, const char *literal, const char *subject)
{
	const char *path = getenv("IBQOS_FAULT_TRACE");
	const char *name = strchr(literal, ':') + 1;
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	dprintf(fd, "%u %s %s %.*s\n", number, strncmp(literal, "fault-call:", 11) == 0 ? "call" : "point", name,
		(int)strcspn(subject, "\n"), subject);
	close(fd);
}

static int act(const char *action)
{
	if (strcmp(action, "kill") == 0)
		raise(SIGKILL);
	else if (strcmp(action, "int") == 0)
		raise(SIGINT);
	else if (strcmp(action, "ENOSPC") == 0)
		return -ENOSPC;
	else if (strcmp(action, "EIO") == 0)
		return -EIO;
	else if (strcmp(action, "EROFS") == 0)
		return -EROFS;
	else
		abort();
	return 0;
}

/* On a full disk files can still be renamed and removed. */
static bool needs_room(const char *literal)
{
	static const char *const none[] = {":file-rename", ":file-remove", ":folder-sync", ":history-sync"};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (strcmp(strchr(literal, ':'), none[i]) == 0)
			return false;
	return true;
}

int fault_point(const char *literal, const char *subject)
{
	static unsigned passed; /* of this process; the tests' binary alone has such a thing */
	const char *fault = getenv("IBQOS_FAULT");
	unsigned long at;
	char *end;

	trace(++passed, literal, subject);
	if (!fault)
		return 0;
	at = strtoul(fault, &end, 10);
	if (passed != at && !(*end == '+' && passed > at && needs_room(literal)))
		return 0;
	return act(strchr(end, ':') + 1);
}

#else
typedef int faultpoint_none; /* a translation unit is never empty */
#endif
