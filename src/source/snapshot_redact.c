/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A snapshot that can be given away: GUIDs and names replaced, the same ones always by the same, by a map
 * that stays at home. The map is a node-name map as well, so that what is said of a redacted snapshot can be
 * read with the real names. LIDs, types, versions and tables stay: they are what there is to look at.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->lost = true)
#include <uthash.h>

#include "snapshot_parts.h"

#define MAP_MARK "#=" /* begins a line of the map that names a GUID: #= 0xNEW 0xREAL */
/*
 * Not an address of any maker: bit 57 is that of locally administered ones (IEEE EUI-64). Then 32 bits that a map was begun
 * with, by chance, so that what two maps made is not taken for the same nodes; then a number.
 */
#define NEW_TOP 0x02u
#define NUMBER_MAX 0xffffffu /* GUIDs of a map */
#define GUID_TEXT 19
#define NAME_TEXT 48

struct pair {
	uint64_t real, new;
	bool lost;
	UT_hash_handle hh;
};

struct redacting {
	struct snapshot *s;
	struct pair *map;
	uint64_t base; /* of the GUIDs of this map; 0: not known yet */
	uint64_t last; /* the highest number that the map has given */
	bool *named;   /* by number: the map has a line with its name */
	size_t named_room;
	struct snapshot_bytes more; /* lines to be added to the map */
	bool lost;
};

static uint64_t get64(const uint8_t *at)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 8; i++)
		value = value << 8 | at[i];
	return value;
}

static void put64(uint8_t *at, uint64_t value)
{
	for (unsigned i = 0; i < 8; i++)
		at[i] = (uint8_t)(value >> (56 - 8 * i));
}

/* --- the map --- */

static bool is_new(uint64_t guid)
{
	return guid >> 56 == NEW_TOP && (guid & NUMBER_MAX) != 0;
}

static int begin_map(struct redacting *r)
{
	uint32_t chance;

	if (r->base != 0)
		return 0;
	if (getentropy(&chance, sizeof(chance)) != 0)
		return -errno;
	r->base = (uint64_t)NEW_TOP << 56 | (uint64_t)chance << 24;
	return 0;
}

static struct pair *add_pair(struct redacting *r, uint64_t real, uint64_t new)
{
	struct pair *pair = calloc(1, sizeof(*pair));

	if (!pair) {
		r->lost = true;
		return NULL;
	}
	pair->real = real;
	pair->new = new;
	HASH_ADD(hh, r->map, real, sizeof(pair->real), pair);
	if (pair->lost) {
		free(pair);
		r->lost = true;
		return NULL;
	}
	if ((new & NUMBER_MAX) > r->last)
		r->last = new & NUMBER_MAX;
	return pair;
}

static struct pair *find_pair(const struct redacting *r, uint64_t real)
{
	struct pair *pair;

	HASH_FIND(hh, r->map, &real, sizeof(real), pair);
	return pair;
}

/* Reads a GUID at *at, which goes on behind it. */
static bool read_guid(const char **at, const char *end, uint64_t *guid)
{
	char text[GUID_TEXT];
	size_t length = 0;

	while (*at < end && **at == ' ')
		(*at)++;
	while (*at < end && **at != ' ' && length < sizeof(text) - 1)
		text[length++] = *(*at)++;
	text[length] = '\0';
	return text_to_u64(text, UINT64_MAX, guid) == 0;
}

/* Whether the map names one already; from now on it does. */
static bool is_named(struct redacting *r, uint64_t new)
{
	uint64_t number = new & NUMBER_MAX;
	bool *grown, before;

	if (!is_new(new))
		return true;
	grown = array_grow(r->named, &r->named_room, (size_t)number + 1, sizeof(*grown));
	if (!grown) {
		r->lost = true;
		return true;
	}
	r->named = grown;
	before = grown[number];
	grown[number] = true;
	return before;
}

static int read_map(struct redacting *r, const char *text, size_t size, unsigned *line)
{
	const char *at = text, *end = text + size;

	for (*line = 1; at < end && !r->lost; (*line)++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
		uint64_t new = 0, real = 0;

		if ((size_t)(stop - at) > strlen(MAP_MARK) && memcmp(at, MAP_MARK, strlen(MAP_MARK)) == 0) {
			at += strlen(MAP_MARK);
			if (!read_guid(&at, stop, &new) || !read_guid(&at, stop, &real) || at != stop ||
			    !is_new(new) || (r->base != 0 && r->base != (new & ~(uint64_t)NUMBER_MAX)) || find_pair(r, real))
				return -EBADMSG;
			r->base = new & ~(uint64_t)NUMBER_MAX;
			add_pair(r, real, new);
		} else if (stop - at > 2 && at[0] == '0' && at[1] == 'x' && read_guid(&at, stop, &new)) {
			is_named(r, new);
		}
		at = stop + 1;
	}
	return r->lost ? -ENOMEM : 0;
}

__attribute__((format(printf, 2, 3))) static void add_line(struct redacting *r, const char *format, ...)
{
	char *line;
	va_list args;
	int size;

	va_start(args, format);
	size = vasprintf(&line, format, args);
	va_end(args);
	if (size < 0) {
		r->lost = true;
		return;
	}
	snapshot_put(&r->more, line, (size_t)size);
	free(line);
}

