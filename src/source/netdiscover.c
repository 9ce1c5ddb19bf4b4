/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * ibnetdiscover's text into a fabric. Its shape: rdma-core infiniband-diags/ibnetdiscover.c (out_switch(),
 * out_ca(), out_switch_port(), out_ca_port()); ibsim reads the same.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mad.h>

#include "ibqos/link.h"

#include "dump.h"

/* A link as one of its ends tells it; the other end may come later. */
struct told_link {
	uint32_t node;
	unsigned line, column; /* of the peer's name */
	uint8_t port, peer_port, width;
	uint16_t speed;
	uint64_t peer_guid, peer_port_guid;
};

/* What stands before the line of a node: its keys. */
struct keys {
	uint64_t vendid, devid, sysimgguid, guid, port_guid;
};

struct reading {
	struct fabric *fabric;
	struct dump_faults *faults;
	const char *line, *at, *end; /* the line, where it is read, its end */
	unsigned number;
	struct keys keys;
	uint32_t node; /* whose ports follow; FABRIC_NONE: none yet, or, if lost, one that cannot be read */
	bool lost;
	struct told_link *links;
	size_t link_count, link_room;
	uint64_t from_guid;
};

__attribute__((format(printf, 3, 4))) static int bad_at(struct reading *r, const char *at, const char *format,
							...)
{
	char text[128];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return dump_bad(r->faults, r->number, (unsigned)(at - r->line) + 1, "%s", text);
}

/* --- pieces of a line --- */

static void skip_blanks(struct reading *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
		r->at++;
}

static bool take(struct reading *r, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0)
		return false;
	r->at += length;
	return true;
}

/* Digits of a base, at most `max`. False: there is none, or too large a number; r->at is behind what was
 * read. */
static bool take_number(struct reading *r, unsigned base, uint64_t max, uint64_t *value)
{
	const char *start = r->at;
	uint64_t sum = 0;
	bool fits = true;

	for (; r->at < r->end && isxdigit((unsigned char)*r->at); r->at++) {
		unsigned char c = (unsigned char)*r->at;
		unsigned digit = isdigit(c) ? c - (unsigned)'0' : (unsigned)(tolower(c) - 'a') + 10;

		if (digit >= base)
			break;
		fits = fits && !__builtin_mul_overflow(sum, (uint64_t)base, &sum) &&
		       !__builtin_add_overflow(sum, (uint64_t)digit, &sum);
	}
	*value = sum;
	return r->at > start && fits && sum <= max;
}

static bool take_hex(struct reading *r, uint64_t *value)
{
	if (!take(r, "0x"))
		take(r, "0X");
	return take_number(r, 16, UINT64_MAX, value);
}

/* "S-0002c9030004e938": the letter and the GUID. */
static bool take_id(struct reading *r, char *letter, uint64_t *guid)
{
	if (r->end - r->at < 4 || r->at[0] != '"' || !strchr("SHR", r->at[1]) || r->at[2] != '-')
		return false;
	*letter = r->at[1];
	r->at += 3;
	return take_number(r, 16, UINT64_MAX, guid) && take(r, "\"");
}

/* (anything) and [anything], as labels stand behind port numbers; a number in parentheses is a GUID. */
static bool take_labels(struct reading *r, uint64_t *guid)
{
	while (r->at < r->end && (*r->at == '(' || *r->at == '[')) {
		char closing = *r->at == '(' ? ')' : ']';
		const char *open = r->at, *close = memchr(r->at, closing, (size_t)(r->end - r->at));
		uint64_t value;

		if (!close)
			return false;
		r->at++;
		if (*open == '(' && take_hex(r, &value) && r->at == close)
			*guid = value;
		r->at = close + 1;
	}
	return true;
}

/* A name in quotes; it may have quotes in it, what follows it has none. */
static char *take_name(struct reading *r)
{
	const char *open = memchr(r->at, '"', (size_t)(r->end - r->at)), *close = NULL;

	if (open)
		close = memrchr(open + 1, '"', (size_t)(r->end - open - 1));
	if (!close)
		return NULL;
	r->at = close + 1;
	return text_utf8(open + 1, (size_t)(close - open - 1));
}

