/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The site file inside this folder: its keys (site_keys.c) and the whole (site.c). */
#ifndef POLICY_SITE_H
#define POLICY_SITE_H

#include "ibqos/site.h"
#include "read.h"

/* What the table's rows set is a struct site. */
extern const struct key_table site_key_table;

void site_fabric_clear(struct site_fabric *fabric);

#endif
