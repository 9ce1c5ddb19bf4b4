/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Extended attributes of a file that replaces another: see attributes.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "attributes.h"

#define ACL "system.posix_acl_access"

static bool is_kept(const char *name)
{
	static const char *const content[] = {"security.ima", "security.evm", "security.capability"};

	for (size_t i = 0; i < sizeof(content) / sizeof(content[0]); i++)
		if (strcmp(name, content[i]) == 0)
			return false;
	return strncmp(name, "trusted.", 8) != 0;
}

static bool is_unsupported(int error)
{
	return error == ENOTSUP || error == ENOSYS;
}

/* A value, and one more byte so that none is empty; *size -1 with errno where there is none. */
static char *value_of(const char *path, int fd, const char *name, ssize_t *size)
{
	*size = path ? getxattr(path, name, NULL, 0) : fgetxattr(fd, name, NULL, 0);
	for (;;) {
		ssize_t room = *size;
		char *value;

		if (room < 0)
			return NULL;
		value = malloc((size_t)room + 1);
		if (!value) {
			errno = ENOMEM;
			*size = -1;
			return NULL;
		}
		*size = path ? getxattr(path, name, value, (size_t)room + 1) : fgetxattr(fd, name, value, (size_t)room + 1);
		if (*size >= 0)
			return value;
		free(value);
		if (errno != ERANGE) /* else it has grown */
			return NULL;
		*size = path ? getxattr(path, name, NULL, 0) : fgetxattr(fd, name, NULL, 0);
	}
}

static int copy_one(const char *from, int to, const char *name)
{
	ssize_t size, has_size;
	char *value = value_of(from, -1, name, &size), *has = NULL;
	int error = 0;

	if (!value)
		return errno == ENODATA ? 0 : -errno; /* gone meanwhile */
	has = value_of(NULL, to, name, &has_size);
	/* one that is right already need not be settable: the label of the folder, say */
	if (!has || has_size != size || memcmp(has, value, (size_t)size) != 0)
		error = fsetxattr(to, name, value, (size_t)size, 0) < 0 ? -errno : 0;
	free(has);
	free(value);
	return error;
}

/* The names, one after another, each ended by a NUL. */
static char *names_of(const char *path, ssize_t *size)
{
	char *names = NULL;

	for (;;) {
		char *grown;

		*size = listxattr(path, NULL, 0);
		if (*size <= 0)
			break;
		grown = realloc(names, (size_t)*size + 1);
		if (!grown) {
			errno = ENOMEM;
			*size = -1;
			break;
		}
		names = grown;
		*size = listxattr(path, names, (size_t)*size);
		if (*size >= 0 || errno != ERANGE)
			break;
	}
	if (*size < 0) {
		int error = errno;

		free(names);
		errno = error;
		return NULL;
	}
	return names;
}

int attributes_copy(const char *from, int to)
{
	ssize_t size;
	char *names = names_of(from, &size);
	bool acl = false;
	int error = 0;

	if (size < 0)
		return is_unsupported(errno) ? 0 : -errno;
	for (const char *name = names; size > 0 && name < names + size && error == 0; name += strlen(name) + 1) {
		acl |= strcmp(name, ACL) == 0;
		if (is_kept(name))
			error = copy_one(from, to, name);
	}
	free(names);
	if (error == 0 && !acl && fremovexattr(to, ACL) < 0 && errno != ENODATA && !is_unsupported(errno))
		error = -errno;
	return error;
}
