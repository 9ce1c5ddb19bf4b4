/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rights: what a run may do beyond what any user may, and what it gives up. Capabilities of Linux: capabilities(7).
 */
#ifndef IBQOS_RIGHTS_H
#define IBQOS_RIGHTS_H

#include "ibqos/util.h"

/* What a run is for, and so what is left to it. */
enum rights {
	RIGHTS_READ,   /* to read any file and look at OpenSM's process */
	RIGHTS_WRITE,  /* besides, to replace files, whoever owns them: a report, a state */
	RIGHTS_END,    /* besides, to end programs that it started, whoever they have become */
	RIGHTS_CHANGE, /* besides, to keep labels of its files, and to have systemd act */
};

/*
 * NULL, or why this process has rights that who started it has not: set-user-ID, set-group-ID or capabilities of
 * its file. It would read and write with them what its caller names. Static.
 */
const char *rights_borrowed(void);

/*
 * At the start: no file is made writable for others, descriptors that were left open are closed for programs that are
 * started, and no core file or debugger of the same user gets at the memory of this process.
 */
void rights_begin(void);

/*
 * Gives up for good all that `keep` does not stand for; what was given up before does not come back. But for
 * RIGHTS_CHANGE no program that is started can have more, either. Tells with -v what is left of root's rights; warns where
 * it cannot be done.
 */
void rights_keep(const struct ibqos_ctx *ctx, enum rights keep);

#endif