/* The GUID that stands for another; the map grows by those that it does not have. */
static uint64_t new_guid(struct redacting *r, uint64_t real)
{
	struct pair *pair;

	if (real == 0)
		return 0;
	pair = find_pair(r, real);
	if (!pair) {
		if (r->last == NUMBER_MAX) {
			r->lost = true;
			return 0;
		}
		pair = add_pair(r, real, r->base + r->last + 1);
		if (!pair)
			return 0;
		add_line(r, MAP_MARK " 0x%016" PRIx64 " 0x%016" PRIx64 "\n", pair->new, real);
	}
	return pair->new;
}

/* --- what has GUIDs in it --- */

static void replace(struct redacting *r, uint8_t *data, unsigned at)
{
	put64(data + at, new_guid(r, get64(data + at)));
}

/* Where an attribute's data has GUIDs, or GIDs, of which they are the second half.
 * IBA 14.2.5, 15.2.5, 13.4.8.1. */
static const struct place {
	uint8_t mgmt_class;
	uint16_t attribute;
	uint8_t at[2];
} places[] = {
	{MAD_CLASS_SMP, MAD_SM_INFO, {0, 0}},
	{MAD_CLASS_SA, MAD_SA_CLASS_PORT_INFO, {16, 48}}, /* RedirectGID, TrapGID */
	{MAD_CLASS_SA, MAD_SA_PATH_RECORD, {16, 32}},     /* DGID, SGID */
};

static uint32_t redact_data(struct redacting *r, uint32_t item, uint8_t mgmt_class, uint16_t attribute)
{
	uint8_t data[MAD_SA_DATA];
	uint32_t kept = item;

	snapshot_get_data(r->s, item, data, sizeof(data));
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (places[i].mgmt_class != mgmt_class || places[i].attribute != attribute)
			continue;
		replace(r, data, places[i].at[0]);
		if (places[i].at[1] != places[i].at[0])
			replace(r, data, places[i].at[1]);
		kept = snapshot_keep_data(r->s, data, sizeof(data));
		r->lost |= kept == UINT32_MAX;
	}
	return r->lost ? 0 : kept;
}

/* By NodeType (IBA 14.2.5.3). */
static const char *const kinds[] = {"node", "adapter", "switch", "router"};

static void new_name(unsigned kind, uint64_t guid, char name[NAME_TEXT])
{
	snprintf(name, NAME_TEXT, "%s-%" PRIu64, kinds[kind], guid & NUMBER_MAX);
}

bool snapshot_name_redacted(uint64_t guid, const char *name)
{
	char given[NAME_TEXT];

	if (!name || !is_new(guid))
		return false;
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		new_name(i, guid, given);
		if (strcmp(given, name) == 0)
			return true;
	}
	return false;
}

static void redact_node(struct redacting *r, struct snapshot_node *node)
{
	uint8_t info[MAD_SMP_DATA];
	uint64_t real, new;
	char name[NAME_TEXT], *old;

	snapshot_get_data(r->s, node->node_info, info, sizeof(info));
	real = get64(info + 12);
	new = new_guid(r, real);
	replace(r, info, 4);  /* SystemImageGUID */
	replace(r, info, 12); /* NodeGUID */
	replace(r, info, 20); /* PortGUID */
	node->node_info = snapshot_keep_data(r->s, info, sizeof(info));
	new_name(info[2] & 3, new, name);
	old = snapshot_get_text(r->s, node->name);
	if (old && !strpbrk(old, "\"#") && !is_named(r, new))
		add_line(r, "0x%016" PRIx64 " \"%s\"\n", new, old);
	r->lost |= !old;
	free(old);
	node->name = snapshot_keep_text(r->s, name);
	r->lost |= node->node_info == UINT32_MAX || node->name == UINT32_MAX;
}

static void redact_all(struct redacting *r)
{
	struct snapshot *s = r->s;

	/* nodes in order first, so that a first map keeps their order */
	for (uint32_t i = 0; i < s->node_count && !r->lost; i++)
		redact_node(r, &s->nodes[i]);
	for (uint32_t i = 0; i < s->port_count && !r->lost; i++)
		s->ports[i].guid = new_guid(r, s->ports[i].guid);
	for (uint32_t i = 0; i < s->sm_count && !r->lost; i++) {
		struct snapshot_sm *sm = &s->sm[i];

		if (sm->mgmt_class != MAD_CLASS_SMP)
			sm->record = redact_data(r, sm->record, sm->mgmt_class, sm->attribute);
		if (sm->outcome == MAD_ANSWERED)
			sm->value = redact_data(r, sm->value, sm->mgmt_class, sm->attribute);
	}
	for (uint32_t i = 0; i < s->run_count && !r->lost; i++) {
		struct snapshot_run *run = &s->runs[i];

		if (run->outcome == MAD_ANSWERED && run->attribute == MAD_SM_INFO)
			run->value = redact_data(r, run->value, run->mgmt_class, run->attribute);
	}
	s->meta->label = 0;
	s->meta->redacted = 1;
}

