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

int umad_get_port(const char *ca_name, int portnum, umad_port_t *port)
{
	int (*real)(const char *, int, umad_port_t *) = NULL;
	const char *link_layer = getenv("IBQOS_OVERLAY_LINK_LAYER");
	int error;

	*(void **)&real = dlsym(RTLD_NEXT, "umad_get_port");
	if (!real)
		die("no umad_get_port behind the overlay");
	error = real(ca_name, portnum, port);
	if (error == 0 && link_layer)
		snprintf(port->link_layer, sizeof(port->link_layer), "%s", link_layer);
	return error;
}
