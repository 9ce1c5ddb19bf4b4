/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * opensm.conf inside this folder: what conf_qos.c needs to know beyond the public calls.
 */
#ifndef OPENSM_CONF_H
#define OPENSM_CONF_H

#include <stdbool.h>

#include "ibqos/opensm.h"

/* Most bytes of a line that OpenSM reads at once: fgets(line, 1023, …) (osm_subnet.c:2236). */
#define CONF_PIECE_MAX 1022u

/* Larger than any opensm.conf by far: keeps the memory of a foreign file in bounds. */
#define CONF_SIZE_MAX (4u << 20)

/* True if the line that sets `key` is read by OpenSM in pieces or up to a NUL, so not as it looks. */
bool opensm_conf_torn(const struct opensm_conf *conf, const char *key);

#endif