/* "lid 73" among the words behind a name. */
static uint16_t find_lid(const struct reading *r)
{
	for (const char *at = r->at; at + 4 < r->end; at++) {
		struct reading word = *r;
		uint64_t lid;

		if (memcmp(at, "lid ", 4) != 0 || (at > r->line && !isspace((unsigned char)at[-1])))
			continue;
		word.at = at + 4;
		if (take_number(&word, 10, UINT16_MAX, &lid))
			return (uint16_t)lid;
	}
	return 0;
}

static bool has_word(const struct reading *r, const char *text)
{
	return memmem(r->at, (size_t)(r->end - r->at), text, strlen(text)) != NULL;
}

/* "4xNDR": the last word behind the peer's name. Names that are none of ours leave the speed unknown. */
static void find_rate(const struct reading *r, struct told_link *link)
{
	for (const char *at = r->at; at < r->end; at++) {
		struct reading word = *r;
		uint64_t lanes;

		if (at > r->line && !isspace((unsigned char)at[-1]))
			continue;
		word.at = at;
		if (!take_number(&word, 10, 12, &lanes) || !take(&word, "x"))
			continue;
		for (unsigned bit = LINK_1X; bit <= LINK_12X; bit <<= 1)
			if (link_width_lanes(bit) == lanes)
				link->width = (uint8_t)bit;
		for (unsigned bit = LINK_SDR; bit <= LINK_XDR; bit <<= 1) {
			const char *name = link_speed_name(bit);
			size_t length = strlen(name);

			if ((size_t)(r->end - word.at) >= length && memcmp(word.at, name, length) == 0 &&
			    (word.at + length == r->end || isspace((unsigned char)word.at[length])))
				link->speed = (uint16_t)bit;
		}
	}
}

/* --- lines --- */

static int read_key(struct reading *r, bool *found)
{
	static const struct {
		const char *name;
		size_t offset;
		bool is_guid; /* the port GUID may follow in parentheses */
	} keys[] = {
		{"vendid=", offsetof(struct keys, vendid), false},
		{"devid=", offsetof(struct keys, devid), false},
		{"sysimgguid=", offsetof(struct keys, sysimgguid), false},
		{"switchguid=", offsetof(struct keys, guid), true},
		{"caguid=", offsetof(struct keys, guid), true},
		{"rtguid=", offsetof(struct keys, guid), true},
	};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		uint64_t value = 0;

		if (!take(r, keys[i].name))
			continue;
		*found = true;
		if (!take_hex(r, &value))
			return bad_at(r, r->at, "no hexadecimal number behind '%s'", keys[i].name);
		memcpy((char *)&r->keys + keys[i].offset, &value, sizeof(value));
		if (keys[i].is_guid && !take_labels(r, &r->keys.port_guid))
			return bad_at(r, r->at, "')' is missing");
		return 0;
	}
	*found = false;
	return 0;
}

static uint32_t add_node(struct reading *r, unsigned type, unsigned ports, uint64_t guid)
{
	static const uint8_t some_desc[MAD_SMP_DATA] = "?"; /* the name comes once the node is there */
	uint64_t port_guid = r->keys.port_guid ? r->keys.port_guid : type == FABRIC_SWITCH ? guid : 0;
	uint8_t info[MAD_SMP_DATA] = {0};

	mad_set_field(info, 0, IB_NODE_TYPE_F, type);
	mad_set_field(info, 0, IB_NODE_NPORTS_F, ports);
	mad_set_field64(info, 0, IB_NODE_GUID_F, guid);
	mad_set_field64(info, 0, IB_NODE_SYSTEM_GUID_F, r->keys.sysimgguid);
	mad_set_field64(info, 0, IB_NODE_PORT_GUID_F, port_guid);
	mad_set_field(info, 0, IB_NODE_VENDORID_F, (uint32_t)r->keys.vendid & 0xffffff);
	mad_set_field(info, 0, IB_NODE_DEVID_F, (uint32_t)r->keys.devid & 0xffff);
	return fabric_add_node(r->fabric, info, NULL, some_desc, NULL);
}

