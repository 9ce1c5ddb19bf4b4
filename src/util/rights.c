/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Rights that a run gives up: capabilities, those of programs that it starts, its memory in core files. */
#include "ibqos/rights.h"

#include <errno.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Of each kind, those of the one before and these; of CHANGE: fsetxattr(2) of security.* asks for the last two. */
static const cap_value_t to_read[] = {CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE};
static const cap_value_t to_write[] = {CAP_DAC_OVERRIDE, CAP_CHOWN, CAP_FOWNER, CAP_FSETID};
static const cap_value_t to_end[] = {CAP_KILL};
static const cap_value_t to_change[] = {CAP_SYS_ADMIN, CAP_MAC_ADMIN};

/* Whether any capability is there at all. */
static bool has_capabilities(void)
{
	cap_t now = cap_get_proc(), none = cap_init();
	bool has = now && none && cap_compare(now, none) != 0;

	cap_free(now);
	cap_free(none);
	return has;
}

const char *rights_borrowed(void)
{
	if (getuid() != geteuid() || getgid() != getegid())
		return "it is installed set-user-ID or set-group-ID";
	/* a security module sets AT_SECURE too where a service enters its domain, and gives no capabilities */
	if (getauxval(AT_SECURE) && getuid() != 0 && has_capabilities())
		return "its file has capabilities";
	return NULL;
}

void rights_begin(void)
{
	umask(umask(0) | S_IWGRP | S_IWOTH);
	/* An old kernel without it leaves them open, for programs that are Debian's own. */
	close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC);
	prctl(PR_SET_DUMPABLE, 0);
}

/* Adds to `kept` those of `list` that `now` has. */
static int add(cap_t kept, cap_t now, const cap_value_t *list, int count)
{
	for (int i = 0; i < count; i++) {
		cap_flag_value_t has = CAP_CLEAR;

		if (cap_get_flag(now, list[i], CAP_PERMITTED, &has) != 0 || has != CAP_SET)
			continue;
		if (cap_set_flag(kept, CAP_PERMITTED, 1, &list[i], CAP_SET) != 0 ||
		    cap_set_flag(kept, CAP_EFFECTIVE, 1, &list[i], CAP_SET) != 0)
			return -errno;
	}
	return 0;
}

static int keep_capabilities(enum rights keep, char **left)
{
	cap_t now = cap_get_proc(), kept = cap_init();
	int error = now && kept ? 0 : -errno;

	if (error == 0)
		error = add(kept, now, to_read, COUNT(to_read));
	if (error == 0 && keep >= RIGHTS_WRITE)
		error = add(kept, now, to_write, COUNT(to_write));
	if (error == 0 && keep >= RIGHTS_END)
		error = add(kept, now, to_end, COUNT(to_end));
	if (error == 0 && keep >= RIGHTS_CHANGE)
		error = add(kept, now, to_change, COUNT(to_change));
	if (error == 0 && cap_set_proc(kept) != 0)
		error = -errno;
	if (error == 0)
		*left = cap_to_text(kept, NULL);
	cap_free(now);
	cap_free(kept);
	return error;
}

void rights_keep(const struct ibqos_ctx *ctx, enum rights keep)
{
	bool had = has_capabilities();
	char *left = NULL;
	int error = keep_capabilities(keep, &left);

	/* systemctl(1) and systemd-run(1) are programs that have to be root's */
	if (error == 0 && keep != RIGHTS_CHANGE && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		error = -errno;
	if (error != 0)
		ctx_warn(ctx, "rights that are not needed could not be given up: %s", strerror(-error));
	else if (had)
		ctx_info(ctx, "of the rights of root these are kept, the others given up: %s", left && *left ? left : "none");
	cap_free(left);
}
