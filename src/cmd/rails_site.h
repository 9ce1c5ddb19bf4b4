/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The fabrics of a site for ibqos rails: a worker takes a snapshot of each. */
#ifndef IBQOS_CMD_RAILS_SITE_H
#define IBQOS_CMD_RAILS_SITE_H

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
/* Whether a worker has written what can be a snapshot. False: told as rails_site_lost() does. */
bool rails_site_answered(struct cmd_session *s, const struct site_fabric *fabric, const struct worker *w);
/* Tells that nothing is known of a fabric, and why. */
void rails_site_lost(struct cmd_session *s, const struct site_fabric *fabric, const struct worker *w, const char *why);
void rails_site_clear(struct rails_site *site);

#endif