/* Switch 65 "S-..."  # "name" enhanced port 0 lid 73 lmc 0 */
static int read_node(struct reading *r, bool *found)
{
	static const struct {
		const char *word;
		char letter;
		enum fabric_node_type type;
	} kinds[] = {{"Switch", 'S', FABRIC_SWITCH}, {"Ca", 'H', FABRIC_CA}, {"Rt", 'R', FABRIC_ROUTER}};
	uint64_t ports, guid;
	struct fabric_node *node;
	uint32_t before = r->fabric->node_count;
	const char *id;
	unsigned kind = 0;
	char letter, *name;

	while (kind < 3 &&
	       !(take(r, kinds[kind].word) && r->at < r->end && (*r->at == ' ' || *r->at == '\t'))) {
		r->at = r->line;
		skip_blanks(r);
		kind++;
	}
	*found = kind < 3;
	if (!*found)
		return 0;
	r->node = FABRIC_NONE;
	r->lost = true;
	skip_blanks(r);
	if (!take_number(r, 10, 254, &ports) || ports == 0)
		return bad_at(r, r->at, "no number of ports from 1 to 254");
	skip_blanks(r);
	id = r->at;
	if (!take_id(r, &letter, &guid) || letter != kinds[kind].letter || guid == 0)
		return bad_at(r, id, "no node as in \"%c-0002c9030004e938\"", kinds[kind].letter);
	r->node = add_node(r, kinds[kind].type, (unsigned)ports, guid);
	if (r->node == FABRIC_NONE)
		return -ENOMEM;
	if (r->fabric->node_count == before) {
		r->node = FABRIC_NONE;
		return bad_at(r, id, "node 0x%016" PRIx64 " a second time", guid);
	}
	r->lost = false;
	node = &r->fabric->nodes[r->node];
	name = take_name(r);
	if (name) {
		free(node->name);
		node->name = name;
	}
	if (kinds[kind].type == FABRIC_SWITCH) {
		node->enhanced_port0 = has_word(r, "enhanced port 0");
		node->lid = find_lid(r);
	}
	r->keys = (struct keys){0};
	return 0;
}

/* [1](guid or label)  "S-..."[2](guid or label)  # "name" lid 73 4xNDR; of an adapter: # lid 1 lmc 0 "name"
 * lid 73 4xNDR */
static int read_port(struct reading *r)
{
	struct told_link link = {.node = r->node, .line = r->number}, *links;
	uint64_t port = 0, peer_port = 0, guid = 0;
	const char *start = r->at;
	char letter, *name;
	uint32_t index;

	if (r->node == FABRIC_NONE)
		return r->lost ? 0 : bad_at(r, start, "a port before any node");
	take(r, "[");
	if (!take_number(r, 10, r->fabric->nodes[r->node].ports, &port) || port == 0 || !take(r, "]") ||
	    !take_labels(r, &guid))
		return bad_at(r, start, "no port of the node, which has %u", r->fabric->nodes[r->node].ports);
	skip_blanks(r);
	link.column = (unsigned)(r->at - r->line) + 1;
	if (!take_id(r, &letter, &link.peer_guid) || !take(r, "[") || !take_number(r, 10, 254, &peer_port) ||
	    peer_port == 0 || !take(r, "]") || !take_labels(r, &link.peer_port_guid))
		return bad_at(r, r->line + link.column - 1, "no peer as in \"S-0002c9030004e938\"[1]");
	link.port = (uint8_t)port;
	link.peer_port = (uint8_t)peer_port;
	index = fabric_node_port(r->fabric, r->node, link.port);
	if (r->fabric->nodes[r->node].type != FABRIC_SWITCH) {
		if (guid != 0)
			r->fabric->ports[index].guid = guid;
		r->fabric->ports[index].told_lid = find_lid(r);
	}
	name = take_name(r);
	free(name);
	find_rate(r, &link);
	links = array_grow(r->links, &r->link_room, r->link_count + 1, sizeof(*links));
	if (!links)
		return -ENOMEM;
	r->links = links;
	links[r->link_count++] = link;
	return 0;
}

static void read_comment(struct reading *r)
{
	uint64_t guid;

	skip_blanks(r);
	if (take(r, "Initiated from node ") && take_hex(r, &guid))
		r->from_guid = guid;
}

