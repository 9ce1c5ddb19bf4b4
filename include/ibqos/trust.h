/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * trust: who can have written a file that a run goes by. A file is trusted where nobody but root, the user who runs
 * this, and whom the user names can have written it, put another in its place, or turned a link on its way.
 */
#ifndef IBQOS_TRUST_H
#define IBQOS_TRUST_H

#include <sys/types.h>

#define TRUST_MAX 16 /* names of each kind */

struct trust {
	uid_t users[TRUST_MAX];
	unsigned user_count;
	gid_t groups[TRUST_MAX];
	unsigned group_count;
};

/*
 * Root (whoever owns the folder /), group root, the user of this process, and where that is root, the one who became root: by the
 * kernel (loginuid) and by sudo (SUDO_UID, which only one who is root already can set).
 */
void trust_begin(struct trust *trust);

/* "USER", ":GROUP" or "USER:GROUP", names or numbers. 0; -EINVAL: there is none of that name; -ENOSPC: too many. */
int trust_add(struct trust *trust, const char *text);

/*
 * Looks at a regular file, or a folder, at all folders above it, and at each symbolic link on the way. NULL for `trust`
 * stands for trust_begin(). 0: trusted, or there is no such file; 1: not, and *why (malloc'ed) says who can write
 * what; -errno: that could not be looked at. What is neither file nor folder (a device, a pipe) is taken as it is.
 *
 * Folders with the sticky bit (/tmp) are no fault: what lies there counts by its own owner. A group counts as its
 * only member: where a file's group is its owner's own, it is as if it had none.
 */
int trust_path(const struct trust *trust, const char *path, char **why);

/*
 * Whether `path` may be followed to what it is a link to, or replaced by what this process writes: 0, or -EACCES where
 * it lies in a folder in which anybody may make files, and was made there by somebody else than this user or the folder's owner:
 * what Linux refuses with fs.protected_symlinks and fs.protected_regular, for files that are replaced whole.
 * What does not exist is fine; -errno. `fd`: of what is there, opened without following it; -1: path is looked at.
 */
int trust_planted(const char *path, int fd);

#endif
