/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* page_fabric: reports with the pictures of a fabric of any size (page.c). */
#ifndef PAGE_FABRIC_H
#define PAGE_FABRIC_H

#include "ibqos/report.h"

/*
 * A tree of three levels of switches with so many ports, all active at 4x EDR; a finding at one in 97 of its links, and measures of
 * all ports. `names` (NULL: plain ones) are parted by NULs and are given to nodes in turn. 0 or -1.
 */
int page_fabric(struct report *r, struct finding_list *list, unsigned radix, const char *names, size_t size);

#endif