static int read_line(struct reading *r)
{
	size_t length = (size_t)(r->end - r->at);
	const char *nul = length <= PTRDIFF_MAX ? memchr(r->at, '\0', length) : NULL;
	bool found;
	int error;

	if (nul)
		return bad_at(r, nul, "a NUL byte");
	skip_blanks(r);
	if (take(r, "#")) {
		read_comment(r);
		return 0;
	}
	error = read_key(r, &found);
	if (error != 0 || found)
		return error;
	error = read_node(r, &found);
	if (error != 0 || found)
		return error;
	/* a prompt as in [root@head ~]# is none */
	if (r->end - r->at > 1 && r->at[0] == '[' && isdigit((unsigned char)r->at[1]) &&
	    (r->node != FABRIC_NONE || memchr(r->at, '"', (size_t)(r->end - r->at))))
		return read_port(r);
	return 0;
}

/* --- links, once all nodes are there --- */

static int add_link(struct reading *r, const struct told_link *link)
{
	uint32_t a = fabric_node_port(r->fabric, link->node, link->port), b, node;
	struct fabric_port *ports = r->fabric->ports;
	int error;

	node = fabric_index(r->fabric, link->peer_guid);
	if (node == FABRIC_NONE)
		return dump_bad(r->faults, link->line, link->column,
				"node 0x%016" PRIx64 " is not in the file: it may be cut off", link->peer_guid);
	error = fabric_link(r->fabric, link->node, link->port, node, link->peer_port);
	if (error != 0)
		return dump_bad(r->faults, link->line, link->column,
				error == -EEXIST ? "one of the two ports is cabled to another one"
						 : "the peer has no such port");
	b = fabric_node_port(r->fabric, node, link->peer_port);
	if (link->peer_port_guid != 0 && r->fabric->nodes[node].type != FABRIC_SWITCH)
		ports[b].guid = link->peer_port_guid;
	ports[a].told_width = ports[b].told_width = link->width;
	ports[a].told_speed = ports[b].told_speed = link->speed;
	return 0;
}

/* Nothing was asked, so nothing is missing: what the file lacks is told once, not by port. */
static void drop_gaps(struct fabric *fabric)
{
	fabric->gap_count = 0;
}

/*
 * All faults are told, but those that only follow from others: what stands below a node that cannot be read, and links
 * while lines are bad.
 */
static bool goes_on(int error)
{
	return error == 0 || error == -EBADMSG;
}

int netdiscover_read(const char *label, const char *text, size_t size, struct dump_result *result,
		     struct dump_faults *faults)
{
	struct reading r = {.fabric = fabric_new(label), .faults = faults, .node = FABRIC_NONE};
	const char *at = text, *end = text + size;
	int error = r.fabric ? 0 : -ENOMEM;

	*result = (struct dump_result){0};
	*faults = (struct dump_faults){0};
	if (size >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
		at += 3;
	while (at < end && goes_on(error)) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		r.number++;
		r.line = r.at = at;
		r.end = newline ? newline : end;
		at = r.end + 1;
		while (r.end > r.line && (r.end[-1] == '\r' || r.end[-1] == ' ' || r.end[-1] == '\t'))
			r.end--;
		error = read_line(&r);
	}
	if (goes_on(error) && faults->count == 0 && r.fabric->node_count == 0)
		dump_bad(faults, 0, 0, "no node in it");
	for (size_t i = 0, bad = faults->count; i < r.link_count && goes_on(error) && bad == 0; i++)
		error = add_link(&r, &r.links[i]);
	if (goes_on(error))
		error = faults->count > 0 ? -EBADMSG : 0;
	if (error == 0) {
		r.fabric->from_node = fabric_index(r.fabric, r.from_guid);
		error = fabric_finish(r.fabric);
	}
	free(r.links);
	if (error != 0) {
		fabric_free(r.fabric);
		return error;
	}
	drop_gaps(r.fabric);
	result->fabric = r.fabric;
	return 0;
}

bool netdiscover_is(const char *text, size_t size)
{
	static const char *const signs[] = {"switchguid=0x", "caguid=0x", "rtguid=0x", "Switch", "Ca"};

	for (unsigned i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (memmem(text, size, signs[i], strlen(signs[i])))
			return true;
	return false;
}
