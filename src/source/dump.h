/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * dump: what other tools wrote of a fabric, read into the model. None has all that ibqos asks for; what a
 * dump lacks stays unknown.
 */
#ifndef SOURCE_DUMP_H
#define SOURCE_DUMP_H

#include "ibqos/fabric.h"

/* Where and why a dump cannot be read. */
struct dump_fault {
	unsigned line, column; /* from 1; 0: the file as a whole */
	char text[160];
};

/* Whether a text has a node as ibnetdiscover writes it. */
bool netdiscover_is(const char *text, size_t size);
/*
 * ibnetdiscover's text (infiniband-diags; ibsim's net files are like it; ibdiagnet's has labels behind port
 * numbers): nodes, links, names, LIDs, width and speed of links; fabric finished, no port's PortInfo known.
 * What stands before the first node (messages, prompts), comments and headings are passed over; a line of a
 * node or port that cannot be read ends reading, as does a link to a node that is not there. 0; -EBADMSG with
 * *fault; -ENOMEM.
 */
int netdiscover_read(const char *label, const char *text, size_t size, struct fabric **fabric,
		     struct dump_fault *fault);

#endif
