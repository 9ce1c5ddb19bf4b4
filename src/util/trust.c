/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Who can have written a file: its owner and mode, those of each folder above it, and of each link on the way. */
#include "ibqos/trust.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ibqos/util.h"

#define LINKS_MAX 40 /* as the kernel follows in one path: path_resolution(7) */

/* --- whom --- */

static int add_user(struct trust *trust, uid_t uid)
{
	for (unsigned i = 0; i < trust->user_count; i++)
		if (trust->users[i] == uid)
			return 0;
	if (trust->user_count == TRUST_MAX)
		return -ENOSPC;
	trust->users[trust->user_count++] = uid;
	return 0;
}

static int add_group(struct trust *trust, gid_t gid)
{
	if (trust->group_count == TRUST_MAX)
		return -ENOSPC;
	trust->groups[trust->group_count++] = gid;
	return 0;
}

/* Who logged in, before becoming root. */
static void add_login(struct trust *trust)
{
	const char *sudo = getenv("SUDO_UID");
	uint64_t uid = UINT32_MAX;
	char *text = NULL;
	size_t size;

	if (sudo && text_to_u64(sudo, UINT32_MAX - 1, &uid) == 0)
		add_user(trust, (uid_t)uid);
	if (file_read("/proc/self/loginuid", &text, &size) == 0 && text_to_u64(text, UINT32_MAX - 1, &uid) == 0)
		add_user(trust, (uid_t)uid);
	free(text);
}

void trust_begin(struct trust *trust)
{
	struct stat top;

	*trust = (struct trust){0};
	add_user(trust, 0);
	add_user(trust, geteuid());
	if (stat("/", &top) == 0) /* in a container root may have another number, or none */
		add_user(trust, top.st_uid);
	add_group(trust, 0);
	if (geteuid() == 0)
		add_login(trust);
}

static int take_user(struct trust *trust, const char *name)
{
	const struct passwd *user = getpwnam(name);
	uint64_t number = 0;

	if (!user && text_to_u64(name, UINT32_MAX - 1, &number) != 0)
		return -EINVAL;
	return add_user(trust, user ? user->pw_uid : (uid_t)number);
}

static int take_group(struct trust *trust, const char *name)
{
	const struct group *group = getgrnam(name);
	uint64_t number = 0;

	if (!group && text_to_u64(name, UINT32_MAX - 1, &number) != 0)
		return -EINVAL;
	return add_group(trust, group ? group->gr_gid : (gid_t)number);
}

int trust_add(struct trust *trust, const char *text)
{
	const char *colon = strchr(text, ':');
	char *user = strndup(text, colon ? (size_t)(colon - text) : strlen(text));
	int error = user ? 0 : -ENOMEM;

	if (error == 0 && !*user && (!colon || !colon[1]))
		error = -EINVAL;
	if (error == 0 && *user)
		error = take_user(trust, user);
	if (error == 0 && colon && colon[1])
		error = take_group(trust, colon + 1);
	free(user);
	return error;
}

static bool is_user(const struct trust *trust, uid_t uid)
{
	for (unsigned i = 0; i < trust->user_count; i++)
		if (trust->users[i] == uid)
			return true;
	return false;
}

/* A group of the owner's own, as Debian and others make one for each user: of its name, with nobody else in it. */
static bool is_own_group(const struct stat *st)
{
	const struct passwd *owner = getpwuid(st->st_uid);
	const struct group *group = owner && owner->pw_gid == st->st_gid ? getgrgid(st->st_gid) : NULL;

	if (!group || strcmp(group->gr_name, owner->pw_name) != 0)
		return false;
	for (char **member = group->gr_mem; *member; member++)
		if (strcmp(*member, owner->pw_name) != 0)
			return false;
	return true;
}

static bool is_group(const struct trust *trust, const struct stat *st)
{
	for (unsigned i = 0; i < trust->group_count; i++)
		if (trust->groups[i] == st->st_gid)
			return true;
	return is_own_group(st);
}

/* --- one step of a path --- */

static char *user_text(uid_t uid)
{
	const struct passwd *user = getpwuid(uid);
	char *text;

	return (user ? asprintf(&text, "%s", user->pw_name) : asprintf(&text, "%u", (unsigned)uid)) < 0 ? NULL : text;
}

static char *group_text(gid_t gid)
{
	const struct group *group = getgrgid(gid);
	char *text;

	return (group ? asprintf(&text, "%s", group->gr_name) : asprintf(&text, "%u", (unsigned)gid)) < 0 ? NULL : text;
}

static int say(char **why, const char *kind, const char *at, const char *format, char *who)
{
	char *fault = NULL;
	int error = -ENOMEM;

	if (who && asprintf(&fault, format, who) >= 0) {
		error = asprintf(why, "%s %s %s", kind, at, fault) < 0 ? -ENOMEM : 1;
		free(fault);
	}
	free(who);
	return error;
}

