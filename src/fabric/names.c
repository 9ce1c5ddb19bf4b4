/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Names of nodes: the node-name map and how ports are written.
 *
 * The map's lines are taken as rdma-core's util/node_name_map.c takes them: blanks, a GUID for
 * strtoull(…, 0), then a blank, '#' or the end; the name begins after quotes and ends at the next
 * quote, '#' or the end of the line, so it may stand without quotes. Two things differ: a comment
 * right after the GUID is not taken for the name, and one bad line does not void the file.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/fabric.h"
#include "ibqos/finding.h"

struct name_map {
	struct fabric *fabric;
	const char *path;
	struct finding_list *findings;
	bool *named; /* of each node: by this map */
};

static int fault(const struct name_map *map, unsigned line, size_t column, const char *text, size_t size,
		 const char *detail)
{
	struct finding *f = finding_at(finding_add(map->findings, FINDING_NAME_MAP_BAD), map->path, line,
				       (unsigned)column + 1);
	char *shown = text_utf8(text, size);

	if (!shown)
		return -ENOMEM;
	finding_set(&f->got, "%s", shown);
	finding_set(&f->detail, "%s", detail);
	free(shown);
	return 0;
}

static int give_name(struct name_map *map, unsigned line, size_t column, uint64_t guid, const char *text,
		     size_t size)
{
	uint32_t node = fabric_find_node(map->fabric, guid);
	char *name;
	int error = 0;

	if (node == FABRIC_NONE)
		return 0;
	name = text_utf8(text, size);
	if (!name)
		return -ENOMEM;
	if (name[0] == '\0') {
		error = fault(map, line, column, text, size, "the name is blank");
	} else if (!map->named[node]) {
		char *old = map->fabric->nodes[node].name;

		map->fabric->nodes[node].name = name;
		map->named[node] = true;
		name = old;
	} else if (strcmp(name, map->fabric->nodes[node].name) != 0) {
		error = fault(map, line, column, text, size, "GUID was named before: the first name is kept");
	}
	free(name);
	return error;
}

static bool is_blank(char c)
{
	return isspace((unsigned char)c);
}

/* One line of `size` bytes, without its newline. strtoull() stops at the newline or NUL behind it. */
static int read_line(struct name_map *map, unsigned line, const char *text, size_t size)
{
	size_t at = 0, end;
	char *after;
	uint64_t guid;

	while (at < size && is_blank(text[at]))
		at++;
	if (at == size || text[at] == '#')
		return 0;
	if (!isdigit((unsigned char)text[at]))
		return fault(map, line, at, text, size, "does not begin with a GUID");
	errno = 0;
	guid = strtoull(text + at, &after, 0);
	if (errno == ERANGE)
		return fault(map, line, at, text, size, "GUID has more than 64 bits");
	end = (size_t)(after - text);
	if (end < size && !is_blank(text[end]) && text[end] != '#')
		return fault(map, line, end, text, size, "GUID is followed by neither a blank nor a name");
	at = end;
	while (at < size && (is_blank(text[at]) || text[at] == '"'))
		at++;
	end = at;
	while (end < size && text[end] != '"' && text[end] != '#')
		end++;
	while (end > at && is_blank(text[end - 1]))
		end--;
	if (end == at)
		return fault(map, line, at, text, size, "no name after the GUID");
	return give_name(map, line, at, guid, text + at, end - at);
}

int fabric_name_nodes(struct fabric *fabric, const char *path, const char *text,
		      struct finding_list *findings)
{
	struct name_map map = {.fabric = fabric, .path = path, .findings = findings};
	int error = 0;

	map.named = calloc((size_t)fabric->node_count + 1, sizeof(*map.named));
	if (!map.named)
		return -ENOMEM;
	for (unsigned line = 1; *text && error == 0; line++) {
		size_t size = strcspn(text, "\n");

		error = read_line(&map, line, text, size);
		text += size + (text[size] == '\n');
	}
	free(map.named);
	return error;
}

/* Most bytes of `text` up to `size` that end between characters. */
static size_t whole_characters(const char *text, size_t size)
{
	size_t length = strlen(text);

	if (length <= size)
		return length;
	while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80)
		size--;
	return size;
}

const char *fabric_port_text(const struct fabric *fabric, uint32_t port, char *text, size_t size)
{
	const struct fabric_port *p = &fabric->ports[port];
	const char *name = fabric_port_node(fabric, port)->name;
	char number[sizeof("[255]")] = "";
	size_t room, used;

	if (size == 0)
		return text;
	if (p->number > 0)
		snprintf(number, sizeof(number), "[%u]", (unsigned)p->number);
	room = size - 1 > strlen(number) ? size - 1 - strlen(number) : 0;
	used = whole_characters(name, room);
	snprintf(text, size, "%.*s%s", (int)used, name, number);
	return text;
}

bool fabric_adapter_is(const char *entry, const char *name, unsigned port)
{
	size_t length = strcspn(entry, ":");

	return strncmp(entry, name, length) == 0 && name[length] == '\0' &&
	       (!entry[length] || strtoul(entry + length + 1, NULL, 10) == port);
}
