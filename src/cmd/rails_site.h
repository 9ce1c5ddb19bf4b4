/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The fabrics of a site for ibqos rails: a worker takes a snapshot of each. */
#ifndef IBQOS_CMD_RAILS_SITE_H
#define IBQOS_CMD_RAILS_SITE_H

#include "diff_states.h"
#include "site_args.h"

struct rails_site {
	struct site_words words; /* of the caller, by site_words_sort() */
	struct site *site;
	const struct site_fabric **fabrics;
	struct worker *workers; /* one of each; what they wrote is a snapshot */
	size_t count;
};

/* Looks at all of them at once, and returns when all workers have ended. False, told: there is nothing to look at. */
bool rails_site_take(struct cmd_session *s, const char *names, struct rails_site *site);
/* The same of the fabrics that were chosen, of a site that was read: `trusted` by session_trust(). */
bool rails_site_run(struct cmd_session *s, bool trusted, struct rails_site *site);
/*
 * Reads a worker's snapshot; its gaps become findings. 0 or -errno; cmd_side_close() in any case. `ctx` is the session's, or a copy
 * that lives as long.
 */
int rails_site_read(struct cmd_session *s, const struct ibqos_ctx *ctx, const struct site_fabric *fabric, const struct worker *w,
		    struct cmd_side *side);
/* Whether a worker has written what can be a snapshot. False: told as rails_site_lost() does. */
bool rails_site_answered(struct cmd_session *s, const struct site_fabric *fabric, const struct worker *w);
/* Tells that nothing is known of a fabric, and why. */
void rails_site_lost(struct cmd_session *s, const struct site_fabric *fabric, const struct worker *w, const char *why);
void rails_site_clear(struct rails_site *site);

#endif