/* 0: trusted; 1: *why; -ENOMEM. */
static int judge(const struct trust *trust, const char *at, const struct stat *st, char **why)
{
	const char *kind = S_ISDIR(st->st_mode) ? "folder" : S_ISLNK(st->st_mode) ? "link" : "file";
	bool sticky = S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX;

	if (!S_ISDIR(st->st_mode) && !S_ISLNK(st->st_mode) && !S_ISREG(st->st_mode))
		return 0;
	if (!is_user(trust, st->st_uid))
		return say(why, kind, at, "belongs to %s", user_text(st->st_uid));
	if (S_ISLNK(st->st_mode) || sticky) /* the mode of a link means nothing */
		return 0;
	if (st->st_mode & S_IWOTH)
		return say(why, kind, at, "can be written by %s", strdup("anybody"));
	if (st->st_mode & S_IWGRP && !is_group(trust, st))
		return say(why, kind, at, "can be written by group %s", group_text(st->st_gid));
	return 0;
}

/* --- the whole path --- */

struct way {
	char at[PATH_MAX];   /* so far, without links; "" is / */
	char left[PATH_MAX]; /* of the path */
	unsigned links;
};

/* Puts `text` in front of what is left. */
static int go_before(struct way *way, const char *text)
{
	char joined[PATH_MAX];
	int length = snprintf(joined, sizeof(joined), "%s/%s", text, way->left);

	if (length < 0 || (size_t)length >= sizeof(joined))
		return -ENAMETOOLONG;
	memcpy(way->left, joined, (size_t)length + 1);
	if (text[0] == '/')
		way->at[0] = '\0';
	return 0;
}

static int begin(struct way *way, const char *path)
{
	char here[PATH_MAX] = "";

	*way = (struct way){.at = ""};
	if (strlen(path) >= sizeof(way->left))
		return -ENAMETOOLONG;
	strcpy(way->left, path);
	if (path[0] == '/')
		return 0;
	return getcwd(here, sizeof(here)) ? go_before(way, here) : -errno;
}

/* The next name of what is left; false at the end. ".." is taken where links are gone already, as the kernel does. */
static bool next_name(struct way *way, char name[NAME_MAX + 1])
{
	char *from = way->left + strspn(way->left, "/");
	size_t length = strcspn(from, "/");

	if (length == 0 || length > NAME_MAX)
		return false;
	memcpy(name, from, length);
	name[length] = '\0';
	memmove(way->left, from + length, strlen(from + length) + 1);
	return true;
}

static int follow(struct way *way, const char *link)
{
	char target[PATH_MAX];
	ssize_t length = readlink(link, target, sizeof(target));

	if (length < 0)
		return -errno;
	if (length == (ssize_t)sizeof(target))
		return -ENAMETOOLONG;
	if (++way->links > LINKS_MAX)
		return -ELOOP;
	target[length] = '\0';
	return go_before(way, target);
}

/* One name further: 0; 1: not trusted; -ENOENT: it ends there; -errno. */
static int step(const struct trust *trust, struct way *way, const char *name, char **why)
{
	size_t length = strlen(way->at);
	struct stat st;
	int r;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		char *slash = strrchr(way->at, '/');

		if (slash)
			*slash = '\0';
		return 0;
	}
	if (length + 1 + strlen(name) >= sizeof(way->at))
		return -ENAMETOOLONG;
	way->at[length] = '/';
	strcpy(way->at + length + 1, name);
	if (lstat(way->at, &st) != 0)
		return -errno;
	r = judge(trust, way->at, &st, why);
	if (r == 0 && S_ISLNK(st.st_mode)) {
		char link[PATH_MAX];

		strcpy(link, way->at);
		way->at[length] = '\0'; /* a target that is relative begins there */
		r = follow(way, link);
	}
	return r;
}

int trust_path(const struct trust *trust, const char *path, char **why)
{
	struct trust usual;
	struct stat top;
	struct way *way = malloc(sizeof(*way));
	char name[NAME_MAX + 1];
	int r = way ? begin(way, path) : -ENOMEM;

	*why = NULL;
	if (!trust) {
		trust_begin(&usual);
		trust = &usual;
	}
	if (r == 0)
		r = stat("/", &top) == 0 ? judge(trust, "/", &top, why) : -errno;
	while (r == 0 && next_name(way, name))
		r = step(trust, way, name, why);
	free(way);
	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

int trust_planted(const char *path, int fd)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path + 1)) : strdup(".");
	struct stat st, above;
	int error = -ENOMEM;

	if (!folder)
		goto out;
	error = (fd < 0 ? lstat(path, &st) : fstat(fd, &st)) == 0 && stat(folder, &above) == 0 ? 0 : errno == ENOENT || errno == ENOTDIR ? 1 : -errno;
	if (error == 0 && above.st_mode & S_IWOTH && st.st_uid != geteuid() && st.st_uid != above.st_uid)
		error = -EACCES;
out:
	free(folder);
	return error == 1 ? 0 : error;
}
