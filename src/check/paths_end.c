/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * paths_end: the port that somebody means by a name, LID, GUID or directed route.
 */
#include "ibqos/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CANDIDATES 8 /* that a message names */

/* Ports that a text may mean. */
struct candidates {
	const struct fabric *fabric;
	uint32_t port[CANDIDATES];
	size_t count; /* may be more */
};

static void add(struct candidates *c, uint32_t port)
{
	if (c->count < CANDIDATES)
		c->port[c->count] = port;
	c->count++;
}

/* Whether paths can begin or end at a port: it has a LID. */
static bool has_lid(const struct fabric *fabric, uint32_t port)
{
	const struct fabric_port *p = &fabric->ports[port];
	bool of_switch = fabric_port_node(fabric, port)->type == FABRIC_SWITCH;

	return p->known && (p->number == 0) == of_switch && fabric_port_lid(p) != 0 &&
	       (of_switch || fabric_port_state(p) >= FABRIC_STATE_ARMED);
}

/* The ports of a node, or only that of a number. */
static void add_node(struct candidates *c, uint32_t node, int number)
{
	const struct fabric_node *n = &c->fabric->nodes[node];

	for (int i = 0; i <= n->ports; i++)
		if ((number < 0 || i == number) && has_lid(c->fabric, n->first_port + i))
			add(c, n->first_port + i);
}

static char *say(const struct candidates *c, const char *text, const char *why)
{
	char name[FABRIC_TEXT], *said = NULL;
	size_t size, i;
	FILE *out = open_memstream(&said, &size);

	if (!out)
		return NULL;
	fprintf(out, "'%s' %s", text, why);
	for (i = 0; i < c->count && i < CANDIDATES; i++)
		fprintf(out, "%s %s", i ? "," : ":", fabric_port_text(c->fabric, c->port[i], name, sizeof(name)));
	if (c->count > CANDIDATES)
		fprintf(out, " and %zu more", c->count - CANDIDATES);
	return text_stream_end(out, &said) == 0 ? said : NULL;
}

/* --- directed routes --- */

/* "0,1,4": 1 if it is one, with *port where it leads, FABRIC_NONE: nowhere; 0 if it is none. */
static int read_route(const struct fabric *fabric, const char *text, uint32_t *port)
{
	uint32_t at = fabric->from_node, in = fabric->from_port, out;
	const char *c = text;
	char *end;
	long number;

	if (text[0] != '0' || strspn(text, "0123456789,") != strlen(text) || (text[1] != '\0' && text[1] != ','))
		return 0;
	*port = FABRIC_NONE;
	if (at == FABRIC_NONE)
		return 1;
	for (c++; *c == ','; c = end) {
		number = strtol(c + 1, &end, 10);
		if (end == c + 1 || number < 1 || number > 254)
			return 1;
		out = fabric_node_port(fabric, at, (unsigned)number);
		if (out == FABRIC_NONE || fabric->ports[out].peer == FABRIC_NONE)
			return 1;
		at = fabric->ports[fabric->ports[out].peer].node;
		in = fabric->ports[fabric->ports[out].peer].number;
	}
	*port = fabric_node_port(fabric, at, fabric->nodes[at].type == FABRIC_SWITCH ? 0 : in);
	return 1;
}

/* --- numbers --- */

static void add_guid(struct candidates *c, uint64_t guid)
{
	uint32_t node = fabric_find_node(c->fabric, guid), i;

	if (node != FABRIC_NONE)
		add_node(c, node, -1);
	for (i = 0; node == FABRIC_NONE && i < c->fabric->port_count; i++)
		if (c->fabric->ports[i].guid == guid && has_lid(c->fabric, i))
			add(c, i);
}

/* --- names --- */

/* "NAME[3]": the length of NAME and the number; else the whole text and -1. */
static size_t split(const char *text, int *number)
{
	size_t length = strlen(text);
	const char *open = strrchr(text, '[');
	uint64_t value;
	char digits[4];

	*number = -1;
	if (!open || open == text || length - (size_t)(open - text) > 5 || text[length - 1] != ']')
		return length;
	snprintf(digits, sizeof(digits), "%.*s", (int)(length - (size_t)(open - text) - 2), open + 1);
	if (text_to_u64(digits, 254, &value) != 0)
		return length;
	*number = (int)value;
	return (size_t)(open - text);
}

enum match { MATCH_WHOLE, MATCH_WORDS, MATCH_PART };

static bool matches(const char *name, const char *text, size_t length, enum match match)
{
	if (!name)
		return false;
	if (match == MATCH_PART)
		return memmem(name, strlen(name), text, length) != NULL;
	return strncmp(name, text, length) == 0 && (name[length] == '\0' || (match == MATCH_WORDS && name[length] == ' '));
}

static void add_names(struct candidates *c, const char *text, size_t length, int number, enum match match)
{
	for (uint32_t i = 0; i < c->fabric->node_count; i++)
		if (matches(c->fabric->nodes[i].name, text, length, match))
			add_node(c, i, number);
}

static void find_names(struct candidates *c, const char *text)
{
	int number;
	size_t length;

	/* a name may end in brackets of its own */
	add_names(c, text, strlen(text), -1, MATCH_WHOLE);
	length = split(text, &number);
	if (c->count == 0)
		add_names(c, text, length, number, MATCH_WHOLE);
	if (c->count == 0)
		add_names(c, text, length, number, MATCH_WORDS);
}

/* --- all of them --- */

int paths_find_end(const struct fabric *fabric, const struct routes *routes, const char *text, uint32_t *port,
		   char **fault)
{
	struct candidates c = {.fabric = fabric}, near = {.fabric = fabric};
	uint64_t number;
	int unused;

	*fault = NULL;
	*port = FABRIC_NONE;
	if (read_route(fabric, text, port)) {
		if (*port != FABRIC_NONE && has_lid(fabric, *port))
			return 0;
		*port = FABRIC_NONE;
		*fault = say(&near, text, "leads to no port that has a LID");
		return *fault ? -EINVAL : -ENOMEM;
	}
	if (text_to_u64(text, UINT64_MAX, &number) == 0) {
		uint32_t owner = number <= ROUTES_LID_MAX ? routes_port_of_lid(routes, (unsigned)number) : FABRIC_NONE;

		if (owner != FABRIC_NONE)
			add(&c, owner);
		if (number > ROUTES_LID_MAX)
			add_guid(&c, number);
	}
	if (c.count == 0)
		find_names(&c, text);
	if (c.count == 1) {
		*port = c.port[0];
		return 0;
	}
	if (c.count > 1) {
		*fault = say(&c, text, "can be any of several ports");
	} else {
		if (text[0])
			add_names(&near, text, split(text, &unused), -1, MATCH_PART);
		*fault = say(&near, text, near.count ? "is no port that has a LID; is one of these meant"
						     : "is no LID, GUID, name or directed route of a port that has a LID: `ibqos discover` lists them");
	}
	return *fault ? -EINVAL : -ENOMEM;
}
