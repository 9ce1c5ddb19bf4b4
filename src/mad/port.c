/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Chooses and checks a port of this machine. libibumad has a choice of its own, but where it finds
 * nothing it falls back to a device that does not exist, and it does not tell an absent port from
 * an Ethernet one or one that is down.
 */
#include "ibqos/mad.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/umad.h>

_Static_assert(MAD_DEVICE_NAME == UMAD_CA_NAME_LEN, "room for any device name of libibumad");

#define NODE_SWITCH 2 /* node_type: its only port is the management port 0 */
#define STATE_INIT 2
#define STATE_ACTIVE 4
#define PHYS_LINK_UP 5

/* How well a port suits, best last. */
enum rank {
	RANK_NONE,
	RANK_ETHERNET,
	RANK_DOWN,
	RANK_LINK_UP,
	RANK_ACTIVE,
};

static bool is_infiniband(const umad_port_t *port)
{
	return !strcmp(port->link_layer, "InfiniBand") || !strcmp(port->link_layer, "IB");
}

static enum rank rank_port(const umad_port_t *port)
{
	if (!is_infiniband(port))
		return RANK_ETHERNET;
	if (port->state == STATE_ACTIVE)
		return RANK_ACTIVE;
	return port->state >= STATE_INIT || port->phys_state == PHYS_LINK_UP ? RANK_LINK_UP : RANK_DOWN;
}

static void describe(const umad_port_t *port, const char *device, struct mad_port_info *info)
{
	*info = (struct mad_port_info){
		.port = port->portnum,
		.guid = be64toh(port->port_guid),
		.subnet_prefix = be64toh(port->gid_prefix),
		.lid = (uint16_t)port->base_lid,
		.sm_lid = (uint16_t)port->sm_lid,
		.state = port->state,
	};
	memccpy(info->device, device, '\0', sizeof(info->device) - 1);
	memccpy(info->link_layer, port->link_layer, '\0', sizeof(info->link_layer) - 1);
}

/* Takes the best port of one device, if it is better than what was found so far. */
static int look_at(const char *device, int port, enum rank *best, struct mad_port_info *info)
{
	umad_ca_t ca = {0};
	enum rank rank;
	int i, err = umad_get_ca(device, &ca);

	if (err < 0)
		return err;
	for (i = 0; i < UMAD_CA_MAX_PORTS; i++) {
		if (!ca.ports[i] || (port && i != port))
			continue;
		if (i == 0 && ca.node_type != NODE_SWITCH)
			continue;
		rank = rank_port(ca.ports[i]);
		if (rank <= *best)
			continue;
		*best = rank;
		describe(ca.ports[i], device, info);
	}
	umad_release_ca(&ca);
	return 0;
}

/* The port of this GUID, if it is one of this device. */
static bool find_guid(const char *device, uint64_t guid, struct mad_port_info *info)
{
	umad_ca_t ca = {0};
	bool found = false;

	if (umad_get_ca(device, &ca) < 0)
		return false;
	for (int i = 0; i < UMAD_CA_MAX_PORTS && !found; i++) {
		found = ca.ports[i] && be64toh(ca.ports[i]->port_guid) == guid;
		if (found)
			describe(ca.ports[i], device, info);
	}
	umad_release_ca(&ca);
	return found;
}

int mad_port_of_guid(uint64_t guid, struct mad_port_info *info)
{
	struct umad_device_node *list, *node;
	bool found = false;

	*info = (struct mad_port_info){0};
	umad_init();
	list = umad_get_ca_device_list();
	for (node = list; node && !found; node = node->next)
		found = strlen(node->ca_name) < MAD_DEVICE_NAME && find_guid(node->ca_name, guid, info);
	umad_free_ca_device_list(list);
	return found ? 0 : -ENODEV;
}

int mad_ports(void (*each)(void *arg, const struct mad_port_info *info), void *arg)
{
	struct umad_device_node *list, *node;

	umad_init();
	list = umad_get_ca_device_list();
	for (node = list; node; node = node->next) {
		umad_ca_t ca = {0};

		if (strlen(node->ca_name) >= MAD_DEVICE_NAME || umad_get_ca(node->ca_name, &ca) < 0)
			continue;
		for (int i = 1; i < UMAD_CA_MAX_PORTS; i++) {
			struct mad_port_info info;

			if (!ca.ports[i] || rank_port(ca.ports[i]) != RANK_ACTIVE)
				continue;
			describe(ca.ports[i], node->ca_name, &info);
			each(arg, &info);
		}
		umad_release_ca(&ca);
	}
	umad_free_ca_device_list(list);
	return list ? 0 : -ENODEV;
}

int mad_port_check(const char *device, int port, struct mad_port_info *info)
{
	struct umad_device_node *list, *node;
	enum rank best = RANK_NONE;
	int err = 0;

	*info = (struct mad_port_info){0};
	if (port < 0 || port >= UMAD_CA_MAX_PORTS)
		return -ENODEV;
	umad_init();
	list = umad_get_ca_device_list();
	if (!list)
		return errno ? -errno : -ENODEV;
	for (node = list; node; node = node->next) {
		if (device && strcmp(device, node->ca_name))
			continue;
		if (strlen(node->ca_name) < MAD_DEVICE_NAME)
			err = look_at(node->ca_name, port, &best, info);
	}
	umad_free_ca_device_list(list);
	if (best == RANK_NONE)
		return device && err ? err : -ENODEV;
	if (best == RANK_ETHERNET)
		return -EPROTONOSUPPORT;
	return info->state < STATE_INIT ? -ENETDOWN : 0;
}

#define MAD_CLASS_FOLDER "/sys/class/infiniband_mad"

/* The first word of a file of sysfs below a umad device. */
static bool read_word(const char *name, const char *file, char word[MAD_DEVICE_NAME])
{
	char path[sizeof(MAD_CLASS_FOLDER) + 300];
	FILE *from;
	bool got;

	snprintf(path, sizeof(path), MAD_CLASS_FOLDER "/%s/%s", name, file);
	from = fopen(path, "re");
	got = from && fgets(word, MAD_DEVICE_NAME, from);
	if (from)
		fclose(from);
	if (got)
		word[strcspn(word, "\n")] = '\0';
	return got;
}

int mad_port_file(const char *device, int port, char *path, size_t size)
{
	DIR *folder = opendir(MAD_CLASS_FOLDER);
	const struct dirent *entry;
	char word[MAD_DEVICE_NAME];
	int error = folder ? -ENOENT : -errno;

	while (folder && error == -ENOENT && (entry = readdir(folder))) {
		uint64_t number;

		if (strncmp(entry->d_name, "umad", 4) != 0 || !read_word(entry->d_name, "ibdev", word) || strcmp(word, device) != 0 ||
		    !read_word(entry->d_name, "port", word) || text_to_u64(word, UMAD_CA_MAX_PORTS, &number) != 0 || (int)number != port)
			continue;
		error = snprintf(path, size, "/dev/infiniband/%s", entry->d_name) < (int)size ? 0 : -ENAMETOOLONG;
	}
	if (folder)
		closedir(folder);
	return error;
}
