/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The host's adapters as the kernel shows them: /sys/class/infiniband, and PCIe of the device behind each. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ibqos/job.h"

/* The first line of a file, without blanks at its end; NULL: not there. The caller frees it. */
__attribute__((format(printf, 1, 2))) static char *read_line(const char *format, ...)
{
	char *path = NULL, *line = NULL;
	size_t room = 0;
	va_list args;
	FILE *from;
	ssize_t size;

	va_start(args, format);
	if (vasprintf(&path, format, args) < 0)
		path = NULL;
	va_end(args);
	from = path ? fopen(path, "re") : NULL;
	free(path);
	if (!from)
		return NULL;
	size = getline(&line, &room, from);
	fclose(from);
	while (size > 0 && isspace((unsigned char)line[size - 1]))
		line[--size] = '\0';
	if (size > 0)
		return line;
	free(line);
	return NULL;
}

static unsigned number(char *text)
{
	unsigned long value = text ? strtoul(text, NULL, 0) : 0;

	free(text);
	return (unsigned)value;
}

static bool exists(const char *root, const char *path)
{
	char *full = NULL;
	bool is = asprintf(&full, "%s/%s", root, path) >= 0 && access(full, F_OK) == 0;

	free(full);
	return is;
}

/* "4: ACTIVE" */
static unsigned state(char *text, char **name)
{
	unsigned value = text ? (unsigned)strtoul(text, NULL, 10) : 0;
	char *colon = text ? strchr(text, ':') : NULL;

	*name = colon ? strdup(colon + 1 + strspn(colon + 1, " ")) : NULL;
	free(text);
	return value;
}

static int read_pkeys(const char *folder, struct job_port *p)
{
	for (unsigned index = 0; index < 65536; index++) {
		char *text = read_line("%s/pkeys/%u", folder, index), *end = text;
		unsigned *grown;

		if (!text || strtoul(text, &end, 0) > 0xffff || end == text) { /* the end, or what is no P_Key */
			free(text);
			return 0;
		}
		grown = realloc(p->pkeys, (index + 1) * sizeof(*grown));
		if (!grown) {
			free(text);
			return -ENOMEM;
		}
		p->pkeys = grown;
		p->pkeys[p->pkey_count++] = number(text);
	}
	return 0;
}

static int read_port(const char *hca, unsigned at, struct job_port *p)
{
	char *folder = NULL, *layer, *x;
	int error;

	if (asprintf(&folder, "%s/ports/%u", hca, at) < 0)
		return -ENOMEM;
	*p = (struct job_port){.number = at};
	p->state = state(read_line("%s/state", folder), &p->state_name);
	p->phys_state = state(read_line("%s/phys_state", folder), &p->phys_name);
	layer = read_line("%s/link_layer", folder);
	p->known_layer = layer && (strcmp(layer, "InfiniBand") == 0 || strcmp(layer, "Ethernet") == 0);
	p->infiniband = layer && strcmp(layer, "InfiniBand") == 0;
	free(layer);
	p->rate = read_line("%s/rate", folder);
	p->gbps = p->rate ? strtod(p->rate, NULL) : 0;
	x = p->rate ? strchr(p->rate, '(') : NULL;
	p->lanes = x && strchr(x, 'X') ? (unsigned)strtoul(x + 1, NULL, 10) : 0;
	p->lid = number(read_line("%s/lid", folder));
	p->sm_lid = number(read_line("%s/sm_lid", folder));
	error = read_pkeys(folder, p);
	free(folder);
	return error;
}

static int compare_ports(const void *left, const void *right)
{
	const struct job_port *a = left, *b = right;

	return (a->number > b->number) - (a->number < b->number);
}

static int read_ports(const char *hca, struct job_hca *h)
{
	char *folder = NULL;
	struct dirent *entry;
	DIR *dir = NULL;
	int error = asprintf(&folder, "%s/ports", hca) < 0 ? -ENOMEM : 0;

	if (error == 0)
		dir = opendir(folder);
	while (dir && error == 0 && (entry = readdir(dir))) {
		struct job_port *grown;
		unsigned long at = strtoul(entry->d_name, NULL, 10);

		if (at == 0 || at > 254)
			continue;
		grown = array_grow(h->ports, &h->port_room, h->port_count + 1, sizeof(*grown));
		if (!grown) {
			error = -ENOMEM;
			break;
		}
		h->ports = grown;
		error = read_port(hca, (unsigned)at, &h->ports[h->port_count++]);
	}
	if (dir)
		closedir(dir);
	if (h->port_count)
		qsort(h->ports, h->port_count, sizeof(*h->ports), compare_ports);
	free(folder);
	return error;
}

