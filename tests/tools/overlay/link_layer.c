/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * IBQOS_OVERLAY_LINK_LAYER=Ethernet makes the local port look like one of RoCE: libibumad reads the
 * link layer from sysfs, of which the simulator has none.
 */
#include <dlfcn.h>
#include <infiniband/umad.h>
#include <stdio.h>
#include <stdlib.h>

#include "overlay.h"

int umad_get_ca(const char *ca_name, umad_ca_t *ca)
{
	int (*real)(const char *, umad_ca_t *) = NULL;
	const char *link_layer = getenv("IBQOS_OVERLAY_LINK_LAYER");
	int error;

	*(void **)&real = dlsym(RTLD_NEXT, "umad_get_ca");
	if (!real)
		die("no umad_get_ca behind the overlay");
	error = real(ca_name, ca);
	for (int i = 0; error == 0 && link_layer && i < UMAD_CA_MAX_PORTS; i++) {
		if (ca->ports[i])
			snprintf(ca->ports[i]->link_layer, sizeof(ca->ports[i]->link_layer), "%s", link_layer);
	}
	return error;
}