/* --- nodes in order of their new GUIDs --- */

struct order {
	uint64_t guid;
	uint32_t node, first_port; /* before */
};

static int by_guid(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	return (x->guid > y->guid) - (x->guid < y->guid);
}

static int by_port(const void *a, const void *b)
{
	const struct snapshot_gap *x = a, *y = b;

	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	return x->reason - y->reason;
}

static uint32_t moved(const uint32_t *place, uint32_t index)
{
	return index == FABRIC_NONE ? FABRIC_NONE : place[index];
}

/* Takes the tables over in the new order; `place` tells where each port is now. */
static void reorder(struct snapshot *s, const struct order *order, struct snapshot_node *nodes,
		    struct snapshot_port *ports, uint32_t *place)
{
	uint32_t at = 0, from_node = s->meta->from_node;

	for (uint32_t i = 0; i < s->node_count; i++) {
		unsigned count = snapshot_node_ports(s, order[i].node) + 1;

		nodes[i] = s->nodes[order[i].node];
		if (order[i].node == s->meta->from_node)
			from_node = i;
		for (unsigned n = 0; n < count; n++, at++) {
			place[order[i].first_port + n] = at;
			ports[at] = s->ports[order[i].first_port + n];
		}
	}
	s->meta->from_node = from_node;
	for (uint32_t i = 0; i < s->port_count; i++)
		ports[i].peer = moved(place, ports[i].peer);
	for (uint32_t i = 0; i < s->gap_count; i++)
		s->gaps[i].port = moved(place, s->gaps[i].port);
	for (uint32_t i = 0; i < s->run_count; i++)
		s->runs[i].port = moved(place, s->runs[i].port);
	if (s->gap_count > 0)
		qsort(s->gaps, s->gap_count, sizeof(*s->gaps), by_port);
	if (s->run_count > 0)
		qsort(s->runs, s->run_count, sizeof(*s->runs), snapshot_run_compare);
	free(s->nodes);
	free(s->ports);
	s->nodes = nodes;
	s->ports = ports;
}

static int sort_nodes(struct snapshot *s)
{
	struct order *order = calloc((size_t)s->node_count + 1, sizeof(*order));
	struct snapshot_node *nodes = calloc((size_t)s->node_count + 1, sizeof(*nodes));
	struct snapshot_port *ports = calloc((size_t)s->port_count + 1, sizeof(*ports));
	uint32_t *place = calloc((size_t)s->port_count + 1, sizeof(*place)), first = 0;
	int error = order && nodes && ports && place ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < s->node_count && error == 0; i++) {
		uint8_t info[MAD_SMP_DATA];

		snapshot_get_data(s, s->nodes[i].node_info, info, sizeof(info));
		order[i] = (struct order){.guid = get64(info + 12), .node = i, .first_port = first};
		first += snapshot_node_ports(s, i) + 1;
	}
	if (error == 0) {
		qsort(order, s->node_count, sizeof(*order), by_guid);
		reorder(s, order, nodes, ports, place);
	} else {
		free(nodes);
		free(ports);
	}
	free(order);
	free(place);
	return error;
}

/* Strings of before go: only those that tables name now are kept. */
static int order_strings(struct snapshot *s)
{
	struct snapshot_pool ordered = {0};
	bool lost = !snapshot_pool_begin(&ordered);
	uint32_t *refs[2] = {&s->meta->version, &s->meta->label};

	for (uint32_t i = 0; i < s->node_count + 2 && !lost; i++) {
		uint32_t *ref = i < 2 ? refs[i] : &s->nodes[i - 2].name;
		size_t size;
		const uint8_t *bytes = snapshot_item_bytes(&s->strings, *ref, &size);

		*ref = snapshot_keep(&ordered, bytes, size);
		lost = *ref == UINT32_MAX;
	}
	if (lost) {
		snapshot_pool_free(&ordered);
		return -ENOMEM;
	}
	snapshot_pool_free(&s->strings);
	s->strings = ordered;
	return 0;
}

int snapshot_redact(struct snapshot *snapshot, const char *map, size_t size, char **more, unsigned *line)
{
	struct redacting r = {.s = snapshot};
	struct pair *pair, *next;
	int error = read_map(&r, map, size, line);

	*more = NULL;
	if (error == 0)
		error = begin_map(&r);
	if (error == 0) {
		redact_all(&r);
		snapshot_put(&r.more, "", 1);
		error = r.lost || r.more.lost ? -ENOMEM : 0;
	}
	if (error == 0)
		error = sort_nodes(snapshot);
	if (error == 0)
		error = order_strings(snapshot);
	if (error == 0)
		error = snapshot_order_data(snapshot);
	if (error == 0)
		error = snapshot_close(snapshot);
	if (error == 0)
		*more = (char *)r.more.at;
	else
		free(r.more.at);
	free(r.named);
	HASH_ITER(hh, r.map, pair, next)
	{
		HASH_DEL(r.map, pair);
		free(pair);
	}
	return error;
}