/* "16.0 GT/s PCIe" */
static double gts(char *text)
{
	double value = text ? strtod(text, NULL) : 0;

	free(text);
	return value;
}

static int read_hca(const char *folder, const char *name, struct job_hca *h)
{
	char *hca = NULL;
	int error;

	if (asprintf(&hca, "%s/%s", folder, name) < 0)
		return -ENOMEM;
	*h = (struct job_hca){
		.name = strdup(name),
		.type = read_line("%s/hca_type", hca),
		.board = read_line("%s/board_id", hca),
		.firmware = read_line("%s/fw_ver", hca),
		.pcie_gts = gts(read_line("%s/device/current_link_speed", hca)),
		.pcie_max_gts = gts(read_line("%s/device/max_link_speed", hca)),
		.pcie_width = number(read_line("%s/device/current_link_width", hca)),
		.pcie_max_width = number(read_line("%s/device/max_link_width", hca)),
	};
	error = h->name ? read_ports(hca, h) : -ENOMEM;
	free(hca);
	return error;
}

static int compare_hcas(const void *left, const void *right)
{
	const struct job_hca *a = left, *b = right;

	return strverscmp(a->name, b->name);
}

int job_host_read(const char *root, struct job_host *host)
{
	char *folder = NULL;
	struct dirent *entry;
	int error = 0;
	DIR *dir;

	*host = (struct job_host){
		.nvidia = exists(root, "module/nvidia"),
		.peermem = exists(root, "module/nvidia_peermem") || exists(root, "module/nv_peer_mem"),
	};
	if (asprintf(&folder, "%s/class/infiniband", root) < 0)
		return -ENOMEM;
	dir = opendir(folder);
	if (!dir)
		error = -errno;
	while (dir && error == 0 && (entry = readdir(dir))) {
		struct job_hca *grown;

		if (entry->d_name[0] == '.')
			continue;
		grown = array_grow(host->hcas, &host->hca_room, host->hca_count + 1, sizeof(*grown));
		if (!grown) {
			error = -ENOMEM;
			break;
		}
		host->hcas = grown;
		error = read_hca(folder, entry->d_name, &host->hcas[host->hca_count++]);
	}
	if (dir)
		closedir(dir);
	if (host->hca_count)
		qsort(host->hcas, host->hca_count, sizeof(*host->hcas), compare_hcas);
	free(folder);
	return error;
}

void job_host_clear(struct job_host *host)
{
	for (size_t i = 0; i < host->hca_count; i++) {
		struct job_hca *h = &host->hcas[i];

		for (size_t p = 0; p < h->port_count; p++) {
			free(h->ports[p].state_name);
			free(h->ports[p].phys_name);
			free(h->ports[p].rate);
			free(h->ports[p].pkeys);
		}
		free(h->ports);
		free(h->name);
		free(h->type);
		free(h->board);
		free(h->firmware);
	}
	free(host->hcas);
	*host = (struct job_host){0};
}

bool job_host_link(const struct job_host *host, enum job_link *link)
{
	unsigned infiniband = 0, ethernet = 0;

	for (size_t i = 0; i < host->hca_count; i++) {
		for (size_t n = 0; n < host->hcas[i].port_count; n++) {
			const struct job_port *p = &host->hcas[i].ports[n];

			if (p->state == JOB_PORT_ACTIVE && p->known_layer)
				*(p->infiniband ? &infiniband : &ethernet) += 1;
		}
	}
	if ((infiniband > 0) == (ethernet > 0))
		return false;
	*link = infiniband ? JOB_LINK_INFINIBAND : JOB_LINK_ETHERNET;
	return true;
}

bool job_hca_takes(const char *list, const char *name, unsigned port)
{
	bool inverted, exact, any = false, found = false;

	if (!list)
		return true;
	inverted = *list == '^';
	list += inverted;
	exact = *list == '=';
	list += exact;
	for (size_t length; *list; list += length + (list[length] == ',')) {
		size_t of_name;

		length = strcspn(list, ",");
		of_name = strcspn(list, ":,");
		if (of_name == 0)
			continue;
		any = true;
		if (strncmp(name, list, of_name) != 0 || (exact && name[of_name] != '\0'))
			continue;
		found |= list[of_name] != ':' || list[of_name + 1] == '\0' || list[of_name + 1] == ',' ||
			 list[of_name + 1] == ':' || (unsigned)atoi(list + of_name + 1) == port;
	}
	return (found || !any) != inverted; /* an empty list takes all */
}

double job_pcie_gbps(double per_lane, unsigned width)
{
	double coding = per_lane <= 5 ? 8.0 / 10 : per_lane <= 32 ? 128.0 / 130 : 242.0 / 256; /* 8b/10b, 128b/130b, FLIT */

	return per_lane * width * coding;
}
