/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * audit: the verdicts on one width or speed, and which of them are told.
 */
#include "ibqos/audit.h"

unsigned link_verdicts(const struct link_levels *l)
{
	unsigned verdicts = 0;

	if (l->active && l->active < l->enabled)
		verdicts |= LINK_BELOW_ENABLED;
	if (l->active && l->active < l->can)
		verdicts |= LINK_BELOW_CAN;
	if (l->active && l->active < l->expected)
		verdicts |= LINK_BELOW_EXPECTED;
	if (l->now && l->now < l->before)
		verdicts |= LINK_LOST;
	if (!l->active || !l->can)
		verdicts |= LINK_UNKNOWN;
	return verdicts;
}

unsigned link_tellings(const struct link_levels *l)
{
	unsigned verdicts = link_verdicts(l), tellings = 0;
	unsigned ceiling = l->can;

	if (l->expected && l->expected < ceiling)
		ceiling = l->expected;
	if (l->active && l->active < ceiling)
		tellings |= l->enabled && l->enabled <= l->active ? LINK_TELL_LIMITED : LINK_TELL_LOW;
	if (verdicts & LINK_LOST)
		tellings |= LINK_TELL_LOST;
	/* what was lost explains it, where it would have been enough */
	if (verdicts & LINK_BELOW_EXPECTED && l->can < l->expected &&
	    !(tellings & LINK_TELL_LOST && l->before >= l->expected))
		tellings |= LINK_TELL_BELOW_POLICY;
	return tellings;
}
