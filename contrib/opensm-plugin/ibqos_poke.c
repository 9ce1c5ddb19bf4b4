/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An event plugin of OpenSM that tells of each sweep by one datagram, so that a verify follows a change in seconds and not at
 * the next hour. It does nothing else in the subnet manager's process, and never holds it up: the socket does not block, and
 * what cannot be sent at once (nobody listens, too many wait) is dropped.
 *
 * opensm.conf: event_plugin_name ibqospoke. Where to: the environment's IBQOS_POKE_SOCKET, or /run/ibqos/poke.
 * Loaded as libibqospoke.so by osm_epi_construct() (OpenSM, opensm/osm_event_plugin.c), by an OpenSM of the same version only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <opensm/osm_event_plugin.h>
#include <opensm/osm_version.h>

#define POKE_SOCKET "/run/ibqos/poke"

struct poke {
	int fd;
	struct sockaddr_un to;
};

/* NULL would make OpenSM go on without a plugin, and say so in its log. */
static void *poke_create(struct osm_opensm *osm)
{
	const char *path = getenv("IBQOS_POKE_SOCKET");
	struct poke *poke = calloc(1, sizeof(*poke));

	(void)osm;
	if (!poke)
		return NULL;
	if (!path || !*path)
		path = POKE_SOCKET;
	poke->to.sun_family = AF_UNIX;
	poke->fd = -1;
	if (strlen(path) < sizeof(poke->to.sun_path)) {
		memcpy(poke->to.sun_path, path, strlen(path) + 1);
		poke->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	}
	if (poke->fd < 0) {
		free(poke);
		return NULL;
	}
	return poke;
}

static void poke_delete(void *data)
{
	struct poke *poke = data;

	close(poke->fd);
	free(poke);
}

/* Called by several threads of OpenSM; there is nothing here that changes. */
static void poke_report(void *data, osm_epi_event_id_t event, void *more)
{
	static const char subnet_up[] = "subnet-up\n";
	const struct poke *poke = data;
	int saved = errno;

	(void)more;
	/* after each heavy sweep that left the subnet up (osm_state_mgr.c) */
	if (event == OSM_EVENT_ID_SUBNET_UP)
		(void)!sendto(poke->fd, subnet_up, sizeof(subnet_up) - 1, MSG_DONTWAIT | MSG_NOSIGNAL,
			      (const struct sockaddr *)&poke->to, sizeof(poke->to));
	errno = saved;
}

#if OSM_EVENT_PLUGIN_INTERFACE_VER != 2
#error "an OpenSM of another plugin interface"
#endif

osm_event_plugin_t osm_event_plugin = {OSM_VERSION, poke_create, poke_delete, poke_report};
