/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Counts of several runs and engines as one. */
#include "ibqos/mad.h"

void mad_counts_add(struct mad_counts *sum, const struct mad_counts *now, const struct mad_counts *since)
{
	if (!sum->window_least || (now->window_least && now->window_least < sum->window_least))
		sum->window_least = now->window_least;
	if (now->window)
		sum->window = now->window;
	sum->queries += now->queries - since->queries;
	for (int i = 0; i < MAD_OUTCOMES; i++)
		sum->ended[i] += now->ended[i] - since->ended[i];
	sum->sent += now->sent - since->sent;
	sum->retried += now->retried - since->retried;
	sum->late += now->late - since->late;
	sum->foreign += now->foreign - since->foreign;
	sum->send_failed += now->send_failed - since->send_failed;
	sum->slow += now->slow - since->slow;
	sum->rounds += now->rounds - since->rounds;
	sum->losses += now->losses - since->losses;
	sum->slowdowns += now->slowdowns - since->slowdowns;
}
