/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The net file that ibsim runs (the format of ibnetdiscover), read to follow directed routes: nodes,
 * their GUIDs and descriptions, and the cables. GUIDs are given out as ibsim 0.10 does: the number of
 * the last switchguid=/caguid= line, then onwards by one for a switch and by ports + 1 for a CA.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "overlay.h"

/* The text between the next two double quotes, cut out in place; *rest goes behind it. */
static char *quoted(char *s, char **rest)
{
	char *from = strchr(s, '"');
	char *to = from ? strchr(from + 1, '"') : NULL;

	if (!to)
		return NULL;
	*to = '\0';
	*rest = to + 1;
	return from + 1;
}

static char *copy(const char *s)
{
	char *c = strdup(s);

	if (!c)
		die("out of memory");
	return c;
}

static struct node *by_id(const struct net *net, const char *id)
{
	size_t low = 0, high = net->nodes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(id, net->by_id[middle]->id);

		if (!order)
			return net->by_id[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static int id_order(const void *a, const void *b)
{
	return strcmp((*(struct node *const *)a)->id, (*(struct node *const *)b)->id);
}

static int guid_order(const void *a, const void *b)
{
	uint64_t x = (*(struct node *const *)a)->guid, y = (*(struct node *const *)b)->guid;

	return (x > y) - (x < y);
}

static void sort_all(struct net *net)
{
	size_t i = 0;

	for (struct node *n = net->first; n; n = n->next)
		net->nodes++;
	net->by_id = calloc(net->nodes + 1, sizeof(struct node *));
	net->by_guid = calloc(net->nodes + 1, sizeof(struct node *));
	if (!net->by_id || !net->by_guid)
		die("out of memory");
	for (struct node *n = net->first; n; n = n->next, i++)
		net->by_id[i] = net->by_guid[i] = n;
	qsort(net->by_id, net->nodes, sizeof(struct node *), id_order);
	qsort(net->by_guid, net->nodes, sizeof(struct node *), guid_order);
}

/* The description behind '#': in quotes, or bare up to what ibnetdiscover adds to a switch. */
static char *description(char *s)
{
	static const char *const ends[] = {" enhanced port ", " base port ", " lid ", " lmc "};
	char *rest;

	s = strchr(s, '#');
	if (!s)
		return NULL;
	s++;
	while (isspace((unsigned char)*s))
		s++;
	if (*s == '"')
		return quoted(s, &rest);
	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		char *end = strstr(s, ends[i]);

		if (end)
			*end = '\0';
	}
	return s;
}

static struct node *node_line(struct node **tail, char *line, unsigned type, uint64_t *guid)
{
	struct node *n = calloc(1, sizeof(*n));
	char *s = line, *id, *rest, *desc;

	if (!n)
		die("out of memory");
	while (*s && !isdigit((unsigned char)*s))
		s++;
	n->type = type;
	n->ports = strtoul(s, NULL, 0);
	id = quoted(s, &rest);
	if (!n->ports || n->ports > 254 || !id)
		die("net file: cannot read the node line '%s'", line);
	n->id = copy(id);
	n->esp0 = strstr(rest, "enhanced port 0"); /* where ibsim looks for it; the rest is cut up below */
	desc = description(rest);
	n->desc = copy(desc && *desc ? desc : id);
	n->guid = *guid;
	*guid += type == NODE_SWITCH ? 1 : n->ports + 1;
	n->port = calloc(n->ports + 1, sizeof(n->port[0]));
	if (!n->port)
		die("out of memory");
	for (unsigned i = 0; i <= n->ports; i++)
		n->port[i].vl_high_limit = -1;
	*tail = n;
	return n;
}

static void port_line(struct node *n, char *line)
{
	unsigned long port = strtoul(line + 1, NULL, 10);
	char *rest, *id = quoted(line, &rest);

	if (!port || port > n->ports || !id)
		die("net file: cannot read the port line '%s' of %s", line, n->id);
	n->port[port].peer_id = copy(id);
	n->port[port].peer_port = *rest == '[' ? strtoul(rest + 1, NULL, 10) : 1;
}

static void connect_all(struct net *net)
{
	for (struct node *n = net->first; n; n = n->next)
		for (unsigned i = 1; i <= n->ports; i++) {
			struct port *p = &n->port[i];

			if (!p->peer_id)
				continue;
			p->peer = by_id(net, p->peer_id);
			if (!p->peer || !p->peer_port || p->peer_port > p->peer->ports)
				die("net file: %s[%u] is cabled to '%s'[%u], which is not there", n->id, i,
				    p->peer_id, p->peer_port);
			free(p->peer_id);
			p->peer_id = NULL;
		}
}

void net_load(struct net *net, const char *path, const char *attach)
{
	uint64_t guid[4] = {0, 0x100000, 0x200000, 0};
	struct node **tail = &net->first, *node = NULL;
	char line[1024];
	FILE *in = fopen(path, "r");

	if (!in)
		die("net file %s: %m", path);
	while (fgets(line, sizeof(line), in)) {
		unsigned type = 0;

		line[strcspn(line, "\r\n")] = '\0';
		if (!strncmp(line, "Switch", 6))
			type = NODE_SWITCH;
		else if (!strncmp(line, "Hca", 3) || !strncmp(line, "Ca", 2))
			type = NODE_CA;
		else if (!strncmp(line, "Rt", 2))
			type = NODE_ROUTER;
		else if (!strncmp(line, "switchguid=", 11))
			guid[NODE_SWITCH] = strtoull(line + 11, NULL, 0);
		else if (!strncmp(line, "caguid=", 7))
			guid[NODE_CA] = strtoull(line + 7, NULL, 0);
		else if (!strncmp(line, "hcaguids=", 9))
			guid[NODE_CA] = strtoull(line + 9, NULL, 0);
		else if (!strncmp(line, "rtguid=", 7))
			guid[NODE_ROUTER] = strtoull(line + 7, NULL, 0);
		else if (!strncmp(line, "include", 7) || !strncmp(line, "module", 6))
			die("net file %s: '%s' is not supported by the overlay", path, line);
		else if (line[0] == '[' && node)
			port_line(node, line);
		if (type) {
			node = node_line(tail, line, type, &guid[type]);
			tail = &node->next;
		} else if (line[0] != '[' && line[0] != '#') {
			node = NULL;
		}
	}
	fclose(in);
	sort_all(net);
	connect_all(net);
	net->attach = attach ? by_id(net, attach) : net->first;
	if (!net->attach)
		die("net file %s: no node '%s' to be attached to", path, attach ? attach : "");
	net->lid = calloc(LID_MAX + 1, sizeof(net->lid[0]));
	if (!net->lid)
		die("out of memory");
}

struct node *net_by_guid(const struct net *net, uint64_t guid)
{
	struct node wanted = {.guid = guid}, *key = &wanted, **found;

	found = bsearch(&key, net->by_guid, net->nodes, sizeof(struct node *), guid_order);
	return found ? *found : NULL;
}

bool node_named(const struct node *node, const char *glob)
{
	return !fnmatch(glob, node->desc, 0) || !fnmatch(glob, node->id, 0);
}

bool net_any_name(const struct net *net, const char *glob)
{
	for (struct node *n = net->first; n; n = n->next)
		if (node_named(n, glob))
			return true;
	return false;
}

bool net_walk(const struct net *net, const uint8_t *path, unsigned hops, struct place *place)
{
	struct node *at = net->attach;
	unsigned in = at->type == NODE_SWITCH ? 0 : 1;

	for (unsigned i = 1; i <= hops; i++) {
		const struct port *out;

		if (path[i] > at->ports)
			return false;
		out = &at->port[path[i]];
		if (!out->peer)
			return false;
		at = out->peer;
		in = out->peer_port;
	}
	place->node = at;
	place->port = at->type == NODE_SWITCH ? 0 : in;
	return true;
}
